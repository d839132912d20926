//! Checks the advice given for inconclusive benchmarks, by launching them again as often as
//! advised.

use std::collections::BTreeSet;

use fastrand::Rng;
use topdown_run::run_file::Run;

use super::each_suite;
use super::machine::Machine;
use super::suite::{Kind, Plan, PlantedChange, Session, Suite};
use topdown_gate::metric::Metric;
use topdown_gate::policy::Policy;
use topdown_gate::statistics::outlook::MAX_LAUNCHES;
use topdown_gate::verdict::{Comparison, LabelledRun, UndecidedReason, compare};

/// Benchmarks of a suite that gets advice.
pub const ADVISED_BENCHMARKS: usize = 100;
/// Slowdowns of benchmarks, each in its own suites: from unchanged to certain, with the
/// margin in between.
pub const ADVISED_PERCENT: [u32; 6] = [0, 1, 2, 3, 5, 8];
/// Launches of the comparison that gives the advice.
const LAUNCHES: u32 = 10;

/// Inconclusive benchmarks, by the advice they got.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Advice {
    /// "Needs N launches", or "N to M".
    pub needs: usize,
    /// Those that N fresh launches per side decide: one in two, according to the advice.
    pub decided_by_half: usize,
    /// "Needs N to M launches".
    pub needs_most: usize,
    /// Those that M fresh launches decide: about three in four.
    pub decided_by_most: usize,
    /// "Even the most launches decide only about this many percent of such cases".
    pub open: usize,
    /// Those that the most launches decide.
    pub open_decided: usize,
    /// "No number of launches is likely to tell": because of the margin, or drift.
    pub no_number: usize,
    /// Those that the most launches leave undecided.
    pub no_number_indeed: usize,
    /// "Too noisy to gate".
    pub too_noisy: usize,
    /// Those that the most launches leave undecided.
    pub too_noisy_indeed: usize,
}

impl Advice {
    /// Sums over `suites` suites, in each of which some benchmarks got slower by `change`.
    pub fn over(machine: Machine, change: f64, seed: u64, suites: u64) -> Advice {
        let of_suite = |number: u64| {
            let mut rng = Rng::with_seed(seed ^ number.wrapping_mul(0x9e37_79b9_7f4a_7c15));
            Advice::new(machine, change, &mut rng)
        };
        each_suite(suites, of_suite, Advice::add)
    }

    fn new(machine: Machine, change: f64, rng: &mut Rng) -> Advice {
        let suite = Suite::draw(machine, ADVISED_BENCHMARKS, rng);
        let planted = [PlantedChange::every(EVERY, Metric::BackendBound, change)];
        let mut launched = |launches| {
            [Session::Baseline, Session::Candidate].map(|session| {
                let plan = Plan {
                    session,
                    launches,
                    planted: &planted,
                    wild: None,
                    kind: Kind::Counted,
                };
                let nothing = Plan {
                    planted: &[],
                    ..plan
                };
                match session {
                    Session::Baseline => suite.run(&nothing, |_| true, rng),
                    Session::Candidate => suite.run(&plan, |_| true, rng),
                }
            })
        };
        let first = judged(&launched(LAUNCHES), LAUNCHES);
        let fresh = launched(MAX_LAUNCHES);
        let asked = |index: &usize| index.is_multiple_of(EVERY);
        let reported: Vec<(usize, AdviceKind)> = (0..ADVISED_BENCHMARKS)
            .filter(asked)
            .filter_map(|index| Some((index, AdviceKind::new(&first, index)?)))
            .collect();
        let mut advice = Advice::default();
        let numbers: BTreeSet<u32> = reported
            .iter()
            .flat_map(|(_, reported)| reported.launches())
            .collect();
        for launches in numbers {
            let with_second_look = judged(&fresh, launches);
            for (index, reported) in &reported {
                let decided = usize::from(with_second_look.benchmarks[*index].verdict.is_decided());
                advice.count(*reported, launches, decided);
            }
        }
        advice
    }

    fn count(&mut self, reported: AdviceKind, launches: u32, decided: usize) {
        match reported {
            AdviceKind::Needs(half, most) => {
                if launches == half {
                    self.needs += 1;
                    self.decided_by_half += decided;
                }
                if Some(launches) == most {
                    self.needs_most += 1;
                    self.decided_by_most += decided;
                }
            }
            AdviceKind::Open if launches == MAX_LAUNCHES => {
                self.open += 1;
                self.open_decided += decided;
            }
            AdviceKind::NoNumber if launches == MAX_LAUNCHES => {
                self.no_number += 1;
                self.no_number_indeed += 1 - decided;
            }
            AdviceKind::TooNoisy if launches == MAX_LAUNCHES => {
                self.too_noisy += 1;
                self.too_noisy_indeed += 1 - decided;
            }
            AdviceKind::Open | AdviceKind::NoNumber | AdviceKind::TooNoisy => {}
        }
    }

    fn add(&mut self, other: &Advice) {
        self.needs += other.needs;
        self.decided_by_half += other.decided_by_half;
        self.needs_most += other.needs_most;
        self.decided_by_most += other.decided_by_most;
        self.open += other.open;
        self.open_decided += other.open_decided;
        self.no_number += other.no_number;
        self.no_number_indeed += other.no_number_indeed;
        self.too_noisy += other.too_noisy;
        self.too_noisy_indeed += other.too_noisy_indeed;
    }
}

/// One benchmark in this many changes and gets advice; the others keep the suite as a whole from
/// moving.
const EVERY: usize = 3;

#[derive(Clone, Copy)]
enum AdviceKind {
    Needs(u32, Option<u32>),
    Open,
    NoNumber,
    TooNoisy,
}

impl AdviceKind {
    fn new(comparison: &Comparison, index: usize) -> Option<AdviceKind> {
        let undecided = comparison.benchmarks[index].undecided.as_ref()?;
        Some(match (undecided.launches_needed, &undecided.reason) {
            (Some(half), _) => AdviceKind::Needs(half, undecided.launches_enough),
            (None, _) if undecided.decided_by_most_fraction.is_some() => AdviceKind::Open,
            (None, UndecidedReason::Margin | UndecidedReason::Drift) => AdviceKind::NoNumber,
            (None, _) => AdviceKind::TooNoisy,
        })
    }

    fn launches(&self) -> Vec<u32> {
        match *self {
            AdviceKind::Needs(half, most) => std::iter::once(half).chain(most).collect(),
            AdviceKind::Open | AdviceKind::NoNumber | AdviceKind::TooNoisy => vec![MAX_LAUNCHES],
        }
    }
}

/// Compares only the first `launches` launches of each side.
fn judged(sides: &[Run; 2], launches: u32) -> Comparison {
    let [baseline, candidate] = sides.each_ref().map(|run| {
        let mut run = run.clone();
        for benchmark in &mut run.benchmarks {
            let kept = |launch: u32| launch < launches;
            benchmark.times.launches.retain(|time| kept(time.launch));
            if let Some(slots) = &mut benchmark.slots {
                slots.launches.retain(|slots| kept(slots.launch));
            }
        }
        run
    });
    let label = |label, run| LabelledRun { label, run };
    compare(
        label("baseline", &baseline),
        label("candidate", &candidate),
        &Policy::default(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulation::machine::SHARED_MACHINE;

    /// The example itself prints the figures for more suites.
    #[test]
    fn advice_is_mostly_right() {
        let mut advice = Advice::default();
        for percent in ADVISED_PERCENT {
            let change = f64::from(percent) / 100.0;
            advice.add(&Advice::over(SHARED_MACHINE, change, 20261122, 1));
        }
        let share = |part: usize, whole: usize| part as f64 / whole as f64;
        assert!(
            share(advice.decided_by_half, advice.needs) > 0.35,
            "{advice:?}"
        );
        assert!(
            share(advice.decided_by_most, advice.needs_most) > 0.55,
            "{advice:?}"
        );
    }
}
