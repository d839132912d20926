//! How long a launch may take.
//!
//! The only way to tell a hanging benchmark from a slow one is that the target's first launch took
//! a tenth of the time.

use std::time::{Duration, Instant};

/// A later launch may take this many times as long as the first.
const TIMES_THE_FIRST: u32 = 10;
/// The least limit, however short the first launch was: machines stall.
const LEAST: Duration = Duration::from_secs(60);
/// How long a first launch may be silent: enough for one benchmark with its warm-up and data.
const LONGEST_SILENCE: Duration = Duration::from_secs(30 * 60);

/// The time limits of one launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Patience {
    /// For the whole launch.
    whole: Option<Duration>,
    /// Between two messages of the bench.
    silence: Duration,
}

impl Patience {
    /// Uses the `timeout` from the settings, or what the target's first launch `took`.
    pub fn new(timeout: Option<Duration>, took: Option<Duration>) -> Patience {
        let whole = timeout.or_else(|| Some(LEAST.max(took? * TIMES_THE_FIRST)));
        Patience {
            whole,
            silence: whole.unwrap_or(LONGEST_SILENCE),
        }
    }

    /// Returns the deadline in a launch that began at `begun_at` and whose bench last spoke at
    /// `spoke_at`.
    pub fn end(&self, begun_at: Instant, spoke_at: Instant) -> Instant {
        let silence = spoke_at + self.silence;
        self.whole
            .map_or(silence, |whole| silence.min(begun_at + whole))
    }
}

impl std::fmt::Display for Patience {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.whole {
            Some(whole) => write!(f, "it was not done after {} s", whole.as_secs_f64().round()),
            None => write!(f, "it said nothing for {} s", self.silence.as_secs()),
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
        let ends = |patience: Patience, silent_since| {
            let spoke_at = now + Duration::from_secs(silent_since);
            (patience.end(now, spoke_at) - now).as_secs()
        };
        assert_eq!(ends(Patience::new(None, seconds(20)), 0), 200);
        assert_eq!(ends(Patience::new(None, seconds(20)), 150), 200);
        assert_eq!(ends(Patience::new(None, seconds(1)), 0), 60);
        assert_eq!(ends(Patience::new(seconds(5), seconds(20)), 3), 5);
        assert_eq!(ends(Patience::new(None, None), 100), 1900);
    }
}
