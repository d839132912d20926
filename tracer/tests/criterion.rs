//! The tracer inside a criterion measurement: attached by `start`, detached by `end`.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

use std::hint::black_box;
use std::time::Duration;

use criterion::measurement::{Measurement, ValueFormatter};
use criterion::{BatchSize, Criterion, Throughput};
use topdown_tracer::{Block, Config, Consumer, End, Tracer};

#[derive(Default)]
struct Count {
    instructions: u64,
}

impl Consumer for Count {
    fn block(&mut self, block: &Block<'_>, _addresses: &[u64]) {
        self.instructions += block.instructions.len() as u64;
    }
}

/// Counts instructions.
struct Instructions(Tracer<Count>);

impl Measurement for Instructions {
    type Intermediate = u64;
    type Value = u64;

    fn start(&self) -> u64 {
        let before = self.0.with_consumer(|count| count.instructions).unwrap();
        self.0.attach().unwrap();
        before
    }

    fn end(&self, before: u64) -> u64 {
        assert_eq!(self.0.detach(), Ok(End::Detach));
        self.0
            .with_consumer(|count| count.instructions - before)
            .unwrap()
    }

    fn add(&self, left: &u64, right: &u64) -> u64 {
        left + right
    }

    fn zero(&self) -> u64 {
        0
    }

    fn to_f64(&self, value: &u64) -> f64 {
        *value as f64
    }

    fn formatter(&self) -> &dyn ValueFormatter {
        &Plain
    }
}

struct Plain;

impl ValueFormatter for Plain {
    fn scale_values(&self, _typical: f64, _values: &mut [f64]) -> &'static str {
        "instructions"
    }

    fn scale_throughputs(
        &self,
        _typical: f64,
        _throughput: &Throughput,
        _values: &mut [f64],
    ) -> &'static str {
        "instructions"
    }

    fn scale_for_machines(&self, _values: &mut [f64]) -> &'static str {
        "instructions"
    }
}

#[test]
fn every_way_of_iterating_attaches_and_detaches() {
    let directory = tempfile::tempdir().unwrap();
    let tracer = Tracer::new(Config::default(), Count::default()).unwrap();
    let mut criterion = Criterion::default()
        .with_measurement(Instructions(tracer))
        .output_directory(directory.path())
        .without_plots()
        .warm_up_time(Duration::from_millis(20))
        .measurement_time(Duration::from_millis(100))
        .nresamples(1001)
        .sample_size(10);
    criterion.bench_function("iter", |bencher| {
        bencher.iter(|| (0..black_box(100_u64)).map(|n| n * n).sum::<u64>());
    });
    criterion.bench_function("iter_batched", |bencher| {
        bencher.iter_batched(
            || vec![3_u32, 1, 2],
            |mut values| {
                values.sort();
                values
            },
            BatchSize::PerIteration,
        );
    });
    criterion.bench_function("iter_custom", |bencher| {
        let own = Instructions(Tracer::new(Config::default(), Count::default()).unwrap());
        bencher.iter_custom(|iterations| {
            let before = own.start();
            for n in 0..iterations {
                black_box(n);
            }
            own.end(before)
        });
    });
    let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        criterion.bench_function("panic", |bencher| {
            bencher.iter(|| -> u64 { std::panic::resume_unwind(Box::new("in the bench")) });
        });
    }));
    assert!(panicked.is_err());
}
