//! Error rates of the search for change points, on histories whose true changes are known.

use fastrand::Rng;
use topdown_run::run_file::Run;

use super::each_suite;
use super::machine::Machine;
use super::suite::{Kind, Plan, PlantedChange, Session, Suite};
use topdown_gate::metric::Metric;
use topdown_gate::trend::{BenchmarkTrend, ChangeKind, Trend, trend};

/// The probability of finding any change point in an unchanged suite; the gate's default.
const ALPHA: f64 = 0.05;
/// A step counts as found if a change point is at most this many runs away.
const NEAR_RUNS: usize = 2;

/// What happens to a benchmark in the course of a history.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum HistoryShape {
    /// Nothing.
    Unchanged,
    /// One step of this fraction of the slots, in the middle.
    Step(f64),
    /// This many steps of this fraction each, evenly spread.
    Steps(usize, f64),
}

impl HistoryShape {
    /// Returns what is added to the slots at `run` of `runs`.
    fn size_at(self, run: usize, runs: usize) -> f64 {
        match self {
            HistoryShape::Unchanged => 0.0,
            HistoryShape::Step(size) => {
                if run >= runs / 2 {
                    size
                } else {
                    0.0
                }
            }
            HistoryShape::Steps(steps, size) => size * (run * (steps + 1) / runs) as f64,
        }
    }

    /// Returns whether the change points of `benchmark` show the course: a step in its place, or at
    /// least half of the slowdown of many steps.
    fn is_reported_by(self, benchmark: &BenchmarkTrend, runs: usize) -> bool {
        let mut slower = benchmark
            .changes
            .iter()
            .filter(|change| change.kind == ChangeKind::Slower);
        match self {
            HistoryShape::Unchanged => false,
            HistoryShape::Step(_) => {
                slower.any(|change| change.run.abs_diff(runs / 2) <= NEAR_RUNS)
            }
            HistoryShape::Steps(steps, size) => {
                let reported: f64 = slower.map(|change| change.difference).sum();
                reported >= steps as f64 * size / 2.0
            }
        }
    }
}

/// What to simulate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HistoryExperiment {
    /// Determines every random number, together with the number of the suite.
    pub seed: u64,
    /// Suites, each with a history.
    pub suites: u64,
    /// Benchmarks per suite.
    pub benchmarks: usize,
    /// The machine; each run is its own session.
    pub machine: Machine,
    /// Runs per history.
    pub runs: usize,
    /// Launches per run.
    pub launches: u32,
    /// What happens to the backend-bound slots of benchmarks that change.
    pub course: HistoryShape,
    /// One benchmark in this many changes, if any do.
    pub every: usize,
}

/// What was found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HistoryTally {
    /// Suites, each with a history.
    pub suites: usize,
    /// Those with a change point in an unchanged benchmark.
    pub suites_with_false_alarm: usize,
    /// Benchmarks that did not change.
    pub unchanged: usize,
    /// Those with a change point.
    pub false_alarms: usize,
    /// Benchmarks that changed.
    pub planted: usize,
    /// Those whose change points show what happened.
    pub found: usize,
}

impl HistoryExperiment {
    /// Draws and judges all histories. The result does not depend on the number of threads.
    pub fn run(&self) -> HistoryTally {
        each_suite(self.suites, |number| self.tally(number), HistoryTally::add)
    }

    fn tally(&self, number: u64) -> HistoryTally {
        let mut tally = HistoryTally {
            suites: 1,
            ..HistoryTally::default()
        };
        let Some(trend) = self.history(number) else {
            return tally;
        };
        for (index, benchmark) in trend.benchmarks.iter().enumerate() {
            if self.course != HistoryShape::Unchanged && index % self.every == 0 {
                tally.planted += 1;
                tally.found += usize::from(self.course.is_reported_by(benchmark, self.runs));
            } else {
                tally.unchanged += 1;
                tally.false_alarms += usize::from(!benchmark.changes.is_empty());
            }
        }
        tally.suites_with_false_alarm = usize::from(tally.false_alarms > 0);
        tally
    }

    fn history(&self, number: u64) -> Option<Trend> {
        trend("simulated", &self.runs_of(number), Vec::new(), ALPHA)
    }

    fn runs_of(&self, number: u64) -> Vec<Run> {
        let mut rng = Rng::with_seed(self.seed ^ number.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let mut suite = Suite::draw(self.machine, self.benchmarks, &mut rng);
        (0..self.runs)
            .map(|run| {
                suite.begin_session(&mut rng);
                let size = self.course.size_at(run, self.runs);
                let planted = [PlantedChange::every(self.every, Metric::BackendBound, size)];
                let plan = Plan {
                    session: Session::Candidate,
                    launches: self.launches,
                    planted: &planted,
                    wild: None,
                    kind: Kind::Counted,
                };
                suite.run(&plan, |_| true, &mut rng)
            })
            .collect()
    }
}

impl HistoryTally {
    fn add(&mut self, other: &HistoryTally) {
        self.suites += other.suites;
        self.suites_with_false_alarm += other.suites_with_false_alarm;
        self.unchanged += other.unchanged;
        self.false_alarms += other.false_alarms;
        self.planted += other.planted;
        self.found += other.found;
    }

    /// Found among planted; NaN if nothing was planted.
    pub fn power(&self) -> f64 {
        self.found as f64 / self.planted as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulation::machine::{MACHINES, SHARED_MACHINE};
    use topdown_gate::policy::Policy;
    use topdown_gate::trend::SlowerOverTime;
    use topdown_gate::verdict::{LabelledRun, compare, with_history};

    /// Small enough for every test run; docs/history.md has the figures for large ones.
    fn experiment() -> HistoryExperiment {
        HistoryExperiment {
            seed: 4711,
            suites: 2,
            benchmarks: 20,
            machine: SHARED_MACHINE,
            runs: 30,
            launches: 5,
            course: HistoryShape::Unchanged,
            every: 2,
        }
    }

    #[test]
    fn unchanged_histories_have_no_change_points() {
        for machine in MACHINES {
            let tally = HistoryExperiment {
                machine,
                ..experiment()
            }
            .run();
            assert_eq!(
                (tally.unchanged, tally.false_alarms),
                (40, 0),
                "{}",
                machine.name
            );
        }
    }

    #[test]
    fn one_step_of_5_percent_and_ten_of_1_are_found() {
        for course in [HistoryShape::Step(0.05), HistoryShape::Steps(10, 0.01)] {
            let tally = HistoryExperiment {
                course,
                ..experiment()
            }
            .run();
            assert_eq!(tally.planted, 20);
            assert!(tally.found >= 19, "{course:?}: {tally:?}");
            assert_eq!(tally.false_alarms, 0, "{course:?}");
        }
    }

    /// Returns what a comparison with the history reports after each run.
    fn reported(experiment: HistoryExperiment, number: u64) -> Vec<Vec<SlowerOverTime>> {
        let runs = experiment.runs_of(number);
        let policy = Policy::default();
        let side = |run| LabelledRun { label: "run", run };
        let judged = |a, b| compare(side(a), side(b), &policy);
        (1..runs.len())
            .map(|newest| {
                let comparison = judged(&runs[newest - 1], &runs[newest]);
                with_history(comparison, &runs[..=newest], &policy).slower_over_time
            })
            .collect()
    }

    /// Judges by the earlier run, like the gate: 5 % is allowed.
    #[test]
    fn unchanged_histories_rarely_raise_notes() {
        let (mut comparisons, mut telling) = (0, 0);
        for machine in MACHINES {
            let experiment = HistoryExperiment {
                machine,
                runs: 16,
                launches: 10,
                ..experiment()
            };
            for number in 0..experiment.suites {
                let reported = reported(experiment, number);
                comparisons += reported.len();
                telling += reported
                    .iter()
                    .filter(|reported| !reported.is_empty())
                    .count();
            }
        }
        assert!(
            100 * telling <= 3 * comparisons,
            "{telling} of {comparisons}"
        );
        eprintln!("{telling} of {comparisons}");
    }

    /// Returns how many benchmarks of five suites are told in the end, if one in `every` of twenty
    /// becomes half a percent slower at each of ten merges, and each run is saved as a baseline.
    fn reported_after_ten_merges(machine: Machine, every: usize) -> usize {
        let experiment = HistoryExperiment {
            machine,
            runs: 11,
            launches: 10,
            course: HistoryShape::Steps(10, 0.005),
            suites: 5,
            every,
            ..experiment()
        };
        let ends = (0..experiment.suites).map(|number| reported(experiment, number).pop());
        ends.map(|end| end.unwrap().len()).sum()
    }

    #[test]
    fn creep_over_ten_merges_is_reported() {
        for (machine, least) in [(MACHINES[0], 7), (SHARED_MACHINE, 4)] {
            let reported = reported_after_ten_merges(machine, 10);
            eprintln!("{}: {reported} of 10", machine.name);
            assert!(reported >= least, "{}: {reported} of 10", machine.name);
        }
    }

    /// If the two halves are close, it is unclear which of them drifted, so some of the drift goes
    /// unreported on a noisy machine.
    #[test]
    fn creep_in_half_the_suite_is_reported() {
        for (machine, least) in [(MACHINES[0], 45), (SHARED_MACHINE, 15)] {
            let reported = reported_after_ten_merges(machine, 2);
            eprintln!("{}: {reported} of 50", machine.name);
            assert!(reported >= least, "{}: {reported} of 50", machine.name);
        }
    }

    /// A user who saves a run that failed knows about the step.
    #[test]
    fn saved_failure_is_not_reported_again() {
        let experiment = HistoryExperiment {
            machine: MACHINES[0],
            runs: 16,
            launches: 10,
            course: HistoryShape::Step(0.06),
            every: 10,
            ..experiment()
        };
        let reported = reported(experiment, 0);
        let after_the_step: usize = reported[8..].iter().map(Vec::len).sum();
        assert_eq!(after_the_step, 0, "{reported:?}");
    }

    #[test]
    fn five_scattered_runs_change_nothing() {
        let tally = HistoryExperiment {
            runs: 5,
            course: HistoryShape::Step(0.5),
            ..experiment()
        }
        .run();
        assert_eq!((tally.planted, tally.found), (20, 0));
    }
}
