//! Threads that wait for nothing when a trace is complete stay where they are until the next one
//! begins, and all do when it is halted. If they went on natively, the kernel would decide how far
//! they get.
//!
//! What runs meanwhile may wait for them. So they let themselves go on natively as soon as the
//! thread that ended the trace waits for a while, or computes for long, or has ended. They look
//! at it rather than at the clock, so that a busy machine does not decide.

use std::sync::atomic::Ordering;

use super::super::tasks::{self, number, this_thread};
use super::super::{TRACED_IN, entry, handlers};
use super::Team;
use super::seat::{Seat, phase, sleep_while, turn};
use super::wait::{Wait, now_ns, rest};

/// A thread that waits for its turn looks around after this time.
const SLEEP_NS: u64 = 100_000_000;

/// Time between two looks at the thread that ended the trace.
const LOOK_NS: u64 = 5_000_000;

/// So many looks may find it waiting. Judgement: nobody notices the time, and between two traces it
/// does not wait for anything else that long.
const MAX_WAITING_LOOKS: u32 = 4;

/// It may compute for so long. Judgement: a hundred times what lies between two traces of a
/// benchmark.
const MAX_COMPUTING_NS: u64 = 100_000_000;

/// Each of its turns on a processor counts for so much more: a thread that yields leaves the rest
/// to others. So do the looks, which halves the time at most.
const TIME_SLICE_NS: u64 = 4_000_000;

/// Other threads are given this long to notice that they are parked. Judgement: they only must be
/// scheduled, unless they are in a handler, which may wait.
const PARKING_LIMIT_NS: u64 = 1_000_000_000;

/// What a parked thread has seen of the thread that ended the trace.
pub(super) struct Watch {
    thread: u32,
    began_ns: Option<u64>,
    waiting_looks: u32,
}

impl Team {
    /// The trace is complete: other threads that wait for nothing stay where they are, or `all`.
    pub(in super::super) fn park(&self, own: usize, all: bool) {
        for (index, seat) in self.seats.iter().enumerate() {
            if index != own && seat.is(phase::MEMBER) && (all || seat.stopped().wait.is_over()) {
                // Others may only have had no turn yet.
                seat.stopped().never_waits |= !all;
                seat.phase.store(phase::PARKING, Ordering::Release);
                seat.tell(turn::PARK);
            }
        }
        let begun_ns = now_ns();
        for seat in &self.seats {
            while seat.is(phase::PARKING) && now_ns() - begun_ns < PARKING_LIMIT_NS {
                rest(20_000);
            }
        }
        // Only now: resting looks like waiting.
        self.parked_by.store(this_thread(), Ordering::Relaxed);
    }

    /// The next trace begins: nobody watches the thread that begins it.
    pub(super) fn look_away(&self) {
        self.parked_by.store(0, Ordering::Relaxed);
    }

    /// Lets all parked threads go on natively.
    pub(in super::super) fn unpark(&self) {
        for seat in &self.seats {
            let leaves = |parked| seat.change(parked, phase::LEAVING);
            if leaves(phase::PARKING) || leaves(phase::PARKED) {
                seat.tell(turn::LEAVE);
            }
        }
    }

    /// Lets a parked thread take turns again. Returns whether it was still parked.
    pub(super) fn rejoin(&self, seat: &Seat) -> bool {
        let was_parked = seat.change(phase::PARKED, phase::MEMBER);
        if was_parked {
            let wait = &mut seat.stopped().wait;
            *wait = if wait.is_over() { Wait::Nothing } else { *wait };
            self.members.fetch_add(1, Ordering::Relaxed);
        }
        was_parked
    }

    /// Parks the calling thread, whose state is in its seat.
    pub(super) fn stay(&self, own: usize) -> ! {
        handlers::end();
        TRACED_IN.set(0);
        let stopped = self.seats[own].stopped();
        stopped.block_all_signals_but(0);
        // SAFETY: the seat has the thread's whole state, and nothing on its stack is needed.
        unsafe { entry::restart(std::ptr::from_mut(stopped).cast()) }
    }

    /// Sleeps until the calling thread may have been told something. If it is the first one that is
    /// parked, it watches for all of them.
    pub(super) fn sleep(&self, own: usize, watch: &mut Option<Watch>) {
        let first = self.seats.iter().position(|seat| seat.is(phase::PARKED));
        if first != Some(own) {
            return sleep_while(&self.seats[own].turn, turn::WAIT, SLEEP_NS);
        }
        let parked_by = self.parked_by.load(Ordering::Relaxed);
        if parked_by != 0 {
            watch.get_or_insert_with(|| Watch::new(parked_by));
        }
        sleep_while(&self.seats[own].turn, turn::WAIT, LOOK_NS);
        let is_watched = self.parked_by.load(Ordering::Relaxed) != 0;
        if let (true, true, Some(watch)) = (self.seats[own].is(phase::PARKED), is_watched, watch) {
            if watch.needs_others() {
                self.unpark();
            }
        }
    }
}

impl Watch {
    fn new(thread: u32) -> Watch {
        Watch {
            thread,
            began_ns: computed_ns(thread),
            waiting_looks: 0,
        }
    }

    /// Looks whether the thread may need the parked ones.
    fn needs_others(&mut self) -> bool {
        match tasks::state_of(self.thread) {
            Some(b'S') => self.waiting_looks += 1,
            Some(b'Z' | b'X') | None => return true,
            Some(_) => {}
        }
        let (Some(began_ns), Some(now_ns)) = (self.began_ns, computed_ns(self.thread)) else {
            return true;
        };
        self.waiting_looks >= MAX_WAITING_LOOKS || now_ns - began_ns > MAX_COMPUTING_NS
    }
}

/// Returns how much a thread has computed, from the time and the number of its turns on a processor
/// (Linux, Documentation/scheduler/sched-stats.rst). `None` if the kernel does not count them.
fn computed_ns(thread: u32) -> Option<u64> {
    let mut buffer = [0; 256];
    let text = tasks::read_of(thread, b"/schedstat", &mut buffer)?;
    let mut fields = text.trim_ascii().split(|&byte| byte == b' ');
    let ns = number(fields.next()?, 10)?;
    let slices = number(fields.nth(1)?, 10)?;
    Some(ns + slices * TIME_SLICE_NS)
}
