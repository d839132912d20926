//! Metric groups of AMD's Zen 4 to Zen 6.
//!
//! Sources: Linux, tools/perf/pmu-events/arch/x86/amdzen4 and amdzen5 (pipeline.json,
//! recommended.json and the event lists). The codes of Zen 5's second-level cache are those of Zen
//! 4, whose names its recommended.json uses.
//!
//! Cycles and instructions each take one of the six counters. No group has more than five events,
//! so that all can run alongside the NMI watchdog.

use super::events::{BACKEND, CYCLES, DISPATCHED, FRONTEND, RETIRED, slots};
use crate::cpu::metric_group::{
    BACKEND_BOUND, BAD_SPECULATION, FRONTEND_BOUND, Metric, MetricExample, MetricGroup, Node,
    RETIRING, Subject,
};
use crate::cpu::{Counts, Event};
use topdown_run::category::Part;

// Level 2. Cycles without any op from the frontend are those with a full width of empty slots, so
// their cmask is the width.
const FRONTEND_EMPTY_ZEN_4: Event = Event::general(
    "cpu/de_no_dispatch_per_slot.no_ops_from_frontend,cmask=0x6/",
    0x1_0600_01a0,
);
const FRONTEND_EMPTY_ZEN_5: Event = Event::general(
    "cpu/de_no_dispatch_per_slot.no_ops_from_frontend,cmask=0x8/",
    0x1_0800_01a0,
);
const MISPREDICTED: Event = Event::general("ex_ret_brn_misp", 0x00c3);
const RESYNC_ZEN_4: Event = Event::general("resyncs_or_nc_redirects", 0x0096);
/// Event 0x9f, umask 1: an eight-bit event, not to be confused with the twelve-bit ones.
const RESYNC_ZEN_5: Event = Event::general("bp_redirects.resync", 0x019f);
const NOT_COMPLETE: Event = Event::general("ex_no_retire.not_complete", 0x02d6);
const LOAD_NOT_COMPLETE: Event = Event::general("ex_no_retire.load_not_complete", 0xa2d6);
const MICROCODED: Event = Event::general("ex_ret_ucode_ops", 0x1_0000_00c2);

const INSTRUCTIONS: Event = Event::general("ex_ret_instr", 0x00c0);
const BRANCHES: Event = Event::general("ex_ret_brn", 0x00c2);
const DECODER_REDIRECTS: Event = Event::general("bp_de_redirect", 0x0091);
const ITLB_L2_HIT: Event = Event::general("bp_l1_tlb_miss_l2_tlb_hit", 0x0084);
const ITLB_WALK: Event = Event::general("bp_l1_tlb_miss_l2_tlb_miss.all", 0x0f85);
const DTLB_MISS: Event = Event::general("ls_l1_d_tlb_miss.all", 0xff45);
const DTLB_WALK: Event = Event::general("ls_l1_d_tlb_miss.all_l2_miss", 0xf045);
const IC_ACCESSES: Event = Event::general(
    "ic_tag_hit_miss.all_instruction_cache_accesses",
    0x1_0000_1f8e,
);
const IC_MISSES: Event = Event::general("ic_tag_hit_miss.instruction_cache_miss", 0x1_0000_188e);
const OP_CACHE_ACCESSES: Event =
    Event::general("op_cache_hit_miss.all_op_cache_accesses", 0x2_0000_078f);
const OP_CACHE_MISSES: Event = Event::general("op_cache_hit_miss.op_cache_miss", 0x2_0000_048f);
const DATA_ACCESSES: Event = Event::general("ls_dispatch.all", 0x0729);
const LOADS: Event = Event::general("ls_dispatch.ld_dispatch", 0x0129);
const STORES: Event = Event::general("ls_dispatch.store_dispatch", 0x0229);
const DEMAND_FILLS: Event = Event::general("ls_dmnd_fills_from_sys.all", 0xff43);
const ANY_FILLS: Event = Event::general("ls_any_fills_from_sys.all", 0xff44);
const L3_FILLS: Event = Event::general("ls_dmnd_fills_from_sys.local_ccx", 0x0243);
const MEMORY_FILLS: Event = Event::general("ls_dmnd_fills_from_sys.dram_io_all", 0x4843);
const L2_CODE_HIT: Event = Event::general("l2_cache_req_stat.ic_hit_in_l2", 0x0664);
const L2_CODE_MISS: Event = Event::general("l2_cache_req_stat.ic_fill_miss", 0x0164);
const L2_DATA_HIT: Event = Event::general("l2_cache_req_stat.dc_hit_in_l2", 0xf064);
const L2_DATA_MISS: Event = Event::general("l2_cache_req_stat.ls_rd_blk_c", 0x0864);
const DIVIDER_BUSY: Event = Event::general("ex_div_busy", 0x00d3);
const DIVISIONS: Event = Event::general("ex_div_count", 0x00d4);

const OF_SLOTS: &str = "% of slots";

/// The level-2 examples are from the same log as the level-1 example.
pub const ZEN_4: &[MetricGroup] = &[
    MetricGroup {
        name: "PipelineL2 frontend_bound",
        subject: Subject::Level2,
        explains: &[FRONTEND_BOUND],
        events: &[CYCLES, FRONTEND, FRONTEND_EMPTY_ZEN_4],
        metrics: &[
            FRONTEND_METRIC,
            Metric::percent(
                "frontend_bound_latency",
                FRONTEND_EMPTY_ZEN_4,
                CYCLES,
                OF_SLOTS,
            ),
            Metric::new("frontend_bound_bandwidth", OF_SLOTS, &|counts| {
                frontend_bandwidth(counts, FRONTEND_EMPTY_ZEN_4)
            }),
        ],
        example: MetricExample::new(
            &[52_753_827_046, 10_680_016_198, 1_415_570_013],
            &["3.37", "2.68", "0.69"],
        ),
    },
    MetricGroup {
        name: "PipelineL2 bad_speculation",
        subject: Subject::Level2,
        explains: &[BAD_SPECULATION],
        events: &[CYCLES, DISPATCHED, RETIRED, MISPREDICTED, RESYNC_ZEN_4],
        metrics: &[
            BAD_SPECULATION_METRIC,
            Metric::new("bad_speculation_mispredicts", OF_SLOTS, &|counts| {
                part_of_bad_speculation(counts, MISPREDICTED, RESYNC_ZEN_4)
            }),
            Metric::new("bad_speculation_pipeline_restarts", OF_SLOTS, &|counts| {
                part_of_bad_speculation(counts, RESYNC_ZEN_4, MISPREDICTED)
            }),
        ],
        example: MetricExample::new(
            &[
                52_694_334_454,
                50_200_949_128,
                47_925_464_427,
                39_113_007,
                1_968_782,
            ],
            &["0.72", "0.685", "0.034"],
        ),
    },
    MetricGroup {
        example: MetricExample::new(
            &[
                52_681_078_777,
                254_793_150_309,
                30_460_085_095,
                40_753_146_750,
            ],
            &["80.6", "60.2", "20.4"],
        ),
        ..BACKEND_LEVEL_2
    },
    MetricGroup {
        example: MetricExample::new(
            &[52_727_754_917, 47_962_310_971, 145_769_746],
            &["15.16", "0.046", "15.11"],
        ),
        ..RETIRING_LEVEL_2
    },
    BRANCH_EFFECTIVENESS,
    ITLB_EFFECTIVENESS,
    L1I_CACHE_EFFECTIVENESS,
    OP_CACHE_EFFECTIVENESS,
    L2_CODE_EFFECTIVENESS,
    DTLB_EFFECTIVENESS,
    L1D_CACHE_EFFECTIVENESS,
    L2_DATA_EFFECTIVENESS,
    LL_CACHE_EFFECTIVENESS,
    DIVIDER,
    OPERATION_MIX,
];

pub const ZEN_5: &[MetricGroup] = &[
    FRONTEND_LEVEL_2_WIDTH_8,
    BAD_SPECULATION_LEVEL_2_WIDTH_8,
    BACKEND_LEVEL_2_WIDTH_8,
    RETIRING_LEVEL_2_WIDTH_8,
    BRANCH_EFFECTIVENESS,
    ITLB_EFFECTIVENESS,
    L1I_CACHE_EFFECTIVENESS,
    OP_CACHE_EFFECTIVENESS,
    L2_CODE_EFFECTIVENESS,
    DTLB_EFFECTIVENESS,
    L1D_CACHE_EFFECTIVENESS,
    L2_DATA_EFFECTIVENESS,
    LL_CACHE_EFFECTIVENESS,
    OPERATION_MIX,
];

/// The groups whose codes were compared with Zen 6's event files; `bp_redirects.resync` is called
/// `bp_fe_redir.resync` there.
pub const ZEN_6: &[MetricGroup] = &[
    FRONTEND_LEVEL_2_WIDTH_8,
    BAD_SPECULATION_LEVEL_2_WIDTH_8,
    BACKEND_LEVEL_2_WIDTH_8,
    RETIRING_LEVEL_2_WIDTH_8,
    BRANCH_EFFECTIVENESS,
    ITLB_EFFECTIVENESS,
];

const FRONTEND_LEVEL_2_WIDTH_8: MetricGroup = MetricGroup {
    name: "PipelineL2 frontend_bound",
    subject: Subject::Level2,
    explains: &[FRONTEND_BOUND],
    events: &[CYCLES, FRONTEND, FRONTEND_EMPTY_ZEN_5],
    metrics: &[
        FRONTEND_METRIC,
        Metric::percent(
            "frontend_bound_by_latency",
            FRONTEND_EMPTY_ZEN_5,
            CYCLES,
            OF_SLOTS,
        ),
        Metric::new("frontend_bound_by_bandwidth", OF_SLOTS, &|counts| {
            frontend_bandwidth(counts, FRONTEND_EMPTY_ZEN_5)
        }),
    ],
    example: MetricExample::new(&[1_000_000, 800_000, 60_000], &["10.0", "6.0", "4.0"]),
};

const BAD_SPECULATION_LEVEL_2_WIDTH_8: MetricGroup = MetricGroup {
    name: "PipelineL2 bad_speculation",
    subject: Subject::Level2,
    explains: &[BAD_SPECULATION],
    events: &[CYCLES, DISPATCHED, RETIRED, MISPREDICTED, RESYNC_ZEN_5],
    metrics: &[
        BAD_SPECULATION_METRIC,
        Metric::new("bad_speculation_from_mispredicts", OF_SLOTS, &|counts| {
            part_of_bad_speculation(counts, MISPREDICTED, RESYNC_ZEN_5)
        }),
        Metric::new(
            "bad_speculation_from_pipeline_restarts",
            OF_SLOTS,
            &|counts| part_of_bad_speculation(counts, RESYNC_ZEN_5, MISPREDICTED),
        ),
    ],
    example: MetricExample::new(
        &[1_000_000, 2_800_000, 2_400_000, 9_000, 1_000],
        &["5.0", "4.5", "0.5"],
    ),
};

const BACKEND_LEVEL_2_WIDTH_8: MetricGroup = MetricGroup {
    example: MetricExample::new(
        &[1_000_000, 4_000_000, 600_000, 800_000],
        &["50.0", "37.5", "12.5"],
    ),
    ..BACKEND_LEVEL_2
};

const RETIRING_LEVEL_2_WIDTH_8: MetricGroup = MetricGroup {
    example: MetricExample::new(&[1_000_000, 2_400_000, 80_000], &["30.0", "1.0", "29.0"]),
    ..RETIRING_LEVEL_2
};

const FRONTEND_METRIC: Metric = Metric::new("frontend_bound", OF_SLOTS, &frontend_bound);

const BAD_SPECULATION_METRIC: Metric = Metric::new("bad_speculation", OF_SLOTS, &bad_speculation);

const BACKEND_LEVEL_2: MetricGroup = MetricGroup {
    name: "PipelineL2 backend_bound",
    subject: Subject::Level2,
    explains: &[BACKEND_BOUND],
    events: &[CYCLES, BACKEND, LOAD_NOT_COMPLETE, NOT_COMPLETE],
    metrics: &[
        Metric::new("backend_bound", OF_SLOTS, &backend_bound),
        Metric::new("backend_bound_memory", OF_SLOTS, &backend_bound_memory),
        Metric::new("backend_bound_cpu", OF_SLOTS, &|counts| {
            backend_bound(counts) - backend_bound_memory(counts)
        }),
    ],
    example: MetricExample::NONE,
};

const RETIRING_LEVEL_2: MetricGroup = MetricGroup {
    name: "PipelineL2 retiring",
    subject: Subject::Level2,
    explains: &[RETIRING],
    events: &[CYCLES, RETIRED, MICROCODED],
    metrics: &[
        Metric::slots("retiring", RETIRED, CYCLES),
        Metric::slots("retiring_microcode", MICROCODED, CYCLES),
        Metric::new("retiring_fastpath", OF_SLOTS, &|counts| {
            100.0 * (counts[RETIRED] - counts[MICROCODED]) / slots(counts)
        }),
    ],
    example: MetricExample::NONE,
};

const BRANCH_EFFECTIVENESS: MetricGroup = MetricGroup {
    name: "Branch_Effectiveness",
    subject: Subject::Branches,
    explains: &[Node::Part(Part::BranchMispredicts), FRONTEND_BOUND],
    events: &[INSTRUCTIONS, BRANCHES, MISPREDICTED, DECODER_REDIRECTS],
    metrics: &[
        Metric::per_kilo("branch_mpki", MISPREDICTED, INSTRUCTIONS),
        Metric::percent(
            "branch_misprediction_ratio",
            MISPREDICTED,
            BRANCHES,
            "% of branches",
        ),
        Metric::per_kilo("decoder_redirects", DECODER_REDIRECTS, INSTRUCTIONS),
    ],
    example: MetricExample::new(&[1_000_000, 200_000, 5_000, 1_500], &["5.0", "2.5", "1.5"]),
};

const ITLB_EFFECTIVENESS: MetricGroup = MetricGroup {
    name: "ITLB_Effectiveness",
    subject: Subject::InstructionTlb,
    explains: &[Node::Part(Part::FetchLatency)],
    events: &[INSTRUCTIONS, ITLB_L2_HIT, ITLB_WALK],
    metrics: &[
        Metric::new("l1_itlb_misses", "per 1000 instructions", &|counts| {
            1000.0 * (counts[ITLB_L2_HIT] + counts[ITLB_WALK]) / counts[INSTRUCTIONS]
        }),
        Metric::per_kilo("l2_itlb_misses", ITLB_WALK, INSTRUCTIONS),
    ],
    example: MetricExample::new(&[1_000_000, 3_000, 500], &["3.5", "0.5"]),
};

const L1I_CACHE_EFFECTIVENESS: MetricGroup = MetricGroup {
    name: "L1I_Cache_Effectiveness",
    subject: Subject::InstructionCache,
    explains: &[Node::Part(Part::FetchLatency)],
    events: &[INSTRUCTIONS, IC_ACCESSES, IC_MISSES],
    metrics: &[
        Metric::per_kilo("l1i_cache_mpki", IC_MISSES, INSTRUCTIONS),
        // A fetch served by the op cache does not count.
        Metric::percent(
            "ic_fetch_miss_ratio",
            IC_MISSES,
            IC_ACCESSES,
            "% of fetches",
        ),
    ],
    example: MetricExample::new(&[1_000_000, 100_000, 12_500], &["12.5", "12.5"]),
};

const OP_CACHE_EFFECTIVENESS: MetricGroup = MetricGroup {
    name: "Op_Cache_Effectiveness",
    subject: Subject::DecodedCache,
    explains: &[Node::Part(Part::FetchBandwidth)],
    events: &[INSTRUCTIONS, OP_CACHE_ACCESSES, OP_CACHE_MISSES],
    metrics: &[
        Metric::per_kilo("op_cache_mpki", OP_CACHE_MISSES, INSTRUCTIONS),
        Metric::percent(
            "op_cache_fetch_miss_ratio",
            OP_CACHE_MISSES,
            OP_CACHE_ACCESSES,
            "% of fetches",
        ),
    ],
    example: MetricExample::new(&[1_000_000, 400_000, 100_000], &["100.0", "25.0"]),
};

const L2_CODE_EFFECTIVENESS: MetricGroup = MetricGroup {
    name: "L2_Cache_Effectiveness (instructions)",
    subject: Subject::L2Cache,
    explains: &[Node::Part(Part::FetchLatency)],
    events: &[INSTRUCTIONS, L2_CODE_HIT, L2_CODE_MISS],
    metrics: &[
        Metric::per_kilo(
            "l2_cache_misses_from_l1_ic_miss",
            L2_CODE_MISS,
            INSTRUCTIONS,
        ),
        Metric::new("l2_code_miss_ratio", "% of accesses", &|counts| {
            100.0 * counts[L2_CODE_MISS] / (counts[L2_CODE_HIT] + counts[L2_CODE_MISS])
        }),
    ],
    example: MetricExample::new(&[1_000_000, 9_000, 3_000], &["3.0", "25.0"]),
};

const DTLB_EFFECTIVENESS: MetricGroup = MetricGroup {
    name: "DTLB_Effectiveness",
    subject: Subject::DataTlb,
    explains: &[Node::Part(Part::MemoryBound)],
    events: &[INSTRUCTIONS, DATA_ACCESSES, DTLB_MISS, DTLB_WALK],
    metrics: &[
        Metric::per_kilo("l1_dtlb_misses", DTLB_MISS, INSTRUCTIONS),
        Metric::percent(
            "l1_dtlb_miss_ratio",
            DTLB_MISS,
            DATA_ACCESSES,
            "% of accesses",
        ),
        Metric::per_kilo("l2_dtlb_misses", DTLB_WALK, INSTRUCTIONS),
    ],
    example: MetricExample::new(
        &[1_000_000, 400_000, 20_000, 4_000],
        &["20.0", "5.0", "4.0"],
    ),
};

const L1D_CACHE_EFFECTIVENESS: MetricGroup = MetricGroup {
    name: "L1D_Cache_Effectiveness",
    subject: Subject::DataCache,
    explains: &[Node::Part(Part::MemoryBound)],
    events: &[INSTRUCTIONS, DATA_ACCESSES, DEMAND_FILLS, ANY_FILLS],
    metrics: &[
        Metric::per_kilo("l1d_demand_fills", DEMAND_FILLS, INSTRUCTIONS),
        Metric::percent(
            "l1d_demand_fill_ratio",
            DEMAND_FILLS,
            DATA_ACCESSES,
            "% of accesses",
        ),
        Metric::per_kilo("all_l1_data_cache_fills", ANY_FILLS, INSTRUCTIONS),
    ],
    example: MetricExample::new(
        &[1_000_000, 400_000, 30_000, 45_000],
        &["30.0", "7.5", "45.0"],
    ),
};

const L2_DATA_EFFECTIVENESS: MetricGroup = MetricGroup {
    name: "L2_Cache_Effectiveness (data)",
    subject: Subject::L2Cache,
    explains: &[Node::Part(Part::MemoryBound)],
    events: &[INSTRUCTIONS, L2_DATA_HIT, L2_DATA_MISS],
    metrics: &[
        Metric::per_kilo(
            "l2_cache_misses_from_l1_dc_miss",
            L2_DATA_MISS,
            INSTRUCTIONS,
        ),
        Metric::new("l2_data_miss_ratio", "% of accesses", &|counts| {
            100.0 * counts[L2_DATA_MISS] / (counts[L2_DATA_HIT] + counts[L2_DATA_MISS])
        }),
    ],
    example: MetricExample::new(&[1_000_000, 20_000, 10_000], &["10.0", "33.3"]),
};

/// The last level counts for all cores together. A thread's share shows in where its demand fills
/// came from.
const LL_CACHE_EFFECTIVENESS: MetricGroup = MetricGroup {
    name: "LL_Cache_Effectiveness",
    subject: Subject::LastLevelCache,
    explains: &[Node::Part(Part::MemoryBound)],
    events: &[INSTRUCTIONS, L3_FILLS, MEMORY_FILLS],
    metrics: &[
        Metric::per_kilo("fills_from_l3", L3_FILLS, INSTRUCTIONS),
        Metric::per_kilo("fills_from_memory", MEMORY_FILLS, INSTRUCTIONS),
        Metric::new("beyond_l3_ratio", "% of fills beyond L2", &|counts| {
            100.0 * counts[MEMORY_FILLS] / (counts[L3_FILLS] + counts[MEMORY_FILLS])
        }),
    ],
    example: MetricExample::new(&[1_000_000, 6_000, 4_000], &["6.0", "4.0", "40.0"]),
};

const DIVIDER: MetricGroup = MetricGroup {
    name: "Divider",
    subject: Subject::OperationMix,
    explains: &[Node::Part(Part::CoreBound)],
    events: &[CYCLES, INSTRUCTIONS, DIVIDER_BUSY, DIVISIONS],
    metrics: &[
        Metric::percent("divider_busy", DIVIDER_BUSY, CYCLES, "% of cycles"),
        Metric::per_kilo("divisions", DIVISIONS, INSTRUCTIONS),
    ],
    example: MetricExample::new(&[1_000_000, 2_000_000, 250_000, 40_000], &["25.0", "20.0"]),
};

const OPERATION_MIX: MetricGroup = MetricGroup {
    name: "Operation_Mix",
    subject: Subject::OperationMix,
    explains: &[RETIRING, Node::Part(Part::CoreBound)],
    events: &[INSTRUCTIONS, RETIRED, BRANCHES, LOADS, STORES],
    metrics: &[
        Metric::new("ops_per_instruction", "per instruction", &|counts| {
            counts[RETIRED] / counts[INSTRUCTIONS]
        }),
        Metric::percent("branches", BRANCHES, INSTRUCTIONS, "% of instructions"),
        Metric::per_kilo("loads_dispatched", LOADS, INSTRUCTIONS),
        Metric::per_kilo("stores_dispatched", STORES, INSTRUCTIONS),
    ],
    example: MetricExample::new(
        &[1_000_000, 1_100_000, 200_000, 300_000, 110_000],
        &["1.10", "20.0", "300.0", "110.0"],
    ),
};

fn frontend_bound(counts: &Counts) -> f64 {
    100.0 * counts[FRONTEND] / slots(counts)
}

fn frontend_bandwidth(counts: &Counts, empty: Event) -> f64 {
    frontend_bound(counts) - 100.0 * counts[empty] / counts[CYCLES]
}

fn bad_speculation(counts: &Counts) -> f64 {
    100.0 * (counts[DISPATCHED] - counts[RETIRED]) / slots(counts)
}

/// Splits bad speculation in proportion to the counts of its two causes; 0 if neither occurred.
fn part_of_bad_speculation(counts: &Counts, cause: Event, other_cause: Event) -> f64 {
    let causes = counts[cause] + counts[other_cause];
    if causes == 0.0 {
        return 0.0;
    }
    bad_speculation(counts) * counts[cause] / causes
}

fn backend_bound(counts: &Counts) -> f64 {
    100.0 * counts[BACKEND] / slots(counts)
}

/// Splits backend bound by what the oldest incomplete op was; 0 if all had completed.
fn backend_bound_memory(counts: &Counts) -> f64 {
    if counts[NOT_COMPLETE] == 0.0 {
        return 0.0;
    }
    backend_bound(counts) * counts[LOAD_NOT_COMPLETE] / counts[NOT_COMPLETE]
}
