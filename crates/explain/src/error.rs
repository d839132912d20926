//! The errors of `cargo topdown explain`.

use thiserror::Error;
use topdown_counters::error::OpenError;
use topdown_run::run_file::BenchmarkId;

/// Why nothing is explained.
#[derive(Debug, Error)]
pub enum ExplainError {
    /// Several benchmarks match.
    #[error(
        "`{wanted}` matches {} benchmarks; name one of them with `--exact`:\n  {}",
        ids.len(),
        lines_of(ids)
    )]
    NotOne {
        /// The category that the user asked for.
        wanted: String,
        /// The matching benchmarks.
        ids: Vec<BenchmarkId>,
    },
    /// There are no categories to explain.
    #[error(
        "`{id}` has only time and no slots, so there is nothing to explain: {reason}. Metric \
         groups need the CPU's own counters{model}",
        model = of_the_model(
            "; `cargo topdown explain --source model` uses the events of a modelled core instead"
        )
    )]
    NoSlots {
        /// The benchmark.
        id: BenchmarkId,
        /// Why it has no slots.
        reason: String,
    },
    /// The launch counted slots but no categories.
    #[error("`{0}` has no slots by category, so there is nothing to explain; measure for longer")]
    NoCategories(BenchmarkId),
    /// Nothing is known of its instructions.
    #[error(
        "the slots of single instructions of `{id}` are unknown: {reason}{model}",
        model = of_the_model("; `--source model` counts them on a modelled core")
    )]
    NoInstructions {
        /// The benchmark.
        id: Box<BenchmarkId>,
        /// Why.
        reason: String,
    },
    /// It has no slots in such a function.
    #[error("no function of `{id}` with `{wanted}` in its name has slots{nearest}")]
    NoSuchFunction {
        /// The function that the user asked for.
        wanted: String,
        /// The benchmark.
        id: Box<BenchmarkId>,
        /// The function that may have been meant.
        nearest: String,
    },
    /// There are no metric groups for this CPU.
    #[error("the metric groups of this CPU are not known: {0}")]
    NoTable(OpenError),
    /// Only one of two runs has the benchmark.
    #[error(
        "`{id}` is in `{having}` and not in `{lacking}`, so there is no difference to explain; \
         {remedy}"
    )]
    OneSided {
        /// The benchmark.
        id: Box<BenchmarkId>,
        /// The label of the run without it.
        lacking: String,
        /// The label of the run that has it.
        having: String,
        /// What to run.
        remedy: String,
    },
    /// The two runs measured different things.
    #[error("the two runs of `{id}` cannot be compared: {differences}")]
    NotComparable {
        /// The benchmark.
        id: BenchmarkId,
        /// How they differ.
        differences: String,
    },
    /// One side or both have no slots by category.
    #[error(
        "`{0}` has no slots by category on both sides, so nothing says why it changed; take both \
         runs with counters{model}",
        model = of_the_model(", or with `cargo topdown bench --source model`")
    )]
    NoSlotsCompared(BenchmarkId),
    /// One side has no events.
    #[error(
        "`{lacking}` has no events of `{id}`, but the other run has; measure it again with the \
         same source and version: `cargo topdown bench`"
    )]
    EventsOfOneSide {
        /// The benchmark.
        id: BenchmarkId,
        /// The label of the run without events.
        lacking: String,
    },
}

/// Returns advice to use the model, where there is one.
fn of_the_model(advice: &'static str) -> &'static str {
    if cfg!(all(target_os = "linux", target_arch = "x86_64")) {
        advice
    } else {
        ""
    }
}

fn lines_of(ids: &[BenchmarkId]) -> String {
    let lines: Vec<String> = ids.iter().map(BenchmarkId::to_string).collect();
    lines.join("\n  ")
}
