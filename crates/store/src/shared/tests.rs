//! Tests every kind of store: what is pushed can be pulled, by many machines at once, and no run is
//! lost or incomplete.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::SystemTime;

use tempfile::TempDir;
use topdown_run::run_file::{read_run, read_samples, write_run};

use super::transfer::{Collection, Machines, Pulled, SharedStore};
use super::*;
use crate::baselines::tests::{RUN, RUN_KEY, store_in};
use crate::baselines::{BaselineStore, history};

/// One machine of the fleet, with its own workspace.
struct Machine {
    root: TempDir,
    local: BaselineStore,
}

impl Machine {
    fn new() -> Machine {
        let root = tempfile::tempdir().unwrap();
        let local = store_in(root.path());
        git(root.path(), &["init", "--quiet"]);
        Machine { root, local }
    }

    /// Saves the golden run with its samples, as if it had started at this hour of a November.
    fn save(&self, name: &str, hour: u32) {
        let mut run = read_run(Path::new(RUN)).unwrap();
        run.started_at = format!("2026-11-{:02}T{:02}:00:00Z", 1 + hour / 24, hour % 24);
        run.id = format!("hour-{hour}");
        let directory = self.root.path().join("newest");
        write_run(&directory, &run, &read_samples(Path::new(RUN)).unwrap()).unwrap();
        self.local.save(&name.parse().unwrap(), &directory).unwrap();
    }

    fn store(&self, address: &Address) -> SharedStore {
        SharedStore::open(address, self.root.path()).unwrap()
    }

    fn push(&self, address: &Address) -> (Vec<RunLocation>, usize) {
        let pushed = self.store(address).push(&self.local, &[]).unwrap();
        assert!(pushed.skipped.is_empty(), "{:?}", pushed.skipped);
        (pushed.added, pushed.present)
    }

    fn pull(&self, address: &Address) -> Vec<Pulled> {
        let machines = Machines::Key(RUN_KEY);
        self.store(address)
            .pull(&self.local, &[], machines)
            .unwrap()
    }

    /// The hours of all local runs of `name`; the last is the baseline.
    fn hours(&self, name: &str) -> Vec<u32> {
        let directory = self.local.directory_of(&name.parse().unwrap(), RUN_KEY);
        let hour = |path: &Path| -> u32 {
            let run = read_run(path).unwrap();
            run.id.strip_prefix("hour-").unwrap().parse().unwrap()
        };
        let mut hours: Vec<u32> = history::runs(&directory)
            .unwrap()
            .iter()
            .map(|path| hour(path))
            .collect();
        hours.sort_unstable();
        assert_eq!(hours.last(), Some(&hour(&directory)));
        hours
    }
}

/// One address of every kind that needs no network.
fn addresses() -> (TempDir, Vec<Address>) {
    let root = tempfile::tempdir().unwrap();
    let repository = root.path().join("repository.git");
    git(
        root.path(),
        &["init", "--quiet", "--bare", "repository.git"],
    );
    let addresses = vec![
        Address::Directory(root.path().join("directory")),
        Address::GitBranch {
            remote: repository.to_str().unwrap().to_owned(),
            branch: "perf/runs".to_owned(),
        },
        #[cfg(feature = "object-store")]
        {
            fs::create_dir(root.path().join("bucket")).unwrap();
            Address::Object(format!("file://{}/bucket/a b/c", root.path().display()))
        },
    ];
    (root, addresses)
}

fn keep(keep: usize) -> Collection {
    Collection {
        keep,
        ..Collection::default()
    }
}

fn git(directory: &Path, arguments: &[&str]) {
    let status = Command::new("git")
        .arg("-C")
        .arg(directory)
        .args(arguments)
        .status()
        .unwrap();
    assert!(status.success());
}

#[test]
fn pushed_runs_are_pulled_elsewhere() {
    let (_root, addresses) = addresses();
    for address in &addresses {
        let (a, b) = (Machine::new(), Machine::new());
        assert!(b.pull(address).is_empty(), "{address}: an empty store");
        for hour in [2, 1, 3] {
            a.save("feature/größe 1", hour);
            a.save("main", hour + 10);
        }
        let (added, all) = a.push(address);
        assert_eq!((added.len(), all), (6, 6), "{address}");
        assert_eq!(a.push(address), (vec![], 6), "{address}: again");
        let pulled = b.pull(address);
        assert_eq!(pulled.len(), 2, "{address}");
        assert!(
            pulled.iter().all(|p| p.renewed && p.added == 3),
            "{pulled:?}"
        );
        assert_eq!(b.hours("feature/größe 1"), [1, 2, 3]);
        assert_eq!(b.hours("main"), [11, 12, 13]);
        let newest = b.local.directory_of(&"main".parse().unwrap(), RUN_KEY);
        assert_eq!(
            read_samples(&newest).unwrap(),
            read_samples(Path::new(RUN)).unwrap()
        );
        let again = b.pull(address);
        assert!(
            again.iter().all(|p| !p.renewed && p.added == 0),
            "{again:?}"
        );
    }
}

#[test]
fn newer_baseline_stays_and_older_is_kept() {
    let (_root, addresses) = addresses();
    for address in &addresses {
        let (a, b, c) = (Machine::new(), Machine::new(), Machine::new());
        a.save("main", 5);
        a.push(address);
        b.save("main", 7);
        c.save("main", 3);
        let pulled = b.pull(address);
        assert!(
            !pulled[0].renewed && pulled[0].added == 1,
            "{address}: {pulled:?}"
        );
        assert_eq!(b.hours("main"), [5, 7]);
        assert!(c.pull(address)[0].renewed);
        assert_eq!(c.hours("main"), [3, 5]);
        // The store's newest is the latest run, in whatever order they arrive.
        b.push(address);
        c.push(address);
        a.pull(address);
        assert_eq!(a.hours("main"), [3, 5, 7], "{address}");
    }
}

#[test]
fn concurrent_writers_lose_no_run() {
    const WRITERS: u32 = 6;
    const RUNS: u32 = 3;
    let (_root, addresses) = addresses();
    for address in &addresses {
        thread::scope(|scope| {
            for writer in 0..WRITERS {
                scope.spawn(move || {
                    let machine = Machine::new();
                    for run in 0..RUNS {
                        machine.save("main", writer * RUNS + run);
                        machine.push(address);
                    }
                });
            }
        });
        let reader = Machine::new();
        reader.pull(address);
        let expected: Vec<u32> = (0..WRITERS * RUNS).collect();
        assert_eq!(reader.hours("main"), expected, "{address}");
    }
}

#[test]
fn gc_keeps_newest_baselines_and_lists_removals() {
    let (_root, addresses) = addresses();
    for address in &addresses {
        let a = Machine::new();
        for hour in 1..=4 {
            a.save("main", hour);
        }
        a.save("other", 9);
        a.push(address);
        let store = a.store(address);
        let gc = |names: &[&str], keep, dry_run| {
            let names: Vec<BaselineName> = names.iter().map(|name| name.parse().unwrap()).collect();
            let collection = Collection {
                keep,
                dry_run,
                ..Collection::default()
            };
            store.collect_garbage(&names, collection).unwrap()
        };
        assert_eq!(gc(&["other"], 1, false), Default::default());
        let planned = gc(&[], 3, true);
        assert_eq!(planned.runs.len(), 1, "{address}");
        assert!(
            planned.runs[0]
                .to_string()
                .starts_with(&format!("main/{RUN_KEY}/20261101T01"))
        );
        assert_eq!(gc(&["main"], 3, false), planned, "{address}");
        assert_eq!(gc(&[], 1, false).runs.len(), 2, "{address}");
        assert_eq!(gc(&[], 1, false), Default::default());
        let b = Machine::new();
        b.pull(address);
        assert_eq!(b.hours("main"), [4]);
        assert_eq!(b.hours("other"), [9]);
        // A machine that still has an old run may push it again: garbage collection does not ban
        // it.
        a.save("main", 6);
        a.push(address);
        b.pull(address);
        assert_eq!(b.hours("main"), [1, 2, 3, 4, 6], "{address}");
    }
}

#[test]
fn gc_beside_writers_removes_nothing_new() {
    let (_root, addresses) = addresses();
    for address in &addresses {
        let old = Machine::new();
        for hour in 0..4 {
            old.save("main", hour);
        }
        old.push(address);
        thread::scope(|scope| {
            for writer in 0..3 {
                scope.spawn(move || {
                    let machine = Machine::new();
                    machine.save("main", 100 + writer);
                    machine.push(address);
                });
            }
            scope.spawn(|| {
                for _ in 0..3 {
                    old.store(address).collect_garbage(&[], keep(3)).unwrap();
                }
            });
        });
        let reader = Machine::new();
        reader.pull(address);
        let hours: BTreeSet<u32> = reader.hours("main").into_iter().collect();
        assert!(
            hours.is_superset(&[100, 101, 102].into()),
            "{address}: {hours:?}"
        );
    }
}

#[test]
fn missing_names_are_reported() {
    let (_root, addresses) = addresses();
    for address in &addresses {
        let machine = Machine::new();
        let store = machine.store(address);
        let main = ["main".parse().unwrap()];
        let error = store.push(&machine.local, &[]).unwrap_err();
        assert!(
            error
                .to_string()
                .starts_with("no baselines to push; to make")
        );
        let error = store.push(&machine.local, &main).unwrap_err();
        assert!(error.to_string().contains("to push as `main`;"), "{error}");
        let riscv = topdown_run::machine::Machine {
            architecture: "riscv64".to_owned(),
            ..Default::default()
        };
        for (machines, of) in [
            (Machines::Key("riscv64"), "riscv64"),
            (Machines::Like(&riscv), "riscv64-unknown, nor modelled ones"),
            (Machines::Every, "any machine"),
        ] {
            let error = store.pull(&machine.local, &main, machines).unwrap_err();
            assert!(
                error
                    .to_string()
                    .ends_with(&format!("has no baseline `main` of {of}")),
                "{error}"
            );
        }
    }
}

#[test]
fn unreachable_store_has_a_reason() {
    let machine = Machine::new();
    machine.save("main", 1);
    let file = machine.root.path().join("file");
    fs::write(&file, "").unwrap();
    let gone = machine.root.path().join("gone.git").display().to_string();
    for (address, reason) in [
        (Address::Directory(file.join("below")), "Not a directory"),
        (
            Address::GitBranch {
                remote: gone.clone(),
                branch: "b".to_owned(),
            },
            "`git ls-remote` failed",
        ),
    ] {
        let error = machine
            .store(&address)
            .push(&machine.local, &[])
            .unwrap_err();
        assert!(
            error.to_string().contains("could not write to the store"),
            "{error}"
        );
        assert!(error.to_string().contains(reason), "{error}");
        let error = machine
            .store(&address)
            .pull(&machine.local, &[], Machines::Every)
            .unwrap_err();
        assert!(
            error.to_string().contains("could not read the store"),
            "{error}"
        );
    }
}

#[test]
fn refusing_remote_is_quoted_and_retries_end() {
    let (root, _) = addresses();
    let hook = root.path().join("repository.git/hooks/pre-receive");
    fs::write(
        &hook,
        "#!/bin/sh\necho 'nobody may push here' >&2\nexit 1\n",
    )
    .unwrap();
    make_executable(&hook);
    let machine = Machine::new();
    machine.save("main", 1);
    let address = Address::GitBranch {
        remote: root.path().join("repository.git").display().to_string(),
        branch: "runs".to_owned(),
    };
    let error = machine
        .store(&address)
        .push(&machine.local, &[])
        .unwrap_err();
    assert!(
        error.to_string().contains("nobody may push here"),
        "{error}"
    );
}

fn make_executable(path: &Path) {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    #[cfg(not(unix))]
    let _ = path;
}

#[test]
fn altered_run_in_store_is_refused_by_path() {
    let (root, addresses) = addresses();
    let (a, b) = (Machine::new(), Machine::new());
    a.save("main", 1);
    let (locations, _) = a.push(&addresses[0]);
    let path = root
        .path()
        .join("directory")
        .join(locations[0].to_string())
        .join("run.json");
    let json = fs::read_to_string(&path).unwrap();
    let (part, _) = json.split_once("\"benchmarks\"").unwrap();
    for (changed, problem) in [
        (json.replace("hour-1", "hour-2"), "is that of 20261101T01"),
        (part.to_owned(), "does not match its name"),
    ] {
        fs::write(&path, changed).unwrap();
        let store = b.store(&addresses[0]);
        let error = store.pull(&b.local, &[], Machines::Every).unwrap_err();
        assert!(
            error.to_string().starts_with(&locations[0].to_string()),
            "{error}"
        );
        assert!(error.to_string().contains(problem), "{error}");
        assert!(b.local.list().unwrap().is_empty());
    }
}

/// Returns the path of the run of this hour below `directory`.
fn run_of(directory: &Path, hour: u32) -> PathBuf {
    let started = format!("202611{:02}T{:02}0000Z", 1 + hour / 24, hour % 24);
    let entries = fs::read_dir(directory).unwrap();
    let mut paths = entries.map(|entry| entry.unwrap().path());
    let is_meant = |path: &PathBuf| {
        path.file_name()
            .unwrap()
            .to_str()
            .unwrap()
            .starts_with(&started)
    };
    paths.find(is_meant).unwrap()
}

#[cfg(unix)]
#[test]
fn bad_runs_of_a_store_are_skipped_by_name() {
    let (root, addresses) = addresses();
    let (a, b) = (Machine::new(), Machine::new());
    (1..=4).for_each(|hour| a.save("main", hour));
    a.push(&addresses[0]);
    let stored = root.path().join("directory/main").join(RUN_KEY);
    let pipe = run_of(&stored, 4).join("samples-hour-4.jsonl");
    fs::remove_file(&pipe).unwrap();
    assert!(
        Command::new("mkfifo")
            .arg(&pipe)
            .status()
            .unwrap()
            .success()
    );
    let changed = run_of(&stored, 3).join("run.json");
    let json = fs::read_to_string(&changed).unwrap();
    fs::write(&changed, json.replace("hour-3", "hour-9")).unwrap();
    let pulled = b.pull(&addresses[0]);
    assert_eq!(b.hours("main"), [1, 2]);
    let messages = pulled[0].skipped.iter().map(ToString::to_string);
    let [fourth, third] = &messages.collect::<Vec<String>>()[..] else {
        panic!("{pulled:?}");
    };
    assert!(fourth.contains("a pipe or a device"), "{fourth}");
    assert!(third.contains("does not match its name"), "{third}");
    // A skipped run does not renew the baseline.
    let again = b.pull(&addresses[0]);
    assert_eq!((again[0].renewed, again[0].added), (false, 0));
    for hour in [1, 2] {
        fs::write(run_of(&stored, hour).join("run.json"), "{}").unwrap();
    }
    let store = a.store(&addresses[0]);
    let fresh = Machine::new();
    let error = store.pull(&fresh.local, &[], Machines::Every).unwrap_err();
    assert!(error.to_string().contains("a pipe or a device"), "{error}");
    assert!(fresh.local.list().unwrap().is_empty());
}

/// As with a program that saves meanwhile.
#[test]
fn push_continues_without_missing_samples() {
    let (_root, addresses) = addresses();
    for address in &addresses {
        let machine = Machine::new();
        machine.save("main", 1);
        let baseline = machine
            .local
            .directory_of(&"main".parse().unwrap(), RUN_KEY);
        let run = history::runs(&baseline).unwrap().remove(0);
        let (name, _) = history::read(&run).unwrap();
        let outgoing = Outgoing {
            location: RunLocation {
                name: "main".parse().unwrap(),
                machine_key: RUN_KEY.to_owned(),
                run: name,
            },
            run_file: run,
            samples: Some(baseline.join("samples-gone.jsonl")),
        };
        let backend = address.open(machine.root.path()).unwrap();
        let added = backend.push(std::slice::from_ref(&outgoing)).unwrap();
        assert_eq!(added, [outgoing.location], "{address}");
    }
}

#[test]
fn bad_local_runs_are_not_pushed_and_named() {
    let (_root, addresses) = addresses();
    let machine = Machine::new();
    (1..=3).for_each(|hour| machine.save("main", hour));
    let baseline = machine
        .local
        .directory_of(&"main".parse().unwrap(), RUN_KEY);
    let history = baseline.join("history");
    let cut = run_of(&history, 2);
    let json = fs::read(&cut).unwrap();
    fs::write(&cut, &json[..json.len() / 2]).unwrap();
    let mut run = read_run(&baseline).unwrap();
    run.started_at = "2031-01-01T00:00:00Z".to_owned();
    write_run(&baseline, &run, &[]).unwrap();
    let pushed = machine
        .store(&addresses[0])
        .push(&machine.local, &[])
        .unwrap();
    assert_eq!((pushed.added.len(), pushed.present), (2, 2));
    let messages = pushed.skipped.iter().map(ToString::to_string);
    let [second, future] = &messages.collect::<Vec<String>>()[..] else {
        panic!("{pushed:?}");
    };
    assert!(second.contains(cut.to_str().unwrap()), "{second}");
    assert!(
        future.contains("is in the future; set this machine's clock"),
        "{future}"
    );
}

/// Creates a file in a new directory, both old if `is_old`.
fn leave(path: &Path, is_old: bool) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let file = File::create(path).unwrap();
    if is_old {
        let days_ago = SystemTime::now() - 2 * ABANDONED_AFTER;
        file.set_modified(days_ago).unwrap();
        File::open(path.parent().unwrap())
            .unwrap()
            .set_modified(days_ago)
            .unwrap();
    }
}

#[test]
fn leftovers_of_killed_writers_expire() {
    let (root, addresses) = addresses();
    let machine = Machine::new();
    machine.save("main", 1);
    let below = |store: &str| root.path().join(store).join("main").join(RUN_KEY);
    let unfinished: [(&Address, [PathBuf; 2]); 1] = [(
        &addresses[0],
        ["old", "young"].map(|age| below("directory").join(format!(".unfinished-{age}/run.json"))),
    )];
    #[cfg(feature = "object-store")]
    let objects = [(
        &addresses[2],
        [
            format!("20261101T000000Z-{:064x}", 10),
            format!("20261101T000000Z-{:064x}", 11),
        ]
        .map(|run| below("bucket/a b/c").join(run).join("samples-x.jsonl")),
    )];
    #[cfg(not(feature = "object-store"))]
    let objects = [];
    for (address, [old, young]) in unfinished.into_iter().chain(objects) {
        machine.push(address);
        leave(&old, true);
        leave(&young, false);
        assert_eq!(machine.pull(address).len(), 1);
        let store = machine.store(address);
        let dry_run = Collection {
            dry_run: true,
            ..keep(1)
        };
        let garbage = store.collect_garbage(&[], dry_run).unwrap();
        assert_eq!(garbage.runs, []);
        assert_eq!(garbage.abandoned.len(), 1, "{garbage:?}");
        assert!(
            old.parent().unwrap().ends_with(&garbage.abandoned[0]),
            "{garbage:?}"
        );
        assert!(old.exists());
        assert_eq!(store.collect_garbage(&[], keep(1)).unwrap(), garbage);
        assert!(!old.exists() && young.exists());
        let reader = Machine::new();
        reader.pull(address);
        assert_eq!(reader.hours("main"), [1]);
    }
}
