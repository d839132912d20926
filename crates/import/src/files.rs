//! The files of an import, and what they become together.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use thiserror::Error;
use topdown_run::machine::Machine;
use topdown_run::provenance::{Provenance, SourceKind};
use topdown_run::run_file::{Functions, IterationSample};

use super::execution::Execution;
use super::format::Format;
use super::meaning::{Known, Meaning};
use super::problem::Problem;
use super::{functions, meaning, text};
use topdown_runner::functions::functions_of_samples;

/// Why files do not make a run.
#[derive(Debug, Error)]
pub enum ImportError {
    /// A file could not be read.
    #[error("could not read {}: {error}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The underlying error.
        error: io::Error,
    },
    /// A file has the wrong content.
    #[error("{}: {problem}", location(path, *line))]
    Content {
        /// The file.
        path: PathBuf,
        /// The line, from 1, if the problem is on one.
        line: Option<usize>,
        /// What is wrong with it.
        problem: Problem,
    },
    /// Two executions were measured differently.
    #[error(
        "{} was measured by `{other}` and {} by `{first}`; executions of one benchmark must all be \
         measured the same way",
        path.display(), first_path.display()
    )]
    Mixed {
        /// The file that differs.
        path: PathBuf,
        /// The formula of that file.
        other: String,
        /// The first file.
        first_path: PathBuf,
        /// And its formula.
        first: String,
    },
}

fn location(path: &Path, line: Option<usize>) -> String {
    match line {
        Some(line) => format!("{}, line {line}", path.display()),
        None => path.display().to_string(),
    }
}

/// The longest output to read, in bytes. A tool that counts whole commands prints one line per
/// event and execution.
const MAX_BYTES: u64 = 64 << 20;

/// Reads the file or pipe at `path`, but at most one byte more than allowed.
fn read_limited(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?
        .take(MAX_BYTES + 1)
        .read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Information that the files lack.
pub struct ImportOptions<'a> {
    /// The format of all files; detected if not given.
    pub format: Option<Format>,
    /// The tool's version, if its output does not name it.
    pub tool_version: Option<&'a str>,
    /// The wall-clock time of each execution; empty if the files have it.
    pub seconds: &'a [f64],
    /// The width of the pipeline, if no table has it.
    pub slots_per_cycle: Option<u32>,
    /// The machine that was measured.
    pub machine: &'a Machine,
}

/// The measurements of one benchmark.
pub struct Imported {
    /// The source of the numbers.
    pub provenance: Provenance,
    /// The tool's name.
    pub tool: &'static str,
    /// One sample per execution.
    pub samples: Vec<IterationSample>,
    /// Where the slots went, if the tool recorded that.
    pub functions: Option<Functions>,
}

/// Reads files, each with one execution of the same command, or several if the tool appends.
///
/// # Errors
/// Returns the problem of the first file that contains nothing comparable.
pub fn read(paths: &[PathBuf], options: &ImportOptions<'_>) -> Result<Imported, ImportError> {
    let mut executions: Vec<(&Path, Execution)> = Vec::new();
    for path in paths {
        let bytes = read_limited(path).map_err(|error| ImportError::Unreadable {
            path: path.clone(),
            error,
        })?;
        let of_file = executions_of(path, bytes, options)?.into_iter();
        executions.extend(of_file.map(|execution| (path.as_path(), execution)));
    }
    if !options.seconds.is_empty() && options.seconds.len() != executions.len() {
        let path = paths.first().cloned().unwrap_or_default();
        return Err(ImportError::Content {
            path,
            line: None,
            problem: Problem::Seconds {
                given: options.seconds.len(),
                executions: executions.len(),
            },
        });
    }
    together(&executions, options)
}

/// Reads the executions in the `bytes` of the file at `path`.
fn executions_of(
    path: &Path,
    bytes: Vec<u8>,
    options: &ImportOptions<'_>,
) -> Result<Vec<Execution>, ImportError> {
    let content = |(line, problem)| ImportError::Content {
        path: path.to_owned(),
        line,
        problem,
    };
    if bytes.len() as u64 > MAX_BYTES {
        return Err(content((None, Problem::TooLong)));
    }
    let text = text::text_of(bytes).ok_or_else(|| content((None, Problem::NotText)))?;
    let format = match options.format {
        Some(format) => format,
        None => Format::new(&text).map_err(|problem| content((None, problem)))?,
    };
    format.read(&text).map_err(content)
}

/// As [`read`], for the bytes of one file.
///
/// # Errors
/// As [`read`].
pub fn read_bytes(bytes: &[u8], options: &ImportOptions<'_>) -> Result<Imported, ImportError> {
    let path = Path::new("file");
    let executions = executions_of(path, bytes.to_vec(), options)?.into_iter();
    let executions: Vec<_> = executions.map(|execution| (path, execution)).collect();
    together(&executions, options)
}

fn together(
    executions: &[(&Path, Execution)],
    options: &ImportOptions<'_>,
) -> Result<Imported, ImportError> {
    let mut first: Option<(&Path, &Execution, Meaning)> = None;
    let mut samples = Vec::with_capacity(executions.len());
    let mut hit = Vec::new();
    for (at, (path, execution)) in executions.iter().enumerate() {
        let known = Known {
            machine: options.machine,
            slots_per_cycle: options.slots_per_cycle,
            seconds: options.seconds.get(at).copied(),
            tool_version: options.tool_version,
        };
        let (sample, meaning) =
            meaning::interpret(execution, &known).map_err(|(line, problem)| {
                ImportError::Content {
                    path: path.to_path_buf(),
                    line,
                    problem,
                }
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
        if !execution.samples.is_empty() {
            let core_type = first
                .as_ref()
                .and_then(|(_, _, provenance)| provenance.core_type.as_deref());
            let functions = functions::functions_of(execution, &known, core_type);
            let functions = functions.map_err(|(line, problem)| ImportError::Content {
                path: path.to_path_buf(),
                line,
                problem,
            })?;
            hit.push((
                vec![IterationSample {
                    iterations: 1,
                    sample,
                }],
                functions,
            ));
        }
        samples.push(IterationSample {
            iterations: 1,
            sample,
        });
    }
    let launches: Vec<_> = hit
        .iter()
        .map(|(benchmark, functions)| (&benchmark[..], functions))
        .collect();
    let (path, execution, meaning) = first.expect("a format gives executions or an error");
    Ok(Imported {
        provenance: Provenance {
            core_type: meaning.core_type,
            slots_per_cycle: meaning.slots_per_cycle,
            ..Provenance::new(
                SourceKind::Hardware,
                meaning.formula,
                format!(
                    "imported from {}{}; {}",
                    path.display(),
                    match executions.len() {
                        1 => String::new(),
                        several => format!(" and {} more", several - 1),
                    },
                    meaning.words
                ),
            )
        },
        tool: execution.tool,
        samples,
        functions: functions_of_samples(&launches),
    })
}
