//! PMU samples of a command: each of its threads, in all its processes, has a group and a buffer of
//! its own, from its first instruction on.
//!
//! Before Linux 6.12, threads cannot inherit a group that records its counts. So a thread of this
//! program follows the command with ptrace, which stops each new thread until its group is open.
//! Another one empties the buffers, and finds the code of each PMU sample while it is mapped.

mod follow;
mod found;

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use libc::pid_t;

use super::SamplingGroup;
use super::periods::Periods;
use super::records::Records;
use super::ring::Ring;
use crate::command_samples::CommandSamples;
use crate::error::OpenError;
use crate::hardware::commands::TreeCounters;
use crate::hardware::inherited_group::Shape;
use crate::hardware::opener::Opener;
use crate::hardware::syscalls::Counted;
use follow::Threads;
use found::{Found, ThreadPosition};

/// Sizes of a thread's buffer. Many threads share the limit.
const PAGES: [usize; 3] = [32, 8, 2];

/// Interval between emptying the buffers, short enough for ten thousand samples per second.
const EVERY: Duration = Duration::from_millis(20);

/// A command that is sampled while it runs.
#[derive(Debug)]
pub struct Following {
    thread: JoinHandle<Result<CommandSamples, OpenError>>,
}

impl TreeCounters {
    /// Samples the process with this id from its next `exec` on, and all threads and processes that
    /// it starts, with a PMU sample every `period_cycles`. The process must not call `exec` until
    /// this returns, and must not be reaped before [`Following::finish`] returns.
    ///
    /// # Errors
    /// Returns why the process cannot be sampled.
    #[inline]
    pub fn follow(&self, process: u32, period_cycles: u64) -> Result<Following, OpenError> {
        let first = process as pid_t;
        let (_, _, shape) = self.parts();
        let of_cycles = Periods::for_cycles(shape, period_cycles);
        let mut sampler = Sampler {
            counters: self.clone(),
            periods: Periods::own(shape, period_cycles).unwrap_or(of_cycles),
            threads: HashMap::new(),
            found: Found::default(),
            outcome: Outcome::default(),
        };
        let (ready, is_ready) = mpsc::channel();
        // Only the thread that seizes may make further requests.
        let thread = std::thread::Builder::new()
            .name("follow".to_owned())
            .spawn(move || {
                let seized = follow::seize(first).map_err(|error| OpenError::Follow { error });
                let opened = seized.and_then(|()| sampler.sample_first(first, of_cycles));
                let is_open = opened.is_ok();
                // The other end waits.
                let _ = ready.send(opened);
                match is_open {
                    true => sampler.run(first),
                    false => Ok(sampler.finish()),
                }
            })
            .map_err(|error| OpenError::Follow { error })?;
        // Without an answer the thread has panicked, which `finish` reports.
        is_ready.recv().unwrap_or(Ok(()))?;
        Ok(Following { thread })
    }
}

impl Following {
    /// Waits until the command has exited, and returns its samples.
    ///
    /// # Errors
    /// Returns an error if something else took the PMU meanwhile, or the command could not be
    /// followed to its end.
    #[inline]
    pub fn finish(self) -> Result<CommandSamples, OpenError> {
        match self.thread.join() {
            Ok(result) => result,
            Err(panic) => std::panic::resume_unwind(panic),
        }
    }
}

/// The threads that are sampled, and what was found so far.
#[derive(Debug)]
struct Sampler {
    counters: TreeCounters,
    periods: Periods,
    threads: HashMap<pid_t, SampledThread>,
    found: Found,
    outcome: Outcome,
}

/// Everything but the addresses.
#[derive(Debug, Default)]
struct Outcome {
    executable: Option<PathBuf>,
    counted_slots: f64,
    threads: u64,
    unsampled: Option<(u64, OpenError)>,
    multiplexed: Option<OpenError>,
}

/// A thread's group.
#[derive(Debug)]
struct SampledThread {
    group: SamplingGroup,
    ring: Ring,
    reached: ThreadPosition,
}

impl Sampler {
    /// Follows the command until it has exited.
    fn run(self, first: pid_t) -> Result<CommandSamples, OpenError> {
        let sampler = Arc::new(Mutex::new(self));
        let (stop, stopped) = mpsc::channel::<()>();
        let emptied = Arc::clone(&sampler);
        let emptying = std::thread::Builder::new()
            .name("sampling".to_owned())
            .spawn(move || {
                while stopped.recv_timeout(EVERY) == Err(RecvTimeoutError::Timeout) {
                    locked(&emptied).empty_all();
                }
            })
            .map_err(|error| OpenError::Follow { error })?;
        let followed = follow::follow(first, &mut Shared(&sampler));
        drop::<Sender<()>>(stop);
        // If it panicked, the next use of the lock fails.
        let _ = emptying.join();
        followed.map_err(|error| OpenError::Follow { error })?;
        let mut sampler = locked(&sampler);
        sampler.end_all();
        match sampler.outcome.multiplexed.take() {
            Some(error) => Err(error),
            None => Ok(sampler.finish()),
        }
    }

    fn opener(&self, counted: Counted) -> (Opener<'_>, Shape) {
        let (paths, pmu, shape) = self.counters.parts();
        let opener = Opener::of(paths, pmu, counted);
        (opener, shape)
    }

    /// Opens a group for the first thread, or else one in which the event of cycles alone
    /// interrupts.
    fn sample_first(&mut self, first: pid_t, of_cycles: Periods) -> Result<(), OpenError> {
        self.sample(first, Counted::Process(first)).or_else(|_| {
            self.periods = of_cycles;
            self.outcome.threads = 0;
            self.sample(first, Counted::Process(first))
        })
    }

    /// Opens a group for a thread.
    fn sample(&mut self, thread: pid_t, counted: Counted) -> Result<(), OpenError> {
        self.outcome.threads += 1;
        let (opener, shape) = self.opener(counted);
        let group = SamplingGroup::open(&opener, shape, &self.periods)?;
        let ring = group.map(&opener, shape, &self.periods, &PAGES)?;
        if let Counted::Thread(_) = counted {
            let control = opener.control(shape.leader(), "enable");
            group.leader().enable().map_err(control)?;
        }
        let sampled = SampledThread {
            group,
            ring,
            reached: ThreadPosition::new(thread),
        };
        self.threads.insert(thread, sampled);
        Ok(())
    }

    fn empty_all(&mut self) {
        let threads: Vec<pid_t> = self.threads.keys().copied().collect();
        for thread in threads {
            self.empty(thread, true);
        }
    }

    /// Takes the PMU samples of a thread. `is_mapped` says whether its process still has the code
    /// mapped that was sampled.
    fn empty(&mut self, thread: pid_t, is_mapped: bool) {
        let (_, _, shape) = self.counters.parts();
        let Some(sampled) = self.threads.get_mut(&thread) else {
            return;
        };
        let Some(records) = sampled.ring.take() else {
            sampled.reached.has_gap();
            return;
        };
        let records = Records::new(records, &sampled.group.ids, self.periods.reading());
        let how = (shape, &self.periods);
        if self
            .found
            .add_records(records, &mut sampled.reached, how, is_mapped)
        {
            self.interrupt_less();
        }
    }

    /// Doubles the periods of all threads, about.
    fn interrupt_less(&mut self) {
        self.periods = self.periods.doubled();
        for sampled in self.threads.values() {
            // A thread that keeps a shorter one has more PMU samples.
            let _ = sampled.group.set_periods(&self.periods);
        }
    }

    /// Takes the last PMU samples of a thread, and forgets it.
    fn end(&mut self, thread: pid_t) {
        self.empty(thread, true);
        let Some(sampled) = self.threads.remove(&thread) else {
            return;
        };
        let Some(totals) = sampled.group.totals() else {
            return;
        };
        let (opener, shape) = self.opener(Counted::Thread(thread));
        let multiplexed =
            (totals.enabled_ns != totals.running_ns).then(|| OpenError::Multiplexed {
                location: opener.location(shape.leader()),
                enabled_ns: totals.enabled_ns,
                running_ns: totals.running_ns,
            });
        let slots = shape.sample(&totals.counts, 0).slots.unwrap_or(0);
        self.outcome.counted_slots += slots as f64;
        if multiplexed.is_some() {
            self.outcome.multiplexed = multiplexed;
        }
    }

    fn end_all(&mut self) {
        let threads: Vec<pid_t> = self.threads.keys().copied().collect();
        for thread in threads {
            self.end(thread);
        }
    }

    fn finish(&mut self) -> CommandSamples {
        let (_, _, shape) = self.counters.parts();
        let found = std::mem::take(&mut self.found);
        let outcome = std::mem::take(&mut self.outcome);
        CommandSamples {
            hits: found.into_hits(shape, &self.periods),
            executable: outcome.executable,
            counted_slots: outcome.counted_slots,
            threads: outcome.threads,
            unsampled: outcome.unsampled,
        }
    }
}

fn locked(sampler: &Mutex<Sampler>) -> MutexGuard<'_, Sampler> {
    sampler.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The sampler, which two threads use in turn.
struct Shared<'a>(&'a Mutex<Sampler>);

impl Threads for Shared<'_> {
    fn begins(&mut self, thread: pid_t) {
        let mut sampler = locked(self.0);
        if let Err(error) = sampler.sample(thread, Counted::Thread(thread)) {
            let unsampled = &mut sampler.outcome.unsampled;
            let (threads, _) = unsampled.get_or_insert((0, error));
            *threads += 1;
        }
    }

    fn executes(&mut self, thread: pid_t, former: pid_t) {
        let mut sampler = locked(self.0);
        sampler.empty(former, false);
        if sampler.outcome.executable.is_none() {
            let link = format!("/proc/{thread}/exe");
            sampler.outcome.executable = std::fs::read_link(link).ok();
        }
        if let Some(mut sampled) = sampler.threads.remove(&former) {
            sampled.reached.executes(thread);
            sampler.threads.insert(thread, sampled);
        }
    }

    fn ends(&mut self, thread: pid_t) {
        locked(self.0).end(thread);
    }
}
