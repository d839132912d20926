//! The tracer: attach and detach.

use std::cell::Cell;
use std::marker::PhantomData;

use crate::config::Config;
use crate::consumer::{Consumer, End};
use crate::engine::{self, Engine};
use crate::error::{AttachError, OpenError, TraceError};

/// Traces the thread that created it.
pub struct Tracer<C: Consumer> {
    engine: Engine<C>,
    consumer_lent: Cell<bool>,
    /// Neither `Send` nor `Sync`: the bases of FS and GS and the trace belong to one thread.
    bound_to_thread: PhantomData<*mut C>,
}

impl<C: Consumer> Tracer<C> {
    /// Reserves all memory that tracing will need.
    ///
    /// # Errors
    /// Returns an error if this machine or process cannot be traced.
    pub fn new(config: Config, consumer: C) -> Result<Tracer<C>, OpenError> {
        Ok(Tracer {
            engine: Engine::open(config, consumer)?,
            consumer_lent: Cell::new(false),
            bound_to_thread: PhantomData,
        })
    }

    /// Traces the calling thread from the return of this function on.
    ///
    /// # Errors
    /// Returns an error if this thread is already being traced, if this is a forked copy of a
    /// traced process, or inside [`with_consumer`](Tracer::with_consumer).
    #[inline(always)]
    pub fn attach(&self) -> Result<(), AttachError> {
        if self.consumer_lent.get() {
            return Err(AttachError::ConsumerInUse);
        }
        self.engine.attach(true)
    }

    /// Like [`attach`](Tracer::attach), but traces only the calling thread, whatever the
    /// [`Config`] says.
    ///
    /// # Errors
    /// As [`attach`](Tracer::attach).
    #[inline(always)]
    pub fn attach_own(&self) -> Result<(), AttachError> {
        if self.consumer_lent.get() {
            return Err(AttachError::ConsumerInUse);
        }
        self.engine.attach(false)
    }

    /// Ends the trace. Everything recorded has been handed to the consumer when this returns.
    ///
    /// # Errors
    /// Returns the reason if the stream does not contain everything executed since
    /// [`attach`](Tracer::attach). Even then, the program has run as it would have natively.
    #[inline(always)]
    pub fn detach(&self) -> Result<End, TraceError> {
        self.engine.detach()
    }

    /// Like [`detach`](Tracer::detach), but the other threads stay exactly where they are, also
    /// those that wait, as if there were one trace: for a next one that begins at once. If it does
    /// not, call [`release_threads`].
    ///
    /// # Errors
    /// As [`detach`](Tracer::detach).
    #[inline(always)]
    pub fn halt(&self) -> Result<End, TraceError> {
        self.engine.halt()
    }

    /// Traces `work`, which may panic.
    pub fn trace<T>(&self, work: impl FnOnce() -> T) -> (T, Result<End, TraceError>) {
        if let Err(error) = self.attach() {
            return (work(), Err(error.into()));
        }
        let guard = DetachOnDrop(self);
        let value = work();
        std::mem::forget(guard);
        (value, self.detach())
    }

    /// Returns whether the tracer is between attach and detach, even if the trace has ended early.
    pub fn is_attached(&self) -> bool {
        self.engine.is_attached()
    }

    /// Returns whether more than half of the room for translations is in use.
    pub fn is_half_full(&self) -> bool {
        self.engine.is_half_full()
    }

    /// Forgets all translations, so that there is room for as many again. [`BlockId`]s are given
    /// out from 0 again, so the consumer must forget its tables of blocks.
    ///
    /// Returns `false` and does nothing while attached, inside
    /// [`with_consumer`](Tracer::with_consumer), and once traced code has started a thread, which
    /// may still be leaving translated code.
    ///
    /// [`BlockId`]: crate::BlockId
    pub fn forget_translations(&self) -> bool {
        !self.consumer_lent.get() && self.engine.forget_translations()
    }

    /// Returns whether traced code has started a thread, whose work is in no trace.
    pub fn has_started_threads(&self) -> bool {
        self.engine.has_started_threads()
    }

    /// Returns the consumer.
    ///
    /// # Panics
    /// Panics while attached.
    pub fn consumer_mut(&mut self) -> &mut C {
        assert!(!self.is_attached(), "the consumer is in use until detach");
        // SAFETY: detached, so the engine does not use the consumer; `&mut self` excludes others.
        unsafe { &mut *self.engine.consumer() }
    }

    /// Passes the consumer to `work`, through a shared reference to the tracer. Returns `None`
    /// without calling `work` while attached and inside another call of this function.
    pub fn with_consumer<R>(&self, work: impl FnOnce(&mut C) -> R) -> Option<R> {
        if self.is_attached() || self.consumer_lent.replace(true) {
            return None;
        }
        let _returned = ReturnOnDrop(&self.consumer_lent);
        // SAFETY: detached, and `attach` fails while the consumer is lent, so the engine does not
        // use it; `consumer_lent` was false, so nothing else does.
        Some(work(unsafe { &mut *self.engine.consumer() }))
    }
}

/// Returns for how long [all threads](crate#all-threads) have waited at the same time while they
/// were traced, since the process began.
pub fn idle_ns() -> u64 {
    engine::idle_ns()
}

/// From now on, a thread that waits at a connection to this TCP port waits in its turn: what is at
/// the other end needs no other thread, and how long it takes must not decide how far they get.
pub fn hold_at_port(port: u16) {
    engine::hold_at_port(port);
}

/// Lets threads go on at once that a complete trace of [all threads](crate#all-threads) has left
/// where they were, because code that may need them goes on natively.
pub fn release_threads() {
    engine::release_threads();
}

/// Returns whether several threads take turns now, in a trace of [all threads](crate#all-threads).
pub fn has_companions() -> bool {
    engine::has_companions()
}

struct DetachOnDrop<'a, C: Consumer>(&'a Tracer<C>);

impl<C: Consumer> Drop for DetachOnDrop<'_, C> {
    fn drop(&mut self) {
        // The work panics, so nothing can receive the result of the trace.
        let _ = self.0.detach();
    }
}

struct ReturnOnDrop<'a>(&'a Cell<bool>);

impl Drop for ReturnOnDrop<'_> {
    fn drop(&mut self) {
        self.0.set(false);
    }
}

impl<C: Consumer> std::fmt::Debug for Tracer<C> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tracer")
            .field("attached", &self.is_attached())
            .finish_non_exhaustive()
    }
}
