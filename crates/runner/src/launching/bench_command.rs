//! The command that starts a bench: arguments, environment, and output.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use regex::Regex;
use topdown_run::environment as reported;
use topdown_run::setting::Setting;

use crate::launching::bench_process::{BenchProcess, Descendants};
use crate::launching::fixed_stack;
use crate::launching::launch_error::LaunchError;
use crate::launching::launcher::Launcher;
use crate::launching::time_limits::TimeLimits;
use crate::settings::Settings;
use crate::targets::bench_targets::BenchTarget;
use crate::targets::environment::{self, Variables};
use topdown_run::setting::Sampling;
use topdown_system::cgroup::Cgroup;
use topdown_system::processes;
use topdown_system::scratch;
use topdown_system::session;

/// The environment variable that names criterion's output directory. The little that criterion
/// writes with a runner must not mix with the user's own results.
const CRITERION_HOME_VARIABLE: &str = "CRITERION_HOME";

impl Launcher {
    /// Starts `target` with `filter`; its runner listens on `listener`.
    pub(super) fn start(
        &self,
        target: &BenchTarget,
        filter: &[String],
        listener: &TcpListener,
        samples: &Path,
        limits: TimeLimits,
    ) -> Result<BenchProcess, LaunchError> {
        let open = || -> io::Result<_> {
            let port = listener.local_addr()?.port();
            // A file, not a pipe: no thread must wake up to drain it while the bench measures.
            let output = self.new_output()?;
            Ok((port, output.try_clone()?, output.try_clone()?, output))
        };
        let (port, stdout, stderr, output) =
            open().map_err(|error| LaunchError::io("could not prepare a launch", error))?;
        let own: Vec<OsString> = [target.executable.clone().into(), "--bench".into()]
            .into_iter()
            .chain(
                sampling_arguments(&target.settings)
                    .into_iter()
                    .map(OsString::from),
            )
            .chain(self.arguments.iter().map(OsString::from))
            .chain(filter.iter().map(OsString::from))
            .collect();
        let mut variables = self.variables(target, port, samples);
        if let Some(forks) = &target.forks {
            let value = forks.write(target, &self.scratch);
            let value =
                value.map_err(|error| LaunchError::io("could not prepare a launch", error))?;
            variables.insert(reported::FORKS.into(), value);
        }
        let mut words: Vec<OsString> = target.runner.iter().map(OsString::from).collect();
        if let Some(through) = self.through {
            fixed_stack::pad(&mut variables, &own);
            words.extend(through.iter().map(OsString::from));
        }
        words.extend(own);
        let name = self
            .scratch
            .file_name()
            .unwrap_or_default()
            .to_string_lossy();
        let cgroup = self.starter.as_ref().and_then(|_| Cgroup::new(&name));
        if let Some(cgroup) = &cgroup {
            scratch::note_cgroup(&self.scratch, cgroup);
        }
        let mut command = match &self.starter {
            Some(starter) => starter.command(&words, cgroup.as_ref().map(Cgroup::entrance)),
            None => {
                let mut command = Command::new(&words[0]);
                command.args(&words[1..]).stdin(Stdio::null());
                command
            }
        };
        command
            .current_dir(&target.package_root)
            .env_clear()
            .envs(variables)
            .stdout(stdout)
            .stderr(stderr);
        let started = match &self.starter {
            Some(_) => {
                // Makes this program the parent of what the bench leaves behind.
                processes::adopt_orphans();
                session::start(&mut command)
            }
            None => command.spawn(),
        };
        let child = started.map_err(|error| {
            let program = words[0].display();
            LaunchError::io(format!("could not start {program}"), error)
        })?;
        let descendants = match (&self.starter, self.beside_others) {
            (None, _) => Descendants::Below,
            (Some(_), false) => Descendants::All,
            (Some(_), true) => Descendants::Heirs(self.scratch.clone()),
        };
        Ok(BenchProcess::new(
            target.to_string(),
            child,
            output,
            descendants,
            cgroup,
            limits,
        ))
    }

    /// Creates an empty file that the bench appends to, so output continues at the start after
    /// truncation.
    fn new_output(&self) -> io::Result<File> {
        match fs::remove_file(self.output_path()) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        File::options()
            .append(true)
            .create_new(true)
            .open(self.output_path())
    }

    fn variables(&self, target: &BenchTarget, port: u16, samples: &Path) -> Variables {
        let settings = &target.settings;
        let mut variables = environment::inherited(std::env::vars_os(), &target.keep_env);
        let periods: Vec<String> = self.hit_periods.iter().map(u64::to_string).collect();
        let own: [(&str, OsString); 15] = [
            ("CARGO", self.cargo.clone().into()),
            (reported::RUNNER_PORT, port.to_string().into()),
            (reported::SAMPLES, samples.into()),
            word(settings.source),
            word(settings.counters),
            word(settings.threads),
            (reported::GROUP, self.group.unwrap_or_default().into()),
            (
                reported::LATENCIES,
                self.latencies_of.unwrap_or_default().into(),
            ),
            (reported::SAMPLING_PERIOD, periods.join(",").into()),
            (
                reported::MODEL_BUDGET,
                seconds(settings.model_budget).into(),
            ),
            word(settings.model_core),
            (reported::PATHS, u8::from(settings.paths).to_string().into()),
            (
                reported::ALLOCATIONS,
                u8::from(settings.allocations).to_string().into(),
            ),
            word(settings.sampling),
            (
                CRITERION_HOME_VARIABLE,
                self.scratch.join("criterion").into(),
            ),
        ];
        let of_cargo = target.environment.iter();
        variables.extend(of_cargo.map(|(name, value)| (name.into(), value.clone())));
        variables.extend(own.map(|(name, value)| (name.into(), value)));
        // Other launches have no such variable, so that their stack stays where it was.
        let by_instruction = settings.instructions;
        variables.extend(by_instruction.then(|| (reported::INSTRUCTIONS.into(), "1".into())));
        let shares = settings.shared_lines;
        variables.extend(shares.then(|| (reported::SHARED_LINES.into(), "1".into())));
        let core = self.described_core;
        variables.extend(core.map(|core| (reported::DESCRIBED_CORE.into(), core.into())));
        variables
    }
}

/// criterion ends a benchmark whose samples double after this time. A launch needs four samples, of
/// which the first three have 7 iterations: so iterations of up to 8 s are not cut short. Most
/// benchmarks end after a tenth of a second.
const MIN_DOUBLING_LIMIT: Duration = Duration::from_secs(60);

/// Returns the arguments that set how much criterion measures.
fn sampling_arguments(settings: &Settings) -> Vec<String> {
    let time_limit = match settings.sampling {
        Sampling::Doubling => MIN_DOUBLING_LIMIT.max(settings.measurement_time),
        _ => settings.measurement_time,
    };
    let time_limit = ["--measurement-time".to_owned(), seconds(time_limit)];
    let own = match settings.sampling {
        Sampling::Doubling | Sampling::FirstTwo => vec!["--quick".to_owned()],
        Sampling::Planned | Sampling::Author => vec![
            "--sample-size".to_owned(),
            settings.sample_size.to_string(),
            "--warm-up-time".to_owned(),
            seconds(settings.warm_up_time),
        ],
    };
    own.into_iter().chain(time_limit).collect()
}

/// Returns a regular expression that matches exactly these ids.
pub fn pattern_of(names: &[String]) -> String {
    let names: Vec<String> = names.iter().map(|name| pattern_of_name(name)).collect();
    format!("^(?:{})$", names.join("|"))
}

/// A `\n` or `\u{1b}` in a name can be the text or an escaped character; the pattern matches both.
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

fn word<S: Setting>(setting: S) -> (&'static str, OsString) {
    (S::VARIABLE, setting.name().into())
}

fn seconds(time: Duration) -> String {
    time.as_secs_f64().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use topdown_run::visible::visible;

    #[test]
    fn filter_matches_raw_and_displayed_names() {
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
