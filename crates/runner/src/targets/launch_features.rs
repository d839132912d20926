//! Asks cargo for the library's feature `launches`, which is off in other builds.
//!
//! It brings the model and PMU samples, which `cargo bench`, `cargo test` and `cargo clippy` do not
//! need.

use cargo_metadata::{Dependency, Metadata};
use std::collections::BTreeSet;

use crate::targets::bench_targets::{BuildError, Cargo};
use topdown_system::waits;
use topdown_terminal::terminal::message;

/// The library's name.
pub const PACKAGE: &str = "criterion-topdown";

const FEATURE: &str = "launches";

/// cargo's messages if the selected packages do not use the library.
const NOT_SELECTED: [&str; 3] = [
    "does not contain this feature",
    "contains this feature",
    "contains these features",
];

impl Cargo {
    /// Returns the flags that add the feature to the selected packages' dependencies on the
    /// library; none where manifests have it.
    ///
    /// # Errors
    /// Returns an error if cargo cannot resolve the workspace without it either.
    pub fn launch_features(&self, metadata: &Metadata) -> Result<Vec<String>, BuildError> {
        let mut flags = Vec::new();
        for feature in features_of_library(metadata) {
            if self.accepts(&feature)? {
                flags.extend(["--features".to_owned(), feature]);
            }
        }
        Ok(flags)
    }

    /// Returns whether cargo accepts `feature` for the selected packages. It refuses if none of
    /// them has the dependency (a package in between may), if another package calls a different
    /// dependency by this name, or if the library is too old. Then cargo's message is printed:
    /// without the feature, benches on a machine without counters have time alone.
    fn accepts(&self, feature: &str) -> Result<bool, BuildError> {
        let Err(refusal) = self.resolve(&["--features", feature])? else {
            return Ok(true);
        };
        if let Err(failure) = self.resolve(&[])? {
            return Err(BuildError::Features(failure));
        }
        let pinned = blocking_packages(&refusal);
        if !pinned.is_empty() {
            message!(
                "warning: benches are built without the model: Cargo.lock pins packages that are \
                 too old for it; run `cargo update {}`",
                pinned.join(" ")
            );
        } else if !NOT_SELECTED.iter().any(|words| refusal.contains(words)) {
            message!("warning: benches are built without the model: {refusal}");
        }
        Ok(false)
    }

    /// Returns cargo's message if it cannot resolve the selected packages with `words`.
    fn resolve(&self, words: &[&str]) -> Result<Result<(), String>, BuildError> {
        let output = waits::RESOLVE.output(self.tree().args(words));
        let output = output.map_err(|error| BuildError::Features(error.to_string()))?;
        if output.status.success() {
            return Ok(Ok(()));
        }
        let said = String::from_utf8_lossy(&output.stderr);
        Ok(Err(said.trim().trim_start_matches("error: ").to_owned()))
    }
}

/// Returns the feature by each name that packages of the workspace have for the library; none for
/// those whose manifest has it.
pub fn features_of_library(metadata: &Metadata) -> BTreeSet<String> {
    let packages = metadata.workspace_packages().into_iter();
    packages
        .flat_map(|package| &package.dependencies)
        .filter(|dependency| dependency.name == PACKAGE)
        .filter(|dependency| !dependency.features.iter().any(|feature| feature == FEATURE))
        .map(feature_of)
        .collect()
}

fn feature_of(dependency: &Dependency) -> String {
    let name = dependency.rename.as_ref().unwrap_or(&dependency.name);
    // Without the question mark, cargo would add the dependency as well.
    let mark = if dependency.optional { "?" } else { "" };
    format!("{name}{mark}/{FEATURE}")
}

/// Start of cargo's name for a package that blocks the resolution, with its version in backticks.
const BLOCKING_PACKAGE: &str = "previously selected package `";

/// Returns the packages of registries that block the resolution by cargo's `message`, as
/// `name@version`.
pub fn blocking_packages(message: &str) -> Vec<String> {
    let packages = message.split(BLOCKING_PACKAGE).skip(1);
    let packages = packages.filter_map(|rest| rest.split_once('`'));
    let spec = |(package, _): (&str, &str)| {
        let (name, version) = package.split_once(" v")?;
        // Other sources stand behind the version, in parentheses.
        (!version.contains(' ')).then(|| format!("{name}@{version}"))
    };
    packages.filter_map(spec).collect()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::process::Command;

    use super::*;
    use crate::targets::bench_targets::cargo_program;

    /// cargo 1.95 on matchit 0.8.6, whose lock file is of 2022.
    const CONFLICT: &str = "\
error: failed to select a version for `libc`.
    ... required by package `criterion-topdown v0.1.0 (/clone)`
    ... which satisfies path dependency `criterion` of package `matchit v0.8.6 (/matchit)`
versions that meet the requirements `^0.2.155` are: 0.2.191, 0.2.190

all possible versions conflict with previously selected packages.

  previously selected package `libc v0.2.148`
    ... which satisfies dependency `libc = \"^0.2.145\"` (locked to 0.2.148) of package `tokio v1.32.0`

failed to select a version for `libc` which could resolve this conflict
";

    #[test]
    fn blocking_package_is_read_from_cargo_error() {
        assert_eq!(blocking_packages(CONFLICT), ["libc@0.2.148"]);
        assert!(blocking_packages("  previously selected package `a v1.0.0 (/a)`").is_empty());
        assert!(blocking_packages("error: no matching package named `b` found").is_empty());
    }

    const BY_CRITERIONS_NAME: [&str; 2] = ["--features", "criterion/launches"];

    /// A workspace of packages `benches`, with these lines in its manifest, `plain`, which does not
    /// depend on the library, and `between`, whose dependency `benches` can have.
    struct Workspace(tempfile::TempDir);

    impl Workspace {
        fn new(benches: &str) -> Workspace {
            let workspace = Workspace(tempfile::tempdir().unwrap());
            workspace.resolver("2");
            workspace.package("library", PACKAGE, "[features]\nlaunches = []");
            workspace.package("plain", "plain", "[features]\nown = []");
            let library = format!("[dependencies]\n{PACKAGE} = {{ path = \"../library\" }}");
            workspace.package("between", "between", &library);
            workspace.package("benches", "benches", benches);
            workspace
        }

        /// `benches` depends on the library by criterion's name, with `more`.
        fn of_library(table: &str, more: &str) -> Workspace {
            Workspace::new(&format!(
                "[features]\nown = []\n[{table}]\ncriterion = {{ package = \"{PACKAGE}\", \
                 path = \"../library\"{more} }}"
            ))
        }

        fn write(&self, path: &str, text: &str) {
            let path = self.0.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }

        fn resolver(&self, version: &str) {
            let members = "members = [\"benches\", \"plain\"]\nexclude = [\"between\"]";
            let text = format!("[workspace]\n{members}\nresolver = \"{version}\"");
            self.write("Cargo.toml", &text);
        }

        fn package(&self, directory: &str, name: &str, more: &str) {
            let head = format!("[package]\nname = \"{name}\"\nversion = \"0.1.0\"\n");
            self.write(&format!("{directory}/Cargo.toml"), &(head + more));
            self.write(&format!("{directory}/src/lib.rs"), "");
        }

        /// Returns the flags if the command line selects this, and that cargo accepts all of them.
        fn flags(&self, selection: &[&str]) -> Vec<String> {
            self.flags_at("Cargo.toml", selection)
        }

        fn flags_at(&self, manifest: &str, selection: &[&str]) -> Vec<String> {
            let cargo = Cargo::offline(self.0.path().join(manifest), selection);
            let flags = cargo.launch_features(&cargo.metadata().unwrap()).unwrap();
            let tree = Command::new(&cargo.program)
                .args(["tree", "--offline", "--manifest-path"])
                .args(&cargo.manifest_path)
                .args(selection)
                .args(&flags)
                .output()
                .unwrap();
            assert!(
                tree.status.success(),
                "{}",
                String::from_utf8_lossy(&tree.stderr)
            );
            flags
        }

        /// Returns whether a build with `flags` depends on the library at all.
        fn has_library(&self, flags: &[String]) -> bool {
            let tree = Command::new(cargo_program())
                .args(["tree", "--offline", "--manifest-path"])
                .arg(self.0.path().join("Cargo.toml"))
                .args(["--package", "benches"])
                .args(flags)
                .output()
                .unwrap();
            String::from_utf8_lossy(&tree.stdout).contains(PACKAGE)
        }
    }

    #[test]
    fn feature_uses_library_name_of_selected_package() {
        let workspace = Workspace::of_library("dev-dependencies", "");
        for selection in [
            &[][..],
            &["--workspace"],
            &["--workspace", "--exclude", "plain"],
            &["--package", "benches"],
            &["--features", "own"],
            &["--features", "benches/own"],
            &["--all-features"],
            &["--no-default-features"],
        ] {
            assert_eq!(
                workspace.flags(selection),
                BY_CRITERIONS_NAME,
                "{selection:?}"
            );
        }
        let benches = workspace.flags_at("benches/Cargo.toml", &[]);
        assert_eq!(benches, BY_CRITERIONS_NAME);
        // cargo would refuse the feature, and build nothing.
        assert!(workspace.flags(&["--package", "plain"]).is_empty());
        assert!(workspace.flags_at("plain/Cargo.toml", &[]).is_empty());
    }

    #[test]
    fn target_and_unrenamed_dependencies_get_feature() {
        let of_target = Workspace::of_library("target.'cfg(not(miri))'.dev-dependencies", "");
        assert_eq!(of_target.flags(&[]), BY_CRITERIONS_NAME);
        let of_others = Workspace::of_library("target.'cfg(miri)'.dev-dependencies", "");
        assert_eq!(of_others.flags(&[]), BY_CRITERIONS_NAME);
        let beside = Workspace::new(&format!(
            "[dev-dependencies]\n{PACKAGE} = {{ path = \"../library\" }}"
        ));
        assert_eq!(
            beside.flags(&[]),
            ["--features", "criterion-topdown/launches"]
        );
    }

    #[test]
    fn an_optional_dependency_is_not_added() {
        let workspace = Workspace::of_library("dependencies", ", optional = true");
        let flags = workspace.flags(&[]);
        assert_eq!(flags, ["--features", "criterion?/launches"]);
        assert!(!workspace.has_library(&flags));
        let flags = workspace.flags(&["--features", "criterion"]);
        assert_eq!(flags, ["--features", "criterion?/launches"]);
    }

    #[test]
    fn feature_is_not_requested_twice_or_if_refused() {
        let has_it = Workspace::of_library("dev-dependencies", ", features = [\"launches\"]");
        assert!(has_it.flags(&[]).is_empty());
        let through_another = "[dev-dependencies]\nbetween = { path = \"../between\" }";
        assert!(Workspace::new(through_another).flags(&[]).is_empty());
        // Another package calls a library without such a feature by this name.
        let mixed = Workspace::of_library("dev-dependencies", "");
        mixed.package("between", "criterion", "");
        let other = "[dev-dependencies]\ncriterion = { path = \"../between\" }";
        mixed.package("plain", "plain", other);
        assert!(mixed.flags(&[]).is_empty());
        assert_eq!(mixed.flags(&["--package", "benches"]), BY_CRITERIONS_NAME);
        let old = Workspace::of_library("dev-dependencies", "");
        old.package("library", PACKAGE, "[features]\nmodel = []");
        assert!(old.flags(&[]).is_empty());
    }

    /// Not as a machine without the model, which would have time alone.
    #[test]
    fn unresolvable_workspace_is_an_error() {
        let workspace = Workspace::of_library("dev-dependencies", "");
        let cargo = Cargo::offline(workspace.0.path().join("Cargo.toml"), &[]);
        let metadata = cargo.metadata().unwrap();
        workspace.package("benches", "benches", "[dependencies]\nnowhere = \"1\"");
        let error = cargo.launch_features(&metadata).unwrap_err().to_string();
        assert!(error.contains("`nowhere`"), "{error}");
    }

    #[test]
    fn resolver_1_workspaces_get_feature() {
        let workspace = Workspace::of_library("dev-dependencies", "");
        workspace.resolver("1");
        assert_eq!(workspace.flags(&[]), BY_CRITERIONS_NAME);
        let benches = workspace.flags_at("benches/Cargo.toml", &[]);
        assert_eq!(benches, BY_CRITERIONS_NAME);
    }
}
