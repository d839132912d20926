//! Runs kernels natively and on the model, and prints how far the modelled cycles are off.
//!
//!     cargo run --release -p topdown-core-model --example validate -- zen-5 [filter]
//!
//! Give the core that this machine has. Native cycles are best-case wall time in units of a chain of
//! dependent additions, timed just before and after each run; modelled cycles are those of the third
//! traced run, the first two warm caches and predictors. Kernels marked `held out` were not looked
//! at while the core was calibrated.

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod kernels;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod native;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod report;

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    use topdown_core_model::{Capacity, Model, cores};
    use topdown_tracer::{Config, Mapping, Tracer};

    let name = std::env::args().nth(1).unwrap_or_else(|| "zen-5".into());
    let filter = std::env::args().nth(2).unwrap_or_default();
    let core = cores::by_name(&name).ok_or_else(|| {
        let known: Vec<&str> = cores::ALL.iter().map(|core| core.name).collect();
        format!("no core `{name}`; known: {}", known.join(", "))
    })?;
    native::keep_pages();
    let mut rows = Vec::new();
    report::print_head(core);
    for kernel in kernels::all() {
        if !kernel.name.contains(filter.as_str()) {
            continue;
        }
        let mut run = (kernel.prepare)();
        let native_cycles = native::best_case_cycles(&mut run);
        let model = Model::with_mappings(core, Capacity::default(), Mapping::at);
        let mut tracer = Tracer::new(Config::default(), model)?;
        let mut counts = None;
        let mut seconds = 0.0;
        for _ in 0..3 {
            let before = tracer.consumer_mut().counts();
            let start = native::thread_seconds();
            let ((), end) = tracer.trace(&mut run);
            end?;
            tracer.consumer_mut().drain();
            seconds = native::thread_seconds() - start;
            counts = Some(tracer.consumer_mut().counts() - before);
        }
        let Some(counts) = counts else { continue };
        assert!(!tracer.consumer_mut().is_full(), "the capacity suffices");
        if std::env::var_os("EVENTS").is_some() {
            eprintln!("{counts:#?}");
        }
        let row = report::Row {
            name: kernel.name,
            held_out: kernel.held_out,
            native_cycles,
            counts,
            instructions_per_second: counts.events.instructions as f64 / seconds,
        };
        report::print_row(&row);
        rows.push(row);
    }
    report::print_summary(&rows);
    Ok(())
}

#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
fn main() {
    eprintln!("validate runs on x86-64 Linux only");
}
