//! Plain counters in one group, by the table of a CPU.
//!
//! The table of the CPU says which events form the group and what their counts mean: the categories
//! or a metric group. The counters are read in user code if the kernel allows it, otherwise with
//! read(), which makes a window costlier. They are never reset, so that the kernel's protocol for
//! plain events holds.

use std::cell::Cell;
use std::rc::Rc;

use super::doubts;
use super::opener::Opener;
use super::readout::{Presence, Readout};
use super::self_check;
use super::syscalls::{Event, current_cpu};
use super::system::CpuIdentity;
use super::user_reads::UserReads;
use crate::cpu::{self, Counts, CpuTable, Form, Formula, MAX_EVENTS, MetricGroup};
use crate::error::OpenError;
use crate::{MAX_COUNTERS, Reading, clock};
use topdown_run::category::Category;
use topdown_run::sample::{Flags, GroupCounts, Level1, Sample};

const _: () = assert!(MAX_EVENTS <= MAX_COUNTERS);

/// Words before the counts in a group read.
const HEADER_WORDS: usize = 3;

/// The categories of the self-check's loop must add up to all slots within this fraction. A wrong
/// pipeline width is off by more; events that a real core misses or double-counts amount to less.
const TOLERANCE: f64 = 0.1;

/// The same for samples, which are longer.
const SAMPLE_TOLERANCE: f64 = 0.2;

/// The counted events, and the meaning of their counts.
#[derive(Clone, Copy)]
pub(super) struct Plan {
    pub events: &'static [cpu::Event],
    /// The position of the event that counts cycles.
    pub cycles_at: Option<usize>,
    pub instructions_at: Option<usize>,
    /// The formula of the categories. A metric group has none: its counts are passed on.
    pub split: Option<&'static Formula>,
    /// Counts that give plausible categories.
    pub example_counts: &'static [u64],
}

impl Plan {
    pub fn for_form(form: &'static Form) -> Plan {
        let at = |wanted| form.events.iter().position(|event| Some(*event) == wanted);
        Plan {
            events: form.events,
            cycles_at: at(form.cycles),
            instructions_at: at(form.instructions),
            split: Some(form.split),
            example_counts: form.example.counts,
        }
    }

    /// Returns a sample without windows, time and doubts. Takes one count for each event.
    pub fn sample(&self, counts: &[u64], slots_per_cycle: u32) -> Sample {
        let all = Counts::new(self.events, counts.iter().copied(), slots_per_cycle);
        let split = self.split.map(|formula| formula(&all));
        let group_counts = match split {
            None => GroupCounts::new(counts),
            Some(_) => None,
        };
        Sample {
            slots: split.map(|split| split.slots as u64),
            level1: split.map(|split| split.level1),
            level2: split.and_then(|split| split.level2),
            instructions: self.instructions_at.map(|at| counts[at]),
            cycles: self.cycles_at.map(|at| counts[at]),
            group_counts,
            ..Sample::EMPTY
        }
    }

    /// Returns the events' names and codes.
    pub fn names_and_codes(&self) -> Vec<(&'static str, u64)> {
        let events = self.events.iter();
        events.map(|event| (event.name, event.config)).collect()
    }

    pub fn for_group(group: &'static MetricGroup) -> Plan {
        Plan {
            events: group.events,
            cycles_at: None,
            instructions_at: None,
            split: None,
            example_counts: &[],
        }
    }
}

impl std::fmt::Debug for Plan {
    #[inline]
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Plan")
            .field("events", &self.events)
            .finish_non_exhaustive()
    }
}

/// An enabled group of the calling thread.
#[derive(Debug)]
pub(super) struct ExactGroup {
    leader: Event,
    /// Kept open; read through their pages or through the leader.
    _members: Vec<Event>,
    /// One page per event of the plan, in its order.
    reads: Rc<UserReads>,
    plan: Plan,
    slots_per_cycle: u32,
    /// Whether user code reads the counters.
    reads_in_user_code: bool,
    /// Doubts about the start of a window, and what read() counted there if it is needed.
    start_flags: Cell<Flags>,
    start: Cell<Readout>,
}

impl ExactGroup {
    /// Opens the best form of `table` that this machine can count, and proves that it counts. Also
    /// returns why the next better form cannot be counted, if there is one.
    ///
    /// # Errors
    /// Returns why the least demanding form cannot be counted.
    pub fn open(
        opener: &Opener<'_>,
        table: &'static CpuTable,
        slots_per_cycle: u32,
    ) -> Result<(ExactGroup, &'static Form, Option<OpenError>), OpenError> {
        let mut refusal = None;
        for form in table.forms() {
            match ExactGroup::open_plan(opener, table, Plan::for_form(form), slots_per_cycle) {
                Ok(group) => return Ok((group, form, refusal)),
                // No form is allowed.
                Err(error @ (OpenError::PermissionDenied { .. } | OpenError::Forbidden { .. })) => {
                    return Err(error);
                }
                Err(error) => refusal = Some(error),
            }
        }
        Err(refusal.expect("a table that counts has a form"))
    }

    /// Opens a metric group of `table`, and proves that it counts.
    ///
    /// # Errors
    /// Returns why this machine cannot count it.
    pub fn open_group(
        opener: &Opener<'_>,
        table: &'static CpuTable,
        group: &'static MetricGroup,
        slots_per_cycle: u32,
    ) -> Result<ExactGroup, OpenError> {
        ExactGroup::open_plan(opener, table, Plan::for_group(group), slots_per_cycle)
    }

    #[inline(never)]
    fn open_plan(
        opener: &Opener<'_>,
        table: &CpuTable,
        plan: Plan,
        slots_per_cycle: u32,
    ) -> Result<ExactGroup, OpenError> {
        let first = plan.events[0];
        let leader = opener.leader(first.name, first.config)?;
        let members = opener.members(&plan.names_and_codes()[1..], &leader);
        let members = members.map_err(|error| match error {
            OpenError::Rejected { location, .. } => OpenError::GroupTooLarge {
                location,
                needed: table.general_counters_for(plan.events, false).needed,
            },
            other => other,
        })?;
        let mut pages = vec![opener.map(first.name, &leader)?];
        for (event, member) in plan.events[1..].iter().zip(&members) {
            pages.push(opener.map(event.name, member)?);
        }
        let mut group = ExactGroup {
            leader,
            _members: members,
            reads: Rc::new(UserReads::new(pages)),
            plan,
            slots_per_cycle,
            reads_in_user_code: false,
            start_flags: Cell::default(),
            start: Cell::default(),
        };
        group
            .leader
            .enable()
            .map_err(opener.control(first.name, "enable"))?;
        self_check::group_times(opener, first.name, &group.leader).map_err(
            |error| match error {
                OpenError::NeverScheduled { .. } => {
                    too_few_counters(opener, table, plan.events).unwrap_or(error)
                }
                other => other,
            },
        )?;
        // An index of 0 on the PMU: the kernel does not let user code read. On Arm, the page claims
        // otherwise.
        group.reads_in_user_code = group
            .reads
            .pages()
            .all(|page| page.allows_rdpmc() && page.index() != 0);
        group.check(opener)?;
        Ok(group)
    }

    /// Checks the counters of a loop. An event that a CPU lacks, or that a hypervisor does not pass
    /// through, opens successfully and counts 0.
    #[inline(never)]
    fn check(&self, opener: &Opener<'_>) -> Result<(), OpenError> {
        let start = Reading::from_clock();
        self.prepare();
        if self.reads_in_user_code && !self.reads.begin() {
            self.restart();
        }
        let failed = |problem| OpenError::SelfCheck {
            location: opener.location(self.plan.events[0].name),
            problem,
        };
        // Another CPU is harmless, and categories that do not add up are reported below.
        let are_usable = |flags: Flags| {
            if flags.intersects(Flags::WENT_BACKWARDS | Flags::NOT_COUNTING) {
                Err(failed(format!("its counts are unusable: {flags}")))
            } else {
                Ok(())
            }
        };
        are_usable(self.start_flags.get())?;
        self_check::spin();
        let window = self.end(self.reads_in_user_code && self.reads.look(), &start);
        are_usable(window.flags)?;
        check_sample(opener, self.plan.events[0].name, &self.completed(&window))
    }

    pub fn plan(&self) -> Plan {
        self.plan
    }

    /// Returns the width of the pipeline.
    pub fn slots_per_cycle(&self) -> u32 {
        self.slots_per_cycle
    }

    /// Returns whether the counters are read without system calls.
    pub fn reads_in_user_code(&self) -> bool {
        self.reads_in_user_code
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

    /// Returns the reads in user code, if the kernel allows them.
    pub fn user_reads(&self) -> Option<&Rc<UserReads>> {
        self.reads_in_user_code.then_some(&self.reads)
    }

    /// Prepares a window whose counters are then read in user code, or begins it.
    #[inline]
    pub fn prepare(&self) {
        self.start_flags.set(Flags::NONE);
        if !self.reads_in_user_code && !self.begin_with_read() {
            self.restart();
        }
    }

    /// Begins a window after that failed once.
    #[cold]
    pub fn restart(&self) {
        if self.reads_in_user_code && self.reads.start() {
            return;
        }
        // A pinned group that lost the PMU stays off it until it is enabled again.
        let _ = self.leader.enable();
        let is_counting = if self.reads_in_user_code {
            self.reads.start()
        } else {
            self.begin_with_read()
        };
        if !is_counting {
            self.start_flags.set(Flags::NOT_COUNTING);
        }
    }

    #[inline(never)]
    fn begin_with_read(&self) -> bool {
        let readout = self.readout();
        self.start.set(readout);
        readout.flags == Flags::NONE
    }

    /// Reads the group with read().
    fn readout(&self) -> Readout {
        let mut words = [0; HEADER_WORDS + MAX_COUNTERS];
        let wanted = HEADER_WORDS + self.plan.events.len();
        let filled = self.leader.read_group(&mut words);
        let mut readout = Readout {
            presence: Presence {
                lock: self.reads.leader().lock(),
                cpu: current_cpu(),
                time_enabled_ns: words[1],
                time_running_ns: words[2],
            },
            ..Readout::default()
        };
        readout.counts.copy_from_slice(&words[HEADER_WORDS..]);
        if !filled.is_ok_and(|filled| filled == wanted) {
            readout.flags = Flags::NOT_COUNTING;
        }
        readout
    }

    /// Ends a window, whose counters user code has read. Returns its counts, which
    /// [`completed`](ExactGroup::completed) turns into categories.
    pub fn end(&self, is_unmoved: bool, start: &Reading) -> Sample {
        let (at_ns, doubts, advances);
        if self.reads_in_user_code {
            at_ns = clock::now_ns();
            doubts = self.reads.disturbance(is_unmoved).flags;
            advances = self.reads.advances();
        } else {
            let (first, last) = (self.start.get(), self.readout());
            at_ns = clock::now_ns();
            doubts = last.flags | doubts::between(&first.presence, &last.presence);
            advances = last.since(&first);
        }
        let mut flags = self.start_flags.get() | doubts;
        match advances {
            None => flags |= Flags::WENT_BACKWARDS,
            Some(advances) if self.is_stuck(&advances) => flags |= Flags::NOT_COUNTING,
            Some(_) => {}
        }
        let mut window = Sample::from_window(at_ns.saturating_sub(start.at_ns), flags);
        let is_lost = flags.intersects(Flags::NOT_COUNTING | Flags::WENT_BACKWARDS);
        // Zeros are placeholders, which the flags mark.
        let counts = advances.filter(|_| !is_lost).unwrap_or_default();
        window.group_counts = Some(self.group_counts(counts));
        window
    }

    /// A counter that stood still is not there: the readings take cycles and instructions.
    #[inline]
    fn is_stuck(&self, advances: &[u64; MAX_COUNTERS]) -> bool {
        let is_zero = |at: Option<usize>| at.is_some_and(|at| advances[at] == 0);
        is_zero(self.plan.cycles_at) || is_zero(self.plan.instructions_at)
    }

    /// Splits the counts of all windows of a sample into categories, as if they were one window: a
    /// formula for each would cost several hundred instructions.
    pub fn completed(&self, sample: &Sample) -> Sample {
        if self.plan.split.is_none() {
            return *sample;
        }
        let counts = match sample.group_counts {
            Some(counts) => counts,
            // Some window was not read.
            None if sample.flags.intersects(Flags::NOT_COUNTING) => {
                self.group_counts([0; MAX_COUNTERS])
            }
            None => return *sample,
        };
        let mut completed = Sample {
            windows: sample.windows,
            wall_ns: sample.wall_ns,
            activity: sample.activity,
            flags: sample.flags,
            ..self.plan.sample(counts.as_slice(), self.slots_per_cycle)
        };
        if let (Some(slots), Some(level1)) = (completed.slots, completed.level1) {
            let is_split = off_by(&level1, slots as f64) <= SAMPLE_TOLERANCE * slots as f64;
            if !is_split && !doubts::are_few(slots, sample.windows) {
                completed.flags |= Flags::BAD_RATIOS;
            }
        }
        completed
    }

    fn group_counts(&self, counts: [u64; MAX_COUNTERS]) -> GroupCounts {
        GroupCounts::first_of(counts, self.plan.events.len())
    }
}

/// Checks what the group with this leader counted of the self-check's loop.
pub(super) fn check_sample(
    opener: &Opener<'_>,
    leader: &'static str,
    sample: &Sample,
) -> Result<(), OpenError> {
    let Some(counts) = sample.group_counts else {
        return check_categories(opener, leader, sample);
    };
    // Every group has an event that such a loop advances by more than its number of turns.
    let most = counts.as_slice().iter().max().copied().unwrap_or(0);
    if most >= self_check::SPIN_TURNS {
        return Ok(());
    }
    Err(OpenError::SelfCheck {
        location: opener.location(leader),
        problem: format!(
            "a loop of {} turns moved no counter of its group by more than {most}",
            self_check::SPIN_TURNS
        ),
    })
}

/// Checks the categories of the self-check's loop, counted by the group with this leader.
fn check_categories(
    opener: &Opener<'_>,
    leader: &'static str,
    sample: &Sample,
) -> Result<(), OpenError> {
    let failed = |problem| OpenError::SelfCheck {
        location: opener.location(leader),
        problem,
    };
    let slots = sample.slots.unwrap_or(0);
    let level1 = sample.level1.unwrap_or_default();
    if slots < self_check::SPIN_TURNS || level1.slots.retiring < self_check::SPIN_TURNS as f64 {
        return Err(failed(format!(
            "a loop of {} turns took {slots} slots, {} of them retiring",
            self_check::SPIN_TURNS,
            level1.slots.retiring
        )));
    }
    let slots = slots as f64;
    let add_up = off_by(&level1, slots) <= TOLERANCE * slots;
    // A loop of this length always waits for the frontend and the backend at times.
    let mut never = String::new();
    for category in [Category::FrontendBound, Category::BackendBound] {
        if level1.slots[category] <= 0.0 {
            never += if never.is_empty() { "" } else { " and " };
            never += category.name();
        }
    }
    if !never.is_empty() && (!add_up || CpuIdentity::read(opener.paths).hypervisor) {
        return Err(OpenError::HiddenEvents {
            location: opener.location(leader),
            categories: never,
        });
    }
    if !add_up {
        return Err(failed(format!(
            "the categories of {slots} slots do not add up to them: {}",
            in_words(&level1)
        )));
    }
    Ok(())
}

/// Returns how far the categories are off: their sum from `slots`, or one below zero.
fn off_by(level1: &Level1, slots: f64) -> f64 {
    let missing = (level1.total_slots() - slots).abs();
    missing.max(level1.below_zero_slots())
}

fn in_words(level1: &Level1) -> String {
    let mut words = String::new();
    for (category, slots) in level1.slots.iter() {
        let separator = if words.is_empty() { "" } else { ", " };
        words += &format!("{separator}{} {slots:.0}", category.name());
    }
    if let Some(slots) = level1.smt_contention_slots {
        words += &format!(", SMT contention {slots:.0}");
    }
    words
}

/// Returns an error if the NMI watchdog leaves too few counters for the group.
fn too_few_counters(
    opener: &Opener<'_>,
    table: &CpuTable,
    events: &[cpu::Event],
) -> Option<OpenError> {
    let counters = table.general_counters_for(events, opener.nmi_watchdog()?);
    (!counters.is_enough()).then(|| OpenError::TooFewCounters {
        location: opener.location(events[0].name),
        needed: counters.needed,
        available: counters.available,
    })
}
