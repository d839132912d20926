//! Every wait of this program for something outside of it, with its limit.
//!
//! What takes longer than five seconds is named on standard error. After the limit it is ended,
//! which is an error. Two waits have limits elsewhere: requests to object stores end after the 30
//! seconds of `object_store`'s defaults, and its retries after 3 minutes; locks of files are never
//! waited for.

use std::io::{self, Write};
use std::process::{Command, Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread;
use std::time::Duration;

use cargo_metadata::{Metadata, MetadataCommand};

use crate::processes;
use topdown_terminal::terminal::message;

/// A wait for a process.
#[derive(Clone, Copy, Debug)]
pub struct Wait {
    /// The process, as people call it.
    what: &'static str,
    /// When it is ended.
    pub limit: Duration,
    /// Whether a long wait is announced: what prints to the terminal itself is not.
    is_silent: bool,
}

const fn silent(what: &'static str, limit: Duration) -> Wait {
    Wait {
        what,
        limit,
        is_silent: true,
    }
}

const fn visible(what: &'static str, limit: Duration) -> Wait {
    Wait {
        what,
        limit,
        is_silent: false,
    }
}

const MINUTE: Duration = Duration::from_secs(60);
const HOUR: Duration = Duration::from_secs(60 * 60);

/// From here on a wait is announced.
const NOTICE_TIME: Duration = Duration::from_secs(5);

// Judgement: each limit is some ten times as long as the longest case that is known, and that of a
// build is the longest job of GitHub's own runners.

/// `cargo bench --no-run`, which shows its progress.
pub const BUILD: Wait = visible("cargo bench --no-run", HOUR.saturating_mul(6));
/// `cargo metadata --no-deps`, which only reads manifests.
pub const METADATA: Wait = silent("cargo metadata", MINUTE.saturating_mul(5));
/// Resolving dependencies, which may download an index and waits for other cargos.
pub const RESOLVE: Wait = silent(
    "cargo, which resolves dependencies",
    MINUTE.saturating_mul(20),
);
/// git in a checkout: submodules and large trees take minutes.
pub const GIT: Wait = silent("git", MINUTE.saturating_mul(30));
/// GitHub's own program, with a network.
pub const GH: Wait = silent("gh", MINUTE.saturating_mul(10));
/// Programs that only print something about themselves.
pub const TOOL: Wait = silent("a tool", MINUTE);
/// A process of this program, until it has become the bench or the command.
pub const START: Wait = silent("a process to start", MINUTE);
/// A command of `cargo topdown exec`, whose output is shown.
pub const COMMAND: Wait = visible("the command", HOUR.saturating_mul(24));
/// A step of `cargo topdown ci`, whose own waits are those of this table.
pub const STEP: Wait = visible("cargo topdown", HOUR.saturating_mul(24));

/// A bench, for its answer to the hello: all that criterion does at that point.
pub const HELLO: Duration = MINUTE;
/// A bench, between two messages of its first launch: enough for one benchmark with its warm-up
/// and data.
pub const BENCH_SILENCE: Duration = MINUTE.saturating_mul(30);
/// A bench that has been silent for so long is named.
pub const BENCH_NOTICE: Duration = MINUTE;
/// A bench's first launch, however much it says.
pub const FIRST_LAUNCH: Duration = HOUR.saturating_mul(6);
/// Later launches may take this many times as long as the first: nothing else distinguishes a
/// benchmark that hangs from one that is slow.
pub const TIMES_FIRST_LAUNCH: u32 = 10;
/// But at least this long, however short the first was: machines stall.
pub const MIN_LAUNCH: Duration = MINUTE;

impl Wait {
    /// Runs `command` to its end, like `Command::output`.
    ///
    /// # Errors
    /// Returns an error if it cannot be started, or exceeds its limit.
    pub fn output(self, command: &mut Command) -> io::Result<Output> {
        self.output_of(command.stdin(Stdio::null()), &[])
    }

    /// As [`output`](Wait::output), with `input`.
    ///
    /// # Errors
    /// Also returns an error if the command succeeds without having got all of its input: what it
    /// did is then only a part. One that fails says why itself.
    pub fn output_for(self, command: &mut Command, input: &[u8]) -> io::Result<Output> {
        self.output_of(command.stdin(Stdio::piped()), input)
    }

    fn output_of(self, command: &mut Command, input: &[u8]) -> io::Result<Output> {
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        let watch = self.watch(child.id());
        let stdin = child.stdin.take();
        // Beside reading, since it may print before it has read everything.
        let (written, output) = thread::scope(|scope| {
            let write = stdin.map(|mut stdin| scope.spawn(move || stdin.write_all(input)));
            let output = child.wait_with_output();
            let written = write.map_or(Ok(()), |write| write.join().expect("writing cannot panic"));
            (written, output)
        });
        watch.end()?;
        let output = output?;
        match written {
            Err(error) if output.status.success() => Err(io::Error::new(
                error.kind(),
                format!("{} did not get all of its input: {error}", self.what),
            )),
            _ => Ok(output),
        }
    }

    /// Watches the process `id` until [`Watch::end`], and ends it with all that it has started when
    /// it exceeds its limit. So whoever waits for it waits no longer.
    pub fn watch(self, id: u32) -> Watch {
        let (over, is_over) = mpsc::channel::<()>();
        let is_overdue = Arc::new(AtomicBool::new(false));
        let overdue = Arc::clone(&is_overdue);
        thread::spawn(move || {
            let ended = |time| is_over.recv_timeout(time) != Err(RecvTimeoutError::Timeout);
            if ended(self.limit.min(NOTICE_TIME)) {
                return;
            }
            if self.is_silent {
                message!(
                    "     Waiting for {} (at most {})",
                    self.what,
                    in_words(self.limit)
                );
            }
            if !ended(self.limit.saturating_sub(NOTICE_TIME)) {
                overdue.store(true, Ordering::Relaxed);
                processes::end_tree(id);
            }
        });
        Watch {
            wait: self,
            is_overdue,
            _over: over,
        }
    }

    /// The error of a wait that exceeded its limit.
    pub fn timed_out(self) -> io::Error {
        let message = format!("{} timed out after {}", self.what, in_words(self.limit));
        io::Error::new(io::ErrorKind::TimedOut, message)
    }
}

/// A process that is watched.
pub struct Watch {
    wait: Wait,
    is_overdue: Arc<AtomicBool>,
    /// Dropped when the wait is over.
    _over: Sender<()>,
}

impl Watch {
    /// Ends the watch.
    ///
    /// # Errors
    /// Returns an error if the process exceeded its limit.
    pub fn end(self) -> io::Result<()> {
        if self.is_overdue.load(Ordering::Relaxed) {
            Err(self.wait.timed_out())
        } else {
            Ok(())
        }
    }
}

/// Runs `cargo metadata`, like `MetadataCommand::exec`.
///
/// # Errors
/// Returns an error if cargo fails, exceeds its limit, or prints something else.
pub fn metadata(command: &MetadataCommand) -> Result<Metadata, cargo_metadata::Error> {
    let output = METADATA.output(&mut command.cargo_command())?;
    if !output.status.success() {
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        return Err(cargo_metadata::Error::CargoMetadata { stderr });
    }
    let text = std::str::from_utf8(&output.stdout)?;
    let json = text.lines().find(|line| line.starts_with('{'));
    MetadataCommand::parse(json.ok_or(cargo_metadata::Error::NoJson)?)
}

/// `30 s`, `5 min` or `6 h`.
pub fn in_words(time: Duration) -> String {
    match time.as_secs() {
        seconds @ 0..120 => format!("{seconds} s"),
        seconds @ 120..7200 => format!("{} min", seconds / 60),
        seconds => format!("{} h", seconds / 3600),
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use std::time::Instant;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn command_output_is_returned() {
        let output = TOOL
            .output(&mut shell("echo out; echo err >&2; exit 3"))
            .unwrap();
        assert_eq!(output.status.code(), Some(3));
        assert_eq!(
            (&*output.stdout, &*output.stderr),
            (&b"out\n"[..], &b"err\n"[..])
        );
    }

    #[test]
    fn success_without_the_whole_input_is_an_error() {
        // More than a pipe holds.
        let long = vec![b'x'; 1 << 20];
        let output = |script| TOOL.output_for(&mut shell(script), &long);
        let error = output("exit 0").unwrap_err().to_string();
        let message = "a tool did not get all of its input: ";
        assert!(error.starts_with(message), "{error}");
        assert_eq!(output("exit 3").unwrap().status.code(), Some(3));
        assert_eq!(output("cat").unwrap().stdout, long);
    }

    #[test]
    fn command_beyond_its_limit_is_killed_with_children() {
        let brief = silent("a sleeping shell", Duration::from_millis(200));
        let begun_at = Instant::now();
        // The child keeps the pipes open.
        let error = brief
            .output(&mut shell("sleep 600 & sleep 600; true"))
            .unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        assert_eq!(error.to_string(), "a sleeping shell timed out after 0 s");
        assert!(begun_at.elapsed() < Duration::from_secs(60));
    }

    #[test]
    fn limits_are_written_in_a_fitting_unit() {
        let words = [60, 1800, 6 * 3600].map(|s| in_words(Duration::from_secs(s)));
        assert_eq!(words, ["60 s", "30 min", "6 h"]);
    }
}
