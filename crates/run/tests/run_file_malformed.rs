//! Malformed files: each is rejected, naming the file, the field and the problem, without
//! panicking.

use std::fs;
use std::path::Path;

use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;
use tempfile::TempDir;
use topdown_run::run_file::{Record, RunFileProblem, read_run, read_samples, write_run};

const GOLDEN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/run-v1");
const MALFORMED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/malformed");
const RECORD: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/record-v1.jsonl");
const SAMPLES: &str = "samples-20261121T023000Z-4f2a.jsonl";

fn golden(name: &str) -> String {
    fs::read_to_string(Path::new(GOLDEN).join(name)).unwrap()
}

/// Returns a copy of the golden run in which one file has this content.
fn with(name: &str, content: impl AsRef<[u8]>) -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    for file in ["run.json", SAMPLES] {
        fs::copy(Path::new(GOLDEN).join(file), directory.path().join(file)).unwrap();
    }
    fs::write(directory.path().join(name), content).unwrap();
    directory
}

/// Returns the message for every file of `tests/data/malformed/KIND`, by name. The others are made
/// from `valid`, with one mistake each.
fn refusals(kind: &str, refusal: impl Fn(&Path) -> Option<String>) -> String {
    let directory = Path::new(MALFORMED).join(kind);
    let mut files: Vec<_> = fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    files.sort();
    let lines = files.iter().map(|file| {
        let name = file.file_stem().unwrap().to_str().unwrap();
        let message = refusal(file);
        assert_eq!(message.is_none(), name == "valid", "{name}");
        format!("{name}: {}\n", message.unwrap_or("read".to_owned()))
    });
    lines.collect()
}

#[test]
fn every_malformed_run_is_refused_by_field() {
    insta::assert_snapshot!(refusals("run", |file| {
        let error = read_run(file).err()?;
        assert_eq!(error.path, file);
        Some(error.problem.to_string())
    }));
}

#[test]
fn malformed_sample_lines_are_refused_by_field() {
    let valid = fs::read_to_string(Path::new(MALFORMED).join("run/valid.json")).unwrap();
    // One benchmark and one launch, like the samples.
    let mut run: serde_json::Value = serde_json::from_str(&valid).unwrap();
    run["benchmarks"] = serde_json::json!([]);
    insta::assert_snapshot!(refusals("samples", |file| {
        let directory = with("run.json", run.to_string());
        let samples = directory.path().join(SAMPLES);
        fs::copy(file, &samples).unwrap();
        let error = read_samples(directory.path()).err()?;
        assert_eq!(error.path, samples);
        Some(error.problem.to_string())
    }));
}

#[test]
fn every_malformed_record_is_refused_by_field() {
    insta::assert_snapshot!(refusals("record", |file| {
        let line = fs::read_to_string(file).unwrap();
        Some(Record::from_line(&line).err()?.to_string())
    }));
}

#[test]
fn truncated_file_is_refused_at_any_length() {
    // A file without its last newline is still complete.
    let cut_at_every_other_length = |name, first| {
        let text = golden(name);
        let directory = with(name, "");
        for length in (first..text.len() - 1).step_by(2) {
            fs::write(directory.path().join(name), &text.as_bytes()[..length]).unwrap();
            let samples = read_samples(directory.path());
            assert!(samples.is_err(), "{length} bytes of {name} were read");
        }
    };
    std::thread::scope(|scope| {
        for name in ["run.json", SAMPLES] {
            scope.spawn(move || cut_at_every_other_length(name, 0));
            scope.spawn(move || cut_at_every_other_length(name, 1));
        }
    });
    let whole_lines: Vec<&str> = golden(SAMPLES).leak().lines().collect();
    let directory = with(SAMPLES, whole_lines[..3].join("\n"));
    let error = read_samples(directory.path()).unwrap_err();
    assert!(matches!(
        error.problem,
        RunFileProblem::MissingSamples { launch: 1, .. }
    ));
}

#[test]
fn missing_or_non_text_file_is_refused_by_name() {
    let error = read_run(Path::new("/no/such/run")).unwrap_err();
    assert!(matches!(error.problem, RunFileProblem::Io(_)));
    assert!(error.to_string().starts_with("/no/such/run: "), "{error}");
    let error = Record::from_line("{}").unwrap_err();
    assert!(matches!(error, RunFileProblem::NoSchemaVersion));
}

/// Numbers and words that manual editing or a broken disk could put in place of a number.
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

/// Returns where numbers begin and end in `text`.
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

/// Collects the paths of all values inside `value`, as JSON pointers.
fn pointers(value: &serde_json::Value, at: String, found: &mut Vec<String>) {
    match value {
        serde_json::Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                pointers(item, format!("{at}/{index}"), found);
            }
        }
        serde_json::Value::Object(fields) => {
            for (name, field) in fields {
                pointers(field, format!("{at}/{name}"), found);
            }
        }
        _ => {}
    }
    found.push(at);
}

/// Returns `text` with the values at two paths exchanged, or `text` itself if it is not JSON.
fn swapped(text: &str, a: usize, b: usize) -> String {
    let Ok(mut json) = serde_json::from_str::<serde_json::Value>(text) else {
        return text.to_owned();
    };
    let mut all = Vec::new();
    pointers(&json, String::new(), &mut all);
    let at = |index: usize| &all[index % all.len()];
    let [from, to] = [at(a), at(b)].map(|place| json.pointer(place).cloned());
    for (place, value) in [(at(a), to), (at(b), from)] {
        // The other value may have been inside this one.
        if let (Some(old), Some(value)) = (json.pointer_mut(place), value) {
            *old = value;
        }
    }
    json.to_string()
}

/// A mistake in a file.
#[derive(Clone, Debug)]
enum Mutation {
    Swap(usize, usize),
    Number(usize, usize),
    Byte(usize, u8),
    Remove(usize, usize),
    Repeat(usize, usize),
}

fn mutation() -> impl Strategy<Value = Mutation> {
    prop_oneof![
        3 => (any::<usize>(), any::<usize>()).prop_map(|(a, b)| Mutation::Swap(a, b)),
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
            Mutation::Swap(a, b) => {
                // Within one line, since samples are one object per line.
                let text = String::from_utf8_lossy(&bytes).into_owned();
                let mut lines: Vec<String> = text.split('\n').map(str::to_owned).collect();
                let line = a % lines.len();
                lines[line] = swapped(&lines[line], a / 7, b);
                bytes = lines.join("\n").into_bytes();
            }
            Mutation::Number(at, nasty) => {
                let text = String::from_utf8_lossy(&bytes).into_owned();
                let pointers = numbers(&text);
                if let Some(&(from, to)) = pointers.get(at % pointers.len().max(1)) {
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

/// `PROPTEST_CASES=100000 cargo test --test run_file_malformed mutated` searches longer. Failing
/// cases are kept in `tests/run_file_malformed.proptest-regressions` and tried first from then on.
fn config() -> ProptestConfig {
    let wanted = ProptestConfig::default();
    ProptestConfig {
        cases: match std::env::var_os("PROPTEST_CASES") {
            Some(_) => wanted.cases,
            None => 128,
        },
        failure_persistence: Some(Box::new(FileFailurePersistence::WithSource(
            "proptest-regressions",
        ))),
        ..wanted
    }
}

proptest! {
    #![proptest_config(config())]

    /// A run accepted despite its mistakes can be written and read back unchanged.
    #[test]
    fn mutated_run_is_refused_or_whole(mutations in prop::collection::vec(mutation(), 1..4)) {
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
    fn mutated_record_is_refused_or_whole(mutations in prop::collection::vec(mutation(), 1..4)) {
        let text = fs::read_to_string(RECORD).unwrap();
        let line = String::from_utf8_lossy(&mutated(&text, &mutations)).into_owned();
        if let Ok(record) = Record::from_line(&line) {
            prop_assert_eq!(Record::from_line(&record.to_line()).unwrap(), record);
        }
    }
}
