//! Formulas of metrics, for programs. Benches only count the events.

use super::{Counts, Event};

/// The loads that waited for a line which another load had missed already.
#[derive(Clone, Copy)]
pub(crate) struct SameLine {
    pub waiting: Event,
    pub missing: Event,
}

#[derive(Clone, Copy)]
pub(super) enum MetricFormula {
    /// The scale times one event divided by another.
    Ratio(f64, Event, Event),
    /// An event that counts slots, as a percentage of those of the cycles.
    Slots(Event, Event),
    /// The percentage of the cycles in which an event holds up retirement; if it is a load beyond
    /// the first-level cache, also those loads that wait for the same cache line, half as long on
    /// average.
    Waits {
        event: Event,
        cycles: Event,
        same_line: Option<SameLine>,
    },
    /// Anything else; in the unit of the metric.
    Other(&'static (dyn Fn(&Counts) -> f64 + Sync)),
}

impl MetricFormula {
    pub const fn ratio(scale: f64, event: Event, per: Event) -> MetricFormula {
        MetricFormula::Ratio(scale, event, per)
    }

    pub const fn slots(event: Event, cycles: Event) -> MetricFormula {
        MetricFormula::Slots(event, cycles)
    }

    pub const fn waits(event: Event, cycles: Event, same_line: Option<SameLine>) -> MetricFormula {
        MetricFormula::Waits {
            event,
            cycles,
            same_line,
        }
    }

    pub const fn other(formula: &'static (dyn Fn(&Counts) -> f64 + Sync)) -> MetricFormula {
        MetricFormula::Other(formula)
    }

    pub fn value(&self, counts: &Counts, latency_cycles: Option<f64>) -> Option<f64> {
        let value = match *self {
            MetricFormula::Ratio(scale, event, per) => scale * counts[event] / counts[per],
            MetricFormula::Slots(event, cycles) => {
                100.0 * counts[event] / (counts.slots_per_cycle() * counts[cycles])
            }
            MetricFormula::Waits {
                event,
                cycles,
                same_line,
            } => {
                let more = same_line.map_or(0.0, |same_line| {
                    match counts[same_line.waiting] {
                        // Where nothing missed, nothing waited.
                        0.0 => 0.0,
                        waiting => waiting / counts[same_line.missing] / 2.0,
                    }
                });
                100.0 * counts[event] * latency_cycles? * (1.0 + more) / counts[cycles]
            }
            MetricFormula::Other(formula) => formula(counts),
        };
        value.is_finite().then_some(value)
    }
}
