//! Call paths of programs that keep a stack of their own, which is the truth.

#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

#[path = "call_paths/modelled.rs"]
mod modelled;
#[path = "call_paths/programs.rs"]
mod programs;

use std::collections::BTreeMap;
use std::hint::black_box;

use modelled::{calls, model};
use programs::{Function, PROGRAMS, TRUTH, deep, even, fibonacci, pointed, tail, twice};
use topdown_core_model::{Capacity, Model, cores};
use topdown_skipped::{Need, skip};
use topdown_tracer::{Config, Tracer};

#[test]
fn paths_match_program_stack_and_have_all_slots() {
    for (function, n) in PROGRAMS {
        let Ok(mut tracer) = Tracer::new(Config::default(), model()) else {
            skip(Need::Model, "code cannot be traced on this machine");
            return;
        };
        for _ in 0..3 {
            TRUTH.take();
            let before = calls(tracer.consumer_mut());
            tracer.consumer_mut().begin_window();
            let (_, end) = tracer.trace(|| black_box(function)(black_box(n)));
            end.unwrap();
            let model = tracer.consumer_mut();
            model.drain();
            let mut expected = TRUTH.take().calls;
            for (path, count) in before {
                *expected.entry(path).or_default() += count;
            }
            assert_eq!(calls(model), expected);
            let mut slots = topdown_core_model::Slots::default();
            for (_, counts) in model.blocks() {
                slots += counts.slots;
            }
            assert_eq!(slots, model.counts().slots);
        }
    }
}

/// The calls beyond the room for open ones are counted with their callers, and their returns do not
/// confuse what follows.
#[test]
fn too_deep_recursion_counts_for_callers() {
    const DEEPER: u64 = 70_000;
    let work = || {
        let mut tracer = Tracer::new(Config::default(), model()).ok()?;
        tracer.consumer_mut().begin_window();
        TRUTH.take();
        let (_, end) = tracer.trace(|| black_box(deep)(DEEPER) + black_box(tail)(2));
        end.unwrap();
        let model = tracer.consumer_mut();
        model.drain();
        let slots: u64 = model.blocks().map(|(_, counts)| counts.slots.total()).sum();
        assert_eq!(slots, model.counts().slots.total());
        let [counted, truth] = [calls(model), TRUTH.take().calls];
        let address = |function: Function| function as usize as u64;
        assert_eq!(counted[&vec![address(deep)]], truth[&vec![address(deep)]]);
        let of_tail = |calls: &BTreeMap<Vec<u64>, u64>| {
            let mut calls = calls.clone();
            calls.retain(|path, _| path[0] == address(tail));
            calls
        };
        assert_eq!(of_tail(&counted), of_tail(&truth));
        Some(())
    };
    let thread = std::thread::Builder::new().stack_size(256 << 20);
    let done = thread.spawn(work).unwrap().join().unwrap();
    if done.is_none() {
        skip(Need::Model, "code cannot be traced on this machine");
    }
}

fn plain_fibonacci(n: u64) -> u64 {
    match n {
        0 | 1 => n,
        _ => plain_fibonacci(n - 1) + plain_fibonacci(n - 2),
    }
}

#[test]
fn following_calls_changes_no_count() {
    let run = |model: Model| {
        let mut tracer = Tracer::new(Config::default(), model).ok()?;
        let mut counts = Vec::new();
        for n in [3, 9, 9] {
            let (_, end) = tracer.trace(|| black_box(plain_fibonacci(black_box(n))));
            end.unwrap();
            tracer.consumer_mut().drain();
            counts.push(tracer.consumer_mut().counts());
        }
        Some(counts)
    };
    let plain = Model::new(&cores::GOLDEN_COVE, Capacity::default());
    let (Some(plain), Some(following)) = (run(plain), run(model())) else {
        skip(Need::Model, "code cannot be traced on this machine");
        return;
    };
    assert_eq!(plain, following);
}

#[test]
fn excess_paths_count_for_callers() {
    let capacity = Capacity {
        blocks: 600,
        ..Capacity::default()
    };
    let model = Model::new(&cores::GOLDEN_COVE, capacity).following_calls();
    let Ok(mut tracer) = Tracer::new(Config::default(), model) else {
        skip(Need::Model, "code cannot be traced on this machine");
        return;
    };
    for function in [fibonacci as Function, pointed, even, tail, twice] {
        let _ = tracer.trace(|| function(9));
    }
    let model = tracer.consumer_mut();
    model.drain();
    assert!(model.blocks().count() <= 1200);
    let slots: u64 = model.blocks().map(|(_, counts)| counts.slots.total()).sum();
    assert_eq!(slots, model.counts().slots.total());
}
