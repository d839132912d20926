//! Intel's performance cores with plain counters: Ice Lake … Lion Cove.
//!
//! Slots and categories have their own counts, exact to the event. The PERF_METRICS register of the
//! same cores gives all categories at once, in steps of 1/255; `hardware` reads it, and `metrics`
//! corrects it. `latencies` has the retire latencies of loads.
//!
//! Bad speculation is the remainder of the slots. It keeps its sign, which Intel's tools clamp at
//! 0.

mod latencies;
mod metrics;

use super::generated::intel_performance::{
    cougar_cove, coyote_cove, golden_cove, ice_lake, lion_cove,
};
use super::models::CoreType;
use super::{Counts, CpuTable, Example, Form, Level1Counting, Models, Numbers, Split};
pub(super) use latencies::{
    GOLDEN_COVE_CLIENT_LATENCIES, GRANITE_RAPIDS_LATENCIES, LION_COVE_LATENCIES,
    METEOR_LAKE_LATENCIES, SAPPHIRE_RAPIDS_LATENCIES,
};
use topdown_run::category::PerCategory;
use topdown_run::sample::Level1;

/// Bad speculation is the remainder.
fn by_rest(slots: f64, retiring: f64, frontend_bound: f64, backend_bound: f64) -> Level1 {
    Level1 {
        slots: PerCategory {
            retiring,
            bad_speculation: slots - retiring - frontend_bound - backend_bound,
            frontend_bound,
            backend_bound,
        },
        smt_contention_slots: None,
    }
}

fn ice_lake(counts: &Counts, slots: f64) -> Split {
    Split {
        slots,
        level1: by_rest(
            slots,
            counts[ice_lake::RETIRED],
            counts[ice_lake::NOT_DELIVERED] - counts[ice_lake::DROPPING],
            counts[ice_lake::BACKEND_BOUND] + counts.slots_per_cycle() * counts[ice_lake::CLEARS],
        ),
        level2: None,
    }
}

/// Made up: 100 000 uops dropped and 20 000 clears of five slots each.
const ICE_LAKE_EXAMPLE: Example = Example {
    counts: &[
        10_000_000, 2_000_000, 3_000_000, 4_000_000, 2_100_000, 2_900_000, 100_000, 20_000,
    ],
    level1_percent: PerCategory::in_order(["40.0", "10.0", "20.0", "30.0"]),
    smt_contention_percent: None,
    level2_percent: None,
};

pub(super) static ICE_LAKE: CpuTable = CpuTable {
    name: "Ice Lake … Rocket Lake",
    models: &[Models::intel(&[0x7d, 0x7e, 0x6a, 0x6c, 0x8c, 0x8d, 0xa7])],
    slots_per_cycle: Some(5),
    general_counters: 8,
    metrics: Some(&metrics::ICE_LAKE),
    sources: "perfmon ICL, ICX, TGL, RKL",
    level1: Level1Counting::Forms(&[
        Form {
            formula: "ice-lake-exact/1",
            events: ice_lake::FORMS[0],
            cycles: Some(ice_lake::CYCLES),
            instructions: Some(ice_lake::INSTRUCTIONS),
            split: &|counts| ice_lake(counts, counts[ice_lake::SLOTS]),
            example: ICE_LAKE_EXAMPLE,
        },
        Form {
            formula: "ice-lake-exact/1",
            events: ice_lake::FORMS[1],
            cycles: Some(ice_lake::CYCLES),
            instructions: Some(ice_lake::INSTRUCTIONS),
            split: &|counts| ice_lake(counts, counts[ice_lake::SLOTS_P]),
            example: ICE_LAKE_EXAMPLE,
        },
    ]),
    groups: ice_lake::GROUPS,
};

fn golden_cove(counts: &Counts, slots: f64) -> Split {
    Split {
        slots,
        level1: by_rest(
            slots,
            counts[golden_cove::RETIRED],
            counts[golden_cove::NOT_DELIVERED] - counts[golden_cove::DROPPING],
            counts[golden_cove::BACKEND_BOUND],
        ),
        level2: None,
    }
}

/// Made up: 100 000 uops dropped.
const GOLDEN_COVE_EXAMPLE: Example = Example {
    counts: &[
        12_000_000, 2_000_000, 3_000_000, 4_800_000, 2_500_000, 3_600_000, 100_000,
    ],
    level1_percent: PerCategory::in_order(["40.0", "10.0", "20.0", "30.0"]),
    smt_contention_percent: None,
    level2_percent: None,
};

pub(super) static GOLDEN_COVE: CpuTable = CpuTable {
    name: "Golden Cove",
    models: &[
        // Bartlett Lake, 0xd7, has only performance cores (Linux, intel-family.h: Raptor Cove).
        Models::intel(&[0x8f, 0xcf, 0xad, 0xae, 0xd7]),
        Models::intel_hybrid(
            CoreType::Performance,
            &[0x97, 0x9a, 0xb7, 0xba, 0xbf, 0xaa, 0xac, 0xb5],
        ),
    ],
    slots_per_cycle: Some(6),
    general_counters: 8,
    metrics: Some(&metrics::GOLDEN_COVE),
    sources: "perfmon SPR, EMR, GNR, ADL, MTL; codes below 0x90 run on counters 0 to 3 only \
              (Linux, arch/x86/events/intel/core.c), of which these groups have none",
    level1: Level1Counting::Forms(&[
        // All eight general counters, so that the cycles must have their fixed one.
        Form {
            formula: "golden-cove-exact/1",
            events: golden_cove::FORMS[0],
            cycles: Some(golden_cove::CYCLES),
            instructions: Some(golden_cove::INSTRUCTIONS),
            split: &|counts| Split {
                level2: Some(PerCategory {
                    retiring: counts[golden_cove::HEAVY],
                    bad_speculation: counts[golden_cove::MISPREDICT],
                    frontend_bound: counts.slots_per_cycle()
                        * counts[golden_cove::NOTHING_DELIVERED]
                        - counts[golden_cove::DROPPING],
                    backend_bound: counts[golden_cove::MEMORY_BOUND],
                }),
                ..golden_cove(counts, counts[golden_cove::SLOTS])
            },
            example: Example {
                counts: &[
                    12_000_000, 2_000_000, 3_000_000, 4_800_000, 2_500_000, 3_600_000, 100_000,
                    1_200_000, 960_000, 256_667, 2_160_000,
                ],
                level2_percent: Some(PerCategory::in_order(["10.0", "8.0", "12.0", "18.0"])),
                ..GOLDEN_COVE_EXAMPLE
            },
        },
        Form {
            formula: "golden-cove-exact/1",
            events: golden_cove::FORMS[1],
            cycles: Some(golden_cove::CYCLES),
            instructions: Some(golden_cove::INSTRUCTIONS),
            split: &|counts| golden_cove(counts, counts[golden_cove::SLOTS]),
            example: GOLDEN_COVE_EXAMPLE,
        },
        Form {
            formula: "golden-cove-exact/1",
            events: golden_cove::FORMS[2],
            cycles: Some(golden_cove::CYCLES),
            instructions: Some(golden_cove::INSTRUCTIONS),
            split: &|counts| golden_cove(counts, counts[golden_cove::SLOTS_P]),
            example: GOLDEN_COVE_EXAMPLE,
        },
    ]),
    groups: golden_cove::GROUPS,
};

fn lion_cove(counts: &Counts, slots: f64) -> Split {
    Split {
        slots,
        level1: by_rest(
            slots,
            counts[lion_cove::RETIRED],
            counts[lion_cove::NOT_DELIVERED],
            counts[lion_cove::BACKEND_BOUND],
        ),
        level2: None,
    }
}

const LION_COVE_EXAMPLE: Example = Example {
    counts: &[
        16_000_000, 2_000_000, 3_000_000, 6_400_000, 3_200_000, 4_800_000,
    ],
    level1_percent: PerCategory::in_order(["40.0", "10.0", "20.0", "30.0"]),
    smt_contention_percent: None,
    level2_percent: None,
};

const LION_COVE_FORM: Form = Form {
    formula: "lion-cove-exact/1",
    events: lion_cove::FORMS[0],
    cycles: Some(lion_cove::CYCLES),
    instructions: Some(lion_cove::INSTRUCTIONS),
    split: &|counts| Split {
        level2: Some(PerCategory {
            retiring: counts[lion_cove::HEAVY],
            bad_speculation: counts[lion_cove::MISPREDICT],
            // The event counts cycles, not slots.
            frontend_bound: counts.slots_per_cycle() * counts[lion_cove::FETCH_LATENCY],
            backend_bound: counts[lion_cove::MEMORY_BOUND],
        }),
        ..lion_cove(counts, counts[lion_cove::SLOTS])
    },
    example: Example {
        counts: &[
            16_000_000, 2_000_000, 3_000_000, 6_400_000, 3_200_000, 4_800_000, 1_600_000,
            1_280_000, 240_000, 2_880_000,
        ],
        level2_percent: Some(PerCategory::in_order(["10.0", "8.0", "12.0", "18.0"])),
        ..LION_COVE_EXAMPLE
    },
};

/// For virtual machines, which do not see fixed counter 3.
const LION_COVE_FORM_OF_GUESTS: Form = Form {
    formula: "lion-cove-exact/1",
    events: lion_cove::FORMS[1],
    cycles: Some(lion_cove::CYCLES),
    instructions: Some(lion_cove::INSTRUCTIONS),
    split: &|counts| lion_cove(counts, counts[lion_cove::SLOTS_P]),
    example: LION_COVE_EXAMPLE,
};

/// No uops are dropped here, so no event corrects for them.
pub(super) static LION_COVE: CpuTable = CpuTable {
    name: "Lion Cove",
    models: &[Models::intel_hybrid(
        CoreType::Performance,
        &[0xbd, 0xc5, 0xc6],
    )],
    slots_per_cycle: Some(8),
    general_counters: 10,
    metrics: Some(&metrics::LION_COVE),
    sources: "perfmon LNL, ARL; memory bound counts on counter 3 only, mispredict on 0 only",
    level1: Level1Counting::Forms(&[LION_COVE_FORM, LION_COVE_FORM_OF_GUESTS]),
    groups: lion_cove::GROUPS,
};

/// Panther Lake's performance core: Lion Cove's level 1, and other codes in the groups. Linux 7.3
/// has no case for 0xe5, whose counters its generic driver opens.
pub(super) static COUGAR_COVE: CpuTable = CpuTable {
    name: "Cougar Cove",
    models: &[Models::intel_hybrid(
        CoreType::Performance,
        &[0xcc, 0xd5, 0xe5],
    )],
    slots_per_cycle: Some(8),
    general_counters: 10,
    metrics: Some(&metrics::LION_COVE),
    sources: "perfmon PTL 1.07; memory bound counts on counter 3 only, mispredict on 0 only",
    level1: Level1Counting::Forms(&[
        Form {
            formula: "cougar-cove-exact/1",
            events: cougar_cove::FORMS[0],
            ..LION_COVE_FORM
        },
        Form {
            formula: "cougar-cove-exact/1",
            events: cougar_cove::FORMS[1],
            ..LION_COVE_FORM_OF_GUESTS
        },
    ]),
    groups: cougar_cove::GROUPS,
};

/// Nova Lake's performance core: Lion Cove's level 1. Its files do not name the width, but the
/// threshold of IDQ_BUBBLES.STARVATION_CYCLES, in which nothing at all is delivered, is 8.
pub(super) static COYOTE_COVE: CpuTable = CpuTable {
    name: "Coyote Cove",
    models: &[Models::intel_after_6(
        18..=18,
        Numbers::Of(&[1, 3]),
        Some(CoreType::Performance),
    )],
    slots_per_cycle: Some(8),
    general_counters: 8,
    metrics: Some(&metrics::LION_COVE),
    sources: "perfmon NVL 1.00; memory bound counts on counter 3 only, mispredict on 0 only",
    level1: Level1Counting::Forms(&[
        Form {
            formula: "coyote-cove-exact/1",
            events: coyote_cove::FORMS[0],
            ..LION_COVE_FORM
        },
        Form {
            formula: "coyote-cove-exact/1",
            events: coyote_cove::FORMS[1],
            ..LION_COVE_FORM_OF_GUESTS
        },
    ]),
    groups: coyote_cove::GROUPS,
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bad_speculation_keeps_its_sign() {
        let form = &GOLDEN_COVE.forms()[1];
        let counts = Counts::new(form.events, [100, 0, 0, 60, 20, 30, 0], 6);
        assert_eq!((form.split)(&counts).level1.slots.bad_speculation, -10.0);
    }
}
