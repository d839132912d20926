//! `cargo topdown exec`: runs a command several times and counts all its processes.

mod functions;
mod launch;
mod run;

pub use run::{run, start};
