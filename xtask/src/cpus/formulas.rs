//! Whether the formulas of the tables give what vendors publish: both are computed from the same
//! counts.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;
use topdown_counters::cpu::{Counts, CpuTable, Event, MetricsCorrection, Split, TABLES};
use topdown_run::category::PerCategory;
use topdown_run::sample::Level1;

use super::{Result, at, expression, vendor};

/// The tables, and the metric files of their CPUs. The other CPUs have none with these metrics.
const FILES: &[(&str, &[&str])] = &[
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
];

/// Vectors of counts that both formulas are computed from.
const VECTORS: u64 = 20;

/// Returns a line for every metric whose formula gives something else than the published one, and
/// how many agree.
pub fn differences(folder: &Path) -> Result<Vec<String>> {
    let mut lines = Vec::new();
    let mut agreeing = 0;
    for (name, files) in FILES {
        let mut tables = TABLES.iter().filter(|table| table.name == *name);
        let table = tables
            .next()
            .ok_or_else(|| format!("no table is `{name}`"))?;
        for file in *files {
            let published = Published::read(folder, file)?;
            for (what, ours, theirs) in comparisons(table, &published)? {
                if agree(&ours, &theirs) {
                    agreeing += 1;
                } else {
                    lines.push(format!(
                        "{file}: {what} is {} here and {}",
                        ours[0], theirs[0]
                    ));
                }
            }
        }
    }
    lines.push(format!("{agreeing} formulas give what is published"));
    Ok(lines)
}

fn agree(ours: &[f64], theirs: &[f64]) -> bool {
    let is_equal = |(a, b): (&f64, &f64)| (a - b).abs() < 1e-9;
    ours.iter().zip(theirs).all(is_equal)
}

/// What is compared, its values here, and the published ones: fractions, for each vector.
type Comparison = (String, Vec<f64>, Vec<f64>);

fn comparisons(table: &CpuTable, published: &Published) -> Result<Vec<Comparison>> {
    let width = table.slots_per_cycle.unwrap_or(4);
    let mut all = BTreeMap::new();
    let mut add = |what: String, ours: f64, metric: &str, known: &Known| -> Result<()> {
        if let Some(theirs) = published.fraction(metric, known)? {
            let (a, b): &mut (Vec<f64>, Vec<f64>) = all.entry(what).or_default();
            a.push(ours);
            b.push(theirs);
        }
        Ok(())
    };
    let mut random = Random(1);
    for _ in 0..VECTORS {
        for form in table.forms() {
            let known = Known::of_form(form.events, width, &mut random);
            let split = (form.split)(&known.counts(form.events, width));
            for (metric, ours) in parts(&split) {
                let what = format!("{} of {} events: {metric}", form.formula, form.events.len());
                add(what, ours, metric, &known)?;
            }
        }
        if let Some(correction) = table.metrics {
            let (known, split) = corrected(correction, width, &mut random);
            for (metric, ours) in parts(&split) {
                add(
                    format!("{}: {metric}", correction.formula),
                    ours,
                    metric,
                    &known,
                )?;
            }
        }
        for group in table.groups {
            let mut known = Known::of_form(group.events, width, &mut random);
            let counts = known.counts(group.events, width);
            for metric in group.metrics {
                let latency = metric.latency_of.map(|event| known.add_latency(&event));
                let uses_latency = match (&latency, metric.latency_of) {
                    (Some(_), Some(event)) => published.uses_latency(metric.name, event.name),
                    _ => true,
                };
                let is_percent_of_all = ["% of slots", "% of cycles"].contains(&metric.unit);
                let ours = metric.value(&counts, latency);
                if let Some(ours) = ours.filter(|_| is_percent_of_all && uses_latency) {
                    let what = format!("{}: {}", group.name, metric.name);
                    add(what, ours / 100.0, metric.name, &known)?;
                }
            }
        }
    }
    Ok(all.into_iter().map(|(what, (a, b))| (what, a, b)).collect())
}

/// Returns the categories and parts of a split as fractions of its slots, by their published names.
fn parts(split: &Split) -> Vec<(&'static str, f64)> {
    let Level1 {
        slots,
        smt_contention_slots,
    } = split.level1;
    let mut parts = vec![
        ("retiring", slots.retiring),
        ("bad_speculation", slots.bad_speculation),
        ("frontend_bound", slots.frontend_bound),
        ("backend_bound", slots.backend_bound),
    ];
    parts.extend(smt_contention_slots.map(|slots| ("smt_contention", slots)));
    if let Some(level2) = split.level2 {
        parts.extend([
            ("heavy_operations", level2.retiring),
            ("branch_mispredicts", level2.bad_speculation),
            ("fetch_latency", level2.frontend_bound),
            ("memory_bound", level2.backend_bound),
        ]);
    }
    for (_, part) in &mut parts {
        *part /= split.slots;
    }
    parts
}

/// The register PERF_METRICS with random bytes, and what the correction makes of it.
fn corrected(correction: &MetricsCorrection, width: u32, random: &mut Random) -> (Known, Split) {
    let mut known = Known::of_form(correction.events, width, random);
    let slots = f64::from(width) * Known::CYCLES;
    known.0.insert("TOPDOWN.SLOTS".to_owned(), slots);
    let bytes = [102, 26, 51, 76, 26, 20, 31, 46].map(|byte| byte as f64 - random.below(6.0));
    for (name, byte) in METRICS.iter().zip(bytes) {
        known.0.insert(format!("PERF_METRICS.{name}"), byte);
    }
    let of_byte = |at: usize| slots * bytes[at] / 255.0;
    let raw = Split {
        slots,
        level1: Level1 {
            slots: PerCategory::from_fn(|category| of_byte(category as usize)),
            smt_contention_slots: None,
        },
        level2: Some(PerCategory::from_fn(|category| {
            of_byte(4 + category as usize)
        })),
    };
    let split = (correction.correct)(raw, &known.counts(correction.events, width));
    (known, split)
}

/// The fields of PERF_METRICS, from the lowest byte on.
const METRICS: [&str; 8] = [
    "RETIRING",
    "BAD_SPECULATION",
    "FRONTEND_BOUND",
    "BACKEND_BOUND",
    "HEAVY_OPERATIONS",
    "BRANCH_MISPREDICTS",
    "FETCH_LATENCY",
    "MEMORY_BOUND",
];

/// Counts by the vendor's names of events.
struct Known(BTreeMap<String, f64>);

impl Known {
    const CYCLES: f64 = 1_000_000.0;

    /// Random counts, of which all categories are positive.
    fn of_form(events: &[Event], width: u32, random: &mut Random) -> Known {
        let slots = f64::from(width) * Known::CYCLES;
        let count = |event: &Event| {
            let name = event.name;
            let has = |part: &str| name.contains(part);
            let count = match name {
                "TOPDOWN.SLOTS" | "TOPDOWN.SLOTS_P" | "CPU_SLOT" => slots,
                "CPU_CLK_UNHALTED.THREAD"
                | "CPU_CLK_UNHALTED.CORE"
                | "ls_not_halted_cyc"
                | "CPU_CYCLES" => Known::CYCLES,
                _ if has("ISSUED") || has("_SPEC") || has("src_op_disp") => {
                    slots * (0.45 + random.below(0.05))
                }
                _ if has("RETIRE") || has("ex_ret_ops") => slots * (0.3 + random.below(0.05)),
                // Each of these counts a part of the one before it.
                _ if has("BOUND_ON_LOADS") => Known::CYCLES * (0.5 + random.below(0.05)),
                _ if has("STALLS_L1D_MISS") => Known::CYCLES * (0.4 + random.below(0.05)),
                _ if has("STALLS_L2_MISS") => Known::CYCLES * (0.3 + random.below(0.05)),
                _ if has("CLEARS_COUNT") => Known::CYCLES * (0.01 + random.below(0.01)),
                _ => slots * (0.01 + random.below(0.05)),
            };
            (name.to_owned(), count.round())
        };
        let mut known = Known(events.iter().map(count).collect());
        known.add_register(slots, width);
        known
    }

    /// Adds what the register PERF_METRICS holds in place of the plain counters.
    fn add_register(&mut self, slots: f64, width: u32) {
        let of = |names: &[&str]| names.iter().find_map(|name| self.0.get(*name).copied());
        let frontend = of(&["IDQ_BUBBLES.CORE", "IDQ_UOPS_NOT_DELIVERED.CORE"]);
        let retiring = of(&["UOPS_RETIRED.SLOTS"]);
        let backend = of(&["TOPDOWN.BACKEND_BOUND_SLOTS"]);
        let (Some(frontend), Some(retiring), Some(backend)) = (frontend, retiring, backend) else {
            return;
        };
        let nothing = of(&[
            "IDQ_BUBBLES.FETCH_LATENCY",
            "IDQ_BUBBLES.CYCLES_0_UOPS_DELIV.CORE",
            "IDQ_UOPS_NOT_DELIVERED.CYCLES_0_UOPS_DELIV.CORE",
        ]);
        let fields = [
            Some(retiring),
            Some(slots - retiring - frontend - backend),
            Some(frontend),
            Some(backend),
            of(&["UOPS_RETIRED.HEAVY"]),
            of(&["TOPDOWN.BR_MISPREDICT_SLOTS"]),
            nothing.map(|cycles| f64::from(width) * cycles),
            of(&["TOPDOWN.MEMORY_BOUND_SLOTS"]),
        ];
        for (name, field) in METRICS.iter().zip(fields) {
            if let Some(field) = field {
                self.0.insert(format!("PERF_METRICS.{name}"), field);
            }
        }
        self.0.insert("TOPDOWN.SLOTS".to_owned(), slots);
    }

    /// Adds the retire latency of an event, and a clock so fast that the time that is assumed in
    /// its place is longer. Returns the latency.
    fn add_latency(&mut self, event: &Event) -> f64 {
        const CYCLES: f64 = 12.0;
        let clock = [
            ("CPU_CLK_UNHALTED.REF_TSC", Known::CYCLES),
            ("SYSTEM_TSC_FREQ", 1e12),
            ("DURATIONTIMEINMILLISECONDS", 1000.0),
        ];
        let clock = clock.map(|(name, value)| (name.to_owned(), value));
        self.0.extend(clock);
        self.0
            .insert(format!("{}:retire_latency", event.name), CYCLES);
        CYCLES
    }

    fn counts(&self, events: &'static [Event], width: u32) -> Counts {
        let counts = events.iter().map(|event| self.0[event.name] as u64);
        Counts::new(events, counts, width)
    }
}

/// The metrics of one file.
struct Published(BTreeMap<String, Formula>);

struct Formula {
    text: String,
    /// Short names of events.
    events: BTreeMap<String, String>,
}

impl Published {
    fn read(folder: &Path, path: &str) -> Result<Published> {
        let file = vendor::path_of(folder, path)?;
        let text = std::fs::read_to_string(&file).map_err(at(&file))?;
        Published::from_text(&text).map_err(at(&file))
    }

    fn from_text(text: &str) -> Result<Published> {
        let json: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
        let metrics = json["Metrics"].as_array().or_else(|| json.as_array());
        let metrics = metrics.ok_or("it has no metrics")?;
        let text_of = |value: &Value| value.as_str().map(str::to_owned);
        let formula = |metric: &Value| {
            let names = [&metric["Events"], &metric["Constants"]];
            let events = names.into_iter().filter_map(Value::as_array).flatten();
            let event = |event: &Value| Some((text_of(&event["Alias"])?, text_of(&event["Name"])?));
            let formula = Formula {
                text: text_of(&metric["Formula"]).or_else(|| text_of(&metric["MetricExpr"]))?,
                events: events.filter_map(event).collect(),
            };
            let name = metric["MetricName"].as_str()?.to_lowercase();
            // Efficient cores have another name for the same.
            let name = name
                .strip_prefix('i')
                .filter(|name| name.starts_with("fetch_"));
            let own = metric["MetricName"].as_str()?.to_lowercase();
            Some((name.map_or(own, str::to_owned), formula))
        };
        Ok(Published(metrics.iter().filter_map(formula).collect()))
    }

    /// Returns whether a metric needs an event's retire latency. Others assume a time.
    fn uses_latency(&self, name: &str, event: &str) -> bool {
        let latency = format!("{event}:retire_latency");
        let formula = self.0.get(&name.to_lowercase());
        formula.is_some_and(|formula| formula.events.values().any(|event| *event == latency))
    }

    /// Returns a metric as a fraction; `None` if it is not published, or counts something else.
    fn fraction(&self, name: &str, known: &Known) -> Result<Option<f64>> {
        let Some(formula) = self.0.get(&name.to_lowercase()) else {
            return Ok(None);
        };
        let is_percent = formula.text.starts_with("100 ");
        let value = self.value(formula, known)?;
        let value = if is_percent { value / 100.0 } else { value };
        Ok((!value.is_nan()).then_some(value))
    }

    fn value(&self, formula: &Formula, known: &Known) -> Result<f64> {
        let value_of = |name: &str| {
            let name = formula.events.get(name).map_or(name, String::as_str);
            let plain = name.strip_suffix(":perf_metrics").unwrap_or(name);
            let plain = match plain.strip_prefix("cpu@") {
                Some(fields) => {
                    format!("cpu/{}/", fields.trim_end_matches('@').replace('\\', ""))
                }
                None => plain.to_owned(),
            };
            match (known.0.get(&plain), self.0.get(&plain.to_lowercase())) {
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

/// A fixed sequence of pseudo-random numbers.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: f64) -> f64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        limit * (self.0 % 1000) as f64 / 1000.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Level 1 of Golden Cove with these formulas of two categories.
    fn differing(frontend: &str, retiring: &str) -> Vec<String> {
        let events = r#"[{"Name": "PERF_METRICS.FRONTEND_BOUND", "Alias": "a"},
            {"Name": "PERF_METRICS.RETIRING", "Alias": "b"},
            {"Name": "PERF_METRICS.BAD_SPECULATION", "Alias": "c"},
            {"Name": "PERF_METRICS.BACKEND_BOUND", "Alias": "d"},
            {"Name": "INT_MISC.UOP_DROPPING", "Alias": "e"},
            {"Name": "TOPDOWN.SLOTS:perf_metrics", "Alias": "f"}]"#;
        let metric = |name: &str, formula: &str| {
            format!(r#"{{"MetricName": "{name}", "Formula": "{formula}", "Events": {events}}}"#)
        };
        let json = format!(
            r#"{{"Metrics": [{}, {}]}}"#,
            metric("Frontend_Bound", frontend),
            metric("Retiring", retiring)
        );
        let published = Published::from_text(&json).unwrap();
        let mut tables = TABLES.iter().filter(|table| table.name == "Golden Cove");
        let all = comparisons(tables.next().unwrap(), &published).unwrap();
        assert_eq!(all.len(), 6, "with level 2, without, and the register");
        let wrong = all
            .into_iter()
            .filter(|(_, ours, theirs)| !agree(ours, theirs));
        wrong.map(|(what, ..)| what).collect()
    }

    #[test]
    fn other_formula_is_a_difference() {
        let frontend = "100 * ( a / ( a + b + c + d ) - e / ( f ) )";
        let retiring = "100 * ( b / ( a + b + c + d ) )";
        assert_eq!(differing(frontend, retiring), [""; 0]);
        let not_corrected = differing("100 * ( a / ( a + b + c + d ) )", retiring);
        assert_eq!(not_corrected.len(), 3, "{not_corrected:?}");
        assert!(
            not_corrected[0].ends_with("frontend_bound"),
            "{not_corrected:?}"
        );
    }
}
