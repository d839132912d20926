//! The command line of `bench`.

use clap::builder::BoolishValueParser;
use clap::{Args, ValueEnum};
use topdown_run::run_file::Filter;

use super::{
    CargoBenchArgs, ComparisonArgs, MeasuringArgs, OutputArgs, PolicyArgs, SelectionArgs, StoreArgs,
};
use crate::measure::Request;
use crate::shard::ShardNumber;
use topdown_store::baselines::BaselineName;

/// `cargo topdown bench`: the flags of `cargo bench`, and our own.
#[derive(Debug, Args)]
pub struct BenchArgs {
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
    /// Otherwise the run is refused, because nothing would guard the other benchmarks.
    #[arg(long, requires = "save", help_heading = "Baselines")]
    pub partial: bool,

    /// List the benchmarks that would be launched, and launch nothing
    #[arg(
        long,
        conflicts_with_all = ["save", "against", "changed", "functions", "reports"],
        help_heading = "Selection"
    )]
    pub list: bool,

    /// Print the functions that the slots went to
    ///
    /// Where the hardware counts, further launches sample them. With `--against`, up to five
    /// regressed benchmarks are sampled by default; `--functions=false` samples none.
    #[arg(
        long,
        value_name = "BOOL",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "true",
        value_parser = BoolishValueParser::new(),
        help_heading = "Reports"
    )]
    pub functions: Option<bool>,

    /// Build REF too, launch both in turn, and compare; no baseline is read or saved
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

    #[command(flatten)]
    pub comparison: ComparisonArgs,

    #[command(flatten)]
    pub policy: PolicyArgs,

    #[command(flatten)]
    pub store: StoreArgs,

    #[command(flatten)]
    pub output: OutputArgs,
}

impl BenchArgs {
    /// Returns whether to print the functions of all benchmarks.
    pub fn prints_functions(&self) -> bool {
        self.functions == Some(true)
    }

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

    #[command(flatten)]
    pub selection: SelectionArgs,

    #[command(flatten)]
    pub measuring: MeasuringArgs,

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filter_may_stand_on_either_side_of_dashes() {
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
