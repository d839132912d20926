//! The program's interface to the operating system: processes, waits, Ctrl-C, temporary
//! directories, and files that are whole at any time.
#![forbid(unsafe_code)]

pub mod cgroup;
pub mod file_identity;
pub mod interrupt;
pub mod processes;
pub mod scratch;
pub mod session;
pub mod tracing;
pub mod waiting;
pub mod waits;
pub mod whole_file;
