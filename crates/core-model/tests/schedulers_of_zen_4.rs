//! Integer pipes and queue sizes of Zen 4, and operations that wait for a store, measured on a
//! Genoa virtual machine.

mod program;

use iced_x86::code_asm::*;
use program::Program;
use topdown_core_model::cores::ZEN_4;

/// Times that a pattern is repeated in its loop.
const PATTERNS: usize = 20;

/// Returns the cycles of a pattern of additions: each word has the register that is added to and
/// the one that is added, or `-` for a move.
fn cycles(pattern: &str) -> f64 {
    let register = |name: u8| match name {
        b'a'..=b'f' => [rax, rcx, rdx, r8, r9, r10][usize::from(name - b'a')],
        _ => r12,
    };
    let program = Program::looped(1, |a| {
        for word in pattern.repeat(PATTERNS).split_whitespace() {
            match word.as_bytes() {
                [to, from] => a.add(register(*to), register(*from)).unwrap(),
                _ => a.mov(r13, r12).unwrap(),
            }
        }
    });
    let times = 200;
    let counts = program.repeat_all(&ZEN_4, times);
    counts.cycles as f64 / (times as f64 / 2.0) / PATTERNS as f64
}

#[test]
fn operations_of_a_cycle_rotate_over_ports() {
    let measured = [
        ("as ba ", 1.0),
        ("as ba cb ", 1.47),
        ("as ba cb dc ", 1.05),
        ("as ba cb dc ed ", 2.04),
        ("as ba cb dc ed - ", 2.05),
        ("as ba ca da ea ", 1.98),
        ("as ba ca da ", 1.05),
        ("as ba cs dc ", 1.05),
        ("as ba cs dc - - - - - ", 1.51),
        ("as ba cs dc es ", 1.98),
        ("as ba fb cs dc ed ", 1.66),
        ("as bs cs ds es ", 1.26),
        ("as ba cb ds ed fs ", 1.66),
    ];
    let mut errors = 0.0;
    for (pattern, native) in measured {
        let error = cycles(pattern) / native - 1.0;
        assert!(error.abs() < 0.15, "{pattern}: {error:.3} off {native}");
        errors += error.abs();
    }
    assert!(errors / (measured.len() as f64) < 0.06, "{errors}");
}

/// Square roots of a chain: 126 cycles.
const CHAIN: usize = 6;
/// Between what two chains take together and one after the other.
const TOGETHER_CYCLES: f64 = 210.0;

/// What waits for a vector register, or for a general one in which the end of its chain is.
type Waiting = fn(&mut CodeAssembler, AsmRegisterXmm, AsmRegister64);

/// Returns whether two chains run together with this many operations that wait for each.
fn fits(waiting: Waiting, count: usize) -> bool {
    let program = Program::looped(1, |a| {
        for (end, general) in [(xmm0, rax), (xmm15, r8)] {
            for _ in 0..CHAIN {
                a.sqrtsd(end, end).unwrap();
            }
            a.movq(general, end).unwrap();
            for _ in 0..count {
                waiting(a, end, general);
            }
        }
    });
    let times = 100;
    let counts = program.repeat_all(&ZEN_4, times);
    counts.cycles as f64 / (times as f64 / 2.0) < TOGETHER_CYCLES
}

#[test]
fn waiting_operations_match_measurement() {
    let multiply: Waiting = |a, _, general| a.imul_3(rcx, general, 3).unwrap();
    let rotate: Waiting = |a, _, general| a.rorx(rcx, general, 3_u32).unwrap();
    let compare: Waiting = |a, _, general| a.cmp(r14, general).unwrap();
    let load: Waiting = |a, _, general| a.mov(rcx, ptr(rbx + general)).unwrap();
    let add: Waiting = |a, end, _| a.vaddsd(xmm1, xmm14, end).unwrap();
    let move_to_general: Waiting = |a, end, _| a.movq(rcx, end).unwrap();
    // Natively the chains run together with the first number of operations, not with the second.
    let measured = [
        ("multiply", multiply, 22, 28),
        ("rotate", rotate, 44, 52),
        ("compare", compare, 86, 98),
        ("load", load, 46, 52),
        ("add", add, 58, 68),
        ("move to general", move_to_general, 58, 68),
    ];
    for (name, waiting, most, too_many) in measured {
        assert!(fits(waiting, most), "{name}: {most}");
        assert!(!fits(waiting, too_many), "{name}: {too_many}");
    }
}

#[test]
fn only_moves_take_the_register_of_a_store() {
    let cycles = |body: fn(&mut CodeAssembler)| program::cycles_per_body(&ZEN_4, 8, body);
    // Natively 1.0 and 7.6 cycles.
    let moved = cycles(|a| {
        a.mov(ptr(rbx), rax).unwrap();
        a.mov(rax, ptr(rbx)).unwrap();
    });
    let added = cycles(|a| {
        a.mov(ptr(rbx), rax).unwrap();
        a.mov(rax, r14).unwrap();
        a.add(rax, ptr(rbx)).unwrap();
    });
    assert!(moved < 1.1, "{moved}");
    assert!((6.8..8.4).contains(&added), "{added}");
}

#[test]
fn load_with_low_bits_of_store_takes_longer() {
    let cycles = |distance: i32| {
        program::cycles_per_body(&ZEN_4, 4, |a| {
            a.mov(ptr(rdi), rcx).unwrap();
            a.mov(rbx, ptr(rbx + distance)).unwrap();
        })
    };
    let measured = [
        (512, 3.99),
        (4088, 3.99),
        (4096, 10.87),
        (4100, 10.89),
        (4104, 3.99),
        (65536, 10.92),
    ];
    for (distance, native) in measured {
        let modelled = cycles(distance);
        let error = modelled / native - 1.0;
        assert!(
            error.abs() < 0.03,
            "{distance}: {modelled:.2}, not {native}"
        );
    }
}

/// Multiplies two registers.
type Multiplies = fn(&mut CodeAssembler);

#[test]
fn wide_multiplication_blocks_condition_pipes() {
    let cycles = |multiply: Multiplies, conditions: usize| {
        program::cycles_per_body(&ZEN_4, 5, |a| {
            a.mov(rax, rcx).unwrap();
            multiply(a);
            for register in &[sil, dil, r8b, r9b, r10b, r13b, r14b, bl][..conditions] {
                a.sete(*register).unwrap();
            }
        })
    };
    let wide: Multiplies = |a| a.mul(rcx).unwrap();
    let low: Multiplies = |a| a.imul_2(rax, rcx).unwrap();
    let measured = [
        ("wide", wide, 0, 1.0),
        ("wide", wide, 2, 2.04),
        ("wide", wide, 4, 3.04),
        ("wide", wide, 8, 5.03),
        ("low", low, 0, 1.0),
        ("low", low, 4, 2.04),
        ("low", low, 8, 4.03),
    ];
    for (name, multiply, conditions, native) in measured {
        let modelled = cycles(multiply, conditions);
        let error = modelled / native - 1.0;
        assert!(
            error.abs() < 0.06,
            "{name} {conditions}: {modelled:.2}, not {native}"
        );
    }
}
