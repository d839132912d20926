//! Launches on the model, several at once.
//!
//! Modelling does not depend on the clock, so launches may run side by side. Benchmarks may share a
//! file or a port: a launch that fails beside others is made again alone.

use std::collections::{BTreeMap, HashSet};
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::sync::mpsc::{self, Sender};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;

use crate::gathering::outcome::Outcome;
use crate::launching::launch_error::LaunchError;
use crate::launching::launcher::Launcher;
use crate::progress::Progress;
use crate::rounds::round_count;
use crate::side::{CompletedLaunch, FirstLaunch, Side};
use crate::targets::bench_targets::BenchTarget;
use topdown_system::interrupt;
use topdown_system::processes;

/// A worker's message about a launch, by its number.
enum WorkerMessage {
    Begins(usize),
    Benchmark(usize, String),
    Ended(usize, CompletedLaunch),
}

/// The launches to make, which workers take in order.
struct Queue<'a> {
    /// The target and the number of each launch, round robin.
    launches: Vec<(&'a BenchTarget, usize, u32)>,
    next: AtomicUsize,
    /// The state of each target.
    known: Vec<Known>,
}

/// The state of a target.
struct Known {
    /// The number of its launches.
    launches: AtomicU32,
    first: Mutex<FirstLaunch>,
}

impl Known {
    /// Returns the result of its first launch, which holds the lock while it is made.
    fn first(&self) -> MutexGuard<'_, FirstLaunch> {
        self.first.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<'a> Queue<'a> {
    fn new(targets: &'a [BenchTarget]) -> Queue<'a> {
        let in_round = |launch: u32| {
            let with_it = targets.iter().enumerate();
            let with_it = with_it.filter(move |(_, t)| launch < t.settings.launches);
            with_it.map(move |(index, target)| (target, index, launch))
        };
        Queue {
            launches: (0..round_count(targets)).flat_map(in_round).collect(),
            next: AtomicUsize::new(0),
            known: (targets.iter())
                .map(|target| Known {
                    launches: AtomicU32::new(target.settings.launches),
                    first: Mutex::default(),
                })
                .collect(),
        }
    }

    /// Makes launches with `launcher` until none is left.
    fn work(&self, launcher: &Launcher, words: &Sender<WorkerMessage>) {
        // If nobody listens, there is nothing left to do.
        let say = |word| words.send(word).is_ok();
        while !interrupt::requested() {
            let number = self.next.fetch_add(1, Ordering::Relaxed);
            let Some((target, index, launch)) = self.launches.get(number) else {
                return;
            };
            let known = &self.known[*index];
            if *launch >= known.launches.load(Ordering::Relaxed) {
                continue;
            }
            say(WorkerMessage::Begins(number));
            let make = |first| {
                CompletedLaunch::by(launcher, target, first, |name| {
                    say(WorkerMessage::Benchmark(number, name.to_owned()));
                })
            };
            let made = if *launch == 0 {
                let mut first = known.first();
                let made = make(FirstLaunch::default());
                *first = made.as_first(launcher, target);
                made
            } else {
                let first = known.first().clone();
                make(first)
            };
            if !say(WorkerMessage::Ended(number, made)) {
                return;
            }
        }
    }

    /// Notes the results of launches of target number `index`.
    fn learn(&self, index: usize, side: &Side<'_>) {
        let known = &self.known[index];
        let launches = side.targets[index].settings.launches;
        known.launches.store(launches, Ordering::Relaxed);
    }

    /// Lets no further launch begin.
    fn stop(&self) {
        self.next.store(self.launches.len(), Ordering::Relaxed);
    }
}

/// Runs all launches of all `targets`, as many at once as there are `launchers`; the results are in
/// the order in which [`run`](crate::rounds::run) has them. `alone` launches again what failed
/// beside others. `fail_fast` stops at the first failure.
///
/// # Errors
/// As [`run`](crate::rounds::run).
pub fn run_side_by_side(
    targets: &[BenchTarget],
    launchers: &[Launcher],
    alone: &Launcher,
    fail_fast: bool,
    progress: &mut Progress,
) -> Result<Outcome, LaunchError> {
    let queue = Queue::new(targets);
    let mut side = Side::new(targets, alone, 0);
    let mut made = BTreeMap::new();
    let mut kept = 0;
    thread::scope(|scope| -> Result<(), LaunchError> {
        let (words, heard) = mpsc::channel();
        for launcher in launchers {
            let (queue, words) = (&queue, words.clone());
            scope.spawn(move || queue.work(launcher, &words));
        }
        drop(words);
        for word in heard {
            match word {
                WorkerMessage::Begins(number) => {
                    let (target, _, launch) = queue.launches[number];
                    progress.begin(target, launch, Some(target.settings.launches));
                }
                WorkerMessage::Benchmark(number, name) => {
                    progress.benchmark(queue.launches[number].0, &name);
                }
                WorkerMessage::Ended(number, launch) => {
                    if fail_fast && launch.has_failed() {
                        queue.stop();
                    }
                    made.insert(number, launch);
                }
            }
            // In order, up to what is still being made or has to be made again.
            while let Some((_, index, launch)) = queue.launches.get(kept) {
                match made.remove(&kept) {
                    Some(made) if !made.has_failed() => {
                        side.keep(*index, *launch, made, progress)?;
                        queue.learn(*index, &side);
                    }
                    Some(failed) => {
                        made.insert(kept, failed);
                        break;
                    }
                    None if side.has_launch(*index, *launch) => break,
                    None => {}
                }
                kept += 1;
            }
        }
        Ok(())
    })?;
    end_orphans(alone, progress);
    let mut fails_alone = HashSet::new();
    for (number, (target, index, launch)) in queue.launches.iter().enumerate().skip(kept) {
        let has_failed = match made.remove(&number) {
            Some(made) if !made.has_failed() || fails_alone.contains(&target.executable) => {
                side.keep(*index, *launch, made, progress)?
            }
            beside_others => {
                if beside_others.is_some() {
                    progress.note(&format!(
                        "note: a launch of `{target}` failed while others ran; repeating it alone"
                    ));
                }
                side.launch(*index, *launch, progress)?
            }
        };
        if has_failed {
            fails_alone.insert(&target.executable);
            if fail_fast {
                break;
            }
        }
    }
    Ok(side.finish())
}

/// Ends processes that benches left behind and that do not show their launch.
fn end_orphans(launcher: &Launcher, progress: &Progress) {
    if launcher.starter.is_some() && processes::has_children() {
        let names = processes::end_and_name(|| processes::below(std::process::id()));
        if !names.is_empty() {
            progress.note(&format!(
                "note: the benches left processes running, which were killed: {}",
                names.join(", ")
            ));
        }
    }
}
