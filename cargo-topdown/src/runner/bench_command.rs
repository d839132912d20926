//! How a bench is started: its command line, its environment, and where its output goes.

use std::fs::File;
use std::io;
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use criterion_topdown::counter::hardware::CORE_VARIABLE;
use criterion_topdown::doubling;
use criterion_topdown::run_file::SAMPLES_VARIABLE;
use regex::Regex;

use super::fixed_stack;
use super::launch::{LaunchError, Launcher, io_error};
use super::protocol::PORT_VARIABLE;
use crate::arm_specification;
use crate::bench_targets::BenchTarget;
use crate::settings::{Sampling, Settings};

/// The environment variable that names criterion's output directory. Under a runner criterion
/// writes next to nothing, and what it does write must not mix with the user's own results.
const CRITERION_HOME_VARIABLE: &str = "CRITERION_HOME";

/// The environment variable in which the library looks for its source.
const SOURCE_VARIABLE: &str = "CARGO_TOPDOWN_SOURCE";
/// The environment variable in which the library looks for the kind of counters.
const COUNTERS_VARIABLE: &str = "CARGO_TOPDOWN_COUNTERS";

/// The environment variable in which the library looks for whose slots to count.
const THREADS_VARIABLE: &str = "CARGO_TOPDOWN_THREADS";
/// The environment variable in which the library looks for the metric group to count.
const GROUP_VARIABLE: &str = "CARGO_TOPDOWN_GROUP";
/// The environment variable in which the library looks for the budget of the model.
const MODEL_BUDGET_VARIABLE: &str = "CARGO_TOPDOWN_MODEL_BUDGET";
const MODEL_CORE_VARIABLE: &str = "CARGO_TOPDOWN_MODEL_CORE";

impl Launcher {
    /// Starts `target` with `filter`; it finds its runner behind `listener`.
    pub(super) fn spawn(
        &self,
        target: &BenchTarget,
        filter: &[String],
        listener: &TcpListener,
        samples: &Path,
    ) -> Result<Child, LaunchError> {
        let open = || -> io::Result<_> {
            let port = listener.local_addr()?.port();
            // A file and no pipe: nobody has to be woken up to empty it while the bench measures.
            let output = File::create(self.output_path())?;
            Ok((port, output.try_clone()?, output))
        };
        let (port, stdout, stderr) =
            open().map_err(|error| io_error("could not prepare a launch", error))?;
        let settings = &target.settings;
        let mut command = match self.through {
            Some([program, arguments @ ..]) => {
                let mut command = Command::new(program);
                command.args(arguments).arg(&target.executable);
                command
            }
            _ => Command::new(&target.executable),
        };
        command
            .arg("--bench")
            .args(sampling_arguments(settings))
            .args(&self.arguments)
            .args(filter)
            .current_dir(&target.package_root)
            .envs(&target.environment)
            .env("CARGO", &self.cargo)
            .env(PORT_VARIABLE, port.to_string())
            .env(SAMPLES_VARIABLE, samples)
            .env(SOURCE_VARIABLE, settings.source.name())
            .env(COUNTERS_VARIABLE, settings.counters.name())
            .env(THREADS_VARIABLE, settings.threads.name())
            .env(GROUP_VARIABLE, self.group.unwrap_or_default())
            .env(MODEL_BUDGET_VARIABLE, seconds(settings.model_budget))
            .env(MODEL_CORE_VARIABLE, settings.model_core.name())
            .env(doubling::SAMPLING_VARIABLE, settings.sampling.name())
            .env(CRITERION_HOME_VARIABLE, self.scratch.join("criterion"))
            .stdin(Stdio::null())
            .stdout(stdout)
            .stderr(stderr);
        if let Some(core) = arm_specification::for_benches() {
            command.env(CORE_VARIABLE, core);
        }
        if let Some(through) = self.through {
            fixed_stack::pad_environment(&mut command, through.len() - 1);
        }
        command.spawn().map_err(|error| {
            io_error(
                &format!("could not start {}", target.executable.display()),
                error,
            )
        })
    }
}

/// How much criterion is to measure.
fn sampling_arguments(settings: &Settings) -> Vec<String> {
    let time_limit = [
        "--measurement-time".to_owned(),
        seconds(settings.measurement_time),
    ];
    let own = match settings.sampling {
        Sampling::Doubling => vec!["--quick".to_owned()],
        Sampling::Planned | Sampling::Author => vec![
            "--sample-size".to_owned(),
            settings.sample_size.to_string(),
            "--warm-up-time".to_owned(),
            seconds(settings.warm_up_time),
        ],
    };
    own.into_iter().chain(time_limit).collect()
}

/// A regular expression that matches these ids and no other.
pub fn pattern_of(names: &[String]) -> String {
    let names: Vec<String> = names.iter().map(|name| pattern_of_name(name)).collect();
    format!("^(?:{})$", names.join("|"))
}

/// What is written `\n` or `\u{1b}` in a name can be that, or the character, which a regular
/// expression writes alike.
fn pattern_of_name(name: &str) -> String {
    let hidden = Regex::new(r"\\(?:[nrt]|u\{[0-9a-f]{1,6}\})").expect("the pattern is fixed");
    let mut pattern = String::new();
    let mut end = 0;
    for found in hidden.find_iter(name) {
        let (literal, written) = (&name[end..found.start()], found.as_str());
        pattern += &regex::escape(literal);
        pattern += &format!("(?:{}|{written})", regex::escape(written));
        end = found.end();
    }
    pattern + &regex::escape(&name[end..])
}

fn seconds(time: Duration) -> String {
    time.as_secs_f64().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use criterion_topdown::visible::visible;

    #[test]
    fn a_name_is_matched_as_it_is_shown_and_as_it_is() {
        let names = ["a.b/\u{1b}[1m\n\u{9b}", r"literal \u{1b}", "x|y"];
        let shown = names.map(|name| visible(name).into_owned());
        let pattern = Regex::new(&pattern_of(&shown)).unwrap();
        for name in names {
            assert!(pattern.is_match(name), "{name:?}");
        }
        for other in ["aXb/", "x", "a.b", "literal "] {
            assert!(!pattern.is_match(other), "{other:?}");
        }
    }
}
