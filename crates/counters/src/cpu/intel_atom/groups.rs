//! Metric groups of Intel's efficient cores.
//!
//! Sources: perfmon GLM, EHL, ADL (Gracemont), SRF and LNL (Skymont), E-core_TMA_Metrics.csv 4. On
//! Tremont the level-2 events are unions of single causes, which its event list contains one by
//! one.
//!
//! The second level of an efficient core does not fit a sample's
//! [`level2`](topdown_run::sample::Sample::level2): it has no heavy operations, and divides the backend by
//! resource rather than memory.

use super::events::{BACKEND, BACKEND_SKYMONT, CYCLES, INSTRUCTIONS, slots};
use crate::cpu::metric_group::{
    BACKEND_BOUND, BAD_SPECULATION, FRONTEND_BOUND, Metric, MetricExample, MetricGroup, Node,
    RETIRING, Subject,
};
use crate::cpu::{Counts, Event};
use topdown_run::category::Part;

const BRANCHES: Event = Event::general("BR_INST_RETIRED.ALL_BRANCHES", 0x00c4);
const MISPREDICTED: Event = Event::general("BR_MISP_RETIRED.ALL_BRANCHES", 0x00c5);
const LL_REFERENCES: Event = Event::general("LONGEST_LAT_CACHE.REFERENCE", 0x4f2e);
const LL_MISSES: Event = Event::general("LONGEST_LAT_CACHE.MISS", 0x412e);
const LATENCY: Event = Event::general("TOPDOWN_FE_BOUND.FRONTEND_LATENCY", 0x7271);
const BANDWIDTH: Event = Event::general("TOPDOWN_FE_BOUND.FRONTEND_BANDWIDTH", 0x8d71);
const FRONTEND_ICACHE: Event = Event::general("TOPDOWN_FE_BOUND.ICACHE", 0x2071);
const FRONTEND_ITLB: Event = Event::general("TOPDOWN_FE_BOUND.ITLB", 0x1071);
const FRONTEND_RESTEER: Event = Event::general("TOPDOWN_FE_BOUND.BRANCH_RESTEER", 0x4071);
const FRONTEND_DETECT: Event = Event::general("TOPDOWN_FE_BOUND.BRANCH_DETECT", 0x0271);
const MISPREDICT: Event = Event::general("TOPDOWN_BAD_SPECULATION.MISPREDICT", 0x0473);
const CLEARS: Event = Event::general("TOPDOWN_BAD_SPECULATION.MACHINE_CLEARS", 0x0373);
const CLEARS_TREMONT: Event = Event::general("TOPDOWN_BAD_SPECULATION.MACHINE_CLEARS", 0x0273);
const RESTRICTIONS: Event = Event::general("TOPDOWN_BE_BOUND.ALLOC_RESTRICTIONS", 0x0174);
const MEMORY_SCHEDULER: Event = Event::general("TOPDOWN_BE_BOUND.MEM_SCHEDULER", 0x0274);
const OTHER_SCHEDULER: Event = Event::general("TOPDOWN_BE_BOUND.NON_MEM_SCHEDULER", 0x0874);
const REORDER_BUFFER: Event = Event::general("TOPDOWN_BE_BOUND.REORDER_BUFFER", 0x4074);
const ITLB_WALK: Event = Event::general("ITLB_MISSES.WALK_COMPLETED", 0x0e85);
const ITLB_MISS_GOLDMONT: Event = Event::general("ITLB.MISS", 0x0481);
const DTLB_LOAD_WALK: Event = Event::general("DTLB_LOAD_MISSES.WALK_COMPLETED", 0x0e08);
const DTLB_STORE_WALK: Event = Event::general("DTLB_STORE_MISSES.WALK_COMPLETED", 0x0e49);
const DTLB_MISS_LOADS_GOLDMONT: Event = Event::general("MEM_UOPS_RETIRED.DTLB_MISS_LOADS", 0x11d0);
const DTLB_MISS_STORES_GOLDMONT: Event =
    Event::general("MEM_UOPS_RETIRED.DTLB_MISS_STORES", 0x12d0);
const ICACHE_ACCESSES: Event = Event::general("ICACHE.ACCESSES", 0x0380);
const ICACHE_MISSES: Event = Event::general("ICACHE.MISSES", 0x0280);
const LOADS: Event = Event::general("MEM_UOPS_RETIRED.ALL_LOADS", 0x81d0);
const STORES: Event = Event::general("MEM_UOPS_RETIRED.ALL_STORES", 0x82d0);
const L2_HIT: Event = Event::general("MEM_LOAD_UOPS_RETIRED.L2_HIT", 0x02d1);
const L1_MISS: Event = Event::general("MEM_LOAD_UOPS_RETIRED.L1_MISS", 0x08d1);
const L2_MISS: Event = Event::general("MEM_LOAD_UOPS_RETIRED.L2_MISS", 0x10d1);
const L1_MISS_CRESTMONT: Event = Event::general("MEM_LOAD_UOPS_RETIRED.L1_MISS", 0x40d1);
const L2_MISS_CRESTMONT: Event = Event::general("MEM_LOAD_UOPS_RETIRED.L2_MISS", 0x80d1);
const STALLS_L2_HIT: Event = Event::general("MEM_BOUND_STALLS.LOAD_L2_HIT", 0x0134);
const STALLS_LL_HIT: Event = Event::general("MEM_BOUND_STALLS.LOAD_LLC_HIT", 0x0234);
const STALLS_MEMORY: Event = Event::general("MEM_BOUND_STALLS.LOAD_DRAM_HIT", 0x0434);
const STALLS_L2_MISS: Event = Event::general("MEM_BOUND_STALLS_LOAD.L2_MISS", 0x7e34);
const STALLS_LL_MISS: Event = Event::general("MEM_BOUND_STALLS_LOAD.LLC_MISS", 0x7834);
const STALLS_LL_MISS_DARKMONT: Event = Event::general("MEM_BOUND_STALLS_LOAD.LLC_MISS", 0x3834);
const STALLS_LL_HIT_DARKMONT: Event = Event::general("MEM_BOUND_STALLS_LOAD.LLC_HIT", 0x0634);
const STALLS_LOCAL_MEMORY: Event =
    Event::general("MEM_BOUND_STALLS_LOAD.LLC_MISS_LOCALMEM", 0x1034);
const STALLS_OTHER_MODULE: Event =
    Event::general("MEM_BOUND_STALLS_LOAD.LLC_MISS_OTHERMOD", 0x0834);

pub const GOLDMONT: &[MetricGroup] = &[
    BRANCH_EFFECTIVENESS,
    ITLB_GOLDMONT,
    L1I_CACHE_EFFECTIVENESS,
    DTLB_GOLDMONT,
    L1D_CACHE_EFFECTIVENESS,
    L2_CACHE_EFFECTIVENESS,
    LL_CACHE_EFFECTIVENESS,
    OPERATION_MIX,
];

pub const TREMONT: &[MetricGroup] = &[
    LEVEL_2_FRONTEND,
    LEVEL_2_BAD_SPECULATION_TREMONT,
    LEVEL_2_BACKEND,
    FRONTEND_CAUSES,
    BACKEND_CAUSES,
    BRANCH_EFFECTIVENESS,
    ITLB_EFFECTIVENESS,
    L1I_CACHE_EFFECTIVENESS,
    MEMORY_STALLS,
    DTLB_EFFECTIVENESS,
    L1D_CACHE_EFFECTIVENESS,
    L2_CACHE_EFFECTIVENESS,
    LL_CACHE_EFFECTIVENESS,
    OPERATION_MIX,
];

pub const GRACEMONT: &[MetricGroup] = &[
    LEVEL_2_FRONTEND,
    LEVEL_2_BAD_SPECULATION,
    LEVEL_2_BACKEND,
    FRONTEND_CAUSES,
    BACKEND_CAUSES,
    BRANCH_EFFECTIVENESS,
    ITLB_EFFECTIVENESS,
    L1I_CACHE_EFFECTIVENESS,
    MEMORY_STALLS,
    DTLB_EFFECTIVENESS,
    L1D_CACHE_EFFECTIVENESS,
    L2_CACHE_EFFECTIVENESS,
    LL_CACHE_EFFECTIVENESS,
    OPERATION_MIX,
];

pub const CRESTMONT: &[MetricGroup] = &[
    LEVEL_2_FRONTEND,
    LEVEL_2_BAD_SPECULATION,
    LEVEL_2_BACKEND,
    FRONTEND_CAUSES,
    BACKEND_CAUSES,
    BRANCH_EFFECTIVENESS,
    ITLB_EFFECTIVENESS,
    L1I_CACHE_EFFECTIVENESS,
    MEMORY_STALLS_CRESTMONT,
    DTLB_EFFECTIVENESS,
    L1D_CRESTMONT,
    L2_CRESTMONT,
    LL_CACHE_EFFECTIVENESS,
    OPERATION_MIX,
];

pub const SKYMONT: &[MetricGroup] = &[
    LEVEL_2_FRONTEND,
    LEVEL_2_BAD_SPECULATION,
    LEVEL_2_BACKEND_SKYMONT,
    FRONTEND_CAUSES,
    BACKEND_CAUSES,
    BRANCH_EFFECTIVENESS,
    ITLB_EFFECTIVENESS,
    L1I_CACHE_EFFECTIVENESS,
    MEMORY_STALLS_CRESTMONT,
    DTLB_EFFECTIVENESS,
    L1D_CRESTMONT,
    L2_CRESTMONT,
    LL_CACHE_EFFECTIVENESS,
    OPERATION_MIX,
];

pub const DARKMONT: &[MetricGroup] = &[
    LEVEL_2_FRONTEND,
    LEVEL_2_BAD_SPECULATION,
    LEVEL_2_BACKEND_SKYMONT,
    FRONTEND_CAUSES,
    BACKEND_CAUSES,
    BRANCH_EFFECTIVENESS,
    ITLB_EFFECTIVENESS,
    L1I_CACHE_EFFECTIVENESS,
    MEMORY_STALLS_DARKMONT,
    DTLB_EFFECTIVENESS,
    L1D_CRESTMONT,
    L2_CRESTMONT,
    LL_CACHE_EFFECTIVENESS,
    OPERATION_MIX,
];

pub const DARKMONT_SERVER: &[MetricGroup] = &[
    LEVEL_2_FRONTEND,
    LEVEL_2_BAD_SPECULATION,
    LEVEL_2_BACKEND_SKYMONT,
    FRONTEND_CAUSES,
    BACKEND_CAUSES,
    BRANCH_EFFECTIVENESS,
    ITLB_EFFECTIVENESS,
    L1I_CACHE_EFFECTIVENESS,
    MEMORY_STALLS_DARKMONT_SERVER,
    DTLB_EFFECTIVENESS,
    L1D_CRESTMONT,
    L2_CRESTMONT,
    LL_CACHE_EFFECTIVENESS,
    OPERATION_MIX,
];

/// Returns an event of slots as a percentage of all slots.
fn share(counts: &Counts, event: Event) -> f64 {
    100.0 * counts[event] / slots(counts)
}

const LEVEL_2_FRONTEND: MetricGroup = MetricGroup {
    name: "TopdownL2 frontend_bound",
    subject: Subject::Level2,
    explains: &[FRONTEND_BOUND],
    events: &[CYCLES, LATENCY, BANDWIDTH],
    metrics: &[
        Metric::slots("Fetch_Latency", LATENCY, CYCLES),
        Metric::slots("Fetch_Bandwidth", BANDWIDTH, CYCLES),
    ],
    example: MetricExample::new(&[1_000_000, 480_000, 320_000], &["12.0", "8.0"]).at_width(4),
};

const LEVEL_2_BAD_SPECULATION: MetricGroup = MetricGroup {
    name: "TopdownL2 bad_speculation",
    subject: Subject::Level2,
    explains: &[BAD_SPECULATION],
    events: &[CYCLES, MISPREDICT, CLEARS],
    metrics: &[
        Metric::slots("Branch_Mispredicts", MISPREDICT, CYCLES),
        Metric::slots("Machine_Clears", CLEARS, CYCLES),
    ],
    example: MetricExample::new(&[1_000_000, 300_000, 100_000], &["7.5", "2.5"]).at_width(4),
};

const LEVEL_2_BAD_SPECULATION_TREMONT: MetricGroup = MetricGroup {
    name: "TopdownL2 bad_speculation",
    subject: Subject::Level2,
    explains: &[BAD_SPECULATION],
    events: &[CYCLES, MISPREDICT, CLEARS_TREMONT],
    metrics: &[
        Metric::slots("Branch_Mispredicts", MISPREDICT, CYCLES),
        Metric::slots("Machine_Clears", CLEARS_TREMONT, CYCLES),
    ],
    example: MetricExample::new(&[1_000_000, 300_000, 100_000], &["7.5", "2.5"]).at_width(4),
};

const LEVEL_2_BACKEND: MetricGroup = MetricGroup {
    name: "TopdownL2 backend_bound",
    subject: Subject::Level2,
    explains: &[BACKEND_BOUND],
    events: &[CYCLES, BACKEND, RESTRICTIONS],
    metrics: &[
        Metric::slots("Core_Bound", RESTRICTIONS, CYCLES),
        Metric::new("Resource_Bound", "% of slots", &|counts| {
            share(counts, BACKEND) - share(counts, RESTRICTIONS)
        }),
    ],
    example: MetricExample::new(&[1_000_000, 1_200_000, 200_000], &["5.0", "25.0"]).at_width(4),
};

const LEVEL_2_BACKEND_SKYMONT: MetricGroup = MetricGroup {
    name: "TopdownL2 backend_bound",
    subject: Subject::Level2,
    explains: &[BACKEND_BOUND],
    events: &[CYCLES, BACKEND_SKYMONT, RESTRICTIONS],
    metrics: &[
        Metric::slots("Core_Bound", RESTRICTIONS, CYCLES),
        Metric::new("Resource_Bound", "% of slots", &|counts| {
            share(counts, BACKEND_SKYMONT) - share(counts, RESTRICTIONS)
        }),
    ],
    example: MetricExample::new(&[1_000_000, 1_200_000, 200_000], &["5.0", "25.0"]).at_width(4),
};

const FRONTEND_CAUSES: MetricGroup = MetricGroup {
    name: "Frontend_Causes",
    subject: Subject::Stalls,
    explains: &[Node::Part(Part::FetchLatency)],
    events: &[
        CYCLES,
        FRONTEND_ICACHE,
        FRONTEND_ITLB,
        FRONTEND_RESTEER,
        FRONTEND_DETECT,
    ],
    metrics: &[
        Metric::slots("ICache_Misses", FRONTEND_ICACHE, CYCLES),
        Metric::slots("ITLB_Misses", FRONTEND_ITLB, CYCLES),
        Metric::slots("Branch_Resteer", FRONTEND_RESTEER, CYCLES),
        Metric::slots("Branch_Detect", FRONTEND_DETECT, CYCLES),
    ],
    example: MetricExample::new(
        &[1_000_000, 400_000, 40_000, 200_000, 100_000],
        &["10.0", "1.0", "5.0", "2.5"],
    )
    .at_width(4),
};

const BACKEND_CAUSES: MetricGroup = MetricGroup {
    name: "Backend_Causes",
    subject: Subject::Stalls,
    explains: &[BACKEND_BOUND],
    events: &[CYCLES, MEMORY_SCHEDULER, OTHER_SCHEDULER, REORDER_BUFFER],
    metrics: &[
        Metric::slots("Mem_Scheduler", MEMORY_SCHEDULER, CYCLES),
        Metric::slots("Non_Mem_Scheduler", OTHER_SCHEDULER, CYCLES),
        Metric::slots("Reorder_Buffer", REORDER_BUFFER, CYCLES),
    ],
    example: MetricExample::new(
        &[1_000_000, 400_000, 80_000, 160_000],
        &["10.0", "2.0", "4.0"],
    )
    .at_width(4),
};

const BRANCH_EFFECTIVENESS: MetricGroup = MetricGroup {
    name: "Branch_Effectiveness",
    subject: Subject::Branches,
    explains: &[Node::Part(Part::BranchMispredicts), FRONTEND_BOUND],
    events: &[INSTRUCTIONS, BRANCHES, MISPREDICTED],
    metrics: &[
        Metric::per_kilo("branch_mpki", MISPREDICTED, INSTRUCTIONS),
        Metric::percent(
            "branch_misprediction_ratio",
            MISPREDICTED,
            BRANCHES,
            "% of branches",
        ),
    ],
    example: MetricExample::new(&[1_000_000, 200_000, 5_000], &["5.0", "2.5"]),
};

const ITLB_GOLDMONT: MetricGroup = MetricGroup {
    name: "ITLB_Effectiveness",
    subject: Subject::InstructionTlb,
    explains: &[Node::Part(Part::FetchLatency)],
    events: &[INSTRUCTIONS, ITLB_MISS_GOLDMONT],
    metrics: &[Metric::per_kilo(
        "itlb_mpki",
        ITLB_MISS_GOLDMONT,
        INSTRUCTIONS,
    )],
    example: MetricExample::new(&[1_000_000, 500], &["0.5"]),
};

const ITLB_EFFECTIVENESS: MetricGroup = MetricGroup {
    name: "ITLB_Effectiveness",
    subject: Subject::InstructionTlb,
    explains: &[Node::Part(Part::FetchLatency)],
    events: &[INSTRUCTIONS, ITLB_WALK],
    metrics: &[Metric::per_kilo("itlb_mpki", ITLB_WALK, INSTRUCTIONS)],
    example: MetricExample::new(&[1_000_000, 500], &["0.5"]),
};

const L1I_CACHE_EFFECTIVENESS: MetricGroup = MetricGroup {
    name: "L1I_Cache_Effectiveness",
    subject: Subject::InstructionCache,
    explains: &[Node::Part(Part::FetchLatency)],
    events: &[INSTRUCTIONS, ICACHE_ACCESSES, ICACHE_MISSES],
    metrics: &[
        Metric::per_kilo("l1i_cache_mpki", ICACHE_MISSES, INSTRUCTIONS),
        Metric::percent(
            "l1i_cache_miss_ratio",
            ICACHE_MISSES,
            ICACHE_ACCESSES,
            "% of accesses",
        ),
    ],
    example: MetricExample::new(&[1_000_000, 250_000, 12_500], &["12.5", "5.0"]),
};

/// Cycles in which the oldest load waited, by the level that served it.
const MEMORY_STALLS: MetricGroup = MetricGroup {
    name: "Memory_Stalls",
    subject: Subject::Stalls,
    explains: &[Node::Part(Part::MemoryBound)],
    events: &[CYCLES, STALLS_L2_HIT, STALLS_LL_HIT, STALLS_MEMORY],
    metrics: &[
        Metric::percent("L2_Bound", STALLS_L2_HIT, CYCLES, "% of cycles"),
        Metric::percent("L3_Bound", STALLS_LL_HIT, CYCLES, "% of cycles"),
        Metric::percent("DRAM_Bound", STALLS_MEMORY, CYCLES, "% of cycles"),
    ],
    example: MetricExample::new(
        &[1_000_000, 100_000, 50_000, 300_000],
        &["10.0", "5.0", "30.0"],
    ),
};

const MEMORY_STALLS_CRESTMONT: MetricGroup = MetricGroup {
    name: "Memory_Stalls",
    subject: Subject::Stalls,
    explains: &[Node::Part(Part::MemoryBound)],
    events: &[CYCLES, STALLS_L2_HIT, STALLS_L2_MISS, STALLS_LL_MISS],
    metrics: &[
        Metric::percent("L2_Bound", STALLS_L2_HIT, CYCLES, "% of cycles"),
        Metric::new("L3_Bound", "% of cycles", &|counts| {
            100.0 * (counts[STALLS_L2_MISS] - counts[STALLS_LL_MISS]) / counts[CYCLES]
        }),
        Metric::percent("DRAM_Bound", STALLS_LL_MISS, CYCLES, "% of cycles"),
    ],
    example: MetricExample::new(
        &[1_000_000, 100_000, 350_000, 300_000],
        &["10.0", "5.0", "30.0"],
    ),
};

const MEMORY_STALLS_DARKMONT: MetricGroup = MetricGroup {
    events: &[
        CYCLES,
        STALLS_L2_HIT,
        STALLS_L2_MISS,
        STALLS_LL_MISS_DARKMONT,
    ],
    ..MEMORY_STALLS_CRESTMONT
};

const MEMORY_STALLS_DARKMONT_SERVER: MetricGroup = MetricGroup {
    events: &[
        CYCLES,
        STALLS_L2_HIT,
        STALLS_LL_HIT_DARKMONT,
        STALLS_LOCAL_MEMORY,
        STALLS_OTHER_MODULE,
    ],
    metrics: &[
        Metric::percent("L2_Bound", STALLS_L2_HIT, CYCLES, "% of cycles"),
        Metric::percent("L3_Bound", STALLS_LL_HIT_DARKMONT, CYCLES, "% of cycles"),
        Metric::percent("DRAM_Bound", STALLS_LOCAL_MEMORY, CYCLES, "% of cycles"),
        Metric::percent(
            "Other_Module_Bound",
            STALLS_OTHER_MODULE,
            CYCLES,
            "% of cycles",
        ),
    ],
    example: MetricExample::new(
        &[1_000_000, 100_000, 50_000, 300_000, 20_000],
        &["10.0", "5.0", "30.0", "2.0"],
    ),
    ..MEMORY_STALLS_CRESTMONT
};

const DTLB_GOLDMONT: MetricGroup = MetricGroup {
    name: "DTLB_Effectiveness",
    subject: Subject::DataTlb,
    explains: &[Node::Part(Part::MemoryBound)],
    events: &[
        INSTRUCTIONS,
        DTLB_MISS_LOADS_GOLDMONT,
        DTLB_MISS_STORES_GOLDMONT,
    ],
    metrics: &[
        Metric::per_kilo("dtlb_load_mpki", DTLB_MISS_LOADS_GOLDMONT, INSTRUCTIONS),
        Metric::per_kilo("dtlb_store_mpki", DTLB_MISS_STORES_GOLDMONT, INSTRUCTIONS),
    ],
    example: MetricExample::new(&[1_000_000, 4_000, 500], &["4.0", "0.5"]),
};

const DTLB_EFFECTIVENESS: MetricGroup = MetricGroup {
    name: "DTLB_Effectiveness",
    subject: Subject::DataTlb,
    explains: &[Node::Part(Part::MemoryBound)],
    events: &[INSTRUCTIONS, DTLB_LOAD_WALK, DTLB_STORE_WALK],
    metrics: &[
        Metric::per_kilo("dtlb_load_mpki", DTLB_LOAD_WALK, INSTRUCTIONS),
        Metric::per_kilo("dtlb_store_mpki", DTLB_STORE_WALK, INSTRUCTIONS),
    ],
    example: MetricExample::new(&[1_000_000, 4_000, 500], &["4.0", "0.5"]),
};

const L1D_CACHE_EFFECTIVENESS: MetricGroup = MetricGroup {
    name: "L1D_Cache_Effectiveness",
    subject: Subject::DataCache,
    explains: &[Node::Part(Part::MemoryBound)],
    events: &[INSTRUCTIONS, LOADS, L1_MISS],
    metrics: &[
        Metric::per_kilo("l1d_load_mpki", L1_MISS, INSTRUCTIONS),
        Metric::percent("l1d_load_miss_ratio", L1_MISS, LOADS, "% of loads"),
    ],
    example: MetricExample::new(&[1_000_000, 300_000, 30_000], &["30.0", "10.0"]),
};

const L1D_CRESTMONT: MetricGroup = MetricGroup {
    name: "L1D_Cache_Effectiveness",
    subject: Subject::DataCache,
    explains: &[Node::Part(Part::MemoryBound)],
    events: &[INSTRUCTIONS, LOADS, L1_MISS_CRESTMONT],
    metrics: &[
        Metric::per_kilo("l1d_load_mpki", L1_MISS_CRESTMONT, INSTRUCTIONS),
        Metric::percent(
            "l1d_load_miss_ratio",
            L1_MISS_CRESTMONT,
            LOADS,
            "% of loads",
        ),
    ],
    example: MetricExample::new(&[1_000_000, 300_000, 30_000], &["30.0", "10.0"]),
};

const L2_CACHE_EFFECTIVENESS: MetricGroup = MetricGroup {
    name: "L2_Cache_Effectiveness",
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

const L2_CRESTMONT: MetricGroup = MetricGroup {
    name: "L2_Cache_Effectiveness",
    subject: Subject::L2Cache,
    explains: &[Node::Part(Part::MemoryBound)],
    events: &[INSTRUCTIONS, L2_HIT, L2_MISS_CRESTMONT],
    metrics: &[
        Metric::per_kilo("l2_load_mpki", L2_MISS_CRESTMONT, INSTRUCTIONS),
        Metric::new("l2_load_miss_ratio", "% of loads beyond L1", &|counts| {
            100.0 * counts[L2_MISS_CRESTMONT] / (counts[L2_HIT] + counts[L2_MISS_CRESTMONT])
        }),
    ],
    example: MetricExample::new(&[1_000_000, 15_000, 5_000], &["5.0", "25.0"]),
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
    example: MetricExample::new(&[1_000_000, 8_000, 6_000], &["6.0", "75.0"]),
};

const OPERATION_MIX: MetricGroup = MetricGroup {
    name: "Operation_Mix",
    subject: Subject::OperationMix,
    explains: &[RETIRING, BACKEND_BOUND],
    events: &[INSTRUCTIONS, LOADS, STORES, BRANCHES],
    metrics: &[
        Metric::percent("loads", LOADS, INSTRUCTIONS, "% of instructions"),
        Metric::percent("stores", STORES, INSTRUCTIONS, "% of instructions"),
        Metric::percent("branches", BRANCHES, INSTRUCTIONS, "% of instructions"),
    ],
    example: MetricExample::new(
        &[1_000_000, 300_000, 110_000, 200_000],
        &["30.0", "11.0", "20.0"],
    ),
};
