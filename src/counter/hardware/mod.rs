//! The CPU's own counters: Intel CPUs with PERF_METRICS, on Linux.
//!
//! [`Hardware`] finds the PMU (`system`), keeps the thread on its cores (`cores`), opens a group
//! (`opener`, `syscalls`), proves that it counts (`self_check`) and reads it: with RDPMC
//! (`metrics_group`, through `page`), or with read() where RDPMC is off (`read_group`). `ratios`
//! turns registers into slots, `reset` decides when the registers start anew, `doubts` raises the
//! flags.
//!
//! `unsafe` is in `syscalls` and `page` alone.

mod cores;
mod doubts;
mod metrics_group;
mod opener;
mod page;
mod ratios;
mod read_group;
mod reset;
mod self_check;
mod survey;
mod syscalls;
mod system;

use std::cell::RefCell;
use std::rc::{Rc, Weak};

pub use survey::{survey, survey_in};
pub use system::SystemPaths;

use crate::counter::{Reading, Source, empty_window_of};
use crate::error::OpenError;
use crate::provenance::{Provenance, SourceKind};
use crate::sample::Sample;
use metrics_group::MetricsGroup;
use opener::Opener;
use read_group::ReadGroup;
use system::{CpuIdentity, metrics_pmu};

/// The formula of CPUs with both levels: slots x fraction / 255, without the corrections that Intel's
/// own metrics apply per CPU.
pub const FORMULA_LEVEL2: &str = "intel-perf-metrics-level2/1";
/// The same on CPUs with level 1 only.
pub const FORMULA_LEVEL1: &str = "intel-perf-metrics-level1/1";

/// The counters of the thread that opened them; work on other threads is not counted.
///
/// Counts user mode only, so it needs no more than `kernel.perf_event_paranoid` 2. Counts of a
/// sample whose flags are [`UNUSABLE`](crate::sample::Flags::UNUSABLE) may be placeholders of 0.
///
/// A thread has one slots counter, so all handles of a thread share one group. A window that is
/// opened inside another one spoils the outer one, which is flagged.
#[derive(Debug)]
pub struct Hardware {
    /// Not an `Arc`: on another thread RDPMC would read somebody else's counters.
    opened: Rc<Opened>,
}

/// What the handles of a thread share.
#[derive(Debug)]
struct Opened {
    paths: SystemPaths,
    engine: Engine,
    provenance: Provenance,
}

thread_local! {
    static OPENED: RefCell<Weak<Opened>> = const { RefCell::new(Weak::new()) };
}

#[derive(Debug)]
enum Engine {
    Rdpmc(MetricsGroup),
    Read(ReadGroup),
}

impl Hardware {
    /// Opens the counters of the calling thread and proves that they count, which takes about a
    /// millisecond. On a hybrid machine the thread is kept on the performance cores from then on;
    /// the provenance says so. It must not be moved to others while the handle is in use: RDPMC of
    /// counters that they do not have ends the process.
    ///
    /// # Errors
    /// Why the counters cannot be used on this machine, by this user, or at this moment.
    pub fn open() -> Result<Hardware, OpenError> {
        Hardware::open_in(&SystemPaths::default())
    }

    /// As [`open`](Hardware::open), with the kernel's file systems at other places.
    ///
    /// # Errors
    /// As [`open`](Hardware::open).
    pub fn open_in(paths: &SystemPaths) -> Result<Hardware, OpenError> {
        let shared = OPENED.with_borrow(Weak::upgrade);
        if let Some(opened) = shared.filter(|opened| opened.paths == *paths) {
            return Ok(Hardware { opened });
        }
        let hardware = Hardware {
            opened: Rc::new(Opened::new(paths)?),
        };
        // Taken of a handle that is not shared yet, so that it can still be written down.
        let empty_window = empty_window_of(&hardware);
        let mut opened = hardware.opened;
        if let Some(opened) = Rc::get_mut(&mut opened) {
            opened.provenance.empty_window = Some(empty_window);
        }
        OPENED.set(Rc::downgrade(&opened));
        Ok(Hardware { opened })
    }
}

impl Opened {
    fn new(paths: &SystemPaths) -> Result<Opened, OpenError> {
        let cpu = CpuIdentity::read(paths);
        let pmu = metrics_pmu(paths, &cpu)?;
        let confined = cores::confine(&pmu)?;
        let opener = Opener {
            paths,
            pmu: &pmu.name,
            pmu_type: pmu.type_number,
        };
        let engine = match MetricsGroup::open(&opener, pmu.level2)? {
            Some(group) => Engine::Rdpmc(group),
            None => Engine::Read(ReadGroup::open(&opener, pmu.level2)?),
        };
        let way = match engine {
            Engine::Rdpmc(_) => "read with RDPMC",
            Engine::Read(_) => "read with system calls since RDPMC is off",
        };
        let mut reason = format!("PERF_METRICS of PMU `{}`, {way}", pmu.name);
        if let Some(cpus) = confined {
            reason += &format!("; the thread is kept on CPUs {cpus}, the performance cores");
        }
        let formula = if pmu.level2 {
            FORMULA_LEVEL2
        } else {
            FORMULA_LEVEL1
        };
        Ok(Opened {
            paths: paths.clone(),
            engine,
            provenance: Provenance {
                source: SourceKind::Hardware,
                formula: formula.to_owned(),
                core_type: (pmu.name != "cpu").then_some(pmu.name),
                slots_per_cycle: cpu.metrics_width(),
                reason,
                empty_window: None,
            },
        })
    }
}

impl Source for Hardware {
    fn provenance(&self) -> &Provenance {
        &self.opened.provenance
    }

    fn sample_boundary(&self) {
        if let Engine::Rdpmc(group) = &self.opened.engine {
            group.sample_boundary();
        }
    }

    fn start(&self) -> Reading {
        match &self.opened.engine {
            Engine::Rdpmc(group) => group.start(),
            Engine::Read(group) => group.start(),
        }
    }

    fn end(&self, start: &Reading) -> Sample {
        match &self.opened.engine {
            Engine::Rdpmc(group) => group.end(start),
            Engine::Read(group) => group.end(start),
        }
    }
}
