//! Runs git, and reports failures in its own words: it names the remedy.

use std::io::ErrorKind;
use std::path::Path;
use std::process::Command;

use thiserror::Error;

use topdown_system::waits;

/// Variables of a git that calls this program in a hook. They name the repository and its index,
/// whatever the current directory is.
const OF_THE_CALLER: [&str; 5] = [
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_COMMON_DIR",
    "GIT_PREFIX",
];

/// A failure of git.
#[derive(Debug, Error)]
#[error("`git {command}` failed: {message}")]
pub struct GitError {
    pub command: String,
    /// Its error output, or why it did not run.
    pub message: String,
}

impl GitError {
    /// Returns whether it failed without a word, as `--quiet` makes it where it found nothing.
    pub fn is_silent(&self) -> bool {
        self.message.is_empty()
    }
}

/// Runs git in `directory`, which is the user's, and returns its output.
///
/// # Errors
/// Returns an error if it fails.
pub fn git(directory: &Path, arguments: &[&str]) -> Result<String, GitError> {
    run(&mut Command::new("git"), directory, arguments)
}

/// Runs git in `directory`, which is a repository or work tree of its own whoever calls this
/// program.
///
/// # Errors
/// Returns an error if it fails.
pub fn git_within(directory: &Path, arguments: &[&str]) -> Result<String, GitError> {
    let mut command = Command::new("git");
    for variable in OF_THE_CALLER {
        command.env_remove(variable);
    }
    run(&mut command, directory, arguments)
}

fn run(command: &mut Command, directory: &Path, arguments: &[&str]) -> Result<String, GitError> {
    let failed = |message: String| GitError {
        command: arguments.join(" "),
        message,
    };
    command
        .args(arguments)
        .current_dir(directory)
        // A prompt would wait forever in CI.
        .env("GIT_TERMINAL_PROMPT", "0");
    let output = (waits::GIT.output(command)).map_err(|error| {
        failed(match error.kind() {
            ErrorKind::NotFound => "git is not installed".to_owned(),
            _ => error.to_string(),
        })
    })?;
    if output.status.success() {
        Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    } else {
        let message = String::from_utf8_lossy(&output.stderr);
        Err(failed(message.trim().to_owned()))
    }
}
