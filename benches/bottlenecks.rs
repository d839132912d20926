//! Benchmarks with one known bottleneck each: the tool's own validity test.
//!
//! The group's name is the category that should stand out. Kernels that depend on exact
//! instructions are written in assembly for x86-64 and AArch64, because a compiler may turn a chain
//! of additions into one multiplication; elsewhere plain Rust comes close.
//!
//! To see the gate at work: `cargo topdown bench --save main`, change a constant below, `cargo
//! topdown bench`, `cargo topdown compare main`.

#[path = "../crates/counters/src/proof/kernel/mod.rs"]
mod kernel;

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use criterion_topdown::TopDown;

/// Multiplications in sequence, each waiting for the one before.
const MULTIPLY_CHAIN_LENGTH: u64 = 4_000;
/// Divisions in sequence, each waiting for the one before.
const DIVIDE_CHAIN_LENGTH: u64 = 1_000;
/// Rounds of eight independent additions.
const INDEPENDENT_ADD_ROUNDS: u64 = 4_000;
/// Steps through a random cycle of cache lines; the cycle is larger than most caches.
const CHASE_STEPS: usize = 2_000;
/// Cache lines of that cycle: 64 MiB.
const CHASE_LINES: usize = 1 << 20;
/// Bytes written per iteration: more than any second-level cache holds.
const STORE_BYTES: usize = 4 << 20;
/// Branches per iteration, all unpredictable.
const RANDOM_BRANCHES: usize = 16_384;

fn retiring(c: &mut Criterion<TopDown>) {
    let mut group = c.benchmark_group("retiring");
    group.throughput(Throughput::Elements(8 * INDEPENDENT_ADD_ROUNDS));
    group.bench_function("independent_adds", |b| {
        b.iter(|| kernel::independent_adds(black_box(INDEPENDENT_ADD_ROUNDS)))
    });
    group.finish();
}

fn core_bound(c: &mut Criterion<TopDown>) {
    let mut group = c.benchmark_group("core_bound");
    group.throughput(Throughput::Elements(MULTIPLY_CHAIN_LENGTH));
    group.bench_function("multiply_chain", |b| {
        b.iter(|| kernel::multiply_chain(black_box(3), MULTIPLY_CHAIN_LENGTH))
    });
    group.throughput(Throughput::Elements(DIVIDE_CHAIN_LENGTH));
    group.bench_function("divide_chain", |b| {
        b.iter(|| kernel::divide_chain(black_box(u64::MAX), DIVIDE_CHAIN_LENGTH))
    });
    group.finish();
}

fn memory_bound(c: &mut Criterion<TopDown>) {
    let mut group = c.benchmark_group("memory_bound");
    let cycle = kernel::Cycle::random(CHASE_LINES);
    let mut position = 0;
    group.throughput(Throughput::Elements(CHASE_STEPS as u64));
    group.bench_function("pointer_chase", |b| {
        b.iter(|| {
            position = cycle.walk(position, CHASE_STEPS);
            position
        })
    });
    let mut buffer = vec![0_u64; STORE_BYTES / 8];
    let mut value = 0;
    group.throughput(Throughput::Bytes(STORE_BYTES as u64));
    group.bench_function("stores", |b| {
        b.iter(|| {
            value += 1;
            kernel::fill(black_box(&mut buffer), value);
        })
    });
    group.finish();
}

fn bad_speculation(c: &mut Criterion<TopDown>) {
    let mut group = c.benchmark_group("bad_speculation");
    let mut random = kernel::Random::seeded();
    group.throughput(Throughput::Elements(RANDOM_BRANCHES as u64));
    group.bench_function("random_branches", |b| {
        b.iter(|| kernel::random_branches(&mut random, RANDOM_BRANCHES))
    });
    group.finish();
}

fn frontend_bound(c: &mut Criterion<TopDown>) {
    let mut group = c.benchmark_group("frontend_bound");
    group.throughput(Throughput::Elements(kernel::LARGE_CODE_FUNCTIONS as u64));
    let code = kernel::LargeCode::in_order_of_addresses();
    group.bench_function("large_code", |b| b.iter(|| code.call(black_box(1))));
    group.finish();
}

criterion_group! {
    name = benches;
    config = Criterion::default().with_measurement(TopDown::new());
    targets = retiring, core_bound, memory_bound, bad_speculation, frontend_bound
}
criterion_main!(benches);
