//! Problems with imported files.

use thiserror::Error;

use topdown_terminal::count_of;

/// What is wrong with a file, and what to do about it.
#[derive(Debug, Error, PartialEq)]
pub enum Problem {
    /// The bytes are neither UTF-8 nor UTF-16.
    #[error("not text; save it as UTF-8")]
    NotText,
    /// Longer than any output of these tools.
    #[error("longer than 64 MiB; no output of these tools is that long")]
    TooLong,
    /// None of the known formats.
    #[error(
        "unknown format; supported are the outputs of `perf stat -j` and `-x,`, `perf script`, `toplev -x,`, \
         `topdown-tool --cpu-generate-csv events` and `wperf stat --json`; choose one with \
         --format"
    )]
    UnknownFormat,
    /// A table of PerfSpect.
    #[error(
        "a table of PerfSpect, which has shares of intervals or their means, and no slots; \
         {SLOTS_ADVICE}"
    )]
    PerfSpect,
    /// An output of toplev that lacks what is needed.
    #[error("{form}; write the table of nodes (`-v -x, -o FILE`) or that of events (`-V FILE`)")]
    ToplevForm {
        /// The form, and what it lacks.
        form: &'static str,
    },
    /// toplev printed only some nodes of level 1.
    #[error(
        "toplev printed only the nodes above their thresholds ({printed}); have it print all: `-v`"
    )]
    HiddenNodes {
        /// Those of level 1 that it printed.
        printed: String,
    },
    /// A line or a field does not follow the format.
    #[error("{what}")]
    Malformed {
        /// What was found, and what was expected.
        what: String,
    },
    /// Nothing was measured.
    #[error("no counts")]
    Empty,
    /// Counts per interval.
    #[error("counts of intervals; measure without `-I`, one execution of the command at a time")]
    Intervals,
    /// Counts per core.
    #[error("counts of each CPU or core; measure without options that keep them apart")]
    PerCpu,
    /// toplev's table of nodes on a hybrid machine.
    #[error(
        "toplev keeps the types of core apart in its table of nodes; write the table of events \
         (`-V FILE`)"
    )]
    NodesPerCoreType,
    /// Means of several executions.
    #[error(
        "means of several executions (`-r`), which hide how much they differ; measure each \
         separately: `perf stat --append -o FILE …` several times, or one file each"
    )]
    Means,
    /// A required number is missing.
    #[error("`{name}` {}", lost_text(lost))]
    Lost {
        /// The event or metric.
        name: String,
        lost: Lost,
    },
    /// A required event was counted more than once.
    #[error(
        "`{name}` was counted more than once (line {first} too); count each event once, in one \
         group"
    )]
    Twice {
        name: String,
        /// The line of the first count.
        first: usize,
    },
    /// An event is in several groups of topdown-tool.
    #[error(
        "`{name}` was counted in several groups (line {first} too), which topdown-tool counts in \
         turns and extrapolates; {ONE_GROUP_ADVICE}"
    )]
    SeveralGroups {
        name: String,
        /// The line of the first count.
        first: usize,
    },
    /// topdown-tool counted more events than a core can.
    #[error(
        "{events} events, which topdown-tool counts in turns and extrapolates; {ONE_GROUP_ADVICE}"
    )]
    TooManyEvents {
        /// Their number.
        events: usize,
    },
    /// Counts of several core types.
    #[error(
        "counts of several types of core ({}); bind the command to one type with `taskset` and \
         count that alone",
        pmus.join(", ")
    )]
    SeveralCores {
        /// Their PMUs.
        pmus: Vec<String>,
    },
    /// Shares without slots.
    #[error(
        "shares without slots: slots are compared, because shares do not change when everything \
         takes longer; {SLOTS_ADVICE}"
    )]
    SharesOnly,
    /// No TopDown at all.
    #[error(
        "neither the shares of the four categories with a count of slots, nor all events of \
         {table}{}; {SLOTS_ADVICE}",
        if *is_here { "; if another machine was measured, name it with --machine" } else { "" }
    )]
    NoTopdown {
        /// The table that was tried.
        table: String,
        /// Whether it is that of this machine.
        is_here: bool,
    },
    /// The shares do not add up to 100 %.
    #[error("the categories add up to {percent:.1} % of the slots")]
    DoNotAddUp {
        /// Their sum.
        percent: f64,
    },
    /// The pipeline's width is required but unknown.
    #[error(
        "its slots are cycles times the width of the pipeline, and the width of {machine} is \
         unknown; give it with --slots-per-cycle, or name the machine with --machine"
    )]
    NoWidth { machine: String },
    /// The time is unknown.
    #[error(
        "the command's wall-clock time {}; give it with --seconds",
        time_text(printed)
    )]
    NoTime {
        /// The tool's number, if it is too coarse.
        printed: Option<Lost>,
    },
    /// `--seconds` has the wrong number of values.
    #[error(
        "--seconds has {}, and the files have {}; give one value for each",
        count_of(.given, "value"),
        count_of(.executions, "execution")
    )]
    Seconds {
        /// The number given.
        given: usize,
        /// The number needed.
        executions: usize,
    },
}

/// Why a count is unknown.
#[derive(Clone, Debug, PartialEq)]
pub enum Lost {
    /// The tool's own placeholder, such as `<not counted>`.
    Missing(String),
    /// It was counted only part of the time, and scaled.
    Multiplexed {
        /// The fraction of the time, such as `50.25 %` or `9/10`.
        running: String,
    },
}

const ONE_GROUP_ADVICE: &str = "count each event of level 1 once: `--cpu-metric-group Topdown_L1 \
     --cpu-collect-by none`, or `perf stat`";

const SLOTS_ADVICE: &str = "docs/import.md shows which command to use";

impl Problem {
    /// Makes a [`Problem::Malformed`].
    pub fn malformed(what: impl Into<String>) -> Problem {
        Problem::Malformed { what: what.into() }
    }
}

fn time_text(printed: &Option<Lost>) -> String {
    match printed {
        Some(lost) => lost_text(lost),
        None => "is missing".to_owned(),
    }
}

fn lost_text(lost: &Lost) -> String {
    match lost {
        Lost::Missing(words) => format!("has no value: {words}"),
        Lost::Multiplexed { running } => format!(
            "was counted {running} of the time and extrapolated for the rest; count fewer events \
             at once, in one group"
        ),
    }
}
