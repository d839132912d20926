//! Load from other processes on the CPUs while benches are launched.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Counts the threads that are ready to run whenever a bench is about to be launched. Clones share
/// what they have seen.
///
/// The load average would be simpler, but for a minute it contains the build.
#[derive(Clone, Debug, Default)]
pub struct LoadMeter {
    seen: Arc<Seen>,
}

#[derive(Debug, Default)]
struct Seen {
    looks: AtomicU64,
    threads: AtomicU64,
}

impl LoadMeter {
    /// Samples the load once. Does nothing where the system does not report it.
    pub fn look(&self) {
        let text = fs::read_to_string("/proc/loadavg").unwrap_or_default();
        if let Some(threads) = other_threads(&text) {
            self.seen.looks.fetch_add(1, Ordering::Relaxed);
            self.seen.threads.fetch_add(threads, Ordering::Relaxed);
        }
    }

    /// Returns the mean number of other threads that were ready to run.
    pub fn mean(&self) -> Option<f64> {
        let [looks, threads] =
            [&self.seen.looks, &self.seen.threads].map(|count| count.load(Ordering::Relaxed));
        (looks > 0).then(|| threads as f64 / looks as f64)
    }
}

/// Returns the threads ready to run, without the one that reads this.
fn other_threads(loadavg: &str) -> Option<u64> {
    let (ready, _) = loadavg.split_whitespace().nth(3)?.split_once('/')?;
    Some(ready.parse::<u64>().ok()?.saturating_sub(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_threads_are_runnable_except_the_reader() {
        assert_eq!(other_threads("17.02 5.67 3.77 18/186 7709\n"), Some(17));
        assert_eq!(other_threads("0.00 0.00 0.00 1/186 7709\n"), Some(0));
        for odd in ["", "0.00 0.00 0.00", "0.00 0.00 0.00 x/186 7709"] {
            assert_eq!(other_threads(odd), None, "{odd}");
        }
    }

    #[test]
    fn clones_share_their_observations() {
        let meter = LoadMeter::default();
        assert_eq!(meter.mean(), None);
        meter.clone().look();
        assert_eq!(meter.mean().is_some(), cfg!(target_os = "linux"));
    }
}
