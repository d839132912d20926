//! Slots of a benchmark in several orders of its threads, its schedules. The first one gives its
//! slots, and the others say whether a change depends on the order.

use serde::Serialize;
use topdown_run::event::Event;
use topdown_run::run_file::{Benchmark, SlotsValue};

use crate::metric::Metric;
use crate::statistics::margin::reaches;

/// Both sides of a benchmark in each schedule that both have.
pub struct CommonSchedules<'a> {
    pairs: Vec<[&'a SlotsValue; 2]>,
    /// The lock for which the candidate's threads wait most.
    lock: Option<&'a str>,
}

impl<'a> CommonSchedules<'a> {
    /// Returns `None` if there are fewer than two.
    pub fn new(baseline: &'a Benchmark, candidate: &'a Benchmark) -> Option<CommonSchedules<'a>> {
        let pair = |baseline: &'a SlotsValue| {
            let mut others = candidate.schedules().iter();
            let candidate = others.find(|other| other.launch == baseline.launch)?;
            Some([baseline, candidate])
        };
        let pairs: Vec<_> = baseline.schedules().iter().filter_map(pair).collect();
        let lock = lock_of(candidate).or_else(|| lock_of(baseline));
        (pairs.len() > 1).then_some(CommonSchedules { pairs, lock })
    }

    /// Returns the change of `metric` in each, as a fraction of the baseline's slots there.
    fn changes(&self, metric: Metric) -> impl Iterator<Item = f64> {
        let change = move |[baseline, candidate]: &[&SlotsValue; 2]| {
            Some((metric.value(candidate)? - metric.value(baseline)?) / baseline.slots)
        };
        self.pairs.iter().filter_map(change)
    }

    /// Returns whether `metric` changed by at least `sure` in all of them, up or down as a
    /// `difference` does.
    pub fn show(&self, metric: Metric, difference: f64, sure: f64) -> bool {
        let mut changes = self.changes(metric);
        changes.all(|change| reaches(change * difference.signum(), sure))
    }

    /// Returns whether a change of the slots depends on the order: one schedule at least shows one
    /// by `point`, but not the first one, where it is `difference`, or not all by `sure`.
    pub fn disagree(&self, difference: f64, point: f64, sure: f64) -> bool {
        let is_shown = |change: f64| reaches(change.abs(), point);
        let agree = is_shown(difference) && self.show(Metric::Slots, difference, sure);
        !agree && self.changes(Metric::Slots).any(is_shown)
    }

    /// Returns how the slots changed, from `point` on.
    pub fn summary(&self, point: f64) -> ScheduleChanges {
        let changes: Vec<f64> = self.changes(Metric::Slots).collect();
        let count = |sign: f64| {
            let counted = changes
                .iter()
                .filter(|change| reaches(*change * sign, point));
            counted.count()
        };
        let cause = OrderCause::of(
            &self.pairs,
            |[baseline, candidate]| candidate.slots - baseline.slots,
            |[baseline, candidate], event| {
                Some(candidate.events.get(event)? - baseline.events.get(event)?)
            },
        );
        ScheduleChanges {
            schedules: changes.len(),
            slower: count(1.0),
            faster: count(-1.0),
            min_difference: changes.iter().copied().fold(f64::INFINITY, f64::min),
            max_difference: changes.iter().copied().fold(f64::NEG_INFINITY, f64::max),
            cause,
            lock: (self.lock.filter(|_| cause == Some(OrderCause::Lock))).map(str::to_owned),
        }
    }
}

/// Returns the numbers of the schedules that all `benchmarks` have besides the first.
pub fn further_of_all<'a>(benchmarks: impl Iterator<Item = &'a Benchmark>) -> Vec<u32> {
    let numbers = |benchmark: &Benchmark| -> Vec<u32> {
        let schedules = benchmark.schedules().iter().skip(1);
        schedules.map(|schedule| schedule.launch).collect()
    };
    let common = |mut known: Vec<u32>, more: Vec<u32>| {
        known.retain(|number| more.contains(number));
        known
    };
    benchmarks.map(numbers).reduce(common).unwrap_or_default()
}

/// Returns `metric` of a benchmark in each of these schedules, unless one lacks it.
pub fn values_in(schedules: &[u32], benchmark: &Benchmark, metric: Metric) -> Option<Vec<f64>> {
    let value = |number: &u32| {
        let mut all = benchmark.schedules().iter();
        metric.value(all.find(|schedule| schedule.launch == *number)?)
    };
    schedules.iter().map(value).collect()
}

/// Changes of the slots in each schedule that both sides have.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ScheduleChanges {
    /// Number of the schedules, at least two.
    pub schedules: usize,
    /// In how many of them the slots grew by at least the point margin.
    pub slower: usize,
    /// In how many of them they shrank by as much.
    pub faster: usize,
    /// The least change, as a fraction of the baseline's slots; negative if they shrank.
    pub min_difference: f64,
    /// The largest change.
    pub max_difference: f64,
    /// What threads do more often the more the slots grew, if that explains why schedules differ.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cause: Option<OrderCause>,
    /// The function that takes the lock, if that is the cause and the model knows it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lock: Option<String>,
}

/// Judgement: smaller differences may come from where data lies alone.
const MIN_REPORTED_FRACTION: f64 = 0.05;

/// Judgement: among fewer schedules, much agrees by chance.
const MIN_SCHEDULES_WITH_CAUSE: usize = 4;

/// A cause explains at least this fraction of the variance between schedules.
const MIN_EXPLAINED_FRACTION: f64 = 0.5;

/// Judgement: a thread that waits for another costs at most as much as a full turn executes. Waits
/// that seem to cost more only go along with the cause.
const MAX_SLOTS_PER_WAIT: f64 = 20_000.0;

/// Dependence of a benchmark's slots on the order of its threads.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OrderDependence<'a> {
    /// Number of its schedules.
    pub schedules: usize,
    /// Number of those that are nearer to the most slots than to the fewest.
    pub more: usize,
    /// The most slots are more than the fewest by this fraction of these.
    pub difference: f64,
    /// What threads do more often the more slots they take, if that explains it.
    pub cause: Option<OrderCause>,
    /// The function that takes the lock for which they wait most, if the model knows it.
    pub lock: Option<&'a str>,
}

/// Why some orders take more slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum OrderCause {
    /// Threads wait or spin for one lock.
    Lock,
    /// Threads spin, or yield, for others.
    Spinning,
    /// Threads wait for others.
    Waiting,
}

impl OrderCause {
    /// Returns what explains the slots of some schedules, or their changes, from `value` and
    /// `count` of each. A lock comes first, because waits for it are among the others.
    fn of<T>(
        schedules: &[T],
        value: impl Fn(&T) -> f64,
        count: impl Fn(&T, Event) -> Option<f64>,
    ) -> Option<OrderCause> {
        let causes = [
            (OrderCause::Lock, Event::LockWaits),
            (OrderCause::Spinning, Event::ThreadSpins),
            (OrderCause::Waiting, Event::ThreadWaits),
        ];
        let explains = |event| {
            let pair = |schedule| Some([count(schedule, event)?, value(schedule)]);
            let pairs: Option<Vec<_>> = schedules.iter().map(pair).collect();
            pairs.is_some_and(|pairs| is_line(&pairs))
        };
        let mut causes = causes.into_iter();
        let (cause, _) = causes.find(|(_, event)| explains(*event))?;
        (schedules.len() >= MIN_SCHEDULES_WITH_CAUSE).then_some(cause)
    }
}

/// Returns whether the first numbers explain the second: by a straight line of least squares.
fn is_line(pairs: &[[f64; 2]]) -> bool {
    let mean = |side: usize| pairs.iter().map(|pair| pair[side]).sum::<f64>() / pairs.len() as f64;
    let means = [mean(0), mean(1)];
    let product = |a: usize, b: usize| {
        let products = pairs
            .iter()
            .map(|it| (it[a] - means[a]) * (it[b] - means[b]));
        products.sum::<f64>()
    };
    let (counts, slots, both) = (product(0, 0), product(1, 1), product(0, 1));
    let explains_enough = both * both >= MIN_EXPLAINED_FRACTION * counts * slots;
    both > 0.0 && explains_enough && both <= MAX_SLOTS_PER_WAIT * counts
}

/// Returns the function that takes the lock for which a benchmark's threads wait most.
fn lock_of(benchmark: &Benchmark) -> Option<&str> {
    benchmark.functions.as_ref()?.lock.as_deref()
}

impl<'a> OrderDependence<'a> {
    /// Returns it, if it is worth a note.
    pub fn of(benchmark: &'a Benchmark) -> Option<OrderDependence<'a>> {
        let schedules = benchmark.schedules();
        let slots = schedules.iter().map(|schedule| schedule.slots);
        let fewest = slots.clone().reduce(f64::min)?;
        let most = slots.clone().reduce(f64::max)?;
        let difference = (most - fewest) / fewest;
        (difference >= MIN_REPORTED_FRACTION).then(|| OrderDependence {
            schedules: schedules.len(),
            more: slots.filter(|slots| most - slots < slots - fewest).count(),
            difference,
            cause: OrderCause::of(
                schedules,
                |schedule| schedule.slots,
                |schedule, event| schedule.events.get(event),
            ),
            lock: lock_of(benchmark),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::{Planted, in_schedules, modelled};

    /// Returns in how many schedules a benchmark takes more slots, and how many.
    fn dependence(slots: &[f64]) -> Option<(usize, usize, f64)> {
        let benchmark = in_schedules(modelled("b", Planted::default()), slots);
        let of = OrderDependence::of(&benchmark)?;
        Some((of.schedules, of.more, of.difference))
    }

    #[test]
    fn only_much_dependence_is_reported() {
        assert_eq!(dependence(&[]), None);
        assert_eq!(dependence(&[1.0, 1.04, 1.0]), None);
        let (schedules, more, difference) = dependence(&[1.0, 1.5, 1.1, 1.4, 1.0]).unwrap();
        assert_eq!((schedules, more), (5, 2));
        assert!((difference - 0.5).abs() < 1e-12);
    }

    /// Returns a benchmark with these thousands of slots, and counts of `event`.
    fn counted(event: Event, schedules: &[(f64, f64)]) -> Benchmark {
        let slots: Vec<f64> = schedules.iter().map(|it| it.0 / 100.0).collect();
        let mut benchmark = in_schedules(modelled("b", Planted::default()), &slots);
        let series = benchmark.schedules.as_mut().unwrap();
        for (value, (slots, count)) in series.launches.iter_mut().zip(schedules) {
            value.slots = 1000.0 * slots;
            value.events = value.events.with(event, *count).into();
        }
        benchmark
    }

    fn cause(event: Event, schedules: &[(f64, f64)]) -> Option<OrderCause> {
        OrderDependence::of(&counted(event, schedules))
            .unwrap()
            .cause
    }

    #[test]
    fn cause_grows_with_slots() {
        // Measured: nine critical sections of three threads.
        let lock = [
            (517.0, 9.0),
            (607.0, 22.0),
            (534.0, 13.5),
            (534.0, 17.5),
            (575.0, 25.5),
        ];
        for (event, expected) in [
            (Event::LockWaits, OrderCause::Lock),
            (Event::ThreadSpins, OrderCause::Spinning),
            (Event::ThreadWaits, OrderCause::Waiting),
        ] {
            assert_eq!(cause(event, &lock), Some(expected));
            assert_eq!(cause(event, &lock[..3]), None, "too few");
            let alike = lock.map(|(slots, _)| (slots, 9.0));
            assert_eq!(cause(event, &alike), None);
            let falling = lock.map(|(slots, count)| (slots, -count));
            assert_eq!(cause(event, &falling), None);
            let few = lock.map(|(slots, count)| (slots, count / 10.0));
            assert_eq!(cause(event, &few), None, "41,000 slots for each");
        }
        let unrelated = [(517.0, 9.0), (607.0, 8.0), (534.0, 13.5), (534.0, 3.0)];
        assert_eq!(cause(Event::LockWaits, &unrelated), None);
        assert_eq!(cause(Event::Branches, &lock), None);
        let alike = counted(Event::LockWaits, &lock.map(|_| (517.0, 9.0)));
        let change = |after: &[(f64, f64)]| {
            let after = counted(Event::LockWaits, after);
            CommonSchedules::new(&alike, &after)
                .unwrap()
                .summary(0.02)
                .cause
        };
        assert_eq!(change(&lock), Some(OrderCause::Lock));
        assert_eq!(change(&lock.map(|(slots, _)| (slots, 9.0))), None);
    }

    #[test]
    fn schedules_of_one_side_are_not_compared() {
        let with = |slots: &[f64]| in_schedules(modelled("b", Planted::default()), slots);
        let common = |a: &Benchmark, b: &Benchmark| {
            CommonSchedules::new(a, b).map(|common| common.summary(0.02))
        };
        let (two, four) = (with(&[1.0, 1.0]), with(&[1.0, 1.1, 2.0, 2.0]));
        let summary = common(&two, &four).unwrap();
        assert_eq!((summary.schedules, summary.slower), (2, 1));
        assert_eq!(common(&with(&[1.0]), &four), None);
        assert_eq!(common(&two, &with(&[])), None);
    }
}
