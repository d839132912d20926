//! The engine never calls the allocator: the traced thread may stand in the middle of it.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

#[path = "support/programs/mod.rs"]
mod programs;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use programs::PROGRAMS;
use topdown_tracer::{Block, Config, Consumer, Tracer};

thread_local! {
    /// The lowest and highest address of this thread's own stack while it is traced.
    static OWN_STACK: Cell<(usize, usize)> = const { Cell::new((0, usize::MAX)) };
}

/// Aborts when it is called on another stack than the thread's own: on the engine's.
struct Watched;

impl Watched {
    fn check() {
        let local = 0_u8;
        let here = &raw const local as usize;
        let (lowest, highest) = OWN_STACK.get();
        if here < lowest || here > highest {
            // SAFETY: writes a constant; then the process ends.
            unsafe {
                let text = b"the allocator was called on the engine's stack\n";
                libc::write(2, text.as_ptr().cast(), text.len());
                libc::abort();
            }
        }
    }
}

// SAFETY: hands everything to the system's allocator.
unsafe impl GlobalAlloc for Watched {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        Watched::check();
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        Watched::check();
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Watched = Watched;

struct Nothing;

impl Consumer for Nothing {
    fn block(&mut self, _block: &Block<'_>, _addresses: &[u64]) {}
}

#[test]
fn programs_never_make_the_engine_allocate() {
    let tracer = Tracer::new(Config::default(), Nothing).unwrap();
    let local = 0_u8;
    let here = &raw const local as usize;
    for (name, program) in PROGRAMS {
        println!("{name}");
        let native = program();
        OWN_STACK.set((here - (1 << 20), here + (1 << 16)));
        let (traced, end) = tracer.trace(program);
        OWN_STACK.set((0, usize::MAX));
        end.unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(traced, native, "{name}");
    }
}
