//! The quantities that the gate tests.

use criterion_topdown::run_file::LaunchValue;
use serde::{Deserialize, Serialize};

/// A quantity per iteration that is compared between two runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Metric {
    /// All issue slots.
    Slots,
    /// Wall-clock time.
    Wall,
    /// Slots whose micro-operations retired.
    Retiring,
    /// Slots of work that was discarded.
    BadSpeculation,
    /// Slots for which the frontend delivered nothing.
    FrontendBound,
    /// Slots for which the backend could not accept anything.
    BackendBound,
    /// Slots given to the other hardware thread, on CPUs that count them.
    SmtContention,
}

impl Metric {
    /// Every metric, in the order of reports.
    pub const ALL: [Metric; 7] = [
        Metric::Slots,
        Metric::Wall,
        Metric::Retiring,
        Metric::BadSpeculation,
        Metric::FrontendBound,
        Metric::BackendBound,
        Metric::SmtContention,
    ];

    /// Returns the words that reports use.
    pub fn name(self) -> &'static str {
        match self {
            Metric::Slots => "slots",
            Metric::Wall => "wall time",
            Metric::Retiring => "retiring",
            Metric::BadSpeculation => "bad speculation",
            Metric::FrontendBound => "frontend bound",
            Metric::BackendBound => "backend bound",
            Metric::SmtContention => "SMT contention",
        }
    }

    /// Returns whether it is a part of the slots.
    pub fn is_category(self) -> bool {
        !matches!(self, Metric::Slots | Metric::Wall)
    }

    /// Returns its value in a launch, per iteration; `None` if the launch does not have it.
    pub fn of(self, launch: &LaunchValue) -> Option<f64> {
        let level1 = launch.level1.as_ref();
        match self {
            Metric::Slots => launch.slots,
            Metric::Wall => Some(launch.wall_ns),
            Metric::Retiring => level1.map(|l| l.retiring_slots),
            Metric::BadSpeculation => level1.map(|l| l.bad_speculation_slots),
            Metric::FrontendBound => level1.map(|l| l.frontend_bound_slots),
            Metric::BackendBound => level1.map(|l| l.backend_bound_slots),
            Metric::SmtContention => level1.and_then(|l| l.smt_contention_slots),
        }
    }

    /// Returns the part of this category that level 2 measures and the remainder, with their names.
    pub fn level2(self) -> Option<Level2Parts> {
        let (measured, rest, of): (_, _, fn(&criterion_topdown::sample::Level2) -> f64) = match self
        {
            Metric::Retiring => ("heavy operations", "light operations", |l| {
                l.heavy_operations_slots
            }),
            Metric::BadSpeculation => ("branch mispredict", "machine clears", |l| {
                l.branch_mispredict_slots
            }),
            Metric::FrontendBound => ("fetch latency", "fetch bandwidth", |l| {
                l.fetch_latency_slots
            }),
            Metric::BackendBound => ("memory bound", "core bound", |l| l.memory_bound_slots),
            _ => return None,
        };
        Some(Level2Parts { measured, rest, of })
    }
}

impl std::str::FromStr for Metric {
    type Err = String;

    /// Parses names as in files, with `-` or `_`: `backend-bound`.
    fn from_str(word: &str) -> Result<Metric, String> {
        let plain = |text: &str| text.replace(['-', ' '], "_").to_lowercase();
        Metric::ALL
            .into_iter()
            .find(|metric| match metric {
                Metric::Wall => plain(word) == "wall",
                metric => plain(word) == plain(metric.name()),
            })
            .ok_or_else(|| {
                format!(
                    "`{word}` is not a metric; the metrics are slots, wall, retiring, \
                     bad-speculation, frontend-bound, backend-bound and smt-contention"
                )
            })
    }
}

/// The two parts of a category.
#[derive(Clone, Copy, Debug)]
pub struct Level2Parts {
    /// The part that is measured.
    pub measured: &'static str,
    /// The remainder of the category.
    pub rest: &'static str,
    /// The measured part of a launch.
    pub of: fn(&criterion_topdown::sample::Level2) -> f64,
}
