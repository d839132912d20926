//! The cost of measuring: an empty window of each source, and adding one up in `iter_batched`.

use std::hint::black_box;

use criterion::measurement::Measurement;
use criterion::{Criterion, criterion_group, criterion_main};
use criterion_topdown::TopDown;
use topdown_counters::scripted::Scripted;
use topdown_counters::time::Time;

/// Uses the wall clock, so that no source measures itself.
fn overhead(c: &mut Criterion) {
    let mut group = c.benchmark_group("overhead");
    let sources = [
        ("best_source", TopDown::new()),
        (
            "time",
            TopDown::with_source(Box::new(Time::new("the benchmark asks for it"))),
        ),
        ("scripted", TopDown::with_source(Box::new(Scripted::new()))),
    ];
    for (name, measurement) in sources {
        group.bench_function(format!("empty_window/{name}"), |b| {
            b.iter(|| measurement.end(measurement.start()))
        });
        let window = measurement.end(measurement.start());
        group.bench_function(format!("add_a_window/{name}"), |b| {
            b.iter(|| measurement.add(black_box(&window), black_box(&window)))
        });
    }
    group.finish();
}

criterion_group!(benches, overhead);
criterion_main!(benches);
