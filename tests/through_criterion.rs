//! The measurement as criterion 0.8 drives it: a contract that a new criterion must keep.
//!
//! A recording source underneath logs every call, so these tests notice if criterion changes when
//! it opens windows or asks for a scalar.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use criterion::{BatchSize, Criterion, SamplingMode};
use criterion_topdown::TopDown;
use topdown_counters::scripted::{Scripted, Work, spend};
use topdown_counters::{Reading, Source};
use topdown_run::category::PerCategory;
use topdown_run::provenance::Provenance;
use topdown_run::sample::{Level1, Sample};

#[derive(Clone, Copy, Debug, PartialEq)]
enum Call {
    Boundary,
    Window { slots: u64 },
}

struct Recording {
    scripted: Scripted,
    calls: Rc<RefCell<Vec<Call>>>,
}

impl Source for Recording {
    fn provenance(&self) -> &Provenance {
        self.scripted.provenance()
    }

    fn sample_boundary(&self) {
        self.calls.borrow_mut().push(Call::Boundary);
    }

    fn start(&self) -> Reading {
        self.scripted.start()
    }

    fn end(&self, start: &Reading) -> Sample {
        let sample = self.scripted.end(start);
        let slots = sample.slots.expect("scripted windows have slots");
        self.calls.borrow_mut().push(Call::Window { slots });
        sample
    }
}

const SAMPLES: usize = 10;

/// Runs `bench` under criterion and returns the calls that the source saw.
fn calls_of(bench: impl FnOnce(&mut Criterion<TopDown>)) -> Vec<Call> {
    let calls = Rc::new(RefCell::new(Vec::new()));
    let output = tempfile::tempdir().expect("a temporary directory");
    let source = Recording {
        scripted: Scripted::new(),
        calls: Rc::clone(&calls),
    };
    let mut criterion = Criterion::default()
        .with_measurement(TopDown::with_source(Box::new(source)))
        .output_directory(output.path())
        .without_plots()
        .sample_size(SAMPLES)
        .nresamples(1001)
        .warm_up_time(Duration::from_millis(1))
        .measurement_time(Duration::from_millis(5));
    bench(&mut criterion);
    drop(criterion);
    Rc::try_unwrap(calls)
        .expect("criterion is gone")
        .into_inner()
}

fn unit() -> Work {
    Work {
        level1: Level1 {
            slots: PerCategory {
                retiring: 3.0,
                backend_bound: 1.0,
                ..PerCategory::default()
            },
            ..Level1::default()
        },
        instructions: 3,
        ..Work::default()
    }
}

/// Returns the windows since the last boundary except one per kept sample: the calls after the
/// measurement began.
fn samples(calls: &[Call]) -> Vec<Vec<u64>> {
    let samples: Vec<Vec<u64>> = calls
        .split(|call| *call == Call::Boundary)
        .map(|calls| {
            let slots = |call: &Call| match call {
                Call::Window { slots } => *slots,
                Call::Boundary => unreachable!("split at boundaries"),
            };
            calls.iter().map(slots).collect::<Vec<_>>()
        })
        .filter(|windows| !windows.is_empty())
        .collect();
    samples[samples.len() - SAMPLES..].to_vec()
}

#[test]
fn iter_is_one_window_per_sample() {
    let calls = calls_of(|c| {
        let mut group = c.benchmark_group("group");
        group.sampling_mode(SamplingMode::Linear);
        group.bench_function("iter", |b| b.iter(|| spend(&unit())));
        group.finish();
    });
    let samples = samples(&calls);
    assert!(
        samples.iter().all(|windows| windows.len() == 1),
        "{samples:?}"
    );
    let first = samples[0][0];
    assert_eq!(first % 4, 0, "every iteration costs four slots");
    for (index, windows) in samples.iter().enumerate() {
        assert_eq!(
            windows[0],
            first * (index as u64 + 1),
            "linear sampling: 1, 2, 3 … times"
        );
    }
}

#[test]
fn per_iteration_batches_have_one_window_each() {
    let calls = calls_of(|c| {
        c.bench_function("batched", |b| {
            b.iter_batched(|| (), |()| spend(&unit()), BatchSize::PerIteration)
        });
    });
    for windows in samples(&calls) {
        assert!(
            windows.iter().all(|slots| *slots == 4),
            "one iteration each: {windows:?}"
        );
    }
}

#[test]
fn setup_is_outside_the_windows() {
    let calls = calls_of(|c| {
        c.bench_function("setup", |b| {
            b.iter_batched(
                || spend(&unit()),
                |()| spend(&unit()),
                BatchSize::PerIteration,
            )
        });
    });
    for windows in samples(&calls) {
        assert!(windows.iter().all(|slots| *slots == 4), "{windows:?}");
    }
}

#[test]
fn iter_custom_returns_measured_value() {
    let calls = calls_of(|c| {
        c.bench_function("custom", |b| {
            // Another instance, as users write it; both read this thread's counters.
            let topdown = TopDown::with_source(Box::new(Scripted::new()));
            b.iter_custom(|iterations| {
                topdown.measure(|| (0..iterations).for_each(|_| spend(&unit())))
            })
        });
    });
    // The other instance had the windows; this one saw the boundaries of its samples.
    let boundaries = calls.iter().filter(|call| **call == Call::Boundary).count();
    assert!(boundaries >= SAMPLES, "{calls:?}");
}
