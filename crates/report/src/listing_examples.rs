//! Listings for tests.

use topdown_explain::listing::examples::{function, listing};
use topdown_explain::listing::{EventsPerIteration, ListedFunction, ListedSlots, Listing};
use topdown_run::code_samples::Sampled;
use topdown_run::instruction::InstructionEvents;
use topdown_run::provenance::SourceKind;

/// A decoder that looks up a table. With `more`, the same load misses the L1, which costs so many
/// slots, and a division is new.
pub fn decode(more: f64) -> Listing {
    let mut code = vec![
        (41, "mov eax, [rdi+rcx]", 120.0),
        (42, "mov rdx, [rsi+rax*8]", 300.0 + more),
        (42, "add rbx, rdx", 90.0),
        (43, "inc rcx", 30.0),
        (43, "jne 0x1000", 60.0),
        (57, "ret", 0.5),
    ];
    if more > 0.0 {
        code.insert(3, (42, "div r9", 150.0));
    }
    let mut decode = function("codec::decode", &code);
    decode.inlined_into = vec!["codec::Decoder::next".to_owned()];
    give_events(&mut decode, more);
    let copy = function("core::ptr::copy", &[(900, "rep movsb", 80.0)]);
    listing(vec![decode, copy])
}

fn give_events(function: &mut ListedFunction, more: f64) {
    for one in function.lines.iter_mut().flat_map(|l| &mut l.instructions) {
        let misses = if more > 0.0 { 70 } else { 2 };
        let events = match one.text.split(' ').next().unwrap_or_default() {
            "mov" if one.text.contains("*8") => InstructionEvents {
                executions: 100,
                l1d_misses: misses,
                ..InstructionEvents::default()
            },
            "jne" => {
                one.slots = ListedSlots {
                    level1: [20.0, 40.0, 0.0, 0.0].into(),
                    ..one.slots
                };
                InstructionEvents {
                    executions: 100,
                    mispredictions: 12,
                    ..InstructionEvents::default()
                }
            }
            _ => InstructionEvents {
                executions: 100,
                operand_cycles: 300,
                ..InstructionEvents::default()
            },
        };
        one.events = Some(EventsPerIteration::new(events, 1));
    }
    for line in &mut function.lines {
        line.slots = ListedSlots::sum(line.instructions.iter().map(|one| &one.slots));
    }
}

/// The same by PMU samples.
pub fn sampled() -> Listing {
    let mut listing = decode(0.0);
    listing.provenance.source = SourceKind::Hardware;
    listing.sampled = Some(Sampled {
        hits: 1234,
        effective_hits: 1200,
        ..Sampled::default()
    });
    let lines = listing.functions.iter_mut().flat_map(|f| &mut f.lines);
    for one in lines.flat_map(|line| &mut line.instructions) {
        one.events = None;
    }
    listing
}
