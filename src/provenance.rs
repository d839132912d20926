//! What a set of samples is: which source, which formula, on which kind of core, at which cost.
//!
//! Travels from the bench process to the run file. Runs of different sources or formulas are never
//! compared.

use std::fmt;

#[cfg(feature = "run_file")]
use serde::{Deserialize, Serialize};

use crate::activity::Elsewhere;

/// The reason of a benchmark that has time alone since its `iter_custom` returned durations.
pub const TIMES_ITSELF: &str = "the benchmark times itself: its `iter_custom` returns a `Duration`";

/// Where numbers come from. Numbers of different sources are never mixed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "run_file", derive(Serialize, Deserialize))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "run_file", serde(rename_all = "lowercase"))]
pub enum SourceKind {
    /// The CPU's performance counters.
    Hardware,
    /// A model of a core, fed with the executed instructions.
    Model,
    /// The clock: no slots at all.
    Time,
}

impl SourceKind {
    /// The word that files, flags and reports use.
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

/// Whose slots are counted. Those of one thread and of all are different things.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "run_file", derive(Serialize, Deserialize))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "run_file", serde(rename_all = "lowercase"))]
pub enum CountedThreads {
    /// Those of the measuring thread.
    #[default]
    Own,
    /// Those of all threads of the process.
    All,
}

impl CountedThreads {
    /// The word that files, flags and reports use.
    pub fn name(self) -> &'static str {
        match self {
            CountedThreads::Own => "own",
            CountedThreads::All => "all",
        }
    }

    #[cfg(feature = "run_file")]
    fn is_own(&self) -> bool {
        *self == CountedThreads::Own
    }
}

/// What a set of samples is and how it was obtained.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "run_file", derive(Serialize, Deserialize))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "run_file", serde(deny_unknown_fields))]
pub struct Provenance {
    /// Where the numbers come from.
    pub source: SourceKind,
    /// Which formula made categories of counts, as `name/version`; a change of either makes runs
    /// incomparable. `time/1` where there are no slots.
    pub formula: String,
    /// The PMU of a hybrid machine's core type, such as `cpu_core`; absent elsewhere.
    #[cfg_attr(
        feature = "run_file",
        serde(default, skip_serializing_if = "Option::is_none")
    )]
    pub core_type: Option<String>,
    /// Issue slots per cycle of this core, where known.
    #[cfg_attr(
        feature = "run_file",
        serde(default, skip_serializing_if = "Option::is_none")
    )]
    pub slots_per_cycle: Option<u32>,
    /// Why this source was chosen, one sentence for people.
    pub reason: String,
    /// What an empty window costs, measured at open. Not subtracted from samples; launch values are
    /// without it.
    #[cfg_attr(
        feature = "run_file",
        serde(default, skip_serializing_if = "Option::is_none")
    )]
    pub empty_window: Option<EmptyWindow>,
    /// Whose slots are counted; absent for those of the measuring thread alone.
    #[cfg_attr(
        feature = "run_file",
        serde(default, skip_serializing_if = "CountedThreads::is_own")
    )]
    pub threads: CountedThreads,
    /// Why the slots of the benchmark would not be about its work, so that its time alone was kept.
    #[cfg_attr(
        feature = "run_file",
        serde(default, skip_serializing_if = "Option::is_none")
    )]
    pub elsewhere: Option<Elsewhere>,
}

impl Provenance {
    /// That of the same benchmark where its slots are not about its work: it has time alone, and time
    /// judges it.
    pub fn with_work(&self, elsewhere: Elsewhere) -> Provenance {
        Provenance {
            source: SourceKind::Time,
            formula: "time/1".to_owned(),
            slots_per_cycle: None,
            reason: format!("{}; the work is not on the measured thread", self.reason),
            empty_window: self.empty_window.map(|window| EmptyWindow {
                wall_ns: window.wall_ns,
                ..EmptyWindow::default()
            }),
            threads: CountedThreads::Own,
            elsewhere: Some(elsewhere),
            core_type: self.core_type.clone(),
        }
    }

    /// The modelled core, and the version of the model; `None` for other sources.
    pub fn modelled_core(&self) -> Option<(&str, &str)> {
        let formula = self.formula.strip_prefix("model-")?;
        (self.source == SourceKind::Model).then(|| formula.split_once('/'))?
    }
}

/// The cost of a window that holds nothing: the median of many.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "run_file", derive(Serialize, Deserialize))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "run_file", serde(deny_unknown_fields))]
pub struct EmptyWindow {
    /// Slots between the two readings; absent without slots.
    #[cfg_attr(
        feature = "run_file",
        serde(default, skip_serializing_if = "Option::is_none")
    )]
    pub slots: Option<u64>,
    /// Instructions between the two readings, where they are counted.
    #[cfg_attr(
        feature = "run_file",
        serde(default, skip_serializing_if = "Option::is_none")
    )]
    pub instructions: Option<u64>,
    /// Cycles between the two readings, where they are counted.
    #[cfg_attr(
        feature = "run_file",
        serde(default, skip_serializing_if = "Option::is_none")
    )]
    pub cycles: Option<u64>,
    /// Wall-clock nanoseconds between the two readings.
    pub wall_ns: u64,
}
