//! Arm's telemetry specifications: files that describe the events and formulas of a core.
//!
//! Arm publishes one for each of its cores (`data/pmu/cpu` of the telemetry-solution repository,
//! schema 1.0). With such a file, a user can measure a core that the library has no table for: the
//! formulas of the metrics `retiring`, `bad_speculation`, `frontend_bound` and `backend_bound`
//! become a [`DescribedCore`], and so do the metric groups that its decision tree names (`groups`).
//! Formulas are used unchanged, except that STALL_SLOT is replaced by the sum of its two parts,
//! which saves a counter.
//!
//! The benches receive the description as text, so they need not compile this parser.

#[cfg(test)]
mod arm_files;
mod groups;
mod infix;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use serde::Deserialize;
use thiserror::Error;
use topdown_counters::cpu::{Counter, DescribedCore, Event, MAX_EVENTS, Postfix};
use topdown_counters::hardware::give_core;
use topdown_run::category::PerCategory;

/// The environment variable that names an Arm telemetry specification for this machine's CPU. It
/// overrides the library's own table.
pub const SPECIFICATION_VARIABLE: &str = "CARGO_TOPDOWN_ARM_SPECIFICATION";

/// The description of the core that is passed to benches.
static FOR_BENCHES: OnceLock<String> = OnceLock::new();

/// A specification that cannot be used.
#[derive(Debug, Error)]
#[error("could not use the telemetry specification {}: {problem}", path.display())]
pub struct SpecificationError {
    path: PathBuf,
    problem: String,
}

/// Uses the specification named by [`SPECIFICATION_VARIABLE`], in this process and in the benches
/// it launches. Does nothing if the variable is not set.
///
/// # Errors
/// Returns an error if something is missing from the file or not understood.
pub fn load_from_environment() -> Result<(), SpecificationError> {
    let Some(path) = std::env::var_os(SPECIFICATION_VARIABLE) else {
        return Ok(());
    };
    let core = core_of_file(Path::new(&path))?;
    FOR_BENCHES.get_or_init(|| core.to_string());
    give_core(core.into_table());
    Ok(())
}

/// Returns the description to pass to benches, if the user gave a specification.
pub fn for_benches() -> Option<&'static str> {
    FOR_BENCHES.get().map(String::as_str)
}

/// Reads the specification in the file at `path`.
///
/// # Errors
/// Returns an error if something is missing from it or not understood.
pub fn core_of_file(path: &Path) -> Result<DescribedCore, SpecificationError> {
    let problem = |problem| SpecificationError {
        path: path.to_owned(),
        problem,
    };
    let json = std::fs::read_to_string(path).map_err(|error| problem(error.to_string()))?;
    described_core(&json).map_err(problem)
}

/// The parts of a file that are used; the rest is for people.
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
    #[serde(default)]
    sample_events: Vec<String>,
}

const UNITS: &str = "percent of slots";

const CYCLES: &str = "CPU_CYCLES";
const INSTRUCTIONS: &str = "INST_RETIRED";
const STALLED: &str = "STALL_SLOT";
const STALLED_PARTS: [&str; 2] = ["STALL_SLOT_FRONTEND", "STALL_SLOT_BACKEND"];

/// Parses the text of a specification.
///
/// # Errors
/// Returns a one-sentence description of what is missing from the file or not understood.
pub fn described_core(json: &str) -> Result<DescribedCore, String> {
    let file: File = serde_json::from_str(json).map_err(|error| error.to_string())?;
    let product = &file.product_configuration;
    if product.num_slots == 0 {
        return Err("num_slots is 0: this core does not report its slots".to_owned());
    }
    let mut group = Group::new(&file);
    // Cycles lead the group.
    group.locate(CYCLES)?;
    let mut fingerprint = Fingerprint::default();
    fingerprint.add(&product.num_slots.to_string());
    let mut formula_of = |name: &str| -> Result<Postfix, String> {
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
        fingerprint.add(&metric.formula);
        group.formula(name, &metric.formula)
    };
    let categories_percent = PerCategory {
        retiring: formula_of("retiring")?,
        bad_speculation: formula_of("bad_speculation")?,
        frontend_bound: formula_of("frontend_bound")?,
        backend_bound: formula_of("backend_bound")?,
    };
    let has_room = group.general_events() < DescribedCore::GENERAL_COUNTERS;
    if has_room && file.events.contains_key(INSTRUCTIONS) {
        group.locate(INSTRUCTIONS)?;
    }
    Ok(DescribedCore {
        name: in_one_line(&product.product_name)?,
        implementer: number(&product.implementer)?,
        part: number(&product.part_num)?,
        slots_per_cycle: product.num_slots,
        formula: format!(
            "{}-{:08x}/1",
            product.product_name.to_lowercase().replace(' ', "-"),
            fingerprint.value
        ),
        events: group.events,
        categories_percent,
        groups: groups::groups_of(&file)?,
    })
}

/// The events named by the formulas so far.
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

    /// Parses a metric's formula.
    fn formula(&mut self, metric: &str, formula: &str) -> Result<Postfix, String> {
        infix::to_postfix(formula, &mut |event| self.meaning(event))
            .and_then(|postfix| postfix.parse())
            .map_err(|problem| format!("formula of `{metric}`: {problem}"))
    }

    /// Returns what replaces an event's name in a formula.
    fn meaning(&mut self, name: &str) -> Result<String, String> {
        if name == STALLED {
            let [first, second] = STALLED_PARTS;
            let (first, second) = (self.locate(first)?, self.locate(second)?);
            return Ok(format!("#{first} #{second} +"));
        }
        self.locate(name).map(|place| format!("#{place}"))
    }

    fn locate(&mut self, name: &str) -> Result<usize, String> {
        if let Some(at) = self.events.iter().position(|event| event.name == name) {
            return Ok(at);
        }
        let code = self
            .codes
            .get(name)
            .ok_or_else(|| format!("event `{name}` has no code"))?;
        if self.events.len() == MAX_EVENTS {
            return Err(format!("a group needs more than {MAX_EVENTS} events"));
        }
        let counter = match name {
            CYCLES => Counter::Fixed,
            _ => Counter::General,
        };
        let config = u64::from(number(&code.code)?);
        self.events
            .push(Event::new(leak(name.to_owned()), config, counter));
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

/// Returns a name if it fits on one line of a description.
fn in_one_line(name: &str) -> Result<String, String> {
    if name.contains(char::is_control) {
        Err(format!("{name:?} is not a name"))
    } else {
        Ok(name.to_owned())
    }
}

/// Parses a number such as `0x41`.
fn number(text: &str) -> Result<u32, String> {
    text.strip_prefix("0x")
        .and_then(|hex| u32::from_str_radix(hex, 16).ok())
        .ok_or_else(|| format!("`{text}` is not a hexadecimal number"))
}

/// Identifies formulas, so that runs with different ones are not compared: 32-bit FNV-1a.
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
    use topdown_counters::cpu::{Counts, CpuTable};
    use topdown_run::sample::Level1;

    /// A core of four slots that exists only in this test.
    const FILE: &str = include_str!("../tests/data/arm-specification.json");

    fn table_of_specification(json: &str) -> Result<&'static CpuTable, String> {
        described_core(json).map(DescribedCore::into_table)
    }

    #[test]
    fn specification_becomes_a_table() {
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
        near(split.level1.slots.retiring, 0.475);
        near(split.level1.slots.bad_speculation, 0.025);
        near(split.level1.slots.frontend_bound, 0.20);
        near(split.level1.slots.backend_bound, 0.30);
    }

    #[test]
    fn zero_counts_give_zero_not_nan() {
        let form = &table_of_specification(FILE).unwrap().forms()[0];
        let split = (form.split)(&Counts::new(form.events, [0; 6], 4));
        assert_eq!(split.level1, Level1::default());
    }

    #[test]
    fn benches_receive_events_to_count() {
        let core = described_core(FILE).unwrap();
        let told = DescribedCore::from_text(&core.to_string()).unwrap();
        assert_eq!(told.to_string(), core.to_string());
        let (told, table) = (told.into_table(), core.into_table());
        let form = &table.forms()[0];
        let counts = [1_000_000, 800_000, 1_200_000, 1_900_000, 2_000_000, 700_000];
        let split = |table: &CpuTable| {
            let form = &table.forms()[0];
            (form.split)(&Counts::new(form.events, counts, 4))
        };
        assert_eq!(split(told), split(table));
        assert_eq!(told.forms()[0].formula, form.formula);
        assert_eq!(told.forms()[0].events, form.events);
        for group in table.groups {
            assert_eq!(told.group(group.name).unwrap().events, group.events);
        }
    }

    #[test]
    fn invalid_specification_is_refused_by_path() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(&file, "{}").unwrap();
        let problem = core_of_file(file.path()).unwrap_err().to_string();
        assert!(problem.contains("product_configuration"), "{problem}");
        let missing = core_of_file(Path::new("/nowhere/core.json")).unwrap_err();
        let missing = missing.to_string();
        assert!(missing.contains("/nowhere/core.json"), "{missing}");
    }

    #[test]
    fn formula_name_depends_on_formula() {
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
    fn specification_errors_are_named() {
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
            ("0x003B", "59", "`59` is not a hexadecimal number"),
            ("0xe01", "E1", "`E1`"),
            ("Example E1", "Example\\tE1", "is not a name"),
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
