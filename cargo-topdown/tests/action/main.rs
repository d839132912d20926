//! Tests the GitHub action by executing the steps of `action.yml` one by one, with the variables
//! that GitHub sets, in a clean directory.
//!
//! Only what would take minutes is replaced: installing, and `bench`, which is replaced by storing
//! a prepared run as the newest one. Everything else is the program itself.
#![cfg(unix)]

mod comment;
mod composite;
mod gate;
mod runs;
