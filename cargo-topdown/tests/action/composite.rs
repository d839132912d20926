//! The part of GitHub's runner that this repository's composite actions need.
//!
//! Panics on names in an expression that GitHub would silently replace with an empty string.

use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::Deserialize;
use tempfile::TempDir;

pub const REPOSITORY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");

#[derive(Deserialize)]
struct Action {
    inputs: BTreeMap<String, Input>,
    #[serde(default)]
    outputs: BTreeMap<String, Output>,
    runs: Steps,
}

#[derive(Deserialize)]
struct Input {
    default: String,
}

#[derive(Deserialize)]
struct Output {
    value: String,
}

#[derive(Deserialize)]
struct Steps {
    steps: Vec<Step>,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Step {
    name: String,
    id: Option<String>,
    #[serde(rename = "if")]
    condition: Option<String>,
    #[serde(default)]
    env: BTreeMap<String, String>,
    run: Option<String>,
    shell: Option<String>,
    uses: Option<String>,
    #[serde(default)]
    with: BTreeMap<String, String>,
    working_directory: Option<String>,
}

/// Returns the inputs of the repository's action in `directory`, and their defaults.
pub fn inputs(directory: &str) -> Vec<(String, String)> {
    let inputs = read(&Path::new(REPOSITORY).join(directory)).inputs;
    inputs
        .into_iter()
        .map(|(name, i)| (name, i.default))
        .collect()
}

fn read(action_path: &Path) -> Action {
    let text = fs::read_to_string(action_path.join("action.yml")).unwrap();
    serde_saphyr::from_str(&text).unwrap()
}

/// A job on a clean machine.
pub struct Job {
    root: TempDir,
    /// The contents of `github` and `runner`, except what follows from the machine.
    pub context: BTreeMap<String, String>,
    /// Variables of the job.
    pub variables: BTreeMap<String, String>,
    /// Other actions that were used, in order, with their inputs.
    pub used: Vec<(String, BTreeMap<String, String>)>,
    /// The names of the steps that ran.
    pub ran: Vec<String>,
    /// What the steps printed.
    pub log: String,
    /// The outputs of the action.
    pub outputs: BTreeMap<String, String>,
}

impl Job {
    /// A job for a repository with an empty workspace.
    pub fn new() -> Job {
        let root = tempfile::tempdir().unwrap();
        for directory in ["workspace", "temp", "tools", "bin", "home"] {
            fs::create_dir(root.path().join(directory)).unwrap();
        }
        fs::write(
            root.path().join("workspace/Cargo.toml"),
            "[workspace]\nmembers = []\nresolver = \"3\"\n",
        )
        .unwrap();
        Job {
            root,
            context: BTreeMap::new(),
            variables: BTreeMap::new(),
            used: Vec::new(),
            ran: Vec::new(),
            log: String::new(),
            outputs: BTreeMap::new(),
        }
    }

    pub fn path(&self, relative: &str) -> PathBuf {
        self.root.path().join(relative)
    }

    /// Reads a file of the machine.
    pub fn text(&self, relative: &str) -> String {
        fs::read_to_string(self.path(relative)).unwrap_or_default()
    }

    /// Installs a program that the steps find first.
    pub fn program(&self, name: &str, text: &str) {
        use std::os::unix::fs::PermissionsExt;
        let path = self.path("bin").join(name);
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// Executes the repository's action in `directory` and returns its exit code.
    pub fn execute(&mut self, directory: &str, inputs: &[(&str, &str)]) -> i32 {
        let action_path = Path::new(REPOSITORY).join(directory);
        let action = read(&action_path);
        let mut context = self.context.clone();
        for (name, value) in [("runner.temp", "temp"), ("runner.os", "Linux")] {
            let value = match name {
                "runner.temp" => self.path(value).display().to_string(),
                _ => value.to_owned(),
            };
            context.insert(name.to_owned(), value);
        }
        let given: BTreeMap<&str, &str> = inputs.iter().copied().collect();
        for name in given.keys() {
            assert!(action.inputs.contains_key(*name), "no input {name}");
        }
        for (name, input) in &action.inputs {
            let value = match given.get(name.as_str()) {
                Some(value) => (*value).to_owned(),
                None => substituted(&input.default, &context, &HashSet::new()),
            };
            context.insert(format!("inputs.{name}"), value);
        }
        let mut steps = HashSet::new();
        let mut code = 0;
        for step in &action.runs.steps {
            let holds = step
                .condition
                .as_ref()
                .is_none_or(|condition| condition_holds(condition, &context, &steps));
            if holds && code == 0 {
                code = self.step(step, &action_path, &mut context, &steps);
            }
            steps.extend(step.id.clone());
        }
        for (name, output) in &action.outputs {
            let value = substituted(&output.value, &context, &steps);
            self.outputs.insert(name.clone(), value);
        }
        code
    }

    fn step(
        &mut self,
        step: &Step,
        action_path: &Path,
        context: &mut BTreeMap<String, String>,
        steps: &HashSet<String>,
    ) -> i32 {
        self.ran.push(step.name.clone());
        let substitute = |text: &String| substituted(text, context, steps);
        if let Some(uses) = &step.uses {
            let with = step.with.iter().map(|(k, v)| (k.clone(), substitute(v)));
            self.used.push((uses.clone(), with.collect()));
            return 0;
        }
        let script = step.run.as_ref().expect("a step runs or uses something");
        assert!(
            !script.contains("${{"),
            "an expression in `run` could be anybody's text: {script}"
        );
        assert_eq!(step.shell.as_deref(), Some("bash"));
        let directory = step.working_directory.as_ref().map(substitute);
        let variables: BTreeMap<String, String> = step
            .env
            .iter()
            .map(|(name, value)| (name.clone(), substitute(value)))
            .collect();
        for file in ["github_output", "github_path", "github_step_summary"] {
            let path = self.path(file);
            fs::OpenOptions::new()
                .create(true)
                .append(true)
                .open(path)
                .unwrap();
        }
        fs::write(self.path("github_output"), "").unwrap();
        let workspace = self.path("workspace");
        let added = self.text("github_path");
        let search_path = [self.path("bin").display().to_string()]
            .into_iter()
            .chain(added.lines().map(str::to_owned))
            .chain([std::env::var("PATH").unwrap()]);
        let output = Command::new("bash")
            .args([
                "--noprofile",
                "--norc",
                "-e",
                "-o",
                "pipefail",
                "-c",
                script,
            ])
            .current_dir(workspace.join(directory.unwrap_or_default()))
            .env_clear()
            .env("PATH", search_path.collect::<Vec<_>>().join(":"))
            .env("HOME", self.path("home"))
            .envs(
                ["CARGO_HOME", "RUSTUP_HOME", "RUSTUP_TOOLCHAIN"]
                    .iter()
                    .filter_map(
                        // Set by rustup's own cargo, or by the user.
                        |name| Some((*name, std::env::var_os(name)?)),
                    ),
            )
            .envs(home_of_tools())
            .env("CI", "true")
            .env("GITHUB_ACTIONS", "true")
            .env("GITHUB_ACTION_PATH", action_path)
            .env("GITHUB_OUTPUT", self.path("github_output"))
            .env("GITHUB_PATH", self.path("github_path"))
            .env("GITHUB_ENV", self.path("github_env"))
            .env("GITHUB_STEP_SUMMARY", self.path("github_step_summary"))
            .env("GITHUB_REPOSITORY", "owner/name")
            .env("GITHUB_WORKSPACE", &workspace)
            .env("RUNNER_TEMP", self.path("temp"))
            .env("RUNNER_TOOL_CACHE", self.path("tools"))
            .env("GITHUB_EVENT_NAME", &context["github.event_name"])
            .env("GITHUB_REF", &context["github.ref"])
            .envs(&self.variables)
            .envs(&variables)
            .output()
            .unwrap();
        self.log += &format!("--- {}\n", step.name);
        self.log += &String::from_utf8_lossy(&output.stdout);
        self.log += &String::from_utf8_lossy(&output.stderr);
        if let Some(id) = &step.id {
            for line in self.text("github_output").lines() {
                let (name, value) = line.split_once('=').expect("an output is NAME=VALUE");
                context.insert(format!("steps.{id}.outputs.{name}"), value.to_owned());
            }
        }
        output.status.code().expect("no step is killed")
    }
}

/// Returns where cargo and rustup keep what the steps' cargo needs, unless variables say so.
fn home_of_tools() -> Vec<(&'static str, PathBuf)> {
    let Some(home) = std::env::home_dir() else {
        return Vec::new();
    };
    [("CARGO_HOME", ".cargo"), ("RUSTUP_HOME", ".rustup")]
        .into_iter()
        .filter(|(name, _)| std::env::var_os(name).is_none())
        .map(|(name, directory)| (name, home.join(directory)))
        .filter(|(_, path)| path.is_dir())
        .collect()
}

fn substituted(text: &str, context: &BTreeMap<String, String>, steps: &HashSet<String>) -> String {
    let mut result = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${{") {
        let (expression, after) = after.split_once("}}").expect("an expression ends");
        result += before;
        result += &value(expression.trim(), context, steps);
        rest = after;
    }
    result + rest
}

/// Evaluates terms with `==` or `!=`, joined by `&&`.
fn condition_holds(
    condition: &str,
    context: &BTreeMap<String, String>,
    steps: &HashSet<String>,
) -> bool {
    condition.split("&&").all(|term| {
        let (is_equal, sides) = match (term.split_once("=="), term.split_once("!=")) {
            (Some(sides), None) => (true, sides),
            (None, Some(sides)) => (false, sides),
            _ => panic!("not understood: {term}"),
        };
        let side = |text: &str| value(text.trim(), context, steps);
        (side(sides.0) == side(sides.1)) == is_equal
    })
}

fn value(term: &str, context: &BTreeMap<String, String>, steps: &HashSet<String>) -> String {
    if let Some(literal) = term.strip_prefix('\'') {
        return literal.trim_end_matches('\'').to_owned();
    }
    if let Some(found) = context.get(term) {
        return found.clone();
    }
    let words: Vec<&str> = term.split('.').collect();
    match words[..] {
        // A step that did not run has no outputs; a step that does not exist is an error.
        ["steps", id, "outputs", _] if steps.contains(id) => String::new(),
        _ => panic!("GitHub would take `{term}` for nothing"),
    }
}
