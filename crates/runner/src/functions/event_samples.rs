//! Functions by the PMU samples of a metric group, whose events interrupt separately.

use std::collections::HashMap;

use topdown_explain::{EventFunctions, GroupFunctions, SampledFunction};

use super::group_event::GroupEvent;
use super::samples::SampledFunctions;
use super::slots::FunctionKey;

/// Returns the functions in which the events of a group interrupted, summed up over its launches.
/// `None` if no event has a period of its own.
pub fn group_functions(launches: &[&SampledFunctions]) -> Option<GroupFunctions> {
    let mut events = Vec::new();
    for (at, event) in launches.first()?.events.iter().enumerate() {
        let is_it = |known: &GroupEvent| known.name == event.name && known.period > 0;
        if !launches
            .iter()
            .all(|launch| launch.events.get(at).is_some_and(is_it))
        {
            continue;
        }
        let counts = launches.iter().flat_map(|launch| {
            let period = launch.events[at].period;
            let own = launch.own.iter();
            own.map(move |(key, own)| (key, own.count_of(at), period))
        });
        events.push((event.name.clone(), event_of(counts)));
    }
    let paces = launches.iter().flat_map(|launch| launch.sample_counts());
    (!events.is_empty()).then(|| GroupFunctions {
        paced: event_of(paces.map(|(key, hits)| (key, hits, 1))),
        events,
    })
}

/// Ranks the functions by the counts of one event.
fn event_of<'a>(counts: impl Iterator<Item = (&'a FunctionKey, u64, u64)>) -> EventFunctions {
    let mut sums: HashMap<&FunctionKey, u64> = HashMap::new();
    let mut hits = 0_u64;
    for (key, count, period) in counts {
        // Saturating: a bench can write anything.
        let sum = sums.entry(key).or_default();
        *sum = sum.saturating_add(count);
        hits = hits.saturating_add(count / period);
    }
    let all: f64 = sums.values().map(|count| *count as f64).sum();
    let mut sums: Vec<(&FunctionKey, u64)> = sums.into_iter().filter(|value| value.1 > 0).collect();
    sums.sort_by(|(a, of_a), (b, of_b)| of_b.cmp(of_a).then_with(|| a.cmp(b)));
    let functions = sums.into_iter().map(|(key, count)| SampledFunction {
        name: key.name.clone(),
        module: key.module.clone(),
        share: count as f64 / all,
    });
    EventFunctions {
        hits,
        functions: functions.collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::functions::{Symbols, attribute_samples};
    use std::path::Path;
    use topdown_run::category::PerCategory;
    use topdown_run::code_samples::{CodeSamples, EventAddress, EventSamples, SampledAddress};

    fn launch(events: [&str; 2], periods: [u64; 2]) -> SampledFunctions {
        let hit = |(module, hits)| SampledAddress {
            module,
            offset: 0x10,
            after: None,
            hits,
            instructions: 0,
            slots: 0,
            level1_slots: PerCategory::default(),
            level2_slots: PerCategory::default(),
        };
        let own = |module, hits, counts: [u64; 2]| EventAddress {
            module,
            offset: 0x10,
            hits,
            counts: counts.to_vec(),
        };
        let modules = ["/nowhere/a", "/nowhere/b", "/nowhere/c"];
        let hits = CodeSamples {
            // Code without names: each file is one function.
            modules: modules.map(str::to_owned).to_vec(),
            places: [(0, 1), (2, 4)].map(hit).to_vec(),
            own: Some(EventSamples {
                events: events.map(str::to_owned).to_vec(),
                periods: periods.to_vec(),
                places: vec![
                    own(0, 2, [700, 2 * periods[1]]),
                    own(1, 6, [100, 6 * periods[1]]),
                    own(2, 0, [200, 0]),
                ],
            }),
            ..CodeSamples::default()
        };
        let counted = topdown_gate::scenario::benchmark("b", Default::default());
        let symbols = &mut Symbols::new(Path::new("/nowhere/bench"));
        attribute_samples(&hits, symbols, counted.provenance())
    }

    #[test]
    fn event_functions_need_a_period() {
        let one = launch(["CPU_CYCLES", "STALL_BACKEND"], [0, 331]);
        let found = group_functions(&[&one, &one]).unwrap();
        let shares = |event: &EventFunctions| -> Vec<(String, f64)> {
            let functions = event.functions.iter();
            let module = |function: &SampledFunction| function.module.clone().unwrap();
            functions
                .map(|function| (module(function), function.share))
                .collect()
        };
        let [(event, stalls)] = &found.events[..] else {
            panic!("{found:?}")
        };
        assert_eq!((event.as_str(), stalls.hits), ("STALL_BACKEND", 16));
        let expected = [("b".to_owned(), 0.75), ("a".to_owned(), 0.25)];
        assert_eq!(shares(stalls), expected);
        assert_eq!(found.paced.hits, 10);
        let expected = [("c".to_owned(), 0.8), ("a".to_owned(), 0.2)];
        assert_eq!(shares(&found.paced), expected);
    }

    #[test]
    fn launches_with_different_events_are_not_summed() {
        let one = launch(["CPU_CYCLES", "STALL_BACKEND"], [0, 331]);
        let other = launch(["CPU_CYCLES", "STALL_FRONTEND"], [0, 331]);
        assert_eq!(group_functions(&[&one, &other]), None);
        assert_eq!(group_functions(&[]), None);
    }
}
