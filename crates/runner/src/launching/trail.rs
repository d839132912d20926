//! The path that a benchmark takes through its code in one launch.

use topdown_run::code::{CodeBlock, CodeSlots, Trail};

/// The path of a benchmark in one launch.
#[derive(Clone, Debug, Default)]
pub struct LaunchTrail {
    /// Hashes of the blocks executed.
    pub trail: Trail,
    /// Names of executables and libraries, to which blocks refer by index.
    pub modules: Vec<String>,
    /// The blocks of the requested interval, in the order of execution.
    pub stretch: Vec<CodeBlock>,
}

impl LaunchTrail {
    /// Takes the trail that a bench process has recorded.
    pub fn new(code: &CodeSlots) -> LaunchTrail {
        let blocks = code.trail.stretch.iter();
        LaunchTrail {
            modules: code.modules.clone(),
            stretch: blocks.map(|&index| code.blocks[index as usize]).collect(),
            trail: code.trail.clone(),
        }
    }

    /// Returns the executable or library that holds `block`.
    pub fn module_of(&self, block: &CodeBlock) -> &str {
        &self.modules[block.module as usize]
    }
}
