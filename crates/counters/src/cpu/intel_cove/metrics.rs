//! Intel's own corrections of the PERF_METRICS register: the `tma_…` metrics of `perf stat` and
//! toplev.
//!
//! The register counts some slots in another category than the method does, and its fractions need
//! not add up to one. Additional plain counters correct that. Source of the formulas:
//! `TMA_Metrics-full.csv` 5.2 of <https://github.com/intel/perfmon> at 6dadedf; those for level 2
//! are the same file's `Fetch_Latency`, `Heavy_Operations`, `Branch_Mispredicts` and
//! `Memory_Bound`.

use crate::cpu::Split;
use crate::cpu::generated::intel_performance::{golden_cove, ice_lake};
use crate::cpu::metrics_correction::{CorrectionExample, MetricsCorrection};
use topdown_run::category::PerCategory;
use topdown_run::sample::Level1;

/// Scales the categories so that level 1 adds up to the slots: Intel divides each fraction by the
/// sum of the four.
fn scaled(split: Split) -> Split {
    let sum = split.level1.total_slots();
    // There is nothing to scale in a window without slots.
    if sum <= 0.0 {
        return split;
    }
    let scale = split.slots / sum;
    let level1 = split.level1;
    Split {
        slots: split.slots,
        level1: Level1 {
            slots: level1.slots.map(|slots| slots * scale),
            ..level1
        },
        level2: split.level2.map(|parts| parts.map(|slots| slots * scale)),
    }
}

/// Takes `dropped` slots from the frontend and gives `cleared` to the backend. Bad speculation is
/// what the others leave.
fn moved(split: Split, dropped: f64, cleared: f64) -> Split {
    let Split {
        slots,
        level1,
        level2,
    } = scaled(split);
    let frontend_bound_slots = level1.slots.frontend_bound - dropped;
    let backend_bound_slots = level1.slots.backend_bound + cleared;
    Split {
        slots,
        level1: Level1 {
            slots: PerCategory {
                bad_speculation: slots
                    - level1.slots.retiring
                    - frontend_bound_slots
                    - backend_bound_slots,
                frontend_bound: frontend_bound_slots,
                backend_bound: backend_bound_slots,
                ..level1.slots
            },
            ..level1
        },
        level2: level2.map(|level2| PerCategory {
            frontend_bound: level2.frontend_bound - dropped,
            ..level2
        }),
    }
}

/// 40, 10, 20 and 30 % of 255, and level 2 of 10, 8, 12 and 18 %, to the nearest step.
const FRACTIONS: [u8; 8] = [102, 26, 51, 76, 26, 20, 31, 46];

pub(super) static ICE_LAKE: MetricsCorrection = MetricsCorrection {
    formula: "ice-lake-metrics-tma/1",
    events: &[ice_lake::DROPPING, ice_lake::CLEARS],
    correct: |split, counts| {
        let cleared = counts.slots_per_cycle() * counts[ice_lake::CLEARS];
        moved(split, counts[ice_lake::DROPPING], cleared)
    },
    // 1 % of the slots dropped, and 20 000 clears of five slots: 1 % more.
    example: CorrectionExample {
        slots: 10_000_000.0,
        fractions: FRACTIONS,
        counts: &[100_000, 20_000],
        level1_percent: PerCategory::in_order(["40.00", "10.20", "19.00", "30.80"]),
        level2_percent: None,
    },
};

pub(super) static GOLDEN_COVE: MetricsCorrection = MetricsCorrection {
    formula: "golden-cove-metrics-tma/1",
    events: &[golden_cove::DROPPING],
    correct: |split, counts| moved(split, counts[golden_cove::DROPPING], 0.0),
    example: CorrectionExample {
        slots: 12_000_000.0,
        fractions: FRACTIONS,
        counts: &[120_000],
        level1_percent: PerCategory::in_order(["40.00", "11.20", "19.00", "29.80"]),
        level2_percent: Some(PerCategory::in_order(["10.20", "7.84", "11.16", "18.04"])),
    },
};

/// Nothing is dropped here: the fractions are only divided by their sum.
pub(super) static LION_COVE: MetricsCorrection = MetricsCorrection {
    formula: "lion-cove-metrics-tma/1",
    events: &[],
    correct: |split, _| scaled(split),
    // Truncated fractions, with a sum of 253.
    example: CorrectionExample {
        slots: 16_000_000.0,
        fractions: [101, 25, 51, 76, 25, 20, 30, 45],
        counts: &[],
        level1_percent: PerCategory::in_order(["39.92", "9.88", "20.16", "30.04"]),
        level2_percent: Some(PerCategory::in_order(["9.88", "7.91", "11.86", "17.79"])),
    },
};
