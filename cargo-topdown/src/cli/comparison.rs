//! The command line of `compare` and `check`, and of the policy that both follow.

use clap::Args;
use clap::builder::{BoolishValueParser, PossibleValue, PossibleValuesParser, TypedValueParser};

use super::{ColorChoice, ListingArgs, OutputArgs, SelectionArgs, StoreArgs};
use crate::comparing::output::Output;
use crate::error::Error;
use topdown_gate::policy::{
    AcceptedBenchmark, FailOnClass, MarginSetting, Overrides, Subject, checked_alarms_per_year,
    checked_alpha,
};
use topdown_report::detail::Detail;
use topdown_report::request::ReportRequest;

/// `cargo topdown compare`.
#[derive(Debug, Args)]
pub struct CompareArgs {
    /// The baseline to compare with: its name or a run file [default: the only one, or `main`]
    #[arg(value_name = "BASE")]
    pub base: Option<String>,

    /// The run to judge: a baseline's name or a run file [default: the newest run]
    #[arg(value_name = "CANDIDATE")]
    pub candidate: Option<String>,

    /// Show every step that led to the verdict on one benchmark
    #[arg(long, value_name = "BENCH", conflicts_with = "json")]
    pub explain: Option<String>,

    /// Show all benchmarks, both runs in full, and all categories, functions and changed code
    #[arg(short, long)]
    pub verbose: bool,

    /// Rerun suspected regressions once before judging
    ///
    /// Benchmarks that may be slower get up to 20 launches and are judged by all of them. The run's
    /// executables must still exist, on this machine.
    #[arg(
        long,
        value_name = "BOOL",
        env = "CARGO_TOPDOWN_RELAUNCH",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "true",
        value_parser = BoolishValueParser::new()
    )]
    pub relaunch: Option<bool>,

    /// Sample the functions of all benchmarks that the hardware counted [default: of up to five
    /// that regressed]
    ///
    /// Three further launches of each record where the code is, after the judgement. The run's
    /// executables must still exist, on this machine. `--functions=false` launches nothing.
    #[arg(
        long,
        value_name = "BOOL",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "true",
        value_parser = BoolishValueParser::new()
    )]
    pub functions: Option<bool>,

    /// Pass if the run cannot be compared, as after a new compiler, since it becomes the baseline
    ///
    /// For runs that are saved as the baseline next, such as those of the default branch.
    #[arg(long)]
    pub becomes_baseline: bool,

    #[command(flatten)]
    pub selection: SelectionArgs,

    #[command(flatten)]
    pub comparison: ComparisonArgs,

    #[command(flatten)]
    pub policy: PolicyArgs,

    #[command(flatten)]
    pub store: StoreArgs,

    #[command(flatten)]
    pub output: OutputArgs,
}

/// `cargo topdown check`.
#[derive(Debug, Args)]
pub struct CheckArgs {
    /// The run to judge: a baseline's name or a run file [default: the newest run]
    #[arg(value_name = "RUN")]
    pub run: Option<String>,

    /// Print the check as JSON
    #[arg(long)]
    pub json: bool,

    #[command(flatten)]
    pub policy: PolicyArgs,

    #[command(flatten)]
    pub store: StoreArgs,

    #[command(flatten)]
    pub output: OutputArgs,
}

/// What fails; more can be set in `[workspace.metadata.topdown.policy]`.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Policy")]
pub struct PolicyArgs {
    /// Also fail on these verdicts; regressed always fails
    #[arg(
        long,
        value_name = "VERDICTS",
        value_delimiter = ',',
        env = "CARGO_TOPDOWN_FAIL_ON",
        value_parser = fail_on_class()
    )]
    pub fail_on: Option<Vec<FailOnClass>>,

    /// The metrics that can fail a benchmark, separated by commas [default: all but `allocations`]
    ///
    /// With `allocations`, a benchmark that allocates more per iteration fails. If a side did not
    /// count them, it is not comparable.
    #[arg(
        long,
        value_name = "METRICS",
        value_delimiter = ',',
        env = "CARGO_TOPDOWN_GATE"
    )]
    pub gate: Option<Vec<Subject>>,

    /// The smallest change of a metric that matters [default: 3 %; `wall` 5 %; `model` 2 %]
    ///
    /// A third of it must be certain. METRIC can also be `categories` (all of them) or `model`
    /// (modelled slots that are compared exactly).
    #[arg(
        long = "margin",
        value_name = "METRIC=PERCENT",
        value_delimiter = ',',
        env = "CARGO_TOPDOWN_MARGIN"
    )]
    pub margins: Vec<MarginSetting>,

    /// Accept whatever change this benchmark has in this comparison; may be repeated
    ///
    /// BENCH is its name or its whole id. `baseline accept` accepts a change until it grows.
    #[arg(long = "accept", value_name = "BENCH: REASON")]
    pub accepted: Vec<AcceptedBenchmark>,

    /// The probability that an unchanged suite fails [default: 0.05]
    #[arg(long, value_name = "P", env = "CARGO_TOPDOWN_ALPHA", value_parser = alpha)]
    pub alpha: Option<f64>,

    /// The number of merges of an unchanged suite that may fail in a year; lowers `--alpha`
    ///
    /// Merges are counted by the baseline's history; with fewer than six runs, 250 are assumed.
    #[arg(
        long,
        value_name = "N",
        env = "CARGO_TOPDOWN_FALSE_ALARMS_PER_YEAR",
        value_parser = alarms_per_year
    )]
    pub false_alarms_per_year: Option<f64>,

    /// Pass even if benchmarks of the baseline are missing
    ///
    /// A benchmark that a filter or the choice of targets left out is not missing.
    #[arg(
        long,
        env = "CARGO_TOPDOWN_ALLOW_MISSING",
        value_parser = BoolishValueParser::new()
    )]
    pub allow_missing: bool,

    /// Pass even if no benchmark could be decided
    ///
    /// Otherwise such a comparison ends with exit code 104.
    #[arg(
        long,
        env = "CARGO_TOPDOWN_ALLOW_NOTHING_DECIDED",
        value_parser = BoolishValueParser::new()
    )]
    pub allow_nothing_decided: bool,

    /// Compare runs even if rustc or RUSTFLAGS differ, with a warning
    #[arg(
        long,
        env = "CARGO_TOPDOWN_ACROSS_BUILDS",
        value_parser = BoolishValueParser::new()
    )]
    pub across_builds: bool,
}

impl PolicyArgs {
    /// Returns the flags as overrides for [`Policy`](topdown_gate::policy::Policy).
    pub fn overrides(&self) -> Overrides {
        Overrides {
            alpha: self.alpha,
            false_alarms_per_year: self.false_alarms_per_year,
            fail_on: self.fail_on.clone(),
            gate: self.gate.clone(),
            margins: self.margins.clone(),
            allow_missing: self.allow_missing,
            allow_nothing_decided: self.allow_nothing_decided,
            across_builds: self.across_builds,
            accepted: self.accepted.clone(),
        }
    }
}

fn fail_on_class() -> impl TypedValueParser<Value = FailOnClass> {
    let value = |class: FailOnClass| PossibleValue::new(class.name()).help(class.meaning());
    PossibleValuesParser::new(FailOnClass::ALL.map(value)).try_map(|word| {
        let mut classes = FailOnClass::ALL.into_iter();
        classes.find(|class| class.name() == word).ok_or("unknown")
    })
}

fn alarms_per_year(text: &str) -> Result<f64, String> {
    let number = text.parse();
    checked_alarms_per_year(number.map_err(|_| format!("{text:?} is not a number"))?)
}

fn alpha(text: &str) -> Result<f64, String> {
    checked_alpha(
        text.parse()
            .map_err(|_| format!("`{text}` is not a number"))?,
    )
}

/// How to report a comparison.
#[derive(Debug, Args)]
#[command(next_help_heading = "Reports")]
pub struct ComparisonArgs {
    /// Print the comparison as JSON; without a comparison, the run
    #[arg(long)]
    pub json: bool,

    /// Show events too: branches, misses, bytes and allocations, where the source counts them
    ///
    /// Markdown reports show them as well. JSON always has them.
    #[arg(long, conflicts_with = "json")]
    pub events: bool,

    /// Also write a report; may be repeated
    ///
    /// FORMAT is `github` (annotations), or `markdown`, `comment`, `junit`, `html` or `json` with
    /// `=PATH`. Without a comparison, `html` and `json` show the run, and no other is available.
    #[arg(long = "report", value_name = "FORMAT[=PATH]")]
    pub reports: Vec<ReportRequest>,

    /// Show which lines and instructions of BENCH changed [default: the benchmark that regressed
    /// most]
    ///
    /// Launches the executables of both sides once more, so they must still exist, on this machine.
    /// `bench --against` builds both, and keeps the base's run in `target/topdown/against/run`.
    #[arg(
        long,
        value_name = "BENCH",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "",
        conflicts_with = "json"
    )]
    pub annotate: Option<String>,

    #[command(flatten)]
    pub listing: ListingArgs,
}

impl ComparisonArgs {
    /// Returns what to print and write, in these colours; with all details if `verbose`.
    pub fn output(&self, verbose: bool, color: ColorChoice) -> Output<'_> {
        Output {
            json: self.json,
            detail: if verbose {
                Detail::All
            } else {
                Detail::Sentences
            },
            events: self.events,
            reports: &self.reports,
            color: color.into(),
        }
    }

    /// Refuses flags for lines that are not shown. `compares` says whether there are two sides.
    ///
    /// # Errors
    /// Returns an error that names the flag.
    pub fn check_listing(&self, compares: bool) -> Result<(), Error> {
        match (&self.annotate, self.listing.first_flag()) {
            (Some(_), _) if !compares => Err(Error::AnnotateNeedsComparison),
            (None, Some(flag)) => Err(Error::NeedsAnnotate { flag }),
            _ => Ok(()),
        }
    }

    /// Returns whether any report shows the baseline's history.
    pub fn shows_history(&self) -> bool {
        self.reports.iter().any(ReportRequest::shows_history)
    }
}
