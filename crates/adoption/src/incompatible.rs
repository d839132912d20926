//! Code that compiles only with an older criterion than the one that the library stands in for.

use std::path::Path;

use cargo_metadata::Package;
use cargo_metadata::semver::Version;
use toml_edit::{DocumentMut, Item, Table};

use super::lock_file::LOCK_FILE;
use super::manifest::CRITERION;
use super::source::self_timed_lines;
use super::{CRITERION as STOOD_IN_FOR, SourceLocation};

/// A dependency that implements traits of another criterion, such as a profiler.
#[derive(Debug, PartialEq)]
pub struct OldImplementation {
    /// The package whose benches may use it.
    pub package: String,
    /// The dependency.
    pub dependency: String,
    /// The version of its criterion.
    pub criterion: Version,
}

impl OldImplementation {
    /// Finds those of `package` by what Cargo.lock says of its dependencies. Without a lock file
    /// there are none.
    pub(super) fn in_package(package: &Package, root: &Path) -> Vec<OldImplementation> {
        let text = std::fs::read_to_string(root.join(LOCK_FILE)).unwrap_or_default();
        let is_dependency = |name: &String| package.dependencies.iter().any(|d| d.name == *name);
        implementations(&text)
            .into_iter()
            .filter(|(name, _)| is_dependency(name))
            .map(|(dependency, criterion)| OldImplementation {
                package: package.name.to_string(),
                dependency,
                criterion,
            })
            .collect()
    }
}

/// Returns the packages of registries that depend on another criterion, with its version.
fn implementations(lock_file: &str) -> Vec<(String, Version)> {
    let document: DocumentMut = lock_file.parse().unwrap_or_default();
    let packages = document.get("package").and_then(Item::as_array_of_tables);
    let packages: Vec<&Table> = packages.into_iter().flatten().collect();
    let text = |package: &Table, key: &str| {
        let text = package.get(key).and_then(Item::as_str);
        text.map(str::to_owned)
    };
    let is_criterion = |package: &&&Table| text(package, "name").as_deref() == Some(CRITERION);
    let only_version = (packages.iter().find(is_criterion)).and_then(|p| text(p, "version"));
    let mut found = Vec::new();
    for package in packages.iter().filter(|p| p.contains_key("source")) {
        let dependencies = package.get("dependencies").and_then(Item::as_array);
        let names = dependencies
            .into_iter()
            .flatten()
            .filter_map(|d| d.as_str());
        for dependency in names {
            let mut words = dependency.split(' ');
            if words.next() != Some(CRITERION) {
                continue;
            }
            // The version is there if several are.
            let version = words.next().map(str::to_owned).or(only_version.clone());
            let version = version.and_then(|version| version.parse::<Version>().ok());
            let is_other = |version: &Version| {
                (version.major, version.minor) != (STOOD_IN_FOR.major, STOOD_IN_FOR.minor)
            };
            if let (Some(name), Some(version)) =
                (text(package, "name"), version.filter(|v| is_other(v)))
            {
                found.push((name, version));
            }
        }
    }
    found
}

/// What criterion had before 0.8.
const REMOVED: [&str; 7] = [
    "AsyncStdExecutor",
    ".bench_function_over_inputs(",
    ".bench_functions(",
    ".iter_with_large_setup(",
    "ParameterizedBenchmark",
    " Benchmark::new(",
    "Fun::new(",
];

/// Finds uses of what criterion 0.8 no longer has.
pub(super) fn removed(text: &str, path: &Path) -> Vec<SourceLocation> {
    let is_removed = |line: &str| {
        let is_asynchronous = line.contains("to_async");
        let is_setup = |removed: &&str| removed.contains("large_setup");
        let mut removed = REMOVED.iter();
        removed.any(|removed| line.contains(removed) && !(is_asynchronous && is_setup(removed)))
    };
    self_timed_lines(text, path, is_removed)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lock_file(pprof: &str, criterion: &[&str]) -> String {
        let mut text = format!(
            "version = 4\n[[package]]\nname = \"pprof\"\nversion = \"0.15.0\"\n\
             source = \"registry\"\ndependencies = [\"libc\", \"{pprof}\"]\n\
             [[package]]\nname = \"own\"\nversion = \"0.1.0\"\ndependencies = [\"{pprof}\"]\n"
        );
        for version in criterion {
            text += &format!("[[package]]\nname = \"criterion\"\nversion = \"{version}\"\n");
        }
        text
    }

    #[test]
    fn crates_for_an_older_criterion_are_found() {
        let found = |pprof: &str, criterion: &[&str]| {
            let found = implementations(&lock_file(pprof, criterion)).into_iter();
            found
                .map(|(name, version)| format!("{name} {version}"))
                .collect::<Vec<_>>()
        };
        assert_eq!(found("criterion", &["0.5.1"]), ["pprof 0.5.1"]);
        assert_eq!(
            found("criterion 0.5.1", &["0.5.1", "0.8.2"]),
            ["pprof 0.5.1"]
        );
        assert_eq!(found("criterion", &["0.8.2"]), [""; 0]);
        assert_eq!(found("criterion-plot", &["0.5.1"]), [""; 0]);
        assert_eq!(implementations(""), []);
        assert_eq!(implementations("no lock file"), []);
    }

    #[test]
    fn removed_api_is_found_in_sources() {
        let text = "c.bench_functions(\"a\", v, 3);\n// c.bench_functions(\n\
                    b.to_async(r).iter_with_large_setup(s, f);\nb.iter_with_large_setup(s, f);\n\
                    BenchmarkId::new(\"a\", 1);\n";
        let lines: Vec<usize> = removed(text, Path::new("b.rs"))
            .iter()
            .map(|place| place.line)
            .collect();
        assert_eq!(lines, [1, 4]);
    }
}
