//! An explanation by metric groups, for programs.

use std::io::{self, Write};

use serde::Serialize;

use crate::advice_text::sentence;
use topdown_counters::cpu::{LatencyOrigin, Node};
use topdown_run::category::Category;
use topdown_run::machine::Machine;
use topdown_run::provenance::Provenance;
use topdown_run::run_file::{BenchmarkId, Functions};

use topdown_explain::EventFunctions;
use topdown_explain::advice::{Advice, Findings, Limit};
use topdown_explain::latencies::UsedLatency;
use topdown_explain::{Explained, MeasuredGroup};
use topdown_gate::statistics::share::share_margin;
use topdown_gate::summary::Shares;

/// The version of this format.
pub const EXPLAIN_SCHEMA_VERSION: u32 = 1;

/// Writes `explained` as one JSON object and a line end.
///
/// # Errors
/// Returns an error if writing to `out` fails.
pub fn write(out: &mut impl Write, explained: &Explained) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *out, &ExplainReport::new(explained))?;
    out.write_all(b"\n")
}

/// One benchmark by metric groups: the JSON of `cargo topdown explain --json`.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ExplainReport<'a> {
    /// The version of this format.
    #[cfg_attr(feature = "schema", schemars(extend("const" = EXPLAIN_SCHEMA_VERSION)))]
    schema_version: u32,
    /// The benchmark.
    benchmark: &'a BenchmarkId,
    /// The machine it ran on.
    machine: &'a Machine,
    /// How its categories were obtained.
    provenance: &'a Provenance,
    /// Slots per iteration.
    #[serde(skip_serializing_if = "Option::is_none")]
    slots: Option<f64>,
    /// Instructions per cycle.
    #[serde(skip_serializing_if = "Option::is_none")]
    instructions_per_cycle: Option<f64>,
    /// Where the slots went; absent on cores that only count stalled cycles.
    #[serde(skip_serializing_if = "Option::is_none")]
    shares: Option<SlotShares>,
    /// The category that is explained.
    explained: &'static str,
    /// In the order of the decision tree.
    groups: Vec<Group<'a>>,
    /// What the slots of a category or part call for.
    node_advice: Vec<NodeAdvice>,
    /// What the numbers exclude as the cause: parts of the category, and causes.
    ruled_out: Vec<&'static str>,
    /// The functions to which the slots went, if known.
    #[serde(skip_serializing_if = "Option::is_none")]
    functions: Option<&'a Functions>,
    /// How its modelled launches differ, for people; absent if they do not.
    #[serde(skip_serializing_if = "Option::is_none")]
    launches_differ: Option<&'a str>,
}

/// Advice about a category or a part of it.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct NodeAdvice {
    /// The category or part.
    node: &'static str,
    /// The cause, the metric that shows it, and what to try, for people.
    advice: String,
    /// What shows the cause.
    because: AdviceEvidence,
}

/// The number that bears out a sentence of advice.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct AdviceEvidence {
    /// The name of the metric, category or part.
    metric: &'static str,
    /// Its value.
    value: f64,
    /// The unit after the number.
    unit: &'static str,
    /// The sentence is given for values from this one on.
    #[serde(skip_serializing_if = "Option::is_none")]
    at_least: Option<f64>,
    /// The sentence is given for values up to this one.
    #[serde(skip_serializing_if = "Option::is_none")]
    at_most: Option<f64>,
}

/// Categories as fractions of all slots.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct SlotShares {
    /// Useful work.
    retiring: f64,
    /// Work that was discarded.
    bad_speculation: f64,
    /// The frontend delivered nothing.
    frontend_bound: f64,
    /// The backend could not accept anything.
    backend_bound: f64,
    /// Slots of the other hardware thread, on CPUs that count them.
    #[serde(skip_serializing_if = "Option::is_none")]
    smt_contention: Option<f64>,
    /// Part of retiring.
    #[serde(skip_serializing_if = "Option::is_none")]
    heavy_operations: Option<f64>,
    /// Part of bad speculation.
    #[serde(skip_serializing_if = "Option::is_none")]
    branch_mispredicts: Option<f64>,
    /// Part of frontend bound.
    #[serde(skip_serializing_if = "Option::is_none")]
    fetch_latency: Option<f64>,
    /// Part of backend bound.
    #[serde(skip_serializing_if = "Option::is_none")]
    memory_bound: Option<f64>,
}

/// A metric group and the values from its launch.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct Group<'a> {
    /// Its name.
    name: &'static str,
    /// The category or part that it explains.
    #[serde(skip_serializing_if = "Option::is_none")]
    node: Option<&'static str>,
    /// Its metrics; empty if it was not measured.
    metrics: Vec<MetricValue<'a>>,
    /// Events that counted nothing on a machine that may hide events; metrics that need them have
    /// no value. Absent if there are none.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    uncounted: &'a [&'static str],
    /// The retire latencies that its metrics use. Absent if there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    latencies: Vec<LatencyValue>,
    /// Why they were not sampled, on cores that record them.
    #[serde(skip_serializing_if = "Option::is_none")]
    latencies_not_sampled: Option<&'a str>,
    /// The functions in which its events happen, where the maker of the core names events to
    /// sample. First those of the event that paces the PMU samples. Absent if there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    sampled: Vec<SampledEvent<'a>>,
    /// Why these functions are unknown, if they were to be sampled.
    #[serde(skip_serializing_if = "Option::is_none")]
    not_sampled: Option<String>,
    /// What to try, for people; absent if the numbers do not call for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    advice: Option<String>,
    /// What shows the cause, if there is advice.
    #[serde(skip_serializing_if = "Option::is_none")]
    because: Option<AdviceEvidence>,
    /// Why it was not measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    refused: Option<String>,
}

/// Retire latency of an event.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct LatencyValue {
    /// The event.
    event: &'static str,
    /// Core cycles per occurrence.
    cycles: f64,
    /// Number of them that count: fewer if Intel's metrics limit them.
    counted_cycles: f64,
    /// Where it comes from.
    origin: Origin,
    /// The number of PMU samples, if it was sampled.
    #[serde(skip_serializing_if = "Option::is_none")]
    hits: Option<u64>,
}

/// An event that was sampled.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct SampledEvent<'a> {
    /// Its name.
    event: &'a str,
    /// Number of its interrupts.
    hits: u64,
    /// Its functions, the most frequent one first.
    functions: Vec<SampledFunction<'a>>,
}

/// A function in which an event was sampled.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct SampledFunction<'a> {
    /// Its name; absent for code without a name.
    #[serde(skip_serializing_if = "Option::is_none")]
    name: &'a Option<String>,
    /// Its module, unless that is the bench executable.
    #[serde(skip_serializing_if = "Option::is_none")]
    module: &'a Option<String>,
    /// The fraction of the event's counts.
    share: f64,
    /// Half the width of the share's 95 % interval.
    margin: f64,
}

/// Where a retire latency comes from.
#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
enum Origin {
    /// The records of this benchmark.
    Sampled,
    /// The mean that Intel published for the family.
    Published,
    /// The time that Intel's metrics assume for the family.
    Assumed,
}

/// A metric of a group.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct MetricValue<'a> {
    /// Its name, in the vendor's spelling if there is one.
    name: &'a str,
    /// Its value; absent if it cannot be computed, such as a ratio to a count of zero.
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<f64>,
    /// The unit after the number.
    unit: &'a str,
}

impl<'a> ExplainReport<'a> {
    fn new(explained: &'a Explained) -> ExplainReport<'a> {
        let findings = Findings::new(explained);
        let groups = explained.groups.iter().zip(&findings.groups);
        ExplainReport {
            schema_version: EXPLAIN_SCHEMA_VERSION,
            benchmark: &explained.id,
            machine: &explained.machine,
            provenance: &explained.provenance,
            slots: explained.summary.slots.map(|slots| slots.mean),
            instructions_per_cycle: explained.summary.instructions_per_cycle,
            shares: explained.shares.as_ref().map(SlotShares::new),
            explained: Node::Category(explained.category).name(),
            groups: groups
                .map(|(measured, advice)| Group::new(measured, advice, explained.category))
                .collect(),
            node_advice: findings
                .nodes
                .iter()
                .map(|(node, advice)| NodeAdvice {
                    node: node.name(),
                    advice: sentence(advice),
                    because: AdviceEvidence::new(advice),
                })
                .collect(),
            ruled_out: findings.ruled_out,
            functions: explained.functions.as_deref(),
            launches_differ: explained.launches_differ.as_deref(),
        }
    }
}

impl SlotShares {
    fn new(shares: &Shares) -> SlotShares {
        let share = |category: Category| shares.level1[category];
        let part = |category: Category| shares.level2.map(|parts| parts[category]);
        SlotShares {
            retiring: share(Category::Retiring),
            bad_speculation: share(Category::BadSpeculation),
            frontend_bound: share(Category::FrontendBound),
            backend_bound: share(Category::BackendBound),
            smt_contention: shares.smt_contention,
            heavy_operations: part(Category::Retiring),
            branch_mispredicts: part(Category::BadSpeculation),
            fetch_latency: part(Category::FrontendBound),
            memory_bound: part(Category::BackendBound),
        }
    }
}

impl AdviceEvidence {
    fn new(advice: &Advice) -> AdviceEvidence {
        let (at_least, at_most) = match advice.limit {
            Limit::AtLeast(least) => (Some(least), None),
            Limit::AtMost(most) => (None, Some(most)),
        };
        AdviceEvidence {
            metric: advice.metric,
            value: advice.value,
            unit: advice.unit,
            at_least,
            at_most,
        }
    }
}

impl LatencyValue {
    fn new(used: &UsedLatency) -> LatencyValue {
        LatencyValue {
            event: used.event,
            cycles: used.latency.cycles,
            counted_cycles: used.latency.counted_cycles,
            origin: match used.latency.origin {
                LatencyOrigin::Sampled => Origin::Sampled,
                LatencyOrigin::Published => Origin::Published,
                LatencyOrigin::Assumed => Origin::Assumed,
            },
            hits: used.hits,
        }
    }
}

impl<'a> SampledEvent<'a> {
    fn new(event: &'a str, sampled: &'a EventFunctions) -> SampledEvent<'a> {
        let functions = sampled.functions.iter().map(|function| SampledFunction {
            name: &function.name,
            module: &function.module,
            share: function.share,
            margin: share_margin(function.share, sampled.hits),
        });
        SampledEvent {
            event,
            hits: sampled.hits,
            functions: functions.collect(),
        }
    }
}

impl<'a> Group<'a> {
    fn new(measured: &'a MeasuredGroup, advice: &Option<Advice>, category: Category) -> Group<'a> {
        Group {
            name: measured.group.name,
            node: measured.group.node_in(category).map(Node::name),
            metrics: measured
                .metrics()
                .map(|(metric, value)| MetricValue {
                    name: metric.name,
                    value,
                    unit: metric.unit,
                })
                .collect(),
            uncounted: &measured.uncounted,
            latencies: measured
                .latencies
                .iter()
                .flat_map(|latencies| &latencies.used)
                .map(LatencyValue::new)
                .collect(),
            latencies_not_sampled: measured
                .latencies
                .as_ref()
                .and_then(|latencies| latencies.not_sampled.as_deref()),
            sampled: match &measured.functions {
                Some(Ok(sampled)) => {
                    let pace = measured.group.events[measured.group.paced_at()].name;
                    let events = sampled.events.iter();
                    let events = events.map(|(event, sampled)| (event.as_str(), sampled));
                    let all = std::iter::once((pace, &sampled.paced)).chain(events);
                    all.map(|(event, sampled)| SampledEvent::new(event, sampled))
                        .collect()
                }
                _ => Vec::new(),
            },
            not_sampled: match &measured.functions {
                Some(Err(error)) => Some(error.to_string()),
                _ => None,
            },
            advice: advice.as_ref().map(sentence),
            because: advice.as_ref().map(AdviceEvidence::new),
            refused: measured.values.as_ref().err().map(ToString::to_string),
        }
    }
}
