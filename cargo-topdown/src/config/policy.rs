//! The policy in `Cargo.toml`: `[workspace.metadata.topdown.policy]`, and the same table in a
//! package for that package's benchmarks.

use std::collections::BTreeMap;

use serde::Deserialize;
use topdown_gate::pattern::Pattern;
use topdown_gate::policy::{
    Budget, Exception, FailOn, FailOnClass, MarginSetting, Margins, Overrides, Policy,
    checked_alarms_per_year, checked_alpha, percent,
};

use super::{Config, ConfigError, POLICY};

/// The table's keys, which serde doesn't list where one is unknown, since the table is flattened;
/// and what those without a flag of the same meaning are.
pub const KEYS: [(&str, &str); 11] = [
    ("alpha", ""),
    ("false-alarms-per-year", ""),
    ("fail-on", ""),
    ("across-builds", ""),
    ("allow-missing", ""),
    ("allow-nothing-decided", ""),
    ("relaunch", ""),
    ("gate", ""),
    ("margins", ""),
    (
        "benchmarks",
        "Tables with a pattern, `matching`, and the `gate` and `margins` of the benchmarks that it \
         matches.",
    ),
    (
        "budgets",
        "Tables with a pattern, `matching`, and the budget of each metric or of `allocations`, for \
         `check`.",
    ),
];

/// The table as a manifest has it.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) struct PolicyTable {
    alpha: Option<f64>,
    false_alarms_per_year: Option<f64>,
    fail_on: Option<Vec<FailOnClass>>,
    across_builds: Option<bool>,
    allow_missing: Option<bool>,
    allow_nothing_decided: Option<bool>,
    relaunch: Option<bool>,
    #[serde(flatten)]
    rules: RulesTable,
    #[serde(default)]
    benchmarks: Vec<ExceptionTable>,
    #[serde(default)]
    budgets: Vec<BTreeMap<String, String>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
struct RulesTable {
    gate: Option<Vec<String>>,
    #[serde(default)]
    margins: BTreeMap<String, MarginsValue>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ExceptionTable {
    matching: String,
    #[serde(flatten)]
    rules: RulesTable,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum MarginsValue {
    Point(String),
    Both { sure: String, point: String },
}

pub(super) fn resolve(config: &Config, overrides: &Overrides) -> Result<Policy, ConfigError> {
    let mut policy = Policy::default();
    apply(config, &mut policy)?;
    Ok(policy.overridden_by(overrides))
}

fn apply(config: &Config, policy: &mut Policy) -> Result<(), ConfigError> {
    let workspace = &config.workspace;
    let table = &workspace.policy;
    let error = |what| workspace.policy_error(what);
    if let Some(alpha) = table.alpha {
        policy.alpha = checked_alpha(alpha).map_err(error)?;
    }
    if let Some(alarms) = table.false_alarms_per_year {
        policy.false_alarms_per_year = Some(checked_alarms_per_year(alarms).map_err(error)?);
    }
    if let Some(classes) = &table.fail_on {
        policy.fail_on = FailOn::new(classes);
    }
    policy.compare_across_builds = table.across_builds.unwrap_or(false);
    policy.allow_missing = table.allow_missing.unwrap_or(false);
    policy.allow_nothing_decided = table.allow_nothing_decided.unwrap_or(false);
    policy.relaunch = table.relaunch.unwrap_or(false);
    add(policy, table, Pattern::new).map_err(error)?;
    for package in &config.packages {
        let section = &package.section;
        let table = &section.policy;
        if table.alpha.is_some()
            || table.false_alarms_per_year.is_some()
            || table.fail_on.is_some()
            || table.across_builds.is_some()
            || table.allow_missing.is_some()
            || table.allow_nothing_decided.is_some()
            || table.relaunch.is_some()
        {
            return Err(section.policy_error(format!(
                "`alpha`, `false-alarms-per-year`, `fail-on`, `allow-missing`, \
                 `allow-nothing-decided`, `across-builds` and `relaunch` apply to the whole suite; move them to `[{}.{POLICY}]`",
                workspace.table
            )));
        }
        let within = |pattern: &str| Pattern::within(Some(&package.name), pattern);
        add(policy, table, within).map_err(|what| section.policy_error(what))?;
    }
    Ok(())
}

fn add(
    policy: &mut Policy,
    table: &PolicyTable,
    pattern: impl Fn(&str) -> Pattern,
) -> Result<(), String> {
    let for_all = exception(&table.rules)?;
    if for_all != Exception::default() {
        policy.except(pattern("*"), for_all);
    }
    for benchmarks in &table.benchmarks {
        policy.except(pattern(&benchmarks.matching), exception(&benchmarks.rules)?);
    }
    for budgets in &table.budgets {
        let Some(matching) = budgets.get("matching") else {
            return Err("a budget needs `matching`, the pattern of its benchmarks".to_owned());
        };
        for (metric, text) in budgets.iter().filter(|(key, _)| *key != "matching") {
            let budget = Budget::parse(metric.parse()?, text)?;
            policy.budgets.push((pattern(matching), budget));
        }
    }
    Ok(())
}

fn exception(table: &RulesTable) -> Result<Exception, String> {
    let gated = table
        .gate
        .as_ref()
        .map(|metrics| metrics.iter().map(|metric| metric.parse()).collect())
        .transpose()?;
    // `categories` first, so that a single category overrides it.
    let mut margins: Vec<(&String, &MarginsValue)> = table.margins.iter().collect();
    margins.sort_by_key(|(metric, _)| *metric != "categories");
    let margins = margins
        .into_iter()
        .map(|(metric, value)| {
            let margins = match value {
                MarginsValue::Point(point) => Margins::from_point(percent(point)?),
                MarginsValue::Both { sure, point } => Margins {
                    sure: percent(sure)?,
                    point: percent(point)?,
                },
            };
            MarginSetting::new(metric, margins)
        })
        .collect::<Result<_, String>>()?;
    Ok(Exception { margins, gated })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use topdown_gate::metric::Metric;
    use topdown_gate::scenario::id;

    fn policy(table: serde_json::Value) -> Result<Policy, String> {
        let mut policy = Policy::default();
        let table = PolicyTable::deserialize(table).map_err(|error| error.to_string())?;
        add(&mut policy, &table, Pattern::new)?;
        Ok(policy)
    }

    #[test]
    fn margins_and_gates_are_per_metric_and_per_benchmark() {
        let policy = policy(json!({
            "gate": ["slots", "backend_bound", "allocations"],
            "margins": {
                "categories": "4 %",
                "backend_bound": "2 %",
                "slots": { "sure": "0.5 %", "point": "2 %" },
                "model": "1.5 %",
            },
            "benchmarks": [
                {
                    "matching": "noisy/*",
                    "margins": { "slots": "12 %", "model": "6 %" },
                    "gate": ["slots"],
                },
            ],
        }))
        .unwrap();
        let rules = policy.rules_of(&id("parse"));
        let point = |metric| rules.margins(metric).point;
        assert_eq!(point(Metric::Slots), 0.02);
        assert_eq!(rules.margins(Metric::Slots).sure, 0.005);
        assert_eq!(point(Metric::BackendBound), 0.02);
        assert_eq!(point(Metric::Retiring), 0.04);
        assert_eq!(point(Metric::Wall), 0.05);
        assert_eq!(rules.model_margins(), Margins::from_point(0.015));
        assert!(rules.gates(Metric::BackendBound) && !rules.gates(Metric::Wall));
        assert!(rules.gates_allocations());
        let noisy = policy.rules_of(&id("noisy/a"));
        assert!(!noisy.gates_allocations());
        assert_eq!(noisy.margins(Metric::Slots).point, 0.12);
        assert_eq!(noisy.model_margins().point, 0.06);
        assert!(!noisy.gates(Metric::BackendBound));
    }

    #[test]
    fn invalid_policy_is_named() {
        for (table, words) in [
            (json!({ "aplha": 0.05 }), "aplha"),
            (json!({ "fail-on": ["slow"] }), "slow"),
            (
                json!({ "benchmarks": [{ "matching": "*", "margin": {} }] }),
                "margin",
            ),
            (json!({ "gate": ["cycles"] }), "`cycles` is not a metric"),
            (
                json!({ "budgets": [{ "matching": "*", "allocations": "<= 3" }] }),
                "`<= 3 allocations`",
            ),
            (json!({ "margins": { "slots": "3" } }), "not a percentage"),
            (
                json!({ "margins": { "slots": { "sure": "5 %", "point": "3 %" } } }),
                "at least the sure one",
            ),
            (json!({ "budgets": [{ "retiring": ">= 4 %" }] }), "matching"),
            (
                json!({ "budgets": [{ "matching": "*", "retiring": "4" }] }),
                "is not a budget",
            ),
        ] {
            let error = policy(table).unwrap_err();
            assert!(error.contains(words), "{error}");
        }
        assert!(checked_alpha(0.0).is_err() && checked_alpha(f64::NAN).is_err());
    }
}
