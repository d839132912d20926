//! Loops that each ask one question about a core. Their answers are in the descriptions of the
//! cores; they count in no group. `validate CORE ask-` runs them.

use std::arch::asm;

use super::loops::loops;
use super::{Group, Kernel, Random};

/// Accesses per run.
const ACCESSES: u64 = 16_384;
/// The bytes of a cache line.
const LINE: u64 = 64;

pub fn kernels() -> Vec<Kernel> {
    let mut kernels = pipes();
    kernels.extend(waiting());
    kernels.extend(lines());
    kernels.extend(order());
    kernels
}

loops! { pipes, Group::Question;
    // What do additions cost after a multiplication, and after one another?
    "ask-mul-sub-add": "mulsd xmm0, xmm1", "subsd xmm0, xmm2", "addsd xmm0, xmm3";
    // Do a comparison and what reads its flags take a cycle each?
    "ask-cmp-cmov": "inc rax", "cmp rax, rcx", "cmovae rax, rcx";
    "ask-cmp-sbb": "cmp rsi, rdi", "sbb r9, 0", "mov rdi, r9";
    // On how many pipes are instructions executed that write flags alone?
    "ask-cmp": ".rept 24", "cmp rax, rcx", ".endr";
    "ask-bt": ".rept 24", "bt rcx, 1", ".endr";
    // Are these pipes those of branches that are not taken? Here they read no result of `bt`.
    "ask-bt-branches": ".rept 24", "bt rcx, rsi", "jz 9f", ".endr", "9:";
    // And if they do?
    "ask-bt-own-branches": ".rept 24", "bt rcx, 1", "jnc 9f", ".endr", "9:";
    // How many chains of additions find a pipe in every cycle?
    "ask-chains-4": ".rept 6", "add rdi, rax", "add rsi, rax", "add rdx, rax", "add r9, rax",
        ".endr";
    "ask-chains-6": ".rept 6", "add rdi, rax", "add rsi, rax", "add rdx, rax", "add r9, rax",
        "add r10, rax", "add r11, rax", ".endr";
    // Do shuffles find two pipes, or one?
    "ask-shuffle-pack": ".rept 24", "vpackssdw xmm0, xmm1, xmm1", ".endr";
    "ask-shuffle-align": ".rept 24", "vpalignr xmm0, xmm1, xmm1, 4", ".endr";
    "ask-shuffle-unpack-ps": ".rept 24", "vunpcklps xmm0, xmm1, xmm1", ".endr";
    "ask-shuffle-insert": ".rept 24", "vinsertps xmm0, xmm1, xmm1, 16", ".endr";
    "ask-shuffle-double": ".rept 24", "vmovddup xmm0, xmm1", ".endr";
    "ask-shuffle-unpack-dq": ".rept 24", "vpunpckldq xmm0, xmm1, xmm1", ".endr";
    "ask-shuffle-ps": ".rept 24", "vshufps xmm0, xmm1, xmm1, 27", ".endr";
    // What does each of so many jumps cost that lie in 32 bytes?
    "ask-jumps-6": ".p2align 6", ".rept 6", "jmp 8f", "8:", ".endr";
    "ask-jumps-8": ".p2align 6", ".rept 8", "jmp 8f", "8:", ".endr";
    "ask-jumps-16": ".p2align 6", ".rept 16", "jmp 8f", "8:", ".endr";
    // How many loads are executed per cycle, of zeros in one bank, in several, and if one of three
    // loads a pointer?
    "ask-loads-of-zeros": ".rept 8", "mov rax, [r12 + 64]", "mov rsi, [r12 + 128]",
        "mov rdi, [r12 + 192]", ".endr";
    "ask-loads-of-banks": ".rept 8", "mov rax, [r12 + 64]", "mov rsi, [r12 + 72]",
        "mov rdi, [r12 + 80]", ".endr";
    "ask-loads-of-a-pointer": ".rept 8", "mov rax, [r12]", "mov rsi, [r12 + 64]",
        "mov rdi, [r12 + 128]", ".endr";
    // How long is a repeated move up to 128 bytes, and beyond?
    "ask-move-16": "mov rsi, r12", "lea rdi, [r12 + 256]", "mov ecx, 16", "rep movsb";
    "ask-move-128": "mov rsi, r12", "lea rdi, [r12 + 256]", "mov ecx, 128", "rep movsb";
    "ask-move-129": "mov rsi, r12", "lea rdi, [r12 + 256]", "mov ecx, 129", "rep movsb";
    // How long does a load wait for what a register added to memory?
    "ask-read-change": "mov [r12 + 128], rdi", "add [r12 + 128], rax", "mov rax, [r12 + 128]";
    // Does the youngest of several operations wait that are ready in the same cycle?
    "ask-last-of-3": ".rept 20", "lea rsi, [rax + 0x1000000]", "lea rdi, [rax + 0x1000000]",
        "lea r9, [rax + 0x1000000]", "lea rax, [r9 + 0x1000000]", ".endr";
    "ask-last-of-4": ".rept 20", "lea rsi, [rax + 0x1000000]", "lea rdi, [rax + 0x1000000]",
        "lea r9, [rax + 0x1000000]", "lea r10, [rax + 0x1000000]", "lea rax, [r10 + 0x1000000]",
        ".endr";
    "ask-first-of-4": ".rept 20", "lea rsi, [rax + 0x1000000]", "lea rdi, [rax + 0x1000000]",
        "lea r9, [rax + 0x1000000]", "lea r10, [rax + 0x1000000]", "lea rax, [rsi + 0x1000000]",
        ".endr";
    // How long does it take to read a line of code with so many instructions: moves of two to five
    // bytes that rename executes?
    "ask-line-of-12": ".rept 192", ".byte 0x3e, 0x3e", "mov rsi, rdi", ".endr";
    "ask-line-of-16": ".rept 192", ".byte 0x3e", "mov rsi, rdi", ".endr";
    "ask-line-of-21": ".rept 192", "mov rsi, rdi", ".endr";
    "ask-line-of-32": ".rept 192", "mov esi, edi", ".endr";
    // And one that a jump leads into and another leaves?
    "ask-block-of-4": ".rept 16", ".rept 3", "mov rsi, rdi", ".endr", "jmp 8f", ".p2align 6",
        "8:", ".endr";
    "ask-block-of-12": ".rept 16", ".rept 11", "mov rsi, rdi", ".endr", "jmp 8f", ".p2align 6",
        "8:", ".endr";
    "ask-block-of-13": ".rept 16", ".rept 12", "mov rsi, rdi", ".endr", "jmp 8f", ".p2align 6",
        "8:", ".endr";
    // On how many pipes are moves executed that read one flag or two?
    "ask-cmovb": ".rept 5", "cmovb rax, r8", "cmovb rsi, r8", "cmovb rdi, r8", "cmovb r9, r8",
        "cmovb r10, r8", ".endr";
    "ask-cmova": ".rept 5", "cmova rax, r8", "cmova rsi, r8", "cmova rdi, r8", "cmova r9, r8",
        "cmova r10, r8", ".endr";
    // How many stores are written per cycle, to one line and to several?
    "ask-stores-one-line": "mov [r12 + 128], rax", "mov [r12 + 136], rax",
        "mov [r12 + 144], rax", "mov [r12 + 152], rax";
    "ask-stores-four-lines": "mov [r12 + 128], rax", "mov [r12 + 64], rax",
        "mov [r12 + 192], rax", "mov [r12 + 256], rax";
}

/// Defines loops in which some operations wait for 40 loads, each of these for the one before, and
/// the first of 24 more loads comes after them: their function, how many wait, and what repeats.
macro_rules! waiting {
    ($function:ident: $($name:literal: $count:literal, $($line:literal),+;)+) => {
        loops! { $function, Group::Question;
            $($name: "xor ecx, ecx", "xor edx, edx", "lfence",
                ".rept 40", "mov rcx, [r12 + rcx + 128]", ".endr",
                $count, $($line,)+ ".endr",
                ".rept 24", "mov rdx, [r12 + rdx + 128]", ".endr", "lfence";)+
        }
    };
}

// Have so many room at once, if all instructions are such, or every second, third or sixth? Where
// not, an iteration takes 120 cycles more.
waiting! { waiting:
    "ask-wait-90-every-1": ".rept 90", "lea rdi, [rcx + r11]";
    "ask-wait-102-every-1": ".rept 102", "lea rdi, [rcx + r11]";
    "ask-wait-45-every-2": ".rept 45", "lea rdi, [rcx + r11]", "nop";
    "ask-wait-54-every-2": ".rept 54", "lea rdi, [rcx + r11]", "nop";
    "ask-wait-30-every-3": ".rept 30", "lea rdi, [rcx + r11]", "nop", "nop";
    "ask-wait-36-every-3": ".rept 36", "lea rdi, [rcx + r11]", "nop", "nop";
    "ask-wait-30-every-6": ".rept 30", "lea rdi, [rcx + r11]", ".rept 5", "nop", ".endr";
    "ask-wait-36-every-6": ".rept 36", "lea rdi, [rcx + r11]", ".rept 5", "nop", ".endr";
}

/// Defines loops that take one offset after the other: its function, and what they do with it.
macro_rules! with_offsets {
    ($function:ident: $($name:literal, $offset:expr; $($line:literal),+;)+) => {
        fn $function() -> Vec<Kernel> {
            vec![$(Kernel {
                name: $name,
                group: Group::Question,
                prepare: || {
                    let offsets = offsets($offset);
                    let furthest = offsets.iter().max().map_or(0, |&offset| offset);
                    // Room for a line more, so that there is an aligned one to begin with.
                    let mut words = vec![0_u64; (furthest + 2 * LINE) as usize / size_of::<u64>()];
                    let first = words.as_ptr().align_offset(LINE as usize);
                    Box::new(move || {
                        // SAFETY: accesses the first eight bytes of the lines at the offsets, and
                        // of the first line.
                        unsafe {
                            asm!(
                                "2:", "mov {at}, [{offsets}]", $($line,)+
                                "9:", "add {offsets}, 8", "dec {left}", "jnz 2b",
                                at = out(reg) _,
                                value = inout(reg) 1_u64 => _,
                                lines = in(reg) words.as_mut_ptr().add(first),
                                offsets = inout(reg) offsets.as_ptr() => _,
                                left = inout(reg) ACCESSES => _,
                                options(nostack)
                            );
                        }
                    })
                },
            }),+]
        }
    };
}

fn offsets(offset: impl Fn(u64, &mut Random) -> u64) -> Vec<u64> {
    let mut random = Random(3);
    (0..ACCESSES)
        .map(|access| offset(access, &mut random))
        .collect()
}

/// A thousand lines in order, each this many lines after the last.
const fn every(lines: u64) -> impl Fn(u64, &mut Random) -> u64 {
    move |access, _| access % 1024 * lines * LINE
}

/// Lines of so many bytes at random.
const fn any(bytes: u64) -> impl Fn(u64, &mut Random) -> u64 {
    move |_, random| random.next() % (bytes / LINE) * LINE
}

/// The first line, and the second in every so many accesses.
const fn elsewhere_in(accesses: u64) -> impl Fn(u64, &mut Random) -> u64 {
    move |access, _| if access % accesses == 0 { LINE } else { 0 }
}

// How often does a line come from the L2, by the distance between them? If it was changed, too?
with_offsets! { lines:
    "ask-load-every-1", every(1); "mov {value}, [{lines} + {at}]";
    "ask-load-every-2", every(2); "mov {value}, [{lines} + {at}]";
    "ask-load-every-8", every(8); "mov {value}, [{lines} + {at}]";
    "ask-load-any", any(256 << 10); "mov {value}, [{lines} + {at}]";
    "ask-store-every-1", every(1); "mov [{lines} + {at}], {value}";
    "ask-store-every-8", every(8); "mov [{lines} + {at}], {value}";
    "ask-store-any", any(512 << 10); "mov [{lines} + {at}], {value}";
    // Do stores to lines of the L1 between them wait as if their lines came from the L2, too?
    "ask-store-any-and-1", any(512 << 10); "mov [{lines} + {at}], {value}",
        "mov [{lines}], {value}";
    "ask-store-any-and-4", any(512 << 10); "mov [{lines} + {at}], {value}",
        "mov [{lines}], {value}", "mov [{lines} + 64], {value}",
        "mov [{lines} + 128], {value}", "mov [{lines} + 192], {value}";
    "ask-change-any", any(256 << 10); "or [{lines} + {at}], {value}";
}

// When does a load take the register of the store before it, if some stores go elsewhere?
with_offsets! { order:
    "ask-pass-always", |_, _| 0; "mov [{lines} + {at}], {value}", "mov {value}, [{lines}]",
        "add {value}, 1";
    "ask-pass-12-of-13", elsewhere_in(13); "mov [{lines} + {at}], {value}",
        "mov {value}, [{lines}]", "add {value}, 1";
    "ask-pass-16-of-17", elsewhere_in(17); "mov [{lines} + {at}], {value}",
        "mov {value}, [{lines}]", "add {value}, 1";
    // For how long does a load wait for addresses after it ran ahead of one that was its own?
    "ask-wait-never", |_, _| LINE; "imul {at}, {at}, 1", "imul {at}, {at}, 1",
        "imul {at}, {at}, 1", "imul {at}, {at}, 1", "mov [{lines} + {at}], {left}",
        "mov {value}, [{lines}]", "imul {value}, {value}, 1";
    "ask-wait-1-of-500", |access, _| u64::from(access % 500 > 0) * LINE; "imul {at}, {at}, 1",
        "imul {at}, {at}, 1", "imul {at}, {at}, 1", "imul {at}, {at}, 1",
        "mov [{lines} + {at}], {left}", "mov {value}, [{lines}]", "imul {value}, {value}, 1";
}
