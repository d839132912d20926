//! Executables that are launched together: all those of a run, or one side of a comparison.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use topdown_run::environment::THREADS_DECIDED;
use topdown_run::provenance::SourceKind;
use topdown_run::run_file::BenchmarkId;
use topdown_run::setting::{Counters, Sampling, SourceChoice};

use crate::gathering::collect::Collector;
use crate::gathering::one_choice;
use crate::gathering::outcome::{OtherMeasurement, Outcome, TargetFailure};
use crate::gathering::short_windows;
use crate::launching::conversation::is_modelled;
use crate::launching::launch::Launched;
use crate::launching::launch_error::LaunchError;
use crate::launching::launcher::Launcher;
use crate::launching::measured::Benchmarks;
use crate::launching::repeated::{
    Digests, compare_digests, digests_to_repeat, max_launches, repeating,
};
use crate::progress::Progress;
use crate::targets::bench_targets::BenchTarget;

/// A launch that was made.
pub(super) struct CompletedLaunch {
    launched: Result<Launched, LaunchError>,
    took: Duration,
    /// How samples are taken, which only a launch can show.
    sampling: Sampling,
    /// What the bench printed.
    output: String,
    /// The part of it that says what went wrong.
    excerpt: String,
}

impl CompletedLaunch {
    /// Launches `target`. `first` is what a later launch knows of the first. Calls `on_benchmark`
    /// with the name of each benchmark that begins.
    pub fn by(
        launcher: &Launcher,
        target: &BenchTarget,
        first: FirstLaunch,
        mut on_benchmark: impl FnMut(&str),
    ) -> CompletedLaunch {
        let FirstLaunch {
            took,
            digests,
            timed,
        } = first;
        let mut target = target.clone();
        if let Some(names) = target
            .benchmarks
            .as_mut()
            .filter(|_| target.forks.is_some())
        {
            names.retain(|name| !timed.contains(name));
        }
        let mut output = String::new();
        let begun_at = Instant::now();
        let launched = loop {
            let repeating = repeating(&target, &digests);
            let mut launched = launcher.launch(&repeating, took, &mut on_benchmark);
            if launcher.shows_output {
                output += &launcher.output();
            }
            if let Ok(launched) = &mut launched {
                compare_digests(&target, launched, &digests);
            }
            target.settings.sampling = match launched {
                Err(LaunchError::OtherPlan(_)) => Sampling::Doubling,
                // Some benchmarks cannot follow our plan, so the whole target keeps its own.
                Err(LaunchError::CannotDouble(_)) => Sampling::Author,
                // Those that ignore the arguments cannot, either; on the model that would take
                // hours.
                Err(LaunchError::IgnoresArguments(_)) if !is_modelled(&target.settings) => {
                    Sampling::Author
                }
                launched => break launched,
            };
        };
        CompletedLaunch {
            excerpt: match &launched {
                Ok(_) => String::new(),
                Err(_) => launcher.output_excerpt(),
            },
            launched,
            took: begun_at.elapsed(),
            sampling: target.settings.sampling,
            output,
        }
    }

    /// Returns the result for later launches of `target`, if this was the first.
    pub fn as_first(&self, launcher: &Launcher, target: &BenchTarget) -> FirstLaunch {
        match &self.launched {
            Ok(launched @ Launched::Benchmarks(_)) => FirstLaunch {
                took: Some(self.took),
                digests: digests_to_repeat(launcher, target, launched),
                timed: timed_in(launched),
            },
            _ => FirstLaunch::default(),
        }
    }

    /// Returns whether it failed, other than by Ctrl-C.
    pub fn has_failed(&self) -> bool {
        let error = self.launched.as_ref().err();
        error.is_some_and(|error| !matches!(error, LaunchError::Interrupted))
    }
}

/// Results of the first launch of a target, for later ones.
#[derive(Clone, Debug, Default)]
pub(super) struct FirstLaunch {
    pub took: Option<Duration>,
    /// What benchmarks executed, if it is enough that a later launch executes the same.
    pub digests: Digests,
    /// The benchmarks that have only time.
    pub timed: HashSet<String>,
}

fn timed_in(launched: &Launched) -> HashSet<String> {
    let Launched::Benchmarks(benchmarks) = launched else {
        return HashSet::new();
    };
    let measured = benchmarks.measured.iter();
    let timed = measured.filter(|one| one.provenance.source == SourceKind::Time);
    timed.map(|one| one.name.clone()).collect()
}

/// The state of a target between launches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Untried,
    /// It has matching benchmarks.
    Measuring,
    /// It needs no further launch: no criterion, no matching benchmark, or a failure.
    Done,
}

/// Executables that are launched together: all those of a run, or one side of a comparison.
pub(super) struct Side<'a> {
    pub targets: Vec<BenchTarget>,
    launcher: &'a Launcher,
    states: Vec<State>,
    /// By target, whether its last launch needs plain counters: see `short_windows`.
    pub too_short: Vec<bool>,
    /// By target, whose slots its last launch counted.
    pub threads: Vec<one_choice::Seen>,
    collector: Collector,
    outcome: Outcome,
    /// By target, the results of its first launch.
    first: Vec<FirstLaunch>,
    /// The index of the first target in the list given to `Progress`.
    progress_offset: usize,
}

impl<'a> Side<'a> {
    pub fn new(
        targets: &[BenchTarget],
        launcher: &'a Launcher,
        progress_offset: usize,
    ) -> Side<'a> {
        let mut side = Side {
            targets: targets.to_vec(),
            launcher,
            states: vec![State::Untried; targets.len()],
            too_short: vec![false; targets.len()],
            first: vec![FirstLaunch::default(); targets.len()],
            threads: vec![Vec::new(); targets.len()],
            collector: Collector::default(),
            outcome: Outcome::default(),
            progress_offset,
        };
        for (state, target) in side.states.iter_mut().zip(targets) {
            if !target.has_criterion {
                side.outcome.not_criterion.push(target.clone());
                *state = State::Done;
            }
        }
        side
    }

    /// Launches target number `index`, unless it is done. Returns whether it failed.
    pub fn launch(
        &mut self,
        index: usize,
        launch: u32,
        progress: &mut Progress,
    ) -> Result<bool, LaunchError> {
        if !self.has_launch(index, launch) {
            return Ok(false);
        }
        let target = &self.targets[index];
        progress.begin(target, launch, self.planned(index, launch));
        self.launcher.load.look();
        let made = CompletedLaunch::by(self.launcher, target, self.first[index].clone(), |name| {
            progress.benchmark(target, name);
        });
        self.keep(index, launch, made, progress)
    }

    /// Returns how many launches of target number `index` are planned, unless this one has yet to
    /// show whether there are counters, without which fewer are enough.
    fn planned(&self, index: usize, launch: u32) -> Option<u32> {
        let settings = &self.targets[index].settings;
        let may_be_fewer = launch == 0
            && settings.source == SourceChoice::Auto
            && self.launcher.launches_without_counters < settings.launches;
        (!may_be_fewer).then_some(settings.launches)
    }

    /// Returns whether target number `index` still has this `launch`.
    pub fn has_launch(&self, index: usize, launch: u32) -> bool {
        self.states[index] != State::Done && launch < self.targets[index].settings.launches
    }

    /// Keeps the result of a launch of target number `index`, unless the target is done. Returns
    /// whether it failed.
    pub fn keep(
        &mut self,
        index: usize,
        launch: u32,
        made: CompletedLaunch,
        progress: &mut Progress,
    ) -> Result<bool, LaunchError> {
        if !self.has_launch(index, launch) {
            return Ok(false);
        }
        if self.launcher.shows_output {
            progress.print(&made.output);
        }
        self.targets[index].settings.sampling = made.sampling;
        if self.first[index].took.is_none() {
            self.first[index] = made.as_first(self.launcher, &self.targets[index]);
        }
        let target = &self.targets[index];
        let state = &mut self.states[index];
        let mut has_counters = false;
        let error = match made.launched {
            Ok(Launched::Benchmarks(Benchmarks {
                measured: benchmarks,
                other_measurements,
                outlived,
            })) => {
                if !outlived.is_empty() {
                    progress.note(&format!(
                        "note: `{target}` left processes running, which were killed: {}",
                        outlived.join(", ")
                    ));
                }
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
        if launch == 0 {
            let target = &mut self.targets[index];
            let most = match target.settings.source {
                _ if has_counters => max_launches(target, made.took),
                SourceChoice::Auto => self.launcher.launches_without_counters,
                // A benchmark that is not modelled in one launch keeps its time.
                SourceChoice::Model | SourceChoice::ModelOrTime => 1,
                _ => u32::MAX,
            };
            target.settings.launches = target.settings.launches.min(most);
            progress.expect(self.progress_offset + index, target.settings.launches);
        }
        let target = &self.targets[index];
        let done = *state == State::Done;
        progress.end(self.progress_offset + index, target, made.took, done);
        let Some(error) = error else {
            return Ok(false);
        };
        self.collector.forget(target);
        self.outcome.failures.push(TargetFailure {
            target: target.to_string(),
            launch: launch + 1,
            error,
            output: made.excerpt,
        });
        Ok(true)
    }

    /// Switches target number `index` to plain counters, and starts it over.
    pub fn count_plainly(&mut self, index: usize, progress: &Progress) {
        let target = &mut self.targets[index];
        progress.note(&format!(
            "note: `{target}` has windows of less than 100 000 slots, too short for PERF_METRICS; \
             plain counters are used for it (`--counters metrics` keeps PERF_METRICS)"
        ));
        target.settings.counters = Counters::Exact;
        self.restart(index);
    }

    /// Decides whose slots to count in target number `index`.
    pub fn count_threads(&mut self, index: usize, decided: String) {
        let environment = &mut self.targets[index].environment;
        environment.insert(THREADS_DECIDED.to_owned(), decided.into());
    }

    /// Forgets all launches of target number `index`.
    pub fn restart(&mut self, index: usize) {
        self.collector.forget(&self.targets[index]);
        self.states[index] = State::Untried;
    }

    pub fn finish(mut self) -> Outcome {
        let launches_of = |id: &BenchmarkId| {
            let index = self.targets.iter().position(|target| target.has(id));
            index.map_or(0, |index| {
                let target = &self.targets[index];
                let has_one = target.forks.is_some() && self.first[index].timed.contains(&id.name);
                if has_one { 1 } else { target.settings.launches }
            })
        };
        self.outcome.collected = self.collector.finish(launches_of);
        self.outcome
    }
}
