//! Keeps the order of threads between the windows of a benchmark.
//!
//! Threads that begin, work or end there decide in which state locks, queues and the allocator are
//! when the next window opens. So they are traced there too, one at a time as in windows, but not
//! counted: otherwise the kernel would decide their order, and launches would differ.

use std::cell::Cell;
use std::rc::Rc;

use topdown_tracer::Tracer;

use super::budget::{ModelBudget, switching_instructions};
use super::observer::Observer;

/// So many instructions are traced in the time in which one is modelled. Judgement: their number
/// depends on the code.
const TRACED_PER_MODELLED: u64 = 10;

thread_local! {
    /// The tracer with such a trace: also another measurement of the thread may end it.
    static OPEN: Cell<Option<Rc<Tracer<Observer>>>> = const { Cell::new(None) };
}

/// Begins a trace, unless it is not wanted. Returns whether it did.
pub(super) fn begin(tracer: &Rc<Tracer<Observer>>) -> bool {
    end();
    if tracer.with_consumer(Observer::begin_between) != Some(true) {
        return false;
    }
    OPEN.set(Some(Rc::clone(tracer)));
    let is_open = tracer.attach().is_ok();
    if !is_open {
        end();
    }
    is_open
}

/// Ends the trace of the thread, if there is one.
pub(super) fn end() {
    end_by(|tracer| tracer.detach().is_ok());
}

/// The same, but other threads stay where they are.
pub(super) fn halt() {
    end_by(|tracer| tracer.halt().is_ok());
}

fn end_by(detach: impl FnOnce(&Tracer<Observer>) -> bool) {
    let Some(tracer) = OPEN.take() else {
        return;
    };
    let has_companions = topdown_tracer::has_companions();
    let is_whole = detach(&tracer);
    tracer.with_consumer(|observer| observer.between.end(is_whole, has_companions));
}

/// State of these traces of a benchmark.
pub(super) struct Between {
    is_open: bool,
    is_wanted: bool,
    /// Whether there were other threads.
    has_others: bool,
    /// Number of instructions that may still be traced.
    instructions_left: u64,
}

impl Between {
    pub(super) fn new() -> Between {
        Between {
            is_open: false,
            is_wanted: false,
            has_others: false,
            instructions_left: 0,
        }
    }

    pub(super) fn begin_benchmark(&mut self, budget: &ModelBudget) {
        *self = Between {
            is_wanted: true,
            instructions_left: budget.instructions.saturating_mul(TRACED_PER_MODELLED),
            ..Between::new()
        };
    }

    /// Begins one. Returns whether it is wanted.
    pub(super) fn begin(&mut self) -> bool {
        self.is_open = self.is_wanted && self.instructions_left > 0;
        self.is_open
    }

    /// If the tracer cannot follow, it does not try again.
    fn end(&mut self, is_whole: bool, has_companions: bool) {
        self.has_others |= has_companions;
        self.is_open = false;
        self.is_wanted &= is_whole;
    }

    /// A window begins. A benchmark that has no other thread before its first one is not traced
    /// between windows.
    pub(super) fn begin_window(&mut self) {
        self.is_wanted &= self.has_others;
    }

    /// Returns whether what is executed is not counted.
    #[inline]
    pub(super) fn is_open(&self) -> bool {
        self.is_open
    }

    /// Goes on after so many instructions.
    #[inline]
    pub(super) fn advance(&mut self, instructions: u64) {
        self.instructions_left = self.instructions_left.saturating_sub(instructions);
    }

    pub(super) fn switch_to(&mut self, thread: usize) {
        if self.is_open {
            self.has_others |= thread != 0;
            self.advance(TRACED_PER_MODELLED * switching_instructions(1));
        }
    }

    /// Returns whether the trace is wanted any longer.
    pub(super) fn keep_tracing(&self) -> bool {
        self.instructions_left > 0
    }
}
