//! Benchmarks that are modelled in processes forked from one that has made their set-up.

use std::fs;

use crate::fixture::{Fixture, Outcome};
use topdown_run::run_file::Run;
use topdown_run::sample::Level1;

const FORKED: [&str; 6] = [
    "--bench",
    "forked",
    "--features",
    "forked",
    "--source",
    "model",
];

fn bench(fixture: &Fixture, words: &[&str], environment: &[(&str, &str)]) -> Outcome {
    fixture.bench_with(&[&FORKED, words].concat(), environment)
}

/// Returns how many launches on the model have made the set-up.
fn modelled_set_ups(words: &[&str], environment: &[(&str, &str)]) -> usize {
    let fixture = Fixture::new();
    bench(&fixture, words, environment).succeeds();
    let launches = fs::read_to_string(fixture.state()).unwrap();
    launches.lines().filter(|line| *line == "doubling").count()
}

/// Slots of a launch.
type Slots = (f64, Option<Level1>);

/// Returns the slots of each benchmark in each launch.
fn slots_in(run: &Run) -> Vec<(&str, Vec<Slots>)> {
    let benchmarks = run.benchmarks.iter().map(|benchmark| {
        let launches = benchmark.slots_launches().iter();
        let slots = launches.map(|launch| (launch.slots, launch.level1));
        (&*benchmark.id.name, slots.collect())
    });
    benchmarks.collect()
}

#[test]
fn set_up_is_made_once_per_share_and_launch() {
    assert_eq!(modelled_set_ups(&["--jobs", "1"], &[]), 2);
    assert_eq!(modelled_set_ups(&["--jobs", "2"], &[]), 4);
}

#[test]
fn processes_that_cannot_fork_make_it_themselves() {
    for left in ["thread", "file"] {
        let set_ups = modelled_set_ups(&["--jobs", "2"], &[("FIXTURE_LEFT", left)]);
        // More if launches differ, because the thread allocates.
        assert!(set_ups >= 8, "{left}: {set_ups}");
    }
}

#[test]
fn slots_do_not_depend_on_the_shares() {
    let fixture = Fixture::new();
    let run = |words: &[&str]| {
        bench(&fixture, words, &[]).succeeds();
        fixture.newest_run()
    };
    let alone = run(&["--jobs", "1"]);
    let all = slots_in(&alone);
    assert_eq!(all.len(), 4);
    for (name, launches) in &all {
        assert_eq!(launches.len(), 2, "{name}");
        assert_eq!(launches[0], launches[1], "{name}");
    }
    for benchmark in &alone.benchmarks {
        assert!(benchmark.provenance().repeated_by_digest, "{benchmark:?}");
    }
    assert_eq!(slots_in(&run(&["--jobs", "3"])), all);
    let filtered = run(&["blocks"]);
    assert_eq!(slots_in(&filtered), [all[2].clone()]);
}

/// The others of its share are modelled again.
#[test]
fn benchmark_that_panics_leaves_others_their_slots() {
    let fixture = Fixture::new();
    let run = bench(&fixture, &["--jobs", "1"], &[("FIXTURE_PANICS", "sum")]);
    assert!(run.stderr.contains("sum panics"), "{}", run.stderr);
    let newest = fixture.newest_run();
    let modelled: Vec<(&str, usize)> = slots_in(&newest)
        .into_iter()
        .map(|(name, launches)| (name, launches.len()))
        .collect();
    let expected = [
        ("kept", 2),
        ("group/sum", 0),
        ("group/blocks", 2),
        ("kept before", 2),
    ];
    assert_eq!(modelled, expected);
}
