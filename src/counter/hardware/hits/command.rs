//! Where the slots of a command went: each of its threads, in all its processes, has a group and a
//! buffer of its own, from its first instruction on.
//!
//! The kernel does not let threads inherit a group that records its counts, before Linux 6.12. So a
//! thread of this program follows the command with ptrace, which stops each new thread until its
//! group is open. Another one empties the buffers, and finds the code of each hit while its process
//! has it mapped.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use libc::pid_t;

use super::super::inherited_group::Shape;
use super::super::opener::Opener;
use super::super::process_tree::TreeCounters;
use super::super::syscalls::Counted;
use super::HitGroup;
use super::account::place;
use super::follow::{self, Threads};
use super::records::{GroupCounts, Record, Records};
use super::ring::Ring;
use crate::counter::modules::ModuleMap;
use crate::error::OpenError;
use crate::hits::{CodeHits, HitPlace, Sampled};

/// Sizes of a thread's buffer. Many threads share the budget.
const PAGES: [usize; 3] = [32, 8, 2];

/// How often buffers are emptied. At ten thousand hits per second, a buffer has room for more.
const EVERY: Duration = Duration::from_millis(20);

/// Where the slots of one launch of a command went.
#[derive(Debug)]
pub struct CommandHits {
    /// What was hit, in all threads that were sampled.
    pub hits: CodeHits,
    /// The program that the command executed first.
    pub executable: Option<PathBuf>,
    /// All slots that the groups counted, also those after each thread's last hit.
    pub counted_slots: f64,
    /// The number of threads, of all processes.
    pub threads: u64,
    /// How many of them could not be sampled, and why the first could not.
    pub unsampled: Option<(u64, OpenError)>,
}

/// A command that is sampled while it runs.
#[derive(Debug)]
pub struct Following {
    thread: JoinHandle<Result<CommandHits, OpenError>>,
}

impl TreeCounters {
    /// Samples the process with this id from its next `exec` on, and all threads and processes that
    /// it starts, with a hit every `period_cycles`. The process must not call `exec` until this
    /// returns, and must not be reaped before [`Following::finish`] returns.
    ///
    /// # Errors
    /// Returns why the process cannot be sampled.
    #[inline]
    pub fn follow(&self, process: u32, period_cycles: u64) -> Result<Following, OpenError> {
        let first = process as pid_t;
        let mut sampler = Sampler {
            counters: self.clone(),
            period_cycles,
            threads: HashMap::new(),
            found: Found::default(),
            outcome: Outcome::default(),
        };
        let (ready, is_ready) = mpsc::channel();
        // The thread that seizes is the only one that may ask for more.
        let thread = std::thread::Builder::new()
            .name("follow".to_owned())
            .spawn(move || {
                let seized = follow::seize(first).map_err(|error| OpenError::Follow { error });
                let opened = seized.and_then(|()| sampler.sample(first, Counted::Process(first)));
                let is_open = opened.is_ok();
                // The other end waits.
                let _ = ready.send(opened);
                match is_open {
                    true => sampler.run(first),
                    false => Ok(sampler.finish()),
                }
            })
            .map_err(|error| OpenError::Follow { error })?;
        // Without an answer the thread has panicked, which `finish` tells.
        is_ready.recv().unwrap_or(Ok(()))?;
        Ok(Following { thread })
    }
}

impl Following {
    /// Waits until the command has exited, and returns where its slots went.
    ///
    /// # Errors
    /// Returns an error if something else took the PMU meanwhile, or the command could not be
    /// followed to its end.
    #[inline]
    pub fn finish(self) -> Result<CommandHits, OpenError> {
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
    period_cycles: u64,
    threads: HashMap<pid_t, SampledThread>,
    found: Found,
    outcome: Outcome,
}

/// What is known besides the places.
#[derive(Debug, Default)]
struct Outcome {
    executable: Option<PathBuf>,
    sampled: Sampled,
    slots: f64,
    squared_slots: f64,
    counted_slots: f64,
    threads: u64,
    unsampled: Option<(u64, OpenError)>,
    multiplexed: Option<OpenError>,
}

/// A thread's group.
#[derive(Debug)]
struct SampledThread {
    group: HitGroup,
    ring: Ring,
    /// The counts at the previous hit; `None` if hits are missing since.
    previous: Option<GroupCounts>,
    /// Where the previous hit was, if that is known.
    after: Option<Place>,
    /// What its process had mapped when that was last read.
    modules: ModuleMap,
}

/// A module and an offset in it.
type Place = (u32, u64);

/// How often each place was hit after which, and the counts in between.
#[derive(Debug, Default)]
struct Found {
    modules: Vec<String>,
    counts: BTreeMap<(Place, Option<Place>), (u64, GroupCounts)>,
}

impl Found {
    /// Returns the place under the name that it has here.
    fn place(&mut self, (module, offset): (&str, u64)) -> Place {
        let known = self.modules.iter().position(|name| name == module);
        let index = known.unwrap_or_else(|| {
            self.modules.push(module.to_owned());
            self.modules.len() - 1
        });
        (index as u32, offset)
    }

    fn add(&mut self, place: Place, after: Option<Place>, since: &GroupCounts) {
        let (hits, counts) = self.counts.entry((place, after)).or_default();
        *hits += 1;
        for (count, more) in counts.iter_mut().zip(since) {
            *count = count.saturating_add(*more);
        }
    }
}

impl Sampler {
    /// Follows the command until it has exited.
    fn run(self, first: pid_t) -> Result<CommandHits, OpenError> {
        let sampler = Arc::new(Mutex::new(self));
        let (stop, stopped) = mpsc::channel::<()>();
        let emptied = Arc::clone(&sampler);
        let emptying = std::thread::Builder::new()
            .name("hits".to_owned())
            .spawn(move || {
                while stopped.recv_timeout(EVERY) == Err(RecvTimeoutError::Timeout) {
                    locked(&emptied).empty_all();
                }
            })
            .map_err(|error| OpenError::Follow { error })?;
        let followed = follow::follow(first, &mut Shared(&sampler));
        drop::<Sender<()>>(stop);
        // It cannot panic without this thread's next use of the lock showing what it left.
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
        let opener = Opener {
            paths,
            pmu: &pmu.name,
            pmu_type: pmu.type_number,
            counted,
        };
        (opener, shape)
    }

    /// Opens a group for a thread.
    fn sample(&mut self, thread: pid_t, counted: Counted) -> Result<(), OpenError> {
        self.outcome.threads += 1;
        let (opener, shape) = self.opener(counted);
        let group = HitGroup::open(&opener, shape, self.period_cycles)?;
        let ring = group.map(&opener, shape, &PAGES)?;
        if let Counted::Thread(_) = counted {
            let control = opener.control(shape.leader(), "enable");
            group.leader().enable().map_err(control)?;
        }
        let sampled = SampledThread {
            group,
            ring,
            previous: Some(GroupCounts::default()),
            after: None,
            modules: ModuleMap::of_process(thread),
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

    /// Takes the hits of a thread. `is_mapped` says whether its process still has the code mapped
    /// that was hit.
    fn empty(&mut self, thread: pid_t, is_mapped: bool) {
        let (_, _, shape) = self.counters.parts();
        let Some(of) = self.threads.get_mut(&thread) else {
            return;
        };
        let events = of.group.events.len();
        let Some(records) = of.ring.take() else {
            of.previous = None;
            return;
        };
        let mut may_read = is_mapped;
        let mut too_many = false;
        for record in Records::new(records, events) {
            match record {
                Record::Hit { address, counts } => {
                    if may_read && of.modules.known_place(address).is_none() {
                        // Once is enough: the rest is code without a file.
                        may_read = false;
                        let now = ModuleMap::of_process(thread);
                        // A killed process has none any more.
                        if !now.is_empty() {
                            of.modules = now;
                        }
                    }
                    let place = of.modules.known_place(address).unwrap_or(("", address));
                    let place = self.found.place(place);
                    let after = of.after.replace(place);
                    let Some(previous) = of.previous.replace(counts) else {
                        continue;
                    };
                    let since: GroupCounts =
                        std::array::from_fn(|at| counts[at].saturating_sub(previous[at]));
                    self.found.add(place, after, &since);
                    self.outcome.add_hit(shape, &since);
                }
                Record::Lost(hits) => {
                    let lost = &mut self.outcome.sampled.lost;
                    *lost = lost.saturating_add(hits);
                    of.previous = None;
                    too_many = true;
                }
                Record::Throttled => {
                    self.outcome.sampled.throttled += 1;
                    of.previous = None;
                    too_many = true;
                }
                Record::Unthrottled | Record::Unreadable => of.previous = None,
                Record::Other => {}
            }
        }
        if too_many {
            self.interrupt_less();
        }
    }

    /// Doubles the period of all threads, about.
    fn interrupt_less(&mut self) {
        self.period_cycles = self.period_cycles.saturating_mul(2).saturating_add(1);
        for of in self.threads.values() {
            // A thread that keeps the shorter one has more hits.
            let _ = of.group.interrupting().set_period(self.period_cycles);
        }
    }

    /// Takes the last hits of a thread, and forgets it.
    fn end(&mut self, thread: pid_t) {
        self.empty(thread, true);
        let Some(of) = self.threads.remove(&thread) else {
            return;
        };
        let Some(totals) = of.group.totals() else {
            return;
        };
        let (opener, shape) = self.opener(Counted::Thread(thread));
        let multiplexed =
            (totals.enabled_ns != totals.running_ns).then(|| OpenError::Multiplexed {
                place: opener.place(shape.leader()),
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

    fn finish(&mut self) -> CommandHits {
        let (_, _, shape) = self.counters.parts();
        let found = std::mem::take(&mut self.found);
        let outcome = std::mem::take(&mut self.outcome);
        let places = found.counts.into_iter();
        CommandHits {
            hits: CodeHits {
                modules: found.modules,
                places: places
                    .map(|((at, after), (hits, counts))| HitPlace {
                        after,
                        hits,
                        ..place(shape, at, &counts)
                    })
                    .collect(),
                sampled: Sampled {
                    period_cycles: self.period_cycles,
                    // Without any, 0 / 0 becomes 0.
                    effective_hits: (outcome.slots * outcome.slots / outcome.squared_slots).round()
                        as u64,
                    ..outcome.sampled
                },
            },
            executable: outcome.executable,
            counted_slots: outcome.counted_slots,
            threads: outcome.threads,
            unsampled: outcome.unsampled,
        }
    }
}

impl Outcome {
    fn add_hit(&mut self, shape: Shape, since: &GroupCounts) {
        let slots = shape.sample(since, 0).slots.unwrap_or(0) as f64;
        self.slots += slots;
        self.squared_slots += slots * slots;
        self.sampled.hits += 1;
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
        if let Some(mut of) = sampler.threads.remove(&former) {
            of.modules = ModuleMap::of_process(thread);
            sampler.threads.insert(thread, of);
        }
    }

    fn ends(&mut self, thread: pid_t) {
        locked(self.0).end(thread);
    }
}
