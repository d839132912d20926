//! `cargo topdown exec` from outside, on any machine: usually only time.

#[cfg(target_os = "linux")]
mod other_processes;

use std::process::Output;

use assert_cmd::Command;
use tempfile::TempDir;
use topdown_run::provenance::SourceKind;
use topdown_run::run_file::{read_run, read_samples};

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
fn launches_are_samples_and_output_passes() {
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
    assert!(!stderr.contains("note:"), "time was requested: {stderr}");
    let run = read_run(&directory.path().join("run")).unwrap();
    let [benchmark] = &run.benchmarks[..] else {
        panic!("one command is one benchmark")
    };
    assert_eq!(
        benchmark.id.to_string(),
        "exec::command::sh -c echo out; echo err >&2; cat"
    );
    assert_eq!(benchmark.provenance().source, SourceKind::Time);
    assert_eq!(benchmark.launches(), 3);
    let samples = read_samples(&directory.path().join("run")).unwrap();
    assert_eq!(samples.len(), 3);
    for (launch, value) in samples.iter().zip(&benchmark.times.launches) {
        let samples = &launch.samples;
        assert_eq!((samples.len(), samples[0].iterations), (1, 1));
        assert_eq!(
            (launch.launch, launch.source),
            (value.launch, SourceKind::Time)
        );
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
fn source_is_named() {
    let directory = TempDir::new().unwrap();
    let output = exec(&directory, &["-n", "1", "--", "true"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let run = read_run(&directory.path().join("run")).unwrap();
    let provenance = run.benchmarks[0].provenance();
    match provenance.source {
        SourceKind::Hardware => assert!(provenance.reason.contains("inherited by all processes")),
        _ => assert!(text(&output.stderr).contains("note: measuring time only: ")),
    }
}

#[cfg(unix)]
#[test]
fn failing_command_leaves_no_run() {
    let directory = TempDir::new().unwrap();
    for (command, expected) in [
        (
            &["sh", "-c", "exit 3"][..],
            "error: launch 1 of 10: `sh` ended with exit status: 3; nothing was stored\n",
        ),
        (
            &["/nowhere/command"],
            "error: launch 1 of 10: could not start `/nowhere/command`: No such file or directory \
             (os error 2);\n  nothing was stored\n",
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
fn model_cannot_follow_a_command() {
    let directory = TempDir::new().unwrap();
    let output = exec(&directory, &["--source", "model", "--", "true"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("`--source hardware` or `--source time`"));
}

/// A command's processes, which end with it, with the program, and by a signal to the program.
#[cfg(target_os = "linux")]
mod processes {
    use std::fs;
    use std::path::Path;
    use std::process::{Child, Command, Stdio};

    use super::*;
    use crate::other_processes::{is_running, send, wait_for};

    /// The whole lines in `file`, of which there are to be `count`.
    fn numbers_in(file: &Path, count: usize) -> Vec<String> {
        wait_for(|| {
            let text = fs::read_to_string(file).ok()?;
            let lines: Vec<_> = text.lines().map(str::to_owned).collect();
            (lines.len() == count && text.ends_with('\n')).then_some(lines)
        })
    }

    #[test]
    fn surviving_children_of_command_are_ended() {
        let directory = TempDir::new().unwrap();
        let file = directory.path().join("left");
        let script = format!("setsid sleep 600 & echo $! >> {}", file.display());
        let options = ["-n", "2", "--source", "time", "--", "sh", "-c", &script];
        let output = exec(&directory, &options);
        let stderr = text(&output.stderr);
        assert!(output.status.success(), "{stderr}");
        for left in numbers_in(&file, 2) {
            // It may not have become `sleep` yet.
            let named = format!("({left})");
            let is_told =
                |line: &str| line.contains("which were killed: ") && line.ends_with(&named);
            assert!(stderr.lines().any(is_told), "{stderr}");
            assert!(!is_running(&left));
        }
    }

    /// The command's number and that of a process that it has started, and the program's.
    fn start(directory: &TempDir) -> (Child, Vec<String>) {
        let file = directory.path().join("running");
        let script = format!("sleep 600 & echo \"$$\n$!\" > {}; wait", file.display());
        let program = Command::new(env!("CARGO_BIN_EXE_cargo-topdown"))
            .args(["exec", "--source", "time", "--out"])
            .arg(directory.path().join("run"))
            .args(["--", "sh", "-c", &script])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let running = numbers_in(&file, 2);
        assert!(running.iter().all(|process| is_running(process)));
        (program, running)
    }

    #[test]
    fn signal_ends_command_and_children() {
        let directory = TempDir::new().unwrap();
        let (mut program, running) = start(&directory);
        send("-TERM", &program);
        let status = wait_for(|| program.try_wait().unwrap());
        assert_eq!(status.code(), Some(130));
        assert!(!running.iter().any(|process| is_running(process)));
        assert!(!directory.path().join("run").exists());
    }

    #[test]
    fn command_ends_with_program() {
        let directory = TempDir::new().unwrap();
        let (mut program, running) = start(&directory);
        program.kill().unwrap();
        program.wait().unwrap();
        wait_for(|| (!is_running(&running[0])).then_some(()));
        // Nobody is left to end what the command has started.
        let _ = Command::new("kill").args(["-KILL", &running[1]]).status();
    }
}

/// The two sides of the channel between `exec` and the process that becomes the command.
#[cfg(unix)]
mod start_channel {
    use std::io::{Read, Write};
    use std::os::fd::OwnedFd;
    use std::os::unix::net::UnixStream;
    use std::process::{Child, Command};

    fn start(command: &[&str]) -> (Child, UnixStream) {
        let (mut ours, its) = UnixStream::pair().unwrap();
        let child = Command::new(env!("CARGO_BIN_EXE_cargo-topdown"))
            .args(["exec-when-told", "--parent"])
            .arg(std::process::id().to_string())
            .arg("--")
            .args(command)
            .stdin(OwnedFd::from(its))
            .spawn()
            .unwrap();
        ours.read_exact(&mut [0]).unwrap();
        (child, ours)
    }

    #[test]
    fn process_execs_command_only_on_request() {
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
    fn failed_exec_has_a_reason() {
        let (mut child, mut channel) = start(&["/nowhere/command"]);
        channel.write_all(b"!").unwrap();
        let mut refusal = String::new();
        channel.read_to_string(&mut refusal).unwrap();
        assert!(refusal.contains("No such file or directory"), "{refusal}");
        assert!(!child.wait().unwrap().success());
    }

    #[test]
    fn forgotten_process_ends() {
        let (mut child, channel) = start(&["true"]);
        drop(channel);
        assert!(!child.wait().unwrap().success());
    }
}

#[test]
fn missing_counters_lose_only_the_functions() {
    let directory = TempDir::new().unwrap();
    let options = ["-n", "1", "--functions", "--source", "time", "--", "true"];
    let output = exec(&directory, &options);
    let stderr = text(&output.stderr);
    assert!(output.status.success(), "{stderr}");
    let note = "note: the functions of `true` are unknown: only counters can sample them";
    assert!(stderr.contains(note), "{stderr}");
    let run = read_run(&directory.path().join("run")).unwrap();
    assert_eq!(run.benchmarks[0].functions, None);
}
