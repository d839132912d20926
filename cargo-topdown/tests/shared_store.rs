//! A store that processes share: concurrent pushes, and killed pushes.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use tempfile::TempDir;
use topdown_run::run_file::{read_run, read_samples, write_run};

const RUN: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../crates/run/tests/data/run-v1"
);

/// A workspace of one machine.
struct Machine(TempDir);

impl Machine {
    fn new() -> Machine {
        let root = tempfile::tempdir().unwrap();
        fs::write(root.path().join("Cargo.toml"), "[workspace]\n").unwrap();
        git(root.path(), &["init", "--quiet"]);
        Machine(root)
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_cargo-topdown"));
        command
            .args(["topdown", "baseline"])
            .args(words)
            .current_dir(self.0.path())
            .env("CARGO_TARGET_DIR", self.0.path().join("target"))
            .env_remove("CARGO_TOPDOWN_BASELINES")
            .env_remove("CARGO_TOPDOWN_STORE")
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    #[track_caller]
    fn succeeds(&self, words: &[&str]) -> String {
        let output: Output = self.command(words).output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{words:?}: {stderr}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// Saves as `main` a run that started at this minute, with its samples.
    fn save(&self, minute: usize) {
        let mut run = read_run(Path::new(RUN)).unwrap();
        run.started_at = format!("2026-11-01T{:02}:{:02}:00Z", minute / 60, minute % 60);
        run.id = format!("minute-{minute}");
        let directory = self.0.path().join("newest");
        write_run(&directory, &run, &read_samples(Path::new(RUN)).unwrap()).unwrap();
        self.succeeds(&["save", "main", directory.to_str().unwrap()]);
    }

    fn push(&self, store: &str) -> Child {
        self.command(&["push", "--store", store]).spawn().unwrap()
    }

    /// Returns whether `main`, after a pull, has the samples that it was saved with.
    fn has_samples(&self) -> bool {
        let key = "x86_64-GenuineIntel-06-8f-08-kvm-smt";
        let baseline = self.0.path().join("baselines/main").join(key);
        read_samples(&baseline).is_ok_and(|all| all == read_samples(Path::new(RUN)).unwrap())
    }

    /// Pulls from `store` and returns the ids of all runs of `main`. Pulling reads and checks
    /// everything in the store.
    fn runs_after_pull(&self, store: &str) -> Vec<String> {
        self.succeeds(&["pull", "--all-machines", "--store", store]);
        let Ok(machines) = fs::read_dir(self.0.path().join("baselines/main")) else {
            return Vec::new();
        };
        let baseline: Vec<PathBuf> = machines.map(|entry| entry.unwrap().path()).collect();
        assert_eq!(baseline.len(), 1);
        let mut ids: Vec<String> = fs::read_dir(baseline[0].join("history"))
            .unwrap()
            .map(|entry| read_run(&entry.unwrap().path()).unwrap().id)
            .collect();
        ids.sort_unstable();
        ids
    }
}

fn git(directory: &Path, arguments: &[&str]) {
    let git = Command::new("git")
        .arg("-C")
        .arg(directory)
        .args(arguments)
        .status();
    assert!(git.unwrap().success());
}

fn stores(root: &Path) -> [String; 2] {
    git(root, &["init", "--quiet", "--bare", "repository.git"]);
    [
        root.join("directory").display().to_string(),
        format!("git+{}#runs", root.join("repository.git").display()),
    ]
}

fn ids(minutes: std::ops::Range<usize>) -> Vec<String> {
    let mut ids: Vec<String> = minutes.map(|minute| format!("minute-{minute}")).collect();
    ids.sort_unstable();
    ids
}

#[test]
fn concurrent_pushes_lose_no_run() {
    let root = tempfile::tempdir().unwrap();
    for store in stores(root.path()) {
        let machines: Vec<Machine> = (0..4)
            .map(|minute| {
                let machine = Machine::new();
                machine.save(minute);
                machine
            })
            .collect();
        let pushes: Vec<Child> = machines
            .iter()
            .map(|machine| machine.push(&store))
            .collect();
        for push in pushes {
            let output = push.wait_with_output().unwrap();
            let stderr = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{store}: {stderr}");
        }
        assert_eq!(Machine::new().runs_after_pull(&store), ids(0..4), "{store}");
    }
}

/// Kills pushes at moments spread over the duration of a push. What the store then has is complete,
/// and the next push adds the rest.
#[test]
fn killed_push_leaves_only_whole_runs() {
    const KILLS: u32 = 8;
    let root = tempfile::tempdir().unwrap();
    for store in stores(root.path()) {
        let begun_at = Instant::now();
        let machine = Machine::new();
        machine.save(0);
        machine.push(&store).wait().unwrap();
        let push_time: Duration = begun_at.elapsed() / 2;
        let mut there = 1;
        for kill in 0..KILLS {
            machine.save(1 + kill as usize);
            let mut push = machine.push(&store);
            thread::sleep(push_time * kill / KILLS);
            // Without a chance to clean up. It may have exited already.
            let _ = push.kill();
            push.wait().unwrap();
            let now = Machine::new().runs_after_pull(&store);
            assert!(now.len() >= there, "{store}: {now:?}");
            there = now.len();
        }
        assert!(machine.push(&store).wait().unwrap().success());
        let all = ids(0..1 + KILLS as usize);
        let reader = Machine::new();
        assert_eq!(reader.runs_after_pull(&store), all, "{store}");
        assert!(reader.has_samples(), "{store}");
    }
}

#[test]
fn the_store_is_set_by_flag_environment_or_manifest() {
    let machine = Machine::new();
    machine.save(1);
    let output = machine.command(&["push"]).output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr.contains("no shared store is set"), "{stderr}");

    let manifest = machine.0.path().join("Cargo.toml");
    let setting = "[workspace]\n[workspace.metadata.topdown]\nstore = ";
    fs::write(&manifest, format!("{setting}\"shared\"\n")).unwrap();
    let pushed = machine.succeeds(&["push"]);
    assert!(
        pushed.starts_with("pushed main/x86_64-GenuineIntel-06-8f-08-kvm-smt/2026"),
        "{pushed}"
    );
    assert!(pushed.contains("1 of 1 runs were new to"), "{pushed}");
    assert!(machine.0.path().join("shared/main").is_dir());

    let mut by_environment = machine.command(&["push", "main"]);
    let output = by_environment
        .env("CARGO_TOPDOWN_STORE", "other")
        .output()
        .unwrap();
    assert!(output.status.success());
    assert!(machine.0.path().join("other/main").is_dir());

    fs::write(&manifest, format!("{setting}7\n")).unwrap();
    let output = machine.command(&["pull"]).output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(
        stderr.contains("in `[workspace.metadata.topdown]`") && stderr.contains("`7`"),
        "{stderr}"
    );
}

#[test]
fn gc_lists_removals_and_dry_run_removes_nothing() {
    let machine = Machine::new();
    for minute in 0..3 {
        machine.save(minute);
    }
    machine.succeeds(&["push", "--store=shared"]);
    let planned = machine.succeeds(&["gc", "--keep=1", "--dry-run", "--store=shared"]);
    let lines: Vec<&str> = planned.lines().collect();
    assert_eq!(lines.len(), 3, "{planned}");
    assert!(
        lines[0].starts_with("would remove main/x86_64"),
        "{planned}"
    );
    assert!(lines[2].starts_with("would remove 2 of "), "{planned}");
    let done = machine.succeeds(&["gc", "--keep=1", "--store=shared"]);
    assert_eq!(done, planned.replace("would remove", "removed"));
    let output = machine
        .command(&["gc", "--keep=0", "--store=shared"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(
        Machine::new().runs_after_pull(machine.0.path().join("shared").to_str().unwrap()),
        ids(2..3)
    );
}

#[test]
fn pull_without_local_baseline_reports_it() {
    let (a, b) = (Machine::new(), Machine::new());
    a.save(1);
    a.succeeds(&["push", "--store=shared"]);
    let store = a.0.path().join("shared").display().to_string();
    let said = b.succeeds(&["pull", "--store", &store]);
    assert!(said.contains("has no baselines of "), "{said}");
    let key = "x86_64-GenuineIntel-06-8f-08-kvm-smt";
    let said = b.succeeds(&["pull", "main", "--machine", key, "--store", &store]);
    assert_eq!(
        said,
        format!("`main` of {key} has a new run; 1 runs were new here\n")
    );
    let said = b.succeeds(&["pull", "--machine", key, "--store", &store]);
    assert!(said.contains("is up to date; 0 runs"), "{said}");
}
