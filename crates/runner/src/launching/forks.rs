//! Launches in which a bench forks a process for each of its benchmarks.
//!
//! Each benchmark has a process of its own, but the bench starts and makes its set-up once. That
//! works only with this library's stand-in for criterion, and if a fork would be a copy: a launch
//! that measures nothing shows that.

use std::collections::HashMap;
use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::sync::Arc;

use topdown_run::forks::{CAN_FORK, Entry, PLAN_PREFIX, PROBE_PREFIX};

use crate::launching::launch_error::LaunchError;
use crate::launching::launcher::Launcher;
use crate::targets::bench_targets::BenchTarget;

/// The file in a launch's directory.
const FILE: &str = "forks";

/// Steps of a bench before each of its benchmarks.
#[derive(Clone, Debug)]
pub enum Forks {
    /// Says whether it could fork.
    Probe,
    /// Forks a process for each benchmark of the target.
    Plan {
        /// All benchmarks of the bench, in the order in which it reaches them.
        order: Arc<[String]>,
        /// Number of samples that a benchmark repeats, if it repeats an earlier launch.
        repeats: HashMap<String, u32>,
    },
}

impl Forks {
    /// Returns what to do with each benchmark of a bench, of which these are wanted.
    fn entries(&self, wanted: &[String]) -> Vec<Entry> {
        let Forks::Plan { order, repeats } = self else {
            return Vec::new();
        };
        let entry = |name: &String| match wanted.contains(name) {
            true => Entry::Measure {
                repeats: repeats.get(name).copied().unwrap_or(0),
            },
            false => Entry::Skip,
        };
        order.iter().map(entry).collect()
    }

    /// Writes the file that the bench reads, in the `directory` of its launch, and returns the
    /// value of the variable that names it.
    pub(super) fn write(&self, target: &BenchTarget, directory: &Path) -> io::Result<OsString> {
        let path = directory.join(FILE);
        let entries = self.entries(target.benchmarks.as_deref().unwrap_or_default());
        let bytes: Vec<u8> = entries.into_iter().flat_map(Entry::to_bytes).collect();
        std::fs::write(&path, bytes)?;
        let mut value = OsString::from(match self {
            Forks::Probe => PROBE_PREFIX,
            Forks::Plan { .. } => PLAN_PREFIX,
        });
        value.push(path);
        Ok(value)
    }
}

/// Result of a launch that measures nothing.
#[derive(Debug, Default)]
pub struct Probed {
    /// All benchmarks, in the order in which the bench reaches them, if it can fork before each.
    pub order: Option<Arc<[String]>>,
}

impl Launcher {
    /// Launches `target` without measuring.
    ///
    /// # Errors
    /// As [`list`](Launcher::list).
    pub fn probe(&self, target: &BenchTarget) -> Result<Probed, LaunchError> {
        let probing = BenchTarget {
            forks: Some(Forks::Probe),
            ..target.clone()
        };
        let names = self.list(&probing)?.unwrap_or_default();
        let answers = std::fs::read(self.scratch.join(FILE)).unwrap_or_default();
        // A benchmark with the name of an earlier one is not in the list.
        let can_fork = !names.is_empty()
            && answers.len() == names.len()
            && answers.iter().all(|answer| *answer == CAN_FORK);
        Ok(Probed {
            order: can_fork.then(|| names.into()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plan_measures_wanted_benchmarks_in_order() {
        let directory = tempfile::tempdir().unwrap();
        let names = |names: &[&str]| -> Vec<String> {
            names.iter().map(|name| (*name).to_owned()).collect()
        };
        let target = BenchTarget {
            benchmarks: Some(names(&["c", "a"])),
            ..BenchTarget::named("p", "t")
        };
        let plan = Forks::Plan {
            order: names(&["a", "b", "c"]).into(),
            repeats: HashMap::from([("c".to_owned(), 9)]),
        };
        let value = plan.write(&target, directory.path()).unwrap();
        let path = value.to_str().unwrap().strip_prefix(PLAN_PREFIX).unwrap();
        let written = std::fs::read_to_string(path).unwrap();
        assert_eq!(written, "00000000--------00000009");
    }
}
