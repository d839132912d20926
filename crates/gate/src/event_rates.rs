//! Rates of counted events, per iteration and per thousand instructions.

use std::collections::BTreeMap;

use serde::Serialize;
use topdown_run::event::Event;

use crate::allocated::Allocated;
use crate::summary::Summary;

/// The events of one benchmark, as means over its launches. What was not counted is absent.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct EventRates {
    /// Retired instructions per iteration.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instructions: Option<f64>,
    /// Instructions per cycle.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instructions_per_cycle: Option<f64>,
    /// The fraction (0 to 1) of the executed instructions whose form the model knows; only from the
    /// model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub coverage_fraction: Option<f64>,
    /// Other counts, by their names in run files.
    #[cfg_attr(feature = "schema", schemars(extend("propertyNames" = Event::names_schema())))]
    pub events: BTreeMap<Event, EventRate>,
}

/// Frequency of an event.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct EventRate {
    /// Per iteration; in bytes if bytes are counted.
    pub per_iteration: f64,
    /// Per thousand retired instructions; absent if those were not counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub per_thousand_instructions: Option<f64>,
}

impl EventRates {
    /// Returns what an iteration allocates; `None` if unknown.
    pub fn allocated(&self) -> Option<Allocated> {
        let events = self.events.iter();
        Allocated::from_events(
            &events
                .map(|(event, rate)| (*event, rate.per_iteration))
                .collect(),
        )
    }

    /// Returns `None` if nothing was counted besides slots.
    pub fn new(summary: &Summary) -> Option<EventRates> {
        let instructions = summary.instructions;
        if instructions.is_none() && summary.events.is_empty() {
            return None;
        }
        let thousands = instructions
            .filter(|count| *count > 0.0)
            .map(|count| count / 1000.0);
        let rate = |count| EventRate {
            per_iteration: count,
            per_thousand_instructions: thousands.map(|thousands| count / thousands),
        };
        let events = summary.events.iter();
        Some(EventRates {
            instructions,
            instructions_per_cycle: summary.instructions_per_cycle,
            coverage_fraction: summary.coverage_fraction(),
            events: events.map(|(event, count)| (event, rate(count))).collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::{Planted, benchmark, timed};
    use topdown_run::event::Events;
    use topdown_run::run_file::Benchmark;

    fn rates(benchmark: &Benchmark) -> Option<EventRates> {
        EventRates::new(&Summary::new(benchmark).unwrap())
    }

    #[test]
    fn events_have_iteration_and_instruction_rates() {
        let mut modelled = benchmark("a", Planted::default());
        for launch in modelled.slots_launches_mut() {
            launch.instructions = Some(500.0);
            launch.events = Events::NONE
                .with(Event::L2Misses, 4.0)
                .with(Event::UnknownInstructions, 5.0)
                .into();
        }
        let rates = rates(&modelled).unwrap();
        assert_eq!(rates.instructions, Some(500.0));
        assert_eq!(rates.coverage_fraction, Some(0.99));
        let misses = rates.events[&Event::L2Misses];
        assert_eq!(misses.per_iteration, 4.0);
        assert_eq!(misses.per_thousand_instructions, Some(8.0));
        assert!(!rates.events.contains_key(&Event::L3Misses));
    }

    #[test]
    fn missing_instructions_leave_no_rate() {
        let mut counted = benchmark("a", Planted::default());
        for launch in counted.slots_launches_mut() {
            launch.instructions = None;
            launch.events = Events::NONE.with(Event::Branches, 7.0).into();
        }
        let rates = rates(&counted).unwrap();
        assert_eq!(rates.events[&Event::Branches].per_iteration, 7.0);
        let per_thousand = rates.events[&Event::Branches].per_thousand_instructions;
        assert_eq!((per_thousand, rates.coverage_fraction), (None, None));
    }

    #[test]
    fn clock_counts_nothing() {
        assert_eq!(rates(&timed("a", Planted::default())), None);
    }
}
