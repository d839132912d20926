//! `cargo topdown bench`: builds the benches, launches them, and stores the run; with `--against`,
//! two sides of them, which are compared.

mod against;
pub mod base_build;
mod build;
mod run;
mod suite;

pub use run::run;
