//! The metrics of a vendor's file, computed from counts.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;

use super::{Result, at, expression, vendor};

/// The tables, and the metric files of their CPUs. The other CPUs have none with these metrics.
pub const FILES: &[(&str, &[&str])] = &[
    (
        "Sandy Bridge … Broadwell",
        &[
            "perfmon/HSW/metrics/haswell_metrics.json",
            "perfmon/HSX/metrics/haswellx_metrics.json",
            "perfmon/BDW/metrics/broadwell_metrics.json",
            "perfmon/BDX/metrics/broadwellx_metrics.json",
        ],
    ),
    (
        "Skylake … Cascade Lake",
        &[
            "perfmon/SKL/metrics/skylake_metrics.json",
            "perfmon/SKX/metrics/skylakex_metrics.json",
            "perfmon/CLX/metrics/cascadelakex_metrics.json",
        ],
    ),
    (
        "Ice Lake … Rocket Lake",
        &[
            "perfmon/ICL/metrics/icelake_metrics.json",
            "perfmon/ICX/metrics/icelakex_metrics.json",
            "perfmon/TGL/metrics/tigerlake_metrics.json",
            "perfmon/RKL/metrics/rocketlake_metrics.json",
        ],
    ),
    (
        "Golden Cove",
        &[
            "perfmon/SPR/metrics/sapphirerapids_metrics.json",
            "perfmon/EMR/metrics/emeraldrapids_metrics.json",
            "perfmon/GNR/metrics/graniterapids_metrics.json",
            "perfmon/ADL/metrics/alderlake_metrics_goldencove_core.json",
            "perfmon/MTL/metrics/meteorlake_metrics_redwoodcove_core.json",
        ],
    ),
    (
        "Lion Cove",
        &[
            "perfmon/LNL/metrics/lunarlake_metrics_lioncove_core.json",
            "perfmon/ARL/metrics/arrowlake_metrics_lioncove_core.json",
        ],
    ),
    (
        "Crestmont",
        &[
            "perfmon/SRF/metrics/sierraforest_metrics.json",
            "perfmon/GRR/metrics/grandridge_metrics.json",
        ],
    ),
    ("Zen 4", &["linux/x86/amdzen4/pipeline.json"]),
    ("Zen 5", &["linux/x86/amdzen5/pipeline.json"]),
    ("Zen 6", &["linux/x86/amdzen6/pipeline.json"]),
    ("NVIDIA Olympus", &["linux/arm64/nvidia/t410/metrics.json"]),
    (
        "HiSilicon hip08",
        &["linux/arm64/hisilicon/hip08/metrics.json"],
    ),
    (
        "Neoverse N1",
        &["telemetry/data/pmu/cpu/neoverse/neoverse-n1.json"],
    ),
    (
        "Neoverse N2 r0p0 … r0p2",
        &[
            "telemetry/data/pmu/cpu/neoverse/neoverse-n2-r0p0.json",
            "telemetry/data/pmu/cpu/neoverse/neoverse-n2-r0p1.json",
        ],
    ),
    (
        "Neoverse N2",
        &["telemetry/data/pmu/cpu/neoverse/neoverse-n2-r0p3.json"],
    ),
    (
        "Neoverse V1",
        &["telemetry/data/pmu/cpu/neoverse/neoverse-v1.json"],
    ),
    (
        "Neoverse V2",
        &["telemetry/data/pmu/cpu/neoverse/neoverse-v2.json"],
    ),
    (
        "Neoverse N3",
        &["telemetry/data/pmu/cpu/neoverse/neoverse-n3.json"],
    ),
    (
        "Neoverse V3",
        &["telemetry/data/pmu/cpu/neoverse/neoverse-v3.json"],
    ),
    (
        "C1-Nano",
        &["telemetry/data/pmu/cpu/lumex/arm-c1-nano-r0p0-pmu.json"],
    ),
    (
        "C1-Pro",
        &[
            "telemetry/data/pmu/cpu/lumex/arm-c1-pro-r0p0-pmu.json",
            "telemetry/data/pmu/cpu/lumex/arm-c1-pro-r1p1-pmu.json",
            "telemetry/data/pmu/cpu/lumex/arm-c1-pro-r1p2-pmu.json",
        ],
    ),
    (
        "C1-Ultra, C1-Premium",
        &[
            "telemetry/data/pmu/cpu/lumex/arm-c1-ultra-r0p0-pmu.json",
            "telemetry/data/pmu/cpu/lumex/arm-c1-premium-r0p0-pmu.json",
        ],
    ),
];

/// The metrics of one file.
pub struct MetricFile {
    formulas: BTreeMap<String, Formula>,
    /// Arm's files give every metric its unit.
    is_of_arm: bool,
}

struct Formula {
    text: String,
    is_percent: bool,
    /// Short names of events.
    events: BTreeMap<String, String>,
}

impl MetricFile {
    pub fn read(folder: &Path, path: &str) -> Result<MetricFile> {
        let file = vendor::path_of(folder, path)?;
        let text = std::fs::read_to_string(&file).map_err(at(&file))?;
        MetricFile::from_text(&text).map_err(at(&file))
    }

    pub fn from_text(text: &str) -> Result<MetricFile> {
        let json: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
        if let Some(metrics) = json["metrics"].as_object() {
            let formulas = metrics.iter().filter_map(|(name, metric)| {
                let formula = Formula {
                    text: metric["formula"].as_str()?.to_owned(),
                    is_percent: metric["units"].as_str()?.starts_with("percent"),
                    events: BTreeMap::new(),
                };
                Some((name.to_lowercase(), formula))
            });
            return Ok(MetricFile {
                formulas: formulas.collect(),
                is_of_arm: true,
            });
        }
        let metrics = json["Metrics"].as_array().or_else(|| json.as_array());
        let metrics = metrics.ok_or("it has no metrics")?;
        let text_of = |value: &Value| value.as_str().map(str::to_owned);
        let formula = |metric: &Value| {
            let names = [&metric["Events"], &metric["Constants"]];
            let events = names.into_iter().filter_map(Value::as_array).flatten();
            let event = |event: &Value| Some((text_of(&event["Alias"])?, text_of(&event["Name"])?));
            let text = text_of(&metric["Formula"]).or_else(|| text_of(&metric["MetricExpr"]))?;
            let formula = Formula {
                is_percent: text.starts_with("100 "),
                text,
                events: events.filter_map(event).collect(),
            };
            let name = metric["MetricName"].as_str()?.to_lowercase();
            // Efficient cores have another name for the same.
            let other = name.strip_prefix('i');
            let other = other.filter(|other| other.starts_with("fetch_"));
            Some((other.unwrap_or(&name).to_owned(), formula))
        };
        Ok(MetricFile {
            formulas: metrics.iter().filter_map(formula).collect(),
            is_of_arm: false,
        })
    }

    /// Returns whether a metric in this unit of ours can be compared. Except in Arm's files,
    /// percentages may be of something else.
    pub fn has_unit(&self, unit: &str) -> bool {
        self.is_of_arm || ["% of slots", "% of cycles"].contains(&unit)
    }

    /// Returns whether a metric needs an event's retire latency. Others assume a time.
    pub fn uses_latency(&self, name: &str, event: &str) -> bool {
        let latency = format!("{event}:retire_latency");
        let formula = self.formulas.get(&name.to_lowercase());
        formula.is_some_and(|formula| formula.events.values().any(|event| *event == latency))
    }

    /// Returns a metric, percentages as fractions. It is `None` if it is not published or counts
    /// something else.
    pub fn value_of(&self, name: &str, known: &BTreeMap<String, f64>) -> Result<Option<f64>> {
        let Some(formula) = self.formulas.get(&name.to_lowercase()) else {
            return Ok(None);
        };
        let value = self.value(formula, known)?;
        let value = match formula.is_percent {
            true => value / 100.0,
            false => value,
        };
        Ok((!value.is_nan()).then_some(value))
    }

    fn value(&self, formula: &Formula, known: &BTreeMap<String, f64>) -> Result<f64> {
        let value_of = |name: &str| {
            let name = formula.events.get(name).map_or(name, String::as_str);
            let plain = name.strip_suffix(":perf_metrics").unwrap_or(name);
            let plain = match plain.strip_prefix("cpu@") {
                Some(fields) => {
                    format!("cpu/{}/", fields.trim_end_matches('@').replace('\\', ""))
                }
                None => plain.to_owned(),
            };
            match (known.get(&plain), self.formulas.get(&plain.to_lowercase())) {
                (Some(count), _) => *count,
                // One hardware thread.
                (None, None) if plain == "HYPERTHREADING_ON" => 0.0,
                // Some constants are named by their value.
                (None, None) => plain.parse().unwrap_or(f64::NAN),
                (None, Some(metric)) => self.value(metric, known).unwrap_or(f64::NAN),
            }
        };
        expression::value(&formula.text, &value_of)
    }
}
