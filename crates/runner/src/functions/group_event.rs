//! An event of a metric group, with its sampling period.

use topdown_run::code_samples::CodeSamples;

#[derive(Clone, Debug, PartialEq)]
pub(super) struct GroupEvent {
    pub name: String,
    /// Counts between interrupts; 0 if it has no period of its own.
    pub period: u64,
}

/// Returns the events of the group that was sampled.
pub(super) fn events_of(hits: &CodeSamples) -> Vec<GroupEvent> {
    let own = hits.own.iter();
    let events = own.flat_map(|own| own.events.iter().zip(&own.periods));
    let events = events.map(|(name, period)| GroupEvent {
        name: name.clone(),
        period: *period,
    });
    events.collect()
}
