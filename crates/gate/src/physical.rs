//! Counts that no core can have produced. They are no measurement, whatever counted them.
//!
//! This is the only place that knows what is impossible. A run drops modelled slots that are, and
//! the gate refuses to judge them.

use std::fmt;

use topdown_run::provenance::{CountedThreads, SourceKind};
use topdown_run::run_file::{Benchmark, SlotsValue};

/// No core has a faster clock. Which one a machine had while it measured is unknown, since its
/// turbo may be anything up to that. Judgement: cores as sold stay below 7 GHz, overclocked ones
/// below this.
pub const MAX_CLOCK_GHZ: f64 = 10.0;

/// A core fuses at most two instructions into one micro-operation, which takes a slot (Intel
/// Optimization Reference Manual, "Macro-Fusion"; AMD and Arm fuse pairs too).
const MAX_INSTRUCTIONS_PER_SLOT: f64 = 2.0;

/// The packages of commands and imports, whose counts are those of all threads.
const WHOLE_PROCESSES: [&str; 2] = ["exec", "import"];

/// Why the slots of a benchmark are no measurement.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Impossible {
    /// More slots than the core can issue in the measured time.
    Slots {
        /// Slots per nanosecond.
        per_ns: f64,
        /// The core's limit.
        limit_per_ns: f64,
    },
    /// More cycles than any clock has in the measured time.
    Cycles {
        /// Cycles per nanosecond.
        per_ns: f64,
    },
    /// More instructions than the slots can hold.
    Instructions {
        /// Instructions per slot.
        per_slot: f64,
    },
}

impl Impossible {
    /// Returns why the slots of `benchmark` are impossible, if they are, in every launch.
    pub fn of(benchmark: &Benchmark) -> Option<Impossible> {
        let slots = benchmark.slots.as_ref()?;
        let least = |quantity: fn(&SlotsValue) -> Option<f64>| {
            let values = slots.launches.iter().map(quantity);
            values.reduce(|a, b| Some(a?.min(b?))).flatten()
        };
        let times = benchmark.times.launches.iter().map(|time| time.wall_ns);
        let longest_ns = times.fold(0.0, f64::max);
        // Several threads have more slots than one core issues.
        let is_one_thread = slots.provenance.threads == CountedThreads::Own
            && !WHOLE_PROCESSES.contains(&benchmark.id.package.as_str());
        let is_timed = longest_ns > 0.0 && is_one_thread;
        if is_timed {
            let width = slots.provenance.slots_per_cycle.map(f64::from);
            let per_ns = least(|value| Some(value.slots)).unwrap_or(0.0) / longest_ns;
            let limit = width.map(|width| width * MAX_CLOCK_GHZ);
            if let Some(limit_per_ns) = limit.filter(|limit| per_ns > *limit) {
                return Some(Impossible::Slots {
                    per_ns,
                    limit_per_ns,
                });
            }
            let per_ns = least(|value| value.cycles).unwrap_or(0.0) / longest_ns;
            if per_ns > MAX_CLOCK_GHZ {
                return Some(Impossible::Cycles { per_ns });
            }
        }
        let per_slot = least(|value| Some(value.instructions? / value.slots));
        // Of windows with next to no slots, what is subtracted for their cost decides.
        let has_slots = least(|value| Some(value.slots)).is_some_and(|slots| slots >= 1.0);
        per_slot
            .filter(|per_slot| has_slots && *per_slot > MAX_INSTRUCTIONS_PER_SLOT)
            .map(|per_slot| Impossible::Instructions { per_slot })
    }

    /// Returns the reason why such a benchmark has no slots.
    pub fn reason(&self, source: SourceKind) -> String {
        let what = match source {
            SourceKind::Model => "not modelled",
            SourceKind::Hardware | SourceKind::Time => "not counted",
        };
        format!("{what}: {self}")
    }
}

impl fmt::Display for Impossible {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Impossible::Slots {
                per_ns,
                limit_per_ns,
            } => write!(
                f,
                "{per_ns:.0} slots per ns of its time are impossible: the core issues \
                 {limit_per_ns:.0} at most"
            ),
            Impossible::Cycles { per_ns } => write!(
                f,
                "{per_ns:.0} cycles per ns of its time are impossible: no clock is faster than \
                 {MAX_CLOCK_GHZ:.0} GHz"
            ),
            Impossible::Instructions { per_slot } => write!(
                f,
                "{per_slot:.1} instructions per slot are impossible: at most \
                 {MAX_INSTRUCTIONS_PER_SLOT:.0} fuse"
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::{Launch, Planted, benchmark, modelled, sampled, with_launches};

    fn of(wall_ns: f64, slots: f64, instructions: f64) -> Option<String> {
        let launch = Launch {
            wall_ns,
            slots: Some(slots),
            instructions: Some(instructions),
            cycles: Some(slots / 6.0),
            ..Launch::default()
        };
        let benchmark = with_launches("b", SourceKind::Model, vec![launch; 2]);
        let impossible = Impossible::of(&benchmark);
        impossible.map(|impossible| impossible.reason(SourceKind::Model))
    }

    #[test]
    fn impossible_slots_are_named() {
        let slots = "not modelled: 61 slots per ns of its time are impossible: the core issues 60 \
                     at most";
        assert_eq!(of(100.0, 6_100.0, 1_000.0).as_deref(), Some(slots));
        assert_eq!(of(100.0, 5_900.0, 1_000.0), None);
        let instructions = "not modelled: 2.5 instructions per slot are impossible: at most 2 fuse";
        assert_eq!(of(100.0, 1_000.0, 2_500.0).as_deref(), Some(instructions));
        assert_eq!(of(100.0, 1_000.0, 1_999.0), None);
        // The time is unknown.
        assert_eq!(of(0.0, 1_000.0, 1_000.0), None);
    }

    #[test]
    fn possible_slots_are_not_refused() {
        let planted = Planted::default();
        for benchmark in [
            benchmark("b", planted),
            modelled("b", planted),
            sampled("b", planted),
        ] {
            assert_eq!(Impossible::of(&benchmark), None);
        }
        let mut all = with_launches(
            "b",
            SourceKind::Hardware,
            vec![Launch {
                wall_ns: 1.0,
                slots: Some(1_000.0),
                ..Launch::default()
            }],
        );
        assert!(Impossible::of(&all).is_some());
        all.provenance_mut().threads = CountedThreads::All;
        assert_eq!(Impossible::of(&all), None);
    }
}
