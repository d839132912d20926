//! Choice of the targets to launch on the model or on the clock, with their settings.
//!
//! In modelled launches the samples double ([`topdown_run::doubling`]), whatever a group sets. So
//! the modelled part does not depend on the clock, and two launches that execute the same
//! instructions at the same addresses agree bit for bit. While they do, further launches add
//! nothing.

use std::time::Duration;

use topdown_run::activity::UncountedWork;
use topdown_run::environment::ONE_CPU;
use topdown_run::provenance::{CountedThreads, Provenance, SourceKind, TIMES_ITSELF, TOO_LONG};
use topdown_run::run_file::{Benchmark, BenchmarkId};
use topdown_run::setting::{Sampling, SourceChoice, Threads};

use crate::gathering::collect::Collected;
use crate::launching::join::is_ours;
use crate::settings::Settings;
use crate::targets::bench_targets::BenchTarget;
use topdown_system::tracing;

/// Length of a launch of a benchmark whose time gates nothing. Measured over 42 kernels, six
/// launches each: times deviate by 2.3 % with 3 and 10 ms, by 2.2 % with 10 and 30 ms.
const BRIEF_WARM_UP: Duration = Duration::from_millis(5);
const BRIEF_MEASUREMENT: Duration = Duration::from_millis(15);

/// Minimum number of agreeing launches on the model.
pub const MIN_AGREEING_LAUNCHES: u32 = 2;

/// Returns the targets to model: those whose settings request it, and those of `auto` that found no
/// counters. Each lists its benchmarks, those that `timed` shows to be able to have slots; if some
/// have several threads, it runs on [one CPU](ONE_CPU).
pub fn wanted(targets: &[BenchTarget], timed: &Collected) -> Vec<BenchTarget> {
    let has_time_of_ours = |target: &BenchTarget| {
        let benchmarks = timed.benchmarks.iter();
        benchmarks.filter(|b| target.has(&b.id)).any(|b| {
            b.provenance().source == SourceKind::Time && can_have_slots(b, target.settings.threads)
        })
    };
    let with_slots_alone = |target: BenchTarget| {
        let own = timed.benchmarks.iter().filter(|b| target.has(&b.id));
        let threads = target.settings.threads;
        let mut has_threads = false;
        let names = own
            .filter(|b| can_have_slots(b, threads))
            .inspect(|b| has_threads |= may_have_threads(b.provenance()))
            .map(|b| b.id.name.clone());
        let benchmarks = Some(names.collect());
        let mut target = BenchTarget {
            benchmarks,
            ..target
        };
        if has_threads {
            put_on_one_cpu(&mut target);
        }
        target
    };
    with_settings(targets, |settings| Settings {
        source: match settings.source {
            // Elsewhere the provenance of the time says why there are no counters.
            SourceChoice::Auto if tracing::CAN_TRACE => SourceChoice::ModelOrTime,
            other => other,
        },
        ..settings
    })
    .into_iter()
    .filter(|t| {
        matches!(
            t.settings.source,
            SourceChoice::Model | SourceChoice::ModelOrTime
        ) && has_time_of_ours(t)
    })
    .map(with_slots_alone)
    .collect()
}

/// What other threads do in benchmarks that time themselves is unknown.
fn may_have_threads(provenance: &Provenance) -> bool {
    provenance.elsewhere.is_some() || provenance.reason == TIMES_ITSELF
}

/// Returns whether only the model has found that benchmarks of this bench target have several
/// threads: on a busy machine they may get no processor while they are timed.
pub fn has_unordered_threads(target: &BenchTarget, modelled: &[Benchmark]) -> bool {
    let is_on_one_cpu = target.environment.contains_key(ONE_CPU);
    let of_target = |b: &&Benchmark| b.id == target.id_of(b.id.name.clone());
    let has_threads = |b: &Benchmark| b.provenance().threads == CountedThreads::All;
    !is_on_one_cpu && modelled.iter().filter(of_target).any(has_threads)
}

/// Lets the launches of `target` keep the order of threads: see [`ONE_CPU`].
pub fn put_on_one_cpu(target: &mut BenchTarget) {
    target.environment.insert(ONE_CPU.to_owned(), "1".into());
}

/// Returns the same targets, with the settings for the model.
pub fn on_the_model(targets: &[BenchTarget], launches: u32) -> Vec<BenchTarget> {
    with_settings(targets, |settings| Settings {
        launches: launches.min(settings.launches),
        sampling: Sampling::Doubling,
        // criterion ends a benchmark after this.
        measurement_time: settings.model_budget.saturating_mul(10),
        ..settings
    })
}

/// Returns the same targets, with the settings for measuring time.
pub fn on_the_clock(targets: &[BenchTarget]) -> Vec<BenchTarget> {
    with_settings(targets, |settings| match settings.source {
        SourceChoice::Model => Settings {
            source: SourceChoice::TimeBesideModel,
            ..settings
        },
        _ => settings,
    })
}

/// As [`briefly`], but once.
pub fn briefly_on_the_clock(targets: &[BenchTarget]) -> Vec<BenchTarget> {
    with_settings(&briefly(targets), |settings| match settings.source {
        SourceChoice::TimeBesideModel => Settings {
            launches: 1,
            ..settings
        },
        _ => settings,
    })
}

/// As [`on_the_clock`], but with short launches if the model provides the slots.
pub fn briefly(targets: &[BenchTarget]) -> Vec<BenchTarget> {
    with_settings(&on_the_clock(targets), |settings| match settings.source {
        SourceChoice::TimeBesideModel => Settings {
            warm_up_time: BRIEF_WARM_UP.min(settings.warm_up_time),
            measurement_time: BRIEF_MEASUREMENT.min(settings.measurement_time),
            ..settings
        },
        _ => settings,
    })
}

/// Returns whether the model could give this benchmark slots. Criterion's own measurement yields
/// only time. The counted `threads` must do the work and not wait, in iterations that are not too
/// long.
pub(super) fn can_have_slots(timed: &Benchmark, threads: Threads) -> bool {
    let provenance = timed.provenance();
    let is_seen = match provenance.elsewhere {
        None => true,
        Some(UncountedWork::OtherThreads { .. }) => threads != Threads::Own,
        Some(UncountedWork::Waiting { .. }) => false,
    };
    is_ours(provenance) && is_seen && !provenance.reason.starts_with(TOO_LONG)
}

/// Returns the same targets with changed settings.
pub fn with_settings(
    targets: &[BenchTarget],
    change: impl Fn(Settings) -> Settings,
) -> Vec<BenchTarget> {
    targets
        .iter()
        .map(|target| BenchTarget {
            settings: change(target.settings),
            ..target.clone()
        })
        .collect()
}

/// Returns the targets with any of these benchmarks.
pub fn targets_of(ids: &[BenchmarkId], targets: &[BenchTarget]) -> Vec<BenchTarget> {
    let has_one = |target: &&BenchTarget| ids.iter().any(|id| target.has(id));
    targets.iter().filter(has_one).cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use topdown_gate::scenario::{self, Planted};
    use topdown_run::provenance::EmptyWindow;

    /// A benchmark that our measurement has timed.
    fn timed() -> Benchmark {
        let mut timed = scenario::timed("b", Planted::default());
        timed.provenance_mut().empty_window = Some(EmptyWindow::default());
        timed
    }

    fn collected(benchmarks: Vec<Benchmark>) -> Collected {
        Collected {
            benchmarks,
            ..Collected::default()
        }
    }

    fn asking_for(source: SourceChoice) -> BenchTarget {
        let mut target = BenchTarget::named("suite", "bench");
        target.settings.source = source;
        target
    }

    #[test]
    fn benchmarks_that_may_have_threads_run_on_one_cpu() {
        let one_cpu = |benchmark| {
            let wanted = wanted(
                &[asking_for(SourceChoice::Model)],
                &collected(vec![benchmark]),
            );
            wanted[0].environment.get(ONE_CPU).cloned()
        };
        assert_eq!(one_cpu(timed()), None);
        let mut pool = timed();
        let elsewhere = UncountedWork::OtherThreads { fraction: 0.5 };
        *pool.provenance_mut() = pool.provenance().with_work(elsewhere);
        assert_eq!(one_cpu(pool), Some("1".into()));
        let mut self_timed = timed();
        self_timed.provenance_mut().reason = TIMES_ITSELF.to_owned();
        assert_eq!(one_cpu(self_timed), Some("1".into()));
    }

    #[test]
    fn threads_that_only_the_model_finds_are_ordered() {
        let mut target = asking_for(SourceChoice::Model);
        target.benchmarks = Some(vec!["another process".to_owned()]);
        let mut modelled = timed();
        assert!(!has_unordered_threads(&target, &[modelled.clone()]));
        modelled.provenance_mut().threads = CountedThreads::All;
        assert!(has_unordered_threads(&target, &[modelled.clone()]));
        modelled.id.target = "other".to_owned();
        assert!(!has_unordered_threads(&target, &[modelled.clone()]));
        modelled.id.target.clone_from(&target.name);
        put_on_one_cpu(&mut target);
        assert!(!has_unordered_threads(&target, &[modelled]));
    }

    #[test]
    fn requested_or_uncounted_benchmarks_are_modelled() {
        let wanted_of = |source, benchmarks| {
            let wanted = wanted(&[asking_for(source)], &collected(benchmarks));
            wanted.first().map(|target| target.settings.source)
        };
        let auto = wanted_of(SourceChoice::Auto, vec![timed()]);
        assert_eq!(auto, Some(SourceChoice::ModelOrTime));
        let asked_for = wanted_of(SourceChoice::Model, vec![timed()]);
        assert_eq!(asked_for, Some(SourceChoice::Model));
        assert_eq!(wanted_of(SourceChoice::Time, vec![timed()]), None);
        // criterion's own measurement; counters; a failed target, which has nothing.
        let mut others = timed();
        others.provenance_mut().empty_window = None;
        assert_eq!(wanted_of(SourceChoice::Model, vec![others]), None);
        let mut counted = timed();
        counted.provenance_mut().source = SourceKind::Hardware;
        assert_eq!(wanted_of(SourceChoice::Auto, vec![counted]), None);
        assert_eq!(wanted_of(SourceChoice::Model, Vec::new()), None);
    }
}
