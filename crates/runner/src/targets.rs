//! Bench targets: selection, build, and environment.

pub(crate) mod absent_names;
pub mod bench_targets;
pub(crate) mod built;
pub(crate) mod cargo_runner;
pub mod environment;
pub(crate) mod executable;
pub mod launch_features;
pub mod required_features;
pub(crate) mod selected_packages;
