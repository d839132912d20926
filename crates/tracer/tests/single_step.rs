//! The stream is exact: instruction by instruction and address by address it is what a
//! single-stepping debugger sees.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

#[path = "support/programs/mod.rs"]
mod programs;
#[path = "support/stepper.rs"]
mod stepper;

use std::io::read_to_string;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};

use programs::PROGRAMS;
use stepper::{Comparison, compare, compare_under_signals};
use topdown_skipped::{Need, skip};

/// Those whose system calls a signal does not interrupt, and which last long enough for one.
const UNDER_SIGNALS: [&str; 6] = ["sort", "hash map", "json", "format", "libm", "b-tree"];

/// Set for the process that takes every second program, on another CPU.
const IS_SECOND: &str = "TOPDOWN_SECOND_PROCESS";

/// That process, which ends with this value.
struct Second(Child);

impl Second {
    fn start() -> Second {
        let test = "every_program_matches_single_stepping";
        let process = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", test])
            .env(IS_SECOND, "1")
            .stdout(Stdio::piped())
            .spawn();
        Second(process.unwrap())
    }

    /// Waits until it is done, and returns what it printed and how it ended.
    fn result(mut self) -> (String, ExitStatus) {
        let printed = read_to_string(self.0.stdout.take().unwrap()).unwrap();
        (printed, self.0.wait().unwrap())
    }
}

impl Drop for Second {
    fn drop(&mut self) {
        // One that has ended is not killed.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// One test for all, since each forks: with other tests' threads beside it a child could wait for
/// a lock that nobody holds. `TOPDOWN_PROGRAM` selects by a part of the name.
#[test]
fn every_program_matches_single_stepping() {
    let wanted = std::env::var("TOPDOWN_PROGRAM").unwrap_or_default();
    let is_second = std::env::var_os(IS_SECOND).is_some();
    let second = (!is_second).then(|| {
        let unneeded = Second::start();
        let place = PathBuf::from(format!("/proc/{}", unneeded.0.id()));
        drop(unneeded);
        assert!(
            !place.exists(),
            "the second process outlives the first one's panic"
        );
        Second::start()
    });
    let mut failures = 0;
    let wanted_programs = PROGRAMS.iter().filter(|(name, _)| name.contains(&wanted));
    for (name, program) in wanted_programs.skip(usize::from(is_second)).step_by(2) {
        match compare(*program) {
            Comparison::Equal { instructions, .. } => {
                println!("{name}: {instructions} instructions")
            }
            Comparison::NotPermitted => {
                if let Some(second) = second {
                    second.result();
                    skip(Need::Ptrace, "ptrace is not permitted here");
                }
                return;
            }
            Comparison::Different(what) => {
                println!("{name}: DIFFERENT {what}");
                failures += 1;
            }
        }
    }
    let Some(second) = second else {
        assert_eq!(failures, 0);
        return;
    };
    // Whether a signal comes in time is chance: until a few did.
    let under_signals = PROGRAMS
        .iter()
        .filter(|(name, _)| UNDER_SIGNALS.contains(name) && name.contains(&wanted))
        .cycle();
    let mut taken = 0;
    for (name, program) in under_signals.take(60) {
        match compare_under_signals(*program) {
            Comparison::Equal { signals, .. } => taken += signals,
            other => {
                println!("{name} under signals: {other:?}");
                failures += 1;
            }
        }
        if taken >= 20 {
            break;
        }
    }
    println!("{taken} signals");
    let (printed, status) = second.result();
    println!("{printed}");
    assert!(status.success());
    assert_eq!(failures, 0);
    assert!(taken >= 20 || !wanted.is_empty());
}
