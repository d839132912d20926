//! Table of the mechanisms of a core: the errors that grow when each is switched off.
//!
//! Kernels are recorded once and replayed on each variant of a core; a variant's row is printed
//! when it is done. Samples are shorter than those of `cargo topdown bench`: only their differences
//! matter.

use std::path::Path;

use topdown_core_model::{Capacity, CoreParameters, Counts, Model};
use topdown_model_lab::kernels::{self, Group, Kernel};
use topdown_model_lab::mechanisms::{self, Mechanism};
use topdown_model_lab::recording::Recording;
use topdown_tracer::Mapping;

use crate::changes;
use crate::native::{Launches, Measurements};
use crate::report::{self, Row};
use crate::windows::{Modelled, cost_instructions};

/// The cores with their native cycles, in `native/`.
const NATIVE: &[(&str, &str)] = &[
    ("golden-cove", "golden-cove.txt"),
    ("golden-cove", "redwood-cove.txt"),
    ("zen-4", "zen-4.txt"),
    ("zen-5", "zen-5.txt"),
];

/// Instructions of a replay, at least; those that are slow to model count for more.
const MIN_REPLAY_INSTRUCTIONS: u64 = 150_000;
/// Replays go on until so many instructions ran, or for so many replays.
const ENOUGH_INSTRUCTIONS: u64 = 1_000_000;
const MAX_REPLAYS: u64 = 6;

/// A kernel, recorded.
struct Recorded {
    kernel: Kernel,
    native: Launches,
    recording: Recording,
    /// Number of times that the recording runs the kernel.
    iterations: u64,
    /// Number of times that it is replayed; the last one counts.
    replays: u64,
}

/// Errors of a variant, beside one of the files of native cycles.
struct Errors {
    kernels_percent: f64,
    loops_percent: f64,
    near_loops: usize,
    changes: Option<changes::Tally>,
}

/// Runs everything on variants of a core and prints the table as tab-separated values: all of it,
/// or from the mechanism `first` on.
pub fn print(
    core: &'static CoreParameters,
    filter: &str,
    first: Option<&Mechanism>,
) -> Result<(), Box<dyn std::error::Error>> {
    let is_left_out = |mechanism: &&Mechanism| Some(mechanism.name) != first.map(|it| it.name);
    let skipped = first.map_or(0, |_| {
        mechanisms::ALL.iter().take_while(is_left_out).count()
    });
    println!("core\tnative\twithout\tkernels %\tloops %\tloops within 20 %\tsigns\tsizes");
    for &(_, file) in NATIVE.iter().filter(|(name, _)| *name == core.name) {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("native");
        let measurements = Measurements::open(Some(folder.join(file)))?;
        let recorded = record(core, &measurements, filter)?;
        let whole = errors(&run(&recorded, core));
        if first.is_none() {
            print_line(core, file, None, &whole, &whole);
        }
        for mechanism in &mechanisms::ALL[skipped..] {
            if let Some(simpler) = mechanisms::without(core, mechanism) {
                let errors = errors(&run(&recorded, simpler));
                print_line(core, file, Some(mechanism.name), &errors, &whole);
            }
        }
    }
    Ok(())
}

/// Records all kernels that may be looked at and whose native cycles recur.
fn record(
    core: &'static CoreParameters,
    measurements: &Measurements,
    filter: &str,
) -> Result<Vec<Recorded>, Box<dyn std::error::Error>> {
    let is_open = |kernel: &Kernel| kernel.group != Group::KeptBack && kernel.name.contains(filter);
    let mut recorded = Vec::new();
    for kernel in kernels::validated().into_iter().filter(is_open) {
        let native = measurements.get(kernel.name);
        if native.are_repeatable() != Some(true) {
            continue;
        }
        let mut run = (kernel.prepare)();
        let mut iterations = 1;
        let mut recording = Recording::new(&mut run)?;
        let cost = cost_instructions(&replay(&recording, core, 1)).max(1);
        if cost < MIN_REPLAY_INSTRUCTIONS {
            iterations = MIN_REPLAY_INSTRUCTIONS.div_ceil(cost);
            recording = Recording::new(&mut || (0..iterations).for_each(|_| run()))?;
        }
        if recording.is_cut_off() {
            eprintln!("{}: too long to be recorded", kernel.name);
            continue;
        }
        recorded.push(Recorded {
            kernel,
            native,
            recording,
            iterations,
            replays: ENOUGH_INSTRUCTIONS
                .div_ceil(cost * iterations)
                .clamp(2, MAX_REPLAYS),
        });
    }
    Ok(recorded)
}

/// Replays a recording so often, and returns what the last time cost.
fn replay(recording: &Recording, core: &'static CoreParameters, replays: u64) -> Counts {
    let mut model = Model::with_mappings(core, Capacity::default(), Mapping::at);
    recording.translate(&mut model);
    let mut before = model.counts();
    for _ in 0..replays {
        before = model.counts();
        recording.replay(&mut model);
        model.drain();
    }
    model.counts() - before
}

fn run(recorded: &[Recorded], core: &'static CoreParameters) -> Vec<Row> {
    let row = |recorded: &Recorded| Row {
        name: recorded.kernel.name,
        group: recorded.kernel.group,
        native: recorded.native.clone(),
        modelled: Modelled {
            counts: replay(&recorded.recording, core, recorded.replays),
            iterations: recorded.iterations,
            instructions_per_second: f64::NAN,
        },
    };
    recorded.iter().map(row).collect()
}

fn errors(rows: &[Row]) -> Errors {
    let is_loop = |row: &&Row| matches!(row.group, Group::Loop | Group::Pattern);
    let loops: Vec<&Row> = rows.iter().filter(is_loop).collect();
    let is_kernel = |row: &&Row| !is_loop(row) && row.group != Group::Change;
    let kernels: Vec<&Row> = rows.iter().filter(is_kernel).collect();
    Errors {
        kernels_percent: 100.0 * report::mean_error(&kernels),
        loops_percent: 100.0 * report::mean_error(&loops),
        near_loops: report::count_near(&loops),
        changes: changes::tally(rows),
    }
}

/// Prints the errors of the whole core, or how they change without a mechanism.
fn print_line(
    core: &CoreParameters,
    file: &str,
    without: Option<&str>,
    errors: &Errors,
    whole: &Errors,
) {
    let [kernels, loops] = match without {
        None => [errors.kernels_percent, errors.loops_percent].map(|value| format!("{value:.2}")),
        Some(_) => [
            errors.kernels_percent - whole.kernels_percent,
            errors.loops_percent - whole.loops_percent,
        ]
        .map(|change| format!("{change:+.2}")),
    };
    let [signs, sizes] = match &errors.changes {
        Some(tally) => [tally.right_signs, tally.right_sizes].map(|count| count.to_string()),
        None => Default::default(),
    };
    println!(
        "{} {}\t{file}\t{}\t{kernels}\t{loops}\t{}\t{signs}\t{sizes}",
        core.name,
        core.version,
        without.unwrap_or("nothing"),
        errors.near_loops,
    );
}
