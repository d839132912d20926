//! Origin of a run: its machine, build and commit, which its table does not show.

use std::io::{self, Write};

use topdown_run::run_file::Run;
use topdown_terminal::count_of;

use super::style::Look;
use super::table::Table;

/// Writes the run's machine, build and commit, one fact per line, and the number of runs in its
/// history; 0 if it is not a baseline.
///
/// # Errors
/// Returns an error if writing to `out` fails.
pub fn write_run_origin(
    out: &mut impl Write,
    run: &Run,
    kept_runs: usize,
    look: Look,
) -> io::Result<()> {
    let machine = &run.machine;
    let build = &run.build;
    let mut system = vec![format!("{} CPUs", machine.cpus)];
    for (name, value) in [
        ("host", &machine.host),
        ("kernel", &machine.kernel),
        ("microcode", &machine.microcode),
        ("governor", &machine.governor),
    ] {
        system.extend(value.as_ref().map(|value| format!("{name} {value}")));
    }
    let mut built = format!("{}, profile {}", build.rustc, build.profile);
    if !build.rustflags.is_empty() {
        built += &format!(", RUSTFLAGS {}", build.rustflags);
    }
    let commit = match (&build.git_commit, build.git_dirty) {
        (None, _) => String::new(),
        (Some(commit), Some(true)) => format!("{commit}, with uncommitted changes"),
        (Some(commit), _) => commit.clone(),
    };
    let history = match kept_runs {
        0 => String::new(),
        kept => count_of(kept, "run"),
    };
    let facts = [
        ("run", format!("{} ({})", run.id, run.started_at)),
        ("key", machine.key()),
        ("system", system.join(", ")),
        ("build", built),
        ("commit", commit),
        ("history", history),
    ];
    Table::facts(facts).write(out, look)
}
