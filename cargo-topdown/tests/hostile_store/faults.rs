//! The fault campaign: full disks, I/O errors, renames to another file system, signals and kills at
//! each writing system call of each command that writes, and kills at any time. No existing run is
//! lost, none is incomplete, the same command succeeds afterwards, and the next one clears the
//! temporary files. `tests/bench/faults.rs` has the commands that build and launch benches.
//!
//! It takes minutes and needs strace, so it runs only on request: `cargo test -p cargo-topdown
//! --test hostile_store -- --ignored --nocapture campaign`. `CAMPAIGN_COMMAND=gc` selects the
//! commands whose names contain this, `CAMPAIGN_ONE_OF=4` every fourth fault and kill.
//! `CAMPAIGN_ALL_CALLS=1` kills at every system call, also at those that write nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant, SystemTime};

use topdown_run::run_file::{
    Benchmark, LaunchValue, Run, SlotsValue, TimeValue, read_run, write_run_without_samples,
};

use super::{KEY, RUN, git};
use crate::strace;

const KILLS: u32 = 1000;
/// The most calls of one name that meet each fault, unless every call is killed at.
const MAX_CALLS: u32 = 40;

/// The ids of the runs of `main`.
type Ids = BTreeSet<String>;

/// A command that stores something.
struct Scenario {
    name: &'static str,
    words: &'static [&'static str],
    /// What must be there in any case, by place: the workspace, the two stores.
    kept: [&'static [&'static str]; 3],
    /// What is there after the command has succeeded.
    stored: [&'static [&'static str]; 3],
}

const BEFORE: [&[&str]; 3] = [&["one", "two"], &["three", "zero"], &["three", "zero"]];
const TOPLEV: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/import/toplev.csv");
/// The directory of temporary files.
const TEMPORARY: &str = "tmp";
const DIRECTORY: &str = "../directory";
const REPOSITORY: &str = "git+../repository.git#runs";

const SCENARIOS: [Scenario; 18] = [
    Scenario {
        name: "save",
        words: &["baseline", "save", "main", "../new"],
        kept: BEFORE,
        stored: [&["new", "one", "two"], BEFORE[1], BEFORE[2]],
    },
    Scenario {
        name: "accept",
        words: &[
            "baseline",
            "accept",
            "baselines/main/x86_64-GenuineIntel-06-8f-08-kvm-smt",
            "json/twitter/1024",
            "--run",
            "../slower",
            "--reason",
            "so be it",
        ],
        kept: BEFORE,
        stored: BEFORE,
    },
    Scenario {
        name: "push to a directory",
        words: &["baseline", "push", "--store", DIRECTORY],
        kept: BEFORE,
        stored: [BEFORE[0], &["one", "three", "two", "zero"], BEFORE[2]],
    },
    Scenario {
        name: "push to git",
        words: &["baseline", "push", "--store", REPOSITORY],
        kept: BEFORE,
        stored: [BEFORE[0], BEFORE[1], &["one", "three", "two", "zero"]],
    },
    Scenario {
        name: "pull from a directory",
        words: &["baseline", "pull", "--all-machines", "--store", DIRECTORY],
        kept: BEFORE,
        stored: [&["one", "three", "two", "zero"], BEFORE[1], BEFORE[2]],
    },
    Scenario {
        name: "pull from git",
        words: &["baseline", "pull", "--all-machines", "--store", REPOSITORY],
        kept: BEFORE,
        stored: [&["one", "three", "two", "zero"], BEFORE[1], BEFORE[2]],
    },
    Scenario {
        name: "gc of a directory",
        words: &["baseline", "gc", "--keep", "1", "--store", DIRECTORY],
        kept: [BEFORE[0], &["three"], BEFORE[2]],
        stored: [BEFORE[0], &["three"], BEFORE[2]],
    },
    Scenario {
        name: "gc of git",
        words: &["baseline", "gc", "--keep", "1", "--store", REPOSITORY],
        kept: [BEFORE[0], BEFORE[1], &["three"]],
        stored: [BEFORE[0], BEFORE[1], &["three"]],
    },
    Scenario {
        name: "remove",
        words: &["baseline", "remove", "other", "--all"],
        kept: BEFORE,
        stored: BEFORE,
    },
    writes_beside_stores("import", &["import", "--machine", KEY, "../toplev.csv"]),
    writes_beside_stores("merge", &["merge", "../new", "--output", "run"]),
    writes_beside_stores(
        "compare",
        &[
            "compare",
            "../one",
            "../new",
            "--report",
            "html=page.html",
            "--report",
            "json=comparison.json",
        ],
    ),
    writes_beside_stores("doctor", &["doctor", "--report", "report.json"]),
    writes_beside_stores("report", &["report", "../one", "--html", "page.html"]),
    writes_beside_stores("man", &["man", "pages"]),
    writes_beside_stores(
        "exec",
        &[
            "exec",
            "--launches",
            "1",
            "--source",
            "time",
            "--save",
            "commands",
            "--",
            "true",
        ],
    ),
    writes_beside_stores(
        "init",
        &[
            "init",
            "--apply",
            "--library",
            "../library",
            "--ci",
            "github",
            "--manifest-path",
            "../adopting/Cargo.toml",
        ],
    ),
    writes_beside_stores("ci plan", &["ci", "plan"]),
];

/// A workspace that `init` changes, the library without its dependencies, and where `ci` writes.
const ADOPTING: [(&str, &str); 8] = [
    (
        "adopting/Cargo.toml",
        "[package]\nname = \"adopting\"\nedition = \"2021\"\nrust-version = \"1.70\"\n\n\
         [dev-dependencies]\ncriterion = \"0.8\"\n\n[[bench]]\nname = \"b\"\nharness = false\n",
    ),
    ("adopting/src/lib.rs", ""),
    ("adopting/benches/b.rs", "criterion_main!(benches);\n"),
    (
        "library/Cargo.toml",
        "[package]\nname = \"criterion-topdown\"\nversion = \"0.1.0\"\n",
    ),
    ("library/src/lib.rs", ""),
    ("runner/output", ""),
    ("home/none", ""),
    ("adopting/.git/none", ""),
];

/// A command that changes no store.
const fn writes_beside_stores(name: &'static str, words: &'static [&'static str]) -> Scenario {
    Scenario {
        name,
        words,
        kept: BEFORE,
        stored: BEFORE,
    }
}

/// A directory with a workspace and two stores, and a copy of their initial state.
struct Place {
    root: tempfile::TempDir,
}

impl Place {
    fn new() -> Place {
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

    fn live(&self) -> PathBuf {
        self.root.path().join("live")
    }

    fn template(&self) -> PathBuf {
        self.root.path().join("template")
    }

    /// Restores the initial state.
    fn restore(&self) {
        fs::remove_dir_all(self.live()).unwrap();
        copy(&self.template(), &self.live());
    }

    fn new_workspace(&self, name: &str) {
        let workspace = self.live().join(name);
        fs::create_dir(&workspace).unwrap();
        fs::write(workspace.join("Cargo.toml"), "[workspace]\n").unwrap();
        git(&workspace, &["init", "--quiet"], "");
    }

    /// Returns a command whose system call of this name and number meets a fault.
    fn with_fault(&self, call: &str, fault: &str, number: u32, words: &[&str]) -> Command {
        let mut command = strace::with_fault(&self.plain("workspace", words), call, fault, number);
        silence(&mut command);
        command
    }

    /// Returns a command that runs the program in its own process group.
    fn plain(&self, workspace: &str, words: &[&str]) -> Command {
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

    fn succeeds(&self, workspace: &str, words: &[&str]) {
        let output = self
            .plain(workspace, words)
            .stderr(Stdio::piped())
            .output()
            .unwrap();
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{words:?}: {error}");
    }

    /// Returns, for each call, the largest number of times that one process makes it.
    fn calls(&self, words: &[&str]) -> BTreeMap<String, u32> {
        let log = self.root.path().join("calls");
        strace::most(&strace::calls(
            &self.plain("workspace", words),
            faulted_calls(),
            &log,
        ))
    }

    /// Returns the runs in the workspace and in the store that the scenario uses, each of which
    /// must be readable. The other store counts as unchanged.
    fn runs(&self, scenario: &Scenario) -> [Ids; 3] {
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
    fn clear_the_locks_of_the_server(&self) {
        let references = self.live().join("repository.git/refs/heads");
        let _ = fs::remove_file(references.join("runs.lock"));
    }

    fn runs_of(&self, workspace: &str, name: &str) -> Ids {
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
    fn unfinished(&self) -> Vec<PathBuf> {
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
    fn check_outputs(&self, what: &str) {
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
    fn left_behind(&self) -> usize {
        fs::read_dir(self.live().join(TEMPORARY)).unwrap().count()
    }

    /// Checks what must hold after a fault, and after running the same command again without one.
    fn check(&self, scenario: &Scenario, has_succeeded: bool, what: &str) {
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

const PROGRAM: &str = env!("CARGO_BIN_EXE_cargo-topdown");

/// Gives `command` a process group of its own and nothing to read or to write to.
fn silence(command: &mut Command) {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .process_group(0);
}

fn ids(names: &[&str]) -> Ids {
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

fn copy(from: &Path, to: &Path) {
    let copied = Command::new("cp").arg("-a").args([from, to]).status();
    assert!(copied.unwrap().success());
}

fn wanted_scenarios() -> impl Iterator<Item = &'static Scenario> {
    let wanted = std::env::var("CAMPAIGN_COMMAND").unwrap_or_default();
    let scenarios = SCENARIOS.iter();
    scenarios.filter(move |scenario| scenario.name.contains(&wanted))
}

/// Returns whether to kill at every call instead of meeting faults at those that write.
fn kills_everywhere() -> bool {
    std::env::var_os("CAMPAIGN_ALL_CALLS").is_some()
}

fn faulted_calls() -> &'static str {
    if kills_everywhere() {
        "all"
    } else {
        strace::WRITING_CALLS
    }
}

/// The faults that `call` meets. Directories of a network may be of other file systems.
fn faults_of(call: &str) -> Vec<&'static str> {
    let mut faults = vec!["signal=KILL"];
    if !kills_everywhere() {
        faults.extend(["signal=INT", "error=ENOSPC", "error=EIO"]);
        if call.starts_with("rename") {
            faults.push("error=EXDEV");
        }
    }
    faults
}

fn one_of() -> u32 {
    let one_of = std::env::var("CAMPAIGN_ONE_OF").ok();
    one_of.map_or(1, |number| number.parse().unwrap())
}

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

#[test]
#[ignore = "takes minutes and needs strace"]
fn write_fault_campaign_loses_nothing() {
    let place = Place::new();
    let (mut total, mut met) = (0, 0);
    for scenario in wanted_scenarios() {
        place.restore();
        let calls = place.calls(scenario.words);
        let (mut tried, mut failed, mut left, mut beside) = (0, 0, 0, 0);
        for (call, count) in &calls {
            let faults = faults_of(call).into_iter();
            let step = match kills_everywhere() {
                true => 1,
                false => count.div_ceil(MAX_CALLS) as usize,
            };
            for (fault, number) in
                faults.flat_map(|f| (1..=*count).step_by(step).map(move |n| (f, n)))
            {
                met += 1;
                if met % one_of() != 0 {
                    continue;
                }
                place.restore();
                let mut command = place.with_fault(call, fault, number, scenario.words);
                let succeeded = command.status().unwrap().success();
                let what = format!("{}: {call} {number}: {fault}", scenario.name);
                left += place.left_behind();
                beside += place.unfinished().len();
                place.check(scenario, succeeded, &what);
                tried += 1;
                failed += u32::from(!succeeded);
            }
        }
        eprintln!(
            "{}: {tried} faults, {failed} failed the command and left {left} temporary files and \
             {beside} beside their targets for the next one; {calls:?}",
            scenario.name
        );
        total += tried;
    }
    eprintln!("{total} faults in all; nothing is lost");
}

#[test]
#[ignore = "takes minutes"]
fn kill_campaign_loses_nothing() {
    let place = Place::new();
    let seed = std::process::id();
    eprintln!("seed {seed}");
    let mut random = u64::from(seed) | 1;
    let (mut tried, mut killed) = (0, 0);
    for scenario in wanted_scenarios() {
        place.restore();
        let begun_at = Instant::now();
        place.succeeds("workspace", scenario.words);
        let takes = begun_at.elapsed();
        for number in 0..KILLS.div_ceil(SCENARIOS.len() as u32 * one_of()) {
            tried += 1;
            place.restore();
            let mut child = place.plain("workspace", scenario.words).spawn().unwrap();
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            std::thread::sleep(takes.mul_f64((random % 1000) as f64 / 1000.0));
            let group = format!("-{}", child.id());
            // Fails if all have exited.
            let _ = Command::new("kill")
                .args(["-KILL", "--", &group])
                .stderr(Stdio::null())
                .status();
            let status = child.wait().unwrap();
            // git, in the same group, can take a moment longer.
            std::thread::sleep(Duration::from_millis(2));
            killed += u32::from(status.signal() == Some(9));
            let what = format!("{}: kill {number}", scenario.name);
            place.check(scenario, status.success(), &what);
        }
    }
    eprintln!("{tried} kills, {killed} before the end; nothing is lost");
}
