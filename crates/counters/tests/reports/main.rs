//! Reports of physical machines (`cargo topdown doctor --report`), which prove their tables:
//! `cargo xtask accept-report` adds them here.
//!
//! A report proves a table if the categories of its loops stand out, and if the formula makes the
//! same shares of the kernel's counts as the window has. `accept-report` prints the lines with
//! [`FAULT`].

use std::fs;
use std::path::Path;

use serde::Deserialize;
use topdown_counters::cpu::{CoreType, Counts, CpuTable, Form, Identity, table_for};
use topdown_run::machine::Machine;

mod made_up;

#[derive(Deserialize)]
struct Report {
    machine: Machine,
    table: String,
    categories: Vec<Attempt>,
}

/// A kind of counters.
#[derive(Deserialize)]
struct Attempt {
    counters: String,
    #[serde(default)]
    provenance: Provenance,
    loops: Vec<Loop>,
}

#[derive(Default, Deserialize)]
struct Provenance {
    core_type: Option<String>,
    formula: String,
    slots_per_cycle: Option<u32>,
}

#[derive(Deserialize)]
struct Loop {
    /// The category that should stand out, and the loop.
    name: String,
    slots: Option<u64>,
    cycles: Option<u64>,
    level1: Option<Shares>,
    #[serde(default)]
    resolution: f64,
    flags: Vec<String>,
    counts: std::collections::BTreeMap<String, u64>,
}

#[derive(Clone, Copy, Deserialize)]
struct Shares {
    retiring: f64,
    bad_speculation: f64,
    frontend_bound: f64,
    backend_bound: f64,
}

impl Shares {
    fn in_order(self) -> [f64; 4] {
        [
            self.retiring,
            self.bad_speculation,
            self.frontend_bound,
            self.backend_bound,
        ]
    }
}

/// What a line about a report begins with.
const FAULT: &str = "fault: ";
/// By how much the shares of two passes of a loop, or of two kinds of counters, may differ.
const SAME: f64 = 0.05;
/// By how much the share of a loop's own category must exceed that of other loops.
const STANDS_OUT: f64 = 0.05;
/// By how much slots may differ from cycles times width.
const SAME_SLOTS: f64 = 0.03;

/// The position in [`Shares::in_order`] of the category that a loop is named after.
fn own_category(name: &str) -> usize {
    match name.split('/').next() {
        Some("retiring") => 0,
        Some("bad_speculation") => 1,
        Some("frontend_bound") => 2,
        _ => 3,
    }
}

fn table_of(report: &Report, core: Option<&str>) -> Option<&'static CpuTable> {
    table_for(&Identity {
        vendor: &report.machine.vendor,
        family: report.machine.family,
        model: report.machine.model,
        stepping: report.machine.stepping,
        core: CoreType::from_pmu(core.unwrap_or("cpu")),
    })
}

/// Returns what is wrong with a report.
fn faults(report: &Report) -> Vec<String> {
    let mut faults = Vec::new();
    let mut counted = report
        .categories
        .iter()
        .filter(|kind| !kind.loops.is_empty());
    if counted.clone().count() == 0 {
        faults.push("nothing was counted".to_owned());
    }
    for kind in counted.clone() {
        let table = table_of(report, kind.provenance.core_type.as_deref());
        let Some(table) = table.filter(|table| table.name == report.table) else {
            faults.push(format!("{}: not the table of this machine", report.table));
            continue;
        };
        let found = faults_of_kind(kind, table);
        faults.extend(
            found
                .into_iter()
                .map(|fault| format!("{}: {fault}", kind.counters)),
        );
    }
    if let Some(first) = counted.next() {
        for other in counted {
            for (a, b) in first.loops.iter().zip(&other.loops) {
                if !is_same(a, b.level1, b.resolution) {
                    let (one, two) = (&first.counters, &other.counters);
                    faults.push(format!("{}: {one} and {two} disagree", a.name));
                }
            }
        }
    }
    faults
}

fn faults_of_kind(kind: &Attempt, table: &CpuTable) -> Vec<String> {
    let mut faults = Vec::new();
    let mut shares = Vec::new();
    let width = kind.provenance.slots_per_cycle.or(table.slots_per_cycle);
    for counted in &kind.loops {
        let name = &counted.name;
        let (Some(slots), Some(level1)) = (counted.slots, counted.level1) else {
            faults.push(format!("{name}: no slots"));
            continue;
        };
        if !counted.flags.is_empty() {
            faults.push(format!("{name}: {}", counted.flags.join(", ")));
        }
        shares.push((own_category(name), name, level1.in_order()));
        if let (Some(cycles), Some(width)) = (counted.cycles, width) {
            let ratio = slots as f64 / (cycles as f64 * f64::from(width));
            if (ratio - 1.0).abs() > SAME_SLOTS {
                faults.push(format!("{name}: {ratio:.3} times the slots of its cycles"));
            }
        }
        let forms = table.forms().iter();
        for form in forms.filter(|form| form.formula == kind.provenance.formula) {
            let Some(computed) = computed(form, counted, width.unwrap_or(0)) else {
                continue;
            };
            if !is_same(counted, Some(computed), 0.0) {
                let found = computed.in_order().map(|share| (share * 100.0).round());
                faults.push(format!("{name}: the kernel's counts give {found:?} %"));
            }
        }
    }
    let mut pairs = shares.iter().zip(shares.iter().skip(1));
    if pairs.all(|((.., one), (.., other))| is_close(*one, *other, SAME)) {
        faults.push("all loops have the same shares, as on an emulated PMU".to_owned());
        return faults;
    }
    for (own, name, of_loop) in &shares {
        let others = shares.iter().filter(|(category, _, other)| {
            category != own && of_loop[*own] < other[*own] + STANDS_OUT
        });
        let others: Vec<&str> = others.map(|(_, other, _)| other.as_str()).collect();
        if !others.is_empty() {
            let others = others.join(", ");
            faults.push(format!("{name}: does not stand out beside {others}"));
        }
    }
    faults
}

/// Returns the shares by a formula, if the kernel counted all of its events.
fn computed(form: &Form, counted: &Loop, width: u32) -> Option<Shares> {
    let counts = form
        .events
        .iter()
        .map(|event| counted.counts.get(event.name));
    let counts: Option<Vec<u64>> = counts.map(|count| count.copied()).collect();
    let split = (form.split)(&Counts::new(form.events, counts?, width));
    let level1 = split.level1.slots;
    Some(Shares {
        retiring: level1.retiring / split.slots,
        bad_speculation: level1.bad_speculation / split.slots,
        frontend_bound: level1.frontend_bound / split.slots,
        backend_bound: level1.backend_bound / split.slots,
    })
}

fn is_same(counted: &Loop, other: Option<Shares>, resolution: f64) -> bool {
    let (Some(one), Some(other)) = (counted.level1, other) else {
        return true;
    };
    let limit = SAME + counted.resolution + resolution;
    is_close(one.in_order(), other.in_order(), limit)
}

fn is_close(one: [f64; 4], other: [f64; 4], limit: f64) -> bool {
    let mut both = one.into_iter().zip(other);
    both.all(|(one, other)| (one - other).abs() <= limit)
}

#[test]
fn kept_reports_prove_their_tables() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/reports");
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path
            .extension()
            .is_some_and(|extension| extension == "json")
        {
            let text = fs::read_to_string(&path).unwrap();
            let report: Report = serde_json::from_str(&text).unwrap();
            let faults = faults(&report);
            for fault in &faults {
                println!("{FAULT}{fault}");
            }
            assert!(faults.is_empty(), "{}", path.display());
        }
    }
}
