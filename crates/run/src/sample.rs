//! One sample: where the issue slots of its windows went.
//!
//! This module knows how windows add up and which doubts a sample carries. A source obtains
//! windows from raw counts, and the gate decides what a doubt means for a verdict.

use std::fmt;

use crate::activity::Activity;
use crate::category::PerCategory;
use crate::event::Events;

/// Issue slots by level-1 category, as [`Sample::level1`] holds them.
///
/// The values are signed: the difference of two 8-bit ratios can fall below zero by as much as
/// [`Sample::resolution_slots`]. They are clamped only for display, since clamping before averaging
/// biases the mean.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Level1 {
    /// The slots of each category.
    pub slots: PerCategory<f64>,
    /// Slots given to the other hardware thread: a fifth category on AMD Zen 4 and later.
    pub smt_contention_slots: Option<f64>,
}

impl Level1 {
    /// Returns the sum of all categories: close to [`Sample::slots`], but not exactly equal on any
    /// hardware.
    pub fn total_slots(&self) -> f64 {
        self.slots.sum() + self.smt_contention_slots.unwrap_or(0.0)
    }

    /// Returns how far the lowest category is below zero, or 0 if none is.
    pub fn below_zero_slots(&self) -> f64 {
        let smt_contention = self.smt_contention_slots.unwrap_or(0.0);
        let all = self.slots.into_array().into_iter();
        (-all.fold(smt_contention, f64::min)).max(0.0)
    }

    /// Returns whether no category is further below zero than a count of `slots` with this
    /// resolution can explain. Exact counts also have some tolerance: a micro-operation issued in
    /// one window can retire in the next.
    pub fn is_possible(&self, slots: f64, resolution_fraction: f64) -> bool {
        const AT_THE_EDGES: f64 = 0.05;
        self.below_zero_slots() <= (resolution_fraction + AT_THE_EDGES) * slots
    }

    /// Adds category by category.
    pub fn plus(&self, other: &Level1) -> Level1 {
        Level1 {
            slots: self.slots + other.slots,
            smt_contention_slots: both(
                self.smt_contention_slots,
                other.smt_contention_slots,
                |a, b| a + b,
            ),
        }
    }
}

/// The largest number of events in a metric group.
pub const MAX_GROUP_EVENTS: usize = 12;

/// The counts of a metric group's events, in the order of the group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GroupCounts {
    counts: [u64; MAX_GROUP_EVENTS],
    events: usize,
}

impl GroupCounts {
    /// Creates the counts of a group of at most [`MAX_GROUP_EVENTS`] events, or returns `None` if
    /// there are more.
    pub fn new(counts: &[u64]) -> Option<GroupCounts> {
        let mut group = GroupCounts {
            events: counts.len(),
            ..GroupCounts::default()
        };
        group
            .counts
            .get_mut(..counts.len())?
            .copy_from_slice(counts);
        Some(group)
    }

    /// Creates the counts of a group of this many events from those at the beginning of `counts`.
    ///
    /// # Panics
    /// Panics if there are more than [`MAX_GROUP_EVENTS`].
    #[inline]
    pub fn first_of(counts: [u64; MAX_GROUP_EVENTS], events: usize) -> GroupCounts {
        assert!(events <= MAX_GROUP_EVENTS, "a group of {events} events");
        GroupCounts { counts, events }
    }

    /// Returns one count per event.
    pub fn as_slice(&self) -> &[u64] {
        &self.counts[..self.events]
    }

    /// Adds event by event. Returns `None` for counts of different groups.
    pub fn plus(&self, other: &GroupCounts) -> Option<GroupCounts> {
        let mut sum = *self;
        sum.add(other);
        (self.events == other.events).then_some(sum)
    }

    /// Adds event by event.
    #[inline]
    fn add(&mut self, other: &GroupCounts) {
        for (count, more) in self.counts.iter_mut().zip(&other.counts) {
            *count = count.wrapping_add(*more);
        }
    }
}

/// What criterion keeps for one call of a benchmark's closure: the sum of its windows.
///
/// A window is the time from `start` to `end`. What a source does not measure is `None`, never 0.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Sample {
    /// Number of windows added up.
    pub windows: u64,
    /// Wall-clock time inside the windows.
    pub wall_ns: u64,
    /// Issue slots that elapsed for this thread.
    pub slots: Option<u64>,
    /// Where the slots went.
    pub level1: Option<Level1>,
    /// The slots of each category's [measured part](crate::category::Category::measured_part), on
    /// CPUs that report it.
    pub level2: Option<PerCategory<f64>>,
    /// Retired instructions.
    pub instructions: Option<u64>,
    /// Unhalted core cycles.
    pub cycles: Option<u64>,
    /// Counts of other events.
    pub events: Events<u64>,
    /// The counts of a metric group, in launches that measure one in place of level 1.
    pub group_counts: Option<GroupCounts>,
    /// What the threads of the process did in its watched windows.
    pub activity: Option<Activity>,
    /// No category is off by more than this many slots. 0 for exact counts.
    pub resolution_slots: f64,
    /// Doubts about this sample.
    pub flags: Flags,
}

impl Sample {
    /// The sum of no windows, to which any sample can be added.
    pub const EMPTY: Sample = Sample {
        windows: 0,
        wall_ns: 0,
        slots: None,
        level1: None,
        level2: None,
        instructions: None,
        cycles: None,
        events: Events::NONE,
        group_counts: None,
        activity: None,
        resolution_slots: 0.0,
        flags: Flags::NONE,
    };

    /// Returns a window of which only the time is known so far.
    // Unlike `..EMPTY` it copies none of the some thousand bytes, most of which mean nothing.
    #[inline(always)]
    pub fn from_window(wall_ns: u64, flags: Flags) -> Sample {
        Sample {
            windows: 1,
            wall_ns,
            slots: None,
            level1: None,
            level2: None,
            instructions: None,
            cycles: None,
            events: Events::default(),
            group_counts: None,
            activity: None,
            resolution_slots: 0.0,
            flags,
        }
    }

    /// Returns this sample with the windows of `other`. A quantity known to only one of two
    /// non-empty samples is unknown in the sum.
    pub fn plus(&self, other: &Sample) -> Sample {
        let mut sum = *self;
        sum.add(other);
        sum
    }

    /// Like [`plus`](Sample::plus), in place: every window is added.
    pub fn add(&mut self, other: &Sample) {
        if other.windows == 0 {
            return;
        }
        if self.windows == 0 {
            self.set(other);
            return;
        }
        self.windows += other.windows;
        self.wall_ns = self.wall_ns.saturating_add(other.wall_ns);
        self.slots = both(self.slots, other.slots, |a, b| a + b);
        self.level1 = both(self.level1, other.level1, |a, b| a.plus(&b));
        self.level2 = both(self.level2, other.level2, |a, b| a + b);
        self.instructions = both(self.instructions, other.instructions, |a, b| a + b);
        self.cycles = both(self.cycles, other.cycles, |a, b| a + b);
        match (&mut self.group_counts, &other.group_counts) {
            (Some(counts), Some(more)) if counts.events == more.events => counts.add(more),
            _ => self.group_counts = None,
        }
        // Not every window is watched.
        if let Some(more) = other.activity {
            self.activity = Some(self.activity.map_or(more, |activity| activity.plus(&more)));
        }
        self.resolution_slots += other.resolution_slots;
        self.flags |= other.flags;
        if !self.events.is_empty() {
            self.add_modelled(other);
        }
    }

    /// Adds what only modelled windows have.
    #[inline(never)]
    fn add_modelled(&mut self, other: &Sample) {
        self.events = self.events.combined(&other.events, |a, b| a + b);
    }

    /// Like an assignment, without copying what neither of the two has: every window is copied.
    pub fn set(&mut self, other: &Sample) {
        let Sample {
            windows,
            wall_ns,
            slots,
            level1,
            level2,
            instructions,
            cycles,
            ref events,
            group_counts,
            activity,
            resolution_slots,
            flags,
        } = *other;
        self.windows = windows;
        self.wall_ns = wall_ns;
        self.slots = slots;
        self.level1 = level1;
        self.level2 = level2;
        self.instructions = instructions;
        self.cycles = cycles;
        self.group_counts = group_counts;
        self.activity = activity;
        self.resolution_slots = resolution_slots;
        self.flags = flags;
        if !events.is_empty() || !self.events.is_empty() {
            self.events = *events;
        }
    }

    /// Returns the one number that criterion keeps: slots, or nanoseconds if there are no slots.
    ///
    /// It is at least 1, since criterion drops a benchmark that has a sample of 0. An integer below
    /// 2^53 passes through criterion's `f64` unchanged.
    pub fn scalar(&self) -> f64 {
        self.slots.unwrap_or(self.wall_ns).max(1) as f64
    }

    /// Returns the resolution as a fraction (possibly above 1) of this sample's slots.
    pub fn resolution_fraction(&self) -> Option<f64> {
        match self.slots {
            Some(slots) if slots > 0 => Some(self.resolution_slots / slots as f64),
            _ => None,
        }
    }
}

/// A window with only its time, as of `iter_custom` closures that measure time by themselves.
impl From<std::time::Duration> for Sample {
    fn from(duration: std::time::Duration) -> Sample {
        Sample {
            windows: 1,
            wall_ns: u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX),
            ..Sample::EMPTY
        }
    }
}

fn both<T>(a: Option<T>, b: Option<T>, combine: impl Fn(T, T) -> T) -> Option<T> {
    Some(combine(a?, b?))
}

/// Doubts about a sample. Each is a bit, and a sum of windows has the doubts of all of them.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct Flags(u32);

impl Flags {
    /// No doubt.
    pub const NONE: Flags = Flags(0);
    /// The thread was switched out inside a window. The slots are still only its own; each switch
    /// costs one step of the 8-bit ratios, which [`Sample::resolution_slots`] includes.
    pub const SWITCHED: Flags = Flags(1);
    /// A window began on one CPU and ended on another of the same kind. The counts are right, since
    /// the kernel takes them along.
    pub const MIGRATED: Flags = Flags(1 << 1);
    /// A counter ended below where it began: something else reset it. The counts are unusable.
    pub const WENT_BACKWARDS: Flags = Flags(1 << 2);
    /// The counters were not on the PMU for the whole window, or another window began inside it.
    /// The counts are unusable.
    pub const NOT_COUNTING: Flags = Flags(1 << 3);
    /// The ratio register did not add up to 100 %. The categories are unusable.
    pub const BAD_RATIOS: Flags = Flags(1 << 4);
    /// The window has so few slots that the cost of measuring shows.
    pub const FEW_SLOTS: Flags = Flags(1 << 5);

    /// Every flag with its name in files and reports.
    pub const NAMES: [(Flags, &'static str); 6] = [
        (Flags::SWITCHED, "switched"),
        (Flags::MIGRATED, "migrated"),
        (Flags::WENT_BACKWARDS, "went-backwards"),
        (Flags::NOT_COUNTING, "not-counting"),
        (Flags::BAD_RATIOS, "bad-ratios"),
        (Flags::FEW_SLOTS, "few-slots"),
    ];

    /// The flags that make all counts of a sample untrustworthy. The gate drops such samples.
    pub const UNUSABLE: Flags =
        Flags(Flags::WENT_BACKWARDS.0 | Flags::NOT_COUNTING.0 | Flags::BAD_RATIOS.0);

    /// Returns the bits, as stored in files.
    pub const fn bits(self) -> u32 {
        self.0
    }

    /// Returns the flags for the bits of a file, or `None` if this version does not know one of
    /// them.
    #[inline]
    pub fn from_bits(bits: u32) -> Option<Flags> {
        let known = Flags::NAMES.iter().fold(0, |all, (flag, _)| all | flag.0);
        (bits & !known == 0).then_some(Flags(bits))
    }

    /// Returns whether any flag of `other` is set.
    pub const fn intersects(self, other: Flags) -> bool {
        self.0 & other.0 != 0
    }
}

impl std::ops::BitOr for Flags {
    type Output = Flags;
    fn bitor(self, other: Flags) -> Flags {
        Flags(self.0 | other.0)
    }
}

impl std::ops::BitOrAssign for Flags {
    fn bitor_assign(&mut self, other: Flags) {
        self.0 |= other.0;
    }
}

impl fmt::Display for Flags {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut separator = "";
        for (flag, name) in Flags::NAMES {
            if self.intersects(flag) {
                write!(f, "{separator}{name}")?;
                separator = ", ";
            }
        }
        if separator.is_empty() {
            f.write_str("none")
        } else {
            Ok(())
        }
    }
}

impl fmt::Debug for Flags {
    #[inline]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Flags({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn window(slots: u64) -> Sample {
        let quarter = slots as f64 / 4.0;
        Sample {
            windows: 1,
            wall_ns: 10,
            slots: Some(slots),
            level1: Some(Level1 {
                slots: PerCategory::from_fn(|_| quarter),
                smt_contention_slots: None,
            }),
            resolution_slots: 1.0,
            ..Sample::EMPTY
        }
    }

    /// A closure of `iter_custom` may return any duration.
    #[test]
    fn very_long_times_do_not_overflow() {
        let years = Sample::from(std::time::Duration::from_secs(500 * 366 * 86_400));
        assert_eq!(years.plus(&years).wall_ns, u64::MAX);
        assert_eq!(Sample::from(std::time::Duration::MAX).wall_ns, u64::MAX);
    }

    #[test]
    fn windows_add_up_with_their_flags() {
        let mut second = window(200);
        second.flags = Flags::SWITCHED;
        let sum = Sample::EMPTY.plus(&window(100)).plus(&second);
        assert_eq!(sum.windows, 2);
        assert_eq!(sum.slots, Some(300));
        assert_eq!(sum.level1.unwrap().total_slots(), 300.0);
        assert_eq!(sum.resolution_slots, 2.0);
        assert_eq!(sum.flags, Flags::SWITCHED);
    }

    #[test]
    fn value_unknown_in_one_window_is_unknown_in_sum() {
        let timed = Sample {
            windows: 1,
            wall_ns: 5,
            ..Sample::EMPTY
        };
        let sum = window(100).plus(&timed);
        assert_eq!(sum.slots, None);
        assert_eq!(sum.wall_ns, 15);
    }

    #[test]
    fn group_counts_add_up_per_event() {
        let counts = |counts: &[u64]| Sample {
            group_counts: GroupCounts::new(counts),
            ..window(100)
        };
        let sum = counts(&[1, 2]).plus(&counts(&[10, 20]));
        assert_eq!(sum.group_counts.unwrap().as_slice(), [11, 22]);
        assert_eq!(counts(&[1, 2]).plus(&counts(&[1])).group_counts, None);
        assert_eq!(GroupCounts::new(&[0; MAX_GROUP_EVENTS + 1]), None);
    }

    #[test]
    fn scalar_is_slots_else_time_and_never_zero() {
        assert_eq!(window(400).scalar(), 400.0);
        assert_eq!(
            Sample {
                windows: 1,
                wall_ns: 7,
                ..Sample::EMPTY
            }
            .scalar(),
            7.0
        );
        assert_eq!(Sample::EMPTY.scalar(), 1.0);
    }

    #[test]
    fn flags_have_names_and_unknown_bits_are_refused() {
        assert_eq!(
            (Flags::SWITCHED | Flags::FEW_SLOTS).to_string(),
            "switched, few-slots"
        );
        assert_eq!(Flags::NONE.to_string(), "none");
        assert_eq!(Flags::from_bits(3), Some(Flags::SWITCHED | Flags::MIGRATED));
        assert_eq!(Flags::from_bits(1 << 30), None);
    }
}
