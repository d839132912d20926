//! Writing and reading a run's two files.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::columns::{IterationSample, SampleColumns};
use super::error::{RunFileError, RunFileProblem};
use super::wire::{RunWire, check_schema_version};
use super::{BenchmarkId, Run, SCHEMA_VERSION};

/// The file of a run's directory that a comparison needs.
pub const RUN_FILE_NAME: &str = "run.json";

/// The samples of one benchmark in one launch, with the iterations of each.
pub type LaunchSamples = (BenchmarkId, u32, Vec<IterationSample>);

/// One line of the samples file.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SamplesLine {
    schema_version: u32,
    run: String,
    benchmark: BenchmarkId,
    launch: u32,
    iterations: Vec<u64>,
    samples: SampleColumns,
}

/// Stores `run` in `directory`, which is made if needed; what was stored there before is replaced.
///
/// # Errors
/// When anything cannot be written. The run that was there before is then still whole.
pub fn write_run<'a>(
    directory: &Path,
    run: &Run,
    samples: impl IntoIterator<Item = &'a LaunchSamples>,
) -> Result<(), RunFileError> {
    fs::create_dir_all(directory).map_err(|e| io_error(directory, e))?;
    let samples_file = format!("samples-{}.jsonl", run.id);
    write_renamed(&directory.join(&samples_file), |file| {
        for (benchmark, launch, samples) in samples {
            let bare: Vec<_> = samples.iter().map(|s| s.sample).collect();
            let line = SamplesLine {
                schema_version: SCHEMA_VERSION,
                run: run.id.clone(),
                benchmark: benchmark.clone(),
                launch: *launch,
                iterations: samples.iter().map(|s| s.iterations).collect(),
                samples: SampleColumns::from_samples(&bare),
            };
            serde_json::to_writer(&mut *file, &line)?;
            file.write_all(b"\n")?;
        }
        Ok(())
    })?;
    let wire = RunWire::from_run(run, samples_file.clone());
    write_renamed(&directory.join(RUN_FILE_NAME), |file| {
        serde_json::to_writer(&mut *file, &wire)?;
        file.write_all(b"\n")
    })?;
    remove_other_samples(directory, &samples_file);
    Ok(())
}

/// Reads the run at `path`: a run file, or the directory that holds one. The samples are not read.
///
/// # Errors
/// When the file cannot be read, is of another schema version, or holds what cannot be.
pub fn read_run(path: &Path) -> Result<Run, RunFileError> {
    let path = run_file_of(path);
    let error = |problem| RunFileError {
        path: path.clone(),
        problem,
    };
    let wire = read_wire(&path).map_err(error)?;
    wire.into_run().map_err(error)
}

/// Reads every raw sample of the run at `path`, in the order in which they were taken.
///
/// # Errors
/// As [`read_run`], of either file.
pub fn read_samples(path: &Path) -> Result<Vec<LaunchSamples>, RunFileError> {
    let path = run_file_of(path);
    let wire = read_wire(&path).map_err(|problem| RunFileError {
        path: path.clone(),
        problem,
    })?;
    let samples_path = path.with_file_name(&wire.samples_file);
    let error = |problem| RunFileError {
        path: samples_path.clone(),
        problem,
    };
    let file = File::open(&samples_path).map_err(|e| error(RunFileProblem::Io(e)))?;
    BufReader::new(file)
        .lines()
        .enumerate()
        .map(|(index, line)| {
            let line = line.map_err(RunFileProblem::Io)?;
            read_samples_line(&line, index)
        })
        .collect::<Result<_, _>>()
        .map_err(error)
}

fn read_samples_line(line: &str, index: usize) -> Result<LaunchSamples, RunFileProblem> {
    check_schema_version(line)?;
    let line: SamplesLine = serde_json::from_str(line).map_err(RunFileProblem::Json)?;
    let field_error = |field: &str, what: String| RunFileProblem::Field {
        field: format!("{field} (line {})", index + 1),
        what,
    };
    let samples = line
        .samples
        .into_samples()
        .map_err(|(column, what)| field_error(&format!("samples.{column}"), what))?;
    if samples.len() != line.iterations.len() {
        let what = format!(
            "has {} values for {} samples",
            line.iterations.len(),
            samples.len()
        );
        return Err(field_error("iterations", what));
    }
    let samples = line
        .iterations
        .into_iter()
        .zip(samples)
        .map(|(iterations, sample)| IterationSample { iterations, sample })
        .collect();
    Ok((line.benchmark, line.launch, samples))
}

fn run_file_of(path: &Path) -> PathBuf {
    if path.is_dir() {
        path.join(RUN_FILE_NAME)
    } else {
        path.to_owned()
    }
}

fn read_wire(path: &Path) -> Result<RunWire, RunFileProblem> {
    let json = fs::read_to_string(path).map_err(RunFileProblem::Io)?;
    // Only a file that fails is looked at a second time, for its version: large files are common.
    serde_json::from_str(&json)
        .map_err(RunFileProblem::Json)
        .and_then(|wire: RunWire| {
            wire.check_version()?;
            Ok(wire)
        })
        .or_else(|error| {
            check_schema_version(&json)?;
            Err(error)
        })
}

/// Writes to a temporary name beside `path`, flushes to disk, and renames.
fn write_renamed(
    path: &Path,
    write: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>,
) -> Result<(), RunFileError> {
    let mut temporary = path.as_os_str().to_owned();
    temporary.push(format!(".{}.tmp", std::process::id()));
    let temporary = PathBuf::from(temporary);
    let result = (|| {
        let mut file = BufWriter::new(File::create(&temporary)?);
        write(&mut file)?;
        file.into_inner().map_err(|e| e.into_error())?.sync_all()?;
        fs::rename(&temporary, path)
    })();
    result.map_err(|error| {
        // What is left of the attempt is of no use to anybody; that it failed is reported below.
        let _ = fs::remove_file(&temporary);
        io_error(path, error)
    })
}

/// Samples of runs that `run.json` no longer names. A file that stays does no harm, so failures
/// are not reported.
fn remove_other_samples(directory: &Path, keep: &str) {
    let Ok(entries) = fs::read_dir(directory) else {
        return;
    };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let Some(name) = name.to_str() else { continue };
        if name.starts_with("samples-") && name.ends_with(".jsonl") && name != keep {
            let _ = fs::remove_file(entry.path());
        }
    }
}

fn io_error(path: &Path, error: io::Error) -> RunFileError {
    RunFileError {
        path: path.to_owned(),
        problem: RunFileProblem::Io(error),
    }
}
