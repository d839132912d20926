//! Slots, PERF_METRICS, instructions and cycles in one group, read with RDPMC.
//!
//! The registers of this group are not read as the kernel's header tells for other events: their
//! raw values are continuous across context switches, since the kernel saves and restores them,
//! while the page's `offset` counts what was before a second time. One metric event is enough: all
//! of them name the same register, which holds all eight fractions.

use std::cell::Cell;
use std::time::Instant;

use super::doubts;
use super::opener::Opener;
use super::page::{MaskedCount, Page, consistent, locks};
use super::ratios::{Registers, level1_between, level2_between, resolution_slots};
use super::reset::ResetPolicy;
use super::self_check;
use super::syscalls::{Event, current_cpu};
use crate::counter::Reading;
use crate::error::OpenError;
use crate::sample::{Flags, Sample};

/// Event codes and page indices: Linux, arch/x86/include/asm/perf_event.h.
pub(super) const SLOTS: (&str, u64) = ("slots", 0x0400);
pub(super) const RETIRING: (&str, u64) = ("topdown-retiring", 0x8000);
pub(super) const INSTRUCTIONS: (&str, u64) = ("instructions", 0x00c0);
pub(super) const CYCLES: (&str, u64) = ("cycles", 0x003c);
const SLOTS_INDEX: u32 = 0x4000_0004;
const METRICS_INDEX: u32 = 0x2000_0001;

/// The slots register has 48 bits.
const SLOTS_MASK: u64 = (1 << 48) - 1;

/// Where a reading keeps its plain counters.
const INSTRUCTIONS_AT: usize = 0;
const CYCLES_AT: usize = 1;
/// And how many resets came before it.
const RESETS_AT: usize = 2;

/// An enabled group of the calling thread.
#[derive(Debug)]
pub(super) struct MetricsGroup {
    leader: Event,
    slots: Page,
    metrics: Page,
    instructions: Page,
    cycles: Page,
    /// Held open; they are read through their pages.
    _members: [Event; 3],
    level2: bool,
    policy: ResetPolicy,
    /// A window that saw one, by another window inside it, has no start to count from.
    resets: Cell<u64>,
}

/// What the group's registers and pages say at one instant.
#[derive(Clone, Copy)]
struct Snapshot {
    lock: u32,
    times_ns: (u64, u64),
    registers: Registers,
    instructions: MaskedCount,
    cycles: MaskedCount,
}

impl MetricsGroup {
    /// Opens the group and proves that it counts. `None` where the kernel forbids RDPMC.
    ///
    /// The order matters: a leader that runs before its members join is preset like a plain
    /// counter, and the ratios then refer to 2^47 slots that never were. So it is opened disabled,
    /// enabled when the group is complete, and reset once it is on the PMU.
    pub fn open(opener: &Opener<'_>, level2: bool) -> Result<Option<MetricsGroup>, OpenError> {
        let leader = opener.leader(SLOTS.0, SLOTS.1)?;
        let metrics = opener.member(RETIRING.0, RETIRING.1, &leader)?;
        let instructions = opener.member(INSTRUCTIONS.0, INSTRUCTIONS.1, &leader)?;
        let cycles = opener.member(CYCLES.0, CYCLES.1, &leader)?;
        let slots_page = opener.map(SLOTS.0, &leader)?;
        if !slots_page.allows_rdpmc() {
            return Ok(None);
        }
        let group = MetricsGroup {
            slots: slots_page,
            metrics: opener.map(RETIRING.0, &metrics)?,
            instructions: opener.map(INSTRUCTIONS.0, &instructions)?,
            cycles: opener.map(CYCLES.0, &cycles)?,
            leader,
            _members: [metrics, instructions, cycles],
            level2,
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
        for (name, page, expected) in [
            (SLOTS.0, &self.slots, Some(SLOTS_INDEX)),
            (RETIRING.0, &self.metrics, Some(METRICS_INDEX)),
            (INSTRUCTIONS.0, &self.instructions, None),
            (CYCLES.0, &self.cycles, None),
        ] {
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
        let before = look()?;
        self_check::spin();
        let after = look()?;
        self_check::counted(opener, before.registers.slots, after.registers.slots)?;
        self_check::adds_up(opener, after.registers)?;
        // The times in the page are those of its last change; a read() brings today's.
        self_check::group_times(opener, SLOTS.0, &self.leader).map(|_| ())
    }

    /// `None` where an event of the group is not on the PMU.
    ///
    /// Slots and ratios are the last to be read at the start of a window and the first at its end:
    /// so the slots of the window hold as little of the measurement itself as can be.
    #[inline]
    fn snapshot<const AT_END: bool>(&self) -> Option<Snapshot> {
        let pages = [&self.slots, &self.metrics, &self.instructions, &self.cycles];
        consistent(
            || locks(pages),
            || {
                let (registers, plain);
                if AT_END {
                    registers = self.registers()?;
                    plain = self.plain_counts()?;
                } else {
                    plain = self.plain_counts()?;
                    registers = self.registers()?;
                }
                Some(Snapshot {
                    lock: self.slots.lock(),
                    times_ns: self.slots.times_ns(),
                    registers,
                    instructions: plain.0,
                    cycles: plain.1,
                })
            },
        )
        .flatten()
    }

    /// Slots before ratios: the ratios are then of these slots and a few more, never of fewer.
    #[inline]
    fn registers(&self) -> Option<Registers> {
        let slots = self.slots.raw(SLOTS_INDEX)? & SLOTS_MASK;
        let ratios = self.metrics.raw(METRICS_INDEX)?;
        Some(Registers { slots, ratios })
    }

    #[inline]
    fn plain_counts(&self) -> Option<(MaskedCount, MaskedCount)> {
        Some((self.instructions.count()?, self.cycles.count()?))
    }

    pub fn sample_boundary(&self) {
        self.policy.sample_begins();
    }

    pub fn start(&self) -> Reading {
        if self.policy.window_begins() {
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

    /// A reset that fails leaves the slots since the last one in the reading, and with them a
    /// wider resolution: nothing else has to be done about it.
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
        reading.counts[RESETS_AT] = self.resets.get();
        reading
    }

    pub fn end(&self, start: &Reading) -> Sample {
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
            // Placeholders, where the flags say that nothing was counted.
            slots: Some(0),
            level1: Some(Default::default()),
            level2: self.level2.then(Default::default),
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
        if start.counts[RESETS_AT] != self.resets.get() {
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
        sample.slots = Some(last.slots - first.slots);
        sample.level1 = Some(level1_between(first, last));
        sample.level2 = self.level2.then(|| level2_between(first, last));
        sample.instructions = Some(snapshot.instructions.since(start.counts[INSTRUCTIONS_AT]));
        sample.cycles = Some(snapshot.cycles.since(start.counts[CYCLES_AT]));
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
        reading.lock = self.lock;
        (reading.time_enabled_ns, reading.time_running_ns) = self.times_ns;
        reading.slots = self.registers.slots;
        reading.ratios = self.registers.ratios;
        reading.counts[INSTRUCTIONS_AT] = self.instructions.value;
        reading.counts[CYCLES_AT] = self.cycles.value;
    }
}
