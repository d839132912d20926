//! Allocator calls and bytes of the traced code.
//!
//! A call counts once, where it enters the [allocator](super::allocator).

use topdown_tracer::iced_x86::Mnemonic;
use topdown_tracer::{Arguments, Block, MAX_THREADS};

use super::allocator::{Allocator, Operation};
use topdown_run::environment;
use topdown_run::event::{Event, Events};

/// Receives the same blocks as the model, and allocates nothing.
pub(super) struct Allocations {
    allocator: Option<Allocator>,
    window: Counts,
    /// Where the return address of the open call of the executing thread lies.
    open: Option<u64>,
    /// Whether the open call allocates and has not reached the allocator of another library.
    is_unserved: bool,
    /// Both for the threads that do not execute.
    others: [(Option<u64>, bool); MAX_THREADS],
    thread: usize,
    /// Whether the program's own allocator served a call by itself. Where a compiler inlined it,
    /// its calls are not seen.
    has_served_itself: bool,
}

#[derive(Clone, Copy, Default)]
struct Counts {
    allocations: u64,
    allocated_bytes: u64,
    reallocations: u64,
    reallocated_bytes: u64,
    frees: u64,
    freed_bytes: u64,
    /// Frees that do not say how many bytes they give back.
    frees_without_bytes: u64,
}

impl Allocations {
    /// Finds the allocator of this program, unless [`environment::ALLOCATIONS`] turns counting off.
    pub(super) fn from_environment() -> Allocations {
        let is_wanted = std::env::var_os(environment::ALLOCATIONS).is_none_or(|word| word != "0");
        Allocations {
            allocator: is_wanted.then(Allocator::for_this_program).flatten(),
            window: Counts::default(),
            open: None,
            is_unserved: false,
            others: [(None, false); MAX_THREADS],
            thread: 0,
            has_served_itself: false,
        }
    }

    /// Returns whether `ip` is an entry point, whose arguments must be recorded.
    pub(super) fn is_entry(&self, ip: u64) -> bool {
        let mut allocator = self.allocator.iter();
        allocator.any(|allocator| allocator.operation_at(ip).is_some())
    }

    /// Forgets what was counted so far.
    pub(super) fn begin_window(&mut self) {
        self.window = Counts::default();
        self.open = None;
        self.others.fill((None, false));
    }

    /// The next blocks are executed by this thread.
    pub(super) fn switch_to(&mut self, thread: usize) {
        self.others[self.thread] = (self.open, self.is_unserved);
        self.thread = thread;
        (self.open, self.is_unserved) = self.others[thread];
    }

    #[inline]
    pub(super) fn block(&mut self, block: &Block<'_>, recorded: &[u64]) {
        if block.records_arguments {
            self.enter(block, recorded);
        }
        if self.open.is_some() {
            self.step(block, recorded);
        }
    }

    /// Ends the open call if it returned to its caller, or beyond.
    #[inline(never)]
    fn step(&mut self, block: &Block<'_>, recorded: &[u64]) {
        let last = block.last();
        if last.decoded.mnemonic() != Mnemonic::Ret {
            return;
        }
        let mut accesses = block.accesses_of(last).iter();
        let returns_from = accesses.find_map(|access| access.address.first(recorded));
        if returns_from >= self.open {
            self.open = None;
            self.has_served_itself |= self.is_unserved;
        }
    }

    #[inline(never)]
    fn enter(&mut self, block: &Block<'_>, recorded: &[u64]) {
        let allocator = self.allocator.as_ref();
        let entry = allocator.and_then(|allocator| allocator.operation_at(block.start_ip()));
        let (Some(entry), Some(arguments)) = (entry, block.arguments(recorded)) else {
            return;
        };
        if self.open.is_some() {
            self.is_unserved &= entry.is_of_rust;
            return;
        }
        self.open = Some(arguments.stack);
        self.is_unserved = entry.is_of_rust && !matches!(entry.operation, Operation::Free { .. });
        self.window.add(entry.operation, &arguments);
    }

    /// Returns the counts of the window, empty if the allocator is unknown.
    pub(super) fn events(&self) -> Events<u64> {
        if self.allocator.is_none() || self.has_served_itself {
            return Events::NONE;
        }
        let window = &self.window;
        let events = Events::NONE
            .with(Event::Allocations, window.allocations)
            .with(Event::AllocatedBytes, window.allocated_bytes)
            .with(Event::Reallocations, window.reallocations)
            .with(Event::ReallocatedBytes, window.reallocated_bytes)
            .with(Event::Frees, window.frees);
        match window.frees_without_bytes {
            0 => events.with(Event::FreedBytes, window.freed_bytes),
            _ => events,
        }
    }
}

impl Counts {
    fn add(&mut self, operation: Operation, arguments: &Arguments) {
        let pointer = arguments.integers[0];
        match operation {
            Operation::Allocate { bytes } => self.allocate(bytes.of(arguments)),
            // C's `realloc` of nothing allocates.
            Operation::Reallocate { bytes } if pointer == 0 => self.allocate(bytes.of(arguments)),
            Operation::Reallocate { bytes } => {
                self.reallocations += 1;
                self.reallocated_bytes += bytes.of(arguments);
            }
            // C's `free` of nothing does nothing.
            Operation::Free { .. } if pointer == 0 => {}
            Operation::Free { bytes } => {
                self.frees += 1;
                match bytes {
                    Some(bytes) => self.freed_bytes += bytes.of(arguments),
                    None => self.frees_without_bytes += 1,
                }
            }
        }
    }

    fn allocate(&mut self, bytes: u64) {
        self.allocations += 1;
        self.allocated_bytes += bytes;
    }
}
