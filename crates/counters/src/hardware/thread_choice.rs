//! Threads whose slots the windows count: the measuring one, or all.
//!
//! Only one group of a thread can have the slots counter, so the thread's own is off the PMU while
//! all threads are counted. The decision is made in the warm-up, or by an earlier launch, so all
//! samples kept of a benchmark count the same threads.

use std::cell::{Cell, OnceCell, Ref, RefCell};

use super::Opened;
use super::all_threads::AllThreads;
use super::doubts;
use super::engine::Engine;
use super::group::{self, Group};
use super::inherited_group::Shape;
use super::metrics_shape::SLOTS;
use super::opener::Opener;
use super::syscalls::Counted;
use super::system::CpuIdentity;
use crate::error::OpenError;
use crate::processor_time::Watch;
use crate::{Reading, Wanted, clock, empty_windows_by, median_window};
use topdown_run::activity::Activity;
use topdown_run::provenance::{CountedThreads, Provenance};
use topdown_run::sample::{Flags, Sample};
use topdown_run::setting::{Counters, Threads};

/// State of the current benchmark.
#[derive(Debug)]
pub(super) struct ThreadChoice {
    wanted: Threads,
    watch: Watch,
    /// The threads' activity in its windows so far.
    activity: Cell<Activity>,
    has_sample: Cell<bool>,
    /// Earlier launches' decisions: see
    /// [`THREADS_DECIDED`](topdown_run::environment::THREADS_DECIDED).
    decided: RefCell<String>,
    /// Whether all threads are counted: a flag, since every window asks.
    counts_all: Cell<bool>,
    all: RefCell<Option<AllThreads>>,
    /// Set once all threads have been counted.
    provenance_of_all: OnceCell<Provenance>,
    /// Set once counting all threads failed.
    provenance_of_own: OnceCell<Provenance>,
}

impl ThreadChoice {
    pub fn new(wanted: Threads) -> ThreadChoice {
        ThreadChoice {
            wanted,
            watch: Watch::default(),
            activity: Cell::default(),
            has_sample: Cell::default(),
            decided: RefCell::default(),
            counts_all: Cell::default(),
            all: RefCell::default(),
            provenance_of_all: OnceCell::new(),
            provenance_of_own: OnceCell::new(),
        }
    }

    pub fn wanted(&self) -> Threads {
        self.wanted
    }

    pub fn decide(&self, decided: &str) {
        *self.decided.borrow_mut() = decided.to_owned();
    }

    /// Returns the groups of all threads, while these are counted.
    #[inline]
    fn all(&self) -> Option<Ref<'_, AllThreads>> {
        if !self.counts_all.get() {
            return None;
        }
        Ref::filter_map(self.all.borrow(), Option::as_ref).ok()
    }

    /// Counts these groups from now on, if there are any. Returns those before.
    fn replace_all(&self, all: Option<AllThreads>) -> Option<AllThreads> {
        self.counts_all.set(all.is_some());
        self.all.replace(all)
    }

    /// Returns whether to count all threads in the current benchmark.
    fn wants_all(&self) -> bool {
        match self.decided.borrow().as_bytes().get(BENCHMARKS.get()) {
            Some(b'a') => true,
            Some(b'o') => false,
            _ => self.activity.get().fraction_of_others().is_some(),
        }
    }
}

thread_local! {
    /// Number of benchmarks this thread has measured, through any handle.
    static BENCHMARKS: Cell<usize> = const { Cell::new(0) };
}

impl Opened {
    pub(super) fn counting_provenance(&self) -> &Provenance {
        let whose = &self.whose;
        if whose.counts_all.get() {
            whose.provenance_of_all.get()
        } else {
            whose.provenance_of_own.get()
        }
        .unwrap_or(&self.provenance)
    }

    /// Begins a window. The counters are read last.
    #[inline(always)]
    pub(super) fn start(&self) -> Reading {
        let reading = self.prepare();
        if !self.reads.as_ref().is_none_or(|reads| reads.begin()) {
            self.restart();
        }
        reading
    }

    #[inline(never)]
    fn prepare(&self) -> Reading {
        let at_ns = self.whose.watch.before_window();
        let ready_at_ns = match self.whose.all() {
            Some(all) => {
                all.start();
                at_ns
            }
            None => self.engine.prepare(at_ns),
        };
        Reading::from_window(self.tickets.next(), ready_at_ns)
    }

    /// Reading the thread's own counters must fail while all threads are counted.
    #[cold]
    fn restart(&self) {
        if !self.whose.counts_all.get() {
            self.engine.restart();
        }
    }

    /// Ends a window. The counters are read first.
    #[inline(always)]
    pub(super) fn end(&self, start: &Reading) -> Sample {
        let is_unmoved = self.reads.as_ref().is_some_and(|reads| reads.look());
        self.finish(is_unmoved, start)
    }

    #[inline(never)]
    fn finish(&self, is_unmoved: bool, start: &Reading) -> Sample {
        let mut window = match self.whose.all() {
            _ if !self.tickets.is_latest(start) => Sample {
                slots: Some(0),
                ..Sample::from_window(clock::elapsed_ns(start.at_ns), Flags::NOT_COUNTING)
            },
            Some(all) => all.end(start),
            None => self.engine.end(is_unmoved, start),
        };
        if let Some(activity) = self.whose.watch.after_window(window.wall_ns) {
            window.activity = Some(activity);
            let activities = &self.whose.activity;
            activities.set(activities.get().plus(&activity));
        }
        window
    }

    /// Returns a sample that has all its windows, with its categories and threads.
    pub(super) fn completed(&self, sample: &Sample) -> Sample {
        let mut completed = self.engine.completed(sample);
        // The slots of unusable windows may be placeholders.
        let is_usable = !completed.flags.intersects(Flags::UNUSABLE);
        let slots = completed.slots.filter(|_| is_usable);
        if slots.is_some_and(|slots| doubts::are_few(slots, sample.windows)) {
            completed.flags |= Flags::FEW_SLOTS;
        }
        completed
    }

    /// Switches to counting all threads if others have worked in the warm-up. Call this outside
    /// every window.
    pub(super) fn choose_threads(&self) {
        let whose = &self.whose;
        let is_open = whose.wanted == Threads::Auto
            && !whose.has_sample.get()
            && !whose.counts_all.get()
            && whose.provenance_of_own.get().is_none();
        if !is_open || !whose.wants_all() {
            return;
        }
        if let Err(error) = self.count_all() {
            let _ = whose.provenance_of_own.set(Provenance {
                reason: format!(
                    "{}; all threads could not be counted: {error}",
                    self.provenance.reason
                ),
                ..self.provenance.clone()
            });
        }
    }

    pub(super) fn sample_kept(&self) {
        self.whose.has_sample.set(true);
    }

    pub(super) fn benchmark_boundary(&self) {
        if self.whose.has_sample.replace(false) {
            BENCHMARKS.set(BENCHMARKS.get() + 1);
        }
        self.whose.activity.take();
        if self.whose.wanted == Threads::Auto && self.whose.replace_all(None).is_some() {
            // A group that stays off the PMU is flagged in every window.
            let _ = self.engine.resume();
        }
    }

    /// Counts all threads instead of the measuring one.
    pub(super) fn count_all(&self) -> Result<(), OpenError> {
        let opener = self.opener();
        self.engine
            .suspend()
            .map_err(opener.control(SLOTS.0, "disable"))?;
        let opened = self.open_all(&opener);
        if opened.is_err() {
            let _ = self.engine.resume();
        }
        self.whose.replace_all(Some(opened?));
        Ok(())
    }

    fn open_all(&self, opener: &Opener<'_>) -> Result<AllThreads, OpenError> {
        let plain = self.plain_counters(opener);
        let (shape, formula, slots_per_cycle) = match &plain {
            Some(group) => (
                Shape::like(&group.engine),
                &group.formula,
                group.slots_per_cycle,
            ),
            None => (
                Shape::like(&self.engine),
                &self.provenance.formula,
                self.provenance.slots_per_cycle,
            ),
        };
        let (formula, slots_per_cycle) = (formula.clone(), slots_per_cycle);
        // Its counters are needed.
        drop(plain);
        let all = AllThreads::open(opener, shape)?;
        let empty_window = median_window(&empty_windows_by(&|| {
            let start = Reading::from_clock();
            all.start();
            all.end(&start)
        }));
        let provenance = Provenance {
            formula,
            slots_per_cycle,
            reason: format!(
                "{} of PMU `{}`, of all threads of the process, read with system calls",
                shape.name(),
                self.pmu.name
            ),
            empty_window: Some(empty_window),
            threads: CountedThreads::All,
            ..self.provenance.clone()
        };
        // One that is set differs only in the cost of an empty window.
        let _ = self.whose.provenance_of_all.set(provenance);
        Ok(all)
    }

    /// Opens plain counters, unless PERF_METRICS was requested, whose ratios the kernel rounds at
    /// every switch of a waiting thread. Returns `None` if they do not fit, or are used already.
    fn plain_counters(&self, opener: &Opener<'_>) -> Option<Group> {
        let is_free = self.wanted == Wanted::Categories(Counters::Auto);
        let has_metrics = matches!(self.engine, Engine::Rdpmc(_) | Engine::Read(_));
        (is_free && has_metrics)
            .then(|| group::open_exact(opener, &CpuIdentity::read(&self.paths), &self.pmu).ok())
            .flatten()
    }

    fn opener(&self) -> Opener<'_> {
        Opener::of(&self.paths, &self.pmu, Counted::ThisThread)
    }
}
