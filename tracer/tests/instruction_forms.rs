//! Random instructions have the same effect translated as natively: on every general register, the
//! flags, the x87, vector and mask registers, and memory.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

use std::arch::x86_64::__cpuid_count;
use std::collections::HashSet;
use std::sync::atomic::{AtomicU64, Ordering};

use topdown_tracer::iced_x86::{
    Code, Decoder, DecoderOptions, FlowControl, Instruction, InstructionInfoFactory, Mnemonic,
    OpAccess, OpKind, Register,
};
use topdown_tracer::{Block, Config, Consumer, TraceError, Tracer};

struct Nothing;

impl Consumer for Nothing {
    fn block(&mut self, _block: &Block<'_>, _addresses: &[u64]) {}
}

// ---- the bench ----

/// One mapping: code, then what it reads and writes, all within reach of RIP-relative operands.
/// The translation lies far away, so that these operands are rewritten.
struct Bench {
    start: *mut u8,
    vector_bytes: usize,
}

const CODE_BYTES: usize = 4096;
const INPUT: usize = CODE_BYTES;
const OUTPUT: usize = INPUT + 20 * 1024;
const HOST_STACK: usize = OUTPUT + 20 * 1024;
const SCRATCH: usize = 48 * 1024;
const SCRATCH_BYTES: usize = 64 * 1024;
const MIDDLE: usize = SCRATCH + SCRATCH_BYTES / 2;
const BENCH_BYTES: usize = SCRATCH + SCRATCH_BYTES;

/// Places in the input and output parts.
const GENERAL: usize = 0;
const FLAGS: usize = 128;
const VECTORS: usize = 192;

/// x87, SSE, AVX, mask registers and both halves of the AVX-512 state.
const VECTOR_MASK: u64 = 0xe7;

static CODE: AtomicU64 = AtomicU64::new(0);
static FAULT_EXIT: AtomicU64 = AtomicU64::new(0);

extern "C" fn on_fault(signal: i32, _info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    // SAFETY: the kernel passes the interrupted state.
    let registers = unsafe { &mut (*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs };
    let rip = registers[libc::REG_RIP as usize] as u64;
    let code = CODE.load(Ordering::Relaxed);
    if (code..code + CODE_BYTES as u64).contains(&rip) {
        registers[libc::REG_RIP as usize] = FAULT_EXIT.load(Ordering::Relaxed) as i64;
        // The trap, direction and alignment flags may be what faulted.
        registers[libc::REG_EFL as usize] = 2;
    } else {
        // SAFETY: a fault elsewhere is a bug: let it end the process.
        unsafe { libc::signal(signal, libc::SIG_DFL) };
    }
}

impl Bench {
    fn new() -> Bench {
        // SAFETY: a new mapping; then handlers on a stack of their own, since the tested code has
        // any value in rsp.
        unsafe {
            let start = libc::mmap(
                std::ptr::null_mut(),
                BENCH_BYTES,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
                -1,
                0,
            );
            assert_ne!(start, libc::MAP_FAILED);
            let stack = libc::stack_t {
                ss_sp: Box::leak(vec![0_u8; 128 * 1024].into_boxed_slice())
                    .as_mut_ptr()
                    .cast(),
                ss_flags: 0,
                ss_size: 128 * 1024,
            };
            libc::sigaltstack(&stack, std::ptr::null_mut());
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = on_fault as *const () as usize;
            action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
            for signal in [
                libc::SIGSEGV,
                libc::SIGILL,
                libc::SIGFPE,
                libc::SIGBUS,
                libc::SIGTRAP,
            ] {
                libc::sigaction(signal, &action, std::ptr::null_mut());
            }
            CODE.store(start as u64, Ordering::Relaxed);
            Bench {
                start: start.cast(),
                vector_bytes: __cpuid_count(0xd, 0).ebx as usize,
            }
        }
    }

    fn address(&self, offset: usize) -> u64 {
        self.start as u64 + offset as u64
    }

    #[expect(clippy::mut_from_ref, reason = "callers use one part at a time")]
    fn part(&self, offset: usize, bytes: usize) -> &mut [u8] {
        assert!(offset + bytes <= BENCH_BYTES);
        // SAFETY: inside the mapping, which is never unmapped.
        unsafe { std::slice::from_raw_parts_mut(self.start.add(offset), bytes) }
    }

    fn protect_code(&self, protection: i32) {
        // SAFETY: the mapping's first page.
        let result = unsafe { libc::mprotect(self.start.cast(), CODE_BYTES, protection) };
        assert_eq!(result, 0);
    }

    /// Writes a function around `body`: load the input state, the body, store the output state.
    fn write_code(&self, body: &[u8]) {
        self.protect_code(libc::PROT_READ | libc::PROT_WRITE);
        let mut code = CodeWriter {
            bench: self,
            bytes: Vec::new(),
        };
        // push rbx, rbp, r12 to r15
        code.put(&[0x53, 0x55, 0x41, 0x54, 0x41, 0x55, 0x41, 0x56, 0x41, 0x57]);
        code.relative(&[0x48, 0x89, 0x25], HOST_STACK); // mov [host], rsp
        code.vector_mask();
        code.relative(&[0x48, 0x0f, 0xae, 0x2d], INPUT + VECTORS); // xrstor64
        code.relative(&[0xff, 0x35], INPUT + FLAGS); // push [flags]
        code.put(&[0x9d]); // popfq
        for register in 0..16_u8 {
            let rex = 0x48 | (register >> 3) << 2;
            let modrm = (register & 7) << 3 | 5;
            let place = INPUT + GENERAL + 8 * usize::from(register);
            code.relative(&[rex, 0x8b, modrm], place);
        }
        code.put(body);
        for register in 0..16_u8 {
            let rex = 0x48 | (register >> 3) << 2;
            let modrm = (register & 7) << 3 | 5;
            let place = OUTPUT + GENERAL + 8 * usize::from(register);
            code.relative(&[rex, 0x89, modrm], place);
        }
        code.relative(&[0x48, 0x8b, 0x25], HOST_STACK); // mov rsp, [host]
        code.put(&[0x9c]); // pushfq
        code.relative(&[0x8f, 0x05], OUTPUT + FLAGS); // pop [flags]
        code.put(&[0xfc]); // cld
        code.vector_mask();
        code.relative(&[0x48, 0x0f, 0xae, 0x25], OUTPUT + VECTORS); // xsave64
        code.put(&[0x31, 0xc0]); // xor eax, eax
        let leave = |code: &mut CodeWriter<'_>| {
            code.put(&[0xdb, 0xe3]); // fninit
            code.put(&[0x68, 0x80, 0x1f, 0, 0, 0x0f, 0xae, 0x14, 0x24]); // push; ldmxcsr [rsp]
            code.put(&[0x48, 0x8d, 0x64, 0x24, 0x08]); // lea rsp, [rsp+8]
            // pop r15 to r12, rbp, rbx; ret
            code.put(&[
                0x41, 0x5f, 0x41, 0x5e, 0x41, 0x5d, 0x41, 0x5c, 0x5d, 0x5b, 0xc3,
            ]);
        };
        leave(&mut code);
        FAULT_EXIT.store(self.address(code.bytes.len()), Ordering::Relaxed);
        code.relative(&[0x48, 0x8b, 0x25], HOST_STACK); // mov rsp, [host]
        code.put(&[0xb8, 1, 0, 0, 0]); // mov eax, 1
        leave(&mut code);
        self.part(0, code.bytes.len()).copy_from_slice(&code.bytes);
        self.protect_code(libc::PROT_READ | libc::PROT_EXEC);
    }

    /// Runs the function: whether it got to its end.
    fn call(&self) -> bool {
        // SAFETY: `write_code` has written a function of this type, which keeps what a function
        // must keep.
        let function: extern "C" fn() -> u32 = unsafe { std::mem::transmute(self.start) };
        function() == 0
    }

    /// Everything that the instruction could change, made comparable.
    fn result(&self) -> (Vec<u8>, Vec<u8>) {
        let mut state = self.part(OUTPUT, VECTORS + self.vector_bytes).to_vec();
        // The last x87 instruction's opcode and address, and the header, which says whether a part
        // is in its initial state.
        state[VECTORS + 6..VECTORS + 24].fill(0);
        state[VECTORS + 512..VECTORS + 576].fill(0);
        (state, self.part(SCRATCH, SCRATCH_BYTES).to_vec())
    }
}

struct CodeWriter<'a> {
    bench: &'a Bench,
    bytes: Vec<u8>,
}

impl CodeWriter<'_> {
    fn put(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// An instruction that ends with a RIP-relative operand.
    fn relative(&mut self, opcode: &[u8], offset: usize) {
        self.put(opcode);
        let after = self.bench.address(self.bytes.len() + 4);
        let distance = self.bench.address(offset).wrapping_sub(after) as u32;
        self.put(&distance.to_le_bytes());
    }

    fn vector_mask(&mut self) {
        self.put(&[0xb8]); // mov eax, mask
        self.put(&(VECTOR_MASK as u32).to_le_bytes());
        self.put(&[0x31, 0xd2]); // xor edx, edx
    }
}

// ---- random input ----

struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    fn below(&mut self, limit: u64) -> u64 {
        (self.next() >> 32) % limit
    }

    fn byte(&mut self) -> u8 {
        (self.next() >> 40) as u8
    }

    fn one_of<T: Copy>(&mut self, items: &[T]) -> T {
        items[self.below(items.len() as u64) as usize]
    }
}

/// These hold addresses in the scratch memory when an instruction uses memory.
const POINTERS: [Register; 9] = [
    Register::RBX,
    Register::RBP,
    Register::RSI,
    Register::RDI,
    Register::R11,
    Register::R12,
    Register::R13,
    Register::R14,
    Register::R15,
];

fn fill_input(bench: &Bench, random: &mut Random, uses_memory: bool) {
    let middle = bench.address(MIDDLE);
    for register in 0..16 {
        let is_pointer = POINTERS.iter().any(|pointer| pointer.number() == register);
        let value = if register == Register::RSP.number() {
            middle + 16 * 1024
        } else if !uses_memory {
            random.next()
        } else if is_pointer {
            middle + 64 * random.below(8) + random.one_of(&[0, 0, 0, 16, 32, 3])
        } else {
            random.below(256)
        };
        let place = INPUT + GENERAL + 8 * register;
        bench.part(place, 8).copy_from_slice(&value.to_le_bytes());
    }
    // Carry, parity, adjust, zero, sign and overflow.
    let flags = 2 | random.next() & 0x8d5;
    bench
        .part(INPUT + FLAGS, 8)
        .copy_from_slice(&flags.to_le_bytes());
    let style = random.below(3);
    let vectors = bench.part(INPUT + VECTORS, bench.vector_bytes);
    for chunk in vectors.chunks_mut(8) {
        let value = match style {
            0 => random.next(),
            1 => random.next() & 0xff_0000_00ff,
            _ => random.next() & 0xff,
        };
        chunk.copy_from_slice(&value.to_le_bytes()[..chunk.len()]);
    }
    // The head of the legacy part: control word, status, tags; MXCSR and its mask. The header: all
    // parts are present, in the standard form.
    vectors[..24].fill(0);
    vectors[..2].copy_from_slice(&0x37f_u16.to_le_bytes());
    vectors[4] = random.one_of(&[0, 0xff]);
    vectors[24..28].copy_from_slice(&0x1f80_u32.to_le_bytes());
    vectors[512..576].fill(0);
    vectors[512..520].copy_from_slice(&VECTOR_MASK.to_le_bytes());
}

fn fill_scratch(bench: &Bench, seed: u64) {
    let mut random = Random(seed);
    for chunk in bench.part(SCRATCH, SCRATCH_BYTES).chunks_mut(8) {
        chunk.copy_from_slice(&random.next().to_le_bytes());
    }
}

/// Random bytes in the shape of an instruction.
fn random_bytes(random: &mut Random) -> Vec<u8> {
    let mut bytes = Vec::new();
    let shape = random.below(12);
    if shape < 7 {
        for prefix in [0x66, 0xf2, 0xf3, 0xf0, 0x64, 0x67] {
            let rare = if prefix == 0x64 || prefix == 0x67 {
                60
            } else {
                6
            };
            if random.below(rare) == 0 {
                bytes.push(prefix);
            }
        }
        if random.below(2) == 0 {
            bytes.push(0x40 | random.byte() & 15);
        }
    }
    match shape {
        0 | 1 => {}
        2..=4 => bytes.push(0x0f),
        5 => bytes.extend([0x0f, 0x38]),
        6 => bytes.extend([0x0f, 0x3a]),
        7 => bytes.extend([0xc5, random.byte()]),
        8 | 9 => bytes.extend([
            0xc4,
            random.byte() & 0xe0 | (1 + random.byte() % 3),
            random.byte(),
        ]),
        _ => bytes.extend([
            0x62,
            random.byte() & 0xf0 | random.one_of(&[1, 2, 3, 5, 6]),
            random.byte() | 4,
            random.byte(),
        ]),
    }
    bytes.extend((0..11).map(|_| random.byte()));
    bytes
}

/// A random instruction that ends by itself and whose memory operand, if any, can be pointed at
/// the scratch memory.
fn random_instruction(
    bench: &Bench,
    random: &mut Random,
    at: u64,
) -> Option<(Vec<u8>, Instruction)> {
    let mut bytes = random_bytes(random);
    let mut decoder = Decoder::with_ip(64, &bytes, at, DecoderOptions::NONE);
    let first = decoder.decode();
    if first.is_invalid() || first.flow_control() != FlowControl::Next || is_excluded(&first) {
        return None;
    }
    let offsets = decoder.get_constant_offsets(&first);
    let (from, size) = (offsets.displacement_offset(), offsets.displacement_size());
    bytes.truncate(first.len());
    if has_memory_operand(&first) {
        let small = (random.below(64) as i64 - 32) * random.one_of(&[64, 64, 16, 1]);
        if first.is_ip_rel_memory_operand() {
            let target = bench.address(MIDDLE).wrapping_add_signed(small);
            let distance = target.wrapping_sub(at + first.len() as u64) as u32;
            bytes[from..from + 4].copy_from_slice(&distance.to_le_bytes());
        } else {
            let pointed = POINTERS.contains(&first.memory_base().full_register())
                || first.memory_base() == Register::RSP;
            let absolute = first.memory_base() == Register::None && size == 8;
            if absolute {
                let target = bench.address(MIDDLE).wrapping_add_signed(small);
                bytes[from..from + 8].copy_from_slice(&target.to_le_bytes());
            } else if !pointed || POINTERS.contains(&first.memory_index().full_register()) {
                return None;
            } else if size == 4 {
                bytes[from..from + 4].copy_from_slice(&(small as i32).to_le_bytes());
            }
        }
    }
    let mut decoder = Decoder::with_ip(64, &bytes, at, DecoderOptions::NONE);
    let decoded = decoder.decode();
    assert_eq!(decoded.code(), first.code());
    Some((bytes, decoded))
}

fn has_memory_operand(instruction: &Instruction) -> bool {
    (0..instruction.op_count()).any(|operand| instruction.op_kind(operand) == OpKind::Memory)
}

/// Whether what follows could use memory outside the scratch memory.
fn moves_a_pointer(factory: &mut InstructionInfoFactory, instruction: &Instruction) -> bool {
    factory
        .info(instruction)
        .used_registers()
        .iter()
        .filter(|used| !matches!(used.access(), OpAccess::Read | OpAccess::CondRead))
        .map(|used| used.register().full_register())
        .any(|register| register == Register::RSP || POINTERS.contains(&register))
}

/// What has another result every time, reaches outside the bench, or changes what is not compared.
fn is_excluded(instruction: &Instruction) -> bool {
    use Mnemonic::*;
    let writes_segment = instruction.op_count() > 0
        && instruction.op0_kind() == OpKind::Register
        && instruction.op0_register().is_segment_register();
    let in_segment = matches!(instruction.segment_prefix(), Register::FS | Register::GS)
        && has_memory_operand(instruction);
    // They reach as far as the register says.
    let in_bit_string = matches!(instruction.mnemonic(), Bt | Bts | Btr | Btc)
        && instruction.op0_kind() == OpKind::Memory
        && [&[Register::RSP], &POINTERS[..]]
            .concat()
            .contains(&instruction.op1_register().full_register());
    let is_undefined = matches!(
        instruction.code(),
        Code::Bswap_r16
            | Code::Shld_rm16_r16_imm8
            | Code::Shld_rm16_r16_CL
            | Code::Shrd_rm16_r16_imm8
            | Code::Shrd_rm16_r16_CL
    );
    writes_segment
        || in_segment
        || in_bit_string
        || is_undefined
        || instruction.is_privileged()
        || instruction.is_save_restore_instruction()
        || matches!(
            instruction.mnemonic(),
            Lfs | Lgs
                | Lss
                | Wrfsbase
                | Wrgsbase
                | Rdtsc
                | Rdtscp
                | Rdrand
                | Rdseed
                | Rdpid
                | Rdpru
                | Rdpmc
                | Cpuid
                | Popf
                | Popfd
                | Popfq
                | Fnstenv
                | Fstenv
                | Fldenv
                | Fnsave
                | Frstor
                | Fldcw
                | Ldmxcsr
                | Monitor
                | Monitorx
                | Mwait
                | Mwaitx
                | Umonitor
                | Umwait
                | Tpause
                | Wrpkru
                | Rdpkru
                | Vmcall
                | Vmmcall
                | Vmfunc
                | Enqcmd
                | Ptwrite
                | Clui
                | Stui
                | Senduipi
                | Str
                | Sldt
                | Smsw
                | Sgdt
                | Sidt
                | Lsl
                | Lar
                | Verr
                | Verw
                | Xgetbv
                | Std
                | Ldtilecfg
                | Sttilecfg
                | Tilerelease
                | Tilezero
                | Serialize
                | Pconfig
        )
}

// ---- the test ----

const SNIPPETS: usize = 12_000;

#[test]
fn random_forms_have_the_same_effect_translated() {
    let seed = std::env::var("TOPDOWN_SEED")
        .ok()
        .and_then(|seed| seed.parse().ok())
        .unwrap_or(0x5eed_1234_5678_9abc);
    println!("seed {seed} (set TOPDOWN_SEED for another)");
    let mut random = Random(seed);
    let bench = Bench::new();
    let mut tracer = Tracer::new(Config::default(), Nothing).unwrap();
    let mut forms: HashSet<Code> = HashSet::new();
    let (mut compared, mut refused) = (0, 0);
    let mut factory = InstructionInfoFactory::new();
    // Where the body begins; the function around it does not depend on it.
    bench.write_code(&[]);
    let code = bench.part(0, CODE_BYTES);
    let load_rsp_to_r15 = 16 * 7;
    let body = bench.address(10 + 7 + 7 + 8 + 6 + 1 + load_rsp_to_r15);
    assert_eq!(
        code[(body - bench.address(0)) as usize..][..2],
        [0x48, 0x89]
    );
    for snippet in 0..SNIPPETS {
        if snippet % 2000 == 1999 {
            // Each snippet's translation stays in the tracer's tables.
            tracer = Tracer::new(Config::default(), Nothing).unwrap();
        }
        let mut bytes = Vec::new();
        let mut instructions = Vec::new();
        let wanted = 1 + random.below(3) as usize;
        while instructions.len() < wanted {
            let at = body + bytes.len() as u64;
            if let Some((more, decoded)) = random_instruction(&bench, &mut random, at) {
                bytes.extend(more);
                instructions.push(decoded);
            }
        }
        let uses_memory = instructions.iter().any(|instruction| {
            has_memory_operand(instruction) || instruction.is_string_instruction()
        });
        let (_, before) = instructions.split_last().expect("at least one");
        if uses_memory
            && before
                .iter()
                .any(|decoded| moves_a_pointer(&mut factory, decoded))
        {
            continue;
        }
        bench.write_code(&bytes);
        fill_input(&bench, &mut random, uses_memory);
        fill_scratch(&bench, snippet as u64 + 1);
        if !bench.call() {
            continue;
        }
        let native = bench.result();
        fill_scratch(&bench, snippet as u64 + 1);
        let (finished, end) = tracer.trace(|| bench.call());
        match end {
            Ok(_) => compared += 1,
            Err(TraceError::Instruction { .. }) => refused += 1,
            Err(error) => panic!("{error}"),
        }
        let translated = bench.result();
        let description = || {
            let codes: Vec<Code> = instructions.iter().map(Instruction::code).collect();
            format!("snippet {snippet} {codes:?} {bytes:02x?}")
        };
        assert!(finished, "{} faulted", description());
        let difference = first_difference(&native, &translated);
        assert_eq!(difference, None, "{}", description());
        forms.extend(instructions.iter().map(Instruction::code));
    }
    println!(
        "{compared} snippets of {} forms are equal, {refused} refused",
        forms.len()
    );
    assert!(forms.len() > 500, "{} forms", forms.len());
}

/// Where the states differ, in words.
fn first_difference(
    native: &(Vec<u8>, Vec<u8>),
    translated: &(Vec<u8>, Vec<u8>),
) -> Option<String> {
    for (name, native, translated) in [
        ("state", &native.0, &translated.0),
        ("scratch", &native.1, &translated.1),
    ] {
        let place = native.iter().zip(translated).position(|(a, b)| a != b);
        if let Some(place) = place {
            let word = place & !7;
            return Some(format!(
                "{name} at {word}: {:02x?} natively, {:02x?} translated",
                &native[word..word + 8],
                &translated[word..word + 8]
            ));
        }
    }
    None
}
