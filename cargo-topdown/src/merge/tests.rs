//! Tests of parts that can be merged and parts that cannot.

use super::*;
use topdown_gate::scenario::{self, Planted};

fn part(number: u32, of: u32, names: &[&str]) -> Part {
    let benchmark = |name: &&str| scenario::benchmark(name, Planted::default());
    Part {
        label: format!("part {number}"),
        run: Run {
            shard: Some(Shard {
                number,
                of,
                benchmarks: names.len(),
                suite: "5eed".to_owned(),
            }),
            ..scenario::run(names.iter().map(benchmark).collect())
        },
    }
}

fn merged(parts: Vec<Part>) -> Result<(Run, Vec<Note>), MergeError> {
    merge(parts, "merged".to_owned(), false)
}

fn refusal(parts: Vec<Part>) -> String {
    merged(parts).unwrap_err().to_string()
}

#[test]
fn merged_shards_equal_the_whole_suite() {
    let (mut one, mut two) = (part(1, 2, &["a", "b"]), part(2, 2, &["c"]));
    one.run.machine.host = Some("runner-1".to_owned());
    two.run.machine.host = Some("runner-2".to_owned());
    two.run.machine.kernel = Some("6.13.0".to_owned());
    two.run.started_at = "2026-11-20T09:00:00Z".to_owned();
    // Deliberately not in order.
    let (run, notes) = merged(vec![two, one]).unwrap();
    assert_eq!(notes, []);
    let names: Vec<&str> = run.benchmarks.iter().map(|b| b.id.name.as_str()).collect();
    assert_eq!(names, ["a", "b", "c"]);
    assert_eq!((run.id.as_str(), run.shard), ("merged", None));
    assert_eq!(run.started_at, "2026-11-20T09:00:00Z");
    assert_eq!(run.machine.host.as_deref(), Some("runner-1, runner-2"));
    assert_eq!((run.machine.kernel, run.machine.cpus), (None, 8));
}

#[test]
fn runs_without_shards_are_merged_too() {
    let run = |name: &str| Part {
        label: name.to_owned(),
        run: scenario::run(vec![scenario::benchmark(name, Planted::default())]),
    };
    let (merged, _) = merged(vec![run("a"), run("b")]).unwrap();
    assert_eq!(merged.benchmarks.len(), 2);
}

#[test]
fn missing_shards_are_refused_unless_allowed() {
    let parts = || {
        let mut two = part(2, 4, &["c", "d"]);
        two.run.benchmarks.pop();
        vec![part(1, 4, &["a"]), two]
    };
    let missing = "shards 3/4, 4/4 are missing; shard 2/4 has 1 of its 2 benchmarks, because \
                   benches failed there";
    assert_eq!(
        refusal(parts()),
        format!("{missing}\nto merge anyway: `--partial`")
    );
    let (run, notes) = merge(parts(), "partial".to_owned(), true).unwrap();
    assert_eq!(run.benchmarks.len(), 2);
    assert_eq!(notes, [Note::Incomplete(missing.to_owned())]);
    assert!(refusal(vec![part(1, 2, &["a"])]).starts_with("shard 2/2 is missing\n"));
}

#[test]
fn duplicates_are_refused() {
    assert_eq!(
        refusal(vec![part(1, 2, &["a"]), part(1, 2, &["b"])]),
        "part 1 and part 1 are both shard 1/2"
    );
    assert_eq!(
        refusal(vec![part(1, 2, &["a"]), part(2, 2, &["a"])]),
        "benchmark `suite::bench::a` is in both part 1 and part 2"
    );
}

#[test]
fn shards_of_different_cuts_are_refused() {
    let mut other = part(2, 2, &["b"]);
    other.run.shard.as_mut().unwrap().suite = "other".to_owned();
    for other in [other, part(2, 3, &["b"])] {
        let message = refusal(vec![part(1, 2, &["a"]), other]);
        assert!(
            message.starts_with("part 1 is shard 1/2 and part 2 shard 2/"),
            "{message}"
        );
        assert!(message.contains("of another suite: filter,"), "{message}");
    }
}

#[test]
fn parts_of_different_machines_are_refused_by_field() {
    type Change = fn(&mut Run);
    let cases: [(Change, &str); 6] = [
        (
            |run| run.machine.model = 106,
            "CPU model is `143` and `106`",
        ),
        (
            |run| run.build.rustc = "rustc 1.92.0".to_owned(),
            "rustc is `rustc 1.91.0` and `rustc 1.92.0`",
        ),
        (
            |run| run.build.git_commit = None,
            "commit is 8c5b1f0e2d4a69b7c3e1f5a8d2b4c6e8f0a1b3c5 and unknown",
        ),
        (
            |run| run.build.git_dirty = Some(true),
            "work tree is as committed and changed",
        ),
        (
            |run| run.launch_settings.launches = 3,
            "measuring is 10 launches of 20 samples, warm-up 100 ms, measurement 400 ms and 3 \
             launches of 20 samples, warm-up 100 ms, measurement 400 ms",
        ),
        (
            |run| run.benchmarks[0].provenance_mut().formula = "other/1".to_owned(),
            "formula is `intel-perf-metrics/1` and `other/1`",
        ),
    ];
    for (change, message) in cases {
        let mut other = part(2, 2, &["b"]);
        change(&mut other.run);
        assert_eq!(
            refusal(vec![part(1, 2, &["a"]), other]),
            format!("part 1 and part 2 cannot be merged: {message}")
        );
    }
    let mut other = part(2, 2, &["b"]);
    other.run.tool_version = "0.2.0".to_owned();
    let message = refusal(vec![part(1, 2, &["a"]), other]);
    assert!(message.ends_with("cargo-topdown is 0.1.0 and 0.2.0"));
}

#[test]
fn time_only_part_is_reported() {
    let mut other = part(2, 2, &["b"]);
    other.run.benchmarks = vec![scenario::timed("b", Planted::default())];
    let (_, notes) = merged(vec![part(1, 2, &["a"]), other]).unwrap();
    let texts: Vec<String> = notes.iter().map(Note::to_string).collect();
    assert_eq!(
        texts,
        ["benchmarks of package `suite` have slots in part 1, but only time in part 2 (a test)"]
    );
}

#[test]
fn modified_work_trees_are_reported() {
    let mut parts = vec![part(1, 2, &["a"]), part(2, 2, &["b"])];
    for part in &mut parts {
        part.run.build.git_dirty = Some(true);
    }
    assert_eq!(merged(parts).unwrap().1, [Note::Uncommitted]);
}
