//! Flags that choose benchmarks: by filter expressions, or one of them to launch.

use clap::Args;
use topdown_gate::filter_expression::text_of;
use topdown_run::run_file::Filter;

use super::{CargoBenchArgs, LaunchMeasuringArgs, OutputArgs, StoreArgs};
use crate::config::Layer;
use crate::measure::Request;

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

/// One benchmark to launch.
#[derive(Debug, Args)]
pub struct OneBenchmarkArgs {
    /// The benchmark: a regular expression that matches exactly one id
    #[arg(value_name = "BENCH", index = 1)]
    pub benchmark: String,

    /// Match BENCH as a whole id, not as a regular expression
    #[arg(long)]
    pub exact: bool,

    #[command(flatten)]
    pub store: StoreArgs,

    #[command(flatten)]
    pub measuring: LaunchMeasuringArgs,

    #[command(flatten)]
    pub cargo: CargoBenchArgs,

    #[command(flatten)]
    pub output: OutputArgs,
}

impl OneBenchmarkArgs {
    /// The same as a plain request of one launch.
    pub fn request(&self) -> Request {
        let filter = Filter {
            expression: self.benchmark.clone(),
            exact: self.exact,
        };
        let settings = Layer {
            launches: Some(1),
            ..Layer::from(&self.measuring)
        };
        let manifest_path = self.store.manifest_path.clone();
        Request {
            filter: Some(filter),
            ..self.cargo.request(settings, manifest_path, &self.output)
        }
    }
}
