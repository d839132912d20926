//! Queue sizes of the schedulers of Zen 5, measured on a Turin virtual machine.
//!
//! Between two chains of square roots lie operations that wait for the first one. While all of them
//! fit into their scheduler, the chains run at the same time, in 121 cycles; with more, the second
//! one begins when the first one ends.

mod program;

use iced_x86::code_asm::*;
use program::Program;
use topdown_core_model::cores::ZEN_5;

/// Square roots of a chain: 126 cycles.
const CHAIN: usize = 6;
/// Between what both chains take together and one after the other.
const TOGETHER_CYCLES: f64 = 210.0;

/// What waits for a vector register, or for a general one in which the end of its chain is.
type Waiting = fn(&mut CodeAssembler, AsmRegisterXmm, AsmRegister64);

/// Returns whether the two chains run together with this many operations that wait for each.
fn fits(waiting: Waiting, count: usize, is_general: bool) -> bool {
    let program = Program::looped(1, |a| {
        for (end, general) in [(xmm0, rax), (xmm15, r8)] {
            for _ in 0..CHAIN {
                a.sqrtsd(end, end).unwrap();
            }
            if is_general {
                a.movq(general, end).unwrap();
            }
            for _ in 0..count {
                waiting(a, end, general);
            }
        }
    });
    let times = 100;
    let counts = program.repeat_all(&ZEN_5, times);
    counts.cycles as f64 / (times as f64 / 2.0) < TOGETHER_CYCLES
}

#[test]
fn waiting_operations_match_measurement() {
    let add: Waiting = |a, end, _| a.vaddsd(xmm1, xmm14, end).unwrap();
    let multiply: Waiting = |a, end, _| a.vmulsd(xmm1, xmm14, end).unwrap();
    let move_to_general: Waiting = |a, end, _| a.movq(rcx, end).unwrap();
    let store: Waiting = |a, end, _| a.movsd_2(qword_ptr(rbx), end).unwrap();
    let compare: Waiting = |a, _, general| a.cmp(r14, general).unwrap();
    let load: Waiting = |a, _, general| a.mov(rcx, ptr(rbx + general)).unwrap();
    let store_address: Waiting = |a, _, general| a.mov(ptr(rbx + general), r14).unwrap();
    let store_data: Waiting = |a, _, general| a.mov(ptr(rbx), general).unwrap();
    // Natively the chains run together with the first number of operations, not with the second.
    let measured = [
        ("add", add, false, 66, 72),
        ("multiply", multiply, false, 66, 72),
        ("move to general", move_to_general, false, 33, 38),
        ("vector store", store, false, 33, 38),
        ("compare", compare, true, 80, 88),
        ("load", load, true, 50, 56),
        ("store to an address", store_address, true, 50, 56),
        ("store of a register", store_data, true, 80, 88),
    ];
    for (name, waiting, is_general, most, too_many) in measured {
        assert!(fits(waiting, most, is_general), "{name}: {most}");
        assert!(!fits(waiting, too_many, is_general), "{name}: {too_many}");
    }
}
