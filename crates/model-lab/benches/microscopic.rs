//! Kernels with one known bottleneck each, for `cargo topdown`: what `explain` says about them is
//! golden text of the program.

use criterion::{Criterion, criterion_group, criterion_main};

use criterion_topdown::TopDown;

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
fn microscopic(c: &mut Criterion<TopDown>) {
    for kernel in topdown_model_lab::kernels::microscopic::kernels() {
        let mut run = (kernel.prepare)();
        c.bench_function(kernel.name, |b| b.iter(&mut run));
    }
}

#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
fn microscopic(_: &mut Criterion<TopDown>) {}

criterion_group! {
    name = benches;
    config = Criterion::default().with_measurement(TopDown::new());
    targets = microscopic
}
criterion_main!(benches);
