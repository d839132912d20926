//! Where runs are kept: the newest one, and the baselines by name and machine.
//!
//! A baseline is a directory `NAME/MACHINE-KEY/` below the store's directory, which holds the two
//! files of a run. So the baselines of several machines stand side by side under one name, and a
//! store can be committed. How a run is replaced without ever being half there is the business of
//! `criterion_topdown::run_file`.

mod name;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use cargo_metadata::{Metadata, MetadataCommand};
use criterion_topdown::machine::Machine;
use criterion_topdown::run_file::{self, RUN_FILE_NAME, Run, RunFileError};
use thiserror::Error;

use crate::cli::StoreArgs;
use crate::error::Exit;

pub use name::{BaselineName, BaselineNameError};

/// Where the newest run is kept, below the target directory.
const NEWEST: &str = "topdown/newest";

/// The store of one workspace, as seen from one machine.
#[derive(Debug)]
pub struct BaselineStore {
    directory: PathBuf,
    newest: PathBuf,
    machine: Machine,
}

/// A run that the store holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredBaseline {
    /// Its name.
    pub name: BaselineName,
    /// The key of the machine that it was taken on.
    pub machine_key: String,
    /// The directory that holds its files.
    pub directory: PathBuf,
}

/// What can go wrong with the store.
#[derive(Debug, Error)]
pub enum StoreError {
    /// The workspace could not be found.
    #[error("could not find the workspace whose baselines are meant: {0}")]
    Workspace(#[source] Box<cargo_metadata::Error>),
    /// A setting in a manifest is of another type.
    #[error("`workspace.metadata.topdown.baselines` in {} is {found}, not a directory's name", manifest.display())]
    Setting {
        /// The workspace's manifest.
        manifest: PathBuf,
        /// What it is instead.
        found: String,
    },
    /// What was given is neither a run file nor a name.
    #[error("there is no run file `{argument}`, and it is not the name of a baseline: {reason}")]
    NeitherFileNorName {
        /// What was given.
        argument: String,
        /// Why it is no name.
        reason: BaselineNameError,
    },
    /// No baseline of this name on any machine.
    #[error(
        "there is no baseline and no run file `{name}`{}\nto make a baseline: `cargo topdown bench --save {name}`",
        others_text(names, directory)
    )]
    NoSuchBaseline {
        /// The name that was asked for.
        name: BaselineName,
        /// The names that exist.
        names: Vec<BaselineName>,
        /// Where they were looked for.
        directory: PathBuf,
    },
    /// The baseline was taken on other machines alone.
    #[error(
        "baseline `{name}` has no run of this machine, {machine} ({key}); it has runs of\n  {}\n\
         slots of different machines cannot be compared; to take one here: \
         `cargo topdown bench --save {name}`",
        keys.join("\n  ")
    )]
    OtherMachines {
        /// The name that was asked for.
        name: BaselineName,
        /// The machine that asks.
        machine: Box<Machine>,
        /// Its key.
        key: String,
        /// The keys that exist.
        keys: Vec<String>,
    },
    /// The baseline has no run of the machine that was named.
    #[error(
        "baseline `{name}` has no run of a machine `{key}`; it has runs of\n  {}\n\
         to name one: `--machine KEY`",
        keys.join("\n  ")
    )]
    NoSuchMachine {
        /// The name that was asked for.
        name: BaselineName,
        /// The key that was asked for.
        key: String,
        /// The keys that exist.
        keys: Vec<String>,
    },
    /// Nothing has been measured yet.
    #[error("there is no newest run in {}; run `cargo topdown bench` first", directory.display())]
    NoNewestRun {
        /// Where it would be.
        directory: PathBuf,
    },
    /// A run cannot be read.
    #[error(transparent)]
    Unreadable(RunFileError),
    /// A run cannot be kept.
    #[error("could not save the baseline; the one before is unchanged: {0}")]
    NotSaved(#[source] RunFileError),
    /// A run cannot be removed.
    #[error("could not remove the baseline: {0}")]
    NotRemoved(#[source] RunFileError),
    /// The store's directory cannot be read.
    #[error("could not list the baselines in {}: {error}", directory.display())]
    List {
        /// The directory.
        directory: PathBuf,
        /// Why.
        #[source]
        error: io::Error,
    },
}

fn others_text(names: &[BaselineName], directory: &Path) -> String {
    if names.is_empty() {
        return format!("; {} holds none", directory.display());
    }
    let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    format!("; there are {}", names.join(", "))
}

impl StoreError {
    /// The exit code of this error.
    pub fn exit(&self) -> Exit {
        match self {
            StoreError::Workspace(_)
            | StoreError::Setting { .. }
            | StoreError::NeitherFileNorName { .. } => Exit::Usage,
            StoreError::NoSuchBaseline { .. }
            | StoreError::OtherMachines { .. }
            | StoreError::NoSuchMachine { .. }
            | StoreError::NoNewestRun { .. }
            | StoreError::Unreadable(_)
            | StoreError::List { .. } => Exit::NoComparison,
            StoreError::NotSaved(_) | StoreError::NotRemoved(_) => Exit::BenchFailed,
        }
    }
}

impl BaselineStore {
    /// The store of the workspace that `args` mean, on this machine.
    ///
    /// # Errors
    /// When cargo finds no workspace, or the workspace's settings make no sense.
    pub fn open(args: &StoreArgs) -> Result<BaselineStore, StoreError> {
        BaselineStore::of_workspace(&workspace(args)?, args.baselines.as_deref())
    }

    /// The store of a workspace: `directory` if given, else what the workspace's manifest says,
    /// else `baselines/` in its root.
    ///
    /// # Errors
    /// When the workspace's setting makes no sense.
    pub fn of_workspace(
        metadata: &Metadata,
        directory: Option<&Path>,
    ) -> Result<BaselineStore, StoreError> {
        let root = metadata.workspace_root.as_std_path();
        let directory = match directory {
            Some(directory) => directory.to_owned(),
            None => match &metadata.workspace_metadata["topdown"]["baselines"] {
                serde_json::Value::Null => root.join("baselines"),
                serde_json::Value::String(directory) => root.join(directory),
                other => {
                    return Err(StoreError::Setting {
                        manifest: root.join("Cargo.toml"),
                        found: other.to_string(),
                    });
                }
            },
        };
        Ok(BaselineStore {
            directory,
            newest: metadata.target_directory.as_std_path().join(NEWEST),
            machine: Machine::of_this_machine(),
        })
    }

    /// Where the baselines are kept.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Where the newest run is kept.
    pub fn newest_directory(&self) -> &Path {
        &self.newest
    }

    /// The newest run.
    ///
    /// # Errors
    /// When there is none, or it cannot be read.
    pub fn newest(&self) -> Result<Run, StoreError> {
        if !is_run(&self.newest) {
            let directory = self.newest.clone();
            return Err(StoreError::NoNewestRun { directory });
        }
        run_file::read_run(&self.newest).map_err(StoreError::Unreadable)
    }

    /// Where the run is that `argument` means: a baseline of this machine, else a run file or a
    /// directory that holds one. A name comes first, so that a directory that happens to be called
    /// `main` never takes the place of the baseline; `./main` is always the directory.
    ///
    /// # Errors
    /// When it is neither, with what there is instead.
    pub fn resolve(&self, argument: &str) -> Result<PathBuf, StoreError> {
        let named = argument.parse::<BaselineName>();
        let found = match &named {
            Ok(name) => self.find(name),
            Err(reason) => Err(StoreError::NeitherFileNorName {
                argument: argument.to_owned(),
                reason: reason.clone(),
            }),
        };
        match found {
            Ok(stored) => Ok(stored.directory),
            Err(_) if is_run(Path::new(argument)) => Ok(argument.into()),
            Err(error) => Err(error),
        }
    }

    /// The baseline `name` of this machine.
    ///
    /// # Errors
    /// When there is none, with what there is instead.
    pub fn find(&self, name: &BaselineName) -> Result<StoredBaseline, StoreError> {
        let key = self.machine.key();
        let directory = self.directory.join(name.as_path()).join(&key);
        if is_run(&directory) {
            return Ok(StoredBaseline {
                name: name.clone(),
                machine_key: key,
                directory,
            });
        }
        let all = self.list()?;
        let keys: Vec<String> = all
            .iter()
            .filter(|stored| stored.name == *name)
            .map(|stored| stored.machine_key.clone())
            .collect();
        if keys.is_empty() {
            return Err(self.no_such(name, all));
        }
        Err(StoreError::OtherMachines {
            name: name.clone(),
            machine: Box::new(self.machine.clone()),
            key,
            keys,
        })
    }

    /// Every baseline of every machine, by name and key. What is no run is passed over.
    ///
    /// # Errors
    /// When a directory cannot be read. A store that does not exist yet is empty.
    pub fn list(&self) -> Result<Vec<StoredBaseline>, StoreError> {
        let mut found = Vec::new();
        list_below(&self.directory, &mut Vec::new(), &mut found).map_err(|error| {
            StoreError::List {
                directory: self.directory.clone(),
                error,
            }
        })?;
        found.sort_by(|a, b| (&a.name, &a.machine_key).cmp(&(&b.name, &b.machine_key)));
        Ok(found)
    }

    /// Keeps a copy of the run at `from` as baseline `name` of the machine that it was taken on.
    ///
    /// # Errors
    /// When the run cannot be read, or not be written. The baseline that was there before stays.
    pub fn save(&self, name: &BaselineName, from: &Path) -> Result<StoredBaseline, StoreError> {
        let run = run_file::read_run(from).map_err(StoreError::Unreadable)?;
        let machine_key = run.machine.key();
        let directory = self.directory.join(name.as_path()).join(&machine_key);
        run_file::copy_run(from, &directory).map_err(StoreError::NotSaved)?;
        Ok(StoredBaseline {
            name: name.clone(),
            machine_key,
            directory,
        })
    }

    /// The runs of `name` that [`remove`](BaselineStore::remove) is to be called for: that of the
    /// machine with this key, or of every machine.
    ///
    /// # Errors
    /// When there is none.
    pub fn of_name(
        &self,
        name: &BaselineName,
        machine_key: Option<&str>,
    ) -> Result<Vec<StoredBaseline>, StoreError> {
        let all = self.list()?;
        let of_name: Vec<StoredBaseline> = all
            .iter()
            .filter(|stored| stored.name == *name)
            .cloned()
            .collect();
        if of_name.is_empty() {
            return Err(self.no_such(name, all));
        }
        let Some(key) = machine_key else {
            return Ok(of_name);
        };
        match of_name.iter().find(|stored| stored.machine_key == key) {
            Some(stored) => Ok(vec![stored.clone()]),
            None => Err(StoreError::NoSuchMachine {
                name: name.clone(),
                key: key.to_owned(),
                keys: of_name.into_iter().map(|s| s.machine_key).collect(),
            }),
        }
    }

    /// Removes a baseline, and the directories that are empty without it.
    ///
    /// # Errors
    /// When it cannot be removed.
    pub fn remove(&self, stored: &StoredBaseline) -> Result<(), StoreError> {
        run_file::remove_run(&stored.directory).map_err(StoreError::NotRemoved)?;
        stored
            .directory
            .ancestors()
            .skip(1)
            .take_while(|directory| *directory != self.directory)
            // Fails at the first one that is not empty.
            .all(|directory| fs::remove_dir(directory).is_ok());
        Ok(())
    }

    fn no_such(&self, name: &BaselineName, all: Vec<StoredBaseline>) -> StoreError {
        let mut names: Vec<BaselineName> = all.into_iter().map(|stored| stored.name).collect();
        names.dedup();
        StoreError::NoSuchBaseline {
            name: name.clone(),
            names,
            directory: self.directory.clone(),
        }
    }
}

/// What cargo knows about the workspace that `args` mean.
///
/// # Errors
/// When there is none.
pub fn workspace(args: &StoreArgs) -> Result<Metadata, StoreError> {
    let mut command = MetadataCommand::new();
    command.no_deps();
    if let Some(manifest) = &args.manifest_path {
        command.manifest_path(manifest);
    }
    command
        .exec()
        .map_err(|error| StoreError::Workspace(Box::new(error)))
}

/// Where the run is that `argument` means; as [`BaselineStore::resolve`], but a file can also be
/// read outside of any workspace.
///
/// # Errors
/// As [`BaselineStore::open`] and [`BaselineStore::resolve`].
pub fn resolve_run(args: &StoreArgs, argument: &str) -> Result<PathBuf, StoreError> {
    match BaselineStore::open(args) {
        Ok(store) => store.resolve(argument),
        Err(StoreError::Workspace(_)) if is_run(Path::new(argument)) => Ok(argument.into()),
        Err(error) => Err(error),
    }
}

/// `words` lead from the store's directory to `directory`.
fn list_below(
    directory: &Path,
    words: &mut Vec<String>,
    found: &mut Vec<StoredBaseline>,
) -> io::Result<()> {
    let entries = match fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    for entry in entries {
        let entry = entry?;
        // Links are not followed: a store that names itself would be listed for ever.
        if !entry.file_type()?.is_dir() {
            continue;
        }
        let Ok(word) = entry.file_name().into_string() else {
            continue;
        };
        let path = entry.path();
        if path.join(RUN_FILE_NAME).is_file()
            && let Ok(name) = words.join("/").parse()
        {
            found.push(StoredBaseline {
                name,
                machine_key: word.clone(),
                directory: path.clone(),
            });
        }
        words.push(word);
        list_below(&path, words, found)?;
        words.pop();
    }
    Ok(())
}

/// Whether `path` is a file or a directory with a run file. What is in it, reading it will tell.
fn is_run(path: &Path) -> bool {
    path.is_file() || path.join(RUN_FILE_NAME).is_file()
}

#[cfg(test)]
mod tests {
    use super::*;
    use tempfile::TempDir;

    /// A run of another machine than any that tests run on.
    const RUN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/data/run-v1");
    const RUN_KEY: &str = "x86_64-GenuineIntel-06-8f-08-kvm-smt";

    fn store() -> (TempDir, BaselineStore) {
        let root = tempfile::tempdir().unwrap();
        let store = BaselineStore {
            directory: root.path().join("baselines"),
            newest: root.path().join("target").join(NEWEST),
            machine: run_file::read_run(Path::new(RUN)).unwrap().machine,
        };
        (root, store)
    }

    fn name(name: &str) -> BaselineName {
        name.parse().unwrap()
    }

    fn elsewhere(store: BaselineStore) -> BaselineStore {
        BaselineStore {
            machine: Machine {
                architecture: "riscv64".to_owned(),
                ..Machine::default()
            },
            ..store
        }
    }

    #[test]
    fn a_baseline_is_kept_by_name_and_machine_byte_for_byte() {
        let (_root, store) = store();
        let saved = store.save(&name("feature/x"), Path::new(RUN)).unwrap();
        assert_eq!(saved.machine_key, RUN_KEY);
        assert_eq!(store.find(&name("feature/x")).unwrap(), saved);
        assert_eq!(store.resolve("feature/x").unwrap(), saved.directory);
        for entry in fs::read_dir(&saved.directory).unwrap() {
            let copy = entry.unwrap().path();
            let original = Path::new(RUN).join(copy.file_name().unwrap());
            assert_eq!(fs::read(copy).unwrap(), fs::read(original).unwrap());
        }
        assert_eq!(fs::read_dir(&saved.directory).unwrap().count(), 2);
    }

    #[test]
    fn names_may_be_parts_of_other_names() {
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
    fn the_last_baseline_takes_its_directories_with_it_but_not_the_store() {
        let (_root, store) = store();
        let saved = store.save(&name("a/b"), Path::new(RUN)).unwrap();
        store.remove(&saved).unwrap();
        assert!(store.directory.is_dir());
        assert_eq!(fs::read_dir(&store.directory).unwrap().count(), 0);
    }

    #[test]
    fn a_baseline_of_another_machine_is_named_and_not_used() {
        let (_root, store) = store();
        store.save(&name("main"), Path::new(RUN)).unwrap();
        let store = elsewhere(store);
        let error = store.resolve("main").unwrap_err();
        assert!(matches!(&error, StoreError::OtherMachines { .. }));
        assert_eq!(error.exit(), Exit::NoComparison);
        assert_eq!(
            error.to_string(),
            "baseline `main` has no run of this machine, unknown riscv64 CPU (riscv64-unknown); \
             it has runs of\n  x86_64-GenuineIntel-06-8f-08-kvm-smt\n\
             slots of different machines cannot be compared; to take one here: \
             `cargo topdown bench --save main`"
        );
        let error = store.of_name(&name("main"), Some("z80")).unwrap_err();
        assert!(matches!(error, StoreError::NoSuchMachine { .. }));
        assert_eq!(store.of_name(&name("main"), None).unwrap().len(), 1);
    }

    #[test]
    fn a_missing_baseline_is_answered_with_those_that_exist() {
        let (_root, store) = store();
        let error = store.resolve("mian").unwrap_err();
        assert_eq!(error.exit(), Exit::NoComparison);
        assert!(error.to_string().contains("holds none"), "{error}");
        store.save(&name("main"), Path::new(RUN)).unwrap();
        let error = store.resolve("mian").unwrap_err().to_string();
        assert!(error.contains("`mian`; there are `main`"), "{error}");
        let error = store.resolve("../mian").unwrap_err();
        assert!(matches!(error, StoreError::NeitherFileNorName { .. }));
        assert_eq!(error.exit(), Exit::Usage);
    }

    #[test]
    fn a_run_file_or_its_directory_is_a_run_too() {
        let (_root, store) = store();
        assert_eq!(store.resolve(RUN).unwrap(), Path::new(RUN));
        let file = format!("{RUN}/run.json");
        assert_eq!(store.resolve(&file).unwrap(), Path::new(&file));
    }

    #[test]
    fn the_newest_run_is_asked_for_by_no_name() {
        let (_root, store) = store();
        let error = store.newest().unwrap_err();
        assert!(matches!(error, StoreError::NoNewestRun { .. }));
        assert_eq!(error.exit(), Exit::NoComparison);
        run_file::copy_run(Path::new(RUN), store.newest_directory()).unwrap();
        assert_eq!(store.newest().unwrap().machine.key(), RUN_KEY);
    }

    #[test]
    fn what_is_no_run_is_not_listed() {
        let (_root, store) = store();
        let saved = store.save(&name("main"), Path::new(RUN)).unwrap();
        fs::write(store.directory.join("README.md"), "how they were taken").unwrap();
        fs::create_dir_all(store.directory.join("empty/directory")).unwrap();
        fs::write(saved.directory.join("run.json.77.tmp"), "{\"schema_").unwrap();
        assert_eq!(store.list().unwrap(), [saved]);
    }

    #[test]
    fn a_broken_run_is_not_saved_and_harms_no_baseline() {
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
    fn a_store_that_cannot_be_written_or_read_is_an_error() {
        let (root, store) = store();
        // Files where directories are needed: works for root too, whom permissions do not stop.
        fs::write(&store.directory, "").unwrap();
        let error = store.save(&name("main"), Path::new(RUN)).unwrap_err();
        assert!(matches!(error, StoreError::NotSaved(_)));
        assert_eq!(error.exit(), Exit::BenchFailed);
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

    #[test]
    fn the_workspace_says_where_baselines_are() {
        let root = tempfile::tempdir().unwrap();
        let manifest = root.path().join("Cargo.toml");
        let open = |metadata: &str, baselines: Option<&str>| {
            fs::write(&manifest, format!("[workspace]\n{metadata}\n")).unwrap();
            BaselineStore::open(&StoreArgs {
                baselines: baselines.map(PathBuf::from),
                manifest_path: Some(manifest.clone()),
            })
        };
        let root = root.path().canonicalize().unwrap();
        let default = open("", None).unwrap();
        assert_eq!(default.directory, root.join("baselines"));
        assert!(default.newest.ends_with("topdown/newest"));
        let setting = "[workspace.metadata.topdown]\nbaselines = \"perf/runs\"";
        assert_eq!(
            open(setting, None).unwrap().directory,
            root.join("perf/runs")
        );
        let flag = open(setting, Some("/srv/runs")).unwrap();
        assert_eq!(flag.directory, Path::new("/srv/runs"));
        let error = open("[workspace.metadata.topdown]\nbaselines = 7", None).unwrap_err();
        assert!(matches!(error, StoreError::Setting { .. }), "{error}");
        assert_eq!(error.exit(), Exit::Usage);
        fs::write(&manifest, "not a manifest").unwrap();
        let args = StoreArgs {
            baselines: None,
            manifest_path: Some(manifest.clone()),
        };
        let error = BaselineStore::open(&args).unwrap_err();
        assert!(matches!(error, StoreError::Workspace(_)), "{error}");
        assert_eq!(resolve_run(&args, RUN).unwrap(), Path::new(RUN));
        assert!(resolve_run(&args, "main").is_err());
    }
}
