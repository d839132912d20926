//! One launch: a bench process from start to exit.

use std::net::{Ipv4Addr, TcpListener};
use std::time::Duration;

use crate::functions::Symbols;
use crate::launching::bench_command::pattern_of;
use crate::launching::bench_process::BenchStream;
use crate::launching::bench_progress::BenchProgress;
use crate::launching::conversation::{converse, skipped};
use crate::launching::join::JoinError;
use crate::launching::launch_error::LaunchError;
use crate::launching::launcher::Launcher;
use crate::launching::live_samples::LiveSamples;
use crate::launching::measured::Benchmarks;
use crate::launching::own_cpu;
use crate::launching::protocol::Connection;
use crate::launching::samples_file::SamplesFile;
use crate::launching::time_limits::TimeLimits;
use crate::targets::bench_targets::BenchTarget;
use topdown_system::interrupt;
use topdown_system::scratch::SAMPLES_FILE;

/// How a launch ended.
#[derive(Debug)]
pub enum Launched {
    /// With its benchmarks, which may be none, depending on the filter.
    Benchmarks(Benchmarks),
    /// Successfully, without connecting to the runner: not a criterion bench.
    NotCriterion,
}

/// A filter that matches no benchmark: a character after the end.
const NOTHING: &str = "$.";

impl Launcher {
    /// Runs `target` once. For a later launch, `took` is the duration of the first. Calls
    /// `on_benchmark` with the name of each benchmark that begins.
    ///
    /// # Errors
    /// Returns an error if any benchmark could not be measured; then nothing of the launch is
    /// usable.
    pub fn launch(
        &self,
        target: &BenchTarget,
        took: Option<Duration>,
        mut on_benchmark: impl FnMut(&str),
    ) -> Result<Launched, LaunchError> {
        let filter = match &target.benchmarks {
            // The bench skips the others by itself.
            Some(_) if target.forks.is_some() => &[],
            Some(names) => &[pattern_of(names)][..],
            None => &self.filter,
        };
        let limits = TimeLimits::new(target.settings.launch_timeout, took);
        let benchmarks = self.talk(target, filter, limits, |bench, samples, progress| {
            let mut symbols = Symbols::for_package(&target.executable, &target.package_root);
            converse(
                bench,
                &target.settings,
                samples,
                progress,
                &mut symbols,
                &mut on_benchmark,
            )
        });
        Ok(match if_as_built(target, benchmarks)? {
            Some((benchmarks, outlived)) => Launched::Benchmarks(Benchmarks {
                outlived,
                ..benchmarks
            }),
            None => Launched::NotCriterion,
        })
    }

    /// Returns criterion's full ids of all benchmarks of `target`, without measuring; `None` if it
    /// does not connect to the runner.
    ///
    /// # Errors
    /// Returns an error if the process fails.
    pub fn list(&self, target: &BenchTarget) -> Result<Option<Vec<String>>, LaunchError> {
        let limits = TimeLimits::new(target.settings.launch_timeout, None);
        let listed = self.talk(
            target,
            &[NOTHING.to_owned()],
            limits,
            |bench, _, progress| skipped(bench, progress),
        );
        let listed = if_as_built(target, listed)?;
        Ok(listed.map(|(names, _)| names))
    }

    /// Starts `target` with `filter` and runs the conversation; `None` if it exits without
    /// connecting to the runner. Also returns which processes it left behind.
    fn talk<T>(
        &self,
        target: &BenchTarget,
        filter: &[String],
        limits: TimeLimits,
        conversation: impl FnOnce(
            Connection<BenchStream<'_>>,
            &mut LiveSamples<'_>,
            &mut BenchProgress,
        ) -> Result<T, LaunchError>,
    ) -> Result<Option<(T, Vec<String>)>, LaunchError> {
        let samples_path = self.scratch.join(SAMPLES_FILE);
        let mut samples = SamplesFile::create(&samples_path)
            .map_err(|error| LaunchError::io("could not make a samples file", error))?;
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
            .map_err(|error| LaunchError::io("could not listen on 127.0.0.1", error))?;
        let mut progress = BenchProgress::default();
        let mut target = target.clone();
        let _claim = own_cpu::choose_for(&mut target);
        let mut process = self.start(&target, filter, &listener, &samples_path, limits)?;
        let result = process.accept(listener)?.map(|stream| {
            let bench = Connection::open(process.words(stream))?;
            process.greeted();
            let mut samples = LiveSamples {
                file: &mut samples,
                bench: &process,
            };
            conversation(bench, &mut samples, &mut progress)
        });
        // After an error, the rest of the launch is not used.
        let failed = matches!(&result, Some(Err(error)) if !error.is_hang_up());
        let must_wait = !failed && !process.is_overdue() && !interrupt::requested();
        let ended = if must_wait { process.wait() } else { Ok(None) };
        let status =
            ended.map_err(|error| LaunchError::io("could not wait for the bench", error))?;
        // Ctrl-C in a terminal can kill the bench before this program notices.
        if interrupt::requested() || status.is_some_and(interrupt::has_ended) {
            return Err(LaunchError::Interrupted);
        }
        if process.is_overdue() && result.is_none() {
            return Err(LaunchError::NeverConnected { limits });
        }
        if process.is_overdue() {
            return Err(LaunchError::Overdue { limits, progress });
        }
        if let Some(status) = status {
            if !status.success() {
                return Err(LaunchError::Exited(status));
            }
            if let Some(name) = progress.unfinished() {
                return Err(LaunchError::NotCompleted(name.to_owned()));
            }
            if samples.lacks_completion_marker().map_err(JoinError::File)?
                || progress.open_groups > 0
            {
                return Err(LaunchError::EndedEarly(progress));
            }
        }
        let said = result.transpose()?;
        Ok(said.map(|said| (said, process.end_rest())))
    }
}

/// Returns the result of a launch, if the executable is still the one that was built. Checked after
/// the launch, which shows that this file ran.
fn if_as_built<T>(
    target: &BenchTarget,
    launched: Result<T, LaunchError>,
) -> Result<T, LaunchError> {
    match launched {
        Err(LaunchError::Interrupted) => Err(LaunchError::Interrupted),
        _ if !target.is_as_built() => Err(LaunchError::OtherExecutable(target.executable.clone())),
        launched => launched,
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use std::collections::VecDeque;
    use std::fs;
    use std::net::{SocketAddr, TcpStream};
    use std::os::unix::fs::PermissionsExt;
    use std::path::PathBuf;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::thread;
    use topdown_system::file_identity::FileIdentity;
    use topdown_system::scratch::Scratch;

    #[test]
    fn unstartable_program_is_named() {
        let scratch = Scratch::new().unwrap();
        let launched = launcher(&scratch).launch(&bench("/nowhere/bench"), None, |_| {});
        let error = launched.unwrap_err().to_string();
        assert!(
            error.starts_with("could not start /nowhere/bench: "),
            "{error}"
        );
    }

    #[test]
    fn executable_changed_after_its_build_gives_nothing() {
        let scratch = Scratch::new().unwrap();
        let path = scratch.path().join("bench");
        fs::write(&path, "").unwrap();
        let target = BenchTarget {
            built: Some(FileIdentity::of(&path).unwrap()),
            ..bench(path.to_str().unwrap())
        };
        fs::write(&path, "#!/bin/sh\n").unwrap();
        let error = launcher(&scratch)
            .launch(&target, None, |_| {})
            .unwrap_err();
        assert!(matches!(error, LaunchError::OtherExecutable(_)), "{error}");
        let error = launcher(&scratch).list(&target).unwrap_err();
        assert!(matches!(error, LaunchError::OtherExecutable(_)), "{error}");
    }

    fn launcher(scratch: &Scratch) -> Launcher {
        Launcher {
            starter: None,
            ..Launcher::new(scratch, Vec::new(), None)
        }
    }

    fn bench(executable: &str) -> BenchTarget {
        BenchTarget {
            executable: PathBuf::from(executable),
            package_root: PathBuf::from("."),
            ..BenchTarget::named("p", "b")
        }
    }

    /// Reports its port, waits for others to connect there, and then acts as a criterion bench
    /// without benchmarks.
    const LATE_BENCH: &str = r#"#!/bin/bash
cd "$(dirname "$0")" || exit 1
echo "$CARGO_CRITERION_PORT" > port.new && mv port.new port
until [ -e go ]; do sleep 0.01; done
exec 3<>"/dev/tcp/127.0.0.1/$CARGO_CRITERION_PORT" || exit 1
head -c 18 <&3 >/dev/null
printf 'Criterion\000\010\002\000\001\000\001' >&3
sleep 0.1
"#;

    #[test]
    fn strangers_connecting_do_not_hang_a_run() {
        use std::io::Write;

        const HELLO: &[u8] = b"Criterion\x00\x08\x02\x00\x01\x00\x01";
        let attacks: [&[u8]; 4] = [
            b"",
            HELLO,
            &[HELLO, &[0x0f, 0xff, 0xff, 0xff]].concat(),
            b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
        ];
        for (attack, leaves) in attacks.iter().flat_map(|a| [(a, false), (a, true)]) {
            let late = LateBench::launch(LATE_BENCH);
            let mut stranger = TcpStream::connect(late.address()).unwrap();
            // It may have been hung up on.
            let _ = stranger.write_all(attack);
            let stays = (!leaves).then_some(stranger);
            thread::sleep(Duration::from_millis(20));
            let launched = late.end();
            assert!(
                matches!(&launched, Ok(Launched::Benchmarks(none)) if none.measured.is_empty()),
                "{attack:?}: {launched:?}"
            );
            drop(stays);
        }
    }

    /// More connections than wait at once, held and renewed as long as the bench runs.
    #[test]
    fn bench_connects_through_a_flood_of_strangers() {
        let late = LateBench::launch(LATE_BENCH);
        let address = late.address();
        let is_over = AtomicBool::new(false);
        let launched = thread::scope(|scope| {
            scope.spawn(|| {
                let mut held = VecDeque::new();
                // This many leave ports for other programs.
                for _ in 0..8000 {
                    if is_over.load(Ordering::Relaxed) {
                        break;
                    }
                    held.extend(TcpStream::connect_timeout(
                        &address,
                        Duration::from_millis(50),
                    ));
                    held.drain(..held.len().saturating_sub(200));
                }
            });
            thread::sleep(Duration::from_millis(50));
            let launched = late.end();
            is_over.store(true, Ordering::Relaxed);
            launched
        });
        assert!(
            matches!(&launched, Ok(Launched::Benchmarks(none)) if none.measured.is_empty()),
            "{launched:?}"
        );
    }

    #[test]
    fn unconnected_bench_is_ended_by_name() {
        let error = LateBench::launch_with("#!/bin/sh\nsleep 60\n", Some(Duration::from_secs(1)))
            .result
            .recv_timeout(Duration::from_secs(20))
            .expect("it hangs")
            .unwrap_err();
        assert!(
            matches!(error, LaunchError::NeverConnected { .. }),
            "{error}"
        );
        let message = "it did not connect to cargo topdown (limit: 1 s) and was killed";
        assert!(error.to_string().starts_with(message), "{error}");
    }

    /// As a bench that reports a group, whose samples file costs it nothing.
    #[test]
    fn sparse_samples_file_fails_the_launch() {
        let script = LATE_BENCH.replace(
            "sleep 0.1",
            r#"truncate -s 8G "$CARGO_TOPDOWN_SAMPLES"
printf '\000\000\000\031\241\166FinishedBenchmarkGroup\240' >&3
printf '\000\000\000\031\241\156FormattedValue\241\145value\1411' >&3
sleep 1"#,
        );
        let late = LateBench::launch(&script);
        let error = late.end().unwrap_err().to_string();
        let message = "could not read the samples file: the bench wrote 8192 MiB to it, and at \
                       most 4096 MiB are read";
        assert_eq!(error, message);
    }

    /// A script that acts as a bench, launched on a thread of its own.
    struct LateBench {
        scratch: Scratch,
        result: std::sync::mpsc::Receiver<Result<Launched, LaunchError>>,
    }

    impl LateBench {
        fn launch(script: &str) -> LateBench {
            LateBench::launch_with(script, None)
        }

        fn launch_with(script: &str, launch_timeout: Option<Duration>) -> LateBench {
            let scratch = Scratch::new().unwrap();
            let path = scratch.path().join("bench");
            fs::write(&path, script).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
            let mut target = bench(path.to_str().unwrap());
            target.settings.launch_timeout = launch_timeout;
            let launcher = launcher(&scratch);
            let (done, result) = std::sync::mpsc::channel();
            // Not joined: if it hangs, it ends with this process.
            thread::spawn(move || done.send(launcher.launch(&target, None, |_| {})));
            LateBench { scratch, result }
        }

        /// Where it is going to connect, once it is about to.
        fn address(&self) -> SocketAddr {
            let path = self.scratch.path().join("port");
            loop {
                match fs::read_to_string(&path) {
                    Ok(port) => {
                        let port = port.trim().parse::<u16>().unwrap();
                        return (Ipv4Addr::LOCALHOST, port).into();
                    }
                    Err(_) => thread::sleep(Duration::from_millis(5)),
                }
            }
        }

        /// Lets it connect, and waits for its end.
        fn end(self) -> Result<Launched, LaunchError> {
            fs::write(self.scratch.path().join("go"), "").unwrap();
            let result = self.result.recv_timeout(Duration::from_secs(20));
            result.expect("it hangs")
        }
    }
}
