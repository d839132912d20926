//! Warns about environment variables set for benches that do not inherit them.

use std::collections::BTreeMap;

use topdown_runner::targets::bench_targets::BenchTarget;
use topdown_runner::targets::environment;
use topdown_terminal::terminal::message;

/// Lists the set variables that benches do not inherit but may be expecting.
pub fn warn(targets: &[BenchTarget]) {
    let mut missed: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for target in targets {
        // A target that cannot be read will fail when launched.
        for name in environment::missed(target, std::env::vars_os()).unwrap_or_default() {
            missed.entry(name).or_default().push(target.to_string());
        }
    }
    for (name, targets) in missed {
        message!(
            "note: `{}` mentions the environment variable `{name}`, which benches do not inherit; \
             to pass it on: `--keep-env {name}`, or `keep-env` in the settings",
            targets.join("`, `")
        );
    }
}
