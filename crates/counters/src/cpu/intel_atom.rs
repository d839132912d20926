//! Intel's efficient cores, Silvermont … Arctic Wolf, and cores known by the architecture alone.
//!
//! From Tremont on, the categories are events that count slots. The widths and codes are easily
//! confused: Tremont is 4 wide, Gracemont 5, Crestmont 6, Skymont 8, and the event for retiring
//! moved twice.

use super::generated::intel_atom::{
    architectural, arctic_wolf, crestmont, darkmont, darkmont_server, goldmont, gracemont, skymont,
    tremont,
};
use super::{
    Counts, CpuTable, Event, Example, Form, Level1Counting, Models, Numbers, Split,
    models::CoreType,
};
use goldmont::{CYCLES, INSTRUCTIONS};
use topdown_run::category::PerCategory;
use topdown_run::sample::Level1;

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

/// Bad speculation is the remainder.
fn by_rest(counts: &Counts, [retiring, frontend, backend]: [Event; 3]) -> Split {
    let slots = slots(counts);
    Split {
        slots,
        level1: Level1 {
            slots: PerCategory {
                retiring: counts[retiring],
                bad_speculation: slots - counts[retiring] - counts[frontend] - counts[backend],
                frontend_bound: counts[frontend],
                backend_bound: counts[backend],
            },
            smt_contention_slots: None,
        },
        level2: None,
    }
}

fn slots(counts: &Counts) -> f64 {
    counts.slots_per_cycle() * counts[CYCLES]
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
        events: goldmont::FORMS[0],
        cycles: Some(CYCLES),
        instructions: Some(INSTRUCTIONS),
        split: &|counts| {
            let slots = slots(counts);
            let retiring_slots = counts[goldmont::UOPS_RETIRED];
            let bad_speculation_slots = counts[goldmont::ISSUED] - counts[goldmont::UOPS_RETIRED]
                + counts[goldmont::RECOVERY];
            let frontend_bound_slots = counts[goldmont::NOT_DELIVERED];
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
    groups: goldmont::GROUPS,
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
        events: tremont::FORMS[0],
        cycles: Some(CYCLES),
        instructions: Some(INSTRUCTIONS),
        split: &|counts| {
            split(
                counts,
                [
                    tremont::RETIRING,
                    tremont::BAD_SPECULATION,
                    tremont::FRONTEND,
                    tremont::BACKEND,
                ],
            )
        },
        example: Example {
            counts: &[1_000_000, 1_500_000, 1_600_000, 400_000, 800_000, 1_200_000],
            level1_percent: PerCategory::in_order(["40.0", "10.0", "20.0", "30.0"]),
            smt_contention_percent: None,
            level2_percent: None,
        },
    }]),
    groups: tremont::GROUPS,
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
        events: gracemont::FORMS[0],
        cycles: Some(CYCLES),
        instructions: Some(INSTRUCTIONS),
        split: &|counts| {
            by_rest(
                counts,
                [gracemont::RETIRING, gracemont::FRONTEND, gracemont::BACKEND],
            )
        },
        example: Example {
            counts: &[1_000_000, 1_500_000, 2_000_000, 1_000_000, 1_500_000],
            level1_percent: PerCategory::in_order(["40.0", "10.0", "20.0", "30.0"]),
            smt_contention_percent: None,
            level2_percent: None,
        },
    }]),
    groups: gracemont::GROUPS,
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
        events: crestmont::FORMS[0],
        cycles: Some(CYCLES),
        instructions: Some(INSTRUCTIONS),
        split: &|counts| {
            split(
                counts,
                [
                    crestmont::RETIRING,
                    crestmont::BAD_SPECULATION,
                    crestmont::FRONTEND,
                    crestmont::BACKEND,
                ],
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
    groups: crestmont::GROUPS,
};

const SKYMONT_FORM: Form = Form {
    formula: "skymont/1",
    events: skymont::FORMS[0],
    cycles: Some(CYCLES),
    instructions: Some(INSTRUCTIONS),
    split: &|counts| {
        split(
            counts,
            [
                skymont::RETIRING,
                skymont::BAD_SPECULATION,
                skymont::FRONTEND,
                skymont::BACKEND,
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
};

pub(super) static SKYMONT: CpuTable = CpuTable {
    name: "Skymont",
    models: &[Models::intel_hybrid(
        CoreType::Efficient,
        &[0xbd, 0xc5, 0xc6],
    )],
    slots_per_cycle: Some(8),
    general_counters: 8,
    metrics: None,
    sources: "perfmon LNL, ARL",
    level1: Level1Counting::Forms(&[SKYMONT_FORM]),
    groups: skymont::GROUPS,
};

/// Skymont's level 1. Loads that miss the last-level cache have a code of their own.
pub(super) static DARKMONT: CpuTable = CpuTable {
    name: "Darkmont (Panther Lake)",
    models: &[Models::intel_hybrid(
        CoreType::Efficient,
        &[0xcc, 0xd5, 0xe5],
    )],
    slots_per_cycle: Some(8),
    general_counters: 8,
    metrics: None,
    sources: "perfmon PTL 1.07",
    level1: Level1Counting::Forms(&[Form {
        formula: "darkmont/1",
        events: darkmont::FORMS[0],
        ..SKYMONT_FORM
    }]),
    groups: darkmont::GROUPS,
};

/// The same core, which tells local memory from other modules.
pub(super) static DARKMONT_SERVER: CpuTable = CpuTable {
    name: "Darkmont (Clearwater Forest)",
    models: &[Models::intel(&[0xdd])],
    slots_per_cycle: Some(8),
    general_counters: 8,
    metrics: None,
    sources: "perfmon CWF 1.04",
    level1: Level1Counting::Forms(&[Form {
        formula: "darkmont-server/1",
        events: darkmont_server::FORMS[0],
        ..SKYMONT_FORM
    }]),
    groups: darkmont_server::GROUPS,
};

/// Nova Lake's efficient core: Skymont's level 1. Its files do not name the width; CPUID does.
pub(super) static ARCTIC_WOLF: CpuTable = CpuTable {
    name: "Arctic Wolf",
    models: &[Models::intel_after_6(
        18..=18,
        Numbers::Of(&[1, 3]),
        Some(CoreType::Efficient),
    )],
    slots_per_cycle: None,
    general_counters: 8,
    metrics: None,
    sources: "perfmon NVL 1.00",
    level1: Level1Counting::Forms(&[Form {
        formula: "arctic-wolf/1",
        events: arctic_wolf::FORMS[0],
        ..SKYMONT_FORM
    }]),
    groups: arctic_wolf::GROUPS,
};

/// The other CPUs of families after 6: what the architecture defines, and the width by CPUID.
/// Bad speculation is the remainder, since performance cores do not count it in one event.
pub(super) static ARCHITECTURAL: CpuTable = CpuTable {
    name: "Intel, architectural events",
    models: &[
        Models::intel_after_6(18..=18, Numbers::NotIn(&[1..=1, 3..=3]), None),
        Models::intel_after_6(18..=18, Numbers::Of(&[1, 3]), Some(CoreType::LowPower)),
        Models::intel_after_6(19..=u32::MAX, Numbers::All, None),
    ],
    slots_per_cycle: None,
    general_counters: 6,
    metrics: None,
    sources: "Intel SDM 3B, 20.2, and 2A, CPUID leaf 23H; Linux, arch/x86/include/asm/intel-family.h",
    level1: Level1Counting::Forms(&[Form {
        formula: "intel-architectural/1",
        events: architectural::FORMS[0],
        cycles: Some(CYCLES),
        instructions: Some(INSTRUCTIONS),
        split: &|counts| {
            by_rest(
                counts,
                [
                    architectural::RETIRING,
                    architectural::FRONTEND,
                    architectural::BACKEND,
                ],
            )
        },
        // For eight slots per cycle.
        example: Example {
            counts: &[1_000_000, 1_500_000, 3_200_000, 1_600_000, 2_400_000],
            level1_percent: PerCategory::in_order(["40.0", "10.0", "20.0", "30.0"]),
            smt_contention_percent: None,
            level2_percent: None,
        },
    }]),
    groups: architectural::GROUPS,
};
