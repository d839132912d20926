//! The part of the suite to which a run was limited.
//!
//! This module records the words of the command line and what they meant in the workspace. The
//! comparison of runs decides which benchmarks of another run they exclude.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use super::BenchmarkId;

/// The requested part of the suite; the default is all of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Selection {
    /// Only benchmarks whose names pass this filter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filter: Option<Filter>,
    /// Only benchmarks that this filter expression lets through.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expression: Option<Expression>,
    /// Only these bench targets, because packages or targets were named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub only_targets: Option<Vec<TargetId>>,
    /// All bench targets of the workspace except these: packages that were excluded or are not
    /// built by default, and targets whose features are off.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub without_targets: Vec<TargetId>,
    /// Excludes benchmarks that match these patterns, because a setting says so.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<LeftOut>,
    /// Only the benchmarks of a shard.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub only_benchmarks: Option<Vec<BenchmarkId>>,
    /// Excludes these, because they execute the same code as in an earlier run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unchanged: Option<Unchanged>,
}

/// Benchmarks that were skipped because their fingerprints equal those of an earlier run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Unchanged {
    /// The `id` of that run.
    pub since: String,
    /// The benchmarks.
    pub benchmarks: Vec<BenchmarkId>,
}

/// A filter that criterion applies to benchmark names.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Filter {
    /// A regular expression that must match some part of the name.
    pub expression: String,
    /// Whether `expression` is instead the whole name.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub exact: bool,
}

/// A filter expression with the tags that it names, so that it means the same wherever the run is
/// read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Expression {
    /// The expression.
    pub text: String,
    /// The patterns of each tag.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tags: BTreeMap<String, Vec<LeftOut>>,
}

/// A pattern of benchmarks, for example what a setting excludes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct LeftOut {
    /// Only in this package.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub package: Option<String>,
    /// A pattern with `*` and `?` that matches a benchmark name, `package::target::name`, or
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
    /// Returns whether the whole suite was requested.
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
