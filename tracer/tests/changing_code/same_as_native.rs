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
fn issue_14_5_random_programs_that_change_their_code_are_the_same_traced() {
    in_a_process_of_its_own(
        "same_as_native::issue_14_5_random_programs_that_change_their_code_are_the_same_traced",
        || {
            for seed in 0..100 {
                is_the_same_traced(&Program::random(seed, Others::RunningThreads), seed);
            }
        },
    );
}

/// In processes of one thread, where code of the program itself is trusted between system calls.
#[test]
fn issue_14_5_random_programs_of_one_thread_are_the_same_traced() {
    let status = in_child(|| {
        for seed in 0..100 {
            is_the_same_traced(&Program::random(seed, Others::Nobody), seed);
        }
    });
    assert_eq!(status, 0);
}

/// The same beside handlers, after which it is compared.
#[test]
fn issue_14_5_random_programs_with_handlers_are_the_same_traced() {
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
fn issue_14_5_random_programs_that_wake_threads_are_the_same_traced() {
    let status = in_child(|| {
        for seed in 0..100 {
            is_the_same_traced(&Program::random(seed, Others::WaitingThreads), seed);
        }
    });
    assert_eq!(status, 0);
}
