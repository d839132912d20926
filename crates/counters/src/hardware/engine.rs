//! The three kinds of groups, behind one interface.

use std::rc::Rc;

use super::exact_group::ExactGroup;
use super::metrics_group::MetricsGroup;
use super::metrics_shape;
use super::read_group::ReadGroup;
use super::syscalls::Event;
use super::user_reads::UserReads;
use crate::Reading;
use topdown_run::sample::Sample;

/// A group that counts the calling thread.
#[derive(Debug)]
pub(super) enum Engine {
    Rdpmc(MetricsGroup),
    Read(ReadGroup),
    Exact(ExactGroup),
}

impl Engine {
    /// Returns the reads in user code; `None` if reading takes system calls.
    pub fn user_reads(&self) -> Option<&Rc<UserReads>> {
        match self {
            Engine::Rdpmc(group) => Some(group.user_reads()),
            Engine::Read(_) => None,
            Engine::Exact(group) => group.user_reads(),
        }
    }

    /// Prepares a window whose counters are then read in user code, or begins it. Returns the time
    /// when it is ready.
    #[inline]
    pub fn prepare(&self, at_ns: u64) -> u64 {
        match self {
            Engine::Rdpmc(group) => return group.prepare(at_ns),
            Engine::Read(group) => group.start(),
            Engine::Exact(group) => group.prepare(),
        }
        at_ns
    }

    /// Begins a window after reading the counters in user code failed once.
    #[cold]
    pub fn restart(&self) {
        match self {
            Engine::Rdpmc(group) => group.restart(),
            Engine::Read(group) => group.start(),
            Engine::Exact(group) => group.restart(),
        }
    }

    /// Ends a window. `is_unmoved` is the result of reading the counters in user code.
    #[inline]
    pub fn end(&self, is_unmoved: bool, start: &Reading) -> Sample {
        match self {
            Engine::Rdpmc(group) => group.end(is_unmoved, start),
            Engine::Read(group) => group.end(start),
            Engine::Exact(group) => group.end(is_unmoved, start),
        }
    }

    /// Returns a sample that has all its windows, with its categories.
    pub fn completed(&self, sample: &Sample) -> Sample {
        match self {
            Engine::Exact(group) => group.completed(sample),
            Engine::Rdpmc(_) | Engine::Read(_) => *sample,
        }
    }

    /// Returns the leader, and the names of the group's events with its own first.
    #[inline]
    pub fn leader_and_events(&self) -> (&Event, Vec<&'static str>) {
        let slots_and = |others: Vec<(&'static str, u64)>| {
            let names = others.into_iter().map(|(name, _)| name);
            std::iter::once(metrics_shape::SLOTS.0)
                .chain(names)
                .collect()
        };
        match self {
            Engine::Rdpmc(group) => {
                let shape = group.shape();
                let mut others = shape.plain_events();
                others.insert(0, metrics_shape::RETIRING);
                (group.leader(), slots_and(others))
            }
            Engine::Read(group) => {
                let shape = group.shape();
                (group.leader(), slots_and(shape.events_of_read()))
            }
            Engine::Exact(group) => {
                let events = group.plan().events.iter();
                (group.leader(), events.map(|event| event.name).collect())
            }
        }
    }

    pub fn suspend(&self) -> std::io::Result<()> {
        match self {
            Engine::Rdpmc(group) => group.suspend(),
            Engine::Read(group) => group.suspend(),
            Engine::Exact(group) => group.suspend(),
        }
    }

    pub fn resume(&self) -> std::io::Result<()> {
        match self {
            Engine::Rdpmc(group) => group.resume(),
            Engine::Read(group) => group.resume(),
            Engine::Exact(group) => group.resume(),
        }
    }
}
