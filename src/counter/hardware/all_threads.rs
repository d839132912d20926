//! The counters of all threads of this process.
//!
//! Each thread that exists gets an `inherited_group` of its own, and the threads that descend from it
//! are in its copies. From then on there is no thread that is not counted, whoever starts one: nobody
//! needs to be looked for again. Reading takes a system call for each of these groups.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::time::Instant;

use super::inherited_group::{InheritedGroup, MOST_EVENTS, Shape, Totals};
use super::opener::Opener;
use super::self_check;
use super::syscalls::Counted;
use crate::counter::processor_time::switches_of_process;
use crate::counter::{MAX_COUNTERS, Reading};
use crate::error::OpenError;
use crate::sample::{Flags, Sample};

/// How often the threads are listed until none has come.
const ATTEMPTS: u32 = 10;

/// Enabled groups.
#[derive(Debug)]
pub(super) struct AllThreads {
    shape: Shape,
    groups: Vec<InheritedGroup>,
    /// How often threads had been switched out when the open window began.
    switches: Cell<u32>,
}

impl AllThreads {
    /// Opens a group for each thread that exists, and proves that they count. The calling thread's own
    /// group must be off the PMU.
    pub fn open(opener: &Opener<'_>, shape: Shape) -> Result<AllThreads, OpenError> {
        for _ in 0..ATTEMPTS {
            let before = opener.paths.threads()?;
            let groups = before
                .iter()
                .filter_map(|thread| group_of(opener, shape, *thread).transpose())
                .collect::<Result<Vec<InheritedGroup>, OpenError>>()?;
            // One that came meanwhile may be in the copies of another, or in none.
            if !opener.paths.threads()?.is_subset(&before) {
                continue;
            }
            let all = AllThreads {
                shape,
                groups,
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
        let start = self.start();
        self_check::spin();
        let sample = self.end(&start);
        let most = sample
            .slots
            .or_else(|| sample.group_counts?.as_slice().iter().max().copied());
        if sample.flags.intersects(Flags::NOT_COUNTING) {
            return Err(opener.never_scheduled(leader));
        }
        self_check::counted(opener, 0, most.unwrap_or(0))
    }

    pub fn start(&self) -> Reading {
        self.switches.set(self.switches_so_far());
        let mut reading = Reading::of_clock();
        self.fill(&mut reading);
        reading
    }

    /// `None` where a group could not be read.
    fn totals(&self) -> Option<Totals> {
        let mut all = Totals::default();
        for group in &self.groups {
            all = all.plus(&group.totals().ok()??);
        }
        Some(all)
    }

    fn fill(&self, reading: &mut Reading) {
        let Some(totals) = self.totals() else {
            reading.flags |= Flags::NOT_COUNTING;
            return;
        };
        reading.time_enabled_ns = totals.enabled_ns;
        reading.time_running_ns = totals.running_ns;
        reading.slots = totals.counts[0];
        reading.counts.copy_from_slice(&totals.counts[1..]);
    }

    pub fn end(&self, start: &Reading) -> Sample {
        let mut end = Reading {
            flags: Flags::NONE,
            ..*start
        };
        self.fill(&mut end);
        end.at = Instant::now();
        let mut flags = start.flags | end.flags;
        let enabled_ns = end.time_enabled_ns.wrapping_sub(start.time_enabled_ns);
        let running_ns = end.time_running_ns.wrapping_sub(start.time_running_ns);
        if enabled_ns != running_ns {
            flags |= Flags::NOT_COUNTING;
        }
        let mut counts = [0; MOST_EVENTS];
        counts[0] = end.slots.wrapping_sub(start.slots);
        for at in 0..MAX_COUNTERS {
            counts[1 + at] = end.counts[at].wrapping_sub(start.counts[at]);
        }
        if counts.iter().any(|count| (*count as i64) < 0) {
            flags |= Flags::WENT_BACKWARDS;
        }
        if flags.intersects(Flags::NOT_COUNTING | Flags::WENT_BACKWARDS) {
            // The flags say that 0 stands in for the counts.
            counts = [0; MOST_EVENTS];
        }
        let switches = self.switches_so_far().wrapping_sub(self.switches.get());
        let sample = self.shape.sample(&counts, switches);
        if sample
            .slots
            .is_some_and(|slots| slots < super::doubts::FEW_SLOTS)
        {
            flags |= Flags::FEW_SLOTS;
        }
        Sample {
            windows: 1,
            wall_ns: end.at.duration_since(start.at).as_nanos() as u64,
            flags,
            ..sample
        }
    }

    /// Each costs the 8-bit ratios a step; plain counters do not mind.
    fn switches_so_far(&self) -> u32 {
        match self.shape {
            Shape::Metrics(_) => switches_of_process(),
            Shape::Exact { .. } => 0,
        }
    }
}

/// `None` for a thread that has ended meanwhile.
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
    /// The ids of the threads of this process.
    fn threads(&self) -> Result<BTreeSet<i32>, OpenError> {
        let directory = self.proc.join("self/task");
        let failed = |error| OpenError::Threads {
            directory: directory.display().to_string(),
            error,
        };
        let mut threads = BTreeSet::new();
        for entry in std::fs::read_dir(&directory).map_err(failed)? {
            let name = entry.map_err(failed)?.file_name();
            threads.extend(name.to_str().and_then(|name| name.parse::<i32>().ok()));
        }
        Ok(threads)
    }
}
