//! The children that execute the program, and what the tracer sees of it.

use super::run;
use crate::programs::Program;
use crate::ptraced::stop_for_parent;
use crate::record::{DONE, INCOMPLETE, RESULT, Record, STATUS};
use topdown_tracer::{Address, Block, Consumer, Tracer};

/// How a child executes the program.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Way {
    Stepped,
    Traced,
}

/// Forks a child that executes the program. The stepped one stops before, or ends.
pub fn fork_child(
    way: Way,
    tracer: &Tracer<Writer>,
    record: Record,
    program: Program,
) -> libc::pid_t {
    // SAFETY: this process has no other thread.
    let process = unsafe { libc::fork() };
    assert!(process >= 0);
    if process == 0 {
        child(way, tracer, record, program);
    }
    process
}

/// The body of both children: the same frames lie below the program in either.
fn child(way: Way, tracer: &Tracer<Writer>, record: Record, program: Program) -> ! {
    match way {
        Way::Stepped => stop_for_parent(),
        Way::Traced => tracer.attach().unwrap(),
    }
    begin_marker();
    let result = run(program);
    end_marker();
    record.set(RESULT, result);
    let status = match (way, tracer.detach()) {
        (Way::Stepped, _) | (_, Ok(_)) => DONE,
        (Way::Traced, Err(error)) => {
            eprintln!("{error}");
            INCOMPLETE
        }
    };
    record.set(STATUS, status);
    // SAFETY: ends the child without running the parent's destructors.
    unsafe { libc::_exit(0) }
}

#[inline(never)]
pub extern "C" fn begin_marker() {
    std::hint::black_box(0);
}

#[inline(never)]
pub extern "C" fn end_marker() {
    std::hint::black_box(1);
}

/// Writes down what threads execute between the two markers, which the first one executes.
pub struct Writer {
    /// For each instruction its address, the number of its data accesses, and their addresses.
    values: Record,
    /// For each turn the thread and the number of instructions.
    turns: Record,
    thread: usize,
    recording: bool,
    /// Number of instructions of the current turn.
    instructions: u64,
}

impl Writer {
    pub fn new(values: Record, turns: Record) -> Writer {
        Writer {
            values,
            turns,
            thread: 0,
            recording: false,
            instructions: 0,
        }
    }

    fn end_turn(&mut self) {
        let instructions = std::mem::take(&mut self.instructions);
        if instructions > 0 {
            self.turns.push(self.thread as u64);
            self.turns.push(instructions);
        }
    }
}

impl Consumer for Writer {
    fn switch_to(&mut self, thread: usize) {
        self.end_turn();
        self.thread = thread;
    }

    fn block(&mut self, block: &Block<'_>, addresses: &[u64]) {
        for instruction in block.instructions {
            let ip = instruction.decoded.ip();
            if ip == begin_marker as *const () as u64 {
                self.recording = true;
            } else if ip == end_marker as *const () as u64 {
                self.end_turn();
                self.recording = false;
            }
            if !self.recording {
                continue;
            }
            self.instructions += 1;
            self.values.push(ip);
            // The single-stepper knows no vector registers.
            let is_known = |address| !matches!(address, Address::Elements(_));
            let accesses = block.accesses_of(instruction).iter();
            let accesses = accesses.filter(|it| is_known(it.address));
            self.values.push(accesses.clone().count() as u64);
            for access in accesses {
                self.values.push(access.address.first(addresses).unwrap());
            }
        }
    }
}
