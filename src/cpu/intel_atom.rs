//! Intel's efficient cores: Silvermont … Skymont.
//!
//! From Tremont on, the categories are events that count slots. The widths and codes are easily
//! confused: Tremont is 4 wide, Gracemont 5, Crestmont 6, Skymont 8, and the event for retiring
//! moved twice.

use super::metric_group::intel_atom;
use super::{
    Counter, Counts, CpuTable, Event, Example, Form, Level1Counting, Models, Split,
    select::CoreType,
};
use crate::category::PerCategory;
use crate::sample::Level1;

pub(super) const CYCLES: Event = Event {
    name: "CPU_CLK_UNHALTED.CORE",
    config: 0x003c,
    counter: Counter::FixedCycles,
};
pub(super) const INSTRUCTIONS: Event = Event::fixed("INST_RETIRED.ANY", 0x00c0);

// Goldmont.
const NOT_DELIVERED: Event = Event::general("UOPS_NOT_DELIVERED.ANY", 0x009c);
const ISSUED: Event = Event::general("UOPS_ISSUED.ANY", 0x000e);
const RECOVERY: Event = Event::general("ISSUE_SLOTS_NOT_CONSUMED.RECOVERY", 0x02ca);
const UOPS_RETIRED: Event = Event::general("UOPS_RETIRED.ANY", 0x00c2);

// Tremont and later.
const FRONTEND: Event = Event::general("TOPDOWN_FE_BOUND.ALL", 0x0071);
const BAD_SPECULATION: Event = Event::general("TOPDOWN_BAD_SPECULATION.ALL", 0x0073);
/// Umask 6: Tremont counts nothing under umask 0.
const BAD_SPECULATION_TREMONT: Event = Event::general("TOPDOWN_BAD_SPECULATION.ALL", 0x0673);
const RETIRING: Event = Event::general("TOPDOWN_RETIRING.ALL", 0x00c2);
const RETIRING_CRESTMONT: Event = Event::general("TOPDOWN_RETIRING.ALL", 0x0072);
pub(super) const BACKEND: Event = Event::general("TOPDOWN_BE_BOUND.ALL", 0x0074);

// Skymont. The kernel moves these to fixed counters 4 to 6 by itself; it does not accept the codes
// 0x0500 … 0x0700 of Intel's lists.
const FRONTEND_SKYMONT: Event = Event::general("TOPDOWN_FE_BOUND.ALL_P", 0x019c);
const BAD_SPECULATION_SKYMONT: Event = Event::general("TOPDOWN_BAD_SPECULATION.ALL_P", 0x0073);
const RETIRING_SKYMONT: Event = Event::general("TOPDOWN_RETIRING.ALL_P", 0x02c2);
pub(super) const BACKEND_SKYMONT: Event = Event::general("TOPDOWN_BE_BOUND.ALL_P", 0x02a4);

pub(super) fn slots(counts: &Counts) -> f64 {
    counts.slots_per_cycle() * counts[CYCLES]
}

fn split(counts: &Counts, [retiring, bad_speculation, frontend, backend]: [Event; 4]) -> Split {
    Split {
        slots: slots(counts),
        level1: Level1 {
            slots: PerCategory {
                retiring: counts[retiring],
                bad_speculation: counts[bad_speculation],
                frontend_bound: counts[frontend],
                backend_bound: counts[backend],
            },
            smt_contention_slots: None,
        },
        level2: None,
    }
}

/// Two of the categories are counted in cycles and need three events, but these cores have two
/// counters.
pub(super) static SILVERMONT: CpuTable = CpuTable {
    name: "Silvermont, Knights Landing",
    models: &[Models::intel(&[0x37, 0x4a, 0x4c, 0x4d, 0x5a, 0x57, 0x85])],
    slots_per_cycle: Some(2),
    general_counters: 2,
    metrics: None,
    sources: "perfmon SLM, KNL",
    level1: Level1Counting::Unsupported(
        "TopDown on Silvermont and Knights Landing needs three counters at a time, and these cores \
         have two; only time can be measured",
    ),
    groups: &[],
};

/// Backend bound is the remainder: its event, ISSUE_SLOTS_NOT_CONSUMED.RESOURCE_FULL, would be the
/// fifth on four counters.
pub(super) static GOLDMONT: CpuTable = CpuTable {
    name: "Goldmont",
    models: &[Models::intel(&[0x5c, 0x5f, 0x7a])],
    slots_per_cycle: Some(3),
    general_counters: 4,
    metrics: None,
    sources: "perfmon GLM, GLP",
    level1: Level1Counting::Forms(&[Form {
        formula: "goldmont/1",
        events: &[
            CYCLES,
            INSTRUCTIONS,
            UOPS_RETIRED,
            ISSUED,
            RECOVERY,
            NOT_DELIVERED,
        ],
        cycles: Some(CYCLES),
        instructions: Some(INSTRUCTIONS),
        split: &|counts| {
            let slots = slots(counts);
            let retiring_slots = counts[UOPS_RETIRED];
            let bad_speculation_slots = counts[ISSUED] - counts[UOPS_RETIRED] + counts[RECOVERY];
            let frontend_bound_slots = counts[NOT_DELIVERED];
            Split {
                slots,
                level1: Level1 {
                    slots: PerCategory {
                        retiring: retiring_slots,
                        bad_speculation: bad_speculation_slots,
                        frontend_bound: frontend_bound_slots,
                        backend_bound: slots
                            - retiring_slots
                            - bad_speculation_slots
                            - frontend_bound_slots,
                    },
                    smt_contention_slots: None,
                },
                level2: None,
            }
        },
        example: Example {
            counts: &[1_000_000, 900_000, 1_200_000, 1_500_000, 150_000, 600_000],
            level1_percent: PerCategory::in_order(["40.0", "15.0", "20.0", "25.0"]),
            smt_contention_percent: None,
            level2_percent: None,
        },
    }]),
    groups: intel_atom::GOLDMONT,
};

pub(super) static TREMONT: CpuTable = CpuTable {
    name: "Tremont",
    models: &[Models::intel(&[0x96, 0x9c, 0x86])],
    slots_per_cycle: Some(4),
    general_counters: 4,
    metrics: None,
    sources: "perfmon EHL, SNR",
    level1: Level1Counting::Forms(&[Form {
        formula: "tremont/1",
        events: &[
            CYCLES,
            INSTRUCTIONS,
            RETIRING,
            BAD_SPECULATION_TREMONT,
            FRONTEND,
            BACKEND,
        ],
        cycles: Some(CYCLES),
        instructions: Some(INSTRUCTIONS),
        split: &|counts| {
            split(
                counts,
                [RETIRING, BAD_SPECULATION_TREMONT, FRONTEND, BACKEND],
            )
        },
        example: Example {
            counts: &[1_000_000, 1_500_000, 1_600_000, 400_000, 800_000, 1_200_000],
            level1_percent: PerCategory::in_order(["40.0", "10.0", "20.0", "30.0"]),
            smt_contention_percent: None,
            level2_percent: None,
        },
    }]),
    groups: intel_atom::TREMONT,
};

/// Bad speculation is the remainder, as in version 4 of Intel's formulas.
pub(super) static GRACEMONT: CpuTable = CpuTable {
    name: "Gracemont",
    models: &[
        Models::intel_hybrid(CoreType::Efficient, &[0x97, 0x9a, 0xb7, 0xba, 0xbf]),
        Models::intel(&[0xbe]),
    ],
    slots_per_cycle: Some(5),
    general_counters: 6,
    metrics: None,
    sources: "perfmon ADL (alderlake_gracemont_core.json)",
    level1: Level1Counting::Forms(&[Form {
        formula: "gracemont/1",
        events: &[CYCLES, INSTRUCTIONS, RETIRING, FRONTEND, BACKEND],
        cycles: Some(CYCLES),
        instructions: Some(INSTRUCTIONS),
        split: &|counts| {
            let slots = slots(counts);
            let rest = slots - counts[RETIRING] - counts[FRONTEND] - counts[BACKEND];
            Split {
                slots,
                level1: Level1 {
                    slots: PerCategory {
                        retiring: counts[RETIRING],
                        bad_speculation: rest,
                        frontend_bound: counts[FRONTEND],
                        backend_bound: counts[BACKEND],
                    },
                    smt_contention_slots: None,
                },
                level2: None,
            }
        },
        example: Example {
            counts: &[1_000_000, 1_500_000, 2_000_000, 1_000_000, 1_500_000],
            level1_percent: PerCategory::in_order(["40.0", "10.0", "20.0", "30.0"]),
            smt_contention_percent: None,
            level2_percent: None,
        },
    }]),
    groups: intel_atom::GRACEMONT,
};

pub(super) static CRESTMONT: CpuTable = CpuTable {
    name: "Crestmont",
    models: &[
        Models::intel_hybrid(CoreType::Efficient, &[0xaa, 0xac, 0xb5]),
        Models::intel_hybrid(CoreType::LowPower, &[0xc5]),
        Models::intel(&[0xaf, 0xb6]),
    ],
    slots_per_cycle: Some(6),
    general_counters: 8,
    metrics: None,
    sources: "perfmon MTL, SRF, GRR, ARL (arrowlake_crestmont_core.json)",
    level1: Level1Counting::Forms(&[Form {
        formula: "crestmont/1",
        events: &[
            CYCLES,
            INSTRUCTIONS,
            RETIRING_CRESTMONT,
            BAD_SPECULATION,
            FRONTEND,
            BACKEND,
        ],
        cycles: Some(CYCLES),
        instructions: Some(INSTRUCTIONS),
        split: &|counts| {
            split(
                counts,
                [RETIRING_CRESTMONT, BAD_SPECULATION, FRONTEND, BACKEND],
            )
        },
        example: Example {
            counts: &[
                1_000_000, 1_500_000, 2_400_000, 600_000, 1_200_000, 1_800_000,
            ],
            level1_percent: PerCategory::in_order(["40.0", "10.0", "20.0", "30.0"]),
            smt_contention_percent: None,
            level2_percent: None,
        },
    }]),
    groups: intel_atom::CRESTMONT,
};

pub(super) static SKYMONT: CpuTable = CpuTable {
    name: "Skymont",
    models: &[
        Models::intel_hybrid(CoreType::Efficient, &[0xbd, 0xc5, 0xc6, 0xcc, 0xd5, 0xe5]),
        Models::intel(&[0xdd]),
    ],
    slots_per_cycle: Some(8),
    general_counters: 8,
    metrics: None,
    sources: "perfmon LNL, ARL, PTL, CWF",
    level1: Level1Counting::Forms(&[Form {
        formula: "skymont/1",
        events: &[
            CYCLES,
            INSTRUCTIONS,
            RETIRING_SKYMONT,
            BAD_SPECULATION_SKYMONT,
            FRONTEND_SKYMONT,
            BACKEND_SKYMONT,
        ],
        cycles: Some(CYCLES),
        instructions: Some(INSTRUCTIONS),
        split: &|counts| {
            split(
                counts,
                [
                    RETIRING_SKYMONT,
                    BAD_SPECULATION_SKYMONT,
                    FRONTEND_SKYMONT,
                    BACKEND_SKYMONT,
                ],
            )
        },
        example: Example {
            counts: &[
                1_000_000, 1_500_000, 3_200_000, 800_000, 1_600_000, 2_400_000,
            ],
            level1_percent: PerCategory::in_order(["40.0", "10.0", "20.0", "30.0"]),
            smt_contention_percent: None,
            level2_percent: None,
        },
    }]),
    groups: intel_atom::SKYMONT,
};
