//! Messages of the program, on narrow and on wide terminals.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;
use topdown_counters::machine::this_machine;
use topdown_run::run_file::{Run, read_run, write_run_without_samples};

const GOLDEN: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../crates/run/tests/data/run-v1"
);
const WIDTHS: [usize; 2] = [60, 120];

/// A git repository with a package that has stored runs and no benches, whose work tree has
/// changes.
struct Repository(TempDir);

impl Repository {
    fn new() -> Repository {
        // Messages wrap as long a path on every machine.
        let repository = Repository(tempfile::tempdir_in("/tmp").unwrap());
        repository.write(
            "Cargo.toml",
            "[package]\nname = \"p\"\nedition = \"2024\"\n",
        );
        repository.write("src/lib.rs", "");
        // What is stored names this machine; the messages name the hash of the commit.
        repository.write(".gitignore", "target\nCargo.lock\nbaselines\n");
        let run = Run {
            machine: this_machine(),
            ..read_run(Path::new(GOLDEN)).unwrap()
        };
        for (index, name) in ["main", "release-1.2"].iter().enumerate() {
            let earlier = Run {
                id: format!("{}-{index}", run.id),
                ..run.clone()
            };
            repository.store(&format!("baselines/{name}/{}", run.key()), &earlier);
        }
        repository.store("target/topdown/newest", &run);
        repository.git(&["init", "--quiet"]);
        repository.commit();
        repository.write("src/lib.rs", "// changed\n");
        repository
    }

    fn commit(&self) {
        self.git(&["add", "."]);
        self.git(&["commit", "--quiet", "--message", "All"]);
    }

    fn git(&self, words: &[&str]) {
        let status = Command::new("git")
            .args(words)
            .current_dir(self.0.path())
            // The commit's hash is in golden text, so nothing of the machine's may be in it.
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_AUTHOR_NAME", "a")
            .env("GIT_AUTHOR_EMAIL", "a@example.com")
            .env("GIT_AUTHOR_DATE", "2026-01-01T00:00:00Z")
            .env("GIT_COMMITTER_NAME", "a")
            .env("GIT_COMMITTER_EMAIL", "a@example.com")
            .env("GIT_COMMITTER_DATE", "2026-01-01T00:00:00Z")
            .status();
        assert!(status.unwrap().success(), "{words:?}");
    }

    fn directory(&self) -> String {
        self.0.path().display().to_string()
    }

    fn path(&self, path: &str) -> PathBuf {
        self.0.path().join(path)
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn store(&self, path: &str, run: &Run) {
        write_run_without_samples(&self.path(path), run).unwrap();
    }

    /// Returns what the program says on this many columns, without what cargo says.
    fn output_of(&self, arguments: &[&str], width: usize) -> String {
        let output = Command::new(env!("CARGO_BIN_EXE_cargo-topdown"))
            .args(arguments)
            .current_dir(self.0.path())
            .env_remove("CARGO_TOPDOWN_BASELINES")
            .env_remove("CARGO_TOPDOWN_SOURCE")
            .env("CARGO_TARGET_DIR", self.path("target"))
            .env("CARGO_NET_OFFLINE", "true")
            .env("CARGO_TERM_QUIET", "true")
            .env("COLUMNS", width.to_string())
            .output()
            .unwrap();
        String::from_utf8(output.stderr).unwrap()
    }
}

fn at_both_widths(commands: &[&[&str]]) -> String {
    in_repository(&Repository::new(), commands)
}

/// Each message at both widths. None has to be broken again by the terminal, unless a word is
/// longer than a line.
fn in_repository(repository: &Repository, commands: &[&[&str]]) -> String {
    let mut all = String::new();
    for width in WIDTHS {
        all.push_str(&format!("{}\n", "-".repeat(width)));
        for arguments in commands {
            let output_of = repository.output_of(arguments, width);
            for line in output_of.lines() {
                let is_one_word = line.split_whitespace().count() == 1;
                assert!(line.chars().count() <= width || is_one_word, "{line}");
            }
            let output_of = output_of.replace(&repository.directory(), "/tmp/.tmpREPOSI");
            all.push_str(&format!("$ {}\n{output_of}\n", arguments.join(" ")));
        }
    }
    all
}

#[test]
fn unknown_names_get_suggestions() {
    insta::assert_snapshot!(at_both_widths(&[
        &["compare", "mian"],
        &["compare", "release-1.1"],
        &["compare", "xyzzy"],
        &["baseline", "rm", "mian"],
        &["baseline", "rm", "nope"],
        &["compare", "main", "--explain", "hassh"],
        &["history", "main", "--benchmark", "hassh"],
    ]));
}

#[test]
fn invalid_patterns_fail_before_build() {
    insta::assert_snapshot!(at_both_widths(&[
        &["bench", "-E", "test(chase"],
        &["bench", "-E", "tag(fast)"],
        &["bench", "-E", "tset(chase)"],
        &["bench", "--skip", ""],
        &["bench", "sum("],
        &["compare", "main", "-E", "test(/(/)"],
    ]));
}

#[test]
fn bench_announces_its_plan() {
    insta::assert_snapshot!(at_both_widths(&[
        &["bench", "--save", "main"],
        &["bench", "--against", "HEAD"],
        &["exec", "-n", "1", "--source", "model", "--", "true"],
    ]));
}

#[test]
fn misspelt_settings_get_suggestions() {
    let repository = Repository::new();
    let mut all = String::new();
    for setting in [
        "lanches = 3",
        "launches = 0",
        "source = \"modle\"",
        "thresholds = {}",
    ] {
        let manifest = format!(
            "[package]\nname = \"p\"\nedition = \"2024\"\n[package.metadata.topdown]\n{setting}\n"
        );
        repository.write("Cargo.toml", &manifest);
        all += &format!("{setting}\n{}", in_repository(&repository, &[&["bench"]]));
    }
    insta::assert_snapshot!(all);
}

#[test]
fn contradictory_flags_are_refused() {
    insta::assert_snapshot!(at_both_widths(&[
        &["bench", "--", "--save-baseline", "main"],
        &["bench", "--", "--quick"],
        &["bench", "--against", "no-such-commit"],
        &["compare", "--source", "time"],
        &["merge"],
    ]));
}

#[test]
fn package_without_benches_gets_instructions() {
    insta::assert_snapshot!(at_both_widths(&[
        &["bench"],
        &["bench", "--list"],
        &["bench", "hash"],
        &["explain", "hash"],
    ]));
}

/// cargo cannot even resolve the base.
#[test]
fn base_gets_an_ignored_path_dependency() {
    let repository = Repository::new();
    repository.write(".gitignore", "target\nCargo.lock\nbaselines\nvendor\n");
    repository.write(
        "Cargo.toml",
        "[package]\nname = \"p\"\nedition = \"2024\"\n[dependencies]\nv = { path = \"vendor/v\" }\n\
         [[bench]]\nname = \"b\"\nharness = false\n",
    );
    repository.write("benches/b.rs", "fn main() {}\n");
    repository.commit();
    repository.write("src/lib.rs", "// changed again\n");
    repository.write(
        "vendor/v/Cargo.toml",
        "[package]\nname = \"v\"\nedition = \"2024\"\n",
    );
    repository.write("vendor/v/src/lib.rs", "");
    let output_of = repository.output_of(&["topdown", "bench", "--against", "HEAD"], 200);
    let copies = "with copies of git-ignored files that the candidate's build reads: \
                  vendor/v/Cargo.toml, vendor/v/src/lib.rs";
    assert!(output_of.contains(copies), "{output_of}");
    // Both sides were built.
    assert!(
        output_of.contains("none of the bench targets has a criterion benchmark"),
        "{output_of}"
    );
}
