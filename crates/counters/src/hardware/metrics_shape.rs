//! Layout of a group with PERF_METRICS, and interpretation of its counts: the same for RDPMC and
//! read().

use super::system::{CorePmu, CpuIdentity};
use super::tables::supported_table;
use crate::cpu::{Counts, Event, FORMULA_LEVEL1, FORMULA_LEVEL2, MetricsCorrection, Split};
use crate::error::OpenError;
use crate::survey::TopdownEvents;
use topdown_run::category::PerCategory;
use topdown_run::sample::Level1;
use topdown_run::setting::Counters;

/// Event codes: Linux, arch/x86/include/asm/perf_event.h.
pub(super) const SLOTS: (&str, u64) = ("slots", 0x0400);
pub(super) const RETIRING: (&str, u64) = ("topdown-retiring", 0x8000);
/// The metric events in the order of the register's bytes; four on CPUs without level 2.
pub(super) const METRIC_EVENTS: [(&str, u64); 8] = [
    RETIRING,
    ("topdown-bad-spec", 0x8100),
    ("topdown-fe-bound", 0x8200),
    ("topdown-be-bound", 0x8300),
    ("topdown-heavy-ops", 0x8400),
    ("topdown-br-mispredict", 0x8500),
    ("topdown-fetch-lat", 0x8600),
    ("topdown-mem-bound", 0x8700),
];
const INSTRUCTIONS: (&str, u64) = ("instructions", 0x00c0);
const CYCLES: (&str, u64) = ("cycles", 0x003c);

/// The variant of PERF_METRICS to count.
#[derive(Clone, Copy, Debug)]
pub(super) struct MetricsShape {
    /// Whether the register has the four fractions of level 2.
    pub level2: bool,
    /// Whether reading the register with RDPMC clears it.
    pub clears: bool,
    /// Intel's corrections, if requested.
    pub correction: Option<&'static MetricsCorrection>,
    /// The width of the pipeline, if known; a correction needs it.
    pub slots_per_cycle: Option<u32>,
}

impl MetricsShape {
    /// Returns what to count on these cores for `counters`.
    pub fn of(
        cpu: &CpuIdentity,
        pmu: &CorePmu,
        counters: Counters,
    ) -> Result<MetricsShape, OpenError> {
        let table = supported_table(cpu, pmu)?;
        let correction = match counters {
            Counters::Tma => Some(table.metrics.ok_or_else(|| OpenError::UnsupportedCpu {
                pmu: pmu.name.clone(),
                cpu: cpu.in_words(),
                reason: "no table has the corrections of Intel's metrics for its PERF_METRICS",
            })?),
            _ => None,
        };
        Ok(MetricsShape {
            level2: pmu.topdown == TopdownEvents::MetricsLevel2,
            clears: pmu.clears_metrics,
            correction,
            slots_per_cycle: table.slots_per_cycle,
        })
    }

    /// Returns the plain events of the group: instructions, cycles, and those of the correction.
    pub fn plain_events(&self) -> Vec<(&'static str, u64)> {
        let mut events = vec![INSTRUCTIONS, CYCLES];
        for event in self.correction_events() {
            events.push((event.name, event.config));
        }
        events
    }

    /// Returns their number.
    pub fn plain_count(&self) -> usize {
        2 + self.correction_events().len()
    }

    fn correction_events(&self) -> &'static [Event] {
        self.correction.map_or(&[], |correction| correction.events)
    }

    /// Returns the metric events that this CPU has.
    pub fn metric_events(&self) -> &'static [(&'static str, u64)] {
        if self.level2 {
            &METRIC_EVENTS
        } else {
            &METRIC_EVENTS[..4]
        }
    }

    /// Returns all events except slots, for a group that is read with read().
    pub fn events_of_read(&self) -> Vec<(&'static str, u64)> {
        [self.metric_events(), &self.plain_events()].concat()
    }

    /// Returns the categories of a read() result, with one count for each of
    /// [`events_of_read`](MetricsShape::events_of_read).
    pub fn split_of_read(&self, slots: u64, counts: &[u64]) -> Split {
        let count = |at: usize| counts[at] as f64;
        let raw = Split {
            slots: slots as f64,
            level1: Level1 {
                slots: PerCategory::from_fn(|category| count(category as usize)),
                smt_contention_slots: None,
            },
            level2: self
                .level2
                .then(|| PerCategory::from_fn(|category| count(4 + category as usize))),
        };
        // After instructions and cycles.
        let corrections = &counts[self.metric_events().len() + 2..];
        self.corrected(raw, corrections.iter().copied())
    }

    /// Returns the formula that turns the counts into categories.
    pub fn formula(&self) -> &'static str {
        match self.correction {
            Some(correction) => correction.formula,
            None if self.level2 => FORMULA_LEVEL2,
            None => FORMULA_LEVEL1,
        }
    }

    /// Applies the correction to `raw`, if there is one; `counts` are those of its events, in their
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
