//! Number of launches that a run holds. The settings ask for launches; an interrupted run has
//! fewer, and so has one of exact slots, or a benchmark whose launches failed.

use serde::Serialize;
use topdown_run::provenance::SourceKind;
use topdown_run::run_file::{Benchmark, Run};

/// The launches of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LaunchesMade {
    /// Launches of the benchmark that has most of them.
    #[serde(rename = "launches")]
    pub most: usize,
    /// Launches of the benchmark that has fewest; absent if all have the same number.
    #[serde(rename = "fewest_launches", skip_serializing_if = "Option::is_none")]
    pub fewest: Option<usize>,
    /// Launches on the model, which are separate, of the benchmark that has most; absent if nothing
    /// was modelled.
    #[serde(rename = "modelled_launches", skip_serializing_if = "Option::is_none")]
    pub modelled: Option<usize>,
}

impl LaunchesMade {
    /// Counts those that `run` holds.
    pub fn new(run: &Run) -> LaunchesMade {
        let timed = || {
            run.benchmarks
                .iter()
                .map(|benchmark| benchmark.times.launches.len())
        };
        let most = timed().max().unwrap_or(0);
        let is_modelled =
            |benchmark: &&Benchmark| benchmark.provenance().source == SourceKind::Model;
        let modelled = run.benchmarks.iter().filter(is_modelled);
        LaunchesMade {
            most,
            fewest: timed().min().filter(|&fewest| fewest < most),
            modelled: modelled.map(Benchmark::launches).max(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::{Planted, benchmark, modelled, run, timed};

    #[test]
    fn launches_are_counted_in_the_run() {
        let planted = |launches| Planted {
            launches,
            ..Planted::default()
        };
        let made = |benchmarks| LaunchesMade::new(&run(benchmarks));
        let plain = |most, fewest| LaunchesMade {
            most,
            fewest,
            modelled: None,
        };
        let two = || vec![benchmark("a", planted(4)), timed("b", planted(4))];
        assert_eq!(made(two()), plain(4, None));
        // Interrupted in the middle of a round.
        let interrupted = vec![benchmark("a", planted(4)), timed("b", planted(3))];
        assert_eq!(made(interrupted), plain(4, Some(3)));
        // No launch of one succeeded.
        let mut failed = two();
        failed[1].times.launches.clear();
        assert_eq!(made(failed), plain(4, Some(0)));
        assert_eq!(made(Vec::new()), plain(0, None));
        let exact = LaunchesMade {
            modelled: Some(2),
            ..plain(2, None)
        };
        assert_eq!(made(vec![modelled("a", planted(2))]), exact);
    }
}
