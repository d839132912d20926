//! Change of the allocations of an iteration.
//!
//! They depend on neither the machine nor the modelled core, so they are compared even if slots are
//! not.

use serde::Serialize;
use topdown_run::run_file::Benchmark;

use crate::allocated::Allocated;

/// The sides that did not count something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Uncounted {
    /// The baseline alone.
    Baseline,
    /// The candidate alone.
    Candidate,
    /// Neither side counted it.
    Both,
}

impl Uncounted {
    /// Returns the sides that did not count their allocations, if any.
    pub(super) fn allocations_of(baseline: &Benchmark, candidate: &Benchmark) -> Option<Uncounted> {
        let counted =
            [baseline, candidate].map(|benchmark| Allocated::from_benchmark(benchmark).is_some());
        match counted {
            [true, true] => None,
            [false, true] => Some(Uncounted::Baseline),
            [true, false] => Some(Uncounted::Candidate),
            [false, false] => Some(Uncounted::Both),
        }
    }

    /// Returns where it was not counted: `in the baseline`.
    pub fn side_text(self) -> &'static str {
        match self {
            Uncounted::Baseline => "in the baseline",
            Uncounted::Candidate => "in the candidate",
            Uncounted::Both => "on either side",
        }
    }
}

/// How the allocations of an iteration changed.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AllocationChange {
    /// Per iteration of the baseline.
    pub baseline: Allocated,
    /// Per iteration of the candidate.
    pub candidate: Allocated,
    /// Whether the candidate allocates more often, or more bytes.
    pub grew: bool,
    /// Whether that fails the benchmark.
    pub gated: bool,
}

impl AllocationChange {
    /// Returns `None` if either side does not know its allocations.
    pub(super) fn new(
        baseline: &Benchmark,
        candidate: &Benchmark,
        gated: bool,
    ) -> Option<AllocationChange> {
        let [baseline, candidate] = [baseline, candidate].map(Allocated::from_benchmark);
        let (baseline, candidate) = (baseline?, candidate?);
        Some(AllocationChange {
            baseline,
            candidate,
            grew: candidate.exceeds(&baseline),
            gated,
        })
    }

    /// Returns whether the policy lets its growth fail the benchmark.
    pub fn may_fail(&self) -> bool {
        self.grew && self.gated
    }
}
