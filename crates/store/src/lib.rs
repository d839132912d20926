//! Stores of runs: [`baselines`] of a workspace, and those that machines share ([`shared`]).
#![forbid(unsafe_code)]

pub mod baselines;
pub mod shared;
