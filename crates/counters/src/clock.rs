//! The monotonic clock, in nanoseconds.
//!
//! Two readings are a quarter of a window's cost outside of itself. `Instant` would take twice as
//! many instructions.

/// Returns the nanoseconds since some instant.
#[cfg(target_os = "linux")]
#[inline]
pub fn now_ns() -> u64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the pointer is valid for writes of a timespec. Every Linux has this clock.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Returns the nanoseconds since some instant.
#[cfg(not(target_os = "linux"))]
pub fn now_ns() -> u64 {
    use std::sync::OnceLock;
    use std::time::Instant;
    static FIRST: OnceLock<Instant> = OnceLock::new();
    FIRST.get_or_init(Instant::now).elapsed().as_nanos() as u64
}

/// Returns the nanoseconds since `at_ns`.
#[inline]
pub fn elapsed_ns(at_ns: u64) -> u64 {
    now_ns().saturating_sub(at_ns)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, Instant};

    #[test]
    fn clock_runs_like_instants() {
        let (instant, at_ns) = (Instant::now(), now_ns());
        std::thread::sleep(Duration::from_millis(2));
        let elapsed_ns = elapsed_ns(at_ns);
        assert!(elapsed_ns >= 2_000_000);
        assert!(u128::from(elapsed_ns) <= instant.elapsed().as_nanos());
    }
}
