//! Metric groups of Arm's Neoverse and C1 cores.
//!
//! Sources: Arm telemetry-solution at 917257c, data/pmu/cpu. Groups with more events than these
//! cores' six counters are measured in parts. MPKI and Miss_Ratio are omitted: they repeat the
//! metrics of the effectiveness groups.
//!
//! Each metric is sampled by the events that these files name for it (`sample_events`). Where a
//! core's file names another one, the event that the group counts is taken: C1-Nano's for the L1D
//! metrics are two parts of L1D_CACHE_REFILL, and those of N3, C1-Pro, C1-Ultra and C1-Premium for
//! branches is PC_WRITE_SPEC.

use super::events::{CYCLES, FLUSH as FRONTEND_FLUSH, INSTRUCTIONS};
use crate::cpu::Event;
use crate::cpu::metric_group::{
    BACKEND_BOUND, BAD_SPECULATION, FRONTEND_BOUND, Metric, MetricExample, MetricGroup, Node,
    RETIRING, Subject,
};
use topdown_run::category::Part;

const FRONTEND_CYCLES: Event = Event::general("STALL_FRONTEND", 0x23);
const BACKEND_CYCLES: Event = Event::general("STALL_BACKEND", 0x24);
const BRANCHES: Event = Event::general("BR_RETIRED", 0x21);
const MISPREDICTED: Event = Event::general("BR_MIS_PRED_RETIRED", 0x22);
const ITLB_WALK: Event = Event::general("ITLB_WALK", 0x35);
const DTLB_WALK: Event = Event::general("DTLB_WALK", 0x34);
const L1I_TLB: Event = Event::general("L1I_TLB", 0x26);
const L1I_TLB_REFILL: Event = Event::general("L1I_TLB_REFILL", 0x02);
const L1D_TLB: Event = Event::general("L1D_TLB", 0x25);
const L1D_TLB_REFILL: Event = Event::general("L1D_TLB_REFILL", 0x05);
const L2D_TLB: Event = Event::general("L2D_TLB", 0x2f);
const L2D_TLB_REFILL: Event = Event::general("L2D_TLB_REFILL", 0x2d);
const L1I_CACHE: Event = Event::general("L1I_CACHE", 0x14);
const L1I_CACHE_REFILL: Event = Event::general("L1I_CACHE_REFILL", 0x01);
const L1D_CACHE: Event = Event::general("L1D_CACHE", 0x04);
const L1D_CACHE_REFILL: Event = Event::general("L1D_CACHE_REFILL", 0x03);
const L2D_CACHE: Event = Event::general("L2D_CACHE", 0x16);
const L2D_CACHE_REFILL: Event = Event::general("L2D_CACHE_REFILL", 0x17);
const LL_CACHE_RD: Event = Event::general("LL_CACHE_RD", 0x36);
const LL_CACHE_MISS_RD: Event = Event::general("LL_CACHE_MISS_RD", 0x37);
const OPERATIONS: Event = Event::general("INST_SPEC", 0x1b);
const LOADS: Event = Event::general("LD_SPEC", 0x70);
const STORES: Event = Event::general("ST_SPEC", 0x71);
const INTEGER: Event = Event::general("DP_SPEC", 0x73);
const SIMD: Event = Event::general("ASE_SPEC", 0x74);
const SCALAR_FLOAT: Event = Event::general("VFP_SPEC", 0x75);
const CRYPTO: Event = Event::general("CRYPTO_SPEC", 0x77);
const BRANCH_IMMEDIATE: Event = Event::general("BR_IMMED_SPEC", 0x78);
const BRANCH_INDIRECT: Event = Event::general("BR_INDIRECT_SPEC", 0x7a);
const ISB: Event = Event::general("ISB_SPEC", 0x7c);
const DSB: Event = Event::general("DSB_SPEC", 0x7d);
const DMB: Event = Event::general("DMB_SPEC", 0x7e);
const SVE: Event = Event::general("SVE_INST_SPEC", 0x8006);

// Neoverse N3, V3 and the C1 cores report what a stalled cycle waited for.
const FRONTEND_MEMORY: Event = Event::general("STALL_FRONTEND_MEMBOUND", 0x8158);
const FRONTEND_L1I: Event = Event::general("STALL_FRONTEND_L1I", 0x8159);
const FRONTEND_L2: Event = Event::general("STALL_FRONTEND_MEM", 0x815b);
const FRONTEND_TLB: Event = Event::general("STALL_FRONTEND_TLB", 0x815c);
const FRONTEND_CORE: Event = Event::general("STALL_FRONTEND_CPUBOUND", 0x8160);
const FRONTEND_FLOW: Event = Event::general("STALL_FRONTEND_FLOW", 0x8161);
const BACKEND_MEMORY: Event = Event::general("STALL_BACKEND_MEMBOUND", 0x8164);
const BACKEND_L1D: Event = Event::general("STALL_BACKEND_L1D", 0x8165);
const BACKEND_L2: Event = Event::general("STALL_BACKEND_MEM", 0x4005);
const BACKEND_TLB: Event = Event::general("STALL_BACKEND_TLB", 0x8167);
const BACKEND_STORE: Event = Event::general("STALL_BACKEND_ST", 0x8168);
const BACKEND_CORE: Event = Event::general("STALL_BACKEND_CPUBOUND", 0x816a);
const BACKEND_BUSY: Event = Event::general("STALL_BACKEND_BUSY", 0x816b);
const BACKEND_RENAME: Event = Event::general("STALL_BACKEND_RENAME", 0x816d);

const ACCESSES: &str = "% of accesses";
const OF_OPERATIONS: &str = "% of operations";

/// The share of an event in others, for whose code the event is sampled.
const fn percent(name: &'static str, event: Event, of: Event, unit: &'static str) -> Metric {
    Metric::percent(name, event, of, unit).sampled_by([Some(event), None, None])
}

/// An event per thousand instructions, for whose code the event is sampled.
const fn per_kilo(name: &'static str, event: Event, instructions: Event) -> Metric {
    Metric::per_kilo(name, event, instructions).sampled_by([Some(event), None, None])
}

/// Stalled cycles: all that Neoverse N1 and older cores report.
const CYCLE_ACCOUNTING: MetricGroup = MetricGroup {
    name: "Cycle_Accounting",
    subject: Subject::Stalls,
    explains: &[FRONTEND_BOUND, BACKEND_BOUND],
    events: &[CYCLES, FRONTEND_CYCLES, BACKEND_CYCLES],
    metrics: &[
        percent(
            "frontend_stalled_cycles",
            FRONTEND_CYCLES,
            CYCLES,
            "% of cycles",
        ),
        percent(
            "backend_stalled_cycles",
            BACKEND_CYCLES,
            CYCLES,
            "% of cycles",
        ),
    ],
    // The shares of Arm's stride walk on an N1-class core.
    example: MetricExample::new(&[1_000_000, 0, 843_900], &["0.00", "84.39"]),
};

const BRANCH_EFFECTIVENESS: MetricGroup = MetricGroup {
    name: "Branch_Effectiveness",
    subject: Subject::Branches,
    explains: &[BAD_SPECULATION, FRONTEND_BOUND],
    events: &[INSTRUCTIONS, BRANCHES, MISPREDICTED],
    metrics: &[
        per_kilo("branch_mpki", MISPREDICTED, INSTRUCTIONS),
        percent(
            "branch_misprediction_ratio",
            MISPREDICTED,
            BRANCHES,
            "% of branches",
        ),
    ],
    example: MetricExample::new(&[1_000_000, 200_000, 5_000], &["5.0", "2.5"]),
};

const ITLB_EFFECTIVENESS: MetricGroup = MetricGroup {
    name: "ITLB_Effectiveness",
    subject: Subject::InstructionTlb,
    explains: &[FRONTEND_BOUND],
    events: &[
        INSTRUCTIONS,
        ITLB_WALK,
        L1I_TLB,
        L1I_TLB_REFILL,
        L2D_TLB,
        L2D_TLB_REFILL,
    ],
    metrics: &[
        per_kilo("itlb_mpki", ITLB_WALK, INSTRUCTIONS),
        percent("itlb_walk_ratio", ITLB_WALK, L1I_TLB, ACCESSES),
        per_kilo("l1i_tlb_mpki", L1I_TLB_REFILL, INSTRUCTIONS),
        percent("l1i_tlb_miss_ratio", L1I_TLB_REFILL, L1I_TLB, ACCESSES),
        per_kilo("l2_tlb_mpki", L2D_TLB_REFILL, INSTRUCTIONS),
        percent("l2_tlb_miss_ratio", L2D_TLB_REFILL, L2D_TLB, ACCESSES),
    ],
    example: MetricExample::new(
        &[1_000_000, 500, 250_000, 2_000, 10_000, 1_000],
        &["0.5", "0.2", "2.0", "0.8", "1.0", "10.0"],
    ),
};

const DTLB_EFFECTIVENESS: MetricGroup = MetricGroup {
    name: "DTLB_Effectiveness",
    subject: Subject::DataTlb,
    explains: &[BACKEND_BOUND],
    events: &[
        INSTRUCTIONS,
        DTLB_WALK,
        L1D_TLB,
        L1D_TLB_REFILL,
        L2D_TLB,
        L2D_TLB_REFILL,
    ],
    metrics: &[
        per_kilo("dtlb_mpki", DTLB_WALK, INSTRUCTIONS),
        percent("dtlb_walk_ratio", DTLB_WALK, L1D_TLB, ACCESSES),
        per_kilo("l1d_tlb_mpki", L1D_TLB_REFILL, INSTRUCTIONS),
        percent("l1d_tlb_miss_ratio", L1D_TLB_REFILL, L1D_TLB, ACCESSES),
        per_kilo("l2_tlb_mpki", L2D_TLB_REFILL, INSTRUCTIONS),
        percent("l2_tlb_miss_ratio", L2D_TLB_REFILL, L2D_TLB, ACCESSES),
    ],
    example: MetricExample::new(
        &[1_000_000, 4_000, 400_000, 20_000, 25_000, 5_000],
        &["4.0", "1.0", "20.0", "5.0", "5.0", "20.0"],
    ),
};

const L1I_CACHE_EFFECTIVENESS: MetricGroup = MetricGroup {
    name: "L1I_Cache_Effectiveness",
    subject: Subject::InstructionCache,
    explains: &[FRONTEND_BOUND],
    events: &[INSTRUCTIONS, L1I_CACHE, L1I_CACHE_REFILL],
    metrics: &[
        per_kilo("l1i_cache_mpki", L1I_CACHE_REFILL, INSTRUCTIONS),
        percent(
            "l1i_cache_miss_ratio",
            L1I_CACHE_REFILL,
            L1I_CACHE,
            ACCESSES,
        ),
    ],
    example: MetricExample::new(&[1_000_000, 250_000, 12_500], &["12.5", "5.0"]),
};

const L1D_CACHE_EFFECTIVENESS: MetricGroup = MetricGroup {
    name: "L1D_Cache_Effectiveness",
    subject: Subject::DataCache,
    explains: &[BACKEND_BOUND],
    events: &[INSTRUCTIONS, L1D_CACHE, L1D_CACHE_REFILL],
    metrics: &[
        per_kilo("l1d_cache_mpki", L1D_CACHE_REFILL, INSTRUCTIONS),
        percent(
            "l1d_cache_miss_ratio",
            L1D_CACHE_REFILL,
            L1D_CACHE,
            ACCESSES,
        ),
    ],
    example: MetricExample::new(&[1_000_000, 400_000, 30_000], &["30.0", "7.5"]),
};

const L2_CACHE_EFFECTIVENESS: MetricGroup = MetricGroup {
    name: "L2_Cache_Effectiveness",
    subject: Subject::L2Cache,
    explains: &[FRONTEND_BOUND, BACKEND_BOUND],
    events: &[INSTRUCTIONS, L2D_CACHE, L2D_CACHE_REFILL],
    metrics: &[
        per_kilo("l2_cache_mpki", L2D_CACHE_REFILL, INSTRUCTIONS),
        percent("l2_cache_miss_ratio", L2D_CACHE_REFILL, L2D_CACHE, ACCESSES),
    ],
    example: MetricExample::new(&[1_000_000, 50_000, 10_000], &["10.0", "20.0"]),
};

const LL_CACHE_EFFECTIVENESS: MetricGroup = MetricGroup {
    name: "LL_Cache_Effectiveness",
    subject: Subject::LastLevelCache,
    explains: &[FRONTEND_BOUND, BACKEND_BOUND],
    events: &[INSTRUCTIONS, LL_CACHE_RD, LL_CACHE_MISS_RD],
    metrics: &[
        per_kilo("ll_cache_read_mpki", LL_CACHE_MISS_RD, INSTRUCTIONS),
        percent(
            "ll_cache_read_miss_ratio",
            LL_CACHE_MISS_RD,
            LL_CACHE_RD,
            ACCESSES,
        ),
    ],
    example: MetricExample::new(&[1_000_000, 8_000, 6_000], &["6.0", "75.0"]),
};

const OPERATION_MIX: MetricGroup = MetricGroup {
    name: "Operation_Mix",
    subject: Subject::OperationMix,
    explains: &[RETIRING, BACKEND_BOUND],
    events: &[
        OPERATIONS,
        LOADS,
        STORES,
        INTEGER,
        BRANCH_IMMEDIATE,
        BRANCH_INDIRECT,
    ],
    metrics: &[
        percent("load_percentage", LOADS, OPERATIONS, OF_OPERATIONS),
        percent("store_percentage", STORES, OPERATIONS, OF_OPERATIONS),
        percent("integer_dp_percentage", INTEGER, OPERATIONS, OF_OPERATIONS),
        Metric::new("branch_percentage", OF_OPERATIONS, &|counts| {
            100.0 * (counts[BRANCH_IMMEDIATE] + counts[BRANCH_INDIRECT]) / counts[OPERATIONS]
        })
        .sampled_by([Some(BRANCH_IMMEDIATE), Some(BRANCH_INDIRECT), None]),
    ],
    // Arm's chain of divisions on Neoverse V3, with the published shares.
    example: MetricExample::new(
        &[1_000_000, 220_000, 110_000, 330_000, 200_000, 20_000],
        &["22.0", "11.0", "33.0", "22.0"],
    ),
};

const OPERATION_MIX_VECTOR: MetricGroup = MetricGroup {
    name: "Operation_Mix (vector)",
    subject: Subject::OperationMix,
    explains: &[RETIRING, BACKEND_BOUND],
    events: &[OPERATIONS, SIMD, SCALAR_FLOAT, CRYPTO, SVE],
    metrics: &[
        percent("simd_percentage", SIMD, OPERATIONS, OF_OPERATIONS),
        percent(
            "scalar_fp_percentage",
            SCALAR_FLOAT,
            OPERATIONS,
            OF_OPERATIONS,
        ),
        percent("crypto_percentage", CRYPTO, OPERATIONS, OF_OPERATIONS),
        percent("sve_all_percentage", SVE, OPERATIONS, OF_OPERATIONS),
    ],
    example: MetricExample::new(
        &[1_000_000, 50_000, 110_000, 1_000, 20_000],
        &["5.0", "11.0", "0.1", "2.0"],
    ),
};

const OPERATION_MIX_BARRIERS: MetricGroup = MetricGroup {
    name: "Operation_Mix (barriers)",
    subject: Subject::OperationMix,
    explains: &[RETIRING, BACKEND_BOUND],
    events: &[OPERATIONS, ISB, DSB, DMB],
    metrics: &[Metric::new("barrier_percentage", OF_OPERATIONS, &|counts| {
        100.0 * (counts[ISB] + counts[DSB] + counts[DMB]) / counts[OPERATIONS]
    })
    .sampled_by([Some(ISB), Some(DSB), Some(DMB)])],
    example: MetricExample::new(&[1_000_000, 100, 400, 4_500], &["0.5"]),
};

/// The frontend's own part of Topdown_Frontend: shares of their parents' stalled cycles, which
/// cannot be multiplied into slots.
const TOPDOWN_FRONTEND: MetricGroup = MetricGroup {
    name: "Topdown_Frontend",
    subject: Subject::Stalls,
    explains: &[FRONTEND_BOUND],
    events: &[
        CYCLES,
        FRONTEND_CYCLES,
        FRONTEND_CORE,
        FRONTEND_MEMORY,
        FRONTEND_FLUSH,
        FRONTEND_FLOW,
    ],
    metrics: &[
        percent(
            "frontend_core_bound",
            FRONTEND_CORE,
            FRONTEND_CYCLES,
            "% of frontend stalls",
        ),
        percent(
            "frontend_mem_bound",
            FRONTEND_MEMORY,
            FRONTEND_CYCLES,
            "% of frontend stalls",
        ),
        percent(
            "frontend_core_flush_bound",
            FRONTEND_FLUSH,
            FRONTEND_CORE,
            "% of core-bound stalls",
        ),
        percent(
            "frontend_core_flow_bound",
            FRONTEND_FLOW,
            FRONTEND_CORE,
            "% of core-bound stalls",
        ),
    ],
    example: MetricExample::new(
        &[1_000_000, 200_000, 150_000, 50_000, 120_000, 30_000],
        &["75.0", "25.0", "80.0", "20.0"],
    ),
};

const TOPDOWN_FRONTEND_MEMORY: MetricGroup = MetricGroup {
    name: "Topdown_Frontend (memory)",
    subject: Subject::Stalls,
    explains: &[FRONTEND_BOUND],
    events: &[
        CYCLES,
        FRONTEND_MEMORY,
        FRONTEND_L1I,
        FRONTEND_L2,
        FRONTEND_TLB,
    ],
    metrics: &[
        Metric::new(
            "frontend_mem_cache_bound",
            "% of memory-bound stalls",
            &|counts| {
                100.0 * (counts[FRONTEND_L1I] + counts[FRONTEND_L2]) / counts[FRONTEND_MEMORY]
            },
        )
        .sampled_by([Some(FRONTEND_L1I), Some(FRONTEND_L2), None]),
        percent(
            "frontend_mem_tlb_bound",
            FRONTEND_TLB,
            FRONTEND_MEMORY,
            "% of memory-bound stalls",
        ),
        Metric::new(
            "frontend_cache_l1i_bound",
            "% of cache-bound stalls",
            &|counts| 100.0 * counts[FRONTEND_L1I] / (counts[FRONTEND_L1I] + counts[FRONTEND_L2]),
        )
        .sampled_by([Some(FRONTEND_L1I), None, None]),
        Metric::new(
            "frontend_cache_l2i_bound",
            "% of cache-bound stalls",
            &|counts| 100.0 * counts[FRONTEND_L2] / (counts[FRONTEND_L1I] + counts[FRONTEND_L2]),
        )
        .sampled_by([Some(FRONTEND_L2), None, None]),
    ],
    example: MetricExample::new(
        &[1_000_000, 50_000, 30_000, 10_000, 10_000],
        &["80.0", "20.0", "75.0", "25.0"],
    ),
};

const TOPDOWN_BACKEND: MetricGroup = MetricGroup {
    name: "Topdown_Backend",
    subject: Subject::Stalls,
    explains: &[BACKEND_BOUND],
    events: &[
        CYCLES,
        BACKEND_CYCLES,
        BACKEND_CORE,
        BACKEND_MEMORY,
        BACKEND_BUSY,
        BACKEND_RENAME,
    ],
    metrics: &[
        percent(
            "backend_core_bound",
            BACKEND_CORE,
            BACKEND_CYCLES,
            "% of backend stalls",
        ),
        percent(
            "backend_mem_bound",
            BACKEND_MEMORY,
            BACKEND_CYCLES,
            "% of backend stalls",
        ),
        percent(
            "backend_busy_bound",
            BACKEND_BUSY,
            BACKEND_CYCLES,
            "% of backend stalls",
        ),
        percent(
            "backend_core_rename_bound",
            BACKEND_RENAME,
            BACKEND_CORE,
            "% of core-bound stalls",
        ),
    ],
    example: MetricExample::new(
        &[1_000_000, 400_000, 80_000, 300_000, 20_000, 40_000],
        &["20.0", "75.0", "5.0", "50.0"],
    ),
};

const TOPDOWN_BACKEND_MEMORY: MetricGroup = MetricGroup {
    name: "Topdown_Backend (memory)",
    subject: Subject::Stalls,
    explains: &[Node::Part(Part::MemoryBound)],
    events: &[
        CYCLES,
        BACKEND_MEMORY,
        BACKEND_L1D,
        BACKEND_L2,
        BACKEND_TLB,
        BACKEND_STORE,
    ],
    metrics: &[
        Metric::new(
            "backend_mem_cache_bound",
            "% of memory-bound stalls",
            &|counts| 100.0 * (counts[BACKEND_L1D] + counts[BACKEND_L2]) / counts[BACKEND_MEMORY],
        )
        .sampled_by([Some(BACKEND_L1D), Some(BACKEND_L2), None]),
        percent(
            "backend_mem_tlb_bound",
            BACKEND_TLB,
            BACKEND_MEMORY,
            "% of memory-bound stalls",
        ),
        percent(
            "backend_mem_store_bound",
            BACKEND_STORE,
            BACKEND_MEMORY,
            "% of memory-bound stalls",
        ),
        Metric::new(
            "backend_cache_l1d_bound",
            "% of cache-bound stalls",
            &|counts| 100.0 * counts[BACKEND_L1D] / (counts[BACKEND_L1D] + counts[BACKEND_L2]),
        )
        .sampled_by([Some(BACKEND_L1D), None, None]),
        Metric::new(
            "backend_cache_l2d_bound",
            "% of cache-bound stalls",
            &|counts| 100.0 * counts[BACKEND_L2] / (counts[BACKEND_L1D] + counts[BACKEND_L2]),
        )
        .sampled_by([Some(BACKEND_L2), None, None]),
    ],
    example: MetricExample::new(
        &[1_000_000, 300_000, 60_000, 180_000, 45_000, 15_000],
        &["80.0", "15.0", "5.0", "25.0", "75.0"],
    ),
};

/// Neoverse N1 and cores that no table covers: what architecture version 8 defines.
pub const ARCHITECTURAL: &[MetricGroup] = &[
    CYCLE_ACCOUNTING,
    BRANCH_EFFECTIVENESS,
    ITLB_EFFECTIVENESS,
    L1I_CACHE_EFFECTIVENESS,
    DTLB_EFFECTIVENESS,
    L1D_CACHE_EFFECTIVENESS,
    L2_CACHE_EFFECTIVENESS,
    LL_CACHE_EFFECTIVENESS,
    OPERATION_MIX,
    OPERATION_MIX_BARRIERS,
];

/// Neoverse N2, V1 and V2.
pub const NEOVERSE: &[MetricGroup] = &[
    CYCLE_ACCOUNTING,
    BRANCH_EFFECTIVENESS,
    ITLB_EFFECTIVENESS,
    L1I_CACHE_EFFECTIVENESS,
    DTLB_EFFECTIVENESS,
    L1D_CACHE_EFFECTIVENESS,
    L2_CACHE_EFFECTIVENESS,
    LL_CACHE_EFFECTIVENESS,
    OPERATION_MIX,
    OPERATION_MIX_VECTOR,
    OPERATION_MIX_BARRIERS,
];

/// Neoverse N3, V3 and the C1 cores: their stage 1 has a second level.
pub const NEOVERSE_3: &[MetricGroup] = &[
    TOPDOWN_FRONTEND,
    TOPDOWN_FRONTEND_MEMORY,
    TOPDOWN_BACKEND,
    TOPDOWN_BACKEND_MEMORY,
    BRANCH_EFFECTIVENESS,
    ITLB_EFFECTIVENESS,
    L1I_CACHE_EFFECTIVENESS,
    DTLB_EFFECTIVENESS,
    L1D_CACHE_EFFECTIVENESS,
    L2_CACHE_EFFECTIVENESS,
    LL_CACHE_EFFECTIVENESS,
    OPERATION_MIX,
    OPERATION_MIX_VECTOR,
    OPERATION_MIX_BARRIERS,
];
