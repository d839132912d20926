//! Groups of events that explain a category, measured in launches of their own.

use super::{Counts, Event};

/// A group that is measured by itself, since the counters that level 1 leaves are too few for it.
#[derive(Debug)]
pub struct Detail {
    /// The group, as its maker calls it.
    pub name: &'static str,
    /// The events. The first leads the group.
    pub events: &'static [Event],
    /// What is computed of their counts.
    pub metrics: &'static [Metric],
    /// One count for each event: the input of a worked example, which a test recomputes.
    pub example_counts: &'static [u64],
    /// What each metric is for these counts, in percent, to the digits given.
    pub example_percent: &'static [&'static str],
}

/// One number of a [`Detail`].
#[derive(Debug)]
pub struct Metric {
    /// The name, in its maker's spelling.
    pub name: &'static str,
    /// What it is a fraction of.
    pub of: &'static str,
    /// The formula: a fraction, signed and not clamped.
    pub value: fn(&Counts) -> f64,
}
