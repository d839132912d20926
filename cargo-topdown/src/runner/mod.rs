//! Launches bench targets as criterion's runner and gathers what they measure.
//!
//! Targets are launched round robin: every target once, then every target a second time, and so on.
//! So drift of the machine affects all benchmarks equally, and each benchmark's launches are spread
//! over the whole run.

pub mod again;
mod bench_command;
mod bench_process;
mod cgroup;
pub mod collect;
mod conversation;
pub mod environment;
mod excerpt;
pub mod fingerprints;
mod fixed_stack;
pub mod hits;
pub mod join;
mod launch;
pub mod launch_error;
pub mod launcher;
pub mod left_out;
mod measured;
pub mod modelled;
mod one_choice;
mod outcome;
pub mod parting;
mod patience;
mod peer;
mod place;
pub mod progress;
pub mod protocol;
pub mod record;
pub mod residual;
pub mod scratch;
pub mod session;
mod short_windows;
mod trail;
mod waiting;
mod whose_work;

use std::time::{Duration, Instant};

use criterion_topdown::environment::THREADS_DECIDED;
use criterion_topdown::machine::Machine;
use criterion_topdown::provenance::SourceKind;
use criterion_topdown::run_file::BenchmarkId;

use self::collect::Collector;
use self::launch::Launched;
use self::launch_error::LaunchError;
use self::launcher::Launcher;
use self::measured::Benchmarks;
pub use self::outcome::{OtherMeasurement, Outcome, TargetFailure};
use self::progress::Progress;
use crate::bench_targets::BenchTarget;
use criterion_topdown::setting::{Counters, Sampling, SourceChoice, Threads};

/// The state of a target between launches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Untried,
    /// It has matching benchmarks.
    Measuring,
    /// It has nothing more to give: no criterion, no matching benchmark, or a failure.
    Done,
}

/// Executables that are launched together: all those of a run, or one side of a comparison.
struct Side<'a> {
    targets: Vec<BenchTarget>,
    launcher: &'a Launcher,
    states: Vec<State>,
    /// By target, whether its last launch needs plain counters: see `short_windows`.
    too_short: Vec<bool>,
    /// By target, whose slots its last launch counted.
    threads: Vec<one_choice::Seen>,
    collector: Collector,
    outcome: Outcome,
    /// By target, how long its first launch took.
    took: Vec<Option<Duration>>,
    /// The index of the first target in the list given to `Progress`.
    progress_offset: usize,
}

impl<'a> Side<'a> {
    fn new(targets: &[BenchTarget], launcher: &'a Launcher, progress_offset: usize) -> Side<'a> {
        let mut side = Side {
            targets: targets.to_vec(),
            launcher,
            states: vec![State::Untried; targets.len()],
            too_short: vec![false; targets.len()],
            took: vec![None; targets.len()],
            threads: vec![Vec::new(); targets.len()],
            collector: Collector::default(),
            outcome: Outcome::default(),
            progress_offset,
        };
        for (state, target) in side.states.iter_mut().zip(targets) {
            if !target.has_criterion {
                side.outcome.not_criterion.push(target.to_string());
                *state = State::Done;
            }
        }
        side
    }

    /// Launches target number `index`, unless it is done. Returns whether it failed.
    fn launch(
        &mut self,
        index: usize,
        launch: u32,
        progress: &mut Progress,
    ) -> Result<bool, LaunchError> {
        let target = &self.targets[index];
        if self.states[index] == State::Done || launch >= target.settings.launches {
            return Ok(false);
        }
        progress.begin(target, launch);
        let begun_at = Instant::now();
        let launched = loop {
            let target = &self.targets[index];
            let launched = self
                .launcher
                .launch(target, self.took[index], |name| progress.benchmark(name));
            if self.launcher.shows_output {
                progress.print(&self.launcher.output());
            }
            match launched {
                Err(LaunchError::OtherPlan(_)) => self.sample(index, Sampling::Doubling),
                // Some benchmarks cannot follow our plan, so the whole target keeps its own.
                Err(LaunchError::CannotDouble(_)) => self.sample(index, Sampling::Author),
                launched => break launched,
            }
        };
        let target = &self.targets[index];
        let state = &mut self.states[index];
        let mut has_counters = false;
        let error = match launched {
            Ok(Launched::Benchmarks(Benchmarks {
                measured: benchmarks,
                other_measurements,
                outlived,
            })) => {
                if !outlived.is_empty() {
                    progress.note(&format!(
                        "note: `{target}` left processes behind, which were ended: {}",
                        outlived.join(", ")
                    ));
                }
                self.took[index].get_or_insert(begun_at.elapsed());
                if launch == 0 {
                    let known = other_measurements.into_iter().map(|(name, one)| {
                        let (package, target) = (target.package.clone(), target.name.clone());
                        let id = BenchmarkId {
                            package,
                            target,
                            name,
                        };
                        OtherMeasurement { id, one }
                    });
                    self.outcome.other_measurements.extend(known);
                }
                *state = match *state {
                    State::Untried if benchmarks.is_empty() => State::Done,
                    _ => State::Measuring,
                };
                self.too_short[index] = target.settings.counters == Counters::Auto
                    && short_windows::are_too_short_for_the_register(&benchmarks);
                self.threads[index] = one_choice::seen(&benchmarks);
                has_counters = benchmarks
                    .iter()
                    .any(|benchmark| benchmark.provenance.source != SourceKind::Time);
                self.collector.add(target, launch, benchmarks);
                None
            }
            Ok(Launched::NotCriterion) if *state == State::Untried => {
                self.outcome.not_connected.push(target.to_string());
                *state = State::Done;
                None
            }
            Ok(Launched::NotCriterion) => Some(LaunchError::NotConnected),
            Err(LaunchError::Interrupted) => return Err(LaunchError::Interrupted),
            Err(error) => Some(error),
        };
        if error.is_some() {
            *state = State::Done;
        }
        let settings = &mut self.targets[index].settings;
        if launch == 0 && settings.source == SourceChoice::Auto && !has_counters {
            settings.launches = settings
                .launches
                .min(self.launcher.launches_without_counters);
            progress.expect(self.progress_offset + index, settings.launches);
        }
        let target = &self.targets[index];
        let done = *state == State::Done;
        progress.end(self.progress_offset + index, begun_at.elapsed(), done);
        let Some(error) = error else {
            return Ok(false);
        };
        self.collector.forget(target);
        self.outcome.failures.push(TargetFailure {
            target: target.to_string(),
            launch: launch + 1,
            error,
            output: self.launcher.output_excerpt(),
        });
        Ok(true)
    }

    /// Changes how target number `index` takes samples. The first launch shows the need; results of
    /// earlier launches stay.
    fn sample(&mut self, index: usize, sampling: Sampling) {
        self.targets[index].settings.sampling = sampling;
    }

    /// Switches target number `index` to plain counters, and starts it over.
    fn count_plainly(&mut self, index: usize, progress: &Progress) {
        let target = &mut self.targets[index];
        progress.note(&format!(
            "note: `{target}` has windows of less than 100 000 slots, too short for PERF_METRICS; \
             plain counters are used for it (`--counters metrics` keeps PERF_METRICS)"
        ));
        target.settings.counters = Counters::Exact;
        self.begin_again(index);
    }

    /// Decides whose slots to count in target number `index`.
    fn count_threads(&mut self, index: usize, decided: String) {
        let environment = &mut self.targets[index].environment;
        environment.insert(THREADS_DECIDED.to_owned(), decided.into());
    }

    /// Forgets all launches of target number `index`.
    fn begin_again(&mut self, index: usize) {
        self.collector.forget(&self.targets[index]);
        self.states[index] = State::Untried;
    }

    fn finish(mut self) -> Outcome {
        self.outcome.collected = self.collector.finish(|id| {
            self.targets
                .iter()
                .find(|target| target.has(id))
                .map_or(0, |target| target.settings.launches)
        });
        self.outcome
    }
}

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
    if too_short && short_windows::has_plain_counters(&Machine::of_this_machine()) {
        for (side, index) in &mut *turns {
            side.count_plainly(*index, progress);
            failed |= side.launch(*index, launch, progress)?;
        }
    }
    Ok(failed || count_same_threads(turns, launch, progress)?)
}

/// Lets the first launches decide whose slots later ones count. A side that did otherwise is
/// launched again.
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
        if side.targets[*index].settings.threads != Threads::Auto {
            continue;
        }
        let (decided, is_otherwise) = one_choice::decided(own, &sides);
        side.count_threads(*index, decided);
        if is_otherwise {
            side.begin_again(*index);
            failed |= side.launch(*index, launch, progress)?;
        }
    }
    Ok(failed)
}

/// Returns the number of rounds until every target has had its launches.
fn rounds(targets: &[BenchTarget]) -> u32 {
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
    'rounds: for launch in 0..rounds(targets) {
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
    'rounds: for launch in 0..rounds(baseline.0).max(rounds(candidate.0)) {
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
