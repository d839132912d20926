//! Threads, locks and waits of POSIX, as C programs use them.

use std::cell::UnsafeCell;
use std::ffi::c_void;
use std::mem::zeroed;
use std::ptr::{null, null_mut};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use super::{in_threads, squares, sum_of};

/// An object of C that several threads use.
struct Shared<T>(UnsafeCell<T>);

// SAFETY: only functions that are made for several threads get it.
unsafe impl<T> Sync for Shared<T> {}

impl<T> Shared<T> {
    /// Returns one that is all zeros.
    fn new() -> Shared<T> {
        // SAFETY: a valid value of the C types in this file.
        Shared(UnsafeCell::new(unsafe { zeroed() }))
    }

    fn get(&self) -> *mut T {
        self.0.get()
    }
}

fn check(result: i32) {
    assert_eq!(result, 0);
}

fn mutex_of_kind(kind: i32, robust: bool) -> Shared<libc::pthread_mutex_t> {
    let mutex = Shared::new();
    // SAFETY: the attributes live as long as they are used, and the mutex is not used yet.
    unsafe {
        let mut attributes: libc::pthread_mutexattr_t = zeroed();
        check(libc::pthread_mutexattr_init(&mut attributes));
        check(libc::pthread_mutexattr_settype(&mut attributes, kind));
        if robust {
            let kind = libc::PTHREAD_MUTEX_ROBUST;
            check(libc::pthread_mutexattr_setrobust(&mut attributes, kind));
        }
        check(libc::pthread_mutex_init(mutex.get(), &attributes));
    }
    mutex
}

pub fn threads_of_posix() -> u64 {
    extern "C" fn work(argument: *mut c_void) -> *mut c_void {
        squares(argument as u64) as *mut c_void
    }
    // SAFETY: the function takes and returns numbers.
    unsafe {
        let threads = [20, 40, 60].map(|argument: usize| {
            let mut thread = 0;
            check(libc::pthread_create(
                &mut thread,
                null(),
                work,
                argument as *mut c_void,
            ));
            thread
        });
        let join = |thread| {
            let mut result = null_mut();
            check(libc::pthread_join(thread, &mut result));
            result as u64
        };
        threads.map(join).iter().sum()
    }
}

pub fn recursive_mutex() -> u64 {
    let mutex = mutex_of_kind(libc::PTHREAD_MUTEX_RECURSIVE, false);
    let sum = AtomicU64::new(0);
    in_threads(3, |own| {
        for step in 0..40 {
            // SAFETY: it is initialised, and unlocked as often as it is locked.
            unsafe {
                (0..3).for_each(|_| check(libc::pthread_mutex_lock(mutex.get())));
                let before = sum.load(Ordering::Relaxed);
                sum.store(before + squares(own + step % 5), Ordering::Relaxed);
                (0..3).for_each(|_| check(libc::pthread_mutex_unlock(mutex.get())));
            }
        }
    });
    sum.into_inner()
}

pub fn checking_mutex() -> u64 {
    let mutex = mutex_of_kind(libc::PTHREAD_MUTEX_ERRORCHECK, false);
    sum_of(3, |_| {
        // SAFETY: it is initialised; wrong uses are errors.
        unsafe {
            let not_held = libc::pthread_mutex_unlock(mutex.get());
            check(libc::pthread_mutex_lock(mutex.get()));
            let again = libc::pthread_mutex_lock(mutex.get());
            check(libc::pthread_mutex_unlock(mutex.get()));
            (not_held * 100 + again) as u64
        }
    })
}

/// The thread that holds it ends.
pub fn robust_mutex() -> u64 {
    let mutex = mutex_of_kind(libc::PTHREAD_MUTEX_NORMAL, true);
    thread::scope(|scope| {
        // SAFETY: it is initialised.
        let holder = scope.spawn(|| check(unsafe { libc::pthread_mutex_lock(mutex.get()) }));
        holder.join().unwrap();
    });
    sum_of(2, |_| {
        // SAFETY: it is initialised; whoever finds it without an owner makes it usable.
        unsafe {
            let result = libc::pthread_mutex_lock(mutex.get());
            if result == libc::EOWNERDEAD {
                check(libc::pthread_mutex_consistent(mutex.get()));
            }
            check(libc::pthread_mutex_unlock(mutex.get()));
            result as u64
        }
    })
}

pub fn condition_of_posix() -> u64 {
    let (mutex, changed) = (
        mutex_of_kind(libc::PTHREAD_MUTEX_NORMAL, false),
        Shared::new(),
    );
    let turn = AtomicU64::new(0);
    in_threads(3, |own| {
        for _ in 0..20 {
            // SAFETY: all zeros is an initialised condition; the mutex is held where it must be.
            unsafe {
                check(libc::pthread_mutex_lock(mutex.get()));
                while turn.load(Ordering::Relaxed) % 3 != own {
                    check(libc::pthread_cond_wait(changed.get(), mutex.get()));
                }
                turn.fetch_add(1, Ordering::Relaxed);
                check(libc::pthread_cond_broadcast(changed.get()));
                check(libc::pthread_mutex_unlock(mutex.get()));
            }
        }
    });
    turn.into_inner()
}

pub fn read_write_lock_of_posix() -> u64 {
    let lock: Shared<libc::pthread_rwlock_t> = Shared::new();
    let pair = [AtomicU64::new(0), AtomicU64::new(0)];
    let torn = sum_of(4, |own| {
        let mut torn = 0;
        for step in 0..50 {
            // SAFETY: all zeros is an initialised lock, and each locks it once.
            unsafe {
                if own == 0 {
                    check(libc::pthread_rwlock_wrlock(lock.get()));
                    pair[0].store(step, Ordering::Relaxed);
                    squares(50);
                    pair[1].store(step, Ordering::Relaxed);
                } else {
                    check(libc::pthread_rwlock_rdlock(lock.get()));
                    let seen = [0, 1].map(|n| pair[n].load(Ordering::Relaxed));
                    torn += u64::from(seen[0] != seen[1]);
                }
                check(libc::pthread_rwlock_unlock(lock.get()));
            }
        }
        torn
    });
    torn * 1000 + pair[1].load(Ordering::Relaxed)
}

pub fn barrier_of_posix() -> u64 {
    let barrier: Shared<libc::pthread_barrier_t> = Shared::new();
    // SAFETY: not used yet.
    check(unsafe { libc::pthread_barrier_init(barrier.get(), null(), 3) });
    sum_of(3, |own| {
        let serial = (0..12).filter(|round| {
            squares(own * round);
            // SAFETY: it is initialised.
            unsafe {
                libc::pthread_barrier_wait(barrier.get()) == libc::PTHREAD_BARRIER_SERIAL_THREAD
            }
        });
        serial.count() as u64
    })
}

pub fn spin_lock_of_posix() -> u64 {
    let lock: Shared<libc::pthread_spinlock_t> = Shared::new();
    // SAFETY: not used yet.
    check(unsafe { libc::pthread_spin_init(lock.get(), libc::PTHREAD_PROCESS_PRIVATE) });
    let sum = AtomicU64::new(0);
    in_threads(3, |own| {
        for step in 0..50 {
            // SAFETY: it is initialised, and held when it is unlocked.
            unsafe {
                check(libc::pthread_spin_lock(lock.get()));
                let before = sum.load(Ordering::Relaxed);
                sum.store(before + squares(own + step % 9), Ordering::Relaxed);
                check(libc::pthread_spin_unlock(lock.get()));
            }
        }
    });
    sum.into_inner()
}
