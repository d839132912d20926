//! Processor time of a process's threads during open windows, and the check that the slots of the
//! measuring thread represent the work.
//!
//! This module interprets processor time; the crate of counters reads it.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Other threads work for a benchmark if they use at least this fraction of its processor time.
/// Less than that is within the gate's margin.
const MIN_OTHER_THREADS_FRACTION: f64 = 0.01;

/// Other threads must also use at least this much per window: the two clocks are read some ten
/// nanoseconds apart, and waking a thread costs more than a microsecond.
const MIN_OTHER_THREADS_NS: u64 = 1000;

/// A thread waits if it gives up the CPU in every window and for at least this fraction of the
/// time.
const MIN_WAITING_FRACTION: f64 = 0.5;

/// Activity of a process's threads in the watched windows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Activity {
    /// Number of windows watched; not all of them are.
    pub windows: u64,
    /// Their wall-clock time.
    pub wall_ns: u64,
    /// Processor time of the measuring thread, in user code and in the kernel.
    pub own_ns: u64,
    /// Processor time of all other threads of the process.
    pub others_ns: u64,
    /// Number of times that the measuring thread gave up the CPU to wait.
    pub blocked: u64,
}

/// Why a benchmark's slots do not represent its work. Such slots decide nothing; only time does.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case", tag = "kind", deny_unknown_fields)]
pub enum UncountedWork {
    /// Threads whose slots are not counted do part of the work.
    OtherThreads {
        /// Their share of the processor time, 0 to 1.
        fraction: f64,
    },
    /// The measuring thread waits.
    Waiting {
        /// The fraction of the time it waits, 0 to 1.
        fraction: f64,
    },
}

impl Activity {
    /// Returns the sum of both.
    #[must_use]
    pub fn plus(&self, other: &Activity) -> Activity {
        Activity {
            windows: self.windows.saturating_add(other.windows),
            wall_ns: self.wall_ns.saturating_add(other.wall_ns),
            own_ns: self.own_ns.saturating_add(other.own_ns),
            others_ns: self.others_ns.saturating_add(other.others_ns),
            blocked: self.blocked.saturating_add(other.blocked),
        }
    }

    /// Returns the other threads' fraction of the processor time (0 to 1), if they work for the
    /// benchmark.
    pub fn fraction_of_others(&self) -> Option<f64> {
        let fraction = fraction(self.others_ns, self.own_ns.saturating_add(self.others_ns));
        let enough = self.others_ns >= MIN_OTHER_THREADS_NS.saturating_mul(self.windows);
        (enough && fraction >= MIN_OTHER_THREADS_FRACTION).then_some(fraction)
    }

    /// Returns where the work happens, if not in the slots of the measuring thread.
    #[inline]
    pub fn uncounted_by_own_slots(&self) -> Option<UncountedWork> {
        self.fraction_of_others()
            .map(|fraction| UncountedWork::OtherThreads { fraction })
            .or_else(|| self.waiting(self.own_ns))
    }

    /// Returns where the work happens, if not in the slots of all threads.
    #[inline]
    pub fn uncounted_by_all_slots(&self) -> Option<UncountedWork> {
        self.waiting(self.own_ns.saturating_add(self.others_ns))
    }

    #[inline]
    fn waiting(&self, processor_ns: u64) -> Option<UncountedWork> {
        let idle_ns = self.wall_ns.saturating_sub(processor_ns);
        let fraction = fraction(idle_ns, self.wall_ns);
        let waits =
            self.windows > 0 && self.blocked >= self.windows && fraction >= MIN_WAITING_FRACTION;
        waits.then_some(UncountedWork::Waiting { fraction })
    }
}

impl UncountedWork {
    /// Returns the fraction of the work this accounts for, 0 to 1.
    #[inline]
    pub fn fraction(self) -> f64 {
        match self {
            UncountedWork::OtherThreads { fraction } | UncountedWork::Waiting { fraction } => {
                fraction
            }
        }
    }
}

impl fmt::Display for UncountedWork {
    #[inline]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let percent = self.fraction() * 100.0;
        match self {
            UncountedWork::OtherThreads { .. } => write!(
                f,
                "other threads used {percent:.0} % of its processor time, and their slots are not \
                 counted"
            ),
            UncountedWork::Waiting { .. } => {
                write!(f, "its thread waited for {percent:.0} % of the time")
            }
        }
    }
}

fn fraction(part_ns: u64, whole_ns: u64) -> f64 {
    match whole_ns {
        0 => 0.0,
        whole_ns => part_ns as f64 / whole_ns as f64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WINDOW: Activity = Activity {
        windows: 1,
        wall_ns: 1_000_000,
        own_ns: 990_000,
        others_ns: 0,
        blocked: 0,
    };

    #[test]
    fn work_on_measuring_thread_is_in_its_slots() {
        assert_eq!(WINDOW.uncounted_by_own_slots(), None);
        assert_eq!(Activity::default().uncounted_by_own_slots(), None);
        assert_eq!(Activity::default().uncounted_by_all_slots(), None);
    }

    #[test]
    fn one_percent_on_other_threads_is_work_elsewhere() {
        let with = |others_ns| Activity {
            others_ns,
            ..WINDOW
        };
        assert_eq!(with(9_999).uncounted_by_own_slots(), None);
        let found = with(10_000).uncounted_by_own_slots();
        assert_eq!(found, Some(UncountedWork::OtherThreads { fraction: 0.01 }));
        assert_eq!(with(10_000).uncounted_by_all_slots(), None);
    }

    /// The clocks of thread and process are read one after the other.
    #[test]
    fn reading_overhead_is_not_other_work() {
        let empty = |others_ns| Activity {
            windows: 10,
            wall_ns: 1200,
            own_ns: 1200,
            others_ns,
            blocked: 0,
        };
        assert_eq!(empty(9_999).uncounted_by_own_slots(), None);
        assert!(empty(10_000).uncounted_by_own_slots().is_some());
    }

    #[test]
    fn thread_yielding_in_every_window_is_waiting() {
        let with = |own_ns, blocked| Activity {
            windows: 3,
            own_ns,
            blocked,
            ..WINDOW
        };
        let waits = Some(UncountedWork::Waiting { fraction: 0.5 });
        assert_eq!(with(500_000, 3).uncounted_by_own_slots(), waits);
        assert_eq!(with(500_001, 3).uncounted_by_own_slots(), None);
        // A preempted thread does not wait.
        assert_eq!(with(100_000, 2).uncounted_by_own_slots(), None);
    }

    #[test]
    fn counted_threads_are_not_waited_for() {
        let joined = Activity {
            own_ns: 100_000,
            others_ns: 1_800_000,
            blocked: 1,
            ..WINDOW
        };
        assert_eq!(joined.uncounted_by_all_slots(), None);
        assert_eq!(
            joined.uncounted_by_own_slots().unwrap().to_string(),
            "other threads used 95 % of its processor time, and their slots are not counted"
        );
        let asleep = Activity {
            others_ns: 0,
            ..joined
        };
        assert_eq!(
            asleep.uncounted_by_all_slots().unwrap().to_string(),
            "its thread waited for 90 % of the time"
        );
    }
}
