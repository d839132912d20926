//! Slots, PERF_METRICS and a few plain counters in one group, read with RDPMC.
//!
//! The registers of this group are not read as the kernel's header prescribes for other events.
//! Their raw values are continuous across context switches, since the kernel saves and restores
//! them, while the page's `offset` counts the past a second time. One metric event is enough: all
//! of them name the same register, which holds all eight fractions.

use std::cell::Cell;
use std::time::Instant;

use super::doubts;
use super::metrics_shape::{MetricsShape, RETIRING, SLOTS};
use super::opener::Opener;
use super::page::{MaskedCount, Page, consistent, locks};
use super::ratios::{Registers, resolution_slots, split_between};
use super::reset::ResetPolicy;
use super::self_check;
use super::syscalls::{Event, current_cpu};
use crate::counter::{MAX_COUNTERS, Reading};
use crate::cpu::MAX_CORRECTION_EVENTS;
use crate::error::OpenError;
use crate::sample::{Flags, Sample};

/// Page indices: Linux, arch/x86/include/asm/perf_event.h.
const SLOTS_INDEX: u32 = 0x4000_0004;
const METRICS_INDEX: u32 = 0x2000_0001;

/// The slots register has 48 bits.
const SLOTS_MASK: u64 = (1 << 48) - 1;

/// Positions of plain counters in a reading. The events of a correction come after these two.
const INSTRUCTIONS_AT: usize = 0;
const CYCLES_AT: usize = 1;
const CORRECTION_AT: usize = 2;
const MAX_PLAIN: usize = CORRECTION_AT + MAX_CORRECTION_EVENTS;
/// Number of resets of the registers before the reading.
const RESETS_AT: usize = MAX_PLAIN;
const _: () = assert!(RESETS_AT < MAX_COUNTERS);

/// An enabled group of the calling thread.
#[derive(Debug)]
pub(super) struct MetricsGroup {
    leader: Event,
    slots: Page,
    metrics: Page,
    /// Instructions, cycles, and the events of the correction.
    plain: Vec<Page>,
    /// Kept open; read through their pages.
    _retiring: Event,
    _plain_events: Vec<Event>,
    shape: MetricsShape,
    policy: ResetPolicy,
    /// Number of resets. If it changes within a window, because another window lies inside it, the
    /// window has no start to count from.
    resets: Cell<u64>,
}

/// The state of the group's registers and pages at one instant.
#[derive(Clone, Copy)]
struct Snapshot {
    registers: Registers,
    plain: PlainCounts,
}

/// All of it except the two registers.
#[derive(Clone, Copy)]
struct PlainCounts {
    lock: u32,
    times_ns: (u64, u64),
    counts: [MaskedCount; MAX_PLAIN],
}

impl MetricsGroup {
    /// Opens the group and proves that it counts. Returns `None` if the kernel forbids RDPMC.
    ///
    /// The order matters: if the leader runs before its members join, it is preset like a plain
    /// counter, and the ratios then refer to 2^47 slots that never happened. So it is opened
    /// disabled, enabled when the group is complete, and reset once it is on the PMU.
    pub fn open(
        opener: &Opener<'_>,
        shape: MetricsShape,
    ) -> Result<Option<MetricsGroup>, OpenError> {
        let leader = match shape.clears {
            true => opener.clearing_leader(SLOTS.0, SLOTS.1)?,
            false => opener.leader(SLOTS.0, SLOTS.1)?,
        };
        let retiring = opener.member(RETIRING.0, RETIRING.1, &leader)?;
        let plain_events = shape
            .plain_events()
            .map(|(name, config)| opener.member(name, config, &leader))
            .collect::<Result<Vec<Event>, OpenError>>()?;
        let slots = opener.map(SLOTS.0, &leader)?;
        if !slots.allows_rdpmc() {
            return Ok(None);
        }
        let metrics = opener.map(RETIRING.0, &retiring)?;
        let plain = shape
            .plain_events()
            .zip(&plain_events)
            .map(|((name, _), event)| opener.map(name, event))
            .collect::<Result<Vec<Page>, OpenError>>()?;
        let group = MetricsGroup {
            slots,
            metrics,
            plain,
            leader,
            _retiring: retiring,
            _plain_events: plain_events,
            shape,
            policy: ResetPolicy::default(),
            resets: Cell::new(0),
        };
        let failed = |action| opener.control(SLOTS.0, action);
        group.leader.enable().map_err(failed("enable"))?;
        group.leader.reset().map_err(failed("reset"))?;
        group.check(opener)?;
        group.leader.reset().map_err(failed("reset"))?;
        Ok(Some(group))
    }

    fn check(&self, opener: &Opener<'_>) -> Result<(), OpenError> {
        let registers = [
            (SLOTS.0, &self.slots, Some(SLOTS_INDEX)),
            (RETIRING.0, &self.metrics, Some(METRICS_INDEX)),
        ];
        let plain = self.shape.plain_events().zip(&self.plain);
        let plain = plain.map(|((name, _), page)| (name, page, None));
        for (name, page, expected) in registers.into_iter().chain(plain) {
            let index = page.index();
            match expected {
                _ if index == 0 => return Err(opener.never_scheduled(SLOTS.0)),
                Some(expected) if index != expected => {
                    return Err(OpenError::WrongCounter {
                        place: opener.place(name),
                        index,
                        expected,
                    });
                }
                _ => {}
            }
        }
        let look = || {
            self.snapshot::<false>()
                .ok_or_else(|| opener.never_scheduled(SLOTS.0))
        };
        let before = match look()? {
            _ if self.shape.clears => 0,
            snapshot => snapshot.registers.slots,
        };
        self_check::spin();
        let after = look()?;
        self_check::counted(opener, before, after.registers.slots)?;
        self_check::adds_up(opener, after.registers)?;
        // The times in the page are those of its last change; a read() updates them.
        self_check::group_times(opener, SLOTS.0, &self.leader).map(|_| ())
    }

    /// Returns `None` if an event of the group is not on the PMU.
    ///
    /// Slots and ratios are read last at the start of a window and first at its end, so that the
    /// window's slots contain as little of the measurement itself as possible.
    #[inline]
    fn snapshot<const AT_END: bool>(&self) -> Option<Snapshot> {
        if self.shape.clears {
            return self.clearing_snapshot::<AT_END>();
        }
        let pages = || [&self.slots, &self.metrics].into_iter().chain(&self.plain);
        consistent(
            || locks(pages()),
            || {
                let (registers, plain);
                if AT_END {
                    registers = self.registers()?;
                    plain = self.plain_counts()?;
                } else {
                    plain = self.plain_counts()?;
                    registers = self.registers()?;
                }
                Some(Snapshot { registers, plain })
            },
        )
        .flatten()
    }

    /// Reads the registers once, because a second read would find 0. No lock is needed, since the
    /// kernel saves and restores their state across a switch.
    #[inline]
    fn clearing_snapshot<const AT_END: bool>(&self) -> Option<Snapshot> {
        let plain = || consistent(|| locks(&self.plain), || self.plain_counts()).flatten();
        let (registers, plain) = if AT_END {
            let registers = self.registers()?;
            (registers, plain()?)
        } else {
            let plain = plain()?;
            (self.registers()?, plain)
        };
        self.resets.set(self.resets.get() + 1);
        Some(Snapshot { registers, plain })
    }

    /// Reads slots before ratios: the ratios then cover these slots and a few more, never fewer.
    #[inline]
    fn registers(&self) -> Option<Registers> {
        let slots = self.slots.raw(SLOTS_INDEX)? & SLOTS_MASK;
        let ratios = self.metrics.raw(METRICS_INDEX)?;
        Some(Registers { slots, ratios })
    }

    #[inline]
    fn plain_counts(&self) -> Option<PlainCounts> {
        let mut counts = [MaskedCount { value: 0, mask: 0 }; MAX_PLAIN];
        for (count, page) in counts.iter_mut().zip(&self.plain) {
            *count = page.count()?;
        }
        Some(PlainCounts {
            lock: self.slots.lock(),
            times_ns: self.slots.times_ns(),
            counts,
        })
    }

    /// Returns the shape of the group.
    pub fn shape(&self) -> MetricsShape {
        self.shape
    }

    pub fn sample_boundary(&self) {
        self.policy.sample_begins();
    }

    /// Releases the PMU.
    pub fn suspend(&self) -> std::io::Result<()> {
        self.leader.disable()
    }

    /// Resumes counting.
    pub fn resume(&self) -> std::io::Result<()> {
        self.leader.enable()?;
        self.leader.reset()
    }

    pub fn start(&self) -> Reading {
        if !self.shape.clears && self.policy.window_begins() {
            self.reset();
        }
        let reading = self.reading();
        if reading.flags.intersects(Flags::NOT_COUNTING) {
            // A pinned group that lost the PMU stays off it until it is enabled again.
            let _ = self.leader.enable();
        } else if !ResetPolicy::is_due_after(reading.slots) {
            return reading;
        }
        self.reset();
        self.reading()
    }

    /// Resets the registers. If that fails, the reading includes the slots since the last reset,
    /// which only widens the resolution.
    fn reset(&self) {
        let _ = self.leader.reset();
        self.resets.set(self.resets.get() + 1);
    }

    #[inline]
    fn reading(&self) -> Reading {
        let mut reading = Reading {
            cpu: current_cpu(),
            ..Reading::of_clock()
        };
        match self.snapshot::<false>() {
            Some(snapshot) => snapshot.put_into(&mut reading),
            None => reading.flags = Flags::NOT_COUNTING,
        }
        if self.shape.clears {
            // The values just read were cleared: they predate the window.
            (reading.slots, reading.ratios) = (0, 0);
        }
        reading.counts[RESETS_AT] = self.resets.get();
        reading
    }

    pub fn end(&self, start: &Reading) -> Sample {
        let resets = self.resets.get();
        let snapshot = self.snapshot::<true>();
        let at = Instant::now();
        let mut end = Reading {
            at,
            cpu: current_cpu(),
            ..*start
        };
        let mut sample = Sample {
            windows: 1,
            wall_ns: at.duration_since(start.at).as_nanos() as u64,
            // Placeholders: the flags say that nothing was counted.
            slots: Some(0),
            level1: Some(Default::default()),
            level2: self.shape.level2.then(Default::default),
            instructions: Some(0),
            cycles: Some(0),
            ..Sample::EMPTY
        };
        let Some(snapshot) = snapshot else {
            sample.flags = start.flags | Flags::NOT_COUNTING;
            return sample;
        };
        snapshot.put_into(&mut end);
        sample.flags = doubts::between(start, &end);
        if start.counts[RESETS_AT] != resets {
            sample.flags |= Flags::WENT_BACKWARDS;
        }
        if sample
            .flags
            .intersects(Flags::NOT_COUNTING | Flags::WENT_BACKWARDS)
        {
            return sample;
        }
        let first = Registers {
            slots: start.slots,
            ratios: start.ratios,
        };
        let last = snapshot.registers;
        if !first.adds_up() || !last.adds_up() {
            sample.flags |= Flags::BAD_RATIOS;
        }
        let since_start = |at: usize| snapshot.plain.counts[at].since(start.counts[at]);
        let corrections = (CORRECTION_AT..MAX_PLAIN).map(since_start);
        let split = self
            .shape
            .corrected(split_between(first, last, self.shape.level2), corrections);
        sample.slots = Some(last.slots - first.slots);
        sample.level1 = Some(split.level1);
        sample.level2 = split.level2;
        sample.instructions = Some(since_start(INSTRUCTIONS_AT));
        sample.cycles = Some(since_start(CYCLES_AT));
        sample.resolution_slots = resolution_slots(
            first.slots,
            last.slots,
            doubts::switches(start.lock, end.lock),
        );
        sample
    }
}

impl Snapshot {
    #[inline]
    fn put_into(self, reading: &mut Reading) {
        reading.lock = self.plain.lock;
        (reading.time_enabled_ns, reading.time_running_ns) = self.plain.times_ns;
        reading.slots = self.registers.slots;
        reading.ratios = self.registers.ratios;
        for (count, plain) in reading.counts.iter_mut().zip(self.plain.counts) {
            *count = plain.value;
        }
    }
}
