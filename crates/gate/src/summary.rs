//! Summarizes the launches of one benchmark for people: means, shares and spread.
//!
//! This is only the arithmetic of tables. The gate has its own, in `statistics`, and judges launch
//! values.

use topdown_run::category::PerCategory;
use topdown_run::event::{Event, Events};
use topdown_run::provenance::SourceKind;
use topdown_run::run_file::{Benchmark, SlotsValue};

/// One benchmark of a run over all its launches.
#[derive(Clone, Debug, PartialEq)]
pub struct Summary {
    /// Launches with a time, and with slots unless these are modelled.
    pub launches: usize,
    /// Launches on the model, if its slots come from them.
    pub modelled_launches: Option<usize>,
    /// Wall-clock nanoseconds per iteration.
    pub wall_ns: Spread,
    /// Slots per iteration; `None` if any launch has none.
    pub slots: Option<Spread>,
    /// Where the slots went; `None` if any launch does not know.
    pub shares: Option<Shares>,
    /// Instructions per cycle.
    pub instructions_per_cycle: Option<f64>,
    /// Cycles per nanosecond of wall-clock time.
    pub cycles_per_ns: Option<f64>,
    /// Instructions per iteration.
    pub instructions: Option<f64>,
    /// Other counts per iteration, without events that any launch lacks.
    pub events: Events<f64>,
    /// Samples that were measured but not used, over all launches.
    pub samples_dropped: u64,
    /// Samples that were used, over all launches.
    pub samples_used: u64,
    /// The coarsest launch's resolution, as a fraction of its slots.
    pub resolution_fraction: f64,
    /// The largest cost of windows in any launch, as a fraction of its slots.
    pub window_fraction: f64,
}

/// A mean over launches, and their spread.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// The arithmetic mean.
    pub mean: f64,
    /// The sample standard deviation as a fraction of the mean; `None` for a single launch.
    pub relative_sd: Option<f64>,
}

/// Categories as fractions of all slots: mean slots of the category over mean slots. Signed, like
/// the samples.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shares {
    /// The categories.
    pub level1: PerCategory<f64>,
    /// The measured part of each.
    pub level2: Option<PerCategory<f64>>,
    /// Slots of the other hardware thread, on CPUs that count them.
    pub smt_contention: Option<f64>,
}

impl Shares {
    /// Returns the shares of the categories, then that of SMT contention if it is known.
    pub fn all(&self) -> Vec<f64> {
        let categories = self.level1.into_array().into_iter();
        categories.chain(self.smt_contention).collect()
    }
}

impl Summary {
    /// Returns `None` for a benchmark without launches.
    pub fn new(benchmark: &Benchmark) -> Option<Summary> {
        let launches = benchmark.slots_launches();
        let mean_of = |quantity: &dyn Fn(&SlotsValue) -> Option<f64>| {
            let sum: Option<f64> = launches.iter().map(quantity).sum();
            sum.map(|sum| sum / launches.len() as f64)
                .filter(|_| !launches.is_empty())
        };
        let slots = (!launches.is_empty()).then(|| Spread::new(launches.iter().map(|v| v.slots)));
        let times = &benchmark.times.launches;
        if times.is_empty() {
            return None;
        }
        let wall_ns = Spread::new(times.iter().map(|time| time.wall_ns));
        let is_modelled = benchmark.provenance().source == SourceKind::Model;
        let add = |sums: (u64, u64), samples: (u32, u32)| {
            let (used, dropped) = (u64::from(samples.0), u64::from(samples.1));
            (sums.0 + used, sums.1 + dropped)
        };
        let (samples_used, samples_dropped) = match benchmark.slots {
            Some(_) => {
                let samples = launches.iter().map(|v| (v.samples_used, v.samples_dropped));
                samples.fold((0, 0), add)
            }
            None => {
                let samples = times.iter().map(|v| (v.samples_used, v.samples_dropped));
                samples.fold((0, 0), add)
            }
        };
        let instructions = mean_of(&|v| v.instructions);
        let cycles = mean_of(&|v| v.cycles);
        Some(Summary {
            launches: benchmark.times.launches.len(),
            modelled_launches: is_modelled.then_some(launches.len()),
            wall_ns,
            slots,
            shares: slots
                .filter(|slots| slots.mean > 0.0)
                .and_then(|slots| shares(launches, slots.mean)),
            instructions_per_cycle: instructions
                .zip(cycles)
                .map(|(instructions, cycles)| instructions / cycles)
                .filter(|ratio| ratio.is_finite()),
            cycles_per_ns: cycles
                .map(|cycles| cycles / wall_ns.mean)
                .filter(|ratio| ratio.is_finite()),
            instructions,
            events: Event::ALL
                .into_iter()
                .filter_map(|event| Some((event, mean_of(&|v| v.events.get(event))?)))
                .collect(),
            samples_dropped,
            samples_used,
            resolution_fraction: launches
                .iter()
                .fold(0.0, |coarsest, v| v.resolution_fraction.max(coarsest)),
            window_fraction: launches
                .iter()
                .filter_map(|v| v.window_fraction)
                .fold(0.0, f64::max),
        })
    }
}

/// A thread with fewer cycles hardly executes: no CPU of the tables runs below 0.4 GHz, and even
/// there such a thread ran for less than a quarter of the time.
const MIN_CYCLES_PER_NS: f64 = 0.1;

/// An empty `b.iter(|| ())` counts down and jumps back, in two instructions. A third one stores a
/// constant as the result. Work adds at least a load, or is in fewer if criterion's loop over a
/// batch is unrolled or vectorized.
const MAX_INSTRUCTIONS_WITHOUT_WORK: f64 = 3.5;

/// A few instructions that take more cycles are work, such as an atomic addition or a fence.
const MAX_CYCLES_WITHOUT_WORK: f64 = 4.0;

impl Summary {
    /// Returns whether an iteration executes no more than an empty loop, so that the compiler seems
    /// to have removed the work. Instructions and cycles must be known.
    pub fn seems_removed(&self) -> bool {
        let cycles = self.instructions.zip(self.instructions_per_cycle);
        let cycles = cycles.map(|(instructions, per_cycle)| instructions / per_cycle);
        self.instructions
            .is_some_and(|count| count <= MAX_INSTRUCTIONS_WITHOUT_WORK)
            && cycles.is_some_and(|cycles| cycles <= MAX_CYCLES_WITHOUT_WORK)
            && !self.mostly_waits()
    }

    /// Returns whether the measured thread hardly executes, so that its slots are not about the
    /// work: it waits for the kernel or for other threads.
    pub fn mostly_waits(&self) -> bool {
        self.cycles_per_ns
            .is_some_and(|cycles| cycles < MIN_CYCLES_PER_NS)
    }

    /// Returns the fraction (0 to 1) of the executed instructions whose form the model knows;
    /// `None` without a model.
    pub fn coverage_fraction(&self) -> Option<f64> {
        let unknown = self.events.get(Event::UnknownInstructions)?;
        let instructions = self.instructions.filter(|count| *count > 0.0)?;
        Some(1.0 - unknown / instructions)
    }
}

impl Spread {
    fn new(values: impl ExactSizeIterator<Item = f64> + Clone) -> Spread {
        let count = values.len();
        let mean = values.clone().sum::<f64>() / count as f64;
        let squares: f64 = values.map(|value| (value - mean).powi(2)).sum();
        let sd = (squares / (count as f64 - 1.0)).sqrt();
        Spread {
            mean,
            relative_sd: (count > 1 && mean > 0.0).then(|| sd / mean),
        }
    }
}

fn shares(launches: &[SlotsValue], mean_slots: f64) -> Option<Shares> {
    let total_slots = mean_slots * launches.len() as f64;
    let share = |quantity: &dyn Fn(&SlotsValue) -> Option<f64>| -> Option<f64> {
        let sum: Option<f64> = launches.iter().map(quantity).sum();
        sum.map(|slots| slots / total_slots)
    };
    Some(Shares {
        level1: PerCategory::from_known(|c| share(&|v| Some(v.level1?.slots[c])))?,
        level2: PerCategory::from_known(|c| share(&|v| Some(v.level2?[c]))),
        smt_contention: share(&|v| v.level1?.smt_contention_slots),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::{Launch, with_launches};
    use topdown_run::provenance::SourceKind;
    use topdown_run::sample::Level1;

    fn summary_of(launches: Vec<Launch>) -> Summary {
        Summary::new(&with_launches("n", SourceKind::Hardware, launches)).unwrap()
    }

    fn value(slots: f64, retiring_slots: f64) -> Launch {
        Launch {
            samples_used: 19,
            samples_dropped: 1,
            wall_ns: slots / 4.0,
            slots: Some(slots),
            level1: Some(Level1 {
                slots: PerCategory {
                    retiring: retiring_slots,
                    backend_bound: slots - retiring_slots,
                    ..PerCategory::default()
                },
                ..Level1::default()
            }),
            instructions: Some(retiring_slots),
            cycles: Some(slots / 4.0),
            resolution_fraction: slots / 1e6,
            ..Launch::default()
        }
    }

    #[test]
    fn shares_are_ratios_of_sums() {
        let summary = summary_of(vec![value(100.0, 100.0), value(300.0, 0.0)]);
        assert_eq!(summary.slots.unwrap().mean, 200.0);
        let shares = summary.shares.unwrap();
        assert_eq!(shares.level1.into_array(), [0.25, 0.0, 0.0, 0.75]);
        assert_eq!(shares.level2, None);
        assert_eq!(summary.instructions_per_cycle, Some(1.0));
        assert_eq!((summary.samples_used, summary.samples_dropped), (38, 2));
        assert_eq!(summary.resolution_fraction, 300.0 / 1e6);
        assert_eq!(summary.coverage_fraction(), None);
        // The standard deviation of 100 and 300 is 141.42.
        let relative_sd = summary.slots.unwrap().relative_sd.unwrap();
        assert!((relative_sd - 0.5_f64.sqrt()).abs() < 1e-12);
    }

    #[test]
    fn partly_unknown_values_are_not_shown() {
        let blind = Launch {
            slots: None,
            level1: None,
            ..value(100.0, 50.0)
        };
        let summary = summary_of(vec![value(100.0, 50.0), blind]);
        assert_eq!((summary.slots, summary.shares), (None, None));
    }

    #[test]
    fn coverage_is_over_all_instructions() {
        let with = |slots, unknown| Launch {
            events: Events::NONE.with(Event::UnknownInstructions, unknown),
            ..value(slots, slots)
        };
        let summary = summary_of(vec![with(100.0, 0.0), with(300.0, 4.0)]);
        assert_eq!(summary.coverage_fraction(), Some(0.99));
        assert_eq!(summary.events.get(Event::L2Misses), None);
    }

    #[test]
    fn thread_with_few_cycles_waits() {
        let launch = |cycles| Launch {
            wall_ns: 1000.0,
            cycles,
            ..value(100.0, 50.0)
        };
        let waits = |cycles| summary_of(vec![launch(cycles)]).mostly_waits();
        assert!(waits(Some(99.0)));
        assert!(!waits(Some(101.0)));
        assert!(!waits(None));
    }

    /// Instructions and cycles per iteration, modelled on Zen 5, of benchmarks compiled with Rust
    /// 1.95, optimized.
    #[test]
    fn removed_work_differs_from_smallest_work() {
        let without_work = [
            ("iter: ()", 2.0, 1.0),
            ("iter: 5", 3.0, 1.0),
            ("iter: the sum of 0..1000", 3.0, 1.0),
            ("iter: a sum that is not returned", 2.0, 1.0),
            ("iter: fib(10) * 5", 3.003, 1.001),
            ("iter: FNV of a literal", 3.0, 1.0),
            ("iter_batched: ()", 1.123, 1.1),
            ("iter_batched: the sum of 0..1000", 2.7, 1.958),
            ("iter_batched_ref: ()", 0.21, 0.239),
            // Those that return more than a register, or call the allocator, are not found.
            ("iter: (1, 2, 3, 4)", 6.0, 2.0),
            ("iter: a literal string", 4.0, 1.0),
            ("iter: the clone of a vector that is not returned", 4.0, 4.5),
        ];
        let with_work = [
            ("iter: black_box(5) + 1", 6.0, 1.0),
            ("iter: black_box(5)", 5.0, 1.0),
            ("iter: an atomic load", 4.0, 1.0),
            ("iter: an atomic addition, not returned", 3.0, 20.0),
            ("iter: a fence", 3.0, 20.0),
            ("iter: spin_loop()", 3.0, 94.0),
            ("iter: a counter", 5.0, 1.5),
            ("iter: swapping two of an array", 7.0, 1.0),
            ("iter: a call", 7.0, 4.5),
            ("iter_batched: u64 + 1", 3.806, 2.772),
            // These are taken for removed.
            ("iter: an atomic store, not returned", 3.0, 1.0),
            ("iter_batched: u8 + 1", 2.039, 1.177),
        ];
        let seems_removed = |&(_, instructions, cycles): &(&str, f64, f64)| {
            let launch = Launch {
                wall_ns: cycles / 4.0,
                instructions: Some(instructions),
                cycles: Some(cycles),
                ..value(8.0 * cycles, instructions)
            };
            summary_of(vec![launch]).seems_removed()
        };
        let found = without_work
            .iter()
            .filter(|entry| seems_removed(entry))
            .count();
        assert_eq!((found, without_work.len()), (9, 12));
        let alarms = with_work
            .iter()
            .filter(|alarm| seems_removed(alarm))
            .count();
        assert_eq!((alarms, with_work.len()), (2, 12));
    }

    #[test]
    fn uncounted_work_is_not_called_removed() {
        let empty = Launch {
            wall_ns: 0.5,
            instructions: Some(2.0),
            cycles: Some(1.0),
            ..value(8.0, 2.0)
        };
        assert!(summary_of(vec![empty]).seems_removed());
        let other_threads_work = Launch {
            wall_ns: 50.0,
            ..empty
        };
        let uncounted = Launch {
            instructions: None,
            ..empty
        };
        let without_cycles = Launch {
            cycles: None,
            ..empty
        };
        for launch in [other_threads_work, uncounted, without_cycles] {
            assert!(!summary_of(vec![launch]).seems_removed());
        }
    }

    #[test]
    fn one_launch_has_no_spread_and_none_no_summary() {
        let summary = summary_of(vec![value(100.0, 50.0)]);
        assert_eq!(summary.wall_ns.relative_sd, None);
        assert_eq!(
            Summary::new(&with_launches("n", SourceKind::Hardware, Vec::new())),
            None
        );
    }

    #[test]
    fn zero_is_not_divided_by() {
        let nothing = Launch {
            slots: Some(0.0),
            cycles: Some(0.0),
            ..value(0.0, 0.0)
        };
        let summary = summary_of(vec![nothing, nothing]);
        assert_eq!(
            (summary.shares, summary.instructions_per_cycle),
            (None, None)
        );
        assert_eq!(summary.slots.unwrap().relative_sd, None);
    }
}
