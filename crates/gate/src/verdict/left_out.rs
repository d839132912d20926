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
        let mut values = metric.values(benchmark)?;
        // From the last, so that the others keep their places.
        for index in left_out.iter().rev() {
            values.remove(*index);
        }
        Some(values)
    }

    /// Returns the launches of `benchmark` by which its slots are judged.
    pub fn kept_slots<'a>(
        &'a self,
        benchmark: &'a Benchmark,
    ) -> impl Iterator<Item = &'a SlotsValue> {
        let launches = benchmark.slots_launches().iter().enumerate();
        launches.filter_map(|(index, launch)| (!self.of_slots.contains(&index)).then_some(launch))
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
    let metric = if Metric::Slots.is_known(benchmark) {
        Metric::Slots
    } else {
        Metric::Wall
    };
    let values = metric.values(benchmark).unwrap_or_default();
    let indices = wild(&values);
    let (Some(middle), false) = (median(values), indices.is_empty()) else {
        return Vec::new();
    };
    let by_launch = metric.by_launch(benchmark).unwrap_or_default();
    let named = |index: usize| WildLaunch {
        benchmark: benchmark.id.clone(),
        launch: by_launch[index].0,
        times_median: by_launch[index].1 / middle,
    };
    indices.into_iter().map(named).collect()
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
    const MAX_LAUNCHES: usize = 3;
    let names: Vec<String> = launches
        .iter()
        .take(MAX_LAUNCHES)
        .map(ToString::to_string)
        .collect();
    match launches.len().saturating_sub(MAX_LAUNCHES) {
        0 => names.join(", "),
        more => format!("{} and {more} more", names.join(", ")),
    }
}
