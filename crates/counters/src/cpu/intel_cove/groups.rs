//! Metric groups of Intel's performance cores from Ice Lake to Lion Cove.
//!
//! Sources: perfmon ICX, SPR, ADL and LNL; formulas of level 2 and of stalled cycles:
//! TMA_Metrics-full.csv 5.2. Loads served by a level are counted at retirement, and the cycles that
//! they wait are their count times their [retire latency](crate::cpu::RetireLatency).
//!
//! Level 2 is here for the machines that cannot count it together with level 1: Ice Lake, and plain
//! counters alongside the NMI watchdog. Ice Lake and Golden Cove can count at most four events at a
//! time of those with a code below 0x90 and those of loads (0xd0 and 0xd1) (Linux,
//! arch/x86/events/intel/core.c).

mod level2;
mod memory;

use crate::cpu::intel_cove::events::{
    ASSISTS_FP, ASSISTS_SSE_AVX_MIX, BRANCHES, CYCLES, DIVIDER, DIVIDER_ICE_LAKE, DSB_UOPS,
    FP_SCALAR, FP_SCALAR_COUGAR_COVE, FP_VECTOR, ICACHE_STALLS, INSTRUCTIONS, ITLB_STALLS,
    ITLB_STLB_HIT, ITLB_STLB_HIT_ICE_LAKE, ITLB_STLB_HIT_LION_COVE, ITLB_WALK, ITLB_WALK_ICE_LAKE,
    L2_CODE_MISSES, L2_CODE_READS, LOADS, MACHINE_CLEARS, MISPREDICTED, MISPREDICTED_CONDITIONAL,
    MISPREDICTED_CONDITIONAL_COUGAR_COVE, MISPREDICTED_CONDITIONAL_LION_COVE,
    MISPREDICTED_INDIRECT, MISPREDICTED_INDIRECT_COUGAR_COVE, MISPREDICTED_RETURN, MITE_UOPS,
    ONE_PORT, RETIRED, STORES, THREE_PORTS, TWO_PORTS,
};
use crate::cpu::metric_group::{
    BAD_SPECULATION, FRONTEND_BOUND, Metric, MetricExample, MetricGroup, Node, RETIRING, Subject,
};
use level2::{
    LEVEL_2_BACKEND, LEVEL_2_BACKEND_ICE_LAKE, LEVEL_2_BAD_SPECULATION_GOLDEN_COVE,
    LEVEL_2_BAD_SPECULATION_LION_COVE, LEVEL_2_FRONTEND_GOLDEN_COVE, LEVEL_2_FRONTEND_ICE_LAKE,
    LEVEL_2_FRONTEND_LION_COVE, LEVEL_2_RETIRING,
};
use memory::{
    DTLB_EFFECTIVENESS, DTLB_ICE_LAKE, DTLB_LION_COVE, L1D_CACHE_EFFECTIVENESS,
    L2_DATA_EFFECTIVENESS, L3_LOADS, LL_CACHE_EFFECTIVENESS, LOAD_LATENCY, LOCK_LATENCY,
    MEMORY_LATENCY, MEMORY_STALLS_GOLDEN_COVE, MEMORY_STALLS_ICE_LAKE, MEMORY_STALLS_LION_COVE,
};
use topdown_run::category::Part;

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
    LOAD_LATENCY,
    MEMORY_LATENCY,
    LOCK_LATENCY,
    DTLB_EFFECTIVENESS,
    L1D_CACHE_EFFECTIVENESS,
    L2_DATA_EFFECTIVENESS,
    L3_LOADS,
    LL_CACHE_EFFECTIVENESS,
    PORTS,
    OPERATION_MIX,
    ASSISTS,
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
    BRANCH_LION_COVE,
    ITLB_LION_COVE,
    L1I_CACHE_EFFECTIVENESS,
    DECODED_CACHE,
    L2_CODE_EFFECTIVENESS,
    MEMORY_STALLS_LION_COVE,
    LOAD_LATENCY,
    LOCK_LATENCY,
    DTLB_LION_COVE,
    L1D_CACHE_EFFECTIVENESS,
    L2_DATA_EFFECTIVENESS,
    L3_LOADS,
    LL_CACHE_EFFECTIVENESS,
    PORTS,
    OPERATION_MIX,
    ASSISTS,
    FP_MIX_LION_COVE,
];

/// Cougar Cove moved the kinds of mispredicted branches, and counts operations where Lion Cove
/// counts floating-point instructions.
pub const COUGAR_COVE: &[MetricGroup] = &[
    LEVEL_2_FRONTEND_LION_COVE,
    LEVEL_2_BAD_SPECULATION_LION_COVE,
    LEVEL_2_BACKEND,
    LEVEL_2_RETIRING,
    CLEARS,
    BRANCH_COUGAR_COVE,
    ITLB_LION_COVE,
    L1I_CACHE_EFFECTIVENESS,
    DECODED_CACHE,
    L2_CODE_EFFECTIVENESS,
    MEMORY_STALLS_LION_COVE,
    LOAD_LATENCY,
    LOCK_LATENCY,
    DTLB_LION_COVE,
    L1D_CACHE_EFFECTIVENESS,
    L2_DATA_EFFECTIVENESS,
    L3_LOADS,
    LL_CACHE_EFFECTIVENESS,
    PORTS,
    OPERATION_MIX,
    ASSISTS,
    FP_MIX_COUGAR_COVE,
];

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
    example: MetricExample::new(
        &[1_000_000, 200_000, 5_000, 4_000, 750, 250],
        &["5.0", "2.5", "80.0", "15.0", "5.0"],
    ),
};

const BRANCH_LION_COVE: MetricGroup = MetricGroup {
    events: &[
        INSTRUCTIONS,
        BRANCHES,
        MISPREDICTED,
        MISPREDICTED_CONDITIONAL_LION_COVE,
        MISPREDICTED_INDIRECT,
        MISPREDICTED_RETURN,
    ],
    ..BRANCH_EFFECTIVENESS
};

const BRANCH_COUGAR_COVE: MetricGroup = MetricGroup {
    events: &[
        INSTRUCTIONS,
        BRANCHES,
        MISPREDICTED,
        MISPREDICTED_CONDITIONAL_COUGAR_COVE,
        MISPREDICTED_INDIRECT_COUGAR_COVE,
        MISPREDICTED_RETURN,
    ],
    ..BRANCH_EFFECTIVENESS
};

const ITLB_EFFECTIVENESS: MetricGroup = MetricGroup {
    name: "ITLB_Effectiveness",
    subject: Subject::InstructionTlb,
    explains: &[Node::Part(Part::FetchLatency)],
    events: &[CYCLES, INSTRUCTIONS, ITLB_WALK, ITLB_STLB_HIT, ITLB_STALLS],
    metrics: &[
        Metric::per_kilo("itlb_mpki", ITLB_WALK, INSTRUCTIONS),
        Metric::new("l1_itlb_mpki", "per 1000 instructions", &|counts| {
            1000.0 * (counts[ITLB_WALK] + counts[ITLB_STLB_HIT]) / counts[INSTRUCTIONS]
        }),
        Metric::percent("itlb_stalls", ITLB_STALLS, CYCLES, "% of cycles"),
    ],
    example: MetricExample::new(
        &[1_000_000, 1_000_000, 500, 3_000, 40_000],
        &["0.5", "3.5", "4.0"],
    ),
};

const ITLB_ICE_LAKE: MetricGroup = MetricGroup {
    events: &[
        CYCLES,
        INSTRUCTIONS,
        ITLB_WALK_ICE_LAKE,
        ITLB_STLB_HIT_ICE_LAKE,
        ITLB_STALLS,
    ],
    ..ITLB_EFFECTIVENESS
};

const ITLB_LION_COVE: MetricGroup = MetricGroup {
    events: &[
        CYCLES,
        INSTRUCTIONS,
        ITLB_WALK,
        ITLB_STLB_HIT_LION_COVE,
        ITLB_STALLS,
    ],
    ..ITLB_EFFECTIVENESS
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
    example: MetricExample::new(&[1_000_000, 1_000_000, 80_000, 12_500], &["12.5", "8.0"]),
};

/// The cache of decoded uops (DSB); uops it lacks come from the decoders (MITE).
const DECODED_CACHE: MetricGroup = MetricGroup {
    name: "DSB_Effectiveness",
    subject: Subject::DecodedCache,
    explains: &[Node::Part(Part::FetchBandwidth)],
    events: &[INSTRUCTIONS, DSB_UOPS, MITE_UOPS],
    metrics: &[Metric::new("dsb_coverage", "% of uops", &|counts| {
        100.0 * counts[DSB_UOPS] / (counts[DSB_UOPS] + counts[MITE_UOPS])
    })],
    example: MetricExample::new(&[1_000_000, 750_000, 250_000], &["75.0"]),
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
    example: MetricExample::new(&[1_000_000, 12_000, 3_000], &["3.0", "25.0"]),
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
    example: MetricExample::new(
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
    example: MetricExample::new(
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

const FP_MIX_ICE_LAKE: MetricGroup = MetricGroup {
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
    example: MetricExample::new(&[1_000_000, 50_000], &["5.0"]),
};

/// Its counts are operations: a fused multiply-add is two.
const FP_MIX_COUGAR_COVE: MetricGroup = MetricGroup {
    events: &[INSTRUCTIONS, FP_SCALAR_COUGAR_COVE],
    metrics: &[Metric::percent(
        "fp_scalar",
        FP_SCALAR_COUGAR_COVE,
        INSTRUCTIONS,
        "% of instructions",
    )],
    ..FP_MIX_LION_COVE
};

/// Microcode that hardware starts: each costs some hundreds of cycles.
const ASSISTS: MetricGroup = MetricGroup {
    name: "Assists",
    subject: Subject::Assists,
    explains: &[Node::Part(Part::HeavyOperations)],
    events: &[INSTRUCTIONS, ASSISTS_SSE_AVX_MIX, ASSISTS_FP],
    metrics: &[
        Metric::per_kilo("sse_avx_mix", ASSISTS_SSE_AVX_MIX, INSTRUCTIONS),
        Metric::per_kilo("fp_assists", ASSISTS_FP, INSTRUCTIONS),
    ],
    example: MetricExample::new(&[1_000_000, 2_000, 500], &["2.0", "0.5"]),
};
