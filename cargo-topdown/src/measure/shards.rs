//! `cargo topdown bench --shard`: selects the benchmarks that this machine runs.
//!
//! First, each bench executable lists its benchmarks, in a launch that measures nothing. So a suite
//! is cut between benchmarks, not targets, and every machine that builds the same commit cuts it in
//! the same way.

use sha2::{Digest, Sha256};
use topdown_run::run_file::{BenchmarkId, Shard};

use super::listing::{Item, ids};
use super::{MeasureError, Session};
use crate::shard::{self, ShardNumber};
use topdown_runner::settings::Settings;
use topdown_runner::targets::bench_targets::BenchTarget;

/// Hexadecimal digits of a suite's name: 64 bits.
const NAME_DIGITS: usize = 16;

/// The part of a suite that one machine launches.
pub struct Part {
    /// The targets, each restricted to the benchmarks of this part.
    pub targets: Vec<BenchTarget>,
    /// The benchmarks of this part, except those of targets that could not list them.
    pub benchmarks: Vec<BenchmarkId>,
    /// The shard as recorded in the run.
    pub shard: Shard,
}

/// Lists the benchmarks of `targets` and returns the part `number`.
///
/// A target that fails to list them is not cut and counts as one benchmark: launching it will
/// report the failure.
///
/// # Errors
/// Returns an error if nothing matches the filter, or the part is empty.
pub fn part(
    session: &Session,
    number: ShardNumber,
    targets: &[BenchTarget],
) -> Result<Part, MeasureError> {
    let items = session.list(targets)?;
    let costs: Vec<f64> = items
        .iter()
        .map(|(index, _)| planned_seconds(&targets[*index].settings))
        .collect();
    let shards = shard::cut(&costs, number.of);
    let suite = name_of(targets, &items);
    let benchmarks_of_suite = items.len();
    let mine: Vec<Item> = items
        .into_iter()
        .zip(shards)
        .filter(|(_, shard)| *shard == number.number)
        .map(|(item, _)| item)
        .collect();
    if mine.is_empty() {
        return Err(MeasureError::EmptyShard {
            shard: number,
            benchmarks: benchmarks_of_suite,
        });
    }
    Ok(Part {
        shard: Shard {
            number: number.number,
            of: number.of,
            benchmarks: mine.len(),
            suite,
        },
        benchmarks: ids(targets, &mine),
        targets: restricted(targets, &mine),
    })
}

/// Returns the targets with benchmarks in `mine`, restricted to those, and the targets without
/// criterion, which every shard reports.
fn restricted(targets: &[BenchTarget], mine: &[Item]) -> Vec<BenchTarget> {
    let mut restricted = Vec::new();
    for (index, target) in targets.iter().enumerate() {
        let names: Vec<&Option<String>> = mine
            .iter()
            .filter(|(shard, _)| *shard == index)
            .map(|(_, name)| name)
            .collect();
        if names.is_empty() && target.has_criterion {
            continue;
        }
        restricted.push(BenchTarget {
            // Without names, the user's filter decides.
            benchmarks: names
                .into_iter()
                .cloned()
                .collect::<Option<Vec<String>>>()
                .filter(|names| !names.is_empty()),
            ..target.clone()
        });
    }
    restricted
}

/// Returns the time that criterion plans for one benchmark. Settings made in code are unknown here.
fn planned_seconds(settings: &Settings) -> f64 {
    let per_launch = settings.warm_up_time + settings.measurement_time;
    f64::from(settings.launches) * per_launch.as_secs_f64()
}

/// Names a suite: equal suites that are cut alike have equal names. A byte that no id contains ends
/// each id.
fn name_of(targets: &[BenchTarget], items: &[Item]) -> String {
    let mut hash = Sha256::new();
    for (index, name) in items {
        let target = &targets[*index];
        for word in [
            &target.package,
            &target.name,
            name.as_ref().unwrap_or(&String::new()),
        ] {
            hash.update(word);
            hash.update([0xff]);
        }
        hash.update(planned_seconds(&target.settings).to_le_bytes());
    }
    let mut digits: String = hash.finalize().iter().map(|b| format!("{b:02x}")).collect();
    digits.truncate(NAME_DIGITS);
    digits
}
