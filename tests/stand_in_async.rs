//! Asynchronous benches as users write them for criterion, compiled against this package instead.

extern crate criterion_topdown as criterion;

use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use criterion::async_executor::{AsyncExecutor, FuturesExecutor, SmolExecutor};
use criterion::measurement::WallTime;
use criterion::{
    AsyncBencher, BatchSize, BenchmarkGroup, BenchmarkId, Criterion, TopDown, black_box,
    criterion_group,
};

/// A project's own executor: everything is ready at once.
struct Ready;

impl AsyncExecutor for Ready {
    fn block_on<T>(&self, future: impl Future<Output = T>) -> T {
        match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(value) => value,
            Poll::Pending => panic!("nothing here waits"),
        }
    }
}

async fn twice(number: u64) -> u64 {
    2 * black_box(number)
}

fn executors(c: &mut Criterion) {
    c.bench_function("futures", |b| {
        b.to_async(FuturesExecutor).iter(|| twice(1));
    });
    c.bench_function("smol", |b| b.to_async(SmolExecutor).iter(|| twice(1)));
    c.bench_function("own", |b| {
        b.to_async(Ready).iter(|| async { twice(1).await })
    });
}

fn every_method(c: &mut Criterion) {
    let mut group = c.benchmark_group("methods");
    in_group(&mut group);
    group.finish();
}

fn in_group(group: &mut BenchmarkGroup<'_, WallTime>) {
    group.bench_with_input(BenchmarkId::new("iter_custom", "time"), &3, |b, factor| {
        b.to_async(FuturesExecutor).iter_custom(|n| async move {
            twice(n).await;
            Duration::from_nanos(factor * n)
        });
    });
    group.bench_function("iter_custom/slots", |b| {
        let topdown = TopDown::new();
        b.to_async(FuturesExecutor).iter_custom(|n| {
            let topdown = &topdown;
            async move { topdown.measure(|| (0..n).map(black_box).sum::<u64>()) }
        });
    });
    group.bench_function("iter_batched", |b| {
        let mut b: AsyncBencher<'_, '_, FuturesExecutor> = b.to_async(FuturesExecutor);
        b.iter_batched(|| 3, twice, BatchSize::SmallInput);
    });
    group.bench_function("iter_batched_ref", |b| {
        let bytes = || vec![1, 2, 3];
        b.to_async(FuturesExecutor).iter_batched_ref(
            bytes,
            |bytes| std::future::ready(bytes.pop()),
            BatchSize::LargeInput,
        );
    });
    group.bench_function("iter_with_setup", |b| {
        b.to_async(FuturesExecutor).iter_with_setup(|| 3, twice);
    });
    group.bench_function("iter_with_large_drop", |b| {
        let large = || async { vec![black_box(0); 1000] };
        b.to_async(FuturesExecutor).iter_with_large_drop(large);
    });
    group.bench_function("iter_with_large_setup", |b| {
        b.to_async(FuturesExecutor)
            .iter_with_large_setup(|| 3, twice);
    });
}

criterion_group!(benches, executors, every_method);

/// As in `stand_in.rs`: criterion reads the arguments, so this executable runs again without
/// libtest's.
#[test]
fn asynchronous_sources_compile_and_run() {
    if std::env::var_os("RUN_THE_GROUPS").is_some() {
        benches();
        return;
    }
    let output = std::process::Command::new(std::env::current_exe().expect("this executable"))
        .arg("--nocapture")
        .env("RUN_THE_GROUPS", "yes")
        .env("CARGO_TOPDOWN_SOURCE", "time")
        .output()
        .expect("this executable starts");
    assert!(output.status.success(), "{output:?}");
}
