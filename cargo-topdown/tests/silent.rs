//! No silent no-op: stored runs are printed as requested, names that do not exist get a suggestion,
//! and a reader may close the pipe.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;
use topdown_counters::machine::this_machine;
use topdown_run::run_file::{Run, parse_run, read_run, write_run_without_samples};

const GOLDEN: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../crates/run/tests/data/run-v1"
);

/// A workspace whose runs are copies of a golden file.
struct Workspace {
    root: TempDir,
}

impl Workspace {
    /// With a newest run and these baselines, of earlier runs.
    fn new(baselines: &[&str]) -> Workspace {
        let root = tempfile::tempdir().unwrap();
        fs::write(
            root.path().join("Cargo.toml"),
            "[workspace]\n\
             [workspace.metadata.topdown.tags]\nodd = [\"*::nanoseconds*\", \"sum*\"]\n",
        )
        .unwrap();
        let workspace = Workspace { root };
        let run = golden();
        for (index, name) in baselines.iter().enumerate() {
            let earlier = Run {
                id: format!("{}-{index}", run.id),
                ..run.clone()
            };
            workspace.store(&format!("baselines/{name}/{}", run.key()), &earlier);
        }
        workspace.store("target/topdown/newest", &run);
        workspace
    }

    fn path(&self, path: &str) -> PathBuf {
        self.root.path().join(path)
    }

    fn store(&self, path: &str, run: &Run) {
        write_run_without_samples(&self.path(path), run).unwrap();
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_cargo-topdown"));
        command
            .current_dir(self.root.path())
            .env_remove("CARGO_TOPDOWN_BASELINES")
            .env_remove("COLUMNS")
            .env("CARGO_TARGET_DIR", self.path("target"))
            .args(arguments);
        command
    }

    fn run(&self, arguments: &[&str]) -> Outcome {
        let root = self.root.path().canonicalize().unwrap();
        let output = self.command(arguments).output().unwrap();
        let Output {
            status,
            stdout,
            stderr,
        } = output;
        let text = |bytes| {
            let text = String::from_utf8(bytes).unwrap();
            text.replace(root.to_str().unwrap(), "ROOT")
        };
        Outcome {
            code: status.code(),
            stdout: text(stdout),
            stderr: text(stderr),
        }
    }
}

#[derive(Debug)]
struct Outcome {
    code: Option<i32>,
    stdout: String,
    stderr: String,
}

fn golden() -> Run {
    Run {
        machine: this_machine(),
        ..read_run(Path::new(GOLDEN)).unwrap()
    }
}

fn names(run: &Run) -> Vec<&str> {
    run.benchmarks.iter().map(|b| &*b.id.name).collect()
}

#[test]
fn report_prints_run_as_json() {
    let workspace = Workspace::new(&[]);
    let outcome = workspace.run(&["report", "--json"]);
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    let run = parse_run(outcome.stdout.as_bytes()).unwrap();
    assert_eq!(run, golden());
}

#[test]
fn report_shows_selected_benchmarks() {
    let workspace = Workspace::new(&[]);
    let golden = golden();
    let all = names(&golden);
    let expression = format!("test(={})", all[0]);
    let selected = |arguments: &[&str]| {
        let outcome = workspace.run(&[&["report", "--json"], arguments].concat());
        assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
        let run = parse_run(outcome.stdout.as_bytes()).unwrap();
        let kept = names(&run).iter().map(|n| (*n).to_owned()).collect();
        (kept, outcome.stderr)
    };
    let (kept, said): (Vec<String>, String) = selected(&["-E", &expression]);
    assert_eq!(kept, all[..1]);
    let note = format!("note: `the newest run`: 1 of {} benchmarks", all.len());
    assert!(said.contains(&note), "{said}");
    let (kept, _) = selected(&["--skip", all[0]]);
    assert_eq!(kept, all[1..]);
    let outcome = workspace.run(&["report", "-E", "none()"]);
    assert_eq!(outcome.code, Some(102), "{}", outcome.stderr);
    let outcome = workspace.run(&["report", "-E", "tag(even)"]);
    assert_eq!(outcome.code, Some(2), "{}", outcome.stderr);
    insta::assert_snapshot!(outcome.stderr);
}

#[test]
fn compare_judges_selected_benchmarks() {
    let workspace = Workspace::new(&["main"]);
    let golden = golden();
    let name = names(&golden)[0];
    let expression = format!("test(={name})");
    let outcome = workspace.run(&["compare", "main", "--json", "-E", &expression]);
    let comparison: serde_json::Value = serde_json::from_str(&outcome.stdout).unwrap();
    let judged = comparison["benchmarks"].as_array().unwrap();
    assert_eq!(judged.len(), 1, "{}", outcome.stdout);
    assert_eq!(judged[0]["id"]["name"], name);
    assert!(
        !outcome.stdout.contains("\"missing\": [\n"),
        "{}",
        outcome.stdout
    );
}

#[test]
fn compare_defaults_to_only_baseline_or_main() {
    for (baselines, expected) in [
        (&["release"][..], "release"),
        (&["release", "main"], "main"),
    ] {
        let workspace = Workspace::new(baselines);
        let outcome = workspace.run(&["compare", "--json"]);
        let comparison: serde_json::Value = serde_json::from_str(&outcome.stdout)
            .unwrap_or_else(|error| panic!("{error}: {}", outcome.stderr));
        assert_eq!(comparison["baseline"]["label"], expected);
    }
    let outcome = Workspace::new(&["a", "b"]).run(&["compare"]);
    assert_eq!(outcome.code, Some(2));
    assert!(
        outcome
            .stderr
            .contains("name a baseline: there are `a`, `b`"),
        "{}",
        outcome.stderr
    );
}

/// As `exec --save base`, a change, `exec`, `compare base` do.
#[test]
fn commands_have_their_own_newest_run() {
    let workspace = Workspace::new(&["main"]);
    let before = read_run(&workspace.path("target/topdown/newest")).unwrap();
    let exec = |more: &[&str]| {
        let command = ["--", env!("CARGO_BIN_EXE_cargo-topdown"), "--version"];
        let words = ["exec", "-n", "2", "-q", "--source=time", "--name=v"];
        let outcome = workspace.run(&[&words[..], more, &command].concat());
        assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    };
    exec(&["--save=base"]);
    exec(&[]);
    let newest = read_run(&workspace.path("target/topdown/newest")).unwrap();
    assert_eq!(newest, before);
    let outcome = workspace.run(&["compare", "base", "--json"]);
    let comparison: serde_json::Value = serde_json::from_str(&outcome.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", outcome.stderr));
    assert_eq!(comparison["benchmarks"][0]["id"]["package"], "exec");
    assert_eq!(comparison["benchmarks"].as_array().unwrap().len(), 1);
}

/// As `doctor | grep -q` does: the exit code is that of the command.
#[cfg(unix)]
#[test]
fn reader_may_close_pipe() {
    let workspace = Workspace::new(&["main"]);
    for arguments in [
        &["doctor"][..],
        &["doctor", "--json"],
        &["report"],
        &["report", "--json"],
        &["compare", "main"],
        &["compare", "main", "--json"],
        &["baseline", "list"],
        &["completions", "bash"],
    ] {
        let expected = workspace.run(arguments).code;
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let child = workspace
            .command(arguments)
            .stdout(writer)
            .stderr(Stdio::piped())
            .spawn();
        let output = child.unwrap().wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), expected, "{arguments:?}: {said}");
        assert!(!said.contains("error"), "{arguments:?}: {said}");
    }
}
