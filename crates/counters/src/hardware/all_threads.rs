//! The counters of all threads of this process.
//!
//! Each existing thread gets its own `inherited_group`, whose copies cover the threads that descend
//! from it. So new threads are counted, whoever starts them. Reading takes one system call per
//! group.

use std::cell::Cell;

use super::inherited_group::{InheritedGroup, MAX_EVENTS, Shape, Totals};
use super::opener::Opener;
use super::self_check;
use super::syscalls::{Counted, current_thread, disowned};
use crate::error::OpenError;
use crate::processor_time::switches_of_process;
use crate::{Reading, clock};
use topdown_run::sample::{Flags, Sample};

/// Maximum number of listings until no new thread appears.
const ATTEMPTS: u32 = 10;

/// Enabled groups.
#[derive(Debug)]
pub(super) struct AllThreads {
    shape: Shape,
    groups: Vec<InheritedGroup>,
    /// The counts when the open window began, and the threads' switch count.
    start: Cell<Option<Totals>>,
    switches: Cell<u32>,
}

impl AllThreads {
    /// Opens a group for each existing thread, and proves that they count. The calling thread's own
    /// group must be off the PMU.
    #[inline(never)]
    pub fn open(opener: &Opener<'_>, shape: Shape) -> Result<AllThreads, OpenError> {
        for _ in 0..ATTEMPTS {
            let Some(groups) = disowned(|| groups_of_all(opener, shape))? else {
                continue;
            };
            let all = AllThreads {
                shape,
                groups,
                start: Cell::new(None),
                switches: Cell::new(0),
            };
            for group in &all.groups {
                let enabled = group.enable();
                enabled.map_err(opener.control(shape.leader(), "enable"))?;
            }
            all.check(opener)?;
            return Ok(all);
        }
        Err(OpenError::ThreadsChange)
    }

    fn check(&self, opener: &Opener<'_>) -> Result<(), OpenError> {
        let leader = self.shape.leader();
        let start = Reading::from_clock();
        self.start();
        self_check::spin();
        let sample = self.end(&start);
        let most = sample
            .slots
            .or_else(|| sample.group_counts?.as_slice().iter().max().copied());
        if sample.flags.intersects(Flags::NOT_COUNTING) {
            return Err(opener.never_scheduled(leader));
        }
        self_check::counted(opener, leader, 0, most.unwrap_or(0))
    }

    pub fn start(&self) {
        self.switches.set(self.switch_count());
        self.start.set(self.totals());
    }

    /// Returns `None` if a group could not be read.
    fn totals(&self) -> Option<Totals> {
        let mut all = Totals::default();
        for group in &self.groups {
            all = all.plus(&group.totals().ok()??);
        }
        Some(all)
    }

    pub fn end(&self, start: &Reading) -> Sample {
        let totals = self.totals();
        let wall_ns = clock::elapsed_ns(start.at_ns);
        let since = self.start.get().zip(totals);
        let since = since.map(|(first, last)| last.minus(&first));
        let is_counting = since.is_some_and(|since| since.enabled_ns == since.running_ns);
        let mut counts = since.unwrap_or_default().counts;
        let mut flags = Flags::NONE;
        if !is_counting {
            flags |= Flags::NOT_COUNTING;
        }
        if counts.iter().any(|count| (*count as i64) < 0) {
            flags |= Flags::WENT_BACKWARDS;
        }
        if flags != Flags::NONE {
            // The flags mark these zeros as placeholders.
            counts = [0; MAX_EVENTS];
        }
        let switches = self.switch_count().wrapping_sub(self.switches.get());
        Sample {
            windows: 1,
            wall_ns,
            flags,
            ..self.shape.sample(&counts, switches)
        }
    }

    /// Each switch costs the 8-bit ratios a step; plain counters are unaffected.
    fn switch_count(&self) -> u32 {
        match self.shape {
            Shape::Metrics(_) => switches_of_process(),
            Shape::Exact { .. } => 0,
        }
    }
}

/// Opens a group for each thread but the calling one. Returns `None` if others started meanwhile:
/// these may be in another's copies, or in none.
#[inline(never)]
fn groups_of_all(
    opener: &Opener<'_>,
    shape: Shape,
) -> Result<Option<Vec<InheritedGroup>>, OpenError> {
    let before = opener.paths.threads()?;
    let own = current_thread();
    let mut groups = Vec::new();
    for thread in before.iter().filter(|thread| **thread != own) {
        groups.extend(group_of(opener, shape, *thread)?);
    }
    let after = opener.paths.threads()?;
    let is_all = after.iter().all(|thread| before.contains(thread));
    Ok(is_all.then_some(groups))
}

/// Returns `None` for a thread that has exited meanwhile.
fn group_of(
    opener: &Opener<'_>,
    shape: Shape,
    thread: i32,
) -> Result<Option<InheritedGroup>, OpenError> {
    let opener = Opener {
        counted: Counted::ThreadAndDescendants(thread),
        ..*opener
    };
    match InheritedGroup::open(&opener, shape) {
        Ok(group) => Ok(Some(group)),
        Err(OpenError::Open { error, .. }) if error.raw_os_error() == Some(libc::ESRCH) => Ok(None),
        Err(error) => Err(error),
    }
}

impl super::SystemPaths {
    /// Returns the ids of this process's threads.
    #[inline(never)]
    fn threads(&self) -> Result<Vec<i32>, OpenError> {
        let directory = self.proc.join("self/task");
        let failed = |error| OpenError::Threads {
            directory: directory.display().to_string(),
            error,
        };
        let mut threads = Vec::new();
        for entry in std::fs::read_dir(&directory).map_err(failed)? {
            let name = entry.map_err(failed)?.file_name();
            threads.extend(name.to_str().and_then(|name| name.parse::<i32>().ok()));
        }
        Ok(threads)
    }
}
