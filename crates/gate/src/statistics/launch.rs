//! Reduces the samples of one launch to one value per quantity.
//!
//! Each value is a ratio of sums over the middle half of the launch's samples. This withstands
//! spikes in up to a quarter of the samples, weights samples by their iterations (criterion's
//! linear sampling gives samples of very different length), and keeps the categories adding up to
//! the total, because all are summed over the same samples. A median per category would lose that.

use topdown_run::provenance::{EmptyWindow, SourceKind};
use topdown_run::run_file::{IterationSample, LaunchValue, SlotsValue, TimeValue};
use topdown_run::sample::{Flags, Level1};
use topdown_run::steady;

use super::middle_half::{Kept, middle_half_of};

/// A launch on the machine needs this many usable samples.
pub const MIN_SAMPLES: usize = 4;

/// Where samples were taken, which determines how many a launch needs and which count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Taken {
    /// With counters or the clock: all usable samples count.
    OnTheMachine,
    /// On the model: the first ones only warm it up.
    OnTheModel,
}

impl Taken {
    /// Returns where samples of this source are taken.
    pub fn by(source: SourceKind) -> Taken {
        match source {
            SourceKind::Model => Taken::OnTheModel,
            SourceKind::Hardware | SourceKind::Time => Taken::OnTheMachine,
        }
    }

    /// Returns how many usable samples a launch needs.
    pub fn min_samples(self) -> usize {
        match self {
            Taken::OnTheMachine => MIN_SAMPLES,
            Taken::OnTheModel => steady::MIN_SAMPLES,
        }
    }

    fn counting<T>(self, usable: &[T]) -> &[T] {
        let count = match self {
            Taken::OnTheMachine => usable.len(),
            Taken::OnTheModel => steady::steady_samples(usable.len()),
        };
        &usable[usable.len() - count..]
    }
}

/// Returns the value of one launch of one benchmark; `None` if it has too few usable samples.
///
/// A sample is unusable if it has a flag of [`Flags::UNUSABLE`], no iterations, or no slots
/// although the source has slots. All quantities are per iteration. The middle half is chosen by
/// slots (by time if there are no slots); that of the wall-clock time is always chosen by time.
///
/// The cost of the windows themselves, from `empty_window`, is taken out of slots, instructions and
/// cycles, but at most half: where the two overlap, a window around some work costs less than an
/// empty one. [`SlotsValue::window_fraction`] shows if it is that much.
///
/// On the machine, unusable samples count as dropped. On the model, these are the warm-up's samples
/// for which the budget had no room.
pub fn launch_value(
    launch: u32,
    samples: &[IterationSample],
    taken: Taken,
    empty_window: Option<&EmptyWindow>,
) -> Option<LaunchValue> {
    let has_slots = samples.iter().any(|s| s.sample.slots.is_some());
    let usable: Vec<&IterationSample> =
        samples.iter().filter(|s| is_usable(s, has_slots)).collect();
    if usable.len() < taken.min_samples() {
        return None;
    }
    let dropped = match taken {
        Taken::OnTheMachine => samples.len() - usable.len(),
        // More samples were requested than the budget allows for most benchmarks. Those before the
        // last one warm up even if they were not counted.
        Taken::OnTheModel => {
            let last = samples.iter().rposition(|s| is_usable(s, has_slots));
            let warmed_up = last.map_or(0, |last| last + 1);
            steady::MIN_SETTLED_SAMPLES.saturating_sub(warmed_up)
        }
    };
    let usable = taken.counting(&usable);
    value_of(launch, usable, dropped, has_slots, empty_window)
}

/// Returns a value for each group of units of a benchmark that a model sampled, numbered as if it
/// were a launch: groups differ by what sampling leaves open, as launches differ by noise. All
/// launches have the same groups, in the same order.
pub fn values_of_groups(
    launches: &[Vec<IterationSample>],
    empty_window: Option<&EmptyWindow>,
) -> Vec<LaunchValue> {
    let groups = launches.iter().map(Vec::len).min().unwrap_or(0);
    let value = |group: usize| {
        let samples = launches.iter().map(|samples| &samples[group]);
        let samples: Vec<&IterationSample> = samples.filter(|s| is_usable(s, true)).collect();
        if samples.is_empty() {
            return None;
        }
        let number = u32::try_from(group).unwrap_or(u32::MAX);
        value_of(number, &samples, 0, true, empty_window)
    };
    (0..groups).filter_map(value).collect()
}

/// Returns the value of a launch that is one sample, because the launch itself was measured: a
/// command from start to exit. `None` if the sample is unusable.
pub fn value_of_whole_launch(launch: u32, whole: &IterationSample) -> Option<LaunchValue> {
    let has_slots = whole.sample.slots.is_some();
    if is_usable(whole, has_slots) {
        value_of(launch, &[whole], 0, has_slots, None)
    } else {
        None
    }
}

fn value_of(
    launch: u32,
    usable: &[&IterationSample],
    dropped: usize,
    has_slots: bool,
    empty_window: Option<&EmptyWindow>,
) -> Option<LaunchValue> {
    let by_time = Kept::middle_half(usable, |sample| Some(sample.wall_ns));
    let kept = if has_slots {
        Kept::middle_half(usable, |sample| sample.slots)
    } else {
        by_time.clone()
    };
    let cost = empty_window.copied().unwrap_or_default();
    let window_fraction = kept.window_fraction(|sample| sample.slots, cost.slots);
    let slots = kept.without_windows(|sample| sample.slots, cost.slots);
    let resolution_fraction = kept.resolution_fraction();
    let level1 = slots.and_then(|slots| {
        // Counts that no counter could have produced are dropped: run files refuse such a split.
        let is_possible = |level1: &Level1| level1.is_possible(slots, resolution_fraction);
        let split = kept.level1(slots);
        split.filter(|(level1, _)| is_possible(level1))
    });
    let (samples_used, samples_dropped) = (count(usable.len()), count(dropped));
    let time = TimeValue {
        launch,
        samples_used,
        samples_dropped,
        wall_ns: by_time.per_iteration(|sample| Some(sample.wall_ns))?,
    };
    let slots = slots.map(|slots| SlotsValue {
        launch,
        samples_used,
        samples_dropped,
        slots,
        level1: level1.map(|(level1, _)| level1),
        level2: level1.and_then(|(_, scale)| kept.level2(scale)),
        instructions: kept.without_windows(|sample| sample.instructions, cost.instructions),
        cycles: kept.without_windows(|sample| sample.cycles, cost.cycles),
        events: kept.events().into(),
        resolution_fraction,
        window_fraction: (window_fraction > 0.0).then_some(window_fraction),
    });
    Some(LaunchValue { time, slots })
}

/// Returns the indices, ascending, of the samples that make up the slots of a launch value; `None`
/// if [`launch_value`] is `None`.
pub fn kept_for_slots(samples: &[IterationSample], taken: Taken) -> Option<Vec<usize>> {
    let usable: Vec<(usize, &IterationSample)> = samples
        .iter()
        .enumerate()
        .filter(|(_, sample)| is_usable(sample, true))
        .collect();
    let (indices, counting): (Vec<usize>, Vec<&IterationSample>) =
        taken.counting(&usable).iter().copied().unzip();
    let kept = middle_half_of(&counting, |sample| sample.slots);
    let enough = usable.len() >= taken.min_samples();
    enough.then(|| kept.into_iter().map(|index| indices[index]).collect())
}

/// Returns by how much the categories of a launch miss its slots before they are scaled to them, as
/// a fraction of the slots; `None` without categories or a launch value.
///
/// The steps of 8-bit ratios cause a few tenths of a percent. More means that the events do not
/// describe the same slots.
pub fn residual_fraction(samples: &[IterationSample]) -> Option<f64> {
    let usable: Vec<&IterationSample> = samples.iter().filter(|s| is_usable(s, true)).collect();
    if usable.len() < MIN_SAMPLES {
        return None;
    }
    let kept = Kept::middle_half(&usable, |sample| sample.slots);
    let slots = kept.sum(|sample| sample.slots)?;
    let residual = (kept.level1_sum()?.total_slots() - slots).abs() / slots;
    residual.is_finite().then_some(residual)
}

fn is_usable(sample: &IterationSample, has_slots: bool) -> bool {
    !sample.sample.flags.intersects(Flags::UNUSABLE)
        && sample.iterations > 0
        && (!has_slots || sample.sample.slots.is_some_and(|slots| slots > 0))
}

fn count(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use topdown_run::category::PerCategory;
    use topdown_run::event::{Event, Events};
    use topdown_run::sample::Sample;

    fn sample(iterations: u64, slots_per_iteration: u64) -> IterationSample {
        let slots = iterations * slots_per_iteration;
        let part = |share: f64| slots as f64 * share;
        IterationSample {
            iterations,
            sample: Sample {
                windows: 1,
                wall_ns: slots / 2,
                slots: Some(slots),
                level1: Some(Level1 {
                    slots: PerCategory {
                        retiring: part(0.5),
                        bad_speculation: part(0.1),
                        frontend_bound: part(0.1),
                        backend_bound: part(0.28),
                    },
                    smt_contention_slots: None,
                }),
                level2: Some(PerCategory {
                    backend_bound: part(0.2),
                    ..PerCategory::default()
                }),
                instructions: Some(slots / 4),
                cycles: Some(slots / 8),
                events: Events::NONE.with(Event::Branches, slots / 20),
                resolution_slots: part(0.004),
                ..Sample::EMPTY
            },
        }
    }

    #[test]
    fn quarter_of_spikes_at_each_end_changes_nothing() {
        let mut samples: Vec<_> = (0..8).map(|_| sample(10, 400)).collect();
        let clean = launch_value(0, &samples, Taken::OnTheMachine, None).unwrap();
        samples[0] = sample(10, 4_000_000);
        samples[5] = sample(10, 4_000_000);
        samples[3] = sample(10, 40);
        assert_eq!(
            launch_value(0, &samples, Taken::OnTheMachine, None).unwrap(),
            clean
        );
        assert_eq!(clean.slots.unwrap().slots, 400.0);
        assert_eq!(clean.time.wall_ns, 200.0);
    }

    #[test]
    fn last_usable_sample_counts_on_the_model() {
        let mut samples: Vec<_> = (0..6).map(|n| sample(1 << n, 1000 - 10 * n)).collect();
        samples[5].sample.flags = Flags::NOT_COUNTING;
        let value = |count| launch_value(0, &samples[..count], Taken::OnTheModel, None);
        let of_five = value(6).unwrap().slots.unwrap();
        assert_eq!((of_five.samples_used, of_five.samples_dropped), (1, 0));
        assert_eq!(of_five.slots, 960.0);
        assert_eq!(kept_for_slots(&samples, Taken::OnTheModel).unwrap(), [4]);
        // A short warm-up, and none.
        let of_two = value(2).unwrap().slots.unwrap();
        assert_eq!((of_two.samples_used, of_two.samples_dropped), (1, 2));
        assert_eq!(value(1), None);
        assert_eq!(kept_for_slots(&samples[..1], Taken::OnTheModel), None);
    }

    #[test]
    fn samples_are_weighted_by_iterations() {
        // Sorted by slots per iteration: 100, 100, 200, 300; the middle two are kept.
        let samples = [
            sample(1, 100),
            sample(3, 200),
            sample(1, 100),
            sample(1, 300),
        ];
        let value = launch_value(7, &samples, Taken::OnTheMachine, None);
        let value = value.unwrap().slots.unwrap();
        assert_eq!(value.slots, (3 * 200 + 100) as f64 / 4.0);
        assert_eq!(value.launch, 7);
        assert_eq!(
            value.events.get(Event::Branches),
            Some((30 + 5) as f64 / 4.0)
        );
        assert_eq!(value.events.get(Event::L2Misses), None);
    }

    #[test]
    fn categories_add_up_and_level_2_keeps_its_part() {
        let samples: Vec<_> = (1..=9).map(|n| sample(n, 390 + 3 * n)).collect();
        let value = launch_value(0, &samples, Taken::OnTheMachine, None);
        let value = value.unwrap().slots.unwrap();
        let slots = value.slots;
        let level1 = value.level1.unwrap();
        assert!((level1.total_slots() - slots).abs() < 1e-9 * slots);
        // 0.28 of the 0.98 attributed; memory bound stays 5/7 of its parent.
        assert!((level1.slots.backend_bound / slots - 0.28 / 0.98).abs() < 1e-12);
        let memory = value.level2.unwrap().backend_bound;
        assert!((memory / level1.slots.backend_bound - 5.0 / 7.0).abs() < 1e-12);
        assert!((value.resolution_fraction - 0.004).abs() < 1e-12);
    }

    #[test]
    fn residual_is_slots_without_category() {
        let samples: Vec<_> = (1..=9).map(|n| sample(n, 390 + 3 * n)).collect();
        // 0.98 of the slots have a category.
        let residual = residual_fraction(&samples).unwrap();
        assert!((residual - 0.02).abs() < 1e-12, "{residual}");
        assert_eq!(residual_fraction(&samples[..3]), None);
        let mut without = samples;
        without[4].sample.level1 = None;
        assert_eq!(residual_fraction(&without), None);
    }

    #[test]
    fn whole_launch_is_its_one_sample() {
        let value = value_of_whole_launch(3, &sample(1, 1000)).unwrap();
        let (time, slots) = (value.time, value.slots.unwrap());
        assert_eq!((time.launch, time.samples_used), (3, 1));
        assert_eq!((slots.slots, time.wall_ns), (1000.0, 500.0));
        let total = slots.level1.unwrap().total_slots();
        assert!((total - 1000.0).abs() < 1e-9);
        let mut unusable = sample(1, 1000);
        unusable.sample.flags = Flags::BAD_RATIOS;
        assert_eq!(value_of_whole_launch(3, &unusable), None);
    }

    #[test]
    fn five_categories_are_scaled_as_four() {
        let samples: Vec<_> = (0..5)
            .map(|_| {
                let mut sample = sample(2, 1000);
                sample.sample.level1.as_mut().unwrap().smt_contention_slots = Some(140.0);
                sample
            })
            .collect();
        let level1 = launch_value(0, &samples, Taken::OnTheMachine, None)
            .unwrap()
            .slots
            .and_then(|slots| slots.level1)
            .unwrap();
        assert!((level1.total_slots() - 1000.0).abs() < 1e-9);
        assert!(level1.smt_contention_slots.unwrap() > 60.0);
    }

    #[test]
    fn unusable_samples_are_dropped_and_counted() {
        let mut samples: Vec<_> = (0..8).map(|_| sample(10, 400)).collect();
        samples[0].sample.flags = Flags::WENT_BACKWARDS;
        samples[1].iterations = 0;
        samples[2].sample.slots = Some(0);
        // The counts of these are right.
        samples[3].sample.flags = Flags::SWITCHED | Flags::MIGRATED;
        let value = launch_value(0, &samples, Taken::OnTheMachine, None)
            .unwrap()
            .time;
        assert_eq!((value.samples_used, value.samples_dropped), (5, 3));
        samples[4].sample.flags = Flags::NOT_COUNTING;
        samples[5].sample.flags = Flags::BAD_RATIOS;
        assert_eq!(launch_value(0, &samples, Taken::OnTheMachine, None), None);
    }

    #[test]
    fn timed_launch_has_time_alone() {
        let timed = |wall_ns| IterationSample {
            iterations: 2,
            sample: Sample {
                windows: 1,
                wall_ns,
                ..Sample::EMPTY
            },
        };
        let value =
            launch_value(0, &[10, 30, 20, 1000].map(timed), Taken::OnTheMachine, None).unwrap();
        assert_eq!(value.time.wall_ns, 12.5);
        assert_eq!(value.slots, None);
    }

    #[test]
    fn sums_beyond_u64_do_not_wrap() {
        let huge = IterationSample {
            iterations: 1,
            sample: Sample {
                wall_ns: u64::MAX,
                slots: Some(u64::MAX),
                ..Sample::EMPTY
            },
        };
        let value = launch_value(0, &[huge; 4], Taken::OnTheMachine, None).unwrap();
        assert_eq!(value.slots.unwrap().slots, u64::MAX as f64);
    }

    #[test]
    fn window_cost_is_subtracted_up_to_half() {
        let value = |windows: u64, window_slots: u64| {
            let mut samples: Vec<IterationSample> = (0..8)
                .map(|_| {
                    let mut sample = sample(100, 10);
                    sample.sample.windows = windows;
                    sample
                })
                .collect();
            for sample in &mut samples {
                sample.sample.instructions = Some(800);
                sample.sample.cycles = Some(250);
            }
            let empty = EmptyWindow {
                slots: Some(window_slots),
                instructions: Some(window_slots * 2),
                cycles: Some(window_slots / 4),
                wall_ns: 0,
            };
            launch_value(0, &samples, Taken::OnTheMachine, Some(&empty))
                .unwrap()
                .slots
                .unwrap()
        };
        let of_one = value(1, 100);
        assert_eq!(of_one.slots, 9.0);
        assert_eq!(of_one.level1.unwrap().total_slots(), 9.0);
        assert_eq!(of_one.window_fraction, Some(0.1));
        assert_eq!(
            (of_one.instructions, of_one.cycles),
            (Some(6.0), Some(2.25))
        );
        let of_each = value(100, 8);
        assert_eq!(of_each.slots, 5.0);
        assert_eq!(of_each.window_fraction, Some(0.8));
        assert_eq!(of_each.instructions, Some(4.0));
        assert_eq!(value(1, 0).window_fraction, None);
    }
}
