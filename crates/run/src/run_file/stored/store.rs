//! Writing and reading a run's two files.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{self, BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::error::{RunFileError, RunFileProblem};
use super::samples_file::{self, LaunchSamples};
use super::stored_file::{self, MAX_RUN_FILE_BYTES, MAX_SAMPLES_FILE_BYTES, TEMPORARY_SUFFIX};
use super::wire::{ReadBenchmarks, RunWire};
use crate::provenance::SourceKind;
use crate::run_file::{BenchmarkId, Run};

/// The file in a run's directory that a comparison needs.
pub const RUN_FILE_NAME: &str = "run.json";

/// Stores `run` in `directory`, which is created if needed, replacing the run stored there.
///
/// # Errors
/// Returns an error if anything cannot be written. The previous run is then still complete.
pub fn write_run<'a>(
    directory: &Path,
    run: &Run,
    samples: impl IntoIterator<Item = &'a LaunchSamples>,
) -> Result<(), RunFileError> {
    let wire = RunWire::from_run(run)
        .map_err(|problem| in_file(&directory.join(RUN_FILE_NAME), problem))?;
    replace_run(
        directory,
        &wire.samples_file,
        Some(|file: &mut BufWriter<File>| samples_file::write(file, &run.id, samples)),
        |file| write_wire(file, &wire),
    )
}

/// Stores `run` in `directory` like [`write_run`], but without a samples file.
///
/// # Errors
/// Same as [`write_run`].
pub fn write_run_without_samples(directory: &Path, run: &Run) -> Result<(), RunFileError> {
    let wire = RunWire::from_run(run)
        .map_err(|problem| in_file(&directory.join(RUN_FILE_NAME), problem))?;
    let no_samples = None::<fn(&mut BufWriter<File>) -> io::Result<()>>;
    replace_run(directory, &wire.samples_file, no_samples, |file| {
        write_wire(file, &wire)
    })
}

fn write_wire(file: &mut BufWriter<File>, wire: &RunWire) -> io::Result<()> {
    serde_json::to_writer(&mut *file, wire)?;
    file.write_all(b"\n")
}

/// Copies the run at `from` (a run file, or the directory containing one) to `directory`, byte by
/// byte and with its samples, if they are kept. Replaces the run stored there.
///
/// # Errors
/// Returns an error if the run is incomplete or anything cannot be written. The previous run is
/// then still complete.
pub fn copy_run(from: &Path, directory: &Path) -> Result<Run, RunFileError> {
    let from = run_file_of(from);
    let json = read_bytes(&from)?;
    let wire = RunWire::parse(&json).map_err(|problem| in_file(&from, problem))?;
    let samples_file = wire.samples_file.clone();
    let run = wire.into_run().map_err(|problem| in_file(&from, problem))?;
    let samples_path = from.with_file_name(&samples_file);
    let samples = match stored_file::open(&samples_path, MAX_SAMPLES_FILE_BYTES) {
        Ok(file) => Some(file),
        Err(problem) if problem.is_missing() => None,
        Err(problem) => return Err(in_file(&samples_path, problem)),
    };
    let copy_samples =
        samples.map(|mut file| move |to: &mut BufWriter<File>| io::copy(&mut file, to).map(|_| ()));
    replace_run(directory, &samples_file, copy_samples, |file| {
        file.write_all(&json)
    })?;
    Ok(run)
}

/// Removes the run in `directory`, and `directory` itself if it contains nothing else.
///
/// # Errors
/// Returns an error if there is no run, or if it cannot be removed. Removing `run.json` removes the
/// run; samples that cannot be removed afterwards are orphaned.
pub fn remove_run(directory: &Path) -> Result<(), RunFileError> {
    let path = directory.join(RUN_FILE_NAME);
    let samples_file = samples_file_of(&path);
    fs::remove_file(&path).map_err(|e| io_error(&path, e))?;
    // An unreadable run file names no samples file, so every samples file must be its own.
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let is_its_own = match &samples_file {
            Some(samples_file) => name == **samples_file,
            None => name.to_str().is_some_and(is_samples_file),
        };
        if is_its_own {
            let _ = fs::remove_file(entry.path());
        }
    }
    // Fails if the directory contains something else, which is then not ours.
    let _ = fs::remove_dir(directory);
    Ok(())
}

/// Replaces a run so that it is complete at every moment: first the samples under their own name,
/// then `run.json`, which names them, then cleanup of the previous run.
fn replace_run(
    directory: &Path,
    samples_file: &str,
    write_samples: Option<impl FnOnce(&mut BufWriter<File>) -> io::Result<()>>,
    write_run_file: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>,
) -> Result<(), RunFileError> {
    fs::create_dir_all(directory).map_err(|e| io_error(directory, e))?;
    let path = directory.join(RUN_FILE_NAME);
    let samples_before = samples_file_of(&path);
    if let Some(write_samples) = write_samples {
        let path = directory.join(samples_file);
        stored_file::replace(&path, directory, MAX_SAMPLES_FILE_BYTES, write_samples)
            .map_err(|problem| in_file(&path, problem))?;
    }
    let replaced = stored_file::replace(&path, directory, MAX_RUN_FILE_BYTES, write_run_file);
    if let Err(problem) = replaced {
        // If the run file is in place after all, it names the samples.
        let is_in_place = matches!(problem, RunFileProblem::NotFlushed(_));
        if !is_in_place && samples_before.as_deref() != Some(samples_file) {
            let _ = fs::remove_file(directory.join(samples_file));
        }
        return Err(in_file(&path, problem));
    }
    // Not "every file but ours": another process may be about to name its own.
    if let Some(before) = samples_before.filter(|before| before != samples_file) {
        let _ = fs::remove_file(directory.join(before));
    }
    remove_abandoned(directory, samples_file);
    Ok(())
}

/// Reads the run at `path`: a run file, or the directory containing one. The samples are not read.
///
/// # Errors
/// Returns an error if the file cannot be read, has another schema version, or has an invalid
/// value.
pub fn read_run(path: &Path) -> Result<Run, RunFileError> {
    read_run_into(path, &mut Vec::new())
}

/// Reads like [`read_run`], and leaves the file's bytes in `buffer`. Whoever reads large runs one
/// after the other spares the system from clearing as much memory for each.
///
/// # Errors
/// Same as [`read_run`].
pub fn read_run_into(path: &Path, buffer: &mut Vec<u8>) -> Result<Run, RunFileError> {
    let path = run_file_of(path);
    stored_file::read_into(&path, MAX_RUN_FILE_BYTES, buffer)
        .and_then(|()| RunWire::parse(buffer)?.into_run())
        .map_err(|problem| in_file(&path, problem))
}

/// Parses the run in the bytes of a `run.json`.
///
/// # Errors
/// Returns an error if they have another schema version or an invalid value.
pub fn parse_run(json: &[u8]) -> Result<Run, RunFileProblem> {
    RunWire::parse(json)?.into_run()
}

/// Parses the samples of the run `id` in the bytes of its samples file.
///
/// # Errors
/// Returns an error if a line has another schema version, an invalid value, or another run's id.
pub fn parse_samples(jsonl: &[u8], id: &str) -> Result<Vec<LaunchSamples>, RunFileProblem> {
    samples_file::read(jsonl, id)
}

/// Reads every raw sample of the run at `path`, in the order in which they were taken.
///
/// # Errors
/// Same as [`read_run`], for either file.
pub fn read_samples(path: &Path) -> Result<Vec<LaunchSamples>, RunFileError> {
    let path = run_file_of(path);
    let wire = read_wire(&path)?;
    let samples_path = path.with_file_name(&wire.samples_file);
    let run = wire.into_run().map_err(|problem| in_file(&path, problem))?;
    let file = stored_file::open(&samples_path, MAX_SAMPLES_FILE_BYTES)
        .map_err(|problem| in_file(&samples_path, problem))?;
    let samples = samples_file::read(BufReader::new(file), &run.id)
        .map_err(|problem| in_file(&samples_path, problem))?;
    check_complete(&run, &samples).map_err(|problem| in_file(&samples_path, problem))?;
    Ok(samples)
}

/// Checks that no samples are missing: a truncated file can still consist of whole lines.
fn check_complete(run: &Run, samples: &[LaunchSamples]) -> Result<(), RunFileProblem> {
    let on_the_model = |source: SourceKind| source == SourceKind::Model;
    let present: HashSet<(&BenchmarkId, bool, u32)> = samples
        .iter()
        .map(|line| (&line.benchmark, on_the_model(line.source), line.launch))
        .collect();
    for benchmark in &run.benchmarks {
        let times = &benchmark.times;
        let times = times
            .launches
            .iter()
            .map(|time| (times.provenance.source, time.launch));
        let slots = benchmark.slots.iter().flat_map(|slots| {
            let launches = slots.launches.iter();
            launches.map(|value| (slots.provenance.source, value.launch))
        });
        for (source, launch) in times.chain(slots) {
            if !present.contains(&(&benchmark.id, on_the_model(source), launch)) {
                return Err(RunFileProblem::MissingSamples {
                    benchmark: benchmark.id.clone(),
                    launch,
                });
            }
        }
    }
    Ok(())
}

/// Returns the run file for `path`: itself, or the one in that directory.
pub fn run_file_of(path: &Path) -> PathBuf {
    if path.is_dir() {
        path.join(RUN_FILE_NAME)
    } else {
        path.to_owned()
    }
}

fn read_wire(path: &Path) -> Result<RunWire<ReadBenchmarks>, RunFileError> {
    RunWire::parse(&read_bytes(path)?).map_err(|problem| in_file(path, problem))
}

/// Returns the bytes of the run file at `path`, without parsing them.
///
/// # Errors
/// Returns an error if it is missing, not a regular file, or too long.
pub fn read_bytes(path: &Path) -> Result<Vec<u8>, RunFileError> {
    stored_file::read(path, MAX_RUN_FILE_BYTES).map_err(|problem| in_file(path, problem))
}

/// Returns the samples file named by the run file at `path`, or `None` if there is no such run.
pub fn samples_file_of(path: &Path) -> Option<String> {
    read_wire(path).ok().map(|wire| wire.samples_file)
}

/// If a file is unfinished after this time, its writer no longer exists.
const ABANDONED_AFTER: Duration = Duration::from_secs(60 * 60);

/// Removes what killed writers left behind. Such files are never read and do no harm, so failures
/// are not reported.
fn remove_abandoned(directory: &Path, samples_file: &str) {
    let Ok(entries) = fs::read_dir(directory) else {
        return;
    };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let Some(name) = name.to_str() else { continue };
        let is_temporary = name.ends_with(TEMPORARY_SUFFIX);
        let is_old = entry
            .metadata()
            .and_then(|metadata| metadata.modified())
            .is_ok_and(|at| at.elapsed().is_ok_and(|age| age > ABANDONED_AFTER));
        if (is_temporary || is_samples_file(name)) && name != samples_file && is_old {
            let _ = fs::remove_file(entry.path());
        }
    }
}

fn is_samples_file(name: &str) -> bool {
    name.starts_with("samples-") && name.ends_with(".jsonl")
}

fn io_error(path: &Path, error: io::Error) -> RunFileError {
    RunFileError {
        path: path.to_owned(),
        problem: RunFileProblem::Io(error),
    }
}

fn in_file(path: &Path, problem: RunFileProblem) -> RunFileError {
    RunFileError {
        path: path.to_owned(),
        problem,
    }
}
