//! Other processes on this machine: finds the descendants of a process, and kills processes.
//!
//! Descendants come from `/proc`, so they are only known on Linux.

use std::collections::HashMap;
use std::fs;

use topdown_run::visible::visible;

/// Returns all descendants of `process`.
pub fn below(process: u32) -> Vec<u32> {
    let mut children: HashMap<u32, Vec<u32>> = HashMap::new();
    for id in all() {
        if let Ok(stat) = fs::read_to_string(format!("/proc/{id}/stat"))
            && let Some(parent) = parent_in(&stat)
        {
            children.entry(parent).or_default().push(id);
        }
    }
    let mut found = children.remove(&process).unwrap_or_default();
    let mut next = 0;
    while let Some(process) = found.get(next) {
        found.extend(children.remove(process).unwrap_or_default());
        next += 1;
    }
    found
}

/// Returns whether this program has any children, or `true` if unknown. Far cheaper than listing
/// them.
pub fn has_children() -> bool {
    #[cfg(unix)]
    {
        use rustix::process::{WaitId, WaitIdOptions, waitid};
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        !matches!(waitid(WaitId::All, options), Err(rustix::io::Errno::CHILD))
    }
    #[cfg(not(unix))]
    true
}

/// Returns all visible processes.
pub fn all() -> impl Iterator<Item = u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

/// Returns the threads of `process`, its first one first, even if that has exited.
pub fn threads_of(process: u32) -> Vec<u32> {
    let entries = fs::read_dir(format!("/proc/{process}/task"));
    let entries = entries.into_iter().flatten().flatten();
    let mut threads: Vec<u32> = entries
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .collect();
    threads.sort_unstable_by_key(|thread| (*thread != process, *thread));
    threads
}

/// Returns the environment with which `process` was started, as the system keeps it; empty if it is
/// hidden.
pub fn environment_of(process: u32) -> Vec<u8> {
    // That of the first thread is gone if it has exited before the others.
    let of_threads = threads_of(process).into_iter();
    of_threads
        .filter_map(|thread| fs::read(format!("/proc/{process}/task/{thread}/environ")).ok())
        .find(|environment| !environment.is_empty())
        .unwrap_or_default()
}

/// Parses the parent from the text of `/proc/PID/stat`, where the program's name can contain
/// anything.
fn parent_in(stat: &str) -> Option<u32> {
    let (_, behind_name) = stat.rsplit_once(')')?;
    behind_name.split_whitespace().nth(1)?.parse().ok()
}

/// Returns the state of `process`, see proc_pid_stat(5), or `None` if there is no such process.
fn state_of(process: u32) -> Option<char> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    let (_, behind_name) = stat.rsplit_once(')')?;
    behind_name.trim_start().chars().next()
}

/// Returns whether `process` has exited but has not been reaped. The first thread can exit before
/// the others.
fn is_zombie(process: u32) -> bool {
    let is_alone = || threads_of(process).iter().all(|thread| *thread == process);
    state_of(process).is_none_or(|state| state == 'Z' && is_alone())
}

/// Returns the program's name and process id, for people.
pub fn name_of(process: u32) -> String {
    let name = fs::read_to_string(format!("/proc/{process}/comm")).unwrap_or_default();
    format!("`{}` ({process})", visible(name.trim_end()))
}

/// Kills all processes that `which` returns, repeating until it returns none, since a process may
/// fork while we look.
pub fn end_all(which: impl Fn() -> Vec<u32>) {
    /// Enough for a loaded system to deliver a signal. A process blocked on a device that does not
    /// answer cannot be killed at all.
    const ATTEMPTS: u32 = 200;
    for _ in 0..ATTEMPTS {
        let mut alive = which();
        alive.retain(|process| !is_zombie(*process));
        if alive.is_empty() {
            return;
        }
        for process in alive {
            kill(process);
        }
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
}

/// Kills all processes that `which` returns, and returns their names.
pub fn end_and_name(which: impl Fn() -> Vec<u32>) -> Vec<String> {
    let rest = which();
    let names = rest.iter().map(|process| name_of(*process)).collect();
    end_all(which);
    reap(&rest);
    names
}

/// Kills `process` and all its descendants. Stops them first: a stopped process starts no others,
/// and those that it has started stay below it. Orphans would not be found.
pub fn end_tree(process: u32) {
    #[cfg(unix)]
    stop_tree(process);
    end_all(|| below(process));
    kill(process);
}

/// Stops `process` and all its descendants, or gives up soon.
#[cfg(unix)]
fn stop_tree(process: u32) {
    /// As for [`end_all`]. A process in the kernel may not stop.
    const ATTEMPTS: u32 = 200;
    // One may fork after it was looked for and before it stops, so none was missed only if all had
    // stopped before they were looked for.
    let mut had_stopped = false;
    for _ in 0..ATTEMPTS {
        let mut running = below(process);
        running.push(process);
        running.retain(|process| {
            !is_zombie(*process) && !matches!(state_of(*process), Some('T' | 't' | 'X'))
        });
        if running.is_empty() && had_stopped {
            return;
        }
        had_stopped = running.is_empty();
        for process in running {
            signal(process, rustix::process::Signal::STOP);
        }
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
}

/// Kills `process`.
pub fn kill(process: u32) {
    #[cfg(unix)]
    signal(process, rustix::process::Signal::KILL);
    #[cfg(not(unix))]
    let _ = process;
}

#[cfg(unix)]
fn signal(process: u32, signal: rustix::process::Signal) {
    let process = i32::try_from(process).ok();
    if let Some(process) = process.and_then(rustix::process::Pid::from_raw) {
        // Fails if the process has already exited, which is fine.
        let _ = rustix::process::kill_process(process, signal);
    }
}

/// Makes this process the parent of orphaned descendants from now on.
pub fn adopt_orphans() {
    #[cfg(target_os = "linux")]
    {
        // Before Linux 3.4 orphans go unnoticed.
        let _ = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
    }
}

/// Reaps adopted children that have exited.
pub fn reap(adopted: &[u32]) {
    #[cfg(unix)]
    for process in adopted {
        let process = i32::try_from(*process).ok();
        if let Some(process) = process.and_then(rustix::process::Pid::from_raw) {
            let _ = rustix::process::waitpid(Some(process), rustix::process::WaitOptions::NOHANG);
        }
    }
    #[cfg(not(unix))]
    let _ = adopted;
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use std::io::{BufRead, BufReader};
    use std::process::{Command, Stdio};
    use std::time::Duration;

    #[test]
    fn process_name_may_be_anything() {
        let stat = "7 (a) R 1 (b) S 42 7 7 0 -1";
        assert_eq!(parent_in(stat), Some(42));
        assert_eq!(parent_in("7 (a"), None);
    }

    #[test]
    fn process_is_killed_with_its_descendants() {
        let mut shell = Command::new("sh")
            .args(["-c", "(sleep 600; true) & echo $!; sleep 600; true"])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let stdout = shell.stdout.take().unwrap();
        BufReader::new(stdout).read_line(&mut line).unwrap();
        let child: u32 = line.trim().parse().unwrap();
        assert!(below(shell.id()).contains(&child));
        end_tree(shell.id());
        assert!(!shell.wait().unwrap().success());
        assert!(is_zombie(child) || !all().any(|process| process == child));
    }

    /// The shell below starts others all the time, also while the tree is looked at.
    #[test]
    fn processes_started_meanwhile_are_killed() {
        let mark = format!("MARK_OF_A_TREE={}", std::process::id());
        let (name, value) = mark.split_once('=').unwrap();
        for _ in 0..10 {
            let mut shell = Command::new("sh")
                .args(["-c", "(while :; do sleep 60 & sleep 0.001; done) & wait"])
                .env(name, value)
                .spawn()
                .unwrap();
            std::thread::sleep(Duration::from_millis(20));
            end_tree(shell.id());
            shell.wait().unwrap();
            let is_left = |process: &u32| {
                let environment = fs::read(format!("/proc/{process}/environ"));
                let has_mark = |variable: &[u8]| variable == mark.as_bytes();
                let is_marked =
                    |environment: Vec<u8>| environment.split(|&byte| byte == 0).any(has_mark);
                !is_zombie(*process) && environment.is_ok_and(is_marked)
            };
            // What was killed takes a moment to end on a busy machine.
            let begun_at = std::time::Instant::now();
            let mut left: Vec<u32> = all().filter(is_left).collect();
            while !left.is_empty() && begun_at.elapsed() < Duration::from_secs(5) {
                std::thread::sleep(Duration::from_millis(10));
                left.retain(is_left);
            }
            left.iter().for_each(|process| kill(*process));
            assert!(left.is_empty(), "{left:?}");
        }
    }
}
