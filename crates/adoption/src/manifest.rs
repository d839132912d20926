//! Finds and replaces the criterion dependency in a manifest, in any form cargo accepts.

use std::path::Path;

use toml_edit::{Array, DocumentMut, Item, Key, Table, TableLike, Value};

use super::library::{Library, PACKAGE};
use super::{AdoptionError, ManifestChange, ReplacedDependency, line_ends};

/// Where a package declares its dependency on criterion: in neither place, one, or both, since
/// several tables of a manifest may name it.
pub(super) struct Found {
    /// The change of this manifest.
    pub here: Option<ManifestChange>,
    /// Whether it inherits the dependency of the workspace's manifest (`workspace = true`).
    pub in_workspace: bool,
}

/// What the library stands in for, as the registry names it.
pub(super) const CRITERION: &str = "criterion";

/// The criterion features this library forwards.
const FEATURES: [&str; 11] = [
    "async",
    "async_futures",
    "async_smol",
    "async_tokio",
    "cargo_bench_support",
    "csv_output",
    "html_reports",
    "plotters",
    "rayon",
    "real_blackbox",
    "stable",
];

/// Finds the dependency in all tables of a package's manifest and replaces it. It inherits that of
/// the workspace by one of the names `keys`.
pub(super) fn change(
    text: &str,
    path: &Path,
    library: &Library,
    keys: &[&str],
) -> Result<Found, AdoptionError> {
    let mut document = parse(text, path)?;
    let inherits = |item: &Item| {
        item.as_table_like()
            .and_then(|table| table.get("workspace"))
            .and_then(Item::as_bool)
            .unwrap_or(false)
    };
    let mut in_workspace = false;
    let mut replaced = Vec::new();
    for (key, item) in dependencies_of_package(document.as_table_mut()) {
        if inherits(item) {
            if keys.contains(&&*key) {
                in_workspace = true;
                replaced.extend(replace_inherited(&key, item));
            }
        } else if is_criterion(&key, item) {
            replaced.push(replace(&key, item, library));
        }
    }
    let here = (!replaced.is_empty()).then(|| change_of(path, replaced, text, &document));
    Ok(Found { here, in_workspace })
}

/// Finds the dependency in the workspace's manifest and replaces it.
pub(super) fn change_workspace(
    text: &str,
    path: &Path,
    library: &Library,
) -> Result<Option<ManifestChange>, AdoptionError> {
    let mut document = parse(text, path)?;
    let dependencies = document
        .get_mut("workspace")
        .and_then(|workspace| workspace.get_mut("dependencies"));
    let replaced: Vec<ReplacedDependency> = dependencies_of_table(dependencies)
        .filter(|(key, item)| is_criterion(key, item))
        .map(|(key, item)| replace(&key, item, library))
        .collect();
    Ok((!replaced.is_empty()).then(|| change_of(path, replaced, text, &document)))
}

fn change_of(
    path: &Path,
    replaced: Vec<ReplacedDependency>,
    original: &str,
    document: &DocumentMut,
) -> ManifestChange {
    ManifestChange {
        path: path.to_owned(),
        replaced,
        text: line_ends::kept(original, &document.to_string()),
    }
}

/// Returns whether the manifest has `harness = false` for the bench target `name`.
pub(super) fn has_own_harness(text: &str, path: &Path, name: &str) -> Result<bool, AdoptionError> {
    let document = parse(text, path)?;
    let benches = document.get("bench").and_then(Item::as_array_of_tables);
    let mut benches = benches.into_iter().flatten();
    Ok(benches.any(|bench| {
        bench.get("name").and_then(Item::as_str) == Some(name)
            && bench.get("harness").and_then(Item::as_bool) == Some(false)
    }))
}

fn parse(text: &str, path: &Path) -> Result<DocumentMut, AdoptionError> {
    text.parse().map_err(|source| AdoptionError::Toml {
        path: path.to_owned(),
        source,
    })
}

/// Until edition 2024, cargo also takes an underscore.
const TABLES: [&str; 3] = ["dev-dependencies", "dev_dependencies", "dependencies"];

/// Returns what is in `[dev-dependencies]`, `[dependencies]`, and the same tables of each
/// `[target.…]`, by name. Cargo refuses a manifest whose tables name different sources, so
/// criterion changes in all of them.
fn dependencies_of_package(manifest: &mut Table) -> Vec<(String, &mut Item)> {
    let mut found = Vec::new();
    for (name, table) in manifest.iter_mut() {
        if TABLES.contains(&name.get()) {
            found.extend(dependencies_of_table(Some(table)));
        } else if name == "target" {
            let targets = table.as_table_like_mut().into_iter();
            let targets = targets.flat_map(|targets| targets.iter_mut());
            for (_, target) in targets {
                let tables = target.as_table_like_mut().into_iter();
                let tables = tables.flat_map(|tables| tables.iter_mut());
                for (_, table) in tables.filter(|(name, _)| TABLES.contains(&name.get())) {
                    found.extend(dependencies_of_table(Some(table)));
                }
            }
        }
    }
    found
}

fn dependencies_of_table(table: Option<&mut Item>) -> impl Iterator<Item = (String, &mut Item)> {
    let table = table.and_then(Item::as_table_like_mut).into_iter();
    let dependencies = table.flat_map(|table| table.iter_mut());
    dependencies.map(|(key, item)| (key.get().to_owned(), item))
}

/// Returns whether a dependency is one on criterion, or on the library in its place.
fn is_criterion(key: &str, item: &Item) -> bool {
    let table = item.as_table_like();
    let package = table.and_then(|table| table.get("package")?.as_str());
    [CRITERION, PACKAGE].contains(&package.unwrap_or(key))
}

/// What stays of a dependency on criterion.
const KEPT: [&str; 2] = ["features", "optional"];

/// Replaces criterion with the library in the user's formatting, keeping the features that the
/// library has too.
fn replace(key: &str, item: &mut Item, library: &Library) -> ReplacedDependency {
    let before = one_line(key, item);
    let dropped = match item {
        Item::Value(Value::InlineTable(table)) => {
            // The space before the closing brace.
            let last = table.iter_mut().last();
            let end = last.and_then(|(_, value)| {
                let end = value.decor().suffix().cloned();
                value.decor_mut().set_suffix("");
                end
            });
            let dropped = rewrite(table, library);
            if let (Some(end), Some((_, value))) = (end, table.iter_mut().last()) {
                value.decor_mut().set_suffix(end);
            }
            dropped
        }
        Item::Table(table) => rewrite(table, library),
        _ => {
            let mut value = Value::InlineTable(library.dependency());
            // Keep a comment that follows the version.
            if let Some(version) = item.as_value() {
                *value.decor_mut() = version.decor().clone();
            }
            *item = Item::Value(value);
            Vec::new()
        }
    };
    ReplacedDependency {
        before,
        after: one_line(key, item),
        dropped_features: dropped,
    }
}

/// Drops the features that a member adds to what it inherits, if the library does not have them.
fn replace_inherited(key: &str, item: &mut Item) -> Option<ReplacedDependency> {
    let before = one_line(key, item);
    let table = item.as_table_like_mut()?;
    let features = table.get_mut("features")?;
    let dropped = drop_unknown_features(features);
    if features.as_array().is_some_and(Array::is_empty) {
        table.remove("features");
    }
    (!dropped.is_empty()).then(|| ReplacedDependency {
        before,
        after: one_line(key, item),
        dropped_features: dropped,
    })
}

/// Makes a dependency on criterion one on the library. Returns the features that it does not have.
fn rewrite(table: &mut dyn TableLike, library: &Library) -> Vec<String> {
    let entry = |(name, item): (&str, &Item)| Some((table.key(name)?.clone(), item.clone()));
    let entries: Vec<(Key, Item)> = table.iter().filter_map(entry).collect();
    table.clear();
    for (index, (name, mut value)) in library.dependency().into_iter().enumerate() {
        // In the style of the entry in whose place it is.
        let style = entries.first().map(|(key, item)| (key, item.as_value()));
        if let Some((_, Some(old))) = style {
            *value.decor_mut() = old.decor().clone();
        }
        table.insert(&name, Item::Value(value));
        if let (Some((old, _)), Some(mut key)) = (style, table.key_mut(&name)) {
            match (index, old.leaf_decor().suffix()) {
                (0, _) => *key.leaf_decor_mut() = old.leaf_decor().clone(),
                (_, Some(suffix)) => key.leaf_decor_mut().set_suffix(suffix.clone()),
                _ => {}
            }
        }
    }
    let mut dropped = Vec::new();
    for (key, mut item) in entries {
        if key.get() == "features" {
            dropped = drop_unknown_features(&mut item);
        }
        let is_empty = item.as_array().is_some_and(Array::is_empty);
        if KEPT.contains(&key.get()) && !is_empty {
            table.insert(key.get(), item);
            if let Some(mut inserted) = table.key_mut(key.get()) {
                *inserted.leaf_decor_mut() = key.leaf_decor().clone();
            }
        }
    }
    dropped
}

/// Removes the features that the library does not have, and returns them.
fn drop_unknown_features(features: &mut Item) -> Vec<String> {
    let names = features.as_array().into_iter().flatten();
    let names = names.filter_map(Value::as_str).map(str::to_owned);
    let (kept, dropped): (Vec<String>, Vec<String>) =
        names.partition(|name| FEATURES.contains(&name.as_str()));
    if !dropped.is_empty() {
        *features = Item::Value(Value::Array(kept.into_iter().collect()));
    }
    dropped
}

fn one_line(key: &str, item: &Item) -> String {
    let value = item.clone().into_value().map(|mut value| {
        value.decor_mut().clear();
        value.to_string()
    });
    format!("{key} = {}", value.unwrap_or_default().trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changed(text: &str) -> String {
        let library = Library::Registry("0.1".to_owned());
        let found = change(text, Path::new("Cargo.toml"), &library, &[CRITERION]).unwrap();
        match found.here {
            Some(change) => change.text,
            None if found.in_workspace => "in the workspace".to_owned(),
            None => "nowhere".to_owned(),
        }
    }

    #[test]
    fn version_becomes_renamed_package() {
        assert_eq!(
            changed(
                "[dev-dependencies]\n# for benches\ncriterion = \"0.5\" # keep\nrand = \"0.9\"\n"
            ),
            "[dev-dependencies]\n# for benches\n\
             criterion = { package = \"criterion-topdown\", version = \"0.1\" } # keep\n\
             rand = \"0.9\"\n"
        );
    }

    #[test]
    fn only_features_of_both_libraries_are_kept() {
        assert_eq!(
            changed(
                "[dev-dependencies]\ncriterion = { version = \"0.5\", default-features = false, \
                 features = [\"async_tokio\", \"no_such_feature\"] }\n"
            ),
            "[dev-dependencies]\ncriterion = { package = \"criterion-topdown\", version = \"0.1\", \
             features = [\"async_tokio\"] }\n"
        );
    }

    #[test]
    fn own_harness_is_found_per_target() {
        let text = "[[bench]]\nname = \"a\"\nharness = false\n[[bench]]\nname = \"b\"\n";
        let has = |name| has_own_harness(text, Path::new("Cargo.toml"), name).unwrap();
        assert!(has("a"));
        assert!(!has("b") && !has("found-by-its-file"));
    }

    #[test]
    fn target_specific_tables_are_found() {
        for table in [
            "[target.'cfg(bench)'.dev-dependencies]\ncriterion",
            "[target.\"cfg(bench)\".dependencies]\ncriterion",
            "[target.'cfg(bench)']\ndev-dependencies.criterion",
            "[target]\n'cfg(bench)'.dev-dependencies.criterion",
            "[target.'cfg(bench)'.dev_dependencies]\ncriterion",
        ] {
            let text = changed(&format!("{table} = \"0.5\"\n"));
            assert!(text.contains("criterion-topdown"), "{text}");
        }
    }

    /// png 0.18.1 names it without default features, and with them except on WebAssembly.
    #[test]
    fn every_criterion_table_is_changed() {
        let manifest = |criterion: &str, inherited: &str| {
            format!(
                "[dev-dependencies]\ncriterion = {criterion}\n\n\
                 [target.'cfg(not(target_arch = \"wasm32\"))'.dev-dependencies.criterion]\n\
                 {}\n\n[target.'cfg(windows)'.dependencies]\ncriterion = {inherited}\n",
                criterion.trim_matches(['{', '}', ' ']).replace(", ", "\n")
            )
        };
        let library = "{ package = \"criterion-topdown\", version = \"0.1\" }";
        assert_eq!(
            changed(&manifest("{ version = \"0.7.0\" }", "\"0.7\"")),
            manifest(library, library)
        );
        let inherited = "{ workspace = true }";
        let text = manifest("{ version = \"0.7.0\" }", inherited);
        assert_eq!(changed(&text), manifest(library, inherited));
        let library = Library::Registry("0.1".to_owned());
        let found = change(&text, Path::new("Cargo.toml"), &library, &[CRITERION]).unwrap();
        assert!(found.in_workspace);
        assert_eq!(found.here.map(|change| change.replaced.len()), Some(2));
    }

    #[test]
    fn line_ends_and_the_byte_order_mark_stay() {
        let manifest = |criterion: &str| {
            format!(
                "\u{feff}[package]\r\nname = \"p\"\r\n\r\n[dev-dependencies]\r\n\
                 criterion = {criterion}\r\n[[bench]]\r\nname = \"b\"\r\n"
            )
        };
        let library = "{ package = \"criterion-topdown\", version = \"0.1\" }";
        assert_eq!(changed(&manifest("\"0.8\"")), manifest(library));
    }

    #[test]
    fn dependency_table_stays_a_table() {
        assert_eq!(
            changed(
                "[dev-dependencies.criterion]\n# for benches\nversion = \"0.5\"\n\
                 default-features = false\nfeatures = [\"html_reports\"] # plots\n\n[lib]\n"
            ),
            "[dev-dependencies.criterion]\n# for benches\npackage = \"criterion-topdown\"\n\
             version = \"0.1\"\nfeatures = [\"html_reports\"] # plots\n\n[lib]\n"
        );
    }

    #[test]
    fn manifest_formatting_is_kept() {
        for (before, after) in [
            (
                "criterion= {version=\"0.5\",  features = [ \"html_reports\" ]}   # plots",
                "criterion= {package=\"criterion-topdown\", version=\"0.1\",  \
                 features = [ \"html_reports\" ]}   # plots",
            ),
            (
                "criterion = { features = [\"stable\"], optional=true, version = \"0.5\" }",
                "criterion = { package = \"criterion-topdown\", version = \"0.1\", \
                 features = [\"stable\"], optional=true }",
            ),
            (
                "criterion={version=\"0.5\",features=[\"none\"]}",
                "criterion={package=\"criterion-topdown\", version=\"0.1\"}",
            ),
        ] {
            let manifest = |line: &str| format!("[dev-dependencies]\n{line}\nrand = \"0.9\"\n");
            assert_eq!(changed(&manifest(before)), manifest(after));
        }
    }

    #[test]
    fn inherited_dependency_changes_in_workspace() {
        let text = "[dev-dependencies]\ncriterion.workspace = true\n";
        assert_eq!(changed(text), "in the workspace");
        let root = "[workspace.dependencies]\ncriterion = \"0.5\"\n";
        let library = Library::Path("/lib".into());
        let change = change_workspace(root, Path::new("Cargo.toml"), &library)
            .unwrap()
            .unwrap();
        assert_eq!(change.replaced.len(), 1);
        assert_eq!(change.replaced[0].before, "criterion = \"0.5\"");
        assert_eq!(
            change.replaced[0].after,
            "criterion = { package = \"criterion-topdown\", path = \"/lib\" }"
        );
    }

    #[test]
    fn invalid_toml_is_refused_by_path() {
        let library = Library::Registry("0.1".to_owned());
        let Err(error) = change("[dev", Path::new("x/Cargo.toml"), &library, &[]) else {
            panic!("this is not TOML")
        };
        assert!(error.to_string().starts_with("x/Cargo.toml: "), "{error}");
    }
}
