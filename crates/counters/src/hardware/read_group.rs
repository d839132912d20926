//! The same events read with read(), for machines on which the administrator has turned off RDPMC.
//!
//! Every read() computes the slots of each category from the registers by the formula of `ratios`,
//! rounded down to whole slots, adds them to the events' counts and clears the registers. So a
//! window starts at 0 by itself, and the numbers are comparable with those of RDPMC. Only the
//! window costs more: two system calls, whose user part is measured.

use std::cell::Cell;

use super::doubts;
use super::metrics_shape::{METRIC_EVENTS, MetricsShape, SLOTS};
use super::opener::Opener;
use super::page::Page;
use super::ratios::resolution_slots;
use super::readout::{Presence, Readout};
use super::self_check;
use super::syscalls::{Event, current_cpu};
use crate::cpu::MAX_CORRECTION_EVENTS;
use crate::error::OpenError;
use crate::{MAX_COUNTERS, Reading, clock};
use topdown_run::sample::{Flags, Sample};

/// Words before the counts in a group read.
const HEADER_WORDS: usize = 3;
const MAX_MEMBERS: usize = METRIC_EVENTS.len() + 2 + MAX_CORRECTION_EVENTS;
const MAX_WORDS: usize = HEADER_WORDS + 1 + MAX_MEMBERS;
const _: () = assert!(MAX_MEMBERS <= MAX_COUNTERS);

/// An enabled group of the calling thread.
#[derive(Debug)]
pub(super) struct ReadGroup {
    leader: Event,
    /// The leader's page, for its lock, which says whether the thread was switched out.
    page: Page,
    members: Vec<Event>,
    shape: MetricsShape,
    /// The reading at the start of a window.
    start: Cell<Readout>,
}

impl ReadGroup {
    /// Opens the group and proves that it counts.
    #[inline(never)]
    pub fn open(opener: &Opener<'_>, shape: MetricsShape) -> Result<ReadGroup, OpenError> {
        let leader = opener.leader(SLOTS.0, SLOTS.1)?;
        let members = opener.members(&shape.events_of_read(), &leader)?;
        let group = ReadGroup {
            page: opener.map(SLOTS.0, &leader)?,
            leader,
            members,
            shape,
            start: Cell::default(),
        };
        group
            .leader
            .enable()
            .map_err(opener.control(SLOTS.0, "enable"))?;
        let before = self_check::group_times(opener, SLOTS.0, &group.leader)?;
        self_check::spin();
        let after = self_check::group_times(opener, SLOTS.0, &group.leader)?;
        self_check::counted(opener, SLOTS.0, before[HEADER_WORDS], after[HEADER_WORDS])?;
        Ok(group)
    }

    /// Returns the shape of the group.
    pub fn shape(&self) -> MetricsShape {
        self.shape
    }

    /// Returns the event that leads the group.
    pub fn leader(&self) -> &Event {
        &self.leader
    }

    /// Releases the PMU.
    pub fn suspend(&self) -> std::io::Result<()> {
        self.leader.disable()
    }

    /// Resumes counting.
    pub fn resume(&self) -> std::io::Result<()> {
        self.leader.enable()
    }

    #[inline(never)]
    pub fn start(&self) {
        let mut reading = self.reading();
        if reading.flags.intersects(Flags::NOT_COUNTING) {
            // A pinned group that lost the PMU stays off it until it is enabled again.
            let _ = self.leader.enable();
            reading = self.reading();
        }
        self.start.set(reading);
    }

    fn reading(&self) -> Readout {
        let mut words = [0; MAX_WORDS];
        let wanted = HEADER_WORDS + 1 + self.members.len();
        let filled = self.leader.read_group(&mut words);
        let mut reading = Readout {
            presence: Presence {
                lock: self.page.lock(),
                cpu: current_cpu(),
                time_enabled_ns: words[1],
                time_running_ns: words[2],
            },
            slots: words[HEADER_WORDS],
            ..Readout::default()
        };
        let counts = &words[HEADER_WORDS + 1..wanted];
        reading.counts[..counts.len()].copy_from_slice(counts);
        if !filled.is_ok_and(|filled| filled == wanted) {
            reading.flags = Flags::NOT_COUNTING;
        }
        reading
    }

    pub fn end(&self, start: &Reading) -> Sample {
        let last = self.reading();
        let wall_ns = clock::elapsed_ns(start.at_ns);
        let first = self.start.get();
        let mut flags = first.flags | last.flags | doubts::between(&first.presence, &last.presence);
        if last.slots < first.slots {
            flags |= Flags::WENT_BACKWARDS;
        }
        let usable = !flags.intersects(Flags::NOT_COUNTING | Flags::WENT_BACKWARDS);
        // If nothing was counted, the flags say so, and 0 stands in for the counts.
        let count = |at: usize| {
            if usable {
                last.counts[at].wrapping_sub(first.counts[at])
            } else {
                0
            }
        };
        let slots = if usable { last.slots - first.slots } else { 0 };
        let counts: [u64; MAX_MEMBERS] = std::array::from_fn(count);
        let switches = doubts::switches(first.presence.lock, last.presence.lock);
        let plain = self.shape.metric_events().len();
        let split = self
            .shape
            .split_of_read(slots, &counts[..self.members.len()]);
        Sample {
            windows: 1,
            wall_ns,
            slots: Some(slots),
            level1: Some(split.level1),
            level2: split.level2,
            instructions: Some(count(plain)),
            cycles: Some(count(plain + 1)),
            // One slot for rounding down.
            resolution_slots: resolution_slots(0, slots, switches) + 1.0,
            flags,
            ..Sample::EMPTY
        }
    }
}
