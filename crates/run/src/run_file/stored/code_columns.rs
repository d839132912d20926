//! Stored slots of a benchmark's samples by code address.

use serde::{Deserialize, Serialize};

use super::columns::Rows;
use super::error::RunFileProblem;
use crate::code::{CodeBlock, CodeCall, CodeCounts, CodeSlots, Trail};
use crate::instruction::InstructionEvents;

/// [`CodeSlots`], with rows of numbers for its largest parts.
#[derive(Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct CodeColumns {
    /// The files that contain the code.
    modules: Vec<String>,
    /// The module, the offset, the length and the content of each block, and the call that led to
    /// it.
    blocks: Vec<(u32, u64, u32, u64, u32)>,
    /// The call of the caller, the module and the offset of each call.
    calls: Vec<(u32, u32, u64)>,
    samples: Vec<Vec<(u32, CodeCounts)>>,
    /// The events of each block of each sample, if each block is an instruction.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    events: Vec<Vec<InstructionEvents>>,
    /// Block indices, and how many instructions of each block were executed.
    first_samples: Vec<(u32, u64)>,
    first_samples_data: u64,
    trail: Trail,
    /// Block indices.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    lock: Vec<u32>,
}

impl CodeColumns {
    #[cfg(test)]
    pub(super) fn from_code(code: &CodeSlots) -> CodeColumns {
        CodeColumns {
            modules: code.modules.clone(),
            blocks: code
                .blocks
                .iter()
                .map(|block| {
                    let CodeBlock {
                        module,
                        offset,
                        bytes,
                        content,
                        call,
                    } = *block;
                    (module, offset, bytes, content, call)
                })
                .collect(),
            calls: code
                .calls
                .iter()
                .map(|call| (call.caller, call.module, call.offset))
                .collect(),
            samples: code.samples.clone(),
            events: code.events.clone(),
            first_samples: code.first_samples.clone(),
            first_samples_data: code.first_samples_data,
            trail: code.trail.clone(),
            lock: code.lock.clone(),
        }
    }

    /// Returns the code for this many samples, checking every index and every count.
    pub(super) fn into_code(self, samples: usize) -> Result<CodeSlots, RunFileProblem> {
        let rows = Rows {
            count: samples,
            what: "samples",
        };
        rows.length("samples", &self.samples)?;
        let below = |field: &str, index: u32, count: usize, what: &str| {
            if (index as usize) < count {
                return Ok(());
            }
            let problem = format!("refers to {what} {index} of {count}");
            Err(RunFileProblem::field(field, problem))
        };
        for (module, _, _, _, call) in &self.blocks {
            below("blocks", *module, self.modules.len(), "module")?;
            below("blocks", *call, self.calls.len() + 1, "call")?;
        }
        for (index, (caller, module, _)) in self.calls.iter().enumerate() {
            below("calls", *module, self.modules.len(), "module")?;
            below("calls", *caller, index + 1, "call")?;
        }
        for (block, counts) in self.samples.iter().flatten() {
            below("samples", *block, self.blocks.len(), "block")?;
            let counts = <[u64; 9]>::from(*counts);
            let row = Rows {
                count: counts.len(),
                what: "counts",
            };
            row.counts("samples", &counts)?;
        }
        if !self.events.is_empty() {
            rows.length("events", &self.events)?;
        }
        for (blocks, events) in self.samples.iter().zip(&self.events) {
            let of_sample = Rows {
                count: blocks.len(),
                what: "blocks",
            };
            of_sample.length("events", events)?;
        }
        let blocks = self.blocks.len();
        for (block, _) in &self.first_samples {
            below("first_samples", *block, blocks, "block")?;
        }
        for block in &self.trail.stretch {
            below("trail.stretch", *block, blocks, "block")?;
        }
        for block in &self.lock {
            below("lock", *block, blocks, "block")?;
        }
        let one = Rows {
            count: 1,
            what: "number",
        };
        for (field, count) in [
            ("trail.blocks", self.trail.blocks),
            ("trail.every_blocks", self.trail.every_blocks),
            ("trail.stretch_from", self.trail.stretch_from),
        ] {
            one.counts(field, &[count])?;
        }
        if !self.trail.every_blocks.is_power_of_two() {
            let problem = "is not a power of two".to_owned();
            return Err(RunFileProblem::field("trail.every_blocks", problem));
        }
        Ok(CodeSlots {
            modules: self.modules,
            blocks: self
                .blocks
                .into_iter()
                .map(|(module, offset, bytes, content, call)| CodeBlock {
                    module,
                    offset,
                    bytes,
                    content,
                    call,
                })
                .collect(),
            calls: self
                .calls
                .into_iter()
                .map(|(caller, module, offset)| CodeCall {
                    caller,
                    module,
                    offset,
                })
                .collect(),
            samples: self.samples,
            events: self.events,
            first_samples: self.first_samples,
            first_samples_data: self.first_samples_data,
            trail: self.trail,
            lock: self.lock,
        })
    }
}
