//! The doubts about windows.

use super::readout::Presence;
use topdown_run::sample::Flags;

/// Samples whose windows have fewer slots are flagged. An empty window costs 200 to 500 slots, at
/// most 1 % of this; and the slots between a reset and the first reading, up to about 1200, widen
/// the resolution by a twentieth at most.
pub(super) const FEW_SLOTS: u64 = 50_000;

/// Switching out and back in changes the leader's page three times on Linux 6.1 and 6.12, and each
/// change raises the lock by 2.
const LOCK_STEPS_PER_SWITCH: u32 = 6;

/// Returns how often the thread was switched out between two values of the leader's lock, at most.
pub(super) fn switches(start_lock: u32, end_lock: u32) -> u32 {
    end_lock
        .wrapping_sub(start_lock)
        .div_ceil(LOCK_STEPS_PER_SWITCH)
}

/// Returns the doubts about a group's counts, from its state at the two ends of a window.
pub(super) fn between(start: &Presence, end: &Presence) -> Flags {
    let mut flags = Flags::NONE;
    if switches(start.lock, end.lock) > 0 {
        flags |= Flags::SWITCHED;
    }
    if start.cpu != end.cpu {
        flags |= Flags::MIGRATED;
    }
    let enabled_ns = end.time_enabled_ns.wrapping_sub(start.time_enabled_ns);
    let running_ns = end.time_running_ns.wrapping_sub(start.time_running_ns);
    if enabled_ns != running_ns {
        flags |= Flags::NOT_COUNTING;
    }
    flags
}

/// Returns whether windows have so few slots, on average, that their own cost shows.
pub(super) fn are_few(slots: u64, windows: u64) -> bool {
    slots < FEW_SLOTS.saturating_mul(windows)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(change: impl Fn(&mut Presence)) -> Flags {
        let start = Presence {
            lock: 10,
            cpu: 1,
            time_enabled_ns: 70,
            time_running_ns: 60,
        };
        let mut end = start;
        change(&mut end);
        between(&start, &end)
    }

    #[test]
    fn undisturbed_window_has_no_flags() {
        assert_eq!(after(|_| ()), Flags::NONE);
    }

    #[test]
    fn each_disturbance_has_its_flag() {
        assert_eq!(after(|end| end.lock += 4), Flags::SWITCHED);
        assert_eq!(after(|end| end.cpu = 0), Flags::MIGRATED);
        assert_eq!(after(|end| end.time_enabled_ns += 5), Flags::NOT_COUNTING);
        assert_eq!(
            after(|end| {
                end.time_enabled_ns += 5;
                end.time_running_ns += 5;
            }),
            Flags::NONE
        );
    }

    #[test]
    fn slots_are_few_by_the_mean_of_windows() {
        assert!(!are_few(2 * FEW_SLOTS, 2));
        assert!(are_few(2 * FEW_SLOTS - 1, 2));
    }

    #[test]
    fn switch_counts_once_across_wrap() {
        assert_eq!(switches(10, 10), 0);
        assert_eq!(switches(10, 12), 1);
        assert_eq!(switches(10, 16), 1);
        assert_eq!(switches(10, 18), 2);
        assert_eq!(switches(u32::MAX - 1, 2), 1);
    }
}
