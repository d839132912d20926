//! Makes a listing: functions, source lines and instructions with their slots.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use topdown_explain::listing::{
    EventsPerIteration, ListedFunction, ListedInstruction, ListedLine, ListedSlots, Listing,
    WithoutText,
};
use topdown_run::provenance::Provenance;
use topdown_run::run_file::{BenchmarkId, SourceLine};

use super::by_address::{PlaceSlots, SlotsByAddress};
use super::disassembly::{Disassembled, Syntax, disassemble};
use super::slots::limited;
use super::source_text::SourceTexts;
use super::symbols::{CodePosition, Symbols};

/// Missing text of an instruction below this share of the slots is not reported.
const MIN_SHARE: f64 = 0.001;

/// No instruction of x86 is longer.
const MAX_INSTRUCTION_BYTES: u32 = 15;

/// Makes the listing of a benchmark from its slots by address.
pub fn listing(
    id: &BenchmarkId,
    provenance: &Provenance,
    code: &SlotsByAddress,
    symbols: &mut Symbols,
    syntax: Syntax,
) -> Listing {
    let mut builder = Builder {
        iterations: code.iterations.max(1),
        slots: code.places.values().map(|place| place.level1.sum()).sum(),
        is_sampled: code.sampled.is_some(),
        symbols,
        syntax,
        functions: BTreeMap::new(),
        sources: HashMap::new(),
        without_text: None,
        has_instructions: false,
    };
    for ((module, offset), place) in &code.places {
        builder.add(module, *offset, place);
    }
    builder.finish(id, provenance, code)
}

type FunctionName = (Option<String>, Option<String>);

struct Builder<'a> {
    iterations: u64,
    /// Of all iterations.
    slots: f64,
    is_sampled: bool,
    symbols: &'a mut Symbols,
    syntax: Syntax,
    functions: BTreeMap<FunctionName, ListedFunction>,
    sources: HashMap<String, SourceTexts>,
    without_text: Option<WithoutText>,
    has_instructions: bool,
}

impl Builder<'_> {
    /// Adds what lies at one address: an instruction, or two that execute as one.
    fn add(&mut self, module: &str, offset: u64, place: &PlaceSlots) {
        let per_iteration = |slots: f64| slots / self.iterations as f64;
        let slots = ListedSlots {
            level1: place.level1.map(per_iteration),
            level2: place.level2.map(per_iteration),
            hits: place.hits,
        };
        let events = place.events;
        let events = events.map(|events| EventsPerIteration::new(events, self.iterations));
        let decoded = self.decoded(module, offset, place.bytes);
        self.has_instructions |= !decoded.is_empty();
        let last = decoded.len().saturating_sub(1);
        let begins = decoded.first().map_or(0, |first| first.address);
        for (index, one) in decoded.iter().enumerate() {
            let callee = one.target.and_then(|at| self.symbols.starts_at(module, at));
            let text = match callee {
                Some(callee) => format!("{} <{callee}>", one.text),
                None => one.text.clone(),
            };
            let is_fused = index != last;
            let instruction = ListedInstruction {
                address: one.address,
                text,
                shape: one.shape.clone(),
                is_fused,
                // The last one executes for those before it.
                slots: if is_fused {
                    ListedSlots::default()
                } else {
                    slots
                },
                events: events.filter(|_| !is_fused),
                ..ListedInstruction::default()
            };
            self.add_instruction(module, offset + (one.address - begins), instruction);
        }
        if decoded.is_empty() {
            let instruction = ListedInstruction {
                address: self.symbols.address_of(module, offset).unwrap_or(offset),
                slots,
                events,
                ..ListedInstruction::default()
            };
            self.add_instruction(module, offset, instruction);
        }
    }

    fn decoded(&mut self, module: &str, offset: u64, bytes: u32) -> Vec<Disassembled> {
        let is_one = bytes == 0;
        let bytes = if is_one { MAX_INSTRUCTION_BYTES } else { bytes };
        let Some((address, code)) = self.symbols.x86_code(module, offset, bytes) else {
            return Vec::new();
        };
        let mut decoded = disassemble(&code, address, self.syntax);
        if is_one {
            decoded.truncate(1);
        }
        decoded
    }

    /// Adds an instruction under its function and line.
    fn add_instruction(&mut self, module: &str, offset: u64, mut instruction: ListedInstruction) {
        let CodePosition {
            mut frames,
            path,
            inlined,
        } = self.symbols.position(module, offset);
        instruction.inlined = inlined;
        let innermost = frames.pop();
        let name = innermost.as_ref().and_then(|frame| frame.name.clone());
        let key = (name.as_deref().map(limited), self.symbols.label_of(module));
        let at = innermost.and_then(|frame| frame.line);
        let slots = instruction.slots;
        let text = self.text(module, at.as_ref(), path.as_deref());
        let matters = slots.total() * self.iterations as f64 >= MIN_SHARE * self.slots;
        // Of libraries, sources are not expected.
        if matters && self.symbols.label_of(module).is_none() {
            self.without_text = self.without_text.max(text.as_ref().err().copied());
        }
        let text = text.ok();
        let function = self.functions.entry(key.clone()).or_insert_with(|| {
            let callers = frames.into_iter().filter_map(|frame| frame.name);
            ListedFunction {
                name: key.0,
                module: key.1,
                inlined_into: callers.collect(),
                slots: ListedSlots::default(),
                lines: Vec::new(),
            }
        });
        function.slots.add(&slots);
        let mut lines = function.lines.iter();
        let index = lines.position(|line| line.at == at).unwrap_or_else(|| {
            function.lines.push(ListedLine {
                at,
                text,
                slots: ListedSlots::default(),
                instructions: Vec::new(),
            });
            function.lines.len() - 1
        });
        function.lines[index].slots.add(&slots);
        function.lines[index].instructions.push(instruction);
    }

    fn text(
        &mut self,
        module: &str,
        at: Option<&SourceLine>,
        path: Option<&str>,
    ) -> Result<String, WithoutText> {
        match at.zip(path) {
            Some((at, path)) => {
                let sources = self.sources.entry(module.to_owned());
                let sources = sources.or_insert_with(|| SourceTexts::of_module(Path::new(module)));
                sources.line(path, at.line)
            }
            None => Err(WithoutText::NoDebugInformation),
        }
    }

    fn finish(self, id: &BenchmarkId, provenance: &Provenance, code: &SlotsByAddress) -> Listing {
        let mut functions: Vec<ListedFunction> = self.functions.into_values().collect();
        for function in &mut functions {
            for line in &mut function.lines {
                line.instructions.sort_by_key(|one| one.address);
            }
            let key = |line: &ListedLine| line.slots.total();
            function.lines.sort_by(|a, b| key(b).total_cmp(&key(a)));
        }
        functions.sort_by(|a, b| b.slots.total().total_cmp(&a.slots.total()));
        Listing {
            id: id.clone(),
            provenance: provenance.clone(),
            slots: functions.iter().map(|f| f.slots.total()).sum(),
            sampled: code.sampled.filter(|_| self.is_sampled),
            functions,
            without_text: self.without_text,
            has_instructions: self.has_instructions,
        }
    }
}
