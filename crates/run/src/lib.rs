//! A run of `cargo topdown`: what it consists of, and its files.
//!
//! A [`sample`] says where the issue slots of some iterations went, by [`category`] and [`event`].
//! Its [`provenance`] says what counted them, and the [`machine`] where. A bench writes samples as
//! [`record`]s, which [`environment`] variables and [settings](setting) request. The program
//! gathers the records of all launches into a run, which `run_file` stores.
//!
//! This crate measures nothing and judges nothing.

#![warn(clippy::incompatible_msrv)]

// Every bench pays for the compile time of this crate. Functions called only by the program are
// `#[inline]`, so that benches need not compile them.

pub mod activity;
pub mod category;
pub mod code;
pub mod code_samples;
pub mod doubling;
pub mod environment;
pub mod event;
pub mod first_contact;
pub mod forks;
pub mod instruction;
pub mod machine;
pub mod provenance;
pub mod record;
#[cfg(feature = "runs")]
pub mod run_file;
pub mod sample;
pub mod setting;
pub mod steady;
pub mod visible;
