//! The counters of a command: of a process from its `exec` on, and of all threads and processes
//! that descend from it.
//!
//! Uses one `inherited_group`, read once when the command has ended. [`TreeCounters::prepare`]
//! first opens a thread's own group for its self-check.

use std::time::Duration;

use super::super::Hardware;
use super::super::inherited_group::{InheritedGroup, Shape};
use super::super::opener::Opener;
use super::super::self_check;
use super::super::syscalls::Counted;
use super::super::system::{CorePmu, SystemPaths};
use crate::error::OpenError;
use topdown_run::provenance::Provenance;
use topdown_run::sample::{Flags, Sample};
use topdown_run::setting::Counters;

/// The maximum difference between the sum of the categories and the slots, as a fraction. The
/// kernel resumes PERF_METRICS from 8-bit values at every context switch.
const TOLERANCE: f64 = 0.05;

/// Counters that are known to work on this machine, for commands that have not started.
#[derive(Clone, Debug)]
pub struct TreeCounters {
    paths: SystemPaths,
    pmu: CorePmu,
    shape: Shape,
    provenance: Provenance,
}

/// A command that is counted from its `exec` on.
#[derive(Debug)]
pub struct CountedTree<'a> {
    shape: Shape,
    opener: Opener<'a>,
    group: InheritedGroup,
}

impl TreeCounters {
    /// Finds the counters and proves on the calling thread that they count. [`Counters::Auto`]
    /// means plain counters, or else PERF_METRICS: the kernel's rounding of ratios at every context
    /// switch of every process would add up.
    ///
    /// On a hybrid machine, pins the thread and the processes that it starts to the cores of one
    /// type.
    ///
    /// # Errors
    /// Returns why the counters cannot be used.
    #[inline]
    pub fn prepare(counters: Counters) -> Result<TreeCounters, OpenError> {
        TreeCounters::prepare_in(&SystemPaths::default(), counters)
    }

    /// Like [`prepare`](TreeCounters::prepare), with the kernel's file systems mounted elsewhere.
    ///
    /// # Errors
    /// Same as [`prepare`](TreeCounters::prepare).
    #[inline]
    pub fn prepare_in(paths: &SystemPaths, counters: Counters) -> Result<TreeCounters, OpenError> {
        let open = |counters| Hardware::open_with(paths, counters);
        let hardware = match counters {
            Counters::Auto => {
                open(Counters::Exact).or_else(|error| open(Counters::Metrics).map_err(|_| error))?
            }
            chosen => open(chosen)?,
        };
        let opened = &hardware.opened;
        let shape = Shape::like(&opened.engine);
        let pmu = opened.pmu.clone();
        let provenance = Provenance {
            reason: format!(
                "{} of PMU `{}`, inherited by all processes of the command",
                shape.name(),
                pmu.name
            ),
            // The cost of a window inside a process does not apply to a command.
            empty_window: None,
            ..opened.provenance.clone()
        };
        Ok(TreeCounters {
            paths: paths.clone(),
            pmu,
            shape,
            provenance,
        })
    }

    /// Returns the parts that open the same group elsewhere.
    pub(in super::super) fn parts(&self) -> (&SystemPaths, &CorePmu, Shape) {
        (&self.paths, &self.pmu, self.shape)
    }

    /// Returns the provenance of the counts.
    pub fn provenance(&self) -> &Provenance {
        &self.provenance
    }

    /// Proves that a command's group counts. Unlike a thread's own it is not pinned, so that others
    /// can take the PMU from it.
    ///
    /// # Errors
    /// Returns why it does not.
    #[inline]
    pub fn check(&self) -> Result<(), OpenError> {
        let opener = Opener::of(&self.paths, &self.pmu, Counted::ThreadAndDescendants(0));
        let group = InheritedGroup::open(&opener, self.shape)?;
        let leader = self.shape.leader();
        group.enable().map_err(opener.control(leader, "enable"))?;
        self_check::spin();
        let counted = CountedTree {
            shape: self.shape,
            opener,
            group,
        };
        counted.sample(Duration::ZERO).map(|_| ())
    }

    /// Counts the process with this id from its next `exec` on. The process must not call it until
    /// this returns.
    ///
    /// # Errors
    /// Returns why the counters cannot be opened for it.
    #[inline]
    pub fn attach(&self, process: u32) -> Result<CountedTree<'_>, OpenError> {
        let opener = Opener {
            paths: &self.paths,
            pmu: &self.pmu.name,
            pmu_type: self.pmu.type_number,
            counted: Counted::Tree(process as i32),
        };
        let group = InheritedGroup::open(&opener, self.shape)?;
        Ok(CountedTree {
            shape: self.shape,
            opener,
            group,
        })
    }
}

impl CountedTree<'_> {
    /// Returns the counts so far, as one window of length `wall`. Processes that are still running
    /// are counted up to now.
    ///
    /// # Errors
    /// Returns an error if the group was ever off the PMU while the command ran, or if the counts
    /// cannot be read.
    #[inline]
    pub fn sample(&self, wall: Duration) -> Result<Sample, OpenError> {
        let leader = self.shape.leader();
        let totals = self
            .group
            .totals()
            .map_err(self.opener.control(leader, "read"))?
            .filter(|totals| totals.running_ns > 0)
            .ok_or_else(|| self.opener.never_scheduled(leader))?;
        if totals.enabled_ns != totals.running_ns {
            return Err(OpenError::Multiplexed {
                location: self.opener.location(leader),
                enabled_ns: totals.enabled_ns,
                running_ns: totals.running_ns,
            });
        }
        // The processes' number of switches is unknown.
        let sample = self.shape.sample(&totals.counts, 0);
        let slots = sample.slots.unwrap_or(0) as f64;
        let total = sample.level1.unwrap_or_default().total_slots();
        let flags = if (total - slots).abs() > TOLERANCE * slots {
            Flags::BAD_RATIOS
        } else {
            Flags::NONE
        };
        Ok(Sample {
            windows: 1,
            wall_ns: wall.as_nanos() as u64,
            flags,
            ..sample
        })
    }
}
