//! One layer of settings: a manifest's table, or a command line.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::de::Error;
use serde::{Deserialize, Deserializer};
use topdown_run::setting::{Counters, ModelCore, Setting, SourceChoice, Threads};

/// What one manifest, or a command line with its environment variables, sets. Times are in seconds.
#[derive(Clone, Debug, Default, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Layer {
    pub launches: Option<u32>,
    pub sample_size: Option<u32>,
    pub warm_up_time: Option<f64>,
    pub measurement_time: Option<f64>,
    #[cfg_attr(test, schemars(with = "Option<String>"))]
    pub source: Option<SourceChoice>,
    pub model_budget: Option<f64>,
    #[cfg_attr(test, schemars(with = "Option<String>"))]
    #[serde(default, deserialize_with = "choices")]
    pub model_core: Option<Vec<ModelCore>>,
    #[cfg_attr(test, schemars(with = "Option<String>"))]
    pub counters: Option<Counters>,
    #[cfg_attr(test, schemars(with = "Option<String>"))]
    pub threads: Option<Threads>,
    pub schedules: Option<u32>,
    pub shared_lines: Option<bool>,
    pub author_settings: Option<bool>,
    pub launch_timeout: Option<f64>,
    /// Default: true.
    pub fingerprints: Option<bool>,
    pub paths: Option<bool>,
    /// Default: true.
    pub allocations: Option<bool>,
    pub leave_out: Option<Vec<String>>,
    /// Lists of benchmark patterns by name, for filter expressions.
    #[serde(default)]
    pub tags: BTreeMap<String, Vec<String>>,
    #[serde(default)]
    pub keep_env: Vec<String>,
    /// Relative to the workspace; only for the whole workspace.
    pub baselines: Option<PathBuf>,
    /// New names of benchmarks in earlier runs, by their old ones; only for the whole workspace.
    #[serde(default)]
    pub renamed: BTreeMap<String, String>,
    /// Only for the whole workspace.
    pub store: Option<String>,
    /// The table of the policy, not read yet: messages about it name that table.
    pub policy: Option<serde_json::Value>,
}

/// Reads choices as flags and environment variables have them, separated by commas.
fn choices<'de, S: Setting, D: Deserializer<'de>>(from: D) -> Result<Option<Vec<S>>, D::Error> {
    let text = String::deserialize(from)?;
    let choices = text.split(',').map(|word| word.trim().parse());
    choices
        .collect::<Result<_, _>>()
        .map(Some)
        .map_err(D::Error::custom)
}

/// Returns the name, the kind and the description of each setting.
#[cfg(test)]
pub fn setting_types() -> Vec<(String, String, String)> {
    let schema = schemars::schema_for!(Layer);
    let properties = schema.get("properties").and_then(|p| p.as_object());
    let kind = |property: &serde_json::Value| match &property["type"] {
        serde_json::Value::Array(kinds) => kinds[0].as_str().unwrap_or("").to_owned(),
        kind => kind.as_str().unwrap_or("table").to_owned(),
    };
    let property = |(name, property): (&String, &serde_json::Value)| {
        let description = property["description"].as_str().unwrap_or("");
        (name.clone(), kind(property), description.to_owned())
    };
    properties.into_iter().flatten().map(property).collect()
}
