//! Counting and sampling whole commands, and surveying a machine, for programs.
//!
//! [`TreeCounters`] counts a command, and [`TreeCounters::follow`] samples its code.

mod process_tree;
mod survey;

pub use process_tree::{CountedTree, TreeCounters};
pub use survey::{survey, survey_in};
