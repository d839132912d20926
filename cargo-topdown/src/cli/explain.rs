//! The command line of `explain`.

use clap::{Args, ValueEnum};
use criterion_topdown::category::Category;
use criterion_topdown::run_file::Filter;
use criterion_topdown::setting::{Counters, Setting, SourceChoice, Threads};

use super::choices::choices;
use super::{CargoBenchArgs, OutputArgs, StoreArgs};
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

    /// Explain how the newest run differs from BASE, a baseline's name or a run file; builds and
    /// launches nothing
    #[arg(long, value_name = "BASE", conflicts_with = "category")]
    pub against: Option<String>,

    /// Print the explanation as JSON
    #[arg(long)]
    pub json: bool,

    /// Where the runs of `--against` are kept
    #[command(flatten)]
    pub store: StoreArgs,

    /// How long to measure
    #[command(flatten)]
    pub measuring: SingleLaunchArgs,

    /// What to build
    #[command(flatten)]
    pub cargo: CargoBenchArgs,

    /// How to print
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
        let settings = (&self.measuring).into();
        Request {
            filter: Some(filter),
            ..self
                .cargo
                .request(settings, self.store.manifest_path.clone(), &self.output)
        }
    }
}

/// How one launch measures: the settings of `bench` but for the number of launches, which is one
/// for the categories and one for each metric group.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Measuring")]
pub struct SingleLaunchArgs {
    /// Samples per launch, at least 10 [default: 20]
    #[arg(long, value_name = "N", env = "CARGO_TOPDOWN_SAMPLE_SIZE")]
    pub sample_size: Option<u32>,

    /// Warm-up time per launch [default: 0.1]
    #[arg(long, value_name = "SECONDS", env = "CARGO_TOPDOWN_WARM_UP_TIME")]
    pub warm_up_time: Option<f64>,

    /// Planned measurement time per launch [default: 0.25]
    #[arg(long, value_name = "SECONDS", env = "CARGO_TOPDOWN_MEASUREMENT_TIME")]
    pub measurement_time: Option<f64>,

    /// Where the categories come from [default: auto]
    #[arg(
        long,
        value_name = "SOURCE",
        env = SourceChoice::VARIABLE,
        value_parser = choices::<SourceChoice>()
    )]
    pub source: Option<SourceChoice>,

    /// Which hardware counters to use for the categories, where a CPU has two kinds [default: auto]
    #[arg(
        long,
        value_name = "KIND",
        env = Counters::VARIABLE,
        value_parser = choices::<Counters>()
    )]
    pub counters: Option<Counters>,

    /// Leave out what matches PATTERN, with `*` and `?`; replaces the patterns in Cargo.toml
    ///
    /// Benchmarks match by name or `package::target::name`, bench targets by `package::target`.
    #[arg(
        long,
        value_name = "PATTERN",
        env = "CARGO_TOPDOWN_LEAVE_OUT",
        value_delimiter = ','
    )]
    pub leave_out: Option<Vec<String>>,

    /// Whose slots the hardware counters count [default: auto]
    #[arg(long, value_name = "WHOSE", env = Threads::VARIABLE, value_parser = choices::<Threads>())]
    pub threads: Option<Threads>,

    /// Keep the sample sizes, times and sampling modes that the benches set, as `cargo bench` does
    ///
    /// With criterion's own `Criterion`, this applies to the settings of groups only.
    #[arg(long, env = "CARGO_TOPDOWN_AUTHOR_SETTINGS")]
    pub author_settings: bool,
}

impl From<&SingleLaunchArgs> for Layer {
    fn from(args: &SingleLaunchArgs) -> Layer {
        Layer {
            launches: Some(1),
            sample_size: args.sample_size,
            warm_up_time: args.warm_up_time,
            measurement_time: args.measurement_time,
            source: args.source,
            counters: args.counters,
            leave_out: args.leave_out.clone(),
            threads: args.threads,
            author_settings: args.author_settings.then_some(true),
            ..Layer::default()
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
