//! The benchmarks of `kernels.rs`.

use gungraun::prelude::*;
use topdown_model_lab::kernels::side_by_side;

fn prepared(index: usize) -> Box<dyn FnMut()> {
    (side_by_side()[index].prepare)()
}

#[library_benchmark]
#[benches::kernel(iter = 0..42, setup = prepared)]
fn run(mut kernel: Box<dyn FnMut()>) -> Box<dyn FnMut()> {
    kernel();
    kernel
}

library_benchmark_group!(name = kernels, benchmarks = run);
main!(library_benchmark_groups = kernels);
