//! Time of windows in which the system works for the thread, or the thread waits.

use std::cell::Cell;
use std::fs::File;
use std::io::Read;
use std::time::Duration;

use topdown_counters::processor_time::{usage_of_process, usage_of_thread};

#[derive(Clone, Copy, Debug)]
struct Usage {
    user_ns: u64,
    system_ns: u64,
    /// Number of its waits.
    waits: u64,
    /// Time for which it was runnable without a processor.
    delayed_ns: u64,
    /// Time for which all threads waited, and in which the system worked for any of them.
    all_outside_ns: u64,
    /// Processor time of the other threads.
    others_ns: u64,
}

/// Watches the windows of a thread.
#[derive(Debug, Default)]
pub(super) struct OutsideTime {
    before: Cell<Option<Usage>>,
    others_ns: Cell<u64>,
}

impl OutsideTime {
    /// Call this before a window opens.
    pub fn before_window(&self) {
        self.before.set(Usage::now());
    }

    /// Call this when the window has closed. Returns how many of its `wall_ns` it spent outside of
    /// its code. Waiting for a processor does not count, so that a busy machine does not decide
    /// what is modelled. If the thread did not work alone, waiting for another one does not count
    /// either.
    pub fn after_window(&self, wall_ns: u64, works_alone: bool) -> u64 {
        let (Some(before), Some(after)) = (self.before.take(), Usage::now()) else {
            return 0;
        };
        self.others_ns
            .set(after.others_ns.saturating_sub(before.others_ns));
        let user_ns = after.user_ns.saturating_sub(before.user_ns);
        let system_ns = after.system_ns.saturating_sub(before.system_ns);
        if !works_alone {
            let outside_ns = after.all_outside_ns.saturating_sub(before.all_outside_ns);
            outside_ns.min(wall_ns)
        } else if after.waits > before.waits {
            let delayed_ns = after.delayed_ns.saturating_sub(before.delayed_ns);
            wall_ns.saturating_sub(user_ns).saturating_sub(delayed_ns)
        } else {
            system_ns.min(wall_ns)
        }
    }

    /// Returns how much processor time other threads used in the last window.
    pub fn others_ns(&self) -> u64 {
        self.others_ns.get()
    }
}

impl Usage {
    fn now() -> Option<Usage> {
        let usage = usage_of_thread()?;
        let ns = |time: libc::timeval| {
            let time = Duration::from_secs(time.tv_sec as u64)
                + Duration::from_micros(time.tv_usec as u64);
            time.as_nanos() as u64
        };
        let [user_ns, system_ns] = [ns(usage.ru_utime), ns(usage.ru_stime)];
        let all = usage_of_process();
        let all_system_ns = all.map_or(0, |all| ns(all.ru_stime));
        let all_ns = all.map_or(0, |all| ns(all.ru_utime)) + all_system_ns;
        Some(Usage {
            user_ns,
            system_ns,
            waits: usage.ru_nvcsw as u64,
            delayed_ns: delayed_ns().unwrap_or(0),
            all_outside_ns: topdown_tracer::idle_ns() + all_system_ns,
            others_ns: all_ns.saturating_sub(user_ns + system_ns),
        })
    }
}

/// Returns how long this thread could have run, but had no processor: the second number of its
/// `schedstat` (Linux, Documentation/scheduler/sched-stats.rst). `None` if the kernel does not
/// count it.
fn delayed_ns() -> Option<u64> {
    // Longer than three numbers of 64 bits.
    let mut text = [0; 64];
    let length = (File::open("/proc/thread-self/schedstat").ok()?)
        .read(&mut text)
        .ok()?;
    let text = std::str::from_utf8(&text[..length]).ok()?;
    text.split_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::hint::black_box;
    use std::thread::sleep;
    use std::time::Instant;

    #[test]
    fn waiting_is_outside_and_computing_is_not() {
        let watch = OutsideTime::default();
        let outside_ns = |work: &dyn Fn()| {
            watch.before_window();
            let begun_at = Instant::now();
            work();
            let wall_ns = begun_at.elapsed().as_nanos() as u64;
            (watch.after_window(wall_ns, true), wall_ns)
        };
        let (outside_ns_of_sleep, wall_ns) = outside_ns(&|| sleep(Duration::from_millis(100)));
        assert!(
            outside_ns_of_sleep > wall_ns / 2,
            "{outside_ns_of_sleep} of {wall_ns}"
        );
        let (of_work, wall_ns) = outside_ns(&|| {
            black_box((0..50_000_000_u64).fold(0, |sum, n| sum ^ black_box(n)));
        });
        assert!(of_work < wall_ns / 2, "{of_work} of {wall_ns}");
    }
}
