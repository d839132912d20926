//! Allocations of an iteration: a count of calls, so without noise.

use serde::{Deserialize, Serialize};
use topdown_run::event::{Event, Events};
use topdown_run::run_file::Benchmark;

/// What an iteration asks the allocator for, reallocations included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Allocated {
    /// Number of allocations.
    pub times: f64,
    /// For how many bytes in total.
    pub bytes: f64,
}

/// Numbers that are not whole are of growth that few iterations pay for, and depend on which
/// iterations were measured.
const MIN_GROWTH: f64 = 0.01;

impl Allocated {
    /// Returns what was asked for, by the counts per iteration; `None` if unknown.
    pub fn from_events(events: &Events<f64>) -> Option<Allocated> {
        let count = |event| events.get(event);
        Some(Allocated {
            times: count(Event::Allocations)? + count(Event::Reallocations)?,
            bytes: count(Event::AllocatedBytes)? + count(Event::ReallocatedBytes)?,
        })
    }

    /// Returns the most of any launch of a benchmark; `None` if any does not know.
    pub(crate) fn from_benchmark(benchmark: &Benchmark) -> Option<Allocated> {
        let launches = benchmark.slots_launches().iter();
        let all: Vec<Allocated> = launches
            .map(|launch| Allocated::from_events(&launch.events))
            .collect::<Option<_>>()?;
        let most = |quantity: fn(&Allocated) -> f64| all.iter().map(quantity).reduce(f64::max);
        Some(Allocated {
            times: most(|a| a.times)?,
            bytes: most(|a| a.bytes)?,
        })
    }

    /// Returns whether it is more than `before`, in number or bytes.
    pub fn exceeds(&self, before: &Allocated) -> bool {
        let grew = |before: f64, after: f64| {
            let are_whole = before.fract() == 0.0 && after.fract() == 0.0;
            let least = if are_whole { 0.0 } else { MIN_GROWTH };
            after > before * (1.0 + least)
        };
        grew(before.times, self.times) || grew(before.bytes, self.bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_numbers_are_exact_and_others_have_a_margin() {
        let allocated = |times, bytes| Allocated { times, bytes };
        assert!(allocated(3.0, 96.0).exceeds(&allocated(1.0, 96.0)));
        assert!(allocated(1001.0, 96.0).exceeds(&allocated(1000.0, 96.0)));
        assert!(allocated(1.0, 97.0).exceeds(&allocated(1.0, 96.0)));
        assert!(allocated(1.0, 0.0).exceeds(&allocated(0.0, 0.0)));
        assert!(!allocated(1.0, 96.0).exceeds(&allocated(1.0, 96.0)));
        assert!(!allocated(0.0, 0.0).exceeds(&allocated(1.0, 8.0)));
        assert!(!allocated(0.1005, 8.0).exceeds(&allocated(0.1, 8.0)));
        assert!(allocated(0.102, 8.0).exceeds(&allocated(0.1, 8.0)));
    }
}
