//! Choice of the cache level that the advice is about.

use topdown_counters::cpu::Subject;

use super::group_sentences::{READ_BYTES, SubjectMetric, rows, shown};
use crate::MeasuredGroup;

const LINE_BYTES: f64 = 64.0;

/// Where the misses of a cache are served, compared with those of the other levels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Served {
    /// Mostly by the next level: this is the level to look at.
    Here,
    /// So many go on that a level further away costs more.
    Further,
    /// Nearly all that miss before this level are served by it.
    Before,
}

/// A level is the one to look at from this fraction of the misses of the level before it: an access
/// to it takes about ten times as long. Walks for fewer misses than that are those of accesses in
/// sequence, of which one in 64 begins a page.
const DEEPER_FRACTION: f64 = 0.1;

pub fn served(measured: &MeasuredGroup, rate: f64, all: &[MeasuredGroup]) -> Served {
    let subject = measured.group.subject;
    let is_before = |other: &&MeasuredGroup| comes_before(other.group.subject, subject);
    let mut before = all.iter().filter(is_before);
    if before.any(|other| rate < DEEPER_FRACTION * rate_of(other)) {
        return Served::Before;
    }
    let is_cause = |other: &MeasuredGroup| {
        let mut rows = rows().filter(|row| row.subject == other.group.subject);
        rows.any(|row| {
            let value = shown(other, row.shown_by).filter(|(_, value)| row.limit.holds(*value));
            let least = match row.shown_by {
                SubjectMetric::Misses => DEEPER_FRACTION * rate,
                SubjectMetric::Named(_) | SubjectMetric::LargestPart => 0.0,
            };
            value.is_some_and(|(_, value)| value >= least)
        })
    };
    let beyond = |other: &&MeasuredGroup| {
        level_of(subject).is_some() && level_of(other.group.subject) > level_of(subject)
    };
    if all.iter().filter(beyond).any(is_cause) {
        Served::Further
    } else {
        Served::Here
    }
}

/// Returns how many lines per 1000 instructions the cache did not have. What a prefetcher fetched
/// in time did not miss; memory was read for it all the same.
fn rate_of(measured: &MeasuredGroup) -> f64 {
    let value = |by| shown(measured, by).map_or(0.0, |(_, value)| value);
    let fetched = 1000.0 * value(SubjectMetric::Named(READ_BYTES)) / LINE_BYTES;
    value(SubjectMetric::Misses).max(fetched)
}

/// Returns whether what misses in `first` may also miss in `second`.
fn comes_before(first: Subject, second: Subject) -> bool {
    match (first, second) {
        (Subject::DataCache | Subject::LastLevelCache, Subject::DataTlb) => true,
        (Subject::InstructionCache, Subject::InstructionTlb) => true,
        _ => level_of(first).is_some() && level_of(first) < level_of(second),
    }
}

/// Returns how far a cache is from the core.
fn level_of(subject: Subject) -> Option<u32> {
    match subject {
        Subject::DataCache | Subject::InstructionCache => Some(1),
        Subject::L2Cache => Some(2),
        Subject::LastLevelCache => Some(3),
        _ => None,
    }
}
