//! A bench in its own session, which ends with this program.
//!
//! A process must set up both for itself before it becomes the bench. So this program starts itself
//! (`start-bench`), and that process becomes the bench.

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::process::{Child, Command};

#[cfg(unix)]
use crate::waits;

const SUBCOMMAND: &str = "start-bench";

/// Starts benches in their own sessions.
#[derive(Clone, Debug)]
pub struct Starter {
    program: PathBuf,
}

impl Starter {
    /// Returns a starter that uses this program; `None` on systems without sessions.
    pub fn for_this_program() -> Option<Starter> {
        let program = cfg!(target_os = "linux")
            .then(std::env::current_exe)?
            .ok()?;
        Some(Starter { program })
    }

    /// Returns a command for [`start`] that becomes `words`. The file `entrance` leads into a
    /// control group.
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

/// Starts `command`, made by a [`Starter`], and waits until it has become the bench.
///
/// # Errors
/// Returns an error if that fails.
#[cfg(unix)]
pub fn start(command: &mut Command) -> io::Result<Child> {
    use std::io::Read;
    use std::os::fd::OwnedFd;
    use std::os::unix::net::UnixStream;
    use std::process::Stdio;

    let (mut channel, its_end) = UnixStream::pair()?;
    command.stdin(OwnedFd::from(its_end));
    let mut child = command.spawn()?;
    // `command` holds a copy of the child's end, which would keep the channel open.
    command.stdin(Stdio::null());
    channel.set_read_timeout(Some(waits::START.limit))?;
    let mut refusal = String::new();
    let error = match channel.read_to_string(&mut refusal) {
        Ok(0) => return Ok(child),
        Ok(_) => io::Error::other(refusal),
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => waits::START.timed_out(),
        Err(error) => error,
    };
    let _ = child.kill();
    let _ = child.wait();
    Err(error)
}

/// This system has no [`Starter`].
///
/// # Errors
/// As starting any process.
#[cfg(not(unix))]
pub fn start(command: &mut Command) -> io::Result<Child> {
    command.spawn()
}

/// Moves this process to its own session, which ends with the process `parent`. Returns `false` if
/// that has exited already.
///
/// # Errors
/// Returns an error if the system refuses.
#[cfg(target_os = "linux")]
pub fn enter(parent: i32) -> io::Result<bool> {
    use rustix::process::{Pid, Signal, getppid, set_parent_process_death_signal, setsid};

    // Fails for a process group leader, which a new process is not.
    let _ = setsid();
    set_parent_process_death_signal(Some(Signal::KILL))?;
    // The parent may have exited before it could take this process with it.
    Ok(getppid().map(Pid::as_raw_pid) == Some(parent))
}

/// On other systems a process cannot be made to end with another one.
///
/// # Errors
/// Never returns an error.
#[cfg(all(unix, not(target_os = "linux")))]
pub fn enter(_: i32) -> io::Result<bool> {
    Ok(true)
}

/// Becomes `words`, which must not be empty, in its own session that ends with the process
/// `parent`. If that fails, sends the error on standard input and returns.
///
/// # Errors
/// Returns an error if the other end is closed.
#[cfg(target_os = "linux")]
pub fn become_bench(
    parent: i32,
    cgroup: Option<&std::path::Path>,
    words: &[OsString],
) -> io::Result<()> {
    use std::io::Write;
    use std::os::fd::AsFd;
    use std::os::unix::net::UnixStream;
    use std::os::unix::process::CommandExt;
    use std::process::Stdio;

    // `exec` closes this copy, which signals its success.
    let mut channel = UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?);
    if !enter(parent)? {
        return Ok(());
    }
    if let Some(entrance) = cgroup {
        // Without it, the session keeps the processes together.
        let _ = std::fs::write(entrance, "0");
    }
    let error = Command::new(&words[0])
        .args(&words[1..])
        .stdin(Stdio::null())
        .exec();
    channel.write_all(error.to_string().as_bytes())
}
