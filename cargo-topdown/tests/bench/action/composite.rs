//! The part of GitHub's runner that this repository's composite actions need.
//!
//! Panics on names in an expression that GitHub would silently replace with an empty string.

use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::Deserialize;
use tempfile::TempDir;

const REPOSITORY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");

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
    uses: Option<String>,
    #[serde(default)]
    with: BTreeMap<String, String>,
    working_directory: Option<String>,
}

fn read(directory: &str) -> Action {
    let path = Path::new(REPOSITORY).join(directory).join("action.yml");
    serde_saphyr::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

/// Returns the names of all steps of the repository's action in `directory`.
pub fn steps(directory: &str) -> Vec<String> {
    let steps = read(directory).runs.steps.into_iter();
    steps.map(|step| step.name).collect()
}

/// A job on a clean machine.
pub struct Job {
    root: TempDir,
    /// The contents of `github`, and results of steps.
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
    /// A job with this `github`.
    pub fn new(context: &[(&str, &str)]) -> Job {
        let root = tempfile::tempdir().unwrap();
        for directory in ["temp", "tools", "bin"] {
            fs::create_dir(root.path().join(directory)).unwrap();
        }
        let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        let mut job = Job {
            root,
            context: context.iter().map(owned).collect(),
            variables: BTreeMap::new(),
            used: Vec::new(),
            ran: Vec::new(),
            log: String::new(),
            outputs: BTreeMap::new(),
        };
        let temporary = job.path("temp").display().to_string();
        job.context.insert("runner.temp".to_owned(), temporary);
        job
    }

    pub fn path(&self, relative: &str) -> PathBuf {
        self.root.path().join(relative)
    }

    /// Reads a file of the machine.
    pub fn text(&self, relative: &str) -> String {
        fs::read_to_string(self.path(relative)).unwrap_or_default()
    }

    /// Installs a program that the steps find first.
    pub fn program(&self, name: &str, script: &str) {
        use std::os::unix::fs::PermissionsExt;
        let path = self.path("bin").join(name);
        fs::write(&path, format!("#!/bin/sh\n{script}")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// Executes the repository's action in `directory` in `workspace`. Returns its exit code.
    pub fn execute(&mut self, directory: &str, workspace: &Path, inputs: &[(&str, &str)]) -> i32 {
        let action = read(directory);
        let given: BTreeMap<&str, &str> = inputs.iter().copied().collect();
        for name in given.keys() {
            assert!(action.inputs.contains_key(*name), "no input {name}");
        }
        let mut steps = HashSet::new();
        for (name, input) in &action.inputs {
            let value = match given.get(name.as_str()) {
                Some(value) => (*value).to_owned(),
                None => self.substituted(&input.default, &steps),
            };
            self.context.insert(format!("inputs.{name}"), value);
        }
        let action_path = Path::new(REPOSITORY).join(directory);
        let mut code = 0;
        for step in &action.runs.steps {
            let condition = step.condition.as_ref();
            let runs = condition.is_none_or(|condition| self.holds(condition, &steps));
            if runs && code == 0 {
                self.ran.push(step.name.clone());
                code = self.step(step, &action_path, workspace, &steps);
            }
            steps.extend(step.id.clone());
        }
        for (name, output) in &action.outputs {
            let value = self.substituted(&output.value, &steps);
            self.outputs.insert(name.clone(), value);
        }
        code
    }

    fn step(
        &mut self,
        step: &Step,
        action_path: &Path,
        workspace: &Path,
        steps: &HashSet<String>,
    ) -> i32 {
        let all = |texts: &BTreeMap<String, String>| -> BTreeMap<String, String> {
            let texts = texts.iter();
            texts
                .map(|(name, text)| (name.clone(), self.substituted(text, steps)))
                .collect()
        };
        if let Some(uses) = &step.uses {
            let name = uses.split_once('@').expect("an action has a version").0;
            let with = all(&step.with);
            self.used.push((name.to_owned(), with));
            return 0;
        }
        let script = step.run.as_ref().expect("a step runs or uses something");
        assert!(
            !script.contains("${{"),
            "an expression in `run` could be anybody's text: {script}"
        );
        let directory = step.working_directory.as_ref();
        let directory = directory.map_or(String::new(), |text| self.substituted(text, steps));
        fs::write(self.path("output"), "").unwrap();
        let added = self.text("path");
        let search_path = [self.path("bin").display().to_string()]
            .into_iter()
            .chain(added.lines().map(str::to_owned))
            .chain([std::env::var("PATH").unwrap()]);
        let mut bash = Command::new("bash");
        // The variables of a job that runs these tests are not this job's.
        for (name, _) in std::env::vars() {
            let of_a_job = ["GITHUB_", "RUNNER_", "ACTIONS_", "INPUT_", "CARGO_TOPDOWN_"];
            if of_a_job.iter().any(|start| name.starts_with(start)) {
                bash.env_remove(name);
            }
        }
        let output = bash
            .args(["--noprofile", "--norc", "-e", "-o", "pipefail", "-c"])
            .arg(script)
            .current_dir(workspace.join(directory))
            .env("PATH", search_path.collect::<Vec<_>>().join(":"))
            .env("GITHUB_ACTION_PATH", action_path)
            .env("GITHUB_OUTPUT", self.path("output"))
            .env("GITHUB_PATH", self.path("path"))
            .env("GITHUB_STEP_SUMMARY", self.path("summary"))
            .env("GITHUB_REPOSITORY", "owner/name")
            .env("GITHUB_WORKSPACE", workspace)
            .env("RUNNER_TEMP", self.path("temp"))
            .env("RUNNER_TOOL_CACHE", self.path("tools"))
            .env("GITHUB_EVENT_NAME", &self.context["github.event_name"])
            .env("GITHUB_REF", &self.context["github.ref"])
            .envs(&self.variables)
            .envs(all(&step.env))
            .output()
            .unwrap();
        self.log += &format!("--- {}\n", step.name);
        self.log += &String::from_utf8_lossy(&output.stdout);
        self.log += &String::from_utf8_lossy(&output.stderr);
        if let Some(id) = &step.id {
            for line in self.text("output").lines() {
                let (name, value) = line.split_once('=').expect("an output is NAME=VALUE");
                let name = format!("steps.{id}.outputs.{name}");
                self.context.insert(name, value.to_owned());
            }
        }
        output.status.code().expect("no step is killed")
    }

    fn substituted(&self, text: &str, steps: &HashSet<String>) -> String {
        let mut result = String::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once("${{") {
            let (expression, after) = after.split_once("}}").expect("an expression ends");
            result += before;
            result += &self.value(expression.trim(), steps);
            rest = after;
        }
        result + rest
    }

    /// Evaluates terms with `==` or `!=`, joined by `&&`.
    fn holds(&self, condition: &str, steps: &HashSet<String>) -> bool {
        condition.split("&&").all(|term| {
            let (is_equal, (left, right)) = match (term.split_once("=="), term.split_once("!=")) {
                (Some(sides), None) => (true, sides),
                (None, Some(sides)) => (false, sides),
                _ => panic!("not understood: {term}"),
            };
            (self.value(left.trim(), steps) == self.value(right.trim(), steps)) == is_equal
        })
    }

    fn value(&self, term: &str, steps: &HashSet<String>) -> String {
        if let Some(literal) = term.strip_prefix('\'') {
            return literal.trim_end_matches('\'').to_owned();
        }
        if let Some(found) = self.context.get(term) {
            return found.clone();
        }
        let words: Vec<&str> = term.split('.').collect();
        match words[..] {
            // A step that did not run has no outputs; a step that does not exist is an error.
            ["steps", id, "outputs", _] if steps.contains(id) => String::new(),
            _ => panic!("GitHub would take `{term}` for nothing"),
        }
    }
}
