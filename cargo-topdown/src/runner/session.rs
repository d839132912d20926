//! A bench in a session of its own, which ends when this program does.
//!
//! Both have to be asked for by the process itself, before it becomes the bench. So this program starts
//! itself (`start-bench`), and that process becomes the bench.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};

/// The subcommand.
const SUBCOMMAND: &str = "start-bench";

/// How to start benches in sessions of their own.
#[derive(Clone, Debug)]
pub struct Starter {
    program: PathBuf,
}

impl Starter {
    /// By this program; `None` where there are no sessions.
    pub fn of_this_program() -> Option<Starter> {
        let program = cfg!(target_os = "linux")
            .then(std::env::current_exe)?
            .ok()?;
        Some(Starter { program })
    }

    /// The command that becomes `words`, for [`start`]. It enters a control group by the file `entrance`.
    pub fn command(&self, words: &[OsString], entrance: Option<PathBuf>) -> Command {
        let mut command = Command::new(&self.program);
        command.arg(SUBCOMMAND);
        command.args(["--parent", &std::process::id().to_string()]);
        command.args(
            entrance
                .iter()
                .flat_map(|file| ["--cgroup".as_ref(), file.as_os_str()]),
        );
        command.arg("--").args(words);
        command
    }
}

/// Starts `command`, one of a [`Starter`], and waits until it has become what it is to be.
///
/// # Errors
/// When it cannot.
#[cfg(unix)]
pub fn start(command: &mut Command) -> io::Result<Child> {
    use std::io::Read;
    use std::os::fd::OwnedFd;
    use std::os::unix::net::UnixStream;
    use std::process::Stdio;

    let (mut channel, its_end) = UnixStream::pair()?;
    command.stdin(OwnedFd::from(its_end));
    let mut child = command.spawn()?;
    // Holds this process's copy of the other end, whose closing is to be noticed.
    command.stdin(Stdio::null());
    let mut refusal = String::new();
    channel.read_to_string(&mut refusal)?;
    if refusal.is_empty() {
        return Ok(child);
    }
    let _ = child.wait();
    Err(io::Error::other(refusal))
}

/// There is no [`Starter`] here.
///
/// # Errors
/// As starting any process.
#[cfg(not(unix))]
pub fn start(command: &mut Command) -> io::Result<Child> {
    command.spawn()
}

/// Becomes `words`, not none, in a session of its own that ends with the process `parent`. Returns if that fails,
/// after it has said so on standard input.
///
/// # Errors
/// When nobody listens.
#[cfg(target_os = "linux")]
pub fn become_bench(parent: i32, cgroup: Option<&Path>, words: &[OsString]) -> io::Result<()> {
    use std::io::Write;
    use std::os::fd::AsFd;
    use std::os::unix::net::UnixStream;
    use std::os::unix::process::CommandExt;
    use std::process::Stdio;

    use rustix::process::{Pid, Signal, getppid, set_parent_process_death_signal, setsid};

    // A copy that `exec` closes: that is the sign of its success.
    let mut channel = UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?);
    // It fails for the leader of a group, which a new process is not.
    let _ = setsid();
    set_parent_process_death_signal(Some(Signal::KILL))?;
    if getppid().map(Pid::as_raw_pid) != Some(parent) {
        // It has ended before it could take us along.
        return Ok(());
    }
    if let Some(entrance) = cgroup {
        // Without it the session is what keeps the processes together.
        let _ = std::fs::write(entrance, "0");
    }
    let error = Command::new(&words[0])
        .args(&words[1..])
        .stdin(Stdio::null())
        .exec();
    channel.write_all(error.to_string().as_bytes())
}
