//! Sums over the samples of a group's launch.

use topdown_run::run_file::IterationSample;
use topdown_run::sample::{Flags, GroupCounts};

/// Adds up counts; `None` if they are not of one group.
pub(super) fn sum_of(counts: impl Iterator<Item = Option<GroupCounts>>) -> Option<GroupCounts> {
    let add = |sum: Option<GroupCounts>, counts: Option<GroupCounts>| sum?.plus(&counts?);
    counts.reduce(add).flatten()
}

/// Returns the flags of all samples.
pub(super) fn all_flags(samples: &[IterationSample]) -> Flags {
    let all = samples.iter().map(|s| s.sample.flags);
    all.fold(Flags::NONE, |all, flags| all | flags)
}
