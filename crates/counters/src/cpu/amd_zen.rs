//! AMD's Zen cores. Zen 4 and later count dispatch slots in five categories: slots that went to the
//! other hardware thread are a category of their own.
//!
//! Twelve-bit event numbers have their upper four bits in bits 32 to 35 of the raw code: event
//! 0x1a0 with umask 1 is 0x1_0000_01a0, while 0x1a0 itself would be event 0xa0.

use super::generated::amd_zen::{zen_4, zen_5, zen_6};
use super::{Counts, CpuTable, Event, Example, Form, Level1Counting, Models, Numbers, Split};
use topdown_run::category::PerCategory;
use topdown_run::sample::Level1;
use zen_4::{BACKEND, CYCLES, DISPATCHED, FRONTEND, RETIRED, SMT};

fn slots(counts: &Counts) -> f64 {
    counts.slots_per_cycle() * counts[CYCLES]
}

/// Bad speculation can fall slightly below 0: fused ops count as more at retirement than at
/// dispatch.
fn split(counts: &Counts, smt_contention_slots: f64) -> Split {
    Split {
        slots: slots(counts),
        level1: Level1 {
            slots: PerCategory {
                retiring: counts[RETIRED],
                bad_speculation: counts[DISPATCHED] - counts[RETIRED],
                frontend_bound: counts[FRONTEND],
                backend_bound: counts[BACKEND],
            },
            smt_contention_slots: Some(smt_contention_slots),
        },
        level2: None,
    }
}

/// SMT contention as the remainder of the other categories, for when the watchdog holds the sixth
/// counter.
fn smt_by_rest(counts: &Counts) -> Split {
    split(
        counts,
        slots(counts) - counts[FRONTEND] - counts[BACKEND] - counts[DISPATCHED],
    )
}

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
        "Zen 1 to Zen 3 have no events for dispatch slots, so no TopDown; only time can be \
         measured here (instructions per cycle and branch misses with `perf stat`)",
    ),
    groups: &[],
};

const ZEN_3: &[std::ops::RangeInclusive<u32>] = &[0x00..=0x0f, 0x20..=0x2f, 0x40..=0x5f];

/// The examples are from a public log of `perf stat` on a Zen 4 compiling with gcc. It counted the
/// groups one after the other, so that their cycles differ by a few thousandths; the level-1
/// example uses those of bad speculation throughout.
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
            events: zen_4::FORMS[0],
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
                level1_percent: PerCategory::in_order(["15.16", "0.72", "3.38", "80.6"]),
                smt_contention_percent: Some("0.0"),
                level2_percent: None,
            },
        },
        Form {
            formula: "zen-4-smt-by-rest/1",
            events: zen_4::FORMS[1],
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
                level1_percent: PerCategory::in_order(["15.16", "0.72", "3.38", "80.6"]),
                smt_contention_percent: Some("0.2"),
                level2_percent: None,
            },
        },
    ]),
    groups: zen_4::GROUPS,
};

/// Models of family 1Ah; the others are Zen 6.
const ZEN_5_MODELS: &[std::ops::RangeInclusive<u32>] = &[0x00..=0x2f, 0x40..=0x4f, 0x60..=0x7f];

/// A million cycles of eight slots.
const WIDTH_8_EXAMPLE: Example = Example {
    counts: &[1_000_000, 2_400_000, 2_800_000, 800_000, 4_000_000, 400_000],
    level1_percent: PerCategory::in_order(["30.0", "5.0", "10.0", "50.0"]),
    smt_contention_percent: Some("5.0"),
    level2_percent: None,
};
const WIDTH_8_EXAMPLE_WITHOUT_SMT: Example = Example {
    counts: &[1_000_000, 2_400_000, 2_800_000, 800_000, 4_000_000],
    ..WIDTH_8_EXAMPLE
};

/// The forms of level 1 of cores with eight slots per cycle: with and without a counter for the
/// slots of the other hardware thread.
const fn width_8_forms(formulas: [&'static str; 2], events: [&'static [Event]; 2]) -> [Form; 2] {
    [
        Form {
            formula: formulas[0],
            events: events[0],
            cycles: Some(CYCLES),
            instructions: None,
            split: &|counts| split(counts, counts[SMT]),
            example: WIDTH_8_EXAMPLE,
        },
        Form {
            formula: formulas[1],
            events: events[1],
            cycles: Some(CYCLES),
            instructions: None,
            split: &smt_by_rest,
            example: WIDTH_8_EXAMPLE_WITHOUT_SMT,
        },
    ]
}
const ZEN_5_FORMS: [Form; 2] = width_8_forms(["zen-5/1", "zen-5-smt-by-rest/1"], zen_5::FORMS);
const ZEN_6_FORMS: [Form; 2] = width_8_forms(["zen-6/1", "zen-6-smt-by-rest/1"], zen_6::FORMS);

pub(super) static ZEN_5: CpuTable = CpuTable {
    name: "Zen 5",
    models: &[Models::amd(0x1a, Numbers::In(ZEN_5_MODELS))],
    slots_per_cycle: Some(8),
    general_counters: 6,
    metrics: None,
    sources: "Linux, tools/perf/pmu-events/arch/x86/amdzen5/pipeline.json and mapfile.csv",
    level1: Level1Counting::Forms(&ZEN_5_FORMS),
    groups: zen_5::GROUPS,
};

/// Counts level 1 like Zen 5, and with the same codes.
pub(super) static ZEN_6: CpuTable = CpuTable {
    name: "Zen 6",
    models: &[Models::amd(0x1a, Numbers::NotIn(ZEN_5_MODELS))],
    slots_per_cycle: Some(8),
    general_counters: 6,
    metrics: None,
    sources: "Linux, tools/perf/pmu-events/arch/x86/amdzen6/pipeline.json and mapfile.csv",
    level1: Level1Counting::Forms(&ZEN_6_FORMS),
    groups: zen_6::GROUPS,
};
