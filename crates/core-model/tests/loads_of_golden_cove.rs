//! Cycles of loads and single instructions on Golden Cove, measured on an Emerald Rapids virtual
//! machine.

mod program;

use iced_x86::code_asm::*;
use program::{Program, cycles_per_body};
use topdown_core_model::cores::GOLDEN_COVE;

/// Twice as much as the largest L1 and an eighth of the L2.
const STREAM_LINES: u64 = (256 << 10) / 64;

/// Returns the cycles per line of a loop that loads from each line of the L2 in turn this many
/// times, with `others` more instructions.
fn stream(loads: usize, others: usize) -> f64 {
    let program = Program::new(|a| {
        let mut top = a.create_label();
        a.set_label(&mut top).unwrap();
        for _ in 0..loads {
            a.mov(rax, ptr(rdx)).unwrap();
        }
        for _ in 0..others {
            a.mov(r12, r13).unwrap();
        }
        a.add(rdx, 64).unwrap();
        a.dec(rsi).unwrap();
        a.jne(top).unwrap();
    });
    let pass = (0..STREAM_LINES).map(|line| (0, 0x100_0000 + line * 64));
    let passes = 4;
    let counts = program.run(&GOLDEN_COVE, &pass.collect::<Vec<_>>().repeat(passes));
    counts.cycles as f64 / (passes as f64 / 2.0 * STREAM_LINES as f64)
}

#[test]
fn loads_of_pending_line_take_a_port_twice() {
    // The fifth to eighth load of a line are repeated less often than in the model.
    let measured = [(2, 0, 1.51), (4, 0, 2.70), (4, 8, 2.71), (8, 0, 4.34)];
    for (loads, others, native) in measured {
        let error = stream(loads, others) / native - 1.0;
        assert!(error.abs() < 0.15, "{loads}, {others}: {error:.3}");
    }
}

#[test]
fn chains_and_ports_match_measurement() {
    type Body = fn(&mut CodeAssembler);
    let measured: [(&str, Body, f64); 20] = [
        ("low half", |a| a.mul(rbx).unwrap(), 3.0),
        (
            "high half",
            |a| {
                a.mul(rbx).unwrap();
                a.mov(rax, rdx).unwrap();
            },
            4.0,
        ),
        ("own move", |a| a.mov(eax, eax).unwrap(), 1.0),
        (
            "bit tests",
            |a| {
                a.bt(rax, 3).unwrap();
                a.bt(rbx, 3).unwrap();
                a.bt(rcx, 3).unwrap();
            },
            3.0,
        ),
        (
            "saturating additions",
            |a| {
                a.paddsb(xmm0, xmm4).unwrap();
                a.paddsb(xmm1, xmm4).unwrap();
                a.paddsb(xmm2, xmm4).unwrap();
            },
            1.5,
        ),
        (
            "byte extensions",
            |a| {
                a.movzx(ecx, al).unwrap();
                a.movzx(eax, cl).unwrap();
            },
            0.34,
        ),
        ("high byte extension", |a| a.movzx(eax, ah).unwrap(), 3.0),
        (
            "remainder",
            |a| {
                a.mov(eax, r9d).unwrap();
                a.xor(edx, edx).unwrap();
                a.div(edi).unwrap();
                a.lea(r9d, ptr(rdx + 999)).unwrap();
            },
            16.0,
        ),
        (
            "quotient",
            |a| {
                a.mov(eax, r9d).unwrap();
                a.xor(edx, edx).unwrap();
                a.div(edi).unwrap();
                a.lea(r9d, ptr(rax + 9999)).unwrap();
            },
            12.0,
        ),
        (
            "conversions from memory",
            |a| {
                a.vcvtps2pd(ymm0, xmmword_ptr(rdx)).unwrap();
                a.vcvtps2pd(ymm1, xmmword_ptr(rdx)).unwrap();
            },
            1.0,
        ),
        (
            "immediate added to memory",
            |a| a.add(dword_ptr(rdx), 3).unwrap(),
            1.0,
        ),
        ("square root", |a| a.sqrtsd(xmm0, xmm0).unwrap(), 18.0),
        ("horizontal", |a| a.haddpd(xmm0, xmm4).unwrap(), 5.0),
        // On Redwood Cove.
        ("narrowing", |a| a.packssdw(xmm0, xmm4).unwrap(), 3.0),
        (
            "shuffles of floats",
            |a| {
                a.vunpcklps(xmm0, xmm4, xmm5).unwrap();
                a.vunpckhps(xmm1, xmm4, xmm5).unwrap();
            },
            2.0,
        ),
        ("comparison", |a| a.pcmpgtq(xmm0, xmm4).unwrap(), 3.0),
        (
            "condition of two flags",
            |a| {
                a.cmp(rax, rdi).unwrap();
                a.seta(al).unwrap();
                a.movzx(eax, al).unwrap();
            },
            4.0,
        ),
        (
            "scaled index",
            |a| a.lea(rax, ptr(rax + rdi * 4 + 8)).unwrap(),
            2.0,
        ),
        (
            "loads of one bank",
            |a| {
                a.mov(rax, ptr(rdx)).unwrap();
                a.mov(rbx, ptr(rdx)).unwrap();
                a.mov(rcx, ptr(rdx)).unwrap();
            },
            1.5,
        ),
        (
            "word of a store",
            |a| {
                a.mov(ptr(rdx), eax).unwrap();
                a.movzx(eax, word_ptr(rdx)).unwrap();
            },
            5.0,
        ),
    ];
    for (name, body, native) in measured {
        let modelled = cycles_per_body(&GOLDEN_COVE, 12, body);
        let ratio = modelled / native;
        assert!((0.95..1.05).contains(&ratio), "{name}: {modelled}");
    }
}
