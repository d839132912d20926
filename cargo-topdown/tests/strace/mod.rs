//! Commands whose system calls fail, or in which a signal arrives at one of them.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

/// System calls that change a file or a directory.
pub const WRITING_CALLS: &str = "write,pwrite64,writev,rename,renameat,renameat2,link,linkat,\
                                 symlink,symlinkat,unlink,unlinkat,rmdir,mkdir,mkdirat,fsync,\
                                 fdatasync,ftruncate,chmod,fchmod,copy_file_range,sendfile";

/// Returns whether strace is installed. Says so if it is not.
pub fn is_installed() -> bool {
    let is_installed = Command::new("strace").arg("-V").output().is_ok();
    if !is_installed {
        topdown_skipped::skip(topdown_skipped::Need::System, "there is no strace");
    }
    is_installed
}

/// Returns `command` under strace, which follows its child processes.
pub fn traced(command: &Command, options: &[&str]) -> Command {
    let mut traced = Command::new("strace");
    traced.args(["-f", "-qq"]).args(options);
    traced.arg(command.get_program()).args(command.get_args());
    if let Some(directory) = command.get_current_dir() {
        traced.current_dir(directory);
    }
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => traced.env(name, value),
            None => traced.env_remove(name),
        };
    }
    traced
}

/// Returns `command` with a fault at the call of this name and number of each of its threads.
pub fn with_fault(command: &Command, call: &str, fault: &str, number: u32) -> Command {
    let trace = format!("trace={call}");
    let inject = format!("inject={call}:{fault}:when={number}");
    traced(command, &["-o", "/dev/null", "-e", &trace, "-e", &inject])
}

/// Runs `command` and returns its system calls among `wanted`: the thread and the name of each.
pub fn calls(command: &Command, wanted: &str, log: &Path) -> Vec<(String, String)> {
    let trace = format!("trace={wanted}");
    let options = ["-e", &trace, "-o", log.to_str().unwrap()];
    let output = traced(command, &options).output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {error}");
    let log = fs::read_to_string(log).unwrap();
    let call = |line: &str| {
        let (thread, rest) = line.split_once(' ')?;
        let (name, _) = rest.trim_start().split_once('(')?;
        let is_name = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        is_name.then(|| (thread.to_owned(), name.to_owned()))
    };
    log.lines().filter_map(call).collect()
}

/// Returns, for each call, the largest number of times that one thread makes it.
pub fn most(calls: &[(String, String)]) -> BTreeMap<String, u32> {
    let mut by_thread: BTreeMap<&(String, String), u32> = BTreeMap::new();
    for call in calls {
        *by_thread.entry(call).or_default() += 1;
    }
    let mut most: BTreeMap<String, u32> = BTreeMap::new();
    for ((_, call), count) in by_thread {
        let largest = most.entry(call.clone()).or_default();
        *largest = count.max(*largest);
    }
    most
}
