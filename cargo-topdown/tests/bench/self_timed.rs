//! Benchmarks that time themselves, on the model.

use topdown_run::provenance::{SourceKind, TIMES_ITSELF};

use crate::fixture::Fixture;

const SELF_TIMED: [&str; 12] = [
    "--bench",
    "self_timed",
    "--features",
    "self-timed",
    "--source",
    "model",
    "--sample-size",
    "10",
    "--warm-up-time",
    "0.01",
    "--measurement-time",
    "0.02",
];

#[test]
fn windows_are_where_the_closure_looks_at_the_clock() {
    let fixture = Fixture::new();
    fixture.bench_with(&SELF_TIMED, &[]).succeeds();
    let run = fixture.newest_run();
    let slots = |name: &str| {
        let benchmark = run.benchmarks.iter().find(|b| b.id.name == name).unwrap();
        let launches = benchmark.slots_launches();
        let slots: Vec<f64> = launches.iter().map(|launch| launch.slots).collect();
        assert!(
            slots.windows(2).all(|pair| pair[0] == pair[1]),
            "{name}: {slots:?}"
        );
        *slots
            .first()
            .unwrap_or_else(|| panic!("{name}: {}", benchmark.provenance().reason))
    };
    let reference_slots = slots("by criterion");
    for (name, times) in [
        ("once", 1.0),
        ("looks first", 1.0),
        ("in parts", 1.0),
        ("threads", 2.0),
    ] {
        let ratio = slots(name) / (times * reference_slots);
        // A window of each iteration also has what it costs to look at the clock, and to wait.
        assert!((0.98..1.2).contains(&ratio), "{name}: {ratio}");
    }
    // The last thread to arrive at the barrier has its turn before the window begins.
    let ratio = slots("released threads") / (4.0 * reference_slots);
    assert!((0.9..1.2).contains(&ratio), "released threads: {ratio}");
}

#[test]
fn unexplained_duration_has_only_time() {
    let fixture = Fixture::new();
    let words = [&SELF_TIMED[..], &["by half"]].concat();
    fixture.bench_with(&words, &[]).succeeds();
    let run = fixture.newest_run();
    assert_eq!(run.benchmarks.len(), 2);
    for benchmark in &run.benchmarks {
        let provenance = benchmark.provenance();
        assert_eq!(provenance.source, SourceKind::Time, "{}", benchmark.id);
        assert_eq!(provenance.reason, TIMES_ITSELF, "{}", benchmark.id);
    }
}

#[test]
fn slowdown_of_self_timed_work_is_found() {
    let fixture = Fixture::new();
    let bench = |percent, more: &[&str]| {
        let words = [&SELF_TIMED[..], &["once|in parts|threads"], more].concat();
        let environment = [("FIXTURE_SELF_TIMED_WORK", percent)];
        fixture.bench_with(&words, &environment).succeeds();
    };
    bench("100", &["--save", "main"]);
    bench("100", &[]);
    let same = fixture.plain(&["topdown", "compare", "main"], &[]);
    assert_eq!(same.code, Some(0), "{}", same.stdout);
    bench("110", &[]);
    let compared = fixture.plain(&["topdown", "compare", "main", "--json"], &[]);
    assert_eq!(compared.code, Some(100), "{}", compared.stdout);
    let json: serde_json::Value = serde_json::from_str(&compared.stdout).unwrap();
    for verdict in json["benchmarks"].as_array().unwrap() {
        assert_eq!(verdict["verdict"], "regressed", "{verdict:#}");
        assert_eq!(verdict["evidence"]["method"], "exact");
    }
}
