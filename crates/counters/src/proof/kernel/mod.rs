//! The kernels of `bottlenecks`, one bottleneck each. They are not inlined, so that each appears by
//! name in the split per function.

// The bench includes this file by its path, and Rust looks for the modules of such a file beside
// it.
#![allow(clippy::mod_module_files)]

mod chain;
mod code;
mod data;

pub use chain::{divide_chain, independent_adds, multiply_chain};
pub use code::{LARGE_CODE_FUNCTIONS, LargeCode, random_branches};
pub use data::{Cycle, Random, fill};
