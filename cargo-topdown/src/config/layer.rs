//! One layer of settings: a manifest's table, or a command line.

use std::path::PathBuf;

use criterion_topdown::setting::{Counters, ModelCore, SourceChoice, Threads};
use serde::Deserialize;

/// What one manifest, or a command line with its environment variables, sets. Times are in seconds.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Layer {
    pub launches: Option<u32>,
    pub sample_size: Option<u32>,
    pub warm_up_time: Option<f64>,
    pub measurement_time: Option<f64>,
    pub source: Option<SourceChoice>,
    pub model_budget: Option<f64>,
    pub model_core: Option<ModelCore>,
    pub counters: Option<Counters>,
    pub threads: Option<Threads>,
    pub author_settings: Option<bool>,
    pub launch_timeout: Option<f64>,
    pub fingerprints: Option<bool>,
    /// Patterns of benchmarks and bench targets that are not launched.
    pub leave_out: Option<Vec<String>>,
    /// Patterns of environment variables that benches inherit, besides those that all do.
    #[serde(default)]
    pub keep_env: Vec<String>,
    /// The directory of the baselines.
    pub baselines: Option<PathBuf>,
    /// The address of the shared store.
    pub store: Option<String>,
    /// The table of the policy, not read yet: messages about it name that table.
    pub policy: Option<serde_json::Value>,
}
