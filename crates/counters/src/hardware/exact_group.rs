//! Plain counters in one group, by the table of a CPU.
//!
//! This module is independent of any CPU: the table says which events form the group and what their
//! counts mean, whether they are the categories or a metric group. The counters are read in user
//! code if the kernel allows it, otherwise with read(). The numbers are the same, but a window then
//! costs more. The counters are never reset, so that the kernel's protocol for plain events holds.

use std::cell::RefCell;
use std::rc::Rc;

use super::doubts;
use super::opener::Opener;
use super::readout::Readout;
use super::self_check;
use super::syscalls::{Event, current_cpu};
use super::system::CpuIdentity;
use super::user_reads::UserReads;
use crate::cpu::{self, Counts, CpuTable, Form, Formula, MAX_EVENTS, MetricGroup};
use crate::error::OpenError;
use crate::{MAX_COUNTERS, clock};
use topdown_run::category::Category;
use topdown_run::sample::{Flags, GroupCounts, Level1, Sample};

const _: () = assert!(MAX_EVENTS <= MAX_COUNTERS);

/// Words before the counts in a group read.
const HEADER_WORDS: usize = 3;

/// The categories of the self-check's loop must add up to all slots within this fraction. A wrong
/// pipeline width is off by more; events that a real core misses or double-counts amount to less.
const TOLERANCE: f64 = 0.1;

/// The same for windows, in which more can happen.
const WINDOW_TOLERANCE: f64 = 0.2;

/// Which events are counted, and what their counts mean.
#[derive(Clone, Copy)]
pub(super) struct Plan {
    pub events: &'static [cpu::Event],
    /// The positions of these events.
    pub cycles_at: Option<usize>,
    pub instructions_at: Option<usize>,
    /// The formula of the categories. A metric group has none: its counts are passed on.
    pub split: Option<&'static Formula>,
    /// Counts of which the formula makes plausible categories.
    #[cfg(feature = "hits")]
    pub example_counts: &'static [u64],
}

impl Plan {
    pub fn of_form(form: &'static Form) -> Plan {
        let at = |wanted| form.events.iter().position(|event| Some(*event) == wanted);
        Plan {
            events: form.events,
            cycles_at: at(form.cycles),
            instructions_at: at(form.instructions),
            split: Some(form.split),
            #[cfg(feature = "hits")]
            example_counts: form.example.counts,
        }
    }

    /// Returns the events' names and codes.
    pub fn names_and_codes(&self) -> Vec<(&'static str, u64)> {
        let events = self.events.iter();
        events.map(|event| (event.name, event.config)).collect()
    }

    pub fn of_group(group: &'static MetricGroup) -> Plan {
        Plan {
            events: group.events,
            cycles_at: None,
            instructions_at: None,
            split: None,
            #[cfg(feature = "hits")]
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
    /// Those of the window that ended last.
    counts: Box<RefCell<Counts>>,
    slots_per_cycle: u32,
    /// Whether user code reads the counters.
    reads_in_user_code: bool,
}

impl ExactGroup {
    /// Opens the best form of `table` that this machine can count, and proves that it counts. Also
    /// returns why the form before it cannot be counted, if there is one.
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
            match ExactGroup::open_plan(opener, table, Plan::of_form(form), slots_per_cycle) {
                Ok(group) => return Ok((group, form, refusal)),
                // No form will be allowed.
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
        ExactGroup::open_plan(opener, table, Plan::of_group(group), slots_per_cycle)
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
            OpenError::Rejected { place, .. } => OpenError::GroupTooLarge {
                place,
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
            counts: Box::new(RefCell::new(Counts::new(plan.events, [], slots_per_cycle))),
            slots_per_cycle,
            reads_in_user_code: false,
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
        // On the PMU with an index of 0: the kernel does not let user code read. On Arm, the page
        // still claims otherwise.
        group.reads_in_user_code = group
            .reads
            .pages()
            .iter()
            .all(|page| page.allows_rdpmc() && page.index() != 0);
        group.check(opener)?;
        Ok(group)
    }

    /// Checks the counters of a loop. An event that a CPU lacks, or that a hypervisor does not pass
    /// through, opens successfully and counts 0.
    #[inline(never)]
    fn check(&self, opener: &Opener<'_>) -> Result<(), OpenError> {
        let mut start = Readout::now();
        self.prepare(&mut start);
        if self.reads_in_user_code && !self.reads.begin(&mut start) {
            self.start_anew(&mut start);
        }
        let failed = |problem| OpenError::SelfCheck {
            place: opener.place(self.plan.events[0].name),
            problem,
        };
        // Moving to another CPU harms nothing, and categories that do not add up are told below.
        let are_usable = |flags: Flags| {
            if flags.intersects(Flags::WENT_BACKWARDS | Flags::NOT_COUNTING) {
                Err(failed(format!("its counts are unusable: {flags}")))
            } else {
                Ok(())
            }
        };
        are_usable(start.flags)?;
        self_check::spin();
        let sample = self.end(self.reads_in_user_code && self.reads.look(), &start);
        are_usable(sample.flags)?;
        check_sample(opener, self.plan.events[0].name, &sample)
    }

    /// Returns what is counted.
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
    #[cfg(feature = "commands")]
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

    /// Prepares a window whose counters are then read in user code; or begins it.
    pub fn prepare(&self, readout: &mut Readout) {
        readout.cpu = current_cpu();
        if self.reads_in_user_code {
            self.reads.look_at_pages(readout);
        } else if !self.fill_with_read(readout) {
            self.start_anew(readout);
        }
    }

    /// Begins a window after that failed once.
    #[cold]
    pub fn start_anew(&self, reading: &mut Readout) {
        if self.reads_in_user_code && self.reads.start(reading) {
            return;
        }
        // A pinned group that lost the PMU stays off it until it is enabled again.
        let _ = self.leader.enable();
        let is_counting = if self.reads_in_user_code {
            self.reads.start(reading)
        } else {
            self.fill_with_read(reading)
        };
        if !is_counting {
            reading.flags = Flags::NOT_COUNTING;
        }
    }

    fn fill_with_read(&self, reading: &mut Readout) -> bool {
        let mut words = [0; HEADER_WORDS + MAX_COUNTERS];
        let wanted = HEADER_WORDS + self.reads.pages().len();
        let filled = self.leader.read_group(&mut words);
        reading.lock = self.reads.pages()[0].lock();
        reading.time_enabled_ns = words[1];
        reading.time_running_ns = words[2];
        reading.counts.copy_from_slice(&words[HEADER_WORDS..]);
        filled.is_ok_and(|filled| filled == wanted)
    }

    /// Ends a window, after the counters were looked at in user code.
    pub fn end(&self, is_counting: bool, start: &Readout) -> Sample {
        let end = if self.reads_in_user_code {
            self.reads.end(is_counting, start)
        } else {
            let mut end = Readout {
                flags: Flags::NONE,
                ..*start
            };
            if !self.fill_with_read(&mut end) {
                end.flags = Flags::NOT_COUNTING;
            }
            end.at_ns = clock::now_ns();
            end.cpu = current_cpu();
            end
        };
        self.sample(start, end)
    }

    fn sample(&self, start: &Readout, mut end: Readout) -> Sample {
        let mut deltas = [0; MAX_COUNTERS];
        let mut all_bits = 0;
        for (at, delta) in deltas.iter_mut().enumerate().take(self.plan.events.len()) {
            *delta = if self.reads_in_user_code {
                self.reads.advance(at, start, &end)
            } else {
                end.counts[at].wrapping_sub(start.counts[at]) as i64
            };
            all_bits |= *delta;
        }
        let mut counting_flags = start.flags | end.flags;
        if all_bits < 0 {
            counting_flags |= Flags::WENT_BACKWARDS;
        }
        // The readings themselves take cycles and instructions: a counter that stood still is not
        // there.
        let stands_still = |at: Option<usize>| at.is_some_and(|at| deltas[at] == 0);
        if stands_still(self.plan.cycles_at) || stands_still(self.plan.instructions_at) {
            counting_flags |= Flags::NOT_COUNTING;
        }
        if counting_flags.intersects(Flags::NOT_COUNTING | Flags::WENT_BACKWARDS) {
            // The flags mark these zeros as placeholders.
            deltas = [0; MAX_COUNTERS];
        }
        let wall_ns = end.at_ns.saturating_sub(start.at_ns);
        let mut sample = Sample::of_window(wall_ns, counting_flags);
        sample.instructions = self.plan.instructions_at.map(|at| deltas[at] as u64);
        sample.cycles = self.plan.cycles_at.map(|at| deltas[at] as u64);
        match self.plan.split {
            None => {
                let counts = deltas.map(|delta| delta as u64);
                sample.group_counts = GroupCounts::new(&counts[..self.plan.events.len()]);
                sample.flags |= doubts::whatever_was_counted(start, &end);
            }
            Some(formula) => {
                let mut counts = self.counts.borrow_mut();
                counts.set(&deltas);
                let split = formula(&counts);
                end.slots = start.slots + split.slots as u64;
                sample.flags |= doubts::between(start, &end);
                let is_split = off_by(&split.level1, split.slots) <= WINDOW_TOLERANCE * split.slots;
                if !sample.flags.intersects(Flags::FEW_SLOTS) && !is_split {
                    sample.flags |= Flags::BAD_RATIOS;
                }
                sample.slots = Some(split.slots as u64);
                sample.level1 = Some(split.level1);
                sample.level2 = split.level2;
            }
        }
        sample
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
        place: opener.place(leader),
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
        place: opener.place(leader),
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
            place: opener.place(leader),
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

/// Returns how far the categories are from splitting `slots`: by their sum, or below zero.
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
    let budget = table.general_counters_for(events, opener.nmi_watchdog()?);
    (!budget.is_enough()).then(|| OpenError::TooFewCounters {
        place: opener.place(events[0].name),
        needed: budget.needed,
        available: budget.available,
    })
}
