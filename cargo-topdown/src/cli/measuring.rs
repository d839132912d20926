//! The flags of a measurement.

use clap::Args;
use topdown_run::setting::{Counters, ModelCore, Setting, SourceChoice, Threads};

use super::choices;
use crate::config::Layer;

/// How a run measures.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Measuring")]
pub struct MeasuringArgs {
    /// Launches (processes) per bench target [default: 10]
    ///
    /// Slots that are modelled exactly need only two of them.
    #[arg(long, value_name = "N", env = "CARGO_TOPDOWN_LAUNCHES")]
    pub launches: Option<u32>,

    #[command(flatten)]
    pub launch: LaunchMeasuringArgs,

    /// Seconds to model a benchmark in each launch, of up to 15 million instructions each
    /// [default: 2]
    #[arg(long, value_name = "SECONDS", env = "CARGO_TOPDOWN_MODEL_BUDGET")]
    pub model_budget: Option<f64>,

    /// Which core to model [default: nearest]
    ///
    /// Runs modelled on the same core can be compared whatever the host. For several cores, run
    /// `bench` and `compare` once for each: a baseline keeps a run per core.
    #[arg(
        long,
        value_name = "CORE",
        value_delimiter = ',',
        env = ModelCore::VARIABLE,
        value_parser = choices::<ModelCore>()
    )]
    pub model_core: Option<Vec<ModelCore>>,

    /// In how many orders to model a benchmark's threads [default: 1]
    ///
    /// A change counts only if it shows in all of them. Benchmarks without other threads on the
    /// model, and those whose launches differ, have one; so has everything with `--threads own`,
    /// `--launches 1` or another source.
    #[arg(long, value_name = "N", env = "CARGO_TOPDOWN_SCHEDULES")]
    pub schedules: Option<u32>,

    /// Time limit of a launch [default: 10 times the first launch of its bench target, at least 60]
    ///
    /// By default a first launch is ended only after half an hour of silence.
    #[arg(long, value_name = "SECONDS", env = "CARGO_TOPDOWN_LAUNCH_TIMEOUT")]
    pub launch_timeout: Option<f64>,

    /// Let benches inherit environment variables that match PATTERN, with `*` and `?`
    ///
    /// Added to those that benches always inherit and to those in Cargo.toml. May be repeated;
    /// commas separate patterns.
    #[arg(
        long,
        value_name = "PATTERN",
        env = "CARGO_TOPDOWN_KEEP_ENV",
        value_delimiter = ','
    )]
    pub keep_env: Option<Vec<String>>,

    /// Follow calls in modelled launches, for flame graphs and the callers of what got slower
    #[arg(long, env = "CARGO_TOPDOWN_PATHS")]
    pub paths: bool,

    /// Let modelled threads wait for lines that another thread wrote last
    ///
    /// Without it the modelled cores share nothing. It changes the slots of benchmarks with several
    /// threads, whose formula says so.
    #[arg(long, env = "CARGO_TOPDOWN_SHARED_LINES")]
    pub shared_lines: bool,

    /// Do not count allocations in modelled launches
    ///
    /// Events, budgets and `--gate` then have none.
    #[arg(long, env = "CARGO_TOPDOWN_NO_ALLOCATIONS")]
    pub no_allocations: bool,

    /// Do not take fingerprints of the machine code that benchmarks execute
    ///
    /// Fingerprints trace three iterations of each benchmark, once per run. Without them a
    /// comparison cannot tell that the same code ran.
    #[arg(long, env = "CARGO_TOPDOWN_NO_FINGERPRINTS")]
    pub no_fingerprints: bool,

    /// Stop at the first bench target that fails, and store nothing
    #[arg(long, conflicts_with = "no_fail_fast")]
    pub fail_fast: bool,

    /// Run the other bench targets even if one fails (the default)
    #[arg(long)]
    pub no_fail_fast: bool,
}

impl From<&MeasuringArgs> for Layer {
    fn from(args: &MeasuringArgs) -> Layer {
        Layer {
            launches: args.launches,
            model_budget: args.model_budget,
            model_core: args.model_core.clone(),
            schedules: args.schedules,
            launch_timeout: args.launch_timeout,
            fingerprints: args.no_fingerprints.then_some(false),
            paths: args.paths.then_some(true),
            shared_lines: args.shared_lines.then_some(true),
            allocations: args.no_allocations.then_some(false),
            keep_env: args.keep_env.clone().unwrap_or_default(),
            ..Layer::from(&args.launch)
        }
    }
}

/// How a launch measures. Each setting is also an environment variable and a key of
/// `[package.metadata.topdown]` and `[workspace.metadata.topdown]`; see [`crate::config`].
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Measuring")]
pub struct LaunchMeasuringArgs {
    /// Samples per benchmark and launch, 10 to 100000 [default: 20]
    #[arg(long, value_name = "N", env = "CARGO_TOPDOWN_SAMPLE_SIZE")]
    pub sample_size: Option<u32>,

    /// Warm-up time per benchmark and launch [default: 0.1]
    #[arg(long, value_name = "SECONDS", env = "CARGO_TOPDOWN_WARM_UP_TIME")]
    pub warm_up_time: Option<f64>,

    /// Planned measurement time per benchmark and launch [default: 0.25]
    #[arg(long, value_name = "SECONDS", env = "CARGO_TOPDOWN_MEASUREMENT_TIME")]
    pub measurement_time: Option<f64>,

    /// Where the numbers come from [default: auto]
    #[arg(
        long,
        value_name = "SOURCE",
        env = SourceChoice::VARIABLE,
        value_parser = choices::<SourceChoice>()
    )]
    pub source: Option<SourceChoice>,

    /// Which hardware counters to use, where a CPU has two kinds [default: auto]
    #[arg(
        long,
        value_name = "KIND",
        env = Counters::VARIABLE,
        value_parser = choices::<Counters>()
    )]
    pub counters: Option<Counters>,

    /// Leave out what matches PATTERN, with `*` and `?`; replaces the patterns in Cargo.toml
    ///
    /// Benchmarks match by name or `package::target::name`, bench targets by `package::target`. May
    /// be repeated; commas separate patterns, so write `?` for one in a name.
    #[arg(
        long,
        value_name = "PATTERN",
        env = "CARGO_TOPDOWN_LEAVE_OUT",
        value_delimiter = ','
    )]
    pub leave_out: Option<Vec<String>>,

    /// The threads whose slots count: all, if others than the measured one work [default: auto]
    #[arg(
        long,
        value_name = "THREADS",
        env = Threads::VARIABLE,
        value_parser = choices::<Threads>(),
    )]
    pub threads: Option<Threads>,

    /// Keep the sample sizes, times and sampling modes that the benches set, as `cargo bench` does
    ///
    /// With criterion's own `Criterion`, this applies to the settings of groups only. Modelled
    /// launches ignore all of them.
    #[arg(long, env = "CARGO_TOPDOWN_AUTHOR_SETTINGS")]
    pub author_settings: bool,
}

impl From<&LaunchMeasuringArgs> for Layer {
    fn from(args: &LaunchMeasuringArgs) -> Layer {
        Layer {
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
