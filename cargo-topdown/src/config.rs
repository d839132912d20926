//! `[workspace.metadata.topdown]` and `[package.metadata.topdown]`: read once, and checked as a
//! whole, so that a misspelt setting doesn't wait until a command needs it.

mod layer;
pub mod measuring;
mod policy;
mod workspace;

use std::path::Path;

use cargo_metadata::{Metadata, PackageId};
use serde::Deserialize;
use thiserror::Error;
use topdown_gate::filter_expression::Tags;
use topdown_gate::pattern::Pattern;
use topdown_gate::policy::{Overrides, Policy};

pub use layer::Layer;
pub use workspace::{Workspace, WorkspaceError, named_by};

use crate::renames::Renames;
#[cfg(test)]
pub use layer::setting_types;
#[cfg(test)]
pub use policy::KEYS as POLICY_KEYS;
use policy::PolicyTable;
use topdown_runner::settings::WorkspaceSettings;
use topdown_terminal::nearest::{Suggestion, nearest};

/// The key of our table in cargo's `metadata` tables.
const TABLE: &str = "topdown";
/// The key of the policy in our table.
const POLICY: &str = "policy";

/// A setting that cannot be used.
#[derive(Debug, Error, PartialEq)]
pub enum ConfigError {
    /// An unknown key, or a value of the wrong kind.
    #[error("in `[{table}]` of {manifest}: {what}")]
    Table {
        /// The table's name in the manifest.
        table: String,
        /// The path of the manifest.
        manifest: String,
        /// What is wrong; it names the key.
        what: String,
    },
    /// A value out of its range.
    #[error("`{setting}` is {value}; it must be {range}")]
    Range {
        /// Its name, which flags and manifests share.
        setting: &'static str,
        value: String,
        range: String,
    },
}

/// What the manifests of a workspace set.
#[derive(Debug, Default)]
pub struct Config {
    workspace: Section,
    packages: Vec<PackageSection>,
}

/// The tables of one manifest.
#[derive(Debug, Default)]
struct Section {
    /// `workspace.metadata.topdown` or `package.metadata.topdown`.
    table: String,
    manifest: String,
    layer: Layer,
    policy: PolicyTable,
}

#[derive(Debug)]
struct PackageSection {
    id: PackageId,
    name: String,
    section: Section,
}

impl Config {
    /// Reads the manifests of a workspace.
    ///
    /// # Errors
    /// Returns an error if a table has an unknown key or a value of the wrong kind.
    pub fn read(metadata: &Metadata) -> Result<Config, ConfigError> {
        let root = metadata.workspace_root.join("Cargo.toml");
        let workspace = Section::read(&metadata.workspace_metadata, "workspace", root.as_str())?;
        let package = |package: &cargo_metadata::Package| {
            let manifest = package.manifest_path.as_str();
            let section = Section::read(&package.metadata, "package", manifest)?;
            let layer = &section.layer;
            if layer.baselines.is_some() || layer.store.is_some() || !layer.renamed.is_empty() {
                return Err(section.error(format!(
                    "`baselines`, `renamed` and `store` apply to the whole workspace; move them to \
                     `[workspace.metadata.{TABLE}]`"
                )));
            }
            Ok(PackageSection {
                id: package.id.clone(),
                name: package.name.to_string(),
                section,
            })
        };
        let packages = metadata.workspace_packages().into_iter().map(package);
        Ok(Config {
            workspace,
            packages: packages.collect::<Result<_, _>>()?,
        })
    }

    /// Returns the directory of the baselines, relative to the workspace root.
    pub fn baselines(&self) -> Option<&Path> {
        self.workspace.layer.baselines.as_deref()
    }

    /// Returns what the benchmarks of earlier runs are called now.
    pub fn renames(&self) -> Renames<'_> {
        Renames(&self.workspace.layer.renamed)
    }

    /// Returns the address of the shared store.
    pub fn store(&self) -> Option<&str> {
        self.workspace.layer.store.as_deref()
    }

    /// The tags: those of the workspace, and those of packages, for the benchmarks of each.
    pub fn tags(&self) -> Tags {
        let mut tags = Tags::new();
        let mut add = |layer: &Layer, pattern: &dyn Fn(&str) -> Pattern| {
            for (name, patterns) in &layer.tags {
                let patterns = patterns.iter().map(|text| pattern(text));
                tags.entry(name.clone()).or_default().extend(patterns);
            }
        };
        add(&self.workspace.layer, &Pattern::new);
        for package in &self.packages {
            let within = |text: &str| Pattern::within(Some(&package.name), text);
            add(&package.section.layer, &within);
        }
        tags
    }

    /// Returns how benches are measured: by `flags`, else the package's table, else the
    /// workspace's, else the default.
    ///
    /// # Errors
    /// Returns an error if a value is out of its range, even in a package that won't be benched.
    pub fn measuring(&self, flags: &Layer) -> Result<WorkspaceSettings, ConfigError> {
        measuring::of_workspace(flags, self)
    }

    /// Returns the policy: the default, overridden by the workspace and its packages, then by the
    /// command line.
    ///
    /// # Errors
    /// Returns an error if a value is invalid.
    pub fn policy(&self, overrides: &Overrides) -> Result<Policy, ConfigError> {
        policy::resolve(self, overrides)
    }
}

impl Section {
    /// Reads our tables in `metadata`, the metadata of a package or a workspace.
    fn read(
        metadata: &serde_json::Value,
        owner: &str,
        manifest: &str,
    ) -> Result<Section, ConfigError> {
        let mut section = Section {
            table: format!("{owner}.metadata.{TABLE}"),
            manifest: manifest.to_owned(),
            ..Section::default()
        };
        let Some(table) = metadata.get(TABLE) else {
            return Ok(section);
        };
        section.layer = Layer::deserialize(table)
            .map_err(|error| section.error(meant(&error.to_string(), &[])))?;
        if let Some(policy) = section.layer.policy.take() {
            section.policy = PolicyTable::deserialize(policy).map_err(|error| {
                section.policy_error(meant(&error.to_string(), &policy::KEYS.map(|(key, _)| key)))
            })?;
        }
        Ok(section)
    }

    fn error(&self, what: String) -> ConfigError {
        ConfigError::Table {
            table: self.table.clone(),
            manifest: self.manifest.clone(),
            what,
        }
    }

    fn policy_error(&self, what: String) -> ConfigError {
        ConfigError::Table {
            table: format!("{}.{POLICY}", self.table),
            manifest: self.manifest.clone(),
            what,
        }
    }
}

/// Replaces the list of all known words in serde's message about an unknown one by the word that is
/// likely meant, if any is. `keys` are the known words where serde does not list them.
fn meant(message: &str, keys: &[&str]) -> String {
    let quoted: Vec<&str> = message.split('`').skip(1).step_by(2).collect();
    let [word, listed @ ..] = &quoted[..] else {
        return message.to_owned();
    };
    if !message.starts_with("unknown ") {
        return message.to_owned();
    }
    let (said, _) = message.split_once(", expected").unwrap_or((message, ""));
    match nearest(word, listed.iter().chain(keys)) {
        Some(meant) => format!("{said}{}", Suggestion(Some(meant))),
        None => message.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn section(value: serde_json::Value) -> Result<Section, ConfigError> {
        let metadata = json!({ "topdown": value, "other-tool": { "anything": 1 } });
        Section::read(&metadata, "package", "x/Cargo.toml")
    }

    #[test]
    fn unknown_key_is_named_with_its_table() {
        for (table, message) in [
            (
                json!({ "lauches": 3 }),
                "in `[package.metadata.topdown]` of x/Cargo.toml: unknown field `lauches`",
            ),
            (
                json!({ "policy": { "aplha": 3 } }),
                "in `[package.metadata.topdown.policy]` of x/Cargo.toml: unknown field `aplha`",
            ),
        ] {
            let error = section(table).unwrap_err().to_string();
            assert!(error.starts_with(message), "{error}");
        }
    }

    #[test]
    fn misspelt_setting_gets_suggestion() {
        for (table, message) in [
            (
                json!({ "lauches": 3 }),
                "unknown field `lauches`; did you mean `launches`?",
            ),
            (
                json!({ "policy": { "aplha": 3 } }),
                "unknown field `aplha`; did you mean `alpha`?",
            ),
            (
                json!({ "source": "hardwear" }),
                "unknown variant `hardwear`; did you mean `hardware`?",
            ),
        ] {
            let error = section(table).unwrap_err().to_string();
            assert!(error.ends_with(message), "{error}");
        }
        let error = section(json!({ "xyzzy": 3 })).unwrap_err().to_string();
        assert!(error.contains("expected one of `launches`"), "{error}");
    }

    #[test]
    fn value_of_wrong_type_is_refused() {
        for table in [
            json!({ "source": "magic" }),
            json!({ "source": "model-or-time" }),
            json!({ "counters": "magic" }),
            json!({ "threads": "every" }),
            json!({ "model-core": "z80" }),
            json!({ "baselines": 7 }),
            json!({ "store": [] }),
            json!("launches"),
        ] {
            assert!(section(table.clone()).is_err(), "{table}");
        }
    }

    #[test]
    fn workspace_setting_is_refused_in_package() {
        let read = |own: serde_json::Value| {
            let metadata = serde_json::from_value(json!({
                "packages": [{
                    "name": "p", "version": "1.0.0", "id": "p", "dependencies": [], "targets": [],
                    "features": {}, "manifest_path": "/p/Cargo.toml", "metadata": { "topdown": own }
                }],
                "workspace_members": ["p"], "resolve": null, "target_directory": "/target",
                "version": 1, "workspace_root": "/", "metadata": null
            }));
            Config::read(&metadata.unwrap())
        };
        assert!(read(json!({ "launches": 3 })).is_ok());
        let error = read(json!({ "store": "/srv/baselines" })).unwrap_err();
        assert!(error.to_string().contains("whole workspace"), "{error}");
    }
}
