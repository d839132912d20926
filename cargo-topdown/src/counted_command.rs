//! One launch of a command, from its `exec` to its exit, with the counters of all its processes.
//!
//! Counters must be attached before the command's first instruction and must count nothing else. So
//! this program starts itself (`exec-when-told`), attaches the counters to that process, and tells
//! it to become the command: `exec` keeps the process and enables the counters.

use std::ffi::OsString;
use std::io;
use std::process::{ExitStatus, Stdio};

use criterion_topdown::counter::hardware::TreeCounters;
use criterion_topdown::error::OpenError;
use criterion_topdown::sample::{Flags, Sample};
use thiserror::Error;

/// Why a launch produced no sample.
#[derive(Debug, Error)]
pub enum CommandError {
    /// The command could not be started.
    #[error("could not start `{command}`: {reason}")]
    NotStarted {
        /// The program.
        command: String,
        reason: String,
    },
    /// An operation around the command failed.
    #[error("could not {action}: {error}")]
    Io {
        /// The operation that failed.
        action: &'static str,
        error: io::Error,
    },
    /// The command failed. The time of a failure is not the time of the work.
    #[error("`{command}` ended with {status}")]
    Failed {
        /// The program.
        command: String,
        /// How it exited.
        status: ExitStatus,
    },
    /// The counters could not be used, or did not count all the time.
    #[error(transparent)]
    Counters(#[from] OpenError),
    /// The counts are inconsistent.
    #[error(
        "the categories do not add up to the slots ({0}); `--counters exact` does without PERF_METRICS"
    )]
    Doubtful(Flags),
}

/// A command and how to start it.
pub struct CountedCommand<'a> {
    /// The program and its arguments; not empty.
    pub command: &'a [OsString],
    /// Whether to hide its output.
    pub quiet: bool,
    /// The counters; with none, only time is measured.
    pub counters: Option<&'a TreeCounters>,
}

impl CountedCommand<'_> {
    /// Runs the command once, and returns its exit status and sample.
    ///
    /// # Errors
    /// Returns an error if it could not be started or counted. A failing command is not an error
    /// here.
    pub fn launch(&self) -> Result<(ExitStatus, Sample), CommandError> {
        let (status, sample) = match self.counters {
            Some(counters) => counted::launch(self, counters)?,
            None => self.timed()?,
        };
        match sample.flags.intersects(Flags::UNUSABLE) {
            true => Err(CommandError::Doubtful(sample.flags)),
            false => Ok((status, sample)),
        }
    }

    /// Returns the program's name, for people.
    pub fn program(&self) -> String {
        self.command[0].to_string_lossy().into_owned()
    }

    fn timed(&self) -> Result<(ExitStatus, Sample), CommandError> {
        let mut command = std::process::Command::new(&self.command[0]);
        command.args(&self.command[1..]).stdin(Stdio::null());
        self.hide_output(&mut command);
        let begun_at = std::time::Instant::now();
        let mut child = command.spawn().map_err(|error| self.not_started(error))?;
        let status = child.wait().map_err(waiting)?;
        Ok((status, Sample::from(begun_at.elapsed())))
    }

    fn hide_output(&self, command: &mut std::process::Command) {
        if self.quiet {
            command.stdout(Stdio::null()).stderr(Stdio::null());
        }
    }

    fn not_started(&self, reason: impl ToString) -> CommandError {
        CommandError::NotStarted {
            command: self.program(),
            reason: reason.to_string(),
        }
    }
}

fn waiting(error: io::Error) -> CommandError {
    CommandError::Io {
        action: "wait for the command",
        error,
    }
}

#[cfg(unix)]
mod counted {
    use std::io::{Read, Write};
    use std::os::fd::OwnedFd;
    use std::os::unix::net::UnixStream;
    use std::process::{Child, Command};
    use std::time::Instant;

    use super::*;

    /// A process that waits to become the command, killed on drop.
    struct Waiting(Child);

    impl Drop for Waiting {
        fn drop(&mut self) {
            // These fail or do nothing if the process was already reaped.
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }

    pub fn launch(
        what: &CountedCommand<'_>,
        counters: &TreeCounters,
    ) -> Result<(ExitStatus, Sample), CommandError> {
        let (mut channel, its_end) = UnixStream::pair().map_err(preparing)?;
        let mut command = Command::new(std::env::current_exe().map_err(preparing)?);
        command
            .args(["exec-when-told", "--"])
            .args(what.command)
            .stdin(OwnedFd::from(its_end));
        what.hide_output(&mut command);
        let mut process = Waiting(command.spawn().map_err(preparing)?);
        // `command` holds a copy of the child's end, which would keep the channel open.
        drop(command);
        // Wait until the child runs: `spawn` may return before the kernel has handled its `exec`.
        // Counters attached now could start at that `exec` instead of the command's.
        channel.read_exact(&mut [0]).map_err(preparing)?;
        let counted = counters.attach(process.0.id())?;
        let begun_at = Instant::now();
        channel.write_all(&[GO]).map_err(preparing)?;
        let mut refusal = String::new();
        channel.read_to_string(&mut refusal).map_err(preparing)?;
        if !refusal.is_empty() {
            return Err(what.not_started(refusal));
        }
        let status = process.0.wait().map_err(waiting)?;
        let sample = counted.sample(begun_at.elapsed())?;
        Ok((status, sample))
    }

    fn preparing(error: io::Error) -> CommandError {
        CommandError::Io {
            action: "prepare a process for the command",
            error,
        }
    }
}

/// What `exec-when-told` sends first, and what it then waits for.
#[cfg(unix)]
const READY: u8 = b'?';
#[cfg(unix)]
const GO: u8 = b'!';

/// Waits for [`GO`] on standard input, then becomes `command`. If that fails, sends the error on
/// the same channel and returns.
///
/// # Errors
/// Returns an error if the channel closes first.
#[cfg(unix)]
pub fn become_when_told(command: &[OsString]) -> io::Result<()> {
    use std::io::{Read, Write};
    use std::os::fd::AsFd;
    use std::os::unix::net::UnixStream;
    use std::os::unix::process::CommandExt;

    // `exec` closes this copy, which signals its success.
    let mut channel = UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?);
    channel.write_all(&[READY])?;
    channel.read_exact(&mut [0])?;
    let error = std::process::Command::new(&command[0])
        .args(&command[1..])
        .stdin(Stdio::null())
        .exec();
    channel.write_all(error.to_string().as_bytes())
}

/// Other systems have no counters to wait for.
///
/// # Errors
/// Always.
#[cfg(not(unix))]
pub fn become_when_told(_: &[OsString]) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

#[cfg(not(unix))]
mod counted {
    use std::time::Duration;

    use super::*;

    pub fn launch(
        _: &CountedCommand<'_>,
        counters: &TreeCounters,
    ) -> Result<(ExitStatus, Sample), CommandError> {
        Err(match counters.attach(0) {
            Ok(counted) => match counted.sample(Duration::ZERO) {
                Ok(_) => unreachable!("there are no counters here"),
                Err(error) => error.into(),
            },
            Err(error) => error.into(),
        })
    }
}
