//! One benchmark, what explains where its slots went, and what explains its difference between two
//! runs.
//!
//! This crate selects the category to explain and the groups for it. The numbers come from
//! launches that counted one group each, and are never scaled: `values`.
#![forbid(unsafe_code)]

pub mod advice;
pub mod difference;
mod error;
mod group_functions;
pub mod latencies;
pub mod listing;
pub mod sampled;
mod sums;
mod values;

use thiserror::Error;
use topdown_counters::cpu::{
    CpuTable, LatencyTable, Level1Counting, MODELLED, Metric, MetricGroup, Node, Subject,
};
use topdown_run::category::Category;
use topdown_run::machine::Machine;
use topdown_run::provenance::Provenance;
use topdown_run::run_file::{Benchmark, BenchmarkId, Functions, IterationSample};
use topdown_run::sample::Flags;

use topdown_gate::statistics::launch::MIN_SAMPLES;
use topdown_gate::summary::{Shares, Summary};

pub use error::ExplainError;
pub use group_functions::{EventFunctions, GroupFunctions, SampledFunction};
use latencies::Latencies;
use sampled::SampledGroup;
use values::modelled_values_of;
pub use values::{KnownLatencies, Values, values_of};

/// Retiring is explained only from this share of all slots on: below it, there is more to gain
/// elsewhere. This is the threshold of Intel's metrics (`tma_retiring`, TMA_Metrics-full.csv 5.2).
pub const MUCH_RETIRING: f64 = 0.70;

/// A benchmark, its categories, and what explains one of them.
#[derive(Debug)]
pub struct Explained {
    /// The benchmark.
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
    pub functions: Option<Box<Functions>>,
    /// How its modelled launches differ, if they do.
    pub launches_differ: Option<String>,
}

/// A metric group and the values from its launch.
#[derive(Debug)]
pub struct MeasuredGroup {
    /// What was counted.
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
        let groups = groups.filter(|measured| !measured.is_rare_and_absent());
        Ok(Explained {
            id: benchmark.id.clone(),
            machine,
            provenance: provenance.clone(),
            summary,
            shares: Some(shares),
            category,
            groups: groups.collect(),
            functions: benchmark.functions.clone(),
            launches_differ: benchmark.launches_differ.clone(),
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

    /// Returns whether it is about events that hardly any benchmark has, and neither does this one.
    fn is_rare_and_absent(&self) -> bool {
        let is_rare = matches!(
            self.group.subject,
            Subject::LoadBlocks | Subject::NotModelled
        );
        is_rare && !self.metrics().any(|(_, value)| value > Some(0.0))
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
    /// The bench recorded PMU samples without a retire latency.
    #[error("the kernel's records hold no retire latency")]
    NoLatencies,
    /// The bench recorded no PMU samples.
    #[error("the bench recorded no PMU samples of its events")]
    NoHits,
    /// Too few samples were usable.
    #[error(
        "its launch has fewer than {} usable samples (flags: {flags}); measure for longer, or pin \
         the bench to one CPU",
        MIN_SAMPLES
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

#[cfg(test)]
mod tests {
    use super::*;
    use topdown_counters::cpu::TABLES;

    fn shares(level1: [f64; 4]) -> Shares {
        Shares {
            level1: level1.into(),
            level2: None,
            smt_contention: None,
        }
    }

    #[test]
    fn dominant_category_is_explained() {
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
    fn core_without_slots_uses_stalled_cycles() {
        let first_group = |name, are_hidden| {
            let table = TABLES.iter().find(|table| table.name == name).unwrap();
            stalled_cycles(table, are_hidden).map(|group| group.name)
        };
        assert_eq!(first_group("Neoverse N1", false), Some("Cycle_Accounting"));
        assert_eq!(first_group("Neoverse V1", false), None);
        assert_eq!(first_group("Zen 1 … Zen 3", false), None);
        // As on `n2-filtered` of the emulated machines.
        for name in ["Neoverse N2", "Neoverse V1", "Arm"] {
            assert_eq!(first_group(name, true), Some("Cycle_Accounting"), "{name}");
        }
        // Its groups are parts of either.
        assert_eq!(first_group("Neoverse V3", true), None);
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
    fn level_2_is_measured_once() {
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
}
