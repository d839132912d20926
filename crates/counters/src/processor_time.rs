//! Reads the processor time of the calling thread and of its process around a window.
//!
//! Each reading takes three system calls, so it is done outside the window, and not for every
//! window: if windows follow each other closely, the next is watched after `MIN_DISTANCE_NS`.

use std::cell::Cell;

use crate::clock;
use topdown_run::activity::Activity;

/// Readings take some six microseconds per interval of this length.
const MIN_DISTANCE_NS: u64 = 1_000_000;

/// The kernel's accounting so far.
#[derive(Clone, Copy, Debug)]
struct ProcessorTime {
    thread_ns: u64,
    process_ns: u64,
    blocked: u64,
}

/// Watches the windows of a source.
#[derive(Debug, Default)]
pub(super) struct Watch {
    /// The time from which the next window is watched.
    due_at_ns: Cell<u64>,
    /// Whether the open window is watched, and the times before it.
    is_watching: Cell<bool>,
    before: Cell<Option<ProcessorTime>>,
}

impl Watch {
    /// Call this before a window opens. Returns the time when it is ready.
    #[inline]
    pub fn before_window(&self) -> u64 {
        let now_ns = clock::now_ns();
        if now_ns < self.due_at_ns.get() {
            return now_ns;
        }
        self.watch(now_ns)
    }

    #[cold]
    fn watch(&self, now_ns: u64) -> u64 {
        self.watched_at(now_ns);
        self.is_watching.set(true);
        self.before.set(read_before());
        clock::now_ns()
    }

    fn watched_at(&self, now_ns: u64) {
        self.due_at_ns.set(now_ns + MIN_DISTANCE_NS);
    }

    /// Call this when the window has closed. Returns `None` if it is not watched.
    #[inline]
    pub fn after_window(&self, wall_ns: u64) -> Option<Activity> {
        match self.is_watching.replace(false) {
            true => self.watched(wall_ns),
            false => None,
        }
    }

    #[cold]
    fn watched(&self, wall_ns: u64) -> Option<Activity> {
        let (before, after) = (self.before.take()?, read_after()?);
        self.watched_at(clock::now_ns());
        let own_ns = after.thread_ns.saturating_sub(before.thread_ns);
        let process_ns = after.process_ns.saturating_sub(before.process_ns);
        Some(Activity {
            windows: 1,
            wall_ns,
            own_ns,
            others_ns: process_ns.saturating_sub(own_ns),
            blocked: after.blocked.saturating_sub(before.blocked),
        })
    }
}

/// Returns how often a thread of this process has been switched out so far, modulo 2^32; 0 if
/// unknown.
#[cfg(target_os = "linux")]
pub(super) fn switches_of_process() -> u32 {
    linux::usage(libc::RUSAGE_SELF).map_or(0, |usage| (usage.ru_nvcsw + usage.ru_nivcsw) as u32)
}

/// Returns the resources that the calling thread has used.
#[cfg(target_os = "linux")]
#[inline]
pub fn usage_of_thread() -> Option<libc::rusage> {
    linux::usage(libc::RUSAGE_THREAD)
}

/// Returns the resources that all threads of the process have used.
#[cfg(target_os = "linux")]
pub fn usage_of_process() -> Option<libc::rusage> {
    linux::usage(libc::RUSAGE_SELF)
}

/// Reads the thread's clock before the process's; [`read_after`] does the reverse. So the thread's
/// work in between makes the others' time smaller, never larger: in a process of one thread it is
/// 0, however often that is interrupted.
#[cfg(target_os = "linux")]
fn read_before() -> Option<ProcessorTime> {
    Some(ProcessorTime {
        blocked: linux::usage(libc::RUSAGE_THREAD)?.ru_nvcsw as u64,
        thread_ns: linux::clock_ns(libc::CLOCK_THREAD_CPUTIME_ID)?,
        process_ns: linux::clock_ns(libc::CLOCK_PROCESS_CPUTIME_ID)?,
    })
}

#[cfg(target_os = "linux")]
fn read_after() -> Option<ProcessorTime> {
    Some(ProcessorTime {
        process_ns: linux::clock_ns(libc::CLOCK_PROCESS_CPUTIME_ID)?,
        thread_ns: linux::clock_ns(libc::CLOCK_THREAD_CPUTIME_ID)?,
        blocked: linux::usage(libc::RUSAGE_THREAD)?.ru_nvcsw as u64,
    })
}

#[cfg(not(target_os = "linux"))]
fn read_before() -> Option<ProcessorTime> {
    None
}

#[cfg(not(target_os = "linux"))]
fn read_after() -> Option<ProcessorTime> {
    None
}

#[cfg(target_os = "linux")]
mod linux {
    use std::mem::MaybeUninit;

    pub fn clock_ns(clock: libc::clockid_t) -> Option<u64> {
        let mut time = MaybeUninit::<libc::timespec>::zeroed();
        // SAFETY: the pointer is valid for writes of a timespec. Any bit pattern is a valid
        // timespec, so the zeroed one is valid even if the call fails.
        let (result, time) = unsafe {
            let result = libc::clock_gettime(clock, time.as_mut_ptr());
            (result, time.assume_init())
        };
        let nanoseconds = time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64;
        (result == 0).then_some(nanoseconds)
    }

    pub fn usage(who: libc::c_int) -> Option<libc::rusage> {
        let mut usage = MaybeUninit::<libc::rusage>::zeroed();
        // SAFETY: the pointer is valid for writes of a rusage. Its fields are numbers, so the
        // zeroed one is valid even if the call fails.
        let (result, usage) = unsafe {
            let result = libc::getrusage(who, usage.as_mut_ptr());
            (result, usage.assume_init())
        };
        (result == 0).then_some(usage)
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use std::thread;
    use std::time::{Duration, Instant};

    /// Long enough for the clocks to notice.
    const WORK: Duration = Duration::from_millis(20);

    fn work() {
        let begun_at = linux::clock_ns(libc::CLOCK_THREAD_CPUTIME_ID).unwrap();
        let worked = || linux::clock_ns(libc::CLOCK_THREAD_CPUTIME_ID).unwrap() - begun_at;
        while u128::from(worked()) < WORK.as_nanos() {
            std::hint::spin_loop();
        }
    }

    fn activity_of(window: impl FnOnce()) -> Activity {
        let watch = Watch::default();
        watch.before_window();
        let begun_at = Instant::now();
        window();
        let wall_ns = begun_at.elapsed().as_nanos() as u64;
        watch.after_window(wall_ns).unwrap()
    }

    #[test]
    fn measuring_thread_has_its_own_work() {
        let activity = activity_of(work);
        assert!(u128::from(activity.own_ns) >= WORK.as_nanos());
    }

    #[test]
    fn scoped_thread_counts_as_other() {
        let activity = activity_of(|| {
            thread::scope(|scope| {
                scope.spawn(work);
            });
        });
        assert!(u128::from(activity.others_ns) >= WORK.as_nanos());
        assert!(activity.fraction_of_others().is_some());
    }

    #[test]
    fn sleeping_is_waiting() {
        let activity = activity_of(|| thread::sleep(WORK));
        assert_eq!(activity.windows, 1);
        assert!(activity.blocked >= 1);
        assert!(u128::from(activity.wall_ns) >= WORK.as_nanos());
    }

    #[test]
    fn closely_spaced_windows_are_not_watched() {
        let watch = Watch::default();
        let watched = |_: &u32| {
            watch.before_window();
            watch.after_window(1).is_some()
        };
        let watched = (0..100).filter(watched).count();
        assert!(watched < 50, "{watched} of 100 empty windows");
    }
}
