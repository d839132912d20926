//! One launch: a bench process from its start to its end.

use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::path::PathBuf;
use std::process::ExitStatus;
use std::time::Duration;

use thiserror::Error;

use super::bench_command::pattern_of;
use super::bench_process::{LONGEST_OUTPUT_BYTES, Words};
use super::conversation::{Benchmarks, Place, converse, skipped};
use super::excerpt::{end_of_file, excerpt_of_file};
use super::interrupt;
use super::join::{JoinError, SamplesFile};
use super::patience::Patience;
use super::protocol::{Connection, ProtocolError};
use super::session::Starter;
use crate::bench_targets::BenchTarget;
use crate::functions::Symbols;

/// How a launch ended.
#[derive(Debug)]
pub enum Launched {
    /// With its benchmarks, which can be none: the filter decides.
    Benchmarks(Benchmarks),
    /// In success, without having looked for its runner: no criterion bench.
    NotCriterion,
}

/// Why a launch gave nothing.
#[derive(Debug, Error)]
pub enum LaunchError {
    /// The process could not be started, or something around it failed.
    #[error("{what}: {error}")]
    Io {
        /// What was attempted.
        what: String,
        /// Why it failed.
        error: io::Error,
    },
    /// The process ended in failure: it panicked, or something that it needs is missing.
    #[error("it ended with {0}")]
    Exited(ExitStatus),
    /// It said that it succeeded, and a benchmark of it has no result.
    #[error(
        "benchmark `{0}` began and did not complete, although the bench ended in success; \
         `process::exit` does that, and so does a panic that is caught"
    )]
    NotCompleted(String),
    /// It said that it succeeded, and there was more to come.
    #[error(
        "it ended in success before it was done, {0}: whatever comes there is missing; \
         `process::exit` does that, so let `main` return instead"
    )]
    EndedEarly(Place),
    /// It hangs, or takes far longer than its first launch.
    #[error("{patience}, {place}, and was ended; `--launch-timeout SECONDS` gives it more time")]
    Overdue {
        /// How long it had.
        patience: Patience,
        /// What it was doing.
        place: Place,
    },
    /// The process was a criterion bench in an earlier launch.
    #[error("it did not look for its runner, as it had done in an earlier launch")]
    NotConnected,
    /// The conversation went wrong.
    #[error(transparent)]
    Protocol(#[from] ProtocolError),
    /// criterion's samples are not ours.
    #[error(transparent)]
    Join(#[from] JoinError),
    /// Two benchmarks with one name, which nothing could tell apart.
    #[error("it has more than one benchmark `{0}`; give one of them another name")]
    DuplicateName(String),
    /// A group of criterion's own has settings of its own, which the launch must not use.
    #[error("`{0}` is measured for as long as its group wants, and not as the settings say")]
    OtherPlan(String),
    /// Samples that double are too few of it.
    #[error("`{0}` has criterion's own measurement, which cannot tell of samples that double")]
    CannotDouble(String),
    /// The user stopped the run.
    #[error("interrupted")]
    Interrupted,
}

/// The file in the directory of a launch to which the bench writes its samples.
pub const SAMPLES_FILE: &str = "samples.jsonl";

/// A filter that lets no benchmark through: a character behind the end.
const NOTHING: &str = "$.";

/// What a launch needs to know beside its target.
#[derive(Clone)]
pub struct Launcher {
    /// Holds the files of one launch, which the next overwrites.
    pub scratch: PathBuf,
    /// `$CARGO`.
    pub cargo: PathBuf,
    /// Further arguments of the bench executable.
    pub arguments: Vec<String>,
    /// What the user wants to run, as arguments of the bench executable.
    pub filter: Vec<String>,
    /// Whether what the benches print is shown, even if they succeed.
    pub shows_output: bool,
    /// A command that starts the bench, the bench's own command line being its last arguments.
    pub through: Option<&'static [&'static str]>,
    /// The metric group that the library counts in place of the categories.
    pub group: Option<&'static str>,
    /// What starts benches in sessions of their own, where the system has them.
    pub starter: Option<Starter>,
}

impl Launcher {
    /// Runs `target` once; its first launch `took` so long, if this is a later one. `on_benchmark` hears the
    /// name of each benchmark that begins.
    ///
    /// # Errors
    /// When any of its benchmarks could not be measured; nothing of the launch is usable then.
    pub fn launch(
        &self,
        target: &BenchTarget,
        took: Option<Duration>,
        mut on_benchmark: impl FnMut(&str),
    ) -> Result<Launched, LaunchError> {
        let filter = match &target.benchmarks {
            Some(names) => &[pattern_of(names)][..],
            None => &self.filter,
        };
        let patience = Patience::of(target.settings.launch_timeout, took);
        let benchmarks = self.talk(target, filter, patience, |bench, samples, place| {
            let mut symbols = Symbols::of(&target.executable);
            converse(
                bench,
                &target.settings,
                samples,
                place,
                &mut symbols,
                &mut on_benchmark,
            )
        })?;
        Ok(match benchmarks {
            Some((benchmarks, outlived)) => Launched::Benchmarks(Benchmarks {
                outlived,
                ..benchmarks
            }),
            None => Launched::NotCriterion,
        })
    }

    /// criterion's full ids of all benchmarks that `target` has, measuring none; `None` where it does
    /// not look for its runner.
    ///
    /// # Errors
    /// When the process fails.
    pub fn list(&self, target: &BenchTarget) -> Result<Option<Vec<String>>, LaunchError> {
        let patience = Patience::of(target.settings.launch_timeout, None);
        let listed = self.talk(
            target,
            &[NOTHING.to_owned()],
            patience,
            |bench, _, place| skipped(bench, place),
        )?;
        Ok(listed.map(|(names, _)| names))
    }

    /// Starts `target` with `filter`, and has the conversation with it; `None` where it ends without
    /// having looked for its runner. Also says which processes it left behind.
    fn talk<T>(
        &self,
        target: &BenchTarget,
        filter: &[String],
        patience: Patience,
        conversation: impl FnOnce(
            Connection<Words<'_>>,
            &mut SamplesFile,
            &mut Place,
        ) -> Result<T, LaunchError>,
    ) -> Result<Option<(T, Vec<String>)>, LaunchError> {
        let samples_path = self.scratch.join(SAMPLES_FILE);
        let mut samples = SamplesFile::create(&samples_path)
            .map_err(|error| io_error("could not make a samples file", error))?;
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
            .map_err(|error| io_error("could not listen on 127.0.0.1", error))?;
        let mut place = Place::default();
        let mut process = self.start(target, filter, &listener, &samples_path, patience)?;
        let result = process.accept(listener)?.map(|stream| {
            let bench = Connection::open(process.words(stream))?;
            process.greeted();
            conversation(bench, &mut samples, &mut place)
        });
        // After an error nothing that the bench could still do would be used.
        let failed = matches!(&result, Some(Err(error)) if !is_hang_up(error));
        let must_wait = !failed && !process.is_overdue() && !interrupt::requested();
        let ended = match must_wait {
            true => process.wait(),
            false => Ok(None),
        };
        let status = ended.map_err(|error| io_error("could not wait for the bench", error))?;
        // Ctrl-C in a terminal can end the bench too, before it is noticed here.
        if interrupt::requested() || status.is_some_and(interrupt::has_ended) {
            return Err(LaunchError::Interrupted);
        }
        if process.is_overdue() {
            return Err(LaunchError::Overdue { patience, place });
        }
        if let Some(status) = status {
            if !status.success() {
                return Err(LaunchError::Exited(status));
            }
            let owes = samples.owes_a_last_word().map_err(JoinError::Io)?;
            place.end(owes)?;
        }
        let said = result.transpose()?;
        Ok(said.map(|said| (said, process.end_rest())))
    }

    /// What the last launched bench printed, as far as it says what went wrong.
    pub fn output_excerpt(&self) -> String {
        // Without the file there is nothing to show, and a failure to report already.
        excerpt_of_file(&self.output_path()).unwrap_or_default()
    }

    /// All that the last launched bench printed.
    pub fn output(&self) -> String {
        end_of_file(&self.output_path(), LONGEST_OUTPUT_BYTES).unwrap_or_default()
    }

    pub(super) fn output_path(&self) -> PathBuf {
        self.scratch.join("output.txt")
    }
}

pub(super) fn io_error(what: &str, error: io::Error) -> LaunchError {
    LaunchError::Io {
        what: what.to_owned(),
        error,
    }
}

/// Whether the bench has gone; its exit status then says more than the error does.
fn is_hang_up(error: &LaunchError) -> bool {
    matches!(error, LaunchError::Protocol(ProtocolError::Io(_)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::Settings;
    use std::fs;
    use std::net::TcpStream;
    use std::path::Path;
    use std::thread;

    #[test]
    fn a_program_that_cannot_be_started_is_named() {
        let scratch = tempfile::tempdir().unwrap();
        let launched = launcher(scratch.path()).launch(&bench("/nowhere/bench"), None, |_| {});
        let error = launched.unwrap_err().to_string();
        assert!(
            error.starts_with("could not start /nowhere/bench: "),
            "{error}"
        );
    }

    fn launcher(scratch: &Path) -> Launcher {
        Launcher {
            scratch: scratch.to_owned(),
            cargo: PathBuf::from("cargo"),
            arguments: Vec::new(),
            filter: Vec::new(),
            shows_output: false,
            through: None,
            group: None,
            starter: None,
        }
    }

    fn bench(executable: &str) -> BenchTarget {
        BenchTarget {
            package: "p".to_owned(),
            name: "b".to_owned(),
            executable: PathBuf::from(executable),
            package_root: PathBuf::from("."),
            environment: Default::default(),
            settings: Settings::default(),
            benchmarks: None,
            keep_env: Vec::new(),
            has_criterion: true,
        }
    }

    /// Says which port it was given, waits for others to connect there, and then is a criterion
    /// bench without benchmarks.
    #[cfg(target_os = "linux")]
    const LATE_BENCH: &str = r#"#!/bin/bash
cd "$(dirname "$0")" || exit 1
echo "$CARGO_CRITERION_PORT" > port.new && mv port.new port
until [ -e go ]; do sleep 0.01; done
exec 3<>"/dev/tcp/127.0.0.1/$CARGO_CRITERION_PORT" || exit 1
head -c 18 <&3 >/dev/null
printf 'Criterion\000\010\002\000\001\000\001' >&3
sleep 0.1
"#;

    #[cfg(target_os = "linux")]
    #[test]
    fn issue_14_3_whoever_else_connects_neither_hangs_nor_fails_a_run() {
        use std::io::Write;
        use std::os::unix::fs::PermissionsExt;
        const HELLO: &[u8] = b"Criterion\x00\x08\x02\x00\x01\x00\x01";
        let attacks: [&[u8]; 4] = [
            b"",
            HELLO,
            &[HELLO, &[0x0f, 0xff, 0xff, 0xff]].concat(),
            b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
        ];
        for (attack, leaves) in attacks.iter().flat_map(|a| [(a, false), (a, true)]) {
            let scratch = tempfile::tempdir().unwrap();
            let path = |name: &str| scratch.path().join(name);
            fs::write(path("bench"), LATE_BENCH).unwrap();
            fs::set_permissions(path("bench"), fs::Permissions::from_mode(0o755)).unwrap();
            let target = bench(path("bench").to_str().unwrap());
            let launcher = launcher(scratch.path());
            let (done, result) = std::sync::mpsc::channel();
            // Not waited for: where it hangs, the process that it is in ends.
            thread::spawn(move || done.send(launcher.launch(&target, None, |_| {})));
            let port = loop {
                match fs::read_to_string(path("port")) {
                    Ok(port) => break port.trim().parse::<u16>().unwrap(),
                    Err(_) => thread::sleep(Duration::from_millis(5)),
                }
            };
            let mut stranger = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).unwrap();
            // It may have been hung up on.
            let _ = stranger.write_all(attack);
            let stays = (!leaves).then_some(stranger);
            thread::sleep(Duration::from_millis(20));
            fs::write(path("go"), "").unwrap();
            let launched = result
                .recv_timeout(Duration::from_secs(20))
                .expect("it hangs");
            assert!(
                matches!(&launched, Ok(Launched::Benchmarks(none)) if none.measured.is_empty()),
                "{attack:?}: {launched:?}"
            );
            drop(stays);
        }
    }
}
