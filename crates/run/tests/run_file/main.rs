//! Run files from the outside: everything written can be read back, in every later version.

mod directory;
mod golden_run;
mod golden_samples;

use std::fs;
use std::path::Path;

use topdown_run::run_file::{
    MAX_SHARDS, Record, Run, Shard, read_run, read_samples, write_run, write_run_without_samples,
};
use topdown_run::sample::GroupCounts;

use directory::files_in;
use golden_run::{code_counts, golden_part, golden_run};
use golden_samples::{golden_code, golden_hits, golden_record, golden_samples};

const V1: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/run-v1");
const V1_PART: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/run-v1-part");
const RECORD_V1: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/record-v1.jsonl");

#[test]
fn version_1_is_always_readable() {
    assert_eq!(read_run(Path::new(V1)).unwrap(), golden_run());
    assert_eq!(read_samples(Path::new(V1)).unwrap(), golden_samples());
    assert_eq!(read_run(Path::new(V1_PART)).unwrap(), golden_part());
}

#[test]
fn version_1_record_is_readable_and_rewritten() {
    let line = fs::read_to_string(RECORD_V1).unwrap();
    let record = Record::from_line(&line).unwrap();
    let golden = Record {
        code: Some(golden_code()),
        hits: Some(golden_hits()),
        ..golden_record(golden_samples())
    };
    assert_eq!(record, golden);
    assert_eq!(record.to_line(), line);
}

#[test]
fn rewritten_file_is_identical() {
    let directory = tempfile::tempdir().unwrap();
    let golden = Path::new(V1);
    let samples = read_samples(golden).unwrap();
    write_run(directory.path(), &read_run(golden).unwrap(), &samples).unwrap();
    for file in fs::read_dir(golden).unwrap() {
        let file = file.unwrap();
        let written = directory.path().join(file.file_name());
        assert_eq!(
            fs::read_to_string(written).unwrap(),
            fs::read_to_string(file.path()).unwrap()
        );
    }
}

#[test]
fn record_carries_counts_of_a_metric_group() {
    let mut record = golden_record(golden_samples());
    for (sample, count) in record.samples.iter_mut().zip(1..) {
        sample.group_counts = GroupCounts::new(&[1000, count, 0]);
    }
    let line = record.to_line();
    assert_eq!(Record::from_line(&line).unwrap(), record);
    let json: serde_json::Value = serde_json::from_str(&line).unwrap();
    let mut wide = json.clone();
    let samples = json["samples"]["windows"].as_array().unwrap().len();
    let column = serde_json::json!(vec![0; samples]);
    wide["samples"]["group_counts"] = serde_json::json!(vec![column; 13]);
    let error = Record::from_line(&wide.to_string())
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("13 events, more than a group can have"),
        "{error}"
    );
    let mut short = json;
    short["samples"]["group_counts"] = serde_json::json!([[1]]);
    assert!(Record::from_line(&short.to_string()).is_err());
}

#[test]
fn function_total_includes_the_others() {
    let run = golden_run();
    let functions = run.benchmarks[0].functions.as_ref().unwrap();
    assert_eq!(functions.total(), code_counts(9 + 5 + 2 + 1));
}

#[test]
fn run_names_its_shard() {
    let directory = tempfile::tempdir().unwrap();
    let shard = |number| Run {
        shard: Some(Shard {
            number,
            of: 4,
            benchmarks: 2,
            suite: "0123456789abcdef".to_owned(),
        }),
        ..golden_run()
    };
    write_run_without_samples(directory.path(), &shard(2)).unwrap();
    assert_eq!(read_run(directory.path()).unwrap(), shard(2));
    assert_eq!(files_in(directory.path()), ["run.json"]);
    write_run_without_samples(directory.path(), &shard(5)).unwrap();
    let error = read_run(directory.path()).unwrap_err().to_string();
    assert!(
        error.ends_with("field `shard.number` is 5; it must be 1 to 4"),
        "{error}"
    );
}

/// A reader may list all shards of a suite.
#[test]
fn excessive_shard_count_is_refused_by_field() {
    let directory = tempfile::tempdir().unwrap();
    let shard = |of| Run {
        shard: Some(Shard {
            number: 1,
            of,
            benchmarks: 2,
            suite: "0123456789abcdef".to_owned(),
        }),
        ..golden_run()
    };
    write_run_without_samples(directory.path(), &shard(MAX_SHARDS)).unwrap();
    read_run(directory.path()).unwrap();
    write_run_without_samples(directory.path(), &shard(u32::MAX)).unwrap();
    let error = read_run(directory.path()).unwrap_err().to_string();
    assert!(
        error.ends_with("field `shard.of` is 4294967295; it must be 1 to 1000"),
        "{error}"
    );
}
