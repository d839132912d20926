//! The retire latencies behind a group's metrics: sampled in a launch of their own, or what is
//! known of the family of cores.

use topdown_counters::cpu::{Event, Latency, LatencyTable, MetricGroup};
use topdown_run::provenance::Provenance;
use topdown_run::run_file::IterationSample;
use topdown_run::sample::Flags;

use super::GroupError;
use super::sums::{all_flags, sum_of};

/// The mean of fewer PMU samples is not used.
pub const MIN_SAMPLES: u64 = 100;

/// The retire latencies of a group's metrics.
#[derive(Debug)]
pub struct Latencies {
    /// The family that the values come from, where they were not sampled.
    pub family: &'static str,
    /// The events that have one.
    pub used: Vec<UsedLatency>,
    /// Why none were sampled, on cores that record them.
    pub not_sampled: Option<String>,
}

/// The retire latency of an event.
#[derive(Debug, PartialEq)]
pub struct UsedLatency {
    /// Its name, as the vendor writes it.
    pub event: &'static str,
    /// Its latency.
    pub latency: Latency,
    /// The number of PMU samples, if it was sampled.
    pub hits: Option<u64>,
}

/// The PMU samples of an event in a launch that recorded latencies.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SampledLatency {
    /// What was sampled.
    pub event: Event,
    /// Number of its interrupts.
    pub hits: u64,
    /// The mean of the latencies, in cycles.
    pub mean_cycles: f64,
}

/// Returns whether a group can say something: its metrics need no latencies, or some are known or
/// recorded.
pub fn can_be_known(group: &MetricGroup, table: Option<&LatencyTable>) -> bool {
    let needed = group.metrics.iter().filter_map(|metric| metric.latency_of);
    let mut needed = needed.peekable();
    needed.peek().is_none()
        || needed.any(|event| table.is_some_and(|table| table.of(event).is_some()))
}

/// Returns the mean latencies over the usable samples of a launch that recorded them.
///
/// # Errors
/// Returns an error if something else was recorded, nothing is usable, or every record is empty.
pub fn sampled_of(
    group: &MetricGroup,
    table: &LatencyTable,
    provenance: &Provenance,
    samples: &[IterationSample],
) -> Result<Vec<SampledLatency>, GroupError> {
    let events = table.recorded_for(group);
    let not_counted = || GroupError::NotCounted {
        formula: provenance.formula.clone(),
    };
    if provenance.formula != group.latencies_formula() {
        return Err(not_counted());
    }
    let usable = samples
        .iter()
        .filter(|sample| !sample.sample.flags.intersects(Flags::UNUSABLE));
    let sum = sum_of(usable.map(|sample| sample.sample.group_counts));
    let sum = sum.ok_or_else(|| GroupError::NothingUsable {
        flags: all_flags(samples),
    })?;
    if sum.as_slice().len() != 2 * events.len() {
        return Err(not_counted());
    }
    let pairs = sum.as_slice().chunks_exact(2);
    let all = events
        .into_iter()
        .zip(pairs)
        .map(|(event, pair)| (event, pair[0], pair[1]));
    let enough: Vec<_> = all.filter(|(_, hits, _)| *hits >= MIN_SAMPLES).collect();
    if !enough.is_empty() && enough.iter().all(|(_, _, cycles)| *cycles == 0) {
        return Err(GroupError::NoLatencies);
    }
    let sampled = enough
        .into_iter()
        .map(|(event, hits, cycles)| SampledLatency {
            event,
            hits,
            mean_cycles: cycles as f64 / hits as f64,
        });
    Ok(sampled.collect())
}

/// Returns the latency of each metric of a group, `None` for those without; `cycles_per_ns` is the
/// speed at which the benchmark ran.
pub fn latencies_of(
    group: &MetricGroup,
    table: Option<&LatencyTable>,
    sampled: &[SampledLatency],
    cycles_per_ns: Option<f64>,
) -> Vec<Option<UsedLatency>> {
    let metrics = group.metrics.iter();
    let used = metrics.map(|metric| {
        let event = metric.latency_of?;
        let sampled = sampled.iter().find(|sampled| sampled.event == event);
        let known = table?.of(event)?;
        Some(UsedLatency {
            event: event.name,
            latency: known.counting(sampled.map(|entry| entry.mean_cycles), cycles_per_ns)?,
            hits: sampled.map(|entry| entry.hits),
        })
    });
    used.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use topdown_counters::cpu::{LATENCIES, LatencyOrigin, TABLES};
    use topdown_run::provenance::SourceKind;
    use topdown_run::sample::{GroupCounts, Sample};

    fn group(name: &str) -> &'static MetricGroup {
        let mut tables = TABLES.iter();
        let table = tables.find(|table| table.name == "Golden Cove").unwrap();
        table.group(name).unwrap()
    }

    fn table(name: &str) -> &'static LatencyTable {
        let mut tables = LATENCIES.iter();
        tables.find(|table| table.name == name).unwrap()
    }

    fn launch(counts: &[&[u64]]) -> (Provenance, Vec<IterationSample>) {
        let provenance = Provenance::new(SourceKind::Hardware, "latencies-Load_Latency/1", "");
        let sample = |counts: &&[u64]| IterationSample {
            iterations: 1,
            sample: Sample {
                windows: 1,
                group_counts: GroupCounts::new(counts),
                ..Sample::EMPTY
            },
        };
        (provenance, counts.iter().map(sample).collect())
    }

    fn sampled(counts: &[&[u64]]) -> Result<Vec<SampledLatency>, String> {
        let (provenance, samples) = launch(counts);
        let table = table("Granite Rapids");
        sampled_of(group("Load_Latency"), table, &provenance, &samples)
            .map_err(|error| error.to_string())
    }

    #[test]
    fn latency_is_mean_of_enough_pmu_samples() {
        let sampled = sampled(&[&[900, 9_000, 60, 3_000], &[100, 3_000, 39, 1_000]]).unwrap();
        let [l2] = sampled[..] else {
            panic!("{sampled:?}")
        };
        assert_eq!((l2.event.name, l2.hits), ("MEM_LOAD_RETIRED.L2_HIT", 1000));
        assert_eq!(l2.mean_cycles, 12.0);
        let used = latencies_of(
            group("Load_Latency"),
            Some(table("Granite Rapids")),
            &sampled,
            Some(2.0),
        );
        let [Some(l2), Some(l3)] = &used[..] else {
            panic!("{used:?}")
        };
        // TMA takes at most 4.4 ns.
        assert_eq!((l2.latency.cycles, l2.latency.counted_cycles), (12.0, 8.8));
        assert_eq!(l2.hits, Some(1000));
        assert_eq!(l3.latency.origin, LatencyOrigin::Published);
        assert_eq!((l3.latency.cycles, l3.hits), (57.64, None));
    }

    #[test]
    fn missing_records_are_reported() {
        let none = sampled(&[&[900, 0, 900, 0]]).unwrap_err();
        assert!(none.contains("no retire latency"), "{none}");
        // Some loads retire at once.
        assert_eq!(sampled(&[&[900, 0, 900, 5]]).unwrap().len(), 2);
        assert_eq!(sampled(&[&[5, 10, 5, 10]]).unwrap(), []);
        assert!(sampled(&[]).unwrap_err().contains("usable"));
        assert!(sampled(&[&[1, 2]]).unwrap_err().contains("instead"));
    }

    #[test]
    fn groups_without_any_latency_are_not_measured() {
        let known = |name, core| can_be_known(group(name), Some(table(core)));
        assert!(known("Load_Latency (memory)", "Sapphire, Emerald Rapids"));
        assert!(!known("Lock_Latency", "Sapphire, Emerald Rapids"));
        assert!(known("Lock_Latency", "Meteor Lake, Arrow Lake U"));
        assert!(!known(
            "Load_Latency (memory)",
            "Alder, Raptor, Bartlett Lake"
        ));
        assert!(can_be_known(group("Operation_Mix"), None));
        assert!(!can_be_known(group("Load_Latency"), None));
    }
}
