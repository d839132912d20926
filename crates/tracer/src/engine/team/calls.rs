//! System calls of threads that take turns: none of them waits in the kernel while another thread
//! could run.

use std::sync::atomic::{AtomicU16, Ordering};

use super::Team;
use super::futex::Futex;
use super::wait::{Readiness, Wait, after_ns, duration_at, is_ready, on_monotonic_clock};
use crate::kernel;

/// The port of the connections at which a thread waits in its turn; 0 for none.
static HELD_PORT: AtomicU16 = AtomicU16::new(0);

/// From now on, a thread waits in its turn at connections to this port.
pub(in super::super) fn hold_at_port(port: u16) {
    HELD_PORT.store(port, Ordering::Relaxed);
}

/// How to go on with a system call.
pub(in super::super) enum MemberCall {
    /// It concerns no other thread and does not wait.
    Ordinary,
    /// It has this result.
    Done(u64),
    /// It may take a while, in the turn of the thread.
    Hold,
    Wait(Wait),
    /// Others first.
    Yield,
    /// The thread ends.
    Exit,
    /// It starts a thread.
    Start,
    /// It would invalidate what turns rely on.
    Refuse,
}

// asm-generic/unistd.h.
const EPOLL_PWAIT2: i64 = 441;
const FUTEX_WAITV: i64 = 449;
const FUTEX_WAKE: i64 = 454;
const FUTEX_REQUEUE: i64 = 456;

/// No time: a `struct timespec`.
static NO_TIME: [u64; 2] = [0; 2];

impl Team {
    /// Decides about a call of the running thread. `is_alone` says whether there is no other.
    pub(in super::super) fn member_call(
        &self,
        number: u64,
        arguments: [u64; 6],
        is_alone: bool,
    ) -> MemberCall {
        let [first, second, third, fourth, ..] = arguments;
        let Ok(number) = i64::try_from(number) else {
            return MemberCall::Ordinary;
        };
        match number {
            libc::SYS_clone if is_thread(first) => return MemberCall::Start,
            libc::SYS_clone3 if flags_of_clone3(first).is_some_and(is_thread) => {
                return MemberCall::Start;
            }
            libc::SYS_rt_sigaction if first == u64::from(self.signal()) => {
                return MemberCall::Refuse;
            }
            _ if is_alone => return MemberCall::Ordinary,
            _ => {}
        }
        let wait = |readiness, until_ns| {
            MemberCall::Wait(Wait::Call {
                readiness,
                until_ns,
            })
        };
        match number {
            libc::SYS_exit => MemberCall::Exit,
            libc::SYS_sched_yield => MemberCall::Yield,
            libc::SYS_futex => match self.futex(arguments) {
                Futex::Done(result) => MemberCall::Done(result),
                Futex::Wait(wait) => MemberCall::Wait(wait),
                Futex::Unknown => MemberCall::Refuse,
            },
            FUTEX_WAITV | FUTEX_WAKE..=FUTEX_REQUEUE => MemberCall::Refuse,
            libc::SYS_nanosleep | libc::SYS_clock_nanosleep => {
                match deadline_of_sleep(number, arguments) {
                    Some(until_ns) => wait(Readiness::Time, Some(until_ns)),
                    None => MemberCall::Hold,
                }
            }
            libc::SYS_poll => match third as i32 {
                0 => MemberCall::Hold,
                limit => trial([first, second, 0, 0, 0, 0], after_ms(limit)),
            },
            libc::SYS_epoll_wait | libc::SYS_epoll_pwait => match fourth as i32 {
                0 => MemberCall::Hold,
                limit => trial([first, second, third, 0, 0, 0], after_ms(limit)),
            },
            libc::SYS_ppoll | EPOLL_PWAIT2 => {
                let (limit, mut arguments) = match number {
                    libc::SYS_ppoll => (third, [first, second, 0, 0, 0, 0]),
                    _ => (fourth, [first, second, third, 0, 0, 0]),
                };
                let at = if number == libc::SYS_ppoll { 2 } else { 3 };
                arguments[at] = NO_TIME.as_ptr() as u64;
                match (limit, duration_at(limit)) {
                    (0, _) => trial(arguments, None),
                    (_, Some(ns)) => trial(arguments, Some(after_ns(ns))),
                    (_, None) => MemberCall::Hold,
                }
            }
            _ => match events_of(number, third, fourth) {
                Some(events) if would_wait(first as i32, events) => match is_held(first as i32) {
                    true => MemberCall::Hold,
                    false => wait(Readiness::Descriptor(events), None),
                },
                _ if may_wait(number) => MemberCall::Hold,
                _ => MemberCall::Ordinary,
            },
        }
    }
}

fn trial(arguments: [u64; 6], until_ns: Option<u64>) -> MemberCall {
    MemberCall::Wait(Wait::Call {
        readiness: Readiness::Trial(arguments),
        until_ns,
    })
}

fn after_ms(limit: i32) -> Option<u64> {
    let ms = u64::try_from(limit).ok()?;
    Some(after_ns(ms * 1_000_000))
}

fn deadline_of_sleep(number: i64, arguments: [u64; 6]) -> Option<u64> {
    let [clock, flags, time, ..] = arguments;
    if number == libc::SYS_nanosleep {
        return Some(after_ns(duration_at(clock)?));
    }
    let ns = duration_at(time)?;
    Some(if flags as i32 & libc::TIMER_ABSTIME == 0 {
        after_ns(ns)
    } else {
        on_monotonic_clock(clock as libc::clockid_t, ns)
    })
}

/// Returns whether a call looks at files: it may wait for a disk, but for nobody. The C library
/// makes such calls when a thread allocates for the first time.
pub(in super::super) fn looks_at_files(number: u64) -> bool {
    i64::try_from(number).is_ok_and(|number| {
        matches!(
            number,
            libc::SYS_open
                | libc::SYS_openat
                | libc::SYS_close
                | libc::SYS_access
                | libc::SYS_stat
                | libc::SYS_lstat
                | libc::SYS_fstat
                | libc::SYS_newfstatat
                | libc::SYS_statx
                | libc::SYS_readlink
                | libc::SYS_readlinkat
                | libc::SYS_getdents64
        )
    })
}

/// Returns whether a call moves data, and does not wait because [`Team::member_call`] knows that it
/// need not.
pub(in super::super) fn is_transfer(number: u64) -> bool {
    i64::try_from(number).is_ok_and(|number| events_of(number, 0, 0).is_some())
}

/// Returns the events that a descriptor must have so that the call does not wait, if it is one that
/// waits for its first argument.
fn events_of(number: i64, third: u64, fourth: u64) -> Option<i16> {
    let waits = |flags: u64| flags as i32 & libc::MSG_DONTWAIT == 0;
    match number {
        libc::SYS_read | libc::SYS_readv | libc::SYS_accept | libc::SYS_accept4 => {
            Some(libc::POLLIN)
        }
        libc::SYS_recvfrom | libc::SYS_recvmmsg if waits(fourth) => Some(libc::POLLIN),
        libc::SYS_recvmsg if waits(third) => Some(libc::POLLIN),
        libc::SYS_write | libc::SYS_writev => Some(libc::POLLOUT),
        libc::SYS_sendto if waits(fourth) => Some(libc::POLLOUT),
        libc::SYS_sendmsg if waits(third) => Some(libc::POLLOUT),
        _ => None,
    }
}

/// Returns whether a call for these events waits.
fn would_wait(descriptor: i32, events: i16) -> bool {
    let arguments = [descriptor as u64, libc::F_GETFL as u64, 0, 0, 0, 0];
    // SAFETY: asks for flags.
    let flags = unsafe { kernel::call(libc::SYS_fcntl, arguments) };
    let is_blocking = !kernel::is_error(flags) && flags as i32 & libc::O_NONBLOCK == 0;
    is_blocking && !is_ready(descriptor, events)
}

/// Returns whether a thread that waits at this connection does so in its turn.
fn is_held(descriptor: i32) -> bool {
    let port = HELD_PORT.load(Ordering::Relaxed);
    port != 0 && peer_port(descriptor) == Some(port)
}

/// Returns the port at the other end of a connection over IPv4.
fn peer_port(descriptor: i32) -> Option<u16> {
    // SAFETY: all zeros is a valid value.
    let mut address: libc::sockaddr_in = unsafe { std::mem::zeroed() };
    let mut bytes = size_of_val(&address) as libc::socklen_t;
    let at = (&raw mut address as u64, &raw mut bytes as u64);
    let arguments = [descriptor as u64, at.0, at.1, 0, 0, 0];
    // SAFETY: the kernel writes an address of at most this length.
    let result = unsafe { kernel::call(libc::SYS_getpeername, arguments) };
    let is_known = !kernel::is_error(result) && i32::from(address.sin_family) == libc::AF_INET;
    is_known.then_some(u16::from_be(address.sin_port))
}

/// Returns whether a call may wait for something.
fn may_wait(number: i64) -> bool {
    use super::super::system_call::{Policy, policy};
    policy(number as u64, [0; 4]) == Policy::MayChangeCode
}

/// Returns whether flags of clone(2) start a thread of this process that can take turns.
fn is_thread(flags: u64) -> bool {
    let needed = (libc::CLONE_VM | libc::CLONE_THREAD | libc::CLONE_SETTLS) as u64;
    flags & needed == needed && flags & libc::CLONE_VFORK as u64 == 0
}

fn flags_of_clone3(address: u64) -> Option<u64> {
    field_of_clone3(address, 0)
}

/// Returns a word of a `struct clone_args`.
pub(super) fn field_of_clone3(address: u64, index: usize) -> Option<u64> {
    let mut bytes = [0; 64];
    let read = super::super::source::read(address, &mut bytes)?;
    let word = bytes.chunks_exact(8).nth(index)?;
    (read == bytes.len()).then(|| u64::from_ne_bytes(word.try_into().unwrap_or_default()))
}
