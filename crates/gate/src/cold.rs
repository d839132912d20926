//! The first iterations of a benchmark: which they are, what they cost, and how that changed.
//!
//! Iterations that initialise something are not the benchmark, so they are left out of what counts
//! and compared by themselves. That fails nothing.

use serde::Serialize;
use topdown_run::provenance::EmptyWindow;
use topdown_run::run_file::{Benchmark, BenchmarkId, Cold, IterationSample};
use topdown_run::sample::Flags;
use topdown_run::steady::is_far_less;

/// An initialisation executes at least this many instructions more than iterations that count.
/// Judgement: with fewer, the first misses of caches and predictors cost more than the
/// instructions.
const MIN_INSTRUCTIONS: f64 = 10_000.0;

/// A smaller change of the first iterations is none, as a fraction. Judgement: where the linker
/// places code decides how often they miss the caches, by more than for iterations that repeat.
const MARGIN: f64 = 0.1;

/// Two samples initialise the same if what they have differs by less: an eighth. Judgement: see
/// `steady/repeated_initialisation.rs`.
const SAME_PARTS: u64 = 8;

/// Returns what the first iterations cost in these launches, per launch; `None` if a launch has no
/// sample after them, or did not count them.
pub fn of_launches(
    launches: &[&[IterationSample]],
    empty_window: Option<&EmptyWindow>,
) -> Option<Cold> {
    let cost = empty_window.copied().unwrap_or_default();
    let own = |count: Option<u64>, of_window: Option<u64>, windows: u64| {
        let windows = of_window.unwrap_or(0).saturating_mul(windows);
        count.unwrap_or(0).saturating_sub(windows)
    };
    let instructions =
        |s: &IterationSample| own(s.sample.instructions, cost.instructions, s.sample.windows);
    let slots = |s: &IterationSample| own(s.sample.slots, cost.slots, s.sample.windows);
    let samples_of = |launch: &[IterationSample]| {
        let last = launch.iter().rposition(is_counted)?;
        let later = instructions(&launch[last]) / launch[last].iterations;
        // A sample that did not fit the budget, before one of more iterations that did, is longer.
        // One without counts warmed up, or had no unit that was modelled: nothing is known.
        let is_cold = |s: &IterationSample| {
            let is_cut_off = !is_counted(s) && instructions(s) > 0;
            is_cut_off || is_far_less(later, instructions(s) / s.iterations.max(1))
        };
        let cold = match initialise_alike(&launch[..last], later, &instructions) {
            true => 1,
            false => launch[..last].iter().rposition(is_cold).unwrap_or(0) + 1,
        };
        (cold <= last && is_counted(&launch[0])).then_some(cold)
    };
    let samples = launches.iter().map(|launch| samples_of(launch));
    let samples: Vec<usize> = samples.collect::<Option<_>>()?;
    let samples = samples.into_iter().max()?;
    let first = launches.iter().map(|launch| launch.get(..samples));
    let first: Vec<&[IterationSample]> = first.collect::<Option<_>>()?;
    let iterations: u64 = first[0].iter().map(|s| s.iterations).sum();
    let per_iteration = |quantity: &dyn Fn(&IterationSample) -> u64| {
        let sums = first
            .iter()
            .map(|launch| launch.iter().map(quantity).sum::<u64>());
        sums.map(|sum| sum as f64 / iterations as f64).collect()
    };
    Some(Cold {
        iterations,
        slots: per_iteration(&slots),
        instructions: per_iteration(&instructions),
    })
}

/// Returns whether each of these samples begins with the same initialisation: they have what the
/// first one has, and their other iterations so many instructions as `later` ones. Then the first
/// iteration says it all.
fn initialise_alike(
    samples: &[IterationSample],
    later: u64,
    instructions: &dyn Fn(&IterationSample) -> u64,
) -> bool {
    let [first, others @ ..] = samples else {
        return false;
    };
    let is_alike = |sample: &IterationSample| {
        let others = later.saturating_mul(sample.iterations.saturating_sub(1));
        let expected = instructions(first).saturating_add(others);
        instructions(sample).abs_diff(expected) <= expected / SAME_PARTS
    };
    let mut counted = others.iter().filter(|sample| is_counted(sample)).peekable();
    is_far_less(later, instructions(first)) && counted.peek().is_some() && counted.all(is_alike)
}

fn is_counted(sample: &IterationSample) -> bool {
    !sample.sample.flags.intersects(Flags::UNUSABLE)
        && sample.iterations > 0
        && sample.sample.slots.is_some_and(|slots| slots > 0)
}

/// First iterations that initialise something.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Initialisation {
    /// The number of iterations.
    pub iterations: u64,
    /// Their slots, all together.
    pub slots: f64,
    /// The slots of an iteration after them.
    pub later_slots: f64,
}

impl Initialisation {
    /// Returns what the first iterations of `benchmark` initialise; `None` if they execute about as
    /// many instructions as later ones, or if that is unknown.
    pub fn of(benchmark: &Benchmark) -> Option<Initialisation> {
        let cold = benchmark.cold.as_ref()?;
        let launches = benchmark.slots_launches();
        let later: Option<Vec<f64>> = launches.iter().map(|v| v.instructions).collect();
        let later = mean(&later?)?;
        let instructions = mean(&cold.instructions)?;
        let slots: Vec<f64> = launches.iter().map(|v| v.slots).collect();
        // Of several, one that initialises something was found: their mean hides it.
        let is_more = cold.iterations > 1 || is_far_less(later as u64, instructions as u64);
        let more = (instructions - later) * cold.iterations as f64;
        (is_more && more >= MIN_INSTRUCTIONS).then_some(Initialisation {
            iterations: cold.iterations,
            slots: mean(&cold.slots)? * cold.iterations as f64,
            later_slots: mean(&slots)?,
        })
    }
}

/// How the first iterations of a benchmark changed.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ColdChange {
    /// The benchmark.
    pub id: BenchmarkId,
    /// What the baseline initialises; absent if nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub baseline: Option<Initialisation>,
    /// What the candidate initialises; absent if nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub candidate: Option<Initialisation>,
    /// By how much it costs more, as a fraction; only if both sides initialise something.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub difference: Option<f64>,
    /// The verdict on it alone.
    pub verdict: ColdVerdict,
}

/// The verdict on the first iterations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ColdVerdict {
    /// They initialise something, and did not.
    New,
    /// They no longer initialise anything.
    Gone,
    /// They cost at least a tenth more.
    Slower,
    /// They cost at least a tenth less.
    Faster,
    /// They cost about the same.
    Unchanged,
}

impl ColdChange {
    /// Compares the first iterations of two sides whose slots can be compared; `None` if neither
    /// initialises anything.
    pub fn new(baseline: &Benchmark, candidate: &Benchmark) -> Option<ColdChange> {
        let id = baseline.id.clone();
        let is_apart = are_apart(baseline, candidate);
        let [baseline, candidate] = [baseline, candidate].map(Initialisation::of);
        let (difference, verdict) = match (&baseline, &candidate) {
            (None, None) => return None,
            (None, Some(_)) => (None, ColdVerdict::New),
            (Some(_), None) => (None, ColdVerdict::Gone),
            (Some(before), Some(after)) => {
                let difference = after.slots / before.slots - 1.0;
                let verdict = match difference {
                    more if is_apart && more >= MARGIN => ColdVerdict::Slower,
                    less if is_apart && less <= -MARGIN => ColdVerdict::Faster,
                    _ => ColdVerdict::Unchanged,
                };
                (Some(difference), verdict)
            }
        };
        Some(ColdChange {
            id,
            baseline,
            candidate,
            difference,
            verdict,
        })
    }
}

/// Returns whether every launch of one side costs more than all of the other: counted first
/// iterations differ between launches, as the caches and the rest of the machine do.
fn are_apart(baseline: &Benchmark, candidate: &Benchmark) -> bool {
    let range = |benchmark: &Benchmark| {
        let slots = benchmark.cold.as_ref().map_or(&[][..], |cold| &cold.slots);
        let min = slots.iter().copied().fold(f64::INFINITY, f64::min);
        let max = slots.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        (min, max)
    };
    let (baseline, candidate) = (range(baseline), range(candidate));
    baseline.1 < candidate.0 || candidate.1 < baseline.0
}

fn mean(values: &[f64]) -> Option<f64> {
    let sum: f64 = values.iter().sum();
    (!values.is_empty()).then(|| sum / values.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::{Planted, modelled};
    use topdown_run::sample::Sample;

    /// Instructions of samples that did not fit the budget.
    const CUT_OFF: u64 = 50_000;

    fn sample(iterations: u64, instructions: u64) -> IterationSample {
        IterationSample {
            iterations,
            sample: Sample {
                windows: 1,
                slots: Some(2 * instructions),
                instructions: Some(instructions),
                flags: match instructions {
                    CUT_OFF => Flags::NOT_COUNTING,
                    _ => Flags::NONE,
                },
                ..Sample::EMPTY
            },
        }
    }

    fn of(instructions: &[u64]) -> Option<(u64, f64)> {
        let iterations = (0..).map(|index| 1 << index);
        let samples = iterations.zip(instructions);
        let samples: Vec<_> = samples.map(|(n, count)| sample(n, *count)).collect();
        let cold = of_launches(&[&samples, &samples], None)?;
        assert_eq!(cold.slots.len(), 2);
        Some((cold.iterations, cold.slots[1]))
    }

    #[test]
    fn first_iterations_end_with_the_last_that_is_far_longer() {
        assert_eq!(of(&[100, 200, 400, 800]), Some((1, 200.0)));
        assert_eq!(of(&[9_000, 200, 400, 800]), Some((1, 18_000.0)));
        assert_eq!(of(&[100, CUT_OFF, 400, 800]), Some((3, 33400.0)));
        assert_eq!(of(&[9_000, 9_300, 400, 800]), Some((3, 12_200.0)));
        assert_eq!(of(&[100, 9_300, 400, 800]), Some((3, 6266.666666666667)));
        // Nothing is known about a sample that only warmed up, or had no unit that was modelled.
        assert_eq!(of(&[9_000, 0, 400, 800]), Some((1, 18_000.0)));
        assert_eq!(of(&[9_000, 0, 0, 800]), Some((1, 18_000.0)));
        // Each sample initialises the same, and the iterations of the last one count that follow.
        assert_eq!(of(&[9_000, 9_100, 9_300, 800]), Some((1, 18_000.0)));
        assert_eq!(of(&[9_000, 9_100, 9_300, 9_700, 1600]), Some((1, 18_000.0)));
        assert_eq!(of(&[9_000, 9_100, CUT_OFF, 800]), Some((1, 18_000.0)));
        // The first one counts, or was not counted.
        assert_eq!(of(&[9_000, CUT_OFF, CUT_OFF]), None);
        assert_eq!(of(&[CUT_OFF, 200, 400]), None);
    }

    #[test]
    fn late_initialisation_is_found_in_the_mean_of_many_iterations() {
        let benchmark = modelled("b", Planted::default());
        let later = benchmark.slots_launches()[0].instructions.unwrap();
        // Whether `more` instructions in one of the first `iterations` are told.
        let is_told = |iterations: u64, more: f64| {
            let instructions = later + more / iterations as f64;
            let cold = Cold {
                iterations,
                slots: vec![2.0 * instructions; 2],
                instructions: vec![instructions; 2],
            };
            let found = Initialisation::of(&Benchmark {
                cold: Some(cold.into()),
                ..benchmark.clone()
            });
            found.is_some_and(|found| found.iterations == iterations)
        };
        assert!(is_told(1023, 4e6));
        assert!(is_told(1023, 3e5));
        assert!(!is_told(1023, 9e3));
        assert!(is_told(1, 3e7));
    }

    fn initialising(slots: Option<f64>) -> Benchmark {
        launched(slots.map(|slots| vec![slots; 2]))
    }

    fn launched(slots: Option<Vec<f64>>) -> Benchmark {
        Benchmark {
            cold: slots.map(|slots| {
                Box::new(Cold {
                    iterations: 1,
                    instructions: slots.iter().map(|slots| slots / 2.0).collect(),
                    slots,
                })
            }),
            ..modelled("b", Planted::default())
        }
    }

    #[test]
    fn first_iterations_have_a_verdict_of_their_own() {
        let verdict = |before, after| {
            let change = ColdChange::new(&initialising(before), &initialising(after));
            change.map(|change| change.verdict)
        };
        let some = Some(1_000_000.0);
        assert_eq!(verdict(some, Some(1_200_000.0)), Some(ColdVerdict::Slower));
        assert_eq!(verdict(some, Some(800_000.0)), Some(ColdVerdict::Faster));
        assert_eq!(
            verdict(some, Some(1_050_000.0)),
            Some(ColdVerdict::Unchanged)
        );
        assert_eq!(verdict(None, some), Some(ColdVerdict::New));
        // Caches that are cold are no initialisation.
        assert_eq!(verdict(some, Some(1_000.0)), Some(ColdVerdict::Gone));
        assert_eq!(verdict(None, Some(1_000.0)), None);
    }

    #[test]
    fn first_iterations_that_overlap_are_unchanged() {
        let verdict = |before: &[f64], after: &[f64]| {
            let [before, after] = [before, after].map(|slots| launched(Some(slots.to_vec())));
            ColdChange::new(&before, &after).map(|change| change.verdict)
        };
        let before = [1e6, 1.1e6, 1.5e6];
        let after = [1.4e6, 1.6e6, 1.7e6];
        assert_eq!(verdict(&before, &after), Some(ColdVerdict::Unchanged));
        assert_eq!(verdict(&after, &before), Some(ColdVerdict::Unchanged));
        let after = after.map(|slots| slots + 0.2e6);
        assert_eq!(verdict(&before, &after), Some(ColdVerdict::Slower));
        assert_eq!(verdict(&after, &before), Some(ColdVerdict::Faster));
    }
}
