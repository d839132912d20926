//! `cargo topdown exec` from outside, on any machine: usually only time.

use std::process::Output;

use assert_cmd::Command;
use criterion_topdown::provenance::SourceKind;
use criterion_topdown::run_file::{read_run, read_samples};
use tempfile::TempDir;

fn exec(directory: &TempDir, arguments: &[&str]) -> Output {
    let out = directory.path().join("run");
    Command::cargo_bin("cargo-topdown")
        .unwrap()
        .args(["exec", "--out", out.to_str().unwrap()])
        .args(arguments)
        .env("COLUMNS", "100")
        .env("LC_ALL", "C.UTF-8")
        .env_remove("CARGO_TOPDOWN_SOURCE")
        .output()
        .unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[cfg(unix)]
#[test]
fn every_launch_is_a_sample_and_the_commands_output_passes() {
    let directory = TempDir::new().unwrap();
    let command = ["--", "sh", "-c", "echo out; echo err >&2; cat"];
    let output = exec(
        &directory,
        &[&["-n", "3", "--source", "time"], &command[..]].concat(),
    );
    let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{stderr}");
    assert_eq!(stdout.matches("out\n").count(), 3);
    assert_eq!(stderr.matches("err\n").count(), 3);
    assert!(stderr.contains("Launch 3 of 3"), "{stderr}");
    assert!(stderr.contains("note: measuring time only (the clock was asked for)"));
    let run = read_run(&directory.path().join("run")).unwrap();
    let [benchmark] = &run.benchmarks[..] else {
        panic!("one command is one benchmark")
    };
    assert_eq!(
        benchmark.id.to_string(),
        "exec::command::sh -c echo out; echo err >&2; cat"
    );
    assert_eq!(benchmark.provenance.source, SourceKind::Time);
    assert_eq!(benchmark.launches.len(), 3);
    let samples = read_samples(&directory.path().join("run")).unwrap();
    assert_eq!(samples.len(), 3);
    for ((_, launch, samples), value) in samples.iter().zip(&benchmark.launches) {
        assert_eq!((samples.len(), samples[0].iterations), (1, 1));
        assert_eq!(*launch, value.launch);
        assert_eq!(samples[0].sample.wall_ns as f64, value.wall_ns);
    }
}

#[cfg(unix)]
#[test]
fn quiet_hides_all_but_the_table() {
    let directory = TempDir::new().unwrap();
    let command = ["--", "sh", "-c", "echo out; echo err >&2"];
    let options = ["-q", "-n", "2", "--name", "shell", "--source", "time"];
    let output = exec(&directory, &[&options[..], &command].concat());
    assert_eq!(text(&output.stderr), "");
    let stdout = text(&output.stdout);
    assert!(stdout.contains("  shell "), "{stdout}");
    assert!(!stdout.contains("out\n"), "{stdout}");
}

/// With counters, this counts; otherwise it says why not. Both are right.
#[cfg(unix)]
#[test]
fn the_source_is_said() {
    let directory = TempDir::new().unwrap();
    let output = exec(&directory, &["-n", "1", "--", "true"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let run = read_run(&directory.path().join("run")).unwrap();
    let provenance = &run.benchmarks[0].provenance;
    match provenance.source {
        SourceKind::Hardware => assert!(provenance.reason.contains("inherited by all processes")),
        _ => assert!(
            text(&output.stderr).contains("note: measuring time only (no hardware counters")
        ),
    }
}

#[cfg(unix)]
#[test]
fn a_command_that_fails_leaves_no_run() {
    let directory = TempDir::new().unwrap();
    for (command, expected) in [
        (
            &["sh", "-c", "exit 3"][..],
            "error: launch 1 of 10: `sh` ended with exit status: 3; nothing was stored\n",
        ),
        (
            &["/nowhere/command"],
            "error: launch 1 of 10: could not start `/nowhere/command`: No such file or directory (os error 2); \
             nothing was stored\n",
        ),
    ] {
        let output = exec(
            &directory,
            &[&["-q", "--source", "time", "--"], command].concat(),
        );
        assert_eq!(output.status.code(), Some(101));
        assert_eq!(text(&output.stderr), expected);
        assert!(!directory.path().join("run").exists());
    }
}

#[test]
fn the_model_cannot_follow_a_command() {
    let directory = TempDir::new().unwrap();
    let output = exec(&directory, &["--source", "model", "--", "true"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("`--source hardware` or `--source time`"));
}

/// The two sides of the channel between `exec` and the process that becomes the command.
#[cfg(unix)]
mod told {
    use std::io::{Read, Write};
    use std::os::fd::OwnedFd;
    use std::os::unix::net::UnixStream;
    use std::process::{Child, Command};

    fn start(command: &[&str]) -> (Child, UnixStream) {
        let (mut ours, its) = UnixStream::pair().unwrap();
        let child = Command::new(env!("CARGO_BIN_EXE_cargo-topdown"))
            .args(["exec-when-told", "--"])
            .args(command)
            .stdin(OwnedFd::from(its))
            .spawn()
            .unwrap();
        ours.read_exact(&mut [0]).unwrap();
        (child, ours)
    }

    #[test]
    fn a_process_becomes_the_command_when_it_is_told_and_not_before() {
        // The command's standard input is empty, otherwise `cat` would not end.
        let (mut child, mut channel) = start(&["sh", "-c", "cat; exit 7"]);
        assert!(child.try_wait().unwrap().is_none());
        channel.write_all(b"!").unwrap();
        let mut refusal = String::new();
        channel.read_to_string(&mut refusal).unwrap();
        assert_eq!(refusal, "");
        assert_eq!(child.wait().unwrap().code(), Some(7));
    }

    #[test]
    fn a_process_that_cannot_become_the_command_says_why() {
        let (mut child, mut channel) = start(&["/nowhere/command"]);
        channel.write_all(b"!").unwrap();
        let mut refusal = String::new();
        channel.read_to_string(&mut refusal).unwrap();
        assert!(refusal.contains("No such file or directory"), "{refusal}");
        assert!(!child.wait().unwrap().success());
    }

    #[test]
    fn a_process_that_nobody_tells_ends() {
        let (mut child, channel) = start(&["true"]);
        drop(channel);
        assert!(!child.wait().unwrap().success());
    }
}
