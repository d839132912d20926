//! One benchmark, and the metric groups that explain where its slots went.
//!
//! This module selects the category to explain and the groups for it. The numbers come from
//! launches that counted one group each, and are never scaled.

mod error;
pub mod latencies;
pub mod sampled;

use criterion_topdown::category::Category;
use criterion_topdown::cpu::{
    Counter, Counts, CpuTable, LatencyTable, Level1Counting, MODELLED, Metric, MetricGroup, Node,
    Subject, modelled_counts,
};
use criterion_topdown::machine::Machine;
use criterion_topdown::provenance::Provenance;
use criterion_topdown::run_file::{Benchmark, BenchmarkId, Functions, IterationSample};
use criterion_topdown::sample::{Flags, GroupCounts};
use thiserror::Error;

use topdown_gate::statistics::launch::{LEAST_SAMPLES, Taken, kept_for_slots};
use topdown_gate::summary::{Shares, Summary};

pub use error::ExplainError;
use latencies::{Latencies, SampledLatency, UsedLatency, latencies_of};
use sampled::SampledGroup;

/// Retiring is explained only from this share of all slots on: below it, there is more to gain
/// elsewhere. This is the threshold of Intel's metrics (`tma_retiring`, TMA_Metrics-full.csv 5.2).
pub const MUCH_RETIRING: f64 = 0.70;

/// A benchmark, its categories, and what explains one of them.
#[derive(Debug)]
pub struct Explained {
    pub id: BenchmarkId,
    /// The machine it ran on.
    pub machine: Machine,
    /// How its categories were obtained.
    pub provenance: Provenance,
    /// The launch of level 1.
    pub summary: Summary,
    /// Its categories; `None` on cores that only count stalled cycles.
    pub shares: Option<Shares>,
    /// The category that is explained.
    pub category: Category,
    /// In the order of the decision tree.
    pub groups: Vec<MeasuredGroup>,
    /// The functions to which its slots went, if known.
    pub functions: Option<Functions>,
}

/// A metric group and the values from its launch.
#[derive(Debug)]
pub struct MeasuredGroup {
    pub group: &'static MetricGroup,
    /// One value for each of its metrics.
    pub values: Result<Vec<Option<f64>>, GroupError>,
    /// Events that counted nothing, on machines that may hide events. Metrics that they change have
    /// no value.
    pub uncounted: Vec<&'static str>,
    /// The retire latencies that its metrics need, if they do.
    pub latencies: Option<Latencies>,
    /// The functions in which its events happen, if it was sampled.
    pub functions: Option<SampledGroup>,
}

impl Explained {
    /// Explains a modelled benchmark by `samples` of its launch, which hold the events of all
    /// groups; by default, the category that loses most slots.
    ///
    /// # Errors
    /// Returns an error if the benchmark has no categories.
    pub fn modelled(
        benchmark: &Benchmark,
        samples: &[IterationSample],
        category: Option<Category>,
        machine: Machine,
    ) -> Result<Explained, ExplainError> {
        let (summary, shares) = categories_of(benchmark)?;
        let category = category.unwrap_or_else(|| dominant_category(&shares));
        let provenance = benchmark.provenance();
        let groups = groups_for(&MODELLED, category, shares.level2.is_some());
        let groups = groups.map(|group| MeasuredGroup {
            group,
            values: modelled_values_of(group, provenance, samples),
            uncounted: Vec::new(),
            latencies: None,
            functions: None,
        });
        Ok(Explained {
            id: benchmark.id.clone(),
            machine,
            provenance: provenance.clone(),
            summary,
            shares: Some(shares),
            category,
            groups: groups.collect(),
            functions: benchmark.functions.clone(),
        })
    }
}

/// Returns a benchmark's summary and its categories.
///
/// # Errors
/// Returns an error if it has no categories.
pub fn categories_of(benchmark: &Benchmark) -> Result<(Summary, Shares), ExplainError> {
    let summary = Summary::new(benchmark);
    let with_shares = summary.and_then(|summary| Some((summary.shares?, summary)));
    match with_shares {
        Some((shares, summary)) => Ok((summary, shares)),
        None => Err(ExplainError::NoCategories(benchmark.id.clone())),
    }
}

impl MeasuredGroup {
    /// Takes what a group's launch said, the family's latencies, and why none of the benchmark's
    /// own were sampled.
    pub fn new(
        group: &'static MetricGroup,
        measured: Result<Values, GroupError>,
        table: Option<&'static LatencyTable>,
        not_sampled: Option<&GroupError>,
    ) -> MeasuredGroup {
        let (values, uncounted, used) = match measured {
            Ok(of) => (Ok(of.values), of.uncounted, of.latencies),
            Err(error) => (Err(error), Vec::new(), Vec::new()),
        };
        let needs_latencies = group.metrics.iter().any(|m| m.latency_of.is_some());
        MeasuredGroup {
            group,
            values,
            uncounted,
            latencies: table.filter(|_| needs_latencies).map(|table| Latencies {
                family: table.name,
                used,
                not_sampled: not_sampled.map(ToString::to_string),
            }),
            functions: None,
        }
    }

    /// Returns the metrics with their values; empty if the group was not measured.
    pub fn metrics(&self) -> impl Iterator<Item = (&'static Metric, Option<f64>)> {
        let values = self.values.as_deref().unwrap_or_default();
        self.group.metrics.iter().zip(values.iter().copied())
    }
}

/// Why a group was not measured. The other groups still are.
#[derive(Debug, Error)]
pub enum GroupError {
    /// The bench could not open it. Holds the bench's message.
    #[error("{0}")]
    Refused(String),
    /// The launch failed in another way.
    #[error("its launch failed: {0}")]
    Launch(String),
    /// The bench counted something else.
    #[error(
        "the bench measured `{formula}` instead: it chooses its source itself, or its \
         criterion-topdown does not support metric groups"
    )]
    NotCounted {
        /// The formula that it used instead.
        formula: String,
    },
    /// The bench recorded hits without a retire latency.
    #[error("the kernel's records hold no retire latency")]
    NoLatencies,
    /// The bench recorded no hits.
    #[error("the bench recorded no hits of its events")]
    NoHits,
    /// Too few samples were usable.
    #[error(
        "its launch has fewer than {} usable samples (flags: {flags}); measure for longer, or pin \
         the bench to one CPU",
        LEAST_SAMPLES
    )]
    NothingUsable {
        /// The flags of its samples.
        flags: Flags,
    },
}

/// Returns the category to explain: the one that loses most slots, or retiring if hardly any are
/// lost.
pub fn dominant_category(shares: &Shares) -> Category {
    if shares.level1.retiring >= MUCH_RETIRING {
        return Category::Retiring;
    }
    let lost = shares.level1.iter().skip(1);
    lost.max_by(|(_, a), (_, b)| a.total_cmp(b))
        .map_or(Category::Retiring, |(category, _)| category)
}

/// Returns the group that replaces level 1 on cores that cannot count slots, such as Neoverse N1,
/// and on others if their slots `are_hidden`.
pub fn stalled_cycles(table: &CpuTable, are_hidden: bool) -> Option<&'static MetricGroup> {
    if matches!(table.level1, Level1Counting::Forms(_)) && !are_hidden {
        return None;
    }
    let stalling = [Category::FrontendBound, Category::BackendBound].map(Node::Category);
    table.groups.iter().find(|group| {
        group.subject == Subject::Stalls
            && stalling.iter().all(|node| group.explains.contains(node))
    })
}

/// Returns the category to explain if only frontend and backend stalls are known: the larger of the
/// two, which are the group's first metrics.
pub fn stalling_category(stalls: &[Option<f64>]) -> Category {
    match stalls {
        [Some(frontend), Some(backend), ..] if frontend > backend => Category::FrontendBound,
        _ => Category::BackendBound,
    }
}

/// Returns the groups that a CPU's decision tree names for a category. Omits those of level 2 if
/// level 1 was counted together with it.
pub fn groups_for(
    table: &CpuTable,
    category: Category,
    has_level2: bool,
) -> impl Iterator<Item = &'static MetricGroup> {
    table
        .groups
        .iter()
        .filter(move |group| group.is_for(category))
        .filter(move |group| !(has_level2 && group.subject == Subject::Level2))
}

/// Returns whether events that `machine` does not count may open and count 0: a hypervisor may not
/// pass them on. Arm's machines do not say whether there is one.
pub fn may_hide_events(machine: &Machine) -> bool {
    machine.hypervisor.is_some() || machine.architecture == "aarch64"
}

/// What the samples of a group's launch say.
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

/// What is known about retire latencies besides a group's counts.
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
    if usable.len() < LEAST_SAMPLES {
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
fn modelled_values_of(
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

/// Adds up counts; `None` if they are not of one group.
fn sum_of(counts: impl Iterator<Item = Option<GroupCounts>>) -> Option<GroupCounts> {
    let add = |sum: Option<GroupCounts>, counts: Option<GroupCounts>| sum?.plus(&counts?);
    counts.reduce(add).flatten()
}

fn all_flags(samples: &[IterationSample]) -> Flags {
    let all = samples.iter().map(|s| s.sample.flags);
    all.fold(Flags::NONE, |all, flags| all | flags)
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
    use criterion_topdown::counter::scripted::TABLE;
    use criterion_topdown::cpu::{LATENCIES, TABLES};
    use criterion_topdown::event::{Event, Events};
    use criterion_topdown::provenance::SourceKind;
    use criterion_topdown::sample::Sample;

    fn shares(level1: [f64; 4]) -> Shares {
        Shares {
            level1: level1.into(),
            level2: None,
            smt_contention: None,
        }
    }

    #[test]
    fn the_category_that_loses_most_is_explained() {
        let category = |level1| dominant_category(&shares(level1));
        assert_eq!(category([0.4, 0.1, 0.2, 0.3]), Category::BackendBound);
        assert_eq!(category([0.6, 0.25, 0.1, 0.05]), Category::BadSpeculation);
        assert_eq!(category([0.1, 0.0, 0.9, 0.0]), Category::FrontendBound);
        assert_eq!(category([0.7, 0.0, 0.0, 0.3]), Category::Retiring);
        // A category can be negative within its resolution.
        assert_eq!(
            category([0.5, -0.01, -0.02, -0.03]),
            Category::BadSpeculation
        );
    }

    #[test]
    fn a_core_without_slots_is_explained_by_its_stalled_cycles() {
        let of = |name, are_hidden| {
            let table = TABLES.iter().find(|table| table.name == name).unwrap();
            stalled_cycles(table, are_hidden).map(|group| group.name)
        };
        assert_eq!(of("Neoverse N1", false), Some("Cycle_Accounting"));
        assert_eq!(of("Neoverse V1", false), None);
        assert_eq!(of("Zen 1 … Zen 3", false), None);
        // As on `n2-filtered` of the emulated machines.
        for name in ["Neoverse N2", "Neoverse V1", "Arm"] {
            assert_eq!(of(name, true), Some("Cycle_Accounting"), "{name}");
        }
        // Its groups are parts of either.
        assert_eq!(of("Neoverse V3", true), None);
        assert_eq!(
            stalling_category(&[Some(50.0), Some(20.0)]),
            Category::FrontendBound
        );
        assert_eq!(
            stalling_category(&[Some(0.0), Some(84.39)]),
            Category::BackendBound
        );
    }

    #[test]
    fn level_2_is_not_measured_twice() {
        let table = TABLES
            .iter()
            .find(|table| table.name == "Golden Cove")
            .unwrap();
        let names = |has_level2| -> Vec<&str> {
            groups_for(table, Category::BackendBound, has_level2)
                .map(|group| group.name)
                .collect()
        };
        assert_eq!(names(false)[0], "TopdownL2 backend_bound");
        assert_eq!(names(true), names(false)[1..]);
    }

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
    fn a_latency_in_nanoseconds_counts_at_the_speed_of_the_benchmark() {
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
        let of = values_of(group, &provenance, &[sample; 4], false, known).unwrap();
        // 8000 loads of 8.8 cycles, and a quarter for those that wait for the same lines.
        let [Some(l2), Some(l3)] = of.values[..] else {
            panic!("{of:?}")
        };
        assert!((l2 - 8.8).abs() < 1e-9 && l3 == 0.0, "{l2} {l3}");
        assert_eq!(of.latencies.len(), 2);
        // Without a table there is nothing to multiply with.
        let of = measured(group, &provenance, &[sample; 4], false).unwrap();
        assert_eq!(of.values, [None, None]);
    }

    const COUNTS: [[u64; 2]; 4] = [[1000, 0], [1000, 2_000_000], [1000, 2_000_000], [1000, 0]];

    #[test]
    fn a_metric_is_the_ratio_of_sums() {
        let provenance = provenance(group().formula());
        let samples = samples(Flags::NONE, &COUNTS);
        for may_hide in [false, true] {
            let of = measured(group(), &provenance, &samples, may_hide).unwrap();
            assert_eq!(of.values, [Some(1.0)]);
            assert_eq!(of.uncounted, [""; 0]);
        }
    }

    /// A hypervisor may not pass on an event, which then opens and counts 0.
    #[test]
    fn issue_16_1a_an_event_that_may_be_hidden_is_named_and_its_metrics_have_no_value() {
        let provenance = provenance(group().formula());
        let samples = samples(Flags::NONE, &[[1000, 0]; 4]);
        let of = measured(group(), &provenance, &samples, false).unwrap();
        assert_eq!((of.values, of.uncounted), (vec![Some(0.0)], vec![]));
        let of = measured(group(), &provenance, &samples, true).unwrap();
        assert_eq!(of.values, [None]);
        assert_eq!(of.uncounted, [group().events[1].name]);

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
    fn what_was_not_counted_is_said() {
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
    fn the_events_of_the_model_come_with_its_samples() {
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
