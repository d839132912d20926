//! The command line of `bench`: the flags of `cargo bench`, and our own.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use criterion_topdown::run_file::Filter;
use criterion_topdown::setting::{Counters, ModelCore, Setting, SourceChoice, Threads};

use super::choices::choices;
use super::{ColorChoice, ComparisonArgs, OutputArgs, PolicyArgs, SelectionArgs, StoreArgs};
use crate::baseline_store::BaselineName;
use crate::bench_targets::CargoFlags;
use crate::config::Layer;
use crate::measure::Request;
use crate::shard::ShardNumber;

/// `cargo topdown bench`: the flags of `cargo bench`, and our own.
#[derive(Debug, Args)]
pub struct BenchArgs {
    /// What is launched
    #[command(flatten)]
    pub launch: LaunchArgs,

    /// Save the run as baseline NAME
    #[arg(
        long,
        visible_alias = "save-baseline",
        value_name = "NAME",
        help_heading = "Baselines"
    )]
    pub save: Option<BaselineName>,

    /// Let a partial run replace a baseline that has more benchmarks
    ///
    /// Without this flag the run is refused, because nothing would guard the other benchmarks.
    #[arg(long, requires = "save", help_heading = "Baselines")]
    pub partial: bool,

    /// List the benchmarks that would be launched, and launch nothing
    #[arg(
        long,
        conflicts_with_all = ["save", "against", "changed", "functions", "reports"],
        help_heading = "Selection"
    )]
    pub list: bool,

    /// Print the functions that the slots went to; only modelled runs have them
    #[arg(long, conflicts_with = "against", help_heading = "Reports")]
    pub functions: bool,

    /// Build REF too, launch both in turn, and compare; nothing is stored
    ///
    /// REF is a Git commit, `merge-base`, or a directory. Fails if a benchmark regressed, as
    /// `compare` does.
    #[arg(
        long,
        value_name = "REF",
        conflicts_with = "save",
        help_heading = "Comparison"
    )]
    pub against: Option<String>,

    /// Launch only benchmarks whose machine code or data may differ from those in BASE
    ///
    /// BASE is a baseline's name or a run file. The other benchmarks count as not run.
    #[arg(
        long,
        value_name = "BASE",
        conflicts_with_all = ["save", "against", "shard"],
        help_heading = "Selection"
    )]
    pub changed: Option<String>,

    /// Run only part I of N of the suite; `cargo topdown merge` joins the parts
    ///
    /// The suite is cut between benchmarks into parts that take about the same time.
    #[arg(
        long,
        value_name = "I/N",
        env = "CARGO_TOPDOWN_SHARD",
        conflicts_with_all = ["save", "against"],
        help_heading = "Selection"
    )]
    pub shard: Option<ShardNumber>,

    /// Print events for programs instead of the table
    #[arg(
        long,
        value_name = "FORMAT",
        conflicts_with_all = ["against", "json", "list", "functions"],
        help_heading = "Output"
    )]
    pub message_format: Option<MessageFormat>,

    /// How to report the comparison
    #[command(flatten)]
    pub comparison: ComparisonArgs,

    /// What fails
    #[command(flatten)]
    pub policy: PolicyArgs,

    /// Where baselines are kept
    #[command(flatten)]
    pub store: StoreArgs,

    /// How to print
    #[command(flatten)]
    pub output: OutputArgs,
}

impl BenchArgs {
    /// The same as a plain request.
    pub fn request(&self) -> Request {
        Request {
            events: self.message_format.is_some(),
            ..self.launch.request(&self.store, &self.output)
        }
    }
}

/// How events are printed.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum MessageFormat {
    /// JSON, one object per line.
    Json,
}

/// Which benchmarks are built and launched, and how.
#[derive(Debug, Default, Args)]
pub struct LaunchArgs {
    /// Run only benchmarks whose id matches this regular expression
    #[arg(value_name = "FILTER")]
    pub filter: Option<String>,

    /// Match FILTER as a whole id, not as a regular expression
    #[arg(long, requires = "filter")]
    pub exact: bool,

    /// Which benchmarks, besides FILTER
    #[command(flatten)]
    pub selection: SelectionArgs,

    /// How long and how often to measure
    #[command(flatten)]
    pub measuring: MeasuringArgs,

    /// What to build
    #[command(flatten)]
    pub cargo: CargoBenchArgs,

    /// Arguments to pass on to criterion
    #[arg(last = true, value_name = "CRITERION_ARGS")]
    pub criterion: Vec<String>,
}

/// criterion's flags that take the next argument as their value.
const FLAGS_WITH_VALUES: [&str; 9] = [
    "-c",
    "--color",
    "--format",
    "--nresamples",
    "--noise-threshold",
    "--confidence-level",
    "--significance-level",
    "--plotting-backend",
    "--output-format",
];

impl LaunchArgs {
    /// The same as a plain request.
    pub fn request(&self, store: &StoreArgs, output: &OutputArgs) -> Request {
        Request {
            filter: self.filter().map(|expression| Filter {
                expression: expression.to_owned(),
                exact: self.exact,
            }),
            expression: self.selection.text(),
            criterion: self.criterion_without_filter(),
            fail_fast: self.measuring.fail_fast,
            ..self.cargo.request(
                (&self.measuring).into(),
                store.manifest_path.clone(),
                output,
            )
        }
    }

    /// Returns the filter, from either side of the `--`.
    pub fn filter(&self) -> Option<&str> {
        let for_criterion = || Some(self.criterion[self.filter_for_criterion()?].as_str());
        self.filter.as_deref().or_else(for_criterion)
    }

    /// Returns the additional arguments for criterion, without a filter.
    pub fn criterion_without_filter(&self) -> Vec<String> {
        let mut words = self.criterion.clone();
        if let Some(index) = self.filter_for_criterion() {
            words.remove(index);
        }
        words
    }

    /// Returns the index of the filter among criterion's arguments: the first one that is neither a
    /// flag nor a flag's value. A second filter is left for criterion to reject.
    fn filter_for_criterion(&self) -> Option<usize> {
        let is_value = |index: usize| {
            let before = index.checked_sub(1).map(|before| &*self.criterion[before]);
            before.is_some_and(|before| FLAGS_WITH_VALUES.contains(&before))
        };
        let is_filter =
            |index: &usize| !self.criterion[*index].starts_with('-') && !is_value(*index);
        let found = (0..self.criterion.len()).find(is_filter);
        found.filter(|_| self.filter.is_none())
    }
}

/// Our own settings of a run. Each is also an environment variable and a key of
/// `[package.metadata.topdown]` and `[workspace.metadata.topdown]`; see [`crate::config`].
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Measuring")]
pub struct MeasuringArgs {
    /// Launches (processes) per bench target [default: 10]
    ///
    /// Slots that are modelled exactly need only two of them.
    #[arg(long, value_name = "N", env = "CARGO_TOPDOWN_LAUNCHES")]
    pub launches: Option<u32>,

    /// Samples per benchmark and launch, at least 10 [default: 20]
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

    /// How long to model a benchmark in each launch, at 15 million instructions per second
    /// [default: 2]
    #[arg(long, value_name = "SECONDS", env = "CARGO_TOPDOWN_MODEL_BUDGET")]
    pub model_budget: Option<f64>,

    /// Which core to model [default: nearest]
    ///
    /// Runs modelled on the same core can be compared whatever the host.
    #[arg(
        long,
        value_name = "CORE",
        env = ModelCore::VARIABLE,
        value_parser = choices::<ModelCore>()
    )]
    pub model_core: Option<ModelCore>,

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
    /// With criterion's own `Criterion`, this applies to the settings of groups only. Modelled
    /// launches ignore all of them.
    #[arg(long, env = "CARGO_TOPDOWN_AUTHOR_SETTINGS")]
    pub author_settings: bool,

    /// Time limit of a launch [default: 10 times the first launch of its bench target, at least 60]
    ///
    /// By default a first launch is ended only after half an hour of silence.
    #[arg(long, value_name = "SECONDS", env = "CARGO_TOPDOWN_LAUNCH_TIMEOUT")]
    pub launch_timeout: Option<f64>,

    /// Let benches inherit more environment variables: those that match PATTERN, with `*` and `?`
    ///
    /// These are added to the ones that benches always inherit and to those in Cargo.toml.
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

    /// Do not take fingerprints of the machine code that benchmarks execute
    ///
    /// They trace three iterations of every benchmark once per run. Without them a comparison
    /// cannot tell that the same code ran.
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
            sample_size: args.sample_size,
            warm_up_time: args.warm_up_time,
            measurement_time: args.measurement_time,
            source: args.source,
            model_budget: args.model_budget,
            model_core: args.model_core,
            counters: args.counters,
            threads: args.threads,
            author_settings: args.author_settings.then_some(true),
            launch_timeout: args.launch_timeout,
            fingerprints: args.no_fingerprints.then_some(false),
            paths: args.paths.then_some(true),
            leave_out: args.leave_out.clone(),
            keep_env: args.keep_env.clone().unwrap_or_default(),
            ..Layer::default()
        }
    }
}

/// Flags of `cargo bench` that are handed to it unchanged.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Flags of cargo bench")]
pub struct CargoBenchArgs {
    /// Package to run benches for
    #[arg(short, long, value_name = "SPEC")]
    pub package: Vec<String>,

    /// Run benches for all packages in the workspace
    #[arg(long, visible_alias = "all")]
    pub workspace: bool,

    /// Package to exclude
    #[arg(long, value_name = "SPEC")]
    pub exclude: Vec<String>,

    /// Run only this bench target
    #[arg(long, value_name = "NAME")]
    pub bench: Vec<String>,

    /// Build only bench targets
    #[arg(long)]
    pub benches: bool,

    /// Features to activate, separated by commas or spaces
    #[arg(short = 'F', long, value_name = "FEATURES")]
    pub features: Vec<String>,

    /// Activate all features
    #[arg(long)]
    pub all_features: bool,

    /// Do not activate the `default` feature
    #[arg(long)]
    pub no_default_features: bool,

    /// Build with this profile [default: bench]
    #[arg(long, value_name = "PROFILE-NAME")]
    pub profile: Option<String>,

    /// Build for this target triple
    #[arg(long, value_name = "TRIPLE")]
    pub target: Option<String>,

    /// Directory for all build output
    #[arg(long, value_name = "DIRECTORY")]
    pub target_dir: Option<PathBuf>,

    /// Assert that Cargo.lock will remain unchanged
    #[arg(long)]
    pub locked: bool,

    /// Run without accessing the network
    #[arg(long)]
    pub offline: bool,

    /// Same as --locked and --offline
    #[arg(long)]
    pub frozen: bool,

    /// Number of parallel build jobs
    #[arg(short, long, value_name = "N")]
    pub jobs: Option<String>,

    /// Override a cargo configuration value
    #[arg(long, value_name = "KEY=VALUE|PATH")]
    pub config: Vec<String>,

    /// Build, but do not run
    #[arg(long)]
    pub no_run: bool,

    /// Show what cargo does and what the benches print
    #[arg(short, long, action = clap::ArgAction::Count)]
    pub verbose: u8,

    /// Print only results and errors
    #[arg(short, long, conflicts_with = "verbose")]
    pub quiet: bool,
}

impl CargoBenchArgs {
    /// A request for the benches that these flags name, all of their benchmarks.
    pub fn request(
        &self,
        settings: Layer,
        manifest_path: Option<PathBuf>,
        output: &OutputArgs,
    ) -> Request {
        Request {
            names_targets: !(self.package.is_empty() && self.bench.is_empty()),
            settings,
            cargo: self.flags(output.color),
            manifest_path,
            quiet: self.quiet,
            shows_output: self.verbose > 0,
            ..Request::default()
        }
    }

    /// The same as words for cargo.
    fn flags(&self, color: ColorChoice) -> CargoFlags {
        let mut common = Vec::new();
        switches(
            &mut common,
            &[
                (self.locked, "--locked"),
                (self.offline, "--offline"),
                (self.frozen, "--frozen"),
            ],
        );
        values(&mut common, "--config", &self.config);
        let mut build = Vec::new();
        switches(
            &mut build,
            &[
                (self.workspace, "--workspace"),
                (self.benches, "--benches"),
                (self.all_features, "--all-features"),
                (self.no_default_features, "--no-default-features"),
                (self.quiet, "--quiet"),
            ],
        );
        values(&mut build, "--package", &self.package);
        values(&mut build, "--exclude", &self.exclude);
        values(&mut build, "--bench", &self.bench);
        values(&mut build, "--features", &self.features);
        values(&mut build, "--profile", self.profile.as_slice());
        values(&mut build, "--target", self.target.as_slice());
        values(&mut build, "--jobs", self.jobs.as_slice());
        build.extend((0..self.verbose).map(|_| "--verbose".to_owned()));
        build.extend(["--color".to_owned(), color.name().to_owned()]);
        CargoFlags {
            common,
            build,
            target_dir: self.target_dir.clone(),
            profile: self.profile.clone(),
            target: self.target.clone(),
        }
    }
}

fn switches(words: &mut Vec<String>, switches: &[(bool, &str)]) {
    let set = switches.iter().filter(|(is_set, _)| *is_set);
    words.extend(set.map(|(_, switch)| (*switch).to_owned()));
}

fn values(words: &mut Vec<String>, flag: &str, values: &[String]) {
    for value in values {
        words.extend([flag.to_owned(), value.clone()]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_of_cargo_bench_are_handed_on() {
        let flags = CargoBenchArgs {
            package: vec!["a".to_owned(), "b".to_owned()],
            features: vec!["x,y".to_owned()],
            profile: Some("dev".to_owned()),
            target_dir: Some("t".into()),
            locked: true,
            no_default_features: true,
            verbose: 2,
            ..CargoBenchArgs::default()
        };
        let words = flags.flags(ColorChoice::Always);
        assert_eq!(words.common, ["--locked"]);
        assert_eq!(
            words.build.join(" "),
            "--no-default-features --package a --package b --features x,y --profile dev \
             --verbose --verbose --color always"
        );
        assert_eq!(words.target_dir, Some("t".into()));
    }

    #[test]
    fn a_filter_is_known_on_either_side_of_the_dashes() {
        let args = |filter: Option<&str>, criterion: &str| LaunchArgs {
            filter: filter.map(str::to_owned),
            criterion: criterion.split_whitespace().map(str::to_owned).collect(),
            ..LaunchArgs::default()
        };
        let behind = args(None, "--nresamples 2000 longest --verbose");
        assert_eq!(behind.filter(), Some("longest"));
        let rest = ["--nresamples", "2000", "--verbose"];
        assert_eq!(behind.criterion_without_filter(), rest);
        let before = args(Some("a"), "--color never");
        assert_eq!(before.filter(), Some("a"));
        assert_eq!(before.criterion_without_filter(), ["--color", "never"]);
        assert_eq!(args(None, "--noplot").filter(), None);
    }
}
