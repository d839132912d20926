//! Steps the threads of a child in a given order, and compares each instruction.

use std::time::{Duration, Instant};

use super::child::{begin_marker, end_marker};
use super::{Comparison, Size, Turn};
use crate::ptraced::{Code, registers, wait};

/// A thread that does not return from a system call within this time does not return at all.
const RETURN_LIMIT: Duration = Duration::from_secs(10);

/// The stepped threads of a child.
struct Threads {
    process: libc::pid_t,
    /// By seat: a new thread gets the first free one, as in the trace.
    seats: Vec<Option<Stepped>>,
}

#[derive(Clone, Copy)]
struct Stepped {
    thread: libc::pid_t,
    /// Whether it is in a system call.
    is_away: bool,
}

/// Steps the child in this order, as far as the turns say.
pub fn step(process: libc::pid_t, turns: &[Turn]) -> Comparison {
    if libc::WIFEXITED(wait(process)) {
        return Comparison::NotPermitted;
    }
    let options = (libc::PTRACE_O_TRACECLONE | libc::PTRACE_O_EXITKILL) as libc::c_ulong;
    // SAFETY: sets options of a stopped child.
    let result = unsafe { libc::ptrace(libc::PTRACE_SETOPTIONS, process, 0, options) };
    assert_eq!(result, 0);
    let first = Stepped {
        thread: process,
        is_away: false,
    };
    let mut threads = Threads {
        process,
        seats: vec![Some(first)],
    };
    let mut code = Code::new();
    while registers(process).rip != begin_marker as *const () as u64 {
        code.at(registers(process).rip, process).step(process);
    }
    let difference = threads.compare(turns, &mut code).err();
    // SAFETY: ends the child.
    unsafe { libc::kill(process, libc::SIGKILL) };
    match difference {
        Some(difference) => Comparison::Different(difference),
        None => Comparison::Equal(Size {
            instructions: turns.iter().map(|turn| turn.instructions.len()).sum(),
            turns: turns.len(),
            threads: threads.seats.len(),
        }),
    }
}

impl Threads {
    fn compare(&mut self, turns: &[Turn], code: &mut Code) -> Result<(), String> {
        for (number, turn) in turns.iter().enumerate() {
            // A thread's number is that of its seat, counted from 1, and 0 for the first.
            let seat = turn.thread.saturating_sub(1);
            for (done, expected) in turn.instructions.iter().enumerate() {
                let there = self
                    .step(seat, expected, code)
                    .map_err(|what| format!("turn {number}, instruction {done}: {what}"));
                there?;
            }
        }
        let thread = self.stopped(0)?;
        match registers(thread).rip == end_marker as *const () as u64 {
            true => Ok(()),
            false => Err("the trace ends too early".to_owned()),
        }
    }

    /// Lets a thread execute an instruction, which should be the expected one.
    fn step(
        &mut self,
        seat: usize,
        (ip, accesses): &(u64, Vec<u64>),
        code: &mut Code,
    ) -> Result<(), String> {
        let thread = self.stopped(seat)?;
        let registers = registers(thread);
        if registers.rip != *ip {
            return Err(format!("{ip:#x} traced, {:#x} stepped", registers.rip));
        }
        let instruction = code.at(*ip, thread);
        let stepped: Vec<u64> = instruction.addresses(&registers).collect();
        if stepped != *accesses {
            return Err(format!(
                "{ip:#x} {accesses:x?} traced, {stepped:x?} stepped"
            ));
        }
        match instruction.is_system_call {
            true => self.begin_call(seat),
            false => instruction.step(thread),
        }
        Ok(())
    }

    /// Lets a thread perform a system call. Returns when it is done, waits, or has ended.
    fn begin_call(&mut self, seat: usize) {
        let Some(stepped) = &mut self.seats[seat] else {
            return;
        };
        stepped.is_away = true;
        let thread = stepped.thread;
        go_on(thread, 0);
        while !self.is_back(seat) && !self.sleeps(thread) {
            rest();
        }
    }

    /// Returns the thread in a seat when it has stopped.
    fn stopped(&mut self, seat: usize) -> Result<libc::pid_t, String> {
        let begun = Instant::now();
        loop {
            let is_back = self.is_back(seat);
            match self.seats.get(seat).copied().flatten() {
                None => return Err(format!("there is no thread {seat}")),
                Some(stepped) if is_back => return Ok(stepped.thread),
                Some(_) if begun.elapsed() > RETURN_LIMIT => {
                    return Err(format!("thread {seat} waits"));
                }
                Some(_) => rest(),
            }
        }
    }

    /// Returns whether the thread in a seat has come back from its system call, or has ended.
    fn is_back(&mut self, seat: usize) -> bool {
        let Some(Some(stepped)) = self.seats.get_mut(seat) else {
            return true;
        };
        if !stepped.is_away {
            return true;
        }
        let thread = stepped.thread;
        let mut status = 0;
        // SAFETY: `status` is writable.
        match unsafe { libc::waitpid(thread, &mut status, libc::__WALL | libc::WNOHANG) } {
            0 => return false,
            waited => assert_eq!(waited, thread),
        }
        if !libc::WIFSTOPPED(status) {
            self.seats[seat] = None;
            return true;
        }
        match (status >> 16, libc::WSTOPSIG(status)) {
            (libc::PTRACE_EVENT_CLONE, _) => {
                self.begin_thread(thread);
                go_on(thread, 0);
                false
            }
            (_, libc::SIGTRAP) => {
                stepped.is_away = false;
                true
            }
            (_, signal) => {
                go_on(thread, signal);
                false
            }
        }
    }

    /// Gives a seat to the thread that another one has just started.
    fn begin_thread(&mut self, parent: libc::pid_t) {
        let mut thread: libc::c_ulong = 0;
        // SAFETY: the kernel writes a number.
        let result = unsafe { libc::ptrace(libc::PTRACE_GETEVENTMSG, parent, 0, &raw mut thread) };
        assert_eq!(result, 0);
        let thread = thread as libc::pid_t;
        assert!(libc::WIFSTOPPED(wait(thread)));
        let stepped = Some(Stepped {
            thread,
            is_away: false,
        });
        match self.seats.iter_mut().find(|seat| seat.is_none()) {
            Some(free) => *free = stepped,
            None => self.seats.push(stepped),
        }
    }

    /// Returns whether a thread waits in the kernel.
    fn sleeps(&self, thread: libc::pid_t) -> bool {
        let place = format!("/proc/{}/task/{thread}/stat", self.process);
        let text = std::fs::read_to_string(place).unwrap_or_default();
        let state = text.rsplit_once(") ").map(|(_, rest)| rest.as_bytes()[0]);
        state == Some(b'S')
    }
}

/// Lets a stopped thread execute an instruction, without waiting for it.
fn go_on(thread: libc::pid_t, signal: libc::c_int) {
    // SAFETY: the thread is a stopped one of a child that is traced by this thread.
    let result = unsafe { libc::ptrace(libc::PTRACE_SINGLESTEP, thread, 0, signal) };
    assert_eq!(result, 0);
}

/// Lets the child run.
fn rest() {
    std::thread::sleep(Duration::from_micros(20));
}
