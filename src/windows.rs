//! The windows of the calling thread since its last sample.
//!
//! criterion keeps one value per window and adds them up. Benches written for wall-clock time
//! expect this value to be a `Duration`, and some require it in their types. So criterion gets the
//! duration, and everything else that a window counted waits here until criterion asks for the
//! scalar of a value.
//!
//! A type of its own that holds the counts was rejected: closures of `iter_custom` whose type is
//! inferred, `Measurement<Value = Duration>` and wrappers around `WallTime` do not compile with it.

use std::cell::RefCell;
use std::time::Duration;

use topdown_run::sample::Sample;

struct Windows {
    sum: Sample,
    last: Sample,
}

impl Windows {
    const NONE: Windows = Windows {
        sum: Sample::EMPTY,
        last: Sample::EMPTY,
    };
}

thread_local! {
    static WINDOWS: RefCell<Windows> = const { RefCell::new(Windows::NONE) };
}

/// Adds a window that has ended, and returns the value by which criterion knows it.
pub(crate) fn add(window: &Sample) -> Duration {
    WINDOWS.with_borrow_mut(|windows| {
        windows.sum.add(window);
        windows.last.set(window);
    });
    duration(window)
}

/// Forgets all windows: the next one is the first of a sample.
pub(crate) fn forget() {
    WINDOWS.set(Windows::NONE);
}

/// Returns how many windows were added since the last sample.
pub(crate) fn count() -> u64 {
    WINDOWS.with_borrow(|windows| windows.sum.windows)
}

/// Returns whether `value` is the sum of all windows since the last sample.
pub(crate) fn explain(value: Duration) -> bool {
    WINDOWS.with_borrow(|windows| windows.sum.windows > 0 && duration(&windows.sum) == value)
}

/// Returns the sample that criterion knows by `value`, and forgets its windows. A value that no
/// window had is only a time: an `iter_custom` closure measured it by itself, or another thread
/// did.
pub(crate) fn take(value: Duration) -> Sample {
    let Windows { sum, last } = WINDOWS.replace(Windows::NONE);
    // If a closure calls `iter` several times, criterion keeps the last value.
    [sum, last]
        .into_iter()
        .find(|windows| windows.windows > 0 && duration(windows) == value)
        .unwrap_or_else(|| value.into())
}

fn duration(windows: &Sample) -> Duration {
    Duration::from_nanos(windows.wall_ns)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn window(wall_ns: u64, slots: u64) -> Sample {
        Sample {
            windows: 1,
            wall_ns,
            slots: Some(slots),
            ..Sample::EMPTY
        }
    }

    #[test]
    fn a_sum_of_durations_has_the_slots_of_its_windows() {
        forget();
        let sum = add(&window(7, 100)) + add(&window(5, 200));
        assert_eq!(take(sum), window(7, 100).plus(&window(5, 200)));
        // They belong to one sample.
        assert_eq!(take(sum).slots, None);
    }

    #[test]
    fn the_last_of_several_values_counts() {
        forget();
        add(&window(7, 100));
        let last = add(&window(5, 200));
        assert_eq!(take(last), window(5, 200));
    }

    #[test]
    fn a_duration_of_no_window_is_only_a_time() {
        forget();
        let measured = add(&window(7, 100));
        assert_eq!(take(2 * measured), (2 * measured).into());
        assert_eq!(take(Duration::ZERO), Duration::ZERO.into());
        let of_other_thread = std::thread::spawn(|| add(&window(9, 100))).join().unwrap();
        assert_eq!(take(of_other_thread).slots, None);
    }
}
