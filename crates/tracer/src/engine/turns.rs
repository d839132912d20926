//! The part of the engine's state that deals with threads that take turns.

use super::STACK_BYTES;
use super::context::Context;
use super::exit::SystemCallExit;
use super::state::State;
use super::team::{After, MemberCall, TEAM, own_seat};
use crate::consumer::Consumer;
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
            true => self.buffer.start_of_turn(),
            false => self.buffer.start(),
        };
        self.turn_start
    }

    /// Ends the turn of the running thread, which may only spin.
    pub(super) fn pass(&mut self, context: &mut Context, spins: bool) -> After {
        let ip = self.original_address(context);
        self.drain(context);
        TEAM.seat(own_seat()).keep(context, ip);
        After::Pass { spins }
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
        let number = context.registers[RAX];
        let ip = self.original_address(context);
        let refused = Err(TraceError::SystemCall { number, ip });
        context.next = exit.performed();
        if let MemberCall::Done(result) = call {
            context.registers[RAX] = result;
            return After::Resume;
        }
        if matches!(call, MemberCall::Start) {
            // What it leads to may trust code.
            context.next = exit.performed_unlinked();
            self.translator.trust(false);
        }
        self.drain(context);
        let own = own_seat();
        let seat = TEAM.seat(own);
        seat.keep(context, ip);
        seat.stopped().after_call = self.translator.blocks().block(exit.block).end_ip();
        match call {
            MemberCall::Ordinary | MemberCall::Done(_) => After::Resume,
            MemberCall::Hold => After::Perform,
            MemberCall::Wait(wait) => {
                TEAM.begin_wait(own, wait);
                After::Pass { spins: false }
            }
            MemberCall::Yield => {
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
