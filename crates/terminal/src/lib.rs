//! Text for people: lines that fit a terminal, columns, and names and counts in words.
#![forbid(unsafe_code)]

pub mod columns;
mod count;
mod last_names;
pub mod nearest;
pub mod terminal;

pub use count::count_of;
pub use last_names::last_names;
