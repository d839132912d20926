//! Launches on the model, whose slots are added to the times of the ordinary launches.

use std::cmp::Reverse;
use std::time::{Duration, Instant};

use topdown_run::run_file::{Benchmark, BenchmarkId};

use super::{MeasureError, Session, jobs};
use topdown_runner::Outcome;
use topdown_runner::functions::CalledByLine;
use topdown_runner::launching::launch_error::LaunchError;
use topdown_runner::launching::launcher::Launcher;
use topdown_runner::modelling::divergence;
use topdown_runner::modelling::model_or_clock::{self, has_unordered_threads, put_on_one_cpu};
use topdown_runner::modelling::model_processes::{forking, processes_of};
use topdown_runner::modelling::{modelled, schedules};
use topdown_runner::settings::{MAX_SCHEDULES, Settings};
use topdown_runner::targets::bench_targets::BenchTarget;
use topdown_system::scratch::Scratch;
use topdown_system::tracing;
use topdown_terminal::count_of;
use topdown_terminal::terminal::message;

impl Session {
    /// Adds modelled slots to the time of those targets that request the model or found no
    /// counters. Makes `launches` of each, and more where these differ.
    ///
    /// # Errors
    /// Returns an error if a launch cannot be made, or the user interrupts.
    pub fn add_model(
        &self,
        targets: &[BenchTarget],
        launches: u32,
        timed: &mut Outcome,
    ) -> Result<(), MeasureError> {
        let wanted = model_or_clock::wanted(targets, &timed.collected);
        if wanted.is_empty() || self.has_to_stop(timed) {
            self.report_one_schedule(targets, "no benchmark is modelled");
            return Ok(());
        }
        let launcher = self.fixed_addresses();
        let mut processes = self.processes(&wanted, &launcher)?;
        let mut outcome = self.model(&processes, launches, &launcher)?;
        let unordered = processes.order_threads(&outcome.collected.benchmarks);
        let again = self.model(&unordered, launches, &launcher)?;
        outcome.replace(&unordered.alone, again);
        let mut outcome = self.with_further_launches(outcome, &processes.alone, &launcher)?;
        if !self.request.quiet {
            report_times(modelled::times(&outcome.collected));
        }
        self.add_schedules(&mut outcome, &processes, launches, &launcher)?;
        modelled::join(timed, outcome, &processes.alone);
        Ok(())
    }

    /// Makes `launches` of these processes, of which some fork others.
    fn model(
        &self,
        processes: &Processes,
        launches: u32,
        launcher: &Launcher,
    ) -> Result<Outcome, MeasureError> {
        let few = |targets: &[BenchTarget]| model_or_clock::on_the_model(targets, launches);
        let mut outcome = self.launch_side_by_side(&few(&processes.forking), launcher)?;
        let refused = processes.failed(&mut outcome);
        let more = self.launch_side_by_side(&few(&refused), launcher)?;
        outcome.replace(&refused, more);
        Ok(outcome)
    }

    /// Models benchmarks with several threads in further orders of these, if the settings ask for
    /// any.
    fn add_schedules(
        &self,
        outcome: &mut Outcome,
        processes: &Processes,
        launches: u32,
        launcher: &Launcher,
    ) -> Result<(), MeasureError> {
        let ids = schedules::with_order(&outcome.collected.benchmarks);
        if ids.is_empty() {
            let why = "no benchmark has several threads on the model and launches that agree";
            self.report_one_schedule(&processes.alone, why);
        }
        for schedule in 1..MAX_SCHEDULES {
            let processes = Processes {
                forking: schedules::in_schedule(&processes.forking, schedule, &ids),
                alone: schedules::in_schedule(&processes.alone, schedule, &ids),
            };
            if processes.alone.is_empty() {
                break;
            }
            let asked = |id: &&BenchmarkId| processes.alone.iter().any(|process| process.has(id));
            let asked: Vec<BenchmarkId> = ids.iter().filter(asked).cloned().collect();
            if !self.request.quiet {
                let benchmarks = count_of(asked.len(), "benchmark");
                message!("   Modelling {benchmarks} in schedule {}", schedule + 1);
            }
            let modelled = self.model(&processes, launches, launcher)?.collected;
            let benchmarks = &mut outcome.collected.benchmarks;
            for id in schedules::add(benchmarks, &asked, schedule, &modelled.benchmarks) {
                let number = schedule + 1;
                message!(
                    "note: `{}` does not repeat in schedule {number}, which is left out",
                    id.name
                );
            }
        }
        Ok(())
    }

    /// Says why there is one schedule alone, if these targets ask for more.
    fn report_one_schedule(&self, targets: &[BenchTarget], otherwise: &str) {
        let mut asking = targets.iter().filter(|t| t.settings.schedules > 1);
        if let Some(target) = asking.next().filter(|_| !self.request.quiet) {
            let why = schedules::obstacle(&target.settings).unwrap_or(otherwise);
            message!("note: `schedules` has no effect: {why}");
        }
    }

    /// Models those targets once that [`add_model`](Session::add_model) would model, and returns
    /// what the lines of the workspace call.
    ///
    /// # Errors
    /// As [`add_model`](Session::add_model).
    pub fn model_calls(
        &self,
        targets: &[BenchTarget],
        timed: &Outcome,
    ) -> Result<Vec<(BenchmarkId, CalledByLine)>, MeasureError> {
        let targets = model_or_clock::with_settings(targets, |settings| Settings {
            instructions: false,
            paths: true,
            ..settings
        });
        let wanted = model_or_clock::wanted(&targets, &timed.collected);
        if wanted.is_empty() || self.has_to_stop(timed) {
            return Ok(Vec::new());
        }
        let launcher = self.fixed_addresses();
        let processes = self.processes(&wanted, &launcher)?;
        let once = model_or_clock::on_the_model(&processes.alone, 1);
        let outcome = self.launch_side_by_side(&once, &launcher)?;
        Ok(outcome.collected.called)
    }

    /// Replaces those benchmarks in `outcome`, launches of `targets`, whose launches differ by all
    /// launches that the settings allow, and says how they differ.
    fn with_further_launches(
        &self,
        mut outcome: Outcome,
        targets: &[BenchTarget],
        launcher: &Launcher,
    ) -> Result<Outcome, MeasureError> {
        let disagreeing = modelled::disagreeing(&outcome);
        if disagreeing.is_empty() {
            return Ok(outcome);
        }
        let targets = model_or_clock::targets_of(&disagreeing, targets);
        let asked = divergence::with_stretches(&targets, &disagreeing, &outcome.collected);
        let all = model_or_clock::on_the_model(&asked, u32::MAX);
        if !self.request.quiet {
            let benchmarks = count_of(disagreeing.len(), "benchmark");
            let most = all.iter().map(|target| target.settings.launches).max();
            let most = most.unwrap_or_default();
            message!("   Modelling {benchmarks} again, up to {most} times: launches differ");
        }
        let more = self.launch_side_by_side(&all, launcher)?;
        let divergences =
            divergence::divergences(&targets, &disagreeing, &outcome.collected, &more.collected);
        if !self.request.quiet
            && let Some(note) = divergence::note(&divergences)
        {
            message!("{note}");
        }
        outcome.replace(&targets, more);
        for (id, divergence) in divergences {
            let mut benchmarks = outcome.collected.benchmarks.iter_mut();
            if let Some(benchmark) = benchmarks.find(|benchmark| benchmark.id == *id) {
                benchmark.launches_differ = Some(divergence.to_string());
            }
        }
        Ok(outcome)
    }

    /// Runs all launches of `targets`, several at once.
    fn launch_side_by_side(
        &self,
        targets: &[BenchTarget],
        launcher: &Launcher,
    ) -> Result<Outcome, MeasureError> {
        let launches = targets.iter().map(|t| t.settings.launches as usize).sum();
        if launches == 0 {
            return Ok(Outcome::default());
        }
        let at_once = jobs::at_once(self.request.jobs.as_deref()).min(launches);
        if at_once < 2 {
            return self.launch(targets, launcher);
        }
        let scratches: Vec<Scratch> = (0..at_once)
            .map(|_| Scratch::new())
            .collect::<Result<_, _>>()
            .map_err(MeasureError::Scratch)?;
        let in_company = |scratch: &Scratch| Launcher {
            scratch: scratch.path().to_owned(),
            beside_others: true,
            ..launcher.clone()
        };
        let launchers: Vec<Launcher> = scratches.iter().map(in_company).collect();
        self.with_progress(targets, at_once, |progress| {
            let fail_fast = self.request.fail_fast;
            topdown_runner::run_side_by_side(targets, &launchers, launcher, fail_fast, progress)
        })
    }

    /// Returns the processes in which to model `targets`.
    fn processes(
        &self,
        targets: &[BenchTarget],
        launcher: &Launcher,
    ) -> Result<Processes, MeasureError> {
        let mut processes = Processes::default();
        for target in targets {
            let begun_at = Instant::now();
            let probed = match launcher.probe(target) {
                Err(LaunchError::Interrupted) => return Err(MeasureError::Interrupted),
                // If it failed otherwise, so will the launches that follow, which report it.
                probed => probed.unwrap_or_default(),
            };
            let set_up = begun_at.elapsed();
            let own = processes_of(target, set_up);
            let share_one = own.len() < target.benchmarks.iter().flatten().count();
            if let Some(order) = &probed.order {
                let at_once = jobs::at_once(self.request.jobs.as_deref());
                processes.forking.extend(forking(target, order, at_once));
            } else if share_one && !self.request.quiet {
                message!(
                    "note: `{target}` takes {:.0} s to reach its first benchmark, so its \
                     benchmarks are modelled in one process, where data addresses depend on the \
                     benchmarks before",
                    set_up.as_secs_f64()
                );
            }
            processes.alone.extend(own);
        }
        Ok(processes)
    }

    /// Launches benches at fixed addresses, where the system allows it.
    fn fixed_addresses(&self) -> Launcher {
        let through = tracing::fixed_addresses();
        if through.is_none() {
            message!(
                "note: addresses cannot be fixed here (`setarch -R` is missing or forbidden), so \
                 modelled launches may differ a little"
            );
        }
        Launcher {
            through,
            ..self.launcher().clone()
        }
    }
}

/// The launches that model benchmarks, each in a process of its own.
#[derive(Default)]
struct Processes {
    /// Launches that fork these processes.
    forking: Vec<BenchTarget>,
    /// Launches that are these processes, of all benchmarks.
    alone: Vec<BenchTarget>,
}

impl Processes {
    /// Lets those processes keep the order of threads of which only the model has found that they
    /// have several, and returns them.
    fn order_threads(&mut self, modelled: &[Benchmark]) -> Processes {
        let order = |processes: &mut Vec<BenchTarget>| {
            let unordered = processes.iter_mut();
            let unordered = unordered.filter(|process| has_unordered_threads(process, modelled));
            unordered
                .map(|process| {
                    put_on_one_cpu(process);
                    process.clone()
                })
                .collect()
        };
        Processes {
            forking: order(&mut self.forking),
            alone: order(&mut self.alone),
        }
    }

    /// Returns the launches of those targets that do not fork, or have failed to in `outcome`,
    /// which forgets these failures.
    fn failed(&self, outcome: &mut Outcome) -> Vec<BenchTarget> {
        let failures = std::mem::take(&mut outcome.failures);
        let is_done = |process: &&BenchTarget| {
            let target = process.to_string();
            self.forking
                .iter()
                .any(|forking| forking.to_string() == target)
                && !failures.iter().any(|failure| failure.target == target)
        };
        let processes = self.alone.iter();
        processes
            .filter(|process| !is_done(process))
            .cloned()
            .collect()
    }
}

/// Says how long it took to model benchmarks, and which took longest.
fn report_times(mut times: Vec<(&BenchmarkId, Duration)>) {
    const MAX_NAMED: usize = 3;
    times.sort_by_key(|(_, took)| Reverse(*took));
    let all: Duration = times.iter().map(|(_, took)| *took).sum();
    let longest = times.iter().take(MAX_NAMED);
    let longest: Vec<String> = longest
        .map(|(id, took)| format!("{} {:.2} s", id.name, took.as_secs_f64()))
        .collect();
    let what = match times.len() {
        0 => return,
        1 => longest.concat(),
        count => format!(
            "{} in {:.2} s; longest: {}",
            count_of(count, "benchmark"),
            all.as_secs_f64(),
            longest.join(", ")
        ),
    };
    message!("    Modelled {what}");
}
