//! Hostile stores, and programs that save at once: nothing is written outside, nothing hangs,
//! nothing is lost.
#![cfg(unix)]

#[cfg(target_os = "linux")]
#[path = "hostile_store/campaign.rs"]
mod campaign;
#[cfg(target_os = "linux")]
#[path = "hostile_store/faults.rs"]
mod faults;
#[cfg(target_os = "linux")]
#[path = "hostile_store/scenarios.rs"]
mod scenarios;
#[cfg(target_os = "linux")]
#[path = "hostile_store/stage.rs"]
mod stage;
#[cfg(target_os = "linux")]
mod strace;
#[cfg(target_os = "linux")]
#[path = "hostile_store/versions.rs"]
mod versions;

use std::fs;
use std::io::Write;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use sha2::{Digest, Sha256};
use tempfile::TempDir;
use topdown_run::run_file::{read_run, write_run_without_samples};

const RUN: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../crates/run/tests/data/run-v1"
);
const KEY: &str = "x86_64-GenuineIntel-06-8f-08-kvm-smt";

/// A workspace, and a store of each kind next to it.
struct Machine {
    root: TempDir,
}

impl Machine {
    fn new() -> Machine {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir(root.path().join("workspace")).unwrap();
        let machine = Machine { root };
        fs::write(machine.workspace().join("Cargo.toml"), "[workspace]\n").unwrap();
        git(&machine.workspace(), &["init", "--quiet"], "");
        machine
    }

    fn workspace(&self) -> PathBuf {
        self.root.path().join("workspace")
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_cargo-topdown"));
        command
            .arg("topdown")
            .args(words)
            .current_dir(self.workspace())
            .env("CARGO_TARGET_DIR", self.workspace().join("target"))
            .env_remove("CARGO_TOPDOWN_BASELINES")
            .env_remove("CARGO_TOPDOWN_STORE");
        command
    }

    fn start(&self, words: &[&str]) -> Child {
        self.command(words)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
    }

    fn run(&self, words: &[&str]) -> Output {
        self.start(words).wait_with_output().unwrap()
    }

    #[track_caller]
    fn succeeds(&self, words: &[&str]) -> String {
        let output = self.run(words);
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success(), "{words:?}: {stderr}");
        stderr
    }

    fn pull(&self, store: &str) -> Output {
        self.run(&["baseline", "pull", "--all-machines", "--store", store])
    }

    /// Saves as `main` a run that claims to have started at this time.
    fn save(&self, id: &str, started_at: &str) {
        let mut run = read_run(Path::new(RUN)).unwrap();
        run.id = id.to_owned();
        run.started_at = started_at.to_owned();
        let directory = self.root.path().join("run");
        write_run_without_samples(&directory, &run).unwrap();
        self.succeeds(&["baseline", "save", "main", directory.to_str().unwrap()]);
    }

    fn baseline(&self) -> String {
        read_run(&self.workspace().join("baselines/main").join(KEY))
            .unwrap()
            .id
    }
}

fn git(directory: &Path, arguments: &[&str], input: &str) -> String {
    let mut child = Command::new("git")
        .arg("-C")
        .arg(directory)
        .args(["-c", "user.name=x", "-c", "user.email=x@y"])
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(input.as_bytes())
        .unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{arguments:?}");
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// Writes a tree with these entries, whatever their names. Done by hand, since git refuses to make
/// such trees.
fn tree(repository: &Path, entries: &[(&str, &str, &str)]) -> String {
    let mut bytes = Vec::new();
    for (mode, name, id) in entries {
        bytes.extend(format!("{mode} {name}\0").as_bytes());
        let hex = |at| u8::from_str_radix(&id[at..at + 2], 16).unwrap();
        bytes.extend((0..id.len()).step_by(2).map(hex));
    }
    let file = repository.join("tree-object");
    fs::write(&file, bytes).unwrap();
    let file = file.to_str().unwrap();
    let arguments = ["hash-object", "-t", "tree", "-w", "--literally", file];
    git(repository, &arguments, "")
}

/// Returns the path of the only run of `main` in a directory store.
fn only_run(store: &Path) -> PathBuf {
    let machine = store.join("main").join(KEY);
    let runs: Vec<PathBuf> = fs::read_dir(machine)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    assert_eq!(runs.len(), 1);
    runs[0].clone()
}

/// Returns a machine, and the directory to which it has pushed a run.
fn with_a_pushed_run() -> (Machine, PathBuf) {
    let machine = Machine::new();
    machine.save("one", "2026-11-01T10:00:00Z");
    let store = machine.root.path().join("directory");
    machine.succeeds(&["baseline", "push", "--store", store.to_str().unwrap()]);
    (machine, store)
}

#[test]
fn git_store_writes_only_its_files() {
    let (machine, store) = with_a_pushed_run();
    let run = only_run(&store);
    let run_name = run.file_name().unwrap().to_str().unwrap();

    let repository = machine.root.path().join("repository.git");
    git(
        machine.root.path(),
        &["init", "--quiet", "--bare", "repository.git"],
        "",
    );
    let run_file = run.join("run.json");
    let object = |path: &Path| {
        let path = path.to_str().unwrap();
        git(&repository, &["hash-object", "-w", path], "")
    };
    let evil = machine.root.path().join("evil");
    fs::write(&evil, "owned").unwrap();
    let (json, evil) = (object(&run_file), object(&evil));
    let victim = machine.root.path().join("victim");
    let commit = |names: &[&str], key: &str| {
        let mut entries: Vec<(&str, &str, &str)> = names
            .iter()
            .map(|name| ("100644", *name, evil.as_str()))
            .collect();
        entries.push(("100644", "run.json", &json));
        let mut id = tree(&repository, &entries);
        for name in [run_name, key, "main"] {
            id = tree(&repository, &[("40000", name, &id)]);
        }
        let commit = git(&repository, &["commit-tree", &id, "-m", "x"], "");
        git(&repository, &["update-ref", "refs/heads/runs", &commit], "");
    };
    let address = format!("git+{}#runs", repository.display());
    let other = Machine::new();
    let absolute = victim.to_str().unwrap();
    for (names, key) in [
        (&[absolute][..], KEY),
        (
            &["../victim", "../../../../victim", "authorized_keys"][..],
            KEY,
        ),
        (&[], ".."),
    ] {
        commit(names, key);
        // git itself may refuse to fetch such a tree; what counts is what was written.
        other.pull(&address);
        assert!(!victim.exists(), "{names:?}");
        let outside = other.workspace().join("baselines/run.json");
        assert!(!outside.exists(), "{key}");
    }
}

#[test]
fn link_to_secret_is_not_copied() {
    let (machine, store) = with_a_pushed_run();
    let address = store.to_str().unwrap();
    let run = only_run(&store);
    let secret = machine.root.path().join("secret");
    fs::write(&secret, "not for others").unwrap();
    symlink(&secret, run.join("samples-one.jsonl")).unwrap();
    let other = Machine::new();
    let output = other.pull(address);
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(error.contains("is a link"), "{error}");
    assert!(!other.workspace().join("baselines").exists());
}

#[test]
fn pipe_in_store_does_not_hang() {
    let (_machine, store) = with_a_pushed_run();
    let address = store.to_str().unwrap();
    let run = only_run(&store);
    let pipe = run.join("samples-one.jsonl");
    assert!(
        Command::new("mkfifo")
            .arg(&pipe)
            .status()
            .unwrap()
            .success()
    );
    // Keeps a reader that opens the pipe from waiting forever, so that this test always ends.
    let writer = fs::OpenOptions::new().read(true).write(true).open(&pipe);
    let output = {
        let other = Machine::new();
        let mut child = other.start(&["baseline", "pull", "--all-machines", "--store", address]);
        for _ in 0..1000 {
            if child.try_wait().unwrap().is_some() {
                break;
            }
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        let hung = child.try_wait().unwrap().is_none();
        let _ = child.kill();
        assert!(!hung, "it waits for the pipe");
        child.wait_with_output().unwrap()
    };
    drop(writer);
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(error.contains("a pipe or a device"), "{error}");
}

#[test]
fn oversized_file_is_not_fetched() {
    let (_machine, store) = with_a_pushed_run();
    let address = store.to_str().unwrap();
    let run_file = only_run(&store).join("run.json");
    let file = fs::OpenOptions::new().write(true).open(run_file).unwrap();
    // One byte more than allowed. Sparse, so it takes no space.
    file.set_len((384 << 20) + 1).unwrap();
    let output = Machine::new().pull(address);
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(
        error.contains("longer than the limit of 402653184 bytes"),
        "{error}"
    );
}

/// Writes a run that claims to have started in 9000, and returns the name that it has in a store.
fn poison(directory: &Path) -> String {
    let mut run = read_run(Path::new(RUN)).unwrap();
    run.id = "poison".to_owned();
    run.started_at = "9000-01-01T00:00:00Z".to_owned();
    write_run_without_samples(directory, &run).unwrap();
    let digest = Sha256::digest(fs::read(directory.join("run.json")).unwrap());
    let digest: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("90000101T000000Z-{digest}")
}

/// Puts such a run into the store at `address` as anyone who can write to it could.
fn poison_store(root: &Path, address: &str) {
    let Some(repository) = address.strip_prefix("git+") else {
        let machine = Path::new(address).join("main").join(KEY);
        let name = poison(&root.join("poison"));
        fs::create_dir_all(&machine).unwrap();
        fs::rename(root.join("poison"), machine.join(name)).unwrap();
        return;
    };
    let repository = repository.strip_suffix("#runs").unwrap();
    git(root, &["init", "--quiet", "clone"], "");
    let clone = root.join("clone");
    let name = poison(&clone.join("poison"));
    let machine = clone.join("main").join(KEY);
    fs::create_dir_all(&machine).unwrap();
    fs::rename(clone.join("poison"), machine.join(name)).unwrap();
    git(&clone, &["add", "main"], "");
    git(&clone, &["commit", "--quiet", "-m", "Poison"], "");
    git(
        &clone,
        &["push", "--quiet", repository, "HEAD:refs/heads/runs"],
        "",
    );
}

#[test]
fn future_run_is_ignored() {
    let root = tempfile::tempdir().unwrap();
    git(root.path(), &["init", "--quiet", "--bare", "r.git"], "");
    for address in [
        root.path().join("directory").display().to_string(),
        format!("git+{}#runs", root.path().join("r.git").display()),
    ] {
        let poisoner = Machine::new();
        poison(&poisoner.workspace().join("baselines/main").join(KEY));
        let push = ["baseline", "push", "--store", address.as_str()];
        let output = poisoner.run(&push);
        let refusal = String::from_utf8(output.stderr).unwrap();
        assert!(!output.status.success(), "{refusal}");
        assert!(refusal.contains("is in the future"), "{refusal}");
        poison_store(root.path(), &address);
        for (id, started_at) in [
            ("one", "2026-11-01T10:00:00Z"),
            ("two", "2026-11-02T10:00:00Z"),
            ("three", "2026-11-03T10:00:00Z"),
        ] {
            let machine = Machine::new();
            machine.save(id, started_at);
            machine.succeeds(&push);
        }
        let reader = Machine::new();
        let output = reader.pull(&address);
        let warning = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success(), "{warning}");
        assert_eq!(reader.baseline(), "three", "{address}");
        assert!(
            warning.contains(&format!("main/{KEY}/90000101T000000Z-")),
            "{warning}"
        );
        // A machine that already has it gets rid of it.
        poisoner.pull(&address);
        assert_eq!(poisoner.baseline(), "three", "{address}");

        let gc = ["baseline", "gc", "--keep", "1", "--store", address.as_str()];
        let warning = reader.succeeds(&gc);
        assert!(warning.contains("--from-the-future"), "{warning}");
        let late = Machine::new();
        late.pull(&address);
        assert_eq!(late.baseline(), "three", "{address}");
        reader.succeeds(&[&gc[..], &["--from-the-future"]].concat());
        let output = late.pull(&address);
        assert!(output.stderr.is_empty(), "{address}");
    }
}

/// A git that fails, or dies, while it takes the list of what is to be removed.
#[test]
fn failing_git_index_fails_gc_and_push() {
    use std::os::unix::fs::PermissionsExt;
    let machine = Machine::new();
    let remote = machine.root.path();
    git(remote, &["init", "--quiet", "--bare", "repository.git"], "");
    let store = "git+../repository.git#runs";
    for day in 1..=3 {
        machine.save(&format!("run-{day}"), &format!("2026-11-0{day}T10:00:00Z"));
    }
    machine.succeeds(&["baseline", "push", "--store", store]);
    let tip = || git(&remote.join("repository.git"), &["rev-parse", "runs"], "");
    let before = tip();
    machine.save("run-4", "2026-11-04T10:00:00Z");
    let real = std::env::var("PATH").unwrap();
    let programs = remote.join("programs");
    fs::create_dir(&programs).unwrap();
    for (end, message) in [
        (
            "echo no room for the index >&2; exit 128",
            "no room for the index",
        ),
        ("kill -9 $$", "update-index"),
    ] {
        let script = format!(
            "#!/bin/sh\ncase \" $* \" in *' update-index '*) cat >/dev/null; {end} ;; esac\n\
             PATH='{real}' exec git \"$@\"\n"
        );
        fs::write(programs.join("git"), script).unwrap();
        let executable = fs::Permissions::from_mode(0o755);
        fs::set_permissions(programs.join("git"), executable).unwrap();
        for words in [
            &["baseline", "gc", "--keep", "1", "--store", store][..],
            &["baseline", "push", "--store", store],
        ] {
            let output = machine
                .command(words)
                .env("PATH", format!("{}:{real}", programs.display()))
                .output()
                .unwrap();
            let error = String::from_utf8(output.stderr).unwrap();
            assert_eq!(output.status.code(), Some(101), "{words:?}: {error}");
            assert!(error.contains(message), "{words:?}: {error}");
            assert!(
                !String::from_utf8(output.stdout)
                    .unwrap()
                    .contains("removed")
            );
            assert_eq!(tip(), before, "{words:?}");
        }
    }
    machine.succeeds(&["baseline", "gc", "--keep", "1", "--store", store]);
    assert_ne!(tip(), before);
}

#[test]
fn stale_git_lock_does_not_block() {
    let machine = Machine::new();
    let remote = machine.root.path();
    git(remote, &["init", "--quiet", "--bare", "repository.git"], "");
    let store = "git+../repository.git#runs";
    machine.save("first", "2026-11-01T10:00:00Z");
    machine.succeeds(&["baseline", "push", "--store", store]);
    // git lists it before the branch, and it has only the first run.
    let other = ["branch", "a/refs/heads/runs", "runs"];
    git(&remote.join("repository.git"), &other, "");
    let references = machine.workspace().join(".git/refs/cargo-topdown");
    fs::create_dir_all(&references).unwrap();
    fs::write(references.join("runs.lock"), "").unwrap();
    machine.save("second", "2026-11-02T10:00:00Z");
    machine.succeeds(&["baseline", "push", "--store", store]);
    fs::remove_dir_all(machine.workspace().join("baselines")).unwrap();
    let output = machine.pull(store);
    assert!(output.status.success(), "{output:?}");
    assert!(machine.baseline().contains("second"));
}

#[test]
fn concurrent_programs_keep_every_run() {
    const PROGRAMS: usize = 3;
    const RUNS: usize = 6;
    let machine = Machine::new();
    let counts = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/tests/data/import/perf-spr-events.csv"
    );
    let machine_key = "x86_64-GenuineIntel-06-8f-08-smt";
    for _ in 0..RUNS {
        let words = ["import", "--machine", machine_key, "--save", "main", counts];
        let programs: Vec<Child> = (0..PROGRAMS).map(|_| machine.start(&words)).collect();
        for program in programs {
            let output = program.wait_with_output().unwrap();
            let error = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{error}");
        }
    }
    let baseline = machine.workspace().join("baselines/main").join(machine_key);
    let kept = fs::read_dir(baseline.join("history")).unwrap().count();
    assert_eq!(kept, PROGRAMS * RUNS);
}
