//! The engine: a binary translator in the traced thread.
//!
//! Control flow: [`Engine::attach`] returns through [`entry`] into translated code. That code comes
//! back to [`entry`] whenever it cannot continue, and [`state`] decides: translate
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
mod lasting_objects;
mod machine;
mod memory;
mod other_threads;
mod plan;
mod source;
mod state;
mod status;
mod system_call;
mod tasks;
mod team;
mod trace_buffer;
mod trampolines;
mod translator;
mod trust;
mod turns;

use std::cell::Cell;
use std::marker::PhantomData;
use std::ptr::NonNull;

use self::context::{Context, DEFAULT_MXCSR, RANDOM_MULTIPLIER};
use self::fault::Traced;
use self::machine::RestartableSequence;
use self::memory::{Mapping, Protection};
use self::other_threads::OtherThreadsWatch;
use self::state::{State, dispatch};
use self::status::Status;
use self::system_call::Wakes;
use self::team::{Link, Schedule, TEAM};
use self::trace_buffer::TraceBuffer;
use self::translator::Translator;
use crate::CONSUMER_STACK_BYTES;
use crate::config::Config;
use crate::consumer::{Consumer, End};
use crate::error::{AttachError, OpenError, TraceError};

/// The part of the stack for the engine itself.
const ENGINE_STACK_BYTES: usize = 256 * 1024;
const GUARD_BYTES: usize = 64 * 1024;
const STACK_BYTES: usize = GUARD_BYTES + ENGINE_STACK_BYTES + CONSUMER_STACK_BYTES;

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

impl<C: Consumer> Engine<C> {
    pub(crate) fn open(config: Config, consumer: C) -> Result<Engine<C>, OpenError> {
        config.check()?;
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
        let stack = memory(STACK_BYTES)?;
        let vector_state = memory(vector.bytes)?;
        let to_memory_error = |bytes: usize| {
            move |error: std::io::Error| OpenError::Memory {
                bytes,
                os_error: error.to_string(),
            }
        };
        stack
            .protect(0, GUARD_BYTES, Protection::None)
            .map_err(to_memory_error(STACK_BYTES))?;
        let buffer =
            TraceBuffer::new(config.buffer_bytes).map_err(to_memory_error(config.buffer_bytes))?;
        let facts = machine::thread_facts(vector, config.all_threads);
        let restartable = RestartableSequence::for_this_thread(&facts);
        let translator = Translator::new(config.static_instructions, facts)?;
        let context = translator.context();
        let resume = translator.resume();
        let trace_pointer = buffer.start();
        let stack_top = (stack.address() + STACK_BYTES) as u64;
        let vector_address = vector_state.address() as u64;
        let state = Box::into_raw(Box::new(State {
            status: Status::Idle,
            translator,
            buffer,
            code_is_shared: false,
            vector_of_threads: config.all_threads.then_some(vector),
            schedule: Schedule::new(config.schedule),
            all_threads: None,
            fed_thread: 0,
            turn_start: trace_pointer,
            handed_over_bytes: 0,
            is_settling: false,
            is_halting: false,
            restartable,
            suspended: None,
            trust_is_due: false,
            wakes: Wakes::Nobody,
            other_threads: OtherThreadsWatch::default(),
            stack,
            vector_state,
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
                fs_base: facts.fs_base,
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
    pub(crate) fn attach(&self, all_threads: bool) -> Result<(), AttachError> {
        self.prepare(all_threads)?;
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

    #[inline(always)]
    pub(crate) fn halt(&self) -> Result<End, TraceError> {
        // SAFETY: as in `prepare`; only the field is written.
        unsafe { (*self.state.as_ptr()).is_halting = true };
        self.detach()
    }

    #[inline(never)]
    fn prepare(&self, all_threads: bool) -> Result<(), AttachError> {
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
        state.is_settling = false;
        state.is_halting = false;
        TRACED_IN.set(process);
        let (code_start, code_end) = state.translator.code();
        let state = self.state.as_ptr();
        let traced = Traced {
            process,
            // SAFETY: computes addresses inside the state, which lives as long as the engine.
            status: unsafe { &raw mut (*state).status },
            // SAFETY: as above.
            translator: unsafe { &raw mut (*state).translator },
            context: self.context.as_ptr(),
            code_start,
            code_end,
        };
        if !all_threads {
            TEAM.unpark();
        }
        // SAFETY: the engine does not run, so nothing else has a reference.
        let vector = unsafe {
            (*state).all_threads = (*state).vector_of_threads.filter(|_| all_threads);
            (*state).all_threads
        };
        if let Some(vector) = vector {
            let link = Link {
                context: self.context.as_ptr(),
                traced,
                vector,
                // SAFETY: as above.
                fs_base: unsafe { (*state).translator.fs_base() },
                // SAFETY: as above.
                schedule: unsafe { (*state).schedule },
            };
            if let Err(error) = TEAM.begin(link) {
                // SAFETY: as above.
                unsafe { (*state).status = Status::Idle };
                TRACED_IN.set(0);
                return Err(AttachError::Threads(error));
            }
        }
        handlers::begin(traced);
        // SAFETY: the engine does not run, so nothing else refers to the state or the context.
        unsafe { (*state).prepare(&mut *self.context.as_ptr()) };
        // A handler that runs from now on is dealt with.
        // SAFETY: the engine does not run, so nothing else has a reference.
        unsafe { (*state).renew_trust() };
        Ok(())
    }

    #[inline(never)]
    fn conclude(&self) -> Result<End, TraceError> {
        let error = TEAM.end();
        // SAFETY: as in `prepare`.
        let state = unsafe { &mut *self.state.as_ptr() };
        if let (Status::Running, Some(error)) = (state.status, error) {
            state.status = Status::Idle;
            TRACED_IN.set(0);
            handlers::end();
            return Err(TraceError::Threads(error));
        }
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

/// Returns for how long all traced threads have waited at the same time, since the process began.
pub(crate) fn idle_ns() -> u64 {
    TEAM.idle_ns()
}

/// See [`crate::hold_at_port`].
pub(crate) fn hold_at_port(port: u16) {
    team::hold_at_port(port);
}

/// Lets threads go on natively that wait for the next trace of all threads.
pub(crate) fn release_threads() {
    TEAM.unpark();
}

/// Returns whether several threads take turns.
pub(crate) fn has_companions() -> bool {
    TEAM.has_companions()
}

impl<C: Consumer> Drop for Engine<C> {
    fn drop(&mut self) {
        if self.is_attached() {
            // Dropped in the middle of its trace, in translated code: leave it first.
            let _ = self.detach();
        }
        TEAM.unpark();
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
