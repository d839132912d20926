//! With an allocator in Rust alone, which a compiler may inline anywhere.

use std::alloc::{GlobalAlloc, Layout};
use std::sync::atomic::{AtomicUsize, Ordering};

#[path = "../work.rs"]
mod work;

const BYTES: usize = 1 << 30;

struct Arena {
    start: AtomicUsize,
    used: AtomicUsize,
}

// SAFETY: each allocation is a part of the mapping of its own, and none is given back.
unsafe impl GlobalAlloc for Arena {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if self.start.load(Ordering::Acquire) == 0 {
            // SAFETY: a new mapping.
            let start = unsafe {
                let protection = libc::PROT_READ | libc::PROT_WRITE;
                let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
                libc::mmap(std::ptr::null_mut(), BYTES, protection, flags, -1, 0)
            };
            self.start.store(start as usize, Ordering::Release);
        }
        // Code in C expects what `malloc` gives.
        let align = layout.align().max(16);
        let bytes = layout.size() + align;
        let end = self.start.load(Ordering::Acquire) + self.used.fetch_add(bytes, Ordering::AcqRel);
        end.next_multiple_of(align) as *mut u8
    }

    unsafe fn dealloc(&self, _: *mut u8, _: Layout) {}
}

#[global_allocator]
static ALLOCATOR: Arena = Arena {
    start: AtomicUsize::new(0),
    used: AtomicUsize::new(0),
};

fn main() {
    work::print(|_| {});
}
