//! `cargo topdown ci plan`: refuses inputs that make no sense, shows what the machine can measure,
//! and decides where reports and baselines go and whether this run becomes the baseline.
//!
//! Outputs `report`, `baselines`, `save`, and `machine`, for whose kind baselines are cached.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

use anstream::AutoStream;
use topdown_counters::error::OpenError;
use topdown_run::setting::{Setting, SourceChoice};

use super::github::set_outputs;
use super::variables::Variables;
use crate::cli::ColorChoice;
use crate::diagnosis::Diagnosis;
use crate::diagnosis::text::write_text;
use crate::error::{CiError, Error};
use crate::exit::Exit;
use topdown_report::style::{self, Look};

/// Runs the step.
///
/// # Errors
/// Returns an error if an input makes no sense, or a file cannot be written.
pub fn run(variables: &Variables) -> Result<Exit, Error> {
    let plan = Plan::of(variables)?;
    let temporary = Path::new(variables.required("RUNNER_TEMP")?);
    let report = tempfile::Builder::new()
        .prefix("topdown-report.")
        .tempdir_in(temporary)
        .map_err(|error| CiError::file(temporary, error))?
        .keep();
    let choice = SourceChoice::from_environment().map_err(OpenError::from)?;
    let diagnosis = Diagnosis::for_this_machine(choice);
    let mut text = Vec::new();
    write_text(&mut text, &diagnosis, Look::from_environment())?;
    style::stdout(ColorChoice::Never).write_all(&text)?;
    let file = report.join("doctor.txt");
    let write = || AutoStream::never(File::create(&file)?).write_all(&text);
    write().map_err(|error| CiError::file(&file, error))?;
    set_outputs(
        variables,
        &[
            ("report", &report.display().to_string()),
            ("baselines", &plan.baselines.display().to_string()),
            ("save", if plan.save { "true" } else { "false" }),
            ("machine", &diagnosis.machine.key()),
        ],
    )?;
    Ok(Exit::Success)
}

#[derive(Debug, PartialEq)]
struct Plan {
    /// Where baselines are kept.
    baselines: PathBuf,
    /// Whether the run becomes the baseline.
    save: bool,
}

impl Plan {
    fn of(variables: &Variables) -> Result<Plan, CiError> {
        let caches = variables.truth("INPUT_CACHE", "cache")?;
        for (variable, name) in [
            ("INPUT_COMPARE", "compare"),
            ("INPUT_CHANGED", "changed"),
            ("INPUT_COMMENT", "comment"),
            ("INPUT_FAIL", "fail"),
        ] {
            variables.truth(variable, name)?;
        }
        let save = match variables.text("INPUT_SAVE") {
            "always" => true,
            "never" => false,
            "auto" => is_on_default_branch(variables),
            _ => {
                return Err(CiError::Input {
                    name: "save",
                    expected: "auto, always or never",
                });
            }
        };
        // The launches of such a run alternated with the base's, so it cannot serve as a baseline.
        let save = save && variables.some("INPUT_AGAINST").is_none();
        let baselines = match variables.some("INPUT_BASELINES") {
            Some(path) => PathBuf::from(path),
            // The same path in every job: it is part of what the cache is looked up by.
            None if caches => {
                Path::new(variables.required("RUNNER_TEMP")?).join("topdown-baselines")
            }
            // Where the program looks by itself, for baselines that are committed.
            None => "baselines".into(),
        };
        let workspace = Path::new(variables.required("GITHUB_WORKSPACE")?)
            .join(variables.text("INPUT_WORKING_DIRECTORY"));
        Ok(Plan {
            baselines: workspace.join(baselines),
            save,
        })
    }
}

/// Returns whether the code that runs is the default branch's. That of a pull request is not yet.
fn is_on_default_branch(variables: &Variables) -> bool {
    let event = variables.text("GITHUB_EVENT_NAME");
    let branch = variables.text("GITHUB_REF").strip_prefix("refs/heads/");
    matches!(event, "push" | "schedule" | "workflow_dispatch")
        && branch.is_some()
        && branch == variables.some("DEFAULT_BRANCH")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A push to the default branch with the action's default inputs, except for `changed`.
    fn plan(changed: &[(&'static str, &'static str)]) -> Result<Plan, String> {
        let variables = [
            ("GITHUB_EVENT_NAME", "push"),
            ("GITHUB_REF", "refs/heads/main"),
            ("DEFAULT_BRANCH", "main"),
            ("GITHUB_WORKSPACE", "/work"),
            ("RUNNER_TEMP", "/temp"),
            ("INPUT_SAVE", "auto"),
            ("INPUT_CACHE", "true"),
            ("INPUT_COMPARE", "true"),
            ("INPUT_CHANGED", "true"),
            ("INPUT_COMMENT", "false"),
            ("INPUT_FAIL", "true"),
            ("INPUT_WORKING_DIRECTORY", "."),
        ];
        let variables = Variables::of(variables.iter().chain(changed).copied());
        Plan::of(&variables).map_err(|error| error.to_string())
    }

    #[test]
    fn only_default_branch_runs_become_baselines() {
        for (event, reference, saves) in [
            ("push", "refs/heads/main", true),
            ("schedule", "refs/heads/main", true),
            ("workflow_dispatch", "refs/heads/main", true),
            ("push", "refs/heads/other", false),
            ("push", "refs/tags/main", false),
            ("workflow_dispatch", "refs/heads/other", false),
            ("pull_request", "refs/pull/7/merge", false),
            ("pull_request_target", "refs/heads/main", false),
            ("merge_group", "refs/heads/main", false),
        ] {
            let event = [("GITHUB_EVENT_NAME", event), ("GITHUB_REF", reference)];
            assert_eq!(plan(&event).unwrap().save, saves, "{event:?}");
            for (word, saves) in [("always", true), ("never", false)] {
                let asked = [&event[..], &[("INPUT_SAVE", word)]].concat();
                assert_eq!(plan(&asked).unwrap().save, saves, "{asked:?}");
            }
        }
        // An event without a repository has no default branch.
        let unknown = [("DEFAULT_BRANCH", ""), ("GITHUB_REF", "refs/heads/")];
        assert!(!plan(&unknown).unwrap().save);
    }

    #[test]
    fn run_against_base_is_never_saved() {
        for word in ["auto", "always"] {
            let against = [("INPUT_AGAINST", "HEAD^1"), ("INPUT_SAVE", word)];
            assert!(!plan(&against).unwrap().save);
        }
    }

    #[cfg(unix)]
    #[test]
    fn baseline_directory_follows_inputs() {
        let there = |changed: &[_]| plan(changed).unwrap().baselines.display().to_string();
        assert_eq!(there(&[]), "/temp/topdown-baselines");
        let not_cached = ("INPUT_CACHE", "false");
        assert_eq!(there(&[not_cached]), "/work/./baselines");
        let inside = ("INPUT_WORKING_DIRECTORY", "crates/a");
        assert_eq!(there(&[not_cached, inside]), "/work/crates/a/baselines");
        let named = ("INPUT_BASELINES", "perf");
        assert_eq!(there(&[named, inside]), "/work/crates/a/perf");
        assert_eq!(there(&[("INPUT_BASELINES", "/srv/runs")]), "/srv/runs");
    }

    #[test]
    fn invalid_input_is_refused() {
        for (name, message) in [
            (
                "INPUT_SAVE",
                "the input `save` must be auto, always or never",
            ),
            ("INPUT_CACHE", "the input `cache` must be true or false"),
            ("INPUT_COMPARE", "the input `compare` must be true or false"),
            ("INPUT_CHANGED", "the input `changed` must be true or false"),
            ("INPUT_COMMENT", "the input `comment` must be true or false"),
            ("INPUT_FAIL", "the input `fail` must be true or false"),
        ] {
            assert_eq!(plan(&[(name, "maybe")]).unwrap_err(), message);
        }
    }
}
