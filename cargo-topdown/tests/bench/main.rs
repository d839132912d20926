//! `cargo topdown bench` from outside: runs the compiled program in the fixture workspace.

#[cfg(unix)]
mod action;
mod against;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod annotate;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod bisect;
#[cfg(unix)]
mod cargo_runner;
mod clock;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod cores;
mod ends;
mod explain;
#[cfg(target_os = "linux")]
mod faults;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod fingerprints;
mod first_iterations;
mod fixture;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod forked;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod functions;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod modelled;
mod noise;
#[cfg(target_os = "linux")]
#[path = "../other_processes/mod.rs"]
mod other_processes;
mod relaunch;
mod run;
#[cfg(target_os = "linux")]
mod sampled;
mod selection;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod self_timed;
mod shard;
mod short_windows;
mod side_by_side;
#[cfg(target_os = "linux")]
#[path = "../strace/mod.rs"]
mod strace;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod surprises;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod threads;
mod trouble;
mod versus;
