//! State shared by all launches of a run.

use std::path::PathBuf;

use crate::launching::bench_process::MAX_OUTPUT_BYTES;
use crate::launching::excerpt::{end_of_file, excerpt_of_file};
use crate::launching::load::LoadMeter;
use crate::targets::bench_targets::cargo_program;
use topdown_system::scratch::Scratch;
use topdown_system::session::Starter;

/// What a launch needs in addition to its target.
#[derive(Clone)]
pub struct Launcher {
    /// Holds the files of one launch, which the next overwrites.
    pub scratch: PathBuf,
    /// `$CARGO`.
    pub cargo: PathBuf,
    /// Additional arguments for the bench executable.
    pub arguments: Vec<String>,
    /// The user's filter, as arguments for the bench executable.
    pub filter: Vec<String>,
    /// Whether to show the benches' output even if they succeed.
    pub shows_output: bool,
    /// A command that starts the bench, whose own command line is appended.
    pub through: Option<&'static [&'static str]>,
    /// The metric group that the library counts instead of the categories.
    pub group: Option<&'static str>,
    /// The metric group whose retire latencies the library records instead of counting.
    pub latencies_of: Option<&'static str>,
    /// Cycles, or counts of each event of `group`, after which the library records a PMU sample,
    /// instead of giving slots. Empty if it gives slots.
    pub hit_periods: Vec<u64>,
    /// Number of launches of a target of `auto` whose first launch found no counters.
    pub launches_without_counters: u32,
    /// The load of the machine.
    pub load: LoadMeter,
    /// Whether other launches run at the same time.
    pub beside_others: bool,
    /// Starts benches in their own sessions, if the system has them.
    pub starter: Option<Starter>,
    /// The text of a core for which the library has no table.
    pub described_core: Option<&'static str>,
}

impl Launcher {
    /// Launches benches with `arguments`, each in a session of its own, without a filter.
    /// `described_core` is the text of a core for which the library has no table.
    pub fn new(
        scratch: &Scratch,
        arguments: Vec<String>,
        described_core: Option<&'static str>,
    ) -> Launcher {
        Launcher {
            scratch: scratch.path().to_owned(),
            cargo: cargo_program(),
            arguments,
            filter: Vec::new(),
            shows_output: false,
            through: None,
            group: None,
            latencies_of: None,
            hit_periods: Vec::new(),
            launches_without_counters: u32::MAX,
            load: LoadMeter::default(),
            beside_others: false,
            starter: Starter::for_this_program(),
            described_core,
        }
    }

    /// Returns the part of the last bench's output that says what went wrong.
    pub fn output_excerpt(&self) -> String {
        // Without the file there is nothing to show, beside the failure that is reported anyway.
        excerpt_of_file(&self.output_path()).unwrap_or_default()
    }

    /// Returns the whole output of the last bench.
    pub fn output(&self) -> String {
        end_of_file(&self.output_path(), MAX_OUTPUT_BYTES).unwrap_or_default()
    }

    /// The file to which a bench writes what it prints.
    pub(super) fn output_path(&self) -> PathBuf {
        self.scratch.join("output.txt")
    }
}
