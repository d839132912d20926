//! Cycles of atomic operations on Golden Cove, measured on an Emerald Rapids virtual machine. Their
//! lines are in the L1, and no other core wants them.

mod program;

use iced_x86::code_asm::*;
use program::cycles_per_body;
use topdown_core_model::cores::GOLDEN_COVE;

type Body = fn(&mut CodeAssembler);

/// Checks the cycles of each body. Two of them fit a block, but for the longest.
fn check(measured: &[(&str, Body, f64)]) {
    let wrong: Vec<String> = measured
        .iter()
        .filter_map(|(name, body, native)| {
            let bodies = if *name == "32" { 1 } else { 2 };
            let modelled = cycles_per_body(&GOLDEN_COVE, bodies, body);
            println!("{name}: {modelled:.1} modelled, {native} measured");
            let is_right = (0.9..1.1).contains(&(modelled / native));
            (!is_right).then(|| format!("{name}: {modelled}, not {native}"))
        })
        .collect();
    assert!(wrong.is_empty(), "{wrong:?}");
}

fn add_atomically(a: &mut CodeAssembler) {
    a.lock().add(ptr(r13), r12).unwrap();
}

fn exchange(a: &mut CodeAssembler) {
    a.xchg(ptr(r13), rax).unwrap();
}

/// From other lines.
fn load(a: &mut CodeAssembler, loads: i32) {
    for number in 0..loads {
        a.mov(rcx, ptr(r13 + 256 + 64 * (number % 16))).unwrap();
    }
}

/// To other lines, or `stride` bytes apart.
fn store(a: &mut CodeAssembler, stores: i32, stride: i32) {
    for number in 0..stores {
        a.mov(ptr(r13 + 256 + stride * (number % 16)), r12).unwrap();
    }
}

fn multiply(a: &mut CodeAssembler, chained: i32) {
    for _ in 0..chained {
        a.imul_2(rdx, rdx).unwrap();
    }
}

#[test]
fn lone_atomics_match_measurement() {
    check(&[
        ("add", add_atomically, 17.95),
        ("chain", |a| a.lock().xadd(ptr(r13), rax).unwrap(), 17.95),
        ("exchange", exchange, 16.96),
        (
            "compare",
            |a| a.lock().cmpxchg(ptr(r13), rbx).unwrap(),
            19.44,
        ),
        (
            "two lines",
            |a| {
                add_atomically(a);
                a.lock().add(ptr(r13 + 64), r12).unwrap();
            },
            33.88,
        ),
    ]);
}

#[test]
fn atomics_among_loads_match_measurement() {
    check(&[
        (
            "1",
            |a| {
                add_atomically(a);
                load(a, 1);
            },
            17.96,
        ),
        (
            "8",
            |a| {
                add_atomically(a);
                load(a, 8);
            },
            18.16,
        ),
        (
            "16",
            |a| {
                add_atomically(a);
                load(a, 16);
            },
            19.34,
        ),
        (
            "32",
            |a| {
                add_atomically(a);
                load(a, 32);
            },
            20.81,
        ),
        (
            "a chain beside it",
            |a| {
                add_atomically(a);
                load(a, 4);
                multiply(a, 12);
            },
            35.87,
        ),
        (
            "exchange",
            |a| {
                exchange(a);
                load(a, 8);
            },
            17.21,
        ),
        (
            "the same address",
            |a| {
                add_atomically(a);
                a.mov(rcx, ptr(r13)).unwrap();
            },
            29.94,
        ),
    ]);
}

#[test]
fn atomics_among_stores_match_measurement() {
    check(&[
        (
            "1",
            |a| {
                add_atomically(a);
                store(a, 1, 64);
            },
            25.34,
        ),
        (
            "4",
            |a| {
                add_atomically(a);
                store(a, 4, 64);
            },
            24.91,
        ),
        (
            "8",
            |a| {
                add_atomically(a);
                store(a, 8, 64);
            },
            25.91,
        ),
        (
            "16",
            |a| {
                add_atomically(a);
                store(a, 16, 64);
            },
            33.89,
        ),
        (
            "32",
            |a| {
                add_atomically(a);
                store(a, 32, 64);
            },
            49.84,
        ),
        (
            "one line",
            |a| {
                add_atomically(a);
                store(a, 8, 8);
            },
            24.92,
        ),
        (
            "exchange",
            |a| {
                store(a, 1, 64);
                exchange(a);
            },
            23.92,
        ),
    ]);
}
