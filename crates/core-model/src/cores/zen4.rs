//! AMD Zen 4, as in Genoa (server).
//!
//! Sources, by the letters used below:
//!
//! * **O**: Software Optimization Guide for the AMD Zen4 Microarchitecture (57647).
//! * **M**: measured by this project on a Genoa virtual machine, as a ratio to a chain of dependent
//!   additions.
//! * **P**: published measurements (uops.info, Chips and Cheese).
//! * **K**: calibrated on single kernels until the modelled cycles matched the measured ones.
//! * **A**: assumed, mostly as on Zen 5; we know of no public source.

use crate::class::{Class, DelayedPart, Timing};
use crate::parameters::{
    Atomics, Binding, Cache, CoreParameters, FirstLevel, Frontend, LearntOrder, Memory,
    MemoryPorts, MemoryRenaming, Prediction, Rename, StoreDataWaits, TaggedTable, TargetBuffer,
    Tlb, UopCacheReads, VectorSchedulers, Window,
};
use crate::ports::Ports;

// Four integer pipes and one for branches alone, three address pipes, four floating-point pipes,
// one that stores vectors, one that moves from them to general registers, and two that store
// general registers. The bits of the integer pipes are in the order in which they take turns. O
const BRU: Ports = Ports(1 << 0);
const ALU0: Ports = Ports(1 << 1);
const ALU1: Ports = Ports(1 << 2);
const ALU2: Ports = Ports(1 << 3);
const ALU3: Ports = Ports(1 << 4);
const AGU0: Ports = Ports(1 << 6);
const AGU1: Ports = Ports(1 << 7);
const AGU2: Ports = Ports(1 << 8);
const FP0: Ports = Ports(1 << 10);
const FP1: Ports = Ports(1 << 11);
const FP2: Ports = Ports(1 << 12);
const FP3: Ports = Ports(1 << 13);
const FP_STORE: Ports = Ports(1 << 14);
/// From the vector registers to general ones.
const TO_GENERAL: Ports = Ports(1 << 15);
/// Dividers: issuing to them blocks the divider, not the pipe.
const INTEGER_DIVIDER: Ports = Ports(1 << 16);
const FP_DIVIDER: Ports = Ports(1 << 17);
/// From the integer registers to the vector registers.
const TRANSFER: Ports = Ports(1 << 18);
const STORE0: Ports = Ports(1 << 19);
const STORE1: Ports = Ports(1 << 20);

const ALU: Ports = ALU0.or(ALU1).or(ALU2).or(ALU3);
const MULTIPLY: Ports = ALU1;
const SHIFT: Ports = ALU1.or(ALU2);
const LEA: Ports = ALU1.or(ALU2);
const CONDITION: Ports = ALU0.or(ALU3);
const BRANCH: Ports = BRU.or(ALU0);
const FP01: Ports = FP0.or(FP1);
const FP23: Ports = FP2.or(FP3);
const FP12: Ports = FP1.or(FP2);
const FP123: Ports = FP12.or(FP3);
const FP: Ports = FP01.or(FP23);

/// AMD Zen 4.
pub const ZEN_4: CoreParameters = CoreParameters {
    name: "zen-4",
    version: 6,
    width: 6,        // O
    retire_width: 8, // O
    // A: Zen 5 takes 12.
    retire_cycles: 8,
    issue_delay: 4, // A
    frontend: Frontend {
        // O: 64 sets of 12 ways, 9 instructions each. M: 384 lines with 16 instructions each fit.
        uop_cache_lines: 1024,
        uop_cache_ways: 16,
        uop_cache_window_bytes: 32, // A
        // O. Of one line of code only (M): a loop of 17 bytes that crosses a line takes 2 cycles
        // instead of 1.25. That is not in the model: a linker moves code.
        uop_cache_reads: UopCacheReads::Operations(9),
        decode_width: 4,             // O, M
        decode_bytes: 32,            // O
        microcode_above_slots: 4,    // A
        queue_entries: 48,           // A
        taken_branches_per_cycle: 1, // M
        // K: `loop-call-4`
        predicted_branches_per_cycle: 2,
        // M: a branch that is taken, or not, at random takes 1.5 cycles with the loop's, and 3 if
        // each other one is corrected
        predicted_conditions_per_cycle: 1,
        // A, as on Zen 5: a call and its return take 4 cycles
        return_prediction_cycles: 3,
        prediction_ahead_cycles: 8, // A
        indirect_bubbles_delay_prediction: false,
        runahead_lines: 32,     // A
        crowded_branches: None, // A
    },
    prediction: Prediction {
        bimodal_entries: 16 * 1024, // A
        // Histories A, as on Zen 5. Sizes M: 1 to 32 branches with random outcomes that repeat
        // after 32 Ki are learnt, one as well as 32, each before 0, 1 or 3 jumps.
        tagged_tables: [
            TaggedTable::new(4096, 4),
            TaggedTable::new(4096, 9),
            TaggedTable::new(4096, 19),
            TaggedTable::new(4096, 43),
            TaggedTable::new(8192, 96),
            TaggedTable::new(8192, 240),
        ],
        ageing_allocations: Some(64 * 1024), // K: `btree` 0.94, without 0.82
        // M: of a branch that is random, but repeats, each outcome that is not the usual one costs
        // 3 cycles if it repeats after 1024 executions, half of them if after 512, and none if
        // after 64, unless the rest of the loop takes longer. An outcome that differs costs the
        // same if it is each 16th, and nothing if it is each 12th, where the loop has a second
        // branch; without that, each 32nd and each 24th.
        first_level: Some(FirstLevel {
            entries: 256,
            history_outcomes: 26,
            correction_cycles: 3,
            taken_correction_cycles: 3,
        }),
        indirect_entries: 4096,          // A
        indirect_history_branches: 34,   // A
        numbers_branches: true,          // A
        return_stack_entries: 32,        // O
        predicts_returns_by_path: false, // A
        target_buffers: &[
            TargetBuffer {
                entries: 2048,
                bubble_cycles: 0,
            },
            TargetBuffer {
                entries: 8192,
                bubble_cycles: 1,
            },
        ], // O: 1536, then 7 Ki
        changed_target_cycles: 0,        // A
        return_cycles: 1,                // A
        unknown_target_cycles: 8,        // A
        redirect_cycles: 13,             // K: `random-branch`
        // O: 11 to 18 cycles for the whole penalty, 13 as the common case. A: how much of it passes
        // while the wrong path still issues.
        recovery_cycles: 7,
        wrong_path_skip_bytes: 128, // A
        wrong_path_slots: 224,      // A
    },
    rename: Rename {
        eliminates_integer_moves: true,    // O
        eliminates_own_moves: true,        // M
        eliminates_byte_extensions: false, // A
        eliminates_vector_moves: true,     // O
        eliminates_immediate_adds: false,  // M
        fuses_compare_and_branch: true,    // O
        fuses_arithmetic_and_branch: true, // O
        arithmetic_and_branch: CONDITION,  // M
        fuses_moves: false,                // M: such a pair takes two slots
        memory_renaming: MemoryRenaming::Learnt(ORDER),
        condition_after_logic_cycles: 0,
        read_modify_write_extra_slots: 0, // O: one macro-operation
        restricts_last_slots: false,      // A
        saves_upper_halves: false,        // A
    },
    window: Window {
        reorder_entries: 320,   // O
        load_entries: 136,      // P
        store_entries: 64,      // O
        integer_registers: 190, // M; O: 224 with the architectural ones
        vector_registers: 152,  // M; O: 192 with them
        // M: of loads that wait for one result, 48 fit before what does not wait for it is held up,
        // too. Integer operations wait at their ports (`binding`), 88 of them; 400 is no limit.
        scheduler_entries: [400, 48, 0],
        scheduler_release_cycles: 4, // A: Zen 5 takes 7
        integer_scheduler: 0,
        // O: 64 before two schedulers of 32. M: 63 additions, moves to general registers and stores
        // fit, together.
        vector_schedulers: VectorSchedulers::Queued {
            queue_entries: 64,
            transfer_cycles: 4, // A: as on Zen 5
            arithmetic_entries: 64,
            store_entries: 64,
        },
        load_scheduler: 1,
        store_scheduler: 1,
        // A
        store_data_waits: StoreDataWaits::WithOperations,
        store_commit_width: 2, // O
        store_commit_lines: 1, // M: stores to one line take 0.5 cycles, to several lines 1.0
        // M: stores that miss the L1 take no longer than loads. All that fit.
        store_fetch_ahead: 32,
    },
    ports: MemoryPorts {
        load: AGU0.or(AGU1).or(AGU2),  // O, M
        load_vector: AGU0.or(AGU1),    // O, M
        load_512: AGU0,                // O
        store_address: AGU1.or(AGU2),  // O: two stores per cycle
        store_data: STORE0.or(STORE1), // M
        store_data_vector: FP_STORE,   // M: one per cycle
        store_data_512: FP_STORE,      // A: takes two
        string_step: STORE0,           // A
        string_step_bytes: 32,         // M: 16 KiB take 565 cycles
        string_step_slots: 2,
        short_string_bytes: 0,
        long_string_slots: 0,
        // M: 24 multiplications, which have one port, wait, and 46 shifts, which have two. With one
        // operation per cycle 72 fit. K: of leads of 4, 8, 12 and 24.
        binding: Binding::RoundRobin {
            entries: 24, // O
            lead: 12,
        },
        lost_at_512: FP1.or(FP3), // M: such operations take a pipe for two cycles
        // M: chains of additions beside each other fill the pipes.
        closed_by_busy: [0; 7],
        expects_hits: false,         // A
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
            bytes: 32 << 10,
            ways: 8,
            cycles: 4,
        },
        index_extra_cycles: 1,          // M
        vector_load_extra_cycles: 0,    // A: as on Zen 5
        vector_store_extra_cycles: 2,   // M: 9 from a vector store to a vector load
        sign_extension_extra_cycles: 1, // A: as on Zen 5
        split_load_extra_operations: 0, // A
        split_load_extra_cycles: 1,     // A
        page_split_store_cycles: 0,     // A
        // O
        l2: Cache {
            bytes: 1 << 20,
            ways: 8,
            cycles: 14,
        },
        // O: 32 MiB, of which a virtual machine among others gets its share; latency A
        l3: Cache {
            bytes: 16 << 20,
            ways: 16,
            cycles: 44,
        },
        memory_cycles: 450, // A
        // Published: 15 to 19 ns between cores of one complex of a Ryzen 9 7950X, about 5.5 GHz
        // (AnandTech's review of September 2022).
        transfer_cycles: 94,
        l2_line_cycles: 2,  // O: 32 bytes per cycle; M: 2.25
        l2_write_cycles: 0, // M: stores take 2.3 cycles per line, loads 2.25
        // M: passes over 1 to 2 MiB take 2.35 to 2.42 cycles per line, over 512 KiB 2.0.
        l2_fills_per_request: 4,
        l2_banks: 0, // M: one line in 8 takes as long as each
        l2_bank_cycles: 0,
        code_line_cycles: 4,           // M: 8 or 16 instructions to a line
        l3_line_cycles: 2,             // O: 32 bytes per cycle
        memory_line_cycles: 7,         // A
        l1_fill_buffers: 24,           // O
        l2_fill_buffers: 96,           // A
        forward_cycles: 6,             // M
        split_forward_extra_cycles: 0, // A
        blocked_forward_cycles: 9,     // M: 19 from a store to a load that needs another one, too
        atomics: Atomics::HoldLoads,   // A
        // M: a chain of loads takes 11 cycles each, at any distance of a multiple of 4 KiB, with up
        // to 16 stores between
        aliased_load_extra_cycles: 7,
        // O
        dtlb: Tlb {
            entries: 72,
            ways: 9,
        },
        // O
        itlb: Tlb {
            entries: 64,
            ways: 8,
        },
        // O
        stlb: Tlb {
            entries: 3072,
            ways: 12,
        },
        stlb_cycles: 7,         // A
        walk_cycles: 36,        // A
        stream_ahead_lines: 64, // A
        stride_ahead_lines: 8,  // A
        stride_of_stores: true, // A
    },
    timings: TIMINGS,
};

// M: where one of 64 to 4096 stores, whose addresses are late, is to the place of the next load,
// some 17 further loads wait for the addresses of the stores before them. A load of at least four
// bytes takes the register of a store, however the address is written, but an instruction that
// computes with what it loads does not, unless it writes it back. The rest A, as on Zen 5.
const ORDER: LearntOrder = LearntOrder {
    cautious_executions: 16,
    cautious_limit: 32,
    doubt_at_first: 5,
    doubt_more: 14,
    doubt_limit: 145,
    doubt_after_another: 92,
    wait_cycles: 2,
    moves_only: true,
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
    Timing::single(Class::SetCondition, &[CONDITION], 1),
    Timing::single(Class::SetConditionTwoFlags, &[CONDITION], 1),
    Timing::single(Class::CondMove, &[CONDITION], 1),
    Timing::single(Class::CondMoveTwoFlags, &[CONDITION], 1),
    Timing::single(Class::CondMoveSigned, &[CONDITION], 1),
    Timing::single(Class::Lea, &[ALU], 1),
    Timing::single(Class::LeaOffset, &[ALU], 1),
    Timing::single(Class::LeaScaled, &[ALU], 1),
    Timing::single(Class::LeaComplex, &[LEA], 1).with_late(DelayedPart::Base),
    Timing::single(Class::LeaComplexScaled, &[LEA], 1).with_late(DelayedPart::Base),
    Timing::single(Class::Multiply, &[MULTIPLY], 3),
    Timing::several(Class::MultiplyWide, 2, &[MULTIPLY, ALU0, ALU3], 3)
        .with_late(DelayedPart::HighHalf),
    Timing::several(Class::Divide64, 2, &[INTEGER_DIVIDER, ALU], 14).blocking(7),
    Timing::several(Class::Divide32, 2, &[INTEGER_DIVIDER, ALU], 10).blocking(6),
    Timing::single(Class::BitCount, &[ALU], 1),
    Timing::single(Class::BitScan, &[ALU], 1),
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
    Timing::several(Class::Atomic, 6, &[ALU, ALU, ALU], 5),
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
    Timing::single(Class::LoadFence, &[ALU], 12),
    Timing::several(Class::FullFence, 4, &[ALU], 52),
    Timing::several(Class::StoreFence, 1, &[ALU], 6),
    Timing::several(Class::ReadClock, 20, &[ALU; 6], 40),
    Timing::several(Class::Random, 16, &[ALU; 4], 255),
    Timing::several(Class::CpuId, 100, &[ALU; 4], 100),
    Timing::several(Class::SystemCall, 60, &[ALU; 4], 150),
    Timing::several(Class::Microcode, 40, &[ALU; 8], 40),
    // M: which pipes most of these have, by pairs of independent operations; a test has the pairs.
    Timing::single(Class::VecMove, &[FP], 1),
    Timing::single(Class::VecFromGpr, &[TRANSFER], 3),
    Timing::single(Class::VecToGpr, &[TO_GENERAL], 4),
    Timing::single(Class::VecLogic, &[FP], 1),
    Timing::single(Class::VecAdd, &[FP], 1),
    Timing::single(Class::VecAddSaturating, &[FP01], 1),
    Timing::single(Class::VecCompare, &[FP], 1),
    Timing::single(Class::VecCompareGreater64, &[FP], 1),
    Timing::single(Class::VecMaskCompare, &[FP01], 4),
    Timing::single(Class::VecShift, &[FP23], 1),
    Timing::single(Class::VecShiftByXmm, &[FP01], 2),
    Timing::single(Class::VecShiftVar, &[FP23], 1),
    Timing::single(Class::VecShuffle, &[FP123], 1),
    Timing::single(Class::VecShuffleFloats, &[FP123], 1),
    Timing::single(Class::VecShuffleBytes, &[FP12], 2),
    Timing::single(Class::VecAlign, &[FP12], 2),
    Timing::single(Class::VecPack, &[FP12], 2),
    Timing::single(Class::VecShuffleLane, &[FP12], 4),
    Timing::single(Class::VecWidenLane, &[FP12], 1),
    Timing::single(Class::VecWiden, &[FP12], 2),
    Timing::at_rename(Class::VecWidenLoad),
    Timing::single(Class::VecNarrow, &[FP12], 2),
    Timing::single(Class::VecBlend, &[FP], 1),
    Timing::single(Class::VecBlendVar, &[FP12], 1),
    Timing::several(Class::VecMaskMove, 2, &[FP, FP], 2),
    Timing::several(Class::VecCompress, 2, &[FP12, FP0], 5),
    Timing::single(Class::VecMultiply, &[FP01], 3),
    Timing::single(Class::VecMultiply32, &[FP01], 3),
    Timing::single(Class::VecMultiply64, &[FP01], 3),
    Timing::single(Class::VecMoveMask, &[TO_GENERAL], 4),
    Timing::several(Class::VecInsert, 2, &[FP12, TRANSFER], 4),
    Timing::several(Class::VecExtract, 2, &[FP12, TO_GENERAL], 5),
    Timing::several(Class::VecTest, 2, &[FP12, TO_GENERAL], 8),
    Timing::single(Class::VecSumDifferences, &[FP01], 3),
    Timing::several(Class::VecMultiSad, 4, &[FP01; 4], 5),
    Timing::several(Class::VecHorizontal, 4, &[FP12; 4], 2),
    Timing::several(Class::VecHorizontalInt, 4, &[FP12; 4], 2),
    Timing::single(Class::VecPopcnt, &[FP01], 2),
    Timing::single(Class::VecLzcnt, &[FP01], 2),
    Timing::single(Class::VecConflict, &[FP01], 2),
    Timing::several(
        Class::VecString,
        4,
        &[FP12, FP12, FP12, FP12, TO_GENERAL],
        10,
    ),
    Timing::single(Class::VecZeroUpper, &[FP0], 0),
    Timing::several(Class::Gather, 28, &[FP01; 8], 4),
    Timing::several(Class::Scatter, 16, &[FP; 4], 8),
    Timing::single(Class::MaskLogic, &[FP12], 1),
    Timing::single(Class::MaskShift, &[FP12], 1),
    Timing::several(Class::MaskTest, 2, &[FP12, TO_GENERAL], 8),
    Timing::single(Class::MaskMove, &[FP], 1),
    Timing::single(Class::MaskFromGpr, &[TRANSFER], 4),
    Timing::single(Class::MaskToGpr, &[TO_GENERAL], 5),
    Timing::single(Class::MaskToVec, &[FP12], 2),
    Timing::single(Class::FpAdd, &[FP23], 3),
    Timing::single(Class::FpMultiply, &[FP01], 3),
    Timing::single(Class::FpFma, &[FP01], 4),
    Timing::single(Class::FpMinMax, &[FP23], 2),
    Timing::single(Class::FpCompare, &[FP23], 2),
    Timing::several(Class::FpCompareFlags, 2, &[FP23, TO_GENERAL], 6),
    Timing::single(Class::FpDivide32, &[FP_DIVIDER], 11).blocking(3),
    Timing::single(Class::FpDivide32Wide, &[FP_DIVIDER], 11).blocking(3),
    Timing::single(Class::FpDivide64, &[FP_DIVIDER], 13).blocking(5),
    Timing::single(Class::FpDivide64Wide, &[FP_DIVIDER], 13).blocking(5),
    Timing::single(Class::FpSqrt32, &[FP_DIVIDER], 15).blocking(5),
    Timing::single(Class::FpSqrt32Wide, &[FP_DIVIDER], 15).blocking(5),
    Timing::single(Class::FpSqrt64, &[FP_DIVIDER], 21).blocking(8),
    Timing::single(Class::FpSqrt64Wide, &[FP_DIVIDER], 21).blocking(8),
    Timing::single(Class::FpReciprocal, &[FP01], 4),
    Timing::single(Class::FpRound, &[FP23], 3),
    Timing::single(Class::FpManipulate, &[FP23], 4),
    Timing::single(Class::FpConvert, &[FP23], 3),
    Timing::single(Class::FpConvertWidth, &[FP23], 3),
    Timing::several(Class::FpFromInt, 2, &[TRANSFER, FP23], 7),
    Timing::several(Class::FpToInt, 2, &[FP23, TO_GENERAL], 6),
    Timing::several(
        Class::FpDot,
        8,
        &[FP01, FP23, FP23, FP12, FP12, FP12, FP12, FP12],
        13,
    ),
    Timing::single(Class::Aes, &[FP01], 4),
    Timing::single(Class::AesKey, &[FP01], 4),
    Timing::single(Class::AesInverse, &[FP01], 4),
    Timing::several(Class::CarrylessMultiply, 4, &[FP01; 4], 4),
    Timing::single(Class::Galois, &[FP01], 3),
    Timing::single(Class::Sha256Rounds, &[FP0], 4),
    Timing::single(Class::Sha256Message1, &[FP01], 3),
    Timing::several(Class::Sha256Message2, 4, &[FP01; 4], 6),
    Timing::several(Class::Sha1Rounds, 2, &[FP0, FP], 6).blocking(2),
    Timing::single(Class::Sha1Message, &[FP01], 2),
    Timing::several(Class::MxcsrLoad, 2, &[FP, ALU], 7),
    Timing::several(Class::MxcsrStore, 2, &[TO_GENERAL], 3),
    Timing::single(Class::X87Move, &[FP01], 1),
    Timing::single(Class::X87Add, &[FP23], 6),
    Timing::single(Class::X87Multiply, &[FP01], 6),
    Timing::single(Class::X87Divide, &[FP_DIVIDER], 15).blocking(6),
    Timing::single(Class::X87Compare, &[FP23], 2),
    Timing::single(Class::X87Convert, &[FP23], 7),
    Timing::several(Class::X87Control, 3, &[FP, FP_STORE, ALU], 6),
    Timing::several(Class::X87Transcendental, 60, &[FP; 8], 60),
];
