//! Locks, and other ways to wait for a thread.

use std::sync::{Arc, Barrier, Condvar, Mutex, Once, OnceLock, RwLock};
use std::thread;
use std::time::Duration;

use super::squares;

pub fn mutex<const N: usize>() -> String {
    let sum = Mutex::new(0);
    thread::scope(|scope| {
        for _ in 0..N {
            scope.spawn(|| {
                for n in 0..1500 {
                    let mut sum = sum.lock().unwrap();
                    *sum += squares(n % 7);
                }
            });
        }
    });
    sum.into_inner().unwrap().to_string()
}

pub fn read_write_lock<const N: usize>() -> String {
    let values = RwLock::new(vec![0_u64; 8]);
    thread::scope(|scope| {
        for _ in 0..N {
            scope.spawn(|| {
                for n in 0..600 {
                    let sum = values.read().unwrap().iter().sum::<u64>();
                    std::hint::black_box(sum);
                    values.write().unwrap()[n % 8] += 1;
                }
            });
        }
    });
    format!("{:?}", values.into_inner().unwrap())
}

pub fn condition_variable<const N: usize>() -> String {
    let (turn, changed) = (Mutex::new(0), Condvar::new());
    thread::scope(|scope| {
        for own in 0..N {
            let (turn, changed) = (&turn, &changed);
            scope.spawn(move || {
                for _ in 0..30 {
                    let mut turn = changed
                        .wait_while(turn.lock().unwrap(), |turn| *turn % N != own)
                        .unwrap();
                    *turn += 1;
                    changed.notify_all();
                }
            });
        }
    });
    turn.into_inner().unwrap().to_string()
}

pub fn timed_wait<const N: usize>() -> String {
    let (never, changed) = (Mutex::new(false), Condvar::new());
    let timed_out = Mutex::new(0);
    thread::scope(|scope| {
        for n in 0..N as u64 {
            let (never, changed, timed_out) = (&never, &changed, &timed_out);
            scope.spawn(move || {
                let limit = Duration::from_millis(1 + n);
                let never = never.lock().unwrap();
                let (never, result) = changed
                    .wait_timeout_while(never, limit, |never| !*never)
                    .unwrap();
                drop(never);
                *timed_out.lock().unwrap() += u64::from(result.timed_out());
            });
        }
    });
    timed_out.into_inner().unwrap().to_string()
}

pub fn barrier<const N: usize>() -> String {
    let barrier = Barrier::new(N);
    let sum = Mutex::new(0);
    thread::scope(|scope| {
        for n in 0..N as u64 {
            let (barrier, sum) = (&barrier, &sum);
            scope.spawn(move || {
                for round in 0..10 {
                    *sum.lock().unwrap() += squares(n * round);
                    barrier.wait();
                }
            });
        }
    });
    sum.into_inner().unwrap().to_string()
}

pub fn once<const N: usize>() -> String {
    static VALUE: OnceLock<u64> = OnceLock::new();
    let once = Once::new();
    let begun = Mutex::new(0);
    thread::scope(|scope| {
        for _ in 0..N {
            scope.spawn(|| {
                once.call_once(|| *begun.lock().unwrap() += squares(1000));
                *begun.lock().unwrap() += VALUE.get_or_init(|| squares(2000));
            });
        }
    });
    begun.into_inner().unwrap().to_string()
}

pub fn parking<const N: usize>() -> String {
    let threads: Vec<_> = (0..N as u64)
        .map(|n| {
            thread::spawn(move || {
                for _ in 0..5 {
                    thread::park();
                }
                squares(n + 10)
            })
        })
        .collect();
    while threads.iter().any(|it| !it.is_finished()) {
        for thread in &threads {
            thread.thread().unpark();
        }
        thread::yield_now();
    }
    let sum: u64 = threads.into_iter().map(|it| it.join().unwrap()).sum();
    sum.to_string()
}

/// The one of POSIX, as C programs use it.
pub fn semaphore<const N: usize>() -> String {
    struct Semaphore(std::cell::UnsafeCell<libc::sem_t>);
    // SAFETY: it is made for several threads.
    unsafe impl Sync for Semaphore {}
    // SAFETY: all zeros is room for one.
    let semaphore = Arc::new(Semaphore(unsafe { std::mem::zeroed() }));
    let by = |function: unsafe extern "C" fn(*mut libc::sem_t) -> i32, semaphore: &Semaphore| {
        // SAFETY: it is initialised below, before any thread begins.
        assert_eq!(unsafe { function(semaphore.0.get()) }, 0);
    };
    // SAFETY: the memory stays where it is.
    assert_eq!(unsafe { libc::sem_init(semaphore.0.get(), 0, 1) }, 0);
    let sum = Arc::new(Mutex::new(0));
    let threads: Vec<_> = (0..N as u64)
        .map(|n| {
            let (semaphore, sum) = (Arc::clone(&semaphore), Arc::clone(&sum));
            thread::spawn(move || {
                for round in 0..200 {
                    by(libc::sem_wait, &semaphore);
                    *sum.try_lock().unwrap() += squares(n + round % 5);
                    by(libc::sem_post, &semaphore);
                }
            })
        })
        .collect();
    threads.into_iter().for_each(|it| it.join().unwrap());
    let sum = *sum.lock().unwrap();
    sum.to_string()
}
