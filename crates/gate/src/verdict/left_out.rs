//! Launches that a comparison leaves out, since they certainly differ in kind from the others.

use std::fmt;

use serde::Serialize;
use topdown_run::run_file::{Benchmark, BenchmarkId, Run, SlotsValue};

use crate::metric::Metric;
use crate::statistics::agreement::is_sampled;
use crate::statistics::median;
use crate::statistics::wild::wild;

/// A launch that went wrong.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WildLaunch {
    /// The benchmark.
    pub benchmark: BenchmarkId,
    /// Its number in the run.
    pub launch: u32,
    /// Its slots, or its time if it has no slots, over the median of the benchmark's launches.
    pub times_median: f64,
}

/// The indices of a benchmark's launches that are left out.
#[derive(Clone, Debug, Default)]
pub struct LeftOut {
    of_slots: Vec<usize>,
    of_time: Vec<usize>,
}

impl LeftOut {
    /// Judges slots and time separately, since time can go wrong when slots do not. Groups of
    /// units are all kept: what is rare in an iteration lies in few of them.
    pub fn new(benchmark: &Benchmark) -> LeftOut {
        let wild_in = |metric: Metric| {
            let values = metric.values(benchmark);
            values.map_or_else(Vec::new, |values| wild(&values))
        };
        LeftOut {
            of_slots: if is_sampled(benchmark) {
                Vec::new()
            } else {
                wild_in(Metric::Slots)
            },
            of_time: wild_in(Metric::Wall),
        }
    }

    /// Returns the values of `benchmark` by which `metric` is judged; `None` if it was not
    /// measured.
    pub fn kept(&self, benchmark: &Benchmark, metric: Metric) -> Option<Vec<f64>> {
        let left_out = match metric {
            Metric::Wall => &self.of_time,
            _ => &self.of_slots,
        };
        let values = metric.values(benchmark)?.into_iter().enumerate();
        let kept = values.filter(|(place, _)| !left_out.contains(place));
        Some(kept.map(|(_, value)| value).collect())
    }

    /// Returns the launches of `benchmark` by which its slots are judged.
    pub fn kept_slots<'a>(
        &'a self,
        benchmark: &'a Benchmark,
    ) -> impl Iterator<Item = &'a SlotsValue> {
        let launches = benchmark.slots_launches().iter().enumerate();
        launches.filter_map(|(place, launch)| (!self.of_slots.contains(&place)).then_some(launch))
    }
}

/// Returns the wild launches of a run, judged by each benchmark's slots, or by its time if it has
/// none.
pub fn wild_launches(run: &Run) -> Vec<WildLaunch> {
    run.benchmarks.iter().flat_map(of_benchmark).collect()
}

fn of_benchmark(benchmark: &Benchmark) -> Vec<WildLaunch> {
    if is_sampled(benchmark) {
        return Vec::new();
    }
    let by_launch = Metric::Slots.by_launch(benchmark);
    let by_launch = by_launch.or_else(|| Metric::Wall.by_launch(benchmark));
    let by_launch = by_launch.unwrap_or_default();
    let values: Vec<f64> = by_launch.iter().map(|(_, value)| *value).collect();
    let Some(middle) = median(values.clone()) else {
        return Vec::new();
    };
    let named = |place: usize| WildLaunch {
        benchmark: benchmark.id.clone(),
        launch: by_launch[place].0,
        times_median: values[place] / middle,
    };
    wild(&values).into_iter().map(named).collect()
}

impl fmt::Display for WildLaunch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Numbers begin at 0 in files, and at 1 in what people read while it runs.
        write!(
            f,
            "launch {} of {} ({:.1} times the median)",
            self.launch + 1,
            self.benchmark.name,
            self.times_median
        )
    }
}

/// Lists the first few launches, and how many more there are.
pub fn named(launches: &[WildLaunch]) -> String {
    const MOST: usize = 3;
    let names: Vec<String> = launches
        .iter()
        .take(MOST)
        .map(ToString::to_string)
        .collect();
    match launches.len().saturating_sub(MOST) {
        0 => names.join(", "),
        more => format!("{} and {more} more", names.join(", ")),
    }
}
