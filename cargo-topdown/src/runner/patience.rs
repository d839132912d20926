//! How long a launch may take.
//!
//! Nothing tells a benchmark that takes long from one that hangs, but that the first launch of the same
//! target took a tenth of the time.

use std::time::{Duration, Instant};

/// How often the time of the first launch a later one may take.
const TIMES_THE_FIRST: u32 = 10;
/// However short the first launch was: machines stall.
const LEAST: Duration = Duration::from_secs(60);
/// How long a first launch may say nothing: that of one benchmark, with its warm-up or its data.
const LONGEST_SILENCE: Duration = Duration::from_secs(30 * 60);

/// How long one launch may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Patience {
    /// As a whole.
    whole: Option<Duration>,
    /// From one word of the bench to the next.
    silence: Duration,
}

impl Patience {
    /// With the `timeout` of the settings, or by what the first launch of the target `took`.
    pub fn of(timeout: Option<Duration>, took: Option<Duration>) -> Patience {
        let whole = timeout.or_else(|| Some(LEAST.max(took? * TIMES_THE_FIRST)));
        Patience {
            whole,
            silence: whole.unwrap_or(LONGEST_SILENCE),
        }
    }

    /// When it ends, in a launch that began at `begun_at` and whose bench spoke last at `spoke_at`.
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
        assert_eq!(ends(Patience::of(None, seconds(20)), 0), 200);
        assert_eq!(ends(Patience::of(None, seconds(20)), 150), 200);
        assert_eq!(ends(Patience::of(None, seconds(1)), 0), 60);
        assert_eq!(ends(Patience::of(seconds(5), seconds(20)), 3), 5);
        assert_eq!(ends(Patience::of(None, None), 100), 1900);
    }
}
