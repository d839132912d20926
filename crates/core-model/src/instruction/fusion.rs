//! Neighbours that a core decodes as one operation.

use iced_x86::{Instruction as Decoded, Mnemonic, OpKind};

use super::{Flow, Operation, Rename};
use crate::class::{Class, Timing};
use crate::parameters::Rename as Parameters;

/// Fuses two neighbours of a block, if the core does. `operations` are those of the two and of what
/// follows them, which is fused already. `branch` is how the core executes a conditional jump.
pub(super) fn fuse(
    parameters: &Parameters,
    branch: &Timing,
    [first, second]: [&Decoded; 2],
    operations: &mut [Operation],
) {
    let [operation, next, after @ ..] = operations else {
        return;
    };
    if next.flow == Flow::Conditional {
        fuse_jump(parameters, branch, first, operation, next);
        return;
    }
    // The second fuses with a jump after it rather than with the move before it.
    let is_fused = after.first().is_some_and(|after| after.slots == 0);
    if parameters.fuses_moves && !is_fused {
        fuse_move(first, operation, second, next);
    }
}

/// Fuses a conditional jump with the instruction before it, if the core does.
fn fuse_jump(
    parameters: &Parameters,
    branch: &Timing,
    first: &Decoded,
    operation: &mut Operation,
    jump: &mut Operation,
) {
    use Mnemonic::*;
    let fuses = match first.mnemonic() {
        _ if jump.class != Class::Branch => false,
        Cmp | Test => parameters.fuses_compare_and_branch,
        Add | Sub | And | Inc | Dec => {
            parameters.fuses_arithmetic_and_branch && first.op0_kind() == OpKind::Register
        }
        _ => false,
    };
    // A memory operand with an immediate does not fuse (Intel Optimization Manual, 3.4.2.2).
    let has_immediate =
        first.op_count() == 2 && !matches!(first.op1_kind(), OpKind::Register | OpKind::Memory);
    if !fuses || (operation.memory_count > 0 && has_immediate) {
        return;
    }
    operation.rename = Rename::Execute;
    operation.operations = 0;
    for (port, &row) in operation.ports.iter_mut().zip(branch.operations) {
        *port = match first.mnemonic() {
            Cmp | Test => row,
            _ => parameters.arithmetic_and_branch,
        };
        operation.operations += 1;
    }
    operation.latency = branch.latency;
    operation.chained_latency = branch.latency;
    jump.slots = 0;
    jump.entry_slots = 0;
    jump.operations = 0;
    jump.latency = 0;
    jump.chained_latency = 0;
}

/// Fuses a move between registers with a simple operation on its result, which then reads the
/// source of the move.
fn fuse_move(first: &Decoded, moved: &mut Operation, second: &Decoded, operation: &mut Operation) {
    use Mnemonic::*;
    let is_simple = matches!(
        second.mnemonic(),
        Add | Sub | And | Or | Xor | Inc | Dec | Not | Shl | Shr | Sar
    );
    let destination = first.op0_register();
    let fuses = moved.class == Class::IntMove
        && moved.rename == Rename::Forward
        && is_simple
        && second.op0_kind() == OpKind::Register
        && second.op0_register() == destination
        && (second.op_count() == 1 || second.op1_kind() != OpKind::Memory)
        && second.op1_register() != destination;
    if !fuses {
        return;
    }
    let [from, ..] = moved.sources;
    let [to, ..] = moved.destinations;
    for source in &mut operation.sources {
        if *source == to {
            *source = from;
        }
    }
    operation.ip = moved.ip;
    operation.window = moved.window;
    operation.length += moved.length;
    moved.slots = 0;
    moved.is_absorbed = true;
}

#[cfg(test)]
mod tests {
    use iced_x86::{Decoder, DecoderOptions};

    use super::*;
    use crate::cores::{GOLDEN_COVE, ZEN_4, ZEN_5};
    use crate::instruction::Lowering;
    use crate::parameters::CoreParameters;

    const CMP_RAX_RBX: &[u8] = &[0x48, 0x39, 0xd8];
    const MOV_RAX_RBX: &[u8] = &[0x48, 0x89, 0xd8];
    const AND_RAX_7: &[u8] = &[0x48, 0x83, 0xe0, 7];
    const AND_EAX_7: &[u8] = &[0x83, 0xe0, 7];
    const ADD_RAX_RAX: &[u8] = &[0x48, 0x01, 0xc0];
    const ROL_RAX_7: &[u8] = &[0x48, 0xc1, 0xc0, 7];
    const JE: &[u8] = &[0x74, 0x10];

    /// Returns the slots of each of these instructions.
    fn slots(core: &CoreParameters, code: &[&[u8]]) -> Vec<u8> {
        let block = fused(core, code);
        block.iter().map(|operation| operation.slots).collect()
    }

    /// Lowers these instructions and fuses them.
    fn fused(core: &CoreParameters, code: &[&[u8]]) -> Vec<Operation> {
        let decode = |bytes: &&[u8]| Decoder::with_ip(64, bytes, 0, DecoderOptions::NONE).decode();
        let instructions: Vec<Decoded> = code.iter().map(decode).collect();
        let mut lowering = Lowering::new(core);
        let lower = |instruction| lowering.lower(instruction, &[]);
        let mut block: Vec<Operation> = instructions.iter().map(lower).collect();
        for number in (1..code.len()).rev() {
            let pair = [&instructions[number - 1], &instructions[number]];
            lowering.fuse(pair, &mut block[number - 1..]);
        }
        block
    }

    #[test]
    fn compare_and_jump_share_a_slot() {
        assert_eq!(slots(&GOLDEN_COVE, &[CMP_RAX_RBX, JE]), [1, 0]);
        assert_eq!(slots(&ZEN_5, &[CMP_RAX_RBX, JE]), [1, 0]);
    }

    #[test]
    fn fused_arithmetic_has_its_own_pipes_on_zen_4() {
        let ports = |code: &[&[u8]]| fused(&ZEN_4, code)[0].ports[0];
        let arithmetic = ports(&[AND_RAX_7, JE]);
        assert_eq!(arithmetic, ZEN_4.rename.arithmetic_and_branch);
        assert_ne!(ports(&[CMP_RAX_RBX, JE]), arithmetic);
    }

    #[test]
    fn move_and_jump_do_not_fuse() {
        assert_eq!(slots(&GOLDEN_COVE, &[MOV_RAX_RBX, JE]), [1, 1]);
    }

    #[test]
    fn move_and_dependent_operation_fuse_on_zen_5() {
        let code = [MOV_RAX_RBX, AND_RAX_7];
        assert_eq!(slots(&ZEN_5, &code), [0, 1]);
        assert_eq!(slots(&GOLDEN_COVE, &code), [1, 1]);
    }

    #[test]
    fn operation_fused_with_move_reads_its_source() {
        let code = [MOV_RAX_RBX, AND_RAX_7];
        let block = fused(&ZEN_5, &code);
        assert!(block[0].is_absorbed);
        assert_eq!(block[1].sources, block[0].sources);
        assert_eq!(block[1].destinations[0], block[0].destinations[0]);
        assert_eq!((block[1].ip, block[1].length), (block[0].ip, 7));
    }

    #[test]
    fn move_fuses_only_with_matching_operation() {
        for second in [AND_EAX_7, ADD_RAX_RAX, ROL_RAX_7, CMP_RAX_RBX] {
            assert_eq!(slots(&ZEN_5, &[MOV_RAX_RBX, second]), [1, 1]);
        }
    }

    #[test]
    fn fusion_with_jump_precedes_fusion_with_move() {
        assert_eq!(slots(&ZEN_5, &[MOV_RAX_RBX, AND_RAX_7, JE]), [1, 1, 0]);
    }
}
