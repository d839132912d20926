//! Runs kernels natively and on the model, and prints the error of the modelled cycles.
//!
//!     cargo run --release -p topdown-model-lab --bin validate -- CORE [FILTER] [OPTIONS]
//!
//! CORE is this machine's core, or any with `--stored`. Native cycles are best-case wall time in
//! units of a chain of dependent additions, timed just before and after each run. Modelled cycles
//! are those that `cargo topdown bench` would print: see [`windows`]. With `--runs N` they are
//! those of the Nth traced run.
//!
//! With `--native FILE`, native cycles of earlier launches are read from the file; missing ones
//! are measured and added, or left out with `--stored`. With `--measure`, all are measured and
//! added, and nothing is modelled. If three or more launches disagree on a kernel, it is printed
//! but excluded from the means.
//!
//! With `--counters`, on a machine with a PMU, it also counts the slots of each kernel, and prints
//! the counted split beside the modelled one.
//!
//! With a FILTER that begins with `ask-`, it runs loops that each ask one question about the core.
//!
//! Loops that are kept back run only with `--kept-back`: do that once per version, when it is done.
//!
//! `--without MECHANISM` switches one of [`mechanisms`] off. `--mechanisms` prints what each of
//! them buys, beside stored native cycles, as tab-separated values; with `--from MECHANISM` the
//! rest of that table.
//!
//! [`mechanisms`]: topdown_model_lab::mechanisms
//!
//! With `--expect DOCUMENT`, it fails unless the document has each row of the summary. The modelled
//! cycles depend on how the kernels are compiled, so they are compared only if the compiler is the
//! one of [`COMPILER`]; the loops are in assembly, and a test compares them whatever it is.

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod arguments;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod changes;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod counters;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod mechanism_table;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod native;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod report;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod windows;

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
fn main() -> std::process::ExitCode {
    match run() {
        Ok(()) => std::process::ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            std::process::ExitCode::FAILURE
        }
    }
}

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
fn run() -> Result<(), Box<dyn std::error::Error>> {
    use topdown_core_model::{Capacity, Model};
    use topdown_model_lab::kernels;
    use topdown_tracer::{Config, Mapping, Tracer};

    let arguments = arguments::Arguments::parse(std::env::args().skip(1))?;
    if arguments.mechanisms {
        native::keep_pages();
        return mechanism_table::print(
            arguments.core,
            &arguments.filter,
            arguments.first_mechanism,
        );
    }
    let mut measurements = native::Measurements::open(arguments.native)?;
    // Before anything takes long: most machines have none.
    let counters = arguments.counters.then(counters::Counters::open);
    let counters = counters.transpose()?;
    let mut splits = Vec::new();
    native::keep_pages();
    let mut rows = Vec::new();
    let kernels = if arguments.filter.starts_with("ask-") {
        kernels::questions()
    } else {
        kernels::validated()
    };
    for kernel in kernels {
        let is_kept_back = kernel.group == kernels::Group::KeptBack;
        let is_left_out = is_kept_back && !arguments.kept_back && !arguments.measure;
        if !kernel.name.contains(&arguments.filter) || is_left_out {
            continue;
        }
        let is_measured = measurements.get(kernel.name).best_cycles().is_some();
        if arguments.stored && !is_measured {
            continue;
        }
        let mut run = (kernel.prepare)();
        // Before anything runs, and in a measuring run too, so that the data lies where a modelling
        // run has it.
        let model = Model::with_mappings(arguments.core, Capacity::default(), Mapping::at);
        if arguments.measure || !is_measured {
            match native::best_case_cycles(&mut run, arguments.calm_time) {
                Some(cycles) => measurements.add(kernel.name, cycles)?,
                None => eprintln!("{}: this core was never alone", kernel.name),
            }
        }
        let mut tracer = Tracer::new(Config::default(), model)?;
        if arguments.measure {
            continue;
        }
        let modelled = windows::modelled(&mut tracer, &mut run, arguments.runs)?;
        if std::env::var_os("EVENTS").is_some() {
            eprintln!("{:#?}", modelled.counts);
        }
        if let Some(counters) = &counters {
            splits.push(counters::Split {
                name: kernel.name,
                counted: counters.split(&mut run),
                modelled: counters::modelled(&modelled.counts),
            });
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
    report::print_summary(arguments.core, &rows);
    if let Some(counters) = &counters {
        counters::print(counters, arguments.core, &splits);
    }
    // Not earlier: where the kernels' data lies, and so whether it must move when it grows, also
    // depends on what else is allocated.
    let expected = arguments.expect.as_deref().map(std::fs::read_to_string);
    match expected.transpose()? {
        Some(_) if compiler() != COMPILER => {
            eprintln!("not compared: the figures are those of {COMPILER}");
            Ok(())
        }
        Some(document) => report::expect(arguments.core, &rows, &document).map_err(Into::into),
        None => Ok(()),
    }
}

/// The compiler of the kernels whose figures are in the documents.
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
const COMPILER: &str = "rustc 1.95.0";

/// Returns the compiler that cargo uses here, or nothing.
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
fn compiler() -> String {
    let output = std::process::Command::new("rustc")
        .arg("--version")
        .output();
    let version = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
    let words = version.unwrap_or_default();
    words.split(' ').take(2).collect::<Vec<_>>().join(" ")
}

#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
fn main() {
    eprintln!("validate runs on x86-64 Linux only");
}

#[cfg(all(test, target_os = "linux", target_arch = "x86_64"))]
mod tests {
    use std::path::Path;

    use topdown_core_model::{Capacity, Model, cores};
    use topdown_model_lab::kernels;
    use topdown_skipped::{Need, skip};
    use topdown_tracer::{Config, Mapping, Tracer};

    use super::*;

    #[test]
    fn loop_error_on_zen_5_is_as_documented() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let native = root.join("native/zen-5.txt");
        let measurements = native::Measurements::open(Some(native)).unwrap();
        let core = cores::by_name("zen-5").unwrap();
        let loops = kernels::all().into_iter();
        let mut rows = Vec::new();
        for kernel in loops.filter(|kernel| kernel.group == kernels::Group::Loop) {
            let model = Model::with_mappings(core, Capacity::default(), Mapping::at);
            let mut tracer = match Tracer::new(Config::default(), model) {
                Ok(tracer) => tracer,
                Err(error) => return skip(Need::Model, error),
            };
            let mut run = (kernel.prepare)();
            rows.push(report::Row {
                name: kernel.name,
                group: kernel.group,
                native: measurements.get(kernel.name),
                modelled: windows::modelled(&mut tracer, &mut run, None).unwrap(),
            });
        }
        let document = std::fs::read_to_string(root.join("../../docs/model.md")).unwrap();
        report::expect(core, &rows, &document).unwrap();
    }

    #[test]
    fn push_strings_ignores_earlier_kernels() {
        const NAME: &str = "tests::push_strings_ignores_earlier_kernels";
        const KERNELS: &str = "VALIDATE_KERNELS";
        const RESULT: &str = "instructions of the last kernel: ";
        // A heap is that of a process, so this test starts itself once for each.
        if let Ok(names) = std::env::var(KERNELS) {
            native::keep_pages();
            let core = cores::by_name("golden-cove").unwrap();
            let mut instructions = 0;
            for name in names.split(' ') {
                let mut kernels = kernels::all().into_iter();
                let kernel = kernels.find(|kernel| kernel.name == name).unwrap();
                let mut run = (kernel.prepare)();
                let model = Model::with_mappings(core, Capacity::default(), Mapping::at);
                let mut tracer = match Tracer::new(Config::default(), model) {
                    Ok(tracer) => tracer,
                    Err(error) => return skip(Need::Model, error),
                };
                let modelled = windows::modelled(&mut tracer, &mut run, Some(4)).unwrap();
                instructions = modelled.counts.events.instructions;
            }
            println!("{RESULT}{instructions}");
            return;
        }
        let instructions = |names: &str| -> Option<u64> {
            let program = std::env::current_exe().unwrap();
            let output = std::process::Command::new(program)
                .args([NAME, "--exact", "--nocapture"])
                // The main heap, whichever thread the test runs on.
                .env("MALLOC_ARENA_MAX", "1")
                .env(KERNELS, names)
                .output()
                .unwrap();
            assert!(output.status.success(), "{output:?}");
            let output = String::from_utf8(output.stdout).unwrap();
            let result = output.lines().find_map(|line| line.split_once(RESULT));
            result.map(|(_, count)| count.parse().unwrap())
        };
        // Nothing if it was skipped.
        let alone = instructions("push-strings");
        assert_eq!(alone, instructions("str-search push-strings"));
    }
}
