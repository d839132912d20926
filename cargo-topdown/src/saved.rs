//! Message about a run that became a baseline.

use std::io::{self, Write};
use std::path::Path;

use topdown_gate::verdict::{named, wild_launches};
use topdown_run::run_file::Run;

use topdown_store::baselines::StoredBaseline;
use topdown_terminal::terminal::message;

/// Lists the launches that comparisons will leave out.
pub fn warn_of_wild_launches(run: &Run) {
    let wild = wild_launches(run);
    if !wild.is_empty() {
        message!(
            "warning: comparisons will leave out launches that differ from the others: {}; the \
             disturbance may have affected more, so measure again before you keep this as a \
             baseline",
            named(&wild)
        );
    }
}

/// Reports where a baseline was saved; used by `bench --save` too.
pub fn report(out: &mut impl Write, stored: &StoredBaseline) -> io::Result<()> {
    let StoredBaseline {
        name, directory, ..
    } = stored;
    writeln!(out, "saved baseline `{name}` in {}", shown(directory))
}

/// Returns a path relative to the current directory if it is inside.
fn shown(path: &Path) -> String {
    let here = std::env::current_dir().unwrap_or_default();
    path.strip_prefix(here)
        .unwrap_or(path)
        .display()
        .to_string()
}
