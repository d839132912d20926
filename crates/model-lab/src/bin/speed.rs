//! Measures how fast the model executes the kernels of `validate`, without the tracer: each kernel
//! is recorded once and replayed.
//!
//!     cargo run --release -p topdown-model-lab --bin speed -- [core] [filter]
//!
//! The speed is that of the fastest replay, in processor time. Next to it is the number of this
//! machine's instructions that the model executes per instruction of the program, as counted by the
//! tracer. This figure does not depend on what else the machine does.

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    use topdown_core_model::{Capacity, Model, cores};
    use topdown_model_lab::kernels;
    use topdown_model_lab::recording::{InstructionCount, Recording};
    use topdown_model_lab::thread_time::thread_seconds;
    use topdown_tracer::{Config, Tracer};

    /// Processor time spent on each kernel.
    const BUDGET_SECONDS: f64 = 0.3;

    let name = std::env::args().nth(1);
    let name = name.as_deref().unwrap_or("golden-cove");
    let filter = std::env::args().nth(2).unwrap_or_default();
    let core = cores::by_name(name).ok_or_else(|| format!("no core `{name}`"))?;
    println!(
        "{:<16} {:>12} {:>6} {:>10}",
        "kernel", "instructions", "M/s", "machine/in"
    );
    let mut speeds = Vec::new();
    for kernel in kernels::all() {
        if !kernel.name.contains(filter.as_str()) {
            continue;
        }
        let recording = Recording::new(&mut (kernel.prepare)())?;
        let mut model = Model::new(core, Capacity::default());
        recording.translate(&mut model);
        recording.replay(&mut model);
        let instructions = model.counts().events.instructions as f64;
        let mut fastest = f64::INFINITY;
        let start = thread_seconds();
        while thread_seconds() - start < BUDGET_SECONDS {
            let before = thread_seconds();
            recording.replay(&mut model);
            fastest = fastest.min(thread_seconds() - before);
        }
        let mut tracer = Tracer::new(Config::default(), InstructionCount::default())?;
        let ((), end) = tracer.trace(|| recording.replay(&mut model));
        end?;
        let speed = instructions / fastest / 1e6;
        println!(
            "{:<16} {:>12} {:>6.1} {:>10.0}",
            kernel.name,
            instructions,
            speed,
            tracer.consumer_mut().0 as f64 / instructions,
        );
        speeds.push(speed);
    }
    speeds.sort_by(f64::total_cmp);
    if let Some(median) = speeds.get(speeds.len() / 2) {
        println!("median {median:.1} million instructions per second");
    }
    Ok(())
}

#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
fn main() {
    eprintln!("speed runs on x86-64 Linux only");
}
