//! Iterations that initialise something are not the benchmark.
//!
//! With a tenth of a second of budget, an iteration of more than 0.5 million instructions is
//! sampled.

use super::super::sampled::Sampled;
use super::*;
use topdown_run::provenance::TOO_LONG;

/// Instructions of a round of [`divisions`], about.
const ROUND: u64 = 60;

/// Never initialises.
const NEVER: u64 = u64::MAX;

/// Initialises with `rounds` in its iterations `at`, from 0, and executes `work` rounds in each.
fn initialised(at: [u64; 3], rounds: u64, work: u64) -> impl FnMut() {
    let mut iteration = 0;
    move || {
        if at.contains(&iteration) {
            divisions(rounds);
        }
        iteration += 1;
        divisions(work);
    }
}

fn slots_per_iteration(samples: &[(u64, Sample)]) -> f64 {
    let (iterations, sample) = that_counts(samples);
    assert!(iterations > 1, "{samples:?}");
    sample.slots.unwrap() as f64 / iterations as f64
}

#[test]
fn initialisation_does_not_count() {
    const UNIT: u64 = 200_000 / ROUND;
    // Which iterations initialise, how much, and how much work there is in each iteration.
    let cases: [([u64; 3], u64, u64); 10] = [
        ([0, NEVER, NEVER], 2 * UNIT, 10),
        ([0, NEVER, NEVER], 3 * UNIT, 10),
        ([0, NEVER, NEVER], 6 * UNIT, 10),
        ([0, NEVER, NEVER], 10 * UNIT, 10),
        ([0, NEVER, NEVER], 10 * UNIT, UNIT / 2),
        ([1, NEVER, NEVER], 6 * UNIT, 10),
        ([2, NEVER, NEVER], 6 * UNIT, 10),
        ([0, 1, 2], 4 * UNIT, 10),
        ([0, 5, NEVER], 4 * UNIT, 10),
        ([40, NEVER, NEVER], 4 * UNIT, 100),
    ];
    for core in [&cores::GOLDEN_COVE] {
        for (at, rounds, work) in cases {
            let Some(model) = sampling(core, 0.1) else {
                return;
            };
            let samples = launch(&model, initialised(at, rounds, work));
            assert_eq!(model.provenance().source, SourceKind::Model);
            assert_eq!(model.provenance().sampled_units, None);
            assert_eq!(model.take_groups(), []);
            let counted = slots_per_iteration(&samples);
            let settled = launch(&model, initialised([NEVER; 3], rounds, work));
            let ratio = counted / slots_per_iteration(&settled);
            let case = format!("{} {at:?} {rounds} {work}: {ratio}", core.name);
            assert!((ratio - 1.0).abs() < 0.03, "{case} {samples:?}");
        }
    }
}

#[test]
fn initialisation_before_long_iterations_does_not_count() {
    const ROUNDS: u64 = 100;
    let Some(model) = sampling(&cores::GOLDEN_COVE, 0.1) else {
        return;
    };
    let slots = |first: u64| {
        let mut is_first = true;
        let samples = launch(&model, || {
            long(if std::mem::take(&mut is_first) {
                first
            } else {
                ROUNDS
            });
        });
        assert!(model.provenance().sampled_units.is_some());
        (samples.len(), slots_per_iteration(&samples))
    };
    let (equal_samples, equal) = slots(ROUNDS);
    assert_eq!(equal_samples, 3);
    let (_, cold) = slots(5 * ROUNDS);
    // Units scatter.
    assert!((cold / equal - 1.0).abs() < 0.06, "{cold} {equal}");
}

#[test]
fn first_iteration_too_long_to_sample_does_not_count() {
    let Some(model) = sampling(&cores::ZEN_5, 0.1) else {
        return;
    };
    // 1.5 million instructions are the longest sample.
    of_core(&model, |core| core.sampled = Sampled::new(5_000));
    let samples = launch(&model, initialised([0, NEVER, NEVER], 40_000, 10));
    assert_eq!(model.provenance().source, SourceKind::Model);
    let reason = &model.provenance().reason;
    assert!(
        reason.ends_with(", first iteration counted in part"),
        "{reason}"
    );
    let settled = launch(&model, initialised([NEVER; 3], 0, 10));
    let ratio = slots_per_iteration(&samples) / slots_per_iteration(&settled);
    assert!((ratio - 1.0).abs() < 0.03, "{ratio}");
    // All of its iterations are too long.
    let samples = launch(&model, || divisions(40_000));
    assert!(samples.iter().any(|(_, sample)| sample.slots.is_none()));
    let reason = &model.provenance().reason;
    assert!(reason.starts_with(TOO_LONG), "{reason}");
}

/// Launches a benchmark whose closure makes a table that its first iteration fills: criterion calls
/// the closure once per sample.
fn launch_anew(model: &Model, rounds: u64, work: u64) -> Vec<(u64, Sample)> {
    let is_filled = Cell::new(true);
    launch_with(
        model,
        || is_filled.set(false),
        || {
            if !is_filled.replace(true) {
                divisions(rounds);
            }
            divisions(work);
        },
    )
}

#[test]
fn initialisation_in_each_sample_does_not_count() {
    const UNIT: u64 = 200_000 / ROUND;
    let Some(model) = sampling(&cores::GOLDEN_COVE, 0.1) else {
        return;
    };
    for (rounds, work) in [(UNIT / 4, 10), (UNIT, 10), (UNIT, 100)] {
        let anew = launch_anew(&model, rounds, work);
        let provenance = model.provenance();
        let case = format!("{rounds} {work}");
        assert_eq!(provenance.source, SourceKind::Model, "{case} {anew:?}");
        let settled = launch(&model, || divisions(work));
        let ratio = slots_per_iteration(&anew) / slots_per_iteration(&settled);
        assert!((ratio - 1.0).abs() < 0.03, "{case}: {ratio} {anew:?}");
    }
}

/// Its iterations would be a small part of what is sampled.
#[test]
fn large_initialisation_in_each_sample_is_not_modelled() {
    let Some(model) = sampling(&cores::GOLDEN_COVE, 0.1) else {
        return;
    };
    for rounds in [6_000, 12_000, 40_000, 100_000] {
        launch_anew(&model, rounds, 10);
        let provenance = model.provenance();
        assert_eq!(
            provenance.source,
            SourceKind::Time,
            "{rounds} {provenance:?}"
        );
        let reason = &provenance.reason;
        assert!(reason.contains("each sample initialises"), "{reason}");
    }
}

#[test]
fn initialisation_in_windows_of_their_own_does_not_count() {
    let Some(model) = sampling(&cores::ZEN_5, 0.1) else {
        return;
    };
    let batched = |mut iteration: Box<dyn FnMut()>| {
        let mut samples = Vec::new();
        model.benchmark_boundary();
        loop {
            let iterations = topdown_run::doubling::iterations(samples.len());
            model.sample_boundary();
            let windows = (0..iterations).map(|_| window(&model, &mut iteration));
            let sum = windows.reduce(|sum, next| sum.plus(&next)).unwrap();
            let sample = model.completed(&sum);
            model.sample_kept();
            model.sample_boundary();
            samples.push((iterations, sample));
            if !model.wants_more(&sample) {
                return slots_per_iteration(&samples);
            }
        }
    };
    for at in [
        [0, NEVER, NEVER],
        [1, NEVER, NEVER],
        [0, 1, NEVER],
        [0, 1, 3],
    ] {
        let counted = batched(Box::new(initialised(at, 15_000, 300)));
        let settled = batched(Box::new(initialised([NEVER; 3], 0, 300)));
        let ratio = counted / settled;
        assert!((ratio - 1.0).abs() < 0.03, "{at:?} {ratio}");
    }
}

/// Its iterations become shorter, none by far.
#[test]
fn cache_that_fills_slowly_is_modelled_to_the_end() {
    let Some(model) = sampling(&cores::ZEN_5, 0.1) else {
        return;
    };
    let mut iteration = 0;
    let samples = launch(&model, || {
        iteration += 1;
        divisions(10 + 20_000 / iteration);
    });
    let (iterations, sample) = that_counts(&samples);
    assert!(iterations >= 64, "{samples:?}");
    assert!(
        sample.instructions.unwrap() / iterations < 50_000,
        "{samples:?}"
    );
}
