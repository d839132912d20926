//! `ci/install.sh`, the only step of the action in shell: which program it installs, and that the
//! oldest bash of any runner, macOS's 3.2, understands it. CI runs these tests there, too. And what
//! an installed program does inside a clone.
#![cfg(unix)]

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use sha2::{Digest, Sha256};
use tempfile::TempDir;

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../ci/install.sh");

/// What is built, and what the release has.
const BUILT: &str = "#!/bin/sh\necho built\n";
const RELEASED: &str = "#!/bin/sh\necho released\n";

/// A clean runner, whose cargo installs `BUILT`.
struct Runner(TempDir);

impl Runner {
    fn new() -> Runner {
        let runner = Runner(tempfile::tempdir().unwrap());
        for directory in ["bin", "temp", "tools"] {
            fs::create_dir(runner.path(directory)).unwrap();
        }
        fs::write(runner.path("built"), BUILT).unwrap();
        let root = runner.0.path().display();
        runner.program(
            "cargo",
            &format!(
                "echo \"$@\" >>'{root}/calls'\n\
                 while [ \"$1\" != --root ]; do shift; done\n\
                 cp '{root}/built' \"$2/bin/cargo-topdown\"\n\
                 chmod +x \"$2/bin/cargo-topdown\"\n"
            ),
        );
        runner
    }

    fn path(&self, relative: &str) -> PathBuf {
        self.0.path().join(relative)
    }

    /// Installs a program that the script finds first.
    fn program(&self, name: &str, script: &str) {
        let path = self.path("bin").join(name);
        fs::write(&path, format!("#!/bin/sh\nset -e\n{script}")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// Lets the release 1.2.3 have a program for this machine.
    fn release(&self, checksum: Option<&str>) {
        let root = self.0.path().display();
        let digest = "{ sha256sum \"$1\" 2>/dev/null || shasum -a 256 \"$1\"; }";
        let checksum = match checksum {
            Some(checksum) => format!("echo '{checksum}  x'"),
            None => "digest \"${file%.sha256}\"".to_owned(),
        };
        fs::write(self.path("released"), RELEASED).unwrap();
        self.program(
            "curl",
            &format!(
                "digest() {digest}\n\
                 for url; do :; done\n\
                 echo \"$url\" >>'{root}/fetched'\n\
                 file=${{url##*/}}\n\
                 case $file in\n\
                 *.sha256) {checksum} >\"$file\" ;;\n\
                 *)\n\
                 name=${{file%.tar.gz}}\n\
                 mkdir \"$name\"\n\
                 cp '{root}/released' \"$name/cargo-topdown\"\n\
                 chmod +x \"$name/cargo-topdown\"\n\
                 tar -czf \"$file\" \"$name\"\n\
                 rm -r \"$name\"\n\
                 ;;\n\
                 esac\n"
            ),
        );
    }

    /// Runs the script with these inputs. Returns its exit code and log.
    fn install(&self, inputs: &[(&str, &str)]) -> (i32, String) {
        fs::write(self.path("github_path"), "").unwrap();
        let search_path = format!(
            "{}:{}",
            self.path("bin").display(),
            std::env::var("PATH").unwrap()
        );
        let output = Command::new("bash")
            .arg(SCRIPT)
            .env("PATH", search_path)
            .env("GITHUB_PATH", self.path("github_path"))
            .env("RUNNER_TEMP", self.path("temp"))
            .env("RUNNER_TOOL_CACHE", self.path("tools"))
            .env("ACTION_REPOSITORY", "owner/name")
            .env("INPUT_STORE", "")
            .env("INPUT_TOOL_SHA256", "")
            .env("INPUT_VERSION", "")
            .env_remove("GH_TOKEN")
            .envs(inputs.iter().copied())
            .output()
            .unwrap();
        let log = [output.stdout, output.stderr].concat();
        let log = String::from_utf8_lossy(&log).into_owned();
        (output.status.code().unwrap(), log)
    }

    /// Runs the script and returns what the later steps find.
    #[track_caller]
    fn installed(&self, inputs: &[(&str, &str)]) -> String {
        let (code, log) = self.install(inputs);
        assert_eq!(code, 0, "{log}");
        let directory = fs::read_to_string(self.path("github_path")).unwrap();
        let program = Path::new(directory.trim_end()).join("cargo-topdown");
        fs::read_to_string(program).unwrap()
    }

    /// Returns the arguments of each `cargo install`.
    fn builds(&self) -> Vec<String> {
        let calls = fs::read_to_string(self.path("calls")).unwrap_or_default();
        calls.lines().map(str::to_owned).collect()
    }
}

fn sha256_of_built() -> String {
    let digest = Sha256::digest(BUILT);
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn program_is_built_from_commit_of_the_action() {
    let runner = Runner::new();
    assert_eq!(runner.installed(&[]), BUILT);
    let (_, log) = runner.install(&[("INPUT_STORE", "s3://bucket/path")]);
    assert!(log.contains(&sha256_of_built()), "{log}");
    let builds = runner.builds();
    assert!(
        builds[0].contains("install --locked --path /"),
        "{builds:?}"
    );
    assert!(!builds[0].contains("object-store"), "{builds:?}");
    assert!(builds[1].contains("--features object-store"), "{builds:?}");
    // No digest, no cache.
    assert_eq!(fs::read_dir(runner.path("tools")).unwrap().count(), 0);
}

/// With a digest, each version is built once, and the runner's next job finds it.
#[test]
fn program_with_known_digest_is_built_once() {
    let runner = Runner::new();
    let sha256 = sha256_of_built();
    let expected = [("INPUT_TOOL_SHA256", &*sha256)];
    for _ in 0..2 {
        assert_eq!(runner.installed(&expected), BUILT);
        assert_eq!(runner.builds().len(), 1);
    }
    assert_eq!(runner.installed(&[]), BUILT);
    assert_eq!(runner.builds().len(), 2);
}

#[test]
fn foreign_program_in_tool_cache_is_not_trusted() {
    let runner = Runner::new();
    let sha256 = sha256_of_built();
    let expected = [("INPUT_TOOL_SHA256", &*sha256)];
    assert_eq!(runner.installed(&expected), BUILT);
    let cached = runner.path(&format!("tools/cargo-topdown/{sha256}/cargo-topdown"));
    // As a benchmark of another pull request could leave it.
    fs::write(&cached, "#!/bin/sh\necho owned\n").unwrap();
    let (code, log) = runner.install(&expected);
    assert_eq!(code, 0, "{log}");
    assert!(log.contains("was changed; it is built again"), "{log}");
    assert_eq!(runner.builds().len(), 2);

    // A link is not followed, not even to the right file; nor is a directory filled.
    fs::remove_file(&cached).unwrap();
    symlink(runner.path("built"), &cached).unwrap();
    assert_eq!(runner.installed(&expected), BUILT);
    assert_eq!(runner.builds().len(), 3);
    fs::remove_file(&cached).unwrap();
    fs::create_dir(&cached).unwrap();
    assert_eq!(runner.installed(&expected), BUILT);
    assert_eq!(runner.builds().len(), 4);

    // What was built replaced it.
    assert_eq!(runner.installed(&expected), BUILT);
    assert_eq!(runner.builds().len(), 4);
}

#[test]
fn unexpected_program_is_not_installed() {
    let runner = Runner::new();
    let wrong = "0".repeat(64);
    let (code, log) = runner.install(&[("INPUT_TOOL_SHA256", &wrong)]);
    assert_eq!(code, 101, "{log}");
    let says = format!("its SHA-256 is {}", sha256_of_built());
    assert!(log.contains(&says), "{log}");
    assert_eq!(fs::read_to_string(runner.path("github_path")).unwrap(), "");
}

#[test]
fn invalid_install_input_is_a_usage_error() {
    let digits = "A".repeat(64);
    for (input, text) in [
        ("INPUT_TOOL_SHA256", "abc"),
        ("INPUT_TOOL_SHA256", &digits),
        ("INPUT_VERSION", "main"),
        ("INPUT_VERSION", "1.2.3/../x"),
    ] {
        let runner = Runner::new();
        let (code, log) = runner.install(&[(input, text)]);
        assert_eq!(code, 2, "{log}");
        assert!(log.starts_with("::error title=cargo topdown::the input "));
        assert!(runner.builds().is_empty());
    }
}

#[test]
fn release_needs_matching_checksum() {
    let runner = Runner::new();
    let version = [("INPUT_VERSION", "1.2.3")];
    runner.release(None);
    assert_eq!(runner.installed(&version), RELEASED);
    assert!(runner.builds().is_empty());
    let fetched = fs::read_to_string(runner.path("fetched")).unwrap();
    let address = "https://github.com/owner/name/releases/download/v1.2.3/cargo-topdown-";
    assert!(fetched.starts_with(address), "{fetched}");
}

/// The action's own commit is trusted; what was fetched and is not as it should be is told.
#[test]
fn invalid_release_is_reported_and_built_instead() {
    let runner = Runner::new();
    let builds_and_says = |inputs: &[(&str, &str)], reason: &str| {
        let (code, log) = runner.install(&[&[("INPUT_VERSION", "1.2.3")], inputs].concat());
        assert_eq!(code, 0, "{log}");
        let warning = "::warning title=cargo topdown::the program of release 1.2.3 is not used: ";
        let warned = log.lines().find(|line| line.starts_with(warning));
        assert!(
            warned.is_some_and(|line| line.contains(reason)),
            "{reason}: {log}"
        );
        let directory = fs::read_to_string(runner.path("github_path")).unwrap();
        let program = Path::new(directory.trim_end()).join("cargo-topdown");
        assert_eq!(fs::read_to_string(program).unwrap(), BUILT);
    };
    let zeros = "0".repeat(64);
    runner.release(Some(&zeros));
    let changed = format!("the release says {zeros}%0AIt is built from the action's own commit");
    builds_and_says(&[], &changed);

    runner.release(None);
    runner.program("gh", "exit 1\n");
    let token = [("GH_TOKEN", "token")];
    builds_and_says(&token, "`gh attestation verify` refused cargo-topdown-");
    builds_and_says(
        &[("INPUT_STORE", "gs://bucket")],
        "have no stores in buckets",
    );

    runner.program("curl", "echo 'curl: (22) error: 404' >&2\nexit 22\n");
    builds_and_says(&[], ".tar.gz: curl: (22) error: 404%0A");
    let file = "${file%.sha256}";
    runner.program(
        "curl",
        &format!(
            "for url; do :; done\nfile=${{url##*/}}\ncase $file in\n\
             *.sha256) {{ sha256sum \"{file}\" 2>/dev/null || shasum -a 256 \"{file}\"; }} >\"$file\" ;;\n\
             *) echo half >\"$file\" ;;\nesac\n"
        ),
    );
    builds_and_says(&[], ".tar.gz could not be unpacked");
}

#[test]
fn build_obstacles_are_errors_with_remedy() {
    let runner = Runner::new();
    runner.program("cargo", "echo 'error: no network' >&2\nexit 101\n");
    let (code, log) = runner.install(&[]);
    assert_eq!(code, 101, "{log}");
    let says = "::error title=cargo topdown::the program could not be built; the log has what";
    assert!(log.contains(says), "{log}");

    // A runner without Rust.
    fs::remove_file(runner.path("bin/cargo")).unwrap();
    for program in ["bash", "mktemp", "mkdir"] {
        let found = Command::new("sh")
            .args(["-c", "command -v \"$1\"", "sh", program])
            .output();
        let path = String::from_utf8(found.unwrap().stdout).unwrap();
        symlink(path.trim_end(), runner.path("bin").join(program)).unwrap();
    }
    let only = runner.path("bin").display().to_string();
    let (code, log) = runner.install(&[("PATH", &only)]);
    assert_eq!(code, 101, "{log}");
    let says =
        "::error title=cargo topdown::there is no cargo to build the program with%0AThe benches";
    assert!(log.contains(says), "{log}");
}

#[test]
fn missing_action_variable_is_named() {
    let output = Command::new("bash").arg(SCRIPT).env_clear().output();
    let log = String::from_utf8(output.unwrap().stdout).unwrap();
    assert!(log.contains("::`RUNNER_TEMP` is not set; "), "{log}");
}

/// What macOS's bash 3.2 or its tools do not have. An array is refused altogether: where it is
/// empty, 3.2 takes `"${a[@]}"` for an unset variable.
#[test]
fn script_runs_with_macos_tools() {
    let script = fs::read_to_string(SCRIPT).unwrap();
    let code: Vec<&str> = script
        .lines()
        .filter(|line| !line.trim_start().starts_with('#'))
        .collect();
    let code = code.join("\n");
    for missing in [
        "mapfile",
        "readarray",
        "declare -",
        "local -",
        "coproc",
        "|&",
        "&>>",
        ";&",
        "^^",
        ",,}",
        "[@]}",
        "@Q}",
        "=(",
        "[ -v",
        "printf -v",
        "EPOCH",
        "wait -n",
        "shopt",
        "mv -T",
        "sed -i",
        "readlink -f",
        "realpath",
        "grep -P",
        "sha256sum --",
        "date -d",
        "stat -c",
        "timeout ",
    ] {
        assert!(!code.contains(missing), "{missing}");
    }
}

/// An alias with the program's name would come first, and cargo warns that this becomes an error.
#[test]
fn clone_runs_the_installed_program() {
    let runner = Runner::new();
    runner.program("cargo-topdown", "echo installed \"$@\"\n");
    let path = std::env::var_os("PATH").unwrap();
    let path = std::iter::once(runner.path("bin")).chain(std::env::split_paths(&path));
    let output = Command::new(env!("CARGO"))
        .arg("topdown")
        .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
        .env("PATH", std::env::join_paths(path).unwrap())
        // Nothing is built.
        .env("RUSTC", "/nowhere/rustc")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.stdout, b"installed topdown\n", "{said}");
    assert!(!said.contains("alias"), "{said}");
}
