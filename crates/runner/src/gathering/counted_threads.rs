//! Check that the slots of launches are those of the threads that do the work.

use topdown_run::activity::{Activity, UncountedWork};
use topdown_run::provenance::CountedThreads;
use topdown_run::run_file::IterationSample;
use topdown_run::sample::Sample;

use crate::launching::measured::Measured;

impl Measured {
    fn activity(&self) -> Activity {
        let watched = self.samples.iter().filter_map(|s| s.sample.activity);
        watched.fold(Activity::default(), |all, one| all.plus(&one))
    }

    /// Returns the work that this launch's slots do not include, if any.
    fn uncounted_work(&self) -> Option<UncountedWork> {
        let activity = self.activity();
        match self.provenance.threads {
            CountedThreads::All => activity.uncounted_by_all_slots(),
            CountedThreads::Own if self.own_thread_alone => Activity {
                others_ns: 0,
                ..activity
            }
            .uncounted_by_own_slots(),
            CountedThreads::Own => activity.uncounted_by_own_slots(),
        }
    }

    /// Returns the work of other threads, if any.
    fn others(&self) -> Option<UncountedWork> {
        let fraction = self.activity().fraction_of_others()?;
        Some(UncountedWork::OtherThreads { fraction })
    }
}

/// The launches of a benchmark that counted the same threads' slots.
pub struct CountedAlike {
    pub launches: Vec<(u32, Measured)>,
    /// Those that counted other threads.
    pub others: Vec<u32>,
    /// The work that these slots do not include, if any launch saw some.
    pub uncounted_work: Option<UncountedWork>,
}

/// Leaves out the launches that counted other threads than most launches.
///
/// Each launch decides in its warm-up whose slots to count, so they disagree only if other threads
/// do close to the minimum of work that matters. If most launches counted one thread, the others
/// show that its slots are not all of the work.
pub fn counted_alike(launches: Vec<(u32, Measured)>) -> CountedAlike {
    let (all, own): (Vec<_>, Vec<_>) = launches
        .into_iter()
        .partition(|(_, measured)| measured.provenance.threads == CountedThreads::All);
    let all_are_more = all.len() >= own.len();
    let (alike, others) = if all_are_more { (all, own) } else { (own, all) };
    let seen = alike.iter().map(|(_, measured)| measured.uncounted_work());
    let uncounted = others.iter().filter(|_| !all_are_more);
    let uncounted = uncounted.map(|(_, measured)| measured.others());
    // Work that any launch saw applies to the whole run.
    let uncounted_work = seen
        .chain(uncounted)
        .flatten()
        .max_by(|a, b| a.fraction().total_cmp(&b.fraction()));
    CountedAlike {
        others: others.iter().map(|(launch, _)| *launch).collect(),
        launches: alike,
        uncounted_work,
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
