//! Where in the code the slots of a benchmark's samples went, on disk.

use serde::{Deserialize, Serialize};

use super::columns::Rows;
use super::error::RunFileProblem;
use crate::code::{CodeBlock, CodeCounts, CodeSlots};

/// [`CodeSlots`], with rows of numbers for what there is most of.
#[derive(Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct CodeColumns {
    /// The files that the code is of.
    modules: Vec<String>,
    /// The module, the offset and the length of each block.
    blocks: Vec<(u32, u64, u32)>,
    samples: Vec<Vec<(u32, CodeCounts)>>,
}

impl CodeColumns {
    #[cfg(test)]
    pub(super) fn from_code(code: &CodeSlots) -> CodeColumns {
        CodeColumns {
            modules: code.modules.clone(),
            blocks: code
                .blocks
                .iter()
                .map(|block| (block.module, block.offset, block.bytes))
                .collect(),
            samples: code.samples.clone(),
        }
    }

    /// The code of so many samples, checked: every index and every count.
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
        for (module, _, _) in &self.blocks {
            below("blocks", *module, self.modules.len(), "module")?;
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
        Ok(CodeSlots {
            modules: self.modules,
            blocks: self
                .blocks
                .into_iter()
                .map(|(module, offset, bytes)| CodeBlock {
                    module,
                    offset,
                    bytes,
                })
                .collect(),
            samples: self.samples,
        })
    }
}
