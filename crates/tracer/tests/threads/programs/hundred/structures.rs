//! Structures that threads share without locks, and work that they divide.

use std::cell::UnsafeCell;
use std::collections::{HashMap, VecDeque};
use std::mem::MaybeUninit;
use std::ptr::null_mut;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicPtr, AtomicU64, AtomicUsize, fence};
use std::sync::{Barrier, Mutex, RwLock};
use std::thread;

use rayon::prelude::*;

use super::{in_threads, squares, sum_of};

struct Node {
    value: u64,
    next: AtomicPtr<Node>,
}

impl Node {
    fn boxed(value: u64, next: *mut Node) -> *mut Node {
        let next = AtomicPtr::new(next);
        Box::into_raw(Box::new(Node { value, next }))
    }
}

/// Frees a list, and returns the sum of its values.
///
/// # Safety
/// Nobody else uses the list.
unsafe fn take_list(mut first: *mut Node) -> u64 {
    let mut sum = 0;
    while !first.is_null() {
        // SAFETY: by the caller's promise.
        let node = unsafe { Box::from_raw(first) };
        sum += node.value;
        first = node.next.into_inner();
    }
    sum
}

/// Of Treiber. Takers take all, so no address comes back too early.
pub fn stack_of_nodes() -> u64 {
    let top: AtomicPtr<Node> = AtomicPtr::new(null_mut());
    let taken = sum_of(4, |own| {
        let mut sum = 0;
        for n in 0..60 {
            if own == 3 {
                // SAFETY: the list was taken out of the stack.
                sum += unsafe { take_list(top.swap(null_mut(), AcqRel)) };
                thread::yield_now();
                continue;
            }
            let node = Node::boxed(n + own, top.load(Relaxed));
            // SAFETY: the node is published by the exchange, and not used after it.
            unsafe {
                while let Err(now) =
                    top.compare_exchange_weak(*(*node).next.as_ptr(), node, Release, Relaxed)
                {
                    (*node).next.store(now, Relaxed);
                }
            }
        }
        sum
    });
    // SAFETY: the threads have ended.
    taken + unsafe { take_list(top.into_inner()) }
}

/// Of Michael and Scott. Nodes are freed at the end.
pub fn queue_of_nodes() -> u64 {
    let dummy = Node::boxed(0, null_mut());
    let (head, tail) = (AtomicPtr::new(dummy), AtomicPtr::new(dummy));
    let sum = sum_of(4, |own| {
        let mut sum = 0;
        for n in 0..60 {
            if own < 2 {
                let node = Node::boxed(n * 2 + own, null_mut());
                loop {
                    let last = tail.load(Acquire);
                    // SAFETY: no node is freed before the end.
                    let next = unsafe { &(*last).next };
                    match next.compare_exchange(null_mut(), node, AcqRel, Acquire) {
                        Ok(_) => {
                            let _ = tail.compare_exchange(last, node, AcqRel, Relaxed);
                            break;
                        }
                        Err(other) => {
                            let _ = tail.compare_exchange(last, other, AcqRel, Relaxed);
                        }
                    }
                }
                continue;
            }
            sum += loop {
                let first = head.load(Acquire);
                // SAFETY: no node is freed before the end.
                let next = unsafe { (*first).next.load(Acquire) };
                if next.is_null() {
                    thread::yield_now();
                } else if head.compare_exchange(first, next, AcqRel, Relaxed).is_ok() {
                    // SAFETY: as above.
                    break unsafe { (*next).value };
                }
            };
        }
        sum
    });
    // SAFETY: the threads have ended.
    sum * 1000 + unsafe { take_list(dummy) } % 1000
}

/// One thread writes, one reads.
pub fn ring_of_two() -> u64 {
    const ROOM: usize = 8;
    let cells: [_; ROOM] = std::array::from_fn(|_| AtomicU64::new(0));
    let (written, read) = (AtomicUsize::new(0), AtomicUsize::new(0));
    sum_of(2, |own| {
        let mut sum: u64 = 0;
        for n in 0..200 {
            if own == 0 {
                while n - read.load(Acquire) == ROOM {
                    std::hint::spin_loop();
                }
                cells[n % ROOM].store(squares(n as u64 % 20), Relaxed);
                written.store(n + 1, Release);
            } else {
                while written.load(Acquire) == n {
                    std::hint::spin_loop();
                }
                sum = sum.wrapping_mul(7) + cells[n % ROOM].load(Relaxed);
                read.store(n + 1, Release);
            }
        }
        sum
    })
}

/// Of Vyukov: each cell says whose turn it is.
pub fn ring_of_many() -> u64 {
    const ROOM: usize = 4;
    struct Cell {
        turn: AtomicUsize,
        value: UnsafeCell<MaybeUninit<u64>>,
    }
    // SAFETY: the turn says who uses the value.
    unsafe impl Sync for Cell {}
    let cells: [_; ROOM] = std::array::from_fn(|n| Cell {
        turn: AtomicUsize::new(n),
        value: UnsafeCell::new(MaybeUninit::uninit()),
    });
    let cells = &cells;
    let (written, read) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let claim = |place: &AtomicUsize, ahead: usize| loop {
        let at = place.load(Relaxed);
        let is_ready = cells[at % ROOM].turn.load(Acquire) == at + ahead;
        if is_ready
            && place
                .compare_exchange_weak(at, at + 1, Relaxed, Relaxed)
                .is_ok()
        {
            return at;
        }
        std::hint::spin_loop();
    };
    sum_of(4, |own| {
        let mut sum = 0;
        for n in 0..50 {
            if own % 2 == 0 {
                let at = claim(&written, 0);
                // SAFETY: it is this thread's turn.
                unsafe { (*cells[at % ROOM].value.get()).write(n + own) };
                cells[at % ROOM].turn.store(at + 1, Release);
            } else {
                let at = claim(&read, 1);
                // SAFETY: it is this thread's turn, and the value was written.
                sum += unsafe { (*cells[at % ROOM].value.get()).assume_init() };
                cells[at % ROOM].turn.store(at + ROOM, Release);
            }
        }
        sum
    })
}

/// Of Chase and Lev: the owner takes from one end, thieves from the other.
pub fn work_is_stolen() -> u64 {
    let tasks: Vec<_> = (0..256).map(|_| AtomicU64::new(0)).collect();
    let (bottom, top) = (AtomicI64::new(0), AtomicI64::new(0));
    let is_over = AtomicBool::new(false);
    let steal = || {
        let first = top.load(Acquire);
        fence(SeqCst);
        if first >= bottom.load(Acquire) {
            return None;
        }
        let task = tasks[first as usize % 256].load(Relaxed);
        top.compare_exchange(first, first + 1, SeqCst, Relaxed)
            .ok()
            .map(|_| task)
    };
    let take = || {
        let last = bottom.load(Relaxed) - 1;
        bottom.store(last, Relaxed);
        fence(SeqCst);
        let first = top.load(Relaxed);
        if first < last {
            return Some(tasks[last as usize % 256].load(Relaxed));
        }
        let task = (first == last
            && top
                .compare_exchange(first, first + 1, SeqCst, Relaxed)
                .is_ok())
        .then(|| tasks[last as usize % 256].load(Relaxed));
        bottom.store(last + 1, Relaxed);
        task
    };
    sum_of(3, |own| {
        let mut sum = 0;
        if own > 0 {
            while !is_over.load(Acquire) {
                sum += steal().map_or(0, squares);
                std::hint::spin_loop();
            }
            return sum;
        }
        for n in 0..120 {
            let last = bottom.load(Relaxed);
            tasks[last as usize % 256].store(n, Relaxed);
            bottom.store(last + 1, Release);
            if n % 3 == 0 {
                sum += take().map_or(0, squares);
            }
        }
        while bottom.load(Relaxed) > top.load(Relaxed) {
            sum += take().map_or(0, squares);
        }
        is_over.store(true, Release);
        sum
    })
}

pub fn deques_are_robbed() -> u64 {
    let deques: Vec<_> = (0..3).map(|_| Mutex::new(VecDeque::new())).collect();
    deques[0].lock().unwrap().extend(0..90_u64);
    let left = AtomicU64::new(90);
    sum_of(3, |own| {
        let own = own as usize;
        let mut sum = 0;
        while left.load(Acquire) > 0 {
            let mine = deques[own].lock().unwrap().pop_back();
            let task = mine.or_else(|| {
                let mut stolen: VecDeque<_> = {
                    let mut victim = deques[(own + 1) % 3].lock().unwrap();
                    let half = victim.len().div_ceil(2);
                    victim.drain(..half).collect()
                };
                let first = stolen.pop_front();
                deques[own].lock().unwrap().append(&mut stolen);
                first
            });
            match task {
                Some(task) => {
                    sum += squares(task);
                    left.fetch_sub(1, Release);
                }
                None => thread::yield_now(),
            }
        }
        sum
    })
}

pub fn table_remembers() -> u64 {
    let known = RwLock::new(HashMap::new());
    sum_of(4, |own| {
        let value = |n: u64| {
            if let Some(value) = known.read().unwrap().get(&n) {
                return *value;
            }
            *known
                .write()
                .unwrap()
                .entry(n)
                .or_insert_with(|| squares(n))
        };
        (0..60).map(|n| value((n * 7 + own) % 40)).sum()
    })
}

pub fn levels_of_a_graph() -> u64 {
    const NODES: usize = 200;
    let depths: Vec<_> = (0..NODES).map(|_| AtomicU64::new(u64::MAX)).collect();
    depths[0].store(0, Relaxed);
    let together = Barrier::new(3);
    in_threads(3, |own| {
        for depth in 0..12 {
            for node in (own as usize..NODES).step_by(3) {
                if depths[node].load(Relaxed) == depth {
                    for next in [node * 2 + 1, node * 3 + 2, node / 5] {
                        if let Some(next) = depths.get(next) {
                            next.fetch_min(depth + 1, Relaxed);
                        }
                    }
                }
            }
            together.wait();
        }
    });
    depths.iter().map(|it| it.load(Relaxed).min(100)).sum()
}

pub fn sums_of_prefixes() -> u64 {
    let cells: Vec<_> = (0..64).map(AtomicU64::new).collect();
    let together = Barrier::new(4);
    in_threads(4, |own| {
        for distance in [1, 2, 4, 8, 16, 32] {
            let range = own as usize * 16..(own as usize + 1) * 16;
            let before = |n: usize| {
                n.checked_sub(distance)
                    .map_or(0, |n| cells[n].load(Relaxed))
            };
            let added: Vec<u64> = range.clone().map(before).collect();
            together.wait();
            for (n, value) in range.zip(added) {
                cells[n].fetch_add(value, Relaxed);
            }
            together.wait();
        }
    });
    cells
        .iter()
        .fold(0, |all, cell| all * 3 % 1_000_003 + cell.load(Relaxed))
}

pub fn pool_joins_halves() -> u64 {
    fn half(values: &[u64]) -> u64 {
        if values.len() < 10 {
            return values.iter().copied().map(squares).sum();
        }
        let (low, high) = values.split_at(values.len() / 2);
        let (low, high) = rayon::join(|| half(low), || half(high));
        low + high
    }
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(3)
        .build()
        .unwrap();
    pool.install(|| half(&(0..100).collect::<Vec<_>>()))
}

pub fn pool_sorts() -> u64 {
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(2)
        .build()
        .unwrap();
    let mut values: Vec<u64> = (0..3000).map(|n| n * 7919 % 3001).collect();
    pool.install(|| values.par_sort_unstable());
    values.iter().zip(0..).map(|(value, n)| value ^ n).sum()
}
