//! The gate on the model: a real change of a benchmark's data, modelled slots, and the cause.

use topdown_run::provenance::SourceKind;
use topdown_run::run_file::{Benchmark, IterationSample, read_samples};
use topdown_run::sample::Flags;

use crate::fixture::Fixture;

const ORDERED: [&str; 6] = [
    "--bench",
    "ordered",
    "--features",
    "collections",
    "--source",
    "model",
];

/// From vectors to linked lists whose nodes are wherever the allocator had room.
#[test]
fn slower_collection_fails_as_memory_bound() {
    let fixture = Fixture::new();
    let bench = |collection, more: &[&str]| {
        let environment = [("FIXTURE_COLLECTION", collection)];
        fixture.bench_with(&[&ORDERED, more].concat(), &environment)
    };
    bench("vector", &["--save", "main"]).succeeds();
    bench("vector", &[]).succeeds();
    let same = fixture.plain(&["topdown", "compare", "main"], &[]);
    assert_eq!(same.code, Some(0), "{}", same.stdout);
    bench("list", &[]).succeeds();
    let compared = fixture.plain(&["topdown", "compare", "main", "--json"], &[]);
    assert_eq!(compared.code, Some(100), "{}", compared.stdout);
    let json: serde_json::Value = serde_json::from_str(&compared.stdout).unwrap();
    let verdict = &json["benchmarks"][0];
    assert_eq!(verdict["verdict"], "regressed");
    assert_eq!(verdict["evidence"]["method"], "exact");
    let cause = &verdict["cause"];
    assert_eq!(cause["kind"]["category"], "backend_bound");
    let difference = cause["difference"].as_f64().unwrap();
    let details = cause["parts"][0]["details"].as_array().unwrap();
    let memory = details.iter().find(|part| part["name"] == "memory bound");
    let memory = memory.unwrap()["difference"].as_f64().unwrap();
    assert!(memory > 0.5 * difference, "{cause:#}");
}

/// A launch that ends as soon as its slots no longer change counts as much as the change is.
#[test]
fn small_change_is_found_in_launches_that_end_early() {
    let fixture = Fixture::new();
    let bench = |divisions, more: &[&str]| {
        let words = ["--bench", "functions", "--source", "model", "two functions"];
        let environment = [
            ("FIXTURE_DIVISIONS", divisions),
            // Twice as many iterations would fit.
            ("CARGO_TOPDOWN_MODEL_BUDGET", "1"),
        ];
        fixture
            .bench_with(&[&words, more].concat(), &environment)
            .succeeds();
        let samples = read_samples(&fixture.newest()).unwrap();
        let mut modelled = samples
            .iter()
            .filter(|launch| launch.source == SourceKind::Model);
        let samples = &modelled.next().unwrap().samples;
        let iterations = samples.iter().map(|sample| sample.iterations);
        assert_eq!(iterations.collect::<Vec<_>>(), [1, 2, 4, 8, 16]);
    };
    bench("8000", &["--save", "main"]);
    bench("8400", &[]);
    let compared = fixture.plain(&["topdown", "compare", "main", "--json"], &[]);
    assert_eq!(compared.code, Some(100), "{}", compared.stdout);
    let json: serde_json::Value = serde_json::from_str(&compared.stdout).unwrap();
    let verdict = &json["benchmarks"][0];
    assert_eq!(verdict["evidence"]["method"], "exact");
    let slots = &verdict["effects"][0];
    let slots_of = |side: &str| slots[side].as_f64().unwrap();
    let growth = slots_of("candidate") / slots_of("baseline") - 1.0;
    assert!((growth - 0.05).abs() < 0.001, "{slots:#}");
}

/// The benchmark before them leaves other holes in the heap.
#[test]
fn benchmark_does_not_depend_on_earlier_ones() {
    let fixture = Fixture::new();
    let slots = ["24", "40"].map(|litter| {
        let run = fixture
            .bench_with(&ORDERED, &[("FIXTURE_LITTER", litter)])
            .succeeds();
        let benchmarks = fixture.newest_run().benchmarks;
        assert_eq!(benchmarks.len(), 3, "{}", run.stderr);
        let slots_of = |b: &Benchmark| (b.id.name.clone(), b.slots_launches()[0].slots);
        let later = benchmarks.iter().filter(|b| b.id.name != "litter");
        later.map(slots_of).collect::<Vec<_>>()
    });
    assert_eq!(slots[0], slots[1]);
}

const NANOSECONDS: [&str; 4] = ["--bench", "nanoseconds", "--features", "nanoseconds"];

/// Returns the samples of each launch of each benchmark, checking the number of benchmarks: those
/// of the modelled launches, then those of the timed ones.
fn samples_of(filter: &str, benchmarks: usize) -> Vec<[Vec<Vec<IterationSample>>; 2]> {
    let fixture = Fixture::new();
    let words = [
        &NANOSECONDS[..],
        &["--source", "model", filter, "--launches", "3"],
    ]
    .concat();
    fixture.bench(&words).succeeds();
    let run = fixture.newest_run();
    assert_eq!(run.benchmarks.len(), benchmarks);
    let all = read_samples(&fixture.newest()).unwrap();
    let of_benchmark = |benchmark: &Benchmark| {
        assert_eq!(
            benchmark.provenance().source,
            SourceKind::Model,
            "{benchmark:?}"
        );
        let [first, second] = benchmark.slots_launches() else {
            panic!("{benchmark:?}");
        };
        assert_eq!((first.slots, first.level1), (second.slots, second.level1));
        let samples_by = |source| -> Vec<Vec<IterationSample>> {
            let own = all.iter().filter(|launch| launch.benchmark == benchmark.id);
            let own = own.filter(|launch| launch.source == source);
            own.map(|launch| launch.samples.clone()).collect()
        };
        let (modelled, timed) = (samples_by(SourceKind::Model), samples_by(SourceKind::Time));
        assert_eq!(modelled.len(), 2);
        // The slots are exact, so one launch is enough, unless one of three takes very long.
        assert!(timed.len() == 1 || benchmarks > 1, "{}", timed.len());
        [modelled, timed]
    };
    run.benchmarks.iter().map(of_benchmark).collect()
}

/// Only the first launch shows whether there are counters: without, it is enough.
#[test]
fn first_launch_announces_no_total() {
    let stderr = |more: &[&str]| {
        let words = [&NANOSECONDS[..], &["own/"], more].concat();
        Fixture::new().bench(&words).succeeds().stderr
    };
    let open = stderr(&["--launches=4"]);
    assert!(open.contains("      Launch 1: nanoseconds\n"), "{open}");
    assert!(!open.contains("Launch 1 of 4"), "{open}");
    let known = stderr(&["--source", "model"]);
    assert!(
        known.contains("      Launch 1 of 1: nanoseconds\n"),
        "{known}"
    );
}

fn double(samples: &[IterationSample]) -> bool {
    let mut pairs = samples.windows(2);
    pairs.all(|pair| pair[1].iterations == 2 * pair[0].iterations)
}

/// The settings of `cargo topdown`, not those of groups, decide the number of iterations: ten
/// samples on the clock; on the model, samples that double, identical bit for bit in both launches.
#[test]
fn group_settings_decide_nothing() {
    for [modelled, timed] in samples_of("own/", 3) {
        for samples in modelled {
            assert!(
                samples[0].iterations == 1 && double(&samples),
                "{samples:?}"
            );
            let is_usable = |s: &&IterationSample| s.sample.flags == Flags::NONE;
            let counted = samples.iter().rfind(is_usable).unwrap();
            assert!(counted.iterations >= 1000, "{counted:?}");
        }
        for samples in timed {
            assert_eq!(samples.len(), 10);
        }
    }
}

/// criterion's own groups do not yield to our settings, so samples double on the clock too.
#[test]
fn settings_of_criterion_groups_decide_nothing() {
    for [modelled, timed] in samples_of("criterion's", 1) {
        for samples in modelled {
            assert!(
                samples[0].iterations == 1 && double(&samples),
                "{samples:?}"
            );
        }
        for samples in timed {
            assert!(samples.len() == 6 && double(&samples), "{samples:?}");
        }
    }
}

#[test]
fn long_iteration_is_measured_in_criterion_group() {
    let fixture = Fixture::new();
    let more = ["--source", "time", "long/iteration"];
    fixture
        .bench(&[&NANOSECONDS[..], &more].concat())
        .succeeds();
    for launch in read_samples(&fixture.newest()).unwrap() {
        let samples = &launch.samples;
        assert!(samples.len() == 5 && double(samples), "{samples:?}");
    }
}

#[test]
fn author_settings_apply_on_request() {
    let fixture = Fixture::new();
    let more = ["--source", "time", "--author-settings", "same bytes"];
    fixture
        .bench(&[&NANOSECONDS[..], &more].concat())
        .succeeds();
    let samples = read_samples(&fixture.newest()).unwrap();
    // For both launches.
    let counts_of = |name: &str| -> Vec<usize> {
        let own = samples
            .iter()
            .filter(|sample| sample.benchmark.name == name);
        own.map(|sample| sample.samples.len()).collect()
    };
    assert_eq!(counts_of("own/same bytes"), [30; 2]);
    assert_eq!(counts_of("criterion's/same bytes"), [30; 2]);
    assert_eq!(counts_of("same bytes"), [40; 2]);
}

/// From a real change of constant_time_eq: comparing byte by byte takes longer, although its first
/// iteration does not.
#[test]
fn slower_nanosecond_benchmark_is_slower() {
    let fixture = Fixture::new();
    let bench = |barrier, more: &[&str]| {
        let words = [&NANOSECONDS[..], &["--source", "model", "own/"], more].concat();
        fixture
            .bench_with(&words, &[("FIXTURE_BARRIER", barrier)])
            .succeeds();
    };
    bench("outside", &["--save", "main"]);
    bench("inside", &[]);
    let compared = fixture.plain(&["topdown", "compare", "main", "--json"], &[]);
    assert_eq!(compared.code, Some(100), "{}", compared.stdout);
    let json: serde_json::Value = serde_json::from_str(&compared.stdout).unwrap();
    let verdicts = json["benchmarks"].as_array().unwrap();
    assert_eq!(verdicts.len(), 3);
    for verdict in verdicts {
        if verdict["id"]["name"] == "own/one by one" {
            assert_eq!(verdict["verdict"], "inconclusive", "{verdict:#}");
            assert_eq!(verdict["undecided"]["reason"], "costly_windows");
            continue;
        }
        assert_eq!(verdict["verdict"], "regressed", "{verdict:#}");
        assert_eq!(verdict["evidence"]["method"], "exact");
        let slots = &verdict["effects"][0];
        // The 20 rounds take at least 20 cycles, 160 slots, for each waits for the one before it.
        // More than half of them may pass beside what else is in the window.
        let slots_of = |side: &str| slots[side].as_f64().unwrap();
        let more_slots = slots_of("candidate") - slots_of("baseline");
        assert!(more_slots > 60.0, "{slots:#}");
    }
}
