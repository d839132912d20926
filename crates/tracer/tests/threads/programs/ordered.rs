//! Programs small enough to be single-stepped. Addresses of data depend on the order of threads.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::io::{Read, Write};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering, fence};
use std::sync::mpsc::{channel as unlimited, sync_channel};
use std::sync::{Barrier, Condvar, Mutex, RwLock};
use std::thread;

use super::{Program, squares};

pub const ORDERED: &[(&str, Program)] = &[
    ("claims", claims),
    ("mutex", mutex),
    ("condition variable", condition_variable),
    ("channels", channels),
    ("spin lock", spin_lock),
    ("read-write lock", read_write_lock),
    ("barrier and parking", barrier_and_parking),
    ("pipes", pipes),
    ("ends", ends),
];

const THREADS: usize = 3;

fn in_threads(work: impl Fn(usize) + Sync) {
    let work = &work;
    thread::scope(|scope| {
        for own in 0..THREADS {
            scope.spawn(move || work(own));
        }
    });
}

/// Each thread claims the next cell.
fn claims() -> String {
    let next = AtomicUsize::new(0);
    let cells: Vec<AtomicUsize> = (0..150).map(|_| AtomicUsize::new(0)).collect();
    in_threads(|_| {
        loop {
            let claimed = next.fetch_add(1, Ordering::AcqRel);
            let Some(cell) = cells.get(claimed) else {
                break;
            };
            cell.store(
                squares(60 + claimed as u64 % 50) as usize,
                Ordering::Release,
            );
        }
    });
    format!("{cells:?}")
}

/// A thread that holds the lock ends so many turns that the others wait for it.
fn mutex() -> String {
    let log = Mutex::new(Vec::with_capacity(200));
    in_threads(|own| {
        for step in 0..15 {
            let mut log = log.lock().unwrap();
            let sum = squares(200 + step);
            (0..150).for_each(|_| std::hint::spin_loop());
            log.push(own as u64 + sum);
        }
    });
    let mut log = log.into_inner().unwrap();
    log.sort_unstable();
    format!("{log:?}")
}

fn condition_variable() -> String {
    let shared = Mutex::new((0, Vec::with_capacity(200)));
    let changed = Condvar::new();
    in_threads(|own| {
        for _ in 0..15 {
            let mut guard = changed
                .wait_while(shared.lock().unwrap(), |it| it.0 % THREADS != own)
                .unwrap();
            guard.0 += 1;
            guard.1.push(own);
            changed.notify_all();
        }
    });
    format!("{:?}", shared.into_inner().unwrap())
}

fn channels() -> String {
    let (send, receive) = unlimited();
    let (limited, requests) = sync_channel(1);
    let mut received = Vec::with_capacity(200);
    thread::scope(|scope| {
        for own in 0..2 {
            let send = send.clone();
            scope.spawn(move || {
                for step in 0..25_u64 {
                    send.send(2 * squares(step) + own).unwrap();
                }
            });
        }
        scope.spawn(move || requests.iter().for_each(|n: u64| send.send(n).unwrap()));
        scope.spawn(move || (0..12).for_each(|n| limited.send(7 * n).unwrap()));
        received.extend(receive);
    });
    received.sort_unstable();
    format!("{received:?}")
}

fn spin_lock() -> String {
    let is_locked = AtomicBool::new(false);
    let count = AtomicUsize::new(0);
    let cells: Vec<AtomicUsize> = (0..200).map(|_| AtomicUsize::new(0)).collect();
    in_threads(|own| {
        for _ in 0..15 {
            while is_locked.swap(true, Ordering::Acquire) {
                std::hint::spin_loop();
            }
            let last = count.load(Ordering::Relaxed);
            count.store(last + 1, Ordering::Relaxed);
            fence(Ordering::SeqCst);
            cells[last].store(squares(250) as usize + own, Ordering::Relaxed);
            is_locked.store(false, Ordering::Release);
            if last % 10 == own {
                thread::yield_now();
            }
        }
    });
    count.into_inner().to_string()
}

fn read_write_lock() -> String {
    let values = RwLock::new(Vec::with_capacity(200));
    in_threads(|own| {
        for _ in 0..12 {
            let sum: usize = values.read().unwrap().iter().sum();
            let work = squares(250 + sum as u64 % 2);
            values.write().unwrap().push(own + work as usize % 2);
        }
    });
    values.into_inner().unwrap().len().to_string()
}

fn barrier_and_parking() -> String {
    let barrier = Barrier::new(THREADS);
    let order = Mutex::new(VecDeque::with_capacity(200));
    in_threads(|own| {
        for round in 0..8 {
            order.lock().unwrap().push_back(own);
            squares(50 * own as u64);
            if barrier.wait().is_leader() {
                order.lock().unwrap().push_front(round);
            }
        }
    });
    let parked = thread::spawn(|| {
        (0..3).for_each(|_| thread::park());
        squares(20)
    });
    while !parked.is_finished() {
        parked.thread().unpark();
        thread::yield_now();
    }
    let sum = parked.join().unwrap();
    format!("{} {sum}", order.into_inner().unwrap().len())
}

/// Both wait in the kernel.
fn pipes() -> String {
    let (mut read, mut write) = std::io::pipe().unwrap();
    let (mut answers, mut answer) = std::io::pipe().unwrap();
    let server = thread::spawn(move || {
        let mut byte = [0];
        while read.read(&mut byte).unwrap() == 1 {
            let sum = squares(byte[0].into());
            answer.write_all(&sum.to_le_bytes()).unwrap();
        }
    });
    let mut sums = Vec::with_capacity(20);
    for n in 0..20 {
        write.write_all(&[n]).unwrap();
        let mut word = [0; 8];
        answers.read_exact(&mut word).unwrap();
        sums.push(u64::from_le_bytes(word));
    }
    drop(write);
    server.join().unwrap();
    format!("{sums:?}")
}

/// Threads that end in different ways, while new ones begin.
fn ends() -> String {
    struct Last(u64);
    impl Drop for Last {
        fn drop(&mut self) {
            std::hint::black_box(squares(self.0));
        }
    }
    thread_local! {
        static LAST: RefCell<Option<Last>> = const { RefCell::new(None) };
    }
    let poisoned = Mutex::new(0);
    let mut results = Vec::new();
    for round in 0..4_u64 {
        thread::scope(|scope| {
            let running: Vec<_> = (0..3)
                .map(|own| {
                    let poisoned = &poisoned;
                    scope.spawn(move || {
                        LAST.set(Some(Last(100 * own)));
                        let sum = squares(200 * own + round);
                        if own == 1 && round == 2 {
                            let _guard = poisoned.lock();
                            std::panic::resume_unwind(Box::new(sum));
                        }
                        sum
                    })
                })
                .collect();
            for thread in running {
                results.push(match thread.join() {
                    Ok(sum) => sum,
                    Err(panic) => *panic.downcast_ref::<u64>().unwrap(),
                });
            }
        });
    }
    format!("{results:?} {}", poisoned.is_poisoned())
}
