//! Termination of hanging launches, and their leftovers.
#![cfg(target_os = "linux")]

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::fixture::{Fixture, Outcome, PROGRAM};
use crate::other_processes::{is_running, send, wait_for};

fn bench(fixture: &Fixture, trouble: &str, flags: &[&str]) -> Outcome {
    let words = ["--package", "trouble"];
    fixture.bench_with(&[&words, flags].concat(), &[("FIXTURE_TROUBLE", trouble)])
}

/// Waits for the number in `file`.
pub fn number_in(file: &Path) -> String {
    wait_for(|| {
        fs::read_to_string(file)
            .ok()
            .filter(|text| text.ends_with('\n'))
    })
}

#[test]
fn inherited_connection_does_not_block_runner() {
    let fixture = Fixture::new();
    bench(&fixture, "", &[]).succeeds();
    let begun_at = Instant::now();
    let outcome = bench(&fixture, "leaves a copy of itself behind", &[]).succeeds();
    // The copy sleeps for ten minutes.
    assert!(begun_at.elapsed() < Duration::from_secs(60));
    let note = "`trouble::trouble` left processes running, which were killed: `trouble-";
    assert!(outcome.stderr.contains(note), "{}", outcome.stderr);
}

#[test]
fn surviving_children_of_bench_are_ended() {
    let fixture = Fixture::new();
    let outcome = bench(&fixture, "leaves a process behind", &["--launches", "1"]).succeeds();
    let left = number_in(&fixture.state());
    let note = format!("which were killed: `sleep` ({})", left.trim());
    assert!(outcome.stderr.contains(&note), "{}", outcome.stderr);
    assert!(!is_running(&left));
}

#[test]
fn hanging_bench_is_ended_and_named() {
    let fixture = Fixture::new();
    let flags = ["--launch-timeout", "2", "--save", "main"];
    bench(&fixture, "hangs in a benchmark", &flags).fails_with(
        101,
        "bench target `trouble::trouble` failed in launch 1: it timed out in benchmark `endless` \
         (limit: 2 s) and was killed; `--launch-timeout SECONDS` raises the limit",
    );
    assert!(!fixture.baselines().exists());
}

/// A build script stands in for a compiler: cargo starts both.
#[test]
fn signal_while_building_ends_compilers() {
    for signal in ["-TERM", "-INT", "-HUP"] {
        let package = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| fs::write(package.path().join(name), text).unwrap();
        let manifest = "[package]\nname = \"slow\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\
                        [lib]\npath = \"lib.rs\"\n[[bench]]\nname = \"slow\"\npath = \"lib.rs\"\n";
        write("Cargo.toml", manifest);
        write("lib.rs", "");
        write(
            "build.rs",
            "fn main() {\n\
                 let id = std::process::id();\n\
                 std::fs::write(\"new\", format!(\"{id}\\n\")).unwrap();\n\
                 std::fs::rename(\"new\", \"building\").unwrap();\n\
                 std::thread::sleep(std::time::Duration::from_secs(600));\n\
             }\n",
        );
        let mut program = Command::new(PROGRAM)
            .args(["topdown", "bench"])
            .current_dir(package.path())
            .env_remove("CARGO_TARGET_DIR")
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let building = number_in(&package.path().join("building"));
        send(signal, &program);
        wait_for(|| program.try_wait().unwrap());
        let output = program.wait_with_output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(130), "{stderr}");
        assert!(stderr.contains("interrupted"), "{stderr}");
        assert!(!is_running(&building), "{signal}");
    }
}

/// As `nohup` starts it: closing the terminal ends no measurement of the night.
#[test]
fn ignored_hangup_stays_ignored() {
    let fixture = Fixture::new();
    let words = ["bench", "--package", "trouble", "--launch-timeout", "3"];
    let bench = fixture.command(&words, &[("FIXTURE_TROUBLE", "hangs")]);
    let mut shell = Command::new("sh");
    shell.args(["-c", "trap '' HUP; exec \"$@\"", "sh"]);
    shell.arg(bench.get_program()).args(bench.get_args());
    shell.current_dir(bench.get_current_dir().unwrap());
    for (name, value) in bench.get_envs() {
        match value {
            Some(value) => shell.env(name, value),
            None => shell.env_remove(name),
        };
    }
    let mut program = shell
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    wait_for(|| fixture.state().exists().then_some(()));
    send("-HUP", &program);
    wait_for(|| program.try_wait().unwrap());
    let output = program.wait_with_output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(101), "{stderr}");
    assert!(stderr.contains("(limit: 3 s)"), "{stderr}");
}

#[test]
fn leftovers_of_killed_program_are_removed() {
    let fixture = Fixture::new();
    let scratch = tempfile::tempdir().unwrap();
    let environment = [
        ("FIXTURE_TROUBLE", "hangs with a process"),
        ("TMPDIR", scratch.path().to_str().unwrap()),
    ];
    let words = ["bench", "--package", "trouble"];
    let mut program = fixture
        .command(&words, &environment)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let left = number_in(&fixture.state());
    let bench = wait_for(|| parent_named(&left, "trouble-"));
    send("-KILL", &program);
    program.wait().unwrap();
    // It ends with its program.
    wait_for(|| (!is_running(&bench)).then_some(()));
    assert_eq!(fs::read_dir(scratch.path()).unwrap().count(), 1);
    let environment = [("FIXTURE_TROUBLE", ""), environment[1]];
    fixture
        .bench_with(&["--package", "trouble"], &environment)
        .succeeds();
    assert!(!is_running(&left));
    assert_eq!(fs::read_dir(scratch.path()).unwrap().count(), 0);
}

/// Returns the parent of `process` if its program's name starts with `name`.
fn parent_named(process: &str, name: &str) -> Option<String> {
    let stat = fs::read_to_string(format!("/proc/{}/stat", process.trim())).ok()?;
    let parent = stat.rsplit_once(") ")?.1.split(' ').nth(1)?.to_owned();
    let program = fs::read_to_string(format!("/proc/{parent}/comm")).ok()?;
    program.starts_with(name).then_some(parent)
}

#[test]
fn endless_output_is_cut() {
    let fixture = Fixture::new();
    let outcome = bench(
        &fixture,
        "prints without end",
        &["--launches", "1", "--verbose"],
    )
    .succeeds();
    let cut = "[cargo topdown dropped 100 MiB of earlier output]\nthe last word\n";
    let end = &outcome.stderr[outcome.stderr.len().saturating_sub(2000)..];
    assert!(
        outcome.stderr.contains(cut) && outcome.stderr.len() < 1 << 20,
        "{end}"
    );
}

#[test]
fn benches_inherit_listed_variables() {
    let fixture = Fixture::new();
    let environment = [
        ("FIXTURE_TROUBLE", "is secretive"),
        ("GITHUB_ENV", "/nowhere"),
        ("AWS_SECRET_ACCESS_KEY", "secret"),
        ("SIZE_OF_FIXTURE", "7"),
    ];
    let words = ["--package", "trouble", "--launches", "1"];
    let outcome = fixture.bench_with(&words, &environment).succeeds();
    let note = "note: `trouble::trouble` mentions the environment variable `SIZE_OF_FIXTURE`, \
                which benches do not inherit; to pass it on: `--keep-env SIZE_OF_FIXTURE`";
    assert!(outcome.stderr.contains(note), "{}", outcome.stderr);
    let flags = [&words[..], &["--keep-env", "SIZE_*"]].concat();
    fixture
        .bench_with(&flags, &environment)
        .fails_with(101, "SIZE_OF_FIXTURE is set");
}
