//! A machine for tests: the benchmarked code itself states its cost.
//!
//! [`spend`] adds to counters of the calling thread, and the [`Scripted`] source reads them as
//! other sources read the CPU's. So a test knows the exact numbers to expect, for any iteration
//! count, from criterion and from the whole program.

use std::cell::{Cell, RefCell};

use super::{Reading, Source, Wanted, clock};
use crate::cpu::{
    CpuTable, Event, LatencyTable, Level1Counting, Metric, MetricExample, MetricGroup, Node,
    RetireLatency, Subject,
};
use crate::error::{EventLocation, OpenError};
use topdown_run::category::{Category, Part, PerCategory};
use topdown_run::environment;
use topdown_run::provenance::SourceKind;
use topdown_run::provenance::{EmptyWindow, Provenance};
use topdown_run::sample::{Flags, GroupCounts, Level1, Sample};

/// The formula of scripted counts.
pub const FORMULA: &str = "scripted/1";

/// An event's code is the position of its counter in a reading.
const HEAVY_OPERATIONS: Event = Event::general("heavy operations", 4);
const MEMORY_BOUND: Event = Event::general("memory bound", 7);
const INSTRUCTIONS: Event = Event::general("instructions", 8);
/// The machine has no such counter.
const MISSING: Event = Event::general("missing", 9);

/// The machine's metric groups. Its slots are counted in thousandths.
pub static TABLE: CpuTable = CpuTable {
    name: "the scripted machine",
    models: &[],
    slots_per_cycle: Some(4),
    general_counters: 2,
    sources: "made up",
    level1: Level1Counting::Unsupported("the scripted machine knows its categories"),
    metrics: None,
    groups: &[
        MetricGroup {
            name: "Memory_Effectiveness",
            subject: Subject::DataCache,
            explains: &[Node::Part(Part::MemoryBound)],
            events: &[INSTRUCTIONS, MEMORY_BOUND],
            metrics: &[Metric::new("memory_slots", "per instruction", &|counts| {
                counts[MEMORY_BOUND] / 1000.0 / counts[INSTRUCTIONS]
            })
            .sampled_by([Some(MEMORY_BOUND), None, None])],
            example: MetricExample::new(&[1000, 500_000], &["0.5"]),
        },
        MetricGroup {
            name: "Missing_Effectiveness",
            subject: Subject::DataTlb,
            explains: &[Node::Part(Part::MemoryBound)],
            events: &[INSTRUCTIONS, MEMORY_BOUND, MISSING],
            metrics: &[],
            example: MetricExample::NONE,
        },
        MetricGroup {
            name: "Load_Latency",
            subject: Subject::Stalls,
            explains: &[Node::Part(Part::MemoryBound)],
            events: &[INSTRUCTIONS, MEMORY_BOUND],
            metrics: &[Metric::waits(
                "instruction_latency",
                INSTRUCTIONS,
                MEMORY_BOUND,
                None,
            )],
            example: MetricExample::new(&[10, 1000], &["10.0"]),
        },
        MetricGroup {
            name: "Operation_Mix",
            subject: Subject::OperationMix,
            explains: &[Node::Category(Category::Retiring)],
            events: &[INSTRUCTIONS, HEAVY_OPERATIONS],
            metrics: &[Metric::new("heavy_slots", "per instruction", &|counts| {
                counts[HEAVY_OPERATIONS] / 1000.0 / counts[INSTRUCTIONS]
            })],
            example: MetricExample::new(&[1000, 500_000], &["0.5"]),
        },
    ],
};

/// The machine records that an instruction takes seven cycles to retire.
pub static LATENCIES: LatencyTable = LatencyTable {
    name: "the scripted machine",
    models: &[],
    is_recorded: true,
    sources: "made up",
    latencies: &[RetireLatency {
        event: INSTRUCTIONS,
        published_cycles: Some(5.0),
        assumed_ns: None,
    }],
};
const RECORDED_CYCLES: u64 = 7;

/// The cost of a piece of scripted work.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Work {
    /// Slots by category, counted in thousandths of a slot.
    pub level1: Level1,
    /// Each category's measured part.
    pub level2: PerCategory<f64>,
    /// Retired instructions.
    pub instructions: u64,
}

/// The counters of a thread, in thousandths of a slot: integers, so that sums are exact.
#[derive(Clone, Copy, Default)]
struct Counters {
    level1: PerCategory<u64>,
    level2: PerCategory<u64>,
    instructions: u64,
    flags: Flags,
}

const NOTHING: PerCategory<u64> = PerCategory::in_order([0; 4]);

thread_local! {
    static COUNTERS: Cell<Counters> = const {
        Cell::new(Counters {
            level1: NOTHING,
            level2: NOTHING,
            instructions: 0,
            flags: Flags::NONE,
        })
    };
}

/// Charges `work` to the calling thread.
pub fn spend(work: &Work) {
    let thousandths = |slots: f64| (slots * 1000.0).round() as u64;
    let mut counters = COUNTERS.get();
    counters.level1 = counters.level1 + work.level1.slots.map(thousandths);
    counters.level2 = counters.level2 + work.level2.map(thousandths);
    counters.instructions += work.instructions;
    COUNTERS.set(counters);
}

/// Raises a doubt about the calling thread's open window.
pub fn raise(flags: Flags) {
    let mut counters = COUNTERS.get();
    counters.flags |= flags;
    COUNTERS.set(counters);
}

/// The source of scripted counts. It reports itself as hardware, so that all downstream code treats
/// it as such; its formula is `scripted/1`.
#[derive(Debug)]
pub struct Scripted {
    provenance: Provenance,
    group: Option<&'static MetricGroup>,
    /// Whether it records the group's latencies instead of counting its events.
    records_latencies: bool,
    /// The counters at the start of each window so far.
    begun: RefCell<Vec<[u64; COUNTS]>>,
}

/// Level 1, level 2, and instructions.
const COUNTS: usize = 9;

impl Scripted {
    /// Returns a machine with level 1 and level 2, exact counts and 4 slots per cycle.
    pub fn new() -> Scripted {
        Scripted {
            group: None,
            records_latencies: false,
            begun: RefCell::default(),
            provenance: Provenance {
                slots_per_cycle: Some(4),
                empty_window: Some(EmptyWindow {
                    slots: Some(0),
                    ..EmptyWindow::default()
                }),
                ..Provenance::new(SourceKind::Hardware, FORMULA, "a test plays the machine")
            },
        }
    }

    /// Returns the same machine, counting the metric group that the environment requests, if any.
    ///
    /// # Errors
    /// Returns [`OpenError::UnknownGroup`], or [`OpenError::GroupTooLarge`] if the group does not
    /// fit on the machine.
    pub fn from_environment() -> Result<Scripted, OpenError> {
        let scripted = Scripted::new();
        let of_latencies = std::env::var(environment::LATENCIES);
        let of_latencies = of_latencies.ok().filter(|name| !name.is_empty());
        let records_latencies = of_latencies.is_some();
        let name = match (of_latencies, Wanted::from_environment()?) {
            (Some(name), _) | (None, Wanted::Group(name)) => name,
            (None, Wanted::Categories(_)) => return Ok(scripted),
        };
        let group = TABLE.group(&name).ok_or_else(|| OpenError::UnknownGroup {
            name,
            cpu: TABLE.name,
            known: "those of the scripted machine".to_owned(),
        })?;
        let needed = group.events.len() as u32;
        if needed > TABLE.general_counters {
            return Err(OpenError::GroupTooLarge {
                location: EventLocation {
                    event: group.events[TABLE.general_counters as usize].name,
                    pmu: "scripted".to_owned(),
                },
                needed,
            });
        }
        Ok(Scripted {
            provenance: Provenance {
                formula: match records_latencies {
                    true => group.latencies_formula(),
                    false => group.formula(),
                },
                ..scripted.provenance
            },
            group: Some(group),
            records_latencies,
            begun: RefCell::default(),
        })
    }
}

impl Default for Scripted {
    fn default() -> Scripted {
        Scripted::new()
    }
}

impl Source for Scripted {
    fn provenance(&self) -> &Provenance {
        &self.provenance
    }

    fn start(&self) -> Reading {
        let mut counters = COUNTERS.get();
        counters.flags = Flags::NONE;
        COUNTERS.set(counters);
        let mut counts = [0; COUNTS];
        counts[..4].copy_from_slice(&counters.level1.into_array());
        counts[4..8].copy_from_slice(&counters.level2.into_array());
        counts[8] = counters.instructions;
        let mut begun = self.begun.borrow_mut();
        begun.push(counts);
        Reading::from_window(begun.len() as u32 - 1, clock::now_ns())
    }

    fn end(&self, start: &Reading) -> Sample {
        let counters = COUNTERS.get();
        let begun = |reading: &Reading| self.begun.borrow()[reading.ticket as usize];
        let first_counts = begun(start);
        if let Some(group) = self.group {
            let end = self.start();
            let wall_ns = end.at_ns - start.at_ns;
            let counts: Vec<u64> = match self.records_latencies {
                true => {
                    let instructions = begun(&end)[8] - first_counts[8];
                    vec![instructions, RECORDED_CYCLES * instructions]
                }
                false => counts_of(group, &first_counts, &begun(&end)),
            };
            return Sample {
                windows: 1,
                wall_ns,
                group_counts: GroupCounts::new(&counts),
                ..Sample::EMPTY
            };
        }
        let slots = |now: PerCategory<u64>, first: usize| {
            PerCategory::from_fn(|category| {
                (now[category] - first_counts[first + category as usize]) as f64 / 1000.0
            })
        };
        let level1 = Level1 {
            slots: slots(counters.level1, 0),
            smt_contention_slots: None,
        };
        let level2 = slots(counters.level2, 4);
        let total_slots = level1.total_slots().round() as u64;
        Sample {
            windows: 1,
            wall_ns: clock::elapsed_ns(start.at_ns),
            slots: Some(total_slots),
            level1: Some(level1),
            level2: Some(level2),
            instructions: Some(counters.instructions - first_counts[8]),
            cycles: Some(total_slots / 4),
            flags: counters.flags,
            ..Sample::EMPTY
        }
    }
}

fn counts_of(group: &MetricGroup, start: &[u64; COUNTS], end: &[u64; COUNTS]) -> Vec<u64> {
    let count = |event: &Event| {
        let at = event.config as usize;
        end[at] - start[at]
    };
    group.events.iter().map(count).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn window_costs_the_work_inside_it() {
        let source = Scripted::new();
        let work = Work {
            level1: Level1 {
                slots: PerCategory {
                    retiring: 40.0,
                    bad_speculation: 10.5,
                    frontend_bound: 20.0,
                    backend_bound: 30.0,
                },
                smt_contention_slots: None,
            },
            level2: PerCategory {
                backend_bound: 12.0,
                ..PerCategory::default()
            },
            instructions: 38,
        };
        spend(&work);
        let start = source.start();
        spend(&work);
        spend(&work);
        raise(Flags::SWITCHED);
        let sample = source.end(&start);
        assert_eq!(sample.slots, Some(201));
        assert_eq!(sample.level1.unwrap().slots.bad_speculation, 21.0);
        assert_eq!(sample.level2.unwrap().backend_bound, 24.0);
        assert_eq!(sample.instructions, Some(76));
        assert_eq!(sample.flags, Flags::SWITCHED);
        assert_eq!(source.end(&source.start()).slots, Some(0));
    }
}
