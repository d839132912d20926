//! AMD Zen 5, as in Turin (server).
//!
//! Sources, by the letters used below:
//!
//! * **O**: Software Optimization Guide for the AMD Zen5 Microarchitecture (58455).
//! * **M**: measured by this project on a Turin virtual machine, as a ratio to a chain of dependent
//!   additions.
//! * **P**: published measurements (uops.info, Chips and Cheese).
//! * **K**: calibrated on single kernels until the modelled cycles matched the measured ones.
//! * **A**: assumed; we know of no public source.

use crate::class::{Class, DelayedPart, Timing};
use crate::parameters::{
    Atomics, Binding, Cache, CoreParameters, DecodedEntries, Frontend, LearntOrder, Memory,
    MemoryPorts, MemoryRenaming, Prediction, Rename, StoreDataWaits, TaggedTable, TargetBuffer,
    Tlb, UopCacheReads, VectorSchedulers, Window,
};
use crate::ports::Ports;

// Six integer pipes, four address pipes, four floating-point pipes and two that store vectors. The
// bits are ordered from the most specialised to the most general. O
const ALU0: Ports = Ports(1 << 0);
const ALU1: Ports = Ports(1 << 1);
const ALU2: Ports = Ports(1 << 2);
const ALU3: Ports = Ports(1 << 3);
const ALU4: Ports = Ports(1 << 4);
const ALU5: Ports = Ports(1 << 5);
const AGU0: Ports = Ports(1 << 6);
const AGU1: Ports = Ports(1 << 7);
const AGU2: Ports = Ports(1 << 8);
const AGU3: Ports = Ports(1 << 9);
const FP0: Ports = Ports(1 << 10);
const FP1: Ports = Ports(1 << 11);
const FP2: Ports = Ports(1 << 12);
const FP3: Ports = Ports(1 << 13);
const STORE0: Ports = Ports(1 << 14);
const STORE1: Ports = Ports(1 << 15);
/// Dividers: issuing to them blocks the divider, not the pipe.
const INTEGER_DIVIDER: Ports = Ports(1 << 16);
const FP_DIVIDER: Ports = Ports(1 << 17);
/// From the integer registers to the vector registers.
const TRANSFER: Ports = Ports(1 << 18);

const ALU: Ports = ALU0.or(ALU1).or(ALU2).or(ALU3).or(ALU4).or(ALU5);
const MULTIPLY: Ports = ALU0.or(ALU1).or(ALU2);
const SHIFT: Ports = ALU1.or(ALU2).or(ALU4);
const LEA: Ports = ALU1.or(ALU2);
const BRANCH: Ports = ALU3.or(ALU4).or(ALU5);
const FP01: Ports = FP0.or(FP1);
const FP23: Ports = FP2.or(FP3);
const FP12: Ports = FP1.or(FP2);
const FP03: Ports = FP0.or(FP3);
const FP: Ports = FP01.or(FP23);
/// Vector stores and transfers between the register files.
const FP_STORE: Ports = STORE0.or(STORE1);

/// AMD Zen 5.
pub const ZEN_5: CoreParameters = CoreParameters {
    name: "zen-5",
    version: 19,
    width: 8,        // O
    retire_width: 8, // O
    // M: 20 loops of chains whose passes overlap as far as they fit, with passes of 9 to 60 steps,
    // are 4 % off with 12 cycles and the schedulers' 7, and 10 % off with neither. A load that
    // waits for a store to be written waits as long.
    retire_cycles: 12,
    issue_delay: 4, // A
    frontend: Frontend {
        uop_cache_lines: 1024,      // O: 64 sets of 16 ways, 6 instructions each
        uop_cache_ways: 16,         // O
        uop_cache_window_bytes: 32, // A: lines end at 64 bytes or 6 instructions
        // M: entries of six instructions, two of a line per cycle, the next two of it two cycles
        // later, as loops of moves show. A block of one or two entries, and one of three that begin
        // in a line, take 3.0 or 4.0 cycles, in one order and in the other. Two blocks of one entry
        // each take 1.06 cycles, three 1.6 or 2.0. K: of what could be read together, a quarter is.
        uop_cache_reads: UopCacheReads::Entries(DecodedEntries {
            instructions: 6, // O, M
            again_cycles: 2,
            idle_used_of_64: 32,
            shared_of_64: 16,
        }),
        decode_width: 4,                 // O: one cluster per thread
        decode_bytes: 32,                // O
        microcode_above_slots: 4,        // A: O says 2, short sequences are faster
        queue_entries: 48,               // A: divided in the same way
        taken_branches_per_cycle: 1,     // A: of the decoders
        predicted_branches_per_cycle: 2, // O, M
        predicted_conditions_per_cycle: 2,
        // M: a call and its return take 4 cycles, with up to 20 instructions between calls
        return_prediction_cycles: 3,
        prediction_ahead_cycles: 8, // A
        indirect_bubbles_delay_prediction: false,
        runahead_lines: 32,     // A
        crowded_branches: None, // A
    },
    prediction: Prediction {
        bimodal_entries: 16 * 1024, // A
        // Histories A. Sizes M: a branch whose random outcomes repeat after 16 Ki executions is
        // learnt; with periods of 24, 32, 48 and 64 Ki it is mispredicted 4, 25, 58 and 70 % as
        // often as one that never repeats. The model: 0, 7, 65 and 90 %.
        tagged_tables: [
            TaggedTable::new(4096, 4),
            TaggedTable::new(4096, 9),
            TaggedTable::new(4096, 19),
            TaggedTable::new(4096, 43),
            TaggedTable::new(4096, 96),
            TaggedTable::new(4096, 240),
        ],
        // K: `btree` 1.03, without 0.89
        ageing_allocations: Some(64 * 1024),
        first_level: None,               // A
        indirect_entries: 4096,          // O: 3072
        indirect_history_branches: 34,   // A: as Golden Cove
        numbers_branches: true,          // A: as Golden Cove
        return_stack_entries: 64,        // O: 52
        predicts_returns_by_path: false, // A
        target_buffers: &[
            TargetBuffer {
                entries: 16 * 1024,
                bubble_cycles: 0,
            },
            TargetBuffer {
                entries: 32 * 1024,
                bubble_cycles: 1,
            },
        ], // O: 16 Ki, then 8 Ki more
        changed_target_cycles: 0,        // A
        return_cycles: 1,                // M: with more instructions between calls
        unknown_target_cycles: 8,        // A
        redirect_cycles: 16,             // K
        // The guide for Zen 4 (57647) gives 11 to 18 cycles for the whole penalty and 13 as the
        // common case; that of Zen 5 was not checked. Resolution alone takes 5 of them, which
        // leaves 6 to 13 for the frontend to refill, 9 or 10 on average. What K finds beyond that
        // passes while the branch reads its registers and the window is cleaned: the wrong path
        // still issues.
        recovery_cycles: 7,
        wrong_path_skip_bytes: 128, // A
        // K: of 224 and 448, on `guess-4m`. What fits of a wrong path was not measured.
        wrong_path_slots: 224,
    },
    rename: Rename {
        eliminates_integer_moves: true,    // O
        eliminates_own_moves: true,        // A
        eliminates_byte_extensions: false, // A
        eliminates_vector_moves: true,     // O
        eliminates_immediate_adds: false,  // M
        fuses_compare_and_branch: true,    // O
        fuses_arithmetic_and_branch: true, // O
        arithmetic_and_branch: BRANCH,
        fuses_moves: true, // M
        memory_renaming: MemoryRenaming::Learnt(ORDER),
        condition_after_logic_cycles: 0,
        read_modify_write_extra_slots: 0, // O: one macro-operation
        restricts_last_slots: true,       // M: docs/engineering/core-model.md
        saves_upper_halves: false,        // A
    },
    window: Window {
        // O: 224, each with up to two macro-operations. M: 448 moves fit between two chains that
        // run at the same time.
        reorder_entries: 448,
        load_entries: 202,      // P
        store_entries: 104,     // O, M
        integer_registers: 202, // M; O: 240 with the architectural ones
        vector_registers: 326,  // M; O: 384 with them
        // M: of operations that wait for one result, this many fit before what does not wait for it
        // is held up, too. O: 88 and 56.
        scheduler_entries: [84, 52, 0],
        scheduler_release_cycles: 7, // M: see `retire_cycles`
        integer_scheduler: 0,
        // M, in the same way; O: 96 before three schedulers of 38.
        vector_schedulers: VectorSchedulers::Queued {
            queue_entries: 96,
            transfer_cycles: 4, // M: of vector moves, which wait for nothing, 72 fit
            arithmetic_entries: 70,
            store_entries: 35,
        },
        load_scheduler: 1,
        store_scheduler: 1,
        // M: 83 stores of a register that is not ready fit, and 53 to an address that is not.
        store_data_waits: StoreDataWaits::WithOperations,
        store_commit_width: 2, // O
        store_commit_lines: 2, // A
        // M: stores to 512 KiB, one to each line in random order, take 1.7 cycles each: they fetch
        // their lines at the same time. All that fit.
        store_fetch_ahead: 32,
    },
    ports: MemoryPorts {
        load: AGU0.or(AGU1).or(AGU2).or(AGU3), // O
        load_vector: AGU0.or(AGU1),            // O, M
        load_512: AGU0.or(AGU1),               // O: two of 64 bytes
        store_address: AGU2.or(AGU3),          // O: two stores per cycle
        store_data: ALU,                       // M: 24 additions and 12 stores take 6.4 cycles
        store_data_vector: STORE0.or(STORE1),
        store_data_512: STORE0, // O: one of 64 bytes
        string_step: STORE0,    // M: `memcpy-16k`
        string_step_bytes: 32,  // M
        string_step_slots: 2,
        short_string_bytes: 0,
        long_string_slots: 0,
        binding: Binding::None,
        lost_at_512: Ports::NONE, // O: full width on servers
        // M, K: 8 additions to each of 4, 6, 8 and 11 registers take 8.7, 10.4, 12.4 and 17.1
        // cycles, as many independent ones a sixth of a cycle each. Additions that depend on those
        // of other chains take as long as the same number of chains. A simulation in which an
        // operation whose operand has just become ready takes a free pipe in vain in 20, 35 and
        // 50 % of cases, where three, four and five are busy, was 3.5 % off on 28 such loops; with
        // pipes chosen before, at random or in turn, 4 % and more.
        closed_by_busy: [0, 0, 0, 3, 4, 6, 0],
        // M: a load with five operations on its result takes 0.9 cycles more from the L2 than from
        // the L1, with none 0.1.
        expects_hits: true,
        loads_per_bank: 0,           // A
        repeats_missed_loads: false, // A
    },
    memory: Memory {
        // O
        l1i: Cache {
            bytes: 32 << 10,
            ways: 8,
            cycles: 0,
        },
        // O
        l1d: Cache {
            bytes: 48 << 10,
            ways: 12,
            cycles: 4,
        },
        index_extra_cycles: 1, // M
        // M: from a vector load to the address of the next through `movq` and `and` 10.9 cycles, of
        // which `movq` takes 5: as long as from a general register. O: 7.
        vector_load_extra_cycles: 0,
        vector_store_extra_cycles: 2, // M: 9 from a vector store to a vector load
        sign_extension_extra_cycles: 1, // M
        split_load_extra_operations: 0, // A
        split_load_extra_cycles: 1,   // A
        page_split_store_cycles: 0,   // A
        // O
        l2: Cache {
            bytes: 1 << 20,
            ways: 16,
            cycles: 14,
        },
        // O: 32 MiB, of which a virtual machine among others gets its share; latency K
        l3: Cache {
            bytes: 16 << 20,
            ways: 16,
            cycles: 44,
        },
        memory_cycles: 450,      // K
        transfer_cycles: 94,     // A: as Zen 4
        l2_line_cycles: 1,       // O: 64 bytes per cycle
        l2_write_cycles: 1,      // O: 64 bytes per cycle
        l2_fills_per_request: 4, // A: as Zen 4
        // M: loads of 256 lines, one in 2 or 4, take 1.9 cycles each, and of one in 8 or more 2.9.
        // Stores take 1.6, and 9.1 to 12.5: each brings a line in and another out.
        l2_banks: 8,
        l2_bank_cycles: 4,
        code_line_cycles: 0,           // A
        l3_line_cycles: 2,             // O: 32 bytes per cycle
        memory_line_cycles: 7,         // K
        l1_fill_buffers: 24,           // O
        l2_fill_buffers: 96,           // K
        forward_cycles: 7,             // P
        split_forward_extra_cycles: 0, // A
        // M: after it is written, which is when it retires.
        blocked_forward_cycles: 1,
        atomics: Atomics::HoldLoads,  // A
        aliased_load_extra_cycles: 0, // A
        // O
        dtlb: Tlb {
            entries: 96,
            ways: 12,
        },
        // O
        itlb: Tlb {
            entries: 64,
            ways: 8,
        },
        // O
        stlb: Tlb {
            entries: 4096,
            ways: 16,
        },
        stlb_cycles: 7,         // P
        walk_cycles: 36,        // A
        stream_ahead_lines: 64, // K: `stream-32m` is fed at the bandwidth of memory
        stride_ahead_lines: 8,  // K: `fill-1m`
        stride_of_stores: true, // K: `fill-1m`
    },
    timings: TIMINGS,
};

// A, from the cycles of such a loop: where one of 500 stores, whose addresses are late, is to the
// place of the next load, 20 further loads wait for the stores before them, 39 for two in a row,
// and 45 for three or more. Where the waiting loads are on the loop's own path (measured later),
// mostly all of them wait for good after one of 65,536; with some distances between store and load
// only some 300 do. With that, `sort-10k` would be 1.14 instead of 0.89. A waiting load takes 2
// cycles from the address to its own execution.
// M: a loop stores, loads and adds. It takes a cycle if each load reads the store before it, 8 if
// it was not learnt. After a store elsewhere 5 iterations take 8; after 16 in a row some 145 do.
// With one elsewhere in every 13 or fewer it is never learnt, in every 17 it is. If one of 4096
// loads reads the other of two stores, all take 8; if 128 in a row do, 92 of them. If the distance
// changes because another branch was taken, but the address is written the same way, each load
// takes a cycle. Loads of one byte, of the upper half of a store, or of a vector store always take
// 8.
const ORDER: LearntOrder = LearntOrder {
    cautious_executions: 20,
    cautious_limit: 45,
    doubt_at_first: 5,
    doubt_more: 14,
    doubt_limit: 145,
    doubt_after_another: 92,
    wait_cycles: 2,
    moves_only: false,
};

// One row per class, in the order of `Class`: M if the lab's `measure-table` has it, otherwise P.
const TIMINGS: &[Timing] = &[
    Timing::single(Class::Unknown, &[ALU], 1),
    Timing::at_rename(Class::Nop),
    Timing::at_rename(Class::Prefetch),
    Timing::single(Class::IntMove, &[ALU], 1),
    Timing::single(Class::IntConstant, &[ALU], 1),
    Timing::at_rename(Class::MemoryMove),
    Timing::single(Class::IntAlu, &[ALU], 1),
    Timing::single(Class::IntAdd, &[ALU], 1),
    Timing::single(Class::IntAddImmediate, &[ALU], 1),
    Timing::single(Class::HighByte, &[ALU], 1), // A
    Timing::single(Class::IntSignSplat, &[SHIFT], 1),
    Timing::single(Class::IntShift, &[SHIFT], 1),
    Timing::single(Class::IntShiftByCl, &[SHIFT], 1),
    Timing::single(Class::RotateCarry, &[SHIFT], 1),
    Timing::several(Class::DoubleShift, 4, &[SHIFT; 3], 2),
    Timing::single(Class::AddCarry, &[ALU], 1),
    Timing::single(Class::SetCondition, &[ALU], 1),
    Timing::single(Class::SetConditionTwoFlags, &[ALU], 1),
    Timing::single(Class::CondMove, &[ALU], 1),
    Timing::several(Class::CondMoveTwoFlags, 2, &[ALU, ALU], 1).with_late(DelayedPart::Flags),
    Timing::several(Class::CondMoveSigned, 2, &[ALU, ALU], 1).with_late(DelayedPart::Flags),
    Timing::single(Class::Lea, &[ALU], 1),
    Timing::single(Class::LeaOffset, &[ALU], 1),
    Timing::single(Class::LeaScaled, &[ALU], 1),
    Timing::single(Class::LeaComplex, &[LEA], 1).with_late(DelayedPart::Base),
    Timing::single(Class::LeaComplexScaled, &[LEA], 1).with_late(DelayedPart::Base),
    Timing::single(Class::Multiply, &[MULTIPLY], 3),
    Timing::several(Class::MultiplyWide, 2, &[MULTIPLY, MULTIPLY], 3)
        .with_late(DelayedPart::HighHalf),
    Timing::several(Class::Divide64, 2, &[INTEGER_DIVIDER, ALU], 14).blocking(7),
    Timing::several(Class::Divide32, 2, &[INTEGER_DIVIDER, ALU], 10).blocking(6),
    Timing::single(Class::BitCount, &[ALU], 1),
    Timing::single(Class::BitScan, &[SHIFT], 1),
    Timing::single(Class::BitDeposit, &[MULTIPLY], 3),
    Timing::single(Class::AndNot, &[ALU], 1),
    Timing::single(Class::BitField, &[SHIFT], 1),
    Timing::single(Class::BitExtract, &[SHIFT], 1),
    Timing::single(Class::BitZeroHigh, &[SHIFT], 1),
    Timing::single(Class::BitTest, &[SHIFT], 1),
    Timing::several(Class::BitChange, 2, &[ALU2, ALU], 2),
    Timing::single(Class::ByteSwap, &[ALU], 1),
    Timing::single(Class::ByteSwap64, &[ALU], 1),
    Timing::single(Class::Crc, &[MULTIPLY], 3),
    Timing::several(Class::Exchange, 2, &[], 0),
    Timing::several(Class::ExchangeAdd, 2, &[ALU, ALU], 1),
    Timing::several(Class::CompareExchange, 3, &[ALU, ALU, ALU], 2),
    Timing::several(Class::Atomic, 6, &[ALU, ALU, ALU], 15),
    Timing::single(Class::Branch, &[BRANCH], 1),
    Timing::several(Class::Loop, 2, &[ALU, BRANCH], 1),
    Timing::single(Class::Jump, &[BRANCH], 1),
    Timing::several(Class::Call, 2, &[BRANCH], 1),
    Timing::single(Class::Return, &[BRANCH], 1),
    Timing::at_rename(Class::Push),
    Timing::at_rename(Class::Pop),
    Timing::several(Class::Leave, 2, &[ALU], 1),
    Timing::several(Class::StringStep, 3, &[ALU, ALU], 1),
    Timing::several(Class::StringRepeat, 30, &[ALU; 4], 20),
    Timing::several(Class::Pause, 4, &[ALU], 90),
    Timing::single(Class::LoadFence, &[ALU], 7),
    Timing::several(Class::FullFence, 4, &[ALU], 70),
    Timing::several(Class::StoreFence, 1, &[ALU], 6),
    Timing::several(Class::ReadClock, 20, &[ALU; 6], 40),
    Timing::several(Class::Random, 16, &[ALU; 4], 255),
    Timing::several(Class::CpuId, 100, &[ALU; 4], 100),
    Timing::several(Class::SystemCall, 60, &[ALU; 4], 150),
    Timing::several(Class::Microcode, 40, &[ALU; 8], 40),
    // M: which pipes most of these have, by pairs of independent operations; a test has the pairs.
    Timing::single(Class::VecMove, &[FP], 2),
    Timing::single(Class::VecFromGpr, &[TRANSFER], 4),
    Timing::single(Class::VecToGpr, &[FP_STORE], 5),
    Timing::single(Class::VecLogic, &[FP], 2),
    Timing::single(Class::VecAdd, &[FP], 2),
    Timing::single(Class::VecAddSaturating, &[FP12], 2),
    Timing::single(Class::VecCompare, &[FP], 2),
    Timing::single(Class::VecCompareGreater64, &[FP], 2),
    Timing::single(Class::VecMaskCompare, &[FP12], 5),
    Timing::single(Class::VecShift, &[FP23], 2),
    Timing::single(Class::VecShiftByXmm, &[FP01], 2),
    Timing::single(Class::VecShiftVar, &[FP23], 2),
    Timing::single(Class::VecShuffle, &[FP], 2),
    Timing::single(Class::VecShuffleFloats, &[FP], 2),
    Timing::single(Class::VecShuffleBytes, &[FP12], 2),
    Timing::single(Class::VecAlign, &[FP12], 2),
    Timing::single(Class::VecPack, &[FP12], 2),
    Timing::single(Class::VecShuffleLane, &[FP12], 4),
    Timing::single(Class::VecWidenLane, &[FP12], 2),
    Timing::single(Class::VecWiden, &[FP12], 2),
    Timing::at_rename(Class::VecWidenLoad),
    Timing::single(Class::VecNarrow, &[FP12], 2),
    Timing::single(Class::VecBlend, &[FP], 2),
    Timing::single(Class::VecBlendVar, &[FP01], 2),
    Timing::several(Class::VecMaskMove, 2, &[FP, FP], 2),
    Timing::several(Class::VecCompress, 2, &[FP12, FP12], 5),
    Timing::single(Class::VecMultiply, &[FP01], 3),
    Timing::single(Class::VecMultiply32, &[FP01], 3),
    Timing::single(Class::VecMultiply64, &[FP01], 3),
    Timing::single(Class::VecMoveMask, &[FP_STORE], 5),
    Timing::several(Class::VecInsert, 2, &[FP12, TRANSFER], 5),
    Timing::several(Class::VecExtract, 2, &[FP12, FP_STORE], 6),
    Timing::several(Class::VecTest, 2, &[FP12, FP_STORE], 7),
    Timing::single(Class::VecSumDifferences, &[FP01], 3),
    Timing::several(Class::VecMultiSad, 4, &[FP03; 4], 5),
    Timing::several(Class::VecHorizontal, 4, &[FP12; 4], 4),
    Timing::several(Class::VecHorizontalInt, 4, &[FP12; 4], 4),
    Timing::single(Class::VecPopcnt, &[FP03], 2),
    Timing::single(Class::VecLzcnt, &[FP03], 2),
    Timing::single(Class::VecConflict, &[FP12], 3),
    Timing::several(Class::VecString, 4, &[FP12, FP12, FP12, FP12, FP_STORE], 10),
    Timing::single(Class::VecZeroUpper, &[FP0], 0),
    Timing::several(Class::Gather, 34, &[FP01; 8], 8),
    Timing::several(Class::Scatter, 16, &[FP; 4], 8),
    Timing::single(Class::MaskLogic, &[FP12], 1),
    Timing::single(Class::MaskShift, &[FP12], 1),
    Timing::several(Class::MaskTest, 2, &[FP12, FP_STORE], 7),
    Timing::single(Class::MaskMove, &[FP], 1),
    Timing::single(Class::MaskFromGpr, &[FP_STORE], 4),
    Timing::single(Class::MaskToGpr, &[FP_STORE], 5),
    Timing::single(Class::MaskToVec, &[FP12], 3),
    Timing::single(Class::FpAdd, &[FP23], 3).chained(2),
    Timing::single(Class::FpMultiply, &[FP01], 3),
    Timing::single(Class::FpFma, &[FP01], 4),
    Timing::single(Class::FpMinMax, &[FP23], 2),
    Timing::single(Class::FpCompare, &[FP23], 2),
    Timing::several(Class::FpCompareFlags, 2, &[FP23, FP_STORE], 7),
    Timing::single(Class::FpDivide32, &[FP_DIVIDER], 10).blocking(2),
    Timing::single(Class::FpDivide32Wide, &[FP_DIVIDER], 10).blocking(3),
    Timing::single(Class::FpDivide64, &[FP_DIVIDER], 13).blocking(4),
    Timing::single(Class::FpDivide64Wide, &[FP_DIVIDER], 13).blocking(4),
    Timing::single(Class::FpSqrt32, &[FP_DIVIDER], 14).blocking(4),
    Timing::single(Class::FpSqrt32Wide, &[FP_DIVIDER], 14).blocking(4),
    Timing::single(Class::FpSqrt64, &[FP_DIVIDER], 20).blocking(7),
    Timing::single(Class::FpSqrt64Wide, &[FP_DIVIDER], 20).blocking(7),
    Timing::single(Class::FpReciprocal, &[FP12], 4),
    Timing::single(Class::FpRound, &[FP23], 3),
    Timing::single(Class::FpManipulate, &[FP23], 4),
    Timing::single(Class::FpConvert, &[FP23], 3),
    Timing::single(Class::FpConvertWidth, &[FP23], 3),
    Timing::several(Class::FpFromInt, 2, &[TRANSFER, FP23], 7),
    Timing::several(Class::FpToInt, 2, &[FP23, FP_STORE], 6),
    Timing::several(
        Class::FpDot,
        8,
        &[FP01, FP23, FP23, FP12, FP12, FP12, FP12, FP12],
        13,
    ),
    Timing::single(Class::Aes, &[FP01], 4),
    Timing::single(Class::AesKey, &[FP01], 4),
    Timing::single(Class::AesInverse, &[FP01], 4),
    Timing::several(Class::CarrylessMultiply, 4, &[FP01; 4], 5),
    Timing::single(Class::Galois, &[FP12], 3),
    Timing::single(Class::Sha256Rounds, &[FP0], 4).blocking(2),
    Timing::single(Class::Sha256Message1, &[FP01], 4),
    Timing::several(Class::Sha256Message2, 4, &[FP01; 4], 6),
    Timing::several(Class::Sha1Rounds, 2, &[FP0, FP], 6).blocking(2),
    Timing::single(Class::Sha1Message, &[FP01], 4),
    Timing::several(Class::MxcsrLoad, 2, &[FP, ALU], 7),
    Timing::several(Class::MxcsrStore, 2, &[FP_STORE], 3),
    Timing::single(Class::X87Move, &[FP01], 1),
    Timing::single(Class::X87Add, &[FP23], 6),
    Timing::single(Class::X87Multiply, &[FP01], 6),
    Timing::single(Class::X87Divide, &[FP_DIVIDER], 15).blocking(6),
    Timing::single(Class::X87Compare, &[FP23], 2),
    Timing::single(Class::X87Convert, &[FP23], 7),
    Timing::several(Class::X87Control, 3, &[FP, FP_STORE, ALU], 6),
    Timing::several(Class::X87Transcendental, 60, &[FP; 8], 60),
];
