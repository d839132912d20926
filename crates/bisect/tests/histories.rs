//! Searches of generated histories whose truth is known: 64 commits with planted changes, stretches
//! that do not build, reverts and renames. The answers are exact, as those of the model, or come
//! from the gate's verdicts on noisy launches.

use fastrand::Rng;
use topdown_bisect::{Answer, History, LOOKS, Outcome, Search, alpha_of_look};
use topdown_gate::policy::{Overrides, Policy};
use topdown_gate::scenario::{self, Planted, benchmark, modelled, normal};
use topdown_gate::verdict::{LabelledRun, compare_in_turn};
use topdown_run::category::PerCategory;
use topdown_run::run_file::Benchmark;

const HISTORIES: u64 = 200;
const COMMITS: usize = 64;
/// Good and bad one, and the halvings.
const MAX_BUILDS: usize = 2 + COMMITS.ilog2() as usize;
/// The median standard deviation between launches, and that of its logarithm over benchmarks, as on
/// the gate's simulated shared machine.
const SHARED_MACHINE: (f64, f64) = (0.0085, 0.7);

/// Tells the noise of the good side from that of a commit.
const GOOD_SIDE: u64 = 1 << 32;

/// Commits 1 to 64 after the good one.
#[derive(Debug, Default)]
struct Generated {
    /// By how much each commit is slower than the good one, as a fraction.
    slower: Vec<f64>,
    builds: Vec<bool>,
    /// Where each of its names begins.
    names: Vec<(usize, &'static str)>,
    stretches: usize,
    deviation: f64,
    seed: u64,
}

fn generated(seed: u64) -> Generated {
    let mut rng = Rng::with_seed(seed);
    let points = COMMITS + 1;
    let mut slower = vec![0.0; points];
    let mut add = |from: usize, to: usize, size: f64| {
        for value in &mut slower[from..to] {
            *value += size;
        }
    };
    let size = |rng: &mut Rng| 0.05 + 0.25 * rng.f64();
    let last = 1 + rng.usize(..COMMITS);
    add(last, points, size(&mut rng));
    let second = seed % 2 == 1;
    if second && last > 2 {
        let from = 1 + rng.usize(..last - 1);
        // Every second one of these was reverted.
        let to = if seed % 4 == 1 {
            from + 1 + rng.usize(..last - from)
        } else {
            points
        };
        add(from, to, size(&mut rng));
    }
    let mut builds = vec![true; points];
    let stretches = rng.usize(..3);
    for _ in 0..stretches {
        let from = 1 + rng.usize(..COMMITS - 9);
        let to = from + 1 + rng.usize(..8);
        builds[from..to].fill(false);
    }
    let mut names = vec![(0, "parse")];
    if rng.bool() {
        names.push((1 + rng.usize(..COMMITS), "decode"));
    }
    Generated {
        slower,
        builds,
        names,
        stretches,
        deviation: SHARED_MACHINE.0 * (SHARED_MACHINE.1 * normal(&mut rng)).exp(),
        seed,
    }
}

impl Generated {
    /// Returns the commit's only benchmark.
    fn benchmark(&self, point: usize, launches: u32, is_exact: bool) -> Benchmark {
        let (_, name) = self.names.iter().rfind(|(from, _)| *from <= point).unwrap();
        let planted = Planted {
            categories: PerCategory {
                backend_bound: self.slower[point],
                ..PerCategory::default()
            },
            deviation: self.deviation,
            launches,
            seed: self.seed << 8 | point as u64,
            ..Planted::default()
        };
        if is_exact {
            modelled(name, planted)
        } else {
            benchmark(name, planted)
        }
    }

    /// Asks the gate about a commit, as the program does: with new launches of both sides, until
    /// it decides.
    fn answer(&self, point: usize, is_exact: bool) -> Answer {
        if !self.builds[point] {
            return Answer::Skipped;
        }
        let alpha = alpha_of_look(Policy::default().alpha, COMMITS);
        let policy = Policy::default().overridden_by(&Overrides {
            alpha: Some(alpha),
            ..Overrides::default()
        });
        let good = Generated {
            slower: vec![0.0],
            names: vec![(0, self.names.last().unwrap().1)],
            seed: self.seed << 8 | point as u64 | GOOD_SIDE,
            deviation: self.deviation,
            ..Generated::default()
        };
        let mut answer = Answer::Undecided;
        for look in 0..LOOKS {
            let launches = 10 << look;
            // The program gives benchmarks of older commits their newest names.
            let mut candidate = self.benchmark(point, launches, is_exact);
            candidate.id.name = self.names.last().unwrap().1.to_owned();
            let runs = [good.benchmark(0, launches, is_exact), candidate];
            let runs = runs.map(|benchmark| scenario::run(vec![benchmark]));
            let [good, candidate] = runs.each_ref().map(|run| LabelledRun { label: "", run });
            let comparison = compare_in_turn(good, candidate, &policy);
            answer = Answer::of(&comparison.benchmarks[0], alpha, 1);
            if answer != Answer::Undecided || is_exact {
                break;
            }
        }
        answer
    }

    /// Returns whether `outcome` is as narrow as the commits that build allow, and right: slower
    /// than the good commit from there on, and not before.
    fn is_right(&self, outcome: &Outcome) -> bool {
        let suspects = match outcome {
            Outcome::Found { point } => vec![*point],
            Outcome::Range { points } => points.clone(),
            _ => return false,
        };
        let (first, last) = (suspects[0], suspects[suspects.len() - 1]);
        let is_slower = |point: usize| self.slower[point] > 0.0;
        let only_last_builds = suspects
            .iter()
            .all(|point| self.builds[*point] == (*point == last));
        self.builds[first - 1] && !is_slower(first - 1) && is_slower(last) && only_last_builds
    }

    /// Returns whether no commit that `outcome` names made the benchmark slower.
    fn misleads(&self, outcome: &Outcome) -> bool {
        let became_slower = |point: &usize| self.slower[point - 1] < self.slower[*point];
        match outcome {
            Outcome::Found { point } => !became_slower(point),
            Outcome::Range { points } => !points.iter().any(became_slower),
            Outcome::NotSlower => true,
            Outcome::Open | Outcome::Unknown => false,
        }
    }
}

/// Returns the outcome, the number of builds and that of tries that did not build.
fn search(history: &Generated, is_exact: bool) -> (Outcome, usize, usize) {
    let mut search = Search::new(History::linear(COMMITS + 1), 1);
    // The good one.
    let (mut builds, mut failures) = (1, 0);
    while let Some(point) = search.next() {
        *if history.builds[point] {
            &mut builds
        } else {
            &mut failures
        } += 1;
        search.answer(point, 0, history.answer(point, is_exact));
    }
    (search.outcome(0), builds, failures)
}

#[test]
fn exact_answers_find_the_commit_with_few_builds() {
    let mut most_failures = 0;
    for seed in 0..HISTORIES {
        let history = generated(seed);
        let (outcome, builds, failures) = search(&history, true);
        assert!(
            history.is_right(&outcome),
            "{seed}: {outcome:?} of {history:?}"
        );
        // A stretch that does not build moves the next try away from the middle, which takes one
        // build more at most.
        assert!(
            builds <= MAX_BUILDS + history.stretches,
            "{seed}: {builds} of {history:?}"
        );
        most_failures = most_failures.max(failures);
    }
    // Where the change is inside a stretch, every commit of it has to be tried: up to 16 here.
    assert!(most_failures <= 16, "{most_failures}");
}

#[test]
fn counted_noise_decides_19_of_20_searches_and_misleads_none() {
    let (mut open, mut misled) = (Vec::new(), Vec::new());
    for seed in 0..HISTORIES {
        let history = generated(seed);
        let (outcome, ..) = search(&history, false);
        if history.misleads(&outcome) {
            misled.push((seed, outcome));
        } else if !history.is_right(&outcome) {
            open.push((seed, outcome));
        }
    }
    // The error probability of a search is that of one comparison, 5 %. With too much noise, its
    // answer is a range or none.
    assert!(misled.len() as u64 * 100 <= HISTORIES, "{misled:?}");
    let right = HISTORIES - (open.len() + misled.len()) as u64;
    assert!(right * 20 >= HISTORIES * 19, "{right}: {open:?}");
}
