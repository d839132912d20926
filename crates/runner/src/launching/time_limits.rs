//! Time limits of launches.

use std::time::{Duration, Instant};

use topdown_system::waits::{
    BENCH_SILENCE, FIRST_LAUNCH, MIN_LAUNCH, TIMES_FIRST_LAUNCH, in_words,
};

/// The time limits of one launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeLimits {
    /// For the whole launch.
    whole: Duration,
    /// Between two messages of the bench.
    silence: Duration,
}

impl TimeLimits {
    /// Uses the `timeout` from the settings, or what the target's first launch `took`.
    pub fn new(timeout: Option<Duration>, took: Option<Duration>) -> TimeLimits {
        let of_first = |took: Duration| MIN_LAUNCH.max(took * TIMES_FIRST_LAUNCH);
        match timeout.or_else(|| took.map(of_first)) {
            Some(whole) => TimeLimits {
                whole,
                silence: whole,
            },
            None => TimeLimits {
                whole: FIRST_LAUNCH,
                silence: BENCH_SILENCE,
            },
        }
    }

    /// Returns the deadline in a launch that began at `begun_at` and whose bench last spoke at
    /// `spoke_at`.
    pub fn end(&self, begun_at: Instant, spoke_at: Instant) -> Instant {
        (spoke_at + self.silence).min(begun_at + self.whole)
    }
}

impl std::fmt::Display for TimeLimits {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.silence < self.whole {
            write!(
                f,
                "{} of silence, {} in total",
                in_words(self.silence),
                in_words(self.whole)
            )
        } else {
            write!(f, "{} s", self.whole.as_secs_f64().round())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn later_launches_may_take_ten_times_the_first() {
        let seconds = |seconds| Some(Duration::from_secs(seconds));
        let now = Instant::now();
        let ends = |limits: TimeLimits, silent_since| {
            let spoke_at = now + Duration::from_secs(silent_since);
            (limits.end(now, spoke_at) - now).as_secs()
        };
        assert_eq!(ends(TimeLimits::new(None, seconds(20)), 0), 200);
        assert_eq!(ends(TimeLimits::new(None, seconds(20)), 150), 200);
        assert_eq!(ends(TimeLimits::new(None, seconds(1)), 0), 60);
        assert_eq!(ends(TimeLimits::new(seconds(5), seconds(20)), 3), 5);
        assert_eq!(ends(TimeLimits::new(None, None), 100), 1900);
    }
}
