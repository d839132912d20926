//! Launches in which a process is forked for each benchmark.

/// Calls `run`, which measures a benchmark, in the process to which the benchmark belongs.
pub(crate) fn benchmark(run: impl FnOnce()) {
    if is_here() {
        run();
        end();
    }
}

/// Returns whether the next benchmark belongs to this process, perhaps a new one.
#[cfg(all(feature = "launches", target_os = "linux", target_arch = "x86_64"))]
fn is_here() -> bool {
    use topdown_model::forks::{Role, before_benchmark};

    before_benchmark() != Role::Parent
}

/// Ends this process if it was forked for the benchmark.
#[cfg(all(feature = "launches", target_os = "linux", target_arch = "x86_64"))]
fn end() {
    topdown_model::forks::end_child();
}

#[cfg(not(all(feature = "launches", target_os = "linux", target_arch = "x86_64")))]
fn is_here() -> bool {
    true
}

#[cfg(not(all(feature = "launches", target_os = "linux", target_arch = "x86_64")))]
fn end() {}
