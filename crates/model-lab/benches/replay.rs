//! Speed of the model: recorded executions, replayed without the tracer.
//!
//!     cargo bench -p topdown-model-lab
//!
//! `src/bin/speed.rs` has all kernels, in processor time.

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
fn main() {
    use criterion::{Criterion, Throughput};
    use topdown_core_model::{Capacity, Model, cores};
    use topdown_model_lab::kernels;
    use topdown_model_lab::recording::Recording;

    /// Bound by arithmetic, by the frontend, by the L1, by predictions, by the L3.
    const KERNELS: [&str; 6] = [
        "alu",
        "matmul-64",
        "sort-10k",
        "regex",
        "random-branch",
        "chase-2m",
    ];

    let mut criterion = Criterion::default().configure_from_args();
    let mut group = criterion.benchmark_group("replay");
    for kernel in kernels::all() {
        if !KERNELS.contains(&kernel.name) {
            continue;
        }
        let recording = match Recording::new(&mut (kernel.prepare)()) {
            Ok(recording) => recording,
            Err(error) => {
                eprintln!("not recorded: {error}");
                continue;
            }
        };
        let mut model = Model::new(&cores::GOLDEN_COVE, Capacity::default());
        recording.translate(&mut model);
        recording.replay(&mut model);
        group.throughput(Throughput::Elements(model.counts().events.instructions));
        group.bench_function(kernel.name, |bencher| {
            bencher.iter(|| recording.replay(&mut model));
        });
    }
    group.finish();
    criterion.final_summary();
}

#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
fn main() {}
