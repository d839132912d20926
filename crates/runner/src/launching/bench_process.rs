//! A bench process: how it connects, its limits, and how it ends with everything it started.

use std::cell::Cell;
use std::fs::File;
use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, ExitStatus};
use std::time::{Duration, Instant};

use crate::launching::launch_error::LaunchError;
use crate::launching::peer::{self, Peer};
use crate::launching::time_limits::TimeLimits;
use topdown_system::cgroup::Cgroup;
use topdown_system::interrupt;
use topdown_system::processes;
use topdown_system::scratch;
use topdown_system::waiting::{Ended, LOOK_INTERVAL, Waited};
use topdown_system::waits::{self, in_words};
use topdown_terminal::terminal::message;

/// Maximum output that is kept of one launch.
pub const MAX_OUTPUT_BYTES: u64 = 64 << 20;

/// Which processes belong to a bench in addition to those in its control group.
#[derive(Debug)]
pub enum Descendants {
    /// Those below it while it runs; orphans get another parent.
    Below,
    /// All below this program, which becomes the parent of orphans.
    All,
    /// Those below this program that inherited the environment of the launch with this scratch
    /// directory: others belong to launches beside it.
    Heirs(PathBuf),
}

/// A bench process, killed on drop together with everything it started.
pub struct BenchProcess {
    /// Its target.
    name: String,
    child: Child,
    ended: Ended,
    /// Its output.
    output: File,
    /// The control group of its own for it and what it starts, if there is one.
    cgroup: Option<Cgroup>,
    descendants: Descendants,
    registered: Option<interrupt::Registered>,
    limits: TimeLimits,
    begun_at: Instant,
    spoke_at: Cell<Instant>,
    looked_at: Cell<Instant>,
    hello_is_over: Cell<bool>,
    is_overdue: Cell<bool>,
    is_named: Cell<bool>,
}

impl BenchProcess {
    /// Takes over `child`, the bench target `name`, which prints to `output`.
    pub fn new(
        name: String,
        child: Child,
        output: File,
        descendants: Descendants,
        cgroup: Option<Cgroup>,
        limits: TimeLimits,
    ) -> BenchProcess {
        let now = Instant::now();
        BenchProcess {
            name,
            ended: Ended::of(&child),
            registered: Some(interrupt::ends(child.id())),
            child,
            output,
            cgroup,
            descendants,
            limits,
            begun_at: now,
            spoke_at: Cell::new(now),
            looked_at: Cell::new(now),
            hello_is_over: Cell::new(true),
            is_overdue: Cell::new(false),
            is_named: Cell::new(false),
        }
    }

    /// Waits until the bench connects. Returns `None` if it ends first, takes too long, or the user
    /// interrupts.
    ///
    /// Hangs up on other processes that connect, and stops listening afterwards.
    pub fn accept(&mut self, listener: TcpListener) -> Result<Option<TcpStream>, LaunchError> {
        let error = |error| LaunchError::io("could not accept the bench's connection", error);
        listener.set_nonblocking(true).map_err(error)?;
        while !interrupt::requested() {
            // In this order: a process that connects and exits at once has connected.
            let has_ended = cfg!(not(unix)) && self.child.try_wait().map_err(error)?.is_some();
            let waited = self.wait_for(|ended, limit| ended.or_connected(&listener, limit));
            let streams = connections(&listener).map_err(error)?;
            if let Some(stream) = self.own_among(streams) {
                // On some systems the stream inherits the listener's non-blocking mode.
                stream.set_nonblocking(false).map_err(error)?;
                stream.set_nodelay(true).map_err(error)?;
                // A bench that reads nothing must not stop this program.
                stream
                    .set_write_timeout(Some(waits::HELLO))
                    .map_err(error)?;
                self.spoke_at.set(Instant::now());
                return Ok(Some(stream));
            }
            match waited {
                Ok(Waited::Ready) if !has_ended => {}
                Ok(_) => return Ok(None),
                Err(overdue) if overdue.kind() == io::ErrorKind::TimedOut => return Ok(None),
                Err(failure) => return Err(error(failure)),
            }
        }
        Ok(None)
    }

    /// Returns the stream that the bench holds the other end of. Hangs up on the others.
    fn own_among(&self, streams: Vec<TcpStream>) -> Option<TcpStream> {
        if streams.is_empty() {
            return None;
        }
        let peers = peer::of_all(&streams, self.child.id());
        let mut known = streams.into_iter().zip(peers);
        known
            .find(|(_, peer)| *peer != Peer::Stranger)
            .map(|(stream, _)| stream)
    }

    /// Returns what the bench sends through `stream`, until it exits.
    pub fn words(&self, stream: TcpStream) -> BenchStream<'_> {
        self.hello_is_over.set(false);
        BenchStream {
            stream,
            process: self,
        }
    }

    /// Notes the end of the hellos; what follows may take longer.
    pub fn greeted(&self) {
        self.hello_is_over.set(true);
    }

    /// Returns whether the bench exceeded its time.
    pub fn is_overdue(&self) -> bool {
        self.is_overdue.get()
    }

    /// Waits for the exit and returns the status; `None` if it takes too long.
    pub fn wait(&mut self) -> io::Result<Option<ExitStatus>> {
        match self.wait_for(|ended, limit| ended.wait(limit)) {
            Err(overdue) if overdue.kind() == io::ErrorKind::TimedOut => return Ok(None),
            waited => waited?,
        };
        // Another process may get its id.
        self.registered = None;
        self.child.wait().map(Some)
    }

    /// Kills the processes that the bench left behind, and returns their names.
    pub fn end_rest(&mut self) -> Vec<String> {
        processes::end_and_name(|| self.rest())
    }

    fn rest(&self) -> Vec<u32> {
        let is_parent = !matches!(self.descendants, Descendants::Below);
        // The bench was a child, and orphans become children.
        if is_parent && !processes::has_children() {
            return Vec::new();
        }
        let mut rest = match &self.descendants {
            Descendants::Below => processes::below(self.child.id()),
            Descendants::All => processes::below(std::process::id()),
            Descendants::Heirs(scratch) => {
                scratch::inheritors_among(processes::below(std::process::id()), scratch)
            }
        };
        rest.extend(self.cgroup.iter().flat_map(Cgroup::processes));
        rest.sort_unstable();
        rest.dedup();
        rest.retain(|process| *process != self.child.id());
        rest
    }

    /// Calls `wait` with the time left, repeatedly, and enforces the bench's limits in between.
    fn wait_for(
        &self,
        wait: impl Fn(&Ended, Duration) -> io::Result<Option<Waited>>,
    ) -> io::Result<Waited> {
        loop {
            let waited = wait(&self.ended, self.time_left()?)?;
            self.limit_output()?;
            if let Some(waited) = waited {
                return Ok(waited);
            }
        }
    }

    /// Prints once what a long wait is for, and when it ends.
    fn name_if_silent(&self, end: Instant) {
        let silence = self.spoke_at.get().elapsed();
        if silence >= waits::BENCH_NOTICE && !self.is_named.replace(true) {
            message!(
                "     Waiting for `{}`, silent for {} (at most {} more)",
                self.name,
                in_words(silence),
                in_words(end.saturating_duration_since(Instant::now()))
            );
        }
    }

    /// Enforces the limits while something else is done than waiting for the bench.
    pub fn check_limits(&self) -> io::Result<()> {
        self.time_left()?;
        self.limit_output()
    }

    /// Returns when the bench will have exceeded its time.
    fn end(&self) -> Instant {
        if self.hello_is_over.get() {
            self.limits.end(self.begun_at, self.spoke_at.get())
        } else {
            self.spoke_at.get() + waits::HELLO
        }
    }

    /// Returns how long the bench may still take, or an error if it has exceeded its time.
    fn time_left(&self) -> io::Result<Duration> {
        let left = self.end().saturating_duration_since(Instant::now());
        if left.is_zero() {
            self.is_overdue.set(true);
            return Err(io::ErrorKind::TimedOut.into());
        }
        Ok(left)
    }

    /// Looks at the output from time to time.
    fn limit_output(&self) -> io::Result<()> {
        if self.looked_at.get().elapsed() >= LOOK_INTERVAL {
            self.looked_at.set(Instant::now());
            self.shorten_output()?;
            self.name_if_silent(self.end());
        }
        Ok(())
    }

    /// Truncates the output if it is too long.
    fn shorten_output(&self) -> io::Result<()> {
        let printed = self.output.metadata()?.len();
        if printed > MAX_OUTPUT_BYTES {
            self.output.set_len(0)?;
            writeln!(
                &self.output,
                "[cargo topdown dropped {} MiB of earlier output]",
                printed >> 20
            )?;
        }
        Ok(())
    }
}

/// Accepts the connections that wait, but not all of a flood: each holds a file open.
fn connections(listener: &TcpListener) -> io::Result<Vec<TcpStream>> {
    const MAX_BATCH: usize = 128;
    let mut streams = Vec::new();
    while streams.len() < MAX_BATCH {
        match listener.accept() {
            Ok((stream, _)) => streams.push(stream),
            Err(nobody) if nobody.kind() == io::ErrorKind::WouldBlock => break,
            // It has hung up already.
            Err(gone) if gone.kind() == io::ErrorKind::ConnectionAborted => {}
            Err(failure) => return Err(failure),
        }
    }
    Ok(streams)
}

impl Drop for BenchProcess {
    fn drop(&mut self) {
        self.registered = None;
        // Fails if the process was already reaped, or belongs to another user, as after `sudo`.
        // Then there is nothing to wait for.
        if self.child.kill().is_ok() {
            let _ = self.child.wait();
        }
        self.end_rest();
    }
}

/// The bench's end of a connection. It ends with the bench, even if a process that the bench
/// started keeps the connection open.
pub struct BenchStream<'a> {
    stream: TcpStream,
    process: &'a BenchProcess,
}

impl Read for BenchStream<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let process = self.process;
        match process.wait_for(|ended, limit| ended.or_readable(&self.stream, limit))? {
            Waited::Ready => {
                process.spoke_at.set(Instant::now());
                let filled = self.stream.read(buffer)?;
                acknowledge(&self.stream);
                Ok(filled)
            }
            Waited::Ended => Ok(0),
        }
    }
}

/// Acknowledges the bench's messages at once.
///
/// criterion writes the length of a message and the message apart, and the system holds back the
/// second until the first is acknowledged. An acknowledgement waits up to 40 ms for data to go
/// with it, and so would each group of benchmarks that a bench only names.
#[cfg(target_os = "linux")]
fn acknowledge(stream: &TcpStream) {
    use std::os::linux::net::TcpStreamExt;
    // The system may end this mode at any time. Where a sandbox refuses it, launches are slower.
    let _ = stream.set_quickack(true);
}

#[cfg(not(target_os = "linux"))]
fn acknowledge(_: &TcpStream) {}

impl Write for BenchStream<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.stream.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}
