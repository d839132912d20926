//! Code kept for the samples that executed it.

use super::*;

#[test]
fn blocks_of_last_kept_sample_have_its_slots() {
    let Some(model) = opened() else {
        return;
    };
    let slots = |code: &CodeSlots, sample: usize| {
        let costs = code.samples[sample].iter();
        costs.map(|(_, counts)| counts.slots()).sum::<u64>()
    };
    // A warm-up, a sample of one window, one of two.
    model.sample_boundary();
    window(&model, || divisions(1000));
    model.sample_boundary();
    window(&model, || divisions(100));
    model.sample_kept();
    model.sample_boundary();
    let second = window(&model, || divisions(10)).plus(&window(&model, || divisions(20)));
    model.sample_kept();
    let code = model.take_code().unwrap();
    assert_eq!(code.samples.len(), 2);
    assert_eq!(slots(&code, 0), 0, "it warmed up");
    assert_eq!(Some(slots(&code, 1)), second.slots);
    let instructions = code.samples[1].iter().map(|(_, c)| c.instructions).sum();
    assert_eq!(second.instructions, Some(instructions));
    let here = std::env::current_exe().unwrap();
    assert!(code.modules.iter().any(|name| here == *name));
    // The next benchmark starts from scratch.
    assert_eq!(model.take_code(), None);
}

#[test]
fn warm_up_keeps_no_blocks() {
    let Some(model) = opened() else {
        return;
    };
    let mut slots = Vec::new();
    for _ in 0..12 {
        model.sample_boundary();
        slots.push(window(&model, || divisions(10)).slots.unwrap());
        model.sample_kept();
    }
    // A window that does not fit the budget comes last, and takes no room from those that count.
    spend_budget(&model);
    model.sample_boundary();
    assert_eq!(window(&model, || divisions(10)).flags, Flags::NOT_COUNTING);
    model.sample_kept();
    let code = model.take_code().unwrap();
    let sums = code.samples.iter().map(|costs| {
        let slots = costs.iter().map(|(_, counts)| counts.slots());
        slots.sum::<u64>()
    });
    slots[..11].fill(0);
    slots.push(0);
    assert_eq!(sums.collect::<Vec<u64>>(), slots);
}

#[test]
fn partly_traced_iteration_has_no_fingerprint() {
    let Some(model) = alone(&cores::GOLDEN_COVE, 0.1) else {
        return;
    };
    let first_samples = |rounds| {
        for _ in 0..FINGERPRINT_SAMPLES {
            model.sample_boundary();
            window(&model, || divisions(rounds));
            model.sample_kept();
        }
        // `take_code` clears them where other threads are, such as those of other tests.
        let code = model.tracer.with_consumer(|observer| {
            let Observer { core, executed, .. } = observer;
            core.take_code(executed, true)
        });
        model.benchmark_boundary();
        code.flatten().unwrap().first_samples
    };
    assert_eq!(first_samples(100_000), []);
    assert_ne!(first_samples(10), []);
}

/// The divisions of one window take nearly all of its slots.
#[test]
fn instructions_of_kept_sample_have_its_slots_and_events() {
    let Some(model) = by_instruction() else {
        return;
    };
    model.sample_boundary();
    let sample = window(&model, || divisions(1000));
    model.sample_kept();
    let code = model.take_code().unwrap();
    let (costs, events) = (&code.samples[0], &code.events[0]);
    assert_eq!(costs.len(), events.len());
    let slots: u64 = costs.iter().map(|(_, counts)| counts.slots()).sum();
    assert_eq!(Some(slots), sample.slots);
    let longest = code.blocks.iter().map(|block| block.bytes).max();
    assert!(longest <= Some(30), "blocks are instructions");
    let mut hottest: Vec<_> = costs.iter().zip(events).collect();
    hottest.sort_by_key(|((_, counts), _)| std::cmp::Reverse(counts.slots()));
    let of_four: u64 = hottest[..4].iter().map(|((_, c), _)| c.slots()).sum();
    assert!(of_four * 5 > slots * 2, "{of_four} of {slots}");
    for (_, events) in &hottest[..4] {
        assert_eq!(events.executions, 1000);
        assert!(events.operand_cycles > 1000 && events.port_cycles == 0);
    }
    assert_eq!(code.first_samples, []);
}
