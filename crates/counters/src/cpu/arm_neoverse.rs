//! Arm's Neoverse and C1 cores, and a fallback for other Arm cores that count stalled slots.
//!
//! Event numbers are those of the architecture. STALL_SLOT is the sum of its two parts, which are
//! counted anyway: this saves a counter, and the categories add up exactly. On C1 cores Arm's
//! formulas also subtract the cycles in WFI and WFE; a thread counted in user mode only spends
//! almost none there, so they are taken as 0 here.
//!
//! perf's own metrics use other corrections on some of these cores; the numbers are not comparable.

use std::ops::RangeInclusive;

use super::generated::arm_neoverse::{
    ampere_one, c1_nano, c1_pro, c1_ultra, generic, hip08, n1, n2, n3, olympus, v1, v2, v3,
};
use super::{Counts, CpuTable, Example, Form, Level1Counting, Maker, Models, Numbers, Split};
use n2::{BACKEND, CYCLES, FRONTEND, INSTRUCTIONS, MISPREDICTED, OPERATIONS, OPERATIONS_RETIRED};
use n3::FLUSH;
use topdown_run::category::PerCategory;
use topdown_run::sample::Level1;

/// All revisions of a core.
const ANY: RangeInclusive<u32> = 0..=u32::MAX;

/// Operations and stalled slots together fill at least this fraction of all slots.
const MIN_EXPLAINED_FRACTION: f64 = 0.9;

/// Corrections that move stalled slots to bad speculation, in slots.
#[derive(Default)]
struct Corrections {
    /// Counted as frontend bound, but belonging to no category.
    frontend_overcount: f64,
    /// Frontend bound slots caused by bad speculation.
    from_frontend: f64,
    /// Backend bound slots caused by bad speculation.
    from_backend: f64,
}

fn split(counts: &Counts, corrections: Corrections) -> Split {
    split_slots(
        counts,
        counts.slots_per_cycle() * counts[CYCLES],
        corrections,
    )
}

fn split_slots(counts: &Counts, slots: f64, corrections: Corrections) -> Split {
    let frontend = counts[FRONTEND] - corrections.frontend_overcount;
    let backend = counts[BACKEND];
    let used = slots - frontend - backend;
    // A hypervisor may hide the stalled slots, which then count 0. The rest does not fill the slots
    // and is returned unchanged: categories that do not add up are refused.
    let is_hidden = counts[FRONTEND] == 0.0 || counts[BACKEND] == 0.0;
    if is_hidden
        && counts[OPERATIONS] + frontend.max(0.0) + backend < MIN_EXPLAINED_FRACTION * slots
    {
        return Split {
            slots,
            level1: Level1 {
                slots: PerCategory {
                    retiring: counts[OPERATIONS_RETIRED],
                    bad_speculation: counts[OPERATIONS] - counts[OPERATIONS_RETIRED],
                    frontend_bound: counts[FRONTEND],
                    backend_bound: backend,
                },
                smt_contention_slots: None,
            },
            level2: None,
        };
    }
    let retired_fraction = if counts[OPERATIONS] > 0.0 {
        counts[OPERATIONS_RETIRED] / counts[OPERATIONS]
    } else {
        1.0
    };
    let moved = corrections.from_frontend + corrections.from_backend;
    Split {
        slots,
        level1: Level1 {
            slots: PerCategory {
                retiring: retired_fraction * used,
                bad_speculation: (1.0 - retired_fraction) * used + moved,
                frontend_bound: frontend - corrections.from_frontend,
                backend_bound: backend - corrections.from_backend,
            },
            smt_contention_slots: None,
        },
        level2: None,
    }
}

/// Neoverse V1: a mispredicted branch costs four frontend cycles.
fn four_cycles_per_mispredict(counts: &Counts) -> Split {
    let cycle_each = counts.slots_per_cycle() * counts[MISPREDICTED];
    split(
        counts,
        Corrections {
            from_frontend: 4.0 * cycle_each,
            ..Corrections::default()
        },
    )
}

/// Neoverse V2 and N2: one frontend cycle and three backend cycles.
fn one_and_three_cycles_per_mispredict(counts: &Counts) -> Split {
    let cycle_each = counts.slots_per_cycle() * counts[MISPREDICTED];
    split(
        counts,
        Corrections {
            from_frontend: cycle_each,
            from_backend: 3.0 * cycle_each,
            ..Corrections::default()
        },
    )
}

/// Neoverse N2 before r0p3: like later revisions, except for an erratum that counts one slot of
/// every cycle as stalled.
fn one_and_three_cycles_with_erratum(counts: &Counts) -> Split {
    let cycle_each = counts.slots_per_cycle() * counts[MISPREDICTED];
    split(
        counts,
        Corrections {
            frontend_overcount: counts[CYCLES],
            from_frontend: cycle_each,
            from_backend: 3.0 * cycle_each,
        },
    )
}

/// Olympus counts its slots, and the frontend's without those that mispredicted branches cost.
fn without_mispredicted(counts: &Counts) -> Split {
    split_slots(
        counts,
        counts[olympus::SLOTS],
        Corrections {
            from_frontend: counts[FRONTEND] - counts[olympus::UNDELIVERED],
            ..Corrections::default()
        },
    )
}

/// Hip08 has no events for stalled slots: every operation is an instruction, and the backend is the
/// remainder.
fn fetch_bubbles(counts: &Counts) -> Split {
    let slots = counts.slots_per_cycle() * counts[CYCLES];
    let (retiring, issued) = (counts[INSTRUCTIONS], counts[hip08::INST_SPEC]);
    let frontend_bound = counts[hip08::FETCH_BUBBLE];
    Split {
        slots,
        level1: Level1 {
            slots: PerCategory {
                retiring,
                bad_speculation: issued - retiring,
                frontend_bound,
                backend_bound: slots - issued - frontend_bound,
            },
            smt_contention_slots: None,
        },
        level2: None,
    }
}

/// Newer cores count the cycles of a flush.
fn flush(counts: &Counts) -> Split {
    split(
        counts,
        Corrections {
            from_frontend: counts.slots_per_cycle() * counts[FLUSH],
            ..Corrections::default()
        },
    )
}

/// A million cycles with 1.6 million slots stalled in the frontend and 2.4 million in the backend,
/// 19 of 20 operations retired, and 20 000 branches mispredicted.
const MISPREDICTED_COUNTS: &[u64] = &[
    1_000_000, 2_000_000, 3_800_000, 4_000_000, 1_600_000, 2_400_000, 20_000,
];
/// The same counts with 15 000 cycles of flush.
const FLUSH_COUNTS: &[u64] = &[
    1_000_000, 2_000_000, 3_800_000, 4_000_000, 1_600_000, 2_400_000, 15_000,
];

const fn example(counts: &'static [u64], level1_percent: [&'static str; 4]) -> Example {
    Example {
        counts,
        level1_percent: PerCategory::in_order(level1_percent),
        smt_contention_percent: None,
        level2_percent: None,
    }
}

const MISPREDICTED_FORM: Form = Form {
    formula: "neoverse-v2/1",
    events: v2::FORMS[0],
    cycles: Some(CYCLES),
    instructions: Some(INSTRUCTIONS),
    split: &one_and_three_cycles_per_mispredict,
    example: example(MISPREDICTED_COUNTS, ["47.5", "10.5", "18.0", "24.0"]),
};

const FLUSH_FORM: Form = Form {
    formula: "neoverse-v3/1",
    events: v3::FORMS[0],
    cycles: Some(CYCLES),
    instructions: Some(INSTRUCTIONS),
    split: &flush,
    example: example(FLUSH_COUNTS, ["57.0", "4.5", "14.5", "24.0"]),
};

const SOURCE: &str = "Arm telemetry-solution at 917257c, data/pmu/cpu (mirror xinydev/telemetry-\
                      solution); part numbers: MIDR_EL1";

pub(super) static N1: CpuTable = CpuTable {
    name: "Neoverse N1",
    models: &[Models::arm(&[0xd0c], ANY)],
    slots_per_cycle: None,
    general_counters: 6,
    metrics: None,
    sources: SOURCE,
    level1: Level1Counting::Unsupported(
        "Neoverse N1 has no events for stalled slots, so no TopDown; stalled cycles can be \
         measured instead (`cargo topdown explain`, group Cycle_Accounting)",
    ),
    groups: n1::GROUPS,
};

pub(super) static N2_BEFORE_R0P3: CpuTable = CpuTable {
    name: "Neoverse N2 r0p0 … r0p2",
    models: &[
        Models::arm(&[0xd49], 0x00..=0x02),
        // Azure Cobalt 100: Linux, arch/arm64/include/asm/cputype.h.
        Models::armv8(Maker::Microsoft, &[0xd49], ANY),
    ],
    slots_per_cycle: Some(5),
    general_counters: 6,
    metrics: None,
    sources: SOURCE,
    level1: Level1Counting::Forms(&[Form {
        formula: "neoverse-n2-r0p0/1",
        events: n2::FORMS[0],
        split: &one_and_three_cycles_with_erratum,
        example: example(MISPREDICTED_COUNTS, ["38.0", "10.0", "10.0", "42.0"]),
        ..MISPREDICTED_FORM
    }]),
    groups: n2::GROUPS,
};

pub(super) static N2: CpuTable = CpuTable {
    name: "Neoverse N2",
    models: &[Models::arm(&[0xd49], 0x03..=u32::MAX)],
    slots_per_cycle: Some(5),
    general_counters: 6,
    metrics: None,
    sources: SOURCE,
    level1: Level1Counting::Forms(&[Form {
        formula: "neoverse-n2/1",
        events: n2::FORMS[0],
        example: example(MISPREDICTED_COUNTS, ["19.0", "9.0", "30.0", "42.0"]),
        ..MISPREDICTED_FORM
    }]),
    groups: n2::GROUPS,
};

pub(super) static V1: CpuTable = CpuTable {
    name: "Neoverse V1",
    models: &[Models::arm(&[0xd40], ANY)],
    slots_per_cycle: Some(8),
    general_counters: 6,
    metrics: None,
    sources: SOURCE,
    level1: Level1Counting::Forms(&[Form {
        formula: "neoverse-v1/1",
        events: v1::FORMS[0],
        split: &four_cycles_per_mispredict,
        example: example(MISPREDICTED_COUNTS, ["47.5", "10.5", "12.0", "30.0"]),
        ..MISPREDICTED_FORM
    }]),
    groups: v1::GROUPS,
};

pub(super) static V2: CpuTable = CpuTable {
    name: "Neoverse V2",
    models: &[Models::arm(&[0xd4f], ANY)],
    slots_per_cycle: Some(8),
    general_counters: 6,
    metrics: None,
    sources: SOURCE,
    level1: Level1Counting::Forms(&[MISPREDICTED_FORM]),
    groups: v2::GROUPS,
};

pub(super) static N3: CpuTable = CpuTable {
    name: "Neoverse N3",
    models: &[Models::arm(&[0xd8e], ANY)],
    slots_per_cycle: Some(5),
    general_counters: 6,
    metrics: None,
    sources: SOURCE,
    level1: Level1Counting::Forms(&[Form {
        formula: "neoverse-n3/1",
        events: n3::FORMS[0],
        example: example(FLUSH_COUNTS, ["19.0", "2.5", "30.5", "48.0"]),
        ..FLUSH_FORM
    }]),
    groups: n3::GROUPS,
};

pub(super) static V3: CpuTable = CpuTable {
    name: "Neoverse V3",
    // 0xd83 is V3AE, with the same events.
    models: &[Models::arm(&[0xd83, 0xd84], ANY)],
    slots_per_cycle: Some(10),
    general_counters: 6,
    metrics: None,
    sources: SOURCE,
    level1: Level1Counting::Forms(&[FLUSH_FORM]),
    groups: v3::GROUPS,
};

pub(super) static C1_NANO: CpuTable = CpuTable {
    name: "C1-Nano",
    models: &[Models::arm(&[0xd8a], ANY)],
    slots_per_cycle: Some(3),
    general_counters: 6,
    metrics: None,
    sources: SOURCE,
    level1: Level1Counting::Forms(&[Form {
        formula: "c1-nano/1",
        events: c1_nano::FORMS[0],
        // Made up, since the other cores' example stalls more slots than this core has.
        example: example(
            &[
                1_000_000, 900_000, 1_425_000, 1_500_000, 600_000, 900_000, 15_000,
            ],
            ["47.5", "4.0", "18.5", "30.0"],
        ),
        ..FLUSH_FORM
    }]),
    groups: c1_nano::GROUPS,
};

pub(super) static C1_PRO: CpuTable = CpuTable {
    name: "C1-Pro",
    models: &[Models::arm(&[0xd8b], ANY)],
    slots_per_cycle: Some(5),
    general_counters: 6,
    metrics: None,
    sources: SOURCE,
    level1: Level1Counting::Forms(&[Form {
        formula: "c1-pro/1",
        events: c1_pro::FORMS[0],
        example: example(FLUSH_COUNTS, ["19.0", "2.5", "30.5", "48.0"]),
        ..FLUSH_FORM
    }]),
    groups: c1_pro::GROUPS,
};

pub(super) static C1_ULTRA: CpuTable = CpuTable {
    name: "C1-Ultra, C1-Premium",
    models: &[Models::arm(&[0xd8c, 0xd90], ANY)],
    slots_per_cycle: Some(10),
    general_counters: 6,
    metrics: None,
    sources: SOURCE,
    level1: Level1Counting::Forms(&[Form {
        formula: "c1-ultra/1",
        events: c1_ultra::FORMS[0],
        ..FLUSH_FORM
    }]),
    groups: c1_ultra::GROUPS,
};

/// AmpereOne and AmpereOneX count what was executed, and stalled slots of the backend; the frontend
/// is the remainder, as in their maker's metrics. The kernel reports the width.
pub(super) static AMPERE_ONE: CpuTable = CpuTable {
    name: "AmpereOne",
    models: &[Models::armv8(Maker::Ampere, &[0xac3, 0xac4], ANY)],
    slots_per_cycle: None,
    general_counters: 6,
    metrics: None,
    sources: "Linux, tools/perf/pmu-events/arch/arm64/ampere/ampereone and ampereonex",
    level1: Level1Counting::Forms(&[Form {
        formula: "ampere-one/1",
        events: ampere_one::FORMS[0],
        cycles: Some(CYCLES),
        instructions: Some(INSTRUCTIONS),
        split: &frontend_by_rest,
        // For eight slots per cycle.
        example: example(
            &[1_000_000, 2_000_000, 3_800_000, 4_000_000, 2_400_000],
            ["47.5", "2.5", "20.0", "30.0"],
        ),
    }]),
    groups: ampere_one::GROUPS,
};

fn frontend_by_rest(counts: &Counts) -> Split {
    let slots = counts.slots_per_cycle() * counts[CYCLES];
    Split {
        slots,
        level1: Level1 {
            slots: PerCategory {
                retiring: counts[OPERATIONS_RETIRED],
                bad_speculation: counts[OPERATIONS] - counts[OPERATIONS_RETIRED],
                frontend_bound: slots - counts[OPERATIONS] - counts[BACKEND],
                backend_bound: counts[BACKEND],
            },
            smt_contention_slots: None,
        },
        level2: None,
    }
}

/// The kernel reports the width, and CPU_SLOT counts the slots.
pub(super) static OLYMPUS: CpuTable = CpuTable {
    name: "NVIDIA Olympus",
    models: &[Models::armv8(Maker::Nvidia, &[0x010], ANY)],
    slots_per_cycle: None,
    general_counters: 6,
    metrics: None,
    sources: "Linux, tools/perf/pmu-events/arch/arm64/nvidia/t410/metrics.json",
    level1: Level1Counting::Forms(&[Form {
        formula: "nvidia-olympus/1",
        events: olympus::FORMS[0],
        cycles: Some(CYCLES),
        instructions: None,
        split: &without_mispredicted,
        example: example(
            &[
                1_000_000, 3_800_000, 4_000_000, 1_600_000, 2_400_000, 8_000_000, 1_200_000,
            ],
            ["47.5", "7.5", "15.0", "30.0"],
        ),
    }]),
    groups: olympus::GROUPS,
};

/// Kunpeng 920.
pub(super) static HIP08: CpuTable = CpuTable {
    name: "HiSilicon hip08",
    models: &[Models::armv8(Maker::HiSilicon, &[0xd01], ANY)],
    slots_per_cycle: Some(4),
    general_counters: 6,
    metrics: None,
    sources: "Linux, tools/perf/pmu-events/arch/arm64/hisilicon/hip08/metrics.json",
    level1: Level1Counting::Forms(&[Form {
        formula: "hisilicon-hip08/1",
        events: hip08::FORMS[0],
        cycles: Some(CYCLES),
        instructions: Some(INSTRUCTIONS),
        split: &fetch_bubbles,
        example: example(
            &[1_000_000, 1_600_000, 2_000_000, 800_000],
            ["40.0", "10.0", "20.0", "30.0"],
        ),
    }]),
    groups: hip08::GROUPS,
};

pub(super) static MONAKA: CpuTable = CpuTable {
    name: "Fujitsu Monaka",
    models: &[Models::armv8(Maker::Fujitsu, &[0x003], ANY)],
    slots_per_cycle: None,
    general_counters: 6,
    metrics: None,
    sources: "Linux, tools/perf/pmu-events/arch/arm64/fujitsu/monaka",
    level1: Level1Counting::Unsupported(
        "Monaka's events for stalled slots count cycles, by its maker's description, so its slots \
         cannot be split; stalled cycles can be measured instead (`cargo topdown explain`, group \
         Cycle_Accounting)",
    ),
    groups: generic::GROUPS,
};

/// For cores that no other table knows: what the architecture defines, without corrections. Needs a
/// kernel that reports the width.
pub(super) static GENERIC: CpuTable = CpuTable {
    name: "Arm",
    models: &[Models {
        maker: Maker::AnyArm,
        families: 8..=8,
        models: Numbers::All,
        steppings: ANY,
        core: None,
    }],
    slots_per_cycle: None,
    general_counters: 6,
    metrics: None,
    sources: "Linux, tools/perf/pmu-events/arch/arm64/sbsa.json",
    level1: Level1Counting::Forms(&[Form {
        formula: "arm-sbsa/1",
        events: generic::FORMS[0],
        cycles: Some(CYCLES),
        instructions: Some(INSTRUCTIONS),
        split: &|counts| split(counts, Corrections::default()),
        // For eight slots per cycle.
        example: example(
            &[
                1_000_000, 2_000_000, 3_800_000, 4_000_000, 1_600_000, 2_400_000,
            ],
            ["47.5", "2.5", "20.0", "30.0"],
        ),
    }]),
    groups: generic::GROUPS,
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cpu::TABLES;

    #[test]
    fn categories_of_arm_cores_add_up_to_all_slots() {
        let forms = TABLES
            .iter()
            .filter(|table| table.models[0].families.contains(&8))
            .flat_map(|table| table.forms().iter().map(move |form| (table, form)));
        for (table, form) in forms {
            let width = table.slots_per_cycle.unwrap_or(8);
            let counts = Counts::new(form.events, form.example.counts.iter().copied(), width);
            let split = (form.split)(&counts);
            assert!(
                (split.level1.total_slots() - split.slots).abs() < 1e-3,
                "{}",
                table.name
            );
        }
    }

    /// As on `n2-filtered`: 40/10/20/30 read 95.2/12.8/-2.0/-6.0.
    #[test]
    fn hidden_stalled_slots_do_not_add_up() {
        let split_of = |frontend, backend| {
            let counts = [
                1_000_000, 2_000_000, 2_000_000, 2_100_000, frontend, backend, 20_000,
            ];
            (N2.forms()[0].split)(&Counts::new(N2.forms()[0].events, counts, 5))
        };
        let hidden = split_of(0, 0);
        assert_eq!(hidden.level1.total_slots() / hidden.slots, 0.42);
        let seen = split_of(1_250_000, 1_650_000);
        assert_eq!(seen.level1.total_slots(), seen.slots);
        // Nothing is stalled in the frontend, and the rest explains all slots.
        let busy = split_of(0, 2_900_000);
        assert_eq!(busy.level1.total_slots(), busy.slots);
    }

    #[test]
    fn idle_core_has_no_bad_speculation() {
        let counts = Counts::new(V2.forms()[0].events, [100, 0, 0, 0, 700, 100, 0], 8);
        let split = one_and_three_cycles_per_mispredict(&counts);
        assert_eq!(split.level1.slots.bad_speculation, 0.0);
        assert_eq!(split.level1.slots.retiring, 0.0);
    }
}
