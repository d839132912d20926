//! Whether the formulas of the tables give what vendors publish: both are computed from the same
//! counts.

use std::collections::BTreeMap;
use std::path::Path;

use topdown_counters::cpu::{Counts, CpuTable, Event, MetricsCorrection, Split, TABLES};
use topdown_run::category::PerCategory;
use topdown_run::sample::Level1;

use super::Result;
use super::metric_file::{FILES, MetricFile};

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
            let published = match MetricFile::read(folder, file) {
                Ok(published) => published,
                Err(why) => {
                    lines.push(why);
                    continue;
                }
            };
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
    let is_equal = |(a, b): (&f64, &f64)| (a - b).abs() < 1e-9 * b.abs().max(1.0);
    ours.iter().zip(theirs).all(is_equal)
}

/// What is compared, its values here, and the published ones, for each vector.
type Comparison = (String, Vec<f64>, Vec<f64>);

fn comparisons(table: &CpuTable, published: &MetricFile) -> Result<Vec<Comparison>> {
    let width = table.slots_per_cycle.unwrap_or(4);
    let mut all = BTreeMap::new();
    let mut add = |what: String, ours: f64, metric: &str, known: &Known| -> Result<()> {
        if let Some(theirs) = published.value_of(metric, &known.0)? {
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
                let is_compared = published.has_unit(metric.unit) && uses_latency;
                let ours = metric.value(&counts, latency);
                if let Some(ours) = ours.filter(|_| is_compared) {
                    let what = format!("{}: {}", group.name, metric.name);
                    let whole = if metric.unit.starts_with('%') {
                        100.0
                    } else {
                        1.0
                    };
                    add(what, ours / whole, metric.name, &known)?;
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
        known.add_of_arm();
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

    /// Adds what Arm's formulas use besides: all stalled slots, and cycles in WFI and WFE, of which
    /// the tables assume none.
    fn add_of_arm(&mut self) {
        let of = |name: &str| self.0.get(name).copied();
        let stalled = of("STALL_SLOT_FRONTEND").zip(of("STALL_SLOT_BACKEND"));
        let stalled = stalled.map(|(frontend, backend)| ("STALL_SLOT", frontend + backend));
        let idle = ("IMP_WFX_CLOCK_CYCLES", 0.0);
        for (name, count) in stalled.into_iter().chain([idle]) {
            self.0.entry(name.to_owned()).or_insert(count);
        }
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
        let published = MetricFile::from_text(&json).unwrap();
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

    #[test]
    fn formulas_of_arm_are_compared_in_their_units() {
        let wrong = |mpki: &str| {
            let json = format!(
                r#"{{"metrics": {{
                    "retiring": {{"units": "percent of slots", "formula":
                        "(1 - STALL_SLOT / (5 * CPU_CYCLES)) * (OP_RETIRED / OP_SPEC) * 100"}},
                    "branch_mpki": {{"units": "MPKI", "formula": "{mpki}"}},
                    "backend_stalled_cycles": {{"units": "percent of cycles", "formula":
                        "STALL_BACKEND / (CPU_CYCLES - IMP_WFX_CLOCK_CYCLES) * 100"}}
                }}}}"#
            );
            let published = MetricFile::from_text(&json).unwrap();
            let mut tables = TABLES.iter().filter(|table| table.name == "Neoverse N2");
            let all = comparisons(tables.next().unwrap(), &published).unwrap();
            assert_eq!(all.len(), 3);
            let wrong = all.into_iter().filter(|(_, a, b)| !agree(a, b));
            wrong.map(|(what, ..)| what).collect::<Vec<_>>()
        };
        let mpki = "BR_MIS_PRED_RETIRED / INST_RETIRED * 1000";
        assert_eq!(wrong(mpki), [""; 0]);
        let per_branch = "BR_MIS_PRED_RETIRED / BR_RETIRED * 1000";
        assert_eq!(wrong(per_branch), ["Branch_Effectiveness: branch_mpki"]);
    }
}
