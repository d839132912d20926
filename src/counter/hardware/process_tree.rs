//! The counters of a command: of a process from its `exec` on, and of all threads and processes that
//! descend from it.
//!
//! The kernel copies the group to every new thread and adds the copies up. Such a group has no page
//! to map, so it is read with read(), once, when the command has ended. The events and formulas are
//! those of a thread's own groups; [`TreeCounters::prepare`] opens such a group first, for its
//! self-check.

use std::time::Duration;

use super::exact_group::Plan;
use super::metrics_shape::{MetricsShape, SLOTS};
use super::opener::Opener;
use super::ratios::resolution_slots;
use super::syscalls::{Counted, Event};
use super::system::{CorePmu, SystemPaths};
use super::{Engine, Hardware, Opened};
use crate::counter::{Counters, MAX_COUNTERS};
use crate::cpu::Counts;
use crate::error::OpenError;
use crate::provenance::Provenance;
use crate::sample::{Flags, Sample};

/// Words before the counts in a group read.
const HEADER_WORDS: usize = 3;

/// How far the categories may be from adding up to the slots, as a fraction. The kernel continues
/// PERF_METRICS from 8-bit values at every context switch.
const TOLERANCE: f64 = 0.05;

/// Counters that are known to work on this machine, for commands that have not begun.
#[derive(Debug)]
pub struct TreeCounters {
    paths: SystemPaths,
    pmu: CorePmu,
    group: Group,
    provenance: Provenance,
}

/// A command that is counted from its `exec` on.
#[derive(Debug)]
pub struct CountedTree<'a> {
    group: Group,
    opener: Opener<'a>,
    leader: Event,
    /// Held open; they are read through the leader.
    _members: Vec<Event>,
}

/// What a group of a process tree consists of.
#[derive(Clone, Copy, Debug)]
enum Group {
    Metrics(MetricsShape),
    Exact { plan: Plan, slots_per_cycle: u32 },
}

impl TreeCounters {
    /// Finds the counters and proves on the calling thread that they count. [`Counters::Auto`] is
    /// plain counters, else PERF_METRICS: what the kernel makes of ratios at every context switch of
    /// every process would add up.
    ///
    /// On a hybrid machine the thread is kept on the cores of one type from then on, and the
    /// processes that it starts are, too.
    ///
    /// # Errors
    /// Why the counters cannot be used.
    pub fn prepare(counters: Counters) -> Result<TreeCounters, OpenError> {
        TreeCounters::prepare_in(&SystemPaths::default(), counters)
    }

    /// As [`prepare`](TreeCounters::prepare), with the kernel's file systems at other places.
    ///
    /// # Errors
    /// As [`prepare`](TreeCounters::prepare).
    pub fn prepare_in(paths: &SystemPaths, counters: Counters) -> Result<TreeCounters, OpenError> {
        let open = |counters| Hardware::open_with(paths, counters);
        let hardware = match counters {
            Counters::Auto => {
                open(Counters::Exact).or_else(|error| open(Counters::Metrics).map_err(|_| error))?
            }
            chosen => open(chosen)?,
        };
        let opened = &hardware.opened;
        let group = Group::like(opened);
        let pmu = opened.pmu.clone();
        let kind = match group {
            Group::Metrics(_) => "PERF_METRICS",
            Group::Exact { .. } => "plain counters",
        };
        let provenance = Provenance {
            reason: format!(
                "{kind} of PMU `{}`, inherited by all processes of the command",
                pmu.name
            ),
            // That of a window inside a process says nothing about a command.
            empty_window: None,
            ..opened.provenance.clone()
        };
        Ok(TreeCounters {
            paths: paths.clone(),
            pmu,
            group,
            provenance,
        })
    }

    /// What the counts are.
    pub fn provenance(&self) -> &Provenance {
        &self.provenance
    }

    /// Counts the process with this id from its next `exec` on. It must wait until this returns.
    ///
    /// # Errors
    /// Why the counters cannot be opened for it.
    pub fn attach(&self, process: u32) -> Result<CountedTree<'_>, OpenError> {
        let opener = Opener {
            paths: &self.paths,
            pmu: &self.pmu.name,
            pmu_type: self.pmu.type_number,
            counted: Counted::Tree(process as i32),
        };
        let events = self.group.events();
        let [(name, config), others @ ..] = &events[..] else {
            unreachable!("a group has events")
        };
        let leader = opener.leader(name, *config)?;
        let members = others
            .iter()
            .map(|(name, config)| opener.member(name, *config, &leader))
            .collect::<Result<Vec<Event>, OpenError>>()?;
        Ok(CountedTree {
            group: self.group,
            opener,
            leader,
            _members: members,
        })
    }
}

impl Group {
    /// The group that counts the same as that of a thread.
    fn like(opened: &Opened) -> Group {
        match &opened.engine {
            Engine::Exact(group) => Group::Exact {
                plan: group.plan(),
                slots_per_cycle: group.slots_per_cycle(),
            },
            Engine::Rdpmc(group) => Group::Metrics(group.shape()),
            Engine::Read(group) => Group::Metrics(group.shape()),
        }
    }

    /// Names and codes, the leader's first.
    fn events(self) -> Vec<(&'static str, u64)> {
        match self {
            Group::Exact { plan, .. } => plan.events.iter().map(|e| (e.name, e.config)).collect(),
            Group::Metrics(shape) => std::iter::once(SLOTS)
                .chain(shape.events_of_read())
                .collect(),
        }
    }

    /// One count for each of [`events`](Group::events).
    fn sample(self, counts: &[u64]) -> Sample {
        match self {
            Group::Exact {
                plan,
                slots_per_cycle,
            } => {
                let all = Counts::new(plan.events, counts.iter().copied(), slots_per_cycle);
                let split = plan.split.map(|formula| formula(&all));
                Sample {
                    slots: split.map(|split| split.slots as u64),
                    level1: split.map(|split| split.level1),
                    level2: split.and_then(|split| split.level2),
                    instructions: plan.instructions_at.map(|at| counts[at]),
                    cycles: plan.cycles_at.map(|at| counts[at]),
                    ..Sample::EMPTY
                }
            }
            Group::Metrics(shape) => {
                let (slots, members) = (counts[0], &counts[1..]);
                let split = shape.split_of_read(slots, members);
                let plain = shape.metric_events().len();
                Sample {
                    slots: Some(slots),
                    level1: Some(split.level1),
                    level2: split.level2,
                    instructions: Some(members[plain]),
                    cycles: Some(members[plain + 1]),
                    // How often the processes were switched out is not known.
                    resolution_slots: resolution_slots(0, slots, 0),
                    ..Sample::EMPTY
                }
            }
        }
    }
}

impl CountedTree<'_> {
    /// What was counted so far, as one window of the length `wall`. Processes that are still running
    /// are counted up to now.
    ///
    /// # Errors
    /// When the group was not on the PMU whenever the command was, or the counts cannot be read.
    pub fn sample(&self, wall: Duration) -> Result<Sample, OpenError> {
        let events = self.group.events();
        let (leader, _) = events[0];
        let mut words = [0; HEADER_WORDS + MAX_COUNTERS];
        let filled = self
            .leader
            .read_group(&mut words)
            .map_err(self.opener.control(leader, "read"))?;
        let [_, enabled_ns, running_ns, ..] = words;
        if filled != HEADER_WORDS + events.len() || running_ns == 0 {
            return Err(self.opener.never_scheduled(leader));
        }
        if enabled_ns != running_ns {
            return Err(OpenError::Multiplexed {
                place: self.opener.place(leader),
                enabled_ns,
                running_ns,
            });
        }
        let sample = self.group.sample(&words[HEADER_WORDS..filled]);
        let slots = sample.slots.unwrap_or(0) as f64;
        let total = sample.level1.unwrap_or_default().total_slots();
        let flags = match (total - slots).abs() > TOLERANCE * slots {
            true => Flags::BAD_RATIOS,
            false => Flags::NONE,
        };
        Ok(Sample {
            windows: 1,
            wall_ns: wall.as_nanos() as u64,
            flags,
            ..sample
        })
    }
}
