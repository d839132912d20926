//! cargo's `target.….runner`: the program through which `cargo bench` starts executables.
//!
//! Benches are started through it as well, so that `taskset -c 2` or `sudo -E` measures what
//! `cargo bench` measures. The environment, the working directory and the bench's files pass
//! through it. `setarch -R`, by which the model fixes addresses, comes after it.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::str::FromStr;

use cargo_platform::{Cfg, Platform};
use serde_json::Value;

use crate::targets::bench_targets::Cargo;
use topdown_system::waits;

/// Lets a stable cargo print its merged configuration, and nothing else.
const UNSTABLE: (&str, &str) = ("RUSTC_BOOTSTRAP", "1");

impl Cargo {
    /// Returns the words of the runner for the benches' target, the program first; none if no
    /// runner is set.
    ///
    /// # Errors
    /// Returns why cargo's configuration is not known, or is ambiguous.
    pub fn runner(&self) -> Result<Vec<String>, String> {
        let configuration = self.configuration(&["--format=json-value"])?;
        let configuration: Value = serde_json::from_str(&configuration)
            .map_err(|error| format!("cargo printed no JSON: {error}"))?;
        let triple = match self.triple(&configuration) {
            Some(triple) => triple,
            None => host()?,
        };
        let is_on_command_line = self.flags.common.iter().any(|word| word.contains("runner"));
        let variable = triple.to_uppercase().replace(['-', '.'], "_");
        let variable = format!("CARGO_TARGET_{variable}_RUNNER");
        if let (Ok(runner), false) = (env::var(variable), is_on_command_line) {
            return Ok(runner.split_whitespace().map(str::to_owned).collect());
        }
        let Some(targets) = configuration.get("target").and_then(Value::as_object) else {
            return Ok(Vec::new());
        };
        let runner_of =
            |name: &str| Some((name.to_owned(), words(targets.get(name)?.get("runner")?)));
        let runner = match runner_of(&triple) {
            Some(runner) => Some(runner),
            None => {
                let names = targets.keys().filter(|name| name.starts_with("cfg("));
                one_of(names.filter_map(|name| runner_of(name)).collect(), &triple)?
            }
        };
        let Some((name, mut words)) = runner else {
            return Ok(Vec::new());
        };
        if let Some(program) = words.first_mut()
            && Path::new(program).components().count() > 1
        {
            let path = self.directory_of_setting(&name)?.join(&*program);
            *program = path.display().to_string();
        }
        Ok(words)
    }

    /// Returns the target that the command line or the configuration names.
    fn triple(&self, configuration: &Value) -> Option<String> {
        let configured = || {
            let target = configuration.get("build")?.get("target")?;
            let first = target.as_array().map_or(Some(target), |all| all.first())?;
            first.as_str().map(str::to_owned)
        };
        let named = self.flags.target.clone();
        let triple = named
            .or(env::var("CARGO_BUILD_TARGET").ok())
            .or_else(configured)?;
        // A file that describes a target is named after it.
        match triple.strip_suffix(".json") {
            Some(path) => Path::new(path).file_name()?.to_str().map(str::to_owned),
            None => Some(triple),
        }
    }

    /// Returns the directory to which paths in the runner of target `name` are relative: the one
    /// with the `.cargo` in which it is set, or the current one.
    fn directory_of_setting(&self, name: &str) -> Result<PathBuf, String> {
        let text = self.configuration(&["--show-origin", "target"])?;
        // `target.NAME.runner = "a/path" # /home/me/.cargo/config.toml`, or a line for each word.
        let is_of_runner = |line: &&str| {
            let key = line.split_once(".runner = ").map(|(key, _)| key);
            let key = key.and_then(|key| key.strip_prefix("target."));
            key.is_some_and(|key| key.replace(['"', '\'', '\\'], "") == name.replace('"', ""))
        };
        let lines = text.lines().skip_while(|line| !is_of_runner(line)).take(2);
        let mut origins = lines.filter_map(|line| line.rsplit_once("# "));
        let file = origins.next().map(|(_, origin)| Path::new(origin.trim()));
        let file = file.filter(|origin| origin.is_absolute());
        let directory = file.and_then(Path::parent).and_then(Path::parent);
        match directory.or(self.directory.as_deref()) {
            Some(directory) => Ok(directory.to_owned()),
            None => env::current_dir().map_err(|error| error.to_string()),
        }
    }

    /// Returns what `cargo config get` prints with these words.
    fn configuration(&self, words: &[&str]) -> Result<String, String> {
        let mut command = Command::new(&self.program);
        if let Some(directory) = &self.directory {
            command.current_dir(directory);
        }
        command
            .args(["-Zunstable-options", "config", "get"])
            .args(&self.flags.common)
            .args(words)
            .env(UNSTABLE.0, UNSTABLE.1);
        let output = waits::TOOL
            .output(&mut command)
            .map_err(|error| error.to_string())?;
        if output.status.success() {
            Ok(String::from_utf8_lossy(&output.stdout).into_owned())
        } else {
            Err(String::from_utf8_lossy(&output.stderr).trim().to_owned())
        }
    }
}

/// Returns the words of a runner: a string is split at spaces, a list is not.
fn words(runner: &Value) -> Vec<String> {
    match runner {
        Value::String(words) => words.split_whitespace().map(str::to_owned).collect(),
        Value::Array(words) => {
            let words = words.iter().filter_map(Value::as_str);
            words.map(str::to_owned).collect()
        }
        _ => Vec::new(),
    }
}

/// Returns the only one of `runners`, by their `cfg(…)`, that applies to `triple`.
fn one_of(
    runners: Vec<(String, Vec<String>)>,
    triple: &str,
) -> Result<Option<(String, Vec<String>)>, String> {
    if runners.is_empty() {
        return Ok(None);
    }
    let printed = rustc(&["--print", "cfg", "--target", triple])?;
    let set: Vec<Cfg> = printed
        .lines()
        .filter_map(|line| Cfg::from_str(line).ok())
        .collect();
    let applies = |(name, _): &(String, Vec<String>)| {
        Platform::from_str(name).is_ok_and(|platform| platform.matches(triple, &set))
    };
    let mut applying = runners.into_iter().filter(applies);
    match (applying.next(), applying.next()) {
        (Some((one, _)), Some((other, _))) => Err(format!(
            "both `target.'{one}'.runner` and `target.'{other}'.runner` apply to {triple}"
        )),
        (one, _) => Ok(one),
    }
}

fn host() -> Result<String, String> {
    let version = rustc(&["-vV"])?;
    let host = version.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned)
        .ok_or_else(|| "rustc names no host".to_owned())
}

fn rustc(words: &[&str]) -> Result<String, String> {
    let rustc = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = waits::TOOL.output(Command::new(rustc).args(words));
    let output = output.map_err(|error| format!("could not run rustc: {error}"))?;
    if output.status.success() {
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    } else {
        Err(String::from_utf8_lossy(&output.stderr).trim().to_owned())
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    const TRIPLE: &str = "x86_64-unknown-linux-gnu";

    /// The runner in a workspace whose configuration has these lines.
    fn runner(configuration: &str, words: &[&str]) -> Result<Vec<String>, String> {
        let directory = tempfile::tempdir().unwrap();
        fs::create_dir_all(directory.path().join(".cargo")).unwrap();
        let file = directory.path().join(".cargo/config.toml");
        fs::write(file, configuration).unwrap();
        let mut cargo = Cargo::offline(directory.path().join("Cargo.toml"), &[]);
        cargo.directory = Some(directory.path().to_owned());
        cargo.flags.target = Some(TRIPLE.to_owned());
        cargo.flags.common = words.iter().map(ToString::to_string).collect();
        let here = directory.path().display().to_string();
        let runner = cargo.runner()?.into_iter();
        Ok(runner.map(|word| word.replace(&here, "HERE")).collect())
    }

    #[test]
    fn a_runner_is_found_wherever_cargo_finds_it() {
        let of_triple = format!("[target.{TRIPLE}]\n");
        let linux = "[target.'cfg(target_os = \"linux\")']\nrunner = \"nice -n 2\"\n";
        let windows = "[target.'cfg(windows)']\nrunner = \"wine\"\n";
        for (configuration, words, expected) in [
            (String::new(), &[][..], &[][..]),
            (
                format!("{of_triple}runner = \"setarch  -R\"\n"),
                &[],
                &["setarch", "-R"],
            ),
            (
                format!("{of_triple}runner = [\"a\", \"b c\"]\n"),
                &[],
                &["a", "b c"],
            ),
            (format!("{windows}{linux}"), &[], &["nice", "-n", "2"]),
            (windows.to_owned(), &[], &[]),
            // The triple comes before any `cfg`.
            (format!("{of_triple}runner = \"a\"\n{linux}"), &[], &["a"]),
            (
                format!("{of_triple}runner = \"./tools/run.sh -x\"\n"),
                &[],
                &["HERE/./tools/run.sh", "-x"],
            ),
            (
                format!("{of_triple}runner = [\"tools/run.sh\", \"-x\"]\n"),
                &[],
                &["HERE/tools/run.sh", "-x"],
            ),
            (
                format!("{of_triple}runner = \"a\"\n"),
                &["--config", "target.x86_64-unknown-linux-gnu.runner=\"b\""],
                &["b"],
            ),
        ] {
            let found = runner(&configuration, words).unwrap();
            assert_eq!(found, expected, "{configuration}");
        }
        let two = format!("{linux}[target.'cfg(unix)']\nrunner = \"a\"\n");
        let error = runner(&two, &[]).unwrap_err();
        assert!(
            error.ends_with("apply to x86_64-unknown-linux-gnu"),
            "{error}"
        );
        let broken = runner("[target\n", &[]).unwrap_err();
        assert!(broken.contains("config.toml"), "{broken}");
    }
}
