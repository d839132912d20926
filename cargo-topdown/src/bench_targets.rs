//! Finds bench executables, and what each needs to run as `cargo bench` would run it.
//!
//! cargo builds them and names them in its messages. We do not let it run them: it would pass
//! criterion's arguments to every libtest harness too, which rejects them.

use std::collections::{BTreeMap, HashMap};
use std::ffi::OsString;
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{env, fs, io};

use cargo_metadata::{
    Artifact, BuildScript, Message, Metadata, MetadataCommand, Package, PackageId, TargetKind,
};
use criterion_topdown::run_file::BenchmarkId;
use memchr::memmem;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::config::measuring::{Settings, WorkspaceSettings};
use crate::interrupt;
use crate::terminal::print_text;

/// The runner that criterion looks for. Its name is in every executable with criterion.
pub const RUNNER_NAME: &[u8] = b"cargo-criterion";

/// The variable in which the dynamic linker looks for directories; on macOS, the one cargo uses.
const LIBRARY_PATH_VARIABLE: &str = if cfg!(windows) {
    "PATH"
} else if cfg!(target_os = "macos") {
    "DYLD_FALLBACK_LIBRARY_PATH"
} else {
    "LD_LIBRARY_PATH"
};

/// An executable bench target.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct BenchTarget {
    /// The package's name.
    pub package: String,
    /// The target's name, unique within the package.
    pub name: String,
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
}

impl BenchTarget {
    /// Returns whether the benchmark is among those to launch of this target.
    pub fn has(&self, id: &BenchmarkId) -> bool {
        let wanted = |names: &Vec<String>| names.contains(&id.name);
        (&id.package, &id.target) == (&self.package, &self.name)
            && self.benchmarks.as_ref().is_none_or(wanted)
    }

    /// A target of criterion without an executable, for tests.
    #[cfg(test)]
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

/// Why there are no bench executables.
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
        error: io::Error,
    },
    /// cargo failed, and has already said why.
    #[error("the benches could not be built")]
    Failed,
    /// The user interrupted it.
    #[error("interrupted")]
    Interrupted,
    /// An executable named by cargo cannot be read.
    #[error("could not read {}: {error}", path.display())]
    Executable { path: PathBuf, error: io::Error },
}

/// cargo, its workspace, and the command line's options for both.
pub struct Cargo {
    /// `$CARGO`.
    pub program: PathBuf,
    /// The flags for it.
    pub flags: CargoFlags,
    /// `--manifest-path`.
    pub manifest_path: Option<PathBuf>,
    /// Where to start cargo, if not here: it searches from there for configuration files.
    pub directory: Option<PathBuf>,
}

/// What the command line says to cargo.
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
        Ok(command.exec()?)
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

    /// Builds the selected benches and returns their executables, sorted by package and name.
    ///
    /// # Errors
    /// Returns an error if cargo fails, or an executable cannot be read.
    pub fn bench_targets(
        &self,
        metadata: &Metadata,
        settings: &WorkspaceSettings,
    ) -> Result<Vec<BenchTarget>, BuildError> {
        let built = self.build(&self.launch_features(metadata))?;
        let library_directories = rustc_library_directories();
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
                has_criterion: has_criterion(executable.as_std_path())?,
            });
        }
        targets.sort_by(|a, b| (&a.package, &a.name).cmp(&(&b.package, &b.name)));
        Ok(targets)
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

/// The artifacts reported by a build.
#[derive(Default)]
struct Built {
    benches: Vec<Artifact>,
    /// Each package's programs, which its benches may start.
    programs: HashMap<PackageId, Vec<(String, PathBuf)>>,
    scripts: Vec<BuildScript>,
}

impl Built {
    fn add(&mut self, artifact: Artifact) {
        let kind = &artifact.target.kind;
        if artifact.profile.test {
            // The library and the programs are also built as bench targets with the libtest
            // harness, unless their manifest says `bench = false`.
            if kind.contains(&TargetKind::Bench) {
                self.benches.push(artifact);
            }
        } else if kind.contains(&TargetKind::Bin)
            && let Some(executable) = artifact.executable
        {
            self.programs
                .entry(artifact.package_id)
                .or_default()
                .push((artifact.target.name, executable.into_std_path_buf()));
        }
    }

    /// Returns what `cargo bench` sets for the benches of `package`, as observed with cargo 1.95.
    fn environment(
        &self,
        package: &Package,
        executable: &Path,
        library_directories: &[PathBuf],
    ) -> BTreeMap<String, OsString> {
        let version = &package.version;
        let text = |value: &Option<String>| value.clone().unwrap_or_default();
        let path = |value: &Option<cargo_metadata::camino::Utf8PathBuf>| {
            value.as_ref().map(ToString::to_string).unwrap_or_default()
        };
        let mut environment: BTreeMap<String, OsString> = [
            ("DIR", package_root(package).display().to_string()),
            ("PATH", package.manifest_path.to_string()),
        ]
        .into_iter()
        .map(|(name, value)| (format!("CARGO_MANIFEST_{name}"), value.into()))
        .collect();
        for (name, value) in [
            ("NAME", package.name.to_string()),
            ("VERSION", version.to_string()),
            ("VERSION_MAJOR", version.major.to_string()),
            ("VERSION_MINOR", version.minor.to_string()),
            ("VERSION_PATCH", version.patch.to_string()),
            ("VERSION_PRE", version.pre.to_string()),
            ("AUTHORS", package.authors.join(":")),
            ("DESCRIPTION", text(&package.description)),
            ("HOMEPAGE", text(&package.homepage)),
            ("REPOSITORY", text(&package.repository)),
            ("LICENSE", text(&package.license)),
            ("LICENSE_FILE", path(&package.license_file)),
            ("README", path(&package.readme)),
            (
                "RUST_VERSION",
                package
                    .rust_version
                    .as_ref()
                    .map(ToString::to_string)
                    .unwrap_or_default(),
            ),
        ] {
            environment.insert(format!("CARGO_PKG_{name}"), value.into());
        }
        for (name, program) in self.programs.get(&package.id).into_iter().flatten() {
            environment.insert(format!("CARGO_BIN_EXE_{name}"), program.into());
        }
        for script in self.scripts.iter().filter(|s| s.package_id == package.id) {
            environment.insert("OUT_DIR".to_owned(), script.out_dir.as_os_str().into());
            for (name, value) in &script.env {
                environment.insert(name.clone(), value.into());
            }
        }
        environment.insert(
            LIBRARY_PATH_VARIABLE.to_owned(),
            self.library_path(executable, library_directories),
        );
        environment
    }

    /// Returns where to find dynamic libraries: the directories of build scripts, of this build and
    /// of the toolchain, then those set by the user.
    fn library_path(&self, executable: &Path, library_directories: &[PathBuf]) -> OsString {
        let profile_directory = executable.parent().and_then(Path::parent);
        let of_scripts = self.scripts.iter().flat_map(|script| &script.linked_paths);
        let mut directories: Vec<PathBuf> = of_scripts
            // `native=/a/directory`, or without the kind.
            .map(|path| match path.as_str().split_once('=') {
                Some((_kind, directory)) => PathBuf::from(directory),
                None => PathBuf::from(path),
            })
            // Like cargo: the system's libraries are found anyway.
            .filter(|path| profile_directory.is_some_and(|directory| path.starts_with(directory)))
            .collect();
        directories.extend(profile_directory.map(Path::to_owned));
        directories.extend(executable.parent().map(Path::to_owned));
        directories.extend(library_directories.iter().cloned());
        if let Some(existing) = env::var_os(LIBRARY_PATH_VARIABLE) {
            directories.extend(env::split_paths(&existing));
        }
        // Fails if a directory's name contains the separator, which the variable cannot express.
        env::join_paths(directories).unwrap_or_default()
    }
}

fn package_root(package: &Package) -> PathBuf {
    let manifest = package.manifest_path.as_std_path();
    manifest.parent().unwrap_or(manifest).to_owned()
}

/// Returns where the standard library is, for benches that link it dynamically. Since few do, the
/// result is empty if `rustc` fails.
fn rustc_library_directories() -> Vec<PathBuf> {
    let rustc = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = Command::new(rustc)
        .args(["--print", "target-libdir", "--print", "sysroot"])
        .output();
    let Ok(output) = output else {
        return Vec::new();
    };
    let text = String::from_utf8_lossy(&output.stdout);
    let mut lines = text.lines().map(PathBuf::from);
    lines
        .next()
        .into_iter()
        .chain(lines.next().map(|sysroot| sysroot.join("lib")))
        .collect()
}

/// Returns whether criterion is linked into `executable`.
///
/// cargo's metadata does not distinguish `harness = false` from the libtest harness, nor criterion
/// from another harness. Running the executable to find out could pass arguments that it rejects,
/// or take minutes. But every executable with criterion contains the runner's name.
fn has_criterion(executable: &Path) -> Result<bool, BuildError> {
    let content = fs::read(executable).map_err(|error| BuildError::Executable {
        path: executable.to_owned(),
        error,
    })?;
    Ok(memmem::find(&content, RUNNER_NAME).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cargo_that_cannot_be_started_is_named() {
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

    #[test]
    fn an_executable_that_cannot_be_read_is_named() {
        let error = has_criterion(Path::new("/nowhere/bench")).unwrap_err();
        assert!(error.to_string().contains("/nowhere/bench"), "{error}");
    }
}
