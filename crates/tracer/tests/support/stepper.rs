//! Executes a program twice from the same state of the process: single-stepped in one forked
//! child, traced in another. Both write down what they saw into shared memory.

mod own_cpu;

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};

use own_cpu::stay_on_this_cpu;
use topdown_tracer::iced_x86::{
    Decoder, DecoderOptions, Instruction, InstructionInfoFactory, Mnemonic, OpAccess, Register,
    UsedMemory,
};
use topdown_tracer::{Address, Block, Config, Consumer, Tracer};

/// Maximum number of values in the record of a program.
const CAPACITY: usize = 4 << 20;

/// What a child saw: for each instruction its address, then the addresses of its data accesses.
/// Lies in memory that parent and children share.
#[derive(Clone, Copy)]
pub struct Record {
    start: *mut AtomicU64,
}

/// Places in the record's head.
const LENGTH: usize = 0;
const RESULT: usize = 1;
const STATUS: usize = 2;
const SIGNALS: usize = 3;
const HEAD: usize = 4;

/// Values of the status.
const DONE: u64 = 1;
const INCOMPLETE: u64 = 2;

impl Record {
    fn new() -> Record {
        // SAFETY: a new anonymous mapping.
        let start = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                CAPACITY * 8,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
                -1,
                0,
            )
        };
        assert_ne!(start, libc::MAP_FAILED);
        Record {
            start: start.cast(),
        }
    }

    fn cell(&self, place: usize) -> &AtomicU64 {
        assert!(place < CAPACITY, "the program is too long to be compared");
        // SAFETY: inside the mapping, which is never unmapped; zeroed memory is a valid value.
        unsafe { &*self.start.add(place) }
    }

    fn set(&self, place: usize, value: u64) {
        self.cell(place).store(value, Ordering::Relaxed);
    }

    fn get(&self, place: usize) -> u64 {
        self.cell(place).load(Ordering::Relaxed)
    }

    fn push(&self, value: u64) {
        let length = self.get(LENGTH);
        self.set(HEAD + length as usize, value);
        self.set(LENGTH, length + 1);
    }

    fn values(&self) -> Vec<u64> {
        (0..self.get(LENGTH) as usize)
            .map(|place| self.get(HEAD + place))
            .collect()
    }

    fn give_back(self) {
        // SAFETY: the mapping made by `new`; this was the last use.
        unsafe { libc::munmap(self.start.cast(), CAPACITY * 8) };
    }
}

/// Writes the stream between the two markers into a record.
struct Writer {
    record: Record,
    recording: bool,
}

impl Consumer for Writer {
    fn block(&mut self, block: &Block<'_>, addresses: &[u64]) {
        for instruction in block.instructions {
            let ip = instruction.decoded.ip();
            if ip == begin_marker as *const () as u64 {
                self.recording = true;
            } else if ip == end_marker as *const () as u64 {
                self.recording = false;
            }
            if !self.recording {
                continue;
            }
            self.record.push(ip);
            for access in block.accesses_of(instruction) {
                match access.address {
                    // The single-stepper knows no vector registers.
                    Address::Elements(_) => {}
                    address => self.record.push(address.first(addresses).unwrap()),
                }
            }
        }
    }
}

#[inline(never)]
extern "C" fn begin_marker() {
    std::hint::black_box(0);
}

#[inline(never)]
extern "C" fn end_marker() {
    std::hint::black_box(1);
}

#[inline(never)]
fn run_between_markers(program: fn() -> u64) -> u64 {
    begin_marker();
    let result = program();
    end_marker();
    result
}

/// How a child executes the program.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    Stepped,
    Traced,
    /// The same while signals come.
    TracedWithSignals,
}

static SIGNALS_TAKEN: AtomicU64 = AtomicU64::new(0);

extern "C" fn count_signal(_signal: i32) {
    SIGNALS_TAKEN.fetch_add(1, Ordering::Relaxed);
}

/// Lets a signal come every half of a millisecond.
fn start_signals() {
    let interval = libc::timeval {
        tv_sec: 0,
        tv_usec: 500,
    };
    let every = libc::itimerval {
        it_interval: interval,
        it_value: interval,
    };
    // SAFETY: the handler only adds to an atomic.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = count_signal as *const () as usize;
        action.sa_flags = libc::SA_RESTART;
        libc::sigaction(libc::SIGALRM, &action, std::ptr::null_mut());
        libc::setitimer(libc::ITIMER_REAL, &every, std::ptr::null_mut());
    }
}

/// The body of both children: the same frames lie below the program in either.
fn child(way: Way, tracer: &Tracer<Writer>, record: Record, program: fn() -> u64) -> ! {
    match way {
        // SAFETY: asks to be traced by the parent and waits for it.
        Way::Stepped => unsafe {
            if libc::ptrace(libc::PTRACE_TRACEME, 0, 0, 0) != 0 {
                libc::_exit(77);
            }
            libc::raise(libc::SIGSTOP);
        },
        Way::Traced => tracer.attach().unwrap(),
        Way::TracedWithSignals => {
            start_signals();
            tracer.attach().unwrap();
        }
    }
    let result = run_between_markers(program);
    record.set(RESULT, result);
    record.set(SIGNALS, SIGNALS_TAKEN.load(Ordering::Relaxed));
    let status = match way {
        Way::Stepped => DONE,
        Way::Traced | Way::TracedWithSignals => match tracer.detach() {
            Ok(_) => DONE,
            Err(error) => {
                eprintln!("{error}");
                INCOMPLETE
            }
        },
    };
    record.set(STATUS, status);
    // SAFETY: ends the child without running the parent's destructors.
    unsafe { libc::_exit(0) }
}

fn fork(body: impl FnOnce()) -> libc::pid_t {
    // SAFETY: the child uses only what this thread owns, and ends in `body`.
    let process = unsafe { libc::fork() };
    assert!(process >= 0);
    if process == 0 {
        body();
        unreachable!("the child ends itself");
    }
    process
}

fn wait(process: libc::pid_t) -> i32 {
    let mut status = 0;
    // SAFETY: `status` is writable.
    let waited = unsafe { libc::waitpid(process, &mut status, 0) };
    assert_eq!(waited, process);
    status
}

/// What differs between the two executions.
#[derive(Debug)]
pub enum Comparison {
    /// Nothing. How many instructions there were, and how many signals came meanwhile.
    Equal { instructions: u64, signals: u64 },
    /// Single-stepping is not permitted here.
    NotPermitted,
    /// Where and what.
    Different(String),
}

/// Executes `program` natively, single-stepped and traced.
pub fn compare(program: fn() -> u64) -> Comparison {
    compare_with(program, Way::Traced)
}

/// The same while 2000 signals per second come to the traced one.
pub fn compare_under_signals(program: fn() -> u64) -> Comparison {
    compare_with(program, Way::TracedWithSignals)
}

fn compare_with(program: fn() -> u64, way: Way) -> Comparison {
    let threads = threads_of_this_process();
    // Whatever a first execution initialises is initialised now.
    let native = program();
    assert_eq!(native, program(), "the program repeats itself");
    // A thread that still ends gives memory back, before one child is forked or after it.
    while threads_of_this_process() > threads {
        std::thread::yield_now();
    }
    let (stepped, traced) = (Record::new(), Record::new());
    let writer = Writer {
        record: traced,
        recording: false,
    };
    let tracer = Tracer::new(Config::default(), writer).unwrap();
    stay_on_this_cpu();
    // Both first: whatever this process does in between could change its heap.
    let traced_process = fork(|| child(way, &tracer, traced, program));
    let stepped_process = fork(|| child(Way::Stepped, &tracer, stepped, program));
    let status = wait(traced_process);
    let Some(instructions) = step(stepped_process, stepped) else {
        return Comparison::NotPermitted;
    };
    let comparison = if status != 0 {
        Comparison::Different(format!("the traced child ended with status {status:#x}"))
    } else if traced.get(STATUS) != DONE {
        Comparison::Different("the trace is not complete".to_owned())
    } else if traced.get(RESULT) != native || stepped.get(RESULT) != native {
        Comparison::Different(format!(
            "the result is {native} natively, {} stepped, {} traced",
            stepped.get(RESULT),
            traced.get(RESULT)
        ))
    } else {
        first_difference(&stepped.values(), &traced.values()).map_or(
            Comparison::Equal {
                instructions,
                signals: traced.get(SIGNALS),
            },
            Comparison::Different,
        )
    };
    stepped.give_back();
    traced.give_back();
    comparison
}

fn threads_of_this_process() -> usize {
    std::fs::read_dir("/proc/self/task").unwrap().count()
}

fn first_difference(stepped: &[u64], traced: &[u64]) -> Option<String> {
    let place = stepped
        .iter()
        .zip(traced)
        .position(|(stepped, traced)| stepped != traced)
        .or_else(|| (stepped.len() != traced.len()).then(|| stepped.len().min(traced.len())))?;
    let around = |values: &[u64]| {
        let from = place.saturating_sub(6).min(values.len());
        let to = (place + 4).min(values.len());
        format!("{:x?}", &values[from..to])
    };
    Some(format!(
        "at value {place} of {} stepped and {} traced: stepped {}, traced {}",
        stepped.len(),
        traced.len(),
        around(stepped),
        around(traced)
    ))
}

/// Single-steps the stopped child to its end; writes what it executes between the markers.
fn step(process: libc::pid_t, record: Record) -> Option<u64> {
    let status = wait(process);
    if libc::WIFEXITED(status) {
        return None;
    }
    let mut code = Code::new(process);
    let mut instructions = 0;
    let mut recording = false;
    loop {
        let registers = registers(process);
        let ip = registers.rip;
        if ip == begin_marker as *const () as u64 {
            recording = true;
        }
        if ip == end_marker as *const () as u64 {
            break;
        }
        let instruction = code.at(ip);
        if recording {
            instructions += 1;
            record.push(ip);
            for address in instruction.addresses(&registers) {
                record.push(address);
            }
        }
        match instruction.repeats_until {
            Some(next) => run_to(process, next),
            None => go_on(process, libc::PTRACE_SINGLESTEP),
        }
    }
    // SAFETY: lets the child run to its end.
    unsafe { libc::ptrace(libc::PTRACE_DETACH, process, 0, 0) };
    assert_eq!(wait(process), 0);
    Some(instructions)
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

fn registers(process: libc::pid_t) -> libc::user_regs_struct {
    // SAFETY: all zeros is a valid value; the kernel fills it.
    unsafe {
        let mut registers = std::mem::zeroed();
        let result = libc::ptrace(libc::PTRACE_GETREGS, process, 0, &raw mut registers);
        assert_eq!(result, 0);
        registers
    }
}

/// The child's instructions, decoded once.
struct Code {
    process: libc::pid_t,
    known: HashMap<u64, Decoded>,
    factory: InstructionInfoFactory,
}

struct Decoded {
    /// The next instruction's address, after a string instruction that repeats itself.
    repeats_until: Option<u64>,
    accesses: Vec<UsedMemory>,
}

impl Code {
    fn new(process: libc::pid_t) -> Code {
        Code {
            process,
            known: HashMap::new(),
            factory: InstructionInfoFactory::new(),
        }
    }

    fn at(&mut self, ip: u64) -> &Decoded {
        let (process, factory) = (self.process, &mut self.factory);
        self.known.entry(ip).or_insert_with(|| {
            let bytes = code_bytes(process, ip);
            let mut decoder = Decoder::with_ip(64, &bytes, ip, DecoderOptions::NONE);
            let instruction = decoder.decode();
            let repeats = instruction.is_string_instruction()
                && (instruction.has_rep_prefix() || instruction.has_repne_prefix());
            Decoded {
                repeats_until: repeats.then_some(instruction.next_ip()),
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
    fn addresses<'a>(
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
