//! The columns of a benchmark's samples.

use super::json::Json;
use crate::activity::Activity;
use crate::category::PerCategory;
use crate::event::Event;
use crate::sample::{Level1, MAX_GROUP_EVENTS, Sample};

/// The name of a quantity, and how to get it from a row.
type Column<T, N> = (&'static str, fn(&T) -> N);

/// Writes one column per quantity. A quantity missing in any sample is left out for all of them,
/// since half a column could not be compared.
pub(super) fn samples(json: &mut Json<'_>, samples: &[Sample]) {
    counts(json, "windows", samples, &|sample| sample.windows);
    counts(json, "wall_ns", samples, &|sample| sample.wall_ns);
    known_counts(json, "slots", samples, &|sample| sample.slots);
    if are_all(samples, &|sample| sample.level1.is_some()) {
        json.open_field("level1", "{");
        level1(json, samples);
        json.close("}");
    }
    if are_all(samples, &|sample| sample.level2.is_some()) {
        json.open_field("level2", "{");
        level2(json, samples);
        json.close("}");
    }
    known_counts(json, "instructions", samples, &|sample| sample.instructions);
    known_counts(json, "cycles", samples, &|sample| sample.cycles);
    let is_counted = |event| are_all(samples, &|sample| sample.events.get(event).is_some());
    if Event::ALL.into_iter().any(is_counted) {
        json.open_field("events", "{");
        for event in Event::ALL {
            known_counts(json, event.name(), samples, &|sample| {
                sample.events.get(event)
            });
        }
        json.close("}");
    }
    if are_all(samples, &|sample| sample.group_counts.is_some()) {
        json.open_field("group_counts", "[");
        group_counts(json, samples);
        json.close("]");
    }
    let is_watched = |sample: &Sample| sample.activity.is_some_and(|activity| activity.windows > 0);
    if samples.iter().any(is_watched) {
        json.open_field("activity", "{");
        activity(json, samples);
        json.close("}");
    }
    numbers(json, "resolution_slots", samples, &|sample| {
        sample.resolution_slots
    });
    counts(json, "flags", samples, &|sample| sample.flags.bits().into());
}

fn are_all(samples: &[Sample], is_so: &dyn Fn(&Sample) -> bool) -> bool {
    for sample in samples {
        if !is_so(sample) {
            return false;
        }
    }
    !samples.is_empty()
}

#[inline(never)]
fn counts(json: &mut Json<'_>, name: &str, samples: &[Sample], quantity: &dyn Fn(&Sample) -> u64) {
    json.open_field(name, "[");
    for sample in samples {
        json.value(&quantity(sample));
    }
    json.close("]");
}

fn known_counts(
    json: &mut Json<'_>,
    name: &str,
    samples: &[Sample],
    quantity: &dyn Fn(&Sample) -> Option<u64>,
) {
    if are_all(samples, &|sample| quantity(sample).is_some()) {
        counts(json, name, samples, &|sample| quantity(sample).unwrap_or(0));
    }
}

#[inline(never)]
fn numbers(json: &mut Json<'_>, name: &str, samples: &[Sample], quantity: &dyn Fn(&Sample) -> f64) {
    json.open_field(name, "[");
    for sample in samples {
        json.number(quantity(sample));
    }
    json.close("]");
}

fn level1(json: &mut Json<'_>, samples: &[Sample]) {
    let columns: [Column<Level1, f64>; 4] = [
        ("retiring_slots", |level| level.slots.retiring),
        ("bad_speculation_slots", |level| level.slots.bad_speculation),
        ("frontend_bound_slots", |level| level.slots.frontend_bound),
        ("backend_bound_slots", |level| level.slots.backend_bound),
    ];
    for (name, column) in columns {
        numbers(json, name, samples, &|sample| {
            sample.level1.as_ref().map_or(0.0, column)
        });
    }
    let smt_contention_slots = |sample: &Sample| sample.level1?.smt_contention_slots;
    if are_all(samples, &|sample| smt_contention_slots(sample).is_some()) {
        numbers(json, "smt_contention_slots", samples, &|sample| {
            smt_contention_slots(sample).unwrap_or(0.0)
        });
    }
}

fn level2(json: &mut Json<'_>, samples: &[Sample]) {
    let columns: [Column<PerCategory<f64>, f64>; 4] = [
        ("heavy_operations_slots", |level| level.retiring),
        ("branch_mispredicts_slots", |level| level.bad_speculation),
        ("fetch_latency_slots", |level| level.frontend_bound),
        ("memory_bound_slots", |level| level.backend_bound),
    ];
    for (name, column) in columns {
        numbers(json, name, samples, &|sample| {
            sample.level2.as_ref().map_or(0.0, column)
        });
    }
}

/// Writes a column per event of the group, to which all samples belong.
fn group_counts(json: &mut Json<'_>, samples: &[Sample]) {
    let count = |sample: &Sample, event: usize| {
        let group = sample.group_counts.as_ref()?;
        group.as_slice().get(event).copied()
    };
    for event in 0..MAX_GROUP_EVENTS {
        if are_all(samples, &|sample| count(sample, event).is_none()) {
            return;
        }
        json.open("[");
        for sample in samples {
            json.value(&count(sample, event).unwrap_or(0));
        }
        json.close("]");
    }
}

/// Writes 0 for samples that were not watched.
fn activity(json: &mut Json<'_>, samples: &[Sample]) {
    let columns: [Column<Activity, u64>; 5] = [
        ("windows", |activity| activity.windows),
        ("wall_ns", |activity| activity.wall_ns),
        ("own_ns", |activity| activity.own_ns),
        ("others_ns", |activity| activity.others_ns),
        ("blocked", |activity| activity.blocked),
    ];
    for (name, column) in columns {
        counts(json, name, samples, &|sample| {
            sample.activity.as_ref().map_or(0, column)
        });
    }
}
