//! The fault campaign for commands that build and launch benches: full disks, I/O errors, renames
//! to another file system, signals and kills at the writing system calls of the program and of its
//! child processes. Each ends with a documented exit code, no run is lost or cut short, the same
//! command succeeds afterwards, and it clears the temporary files.
//!
//! It takes minutes and needs strace: `cargo test -p cargo-topdown --test bench -- --ignored
//! --nocapture campaign`. `CAMPAIGN_COMMAND=explain` selects commands by name, `CAMPAIGN_ONE_OF=4`
//! every fourth fault. `CAMPAIGN_ALL_CALLS=1` kills at every system call, also at those that write
//! nothing.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};
use std::time::{Duration, SystemTime};

use topdown_counters::machine::this_machine;
use topdown_run::run_file::{read_run, read_samples};

use crate::against::Project;
use crate::fixture::{Fixture, PROGRAM};
use crate::strace;

const FAULTS: [&str; 6] = [
    "error=ENOSPC",
    "error=EIO",
    "signal=KILL",
    "signal=INT",
    "signal=TERM",
    "signal=HUP",
];

/// A command that launches benches.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Measuring {
    Bench,
    /// Builds the last commit of a repository too.
    Against,
    Explain,
    /// The step of the action, which starts the program several times.
    CiMeasure,
}

const COMMANDS: [(&str, Measuring); 4] = [
    ("bench", Measuring::Bench),
    ("against", Measuring::Against),
    ("explain", Measuring::Explain),
    ("ci measure", Measuring::CiMeasure),
];

/// A fixture with a directory of temporary files, whose bench takes a second.
struct Place {
    fixture: Fixture,
    temporary: tempfile::TempDir,
    project: Project,
    measuring: Measuring,
}

impl Place {
    /// A place whose baseline has a run.
    fn new() -> Place {
        let place = Place {
            fixture: Fixture::new(),
            temporary: tempfile::tempdir().unwrap(),
            project: Project::new(),
            measuring: Measuring::Bench,
        };
        place.succeeds();
        place
    }

    fn of(measuring: Measuring) -> Place {
        let place = Place {
            measuring,
            ..Place::new()
        };
        place.succeeds();
        place
    }

    /// Returns the command that measures. [`Measuring::Bench`] keeps the run as the baseline.
    fn command(&self) -> Command {
        let temporary = self.temporary.path().to_str().unwrap();
        let report = self.fixture.target().join("report");
        fs::create_dir_all(&report).unwrap();
        let file = |name: &str| self.fixture.target().join(name).display().to_string();
        let (report, output, summary) = (file("report"), file("output"), file("summary"));
        let build = Fixture::build_arguments().join("\n");
        let arguments = format!("--package\ntrouble\n--launches\n1\n{build}");
        let environment = [
            ("TMPDIR", temporary),
            ("FIXTURE_TROUBLE", ""),
            // The lock file leaves nothing to download.
            ("CARGO_NET_OFFLINE", "true"),
            ("INPUT_BASELINE", "main"),
            ("INPUT_BENCH_ARGS", &arguments),
            ("INPUT_COMPARE", "true"),
            ("INPUT_CHANGED", "true"),
            ("REPORT", &report),
            ("GITHUB_OUTPUT", &output),
            ("GITHUB_STEP_SUMMARY", &summary),
        ];
        let command = |words: &[&str]| self.fixture.command(words, &environment);
        match self.measuring {
            Measuring::Bench => command(&[
                "topdown",
                "bench",
                "--package",
                "trouble",
                "--launches",
                "1",
                "--save",
                "main",
            ]),
            Measuring::Explain => command(&["topdown", "explain", "chase", "--bench", "kernels"]),
            Measuring::CiMeasure => {
                let mut bare = Command::new(PROGRAM);
                let with_environment = command(&[]);
                bare.args(["topdown", "ci", "measure"]);
                bare.current_dir(with_environment.get_current_dir().unwrap());
                for (name, value) in with_environment.get_envs() {
                    match value {
                        Some(value) => bare.env(name, value),
                        None => bare.env_remove(name),
                    };
                }
                bare
            }
            Measuring::Against => {
                let mut command = self
                    .project
                    .command(&["--against", "HEAD", "--source", "time"]);
                command
                    .env("TMPDIR", temporary)
                    .env("CARGO_NET_OFFLINE", "true");
                command
            }
        }
    }

    fn succeeds(&self) {
        let output = self.command().output().unwrap();
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(self.is_done(output.status.code()), "{error}");
    }

    /// Returns whether a command with this exit code has done its work. Two commits of one code may
    /// differ in time.
    fn is_done(&self, code: Option<i32>) -> bool {
        match self.measuring {
            Measuring::Against => matches!(code, Some(0 | 100 | 103 | 104)),
            _ => code == Some(0),
        }
    }

    /// Returns the ids of the baseline's runs, each of which can be read.
    fn runs(&self) -> BTreeSet<String> {
        let baseline = self
            .fixture
            .baselines()
            .join("main")
            .join(this_machine().key());
        read_samples(&baseline).unwrap();
        let history = fs::read_dir(baseline.join("history")).unwrap();
        let history = history.map(|entry| entry.unwrap().path());
        let history = history.filter(|path| path.extension().is_some_and(|end| end == "json"));
        let paths = history.chain([baseline.clone()]);
        paths.map(|path| read_run(&path).unwrap().id).collect()
    }

    /// Returns the temporary files and directories, and the unfinished files beside their targets.
    fn left(&self) -> (Vec<PathBuf>, Vec<PathBuf>) {
        let temporary = fs::read_dir(self.temporary.path()).unwrap();
        let temporary = temporary.map(|entry| entry.unwrap().path()).collect();
        let mut unfinished = Vec::new();
        let mut directories = vec![self.fixture.target(), self.project.path("target/topdown")];
        directories.retain(|directory| directory.exists());
        while let Some(directory) = directories.pop() {
            for path in fs::read_dir(directory)
                .unwrap()
                .map(|entry| entry.unwrap().path())
            {
                if path.is_dir() {
                    directories.push(path);
                } else if path.extension().is_some_and(|end| end == "tmp") {
                    unfinished.push(path);
                }
            }
        }
        (temporary, unfinished)
    }

    /// Checks what must hold after a fault, and after the same command without one.
    fn check(&self, output: &Output, before: &BTreeSet<String>, what: &str) {
        let error = String::from_utf8_lossy(&output.stderr);
        let code = output.status.code();
        let may_be = match what {
            _ if what.contains("signal=KILL") => &[None, Some(0), Some(101)][..],
            // The program, or cargo or the bench, which it tells.
            _ if what.contains("signal=") => &[None, Some(0), Some(101), Some(130)],
            _ => &[Some(0), Some(101)],
        };
        // git says what failed only in words.
        let has_no_base = code == Some(102) && error.contains("could not get the base");
        assert!(
            may_be.contains(&code) || self.is_done(code) || has_no_base,
            "{what}: {:?}\n{error}",
            output.status
        );
        assert!(!error.contains("panicked"), "{what}: {error}");
        // The fault may be that it cannot say anything.
        assert!(
            code != Some(101) || error.is_empty() || error.contains("error"),
            "{what}: {error}"
        );
        let runs = self.runs();
        assert!(
            runs.is_superset(before),
            "{what}: {runs:?} lacks some of {before:?}"
        );
        let is_kept = self.measuring == Measuring::Bench;
        let added = usize::from(is_kept && code == Some(0));
        let was_added = runs.len() - before.len();
        assert!(
            added <= was_added && was_added <= usize::from(is_kept),
            "{what}"
        );
        if self.fixture.newest().exists() {
            read_run(&self.fixture.newest()).unwrap();
            read_samples(&self.fixture.newest()).unwrap();
        }
        let (temporary, unfinished) = self.left();
        // Unless it was the removal that failed.
        let is_removal = ["unlink", "rmdir"]
            .iter()
            .any(|call| what.starts_with(call));
        if code.is_some() && !is_removal {
            assert!(temporary.is_empty(), "{what}: {temporary:?}");
        }
        for path in temporary.iter().chain(&unfinished) {
            let long_ago = SystemTime::now() - Duration::from_secs(2 * 60 * 60);
            fs::File::open(path)
                .unwrap()
                .set_modified(long_ago)
                .unwrap();
        }
        self.succeeds();
        assert_eq!(
            self.runs().len(),
            runs.len() + usize::from(is_kept),
            "{what}"
        );
        let (temporary, unfinished) = self.left();
        assert!(temporary.is_empty(), "{what}: {temporary:?}");
        assert!(unfinished.is_empty(), "{what}: {unfinished:?}");
    }
}

/// The disk is full at an `fsync` of the run, of the newest run, of the record of its launches, of
/// the baseline and of its history.
#[test]
fn full_disk_fails_bench_with_place_and_cause() {
    if !strace::is_installed() {
        return;
    }
    let place = Place::new();
    let before = place.runs();
    let mut is_saved_again = false;
    for number in [1, 2, 8, 9, 10, 13, 15] {
        let output = strace::with_fault(&place.command(), "fsync", "error=ENOSPC", number).output();
        let output = output.unwrap();
        let error = String::from_utf8_lossy(&output.stderr);
        let cause = "No space left on device";
        let line = |line: &&str| line.contains(cause) && !line.starts_with("warning: failed to");
        let told = error.lines().find(line).unwrap();
        // Without the record of the launches only `--relaunch` fails.
        let is_note = told.starts_with("note: `compare --relaunch` will not be able");
        assert!(told.starts_with("error: ") || is_note, "{number}: {error}");
        let code = if is_note { 0 } else { 101 };
        assert_eq!(output.status.code(), Some(code), "{number}: {error}");
        let is_written = told.contains("it is written");
        assert!(!(is_written && told.contains("is unchanged")), "{told}");
        assert!(
            is_note || told.contains(": /"),
            "{number}: no path in {told}"
        );
        assert!(place.runs().is_superset(&before), "{error}");
        assert_eq!(place.left(), (Vec::new(), Vec::new()), "{error}");
        let again = "to try again without measuring: `cargo ";
        let Some((_, command)) = error.split_once(again) else {
            continue;
        };
        let runs = place.runs().len();
        let words: Vec<&str> = command.split('`').next().unwrap().split(' ').collect();
        place.fixture.plain(&words, &[]).succeeds();
        is_saved_again |= place.runs().len() > runs;
    }
    assert!(is_saved_again);
    place.succeeds();
}

/// A signal while the run, the newest run, or the baseline is written comes too late to stop
/// anything, and cuts nothing short.
#[test]
fn signal_while_writing_keeps_run_whole() {
    if !strace::is_installed() {
        return;
    }
    let place = Place::new();
    for (signal, number) in [("INT", 1), ("TERM", 8), ("HUP", 13), ("HUP", 2)] {
        let before = place.runs();
        let fault = format!("signal={signal}");
        let command = strace::with_fault(&place.command(), "fsync", &fault, number).output();
        let output = command.unwrap();
        let what = format!("fsync {number}: {fault}");
        let may_be = [Some(0), Some(130)];
        assert!(may_be.contains(&output.status.code()), "{what}: {output:?}");
        place.check(&output, &before, &what);
    }
}

/// Returns each fault with the name and number of the call that meets it.
fn faults(place: &Place) -> Vec<(String, &'static str, u32)> {
    let is_everywhere = std::env::var_os("CAMPAIGN_ALL_CALLS").is_some();
    let log = place.fixture.target().join("calls");
    let wanted = match is_everywhere {
        true => "all".to_owned(),
        false => format!("execve,{}", strace::WRITING_CALLS),
    };
    let mut calls = strace::calls(&place.command(), &wanted, &log).into_iter();
    fs::remove_file(log).unwrap();
    // Those of the program itself; as many of cargo and the bench meet them too.
    let (program, _) = calls.next().expect("the program is executed");
    let own: Vec<(String, String)> = calls.filter(|(by, _)| *by == program).collect();
    let counts = strace::most(&own);
    eprintln!("calls of the program: {counts:?}");
    let mut faults = Vec::new();
    for (call, count) in counts {
        for number in 1..=count {
            if is_everywhere {
                faults.push((call.clone(), "signal=KILL", number));
                continue;
            }
            faults.extend(FAULTS.map(|fault| (call.clone(), fault, number)));
            if call.starts_with("rename") {
                faults.push((call.clone(), "error=EXDEV", number));
            }
        }
    }
    faults
}

#[test]
#[ignore = "takes minutes and needs strace"]
fn fault_campaign_of_measuring_commands_loses_nothing() {
    let one_of = std::env::var("CAMPAIGN_ONE_OF").ok();
    let one_of = one_of.map_or(1, |number| number.parse().unwrap());
    let wanted = std::env::var("CAMPAIGN_COMMAND").unwrap_or_default();
    for (name, measuring) in COMMANDS {
        if !name.contains(&wanted) {
            continue;
        }
        let place = Place::of(measuring);
        assert!(place.command().get_program() == PROGRAM);
        let (mut tried, mut failed, mut killed, mut left) = (0, 0, 0, (0, 0));
        for (call, fault, number) in faults(&place).into_iter().step_by(one_of) {
            let before = place.runs();
            let output = strace::with_fault(&place.command(), &call, fault, number).output();
            let output = output.unwrap();
            let (temporary, unfinished) = place.left();
            left = (left.0 + temporary.len(), left.1 + unfinished.len());
            place.check(&output, &before, &format!("{call} {number}: {fault}"));
            tried += 1;
            failed += u32::from(output.status.code().is_some_and(|code| code != 0));
            killed += u32::from(output.status.code().is_none());
        }
        eprintln!(
            "{name}: {tried} faults, {failed} failed it and {killed} killed it; they left {} \
             temporary directories and {} files beside their targets for the next one",
            left.0, left.1
        );
    }
}
