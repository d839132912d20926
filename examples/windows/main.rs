//! Checks and costs of windows on the counters of this machine.
//!
//! `cargo run --release --example windows -- costs`
//!
//! `tests/emulated-pmus.sh` runs the checks on emulated machines.

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod calls;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod costs;
#[cfg(target_os = "linux")]
mod empty;
#[cfg(target_os = "linux")]
mod first_iteration;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod moves;
#[cfg(target_os = "linux")]
mod nested;
#[cfg(target_os = "linux")]
mod refused;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod stepping;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod system_calls;

/// Only x86-64 can be single-stepped by user code.
fn run(what: &str) -> Result<(), String> {
    match what {
        #[cfg(target_os = "linux")]
        "first-iteration" => first_iteration::check(),
        #[cfg(target_os = "linux")]
        "nested" => nested::check(),
        #[cfg(target_os = "linux")]
        "refused" => refused::check(),
        #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
        "costs" => costs::print(),
        #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
        "calls" => calls::check(),
        #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
        "moves" => moves::moves(),
        #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
        "forbidden" => moves::forbidden(),
        #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
        "offline" => moves::offline(),
        _ => Err(
            "usage: windows costs|calls|first-iteration|nested|moves|forbidden|offline|refused"
                .to_owned(),
        ),
    }
}

fn main() -> std::process::ExitCode {
    let what = std::env::args().nth(1).unwrap_or_default();
    match run(&what) {
        Ok(()) => std::process::ExitCode::SUCCESS,
        Err(problem) => {
            eprintln!("error: {problem}");
            std::process::ExitCode::FAILURE
        }
    }
}
