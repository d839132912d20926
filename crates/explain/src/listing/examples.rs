//! Listings for tests.

use std::collections::BTreeMap;

use topdown_gate::scenario::{Planted, modelled};
use topdown_run::instruction::InstructionEvents;
use topdown_run::run_file::SourceLine;

use super::{
    EventsPerIteration, ListedFunction, ListedInstruction, ListedLine, ListedSlots, Listing,
    ListingComparison,
};

/// Instructions by line and text, with their slots.
pub type Code<'a> = &'a [(u32, &'a str, f64)];

/// Returns an instruction at an address, with backend bound slots alone.
pub fn instruction(address: u64, text: &str, slots: f64) -> ListedInstruction {
    let mut listed = ListedSlots::default();
    listed.level1.backend_bound = slots;
    let events = InstructionEvents {
        executions: 100,
        ..InstructionEvents::default()
    };
    ListedInstruction {
        address,
        text: text.to_owned(),
        shape: text.to_owned(),
        slots: listed,
        events: Some(EventsPerIteration::new(events, 1)),
        ..ListedInstruction::default()
    }
}

/// Returns a function of these instructions, in the order of their addresses.
pub fn function(name: &str, code: Code<'_>) -> ListedFunction {
    let mut lines: Vec<ListedLine> = Vec::new();
    for (address, (number, text, slots)) in (0x1000..).step_by(4).zip(code) {
        let at = SourceLine {
            file: "src/lib.rs".to_owned(),
            line: *number,
            in_workspace: true,
        };
        let is_it = |line: &ListedLine| line.at.as_ref() == Some(&at);
        let index = lines.iter().position(is_it).unwrap_or_else(|| {
            lines.push(ListedLine {
                at: Some(at.clone()),
                text: Some(format!("    line_{number}();")),
                slots: ListedSlots::default(),
                called: ListedSlots::default(),
                instructions: Vec::new(),
            });
            lines.len() - 1
        });
        let instruction = instruction(address, text, *slots);
        lines[index].slots.add(&instruction.slots);
        lines[index].instructions.push(instruction);
    }
    lines.sort_by(|a, b| b.slots.total().total_cmp(&a.slots.total()));
    ListedFunction {
        name: Some(name.to_owned()),
        module: None,
        inlined_into: Vec::new(),
        slots: ListedSlots::sum(lines.iter().map(|line| &line.slots)),
        lines,
    }
}

/// Returns the listing of a modelled benchmark.
pub fn listing(functions: Vec<ListedFunction>) -> Listing {
    let benchmark = modelled("parse", Planted::default());
    Listing {
        id: benchmark.id.clone(),
        provenance: benchmark.provenance().clone(),
        slots: functions.iter().map(|f| f.slots.total()).sum(),
        sampled: None,
        functions,
        without_text: None,
        has_instructions: true,
        has_calls: true,
        sources: BTreeMap::new(),
    }
}

/// Returns the comparison of two versions of a function.
pub fn compared(before: Code<'_>, after: Code<'_>) -> ListingComparison {
    let [before, after] = [before, after].map(|code| listing(vec![function("decode", code)]));
    ListingComparison::new(before, after)
}
