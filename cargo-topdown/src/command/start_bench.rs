//! `cargo topdown start-bench`: started by `bench` to become a bench in its own session.

use crate::cli::StartBenchArgs;
use crate::error::Error;
use crate::exit::Exit;

/// Becomes the bench.
///
/// # Errors
/// Never. The parent process learns of failures through its channel, or is already gone.
pub fn run(args: &StartBenchArgs) -> Result<Exit, Error> {
    #[cfg(target_os = "linux")]
    let _ =
        topdown_system::session::become_bench(args.parent, args.cgroup.as_deref(), &args.command);
    #[cfg(not(target_os = "linux"))]
    let _ = args;
    Ok(Exit::BenchFailed)
}
