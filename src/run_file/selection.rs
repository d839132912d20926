//! What a run was asked for, where that is less than the whole suite.
//!
//! Knows the words of the command line and what they meant in the workspace. Which benchmarks of
//! another run they leave out is decided where runs are compared.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::BenchmarkId;

/// What a run was asked for; the default is the whole suite.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Selection {
    /// Only benchmarks whose name this lets through.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filter: Option<Filter>,
    /// Only these bench targets, since packages or targets were named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub only_targets: Option<Vec<TargetId>>,
    /// Not these bench targets, though the workspace has them: packages that were excluded or are not
    /// built by default, and targets whose features are off.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub without_targets: Vec<TargetId>,
    /// Not what these patterns mean, since a setting leaves it out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<LeftOut>,
    /// Only these benchmarks: those of a shard.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub only_benchmarks: Option<Vec<BenchmarkId>>,
    /// Not these, since they execute what they did in an earlier run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unchanged: Option<Unchanged>,
}

/// Benchmarks that were left out, since their fingerprints are those of an earlier run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Unchanged {
    /// The `id` of that run.
    pub since: String,
    /// The benchmarks.
    pub benchmarks: Vec<BenchmarkId>,
}

/// A filter of benchmarks, as criterion applies it to their names.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Filter {
    /// A regular expression that some part of the name matches.
    pub expression: String,
    /// Whether `expression` is the whole name instead.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub exact: bool,
}

/// What a setting leaves out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct LeftOut {
    /// Only in this package.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub package: Option<String>,
    /// With `*` and `?`: of the name of a benchmark, of `package::target::name`, or of
    /// `package::target`.
    pub pattern: String,
}

/// A bench target of a workspace.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct TargetId {
    /// The cargo package.
    pub package: String,
    /// The bench target.
    pub target: String,
}

impl Selection {
    /// Whether the whole suite was asked for.
    pub fn is_whole(&self) -> bool {
        *self == Selection::default()
    }
}

impl fmt::Display for Filter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let exactly = if self.exact { "--exact " } else { "" };
        write!(f, "filter `{exactly}{}`", self.expression)
    }
}

impl fmt::Display for TargetId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}::{}", self.package, self.target)
    }
}
