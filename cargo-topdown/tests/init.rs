//! `cargo topdown init` on a typical workspace.

use std::fs;
use std::path::Path;

use assert_cmd::Command;

fn workspace(directory: &Path) {
    let write = |path: &str, text: &str| {
        let path = directory.join(path);
        fs::create_dir_all(path.parent().expect("a file has a directory")).unwrap();
        fs::write(path, text).unwrap();
    };
    write(
        "Cargo.toml",
        "[workspace]\nmembers = [\"one\", \"two\"]\n\n[workspace.dependencies]\ncriterion = \"0.5\"\n",
    );
    let package = |name: &str, dependency: &str| {
        format!(
            "[package]\nname = \"{name}\"\nedition = \"2021\"\n\n[dev-dependencies]\n{dependency}\n\n\
             [[bench]]\nname = \"b\"\nharness = false\n"
        )
    };
    write(
        "one/Cargo.toml",
        &package("one", "criterion.workspace = true"),
    );
    write("one/src/lib.rs", "");
    write(
        "one/benches/b.rs",
        "fn main() { b.iter_custom(|n| time(n)) }\n",
    );
    write(
        "two/Cargo.toml",
        &package(
            "two",
            "criterion = { version = \"0.4\", features = [\"html_reports\"] }",
        ),
    );
    write("two/src/lib.rs", "");
    write("two/benches/b.rs", "fn main() {}\n");
}

fn init(directory: &Path, arguments: &[&str]) -> String {
    let output = Command::cargo_bin("cargo-topdown")
        .expect("the program was built")
        .args(["topdown", "init"])
        .args(arguments)
        .current_dir(directory)
        .output()
        .expect("the program starts");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).expect("text")
}

#[test]
fn says_what_would_change_and_changes_it_only_when_told_to() {
    let directory = tempfile::tempdir().unwrap();
    workspace(directory.path());
    let before = fs::read_to_string(directory.path().join("two/Cargo.toml")).unwrap();
    insta::assert_snapshot!(init(directory.path(), &[]), @r#"
    Cargo.toml:
      - criterion = "0.5"
      + criterion = { package = "criterion-topdown", version = "0.1.0" }
    two/Cargo.toml:
      - criterion = { version = "0.4", features = ["html_reports"] }
      + criterion = { package = "criterion-topdown", version = "0.1.0", features = ["html_reports"] }
    these measure time alone if their closure returns a `Duration`:
      one/benches/b.rs:1: fn main() { b.iter_custom(|n| time(n)) }
      for slots too, let it return what `TopDown::measure(|| …)` returns
    nothing was changed; `cargo topdown init --apply` does it
    "#);
    assert_eq!(
        fs::read_to_string(directory.path().join("two/Cargo.toml")).unwrap(),
        before
    );

    let said = init(directory.path(), &["--apply"]);
    assert!(said.contains("changed; try"), "{said}");
    let root = fs::read_to_string(directory.path().join("Cargo.toml")).unwrap();
    assert!(
        root.contains("criterion = { package = \"criterion-topdown\""),
        "{root}"
    );

    let said = init(directory.path(), &[]);
    assert!(
        said.contains("two: uses criterion-topdown already"),
        "{said}"
    );
    assert!(said.contains("nothing to change"), "{said}");
}
