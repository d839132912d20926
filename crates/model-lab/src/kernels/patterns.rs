//! Loops of one pattern each, which real code has and no core was calibrated on when they were
//! written. One half of them, by name, is kept back until the last validation of a version.

use std::arch::asm;

use super::{Group, Kernel, Random};

/// The bytes of a page.
const PAGE: usize = 4096;

/// Returns the loops if this machine can execute them.
pub fn kernels() -> Vec<Kernel> {
    if !std::arch::is_x86_feature_detected!("avx2") {
        return Vec::new();
    }
    let mut kernels = stores();
    kernels.extend(branches());
    kernels.extend(moves());
    kernels.extend(memory());
    kernels.extend(vectors());
    kernels
}

/// Returns in which half a loop is.
fn half(name: &str) -> Group {
    let fnv = |hash: u64, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    let hash = name.bytes().fold(0xcbf2_9ce4_8422_2325, fnv);
    if (hash ^ hash >> 32).count_ones() % 2 == 0 {
        Group::Pattern
    } else {
        Group::KeptBack
    }
}

/// Memory of a loop, which begins at a page.
struct Memory {
    words: Vec<u64>,
    first: usize,
}

impl Memory {
    /// Every page is written, so that none is the shared page of zeros.
    fn of_bytes(bytes: usize) -> Memory {
        let words = vec![1_u64; (bytes + PAGE) / size_of::<u64>()];
        let first = words.as_ptr().align_offset(PAGE);
        Memory { words, first }
    }

    fn words(&mut self) -> &mut [u64] {
        &mut self.words[self.first..]
    }

    fn address(&mut self) -> u64 {
        self.words().as_mut_ptr() as u64
    }
}

/// 32 KiB: its own address, then zeros; 1.5 from byte 256 on, 2.5 from 320; denormal numbers from
/// 512 on, of single precision from 576; indices of elements for gathers from 640 on.
fn small() -> Memory {
    let mut memory = Memory::of_bytes(32 << 10);
    let address = memory.address();
    let words = memory.words();
    words.fill(0);
    words[0] = address;
    words[32..40].fill(1.5_f64.to_bits());
    words[40..48].fill(2.5_f64.to_bits());
    words[64..72].fill(1e-310_f64.to_bits());
    words[72..80].fill(0x0001_2345_0001_2345);
    for (number, word) in words[80..84].iter_mut().enumerate() {
        let index = |lane: u64| (number as u64 * 2 + lane) * 37 % 200;
        *word = index(0) | index(1) << 32;
    }
    memory
}

/// Pages of ones.
fn bytes(bytes: usize) -> Memory {
    Memory::of_bytes(bytes)
}

/// Random bytes below a limit; loops read as many as they have iterations.
fn choices(limit: u64) -> Memory {
    let mut random = Random(0x51ed + limit);
    let mut memory = Memory::of_bytes(64 << 10);
    for word in memory.words() {
        let bytes: [u8; 8] = std::array::from_fn(|_| ((random.next() >> 33) % limit) as u8);
        *word = u64::from_le_bytes(bytes);
    }
    memory
}

/// One in so many bytes is 1, the others are 0.
fn one_in(count: u64) -> Memory {
    let mut memory = choices(count);
    for word in memory.words() {
        let bytes = word.to_le_bytes().map(|byte| u8::from(byte == 0));
        *word = u64::from_le_bytes(bytes);
    }
    memory
}

/// A ring of pointers, one every so many bytes, in order or not.
fn ring(count: usize, stride: usize, is_random: bool) -> Memory {
    let mut memory = Memory::of_bytes(count * stride + PAGE);
    let address = memory.address();
    let mut order: Vec<usize> = (0..count).collect();
    let mut random = Random(0x7e57);
    if is_random {
        for place in (1..count).rev() {
            order.swap(place, (random.next() >> 20) as usize % (place + 1));
        }
    }
    for (place, &node) in order.iter().enumerate() {
        let next = order[(place + 1) % count];
        memory.words()[node * stride / 8] = address + (next * stride) as u64;
    }
    // The loop begins at the first word.
    memory
}

/// Sorted even numbers of 32 bits, 16 KiB; then numbers to search for, odd and even.
fn searches() -> Memory {
    let mut memory = Memory::of_bytes(256 << 10);
    let mut random = Random(0x5ea);
    for (place, word) in memory.words().iter_mut().enumerate() {
        *word = if place < 2048 {
            (place as u64 * 4) | (place as u64 * 4 + 2) << 32
        } else {
            (random.next() >> 30) % 8192 | ((random.next() >> 30) % 8192) << 32
        };
    }
    memory
}

macro_rules! patterns {
    ($function:ident: $($name:literal, $iterations:expr, $data:expr;
        $([$($before:literal),+],)? $($line:literal),+;)+) => {
        fn $function() -> Vec<Kernel> {
            vec![$(Kernel {
                name: $name,
                group: half($name),
                prepare: || {
                    let mut memory: Memory = $data;
                    Box::new(move || {
                        let address = memory.address();
                        // SAFETY: reads and writes only `memory`, and pops what it pushes.
                        unsafe {
                            asm!(
                                $($($before,)+)?
                                ".p2align 6", "2:", $($line,)+ "dec r15", "jnz 2b",
                                "vzeroupper",
                                inout("r15") { let iterations: u64 = $iterations; iterations } => _,
                                in("r12") address,
                                inout("r13") address => _,
                                inout("r14") address + 0x2000 => _,
                                inout("rax") 1_u64 => _,
                                inout("rcx") 0_u64 => _,
                                inout("rdx") 0_u64 => _,
                                inout("rsi") 3_u64 => _,
                                inout("rdi") 5_u64 => _,
                                inout("r8") 1_u64 << 63 => _,
                                inout("r9") 7_u64 => _,
                                inout("r10") 9_u64 => _,
                                inout("r11") 11_u64 => _,
                                inout("xmm0") 1.0_f64 => _, inout("xmm1") 1.0_f64 => _,
                                inout("xmm2") 1.0_f64 => _, inout("xmm3") 1.0_f64 => _,
                                inout("xmm4") 1.0_f64 => _, inout("xmm5") 1.0_f64 => _,
                                inout("xmm6") 1.0_f64 => _, inout("xmm7") 1.0_f64 => _,
                                out("xmm8") _, out("xmm9") _, out("xmm10") _, out("xmm11") _,
                                out("xmm12") _, out("xmm13") _, out("xmm14") _, out("xmm15") _,
                            );
                        }
                    })
                },
            }),+]
        }
    };
}

patterns! { stores:
    // Read-modify-write of one place, and of several in turn.
    "rmw-imm-1", 4000, small(); "add qword ptr [r12 + 128], 1";
    "rmw-imm-dword", 4000, small(); "add dword ptr [r12 + 128], 3";
    "rmw-imm-byte", 4000, small(); "add byte ptr [r12 + 128], 3";
    "rmw-inc", 4000, small(); "inc qword ptr [r12 + 128]";
    "rmw-reg-1", 4000, small(); "add qword ptr [r12 + 128], rsi";
    "rmw-xor-reg", 4000, small(); "xor dword ptr [r12 + 128], esi";
    "rmw-or-imm", 4000, small(); "or byte ptr [r12 + 130], 4";
    "rmw-not", 4000, small(); "not qword ptr [r12 + 128]";
    "rmw-shl", 4000, small(); "shl qword ptr [r12 + 128], 1";
    "rmw-two", 4000, small(); "add qword ptr [r12 + 128], 1", "add qword ptr [r12 + 192], 1";
    "rmw-two-line", 4000, small(); "add qword ptr [r12 + 128], 1", "add qword ptr [r12 + 136], 1";
    "rmw-four", 4000, small(); "add qword ptr [r12 + 128], 1", "add qword ptr [r12 + 136], rsi",
        "add qword ptr [r12 + 192], 1", "add qword ptr [r12 + 200], rsi";
    "rmw-alternate", 4000, small(); "add qword ptr [r12 + 128], 1",
        "add qword ptr [r12 + 128], rsi";
    "rmw-same-twice", 4000, small(); "add qword ptr [r12 + 128], 1",
        "add qword ptr [r12 + 128], 1";
    "rmw-imm-then-load", 4000, small(); "add qword ptr [r12 + 128], 1", "mov rax, [r12 + 128]",
        "add rdi, rax";
    "rmw-reg-then-load", 4000, small(); "add [r12 + 128], rsi", "mov rax, [r12 + 128]",
        "add rdi, rax";
    "rmw-split-3", 4000, small(); "mov rax, [r12 + 128]", "add rax, 1", "mov [r12 + 128], rax";
    "rmw-split-work", 4000, small(); "mov rax, [r12 + 128]", "add rax, 1", "mov [r12 + 128], rax",
        "add rsi, rdi", "add rsi, rdi", "add rsi, rdi", "add rsi, rdi";
    "rmw-index", 4000, small(); "add qword ptr [r12 + rcx * 8 + 128], 1";
    "rmw-index-walk", 4000, small(); "add qword ptr [r12 + rcx * 8 + 128], 1", "inc ecx",
        "and ecx, 7";
    "rmw-index-walk-2", 4000, small(); "add dword ptr [r12 + rcx * 4 + 128], 1", "xor ecx, 1";
    "rmw-histogram-4", 4096, choices(4); "movzx eax, byte ptr [r12 + rcx]",
        "add dword ptr [r12 + rax * 4 + 32768], 1", "inc ecx";
    "rmw-histogram-256", 4096, choices(256); "movzx eax, byte ptr [r12 + rcx]",
        "add dword ptr [r12 + rax * 4 + 32768], 1", "inc ecx";
    "rmw-histogram-1", 4096, choices(1); "movzx eax, byte ptr [r12 + rcx]",
        "inc dword ptr [r12 + rax * 4 + 32768]", "inc ecx";
    "rmw-sd", 4000, small(); "movsd xmm0, [r12 + 128]", "addsd xmm0, xmm1",
        "movsd [r12 + 128], xmm0";
    "rmw-push-pop", 4000, small(); "push rax", "add rax, rsi", "pop rax";
    "rmw-stack-slot", 4000, small(); "mov [rsp - 200], rax", "add rdi, rsi", "mov rax, [rsp - 200]";
    // Stores forwarded in parts, across lines and pages, or not at all.
    "pass-low-half", 4000, small(); "mov [r12 + 128], rax", "mov eax, [r12 + 128]";
    "pass-high-half", 4000, small(); "mov [r12 + 128], rax", "mov eax, [r12 + 132]";
    "pass-byte-3", 4000, small(); "mov [r12 + 128], rax", "movzx eax, byte ptr [r12 + 131]";
    "pass-low-byte", 4000, small(); "mov [r12 + 128], rax", "movzx eax, byte ptr [r12 + 128]";
    "pass-two-halves", 2000, small(); "mov [r12 + 128], eax", "mov [r12 + 132], eax",
        "mov rax, [r12 + 128]";
    "pass-bytes-word", 2000, small(); "mov [r12 + 128], al", "mov [r12 + 129], al",
        "movzx eax, word ptr [r12 + 128]";
    "pass-wider", 2000, small(); "mov [r12 + 128], eax", "mov rax, [r12 + 128]";
    "pass-across-line", 2000, small(); "mov [r12 + 124], rax", "mov rax, [r12 + 124]";
    "pass-across-16", 4000, small(); "mov [r12 + 140], rax", "mov rax, [r12 + 140]";
    "pass-across-page", 2000, small(); "mov [r12 + 4092], rax", "mov rax, [r12 + 4092]";
    "pass-part-of-line-cross", 2000, small(); "mov [r12 + 124], rax", "mov eax, [r12 + 124]";
    "pass-xmm-to-gpr", 4000, small(); "movq xmm0, rax", "movdqu [r12 + 128], xmm0",
        "mov rax, [r12 + 128]";
    "pass-xmm-high", 4000, small(); "movq xmm0, rax", "movdqu [r12 + 128], xmm0",
        "mov rax, [r12 + 136]";
    "pass-gprs-to-xmm", 2000, small(); "mov [r12 + 128], rax", "mov [r12 + 136], rax",
        "movdqu xmm0, [r12 + 128]", "movq rax, xmm0";
    "pass-ymm", 4000, small(); "vmovdqu [r12 + 128], ymm0", "vmovdqu ymm0, [r12 + 128]",
        "vpaddd ymm0, ymm0, ymm1";
    "pass-ymm-half", 4000, small(); "vmovdqu [r12 + 128], ymm0", "vmovdqu xmm0, [r12 + 144]",
        "vpaddd xmm0, xmm0, xmm1";
    "pass-sd", 4000, small(); "movsd [r12 + 128], xmm0", "movsd xmm0, [r12 + 128]";
    "pass-gpr-to-sd", 4000, small(); "mov [r12 + 128], rax", "movsd xmm0, [r12 + 128]",
        "movq rax, xmm0";
    "pass-overlap-shift", 2000, small(); "mov [r12 + 128], rax", "mov rax, [r12 + 130]";
    "pass-alias-4k", 4000, small(); "mov [r12 + 128], rax", "mov rsi, [r12 + 4224]",
        "add rax, rsi";
    "pass-alias-4k-loads", 2000, small(); "mov [r12 + rcx], rax", "mov rsi, [r12 + rcx + 4096]",
        "add rdi, rsi", "add ecx, 8", "and ecx, 2047";
    "pass-distance-8", 2000, small(); "mov [r12 + rcx * 8 + 64], rax", "mov rax, [r12 + rcx * 8]",
        "add rax, 1", "inc ecx", "and ecx, 255";
    // Stores of other sizes, across lines and pages.
    "store-2", 4000, small(); "mov [r12 + 128], rax", "mov [r12 + 136], rax";
    "store-cross-line", 4000, small(); "mov [r12 + 124], rax";
    "store-cross-page", 2000, small(); "mov [r12 + 4092], rax";
    "store-walk-8", 4000, small(); "mov [r12 + rcx * 8], rax", "inc ecx", "and ecx, 1023";
    "store-walk-bytes", 4000, small(); "mov [r12 + rcx], al", "inc ecx", "and ecx, 4095";
    "store-walk-lines", 4000, small(); "mov [r12 + rcx], rax", "add ecx, 64", "and ecx, 16383";
    "store-walk-256k", 4096, bytes(256 << 10); "mov [r12 + rcx], rax", "add ecx, 64",
        "and ecx, 262143";
    "store-walk-ymm", 4096, bytes(256 << 10); "vmovdqu [r12 + rcx], ymm0", "add ecx, 32",
        "and ecx, 262143";
    "store-ymm-cross", 4000, small(); "vmovdqu [r12 + 112], ymm0";
    "store-nt", 2000, bytes(256 << 10); "movnti [r12 + rcx], rax", "add ecx, 8",
        "and ecx, 262143";
    // Atomic operations.
    "lock-add-1", 1000, small(); "lock add qword ptr [r12 + 128], 1";
    "lock-xadd", 1000, small(); "lock xadd [r12 + 128], rax";
    "lock-cmpxchg", 1000, small(); "mov rax, [r12 + 128]", "lea rsi, [rax + 1]",
        "lock cmpxchg [r12 + 128], rsi";
    "lock-xchg", 1000, small(); "xchg [r12 + 128], rax";
    "lock-work-8", 1000, small(); "lock add qword ptr [r12 + 128], 1", "add rax, rsi",
        "imul rax, rax", "add rdi, rsi", "imul rdi, rdi", "add r9, rsi", "imul r9, r9",
        "add r10, rsi", "imul r10, r10";
    "lock-with-stores", 1000, small(); "mov [r12 + 256], rax", "mov [r12 + 320], rax",
        "lock add qword ptr [r12 + 128], 1";
    "lock-with-loads", 1000, small(); "lock add qword ptr [r12 + 128], 1", "mov rax, [r12 + 256]",
        "mov rdi, [r12 + 320]", "mov rsi, [r12 + 64]";
    "lock-refcount", 1000, small(); "lock inc qword ptr [r12 + 128]",
        "lock dec qword ptr [r12 + 128]";
    "mfence", 1000, small(); "mov [r12 + 128], rax", "mfence";
    "lock-or-stack", 1000, small(); "lock or qword ptr [rsp - 64], 0", "mov rax, [r12 + 128]";
    // Short string instructions.
    "movs-8", 500, small(); "lea rsi, [r12 + 256]", "lea rdi, [r12 + 8192]", "mov ecx, 8",
        "rep movsb";
    "movs-32", 500, small(); "lea rsi, [r12 + 256]", "lea rdi, [r12 + 8192]", "mov ecx, 32",
        "rep movsb";
    "movs-100", 500, small(); "lea rsi, [r12 + 256]", "lea rdi, [r12 + 8192]", "mov ecx, 100",
        "rep movsb";
    "movs-256", 500, small(); "lea rsi, [r12 + 256]", "lea rdi, [r12 + 8192]", "mov ecx, 256",
        "rep movsb";
    "movs-1000", 200, small(); "lea rsi, [r12 + 256]", "lea rdi, [r12 + 8192]", "mov ecx, 1000",
        "rep movsb";
    "movs-4096", 200, small(); "lea rsi, [r12]", "lea rdi, [r12 + 8192]", "mov ecx, 4096",
        "rep movsb";
    "movsq-16", 500, small(); "lea rsi, [r12 + 256]", "lea rdi, [r12 + 8192]", "mov ecx, 16",
        "rep movsq";
    "stos-16", 500, small(); "lea rdi, [r12 + 8192]", "mov ecx, 16", "rep stosb";
    "stos-64", 500, small(); "lea rdi, [r12 + 8192]", "mov ecx, 64", "rep stosb";
    "stos-200", 500, small(); "lea rdi, [r12 + 8192]", "mov ecx, 200", "rep stosb";
    "stos-1024", 200, small(); "lea rdi, [r12 + 8192]", "mov ecx, 1024", "rep stosb";
    "stosq-32", 500, small(); "lea rdi, [r12 + 8192]", "mov ecx, 32", "rep stosq";
    "stos-unaligned", 500, small(); "lea rdi, [r12 + 8201]", "mov ecx, 300", "rep stosb";
    "movsb-one", 2000, small(); "lea rsi, [r12 + 256]", "lea rdi, [r12 + 8192]", "movsb";
    "lodsb", 2000, small(); "lea rsi, [r12 + 256]", "lodsb", "add edi, eax";
}

patterns! { branches:
    // Short taken blocks and dense jumps.
    "jump-1", 4000, small(); "jmp 3f", "3:";
    "jump-2", 4000, small(); "jmp 3f", "3:", "jmp 4f", "4:";
    "jump-4", 4000, small(); ".rept 4", "jmp 3f", "3:", ".endr";
    "jump-8", 2000, small(); ".rept 8", "jmp 3f", "3:", ".endr";
    "jump-32", 1000, small(); ".rept 32", "jmp 3f", "3:", ".endr";
    "jump-over-nop-8", 2000, small(); ".rept 8", "jmp 3f", "nop", "3:", ".endr";
    "jump-add-4", 2000, small(); ".rept 4", "add rax, rsi", "jmp 3f", "nop", "3:", ".endr";
    "jump-add-16", 1000, small(); ".rept 16", "add rax, rsi", "jmp 3f", "nop", "3:", ".endr";
    "jump-adds-2x8", 1000, small(); ".rept 8", "add rax, rsi", "add rdi, rsi", "jmp 3f", "nop",
        "3:", ".endr";
    "jump-adds-4x8", 1000, small(); ".rept 8", "add rax, rsi", "add rdi, rsi", "add r9, rsi",
        "add r10, rsi", "jmp 3f", "nop", "3:", ".endr";
    "jump-adds-6x8", 1000, small(); ".rept 8", "add rax, rsi", "add rdi, rsi", "add r9, rsi",
        "add r10, rsi", "add rax, rsi", "add rdi, rsi", "jmp 3f", "nop", "3:", ".endr";
    "jump-lines-8", 1000, small(); ".rept 8", "add rax, rsi", "jmp 3f", ".p2align 6", "3:",
        ".endr";
    "jump-lines-64", 200, small(); ".rept 64", "add rax, rsi", "jmp 3f", ".p2align 6", "3:",
        ".endr";
    "jump-lines-300", 50, small(); ".rept 300", "add rax, rsi", "jmp 3f", ".p2align 6", "3:",
        ".endr";
    "jump-half-lines-32", 500, small(); ".rept 32", "add rax, rsi", "jmp 3f", ".p2align 5", "3:",
        ".endr";
    "taken-jz-8", 1000, small(); ".rept 8", "test edx, edx", "jz 3f", "nop", "3:", ".endr";
    "taken-jz-2", 4000, small(); ".rept 2", "test edx, edx", "jz 3f", "nop", "3:", ".endr";
    "untaken-jnz-8", 1000, small(); ".rept 8", "test edx, edx", "jnz 3f", "nop", "3:", ".endr";
    "untaken-jnz-32", 500, small(); ".rept 32", "test edx, edx", "jnz 3f", "3:", ".endr";
    "alternate-taken-8", 1000, small(); ".rept 4", "test edx, edx", "jz 3f", "nop", "3:",
        "test edx, edx", "jnz 3f", "nop", "3:", ".endr";
    "cmp-mem-branch", 2000, small(); ".rept 4", "cmp qword ptr [r12 + 128], 5", "je 3f", "3:",
        ".endr";
    "inner-loop-3", 1000, small(); "mov ecx, 3", "3:", "add rax, rsi", "dec ecx", "jnz 3b";
    "inner-loop-8", 1000, small(); "mov ecx, 8", "3:", "add rax, rsi", "dec ecx", "jnz 3b";
    "inner-loop-20", 500, small(); "mov ecx, 20", "3:", "add rax, rsi", "dec ecx", "jnz 3b";
    "inner-loop-50", 200, small(); "mov ecx, 50", "3:", "add rax, rsi", "dec ecx", "jnz 3b";
    "inner-loop-200", 100, small(); "mov ecx, 200", "3:", "add rax, rsi", "dec ecx", "jnz 3b";
    "inner-two-loops", 500, small(); "mov ecx, 5", "3:", "add rax, rsi", "dec ecx", "jnz 3b",
        "mov ecx, 7", "4:", "add rdi, rsi", "dec ecx", "jnz 4b";
    "inner-nested", 100, small(); "mov ecx, 6", "3:", "mov edx, 5", "4:", "add rax, rsi",
        "dec edx", "jnz 4b", "dec ecx", "jnz 3b";
    "inner-varying", 1024, choices(8); "movzx ecx, byte ptr [r12 + rdx]", "inc edx", "inc ecx",
        "3:", "add rax, rsi", "dec ecx", "jnz 3b";
    "counter-mod-3", 4000, small(); "inc ecx", "cmp ecx, 3", "jne 3f", "xor ecx, ecx", "3:";
    "counter-mod-10", 4000, small(); "inc ecx", "cmp ecx, 10", "jne 3f", "xor ecx, ecx", "3:";
    "counter-mod-100", 4000, small(); "inc ecx", "cmp ecx, 100", "jne 3f", "xor ecx, ecx", "3:";
    // Outcomes in data, which repeat after so many.
    "data-branch-64", 4096, choices(2); "mov edx, ecx", "and edx, 63", "inc ecx",
        "cmp byte ptr [r12 + rdx], 0", "je 3f", "add rax, rsi", "3:";
    "data-branch-256", 4096, choices(2); "movzx edx, cl", "inc ecx",
        "cmp byte ptr [r12 + rdx], 0", "je 3f", "add rax, rsi", "3:";
    "data-branch-1k", 4096, choices(2); "mov edx, ecx", "and edx, 1023", "inc ecx",
        "cmp byte ptr [r12 + rdx], 0", "je 3f", "add rax, rsi", "3:";
    "data-branch-2k", 4096, choices(2); "mov edx, ecx", "and edx, 2047", "inc ecx",
        "cmp byte ptr [r12 + rdx], 0", "je 3f", "add rax, rsi", "3:";
    "data-branch-4k", 4096, choices(2); "mov edx, ecx", "inc ecx",
        "cmp byte ptr [r12 + rdx], 0", "je 3f", "add rax, rsi", "3:";
    "data-branch-8k", 8192, choices(2); "mov edx, ecx", "inc ecx",
        "cmp byte ptr [r12 + rdx], 0", "je 3f", "add rax, rsi", "3:";
    "data-branch-16k", 16384, choices(2); "mov edx, ecx", "inc ecx",
        "cmp byte ptr [r12 + rdx], 0", "je 3f", "add rax, rsi", "3:";
    "data-branch-60k", 60000, choices(2); "mov edx, ecx", "inc ecx",
        "cmp byte ptr [r12 + rdx], 0", "je 3f", "add rax, rsi", "3:";
    "data-three-ways-2k", 2048, choices(3); "movzx edx, byte ptr [r12 + rcx]", "inc ecx",
        "cmp edx, 1", "jb 3f", "je 4f", "add rax, rsi", "jmp 5f", "3:", "add rdi, rsi", "jmp 5f",
        "4:", "sub rax, rdi", "5:";
    "data-three-ways-16k", 16384, choices(3); "movzx edx, byte ptr [r12 + rcx]", "inc ecx",
        "cmp edx, 1", "jb 3f", "je 4f", "add rax, rsi", "jmp 5f", "3:", "add rdi, rsi", "jmp 5f",
        "4:", "sub rax, rdi", "5:";
    "data-one-in-8", 16384, one_in(8); "cmp byte ptr [r12 + rcx], 0", "je 3f", "add rax, rsi",
        "3:", "inc ecx";
    "data-one-in-30", 16384, one_in(30); "cmp byte ptr [r12 + rcx], 0", "je 3f", "add rax, rsi",
        "3:", "inc ecx";
    "data-one-in-100", 16384, one_in(100); "cmp byte ptr [r12 + rcx], 0", "je 3f", "add rax, rsi",
        "3:", "inc ecx";
    "data-two-branches-4k", 4096, choices(4); "movzx edx, byte ptr [r12 + rcx]", "inc ecx",
        "test dl, 1", "jz 3f", "add rax, rsi", "3:", "test dl, 2", "jz 4f", "add rdi, rsi", "4:";
    "data-repeat-branch-4k", 4096, choices(2); "movzx edx, byte ptr [r12 + rcx]", "inc ecx",
        "test dl, 1", "jz 3f", "add rax, rsi", "3:", "add rdi, rax", "test dl, 1", "jz 4f",
        "add rdi, rsi", "4:";
    "data-inner-loop-4k", 1024, choices(16); "movzx ecx, byte ptr [r12 + rdx]", "inc edx", "inc ecx",
        "3:", "add rax, rsi", "dec ecx", "jnz 3b";
    "search-500", 500, searches(); "mov edi, [r12 + rcx * 4 + 16384]", "inc ecx", "xor eax, eax",
        "mov edx, 4096", "3:", "lea esi, [rax + rdx]", "shr esi, 1", "cmp [r12 + rsi * 4], edi",
        "jb 4f", "mov edx, esi", "jmp 5f", "4:", "lea eax, [rsi + 1]", "5:", "cmp eax, edx",
        "jb 3b";
    "search-2000", 2000, searches(); "mov edi, [r12 + rcx * 4 + 16384]", "inc ecx", "xor eax, eax",
        "mov edx, 4096", "3:", "lea esi, [rax + rdx]", "shr esi, 1", "cmp [r12 + rsi * 4], edi",
        "jb 4f", "mov edx, esi", "jmp 5f", "4:", "lea eax, [rsi + 1]", "5:", "cmp eax, edx",
        "jb 3b";
    "search-8000", 8000, searches(); "mov edi, [r12 + rcx * 4 + 16384]", "inc ecx", "xor eax, eax",
        "mov edx, 4096", "3:", "lea esi, [rax + rdx]", "shr esi, 1", "cmp [r12 + rsi * 4], edi",
        "jb 4f", "mov edx, esi", "jmp 5f", "4:", "lea eax, [rsi + 1]", "5:", "cmp eax, edx",
        "jb 3b";
    "search-30000", 30000, searches(); "mov edi, [r12 + rcx * 4 + 16384]", "inc ecx",
        "xor eax, eax", "mov edx, 4096", "3:", "lea esi, [rax + rdx]", "shr esi, 1",
        "cmp [r12 + rsi * 4], edi", "jb 4f", "mov edx, esi", "jmp 5f", "4:", "lea eax, [rsi + 1]",
        "5:", "cmp eax, edx", "jb 3b";
    "search-64-of-2000", 2000, searches(); "mov edi, [r12 + rcx * 4 + 16384]", "inc ecx",
        "and edi, 127", "xor eax, eax", "mov edx, 64", "3:", "lea esi, [rax + rdx]", "shr esi, 1",
        "cmp [r12 + rsi * 4], edi", "jb 4f", "mov edx, esi", "jmp 5f", "4:", "lea eax, [rsi + 1]",
        "5:", "cmp eax, edx", "jb 3b";
    "search-cmov-2000", 2000, searches(); "mov edi, [r12 + rcx * 4 + 16384]", "inc ecx",
        "xor eax, eax", "mov edx, 2048", "3:", "lea esi, [rax + rdx]", "cmp [r12 + rsi * 4 - 4], edi",
        "cmovb eax, esi", "shr edx, 1", "jnz 3b";
    "search-linear-2000", 2000, searches(); "mov edi, [r12 + rcx * 4 + 16384]", "inc ecx",
        "and edi, 31", "xor eax, eax", "3:", "cmp [r12 + rax * 4], edi", "jae 4f", "inc eax",
        "jmp 3b", "4:";
    // Calls and returns.
    "call-1", 2000, small(); "call 5f", "jmp 6f", "5:", "ret", "6:";
    "call-sites-2", 2000, small(); ".rept 2", "call 5f", ".endr", "jmp 6f", "5:", "add rax, rsi",
        "ret", "6:";
    "call-sites-4", 1000, small(); ".rept 4", "call 5f", ".endr", "jmp 6f", "5:", "add rax, rsi",
        "ret", "6:";
    "call-sites-16", 500, small(); ".rept 16", "call 5f", ".endr", "jmp 6f", "5:", "add rax, rsi",
        "ret", "6:";
    "call-sites-spread-8", 500, small(); ".rept 8", "call 5f", "add rdi, rsi", "add r9, rsi",
        ".endr", "jmp 6f", "5:", "add rax, rsi", "ret", "6:";
    "call-functions-4", 1000, small(); ".rept 4", "call 5f", "jmp 6f", "5:", "add rax, rsi", "ret",
        "6:", ".endr";
    "call-saves-2", 1000, small(); ".rept 2", "call 5f", ".endr", "jmp 6f", "5:", "push r12",
        "push r13", "add rax, rsi", "imul rax, rsi", "pop r13", "pop r12", "ret", "6:";
    "call-frame", 1000, small(); "call 5f", "jmp 6f", "5:", "sub rsp, 40", "mov [rsp + 8], rax",
        "add rax, rsi", "mov rdi, [rsp + 8]", "add rsp, 40", "ret", "6:";
    "call-nested-3", 1000, small(); "call 5f", "jmp 6f", ".rept 3", "5:", "call 5f", "nop", "ret",
        ".endr", "5:", "ret", "6:";
    "call-nested-8", 500, small(); "call 5f", "jmp 6f", ".rept 8", "5:", "call 5f", "nop", "ret",
        ".endr", "5:", "ret", "6:";
    "call-nested-14", 500, small(); "call 5f", "jmp 6f", ".rept 14", "5:", "call 5f", "nop", "ret",
        ".endr", "5:", "ret", "6:";
    "call-nested-18", 300, small(); "call 5f", "jmp 6f", ".rept 18", "5:", "call 5f", "nop", "ret",
        ".endr", "5:", "ret", "6:";
    "call-nested-24", 300, small(); "call 5f", "jmp 6f", ".rept 24", "5:", "call 5f", "nop", "ret",
        ".endr", "5:", "ret", "6:";
    "call-nested-40", 200, small(); "call 5f", "jmp 6f", ".rept 40", "5:", "call 5f", "nop", "ret",
        ".endr", "5:", "ret", "6:";
    "recurse-6", 500, small(); "mov ecx, 6", "call 5f", "jmp 6f", "5:", "dec ecx", "jz 7f",
        "call 5b", "7:", "ret", "6:";
    "recurse-12", 500, small(); "mov ecx, 12", "call 5f", "jmp 6f", "5:", "dec ecx", "jz 7f",
        "call 5b", "7:", "ret", "6:";
    "recurse-20", 300, small(); "mov ecx, 20", "call 5f", "jmp 6f", "5:", "dec ecx", "jz 7f",
        "call 5b", "7:", "ret", "6:";
    "recurse-32", 300, small(); "mov ecx, 32", "call 5f", "jmp 6f", "5:", "dec ecx", "jz 7f",
        "call 5b", "7:", "ret", "6:";
    "recurse-64", 100, small(); "mov ecx, 64", "call 5f", "jmp 6f", "5:", "dec ecx", "jz 7f",
        "call 5b", "7:", "ret", "6:";
    "recurse-tree-5", 50, small(); "mov ecx, 5", "call 5f", "jmp 6f", "5:", "test ecx, ecx",
        "jz 7f", "dec ecx", "call 5b", "call 5b", "inc ecx", "7:", "add rax, rsi", "ret", "6:";
    "recurse-two-sites-18", 200, small(); "mov ecx, 18", "call 5f", "jmp 6f", "5:", "dec ecx",
        "jz 7f", "test ecx, 1", "jz 8f", "call 5b", "nop", "ret", "8:", "call 5b", "7:", "ret",
        "6:";
    // Returns that go where others did not; indirect branches.
    "return-as-jump", 1000, small(); ["lea rdi, [rip + 5f]"], "push rdi", "ret", "5:";
    "call-indirect-1", 1000, small(); ["lea rdi, [rip + 5f]", "jmp 2f", "5:", "add rax, rsi",
        "ret"], "call rdi";
    "call-indirect-mem", 1000, small(); ["lea rdi, [rip + 5f]", "mov [r12 + 128], rdi", "jmp 2f",
        "5:", "add rax, rsi", "ret"], "call [r12 + 128]";
    "jump-indirect-1", 1000, small(); ["lea rdi, [rip + 5f]"], "jmp rdi", "nop", "5:";
    "jump-indirect-alternate", 2000, small(); ["lea rdi, [rip + 5f]", "lea r9, [rip + 7f]"],
        "xchg rdi, r9", "jmp rdi", "5:", "add rax, rsi", "7:";
    "jump-table-4-in-4", 4096, choices(4); ["lea rdi, [rip + 5f]"], "mov eax, ecx", "and eax, 3",
        "inc ecx", "shl eax, 4", "add rax, rdi", "jmp rax", ".p2align 4", "5:", ".rept 4",
        "add r9, rsi", "jmp 6f", ".p2align 4", ".endr", "6:";
    "jump-table-4-64", 4096, choices(4); ["lea rdi, [rip + 5f]"], "mov eax, ecx", "and eax, 63",
        "movzx eax, byte ptr [r12 + rax]", "inc ecx", "shl eax, 4", "add rax, rdi", "jmp rax",
        ".p2align 4", "5:", ".rept 4", "add r9, rsi", "jmp 6f", ".p2align 4", ".endr", "6:";
    "jump-table-4-1k", 4096, choices(4); ["lea rdi, [rip + 5f]"], "mov eax, ecx", "and eax, 1023",
        "movzx eax, byte ptr [r12 + rax]", "inc ecx", "shl eax, 4", "add rax, rdi", "jmp rax",
        ".p2align 4", "5:", ".rept 4", "add r9, rsi", "jmp 6f", ".p2align 4", ".endr", "6:";
    "jump-table-4-16k", 16384, choices(4); ["lea rdi, [rip + 5f]"],
        "movzx eax, byte ptr [r12 + rcx]", "inc ecx", "shl eax, 4", "add rax, rdi", "jmp rax",
        ".p2align 4", "5:", ".rept 4", "add r9, rsi", "jmp 6f", ".p2align 4", ".endr", "6:";
    "jump-table-32-2k", 2048, choices(32); ["lea rdi, [rip + 5f]"],
        "movzx eax, byte ptr [r12 + rcx]", "inc ecx", "shl eax, 4", "add rax, rdi", "jmp rax",
        ".p2align 4", "5:", ".rept 32", "add r9, rsi", "jmp 6f", ".p2align 4", ".endr", "6:";
    "jump-table-32-16k", 16384, choices(32); ["lea rdi, [rip + 5f]"],
        "movzx eax, byte ptr [r12 + rcx]", "inc ecx", "shl eax, 4", "add rax, rdi", "jmp rax",
        ".p2align 4", "5:", ".rept 32", "add r9, rsi", "jmp 6f", ".p2align 4", ".endr", "6:";
    "jump-table-200-2k", 2048, choices(200); ["lea rdi, [rip + 5f]"],
        "movzx eax, byte ptr [r12 + rcx]", "inc ecx", "shl eax, 4", "add rax, rdi", "jmp rax",
        ".p2align 4", "5:", ".rept 200", "add r9, rsi", "jmp 6f", ".p2align 4", ".endr", "6:";
    "jump-table-200-8k", 8192, choices(200); ["lea rdi, [rip + 5f]"],
        "movzx eax, byte ptr [r12 + rcx]", "inc ecx", "shl eax, 4", "add rax, rdi", "jmp rax",
        ".p2align 4", "5:", ".rept 200", "add r9, rsi", "jmp 6f", ".p2align 4", ".endr", "6:";
    "call-table-8-1k", 1024, choices(8); ["lea rdi, [rip + 5f]"],
        "movzx eax, byte ptr [r12 + rcx]", "inc ecx", "shl eax, 4", "add rax, rdi", "call rax",
        "jmp 6f", ".p2align 4", "5:", ".rept 8", "add r9, rsi", "ret", ".p2align 4", ".endr", "6:";
    "call-table-8-8k", 8192, choices(8); ["lea rdi, [rip + 5f]"],
        "movzx eax, byte ptr [r12 + rcx]", "inc ecx", "shl eax, 4", "add rax, rdi", "call rax",
        "jmp 6f", ".p2align 4", "5:", ".rept 8", "add r9, rsi", "ret", ".p2align 4", ".endr", "6:";
    "threaded-4-2k", 2048, choices(4); ["lea rdi, [rip + 5f]"], "movzx eax, byte ptr [r12 + rcx]",
        "inc ecx", "shl eax, 5", "add rax, rdi", "jmp rax", ".p2align 5", "5:", ".rept 4",
        "add r9, rsi", "movzx eax, byte ptr [r12 + rcx]", "inc ecx", "test eax, eax", "jz 6f",
        "shl eax, 5", "add rax, rdi", "jmp rax", ".p2align 5", ".endr", "6:";
}

patterns! { moves:
    // Moves that renaming eliminates, and those it does not.
    "mov-chain-64", 4000, small(); "mov rdi, rax", "mov rax, rdi";
    "mov-chain-32", 4000, small(); "mov edi, eax", "mov eax, edi";
    "mov-add-chain", 4000, small(); "mov rdi, rax", "add rdi, rsi", "mov rax, rdi";
    "mov-add-chain-32", 4000, small(); "mov edi, eax", "add edi, esi", "mov eax, edi";
    "movzx-byte-chain", 4000, small(); "movzx edi, al", "movzx eax, dil";
    "movzx-word-chain", 4000, small(); "movzx edi, ax", "movzx eax, di";
    "movzx-same", 4000, small(); "movzx eax, al", "add eax, 1";
    "mov-same-32", 4000, small(); "mov eax, eax", "add rax, 1";
    "movsx-chain", 4000, small(); "movsxd rdi, eax", "movsxd rax, edi";
    "mov-8", 1000, small(); ".rept 4", "mov rdi, rax", "mov r9, rsi", ".endr";
    "mov-24", 1000, small(); ".rept 12", "mov rdi, rax", "mov r9, rsi", ".endr";
    "mov32-24", 1000, small(); ".rept 12", "mov edi, eax", "mov r9d, esi", ".endr";
    "movzx-24", 1000, small(); ".rept 12", "movzx edi, al", "movzx r9d, sil", ".endr";
    "movzx-high-24", 1000, small(); ".rept 12", "movzx edi, ah", "movzx edx, ch", ".endr";
    "mov-swap", 4000, small(); "mov rdx, rax", "mov rax, rdi", "mov rdi, rdx";
    "xchg-reg", 4000, small(); "xchg rax, rdi";
    "movaps-chain", 4000, small(); "movaps xmm1, xmm0", "movaps xmm0, xmm1";
    "movaps-add-chain", 4000, small(); "movaps xmm1, xmm0", "addsd xmm1, xmm2",
        "movaps xmm0, xmm1";
    "vmovdqa-24", 1000, small(); ".rept 12", "vmovdqa ymm1, ymm0", "vmovdqa ymm3, ymm2", ".endr";
    "movsd-merge", 2000, small(); "movsd xmm0, xmm1", "movsd xmm1, xmm0";
    "zero-idiom-24", 1000, small(); ".rept 12", "xor edi, edi", "xor r9d, r9d", ".endr";
    "zero-vector-24", 1000, small(); ".rept 12", "pxor xmm0, xmm0", "vpxor ymm1, ymm1, ymm1",
        ".endr";
    "zero-sub-chain", 4000, small(); "sub rax, rax", "add rax, rsi", "add rax, rdi";
    "ones-pcmpeq", 4000, small(); "pcmpeqd xmm0, xmm0", "paddd xmm0, xmm1", "paddd xmm0, xmm1";
    "mov-imm-24", 1000, small(); ".rept 12", "mov edi, 5", "mov r9d, 77", ".endr";
    "mov-imm64-8", 1000, small(); ".rept 8", "movabs rdi, 0x123456789abcdef", ".endr";
    "add-imm-chain", 4000, small(); "add rax, 5", "add rax, 7", "add rax, 9", "add rax, 11";
    "inc-chain", 4000, small(); "inc rax", "inc rax", "inc rax", "inc rax";
    "lea-imm-chain", 4000, small(); "lea rax, [rax + 8]", "lea rax, [rax + 8]";
    "lea-3", 2000, small(); "lea rax, [rax + rsi * 4 + 8]", "lea rax, [rax + rsi + 8]";
    "lea-scaled", 2000, small(); "lea rax, [rsi + rax * 8]", "lea rax, [rax + rax * 2]";
    "lea-independent-8", 2000, small(); ".rept 4", "lea rdi, [rax + rsi * 2]",
        "lea r9, [rax + rsi]", ".endr";
    // Registers in parts.
    "high-byte-read", 2000, small(); "mov al, ah", "add eax, esi";
    "high-byte-write", 2000, small(); "mov ah, cl", "add eax, edi";
    "high-byte-add", 2000, small(); "add ah, 3", "add al, ah";
    "high-byte-zx-walk", 2000, small(); "movzx edi, ah", "movzx edx, al", "add rdi, rdx",
        "add rax, rdi";
    "high-byte-xor", 2000, small(); "xor al, ah", "xor ah, al";
    "low-byte-write", 4000, small(); "mov al, sil", "add eax, edi";
    "low-byte-setcc", 2000, small(); "cmp rdi, rsi", "sete al", "add rdi, rax";
    "setcc-zx", 2000, small(); "cmp rdi, rsi", "setb al", "movzx eax, al", "add rdi, rax";
    "word-write", 4000, small(); "mov ax, si", "add eax, edi";
    "word-imm", 1000, small(); ".rept 8", "add ax, 0x1234", ".endr";
    // Arithmetic.
    "adc-chain", 2000, small(); "adc rax, rsi", "adc rdi, rsi";
    "adc-mem-4", 1000, small(); "clc", "mov rax, [r12 + 64]", "adc rax, [r12 + 96]",
        "mov [r12 + 128], rax", "mov rax, [r12 + 72]", "adc rax, [r12 + 104]",
        "mov [r12 + 136], rax";
    "mul-128", 2000, small(); "mov rax, rdi", "mul rsi", "add rdi, rdx";
    "mulx-4", 1000, small(); "mov rdx, rdi", "mulx r9, r10, rsi", "mulx r11, rax, r8",
        "add rdi, r9";
    "div-32", 1000, small(); "mov eax, 1000000", "xor edx, edx", "div esi", "or eax, 1",
        "add edi, eax";
    "div-32-chain", 1000, small(); "xor edx, edx", "div esi", "or eax, 0x40000000";
    "div-64-small", 1000, small(); "mov eax, 1000000", "xor edx, edx", "div rsi", "add rdi, rax";
    "div-64-large", 500, small(); "movabs rax, 0x123456789abcdef", "xor edx, edx", "div rdi",
        "add r9, rax";
    "div-128", 500, small(); "mov edx, 2", "mov rax, r9", "div rdi", "or r9, 1";
    "idiv-32-chain", 1000, small(); "cdq", "idiv esi", "or eax, 0x40000000";
    "div-remainder", 1000, small(); "mov rax, r9", "xor edx, edx", "div rdi", "lea r9, [rdx + 999]";
    "shift-cl", 2000, small(); "shl rax, cl", "shr rdi, cl";
    "shift-cl-chain", 2000, small(); "shl rax, cl", "shl rax, cl";
    "shlx-chain", 2000, small(); "shlx rax, rax, rcx", "shrx rax, rax, rcx";
    "rol-chain", 2000, small(); "rol rax, 5", "rol rax, 9";
    "rol-cl", 2000, small(); "rol rax, cl", "ror rdi, cl";
    "shld", 2000, small(); "shld rax, rdi, 7", "shrd rdi, rax, 9";
    "bsf-bsr", 2000, small(); "bsf rdi, rax", "bsr r9, rax", "add rax, rdi", "or rax, 1";
    "popcnt-chain", 2000, small(); "popcnt rax, rax", "add rax, rsi";
    "lzcnt-4", 2000, small(); "lzcnt rdi, rax", "lzcnt r9, rsi", "tzcnt r10, rax",
        "tzcnt r11, rsi";
    "pdep-pext", 2000, small(); "pdep rdi, rax, r8", "pext r9, rax, r8";
    "andn-blsr", 2000, small(); "blsr rdi, rax", "andn r9, rax, rsi", "blsi r10, rax";
    "bswap-chain", 2000, small(); "bswap rax", "bswap eax", "add rax, rsi";
    "bt-mem", 2000, small(); "bt qword ptr [r12 + 128], 5", "adc rax, 0";
    "bts-reg", 2000, small(); "bts rax, rsi", "btr rax, rdi";
    "crc32", 2000, small(); "crc32 rax, rsi", "crc32 rax, rdi";
    "cmov-chain", 2000, small(); "cmp rsi, rdi", "cmovb rax, rdi", "cmovae rax, rsi";
    "sbb-mask", 2000, small(); "cmp rsi, rax", "sbb rdi, rdi", "and rdi, r9", "add rax, rdi";
    "cmp-imm-set", 2000, small(); "cmp rax, 77", "seta dl", "add al, dl", "add rax, 3";
    "rdtsc", 500, small(); "rdtsc", "add rdi, rax";
    "pause", 200, small(); "pause";
    "nop-mix", 1000, small(); ".rept 8", ".byte 0x66, 0x0f, 0x1f, 0x44, 0, 0", "add rax, rsi",
        ".endr";
}

patterns! { memory:
    // Lines that share a set of the L1, of the L2.
    "set-ring-4k-8", 2000, ring(8, 4096, false); "mov r13, [r13]";
    "set-ring-4k-12", 2000, ring(12, 4096, false); "mov r13, [r13]";
    "set-ring-4k-14", 2000, ring(14, 4096, false); "mov r13, [r13]";
    "set-ring-4k-24", 2000, ring(24, 4096, false); "mov r13, [r13]";
    "set-ring-4k-64", 2000, ring(64, 4096, true); "mov r13, [r13]";
    "set-ring-8k-10", 2000, ring(10, 8192, true); "mov r13, [r13]";
    "set-ring-8k-32", 2000, ring(32, 8192, true); "mov r13, [r13]";
    "set-ring-64k-16", 2000, ring(16, 65536, true); "mov r13, [r13]";
    "set-ring-128k-14", 2000, ring(14, 131_072, true); "mov r13, [r13]";
    "set-ring-128k-24", 2000, ring(24, 131_072, true); "mov r13, [r13]";
    "set-ring-4160-64", 2000, ring(64, 4160, true); "mov r13, [r13]";
    "set-ring-1k-96", 2000, ring(96, 1024, true); "mov r13, [r13]";
    "ring-line-512", 4000, ring(512, 64, true); "mov r13, [r13]";
    "ring-line-2048", 4000, ring(2048, 64, true); "mov r13, [r13]";
    "ring-line-8192", 8192, ring(8192, 64, true); "mov r13, [r13]";
    "ring-order-8192", 8192, ring(8192, 64, false); "mov r13, [r13]";
    "ring-node-24-8192", 8192, ring(8192, 24, true); "mov r13, [r13]";
    "ring-node-24-order", 8192, ring(8192, 24, false); "mov r13, [r13]";
    "ring-work-2048", 4000, ring(2048, 64, true); "mov r13, [r13]", "add rax, [r13 + 8]",
        "add rdi, [r13 + 16]";
    "ring-page-200", 2000, ring(200, 4160, false); "mov r13, [r13]";
    "ring-page-1500", 3000, ring(1500, 4160, true); "mov r13, [r13]";
    "ring-40k", 40960, ring(40960, 64, true); "mov r13, [r13]";
    "ring-index", 4000, ring(512, 64, true); "mov r13, [r13 + rdx * 8]";
    "ring-disp", 4000, ring(64, 64, true); "mov r13, [r13]", "add r13, rdx";
    "column-walk-4k", 4096, bytes(512 << 10); "add rax, [r12 + rcx]", "add ecx, 4096",
        "and ecx, 524287";
    "column-walk-1k", 4096, bytes(512 << 10); "add rax, [r12 + rcx]", "add ecx, 1024",
        "and ecx, 524287";
    "column-store-4k", 4096, bytes(512 << 10); "mov [r12 + rcx], rax", "add ecx, 4096",
        "and ecx, 524287";
    "column-store-1032", 4096, bytes(512 << 10); "mov [r12 + rcx], rax", "add ecx, 1032",
        "and ecx, 524287";
    "transpose-32x32", 1024, bytes(64 << 10); "mov rax, [r12 + rcx * 8]", "mov edx, ecx",
        "and edx, 31", "shl edx, 8", "mov esi, ecx", "shr esi, 5", "lea edx, [rdx + rsi * 8]",
        "mov [r12 + rdx + 32768], rax", "inc ecx";
    "transpose-4k-rows", 1024, bytes(512 << 10); "mov rax, [r12 + rcx * 8]", "mov edx, ecx",
        "and edx, 31", "shl edx, 12", "mov esi, ecx", "shr esi, 5", "lea edx, [rdx + rsi * 8]",
        "mov [r12 + rdx + 65536], rax", "inc ecx";
    // Loads with a stride, from the L2 and beyond.
    "stride-8-256k", 8192, bytes(256 << 10); "add rax, [r12 + rcx]", "add ecx, 8",
        "and ecx, 262143";
    "stride-64-256k", 4096, bytes(256 << 10); "add rax, [r12 + rcx]", "add ecx, 64",
        "and ecx, 262143";
    "stride-128-256k", 4096, bytes(256 << 10); "add rax, [r12 + rcx]", "add ecx, 128",
        "and ecx, 262143";
    "stride-192-256k", 4096, bytes(256 << 10); "add rax, [r12 + rcx]", "add ecx, 192",
        "and ecx, 262143";
    "stride-320-1m", 4096, bytes(1 << 20); "add rax, [r12 + rcx]", "add ecx, 320",
        "and ecx, 1048575";
    "stride-512-1m", 4096, bytes(1 << 20); "add rax, [r12 + rcx]", "add ecx, 512",
        "and ecx, 1048575";
    "stride-64-1m", 16384, bytes(1 << 20); "add rax, [r12 + rcx]", "add ecx, 64",
        "and ecx, 1048575";
    "stride-64-8m", 131_072, bytes(8 << 20); "add rax, [r12 + rcx]", "add ecx, 64",
        "and ecx, 8388607";
    "stride-256-8m", 32768, bytes(8 << 20); "add rax, [r12 + rcx]", "add ecx, 256",
        "and ecx, 8388607";
    "stride-4160-8m", 16384, bytes(8 << 20); "add rax, [r12 + rcx]", "add ecx, 4160",
        "and ecx, 8388607";
    "stride-back-64-256k", 4096, bytes(256 << 10); "add rax, [r12 + rcx]", "sub ecx, 64",
        "and ecx, 262143";
    "stride-back-64-1m", 16384, bytes(1 << 20); "add rax, [r12 + rcx]", "sub ecx, 64",
        "and ecx, 1048575";
    "stride-ymm-1m", 32768, bytes(1 << 20); "vpaddd ymm0, ymm0, [r12 + rcx]", "add ecx, 32",
        "and ecx, 1048575";
    "stride-chain-512-256k", 4096, bytes(256 << 10); "mov rax, [r12 + rcx]", "and eax, 1",
        "lea ecx, [rcx + rax + 511]", "and ecx, 262143";
    "random-256k", 8192, bytes(256 << 10); "imul r9, r9, 1103515245", "add r9, 12345",
        "mov rdx, r9", "shr rdx, 13", "and edx, 262136", "add rax, [r12 + rdx]";
    "random-1m", 8192, bytes(1 << 20); "imul r9, r9, 1103515245", "add r9, 12345", "mov rdx, r9",
        "shr rdx, 13", "and edx, 1048568", "add rax, [r12 + rdx]";
    "random-16m", 32768, bytes(16 << 20); "imul r9, r9, 1103515245", "add r9, 12345",
        "mov rdx, r9", "shr rdx, 13", "and edx, 16777208", "add rax, [r12 + rdx]";
    "random-store-1m", 8192, bytes(1 << 20); "imul r9, r9, 1103515245", "add r9, 12345",
        "mov rdx, r9", "shr rdx, 13", "and edx, 1048568", "mov [r12 + rdx], rax";
    "copy-ymm-64k", 2048, bytes(256 << 10); "vmovdqu ymm0, [r12 + rcx]",
        "vmovdqu [r12 + rcx + 131072], ymm0", "add ecx, 32", "and ecx, 65535";
    // Loads across lines and pages.
    "load-cross-line", 4000, small(); "mov rax, [r12 + 124]";
    "load-cross-line-2", 4000, small(); "mov rax, [r12 + 124]", "mov rdi, [r12 + 316]";
    "load-cross-line-chase", 2000, small(); ["mov [r12 + 124], r13", "lea r13, [r12 + 124]",
        "mov [r12 + 124], r13"], "mov r13, [r13]";
    "load-cross-page", 4000, small(); "mov rax, [r12 + 4092]";
    "load-cross-page-chase", 2000, small(); ["lea r13, [r12 + 4092]", "mov [r12 + 4092], r13"],
        "mov r13, [r13]";
    "load-unaligned", 4000, small(); "mov rax, [r12 + 131]", "mov rdi, [r12 + 141]",
        "mov r9, [r12 + 149]";
    "load-ymm-cross", 4000, small(); "vmovdqu ymm0, [r12 + 48]";
    "load-ymm-unaligned-walk", 4000, small(); "vpaddd ymm0, ymm0, [r12 + rcx + 1]", "add ecx, 32",
        "and ecx, 8191";
    "load-xmm-unaligned-walk", 4000, small(); "paddd xmm0, xmm1", "movdqu xmm1, [r12 + rcx + 3]",
        "add ecx, 16", "and ecx, 8191";
    "load-3", 4000, small(); "mov rax, [r12 + 128]", "mov rdi, [r12 + 192]", "mov r9, [r12 + 256]";
    "load-same-3", 4000, small(); "mov rax, [r12 + 128]", "mov rdi, [r12 + 128]",
        "mov r9, [r12 + 128]";
    "load-op-6", 2000, small(); "add rax, [r12 + 128]", "add rdi, [r12 + 136]",
        "add r9, [r12 + 192]", "add r10, [r12 + 200]", "add r11, [r12 + 256]",
        "add rsi, [r12 + 264]";
    "load-store-2-1", 4000, small(); "mov rax, [r12 + 128]", "mov rdi, [r12 + 192]",
        "mov [r12 + 256], rax";
    "load-store-4-2", 2000, small(); "mov rax, [r12 + 128]", "mov rdi, [r12 + 192]",
        "mov r9, [r12 + 136]", "mov r10, [r12 + 200]", "mov [r12 + 256], rax",
        "mov [r12 + 264], rdi";
    "load-byte-walk", 4000, small(); "movzx edx, byte ptr [r12 + rcx]", "add rax, rdx", "inc ecx",
        "and ecx, 4095";
    "load-index-chain", 4000, bytes(32 << 10); "movzx eax, byte ptr [r12 + rax]",
        "movzx eax, byte ptr [r12 + rax]";
    "load-table-256", 4096, choices(256); "movzx edx, byte ptr [r12 + rcx]", "inc ecx",
        "xor edx, eax", "movzx edx, dl", "shr eax, 8", "xor eax, [r12 + rdx * 4 + 32768]";
    "prefetch-walk", 4000, bytes(256 << 10); "prefetcht0 [r12 + rcx + 512]",
        "add rax, [r12 + rcx]", "add ecx, 64", "and ecx, 131071";
    "load-pair-bswap", 2000, small(); "movbe rax, [r12 + 128]", "movbe rdi, [r12 + 136]",
        "add rsi, rax";
    "stack-8", 1000, small(); "push rax", "push rdi", "push rsi", "push r9", "pop r9", "pop rsi",
        "pop rdi", "pop rax";
    "stack-rsp-math", 2000, small(); "push rax", "mov rdi, rsp", "add rdi, 8", "pop rax";
}

patterns! { vectors:
    // Gathers, masked loads and stores.
    "gather-d-ymm", 1000, small(); ["vmovdqu ymm2, [r12 + 640]"], "vpcmpeqd ymm1, ymm1, ymm1",
        "vpgatherdd ymm0, [r12 + ymm2 * 4 + 1024], ymm1";
    "gather-d-xmm", 1000, small(); ["movdqu xmm2, [r12 + 640]"], "vpcmpeqd xmm1, xmm1, xmm1",
        "vpgatherdd xmm0, [r12 + xmm2 * 4 + 1024], xmm1";
    "gather-q-ymm", 1000, small(); ["movdqu xmm2, [r12 + 640]"], "vpcmpeqd ymm1, ymm1, ymm1",
        "vpgatherdq ymm0, [r12 + xmm2 * 8 + 1024], ymm1";
    "gather-pd-add", 1000, small(); ["movdqu xmm2, [r12 + 640]"], "vpcmpeqd ymm1, ymm1, ymm1",
        "vgatherdpd ymm0, [r12 + xmm2 * 8 + 1024], ymm1", "vaddpd ymm3, ymm3, ymm0";
    "gather-chain", 1000, small(); ["vpxor ymm2, ymm2, ymm2"], "vpcmpeqd ymm1, ymm1, ymm1",
        "vpgatherdd ymm0, [r12 + ymm2 * 4 + 1024], ymm1", "vpand ymm2, ymm0, ymm2";
    "mask-load-ymm", 2000, small(); ["vpcmpeqd ymm1, ymm1, ymm1"],
        "vpmaskmovd ymm0, ymm1, [r12 + 128]";
    "mask-load-part", 2000, small(); ["vpcmpeqd xmm1, xmm1, xmm1"],
        "vmaskmovps ymm0, ymm1, [r12 + 128]", "vaddps ymm3, ymm3, ymm0";
    "mask-store-ymm", 2000, small(); ["vpcmpeqd ymm1, ymm1, ymm1"],
        "vpmaskmovd [r12 + 128], ymm1, ymm0";
    "mask-store-part", 2000, small(); ["vpcmpeqd xmm1, xmm1, xmm1"],
        "vmaskmovps [r12 + 128], ymm1, ymm0";
    "mask-store-load", 1000, small(); ["vpcmpeqd ymm1, ymm1, ymm1"],
        "vpmaskmovd [r12 + 128], ymm1, ymm0", "vmovdqu ymm0, [r12 + 128]";
    // Divisions and square roots.
    "divsd-chain", 1000, small(); ["movsd xmm0, [r12 + 256]", "movsd xmm1, [r12 + 320]"],
        "divsd xmm0, xmm1", "addsd xmm0, xmm1";
    "divsd-4", 1000, small(); ["movsd xmm0, [r12 + 256]", "movsd xmm1, [r12 + 320]"],
        "movaps xmm2, xmm0", "divsd xmm2, xmm1", "movaps xmm3, xmm1", "divsd xmm3, xmm0";
    "divss-4", 1000, small(); ["movss xmm0, [r12 + 260]", "movss xmm1, [r12 + 324]"],
        "movaps xmm2, xmm0", "divss xmm2, xmm1", "movaps xmm3, xmm1", "divss xmm3, xmm0";
    "divpd-xmm", 1000, small(); ["movdqu xmm0, [r12 + 256]", "movdqu xmm1, [r12 + 320]"],
        "vdivpd xmm2, xmm0, xmm1";
    "divpd-ymm", 1000, small(); ["vmovdqu ymm0, [r12 + 256]", "vmovdqu ymm1, [r12 + 320]"],
        "vdivpd ymm2, ymm0, ymm1";
    "divps-ymm", 1000, small(); ["vmovdqu ymm0, [r12 + 256]", "vmovdqu ymm1, [r12 + 320]"],
        "vdivps ymm2, ymm0, ymm1";
    "divpd-ymm-chain", 1000, small(); ["vmovdqu ymm0, [r12 + 256]", "vmovdqu ymm1, [r12 + 320]"],
        "vdivpd ymm0, ymm0, ymm1", "vaddpd ymm0, ymm0, ymm1";
    "sqrtsd-chain", 1000, small(); ["movsd xmm0, [r12 + 256]"], "sqrtsd xmm0, xmm0",
        "addsd xmm0, xmm1";
    "sqrtsd-independent", 1000, small(); ["movsd xmm0, [r12 + 256]"], "sqrtsd xmm2, xmm0";
    "sqrtpd-xmm", 1000, small(); ["movdqu xmm0, [r12 + 256]"], "sqrtpd xmm2, xmm0";
    "sqrtpd-ymm", 1000, small(); ["vmovdqu ymm0, [r12 + 256]"], "vsqrtpd ymm2, ymm0";
    "sqrtps-ymm", 1000, small(); ["vmovdqu ymm0, [r12 + 256]"], "vsqrtps ymm2, ymm0";
    "sqrtpd-ymm-chain", 1000, small(); ["vmovdqu ymm0, [r12 + 256]", "vmovdqu ymm1, [r12 + 320]"],
        "vsqrtpd ymm0, ymm0", "vaddpd ymm0, ymm0, ymm1";
    "rsqrt-rcp", 1000, small(); ["vmovdqu ymm0, [r12 + 256]"], "vrsqrtps ymm2, ymm0",
        "vrcpps ymm3, ymm0";
    "div-sqrt-mix", 1000, small(); ["movsd xmm0, [r12 + 256]", "movsd xmm1, [r12 + 320]"],
        "movaps xmm2, xmm1", "divsd xmm2, xmm0", "sqrtsd xmm3, xmm1", "addsd xmm4, xmm3";
    // Denormal numbers.
    "denormal-add", 500, small(); ["movsd xmm0, [r12 + 512]", "movsd xmm1, [r12 + 520]"],
        "movaps xmm2, xmm0", "addsd xmm2, xmm1";
    "denormal-mul", 500, small(); ["movsd xmm0, [r12 + 512]", "movsd xmm1, [r12 + 256]"],
        "movaps xmm2, xmm0", "mulsd xmm2, xmm1";
    "denormal-mul-chain", 500, small(); ["movsd xmm0, [r12 + 512]", "movsd xmm1, [r12 + 256]"],
        "vmulsd xmm2, xmm0, xmm1", "vsubsd xmm3, xmm2, xmm2", "vaddsd xmm0, xmm0, xmm3";
    "denormal-result", 500, small(); ["movsd xmm0, [r12 + 256]", "mov rax, 0x0010000000000001",
        "movq xmm1, rax", "mov rax, 0x3fe0000000000000", "movq xmm3, rax"],
        "vmulsd xmm2, xmm1, xmm3";
    "denormal-ps-mul", 500, small(); ["vmovdqu ymm0, [r12 + 576]", "vmovdqu ymm1, [r12 + 256]"],
        "vmulps ymm2, ymm0, ymm1";
    "denormal-ps-add", 500, small(); ["vmovdqu ymm0, [r12 + 576]", "vmovdqu ymm1, [r12 + 608]"],
        "vaddps ymm2, ymm0, ymm1";
    "denormal-compare", 1000, small(); ["movsd xmm0, [r12 + 512]", "movsd xmm1, [r12 + 256]"],
        "ucomisd xmm0, xmm1", "adc rax, 0";
    // Legacy instructions after 256-bit ones.
    "transition-per-call", 500, small(); "vpaddd ymm0, ymm1, ymm2", "vzeroupper", "paddd xmm3, xmm4",
        "paddd xmm3, xmm5";
    "transition-dirty", 500, small(); "vpaddd ymm0, ymm1, ymm2", "paddd xmm3, xmm4";
    "transition-dirty-chain", 500, small(); ["vpcmpeqd ymm3, ymm3, ymm3",
        "vpcmpeqd ymm0, ymm0, ymm0"], "addpd xmm1, xmm2", "addpd xmm1, xmm4";
    "vzeroupper-only", 1000, small(); "vzeroupper", "add rax, rsi";
    "vex-xmm-mix", 1000, small(); "vpaddd xmm0, xmm1, xmm2", "paddd xmm3, xmm4",
        "vpaddd xmm5, xmm6, xmm7";
    // Common vector work.
    "fma-chain", 2000, small(); "vfmadd231pd ymm0, ymm1, ymm2";
    "fma-8", 1000, small(); "vfmadd231pd ymm0, ymm8, ymm9", "vfmadd231pd ymm1, ymm8, ymm9",
        "vfmadd231pd ymm2, ymm8, ymm9", "vfmadd231pd ymm3, ymm8, ymm9",
        "vfmadd231pd ymm4, ymm8, ymm9", "vfmadd231pd ymm5, ymm8, ymm9",
        "vfmadd231pd ymm6, ymm8, ymm9", "vfmadd231pd ymm7, ymm8, ymm9";
    "fma-load-4", 1000, small(); "vfmadd231ps ymm0, ymm8, [r12 + 128]",
        "vfmadd231ps ymm1, ymm8, [r12 + 160]", "vfmadd231ps ymm2, ymm8, [r12 + 192]",
        "vfmadd231ps ymm3, ymm8, [r12 + 224]";
    "add-mul-pd", 2000, small(); "vmulpd ymm2, ymm0, ymm1", "vaddpd ymm3, ymm3, ymm2";
    "addps-4", 2000, small(); "addps xmm0, xmm4", "addps xmm1, xmm4", "addps xmm2, xmm4",
        "addps xmm3, xmm4";
    "shuffle-4", 2000, small(); "pshufb xmm0, xmm4", "pshufd xmm1, xmm5, 27", "punpcklbw xmm2, xmm6",
        "palignr xmm3, xmm7, 4";
    "shuffle-lanes", 2000, small(); "vperm2i128 ymm0, ymm1, ymm2, 33", "vpermq ymm3, ymm4, 78",
        "vpermd ymm5, ymm6, ymm7";
    "vpermd-chain", 2000, small(); "vpermd ymm0, ymm1, ymm0", "vextracti128 xmm2, ymm0, 1";
    "pmovmskb-branch", 2000, small(); "movdqu xmm0, [r12 + 64]", "pcmpeqb xmm0, xmm1",
        "pmovmskb eax, xmm0", "test eax, eax", "jz 3f", "add rdi, rsi", "3:";
    "pmovmskb-chain", 2000, small(); "movd xmm0, eax", "pcmpeqb xmm0, xmm1", "pmovmskb eax, xmm0";
    "movd-round", 2000, small(); "movd xmm0, eax", "movd eax, xmm0";
    "pextr-pinsr", 1000, small(); "pextrq rax, xmm0, 1", "pinsrq xmm0, rax, 0",
        "pextrb edi, xmm1, 3", "pinsrw xmm1, edi, 2";
    "cvt-round", 1000, small(); "cvtsi2sd xmm0, rax", "cvttsd2si rax, xmm0";
    "cvt-independent", 1000, small(); "cvtsi2sd xmm0, rsi", "cvttsd2si rax, xmm1",
        "cvtss2sd xmm2, xmm3", "cvtdq2ps xmm4, xmm5";
    "haddps", 1000, small(); "haddps xmm0, xmm1", "haddps xmm0, xmm1";
    "dpps", 1000, small(); "dpps xmm0, xmm1, 255";
    "roundsd-chain", 1000, small(); "roundsd xmm0, xmm0, 9", "addsd xmm0, xmm1";
    "blendv", 1000, small(); "vblendvps ymm3, ymm1, ymm2, ymm3", "vpblendvb ymm4, ymm5, ymm6, ymm4";
    "minmax-chain", 2000, small(); "minsd xmm0, xmm1", "maxsd xmm0, xmm2";
    "ucomisd-branch", 2000, small(); "ucomisd xmm0, xmm1", "ja 3f", "addsd xmm2, xmm3", "3:";
    "pmuludq-chain", 2000, small(); "pmuludq xmm0, xmm1", "paddq xmm0, xmm2";
    "pmulld", 2000, small(); "pmulld xmm0, xmm1", "vpmulld ymm2, ymm3, ymm4";
    "psadbw", 2000, small(); "vpsadbw ymm0, ymm1, [r12 + 128]", "vpaddq ymm2, ymm2, ymm0";
    "shift-vector", 2000, small(); "vpsllvd ymm0, ymm1, ymm2", "vpsrlq ymm3, ymm3, 3",
        "vpslld ymm4, ymm4, xmm5";
    "broadcast-mem", 2000, small(); "vbroadcastss ymm0, [r12 + 256]", "vpbroadcastd ymm1, [r12 + 260]",
        "vpbroadcastb ymm2, xmm3";
    "ptest-branch", 2000, small(); "vptest ymm0, ymm1", "jz 3f", "add rax, rsi", "3:";
    "aes-chain", 1000, small(); "aesenc xmm0, xmm1", "aesenc xmm0, xmm2";
    "aes-4", 1000, small(); "aesenc xmm0, xmm4", "aesenc xmm1, xmm4", "aesenc xmm2, xmm4",
        "aesenc xmm3, xmm4";
    "pclmul-chain", 1000, small(); "pclmulqdq xmm0, xmm1, 16", "pxor xmm0, xmm2";
}
