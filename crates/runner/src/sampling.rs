//! Launches in which the hardware records PMU samples, and the functions from them.
//!
//! A thread has one slots counter, and each PMU sample costs about as much as a short window. So
//! these are further launches, which give functions and nothing else.

use topdown_counters::cpu::{FORMULA_LEVEL1, FORMULA_LEVEL2};
use topdown_run::code_samples::MIN_PMU_SAMPLES;
use topdown_run::code_samples::SamplingEngine;
use topdown_run::provenance::{CountedThreads, SourceKind};
use topdown_run::run_file::{Benchmark, BenchmarkId, Functions};
use topdown_run::setting::{Counters, SourceChoice, Threads};

use crate::gathering::outcome::Outcome;
use crate::gathering::relaunch::restricted_to;
use crate::settings::Settings;
use crate::targets::bench_targets::BenchTarget;

/// Number of launches of a benchmark for its functions.
const LAUNCHES: u32 = 3;

/// Returns the launches that give functions to the benchmarks that the hardware has counted.
pub fn wanted(targets: &[BenchTarget], counted: &[Benchmark]) -> Vec<BenchTarget> {
    let ids: Vec<BenchmarkId> = counted
        .iter()
        .filter(is_wanted)
        .map(|b| b.id.clone())
        .collect();
    let mut wanted = restricted_to(&ids, targets, |_| LAUNCHES);
    for target in &mut wanted {
        let of_register = counted
            .iter()
            .filter(|b| target.has(&b.id))
            .all(|b| is_register(&b.provenance().formula));
        target.settings = Settings {
            source: SourceChoice::Hardware,
            threads: Threads::Own,
            counters: match target.settings.counters {
                // As the earlier launches decided.
                Counters::Auto if !of_register => Counters::Exact,
                counters => counters,
            },
            fingerprints: false,
            ..target.settings
        };
    }
    wanted
}

/// Returns whether a formula is that of PERF_METRICS.
fn is_register(formula: &str) -> bool {
    [FORMULA_LEVEL1, FORMULA_LEVEL2].contains(&formula)
}

fn is_wanted(benchmark: &&Benchmark) -> bool {
    is_counted(benchmark) && !works_on_other_threads(benchmark)
}

/// Returns whether the hardware has counted a benchmark.
pub fn is_counted(benchmark: &Benchmark) -> bool {
    benchmark.slots.is_some() && benchmark.provenance().source == SourceKind::Hardware
}

fn works_on_other_threads(benchmark: &Benchmark) -> bool {
    benchmark.provenance().threads == CountedThreads::All
}

/// Adds the functions that the launches in `hit` found to the benchmarks in `counted`. Returns each
/// benchmark that has none, and why.
pub fn join(counted: &mut [Benchmark], hit: &mut Outcome) -> Vec<(BenchmarkId, String)> {
    let mut unknown = Vec::new();
    for benchmark in counted.iter_mut().filter(|b| is_counted(b)) {
        match functions_of(benchmark, hit) {
            Ok(functions) => benchmark.functions = Some(functions),
            Err(why) => unknown.push((benchmark.id.clone(), why)),
        }
    }
    unknown
}

fn functions_of(benchmark: &Benchmark, hit: &mut Outcome) -> Result<Box<Functions>, String> {
    if works_on_other_threads(benchmark) {
        return Err("other threads do its work, and only one thread can be sampled".to_owned());
    }
    let id = &benchmark.id;
    let target = format!("{}::{}", id.package, id.target);
    if let Some(failure) = hit.failures.iter().find(|failure| failure.target == target) {
        return Err(match failure.own_error() {
            Some(error) => error.to_owned(),
            None => failure.error.to_string(),
        });
    }
    let collected = &mut hit.collected;
    if let Some(error) = collected.errors.iter().find(|error| error.id() == id) {
        return Err(error.to_string());
    }
    let found = collected.benchmarks.iter_mut().find(|b| b.id == *id);
    let functions = found.and_then(|found| {
        let formula = benchmark.provenance().formula.as_str();
        let functions = found.functions.take();
        let other = found.provenance().formula.as_str();
        // Plain counters split the slots of the register's cores into the same categories.
        let is_alike = |functions: &Functions| {
            let engine = functions.sampled.map(|sampled| sampled.engine);
            formula == other || is_register(formula) && engine == Some(SamplingEngine::OwnPeriods)
        };
        functions.filter(|functions| is_alike(functions))
    });
    let hits = functions
        .as_ref()
        .and_then(|functions| functions.sampled)
        .map(|functions| functions.hits);
    match (functions, hits) {
        (Some(functions), Some(MIN_PMU_SAMPLES..)) => Ok(functions),
        (Some(_), Some(hits)) => Err(format!(
            "only {hits} PMU samples; at least {MIN_PMU_SAMPLES} are needed; raise `--measurement-time`"
        )),
        _ => Err("the bench recorded no PMU samples".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gathering::benchmark_error::BenchmarkError;
    use crate::gathering::outcome::TargetFailure;
    use crate::launching::launch_error::LaunchError;
    use topdown_gate::scenario::{Planted, benchmark, modelled, timed, with_functions};
    use topdown_run::code_samples::Sampled;

    fn target() -> BenchTarget {
        let id = benchmark("b", Planted::default()).id;
        BenchTarget::named(&id.package, &id.target)
    }

    fn counted(name: &str, formula: &str) -> Benchmark {
        let mut counted = benchmark(name, Planted::default());
        counted.provenance_mut().formula = formula.to_owned();
        counted
    }

    fn hit(hits: u64) -> Benchmark {
        let functions = [(Some("f"), None, [400, 100, 150, 344])];
        let mut hit = with_functions(counted("b", FORMULA_LEVEL2), &functions);
        let functions = hit.functions.as_mut().unwrap();
        functions.sampled = Some(Sampled {
            hits,
            ..Sampled::default()
        });
        hit
    }

    #[test]
    fn functions_use_counters_of_the_measurement() {
        let all = [
            counted("b", FORMULA_LEVEL2),
            timed("t", Planted::default()),
            modelled("m", Planted::default()),
        ];
        let launches = wanted(&[target()], &all);
        let [launch] = &launches[..] else {
            panic!("{launches:?}")
        };
        assert_eq!(launch.benchmarks, Some(vec!["b".to_owned()]));
        assert_eq!(launch.settings.source, SourceChoice::Hardware);
        assert_eq!(launch.settings.launches, LAUNCHES);
        let launches = wanted(&[target()], &[counted("b", "golden-cove-exact/1")]);
        assert_eq!(launches[0].settings.counters, Counters::Exact);
        assert!(wanted(&[target()], &all[1..]).is_empty());
        let mut threads = counted("b", FORMULA_LEVEL2);
        threads.provenance_mut().threads = CountedThreads::All;
        assert!(wanted(&[target()], &[threads]).is_empty());
    }

    #[test]
    fn functions_join_their_benchmark_and_time_has_none() {
        let mut both = [counted("b", FORMULA_LEVEL2), timed("t", Planted::default())];
        let notes = join(&mut both, &mut Outcome::of(vec![hit(MIN_PMU_SAMPLES)]));
        assert_eq!(notes, []);
        assert_eq!(both[0].functions.as_ref().unwrap().largest.len(), 1);
        assert_eq!(both[1].functions, None);
    }

    /// Where PERF_METRICS counts, plain counters can have periods of their own.
    #[test]
    fn register_takes_functions_only_from_own_periods() {
        let joined = |engine| {
            let mut by_counters = hit(MIN_PMU_SAMPLES);
            by_counters.provenance_mut().formula = "golden-cove-exact/1".to_owned();
            let functions = by_counters.functions.as_mut().unwrap();
            functions.sampled.as_mut().unwrap().engine = engine;
            let mut benchmarks = [counted("b", FORMULA_LEVEL2)];
            join(&mut benchmarks, &mut Outcome::of(vec![by_counters]));
            benchmarks[0].functions.is_some()
        };
        assert!(joined(SamplingEngine::OwnPeriods));
        assert!(!joined(SamplingEngine::Counters));
    }

    #[test]
    fn missing_functions_have_a_reason() {
        let note = |benchmark: Benchmark, mut hit: Outcome| {
            let mut benchmarks = [benchmark];
            let notes = join(&mut benchmarks, &mut hit);
            assert_eq!(benchmarks[0].functions, None);
            notes.into_iter().map(|(_, why)| why).collect::<String>()
        };
        let few = note(counted("b", FORMULA_LEVEL2), Outcome::of(vec![hit(99)]));
        assert!(
            few.contains("only 99 PMU samples; at least 100 are needed"),
            "{few}"
        );
        let other = note(
            counted("b", "golden-cove-exact/1"),
            Outcome::of(vec![hit(5000)]),
        );
        assert!(other.contains("recorded no PMU samples"), "{other}");
        let mut threads = counted("b", FORMULA_LEVEL2);
        threads.provenance_mut().threads = CountedThreads::All;
        let threads = note(threads, Outcome::default());
        assert!(threads.contains("other threads do its work"), "{threads}");
        let mut failed = Outcome::default();
        failed.failures.push(TargetFailure {
            target: target().to_string(),
            launch: 1,
            error: LaunchError::NotConnected,
            output: "a line\nerror: the page budget is used up\n".to_owned(),
        });
        let failed = note(counted("b", FORMULA_LEVEL2), failed);
        assert!(failed.ends_with("the page budget is used up"), "{failed}");
        let mut lost = Outcome::default();
        lost.collected.errors.push(BenchmarkError::NothingUsable {
            id: counted("b", "").id,
            least: 2,
            doubts: "flags: not-counting".to_owned(),
        });
        let lost = note(counted("b", FORMULA_LEVEL2), lost);
        assert!(lost.contains("not-counting"), "{lost}");
    }
}
