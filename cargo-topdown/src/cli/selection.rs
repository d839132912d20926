//! The flags of filter expressions.

use clap::Args;
use topdown_gate::filter_expression::text_of;

/// Which benchmarks, besides FILTER.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Selection")]
pub struct SelectionArgs {
    /// Select benchmarks by a filter expression, as in nextest; may be repeated
    ///
    /// A benchmark is selected if any EXPR matches it: `test(~parse) and not package(slow)`.
    #[arg(short = 'E', long = "filterset", value_name = "EXPR")]
    pub expressions: Vec<String>,

    /// Skip benchmarks whose name contains TEXT; may be repeated
    ///
    /// With `*` or `?`, TEXT is a pattern of the whole name. `package::target::name` skips one.
    #[arg(long, value_name = "TEXT")]
    pub skip: Vec<String>,
}

impl SelectionArgs {
    /// Returns both flags as one filter expression.
    pub fn text(&self) -> Option<String> {
        text_of(&self.expressions, &self.skip)
    }
}
