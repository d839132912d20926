//! The formats, and how to detect them.

use clap::ValueEnum;

use super::execution::{Execution, Located};
use super::problem::Problem;
use super::{perf_csv, perf_json, perf_script, topdown_tool, toplev, windows_perf};

/// What a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// `perf stat -j`.
    PerfJson,
    /// `perf stat -x,`, or with another separator.
    PerfCsv,
    /// `toplev -x, -o FILE` or `toplev -V FILE` of pmu-tools.
    Toplev,
    /// `topdown-tool --cpu-generate-csv events` of Arm.
    TopdownTool,
    /// `perf script` of a group that was recorded with its counts (`perf record -e '{…}:S'`).
    PerfScript,
    /// `wperf stat --json` of WindowsPerf.
    WindowsPerf,
}

/// How the outputs of PerfSpect begin: the intervals as CSV, JSON and wide text, and their means.
/// Source: its print.go and summary.go, version 3.17.1.
const PERFSPECT_BEGINNINGS: [&str; 6] = [
    "TS,SKT,CPU,CID,",
    "{\"Metrics\":[",
    "Timestamp    ",
    "metric,",
    "SKT,metric,",
    "CPU,metric,",
];
/// What is above each interval of its text.
const PERFSPECT_HEADING: &str = "\n- Metrics captured at ";

fn is_of_perfspect(text: &str) -> bool {
    let text = text.trim_start();
    let mut beginnings = PERFSPECT_BEGINNINGS.iter();
    beginnings.any(|beginning| text.starts_with(beginning)) || text.contains(PERFSPECT_HEADING)
}

impl Format {
    /// Detects the format of a file from its content.
    ///
    /// # Errors
    /// Returns an error if it has none of them.
    pub fn new(text: &str) -> Result<Format, Problem> {
        if is_of_perfspect(text) {
            return Err(Problem::PerfSpect);
        }
        Format::detect(text).ok_or_else(|| {
            if text.lines().all(|line| perf_csv::is_skipped(line.trim())) {
                Problem::Empty
            } else if let Some(form) = toplev::unreadable_form(text) {
                Problem::ToplevForm { form }
            } else if topdown_tool::is_printed(text) {
                Problem::SharesOnly
            } else {
                Problem::UnknownFormat
            }
        })
    }

    fn detect(text: &str) -> Option<Format> {
        let is_beside_comments = |line: &&str| !line.starts_with('#') && perf_csv::is_skipped(line);
        let lines = text.lines().map(str::trim);
        let mut lines = lines.filter(|line| !is_beside_comments(line));
        let first = lines.next()?;
        let of_line = |line: &str| {
            if topdown_tool::is_header(line) {
                Some(Format::TopdownTool)
            } else if toplev::is_header(line) {
                Some(Format::Toplev)
            } else if line.starts_with('{') {
                if windows_perf::is_document(text) {
                    Some(Format::WindowsPerf)
                } else {
                    Some(Format::PerfJson)
                }
            } else if perf_csv::is_row(line) {
                Some(Format::PerfCsv)
            } else if perf_script::is_line(line) {
                Some(Format::PerfScript)
            } else {
                None
            }
        };
        if first.starts_with('#') {
            of_line(lines.find(|line| !line.starts_with('#'))?)
        } else {
            of_line(first)
        }
    }

    /// Reads a file of this format.
    ///
    /// # Errors
    /// Returns what is wrong with it, and where.
    pub fn read(self, text: &str) -> Result<Vec<Execution>, Located> {
        match self {
            Format::PerfJson => perf_json::read(text),
            Format::PerfCsv => perf_csv::read(text),
            Format::PerfScript => Ok(vec![perf_script::read(text)?]),
            Format::Toplev => Ok(vec![toplev::read(text)?]),
            Format::TopdownTool => Ok(vec![topdown_tool::read(text)?]),
            Format::WindowsPerf => Ok(vec![windows_perf::read(text)?]),
        }
    }
}
