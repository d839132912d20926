//! Futexes of threads that take turns, see futex(2): a thread that wakes another one makes it ready
//! at that point of the order. The kernel only learns of waits that go on natively.

use super::seat::{Seat, phase};
use super::wait::{Wait, after_ns, duration_at, on_monotonic_clock, word_at};
use super::{MAX_THREADS, Team};
use crate::kernel;

/// How to go on with a call of futex(2).
pub(super) enum Futex {
    /// It has this result.
    Done(u64),
    Wait(Wait),
    /// It is none that is known here.
    Unknown,
}

impl Team {
    /// Deals with a call that has these arguments.
    pub(super) fn futex(&self, arguments: [u64; 6]) -> Futex {
        let [address, operation, value, limit, second, third] = arguments;
        let operation = operation as i32;
        let count = (value as i32).max(1) as u32;
        let bitset = match operation & libc::FUTEX_CMD_MASK {
            libc::FUTEX_WAIT_BITSET | libc::FUTEX_WAKE_BITSET => third as u32,
            _ => u32::MAX,
        };
        let Some(now) = word_at(address) else {
            return Futex::Unknown;
        };
        // SAFETY: the program is about to make this very call; it does not wait.
        let by_kernel = || unsafe { kernel::call(libc::SYS_futex, arguments) };
        if bitset == 0 || address % 4 != 0 {
            return Futex::Done(by_kernel());
        }
        let is_private = operation & libc::FUTEX_PRIVATE_FLAG != 0;
        match operation & libc::FUTEX_CMD_MASK {
            command @ (libc::FUTEX_WAIT | libc::FUTEX_WAIT_BITSET) => {
                let until_ns = match limit {
                    0 => None,
                    limit => match duration_at(limit) {
                        Some(ns) if command == libc::FUTEX_WAIT => Some(after_ns(ns)),
                        Some(ns) => Some(on_monotonic_clock(clock_of(operation), ns)),
                        None => return Futex::Unknown,
                    },
                };
                let expected = value as u32;
                if now != expected {
                    return Futex::Done(-i64::from(libc::EAGAIN) as u64);
                }
                Futex::Wait(Wait::Futex {
                    address,
                    expected,
                    bitset,
                    until_ns,
                })
            }
            libc::FUTEX_WAKE | libc::FUTEX_WAKE_BITSET => {
                let woken = u64::from(self.wake(address, count, bitset));
                // Threads of other processes may wait too, if not in this order.
                let elsewhere = if is_private { 0 } else { by_kernel() };
                Futex::Done(if kernel::is_error(elsewhere) {
                    woken
                } else {
                    woken + elsewhere
                })
            }
            libc::FUTEX_CMP_REQUEUE if now != third as u32 => {
                Futex::Done(-i64::from(libc::EAGAIN) as u64)
            }
            libc::FUTEX_CMP_REQUEUE if is_private && second % 4 == 0 => {
                let woken = self.wake(address, count, u32::MAX);
                let moved = self.requeue(address, limit as u32, second);
                Futex::Done(u64::from(woken) + u64::from(moved))
            }
            _ => Futex::Unknown,
        }
    }

    /// Makes up to `count` threads ready that wait at `address`, those that have waited longest
    /// first. Returns how many.
    fn wake(&self, address: u64, count: u32, bits: u32) -> u32 {
        let mut woken = 0;
        while woken < count {
            let Some(first) = self.longest_waiting_at(address, bits) else {
                break;
            };
            self.seats[first].complete(0);
            woken += 1;
        }
        woken
    }

    /// Lets up to `count` threads wait at another address. Returns how many.
    fn requeue(&self, address: u64, count: u32, to: u64) -> u32 {
        let mut moved = 0;
        while moved < count {
            let Some(first) = self.longest_waiting_at(address, u32::MAX) else {
                break;
            };
            let stopped = self.seats[first].stopped();
            if let Wait::Futex { address, .. } = &mut stopped.wait {
                *address = to;
            }
            stopped.ticket = self.next_ticket();
            moved += 1;
        }
        moved
    }

    fn longest_waiting_at(&self, at: u64, bits: u32) -> Option<usize> {
        let waiting = (0..MAX_THREADS).filter(|&index| {
            let seat = &self.seats[index];
            seat.is(phase::MEMBER)
                && matches!(seat.stopped().wait, Wait::Futex { address, bitset, .. }
                    if address == at && bitset & bits != 0)
        });
        waiting.min_by_key(|&index| self.seats[index].stopped().ticket)
    }

    /// The running thread is about to end: notes whose futex has changed before, because nobody is
    /// woken for that.
    pub(super) fn note_changed(&self) {
        for seat in self.members() {
            let stopped = seat.stopped();
            stopped.futex_was_changed = stopped.wait.is_for_changed_futex();
        }
    }

    /// The thread has ended: wakes one that waits at each futex which the kernel has changed
    /// meanwhile.
    pub(super) fn wake_changed(&self) {
        for seat in self.members() {
            let stopped = seat.stopped();
            let Wait::Futex { address: at, .. } = stopped.wait else {
                continue;
            };
            if stopped.futex_was_changed || !stopped.wait.is_for_changed_futex() {
                continue;
            }
            self.wake(at, 1, u32::MAX);
            for other in self.members().map(Seat::stopped) {
                other.futex_was_changed |=
                    matches!(other.wait, Wait::Futex { address, .. } if address == at);
            }
        }
    }
}

/// Returns the address of the futex that a system call with these arguments wakes, if it does.
pub(in super::super) fn woken_futex(number: u64, address: u64, operation: u64) -> Option<u64> {
    let command = operation as i32 & libc::FUTEX_CMD_MASK;
    let wakes = matches!(command, libc::FUTEX_WAKE | libc::FUTEX_WAKE_BITSET);
    (number == libc::SYS_futex as u64 && wakes).then_some(address)
}

fn clock_of(operation: i32) -> libc::clockid_t {
    match operation & libc::FUTEX_CLOCK_REALTIME {
        0 => libc::CLOCK_MONOTONIC,
        _ => libc::CLOCK_REALTIME,
    }
}
