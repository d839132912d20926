//! Plain counters in one group, by the table of a CPU.
//!
//! This module is independent of any CPU: the table says which events form the group and what their
//! counts mean, whether they are the categories or a metric group. The counters are read in user
//! code if the kernel allows it, otherwise with read(). The numbers are the same, but a window then
//! costs more. The counters are never reset, so that the kernel's protocol for plain events holds.

use std::time::Instant;

use super::doubts;
use super::opener::Opener;
use super::page::{Page, consistent, locks};
use super::self_check;
use super::syscalls::{Event, current_cpu};
use crate::counter::{MAX_COUNTERS, Reading};
use crate::cpu::{self, Counts, CpuTable, Form, Formula, MAX_EVENTS, MetricGroup, Split};
use crate::error::OpenError;
use crate::sample::{Flags, GroupCounts, Sample};

const _: () = assert!(MAX_EVENTS <= MAX_COUNTERS);

/// Words before the counts in a group read.
const HEADER_WORDS: usize = 3;

/// The categories of the self-check's loop must add up to all slots within this fraction. A wrong
/// pipeline width is off by more; events that a real core misses or double-counts amount to less.
const TOLERANCE: f64 = 0.1;

/// Which events are counted, and what their counts mean.
#[derive(Clone, Copy)]
pub(super) struct Plan {
    pub events: &'static [cpu::Event],
    /// The positions of these events.
    pub cycles_at: Option<usize>,
    pub instructions_at: Option<usize>,
    /// The formula of the categories. A metric group has none: its counts are passed on.
    pub split: Option<&'static Formula>,
}

impl Plan {
    fn of_form(form: &'static Form) -> Plan {
        let at = |wanted| form.events.iter().position(|event| Some(*event) == wanted);
        Plan {
            events: form.events,
            cycles_at: at(form.cycles),
            instructions_at: at(form.instructions),
            split: Some(form.split),
        }
    }

    fn of_group(group: &'static MetricGroup) -> Plan {
        Plan {
            events: group.events,
            cycles_at: None,
            instructions_at: None,
            split: None,
        }
    }
}

impl std::fmt::Debug for Plan {
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
    /// One per event of the plan, in its order.
    pages: Vec<Page>,
    plan: Plan,
    slots_per_cycle: u32,
    /// Whether user code reads the counters.
    reads_in_user_code: bool,
}

impl ExactGroup {
    /// Opens the best form of `table` that this machine can count, and proves that it counts.
    ///
    /// # Errors
    /// Returns why the least demanding form cannot be counted.
    pub fn open(
        opener: &Opener<'_>,
        table: &'static CpuTable,
        slots_per_cycle: u32,
    ) -> Result<(ExactGroup, &'static Form), OpenError> {
        let mut refusal = None;
        for form in table.forms() {
            match ExactGroup::open_plan(opener, table, Plan::of_form(form), slots_per_cycle) {
                Ok(group) => return Ok((group, form)),
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

    fn open_plan(
        opener: &Opener<'_>,
        table: &CpuTable,
        plan: Plan,
        slots_per_cycle: u32,
    ) -> Result<ExactGroup, OpenError> {
        let [first, others @ ..] = plan.events else {
            unreachable!("a group has events")
        };
        let leader = opener.leader(first.name, first.config)?;
        let members = others
            .iter()
            .map(|event| {
                let member = opener.member(event.name, event.config, &leader);
                member.map_err(|error| match error {
                    OpenError::Rejected { place, .. } => OpenError::GroupTooLarge {
                        place,
                        needed: table.general_counters_for(plan.events, false).needed,
                    },
                    other => other,
                })
            })
            .collect::<Result<Vec<Event>, OpenError>>()?;
        let pages = std::iter::once(&leader)
            .chain(&members)
            .zip(plan.events)
            .map(|(open, event)| opener.map(event.name, open))
            .collect::<Result<Vec<Page>, OpenError>>()?;
        let mut group = ExactGroup {
            leader,
            _members: members,
            pages,
            plan,
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
            .pages
            .iter()
            .all(|page| page.allows_rdpmc() && page.index() != 0);
        group.check(opener)?;
        Ok(group)
    }

    /// Checks the counters of a loop. An event that a CPU lacks, or that a hypervisor does not pass
    /// through, opens successfully and counts 0.
    fn check(&self, opener: &Opener<'_>) -> Result<(), OpenError> {
        let start = self.reading();
        self_check::spin();
        let sample = self.end(&start);
        let failed = |problem| OpenError::SelfCheck {
            place: opener.place(self.plan.events[0].name),
            problem,
        };
        if sample.flags.intersects(Flags::UNUSABLE) {
            return Err(failed(format!("its counts are unusable: {}", sample.flags)));
        }
        if let Some(counts) = sample.group_counts {
            // Every group has an event that such a loop advances by more than its number of turns.
            let most = counts.as_slice().iter().max().copied().unwrap_or(0);
            return match most >= self_check::SPIN_TURNS {
                true => Ok(()),
                false => Err(failed(format!(
                    "a loop of {} turns moved no counter of its group by more than {most}",
                    self_check::SPIN_TURNS
                ))),
            };
        }
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
        let least = [
            level1.slots.bad_speculation,
            level1.slots.frontend_bound,
            level1.slots.backend_bound,
            level1.smt_contention_slots.unwrap_or(0.0),
        ]
        .into_iter()
        .fold(0.0, f64::min);
        let excess = level1.total_slots() - slots;
        if excess.abs() > TOLERANCE * slots || least < -TOLERANCE * slots {
            return Err(failed(format!(
                "the categories of {slots} slots differ from their sum by {excess}, the least is \
                 {least}: {level1:?}"
            )));
        }
        Ok(())
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

    /// Releases the PMU.
    pub fn suspend(&self) -> std::io::Result<()> {
        self.leader.disable()
    }

    /// Resumes counting.
    pub fn resume(&self) -> std::io::Result<()> {
        self.leader.enable()
    }

    pub fn start(&self) -> Reading {
        let reading = self.reading();
        if !reading.flags.intersects(Flags::NOT_COUNTING) {
            return reading;
        }
        // A pinned group that lost the PMU stays off it until it is enabled again.
        let _ = self.leader.enable();
        self.reading()
    }

    #[inline]
    fn reading(&self) -> Reading {
        let mut reading = Reading {
            cpu: current_cpu(),
            ..Reading::of_clock()
        };
        self.fill(&mut reading);
        reading
    }

    #[inline]
    fn fill(&self, reading: &mut Reading) {
        let filled = if self.reads_in_user_code {
            self.fill_in_user_code(reading)
        } else {
            self.fill_with_read(reading)
        };
        if filled.is_none() {
            reading.flags |= Flags::NOT_COUNTING;
        }
    }

    #[inline]
    fn fill_in_user_code(&self, reading: &mut Reading) -> Option<()> {
        let leader = self.pages.first()?;
        let (lock, times_ns, counts) = consistent(
            || locks(&self.pages),
            || {
                let mut counts = [0; MAX_COUNTERS];
                for (count, page) in counts.iter_mut().zip(&self.pages) {
                    *count = page.full_count()?;
                }
                Some((leader.lock(), leader.times_ns(), counts))
            },
        )
        .flatten()?;
        reading.lock = lock;
        (reading.time_enabled_ns, reading.time_running_ns) = times_ns;
        reading.counts = counts;
        Some(())
    }

    fn fill_with_read(&self, reading: &mut Reading) -> Option<()> {
        let mut words = [0; HEADER_WORDS + MAX_COUNTERS];
        let wanted = HEADER_WORDS + self.pages.len();
        let filled = self.leader.read_group(&mut words).ok()?;
        reading.lock = self.pages.first()?.lock();
        reading.time_enabled_ns = words[1];
        reading.time_running_ns = words[2];
        reading.counts.copy_from_slice(&words[HEADER_WORDS..]);
        (filled == wanted).then_some(())
    }

    pub fn end(&self, start: &Reading) -> Sample {
        let mut end = Reading {
            flags: Flags::NONE,
            ..*start
        };
        self.fill(&mut end);
        end.at = Instant::now();
        end.cpu = current_cpu();
        let mut deltas = [0_u64; MAX_COUNTERS];
        for (delta, (last, first)) in deltas.iter_mut().zip(end.counts.iter().zip(&start.counts)) {
            *delta = last.wrapping_sub(*first);
        }
        let mut counting_flags = start.flags | end.flags;
        if deltas.iter().any(|delta| (*delta as i64) < 0) {
            counting_flags |= Flags::WENT_BACKWARDS;
        }
        if counting_flags.intersects(Flags::NOT_COUNTING | Flags::WENT_BACKWARDS) {
            // The flags mark these zeros as placeholders.
            deltas = [0; MAX_COUNTERS];
        }
        let sample = Sample {
            windows: 1,
            wall_ns: end.at.duration_since(start.at).as_nanos() as u64,
            instructions: self.plan.instructions_at.map(|at| deltas[at]),
            cycles: self.plan.cycles_at.map(|at| deltas[at]),
            ..Sample::EMPTY
        };
        let Some(split) = self.split(deltas) else {
            return Sample {
                group_counts: GroupCounts::new(&deltas[..self.plan.events.len()]),
                flags: doubts::whatever_was_counted(start, &end) | counting_flags,
                ..sample
            };
        };
        end.slots = start.slots + split.slots as u64;
        Sample {
            slots: Some(split.slots as u64),
            level1: Some(split.level1),
            level2: split.level2,
            flags: doubts::between(start, &end) | counting_flags,
            ..sample
        }
    }

    fn split(&self, deltas: [u64; MAX_COUNTERS]) -> Option<Split> {
        let formula = self.plan.split?;
        let counts = Counts::new(self.plan.events, deltas, self.slots_per_cycle);
        Some(formula(&counts))
    }
}

/// Returns an error if the NMI watchdog leaves too few counters for the group.
fn too_few_counters(
    opener: &Opener<'_>,
    table: &CpuTable,
    events: &[cpu::Event],
) -> Option<OpenError> {
    let budget = table.general_counters_for(events, opener.paths.nmi_watchdog()?);
    (!budget.is_enough()).then(|| OpenError::TooFewCounters {
        place: opener.place(events[0].name),
        needed: budget.needed,
        available: budget.available,
    })
}
