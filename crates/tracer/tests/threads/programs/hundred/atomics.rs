//! Atomics of every kind and ordering, and what is built of them without locks.

use std::ptr::null_mut;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};
use std::sync::atomic::{
    AtomicBool, AtomicI8, AtomicI64, AtomicPtr, AtomicU8, AtomicU16, AtomicU32, AtomicU64,
    AtomicUsize, compiler_fence, fence,
};
use std::sync::{Arc, Barrier, Mutex, Weak};
use std::thread;

use super::{in_threads, squares, sum_of};

pub fn message_is_published() -> u64 {
    let (data, is_ready) = (AtomicU64::new(0), AtomicBool::new(false));
    sum_of(2, |own| {
        if own == 0 {
            data.store(squares(300), Relaxed);
            is_ready.store(true, Release);
            return 0;
        }
        while !is_ready.load(Acquire) {
            std::hint::spin_loop();
        }
        data.load(Relaxed)
    })
}

pub fn message_is_fenced() -> u64 {
    let (data, is_ready) = (AtomicU64::new(0), AtomicBool::new(false));
    sum_of(3, |own| {
        if own == 0 {
            data.store(squares(250), Relaxed);
            fence(Release);
            is_ready.store(true, Relaxed);
            return 0;
        }
        while !is_ready.load(Relaxed) {
            thread::yield_now();
        }
        fence(Acquire);
        data.load(Relaxed)
    })
}

/// Both threads cannot miss the other's store.
pub fn stores_are_not_missed_by_both() -> u64 {
    let together = Barrier::new(2);
    let cells = [AtomicU64::new(0), AtomicU64::new(0)];
    let missed = [AtomicU64::new(0), AtomicU64::new(0)];
    let mut by_both = 0;
    for round in 1..30 {
        in_threads(2, |own| {
            together.wait();
            cells[own as usize].store(round, SeqCst);
            let seen = cells[1 - own as usize].load(SeqCst);
            missed[own as usize].store(u64::from(seen != round), Relaxed);
        });
        by_both += missed[0].load(Relaxed) & missed[1].load(Relaxed);
    }
    by_both
}

/// The same by fences.
pub fn fenced_stores_are_not_missed_by_both() -> u64 {
    let cells = [AtomicU64::new(0), AtomicU64::new(0)];
    let missed: [_; 2] = std::array::from_fn(|_| Mutex::new(Vec::new()));
    let together = Barrier::new(2);
    in_threads(2, |own| {
        for round in 1..50 {
            together.wait();
            cells[own as usize].store(round, Relaxed);
            fence(SeqCst);
            let seen = cells[1 - own as usize].load(Relaxed);
            missed[own as usize].lock().unwrap().push(seen != round);
            together.wait();
        }
    });
    let [first, second] = missed.map(|it| it.into_inner().unwrap());
    first
        .iter()
        .zip(&second)
        .filter(|(first, second)| **first && **second)
        .count() as u64
}

/// Two readers agree in the order of two independent writes.
pub fn readers_agree_in_order() -> u64 {
    let cells = [AtomicU64::new(0), AtomicU64::new(0)];
    let seen = [AtomicU64::new(0), AtomicU64::new(0)];
    let mut disagreements = 0;
    for round in 1..20 {
        in_threads(4, |own| {
            let side = own as usize % 2;
            if own < 2 {
                cells[side].store(round, SeqCst);
            } else {
                let first = cells[side].load(SeqCst) == round;
                let second = cells[1 - side].load(SeqCst) == round;
                seen[side].store(u64::from(first && !second), Relaxed);
            }
        });
        disagreements += seen[0].load(Relaxed) & seen[1].load(Relaxed);
    }
    disagreements
}

pub fn swapped_tokens_are_kept() -> u64 {
    let slot = AtomicU64::new(1000);
    let left = sum_of(4, |own| {
        (0..100).fold(own, |token, step| match step % 3 {
            0 => slot.swap(token, SeqCst),
            1 => slot.swap(token, AcqRel),
            _ => slot.swap(token, Relaxed),
        })
    });
    left + slot.into_inner()
}

pub fn strong_exchange_counts() -> u64 {
    let count = AtomicU64::new(0);
    in_threads(3, |own| {
        for _ in 0..200 {
            let mut seen = count.load(Relaxed);
            while let Err(now) = count.compare_exchange(seen, seen + own, SeqCst, Acquire) {
                seen = now;
            }
        }
    });
    count.into_inner()
}

pub fn weak_exchange_counts() -> u64 {
    let count = AtomicU32::new(1);
    in_threads(3, |own| {
        for _ in 0..200 {
            let mut seen = count.load(Acquire);
            let step = own as u32 * 2 + 1;
            while let Err(now) =
                count.compare_exchange_weak(seen, seen.wrapping_mul(step), AcqRel, Relaxed)
            {
                seen = now;
            }
        }
    });
    count.into_inner().into()
}

pub fn additions_of_every_ordering() -> u64 {
    let orderings = [Relaxed, Acquire, Release, AcqRel, SeqCst];
    let count = AtomicI64::new(0);
    in_threads(4, |own| {
        for step in 0..200 {
            let ordering = orderings[step % 5];
            count.fetch_add(own as i64 * 3, ordering);
            count.fetch_sub(step as i64, orderings[(step + 1) % 5]);
        }
    });
    count.into_inner() as u64
}

pub fn bits_change_at_once() -> u64 {
    let (set, cleared, flipped) = (AtomicU64::new(0), AtomicU64::new(!0), AtomicU64::new(9));
    let inverted = AtomicU8::new(0);
    in_threads(4, |own| {
        for bit in (own..64).step_by(4) {
            set.fetch_or(1 << bit, Release);
            cleared.fetch_and(!(1 << bit), Acquire);
            flipped.fetch_xor(3 << (bit / 2), AcqRel);
            inverted.fetch_nand(0xff, SeqCst);
        }
    });
    set.into_inner()
        ^ cleared.into_inner()
        ^ flipped.into_inner()
        ^ u64::from(inverted.into_inner())
}

pub fn extremes_are_kept() -> u64 {
    let (least, most) = (AtomicI64::new(i64::MAX), AtomicI64::new(i64::MIN));
    in_threads(4, |own| {
        for step in 0..150 {
            let value = (step * 7919 + own as i64 * 104_729) % 10_007 - 5_000;
            least.fetch_min(value, Relaxed);
            most.fetch_max(value, SeqCst);
        }
    });
    (most.into_inner() - least.into_inner()) as u64
}

pub fn updates_are_retried() -> u64 {
    let value = AtomicU64::new(1);
    let refused = sum_of(3, |_| {
        let add = |old| (old < 200).then_some(old + 3);
        (0..100)
            .map(|_| u64::from(value.fetch_update(SeqCst, Relaxed, add).is_err()))
            .sum()
    });
    refused * 1000 + value.into_inner()
}

pub fn flags_are_claimed_once() -> u64 {
    let flags: Vec<_> = (0..200).map(|_| AtomicBool::new(false)).collect();
    sum_of(4, |_| {
        flags
            .iter()
            .map(|flag| u64::from(!flag.swap(true, Relaxed)))
            .sum()
    })
}

pub fn pointers_change_hands() -> u64 {
    let slot = AtomicPtr::new(Box::into_raw(Box::new(5_u64)));
    in_threads(3, |own| {
        for step in 0..60 {
            let new = Box::into_raw(Box::new(0));
            let old = slot.swap(null_mut(), Acquire);
            if old.is_null() {
                // SAFETY: made above, and nobody else has it.
                drop(unsafe { Box::from_raw(new) });
                thread::yield_now();
                continue;
            }
            // SAFETY: whoever took a pointer out of the slot owns it.
            unsafe { *new = *Box::from_raw(old) + u64::from(own == 9 && step == 0) };
            slot.store(new, Release);
        }
    });
    // SAFETY: the threads have ended, and each put back what it took.
    *unsafe { Box::from_raw(slot.into_inner()) }
}

pub fn narrow_atomics_wrap() -> u64 {
    let (byte, signed, word) = (AtomicU8::new(0), AtomicI8::new(0), AtomicU16::new(0));
    in_threads(3, |own| {
        for step in 0..300_u16 {
            byte.fetch_add(step as u8, Relaxed);
            signed.fetch_sub(own as i8 + 3, Release);
            word.fetch_add(step.wrapping_mul(300), AcqRel);
        }
    });
    u64::from(byte.into_inner())
        + u64::from(signed.into_inner() as u8) * 256
        + u64::from(word.into_inner()) * 65_536
}

/// `cmpxchg16b`, where the CPU has it: all that the model knows do.
pub fn wide_exchange_counts() -> u64 {
    #[target_feature(enable = "cmpxchg16b")]
    unsafe fn add(pair: *mut u128, value: u128) {
        let mut seen = 0;
        loop {
            let new = seen + value + (value << 64);
            // SAFETY: the caller passes an aligned pair that only this changes.
            let now = unsafe { std::arch::x86_64::cmpxchg16b(pair, seen, new, SeqCst, SeqCst) };
            if now == seen {
                return;
            }
            seen = now;
        }
    }
    #[repr(align(16))]
    struct Pair(std::cell::UnsafeCell<u128>);
    // SAFETY: it is changed by atomic operations alone.
    unsafe impl Sync for Pair {}
    impl Pair {
        fn get(&self) -> *mut u128 {
            self.0.get()
        }
    }
    if !is_x86_feature_detected!("cmpxchg16b") {
        return 0;
    }
    let pair = &Pair(std::cell::UnsafeCell::new(0));
    in_threads(3, |own| {
        for step in 0..100 {
            // SAFETY: the CPU has the instruction; the pair is aligned.
            unsafe { add(pair.get(), u128::from(own + step)) };
        }
    });
    // SAFETY: the threads have ended.
    let sum = unsafe { *pair.get() };
    (sum >> 64) as u64 + sum as u64
}

pub fn sequence_lock() -> u64 {
    let sequence = AtomicUsize::new(0);
    let data = [AtomicU64::new(0), AtomicU64::new(0), AtomicU64::new(0)];
    let torn = sum_of(3, |own| {
        let mut torn = 0;
        for step in 1..80 {
            if own == 0 {
                sequence.fetch_add(1, Acquire);
                fence(Release);
                data.iter().for_each(|cell| cell.store(step, Relaxed));
                sequence.fetch_add(1, Release);
                continue;
            }
            let seen = loop {
                let before = sequence.load(Acquire);
                let seen = [0, 1, 2].map(|n| data[n].load(Relaxed));
                fence(Acquire);
                if before % 2 == 0 && sequence.load(Relaxed) == before {
                    break seen;
                }
                std::hint::spin_loop();
            };
            torn += u64::from(seen != [seen[0]; 3]);
        }
        torn
    });
    torn * 1000 + data[2].load(Relaxed)
}

pub fn shared_counts_end_at_one() -> u64 {
    struct Dropped<'a>(&'a AtomicU64);
    impl Drop for Dropped<'_> {
        fn drop(&mut self) {
            self.0.fetch_add(1, Relaxed);
        }
    }
    let drops = AtomicU64::new(0);
    let shared = Arc::new(Dropped(&drops));
    in_threads(4, |_| {
        for n in 0..100 {
            let clones = vec![Arc::clone(&shared); n % 4];
            assert!(Arc::strong_count(&shared) > clones.len());
        }
    });
    let last = Arc::strong_count(&shared) as u64;
    drop(shared);
    last * 10 + drops.load(Relaxed)
}

pub fn weak_references_end() -> u64 {
    let shared = Arc::new(squares(10));
    let weak: Vec<Weak<u64>> = (0..3).map(|_| Arc::downgrade(&shared)).collect();
    let together = Barrier::new(4);
    let last = Mutex::new(Some(shared));
    sum_of(4, |own| {
        let found = match weak.get(own as usize) {
            Some(weak) => weak.upgrade().map_or(0, |it| *it % 7),
            None => 0,
        };
        together.wait();
        if own == 3 {
            drop(last.lock().unwrap().take());
        }
        together.wait();
        let after = weak.get(own as usize).and_then(Weak::upgrade);
        found + u64::from(after.is_some())
    })
}

/// A reader announces what it uses; a writer frees what nobody has announced.
pub fn hazard_pointers() -> u64 {
    let current = AtomicPtr::new(Box::into_raw(Box::new([1_u64; 2])));
    let hazards = [AtomicPtr::new(null_mut()), AtomicPtr::new(null_mut())];
    let torn = sum_of(3, |own| {
        let mut retired: Vec<*mut [u64; 2]> = Vec::new();
        let mut torn = 0;
        for step in 0..60 {
            if own < 2 {
                let hazard = &hazards[own as usize];
                let value = loop {
                    let seen = current.load(SeqCst);
                    hazard.store(seen, SeqCst);
                    if current.load(SeqCst) == seen {
                        break seen;
                    }
                };
                // SAFETY: announced before it was replaced.
                let value = unsafe { *value };
                torn += u64::from(value[0] != value[1]);
                hazard.store(null_mut(), Release);
                continue;
            }
            retired.push(current.swap(Box::into_raw(Box::new([step; 2])), SeqCst));
            retired.retain(|&old| {
                let is_used = hazards.iter().any(|hazard| hazard.load(SeqCst) == old);
                if !is_used {
                    // SAFETY: replaced, and nobody has announced it.
                    drop(unsafe { Box::from_raw(old) });
                }
                is_used
            });
        }
        torn
    });
    // SAFETY: the threads have ended.
    torn + unsafe { Box::from_raw(current.into_inner()) }[0]
}

/// Readers keep the version that they found while a writer replaces it.
pub fn versions_are_replaced() -> u64 {
    let current = Mutex::new(Arc::new(vec![0_u64; 8]));
    let torn = sum_of(4, |own| {
        let mut torn = 0;
        for step in 0..60 {
            let seen = Arc::clone(&current.lock().unwrap());
            if own == 0 {
                let next = seen.iter().map(|value| value + step).collect();
                *current.lock().unwrap() = Arc::new(next);
            } else {
                torn += u64::from(seen.iter().any(|value| *value != seen[0]));
            }
        }
        torn
    });
    torn + current.into_inner().unwrap()[7]
}

/// The first to come makes the value; the others drop theirs.
pub fn race_to_initialise() -> u64 {
    let cell: AtomicPtr<u64> = AtomicPtr::new(null_mut());
    let sum = sum_of(4, |_| {
        let mut found = cell.load(Acquire);
        if found.is_null() {
            let new = Box::into_raw(Box::new(squares(400)));
            found = match cell.compare_exchange(null_mut(), new, AcqRel, Acquire) {
                Ok(_) => new,
                Err(other) => {
                    // SAFETY: made above, and never published.
                    drop(unsafe { Box::from_raw(new) });
                    other
                }
            };
        }
        // SAFETY: published, and freed only below.
        unsafe { *found }
    });
    // SAFETY: the threads have ended.
    drop(unsafe { Box::from_raw(cell.into_inner()) });
    sum
}

pub fn counter_in_stripes() -> u64 {
    #[repr(align(128))]
    struct Stripe(AtomicU64);
    let stripes: Vec<_> = (0..4).map(|_| Stripe(AtomicU64::new(0))).collect();
    in_threads(4, |own| {
        for n in 0..300 {
            stripes[own as usize].0.fetch_add(n, Relaxed);
            compiler_fence(SeqCst);
        }
    });
    stripes.iter().map(|stripe| stripe.0.load(Relaxed)).sum()
}
