//! Whether a launch's slots are those of the threads that do the work.

use criterion_topdown::activity::{Activity, Elsewhere};
use criterion_topdown::provenance::CountedThreads;
use criterion_topdown::run_file::IterationSample;
use criterion_topdown::sample::Sample;

use super::measured::Measured;

impl Measured {
    fn activity(&self) -> Activity {
        let watched = self.samples.iter().filter_map(|s| s.sample.activity);
        watched.fold(Activity::default(), |all, one| all.plus(&one))
    }

    /// Returns where the work is done, if not in the slots that this launch counted.
    pub fn elsewhere(&self) -> Option<Elsewhere> {
        let activity = self.activity();
        match self.provenance.threads {
            CountedThreads::All => activity.elsewhere_of_all_slots(),
            CountedThreads::Own if self.own_thread_alone => Activity {
                others_ns: 0,
                ..activity
            }
            .elsewhere_of_own_slots(),
            CountedThreads::Own => activity.elsewhere_of_own_slots(),
        }
    }

    /// Returns the work of other threads, if any.
    pub fn others(&self) -> Option<Elsewhere> {
        let fraction = self.activity().fraction_of_others()?;
        Some(Elsewhere::OtherThreads { fraction })
    }
}

/// Returns the samples without slots and their flags.
pub fn time_alone(samples: &[IterationSample]) -> Vec<IterationSample> {
    samples
        .iter()
        .map(|IterationSample { iterations, sample }| IterationSample {
            iterations: *iterations,
            sample: Sample {
                windows: sample.windows,
                wall_ns: sample.wall_ns,
                activity: sample.activity,
                ..Sample::EMPTY
            },
        })
        .collect()
}
