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
use super::paths::CalledByLine;
use super::slots::limited;
use super::source_text::SourceTexts;
use super::symbols::{CodeFrame, CodePosition, Symbols};

/// Missing text of an instruction below this share of the slots is not reported.
const MIN_SHARE: f64 = 0.001;

/// No instruction of x86 is longer.
const MAX_INSTRUCTION_BYTES: u32 = 15;

/// Makes the listing of a benchmark from its slots by address, and from the slots of the code that
/// lines of the workspace call, if that is known.
pub fn listing(
    id: &BenchmarkId,
    provenance: &Provenance,
    code: &SlotsByAddress,
    called: Option<&CalledByLine>,
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
        has_calls: called.is_some(),
    };
    for ((module, offset), place) in &code.places {
        builder.add(module, *offset, place);
    }
    if let Some(called) = called {
        builder.add_called(called);
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
    has_calls: bool,
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
        let label = self.symbols.label_of(module);
        let at = innermost.and_then(|frame| frame.line);
        let slots = instruction.slots;
        let text = self.text(module, at.as_ref(), path.as_deref());
        let matters = slots.total() * self.iterations as f64 >= MIN_SHARE * self.slots;
        // Of libraries, sources are not expected.
        if matters && label.is_none() {
            self.without_text = self.without_text.max(text.as_ref().err().copied());
        }
        if self.has_calls && !at.as_ref().is_some_and(|at| at.in_workspace) {
            self.add_inlined(module, &frames, &label, &slots);
        }
        let text = text.ok();
        let function = self.function((name.as_deref().map(limited), label));
        if function.inlined_into.is_empty() {
            let callers = frames.into_iter().filter_map(|frame| frame.name);
            function.inlined_into = callers.collect();
        }
        function.slots.add(&slots);
        let line = line_of(function, at, || text);
        line.slots.add(&slots);
        line.instructions.push(instruction);
    }

    /// Adds slots of a function outside of the workspace to the line into which it is inlined.
    fn add_inlined(
        &mut self,
        module: &str,
        frames: &[CodeFrame],
        label: &Option<String>,
        slots: &ListedSlots,
    ) {
        let is_own = |frame: &&CodeFrame| frame.line.as_ref().is_some_and(|at| at.in_workspace);
        if let Some(CodeFrame {
            name,
            line: Some(at),
        }) = frames.iter().rfind(is_own)
        {
            let key = (name.as_deref().map(limited), label.clone());
            self.add_call(module, key, at, slots);
        }
    }

    /// Adds the slots of called functions to the lines that call them.
    fn add_called(&mut self, called: &CalledByLine) {
        let module = self.symbols.executable().to_owned();
        let per_iteration = |slots: u64| slots as f64 / called.iterations as f64;
        for ((function, at), counts) in &called.lines {
            let slots = ListedSlots {
                level1: counts.level1_slots.map(per_iteration),
                level2: counts.level2_slots.map(per_iteration),
                hits: 0,
            };
            let key = (function.name.clone(), function.module.clone());
            self.add_call(&module, key, at, &slots);
        }
    }

    fn add_call(&mut self, module: &str, key: FunctionName, at: &SourceLine, slots: &ListedSlots) {
        let path = self.symbols.path_of(at);
        let text = self.text(module, Some(at), Some(&path)).ok();
        let line = line_of(self.function(key), Some(at.clone()), || text);
        line.called.add(slots);
    }

    fn function(&mut self, key: FunctionName) -> &mut ListedFunction {
        let function = self.functions.entry(key.clone());
        function.or_insert_with(|| ListedFunction {
            name: key.0,
            module: key.1,
            inlined_into: Vec::new(),
            slots: ListedSlots::default(),
            lines: Vec::new(),
        })
    }

    fn text(
        &mut self,
        module: &str,
        at: Option<&SourceLine>,
        path: Option<&str>,
    ) -> Result<String, WithoutText> {
        match at.zip(path) {
            Some((at, path)) => self.texts_of(module).line(path, at.line),
            None => Err(WithoutText::NoDebugInformation),
        }
    }

    /// Returns the text of the workspace's files that have lines here.
    fn sources_of(&mut self, functions: &[ListedFunction]) -> BTreeMap<String, Vec<String>> {
        let module = self.symbols.executable().to_owned();
        let lines = functions.iter().flat_map(|function| &function.lines);
        let own = lines.filter_map(|line| line.at.as_ref().filter(|at| at.in_workspace));
        let mut sources = BTreeMap::new();
        for at in own {
            if !sources.contains_key(&at.file) {
                let path = self.symbols.path_of(at);
                let texts = self.texts_of(&module);
                if let Ok(lines) = texts.lines(&path) {
                    sources.insert(at.file.clone(), lines.to_vec());
                }
            }
        }
        sources
    }

    fn texts_of(&mut self, module: &str) -> &mut SourceTexts {
        let texts = self.sources.entry(module.to_owned());
        texts.or_insert_with(|| SourceTexts::of_module(Path::new(module)))
    }

    fn finish(
        mut self,
        id: &BenchmarkId,
        provenance: &Provenance,
        code: &SlotsByAddress,
    ) -> Listing {
        let functions = std::mem::take(&mut self.functions);
        let mut functions: Vec<ListedFunction> = functions.into_values().collect();
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
            sources: self.sources_of(&functions),
            sampled: code.sampled.filter(|_| self.is_sampled),
            functions,
            without_text: self.without_text,
            has_instructions: self.has_instructions,
            has_calls: self.has_calls,
        }
    }
}

/// Returns a line of a function, which is added with its text if it is missing.
fn line_of(
    function: &mut ListedFunction,
    at: Option<SourceLine>,
    text: impl FnOnce() -> Option<String>,
) -> &mut ListedLine {
    let mut lines = function.lines.iter();
    let index = lines.position(|line| line.at == at).unwrap_or_else(|| {
        function.lines.push(ListedLine {
            at,
            text: text(),
            slots: ListedSlots::default(),
            called: ListedSlots::default(),
            instructions: Vec::new(),
        });
        function.lines.len() - 1
    });
    &mut function.lines[index]
}
