//! Tests of the whole store: names, machines, what it replaces and what it refuses.

use std::fs;

use super::*;
use tempfile::TempDir;
use topdown_run::provenance::SourceKind;
use topdown_run::run_file;

/// A run taken on a machine that no test runs on.
pub const RUN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../run/tests/data/run-v1");
/// The key of its machine.
pub const RUN_KEY: &str = "x86_64-GenuineIntel-06-8f-08-kvm-smt";

fn store() -> (TempDir, BaselineStore) {
    let root = tempfile::tempdir().unwrap();
    let store = store_in(root.path());
    (root, store)
}

/// Returns the store of a workspace in `root`, on the machine of [`RUN`].
pub fn store_in(root: &Path) -> BaselineStore {
    BaselineStore {
        directory: root.join("baselines"),
        newest: root.join("target").join(NEWEST),
        newest_of_commands: root.join("target").join(NEWEST_OF_COMMANDS),
        machine: run_file::read_run(Path::new(RUN)).unwrap().machine,
        flags: "".into(),
    }
}

fn name(name: &str) -> BaselineName {
    name.parse().unwrap()
}

fn on_other_machine(store: BaselineStore) -> BaselineStore {
    BaselineStore {
        machine: Machine {
            architecture: "riscv64".to_owned(),
            ..Machine::default()
        },
        ..store
    }
}

#[test]
fn baseline_is_kept_byte_for_byte() {
    let (_root, store) = store();
    let saved = store.save(&name("feature/x"), Path::new(RUN)).unwrap();
    assert_eq!(saved.machine_key, RUN_KEY);
    assert_eq!(store.find(&name("feature/x")).unwrap(), saved);
    assert_eq!(store.resolve("feature/x").unwrap(), saved.directory);
    for entry in fs::read_dir(RUN).unwrap() {
        let original = entry.unwrap().path();
        let copy = saved.directory.join(original.file_name().unwrap());
        assert_eq!(fs::read(copy).unwrap(), fs::read(original).unwrap());
    }
    // The third entry is the history.
    assert_eq!(fs::read_dir(&saved.directory).unwrap().count(), 3);
}

#[test]
fn names_may_be_prefixes_of_each_other() {
    let (_root, store) = store();
    for words in ["a", "a/b", "a/b/c"] {
        store.save(&name(words), Path::new(RUN)).unwrap();
    }
    store
        .save(&name(&format!("a/{RUN_KEY}")), Path::new(RUN))
        .unwrap();
    let names = |store: &BaselineStore| -> Vec<String> {
        let all = store.list().unwrap();
        all.iter().map(|stored| stored.name.to_string()).collect()
    };
    let nested = format!("a/{RUN_KEY}");
    assert_eq!(names(&store), ["a", "a/b", "a/b/c", &nested]);
    store.remove(&store.find(&name("a")).unwrap()).unwrap();
    store.remove(&store.find(&name("a/b/c")).unwrap()).unwrap();
    assert_eq!(names(&store), ["a/b", &nested]);
    assert!(!store.directory.join("a/b/c").exists());
}

#[test]
fn removing_last_baseline_removes_its_directories() {
    let (_root, store) = store();
    let saved = store.save(&name("a/b"), Path::new(RUN)).unwrap();
    store.remove(&saved).unwrap();
    assert!(store.directory.is_dir());
    assert_eq!(fs::read_dir(&store.directory).unwrap().count(), 0);
}

#[test]
fn baseline_of_other_machine_is_named_not_used() {
    let (_root, store) = store();
    store.save(&name("main"), Path::new(RUN)).unwrap();
    let store = on_other_machine(store);
    let error = store.resolve("main").unwrap_err();
    assert!(matches!(&error, StoreError::OtherMachines { .. }));
    assert_eq!(
        error.to_string(),
        "baseline `main` has no run of this machine, unknown riscv64 CPU (riscv64-unknown); \
         it has runs of\n  x86_64-GenuineIntel-06-8f-08-kvm-smt\n\
         slots of different machines cannot be compared, unless all are modelled \
         (`--source model`); to take one here: `cargo topdown bench --save main`"
    );
    let error = store.of_name(&name("main"), Some("z80")).unwrap_err();
    assert!(matches!(error, StoreError::NoSuchMachine { .. }));
    assert_eq!(store.of_name(&name("main"), None).unwrap().len(), 1);
}

#[test]
fn run_is_compared_with_baseline_of_its_machine() {
    let (_root, store) = store();
    let saved = store.save(&name("main"), Path::new(RUN)).unwrap();
    let store = on_other_machine(store);
    let run_key = || Some(RUN_KEY.to_owned());
    assert_eq!(store.resolve_for("main", run_key).unwrap(), saved.directory);
    let other_key = || Some("x86_64-AuthenticAMD-1a-02-01".to_owned());
    let error = store
        .resolve_for("main", other_key)
        .unwrap_err()
        .to_string();
    let words = "no run of the machine of the run that is judged (x86_64-AuthenticAMD-1a-02-01)";
    assert!(error.contains(words), "{error}");
}

/// Writes the golden run as if all of it were modelled on `core`, on a machine with another CPU.
fn modelled_elsewhere(root: &TempDir, core: &str) -> PathBuf {
    let mut run = run_file::read_run(Path::new(RUN)).unwrap();
    run.machine.vendor = "AuthenticAMD".to_owned();
    for benchmark in &mut run.benchmarks {
        benchmark.provenance_mut().source = SourceKind::Model;
        benchmark.provenance_mut().formula = format!("model-{core}/3");
    }
    let directory = root.path().join(core);
    run_file::write_run(&directory, &run, []).unwrap();
    directory
}

#[test]
fn modelled_baseline_fits_any_machine_of_architecture() {
    let (root, store) = store();
    let golden_cove = modelled_elsewhere(&root, "golden-cove");
    let saved = store.save(&name("main"), &golden_cove).unwrap();
    assert_eq!(saved.machine_key, "x86_64-model-golden-cove");
    assert_eq!(store.find(&name("main")).unwrap(), saved);
    assert_eq!(store.default_one().unwrap(), saved);
    assert!(on_other_machine(store).find(&name("main")).is_err());
}

#[test]
fn fitting_baseline_is_chosen_among_several() {
    let (root, store) = store();
    let keys = ["x86_64-model-golden-cove", "x86_64-model-zen-5", RUN_KEY];
    let runs = [
        modelled_elsewhere(&root, "golden-cove"),
        modelled_elsewhere(&root, "zen-5"),
        RUN.into(),
    ];
    for run in &runs {
        store.save(&name("main"), run).unwrap();
    }
    for (run, key) in runs.iter().zip(keys) {
        let wanted = run_file::read_run(run).unwrap().key();
        let found = store.resolve_for("main", || Some(wanted)).unwrap();
        assert_eq!(found, store.directory_of(&name("main"), key));
        // By name alone, finds the one that the newest run fits.
        run_file::copy_run(run, store.newest_directory()).unwrap();
        assert_eq!(store.find(&name("main")).unwrap().machine_key, key);
        assert_eq!(store.default_one().unwrap().machine_key, key);
    }
    // If none fits, this machine's comes first.
    let found = store.resolve_for("main", || None).unwrap();
    assert_eq!(found, store.directory_of(&name("main"), RUN_KEY));
}

#[test]
fn missing_baseline_lists_existing_ones() {
    let (_root, store) = store();
    let error = store.resolve("mian").unwrap_err();
    assert!(error.to_string().contains("holds none"), "{error}");
    store.save(&name("main"), Path::new(RUN)).unwrap();
    let error = store.resolve("mian").unwrap_err().to_string();
    assert!(error.contains("`mian`; there is `main`"), "{error}");
    let error = store.resolve("../mian").unwrap_err();
    assert!(matches!(error, StoreError::NeitherFileNorName { .. }));
}

#[test]
fn run_file_or_directory_is_a_run() {
    let (_root, store) = store();
    assert_eq!(store.resolve(RUN).unwrap(), Path::new(RUN));
    let file = format!("{RUN}/run.json");
    assert_eq!(store.resolve(&file).unwrap(), Path::new(&file));
}

#[test]
fn newest_run_has_no_name() {
    let (_root, store) = store();
    let error = store.newest().unwrap_err();
    assert!(matches!(error, StoreError::NoNewestRun { .. }));
    run_file::copy_run(Path::new(RUN), store.newest_directory()).unwrap();
    assert_eq!(store.newest().unwrap().machine.key(), RUN_KEY);
}

#[test]
fn invalid_runs_are_not_listed() {
    let (_root, store) = store();
    let saved = store.save(&name("main"), Path::new(RUN)).unwrap();
    fs::write(store.directory.join("README.md"), "how they were taken").unwrap();
    fs::create_dir_all(store.directory.join("empty/directory")).unwrap();
    fs::write(saved.directory.join("run.json.77.tmp"), "{\"schema_").unwrap();
    assert_eq!(store.list().unwrap(), [saved]);
}

#[test]
fn broken_run_is_not_saved() {
    let (root, store) = store();
    let saved = store.save(&name("main"), Path::new(RUN)).unwrap();
    let before = fs::read(saved.directory.join(RUN_FILE_NAME)).unwrap();
    let broken = root.path().join("broken.json");
    fs::write(&broken, &before[..before.len() / 2]).unwrap();
    let error = store.save(&name("main"), &broken).unwrap_err();
    assert!(matches!(error, StoreError::Unreadable(_)));
    assert!(error.to_string().contains("broken.json"), "{error}");
    let after = fs::read(saved.directory.join(RUN_FILE_NAME)).unwrap();
    assert_eq!(before, after);
}

#[test]
fn inaccessible_store_is_an_error() {
    let (root, store) = store();
    // Files in place of directories fail even for root, who ignores permissions.
    fs::write(&store.directory, "").unwrap();
    let error = store.save(&name("main"), Path::new(RUN)).unwrap_err();
    assert!(matches!(error, StoreError::NotSaved { .. }));
    let error = store.list().unwrap_err();
    assert!(matches!(error, StoreError::List { .. }));
    let gone = StoredBaseline {
        name: name("main"),
        machine_key: RUN_KEY.to_owned(),
        directory: root.path().join("gone"),
    };
    let error = store.remove(&gone).unwrap_err();
    assert!(matches!(error, StoreError::NotRemoved(_)));
}

/// Writes the golden run without samples, as if it had started on another day of November.
fn run_of_day(root: &TempDir, day: u32) -> PathBuf {
    let json = fs::read_to_string(Path::new(RUN).join(RUN_FILE_NAME)).unwrap();
    let mut run: serde_json::Value = serde_json::from_str(&json).unwrap();
    run["started_at"] = format!("2026-11-{day:02}T10:00:00Z").into();
    let path = root.path().join(format!("day-{day}.json"));
    fs::write(&path, run.to_string()).unwrap();
    path
}

#[test]
fn every_saved_run_is_kept() {
    let (root, store) = store();
    let days = [3, 1, 2, 2].map(|day| run_of_day(&root, day));
    for day in &days {
        store.save(&name("main"), day).unwrap();
    }
    let stored = store.find(&name("main")).unwrap();
    let started: Vec<String> = stored
        .runs()
        .unwrap()
        .iter()
        .map(|run| run_file::read_run(run).unwrap().started_at)
        .collect();
    let expected = [1, 2, 3].map(|day| format!("2026-11-{day:02}T10:00:00Z"));
    assert_eq!(started, expected);
    // A kept run is not a baseline of its own.
    assert_eq!(store.list().unwrap(), [stored]);
}

#[test]
fn baseline_older_than_histories_joins_its_history() {
    let (root, store) = store();
    let saved = store.save(&name("main"), &run_of_day(&root, 1)).unwrap();
    history::remove(&saved.directory).unwrap();
    assert_eq!(saved.runs().unwrap(), [saved.directory.join(RUN_FILE_NAME)]);
    store.save(&name("main"), &run_of_day(&root, 2)).unwrap();
    assert_eq!(saved.runs().unwrap().len(), 2);
    assert_eq!(history::names(&saved.directory).unwrap().len(), 2);
}

#[test]
fn unreadable_baseline_is_replaced() {
    let (root, store) = store();
    let saved = store.save(&name("main"), &run_of_day(&root, 1)).unwrap();
    fs::write(saved.directory.join(RUN_FILE_NAME), "{").unwrap();
    store.save(&name("main"), &run_of_day(&root, 2)).unwrap();
    assert_eq!(saved.runs().unwrap().len(), 2);
}

#[test]
fn history_and_baseline_write_errors_are_distinct() {
    let (root, store) = store();
    let saved = store.save(&name("main"), &run_of_day(&root, 1)).unwrap();
    history::remove(&saved.directory).unwrap();
    fs::remove_file(saved.directory.join(RUN_FILE_NAME)).unwrap();
    fs::write(saved.directory.join(history::HISTORY_DIRECTORY), "").unwrap();
    let error = store
        .save(&name("main"), &run_of_day(&root, 2))
        .unwrap_err();
    assert!(matches!(error, StoreError::NotKept(_)), "{error}");
    assert!(store.find(&name("main")).is_ok());
    let error = saved.runs().unwrap_err();
    assert!(matches!(error, StoreError::HistoryUnreadable(_)), "{error}");
}

#[test]
fn only_baseline_of_this_machine_needs_no_name() {
    let (root, store) = store();
    let error = store.default_one().unwrap_err();
    assert!(error.to_string().contains("no baseline of this machine"));
    let saved = store.save(&name("last"), &run_of_day(&root, 1)).unwrap();
    assert_eq!(store.default_one().unwrap(), saved);
    store.save(&name("next"), &run_of_day(&root, 1)).unwrap();
    let error = store.default_one().unwrap_err();
    assert_eq!(
        error.to_string(),
        "name a baseline: there are `last`, `next`"
    );
    let main = store.save(&name("main"), &run_of_day(&root, 1)).unwrap();
    assert_eq!(store.default_one().unwrap(), main);
    assert!(on_other_machine(store).default_one().is_err());
}

#[test]
fn runs_are_read_in_order_and_unreadable_named() {
    let (root, store) = store();
    for day in [2, 1] {
        store.save(&name("main"), &run_of_day(&root, day)).unwrap();
    }
    let stored = store.find(&name("main")).unwrap();
    let broken = stored
        .directory
        .join(format!("history/20261103T100000Z-{:064x}.json", 7));
    fs::write(broken, "{").unwrap();
    let (runs, unreadable) = read_runs(&stored.directory).unwrap();
    let started: Vec<&str> = runs.iter().map(|run| &run.started_at[8..10]).collect();
    assert_eq!(started, ["01", "02"]);
    assert!(unreadable[0].to_string().contains("20261103T100000Z"));
    assert_eq!(unreadable.len(), 1);
}

#[cfg(unix)]
#[test]
fn links_and_pipes_are_not_runs() {
    use std::os::unix::fs::symlink;
    let (root, store) = store();
    let secret = root.path().join("secret");
    fs::write(&secret, "not for others").unwrap();
    let baseline = store.directory_of(&name("main"), RUN_KEY);
    fs::create_dir_all(&baseline).unwrap();
    symlink(&secret, baseline.join(RUN_FILE_NAME)).unwrap();
    assert_eq!(store.list().unwrap(), []);
    // A link to samples could be read from wherever it is copied to.
    let copied = root.path().join("copied");
    run_file::copy_run(Path::new(RUN), &copied).unwrap();
    let samples = run_file::samples_file_of(&copied.join(RUN_FILE_NAME)).unwrap();
    fs::remove_file(copied.join(&samples)).unwrap();
    symlink(&secret, copied.join(&samples)).unwrap();
    let error = store.save(&name("other"), &copied).unwrap_err();
    assert!(error.to_string().contains("is a link"), "{error}");
    let pipe = root.path().join("pipe.json");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    assert!(made.unwrap().success());
    let error = store.save(&name("other"), &pipe).unwrap_err();
    assert!(error.to_string().contains("a pipe or a device"), "{error}");
}

#[cfg(unix)]
#[test]
fn linked_name_is_refused() {
    let (root, store) = store();
    let on_other_machine = root.path().join("elsewhere");
    fs::create_dir_all(&on_other_machine).unwrap();
    fs::create_dir_all(&store.directory).unwrap();
    std::os::unix::fs::symlink(&on_other_machine, store.directory.join("main")).unwrap();
    let error = store.save(&name("main"), Path::new(RUN)).unwrap_err();
    assert!(matches!(error, StoreError::Link { .. }), "{error}");
    assert_eq!(fs::read_dir(&on_other_machine).unwrap().count(), 0);
}

#[test]
fn modelled_core_cannot_choose_directory() {
    let (root, store) = store();
    let mut run = run_file::read_run(Path::new(RUN)).unwrap();
    for benchmark in &mut run.benchmarks {
        benchmark.provenance_mut().source = SourceKind::Model;
        benchmark.provenance_mut().formula = "model-..\\..\u{1b}/1".to_owned();
    }
    let from = root.path().join("run");
    run_file::write_run_without_samples(&from, &run).unwrap();
    let saved = store.save(&name("main"), &from).unwrap();
    // The control character was escaped when the run was read.
    assert_eq!(saved.machine_key, "x86_64-model-.._.._u_1b_");
    assert_eq!(store.list().unwrap(), [saved]);
}

#[test]
fn concurrent_savers_lose_no_run() {
    const SAVERS: u32 = 40;
    let (root, store) = store();
    let from = |saver: u32| {
        let mut run = run_file::read_run(Path::new(RUN)).unwrap();
        run.id = format!("saver-{saver}");
        let directory = root.path().join(&run.id);
        run_file::write_run_without_samples(&directory, &run).unwrap();
        directory
    };
    let runs: Vec<PathBuf> = (0..SAVERS).map(from).collect();
    std::thread::scope(|scope| {
        for run in &runs {
            scope.spawn(|| store.save(&name("main"), run).unwrap());
        }
    });
    let (kept, unreadable) = read_runs(&store.find(&name("main")).unwrap().directory).unwrap();
    assert!(unreadable.is_empty(), "{unreadable:?}");
    assert_eq!(kept.len(), SAVERS as usize);
}

#[cfg(unix)]
#[test]
fn planted_link_is_not_followed() {
    let (root, store) = store();
    let private = root.path().join("private");
    fs::write(&private, "mine").unwrap();
    let baseline = store.directory_of(&name("main"), RUN_KEY);
    fs::create_dir_all(&baseline).unwrap();
    for planted in [
        RUN_FILE_NAME.to_owned(),
        format!("{RUN_FILE_NAME}.{}.tmp", std::process::id()),
    ] {
        std::os::unix::fs::symlink(&private, baseline.join(planted)).unwrap();
    }
    store.save(&name("main"), Path::new(RUN)).unwrap();
    assert_eq!(fs::read_to_string(&private).unwrap(), "mine");
}

#[test]
fn saved_run_equals_measured_run() {
    let (_root, store) = store();
    let make = |id: &str| {
        let mut run = run_file::read_run(Path::new(RUN)).unwrap();
        run.id = id.to_owned();
        let write = |to: &Path| run_file::write_run_without_samples(to, &run);
        store.make_newest(write).unwrap()
    };
    let (one, two) = (make("one"), make("two"));
    assert_eq!(store.newest().unwrap().id, "two");
    let id_of = |stored: StoredBaseline| run_file::read_run(&stored.directory).unwrap().id;
    assert_eq!(id_of(store.save(&name("a"), one.path()).unwrap()), "one");
    assert_eq!(id_of(store.save(&name("b"), two.path()).unwrap()), "two");
}

#[test]
fn run_from_the_future_is_not_saved() {
    let (root, store) = store();
    let mut run = run_file::read_run(Path::new(RUN)).unwrap();
    run.started_at = "2031-01-01T00:00:00Z".to_owned();
    let from = root.path().join("run");
    run_file::write_run_without_samples(&from, &run).unwrap();
    let error = store.save(&"main".parse().unwrap(), &from).unwrap_err();
    let message = error.to_string();
    let start =
        "the run of 2031-01-01T00:00:00Z was not saved as `main`: this machine's clock says";
    assert!(message.starts_with(start), "{message}");
    assert!(store.list().unwrap().is_empty());
}
