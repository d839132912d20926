//! How the benches were built: compiler, profile, target, commit.

use std::env;
use std::path::Path;
use std::process::Command;

use criterion_topdown::run_file::Build;

use crate::cli::CargoBenchArgs;

/// The profile that `cargo bench` builds with.
const DEFAULT_PROFILE: &str = "bench";

/// What separates the flags in `CARGO_ENCODED_RUSTFLAGS`.
const ENCODED_SEPARATOR: char = '\x1f';

/// The identity of a build that `flags` asked for in the workspace at `root`.
///
/// What is unknown is left empty: none of it changes what was measured.
pub fn build_identity(flags: &CargoBenchArgs, root: &Path) -> Build {
    let rustc = env::var("RUSTC").unwrap_or_else(|_| "rustc".to_owned());
    let version = output_of(&rustc, &["-vV"], root).unwrap_or_default();
    let host = version.lines().find_map(|line| line.strip_prefix("host: "));
    let target = flags.target.clone().or(env::var("CARGO_BUILD_TARGET").ok());
    let rustflags = match env::var("CARGO_ENCODED_RUSTFLAGS") {
        Ok(encoded) => encoded.replace(ENCODED_SEPARATOR, " "),
        Err(_) => env::var("RUSTFLAGS").unwrap_or_default(),
    };
    Build {
        rustc: version.lines().next().unwrap_or_default().to_owned(),
        profile: flags.profile.clone().unwrap_or(DEFAULT_PROFILE.to_owned()),
        target: target.unwrap_or_else(|| host.unwrap_or_default().to_owned()),
        rustflags,
        git_commit: output_of("git", &["rev-parse", "HEAD"], root),
        // Files that git does not know do not count: reports and baselines are often among them.
        git_dirty: output_of(
            "git",
            &["status", "--porcelain", "--untracked-files=no"],
            root,
        )
        .map(|changes| !changes.is_empty()),
    }
}

/// What a program prints, trimmed; `None` where it fails or is not there.
fn output_of(program: &str, arguments: &[&str], directory: &Path) -> Option<String> {
    let output = Command::new(program)
        .args(arguments)
        .current_dir(directory)
        .output()
        .ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned())
}
