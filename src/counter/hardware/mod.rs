//! The CPU's own counters, on Linux.
//!
//! [`Hardware`] finds the PMU (`system`), keeps the thread on its cores (`cores`), opens a group
//! (`opener`, `syscalls`), proves that it counts (`self_check`) and reads it; `watchdog` finds out
//! whether the kernel keeps a counter for itself. There are two kinds of group. Plain counters
//! (`exact_group`) follow the table of the CPU in [`cpu`](crate::cpu). Intel's PERF_METRICS
//! (`metrics_shape`) is read with RDPMC (`metrics_group`), or with read() if RDPMC is off
//! (`read_group`); `ratios` turns its registers into slots, and `reset` decides when to clear them.
//! `page` and `user_reads` read counters without system calls, and `doubts` raises the flags.
//!
//! If other threads work for a benchmark, groups that new threads inherit (`inherited_group`,
//! `all_threads`) count all threads of the process; `whose` decides that and switches over.
//! [`TreeCounters`] (`process_tree`) counts a whole command, with all processes that it starts,
//! using the same events and formulas.
//!
//! [`HittingHardware`] (`hits`) has the kernel record where the code is, in launches of their own,
//! and [`TreeCounters::follow`] does so for a command. [`TimedHardware`] (`timed`) has it record
//! how long loads hold up retirement.
//!
//! Only `syscalls`, `page`, `user_reads`, `hits::ring` and `hits::follow` contain `unsafe`.

mod all_threads;
mod cores;
mod doubts;
mod exact_group;
mod given_core;
#[cfg(feature = "hits")]
mod hits;
mod inherited_group;
mod metrics_group;
mod metrics_shape;
mod opener;
mod page;
#[cfg(feature = "commands")]
mod process_tree;
mod ratios;
mod read_group;
mod readout;
mod reset;
mod self_check;
#[cfg(feature = "commands")]
mod survey;
mod syscalls;
mod system;
#[cfg(feature = "hits")]
mod timed;
mod user_reads;
mod watchdog;
mod whose;

use std::cell::RefCell;
use std::rc::{Rc, Weak};

pub use given_core::give_core;
#[cfg(feature = "commands")]
pub use hits::Following;
#[cfg(feature = "hits")]
pub use hits::HittingHardware;
#[cfg(feature = "commands")]
pub use process_tree::{CountedTree, TreeCounters};
#[cfg(feature = "commands")]
pub use survey::{survey, survey_in};
pub use system::SystemPaths;
#[cfg(feature = "hits")]
pub use timed::TimedHardware;

#[cfg(feature = "proof")]
use crate::counter::MAX_COUNTERS;
use crate::counter::survey::TopdownEvents;
use crate::counter::{Reading, Source, Wanted, empty_window_of};
use crate::cpu::{CoreType, CpuTable, LatencyTable, Level1Counting, MetricGroup, latencies_for};
use crate::environment;
use crate::error::OpenError;
use crate::provenance::{Provenance, SourceKind};
use crate::sample::Sample;
use crate::setting::{Counters, Setting, Threads};
use exact_group::ExactGroup;
use metrics_group::MetricsGroup;
use metrics_shape::MetricsShape;
use opener::Opener;
use read_group::ReadGroup;
use readout::{Beginnings, Readout};
use syscalls::Counted;
use system::{CorePmu, CpuIdentity, core_pmu, cpus_of};
use user_reads::UserReads;
use whose::Whose;

/// The counters of the thread that opened them, and of all other threads of its process in
/// benchmarks where others work: see [`Threads`].
///
/// Counts user mode only, so `kernel.perf_event_paranoid` 2 suffices. If a sample's flags are
/// [`UNUSABLE`](crate::sample::Flags::UNUSABLE), its counts may be placeholders of 0.
///
/// A thread has one slots counter, so all handles of a thread share one group. Opening a window
/// inside another one spoils the outer one, which is flagged.
#[derive(Debug)]
pub struct Hardware {
    /// Not an `Arc`: on another thread, RDPMC would read that thread's counters.
    opened: Rc<Opened>,
}

/// What the handles of a thread share.
#[derive(Debug)]
struct Opened {
    paths: SystemPaths,
    wanted: Wanted,
    pmu: CorePmu,
    /// Those of the engine, where the two ends of a window find them at once.
    reads: Option<Rc<UserReads>>,
    engine: Engine,
    /// The provenance of the thread's own group.
    provenance: Provenance,
    beginnings: Beginnings,
    whose: Whose,
}

thread_local! {
    static OPENED: RefCell<Weak<Opened>> = const { RefCell::new(Weak::new()) };
}

#[derive(Debug)]
enum Engine {
    Rdpmc(MetricsGroup),
    Read(ReadGroup),
    Exact(ExactGroup),
}

impl Hardware {
    /// Opens the counters of the calling thread and proves that they count, which takes about a
    /// millisecond. The environment variable `CARGO_TOPDOWN_COUNTERS` selects the counters (see
    /// [`Counters`]); `CARGO_TOPDOWN_GROUP` may name a metric group to count in place of the
    /// categories.
    ///
    /// On a hybrid machine, pins the thread to the cores of one type from then on, and says so in
    /// the provenance: to the performance cores if the thread may run there, otherwise to the
    /// others. It must not be moved to others while the handle is in use: RDPMC of counters that
    /// they do not have kills the process.
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

    /// Applies what an earlier launch decided for [`Threads::Auto`], in the format of
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

    /// Returns what the kernel counts of each event of the thread's own group while `work` runs;
    /// nothing if it does not say.
    #[cfg(feature = "proof")]
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
        // Measured with a handle that is not shared yet, so that the result can still be stored.
        let empty_window = empty_window_of(&hardware);
        let mut opened = hardware.opened;
        if let Some(opened) = Rc::get_mut(&mut opened) {
            opened.provenance.empty_window = Some(empty_window);
            opened.whose = Whose::new(threads);
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
        let group = match &wanted {
            Wanted::Group(name) => open_group(&opener, &cpu, &pmu, name),
            Wanted::Categories(counters)
                if pmu.topdown.is_metrics() && *counters != Counters::Exact =>
            {
                open_metrics(&opener, &cpu, &pmu, *counters)
            }
            Wanted::Categories(_) => open_exact(&opener, &cpu, &pmu),
        };
        let mut group = group.map_err(|error| watchdog::blamed_rightly(&opener, error))?;
        if let Some(cpus) = confined_to {
            group.reason += &format!(
                "; the thread is kept on CPUs {cpus}, the {}",
                kind_of_cores(&pmu.name)
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
            beginnings: Beginnings::default(),
            // Until its own windows have been measured.
            whose: Whose::new(Threads::Own),
        })
    }
}

/// Opens the counters of the calling thread: [`Hardware`], or [`HittingHardware`] if
/// [`environment::HIT_PERIOD`] asks for hits, or [`TimedHardware`] if [`environment::LATENCIES`]
/// asks for the retire latencies of a metric group.
///
/// # Errors
/// Same as [`Hardware::open`].
pub fn open() -> Result<Box<dyn Source>, OpenError> {
    for variable in [environment::LATENCIES, environment::HIT_PERIOD] {
        match std::env::var(variable) {
            Ok(wanted) if !wanted.is_empty() => return open_recording(variable, &wanted),
            _ => {}
        }
    }
    Ok(Box::new(Hardware::open()?))
}

#[cfg(feature = "hits")]
fn open_recording(variable: &str, wanted: &str) -> Result<Box<dyn Source>, OpenError> {
    if variable == environment::LATENCIES {
        return Ok(Box::new(timed::shared(wanted)?));
    }
    let periods = wanted.split(',').map(|period| period.parse().unwrap_or(0));
    Ok(Box::new(hits::shared(&periods.collect::<Vec<u64>>())?))
}

#[cfg(not(feature = "hits"))]
fn open_recording(_: &str, _: &str) -> Result<Box<dyn Source>, OpenError> {
    Err(OpenError::LeftOut { part: "hits" })
}

/// A group and what to say about it.
struct Group {
    engine: Engine,
    formula: String,
    slots_per_cycle: Option<u32>,
    reason: String,
}

fn metrics_shape(
    cpu: &CpuIdentity,
    pmu: &CorePmu,
    counters: Counters,
) -> Result<MetricsShape, OpenError> {
    let table = supported_table(cpu, pmu)?;
    let correction = match counters {
        Counters::Tma => Some(table.metrics.ok_or_else(|| OpenError::UnsupportedCpu {
            pmu: pmu.name.clone(),
            cpu: cpu.in_words(),
            reason: "no table has the corrections of Intel's metrics for its PERF_METRICS",
        })?),
        _ => None,
    };
    Ok(MetricsShape {
        level2: pmu.topdown == TopdownEvents::MetricsLevel2,
        clears: pmu.clears_metrics,
        correction,
        slots_per_cycle: table.slots_per_cycle,
    })
}

fn open_metrics(
    opener: &Opener<'_>,
    cpu: &CpuIdentity,
    pmu: &CorePmu,
    counters: Counters,
) -> Result<Group, OpenError> {
    let shape = metrics_shape(cpu, pmu, counters)?;
    let (engine, way) = match MetricsGroup::open(opener, shape)? {
        Some(group) if shape.clears => {
            (Engine::Rdpmc(group), "read with RDPMC, which sets it to 0")
        }
        Some(group) => (Engine::Rdpmc(group), "read with RDPMC"),
        None => (
            Engine::Read(ReadGroup::open(opener, shape)?),
            "read with system calls, because RDPMC is off",
        ),
    };
    let corrected = match shape.correction {
        Some(_) => " with the corrections of Intel's metrics",
        None => "",
    };
    Ok(Group {
        engine,
        formula: shape.formula().to_owned(),
        slots_per_cycle: shape.slots_per_cycle,
        reason: format!("PERF_METRICS of PMU `{}`{corrected}, {way}", pmu.name),
    })
}

/// Returns the table of the cores counted by the PMU of this name: the one given by the user, if
/// any.
#[inline(never)]
fn table_of(cpu: &CpuIdentity, pmu: &str) -> Result<&'static CpuTable, OpenError> {
    match given_core::given_core(cpu, pmu)? {
        Some(table) => Ok(table),
        None => cpu.table(pmu).ok_or_else(|| OpenError::UnsupportedCpu {
            pmu: pmu.to_owned(),
            cpu: cpu.in_words(),
            reason: "no table lists the events of its categories",
        }),
    }
}

/// Returns the table of cores whose level 1 can be counted.
fn supported_table(cpu: &CpuIdentity, pmu: &CorePmu) -> Result<&'static CpuTable, OpenError> {
    let table = table_of(cpu, &pmu.name)?;
    match table.level1 {
        Level1Counting::Forms(_) => Ok(table),
        Level1Counting::Unsupported(reason) => Err(OpenError::UnsupportedCpu {
            pmu: pmu.name.clone(),
            cpu: cpu.in_words(),
            reason,
        }),
    }
}

/// Returns the table of a core type of this machine, or of its only one if there is no `core_type`.
///
/// # Errors
/// Returns [`OpenError::NoPmu`], [`OpenError::UnsupportedCpu`], or [`OpenError::DescribedCore`].
#[inline]
pub fn table(core_type: Option<&str>) -> Result<&'static CpuTable, OpenError> {
    let paths = SystemPaths::default();
    let cpu = CpuIdentity::read(&paths);
    match core_type {
        Some(pmu) => table_of(&cpu.of_cores(&paths, cpus_of(&paths, pmu).as_deref()), pmu),
        None => {
            let pmu = core_pmu(&paths, &cpu, Counters::Exact)?;
            table_of(&cpu.of_cores(&paths, pmu.cpus.as_deref()), &pmu.name)
        }
    }
}

/// Returns the retire latencies of a core type of this machine, or of its only one if there is no
/// `core_type`; `None` if no table has them.
#[inline]
pub fn latencies(core_type: Option<&str>) -> Option<&'static LatencyTable> {
    let paths = SystemPaths::default();
    let cpu = CpuIdentity::read(&paths);
    let pmu = match core_type {
        Some(pmu) => pmu.to_owned(),
        None => core_pmu(&paths, &cpu, Counters::Exact).ok()?.name,
    };
    latencies_for(&cpu.identity(&pmu))
}

fn slots_per_cycle(cpu: &CpuIdentity, pmu: &CorePmu, table: &CpuTable) -> Result<u32, OpenError> {
    if given_core::is_given(table) {
        given_core::check_width(table.slots_per_cycle, pmu.slots_per_cycle)?;
    }
    pmu.slots_per_cycle
        .or(table.slots_per_cycle)
        .ok_or_else(|| OpenError::UnsupportedCpu {
            pmu: pmu.name.clone(),
            cpu: cpu.in_words(),
            reason: "neither the kernel nor a table has its slots per cycle",
        })
}

/// Opens a metric group in place of the categories.
#[inline(never)]
fn open_group(
    opener: &Opener<'_>,
    cpu: &CpuIdentity,
    pmu: &CorePmu,
    name: &str,
) -> Result<Group, OpenError> {
    let table = table_of(cpu, &pmu.name)?;
    let wanted = wanted_group(table, name)?;
    let slots_per_cycle = match slots_per_cycle(cpu, pmu, table) {
        Ok(width) => Some(width),
        // Only metrics in slots need it, and no core without a known width has those.
        Err(OpenError::UnsupportedCpu { .. }) => None,
        Err(error) => return Err(error),
    };
    let group = ExactGroup::open_group(opener, table, wanted, slots_per_cycle.unwrap_or(0))?;
    Ok(Group {
        engine: Engine::Exact(group),
        formula: wanted.formula(),
        slots_per_cycle,
        reason: format!("metric group {name} of PMU `{}` ({})", pmu.name, table.name),
    })
}

fn wanted_group(table: &'static CpuTable, name: &str) -> Result<&'static MetricGroup, OpenError> {
    table.group(name).ok_or_else(|| OpenError::UnknownGroup {
        name: name.to_owned(),
        cpu: table.name,
        known: names_of_groups(table),
    })
}

fn names_of_groups(table: &CpuTable) -> String {
    let mut names = String::new();
    for group in table.groups {
        if !names.is_empty() {
            names += ", ";
        }
        names += group.name;
    }
    names
}

#[inline(never)]
fn open_exact(opener: &Opener<'_>, cpu: &CpuIdentity, pmu: &CorePmu) -> Result<Group, OpenError> {
    let table = supported_table(cpu, pmu)?;
    let slots_per_cycle = slots_per_cycle(cpu, pmu, table)?;
    let (group, form, refusal) = ExactGroup::open(opener, table, slots_per_cycle)?;
    let way = if group.reads_in_user_code() {
        "without system calls"
    } else {
        "with system calls, because the kernel lets user code read none"
    };
    let mut reason = format!(
        "plain counters of PMU `{}` ({}), read {way}",
        pmu.name, table.name
    );
    if let Some(refusal) = refusal {
        reason += "; not all events of the best group could be counted";
        if matches!(refusal, OpenError::TooFewCounters { .. }) {
            reason += " beside the NMI watchdog";
        }
    }
    Ok(Group {
        formula: form.formula.to_owned(),
        slots_per_cycle: Some(slots_per_cycle),
        engine: Engine::Exact(group),
        reason,
    })
}

fn kind_of_cores(pmu: &str) -> &'static str {
    match CoreType::of_pmu(pmu) {
        CoreType::Performance if pmu.starts_with("armv") => "cores of this PMU",
        CoreType::Performance => "performance cores",
        CoreType::Efficient => "efficiency cores",
        CoreType::LowPower => "low-power cores",
    }
}

impl Engine {
    fn sample_boundary(&self) {
        if let Engine::Rdpmc(group) = self {
            group.sample_boundary();
        }
    }

    /// Returns how to read the counters in user code; `None` if that takes system calls.
    fn user_reads(&self) -> Option<&Rc<UserReads>> {
        match self {
            Engine::Rdpmc(group) => Some(group.user_reads()),
            Engine::Read(_) => None,
            Engine::Exact(group) => group.user_reads(),
        }
    }

    /// Prepares a window whose counters are then read in user code; or begins it.
    fn prepare(&self, readout: &mut Readout) {
        match self {
            Engine::Rdpmc(group) => group.prepare(readout),
            Engine::Read(group) => group.start(readout),
            Engine::Exact(group) => group.prepare(readout),
        }
    }

    /// Begins a window after reading the counters in user code failed once.
    #[cold]
    fn start_anew(&self, readout: &mut Readout) {
        match self {
            Engine::Rdpmc(group) => group.start_anew(readout),
            Engine::Read(group) => group.start(readout),
            Engine::Exact(group) => group.start_anew(readout),
        }
    }

    fn end(&self, is_counting: bool, start: &Readout) -> Sample {
        match self {
            Engine::Rdpmc(group) => group.end(is_counting, start),
            Engine::Read(group) => group.end(start),
            Engine::Exact(group) => group.end(is_counting, start),
        }
    }

    /// Returns the leader, and the names of the group's events with its own first.
    #[cfg(feature = "proof")]
    fn leader_and_events(&self) -> (&syscalls::Event, Vec<&'static str>) {
        let slots_and = |others: Vec<(&'static str, u64)>| {
            let names = others.into_iter().map(|(name, _)| name);
            std::iter::once(metrics_shape::SLOTS.0)
                .chain(names)
                .collect()
        };
        match self {
            Engine::Rdpmc(group) => {
                let shape = group.shape();
                let mut others = shape.plain_events();
                others.insert(0, metrics_shape::RETIRING);
                (group.leader(), slots_and(others))
            }
            Engine::Read(group) => {
                let shape = group.shape();
                (group.leader(), slots_and(shape.events_of_read()))
            }
            Engine::Exact(group) => {
                let events = group.plan().events.iter();
                (group.leader(), events.map(|event| event.name).collect())
            }
        }
    }

    fn suspend(&self) -> std::io::Result<()> {
        match self {
            Engine::Rdpmc(group) => group.suspend(),
            Engine::Read(group) => group.suspend(),
            Engine::Exact(group) => group.suspend(),
        }
    }

    fn resume(&self) -> std::io::Result<()> {
        match self {
            Engine::Rdpmc(group) => group.resume(),
            Engine::Read(group) => group.resume(),
            Engine::Exact(group) => group.resume(),
        }
    }
}

impl Source for Hardware {
    fn provenance(&self) -> &Provenance {
        self.opened.counting_provenance()
    }

    fn sample_boundary(&self) {
        self.opened.engine.sample_boundary();
        self.opened.decide_whose();
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
