//! Whether the slots of a launch are about its work.

use criterion_topdown::activity::{Activity, Elsewhere};
use criterion_topdown::provenance::CountedThreads;
use criterion_topdown::run_file::IterationSample;
use criterion_topdown::sample::Sample;

use super::conversation::Measured;

impl Measured {
    fn activity(&self) -> Activity {
        let watched = self.samples.iter().filter_map(|s| s.sample.activity);
        watched.fold(Activity::default(), |all, one| all.plus(&one))
    }

    /// Where the work is, if the slots of this launch are not about it.
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

    /// That other threads work, if they do.
    pub fn others(&self) -> Option<Elsewhere> {
        let fraction = self.activity().fraction_of_others()?;
        Some(Elsewhere::OtherThreads { fraction })
    }
}

/// The samples without their slots, and without the doubts about these.
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
