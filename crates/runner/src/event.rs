//! Events of `bench --message-format json`: one JSON object per line, like cargo's messages.

use std::io::Write;
use std::path::Path;

use serde::Serialize;
use topdown_run::run_file::BenchmarkId;

use topdown_terminal::terminal::stdout_for_programs;

/// An event of a suite that is measured.
#[derive(Debug, Serialize)]
#[serde(tag = "reason", rename_all = "kebab-case")]
pub enum Event<'a> {
    /// The benches are built.
    BuildFinished {
        /// `package::target` of each.
        targets: &'a [String],
    },
    /// A process of a bench target starts.
    LaunchStarted {
        /// The package's name.
        package: &'a str,
        /// The bench target's name.
        target: &'a str,
        /// Counted from 1.
        launch: u32,
        /// Maximum number: the first one may show that fewer are enough.
        of: u32,
    },
    /// A benchmark starts in that process.
    BenchmarkStarted {
        /// The package's name.
        package: &'a str,
        /// The bench target's name.
        target: &'a str,
        /// criterion's full id.
        benchmark: &'a str,
    },
    /// The process has ended.
    LaunchFinished {
        /// The package's name.
        package: &'a str,
        /// The bench target's name.
        target: &'a str,
        /// Its time.
        seconds: f64,
    },
    /// A benchmark is measured, in all of its launches.
    BenchmarkFinished {
        /// The benchmark.
        id: &'a BenchmarkId,
        /// Number of measured launches.
        launches: usize,
    },
    /// Something failed.
    Failed {
        /// The bench target or benchmark.
        name: &'a str,
    },
    /// The run is stored.
    RunFinished {
        /// The run's id.
        id: &'a str,
        /// The directory of the run file, as the newest run.
        directory: &'a Path,
        /// Their number.
        benchmarks: usize,
        /// Number of bench targets and benchmarks that failed.
        failed: usize,
    },
}

impl Event<'_> {
    /// Prints the event. Errors of standard output are ignored, as for any progress.
    pub fn print(&self) {
        let mut line = serde_json::to_vec(self).expect("an event is JSON");
        line.push(b'\n');
        let _ = stdout_for_programs().write_all(&line);
    }
}
