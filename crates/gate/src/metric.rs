//! The quantities that the gate tests.

use serde::{Deserialize, Serialize};
use topdown_run::category::Category;
use topdown_run::run_file::{Benchmark, SlotsValue};

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
            Metric::Retiring => Category::Retiring.name(),
            Metric::BadSpeculation => Category::BadSpeculation.name(),
            Metric::FrontendBound => Category::FrontendBound.name(),
            Metric::BackendBound => Category::BackendBound.name(),
            Metric::SmtContention => "SMT contention",
        }
    }

    /// Returns whether it is a part of the slots.
    pub fn is_category(self) -> bool {
        !matches!(self, Metric::Slots | Metric::Wall)
    }

    /// Returns it as a category; `None` for total slots, SMT contention and time.
    pub fn category(self) -> Option<Category> {
        match self {
            Metric::Retiring => Some(Category::Retiring),
            Metric::BadSpeculation => Some(Category::BadSpeculation),
            Metric::FrontendBound => Some(Category::FrontendBound),
            Metric::BackendBound => Some(Category::BackendBound),
            Metric::Slots | Metric::Wall | Metric::SmtContention => None,
        }
    }

    /// Returns its value per iteration in a launch with slots; `None` if the launch lacks it, and
    /// for time, which is in another series.
    pub fn value(self, launch: &SlotsValue) -> Option<f64> {
        let level1 = launch.level1.as_ref();
        match (self, self.category()) {
            (_, Some(category)) => level1.map(|level1| level1.slots[category]),
            (Metric::Wall, _) => None,
            (Metric::SmtContention, _) => level1?.smt_contention_slots,
            (_, None) => Some(launch.slots),
        }
    }

    /// Returns whether `benchmark` has launches, all of which measured it.
    pub fn is_known(self, benchmark: &Benchmark) -> bool {
        let slots = benchmark.slots_launches();
        match self {
            Metric::Wall => !benchmark.times.launches.is_empty(),
            _ => !slots.is_empty() && slots.iter().all(|launch| self.value(launch).is_some()),
        }
    }

    /// Returns its value in each launch; `None` if there are no launches or any of them lacks it.
    pub fn values(self, benchmark: &Benchmark) -> Option<Vec<f64>> {
        let values = if self == Metric::Wall {
            let launches = benchmark.times.launches.iter();
            launches.map(|time| time.wall_ns).collect()
        } else {
            let launches = benchmark.slots_launches();
            // Collected into an option, it would grow in steps, for each metric of each benchmark.
            let mut values = Vec::with_capacity(launches.len());
            for launch in launches {
                values.push(self.value(launch)?);
            }
            values
        };
        (!values.is_empty()).then_some(values)
    }

    /// Returns its value in each launch, as [`values`](Metric::values), with the launch's number.
    pub fn by_launch(self, benchmark: &Benchmark) -> Option<Vec<(u32, f64)>> {
        let values = self.values(benchmark)?.into_iter();
        Some(match self {
            Metric::Wall => {
                let launches = benchmark.times.launches.iter();
                launches.map(|time| time.launch).zip(values).collect()
            }
            _ => {
                let launches = benchmark.slots_launches().iter();
                launches.map(|launch| launch.launch).zip(values).collect()
            }
        })
    }
}

impl From<Category> for Metric {
    fn from(category: Category) -> Metric {
        match category {
            Category::Retiring => Metric::Retiring,
            Category::BadSpeculation => Metric::BadSpeculation,
            Category::FrontendBound => Metric::FrontendBound,
            Category::BackendBound => Metric::BackendBound,
        }
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
