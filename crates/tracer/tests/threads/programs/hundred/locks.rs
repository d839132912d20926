//! Locks of the standard library.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Barrier, LazyLock, Mutex, Once, OnceLock, RwLock, TryLockError};
use std::thread;

use super::{in_threads, squares, sum_of};

pub fn mutex_counts() -> u64 {
    let count = Mutex::new(0);
    in_threads(4, |own| {
        (0..300).for_each(|n| *count.lock().unwrap() += n * own)
    });
    count.into_inner().unwrap()
}

pub fn mutex_is_tried() -> u64 {
    let count = Mutex::new(0);
    in_threads(3, |own| {
        for _ in 0..100 {
            let mut guard = loop {
                match count.try_lock() {
                    Ok(guard) => break guard,
                    Err(TryLockError::WouldBlock) => thread::yield_now(),
                    Err(error) => panic!("{error}"),
                }
            };
            *guard += squares(own);
        }
    });
    count.into_inner().unwrap()
}

pub fn transfers_lock_in_order() -> u64 {
    let accounts: Vec<_> = (0..5).map(|n| Mutex::new(1000 + n)).collect();
    in_threads(4, |own| {
        for step in 0..200_u64 {
            let (from, to) = ((step * 7 + own) as usize % 5, (step * 3 + own) as usize % 5);
            if from == to {
                continue;
            }
            let first = accounts[from.min(to)].lock().unwrap();
            let second = accounts[from.max(to)].lock().unwrap();
            let (mut from, mut to) = if from < to {
                (first, second)
            } else {
                (second, first)
            };
            let amount = *from % (step % 9 + 1);
            *from -= amount;
            *to += amount;
        }
    });
    accounts
        .into_iter()
        .map(|it| it.into_inner().unwrap())
        .sum()
}

pub fn mutex_guards_a_vector() -> u64 {
    let all = Mutex::new(Vec::new());
    in_threads(4, |own| {
        for n in 0..150 {
            all.lock().unwrap().push(n * 4 + own);
        }
    });
    let mut all = all.into_inner().unwrap();
    all.sort_unstable();
    all.iter().zip(0..).map(|(value, n)| value ^ n).sum::<u64>() + all.len() as u64
}

pub fn mutex_is_poisoned() -> u64 {
    let value = Mutex::new(1);
    let joined = thread::scope(|scope| {
        let holder = scope.spawn(|| {
            let mut guard = value.lock().unwrap();
            *guard = squares(20);
            resume_unwind(Box::new(7_u64));
        });
        holder
            .join()
            .map_or_else(|it| *it.downcast::<u64>().unwrap(), |()| 0)
    });
    let seen = sum_of(3, |_| match value.lock() {
        Ok(_) => 0,
        Err(poisoned) => *poisoned.into_inner(),
    });
    let was_poisoned = value.is_poisoned();
    value.clear_poison();
    joined + seen + u64::from(was_poisoned) + u64::from(value.lock().is_ok())
}

pub fn mutexes_are_nested() -> u64 {
    let outer = Mutex::new(vec![Mutex::new(0), Mutex::new(0)]);
    in_threads(3, |own| {
        for n in 0..100 {
            let outer = outer.lock().unwrap();
            *outer[n % 2].lock().unwrap() += own + n as u64;
        }
    });
    let inner = outer.into_inner().unwrap().into_iter();
    inner.map(|it| it.into_inner().unwrap()).sum()
}

pub fn readers_see_whole_writes() -> u64 {
    let pair = RwLock::new((0_u64, 0_u64));
    let torn = AtomicU64::new(0);
    in_threads(4, |own| {
        for n in 0..150 {
            if own == 0 {
                let mut pair = pair.write().unwrap();
                pair.0 = n;
                squares(10);
                pair.1 = n;
            } else {
                let pair = pair.read().unwrap();
                torn.fetch_add(u64::from(pair.0 != pair.1), Ordering::Relaxed);
            }
        }
    });
    torn.into_inner() + pair.into_inner().unwrap().1
}

pub fn read_write_lock_is_tried() -> u64 {
    let value = RwLock::new(0);
    in_threads(3, |own| {
        let mut left = 80;
        while left > 0 {
            if let Ok(mut value) = value.try_write() {
                *value += own + 1;
                left -= 1;
            } else if value.try_read().is_err() {
                thread::yield_now();
            }
        }
    });
    value.into_inner().unwrap()
}

pub fn only_writers_poison() -> u64 {
    let value = RwLock::new(3_u64);
    let fails = |writes: bool| {
        thread::scope(|scope| {
            let thread = scope.spawn(|| {
                let _write = writes.then(|| value.write());
                let _read = (!writes).then(|| value.read());
                resume_unwind(Box::new(()));
            });
            thread.join().is_err()
        })
    };
    let by_reader = fails(false);
    let after_reader = value.is_poisoned();
    let by_writer = fails(true);
    [by_reader, after_reader, by_writer, value.is_poisoned()]
        .iter()
        .fold(0, |bits, &bit| bits * 2 + u64::from(bit))
}

pub fn readers_hold_at_once() -> u64 {
    let value = RwLock::new(5);
    let together = Barrier::new(3);
    let sum = sum_of(3, |own| {
        let value = value.read().unwrap();
        together.wait();
        *value * own
    });
    *value.write().unwrap() += sum;
    value.into_inner().unwrap()
}

pub fn once_runs_once() -> u64 {
    let (once, runs) = (Once::new(), AtomicU64::new(0));
    in_threads(4, |_| {
        once.call_once(|| {
            runs.fetch_add(squares(500), Ordering::Relaxed);
        });
        assert!(once.is_completed());
    });
    runs.into_inner()
}

pub fn once_is_poisoned() -> u64 {
    let once = Once::new();
    let fails = || {
        catch_unwind(AssertUnwindSafe(|| {
            once.call_once(|| resume_unwind(Box::new(1)))
        }))
    };
    let first = thread::scope(|scope| scope.spawn(fails).join().unwrap().is_err());
    let forced = AtomicU64::new(0);
    in_threads(3, |_| {
        once.call_once_force(|state| {
            forced.fetch_add(1 + u64::from(state.is_poisoned()), Ordering::Relaxed);
        });
    });
    u64::from(first) * 10 + forced.into_inner()
}

pub fn once_lock_is_initialised_once() -> u64 {
    let (cell, runs) = (OnceLock::new(), AtomicU64::new(0));
    let sum = sum_of(4, |_| {
        *cell.get_or_init(|| {
            runs.fetch_add(1, Ordering::Relaxed);
            squares(700)
        })
    });
    sum + runs.into_inner()
}

pub fn once_lock_is_set_by_one() -> u64 {
    let cell = OnceLock::new();
    let set = sum_of(4, |own| u64::from(cell.set(own).is_ok()));
    set * 10 + u64::from(cell.get().is_some_and(|it| *it < 4))
}

pub fn lazy_lock_is_forced() -> u64 {
    static TABLE: LazyLock<Vec<u64>> = LazyLock::new(|| (0..100).map(squares).collect());
    sum_of(4, |own| TABLE.iter().skip(own as usize).step_by(4).sum())
}

/// Panics, so that the hook of panics prints too.
pub fn lazy_lock_is_poisoned() -> u64 {
    let lazy: LazyLock<u64, fn() -> u64> = LazyLock::new(|| panic!("no value"));
    let fails = |_| u64::from(catch_unwind(AssertUnwindSafe(|| *lazy)).is_err());
    sum_of(3, fails)
}

pub fn barrier_separates_rounds() -> u64 {
    let barrier = Barrier::new(4);
    let cells: Vec<AtomicU64> = (0..4).map(AtomicU64::new).collect();
    in_threads(4, |own| {
        for _ in 0..20 {
            let next = cells[(own as usize + 1) % 4].load(Ordering::Relaxed);
            barrier.wait();
            cells[own as usize].store(next * 3 + own, Ordering::Relaxed);
            barrier.wait();
        }
    });
    cells
        .iter()
        .fold(0, |sum, cell| sum ^ cell.load(Ordering::Relaxed))
}

pub fn barrier_has_one_leader() -> u64 {
    let barrier = Barrier::new(3);
    sum_of(3, |_| {
        (0..15).map(|_| u64::from(barrier.wait().is_leader())).sum()
    })
}
