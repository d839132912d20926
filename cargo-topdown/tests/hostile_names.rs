//! Hostile names: what reaches a terminal, or the log of a CI job. Issue 14, numbers 8 and 11.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;
use topdown_run::run_file::{read_run, write_run_without_samples};

const RUN: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../crates/run/tests/data/run-v1"
);

/// Clears the screen, returns to the start of the line, starts new lines, rings the bell, and
/// reverses the writing direction.
const EVIL: &str = "::error::a\u{1b}[2J\r\n::stop-commands::x\nPASSED\u{7}\u{9b}1m\u{202e}";

/// Creates a workspace with a stranger's runs.
fn workspace() -> (TempDir, PathBuf) {
    let root = tempfile::tempdir().unwrap();
    fs::write(root.path().join("Cargo.toml"), "[workspace]\n").unwrap();
    let mut run = read_run(Path::new(RUN)).unwrap();
    run.started_at = format!("2026-11-21T02:30:00Z{EVIL}");
    run.machine.name = EVIL.to_owned();
    run.machine.host = Some(EVIL.to_owned());
    run.build.rustc = EVIL.to_owned();
    run.build.git_commit = Some(EVIL.to_owned());
    for benchmark in &mut run.benchmarks {
        benchmark.id.name.insert_str(0, EVIL);
        benchmark.id.package = EVIL.to_owned();
    }
    let directory = root.path().join("evil");
    write_run_without_samples(&directory, &run).unwrap();
    let key = root.path().join("baselines/main/x86_64-model-\u{1b}[2J");
    write_run_without_samples(&key, &run).unwrap();
    (root, directory)
}

fn topdown(root: &TempDir, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cargo-topdown"));
    command
        .arg("topdown")
        .args(arguments)
        .current_dir(root.path())
        .env("CARGO_TARGET_DIR", root.path().join("target"))
        .env_remove("CARGO_TOPDOWN_BASELINES");
    command
}

#[test]
fn names_cannot_control_terminal_or_github() {
    let (root, run) = workspace();
    let run = run.to_str().unwrap();
    let not_there = format!("{EVIL}/none");
    for arguments in [
        &["baseline", "show", run][..],
        &["baseline", "list"],
        &["compare", run, run],
        &["compare", run, RUN],
        &["compare", RUN, run],
        &["compare", "--explain", "none", run, run],
        &["check", run],
        &["history", run],
        &["merge", "--output", "merged", run, run],
        &["baseline", "save", "main", run],
        &["compare", &not_there],
    ] {
        let output = topdown(&root, arguments).output().unwrap();
        for text in [output.stdout, output.stderr] {
            let text = String::from_utf8(text).unwrap();
            let raw: Vec<char> = text
                .chars()
                .filter(|c| (c.is_control() && *c != '\n') || *c == '\u{202e}')
                .collect();
            assert!(raw.is_empty(), "{arguments:?}: {raw:?} in\n{text}");
            for line in text.lines() {
                let line = line.trim_start();
                assert!(!line.starts_with("::"), "{arguments:?}: {text}");
                // The last is the user's own argument, which is quoted verbatim.
                let is_faked = line.starts_with("PASSED\\u") && arguments[1] != not_there;
                assert!(!is_faked, "{arguments:?}: {text}");
            }
        }
    }
}

#[cfg(target_os = "linux")]
#[test]
fn endless_input_is_refused() {
    let (root, _) = workspace();
    let command = topdown(&root, &["import", "/dev/zero"]);
    // Anything without a limit fails under these.
    let limited = "ulimit -v 4000000 -t 20; exec \"$0\" \"$@\"";
    let program = command.get_program().to_owned();
    let words: Vec<_> = command.get_args().map(ToOwned::to_owned).collect();
    let output = Command::new("bash")
        .args(["-c", limited])
        .arg(program)
        .args(words)
        .current_dir(root.path())
        .output()
        .unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(101), "{error}");
    assert!(error.contains("longer than 64 MiB"), "{error}");
}

#[cfg(target_os = "linux")]
#[test]
fn exit_code_survives_closed_output() {
    let (root, run) = workspace();
    for arguments in [&["compare", "none"][..], &["merge", run.to_str().unwrap()]] {
        let code = |stderr: fs::File| {
            let status = topdown(&root, arguments).stderr(stderr).status().unwrap();
            status.code()
        };
        let told = code(fs::File::create(root.path().join("stderr")).unwrap());
        let untold = code(fs::File::options().write(true).open("/dev/full").unwrap());
        assert_eq!(told, untold, "{arguments:?}");
    }
}
