//! Metric groups of Intel's performance cores from Sandy Bridge to Cascade Lake.
//!
//! Sources: perfmon SNB, IVB, HSW, BDW and SKX, which use the same event codes wherever a list here
//! serves several of them; formulas of level 2 and of stalled cycles: TMA_Metrics-full.csv 5.2.
//! Loads served by a level are counted at retirement.
//!
//! A thread has four counters while SMT is enabled, and the cycles need one of them alongside the
//! NMI watchdog.

use super::events::{CYCLES, INSTRUCTIONS, NOT_DELIVERED, RETIRED};
use crate::cpu::Event;
use crate::cpu::metric_group::{
    BACKEND_BOUND, BAD_SPECULATION, FRONTEND_BOUND, Metric, MetricExample, MetricGroup, Node,
    RETIRING, Subject,
};
use topdown_run::category::Part;

const BRANCHES: Event = Event::general("BR_INST_RETIRED.ALL_BRANCHES", 0x00c4);
const MISPREDICTED: Event = Event::general("BR_MISP_RETIRED.ALL_BRANCHES", 0x00c5);
const LL_REFERENCES: Event = Event::general("LONGEST_LAT_CACHE.REFERENCE", 0x4f2e);
const LL_MISSES: Event = Event::general("LONGEST_LAT_CACHE.MISS", 0x412e);
const MACHINE_CLEARS: Event = Event::general("MACHINE_CLEARS.COUNT", 0x0104_01c3);
const NOTHING_DELIVERED: Event = Event::general(
    "IDQ_UOPS_NOT_DELIVERED.CYCLES_0_UOPS_DELIV.CORE",
    0x0400_019c,
);
const DSB_UOPS: Event = Event::general("IDQ.DSB_UOPS", 0x0879);
const MITE_UOPS: Event = Event::general("IDQ.MITE_UOPS", 0x0479);
const MS_UOPS: Event = Event::general("IDQ.MS_UOPS", 0x3079);
// The same code under MEM_UOPS_RETIRED before Skylake.
const LOADS: Event = Event::general("MEM_INST_RETIRED.ALL_LOADS", 0x81d0);
const STORES: Event = Event::general("MEM_INST_RETIRED.ALL_STORES", 0x82d0);
const STLB_MISS_LOADS: Event = Event::general("MEM_INST_RETIRED.STLB_MISS_LOADS", 0x11d0);
const STLB_MISS_STORES: Event = Event::general("MEM_INST_RETIRED.STLB_MISS_STORES", 0x12d0);
// The same codes under MEM_LOAD_UOPS_RETIRED before Skylake.
const L1_HIT: Event = Event::general("MEM_LOAD_RETIRED.L1_HIT", 0x01d1);
const FILL_BUFFER_HIT: Event = Event::general("MEM_LOAD_RETIRED.FB_HIT", 0x40d1);
const L2_HIT: Event = Event::general("MEM_LOAD_RETIRED.L2_HIT", 0x02d1);
const L3_HIT: Event = Event::general("MEM_LOAD_RETIRED.L3_HIT", 0x04d1);

// Before Skylake.
const ICACHE_HIT: Event = Event::general("ICACHE.HIT", 0x0180);
const ICACHE_MISSES: Event = Event::general("ICACHE.MISSES", 0x0280);
const ITLB_WALKS_BEGUN: Event = Event::general("ITLB_MISSES.MISS_CAUSES_A_WALK", 0x0185);
const NO_EXECUTE: Event = Event::general("CYCLE_ACTIVITY.CYCLES_NO_EXECUTE", 0x0400_04a3);
const STALLS_L2_PENDING: Event = Event::general("CYCLE_ACTIVITY.STALLS_L2_PENDING", 0x0500_05a3);
const STORE_BUFFER_FULL: Event = Event::general("RESOURCE_STALLS.SB", 0x08a2);

// Skylake.
const IFTAG_HIT: Event = Event::general("ICACHE_64B.IFTAG_HIT", 0x0183);
const IFTAG_MISS: Event = Event::general("ICACHE_64B.IFTAG_MISS", 0x0283);
const ITLB_WALK: Event = Event::general("ITLB_MISSES.WALK_COMPLETED", 0x0e85);
const ITLB_STLB_HIT: Event = Event::general("ITLB_MISSES.STLB_HIT", 0x2085);
const DTLB_LOAD_WALK: Event = Event::general("DTLB_LOAD_MISSES.WALK_COMPLETED", 0x0e08);
const DTLB_LOAD_STLB_HIT: Event = Event::general("DTLB_LOAD_MISSES.STLB_HIT", 0x2008);
const DTLB_STORE_WALK: Event = Event::general("DTLB_STORE_MISSES.WALK_COMPLETED", 0x0e49);
const L2_CODE_READS: Event = Event::general("L2_RQSTS.ALL_CODE_RD", 0xe424);
const L2_CODE_MISSES: Event = Event::general("L2_RQSTS.CODE_RD_MISS", 0x2424);
const L1_MISS: Event = Event::general("MEM_LOAD_RETIRED.L1_MISS", 0x08d1);
const L2_MISS: Event = Event::general("MEM_LOAD_RETIRED.L2_MISS", 0x10d1);
const STALLS_TOTAL: Event = Event::general("CYCLE_ACTIVITY.STALLS_TOTAL", 0x0400_04a3);
const STALLS_MEMORY: Event = Event::general("CYCLE_ACTIVITY.STALLS_MEM_ANY", 0x1400_14a3);
const STALLS_L1D_MISS: Event = Event::general("CYCLE_ACTIVITY.STALLS_L1D_MISS", 0x0c00_0ca3);
const STALLS_L2_MISS: Event = Event::general("CYCLE_ACTIVITY.STALLS_L2_MISS", 0x0500_05a3);
const STALLS_L3_MISS: Event = Event::general("CYCLE_ACTIVITY.STALLS_L3_MISS", 0x0600_06a3);
const BOUND_ON_STORES: Event = Event::general("EXE_ACTIVITY.BOUND_ON_STORES", 0x40a6);
const ONE_PORT: Event = Event::general("EXE_ACTIVITY.1_PORTS_UTIL", 0x02a6);
const TWO_PORTS: Event = Event::general("EXE_ACTIVITY.2_PORTS_UTIL", 0x04a6);
const DIVIDER_ACTIVE: Event = Event::general("ARITH.DIVIDER_ACTIVE", 0x0100_0114);
const FP_SCALAR: Event = Event::general("FP_ARITH_INST_RETIRED.SCALAR", 0x03c7);
const FP_VECTOR: Event = Event::general("FP_ARITH_INST_RETIRED.VECTOR", 0xfcc7);

/// Sandy Bridge, Ivy Bridge, Haswell, Broadwell: the events that they all count under one code.
pub const SANDY_BRIDGE: &[MetricGroup] = &[
    LEVEL_2_FRONTEND,
    CLEARS,
    BRANCH_EFFECTIVENESS,
    ITLB_SANDY_BRIDGE,
    L1I_SANDY_BRIDGE,
    DECODED_CACHE,
    STALLS_SANDY_BRIDGE,
    DTLB_SANDY_BRIDGE,
    L1D_SANDY_BRIDGE,
    L2_SANDY_BRIDGE,
    LL_CACHE_EFFECTIVENESS,
    OPERATION_MIX,
];

pub const SKYLAKE: &[MetricGroup] = &[
    LEVEL_2_FRONTEND,
    CLEARS,
    BRANCH_EFFECTIVENESS,
    ITLB_SKYLAKE,
    L1I_SKYLAKE,
    DECODED_CACHE,
    L2_CODE_SKYLAKE,
    STALLS_SKYLAKE,
    MEMORY_STALLS_SKYLAKE,
    DTLB_SKYLAKE,
    L1D_SKYLAKE,
    L2_SKYLAKE,
    LL_CACHE_EFFECTIVENESS,
    PORTS_SKYLAKE,
    OPERATION_MIX,
    FP_MIX_SKYLAKE,
];

const LEVEL_2_FRONTEND: MetricGroup = MetricGroup {
    name: "TopdownL2 frontend_bound",
    subject: Subject::Level2,
    explains: &[FRONTEND_BOUND],
    events: &[CYCLES, NOT_DELIVERED, NOTHING_DELIVERED],
    metrics: &[
        Metric::percent("fetch_latency", NOTHING_DELIVERED, CYCLES, "% of slots"),
        Metric::new("fetch_bandwidth", "% of slots", &|counts| {
            100.0 * (counts[NOT_DELIVERED] / counts.slots_per_cycle() - counts[NOTHING_DELIVERED])
                / counts[CYCLES]
        }),
    ],
    example: MetricExample::new(&[1_000_000, 800_000, 120_000], &["12.0", "8.0"]),
};

/// Intel's level 2 splits bad speculation in proportion to the counts of its two causes.
const CLEARS: MetricGroup = MetricGroup {
    name: "Machine_Clears",
    subject: Subject::Clears,
    explains: &[BAD_SPECULATION],
    events: &[INSTRUCTIONS, MISPREDICTED, MACHINE_CLEARS],
    metrics: &[
        Metric::per_kilo("machine_clears", MACHINE_CLEARS, INSTRUCTIONS),
        Metric::new("branch_mispredicts", "% of bad speculation", &|counts| {
            100.0 * counts[MISPREDICTED] / (counts[MISPREDICTED] + counts[MACHINE_CLEARS])
        }),
        Metric::new("machine_clears", "% of bad speculation", &|counts| {
            100.0 * counts[MACHINE_CLEARS] / (counts[MISPREDICTED] + counts[MACHINE_CLEARS])
        }),
    ],
    example: MetricExample::new(&[1_000_000, 9_000, 1_000], &["1.0", "90.0", "10.0"]),
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

const ITLB_SANDY_BRIDGE: MetricGroup = MetricGroup {
    name: "ITLB_Effectiveness",
    subject: Subject::InstructionTlb,
    explains: &[Node::Part(Part::FetchLatency)],
    events: &[INSTRUCTIONS, ITLB_WALKS_BEGUN],
    metrics: &[Metric::per_kilo(
        "itlb_mpki",
        ITLB_WALKS_BEGUN,
        INSTRUCTIONS,
    )],
    example: MetricExample::new(&[1_000_000, 500], &["0.5"]),
};

const ITLB_SKYLAKE: MetricGroup = MetricGroup {
    name: "ITLB_Effectiveness",
    subject: Subject::InstructionTlb,
    explains: &[Node::Part(Part::FetchLatency)],
    events: &[INSTRUCTIONS, ITLB_WALK, ITLB_STLB_HIT],
    metrics: &[
        Metric::per_kilo("itlb_mpki", ITLB_WALK, INSTRUCTIONS),
        Metric::new("l1_itlb_mpki", "per 1000 instructions", &|counts| {
            1000.0 * (counts[ITLB_WALK] + counts[ITLB_STLB_HIT]) / counts[INSTRUCTIONS]
        }),
    ],
    example: MetricExample::new(&[1_000_000, 500, 3_000], &["0.5", "3.5"]),
};

const L1I_SANDY_BRIDGE: MetricGroup = MetricGroup {
    name: "L1I_Cache_Effectiveness",
    subject: Subject::InstructionCache,
    explains: &[Node::Part(Part::FetchLatency)],
    events: &[INSTRUCTIONS, ICACHE_HIT, ICACHE_MISSES],
    metrics: &[
        Metric::per_kilo("l1i_cache_mpki", ICACHE_MISSES, INSTRUCTIONS),
        Metric::new("l1i_cache_miss_ratio", "% of accesses", &|counts| {
            100.0 * counts[ICACHE_MISSES] / (counts[ICACHE_HIT] + counts[ICACHE_MISSES])
        }),
    ],
    example: MetricExample::new(&[1_000_000, 237_500, 12_500], &["12.5", "5.0"]),
};

const L1I_SKYLAKE: MetricGroup = MetricGroup {
    name: "L1I_Cache_Effectiveness",
    subject: Subject::InstructionCache,
    explains: &[Node::Part(Part::FetchLatency)],
    events: &[INSTRUCTIONS, IFTAG_HIT, IFTAG_MISS],
    metrics: &[
        Metric::per_kilo("l1i_cache_mpki", IFTAG_MISS, INSTRUCTIONS),
        Metric::new("l1i_cache_miss_ratio", "% of accesses", &|counts| {
            100.0 * counts[IFTAG_MISS] / (counts[IFTAG_HIT] + counts[IFTAG_MISS])
        }),
    ],
    example: MetricExample::new(&[1_000_000, 237_500, 12_500], &["12.5", "5.0"]),
};

/// The cache of decoded uops (DSB); uops it lacks come from the decoders (MITE) or microcode (MS).
const DECODED_CACHE: MetricGroup = MetricGroup {
    name: "DSB_Effectiveness",
    subject: Subject::DecodedCache,
    explains: &[Node::Part(Part::FetchBandwidth)],
    events: &[INSTRUCTIONS, DSB_UOPS, MITE_UOPS, MS_UOPS],
    metrics: &[
        Metric::new("dsb_coverage", "% of uops", &|counts| {
            100.0 * counts[DSB_UOPS] / (counts[DSB_UOPS] + counts[MITE_UOPS] + counts[MS_UOPS])
        }),
        Metric::new("microcode", "% of uops", &|counts| {
            100.0 * counts[MS_UOPS] / (counts[DSB_UOPS] + counts[MITE_UOPS] + counts[MS_UOPS])
        }),
    ],
    example: MetricExample::new(&[1_000_000, 750_000, 200_000, 50_000], &["75.0", "5.0"]),
};

const L2_CODE_SKYLAKE: MetricGroup = MetricGroup {
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
    example: MetricExample::new(&[1_000_000, 12_000, 3_000], &["3.0", "25.0"]),
};

const STALLS_SANDY_BRIDGE: MetricGroup = MetricGroup {
    name: "Backend_Stalls",
    subject: Subject::Stalls,
    explains: &[BACKEND_BOUND],
    events: &[CYCLES, NO_EXECUTE, STALLS_L2_PENDING, STORE_BUFFER_FULL],
    metrics: &[
        Metric::percent("nothing_executed", NO_EXECUTE, CYCLES, "% of cycles"),
        Metric::percent(
            "stalled_beyond_l2",
            STALLS_L2_PENDING,
            CYCLES,
            "% of cycles",
        ),
        Metric::percent(
            "store_buffer_full",
            STORE_BUFFER_FULL,
            CYCLES,
            "% of cycles",
        ),
    ],
    example: MetricExample::new(
        &[1_000_000, 500_000, 400_000, 20_000],
        &["50.0", "40.0", "2.0"],
    ),
};

const STALLS_SKYLAKE: MetricGroup = MetricGroup {
    name: "Backend_Stalls",
    subject: Subject::Stalls,
    explains: &[BACKEND_BOUND],
    events: &[CYCLES, STALLS_TOTAL, STALLS_MEMORY, BOUND_ON_STORES],
    metrics: &[
        Metric::percent("nothing_executed", STALLS_TOTAL, CYCLES, "% of cycles"),
        Metric::percent("stalled_on_loads", STALLS_MEMORY, CYCLES, "% of cycles"),
        Metric::percent("bound_on_stores", BOUND_ON_STORES, CYCLES, "% of cycles"),
    ],
    example: MetricExample::new(
        &[1_000_000, 500_000, 400_000, 20_000],
        &["50.0", "40.0", "2.0"],
    ),
};

/// Cycles in which nothing was executed while a load waited, by the level that it waited for.
/// Intel's estimate of the fill buffers' part in L2's share is omitted.
const MEMORY_STALLS_SKYLAKE: MetricGroup = MetricGroup {
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

const DTLB_SANDY_BRIDGE: MetricGroup = MetricGroup {
    name: "DTLB_Effectiveness",
    subject: Subject::DataTlb,
    explains: &[Node::Part(Part::MemoryBound)],
    events: &[INSTRUCTIONS, LOADS, STLB_MISS_LOADS, STLB_MISS_STORES],
    metrics: &[
        Metric::per_kilo("stlb_load_mpki", STLB_MISS_LOADS, INSTRUCTIONS),
        Metric::percent("stlb_load_miss_ratio", STLB_MISS_LOADS, LOADS, "% of loads"),
        Metric::per_kilo("stlb_store_mpki", STLB_MISS_STORES, INSTRUCTIONS),
    ],
    example: MetricExample::new(&[1_000_000, 300_000, 3_000, 500], &["3.0", "1.0", "0.5"]),
};

const DTLB_SKYLAKE: MetricGroup = MetricGroup {
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

/// A load that hits a fill buffer waits for an earlier load's miss.
const L1D_SANDY_BRIDGE: MetricGroup = MetricGroup {
    name: "L1D_Cache_Effectiveness",
    subject: Subject::DataCache,
    explains: &[Node::Part(Part::MemoryBound)],
    events: &[INSTRUCTIONS, LOADS, L1_HIT, FILL_BUFFER_HIT],
    metrics: &[
        Metric::new("l1d_load_mpki", "per 1000 instructions", &|counts| {
            1000.0 * (counts[LOADS] - counts[L1_HIT]) / counts[INSTRUCTIONS]
        }),
        Metric::new("l1d_load_miss_ratio", "% of loads", &|counts| {
            100.0 * (counts[LOADS] - counts[L1_HIT]) / counts[LOADS]
        }),
        Metric::percent("fill_buffer_hits", FILL_BUFFER_HIT, LOADS, "% of loads"),
    ],
    example: MetricExample::new(
        &[1_000_000, 300_000, 270_000, 15_000],
        &["30.0", "10.0", "5.0"],
    ),
};

/// A load that hits a fill buffer waits for an earlier load's miss.
const L1D_SKYLAKE: MetricGroup = MetricGroup {
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

const L2_SANDY_BRIDGE: MetricGroup = MetricGroup {
    name: "L2_Cache_Effectiveness",
    subject: Subject::L2Cache,
    explains: &[Node::Part(Part::MemoryBound)],
    events: &[INSTRUCTIONS, L2_HIT, L3_HIT],
    metrics: &[
        Metric::per_kilo("l2_load_hits", L2_HIT, INSTRUCTIONS),
        Metric::per_kilo("l3_load_hits", L3_HIT, INSTRUCTIONS),
    ],
    example: MetricExample::new(&[1_000_000, 20_000, 6_000], &["20.0", "6.0"]),
};

const L2_SKYLAKE: MetricGroup = MetricGroup {
    name: "L2_Cache_Effectiveness (data)",
    subject: Subject::L2Cache,
    explains: &[Node::Part(Part::MemoryBound)],
    events: &[INSTRUCTIONS, L2_HIT, L2_MISS, L3_HIT],
    metrics: &[
        Metric::per_kilo("l2_load_mpki", L2_MISS, INSTRUCTIONS),
        Metric::new("l2_load_miss_ratio", "% of loads beyond L1", &|counts| {
            100.0 * counts[L2_MISS] / (counts[L2_HIT] + counts[L2_MISS])
        }),
        Metric::per_kilo("l3_load_hits", L3_HIT, INSTRUCTIONS),
    ],
    example: MetricExample::new(&[1_000_000, 15_000, 5_000, 3_000], &["5.0", "25.0", "3.0"]),
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

/// Cycles in which one and two uops were executed, and cycles in which the divider was busy.
const PORTS_SKYLAKE: MetricGroup = MetricGroup {
    name: "Ports_Utilization",
    subject: Subject::OperationMix,
    explains: &[Node::Part(Part::CoreBound)],
    events: &[CYCLES, ONE_PORT, TWO_PORTS, DIVIDER_ACTIVE],
    metrics: &[
        Metric::percent("one_port", ONE_PORT, CYCLES, "% of cycles"),
        Metric::percent("two_ports", TWO_PORTS, CYCLES, "% of cycles"),
        Metric::percent("divider", DIVIDER_ACTIVE, CYCLES, "% of cycles"),
    ],
    example: MetricExample::new(
        &[1_000_000, 300_000, 200_000, 400_000],
        &["30.0", "20.0", "40.0"],
    ),
};

const OPERATION_MIX: MetricGroup = MetricGroup {
    name: "Operation_Mix",
    subject: Subject::OperationMix,
    explains: &[RETIRING, Node::Part(Part::CoreBound)],
    events: &[INSTRUCTIONS, RETIRED, LOADS, STORES, BRANCHES],
    metrics: &[
        Metric::new("uops_per_instruction", "per instruction", &|counts| {
            counts[RETIRED] / counts[INSTRUCTIONS]
        }),
        Metric::percent("loads", LOADS, INSTRUCTIONS, "% of instructions"),
        Metric::percent("stores", STORES, INSTRUCTIONS, "% of instructions"),
        Metric::percent("branches", BRANCHES, INSTRUCTIONS, "% of instructions"),
    ],
    example: MetricExample::new(
        &[1_000_000, 1_100_000, 300_000, 110_000, 200_000],
        &["1.10", "30.0", "11.0", "20.0"],
    ),
};

const FP_MIX_SKYLAKE: MetricGroup = MetricGroup {
    name: "Operation_Mix (floating point)",
    subject: Subject::OperationMix,
    explains: &[RETIRING, Node::Part(Part::CoreBound)],
    events: &[INSTRUCTIONS, FP_SCALAR, FP_VECTOR],
    metrics: &[
        Metric::percent("fp_scalar", FP_SCALAR, INSTRUCTIONS, "% of instructions"),
        Metric::percent("fp_vector", FP_VECTOR, INSTRUCTIONS, "% of instructions"),
    ],
    example: MetricExample::new(&[1_000_000, 50_000, 20_000], &["5.0", "2.0"]),
};
