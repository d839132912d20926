//! `cargo topdown baseline` from outside: its output, and what a killed or failing save leaves
//! behind.

use std::path::Path;
use std::process::{Command, Output, Stdio};

use topdown_published_schema::check;

use tempfile::TempDir;
use topdown_counters::machine::this_machine;
use topdown_run::run_file::{LaunchSamples, Run, read_run, read_samples, write_run};

const GOLDEN: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../crates/run/tests/data/run-v1"
);
const GOLDEN_KEY: &str = "x86_64-GenuineIntel-06-8f-08-kvm-smt";

/// A workspace with a store and a run of this machine.
struct Workspace {
    root: TempDir,
}

impl Workspace {
    fn new() -> Workspace {
        let root = tempfile::tempdir().unwrap();
        std::fs::write(root.path().join("Cargo.toml"), "[workspace]\n").unwrap();
        Workspace { root }
    }

    fn command(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_cargo-topdown"));
        command
            .current_dir(self.root.path())
            .env_remove("CARGO_TOPDOWN_BASELINES")
            .env("CARGO_TARGET_DIR", self.root.path().join("target"))
            .arg("baseline");
        command
    }

    fn run(&self, arguments: &[&str]) -> Output {
        self.command().args(arguments).output().unwrap()
    }

    /// Returns the standard output of a command that must succeed, with this machine's key
    /// replaced.
    fn text(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        let errors = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success(), "{arguments:?}: {errors}");
        self.redacted(output.stdout)
    }

    /// Returns the exit code and standard error of a failing command.
    fn failure(&self, arguments: &[&str]) -> (i32, String) {
        let output = self.run(arguments);
        (output.status.code().unwrap(), self.redacted(output.stderr))
    }

    fn redacted(&self, bytes: Vec<u8>) -> String {
        let machine = this_machine();
        let root = self.root.path().canonicalize().unwrap();
        String::from_utf8(bytes)
            .unwrap()
            .replace(&machine.key(), "THIS-KEY")
            .replace(&machine.to_string(), "THIS MACHINE")
            .replace(root.to_str().unwrap(), "ROOT")
    }

    /// Stores a run of this machine with many samples at this path.
    fn write_run(&self, path: &str, id: &str, lines: usize) {
        let (run, samples) = this_machines_run(id, lines);
        write_run(&self.root.path().join(path), &run, &samples).unwrap();
    }
}

fn this_machines_run(id: &str, lines: usize) -> (Run, Vec<LaunchSamples>) {
    let golden = Path::new(GOLDEN);
    let run = Run {
        id: id.to_owned(),
        machine: this_machine(),
        ..read_run(golden).unwrap()
    };
    let samples = read_samples(golden).unwrap();
    (run, samples.iter().cycle().take(lines).cloned().collect())
}

#[test]
fn baseline_is_saved_listed_shown_and_removed() {
    let workspace = Workspace::new();
    assert_eq!(
        workspace.text(&["list"]),
        "no baselines in ROOT/baselines; to make one: `cargo topdown bench --save NAME`\n"
    );
    let (code, error) = workspace.failure(&["save", "main"]);
    assert_eq!(code, 102);
    assert_eq!(
        error,
        "error: no run in ROOT/target/topdown/newest yet; run `cargo topdown bench` first\n\
         "
    );
    workspace.write_run("target/topdown/newest", "a", 9);
    assert_eq!(
        workspace.text(&["save", "main"]),
        "saved baseline `main` in baselines/main/THIS-KEY\n"
    );
    workspace.text(&["save", "feature/x", "main"]);
    workspace.text(&["save", "feature/x", GOLDEN]);
    let list = workspace.text(&["list"]);
    for line in [
        "main",
        "feature/x",
        "* taken on a machine like this one, or modelled",
    ] {
        assert!(list.lines().any(|found| found == line), "{list}");
    }
    assert_eq!(list.matches("* THIS-KEY").count(), 2, "{list}");
    assert_eq!(list.matches(GOLDEN_KEY).count(), 1, "{list}");
    assert!(
        workspace
            .text(&["show", "main"])
            .contains("json/twitter/1024")
    );
    let other = workspace.text(&["show", "feature/x", "--machine", GOLDEN_KEY]);
    assert!(other.contains("Platinum 8481C"), "{other}");
    assert_eq!(
        workspace.text(&["remove", "feature/x"]),
        "removed baseline `feature/x` of this machine\n\
         1 of other machines remain; `--all` removes them too\n"
    );
    assert_eq!(
        workspace.text(&["rm", "main"]),
        "removed baseline `main` of this machine\n"
    );
    workspace.text(&["remove", "feature/x", "--all"]);
    assert!(workspace.text(&["list"]).starts_with("no baselines"));
}

#[test]
fn missing_and_invalid_names_are_distinct_errors() {
    let workspace = Workspace::new();
    workspace.text(&["save", "main", GOLDEN]);
    for (arguments, code, expected) in [
        (
            &["show", "mian"][..],
            102,
            "no baseline or run file `mian`; there is `main`",
        ),
        (
            &["show", "main"],
            102,
            "it has runs of\n  x86_64-GenuineIntel-06-8f-08-kvm-smt\n",
        ),
        (
            &["remove", "main", "--machine", "z80"],
            102,
            "no run of a machine `z80`",
        ),
        (
            &["save", "../up"],
            2,
            "the part `..` begins with `.` or `-`",
        ),
        (&["show", "../up"], 2, "cannot be the name of a baseline"),
        (
            &["list", "--manifest-path", "no/Cargo.toml"],
            2,
            "could not find the workspace",
        ),
    ] {
        let (found, error) = workspace.failure(arguments);
        assert_eq!(found, code, "{arguments:?}: {error}");
        assert!(error.contains(expected), "{arguments:?}: {error}");
    }
}

#[test]
fn unreadable_baseline_is_listed_with_reason() {
    let workspace = Workspace::new();
    workspace.write_run("target/topdown/newest", "a", 9);
    workspace.text(&["save", "main"]);
    let key = this_machine().key();
    let stored = workspace.root.path().join("baselines/main").join(key);
    std::fs::write(stored.join("run.json"), "{\"schema_version\":9}").unwrap();
    let list = workspace.text(&["list"]);
    assert!(list.contains("unreadable: schema version 9"), "{list}");
    let json: serde_json::Value =
        serde_json::from_str(&workspace.text(&["list", "--json"])).unwrap();
    check("baselines", &json);
    assert_eq!(json["baselines"][0]["name"], "main");
    assert!(
        json["baselines"][0]["error"]
            .as_str()
            .unwrap()
            .contains("schema version 9")
    );
    // It can still be removed, completely.
    workspace.text(&["remove", "main"]);
    let store = workspace.root.path().join("baselines");
    assert_eq!(std::fs::read_dir(store).unwrap().count(), 0);
}

#[test]
fn show_prints_the_file_itself_as_json() {
    let workspace = Workspace::new();
    let file = Path::new(GOLDEN).join("run.json");
    let printed = workspace.run(&["show", GOLDEN, "--json"]).stdout;
    assert_eq!(printed, std::fs::read(file).unwrap());
}

#[test]
fn colours_follow_flag_and_usual_variables() {
    let workspace = Workspace::new();
    for (flag, variable, is_coloured) in [
        ("auto", None, false),
        ("auto", Some(("CLICOLOR_FORCE", "1")), true),
        ("always", None, true),
        ("never", Some(("CLICOLOR_FORCE", "1")), false),
    ] {
        let mut command = workspace.command();
        command.args(["show", GOLDEN, "--color", flag]);
        for name in ["NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE"] {
            command.env_remove(name);
        }
        command.envs(variable);
        let text = String::from_utf8(command.output().unwrap().stdout).unwrap();
        assert!(text.contains("json/twitter/1024"));
        assert_eq!(text.contains('\u{1b}'), is_coloured, "{flag} {variable:?}");
    }
}

/// Returns the id of the stored run, which must be complete.
fn whole_run(stored: &Path) -> String {
    let run = read_run(stored).unwrap();
    assert!(!read_samples(stored).unwrap().is_empty());
    run.id
}

#[cfg(unix)]
#[test]
fn killed_save_leaves_old_or_new_baseline() {
    let workspace = Workspace::new();
    let stored = workspace
        .root
        .path()
        .join("baselines/main")
        .join(this_machine().key());
    workspace.write_run("runs/a", "a", 2000);
    workspace.write_run("runs/b", "b", 2000);
    workspace.text(&["save", "main", "./runs/a"]);
    let mut expected = "a".to_owned();
    for next in ["b", "a", "b", "a", "b", "a"] {
        let run = format!("./runs/{next}");
        let mut child = workspace
            .command()
            .args(["save", "main", &run])
            .spawn()
            .unwrap();
        // As soon as it writes: in the middle of the samples, or between the two files.
        let is_writing = || {
            let mut entries = std::fs::read_dir(&stored).unwrap();
            entries.any(|e| e.unwrap().path().extension().is_some_and(|e| e == "tmp"))
        };
        while !is_writing() && child.try_wait().unwrap().is_none() {}
        child.kill().unwrap();
        child.wait().unwrap();
        let found = whole_run(&stored);
        assert!(found == expected || found == next, "{found}");
        expected = found;
    }
    workspace.text(&["save", "main", "./runs/b"]);
    assert_eq!(whole_run(&stored), "b");
}

#[test]
fn history_has_every_run_of_concurrent_saves() {
    let workspace = Workspace::new();
    workspace.write_run("target/topdown/newest", "first", 9);
    workspace.text(&["save", "main"]);
    assert!(workspace.text(&["list"]).contains("  1 run"));
    let ids: Vec<String> = (0..8).map(|writer| format!("writer-{writer}")).collect();
    for id in &ids {
        workspace.write_run(&format!("runs/{id}"), id, 9);
    }
    let writers: Vec<_> = ids
        .iter()
        .map(|id| {
            let run = format!("./runs/{id}");
            let mut command = workspace.command();
            command.args(["save", "main", &run]).stdout(Stdio::null());
            command.spawn().unwrap()
        })
        .collect();
    for mut writer in writers {
        assert!(writer.wait().unwrap().success());
    }
    assert!(workspace.text(&["list"]).contains("  9 runs"));
    let json: serde_json::Value =
        serde_json::from_str(&workspace.text(&["list", "--json"])).unwrap();
    check("baselines", &json);
    assert_eq!(json["baselines"][0]["kept_runs"], 9);
    let shown = workspace.text(&["show", "main"]);
    assert!(shown.contains("history"), "{shown}");
    assert!(shown.contains("9 runs"), "{shown}");
    workspace.text(&["remove", "main"]);
    let key = this_machine().key();
    let stored = workspace.root.path().join("baselines/main").join(key);
    assert!(!stored.join("history").exists());
}

#[cfg(unix)]
#[test]
fn full_disk_leaves_old_baseline() {
    let workspace = Workspace::new();
    workspace.write_run("target/topdown/newest", "small", 9);
    workspace.text(&["save", "main"]);
    workspace.write_run("runs/large", "large", 2000);
    // A limit on file sizes makes the same call fail in the same way as a full disk.
    let script = "trap '' XFSZ; ulimit -f 100; exec \"$@\"";
    let output = Command::new("sh")
        .args(["-c", script, "sh", env!("CARGO_BIN_EXE_cargo-topdown")])
        .args(["baseline", "save", "main", "./runs/large"])
        .args(["--baselines", "baselines"])
        .current_dir(workspace.root.path())
        .output()
        .unwrap();
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(101), "{error}");
    assert!(
        error.contains("could not save the baseline; the previous one is unchanged"),
        "{error}"
    );
    let again = "`cargo topdown baseline save main ./runs/large/run.json --baselines baselines`";
    assert!(error.contains(again), "{error}");
    let stored = workspace
        .root
        .path()
        .join("baselines/main")
        .join(this_machine().key());
    assert_eq!(whole_run(&stored), "small");
    // `run.json`, its samples, and the history without the run that was not saved.
    assert_eq!(std::fs::read_dir(&stored).unwrap().count(), 3);
    let history = stored.join("history");
    assert_eq!(std::fs::read_dir(&history).unwrap().count(), 1);
}
