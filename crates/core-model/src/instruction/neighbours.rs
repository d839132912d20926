//! Extra latency caused by preceding instructions.

use iced_x86::{Instruction, Mnemonic};

use super::Operation;
use super::registers::{CARRY_FLAG, NONE, OTHER_FLAGS, Register};
use crate::class::Class;
use crate::parameters::Rename as Parameters;

/// Number of preceding instructions that matter.
const NEAR: usize = 3;

/// Returns the cycles by which `operation` takes longer after these instructions of its block, the
/// nearest first.
pub(crate) fn extra_cycles<'a>(
    parameters: &Parameters,
    before: impl Iterator<Item = (&'a Instruction, &'a Operation)> + Clone,
    operation: &Operation,
) -> u8 {
    let writer = |register: Register| {
        let mut near = before.clone().take(NEAR);
        near.find(|(_, earlier)| earlier.destinations.contains(&register))
    };
    let sources = operation.sources.into_iter().filter(|&it| it != NONE);
    match operation.class {
        Class::SetCondition
        | Class::SetConditionTwoFlags
        | Class::CondMove
        | Class::CondMoveTwoFlags => {
            let is_late = |flag| writer(flag).is_some_and(|(instruction, _)| is_logic(instruction));
            let mut flags = sources.filter(|source| (CARRY_FLAG..=OTHER_FLAGS).contains(source));
            u8::from(flags.any(is_late)) * parameters.condition_after_logic_cycles
        }
        _ => 0,
    }
}

fn is_logic(instruction: &Instruction) -> bool {
    use Mnemonic::*;
    matches!(instruction.mnemonic(), And | Or | Test | Xor)
}

#[cfg(test)]
mod tests {
    use iced_x86::{Decoder, DecoderOptions};

    use super::*;
    use crate::cores::{GOLDEN_COVE, ZEN_5};
    use crate::instruction::Lowering;
    use crate::parameters::CoreParameters;

    /// Returns the latency of the last of these instructions.
    fn latency(core: &CoreParameters, code: &[&[u8]]) -> u8 {
        let decode = |bytes: &&[u8]| Decoder::with_ip(64, bytes, 0, DecoderOptions::NONE).decode();
        let instructions: Vec<Instruction> = code.iter().map(decode).collect();
        let mut lowering = Lowering::new(core);
        let mut operations: Vec<Operation> = instructions
            .iter()
            .map(|instruction| lowering.lower(instruction, &[]))
            .collect();
        let mut last = operations.pop().unwrap();
        lowering.delay(instructions.iter().zip(&operations).rev(), &mut last);
        last.latency
    }

    const TEST: &[u8] = &[0x48, 0x85, 0xc0]; // test rax, rax
    const COMPARE: &[u8] = &[0x48, 0x39, 0xd8]; // cmp rax, rbx
    const MOVE: &[u8] = &[0x48, 0x89, 0xd8]; // mov rax, rbx
    const CONDITIONAL_MOVE: &[u8] = &[0x48, 0x0f, 0x45, 0xc3]; // cmovne rax, rbx

    #[test]
    fn conditional_move_after_logic_takes_two_cycles() {
        let golden_cove = |code: &[&[u8]]| latency(&GOLDEN_COVE, code);
        assert_eq!(golden_cove(&[TEST, CONDITIONAL_MOVE]), 2);
        assert_eq!(golden_cove(&[TEST, MOVE, MOVE, CONDITIONAL_MOVE]), 2);
        assert_eq!(golden_cove(&[TEST, MOVE, MOVE, MOVE, CONDITIONAL_MOVE]), 1);
        assert_eq!(golden_cove(&[TEST, COMPARE, CONDITIONAL_MOVE]), 1);
        assert_eq!(latency(&ZEN_5, &[TEST, CONDITIONAL_MOVE]), 1);
    }
}
