//! One launch of a command, from its `exec` to its exit, with the counters of all its processes, or
//! with a record of where their code is.
//!
//! Counters must be attached before the command's first instruction and must count nothing else. So
//! this program starts itself (`exec-when-told`), attaches the counters to that process, and tells
//! it to become the command: `exec` keeps the process and enables the counters.
//!
//! The command runs in its own session, which ends with this program. Processes that outlive the
//! command would run beside the next launch, so they are killed.

use std::ffi::OsString;
use std::io;
use std::process::{ExitStatus, Stdio};

use thiserror::Error;
use topdown_counters::CommandSamples;
use topdown_counters::error::OpenError;
use topdown_counters::hardware::commands::TreeCounters;
use topdown_run::sample::{Flags, Sample};

/// Why a launch produced no sample.
#[derive(Debug, Error)]
pub enum CommandError {
    /// The command could not be started.
    #[error("could not start `{command}`: {reason}")]
    NotStarted { command: String, reason: String },
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
        command: String,
        /// How it exited.
        status: ExitStatus,
    },
    /// The counters could not be used, or did not count all the time.
    #[error(transparent)]
    Counters(#[from] OpenError),
    /// The counts are inconsistent.
    #[error(
        "the categories do not add up to the slots ({0}); `--counters exact` avoids PERF_METRICS"
    )]
    Doubtful(Flags),
}

/// A command and how to start it.
pub struct CountedCommand<'a> {
    /// The program and its arguments; not empty.
    pub command: &'a [OsString],
    /// Whether to hide its output.
    pub quiet: bool,
    /// What to record.
    pub recorded: Recorded<'a>,
}

/// Recordings of a command.
#[derive(Clone, Copy, Debug)]
pub enum Recorded<'a> {
    /// Time alone.
    Time,
    /// Time and counts.
    Counts(&'a TreeCounters),
    /// Where its code is, whenever this many cycles have passed.
    Hits(&'a TreeCounters, u64),
}

/// A command that has ended.
pub struct Launched {
    /// How it exited.
    pub status: ExitStatus,
    /// The counts, if any, and the time of the whole launch.
    pub sample: Sample,
    /// Where its slots went, if that was asked for.
    pub hits: Option<CommandSamples>,
    /// The processes that it left behind, which were ended.
    pub outlived: Vec<String>,
}

impl CountedCommand<'_> {
    /// Runs the command once.
    ///
    /// # Errors
    /// Returns an error if it could not be started or counted. A failing command is not an error
    /// here.
    pub fn launch(&self) -> Result<Launched, CommandError> {
        let launched = system::launch(self)?;
        if launched.sample.flags.intersects(Flags::UNUSABLE) {
            Err(CommandError::Doubtful(launched.sample.flags))
        } else {
            Ok(launched)
        }
    }

    /// Returns the program's name, for people.
    pub fn program(&self) -> String {
        self.command[0].to_string_lossy().into_owned()
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
mod system {
    use std::io::{Read, Write};
    use std::os::fd::OwnedFd;
    use std::os::unix::net::UnixStream;
    use std::process::{Child, Command};
    use std::time::Instant;

    use super::*;
    use topdown_system::interrupt;
    use topdown_system::processes;
    use topdown_system::waits;

    /// The command, or the process that waits to become it. Killed on drop, with all that it has
    /// started.
    struct Running {
        child: Child,
        registered: Option<interrupt::Registered>,
    }

    impl Running {
        fn new(child: Child) -> Running {
            Running {
                registered: Some(interrupt::ends(child.id())),
                child,
            }
        }

        fn wait(&mut self) -> io::Result<ExitStatus> {
            let status = self.child.wait();
            // Its number may now belong to another process.
            self.registered = None;
            status
        }

        /// Kills the processes it left behind, and returns their names. This program has no other
        /// children.
        fn end_rest(&self) -> Vec<String> {
            processes::end_and_name(|| {
                if processes::has_children() {
                    processes::below(std::process::id())
                } else {
                    Vec::new()
                }
            })
        }
    }

    impl Drop for Running {
        fn drop(&mut self) {
            self.registered = None;
            // Both fail or do nothing if the process has been reaped.
            let _ = self.child.kill();
            let _ = self.child.wait();
            self.end_rest();
        }
    }

    pub fn launch(what: &CountedCommand<'_>) -> Result<Launched, CommandError> {
        let (mut channel, its_end) = UnixStream::pair().map_err(preparing)?;
        let mut command = Command::new(std::env::current_exe().map_err(preparing)?);
        command
            .args(["exec-when-told", "--parent"])
            .arg(std::process::id().to_string())
            .arg("--")
            .args(what.command)
            .stdin(OwnedFd::from(its_end));
        what.hide_output(&mut command);
        // Makes processes that the command leaves behind children of this program.
        processes::adopt_orphans();
        let mut process = Running::new(command.spawn().map_err(preparing)?);
        channel
            .set_read_timeout(Some(waits::START.limit))
            .map_err(preparing)?;
        // `command` holds a copy of the child's end, which would keep the channel open.
        drop(command);
        // Wait until the child runs: `spawn` may return before the kernel has handled its `exec`.
        // Counters attached now could start at that `exec` instead of the command's.
        channel.read_exact(&mut [0]).map_err(preparing)?;
        let id = process.child.id();
        let (mut counted, mut followed) = (None, None);
        match what.recorded {
            Recorded::Time => {}
            Recorded::Counts(counters) => counted = Some(counters.attach(id)?),
            Recorded::Hits(counters, period) => followed = Some(counters.follow(id, period)?),
        }
        let begun_at = Instant::now();
        channel.write_all(&[GO]).map_err(preparing)?;
        let mut refusal = String::new();
        channel.read_to_string(&mut refusal).map_err(preparing)?;
        if !refusal.is_empty() {
            return Err(what.not_started(refusal));
        }
        let watch = waits::COMMAND.watch(id);
        // Its process must be there until it has been followed to its end.
        let hits = followed.map(|followed| followed.finish()).transpose()?;
        let status = process.wait().map_err(waiting)?;
        let took = begun_at.elapsed();
        watch.end().map_err(waiting)?;
        let sample = match counted {
            Some(counted) => counted.sample(took)?,
            None => Sample::from(took),
        };
        Ok(Launched {
            status,
            sample,
            hits,
            outlived: process.end_rest(),
        })
    }

    fn preparing(error: io::Error) -> CommandError {
        CommandError::Io {
            action: "prepare a process for the command",
            error,
        }
    }
}

/// The byte that `exec-when-told` sends first, and the one that it then waits for.
#[cfg(unix)]
const READY: u8 = b'?';
#[cfg(unix)]
const GO: u8 = b'!';

/// Enters a session that ends with the process `parent`, waits for [`GO`] on standard input, then
/// becomes `command`. If that fails, sends the error on the same channel and returns.
///
/// # Errors
/// Returns an error if the channel closes first.
#[cfg(unix)]
pub fn become_after_go(parent: i32, command: &[OsString]) -> io::Result<()> {
    use std::io::{Read, Write};
    use std::os::fd::AsFd;
    use std::os::unix::net::UnixStream;
    use std::os::unix::process::CommandExt;

    use topdown_system::session;

    // `exec` closes this copy, which signals its success.
    let mut channel = UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?);
    if !session::enter(parent)? {
        return Ok(());
    }
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
pub fn become_after_go(_: i32, _: &[OsString]) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

#[cfg(not(unix))]
mod system {
    use super::*;

    /// Measures by the clock, since there are no counters here.
    pub fn launch(what: &CountedCommand<'_>) -> Result<Launched, CommandError> {
        let mut command = std::process::Command::new(&what.command[0]);
        command.args(&what.command[1..]).stdin(Stdio::null());
        what.hide_output(&mut command);
        let begun_at = std::time::Instant::now();
        let mut child = command.spawn().map_err(|error| what.not_started(error))?;
        let status = child.wait().map_err(waiting)?;
        Ok(Launched {
            status,
            sample: Sample::from(begun_at.elapsed()),
            hits: None,
            outlived: Vec::new(),
        })
    }
}
