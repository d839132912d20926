//! The stream is exact: instruction by instruction and address by address it is what a
//! single-stepping debugger sees.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

#[path = "support/programs.rs"]
mod programs;
#[path = "support/stepper.rs"]
mod stepper;

use programs::PROGRAMS;
use stepper::{Comparison, compare};

/// One test for all, since each forks: with other tests' threads beside it a child could wait for
/// a lock that nobody holds. `TOPDOWN_PROGRAM` selects by a part of the name.
#[test]
fn every_program_is_traced_as_it_is_single_stepped() {
    let wanted = std::env::var("TOPDOWN_PROGRAM").unwrap_or_default();
    let mut failures = 0;
    for (name, program) in PROGRAMS.iter().filter(|(name, _)| name.contains(&wanted)) {
        match compare(*program) {
            Comparison::Equal { instructions } => println!("{name}: {instructions} instructions"),
            Comparison::NotPermitted => {
                println!("skipped: ptrace is not permitted here");
                return;
            }
            Comparison::Different(what) => {
                println!("{name}: DIFFERENT {what}");
                failures += 1;
            }
        }
    }
    assert_eq!(failures, 0);
}
