//! Benchmarks that are too long to be modelled as a whole.

use topdown_core_model::GROUPS;

use super::super::sampled::Sampled;
use super::*;
use topdown_run::provenance::TOO_LONG;

#[test]
fn long_iterations_are_sampled() {
    const ROUNDS: u64 = 500;
    for core in cores::ALL {
        let (Some(model), Some(whole)) = (sampling(core, 0.5), alone(core, 100.0)) else {
            return;
        };
        let whole = window(&whole, || long(ROUNDS));
        let mut estimates = Vec::new();
        for iterations in [1, 2] {
            model.sample_boundary();
            let first = window(&model, || long(ROUNDS));
            let sum =
                (1..iterations).fold(first, |sum, _| sum.plus(&window(&model, || long(ROUNDS))));
            let sample = model.completed(&sum);
            model.sample_kept();
            assert_eq!((sample.windows, sample.flags), (iterations, Flags::NONE));
            let groups = of_core(&model, |core| core.groups).unwrap();
            let of_groups: u64 = groups.iter().map(|group| group.slots.unwrap()).sum();
            let mean = of_groups as f64 / GROUPS as f64;
            assert!((mean - sample.slots.unwrap() as f64).abs() < 10.0);
            for group in groups {
                let total = group.level1.unwrap().total_slots();
                assert!((total - group.slots.unwrap() as f64).abs() < 10.0);
            }
            let of_one = |count: Option<u64>| count.unwrap() as f64 / iterations as f64;
            let ratio = of_one(sample.instructions) / whole.instructions.unwrap() as f64;
            assert!((ratio - 1.0).abs() < 1e-3, "{} {ratio}", core.name);
            let ratio = of_one(sample.slots) / whole.slots.unwrap() as f64;
            assert!((ratio - 1.0).abs() < 0.02, "{} {ratio}", core.name);
            estimates.push(sample);
            assert!(model.wants_more(&sample));
        }
        // A third sample is looked at for less than an iteration.
        model.sample_boundary();
        let probe = model.completed(&window(&model, || (0..4).for_each(|_| long(ROUNDS))));
        assert_eq!(probe.flags, Flags::NOT_COUNTING);
        model.sample_kept();
        assert!(!model.wants_more(&probe));
        // Iterations after those that are sampled run as they are.
        let after = window(&model, || long(10));
        assert_eq!(after.flags, Flags::NOT_COUNTING);
        assert_eq!(model.completed(&after).flags, Flags::NOT_COUNTING);
        let provenance = model.provenance();
        assert!(provenance.sampled_units > Some(50), "{provenance:?}");
        assert!(
            provenance.reason.ends_with(", iterations sampled"),
            "{provenance:?}"
        );
        let code = model.take_code().unwrap();
        let of_blocks = code.samples[1].iter().map(|(_, counts)| counts.slots());
        assert_eq!(Some(of_blocks.sum()), estimates[1].slots);
        assert_eq!(code.first_samples, []);
        assert_eq!(model.take_groups().len(), GROUPS);
        // The next benchmark is short and exact again.
        model.benchmark_boundary();
        model.sample_boundary();
        let short = window(&model, || divisions(100));
        assert_eq!(model.completed(&short), short);
        assert_eq!(model.provenance().sampled_units, None);
        assert_eq!(model.take_groups(), []);
    }
}

#[test]
fn too_long_iteration_has_time_and_reason() {
    let Some(model) = sampling(&cores::GOLDEN_COVE, 0.5) else {
        return;
    };
    of_core(&model, |core| core.sampled = Sampled::new(250));
    model.sample_boundary();
    let sample = window(&model, || long(2000));
    assert_eq!(sample.slots, None);
    model.completed(&sample);
    model.sample_kept();
    // The second one is as long.
    assert!(model.wants_more(&sample));
    model.sample_boundary();
    let sample = model.completed(&window(&model, || long(4000)));
    assert_eq!(sample.slots, None);
    assert!(!model.wants_more(&sample));
    let reason = &model.provenance().reason;
    assert!(reason.starts_with(TOO_LONG), "{reason}");
    assert_eq!(model.take_groups(), []);
}

/// Only launches whose samples double are sampled.
#[test]
fn missing_fingerprint_does_not_prevent_modelling() {
    let Some(model) = sampling(&cores::ZEN_5, 0.5) else {
        return;
    };
    of_core(&model, |core| {
        core.budget.samples_long = false;
        core.budget.ends_with_fingerprint = true;
    });
    model.sample_boundary();
    let sample = window(&model, || long(2000));
    assert_eq!(sample.slots, None);
    let reason = &model.provenance().reason;
    assert!(!reason.starts_with(TOO_LONG), "{reason}");
}
