//! The model runs where the traced program stands still, perhaps inside the allocator: it must not
//! allocate while it consumes.

mod program;

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicU64, Ordering};

use iced_x86::code_asm::*;
use program::Program;
use topdown_core_model::cores::GOLDEN_COVE;
use topdown_core_model::{Capacity, Model, Plan, Sampling};
use topdown_tracer::Mapping;

static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);

struct Counting;

// SAFETY: every call is passed on to the system's allocator unchanged, which keeps the contract.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller keeps the contract of `alloc`, which is the same here.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the pointer came from `alloc` above, thus from the system's allocator.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[test]
fn execution_does_not_allocate() {
    let program = Program::new(|a| {
        let mut top = a.create_label();
        a.set_label(&mut top).unwrap();
        a.mov(rax, ptr(rdi)).unwrap();
        a.vpgatherdd(zmm0.k1(), ptr(rax + zmm1 * 4)).unwrap();
        a.vfmadd231pd(zmm3, zmm4, zmm5).unwrap();
        a.rep().movsb().unwrap();
        a.lock().add(ptr(rsi), rax).unwrap();
        a.fld(qword_ptr(rsi)).unwrap();
        a.vzeroall().unwrap();
        // The most registers of all instructions.
        a.vzeroupper().unwrap();
        a.jne(top).unwrap();
    });
    let mut model = Model::with_mappings(&GOLDEN_COVE, Capacity::default(), Mapping::at);
    let plan = Plan {
        unit: 100,
        lead: 100,
        warming: 100,
        long_period: 1000,
        following: 500,
        units_per_stage: 2,
    };
    let mut sampling = Sampling::new(plan);
    let before = ALLOCATIONS.load(Ordering::Relaxed);
    program.translate(&mut model);
    for address in 0..1000 {
        program.step(&mut model, 0, address);
    }
    model.drain();
    let counts = model.counts();
    sampling.begin(&mut model, None);
    for address in 0..1000 {
        program.step(&mut model, 0, address);
        sampling.advance(&mut model, 9);
    }
    sampling.end(&mut model);
    let estimate = sampling.estimate();
    assert_eq!(ALLOCATIONS.load(Ordering::Relaxed), before);
    assert_eq!(counts.events.instructions, 9000);
    assert!(estimate.is_some_and(|estimate| estimate.units > 4));
}
