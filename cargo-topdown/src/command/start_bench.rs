//! `cargo topdown start-bench`: what `bench` starts to become a bench in a session of its own.

use crate::cli::StartBenchArgs;
use crate::error::Error;
use crate::exit::Exit;
use crate::runner::session;

/// Becomes the bench.
///
/// # Errors
/// None: who started it reads of a failure, or has gone and would read of none.
pub fn run(args: &StartBenchArgs) -> Result<Exit, Error> {
    #[cfg(target_os = "linux")]
    let _ = session::become_bench(args.parent, args.cgroup.as_deref(), &args.command);
    #[cfg(not(target_os = "linux"))]
    let _ = args;
    Ok(Exit::BenchFailed)
}
