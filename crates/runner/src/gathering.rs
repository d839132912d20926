//! What all launches of a benchmark yield together.

pub mod again;
pub mod benchmark_error;
pub mod collect;
pub(crate) mod one_choice;
pub(crate) mod outcome;
pub(crate) mod residual;
pub(crate) mod short_windows;
pub(crate) mod whose_work;
