//! Processes beside the test's own: whether they run, and how to wait for them and end them.

use std::fs;
use std::process::{Child, Command};
use std::thread;
use std::time::{Duration, Instant};

/// Waits until `what` returns something.
#[track_caller]
pub fn wait_for<T>(mut what: impl FnMut() -> Option<T>) -> T {
    let begun_at = Instant::now();
    loop {
        if let Some(found) = what() {
            return found;
        }
        assert!(
            begun_at.elapsed() < Duration::from_secs(300),
            "it does not come"
        );
        thread::sleep(Duration::from_millis(10));
    }
}

pub fn is_running(process: &str) -> bool {
    let stat = fs::read_to_string(format!("/proc/{}/stat", process.trim())).unwrap_or_default();
    let behind_name = stat.rsplit_once(") ").map(|(_, rest)| rest);
    behind_name.is_some_and(|rest| !rest.starts_with('Z'))
}

pub fn send(signal: &str, program: &Child) {
    let id = program.id().to_string();
    let sent = Command::new("kill").args([signal, &id]).status();
    assert!(sent.unwrap().success());
}
