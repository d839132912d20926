//! A process that its parent single-steps, and what its instructions access.

use std::collections::HashMap;

use topdown_tracer::iced_x86::{
    Code as Opcode, Decoder, DecoderOptions, Instruction, InstructionInfoFactory, Mnemonic,
    OpAccess, Register, UsedMemory,
};

/// Stops the calling child until its parent steps it, or ends it if that is not permitted.
pub fn stop_for_parent() {
    // SAFETY: asks to be traced by the parent and waits for it.
    unsafe {
        if libc::ptrace(libc::PTRACE_TRACEME, 0, 0, 0) != 0 {
            libc::_exit(77);
        }
        libc::raise(libc::SIGSTOP);
    }
}

/// Waits until a child, or a thread of it, has stopped or ended.
pub fn wait(thread: libc::pid_t) -> i32 {
    let mut status = 0;
    // SAFETY: `status` is writable.
    let waited = unsafe { libc::waitpid(thread, &mut status, libc::__WALL) };
    assert_eq!(waited, thread);
    status
}

/// Lets the child execute one instruction, or all up to a breakpoint.
fn go_on(process: libc::pid_t, how: libc::c_uint) {
    let mut signal = 0;
    loop {
        // SAFETY: `process` is a stopped child that is traced by this thread.
        let result = unsafe { libc::ptrace(how, process, 0, signal) };
        assert_eq!(result, 0);
        let status = wait(process);
        assert!(libc::WIFSTOPPED(status), "the child ended: {status:#x}");
        signal = libc::WSTOPSIG(status);
        if signal == libc::SIGTRAP {
            return;
        }
    }
}

/// Lets the child run to the instruction at `ip` by a breakpoint: single steps would stop after
/// each repetition of a string instruction, of which one that clears memory has 100,000.
fn run_to(process: libc::pid_t, ip: u64) {
    const BREAKPOINT: u64 = 0xcc;
    let put = |word: u64| {
        // SAFETY: changes the stopped child's own copy of its code.
        let result = unsafe { libc::ptrace(libc::PTRACE_POKETEXT, process, ip, word) };
        assert_eq!(result, 0);
    };
    let code = code_word(process, ip);
    put(code & !0xff | BREAKPOINT);
    go_on(process, libc::PTRACE_CONT);
    put(code);
    let mut registers = registers(process);
    assert_eq!(registers.rip, ip + 1, "the child stopped elsewhere");
    registers.rip = ip;
    // SAFETY: the process is a stopped child.
    let result = unsafe { libc::ptrace(libc::PTRACE_SETREGS, process, 0, &raw const registers) };
    assert_eq!(result, 0);
}

pub fn registers(process: libc::pid_t) -> libc::user_regs_struct {
    // SAFETY: all zeros is a valid value; the kernel fills it.
    unsafe {
        let mut registers = std::mem::zeroed();
        let result = libc::ptrace(libc::PTRACE_GETREGS, process, 0, &raw mut registers);
        assert_eq!(result, 0);
        registers
    }
}

/// The instructions of a child, decoded once.
pub struct Code {
    known: HashMap<u64, Decoded>,
    factory: InstructionInfoFactory,
}

pub struct Decoded {
    /// The next instruction's address, after a string instruction that repeats itself.
    repeats_until: Option<u64>,
    pub is_system_call: bool,
    accesses: Vec<UsedMemory>,
}

impl Code {
    pub fn new() -> Code {
        Code {
            known: HashMap::new(),
            factory: InstructionInfoFactory::new(),
        }
    }

    /// Returns the instruction at an address of a stopped child.
    pub fn at(&mut self, ip: u64, child: libc::pid_t) -> &Decoded {
        let factory = &mut self.factory;
        self.known.entry(ip).or_insert_with(|| {
            let bytes = code_bytes(child, ip);
            let mut decoder = Decoder::with_ip(64, &bytes, ip, DecoderOptions::NONE);
            let instruction = decoder.decode();
            let repeats = instruction.is_string_instruction()
                && (instruction.has_rep_prefix() || instruction.has_repne_prefix());
            Decoded {
                repeats_until: repeats.then_some(instruction.next_ip()),
                is_system_call: instruction.code() == Opcode::Syscall,
                accesses: accesses(&instruction, factory),
            }
        })
    }
}

fn accesses(instruction: &Instruction, factory: &mut InstructionInfoFactory) -> Vec<UsedMemory> {
    let prefetches = matches!(
        instruction.mnemonic(),
        Mnemonic::Prefetchnta
            | Mnemonic::Prefetcht0
            | Mnemonic::Prefetcht1
            | Mnemonic::Prefetcht2
            | Mnemonic::Prefetchw
    );
    factory
        .info(instruction)
        .used_memory()
        .iter()
        .filter(|used| prefetches || used.access() != OpAccess::NoMemAccess)
        .filter(|used| !used.index().is_vector_register())
        .copied()
        .collect()
}

impl Decoded {
    /// Lets the child, which is stopped there, execute the instruction.
    pub fn step(&self, child: libc::pid_t) {
        match self.repeats_until {
            Some(next) => run_to(child, next),
            None => go_on(child, libc::PTRACE_SINGLESTEP),
        }
    }

    /// Returns the addresses of its data accesses.
    pub fn addresses<'a>(
        &'a self,
        registers: &'a libc::user_regs_struct,
    ) -> impl Iterator<Item = u64> + 'a {
        self.accesses.iter().map(|used| {
            used.virtual_address(0, |register, _, _| value(registers, register))
                .unwrap()
        })
    }
}

fn value(registers: &libc::user_regs_struct, register: Register) -> Option<u64> {
    let full = match register.full_register() {
        Register::RAX => registers.rax,
        Register::RCX => registers.rcx,
        Register::RDX => registers.rdx,
        Register::RBX => registers.rbx,
        Register::RSP => registers.rsp,
        Register::RBP => registers.rbp,
        Register::RSI => registers.rsi,
        Register::RDI => registers.rdi,
        Register::R8 => registers.r8,
        Register::R9 => registers.r9,
        Register::R10 => registers.r10,
        Register::R11 => registers.r11,
        Register::R12 => registers.r12,
        Register::R13 => registers.r13,
        Register::R14 => registers.r14,
        Register::R15 => registers.r15,
        Register::FS => registers.fs_base,
        Register::GS => registers.gs_base,
        Register::CS | Register::DS | Register::ES | Register::SS => 0,
        _ => return None,
    };
    Some(if register.is_gpr32() {
        full & 0xffff_ffff
    } else {
        full
    })
}

fn code_bytes(process: libc::pid_t, ip: u64) -> [u8; 16] {
    let mut bytes = [0; 16];
    for (place, chunk) in bytes.chunks_mut(8).enumerate() {
        let word = code_word(process, ip + 8 * place as u64);
        chunk.copy_from_slice(&word.to_le_bytes());
    }
    bytes
}

fn code_word(process: libc::pid_t, at: u64) -> u64 {
    // SAFETY: reads a word of the stopped child; an unreadable one is an error value, which no
    // instruction needs when it ends before.
    let word = unsafe { libc::ptrace(libc::PTRACE_PEEKTEXT, process, at, 0) };
    word.cast_unsigned()
}
