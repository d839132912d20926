//! A year of merges of unchanged code: each run is compared with the one before, after the newest
//! runs of the history, and takes its place.

use fastrand::Rng;

use super::each_suite;
use super::machine::Machine;
use super::suite::{Kind, Plan, Session, Suite};
use topdown_gate::policy::Policy;
use topdown_gate::verdict::{LabelledRun, Outcome, compare_after};
use topdown_run::run_file::Run;

/// Merges of a year, and the runs of the history that a comparison reads.
pub const MERGES: usize = 250;
const HISTORY: usize = 30;

/// What to simulate.
#[derive(Clone, Copy, Debug)]
pub struct Years {
    pub seed: u64,
    pub years: u64,
    pub benchmarks: usize,
    pub machine: Machine,
    pub kind: Kind,
    pub launches: u32,
    /// See [`Policy::false_alarms_per_year`].
    pub allowed: Option<f64>,
}

impl Years {
    /// Returns the failing comparisons of all years, and of the worst.
    pub fn run(&self) -> (usize, usize) {
        let add = |(sum, worst): &mut (usize, usize), other: &(usize, usize)| {
            *sum += other.0;
            *worst = (*worst).max(other.1);
        };
        each_suite(self.years, |number| self.year(number), add)
    }

    fn year(&self, number: u64) -> (usize, usize) {
        let mut rng = Rng::with_seed(self.seed ^ number.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let mut suite = Suite::draw(self.machine, self.benchmarks, &mut rng);
        let mut policy = Policy::default();
        policy.false_alarms_per_year = self.allowed;
        let policy = policy.spent_over(MERGES as f64);
        let mut run = || {
            suite.begin_other_session(&mut rng);
            let plan = Plan {
                session: Session::Candidate,
                launches: self.launches,
                planted: &[],
                wild: None,
                kind: self.kind,
            };
            suite.run(&plan, |_| true, &mut rng)
        };
        let mut history: Vec<Run> = (0..HISTORY).map(|_| run()).collect();
        let mut failing = 0;
        for _ in 0..MERGES {
            let candidate = run();
            let labelled = |run| LabelledRun { label: "main", run };
            let baseline = labelled(&history[HISTORY - 1]);
            let compared = compare_after(&history, baseline, labelled(&candidate), &policy);
            failing += usize::from(compared.outcome == Outcome::Failed);
            history.remove(0);
            history.push(candidate);
        }
        (failing, failing)
    }
}
