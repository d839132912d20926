//! The command line of `explain`.

use clap::{Args, ValueEnum};
use topdown_run::category::Category;
use topdown_run::run_file::Filter;

use super::{CargoBenchArgs, LaunchMeasuringArgs, OutputArgs, StoreArgs};
use crate::config::Layer;
use crate::measure::Request;

/// `cargo topdown explain`.
#[derive(Debug, Args)]
pub struct ExplainArgs {
    /// The benchmark to explain: a regular expression that matches exactly one id
    #[arg(value_name = "BENCH")]
    pub benchmark: String,

    /// Match BENCH as a whole id, not as a regular expression
    #[arg(long)]
    pub exact: bool,

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

    #[command(flatten)]
    pub store: StoreArgs,

    #[command(flatten)]
    pub measuring: LaunchMeasuringArgs,

    #[command(flatten)]
    pub cargo: CargoBenchArgs,

    #[command(flatten)]
    pub output: OutputArgs,
}

impl ExplainArgs {
    /// The same as a plain request.
    pub fn request(&self) -> Request {
        let filter = Filter {
            expression: self.benchmark.clone(),
            exact: self.exact,
        };
        // One launch for the categories, and one for each metric group.
        let settings = Layer {
            launches: Some(1),
            ..Layer::from(&self.measuring)
        };
        Request {
            filter: Some(filter),
            ..self
                .cargo
                .request(settings, self.store.manifest_path.clone(), &self.output)
        }
    }
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
