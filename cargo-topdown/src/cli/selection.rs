//! The command line of what is selected by filter expressions.

use clap::Args;
use topdown_gate::filter_expression::text_of;

/// Which benchmarks, besides FILTER.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Selection")]
pub struct SelectionArgs {
    /// Only benchmarks that EXPR lets through, in nextest's language: `test(~parse) and not
    /// package(slow)`. Several add up
    #[arg(short = 'E', long = "filterset", value_name = "EXPR")]
    pub expressions: Vec<String>,

    /// Not the benchmarks that match PATTERN, with `*` and `?`, by name or `package::target::name`
    #[arg(long, value_name = "PATTERN")]
    pub skip: Vec<String>,
}

impl SelectionArgs {
    /// Returns both flags as one filter expression.
    pub fn text(&self) -> Option<String> {
        text_of(&self.expressions, &self.skip)
    }
}
