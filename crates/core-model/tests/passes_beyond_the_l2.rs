//! Cycles per line in loops over more than the L2, measured on Genoa (Zen 4, 1 MiB of L2).

mod program;

use iced_x86::code_asm::*;
use program::Program;
use topdown_core_model::cores::ZEN_4;

/// Returns the cycles per line of a loop that loads from each line in turn.
fn cycles_per_line(kib: u64) -> f64 {
    let program = Program::new(|a| {
        let mut top = a.create_label();
        a.set_label(&mut top).unwrap();
        a.mov(rax, ptr(rdx)).unwrap();
        a.add(rdx, 64).unwrap();
        a.dec(rsi).unwrap();
        a.jne(top).unwrap();
    });
    let lines = kib * 1024 / 64;
    let pass: Vec<_> = (0..lines).map(|line| (0, 0x100_0000 + line * 64)).collect();
    // The first pass comes from memory, and the second evicts what it does.
    let passes = 6;
    let counts = program.run(&ZEN_4, &pass.repeat(passes));
    counts.cycles as f64 / (passes as f64 / 2.0 * lines as f64)
}

#[test]
fn l2_fills_delay_evictions() {
    let measured = [
        (256, 2.00),
        (512, 2.00),
        (768, 2.15),
        (1024, 2.35),
        (1280, 2.42),
        (1536, 2.42),
        (2048, 2.39),
    ];
    for (kib, native) in measured {
        let modelled = cycles_per_line(kib);
        let error = modelled / native - 1.0;
        println!("{kib} KiB: {modelled:.2}, natively {native:.2}");
        assert!(error.abs() < 0.07, "{kib} KiB: {error:.3}");
    }
}
