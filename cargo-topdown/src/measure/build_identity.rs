//! Identity of a build: compiler, profile, target, commit.

use std::env;
use std::path::Path;
use std::process::Command;

use topdown_run::run_file::Build;

use crate::git::{GitError, git};
use topdown_system::waits;

/// The profile that `cargo bench` builds with.
const DEFAULT_PROFILE: &str = "bench";

/// The separator of flags in `CARGO_ENCODED_RUSTFLAGS`.
const ENCODED_SEPARATOR: char = '\x1f';

/// Returns the identity of a build with `profile` for `target` in the workspace at `root`, as the
/// command line names them.
///
/// Unknown fields stay empty: none of them changes what was measured.
pub fn build_identity(profile: Option<&str>, target: Option<&str>, root: &Path) -> Build {
    let rustc = env::var("RUSTC").unwrap_or_else(|_| "rustc".to_owned());
    let version = version_of(&rustc, root).unwrap_or_default();
    let host = version.lines().find_map(|line| line.strip_prefix("host: "));
    let target = target
        .map(str::to_owned)
        .or(env::var("CARGO_BUILD_TARGET").ok());
    let rustflags = match env::var("CARGO_ENCODED_RUSTFLAGS") {
        Ok(encoded) => encoded.replace(ENCODED_SEPARATOR, " "),
        Err(_) => env::var("RUSTFLAGS").unwrap_or_default(),
    };
    Build {
        rustc: version.lines().next().unwrap_or_default().to_owned(),
        profile: profile.unwrap_or(DEFAULT_PROFILE).to_owned(),
        target: target.unwrap_or_else(|| host.unwrap_or_default().to_owned()),
        debug_information: None,
        rustflags,
        git_commit: commit(root).ok(),
        git_dirty: has_changes(root),
    }
}

/// Returns the commit of the work tree at `root`.
///
/// # Errors
/// Returns what git says if it does not tell.
pub fn commit(root: &Path) -> Result<String, GitError> {
    git(root, &["rev-parse", "HEAD"])
}

/// Returns whether the work tree at `root` differs from its commit; `None` outside of git.
/// Untracked files do not count: they are often reports and baselines.
pub fn has_changes(root: &Path) -> Option<bool> {
    let arguments = ["status", "--porcelain", "--untracked-files=no"];
    Some(!git(root, &arguments).ok()?.is_empty())
}

/// Returns the address from which the work tree around the current directory was cloned.
pub fn origin() -> Option<String> {
    git(Path::new("."), &["remote", "get-url", "origin"]).ok()
}

/// Returns what the compiler says about itself; `None` if it fails or does not exist.
fn version_of(rustc: &str, directory: &Path) -> Option<String> {
    let mut command = Command::new(rustc);
    command.arg("-vV").current_dir(directory);
    let output = waits::TOOL.output(&mut command).ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned())
}
