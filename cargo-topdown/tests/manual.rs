//! Completions and manual pages.

use assert_cmd::Command;

fn program() -> Command {
    Command::cargo_bin("cargo-topdown").unwrap()
}

#[test]
fn every_shell_has_completions_of_every_subcommand() {
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let output = program()
            .args(["topdown", "completions", shell])
            .output()
            .unwrap();
        let script = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success());
        for word in ["cargo-topdown", "compare", "doctor", "launches"] {
            assert!(script.contains(word), "{shell}: no {word}");
        }
    }
}

#[test]
fn bash_takes_its_completions() {
    let output = program()
        .args(["topdown", "completions", "bash"])
        .output()
        .unwrap();
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("completions");
    std::fs::write(&path, output.stdout).unwrap();
    let check = std::process::Command::new("bash")
        .arg("-n")
        .arg(&path)
        .output()
        .unwrap();
    assert!(check.status.success(), "{check:?}");
}

#[test]
fn program_and_subcommands_have_manual_pages() {
    let directory = tempfile::tempdir().unwrap();
    let output = program()
        .args(["topdown", "man"])
        .arg(directory.path())
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    for (page, text) in [
        ("cargo-topdown.1", "compare their TopDown slots"),
        ("cargo-topdown-bench.1", "launches"),
        ("cargo-topdown-compare.1", "report"),
        ("cargo-topdown-baseline-save.1", "NAME"),
    ] {
        let page = std::fs::read_to_string(directory.path().join(page))
            .unwrap_or_else(|error| panic!("{page}: {error}"));
        assert!(page.contains(text), "{page}");
    }
}
