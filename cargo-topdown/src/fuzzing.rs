//! The parsers of strangers' bytes, for `fuzz/`, and tests that feed them its corpus and changes of
//! it.
//!
//! Each entry point calls what the program calls, and continues as far as the bytes alone can
//! decide. None may panic, or take memory or time beyond what its input is worth.

#[cfg(test)]
mod mutation;

use std::io::{self, Read, Write};
use std::path::Path;

use topdown_gate::filter_expression::{FilterExpression, Tags};
use topdown_gate::pattern::Pattern;
use topdown_gate::policy::Policy;
use topdown_gate::verdict::{LabelledRun, compare};
use topdown_run::machine::Machine;
use topdown_run::run_file::{BenchmarkId, Record, parse_run, parse_samples};

use crate::accepted_file;
use topdown_arm_specification::described_core;
use topdown_import::ImportOptions;
use topdown_report::foreign_comparison::ForeignComparison;
use topdown_runner::functions::{
    Symbols, attribute, attribute_paths, attribute_samples, fingerprint_of,
};
use topdown_runner::launching::protocol::{Connection, Event};
use topdown_store::baselines::history::RunName;

/// The run of the samples in the corpus.
const RUN_ID: &str = "20261121T023000Z-4f2a";

/// A `run.json`, which is judged against itself.
pub fn run_file(bytes: &[u8]) {
    let _ = RunName::new(bytes);
    if let Ok(run) = parse_run(bytes) {
        let labelled = LabelledRun {
            label: "run",
            run: &run,
        };
        compare(labelled, labelled, &Policy::default());
    }
}

/// A samples file.
pub fn samples_file(bytes: &[u8]) {
    let _ = parse_samples(bytes, RUN_ID);
}

/// A line that a bench writes, whose code is looked up.
pub fn record(bytes: &[u8]) {
    let Ok(line) = std::str::from_utf8(bytes) else {
        return;
    };
    let Ok(record) = Record::from_line(line) else {
        return;
    };
    let mut symbols = Symbols::new(Path::new("/nowhere/bench"));
    if let Some(code) = &record.code {
        // Modules that exist are not the bytes' own.
        if code.modules.iter().any(|module| Path::new(module).exists()) {
            return;
        }
        attribute(code, &mut symbols);
        attribute_paths(code, &mut symbols);
        fingerprint_of(code, &mut symbols);
    }
    if let Some(hits) = &record.hits
        && !hits.modules.iter().any(|module| Path::new(module).exists())
    {
        attribute_samples(hits, &mut symbols, &record.provenance);
    }
}

/// What a bench sends to its runner.
pub fn protocol(bytes: &[u8]) {
    let Ok(mut bench) = Connection::open(SentBytes(bytes)) else {
        return;
    };
    while let Ok(Some(event)) = bench.receive() {
        match event {
            Event::BeginningBenchmark { id } | Event::SkippingBenchmark { id } => {
                id.name();
                id.throughput();
            }
            Event::MeasurementComplete { id, .. } => {
                id.name();
                if bench.format_value(1.0).is_err() || bench.proceed().is_err() {
                    return;
                }
            }
            _ => {}
        }
    }
}

/// Bytes that a bench has sent; it hears nothing.
struct SentBytes<'a>(&'a [u8]);

impl Read for SentBytes<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read(buffer)
    }
}

impl Write for SentBytes<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Another tool's output, measured on machines of which each knows other formulas.
pub fn import(bytes: &[u8]) {
    for key in [
        "x86_64-GenuineIntel-06-8f-08-smt",
        "x86_64-GenuineIntel-06-55-04-smt",
        "x86_64-AuthenticAMD-19-11-01-smt",
    ] {
        let machine = Machine::from_key(key).expect("a key");
        let told = ImportOptions {
            format: None,
            tool_version: Some("1"),
            seconds: &[],
            slots_per_cycle: Some(4),
            machine: &machine,
        };
        let _ = topdown_import::read_bytes(bytes, &told);
    }
}

/// A filter expression, which is matched.
pub fn filter_expression(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    let tags = Tags::from([("slow".to_owned(), vec![Pattern::new("*slow*")])]);
    match FilterExpression::parse(text, &tags) {
        Ok(expression) => {
            expression.matches(&BenchmarkId {
                package: "package".to_owned(),
                target: "target".to_owned(),
                name: "group/a slow function/1024".to_owned(),
            });
            FilterExpression::from_run(expression.stored()).expect("what was understood once");
        }
        Err(error) => drop(error.to_string()),
    }
}

/// A file of accepted changes.
pub fn accepted(bytes: &[u8]) {
    accepted_file::is_accepted(bytes);
}

/// Arm's description of a core.
pub fn arm_specification(bytes: &[u8]) {
    if let Ok(text) = std::str::from_utf8(bytes)
        && let Ok(core) = described_core(text)
    {
        drop(core.to_string());
    }
}

/// The comparison of a pull request, which becomes a comment.
pub fn comparison(bytes: &[u8]) {
    if let Some(comment) = ForeignComparison::comment_of(bytes) {
        assert!(comment.len() <= 65_536, "longer than GitHub accepts");
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::panic::catch_unwind;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::thread;
    use std::time::{Duration, Instant};

    use fastrand::Rng;

    use super::mutation::mutated;
    use super::*;

    /// Seconds for which to feed changes of the corpus. Without it, each target gets
    /// [`MUTATIONS`].
    const SECONDS: &str = "TOPDOWN_FUZZ_SECONDS";
    const MUTATIONS: u64 = 300;

    type Target = (&'static str, fn(&[u8]));

    /// As `fuzz/fuzz_targets` has them.
    const TARGETS: [Target; 9] = [
        ("accepted", accepted),
        ("arm_specification", arm_specification),
        ("comparison", comparison),
        ("filter_expression", filter_expression),
        ("import", import),
        ("protocol", protocol),
        ("record", record),
        ("run_file", run_file),
        ("samples_file", samples_file),
    ];

    fn fuzz(directory: &str) -> impl Iterator<Item = std::path::PathBuf> {
        let directory = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../fuzz")
            .join(directory);
        let entries = fs::read_dir(&directory).unwrap_or_else(|error| {
            panic!("{}: {error}", directory.display());
        });
        entries.map(|entry| entry.unwrap().path())
    }

    /// Returns the files for a target, always in the same order.
    fn corpus(name: &str) -> Vec<Vec<u8>> {
        let mut paths: Vec<_> = fuzz(&format!("corpus/{name}")).collect();
        paths.sort_unstable();
        assert!(!paths.is_empty(), "{name} has no corpus");
        let read = |path| fs::read(path).unwrap();
        paths.into_iter().map(read).collect()
    }

    #[test]
    fn corpus_of_each_target_is_parsed_without_panic() {
        for (name, target) in TARGETS {
            for bytes in corpus(name) {
                target(&bytes);
            }
        }
    }

    #[test]
    fn mutation_is_determined_by_its_seed() {
        let corpus = corpus("import");
        let input = |seed| mutated(&corpus, &mut Rng::with_seed(seed));
        assert_eq!(input(1), input(1));
        let different = (0..100)
            .filter(|seed| !corpus.contains(&input(*seed)))
            .count();
        assert!(different > 80, "{different}");
    }

    /// The inputs are the same each time, however many there is time for. One that panics is kept.
    #[test]
    fn mutated_corpus_is_parsed_without_panic() {
        let seconds = std::env::var(SECONDS).ok();
        let seconds = seconds.map(|text| text.parse().expect("a number of seconds"));
        let threads = thread::available_parallelism().map_or(1, |threads| threads.get());
        let next = AtomicUsize::new(0);
        let feed = || {
            while let Some((name, target)) = TARGETS.get(next.fetch_add(1, Ordering::Relaxed)) {
                let begun_at = Instant::now();
                // A round of threads takes as many targets as there are threads.
                let share =
                    |seconds| Duration::from_secs(seconds) * threads as u32 / TARGETS.len() as u32;
                let share = seconds.map(share);
                let corpus = corpus(name);
                let mut seed = 0;
                while share.map_or(seed < MUTATIONS, |share| begun_at.elapsed() < share) {
                    let bytes = mutated(&corpus, &mut Rng::with_seed(seed));
                    if catch_unwind(|| target(&bytes)).is_err() {
                        let kept = std::env::temp_dir().join(format!("topdown-{name}-{seed}"));
                        fs::write(&kept, &bytes).unwrap();
                        panic!("{name} panics: add {} to its corpus", kept.display());
                    }
                    seed += 1;
                }
                println!("{name}: {seed} inputs in {:?}", begun_at.elapsed());
            }
        };
        thread::scope(|scope| {
            for _ in 0..threads.min(TARGETS.len()) {
                scope.spawn(feed);
            }
        });
    }

    #[test]
    fn targets_are_those_of_cargo_fuzz() {
        let mut names: Vec<String> = fuzz("fuzz_targets")
            .map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned())
            .collect();
        names.sort_unstable();
        assert_eq!(names, TARGETS.map(|(name, _)| name));
    }
}
