//! Call paths of programs are those that a single-stepping debugger sees.

#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

#[path = "call_paths/modelled.rs"]
mod modelled;
#[path = "../../tracer/tests/support/own_cpu.rs"]
mod own_cpu;
#[allow(dead_code, reason = "each test target uses its part")]
#[path = "call_paths/programs.rs"]
mod programs;

use std::collections::{BTreeMap, HashMap};
use std::hint::black_box;
use std::sync::atomic::Ordering;

use modelled::{calls, model};
use own_cpu::stay_on_this_cpu;
use programs::{Function, KEEP_STACKS, PROGRAMS, is_known};
use topdown_skipped::{Need, skip};
use topdown_tracer::iced_x86::{Decoder, DecoderOptions, FlowControl};
use topdown_tracer::{Config, Tracer};

#[inline(never)]
extern "C" fn begin_marker() {
    black_box(0);
}

#[inline(never)]
extern "C" fn end_marker() {
    black_box(1);
}

/// One test for all, since each forks: with other tests' threads beside it a child could wait for
/// a lock that nobody holds.
#[test]
fn paths_match_single_stepping() {
    stay_on_this_cpu();
    KEEP_STACKS.store(false, Ordering::Relaxed);
    for (index, (function, n)) in PROGRAMS.into_iter().enumerate() {
        // What a first execution initialises is initialised now.
        black_box(function)(black_box(n));
        let Some(stepped) = stepped(function, n) else {
            skip(Need::Ptrace, "ptrace is not permitted here");
            return;
        };
        let Ok(mut tracer) = Tracer::new(Config::default(), model()) else {
            skip(Need::Model, "code cannot be traced on this machine");
            return;
        };
        tracer.consumer_mut().begin_window();
        let (_, end) = tracer.trace(|| black_box(function)(black_box(n)));
        end.unwrap();
        tracer.consumer_mut().drain();
        assert!(!stepped.is_empty(), "program {index}");
        assert_eq!(calls(tracer.consumer_mut()), stepped, "program {index}");
    }
}

/// Returns how often each path was called, by single-stepping a child.
fn stepped(function: Function, n: u64) -> Option<BTreeMap<Vec<u64>, u64>> {
    // SAFETY: the child uses only what this thread owns, and ends itself.
    let process = unsafe { libc::fork() };
    assert!(process >= 0);
    if process == 0 {
        // SAFETY: asks to be traced by the parent and waits for it.
        unsafe {
            if libc::ptrace(libc::PTRACE_TRACEME, 0, 0, 0) != 0 {
                libc::_exit(77);
            }
            libc::raise(libc::SIGSTOP);
        }
        begin_marker();
        black_box(function)(black_box(n));
        end_marker();
        // SAFETY: ends the child without running the parent's destructors.
        unsafe { libc::_exit(0) }
    }
    if libc::WIFEXITED(wait(process)) {
        return None;
    }
    let mut debugger = Debugger {
        process,
        kinds: HashMap::new(),
    };
    while debugger.registers().rip != begin_marker as *const () as u64 {
        debugger.step();
    }
    let mut stack = Stack::default();
    let mut before = debugger.registers();
    loop {
        debugger.step();
        let now = debugger.registers();
        if now.rip == end_marker as *const () as u64 {
            break;
        }
        stack.moved(debugger.kind_at(before.rip), now.rip, now.rsp);
        before = now;
    }
    // SAFETY: lets the child run to its end.
    unsafe { libc::ptrace(libc::PTRACE_DETACH, process, 0, 0) };
    assert_eq!(wait(process), 0);
    Some(stack.calls)
}

/// The open calls, by the registers alone.
#[derive(Default)]
struct Stack {
    /// Where each function began, and where its return address lies.
    frames: Vec<(u64, u64)>,
    calls: BTreeMap<Vec<u64>, u64>,
}

impl Stack {
    /// Takes an instruction of this kind, and the registers after it.
    fn moved(&mut self, kind: FlowControl, ip: u64, sp: u64) {
        while self.frames.last().is_some_and(|(_, place)| *place < sp) {
            self.frames.pop();
        }
        match kind {
            FlowControl::Call | FlowControl::IndirectCall => self.frames.push((ip, sp)),
            // A function that a jump reaches takes the place of the one that jumped.
            FlowControl::UnconditionalBranch | FlowControl::IndirectBranch if is_known(ip) => {
                self.frames.pop();
                self.frames.push((ip, sp));
            }
            _ => return,
        }
        if !is_known(ip) {
            return;
        }
        let mut path: Vec<u64> = Vec::new();
        for (entry, _) in self.frames.iter().filter(|(entry, _)| is_known(*entry)) {
            match path.iter().position(|known| known == entry) {
                Some(place) => path.truncate(place + 1),
                None => path.push(*entry),
            }
        }
        *self.calls.entry(path).or_default() += 1;
    }
}

/// A stopped child.
struct Debugger {
    process: libc::pid_t,
    /// Of instructions, by address.
    kinds: HashMap<u64, FlowControl>,
}

impl Debugger {
    fn step(&self) {
        let mut signal = 0;
        loop {
            // SAFETY: the process is a stopped child that is traced by this thread.
            let result = unsafe { libc::ptrace(libc::PTRACE_SINGLESTEP, self.process, 0, signal) };
            assert_eq!(result, 0);
            let status = wait(self.process);
            assert!(libc::WIFSTOPPED(status), "the child ended: {status:#x}");
            signal = libc::WSTOPSIG(status);
            if signal == libc::SIGTRAP {
                return;
            }
        }
    }

    fn registers(&self) -> libc::user_regs_struct {
        // SAFETY: all zeros is a valid value; the kernel fills it.
        unsafe {
            let mut registers = std::mem::zeroed();
            let result = libc::ptrace(libc::PTRACE_GETREGS, self.process, 0, &raw mut registers);
            assert_eq!(result, 0);
            registers
        }
    }

    fn kind_at(&mut self, ip: u64) -> FlowControl {
        let process = self.process;
        *self.kinds.entry(ip).or_insert_with(|| {
            let mut bytes = [0; 16];
            for (place, chunk) in bytes.chunks_mut(8).enumerate() {
                let at = ip + 8 * place as u64;
                // SAFETY: reads a word of the stopped child; an unreadable one is an error value,
                // which no instruction needs when it ends before.
                let word = unsafe { libc::ptrace(libc::PTRACE_PEEKTEXT, process, at, 0) };
                chunk.copy_from_slice(&word.to_le_bytes());
            }
            let mut decoder = Decoder::with_ip(64, &bytes, ip, DecoderOptions::NONE);
            decoder.decode().flow_control()
        })
    }
}

fn wait(process: libc::pid_t) -> i32 {
    let mut status = 0;
    // SAFETY: `status` is writable.
    let waited = unsafe { libc::waitpid(process, &mut status, 0) };
    assert_eq!(waited, process);
    status
}
