//! Settings of a measurement: its length and number of launches.
//!
//! Each setting is looked up in this order: flag, environment variable `CARGO_TOPDOWN_…`,
//! `[package.metadata.topdown]`, `[workspace.metadata.topdown]`, default. The first two are one
//! [`Layer`], since clap has merged them.

use std::collections::HashMap;
use std::time::Duration;

use topdown_gate::pattern::Pattern;
use topdown_run::setting::{ModelCore, Sampling, Setting};
use topdown_runner::modelling::schedules;
use topdown_runner::settings::{MAX_LAUNCHES, MAX_SCHEDULES, Settings, WorkspaceSettings};

use super::{Config, ConfigError, Layer};

/// The fewest samples that criterion accepts.
const MIN_SAMPLE_SIZE: u32 = 10;
/// Judgement: the samples of a launch are one message of criterion's, and this one takes 2 MB.
const MAX_SAMPLE_SIZE: u32 = 100_000;

/// The shortest time that a run file can express.
const MIN_TIME: Duration = Duration::from_millis(1);
/// Judgement: no benchmark measures for a week, and every clock can add it.
const MAX_TIME: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// Combines the flags with the tables of all manifests.
pub(super) fn of_workspace(
    flags: &Layer,
    config: &Config,
) -> Result<WorkspaceSettings, ConfigError> {
    let workspace = &config.workspace.layer;
    let all = |patterns: &Option<Vec<String>>| -> Vec<Pattern> {
        patterns.iter().flatten().map(|p| Pattern::new(p)).collect()
    };
    let mut leave_out = all(&workspace.leave_out);
    let mut packages = HashMap::new();
    let mut keep_env_of_packages = HashMap::new();
    for package in &config.packages {
        let own = &package.section.layer;
        packages.insert(package.id.clone(), combined([flags, own, workspace])?);
        keep_env_of_packages.insert(package.id.clone(), own.keep_env.clone());
        let within = |pattern: &String| Pattern::within(Some(&package.name), pattern);
        leave_out.extend(own.leave_out.iter().flatten().map(within));
    }
    if flags.leave_out.is_some() {
        leave_out = all(&flags.leave_out);
    }
    Ok(WorkspaceSettings {
        leave_out,
        keep_env: [&workspace.keep_env[..], &flags.keep_env].concat(),
        keep_env_of_packages,
        workspace: combined([flags, workspace])?,
        packages,
    })
}

/// Combines `layers`; the first that sets a value wins.
fn combined<const N: usize>(layers: [&Layer; N]) -> Result<Settings, ConfigError> {
    let default = Settings::default();
    let launches = first(layers, |l| l.launches).unwrap_or(default.launches);
    let sample_size = first(layers, |l| l.sample_size).unwrap_or(default.sample_size);
    let schedules = first(layers, |l| l.schedules).unwrap_or(default.schedules);
    for (setting, value, range) in [
        ("launches", launches, 1..=MAX_LAUNCHES),
        ("schedules", schedules, 1..=MAX_SCHEDULES),
        (
            "sample-size",
            sample_size,
            MIN_SAMPLE_SIZE..=MAX_SAMPLE_SIZE,
        ),
    ] {
        if !range.contains(&value) {
            return Err(ConfigError::Range {
                setting,
                value: value.to_string(),
                range: format!("{} to {}", range.start(), range.end()),
            });
        }
    }
    let time = |setting, setting_in: fn(&Layer) -> Option<f64>| {
        first(layers, setting_in)
            .map(|seconds| checked_time(setting, seconds))
            .transpose()
    };
    let cores = first(layers, |l| l.model_core.clone()).unwrap_or_default();
    let is_author = first(layers, |l| l.author_settings).unwrap_or(false);
    let settings = Settings {
        launches,
        sample_size,
        warm_up_time: time("warm-up-time", |l| l.warm_up_time)?.unwrap_or(default.warm_up_time),
        measurement_time: time("measurement-time", |l| l.measurement_time)?
            .unwrap_or(default.measurement_time),
        source: first(layers, |l| l.source).unwrap_or(default.source),
        model_budget: time("model-budget", |l| l.model_budget)?.unwrap_or(default.model_budget),
        model_core: checked_core(&cores)?,
        counters: first(layers, |l| l.counters).unwrap_or(default.counters),
        threads: first(layers, |l| l.threads).unwrap_or(default.threads),
        schedules,
        shared_lines: first(layers, |l| l.shared_lines).unwrap_or(default.shared_lines),
        sampling: if is_author {
            Sampling::Author
        } else {
            Sampling::Planned
        },
        launch_timeout: time("launch-timeout", |l| l.launch_timeout)?,
        fingerprints: first(layers, |l| l.fingerprints).unwrap_or(default.fingerprints),
        paths: first(layers, |l| l.paths).unwrap_or(default.paths),
        // `annotate` alone asks for them.
        instructions: false,
        allocations: first(layers, |l| l.allocations).unwrap_or(default.allocations),
    };
    // A manifest's number is for those runs that can have it.
    let is_flag = layers
        .first()
        .is_some_and(|flags| flags.schedules.is_some());
    match schedules::obstacle(&settings).filter(|_| is_flag) {
        Some(why) => Err(ConfigError::Range {
            setting: "schedules",
            value: settings.schedules.to_string(),
            range: format!("1: {why}"),
        }),
        None => Ok(settings),
    }
}

fn first<T, const N: usize>(layers: [&Layer; N], of: impl Fn(&Layer) -> Option<T>) -> Option<T> {
    layers.into_iter().find_map(of)
}

fn checked_time(setting: &'static str, seconds: f64) -> Result<Duration, ConfigError> {
    Duration::try_from_secs_f64(seconds)
        .ok()
        .filter(|time| (MIN_TIME..=MAX_TIME).contains(time))
        .ok_or_else(|| ConfigError::Range {
            setting,
            value: format!("{seconds} s"),
            range: format!("{} to {} s", MIN_TIME.as_secs_f64(), MAX_TIME.as_secs()),
        })
}

/// Returns the core to model.
fn checked_core(cores: &[ModelCore]) -> Result<ModelCore, ConfigError> {
    match *cores {
        [] => Ok(ModelCore::default()),
        [core] => Ok(core),
        _ => Err(ConfigError::Range {
            setting: "model-core",
            value: Vec::from_iter(cores.iter().map(|core| core.name())).join(","),
            range: "one core; for several, run once for each (a baseline keeps a run per core)"
                .to_owned(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cargo_metadata::PackageId;
    use serde::Deserialize;
    use serde_json::json;
    use topdown_run::setting::{Counters, SourceChoice, Threads};

    fn layer(value: serde_json::Value) -> Layer {
        Layer::deserialize(value).unwrap()
    }

    /// The configuration of a workspace with one package, `p`.
    fn config(workspace: serde_json::Value, own: serde_json::Value) -> Config {
        let metadata = serde_json::from_value(json!({
            "packages": [{
                "name": "p", "version": "1.0.0", "id": "p", "dependencies": [], "targets": [],
                "features": {}, "manifest_path": "/p/Cargo.toml", "metadata": { "topdown": own }
            }],
            "workspace_members": ["p"], "resolve": null, "target_directory": "/target",
            "version": 1, "workspace_root": "/", "metadata": { "topdown": workspace }
        }));
        Config::read(&metadata.unwrap()).unwrap()
    }

    #[test]
    fn flag_beats_package_beats_workspace_beats_default() {
        let flags = layer(json!({ "launches": 2 }));
        let package = layer(json!({ "launches": 3, "sample-size": 30 }));
        let workspace = layer(json!({
            "launches": 4, "sample-size": 40, "warm-up-time": 0.5, "source": "time",
            "author-settings": true, "launch-timeout": 30, "fingerprints": false,
            "paths": true, "allocations": false,
            "counters": "exact", "threads": "all", "shared-lines": true, "model-budget": 10,
            "model-core": "zen-5", "schedules": 8
        }));
        let settings = combined([&flags, &package, &workspace]).unwrap();
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
                counters: Counters::Exact,
                threads: Threads::All,
                schedules: 8,
                shared_lines: true,
                sampling: Sampling::Author,
                launch_timeout: Some(Duration::from_secs(30)),
                fingerprints: false,
                paths: true,
                instructions: false,
                allocations: false,
            }
        );
    }

    #[test]
    fn manifest_patterns_add_up_and_flags_override() {
        let config = config(
            json!({ "leave-out": ["slow/*"] }),
            json!({ "leave-out": ["*::odd"] }),
        );
        let patterns = |flags: &Layer| config.measuring(flags).unwrap().leave_out;
        let of_manifests = [Pattern::new("slow/*"), Pattern::within(Some("p"), "*::odd")];
        assert_eq!(patterns(&Layer::default()), of_manifests);
        let flags = layer(json!({ "leave-out": ["other"] }));
        assert_eq!(patterns(&flags), [Pattern::new("other")]);
    }

    #[test]
    fn settings_extend_inherited_environment() {
        let config = config(
            json!({ "keep-env": ["ALL_*"] }),
            json!({ "keep-env": ["OWN"] }),
        );
        let settings = config
            .measuring(&layer(json!({ "keep-env": ["FLAG"] })))
            .unwrap();
        let id = |repr: &str| PackageId {
            repr: repr.to_owned(),
        };
        assert_eq!(settings.keep_env_of(&id("p")), ["ALL_*", "FLAG", "OWN"]);
        assert_eq!(settings.keep_env_of(&id("q")), ["ALL_*", "FLAG"]);
    }

    #[test]
    fn no_table_changes_nothing() {
        let settings = combined([&Layer::default()]).unwrap();
        assert_eq!(settings, Settings::default());
    }

    #[test]
    fn requested_schedules_need_what_has_them() {
        for (other, why) in [
            (
                json!({ "threads": "own" }),
                "with `--threads own` only one thread counts",
            ),
            (
                json!({ "source": "hardware" }),
                "only the model knows several orders",
            ),
            (
                json!({ "source": "time" }),
                "only the model knows several orders",
            ),
            (
                json!({ "launches": 1 }),
                "with `--launches 1` nothing shows that an order repeats",
            ),
        ] {
            let [flag, other] = [json!({ "schedules": 8 }), other].map(layer);
            let error = combined([&flag, &other]).unwrap_err().to_string();
            assert_eq!(error, format!("`schedules` is 8; it must be 1: {why}"));
            // As the manifest says for other runs.
            assert_eq!(combined([&other, &flag]).unwrap().schedules, 8);
            let one = layer(json!({ "schedules": 1 }));
            assert_eq!(combined([&one, &other]).unwrap().schedules, 1);
        }
    }

    #[test]
    fn out_of_range_values_are_refused_by_name() {
        for (value, message) in [
            (
                json!({ "launches": 0 }),
                "`launches` is 0; it must be 1 to 10000",
            ),
            (
                json!({ "launches": 4_294_967_295_u32 }),
                "`launches` is 4294967295; it must be 1 to 10000",
            ),
            (
                json!({ "schedules": 0 }),
                "`schedules` is 0; it must be 1 to 100",
            ),
            (
                json!({ "sample-size": 9 }),
                "`sample-size` is 9; it must be 10 to 100000",
            ),
            (
                json!({ "sample-size": 100_001 }),
                "`sample-size` is 100001; it must be 10 to 100000",
            ),
            (
                json!({ "warm-up-time": 0.0 }),
                "`warm-up-time` is 0 s; it must be 0.001 to 604800 s",
            ),
            (
                json!({ "launch-timeout": 1e19 }),
                "`launch-timeout` is 10000000000000000000 s; it must be 0.001 to 604800 s",
            ),
            (
                json!({ "model-core": "zen-5, zen-5" }),
                "`model-core` is zen-5,zen-5; it must be one core; for several, run once for each \
                 (a baseline keeps a run per core)",
            ),
            (
                json!({ "measurement-time": -1.0 }),
                "`measurement-time` is -1 s; it must be 0.001 to 604800 s",
            ),
        ] {
            let error = combined([&Layer::default(), &layer(value)]).unwrap_err();
            assert_eq!(error.to_string(), message);
        }
    }
}
