//! Slots, PERF_METRICS and a few plain counters in one group, read with RDPMC.
//!
//! The registers of this group are not read as the kernel's header prescribes for other events.
//! Their raw values are continuous across context switches, since the kernel saves and restores
//! them, while the page's `offset` counts the past a second time. One metric event is enough: all
//! of them name the same register, which holds all eight fractions.

use std::cell::Cell;
use std::rc::Rc;

use super::doubts;
use super::metrics_shape::{MetricsShape, RETIRING, SLOTS};
use super::opener::Opener;
use super::ratios::{Registers, resolution_slots, split_between};
use super::self_check;
use super::syscalls::Event;
use super::user_reads::UserReads;
use crate::cpu::{MAX_CORRECTION_EVENTS, Split};
use crate::error::OpenError;
use crate::{MAX_COUNTERS, Reading, clock};
use topdown_run::sample::{Flags, Sample};

/// Page indices: Linux, arch/x86/include/asm/perf_event.h.
const SLOTS_INDEX: u32 = 0x4000_0004;
const METRICS_INDEX: u32 = 0x2000_0001;

/// The slots register has 48 bits.
const SLOTS_MASK: u64 = (1 << 48) - 1;

/// Positions of the counters in a reading. The events of a correction come last.
const SLOTS_AT: usize = 0;
const RATIOS_AT: usize = 1;
const INSTRUCTIONS_AT: usize = 2;
const CYCLES_AT: usize = 3;
const CORRECTION_AT: usize = 4;
const _: () = assert!(CORRECTION_AT + MAX_CORRECTION_EVENTS <= MAX_COUNTERS);

/// A reset precedes a window if this many times the slots of the window before have passed since
/// the last one.
///
/// The resolution of a window is a share of its slots and of twice those since the reset. A reset
/// is a system call, which short windows feel. So a window has a resolution of
/// (2 x 4 + 1) / 255 = 3.5 % of its slots or better, and most windows make no system call.
/// Rejected: ever longer intervals, whose resolution soon exceeds the window.
const WINDOWS_WITHOUT_RESET: u64 = 4;
const MAX_SLOTS_WITHOUT_RESET: u64 = doubts::FEW_SLOTS;

/// Shorter windows ask for no resets: their own cost, some 120 slots, is above 5 % of them, and
/// they decide nothing. Judgement.
const SHORT_SLOTS: u64 = 2500;

/// Returns how many slots may precede a window of about `window_slots`.
fn slots_without_reset(window_slots: u64) -> u64 {
    if window_slots < SHORT_SLOTS {
        return MAX_SLOTS_WITHOUT_RESET;
    }
    MAX_SLOTS_WITHOUT_RESET.min(WINDOWS_WITHOUT_RESET * window_slots)
}

/// A window with fewer slots than this fraction of its cycles' slots lost some: the registers were
/// cleared inside it. Hardware threads share the slots of a core.
const MIN_SLOTS_FRACTION: f64 = 0.8;
const MIN_SHARED_SLOTS_FRACTION: f64 = 0.4;

/// The cycles are read before the slots at the start and after them at the end, so this many may
/// lie outside the window of the slots.
const CYCLES_OF_READINGS: u64 = 2000;

/// An enabled group of the calling thread.
#[derive(Debug)]
pub(super) struct MetricsGroup {
    leader: Event,
    /// Slots, PERF_METRICS, instructions, cycles, and the events of the correction.
    reads: Rc<UserReads>,
    /// Kept open; read through their pages.
    _retiring: Event,
    _plain_events: Vec<Event>,
    shape: MetricsShape,
    /// The slots of the previous window.
    last_slots: Cell<u64>,
    /// Minimum slots per cycle; 0 if the width of the pipeline is unknown.
    min_slots_per_cycle: f64,
    /// Doubts about the start of a window.
    start_flags: Cell<Flags>,
}

impl MetricsGroup {
    /// Opens the group and proves that it counts. Returns `None` if the kernel forbids RDPMC.
    ///
    /// The order matters: if the leader runs before its members join, it is preset like a plain
    /// counter, and the ratios then refer to 2^47 slots that never happened. So it is opened
    /// disabled, enabled when the group is complete, and reset once it is on the PMU.
    #[inline(never)]
    pub fn open(
        opener: &Opener<'_>,
        shape: MetricsShape,
    ) -> Result<Option<MetricsGroup>, OpenError> {
        let leader = if shape.clears {
            opener.clearing_leader(SLOTS.0, SLOTS.1)?
        } else {
            opener.leader(SLOTS.0, SLOTS.1)?
        };
        let retiring = opener.member(RETIRING.0, RETIRING.1, &leader)?;
        let plain_events = opener.members(&shape.plain_events(), &leader)?;
        let slots = opener.map(SLOTS.0, &leader)?;
        if !slots.allows_rdpmc() {
            return Ok(None);
        }
        let mut pages = vec![slots, opener.map(RETIRING.0, &retiring)?];
        for ((name, _), event) in shape.plain_events().iter().zip(&plain_events) {
            pages.push(opener.map(name, event)?);
        }
        let shares_cores = opener.paths.smt_active() != Some(false);
        let min_of_cycles = if shares_cores {
            MIN_SHARED_SLOTS_FRACTION
        } else {
            MIN_SLOTS_FRACTION
        };
        let group = MetricsGroup {
            reads: Rc::new(UserReads::for_registers(pages, shape.clears)),
            leader,
            _retiring: retiring,
            _plain_events: plain_events,
            shape,
            last_slots: Cell::new(0),
            min_slots_per_cycle: f64::from(shape.slots_per_cycle.unwrap_or(0)) * min_of_cycles,
            start_flags: Cell::default(),
        };
        let failed = |action| opener.control(SLOTS.0, action);
        group.leader.enable().map_err(failed("enable"))?;
        group.leader.reset().map_err(failed("reset"))?;
        group.check(opener)?;
        group.leader.reset().map_err(failed("reset"))?;
        Ok(Some(group))
    }

    #[inline(never)]
    fn check(&self, opener: &Opener<'_>) -> Result<(), OpenError> {
        let plain_events = self.shape.plain_events();
        let events = [&[SLOTS, RETIRING], &plain_events[..]].concat();
        for (at, ((name, _), page)) in events.into_iter().zip(self.reads.pages()).enumerate() {
            let index = page.index();
            match [SLOTS_INDEX, METRICS_INDEX].get(at).copied() {
                _ if index == 0 => return Err(opener.never_scheduled(SLOTS.0)),
                Some(expected) if index != expected => {
                    return Err(OpenError::WrongCounter {
                        location: opener.location(name),
                        index,
                        expected,
                    });
                }
                _ => {}
            }
        }
        self.prepare(0);
        if !self.reads.start() {
            return Err(opener.never_scheduled(SLOTS.0));
        }
        self_check::spin();
        let disturbance = self.reads.disturbance(self.reads.look());
        if disturbance.flags.intersects(Flags::NOT_COUNTING) {
            return Err(opener.never_scheduled(SLOTS.0));
        }
        let (first, last) = self.registers();
        self_check::counted(opener, SLOTS.0, first.slots, last.slots)?;
        self_check::adds_up(opener, last)?;
        for ((name, _), at) in plain_events.into_iter().zip(INSTRUCTIONS_AT..CORRECTION_AT) {
            let least = match at {
                CYCLES_AT => 1,
                _ => self_check::SPIN_TURNS,
            };
            self_check::advanced(opener, name, self.advance(at), least)?;
        }
        // The times in the page are those of its last change; a read() updates them.
        self_check::group_times(opener, SLOTS.0, &self.leader).map(|_| ())
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
        self.leader.enable()?;
        self.leader.reset()
    }

    pub fn user_reads(&self) -> &Rc<UserReads> {
        &self.reads
    }

    /// Prepares a window, whose counters are then read. Returns when it is ready, given when this
    /// began.
    #[inline]
    pub fn prepare(&self, at_ns: u64) -> u64 {
        self.start_flags.set(Flags::NONE);
        if self.shape.clears {
            // Discards what was counted before the window.
            if !self.reads.look() && self.reads.look_at_pages() {
                self.reads.look();
            }
        } else if self.is_reset_due() {
            return self.prepare_with_reset();
        }
        at_ns
    }

    #[cold]
    fn prepare_with_reset(&self) -> u64 {
        self.reset();
        let ready_at_ns = clock::now_ns();
        self.reads.look_at_pages();
        ready_at_ns
    }

    /// Returns whether the slots since the last reset are too many for the next window.
    fn is_reset_due(&self) -> bool {
        let slots = self.reads.leader_count();
        let max_slots = slots_without_reset(self.last_slots.get());
        slots.is_none_or(|slots| slots & SLOTS_MASK > max_slots)
    }

    /// Begins a window after that failed once.
    #[cold]
    pub fn restart(&self) {
        if self.reads.start() {
            return;
        }
        // A pinned group that lost the PMU stays off it until it is enabled again.
        let _ = self.leader.enable();
        self.reset();
        if !self.reads.start() {
            self.start_flags.set(Flags::NOT_COUNTING);
        }
    }

    /// Resets the registers. If that fails, the reading includes the slots since the last reset,
    /// which only widens the resolution.
    fn reset(&self) {
        let _ = self.leader.reset();
    }

    /// Ends a window, whose counters were read.
    pub fn end(&self, is_unmoved: bool, start: &Reading) -> Sample {
        let wall_ns = clock::now_ns().saturating_sub(start.at_ns);
        let disturbance = self.reads.disturbance(is_unmoved);
        let mut flags = self.start_flags.get() | disturbance.flags;
        let (first, last) = self.registers();
        let slots = last.slots.saturating_sub(first.slots);
        let (instructions, cycles) = (self.advance(INSTRUCTIONS_AT), self.advance(CYCLES_AT));
        let least = self.min_slots_per_cycle * cycles.saturating_sub(CYCLES_OF_READINGS) as f64;
        if last.slots < first.slots || (slots as f64) < least {
            flags |= Flags::WENT_BACKWARDS;
        }
        // A counter that stood still is not there: the readings take some of each.
        if slots == 0 || instructions == 0 || cycles == 0 {
            flags |= Flags::NOT_COUNTING;
        }
        if flags.intersects(Flags::NOT_COUNTING | Flags::WENT_BACKWARDS) {
            return self.lost(wall_ns, flags);
        }
        if !first.adds_up() || !last.adds_up() {
            flags |= Flags::BAD_RATIOS;
        }
        self.last_slots.set(slots);
        let mut window = Sample::from_window(wall_ns, flags);
        window.slots = Some(slots);
        let raw = split_between(first, last, self.shape.level2);
        window.level1 = Some(raw.level1);
        window.level2 = raw.level2;
        if self.shape.correction.is_some() {
            let corrected = self.corrected_between(first, last);
            window.level1 = Some(corrected.level1);
            window.level2 = corrected.level2;
        }
        window.instructions = Some(instructions);
        window.cycles = Some(cycles);
        window.resolution_slots = resolution_slots(first.slots, last.slots, disturbance.switches);
        window
    }

    /// Returns a window without counts: zeros are placeholders, which the flags mark.
    #[cold]
    fn lost(&self, wall_ns: u64, flags: Flags) -> Sample {
        Sample {
            slots: Some(0),
            level1: Some(Default::default()),
            level2: self.shape.level2.then(Default::default),
            instructions: Some(0),
            cycles: Some(0),
            ..Sample::from_window(wall_ns, flags)
        }
    }

    #[inline(never)]
    fn corrected_between(&self, first: Registers, last: Registers) -> Split {
        let raw = split_between(first, last, self.shape.level2);
        let events = CORRECTION_AT..INSTRUCTIONS_AT + self.shape.plain_count();
        self.shape.corrected(raw, events.map(|at| self.advance(at)))
    }

    fn advance(&self, at: usize) -> u64 {
        self.reads.advance(at).max(0) as u64
    }

    /// Returns the registers at the two ends of the window that ended last. Slots are read before
    /// ratios: the ratios cover these slots and a few more, never fewer. Neither has a meaningful
    /// offset.
    fn registers(&self) -> (Registers, Registers) {
        let (first_slots, last_slots) = self.reads.ends(SLOTS_AT);
        let (first_ratios, last_ratios) = self.reads.ends(RATIOS_AT);
        let registers = |slots, ratios| Registers {
            slots: slots & SLOTS_MASK,
            ratios,
        };
        let first = if self.shape.clears {
            // Its reading cleared them.
            Registers::default()
        } else {
            registers(first_slots, first_ratios)
        };
        (first, registers(last_slots, last_ratios))
    }
}
