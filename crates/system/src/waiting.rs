//! Waits for a process to exit or for something else, whichever comes first.

use std::io;
use std::net::{TcpListener, TcpStream};
use std::process::Child;
use std::time::Duration;

/// The longest wait before the caller gets to check limits. Once a second disturbs no measurement.
pub const LOOK_INTERVAL: Duration = Duration::from_secs(1);

/// What ended a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waited {
    /// The awaited event.
    Ready,
    /// The exit of the process, and nothing before it.
    Ended,
}

pub use system::Ended;

#[cfg(unix)]
mod system {
    use std::os::fd::AsFd;
    #[cfg(target_os = "linux")]
    use std::os::fd::OwnedFd;

    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    use rustix::io::Errno;
    use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};

    use super::*;

    /// The polling interval without a process descriptor.
    const SHORT_LOOK_INTERVAL: Duration = Duration::from_millis(10);

    /// Detects the exit of a process.
    pub struct Ended {
        process: Pid,
        #[cfg(target_os = "linux")]
        descriptor: Option<OwnedFd>,
    }

    impl Ended {
        /// Prepares to wait for `child`.
        pub fn of(child: &Child) -> Ended {
            let process = Pid::from_child(child);
            Ended {
                process,
                #[cfg(target_os = "linux")]
                descriptor: {
                    use rustix::process::{PidfdFlags, pidfd_open};
                    // Since Linux 5.3; sandboxes forbid it.
                    pidfd_open(process, PidfdFlags::empty()).ok()
                },
            }
        }

        /// Waits for the exit; `None` if it does not come within `limit`, or the caller should
        /// check again.
        pub fn wait(&self, limit: Duration) -> io::Result<Option<Waited>> {
            self.or::<TcpStream>(None, limit)
        }

        /// Also waits until there is something to read.
        pub fn or_readable(
            &self,
            stream: &TcpStream,
            limit: Duration,
        ) -> io::Result<Option<Waited>> {
            self.or(Some(stream), limit)
        }

        /// Also waits until a process connects.
        pub fn or_connected(
            &self,
            listener: &TcpListener,
            limit: Duration,
        ) -> io::Result<Option<Waited>> {
            self.or(Some(listener), limit)
        }

        fn or<Fd: AsFd>(&self, other: Option<&Fd>, limit: Duration) -> io::Result<Option<Waited>> {
            let mut files = Vec::with_capacity(2);
            files.extend(other.map(|other| PollFd::new(other, PollFlags::IN)));
            #[cfg(target_os = "linux")]
            let ended = {
                files.extend(
                    self.descriptor
                        .iter()
                        .map(|d| PollFd::new(d, PollFlags::IN)),
                );
                self.descriptor.is_some()
            };
            #[cfg(not(target_os = "linux"))]
            let ended = false;
            let interval = if ended {
                LOOK_INTERVAL
            } else {
                SHORT_LOOK_INTERVAL
            };
            match poll(
                &mut files,
                Timespec::try_from(limit.min(interval)).ok().as_ref(),
            ) {
                Err(Errno::INTR) => return Ok(None),
                other => other?,
            };
            if self.has_ended()? {
                // Check once more for what came before the exit.
                if let Some(other) = other {
                    let mut last = [PollFd::new(other, PollFlags::IN)];
                    if poll(&mut last, Some(&Timespec::default()))? > 0 {
                        return Ok(Some(Waited::Ready));
                    }
                }
                return Ok(Some(Waited::Ended));
            }
            let is_ready = other.is_some() && !files[0].revents().is_empty();
            Ok(is_ready.then_some(Waited::Ready))
        }

        fn has_ended(&self) -> io::Result<bool> {
            let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
            Ok(waitid(WaitId::Pid(self.process), options)?.is_some())
        }
    }
}

#[cfg(not(unix))]
mod system {
    use super::*;

    /// Cannot detect the exit; the caller notices it through the connection.
    pub struct Ended;

    impl Ended {
        pub fn of(_: &Child) -> Ended {
            Ended
        }

        /// The caller waits for the process itself.
        pub fn wait(&self, _: Duration) -> io::Result<Option<Waited>> {
            Ok(Some(Waited::Ended))
        }

        /// Waits until there is something to read.
        pub fn or_readable(
            &self,
            stream: &TcpStream,
            limit: Duration,
        ) -> io::Result<Option<Waited>> {
            stream.set_read_timeout(Some(limit.min(LOOK_INTERVAL)))?;
            match stream.peek(&mut [0]) {
                Err(error) if error.kind() == io::ErrorKind::TimedOut => Ok(None),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
                _ => Ok(Some(Waited::Ready)),
            }
        }

        /// Waits a moment, in which a process may connect.
        pub fn or_connected(&self, _: &TcpListener, _: Duration) -> io::Result<Option<Waited>> {
            std::thread::sleep(Duration::from_millis(5));
            Ok(Some(Waited::Ready))
        }
    }
}
