//! Beginnings and ends of threads, and what belongs to each of them.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind, panic_any, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, mpsc};
use std::thread::{self, Builder};
use std::time::Duration;

use super::{squares, sum_of};

static DROPS: AtomicU64 = AtomicU64::new(0);

struct Counted(u64);

impl Drop for Counted {
    fn drop(&mut self) {
        DROPS.fetch_add(self.0 + squares(10), Ordering::SeqCst);
    }
}

pub fn chunks_are_borrowed() -> u64 {
    let mut values: Vec<u64> = (0..400).collect();
    thread::scope(|scope| {
        for chunk in values.chunks_mut(100) {
            scope.spawn(move || {
                chunk
                    .iter_mut()
                    .for_each(|value| *value = squares(*value % 40))
            });
        }
    });
    values.iter().sum()
}

pub fn scopes_are_nested() -> u64 {
    let base = vec![1, 2, 3];
    thread::scope(|outer| {
        let threads = [0, 1].map(|own| {
            let base = &base;
            outer.spawn(move || {
                thread::scope(|inner| {
                    let below = base
                        .iter()
                        .map(|n| inner.spawn(move || squares(n * 10 + own)));
                    let below: Vec<_> = below.collect();
                    below.into_iter().map(|it| it.join().unwrap()).sum::<u64>()
                })
            })
        });
        threads.map(|it| it.join().unwrap()).iter().sum()
    })
}

pub fn scope_passes_panics_on() -> u64 {
    let finished = AtomicU64::new(0);
    let scope = || {
        thread::scope(|scope| {
            scope.spawn(|| resume_unwind(Box::new(1)));
            scope.spawn(|| finished.fetch_add(squares(200), Ordering::Relaxed));
        });
    };
    let failed = catch_unwind(AssertUnwindSafe(scope)).is_err();
    finished.load(Ordering::Relaxed) + u64::from(failed)
}

pub fn panics_have_messages() -> u64 {
    let threads = (0..3).map(|own| thread::spawn(move || assert!(own == 1, "thread {own}")));
    let threads: Vec<_> = threads.collect();
    let results = threads.into_iter().map(|it| match it.join() {
        Ok(()) => 0,
        Err(panic) => panic
            .downcast_ref::<String>()
            .map_or(1000, |it| it.len() as u64),
    });
    results.sum()
}

pub fn panics_have_values() -> u64 {
    let threads = (0..4_u64).map(|own| {
        thread::spawn(move || match own % 2 {
            0 => panic_any(own * 100),
            _ => squares(own * 10),
        })
    });
    let threads: Vec<_> = threads.collect();
    let value = |result: thread::Result<u64>| result.unwrap_or_else(|it| *it.downcast().unwrap());
    threads.into_iter().map(|it| value(it.join())).sum()
}

pub fn panics_are_caught_inside() -> u64 {
    sum_of(3, |own| {
        (0..10)
            .map(|step| {
                let work = || match step % 3 == own {
                    true => resume_unwind(Box::new(step)),
                    false => squares(step),
                };
                catch_unwind(work).unwrap_or_else(|it| *it.downcast().unwrap())
            })
            .sum()
    })
}

pub fn unwinding_drops() -> u64 {
    let before = DROPS.load(Ordering::SeqCst);
    let threads: [_; 3] = std::array::from_fn(|own| {
        thread::spawn(move || {
            let _outer = Counted(1 + own as u64);
            let all: Vec<_> = (0..5).map(Counted).collect();
            (own < 2).then(|| resume_unwind(Box::new(all.len())));
        })
    });
    let failed = threads.map(|it| it.join().is_err());
    let failed = failed.iter().filter(|&&failed| failed).count() as u64;
    DROPS.load(Ordering::SeqCst) - before + failed
}

pub fn threads_start_threads() -> u64 {
    fn fibonacci(n: u64) -> u64 {
        if n < 4 {
            return squares(n) + n;
        }
        let below = thread::spawn(move || fibonacci(n - 1));
        let here = fibonacci(n - 2);
        here + below.join().unwrap()
    }
    fibonacci(7)
}

pub fn threads_have_names() -> u64 {
    let threads = (0..3).map(|own| {
        let name = format!("worker {own}{}", "-".repeat(own * 10));
        let builder = Builder::new().name(name);
        builder
            .spawn(|| thread::current().name().map_or(0, str::len) as u64)
            .unwrap()
    });
    let threads: Vec<_> = threads.collect();
    threads.into_iter().map(|it| it.join().unwrap()).sum()
}

pub fn kernel_knows_names() -> u64 {
    let thread = Builder::new().name("a name that is too long".to_owned());
    let name = thread.spawn(|| std::fs::read_to_string("/proc/thread-self/comm").unwrap());
    name.unwrap().join().unwrap().bytes().map(u64::from).sum()
}

pub fn stacks_have_sizes() -> u64 {
    fn deep(depth: u64) -> u64 {
        let filled = std::hint::black_box([depth; 500]);
        match depth {
            0 => 0,
            _ => deep(depth - 1) + filled[depth as usize % 500],
        }
    }
    let sizes = [(1 << 16, 4), (1 << 20, 100), (8 << 20, 900)];
    let threads = sizes.map(|(bytes, depth)| {
        let builder = Builder::new().stack_size(bytes + (1 << 16));
        builder.spawn(move || deep(depth)).unwrap()
    });
    threads.map(|it| it.join().unwrap()).iter().sum()
}

pub fn threads_have_numbers() -> u64 {
    let all = Mutex::new(BTreeSet::new());
    let own = format!("{:?}", thread::current().id());
    let joined = sum_of(4, |_| {
        let id = format!("{:?}", thread::current().id());
        u64::from(all.lock().unwrap().insert(id))
    });
    joined + u64::from(!all.lock().unwrap().contains(&own))
}

pub fn thread_locals_are_dropped() -> u64 {
    thread_local!(static LAST: RefCell<Vec<Counted>> = const { RefCell::new(Vec::new()) });
    let before = DROPS.load(Ordering::SeqCst);
    // Joined by hand: a scope does not wait for destructors.
    let threads = (0..3).map(|own| {
        thread::spawn(move || {
            (0..=own).for_each(|n| LAST.with_borrow_mut(|last| last.push(Counted(n))))
        })
    });
    let threads: Vec<_> = threads.collect();
    threads.into_iter().for_each(|it| it.join().unwrap());
    DROPS.load(Ordering::SeqCst) - before
}

pub fn thread_locals_end_in_order() -> u64 {
    struct Last(u64, mpsc::Sender<u64>);
    impl Drop for Last {
        fn drop(&mut self) {
            let is_there = SECOND.try_with(|_| 1).unwrap_or(0);
            self.1.send(self.0 * 10 + is_there).unwrap();
        }
    }
    thread_local! {
        static FIRST: RefCell<Option<Last>> = const { RefCell::new(None) };
        static SECOND: RefCell<Option<Last>> = const { RefCell::new(None) };
    }
    let (send, receive) = mpsc::channel();
    let own = send.clone();
    let thread = thread::spawn(move || {
        FIRST.set(Some(Last(1, own.clone())));
        SECOND.set(Some(Last(2, own)));
    });
    thread.join().unwrap();
    drop(send);
    receive.iter().fold(0, |all, number| all * 100 + number)
}

pub fn thread_locals_are_lazy() -> u64 {
    thread_local!(static TABLE: Vec<u64> = (0..50).map(squares).collect());
    thread_local!(static CALLS: Cell<u64> = const { Cell::new(1) });
    sum_of(4, |own| {
        for n in 0..own {
            CALLS.set(CALLS.get() + TABLE.with(|table| table[n as usize]));
        }
        CALLS.get()
    })
}

pub fn keys_of_posix_have_destructors() -> u64 {
    static SUM: AtomicU64 = AtomicU64::new(0);
    unsafe extern "C" fn end(value: *mut c_void) {
        SUM.fetch_add(value as u64, Ordering::SeqCst);
    }
    static KEY: OnceLock<libc::pthread_key_t> = OnceLock::new();
    let key = *KEY.get_or_init(|| {
        let mut key = 0;
        // SAFETY: the function takes what is stored.
        assert_eq!(unsafe { libc::pthread_key_create(&mut key, Some(end)) }, 0);
        key
    });
    let before = SUM.load(Ordering::SeqCst);
    let threads = (1..4_u64).map(|own| {
        // SAFETY: the key exists; the value is only a number.
        thread::spawn(move || unsafe { libc::pthread_setspecific(key, (own * 7) as *const c_void) })
    });
    let threads: Vec<_> = threads.collect();
    threads
        .into_iter()
        .for_each(|it| assert_eq!(it.join().unwrap(), 0));
    SUM.load(Ordering::SeqCst) - before
}

pub fn token_outlasts_parking() -> u64 {
    let thread = thread::spawn(|| {
        squares(2000);
        thread::park();
        squares(3)
    });
    thread.thread().unpark();
    thread.join().unwrap()
}

pub fn parked_thread_is_woken_in_time() -> u64 {
    let is_done = Arc::new(AtomicBool::new(false));
    let theirs = Arc::clone(&is_done);
    let thread = thread::spawn(move || {
        while !theirs.load(Ordering::Acquire) {
            thread::park_timeout(Duration::from_secs(60));
        }
        squares(4)
    });
    squares(2000);
    is_done.store(true, Ordering::Release);
    thread.thread().unpark();
    thread.join().unwrap()
}

/// It ends while another thread holds the lock that its last work needs.
pub fn detached_thread_ends() -> u64 {
    let gate = Arc::new(Mutex::new(0));
    let (send, receive) = mpsc::channel::<()>();
    let held = gate.lock().unwrap();
    for own in 0..3 {
        let (gate, send) = (Arc::clone(&gate), send.clone());
        // Nobody joins it.
        drop(thread::spawn(move || {
            let _send = send;
            *gate.lock().unwrap() += squares(own + 5);
        }));
    }
    drop(send);
    squares(1000);
    drop(held);
    assert!(receive.recv().is_err());
    *gate.lock().unwrap()
}

pub fn handles_are_joined_elsewhere() -> u64 {
    let (send, receive) = mpsc::channel::<thread::JoinHandle<u64>>();
    let joiner = thread::spawn(move || receive.iter().map(|it| it.join().unwrap()).sum::<u64>());
    for own in 0..5 {
        send.send(thread::spawn(move || squares(own * 20))).unwrap();
    }
    drop(send);
    joiner.join().unwrap()
}

pub fn short_threads_in_sequence() -> u64 {
    (0..30)
        .map(|n| thread::spawn(move || n * n).join().unwrap())
        .sum()
}

pub fn end_is_polled() -> u64 {
    let thread = thread::spawn(|| squares(5000));
    while !thread.is_finished() {
        thread::yield_now();
    }
    thread.join().unwrap()
}
