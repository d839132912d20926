//! The command line of `explain`.

use clap::{Args, ValueEnum};
use topdown_run::category::Category;

use super::OneBenchmarkArgs;

/// `cargo topdown explain`.
#[derive(Debug, Args)]
pub struct ExplainArgs {
    /// The category to explain [default: the one that costs the most slots]
    #[arg(long, value_name = "CATEGORY")]
    pub category: Option<CategoryChoice>,

    /// Explain how the newest run differs from BASE, a baseline's name or a run file
    ///
    /// Builds and launches nothing: sampled functions are those that `bench --functions` or an
    /// earlier `compare` has found. A note says how to find them otherwise.
    #[arg(long, value_name = "BASE", conflicts_with = "category")]
    pub against: Option<String>,

    /// Print the explanation as JSON
    #[arg(long)]
    pub json: bool,

    // Last, since its headings would also be those of the flags after it.
    #[command(flatten)]
    pub one: OneBenchmarkArgs,
}

/// A category, as a flag names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum CategoryChoice {
    /// Useful work.
    Retiring,
    /// Work that was thrown away.
    BadSpeculation,
    /// The frontend delivered no work.
    FrontendBound,
    /// The backend could not accept work.
    BackendBound,
}

impl From<CategoryChoice> for Category {
    fn from(choice: CategoryChoice) -> Category {
        match choice {
            CategoryChoice::Retiring => Category::Retiring,
            CategoryChoice::BadSpeculation => Category::BadSpeculation,
            CategoryChoice::FrontendBound => Category::FrontendBound,
            CategoryChoice::BackendBound => Category::BackendBound,
        }
    }
}
