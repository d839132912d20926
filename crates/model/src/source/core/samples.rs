//! Samples of a modelled core: their counts when complete, and the number of further ones wanted.

use topdown_core_model::Counts;

use super::super::counted::{late_fraction, level1_slots, level2_slots, sample_of};
use super::super::not_modelled::NotModelled;
use super::warmth::{COLD_FRACTION, Warmth};
use super::{Benchmark, Core, ModelDecision};
use topdown_run::code::CodeCounts;
use topdown_run::doubling::{self, FINGERPRINT_SAMPLES};
use topdown_run::event::Events;
use topdown_run::sample::{Flags, Sample};
use topdown_run::steady::{Next, NextSampled, Taken, are_as_long};

impl Core {
    /// Begins a sample.
    pub fn begin_sample(&mut self) {
        self.benchmark.has_gap = false;
        self.sampled.end(&mut self.model);
        self.code.begin_sample(&self.model);
    }

    /// Returns a sample that has all its windows with the counts that are known only then.
    pub fn completed(&mut self, sample: &Sample) -> Sample {
        let benchmark = &mut self.benchmark;
        // The clock decides the number of samples of `iter_custom`, so they must not count.
        let is_timed = matches!(benchmark.fate, ModelDecision::Timed(_));
        if benchmark.is_complete && !is_timed && sample.slots.is_some() {
            return Sample {
                flags: sample.flags | Flags::NOT_COUNTING,
                ..*sample
            };
        }
        if matches!(benchmark.fate, ModelDecision::Modelled) && benchmark.current != Next::Model {
            return self.completed_warm_up(sample);
        }
        let is_first = benchmark.modelled.samples() == 0;
        match benchmark.fate {
            ModelDecision::Sampled(_) => {}
            // It only showed where the windows of the next one lie.
            ModelDecision::Open if sample.flags.intersects(Flags::NOT_COUNTING) => {
                return with_gap(sample);
            }
            // Later samples may be modelled. They lose their slots if this one has none.
            ModelDecision::Timed(NotModelled::TooLongToSample) if is_first => {
                let estimate = self.sampled.end(&mut self.model);
                let counted = estimate.map(|estimate| estimate.mean);
                return with_counts(sample, &counted.unwrap_or_default());
            }
            _ => return *sample,
        }
        let Some(estimate) = self.sampled.end(&mut self.model) else {
            return with_gap(sample);
        };
        if benchmark.has_gap {
            return with_gap(sample);
        }
        self.groups = Some(estimate.groups.map(|group| with_counts(sample, &group)));
        benchmark.fate = ModelDecision::Sampled(Some(estimate.units));
        benchmark.provenance = None;
        self.estimated = estimate.is_even.then(|| CodeCounts {
            instructions: estimate.mean.events.instructions,
            level1_slots: level1_slots(&estimate.mean.slots),
            level2_slots: level2_slots(&estimate.mean.slots),
        });
        with_counts(sample, &estimate.mean)
    }

    /// Keeps the sample.
    pub fn keep_sample(&mut self) {
        let is_usable = !self.benchmark.has_gap;
        self.code.keep_sample(&self.model, is_usable);
        if matches!(self.benchmark.fate, ModelDecision::Sampled(_)) && is_usable {
            self.code.scale_last(self.estimated.take());
        }
        if let (Next::Last { iterations, .. }, true) = (self.benchmark.current, is_usable) {
            let all = doubling::iterations(self.benchmark.modelled.samples());
            self.code.repeat_last(all / iterations);
        }
    }

    /// Returns whether the core has modelled enough of the benchmark.
    pub fn is_complete(&self) -> bool {
        self.benchmark.is_complete
    }

    /// Returns whether it wants a sample of twice as many iterations after this one, which was
    /// kept.
    pub fn wants_more(&mut self, sample: &Sample) -> bool {
        if self.benchmark.is_complete {
            return false;
        }
        let next = self.next_after(sample);
        if next == Next::Nothing {
            self.refuse_initialisation(sample);
        }
        let benchmark = &mut self.benchmark;
        let has_fingerprint = self.budget.ends_with_fingerprint
            && benchmark.modelled.samples() >= FINGERPRINT_SAMPLES;
        benchmark.is_complete = next == Next::Nothing || has_fingerprint;
        benchmark.current = if benchmark.is_complete {
            Next::Model
        } else {
            next
        };
        let iterations = doubling::iterations(benchmark.modelled.samples());
        self.warmed
            .begin_sample(&mut self.model, iterations, benchmark.current);
        !benchmark.is_complete
    }

    /// Counts a sample that had no windows.
    pub fn skip_sample(&mut self) {
        self.skip_and_redecide();
        self.benchmark.begins_late = true;
    }

    /// Counts a sample that shows nothing, so the next one decides.
    fn skip_and_redecide(&mut self) {
        self.benchmark.modelled.skip();
        self.redecide(self.budget.max_warm_instructions());
    }

    /// Leaves only time to a benchmark in which each sample, up to `last`, repeats an
    /// initialisation that would count.
    fn refuse_initialisation(&mut self, last: &Sample) {
        let benchmark = &mut self.benchmark;
        let is_modelled = matches!(
            benchmark.fate,
            ModelDecision::Modelled | ModelDecision::Sampled(_)
        );
        let is_usable = !last.flags.intersects(Flags::UNUSABLE);
        let counts_last = matches!(benchmark.current, Next::Last { .. }) && is_usable;
        if is_modelled && !counts_last && benchmark.modelled.initialises_each_sample() {
            benchmark.fate = ModelDecision::Timed(NotModelled::InitialisesEachSample);
            benchmark.provenance = None;
        }
    }

    /// Returns what to do with the sample after this one, which was kept.
    fn next_after(&mut self, sample: &Sample) -> Next {
        let benchmark = &mut self.benchmark;
        let cost = benchmark.cost_instructions - benchmark.kept_cost_instructions;
        benchmark.kept_cost_instructions = benchmark.cost_instructions;
        let switching_instructions = std::mem::take(&mut benchmark.switching_instructions);
        let next_if = |wants_more: bool| match wants_more {
            true => Next::Model,
            false => Next::Nothing,
        };
        let modelled = &mut benchmark.modelled;
        match benchmark.fate {
            ModelDecision::Timed(NotModelled::Waits | NotModelled::OthersNotTraced(_)) => {
                return Next::Nothing;
            }
            ModelDecision::Sampled(_) => {
                return self.next_when_sampled(sample, switching_instructions);
            }
            ModelDecision::Timed(NotModelled::TooLongToSample) if modelled.samples() == 0 => {
                self.skip_and_redecide();
                return Next::Model;
            }
            _ => {}
        }
        if !self.budget.samples_long {
            return next_if(modelled.wants_more(sample, cost, self.budget.instructions));
        }
        if let Next::Last { is_alike, .. } = benchmark.current {
            let are_unlike = is_alike && sample.flags.intersects(Flags::UNUSABLE);
            if are_unlike {
                modelled.skip();
            }
            return next_if(are_unlike);
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
            switching_instructions,
            is_cold: cold_fraction >= COLD_FRACTION,
            is_divisible: self.warmed.can_divide() && !is_lost,
            is_alike: is_modelled && self.warmed.are_iterations_alike(),
        };
        // This one, and the next.
        let budget_instructions = self.budget_for(self.benchmark.modelled.samples() + 2);
        let benchmark = &mut self.benchmark;
        let next = benchmark.modelled.next_after(&taken, budget_instructions);
        let may_count = next == Next::Nothing || benchmark.modelled.is_probe_next();
        if is_modelled && !sample.flags.intersects(Flags::UNUSABLE) {
            benchmark.warmth = (may_count && taken.is_cold).then(|| Warmth {
                warmed_iterations: None,
                cold_fraction: cold_fraction.min(late_fraction(sample)),
            });
        }
        next
    }

    /// Returns what to do with the sample after this one, which was sampled.
    fn next_when_sampled(&mut self, sample: &Sample, switching_instructions: u64) -> Next {
        let estimated = sample.instructions.filter(|count| *count > 0);
        let instructions = estimated.unwrap_or(self.sampled.instructions());
        let is_cut_off = !self.sampled.has_room(switching_instructions);
        let benchmark = &mut self.benchmark;
        let next = benchmark.modelled.next_when_sampled(
            instructions,
            is_cut_off,
            self.budget.sampling_limits(),
        );
        match next {
            NextSampled::Nothing => Next::Nothing,
            NextSampled::Sample {
                expected_instructions,
                max_instructions,
            } => {
                benchmark.expected_instructions = Some(expected_instructions);
                self.sampled.limit(max_instructions);
                Next::Model
            }
            NextSampled::Decide => {
                self.redecide(u64::MAX);
                Next::Model
            }
        }
    }

    /// Lets the next sample, instead of the first one, decide whether the benchmark is modelled as
    /// a whole, because the samples so far initialised something. If sampled, it may have
    /// `max_instructions`.
    fn redecide(&mut self, max_instructions: u64) {
        self.warmed.begin_benchmark(&mut self.model);
        self.sampled.limit(max_instructions);
        self.groups = None;
        let first_is_cut_off = self.benchmark.first_is_cut_off
            || matches!(self.benchmark.fate, ModelDecision::Timed(_));
        self.benchmark = Benchmark {
            modelled: self.benchmark.modelled,
            decides_again: true,
            begins_late: self.benchmark.begins_late,
            first_is_cut_off,
            ..self.new_benchmark()
        };
    }

    /// Returns a sample that warmed up, at least in part, with the counts of its last iterations
    /// scaled to all.
    fn completed_warm_up(&mut self, sample: &Sample) -> Sample {
        self.benchmark.is_lost = self.benchmark.has_gap;
        let counted = self.warmed.end_sample(sample.windows);
        let counted = counted.filter(|_| !self.benchmark.is_lost);
        let all = doubling::iterations(self.benchmark.modelled.samples());
        match (self.benchmark.current, counted) {
            (
                Next::Last {
                    iterations,
                    is_alike: true,
                    ..
                },
                Some(counted),
            ) => {
                let counts = counted.counts.repeated(all / iterations);
                if are_as_long(self.warmed.instructions(), counts.events.instructions) {
                    return with_counts(sample, &counts);
                }
                self.benchmark.has_gap = true;
                with_gap(sample)
            }
            (Next::Last { iterations, .. }, Some(counted)) => {
                let cycles = counted.counts.cycles as f64;
                let cold_fraction = self.cold_fraction(counted.filled_lines, cycles);
                let counted_sample = sample_of(&counted.counts, Events::default());
                let warmth = Warmth {
                    warmed_iterations: Some((2 * all - 1).saturating_sub(iterations)),
                    cold_fraction: cold_fraction.min(late_fraction(&counted_sample)),
                };
                self.benchmark.warmth = Some(warmth);
                with_counts(sample, &counted.counts.repeated(all / iterations))
            }
            _ => {
                self.benchmark.has_gap = true;
                with_gap(sample)
            }
        }
    }
}

/// Returns a complete sample with its counts.
fn with_counts(sample: &Sample, counts: &Counts) -> Sample {
    Sample {
        windows: sample.windows,
        wall_ns: sample.wall_ns,
        flags: sample.flags,
        ..sample_of(counts, sample.events)
    }
}

/// Returns a complete sample whose counts are unknown.
fn with_gap(sample: &Sample) -> Sample {
    Sample {
        flags: sample.flags | Flags::NOT_COUNTING,
        ..with_counts(sample, &Counts::default())
    }
}
