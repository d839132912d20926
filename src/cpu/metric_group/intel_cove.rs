//! Metric groups of Intel's performance cores from Ice Lake to Lion Cove.
//!
//! Sources: perfmon ICX, SPR, ADL and LNL; formulas of level 2 and of stalled cycles:
//! TMA_Metrics-full.csv 5.2. Loads served by a level are counted at retirement.
//!
//! Level 2 is here for the machines that cannot count it together with level 1: Ice Lake, and plain
//! counters alongside the NMI watchdog. Ice Lake and Golden Cove can count at most four events at a
//! time of those with a code below 0x90 and those of loads (0xd0 and 0xd1) (Linux,
//! arch/x86/events/intel/core.c).

use super::{
    BACKEND_BOUND, BAD_SPECULATION, FRONTEND_BOUND, Metric, MetricExample, MetricGroup, Node,
    RETIRING, Subject,
};
use crate::category::Part;
use crate::cpu::intel_cove::{
    BACKEND_BOUND as BACKEND, BUBBLES_LION_COVE, CYCLES, DROPPING_GOLDEN_COVE, DROPPING_ICE_LAKE,
    FETCH_LATENCY_LION_COVE, HEAVY, INSTRUCTIONS, MEMORY_BOUND, MISPREDICT, NOT_DELIVERED,
    NOTHING_DELIVERED_GOLDEN_COVE, RETIRED, SLOTS_P,
};
use crate::cpu::{Counts, Event};

const BRANCHES: Event = Event::general("BR_INST_RETIRED.ALL_BRANCHES", 0x00c4);
const MISPREDICTED: Event = Event::general("BR_MISP_RETIRED.ALL_BRANCHES", 0x00c5);
const LL_REFERENCES: Event = Event::general("LONGEST_LAT_CACHE.REFERENCE", 0x4f2e);
const LL_MISSES: Event = Event::general("LONGEST_LAT_CACHE.MISS", 0x412e);
const MACHINE_CLEARS: Event = Event::general("MACHINE_CLEARS.COUNT", 0x0104_01c3);
const MISPREDICTED_CONDITIONAL: Event = Event::general("BR_MISP_RETIRED.COND", 0x11c5);
const MISPREDICTED_INDIRECT: Event = Event::general("BR_MISP_RETIRED.INDIRECT", 0x80c5);
const MISPREDICTED_RETURN: Event = Event::general("BR_MISP_RETIRED.RET", 0x08c5);
const ICACHE_STALLS: Event = Event::general("ICACHE_DATA.STALLS", 0x0480);
const ITLB_STALLS: Event = Event::general("ICACHE_TAG.STALLS", 0x0483);
const L2_CODE_READS: Event = Event::general("L2_RQSTS.ALL_CODE_RD", 0xe424);
const L2_CODE_MISSES: Event = Event::general("L2_RQSTS.CODE_RD_MISS", 0x2424);
const DSB_UOPS: Event = Event::general("IDQ.DSB_UOPS", 0x0879);
const MITE_UOPS: Event = Event::general("IDQ.MITE_UOPS", 0x0479);
const LOADS: Event = Event::general("MEM_INST_RETIRED.ALL_LOADS", 0x81d0);
const STORES: Event = Event::general("MEM_INST_RETIRED.ALL_STORES", 0x82d0);
const L1_MISS: Event = Event::general("MEM_LOAD_RETIRED.L1_MISS", 0x08d1);
const FILL_BUFFER_HIT: Event = Event::general("MEM_LOAD_RETIRED.FB_HIT", 0x40d1);
const L2_HIT: Event = Event::general("MEM_LOAD_RETIRED.L2_HIT", 0x02d1);
const L2_MISS: Event = Event::general("MEM_LOAD_RETIRED.L2_MISS", 0x10d1);
const L3_HIT: Event = Event::general("MEM_LOAD_RETIRED.L3_HIT", 0x04d1);
const L3_MISS: Event = Event::general("MEM_LOAD_RETIRED.L3_MISS", 0x20d1);
const STALLS_TOTAL: Event = Event::general("CYCLE_ACTIVITY.STALLS_TOTAL", 0x0400_04a3);
const BOUND_ON_STORES: Event = Event::general("EXE_ACTIVITY.BOUND_ON_STORES", 0x0200_40a6);
const ONE_PORT: Event = Event::general("EXE_ACTIVITY.1_PORTS_UTIL", 0x02a6);
const TWO_PORTS: Event = Event::general("EXE_ACTIVITY.2_PORTS_UTIL", 0x04a6);
const THREE_PORTS: Event = Event::general("EXE_ACTIVITY.3_PORTS_UTIL", 0x08a6);
const FP_SCALAR: Event = Event::general("FP_ARITH_INST_RETIRED.SCALAR", 0x03c7);

// Ice Lake.
const NOTHING_DELIVERED_ICE_LAKE: Event = Event::general(
    "IDQ_UOPS_NOT_DELIVERED.CYCLES_0_UOPS_DELIV.CORE",
    0x0500_019c,
);
const ITLB_WALK_ICE_LAKE: Event = Event::general("ITLB_MISSES.WALK_COMPLETED", 0x0e85);
const ITLB_STLB_HIT_ICE_LAKE: Event = Event::general("ITLB_MISSES.STLB_HIT", 0x2085);
const DTLB_LOAD_WALK_ICE_LAKE: Event = Event::general("DTLB_LOAD_MISSES.WALK_COMPLETED", 0x0e08);
const DTLB_LOAD_STLB_HIT_ICE_LAKE: Event = Event::general("DTLB_LOAD_MISSES.STLB_HIT", 0x2008);
const DTLB_STORE_WALK_ICE_LAKE: Event = Event::general("DTLB_STORE_MISSES.WALK_COMPLETED", 0x0e49);
const STALLS_MEMORY: Event = Event::general("CYCLE_ACTIVITY.STALLS_MEM_ANY", 0x1400_14a3);
const STALLS_L1D_MISS: Event = Event::general("CYCLE_ACTIVITY.STALLS_L1D_MISS", 0x0c00_0ca3);
const STALLS_L2_MISS: Event = Event::general("CYCLE_ACTIVITY.STALLS_L2_MISS", 0x0500_05a3);
const STALLS_L3_MISS: Event = Event::general("CYCLE_ACTIVITY.STALLS_L3_MISS", 0x0600_06a3);
const DIVIDER_ICE_LAKE: Event = Event::general("ARITH.DIVIDER_ACTIVE", 0x0100_0914);
const FP_VECTOR: Event = Event::general("FP_ARITH_INST_RETIRED.VECTOR", 0xfcc7);

// Golden Cove and Lion Cove.
const ITLB_WALK: Event = Event::general("ITLB_MISSES.WALK_COMPLETED", 0x0e11);
const ITLB_STLB_HIT: Event = Event::general("ITLB_MISSES.STLB_HIT", 0x2011);
const DTLB_LOAD_WALK: Event = Event::general("DTLB_LOAD_MISSES.WALK_COMPLETED", 0x0e12);
const DTLB_LOAD_STLB_HIT: Event = Event::general("DTLB_LOAD_MISSES.STLB_HIT", 0x2012);
const DTLB_STORE_WALK: Event = Event::general("DTLB_STORE_MISSES.WALK_COMPLETED", 0x0e13);
const DIVIDER: Event = Event::general("ARITH.DIV_ACTIVE", 0x0100_09b0);
const BOUND_ON_LOADS: Event = Event::general("EXE_ACTIVITY.BOUND_ON_LOADS", 0x0500_21a6);
const ACTIVITY_L1D_MISS: Event = Event::general("MEMORY_ACTIVITY.STALLS_L1D_MISS", 0x0300_0347);
const ACTIVITY_L2_MISS: Event = Event::general("MEMORY_ACTIVITY.STALLS_L2_MISS", 0x0500_0547);
const ACTIVITY_L3_MISS: Event = Event::general("MEMORY_ACTIVITY.STALLS_L3_MISS", 0x0900_0947);
const MEMORY_STALLS_L1: Event = Event::general("MEMORY_STALLS.L1", 0x0146);
const MEMORY_STALLS_L2: Event = Event::general("MEMORY_STALLS.L2", 0x0246);
const MEMORY_STALLS_L3: Event = Event::general("MEMORY_STALLS.L3", 0x0446);
const MEMORY_STALLS_MEMORY: Event = Event::general("MEMORY_STALLS.MEM", 0x0846);

pub const ICE_LAKE: &[MetricGroup] = &[
    LEVEL_2_FRONTEND_ICE_LAKE,
    CLEARS,
    LEVEL_2_BACKEND_ICE_LAKE,
    BRANCH_EFFECTIVENESS,
    ITLB_ICE_LAKE,
    L1I_CACHE_EFFECTIVENESS,
    DECODED_CACHE,
    L2_CODE_EFFECTIVENESS,
    MEMORY_STALLS_ICE_LAKE,
    DTLB_ICE_LAKE,
    L1D_CACHE_EFFECTIVENESS,
    L2_DATA_EFFECTIVENESS,
    L3_LOADS,
    LL_CACHE_EFFECTIVENESS,
    PORTS_ICE_LAKE,
    OPERATION_MIX,
    FP_MIX_ICE_LAKE,
];

pub const GOLDEN_COVE: &[MetricGroup] = &[
    LEVEL_2_FRONTEND_GOLDEN_COVE,
    LEVEL_2_BAD_SPECULATION_GOLDEN_COVE,
    LEVEL_2_BACKEND,
    LEVEL_2_RETIRING,
    CLEARS,
    BRANCH_EFFECTIVENESS,
    ITLB_EFFECTIVENESS,
    L1I_CACHE_EFFECTIVENESS,
    DECODED_CACHE,
    L2_CODE_EFFECTIVENESS,
    MEMORY_STALLS_GOLDEN_COVE,
    DTLB_EFFECTIVENESS,
    L1D_CACHE_EFFECTIVENESS,
    L2_DATA_EFFECTIVENESS,
    L3_LOADS,
    LL_CACHE_EFFECTIVENESS,
    PORTS,
    OPERATION_MIX,
    FP_MIX_ICE_LAKE,
];

/// Lion Cove counts floating-point operations by vector length under other codes; only the scalar
/// codes are the same.
pub const LION_COVE: &[MetricGroup] = &[
    LEVEL_2_FRONTEND_LION_COVE,
    LEVEL_2_BAD_SPECULATION_LION_COVE,
    LEVEL_2_BACKEND,
    LEVEL_2_RETIRING,
    CLEARS,
    BRANCH_EFFECTIVENESS,
    ITLB_EFFECTIVENESS,
    L1I_CACHE_EFFECTIVENESS,
    DECODED_CACHE,
    L2_CODE_EFFECTIVENESS,
    MEMORY_STALLS_LION_COVE,
    DTLB_EFFECTIVENESS,
    L1D_CACHE_EFFECTIVENESS,
    L2_DATA_EFFECTIVENESS,
    L3_LOADS,
    LL_CACHE_EFFECTIVENESS,
    PORTS,
    OPERATION_MIX,
    FP_MIX_LION_COVE,
];

const LEVEL_2_FRONTEND_ICE_LAKE: MetricGroup = MetricGroup {
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
        Metric::of("fetch_latency", "% of slots", &|counts| {
            100.0
                * (counts.slots_per_cycle() * counts[NOTHING_DELIVERED_ICE_LAKE]
                    - counts[DROPPING_ICE_LAKE])
                / counts[SLOTS_P]
        }),
        Metric::of("fetch_bandwidth", "% of slots", &|counts| {
            100.0
                * (counts[NOT_DELIVERED]
                    - counts.slots_per_cycle() * counts[NOTHING_DELIVERED_ICE_LAKE])
                / counts[SLOTS_P]
        }),
    ],
    example: MetricExample::of(&[10_000_000, 2_100_000, 260_000, 100_000], &["12.0", "8.0"]),
};

const LEVEL_2_FRONTEND_GOLDEN_COVE: MetricGroup = MetricGroup {
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
        Metric::of("fetch_latency", "% of slots", &|counts| {
            100.0
                * (counts.slots_per_cycle() * counts[NOTHING_DELIVERED_GOLDEN_COVE]
                    - counts[DROPPING_GOLDEN_COVE])
                / counts[SLOTS_P]
        }),
        Metric::of("fetch_bandwidth", "% of slots", &|counts| {
            100.0
                * (counts[NOT_DELIVERED]
                    - counts.slots_per_cycle() * counts[NOTHING_DELIVERED_GOLDEN_COVE])
                / counts[SLOTS_P]
        }),
    ],
    example: MetricExample::of(&[12_000_000, 2_500_000, 256_667, 100_000], &["12.0", "8.0"]),
};

const LEVEL_2_FRONTEND_LION_COVE: MetricGroup = MetricGroup {
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
        Metric::of("fetch_bandwidth", "% of slots", &|counts| {
            100.0
                * (counts[BUBBLES_LION_COVE] / counts[SLOTS_P]
                    - counts[FETCH_LATENCY_LION_COVE] / counts[CYCLES])
        }),
    ],
    example: MetricExample::of(
        &[16_000_000, 2_000_000, 3_200_000, 240_000],
        &["12.0", "8.0"],
    ),
};

const LEVEL_2_BAD_SPECULATION_GOLDEN_COVE: MetricGroup = MetricGroup {
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
        Metric::of("machine_clears", "% of slots", &|counts| {
            100.0
                * (counts[SLOTS_P] - counts[RETIRED] - counts[NOT_DELIVERED] - counts[BACKEND]
                    + counts[DROPPING_GOLDEN_COVE]
                    - counts[MISPREDICT])
                / counts[SLOTS_P]
        }),
    ],
    example: MetricExample::of(
        &[
            12_000_000, 4_800_000, 2_500_000, 3_600_000, 960_000, 100_000,
        ],
        &["8.0", "2.0"],
    ),
};

const LEVEL_2_BAD_SPECULATION_LION_COVE: MetricGroup = MetricGroup {
    name: "TopdownL2 bad_speculation",
    subject: Subject::Level2,
    explains: &[BAD_SPECULATION],
    events: &[SLOTS_P, RETIRED, BUBBLES_LION_COVE, BACKEND, MISPREDICT],
    metrics: &[
        Metric::percent("branch_mispredicts", MISPREDICT, SLOTS_P, "% of slots"),
        Metric::of("machine_clears", "% of slots", &|counts| {
            100.0
                * (counts[SLOTS_P]
                    - counts[RETIRED]
                    - counts[BUBBLES_LION_COVE]
                    - counts[BACKEND]
                    - counts[MISPREDICT])
                / counts[SLOTS_P]
        }),
    ],
    example: MetricExample::of(
        &[16_000_000, 6_400_000, 3_200_000, 4_800_000, 1_280_000],
        &["8.0", "2.0"],
    ),
};

const LEVEL_2_BACKEND: MetricGroup = MetricGroup {
    name: "TopdownL2 backend_bound",
    subject: Subject::Level2,
    explains: &[BACKEND_BOUND],
    events: &[SLOTS_P, BACKEND, MEMORY_BOUND],
    metrics: &[
        Metric::percent("memory_bound", MEMORY_BOUND, SLOTS_P, "% of slots"),
        Metric::of("core_bound", "% of slots", &|counts| {
            100.0 * (counts[BACKEND] - counts[MEMORY_BOUND]) / counts[SLOTS_P]
        }),
    ],
    example: MetricExample::of(&[12_000_000, 3_600_000, 2_160_000], &["18.0", "12.0"]),
};

const LEVEL_2_RETIRING: MetricGroup = MetricGroup {
    name: "TopdownL2 retiring",
    subject: Subject::Level2,
    explains: &[RETIRING],
    events: &[SLOTS_P, RETIRED, HEAVY],
    metrics: &[
        Metric::percent("heavy_operations", HEAVY, SLOTS_P, "% of slots"),
        Metric::of("light_operations", "% of slots", &|counts| {
            100.0 * (counts[RETIRED] - counts[HEAVY]) / counts[SLOTS_P]
        }),
    ],
    example: MetricExample::of(&[12_000_000, 4_800_000, 1_200_000], &["10.0", "30.0"]),
};

/// Returns the memory's part of backend bound, from the cycles that executed nothing or little.
fn memory_bound_of_backend(counts: &Counts) -> f64 {
    let retiring = counts[RETIRED] / counts[SLOTS_P];
    let few = counts[ONE_PORT] + retiring * counts[TWO_PORTS];
    let stores = counts[BOUND_ON_STORES];
    100.0 * (counts[STALLS_MEMORY] + stores) / (counts[STALLS_TOTAL] + few + stores)
}

const LEVEL_2_BACKEND_ICE_LAKE: MetricGroup = MetricGroup {
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
        Metric::of(
            "memory_bound",
            "% of backend bound",
            &memory_bound_of_backend,
        ),
        Metric::of("core_bound", "% of backend bound", &|counts| {
            100.0 - memory_bound_of_backend(counts)
        }),
    ],
    example: MetricExample::of(
        &[
            10_000_000, 4_000_000, 500_000, 430_000, 20_000, 140_000, 100_000,
        ],
        &["64.3", "35.7"],
    ),
};

/// Intel's level 2 splits bad speculation in proportion to the counts of its two causes.
const CLEARS: MetricGroup = MetricGroup {
    name: "Machine_Clears",
    subject: Subject::Clears,
    explains: &[BAD_SPECULATION],
    events: &[INSTRUCTIONS, MISPREDICTED, MACHINE_CLEARS],
    metrics: &[
        Metric::per_kilo("machine_clears", MACHINE_CLEARS, INSTRUCTIONS),
        Metric::of("branch_mispredicts", "% of bad speculation", &|counts| {
            100.0 * counts[MISPREDICTED] / (counts[MISPREDICTED] + counts[MACHINE_CLEARS])
        }),
        Metric::of("machine_clears", "% of bad speculation", &|counts| {
            100.0 * counts[MACHINE_CLEARS] / (counts[MISPREDICTED] + counts[MACHINE_CLEARS])
        }),
    ],
    example: MetricExample::of(&[1_000_000, 9_000, 1_000], &["1.0", "90.0", "10.0"]),
};

const BRANCH_EFFECTIVENESS: MetricGroup = MetricGroup {
    name: "Branch_Effectiveness",
    subject: Subject::Branches,
    explains: &[Node::Part(Part::BranchMispredicts), FRONTEND_BOUND],
    events: &[
        INSTRUCTIONS,
        BRANCHES,
        MISPREDICTED,
        MISPREDICTED_CONDITIONAL,
        MISPREDICTED_INDIRECT,
        MISPREDICTED_RETURN,
    ],
    metrics: &[
        Metric::per_kilo("branch_mpki", MISPREDICTED, INSTRUCTIONS),
        Metric::percent(
            "branch_misprediction_ratio",
            MISPREDICTED,
            BRANCHES,
            "% of branches",
        ),
        Metric::percent(
            "conditional",
            MISPREDICTED_CONDITIONAL,
            MISPREDICTED,
            "% of mispredicts",
        ),
        Metric::percent(
            "indirect",
            MISPREDICTED_INDIRECT,
            MISPREDICTED,
            "% of mispredicts",
        ),
        Metric::percent(
            "returns",
            MISPREDICTED_RETURN,
            MISPREDICTED,
            "% of mispredicts",
        ),
    ],
    example: MetricExample::of(
        &[1_000_000, 200_000, 5_000, 4_000, 750, 250],
        &["5.0", "2.5", "80.0", "15.0", "5.0"],
    ),
};

const ITLB_ICE_LAKE: MetricGroup = MetricGroup {
    name: "ITLB_Effectiveness",
    subject: Subject::InstructionTlb,
    explains: &[Node::Part(Part::FetchLatency)],
    events: &[
        CYCLES,
        INSTRUCTIONS,
        ITLB_WALK_ICE_LAKE,
        ITLB_STLB_HIT_ICE_LAKE,
        ITLB_STALLS,
    ],
    metrics: &[
        Metric::per_kilo("itlb_mpki", ITLB_WALK_ICE_LAKE, INSTRUCTIONS),
        Metric::of("l1_itlb_mpki", "per 1000 instructions", &|counts| {
            1000.0 * (counts[ITLB_WALK_ICE_LAKE] + counts[ITLB_STLB_HIT_ICE_LAKE])
                / counts[INSTRUCTIONS]
        }),
        Metric::percent("itlb_stalls", ITLB_STALLS, CYCLES, "% of cycles"),
    ],
    example: MetricExample::of(
        &[1_000_000, 1_000_000, 500, 3_000, 40_000],
        &["0.5", "3.5", "4.0"],
    ),
};

const ITLB_EFFECTIVENESS: MetricGroup = MetricGroup {
    name: "ITLB_Effectiveness",
    subject: Subject::InstructionTlb,
    explains: &[Node::Part(Part::FetchLatency)],
    events: &[CYCLES, INSTRUCTIONS, ITLB_WALK, ITLB_STLB_HIT, ITLB_STALLS],
    metrics: &[
        Metric::per_kilo("itlb_mpki", ITLB_WALK, INSTRUCTIONS),
        Metric::of("l1_itlb_mpki", "per 1000 instructions", &|counts| {
            1000.0 * (counts[ITLB_WALK] + counts[ITLB_STLB_HIT]) / counts[INSTRUCTIONS]
        }),
        Metric::percent("itlb_stalls", ITLB_STALLS, CYCLES, "% of cycles"),
    ],
    example: MetricExample::of(
        &[1_000_000, 1_000_000, 500, 3_000, 40_000],
        &["0.5", "3.5", "4.0"],
    ),
};

/// Misses here are read from the second level; code prefetches count too.
const L1I_CACHE_EFFECTIVENESS: MetricGroup = MetricGroup {
    name: "L1I_Cache_Effectiveness",
    subject: Subject::InstructionCache,
    explains: &[Node::Part(Part::FetchLatency)],
    events: &[CYCLES, INSTRUCTIONS, ICACHE_STALLS, L2_CODE_READS],
    metrics: &[
        Metric::per_kilo("code_reads_from_l2", L2_CODE_READS, INSTRUCTIONS),
        Metric::percent("icache_stalls", ICACHE_STALLS, CYCLES, "% of cycles"),
    ],
    example: MetricExample::of(&[1_000_000, 1_000_000, 80_000, 12_500], &["12.5", "8.0"]),
};

/// The cache of decoded uops (DSB); uops it lacks come from the decoders (MITE).
const DECODED_CACHE: MetricGroup = MetricGroup {
    name: "DSB_Effectiveness",
    subject: Subject::DecodedCache,
    explains: &[Node::Part(Part::FetchBandwidth)],
    events: &[INSTRUCTIONS, DSB_UOPS, MITE_UOPS],
    metrics: &[Metric::of("dsb_coverage", "% of uops", &|counts| {
        100.0 * counts[DSB_UOPS] / (counts[DSB_UOPS] + counts[MITE_UOPS])
    })],
    example: MetricExample::of(&[1_000_000, 750_000, 250_000], &["75.0"]),
};

const L2_CODE_EFFECTIVENESS: MetricGroup = MetricGroup {
    name: "L2_Cache_Effectiveness (instructions)",
    subject: Subject::L2Cache,
    explains: &[Node::Part(Part::FetchLatency)],
    events: &[INSTRUCTIONS, L2_CODE_READS, L2_CODE_MISSES],
    metrics: &[
        Metric::per_kilo("l2_code_mpki", L2_CODE_MISSES, INSTRUCTIONS),
        Metric::percent(
            "l2_code_miss_ratio",
            L2_CODE_MISSES,
            L2_CODE_READS,
            "% of code reads",
        ),
    ],
    example: MetricExample::of(&[1_000_000, 12_000, 3_000], &["3.0", "25.0"]),
};

/// Cycles in which nothing was executed while a load waited, by the level that it waited for.
/// Intel's estimate of the fill buffers' part in L2's share is omitted.
const MEMORY_STALLS_ICE_LAKE: MetricGroup = MetricGroup {
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
        Metric::of("stalled_on_l1", "% of cycles", &|counts| {
            100.0 * (counts[STALLS_MEMORY] - counts[STALLS_L1D_MISS]) / counts[CYCLES]
        }),
        Metric::of("stalled_on_l2", "% of cycles", &|counts| {
            100.0 * (counts[STALLS_L1D_MISS] - counts[STALLS_L2_MISS]) / counts[CYCLES]
        }),
        Metric::of("stalled_on_l3", "% of cycles", &|counts| {
            100.0 * (counts[STALLS_L2_MISS] - counts[STALLS_L3_MISS]) / counts[CYCLES]
        }),
        Metric::percent("stalled_on_memory", STALLS_L3_MISS, CYCLES, "% of cycles"),
    ],
    example: MetricExample::of(
        &[1_000_000, 500_000, 450_000, 350_000, 300_000],
        &["5.0", "10.0", "5.0", "30.0"],
    ),
};

/// Cycles in which nothing was executed while a load waited, by the level that it waited for.
const MEMORY_STALLS_GOLDEN_COVE: MetricGroup = MetricGroup {
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
        Metric::of("l1_bound", "% of cycles", &|counts| {
            100.0 * (counts[BOUND_ON_LOADS] - counts[ACTIVITY_L1D_MISS]) / counts[CYCLES]
        }),
        Metric::of("l2_bound", "% of cycles", &|counts| {
            100.0 * (counts[ACTIVITY_L1D_MISS] - counts[ACTIVITY_L2_MISS]) / counts[CYCLES]
        }),
        Metric::of("l3_bound", "% of cycles", &|counts| {
            100.0 * (counts[ACTIVITY_L2_MISS] - counts[ACTIVITY_L3_MISS]) / counts[CYCLES]
        }),
        Metric::percent("dram_bound", ACTIVITY_L3_MISS, CYCLES, "% of cycles"),
        Metric::percent("store_bound", BOUND_ON_STORES, CYCLES, "% of cycles"),
    ],
    example: MetricExample::of(
        &[1_000_000, 500_000, 450_000, 350_000, 300_000, 20_000],
        &["5.0", "10.0", "5.0", "30.0", "2.0"],
    ),
};

const MEMORY_STALLS_LION_COVE: MetricGroup = MetricGroup {
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
    example: MetricExample::of(
        &[1_000_000, 50_000, 100_000, 50_000, 300_000, 20_000],
        &["5.0", "10.0", "5.0", "30.0", "2.0"],
    ),
};

const DTLB_ICE_LAKE: MetricGroup = MetricGroup {
    name: "DTLB_Effectiveness",
    subject: Subject::DataTlb,
    explains: &[Node::Part(Part::MemoryBound)],
    events: &[
        INSTRUCTIONS,
        DTLB_LOAD_WALK_ICE_LAKE,
        DTLB_LOAD_STLB_HIT_ICE_LAKE,
        DTLB_STORE_WALK_ICE_LAKE,
    ],
    metrics: &[
        Metric::per_kilo("dtlb_load_mpki", DTLB_LOAD_WALK_ICE_LAKE, INSTRUCTIONS),
        Metric::of("l1_dtlb_load_mpki", "per 1000 instructions", &|counts| {
            1000.0 * (counts[DTLB_LOAD_WALK_ICE_LAKE] + counts[DTLB_LOAD_STLB_HIT_ICE_LAKE])
                / counts[INSTRUCTIONS]
        }),
        Metric::per_kilo("dtlb_store_mpki", DTLB_STORE_WALK_ICE_LAKE, INSTRUCTIONS),
    ],
    example: MetricExample::of(&[1_000_000, 4_000, 16_000, 500], &["4.0", "20.0", "0.5"]),
};

const DTLB_EFFECTIVENESS: MetricGroup = MetricGroup {
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
        Metric::of("l1_dtlb_load_mpki", "per 1000 instructions", &|counts| {
            1000.0 * (counts[DTLB_LOAD_WALK] + counts[DTLB_LOAD_STLB_HIT]) / counts[INSTRUCTIONS]
        }),
        Metric::per_kilo("dtlb_store_mpki", DTLB_STORE_WALK, INSTRUCTIONS),
    ],
    example: MetricExample::of(&[1_000_000, 4_000, 16_000, 500], &["4.0", "20.0", "0.5"]),
};

/// A load that hits a fill buffer waits for an earlier load's miss.
const L1D_CACHE_EFFECTIVENESS: MetricGroup = MetricGroup {
    name: "L1D_Cache_Effectiveness",
    subject: Subject::DataCache,
    explains: &[Node::Part(Part::MemoryBound)],
    events: &[INSTRUCTIONS, LOADS, L1_MISS, FILL_BUFFER_HIT],
    metrics: &[
        Metric::per_kilo("l1d_load_mpki", L1_MISS, INSTRUCTIONS),
        Metric::percent("l1d_load_miss_ratio", L1_MISS, LOADS, "% of loads"),
        Metric::percent("fill_buffer_hits", FILL_BUFFER_HIT, LOADS, "% of loads"),
    ],
    example: MetricExample::of(
        &[1_000_000, 300_000, 30_000, 15_000],
        &["30.0", "10.0", "5.0"],
    ),
};

const L2_DATA_EFFECTIVENESS: MetricGroup = MetricGroup {
    name: "L2_Cache_Effectiveness (data)",
    subject: Subject::L2Cache,
    explains: &[Node::Part(Part::MemoryBound)],
    events: &[INSTRUCTIONS, L2_HIT, L2_MISS],
    metrics: &[
        Metric::per_kilo("l2_load_mpki", L2_MISS, INSTRUCTIONS),
        Metric::of("l2_load_miss_ratio", "% of loads beyond L1", &|counts| {
            100.0 * counts[L2_MISS] / (counts[L2_HIT] + counts[L2_MISS])
        }),
    ],
    example: MetricExample::of(&[1_000_000, 15_000, 5_000], &["5.0", "25.0"]),
};

const L3_LOADS: MetricGroup = MetricGroup {
    name: "LL_Cache_Effectiveness (loads)",
    subject: Subject::LastLevelCache,
    explains: &[Node::Part(Part::MemoryBound)],
    events: &[INSTRUCTIONS, L3_HIT, L3_MISS],
    metrics: &[
        Metric::per_kilo("l3_load_mpki", L3_MISS, INSTRUCTIONS),
        Metric::of("l3_load_miss_ratio", "% of loads beyond L2", &|counts| {
            100.0 * counts[L3_MISS] / (counts[L3_HIT] + counts[L3_MISS])
        }),
    ],
    example: MetricExample::of(&[1_000_000, 3_000, 1_000], &["1.0", "25.0"]),
};

const LL_CACHE_EFFECTIVENESS: MetricGroup = MetricGroup {
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
    example: MetricExample::of(&[1_000_000, 8_000, 6_000], &["6.0", "75.0"]),
};

/// Cycles in which one to three uops were executed, and cycles in which the divider was busy.
const PORTS_ICE_LAKE: MetricGroup = MetricGroup {
    name: "Ports_Utilization",
    subject: Subject::OperationMix,
    explains: &[Node::Part(Part::CoreBound)],
    events: &[CYCLES, ONE_PORT, TWO_PORTS, THREE_PORTS, DIVIDER_ICE_LAKE],
    metrics: &[
        Metric::percent("one_port", ONE_PORT, CYCLES, "% of cycles"),
        Metric::percent("two_ports", TWO_PORTS, CYCLES, "% of cycles"),
        Metric::percent("three_ports", THREE_PORTS, CYCLES, "% of cycles"),
        Metric::percent("divider", DIVIDER_ICE_LAKE, CYCLES, "% of cycles"),
    ],
    example: MetricExample::of(
        &[1_000_000, 300_000, 200_000, 100_000, 400_000],
        &["30.0", "20.0", "10.0", "40.0"],
    ),
};

/// Cycles in which one to three uops were executed, and cycles in which the divider was busy.
const PORTS: MetricGroup = MetricGroup {
    name: "Ports_Utilization",
    subject: Subject::OperationMix,
    explains: &[Node::Part(Part::CoreBound)],
    events: &[CYCLES, ONE_PORT, TWO_PORTS, THREE_PORTS, DIVIDER],
    metrics: &[
        Metric::percent("one_port", ONE_PORT, CYCLES, "% of cycles"),
        Metric::percent("two_ports", TWO_PORTS, CYCLES, "% of cycles"),
        Metric::percent("three_ports", THREE_PORTS, CYCLES, "% of cycles"),
        Metric::percent("divider", DIVIDER, CYCLES, "% of cycles"),
    ],
    example: MetricExample::of(
        &[1_000_000, 300_000, 200_000, 100_000, 400_000],
        &["30.0", "20.0", "10.0", "40.0"],
    ),
};

const OPERATION_MIX: MetricGroup = MetricGroup {
    name: "Operation_Mix",
    subject: Subject::OperationMix,
    explains: &[RETIRING, Node::Part(Part::CoreBound)],
    events: &[INSTRUCTIONS, RETIRED, LOADS, STORES, BRANCHES],
    metrics: &[
        Metric::of("uops_per_instruction", "per instruction", &|counts| {
            counts[RETIRED] / counts[INSTRUCTIONS]
        }),
        Metric::percent("loads", LOADS, INSTRUCTIONS, "% of instructions"),
        Metric::percent("stores", STORES, INSTRUCTIONS, "% of instructions"),
        Metric::percent("branches", BRANCHES, INSTRUCTIONS, "% of instructions"),
    ],
    example: MetricExample::of(
        &[1_000_000, 1_100_000, 300_000, 110_000, 200_000],
        &["1.10", "30.0", "11.0", "20.0"],
    ),
};

const FP_MIX_ICE_LAKE: MetricGroup = MetricGroup {
    name: "Operation_Mix (floating point)",
    subject: Subject::OperationMix,
    explains: &[RETIRING, Node::Part(Part::CoreBound)],
    events: &[INSTRUCTIONS, FP_SCALAR, FP_VECTOR],
    metrics: &[
        Metric::percent("fp_scalar", FP_SCALAR, INSTRUCTIONS, "% of instructions"),
        Metric::percent("fp_vector", FP_VECTOR, INSTRUCTIONS, "% of instructions"),
    ],
    example: MetricExample::of(&[1_000_000, 50_000, 20_000], &["5.0", "2.0"]),
};

const FP_MIX_LION_COVE: MetricGroup = MetricGroup {
    name: "Operation_Mix (floating point)",
    subject: Subject::OperationMix,
    explains: &[RETIRING, Node::Part(Part::CoreBound)],
    events: &[INSTRUCTIONS, FP_SCALAR],
    metrics: &[Metric::percent(
        "fp_scalar",
        FP_SCALAR,
        INSTRUCTIONS,
        "% of instructions",
    )],
    example: MetricExample::of(&[1_000_000, 50_000], &["5.0"]),
};
