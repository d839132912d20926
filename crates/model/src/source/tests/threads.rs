//! Slots of all threads. Each test runs in a forked child, because the harness has threads, too.

use std::sync::atomic::{
    AtomicU64,
    Ordering::{Acquire, Relaxed, Release},
};
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::{Duration, Instant};

use topdown_run::provenance::CountedThreads;

use super::*;

/// Returns what a child process returns that runs `work` on its only thread.
fn in_child(work: impl FnOnce() -> [u64; 3]) -> [u64; 3] {
    use std::io::{Read, Write};
    // While another test fills the decoder's tables, a forked child would wait for it for ever.
    let _ = topdown_tracer::reserved_factory();
    let (mut read, mut write) = std::io::pipe().unwrap();
    // SAFETY: the child runs `work` and ends.
    let process = unsafe { libc::fork() };
    if process == 0 {
        let seen = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work));
        let bytes = seen.map(|seen| seen.map(u64::to_le_bytes).concat());
        let _ = write.write_all(&bytes.unwrap_or_default());
        // SAFETY: ends the child.
        unsafe { libc::_exit(0) };
    }
    drop(write);
    let mut bytes = Vec::new();
    read.read_to_end(&mut bytes).unwrap();
    // SAFETY: waits for the child.
    unsafe { libc::waitpid(process, std::ptr::null_mut(), 0) };
    let words = bytes
        .chunks_exact(8)
        .map(|it| u64::from_le_bytes(it.try_into().unwrap()));
    words
        .collect::<Vec<_>>()
        .try_into()
        .expect("a child that succeeds")
}

fn sum(numbers: u64) -> u64 {
    (0..numbers).fold(0, |sum, n| sum ^ black_box(n))
}

/// Slots and instructions of a window in which threads sum as many numbers each, and whether they
/// are those of all threads.
fn window(threads: u64, numbers: u64) -> [u64; 3] {
    in_child(|| {
        let budget = ModelBudget::from_seconds(DEFAULT_BUDGET_SECONDS).unwrap();
        let core = &cores::GOLDEN_COVE;
        let model = Model::for_core(core, budget, CodeDetail::Blocks, true).unwrap();
        model.benchmark_boundary();
        model.sample_boundary();
        let start = model.start();
        thread::scope(|scope| {
            for _ in 0..threads {
                scope.spawn(|| black_box(sum(numbers)));
            }
        });
        let sample = model.end(&start);
        assert!(!sample.flags.intersects(Flags::UNUSABLE));
        let reason = &model.provenance().reason;
        assert!(sample.slots.is_some(), "{reason}");
        let all = u64::from(model.provenance().threads == CountedThreads::All);
        [sample.slots.unwrap(), sample.instructions.unwrap(), all]
    })
}

#[test]
fn work_of_all_threads_counts() {
    if opened().is_none() {
        return;
    }
    const NUMBERS: u64 = 5000;
    let [slots, instructions, all] = window(2, NUMBERS);
    assert_eq!(all, 1);
    let [less_slots, less, _] = window(2, NUMBERS / 2);
    // At least an addition, a comparison and a branch for each number.
    assert!(instructions - less >= 3 * NUMBERS, "{instructions} {less}");
    assert!(slots > less_slots, "{slots} {less_slots}");
    let [_, three, _] = window(3, NUMBERS);
    assert!(three > instructions + 3 * NUMBERS, "{three} {instructions}");
}

#[test]
fn window_without_threads_is_of_own_thread() {
    if opened().is_none() {
        return;
    }
    assert_eq!(window(0, 0)[2], 0);
}

/// Makes criterion's warm-up: it doubles the iterations of windows until its clock has passed, also
/// for a launch that is started by hand. Returns how many of the windows of 1, 2 and 4 iterations
/// took it no time, because they were traced.
fn hidden_warm_up(all_threads: bool, iteration: impl Fn()) -> u64 {
    /// Far more than the time and the budget allow for.
    const MAX_ITERATIONS: u64 = 1 << 16;
    let [iterations, hidden, _] = in_child(|| {
        topdown_tracer::fix_system_values().unwrap();
        let budget = ModelBudget::from_seconds(0.05).unwrap();
        let core = &cores::GOLDEN_COVE;
        let model = Model::for_core(core, budget, CodeDetail::Blocks, all_threads).unwrap();
        model.sample_boundary();
        let mut iterations = 1;
        let mut elapsed = Duration::ZERO;
        let mut hidden = 0;
        let limit = Duration::from_millis(20);
        while iterations <= 4 || elapsed < limit && iterations < MAX_ITERATIONS {
            let begun_at = Instant::now();
            let hidden_ns = topdown_tracer::hidden_ns();
            super::window(&model, || (0..iterations).for_each(|_| iteration()));
            elapsed += begun_at.elapsed();
            hidden += u64::from(iterations <= 4 && topdown_tracer::hidden_ns() > hidden_ns);
            iterations *= 2;
        }
        [iterations, hidden, 0]
    });
    assert!(iterations < MAX_ITERATIONS, "the warm-up does not end");
    hidden
}

#[test]
fn warm_up_beyond_the_budget_ends() {
    if opened().is_none() {
        return;
    }
    let on_thread = || {
        thread::scope(|scope| {
            scope.spawn(|| black_box(sum(1000)));
        });
    };
    let on_own = || {
        black_box(sum(100));
    };
    for hidden in [
        hidden_warm_up(true, on_thread),
        hidden_warm_up(false, on_own),
    ] {
        assert_eq!(hidden, 3, "a traced window takes no time");
    }
}

/// A benchmark may open a measurement of its own, beside criterion's.
#[test]
fn second_model_counts_threads_that_exist() {
    if opened().is_none() {
        return;
    }
    let [slots, instructions, all] = in_child(|| {
        let open = || {
            let budget = ModelBudget::from_seconds(1.0).unwrap();
            Model::for_core(&cores::GOLDEN_COVE, budget, CodeDetail::Blocks, true).unwrap()
        };
        let first = open();
        let (ask, asked) = std::sync::mpsc::channel();
        let (answer, answered) = std::sync::mpsc::channel();
        thread::spawn(move || asked.iter().for_each(|n| answer.send(sum(n)).unwrap()));
        first.sample_boundary();
        let second = open();
        of_core(&second, |core| core.budget.samples_long = true);
        let sample = super::window(&second, || {
            ask.send(2000).unwrap();
            black_box(answered.recv().unwrap());
        });
        let sample = first.completed(&sample);
        let all = u64::from(first.provenance().threads == CountedThreads::All);
        [
            sample.slots.unwrap_or(0),
            sample.instructions.unwrap_or(0),
            all,
        ]
    });
    assert_eq!(all, 1);
    assert!(instructions >= 3 * 2000, "{instructions}");
    assert!(slots > 0);
}

/// Each iteration changes threads 40 times, between few instructions.
#[test]
fn changes_of_threads_use_up_the_budget() {
    if opened().is_none() {
        return;
    }
    const YIELDS: u64 = 20;
    const BUDGET_SECONDS: f64 = 0.1;
    let [iterations, budget, slots] = in_child(|| {
        let budget = ModelBudget::from_seconds(BUDGET_SECONDS).unwrap();
        let core = &cores::GOLDEN_COVE;
        let model = Model::for_core(core, budget, CodeDetail::Blocks, true).unwrap();
        of_core(&model, |core| core.budget.samples_long = true);
        thread::spawn(|| {
            loop {
                thread::yield_now();
            }
        });
        let samples = launch(&model, || (0..YIELDS).for_each(|_| thread::yield_now()));
        let (_, sample) = that_counts(&samples);
        let iterations = topdown_run::doubling::iterations(samples.len()) - 1;
        [iterations, budget.instructions, sample.slots.unwrap_or(0)]
    });
    assert!(slots > 0);
    let switches = iterations * 2 * YIELDS;
    assert!(
        super::super::budget::switching_instructions(switches) <= budget,
        "{iterations} iterations"
    );
}

/// Returns a number for the order in which threads end that begin to work at the same time before
/// each window of a launch. `waits` says whether the set-up waits for them.
fn order_before_windows(waits: bool) -> u64 {
    // More than the arenas for which the C library does not ask how many processors there are.
    const THREADS: u64 = 12;
    let [order, samples, slots] = in_child(|| {
        let budget = ModelBudget::from_seconds(DEFAULT_BUDGET_SECONDS).unwrap();
        let core = &cores::GOLDEN_COVE;
        let mut model = Model::for_core(core, budget, CodeDetail::Blocks, true).unwrap();
        model.orders_between = true;
        let order = Arc::new(AtomicU64::new(0));
        let race = || {
            let barrier = Arc::new(Barrier::new(THREADS as usize));
            let begin = |number| {
                let (order, barrier) = (Arc::clone(&order), Arc::clone(&barrier));
                thread::spawn(move || {
                    black_box(Box::new(number));
                    barrier.wait();
                    // As one that looks for work in vain for a while.
                    (0..150).for_each(|_| std::hint::spin_loop());
                    black_box(sum(10_000));
                    let with_this = |order: u64| Some(order.wrapping_mul(31) + number);
                    let _ = order.fetch_update(Relaxed, Relaxed, with_this);
                })
            };
            for thread in (0..THREADS).map(begin).collect::<Vec<_>>() {
                if waits {
                    thread.join().unwrap();
                }
            }
        };
        let samples = launch_with(&model, race, || divisions(100));
        let (_, sample) = that_counts(&samples);
        let order = order.load(Relaxed);
        [order, samples.len() as u64, sample.slots.unwrap_or(0)]
    });
    assert!(samples > 3 && slots > 0);
    order
}

#[test]
fn order_of_threads_between_windows_repeats() {
    if opened().is_none() {
        return;
    }
    for waits in [true, false] {
        let first = order_before_windows(waits);
        assert!((0..2).all(|_| order_before_windows(waits) == first));
    }
}

/// A thread that begins before the first window and never waits.
#[test]
fn endless_thread_rests_unless_code_runs_natively() {
    if opened().is_none() {
        return;
    }
    let [samples, rested, went_on] = in_child(|| {
        let budget = ModelBudget::from_seconds(0.5).unwrap();
        let core = &cores::GOLDEN_COVE;
        let mut model = Model::for_core(core, budget, CodeDetail::Blocks, true).unwrap();
        model.orders_between = true;
        let begun = std::sync::Once::new();
        let rounds = Arc::new(AtomicU64::new(0));
        let begin = || {
            begun.call_once(|| {
                let rounds = Arc::clone(&rounds);
                thread::spawn(move || {
                    loop {
                        rounds.fetch_add(1, Relaxed);
                    }
                });
            });
        };
        let samples = launch_with(&model, begin, || divisions(100));
        let before = rounds.load(Relaxed);
        black_box(sum(100_000));
        let rested = before > 0 && rounds.load(Relaxed) == before;
        // The model is complete, so this window is native.
        super::window(&model, || {
            while rounds.load(Relaxed) == before {
                thread::yield_now();
            }
        });
        let went_on = rounds.load(Relaxed) > before;
        [samples.len() as u64, rested.into(), went_on.into()]
    });
    assert!(samples > 3);
    assert_eq!([rested, went_on], [1, 1]);
}

/// There are more threads than the tracer has room for, and one of them works.
#[test]
fn work_of_untraced_threads_leaves_time_only() {
    if opened().is_none() {
        return;
    }
    let [is_time, names_threads, samples] = in_child(|| {
        let budget = ModelBudget::from_seconds(DEFAULT_BUDGET_SECONDS).unwrap();
        let core = &cores::GOLDEN_COVE;
        let model = Model::for_core(core, budget, CodeDetail::Blocks, true).unwrap();
        let idle = || loop {
            thread::park();
        };
        (0..70).for_each(|_| drop(thread::spawn(idle)));
        let (ask, asked) = std::sync::mpsc::channel();
        let (answer, answered) = std::sync::mpsc::channel();
        thread::spawn(move || asked.iter().for_each(|n| answer.send(sum(n)).unwrap()));
        let samples = launch(&model, || {
            ask.send(400_000).unwrap();
            black_box(answered.recv().unwrap());
        });
        let Provenance { source, reason, .. } = model.provenance();
        let why = "not modelled: other threads not traced: the process has more than";
        [
            u64::from(*source == SourceKind::Time),
            u64::from(reason.starts_with(why)),
            samples.len() as u64,
        ]
    });
    assert_eq!([is_time, names_threads], [1, 1]);
    // A thousand sums take far longer than the tenth of a second.
    assert!(samples < 10, "{samples}");
}

/// Slots of a window in which two threads increment a number in turn, and whether their formula
/// says that lines are shared.
fn ping_pong(shares: bool, rounds: u64) -> [u64; 3] {
    in_child(|| {
        let budget = ModelBudget::from_seconds(DEFAULT_BUDGET_SECONDS).unwrap();
        let core = &cores::GOLDEN_COVE;
        let model = Model::for_core(core, budget, CodeDetail::Blocks, true).unwrap();
        if shares {
            model.share_lines();
        }
        model.benchmark_boundary();
        model.sample_boundary();
        let turn = AtomicU64::new(0);
        let start = model.start();
        thread::scope(|scope| {
            for own in 0..2 {
                let turn = &turn;
                scope.spawn(move || {
                    for _ in 0..rounds {
                        while turn.load(Acquire) % 2 != own {
                            std::hint::spin_loop();
                        }
                        turn.fetch_add(1, Release);
                    }
                });
            }
        });
        let sample = model.end(&start);
        let formula = &model.provenance().formula;
        let says_so = u64::from(formula.ends_with("+shared-lines"));
        [sample.slots.unwrap(), sample.instructions.unwrap(), says_so]
    })
}

#[test]
fn shared_lines_cost_slots_and_are_provenance() {
    if opened().is_none() {
        return;
    }
    const ROUNDS: u64 = 2000;
    let [alone, instructions, says_so] = ping_pong(false, ROUNDS);
    assert_eq!(says_so, 0);
    let [shared, same_instructions, says_so] = ping_pong(true, ROUNDS);
    assert_eq!(says_so, 1);
    // The rounds are the same. How threads are allocated depends on what the harness did before.
    assert!(instructions.abs_diff(same_instructions) * 100 < instructions);
    let core = &cores::GOLDEN_COVE;
    let transfers = (shared - alone) / u64::from(core.memory.transfer_cycles * core.width);
    // One for each round of a thread, and those of the threads' beginnings and ends.
    assert!((ROUNDS..4 * ROUNDS).contains(&transfers), "{transfers}");
}

#[test]
fn own_thread_does_not_say_that_lines_are_shared() {
    if opened().is_none() {
        return;
    }
    let [_, _, says_so] = in_child(|| {
        let budget = ModelBudget::from_seconds(DEFAULT_BUDGET_SECONDS).unwrap();
        let model = Model::for_core(&cores::ZEN_5, budget, CodeDetail::Blocks, true).unwrap();
        model.share_lines();
        model.benchmark_boundary();
        model.sample_boundary();
        super::window(&model, || {
            black_box(sum(1000));
        });
        let formula = &model.provenance().formula;
        [0, 0, u64::from(formula.contains("shared"))]
    });
    assert_eq!(says_so, 0);
}
