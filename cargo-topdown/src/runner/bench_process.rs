//! A bench process: how it connects, and how it ends.

use std::io;
use std::net::{TcpListener, TcpStream};
use std::process::Child;
use std::thread;
use std::time::Duration;

use super::interrupt;
use super::launch::{LaunchError, io_error};
use super::peer::{self, Peer};

/// How often a process that has not connected yet is looked at. A criterion bench connects before
/// it measures anything, so this disturbs no measurement.
const LOOK_INTERVAL: Duration = Duration::from_millis(5);

/// Waits until the bench connects; `None` when it ends before it does. There is no time limit:
/// nothing tells a bench that is slow to prepare its data from one that hangs.
///
/// Whoever else connects is hung up on, and nobody can connect afterwards.
pub fn accept(listener: TcpListener, child: &mut Child) -> Result<Option<TcpStream>, LaunchError> {
    let error = |error| io_error("could not accept the bench's connection", error);
    listener.set_nonblocking(true).map_err(error)?;
    loop {
        // In this order: a process that connects and ends at once has connected.
        let ended = child.try_wait().map_err(error)?.is_some();
        match listener.accept() {
            Ok((stream, _)) if peer::of(&stream, child.id()) == Peer::Stranger => continue,
            Ok((stream, _)) => {
                // Not everywhere does a stream forget that its listener would not block.
                stream.set_nonblocking(false).map_err(error)?;
                stream.set_nodelay(true).map_err(error)?;
                return Ok(Some(stream));
            }
            Err(nobody) if nobody.kind() == io::ErrorKind::WouldBlock => {}
            Err(failure) => return Err(error(failure)),
        }
        if ended || interrupt::requested() {
            return Ok(None);
        }
        thread::sleep(LOOK_INTERVAL);
    }
}

/// A bench process, which does not outlive the interest in it.
pub struct Process(pub Child);

impl Drop for Process {
    fn drop(&mut self) {
        // Both fail, or do nothing, where it has been waited for.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
