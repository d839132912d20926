//! Malformed files: each is refused with the file, the field and what is wrong; none panics.

use std::fs;
use std::path::Path;

use criterion_topdown::run_file::{Record, RunFileProblem, read_run, read_samples, write_run};
use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;
use tempfile::TempDir;

const GOLDEN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/run-v2");
const RECORD: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/record-v2.jsonl");
const SAMPLES: &str = "samples-20261121T023000Z-4f2a.jsonl";

fn golden(name: &str) -> String {
    fs::read_to_string(Path::new(GOLDEN).join(name)).unwrap()
}

/// A copy of the golden run in which one file has this content.
fn with(name: &str, content: impl AsRef<[u8]>) -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    for file in ["run.json", SAMPLES] {
        fs::copy(Path::new(GOLDEN).join(file), directory.path().join(file)).unwrap();
    }
    fs::write(directory.path().join(name), content).unwrap();
    directory
}

/// The message about a golden file in which `from` is `to`.
fn refusal(name: &str, from: &str, to: &str) -> String {
    let text = golden(name);
    assert!(text.contains(from), "{name} has no {from}");
    let directory = with(name, text.replacen(from, to, 1));
    let error = match name {
        "run.json" => read_run(directory.path()).map(|_| ()),
        _ => read_samples(directory.path()).map(|_| ()),
    }
    .unwrap_err();
    assert_eq!(error.path, directory.path().join(name));
    error.problem.to_string()
}

#[test]
fn every_field_of_a_run_is_checked() {
    for (from, to, expected) in [
        // Another format.
        (
            r#""schema_version":2"#,
            r#""schema_version":3"#,
            "schema version 3 is not known to this release, which reads versions 1 to 2; update \
             cargo-topdown and criterion-topdown to the same release",
        ),
        (
            r#""schema_version":2,"#,
            "",
            "not a run file: it has no `schema_version`",
        ),
        (
            r#""id":"20261121T023000Z-4f2a","#,
            "",
            "not what this release writes: missing field `id` at line 1",
        ),
        (
            r#""profile":"bench""#,
            r#""profile":"bench","colour":1"#,
            "not what this release writes: field `build.colour`: unknown field `colour`",
        ),
        // Names.
        (
            r#""id":"20261121T023000Z-4f2a""#,
            r#""id":"../../etc""#,
            "field `id` is \"../../etc\" and must be 1 to 100 ASCII letters, digits and `-`",
        ),
        (
            r#""samples_file":"samples-"#,
            r#""samples_file":"../samples-"#,
            "field `samples_file` is \"../samples-20261121T023000Z-4f2a.jsonl\" and must be \
             \"samples-20261121T023000Z-4f2a.jsonl\"",
        ),
        (
            r#""package":"storage","target":"io","name":"read""#,
            r#""package":"parser","target":"throughput","name":"json/twitter/1024""#,
            "field `benchmarks[2].id` is `parser::throughput::json/twitter/1024`, which an \
             earlier benchmark has too",
        ),
        // Numbers. JSON has no NaN.
        (
            "[250.5,83.5]",
            "[250.5,null]",
            "field `benchmarks[0].launches.wall_ns[1]`: invalid type: null, expected f64",
        ),
        (
            "[250.5,83.5]",
            "[250.5,NaN]",
            "field `benchmarks[0].launches.wall_ns[1]`: expected value",
        ),
        (
            "[250.5,83.5]",
            "[250.5,1e999]",
            "field `benchmarks[0].launches.wall_ns[1]`: number out of range",
        ),
        (
            "[250.5,83.5]",
            "[250.5,1e300]",
            "field `benchmarks[0] (`parser::throughput::json/twitter/1024`).launches.wall_ns` \
             holds 1e300, which is beyond 2^53",
        ),
        (
            "[250.5,83.5]",
            "[250.5,-1]",
            "launches.wall_ns` holds -1, which is below 0",
        ),
        (
            "[250.5,83.5]",
            "[250.5]",
            "launches.wall_ns` has 1 values for 2 launches",
        ),
        (
            r#""retiring_slots":[400.25,"#,
            r#""retiring_slots":["#,
            "launches.level1.retiring_slots` has 1 values for 2 launches",
        ),
        (
            r#""smt_contention_slots":[12.5]"#,
            r#""smt_contention_slots":[]"#,
            "launches.level1.smt_contention_slots` has 0 values for 1 launches",
        ),
        (
            r#""memory_bound_slots":[450.0,"#,
            r#""memory_bound_slots":[-1e17,"#,
            "launches.level2.memory_bound_slots` holds -1e17, which is beyond 2^53",
        ),
        (
            r#""memory_read_bytes":[64.0,64.0]"#,
            r#""memory_read_bytes":[64.0]"#,
            "launches.events.memory_read_bytes` has 1 values for 2 launches",
        ),
        (
            r#""memory_read_bytes""#,
            r#""coffee_breaks""#,
            "unknown variant `coffee_breaks`, expected one of `branches`,",
        ),
        (
            r#""launch":[0,1]"#,
            r#""launch":[1,1]"#,
            "launches.launch` has 1 after 1: launches must ascend",
        ),
        (
            r#""launch":[0,1]"#,
            r#""launch":[0,4294967296]"#,
            "invalid value: integer `4294967296`, expected u32",
        ),
        (
            r#""samples_used":[20,20]"#,
            r#""samples_used":[20,-20]"#,
            "field `benchmarks[0].launches.samples_used[1]`: invalid value: integer `-20`",
        ),
        (
            r#""source":"hardware""#,
            r#""source":"guess""#,
            "field `benchmarks[0].provenance.source`: unknown variant `guess`",
        ),
        (
            r#""cpus":8"#,
            r#""cpus":8,"cpus":9"#,
            "field `machine`: duplicate field `cpus`",
        ),
    ] {
        let message = refusal("run.json", from, to);
        assert!(message.contains(expected), "{to}: {message}");
    }
}

#[test]
fn every_field_of_the_samples_is_checked() {
    for (from, to, expected) in [
        (
            r#"{"schema_version":2"#,
            r#"{"schema_version":7"#,
            "line 1: schema version 7 is not known",
        ),
        (
            r#""run":"20261121T023000Z-4f2a""#,
            r#""run":"another""#,
            "line 1: field `run` is \"another\", and the run file is that of \
             \"20261121T023000Z-4f2a\"",
        ),
        (
            "\"iterations\":[4000,4000]",
            "\"iterations\":[4000]",
            "line 1: field `iterations` has 1 values for 2 samples",
        ),
        (
            "\"slots\":[4000000,4000000]",
            "\"slots\":[4000000,9007199254740993]",
            "line 1: field `samples.slots` holds 9007199254740993, which is more than 2^53",
        ),
        (
            "\"wall_ns\":[123457]",
            "\"wall_ns\":[]",
            "line 3: field `samples.wall_ns` has 0 values for 1 samples",
        ),
        (
            "\"flags\":[0,3]",
            "\"flags\":[0,1073741824]",
            "line 1: field `samples.flags` holds 0x40000000, which has unknown bits",
        ),
        (
            "\"resolution_slots\":[7843.137254901961,",
            "\"resolution_slots\":[-0.5,",
            "line 1: field `samples.resolution_slots` holds -0.5, which is below 0",
        ),
        (
            "\"cycles\":[666667,666667]",
            "\"cycles\":[666667,-3]",
            "line 1: not what this release writes: field `samples.cycles[1]`: invalid value",
        ),
        (
            "\"memory_bound_slots\":[1500000.25,1500000.25]",
            "\"memory_bound_slots\":[1500000.25]",
            "line 1: field `samples.level2.memory_bound_slots` has 1 values for 2 samples",
        ),
        (
            "\"memory_read_bytes\":[256000,256000]",
            "\"memory_read_bytes\":[256000,9007199254740993]",
            "line 1: field `samples.events.memory_read_bytes` holds 9007199254740993, which is",
        ),
    ] {
        let message = refusal(SAMPLES, from, to);
        assert!(message.contains(expected), "{to}: {message}");
    }
}

#[test]
fn a_file_that_was_cut_off_is_refused_wherever_it_was_cut() {
    for name in ["run.json", SAMPLES] {
        let text = golden(name);
        // Without its last newline a file is still whole.
        let directory = with(name, "");
        for length in 0..text.len() - 1 {
            fs::write(directory.path().join(name), &text.as_bytes()[..length]).unwrap();
            let samples = read_samples(directory.path());
            assert!(samples.is_err(), "{length} bytes of {name} were read");
        }
    }
    let whole_lines: Vec<&str> = golden(SAMPLES).leak().lines().collect();
    let directory = with(SAMPLES, whole_lines[..3].join("\n"));
    let error = read_samples(directory.path()).unwrap_err();
    assert!(matches!(
        error.problem,
        RunFileProblem::MissingSamples { launch: 1, .. }
    ));
}

#[test]
fn what_is_not_there_or_is_not_text_is_refused_by_name() {
    let error = read_run(Path::new("/no/such/run")).unwrap_err();
    assert!(matches!(error.problem, RunFileProblem::Io(_)));
    assert!(error.to_string().starts_with("/no/such/run: "), "{error}");
    let directory = with("run.json", b"\xff\xfe{}");
    let error = read_run(directory.path()).unwrap_err();
    assert!(
        matches!(error.problem, RunFileProblem::Json { .. }),
        "{error}"
    );
    let error = Record::from_line("{}").unwrap_err();
    assert!(matches!(error, RunFileProblem::NoSchemaVersion));
}

/// Numbers and words that a hand or a broken disk could put in the place of a number.
const NASTY: [&str; 14] = [
    "null",
    "-1",
    "0",
    "-0.0",
    "1e999",
    "1e308",
    "-1e308",
    "0.1",
    "18446744073709551615",
    "18446744073709551616",
    "9007199254740993",
    "true",
    "\"\"",
    "[]",
];

/// Where numbers begin and end in `text`.
fn numbers(text: &str) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    let mut start = None;
    for (index, c) in text.char_indices() {
        let is_part = c.is_ascii_digit() || "+-.eE".contains(c);
        match start {
            None if c.is_ascii_digit() || c == '-' => start = Some(index),
            Some(begin) if !is_part => {
                found.push((begin, index));
                start = None;
            }
            _ => {}
        }
    }
    found
}

/// One mistake in a file.
#[derive(Clone, Debug)]
enum Mutation {
    Number(usize, usize),
    Byte(usize, u8),
    Remove(usize, usize),
    Repeat(usize, usize),
}

fn mutation() -> impl Strategy<Value = Mutation> {
    prop_oneof![
        4 => (any::<usize>(), 0..NASTY.len()).prop_map(|(at, nasty)| Mutation::Number(at, nasty)),
        2 => (any::<usize>(), any::<u8>()).prop_map(|(at, byte)| Mutation::Byte(at, byte)),
        1 => (any::<usize>(), 1..200_usize).prop_map(|(at, count)| Mutation::Remove(at, count)),
        1 => (any::<usize>(), 1..200_usize).prop_map(|(at, count)| Mutation::Repeat(at, count)),
    ]
}

fn mutated(text: &str, mutations: &[Mutation]) -> Vec<u8> {
    let mut bytes = text.as_bytes().to_vec();
    for mutation in mutations {
        let length = bytes.len();
        if length == 0 {
            break;
        }
        let range = |at: usize, count: usize| at % length..(at % length + count).min(length);
        match *mutation {
            Mutation::Number(at, nasty) => {
                let text = String::from_utf8_lossy(&bytes).into_owned();
                let places = numbers(&text);
                if let Some(&(from, to)) = places.get(at % places.len().max(1)) {
                    bytes = [&text[..from], NASTY[nasty], &text[to..]]
                        .concat()
                        .into_bytes();
                }
            }
            Mutation::Byte(at, byte) => bytes[at % length] = byte,
            Mutation::Remove(at, count) => {
                bytes.drain(range(at, count));
            }
            Mutation::Repeat(at, count) => {
                let again = bytes[range(at, count)].to_vec();
                bytes.splice(at % length..at % length, again);
            }
        }
    }
    bytes
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 128,
        failure_persistence: Some(Box::new(
            FileFailurePersistence::WithSource("proptest-regressions"),
        )),
        ..ProptestConfig::default()
    })]

    /// What is accepted in spite of its mistakes is a run, which is written and read as itself.
    #[test]
    fn a_mutated_run_is_refused_or_whole(mutations in prop::collection::vec(mutation(), 1..4)) {
        let directory = with("run.json", mutated(&golden("run.json"), &mutations));
        if let Ok(run) = read_run(directory.path()) {
            let again = tempfile::tempdir().unwrap();
            write_run(again.path(), &run, &[]).unwrap();
            prop_assert_eq!(read_run(again.path()).unwrap(), run);
        }
    }

    #[test]
    fn mutated_samples_are_refused_or_whole(mutations in prop::collection::vec(mutation(), 1..4)) {
        let directory = with(SAMPLES, mutated(&golden(SAMPLES), &mutations));
        if let Ok(samples) = read_samples(directory.path()) {
            let run = read_run(directory.path()).unwrap();
            write_run(directory.path(), &run, &samples).unwrap();
            prop_assert_eq!(read_samples(directory.path()).unwrap(), samples);
        }
    }

    #[test]
    fn a_mutated_record_is_refused_or_whole(mutations in prop::collection::vec(mutation(), 1..4)) {
        let text = fs::read_to_string(RECORD).unwrap();
        let line = String::from_utf8_lossy(&mutated(&text, &mutations)).into_owned();
        if let Ok(record) = Record::from_line(&line) {
            prop_assert_eq!(Record::from_line(&record.to_line()).unwrap(), record);
        }
    }
}
