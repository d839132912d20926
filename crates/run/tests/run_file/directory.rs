//! The directory of a run: what is replaced, kept, ignored and cleared away.

use std::fs;
use std::path::Path;

use topdown_run::run_file::{Run, copy_run, read_run, read_samples, remove_run, write_run};

use crate::V1;
use crate::golden_run::golden_run;
use crate::golden_samples::golden_samples;

pub fn files_in(directory: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

fn run_called(id: &str) -> Run {
    Run {
        id: id.to_owned(),
        ..golden_run()
    }
}

#[test]
fn run_replaces_previous_run_and_samples() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    write_run(directory, &run_called("first"), &golden_samples()).unwrap();
    assert_eq!(files_in(directory), ["run.json", "samples-first.jsonl"]);
    write_run(directory, &run_called("second"), &golden_samples()).unwrap();
    assert_eq!(files_in(directory), ["run.json", "samples-second.jsonl"]);
    assert_eq!(read_run(directory).unwrap().id, "second");
    copy_run(Path::new(V1), directory).unwrap();
    assert_eq!(files_in(directory), files_in(Path::new(V1)));
    // Copying onto itself loses nothing.
    copy_run(directory, directory).unwrap();
    assert_eq!(read_samples(directory).unwrap(), golden_samples());
    remove_run(directory).unwrap();
    assert!(!directory.exists());
}

#[test]
fn run_without_samples_is_kept_and_compared() {
    let directory = tempfile::tempdir().unwrap();
    let alone = directory.path().join("downloaded.json");
    fs::copy(Path::new(V1).join("run.json"), &alone).unwrap();
    let kept = directory.path().join("kept");
    copy_run(&alone, &kept).unwrap();
    assert_eq!(read_run(&kept).unwrap(), golden_run());
    let error = read_samples(&kept).unwrap_err().to_string();
    assert!(
        error.contains("samples-20261121T023000Z-4f2a.jsonl"),
        "{error}"
    );
}

#[test]
fn failed_write_leaves_no_samples() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    // A directory in place of a file cannot be replaced, even by root.
    fs::create_dir_all(directory.join("run.json/occupied")).unwrap();
    copy_run(Path::new(V1), directory).unwrap_err();
    assert_eq!(files_in(directory), ["run.json"]);
}

#[test]
fn old_leftovers_of_killed_writer_are_removed() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    write_run(directory, &run_called("first"), &golden_samples()).unwrap();
    let hours_ago = std::time::SystemTime::now() - std::time::Duration::from_secs(2 * 60 * 60);
    for (name, is_old) in [
        ("run.json.4711.tmp", true),
        ("samples-killed.jsonl.4711.tmp", true),
        ("samples-killed.jsonl", true),
        ("samples-other-writer.jsonl", false),
        ("README.md", true),
    ] {
        let file = fs::File::create(directory.join(name)).unwrap();
        if is_old {
            file.set_modified(hours_ago).unwrap();
        }
    }
    assert_eq!(read_run(directory).unwrap().id, "first");
    assert_eq!(read_samples(directory).unwrap(), golden_samples());
    write_run(directory, &run_called("second"), &golden_samples()).unwrap();
    assert_eq!(
        files_in(directory),
        [
            "README.md",
            "run.json",
            "samples-other-writer.jsonl",
            "samples-second.jsonl"
        ]
    );
}

#[test]
fn failed_write_leaves_previous_run() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    write_run(directory, &run_called("first"), &golden_samples()).unwrap();
    let before = files_in(directory);
    // Directories in place of files: this also works for root, who ignores permissions.
    fs::create_dir(directory.join("samples-second.jsonl")).unwrap();
    let error = write_run(directory, &run_called("second"), &golden_samples()).unwrap_err();
    assert!(error.path.ends_with("samples-second.jsonl"), "{error}");
    fs::remove_dir(directory.join("samples-second.jsonl")).unwrap();
    let error = write_run(directory, &run_called("../second"), &golden_samples()).unwrap_err();
    assert!(error.to_string().contains("field `id`"), "{error}");
    assert_eq!(files_in(directory), before);
    assert_eq!(read_run(directory).unwrap().id, "first");
}
