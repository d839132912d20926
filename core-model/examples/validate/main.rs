//! Runs kernels natively and on the model, and prints how far the modelled cycles are off.
//!
//!     cargo run --release -p topdown-core-model --example validate -- CORE [FILTER] [--runs N] [--native FILE] [--measure]
//!
//! Give the core that this machine has. Native cycles are best-case wall time in units of a chain of
//! dependent additions, timed just before and after each run; modelled cycles are those of the third
//! traced run (`--runs`), those before it warm caches and predictors. Kernels marked `held out` were not looked
//! at while the cores were calibrated.
//!
//! With `--native FILE` the native cycles of earlier runs are taken from the file, and what it lacks
//! is measured and added. With `--measure` all are measured, of old and new the least counts, and
//! nothing is modelled.

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod arguments;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod kernels;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod native;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod report;

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    use topdown_core_model::{Capacity, Model};
    use topdown_tracer::{Config, Mapping, Tracer};

    let arguments = arguments::Arguments::parse(std::env::args().skip(1))?;
    let mut measurements = native::Measurements::open(arguments.native)?;
    native::keep_pages();
    let mut rows = Vec::new();
    for kernel in kernels::all() {
        if !kernel.name.contains(&arguments.filter) {
            continue;
        }
        let mut run = (kernel.prepare)();
        let native_cycles = match measurements.get(kernel.name) {
            Some(known) if !arguments.measure => known,
            _ => measurements.add(kernel.name, native::best_case_cycles(&mut run))?,
        };
        // A measuring run makes the model as well: its data then lies where a modelling run has it.
        let model = Model::with_mappings(arguments.core, Capacity::default(), Mapping::at);
        let mut tracer = Tracer::new(Config::default(), model)?;
        if arguments.measure {
            println!("{:<14} {native_cycles:>10.0}", kernel.name);
            continue;
        }
        let mut counts = None;
        let mut seconds = 0.0;
        for _ in 0..arguments.runs.max(1) {
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
            group: kernel.group,
            native_cycles,
            counts,
            instructions_per_second: counts.events.instructions as f64 / seconds,
        };
        if rows.is_empty() {
            report::print_head(arguments.core);
        }
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
