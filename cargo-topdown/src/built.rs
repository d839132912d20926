//! Artifacts of a build, and the environment in which `cargo bench` would run its benches.

use std::collections::{BTreeMap, HashMap};
use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use cargo_metadata::{Artifact, BuildScript, Package, PackageId, TargetKind};

use crate::waits;

/// The variable in which the dynamic linker looks for directories; on macOS, the one cargo uses.
const LIBRARY_PATH_VARIABLE: &str = if cfg!(windows) {
    "PATH"
} else if cfg!(target_os = "macos") {
    "DYLD_FALLBACK_LIBRARY_PATH"
} else {
    "LD_LIBRARY_PATH"
};

/// The artifacts reported by a build.
#[derive(Default)]
pub struct Built {
    pub benches: Vec<Artifact>,
    /// Each package's programs, which its benches may start.
    programs: HashMap<PackageId, Vec<(String, PathBuf)>>,
    pub scripts: Vec<BuildScript>,
}

impl Built {
    /// Adds what a message of cargo reports.
    pub fn add(&mut self, artifact: Artifact) {
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
