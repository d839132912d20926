//! Waits for conditions.

use std::cell::UnsafeCell;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard};
use std::thread::{self, ThreadId};
use std::time::Duration;

use super::{in_threads, squares, sum_of};

const LONG: Duration = Duration::from_secs(60);

pub fn bounded_buffer() -> u64 {
    let buffer = Mutex::new(VecDeque::new());
    let (not_full, not_empty) = (Condvar::new(), Condvar::new());
    sum_of(4, |own| {
        let mut sum = 0;
        for n in 0..60 {
            if own % 2 == 0 {
                let buffer = buffer.lock().unwrap();
                let mut buffer = not_full.wait_while(buffer, |it| it.len() == 3).unwrap();
                buffer.push_back(n);
                not_empty.notify_one();
            } else {
                let buffer = buffer.lock().unwrap();
                let mut buffer = not_empty.wait_while(buffer, |it| it.is_empty()).unwrap();
                sum += buffer.pop_front().unwrap();
                not_full.notify_one();
            }
        }
        sum
    })
}

pub fn token_goes_round() -> u64 {
    let token = Mutex::new(0);
    let arrived: Vec<_> = (0..4).map(|_| Condvar::new()).collect();
    in_threads(4, |own| {
        for _ in 0..20 {
            let guard = token.lock().unwrap();
            let mut token = arrived[own as usize]
                .wait_while(guard, |it| *it % 4 != own)
                .unwrap();
            *token += 1;
            arrived[(*token % 4) as usize].notify_one();
        }
    });
    token.into_inner().unwrap()
}

pub fn gate_opens_for_all() -> u64 {
    let (gate, opened) = (Mutex::new(false), Condvar::new());
    sum_of(4, |own| {
        if own == 3 {
            squares(2000);
            *gate.lock().unwrap() = true;
            opened.notify_all();
            return 100;
        }
        let gate = opened.wait_while(gate.lock().unwrap(), |is_open| !*is_open);
        u64::from(*gate.unwrap()) + own
    })
}

pub fn timed_wait_is_notified() -> u64 {
    let (value, changed) = (Mutex::new(0), Condvar::new());
    sum_of(2, |own| {
        if own == 0 {
            squares(3000);
            *value.lock().unwrap() = 9;
            changed.notify_one();
            return 0;
        }
        let guard = value.lock().unwrap();
        let (guard, result) = changed
            .wait_timeout_while(guard, LONG, |it| *it == 0)
            .unwrap();
        *guard + u64::from(result.timed_out())
    })
}

pub fn semaphore_limits_holders() -> u64 {
    let (free, freed) = (Mutex::new(2), Condvar::new());
    let (inside, most) = (AtomicU64::new(0), AtomicU64::new(0));
    in_threads(5, |_| {
        for _ in 0..20 {
            let mut guard = freed
                .wait_while(free.lock().unwrap(), |it| *it == 0)
                .unwrap();
            *guard -= 1;
            drop(guard);
            most.fetch_max(inside.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            squares(30);
            inside.fetch_sub(1, Ordering::SeqCst);
            *free.lock().unwrap() += 1;
            freed.notify_one();
        }
    });
    u64::from(most.into_inner() <= 2) + free.into_inner().unwrap()
}

pub fn latch_counts_down() -> u64 {
    let (left, done) = (Mutex::new(3), Condvar::new());
    let sum = AtomicU64::new(0);
    sum_of(4, |own| {
        if own < 3 {
            sum.fetch_add(squares(100 * own), Ordering::Relaxed);
            *left.lock().unwrap() -= 1;
            done.notify_all();
            return 0;
        }
        drop(done.wait_while(left.lock().unwrap(), |left| *left > 0));
        sum.load(Ordering::Relaxed)
    })
}

pub fn philosophers_take_forks_in_order() -> u64 {
    let forks: Vec<_> = (0..5).map(|_| Mutex::new(0)).collect();
    in_threads(5, |own| {
        let (left, right) = (own as usize, (own as usize + 1) % 5);
        for _ in 0..25 {
            let mut first = forks[left.min(right)].lock().unwrap();
            let mut second = forks[left.max(right)].lock().unwrap();
            *first += 1;
            *second += 1;
        }
    });
    forks
        .into_iter()
        .fold(0, |all, it| all * 100 + it.into_inner().unwrap())
}

pub fn philosophers_ask_a_waiter() -> u64 {
    let (eating, left) = (Mutex::new([false; 5]), Condvar::new());
    sum_of(5, |own| {
        let own = own as usize;
        let neighbours = [(own + 4) % 5, (own + 1) % 5];
        let mut meals = 0;
        for _ in 0..15 {
            let busy = |it: &mut [bool; 5]| neighbours.iter().any(|&other| it[other]);
            let mut table = left.wait_while(eating.lock().unwrap(), busy).unwrap();
            table[own] = true;
            drop(table);
            meals += squares(20);
            eating.lock().unwrap()[own] = false;
            left.notify_all();
        }
        meals
    })
}

pub fn reentrant_lock() -> u64 {
    struct Reentrant {
        owner: Mutex<Option<(ThreadId, u32)>>,
        freed: Condvar,
    }
    impl Reentrant {
        fn lock(&self) {
            let own = thread::current().id();
            let others = |it: &mut Option<(ThreadId, u32)>| it.is_some_and(|it| it.0 != own);
            let owner = self.owner.lock().unwrap();
            let mut owner: MutexGuard<'_, _> = self.freed.wait_while(owner, others).unwrap();
            *owner = Some((own, owner.map_or(1, |it| it.1 + 1)));
        }
        fn unlock(&self) {
            let mut owner = self.owner.lock().unwrap();
            *owner = owner.map(|it| (it.0, it.1 - 1)).filter(|it| it.1 > 0);
            self.freed.notify_one();
        }
        fn deeper(&self, depth: u64, sum: &AtomicU64) {
            self.lock();
            // No atomic addition: the lock protects it.
            sum.store(sum.load(Ordering::Relaxed) + depth, Ordering::Relaxed);
            if depth > 0 {
                self.deeper(depth - 1, sum);
            }
            self.unlock();
        }
    }
    let lock = Reentrant {
        owner: Mutex::new(None),
        freed: Condvar::new(),
    };
    let sum = AtomicU64::new(0);
    in_threads(3, |_| (0..20).for_each(|_| lock.deeper(4, &sum)));
    sum.into_inner()
}

pub fn writers_come_first() -> u64 {
    #[derive(Default)]
    struct State {
        readers: u32,
        waiting_writers: u32,
        writes: bool,
    }
    struct Shared(UnsafeCell<[u64; 4]>);
    // SAFETY: the state below says who uses it.
    unsafe impl Sync for Shared {}
    impl Shared {
        fn get(&self) -> *mut [u64; 4] {
            self.0.get()
        }
    }
    let shared = &Shared(UnsafeCell::new([0; 4]));
    let (state, changed) = (Mutex::new(State::default()), Condvar::new());
    let torn = AtomicUsize::new(0);
    in_threads(4, |own| {
        for _ in 0..40 {
            let mut guard = state.lock().unwrap();
            if own % 2 == 0 {
                guard.waiting_writers += 1;
                guard = changed
                    .wait_while(guard, |it| it.writes || it.readers > 0)
                    .unwrap();
                guard.waiting_writers -= 1;
                guard.writes = true;
                drop(guard);
                // SAFETY: nobody else reads or writes.
                unsafe { (*shared.get()).iter_mut().for_each(|it| *it += own + 1) };
                state.lock().unwrap().writes = false;
            } else {
                let waits = |it: &mut State| it.writes || it.waiting_writers > 0;
                guard = changed.wait_while(guard, waits).unwrap();
                guard.readers += 1;
                drop(guard);
                // SAFETY: nobody writes.
                let seen = unsafe { *shared.get() };
                torn.fetch_add(usize::from(seen != [seen[0]; 4]), Ordering::Relaxed);
                state.lock().unwrap().readers -= 1;
            }
            changed.notify_all();
        }
    });
    // SAFETY: the threads have ended.
    let last = unsafe { (*shared.get())[3] };
    last + torn.into_inner() as u64
}
