//! Stands for `metric_formula` in benches, which compute no metrics.

use super::{Counts, Event};

#[derive(Clone, Copy)]
pub(crate) struct SameLine {
    pub waiting: Event,
    pub missing: Event,
}

pub(super) struct MetricFormula;

impl MetricFormula {
    pub const fn ratio(_: f64, _: Event, _: Event) -> MetricFormula {
        MetricFormula
    }

    pub const fn slots(_: Event, _: Event) -> MetricFormula {
        MetricFormula
    }

    pub const fn waits(_: Event, _: Event, _: Option<SameLine>) -> MetricFormula {
        MetricFormula
    }

    pub const fn other(_: &'static (dyn Fn(&Counts) -> f64 + Sync)) -> MetricFormula {
        MetricFormula
    }

    pub fn value(&self, _: &Counts, _: Option<f64>) -> Option<f64> {
        None
    }
}
