//! Checks and costs of windows on the counters of this machine.
//!
//! `cargo run --release --example windows -- costs`
//!
//! `tests/emulated-pmus.sh` runs the checks on emulated machines.

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod calls;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod costs;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod moves;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod nested;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod stepping;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod system_calls;

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
fn run(what: &str) -> Result<(), String> {
    match what {
        "costs" => costs::print(),
        "calls" => calls::check(),
        "nested" => nested::check(),
        "moves" => moves::moves(),
        "forbidden" => moves::forbidden(),
        "offline" => moves::offline(),
        _ => Err("usage: windows costs|calls|nested|moves|forbidden|offline".to_owned()),
    }
}

#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
fn run(_: &str) -> Result<(), String> {
    Err("only x86-64 Linux can be single-stepped".to_owned())
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
