//! What other tools measured, as samples of ours.
//!
//! Each format has a module that reads it into [`Execution`]s: counts and metrics by name, and no
//! meaning. `meaning` finds slots and categories among them, the same way for every tool.

mod execution;
mod format;
mod meaning;
mod perf_csv;
mod perf_json;
mod problem;
mod topdown_tool;
mod toplev;
mod windows_perf;

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use criterion_topdown::machine::Machine;
use criterion_topdown::provenance::{Provenance, SourceKind};
use criterion_topdown::run_file::IterationSample;
use thiserror::Error;

use execution::Execution;
pub use format::Format;
use meaning::{Known, Meaning};
pub use problem::Problem;

/// Why a file gives no run.
#[derive(Debug, Error)]
pub enum ImportError {
    /// It could not be read.
    #[error("could not read {}: {error}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// Its content is not what it should be.
    #[error("{}: {problem}", place(path, *line))]
    Content {
        /// The file.
        path: PathBuf,
        /// Which line of it, from 1, where one is to blame.
        line: Option<usize>,
        /// What is wrong.
        problem: Problem,
    },
    /// Two executions were not measured alike.
    #[error(
        "{} was measured by `{other}` and {} by `{first}`; executions of one benchmark must have been \
         measured alike",
        path.display(), first_path.display()
    )]
    Mixed {
        /// A file.
        path: PathBuf,
        /// Its formula.
        other: String,
        /// The first file.
        first_path: PathBuf,
        /// And its formula.
        first: String,
    },
}

fn place(path: &Path, line: Option<usize>) -> String {
    match line {
        Some(line) => format!("{}, line {line}", path.display()),
        None => path.display().to_string(),
    }
}

/// The longest output that is read, in bytes. Of a tool that counts whole commands it has a line for each
/// event and execution.
const LONGEST_BYTES: u64 = 64 << 20;

/// What is at `path`, which may be a pipe, up to one byte more than is allowed.
fn read_limited(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?
        .take(LONGEST_BYTES + 1)
        .read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// What the user knows and files do not say.
pub struct Told<'a> {
    /// The format of all files; found out where not said.
    pub format: Option<Format>,
    /// The tool's version, where its output does not name it.
    pub tool_version: Option<&'a str>,
    /// The wall-clock time of each execution; empty where the files know it.
    pub seconds: &'a [f64],
    /// The width of the pipeline, where no table knows it.
    pub slots_per_cycle: Option<u32>,
    /// Where it was measured.
    pub machine: &'a Machine,
}

/// What files say about one benchmark.
pub struct Imported {
    /// What the numbers are.
    pub provenance: Provenance,
    /// The tool, for a name.
    pub tool: &'static str,
    /// One for each execution.
    pub samples: Vec<IterationSample>,
}

/// Reads files, each with one execution of the same command or, where the tool appends, several.
///
/// # Errors
/// The first file that says nothing that could be compared.
pub fn read(paths: &[PathBuf], told: &Told<'_>) -> Result<Imported, ImportError> {
    let mut executions: Vec<(&Path, Execution)> = Vec::new();
    for path in paths {
        let content = |(line, problem)| ImportError::Content {
            path: path.clone(),
            line,
            problem,
        };
        let bytes = read_limited(path).map_err(|error| ImportError::Unreadable {
            path: path.clone(),
            error,
        })?;
        if bytes.len() as u64 > LONGEST_BYTES {
            return Err(content((None, Problem::TooLong)));
        }
        let text = String::from_utf8(bytes).map_err(|_| content((None, Problem::NotText)))?;
        let format = match told.format {
            Some(format) => format,
            None => Format::of(&text).ok_or_else(|| content((None, Problem::UnknownFormat)))?,
        };
        let read = format.read(&text).map_err(content)?;
        executions.extend(
            read.into_iter()
                .map(|execution| (path.as_path(), execution)),
        );
    }
    if !told.seconds.is_empty() && told.seconds.len() != executions.len() {
        let path = paths.first().cloned().unwrap_or_default();
        return Err(ImportError::Content {
            path,
            line: None,
            problem: Problem::Seconds {
                given: told.seconds.len(),
                executions: executions.len(),
            },
        });
    }
    together(&executions, told)
}

fn together(executions: &[(&Path, Execution)], told: &Told<'_>) -> Result<Imported, ImportError> {
    let mut first: Option<(&Path, &Execution, Meaning)> = None;
    let mut samples = Vec::with_capacity(executions.len());
    for (at, (path, execution)) in executions.iter().enumerate() {
        let known = Known {
            machine: told.machine,
            slots_per_cycle: told.slots_per_cycle,
            seconds: told.seconds.get(at).copied(),
            tool_version: told.tool_version,
        };
        let (sample, meaning) =
            meaning::of(execution, &known).map_err(|(line, problem)| ImportError::Content {
                path: path.to_path_buf(),
                line,
                problem,
            })?;
        match &first {
            Some((first_path, _, first)) if first.formula != meaning.formula => {
                return Err(ImportError::Mixed {
                    path: path.to_path_buf(),
                    other: meaning.formula,
                    first_path: first_path.to_path_buf(),
                    first: first.formula.clone(),
                });
            }
            Some(_) => {}
            None => first = Some((path, execution, meaning)),
        }
        samples.push(IterationSample {
            iterations: 1,
            sample,
        });
    }
    let (path, execution, meaning) = first.expect("a format gives executions or an error");
    Ok(Imported {
        provenance: Provenance {
            source: SourceKind::Hardware,
            reason: format!(
                "imported from {}{}; {}",
                path.display(),
                match executions.len() {
                    1 => String::new(),
                    several => format!(" and {} more", several - 1),
                },
                meaning.words
            ),
            formula: meaning.formula,
            core_type: meaning.core_type,
            slots_per_cycle: meaning.slots_per_cycle,
            empty_window: None,
            threads: Default::default(),
            elsewhere: None,
        },
        tool: execution.tool,
        samples,
    })
}
