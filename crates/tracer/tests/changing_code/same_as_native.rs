//! Random programs that change their code have the same results traced as natively.

use topdown_tracer::End;

use crate::random::{Others, Program};
use crate::{in_a_process_of_its_own, in_child, traced};

/// Runs natively, then traced.
fn is_the_same_traced(program: &Program, seed: u64) {
    let native = program.prepared(|run| run());
    let (results, end) = program.prepared(|run| traced(run));
    assert_eq!(results, native, "seed {seed}");
    assert_eq!(end, Ok(End::Detach), "seed {seed}");
}

/// Some programs unmap a page and map another in its place, which another test could get.
#[test]
fn self_modifying_programs_match_native() {
    in_a_process_of_its_own(
        "same_as_native::self_modifying_programs_match_native",
        || {
            for seed in 0..100 {
                is_the_same_traced(&Program::random(seed, Others::RunningThreads), seed);
            }
        },
    );
}

/// In processes of one thread, where code of the program itself is trusted between system calls.
#[test]
fn single_thread_programs_match_native() {
    let status = in_child(|| {
        for seed in 0..100 {
            is_the_same_traced(&Program::random(seed, Others::Nobody), seed);
        }
    });
    assert_eq!(status, 0);
}

/// The same beside handlers, after which it is compared.
#[test]
fn programs_with_handlers_match_native() {
    let status = in_child(|| {
        for seed in 0..200 {
            is_the_same_traced(&Program::random(seed, Others::Handlers), seed);
        }
    });
    assert_eq!(status, 0);
}

/// In processes whose other threads wait, where code of the program itself is trusted until the
/// traced thread wakes one.
#[test]
fn programs_waking_threads_match_native() {
    let status = in_child(|| {
        for seed in 0..100 {
            is_the_same_traced(&Program::random(seed, Others::WaitingThreads), seed);
        }
    });
    assert_eq!(status, 0);
}
