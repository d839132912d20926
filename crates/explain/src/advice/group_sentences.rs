//! Sentences about the metrics of a group, with their thresholds.

use topdown_counters::cpu::{Metric, Node, Subject};
use topdown_run::category::Category;

use super::node_sentences::{CORE_BOUND, INDEPENDENT};
use super::sentence::Limit;
use super::surprises::SURPRISES;
use crate::MeasuredGroup;

/// A sentence about the groups of a subject. The first one that holds is said; if none does, the
/// first one's cause is ruled out.
pub struct Row {
    pub subject: Subject,
    /// Only where the group explains this node.
    pub node: Option<Node>,
    pub shown_by: SubjectMetric,
    pub limit: Limit,
    /// What is ruled out if nothing holds; empty if this metric rules out nothing.
    pub rules_out: &'static str,
    pub cause: &'static str,
    pub remedy: &'static str,
    /// See [`Advice::cost`](super::Advice::cost).
    pub cost: &'static str,
}

/// The metric of a group that a sentence is about.
#[derive(Clone, Copy)]
pub enum SubjectMetric {
    /// The first rate per 1000 instructions that counts misses, mispredicts or clears.
    Misses,
    /// The largest of the parts.
    LargestPart,
    /// The one of these names that the CPU has.
    Named(&'static [&'static str]),
}

const PER_1000: &str = "per 1000 instructions";
/// Rates of what a cache supplied, which are misses of the one before it.
pub const HITS: [&str; 2] = ["l2_load_hits", "fills_from_l3"];
/// Percentages of a group that describe the whole node, not a part of it.
pub const WHOLES: [&str; 3] = ["backend_bound", "retiring", "nothing_executed"];

/// Metrics of bytes read from memory per instruction.
pub const READ_BYTES: &[&str] = &["memory_read"];

const FRONTEND_BOUND: Node = Node::Category(Category::FrontendBound);

/// The rates are those that cost about a tenth of the cycles at one instruction per cycle: some 20
/// cycles for a mispredict, 10 to 15 for what the second level supplies, 30 to 50 for the third
/// level or a page walk that caches serve, and 100 and more for memory, a clear or a far walk.
/// Those of single events are in [`Row::cost`]; `surprises` of the lab measured them on Redwood
/// Cove.
///
/// The percentages are the thresholds of Intel's metrics (TMA_Metrics-full.csv 5.2): 10 % of slots
/// for a part, 10 % of cycles for a level of memory or blocked loads, 20 % for atomic operations,
/// for aliased or split accesses, for the divider and for cycles with one operation.
static ROWS: [Row; 19] = [
    row(
        Subject::Level2,
        SubjectMetric::LargestPart,
        Limit::AtLeast(10.0),
        "",
        "This is the larger part",
        "look at it first",
    ),
    Row {
        node: Some(FRONTEND_BOUND),
        ..row(
            Subject::Branches,
            SubjectMetric::Misses,
            Limit::AtLeast(5.0),
            "mispredicts",
            "After each mispredict the frontend starts again",
            "make branches and indirect calls fewer or easier to predict; code that is larger than \
             the predictor's tables is mispredicted too",
        )
    },
    row(
        Subject::Branches,
        SubjectMetric::Misses,
        Limit::AtLeast(5.0),
        "mispredicts",
        "Branches are mispredicted",
        "sort or group the data, replace branches that depend on data with a table or arithmetic, \
         and give indirect calls fewer targets",
    ),
    row(
        Subject::Clears,
        SubjectMetric::Named(&["self_modifying_code"]),
        Limit::AtLeast(0.5),
        "",
        "Code is written shortly before it runs, or beside data that is written",
        "let a JIT compiler write code once and into pages of its own, and keep data out of them",
    )
    .costing("some 500 cycles on Redwood Cove, where only stores to lines of running code count"),
    row(
        Subject::Clears,
        SubjectMetric::Misses,
        Limit::AtLeast(0.5),
        "machine clears",
        "The pipeline is cleared",
        "keep data that is written apart from data that is read soon after, and avoid denormal \
         numbers and cache lines that threads share",
    ),
    row(
        Subject::InstructionTlb,
        SubjectMetric::Misses,
        Limit::AtLeast(0.5),
        "instruction TLB",
        "The code is spread over too many pages",
        "keep hot functions together (profile-guided optimisation, fewer instantiations), or put \
         the code on huge pages",
    ),
    row(
        Subject::InstructionCache,
        SubjectMetric::Misses,
        Limit::AtLeast(5.0),
        "instruction cache",
        "The hot code is larger than the cache",
        "mark rare paths `#[cold]`, inline less, and instantiate generic code less often",
    ),
    row(
        Subject::DecodedCache,
        SubjectMetric::Named(&["op_cache_mpki"]),
        Limit::AtLeast(10.0),
        "cache of decoded instructions",
        "Many instructions are decoded again and again",
        "make hot loops smaller and unroll less",
    ),
    row(
        Subject::DecodedCache,
        SubjectMetric::Named(&["dsb_coverage"]),
        Limit::AtMost(70.0),
        "",
        "Many instructions are decoded again and again",
        "make hot loops smaller and unroll less",
    ),
    row(
        Subject::DataTlb,
        SubjectMetric::Misses,
        Limit::AtLeast(1.0),
        "data TLB",
        "The data is spread over too many pages",
        "touch fewer of them per iteration, order accesses by address, or use huge pages",
    ),
    row(
        Subject::DataCache,
        SubjectMetric::Misses,
        Limit::AtLeast(10.0),
        "first-level cache",
        "The data of an iteration does not fit into the first-level cache",
        "make it denser (smaller types, arrays of fields), and work on blocks that fit",
    ),
    row(
        Subject::L2Cache,
        SubjectMetric::Misses,
        Limit::AtLeast(5.0),
        "second-level cache",
        "Many accesses go beyond the second-level cache",
        "block the work to fit it, and access memory in an order that the prefetchers follow",
    ),
    row(
        Subject::LastLevelCache,
        SubjectMetric::Misses,
        Limit::AtLeast(1.0),
        "memory",
        "Much of the data comes from memory",
        "read less of it, make dependent loads independent (batches in place of chains), and \
         prefetch what is known early",
    ),
    row(
        Subject::LastLevelCache,
        SubjectMetric::Named(READ_BYTES),
        Limit::AtLeast(1.0),
        "",
        "Much data streams through memory",
        "read and write less (smaller types, several steps in one pass); the prefetchers already \
         keep up",
    ),
    row(
        Subject::Stalls,
        SubjectMetric::LargestPart,
        Limit::AtLeast(10.0),
        "",
        "This is the largest part",
        "look at it first",
    ),
    row(
        Subject::OperationMix,
        SubjectMetric::Named(&["divider_busy", "divider"]),
        Limit::AtLeast(20.0),
        "divider",
        "The divider is busy",
        "divide less: multiply by a reciprocal, shift, or divide by constants",
    ),
    Row {
        node: Some(CORE_BOUND),
        ..row(
            Subject::OperationMix,
            SubjectMetric::Named(&["one_port"]),
            Limit::AtLeast(20.0),
            "",
            WAITING,
            INDEPENDENT,
        )
    },
    Row {
        node: Some(CORE_BOUND),
        ..row(
            Subject::OperationMix,
            SubjectMetric::Named(&["ipc"]),
            Limit::AtMost(2.0),
            "",
            WAITING,
            INDEPENDENT,
        )
    },
    Row {
        node: Some(CORE_BOUND),
        ..row(
            Subject::OperationMix,
            SubjectMetric::Named(&["ipc"]),
            Limit::AtLeast(2.0),
            "",
            "Operations compete for the same units",
            "use fewer or wider ones (vectors), and check that no chain of additions or loads runs \
             through the loop",
        )
    },
];

const WAITING: &str = "Operations wait for the results of others";

pub const fn row(
    subject: Subject,
    shown_by: SubjectMetric,
    limit: Limit,
    rules_out: &'static str,
    cause: &'static str,
    remedy: &'static str,
) -> Row {
    Row {
        subject,
        node: None,
        shown_by,
        limit,
        rules_out,
        cause,
        remedy,
        cost: "",
    }
}

impl Row {
    /// Adds what one of the events costs, and who says so.
    pub const fn costing(mut self, cost: &'static str) -> Row {
        self.cost = cost;
        self
    }
}

/// Returns all sentences.
pub fn rows() -> impl Iterator<Item = &'static Row> {
    ROWS.iter().chain(SURPRISES)
}

/// Returns the metric that a sentence is about, and its value.
pub fn shown(measured: &MeasuredGroup, by: SubjectMetric) -> Option<(&'static Metric, f64)> {
    let known = measured.metrics();
    let mut known = known.filter_map(|(metric, value)| Some((metric, value?)));
    match by {
        SubjectMetric::Misses => {
            known.find(|(metric, _)| metric.unit == PER_1000 && !HITS.contains(&metric.name))
        }
        SubjectMetric::Named(names) => known.find(|(metric, _)| names.contains(&metric.name)),
        SubjectMetric::LargestPart => known
            .filter(|(metric, _)| metric.unit.starts_with('%') && !WHOLES.contains(&metric.name))
            .max_by(|(_, a), (_, b)| a.total_cmp(b)),
    }
}

/// Returns how many misses of a subject per 1000 cycles cost about a tenth of the cycles, and what
/// is ruled out if there are far fewer.
pub fn costly_rate(subject: Subject) -> Option<(f64, &'static str)> {
    let is_about =
        |row: &&Row| row.subject == subject && matches!(row.shown_by, SubjectMetric::Misses);
    let row = rows().find(is_about)?;
    Some((row.limit.number(), row.rules_out))
}
