//! Finds what settings leave out of a suite, before anything is measured.
//!
//! criterion has a filter for benchmarks to run, but none for benchmarks to skip. So if a pattern
//! may match part of a bench target, a launch that measures nothing lists its benchmarks first, and
//! the target is then launched with the remaining names.

use super::launch_error::LaunchError;
use super::launcher::Launcher;
use crate::bench_targets::BenchTarget;
use topdown_gate::pattern::Pattern;
use topdown_gate::selection::NameFilter;

/// A suite without what settings leave out.
#[derive(Debug)]
pub struct Rest {
    /// Targets to launch.
    pub targets: Vec<BenchTarget>,
    /// Bench targets and benchmarks to skip, by full name.
    pub left_out: Vec<String>,
}

/// Removes from `targets` what `patterns` match. A target that fails to list its benchmarks is kept
/// whole: launching it will report the failure.
///
/// # Errors
/// Returns only [`LaunchError::Interrupted`].
pub fn without(
    patterns: &[Pattern],
    targets: Vec<BenchTarget>,
    wanted: &NameFilter,
    launcher: &Launcher,
) -> Result<Rest, LaunchError> {
    let mut rest = Rest {
        targets: Vec::new(),
        left_out: Vec::new(),
    };
    for target in targets {
        let means_it = |p: &Pattern| p.matches_target(&target.package, &target.name);
        if patterns.iter().any(means_it) {
            rest.left_out.push(target.to_string());
            continue;
        }
        let is_in = |p: &&Pattern| p.package().is_none_or(|name| name == target.package);
        let may_match = target.has_criterion && patterns.iter().any(|p| is_in(&p));
        let listed = match may_match {
            true => launcher.list(&target),
            false => Ok(None),
        };
        let names = match listed {
            Ok(names) => names.unwrap_or_default(),
            Err(LaunchError::Interrupted) => return Err(LaunchError::Interrupted),
            Err(_) => Vec::new(),
        };
        rest.add(target, names, patterns, wanted);
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
        wanted: &NameFilter,
    ) {
        let id = |name: &String| target.id_of(name.clone());
        let wanted_names = names.into_iter().filter(|name| wanted.lets_through(name));
        let (out, kept): (Vec<String>, Vec<String>) =
            wanted_names.partition(|name| patterns.iter().any(|p| p.matches(&id(name))));
        self.left_out
            .extend(out.iter().map(|name| id(name).to_string()));
        match (out.is_empty(), kept.is_empty()) {
            // The filter still decides.
            (true, _) => self.targets.push(target),
            (false, true) => {}
            (false, false) => self.targets.push(BenchTarget {
                benchmarks: Some(kept),
                ..target
            }),
        }
    }
}
