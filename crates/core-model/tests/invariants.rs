//! Invariants of every program: more of a resource is never slower, and equal runs are equal.

mod program;

use iced_x86::code_asm::*;
use program::{Program, Random};
use topdown_core_model::cores::GOLDEN_COVE;
use topdown_core_model::{CoreParameters, Counts};

/// A mixture of work: loads over 4 MiB, dependent arithmetic, stores, random and regular branches.
fn mixture(core: &CoreParameters) -> Counts {
    let program = Program::new(|a| {
        let mut top = a.create_label();
        let mut skip = a.create_label();
        a.set_label(&mut top).unwrap();
        a.mov(rax, ptr(rdi)).unwrap();
        a.imul_2(rax, rbx).unwrap();
        a.add(rcx, rax).unwrap();
        a.mulsd(xmm0, xmm1).unwrap();
        a.test(rax, rax).unwrap();
        a.je(skip).unwrap();
        a.mov(ptr(rsi), rcx).unwrap();
        a.add(rdx, r8).unwrap();
        a.set_label(&mut skip).unwrap();
        a.lea(rdi, rdi + rdx * 8).unwrap();
        a.addsd(xmm2, xmm0).unwrap();
        a.dec(r9).unwrap();
        a.jne(top).unwrap();
    });
    let mut random = Random(99);
    let mut path = Vec::new();
    for _ in 0..30_000 {
        let address = 0x1000_0000 + random.next() % (4 << 20);
        path.push((0, address));
        if !random.next().is_multiple_of(8) {
            path.push((1, address & !63));
        }
        path.push((2, address));
    }
    program.run(core, &path)
}

fn changed(change: impl FnOnce(&mut CoreParameters)) -> CoreParameters {
    let mut core = GOLDEN_COVE;
    change(&mut core);
    core
}

#[test]
fn same_stream_gives_same_counts() {
    assert_eq!(mixture(&GOLDEN_COVE), mixture(&GOLDEN_COVE));
}

#[test]
fn more_of_a_resource_is_never_slower() {
    let base = mixture(&GOLDEN_COVE).cycles;
    let larger = [
        (
            "reorder buffer",
            changed(|core| core.window.reorder_entries *= 2),
        ),
        ("load queue", changed(|core| core.window.load_entries *= 2)),
        (
            "store queue",
            changed(|core| core.window.store_entries *= 2),
        ),
        (
            "registers",
            changed(|core| core.window.integer_registers *= 2),
        ),
        (
            "schedulers",
            changed(|core| core.window.scheduler_entries = [300; 3]),
        ),
        ("L1", changed(|core| core.memory.l1d.bytes *= 2)),
        ("L2", changed(|core| core.memory.l2.bytes *= 2)),
        ("L3 latency", changed(|core| core.memory.l3.cycles -= 40)),
        (
            "fill buffers",
            changed(|core| core.memory.l1_fill_buffers *= 2),
        ),
        (
            "redirect",
            changed(|core| core.prediction.redirect_cycles -= 4),
        ),
        ("TLB", changed(|core| core.memory.dtlb.entries *= 2)),
    ];
    for (name, core) in larger {
        let cycles = mixture(&core).cycles;
        assert!(
            cycles as f64 <= base as f64 * 1.005,
            "{name}: {cycles} instead of {base}"
        );
    }
}

#[test]
fn less_of_a_resource_is_noticeable() {
    let base = mixture(&GOLDEN_COVE).cycles;
    let smaller = [
        (
            "reorder buffer",
            changed(|core| core.window.reorder_entries = 32),
        ),
        ("width", changed(|core| core.width = 1)),
        ("L2", changed(|core| core.memory.l2.bytes = 128 << 10)),
        (
            "redirect",
            changed(|core| core.prediction.redirect_cycles = 40),
        ),
    ];
    for (name, core) in smaller {
        let cycles = mixture(&core).cycles;
        assert!(
            cycles as f64 > base as f64 * 1.02,
            "{name}: {cycles} against {base}"
        );
    }
}

#[test]
fn blocks_add_up_to_the_whole() {
    let program = Program::new(|a| {
        let mut top = a.create_label();
        a.set_label(&mut top).unwrap();
        a.mov(rax, ptr(rax)).unwrap();
        a.test(rax, rax).unwrap();
        a.jne(top).unwrap();
        a.div(rbx).unwrap();
        a.jmp(top).unwrap();
    });
    let mut model = program.model(&GOLDEN_COVE);
    let mut random = Random(7);
    for _ in 0..5000 {
        let address = random.next() % (64 << 20);
        program.step(&mut model, 0, address);
        if address.is_multiple_of(3) {
            program.step(&mut model, 1, address);
        }
    }
    model.drain();
    let whole = model.counts();
    let mut slots = topdown_core_model::Slots::default();
    let mut events = topdown_core_model::Events::default();
    let mut executions = 0;
    for (_, counts) in model.blocks() {
        slots += counts.slots;
        events += counts.events;
        executions += counts.executions;
    }
    assert_eq!(slots, whole.slots);
    assert_eq!(events, whole.events);
    assert!(executions > 5000);
}

#[test]
fn unknown_form_is_counted() {
    let program = Program::new(|a| a.aaa_free());
    let mut model = program.model(&GOLDEN_COVE);
    program.step(&mut model, 0, 0);
    let events = model.counts().events;
    assert_eq!((events.instructions, events.unknown_instructions), (2, 1));
    assert_eq!(events.coverage_fraction(), 0.5);
}

#[test]
fn program_beyond_capacity_ends_the_trace() {
    use topdown_core_model::{Capacity, Model};
    use topdown_tracer::{BlockId, Consumer, OwnedBlock};
    let mut model = Model::new(
        &GOLDEN_COVE,
        Capacity {
            instructions: 1,
            blocks: 1,
        },
    );
    let block = OwnedBlock::describe(&[0x90, 0x90, 0xc3], 0x1000).unwrap();
    model.translated(&block.as_block(BlockId(0)));
    model.block(&block.as_block(BlockId(0)), &[0]);
    assert!(model.is_full() && !model.keep_tracing());
    assert_eq!(model.counts().events.instructions, 0);
}

trait Unknown {
    fn aaa_free(&mut self);
}

impl Unknown for CodeAssembler {
    /// An instruction no table has, and one that every table has.
    fn aaa_free(&mut self) {
        self.clzero().unwrap();
        self.nop().unwrap();
    }
}
