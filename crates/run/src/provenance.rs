//! Provenance of a set of samples: its source, formula, kind of core, and measurement cost.
//!
//! The bench process passes it on to the run file. Runs of different sources or formulas are never
//! compared.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::activity::UncountedWork;

/// The reason given for a benchmark that has only time because criterion got durations that no
/// window had.
pub const TIMES_ITSELF: &str = "the benchmark times itself, in `iter_custom` or on another thread";

/// The reason given for samples that have only time because the launch asked for the clock.
pub const CLOCK_REQUESTED: &str = "the clock was requested";

/// How the reason begins for a benchmark whose iterations are too long for the model's budget.
pub const TOO_LONG: &str = "not modelled: an iteration is too long:";

/// How the reason begins for a benchmark whose work is on threads that are not counted. The reason
/// for the clock follows, and a parenthesis.
const WORK_ELSEWHERE: &str = "the work is not on the measured thread (";

/// The formula of samples without slots.
pub const TIME_FORMULA: &str = "time/1";

/// Where numbers come from. Numbers from different sources are never mixed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum SourceKind {
    /// The CPU's performance counters.
    Hardware,
    /// A model of a core that is fed the executed instructions.
    Model,
    /// The clock, without any slots.
    Time,
}

impl SourceKind {
    /// The word used in files, flags and reports.
    pub fn name(self) -> &'static str {
        match self {
            SourceKind::Hardware => "hardware",
            SourceKind::Model => "model",
            SourceKind::Time => "time",
        }
    }
}

impl fmt::Display for SourceKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Which threads' slots are counted. One thread's slots and those of all threads are not
/// comparable.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum CountedThreads {
    /// The measuring thread.
    #[default]
    Own,
    /// All threads of the process.
    All,
}

impl CountedThreads {
    /// The word used in files, flags and reports.
    pub fn name(self) -> &'static str {
        match self {
            CountedThreads::Own => "own",
            CountedThreads::All => "all",
        }
    }

    fn is_own(&self) -> bool {
        *self == CountedThreads::Own
    }
}

/// Origin of a set of samples: its source, formula and cost.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Provenance {
    /// Where the numbers come from.
    pub source: SourceKind,
    /// The formula that turned counts into categories, as `name/version`; runs with different
    /// formulas or versions cannot be compared. `time/1` if there are no slots.
    pub formula: String,
    /// The PMU of a hybrid machine's core type, such as `cpu_core`; absent elsewhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub core_type: Option<String>,
    /// Issue slots per cycle of this core, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slots_per_cycle: Option<u32>,
    /// Why this source was chosen, in one readable sentence.
    pub reason: String,
    /// What an empty window costs, measured at open. It is subtracted from launch values, not from
    /// samples.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub empty_window: Option<EmptyWindow>,
    /// Which threads' slots are counted; absent if only the measuring thread's.
    #[serde(default, skip_serializing_if = "CountedThreads::is_own")]
    pub threads: CountedThreads,
    /// Why the benchmark's slots do not represent its work, so that only its time was kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub elsewhere: Option<UncountedWork>,
    /// Why the model traced only the measuring thread, although all threads were requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub others_not_traced: Option<String>,
    /// In how many units the model sampled an iteration that is too long to be modelled as a whole;
    /// absent if nothing was sampled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sampled_units: Option<u64>,
    /// Number of iterations that a model executed before those that count, most of them without
    /// time, so that they warmed up caches and predictors; absent if it executed all of them in
    /// detail.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warmed_iterations: Option<u64>,
    /// Whether only the first launch was modelled: a digest shows that the others executed the same
    /// instructions on data at the same places, so their slots are those of the first.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub repeated_by_digest: bool,
    /// At most this fraction (0 to 1) of the cycles that count waited for memory that a model saw
    /// for the first time; absent below 0.01.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cold_fraction: Option<f64>,
}

impl Provenance {
    /// Returns the provenance of samples of the measuring thread from `source`, with nothing known
    /// besides. `formula` is a `name/version`, `reason` one readable sentence.
    pub fn new(
        source: SourceKind,
        formula: impl Into<String>,
        reason: impl Into<String>,
    ) -> Provenance {
        Provenance {
            source,
            formula: formula.into(),
            core_type: None,
            slots_per_cycle: None,
            reason: reason.into(),
            empty_window: None,
            threads: CountedThreads::Own,
            elsewhere: None,
            others_not_traced: None,
            sampled_units: None,
            warmed_iterations: None,
            repeated_by_digest: false,
            cold_fraction: None,
        }
    }

    /// Returns the provenance of samples that have only time. `reason` is one readable sentence.
    pub fn for_clock(reason: impl Into<String>) -> Provenance {
        Provenance::new(SourceKind::Time, TIME_FORMULA, reason)
    }

    /// Returns the provenance of the same benchmark with slots that do not represent its work: it
    /// has only time, and is judged by time.
    #[inline]
    pub fn with_work(&self, elsewhere: UncountedWork) -> Provenance {
        Provenance {
            empty_window: self.empty_window.map(|window| EmptyWindow {
                wall_ns: window.wall_ns,
                ..EmptyWindow::default()
            }),
            elsewhere: Some(elsewhere),
            core_type: self.core_type.clone(),
            ..Provenance::for_clock(format!("{WORK_ELSEWHERE}{})", self.reason))
        }
    }

    /// Returns the provenance of the same times if something else counted the work: the opposite of
    /// [`with_work`](Provenance::with_work).
    pub fn without_work(&self) -> Provenance {
        let reason = self.reason.strip_prefix(WORK_ELSEWHERE);
        let reason = reason.and_then(|reason| reason.strip_suffix(')'));
        Provenance {
            elsewhere: None,
            reason: reason.unwrap_or(&self.reason).to_owned(),
            ..self.clone()
        }
    }

    /// Returns the same provenance if the model could not trace other threads, for this reason.
    pub fn without_others(&self, why: &str) -> Provenance {
        Provenance {
            reason: format!("{}, other threads not traced: {why}", self.reason),
            others_not_traced: Some(why.to_owned()),
            ..self.clone()
        }
    }

    /// Returns the modelled core and the version of the model, or `None` for other sources.
    #[inline]
    pub fn modelled_core(&self) -> Option<(&str, &str)> {
        let formula = self.formula.strip_prefix("model-")?;
        (self.source == SourceKind::Model).then(|| formula.split_once('/'))?
    }
}

/// The cost of an empty window: the median of many.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct EmptyWindow {
    /// Slots between the two readings; absent without slots.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slots: Option<u64>,
    /// Instructions between the two readings, if counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instructions: Option<u64>,
    /// Cycles between the two readings, if counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cycles: Option<u64>,
    /// Wall-clock nanoseconds between the two readings.
    pub wall_ns: u64,
}
