//! One modelled core: what it makes of windows, of their samples, and of the benchmark.

use topdown_core_model::{Capacity, Counts, GROUPS, cores};
use topdown_tracer::{Block, Consumer, End, Mapping, TraceError};

use super::budget::{Budget, cost_instructions};
use super::code::CodeAccount;
use super::counted::{late_fraction, level1_slots, level2_slots, sample_of};
use super::executed::Executed;
use super::not_modelled::NotModelled;
use super::sampled::Sampled;
use super::warmed::Warmed;
use crate::code::{CodeCounts, CodeSlots};
use crate::doubling::{self, FINGERPRINT_SAMPLES};
use crate::event::Events;
use crate::provenance::Provenance;
use crate::sample::{Flags, Sample};
use crate::steady::{Modelled, Next, Taken};

/// A benchmark is cold if memory that it touches for the first time may cost more than this
/// fraction of its cycles: as if nothing else were done while a line comes.
const COLD_FRACTION: f64 = 0.01;

const LINE_BYTES: u64 = 64;

/// A modelled core. Between two windows of a benchmark it allocates nothing.
pub(super) struct Core {
    /// Its index in [`cores::ALL`].
    pub number: usize,
    pub model: topdown_core_model::Model,
    pub code: CodeAccount,
    pub sampled: Sampled,
    warmed: Warmed,
    pub budget: Budget,
    pub benchmark: Benchmark,
    /// How much of the open window it looks at.
    looks_at: Part,
    /// The model's counts when the open window began.
    window_began: Counts,
    /// What the open window may cost.
    room_instructions: u64,
    /// What the groups of units say about the last sample that was sampled.
    pub groups: Option<[Sample; GROUPS]>,
    /// What the units say about it, if they are evenly spread.
    estimated: Option<CodeCounts>,
}

/// A part of a window.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    None,
    /// The rest was more than the core wanted.
    Beginning,
    All,
}

/// What is known about the current benchmark.
#[derive(Clone, Copy, Default)]
pub(super) struct Benchmark {
    /// What its windows have cost.
    pub cost_instructions: u64,
    /// What they had cost when the last sample was kept.
    kept_cost_instructions: u64,
    pub fate: Fate,
    modelled: Modelled,
    /// Whether modelling is complete.
    has_enough: bool,
    /// Whether some window of the current sample was not looked at to its end.
    has_gap: bool,
    /// How many instructions the next sample will have, if it is sampled.
    expected_instructions: Option<u64>,
    /// What is done with the current sample.
    current: Next,
    /// Whether a sample that warmed up was not looked at to its end.
    is_lost: bool,
    /// The cycles of the last sample that was modelled, and its iterations.
    cycles: (u64, u64),
    /// How many lines the model had brought from memory when the benchmark began, and when the
    /// last sample was kept.
    filled_lines: (u64, u64),
    /// How warm what counts is, once that is known and worth a word.
    warmth: Option<Warmth>,
    /// What its provenance says, if it is not that of a benchmark modelled as a whole. Known once
    /// somebody asks.
    provenance: Option<&'static Provenance>,
}

/// How warm what counts is.
#[derive(Clone, Copy)]
struct Warmth {
    /// How many iterations came before, if most of them were not executed in detail.
    warmed_iterations: Option<u64>,
    /// Which fraction of the cycles may have waited for memory that was touched for the first time.
    cold_fraction: f64,
}

/// Whether a benchmark is modelled: its first window decides.
#[derive(Clone, Copy, Default)]
pub(super) enum Fate {
    #[default]
    Open,
    Modelled,
    /// Its samples are estimated from so many units, once that is known.
    Sampled(Option<u64>),
    /// It has only time.
    Timed(NotModelled),
}

impl Core {
    /// Reserves all memory for the core with this index in [`cores::ALL`].
    pub(super) fn new(
        number: usize,
        capacity: Capacity,
        budget: Budget,
        follows_calls: bool,
    ) -> Core {
        let core = cores::ALL[number];
        let model = topdown_core_model::Model::with_mappings(core, capacity, Mapping::at);
        let model = match follows_calls {
            true => model.following_calls(),
            false => model,
        };
        Core {
            number,
            code: CodeAccount::new(model.most_rows()),
            model,
            sampled: Sampled::new(budget.instructions),
            warmed: Warmed::new(capacity.blocks),
            budget,
            benchmark: Benchmark::default(),
            looks_at: Part::None,
            window_began: Counts::default(),
            room_instructions: 0,
            groups: None,
            estimated: None,
        }
    }

    /// Begins a window. Returns whether the core wants its trace.
    pub(super) fn begin_window(&mut self) -> bool {
        let room = self.room();
        if room == 0 {
            self.looks_at = Part::None;
            return false;
        }
        self.looks_at = Part::All;
        self.model.begin_window();
        self.window_began = self.model.counts();
        self.room_instructions = room;
        let is_first = matches!(self.benchmark.fate, Fate::Open);
        self.sampled.allow(is_first && self.budget.samples_long);
        if matches!(self.benchmark.fate, Fate::Sampled(_)) {
            let expected = self.benchmark.expected_instructions;
            self.sampled.go_on(&mut self.model, expected);
        }
        true
    }

    /// Returns how many instructions of the budget the new window may cost.
    fn room(&self) -> u64 {
        let spent = self.benchmark.cost_instructions;
        match self.benchmark.fate {
            Fate::Timed(_) => 0,
            _ if self.benchmark.has_enough => 0,
            Fate::Open => self.budget.largest_window(),
            Fate::Modelled if self.benchmark.current != Next::Model => u64::MAX,
            Fate::Modelled => self.budget.instructions.saturating_sub(spent),
            Fate::Sampled(_) => u64::MAX,
        }
    }

    /// Looks at a block of the open window. Returns whether it is modelled as part of the whole,
    /// not sampled.
    #[inline]
    pub(super) fn block(&mut self, block: &Block<'_>, addresses: &[u64]) -> bool {
        if self.looks_at != Part::All {
            return false;
        }
        self.model.block(block, addresses);
        if self.sampled.advance(&mut self.model, block) {
            return false;
        }
        self.warmed.advance(&mut self.model, block);
        if self.sampled.is_due() && self.is_too_costly() {
            self.sampled.begin_after(&mut self.model, self.window_began);
        }
        true
    }

    /// Returns whether the core wants more of the open window. Otherwise it has seen its last block
    /// of it.
    pub(super) fn keeps_looking(&mut self) -> bool {
        if self.looks_at == Part::All {
            let has_room = if self.sampled.is_sampling() {
                self.sampled.has_room()
            } else if self.warmed.is_functional() {
                self.warmed.has_room()
            } else {
                self.sampled.is_allowed() || !self.is_too_costly()
            };
            if !self.model.keep_tracing() || !has_room {
                self.looks_at = Part::Beginning;
            }
        }
        self.looks_at == Part::All
    }

    /// Returns whether the open window costs more than it may.
    fn is_too_costly(&self) -> bool {
        cost_instructions(&self.counts()) >= self.room_instructions
    }

    /// Returns what the open window has counted.
    fn counts(&self) -> Counts {
        self.model.counts() - self.window_began
    }

    /// Discards the open window and its benchmark.
    pub(super) fn abandon_window(&mut self) {
        self.looks_at = Part::None;
        self.warmed.begin_benchmark(&mut self.model);
        self.benchmark = self.new_benchmark();
    }

    /// Ends a window, whose trace ended in this way, if there was one, with these calls of the
    /// allocator.
    pub(super) fn end_window(
        &mut self,
        end: Option<Result<End, TraceError>>,
        allocations: Events<u64>,
    ) -> Sample {
        let end = match std::mem::replace(&mut self.looks_at, Part::None) {
            Part::None => None,
            Part::Beginning => Some(Ok(End::Consumer)),
            Part::All => end,
        };
        let is_whole = end == Some(Ok(End::Detach));
        self.model.drain();
        let counts = self.counts();
        let why_not = self.why_not(end, &counts);
        let benchmark = &mut self.benchmark;
        match benchmark.fate {
            Fate::Timed(_) => Sample::EMPTY,
            _ if is_whole && self.sampled.is_sampling() => {
                if !matches!(benchmark.fate, Fate::Sampled(_)) {
                    benchmark.fate = Fate::Sampled(None);
                }
                // The rest is known when the sample is complete.
                Sample {
                    events: allocations,
                    ..Sample::EMPTY
                }
            }
            Fate::Modelled if is_whole && benchmark.current != Next::Model => {
                // The rest is known when the sample is complete.
                Sample {
                    events: allocations,
                    ..Sample::EMPTY
                }
            }
            _ if is_whole => {
                benchmark.cost_instructions += cost_instructions(&counts);
                benchmark.fate = Fate::Modelled;
                sample_of(&counts, allocations)
            }
            Fate::Open => {
                // Its first instructions alone do not identify it.
                benchmark.has_gap = true;
                benchmark.fate = Fate::Timed(why_not);
                Sample::EMPTY
            }
            Fate::Modelled | Fate::Sampled(_) => {
                benchmark.has_gap = true;
                Sample {
                    flags: Flags::NOT_COUNTING,
                    ..sample_of(&Counts::default(), allocations)
                }
            }
        }
    }

    /// Returns why a benchmark is not modelled whose first window ended in this way and counted
    /// this much.
    fn why_not(&self, end: Option<Result<End, TraceError>>, counts: &Counts) -> NotModelled {
        match end {
            Some(Err(TraceError::Capacity { .. })) => NotModelled::TooMuchCode,
            Some(Ok(_)) if self.model.is_full() => NotModelled::TooMuchCode,
            Some(Err(error)) => NotModelled::Trace(error),
            Some(Ok(_)) if self.budget.ends_with_fingerprint => NotModelled::TooLongForFingerprint,
            Some(Ok(_)) if self.sampled.is_sampling() => NotModelled::TooLongToSample,
            Some(Ok(_)) if counts.events.instructions < self.budget.largest_window() => {
                NotModelled::TooCostly
            }
            Some(Ok(_)) => NotModelled::TooLong,
            None => NotModelled::NotTraced,
        }
    }

    /// Begins a sample.
    pub(super) fn begin_sample(&mut self) {
        self.benchmark.has_gap = false;
        self.sampled.end(&mut self.model);
        self.code.begin_sample(&self.model);
    }

    /// Returns a sample that has all its windows with what is only known then.
    pub(super) fn completed(&mut self, sample: &Sample) -> Sample {
        let benchmark = &mut self.benchmark;
        // How many more samples criterion takes depends on the clock, so those of an `iter_custom`
        // benchmark must not count.
        let is_timed = matches!(benchmark.fate, Fate::Timed(_));
        if benchmark.has_enough && !is_timed && sample.slots.is_some() {
            return Sample {
                flags: sample.flags | Flags::NOT_COUNTING,
                ..*sample
            };
        }
        if matches!(benchmark.fate, Fate::Modelled) && benchmark.current != Next::Model {
            return self.completed_warm_up(sample);
        }
        if !matches!(benchmark.fate, Fate::Sampled(_)) {
            return *sample;
        }
        let Some(estimate) = self.sampled.end(&mut self.model) else {
            return *sample;
        };
        let of = |counts: &Counts| Sample {
            windows: sample.windows,
            wall_ns: sample.wall_ns,
            flags: sample.flags,
            ..sample_of(counts, sample.events)
        };
        if benchmark.has_gap {
            return of(&Counts::default());
        }
        self.groups = Some(estimate.groups.map(|group| of(&group)));
        benchmark.expected_instructions = Some(2 * estimate.mean.events.instructions);
        benchmark.fate = Fate::Sampled(Some(estimate.units));
        benchmark.provenance = None;
        self.estimated = estimate.is_even.then(|| CodeCounts {
            instructions: estimate.mean.events.instructions,
            level1_slots: level1_slots(&estimate.mean.slots),
            level2_slots: level2_slots(&estimate.mean.slots),
        });
        of(&estimate.mean)
    }

    /// Keeps the sample.
    pub(super) fn keep_sample(&mut self) {
        let is_usable = !self.benchmark.has_gap;
        self.code.keep_sample(&self.model, is_usable);
        if matches!(self.benchmark.fate, Fate::Sampled(_)) && is_usable {
            self.code.scale_last(self.estimated.take());
        }
        if let (Next::Last { iterations, .. }, true) = (self.benchmark.current, is_usable) {
            let all = doubling::iterations(self.benchmark.modelled.samples());
            self.code.repeat_last(all / iterations);
        }
    }

    /// Returns whether the core has modelled enough of the benchmark.
    pub(super) fn has_enough(&self) -> bool {
        self.benchmark.has_enough
    }

    /// Returns whether it wants a sample of twice as many iterations after this one, which was
    /// kept.
    pub(super) fn wants_more_after(&mut self, sample: &Sample) -> bool {
        if self.benchmark.has_enough {
            return false;
        }
        let next = self.next_after(sample);
        let benchmark = &mut self.benchmark;
        let has_fingerprint = self.budget.ends_with_fingerprint
            && benchmark.modelled.samples() >= FINGERPRINT_SAMPLES;
        benchmark.has_enough = next == Next::Nothing || has_fingerprint;
        benchmark.current = if benchmark.has_enough {
            Next::Model
        } else {
            next
        };
        let iterations = doubling::iterations(benchmark.modelled.samples());
        self.warmed
            .begin_sample(&mut self.model, iterations, benchmark.current);
        !benchmark.has_enough
    }

    /// Returns what to do with the sample after this one, which was kept.
    fn next_after(&mut self, sample: &Sample) -> Next {
        let benchmark = &mut self.benchmark;
        let cost = benchmark.cost_instructions - benchmark.kept_cost_instructions;
        benchmark.kept_cost_instructions = benchmark.cost_instructions;
        let next_if = |wants_more: bool| match wants_more {
            true => Next::Model,
            false => Next::Nothing,
        };
        let modelled = &mut benchmark.modelled;
        if matches!(benchmark.fate, Fate::Sampled(_)) {
            let most = self.budget.most_warm_instructions();
            return next_if(modelled.wants_more_when_sampled(sample, most));
        }
        if !self.budget.samples_long {
            return next_if(modelled.wants_more_after(sample, cost, self.budget.instructions));
        }
        if matches!(benchmark.current, Next::Last { .. }) {
            return Next::Nothing;
        }
        let iterations = doubling::iterations(modelled.samples());
        let is_modelled = benchmark.current == Next::Model;
        if is_modelled {
            benchmark.cycles = (sample.cycles.unwrap_or(0), iterations);
            self.warmed.learn(iterations, sample.windows);
        }
        let filled_lines = self.model.filled_lines();
        let lines = filled_lines - benchmark.filled_lines.1;
        benchmark.filled_lines.1 = filled_lines;
        let (cycles, of_iterations) = benchmark.cycles;
        let cycles = cycles as f64 * (iterations as f64 / of_iterations.max(1) as f64);
        let is_lost = benchmark.is_lost;
        let cold_fraction = self.cold_fraction(lines, cycles);
        let taken = Taken {
            sample,
            instructions: if is_modelled {
                sample.instructions.unwrap_or(0)
            } else {
                self.warmed.instructions()
            },
            cost_instructions: cost,
            is_cold: cold_fraction >= COLD_FRACTION,
            is_divisible: self.warmed.can_divide() && !is_lost,
        };
        let benchmark = &mut self.benchmark;
        let next = benchmark
            .modelled
            .next_after(&taken, self.budget.instructions);
        if next == Next::Nothing && is_modelled && taken.is_cold {
            benchmark.warmth = Some(Warmth {
                warmed_iterations: None,
                cold_fraction: cold_fraction.min(late_fraction(sample)),
            });
        }
        next
    }

    /// Returns which fraction of `cycles` waited at most for these lines, the last that were
    /// brought from memory, if the model brought them for the first time. It is 0 once as many were
    /// brought as the L3 holds: what is brought then did not fit.
    fn cold_fraction(&self, lines: u64, cycles: f64) -> f64 {
        let in_all = self.model.filled_lines() - self.benchmark.filled_lines.0;
        let memory = &cores::ALL[self.number].memory;
        if in_all >= u64::from(memory.l3.bytes) / LINE_BYTES || cycles <= 0.0 {
            return 0.0;
        }
        let fraction = (lines * u64::from(memory.memory_cycles)) as f64 / cycles;
        fraction.min(1.0)
    }

    /// Returns a sample that warmed up, at least in part, with what its last iterations say about
    /// all of them.
    fn completed_warm_up(&mut self, sample: &Sample) -> Sample {
        self.benchmark.is_lost = self.benchmark.has_gap;
        let counted = self.warmed.end_sample();
        let counted = counted.filter(|_| !self.benchmark.is_lost);
        let all = doubling::iterations(self.benchmark.modelled.samples());
        let (counts, flags) = match (self.benchmark.current, counted) {
            (Next::Last { iterations, .. }, Some(counted)) => {
                let cycles = counted.counts.cycles as f64;
                let cold_fraction = self.cold_fraction(counted.filled_lines, cycles);
                let counted_sample = sample_of(&counted.counts, Events::default());
                let warmth = Warmth {
                    warmed_iterations: Some((2 * all - 1).saturating_sub(iterations)),
                    cold_fraction: cold_fraction.min(late_fraction(&counted_sample)),
                };
                self.benchmark.warmth = Some(warmth);
                (counted.counts.repeated(all / iterations), Flags::NONE)
            }
            _ => {
                self.benchmark.has_gap = true;
                (Counts::default(), Flags::NOT_COUNTING)
            }
        };
        Sample {
            windows: sample.windows,
            wall_ns: sample.wall_ns,
            flags: sample.flags | flags,
            ..sample_of(&counts, sample.events)
        }
    }

    /// Ends the benchmark and returns where in the code its slots went, if that is known.
    pub(super) fn take_code(
        &mut self,
        executed: &mut Executed,
        works_alone: bool,
    ) -> Option<CodeSlots> {
        let mut code = self.code.take(&self.model, executed)?;
        if !works_alone {
            // What other threads executed is unknown.
            code.first_samples.clear();
        }
        Some(code)
    }

    /// Begins a benchmark.
    pub(super) fn begin_benchmark(&mut self) {
        self.warmed.begin_benchmark(&mut self.model);
        self.benchmark = self.new_benchmark();
        self.groups = None;
        self.estimated = None;
    }

    fn new_benchmark(&self) -> Benchmark {
        let filled_lines = self.model.filled_lines();
        Benchmark {
            filled_lines: (filled_lines, filled_lines),
            ..Benchmark::default()
        }
    }

    /// Returns the provenance of the benchmark, if it is not `modelled`, that of one which is
    /// modelled as a whole. Leaked, once per such benchmark, because a source returns a reference.
    pub(super) fn other_provenance(
        &mut self,
        modelled: &Provenance,
    ) -> Option<&'static Provenance> {
        let provenance = match self.benchmark.fate {
            Fate::Open | Fate::Sampled(None) => return None,
            Fate::Modelled if self.benchmark.warmth.is_none() => return None,
            _ if self.benchmark.provenance.is_some() => return self.benchmark.provenance,
            Fate::Modelled => {
                let warmth = self.benchmark.warmth?;
                let is_cold = warmth.cold_fraction >= COLD_FRACTION;
                Provenance {
                    warmed_iterations: warmth.warmed_iterations,
                    cold_fraction: is_cold.then_some(warmth.cold_fraction),
                    ..modelled.clone()
                }
            }
            Fate::Sampled(Some(units)) => Provenance {
                // Without the number: benchmarks with the same reason share a line above the table.
                reason: format!("{}, iterations sampled", modelled.reason),
                sampled_units: Some(units),
                ..modelled.clone()
            },
            Fate::Timed(why) => Provenance::of_clock(why.reason(&self.budget)),
        };
        self.benchmark.provenance = Some(Box::leak(Box::new(provenance)));
        self.benchmark.provenance
    }
}
