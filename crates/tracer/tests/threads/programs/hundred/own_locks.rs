//! Locks made of atomics, futexes and parking. Each protects an addition that is not atomic.

use std::collections::VecDeque;
use std::ptr::null_mut;
use std::sync::Mutex;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, fence};
use std::thread::{self, Thread};

use super::{in_threads, squares};

/// Adds in some threads, each time between `lock` and `unlock`.
fn protected<T>(
    threads: u64,
    lock: impl Fn(usize) -> T + Sync,
    unlock: impl Fn(usize, T) + Sync,
) -> u64 {
    let sum = AtomicU64::new(0);
    in_threads(threads, |own| {
        for step in 0..60 {
            let held = lock(own as usize);
            let before = sum.load(Relaxed);
            sum.store(before + squares((step + own) % 20), Relaxed);
            unlock(own as usize, held);
        }
    });
    sum.into_inner()
}

pub fn spin_lock() -> u64 {
    let is_locked = AtomicBool::new(false);
    let lock = |_| {
        while is_locked.swap(true, Acquire) {
            std::hint::spin_loop();
        }
    };
    protected(3, lock, |_, ()| is_locked.store(false, Release))
}

pub fn spin_lock_backs_off() -> u64 {
    let is_locked = AtomicBool::new(false);
    let lock = |_| {
        let mut pauses = 1;
        while is_locked.load(Relaxed)
            || is_locked
                .compare_exchange_weak(false, true, Acquire, Relaxed)
                .is_err()
        {
            (0..pauses).for_each(|_| std::hint::spin_loop());
            pauses = (pauses * 2).min(64);
        }
    };
    protected(4, lock, |_, ()| is_locked.store(false, Release))
}

pub fn lock_yields() -> u64 {
    let is_locked = AtomicU32::new(0);
    let lock = |_| {
        while is_locked.fetch_or(1, AcqRel) != 0 {
            thread::yield_now();
        }
    };
    protected(3, lock, |_, ()| is_locked.store(0, Release))
}

pub fn ticket_lock() -> u64 {
    let (next, served) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let lock = |_| {
        let ticket = next.fetch_add(1, Relaxed);
        while served.load(Acquire) != ticket {
            std::hint::spin_loop();
        }
        ticket
    };
    protected(4, lock, |_, ticket| served.store(ticket + 1, Release))
}

pub fn peterson_lock() -> u64 {
    let wants = [AtomicBool::new(false), AtomicBool::new(false)];
    let last = AtomicUsize::new(0);
    let lock = |own: usize| {
        wants[own].store(true, SeqCst);
        last.store(own, SeqCst);
        while wants[1 - own].load(SeqCst) && last.load(SeqCst) == own {
            std::hint::spin_loop();
        }
    };
    protected(2, lock, |own, ()| wants[own].store(false, SeqCst))
}

pub fn dekker_lock() -> u64 {
    let wants = [AtomicBool::new(false), AtomicBool::new(false)];
    let turn = AtomicUsize::new(0);
    let lock = |own: usize| {
        wants[own].store(true, Relaxed);
        fence(SeqCst);
        while wants[1 - own].load(Relaxed) {
            if turn.load(Relaxed) != own {
                wants[own].store(false, Relaxed);
                while turn.load(Relaxed) != own {
                    std::hint::spin_loop();
                }
                wants[own].store(true, Relaxed);
                fence(SeqCst);
            }
        }
        fence(Acquire);
    };
    protected(2, lock, |own, ()| {
        turn.store(1 - own, Release);
        wants[own].store(false, Release);
    })
}

pub fn bakery_lock() -> u64 {
    const THREADS: usize = 3;
    let chooses: [_; THREADS] = std::array::from_fn(|_| AtomicBool::new(false));
    let numbers: [_; THREADS] = std::array::from_fn(|_| AtomicUsize::new(0));
    let lock = |own: usize| {
        chooses[own].store(true, SeqCst);
        let most = numbers.iter().map(|it| it.load(SeqCst)).max().unwrap();
        numbers[own].store(most + 1, SeqCst);
        chooses[own].store(false, SeqCst);
        for other in 0..THREADS {
            while chooses[other].load(SeqCst) {
                std::hint::spin_loop();
            }
            loop {
                let theirs = numbers[other].load(SeqCst);
                if theirs == 0 || (theirs, other) >= (numbers[own].load(SeqCst), own) {
                    break;
                }
                std::hint::spin_loop();
            }
        }
    };
    protected(THREADS as u64, lock, |own, ()| {
        numbers[own].store(0, SeqCst)
    })
}

pub fn filter_lock() -> u64 {
    const THREADS: usize = 4;
    let levels: [_; THREADS] = std::array::from_fn(|_| AtomicUsize::new(0));
    let last: [_; THREADS] = std::array::from_fn(|_| AtomicUsize::new(0));
    let lock = |own: usize| {
        for (level, last) in last.iter().enumerate().skip(1) {
            levels[own].store(level, SeqCst);
            last.store(own, SeqCst);
            let is_above = |other: usize| other != own && levels[other].load(SeqCst) >= level;
            while (0..THREADS).any(is_above) && last.load(SeqCst) == own {
                std::hint::spin_loop();
            }
        }
    };
    protected(THREADS as u64, lock, |own, ()| levels[own].store(0, SeqCst))
}

struct Node {
    waits: AtomicBool,
    next: AtomicPtr<Node>,
}

fn node(waits: bool) -> *mut Node {
    Box::into_raw(Box::new(Node {
        waits: AtomicBool::new(waits),
        next: AtomicPtr::new(null_mut()),
    }))
}

/// Of Mellor-Crummey and Scott: each waits at a node of its own.
pub fn queue_lock_with_successors() -> u64 {
    let last: AtomicPtr<Node> = AtomicPtr::new(null_mut());
    let lock = |_| {
        let own = node(true);
        let before = last.swap(own, AcqRel);
        if !before.is_null() {
            // SAFETY: the thread before frees its node once it has told its successor.
            unsafe {
                (*before).next.store(own, Release);
                while (*own).waits.load(Acquire) {
                    std::hint::spin_loop();
                }
            }
        }
        own as usize
    };
    let unlock = |_, own: usize| {
        let own = own as *mut Node;
        // SAFETY: the node is freed at the end, when no other thread knows it.
        unsafe {
            let is_last = || {
                last.compare_exchange(own, null_mut(), AcqRel, Relaxed)
                    .is_ok()
            };
            if !((*own).next.load(Acquire).is_null() && is_last()) {
                let next = loop {
                    let next = (*own).next.load(Acquire);
                    if !next.is_null() {
                        break next;
                    }
                    std::hint::spin_loop();
                };
                (*next).waits.store(false, Release);
            }
            drop(Box::from_raw(own));
        }
    };
    protected(3, lock, unlock)
}

/// Of Craig, Landin and Hagersten: each waits at the node of the one before.
pub fn queue_lock_with_predecessors() -> u64 {
    let last = AtomicPtr::new(node(false));
    let lock = |_| {
        let own = node(true);
        let before = last.swap(own, AcqRel);
        // SAFETY: only the successor uses a node that waits no more, and frees it.
        unsafe {
            while (*before).waits.load(Acquire) {
                std::hint::spin_loop();
            }
            drop(Box::from_raw(before));
        }
        own as usize
    };
    let unlock = |_, own: usize| {
        // SAFETY: freed by the successor, or below.
        unsafe { (*(own as *mut Node)).waits.store(false, Release) };
    };
    let sum = protected(3, lock, unlock);
    // SAFETY: the threads have ended.
    drop(unsafe { Box::from_raw(last.into_inner()) });
    sum
}

fn futex(word: &AtomicU32, operation: i32, value: u32) {
    let operation = operation | libc::FUTEX_PRIVATE_FLAG;
    let none: *const libc::timespec = std::ptr::null();
    // SAFETY: the kernel uses a word that outlives the call.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), operation, value, none) };
}

/// 0 is free, 1 held, 2 held while others may wait.
pub fn futex_lock() -> u64 {
    let state = AtomicU32::new(0);
    let lock = |_| {
        if state.compare_exchange(0, 1, Acquire, Relaxed).is_err() {
            while state.swap(2, Acquire) != 0 {
                futex(&state, libc::FUTEX_WAIT, 2);
            }
        }
        // Long enough for others to come.
        squares(400);
    };
    protected(4, lock, |_, ()| {
        if state.swap(0, Release) == 2 {
            futex(&state, libc::FUTEX_WAKE, 1);
        }
    })
}

/// Wakes one thread for each of two bits.
pub fn futex_wakes_by_bits() -> u64 {
    let (word, seen) = (AtomicU32::new(0), AtomicU64::new(0));
    let call = |operation: i32, value: u32, bits: u32| {
        let operation = operation | libc::FUTEX_PRIVATE_FLAG;
        let none: *const libc::timespec = std::ptr::null();
        let no_word: *const u32 = std::ptr::null();
        let word = word.as_ptr();
        // SAFETY: the kernel uses a word that outlives the call.
        unsafe { libc::syscall(libc::SYS_futex, word, operation, value, none, no_word, bits) }
    };
    in_threads(3, |own| {
        if own < 2 {
            while word.load(Acquire) == 0 {
                call(libc::FUTEX_WAIT_BITSET, 0, 1 << own);
            }
            seen.fetch_add(own + 1, Relaxed);
            return;
        }
        word.store(1, Release);
        while seen.load(Relaxed) < 3 {
            call(libc::FUTEX_WAKE_BITSET, 1, 1);
            call(libc::FUTEX_WAKE_BITSET, 1, 2);
            thread::yield_now();
        }
    });
    seen.into_inner()
}

pub fn spinning_read_write_lock() -> u64 {
    const WRITER: u32 = 1 << 31;
    let (state, pair) = (AtomicU32::new(0), [AtomicU64::new(0), AtomicU64::new(0)]);
    let torn = AtomicU64::new(0);
    in_threads(4, |own| {
        for step in 0..50 {
            if own == 0 {
                while state
                    .compare_exchange_weak(0, WRITER, Acquire, Relaxed)
                    .is_err()
                {
                    std::hint::spin_loop();
                }
                pair.iter().for_each(|it| it.store(step, Relaxed));
                state.fetch_and(!WRITER, Release);
                continue;
            }
            while state.fetch_add(1, Acquire) & WRITER != 0 {
                state.fetch_sub(1, Relaxed);
                thread::yield_now();
            }
            let differs = pair[0].load(Relaxed) != pair[1].load(Relaxed);
            torn.fetch_add(differs.into(), Relaxed);
            state.fetch_sub(1, Release);
        }
    });
    torn.into_inner() * 1000 + pair[1].load(Relaxed)
}

pub fn spinning_barrier() -> u64 {
    const THREADS: u64 = 3;
    let (arrived, sense) = (AtomicU64::new(0), AtomicBool::new(false));
    let cells: Vec<_> = (0..THREADS).map(AtomicU64::new).collect();
    let wait = |own_sense: &mut bool| {
        *own_sense = !*own_sense;
        if arrived.fetch_add(1, AcqRel) + 1 == THREADS {
            arrived.store(0, Relaxed);
            sense.store(*own_sense, Release);
        }
        while sense.load(Acquire) != *own_sense {
            std::hint::spin_loop();
        }
    };
    in_threads(THREADS, |own| {
        let mut own_sense = false;
        for _ in 0..20 {
            let next = cells[(own as usize + 1) % cells.len()].load(Relaxed);
            wait(&mut own_sense);
            cells[own as usize].fetch_add(next + 1, Relaxed);
            wait(&mut own_sense);
        }
    });
    cells.iter().map(|cell| cell.load(Relaxed)).sum()
}

pub fn parking_lock() -> u64 {
    let is_locked = AtomicBool::new(false);
    let waiting: Mutex<VecDeque<Thread>> = Mutex::new(VecDeque::new());
    let lock = |_| {
        while is_locked.swap(true, Acquire) {
            waiting.lock().unwrap().push_back(thread::current());
            if is_locked.load(SeqCst) {
                thread::park();
            }
        }
        squares(400);
    };
    protected(3, lock, |_, ()| {
        is_locked.store(false, SeqCst);
        waiting.lock().unwrap().drain(..).for_each(|it| it.unpark());
    })
}
