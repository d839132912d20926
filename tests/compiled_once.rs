//! `cargo try-topdown bench` in a fresh clone compiles the program and then the benches. What both
//! need is compiled once only if it has the same features.

use std::collections::BTreeMap;
use std::process::Command;

/// Small, and insta wants more of it.
const DIFFERENT: &str = "once_cell";

/// Returns the features of each package that `words` of `cargo tree` select.
fn features(words: &[&str]) -> BTreeMap<String, String> {
    let tree = Command::new(env!("CARGO"))
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .args(["tree", "--locked", "--offline", "--prefix", "none"])
        .args(["--format", "{p}|{f}"])
        .args(words)
        .output()
        .expect("cargo runs");
    assert!(tree.status.success(), "{tree:?}");
    let text = String::from_utf8(tree.stdout).expect("cargo prints text");
    text.lines()
        .filter_map(|line| line.trim_end_matches(" (*)").split_once('|'))
        .map(|(package, features)| (package.to_owned(), features.to_owned()))
        .collect()
}

#[test]
fn program_and_benches_share_dependencies() {
    let program = features(&["--package", "cargo-topdown", "--edges", "normal,build"]);
    let benches = features(&["--package", "criterion-topdown", "--features", "launches"]);
    let mut different = Vec::new();
    for (package, features) in &benches {
        let name = package.split(' ').next().unwrap_or_default();
        // Packages of this workspace have their path; benches optimize them anyway.
        let is_shared = !package.contains('(') || package.ends_with("(proc-macro)");
        let of_program = program.get(package).filter(|_| is_shared);
        if of_program.is_some_and(|program| program != features) && name != DIFFERENT {
            different.push((package, features, of_program));
        }
    }
    assert!(different.is_empty(), "{different:#?}");
    let shared = benches
        .keys()
        .filter(|package| program.contains_key(*package));
    assert!(shared.count() > 30, "{benches:#?}");
}
