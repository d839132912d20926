//! State of the engine, and its handling of translated code that cannot continue.

use super::context::{Context, Request};
use super::emit::BLOCK_TAG;
use super::machine::{RestartableSequence, VectorState};
use super::memory::Mapping;
use super::other_threads::OtherThreadsWatch;
use super::status::Status;
use super::system_call::{Policy, Wakes, policy};
use super::team::{After, MemberCall, Schedule, TEAM, own_seat};
use super::trace_buffer::TraceBuffer;
use super::translator::Translator;
use super::trust::ConcurrentWriters;
use super::{entry, handlers};
use crate::block::BlockId;
use crate::consumer::{Consumer, End};
use crate::error::TraceError;
use crate::fixed_values;

/// Everything that the engine knows.
pub(super) struct State<C> {
    pub(super) status: Status,
    pub(super) translator: Translator,
    pub(super) buffer: TraceBuffer,
    /// Whether a thread was started that may not have left the translated code yet.
    pub(super) code_is_shared: bool,
    /// How to save the state of threads, if all of them may be traced.
    pub(super) vector_of_threads: Option<VectorState>,
    /// The same, if they are.
    pub(super) all_threads: Option<VectorState>,
    /// The order in which they take turns.
    pub(super) schedule: Schedule,
    /// The thread whose blocks the consumer got last.
    pub(super) fed_thread: usize,
    /// Where the running thread's part of the buffer begins.
    pub(super) turn_start: u64,
    /// What the consumer got since it was asked whether it wants more.
    pub(super) handed_over_bytes: usize,
    /// Whether the trace is complete, and other threads only go on to where they wait.
    pub(super) is_settling: bool,
    /// Whether the trace is about to end, and other threads stay where they are.
    pub(super) is_halting: bool,
    pub(super) restartable: Option<RestartableSequence>,
    /// The signal whose handlers are not intercepted until the next request.
    pub(super) suspended: Option<i32>,
    /// Whether to verify trusted code at the next request.
    pub(super) trust_is_due: bool,
    /// What the system call before the next request did to other threads.
    pub(super) wakes: Wakes,
    pub(super) other_threads: OtherThreadsWatch,
    pub(super) stack: Mapping,
    pub(super) vector_state: Mapping,
    pub(super) consumer: C,
}

/// The index of rax in [`Context::registers`].
const RAX: usize = 0;

/// Called by [`entry::serve`] on the engine's stack.
pub(super) unsafe extern "C" fn dispatch<C: Consumer>(context: *mut Context) {
    handlers::engine_begins();
    // SAFETY: the context was made by `Engine::open`, which stored the state's address in it. The
    // thread was in translated code, so nothing else refers to either.
    let serve = || unsafe {
        let context = &mut *context;
        let state =
            &mut *std::ptr::with_exposed_provenance_mut::<State<C>>(context.engine as usize);
        state.serve(context)
    };
    let after = serve();
    TEAM.carry_out(after, context);
    if after == After::Settle {
        serve();
    }
    handlers::engine_ends();
}

impl<C: Consumer> State<C> {
    /// Determines where the thread continues, and what is to be done before.
    fn serve(&mut self, context: &mut Context) -> After {
        self.mend_x87_address(context);
        if let Some(signal) = self.suspended.take() {
            handlers::resume(signal);
        }
        if self.status != Status::Running {
            // Ended in a signal handler: no more recording.
            context.trace_pointer = self.turn_start;
            context.next = self.original_address(context);
            return self.natively(context);
        }
        self.translator.discard_untrusted();
        let wakes = std::mem::replace(&mut self.wakes, Wakes::Nobody);
        let is_due = std::mem::take(&mut self.trust_is_due);
        if is_due && self.others_may_run_after(wakes, context.registers[RAX]) {
            self.translator.trust(false);
        } else if is_due && !self.translator.is_trusted_code_intact() {
            // Changed by the system call. Until then, the code was as translated.
            self.translator.forget();
        }
        let mut after = After::Resume;
        let settles = self.has_companions() && !self.is_settling && !self.is_halting;
        if settles && self.is_at_end(context) {
            return self.settle(context);
        }
        match request(context) {
            Request::Enter => self.continue_at(context, context.target, |_, _| {}),
            Request::Direct => {
                let exit = self.translator.direct_exit(context.exit);
                self.continue_at(context, exit.target, |translator, id| {
                    translator.link(exit, id);
                });
            }
            Request::Indirect => self.continue_at(context, context.target, |translator, id| {
                translator.link_indirect(id);
            }),
            Request::Drain => {
                self.drain(context);
                self.handed_over_bytes = 0;
                if !self.is_settling && !self.consumer.keep_tracing() {
                    self.leave(context, Ok(End::Consumer));
                } else if self.has_companions() {
                    after = self.pass(context, false);
                }
            }
            Request::Pause => {
                let target = self.translator.direct_exit(context.exit).target;
                self.continue_at(context, target, |_, _| {});
                if self.has_companions() && self.status == Status::Running {
                    after = self.pass(context, true);
                }
            }
            Request::SystemCall => after = self.system_call(context),
            Request::Changed => {
                let ip = self.translator.direct_exit(context.exit).target;
                let consumer = &mut self.consumer;
                let arguments = consumer.wants_arguments_at(ip);
                let block = self
                    .translator
                    .changed_block_at(ip, arguments, |blocks, id| {
                        consumer.translated(&blocks.block(id));
                    });
                self.continue_in(context, block);
            }
        }
        if self.status == Status::Running {
            after
        } else {
            self.natively(context)
        }
    }

    /// Replaces the address of the last x87 instruction in the saved state by that of the program's
    /// instruction, if it was executed translated: the program may look at it once it runs
    /// natively.
    fn mend_x87_address(&self, context: &Context) {
        /// Where `xsave64` stores it.
        const X87_ADDRESS_BYTE: usize = 8;
        let saved: *mut u8 = std::ptr::with_exposed_provenance_mut(context.vector_state as usize);
        // SAFETY: the area holds what `entry::serve` has just saved, at least 576 bytes that are
        // aligned to 64, and nothing else refers to it until it is restored.
        let address = unsafe { saved.add(X87_ADDRESS_BYTE).cast::<u64>() };
        // SAFETY: as above.
        let translated = unsafe { address.read() };
        let (start, end) = self.translator.code();
        if !(start..end).contains(&translated) {
            return;
        }
        if let Some(standing) = self.translator.standing_at(translated) {
            // SAFETY: as above.
            unsafe { address.write(standing.ip) };
        }
    }

    fn continue_at(
        &mut self,
        context: &mut Context,
        target: u64,
        link: impl FnOnce(&mut Translator, BlockId),
    ) {
        if target == entry::detach as *const () as u64 {
            self.drain(context);
            let is_intact =
                !self.translator.is_trusting() || self.translator.is_trusted_code_intact();
            let end = is_intact.then_some(End::Detach);
            if self.is_settling || (self.is_halting && self.has_companions()) {
                TEAM.park(own_seat(), self.is_halting);
            }
            self.leave(context, end.ok_or(TraceError::CodeChanged));
            context.next = target;
            return;
        }
        let consumer = &mut self.consumer;
        let arguments = consumer.wants_arguments_at(target);
        let block = self.translator.block_at(target, arguments, |blocks, id| {
            consumer.translated(&blocks.block(id));
        });
        if let Ok(id) = block {
            link(&mut self.translator, id);
        }
        self.continue_in(context, block);
    }

    fn continue_in(&mut self, context: &mut Context, block: Result<BlockId, TraceError>) {
        match block {
            Ok(id) => context.next = self.translator.blocks().record(id).entry,
            Err(error) => self.leave(context, Err(error)),
        }
    }

    /// Lets the thread continue natively with what it was about to do.
    pub(super) fn leave(&mut self, context: &mut Context, result: Result<End, TraceError>) {
        let is_complete = std::mem::take(&mut self.is_settling);
        self.status = Status::Ended(if is_complete { Ok(End::Detach) } else { result });
        handlers::end();
        if self.all_threads.is_some() {
            TEAM.dismiss();
        }
        context.next = self.original_address(context);
    }

    /// Returns the program's address at which the thread is stopped.
    pub(super) fn original_address(&self, context: &Context) -> u64 {
        match request(context) {
            Request::Enter | Request::Indirect => context.target,
            Request::Direct | Request::Changed | Request::Pause => {
                self.translator.direct_exit(context.exit).target
            }
            Request::Drain => self.end_of(BlockId(context.exit)),
            Request::SystemCall => {
                self.end_of(self.translator.system_call_exit(context.exit).block)
            }
        }
    }

    /// Returns the address of the block's branch, which is not executed yet, or the address after
    /// its last instruction.
    fn end_of(&self, id: BlockId) -> u64 {
        let blocks = self.translator.blocks();
        let block = blocks.block(id);
        if blocks.record(id).ends_with_branch {
            block.last().decoded.ip()
        } else {
            block.end_ip()
        }
    }

    /// Hands the buffer to the consumer and empties it.
    pub(super) fn drain(&mut self, context: &mut Context) {
        // SAFETY: the trace pointer moves only past complete blocks, and the thread is in the
        // engine.
        let written = unsafe { self.buffer.written(self.turn_start, context.trace_pointer) };
        let written = if self.is_settling { &[] } else { written };
        let thread = TEAM.thread_number();
        if thread != self.fed_thread && self.all_threads.is_some() && !written.is_empty() {
            self.fed_thread = thread;
            self.consumer.switch_to(thread);
        }
        self.handed_over_bytes += size_of_val(written);
        let blocks = self.translator.blocks();
        let mut rest = written;
        while let [first, values @ ..] = rest {
            let block = blocks.block(BlockId(*first as u32 & !BLOCK_TAG));
            let (addresses, next) = values.split_at(block.recorded_values);
            self.consumer.block(&block, addresses);
            rest = next;
        }
        context.trace_pointer = self.begin_turn();
    }

    fn system_call(&mut self, context: &mut Context) -> After {
        const RDX: usize = 2;
        const RSI: usize = 6;
        const RDI: usize = 7;
        const R8: usize = 8;
        const R9: usize = 9;
        const R10: usize = 10;
        let exit = self.translator.system_call_exit(context.exit);
        let registers = &context.registers;
        let number = registers[RAX];
        let all = [RDI, RSI, RDX, R10, R8, R9].map(|register| registers[register]);
        if self.all_threads.is_some() {
            let is_alone = !self.has_companions() && !fixed_values::is_clock_held();
            match TEAM.member_call(number, all, is_alone) {
                MemberCall::Ordinary => {}
                call => return self.member_call(context, exit, call),
            }
        }
        let [first, second, third, fourth, ..] = all;
        let arguments = [first, second, third, fourth];
        match policy(number, arguments) {
            Policy::Perform => context.next = exit.perform,
            Policy::MayChangeCode if self.translator.is_trusting() => {
                self.trust_is_due = true;
                context.next = exit.unlinked;
            }
            Policy::WakesThreads(wakes) if self.translator.is_trusting() => {
                self.wakes = wakes;
                self.trust_is_due = true;
                context.next = exit.unlinked;
            }
            Policy::MayChangeCode | Policy::WakesThreads(_) => context.next = exit.perform,
            Policy::LetsOthersChangeCode => {
                self.translator.distrust_for_good();
                context.next = exit.unlinked;
            }
            Policy::Split { shares_memory } => {
                if shares_memory {
                    self.code_is_shared = true;
                    self.translator.trust(false);
                }
                self.trust_is_due = self.translator.is_trusting();
                context.next = exit.split;
            }
            Policy::Changes { start, end } if self.translator.knows_code_in(start, end) => {
                self.translator.doubt(start, end);
                context.next = exit.unlinked;
            }
            Policy::Changes { .. } => context.next = exit.perform,
            Policy::SetsHandler { signal } => {
                handlers::suspend(signal);
                self.suspended = Some(signal);
                // A handler may run before it is intercepted again.
                self.trust_is_due = self.translator.is_trusting();
                context.next = exit.unlinked;
            }
            Policy::GivesRandomNumbers if fixed_values::are_fixed() => {
                let [buffer, bytes, flags, _] = arguments;
                // SAFETY: the program is about to make this very call.
                let written = unsafe { fixed_values::getrandom(buffer, bytes, flags) };
                context.registers[RAX] = written;
                context.next = exit.performed();
            }
            Policy::GivesRandomNumbers => context.next = exit.perform,
            Policy::Refuse => {
                let ip = self.end_of(exit.block);
                self.leave(context, Err(TraceError::SystemCall { number, ip }));
            }
        }
        After::Resume
    }

    /// Returns whether, after the previous system call, other threads of a process that had none
    /// but waiting ones may run.
    fn others_may_run_after(&self, wakes: Wakes, result: u64) -> bool {
        // A signal may come to any thread.
        let may_run = || wakes.somebody(result) || handlers::catches_other_signals();
        self.other_threads.have_waited() && may_run()
    }

    /// Returns whether the thread uses restartable sequences. The kernel restarts a sequence by its
    /// address, and a translated one has a different address.
    pub(super) fn uses_restartable_sequences(&self) -> bool {
        self.restartable
            .is_some_and(RestartableSequence::was_entered)
    }

    /// Verifies trust before a trace, since much may have happened since the last one.
    pub(super) fn renew_trust(&mut self) {
        self.translator.discard_untrusted();
        let others = if self.translator.may_trust() && !self.has_companions() {
            ConcurrentWriters::ask(&mut self.other_threads, handlers::catches_other_signals)
        } else {
            ConcurrentWriters::Somebody
        };
        let translator = &mut self.translator;
        translator.trust(others != ConcurrentWriters::Somebody);
        let is_intact = match others {
            ConcurrentWriters::Nobody => translator.is_trusted_code_intact(),
            ConcurrentWriters::NobodyNow => {
                translator.has_trusted_code() && translator.is_trusted_code_intact()
            }
            ConcurrentWriters::Somebody => true,
        };
        if !is_intact {
            translator.forget();
        }
    }
}

fn request(context: &Context) -> Request {
    Request::ALL[context.request as usize]
}
