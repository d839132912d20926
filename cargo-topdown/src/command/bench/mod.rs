//! `cargo topdown bench`: build, launch, store, print.

mod against;
mod run;

pub use run::run;
