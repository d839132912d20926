//! `annotate`, and `compare --annotate` on changes that are planted in functions of a bench. Needs
//! x86-64 Linux, where code can be traced.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use crate::against::PROFILE;
use crate::fixture::{Fixture, Outcome, PROGRAM};

const BENCH: &str = include_str!("annotate/planted.rs.txt");

/// A change of one line of a benchmark.
struct Planted {
    benchmark: &'static str,
    /// A part of the line, which no other line has.
    before: &'static str,
    after: &'static str,
}

const fn planted(benchmark: &'static str, before: &'static str, after: &'static str) -> Planted {
    Planted {
        benchmark,
        before,
        after,
    }
}

const ALL_PLANTED: [Planted; 10] = [
    planted(
        "gather",
        "total = total.rotate_left(3) ^ table[slot];",
        "total = total.rotate_left(3) ^ black_box(&table[..]).get(slot).copied().unwrap_or(0);",
    ),
    planted(
        "average",
        "state = (state ^ value) >> 3;",
        "state = (state ^ value) / black_box(8);",
    ),
    planted(
        "checksum",
        "for word in words.iter() {",
        "for word in words.to_vec().iter() {",
    ),
    planted("fold", "#[inline(always)]", "#[inline(never)]"),
    planted(
        "count_known",
        "let is_known = known.binary_search(value).is_ok();",
        "let is_known = known.contains(value);",
    ),
    planted(
        "frequencies",
        "type Counts = HashMap<u64, u64, BuildHasherDefault<Multiplying>>;",
        "type Counts = HashMap<u64, u64, std::hash::RandomState>;",
    ),
    planted(
        "chase",
        "const ENTRIES: usize = 256;",
        "const ENTRIES: usize = 1 << 20;",
    ),
    planted(
        "odd_sum",
        "sum = sum.wrapping_add(value * (value & 1));",
        "if value & 1 == 1 { sum = black_box(sum).wrapping_add(*value); }",
    ),
    planted(
        "doubled",
        "let mut doubled = Vec::with_capacity(values.len());",
        "let mut doubled = Vec::new();",
    ),
    planted("names", "name.clear();", "name = String::new();"),
];

/// The benches are optimized, unlike their dependencies, which the fixture has built already.
const OPTIMIZED: &str = r#"
[profile.dev.package.planted]
debug = "line-tables-only"
opt-level = 3
overflow-checks = false
"#;

/// One side of the change: a package in a directory of its own, so both executables stay.
struct Side(PathBuf);

impl Side {
    /// Each side needs its own `version`: cargo would take two packages of one name and version in
    /// one target directory for the same.
    fn new(directory: &Path, version: &str, bench: &str) -> Side {
        let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let repository = repository.canonicalize().unwrap();
        fs::create_dir_all(directory.join("benches")).unwrap();
        fs::create_dir_all(directory.join("src")).unwrap();
        fs::write(directory.join("src/lib.rs"), "").unwrap();
        fs::write(directory.join("benches/planted.rs"), bench).unwrap();
        // The repository's own releases, so nothing is downloaded.
        fs::copy(repository.join("Cargo.lock"), directory.join("Cargo.lock")).unwrap();
        let manifest = format!(
            "[package]\nname = \"planted\"\nversion = \"{version}\"\nedition = \"2024\"\n\n\
             [dev-dependencies]\n\
             criterion = {{ package = \"criterion-topdown\", path = {repository:?}, \
             features = [\"cargo_bench_support\"] }}\n\n[[bench]]\nname = \"planted\"\n\
             harness = false\n\n[workspace]\n\n{PROFILE}{OPTIMIZED}"
        );
        fs::write(directory.join("Cargo.toml"), manifest).unwrap();
        Side(directory.to_owned())
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(PROGRAM);
        command
            .args(words)
            .current_dir(&self.0)
            .env("CARGO_TARGET_DIR", self.0.join("target"))
            .env("CARGO_TOPDOWN_NO_FINGERPRINTS", "true")
            .env("CARGO_TOPDOWN_MODEL_BUDGET", "0.1")
            .env("COLUMNS", "200")
            .env_remove("CARGO_TOPDOWN_SOURCE")
            .env_remove("CARGO_TOPDOWN_COUNTERS");
        command
    }

    fn bench(&self) {
        let words = ["topdown", "bench", "--source", "model", "--launches", "1"];
        let mut command = self.command(&words);
        command.args(Fixture::build_arguments());
        Outcome::new(command).succeeds();
    }

    fn newest(&self) -> PathBuf {
        self.0.join("target/topdown/newest")
    }
}

/// Returns both sides, measured.
fn measured(directory: &TempDir) -> [Side; 2] {
    let mut after = BENCH.to_owned();
    for one in &ALL_PLANTED {
        assert_eq!(after.matches(one.before).count(), 1, "{}", one.before);
        after = after.replace(one.before, one.after);
    }
    let before = Side::new(&directory.path().join("before"), "0.1.0", BENCH);
    let after = Side::new(&directory.path().join("after"), "0.2.0", &after);
    before.bench();
    after.bench();
    [before, after]
}

#[test]
fn changed_line_is_among_the_first_five() {
    let directory = tempfile::tempdir().unwrap();
    let [before, after] = measured(&directory);
    let runs = [&before, &after].map(Side::newest);
    let mut missed = Vec::new();
    for one in &ALL_PLANTED {
        let mut command = after.command(&["topdown", "compare"]);
        command
            .args(&runs)
            .arg(format!("--annotate={}", one.benchmark));
        let shown = Outcome::new(command);
        let (_, lines) = shown.stdout.split_once(" why\n").expect(&shown.stdout);
        let first: Vec<&str> = lines.lines().take(5).collect();
        if !first.iter().any(|line| line.contains(one.after)) {
            missed.push(format!("{}:\n{}", one.benchmark, shown.stdout));
        }
    }
    assert!(missed.is_empty(), "{}", missed.join("\n\n"));
}

/// The scripted machine interrupts in `wait`, where three quarters of the slots are, and `compute`.
#[test]
fn pmu_samples_have_errors_and_are_not_called_exact() {
    let fixture = Fixture::new();
    let words = [
        "topdown", "annotate", "--bench", "kernels", "--exact", "chase",
    ];
    let environment = [("FIXTURE_HITS", "1"), ("COLUMNS", "100")];
    let shown = fixture.run(&words, &environment).succeeds().stdout;
    let source = include_str!("../fixture/suite/benches/kernels.rs");
    let line_of = |text: &str| {
        let mut lines = (1..).zip(source.lines());
        lines.find(|(_, line)| line.contains(text)).unwrap().0
    };
    let [wait, compute] = ["fn wait(_: &Work) {}", "fn compute(_: &Work) {}"].map(line_of);
    assert!(
        shown.contains(" slots per iteration, 30000 PMU samples\n"),
        "{shown}"
    );
    assert!(
        shown.contains("kernels::wait: 75.0 ± 0.5 %, 1 line\n"),
        "{shown}"
    );
    let wait = format!("75.0 ± 0.5  suite/benches/kernels.rs:{wait}  fn wait(_: &Work) {{}}\n");
    assert!(shown.contains(&wait), "{shown}");
    let compute =
        format!("25.0 ± 0.5  suite/benches/kernels.rs:{compute}  fn compute(_: &Work) {{}}\n");
    assert!(shown.contains(&compute), "{shown}");
    assert!(shown.contains("\nsampled: an interrupt finds "), "{shown}");
    assert!(!shown.contains("exact"), "{shown}");
}

#[test]
fn wrong_arguments_are_refused_with_reason() {
    let fixture = Fixture::new();
    let file = fixture.target().join("a file");
    fs::write(&file, "").unwrap();
    let file = file.to_str().unwrap();
    let annotate = ["topdown", "annotate", "--bench", "kernels"];
    for (words, code, text) in [
        (&["chaes"][..], 101, "no benchmark matches `chaes`"),
        (
            &["sums"],
            2,
            "`sums` matches 2 benchmarks; name one of them with `--exact`:",
        ),
        (&["("], 2, "unclosed group"),
        (
            &["chase", "wiat"],
            2,
            "with `wiat` in its name has slots; did you mean `wait`?",
        ),
        (
            &["chase", "--syntax", "masm"],
            2,
            "invalid value 'masm' for '--syntax <SYNTAX>'",
        ),
        (&["chase", "--pages", file], 101, file),
        (
            &[],
            2,
            "the following required arguments were not provided:\n  <BENCH>",
        ),
    ] {
        let hits = [("FIXTURE_HITS", "1")];
        let outcome = fixture.run(&[&annotate[..], words].concat(), &hits);
        outcome.fails_with(code, text);
    }
    for (words, text) in [
        (&["bench", "--annotate"][..], "so it needs `--against`"),
        (
            &["compare", "a", "b", "--syntax=att"],
            "`--syntax` says how to show lines; add `--annotate`",
        ),
        (
            &["compare", "a", "b", "--annotate", "--json"],
            "cannot be used with",
        ),
    ] {
        fixture.plain(words, &[]).fails_with(2, text);
    }
}
