//! Windows that are too short for PERF_METRICS, with scripted benches that claim to have it.

use topdown_counters::cpu::{CoreType, Identity, table_for};
use topdown_counters::machine::this_machine;
use topdown_skipped::{Need, skip};

use crate::fixture::{Fixture, Outcome};

const BENCH: [&str; 6] = ["--bench", "kernels", "--launches", "3", "--", "batched"];
const REGISTER: (&str, &str) = ("FIXTURE_PERF_METRICS", "1");

/// Plain counters are only chosen on CPUs with a table. Without one, there is nothing to test.
fn has_plain_counters() -> bool {
    let machine = this_machine();
    let identity = Identity {
        vendor: &machine.vendor,
        family: machine.family,
        model: machine.model,
        stepping: machine.stepping,
        core: CoreType::Performance,
    };
    let has = table_for(&identity).is_some_and(|table| !table.forms().is_empty());
    if !has {
        skip(
            Need::PlainCounters,
            format!("there is no table of plain counters for {machine}"),
        );
    }
    has
}

/// Returns the formula of the newest run's only benchmark, and its number of launches.
fn counted(fixture: &Fixture) -> (String, usize) {
    let run = fixture.newest_run();
    let [benchmark] = &run.benchmarks[..] else {
        panic!("{:?}", run.benchmarks);
    };
    let launches = benchmark.launches();
    (benchmark.provenance().formula.clone(), launches)
}

fn notes(outcome: &Outcome) -> usize {
    outcome.stderr.matches("too short for PERF_METRICS").count()
}

#[test]
fn short_windows_are_measured_again_by_counters() {
    if !has_plain_counters() {
        return;
    }
    let fixture = Fixture::new();
    let outcome = fixture.bench_with(&BENCH, &[REGISTER]).succeeds();
    assert_eq!(notes(&outcome), 1, "{}", outcome.stderr);
    assert_eq!(counted(&fixture), ("exact/1".to_owned(), 3));
}

#[test]
fn requested_register_is_kept() {
    let fixture = Fixture::new();
    let words = [&["--counters", "metrics"], &BENCH[..]].concat();
    let outcome = fixture.bench_with(&words, &[REGISTER]).succeeds();
    assert_eq!(notes(&outcome), 0, "{}", outcome.stderr);
    let (formula, launches) = counted(&fixture);
    assert!(formula.starts_with("intel-perf-metrics"), "{formula}");
    assert_eq!(launches, 3);
}
