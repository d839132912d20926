//! Command-line options for the output of a comparison.

use crate::cli::{ColorChoice, ComparisonArgs};
use crate::comparing::output::Output;
use topdown_report::detail::Detail;

/// Returns what to print and write, in these colours; with all details if `verbose`.
pub fn output(args: &ComparisonArgs, verbose: bool, color: ColorChoice) -> Output<'_> {
    Output {
        json: args.json,
        detail: if verbose {
            Detail::All
        } else {
            Detail::Sentences
        },
        events: args.events,
        reports: &args.reports,
        color: color.into(),
    }
}
