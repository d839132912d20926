//! Latencies that the rows of Zen 5's table do not say, measured on a Turin virtual machine.

mod program;

use iced_x86::code_asm::*;
use program::{Program, Random, cycles_per_body};
use topdown_core_model::cores::ZEN_5;

/// Number of repetitions of a loop's body of at most three instructions: all fit into one block.
const BODIES: usize = 15;

/// Writes one body of a loop.
type Body = fn(&mut CodeAssembler);

fn cycles_of(body: Body) -> f64 {
    cycles_per_body(&ZEN_5, BODIES, body)
}

#[test]
fn operand_origin_decides_latency() {
    let chains: [(&str, Body, f64); 12] = [
        ("base", |a| a.mov(rax, ptr(rax)).unwrap(), 4.0),
        ("index", |a| a.mov(rax, ptr(rbx + rax)).unwrap(), 5.0),
        ("scaled", |a| a.mov(rax, ptr(rbx + rax * 8)).unwrap(), 5.0),
        ("zero", |a| a.movzx(eax, byte_ptr(rax)).unwrap(), 4.0),
        ("sign", |a| a.movsxd(rax, dword_ptr(rax)).unwrap(), 5.0),
        ("lea base", |a| a.lea(rax, rax + rbx + 8).unwrap(), 2.0),
        ("lea index", |a| a.lea(rax, rbx + rax + 8).unwrap(), 1.0),
        ("low half", |a| a.mul(rbx).unwrap(), 3.0),
        (
            "high half",
            |a| {
                a.mul(rbx).unwrap();
                a.mov(rax, rdx).unwrap();
            },
            4.0,
        ),
        (
            "equal",
            |a| {
                a.cmp(rax, rbx).unwrap();
                a.cmove(rax, rcx).unwrap();
            },
            2.0,
        ),
        (
            "above",
            |a| {
                a.cmp(rax, rbx).unwrap();
                a.cmova(rax, rcx).unwrap();
            },
            3.0,
        ),
        (
            "greater",
            |a| {
                a.cmp(rax, rbx).unwrap();
                a.cmovg(rax, rcx).unwrap();
            },
            3.0,
        ),
    ];
    for (name, body, measured) in chains {
        let modelled = cycles_of(body);
        let ratio = modelled / measured;
        assert!((0.97..1.04).contains(&ratio), "{name}: {modelled}");
    }
}

#[test]
fn vector_memory_latency_matches_measurement() {
    let chains: [(&str, Body, f64); 4] = [
        (
            "load",
            |a| {
                a.movsd_2(xmm0, qword_ptr(rax)).unwrap();
                a.movq(rax, xmm0).unwrap();
            },
            9.0,
        ),
        (
            "store and load",
            |a| {
                a.movsd_2(qword_ptr(rbx), xmm0).unwrap();
                a.movsd_2(xmm0, qword_ptr(rbx)).unwrap();
            },
            9.0,
        ),
        (
            "store and general load",
            |a| {
                a.movsd_2(qword_ptr(rbx), xmm0).unwrap();
                a.mov(rax, ptr(rbx)).unwrap();
                a.movq(xmm0, rax).unwrap();
            },
            12.9,
        ),
        (
            "general store and load",
            |a| {
                a.mov(ptr(rbx), rax).unwrap();
                a.movsd_2(xmm0, qword_ptr(rbx)).unwrap();
                a.movq(rax, xmm0).unwrap();
            },
            11.9,
        ),
    ];
    for (name, body, measured) in chains {
        let modelled = cycles_of(body);
        let ratio = modelled / measured;
        assert!((0.97..1.04).contains(&ratio), "{name}: {modelled}");
    }
}

/// 12.8 cycles if a vector register is stored, 1 if a general one is.
#[test]
fn load_takes_no_register_of_vector_store() {
    let vector = cycles_of(|a| {
        a.movq(xmm0, rax).unwrap();
        a.movups(ptr(rbx), xmm0).unwrap();
        a.mov(rax, ptr(rbx)).unwrap();
    });
    assert!((10.0..14.0).contains(&vector), "{vector}");
    let general = cycles_of(|a| {
        a.mov(ptr(rbx), rax).unwrap();
        a.mov(rax, ptr(rbx)).unwrap();
    });
    assert!(general < 1.5, "{general}");
}

/// A load with five operations on its result took 0.9 cycles more if five of six missed the L1:
/// each of these operations executes twice.
#[test]
fn operations_after_missing_load_execute_twice() {
    let program = Program::looped(1, |a| {
        a.mov(rax, ptr(rbx)).unwrap();
        for register in [rcx, rdx, rsi, rdi, r8] {
            a.lea(register, rax + 1).unwrap();
        }
    });
    let cycles_within = |bytes: u64| {
        const LOADS: usize = 40_000;
        let mut random = Random(37);
        let mut address = || 0x10_0000 + random.next() % (bytes / 8) * 8;
        let path: Vec<(usize, u64)> = (0..LOADS).map(|_| (0, address())).collect();
        program.run(&ZEN_5, &path).cycles as f64 / (LOADS / 2) as f64
    };
    let more = cycles_within(256 << 10) - cycles_within(4 << 10);
    assert!((0.4..1.2).contains(&more), "{more}");
}
