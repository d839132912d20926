//! Decides when to clear the slots and PERF_METRICS registers.
//!
//! The resolution of a window is a share of the slots since the last reset, so resetting before
//! each window is best. It costs a system call outside the window. That is negligible in a sample
//! of a few windows, but not in `iter_batched` with one window per call of a short routine. Hence
//! two limits:
//!
//! * The first [`WINDOWS_WITH_RESET`] windows of a sample each have a reset: at most that many
//!   system calls, some milliseconds.
//! * Later windows have one if more than [`SLOTS_WITHOUT_RESET`] slots have passed since the last,
//!   including setup between the windows. So the slots before a window add at most 2 x 4096 / 255 =
//!   32 slots to its resolution, and there is at most one system call per 4096 slots.
//!
//! Resetting at ever longer intervals instead was rejected: the bound of a window grows with the
//! slots since the reset, and soon exceeds the window.

use std::cell::Cell;

const WINDOWS_WITH_RESET: u32 = 1024;
const SLOTS_WITHOUT_RESET: u64 = 4096;

/// Counts the windows of a sample.
#[derive(Debug, Default)]
pub(super) struct ResetPolicy {
    windows: Cell<u32>,
}

impl ResetPolicy {
    /// Declares the next window the first of a sample.
    pub fn sample_begins(&self) {
        self.windows.set(0);
    }

    /// Counts a window and returns whether it has a reset in any case.
    pub fn window_begins(&self) -> bool {
        let windows = self.windows.get();
        self.windows.set(windows.saturating_add(1));
        windows < WINDOWS_WITH_RESET
    }

    /// Returns whether this many slots since the last reset are too many for the next window.
    pub fn is_due_after(slots: u64) -> bool {
        slots > SLOTS_WITHOUT_RESET
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_windows_of_each_sample_have_their_reset() {
        let policy = ResetPolicy::default();
        for _ in 0..2 {
            policy.sample_begins();
            assert!((0..1024).all(|_| policy.window_begins()));
            assert!(!policy.window_begins());
            assert!(!policy.window_begins());
        }
    }

    #[test]
    fn later_windows_have_one_when_many_slots_went_by() {
        assert!(!ResetPolicy::is_due_after(4096));
        assert!(ResetPolicy::is_due_after(4097));
    }
}
