//! A comparison, as reports receive it.

use topdown_explain::listing::ListingComparison;
use topdown_gate::trend::Trend;
use topdown_gate::verdict::Comparison;
use topdown_run::run_file::Run;

use crate::commit_pages::CommitPages;

/// A comparison and its two runs.
#[derive(Clone, Copy, Debug)]
pub struct Compared<'a> {
    /// What the gate says about the runs.
    pub comparison: &'a Comparison,
    /// The run that the candidate was compared with.
    pub baseline: &'a Run,
    /// The run that was judged.
    pub candidate: &'a Run,
    /// The baseline's past runs, if they are kept; only a page shows them.
    pub history: Option<&'a Trend>,
    /// Whether Markdown lists the events of both sides.
    pub events: bool,
    /// The lines of one benchmark on both sides, if they were requested; only Markdown shows them.
    pub listing: Option<&'a ListingComparison>,
    /// Where a page links to commits.
    pub commits: Option<&'a CommitPages>,
}
