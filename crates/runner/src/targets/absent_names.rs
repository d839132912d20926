//! Features, packages and benches that the command line names, but the workspace does not have.
//!
//! cargo refuses them. Of two sides that are built with the same command line, one may be from
//! before the change that adds them.

use cargo_metadata::{Metadata, TargetKind};

use crate::targets::bench_targets::CargoFlags;

const FLAG: &str = "--features";

/// Packages and benches that the workspace does not have.
#[derive(Debug, Default, PartialEq)]
pub struct AbsentNames {
    /// Each with what it is, as in "package `a`".
    pub names: Vec<String>,
    /// Whether all selected names are absent.
    pub are_all: bool,
}

impl CargoFlags {
    /// Takes out the packages and benches that the workspace does not have, and returns them.
    pub fn take_absent_targets(&mut self, metadata: &Metadata) -> AbsentNames {
        let packages = metadata.workspace_packages();
        let is_package = |name: &str| packages.iter().any(|package| package.name.as_str() == name);
        let is_bench = |name: &str| {
            let targets = packages.iter().flat_map(|package| &package.targets);
            let mut benches = targets.filter(|target| target.kind.contains(&TargetKind::Bench));
            benches.any(|bench| bench.name == name)
        };
        let mut absent = AbsentNames::default();
        for (flag, what, exists) in [
            ("--package", "package", &is_package as &dyn Fn(&str) -> bool),
            ("--bench", "bench target", &is_bench),
        ] {
            let named = values(&self.build, flag);
            // cargo judges patterns and addresses.
            let is_absent = |name: &str| is_plain(name) && !exists(name);
            let lacks: Vec<String> = named
                .iter()
                .filter(|name| is_absent(name))
                .cloned()
                .collect();
            absent.are_all |= !lacks.is_empty() && lacks.len() == named.len();
            for words in [&mut self.selection, &mut self.build] {
                remove(words, flag, &is_absent);
            }
            let lacks = lacks.iter().map(|name| format!("{what} `{name}`"));
            absent.names.extend(lacks);
        }
        absent
    }

    /// Takes out the features that no package of the workspace has, and returns them.
    pub fn take_absent_features(&mut self, metadata: &Metadata) -> Vec<String> {
        let mut absent = Vec::new();
        for words in [&mut self.selection, &mut self.build] {
            let mut is_list = false;
            for word in words {
                if is_list {
                    let (has, lacks) = word
                        .split([',', ' '])
                        .filter(|feature| !feature.is_empty())
                        .partition::<Vec<&str>, _>(|feature| exists(feature, metadata));
                    absent.extend(lacks.into_iter().map(str::to_owned));
                    *word = has.join(",");
                }
                is_list = !is_list && word == FLAG;
            }
        }
        // `build` repeats `selection`.
        absent.sort();
        absent.dedup();
        absent
    }
}

/// Returns whether a package has `feature`, or it is one of a dependency, of which cargo alone
/// knows.
fn exists(feature: &str, metadata: &Metadata) -> bool {
    let (package, feature) = match feature.split_once('/') {
        Some((package, feature)) => (Some(package.trim_end_matches('?')), feature),
        None => (None, feature),
    };
    let packages = metadata.workspace_packages();
    let is_named = |name: &str| package.is_none_or(|package| package == name);
    let mut named = packages
        .iter()
        .filter(|package| is_named(&package.name))
        .peekable();
    match named.peek() {
        Some(_) => named.any(|package| package.features.contains_key(feature)),
        None => true,
    }
}

/// Returns whether `name` is one, and neither a pattern nor an address.
fn is_plain(name: &str) -> bool {
    name.chars()
        .all(|letter| letter.is_alphanumeric() || "-_".contains(letter))
}

/// Returns the values that follow `flag` in `words`.
fn values(words: &[String], flag: &str) -> Vec<String> {
    let pairs = words.windows(2).filter(|pair| pair[0] == flag);
    pairs.map(|pair| pair[1].clone()).collect()
}

/// Removes `flag` with each value for which `is_wanted` is true.
fn remove(words: &mut Vec<String>, flag: &str, is_wanted: &dyn Fn(&str) -> bool) {
    let mut index = 0;
    while index + 1 < words.len() {
        if words[index] == flag && is_wanted(&words[index + 1]) {
            words.drain(index..index + 2);
        } else {
            index += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// The packages `a`, with a bench `speed`, and `b`.
    fn workspace() -> Metadata {
        let directory = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = directory.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        let features = "[features]\none = []\n[dependencies]\nother = { path = \"../other\", \
                        optional = true }\n";
        let manifest = |name: &str, more: &str| format!("[package]\nname = \"{name}\"\n{more}");
        write(
            "Cargo.toml",
            "[workspace]\nmembers = [\"a\", \"b\"]\nexclude = [\"other\"]\n",
        );
        write("a/Cargo.toml", &manifest("a", features));
        write("b/Cargo.toml", &manifest("b", "[features]\ntwo = []\n"));
        write("other/Cargo.toml", &manifest("other", ""));
        for package in ["a", "b", "other"] {
            write(&format!("{package}/src/lib.rs"), "");
        }
        write("a/benches/speed.rs", "");
        let mut command = cargo_metadata::MetadataCommand::new();
        command.current_dir(directory.path()).no_deps();
        command.exec().unwrap()
    }

    #[test]
    fn new_packages_and_benches_are_removed() {
        let metadata = workspace();
        for (given, kept, absent, are_all) in [
            (
                "--workspace --bench speed",
                "--workspace --bench speed",
                "",
                false,
            ),
            (
                "--package a --package new",
                "--package a",
                "package `new`",
                false,
            ),
            ("--package new", "", "package `new`", true),
            (
                "--bench speed --bench new --color never",
                "--bench speed --color never",
                "bench target `new`",
                false,
            ),
            (
                "--package a --bench new",
                "--package a",
                "bench target `new`",
                true,
            ),
            // cargo's own words for these are better.
            (
                "--package n* --package b@1",
                "--package n* --package b@1",
                "",
                false,
            ),
        ] {
            let words = |text: &str| text.split_whitespace().map(str::to_owned).collect();
            let mut flags = CargoFlags {
                build: words(given),
                ..CargoFlags::default()
            };
            let found = flags.take_absent_targets(&metadata);
            assert_eq!(flags.build.join(" "), kept);
            assert_eq!((&*found.names.join(", "), found.are_all), (absent, are_all));
        }
    }

    #[test]
    fn only_unknown_features_are_removed() {
        let metadata = workspace();
        let words = |lists: &[&str]| -> Vec<String> {
            let lists = lists.iter().flat_map(|list| [FLAG, list]);
            [&["--workspace"][..], &lists.collect::<Vec<_>>()]
                .concat()
                .iter()
                .map(ToString::to_string)
                .collect()
        };
        for (given, kept, absent) in [
            // An optional dependency is a feature; cargo judges a dependency's feature.
            (
                &["one two", "other,other/x"][..],
                &["one,two", "other,other/x"][..],
                &[][..],
            ),
            (
                &["one,more,b/two", "b/one,a?/more"],
                &["one,b/two", ""],
                &["a?/more", "b/one", "more"],
            ),
        ] {
            let mut flags = CargoFlags {
                selection: words(given),
                build: words(given),
                ..CargoFlags::default()
            };
            assert_eq!(flags.take_absent_features(&metadata), absent);
            assert_eq!([flags.selection, flags.build], [words(kept), words(kept)]);
        }
    }
}
