//! Intel's performance cores with plain counters: Sandy Bridge … Cascade Lake.
//!
//! Backend bound is the remainder of the slots. The other categories have their own counts, exact
//! to the event.

use super::generated::intel_performance::{sandy_bridge, skylake};
use super::{Counts, CpuTable, Event, Example, Form, Level1Counting, Models, Split};
use skylake::{CYCLES, INSTRUCTIONS, ISSUED, NOT_DELIVERED, RETIRED};
use topdown_run::category::PerCategory;
use topdown_run::sample::Level1;

/// The formula for a thread whose sibling is idle, or which has none.
///
/// Rejected: Intel's formula for SMT, with half of the cycles in which any thread ran. It is right
/// for the sum of both threads' counts, but doubles every share of a single thread's.
fn by_issue(counts: &Counts, recovery: Event) -> Split {
    let slots = counts.slots_per_cycle() * counts[CYCLES];
    let retiring_slots = counts[RETIRED];
    let frontend_bound_slots = counts[NOT_DELIVERED];
    let bad_speculation_slots =
        counts[ISSUED] - counts[RETIRED] + counts.slots_per_cycle() * counts[recovery];
    Split {
        slots,
        level1: Level1 {
            slots: PerCategory {
                retiring: retiring_slots,
                bad_speculation: bad_speculation_slots,
                frontend_bound: frontend_bound_slots,
                backend_bound: slots
                    - frontend_bound_slots
                    - bad_speculation_slots
                    - retiring_slots,
            },
            smt_contention_slots: None,
        },
        level2: None,
    }
}

/// Four events and the cycles: all the counters a thread has while SMT is enabled in the firmware.
pub(super) static SANDY_BRIDGE: CpuTable = CpuTable {
    name: "Sandy Bridge … Broadwell",
    models: &[Models::intel(&[
        0x2a, 0x2d, 0x3a, 0x3e, 0x3c, 0x45, 0x46, 0x3f, 0x3d, 0x47, 0x4f, 0x56,
    ])],
    slots_per_cycle: Some(4),
    general_counters: 4,
    metrics: None,
    sources: "perfmon SNB, IVB, HSW, BDW, BDX; counters: Intel SDM 3B, 20.3. \
              Erratum HSD135: Haswell may count too many uops as not delivered",
    level1: Level1Counting::Forms(&[Form {
        formula: "sandy-bridge-exact/1",
        events: sandy_bridge::FORMS[0],
        cycles: Some(CYCLES),
        instructions: Some(INSTRUCTIONS),
        split: &|counts| by_issue(counts, sandy_bridge::RECOVERY),
        // Made up: 20 % not delivered, 40 % retired, 250 000 issued in vain and 37 500 cycles lost.
        example: Example {
            counts: &[1_000_000, 1_500_000, 800_000, 1_850_000, 1_600_000, 37_500],
            level1_percent: PerCategory::in_order(["40.0", "10.0", "20.0", "30.0"]),
            smt_contention_percent: None,
            level2_percent: None,
        },
    }]),
    groups: sandy_bridge::GROUPS,
};

pub(super) static SKYLAKE: CpuTable = CpuTable {
    name: "Skylake … Cascade Lake",
    models: &[Models::intel(&[0x4e, 0x5e, 0x8e, 0x9e, 0xa5, 0xa6, 0x55])],
    slots_per_cycle: Some(4),
    general_counters: 4,
    metrics: None,
    sources: "perfmon SKL, SKX, CLX; counters: Intel SDM 3B, 20.3",
    level1: Level1Counting::Forms(&[Form {
        formula: "skylake-exact/1",
        events: skylake::FORMS[0],
        cycles: Some(CYCLES),
        instructions: Some(INSTRUCTIONS),
        split: &|counts| by_issue(counts, skylake::RECOVERY),
        // A chain of divisions on a Skylake-class Xeon, from Arm's learning path on TopDown: the
        // second run, with the undelivered uops of the first. Instructions are not published.
        example: Example {
            counts: &[
                19_206_823_557,
                0,
                31_942_584,
                7_030_153_262,
                7_026_625_438,
                1_111_503,
            ],
            level1_percent: PerCategory::in_order(["9.15", "0.01", "0.04", "90.80"]),
            smt_contention_percent: None,
            level2_percent: None,
        },
    }]),
    groups: skylake::GROUPS,
};

#[cfg(test)]
mod tests {
    use super::*;

    /// The first run of the chain of divisions, whose retired slots are not published; backend
    /// bound does not depend on them.
    #[test]
    fn backend_bound_of_the_published_division_chain() {
        let form = &SKYLAKE.forms()[0];
        for retired in [0, 7_000_000_000] {
            let counts = Counts::new(
                form.events,
                [
                    19_201_754_818,
                    0,
                    31_942_584,
                    7_017_115_812,
                    retired,
                    704_834,
                ],
                4,
            );
            let split = (form.split)(&counts);
            let fraction = split.level1.slots.backend_bound / split.slots;
            assert_eq!(format!("{fraction:.4}"), "0.9082");
        }
    }
}
