//! The form of a correction of the PERF_METRICS register. The corrections are in `intel_cove`.

use super::{Counts, Event, Split};
use topdown_run::category::PerCategory;

/// The formula of the uncorrected register on CPUs with both levels: slots x fraction / 255.
pub const FORMULA_LEVEL2: &str = "intel-perf-metrics-level2/1";
/// The same formula on CPUs with level 1 only.
pub const FORMULA_LEVEL1: &str = "intel-perf-metrics-level1/1";

/// Intel's corrections of the register on one family of cores.
pub struct MetricsCorrection {
    /// The formula, as `name/version`: see [`Form::formula`](super::Form::formula).
    pub formula: &'static str,
    /// Events counted in addition to the register, at most [`MAX_CORRECTION_EVENTS`].
    pub events: &'static [Event],
    /// Corrects the categories from the register by the counts, without clamping.
    pub correct: fn(Split, &Counts) -> Split,
    /// A worked example, which a test recomputes.
    pub example: CorrectionExample,
}

/// The largest number of events in any correction.
pub const MAX_CORRECTION_EVENTS: usize = 2;

/// The register's value, the counts, and the percentages that the formula computes from them.
pub struct CorrectionExample {
    /// The slots of the window.
    pub slots: f64,
    /// PERF_METRICS, lowest byte first.
    pub fractions: [u8; 8],
    /// One count per event.
    pub counts: &'static [u64],
    /// The categories.
    pub level1_percent: PerCategory<&'static str>,
    /// Each category's measured part.
    pub level2_percent: Option<PerCategory<&'static str>>,
}

impl std::fmt::Debug for MetricsCorrection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MetricsCorrection")
            .field("formula", &self.formula)
            .field("events", &self.events)
            .finish_non_exhaustive()
    }
}
