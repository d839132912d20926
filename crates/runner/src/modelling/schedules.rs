//! Launches that model benchmarks in further orders of their threads.
//!
//! Like the first order, each is modelled once and repeated by its digest. One that does not repeat
//! shows chance, and is left out.

use std::sync::Arc;

use topdown_gate::statistics::agreement::is_exact;
use topdown_run::environment::SCHEDULE;
use topdown_run::provenance::CountedThreads;
use topdown_run::run_file::{Benchmark, BenchmarkId, Series, SlotsValue};
use topdown_run::setting::{SourceChoice, Threads};

use crate::settings::Settings;
use crate::targets::bench_targets::BenchTarget;

/// Returns why these settings allow one order alone, although they request several.
pub fn obstacle(settings: &Settings) -> Option<&'static str> {
    if settings.schedules < 2 {
        None
    } else if settings.threads == Threads::Own {
        Some("with `--threads own` only one thread counts")
    } else if matches!(settings.source, SourceChoice::Hardware | SourceChoice::Time) {
        Some("only the model knows several orders")
    } else if settings.launches < 2 {
        Some("with `--launches 1` nothing shows that an order repeats")
    } else {
        None
    }
}

/// Returns the benchmarks that have several orders: the model counted all threads, and the launches
/// in the first order agree.
pub fn with_order(benchmarks: &[Benchmark]) -> Vec<BenchmarkId> {
    let has_order = |benchmark: &&Benchmark| repeats(benchmark).is_some();
    let benchmarks = benchmarks.iter().filter(has_order);
    benchmarks.map(|benchmark| benchmark.id.clone()).collect()
}

/// Returns what the launches of a benchmark have in common, if they repeat work of all threads.
fn repeats(benchmark: &Benchmark) -> Option<&SlotsValue> {
    let is_of_all = benchmark.provenance().threads == CountedThreads::All;
    let agrees = is_exact(benchmark) && benchmark.launches_differ.is_none();
    benchmark
        .slots_launches()
        .first()
        .filter(|_| is_of_all && agrees)
}

/// Returns the launches of those of `targets` whose settings ask for this schedule, with the
/// benchmarks in `ids` alone.
pub fn in_schedule(
    targets: &[BenchTarget],
    schedule: u32,
    ids: &[BenchmarkId],
) -> Vec<BenchTarget> {
    let asking = targets.iter().filter(|t| schedule < t.settings.schedules);
    let in_schedule = asking.filter_map(|target| {
        let mut target = target.clone();
        let names = target.benchmarks.take().unwrap_or_default();
        let names = names.into_iter();
        let names: Vec<String> = names
            .filter(|name| ids.contains(&target.id_of(name.clone())))
            .collect();
        let value = schedule.to_string().into();
        target.environment.insert(SCHEDULE.to_owned(), value);
        target.benchmarks = Some(names);
        target
            .benchmarks
            .iter()
            .any(|names| !names.is_empty())
            .then_some(target)
    });
    in_schedule.collect()
}

/// Adds the slots of a further schedule to `benchmarks`. Returns those of `ids` that did not repeat
/// in it, or were not modelled at all.
pub fn add(
    benchmarks: &mut [Benchmark],
    ids: &[BenchmarkId],
    schedule: u32,
    modelled: &[Benchmark],
) -> Vec<BenchmarkId> {
    let mut missing = Vec::new();
    for benchmark in benchmarks.iter_mut().filter(|b| ids.contains(&b.id)) {
        let mut same = modelled.iter().filter(|other| other.id == benchmark.id);
        match same.find_map(|other| Some((repeats(other)?, other))) {
            Some((slots, other)) => {
                add_to(benchmark, schedule, slots);
                note_lock(benchmark, other);
            }
            None => missing.push(benchmark.id.clone()),
        }
    }
    missing
}

/// Notes the lock that threads wait for in an `other` order, if they wait for none in those before.
fn note_lock(benchmark: &mut Benchmark, other: &Benchmark) {
    if let (Some(functions), Some(other)) = (&mut benchmark.functions, &other.functions) {
        functions.lock = functions.lock.take().or_else(|| other.lock.clone());
    }
}

fn add_to(benchmark: &mut Benchmark, schedule: u32, slots: &SlotsValue) {
    let numbered = |slots: &SlotsValue, launch| SlotsValue {
        launch,
        ..slots.clone()
    };
    let Some(own) = &benchmark.slots else {
        return;
    };
    let all = benchmark.schedules.get_or_insert_with(|| Series {
        provenance: Arc::clone(&own.provenance),
        launches: own
            .launches
            .iter()
            .take(1)
            .map(|it| numbered(it, 0))
            .collect(),
    });
    all.launches.push(numbered(slots, schedule));
}

#[cfg(test)]
mod tests {
    use super::*;
    use topdown_gate::scenario::{self, Planted, id};

    fn modelled(name: &str, threads: CountedThreads, slots: f64) -> Benchmark {
        let mut benchmark = scenario::modelled(name, Planted::default());
        benchmark.provenance_mut().threads = threads;
        for launch in benchmark.slots_launches_mut() {
            launch.slots = slots;
        }
        benchmark
    }

    #[test]
    fn threads_that_repeat_have_an_order() {
        let alone = modelled("alone", CountedThreads::Own, 1.0);
        let pool = modelled("pool", CountedThreads::All, 1.0);
        let mut chance = modelled("chance", CountedThreads::All, 1.0);
        chance.slots_launches_mut()[1].slots = 2.0;
        assert_eq!(with_order(&[alone, pool, chance]), [id("pool")]);
    }

    #[test]
    fn launches_have_the_benchmarks_that_ask_for_them() {
        let mut target = BenchTarget::named("suite", "bench");
        target.benchmarks = Some(["a", "b"].map(str::to_owned).to_vec());
        target.settings.schedules = 3;
        let ids = [id("b")];
        let launches = in_schedule(&[target.clone()], 2, &ids);
        assert_eq!(launches[0].benchmarks, Some(vec!["b".to_owned()]));
        assert_eq!(launches[0].environment[SCHEDULE], "2");
        assert!(in_schedule(&[target.clone()], 3, &ids).is_empty());
        assert!(in_schedule(&[target], 2, &[id("c")]).is_empty());
    }

    #[test]
    fn schedule_that_does_not_repeat_is_left_out() {
        let pool = |slots| modelled("pool", CountedThreads::All, slots);
        let ids = [id("pool")];
        let mut benchmarks = [pool(1.0)];
        assert!(add(&mut benchmarks, &ids, 1, &[pool(3.0)]).is_empty());
        let mut chance = pool(4.0);
        chance.launches_differ = Some("they differ".to_owned());
        assert_eq!(add(&mut benchmarks, &ids, 2, &[chance]), ids);
        assert_eq!(add(&mut benchmarks, &ids, 3, &[]), ids);
        assert!(add(&mut benchmarks, &ids, 4, &[pool(5.0)]).is_empty());
        let slots = benchmarks[0]
            .schedules()
            .iter()
            .map(|it| (it.launch, it.slots));
        assert_eq!(slots.collect::<Vec<_>>(), [(0, 1.0), (1, 3.0), (4, 5.0)]);
    }
}
