//! The identity of instructions, independent of the addresses chosen by linker and loader.

use topdown_tracer::iced_x86::{FlowControl, Instruction, OpKind};
use topdown_tracer::{AccessKind, Address, Block};

/// Returns a hash of a block's instructions without the displacements of direct branches and of
/// RIP-relative operands, which change with other functions. The execution shows where they lead.
pub(super) fn content_of(block: &Block<'_>) -> u64 {
    let instructions = block.instructions.iter();
    instructions.fold(0, |hash, instruction| {
        content_of_instruction(hash, &instruction.decoded)
    })
}

fn content_of_instruction(hash: u64, instruction: &Instruction) -> u64 {
    let is_direct_branch = instruction.op_count() > 0
        && matches!(instruction.op0_kind(), OpKind::NearBranch64)
        && instruction.flow_control() != FlowControl::Next;
    if is_direct_branch {
        // Without its form, which depends on the distance.
        return mix(hash, instruction.mnemonic() as u64);
    }
    let prefixes = u64::from(instruction.has_lock_prefix())
        | u64::from(instruction.has_rep_prefix()) << 1
        | u64::from(instruction.has_repne_prefix()) << 2;
    let mut hash = mix(hash, instruction.code() as u64 | prefixes << 32);
    for operand in 0..instruction.op_count() {
        let kind = instruction.op_kind(operand);
        hash = mix(hash, kind as u64);
        match kind {
            OpKind::Register => hash = mix(hash, instruction.op_register(operand) as u64),
            OpKind::Memory => hash = memory(hash, instruction),
            _ => {
                if let Ok(immediate) = instruction.try_immediate(operand) {
                    hash = mix(hash, immediate);
                }
            }
        }
    }
    mix(hash, instruction.op_mask() as u64)
}

fn memory(hash: u64, instruction: &Instruction) -> u64 {
    let registers = [
        instruction.memory_base(),
        instruction.memory_index(),
        instruction.segment_prefix(),
    ];
    let hash = registers
        .into_iter()
        .fold(hash, |hash, register| mix(hash, register as u64));
    let hash = mix(hash, u64::from(instruction.memory_index_scale()));
    if instruction.is_ip_rel_memory_operand() {
        hash
    } else {
        mix(hash, instruction.memory_displacement64())
    }
}

/// Returns a hash of the addresses that an execution of `block` accesses, except those encoded in
/// the instructions, which the linker chooses.
pub(super) fn data_of(
    hash: u64,
    block: &Block<'_>,
    recorded: &[u64],
    mut model_address: impl FnMut(u64) -> u64,
) -> u64 {
    block.accesses.iter().fold(hash, |hash, access| {
        if matches!(access.address, Address::Fixed(_)) || access.kind == AccessKind::Hint {
            return hash;
        }
        match access.address.first(recorded) {
            Some(address) => mix(hash, model_address(address)),
            None => hash,
        }
    })
}

/// Adds `value` to a hash. Fast, but not collision-resistant against an adversary.
pub(super) fn mix(hash: u64, value: u64) -> u64 {
    (hash.rotate_left(5) ^ value).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

#[cfg(test)]
mod tests {
    use super::*;
    use topdown_tracer::{BlockId, OwnedBlock};

    fn content(bytes: &[u8], ip: u64) -> u64 {
        let block = OwnedBlock::describe(bytes, ip).unwrap();
        content_of(&block.as_block(BlockId(0)))
    }

    #[test]
    fn content_ignores_addresses() {
        // add rax, [rip+…]; mov ecx, 5; call …
        let code = [
            0x48, 0x03, 0x05, 1, 2, 3, 4, 0xb9, 5, 0, 0, 0, 0xe8, 9, 9, 9, 9,
        ];
        let mut elsewhere = code;
        elsewhere[3] = 77;
        elsewhere[13] = 88;
        assert_eq!(content(&code, 0x1000), content(&elsewhere, 0x77_0000));
        let mut other_constant = code;
        other_constant[8] = 6;
        assert_ne!(content(&code, 0x1000), content(&other_constant, 0x1000));
        let mut other_register = code;
        other_register[2] = 0x0d; // add rcx, …
        assert_ne!(content(&code, 0x1000), content(&other_register, 0x1000));
    }

    #[test]
    fn branch_content_ignores_distance_not_condition() {
        let (near, far) = ([0x74, 5], [0x0f, 0x84, 5, 0, 1, 0]);
        assert_eq!(content(&near, 0), content(&far, 0));
        assert_ne!(content(&near, 0), content(&[0x75, 5], 0));
    }

    #[test]
    fn displacements_scales_and_masks_count() {
        let forms: [&[u8]; 5] = [
            &[0x8b, 0x47, 4],          // mov eax, [rdi+4]
            &[0x8b, 0x47, 8],          // mov eax, [rdi+8]
            &[0x8b, 0x04, 0x8f],       // mov eax, [rdi+rcx*4]
            &[0x8b, 0x04, 0xcf],       // mov eax, [rdi+rcx*8]
            &[0x65, 0x8b, 0x04, 0xcf], // the same relative to GS
        ];
        let mut contents: Vec<u64> = forms.iter().map(|bytes| content(bytes, 0)).collect();
        contents.sort_unstable();
        contents.dedup();
        assert_eq!(contents.len(), forms.len());
    }
}
