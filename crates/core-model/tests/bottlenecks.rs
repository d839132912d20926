//! Programs with one known bottleneck each: the model must name it.

mod program;

use iced_x86::code_asm::*;
use program::{Program, Random};
use topdown_core_model::cores::{ALL, GOLDEN_COVE, ZEN_5};
use topdown_core_model::{CoreParameters, Counts};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Bottleneck {
    BadSpeculation,
    Frontend,
    Memory,
    Core,
}

/// The category must hold at least half of the slots that are not retiring, on every core.
fn assert_bottleneck(expected: Bottleneck, run: impl Fn(&CoreParameters) -> Counts) {
    for core in ALL {
        assert_bottleneck_of(core, expected, &run(core));
    }
}

fn assert_bottleneck_of(core: &CoreParameters, expected: Bottleneck, counts: &Counts) {
    let slots = counts.slots;
    let waiting = slots.total() - slots.retiring();
    let share = match expected {
        Bottleneck::BadSpeculation => slots.bad_speculation(),
        Bottleneck::Frontend => slots.frontend_bound(),
        Bottleneck::Memory => slots.memory_bound,
        Bottleneck::Core => slots.core_bound,
    };
    assert!(
        share * 2 >= waiting && waiting * 10 >= slots.total(),
        "{}: {expected:?} has {share} of {waiting} waiting slots: {counts:#?}",
        core.name
    );
}

/// Number of repetitions of a loop's body of one or two instructions: all fit into one block.
const BODIES: usize = 20;

/// Writes one body of a loop.
type Body = fn(&mut CodeAssembler);

fn looped(body: impl Fn(&mut CodeAssembler)) -> Program {
    Program::looped(BODIES, body)
}

fn cycles_per_body(core: &CoreParameters, body: impl Fn(&mut CodeAssembler)) -> f64 {
    program::cycles_per_body(core, BODIES, body)
}

#[test]
fn chains_run_at_their_latency() {
    let chains: [(Body, f64); 6] = [
        (|a| a.add(rax, rax).unwrap(), 1.0),
        (|a| a.imul_2(rax, rax).unwrap(), 3.0),
        (|a| a.mulsd(xmm0, xmm0).unwrap(), 4.0),
        (|a| a.addsd(xmm0, xmm0).unwrap(), 2.0),
        (|a| a.lea(rax, rax + rax * 4).unwrap(), 2.0),
        (|a| a.divsd(xmm0, xmm0).unwrap(), 13.0),
    ];
    for (body, latency) in chains {
        let measured = cycles_per_body(&GOLDEN_COVE, body);
        assert!(
            (measured / latency - 1.0).abs() < 0.02,
            "{measured} for {latency}"
        );
    }
}

#[test]
fn eliminated_instructions_run_at_the_width() {
    let bodies: [Body; 4] = [
        |a| a.mov(rax, rbx).unwrap(),
        |a| a.xor(eax, eax).unwrap(),
        |a| a.add(rax, 1).unwrap(),
        |a| a.nop().unwrap(),
    ];
    for body in bodies {
        let measured = cycles_per_body(&GOLDEN_COVE, body);
        assert!((measured - 1.0 / 6.0).abs() < 0.02, "{measured}");
    }
}

#[test]
fn chain_of_additions_is_core_bound() {
    let program = looped(|a| a.add(rax, rax).unwrap());
    assert_bottleneck(Bottleneck::Core, |core| program.repeat(core, 200));
}

#[test]
fn chain_of_multiplications_is_core_bound() {
    let program = looped(|a| a.imul_2(rax, rbx).unwrap());
    assert_bottleneck(Bottleneck::Core, |core| program.repeat(core, 200));
}

#[test]
fn chain_of_float_additions_is_core_bound() {
    let program = looped(|a| a.addsd(xmm0, xmm1).unwrap());
    assert_bottleneck(Bottleneck::Core, |core| program.repeat(core, 200));
}

#[test]
fn chain_of_divisions_is_core_bound() {
    let program = looped(|a| a.div(rbx).unwrap());
    assert_bottleneck(Bottleneck::Core, |core| program.repeat(core, 200));
}

#[test]
fn chain_of_float_divisions_is_core_bound() {
    let program = looped(|a| a.divsd(xmm0, xmm1).unwrap());
    assert_bottleneck(Bottleneck::Core, |core| program.repeat(core, 200));
}

#[test]
fn independent_work_for_one_port_is_core_bound() {
    let program = looped(|a| {
        a.vpclmulqdq(xmm0, xmm4, xmm5, 0).unwrap();
        a.vpclmulqdq(xmm1, xmm4, xmm5, 0).unwrap();
    });
    assert_bottleneck(Bottleneck::Core, |core| program.repeat(core, 200));
}

#[test]
fn independent_additions_mostly_retire() {
    let program = Program::new(|a| {
        let mut top = a.create_label();
        a.set_label(&mut top).unwrap();
        for _ in 0..6 {
            for register in [rax, rbx, rcx, rdx, rsi, rdi] {
                a.lea(register, r8 + r9).unwrap();
            }
        }
        a.jmp(top).unwrap();
    });
    for core in ALL {
        let counts = program.repeat(core, 200);
        let share = counts.slots.retiring() as f64 / counts.slots.total() as f64;
        // Zen 4 has four pipes for six slots.
        let least = if core.name == "zen-4" { 0.66 } else { 0.7 };
        assert!(share > least, "{}: {share}", core.name);
    }
}

/// Measured on a Turin virtual machine: 1.00, 1.06, 1.18 and 1.29 cycles for an addition to each of
/// three to six chains (`ask-chains-4`, `ask-chains-6`).
#[test]
fn parallel_chains_compete_for_ports_on_zen_5() {
    let cycles = [3, 4, 5, 6].map(|chains| {
        let program = Program::new(|a| {
            let mut top = a.create_label();
            a.set_label(&mut top).unwrap();
            for _ in 0..6 {
                for register in [rax, rbx, rcx, rdx, rsi, rdi].into_iter().take(chains) {
                    a.add(register, r8).unwrap();
                }
            }
            a.jmp(top).unwrap();
        });
        let counts = program.repeat(&ZEN_5, 400);
        let additions = counts.events.instructions as f64 * (6 * chains) as f64
            / (6 * chains + 1) as f64
            / chains as f64;
        counts.cycles as f64 / additions
    });
    for (modelled, measured) in cycles.into_iter().zip([1.0, 1.06, 1.18, 1.29]) {
        let ratio = modelled / measured;
        assert!((0.9..1.15).contains(&ratio), "{cycles:?}");
    }
    assert!(cycles[3] > 1.2, "{cycles:?}");
}

/// Cycles for a pair of independent operations, measured on a Turin virtual machine: 1.0 where both
/// are for the same two pipes, 0.67 where they share one of three, 0.5 where they share none.
#[test]
fn vector_operations_have_the_pipes_of_zen_5() {
    const ADD: Body = |a| a.vaddps(xmm1, xmm0, xmm0).unwrap();
    const MULTIPLY: Body = |a| a.vmulps(xmm2, xmm0, xmm0).unwrap();
    const SHUFFLE: Body = |a| a.vpshufb(xmm3, xmm0, xmm0).unwrap();
    let like_add: [Body; 7] = [
        ADD,
        |a| a.vmaxps(xmm4, xmm0, xmm0).unwrap(),
        |a| a.vcmpps(xmm4, xmm0, xmm0, 3).unwrap(),
        |a| a.vucomiss(xmm0, xmm0).unwrap(),
        |a| a.vcvtdq2ps(xmm4, xmm0).unwrap(),
        |a| a.vpslld(xmm4, xmm0, 3).unwrap(),
        |a| a.vpsllvd(xmm4, xmm0, xmm0).unwrap(),
    ];
    let like_multiply: [Body; 6] = [
        MULTIPLY,
        |a| a.vpslld(xmm4, xmm0, xmm0).unwrap(),
        |a| a.vpmullw(xmm4, xmm0, xmm0).unwrap(),
        |a| a.vpmulld(xmm4, xmm0, xmm0).unwrap(),
        |a| a.vpmuludq(xmm4, xmm0, xmm0).unwrap(),
        |a| a.vpsadbw(xmm4, xmm0, xmm0).unwrap(),
    ];
    let like_shuffle: [Body; 6] = [
        SHUFFLE,
        |a| a.vpackuswb(xmm4, xmm0, xmm0).unwrap(),
        |a| a.vpalignr(xmm4, xmm0, xmm0, 4).unwrap(),
        |a| a.vpsrldq(xmm4, xmm0, 4).unwrap(),
        |a| a.vrcpps(xmm4, xmm0).unwrap(),
        |a| a.vgf2p8mulb(xmm4, xmm0, xmm0).unwrap(),
    ];
    let count: [Body; 1] = [|a| a.vpopcntd(xmm4, xmm0).unwrap()];
    // Beside an addition, a multiplication and a shuffle.
    let measured: [(&[Body], [f64; 3]); 4] = [
        (&like_add, [1.0, 0.5, 0.67]),
        (&like_multiply, [0.5, 1.0, 0.67]),
        (&like_shuffle, [0.67, 0.67, 1.0]),
        (&count, [0.67, 0.67, 0.5]),
    ];
    for (group, (operations, measured)) in measured.into_iter().enumerate() {
        for (number, operation) in operations.iter().enumerate() {
            let modelled = [ADD, MULTIPLY, SHUFFLE].map(|with| {
                cycles_per_body(&ZEN_5, |a| {
                    operation(a);
                    with(a);
                })
            });
            let is_near =
                |(modelled, measured): (f64, f64)| (modelled / measured - 1.0).abs() < 0.05;
            assert!(
                modelled.into_iter().zip(measured).all(is_near),
                "operation {number} of group {group}: {modelled:?} for {measured:?}"
            );
        }
    }
}

/// A walk through a random cycle of lines: each load needs the one before.
fn chase(core: &CoreParameters, bytes: u64, steps: usize) -> Counts {
    let program = Program::new(|a| {
        let mut top = a.create_label();
        a.set_label(&mut top).unwrap();
        a.mov(rax, ptr(rax)).unwrap();
        a.jmp(top).unwrap();
    });
    let lines = bytes / 64;
    let mut order: Vec<u64> = (0..lines).collect();
    let mut random = Random(88_172_645_463_325_252);
    for at in (1..order.len()).rev() {
        order.swap(at, random.next() as usize % (at + 1));
    }
    let path: Vec<(usize, u64)> = (0..steps)
        .map(|step| (0, 0x1000_0000 + order[step % order.len()] * 64))
        .collect();
    program.run(core, &path)
}

#[test]
fn pointer_chase_is_memory_bound_at_every_level() {
    for (bytes, steps) in [
        (16 << 10, 4000),
        (512 << 10, 40_000),
        (8 << 20, 400_000),
        (128 << 20, 60_000),
    ] {
        assert_bottleneck(Bottleneck::Memory, |core| chase(core, bytes, steps));
    }
}

#[test]
fn pointer_chase_takes_latency_of_its_level() {
    let per_step = |bytes, steps: usize| {
        chase(&GOLDEN_COVE, bytes, steps).cycles as f64 / (steps as f64 / 2.0)
    };
    let l1 = per_step(16 << 10, 4000);
    assert!((l1 - 5.0).abs() < 0.2, "{l1}");
    let l2 = per_step(256 << 10, 40_000);
    assert!((15.0..17.0).contains(&l2), "{l2}");
    let memory = per_step(256 << 20, 60_000);
    assert!(memory > 280.0 + 36.0, "{memory}");
}

#[test]
fn random_branches_are_bad_speculation() {
    let program = Program::new(|a| {
        let mut top = a.create_label();
        let mut skip = a.create_label();
        a.set_label(&mut top).unwrap();
        // As in most programs, the condition is data.
        a.test(byte_ptr(rdi), 1).unwrap();
        a.je(skip).unwrap();
        a.add(rcx, r8).unwrap();
        a.add(rdx, r8).unwrap();
        a.set_label(&mut skip).unwrap();
        a.add(rsi, r8).unwrap();
        a.jmp(top).unwrap();
    });
    let mut random = Random(1234);
    let mut path = Vec::new();
    for step in 0..20_000 {
        path.push((0, 0x1000_0000 + step % 8192));
        if random.next() & 1 == 0 {
            path.push((1, 0));
        }
        path.push((2, 0));
    }
    for core in ALL {
        let counts = program.run(core, &path);
        let misses = counts.events.mispredicted_branches;
        assert!((4000..6000).contains(&misses), "{misses} of 10000");
        let slots = counts.slots;
        // The rest is the refill of the frontend after the resteer, which is counted there.
        let waiting = slots.total() - slots.retiring();
        assert!(
            slots.bad_speculation() * 2 >= waiting,
            "{}: {counts:#?}",
            core.name
        );
    }
}

#[test]
fn changed_cycles_need_a_new_core_version() {
    let stores = store_loop();
    let path = |count: u64, address: fn(u64) -> u64| -> Vec<(usize, u64)> {
        let at = |step| (0, 0x1000_0000 + address(step));
        (0..count).map(at).collect()
    };
    let stream = path(400_000, |step| step * 64);
    let columns = path(200_000, |step| step % 256 * 1024 + step / 256 % 256 * 4);
    let in_l3 = path(400_000, |step| step * 64 % (4 << 20));
    let cycles = |core: &CoreParameters| {
        let stores = [&stream, &columns, &in_l3].map(|path| stores.run(core, path).cycles);
        (core.name, core.version, stores)
    };
    let golden_cove = [3_155_709, 799_808, 1_199_496];
    assert_eq!(cycles(&GOLDEN_COVE), ("golden-cove", 19, golden_cove));
    let zen_5 = [2_340_184, 796_064, 450_048];
    assert_eq!(cycles(&ZEN_5), ("zen-5", 19, zen_5));
}

/// Cycles for each of many random loads of 4 MiB, each followed by a branch that nothing predicts,
/// over additions to `rcx`. The loads' addresses depend on them or not.
fn cycles_per_guess(core: &CoreParameters, depends: bool) -> f64 {
    const LOADS: usize = 60_000;
    let program = Program::new(|a| {
        let mut top = a.create_label();
        let mut skip = a.create_label();
        a.set_label(&mut top).unwrap();
        let address = if depends { rcx } else { rdi };
        a.test(byte_ptr(address), 1).unwrap();
        a.je(skip).unwrap();
        a.add(rcx, r8).unwrap();
        a.set_label(&mut skip).unwrap();
        a.add(rsi, r8).unwrap();
        a.jmp(top).unwrap();
    });
    let mut random = Random(1234);
    let path: Vec<(usize, u64)> = (0..LOADS)
        .flat_map(|_| {
            let load = (0, 0x1000_0000 + random.next() % (4 << 20));
            let is_added = random.next() & 1 == 0;
            let ways = [Some(load), is_added.then_some((1, 0)), Some((2, 0))];
            ways.into_iter().flatten()
        })
        .collect();
    program.run(core, &path).cycles as f64 / (LOADS / 2) as f64
}

#[test]
fn speculative_loads_begin_early() {
    let mut without = ZEN_5.clone();
    without.prediction.wrong_path_skip_bytes = 0;
    let [with, without] = [&ZEN_5, &without].map(|core| {
        let independent = cycles_per_guess(core, false);
        let dependent = cycles_per_guess(core, true);
        (independent, dependent)
    });
    assert!(with.0 * 3.0 < without.0, "{with:?} {without:?}");
    assert_eq!(with.1, without.1);
}

#[test]
fn random_indirect_jumps_are_bad_speculation() {
    let program = Program::new(|a| {
        let mut top = a.create_label();
        a.set_label(&mut top).unwrap();
        a.jmp(qword_ptr(rdi)).unwrap();
        for _ in 0..8 {
            a.add(rcx, r8).unwrap();
            a.jmp(top).unwrap();
        }
    });
    let mut random = Random(4321);
    let path: Vec<(usize, u64)> = (0..20_000)
        .flat_map(|_| [(0, 0x1000_0000), (1 + (random.next() >> 61) as usize, 0)])
        .collect();
    assert_bottleneck(Bottleneck::BadSpeculation, |core| program.run(core, &path));
}

#[test]
fn large_code_footprint_is_frontend_bound() {
    // More jumps than any branch target buffer holds, each a few lines behind the one before.
    const JUMPS: usize = 40_000;
    let program = Program::new(|a| {
        for _ in 0..JUMPS {
            let mut next = a.create_label();
            a.add(rax, r8).unwrap();
            a.add(rbx, r8).unwrap();
            a.jmp(next).unwrap();
            a.set_label(&mut next).unwrap();
        }
        a.nop().unwrap();
    });
    let path: Vec<(usize, u64)> = (0..4)
        .flat_map(|_| (0..JUMPS).map(|block| (block, 0)))
        .collect();
    assert_bottleneck(Bottleneck::Frontend, |core| program.run(core, &path));
}

/// Cycles of a loop over `program`, whose blocks are executed in this order.
fn cycles_per_turn(core: &CoreParameters, program: &Program, blocks: &[usize]) -> f64 {
    const TURNS: usize = 400;
    let path: Vec<(usize, u64)> = (0..TURNS)
        .flat_map(|_| blocks.iter().map(|&block| (block, 0)))
        .collect();
    program.run(core, &path).cycles as f64 / (TURNS / 2) as f64
}

#[test]
fn call_and_return_take_four_cycles_on_zen_5() {
    // Measured: 33 cycles for eight calls and the loop's own jump, with up to twenty instructions
    // between them.
    for nops in [0, 8, 20] {
        let program = Program::new(|a| {
            let mut top = a.create_label();
            let mut function = a.create_label();
            a.set_label(&mut top).unwrap();
            for _ in 0..8 {
                (0..nops).for_each(|_| a.nop().unwrap());
                a.call(function).unwrap();
            }
            a.jmp(top).unwrap();
            a.set_label(&mut function).unwrap();
            a.add(rax, r9).unwrap();
            a.ret().unwrap();
        });
        let blocks: Vec<usize> = (0..8).flat_map(|call| [call, 9]).chain([8]).collect();
        let cycles = cycles_per_turn(&ZEN_5, &program, &blocks);
        assert!((31.5..34.5).contains(&cycles), "{nops}: {cycles}");
    }
}

/// A loop of one store.
fn store_loop() -> Program {
    Program::new(|a| {
        let mut top = a.create_label();
        a.set_label(&mut top).unwrap();
        a.mov(ptr(rdi), rax).unwrap();
        a.add(rdi, r8).unwrap();
        a.jmp(top).unwrap();
    })
}

#[test]
fn stream_of_stores_is_memory_bound() {
    let path: Vec<(usize, u64)> = (0..400_000)
        .map(|step| (0, 0x1000_0000 + step * 64))
        .collect();
    assert_bottleneck(Bottleneck::Memory, |core| store_loop().run(core, &path));
}

#[test]
fn column_stores_of_matrix_are_memory_bound() {
    let path: Vec<(usize, u64)> = (0..200_000)
        .map(|step| (0, 0x1000_0000 + step % 256 * 1024 + step / 256 % 256 * 4))
        .collect();
    assert_bottleneck(Bottleneck::Memory, |core| store_loop().run(core, &path));
}

#[test]
fn load_stream_and_large_copy_are_memory_bound() {
    let load = Program::new(|a| {
        let mut top = a.create_label();
        a.set_label(&mut top).unwrap();
        a.add(rax, ptr(rdi)).unwrap();
        a.jmp(top).unwrap();
    });
    let copy = Program::new(|a| {
        let mut top = a.create_label();
        a.set_label(&mut top).unwrap();
        a.movaps(xmm0, ptr(rsi)).unwrap();
        a.jmp(top).unwrap();
        a.movaps(ptr(rdi), xmm0).unwrap();
        a.jmp(top).unwrap();
    });
    let loads: Vec<(usize, u64)> = (0..600_000)
        .map(|step| (0, 0x1000_0000 + step * 64))
        .collect();
    let copies: Vec<(usize, u64)> = (0..600_000)
        .flat_map(|step| [(0, 0x1000_0000 + step * 64), (1, 0x8000_0000 + step * 64)])
        .collect();
    assert_bottleneck(Bottleneck::Memory, |core| load.run(core, &loads));
    assert_bottleneck(Bottleneck::Memory, |core| copy.run(core, &copies));
}

#[test]
fn repeated_move_waits_for_steps_or_memory() {
    let program = Program::new(|a| {
        let mut top = a.create_label();
        a.set_label(&mut top).unwrap();
        a.rep().movsb().unwrap();
        a.jmp(top).unwrap();
    });
    let counts = |core: &CoreParameters, bytes, times| {
        let mut model = program.model(core);
        let mut run = || {
            for _ in 0..times {
                program.step_copy(&mut model, 0x1000_0000, 0x8000_0000, bytes);
            }
            model.drain();
            model.counts()
        };
        let before = run();
        run() - before
    };
    for core in ALL {
        // Zen 4 stores no more vectors than it steps.
        let in_the_l1 = match core.name {
            "zen-4" => Bottleneck::Memory,
            _ => Bottleneck::Core,
        };
        let copy = counts(core, 16 << 10, 40);
        assert_eq!(copy.events.l1d_misses, 0, "{}", core.name);
        assert_bottleneck_of(core, in_the_l1, &copy);
        assert_bottleneck_of(core, Bottleneck::Memory, &counts(core, 1 << 20, 4));
    }
}

#[test]
fn missing_stores_count_reads_and_writes() {
    // Twice what the L3 holds, twice: every line comes from memory and goes back to it.
    const LINES: u64 = 1_200_000;
    let path: Vec<(usize, u64)> = (0..LINES)
        .map(|step| (0, 0x1000_0000 + step * 64))
        .collect();
    let events = store_loop().run(&GOLDEN_COVE, &path).events;
    let lines = LINES / 2;
    let near = |count: u64| (lines * 99 / 100..lines * 101 / 100).contains(&count);
    assert!(near(events.l1d_misses), "{events:#?}");
    assert!(near(events.memory_read_bytes / 64), "{events:#?}");
    assert!(near(events.memory_write_bytes / 64), "{events:#?}");
}

#[test]
fn non_temporal_stores_miss_every_cache() {
    let mut random = Random(77);
    let path: Vec<(usize, u64)> = (0..200_000)
        .map(|_| (0, 0x1000_0000 + random.next() % (256 << 20)))
        .collect();
    for core in ALL {
        let events = store_loop().run(core, &path).events;
        for misses in [events.l1d_misses, events.l2_misses, events.l3_misses] {
            assert!(misses > 90_000, "{}: {events:#?}", core.name);
        }
    }
}

#[test]
fn store_is_forwarded_to_load_of_same_address() {
    let program = looped(|a| {
        a.mov(ptr(rdi), rax).unwrap();
        a.mov(rax, ptr(rsi + rbx)).unwrap();
    });
    let counts = program.repeat(&GOLDEN_COVE, 200);
    let per_pair = counts.cycles as f64 / (100.0 * BODIES as f64);
    assert!((4.0..8.0).contains(&per_pair), "{per_pair}");
    assert!(counts.events.machine_clears < 50, "loads learn to wait");
}

#[test]
fn unindexed_load_of_recent_store_is_renamed() {
    let program = looped(|a| {
        a.mov(ptr(rdi), rax).unwrap();
        a.mov(rax, ptr(rsi + 8)).unwrap();
    });
    let counts = program.repeat(&GOLDEN_COVE, 200);
    let per_pair = counts.cycles as f64 / (100.0 * BODIES as f64);
    assert!(per_pair < 1.2, "{per_pair}");
}
