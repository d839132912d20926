//! Imports what other tools measured as samples.
//!
//! Each format has a module that reads it into executions (`execution`): counts and metrics by
//! name, not yet interpreted. `meaning` finds slots and categories among them, the same way for
//! every tool.

mod execution;
mod files;
mod format;
mod functions;
mod meaning;
mod number;
mod perf_csv;
mod perf_json;
mod perf_script;
mod problem;
mod text;
mod topdown_tool;
mod toplev;
mod windows_perf;

pub use files::{ImportError, ImportOptions, read, read_bytes};
pub use format::Format;
