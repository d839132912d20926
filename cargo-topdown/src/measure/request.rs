//! A request to measure a suite, from the command line.

use std::path::PathBuf;

use topdown_run::run_file::Filter;

use crate::config::Layer;
use topdown_runner::targets::bench_targets::CargoFlags;

/// A command line's request to measure a suite.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// The benchmarks to run; `None` for all.
    pub filter: Option<Filter>,
    /// A filter expression that the benchmarks must match, too.
    pub expression: Option<String>,
    /// Further arguments for criterion, without a filter.
    pub criterion: Vec<String>,
    /// Whether packages or bench targets are named.
    pub names_targets: bool,
    /// The settings.
    pub settings: Layer,
    /// Maximum number of parallel jobs: `--jobs`, as cargo understands it.
    pub jobs: Option<String>,
    /// The flags for cargo.
    pub cargo: CargoFlags,
    /// `--manifest-path`.
    pub manifest_path: Option<PathBuf>,
    /// Whether to print events for programs.
    pub events: bool,
    /// Whether to print results and errors only.
    pub quiet: bool,
    /// Whether to show what benches print.
    pub shows_output: bool,
    /// Whether to stop at the first failure.
    pub fail_fast: bool,
}

impl Request {
    /// Returns the filter as arguments for criterion.
    pub(super) fn filter_arguments(&self) -> Vec<String> {
        let Some(filter) = &self.filter else {
            return Vec::new();
        };
        let exact = filter.exact.then(|| "--exact".to_owned());
        exact
            .into_iter()
            .chain([filter.expression.clone()])
            .collect()
    }
}
