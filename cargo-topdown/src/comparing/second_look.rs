//! The second look of `compare`: launches suspects again, once.
//!
//! Further launches are stored next to the run they belong to and never become part of it. So
//! repeating a comparison finds them and gives the same verdict: nothing is launched a third time,
//! and no launch counts twice.

use std::path::{Path, PathBuf};

use topdown_run::run_file::{self, Benchmark, BenchmarkId, LaunchSamples, Run};

use crate::error::Error;
use crate::measure::MeasureError;
use crate::measure::pairs::Pairs;
use topdown_gate::policy::Policy;
use topdown_gate::verdict::{self, Comparison, FirstLook, LabelledRun, Sessions};
use topdown_runner::gathering::collect::Collected;
use topdown_runner::gathering::relaunch;
use topdown_runner::launching::launcher::Launcher;
use topdown_runner::modelling::model_or_clock;
use topdown_runner::progress::Style;
use topdown_runner::record::{LaunchRecord, RelaunchError};
use topdown_runner::targets::bench_targets::BenchTarget;
use topdown_system::interrupt;
use topdown_system::scratch::Scratch;
use topdown_terminal::terminal::message;

/// The directory of a run's further launches, inside its own.
const FURTHER: &str = "further";

/// A stored run that is compared.
pub struct ComparedRun {
    /// The name or path under which the user requested it.
    pub label: String,
    /// The run as stored, to which a second look adds further launches, but only in memory.
    pub run: Run,
    /// The directory that holds it.
    pub directory: PathBuf,
    /// Whether benchmarks have other names than their executables know them by, so that they cannot
    /// be launched.
    pub has_new_names: bool,
    /// The benchmarks whose functions launches have failed to sample, and why.
    pub without_functions: Vec<(BenchmarkId, String)>,
}

impl ComparedRun {
    /// `run` was read from `path`: a run file, or the directory that holds one.
    pub fn new(label: &str, path: &Path, run: Run) -> ComparedRun {
        let file = run_file::run_file_of(path);
        let directory = file.parent().unwrap_or(Path::new("")).to_owned();
        ComparedRun {
            label: label.to_owned(),
            run,
            directory,
            has_new_names: false,
            without_functions: Vec::new(),
        }
    }

    /// Returns the run as [`verdict`] takes it.
    pub fn labelled(&self) -> LabelledRun<'_> {
        LabelledRun {
            label: &self.label,
            run: &self.run,
        }
    }

    fn has_slots(&self) -> bool {
        self.run.benchmarks.iter().any(|b| b.slots.is_some())
    }
}

/// Whether suspects may be launched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relaunch {
    /// They may. If that is impossible there is one look, and a note says why.
    Allowed,
    /// They may not, but existing further launches count.
    Forbidden,
}

/// Judges in two looks if suspects can be launched again, otherwise in one. The `earlier` runs show
/// the machine's drift.
///
/// # Errors
/// Returns an error if suspects could not be launched, or their launches could not be stored.
pub fn judge(
    baseline: &mut ComparedRun,
    candidate: &mut ComparedRun,
    policy: &Policy,
    earlier: &[Run],
    relaunch: Relaunch,
) -> Result<Comparison, Error> {
    let base_again = match baseline.has_new_names {
        true => FurtherLaunches::new(baseline, Relaunch::Forbidden)?,
        false => FurtherLaunches::new(baseline, relaunch)?,
    };
    let mut again = FurtherLaunches::new(candidate, relaunch)?;
    let candidate_alone = !base_again.is_possible();
    if candidate_alone && !candidate.has_slots() {
        again = FurtherLaunches::impossible(RelaunchError::TimeAlone);
    }
    if !again.is_possible() {
        if let Err(reason) = &again.record {
            message!(
                "note: {} cannot be launched again, so there is no second look: {reason}",
                candidate.label
            );
        }
        return Ok(verdict::compare_after(
            earlier,
            baseline.labelled(),
            candidate.labelled(),
            policy,
        ));
    }
    let first = FirstLook::new(
        baseline.labelled(),
        candidate.labelled(),
        policy,
        Sessions::Apart { earlier },
        candidate_alone,
    );
    let suspects = first.suspects();
    if suspects.is_empty() {
        return Ok(first.into_comparison());
    }
    let (base_further, further) = further_launches(
        (baseline, base_again),
        (candidate, again),
        suspects,
        candidate_alone,
    )?;
    // Another comparison of these runs may have had other suspects.
    let of_suspects = |further: Vec<Benchmark>| -> Vec<Benchmark> {
        let further = further.into_iter();
        further.filter(|b| suspects.contains(&b.id)).collect()
    };
    relaunch::append(&mut baseline.run, &of_suspects(base_further));
    relaunch::append(&mut candidate.run, &of_suspects(further));
    Ok(first.second(&baseline.run, &candidate.run, policy))
}

/// Suggests `--relaunch` to users who may not know it, if it could decide anything.
pub fn hint(baseline: &ComparedRun, candidate: &ComparedRun, comparison: &Comparison) {
    let can_launch =
        |side: &ComparedRun| LaunchRecord::read_for_second_look(&side.directory, &side.run).is_ok();
    let suspects = verdict::suspects(comparison, false);
    if suspects.is_empty() || !can_launch(candidate) {
        return;
    }
    let suspects = verdict::suspects(comparison, !can_launch(baseline));
    if !suspects.is_empty() {
        message!(
            "note: {} of {} benchmarks may be slower; `cargo topdown compare {} --relaunch` \
             launches them again, with half of alpha for each look",
            suspects.len(),
            comparison.benchmarks.len(),
            baseline.label
        );
    }
}

/// A run's further launches, and whether it can have more.
struct FurtherLaunches {
    /// `None` if relaunching is forbidden.
    record: Result<Option<LaunchRecord>, RelaunchError>,
    further: Option<Run>,
}

impl FurtherLaunches {
    fn new(side: &ComparedRun, relaunch: Relaunch) -> Result<FurtherLaunches, Error> {
        let directory = side.directory.join(FURTHER);
        let further = if run_file::run_file_of(&directory).is_file() {
            Some(run_file::read_run(&directory)?)
        } else {
            None
        };
        let record = match relaunch {
            Relaunch::Allowed => {
                LaunchRecord::read_for_second_look(&side.directory, &side.run).map(Some)
            }
            Relaunch::Forbidden => Ok(None),
        };
        Ok(FurtherLaunches {
            record,
            // Otherwise it belongs to a previous run in this directory.
            further: further.filter(|further| further.id == further_id(&side.run)),
        })
    }

    fn impossible(reason: RelaunchError) -> FurtherLaunches {
        FurtherLaunches {
            record: Err(reason),
            further: None,
        }
    }

    fn is_possible(&self) -> bool {
        self.record().is_some() || self.further.is_some()
    }

    fn record(&self) -> Option<&LaunchRecord> {
        self.record.as_ref().ok()?.as_ref()
    }

    fn has(&self, id: &BenchmarkId) -> bool {
        let further = self.further.as_ref();
        further.is_some_and(|run| run.benchmarks.iter().any(|b| b.id == *id))
    }

    fn targets(&self) -> Vec<BenchTarget> {
        (self.record()).map_or(Vec::new(), |record| record.targets.clone())
    }

    /// Stores new launches together with existing ones, and returns all of them.
    fn with(self, side: &ComparedRun, more: Collected) -> Result<Vec<Benchmark>, Error> {
        let directory = side.directory.join(FURTHER);
        let mut samples: Vec<LaunchSamples> = Vec::new();
        let mut run = match self.further {
            Some(run) => {
                samples = run_file::read_samples(&directory)?;
                run
            }
            None => Run {
                id: further_id(&side.run),
                benchmarks: Vec::new(),
                ..side.run.clone()
            },
        };
        let known: Vec<BenchmarkId> = run.benchmarks.iter().map(|b| b.id.clone()).collect();
        let is_new = |id: &BenchmarkId| !known.contains(id);
        let new = more.benchmarks.into_iter().filter(|b| is_new(&b.id));
        run.benchmarks.extend(new);
        let new = more
            .samples
            .into_iter()
            .filter(|sample| is_new(&sample.benchmark));
        samples.extend(new);
        run_file::write_run(&directory, &run, &samples).map_err(Error::NotStored)?;
        Ok(run.benchmarks)
    }
}

fn further_id(run: &Run) -> String {
    format!("{}-further", run.id)
}

/// Makes the further launches that suspects lack, and returns those of both sides.
fn further_launches(
    (baseline, base_again): (&ComparedRun, FurtherLaunches),
    (candidate, again): (&ComparedRun, FurtherLaunches),
    suspects: &[BenchmarkId],
    candidate_alone: bool,
) -> Result<(Vec<Benchmark>, Vec<Benchmark>), Error> {
    let lacks = |id: &&BenchmarkId| !again.has(id);
    let lacking: Vec<BenchmarkId> = suspects.iter().filter(lacks).cloned().collect();
    let record = match again.record() {
        Some(record) if !lacking.is_empty() => record,
        _ => {
            let known =
                |again: FurtherLaunches| again.further.map_or(Vec::new(), |run| run.benchmarks);
            return Ok((known(base_again), known(again)));
        }
    };
    let guard = interrupt::guard().map_err(MeasureError::Interrupt)?;
    let scratch = Scratch::new().map_err(MeasureError::Scratch)?;
    let pairs = Pairs {
        base: &model_or_clock::on_the_clock(&base_again.targets()),
        candidate: &model_or_clock::on_the_clock(&record.targets),
        launcher: &Launcher::new(
            &scratch,
            record.criterion.clone(),
            topdown_arm_specification::for_benches(),
        ),
        style: Style::for_process(false, false),
        quiet: false,
        fail_fast: true,
    };
    let (more_base, more) = pairs.launch_again(&lacking)?;
    let more_base = relaunch::numbered_behind(&baseline.run, &lacking, more_base);
    let more = relaunch::numbered_behind(&candidate.run, &lacking, more);
    let base_further = if candidate_alone {
        Vec::new()
    } else {
        base_again.with(baseline, more_base)?
    };
    let further = again.with(candidate, more)?;
    drop(guard);
    Ok((base_further, further))
}
