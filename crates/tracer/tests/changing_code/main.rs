//! Code that changes, seen by the traced thread or not: the program's result is that of the native
//! run, and the trace is complete or says why it is not.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

#[path = "../support/count.rs"]
mod count;

mod handlers;
mod other_thread;
mod own_thread;
mod page;
mod plugins;
mod program;
mod random;
mod same_as_native;
mod unseen_ways;

use std::process::Command;
use std::sync::{PoisonError, RwLock};

use topdown_tracer::{End, TraceError, Tracer};

use self::count::{Count, tracer};

/// Held for reading while a test traces, and for writing while another one forks: the child would
/// inherit a trace in progress whose thread it does not have.
static TRACES: RwLock<()> = RwLock::new(());

fn traced<T>(work: impl FnOnce() -> T) -> (T, Result<End, TraceError>) {
    traced_by(&tracer(), work)
}

fn traced_by<T>(tracer: &Tracer<Count>, work: impl FnOnce() -> T) -> (T, Result<End, TraceError>) {
    let _in_progress = TRACES.read().unwrap_or_else(PoisonError::into_inner);
    tracer.trace(work)
}

/// Runs `test`, by its path in this program, again, alone in a process: what other tests have
/// loaded, and that they have threads and handlers, decides what is trusted.
fn in_a_process_of_its_own(test: &str, body: impl FnOnce()) {
    const ALONE: &str = "TOPDOWN_TEST_ALONE";
    if std::env::var_os(ALONE).is_some() {
        return body();
    }
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture"])
        .env(ALONE, "1")
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}: {text}", output.status);
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(said.contains("1 passed"), "not the path of a test: {test}");
}

/// How a forked child ends that runs `body`.
fn in_child(body: impl FnOnce()) -> i32 {
    let nobody_traces = TRACES.write().unwrap_or_else(PoisonError::into_inner);
    // SAFETY: the child runs `body` on its only thread and ends.
    let process = unsafe { libc::fork() };
    drop(nobody_traces);
    if process == 0 {
        let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(body));
        if let Err(panic) = &result {
            // The harness captures what the child prints, so it would be lost.
            let text = panic.downcast_ref::<String>().map_or("", String::as_str);
            // SAFETY: writes the text to standard error.
            unsafe { libc::write(2, text.as_ptr().cast(), text.len()) };
        }
        // SAFETY: ends the child.
        unsafe { libc::_exit(i32::from(result.is_err())) };
    }
    let mut status = 0;
    // SAFETY: `status` is writable.
    unsafe { libc::waitpid(process, &mut status, 0) };
    status
}
