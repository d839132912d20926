//! How long and how often to measure: from flags, the environment and `Cargo.toml`.
//!
//! Each setting is looked up in this order: flag, environment variable `CARGO_TOPDOWN_…`,
//! `[package.metadata.topdown]`, `[workspace.metadata.topdown]`, default. The first two are a
//! single step here, since clap merges them.

use std::collections::HashMap;
use std::time::Duration;

use cargo_metadata::{Metadata, PackageId};
use criterion_topdown::doubling;
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::cli::{CountersChoice, MeasuringArgs, ModelCore, SourceChoice, ThreadsChoice};
use topdown_gate::pattern::Pattern;

/// Our key in cargo's metadata tables.
const TABLE: &str = "topdown";

/// The least number of samples that criterion accepts.
const LEAST_SAMPLE_SIZE: u32 = 10;

/// The shortest time that a run file can express.
const LEAST_TIME: Duration = Duration::from_millis(1);

/// How to measure one bench target.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Settings {
    /// The number of processes; at least 1.
    pub launches: u32,
    /// Samples per benchmark and launch; at least 10.
    pub sample_size: u32,
    /// Warm-up time per benchmark and launch.
    pub warm_up_time: Duration,
    /// Planned measurement time per benchmark and launch.
    pub measurement_time: Duration,
    /// Where the numbers come from.
    pub source: SourceChoice,
    /// How long a launch models a benchmark, at a fixed number of instructions per second.
    pub model_budget: Duration,
    /// Which core to model.
    pub model_core: ModelCore,
    /// Which hardware counters to use.
    pub counters: CountersChoice,
    /// Which threads the hardware counts.
    pub threads: ThreadsChoice,
    /// What decides the number of iterations of each sample.
    #[serde(default)]
    pub sampling: Sampling,
    /// The time limit of a launch; if unset, the first launch determines it.
    #[serde(default)]
    pub launch_timeout: Option<Duration>,
    /// Whether to trace one launch for what the benchmarks execute.
    #[serde(default)]
    pub fingerprints: bool,
}

/// What decides the number of iterations of each sample.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Sampling {
    /// criterion's plan for the sample size and times of these settings.
    #[default]
    Planned,
    /// The same, except that a group's own settings take precedence.
    Author,
    /// Samples have 1, 2, 4, 8, … iterations: see [`criterion_topdown::doubling`].
    Doubling,
    /// Only two samples, of 1 and 2 iterations.
    FirstTwo,
}

impl Sampling {
    /// Returns what the library reads from [`criterion_topdown::doubling::SAMPLING_VARIABLE`].
    pub fn name(self) -> &'static str {
        match self {
            Sampling::Planned => "planned",
            Sampling::Author => doubling::AUTHOR,
            Sampling::Doubling => doubling::DOUBLING,
            Sampling::FirstTwo => doubling::FIRST_TWO,
        }
    }

    /// Returns whether each sample has twice the iterations of the previous one.
    pub fn doubles(self) -> bool {
        matches!(self, Sampling::Doubling | Sampling::FirstTwo)
    }
}

impl Default for Settings {
    /// 10 launches of 20 samples, since additional launches say more than additional samples. At
    /// 0.25 s, criterion's linear sampling makes the first of 20 samples about 1 ms long.
    fn default() -> Settings {
        Settings {
            launches: 10,
            sample_size: 20,
            warm_up_time: Duration::from_millis(100),
            measurement_time: Duration::from_millis(250),
            source: SourceChoice::Auto,
            model_budget: Duration::from_secs(2),
            model_core: ModelCore::Nearest,
            counters: CountersChoice::Auto,
            threads: ThreadsChoice::Auto,
            sampling: Sampling::Planned,
            launch_timeout: None,
            fingerprints: true,
        }
    }
}

/// A metadata table. cargo checks neither its keys nor its values.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct Table {
    launches: Option<u32>,
    sample_size: Option<u32>,
    warm_up_time: Option<f64>,
    measurement_time: Option<f64>,
    source: Option<SourceChoice>,
    model_budget: Option<f64>,
    model_core: Option<ModelCore>,
    counters: Option<CountersChoice>,
    #[serde(default)]
    leave_out: Vec<String>,
    threads: Option<ThreadsChoice>,
    author_settings: Option<bool>,
    launch_timeout: Option<f64>,
    #[serde(default)]
    keep_env: Vec<String>,
    fingerprints: Option<bool>,
    /// Read by [`crate::baseline_store`]; here so that it is a known key.
    #[serde(rename = "baselines")]
    _baselines: Option<IgnoredAny>,
    /// Read by [`crate::shared_store`]; here so that it is a known key.
    #[serde(rename = "store")]
    _store: Option<IgnoredAny>,
    /// Read by [`crate::policy_table`]; here so that it is a known key.
    #[serde(rename = "policy")]
    _policy: Option<IgnoredAny>,
}

/// An invalid setting.
#[derive(Debug, Error, PartialEq)]
pub enum SettingsError {
    /// A key that does not exist, or a value of the wrong type.
    #[error("in `[{table}]` of {manifest}: {what}")]
    Table {
        /// The table's name in the manifest.
        table: &'static str,
        /// The path of the manifest.
        manifest: String,
        /// serde's message, which names the key.
        what: String,
    },
    /// A value out of range.
    #[error("{setting} is {value}; it must be {range}")]
    Range {
        /// The setting as a flag.
        setting: &'static str,
        /// Its value.
        value: String,
        /// The allowed range.
        range: &'static str,
    },
}

impl Table {
    /// Reads our table from `metadata`, the `metadata` table of a package or workspace.
    ///
    /// # Errors
    /// Returns an error, located by `table` and `manifest`, if it has an unknown key or a value of
    /// the wrong type.
    fn of_metadata(
        metadata: &serde_json::Value,
        table: &'static str,
        manifest: &str,
    ) -> Result<Table, SettingsError> {
        match metadata.get(TABLE) {
            None => Ok(Table::default()),
            Some(value) => Table::deserialize(value).map_err(|error| SettingsError::Table {
                table,
                manifest: manifest.to_owned(),
                what: error.to_string(),
            }),
        }
    }
}

/// The settings of all packages of a workspace.
#[derive(Debug)]
pub struct WorkspaceSettings {
    /// The settings of packages without their own.
    pub workspace: Settings,
    /// Benchmarks to skip. The manifests' patterns add up; a flag or the variable replaces them
    /// all.
    pub leave_out: Vec<Pattern>,
    /// Environment variables that benches of all packages inherit, in addition to those all benches
    /// do.
    keep_env: Vec<String>,
    /// The same for single packages.
    keep_env_of_packages: HashMap<PackageId, Vec<String>>,
    packages: HashMap<PackageId, Settings>,
}

impl WorkspaceSettings {
    /// Resolves the settings from `flags` and the manifests.
    ///
    /// # Errors
    /// Returns an error if any setting is invalid, even one of a package that will not be benched,
    /// so that typos are noticed early.
    pub fn resolve(
        flags: &MeasuringArgs,
        metadata: &Metadata,
    ) -> Result<WorkspaceSettings, SettingsError> {
        let table = Table::of_metadata(
            &metadata.workspace_metadata,
            "workspace.metadata.topdown",
            metadata.workspace_root.join("Cargo.toml").as_str(),
        )?;
        let mut leave_out: Vec<Pattern> = table.leave_out.iter().map(|p| Pattern::new(p)).collect();
        let mut packages = HashMap::new();
        let mut keep_env_of_packages = HashMap::new();
        for package in metadata.workspace_packages() {
            let own = Table::of_metadata(
                &package.metadata,
                "package.metadata.topdown",
                package.manifest_path.as_str(),
            )?;
            let settings = Settings::resolve(flags, &own, &table)?;
            packages.insert(package.id.clone(), settings);
            keep_env_of_packages.insert(package.id.clone(), own.keep_env.clone());
            let within = |pattern: &String| Pattern::within(Some(&package.name), pattern);
            leave_out.extend(own.leave_out.iter().map(within));
        }
        if let Some(patterns) = &flags.leave_out {
            leave_out = patterns.iter().map(|p| Pattern::new(p)).collect();
        }
        let of_flags = flags.keep_env.iter().flatten();
        Ok(WorkspaceSettings {
            leave_out,
            keep_env: table.keep_env.iter().chain(of_flags).cloned().collect(),
            keep_env_of_packages,
            workspace: Settings::resolve(flags, &Table::default(), &table)?,
            packages,
        })
    }

    /// Returns the settings of one package.
    pub fn of_package(&self, id: &PackageId) -> Settings {
        self.packages.get(id).copied().unwrap_or(self.workspace)
    }

    /// Returns the environment variables that one package's benches inherit, in addition to those
    /// all benches do.
    pub fn keep_env_of(&self, id: &PackageId) -> Vec<String> {
        let own = self.keep_env_of_packages.get(id).into_iter().flatten();
        self.keep_env.iter().chain(own).cloned().collect()
    }
}

impl Settings {
    /// Resolves the settings of one package's benches.
    ///
    /// # Errors
    /// Returns an error if a value is out of range.
    fn resolve(
        flags: &MeasuringArgs,
        package: &Table,
        workspace: &Table,
    ) -> Result<Settings, SettingsError> {
        let default = Settings::default();
        let launches = flags
            .launches
            .or(package.launches)
            .or(workspace.launches)
            .unwrap_or(default.launches);
        if launches == 0 {
            return Err(SettingsError::Range {
                setting: "--launches",
                value: launches.to_string(),
                range: "at least 1",
            });
        }
        let sample_size = flags
            .sample_size
            .or(package.sample_size)
            .or(workspace.sample_size)
            .unwrap_or(default.sample_size);
        if sample_size < LEAST_SAMPLE_SIZE {
            return Err(SettingsError::Range {
                setting: "--sample-size",
                value: sample_size.to_string(),
                range: "at least 10",
            });
        }
        Ok(Settings {
            launches,
            sample_size,
            warm_up_time: time(
                "--warm-up-time",
                flags.warm_up_time,
                package.warm_up_time,
                workspace.warm_up_time,
                default.warm_up_time,
            )?,
            measurement_time: time(
                "--measurement-time",
                flags.measurement_time,
                package.measurement_time,
                workspace.measurement_time,
                default.measurement_time,
            )?,
            source: flags
                .source
                .or(package.source)
                .or(workspace.source)
                .unwrap_or(default.source),
            model_budget: time(
                "--model-budget",
                flags.model_budget,
                package.model_budget,
                workspace.model_budget,
                default.model_budget,
            )?,
            model_core: flags
                .model_core
                .or(package.model_core)
                .or(workspace.model_core)
                .unwrap_or(default.model_core),
            counters: flags
                .counters
                .or(package.counters)
                .or(workspace.counters)
                .unwrap_or(default.counters),
            threads: flags
                .threads
                .or(package.threads)
                .or(workspace.threads)
                .unwrap_or(default.threads),
            sampling: match flags.author_settings
                || package.author_settings.or(workspace.author_settings) == Some(true)
            {
                true => Sampling::Author,
                false => Sampling::Planned,
            },
            launch_timeout: flags
                .launch_timeout
                .or(package.launch_timeout)
                .or(workspace.launch_timeout)
                .map(|seconds| {
                    time(
                        "--launch-timeout",
                        Some(seconds),
                        None,
                        None,
                        Duration::ZERO,
                    )
                })
                .transpose()?,
            fingerprints: !flags.no_fingerprints
                && package.fingerprints.or(workspace.fingerprints) != Some(false),
        })
    }
}

fn time(
    setting: &'static str,
    flag: Option<f64>,
    package: Option<f64>,
    workspace: Option<f64>,
    default: Duration,
) -> Result<Duration, SettingsError> {
    let Some(seconds) = flag.or(package).or(workspace) else {
        return Ok(default);
    };
    Duration::try_from_secs_f64(seconds)
        .ok()
        .filter(|time| *time >= LEAST_TIME)
        .ok_or_else(|| SettingsError::Range {
            setting,
            value: format!("{seconds} s"),
            range: "at least 0.001 s",
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn table(value: serde_json::Value) -> Result<Table, SettingsError> {
        let metadata = json!({ "topdown": value, "other-tool": { "anything": 1 } });
        Table::of_metadata(&metadata, "package.metadata.topdown", "x/Cargo.toml")
    }

    #[test]
    fn flag_beats_package_beats_workspace_beats_default() {
        let flags = MeasuringArgs {
            launches: Some(2),
            ..MeasuringArgs::default()
        };
        let package = table(json!({ "launches": 3, "sample-size": 30 })).unwrap();
        let workspace = table(json!({
            "launches": 4, "sample-size": 40, "warm-up-time": 0.5, "source": "time",
            "author-settings": true, "launch-timeout": 30, "fingerprints": false,
            "counters": "exact", "threads": "all", "model-budget": 10, "model-core": "zen-5"
        }))
        .unwrap();
        let settings = Settings::resolve(&flags, &package, &workspace).unwrap();
        assert_eq!(
            settings,
            Settings {
                launches: 2,
                sample_size: 30,
                warm_up_time: Duration::from_millis(500),
                measurement_time: Duration::from_millis(250),
                source: SourceChoice::Time,
                model_budget: Duration::from_secs(10),
                model_core: ModelCore::Zen5,
                counters: CountersChoice::Exact,
                threads: ThreadsChoice::All,
                sampling: Sampling::Author,
                launch_timeout: Some(Duration::from_secs(30)),
                fingerprints: false,
            }
        );
    }

    #[test]
    fn patterns_of_manifests_add_up_and_a_flag_stands_for_all() {
        let metadata = |own: serde_json::Value| -> Metadata {
            serde_json::from_value(json!({
                "packages": [{
                    "name": "p", "version": "1.0.0", "id": "p", "dependencies": [], "targets": [],
                    "features": {}, "manifest_path": "/p/Cargo.toml", "metadata": { "topdown": own }
                }],
                "workspace_members": ["p"],
                "resolve": null,
                "target_directory": "/target",
                "version": 1,
                "workspace_root": "/",
                "metadata": { "topdown": { "leave-out": ["slow/*"] } }
            }))
            .unwrap()
        };
        let patterns = |flags: &MeasuringArgs| {
            let metadata = metadata(json!({ "leave-out": ["*::odd"] }));
            WorkspaceSettings::resolve(flags, &metadata)
                .unwrap()
                .leave_out
        };
        let of_manifests = [Pattern::new("slow/*"), Pattern::within(Some("p"), "*::odd")];
        assert_eq!(patterns(&MeasuringArgs::default()), of_manifests);
        let flags = MeasuringArgs {
            leave_out: Some(vec!["other".to_owned()]),
            ..MeasuringArgs::default()
        };
        assert_eq!(patterns(&flags), [Pattern::new("other")]);
    }

    #[test]
    fn issue_14_7_settings_add_to_what_benches_inherit() {
        let metadata: Metadata = serde_json::from_value(json!({
            "packages": [{
                "name": "p", "version": "1.0.0", "id": "p", "dependencies": [], "targets": [],
                "features": {}, "manifest_path": "/p/Cargo.toml",
                "metadata": { "topdown": { "keep-env": ["OWN"] } }
            }],
            "workspace_members": ["p"],
            "resolve": null,
            "target_directory": "/target",
            "version": 1,
            "workspace_root": "/",
            "metadata": { "topdown": { "keep-env": ["ALL_*"] } }
        }))
        .unwrap();
        let flags = MeasuringArgs {
            keep_env: Some(vec!["FLAG".to_owned()]),
            ..MeasuringArgs::default()
        };
        let settings = WorkspaceSettings::resolve(&flags, &metadata).unwrap();
        let id = |repr: &str| PackageId {
            repr: repr.to_owned(),
        };
        assert_eq!(settings.keep_env_of(&id("p")), ["ALL_*", "FLAG", "OWN"]);
        assert_eq!(settings.keep_env_of(&id("q")), ["ALL_*", "FLAG"]);
    }

    #[test]
    fn an_unknown_key_is_named() {
        let error = table(json!({ "lauches": 3 })).unwrap_err().to_string();
        assert!(
            error.starts_with(
                "in `[package.metadata.topdown]` of x/Cargo.toml: unknown field `lauches`"
            ),
            "{error}"
        );
        assert!(table(json!({ "source": "magic" })).is_err());
        assert!(table(json!({ "counters": "magic" })).is_err());
        assert!(table(json!({ "threads": "every" })).is_err());
        assert!(table(json!({ "model-core": "z80" })).is_err());
        assert!(table(json!("launches")).is_err());
    }

    #[test]
    fn no_table_changes_nothing() {
        let none = Table::of_metadata(&serde_json::Value::Null, "t", "m").unwrap();
        let settings = Settings::resolve(&MeasuringArgs::default(), &none, &none).unwrap();
        assert_eq!(settings, Settings::default());
    }

    #[test]
    fn values_out_of_range_are_refused_by_name() {
        for (value, message) in [
            (
                json!({ "launches": 0 }),
                "--launches is 0; it must be at least 1",
            ),
            (
                json!({ "sample-size": 9 }),
                "--sample-size is 9; it must be at least 10",
            ),
            (
                json!({ "warm-up-time": 0.0 }),
                "--warm-up-time is 0 s; it must be at least 0.001 s",
            ),
            (
                json!({ "measurement-time": -1.0 }),
                "--measurement-time is -1 s; it must be at least 0.001 s",
            ),
        ] {
            let table = table(value).unwrap();
            let error = Settings::resolve(&MeasuringArgs::default(), &table, &Table::default())
                .unwrap_err();
            assert_eq!(error.to_string(), message);
        }
    }
}
