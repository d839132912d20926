//! Beginning and end of a thread's part in the trace, and its turns in between.

use std::sync::atomic::Ordering;

use super::super::context::{Context, Request};
use super::super::{TRACED_IN, entry, handlers};
use super::calls::field_of_clone3;
use super::seat::{Stopped, phase, turn};
use super::wait::Wait;
use super::{Link, SEAT, TEAM, Team};
use crate::error::ThreadsError;
use crate::{fixed_values, kernel};

/// What the running thread does when its state is in its seat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum After {
    /// Continue: its state is in the context.
    Resume,
    /// Pass the turn. It may only `spin`.
    Pass { spins: bool },
    /// Let the others go on to where they wait.
    Settle,
    /// Perform the system call that it is at.
    Perform,
    /// End.
    Exit,
    /// Start the thread in this seat by the system call that it is at.
    Start(usize),
    /// Go on natively: the trace has ended.
    Leave,
}

impl Team {
    /// Does it. Returns when it is the running thread's turn, with its state in the context.
    pub(in super::super) fn carry_out(&self, after: After, context: *mut Context) {
        if after == After::Resume {
            return;
        }
        let own = SEAT.get() - 1;
        let seat = &self.seats[own];
        let goes_on = match after {
            After::Resume => true,
            After::Pass { spins } => self.pass(own, spins),
            After::Settle => self.settle(own),
            After::Perform => self.perform(own),
            After::Exit => self.exit(own),
            After::Start(new) => self.start(own, new),
            After::Leave => false,
        };
        let goes_on = goes_on && (seat.stopped().wait != Wait::Turn || self.perform(own));
        if !goes_on {
            self.leave(own);
        }
        // SAFETY: it is the thread's turn, so nothing else refers to the context.
        let context = unsafe { &mut *context };
        seat.put_into(context);
        if after == After::Settle {
            context.request = Request::Enter as u32;
        }
    }

    /// Prepares a seat for the thread that the running one, at a system call, is about to start.
    pub(in super::super) fn seat_for_new(&self, own: usize) -> Result<usize, ThreadsError> {
        const RAX: usize = 0;
        const RCX: usize = 1;
        const RSP: usize = 4;
        const RSI: usize = 6;
        const RDI: usize = 7;
        const R11: usize = 11;
        let Some(Link { vector, .. }) = self.order().link else {
            return Err(ThreadsError::NotListed);
        };
        // Nobody has the number 0.
        let index = self.seat_for(0)?;
        let new = &self.seats[index];
        if let Err(error) = new.provide_memory(vector.bytes) {
            new.phase.store(phase::FREE, Ordering::Relaxed);
            return Err(error);
        }
        self.prepare(index, vector);
        let parent = self.seats[own].stopped();
        let stopped = new.stopped();
        stopped.registers = parent.registers;
        stopped.registers[RSP] = match parent.registers[RAX] as i64 {
            libc::SYS_clone => parent.registers[RSI],
            _ => {
                let field = |index| field_of_clone3(parent.registers[RDI], index).unwrap_or(0);
                field(5).wrapping_add(field(6))
            }
        };
        stopped.registers[RAX] = 0;
        stopped.registers[RCX] = parent.after_call;
        stopped.registers[R11] = parent.flags;
        stopped.flags = parent.flags;
        stopped.ip = parent.after_call;
        let [from, to] = [parent, stopped]
            .map(|it| std::ptr::with_exposed_provenance_mut::<u8>(it.vector_state as usize));
        // SAFETY: both areas have this size, and their threads do not run.
        unsafe { std::ptr::copy_nonoverlapping(from, to, vector.bytes) };
        Ok(index)
    }

    /// Starts a thread, whose first turn comes in the order of seats.
    fn start(&self, own: usize, new: usize) -> bool {
        // rdi, rsi, rdx, r10, r8, r9.
        const REGISTERS: [usize; 7] = [0, 7, 6, 2, 10, 8, 9];
        let seat = &self.seats[new];
        let registers = &self.seats[own].stopped().registers;
        let arguments = REGISTERS.map(|register| registers[register]);
        seat.phase.store(phase::MEMBER, Ordering::Relaxed);
        self.members.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the program is about to make this very call; the new thread begins in its seat.
        let result = unsafe { entry::clone(&arguments, std::ptr::from_mut(seat.stopped()).cast()) };
        if kernel::is_error(result) {
            seat.phase.store(phase::FREE, Ordering::Relaxed);
            self.members.fetch_sub(1, Ordering::Relaxed);
        } else {
            seat.thread.store(result as u32, Ordering::Relaxed);
            fixed_values::hold_clock();
        }
        self.seats[own].complete(result);
        true
    }

    /// Ends the calling thread.
    fn exit(&self, own: usize) -> ! {
        const RDI: usize = 7;
        let seat = &self.seats[own];
        let code = seat.stopped().registers[RDI];
        self.note_changed();
        handlers::end();
        TRACED_IN.set(0);
        SEAT.set(0);
        self.order().last = own;
        seat.phase.store(phase::ENDING, Ordering::Release);
        self.members.fetch_sub(1, Ordering::Relaxed);
        if let Some(other) = self.members().next() {
            other.tell(turn::CHOOSE);
        }
        loop {
            // SAFETY: ends this thread, as the program was about to do.
            unsafe { kernel::call(libc::SYS_exit, [code, 0, 0, 0, 0, 0]) };
        }
    }

    /// The running thread, if it takes turns, is in the program's handler of its fault.
    pub(in super::super) fn hold_in_handler(&self) {
        if let Some(own) = SEAT.get().checked_sub(1) {
            self.hold(own, u64::MAX);
        }
    }

    /// Returns whether the trace goes on after the handler.
    pub(in super::super) fn release_from_handler(&self) -> bool {
        SEAT.get() == 0 || self.release()
    }

    /// Ends the trace, for a thread that has continued natively after a fault.
    pub(in super::super) fn fell_out(&self) {
        let Some(own) = SEAT.get().checked_sub(1) else {
            return;
        };
        self.dismiss();
        if self.is_owner(own) {
            return;
        }
        TRACED_IN.set(0);
        SEAT.set(0);
        self.seats[own].turn.store(turn::WAIT, Ordering::Relaxed);
        self.seats[own]
            .phase
            .store(phase::NATIVE, Ordering::Release);
    }
}

/// Called by [`entry`] on the stack of a seat: takes the thread's first turn in a trace.
pub(super) unsafe extern "C" fn admit(stopped: *mut Stopped) -> *mut Context {
    handlers::engine_begins();
    // SAFETY: the entry passes the state in the thread's own seat.
    let own = unsafe { (*stopped).index } as usize;
    SEAT.set(own + 1);
    let seat = TEAM.seat(own);
    seat.stopped().fs_base = fs_base();
    if seat.is(phase::COMING) {
        TEAM.members.fetch_add(1, Ordering::Relaxed);
        seat.phase.store(phase::MEMBER, Ordering::Release);
    }
    seat.change(phase::PARKING, phase::PARKED);
    if !TEAM.await_turn(own) {
        TEAM.leave(own);
    }
    let Some(Link {
        context, traced, ..
    }) = TEAM.order().link
    else {
        TEAM.leave(own);
    };
    TRACED_IN.set(traced.process);
    handlers::begin(traced);
    seat.stopped().restore_signals();
    // SAFETY: it is the thread's turn, so nothing else refers to the context.
    let dispatch = unsafe {
        let context = &mut *context;
        seat.put_into(context);
        context.request = Request::Enter as u32;
        context.dispatch
    };
    // SAFETY: `Engine::open` stored the function there.
    let dispatch: unsafe extern "C" fn(*mut Context) = unsafe { std::mem::transmute(dispatch) };
    // SAFETY: the context is complete.
    unsafe { dispatch(context) };
    context
}

fn fs_base() -> u64 {
    // asm/prctl.h
    const ARCH_GET_FS: u64 = 0x1003;
    let mut base = 0_u64;
    // SAFETY: the kernel writes one word.
    unsafe {
        kernel::call(
            libc::SYS_arch_prctl,
            [ARCH_GET_FS, &raw mut base as u64, 0, 0, 0, 0],
        )
    };
    base
}
