//! Requested and excluded benchmarks of a run.
//!
//! This is the one place that interprets filters, selected targets and shards. Benchmarks that were
//! left out are not run; those that were asked for but do not exist are missing.

use std::collections::HashSet;

use regex::Regex;
use serde::Serialize;
use topdown_run::run_file::{BenchmarkId, Filter, Run, Selection, TargetId};

use crate::filter_expression::FilterExpression;
use crate::pattern::Pattern;

/// The names of benchmarks that a filter lets through.
#[derive(Debug)]
pub enum NameFilter {
    /// There is no filter.
    All,
    /// The one with this name.
    Exact(String),
    /// Those that match.
    Matching(Regex),
}

impl NameFilter {
    /// Makes the filter as criterion applies it.
    ///
    /// # Errors
    /// Returns an error if the filter is not a regular expression.
    pub fn new(filter: Option<&Filter>) -> Result<NameFilter, regex::Error> {
        Ok(match filter {
            None => NameFilter::All,
            Some(filter) if filter.exact => NameFilter::Exact(filter.expression.clone()),
            Some(filter) => NameFilter::Matching(Regex::new(&filter.expression)?),
        })
    }

    /// Returns whether criterion would run the benchmark `name`.
    pub fn lets_through(&self, name: &str) -> bool {
        match self {
            NameFilter::All => true,
            NameFilter::Exact(id) => id == name,
            NameFilter::Matching(expression) => expression.is_match(name),
        }
    }
}

/// The benchmarks that a command line asks for.
#[derive(Debug)]
pub struct Wanted {
    /// The names that the filter lets through.
    pub names: NameFilter,
    /// The benchmarks that the filter expression lets through; all without one.
    pub expression: Option<FilterExpression>,
}

impl Wanted {
    /// Returns whether both filters let the benchmark through.
    pub fn lets_through(&self, id: &BenchmarkId) -> bool {
        let matches = |expression: &FilterExpression| expression.matches(id);
        self.names.lets_through(&id.name) && self.expression.as_ref().is_none_or(matches)
    }
}

/// What left a benchmark out of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Exclusion {
    /// Its bench target was not selected.
    Target,
    /// A setting leaves it out.
    Setting,
    /// The filter or the filter expression does not match it.
    Filter,
    /// It is in another shard.
    Shard,
    /// It executes the same code as in an earlier run.
    SameCode,
}

/// A run's selection, prepared for queries about many benchmarks.
#[derive(Debug)]
pub struct RunSelection<'a> {
    wanted: Wanted,
    only_targets: Option<HashSet<(&'a str, &'a str)>>,
    without_targets: HashSet<(&'a str, &'a str)>,
    left_out: Vec<Pattern>,
    only_benchmarks: Option<HashSet<&'a BenchmarkId>>,
    unchanged: HashSet<&'a BenchmarkId>,
}

impl<'a> RunSelection<'a> {
    /// Prepares the selection of a run.
    pub fn new(selection: &'a Selection) -> RunSelection<'a> {
        let set = |targets: &'a [TargetId]| {
            let words = |id: &'a TargetId| (id.package.as_str(), id.target.as_str());
            targets.iter().map(words).collect()
        };
        RunSelection {
            // No run was ever made with an invalid filter. Treat it as leaving nothing out, so that
            // it excuses no missing benchmark.
            wanted: Wanted {
                names: NameFilter::new(selection.filter.as_ref()).unwrap_or(NameFilter::All),
                expression: (selection.expression.as_ref())
                    .and_then(|expression| FilterExpression::from_run(expression).ok()),
            },
            only_targets: selection.only_targets.as_deref().map(set),
            without_targets: set(&selection.without_targets),
            left_out: (selection.left_out.iter())
                .map(|out| Pattern::within(out.package.as_deref(), &out.pattern))
                .collect(),
            only_benchmarks: selection
                .only_benchmarks
                .as_ref()
                .map(|ids| ids.iter().collect()),
            unchanged: (selection.unchanged.iter())
                .flat_map(|unchanged| &unchanged.benchmarks)
                .collect(),
        }
    }

    /// Returns why the run was not meant to have the benchmark `id`; `None` if it was.
    pub fn left_out(&self, id: &BenchmarkId) -> Option<Exclusion> {
        let target = (id.package.as_str(), id.target.as_str());
        let is_other_target = self.without_targets.contains(&target)
            || (self.only_targets.as_ref()).is_some_and(|only| !only.contains(&target));
        if is_other_target {
            Some(Exclusion::Target)
        } else if (self.left_out.iter())
            .any(|out| out.matches(id) || out.matches_target(&id.package, &id.target))
        {
            Some(Exclusion::Setting)
        } else if !self.wanted.lets_through(id) {
            Some(Exclusion::Filter)
        } else if (self.only_benchmarks.as_ref()).is_some_and(|only| !only.contains(id)) {
            Some(Exclusion::Shard)
        } else if self.unchanged.contains(id) {
            Some(Exclusion::SameCode)
        } else {
            None
        }
    }
}

/// Describes what `run` was asked for; `None` for the whole suite.
pub fn in_words(run: &Run) -> Option<String> {
    let selection = &run.selection;
    let targets = |verb: &str, targets: &[TargetId]| match targets {
        [one] => format!("{verb} bench target {one}"),
        several => format!("{verb} {} bench targets", several.len()),
    };
    let words: Vec<String> = [
        run.shard.as_ref().map(|shard| format!("shard {shard}")),
        selection.filter.as_ref().map(Filter::to_string),
        (selection.expression.as_ref()).map(|expression| format!("-E `{}`", expression.text)),
        (selection.only_targets.as_deref()).map(|only| targets("only", only)),
        (!selection.without_targets.is_empty())
            .then(|| targets("without", &selection.without_targets)),
        (!selection.left_out.is_empty()).then(|| {
            let patterns = selection.left_out.iter().map(|out| &*out.pattern);
            format!("without `{}`", patterns.collect::<Vec<_>>().join("`, `"))
        }),
        (selection.unchanged.as_ref()).map(|unchanged| {
            let count = unchanged.benchmarks.len();
            let since = &unchanged.since;
            format!("only what changed since run {since} ({count} left out)")
        }),
    ]
    .into_iter()
    .flatten()
    .collect();
    (!words.is_empty()).then(|| words.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use topdown_run::run_file::Unchanged;
    use topdown_run::run_file::{Expression, LeftOut};

    fn id(package: &str, target: &str, name: &str) -> BenchmarkId {
        BenchmarkId {
            package: package.to_owned(),
            target: target.to_owned(),
            name: name.to_owned(),
        }
    }

    fn target(package: &str, target: &str) -> TargetId {
        TargetId {
            package: package.to_owned(),
            target: target.to_owned(),
        }
    }

    fn filter(expression: &str, exact: bool) -> Option<Filter> {
        let expression = expression.to_owned();
        Some(Filter { expression, exact })
    }

    #[test]
    fn whole_suite_excludes_nothing() {
        let whole = Selection::default();
        assert_eq!(RunSelection::new(&whole).left_out(&id("p", "t", "a")), None);
    }

    #[test]
    fn filter_matches_criterion_names() {
        let part = Selection {
            filter: filter("^long|b$", false),
            ..Selection::default()
        };
        let selection = RunSelection::new(&part);
        assert_eq!(selection.left_out(&id("p", "t", "longest/a")), None);
        assert_eq!(selection.left_out(&id("p", "t", "x/b")), None);
        // The filter does not apply to the package and the target.
        let other = id("long", "b", "x/a");
        assert_eq!(selection.left_out(&other), Some(Exclusion::Filter));

        let exact = Selection {
            filter: filter("a.b", true),
            ..Selection::default()
        };
        let selection = RunSelection::new(&exact);
        assert_eq!(selection.left_out(&id("p", "t", "a.b")), None);
        let like = id("p", "t", "axb");
        assert_eq!(selection.left_out(&like), Some(Exclusion::Filter));
    }

    #[test]
    fn expression_excludes_like_filter() {
        let expression = |text: &str| Selection {
            expression: Some(Expression {
                text: text.to_owned(),
                ..Expression::default()
            }),
            ..Selection::default()
        };
        let part = expression("test(a) and package(p)");
        let selection = RunSelection::new(&part);
        assert_eq!(selection.left_out(&id("p", "t", "a")), None);
        let other = id("q", "t", "a");
        assert_eq!(selection.left_out(&other), Some(Exclusion::Filter));
        // As an invalid filter, it excuses nothing.
        let invalid = expression("test(");
        assert_eq!(RunSelection::new(&invalid).left_out(&other), None);
    }

    #[test]
    fn invalid_filter_excuses_nothing() {
        let part = Selection {
            filter: filter("(", false),
            ..Selection::default()
        };
        assert_eq!(RunSelection::new(&part).left_out(&id("p", "t", "a")), None);
    }

    #[test]
    fn named_targets_exclude_all_others() {
        let gone = id("p", "gone", "a");
        let only = Selection {
            only_targets: Some(vec![target("p", "t")]),
            ..Selection::default()
        };
        let selection = RunSelection::new(&only);
        assert_eq!(selection.left_out(&id("p", "t", "a")), None);
        assert_eq!(selection.left_out(&gone), Some(Exclusion::Target));

        let without = Selection {
            without_targets: vec![target("q", "t")],
            ..Selection::default()
        };
        let selection = RunSelection::new(&without);
        let other = id("q", "t", "a");
        assert_eq!(selection.left_out(&other), Some(Exclusion::Target));
        assert_eq!(selection.left_out(&gone), None, "it should have run");
    }

    #[test]
    fn settings_exclude_benchmarks_and_targets() {
        let out = |package: Option<&str>, pattern: &str| LeftOut {
            package: package.map(str::to_owned),
            pattern: pattern.to_owned(),
        };
        let part = Selection {
            left_out: vec![out(None, "slow/*"), out(Some("p"), "*::odd")],
            ..Selection::default()
        };
        let selection = RunSelection::new(&part);
        let setting = Some(Exclusion::Setting);
        assert_eq!(selection.left_out(&id("q", "t", "slow/a")), setting);
        assert_eq!(selection.left_out(&id("p", "odd", "a")), setting);
        assert_eq!(selection.left_out(&id("q", "odd", "a")), None);
        assert_eq!(selection.left_out(&id("p", "t", "a")), None);
    }

    #[test]
    fn only_unchanged_benchmarks_are_excluded() {
        let part = Selection {
            unchanged: Some(Unchanged {
                since: "r1".to_owned(),
                benchmarks: vec![id("p", "t", "a")],
            }),
            ..Selection::default()
        };
        let selection = RunSelection::new(&part);
        let same = selection.left_out(&id("p", "t", "a"));
        assert_eq!(same, Some(Exclusion::SameCode));
        let other = selection.left_out(&id("p", "t", "b"));
        assert_eq!(other, None, "it should have run");
    }

    #[test]
    fn shard_has_only_its_own_benchmarks() {
        let part = Selection {
            only_benchmarks: Some(vec![id("p", "t", "a")]),
            ..Selection::default()
        };
        let selection = RunSelection::new(&part);
        assert_eq!(selection.left_out(&id("p", "t", "a")), None);
        let other = id("p", "t", "b");
        assert_eq!(selection.left_out(&other), Some(Exclusion::Shard));
    }
}
