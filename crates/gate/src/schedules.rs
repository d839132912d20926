//! Slots of a benchmark in several orders of its threads, its schedules. The first one gives its
//! slots, and the others say whether a change depends on the order.

use serde::Serialize;
use topdown_run::run_file::{Benchmark, SlotsValue};

use crate::metric::Metric;
use crate::statistics::margin::reaches;

/// Both sides of a benchmark in each schedule that both have.
pub struct CommonSchedules<'a>(Vec<[&'a SlotsValue; 2]>);

impl<'a> CommonSchedules<'a> {
    /// Returns `None` if there are fewer than two.
    pub fn new(baseline: &'a Benchmark, candidate: &'a Benchmark) -> Option<CommonSchedules<'a>> {
        let pair = |baseline: &'a SlotsValue| {
            let mut others = candidate.schedules().iter();
            let candidate = others.find(|other| other.launch == baseline.launch)?;
            Some([baseline, candidate])
        };
        let pairs: Vec<_> = baseline.schedules().iter().filter_map(pair).collect();
        (pairs.len() > 1).then_some(CommonSchedules(pairs))
    }

    /// Returns the change of `metric` in each, as a fraction of the baseline's slots there.
    fn changes(&self, metric: Metric) -> impl Iterator<Item = f64> {
        let change = move |[baseline, candidate]: &[&SlotsValue; 2]| {
            Some((metric.value(candidate)? - metric.value(baseline)?) / baseline.slots)
        };
        self.0.iter().filter_map(change)
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
        ScheduleChanges {
            schedules: changes.len(),
            slower: count(1.0),
            faster: count(-1.0),
            min_difference: changes.iter().copied().fold(f64::INFINITY, f64::min),
            max_difference: changes.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        }
    }
}

/// Changes of the slots in each schedule that both sides have.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
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
}

/// Judgement: smaller differences may come from where data lies alone.
const MIN_REPORTED_FRACTION: f64 = 0.05;

/// Dependence of a benchmark's slots on the order of its threads.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OrderDependence {
    /// Number of its schedules.
    pub schedules: usize,
    /// Number of those that are nearer to the most slots than to the fewest.
    pub more: usize,
    /// The most slots are more than the fewest by this fraction of these.
    pub difference: f64,
}

impl OrderDependence {
    /// Returns it, if it is worth a note.
    pub fn of(benchmark: &Benchmark) -> Option<OrderDependence> {
        let slots = benchmark.schedules().iter().map(|schedule| schedule.slots);
        let fewest = slots.clone().reduce(f64::min)?;
        let most = slots.clone().reduce(f64::max)?;
        let difference = (most - fewest) / fewest;
        (difference >= MIN_REPORTED_FRACTION).then(|| OrderDependence {
            schedules: slots.len(),
            more: slots.filter(|slots| most - slots < slots - fewest).count(),
            difference,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::{Planted, in_schedules, modelled};

    fn dependence(slots: &[f64]) -> Option<OrderDependence> {
        OrderDependence::of(&in_schedules(modelled("b", Planted::default()), slots))
    }

    #[test]
    fn only_much_dependence_is_reported() {
        assert_eq!(dependence(&[]), None);
        assert_eq!(dependence(&[1.0, 1.04, 1.0]), None);
        let reported = dependence(&[1.0, 1.5, 1.1, 1.4, 1.0]).unwrap();
        assert_eq!((reported.schedules, reported.more), (5, 2));
        assert!((reported.difference - 0.5).abs() < 1e-12);
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
