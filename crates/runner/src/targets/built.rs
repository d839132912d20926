//! Artifacts of a build, and the environment in which `cargo bench` would run its benches.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use cargo_metadata::{Artifact, BuildScript, Package, PackageId, TargetKind};

use topdown_system::waits;

/// The variable in which the dynamic linker looks for directories; on macOS, the one cargo uses.
const LIBRARY_PATH_VARIABLE: &str = if cfg!(windows) {
    "PATH"
} else if cfg!(target_os = "macos") {
    "DYLD_FALLBACK_LIBRARY_PATH"
} else {
    "LD_LIBRARY_PATH"
};

/// How the ids of packages in local directories begin.
const LOCAL: &str = "path+file:";

/// The artifacts reported by a build.
#[derive(Default)]
pub struct Built {
    pub benches: Vec<Artifact>,
    /// Each package's programs, which its benches may start.
    programs: HashMap<PackageId, Vec<(String, PathBuf)>>,
    pub scripts: Vec<BuildScript>,
    /// Files that list what compilers have read for the workspace's own packages.
    dependency_lists: Vec<PathBuf>,
    /// The directory of each package of the workspace.
    roots: HashMap<PackageId, PathBuf>,
}

impl Built {
    /// Adds what a message of cargo reports.
    pub fn add(&mut self, artifact: Artifact) {
        if artifact.package_id.repr.starts_with(LOCAL) {
            let files = artifact.filenames.iter().chain(&artifact.executable);
            let files = files.map(|file| file.as_std_path());
            self.dependency_lists
                .extend(files.flat_map(dependency_lists));
            let root = artifact.manifest_path.parent();
            let root = root.map(|root| root.as_std_path().to_owned());
            self.roots
                .extend(root.map(|root| (artifact.package_id.clone(), root)));
        }
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

    /// Returns the files in `workspace_root` that compilers and build scripts report to have read,
    /// and the manifests of local packages, without those in `built`, the directories of build
    /// results.
    pub fn read_files(&self, workspace_root: &Path, built: &[&Path]) -> BTreeSet<PathBuf> {
        let lists = self.dependency_lists.iter();
        let texts = lists.filter_map(|list| fs::read_to_string(list).ok());
        let of_compilers = texts.flat_map(|text| {
            let files = files_in_list(&text).into_iter();
            files
                .map(|file| workspace_root.join(file))
                .collect::<Vec<_>>()
        });
        let of_scripts = self.scripts.iter().flat_map(|script| {
            let root = self.roots.get(&script.package_id);
            let output = script.out_dir.as_std_path().with_file_name("output");
            let text = root.and_then(|_| fs::read_to_string(output).ok());
            let files = text.as_deref().map_or(Vec::new(), files_in_output);
            let root = root.cloned().unwrap_or_default();
            files.into_iter().map(move |file| root.join(file))
        });
        // A path dependency may be ignored as a whole.
        let manifests = self.roots.values().map(|root| root.join("Cargo.toml"));
        of_compilers
            .chain(of_scripts)
            .chain(manifests)
            .filter(|file| file.is_file() && !built.iter().any(|built| file.starts_with(built)))
            .collect()
    }

    /// Returns what `cargo bench` sets for the benches of `package`, as observed with cargo 1.95.
    pub fn environment(
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

/// Returns where cargo may have put the dependency list of the artifact `file`.
fn dependency_lists(file: &Path) -> Vec<PathBuf> {
    let stem = file.file_stem().and_then(OsStr::to_str).unwrap_or_default();
    let without_prefix = stem.strip_prefix("lib");
    let stems = [Some(stem), without_prefix].into_iter().flatten();
    stems
        .map(|stem| file.with_file_name(format!("{stem}.d")))
        .collect()
}

/// Returns the files in a list that rustc wrote, in the form of a makefile.
fn files_in_list(text: &str) -> Vec<String> {
    let rules = text.lines().filter(|line| !line.starts_with('#'));
    let sources = rules.filter_map(|rule| rule.split_once(": "));
    sources
        .flat_map(|(_, files)| {
            let files = files.replace("\\ ", "\0");
            let files = files.split_whitespace().map(|file| file.replace('\0', " "));
            files.collect::<Vec<_>>()
        })
        .collect()
}

/// Returns the files that a build script told cargo to watch.
fn files_in_output(text: &str) -> Vec<String> {
    let reported = text.lines().filter_map(|line| {
        let line = line
            .strip_prefix("cargo::")
            .or_else(|| line.strip_prefix("cargo:"))?;
        line.strip_prefix("rerun-if-changed=")
    });
    reported.map(str::to_owned).collect()
}

pub fn package_root(package: &Package) -> PathBuf {
    let manifest = package.manifest_path.as_std_path();
    manifest.parent().unwrap_or(manifest).to_owned()
}

/// Returns where the standard library is, for benches that link it dynamically. Since few do, the
/// result is empty if `rustc` fails.
pub fn rustc_library_directories() -> Vec<PathBuf> {
    let rustc = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let mut command = Command::new(rustc);
    command.args(["--print", "target-libdir", "--print", "sysroot"]);
    let output = waits::TOOL.output(&mut command);
    let Some(output) = output.ok().filter(|output| output.status.success()) else {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_found_in_what_compilers_and_scripts_leave() {
        let list =
            "/t/deps/p-1.d: src/lib.rs src/a\\ b.rs /o/c.rs\n\nsrc/lib.rs:\n# env-dep:A=b: c\n";
        assert_eq!(files_in_list(list), ["src/lib.rs", "src/a b.rs", "/o/c.rs"]);
        let output =
            "cargo:rerun-if-changed=a.txt\ncargo::rerun-if-changed=b c\ncargo:rustc-cfg=x\n";
        assert_eq!(files_in_output(output), ["a.txt", "b c"]);
        let lists = dependency_lists(Path::new("/t/deps/libp-1.rlib"));
        assert_eq!(
            lists,
            [Path::new("/t/deps/libp-1.d"), Path::new("/t/deps/p-1.d")]
        );
    }
}
