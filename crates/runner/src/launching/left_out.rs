//! Finds what filter expressions and settings leave out of a suite, before anything is measured.
//!
//! criterion can filter benchmarks to run, but not benchmarks to skip. So if part of a bench target
//! may be left out, a launch that measures nothing lists its benchmarks, and the target is then
//! launched with the remaining names.

use crate::launching::launch_error::LaunchError;
use crate::launching::launcher::Launcher;
use crate::targets::bench_targets::BenchTarget;
use topdown_gate::pattern::Pattern;
use topdown_gate::selection::Wanted;

/// A suite without what is left out.
#[derive(Debug, Default)]
pub struct Rest {
    /// Targets to launch.
    pub targets: Vec<BenchTarget>,
    /// Bench targets and benchmarks that the settings skip, by full name.
    pub left_out: Vec<String>,
    /// The names of benchmarks that the filters exclude.
    pub unwanted: Vec<String>,
}

/// Returns `targets` with the benchmarks that are `wanted` and match no pattern. A target that
/// fails to list its benchmarks is kept whole: launching it will report the failure.
///
/// # Errors
/// Returns only [`LaunchError::Interrupted`].
pub fn without(
    patterns: &[Pattern],
    targets: Vec<BenchTarget>,
    wanted: &Wanted,
    launcher: &Launcher,
) -> Result<Rest, LaunchError> {
    let mut rest = Rest::default();
    for target in targets {
        let means_it = |p: &Pattern| p.matches_target(&target.package, &target.name);
        if patterns.iter().any(means_it) {
            rest.left_out.push(target.to_string());
            continue;
        }
        let is_in = |p: &Pattern| p.package().is_none_or(|name| name == target.package);
        let is_restricted = wanted.expression.is_some() || patterns.iter().any(is_in);
        let listed = if target.has_criterion && is_restricted {
            launcher.list(&target)
        } else {
            Ok(None)
        };
        match listed {
            Ok(Some(names)) => rest.add(target, names, patterns, wanted),
            Err(LaunchError::Interrupted) => return Err(LaunchError::Interrupted),
            Ok(None) | Err(_) => rest.targets.push(target),
        }
    }
    Ok(rest)
}

impl Rest {
    /// Adds `target`, which has benchmarks with these `names`.
    fn add(
        &mut self,
        target: BenchTarget,
        names: Vec<String>,
        patterns: &[Pattern],
        wanted: &Wanted,
    ) {
        let id = |name: &String| target.id_of(name.clone());
        let (names, unwanted): (Vec<String>, Vec<String>) = names
            .into_iter()
            .partition(|name| wanted.lets_through(&id(name)));
        self.unwanted.extend(unwanted);
        let (out, kept): (Vec<String>, Vec<String>) = names
            .into_iter()
            .partition(|name| patterns.iter().any(|p| p.matches(&id(name))));
        self.left_out
            .extend(out.iter().map(|name| id(name).to_string()));
        if out.is_empty() && wanted.expression.is_none() {
            self.targets.push(target);
        } else if !kept.is_empty() {
            self.targets.push(BenchTarget {
                benchmarks: Some(kept),
                ..target
            });
        }
    }
}
