//! Has bench targets built and finds their executables.
//!
//! cargo builds them and names them in its messages. It does not run them: it would pass
//! criterion's arguments to every libtest harness, too, which rejects them.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{env, io};

use cargo_metadata::{ArtifactDebuginfo, Message, Metadata, MetadataCommand};
use serde::{Deserialize, Serialize};
use thiserror::Error;
use topdown_run::run_file::BenchmarkId;

use crate::launching::forks::Forks;
use crate::settings::{Settings, WorkspaceSettings};
use crate::targets::built::{Built, package_root, rustc_library_directories};
use crate::targets::executable::{Content, Unreadable};
use topdown_system::file_identity::FileIdentity;
use topdown_system::interrupt;
use topdown_system::waits;
use topdown_terminal::terminal::print_text;

/// An executable bench target.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct BenchTarget {
    /// The package's name.
    pub package: String,
    /// The target's name, unique within the package.
    pub name: String,
    /// The file that cargo built.
    pub executable: PathBuf,
    /// The working directory: that of the package's manifest.
    pub package_root: PathBuf,
    /// The environment variables that cargo sets for the package's benches, except `CARGO`.
    pub environment: BTreeMap<String, OsString>,
    /// How to measure it.
    pub settings: Settings,
    /// The benchmarks to run, by criterion's full ids; `None` if the user's filter decides.
    pub benchmarks: Option<Vec<String>>,
    /// Patterns of environment variables that it inherits, in addition to those all benches
    /// inherit.
    #[serde(default)]
    pub keep_env: Vec<String>,
    /// Whether criterion is linked in.
    pub has_criterion: bool,
    /// Whether it was built with debug information.
    #[serde(default)]
    pub has_debug_information: bool,
    /// cargo's `target.….runner`: the words through which it is started.
    #[serde(default)]
    pub runner: Vec<String>,
    /// Whether it forks a process for each benchmark, and how.
    #[serde(skip)]
    pub forks: Option<Forks>,
    /// The executable when it was built; `None` in tests that build none.
    pub built: Option<FileIdentity>,
}

impl BenchTarget {
    /// Returns whether the executable is still the one that was built. Another build into the same
    /// directory may have replaced it.
    pub fn is_as_built(&self) -> bool {
        (self.built.as_ref()).is_none_or(|built| built.is_at(&self.executable))
    }

    /// Returns whether the benchmark is among those to launch of this target.
    pub fn has(&self, id: &BenchmarkId) -> bool {
        let wanted = |names: &Vec<String>| names.contains(&id.name);
        (&id.package, &id.target) == (&self.package, &self.name)
            && self.benchmarks.as_ref().is_none_or(wanted)
    }

    /// Creates a target of criterion without an executable, such as tests need.
    pub fn named(package: &str, name: &str) -> BenchTarget {
        BenchTarget {
            package: package.to_owned(),
            name: name.to_owned(),
            executable: PathBuf::new(),
            package_root: PathBuf::new(),
            environment: BTreeMap::new(),
            settings: Settings::default(),
            benchmarks: None,
            keep_env: Vec::new(),
            has_criterion: true,
            has_debug_information: false,
            runner: Vec::new(),
            forks: None,
            built: None,
        }
    }

    /// Returns the id of this target's benchmark whose criterion id is `name`.
    pub fn id_of(&self, name: String) -> BenchmarkId {
        BenchmarkId {
            package: self.package.clone(),
            target: self.name.clone(),
            name,
        }
    }
}

impl std::fmt::Display for BenchTarget {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}::{}", self.package, self.name)
    }
}

/// The result of a build of the benches.
pub struct BuiltBenches {
    /// Sorted by package and name.
    pub targets: Vec<BenchTarget>,
    /// The files of the workspace that were read.
    pub read: BTreeSet<PathBuf>,
}

/// The reason why there are no bench executables.
#[derive(Debug, Error)]
pub enum BuildError {
    /// `cargo metadata` failed.
    #[error("{0}")]
    Metadata(#[from] cargo_metadata::Error),
    /// cargo could not be started, or its messages could not be read.
    #[error("could not run `{cargo} bench --no-run`: {error}")]
    Cargo {
        /// `$CARGO`.
        cargo: String,
        /// What the system says.
        error: io::Error,
    },
    /// cargo failed, and has already said why.
    #[error("the benches could not be built")]
    Failed,
    /// It failed beside packages without benches. These have some.
    #[error(
        "{}; if a package without benches is in the way, leave it out: `--package {}`",
        BuildError::Failed,
        .0.join(" --package ")
    )]
    FailedBeside(Vec<String>),
    /// The user interrupted it.
    #[error("interrupted")]
    Interrupted,
    /// cargo's runner for the benches is unknown.
    #[error("could not determine cargo's `target.….runner` for the benches: {0}")]
    Runner(String),
    /// cargo cannot resolve the features that decide whether benches have the model.
    #[error("could not determine the features that the benches can have: {0}")]
    Features(String),
    /// An executable named by cargo cannot be read.
    #[error(transparent)]
    Executable(#[from] Unreadable),
}

impl BuildError {
    /// Returns whether the sources may be the reason.
    pub fn is_of_sources(&self) -> bool {
        matches!(self, BuildError::Failed | BuildError::FailedBeside(_))
    }
}

/// cargo, its workspace, and the command line's options for both.
pub struct Cargo {
    /// `$CARGO`.
    pub program: PathBuf,
    /// The flags for it.
    pub flags: CargoFlags,
    /// `--manifest-path`.
    pub manifest_path: Option<PathBuf>,
    /// The directory in which cargo starts, and from which it searches for configuration files.
    pub directory: Option<PathBuf>,
}

/// The command line's words for cargo.
#[derive(Clone, Debug, Default)]
pub struct CargoFlags {
    /// The words that both `cargo metadata` and `cargo bench` take.
    pub common: Vec<String>,
    /// Further words for `cargo bench`.
    pub build: Vec<String>,
    /// Those of `build` that select packages and features.
    pub selection: Vec<String>,
    /// `--target-dir`.
    pub target_dir: Option<PathBuf>,
    /// `--profile`, which is among `build`, too.
    pub profile: Option<String>,
    /// `--target`, which is among `build`, too.
    pub target: Option<String>,
}

impl CargoFlags {
    /// Builds in `directory` alone, whatever the configuration and the environment say.
    /// `has_build_directory` is whether this cargo knows `build.build-dir`, which may be one
    /// directory for all workspaces.
    #[must_use]
    pub fn building_in(&self, directory: &Path, has_build_directory: bool) -> CargoFlags {
        let mut flags = self.clone();
        flags.target_dir = Some(directory.to_owned());
        if has_build_directory {
            let directory = toml_edit::Value::from(directory.display().to_string());
            // The last of these words decides.
            let setting = format!("build.build-dir={directory}");
            flags.common.extend(["--config".to_owned(), setting]);
        }
        flags
    }

    /// Lets cargo add to the lock file.
    pub fn unlock(&mut self) {
        self.common.retain(|word| word != "--locked");
        for word in self.common.iter_mut().filter(|word| *word == "--frozen") {
            "--offline".clone_into(word);
        }
    }
}

/// Returns `$CARGO`, which cargo sets for its subcommands: the cargo that the user called.
pub fn cargo_program() -> PathBuf {
    env::var_os("CARGO").map_or_else(|| PathBuf::from("cargo"), PathBuf::from)
}

impl Cargo {
    /// The one that runs this test, without a network, in the workspace of `manifest`.
    #[cfg(test)]
    pub fn offline(manifest: PathBuf, selection: &[&str]) -> Cargo {
        Cargo {
            program: cargo_program(),
            flags: CargoFlags {
                common: vec!["--offline".to_owned()],
                selection: selection.iter().map(ToString::to_string).collect(),
                ..CargoFlags::default()
            },
            manifest_path: Some(manifest),
            directory: None,
        }
    }

    /// Reads the workspace.
    ///
    /// # Errors
    /// Returns an error if there is none, or cargo cannot parse it.
    pub fn metadata(&self) -> Result<Metadata, BuildError> {
        let mut command = MetadataCommand::new();
        command.cargo_path(&self.program).no_deps();
        if let Some(path) = &self.manifest_path {
            command.manifest_path(path);
        }
        if let Some(directory) = &self.directory {
            command.current_dir(directory);
        }
        command.other_options(self.flags.common.clone());
        Ok(waits::metadata(&command)?)
    }

    /// Returns `cargo tree` of the selected packages and features, without dependencies.
    pub fn tree(&self) -> Command {
        let mut command = Command::new(&self.program);
        if let Some(directory) = &self.directory {
            command.current_dir(directory);
        }
        command.args(["tree", "--quiet", "--depth", "0"]);
        if let Some(path) = &self.manifest_path {
            command.arg("--manifest-path").arg(path);
        }
        command
            .args(&self.flags.common)
            .args(&self.flags.selection)
            .stdin(Stdio::null());
        command
    }

    /// Builds the selected benches.
    ///
    /// # Errors
    /// Returns an error if cargo fails, or an executable cannot be read.
    pub fn bench_targets(
        &self,
        metadata: &Metadata,
        settings: &WorkspaceSettings,
    ) -> Result<BuiltBenches, BuildError> {
        let built = self.build(&self.launch_features(metadata)?);
        let built = built.map_err(|error| match error {
            BuildError::Failed => match self.selected_with_and_without_benches(metadata) {
                (with, without) if with.is_empty() || without.is_empty() => error,
                (with, _) => BuildError::FailedBeside(with),
            },
            other => other,
        })?;
        let library_directories = rustc_library_directories();
        let runner = self.runner().map_err(BuildError::Runner)?;
        let mut targets = Vec::new();
        for artifact in &built.benches {
            // A package outside the workspace cannot be selected.
            let Some(package) = metadata
                .packages
                .iter()
                .find(|p| p.id == artifact.package_id)
            else {
                continue;
            };
            let Some(executable) = artifact.executable.as_ref() else {
                continue;
            };
            let content = Content::read(executable.as_std_path())?;
            targets.push(BenchTarget {
                package: package.name.to_string(),
                name: artifact.target.name.clone(),
                executable: executable.clone().into_std_path_buf(),
                package_root: package_root(package),
                environment: built.environment(
                    package,
                    executable.as_std_path(),
                    &library_directories,
                ),
                settings: settings.of_package(&package.id),
                benchmarks: None,
                keep_env: settings.keep_env_of(&package.id),
                has_criterion: content.has_criterion,
                // The precompiled standard library can have some of its own.
                has_debug_information: content.has_debug_information
                    && artifact.profile.debuginfo != ArtifactDebuginfo::None,
                runner: runner.clone(),
                forks: None,
                built: Some(content.identity),
            });
        }
        targets.sort_by(|a, b| (&a.package, &a.name).cmp(&(&b.package, &b.name)));
        let results = [
            Some(&metadata.target_directory),
            metadata.build_directory.as_ref(),
        ];
        let results = results.into_iter().flatten();
        let results: Vec<&Path> = results.map(|directory| directory.as_std_path()).collect();
        Ok(BuiltBenches {
            read: built.read_files(metadata.workspace_root.as_std_path(), &results),
            targets,
        })
    }

    /// Runs `cargo bench --no-run` with `more` flags than those of the command line.
    fn build(&self, more: &[String]) -> Result<Built, BuildError> {
        let error = |error| BuildError::Cargo {
            cargo: self.program.display().to_string(),
            error,
        };
        let mut command = Command::new(&self.program);
        if let Some(directory) = &self.directory {
            command.current_dir(directory);
        }
        let mut child = command
            .args([
                "bench",
                "--no-run",
                "--message-format=json-render-diagnostics",
            ])
            .args(self.build_flags())
            .args(more)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(error)?;
        // A signal to this program alone does not reach cargo, and one to cargo does not reach
        // compilers.
        let registered = interrupt::ends(child.id());
        let watch = waits::BUILD.watch(child.id());
        let stdout = child.stdout.take().expect("stdout was piped");
        let mut built = Built::default();
        for message in Message::parse_stream(BufReader::new(stdout)) {
            match message.map_err(error)? {
                Message::CompilerArtifact(artifact) => built.add(artifact),
                Message::BuildScriptExecuted(script) => built.scripts.push(script),
                // Output of compilers and build scripts, for people.
                Message::TextLine(line) => print_text(&format!("{line}\n")),
                _ => {}
            }
        }
        drop(registered);
        let status = child.wait().map_err(error)?;
        watch.end().map_err(error)?;
        if interrupt::requested() || interrupt::has_ended(status) {
            return Err(BuildError::Interrupted);
        }
        if status.success() {
            Ok(built)
        } else {
            Err(BuildError::Failed)
        }
    }

    fn build_flags(&self) -> Vec<OsString> {
        let flags = &self.flags;
        let paths = [
            ("--manifest-path", self.manifest_path.as_deref()),
            ("--target-dir", flags.target_dir.as_deref()),
        ];
        let paths = paths.into_iter().flat_map(|(flag, path)| {
            let words = path.map(|path| [OsString::from(flag), path.into()]);
            words.into_iter().flatten()
        });
        let common = flags.common.iter().map(OsString::from);
        common
            .chain(paths)
            .chain(flags.build.iter().map(OsString::from))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_cargo_is_named() {
        let cargo = Cargo {
            program: PathBuf::from("/nowhere/cargo"),
            flags: CargoFlags::default(),
            manifest_path: None,
            directory: None,
        };
        let error = cargo.build(&[]).err().map(|error| error.to_string());
        let message = error.expect("there is no such program");
        assert!(
            message.starts_with("could not run `/nowhere/cargo bench --no-run`: "),
            "{message}"
        );
    }
}
