//! The CPU's own counters, on Linux.
//!
//! [`Hardware`] finds the PMU (`system`) and its table in [`cpu`](crate::cpu) (`tables`), keeps the
//! thread on its cores (`cores`), opens a group (`group`, with `opener` and `syscalls`), proves
//! that it counts (`self_check`) and reads it (`engine`); `watchdog` finds out whether the kernel
//! keeps a counter for itself. There are two kinds of group. Plain counters (`exact_group`) follow
//! the table. Intel's PERF_METRICS (`metrics_shape`) is read with RDPMC (`metrics_group`), or with
//! read() if RDPMC is off (`read_group`); `ratios` turns its registers into slots. `page` and
//! `user_reads` read counters without system calls, `faults` survives reads that are refused, and
//! `doubts` raises the flags.
//!
//! If other threads work for a benchmark, `thread_choice` switches to groups that new threads
//! inherit (`inherited_group`, `all_threads`). [`commands`] counts a whole command, with all
//! processes that it starts, by the same events and formulas. [`recording`] has the kernel record
//! code addresses, or retire latencies of loads, in launches of their own.
//!
//! Only `syscalls`, `page`, `user_reads`, `faults`, and in `recording::sampling` `ring` and
//! `command::follow`, contain `unsafe`.

mod all_threads;
#[cfg(feature = "commands")]
pub mod commands;
mod cores;
mod doubts;
mod engine;
mod exact_group;
mod faults;
mod given_core;
mod group;
mod inherited_group;
mod metrics_group;
mod metrics_shape;
mod opener;
mod page;
mod ratios;
mod read_group;
mod readout;
#[cfg_attr(not(feature = "sampling"), path = "hardware/recording_left_out.rs")]
pub mod recording;
mod self_check;
mod syscalls;
mod system;
mod tables;
mod thread_choice;
mod user_reads;
mod watchdog;

use std::cell::RefCell;
use std::rc::{Rc, Weak};

pub use given_core::give_core;
#[cfg(feature = "commands")]
pub use recording::sampling::command::Following;
pub use system::SystemPaths;
pub use tables::{latencies, table};

use crate::MAX_COUNTERS;
use crate::error::OpenError;
use crate::{Reading, Source, Wanted, empty_window_of};
use engine::Engine;
use opener::Opener;
use readout::Tickets;
use syscalls::Counted;
use system::CorePmu;
use thread_choice::ThreadChoice;
use topdown_run::environment;
use topdown_run::provenance::{Provenance, SourceKind};
use topdown_run::sample::Sample;
use topdown_run::setting::{Counters, Setting, Threads};
use user_reads::UserReads;

/// The counters of the thread that opened them, and of all other threads of its process in
/// benchmarks where others work: see [`Threads`].
///
/// Counts user mode only, so `kernel.perf_event_paranoid` 2 suffices. If a sample's flags are
/// [`UNUSABLE`](topdown_run::sample::Flags::UNUSABLE), its counts may be placeholders of 0.
///
/// A thread has one slots counter, so all its handles share one group. A window inside another one
/// spoils the outer one, which is flagged.
#[derive(Debug)]
pub struct Hardware {
    /// Not an `Arc`: on another thread, RDPMC would read that thread's counters.
    opened: Rc<Opened>,
}

/// State shared by the handles of a thread.
#[derive(Debug)]
struct Opened {
    paths: SystemPaths,
    wanted: Wanted,
    pmu: CorePmu,
    /// Those of the engine, without a detour for the two ends of a window.
    reads: Option<Rc<UserReads>>,
    engine: Engine,
    /// The provenance of the thread's own group.
    provenance: Provenance,
    tickets: Tickets,
    whose: ThreadChoice,
}

thread_local! {
    static OPENED: RefCell<Weak<Opened>> = const { RefCell::new(Weak::new()) };
}

impl Hardware {
    /// Opens the counters of the calling thread and proves that they count, which takes about a
    /// millisecond. The environment variable `CARGO_TOPDOWN_COUNTERS` selects the counters (see
    /// [`Counters`]); `CARGO_TOPDOWN_GROUP` may name a metric group to count in place of the
    /// categories.
    ///
    /// On a hybrid machine, pins the thread to the performance cores, or to the others if it may
    /// not run there, and says so in the provenance. Windows in which it was moved away are
    /// flagged. The first handle of the process installs a handler of SIGSEGV (of SIGILL on Arm)
    /// for reads that the CPU refuses there; it passes all other signals to the previous handler.
    ///
    /// # Errors
    /// Returns why the counters cannot be used on this machine, by this user, or at this moment.
    pub fn open() -> Result<Hardware, OpenError> {
        let paths = SystemPaths::default();
        let hardware = Hardware::open_counting(
            &paths,
            Wanted::from_environment()?,
            Threads::from_environment()?,
        )?;
        if let Ok(decided) = std::env::var(environment::THREADS_DECIDED) {
            hardware.decide_threads(&decided);
        }
        Ok(hardware)
    }

    /// Applies an earlier launch's decision for [`Threads::Auto`], in the format of
    /// [`environment::THREADS_DECIDED`].
    pub fn decide_threads(&self, decided: &str) {
        self.opened.whose.decide(decided);
    }

    /// Opens the counters of the calling thread alone, with the kernel's file systems mounted
    /// elsewhere.
    ///
    /// # Errors
    /// Same as [`open`](Hardware::open).
    #[inline]
    pub fn open_in(paths: &SystemPaths) -> Result<Hardware, OpenError> {
        Hardware::open_wanted(paths, Wanted::from_environment()?)
    }

    /// Like [`open_in`](Hardware::open_in), with the given counters.
    ///
    /// # Errors
    /// Same as [`open`](Hardware::open).
    #[inline]
    pub fn open_with(paths: &SystemPaths, counters: Counters) -> Result<Hardware, OpenError> {
        Hardware::open_wanted(paths, Wanted::Categories(counters))
    }

    /// Like [`open_in`](Hardware::open_in), counting what is `wanted`.
    ///
    /// # Errors
    /// Same as [`open`](Hardware::open).
    #[inline]
    pub fn open_wanted(paths: &SystemPaths, wanted: Wanted) -> Result<Hardware, OpenError> {
        Hardware::open_counting(paths, wanted, Threads::Own)
    }

    /// Opens the counters of the calling thread alone, counting what is `wanted`.
    ///
    /// # Errors
    /// Same as [`open`](Hardware::open).
    #[inline]
    pub fn open_own(wanted: Wanted) -> Result<Hardware, OpenError> {
        Hardware::open_wanted(&SystemPaths::default(), wanted)
    }

    /// Returns the kernel's counts of the thread's own group while `work` runs; empty if it reports
    /// none.
    pub fn counts_of(&self, work: impl FnOnce()) -> Vec<(&'static str, u64)> {
        let (leader, names) = self.opened.engine.leader_and_events();
        let mut words = [[0; 3 + 1 + MAX_COUNTERS]; 2];
        let is_filled =
            |filled: std::io::Result<usize>| filled.is_ok_and(|filled| filled == 3 + names.len());
        let [before, after] = &mut words;
        if !is_filled(leader.read_group(before)) {
            return Vec::new();
        }
        work();
        if !is_filled(leader.read_group(after)) {
            return Vec::new();
        }
        let counts = after
            .iter()
            .zip(before)
            .map(|(after, before)| after.wrapping_sub(*before));
        names.into_iter().zip(counts.skip(3)).collect()
    }

    /// Like [`open_wanted`](Hardware::open_wanted), for these `threads`.
    ///
    /// # Errors
    /// Same as [`open`](Hardware::open).
    pub fn open_counting(
        paths: &SystemPaths,
        wanted: Wanted,
        threads: Threads,
    ) -> Result<Hardware, OpenError> {
        let is_the_same = |opened: &Rc<Opened>| {
            opened.paths == *paths && opened.wanted == wanted && opened.whose.wanted() == threads
        };
        let shared = OPENED.with_borrow(Weak::upgrade);
        if let Some(opened) = shared.filter(is_the_same) {
            return Ok(Hardware { opened });
        }
        let hardware = Hardware {
            opened: Rc::new(Opened::new(paths, wanted)?),
        };
        // Before the handle is shared, so that the result can be stored.
        let empty_window = empty_window_of(&hardware);
        let mut opened = hardware.opened;
        if let Some(opened) = Rc::get_mut(&mut opened) {
            opened.provenance.empty_window = Some(empty_window);
            opened.whose = ThreadChoice::new(threads);
        }
        if threads == Threads::All {
            opened.count_all()?;
        }
        OPENED.set(Rc::downgrade(&opened));
        Ok(Hardware { opened })
    }
}

impl Opened {
    fn new(paths: &SystemPaths, wanted: Wanted) -> Result<Opened, OpenError> {
        let cores::CountedCores {
            cpu,
            pmu,
            confined_to,
        } = cores::keep_on_counted(paths, cores::counters_for(&wanted))?;
        let opener = Opener::of(paths, &pmu, Counted::ThisThread);
        let mut group = group::open(&opener, &cpu, &pmu, &wanted)?;
        if let Some(cpus) = confined_to {
            group.reason += &format!(
                "; the thread is kept on CPUs {cpus}, the {}",
                cores::kind_of_cores(&pmu.name)
            );
        }
        Ok(Opened {
            paths: paths.clone(),
            wanted,
            reads: group.engine.user_reads().cloned(),
            engine: group.engine,
            provenance: Provenance {
                core_type: pmu.is_one_of_several.then(|| pmu.name.clone()),
                slots_per_cycle: group.slots_per_cycle,
                ..Provenance::new(SourceKind::Hardware, group.formula, group.reason)
            },
            pmu,
            tickets: Tickets::default(),
            // Until its own windows have been measured.
            whose: ThreadChoice::new(Threads::Own),
        })
    }
}

/// Opens the counters of the calling thread: [`Hardware`], or what [`recording`] has if
/// [`environment::SAMPLING_PERIOD`] asks for PMU samples or [`environment::LATENCIES`] for the
/// retire latencies of a metric group.
///
/// # Errors
/// Same as [`Hardware::open`].
pub fn open() -> Result<Box<dyn Source>, OpenError> {
    for variable in [environment::LATENCIES, environment::SAMPLING_PERIOD] {
        match std::env::var(variable) {
            Ok(wanted) if !wanted.is_empty() => return recording::open(variable, &wanted),
            _ => {}
        }
    }
    Ok(Box::new(Hardware::open()?))
}

impl Source for Hardware {
    fn provenance(&self) -> &Provenance {
        self.opened.counting_provenance()
    }

    fn sample_boundary(&self) {
        self.opened.choose_threads();
    }

    fn completed(&self, sample: &Sample) -> Sample {
        self.opened.completed(sample)
    }

    fn sample_kept(&self) {
        self.opened.sample_kept();
    }

    fn benchmark_boundary(&self) {
        self.opened.benchmark_boundary();
    }

    fn start(&self) -> Reading {
        self.opened.start()
    }

    fn end(&self, start: &Reading) -> Sample {
        self.opened.end(start)
    }
}
