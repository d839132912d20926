//! Output for GitHub's runner: messages in the log, and files to which a step adds lines.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::Path;

use super::variables::Variables;
use crate::error::CiError;
use topdown_report::workflow_command::{self, Level};

/// Shows `message` on the page of the workflow's run. Errors are ignored.
pub fn annotate(level: Level, message: &str) {
    let _ = workflow_command::write(&mut io::stderr().lock(), level, "cargo topdown", message);
}

/// Sets outputs of the step.
///
/// # Errors
/// Returns an error if a value has several lines, or the file cannot be written.
pub fn set_outputs(variables: &Variables, outputs: &[(&'static str, &str)]) -> Result<(), CiError> {
    let mut text = String::new();
    for (name, value) in outputs {
        if value.contains(['\n', '\r']) {
            return Err(CiError::LineBreak { name });
        }
        text.push_str(&format!("{name}={value}\n"));
    }
    append(Path::new(variables.required("GITHUB_OUTPUT")?), &text)
}

/// Adds `text` to the summary of the step.
///
/// # Errors
/// Returns an error if the file cannot be written.
pub fn add_to_summary(variables: &Variables, text: &str) -> Result<(), CiError> {
    append(Path::new(variables.required("GITHUB_STEP_SUMMARY")?), text)
}

fn append(path: &Path, text: &str) -> Result<(), CiError> {
    let file = OpenOptions::new().create(true).append(true).open(path);
    file.and_then(|mut file| file.write_all(text.as_bytes()))
        .map_err(|error| CiError::file(path, error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_cannot_inject_another_output() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("output");
        let variables = Variables::of([("GITHUB_OUTPUT", path.to_str().unwrap())]);
        set_outputs(&variables, &[("a", "1"), ("b", "x=y")]).unwrap();
        set_outputs(&variables, &[("c", "")]).unwrap();
        let error = set_outputs(&variables, &[("d", "/x\nsave=true")]).unwrap_err();
        assert_eq!(
            error.to_string(),
            "the output `d` may not have a line break"
        );
        assert_eq!(std::fs::read_to_string(path).unwrap(), "a=1\nb=x=y\nc=\n");
    }

    #[test]
    fn missing_step_variable_is_named() {
        let error = set_outputs(&Variables::of([]), &[("a", "1")]).unwrap_err();
        assert!(error.to_string().starts_with("`GITHUB_OUTPUT` is not set"));
    }
}
