//! Starts this program again, for the benches of a pull request: without what the job keeps secret,
//! and keeping what it prints.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};

use super::variables::Variables;
use crate::error::CiError;
use topdown_system::waits;

/// Runs this program with `arguments` and returns its exit code. Its standard error goes to the log
/// as it comes, and to the end of `file`.
///
/// # Errors
/// Returns an error if it cannot be started, or the file not be written.
pub fn run(variables: &Variables, arguments: &[String], file: &Path) -> Result<i32, CiError> {
    exit_code(command(variables, arguments)?, file)
}

fn command(variables: &Variables, arguments: &[String]) -> Result<Command, CiError> {
    let mut command = Command::new(std::env::current_exe().map_err(CiError::Program)?);
    command.args(arguments);
    for name in variables.names().filter(|name| is_withheld(name)) {
        command.env_remove(name);
    }
    Ok(command)
}

/// As [`run`], with the standard output in `out`, and then in the log.
///
/// # Errors
/// As [`run`], and if `out` cannot be written.
pub fn run_into(
    variables: &Variables,
    arguments: &[String],
    file: &Path,
    out: &Path,
) -> Result<i32, CiError> {
    let not_written = |error| CiError::file(out, error);
    let mut command = command(variables, arguments)?;
    command.stdout(File::create(out).map_err(not_written)?);
    let code = exit_code(command, file)?;
    let text = std::fs::read(out).map_err(not_written)?;
    // If nobody reads the log, the file has it.
    let _ = io::stdout().write_all(&text);
    Ok(code)
}

/// Returns whether builds and benches do not get the variable `name`: they run the code of whoever
/// opened the pull request, and the job has files that steer its later steps, tokens, and the
/// credentials of the store. Nor what the action tells its own steps: a bench that happens to
/// contain such a name would be said to want it.
fn is_withheld(name: &str) -> bool {
    let names = [
        "GITHUB_ENV",
        "GITHUB_PATH",
        "GITHUB_OUTPUT",
        "GITHUB_STATE",
        "GITHUB_STEP_SUMMARY",
        "CARGO_TOPDOWN_STORE",
        "AUTHOR_ASSOCIATION",
        "HEAD_COMMIT",
        "PUSHED_AFTER",
        "SAVE",
        "REPORT",
    ];
    let beginnings = [
        "ACTIONS_",
        "AWS_",
        "AZURE_",
        "GOOGLE_",
        "GCP_",
        "GCLOUD_",
        "CLOUDSDK_",
        "INPUT_",
    ];
    let words = ["TOKEN", "SECRET", "PASSWORD", "CREDENTIAL"];
    // npm's names, for one, are in lower case.
    let name = &*name.to_uppercase();
    names.contains(&name)
        || beginnings.iter().any(|part| name.starts_with(part))
        || words.iter().any(|part| name.contains(part))
}

fn exit_code(mut command: Command, file: &Path) -> Result<i32, CiError> {
    let not_written = |error| CiError::file(file, error);
    let mut kept = OpenOptions::new()
        .create(true)
        .append(true)
        .open(file)
        .map_err(not_written)?;
    let mut child = command
        .stdin(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(CiError::Program)?;
    let watch = waits::STEP.watch(child.id());
    let mut printed = child.stderr.take().expect("standard error is a pipe");
    let mut bytes = vec![0; 1 << 16];
    // The program continues without a copy of what it prints, so that its end is known.
    let mut copied = Ok(());
    loop {
        let length = match printed.read(&mut bytes) {
            Ok(0) => break,
            Ok(length) => length,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(CiError::Program(error)),
        };
        // The program has made it harmless for the log. If nobody reads that, the file has it.
        let _ = io::stderr().write_all(&bytes[..length]);
        if copied.is_ok() {
            copied = kept.write_all(&bytes[..length]);
        }
    }
    let status = child.wait();
    let status = watch.end().and(status).map_err(CiError::Program)?;
    copied.map_err(not_written)?;
    Ok(code_of(status))
}

/// Returns the exit code; after a signal 128 plus its number, as in shells.
fn code_of(status: ExitStatus) -> i32 {
    #[cfg(unix)]
    if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&status) {
        return 128 + signal;
    }
    status.code().unwrap_or(-1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn benches_do_not_inherit_job_variables() {
        for name in [
            "GITHUB_ENV",
            "GITHUB_PATH",
            "GITHUB_OUTPUT",
            "GITHUB_STATE",
            "GITHUB_STEP_SUMMARY",
            "GITHUB_TOKEN",
            "ACTIONS_RUNTIME_URL",
            "CARGO_TOPDOWN_STORE",
            "CARGO_REGISTRIES_MINE_TOKEN",
            "AWS_SECRET_ACCESS_KEY",
            "AWS_REGION",
            "GOOGLE_APPLICATION_CREDENTIALS",
            "MY_PASSWORD",
            "SAVE",
            "REPORT",
            "INPUT_BENCH_ARGS",
            "npm_config_token",
        ] {
            assert!(is_withheld(name), "{name}");
        }
        for name in [
            "PATH",
            "HOME",
            "CI",
            "GITHUB_ACTIONS",
            "GITHUB_SHA",
            "CARGO_TOPDOWN_BASELINES",
            "RUSTFLAGS",
        ] {
            assert!(!is_withheld(name), "{name}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn command_output_and_exit_code_are_kept() {
        let root = tempfile::tempdir().unwrap();
        let file = root.path().join("bench.stderr");
        let ends = |script: &str| {
            let mut command = Command::new("sh");
            command.args(["-c", script]);
            exit_code(command, &file).unwrap()
        };
        assert_eq!(ends("echo one >&2; exit 100"), 100);
        assert_eq!(ends("echo two >&2; cat >&2; kill -9 $$"), 128 + 9);
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "one\ntwo\n");
        let missing = exit_code(Command::new(root.path().join("none")), &file);
        assert!(matches!(missing, Err(CiError::Program(_))));
    }
}
