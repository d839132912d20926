//! Kernels of the validation on which no core was calibrated.

use criterion::{Criterion, criterion_group, criterion_main};
use topdown_model_lab::kernels::side_by_side;

fn kernels(c: &mut Criterion) {
    for kernel in side_by_side() {
        // Prepared once, and only if a filter lets it through.
        let mut run = None;
        c.bench_function(kernel.name, |b| b.iter(run.get_or_insert_with(kernel.prepare)));
    }
}

criterion_group!(benches, kernels);
criterion_main!(benches);
