//! Benchmarks that exceed their budget, or the model's capacity.

use topdown_core_model::Capacity;

use super::*;
use std::time::Duration;

#[test]
fn long_first_window_leaves_time_only() {
    let Some(model) = alone(&cores::GOLDEN_COVE, 0.1) else {
        return;
    };
    let sample = window(&model, || divisions(100_000));
    assert_eq!(sample.slots, None);
    assert!(sample.wall_ns > 0);
    assert_eq!(model.provenance().source, SourceKind::Time);
    let reason = &model.provenance().reason;
    assert!(reason.contains("more than 0.5 million"), "{reason}");
    assert_eq!(window(&model, || divisions(10)).slots, None);
    model.benchmark_boundary();
    assert!(window(&model, || divisions(10)).slots.is_some());
}

#[test]
fn work_beyond_budget_is_not_counted() {
    let Some(model) = opened() else {
        return;
    };
    assert_eq!(window(&model, || divisions(10)).flags, Flags::NONE);
    spend_budget(&model);
    assert_eq!(window(&model, || divisions(10)).flags, Flags::NOT_COUNTING);
}

#[test]
fn few_costly_instructions_are_bounded() {
    const ITERATION_BYTES: usize = 256 << 10;
    for core in cores::ALL {
        let Some(model) = alone(core, 0.1) else {
            return;
        };
        let mut bytes = vec![0; 64 * ITERATION_BYTES];
        let mut samples = 0;
        model.sample_boundary();
        loop {
            let iterations = topdown_run::doubling::iterations(samples);
            let sample = window(&model, || {
                (0..iterations).for_each(|_| fill(&mut bytes[..ITERATION_BYTES]));
            });
            assert_eq!(sample.flags, Flags::NONE, "{} {samples}", core.name);
            model.sample_kept();
            model.sample_boundary();
            samples += 1;
            if !model.wants_more(&sample) {
                break;
            }
        }
        assert!((3..8).contains(&samples), "{} {samples}", core.name);
        // One iteration that alone costs more than the budget.
        model.benchmark_boundary();
        model.sample_boundary();
        let sample = window(&model, || {
            fill(&mut bytes);
            divisions(10_000);
        });
        assert_eq!(sample.slots, None, "{}", core.name);
        let reason = &model.provenance().reason;
        assert!(
            reason.contains("as costly to model as 0.5 mill"),
            "{reason}"
        );
    }
}

/// Its first sample has no windows, and so those that count are twice as long.
#[test]
fn benchmark_that_times_itself_has_two_long_samples() {
    let Some(model) = sampling(&cores::GOLDEN_COVE, 0.5) else {
        return;
    };
    let instructions = window(&model, || long(1)).instructions.unwrap();
    // Three iterations use up the budget.
    let rounds = of_core(&model, |core| core.budget.instructions) * 3 / 10 / instructions;
    model.benchmark_boundary();
    model.sample_boundary();
    model.sample_kept();
    model.skip_sample();
    let mut flags = Vec::new();
    for number in 1.. {
        model.sample_boundary();
        let iterations = topdown_run::doubling::iterations(number);
        let mut sample = Sample::EMPTY;
        (0..iterations).for_each(|_| sample.add(&window(&model, || long(rounds))));
        let sample = model.completed(&sample);
        model.sample_kept();
        flags.push(sample.flags);
        if !model.wants_more(&sample) {
            break;
        }
    }
    assert_eq!(flags, [Flags::NONE; 2]);
}

/// Takes the samples of a benchmark that may spend so long outside of its code, until the model
/// wants no more. The last one has lost its slots.
fn samples_until_time_only(
    model: &Model,
    max_outside: Duration,
    mut iteration: impl FnMut(),
) -> usize {
    of_core(model, |core| {
        core.budget.max_outside_ns = max_outside.as_nanos() as u64;
    });
    model.sample_boundary();
    for number in 0.. {
        let iterations = topdown_run::doubling::iterations(number);
        let sample = window(model, || (0..iterations).for_each(|_| iteration()));
        model.sample_kept();
        model.sample_boundary();
        if !model.wants_more(&sample) {
            assert_eq!(sample.slots, None);
            assert_eq!(model.provenance().source, SourceKind::Time);
            let reason = &model.provenance().reason;
            let waits = "waiting or in the kernel";
            assert!(reason.contains(waits), "{reason}");
            return number + 1;
        }
    }
    unreachable!("the model wants more for ever")
}

/// Hardly any instructions, but time.
#[test]
fn waiting_benchmark_keeps_time_only() {
    let Some(model) = alone(&cores::GOLDEN_COVE, 0.1) else {
        return;
    };
    let sleep = || std::thread::sleep(Duration::from_millis(10));
    let samples = samples_until_time_only(&model, Duration::from_millis(100), sleep);
    // 10 ms, 20, 40 and 80.
    assert!((2..=4).contains(&samples), "{samples}");
    assert_eq!(window(&model, || divisions(10)).slots, None);
    model.benchmark_boundary();
    assert!(window(&model, || divisions(10)).slots.is_some());
}

/// The instructions of the child are not the benchmark's, and the kernel's copying of its memory is
/// not counted.
#[test]
fn forking_benchmark_keeps_time_only() {
    let Some(model) = alone(&cores::GOLDEN_COVE, 0.1) else {
        return;
    };
    let fork = || {
        // SAFETY: the child ends at once; the parent waits for its own child.
        let ended = unsafe {
            let child = libc::fork();
            if child == 0 {
                libc::_exit(0);
            }
            let mut status = 0;
            child > 0 && libc::waitpid(child, &mut status, 0) == child
        };
        assert!(ended);
    };
    let samples = samples_until_time_only(&model, Duration::from_millis(20), fork);
    // No machine forks, ends and waits in less than 20 us: at most a thousand children, as many as
    // ten samples have.
    assert!((1..=10).contains(&samples), "{samples}");
    model.benchmark_boundary();
    assert!(window(&model, || divisions(10)).slots.is_some());
}

/// Executes as many different functions as the model has room for blocks, and more.
#[test]
fn generated_code_leaves_room_for_later_benchmarks() {
    let Some(model) = alone(&cores::GOLDEN_COVE, 2.0) else {
        return;
    };
    const RETURN: u8 = 0xc3;
    let functions = Capacity::default().blocks + 1000;
    // SAFETY: a new mapping, filled before it is executed, and never given back.
    let code = unsafe {
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        let code = libc::mmap(std::ptr::null_mut(), functions, protection, flags, -1, 0);
        assert_ne!(code, libc::MAP_FAILED);
        code.cast::<u8>().write_bytes(RETURN, functions);
        let protection = libc::PROT_READ | libc::PROT_EXEC;
        assert_eq!(libc::mprotect(code, functions, protection), 0);
        code.cast::<u8>()
    };
    let sample = window(&model, || {
        for place in 0..functions {
            // SAFETY: a function that returns at once stands at each place.
            let function: extern "C" fn() = unsafe { std::mem::transmute(code.add(place)) };
            function();
        }
    });
    assert_eq!(sample.slots, None);
    let reason = &model.provenance().reason;
    assert!(reason.contains("more distinct code"), "{reason}");
    model.benchmark_boundary();
    assert!(window(&model, || divisions(10)).slots.is_some());
}
