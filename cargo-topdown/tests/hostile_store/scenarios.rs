//! The commands that store something, and what must be there before and after each.

use super::KEY;

/// A command that stores something.
pub struct Scenario {
    pub name: &'static str,
    pub words: &'static [&'static str],
    /// What must be there in any case, by place: the workspace, the two stores.
    pub kept: [&'static [&'static str]; 3],
    /// What is there after the command has succeeded.
    pub stored: [&'static [&'static str]; 3],
}

pub const BEFORE: [&[&str]; 3] = [&["one", "two"], &["three", "zero"], &["three", "zero"]];
pub const TOPLEV: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/import/toplev.csv");
/// The directory of temporary files.
pub const TEMPORARY: &str = "tmp";
pub const DIRECTORY: &str = "../directory";
pub const REPOSITORY: &str = "git+../repository.git#runs";

pub const SCENARIOS: [Scenario; 18] = [
    Scenario {
        name: "save",
        words: &["baseline", "save", "main", "../new"],
        kept: BEFORE,
        stored: [&["new", "one", "two"], BEFORE[1], BEFORE[2]],
    },
    Scenario {
        name: "accept",
        words: &[
            "baseline",
            "accept",
            "baselines/main/x86_64-GenuineIntel-06-8f-08-kvm-smt",
            "json/twitter/1024",
            "--run",
            "../slower",
            "--reason",
            "so be it",
        ],
        kept: BEFORE,
        stored: BEFORE,
    },
    Scenario {
        name: "push to a directory",
        words: &["baseline", "push", "--store", DIRECTORY],
        kept: BEFORE,
        stored: [BEFORE[0], &["one", "three", "two", "zero"], BEFORE[2]],
    },
    Scenario {
        name: "push to git",
        words: &["baseline", "push", "--store", REPOSITORY],
        kept: BEFORE,
        stored: [BEFORE[0], BEFORE[1], &["one", "three", "two", "zero"]],
    },
    Scenario {
        name: "pull from a directory",
        words: &["baseline", "pull", "--all-machines", "--store", DIRECTORY],
        kept: BEFORE,
        stored: [&["one", "three", "two", "zero"], BEFORE[1], BEFORE[2]],
    },
    Scenario {
        name: "pull from git",
        words: &["baseline", "pull", "--all-machines", "--store", REPOSITORY],
        kept: BEFORE,
        stored: [&["one", "three", "two", "zero"], BEFORE[1], BEFORE[2]],
    },
    Scenario {
        name: "gc of a directory",
        words: &["baseline", "gc", "--keep", "1", "--store", DIRECTORY],
        kept: [BEFORE[0], &["three"], BEFORE[2]],
        stored: [BEFORE[0], &["three"], BEFORE[2]],
    },
    Scenario {
        name: "gc of git",
        words: &["baseline", "gc", "--keep", "1", "--store", REPOSITORY],
        kept: [BEFORE[0], BEFORE[1], &["three"]],
        stored: [BEFORE[0], BEFORE[1], &["three"]],
    },
    Scenario {
        name: "remove",
        words: &["baseline", "remove", "other", "--all"],
        kept: BEFORE,
        stored: BEFORE,
    },
    writes_beside_stores("import", &["import", "--machine", KEY, "../toplev.csv"]),
    writes_beside_stores("merge", &["merge", "../new", "--output", "run"]),
    writes_beside_stores(
        "compare",
        &[
            "compare",
            "../one",
            "../new",
            "--report",
            "html=page.html",
            "--report",
            "json=comparison.json",
        ],
    ),
    writes_beside_stores("doctor", &["doctor", "--report", "report.json"]),
    writes_beside_stores("report", &["report", "../one", "--html", "page.html"]),
    writes_beside_stores("man", &["man", "pages"]),
    writes_beside_stores(
        "exec",
        &[
            "exec",
            "--launches",
            "1",
            "--source",
            "time",
            "--save",
            "commands",
            "--",
            "true",
        ],
    ),
    writes_beside_stores(
        "init",
        &[
            "init",
            "--apply",
            "--library",
            "../library",
            "--ci",
            "github",
            "--manifest-path",
            "../adopting/Cargo.toml",
        ],
    ),
    writes_beside_stores("ci plan", &["ci", "plan"]),
];

/// A workspace that `init` changes, the library without its dependencies, and where `ci` writes.
pub const ADOPTING: [(&str, &str); 8] = [
    (
        "adopting/Cargo.toml",
        "[package]\nname = \"adopting\"\nedition = \"2021\"\nrust-version = \"1.70\"\n\n\
         [dev-dependencies]\ncriterion = \"0.8\"\n\n[[bench]]\nname = \"b\"\nharness = false\n",
    ),
    ("adopting/src/lib.rs", ""),
    ("adopting/benches/b.rs", "criterion_main!(benches);\n"),
    (
        "library/Cargo.toml",
        "[package]\nname = \"criterion-topdown\"\nversion = \"0.1.0\"\n",
    ),
    ("library/src/lib.rs", ""),
    ("runner/output", ""),
    ("home/none", ""),
    ("adopting/.git/none", ""),
];

/// A command that changes no store.
pub const fn writes_beside_stores(name: &'static str, words: &'static [&'static str]) -> Scenario {
    Scenario {
        name,
        words,
        kept: BEFORE,
        stored: BEFORE,
    }
}
