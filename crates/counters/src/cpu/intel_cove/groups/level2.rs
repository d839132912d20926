//! Level 2 as metric groups.

use crate::cpu::Counts;
use crate::cpu::intel_cove::events::{
    BACKEND_BOUND as BACKEND, BOUND_ON_STORES, BUBBLES_LION_COVE, CYCLES, DROPPING_GOLDEN_COVE,
    DROPPING_ICE_LAKE, FETCH_LATENCY_LION_COVE, HEAVY, MEMORY_BOUND, MISPREDICT, NOT_DELIVERED,
    NOTHING_DELIVERED_GOLDEN_COVE, NOTHING_DELIVERED_ICE_LAKE, ONE_PORT, RETIRED, SLOTS_P,
    STALLS_MEMORY, STALLS_TOTAL, TWO_PORTS,
};
use crate::cpu::metric_group::{
    BACKEND_BOUND, BAD_SPECULATION, FRONTEND_BOUND, Metric, MetricExample, MetricGroup, RETIRING,
    Subject,
};

pub(super) const LEVEL_2_FRONTEND_ICE_LAKE: MetricGroup = MetricGroup {
    name: "TopdownL2 frontend_bound",
    subject: Subject::Level2,
    explains: &[FRONTEND_BOUND],
    events: &[
        SLOTS_P,
        NOT_DELIVERED,
        NOTHING_DELIVERED_ICE_LAKE,
        DROPPING_ICE_LAKE,
    ],
    metrics: &[
        Metric::new("fetch_latency", "% of slots", &|counts| {
            100.0
                * (counts.slots_per_cycle() * counts[NOTHING_DELIVERED_ICE_LAKE]
                    - counts[DROPPING_ICE_LAKE])
                / counts[SLOTS_P]
        }),
        Metric::new("fetch_bandwidth", "% of slots", &|counts| {
            100.0
                * (counts[NOT_DELIVERED]
                    - counts.slots_per_cycle() * counts[NOTHING_DELIVERED_ICE_LAKE])
                / counts[SLOTS_P]
        }),
    ],
    example: MetricExample::new(&[10_000_000, 2_100_000, 260_000, 100_000], &["12.0", "8.0"]),
};

pub(super) const LEVEL_2_FRONTEND_GOLDEN_COVE: MetricGroup = MetricGroup {
    name: "TopdownL2 frontend_bound",
    subject: Subject::Level2,
    explains: &[FRONTEND_BOUND],
    events: &[
        SLOTS_P,
        NOT_DELIVERED,
        NOTHING_DELIVERED_GOLDEN_COVE,
        DROPPING_GOLDEN_COVE,
    ],
    metrics: &[
        Metric::new("fetch_latency", "% of slots", &|counts| {
            100.0
                * (counts.slots_per_cycle() * counts[NOTHING_DELIVERED_GOLDEN_COVE]
                    - counts[DROPPING_GOLDEN_COVE])
                / counts[SLOTS_P]
        }),
        Metric::new("fetch_bandwidth", "% of slots", &|counts| {
            100.0
                * (counts[NOT_DELIVERED]
                    - counts.slots_per_cycle() * counts[NOTHING_DELIVERED_GOLDEN_COVE])
                / counts[SLOTS_P]
        }),
    ],
    example: MetricExample::new(&[12_000_000, 2_500_000, 256_667, 100_000], &["12.0", "8.0"]),
};

pub(super) const LEVEL_2_FRONTEND_LION_COVE: MetricGroup = MetricGroup {
    name: "TopdownL2 frontend_bound",
    subject: Subject::Level2,
    explains: &[FRONTEND_BOUND],
    events: &[SLOTS_P, CYCLES, BUBBLES_LION_COVE, FETCH_LATENCY_LION_COVE],
    metrics: &[
        Metric::percent(
            "fetch_latency",
            FETCH_LATENCY_LION_COVE,
            CYCLES,
            "% of slots",
        ),
        Metric::new("fetch_bandwidth", "% of slots", &|counts| {
            100.0
                * (counts[BUBBLES_LION_COVE] / counts[SLOTS_P]
                    - counts[FETCH_LATENCY_LION_COVE] / counts[CYCLES])
        }),
    ],
    example: MetricExample::new(
        &[16_000_000, 2_000_000, 3_200_000, 240_000],
        &["12.0", "8.0"],
    ),
};

pub(super) const LEVEL_2_BAD_SPECULATION_GOLDEN_COVE: MetricGroup = MetricGroup {
    name: "TopdownL2 bad_speculation",
    subject: Subject::Level2,
    explains: &[BAD_SPECULATION],
    events: &[
        SLOTS_P,
        RETIRED,
        NOT_DELIVERED,
        BACKEND,
        MISPREDICT,
        DROPPING_GOLDEN_COVE,
    ],
    metrics: &[
        Metric::percent("branch_mispredicts", MISPREDICT, SLOTS_P, "% of slots"),
        Metric::new("machine_clears", "% of slots", &|counts| {
            100.0
                * (counts[SLOTS_P] - counts[RETIRED] - counts[NOT_DELIVERED] - counts[BACKEND]
                    + counts[DROPPING_GOLDEN_COVE]
                    - counts[MISPREDICT])
                / counts[SLOTS_P]
        }),
    ],
    example: MetricExample::new(
        &[
            12_000_000, 4_800_000, 2_500_000, 3_600_000, 960_000, 100_000,
        ],
        &["8.0", "2.0"],
    ),
};

pub(super) const LEVEL_2_BAD_SPECULATION_LION_COVE: MetricGroup = MetricGroup {
    name: "TopdownL2 bad_speculation",
    subject: Subject::Level2,
    explains: &[BAD_SPECULATION],
    events: &[SLOTS_P, RETIRED, BUBBLES_LION_COVE, BACKEND, MISPREDICT],
    metrics: &[
        Metric::percent("branch_mispredicts", MISPREDICT, SLOTS_P, "% of slots"),
        Metric::new("machine_clears", "% of slots", &|counts| {
            100.0
                * (counts[SLOTS_P]
                    - counts[RETIRED]
                    - counts[BUBBLES_LION_COVE]
                    - counts[BACKEND]
                    - counts[MISPREDICT])
                / counts[SLOTS_P]
        }),
    ],
    example: MetricExample::new(
        &[16_000_000, 6_400_000, 3_200_000, 4_800_000, 1_280_000],
        &["8.0", "2.0"],
    ),
};

pub(super) const LEVEL_2_BACKEND: MetricGroup = MetricGroup {
    name: "TopdownL2 backend_bound",
    subject: Subject::Level2,
    explains: &[BACKEND_BOUND],
    events: &[SLOTS_P, BACKEND, MEMORY_BOUND],
    metrics: &[
        Metric::percent("memory_bound", MEMORY_BOUND, SLOTS_P, "% of slots"),
        Metric::new("core_bound", "% of slots", &|counts| {
            100.0 * (counts[BACKEND] - counts[MEMORY_BOUND]) / counts[SLOTS_P]
        }),
    ],
    example: MetricExample::new(&[12_000_000, 3_600_000, 2_160_000], &["18.0", "12.0"]),
};

pub(super) const LEVEL_2_RETIRING: MetricGroup = MetricGroup {
    name: "TopdownL2 retiring",
    subject: Subject::Level2,
    explains: &[RETIRING],
    events: &[SLOTS_P, RETIRED, HEAVY],
    metrics: &[
        Metric::percent("heavy_operations", HEAVY, SLOTS_P, "% of slots"),
        Metric::new("light_operations", "% of slots", &|counts| {
            100.0 * (counts[RETIRED] - counts[HEAVY]) / counts[SLOTS_P]
        }),
    ],
    example: MetricExample::new(&[12_000_000, 4_800_000, 1_200_000], &["10.0", "30.0"]),
};

/// Returns the memory's part of backend bound, from the cycles that executed nothing or little.
fn memory_bound_of_backend(counts: &Counts) -> f64 {
    let retiring = counts[RETIRED] / counts[SLOTS_P];
    let few = counts[ONE_PORT] + retiring * counts[TWO_PORTS];
    let stores = counts[BOUND_ON_STORES];
    100.0 * (counts[STALLS_MEMORY] + stores) / (counts[STALLS_TOTAL] + few + stores)
}

pub(super) const LEVEL_2_BACKEND_ICE_LAKE: MetricGroup = MetricGroup {
    name: "TopdownL2 backend_bound",
    subject: Subject::Level2,
    explains: &[BACKEND_BOUND],
    events: &[
        SLOTS_P,
        RETIRED,
        STALLS_TOTAL,
        STALLS_MEMORY,
        BOUND_ON_STORES,
        ONE_PORT,
        TWO_PORTS,
    ],
    metrics: &[
        Metric::new(
            "memory_bound",
            "% of backend bound",
            &memory_bound_of_backend,
        ),
        Metric::new("core_bound", "% of backend bound", &|counts| {
            100.0 - memory_bound_of_backend(counts)
        }),
    ],
    example: MetricExample::new(
        &[
            10_000_000, 4_000_000, 500_000, 430_000, 20_000, 140_000, 100_000,
        ],
        &["64.3", "35.7"],
    ),
};
