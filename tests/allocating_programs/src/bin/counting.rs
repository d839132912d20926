//! With an allocator that counts for itself, which is the truth.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

#[path = "../work.rs"]
mod work;

/// Allocations, their bytes, reallocations, theirs, frees, theirs.
type Counts = [u64; 6];

thread_local! {
    static TRUTH: Cell<Counts> = const { Cell::new([0; 6]) };
}

fn count(kind: usize, bytes: usize) {
    let mut counts = TRUTH.get();
    counts[kind] += 1;
    counts[kind + 1] += bytes as u64;
    TRUTH.set(counts);
}

struct Counting;

// SAFETY: forwards everything to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(0, layout.size());
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(0, layout.size());
        // SAFETY: the caller's promise.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        count(2, bytes);
        // SAFETY: the caller's promise.
        unsafe { System.realloc(pointer, layout, bytes) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        count(4, layout.size());
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn main() {
    work::print(|work| {
        let before = TRUTH.get();
        work();
        let after = TRUTH.get();
        let mut counts = after.into_iter().zip(before).map(|(a, b)| a - b);
        print!("truth");
        for name in work::NAMES {
            print!(" {name}={}", counts.next().unwrap());
        }
        println!();
    });
}
