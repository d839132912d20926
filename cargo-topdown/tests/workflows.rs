//! The example workflows and this repository's own: what they use exists, and what they run is
//! valid shell.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use topdown_skipped::{Need, skip};

use serde_json::Value;

const REPOSITORY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");

/// Stands for this repository in the examples. No account can have this name, so a user who forgets
/// to replace it gets an error, never an action from someone who took the name.
const PLACEHOLDER: &str = "<owner>/cargo-topdown";

fn read(path: &Path) -> Value {
    let text = fs::read_to_string(path).unwrap();
    serde_saphyr::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Returns the workflows for GitHub.
fn workflows() -> Vec<(PathBuf, Value)> {
    let root = Path::new(REPOSITORY);
    let mut found = Vec::new();
    for directory in ["docs/ci", ".github/workflows"] {
        for entry in fs::read_dir(root.join(directory)).unwrap() {
            let path = entry.unwrap().path();
            let workflow = read(&path);
            if workflow["jobs"].is_object() {
                found.push((path, workflow));
            }
        }
    }
    assert!(found.len() >= 6, "{found:?}");
    found
}

fn steps_of(workflow: &Value) -> impl Iterator<Item = &Value> {
    let jobs = workflow["jobs"].as_object().unwrap().values();
    jobs.flat_map(|job| job["steps"].as_array().unwrap())
}

#[test]
fn examples_use_an_unregistrable_repository_name() {
    let manifest: toml_edit::DocumentMut =
        fs::read_to_string(Path::new(REPOSITORY).join("Cargo.toml"))
            .unwrap()
            .parse()
            .unwrap();
    // Once the repository has a home, the examples use it.
    let expected = match manifest["workspace"]["package"].get("repository") {
        None => PLACEHOLDER.to_owned(),
        Some(address) => {
            let address = address.as_str().unwrap();
            address.trim_start_matches("https://github.com/").to_owned()
        }
    };
    let mut uses = 0;
    for (path, workflow) in workflows() {
        for step in steps_of(&workflow) {
            let Some(action) = step["uses"].as_str() else {
                continue;
            };
            let (name, _) = action.split_once('@').unwrap();
            if name.starts_with("actions/") {
                continue;
            }
            let directory = name
                .strip_prefix(&*expected)
                .unwrap_or_else(|| panic!("{}: {action} is not of {expected}", path.display()));
            let directory = directory.trim_start_matches('/');
            let action = read(&Path::new(REPOSITORY).join(directory).join("action.yml"));
            for input in step["with"].as_object().into_iter().flatten() {
                assert!(
                    action["inputs"].get(input.0).is_some(),
                    "{}: no input {}",
                    path.display(),
                    input.0
                );
            }
            uses += 1;
        }
    }
    assert!(uses >= 5, "{uses}");
    if expected == PLACEHOLDER {
        let guide = fs::read_to_string(Path::new(REPOSITORY).join("docs/ci.md")).unwrap();
        assert!(guide.contains(&format!("`{PLACEHOLDER}@<commit>`")));
    }
}

#[test]
fn foreign_actions_are_pinned_by_commit() {
    let root = Path::new(REPOSITORY);
    let actions = ["action.yml", "comment/action.yml"].map(|path| root.join(path));
    let mut pinned = 0;
    for path in actions
        .into_iter()
        .chain(workflows().into_iter().map(|(path, _)| path))
    {
        for line in fs::read_to_string(&path).unwrap().lines() {
            let Some((_, action)) = line.split_once("uses: ") else {
                continue;
            };
            let (name, commit) = action.split_once('@').unwrap();
            if name.starts_with(PLACEHOLDER) {
                continue;
            }
            let (commit, version) = commit.split_once(" # v").unwrap_or((commit, ""));
            let is_commit = commit.len() == 40 && commit.bytes().all(|b| b.is_ascii_hexdigit());
            let at = path.display();
            assert!(is_commit && !version.is_empty(), "{at}: {action}");
            pinned += 1;
        }
    }
    assert!(pinned >= 10, "{pinned}");
}

#[test]
fn shellcheck_finds_nothing_in_the_steps() {
    if Command::new("shellcheck")
        .arg("--version")
        .output()
        .is_err()
    {
        skip(Need::Shellcheck, "shellcheck is not installed");
        return;
    }
    let root = Path::new(REPOSITORY);
    let actions = ["action.yml", "comment/action.yml"].map(|path| root.join(path));
    let of_actions = actions.iter().flat_map(|path| {
        let steps = read(path)["runs"]["steps"].as_array().unwrap().clone();
        steps.into_iter().map(move |step| (path.clone(), step))
    });
    let of_workflows = workflows().into_iter().flat_map(|(path, workflow)| {
        let steps: Vec<Value> = steps_of(&workflow).cloned().collect();
        steps.into_iter().map(move |step| (path.clone(), step))
    });
    let mut checked = 0;
    for (path, step) in of_actions.chain(of_workflows) {
        if let Some(script) = step["run"].as_str() {
            check(&path, script);
            checked += 1;
        }
    }
    // GitLab runs the lines of a job one after the other.
    for file in ["gitlab-ci.yml", "gitlab-hosted.yml"] {
        let gitlab = root.join("docs/ci").join(file);
        for (_, job) in read(&gitlab).as_object().unwrap() {
            if let Some(lines) = job["script"].as_array() {
                let lines: Vec<&str> = lines.iter().map(|line| line.as_str().unwrap()).collect();
                check(&gitlab, &lines.join("\n"));
                checked += 1;
            }
        }
    }
    assert!(checked > 10, "{checked}");
}

/// GitHub and GitLab both end a step at its first failing command.
fn check(path: &Path, script: &str) {
    let script = format!("#!/bin/bash -e\n{script}");
    let mut shellcheck = Command::new("shellcheck")
        .arg("-")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = shellcheck.stdin.take().unwrap();
    input.write_all(script.as_bytes()).unwrap();
    drop(input);
    let output = shellcheck.wait_with_output().unwrap();
    let found = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{}: {found}", path.display());
}

#[test]
fn guide_names_every_input_and_default() {
    let root = Path::new(REPOSITORY);
    let guide = fs::read_to_string(root.join("docs/ci.md")).unwrap();
    for (name, input) in read(&root.join("action.yml"))["inputs"]
        .as_object()
        .unwrap()
    {
        let default = match input["default"].as_str().unwrap() {
            "" => " ".to_owned(),
            default if default.starts_with("${{") => " the job's ".to_owned(),
            default => format!(" `{default}` "),
        };
        let row = format!("| `{name}` |{default}|");
        assert!(guide.contains(&row), "{row}");
    }
}

/// GitHub's marketplace takes no longer ones.
#[test]
fn descriptions_are_short() {
    for file in ["action.yml", "comment/action.yml"] {
        let action = read(&Path::new(REPOSITORY).join(file));
        let description = action["description"].as_str().unwrap().trim();
        assert!(description.len() < 125, "{file}: {}", description.len());
    }
}

/// Executes a step of `docs/ci/arm.yml` as a runner does, and returns its status and its outputs.
/// `devices` stands for the directory of the kernel's PMUs; programs in `programs` come first.
fn execute_step_of_arm(name: &str, devices: &Path, programs: &Path) -> (bool, String) {
    let workflow = read(&Path::new(REPOSITORY).join("docs/ci/arm.yml"));
    let step = steps_of(&workflow)
        .find(|step| step["name"] == name)
        .unwrap();
    let script = step["run"]
        .as_str()
        .unwrap()
        .replace("/sys/bus/event_source/devices", devices.to_str().unwrap());
    let outputs = programs.join("outputs");
    fs::write(&outputs, "").unwrap();
    let path = format!("{}:{}", programs.display(), std::env::var("PATH").unwrap());
    let status = Command::new("bash")
        .args(["-e", "-c", &script])
        .env("PATH", path)
        .env("GITHUB_OUTPUT", &outputs)
        .stdout(Stdio::null())
        .status()
        .unwrap();
    (status.success(), fs::read_to_string(outputs).unwrap())
}

fn program(directory: &Path, name: &str, script: &str) {
    use std::os::unix::fs::PermissionsExt;
    let path = directory.join(name);
    fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn arm_runner_finds_pmu_or_falls_back() {
    let directory = tempfile::tempdir().unwrap();
    let [devices, programs] = ["devices", "programs"].map(|name| directory.path().join(name));
    fs::create_dir_all(devices.join("software")).unwrap();
    fs::create_dir_all(&programs).unwrap();
    let step = |name| execute_step_of_arm(name, &devices, &programs);

    assert_eq!(step("Look for a PMU"), (true, String::new()));
    fs::create_dir_all(devices.join("armv8_pmuv3_0")).unwrap();
    assert_eq!(step("Look for a PMU"), (true, "pmu=true\n".to_owned()));

    let told = programs.join("told");
    let record = format!("echo \"$@\" >>{}", told.display());
    program(&programs, "sudo", &record);
    assert!(step("Let users count and read").0);
    let settings = "sysctl kernel.perf_event_paranoid=2 kernel.perf_user_access=1\n";
    assert_eq!(fs::read_to_string(&told).unwrap(), settings);
    // A kernel without the second one.
    program(&programs, "sudo", "exit 1");
    assert!(step("Let users count and read").0);

    if Command::new("jq").arg("--version").output().is_err() {
        skip(Need::System, "no jq");
        return;
    }
    for source in ["time", "auto"] {
        let doctor = format!(
            "CARGO_TOPDOWN_SOURCE={source} exec {} \"$@\"",
            env!("CARGO_BIN_EXE_cargo-topdown")
        );
        program(&programs, "cargo", &doctor);
        let (has_passed, outputs) = step("Say which source was used");
        assert!(has_passed, "{source}");
        let used = outputs.trim().strip_prefix("source=").unwrap();
        match source {
            "time" => assert_eq!(used, "time"),
            _ => assert!(["hardware", "model", "time"].contains(&used), "{used}"),
        }
    }
    // The program was not installed: the output stays empty, and the second job measures.
    program(&programs, "cargo", "exit 101");
    assert_eq!(step("Say which source was used"), (false, String::new()));
    let workflow = read(&Path::new(REPOSITORY).join("docs/ci/arm.yml"));
    let condition = workflow["jobs"]["model"]["if"].as_str().unwrap();
    assert!(condition.contains("needs.counters.outputs.source != 'hardware'"));
}
