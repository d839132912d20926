//! Finds out what the other threads of this process are doing.
//!
//! A thread waiting without a timeout on a futex private to the process resumes only when another
//! thread of the process wakes it, or on a signal. While all others wait like this, only the
//! calling thread does anything in the process.

use super::tasks::{self, Task, number};
use crate::kernel;

/// What is known about the other threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OtherThreads {
    /// There are none, or each waits until the calling thread wakes it.
    Wait {
        /// Whether the previous query found the same, and none has run since.
        since_then: bool,
    },
    /// One of them runs or may run at any time, or the system does not say.
    MayRun,
}

/// Queries what they are doing, and remembers the answer.
#[derive(Debug, Default)]
pub(super) struct OtherThreadsWatch {
    /// The last look, if all of them waited.
    last: Option<Look>,
}

impl OtherThreadsWatch {
    /// Returns whether there were other threads at the last query, all of which waited.
    pub(super) fn have_waited(&self) -> bool {
        self.last.is_some_and(|look| look.threads > 0)
    }

    /// Queries the other threads, without allocating or locking.
    pub(super) fn ask(&mut self) -> OtherThreads {
        let only_thread = only_thread();
        let now = match only_thread {
            Some(true) => Some(Look::default()),
            Some(false) | None => Look::take(),
        };
        // Another process shares its memory.
        let now = now.filter(|look| look.threads > 0 || only_thread != Some(false));
        let since_then = std::mem::replace(&mut self.last, now) == now;
        match now {
            Some(_) => OtherThreads::Wait { since_then },
            None => OtherThreads::MayRun,
        }
    }
}

/// Returns whether this process has a single thread and shares its memory with no other, or `None`
/// if a policy forbids the query, as in most containers.
///
/// It requests something that the kernel grants, without effect, only to such a process:
/// unshare(2).
pub(super) fn only_thread() -> Option<bool> {
    let flags = libc::CLONE_VM as u64;
    // SAFETY: takes flags and touches no memory of this process.
    let result = unsafe { kernel::call(libc::SYS_unshare, [flags, 0, 0, 0, 0, 0]) };
    match result as i64 {
        0 => Some(true),
        error if error == -i64::from(libc::EINVAL) => Some(false),
        _ => None,
    }
}

/// The result of one look at all other threads, each of which waited for this one. If two looks are
/// equal, none has run in between: it would have begun another wait.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Look {
    threads: u32,
    /// The sum of their ids.
    numbers: u64,
    /// Number of waits begun by other threads of this process.
    waits: u64,
}

impl Look {
    /// Returns `None` if one of them may run.
    fn take() -> Option<Look> {
        let before = waits_of_others();
        let mut look = Look {
            waits: before,
            ..Look::default()
        };
        look.each_thread_waits()?;
        // The first thread examined may run again while the last one is examined. But if none has
        // begun to wait meanwhile, each had done so before, so no thread was left to wake another.
        (waits_of_others() == before).then_some(look)
    }

    fn each_thread_waits(&mut self) -> Option<()> {
        let this_one = tasks::this_thread();
        tasks::each(|thread, task| {
            if thread != this_one {
                self.threads += 1;
                self.numbers += u64::from(thread);
                waits_for_this_one(task).then_some(())?;
            }
            Some(())
        })
    }
}

/// Returns how often threads of this process other than the calling one have left the CPU to wait.
/// It only grows.
fn waits_of_others() -> u64 {
    let waits = |whose| {
        // The kernel's `struct rusage`, which begins with two times of two words each.
        const VOLUNTARY_SWITCHES: usize = 16;
        let mut usage = [0_u64; 18];
        let arguments = [whose as u64, usage.as_mut_ptr() as u64, 0, 0, 0, 0];
        // SAFETY: the kernel writes one `struct rusage`, of 18 words.
        unsafe { kernel::call(libc::SYS_getrusage, arguments) };
        usage[VOLUNTARY_SWITCHES]
    };
    let all = waits(libc::RUSAGE_SELF);
    all.wrapping_sub(waits(libc::RUSAGE_THREAD))
}

/// Reads `stat` and then `syscall` of a thread.
///
/// `syscall` alone does not do: it shows the wait of a thread that has been woken until the CPU
/// that is to run it takes it on. Such a thread's state is no longer `S`.
fn waits_for_this_one(task: Task<'_>) -> bool {
    let call = |task: Task<'_>| {
        let mut buffer = [0; 256];
        task.read(b"/syscall", &mut buffer).map(is_private_wait)
    };
    task.state() == Some(b'S') && call(task) == Some(true)
}

/// Returns whether `syscall` of a thread, see proc_pid_syscall(5), names a wait on a private futex
/// without a timeout.
fn is_private_wait(call: &[u8]) -> bool {
    let hexadecimal = |field: &[u8]| number(field.strip_prefix(b"0x")?, 16);
    let mut fields = call.split(|&byte| byte == b' ');
    let futex = fields.next().and_then(|field| number(field, 10)) == Some(libc::SYS_futex as u64);
    let mut argument = |index| fields.nth(index).and_then(hexadecimal);
    // The address, the operation, the value, the timeout.
    let (operation, limit) = (argument(1), argument(1));
    let waits = operation.is_some_and(|operation| {
        let operation = operation as i32;
        let is_private = operation & libc::FUTEX_PRIVATE_FLAG != 0;
        let command = operation & libc::FUTEX_CMD_MASK;
        is_private && [libc::FUTEX_WAIT, libc::FUTEX_WAIT_BITSET].contains(&command)
    });
    futex && waits && limit == Some(0)
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;
    use std::thread;
    use std::time::{Duration, Instant};

    use super::*;

    #[test]
    fn unlimited_private_futex_waits_are_known() {
        let waits = |text: &str| is_private_wait(text.as_bytes());
        assert!(waits(
            "202 0x562e2 0x189 0x0 0x0 0x0 0xffffffff 0x7fba 0x7fbb\n"
        ));
        assert!(waits("202 0x562e2 0x80 0x2 0x0 0x0 0x0 0x7fba 0x7fbb\n"));
        // With a timeout; not private; not a wait; another call; none.
        assert!(!waits(
            "202 0x562e2 0x189 0x0 0x7ffd 0x0 0xffffffff 0x7fba 0x7fbb\n"
        ));
        assert!(!waits(
            "202 0x562e2 0x109 0x0 0x0 0x0 0xffffffff 0x7fba 0x7fbb\n"
        ));
        assert!(!waits("202 0x562e2 0x86 0x0 0x0 0x0 0x0 0x7fba 0x7fbb\n"));
        assert!(!waits("230 0x1 0x80 0x0 0x0 0x0 0x0 0x7fba 0x7fbb\n"));
        assert!(!waits("-1 0x7fba 0x7fbb\n"));
        assert!(!waits("running\n"));
        assert!(!waits(""));
    }

    /// Other tests are threads of this process, so a forked child runs this one.
    #[test]
    fn waiting_threads_differ_from_runnable_ones() {
        // SAFETY: the child has one thread, makes some that end with it, and ends.
        let child = unsafe { libc::fork() };
        if child == 0 {
            let as_expected = std::panic::catch_unwind(|| {
                let mut watch = OtherThreadsWatch::default();
                let waits = |since_then| OtherThreads::Wait { since_then };
                assert_eq!(watch.ask(), waits(false));
                assert_eq!(watch.ask(), waits(true));
                let (wake, woken) = channel::<()>();
                let (done, is_done) = channel();
                thread::spawn(move || {
                    for () in woken {
                        done.send(()).unwrap();
                    }
                    thread::sleep(Duration::from_secs(60));
                });
                becomes(&mut watch, waits(false));
                assert_eq!(watch.ask(), waits(true));
                for _ in 0..3 {
                    wake.send(()).unwrap();
                    is_done.recv().unwrap();
                    becomes(&mut watch, waits(false));
                    assert_eq!(watch.ask(), waits(true));
                }
                // Finally, the thread waits with a timeout.
                drop(wake);
                becomes(&mut watch, OtherThreads::MayRun);
            });
            if let Err(panic) = &as_expected {
                // The harness captures what the child prints, so it would be lost.
                let text = panic.downcast_ref::<String>().map_or("", String::as_str);
                // SAFETY: writes the text to standard error.
                unsafe { libc::write(2, text.as_ptr().cast(), text.len()) };
            }
            // SAFETY: ends the child.
            unsafe { libc::_exit(i32::from(as_expected.is_err())) };
        }
        let mut status = 0;
        // SAFETY: `status` is writable.
        unsafe { libc::waitpid(child, &mut status, 0) };
        assert_eq!(status, 0);
    }

    fn becomes(watch: &mut OtherThreadsWatch, expected: OtherThreads) {
        let begun_at = Instant::now();
        let mut seen = watch.ask();
        while seen != expected {
            assert!(begun_at.elapsed() < Duration::from_secs(20), "{seen:?}");
            // The thread runs, or has not begun to wait yet.
            assert_eq!(seen, OtherThreads::MayRun);
            seen = watch.ask();
        }
    }

    #[test]
    fn process_with_two_threads_is_recognized() {
        // The harness waits in the first thread.
        thread::spawn(|| assert_ne!(only_thread(), Some(true)))
            .join()
            .unwrap();
    }
}
