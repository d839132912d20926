//! Packages that Cargo.lock pins at versions too old for the library.
//!
//! Cargo keeps what a lock file pins, even if a new dependency needs a later version, and then
//! fails to resolve. So those that block it are updated, and no others. This is also the
//! proof that cargo can resolve the changed manifests.

use std::collections::BTreeSet;
use std::io::{self, Read};
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};

use super::AdoptionError;
use topdown_runner::targets::launch_features::blocking_packages;
use topdown_system::interrupt;
use topdown_system::waits;

/// cargo's name for it.
pub const LOCK_FILE: &str = "Cargo.lock";

/// Updates what keeps cargo from adding the library to the lock file of the workspace at `root`,
/// and from building it with `features`, of which a lock file does not know. Returns the packages,
/// as `name@version` before the update. Cargo writes a lock file if there is none.
///
/// # Errors
/// Returns what cargo says if it cannot resolve the workspace. If only a feature blocks the others,
/// it says so in the next build.
pub fn update(
    cargo: &Path,
    root: &Path,
    features: &BTreeSet<String>,
) -> Result<Vec<String>, AdoptionError> {
    let has_pinned = root.join(LOCK_FILE).exists();
    let mut unpinned = Vec::new();
    unpin(
        cargo,
        root,
        &["metadata", "--format-version=1"],
        &mut unpinned,
    )?;
    for feature in features.iter().filter(|_| has_pinned) {
        let resolves = ["tree", "--workspace", "--depth=0", "--features", feature];
        // The next build says if a feature blocks the others.
        match unpin(cargo, root, &resolves, &mut unpinned) {
            Err(error) if error.is_interrupt() => return Err(error),
            _ => {}
        }
    }
    Ok(unpinned)
}

/// Updates packages until cargo can run `resolves`.
///
/// # Errors
/// Returns what cargo says if it fails for another reason.
fn unpin(
    cargo: &Path,
    root: &Path,
    resolves: &[&str],
    unpinned: &mut Vec<String>,
) -> Result<(), AdoptionError> {
    let mut to_update: Vec<String> = Vec::new();
    loop {
        let mut arguments = resolves.to_vec();
        if !to_update.is_empty() {
            arguments = vec!["update"];
            arguments.extend(to_update.iter().map(String::as_str));
        }
        let (status, said) = run(cargo, root, &arguments).map_err(|error| {
            AdoptionError::unresolved(&format!("could not run {}: {error}", cargo.display()))
        })?;
        if interrupt::has_ended(status) {
            return Err(AdoptionError::Interrupted);
        }
        if status.success() {
            if to_update.is_empty() {
                return Ok(());
            }
            unpinned.append(&mut to_update);
            continue;
        }
        let is_new = |package: &String| !unpinned.contains(package) && !to_update.contains(package);
        let new: Vec<String> = blocking_packages(&said)
            .into_iter()
            .filter(is_new)
            .collect();
        if new.is_empty() {
            return Err(AdoptionError::unresolved(&said));
        }
        to_update.extend(new);
    }
}

/// Runs cargo, which Ctrl-C ends, and returns what it says.
fn run(cargo: &Path, root: &Path, arguments: &[&str]) -> io::Result<(ExitStatus, String)> {
    let mut child = Command::new(cargo)
        .args(arguments)
        .current_dir(root)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()?;
    let registered = interrupt::ends(child.id());
    let watch = waits::RESOLVE.watch(child.id());
    let mut said = Vec::new();
    if let Some(mut stderr) = child.stderr.take() {
        stderr.read_to_end(&mut said)?;
    }
    drop(registered);
    let status = child.wait()?;
    watch.end()?;
    Ok((status, String::from_utf8_lossy(&said).into_owned()))
}

#[cfg(test)]
mod tests {
    #[cfg(unix)]
    use std::fs;
    #[cfg(unix)]
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    /// The line of cargo's message that names what blocks the others.
    const CONFLICT: &str = "  previously selected package `libc v0.2.148`\n";

    /// A program in cargo's place finds one package after the other.
    #[cfg(unix)]
    #[test]
    fn blocking_packages_are_updated_until_resolved() {
        let cargo = FakeCargo::new(
            "*metadata*) test -e updated || { cat conflict; exit 101; } ;;\n\
             *serde_json*) touch updated ;;\n\
             update*) echo 'previously selected package `serde_json v1.0.87`'; exit 101 ;;\n",
        );
        cargo.write("Cargo.lock", "");
        cargo.write("conflict", CONFLICT);
        assert_eq!(
            cargo.update(&[]).unwrap(),
            ["libc@0.2.148", "serde_json@1.0.87"]
        );
        let expected = "metadata --format-version=1\nupdate libc@0.2.148\n\
                        update libc@0.2.148 serde_json@1.0.87\nmetadata --format-version=1\n";
        assert_eq!(cargo.asked(), expected);
        // Another failure is not ours to mend.
        fs::remove_file(cargo.0.path().join("updated")).unwrap();
        cargo.write("conflict", "error: no matching package");
        let error = cargo.update(&[]).unwrap_err().to_string();
        assert!(error.contains("error: no matching package"), "{error}");
    }

    /// ropey 1.6.1 pins lazy_static 1.4.0. Its benches then had no model, although `init` was done.
    #[cfg(unix)]
    #[test]
    fn package_blocking_only_the_feature_is_updated() {
        let cargo = FakeCargo::new(
            "metadata*) ;;\n\
             tree*criterion/launches) test -e updated || { cat conflict; exit 101; } ;;\n\
             update*) touch updated ;;\n",
        );
        cargo.write("Cargo.lock", "");
        cargo.write(
            "conflict",
            "previously selected package `lazy_static v1.4.0`",
        );
        let feature = ["criterion/launches"];
        assert_eq!(cargo.update(&feature).unwrap(), ["lazy_static@1.4.0"]);
        let tree = "tree --workspace --depth=0 --features criterion/launches";
        let expected =
            format!("metadata --format-version=1\n{tree}\nupdate lazy_static@1.4.0\n{tree}\n");
        assert_eq!(cargo.asked(), expected);
        // Updated in vain: cargo is not asked for ever.
        fs::remove_file(cargo.0.path().join("updated")).unwrap();
        let in_vain = FakeCargo::new("metadata*) ;;\ntree*) cat conflict; exit 101 ;;\n");
        in_vain.write("Cargo.lock", "");
        in_vain.write(
            "conflict",
            "previously selected package `lazy_static v1.4.0`",
        );
        assert_eq!(in_vain.update(&feature).unwrap(), ["lazy_static@1.4.0"]);
        // Nothing is pinned without a lock file.
        fs::remove_file(in_vain.0.path().join("Cargo.lock")).unwrap();
        assert!(in_vain.update(&feature).unwrap().is_empty());
    }

    /// A directory with a script that is run as cargo, and what it was asked.
    #[cfg(unix)]
    struct FakeCargo(tempfile::TempDir);

    #[cfg(unix)]
    impl FakeCargo {
        /// Runs `cases` of a `case` statement over its arguments, in its directory.
        fn new(cases: &str) -> FakeCargo {
            let cargo = FakeCargo(tempfile::tempdir().unwrap());
            let script = format!(
                "#!/bin/sh\nexec >&2\necho \"$*\" >>asked\ncase \"$*\" in\n{cases}esac\nexit 0\n"
            );
            cargo.write("cargo", &script);
            let executable = fs::Permissions::from_mode(0o755);
            fs::set_permissions(cargo.0.path().join("cargo"), executable).unwrap();
            cargo
        }

        fn write(&self, name: &str, text: &str) {
            fs::write(self.0.path().join(name), text).unwrap();
        }

        fn update(&self, features: &[&str]) -> Result<Vec<String>, AdoptionError> {
            let features = features.iter().map(ToString::to_string).collect();
            update(&self.0.path().join("cargo"), self.0.path(), &features)
        }

        fn asked(&self) -> String {
            fs::read_to_string(self.0.path().join("asked")).unwrap_or_default()
        }
    }
}
