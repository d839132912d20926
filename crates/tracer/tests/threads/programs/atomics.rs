//! Atomics of every ordering, and spinning.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering, fence};
use std::thread;

use super::squares;

fn in_threads<const N: usize>(work: impl Fn(usize) + Sync) {
    let work = &work;
    thread::scope(|scope| {
        for n in 0..N {
            scope.spawn(move || work(n));
        }
    });
}

pub fn relaxed<const N: usize>() -> String {
    let count = AtomicU64::new(0);
    in_threads::<N>(|n| {
        for step in 0..3000 {
            count.fetch_add(step ^ n as u64, Ordering::Relaxed);
            count.fetch_xor(1, Ordering::Relaxed);
            count.fetch_xor(1, Ordering::Relaxed);
        }
    });
    let expected: u64 = (0..N as u64)
        .map(|n| (0..3000).map(|it| it ^ n).sum::<u64>())
        .sum();
    (count.into_inner().abs_diff(expected) <= 3000 * N as u64).to_string()
}

pub fn acquire_release<const N: usize>() -> String {
    let published = AtomicUsize::new(0);
    let cells: Vec<AtomicU64> = (0..N * 100).map(|_| AtomicU64::new(0)).collect();
    in_threads::<N>(|_| {
        loop {
            let next = published.fetch_add(1, Ordering::AcqRel);
            let Some(cell) = cells.get(next) else {
                break;
            };
            cell.store(squares(next as u64 % 50), Ordering::Release);
        }
    });
    let sum: u64 = cells.iter().map(|cell| cell.load(Ordering::Acquire)).sum();
    sum.to_string()
}

pub fn sequentially_consistent<const N: usize>() -> String {
    let largest = AtomicU64::new(0);
    let count = AtomicU64::new(0);
    in_threads::<N>(|n| {
        for step in 0..1000_u64 {
            largest.fetch_max(step * n as u64, Ordering::SeqCst);
            fence(Ordering::SeqCst);
            let mut seen = count.load(Ordering::SeqCst);
            while let Err(now) =
                count.compare_exchange_weak(seen, seen + 1, Ordering::SeqCst, Ordering::SeqCst)
            {
                seen = now;
            }
        }
    });
    format!("{largest:?} {count:?}")
}

pub fn spin_lock<const N: usize>() -> String {
    let is_locked = AtomicBool::new(false);
    let sum = AtomicU64::new(0);
    in_threads::<N>(|n| {
        for step in 0..300 {
            while is_locked.swap(true, Ordering::Acquire) {
                std::hint::spin_loop();
            }
            // No atomic addition: the lock protects it.
            let before = sum.load(Ordering::Relaxed);
            sum.store(before + squares((step + n as u64) % 9), Ordering::Relaxed);
            is_locked.store(false, Ordering::Release);
        }
    });
    sum.into_inner().to_string()
}

pub fn yielding<const N: usize>() -> String {
    let turn = AtomicUsize::new(0);
    in_threads::<N>(|own| {
        for _ in 0..40 {
            while turn.load(Ordering::Acquire) % N != own {
                thread::yield_now();
            }
            turn.fetch_add(1, Ordering::Release);
        }
    });
    turn.into_inner().to_string()
}

/// Spins without a hint that it does.
pub fn bare_spin<const N: usize>() -> String {
    let turn = AtomicUsize::new(0);
    in_threads::<N>(|own| {
        for _ in 0..5 {
            while turn.load(Ordering::Acquire) % N != own {}
            turn.fetch_add(1, Ordering::Release);
        }
    });
    turn.into_inner().to_string()
}
