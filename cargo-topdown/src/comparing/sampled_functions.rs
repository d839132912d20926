//! The functions of counted benchmarks, sampled after the judgement: by launches of the executables
//! that a run came from, where they still exist.
//!
//! They are stored next to the run and never become part of it, as further launches are. So
//! repeating a comparison finds them and launches nothing.

use topdown_run::run_file::{self, Benchmark, BenchmarkId, Run};

use super::second_look::{ComparedRun, Relaunch};
use crate::error::Error;
use crate::measure::MeasureError;
use crate::measure::sampling::sample_functions;
use topdown_gate::metric::Metric;
use topdown_gate::verdict::{self, BenchmarkVerdict, Comparison, Verdict};
use topdown_runner;
use topdown_runner::launching::launch_error::LaunchError;
use topdown_runner::launching::launcher::Launcher;
use topdown_runner::progress::{Progress, Style};
use topdown_runner::record::LaunchRecord;
use topdown_runner::sampling::is_counted;
use topdown_runner::targets::bench_targets::BenchTarget;
use topdown_system::interrupt;
use topdown_system::scratch::Scratch;
use topdown_terminal::count_of;
use topdown_terminal::terminal::message;

/// The directory of the functions, inside that of their run.
const FUNCTIONS: &str = "functions";

/// At most this many benchmarks are sampled unasked.
const MAX_UNREQUESTED: usize = 5;

/// Benchmarks whose functions a comparison should know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sampled {
    /// Those of no benchmark, unless the runs know them.
    None,
    /// Those of the benchmarks whose slots grew most and which regressed: without a request
    /// must not take minutes.
    MostRegressed,
    /// Those of all benchmarks.
    All,
}

impl Sampled {
    /// Returns what `--functions`, or its absence, asks for.
    pub fn requested(functions: Option<bool>) -> Sampled {
        match functions {
            None => Sampled::MostRegressed,
            Some(true) => Sampled::All,
            Some(false) => Sampled::None,
        }
    }

    /// Returns the benchmarks of `comparison` whose functions are wanted.
    pub fn of(self, comparison: &Comparison) -> Vec<BenchmarkId> {
        let all = comparison.benchmarks.iter();
        let wanted: Vec<&BenchmarkVerdict> = match self {
            Sampled::None => Vec::new(),
            Sampled::All => all.collect(),
            Sampled::MostRegressed => {
                let difference = |benchmark: &BenchmarkVerdict| {
                    benchmark
                        .effect(Metric::Slots)
                        .map_or(0.0, |slots| slots.difference)
                };
                let mut regressed: Vec<&BenchmarkVerdict> = all
                    .filter(|benchmark| benchmark.verdict == Verdict::Regressed)
                    .collect();
                regressed.sort_by(|a, b| difference(b).total_cmp(&difference(a)));
                regressed.truncate(MAX_UNREQUESTED);
                regressed
            }
        };
        wanted
            .into_iter()
            .map(|benchmark| benchmark.id.clone())
            .collect()
    }
}

/// Adds the functions of the wanted benchmarks to both runs, and to the comparison of them.
/// Launches of an earlier comparison count, and others are made if that is allowed.
///
/// # Errors
/// Returns an error if launches could not be made or stored, or the user interrupts.
pub fn add(
    baseline: &mut ComparedRun,
    candidate: &mut ComparedRun,
    comparison: Comparison,
    (wanted, launches): (Sampled, Relaunch),
) -> Result<Comparison, Error> {
    let ids = wanted.of(&comparison);
    for side in [&mut *baseline, &mut *candidate] {
        side.add_stored()?;
        if launches == Relaunch::Allowed {
            side.sample(&ids, wanted)?;
        }
    }
    let sides = [baseline, candidate];
    Ok(verdict::with_functions(
        comparison,
        sides.each_ref().map(|side| &side.run),
        sides.each_ref().map(|side| &side.without_functions[..]),
    ))
}

impl ComparedRun {
    /// Adds the functions that an earlier comparison has sampled.
    fn add_stored(&mut self) -> Result<(), Error> {
        for stored in self.stored()? {
            put(&mut self.run, stored);
        }
        Ok(())
    }

    /// Returns the benchmarks whose functions are stored, with them.
    fn stored(&self) -> Result<Vec<Benchmark>, Error> {
        let directory = self.directory.join(FUNCTIONS);
        if !run_file::run_file_of(&directory).is_file() {
            return Ok(Vec::new());
        }
        let stored = run_file::read_run(&directory)?;
        if stored.id == self.functions_id() {
            Ok(stored.benchmarks)
        } else {
            // It belongs to a previous run in this directory.
            Ok(Vec::new())
        }
    }

    /// Returns the id of the run that stores the functions.
    fn functions_id(&self) -> String {
        format!("{}-functions", self.run.id)
    }

    /// Launches those of the benchmarks `ids` that were counted and whose functions are unknown.
    fn sample(&mut self, ids: &[BenchmarkId], wanted: Sampled) -> Result<(), Error> {
        let mut without_functions = without_functions(&self.run, ids);
        if without_functions.is_empty() {
            return Ok(());
        }
        let record = match LaunchRecord::read(&self.directory, &self.run) {
            Ok(record) => record,
            Err(reason) => {
                if wanted == Sampled::All {
                    message!(
                        "note: {} cannot be launched to sample functions: {reason}",
                        self.label
                    );
                }
                return Ok(());
            }
        };
        message!(
            "launching {} of {} to sample functions",
            count_of(without_functions.len(), "benchmark"),
            self.label
        );
        let guard = interrupt::guard().map_err(MeasureError::Interrupt)?;
        let scratch = Scratch::new().map_err(MeasureError::Scratch)?;
        let launcher = Launcher::new(
            &scratch,
            record.criterion.clone(),
            topdown_arm_specification::for_benches(),
        );
        let style = Style::for_process(false, false);
        let launch = |targets: &[BenchTarget], launcher: &Launcher| {
            let mut progress = Progress::new(style, targets, 1);
            let outcome = topdown_runner::run(targets, launcher, false, &mut progress);
            progress.finish();
            outcome.map_err(|error| match error {
                LaunchError::Interrupted => MeasureError::Interrupted,
                other => MeasureError::Launch(other),
            })
        };
        self.without_functions =
            sample_functions(&record.targets, &mut without_functions, &launcher, launch)?;
        drop(guard);
        let mut stored = self.stored()?;
        for sampled in without_functions
            .into_iter()
            .filter(|b| b.functions.is_some())
        {
            put(&mut self.run, sampled.clone());
            stored.push(sampled);
        }
        let stored = Run {
            id: self.functions_id(),
            benchmarks: stored,
            ..self.run.clone()
        };
        let directory = self.directory.join(FUNCTIONS);
        run_file::write_run(&directory, &stored, &[]).map_err(Error::NotStored)
    }
}

/// Returns those of the benchmarks `ids` that the hardware counted and whose functions are unknown.
pub fn without_functions(run: &Run, ids: &[BenchmarkId]) -> Vec<Benchmark> {
    let lacks = |b: &&Benchmark| ids.contains(&b.id) && is_counted(b) && b.functions.is_none();
    run.benchmarks.iter().filter(lacks).cloned().collect()
}

/// Puts sampled functions beside the benchmark of `run` that they belong to.
pub fn put(run: &mut Run, sampled: Benchmark) {
    let mut benchmarks = run.benchmarks.iter_mut();
    let benchmark = benchmarks.find(|b| b.id == sampled.id && b.functions.is_none());
    if let Some(benchmark) = benchmark {
        benchmark.functions = sampled.functions;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use topdown_gate::policy::Policy;
    use topdown_gate::scenario::{self, Planted, benchmark};
    use topdown_gate::verdict::{LabelledRun, compare};
    use topdown_run::category::PerCategory;

    #[test]
    fn only_largest_regressions_are_sampled_unasked() {
        let suite = |slower: f64| {
            let names = ["a", "b", "c", "d", "e", "f", "g", "h"];
            let planted = |index: usize| Planted {
                categories: PerCategory {
                    backend_bound: slower * index as f64,
                    ..PerCategory::default()
                },
                ..Planted::default()
            };
            let named = names.iter().enumerate();
            scenario::run(
                named
                    .map(|(index, name)| benchmark(name, planted(index)))
                    .collect(),
            )
        };
        let (base, new) = (suite(0.0), suite(0.2));
        let labelled = |run| LabelledRun { label: "main", run };
        let comparison = compare(labelled(&base), labelled(&new), &Policy::default());
        let names = |sampled: Sampled| -> Vec<String> {
            sampled
                .of(&comparison)
                .into_iter()
                .map(|id| id.name)
                .collect()
        };
        assert_eq!(names(Sampled::MostRegressed), ["h", "g", "f", "e", "d"]);
        assert_eq!(names(Sampled::All).len(), 8);
        assert_eq!(names(Sampled::None), [""; 0]);
    }
}
