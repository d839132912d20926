//! Instructions by their bytes, and their expected accesses.

use super::*;
use crate::block::{AccessKind, Address, BlockId};

/// Returns kind, size and address of each access of the single instruction in `bytes`.
fn accesses(bytes: &[u8]) -> Vec<(AccessKind, u32, Address)> {
    let block = OwnedBlock::describe(bytes, 0x1000).unwrap();
    assert_eq!(block.instructions.len(), 1);
    block
        .accesses
        .iter()
        .map(|access| (access.kind, access.size_bytes, access.address))
        .collect()
}

fn recorded(entry: u16, displacement: i64) -> Address {
    Address::Recorded {
        entry,
        displacement,
    }
}

fn effective(bytes: &[u8]) -> Recording {
    let mut decoder = Decoder::with_ip(64, bytes, 0, DecoderOptions::NONE);
    Describer::new()
        .describe(&decoder.decode(), &ThreadFacts::default())
        .unwrap()
        .recordings
        .iter()
        .next()
        .unwrap()
}

#[test]
fn rip_relative_load_has_a_fixed_address() {
    assert_eq!(
        accesses(&[0x48, 0x8b, 0x05, 0x10, 0, 0, 0]), // mov rax, [rip+0x10]
        [(AccessKind::Read, 8, Address::Fixed(0x1017))]
    );
}

#[test]
fn indirect_call_reads_memory_and_writes_stack() {
    assert_eq!(
        accesses(&[0xff, 0x50, 0x08]), // call [rax+8]
        [
            (AccessKind::Read, 8, recorded(0, 8)),
            (AccessKind::Write, 8, recorded(1, -8))
        ]
    );
}

#[test]
fn push_writes_below_the_stack_pointer() {
    // push rax
    assert_eq!(accesses(&[0x50]), [(AccessKind::Write, 8, recorded(0, -8))]);
}

#[test]
fn run_of_pushes_records_stack_pointer_once() {
    // push rbx; push rbp; mov rax, [rsp+8]; sub rsp, 16; mov rcx, [rsp]
    let bytes = [
        0x53, 0x55, 0x48, 0x8b, 0x44, 0x24, 0x08, 0x48, 0x83, 0xec, 0x10, 0x48, 0x8b, 0x0c, 0x24,
    ];
    let block = OwnedBlock::describe(&bytes, 0).unwrap();
    let addresses: Vec<_> = block
        .accesses
        .iter()
        .map(|access| access.address.first(&[0x1000, 0x2000]).unwrap())
        .collect();
    assert_eq!(addresses, [0xff8, 0xff0, 0xff8, 0x2000]);
    assert_eq!(block.recorded_values, 2, "sub makes it another value");
}

#[test]
fn base_loaded_through_itself_is_recorded_again() {
    // mov rax, [rax]; mov rax, [rax]
    let block = OwnedBlock::describe(&[0x48, 0x8b, 0x00, 0x48, 0x8b, 0x00], 0).unwrap();
    assert_eq!(block.recorded_values, 2);
}

#[test]
fn scaled_index_is_recorded_as_the_sum() {
    assert_eq!(
        effective(&[0x48, 0x8b, 0x44, 0x91, 0x08]), // mov rax, [rcx+rdx*4+8]
        Recording::Effective {
            entry: 0,
            base: Register::RCX,
            index: Register::RDX,
            scale: 4,
            displacement: 8,
        }
    );
}

#[test]
fn fs_base_is_part_of_the_address() {
    let mut decoder = Decoder::with_ip(64, &[0x64, 0x48, 0x8b, 0x00], 0, DecoderOptions::NONE);
    let facts = ThreadFacts {
        fs_base: 0x7000_0000_0000,
        ..ThreadFacts::default()
    };
    let description = Describer::new()
        .describe(&decoder.decode(), &facts)
        .unwrap();
    let access = description.accesses.iter().next().unwrap(); // mov rax, fs:[rax]
    assert_eq!(access.address.first(&[0x10]), Some(0x7000_0000_0010));
}

#[test]
fn base_of_several_threads_is_recorded_once() {
    let facts = ThreadFacts {
        several_threads: true,
        fs_base: 0x7000_0000_0000,
        ..ThreadFacts::default()
    };
    let code = [
        0x64, 0x48, 0x8b, 0x04, 0x25, 0x10, 0, 0, 0, // mov rax, fs:[0x10]
        0x64, 0x48, 0x8b, 0x04, 0x25, 0xf8, 0xff, 0xff, 0xff, // mov rax, fs:[-8]
        0x64, 0x48, 0x8b, 0x0b, // mov rcx, fs:[rbx]
        0x64, 0x48, 0x8b, 0x0c, 0xcd, 8, 0, 0, 0, // mov rcx, fs:[rcx*8+8]
        0x64, 0x48, 0x8b, 0x0c, 0xcb, // mov rcx, fs:[rbx+rcx*8]
    ];
    let mut decoder = Decoder::with_ip(64, &code, 0, DecoderOptions::NONE);
    let mut describer = Describer::new();
    let mut next = || describer.describe(&decoder.decode(), &facts);
    let mut access = || next().unwrap().accesses.iter().next().unwrap().address;
    let recorded = |entry, displacement| Address::Recorded {
        entry,
        displacement,
    };
    assert_eq!(access(), recorded(0, 0x10));
    assert_eq!(access(), recorded(0, -8));
    assert_eq!(access(), recorded(1, 0));
    assert_eq!(access(), recorded(2, 8));
    assert_eq!(next().unwrap_err(), Undescribable::AddressForm);
}

#[test]
fn lea_and_long_nops_access_nothing() {
    assert_eq!(accesses(&[0x48, 0x8d, 0x44, 0x91, 0x08]), []); // lea rax, [rcx+rdx*4+8]
    assert_eq!(accesses(&[0x0f, 0x1f, 0x40, 0x00]), []); // nop [rax]
}

#[test]
fn prefetch_is_a_hint() {
    assert_eq!(
        accesses(&[0x0f, 0x18, 0x08]), // prefetcht0 [rax]
        [(AccessKind::Hint, 0, recorded(0, 0))]
    );
}

#[test]
fn repeated_move_has_both_sides_and_a_count() {
    let block = OwnedBlock::describe(&[0xf3, 0x48, 0xa5], 0).unwrap(); // rep movsq
    let block = block.as_block(BlockId(0));
    let instruction = &block.instructions[0];
    let mut kinds: Vec<_> = block
        .accesses_of(instruction)
        .iter()
        .map(|access| (access.kind, access.size_bytes))
        .collect();
    kinds.sort_by_key(|(kind, _)| *kind == AccessKind::Write);
    assert_eq!(kinds, [(AccessKind::Read, 8), (AccessKind::Write, 8)]);
    assert_eq!(block.recorded_values, 3);
    let repeat = instruction.repeat.unwrap();
    assert_eq!(repeat.iterations(&[1, 2, 77]), 77);
}

#[test]
fn repeated_compare_records_the_count_twice() {
    let block = OwnedBlock::describe(&[0xf2, 0xae], 0).unwrap(); // repne scasb
    assert_eq!(block.recorded_values, 3);
    let repeat = block.instructions[0].repeat.unwrap();
    assert_eq!(repeat.iterations(&[0, 9, 4]), 5);
}

#[test]
fn gather_with_mask_register_has_its_elements() {
    // vpgatherdd zmm1{k1}, [rax+zmm2*4]
    let block = OwnedBlock::describe(&[0x62, 0xf2, 0x7d, 0x49, 0x90, 0x0c, 0x90], 0).unwrap();
    assert_eq!(block.accesses.len(), 1);
    assert_eq!(block.accesses[0].size_bytes, 4);
    let Address::Elements(elements) = block.accesses[0].address else {
        panic!("{:?}", block.accesses[0]);
    };
    assert_eq!(elements.count, 16);
    // The base, 64 bytes of indices, the mask.
    assert_eq!(block.recorded_values, 1 + 8 + 1);
}

#[test]
fn gather_with_mask_vector_has_its_elements() {
    // vpgatherdq ymm1, [rax+xmm2*8], ymm3
    let block = OwnedBlock::describe(&[0xc4, 0xe2, 0xe5, 0x90, 0x0c, 0xd0], 0).unwrap();
    let Address::Elements(elements) = block.accesses[0].address else {
        panic!("{:?}", block.accesses[0]);
    };
    assert_eq!(elements.count, 4);
    assert_eq!(block.recorded_values, 1 + 2 + 4);
}

#[test]
fn pop_to_a_stack_slot_reads_and_writes() {
    assert_eq!(accesses(&[0x8f, 0x44, 0x24, 0x10]).len(), 2); // pop [rsp+16]
}

#[test]
fn bit_string_in_memory_is_refused() {
    assert!(OwnedBlock::describe(&[0x0f, 0xab, 0x08], 0).is_none()); // bts [rax], ecx
    assert!(OwnedBlock::describe(&[0x0f, 0xba, 0x28, 5], 0).is_some()); // bts [rax], 5
}

#[test]
fn nested_enter_is_refused() {
    assert!(OwnedBlock::describe(&[0xc8, 0, 0, 0x1f], 0).is_none());
}

#[test]
fn block_ends_with_the_first_branch() {
    let block = OwnedBlock::describe(&[0x90, 0xeb, 0xfd, 0x90], 0x1000).unwrap();
    let block = block.as_block(BlockId(7));
    assert_eq!((block.start_ip(), block.end_ip()), (0x1000, 0x1003));
}
