//! Arm's telemetry specifications: files that describe the events and formulas of a core.
//!
//! Arm publishes one for each of its cores (`data/pmu/cpu` of the telemetry-solution repository,
//! schema 1.0). A user who has the file of a core that no table here knows can have it measured: the
//! formulas of the metrics `retiring`, `bad_speculation`, `frontend_bound` and `backend_bound`
//! become a table, and so do the metric groups that its decision tree names (`groups`). They are
//! taken as they are, but for STALL_SLOT: the sum of its two parts stands in for it, which saves a
//! counter.

mod groups;

use std::collections::BTreeMap;

use serde::Deserialize;

use super::expression::Expression;
use super::select::{Maker, Models, Numbers};
use super::{Counter, CpuTable, Event, Example, Form, Level1Counting, MAX_EVENTS, Split};
use crate::sample::Level1;

/// What is read of a file; the rest is for people.
#[derive(Deserialize)]
struct File {
    product_configuration: Product,
    events: BTreeMap<String, EventCode>,
    metrics: BTreeMap<String, Metric>,
    #[serde(default)]
    groups: groups::Groups,
    #[serde(default)]
    methodologies: groups::Methodologies,
}

#[derive(Deserialize)]
struct Product {
    product_name: String,
    implementer: String,
    part_num: String,
    num_slots: u32,
}

#[derive(Deserialize)]
struct EventCode {
    code: String,
}

#[derive(Deserialize)]
struct Metric {
    formula: String,
    units: String,
}

/// The metrics of level 1, in the order of [`Example::level1_percent`].
const METRICS: [&str; 4] = [
    "retiring",
    "bad_speculation",
    "frontend_bound",
    "backend_bound",
];
const UNITS: &str = "percent of slots";

const CYCLES: &str = "CPU_CYCLES";
const INSTRUCTIONS: &str = "INST_RETIRED";
const STALLED: &str = "STALL_SLOT";
const STALLED_PARTS: [&str; 2] = ["STALL_SLOT_FRONTEND", "STALL_SLOT_BACKEND"];

/// The counters beside that of the cycles on all of Arm's server cores so far.
const GENERAL_COUNTERS: u32 = 6;

/// Makes a table of the text of a specification. The table lives as long as the process: it is
/// read once, and tables are static.
///
/// # Errors
/// What is missing in the file or not understood, in one sentence.
pub fn table_of_specification(json: &str) -> Result<&'static CpuTable, String> {
    let file: File = serde_json::from_str(json).map_err(|error| error.to_string())?;
    let product = &file.product_configuration;
    if product.num_slots == 0 {
        return Err("num_slots is 0: this core does not tell its slots".to_owned());
    }
    let mut group = Group::new(&file);
    // The cycles lead.
    group.place_of(CYCLES)?;
    let mut formulas = Vec::new();
    let mut fingerprint = Fingerprint::default();
    fingerprint.add(&product.num_slots.to_string());
    for name in METRICS {
        let metric = file
            .metrics
            .get(name)
            .ok_or_else(|| format!("metric `{name}` is missing, so it has no TopDown"))?;
        if metric.units != UNITS {
            return Err(format!(
                "metric `{name}` is in `{}`, not in `{UNITS}`",
                metric.units
            ));
        }
        let formula = Expression::parse(&metric.formula, &mut |event| group.meaning(event))
            .map_err(|problem| format!("formula of `{name}`: {problem}"))?;
        fingerprint.add(&metric.formula);
        formulas.push(formula);
    }
    let has_room = group.general_events() < GENERAL_COUNTERS;
    if has_room && file.events.contains_key(INSTRUCTIONS) {
        group.place_of(INSTRUCTIONS)?;
    }
    if group.events.len() > MAX_EVENTS {
        return Err(format!(
            "level 1 needs {} events, more than {MAX_EVENTS}",
            group.events.len()
        ));
    }
    let find = |name: &str| group.events.iter().copied().find(|e| e.name == name);
    let form = Form {
        formula: leak(format!(
            "{}-{:08x}/1",
            product.product_name.to_lowercase().replace(' ', "-"),
            fingerprint.value
        )),
        cycles: find(CYCLES),
        instructions: find(INSTRUCTIONS),
        events: group.events.clone().leak(),
        split: Box::leak(Box::new(move |counts: &super::Counts| {
            // The cycles lead.
            let slots = counts.slots_per_cycle() * counts.at(0);
            let category = |at: usize| {
                let percent = Expression::value(&formulas[at], counts);
                // 0 divided by 0: nothing was counted.
                let percent = if percent.is_finite() { percent } else { 0.0 };
                percent / 100.0 * slots
            };
            Split {
                slots,
                level1: Level1 {
                    retiring_slots: category(0),
                    bad_speculation_slots: category(1),
                    frontend_bound_slots: category(2),
                    backend_bound_slots: category(3),
                    smt_contention_slots: None,
                },
                level2: None,
            }
        })),
        // No file has one, and none is needed where the formula is not ours.
        example: Example {
            counts: &[],
            level1_percent: [""; 4],
            smt_contention_percent: None,
            level2_percent: None,
        },
    };
    let maker = match number(&product.implementer)? {
        0x41 => Maker::Arm,
        _ => Maker::AnyArm,
    };
    Ok(Box::leak(Box::new(CpuTable {
        name: leak(product.product_name.clone()),
        models: vec![Models {
            maker,
            family: 8,
            models: Numbers::Of(vec![number(&product.part_num)?].leak()),
            steppings: 0..=u32::MAX,
            core: None,
        }]
        .leak(),
        slots_per_cycle: Some(product.num_slots),
        general_counters: GENERAL_COUNTERS,
        metrics: None,
        sources: "a telemetry specification that the user gave",
        level1: Level1Counting::Forms(vec![form].leak()),
        groups: groups::groups_of(&file)?.leak(),
    })))
}

/// The events that the formulas have named so far.
#[derive(Clone)]
struct Group<'a> {
    codes: &'a BTreeMap<String, EventCode>,
    events: Vec<Event>,
}

impl Group<'_> {
    fn new(file: &File) -> Group<'_> {
        Group {
            codes: &file.events,
            events: Vec::new(),
        }
    }

    fn meaning(&mut self, name: &str) -> Result<Expression, String> {
        if name == STALLED {
            let [first, second] = STALLED_PARTS;
            return Ok(Expression::sum_of(
                self.place_of(first)?,
                self.place_of(second)?,
            ));
        }
        self.place_of(name).map(Expression::Event)
    }

    fn place_of(&mut self, name: &str) -> Result<usize, String> {
        if let Some(at) = self.events.iter().position(|event| event.name == name) {
            return Ok(at);
        }
        let code = self
            .codes
            .get(name)
            .ok_or_else(|| format!("event `{name}` has no code"))?;
        self.events.push(Event {
            name: leak(name.to_owned()),
            config: u64::from(number(&code.code)?),
            counter: match name {
                CYCLES => Counter::Fixed,
                _ => Counter::General,
            },
        });
        Ok(self.events.len() - 1)
    }

    fn general_events(&self) -> u32 {
        let is_general = |event: &&Event| event.counter == Counter::General;
        self.events.iter().filter(is_general).count() as u32
    }
}

fn leak(text: String) -> &'static str {
    text.leak()
}

/// A number such as `0x41`.
fn number(text: &str) -> Result<u32, String> {
    text.strip_prefix("0x")
        .and_then(|hex| u32::from_str_radix(hex, 16).ok())
        .ok_or_else(|| format!("`{text}` is no hexadecimal number"))
}

/// Tells formulas apart, so that runs of different ones are not compared: FNV-1a of 32 bits.
struct Fingerprint {
    value: u32,
}

impl Default for Fingerprint {
    fn default() -> Fingerprint {
        Fingerprint { value: 0x811c_9dc5 }
    }
}

impl Fingerprint {
    fn add(&mut self, text: &str) {
        for byte in text.bytes().filter(|byte| *byte != b' ').chain([0]) {
            self.value = (self.value ^ u32::from(byte)).wrapping_mul(0x0100_0193);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cpu::{CoreType, Counts, Identity};

    /// A core of four slots that exists in this test alone.
    const FILE: &str = include_str!("../../tests/data/arm-specification.json");

    #[test]
    fn a_specification_becomes_a_table() {
        let table = table_of_specification(FILE).unwrap();
        assert_eq!(table.name, "Example E1");
        assert_eq!(table.slots_per_cycle, Some(4));
        let form = &table.forms()[0];
        // Without STALL_SLOT, and with the instructions.
        let configs: Vec<u64> = form.events.iter().map(|event| event.config).collect();
        assert_eq!(configs, [0x11, 0x3e, 0x3d, 0x3a, 0x3b, 0x08]);
        assert!(table.general_counters_for(form.events, false).is_enough());
        let counts = [1_000_000, 800_000, 1_200_000, 1_900_000, 2_000_000, 700_000];
        let split = (form.split)(&Counts::new(form.events, counts, 4));
        assert_eq!(split.slots, 4e6);
        let near = |slots: f64, share: f64| assert!((slots - share * 4e6).abs() < 1.0, "{split:?}");
        near(split.level1.retiring_slots, 0.475);
        near(split.level1.bad_speculation_slots, 0.025);
        near(split.level1.frontend_bound_slots, 0.20);
        near(split.level1.backend_bound_slots, 0.30);
    }

    #[test]
    fn nothing_counted_is_nothing_and_not_not_a_number() {
        let form = &table_of_specification(FILE).unwrap().forms()[0];
        let split = (form.split)(&Counts::new(form.events, [0; 6], 4));
        assert_eq!(split.level1, Level1::default());
    }

    #[test]
    fn a_table_is_for_the_core_of_its_file() {
        let table = table_of_specification(FILE).unwrap();
        let core = |vendor, model| {
            table.is_for(&Identity {
                vendor,
                family: 8,
                model,
                stepping: 0x10,
                core: CoreType::Performance,
            })
        };
        assert!(core("0x41", 0xe01));
        assert!(!core("0x41", 0xe02));
        assert!(!core("0xc0", 0xe01));
    }

    #[test]
    fn the_name_of_a_formula_changes_with_the_formula() {
        let name = |json: &str| table_of_specification(json).unwrap().forms()[0].formula;
        let first = name(FILE);
        assert!(
            first.starts_with("example-e1-") && first.ends_with("/1"),
            "{first}"
        );
        assert_eq!(first, name(&FILE.replace("for people", "for others")));
        assert_eq!(
            first,
            name(&FILE.replace("(4 * CPU_CYCLES)", "(4*CPU_CYCLES)"))
        );
        assert_ne!(first, name(&FILE.replace("* 100\"}", "* 99\"}")));
    }

    #[test]
    fn what_is_wrong_with_a_file_is_named() {
        let problem = |from: &str, to: &str| {
            let json = FILE.replace(from, to);
            assert_ne!(json, FILE);
            table_of_specification(&json).unwrap_err()
        };
        for (from, to, expected) in [
            ("\"num_slots\": 4", "\"num_slots\": 0", "num_slots is 0"),
            ("\"num_slots\"", "\"slots\"", "num_slots"),
            (
                "\"retiring\"",
                "\"retired\"",
                "metric `retiring` is missing",
            ),
            ("percent of slots", "percent of cycles", "percent of cycles"),
            ("\"OP_SPEC\"", "\"OP_GUESS\"", "event `OP_SPEC` has no code"),
            ("0x003B", "59", "`59` is no hexadecimal number"),
            ("0xe01", "E1", "`E1`"),
            (
                "(OP_RETIRED / OP_SPEC) * 100",
                "(OP_RETIRED",
                "`)` is missing",
            ),
        ] {
            let problem = problem(from, to);
            assert!(problem.contains(expected), "{problem}");
        }
    }
}
