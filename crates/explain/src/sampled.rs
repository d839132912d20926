//! Functions in which the events of a metric group happen, where the maker of the core names events
//! to sample.

use topdown_counters::cpu::MetricGroup;
use topdown_run::code_samples::DEFAULT_PERIOD_CYCLES;

use super::GroupError;
use crate::GroupFunctions;

/// An event that is rarer than this, per PMU sample of the event that paces the group, interrupts
/// as often as if it were not: PMU samples of events that hardly happen are still found.
const MIN_PERIOD: u64 = 101;

/// Functions by the PMU samples of a group, or the reason why they are unknown.
pub type SampledGroup = Result<GroupFunctions, GroupError>;

/// Returns after how many counts each event of `group` interrupts, given what its launch counted:
/// as often as the event that paces it, but for those that are not sampled, which only count.
/// `None` if none is sampled, or none happened.
pub fn periods_of(group: &MetricGroup, counts: &[u64]) -> Option<Vec<u64>> {
    let pace = group.paced_at();
    let paces = *counts.get(pace)? as f64;
    let mut periods = vec![0; group.events.len()];
    for at in group.sampled_at() {
        let count = *counts.get(at)?;
        if at != pace && count > 0 {
            let period = DEFAULT_PERIOD_CYCLES as f64 * count as f64 / paces.max(1.0);
            periods[at] = (period as u64).max(MIN_PERIOD);
        }
    }
    if periods.iter().all(|period| *period == 0) {
        return None;
    }
    periods[pace] = DEFAULT_PERIOD_CYCLES;
    Some(periods)
}

#[cfg(test)]
mod tests {
    use super::*;
    use topdown_counters::cpu::TABLES;

    fn group(cpu: &str, name: &str) -> &'static MetricGroup {
        let table = TABLES.iter().find(|table| table.name == cpu).unwrap();
        table.group(name).unwrap()
    }

    #[test]
    fn rare_events_are_sampled_more_often() {
        let stalls = group("Neoverse N1", "Cycle_Accounting");
        let periods = |counts: [u64; 3]| periods_of(stalls, &counts);
        assert_eq!(
            periods([1_000_000, 500_000, 10]),
            Some(vec![20_011, 10_005, 101])
        );
        assert_eq!(periods([1_000_000, 0, 10]), Some(vec![20_011, 0, 101]));
        assert_eq!(periods([1_000_000, 0, 0]), None);
        // Only the misses of the cache are sampled, not the accesses.
        let l1d = group("Neoverse N2", "L1D_Cache_Effectiveness");
        let periods = periods_of(l1d, &[1_000_000, 400_000, 30_000]);
        assert_eq!(periods, Some(vec![20_011, 0, 600]));
    }

    #[test]
    fn group_without_sampling_events_is_not_sampled() {
        let branches = group("Zen 4", "Branch_Effectiveness");
        assert_eq!(periods_of(branches, branches.example.counts), None);
    }
}
