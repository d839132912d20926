//! Slots by category from Intel's PERF_METRICS register.
//!
//! PERF_METRICS holds eight fractions in units of 1/255 of the slots since both registers were last
//! cleared: retiring, bad speculation, frontend bound, backend bound, and from Sapphire Rapids and
//! Alder Lake on heavy operations, branch mispredicts, fetch latency and memory bound, lowest byte
//! first. It is a ratio, not a counter: a window's share is the difference of slots x fraction at
//! its two ends. Source: Linux, tools/perf/Documentation/topdown.txt, whose sample code forgets to
//! divide by 255.
//!
//! Fractions are divided by 255, as the kernel does. Rejected: their sum, which falls short if they
//! are truncated, and can make a single category worse.

use crate::cpu::Split;
use topdown_run::category::PerCategory;
use topdown_run::sample::Level1;

/// The unit of a fraction: Linux, arch/x86/events/intel/core.c, `icl_get_metrics_event_value`.
const FULL_FRACTION: f64 = 255.0;

/// The two registers at one instant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Registers {
    /// Slots since the last reset.
    pub slots: u64,
    /// PERF_METRICS.
    pub ratios: u64,
}

impl Registers {
    /// With fewer slots since the reset, the register may not hold ratios yet.
    const SETTLED_SLOTS: u64 = 1000;

    /// Returns the slots of each fraction.
    #[inline(always)]
    fn slots_of_fractions(self) -> [f64; 8] {
        let slots_per_step = self.slots as f64 / FULL_FRACTION;
        let fractions = self.ratios.to_le_bytes();
        fractions.map(|fraction| f64::from(fraction) * slots_per_step)
    }

    /// Returns the sum of the four level-1 fractions; nominally 255.
    pub fn level1_sum(self) -> u32 {
        const EVEN_BYTES: u32 = 0x00ff_00ff;
        let ratios = self.ratios as u32;
        let pairs = (ratios & EVEN_BYTES) + (ratios >> 8 & EVEN_BYTES);
        (pairs & 0xffff) + (pairs >> 16)
    }

    /// Returns whether the level-1 fractions add up, within rounding.
    pub fn adds_up(self) -> bool {
        self.slots < Registers::SETTLED_SLOTS || (253..=257).contains(&self.level1_sum())
    }
}

/// Splits the slots between two states of the registers by category. A difference may fall below 0
/// by as much as [`resolution_slots`]. Level 2 is meaningless on CPUs with four fractions, where
/// its bytes are reserved.
#[inline]
pub(super) fn split_between(start: Registers, end: Registers, level2: bool) -> Split {
    let (before, after) = (start.slots_of_fractions(), end.slots_of_fractions());
    let slots_from = |first: usize| {
        PerCategory::in_order(std::array::from_fn(|at| {
            after[first + at] - before[first + at]
        }))
    };
    Split {
        slots: end.slots.saturating_sub(start.slots) as f64,
        level1: Level1 {
            slots: slots_from(0),
            smt_contention_slots: None,
        },
        level2: level2.then_some(slots_from(4)),
    }
}

/// Returns the maximum error of a category's difference, in slots.
///
/// How the hardware rounds its fractions is not documented. Rounding, truncating, and forcing the
/// sum to 255 all stay within (2 S + D) / 255, where S is the slots at the start and D those of the
/// window. Each time the thread is switched out, the kernel keeps only the fractions, and counting
/// resumes from them: at most one more step of 1/255 of the slots.
pub(super) fn resolution_slots(start_slots: u64, end_slots: u64, switches: u32) -> f64 {
    let window_slots = end_slots.saturating_sub(start_slots);
    (2.0 * start_slots as f64
        + window_slots as f64
        + f64::from(switches) * end_slots.max(start_slots) as f64)
        / FULL_FRACTION
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(value: f64, expected: f64) {
        assert!((value - expected).abs() < 0.01, "{value} is not {expected}");
    }

    #[test]
    fn fractions_are_of_255() {
        let at = Registers {
            slots: 255_000,
            ratios: 0x3333_3366,
        };
        assert_eq!(at.level1_sum(), 255);
        let split = split_between(Registers::default(), at, false).level1;
        near(split.slots.retiring, 102_000.0);
        near(split.slots.bad_speculation, 51_000.0);
        near(split.slots.frontend_bound, 51_000.0);
        near(split.slots.backend_bound, 51_000.0);
        near(split.total_slots(), 255_000.0);
    }

    #[test]
    fn window_is_difference_of_scaled_ratios() {
        let start = Registers {
            slots: 1_000_000,
            ratios: 0x3333_3366,
        };
        let end = Registers {
            slots: 3_000_000,
            ratios: 0x6626_264d,
        };
        let split = split_between(start, end, false).level1;
        near(split.slots.retiring, 505_882.35);
        near(split.slots.bad_speculation, 247_058.82);
        near(split.slots.frontend_bound, 247_058.82);
        near(split.slots.backend_bound, 1_000_000.0);
        near(split.total_slots(), 2_000_000.0);
    }

    #[test]
    fn level_2_is_in_the_upper_bytes() {
        let at = Registers {
            slots: 255,
            ratios: 0x8040_2010_3333_3366,
        };
        let level2 = split_between(Registers::default(), at, true)
            .level2
            .unwrap();
        near(level2.retiring, 16.0);
        near(level2.bad_speculation, 32.0);
        near(level2.frontend_bound, 64.0);
        near(level2.backend_bound, 128.0);
    }

    #[test]
    fn short_window_long_after_reset_can_be_negative() {
        // 80/2/8/10 % of 24 042 slots after 72 million with another mix: one byte step is 282 000.
        let start = Registers {
            slots: 72_000_000,
            ratios: 0x4c33_1a66,
        };
        let end = Registers {
            slots: 72_024_042,
            ratios: 0x4c33_1967,
        };
        let split = split_between(start, end, false).level1;
        assert!(split.slots.bad_speculation < 0.0);
        assert!(resolution_slots(start.slots, end.slots, 0) > 24_042.0);
    }

    #[test]
    fn resolution_matches_the_design_bound() {
        near(resolution_slots(0, 255_000, 0), 1000.0);
        near(resolution_slots(255_000, 510_000, 0), 3000.0);
        near(resolution_slots(0, 255_000, 2), 3000.0);
    }

    #[test]
    fn wrong_fraction_sum_is_found_once_settled() {
        let adds_up = |slots, ratios| Registers { slots, ratios }.adds_up();
        assert!(adds_up(5000, 0x3333_3366));
        assert!(adds_up(5000, 0x3333_3364));
        assert!(!adds_up(5000, 0x3333_3363));
        assert!(adds_up(5000, 0x3333_3368));
        assert!(!adds_up(5000, 0x3333_3369));
        assert!(adds_up(999, 0));
        assert!(!adds_up(1000, 0));
        assert!(
            adds_up(5000, 0xffff_ffff_3333_3366),
            "the upper bytes do not count"
        );
    }
}
