//! Samples of a modelled core: their counts when complete, and the number of further ones wanted.

use topdown_core_model::Counts;

use super::super::counted::{late_fraction, level1_slots, level2_slots, sample_of};
use super::super::not_modelled::NotModelled;
use super::other_provenance::{COLD_FRACTION, Warmth};
use super::{Core, Fate};
use crate::code::CodeCounts;
use crate::doubling::{self, FINGERPRINT_SAMPLES};
use crate::event::Events;
use crate::sample::{Flags, Sample};
use crate::steady::{Next, Taken};

impl Core {
    /// Begins a sample.
    pub fn begin_sample(&mut self) {
        self.benchmark.has_gap = false;
        self.sampled.end(&mut self.model);
        self.code.begin_sample(&self.model);
    }

    /// Returns a sample that has all its windows with what is only known then.
    pub fn completed(&mut self, sample: &Sample) -> Sample {
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
    pub fn keep_sample(&mut self) {
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
    pub fn has_enough(&self) -> bool {
        self.benchmark.has_enough
    }

    /// Returns whether it wants a sample of twice as many iterations after this one, which was
    /// kept.
    pub fn wants_more_after(&mut self, sample: &Sample) -> bool {
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
        if matches!(benchmark.fate, Fate::Timed(NotModelled::Waits)) {
            return Next::Nothing;
        }
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
}
