//! Counts of a window, unaffected by other windows.

use super::*;
use topdown_run::event::Event;

#[test]
fn window_is_modelled_and_slots_add_up() {
    let Some(model) = opened() else {
        return;
    };
    let sample = window(&model, || divisions(10_000));
    assert_eq!(sample.flags, Flags::NONE);
    let slots = sample.slots.unwrap();
    assert_eq!(sample.level1.unwrap().total_slots(), slots as f64);
    assert!(sample.instructions.unwrap() > 20_000, "{sample:?}");
    let level1 = sample.level1.unwrap();
    let not_retiring = slots as f64 - level1.slots.retiring;
    assert!(
        level1.slots.backend_bound > 0.5 * not_retiring,
        "{sample:?}"
    );
    assert_eq!(model.provenance().source, SourceKind::Model);
    let branches = sample.events.get(Event::Branches).unwrap();
    assert!((10_000..sample.instructions.unwrap()).contains(&branches));
    // The last three are of several threads.
    assert_eq!(sample.events.iter().count(), Event::ALL.len() - 3);
    assert_eq!(sample.events.get(Event::ThreadWaits), None);
}

#[test]
fn panicked_window_does_not_affect_the_next() {
    let Some(model) = opened() else {
        return;
    };
    let before = window(&model, || divisions(100));
    let panics = || {
        window(&model, || {
            divisions(10_000);
            panic!("planted");
        })
    };
    let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(panics));
    assert!(caught.is_err() && model.tracer.is_attached());
    model.sample_boundary();
    let after = window(&model, || divisions(100));
    model.sample_kept();
    let code = model.take_code().unwrap();
    let slots = code.samples[0].iter().map(|(_, counts)| counts.slots());
    assert_eq!(after.slots, Some(slots.sum()));
    assert_eq!(after.flags, Flags::NONE);
    assert_eq!(after.instructions, before.instructions);
    assert!(!model.tracer.is_attached());
}

#[test]
fn enclosing_window_is_not_counted() {
    let Some(model) = opened() else {
        return;
    };
    let alone = window(&model, || divisions(100));
    let mut inner = None;
    let outer = window(&model, || {
        divisions(1000);
        inner = Some(window(&model, || divisions(100)));
    });
    assert_eq!(inner.unwrap().instructions, alone.instructions);
    assert_eq!(outer.flags, Flags::NOT_COUNTING);
}

/// Returns the slots of one of `iterations`, spread over this many windows. The cost of empty
/// windows is subtracted as for launch values.
fn slots_of_one(model: &Model, iterations: u64, windows: u64) -> f64 {
    let mut slots = 0;
    // The second run counts.
    for _ in 0..2 {
        model.benchmark_boundary();
        slots = (0..windows)
            .map(|_| {
                window(model, || {
                    (0..iterations / windows).for_each(|_| divisions(1))
                })
            })
            .map(|sample| sample.slots.unwrap())
            .sum();
    }
    let cost = model.provenance().empty_window.unwrap().slots.unwrap() * windows;
    (slots as f64 - cost as f64) / iterations as f64
}

/// The bias that remains after subtracting the windows' cost: less than a hundredth in windows of
/// many iterations, as `iter` and `SmallInput` have. Anything more in short windows is not cost,
/// but the iterations themselves, which do not overlap with those of another window.
#[test]
fn window_cost_leaves_no_bias() {
    for core in cores::ALL {
        let Some(model) = alone(core, 2.0) else {
            return;
        };
        let (few, many) = (slots_of_one(&model, 4096, 1), slots_of_one(&model, 8192, 1));
        // Windows of different length have the same cost.
        let slope = 2.0 * many - few;
        let bias = |windows| slots_of_one(&model, 4096, windows) / slope - 1.0;
        let biases = [1, 8, 64].map(bias);
        assert!(biases[..2].iter().all(|b| b.abs() < 0.01), "{biases:?}");
        assert!(biases[2].abs() < 0.02, "{biases:?}");
        assert!(bias(4096) > 0.0);
    }
}
