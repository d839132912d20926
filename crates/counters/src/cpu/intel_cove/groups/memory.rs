//! Metric groups of waits for loads and stores.

use crate::cpu::intel_cove::events::{
    ACTIVITY_L1D_MISS, ACTIVITY_L2_MISS, ACTIVITY_L3_MISS, BOUND_ON_LOADS, BOUND_ON_STORES, CYCLES,
    DTLB_LOAD_STLB_HIT, DTLB_LOAD_STLB_HIT_ICE_LAKE, DTLB_LOAD_STLB_HIT_LION_COVE, DTLB_LOAD_WALK,
    DTLB_LOAD_WALK_ICE_LAKE, DTLB_STORE_WALK, DTLB_STORE_WALK_ICE_LAKE, FILL_BUFFER_HIT,
    INSTRUCTIONS, L1_MISS, L2_HIT, L2_MISS, L3_HIT, L3_MISS, LL_MISSES, LL_REFERENCES, LOADS,
    LOCAL_MEMORY, LOCKED_LOADS, MEMORY_STALLS_L1, MEMORY_STALLS_L2, MEMORY_STALLS_L3,
    MEMORY_STALLS_MEMORY, REMOTE_MEMORY, STALLS_L1D_MISS, STALLS_L2_MISS, STALLS_L3_MISS,
    STALLS_MEMORY,
};
use crate::cpu::metric_formula::SameLine;
use crate::cpu::metric_group::{Metric, MetricExample, MetricGroup, Node, Subject};
use topdown_run::category::Part;

/// Cycles in which nothing was executed while a load waited, by the level that it waited for.
/// Intel's estimate of the fill buffers' part in L2's share is omitted.
pub(super) const MEMORY_STALLS_ICE_LAKE: MetricGroup = MetricGroup {
    name: "Memory_Stalls",
    subject: Subject::Stalls,
    explains: &[Node::Part(Part::MemoryBound)],
    events: &[
        CYCLES,
        STALLS_MEMORY,
        STALLS_L1D_MISS,
        STALLS_L2_MISS,
        STALLS_L3_MISS,
    ],
    metrics: &[
        Metric::new("stalled_on_l1", "% of cycles", &|counts| {
            100.0 * (counts[STALLS_MEMORY] - counts[STALLS_L1D_MISS]) / counts[CYCLES]
        }),
        Metric::new("stalled_on_l2", "% of cycles", &|counts| {
            100.0 * (counts[STALLS_L1D_MISS] - counts[STALLS_L2_MISS]) / counts[CYCLES]
        }),
        Metric::new("stalled_on_l3", "% of cycles", &|counts| {
            100.0 * (counts[STALLS_L2_MISS] - counts[STALLS_L3_MISS]) / counts[CYCLES]
        }),
        Metric::percent("stalled_on_memory", STALLS_L3_MISS, CYCLES, "% of cycles"),
    ],
    example: MetricExample::new(
        &[1_000_000, 500_000, 450_000, 350_000, 300_000],
        &["5.0", "10.0", "5.0", "30.0"],
    ),
};

/// Cycles in which nothing was executed while a load waited, by the level that it waited for.
pub(super) const MEMORY_STALLS_GOLDEN_COVE: MetricGroup = MetricGroup {
    name: "Memory_Stalls",
    subject: Subject::Stalls,
    explains: &[Node::Part(Part::MemoryBound)],
    events: &[
        CYCLES,
        BOUND_ON_LOADS,
        ACTIVITY_L1D_MISS,
        ACTIVITY_L2_MISS,
        ACTIVITY_L3_MISS,
        BOUND_ON_STORES,
    ],
    metrics: &[
        Metric::new("l1_bound", "% of cycles", &|counts| {
            100.0 * (counts[BOUND_ON_LOADS] - counts[ACTIVITY_L1D_MISS]) / counts[CYCLES]
        }),
        Metric::new("l2_bound", "% of cycles", &|counts| {
            100.0 * (counts[ACTIVITY_L1D_MISS] - counts[ACTIVITY_L2_MISS]) / counts[CYCLES]
        }),
        Metric::new("l3_bound", "% of cycles", &|counts| {
            100.0 * (counts[ACTIVITY_L2_MISS] - counts[ACTIVITY_L3_MISS]) / counts[CYCLES]
        }),
        Metric::percent("dram_bound", ACTIVITY_L3_MISS, CYCLES, "% of cycles"),
        Metric::percent("store_bound", BOUND_ON_STORES, CYCLES, "% of cycles"),
    ],
    example: MetricExample::new(
        &[1_000_000, 500_000, 450_000, 350_000, 300_000, 20_000],
        &["5.0", "10.0", "5.0", "30.0", "2.0"],
    ),
};

pub(super) const MEMORY_STALLS_LION_COVE: MetricGroup = MetricGroup {
    name: "Memory_Stalls",
    subject: Subject::Stalls,
    explains: &[Node::Part(Part::MemoryBound)],
    events: &[
        CYCLES,
        MEMORY_STALLS_L1,
        MEMORY_STALLS_L2,
        MEMORY_STALLS_L3,
        MEMORY_STALLS_MEMORY,
        BOUND_ON_STORES,
    ],
    metrics: &[
        Metric::percent("l1_bound", MEMORY_STALLS_L1, CYCLES, "% of cycles"),
        Metric::percent("l2_bound", MEMORY_STALLS_L2, CYCLES, "% of cycles"),
        Metric::percent("l3_bound", MEMORY_STALLS_L3, CYCLES, "% of cycles"),
        Metric::percent("dram_bound", MEMORY_STALLS_MEMORY, CYCLES, "% of cycles"),
        Metric::percent("store_bound", BOUND_ON_STORES, CYCLES, "% of cycles"),
    ],
    example: MetricExample::new(
        &[1_000_000, 50_000, 100_000, 50_000, 300_000, 20_000],
        &["5.0", "10.0", "5.0", "30.0", "2.0"],
    ),
};

const SAME_LINE: Option<SameLine> = Some(SameLine {
    waiting: FILL_BUFFER_HIT,
    missing: L1_MISS,
});

/// Cycles in which retirement waited for a load, by the cache that served it: level 4 of TMA, below
/// `l2_bound` and `l3_bound`.
pub(super) const LOAD_LATENCY: MetricGroup = MetricGroup {
    name: "Load_Latency",
    subject: Subject::Stalls,
    explains: &[Node::Part(Part::MemoryBound)],
    events: &[CYCLES, L1_MISS, FILL_BUFFER_HIT, L2_HIT, L3_HIT],
    metrics: &[
        Metric::waits("l2_hit_latency", L2_HIT, CYCLES, SAME_LINE),
        Metric::waits("l3_hit_latency", L3_HIT, CYCLES, SAME_LINE),
    ],
    example: MetricExample::new(&[1_000_000, 30_000, 15_000, 8_000, 4_000], &["10.0", "5.0"]),
};

/// The same for memory, of this socket and of others: below `dram_bound`.
pub(super) const MEMORY_LATENCY: MetricGroup = MetricGroup {
    name: "Load_Latency (memory)",
    subject: Subject::Stalls,
    explains: &[Node::Part(Part::MemoryBound)],
    events: &[
        CYCLES,
        L1_MISS,
        FILL_BUFFER_HIT,
        LOCAL_MEMORY,
        REMOTE_MEMORY,
    ],
    metrics: &[
        Metric::waits("local_mem", LOCAL_MEMORY, CYCLES, SAME_LINE),
        Metric::waits("remote_mem", REMOTE_MEMORY, CYCLES, SAME_LINE),
    ],
    example: MetricExample::new(&[1_000_000, 30_000, 15_000, 1_000, 100], &["1.25", "0.125"]),
};

/// Loads of atomic read-modify-writes: below `l1_bound`.
pub(super) const LOCK_LATENCY: MetricGroup = MetricGroup {
    name: "Lock_Latency",
    subject: Subject::Locks,
    explains: &[Node::Part(Part::MemoryBound)],
    events: &[CYCLES, LOCKED_LOADS],
    metrics: &[Metric::waits("lock_latency", LOCKED_LOADS, CYCLES, None)],
    example: MetricExample::new(&[1_000_000, 20_000], &["20.0"]),
};

pub(super) const DTLB_EFFECTIVENESS: MetricGroup = MetricGroup {
    name: "DTLB_Effectiveness",
    subject: Subject::DataTlb,
    explains: &[Node::Part(Part::MemoryBound)],
    events: &[
        INSTRUCTIONS,
        DTLB_LOAD_WALK,
        DTLB_LOAD_STLB_HIT,
        DTLB_STORE_WALK,
    ],
    metrics: &[
        Metric::per_kilo("dtlb_load_mpki", DTLB_LOAD_WALK, INSTRUCTIONS),
        Metric::new("l1_dtlb_load_mpki", "per 1000 instructions", &|counts| {
            1000.0 * (counts[DTLB_LOAD_WALK] + counts[DTLB_LOAD_STLB_HIT]) / counts[INSTRUCTIONS]
        }),
        Metric::per_kilo("dtlb_store_mpki", DTLB_STORE_WALK, INSTRUCTIONS),
    ],
    example: MetricExample::new(&[1_000_000, 4_000, 16_000, 500], &["4.0", "20.0", "0.5"]),
};

pub(super) const DTLB_ICE_LAKE: MetricGroup = MetricGroup {
    events: &[
        INSTRUCTIONS,
        DTLB_LOAD_WALK_ICE_LAKE,
        DTLB_LOAD_STLB_HIT_ICE_LAKE,
        DTLB_STORE_WALK_ICE_LAKE,
    ],
    ..DTLB_EFFECTIVENESS
};

pub(super) const DTLB_LION_COVE: MetricGroup = MetricGroup {
    events: &[
        INSTRUCTIONS,
        DTLB_LOAD_WALK,
        DTLB_LOAD_STLB_HIT_LION_COVE,
        DTLB_STORE_WALK,
    ],
    ..DTLB_EFFECTIVENESS
};

/// A load that hits a fill buffer waits for an earlier load's miss.
pub(super) const L1D_CACHE_EFFECTIVENESS: MetricGroup = MetricGroup {
    name: "L1D_Cache_Effectiveness",
    subject: Subject::DataCache,
    explains: &[Node::Part(Part::MemoryBound)],
    events: &[INSTRUCTIONS, LOADS, L1_MISS, FILL_BUFFER_HIT],
    metrics: &[
        Metric::per_kilo("l1d_load_mpki", L1_MISS, INSTRUCTIONS),
        Metric::percent("l1d_load_miss_ratio", L1_MISS, LOADS, "% of loads"),
        Metric::percent("fill_buffer_hits", FILL_BUFFER_HIT, LOADS, "% of loads"),
    ],
    example: MetricExample::new(
        &[1_000_000, 300_000, 30_000, 15_000],
        &["30.0", "10.0", "5.0"],
    ),
};

pub(super) const L2_DATA_EFFECTIVENESS: MetricGroup = MetricGroup {
    name: "L2_Cache_Effectiveness (data)",
    subject: Subject::L2Cache,
    explains: &[Node::Part(Part::MemoryBound)],
    events: &[INSTRUCTIONS, L2_HIT, L2_MISS],
    metrics: &[
        Metric::per_kilo("l2_load_mpki", L2_MISS, INSTRUCTIONS),
        Metric::new("l2_load_miss_ratio", "% of loads beyond L1", &|counts| {
            100.0 * counts[L2_MISS] / (counts[L2_HIT] + counts[L2_MISS])
        }),
    ],
    example: MetricExample::new(&[1_000_000, 15_000, 5_000], &["5.0", "25.0"]),
};

pub(super) const L3_LOADS: MetricGroup = MetricGroup {
    name: "LL_Cache_Effectiveness (loads)",
    subject: Subject::LastLevelCache,
    explains: &[Node::Part(Part::MemoryBound)],
    events: &[INSTRUCTIONS, L3_HIT, L3_MISS],
    metrics: &[
        Metric::per_kilo("l3_load_mpki", L3_MISS, INSTRUCTIONS),
        Metric::new("l3_load_miss_ratio", "% of loads beyond L2", &|counts| {
            100.0 * counts[L3_MISS] / (counts[L3_HIT] + counts[L3_MISS])
        }),
    ],
    example: MetricExample::new(&[1_000_000, 3_000, 1_000], &["1.0", "25.0"]),
};

pub(super) const LL_CACHE_EFFECTIVENESS: MetricGroup = MetricGroup {
    name: "LL_Cache_Effectiveness",
    subject: Subject::LastLevelCache,
    explains: &[
        Node::Part(Part::MemoryBound),
        Node::Part(Part::FetchLatency),
    ],
    events: &[INSTRUCTIONS, LL_REFERENCES, LL_MISSES],
    metrics: &[
        Metric::per_kilo("ll_cache_mpki", LL_MISSES, INSTRUCTIONS),
        Metric::percent(
            "ll_cache_miss_ratio",
            LL_MISSES,
            LL_REFERENCES,
            "% of references",
        ),
    ],
    example: MetricExample::new(&[1_000_000, 8_000, 6_000], &["6.0", "75.0"]),
};
