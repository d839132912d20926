//! An explanation by metric groups, for programs.

use std::io::{self, Write};

use criterion_topdown::cpu::{Category, Node};
use serde_json::{Value, json};

use super::advice::advice;
use crate::explained::{Explained, MeasuredGroup};
use crate::summary::Shares;

/// The version of this form.
const SCHEMA_VERSION: u32 = 1;

/// Writes `explained` as one JSON object and a line end.
///
/// # Errors
/// When `out` does.
pub fn write(out: &mut impl Write, explained: &Explained) -> io::Result<()> {
    let value = json!({
        "schema_version": SCHEMA_VERSION,
        "benchmark": explained.id,
        "machine": explained.machine,
        "provenance": explained.provenance,
        "slots": explained.summary.slots.map(|slots| slots.mean),
        "instructions_per_cycle": explained.summary.instructions_per_cycle,
        "shares": explained.shares.as_ref().map(shares),
        "explained": Node::Category(explained.category).name(),
        "groups": explained
            .groups
            .iter()
            .map(|measured| group(measured, explained.category))
            .collect::<Vec<Value>>(),
    });
    serde_json::to_writer_pretty(&mut *out, &value)?;
    out.write_all(b"\n")
}

fn shares(shares: &Shares) -> Value {
    let share = |category: Category| shares.level1[category as usize];
    json!({
        "retiring": share(Category::Retiring),
        "bad_speculation": share(Category::BadSpeculation),
        "frontend_bound": share(Category::FrontendBound),
        "backend_bound": share(Category::BackendBound),
        "smt_contention": shares.smt_contention,
        "heavy_operations": shares.level2.map(|parts| parts[0]),
        "branch_mispredict": shares.level2.map(|parts| parts[1]),
        "fetch_latency": shares.level2.map(|parts| parts[2]),
        "memory_bound": shares.level2.map(|parts| parts[3]),
    })
}

fn group(measured: &MeasuredGroup, category: Category) -> Value {
    let metrics: Vec<Value> = measured
        .metrics()
        .map(|(metric, value)| json!({ "name": metric.name, "value": value, "unit": metric.unit }))
        .collect();
    json!({
        "name": measured.group.name,
        "node": measured.group.node_in(category).map(Node::name),
        "metrics": metrics,
        "advice": advice(measured.group.subject),
        "refused": measured.values.as_ref().err().map(ToString::to_string),
    })
}
