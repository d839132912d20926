//! The part of the engine's state that deals with threads that take turns.

use super::STACK_BYTES;
use super::context::{Context, Request};
use super::entry;
use super::exit::SystemCallExit;
use super::state::State;
use super::team::{
    After, MemberCall, TEAM, Wait, is_transfer, looks_at_files, own_seat, woken_futex,
};
use super::trace_buffer::TURN_BYTES;
use crate::consumer::{Consumer, End, Meeting};
use crate::error::TraceError;

impl<C: Consumer> State<C> {
    /// Returns whether other threads take turns with this one.
    pub(super) fn has_companions(&self) -> bool {
        self.all_threads.is_some() && TEAM.has_companions()
    }

    /// Makes the context that of the tracer's own thread, at the beginning of a trace.
    pub(super) fn prepare(&mut self, context: &mut Context) {
        // Another thread may have had the last turn.
        context.stack = (self.stack.address() + STACK_BYTES) as u64;
        context.vector_state = self.vector_state.address() as u64;
        context.fs_base = self.translator.fs_base();
        context.trace_pointer = self.begin_turn();
    }

    /// Returns where the next turn's part of the buffer begins.
    pub(super) fn begin_turn(&mut self) -> u64 {
        self.turn_start = match self.has_companions() {
            true => self.buffer.start_of_turn(TEAM.turn_bytes()),
            false => self.buffer.start(),
        };
        self.turn_start
    }

    /// Ends the turn of the running thread, which may only spin.
    pub(super) fn pass(&mut self, context: &mut Context, spins: bool) -> After {
        let ip = self.original_address(context);
        self.drain(context);
        if spins {
            self.meet(Meeting::Spins);
        }
        if self.is_unwanted() {
            self.leave(context, Ok(End::Consumer));
            return After::Resume;
        }
        TEAM.seat(own_seat()).keep(context, ip);
        After::Pass { spins }
    }

    /// Tells the consumer what the running thread does because of others.
    fn meet(&mut self, meeting: Meeting) {
        if !self.is_settling {
            self.consumer.met(TEAM.thread_number(), meeting);
        }
    }

    /// Returns whether the consumer wants no more, of threads that seldom fill their part of the
    /// buffer: it is asked as often as if they did.
    fn is_unwanted(&mut self) -> bool {
        if self.handed_over_bytes < TURN_BYTES || self.is_settling {
            return false;
        }
        self.handed_over_bytes = 0;
        !self.consumer.keep_tracing()
    }

    /// Returns whether the tracer's own thread is about to detach.
    pub(super) fn is_at_end(&self, context: &Context) -> bool {
        let request = Request::ALL[context.request as usize];
        let branches = matches!(
            request,
            Request::Enter | Request::Direct | Request::Indirect
        );
        branches && self.original_address(context) == entry::detach as *const () as u64
    }

    /// Lets the other threads go on to where they wait, in their order, before the trace ends: what
    /// they did natively instead would depend on the kernel's scheduler, and decide where the next
    /// trace begins.
    pub(super) fn settle(&mut self, context: &mut Context) -> After {
        let ip = self.original_address(context);
        self.drain(context);
        self.is_settling = true;
        TEAM.seat(own_seat()).keep(context, ip);
        After::Settle
    }

    /// Lets the thread go on natively at `next` of the context. Only the tracer's own thread can
    /// use the context for that.
    pub(super) fn natively(&self, context: &Context) -> After {
        if self.all_threads.is_none() || TEAM.thread_number() == 0 {
            return After::Resume;
        }
        TEAM.seat(own_seat()).keep(context, context.next);
        After::Leave
    }

    /// Deals with a system call that concerns other threads.
    pub(super) fn member_call(
        &mut self,
        context: &mut Context,
        exit: SystemCallExit,
        call: MemberCall,
    ) -> After {
        const RAX: usize = 0;
        const RSI: usize = 6;
        const RDI: usize = 7;
        let [number, first, second] = [RAX, RDI, RSI].map(|register| context.registers[register]);
        let ip = self.original_address(context);
        let refused = Err(TraceError::SystemCall { number, ip });
        context.next = exit.performed();
        if let MemberCall::Done(result) = call {
            if let Some(futex) = woken_futex(number, first, second) {
                self.meet(Meeting::Wakes(futex));
            }
            context.registers[RAX] = result;
            return After::Resume;
        }
        if matches!(call, MemberCall::Start) {
            // What it leads to may trust code.
            context.next = exit.performed_unlinked();
            self.translator.trust(false);
        }
        self.drain(context);
        if self.is_unwanted() {
            self.leave(context, Ok(End::Consumer));
            return After::Resume;
        }
        let own = own_seat();
        let seat = TEAM.seat(own);
        seat.keep(context, ip);
        seat.stopped().after_call = self.translator.blocks().block(exit.block).end_ip();
        match call {
            MemberCall::Ordinary | MemberCall::Done(_) => After::Resume,
            MemberCall::Hold
                if self.is_settling && !is_transfer(number) && !looks_at_files(number) =>
            {
                TEAM.begin_wait(own, Wait::End);
                After::Pass { spins: false }
            }
            MemberCall::Hold => After::Perform,
            MemberCall::Wait(wait) => {
                if let Wait::Futex { address, .. } = wait {
                    self.meet(Meeting::Waits(address));
                }
                TEAM.begin_wait(own, wait);
                After::Pass { spins: false }
            }
            MemberCall::Yield => {
                self.meet(Meeting::Spins);
                seat.complete(0);
                After::Pass { spins: true }
            }
            MemberCall::Exit if TEAM.thread_number() != 0 => After::Exit,
            MemberCall::Start => match TEAM.seat_for_new(own) {
                Ok(new) => After::Start(new),
                Err(error) => {
                    self.leave(context, Err(TraceError::Threads(error)));
                    After::Resume
                }
            },
            MemberCall::Exit | MemberCall::Refuse => {
                self.leave(context, refused);
                After::Resume
            }
        }
    }
}
