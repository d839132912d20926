//! Sentences about shares of the slots, with their thresholds.

use topdown_counters::cpu::Node;
use topdown_run::category::{Category, Part};

use crate::MUCH_RETIRING;

pub const CORE_BOUND: Node = Node::Part(Part::CoreBound);

/// Advice against chains of dependent operations.
pub const INDEPENDENT: &str = "break chains of dependent operations (independent accumulators), \
     and replace divisions and square roots";

/// A sentence about the slots of a node.
pub struct NodeRow {
    pub node: Node,
    /// The node whose share shows it.
    pub shown_by: Node,
    /// The least share that does, in percent.
    pub min_percent: f64,
    pub rank: Rank,
    pub cause: &'static str,
    pub remedy: &'static str,
}

/// When a sentence about slots is said.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Rank {
    /// In place of what the groups say: it is what their numbers mean.
    First,
    /// If no group found a cause.
    WithoutCause,
}

const HEAVY_CAUSE: &str = "Some instructions consist of many operations";
const HEAVY_REMEDY: &str = "look for division, copies and fills (`rep movs`, `rep stos`) and \
     denormal numbers; many small copies cost more than a few large ones";

/// The shares are the thresholds of Intel's metrics (TMA_Metrics-full.csv 5.2), where
/// `tma_memory_bound` and `tma_fetch_bandwidth` have 20 %, and the other parts of losses and heavy
/// operations 10 %.
pub const NODES: [NodeRow; 7] = [
    NodeRow {
        node: Node::Category(Category::Retiring),
        shown_by: Node::Part(Part::HeavyOperations),
        min_percent: 10.0,
        rank: Rank::First,
        cause: HEAVY_CAUSE,
        remedy: HEAVY_REMEDY,
    },
    NodeRow {
        node: Node::Category(Category::Retiring),
        shown_by: Node::Category(Category::Retiring),
        min_percent: 100.0 * MUCH_RETIRING,
        rank: Rank::WithoutCause,
        cause: "The core is busy with the work itself",
        remedy: "do less work: a better algorithm, vectors, no copies, no checks in the loop",
    },
    NodeRow {
        node: CORE_BOUND,
        shown_by: Node::Part(Part::HeavyOperations),
        min_percent: 10.0,
        rank: Rank::First,
        cause: HEAVY_CAUSE,
        remedy: HEAVY_REMEDY,
    },
    NodeRow {
        node: CORE_BOUND,
        shown_by: CORE_BOUND,
        min_percent: 10.0,
        rank: Rank::WithoutCause,
        cause: "Operations wait for the results of others or for a busy unit",
        remedy: INDEPENDENT,
    },
    NodeRow {
        node: Node::Part(Part::MemoryBound),
        shown_by: Node::Part(Part::MemoryBound),
        min_percent: 20.0,
        rank: Rank::WithoutCause,
        cause: "The core waits for memory although few accesses miss",
        remedy: "write less, reuse what was written (stores drain slowly), and break chains of \
                 dependent loads",
    },
    NodeRow {
        node: Node::Part(Part::FetchLatency),
        shown_by: Node::Part(Part::FetchLatency),
        min_percent: 10.0,
        rank: Rank::WithoutCause,
        cause: "The frontend stalls although few fetches miss",
        remedy: "take fewer branches: inline small functions, avoid deep recursion, and let the \
                 usual path fall through",
    },
    NodeRow {
        node: Node::Part(Part::FetchBandwidth),
        shown_by: Node::Part(Part::FetchBandwidth),
        min_percent: 20.0,
        rank: Rank::WithoutCause,
        cause: "The frontend delivers too few operations per cycle",
        remedy: "make hot loops smaller, and take fewer branches",
    },
];
