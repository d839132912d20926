//! A workspace and two stores in which a command meets a fault, and checks of what is left.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime};

use topdown_run::run_file::{
    Benchmark, LaunchValue, Run, SlotsValue, TimeValue, read_run, write_run_without_samples,
};

use super::scenarios::*;
use super::{KEY, RUN, git};
use crate::strace;

/// The ids of the runs of `main`.
pub type Ids = BTreeSet<String>;

/// A directory with a workspace and two stores, and a copy of their initial state.
pub struct Place {
    pub root: tempfile::TempDir,
}

impl Place {
    pub fn new() -> Place {
        let root = tempfile::tempdir().unwrap();
        let place = Place { root };
        let live = place.live();
        fs::create_dir(&live).unwrap();
        for (name, started_at, factor) in [
            ("zero", "2026-11-01T10:00:00Z", 1.0),
            ("one", "2026-11-02T10:00:00Z", 1.0),
            ("two", "2026-11-03T10:00:00Z", 1.0),
            ("three", "2026-11-04T10:00:00Z", 1.0),
            ("new", "2026-11-05T10:00:00Z", 1.0),
            ("slower", "2026-11-05T10:00:00Z", 1.5),
        ] {
            let mut run = read_run(Path::new(RUN)).unwrap();
            run.id = name.to_owned();
            run.started_at = started_at.to_owned();
            make_slower(&mut run, factor);
            write_run_without_samples(&live.join(name), &run).unwrap();
        }
        fs::copy(TOPLEV, live.join("toplev.csv")).unwrap();
        fs::create_dir(live.join(TEMPORARY)).unwrap();
        git(&live, &["init", "--quiet", "--bare", "repository.git"], "");
        place.new_workspace("other");
        for (name, store) in [("zero", DIRECTORY), ("three", DIRECTORY), ("", REPOSITORY)] {
            if !name.is_empty() {
                let run = format!("../{name}");
                place.succeeds("other", &["baseline", "save", "main", &run]);
            }
            place.succeeds("other", &["baseline", "push", "--store", store]);
        }
        for (path, text) in ADOPTING {
            let path = live.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        place.new_workspace("workspace");
        for (name, run) in [("main", "../one"), ("main", "../two"), ("other", "../zero")] {
            place.succeeds("workspace", &["baseline", "save", name, run]);
        }
        copy(&live, &place.template());
        place
    }

    pub fn live(&self) -> PathBuf {
        self.root.path().join("live")
    }

    pub fn template(&self) -> PathBuf {
        self.root.path().join("template")
    }

    /// Restores the initial state.
    pub fn restore(&self) {
        fs::remove_dir_all(self.live()).unwrap();
        copy(&self.template(), &self.live());
    }

    pub fn new_workspace(&self, name: &str) {
        let workspace = self.live().join(name);
        fs::create_dir(&workspace).unwrap();
        fs::write(workspace.join("Cargo.toml"), "[workspace]\n").unwrap();
        git(&workspace, &["init", "--quiet"], "");
    }

    /// Returns a command whose system call of this name and number meets a fault.
    pub fn with_fault(&self, call: &str, fault: &str, number: u32, words: &[&str]) -> Command {
        let mut command = strace::with_fault(&self.plain("workspace", words), call, fault, number);
        silence(&mut command);
        command
    }

    /// Returns a command that runs the program in its own process group.
    pub fn plain(&self, workspace: &str, words: &[&str]) -> Command {
        let live = self.live();
        let mut command = Command::new(PROGRAM);
        command
            .arg("topdown")
            .args(words)
            .current_dir(live.join(workspace))
            .env("CARGO_TARGET_DIR", live.join(workspace).join("target"))
            .env("TMPDIR", live.join(TEMPORARY))
            // cargo downloads nothing.
            .env("CARGO_HOME", live.join("home"))
            .env("CARGO_NET_OFFLINE", "true")
            // Those of `ci plan`.
            .env("INPUT_SAVE", "never")
            .envs(
                ["CACHE", "COMPARE", "COMMENT", "FAIL"]
                    .map(|name| (format!("INPUT_{name}"), "true")),
            )
            .env("INPUT_WORKING_DIRECTORY", ".")
            .env("GITHUB_WORKSPACE", live.join("workspace"))
            .env("RUNNER_TEMP", live.join("runner"))
            .env("GITHUB_OUTPUT", live.join("runner/output"))
            .env_remove("CARGO_TOPDOWN_BASELINES")
            .env_remove("CARGO_TOPDOWN_STORE");
        silence(&mut command);
        command
    }

    pub fn succeeds(&self, workspace: &str, words: &[&str]) {
        let output = self
            .plain(workspace, words)
            .stderr(Stdio::piped())
            .output()
            .unwrap();
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{words:?}: {error}");
    }

    /// Returns, for each call, the largest number of times that one process makes it.
    pub fn calls(&self, words: &[&str]) -> BTreeMap<String, u32> {
        let log = self.root.path().join("calls");
        strace::most(&strace::calls(
            &self.plain("workspace", words),
            faulted_calls(),
            &log,
        ))
    }

    /// Returns the runs in the workspace and in the store that the scenario uses, each of which
    /// must be readable. The other store counts as unchanged.
    pub fn runs(&self, scenario: &Scenario) -> [Ids; 3] {
        let mut runs = scenario.stored.map(ids);
        runs[0] = self.runs_of("workspace", "main");
        if scenario.words.contains(&DIRECTORY) {
            let directory = self.live().join("directory/main").join(KEY);
            let entries = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap());
            let names = entries.filter(|e| !e.file_name().to_string_lossy().starts_with('.'));
            let runs_there = names.filter(|entry| entry.path().join("run.json").exists());
            runs[1] = runs_there
                .map(|entry| read_run(&entry.path()).unwrap().id)
                .collect();
        }
        if scenario.words.contains(&REPOSITORY) {
            self.new_workspace("reader");
            let pull = ["baseline", "pull", "--all-machines", "--store", REPOSITORY];
            self.succeeds("reader", &pull);
            runs[2] = self.runs_of("reader", "main");
            fs::remove_dir_all(self.live().join("reader")).unwrap();
        }
        runs
    }

    /// Faults also hit git at the other end, where only an administrator can clear locks.
    pub fn clear_the_locks_of_the_server(&self) {
        let references = self.live().join("repository.git/refs/heads");
        let _ = fs::remove_file(references.join("runs.lock"));
    }

    pub fn runs_of(&self, workspace: &str, name: &str) -> Ids {
        let baseline = self
            .live()
            .join(workspace)
            .join("baselines")
            .join(name)
            .join(KEY);
        let mut ids = Ids::from([read_run(&baseline).unwrap().id]);
        // A removal removes these first.
        let history = fs::read_dir(baseline.join("history"));
        for entry in history.into_iter().flatten() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|suffix| suffix == "json") {
                ids.insert(read_run(&path).unwrap().id);
            }
        }
        ids
    }

    /// Returns the files in the live directory whose name or content says that they are a part.
    pub fn unfinished(&self) -> Vec<PathBuf> {
        let mut unfinished = Vec::new();
        let mut directories = vec![self.live()];
        while let Some(directory) = directories.pop() {
            for entry in fs::read_dir(directory).unwrap().map(|entry| entry.unwrap()) {
                let path = entry.path();
                let name = entry.file_name().to_string_lossy().into_owned();
                // git's own directories.
                if path.is_dir() && name != ".git" && !name.ends_with(".git") {
                    directories.push(path);
                } else if name.ends_with(".tmp") {
                    unfinished.push(path);
                }
            }
        }
        unfinished
    }

    /// Checks that what the program has written beside stores is whole.
    pub fn check_outputs(&self, what: &str) {
        let workspace = self.live().join("workspace");
        for name in ["comparison.json", "report.json"] {
            if let Ok(json) = fs::read(workspace.join(name)) {
                let read: Result<serde_json::Value, _> = serde_json::from_slice(&json);
                assert!(read.is_ok(), "{what}: {name}");
            }
        }
        if let Ok(page) = fs::read_to_string(workspace.join("page.html")) {
            assert!(page.trim_end().ends_with("</html>"), "{what}: page.html");
        }
        let manifest = fs::read_to_string(self.live().join(ADOPTING[0].0)).unwrap();
        let is_whole = manifest.ends_with("harness = false\n");
        assert!(
            is_whole && manifest.contains("[dev-dep"),
            "{what}: {manifest}"
        );
    }

    /// Returns how many temporary files and directories are there.
    pub fn left_behind(&self) -> usize {
        fs::read_dir(self.live().join(TEMPORARY)).unwrap().count()
    }

    /// Checks what must hold after a fault, and after running the same command again without one.
    pub fn check(&self, scenario: &Scenario, has_succeeded: bool, what: &str) {
        let stored = scenario.stored.map(ids);
        let is_removal = scenario.name == "remove";
        let found = self.runs(scenario);
        for ((found, kept), stored) in found.iter().zip(scenario.kept.map(ids)).zip(&stored) {
            assert!(
                found.is_superset(&kept),
                "{what}: {found:?} lacks some of {kept:?}"
            );
            assert!(
                !has_succeeded || found == stored,
                "{what}: {found:?}, not {stored:?}"
            );
        }
        if has_succeeded {
            self.check_outputs(what);
        }
        // An empty directory that could not be removed is not a run.
        let other = self.live().join("workspace/baselines/other").join(KEY);
        let is_there = other.join("run.json").exists();
        if is_removal && has_succeeded {
            assert!(!is_there, "{what}");
            let history = fs::read_dir(other.join("history"));
            assert_eq!(history.into_iter().flatten().count(), 0, "{what}");
        } else if !is_removal || is_there {
            assert_eq!(self.runs_of("workspace", "other"), ids(&["zero"]), "{what}");
        }
        if !has_succeeded {
            // A removal may be complete except for reporting it.
            if !is_removal || is_there {
                self.clear_the_locks_of_the_server();
                self.succeeds("workspace", scenario.words);
            }
            let found = self.runs(scenario);
            assert_eq!(found, stored, "{what}, again");
            self.check_outputs(what);
        }
        // The next command clears what this one has left; a directory that was killed before it got
        // its lock, a minute later; a file beside its target when that is written an hour later.
        let temporary = fs::read_dir(self.live().join(TEMPORARY)).unwrap();
        let temporary = temporary.map(|entry| entry.unwrap().path());
        let unfinished = self.unfinished();
        let is_any_unfinished = !unfinished.is_empty();
        for path in temporary.chain(unfinished) {
            let long_ago = SystemTime::now() - Duration::from_secs(2 * 60 * 60);
            fs::File::open(path)
                .unwrap()
                .set_modified(long_ago)
                .unwrap();
        }
        if is_any_unfinished {
            self.succeeds("workspace", scenario.words);
            self.succeeds("workspace", &["baseline", "save", "main", "../slower"]);
        }
        let next = ["import", "--machine", KEY, "../toplev.csv"];
        self.succeeds("other", &next);
        assert_eq!(self.left_behind(), 0, "{what}: temporary files");
        let unfinished = self.unfinished();
        // `init` has nothing more to write to a manifest that it has changed.
        let is_init = scenario.name == "init";
        assert!(is_init || unfinished.is_empty(), "{what}: {unfinished:?}");
    }
}

pub const PROGRAM: &str = env!("CARGO_BIN_EXE_cargo-topdown");

/// Gives `command` a process group of its own and nothing to read or to write to.
pub fn silence(command: &mut Command) {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .process_group(0);
}

pub fn ids(names: &[&str]) -> Ids {
    names.iter().map(ToString::to_string).collect()
}
/// Ten launches that hardly differ, of a benchmark that takes `factor` times as long.
pub fn make_slower(run: &mut Run, factor: f64) {
    for benchmark in &mut run.benchmarks {
        let launch = |launch: u32| {
            let jitter = 1.0 + f64::from(launch % 3) / 1000.0;
            LaunchValue {
                time: TimeValue {
                    launch,
                    samples_used: 20,
                    wall_ns: 250.0 * factor * jitter,
                    ..TimeValue::default()
                },
                slots: Some(SlotsValue {
                    launch,
                    samples_used: 20,
                    slots: 1000.0 * factor * jitter,
                    ..SlotsValue::default()
                }),
            }
        };
        let (id, provenance) = (benchmark.id.clone(), benchmark.provenance().clone());
        *benchmark = Benchmark::of_launches(id, provenance, (0..10).map(launch));
    }
}

pub fn copy(from: &Path, to: &Path) {
    let copied = Command::new("cp").arg("-a").args([from, to]).status();
    assert!(copied.unwrap().success());
}

/// Returns whether to kill at every call instead of meeting faults at those that write.
pub fn kills_everywhere() -> bool {
    std::env::var_os("CAMPAIGN_ALL_CALLS").is_some()
}

fn faulted_calls() -> &'static str {
    if kills_everywhere() {
        "all"
    } else {
        strace::WRITING_CALLS
    }
}
