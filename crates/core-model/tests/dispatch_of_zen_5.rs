//! Issue slots of instructions on Zen 5, and capacities of its buffers, measured on a Turin virtual
//! machine.

mod program;

use iced_x86::code_asm::*;
use program::Program;
use topdown_core_model::cores::ZEN_5;

/// Writes one of the two kinds of slots of a pattern: something else, or what it is about.
type Slots = fn(&mut CodeAssembler, char);

/// Returns the cycles of a pattern of slots in a loop, without those of the loop itself.
fn cycles(pattern: &str, slots: Slots) -> f64 {
    let cycles = |patterns: usize| {
        let program = Program::looped(1, |a| {
            for kind in pattern.repeat(patterns).chars() {
                slots(a, kind);
            }
        });
        let times = 200;
        program.repeat_all(&ZEN_5, times).cycles as f64 / (times as f64 / 2.0)
    };
    (cycles(72) - cycles(24)) / 48.0
}

fn assert_cycles(measured: &[(&str, f64)], slots: Slots) {
    for &(pattern, native) in measured {
        let modelled = cycles(pattern, slots);
        let error = modelled / native - 1.0;
        assert!(error.abs() < 0.05, "{pattern}: {modelled}, not {native}");
    }
}

/// Writes a move of a vector register for `v`, and five bytes of nothing otherwise.
fn vector_move(a: &mut CodeAssembler, kind: char) {
    match kind {
        'v' => a.vmovaps(xmm1, xmm14).unwrap(),
        _ => a.db(&[0x0f, 0x1f, 0x44, 0x00, 0x08]).unwrap(),
    }
}

/// Writes a load for `m`, and five bytes of nothing otherwise.
fn load(a: &mut CodeAssembler, kind: char) {
    match kind {
        'm' => a.mov(rcx, ptr(rbp + 8)).unwrap(),
        _ => a.db(&[0x0f, 0x1f, 0x44, 0x00, 0x08]).unwrap(),
    }
}

#[test]
fn vector_operations_issue_in_packets() {
    let measured = [
        ("v", 0.167),
        ("vvn", 0.37),
        ("vvvn", 0.51),
        ("vvvvn", 0.67),
        ("vvvvnn", 1.0),
        ("vvvvvnn", 1.01),
        ("vvvvvvnn", 1.0),
        ("vvvvvvvnn", 1.17),
        ("vvvnvvn", 1.33),
        ("vvvvvvvnnn", 1.99),
        ("vvvvnnn", 0.88),
        ("vvvvvvvnnnnnnn", 1.99),
    ];
    assert_cycles(&measured, vector_move);
}

#[test]
fn memory_operations_avoid_last_slot_of_a_cycle() {
    let measured = [
        ("mn", 0.25),
        ("mnn", 0.40),
        ("mnnn", 0.50),
        ("mnnnn", 0.67),
        ("mnnnnn", 0.74),
        ("mnnnnnn", 1.02),
        ("mnnnnnnn", 1.01),
        ("mmnnnn", 0.80),
        ("mmmmnnnnn", 1.17),
    ];
    assert_cycles(&measured, load);
}

/// Writes one step of a chain through `r11`.
type Step = fn(&mut CodeAssembler);

/// Five bytes of nothing, this many times.
fn nothing(a: &mut CodeAssembler, times: usize) {
    a.db(&[0x0f, 0x1f, 0x44, 0x00, 0x08].repeat(times)).unwrap();
}

#[test]
fn chains_overlap_within_buffer_capacity() {
    let additions: Step = |a| {
        a.add(r11, 1).unwrap();
        a.lea(r11, r11 + 1).unwrap();
        a.xor(r11, 1).unwrap();
        a.add(r11, 1).unwrap();
    };
    let loads: Step = |a| {
        a.mov(r11, ptr(rbp + r11 * 8)).unwrap();
        nothing(a, 3);
    };
    let masked_loads: Step = |a| {
        a.mov(r11, ptr(rbp + r11 * 8)).unwrap();
        a.and(r11d, 0).unwrap();
        nothing(a, 3);
    };
    let searches: Step = |a| {
        a.cmp(ptr(rbp + r11 * 8), r9).unwrap();
        a.cmova(r11, rax).unwrap();
        nothing(a, 3);
    };
    // Cycles of chains of 14, 28 and 60 steps, each of which begins anew.
    let measured: [(&str, Step, [f64; 3]); 4] = [
        ("additions", additions, [19.4, 54.9, 169.3]),
        ("loads", loads, [10.9, 34.6, 123.0]),
        ("masked loads", masked_loads, [13.0, 41.8, 146.9]),
        ("searches", searches, [28.9, 87.1, 280.3]),
    ];
    for (name, step, native) in measured {
        for (steps, native) in [14, 28, 60].into_iter().zip(native) {
            let program = Program::looped(1, |a| {
                a.xor(r11d, r11d).unwrap();
                for _ in 0..steps {
                    step(a);
                }
            });
            let times = 400;
            let cycles = program.repeat_all(&ZEN_5, times).cycles as f64 / (times as f64 / 2.0);
            let error = cycles / native - 1.0;
            assert!(
                error.abs() < 0.08,
                "{name}, {steps}: {cycles}, not {native}"
            );
        }
    }
}
