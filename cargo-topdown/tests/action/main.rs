//! The GitHub action: the steps of `action.yml` are executed one by one, with the variables that
//! GitHub sets, in a clean directory.
//!
//! Only what would take minutes is replaced: installing, and `bench`, in whose place a prepared run
//! becomes the newest one. Everything else is the program itself.
#![cfg(unix)]

mod comment;
mod composite;
mod gate;
mod runs;
