//! Order of the launches: round robin, or the two sides of a comparison in turn.
//!
//! Every target is launched once, then every target a second time, and so on. So drift of the
//! machine affects all benchmarks equally.

use topdown_counters::machine::this_machine;
use topdown_run::setting::Threads;

use crate::gathering::one_choice;
use crate::gathering::outcome::Outcome;
use crate::gathering::short_windows;
use crate::launching::conversation::is_modelled;
use crate::launching::launch_error::LaunchError;
use crate::launching::launcher::Launcher;
use crate::progress::Progress;
use crate::side::Side;
use crate::targets::bench_targets::BenchTarget;
use topdown_system::file_identity::is_same_file;

/// Launches each of `turns`, pairs of a side and a target number. Returns whether one failed. If
/// the first launch shows that the register is too coarse for any of them, all are launched again
/// with plain counters, since both sides of a comparison must be counted in the same way.
fn launch_turns(
    turns: &mut [(&mut Side<'_>, usize)],
    launch: u32,
    progress: &mut Progress,
) -> Result<bool, LaunchError> {
    let mut failed = false;
    for (side, index) in &mut *turns {
        failed |= side.launch(*index, launch, progress)?;
    }
    if failed || launch > 0 {
        return Ok(failed);
    }
    let too_short = turns.iter().any(|(side, index)| side.too_short[*index]);
    if too_short && short_windows::has_plain_counters(&this_machine()) {
        for (side, index) in &mut *turns {
            side.count_plainly(*index, progress);
            failed |= side.launch(*index, launch, progress)?;
        }
    }
    Ok(failed || count_same_threads(turns, launch, progress)?)
}

/// Lets the first launches decide whose slots later ones count. A side that deviated is launched
/// again.
fn count_same_threads(
    turns: &mut [(&mut Side<'_>, usize)],
    launch: u32,
    progress: &mut Progress,
) -> Result<bool, LaunchError> {
    let seen: Vec<one_choice::Seen> = turns
        .iter()
        .map(|(side, index)| side.threads[*index].clone())
        .collect();
    let sides: Vec<&one_choice::Seen> = seen.iter().collect();
    let mut failed = false;
    for ((side, index), own) in turns.iter_mut().zip(&seen) {
        let settings = &side.targets[*index].settings;
        // The model counts all threads; a variable more would move its data.
        if settings.threads != Threads::Auto || is_modelled(settings) {
            continue;
        }
        let (decided, is_otherwise) = one_choice::decided(own, &sides);
        side.count_threads(*index, decided);
        if is_otherwise {
            side.restart(*index);
            failed |= side.launch(*index, launch, progress)?;
        }
    }
    Ok(failed)
}

/// Returns the number of rounds until every target has had its launches.
pub(super) fn round_count(targets: &[BenchTarget]) -> u32 {
    let launches = targets.iter().map(|t| t.settings.launches);
    launches.max().unwrap_or(0)
}

/// Runs all launches of all `targets`. `fail_fast` stops at the first failure.
///
/// # Errors
/// Returns only [`LaunchError::Interrupted`]; other failures are part of the outcome.
pub fn run(
    targets: &[BenchTarget],
    launcher: &Launcher,
    fail_fast: bool,
    progress: &mut Progress,
) -> Result<Outcome, LaunchError> {
    let mut side = Side::new(targets, launcher, 0);
    'rounds: for launch in 0..round_count(targets) {
        for index in 0..targets.len() {
            if launch_turns(&mut [(&mut side, index)], launch, progress)? && fail_fast {
                break 'rounds;
            }
        }
    }
    Ok(side.finish())
}

/// Runs all launches of the baseline's and the candidate's targets side by side, so that changes of
/// the machine affect both. The order within a pair alternates (ABBA), so that steady drift favours
/// neither. `progress` covers both lists, the baseline's first.
///
/// # Errors
/// As [`run`].
pub fn run_in_pairs(
    baseline: (&[BenchTarget], &Launcher),
    candidate: (&[BenchTarget], &Launcher),
    fail_fast: bool,
    progress: &mut Progress,
) -> Result<(Outcome, Outcome), LaunchError> {
    let pairs = pairs(baseline.0, candidate.0);
    let mut a = Side::new(baseline.0, baseline.1, 0);
    let mut b = Side::new(candidate.0, candidate.1, baseline.0.len());
    'rounds: for launch in 0..round_count(baseline.0).max(round_count(candidate.0)) {
        for (in_a, in_b) in &pairs {
            let sides = [(&mut a, in_a), (&mut b, in_b)];
            let turn = |(side, index): (_, &Option<usize>)| index.map(|index| (side, index));
            let mut turns: Vec<(&mut Side<'_>, usize)> =
                sides.into_iter().filter_map(turn).collect();
            if launch % 2 == 1 {
                turns.reverse();
            }
            if launch_turns(&mut turns, launch, progress)? && fail_fast {
                break 'rounds;
            }
        }
    }
    Ok((a.finish(), b.finish()))
}

/// Refuses two sides that share the executable of a target: a change would be measured on neither.
///
/// # Errors
/// Returns [`LaunchError::SameExecutable`].
pub fn check_apart(base: &[BenchTarget], candidate: &[BenchTarget]) -> Result<(), LaunchError> {
    for pair in pairs(base, candidate) {
        if let (Some(in_base), Some(in_candidate)) = pair
            && let target = &candidate[in_candidate]
            && is_same_file(&base[in_base].executable, &target.executable)
        {
            return Err(LaunchError::SameExecutable {
                target: target.to_string(),
                path: target.executable.clone(),
            });
        }
    }
    Ok(())
}

/// Returns the indices of each target in both lists, for all targets in either.
fn pairs(a: &[BenchTarget], b: &[BenchTarget]) -> Vec<(Option<usize>, Option<usize>)> {
    let same = |x: &BenchTarget, y: &BenchTarget| (&x.package, &x.name) == (&y.package, &y.name);
    let of_a = a
        .iter()
        .enumerate()
        .map(|(index, target)| (Some(index), b.iter().position(|other| same(other, target))));
    let only_b = b
        .iter()
        .enumerate()
        .filter(|(_, target)| !a.iter().any(|other| same(other, target)))
        .map(|(index, _)| (None, Some(index)));
    of_a.chain(only_b).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_sides_with_one_executable_are_an_error() {
        let directory = tempfile::tempdir().unwrap();
        let side = |name: &str| {
            let executable = directory.path().join(name);
            std::fs::write(&executable, "").unwrap();
            let target = BenchTarget::named("suite", "bench");
            [BenchTarget {
                executable,
                ..target
            }]
        };
        let (base, candidate) = (side("base"), side("candidate"));
        assert!(check_apart(&base, &candidate).is_ok());
        let error = check_apart(&base, &base).unwrap_err();
        assert!(
            matches!(error, LaunchError::SameExecutable { .. }),
            "{error}"
        );
    }
}
