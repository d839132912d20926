//! Checks the library's tables of Arm cores against Arm's own specifications.

use topdown_counters::cpu::{CoreType, Counts, CpuTable, Event, Identity, table_for};

use super::*;

/// See the README in that directory.
const CORES: &str = include_str!("../tests/data/arm/cores.json");

/// Cycles spent waiting for an interrupt or event. A user-mode thread has next to none, and the
/// tables assume none.
const IDLE_CYCLES: &str = "IMP_WFX_CLOCK_CYCLES";

/// A core's specification and the library's table for it.
struct Core {
    name: String,
    json: String,
    file: File,
    table: &'static CpuTable,
}

fn cores() -> Vec<Core> {
    let cores: Vec<serde_json::Value> = serde_json::from_str(CORES).unwrap();
    cores.iter().map(core).collect()
}

fn core(json: &serde_json::Value) -> Core {
    Core {
        name: json["product_configuration"]["product_name"]
            .as_str()
            .unwrap()
            .to_owned(),
        json: json.to_string(),
        file: serde_json::from_value(json.clone()).unwrap(),
        table: table_of(json),
    }
}

/// Returns the library's table for the core of a file.
fn table_of(json: &serde_json::Value) -> &'static CpuTable {
    let product = &json["product_configuration"];
    let text = |field: &str| product[field].as_str().unwrap();
    let revision = |field: &str| text(field).parse::<u32>().unwrap();
    let table = table_for(&Identity {
        vendor: text("implementer"),
        family: 8,
        model: number(text("part_num")).unwrap(),
        stepping: revision("major_revision") << 4 | revision("minor_revision"),
        core: CoreType::Performance,
    });
    table.unwrap()
}

/// Pseudo-random counts, seeded by event code.
struct Counted {
    seed: u64,
    idle_code: Option<u64>,
}

impl Counted {
    fn new(file: &File, seed: u64) -> Counted {
        let idle = file.events.get(IDLE_CYCLES);
        Counted {
            seed,
            idle_code: idle.map(|event| u64::from(number(&event.code).unwrap())),
        }
    }

    fn count(&self, event: &Event) -> u64 {
        if self.idle_code == Some(event.config) {
            0
        } else {
            fastrand::Rng::with_seed(self.seed << 32 | event.config).u64(1_000..1_000_000)
        }
    }

    fn counts(&self, events: &'static [Event], slots_per_cycle: u32) -> Counts {
        let counts = events.iter().map(|event| self.count(event));
        Counts::new(events, counts, slots_per_cycle)
    }
}

fn assert_near(value: f64, expected: f64, what: &str) {
    let error = (value - expected).abs();
    assert!(
        error <= 1e-9 * expected.abs().max(1.0),
        "{what}: {value} and not {expected}"
    );
}

#[test]
fn level_1_of_tables_matches_specification() {
    let mut compared = 0;
    for core in cores() {
        let Some(ours) = core.table.forms().first() else {
            assert!(!core.file.metrics.contains_key("retiring"), "{}", core.name);
            continue;
        };
        let theirs = described_core(&core.json).unwrap().into_table();
        let width = theirs.slots_per_cycle.unwrap();
        assert_eq!(core.table.slots_per_cycle, Some(width), "{}", core.name);
        let form = &theirs.forms()[0];
        for seed in 0..100 {
            let counted = Counted::new(&core.file, seed);
            let split = (ours.split)(&counted.counts(ours.events, width));
            let expected = (form.split)(&counted.counts(form.events, width));
            assert_near(split.slots, expected.slots, &core.name);
            let (level1, expected) = (split.level1, expected.level1);
            for (slots, expected) in [
                (level1.slots.retiring, expected.slots.retiring),
                (level1.slots.bad_speculation, expected.slots.bad_speculation),
                (level1.slots.frontend_bound, expected.slots.frontend_bound),
                (level1.slots.backend_bound, expected.slots.backend_bound),
            ] {
                assert_near(slots, expected, &core.name);
            }
        }
        compared += 1;
    }
    assert_eq!(compared, 10);
}

/// The events that Arm's files name for sampling. See the README in that directory.
const SAMPLE_EVENTS: &str = include_str!("../tests/data/arm/sample-events.json");

/// Names of cores, metrics and the events that files name for them and groups do not count.
const OTHERWISE: [(&[&str], &str, &[&str]); 3] = [
    (
        &["Neoverse N3", "C1-Pro", "C1-Premium", "C1-Ultra"],
        "branch_percentage",
        &["PC_WRITE_SPEC"],
    ),
    (
        &["C1-Nano"],
        "l1d_cache_mpki",
        &["L1D_CACHE_REFILL_RD", "L1D_CACHE_REFILL_WR"],
    ),
    (
        &["C1-Nano"],
        "l1d_cache_miss_ratio",
        &["L1D_CACHE_REFILL_RD", "L1D_CACHE_REFILL_WR"],
    ),
];

#[test]
fn metrics_sample_events_of_the_specification() {
    let cores: Vec<serde_json::Value> = serde_json::from_str(SAMPLE_EVENTS).unwrap();
    let mut compared = 0;
    for core in &cores {
        let (table, name) = (
            table_of(core),
            &core["product_configuration"]["product_name"],
        );
        let named = |metric: &str| -> Option<Vec<&str>> {
            let events = core["sample_events"].get(metric)?.as_array()?;
            Some(events.iter().map(|event| event.as_str().unwrap()).collect())
        };
        for metric in table.groups.iter().flat_map(|group| group.metrics) {
            // Some files lack metrics that others have, or call them otherwise.
            let Some(named) = named(metric.name) else {
                continue;
            };
            let is_otherwise = OTHERWISE.iter().any(|(cores, known, events)| {
                cores.iter().any(|core| name == core) && *known == metric.name && *events == named
            });
            let sampled = metric
                .sample_events
                .iter()
                .flatten()
                .map(|event| event.name);
            let (mut sampled, mut expected) = (sampled.collect::<Vec<_>>(), named);
            sampled.sort_unstable();
            expected.sort_unstable();
            assert!(
                sampled == expected || is_otherwise,
                "{name} {}",
                metric.name
            );
            compared += 1;
        }
        // All events that decide level 1 interrupt: STALL_SLOT is the sum of two of them.
        for form in table.forms() {
            for metric in [
                "retiring",
                "bad_speculation",
                "frontend_bound",
                "backend_bound",
            ] {
                for event in named(metric).unwrap() {
                    let parts: &[&str] = match event {
                        STALLED => &STALLED_PARTS,
                        _ => &[event],
                    };
                    let is_counted =
                        |part: &&str| form.events.iter().any(|event| event.name == *part);
                    assert!(parts.iter().all(is_counted), "{name} {event}");
                }
            }
        }
    }
    assert!(compared > 250, "{compared}");
}
