//! AMD's Zen cores. Zen 4 and later count dispatch slots, in five categories: the slots that went
//! to the other hardware thread are one of their own.
//!
//! An event number of 12 bits has its upper four in bits 32 to 35 of the raw code: event 0x1a0 with
//! umask 1 is 0x1_0000_01a0, and 0x1a0 itself would be event 0xa0.

use super::{
    Counts, CpuTable, Detail, Event, Example, Form, Level1Counting, Metric, Models, Numbers, Split,
};
use crate::sample::Level1;

/// There is no fixed counter for cycles: they take one of the six.
const CYCLES: Event = Event::general("ls_not_halted_cyc", 0x0076);
const DISPATCHED: Event = Event::general("de_src_op_disp.all", 0x07aa);
const RETIRED: Event = Event::general("ex_ret_ops", 0x00c1);
const FRONTEND: Event = Event::general(
    "de_no_dispatch_per_slot.no_ops_from_frontend",
    0x1_0000_01a0,
);
const BACKEND: Event = Event::general("de_no_dispatch_per_slot.backend_stalls", 0x1_0000_1ea0);
const SMT: Event = Event::general("de_no_dispatch_per_slot.smt_contention", 0x1_0000_60a0);

// Level 2. The cycles without any op from the frontend are those with a full width of empty slots,
// so that their cmask is the width.
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
/// Event 0x9f, umask 1: an event of eight bits, not to be confused with those of twelve.
const RESYNC_ZEN_5: Event = Event::general("bp_redirects.resync", 0x019f);
const NOT_COMPLETE: Event = Event::general("ex_no_retire.not_complete", 0x02d6);
const LOAD_NOT_COMPLETE: Event = Event::general("ex_no_retire.load_not_complete", 0xa2d6);
const MICROCODED: Event = Event::general("ex_ret_ucode_ops", 0x1_0000_00c2);

fn slots(counts: &Counts) -> f64 {
    counts.slots_per_cycle() * counts[CYCLES]
}

/// Bad speculation can fall below 0 by a little: fused ops retire as more than they dispatch as.
fn split(counts: &Counts, smt_contention_slots: f64) -> Split {
    Split {
        slots: slots(counts),
        level1: Level1 {
            retiring_slots: counts[RETIRED],
            bad_speculation_slots: counts[DISPATCHED] - counts[RETIRED],
            frontend_bound_slots: counts[FRONTEND],
            backend_bound_slots: counts[BACKEND],
            smt_contention_slots: Some(smt_contention_slots),
        },
        level2: None,
    }
}

/// What the other categories leave, when the watchdog has the sixth counter.
fn smt_by_rest(counts: &Counts) -> Split {
    split(
        counts,
        slots(counts) - counts[FRONTEND] - counts[BACKEND] - counts[DISPATCHED],
    )
}

const ALL: &[Event] = &[CYCLES, RETIRED, DISPATCHED, FRONTEND, BACKEND, SMT];
const ALL_BUT_SMT: &[Event] = &[CYCLES, RETIRED, DISPATCHED, FRONTEND, BACKEND];

pub(super) static ZEN_1_TO_3: CpuTable = CpuTable {
    name: "Zen 1 … Zen 3",
    models: &[
        Models::amd(0x17, Numbers::All),
        Models::amd(0x19, Numbers::In(ZEN_3)),
    ],
    slots_per_cycle: None,
    general_counters: 6,
    metrics: None,
    sources: "perf's mapfile for families 17h and 19h; event 0x1a0 does not exist",
    level1: Level1Counting::Unsupported(
        "Zen 1 to Zen 3 have no events for dispatch slots, so no TopDown; only time can be measured \
         here (instructions per cycle and branch misses with `perf stat`)",
    ),
    details: &[],
};

const ZEN_3: &[std::ops::RangeInclusive<u32>] = &[0x00..=0x0f, 0x20..=0x2f, 0x40..=0x5f];

/// The examples are from a public log of `perf stat` on a Zen 4 compiling with gcc. It counted the
/// groups one after the other, so that its cycles differ by some thousandths between them; the
/// example of level 1 has those of bad speculation for all.
pub(super) static ZEN_4: CpuTable = CpuTable {
    name: "Zen 4",
    models: &[Models::amd(0x19, Numbers::NotIn(ZEN_3))],
    slots_per_cycle: Some(6),
    general_counters: 6,
    metrics: None,
    sources: "Linux, tools/perf/pmu-events/arch/x86/amdzen4/pipeline.json",
    level1: Level1Counting::Forms(&[
        Form {
            formula: "zen-4/1",
            events: ALL,
            cycles: Some(CYCLES),
            instructions: None,
            split: &|counts| split(counts, counts[SMT]),
            example: Example {
                counts: &[
                    52_694_334_454,
                    47_925_464_427,
                    50_200_949_128,
                    10_680_016_198,
                    254_793_150_309,
                    0,
                ],
                level1_percent: ["15.16", "0.72", "3.38", "80.6"],
                smt_contention_percent: Some("0.0"),
                level2_percent: None,
            },
        },
        Form {
            formula: "zen-4-smt-by-rest/1",
            events: ALL_BUT_SMT,
            cycles: Some(CYCLES),
            instructions: None,
            split: &smt_by_rest,
            example: Example {
                counts: &[
                    52_694_334_454,
                    47_925_464_427,
                    50_200_949_128,
                    10_680_016_198,
                    254_793_150_309,
                ],
                level1_percent: ["15.16", "0.72", "3.38", "80.6"],
                smt_contention_percent: Some("0.2"),
                level2_percent: None,
            },
        },
    ]),
    details: &[
        Detail {
            name: "PipelineL2 frontend_bound",
            events: &[CYCLES, FRONTEND, FRONTEND_EMPTY_ZEN_4],
            metrics: &[
                FRONTEND_BOUND,
                Metric {
                    name: "frontend_bound_latency",
                    of: "slots",
                    value: |counts| counts[FRONTEND_EMPTY_ZEN_4] / counts[CYCLES],
                },
                Metric {
                    name: "frontend_bound_bandwidth",
                    of: "slots",
                    value: |counts| {
                        frontend_bound(counts) - counts[FRONTEND_EMPTY_ZEN_4] / counts[CYCLES]
                    },
                },
            ],
            example_counts: &[52_753_827_046, 10_680_016_198, 1_415_570_013],
            example_percent: &["3.37", "2.68", "0.69"],
        },
        Detail {
            name: "PipelineL2 bad_speculation",
            events: &[CYCLES, DISPATCHED, RETIRED, MISPREDICTED, RESYNC_ZEN_4],
            metrics: &[
                BAD_SPECULATION,
                Metric {
                    name: "bad_speculation_mispredicts",
                    of: "slots",
                    value: |counts| part_of_bad_speculation(counts, MISPREDICTED, RESYNC_ZEN_4),
                },
                Metric {
                    name: "bad_speculation_pipeline_restarts",
                    of: "slots",
                    value: |counts| part_of_bad_speculation(counts, RESYNC_ZEN_4, MISPREDICTED),
                },
            ],
            example_counts: &[
                52_694_334_454,
                50_200_949_128,
                47_925_464_427,
                39_113_007,
                1_968_782,
            ],
            example_percent: &["0.72", "0.685", "0.034"],
        },
        Detail {
            example_counts: &[
                52_681_078_777,
                254_793_150_309,
                30_460_085_095,
                40_753_146_750,
            ],
            example_percent: &["80.6", "60.2", "20.4"],
            ..BACKEND_DETAIL
        },
        Detail {
            example_counts: &[52_727_754_917, 47_962_310_971, 145_769_746],
            example_percent: &["15.16", "0.046", "15.11"],
            ..RETIRING_DETAIL
        },
    ],
};

/// Zen 6 shares the family number and, by its event files, width and formulas.
pub(super) static ZEN_5: CpuTable = CpuTable {
    name: "Zen 5",
    models: &[Models::amd(0x1a, Numbers::All)],
    slots_per_cycle: Some(8),
    general_counters: 6,
    metrics: None,
    sources: "Linux, tools/perf/pmu-events/arch/x86/amdzen5/pipeline.json",
    level1: Level1Counting::Forms(&[
        Form {
            formula: "zen-5/1",
            events: ALL,
            cycles: Some(CYCLES),
            instructions: None,
            split: &|counts| split(counts, counts[SMT]),
            example: Example {
                counts: &[1_000_000, 2_400_000, 2_800_000, 800_000, 4_000_000, 400_000],
                level1_percent: ["30.0", "5.0", "10.0", "50.0"],
                smt_contention_percent: Some("5.0"),
                level2_percent: None,
            },
        },
        Form {
            formula: "zen-5-smt-by-rest/1",
            events: ALL_BUT_SMT,
            cycles: Some(CYCLES),
            instructions: None,
            split: &smt_by_rest,
            example: Example {
                counts: &[1_000_000, 2_400_000, 2_800_000, 800_000, 4_000_000],
                level1_percent: ["30.0", "5.0", "10.0", "50.0"],
                smt_contention_percent: Some("5.0"),
                level2_percent: None,
            },
        },
    ]),
    details: &[
        Detail {
            name: "PipelineL2 frontend_bound",
            events: &[CYCLES, FRONTEND, FRONTEND_EMPTY_ZEN_5],
            metrics: &[
                FRONTEND_BOUND,
                Metric {
                    name: "frontend_bound_by_latency",
                    of: "slots",
                    value: |counts| counts[FRONTEND_EMPTY_ZEN_5] / counts[CYCLES],
                },
                Metric {
                    name: "frontend_bound_by_bandwidth",
                    of: "slots",
                    value: |counts| {
                        frontend_bound(counts) - counts[FRONTEND_EMPTY_ZEN_5] / counts[CYCLES]
                    },
                },
            ],
            example_counts: &[1_000_000, 800_000, 60_000],
            example_percent: &["10.0", "6.0", "4.0"],
        },
        Detail {
            name: "PipelineL2 bad_speculation",
            events: &[CYCLES, DISPATCHED, RETIRED, MISPREDICTED, RESYNC_ZEN_5],
            metrics: &[
                BAD_SPECULATION,
                Metric {
                    name: "bad_speculation_from_mispredicts",
                    of: "slots",
                    value: |counts| part_of_bad_speculation(counts, MISPREDICTED, RESYNC_ZEN_5),
                },
                Metric {
                    name: "bad_speculation_from_pipeline_restarts",
                    of: "slots",
                    value: |counts| part_of_bad_speculation(counts, RESYNC_ZEN_5, MISPREDICTED),
                },
            ],
            example_counts: &[1_000_000, 2_800_000, 2_400_000, 9_000, 1_000],
            example_percent: &["5.0", "4.5", "0.5"],
        },
        Detail {
            example_counts: &[1_000_000, 4_000_000, 600_000, 800_000],
            example_percent: &["50.0", "37.5", "12.5"],
            ..BACKEND_DETAIL
        },
        Detail {
            example_counts: &[1_000_000, 2_400_000, 80_000],
            example_percent: &["30.0", "1.0", "29.0"],
            ..RETIRING_DETAIL
        },
    ],
};

const FRONTEND_BOUND: Metric = Metric {
    name: "frontend_bound",
    of: "slots",
    value: frontend_bound,
};

const BAD_SPECULATION: Metric = Metric {
    name: "bad_speculation",
    of: "slots",
    value: bad_speculation,
};

const BACKEND_DETAIL: Detail = Detail {
    name: "PipelineL2 backend_bound",
    events: &[CYCLES, BACKEND, LOAD_NOT_COMPLETE, NOT_COMPLETE],
    metrics: &[
        Metric {
            name: "backend_bound",
            of: "slots",
            value: backend_bound,
        },
        Metric {
            name: "backend_bound_memory",
            of: "slots",
            value: backend_bound_memory,
        },
        Metric {
            name: "backend_bound_cpu",
            of: "slots",
            value: |counts| backend_bound(counts) - backend_bound_memory(counts),
        },
    ],
    example_counts: &[],
    example_percent: &[],
};

const RETIRING_DETAIL: Detail = Detail {
    name: "PipelineL2 retiring",
    events: &[CYCLES, RETIRED, MICROCODED],
    metrics: &[
        Metric {
            name: "retiring",
            of: "slots",
            value: |counts| counts[RETIRED] / slots(counts),
        },
        Metric {
            name: "retiring_microcode",
            of: "slots",
            value: |counts| counts[MICROCODED] / slots(counts),
        },
        Metric {
            name: "retiring_fastpath",
            of: "slots",
            value: |counts| (counts[RETIRED] - counts[MICROCODED]) / slots(counts),
        },
    ],
    example_counts: &[],
    example_percent: &[],
};

fn frontend_bound(counts: &Counts) -> f64 {
    counts[FRONTEND] / slots(counts)
}

fn bad_speculation(counts: &Counts) -> f64 {
    (counts[DISPATCHED] - counts[RETIRED]) / slots(counts)
}

/// Bad speculation by the number of its two causes; nothing where neither occurred.
fn part_of_bad_speculation(counts: &Counts, cause: Event, other_cause: Event) -> f64 {
    let causes = counts[cause] + counts[other_cause];
    if causes == 0.0 {
        return 0.0;
    }
    bad_speculation(counts) * counts[cause] / causes
}

fn backend_bound(counts: &Counts) -> f64 {
    counts[BACKEND] / slots(counts)
}

/// Backend bound by what the oldest op that had not completed was; nothing where all had.
fn backend_bound_memory(counts: &Counts) -> f64 {
    if counts[NOT_COMPLETE] == 0.0 {
        return 0.0;
    }
    backend_bound(counts) * counts[LOAD_NOT_COMPLETE] / counts[NOT_COMPLETE]
}
