//! The benchmarks of this repository's `benches/bottlenecks.rs`.

#[path = "../crates/counters/src/proof/kernel/mod.rs"]
mod kernel;

use gungraun::prelude::*;

#[library_benchmark]
fn independent_adds() -> u64 {
    kernel::independent_adds(4_000)
}

#[library_benchmark]
fn multiply_chain() -> u64 {
    kernel::multiply_chain(3, 4_000)
}

#[library_benchmark]
fn divide_chain() -> u64 {
    kernel::divide_chain(u64::MAX, 1_000)
}

#[library_benchmark]
#[bench::lines(args = (1 << 20), setup = kernel::Cycle::random)]
fn pointer_chase(cycle: kernel::Cycle) -> (kernel::Cycle, usize) {
    let position = cycle.walk(0, 2_000);
    (cycle, position)
}

fn buffer(bytes: usize) -> Vec<u64> {
    vec![0; bytes / 8]
}

#[library_benchmark]
#[bench::bytes(args = (4 << 20), setup = buffer)]
fn stores(mut buffer: Vec<u64>) -> Vec<u64> {
    kernel::fill(&mut buffer, 1);
    buffer
}

#[library_benchmark]
#[bench::seeded(kernel::Random::seeded())]
fn random_branches(mut random: kernel::Random) -> u64 {
    kernel::random_branches(&mut random, 16_384)
}

#[library_benchmark]
#[bench::in_order(kernel::LargeCode::in_order_of_addresses())]
fn large_code(code: kernel::LargeCode) -> u64 {
    code.call(1)
}

library_benchmark_group!(
    name = bottlenecks,
    benchmarks = [
        independent_adds,
        multiply_chain,
        divide_chain,
        pointer_chase,
        stores,
        random_branches,
        large_code
    ]
);
main!(library_benchmark_groups = bottlenecks);
