//! The history of a baseline, as comparisons and pages show it.

use std::path::Path;

use jiff::Timestamp;
use topdown_gate::trend::{MIN_RUNS, Trend, trend};
use topdown_run::run_file::Run;

use crate::error::Error;
use crate::renames::Renames;
use topdown_store::baselines::{self, BaselineStore, history};
use topdown_terminal::terminal::message;

/// The probability of finding any change point in a suite that never changed; the gate's default.
const ALPHA: f64 = 0.05;

/// Returns the trend of the runs of the baseline in `directory`, which the user calls `label`.
pub fn trend_of(label: &str, directory: &Path, renames: Renames<'_>) -> Result<Trend, Error> {
    let (mut runs, unreadable) = baselines::read_runs(directory)?;
    renames.apply_to_all(&mut runs);
    let problems = unreadable.iter().map(ToString::to_string).collect();
    match trend(label, &runs, problems, ALPHA) {
        Some(trend) => Ok(trend),
        // The baseline's current run comes last, so the last error is about it.
        None => Err(match unreadable.into_iter().next_back() {
            Some(error) => Error::RunFile(error),
            None => Error::ShortHistory {
                runs: 0,
                least: MIN_RUNS,
            },
        }),
    }
}

/// Maximum number of runs of the history that a comparison reads. More would take too long.
const MAX_HISTORY_RUNS: usize = 30;

/// Returns the newest runs in the history of the baseline at `path` that are not newer than
/// `candidate`, oldest first; the baseline itself comes last. Returns none if it has no history. A
/// comparison works without it, so problems are only warnings.
pub fn behind(path: &Path, candidate: &Run, renames: Renames<'_>) -> Vec<Run> {
    let has_history = history::names(path).is_ok_and(|names| !names.is_empty());
    if !has_history {
        return Vec::new();
    }
    let warn = |error: &dyn std::fmt::Display| {
        message!(
            "warning: the search for slow drifts is incomplete, because some stored runs \
                  could not be read: {error}"
        );
    };
    let (mut runs, unreadable) = match baselines::read_newest_runs(path, MAX_HISTORY_RUNS) {
        Ok(read) => read,
        Err(error) => {
            warn(&error);
            return Vec::new();
        }
    };
    unreadable.iter().for_each(|error| warn(error));
    let at = |run: &Run| run.started_at.parse::<Timestamp>().ok();
    runs.retain(|run| run.id != candidate.id && at(run) <= at(candidate));
    renames.apply_to_all(&mut runs);
    runs
}

/// Merges of a year if the history does not show them: one on each working day.
pub const ASSUMED_MERGES_PER_YEAR: f64 = 250.0;

/// Returns how many runs a year has, by `runs` in the order of time.
pub fn merges_per_year(runs: &[Run]) -> f64 {
    const SECONDS_OF_A_YEAR: f64 = 365.25 * 24.0 * 3600.0;
    let at = |run: &Run| run.started_at.parse::<Timestamp>().ok();
    let ends = runs.first().and_then(at).zip(runs.last().and_then(at));
    match ends {
        Some((first, last)) if runs.len() >= MIN_RUNS && first < last => {
            let seconds = last.duration_since(first).as_secs_f64();
            (runs.len() - 1) as f64 * SECONDS_OF_A_YEAR / seconds
        }
        _ => ASSUMED_MERGES_PER_YEAR,
    }
}

/// Returns the history for the page of a comparison with `base`, which comes last in it: that of
/// the baseline named `built`, or else of the default one. As in [`page_history`], problems
/// are only warnings.
pub fn up_to(
    store: &BaselineStore,
    built: &str,
    base: &Run,
    renames: Renames<'_>,
) -> Option<Trend> {
    let named = built.parse().ok().and_then(|name| store.find(&name).ok());
    let stored = named.or_else(|| store.default_one().ok())?;
    let (mut runs, unreadable) = match baselines::read_runs(&stored.directory) {
        Ok(read) => read,
        Err(error) => {
            message!("warning: the page has no history: {error}");
            return None;
        }
    };
    runs.push(base.clone());
    renames.apply_to_all(&mut runs);
    let label = format!("{} and then the base", stored.name);
    let problems = unreadable.iter().map(ToString::to_string).collect();
    trend(&label, &runs, problems, ALPHA)
}

/// Returns the history for the page of the run at `path`, which the user calls `label`, if it is a
/// baseline with one. A page works without it, so problems are only warnings.
pub fn page_history(label: &str, path: &Path, renames: Renames<'_>) -> Option<Trend> {
    let has_history = history::names(path).is_ok_and(|names| !names.is_empty());
    match has_history.then(|| trend_of(label, path, renames))? {
        Ok(trend) => Some(trend),
        Err(error) => {
            message!("warning: the page has no history: {error}");
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store_location::tests::{RUN, store_in};
    use std::collections::BTreeMap;
    use topdown_run::run_file::read_run;

    const NONE: Renames<'_> = Renames(&BTreeMap::new());

    #[test]
    fn merges_are_counted_by_the_history() {
        let daily = |count: i64| -> Vec<Run> {
            let first: Timestamp = "2026-01-01T00:00:00Z".parse().unwrap();
            let day = |n: i64| first + jiff::SignedDuration::from_hours(24 * n);
            (0..count)
                .map(|n| {
                    let mut run = read_run(Path::new(RUN)).unwrap();
                    run.started_at = day(n).to_string();
                    run
                })
                .collect()
        };
        assert!((merges_per_year(&daily(30)) - 365.25).abs() < 1e-9);
        assert_eq!(merges_per_year(&daily(5)), ASSUMED_MERGES_PER_YEAR);
        assert_eq!(merges_per_year(&[]), ASSUMED_MERGES_PER_YEAR);
        let mut broken = daily(8);
        broken[0].started_at = "yesterday".to_owned();
        assert_eq!(merges_per_year(&broken), ASSUMED_MERGES_PER_YEAR);
    }

    #[test]
    fn base_history_is_same_name_or_default_baseline() {
        let root = tempfile::tempdir().unwrap();
        let store = store_in(root.path());
        let mut base = read_run(Path::new(RUN)).unwrap();
        base.id += "-later";
        let label = |built: &str| up_to(&store, built, &base, NONE).map(|trend| trend.label);
        assert_eq!(label("main"), None, "nothing is stored");
        let save = |name: &str| store.save(&name.parse().unwrap(), Path::new(RUN)).unwrap();
        save("main");
        assert_eq!(label("v1.0").unwrap(), "main and then the base");
        let stored = save("v1.0").directory;
        assert_eq!(label("v1.0").unwrap(), "v1.0 and then the base");
        assert_eq!(label("HEAD~1").unwrap(), "main and then the base");

        let trend = up_to(&store, "v1.0", &base, NONE).unwrap();
        let runs: Vec<&str> = trend.runs.iter().map(|run| &*run.id).collect();
        assert_eq!(runs, [base.id.trim_end_matches("-later"), &*base.id]);
        std::fs::write(stored.join("run.json"), "{").unwrap();
        let trend = up_to(&store, "v1.0", &base, NONE).unwrap();
        assert_eq!((trend.runs.len(), trend.unreadable.len()), (2, 1));
    }
}
