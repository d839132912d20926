//! The calls through which a benchmark reached the code that its slots went to.

use serde::{Deserialize, Serialize};

use crate::code::CodeCounts;

/// Where a benchmark's slots went, by call path: sums over the samples that determined its launch
/// values, in all modelled launches.
///
/// The paths are a tree. All counts together are the benchmark's slots per iteration times
/// `iterations`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct CallPaths {
    /// Number of calls of the benchmarked routine that the counts cover; at least 1.
    pub iterations: u64,
    /// The functions on the paths.
    pub functions: Vec<CalledFunction>,
    /// The paths, callers first. Calls with few slots are counted with their callers.
    pub paths: Vec<CallPath>,
}

/// A function on a path. Inlined functions have paths of their own, where the bench has debug
/// information.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct CalledFunction {
    /// Its demangled path without the hash; absent for code without a symbol.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The file name of the library that contains it, or the kernel's name for it; absent for the
    /// bench executable itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub module: Option<String>,
}

/// A function that was reached through its callers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct CallPath {
    /// Index of the path that called it, which is smaller than its own; absent for code of the
    /// window itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub caller: Option<u32>,
    /// Index of the function.
    pub function: u32,
    /// Where the caller calls it, if there is debug information. Of several places, the one with
    /// the most slots.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub called_at: Option<SourceLine>,
    /// Its cost, excluding the functions it called.
    pub counts: CodeCounts,
}

/// A line of source.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct SourceLine {
    /// The file: relative to the workspace, or the end of a path outside of it.
    pub file: String,
    /// The line, from 1.
    pub line: u32,
    /// Whether the file is part of the workspace.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub in_workspace: bool,
}

impl std::fmt::Display for SourceLine {
    /// Formats as `src/lib.rs:4`.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.file, self.line)
    }
}

impl CallPaths {
    /// Returns the total cost of each path, including the functions it called, by index.
    pub fn totals(&self) -> Vec<CodeCounts> {
        let mut totals: Vec<CodeCounts> = self.paths.iter().map(|path| path.counts).collect();
        for (index, path) in self.paths.iter().enumerate().rev() {
            if let Some(caller) = path.caller {
                let total = totals[index];
                totals[caller as usize] += total;
            }
        }
        totals
    }

    /// Returns the cost of all paths together.
    pub fn total(&self) -> CodeCounts {
        let mut total = CodeCounts::default();
        for path in &self.paths {
            total += path.counts;
        }
        total
    }

    /// Returns the function of a path.
    pub fn function_of(&self, path: &CallPath) -> &CalledFunction {
        &self.functions[path.function as usize]
    }
}
