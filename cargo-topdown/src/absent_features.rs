//! Features that the command line names, but the workspace does not have.
//!
//! cargo refuses them. Of two sides that are built with the same command line, one may be from
//! before the change that adds a feature.

use cargo_metadata::Metadata;

use crate::bench_targets::CargoFlags;

const FLAG: &str = "--features";

impl CargoFlags {
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
                        .partition::<Vec<&str>, _>(|feature| is_there(feature, metadata));
                    absent.extend(lacks.into_iter().map(str::to_owned));
                    // An empty list is one for cargo, too.
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
fn is_there(feature: &str, metadata: &Metadata) -> bool {
    let (package, feature) = match feature.split_once('/') {
        Some((package, feature)) => (Some(package.trim_end_matches('?')), feature),
        None => (None, feature),
    };
    let packages = metadata.workspace_packages();
    let is_named = |name: &str| package.is_none_or(|package| package == name);
    let mut named = packages.iter().filter(|of| is_named(&of.name)).peekable();
    match named.peek() {
        Some(_) => named.any(|package| package.features.contains_key(feature)),
        None => true,
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn only_unknown_features_are_removed() {
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
        let mut command = cargo_metadata::MetadataCommand::new();
        command.current_dir(directory.path()).no_deps();
        let metadata = command.exec().unwrap();
        let words = |lists: &[&str]| -> Vec<String> {
            let lists = lists.iter().flat_map(|list| [FLAG, list]);
            [&["--workspace"][..], &lists.collect::<Vec<_>>()]
                .concat()
                .iter()
                .map(ToString::to_string)
                .collect()
        };
        for (given, kept, absent) in [
            // An optional dependency is a feature, and a dependency's feature is not ours to judge.
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
