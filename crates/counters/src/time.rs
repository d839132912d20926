//! The clock alone, for when slots cannot be counted.

use super::processor_time::Watch;
use super::{Reading, Source, clock};
use topdown_run::provenance::Provenance;
use topdown_run::sample::Sample;

/// The source `time`: wall-clock nanoseconds and nothing else.
#[derive(Debug)]
pub struct Time {
    provenance: Provenance,
    watch: Watch,
}

impl Time {
    /// Creates the source; `reason` says why no better one is used.
    pub fn new(reason: impl Into<String>) -> Time {
        let mut source = Time {
            provenance: Provenance::for_clock(reason),
            watch: Watch::default(),
        };
        source.provenance.empty_window = Some(super::empty_window_of(&source));
        // A benchmark's first window must be watched, after these, which belong to none.
        source.watch = Watch::default();
        source
    }
}

impl Source for Time {
    fn provenance(&self) -> &Provenance {
        &self.provenance
    }

    fn start(&self) -> Reading {
        Reading::from_window(0, self.watch.before_window())
    }

    fn end(&self, start: &Reading) -> Sample {
        let wall_ns = clock::elapsed_ns(start.at_ns);
        Sample {
            windows: 1,
            wall_ns,
            // Set even if unknown: only durations without a window have none.
            activity: Some(self.watch.after_window(wall_ns).unwrap_or_default()),
            ..Sample::EMPTY
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn window_has_time_and_no_slots() {
        let source = Time::new("a test");
        let start = source.start();
        std::thread::sleep(std::time::Duration::from_millis(2));
        let sample = source.end(&start);
        assert!(sample.wall_ns >= 2_000_000);
        assert_eq!(sample.slots, None);
        assert_eq!(sample.level1, None);
        assert!(source.provenance().empty_window.is_some());
        #[cfg(target_os = "linux")]
        assert!(
            sample
                .activity
                .is_some_and(|activity| activity.windows == 1)
        );
    }
}
