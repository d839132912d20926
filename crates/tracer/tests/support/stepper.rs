//! Executes a program twice from the same state of the process: single-stepped in one forked
//! child, traced in another. Both write down what they saw into shared memory.

mod own_cpu;
#[allow(dead_code, reason = "another test uses the rest")]
mod ptraced;
mod record;

use std::sync::atomic::{AtomicU64, Ordering};

use own_cpu::stay_on_this_cpu;
use ptraced::{Code, registers, stop_for_parent, wait};
use record::{DONE, INCOMPLETE, RESULT, Record, SIGNALS, STATUS};
use topdown_tracer::{Address, Block, Config, Consumer, Tracer};

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
        Way::Stepped => stop_for_parent(),
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
    let mut code = Code::new();
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
        let instruction = code.at(ip, process);
        if recording {
            instructions += 1;
            record.push(ip);
            for address in instruction.addresses(&registers) {
                record.push(address);
            }
        }
        instruction.step(process);
    }
    // SAFETY: lets the child run to its end.
    unsafe { libc::ptrace(libc::PTRACE_DETACH, process, 0, 0) };
    assert_eq!(wait(process), 0);
    Some(instructions)
}
