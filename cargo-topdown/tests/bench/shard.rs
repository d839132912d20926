//! Shards of a suite, and merging them.

use std::fs;
use std::path::PathBuf;

use topdown_run::run_file::{BenchmarkId, Run, read_run, read_samples};

use crate::fixture::Fixture;

const SUITE: [&str; 5] = ["--bench", "kernels", "--bench", "mixed", "--launches=1"];

fn ids(run: &Run) -> Vec<BenchmarkId> {
    let mut ids: Vec<BenchmarkId> = run.benchmarks.iter().map(|b| b.id.clone()).collect();
    ids.sort();
    ids
}

/// Runs the shard `number` and moves its run away, as a runner would upload it.
fn shard(fixture: &Fixture, number: &str, more: &[&str]) -> PathBuf {
    let words = [&SUITE[..], &["--shard", number], more].concat();
    fixture.bench(&words).succeeds();
    let kept = fixture.baselines().with_file_name(number.replace('/', "-"));
    fs::rename(fixture.newest(), &kept).unwrap();
    kept
}

fn merge(fixture: &Fixture, runs: &[&PathBuf], more: &[&str]) -> crate::fixture::Outcome {
    let runs = runs.iter().map(|path| path.to_str().unwrap());
    let words: Vec<&str> = ["topdown", "merge"].into_iter().chain(runs).collect();
    fixture.plain(&[&words[..], more].concat(), &[])
}

#[test]
fn shards_cover_the_suite_exactly_once() {
    let fixture = Fixture::new();
    fixture.bench(&SUITE).succeeds();
    let whole = fixture.newest_run();
    let shards: Vec<PathBuf> = ["1/3", "2/3", "3/3"]
        .map(|number| shard(&fixture, number, &[]))
        .into();
    let sizes: Vec<usize> = shards
        .iter()
        .map(|path| read_run(path).unwrap().benchmarks.len())
        .collect();
    assert!(
        sizes.iter().max().unwrap() - sizes.iter().min().unwrap() <= 1,
        "{sizes:?}"
    );

    let two = merge(&fixture, &[&shards[0], &shards[2]], &[]);
    two.fails_with(102, "shard 2/3 is missing");
    assert!(!fixture.newest().exists());
    let all: Vec<&PathBuf> = shards.iter().collect();
    let outcome = merge(&fixture, &all, &["--save", "main"]).succeeds();
    assert!(
        outcome.stdout.contains("merged 3 runs with"),
        "{}",
        outcome.stdout
    );
    let merged = fixture.newest_run();
    assert_eq!(ids(&merged), ids(&whole));
    assert_eq!(fixture.baseline("main"), merged);
    let samples = read_samples(&fixture.newest()).unwrap();
    assert_eq!(samples.len(), whole.benchmarks.len());
}

#[test]
fn shard_divides_the_filtered_suite() {
    let fixture = Fixture::new();
    let one = read_run(&shard(&fixture, "1/2", &["forward|chase"])).unwrap();
    let two = read_run(&shard(&fixture, "2/2", &["forward|chase"])).unwrap();
    let names =
        |run: &Run| -> Vec<String> { run.benchmarks.iter().map(|b| b.id.name.clone()).collect() };
    assert_eq!(names(&one), ["chase"]);
    assert_eq!(names(&two), ["sums/forward/10", "sums/forward/20"]);
    let shard = two.shard.unwrap();
    assert_eq!((shard.to_string().as_str(), shard.benchmarks), ("2/2", 2));

    let words = [&SUITE[..], &["--shard", "1/2"]].concat();
    let outcome = fixture.bench(&[&words[..], &["no such thing"]].concat());
    outcome.fails_with(101, "no benchmark matches `no such thing`");
    let outcome = fixture.bench(&[&words[..], &["("]].concat());
    outcome.fails_with(2, "FILTER `(` is not a regular expression");
    let outcome = fixture.bench(&[&SUITE[..], &["--shard=1/2", "--exact", "chase"]].concat());
    outcome.fails_with(
        101,
        "shard 1/2 is empty, because there are fewer benchmarks (1) than shards",
    );
}

#[test]
fn shard_is_compared_alone_and_never_saved() {
    let fixture = Fixture::new();
    let part = shard(&fixture, "1/2", &["chase|first"]);
    let whole = fixture.bench(&[&SUITE[..], &["--save=main", "chase|first"]].concat());
    whole.succeeds();
    let part = part.to_str().unwrap();
    let outcome = fixture.plain(&["topdown", "compare", "main", part, "--alpha=1e-9"], &[]);
    let text = outcome.fails_with(104, "").stdout;
    assert!(text.contains("1 not run"), "{text}");
    assert!(text.contains("1 in other shards"), "{text}");
    let outcome = fixture.plain(&["topdown", "compare", part, "main"], &[]);
    outcome.fails_with(102, "is shard 1/2 of a suite");
    let outcome = fixture.bench(&["--shard=1/2", "--save=main"]);
    outcome.fails_with(2, "cannot be used with");
    let outcome = fixture.bench(&["--shard=3/2"]);
    outcome.fails_with(2, "`3/2` is not `I/N`");
}

#[test]
fn part_without_samples_is_merged_without() {
    let fixture = Fixture::new();
    let part = shard(&fixture, "1/1", &["chase"]);
    let alone = part.with_extension("json");
    fs::copy(part.join("run.json"), &alone).unwrap();
    let output = part.with_extension("merged");
    let outcome = merge(&fixture, &[&alone], &["-o", output.to_str().unwrap()]).succeeds();
    assert!(
        outcome.stderr.contains("has no samples"),
        "{}",
        outcome.stderr
    );
    assert_eq!(read_run(&output).unwrap().benchmarks.len(), 1);
    assert_eq!(fs::read_dir(&output).unwrap().count(), 1);
}

#[test]
fn unlistable_target_fails_one_shard_by_name() {
    let fixture = Fixture::new();
    let outcomes = ["--shard=1/2", "--shard=2/2"].map(|number| {
        let words = [
            "--workspace",
            "--bench",
            "mixed",
            "--bench",
            "trouble",
            number,
        ];
        fixture.bench_with(&words, &[("FIXTURE_TROUBLE", "exits")])
    });
    let failed: Vec<&crate::fixture::Outcome> =
        outcomes.iter().filter(|o| o.code != Some(0)).collect();
    assert_eq!(failed.len(), 1, "{outcomes:?}");
    assert!(
        failed[0]
            .stderr
            .contains("bench target `trouble::trouble` failed")
    );
}
