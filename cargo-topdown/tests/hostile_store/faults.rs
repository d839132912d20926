//! Single faults of a network's folder, a disk or a mounted file: no run is lost, and the command
//! says what happened.

use std::fs;
use std::process::Stdio;

use super::KEY;
use super::scenarios::SCENARIOS;
use super::stage::{Place, silence};
use crate::strace;

/// The last flush of a push to a directory is that of the directory.
#[test]
fn failing_directory_fsync_fails_push() {
    if !strace::is_installed() {
        return;
    }
    let place = Place::new();
    let scenario = SCENARIOS
        .iter()
        .find(|scenario| scenario.name == "push to a directory")
        .unwrap();
    let flushes = place.calls(scenario.words)["fsync"];
    place.restore();
    let output = place
        .with_fault("fsync", "error=EIO", flushes, scenario.words)
        .stderr(Stdio::piped())
        .output()
        .unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success());
    assert!(error.contains("Input/output error"), "{error}");
    place.check(scenario, false, "fsync of the directory");
}

/// As on a network's file system: a file that another machine has just replaced has a stale handle
/// or does not show yet, a flush fails, a rename leads to another server.
#[test]
fn trouble_of_network_folders_loses_nothing() {
    if !strace::is_installed() {
        return;
    }
    let place = Place::new();
    let names = [
        "save",
        "push to a directory",
        "pull from a directory",
        "gc of a directory",
    ];
    let scenarios = SCENARIOS.iter();
    for scenario in scenarios.filter(|scenario| names.contains(&scenario.name)) {
        let stored = format!("directory/main/{KEY}");
        let baseline = format!("workspace/baselines/main/{KEY}/run.json");
        let runs = fs::read_dir(place.live().join(&stored)).unwrap();
        let mut runs = runs.map(|run| run.unwrap().path().join("run.json"));
        let files = [place.live().join(baseline), runs.next().unwrap()];
        let mut faults = Vec::new();
        for file in &files {
            let file = file.to_str().unwrap();
            for error in ["ESTALE", "ENOENT"] {
                let inject = format!("inject=openat:error={error}:when=1");
                faults.push(vec![
                    "-P".to_owned(),
                    file.to_owned(),
                    "-e".to_owned(),
                    inject,
                ]);
            }
        }
        for fault in ["fsync:error=EIO", "rename:error=EXDEV"] {
            faults.push(vec!["-e".to_owned(), format!("inject={fault}:when=1")]);
        }
        for fault in faults {
            place.restore();
            let options = fault.iter().map(String::as_str);
            let options: Vec<&str> = ["-o", "/dev/null"].into_iter().chain(options).collect();
            let mut command = strace::traced(&place.plain("workspace", scenario.words), &options);
            silence(&mut command);
            let output = command.stderr(Stdio::piped()).output().unwrap();
            let error = String::from_utf8_lossy(&output.stderr);
            let what = format!("{}: {fault:?}: {error}", scenario.name);
            assert!(
                output.status.success() || error.starts_with("error: "),
                "{what}"
            );
            place.check(scenario, output.status.success(), &what);
        }
    }
}

/// A page appears whole or not at all; where it cannot be replaced, it is written in place.
#[test]
fn failing_report_leaves_the_page_before() {
    if !strace::is_installed() {
        return;
    }
    let place = Place::new();
    let page = place.live().join("workspace/page.html");
    let report = |run| ["report", run, "--html", "page.html"];
    place.succeeds("workspace", &report("../one"));
    let before = fs::read(&page).unwrap();
    let is_mounted = ["rename", "renameat", "renameat2"];
    let all = is_mounted.join(",");
    for (call, fault, is_written) in [
        ("fsync", "error=EIO", false),
        ("fsync", "signal=KILL", false),
        (&*all, "error=ENOSPC", false),
        (&*all, "error=EBUSY", true),
        (&*all, "error=EXDEV", true),
    ] {
        let mut command = place.with_fault(call, fault, 1, &report("../slower"));
        let succeeded = command.status().unwrap().success();
        assert_eq!(succeeded, is_written, "{call}: {fault}");
        let is_as_before = fs::read(&page).unwrap() == before;
        assert_eq!(is_as_before, !is_written, "{call}: {fault}");
        place.check_outputs(fault);
        fs::write(&page, &before).unwrap();
    }
}

/// `clap_mangen` would write each word of them.
#[test]
fn manual_pages_are_written_in_few_calls() {
    if !strace::is_installed() {
        return;
    }
    let place = Place::new();
    let log = place.root.path().join("calls");
    let calls = strace::calls(&place.plain("workspace", &["man", "pages"]), "write", &log);
    let pages = fs::read_dir(place.live().join("workspace/pages")).unwrap();
    let pages = pages.count();
    // A page fills its buffer a few times.
    assert!(calls.len() < 20 * pages, "{} for {pages}", calls.len());
}
