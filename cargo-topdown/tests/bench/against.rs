//! `bench --against`: both sides are built and launched in turn.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

use tempfile::TempDir;

use crate::fixture::{Fixture, Outcome, PROGRAM};

const BENCH: &str = r#"
use criterion::{Criterion, criterion_group, criterion_main};
use std::hint::black_box;

fn sums(c: &mut Criterion) {
    c.bench_function("sum", |b| b.iter(|| (0..black_box(LENGTH)).map(|n| n ^ 3).sum::<u64>()));
}

criterion_group!(benches, sums);
criterion_main!(benches);
"#;

pub const CRITERION: &str =
    r#"{ version = "0.8.2", default-features = false, features = ["cargo_bench_support"] }"#;

/// As in the fixture workspace: what follows the model through millions of instructions.
pub const PROFILE: &str = r#"
[profile.dev]
debug = "line-tables-only"
lto = "off"
[profile.dev.package.criterion-topdown]
opt-level = 1
[profile.dev.package.topdown-counters]
opt-level = 1
[profile.dev.package.topdown-model]
opt-level = 1
[profile.dev.package.topdown-run]
opt-level = 1
[profile.dev.package.topdown-tracer]
opt-level = 2
[profile.dev.package.topdown-core-model]
opt-level = 2
"#;

/// A package in a git repository, whose only commit has criterion alone.
pub struct Project {
    directory: TempDir,
    /// Tests share a build directory, in which cargo names executables by package and version.
    version: u32,
}

impl Project {
    pub fn new() -> Project {
        static NEXT_VERSION: AtomicU32 = AtomicU32::new(0);
        let project = Project {
            directory: tempfile::tempdir().expect("a temporary directory"),
            version: NEXT_VERSION.fetch_add(1, Ordering::Relaxed),
        };
        let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        fs::create_dir_all(project.path("benches")).unwrap();
        fs::create_dir_all(project.path("src")).unwrap();
        fs::write(project.path("src/lib.rs"), "").unwrap();
        // The repository's own releases, so nothing is downloaded.
        fs::copy(repository.join("Cargo.lock"), project.path("Cargo.lock")).unwrap();
        fs::write(project.path(".gitignore"), "Cargo.lock\ntarget\n").unwrap();
        project.depend_on(CRITERION);
        project.sum_up_to(100);
        project.git(&["init", "--quiet"]);
        project.git(&["add", "."]);
        project.git(&["commit", "--quiet", "--message", "Criterion alone"]);
        let library = repository.canonicalize().unwrap();
        project.depend_on(&format!(
            "{{ package = \"criterion-topdown\", path = {library:?}, \
             features = [\"cargo_bench_support\"] }}"
        ));
        project
    }

    pub fn path(&self, relative: &str) -> PathBuf {
        self.directory.path().join(relative)
    }

    fn depend_on(&self, criterion: &str) {
        let version = self.version;
        let manifest = format!(
            "[package]\nname = \"summing\"\nversion = \"0.0.{version}\"\nedition = \"2024\"\n\n\
             [dev-dependencies]\ncriterion = {criterion}\n\n[[bench]]\nname = \"sums\"\nharness = false\n\n\
             [workspace.metadata.topdown]\nlaunches = 2\nsample-size = 10\n\
             warm-up-time = 0.01\nmeasurement-time = 0.02\n\n[workspace]\n\n{PROFILE}"
        );
        fs::write(self.path("Cargo.toml"), manifest).unwrap();
    }

    pub fn sum_up_to(&self, length: u64) {
        let bench = BENCH.replace("LENGTH", &length.to_string());
        fs::write(self.path("benches/sums.rs"), bench).unwrap();
    }

    pub fn git(&self, words: &[&str]) {
        let status = Command::new("git")
            .args(["-c", "user.name=a", "-c", "user.email=a@example.com"])
            .args(words)
            .current_dir(self.directory.path())
            .status();
        assert!(status.expect("git can be started").success(), "{words:?}");
    }

    /// Returns the hash of a commit.
    #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
    pub fn commit(&self, name: &str) -> String {
        let mut command = Command::new("git");
        command
            .args(["rev-parse", name])
            .current_dir(self.directory.path());
        let output = command.output().expect("git can be started");
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    /// Returns the command that measures the project.
    pub fn command(&self, words: &[&str]) -> Command {
        self.command_of("bench", words)
    }

    /// Returns a subcommand that builds the project.
    pub fn command_of(&self, subcommand: &str, words: &[&str]) -> Command {
        let mut command = Command::new(PROGRAM);
        command
            .args(["topdown", subcommand])
            .args(words)
            // The candidate's dependencies are built already, the base's are built here.
            .args(Fixture::build_arguments())
            .current_dir(self.directory.path())
            .env("CARGO_TARGET_DIR", self.path("target"))
            // One directory for both sides, unless the program keeps them apart.
            .env("CARGO_BUILD_BUILD_DIR", Fixture::build_arguments()[3])
            .env_remove("CARGO_TOPDOWN_SOURCE")
            .env_remove("CARGO_TOPDOWN_COUNTERS");
        command
    }

    fn bench(&self, words: &[&str]) -> Outcome {
        Outcome::new(self.command(words))
    }
}

#[test]
fn base_before_adoption_is_measured() {
    let project = Project::new();
    let unchanged = project.bench(&["--against", "HEAD"]).succeeds();
    let adopted = "does not use criterion-topdown yet; it is measured with the candidate's";
    assert!(unchanged.stderr.contains(adopted), "{}", unchanged.stderr);
    // What is changed in the base's worktree is ours.
    let base_is_dirty = "the baseline has uncommitted changes";
    assert!(
        !unchanged.stdout.contains(base_is_dirty),
        "{}",
        unchanged.stdout
    );

    a_feature_that_the_base_lacks_is_left_out_of_its_build(&project);

    project.sum_up_to(200);
    let slower = project.bench(&["--against", "HEAD", "--json"]);
    let comparison: serde_json::Value = serde_json::from_str(&slower.stdout).unwrap();
    let is_dirty = ["baseline", "candidate"].map(|side| &comparison[side]["git_dirty"]);
    assert_eq!(is_dirty, [false, true], "{}", slower.stderr);
    // Without the model, one benchmark of time alone is advice, which fails nothing.
    let is_modelled = comparison["benchmarks"][0]["source"] == "model";
    let code = if is_modelled { 100 } else { 0 };
    assert_eq!(slower.code, Some(code), "{}", slower.stdout);
    for side in ["base", "candidate"] {
        let is_told = slower.stderr.contains(&format!("Modelling the {side}\n"));
        assert_eq!(is_told, is_modelled, "{}", slower.stderr);
    }

    #[cfg(target_os = "linux")]
    regressions_are_sampled_unless_forbidden(&project);
}

/// Part of the test above, too.
fn a_feature_that_the_base_lacks_is_left_out_of_its_build(project: &Project) {
    let manifest = fs::read_to_string(project.path("Cargo.toml")).unwrap();
    let with_feature = manifest.clone() + "\n[features]\nmore = []\n";
    fs::write(project.path("Cargo.toml"), with_feature).unwrap();
    let outcome = project.bench(&["--against", "HEAD", "--features", "more"]);
    let said = outcome.succeeds().stderr;
    let expected = "is built without the feature `more`, which it does not have";
    assert!(said.contains(expected), "{said}");
    fs::write(project.path("Cargo.toml"), manifest).unwrap();
}

/// Where a benchmark counts its own slots and says where in its code they are. Part of the test
/// above, too.
#[cfg(target_os = "linux")]
fn regressions_are_sampled_unless_forbidden(project: &Project) {
    let wait_for = |slots: u64| {
        let bench =
            include_str!("sampled.rs.txt").replace("SLOTS_PER_ITERATION", &slots.to_string());
        fs::write(project.path("benches/sums.rs"), bench).unwrap();
    };
    // The stand-in for criterion would look for counters first.
    let library = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let library = library.canonicalize().unwrap();
    project.depend_on(&format!(
        "{CRITERION}\n\
         criterion-topdown = {{ path = {library:?}, features = [\"cargo_bench_support\"] }}\n\
         topdown-counters = {{ path = {:?} }}\n\
         topdown-run = {{ path = {:?} }}",
        library.join("crates/counters"),
        library.join("crates/run"),
    ));
    wait_for(100);
    project.git(&[
        "commit",
        "--quiet",
        "--all",
        "--message",
        "Counts for itself",
    ]);
    wait_for(150);
    let named = |words: &[&str]| {
        let outcome = project.bench(&[&["--against", "HEAD", "--json"][..], words].concat());
        assert_eq!(outcome.code, Some(100), "{outcome:?}");
        outcome.stdout.contains("\"name\": \"sums::wait\"")
    };
    assert!(named(&[]));
    assert!(named(&["--functions"]));
    assert!(!named(&["--functions=false"]));
}
