//! Two-line programs that are slower than they look: the model counts what slows them down.

mod program;

use iced_x86::IcedError;
use iced_x86::code_asm::*;
use program::Program;
use topdown_core_model::cores::{GOLDEN_COVE, ZEN_4, ZEN_5};
use topdown_core_model::{CoreParameters, Events};

type Body = fn(&mut CodeAssembler) -> Result<(), IcedError>;

const TIMES: usize = 200;
/// What the operand with the last displacement accesses: 60 bytes after the start of a line.
const ADDRESS: u64 = 0x10_0000 + 60;

/// Returns the events of a loop of this body, after the first half of its executions.
fn events_at(core: &CoreParameters, address: u64, body: Body) -> Events {
    let program = Program::looped(1, |a| body(a).unwrap());
    program.run(core, &vec![(0, address); 2 * TIMES]).events
}

fn events(core: &CoreParameters, body: Body) -> Events {
    events_at(core, ADDRESS, body)
}

const CORES: [&CoreParameters; 3] = [&GOLDEN_COVE, &ZEN_4, &ZEN_5];

#[test]
fn load_of_a_narrower_store_is_blocked() {
    for core in CORES {
        let narrow = events_at(core, 0x10_0000, |a| {
            a.mov(byte_ptr(rdi), al)?;
            a.mov(rbx, qword_ptr(rdi))
        });
        assert_eq!(narrow.blocked_loads, TIMES as u64, "{}", core.name);
        let wide = events_at(core, 0x10_0000, |a| {
            a.mov(qword_ptr(rdi), rax)?;
            a.mov(bl, byte_ptr(rdi))
        });
        assert_eq!(wide.blocked_loads, 0, "{}", core.name);
    }
}

/// On Redwood Cove this takes no time.
#[test]
fn load_4_kib_after_a_store_is_aliased_on_zen_4() {
    let aliased: Body = |a| {
        a.mov(qword_ptr(rdi + 4096), rax)?;
        a.mov(rbx, qword_ptr(rdi))
    };
    let apart: Body = |a| {
        a.mov(qword_ptr(rdi + 4160), rax)?;
        a.mov(rbx, qword_ptr(rdi))
    };
    let loads = |core, body| events_at(core, 0x10_0000, body).aliased_loads;
    assert_eq!(loads(&ZEN_4, aliased), TIMES as u64);
    assert_eq!(loads(&ZEN_4, apart), 0);
    assert_eq!(loads(&GOLDEN_COVE, aliased), 0);
}

#[test]
fn accesses_of_two_lines_are_split() {
    for core in CORES {
        let split = events(core, |a| {
            a.mov(rax, qword_ptr(rdi))?;
            a.mov(qword_ptr(rsi), rbx)
        });
        assert_eq!(split.split_accesses, 2 * TIMES as u64, "{}", core.name);
        assert_eq!(split.page_split_stores, 0, "{}", core.name);
        let whole = events(core, |a| {
            a.mov(eax, dword_ptr(rdi))?;
            a.mov(dword_ptr(rsi), ebx)
        });
        assert_eq!(whole.split_accesses, 0, "{}", core.name);
    }
}

#[test]
fn stores_across_pages_are_counted() {
    let pages = events_at(&GOLDEN_COVE, 0x10_0ffc, |a| a.mov(qword_ptr(rdi), rax));
    assert_eq!(pages.page_split_stores, TIMES as u64);
    assert_eq!(pages.split_accesses, TIMES as u64);
}

#[test]
fn atomic_of_two_lines_is_a_split_lock() {
    for core in CORES {
        let split = events(core, |a| a.lock().add(qword_ptr(rdi), rax));
        assert_eq!(split.split_locks, TIMES as u64, "{}", core.name);
        let whole = events(core, |a| a.lock().add(dword_ptr(rdi), eax));
        assert_eq!(whole.split_locks, 0, "{}", core.name);
    }
}

#[test]
fn legacy_code_after_avx_code_switches_on_golden_cove() {
    let mixed: Body = |a| {
        a.vaddps(ymm0, ymm0, ymm1)?;
        a.addps(xmm2, xmm3)
    };
    let ended: Body = |a| {
        a.vaddps(ymm0, ymm0, ymm1)?;
        a.vzeroupper()?;
        a.addps(xmm2, xmm3)
    };
    let switches = |core, body| events(core, body).sse_avx_switches;
    assert_eq!(switches(&GOLDEN_COVE, mixed), 2 * TIMES as u64);
    assert_eq!(switches(&GOLDEN_COVE, ended), 0);
    assert_eq!(switches(&ZEN_5, mixed), 0);
}
