//! Runs kernels natively and on the model, and prints the error of the modelled cycles.
//!
//!     cargo run --release -p topdown-core-model --example validate -- CORE [FILTER] [OPTIONS]
//!
//! CORE is this machine's core. Native cycles are best-case wall time in units of a chain of
//! dependent additions, timed just before and after each run. Modelled cycles are those that
//! `cargo topdown bench` would print: see [`windows`]. With `--runs N` they are those of the Nth
//! traced run.
//!
//! With `--native FILE`, native cycles of earlier launches are read from the file; missing ones are
//! measured and added. With `--measure`, all are measured and added, and nothing is modelled. If
//! three or more launches disagree on a kernel, it is printed but excluded from the means.
//!
//! `--without-fresh` leaves out the kernels that should run on the model last.

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod arguments;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod kernels;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod native;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod report;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod windows;

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    use topdown_core_model::{Capacity, Model};
    use topdown_tracer::{Config, Mapping, Tracer};

    let arguments = arguments::Arguments::parse(std::env::args().skip(1))?;
    let mut measurements = native::Measurements::open(arguments.native)?;
    native::keep_pages();
    let mut rows = Vec::new();
    for kernel in kernels::all() {
        let is_left_out = kernel.group == kernels::Group::Fresh && !arguments.fresh;
        if !kernel.name.contains(&arguments.filter) || is_left_out {
            continue;
        }
        let mut run = (kernel.prepare)();
        if arguments.measure || measurements.get(kernel.name).best_cycles().is_none() {
            match native::best_case_cycles(&mut run) {
                Some(cycles) => measurements.add(kernel.name, cycles)?,
                None => eprintln!("{}: this core was never alone", kernel.name),
            }
        }
        // A measuring run also creates the model, so that its data lies where a modelling run has
        // it.
        let model = Model::with_mappings(arguments.core, Capacity::default(), Mapping::at);
        let mut tracer = Tracer::new(Config::default(), model)?;
        if arguments.measure {
            continue;
        }
        let modelled = windows::modelled(&mut tracer, &mut run, arguments.runs)?;
        if std::env::var_os("EVENTS").is_some() {
            eprintln!("{:#?}", modelled.counts);
        }
        let row = report::Row {
            name: kernel.name,
            group: kernel.group,
            native: measurements.get(kernel.name),
            modelled,
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
