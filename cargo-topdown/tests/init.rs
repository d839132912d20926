//! `cargo topdown init` on typical workspaces.

#[cfg(unix)]
#[path = "init/interrupted.rs"]
mod interrupted;

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use assert_cmd::Command;

const CRITERION_BENCH: &str = "criterion_main!(benches);\n";

/// A workspace in a directory of its own.
struct Workspace {
    directory: tempfile::TempDir,
}

impl Workspace {
    /// Two packages with criterion of different age.
    fn new() -> Workspace {
        let workspace = Workspace::empty();
        workspace.write(
            "Cargo.toml",
            "[workspace]\nmembers = [\"one\", \"two\"]\n\n\
             [workspace.dependencies]\ncriterion = \"0.8\"\n",
        );
        workspace.package("one", "criterion.workspace = true", "harness = false");
        workspace.write(
            "one/benches/b.rs",
            "fn main() { criterion::b.iter_custom(|n| time(n)) }\n",
        );
        workspace.package(
            "two",
            "criterion = { version = \"0.4\", features = [\"html_reports\", \"async_std\"] }",
            "harness = false",
        );
        workspace.write("two/benches/b.rs", CRITERION_BENCH);
        workspace
    }

    fn empty() -> Workspace {
        let directory = tempfile::tempdir().unwrap();
        let workspace = Workspace { directory };
        fs::create_dir(workspace.path("")).unwrap();
        // The library, without its dependencies: nothing is to be downloaded.
        workspace.write(
            "../library/Cargo.toml",
            "[package]\nname = \"criterion-topdown\"\nversion = \"0.1.0\"\n\
             [features]\nhtml_reports = []\nrayon = []\n",
        );
        workspace.write("../library/src/lib.rs", "");
        workspace.write("../home/none", "");
        workspace
    }

    fn path(&self, path: &str) -> PathBuf {
        self.directory.path().join("project").join(path)
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().expect("a file has a directory")).unwrap();
        fs::write(path, text).unwrap();
    }

    fn read(&self, path: &str) -> String {
        fs::read_to_string(self.path(path)).unwrap()
    }

    /// Each file with its text, by its path.
    fn files(&self) -> BTreeMap<PathBuf, String> {
        let mut files = BTreeMap::new();
        let mut directories = vec![self.path("")];
        while let Some(directory) = directories.pop() {
            for entry in fs::read_dir(directory).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    directories.push(path);
                } else {
                    let text = fs::read_to_string(&path).unwrap();
                    files.insert(path, text);
                }
            }
        }
        files
    }

    /// A package with the bench target `b`.
    fn package(&self, name: &str, dependency: &str, harness: &str) {
        self.write(
            &format!("{name}/Cargo.toml"),
            &format!(
                "[package]\nname = \"{name}\"\nedition = \"2021\"\nrust-version = \"1.70\"\n\n\
                 [dev-dependencies]\n{dependency}\n\n[[bench]]\nname = \"b\"\n{harness}\n"
            ),
        );
        self.write(&format!("{name}/src/lib.rs"), "");
    }

    /// Runs `init` and returns its exit code with what it printed, paths made equal everywhere.
    fn run(&self, arguments: &[&str]) -> (Option<i32>, String) {
        self.run_with(arguments, ("CARGO_NET_OFFLINE", "true"))
    }

    fn run_with(&self, arguments: &[&str], variable: (&str, &str)) -> (Option<i32>, String) {
        let output = Command::cargo_bin("cargo-topdown")
            .expect("the program was built")
            .args(["topdown", "init"])
            .args(arguments)
            .current_dir(self.path(""))
            .env("CARGO_HOME", self.path("../home"))
            .env(variable.0, variable.1)
            .output()
            .expect("the program starts");
        let text = [output.stdout, output.stderr].concat();
        let text = String::from_utf8(text).expect("text");
        let here = self.directory.path().canonicalize().unwrap();
        let here = here.display().to_string();
        (output.status.code(), text.replace(&here, "HERE"))
    }

    /// Runs `init`, which must succeed, with the library of [`empty`](Workspace::empty).
    fn init(&self, arguments: &[&str]) -> String {
        let (code, text) = self.run(&[&["--library=../library"], arguments].concat());
        assert_eq!(code, Some(0), "{text}");
        text
    }
}

#[test]
fn init_writes_only_on_request() {
    let workspace = Workspace::new();
    let before = workspace.read("two/Cargo.toml");
    insta::assert_snapshot!(workspace.init(&[]));
    assert_eq!(workspace.read("two/Cargo.toml"), before);

    let said = workspace.init(&["--apply"]);
    assert!(said.contains("changed; try"), "{said}");
    let root = workspace.read("Cargo.toml");
    let dependency = "criterion = { package = \"criterion-topdown\", path = \"";
    assert!(root.contains(dependency), "{root}");

    let said = workspace.init(&[]);
    assert!(
        said.contains("two: uses criterion-topdown already"),
        "{said}"
    );
    assert!(said.contains("no manifest needs to change"), "{said}");
}

/// The relative path of the command line is not relative to the manifest of a member.
#[test]
fn cargo_resolves_written_manifest() {
    let workspace = Workspace::empty();
    workspace.write("Cargo.toml", "[workspace]\nmembers = [\"one\"]\n");
    workspace.package("one", "criterion = \"0.8\"", "harness = false");
    workspace.write("one/benches/b.rs", CRITERION_BENCH);
    workspace.init(&["--apply"]);
    let output = std::process::Command::new("cargo")
        .args(["generate-lockfile", "--offline"])
        .current_dir(workspace.path(""))
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
}

#[test]
fn unresolvable_manifest_is_not_written() {
    let workspace = Workspace::new();
    // A registry that has nothing.
    workspace.write(
        ".cargo/config.toml",
        "[source.crates-io]\nreplace-with = \"none\"\n[source.none]\ndirectory = \"none\"\n",
    );
    workspace.write("none/readme", "");
    let before = workspace.read("two/Cargo.toml");
    for library in ["registry", "nowhere", "file://nowhere"] {
        let library = format!("--library={library}");
        let (code, said) = workspace.run(&["--apply", &library]);
        assert_eq!(code, Some(2), "{said}");
        assert!(said.contains("cargo cannot find the library"), "{said}");
    }
    let (_, said) = workspace.run(&["--library=registry"]);
    insta::assert_snapshot!(said);
    assert_eq!(workspace.read("two/Cargo.toml"), before);
}

/// Its manifest, and what cargo says of it when the library stands in for criterion.
const UNRESOLVABLE: [(&str, &str); 2] = [
    // A feature that criterion 0.8 no longer has.
    (
        "[features]\nslow = [\"criterion/async_std\"]\n[dev-dependencies]\ncriterion = \"0.5\"",
        "does not have that feature",
    ),
    // A table that `init` does not change, so that the package has two sources of criterion.
    (
        "[dev-dependencies]\ncriterion = \"0.5\"\n[build-dependencies]\ncriterion = \"0.5\"",
        "has different source paths",
    ),
];

#[test]
fn unresolvable_manifests_are_restored() {
    for (dependencies, reason) in UNRESOLVABLE {
        for lock_file in [None, Some("version = 4\n")] {
            let workspace = Workspace::empty();
            workspace.write("Cargo.toml", "[workspace]\nmembers = [\"first\", \"p\"]\n");
            workspace.package("first", "criterion = \"0.8\"", "harness = false");
            workspace.write("first/benches/b.rs", CRITERION_BENCH);
            let bench = "[[bench]]\nname = \"b\"\nharness = false\n";
            let package = "[package]\nname = \"p\"\nedition = \"2021\"";
            workspace.write(
                "p/Cargo.toml",
                &format!("{package}\n{dependencies}\n{bench}"),
            );
            workspace.write("p/src/lib.rs", "");
            workspace.write("p/benches/b.rs", CRITERION_BENCH);
            if let Some(text) = lock_file {
                workspace.write("Cargo.lock", text);
            }
            let before = workspace.files();
            let arguments = ["--library=../library", "--apply", "--ci=gitlab"];
            let (code, said) = workspace.run(&arguments);
            assert_eq!(code, Some(101), "{said}");
            assert!(
                said.contains(reason) && !said.contains("warning: "),
                "{said}"
            );
            assert!(said.contains("all files were restored"), "{said}");
            assert_eq!(workspace.files(), before);
        }
    }
}

#[test]
fn conflicting_workflow_prevents_all_changes() {
    let workspace = Workspace::new();
    workspace.write(".gitlab-ci.yml", "stages: [build]\n");
    let before = workspace.files();
    let (code, said) = workspace.run(&["--library=../library", "--apply", "--ci=gitlab"]);
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("exists and was not changed"), "{said}");
    assert_eq!(workspace.files(), before);
}

/// `init` asks cargo, which writes one.
#[test]
fn missing_lock_file_stays_missing() {
    let workspace = Workspace::new();
    workspace.init(&["--apply"]);
    assert!(!workspace.path("Cargo.lock").exists());
}

#[test]
fn inherited_feature_unknown_to_library_is_dropped() {
    let workspace = Workspace::new();
    let inherited = "criterion = { workspace = true, features = [\"async_std\", \"rayon\"] }";
    workspace.package("one", inherited, "harness = false");
    let said = workspace.init(&["--apply"]);
    assert!(
        said.contains("criterion 0.8 has no feature `async_std`"),
        "{said}"
    );
    let kept = "criterion = { workspace = true, features = [\"rayon\"] }";
    let manifest = workspace.read("one/Cargo.toml");
    assert!(manifest.contains(kept), "{manifest}");
}

#[test]
fn registry_and_git_sources_are_valid() {
    let workspace = Workspace::new();
    workspace.write(
        ".cargo/config.toml",
        "[source.crates-io]\nreplace-with = \"all\"\n[source.all]\ndirectory = \"registry\"\n",
    );
    let package = "registry/criterion-topdown";
    workspace.write(
        &format!("{package}/Cargo.toml"),
        "[package]\nname = \"criterion-topdown\"\nversion = \"0.1.0\"\n",
    );
    workspace.write(&format!("{package}/src/lib.rs"), "");
    workspace.write(&format!("{package}/.cargo-checksum.json"), "{\"files\":{}}");
    let (code, said) = workspace.run(&["--library=registry"]);
    assert_eq!(code, Some(0), "{said}");
    let written = "+ criterion = { package = \"criterion-topdown\", version = \"0.1.0\" }";
    assert!(said.contains(written), "{said}");

    for words in [
        &["init", "--quiet"][..],
        &["add", "."],
        &[
            "-c",
            "user.name=a",
            "-c",
            "user.email=a@b",
            "commit",
            "-qm1",
        ],
    ] {
        let git = std::process::Command::new("git")
            .args(words)
            .current_dir(workspace.path("../library"))
            .status();
        assert!(git.unwrap().success());
    }
    let library = workspace.path("../library").canonicalize().unwrap();
    let url = format!("--library=file://{}", library.display());
    let (code, said) = workspace.run(&[&url]);
    assert_eq!(code, Some(2), "nothing is fetched offline: {said}");
    let (code, said) = workspace.run_with(&[&url], ("CARGO_NET_OFFLINE", "false"));
    assert_eq!(code, Some(0), "{said}");
    let written =
        "+ criterion = { package = \"criterion-topdown\", git = \"file://HERE/library\" }";
    assert!(said.contains(written), "{said}");
}

#[test]
fn obstacles_to_measuring_are_listed() {
    let workspace = Workspace::empty();
    workspace.write("Cargo.toml", "[workspace]\nmembers = [\"p*\"]\n");
    let own = "harness = false";
    for (name, dependency, harness, bench) in [
        ("p-no-harness", "criterion = \"0.8\"", "", CRITERION_BENCH),
        ("p-divan", "divan = \"0.1\"", own, "divan::main();\n"),
        ("p-libtest", "rand = \"1\"", "", "#[bench]\nfn b() {}\n"),
        ("p-other", "rand = \"1\"", own, "fn main() {}\n"),
    ] {
        workspace.package(name, dependency, harness);
        workspace.write(&format!("{name}/benches/b.rs"), bench);
    }
    insta::assert_snapshot!(workspace.init(&[]));
}

/// As in petgraph 0.8.3, which has 28 such targets.
#[test]
fn advice_for_other_framework_is_given_once() {
    let workspace = Workspace::empty();
    workspace.write("Cargo.toml", "[package]\nname = \"p\"\n");
    workspace.write("src/lib.rs", "");
    for name in ["dijkstra", "matching", "simple_paths", "stable_graph"] {
        let path = format!("benches/{name}.rs");
        workspace.write(&path, "#[bench]\nfn b() {}\n");
    }
    let said = workspace.init(&[]);
    assert_eq!(
        said.matches("&mut Criterion` and call").count(),
        1,
        "{said}"
    );
    insta::assert_snapshot!(said);
}

/// As in json-strip-comments 3.1.0, and in many projects that CodSpeed measures.
#[test]
fn fork_of_criterion_stays_and_is_reported() {
    let workspace = Workspace::empty();
    workspace.write("Cargo.toml", "[workspace]\nmembers = [\"p*\"]\n");
    let compat = "criterion = { package = \"codspeed-criterion-compat\", version = \"3\" }";
    for (name, dependency) in [("p-fork", "criterion2 = \"3\""), ("p-compat", compat)] {
        workspace.package(name, dependency, "harness = false");
        workspace.write(&format!("{name}/benches/b.rs"), CRITERION_BENCH);
    }
    insta::assert_snapshot!(workspace.init(&["--apply"]));
}

/// As in nom 8.0.0: a member that cargo does not select by default depends on criterion, but its
/// benches name a fork.
#[test]
fn benches_using_a_fork_beside_criterion_are_named() {
    let workspace = Workspace::empty();
    let root = "[package]\nname = \"p\"\n[workspace]\nmembers = [\"p-*\"]\n";
    workspace.write("Cargo.toml", root);
    workspace.write("src/lib.rs", "");
    let fork = "[package]\nname = \"codspeed-criterion-compat\"\n";
    workspace.write("fork/Cargo.toml", fork);
    workspace.write("fork/src/lib.rs", "");
    let dependencies = "criterion = \"0.8\"\ncodspeed-criterion-compat.path = \"../fork\"";
    for (name, bench) in [
        (
            "p-fork",
            "use codspeed_criterion_compat::*;\ncriterion_main!(benches);\n",
        ),
        ("p-both", CRITERION_BENCH),
    ] {
        workspace.package(name, dependencies, "harness = false");
        workspace.write(&format!("{name}/benches/b.rs"), bench);
    }
    insta::assert_snapshot!(workspace.init(&["--apply"]));
}

/// As in chrono and rand, whose benches are packages outside the workspace.
#[test]
fn package_outside_the_workspace_is_reported() {
    let workspace = Workspace::empty();
    workspace.write(
        "Cargo.toml",
        "[package]\nname = \"p\"\n[workspace]\nexclude = [\"bench\"]\n",
    );
    workspace.write("src/lib.rs", "");
    workspace.package("bench", "criterion = \"0.5\"", "harness = false");
    workspace.write("bench/benches/b.rs", CRITERION_BENCH);
    insta::assert_snapshot!(workspace.init(&["--apply"]));
}

/// Cargo leaves such targets out, so a workflow that does not pass the features measures nothing.
#[test]
fn required_features_reach_the_workflow() {
    let workspace = Workspace::empty();
    workspace.write("Cargo.toml", "[workspace]\nmembers = [\"p*\"]\n");
    let features = "\n[features]\ndefault = [\"on\"]\non = [\"within\"]\nwithin = []\noff = []\n";
    for (name, required) in [
        ("p-off", "\"on\", \"within\", \"off\""),
        ("p-on", "\"on\", \"within\""),
        ("p-other", "\"off\""),
    ] {
        let own = format!("harness = false\nrequired-features = [{required}]{features}");
        workspace.package(name, "criterion = \"0.8\"", &own);
        let is_criterion = name != "p-other";
        let bench = if is_criterion {
            CRITERION_BENCH
        } else {
            "divan::main();\n"
        };
        workspace.write(&format!("{name}/benches/b.rs"), bench);
    }
    insta::assert_snapshot!(workspace.init(&["--ci=github"]));
    let github = workspace.read(".github/workflows/topdown.yml");
    let arguments =
        "            --workspace\n            --features=p-off/off\n            --locked\n";
    assert!(github.contains(arguments), "{github}");
    workspace.init(&["--ci=gitlab"]);
    let gitlab = workspace.read(".gitlab-ci.yml");
    let command = "cargo topdown bench --workspace --features=p-off/off --against ";
    assert!(gitlab.contains(command), "{gitlab}");
}

/// As in metrics (dae3a67). Cargo warns of such a feature, and refuses it in `--features`.
#[test]
fn target_with_unknown_feature_is_never_built() {
    let workspace = Workspace::empty();
    workspace.write("Cargo.toml", "[workspace]\nmembers = [\"p*\"]\n");
    for (name, required, features) in [
        ("p-gone", "\"handles\", \"off\", \"nothing/x\"", "off = []"),
        // Neither is an implicit feature, as the name is taken with `dep:`.
        ("p-hidden", "\"helper\"", "on = [\"dep:helper\"]"),
        ("p-off", "\"off\", \"helper\"", "off = []"),
    ] {
        let helper = "helper = { version = \"1\", optional = true }";
        let own = format!(
            "harness = false\nrequired-features = [{required}]\n\n[features]\n{features}\n\n\
             [dependencies]\n{helper}\n"
        );
        workspace.package(name, "criterion = \"0.8\"", &own);
        workspace.write(&format!("{name}/benches/b.rs"), CRITERION_BENCH);
    }
    let said = workspace.init(&["--ci=github"]);
    assert!(!said.contains("--features p-gone/"), "{said}");
    insta::assert_snapshot!(said);
    let github = workspace.read(".github/workflows/topdown.yml");
    assert!(
        github.contains("            --features=p-off/helper,p-off/off\n"),
        "{github}"
    );
}

/// As in metrics (dae3a67), whose members inherit both.
#[test]
fn common_changes_of_members_are_listed_once() {
    let workspace = Workspace::empty();
    workspace.write("Cargo.toml", "[workspace]\nmembers = [\"p*\"]\n");
    for (name, version) in [
        ("p-a", "0.5"),
        ("p-b", "0.5"),
        ("p-c", "0.4"),
        ("p-d", "0.5"),
        ("p-e", "0.5"),
    ] {
        let dependency = format!("criterion = \"{version}\"");
        workspace.package(name, &dependency, "harness = false");
        workspace.write(&format!("{name}/benches/b.rs"), CRITERION_BENCH);
    }
    let newer = workspace.read("p-b/Cargo.toml").replace("1.70", "1.71.1");
    workspace.write("p-b/Cargo.toml", &newer);
    let said = workspace.init(&[]);
    assert_eq!(said.matches("newer Rust").count(), 1, "{said}");
    let start = said.find("p-a, ").unwrap_or_else(|| panic!("{said}"));
    let end = said.find("benches need Rust").unwrap();
    insta::assert_snapshot!(&said[start..end]);
}

#[test]
fn workspace_without_criterion_gets_instructions() {
    let workspace = Workspace::empty();
    workspace.write("Cargo.toml", "[package]\nname = \"p\"\n");
    workspace.write("src/lib.rs", "");
    insta::assert_snapshot!(workspace.init(&["--apply"]));
}

/// As after trying it from a clone, whose path CI does not have.
#[test]
fn library_can_be_changed_after_adoption() {
    let workspace = Workspace::new();
    workspace.init(&["--apply"]);
    let said = workspace.init(&["--ci=github"]);
    assert!(said.contains("valid only on this machine"), "{said}");
    let manifest = workspace.read("../library/Cargo.toml");
    workspace.write("../other/Cargo.toml", &manifest);
    workspace.write("../other/src/lib.rs", "");
    let (code, said) = workspace.run(&["--library=../other", "--apply"]);
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("changed; try"), "{said}");
    for manifest in ["Cargo.toml", "two/Cargo.toml"] {
        let text = workspace.read(manifest);
        assert!(text.contains("/other\""), "{text}");
        assert!(!text.contains("/library\""), "{text}");
    }
}

#[test]
fn workflow_is_written_once() {
    let workspace = Workspace::new();
    let said = workspace.init(&["--ci=github"]);
    assert!(
        said.contains("wrote .github/workflows/topdown.yml"),
        "{said}"
    );
    assert!(
        said.contains("replace `<owner>/cargo-topdown@<commit>`"),
        "{said}"
    );
    workspace.write(".gitlab-ci.yml", "stages: [build]\n");
    let (code, said) = workspace.run(&["--library=../library", "--ci=gitlab"]);
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("exists and was not changed"), "{said}");
    assert_eq!(workspace.read(".gitlab-ci.yml"), "stages: [build]\n");
}
