//! Reasons for a missing comparison, worded for the summary and for the comment on a pull request.
//!
//! The comment may be written by another workflow, which finds the reason in the reports. The pull
//! request's own code may have written them, so only known words and a valid name are taken from
//! there.

use std::fmt;
use std::path::Path;

use serde::{Deserialize, Serialize};
use topdown_run::run_file::stored_file;

use super::outcome::Ending;
use topdown_report::markdown_text::code;
use topdown_store::baselines::BaselineName;

/// The file of the reports with the reason.
pub const FILE: &str = "no-comparison.json";

/// The file has a few words.
const MAX_BYTES: u64 = 4096;

/// A baseline that is not there, as at a repository's first push.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MissingBaseline {
    pub name: BaselineName,
    /// The machine that it has no run of, if it has runs of others.
    pub machine: Option<String>,
}

impl fmt::Display for MissingBaseline {
    /// Says it without a capital and a full stop.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        no_baseline(&format!("`{}`", self.name), self.machine.as_deref(), f)
    }
}

fn no_baseline(name: &str, machine: Option<&str>, out: &mut impl fmt::Write) -> fmt::Result {
    match machine {
        None => write!(out, "there is no baseline {name} yet"),
        Some(machine) => write!(out, "there is no run of {machine} in baseline {name} yet"),
    }
}

/// What follows where a baseline is missing.
pub fn consequence(becomes_baseline: bool) -> &'static str {
    if becomes_baseline {
        "This run becomes the baseline."
    } else {
        "The next run of this workflow on the default branch stores it. To compare without a \
         stored baseline, set the input `against`."
    }
}

/// Returns a summary: that this is `missing`, and what follows.
pub fn summary(missing: &str, becomes_baseline: bool) -> String {
    let heading = if becomes_baseline {
        "new baseline"
    } else {
        "no baseline"
    };
    let mut characters = missing.chars();
    let first = characters.next().map(|first| first.to_ascii_uppercase());
    let missing: String = first.into_iter().chain(characters).collect();
    let follows = consequence(becomes_baseline);
    format!("## TopDown: {heading}\n\n{missing}, so nothing was compared.\n\n{follows}\n")
}

/// The reason, as the reports have it.
#[derive(Debug, Serialize, Deserialize)]
struct Written {
    outcome: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    missing: Option<WrittenMissing>,
}

#[derive(Debug, Serialize, Deserialize)]
struct WrittenMissing {
    baseline: String,
    has_other_machines: bool,
}

/// Returns the content of the file.
pub fn written(ending: Ending, missing: Option<&MissingBaseline>) -> String {
    let written = Written {
        outcome: ending.name().to_owned(),
        missing: missing.map(|missing| WrittenMissing {
            baseline: missing.name.to_string(),
            has_other_machines: missing.machine.is_some(),
        }),
    };
    serde_json::to_string(&written).expect("words can be written")
}

/// Returns a comment from the file in `report`, or from how the run `ended`: our word for it, or
/// GitHub's. `None` if neither says it.
pub fn comment(report: &Path, ended: &str) -> Option<String> {
    let read = stored_file::read(&report.join(FILE), MAX_BYTES).ok();
    let read = read.and_then(|json| serde_json::from_slice::<Written>(&json).ok());
    if let Some(missing) = read.as_ref().and_then(|read| read.missing.as_ref()) {
        let name: BaselineName = missing.baseline.parse().ok()?;
        let mut text = String::new();
        let machine = missing.has_other_machines.then_some("this machine");
        no_baseline(&code(name.as_str()), machine, &mut text).ok()?;
        return Some(summary(&text, false));
    }
    let outcome = read.map(|read| read.outcome);
    let cause = outcome
        .as_deref()
        .and_then(cause)
        .or_else(|| cause(ended))?;
    Some(format!(
        "## TopDown: no comparison\n\n{cause}, so nothing was compared. See the log.\n"
    ))
}

/// Says why a run that ended like this was not compared.
fn cause(ended: &str) -> Option<&'static str> {
    Some(match (Ending::named(ended), ended) {
        (Some(Ending::BenchFailed), _) => "A bench could not be built, or failed",
        (Some(Ending::NotComparable), _) => "The base of the comparison could not be found or read",
        (Some(Ending::UsageError), _) => "An input or a setting is not valid",
        (Some(Ending::Crashed), _) => "The program crashed",
        (Some(Ending::Interrupted), _) | (_, "cancelled") => "The run was cancelled",
        (_, "failure") => "The job failed",
        (_, "timed_out") => "The job exceeded its time limit",
        (_, "startup_failure") => "The workflow could not start",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn missing(machine: Option<&str>) -> MissingBaseline {
        MissingBaseline {
            name: "main".parse().unwrap(),
            machine: machine.map(str::to_owned),
        }
    }

    #[test]
    fn summary_has_missing_data_and_consequence() {
        let missing = missing(None).to_string();
        let all = [true, false].map(|becomes| summary(&missing, becomes));
        insta::assert_snapshot!(all.join("\n"));
    }

    #[test]
    fn comment_has_reason_for_no_comparison() {
        let root = tempfile::tempdir().unwrap();
        let comment = |ending, missing| {
            fs::write(root.path().join(FILE), written(ending, missing)).unwrap();
            // GitHub's word is less than ours.
            comment(root.path(), "failure").unwrap()
        };
        let missing = [missing(None), missing(Some("a secret machine"))];
        let mut all: Vec<String> = (missing.iter())
            .map(|missing| comment(Ending::NotComparable, Some(missing)))
            .collect();
        for ending in [
            Ending::NotComparable,
            Ending::BenchFailed,
            Ending::UsageError,
            Ending::Interrupted,
            Ending::Crashed,
        ] {
            all.push(comment(ending, None));
        }
        insta::assert_snapshot!(all.join("\n"));
    }

    #[test]
    fn missing_file_uses_reason_from_github() {
        let none = Path::new("none");
        let words = ["failure", "cancelled", "timed_out", "startup_failure"];
        let all = words.map(|word| comment(none, word).unwrap());
        insta::assert_snapshot!(all.join("\n"));
        // With these there is a comparison, unless someone took it away.
        for ended in [
            "",
            "passed",
            "measured",
            "regressed",
            "inconclusive",
            "@everyone",
        ] {
            assert_eq!(comment(none, ended), None, "{ended}");
        }
    }

    #[test]
    fn foreign_file_is_not_quoted() {
        let root = tempfile::tempdir().unwrap();
        let comment = |json: &str| {
            fs::write(root.path().join(FILE), json).unwrap();
            comment(root.path(), "failure")
        };
        let sentence_on = |name: &str| {
            let missing = serde_json::json!({"baseline": name, "has_other_machines": false});
            comment(&serde_json::json!({"outcome": "x", "missing": missing}).to_string())
        };
        let text = sentence_on("@everyone [x](y) #1").unwrap();
        for forbidden in ["@", "[x](", " #1"] {
            assert!(!text.contains(forbidden), "{text}");
        }
        assert_eq!(sentence_on("<img src=x>"), None);
        assert_eq!(sentence_on(&"x".repeat(300)), None);
        let failed = comment(r#"{"outcome": "@everyone"}"#).unwrap();
        assert!(failed.contains("The job failed"), "{failed}");
        assert_eq!(comment("@everyone"), Some(failed));
    }
}
