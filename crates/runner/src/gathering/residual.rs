//! Categories that do not add up to their slots.

use topdown_run::run_file::{BenchmarkId, LaunchValue};

use crate::launching::measured::Measured;
use topdown_gate::statistics::launch::residual_fraction;

/// The largest residual, as a fraction of the slots, that is not reported.
const LARGEST_RESIDUAL: f64 = 0.01;

/// A benchmark with launches whose categories did not add up to the slots before being scaled.
#[derive(Debug, PartialEq)]
pub struct Residual {
    pub id: BenchmarkId,
    /// The number of launches affected.
    pub launches: usize,
    /// The number of all launches.
    pub of_launches: usize,
    /// What is wrong with them.
    pub fault: SplitFault,
}

/// A fault in categories.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SplitFault {
    /// They missed the slots by up to this fraction, and were scaled to them.
    Scaled {
        /// The largest fraction.
        largest_fraction: f64,
    },
    /// One was so far below zero that no counter could have produced it; no split is kept.
    Impossible,
}

/// Returns the fault in a benchmark's categories, if any. `values` are those of its `launches`;
/// with `time_alone` there are no slots to add up to.
pub fn residual(
    id: &BenchmarkId,
    launches: &[(u32, Measured)],
    values: &[(u32, Option<LaunchValue>)],
    time_alone: bool,
) -> Option<Residual> {
    let residuals: Vec<f64> = launches
        .iter()
        .filter(|_| !time_alone)
        .filter_map(|(_, measured)| residual_fraction(&measured.samples))
        .filter(|residual| *residual > LARGEST_RESIDUAL)
        .collect();
    let impossible = values
        .iter()
        .zip(launches)
        .filter(|((_, value), (_, measured))| {
            let was_split = measured.samples.iter().all(|s| s.sample.level1.is_some());
            was_split
                && value
                    .as_ref()
                    .and_then(|value| value.slots.as_ref())
                    .is_some_and(|slots| slots.level1.is_none())
        })
        .count();
    let fault = match impossible {
        0 => SplitFault::Scaled {
            largest_fraction: residuals.iter().copied().fold(0.0, f64::max),
        },
        _ => SplitFault::Impossible,
    };
    (impossible + residuals.len() > 0).then(|| Residual {
        id: id.clone(),
        launches: impossible.max(residuals.len()),
        of_launches: launches.len(),
        fault,
    })
}

impl std::fmt::Display for Residual {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Residual {
            id,
            launches,
            of_launches,
            fault,
        } = self;
        match fault {
            SplitFault::Scaled { largest_fraction } => write!(
                f,
                "the categories of `{id}` miss its slots by up to {:.1} % in {launches} of \
                 {of_launches} launches, and were scaled to them: its split is only that accurate",
                largest_fraction * 100.0
            ),
            SplitFault::Impossible => write!(
                f,
                "a category of `{id}` is far below zero in {launches} of {of_launches} launches, \
                 which is impossible: its slots are kept without their split; `cargo topdown \
                 doctor` shows which counters these are"
            ),
        }
    }
}
