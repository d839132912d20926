//! Modelled slots beside measured time.
//!
//! A traced window takes some hundred times as long as the code itself, so launches of their own
//! measure the time.
//!
//! If the model was requested, a bench target that cannot be launched on it has failed. If it is
//! the fallback (`auto`, on a machine without usable counters), the target keeps its time, with the
//! reason.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use topdown_gate::physical::Impossible;
use topdown_gate::statistics::agreement::slots_agree;
use topdown_run::provenance::{Provenance, SourceKind};
use topdown_run::run_file::{Benchmark, BenchmarkId, Series};
use topdown_run::setting::{SourceChoice, Threads};

use crate::gathering::benchmark_error::BenchmarkError;
use crate::gathering::collect::Collected;
use crate::gathering::outcome::{Outcome, TargetFailure};
use crate::launching::join::is_ours;
use crate::modelling::model_or_clock::can_have_slots;
use crate::targets::bench_targets::BenchTarget;

/// Returns the benchmarks whose modelled launches differ.
pub fn disagreeing(modelled: &Outcome) -> Vec<BenchmarkId> {
    let disagrees = |benchmark: &Benchmark| {
        let is_modelled = benchmark.provenance().source == SourceKind::Model;
        // Groups of units always differ.
        let is_sampled = benchmark.provenance().sampled_units.is_some();
        let differs =
            benchmark.launches_differ.is_some() || !slots_agree(benchmark.slots_launches());
        is_modelled && !is_sampled && differs
    };
    let benchmarks = modelled.collected.benchmarks.iter();
    let disagreeing = benchmarks.filter(|b| disagrees(b));
    disagreeing.map(|b| b.id.clone()).collect()
}

/// Returns how long each modelled benchmark was traced, over all launches in `modelled` and without
/// warm-ups.
pub fn times(modelled: &Collected) -> Vec<(&BenchmarkId, Duration)> {
    let mut times: Vec<(&BenchmarkId, Duration)> = Vec::new();
    let is_timed = |b: &&Benchmark| b.provenance().source == SourceKind::Time;
    let timed = modelled.benchmarks.iter().filter(is_timed);
    let timed: HashSet<&BenchmarkId> = timed.map(|benchmark| &benchmark.id).collect();
    let samples = modelled.samples.iter();
    for launch in samples.filter(|sample| !timed.contains(&sample.benchmark)) {
        let id = &launch.benchmark;
        let ns = launch.samples.iter().map(|s| s.sample.wall_ns).sum();
        let took = Duration::from_nanos(ns);
        match times.iter_mut().find(|(known, _)| *known == id) {
            Some((_, total)) => *total += took,
            None => times.push((id, took)),
        }
    }
    times
}

/// Returns whether only some launches of a benchmark were modelled. Near the model's budget that
/// happens if launches execute different instructions, as with several threads.
fn is_too_long(error: &BenchmarkError) -> bool {
    match error {
        BenchmarkError::Mixed { .. } | BenchmarkError::NothingUsable { .. } => true,
        BenchmarkError::DroppedOut { .. }
        | BenchmarkError::SameName { .. }
        | BenchmarkError::Renamed { .. } => false,
    }
}

fn why_not(error: &BenchmarkError) -> String {
    if is_too_long(error) {
        "the budget has no room for two iterations in every launch; raise it with `--model-budget`"
            .to_owned()
    } else {
        error.to_string()
    }
}

/// Adds the series of modelled slots to the benchmarks with measured times. A benchmark that could
/// not be modelled keeps its time, and its provenance says why; that is an error only if `targets`
/// request the model.
pub fn join(timed: &mut Outcome, mut modelled: Outcome, targets: &[BenchTarget]) {
    for benchmark in &timed.collected.benchmarks {
        let target = targets.iter().find(|target| target.has(&benchmark.id));
        let threads = target.map_or(Threads::Auto, |target| target.settings.threads);
        if !can_have_slots(benchmark, threads) {
            modelled.collected.forget(&benchmark.id);
        }
    }
    let asked_for = |id: &BenchmarkId| {
        let mut targets = targets.iter();
        targets.any(|t| t.settings.source == SourceChoice::Model && t.has(id))
    };
    let (failures, without): (Vec<_>, Vec<_>) =
        modelled.failures.into_iter().partition(|failure| {
            let target = targets.iter().find(|t| t.to_string() == failure.target);
            target.is_none_or(|t| t.settings.source == SourceChoice::Model)
        });
    timed.failures.extend(first_of_each_target(failures));
    timed.not_modelled.extend(first_of_each_target(without));
    let mut errors = modelled.collected.errors;
    let mut by_id: HashMap<BenchmarkId, Benchmark> = modelled
        .collected
        .benchmarks
        .into_iter()
        .map(|benchmark| (benchmark.id.clone(), benchmark))
        .collect();
    let timed = &mut timed.collected;
    for benchmark in &mut timed.benchmarks {
        // criterion's own measurement only yields time, on the model too.
        if !is_ours(benchmark.provenance()) {
            by_id.remove(&benchmark.id);
            continue;
        }
        let why_second =
            (!asked_for(&benchmark.id)).then(|| benchmark.times.provenance.without_work().reason);
        let with_why = |reason: &str| match &why_second {
            Some(why) => format!("{reason} ({why})"),
            None => reason.to_owned(),
        };
        if let Some(error) = errors.iter().find(|error| *error.id() == benchmark.id) {
            Arc::make_mut(&mut benchmark.times.provenance).reason =
                with_why(&format!("not modelled: {}", why_not(error)));
        }
        let Some(model) = by_id.remove(&benchmark.id) else {
            continue;
        };
        let elsewhere = benchmark.times.provenance.elsewhere;
        let slots = model.slots.as_ref();
        let lacks_others = slots.and_then(|slots| slots.provenance.others_not_traced.clone());
        match (model.slots, elsewhere.and(lacks_others)) {
            // Of this thread, which is not the only one that works.
            (Some(_), Some(why)) => {
                let times = benchmark.times.provenance.without_others(&why);
                benchmark.times.provenance = Arc::new(times);
            }
            (Some(mut slots), None) if slots.provenance.source == SourceKind::Model => {
                if elsewhere.is_some() {
                    let provenance = benchmark.times.provenance.without_work();
                    benchmark.times.provenance = Arc::new(provenance);
                }
                let provenance = Arc::make_mut(&mut slots.provenance);
                provenance.reason = with_why(&provenance.reason);
                benchmark.slots = Some(slots);
                benchmark.schedules = model.schedules;
                benchmark.functions = model.functions;
                benchmark.call_paths = model.call_paths;
                benchmark.fingerprint = model.fingerprint;
                benchmark.launches_differ = model.launches_differ;
                benchmark.cold = model.cold;
                if let Some(impossible) = Impossible::of(benchmark) {
                    let mut provenance = Provenance::clone(&benchmark.times.provenance);
                    provenance.reason = with_why(&impossible.reason(SourceKind::Model));
                    *benchmark = Benchmark {
                        times: Series {
                            provenance: Arc::new(provenance.clone()),
                            launches: std::mem::take(&mut benchmark.times.launches),
                        },
                        throughput: benchmark.throughput.take(),
                        ..Benchmark::of_launches(benchmark.id.clone(), provenance, [])
                    };
                }
            }
            _ => {
                benchmark.times.provenance = model.times.provenance;
                let provenance = Arc::make_mut(&mut benchmark.times.provenance);
                provenance.reason = with_why(&provenance.reason);
                provenance.elsewhere = elsewhere;
            }
        }
    }
    timed.samples.extend(modelled.collected.samples);
    timed.by_address.extend(modelled.collected.by_address);
    // A benchmark without time was reported before. One too long for the budget keeps its time.
    let has_time = |id: &BenchmarkId| timed.benchmarks.iter().any(|b| b.id == *id);
    errors.retain(|error| !is_too_long(error) && asked_for(error.id()) && has_time(error.id()));
    timed.errors.extend(errors);
    timed.lost_launches.extend(modelled.collected.lost_launches);
    timed.residuals.extend(modelled.collected.residuals);
}

/// Keeps the first failure of each target. An obstacle to modelling a target would otherwise be
/// reported for each of its benchmarks.
fn first_of_each_target(mut failures: Vec<TargetFailure>) -> Vec<TargetFailure> {
    let mut reported = HashSet::new();
    failures.retain(|failure| reported.insert(failure.target.clone()));
    failures
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::launching::launch_error::LaunchError;
    use crate::modelling::model_or_clock::wanted;
    use topdown_gate::scenario::{Launch, with_launches};
    use topdown_run::activity::UncountedWork;
    use topdown_run::provenance::{CountedThreads, EmptyWindow};
    use topdown_run::run_file::{IterationSample, LaunchSamples};
    use topdown_run::sample::Sample;

    fn launch(launch: u32, wall_ns: f64, slots: Option<f64>) -> Launch {
        Launch {
            launch,
            wall_ns,
            slots,
            ..Launch::default()
        }
    }

    const CLOCK: EmptyWindow = EmptyWindow {
        slots: None,
        instructions: None,
        cycles: None,
        wall_ns: 20,
    };

    /// A benchmark that our measurement has timed in three launches, under `auto` without counters.
    fn timed() -> Outcome {
        let launches = (0..3).map(|r| launch(r, 10.0 + f64::from(r), None));
        let mut timed = with_launches("b", SourceKind::Time, launches.collect());
        timed.provenance_mut().reason = "no counters".to_owned();
        timed.provenance_mut().empty_window = Some(CLOCK);
        Outcome::of(vec![timed])
    }

    fn target(source: SourceChoice) -> BenchTarget {
        let mut target = BenchTarget::named("suite", "bench");
        target.settings.source = source;
        target
    }

    fn failure() -> Outcome {
        Outcome {
            failures: vec![TargetFailure {
                target: "suite::bench".to_owned(),
                launch: 1,
                error: LaunchError::NotConnected,
                output: String::new(),
            }],
            ..Outcome::default()
        }
    }

    #[test]
    fn slots_come_from_model_and_time_from_clock() {
        let mut outcome_of_both = timed();
        let launches = (0..2).map(|r| launch(r, 9999.0, Some(100.0)));
        let mut modelled = with_launches("b", SourceKind::Model, launches.collect());
        modelled.provenance_mut().reason = "a model".to_owned();
        let targets = [target(SourceChoice::ModelOrTime)];
        join(&mut outcome_of_both, Outcome::of(vec![modelled]), &targets);
        let joined = &outcome_of_both.collected.benchmarks[0];
        assert_eq!(joined.provenance().source, SourceKind::Model);
        assert_eq!(joined.provenance().reason, "a model (no counters)");
        let slots: Vec<f64> = joined.slots_launches().iter().map(|v| v.slots).collect();
        assert_eq!(slots, [100.0; 2]);
        let times = joined.times.launches.iter().map(|time| time.wall_ns);
        assert_eq!(times.collect::<Vec<_>>(), [10.0, 11.0, 12.0]);
        assert_eq!(joined.times.provenance.reason, "no counters");
    }

    #[test]
    fn slots_of_delegating_thread_are_dropped() {
        let mut outcome_of_both = timed();
        let elsewhere = UncountedWork::OtherThreads { fraction: 0.9 };
        let provenance = outcome_of_both.collected.benchmarks[0].provenance_mut();
        *provenance = provenance.with_work(elsewhere);
        let mut targets = [target(SourceChoice::ModelOrTime)];
        targets[0].settings.threads = Threads::Own;
        assert!(wanted(&targets, &outcome_of_both.collected).is_empty());
        targets[0].settings.threads = Threads::Auto;
        assert_eq!(wanted(&targets, &outcome_of_both.collected).len(), 1);
        let launches = (0..2).map(|r| launch(r, 9999.0, Some(100.0)));
        let mut modelled = with_launches("b", SourceKind::Model, launches.collect());
        *modelled.provenance_mut() = modelled.provenance().without_others("no signal");
        let own = Outcome::of(vec![modelled.clone()]);
        join(&mut outcome_of_both, own, &targets);
        let joined = &outcome_of_both.collected.benchmarks[0];
        assert_eq!(joined.provenance().source, SourceKind::Time);
        assert_eq!(joined.provenance().elsewhere, Some(elsewhere));
        assert_eq!(joined.slots, None);
        let reason = &joined.provenance().reason;
        assert!(
            reason.ends_with(", other threads not traced: no signal"),
            "{reason}"
        );
        let why = joined.provenance().others_not_traced.as_deref();
        assert_eq!(why, Some("no signal"));
        modelled.provenance_mut().others_not_traced = None;

        // Others used processor time, but little outside of the kernel: they are counted too.
        for threads in [CountedThreads::Own, CountedThreads::All] {
            let mut outcome_of_both = timed();
            let provenance = outcome_of_both.collected.benchmarks[0].provenance_mut();
            *provenance = provenance.with_work(elsewhere);
            modelled.provenance_mut().threads = threads;
            modelled.provenance_mut().reason = "a model".to_owned();
            let modelled = Outcome::of(vec![modelled.clone()]);
            join(&mut outcome_of_both, modelled, &targets);
            let joined = &outcome_of_both.collected.benchmarks[0];
            assert_eq!(joined.provenance().threads, threads);
            assert_eq!(joined.provenance().elsewhere, None);
            assert_eq!(joined.provenance().reason, "a model (no counters)");
            assert_eq!(joined.times.provenance.elsewhere, None);
            assert_eq!(joined.times.provenance.reason, "no counters");
        }
    }

    #[test]
    fn untraced_threads_keep_their_work_in_the_time() {
        let mut outcome_of_both = timed();
        let elsewhere = UncountedWork::OtherThreads { fraction: 0.9 };
        let provenance = outcome_of_both.collected.benchmarks[0].provenance_mut();
        *provenance = provenance.with_work(elsewhere);
        let mut stuck = with_launches("b", SourceKind::Time, vec![launch(0, 9999.0, None)]);
        stuck.provenance_mut().reason = "not modelled: all threads wait".to_owned();
        let targets = [target(SourceChoice::Model)];
        join(&mut outcome_of_both, Outcome::of(vec![stuck]), &targets);
        let provenance = outcome_of_both.collected.benchmarks[0].provenance();
        assert_eq!(provenance.elsewhere, Some(elsewhere));
        assert_eq!(provenance.reason, "not modelled: all threads wait");
    }

    #[test]
    fn waiting_benchmark_is_not_modelled() {
        let mut waiting = timed();
        let provenance = waiting.collected.benchmarks[0].provenance_mut();
        *provenance = provenance.with_work(UncountedWork::Waiting { fraction: 0.9 });
        let mut targets = [target(SourceChoice::ModelOrTime)];
        targets[0].settings.threads = Threads::All;
        assert!(wanted(&targets, &waiting.collected).is_empty());
    }

    #[test]
    fn modelled_value_counts_once_per_launch() {
        for modelled in [&[7.0][..], &[7.0, 8.0], &[7.0, 7.0]] {
            let launches = (0..).zip(modelled);
            let launches = launches.map(|(r, slots)| launch(r, 10.0, Some(*slots)));
            let model = with_launches("b", SourceKind::Model, launches.collect());
            let mut joined = timed();
            join(
                &mut joined,
                Outcome::of(vec![model]),
                &[target(SourceChoice::Model)],
            );
            let benchmark = &joined.collected.benchmarks[0];
            let slots: Vec<f64> = benchmark.slots_launches().iter().map(|v| v.slots).collect();
            assert_eq!(slots, modelled);
            assert_eq!(benchmark.times.launches.len(), 3);
        }
    }

    #[test]
    fn unmodelled_benchmark_keeps_time_and_reason() {
        let mut outcome_of_both = timed();
        let mut long = with_launches("b", SourceKind::Time, vec![launch(0, 9999.0, None)]);
        long.provenance_mut().reason = "too long".to_owned();
        let targets = [target(SourceChoice::Model)];
        join(&mut outcome_of_both, Outcome::of(vec![long]), &targets);
        let joined = &outcome_of_both.collected.benchmarks[0];
        assert_eq!(joined.times.launches[0].wall_ns, 10.0);
        assert_eq!(joined.provenance().reason, "too long");
    }

    #[test]
    fn model_failure_fails_only_requested_model() {
        for (source, failed) in [(SourceChoice::Model, 1), (SourceChoice::ModelOrTime, 0)] {
            let mut outcome = timed();
            join(&mut outcome, failure(), &[target(source)]);
            assert_eq!(outcome.failures.len(), failed, "{source:?}");
            assert_eq!(outcome.not_modelled.len(), 1 - failed, "{source:?}");
            assert_eq!(outcome.collected.benchmarks.len(), 1);
        }
    }

    #[test]
    fn partly_too_long_benchmark_keeps_its_time() {
        let id = || with_launches("b", SourceKind::Time, Vec::new()).id;
        let mixed = || BenchmarkError::Mixed {
            id: id(),
            first: "time (time/1)".to_owned(),
            other: "model (model/1)".to_owned(),
            launch: 2,
        };
        let unusable = || BenchmarkError::NothingUsable {
            id: id(),
            least: 2,
            doubts: "flags: not-counting".to_owned(),
        };
        let gone = || BenchmarkError::DroppedOut {
            id: id(),
            ran: 1,
            launches: 2,
            missing: "launch 2".to_owned(),
        };
        for (source, error, errors, why) in [
            (
                SourceChoice::Model,
                mixed(),
                0,
                "raise it with `--model-budget`",
            ),
            (
                SourceChoice::Model,
                unusable(),
                0,
                "raise it with `--model-budget`",
            ),
            (SourceChoice::Model, gone(), 1, "ran in 1 of 2 launches"),
            (
                SourceChoice::ModelOrTime,
                gone(),
                0,
                "ran in 1 of 2 launches",
            ),
        ] {
            let mut outcome = timed();
            let mut modelled = Outcome::default();
            modelled.collected.errors.push(error);
            join(&mut outcome, modelled, &[target(source)]);
            assert_eq!(outcome.collected.errors.len(), errors, "{source:?} {why}");
            let benchmark = &outcome.collected.benchmarks[0];
            assert_eq!(benchmark.provenance().source, SourceKind::Time);
            let reason = &benchmark.provenance().reason;
            assert!(
                reason.contains("not modelled: ") && reason.contains(why),
                "{reason}"
            );
        }
    }

    #[test]
    fn time_covers_all_launches() {
        let id = |name: &str| with_launches(name, SourceKind::Model, Vec::new()).id;
        let sample = |wall_ns| IterationSample {
            iterations: 1,
            sample: Sample {
                wall_ns,
                ..Sample::EMPTY
            },
        };
        let launch = |name, launch, samples| LaunchSamples {
            benchmark: id(name),
            source: SourceKind::Model,
            launch,
            samples,
            groups: Vec::new(),
        };
        let modelled = Collected {
            samples: vec![
                launch("a", 0, vec![sample(1), sample(2)]),
                launch("b", 0, vec![sample(5)]),
                launch("a", 1, vec![sample(4)]),
                launch("too long", 0, vec![sample(900)]),
            ],
            benchmarks: vec![with_launches("too long", SourceKind::Time, Vec::new())],
            ..Collected::default()
        };
        let expected = [
            (&id("a"), Duration::from_nanos(7)),
            (&id("b"), Duration::from_nanos(5)),
        ];
        assert_eq!(times(&modelled), expected);
    }
}
