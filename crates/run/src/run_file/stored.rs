//! The files of a run: written whole, and checked when they are read.

mod code_columns;
mod code_sample_columns;
mod columns;
mod error;
mod launch_columns;
mod plausible;
mod record;
mod sample_columns;
mod samples_file;
#[cfg(feature = "schema")]
pub mod schema;
mod store;
pub mod stored_file;
mod version;
mod wire;

pub use error::{RunFileError, RunFileProblem};
pub use samples_file::LaunchSamples;
pub use store::{
    RUN_FILE_NAME, copy_run, parse_run, parse_samples, read_bytes, read_run, read_run_into,
    read_samples, remove_run, run_file_of, samples_file_of, write_run, write_run_without_samples,
};
pub use wire::samples_file_name;
