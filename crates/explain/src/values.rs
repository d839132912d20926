//! Metrics of a group's launch, as ratios of sums over its samples.

use topdown_counters::cpu::{Counter, Counts, LatencyTable, MetricGroup, modelled_counts};
use topdown_run::provenance::Provenance;
use topdown_run::run_file::IterationSample;
use topdown_run::sample::{Flags, GroupCounts};

use topdown_gate::statistics::launch::{MIN_SAMPLES, Taken, kept_for_slots};

use super::GroupError;
use super::latencies::{SampledLatency, UsedLatency, latencies_of};
use super::sums::{all_flags, sum_of};

/// Sums over the samples of a group's launch.
#[derive(Debug)]
pub struct Values {
    /// The sums of the group's counts.
    pub counts: Vec<u64>,
    /// One for each metric.
    pub values: Vec<Option<f64>>,
    /// Events that counted nothing.
    pub uncounted: Vec<&'static str>,
    /// The retire latencies that the metrics use.
    pub latencies: Vec<UsedLatency>,
}

/// Retire latencies, in addition to a group's counts.
#[derive(Clone, Copy, Debug, Default)]
pub struct KnownLatencies<'a> {
    /// Those of the family.
    pub table: Option<&'static LatencyTable>,
    /// Those of this benchmark.
    pub sampled: &'a [SampledLatency],
}

/// Computes the metrics of `group` over all usable samples of its launch, as ratios of sums. If the
/// machine `may_hide` events, also returns those that counted nothing; what they change is left
/// out.
///
/// # Errors
/// Returns an error if something else was counted, or too few samples are usable.
pub fn values_of(
    group: &'static MetricGroup,
    provenance: &Provenance,
    samples: &[IterationSample],
    may_hide: bool,
    known: KnownLatencies<'_>,
) -> Result<Values, GroupError> {
    let not_counted = || GroupError::NotCounted {
        formula: provenance.formula.clone(),
    };
    if provenance.formula != group.formula() {
        return Err(not_counted());
    }
    let usable: Vec<&IterationSample> = samples
        .iter()
        .filter(|s| !s.sample.flags.intersects(Flags::UNUSABLE))
        .filter(|s| s.sample.group_counts.is_some())
        .collect();
    if usable.len() < MIN_SAMPLES {
        return Err(GroupError::NothingUsable {
            flags: all_flags(samples),
        });
    }
    let sum = sum_of(usable.iter().map(|s| s.sample.group_counts))
        .filter(|sum| sum.as_slice().len() == group.events.len())
        .ok_or_else(not_counted)?;
    let counts = sum.as_slice();
    let wall_ns: u64 = usable.iter().map(|s| s.sample.wall_ns).sum();
    let events = group.events.iter().zip(counts);
    let mut cycles = events.filter(|(event, _)| event.counter == Counter::FixedCycles);
    let cycles_per_ns = cycles
        .next()
        .map(|(_, cycles)| *cycles as f64 / wall_ns as f64);
    let cycles_per_ns = cycles_per_ns.filter(|ratio| ratio.is_normal());
    let latencies = latencies_of(group, known.table, known.sampled, cycles_per_ns);
    let uncounted: Vec<usize> = (0..counts.len())
        .filter(|at| may_hide && counts[*at] == 0)
        .collect();
    let mut values = ratios(group, sum, provenance, &latencies);
    for at in &uncounted {
        let mut others = counts.to_vec();
        others[*at] = counts.iter().copied().max().unwrap_or(0).max(1);
        let Some(others) = GroupCounts::new(&others) else {
            continue;
        };
        let others = ratios(group, others, provenance, &latencies);
        for (value, other) in values.iter_mut().zip(others) {
            if *value != other {
                *value = None;
            }
        }
    }
    let names = uncounted.into_iter().map(|at| group.events[at].name);
    Ok(Values {
        counts: counts.to_vec(),
        values,
        uncounted: names.collect(),
        latencies: latencies.into_iter().flatten().collect(),
    })
}

/// Like [`values_of`], for samples of the model, which hold the events of all groups: over those
/// that its slots come from, since the others warm it up.
///
/// # Errors
/// Returns an error if too few samples are usable.
pub(super) fn modelled_values_of(
    group: &'static MetricGroup,
    provenance: &Provenance,
    samples: &[IterationSample],
) -> Result<Vec<Option<f64>>, GroupError> {
    let kept = kept_for_slots(samples, Taken::OnTheModel);
    let kept = kept.ok_or_else(|| GroupError::NothingUsable {
        flags: all_flags(samples),
    })?;
    let counts = kept
        .into_iter()
        .map(|at| modelled_counts(group, &samples[at].sample));
    let sum = sum_of(counts).ok_or_else(|| GroupError::NotCounted {
        formula: provenance.formula.clone(),
    })?;
    Ok(ratios(group, sum, provenance, &[]))
}

fn ratios(
    group: &'static MetricGroup,
    sum: GroupCounts,
    provenance: &Provenance,
    latencies: &[Option<UsedLatency>],
) -> Vec<Option<f64>> {
    let counts = Counts::new(
        group.events,
        sum.as_slice().iter().copied(),
        provenance.slots_per_cycle.unwrap_or(1),
    );
    let latencies = latencies
        .iter()
        .map(Option::as_ref)
        .chain(std::iter::repeat(None));
    let metrics = group.metrics.iter().zip(latencies);
    let values = metrics
        .map(|(metric, used)| metric.value(&counts, used.map(|used| used.latency.counted_cycles)));
    values.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::may_hide_events;
    use topdown_counters::cpu::{CpuTable, LATENCIES, MODELLED, TABLES};
    use topdown_counters::scripted::TABLE;
    use topdown_run::event::{Event, Events};
    use topdown_run::machine::Machine;
    use topdown_run::provenance::SourceKind;
    use topdown_run::sample::Sample;

    fn group() -> &'static MetricGroup {
        TABLE.group("Memory_Effectiveness").unwrap()
    }

    fn provenance(formula: String) -> Provenance {
        Provenance {
            slots_per_cycle: Some(4),
            ..Provenance::new(SourceKind::Hardware, formula, "")
        }
    }

    fn samples(flags: Flags, counts: &[[u64; 2]]) -> Vec<IterationSample> {
        let sample = |counts: &[u64; 2]| IterationSample {
            iterations: 1,
            sample: Sample {
                windows: 1,
                group_counts: GroupCounts::new(counts),
                flags,
                ..Sample::EMPTY
            },
        };
        counts.iter().map(sample).collect()
    }

    fn measured(
        group: &'static MetricGroup,
        provenance: &Provenance,
        samples: &[IterationSample],
        may_hide: bool,
    ) -> Result<Values, GroupError> {
        values_of(
            group,
            provenance,
            samples,
            may_hide,
            KnownLatencies::default(),
        )
    }

    /// On Sapphire Rapids, whose L2 is assumed to take 4.4 ns.
    #[test]
    fn latency_ns_uses_speed_of_benchmark() {
        let is_golden_cove = |table: &&&CpuTable| table.name == "Golden Cove";
        let cores = TABLES.iter().find(is_golden_cove).unwrap();
        let group = cores.group("Load_Latency").unwrap();
        let mut tables = LATENCIES.iter();
        let table = tables.find(|table| table.name.starts_with("Sapphire"));
        let sample = IterationSample {
            iterations: 1,
            sample: Sample {
                windows: 1,
                wall_ns: 500_000,
                // The cycles, L1 misses, hits of fill buffers, L2 hits, L3 hits.
                group_counts: GroupCounts::new(&[1_000_000, 30_000, 15_000, 8_000, 0]),
                ..Sample::EMPTY
            },
        };
        let provenance = provenance(group.formula());
        let known = KnownLatencies {
            table: table.copied(),
            sampled: &[],
        };
        let found = values_of(group, &provenance, &[sample; 4], false, known).unwrap();
        // 8000 loads of 8.8 cycles, and a quarter for those that wait for the same lines.
        let [Some(l2), Some(l3)] = found.values[..] else {
            panic!("{found:?}")
        };
        assert!((l2 - 8.8).abs() < 1e-9 && l3 == 0.0, "{l2} {l3}");
        assert_eq!(found.latencies.len(), 2);
        // Without a table there is nothing to multiply with.
        let found = measured(group, &provenance, &[sample; 4], false).unwrap();
        assert_eq!(found.values, [None, None]);
    }

    const COUNTS: [[u64; 2]; 4] = [[1000, 0], [1000, 2_000_000], [1000, 2_000_000], [1000, 0]];

    #[test]
    fn metric_is_ratio_of_sums() {
        let provenance = provenance(group().formula());
        let samples = samples(Flags::NONE, &COUNTS);
        for may_hide in [false, true] {
            let found = measured(group(), &provenance, &samples, may_hide).unwrap();
            assert_eq!(found.values, [Some(1.0)]);
            assert_eq!(found.uncounted, [""; 0]);
        }
    }

    /// A hypervisor may not pass on an event, which then opens and counts 0.
    #[test]
    fn possibly_hidden_event_is_named() {
        let provenance = provenance(group().formula());
        let samples = samples(Flags::NONE, &[[1000, 0]; 4]);
        let found = measured(group(), &provenance, &samples, false).unwrap();
        assert_eq!((found.values, found.uncounted), (vec![Some(0.0)], vec![]));
        let found = measured(group(), &provenance, &samples, true).unwrap();
        assert_eq!(found.values, [None]);
        assert_eq!(found.uncounted, [group().events[1].name]);

        let machine = |architecture: &str, hypervisor: Option<&str>| Machine {
            architecture: architecture.to_owned(),
            hypervisor: hypervisor.map(str::to_owned),
            ..Machine::default()
        };
        assert!(!may_hide_events(&machine("x86_64", None)));
        assert!(may_hide_events(&machine("x86_64", Some("KVM"))));
        assert!(may_hide_events(&machine("aarch64", None)));
    }

    #[test]
    fn uncounted_events_are_reported() {
        let ours = provenance(group().formula());
        let refusal = |provenance: &Provenance, samples: &[IterationSample]| {
            let error = measured(group(), provenance, samples, true).unwrap_err();
            error.to_string()
        };
        let other = provenance("zen-4/1".to_owned());
        let text = refusal(&other, &samples(Flags::NONE, &COUNTS));
        assert!(text.starts_with("the bench measured `zen-4/1` instead"));
        let text = refusal(&ours, &samples(Flags::NOT_COUNTING, &COUNTS));
        assert!(text.contains("(flags: not-counting)"), "{text}");
    }

    #[test]
    fn model_events_come_with_its_samples() {
        let group = MODELLED.group("Machine_Clears").unwrap();
        let sample = IterationSample {
            iterations: 1,
            sample: Sample {
                slots: Some(8000),
                instructions: Some(2000),
                events: Events::NONE.with(Event::MachineClears, 3),
                ..Sample::EMPTY
            },
        };
        let provenance = provenance("model-zen-5/1".to_owned());
        // The first sample warms the model up.
        let first = IterationSample {
            sample: Sample {
                events: Events::NONE.with(Event::MachineClears, 900),
                ..sample.sample
            },
            ..sample
        };
        let values = modelled_values_of(group, &provenance, &[first, sample]);
        assert_eq!(values.unwrap(), [Some(1.5)]);
        assert!(modelled_values_of(group, &provenance, &[sample]).is_err());
    }
}
