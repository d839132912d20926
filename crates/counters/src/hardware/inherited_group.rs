//! A group that threads and processes inherit, and the meaning of its counts.
//!
//! The kernel copies the group to every new thread and adds up the copies. Such a group has no page
//! to map, so it is read with read(). Its events and formulas are those of a thread's own groups.

use super::engine::Engine;
use super::exact_group::Plan;
use super::metrics_shape::{MetricsShape, SLOTS};
use super::opener::Opener;
use super::ratios::resolution_slots;
use super::syscalls::Event;
use crate::MAX_COUNTERS;
use crate::error::OpenError;
use topdown_run::sample::Sample;

/// Words before the counts in a group read.
const HEADER_WORDS: usize = 3;

/// Maximum number of reads of a group whose copies are incomplete: a thread takes some
/// microseconds, and a CPU, to exit.
const READ_ATTEMPTS: u32 = 1000;

/// A leader and its members.
pub(super) const MAX_EVENTS: usize = 1 + MAX_COUNTERS;

/// The events of the group.
#[derive(Clone, Copy, Debug)]
pub(super) enum Shape {
    Metrics(MetricsShape),
    Exact {
        plan: Plan,
        /// 0 if nothing uses it.
        slots_per_cycle: u32,
    },
}

/// An open group.
#[derive(Debug)]
pub(super) struct InheritedGroup {
    leader: Event,
    /// Kept open; read through the leader.
    _members: Vec<Event>,
    events: usize,
}

/// The counts of a group so far, over all its copies.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Totals {
    pub enabled_ns: u64,
    pub running_ns: u64,
    /// One per event of the shape, the leader's first.
    pub counts: [u64; MAX_EVENTS],
}

impl Shape {
    /// Returns the group that counts the same as a thread's own group.
    pub fn like(engine: &Engine) -> Shape {
        match engine {
            Engine::Exact(group) => Shape::Exact {
                plan: group.plan(),
                slots_per_cycle: group.slots_per_cycle(),
            },
            Engine::Rdpmc(group) => Shape::Metrics(group.shape()),
            Engine::Read(group) => Shape::Metrics(group.shape()),
        }
    }

    /// Returns its name in provenances.
    pub fn name(self) -> &'static str {
        match self {
            Shape::Metrics(_) => "PERF_METRICS",
            Shape::Exact { .. } => "plain counters",
        }
    }

    /// Returns names and codes, the leader's first.
    pub fn events(self) -> Vec<(&'static str, u64)> {
        match self {
            Shape::Exact { plan, .. } => plan.names_and_codes(),
            Shape::Metrics(shape) => [&[SLOTS], &shape.events_of_read()[..]].concat(),
        }
    }

    /// Returns the leader's name.
    pub fn leader(self) -> &'static str {
        match self {
            Shape::Exact { plan, .. } => plan.events[0].name,
            Shape::Metrics(_) => SLOTS.0,
        }
    }

    /// Returns the index of the event that counts cycles; the leader's if there is none.
    pub fn cycles_at(self) -> usize {
        match self {
            Shape::Exact { plan, .. } => plan.cycles_at.unwrap_or(0),
            Shape::Metrics(shape) => shape.metric_events().len() + 2,
        }
    }

    /// Returns the width of the pipeline, if known.
    pub fn slots_per_cycle(self) -> Option<u32> {
        match self {
            Shape::Exact {
                slots_per_cycle, ..
            } => (slots_per_cycle > 0).then_some(slots_per_cycle),
            Shape::Metrics(shape) => shape.slots_per_cycle,
        }
    }

    /// Returns a sample without windows, time and doubts. Takes one count for each of
    /// [`events`](Shape::events); `switches` is the maximum number of times the threads were
    /// switched out.
    pub fn sample(self, counts: &[u64; MAX_EVENTS], switches: u32) -> Sample {
        match self {
            Shape::Exact {
                plan,
                slots_per_cycle,
            } => plan.sample(&counts[..plan.events.len()], slots_per_cycle),
            Shape::Metrics(shape) => {
                let plain = shape.metric_events().len();
                let members = plain + shape.plain_count();
                let (slots, members) = (counts[0], &counts[1..=members]);
                let split = shape.split_of_read(slots, members);
                Sample {
                    slots: Some(slots),
                    level1: Some(split.level1),
                    level2: split.level2,
                    instructions: Some(members[plain]),
                    cycles: Some(members[plain + 1]),
                    resolution_slots: resolution_slots(0, slots, switches),
                    ..Sample::EMPTY
                }
            }
        }
    }
}

impl InheritedGroup {
    /// Opens the group for the threads that `opener` counts.
    #[inline(never)]
    pub fn open(opener: &Opener<'_>, shape: Shape) -> Result<InheritedGroup, OpenError> {
        let events = shape.events();
        let [(name, config), others @ ..] = &events[..] else {
            unreachable!("a group has events")
        };
        let leader = opener.leader(name, *config)?;
        let members = opener.members(others, &leader)?;
        Ok(InheritedGroup {
            leader,
            _members: members,
            events: events.len(),
        })
    }

    /// Starts the group.
    pub fn enable(&self) -> std::io::Result<()> {
        self.leader.enable()
    }

    /// Returns `None` if the kernel returns something other than the group's counts.
    pub fn totals(&self) -> std::io::Result<Option<Totals>> {
        let mut words = [0; HEADER_WORDS + MAX_EVENTS];
        let filled = self.read(&mut words)?;
        let [_, enabled_ns, running_ns, ref counts @ ..] = words;
        Ok((filled == HEADER_WORDS + self.events).then_some(Totals {
            enabled_ns,
            running_ns,
            counts: *counts,
        }))
    }
}

impl InheritedGroup {
    /// While a thread exits, the kernel dismantles its copy of the group event by event, and
    /// refuses to read an incomplete one. A joined thread may still be exiting.
    fn read(&self, words: &mut [u64]) -> std::io::Result<usize> {
        for _ in 0..READ_ATTEMPTS {
            match self.leader.read_group(words) {
                Err(error) if error.raw_os_error() == Some(libc::ECHILD) => {
                    std::thread::yield_now();
                }
                result => return result,
            }
        }
        self.leader.read_group(words)
    }
}

impl Totals {
    /// Returns what was counted since `before`.
    pub fn minus(&self, before: &Totals) -> Totals {
        Totals {
            enabled_ns: self.enabled_ns.wrapping_sub(before.enabled_ns),
            running_ns: self.running_ns.wrapping_sub(before.running_ns),
            counts: std::array::from_fn(|at| self.counts[at].wrapping_sub(before.counts[at])),
        }
    }

    /// Returns the sum of both groups.
    pub fn plus(&self, other: &Totals) -> Totals {
        Totals {
            enabled_ns: self.enabled_ns.wrapping_add(other.enabled_ns),
            running_ns: self.running_ns.wrapping_add(other.running_ns),
            counts: std::array::from_fn(|at| self.counts[at].wrapping_add(other.counts[at])),
        }
    }
}
