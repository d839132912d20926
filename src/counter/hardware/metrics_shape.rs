//! What a group with PERF_METRICS holds beside the register, and what is made of its counts: the
//! same whether it is read with RDPMC or with read().

use crate::cpu::{Counts, MetricsCorrection, Split};

/// Event codes: Linux, arch/x86/include/asm/perf_event.h.
pub(super) const SLOTS: (&str, u64) = ("slots", 0x0400);
pub(super) const RETIRING: (&str, u64) = ("topdown-retiring", 0x8000);
const INSTRUCTIONS: (&str, u64) = ("instructions", 0x00c0);
const CYCLES: (&str, u64) = ("cycles", 0x003c);

/// The formula of CPUs with both levels: slots x fraction / 255, without the corrections that Intel's
/// own metrics apply per CPU.
pub const FORMULA_LEVEL2: &str = "intel-perf-metrics-level2/1";
/// The same on CPUs with level 1 only.
pub const FORMULA_LEVEL1: &str = "intel-perf-metrics-level1/1";

/// Which form of PERF_METRICS is counted.
#[derive(Clone, Copy, Debug)]
pub(super) struct MetricsShape {
    /// Whether the register has the four fractions of level 2.
    pub level2: bool,
    /// Whether RDPMC of the register sets it to 0.
    pub clears: bool,
    /// Intel's corrections, where they are wanted.
    pub correction: Option<&'static MetricsCorrection>,
    /// The width of the pipeline, where it is known; a correction needs it.
    pub slots_per_cycle: Option<u32>,
}

impl MetricsShape {
    /// The plain events of the group: instructions, cycles, and those of the correction.
    pub fn plain_events(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let correction = self
            .correction
            .map_or(&[][..], |correction| correction.events);
        [INSTRUCTIONS, CYCLES]
            .into_iter()
            .chain(correction.iter().map(|event| (event.name, event.config)))
    }

    /// The formula that makes categories of the counts.
    pub fn formula(&self) -> &'static str {
        match self.correction {
            Some(correction) => correction.formula,
            None if self.level2 => FORMULA_LEVEL2,
            None => FORMULA_LEVEL1,
        }
    }

    /// `raw` with the correction, if there is one; `counts` are those of its events, in their
    /// order.
    #[inline]
    pub fn corrected(&self, raw: Split, counts: impl Iterator<Item = u64>) -> Split {
        match self.correction {
            None => raw,
            Some(correction) => (correction.correct)(
                raw,
                &Counts::new(correction.events, counts, self.slots_per_cycle.unwrap_or(0)),
            ),
        }
    }
}
