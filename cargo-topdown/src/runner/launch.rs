//! One launch: a bench process from its start to its end.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::Duration;

use criterion_topdown::doubling;
use criterion_topdown::provenance::Provenance;
use criterion_topdown::run_file::{Fingerprint, IterationSample, SAMPLES_VARIABLE, Throughput};
use regex::Regex;
use thiserror::Error;

use super::excerpt::excerpt_of_file;
use super::fixed_stack;
use super::interrupt;
use super::join::{JoinError, Reported, SamplesFile, is_ours, join};
use super::parting::LaunchTrail;
use super::peer::{self, Peer};
use super::protocol::{Connection, Event, PORT_VARIABLE, Plan, ProtocolError};
use crate::bench_targets::BenchTarget;
use crate::cli::SourceChoice;
use crate::functions::{SampleFunctions, Symbols, attribute, fingerprint_of};
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

/// How often a process that has not connected yet is looked at. A criterion bench connects before
/// it measures anything, so this disturbs no measurement.
const LOOK_INTERVAL: Duration = Duration::from_millis(5);

/// One benchmark of one launch.
#[derive(Debug)]
pub struct Measured {
    /// criterion's full id.
    pub name: String,
    /// What one iteration processes.
    pub throughput: Option<Throughput>,
    /// What the numbers are.
    pub provenance: Provenance,
    /// In the order in which they were taken.
    pub samples: Vec<IterationSample>,
    /// Which functions their slots went to, where the bench knows.
    pub functions: Option<SampleFunctions>,
    /// Whether the user says that what other threads do does not count.
    pub own_thread_alone: bool,
    /// What the first of them executed, where the bench knows.
    pub fingerprint: Option<Fingerprint>,
    /// The way that the execution took, where the bench knows.
    pub trail: Option<LaunchTrail>,
}

/// The benchmarks of one launch.
#[derive(Debug, Default)]
pub struct Benchmarks {
    /// Those that can be kept.
    pub measured: Vec<Measured>,
    /// Those that measure something of their own: their names, and what the formatter of each makes of
    /// the value 1.
    pub other_measurements: Vec<(String, String)>,
}

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
    /// A group of criterion's own has settings that the launch is not to have.
    #[error("`{0}` is measured for as long as its group wants, and not as the settings say")]
    OtherPlan(String),
    /// Samples that double are too few of it.
    #[error("`{0}` has criterion's own measurement, which cannot tell of samples that double")]
    CannotDouble(String),
    /// The user stopped the run.
    #[error("interrupted")]
    Interrupted,
}

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
}

impl Launcher {
    /// Runs `target` once. `on_benchmark` hears the name of each benchmark that begins.
    ///
    /// # Errors
    /// When any of its benchmarks could not be measured; nothing of the launch is usable then.
    pub fn launch(
        &self,
        target: &BenchTarget,
        mut on_benchmark: impl FnMut(&str),
    ) -> Result<Launched, LaunchError> {
        let filter = match &target.benchmarks {
            Some(names) => &[pattern_of(names)][..],
            None => &self.filter,
        };
        let benchmarks = self.talk(target, filter, |bench, samples| {
            let mut symbols = Symbols::of(&target.executable);
            converse(
                bench,
                &target.settings,
                samples,
                &mut symbols,
                &mut on_benchmark,
            )
        })?;
        Ok(match benchmarks {
            Some(benchmarks) => Launched::Benchmarks(benchmarks),
            None => Launched::NotCriterion,
        })
    }

    /// criterion's full ids of all benchmarks that `target` has, measuring none; `None` where it does
    /// not look for its runner.
    ///
    /// # Errors
    /// When the process fails.
    pub fn list(&self, target: &BenchTarget) -> Result<Option<Vec<String>>, LaunchError> {
        self.talk(target, &[NOTHING.to_owned()], |bench, _| skipped(bench))
    }

    /// Starts `target` with `filter`, and has the conversation with it; `None` where it ends without
    /// having looked for its runner.
    fn talk<T>(
        &self,
        target: &BenchTarget,
        filter: &[String],
        conversation: impl FnOnce(Connection<TcpStream>, &mut SamplesFile) -> Result<T, LaunchError>,
    ) -> Result<Option<T>, LaunchError> {
        let samples_path = self.scratch.join("samples.jsonl");
        let mut samples = SamplesFile::create(&samples_path)
            .map_err(|error| io_error("could not make a samples file", error))?;
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
            .map_err(|error| io_error("could not listen on 127.0.0.1", error))?;
        let mut process = Process(self.spawn(target, filter, &listener, &samples_path)?);
        let result = match accept(listener, &mut process.0)? {
            None => None,
            Some(stream) => {
                let _registered = interrupt::hangs_up(&stream);
                let bench = Connection::with_bench(stream).map_err(LaunchError::from);
                Some(bench.and_then(|bench| conversation(bench, &mut samples)))
            }
        };
        // After a quarrel nothing that the bench could still do would be used.
        let quarrel = matches!(&result, Some(Err(error)) if !is_hang_up(error));
        if !quarrel && !interrupt::requested() {
            let status = process
                .0
                .wait()
                .map_err(|error| io_error("could not wait for the bench", error))?;
            // Ctrl-C in a terminal ends the bench too, perhaps before it is noticed here.
            if interrupt::has_ended(status) {
                return Err(LaunchError::Interrupted);
            }
            if !status.success() && !interrupt::requested() {
                return Err(LaunchError::Exited(status));
            }
        }
        if interrupt::requested() {
            return Err(LaunchError::Interrupted);
        }
        result.transpose()
    }

    /// What the last launched bench printed, as far as it says what went wrong.
    pub fn output_excerpt(&self) -> String {
        // Without the file there is nothing to show, and a failure to report already.
        excerpt_of_file(&self.output_path()).unwrap_or_default()
    }

    /// All that the last launched bench printed.
    pub fn output(&self) -> String {
        let bytes = fs::read(self.output_path()).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    fn output_path(&self) -> PathBuf {
        self.scratch.join("output.txt")
    }

    fn spawn(
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
fn pattern_of(names: &[String]) -> String {
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

fn io_error(what: &str, error: io::Error) -> LaunchError {
    LaunchError::Io {
        what: what.to_owned(),
        error,
    }
}

/// Waits until the bench connects; `None` when it ends before it does. There is no time limit:
/// nothing tells a bench that is slow to prepare its data from one that hangs.
///
/// Whoever else connects is hung up on, and nobody can connect afterwards.
fn accept(listener: TcpListener, child: &mut Child) -> Result<Option<TcpStream>, LaunchError> {
    let error = |error| io_error("could not accept the bench's connection", error);
    listener.set_nonblocking(true).map_err(error)?;
    loop {
        // In this order: a process that connects and ends at once has connected.
        let ended = child.try_wait().map_err(error)?.is_some();
        match listener.accept() {
            Ok((stream, _)) if peer::of(&stream, child.id()) == Peer::Stranger => continue,
            Ok((stream, _)) => {
                // Not everywhere does a stream forget that its listener would not block.
                stream.set_nonblocking(false).map_err(error)?;
                stream.set_nodelay(true).map_err(error)?;
                return Ok(Some(stream));
            }
            Err(nobody) if nobody.kind() == io::ErrorKind::WouldBlock => {}
            Err(failure) => return Err(error(failure)),
        }
        if ended || interrupt::requested() {
            return Ok(None);
        }
        thread::sleep(LOOK_INTERVAL);
    }
}

/// A bench process, which does not outlive the interest in it.
struct Process(Child);

impl Drop for Process {
    fn drop(&mut self) {
        // Both fail, or do nothing, where it has been waited for.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Whether the bench has gone; its exit status then says more than the error does.
fn is_hang_up(error: &LaunchError) -> bool {
    matches!(error, LaunchError::Protocol(ProtocolError::Io(_)))
}

/// Talks to the bench until it hangs up.
fn converse(
    mut bench: Connection<TcpStream>,
    settings: &Settings,
    samples: &mut SamplesFile,
    symbols: &mut Symbols,
    on_benchmark: &mut impl FnMut(&str),
) -> Result<Benchmarks, LaunchError> {
    let mut benchmarks = Benchmarks::default();
    let mut names = HashSet::new();
    let mut is_as_wanted = true;
    while let Some(event) = bench.receive()? {
        match event {
            Event::BeginningBenchmark { id } => on_benchmark(&id.name()),
            Event::MeasurementStart(plan) => is_as_wanted = is_wanted(&plan, settings),
            Event::MeasurementComplete { id, iters, times } => {
                // The answer comes after the bench's recorder has written the samples.
                let one = bench.format_value(1.0)?;
                let lines = samples.new_lines().map_err(JoinError::Io)?;
                let name = id.name();
                if !names.insert(name.clone()) {
                    return Err(LaunchError::DuplicateName(name));
                }
                let reported = Reported {
                    name: &name,
                    iterations: &iters,
                    scalars: &times,
                    one: &one,
                    sampling: settings.sampling,
                };
                match measured(&reported, id.throughput(), &lines, symbols)? {
                    Some(measured) => {
                        let is_ours = is_ours(&measured.provenance);
                        if is_ours && !is_as_wanted {
                            return Err(LaunchError::OtherPlan(name));
                        }
                        // On the model its time is not what is asked for.
                        let doubles = settings.sampling == Sampling::Doubling;
                        if !is_ours && doubles && !is_modelled(settings) {
                            return Err(LaunchError::CannotDouble(name));
                        }
                        benchmarks.measured.push(measured);
                    }
                    None => benchmarks.other_measurements.push((name, one)),
                }
                bench.proceed()?;
            }
            Event::FinishedBenchmarkGroup {} => {
                // A benchmark that panicked leaves samples that no completion will claim.
                bench.format_value(1.0)?;
                samples.new_lines().map_err(JoinError::Io)?;
                bench.proceed()?;
            }
            _ => {}
        }
    }
    Ok(benchmarks)
}

/// Whether criterion is going to do what the settings ask for. A benchmark whose group asks for
/// another time may be as long as any other, if it takes one iteration for each sample.
fn is_wanted(plan: &Plan, settings: &Settings) -> bool {
    /// criterion rounds iterations up, to twice the time at most.
    const ROUNDED_UP: f64 = 2.5;
    let limit_ns = settings.measurement_time.as_nanos() as f64 * ROUNDED_UP;
    settings.sampling != Sampling::Planned
        || plan.sample_count == u64::from(settings.sample_size)
            && (plan.iter_count == plan.sample_count || plan.estimate_ns <= limit_ns)
}

fn is_modelled(settings: &Settings) -> bool {
    matches!(
        settings.source,
        SourceChoice::Model | SourceChoice::ModelOrTime
    )
}

/// The ids of the benchmarks that the bench skips, until it hangs up.
fn skipped(mut bench: Connection<TcpStream>) -> Result<Vec<String>, LaunchError> {
    let mut names = Vec::new();
    while let Some(event) = bench.receive()? {
        match event {
            Event::SkippingBenchmark { id } => names.push(id.name()),
            Event::FinishedBenchmarkGroup {} => bench.proceed()?,
            _ => {}
        }
    }
    Ok(names)
}

/// `None` where the benchmark's measurement is neither ours nor the wall clock.
fn measured(
    reported: &Reported,
    throughput: Option<Throughput>,
    lines: &str,
    symbols: &mut Symbols,
) -> Result<Option<Measured>, JoinError> {
    let Some(joined) = join(reported, lines)? else {
        return Ok(None);
    };
    let code = joined.code.as_ref();
    Ok(Some(Measured {
        throughput,
        name: reported.name.to_owned(),
        provenance: joined.provenance,
        samples: joined.samples,
        functions: code.map(|code| attribute(code, symbols)),
        fingerprint: code.and_then(|code| fingerprint_of(code, symbols)),
        trail: code.map(LaunchTrail::of),
        own_thread_alone: false,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use criterion_topdown::visible::visible;

    #[test]
    fn a_plan_of_the_group_is_not_the_one_that_is_wanted() {
        let wanted = |sample_count, iter_count, seconds: f64| {
            let plan = Plan {
                sample_count,
                iter_count,
                estimate_ns: seconds * 1e9,
            };
            is_wanted(&plan, &Settings::default())
        };
        assert!(wanted(20, 2100, 0.25));
        assert!(wanted(20, 210, 0.5));
        // Long, and flat sampling at its least.
        assert!(wanted(20, 20, 60.0));
        assert!(!wanted(100, 5050, 0.25));
        assert!(!wanted(20, 21_000, 5.0));
        let author = Settings {
            sampling: Sampling::Author,
            ..Settings::default()
        };
        let plan = Plan {
            sample_count: 100,
            iter_count: 1,
            estimate_ns: 5e9,
        };
        assert!(is_wanted(&plan, &author));
    }

    #[test]
    fn a_program_that_cannot_be_started_is_named() {
        let scratch = tempfile::tempdir().unwrap();
        let launched = launcher(scratch.path()).launch(&bench("/nowhere/bench"), |_| {});
        let error = launched.unwrap_err().to_string();
        assert!(
            error.starts_with("could not start /nowhere/bench: "),
            "{error}"
        );
    }

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

    fn launcher(scratch: &Path) -> Launcher {
        Launcher {
            scratch: scratch.to_owned(),
            cargo: PathBuf::from("cargo"),
            arguments: Vec::new(),
            filter: Vec::new(),
            shows_output: false,
            through: None,
            group: None,
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
            thread::spawn(move || done.send(launcher.launch(&target, |_| {})));
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
