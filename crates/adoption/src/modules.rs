//! Files that a source includes as modules: some benches have all of their code there.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

/// Enough for any bench.
const MAX_FILES: usize = 1000;

/// Returns the files, and their texts, that the root `path` of a target with this text includes by
/// `mod name;`, directly or not. Files that are missing are left to the compiler.
///
/// This searches lines instead of parsing Rust: `mod` in macros or inline modules is not followed.
pub(super) fn of_target(path: &Path, text: &str) -> Vec<(PathBuf, String)> {
    let directory = path.parent().unwrap_or(Path::new(""));
    let mut found = Vec::new();
    let mut known = HashSet::from([path.canonicalize().unwrap_or_default()]);
    let mut waiting = declared(text, directory, directory);
    while let Some(candidates) = waiting.pop().filter(|_| found.len() < MAX_FILES) {
        let mut files = candidates.into_iter().filter(|path| path.is_file());
        let Some(path) = files.find(|path| known.insert(path.canonicalize().unwrap_or_default()))
        else {
            continue;
        };
        let Ok(text) = std::fs::read_to_string(&path) else {
            continue;
        };
        let beside = path.parent().unwrap_or(Path::new(""));
        let below = match path.file_stem() {
            Some(stem) if stem != "mod" => beside.join(stem),
            _ => beside.to_owned(),
        };
        waiting.extend(declared(&text, beside, &below));
        found.push((path, text));
    }
    found
}

/// Returns the possible files of each module that `text` declares. Names are below one directory,
/// and the paths of attributes below the other.
fn declared(text: &str, beside: &Path, below: &Path) -> Vec<Vec<PathBuf>> {
    let mut modules = Vec::new();
    let mut attribute = None;
    for line in text.lines().map(str::trim) {
        let (path, rest) = match line.strip_prefix("#[path = \"") {
            Some(line) => line.split_once("\"]").unzip(),
            None => (None, Some(line)),
        };
        attribute = path.or(attribute);
        let Some(rest) = rest.map(str::trim).filter(|rest| !rest.is_empty()) else {
            continue;
        };
        if let Some(name) = name_of_module(rest) {
            modules.push(match attribute {
                Some(path) => vec![beside.join(path)],
                None => vec![
                    below.join(format!("{name}.rs")),
                    below.join(name).join("mod.rs"),
                ],
            });
        }
        if !rest.starts_with("#[") && !rest.starts_with("//") {
            attribute = None;
        }
    }
    modules
}

/// Returns the name in `pub(crate) mod name;`.
fn name_of_module(line: &str) -> Option<&str> {
    let (declaration, _) = line.split_once(';')?;
    let (visibility, name) = match declaration.strip_prefix("mod ") {
        Some(name) => ("pub", name),
        None => declaration.split_once(" mod ")?,
    };
    let is_name = name.chars().all(|c| c.is_alphanumeric() || c == '_');
    (visibility.starts_with("pub") && is_name).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_are_followed() {
        let directory = tempfile::tempdir().unwrap();
        let benches = directory.path().join("benches");
        let write = |name: &str, text: &str| {
            let path = benches.join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        write(
            "a.rs",
            "mod inner;\n#[path = \"../benches/main.rs\"]\nmod round;\n",
        );
        write("a/inner.rs", "");
        write("b/mod.rs", "pub(crate) mod c;\n");
        write("b/c.rs", "");
        write("elsewhere.rs", "");
        write("not.rs", "");
        let main = "#[macro_use]\nmod a;\npub mod b;\n#[path = \"elsewhere.rs\"]\nmod by_path;\n\
                    mod missing;\n// mod not;\nmod not { mod inline; }\nlet x = \"mod not\";\n";
        write("main.rs", main);
        let found = of_target(&benches.join("main.rs"), main);
        let mut names: Vec<String> = found
            .iter()
            .map(|(path, _)| path.strip_prefix(&benches).unwrap_or(path))
            .map(|path| path.display().to_string().replace('\\', "/"))
            .collect();
        names.sort();
        assert_eq!(
            names,
            ["a.rs", "a/inner.rs", "b/c.rs", "b/mod.rs", "elsewhere.rs"]
        );
    }
}
