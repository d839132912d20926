//! The slots of a benchmark by function, source line and instruction.

mod alignment;
mod cause;
mod comparison;
mod edits;
#[cfg(any(test, feature = "examples"))]
pub mod examples;
mod telling;

use std::collections::BTreeMap;

use topdown_gate::statistics::share::share_margin;
use topdown_run::category::PerCategory;
use topdown_run::code_samples::Sampled;
use topdown_run::instruction::InstructionEvents;
use topdown_run::provenance::Provenance;
use topdown_run::run_file::{BenchmarkId, SourceLine};

pub use cause::{CacheLevel, Cause};
pub use comparison::{
    AlignedInstruction, Alignment, ComparedFunction, ComparedLine, ListingComparison,
};
pub use telling::TellingLine;

/// The code of a benchmark with its slots, the function with the most first.
#[derive(Clone, Debug)]
pub struct Listing {
    /// The benchmark.
    pub id: BenchmarkId,
    /// How the slots were found.
    pub provenance: Provenance,
    /// Slots per iteration.
    pub slots: f64,
    /// Numbers of PMU samples, unless the slots are exact.
    pub sampled: Option<Sampled>,
    /// The most slots first.
    pub functions: Vec<ListedFunction>,
    /// Why some lines have no source text, if some have none.
    pub without_text: Option<WithoutText>,
    /// Whether instructions are disassembled: only those of x86.
    pub has_instructions: bool,
    /// Whether lines have the slots of the code that they call. PMU samples have no callers.
    pub has_calls: bool,
    /// The lines of the workspace's files that have slots, if a file is the one that was compiled.
    pub sources: BTreeMap<String, Vec<String>>,
}

/// Why lines have no source text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum WithoutText {
    /// The source file is not there.
    NoFile,
    /// The file has changed: its digest is not that of the debug information, or, if that has none,
    /// the file is newer than the executable.
    Changed,
    /// There is no debug information.
    NoDebugInformation,
}

/// Slots per iteration, and the PMU samples behind them.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ListedSlots {
    /// By category; all in `retiring` if the categories are unknown.
    pub level1: PerCategory<f64>,
    /// The measured part of each.
    pub level2: PerCategory<f64>,
    /// Number of PMU samples; 0 where slots are exact.
    pub hits: u64,
}

impl ListedSlots {
    /// Returns the sum of all categories.
    pub fn total(&self) -> f64 {
        self.level1.into_array().iter().sum()
    }

    /// Adds those of other code.
    pub fn add(&mut self, more: &ListedSlots) {
        self.level1 = self.level1.zip(more.level1).map(|(a, b)| a + b);
        self.level2 = self.level2.zip(more.level2).map(|(a, b)| a + b);
        self.hits = self.hits.saturating_add(more.hits);
    }

    /// Returns by how many slots these exceed `before`.
    #[must_use]
    pub fn since(&self, before: &ListedSlots) -> ListedSlots {
        let difference = |(after, before): (f64, f64)| after - before;
        ListedSlots {
            level1: self.level1.zip(before.level1).map(difference),
            level2: self.level2.zip(before.level2).map(difference),
            hits: 0,
        }
    }

    /// Returns the sum of several.
    pub fn sum<'a>(all: impl IntoIterator<Item = &'a ListedSlots>) -> ListedSlots {
        let mut sum = ListedSlots::default();
        for slots in all {
            sum.add(slots);
        }
        sum
    }
}

/// A function, without the functions it calls.
#[derive(Clone, Debug, PartialEq)]
pub struct ListedFunction {
    /// Demangled; absent for code without a symbol.
    pub name: Option<String>,
    /// Where it was loaded from; `None` for the bench executable itself.
    pub module: Option<String>,
    /// The functions into which it is inlined, the outermost first.
    pub inlined_into: Vec<String>,
    /// Its slots.
    pub slots: ListedSlots,
    /// The line with the most slots first.
    pub lines: Vec<ListedLine>,
}

/// A source line.
#[derive(Clone, Debug, PartialEq)]
pub struct ListedLine {
    /// Its file and number; `None` without debug information.
    pub at: Option<SourceLine>,
    /// Its text, if the file is the one that was compiled.
    pub text: Option<String>,
    /// Its slots.
    pub slots: ListedSlots,
    /// Slots of code outside of the workspace that it calls, which has lines of its own.
    pub called: ListedSlots,
    /// In the order of their addresses.
    pub instructions: Vec<ListedInstruction>,
}

/// An instruction.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ListedInstruction {
    /// Its address in the executable, before relocation.
    pub address: u64,
    /// Its disassembly; empty where there is none.
    pub text: String,
    /// Its form, without registers and addresses.
    pub shape: String,
    /// The innermost function of the standard library that it is from, if any.
    pub inlined: Option<String>,
    /// Whether the next instruction executes with it, and has its slots.
    pub is_fused: bool,
    /// Its slots.
    pub slots: ListedSlots,
    /// Its events per iteration: [`InstructionEvents`] in its order. Absent with counters.
    pub events: Option<EventsPerIteration>,
}

/// Events of an instruction, per iteration of the benchmark.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct EventsPerIteration {
    events: InstructionEvents,
    iterations: u64,
}

impl EventsPerIteration {
    /// The events of so many iterations.
    pub fn new(events: InstructionEvents, iterations: u64) -> EventsPerIteration {
        EventsPerIteration { events, iterations }
    }

    /// Returns one of the counts.
    pub fn of(&self, count: impl Fn(&InstructionEvents) -> u64) -> f64 {
        count(&self.events) as f64 / self.iterations.max(1) as f64
    }
}

impl ListedLine {
    /// Returns the instructions with the most slots first.
    pub fn hottest(&self) -> Vec<&ListedInstruction> {
        let mut hottest: Vec<&ListedInstruction> = self.instructions.iter().collect();
        hottest.sort_by(|a, b| b.slots.total().total_cmp(&a.slots.total()));
        hottest
    }

    /// Returns what its hottest instruction waits for.
    pub fn cause(&self) -> Option<Cause> {
        self.hottest().first().and_then(|one| Cause::of(one))
    }
}

impl Listing {
    /// Returns all lines with their functions, the most slots first.
    pub fn hottest_lines(&self) -> Vec<(&ListedFunction, &ListedLine)> {
        let of = |function: &'_ ListedFunction| function.lines.len();
        let mut lines = Vec::with_capacity(self.functions.iter().map(of).sum());
        for function in &self.functions {
            lines.extend(function.lines.iter().map(|line| (function, line)));
        }
        lines.sort_by(|a, b| b.1.slots.total().total_cmp(&a.1.slots.total()));
        lines
    }

    /// Keeps the functions whose names contain `part`, or one of those into which they are inlined.
    /// Returns whether there are any.
    pub fn keep_functions(&mut self, part: &str) -> bool {
        let has_part = |name: &String| name.contains(part);
        self.functions.retain(|function| {
            function.name.as_ref().is_some_and(has_part)
                || function.inlined_into.iter().any(has_part)
        });
        !self.functions.is_empty()
    }

    /// Returns half of the 95 % interval of a share of the slots that was sampled, as a fraction of
    /// all slots; `None` if the slots are exact.
    pub fn margin(&self, slots: &ListedSlots) -> Option<f64> {
        let sampled = self.sampled?;
        let share = (slots.total() / self.slots.max(f64::MIN_POSITIVE)).clamp(0.0, 1.0);
        Some(share_margin(share, sampled.effective_hits))
    }
}
