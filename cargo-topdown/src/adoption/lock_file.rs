//! Packages that Cargo.lock pins at versions too old for the library.
//!
//! Cargo keeps what a lock file pins, even if a new dependency needs a later version, and then
//! fails to resolve. So those that stand in the way are updated, and no others.

use std::path::Path;
use std::process::Command;

/// How cargo names a package that stands in the way: with its version in backticks.
const IN_THE_WAY: &str = "previously selected package `";

/// Updates what keeps cargo from adding the library to the lock file of the workspace at `root`.
/// Returns the packages, as `name@version` before the update. If cargo fails for other reasons, it
/// says so in the next build.
pub fn update(cargo: &Path, root: &Path) -> Vec<String> {
    let mut pinned = Vec::new();
    if !root.join("Cargo.lock").exists() {
        return pinned;
    }
    let mut arguments = vec!["metadata".to_owned(), "--format-version=1".to_owned()];
    loop {
        let run = Command::new(cargo)
            .args(&arguments)
            .current_dir(root)
            .output();
        let Ok(output) = run else {
            return Vec::new();
        };
        if output.status.success() {
            return pinned;
        }
        let message = String::from_utf8_lossy(&output.stderr);
        let known = pinned.len();
        for package in in_the_way(&message) {
            if !pinned.contains(&package) {
                pinned.push(package);
            }
        }
        if pinned.len() == known {
            return Vec::new();
        }
        arguments = ["update".to_owned()]
            .into_iter()
            .chain(pinned.clone())
            .collect();
    }
}

/// Returns the packages of registries that cargo's `message` says to be in the way.
fn in_the_way(message: &str) -> Vec<String> {
    let packages = message.split(IN_THE_WAY).skip(1);
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
    use super::*;

    /// What cargo 1.95 says of matchit 0.8.6, whose lock file is of 2022.
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
    fn what_is_in_the_way_is_what_cargo_says() {
        assert_eq!(in_the_way(CONFLICT), ["libc@0.2.148"]);
        assert!(in_the_way("  previously selected package `a v1.0.0 (/a)`").is_empty());
        assert!(in_the_way("error: no matching package named `b` found").is_empty());
    }

    /// A program in cargo's place finds one package after the other.
    #[cfg(unix)]
    #[test]
    fn packages_in_the_way_are_updated_until_cargo_resolves_the_workspace() {
        use std::fs;
        use std::os::unix::fs::PermissionsExt;
        let root = tempfile::tempdir().unwrap();
        let path = |name: &str| root.path().join(name);
        let script = "#!/bin/sh\n\
             echo \"$*\" >>\"$PWD/asked\"\n\
             case \"$*\" in\n\
                 *serde_json*) exit 0 ;;\n\
                 update*) echo 'previously selected package `serde_json v1.0.87`' >&2 ;;\n\
                 *) cat conflict >&2 ;;\n\
             esac\n\
             exit 101\n";
        fs::write(path("cargo"), script).unwrap();
        fs::set_permissions(path("cargo"), fs::Permissions::from_mode(0o755)).unwrap();
        fs::write(path("conflict"), CONFLICT).unwrap();
        assert!(update(&path("cargo"), root.path()).is_empty());
        assert!(!path("asked").exists(), "there is nothing to update");
        fs::write(path("Cargo.lock"), "").unwrap();
        let updated = update(&path("cargo"), root.path());
        assert_eq!(updated, ["libc@0.2.148", "serde_json@1.0.87"]);
        let asked = fs::read_to_string(path("asked")).unwrap();
        let expected = "metadata --format-version=1\nupdate libc@0.2.148\n\
                        update libc@0.2.148 serde_json@1.0.87\n";
        assert_eq!(asked, expected);
        // Another failure is not ours to mend.
        fs::write(path("conflict"), "error: no matching package").unwrap();
        assert!(update(&path("cargo"), root.path()).is_empty());
    }
}
