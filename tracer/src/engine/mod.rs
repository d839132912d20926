//! The engine: a binary translator in the traced thread.
//!
//! Control flow: [`Engine::attach`] returns through [`entry`] into translated code. That code comes
//! back to [`entry`] whenever it cannot continue, and [`State::serve`] decides: translate
//! ([`translator`]), link, hand over the buffer, or leave. [`Engine::detach`] is where the
//! translator lets go.

mod assembler;
mod block_store;
mod check;
mod code_map;
mod context;
mod emit;
mod entry;
mod exit;
mod fault;
mod handlers;
mod indirect;
mod machine;
mod memory;
mod other_threads;
mod plan;
mod source;
mod status;
mod system_call;
mod trace_buffer;
mod trampolines;
mod translator;
mod trust;

use std::cell::Cell;
use std::marker::PhantomData;
use std::ptr::NonNull;

use self::context::{Context, DEFAULT_MXCSR, RANDOM_MULTIPLIER, Request};
use self::emit::BLOCK_TAG;
use self::fault::Traced;
use self::machine::RestartableSequence;
use self::memory::{Mapping, Protection};
use self::other_threads::OtherThreadsWatch;
use self::status::Status;
use self::system_call::{Policy, Wakes, policy};
use self::trace_buffer::TraceBuffer;
use self::translator::Translator;
use self::trust::OthersThatChangeMemory;
use crate::CONSUMER_STACK_BYTES;
use crate::block::BlockId;
use crate::config::Config;
use crate::consumer::{Consumer, End};
use crate::error::{AttachError, OpenError, TraceError};
use crate::fixed_values;

/// The part of the stack for the engine itself.
const ENGINE_STACK_BYTES: usize = 256 * 1024;
const GUARD_BYTES: usize = 64 * 1024;

thread_local! {
    /// The process in which this thread is being traced, or 0 if none. A forked child has a copy.
    static TRACED_IN: Cell<i32> = const { Cell::new(0) };
}

/// Owns the state, at a fixed address, that translated code and the engine share.
pub(crate) struct Engine<C: Consumer> {
    state: NonNull<State<C>>,
    /// A copy for `attach`, which is inlined into the caller.
    context: NonNull<Context>,
    owned: PhantomData<State<C>>,
}

/// Everything that the engine knows.
struct State<C> {
    status: Status,
    translator: Translator,
    buffer: TraceBuffer,
    /// Whether a thread was started that may not have left the translated code yet.
    code_is_shared: bool,
    restartable: Option<RestartableSequence>,
    /// The signal whose handlers are not intercepted until the next request.
    suspended: Option<i32>,
    /// Whether to verify trusted code at the next request.
    trust_is_due: bool,
    /// What the system call before the next request did to other threads.
    wakes: Wakes,
    other_threads: OtherThreadsWatch,
    _stack: Mapping,
    _vector_state: Mapping,
    consumer: C,
}

impl<C: Consumer> Engine<C> {
    pub(crate) fn open(config: Config, consumer: C) -> Result<Engine<C>, OpenError> {
        check(&config)?;
        if machine::has_shadow_stack() {
            return Err(OpenError::ShadowStack);
        }
        let vector = machine::vector_state()?;
        let memory = |bytes: usize| {
            Mapping::new(bytes, Protection::ReadWrite, 0).map_err(|error| OpenError::Memory {
                bytes,
                os_error: error.to_string(),
            })
        };
        let stack_bytes = GUARD_BYTES + ENGINE_STACK_BYTES + CONSUMER_STACK_BYTES;
        let stack = memory(stack_bytes)?;
        let vector_state = memory(vector.bytes)?;
        let to_memory_error = |bytes: usize| {
            move |error: std::io::Error| OpenError::Memory {
                bytes,
                os_error: error.to_string(),
            }
        };
        stack
            .protect(0, GUARD_BYTES, Protection::None)
            .map_err(to_memory_error(stack_bytes))?;
        let buffer =
            TraceBuffer::new(config.buffer_bytes).map_err(to_memory_error(config.buffer_bytes))?;
        let facts = machine::thread_facts(vector);
        let restartable = RestartableSequence::of_this_thread(&facts);
        let translator = Translator::new(config.static_instructions, facts)?;
        let context = translator.context();
        let resume = translator.resume();
        let trace_pointer = buffer.start();
        let stack_top = (stack.address() + stack_bytes) as u64;
        let vector_address = vector_state.address() as u64;
        let state = Box::into_raw(Box::new(State {
            status: Status::Idle,
            translator,
            buffer,
            code_is_shared: false,
            restartable,
            suspended: None,
            trust_is_due: false,
            wakes: Wakes::Nobody,
            other_threads: OtherThreadsWatch::default(),
            _stack: stack,
            _vector_state: vector_state,
            consumer,
        }));
        // SAFETY: the mapping begins with room for a context, which nothing else uses yet.
        unsafe {
            context.write(Context {
                registers: [0; 16],
                flags: 0,
                next: 0,
                trace_pointer,
                target: 0,
                exit: 0,
                request: 0,
                resume,
                save: entry::serve as *const () as u64,
                dispatch: dispatch::<C> as *const () as u64,
                engine: state as u64,
                stack: stack_top,
                vector_state: vector_address,
                vector_mask_low: vector.mask as u32,
                vector_mask_high: (vector.mask >> 32) as u32,
                default_mxcsr: DEFAULT_MXCSR,
                random_state: RANDOM_MULTIPLIER,
                random_multiplier: RANDOM_MULTIPLIER,
            });
        }
        // SAFETY: a box is never null, nor is the start of a mapping.
        unsafe {
            Ok(Engine {
                state: NonNull::new_unchecked(state),
                context: NonNull::new_unchecked(context),
                owned: PhantomData,
            })
        }
    }

    /// Traces the thread from the return of `entry::attach` on. Inlined, so that the trace contains
    /// little of the tracer itself.
    #[inline(always)]
    pub(crate) fn attach(&self) -> Result<(), AttachError> {
        self.prepare()?;
        // SAFETY: `prepare` has checked that nothing else is being traced on this thread and that
        // the context is ready.
        unsafe { entry::attach(self.context.as_ptr()) };
        Ok(())
    }

    #[inline(always)]
    pub(crate) fn detach(&self) -> Result<End, TraceError> {
        entry::detach();
        self.conclude()
    }

    #[inline(never)]
    fn prepare(&self) -> Result<(), AttachError> {
        let traced_in = TRACED_IN.get();
        // SAFETY: either no trace is in progress, or this is called from within it. In both cases
        // the engine does not run, so nothing else has a reference.
        let state = unsafe { &mut *self.state.as_ptr() };
        let process = std::process::id() as i32;
        if traced_in != 0 {
            return Err(if traced_in == process {
                AttachError::AlreadyAttached
            } else {
                AttachError::ForkedChild
            });
        }
        match state.status {
            Status::Idle => {}
            Status::Lost => return Err(AttachError::Lost),
            Status::Running | Status::Ended(_) => return Err(AttachError::AlreadyAttached),
        }
        if state.uses_restartable_sequences() {
            return Err(AttachError::RestartableSequences);
        }
        state.status = Status::Running;
        state.suspended = None;
        state.trust_is_due = false;
        state.wakes = Wakes::Nobody;
        // SAFETY: the engine does not run, so nothing else refers to the context.
        unsafe { (*self.context.as_ptr()).trace_pointer = state.buffer.start() };
        TRACED_IN.set(process);
        let (code_start, code_end) = state.translator.code();
        let state = self.state.as_ptr();
        handlers::begin(Traced {
            process,
            // SAFETY: computes addresses inside the state, which lives as long as the engine.
            status: unsafe { &raw mut (*state).status },
            // SAFETY: as above.
            translator: unsafe { &raw mut (*state).translator },
            context: self.context.as_ptr(),
            code_start,
            code_end,
        });
        // A handler that runs from now on is dealt with.
        // SAFETY: the engine does not run, so nothing else has a reference.
        unsafe { (*state).renew_trust() };
        Ok(())
    }

    #[inline(never)]
    fn conclude(&self) -> Result<End, TraceError> {
        // SAFETY: as in `prepare`.
        let state = unsafe { &mut *self.state.as_ptr() };
        match state.status {
            Status::Idle | Status::Lost => Err(TraceError::NotAttached),
            Status::Ended(result) => {
                state.status = Status::Idle;
                TRACED_IN.set(0);
                handlers::end();
                if result.is_ok() && state.uses_restartable_sequences() {
                    return Err(AttachError::RestartableSequences.into());
                }
                result
            }
            Status::Running => {
                state.status = Status::Lost;
                TRACED_IN.set(0);
                handlers::end();
                Err(TraceError::LeftTracedCode)
            }
        }
    }

    pub(crate) fn is_attached(&self) -> bool {
        // SAFETY: as in `prepare`; the field is only read.
        let status = unsafe { (*self.state.as_ptr()).status };
        matches!(status, Status::Running | Status::Ended(_))
    }

    pub(crate) fn is_half_full(&self) -> bool {
        // SAFETY: as in `prepare`.
        unsafe { (*self.state.as_ptr()).translator.is_half_full() }
    }

    /// Returns whether it did. A thread started by traced code may still be leaving translated
    /// code.
    pub(crate) fn forget_translations(&self) -> bool {
        // SAFETY: as in `prepare`.
        let state = unsafe { &mut *self.state.as_ptr() };
        let may_forget = state.status == Status::Idle && !state.code_is_shared;
        if may_forget {
            state.translator.start_over();
        }
        may_forget
    }

    pub(crate) fn has_started_threads(&self) -> bool {
        // SAFETY: as in `prepare`; the field is only read.
        unsafe { (*self.state.as_ptr()).code_is_shared }
    }

    pub(crate) fn consumer(&self) -> *mut C {
        // SAFETY: computes an address inside the state, which lives as long as the engine.
        unsafe { &raw mut (*self.state.as_ptr()).consumer }
    }
}

impl<C: Consumer> Drop for Engine<C> {
    fn drop(&mut self) {
        if self.is_attached() {
            // Dropped in the middle of its trace, in translated code: leave it first.
            let _ = self.detach();
        }
        // SAFETY: made by `Box::into_raw`, and only the context keeps a copy.
        let mut state = unsafe { Box::from_raw(self.state.as_ptr()) };
        if state.status == Status::Lost {
            std::mem::forget(state);
            return;
        }
        if state.code_is_shared {
            state.translator.keep_code_for_ever();
        }
    }
}

fn check(config: &Config) -> Result<(), OpenError> {
    const SMALLEST_BUFFER: usize = 64 * 1024;
    const LARGEST_BUFFER: usize = 8 * 1024 * 1024;
    const SMALLEST_CODE: usize = 1024;
    // Code, context and tables stay within reach of 32-bit distances.
    const LARGEST_CODE: usize = 16 * 1024 * 1024;
    if !config.buffer_bytes.is_power_of_two()
        || !(SMALLEST_BUFFER..=LARGEST_BUFFER).contains(&config.buffer_bytes)
    {
        return Err(OpenError::Config {
            field: "buffer_bytes",
            value: config.buffer_bytes,
            allowed: "a power of two from 64 KiB to 8 MiB",
        });
    }
    if !(SMALLEST_CODE..=LARGEST_CODE).contains(&config.static_instructions) {
        return Err(OpenError::Config {
            field: "static_instructions",
            value: config.static_instructions,
            allowed: "1024 to 16 Mi",
        });
    }
    Ok(())
}

/// The index of rax in [`Context::registers`].
const RAX: usize = 0;

/// Called by [`entry::serve`] on the engine's stack.
unsafe extern "C" fn dispatch<C: Consumer>(context: *mut Context) {
    handlers::engine_begins();
    // SAFETY: the context was made by `Engine::open`, which stored the state's address in it. The
    // thread is in translated code, so nothing else refers to either.
    let (context, state) = unsafe {
        let context = &mut *context;
        let state =
            &mut *std::ptr::with_exposed_provenance_mut::<State<C>>(context.engine as usize);
        (context, state)
    };
    state.serve(context);
    handlers::engine_ends();
}

impl<C: Consumer> State<C> {
    /// Determines where the thread continues.
    fn serve(&mut self, context: &mut Context) {
        if let Some(signal) = self.suspended.take() {
            handlers::resume(signal);
        }
        if self.status != Status::Running {
            // Ended in a signal handler: no more recording.
            context.trace_pointer = self.buffer.start();
            context.next = self.original_address(context);
            return;
        }
        self.translator.forget_what_is_not_trusted();
        let wakes = std::mem::replace(&mut self.wakes, Wakes::Nobody);
        let is_due = std::mem::take(&mut self.trust_is_due);
        if is_due && self.others_may_run_after(wakes, context.registers[RAX]) {
            self.translator.trust(false);
        } else if is_due && !self.translator.trusted_code_is_intact() {
            // Changed by the system call. Until then, the code was as translated.
            self.translator.forget();
        }
        match request(context) {
            Request::Enter => self.go_to(context, context.target, |_, _| {}),
            Request::Direct => {
                let exit = self.translator.direct_exit(context.exit);
                self.go_to(context, exit.target, |translator, id| {
                    translator.link(exit, id);
                });
            }
            Request::Indirect => self.go_to(context, context.target, |translator, id| {
                translator.link_indirect(id);
            }),
            Request::Drain => {
                self.drain(context);
                if !self.consumer.keep_tracing() {
                    self.leave(context, Ok(End::Consumer));
                }
            }
            Request::SystemCall => self.system_call(context),
            Request::Changed => {
                let ip = self.translator.direct_exit(context.exit).target;
                let consumer = &mut self.consumer;
                let arguments = consumer.wants_arguments_at(ip);
                let block = self
                    .translator
                    .changed_block_at(ip, arguments, |blocks, id| {
                        consumer.translated(&blocks.block(id));
                    });
                self.go_on_in(context, block);
            }
        }
    }

    fn go_to(
        &mut self,
        context: &mut Context,
        target: u64,
        link: impl FnOnce(&mut Translator, BlockId),
    ) {
        if target == entry::detach as *const () as u64 {
            self.drain(context);
            let is_intact =
                !self.translator.is_trusting() || self.translator.trusted_code_is_intact();
            let end = is_intact.then_some(End::Detach);
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
        self.go_on_in(context, block);
    }

    fn go_on_in(&mut self, context: &mut Context, block: Result<BlockId, TraceError>) {
        match block {
            Ok(id) => context.next = self.translator.blocks().record(id).entry,
            Err(error) => self.leave(context, Err(error)),
        }
    }

    /// Lets the thread continue natively with what it was about to do.
    fn leave(&mut self, context: &mut Context, result: Result<End, TraceError>) {
        self.status = Status::Ended(result);
        handlers::end();
        context.next = self.original_address(context);
    }

    /// Returns the program's address at which the thread is stopped.
    fn original_address(&self, context: &Context) -> u64 {
        match request(context) {
            Request::Enter | Request::Indirect => context.target,
            Request::Direct | Request::Changed => self.translator.direct_exit(context.exit).target,
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
    fn drain(&mut self, context: &mut Context) {
        // SAFETY: the trace pointer moves only past complete blocks, and the thread is in the
        // engine.
        let written = unsafe { self.buffer.written(context.trace_pointer) };
        let blocks = self.translator.blocks();
        let mut rest = written;
        while let [first, values @ ..] = rest {
            let block = blocks.block(BlockId(*first as u32 & !BLOCK_TAG));
            let (addresses, next) = values.split_at(block.recorded_values);
            self.consumer.block(&block, addresses);
            rest = next;
        }
        context.trace_pointer = self.buffer.start();
    }

    fn system_call(&mut self, context: &mut Context) {
        const RDX: usize = 2;
        const RSI: usize = 6;
        const RDI: usize = 7;
        const R10: usize = 10;
        let exit = self.translator.system_call_exit(context.exit);
        let registers = &context.registers;
        let number = registers[RAX];
        let arguments = [RDI, RSI, RDX, R10].map(|register| registers[register]);
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
                self.translator.never_trust_again();
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
    }

    /// Returns whether, after the previous system call, other threads of a process that had none
    /// but waiting ones may run.
    fn others_may_run_after(&self, wakes: Wakes, result: u64) -> bool {
        // A signal may come to any thread.
        let may_run = || wakes.somebody(result) || handlers::other_signals_are_caught();
        self.other_threads.have_waited() && may_run()
    }

    /// Returns whether the thread uses restartable sequences. The kernel restarts a sequence by its
    /// address, and a translated one has a different address.
    fn uses_restartable_sequences(&self) -> bool {
        self.restartable
            .is_some_and(RestartableSequence::was_entered)
    }

    /// Verifies trust before a trace, since much may have happened since the last one.
    fn renew_trust(&mut self) {
        self.translator.forget_what_is_not_trusted();
        let others = if self.translator.may_trust() {
            OthersThatChangeMemory::ask(&mut self.other_threads)
        } else {
            OthersThatChangeMemory::Somebody
        };
        let translator = &mut self.translator;
        translator.trust(others != OthersThatChangeMemory::Somebody);
        let is_intact = match others {
            OthersThatChangeMemory::Nobody => translator.trusted_code_is_intact(),
            OthersThatChangeMemory::NobodyNow => {
                translator.trusted_code_is_there() && translator.trusted_code_is_intact()
            }
            OthersThatChangeMemory::Somebody => true,
        };
        if !is_intact {
            translator.forget();
        }
    }
}

fn request(context: &Context) -> Request {
    Request::ALL[context.request as usize]
}
