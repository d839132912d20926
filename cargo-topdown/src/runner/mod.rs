//! Launches bench targets as criterion's runner and gathers what they measure.
//!
//! Round robin: every target once, then every target a second time, and so on. A machine that
//! drifts then does so for all benchmarks alike, and the launches of one benchmark are spread over
//! the whole run.

pub mod collect;
mod excerpt;
pub mod interrupt;
pub mod join;
pub mod launch;
pub mod progress;
pub mod protocol;

use std::time::Instant;

use thiserror::Error;

use self::collect::{Collected, Collector};
use self::launch::{LaunchError, Launched, Launcher};
use self::progress::Progress;
use crate::bench_targets::BenchTarget;

/// A bench target that failed, and all that is known about it.
#[derive(Debug, Error)]
#[error("bench target `{target}` failed in launch {launch}: {error}")]
pub struct TargetFailure {
    /// `package::name`.
    pub target: String,
    /// Which launch, from 1.
    pub launch: u32,
    /// What happened.
    pub error: LaunchError,
    /// What the bench printed about it.
    pub output: String,
}

/// What became of all launches.
#[derive(Debug, Default)]
pub struct Outcome {
    /// What was measured.
    pub collected: Collected,
    /// Targets that failed; nothing of theirs is in `collected`.
    pub failures: Vec<TargetFailure>,
    /// Targets that are no criterion benches, as `package::name`.
    pub not_criterion: Vec<String>,
}

/// What is known about a target while the launches go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Untried,
    /// It has benchmarks that match.
    Measuring,
    /// There is nothing more to be had from it: no criterion, no matching benchmark, or a failure.
    Done,
}

/// Runs all launches of all `targets`. With `fail_fast` the first failure is the end.
///
/// # Errors
/// [`LaunchError::Interrupted`] alone; every other failure is part of the outcome.
pub fn run(
    targets: &[BenchTarget],
    launcher: &Launcher,
    fail_fast: bool,
    progress: &mut Progress,
) -> Result<Outcome, LaunchError> {
    let mut outcome = Outcome::default();
    let mut collector = Collector::default();
    let mut states = vec![State::Untried; targets.len()];
    for (state, target) in states.iter_mut().zip(targets) {
        if !target.has_criterion {
            outcome.not_criterion.push(target.to_string());
            *state = State::Done;
        }
    }
    let rounds = targets
        .iter()
        .map(|t| t.settings.launches)
        .max()
        .unwrap_or(0);
    'rounds: for launch in 0..rounds {
        for (index, target) in targets.iter().enumerate() {
            if states[index] == State::Done || launch >= target.settings.launches {
                continue;
            }
            progress.begin(target, launch);
            let begun_at = Instant::now();
            let launched = launcher.launch(target, |name| progress.benchmark(name));
            if launcher.shows_output {
                progress.print(&launcher.output());
            }
            let error = match launched {
                Ok(Launched::Benchmarks(benchmarks)) => {
                    if states[index] == State::Untried && benchmarks.is_empty() {
                        states[index] = State::Done;
                    } else {
                        states[index] = State::Measuring;
                    }
                    collector.add(target, launch, benchmarks);
                    progress.end(index, begun_at.elapsed(), states[index] == State::Done);
                    continue;
                }
                Ok(Launched::NotCriterion) if states[index] == State::Untried => {
                    outcome.not_criterion.push(target.to_string());
                    states[index] = State::Done;
                    progress.end(index, begun_at.elapsed(), true);
                    continue;
                }
                Ok(Launched::NotCriterion) => LaunchError::NotConnected,
                Err(LaunchError::Interrupted) => return Err(LaunchError::Interrupted),
                Err(error) => error,
            };
            progress.end(index, begun_at.elapsed(), true);
            states[index] = State::Done;
            collector.forget(target);
            outcome.failures.push(TargetFailure {
                target: target.to_string(),
                launch: launch + 1,
                error,
                output: launcher.output_excerpt(),
            });
            if fail_fast {
                break 'rounds;
            }
        }
    }
    outcome.collected = collector.finish(|id| {
        targets
            .iter()
            .find(|t| t.package == id.package && t.name == id.target)
            .map_or(0, |target| target.settings.launches)
    });
    Ok(outcome)
}
