//! Two versions of the program on one folder: the older one reads nothing that a newer one wrote,
//! says so, and loses none of it.

use std::fs;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use topdown_run::run_file::{read_run, write_run_without_samples};

use super::stage::make_slower;
use super::{KEY, Machine, RUN, only_run, with_a_pushed_run};

const UNKNOWN: &str =
    "schema version 2 is not known to this release, which reads version 1; update";

/// Returns a run as a newer program would write it, and its name in a history.
fn newer(run: &Path, started_at: &str) -> (Vec<u8>, String) {
    let json = fs::read_to_string(run).unwrap();
    let (version, rest) = json.split_once("\"schema_version\":1,").unwrap();
    let mut json: serde_json::Value =
        serde_json::from_str(&format!("{version}\"schema_version\":2,{rest}")).unwrap();
    json["started_at"] = started_at.into();
    json["benchmarks"] = serde_json::json!({ "what nobody knows yet": [1, 2, 3] });
    let json = serde_json::to_vec(&json).unwrap();
    let digest = Sha256::digest(&json);
    let digest: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    let stamp = started_at.replace(['-', ':'], "");
    (json, format!("{stamp}-{digest}"))
}

/// A machine whose baseline `main` has a run of this version in its history, and as its current one
/// a newer program's, which was killed before it put it into the history. Returns the machine, the
/// directory of the baseline, and that run with its name.
fn with_newer_baseline() -> (Machine, PathBuf, Vec<u8>, String) {
    let machine = Machine::new();
    machine.save("one", "2026-11-01T10:00:00Z");
    let baseline = machine.workspace().join("baselines/main").join(KEY);
    let current = baseline.join("run.json");
    let (json, name) = newer(&current, "2026-11-02T10:00:00Z");
    fs::write(&current, &json).unwrap();
    (machine, baseline, json, name)
}

#[test]
fn commands_name_what_a_newer_program_wrote() {
    let (machine, baseline, json, _) = with_newer_baseline();
    let run = machine.root.path().join("run");
    let run = run.to_str().unwrap();
    let baseline_path = baseline.to_str().unwrap();
    let page = ["--html", "page.html"];
    let reason = ["--reason", "so be it"];
    let of_machine = ["main", "--machine", KEY];
    let listing = [
        &["baseline", "list"][..],
        &[&["history"], &of_machine[..]].concat(),
    ];
    for words in listing {
        let output = machine.run(words);
        let text = String::from_utf8(output.stdout).unwrap();
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(output.status.success() && text.contains(UNKNOWN), "{text}");
    }
    let accept = [
        "baseline",
        "accept",
        baseline_path,
        "json/twitter/1024",
        "--run",
        run,
    ];
    for words in [
        &["compare", baseline_path, run][..],
        &["compare", run, baseline_path],
        &[&["report", baseline_path], &page[..]].concat(),
        &[&["baseline", "show"], &of_machine[..]].concat(),
        &[&accept, &reason[..]].concat(),
        &["merge", baseline_path, "--output", "merged"],
    ] {
        let output = machine.run(words);
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(102), "{words:?}: {error}");
        assert!(error.contains(UNKNOWN), "{words:?}: {error}");
    }
    assert_eq!(fs::read(baseline.join("run.json")).unwrap(), json);
    for file in ["merged", "page.html", "accepted.json"] {
        assert!(!machine.workspace().join(file).exists(), "{file}");
        assert!(!baseline.join(file).exists(), "{file}");
    }
}

/// What a newer program accepted stays as it is.
#[test]
fn newer_programs_accepted_file_is_not_replaced() {
    let machine = Machine::new();
    let slower = machine.root.path().join("slower");
    for (id, factor) in [("one", 1.0), ("two", 1.5)] {
        let mut run = read_run(Path::new(RUN)).unwrap();
        run.id = id.to_owned();
        make_slower(&mut run, factor);
        write_run_without_samples(&slower, &run).unwrap();
        if id == "one" {
            machine.succeeds(&["baseline", "save", "main", slower.to_str().unwrap()]);
        }
    }
    let baseline = machine.workspace().join("baselines/main").join(KEY);
    let path = baseline.to_str().unwrap();
    let accepted = "{\"schema_version\":2,\"baseline\":\"one\",\"news\":true}";
    fs::write(baseline.join("accepted.json"), accepted).unwrap();
    let run = slower.to_str().unwrap();
    let accept = [
        "baseline",
        "accept",
        path,
        "json/twitter/1024",
        "--run",
        run,
    ];
    for words in [
        &["compare", path, run][..],
        &[&accept[..], &["--reason", "so be it"]].concat(),
    ] {
        let output = machine.run(words);
        let error = String::from_utf8(output.stderr).unwrap();
        assert!(!output.status.success(), "{words:?}: {error}");
        let cause = "schema version 2 is not known to this release";
        assert!(error.contains(cause), "{words:?}: {error}");
    }
    assert_eq!(
        fs::read_to_string(baseline.join("accepted.json")).unwrap(),
        accepted
    );
}

#[test]
fn saving_over_a_newer_programs_run_keeps_it() {
    let (machine, baseline, json, name) = with_newer_baseline();
    machine.save("three", "2026-11-03T10:00:00Z");
    assert_eq!(machine.baseline(), "three");
    let kept = baseline.join("history").join(format!("{name}.json"));
    assert_eq!(fs::read(kept).unwrap(), json);
    assert_eq!(fs::read_dir(baseline.join("history")).unwrap().count(), 3);
}

#[test]
fn newer_programs_run_stays_when_older_ones_are_pulled() {
    let (_machine, store) = with_a_pushed_run();
    let address = store.to_str().unwrap();
    let (machine, baseline, json, _) = with_newer_baseline();
    machine.succeeds(&["baseline", "pull", "--all-machines", "--store", address]);
    assert_eq!(fs::read(baseline.join("run.json")).unwrap(), json);
}

/// A run that nobody here can check is never sent; one that is there is skipped by name.
#[test]
fn newer_programs_runs_are_not_transferred() {
    let (machine, _, _, name) = with_newer_baseline();
    let store = machine.root.path().join("directory");
    let address = store.to_str().unwrap();
    let warning = machine.succeeds(&["baseline", "push", "--store", address]);
    assert!(warning.contains(UNKNOWN), "{warning}");
    let run = only_run(&store);
    let (json, there) = newer(&run.join("run.json"), "2026-11-04T10:00:00Z");
    let newer = run.with_file_name(&there);
    fs::create_dir(&newer).unwrap();
    fs::write(newer.join("run.json"), json).unwrap();
    let reader = Machine::new();
    let warning = reader.succeeds(&["baseline", "pull", "--all-machines", "--store", address]);
    assert!(
        warning.contains(UNKNOWN) && warning.contains(&there),
        "{warning}"
    );
    assert_eq!(reader.baseline(), "one");
    // Nor does it count as one that is too old.
    reader.succeeds(&["baseline", "gc", "--keep", "1", "--store", address]);
    assert!(newer.join("run.json").exists(), "{name}");
}
