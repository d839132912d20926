//! Intel Golden Cove, as in Sapphire Rapids (server) and Alder Lake (P-core).
//!
//! Sources, by the letters used below:
//!
//! * **O**: Intel 64 and IA-32 Architectures Optimization Reference Manual, volume 1 (248966),
//!   chapter on the Golden Cove microarchitecture, and Intel's Architecture Day 2021 slides.
//! * **U**: uops.info, measurements for Alder Lake P (latency, throughput, port usage).
//! * **M**: measured by this project on Sapphire Rapids and Emerald Rapids virtual machines, as a
//!   ratio to a chain of dependent additions, on a core whose other hardware thread was idle: the
//!   rows of `measure-table` of the lab, and loops written to answer a single question each.
//! * **R**: loops measured on a Granite Rapids virtual machine, whose Redwood Cove differs little;
//!   no Golden Cove was at hand (`native/redwood-cove.txt` of the lab).
//! * **J**: J. Chen, blog.jia.je, "Intel Golden Cove 微架构评测" (2025): measured on a Core i9.
//! * **C**: Chips and Cheese, "Popping the Hood on Golden Cove" (2021), figure 17, as summarised in
//!   a public translation of the article (the original was only partly accessible): measured on a
//!   Core i9.
//! * **K**: calibrated there on single kernels until the modelled cycles matched the measured ones.
//! * **A**: assumed; we know of no public source.
//!
//! Measured values take precedence over published ones.

use crate::class::{Class, DelayedPart, Timing};
use crate::parameters::{
    Atomics, Binding, Cache, CoreParameters, CrowdedBranches, Disambiguation, FirstLevel, Frontend,
    Memory, MemoryPorts, MemoryRenaming, Prediction, Rename, StoreDataWaits, TaggedTable,
    TargetBuffer, Tlb, UopCacheReads, VectorSchedulers, Window,
};
use crate::ports::Ports;

// The port numbers are Intel's. The bits are ordered from the most specialised to the most general,
// because the calendar takes the highest free bit.
const P0: Ports = Ports(1 << 0);
const P1: Ports = Ports(1 << 1);
const P5: Ports = Ports(1 << 2);
const P6: Ports = Ports(1 << 3);
const P10: Ports = Ports(1 << 4);
const P2: Ports = Ports(1 << 5);
const P3: Ports = Ports(1 << 6);
const P11: Ports = Ports(1 << 7);
const P4: Ports = Ports(1 << 8);
const P9: Ports = Ports(1 << 9);
const P7: Ports = Ports(1 << 10);
const P8: Ports = Ports(1 << 11);
/// The integer divider behind port 1, and the floating-point divider behind port 0: issuing to them
/// blocks the divider, not the port.
const INTEGER_DIVIDER: Ports = Ports(1 << 12);
const FLOAT_DIVIDER: Ports = Ports(1 << 13);

const P01: Ports = P0.or(P1);
const P05: Ports = P0.or(P5);
const P06: Ports = P0.or(P6);
const P15: Ports = P1.or(P5);
const P1510: Ports = P15.or(P10);
const P015: Ports = P01.or(P5);
const ALU: Ports = P015.or(P6).or(P10);

/// Intel Golden Cove.
pub const GOLDEN_COVE: CoreParameters = CoreParameters {
    name: "golden-cove",
    version: 19,
    width: 6,        // O
    retire_width: 8, // O
    retire_cycles: 0,
    issue_delay: 4, // K
    frontend: Frontend {
        uop_cache_lines: 512,                          // O: 4096 operations, 8 per line
        uop_cache_ways: 8,                             // O
        uop_cache_window_bytes: 32,                    // A: O says 64 with several lines each
        uop_cache_reads: UopCacheReads::Operations(8), // O
        decode_width: 6,                               // O
        decode_bytes: 32,                              // O
        microcode_above_slots: 4,                      // O
        queue_entries: 144,                            // O
        taken_branches_per_cycle: 1,                   // O
        predicted_branches_per_cycle: 1,               // A
        predicted_conditions_per_cycle: 1,
        return_prediction_cycles: 1, // A
        prediction_ahead_cycles: 32, // A: as many as lines of code
        // M: jumps to changing targets take 3.7 cycles in a loop of their own and nothing among
        // twelve other instructions.
        indirect_bubbles_delay_prediction: true,
        runahead_lines: 32, // A
        // R: jumps every 2 to 6 bytes take some 4 cycles each where 7 or 8 end in 32 bytes, 5.3 of
        // 10, 7.1 of 16. Where fewer do, the fifth and further ones in 64 bytes take 2; with that,
        // `utf8` takes 1.14 instead of 1.03.
        crowded_branches: Some(CrowdedBranches {
            kept: 6,
            eighths: 3,
        }),
    },
    prediction: Prediction {
        bimodal_entries: 16 * 1024, // A
        // O: histories of 34, 66 and 194 taken branches, four ways in 512 sets each, of which a
        // branch uses the half that bit 5 of its address gives (Yavarzadeh et al., "Half&Half",
        // IEEE S&P 2023; Alder Lake). M: 1 to 32 branches with random outcomes that repeat after
        // 2048 to 32 768, each before 0, 1 or 3 jumps. 8 or more such branches are learnt up to
        // 9000 to 12 000 outcomes with 3 jumps each, 14 000 with one and 18 000 with none, where
        // only half of them need entries: so shorter histories than 34 have room for some 2000
        // outcomes that see 10 to 18 taken branches. One branch is learnt up to 5000 outcomes. R:
        // of 8000 and 16 000, 0.26 and 0.52 are mispredicted, of two branches in 32 bytes 0.30 and
        // 0.47; here 0.16 and 0.42, none and 0.21.
        // Lengths and sizes of the first three A, among those that are within 0.01 of each other
        // in the mean error of the share of mispredicts.
        tagged_tables: [
            TaggedTable::new(1024, 4),
            TaggedTable::new(2048, 9),
            TaggedTable::new(2048, 17).with_branch_bits(1),
            TaggedTable::new(2048, 34).with_branch_bits(1),
            TaggedTable::new(2048, 66).with_branch_bits(2),
            TaggedTable::new(2048, 194).with_branch_bits(2),
        ],
        // K: `union-find` and `bfs-graph` 1.18 and 1.15, as on Zen 1.28 and 1.23
        ageing_allocations: None,
        // M: an inner loop of 10 to 64 iterations, whose last branch is not taken, takes 2 cycles
        // more than its iterations. Where random outcomes repeat and half of them are taken, an
        // iteration takes 1.2 to 1.5 cycles more, and where few are not taken 2 for each of these:
        // so one that is taken costs more. K: 4 cycles, three outcomes. Entries A.
        first_level: Some(FirstLevel {
            entries: 256,
            history_outcomes: 3,
            correction_cycles: 2,
            taken_correction_cycles: 4,
        }),
        // M: a call that goes to 256 places in turn is usually predicted, one to 600 hardly ever.
        indirect_entries: 512,
        // A: the third length of the directions' tables. 16 and 24 give the same within 1 %. The
        // core has six places for a path, in tables that see up to 194 branches (L. Li et al.,
        // "Indirector", USENIX Security 2024: section 3.2.2 of its artifact).
        indirect_history_branches: 34,
        // A: with addresses, which branches share an entry changes with every build.
        numbers_branches: true,
        return_stack_entries: 16, // M: recursion deeper than this mispredicts
        predicts_returns_by_path: true, // R
        // O: 128, 5 Ki, 12 Ki. M: the bubbles, and how many jumps of a loop are known at each
        // level: all of 4000 and 12 000.
        target_buffers: &[
            TargetBuffer {
                entries: 128,
                bubble_cycles: 0,
            },
            TargetBuffer {
                entries: 8 * 1024,
                bubble_cycles: 1,
            },
            TargetBuffer {
                entries: 16 * 1024,
                bubble_cycles: 3,
            },
        ],
        changed_target_cycles: 3, // M: 6 cycles per call of one function from 8 places
        return_cycles: 0,         // A
        unknown_target_cycles: 10, // M
        redirect_cycles: 14,      // K
        // pmu-tools charges the frontend 10 cycles after a resteer on Ice Lake (`BAClear_Cost` in
        // icl_client_ratios.py; for Golden Cove it counts them with an event and has no figure).
        // The rest passes before that, while the wrong path still issues.
        recovery_cycles: 5,
        wrong_path_skip_bytes: 0,
        wrong_path_slots: 0,
    },
    rename: Rename {
        eliminates_integer_moves: true,   // M: 0.35 per pair
        eliminates_own_moves: false,      // M: 1 cycle
        eliminates_byte_extensions: true, // U; R: two in a loop take one cycle
        eliminates_vector_moves: true,    // U
        // M: 0.17 per addition of -1024 to 1023 to a 64-bit register, 1 for all others
        eliminates_immediate_adds: true,
        fuses_compare_and_branch: true,    // O
        fuses_arithmetic_and_branch: true, // O
        arithmetic_and_branch: P06,
        fuses_moves: false,
        // M: 0.55 per store and load. R: one for each addition of an immediate to memory, 7 for
        // those of a register, but one for a load of their result. J: loads of one, four and eight
        // bytes that do not cross a line.
        memory_renaming: MemoryRenaming::SimpleAddress(Disambiguation {
            safe_executions: 15, // J
            discards: 4,         // J
            right_for_one: 64,   // J
        }),
        condition_after_logic_cycles: 1,  // M: 0.8
        read_modify_write_extra_slots: 1, // U: 2 fused operations
        restricts_last_slots: false,
        saves_upper_halves: true, // R: 390 cycles for two switches
    },
    window: Window {
        reorder_entries: 512,   // O
        load_entries: 192,      // O
        store_entries: 114,     // O
        integer_registers: 248, // C
        // Published measurements: 332, minus the architectural registers.
        vector_registers: 300,
        // Published measurements are 97, 70 and 38; O gives no figure. K: with 97, where chains
        // wait, the window holds more of them than the core's (`binary-search`, `hashmap-10k`).
        scheduler_entries: [64, 70, 38],
        scheduler_release_cycles: 0,
        integer_scheduler: 0,
        vector_schedulers: VectorSchedulers::Shared,
        load_scheduler: 1,
        store_scheduler: 2,
        store_data_waits: StoreDataWaits::WithAddress,
        store_commit_width: 2, // O: two stores to one line
        store_commit_lines: 1, // O, M: 2 cycles for a pair of stores to different lines
        // M: 4 cycles per random line of the L2. R: stores to lines of the L1 between them fill its
        // time; here they count among the five.
        store_fetch_ahead: 5,
    },
    ports: MemoryPorts {
        load: P2.or(P3).or(P11),        // O
        load_vector: P2.or(P3).or(P11), // O
        load_512: P2.or(P3),            // O
        store_address: P7.or(P8),       // O
        store_data: P4.or(P9),          // O
        store_data_vector: P4.or(P9),   // O
        store_data_512: P4,             // O
        string_step: Ports::NONE,       // M: as fast as its stores
        string_step_bytes: 64,          // A
        string_step_slots: 4,           // A: two loads and two stores
        // M, R: 10 cycles up to 128 bytes, 27 to 31 more than the moves beyond.
        short_string_bytes: 128,
        long_string_slots: 76,
        closed_by_busy: [0; 7], // A
        expects_hits: false,    // A
        // M, R: of 0 and 1; if one of three loads a pointer, R executes three a cycle
        loads_per_bank: 2,
        repeats_missed_loads: true, // M: four loads per line of the L2 take 2.7 cycles, one 1.2
        // Abel and Reineke, "uiCA" (ICS 2022), on Ice Lake; see `pipeline/emptiest_scheduler.rs`.
        binding: Binding::EmptiestScheduler,
        lost_at_512: P1, // O: ports 0 and 1 join
    },
    memory: Memory {
        // O
        l1i: Cache {
            bytes: 32 << 10,
            ways: 8,
            cycles: 0,
        },
        // O, M
        l1d: Cache {
            bytes: 48 << 10,
            ways: 12,
            cycles: 5,
        },
        index_extra_cycles: 0,          // O
        vector_load_extra_cycles: 1,    // M
        vector_store_extra_cycles: 0,   // A
        sign_extension_extra_cycles: 0, // P
        split_load_extra_operations: 2, // M: one per cycle, of 64 bytes one per 1.5
        split_load_extra_cycles: 7,     // R: 12 in a chain, across pages too
        page_split_store_cycles: 23,    // R: one per 25 cycles
        // O gives 15 cycles; J measured 16, and so does a chase through 256 KiB (M: `chase-256k`).
        l2: Cache {
            bytes: 2 << 20,
            ways: 16,
            cycles: 16,
        },
        // O: 105 MiB and more, shared by all cores of the host. M: a loop over 8 MiB ran at the
        // speed of the L3, over 16 MiB at that of memory. Latency K: `gather-4m`.
        l3: Cache {
            bytes: 16 << 20,
            ways: 16,
            cycles: 70,
        },
        memory_cycles: 320, // K: `chase-64m`
        // Published: 35 ns between performance cores of a Core i9-12900K, about 5 GHz
        // (github.com/nviennot/core-to-core-latency).
        transfer_cycles: 175,
        l2_line_cycles: 1,       // O: 64 bytes per cycle
        l2_write_cycles: 3,      // M: 4.1 per line of a loop of stores, with its fetch
        l2_fills_per_request: 0, // A
        // M: loads at a stride of 512 bytes take 2 cycles, at 64 bytes 1.2; loops of stores 8 to 9
        // at 1024 bytes. R: loads 2.9, 3.0, 3.2 and 2.8 at 256, 512, 1024 and 4096 bytes, stores
        // 6.3, 6.9, 7.8 and 10.4; at odd numbers of lines 2 at most, and 3.9.
        l2_banks: 8,
        l2_bank_cycles: 2,
        code_line_cycles: 4,           // M: 64 to 256 KiB of jumps, one to a line
        l3_line_cycles: 6,             // M
        memory_line_cycles: 5,         // K: `stream-32m`, which fits an L3 of 300 MiB
        l1_fill_buffers: 16,           // O
        l2_fill_buffers: 48,           // O
        forward_cycles: 5,             // M: 7.3 for a read-modify-write chain
        split_forward_extra_cycles: 3, // R
        blocked_forward_cycles: 18,    // J: 19 with the store's; R
        // M: 18 cycles alone, 25 with a store or eight before it, 34 with sixteen; loads of other
        // lines run beside it.
        atomics: Atomics::BeginLast {
            retry_cycles: 7,
            reload_cycles: 13, // M
        },
        aliased_load_extra_cycles: 0, // R: in a chain, 4096 bytes from a store in flight
        // O
        dtlb: Tlb {
            entries: 96,
            ways: 6,
        },
        // O
        itlb: Tlb {
            entries: 256,
            ways: 8,
        },
        // O
        stlb: Tlb {
            entries: 2048,
            ways: 16,
        },
        stlb_cycles: 7,          // published measurements
        walk_cycles: 36,         // K
        stream_ahead_lines: 16,  // A
        stride_ahead_lines: 2,   // M: see `repeats_missed_loads`
        stride_of_stores: false, // O: it follows loads
    },
    timings: TIMINGS,
};

// One row per class, in the order of `Class`. Latencies from M if available, otherwise U.
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
    Timing::single(Class::HighByte, &[P1], 3), // R: 3 in a chain, one a cycle
    Timing::single(Class::IntSignSplat, &[P06], 1),
    Timing::single(Class::IntShift, &[P06], 1),
    Timing::several(Class::IntShiftByCl, 2, &[P06, P06], 1), // M
    Timing::several(Class::RotateCarry, 3, &[P06, ALU, P06], 2),
    Timing::single(Class::DoubleShift, &[P1], 3),
    Timing::single(Class::AddCarry, &[P06], 1),
    Timing::single(Class::SetCondition, &[P06], 1),
    Timing::several(Class::SetConditionTwoFlags, 2, &[P06, P06], 2), // U, R
    Timing::single(Class::CondMove, &[P06], 1), // M: 2 with the compare before it
    Timing::several(Class::CondMoveTwoFlags, 2, &[P06, P06], 2), // M: 3 with the compare
    Timing::single(Class::CondMoveSigned, &[P06], 1),
    Timing::single(Class::Lea, &[ALU], 1),
    Timing::single(Class::LeaOffset, &[ALU], 1),
    Timing::single(Class::LeaScaled, &[P1510], 2), // M
    Timing::single(Class::LeaComplex, &[ALU], 1),  // M
    Timing::single(Class::LeaComplexScaled, &[P1510], 2), // R
    Timing::single(Class::Multiply, &[P1], 3),
    Timing::several(Class::MultiplyWide, 2, &[P1, P5], 3).with_late(DelayedPart::HighHalf), // M
    // M; remainders R.
    Timing::several(Class::Divide64, 4, &[INTEGER_DIVIDER, P1, P0, ALU], 14)
        .blocking(10)
        .with_late(DelayedPart::Remainder(3)),
    Timing::several(Class::Divide32, 4, &[INTEGER_DIVIDER, P1, P0, ALU], 11)
        .blocking(6)
        .with_late(DelayedPart::Remainder(4)),
    Timing::single(Class::BitCount, &[P1], 3),
    Timing::single(Class::BitScan, &[P1], 3),
    Timing::single(Class::BitDeposit, &[P1], 3),
    Timing::single(Class::AndNot, &[P1510], 1),   // M
    Timing::single(Class::BitField, &[P1510], 1), // M
    Timing::several(Class::BitExtract, 2, &[P06, P1], 2), // U, R
    Timing::single(Class::BitZeroHigh, &[P1], 1), // R
    Timing::single(Class::BitTest, &[P1], 1),     // M
    Timing::single(Class::BitChange, &[P1], 1),   // M
    Timing::single(Class::ByteSwap, &[P1], 1),    // M
    Timing::several(Class::ByteSwap64, 2, &[P06, P1], 2), // M
    Timing::single(Class::Crc, &[P1], 3),
    Timing::several(Class::Exchange, 3, &[ALU, ALU, ALU], 1), // M: 1.5
    Timing::several(Class::ExchangeAdd, 3, &[ALU, ALU, ALU], 2),
    Timing::several(Class::CompareExchange, 5, &[ALU, ALU, ALU, P06, ALU], 5),
    Timing::several(Class::Atomic, 8, &[ALU, ALU, P06, ALU], 12), // M: 18 with load and store
    Timing::single(Class::Branch, &[P06], 1),
    Timing::several(Class::Loop, 7, &[ALU, ALU, ALU, P06], 2),
    Timing::single(Class::Jump, &[P6], 1),
    Timing::several(Class::Call, 2, &[P6], 1),
    Timing::single(Class::Return, &[P6], 1),
    Timing::at_rename(Class::Push),
    Timing::at_rename(Class::Pop),
    Timing::several(Class::Leave, 3, &[ALU], 1),
    Timing::several(Class::StringStep, 3, &[ALU, ALU], 1),
    // See `short_string_bytes`.
    Timing::several(Class::StringRepeat, 36, &[ALU; 4], 10),
    Timing::several(Class::Pause, 4, &[P0], 40),      // M
    Timing::several(Class::LoadFence, 2, &[ALU], 12), // M
    Timing::several(Class::FullFence, 4, &[ALU], 33),
    Timing::several(Class::StoreFence, 2, &[ALU], 6),
    Timing::several(Class::ReadClock, 15, &[ALU, ALU, ALU, ALU, ALU, ALU], 46), // M
    Timing::several(Class::Random, 16, &[ALU, ALU, ALU, ALU], 255),
    Timing::several(Class::CpuId, 100, &[ALU, ALU, ALU, ALU], 100),
    Timing::several(Class::SystemCall, 60, &[ALU, ALU, ALU, ALU], 150), // A
    Timing::several(Class::Microcode, 40, &[ALU; 8], 40),               // A
    Timing::single(Class::VecMove, &[P015], 1),
    Timing::single(Class::VecFromGpr, &[P5], 2), // M
    Timing::single(Class::VecToGpr, &[P0], 2),   // M
    Timing::single(Class::VecLogic, &[P015], 1),
    Timing::single(Class::VecAdd, &[P015], 1),
    Timing::single(Class::VecAddSaturating, &[P01], 1), // M
    Timing::single(Class::VecCompare, &[P01], 1),
    Timing::single(Class::VecCompareGreater64, &[P5], 3), // U, R
    Timing::single(Class::VecMaskCompare, &[P5], 3),
    Timing::single(Class::VecShift, &[P01], 1),
    Timing::several(Class::VecShiftByXmm, 2, &[P01, P15], 1), // M
    Timing::single(Class::VecShiftVar, &[P01], 1),
    Timing::single(Class::VecShuffle, &[P15], 1),
    Timing::single(Class::VecShuffleFloats, &[P5], 1), // U, R
    Timing::single(Class::VecShuffleBytes, &[P15], 1),
    Timing::single(Class::VecAlign, &[P5], 1), // R
    Timing::single(Class::VecPack, &[P5], 3),  // U, R
    Timing::single(Class::VecShuffleLane, &[P5], 3),
    Timing::single(Class::VecWidenLane, &[P15], 1), // M
    Timing::single(Class::VecWiden, &[P5], 3),
    Timing::single(Class::VecWidenLoad, &[P5], 3), // R: one a cycle
    Timing::several(Class::VecNarrow, 2, &[P5, P5], 4),
    Timing::single(Class::VecBlend, &[P015], 1),
    // M, R
    Timing::several(Class::VecBlendVar, 3, &[P015; 3], 2).with_late(DelayedPart::Selector),
    Timing::several(Class::VecMaskMove, 2, &[P015, P0], 3),
    Timing::several(Class::VecCompress, 2, &[P5, P5], 3), // M
    Timing::single(Class::VecMultiply, &[P01], 5),
    Timing::several(Class::VecMultiply32, 2, &[P01, P01], 10), // M
    Timing::several(Class::VecMultiply64, 3, &[P01, P01, P01], 15), // M
    Timing::single(Class::VecMoveMask, &[P0], 2),              // M
    Timing::several(Class::VecInsert, 2, &[P15, P5], 3),       // M
    Timing::several(Class::VecExtract, 2, &[P0, P15], 3),      // M
    Timing::several(Class::VecTest, 2, &[P0, P5], 3), // M: 6 with a condition and a move back
    Timing::single(Class::VecSumDifferences, &[P5], 3),
    Timing::several(Class::VecMultiSad, 2, &[P15, P5], 4),
    Timing::several(Class::VecHorizontal, 3, &[P5, P5, P15], 5), // M
    Timing::several(Class::VecHorizontalInt, 3, &[P015, P15, P15], 2), // U, R
    Timing::single(Class::VecPopcnt, &[P5], 3),
    Timing::single(Class::VecLzcnt, &[P01], 4), // M
    Timing::several(Class::VecConflict, 24, &[P05; 8], 26),
    Timing::several(Class::VecString, 3, &[P0; 3], 10),
    Timing::several(Class::VecZeroUpper, 4, &[], 0),
    Timing::several(Class::Gather, 4, &[P0, P5, P0, P5], 8).chained(1), // R
    Timing::several(Class::Scatter, 8, &[P0, P5, P0, P5], 6),
    Timing::single(Class::MaskLogic, &[P0], 1),
    Timing::single(Class::MaskShift, &[P5], 4),
    Timing::single(Class::MaskTest, &[P0], 2),
    Timing::single(Class::MaskMove, &[P0], 1),
    Timing::single(Class::MaskFromGpr, &[P5], 2),
    Timing::single(Class::MaskToGpr, &[P0], 2),
    Timing::single(Class::MaskToVec, &[P05], 3),
    Timing::single(Class::FpAdd, &[P15], 3).chained(2), // M
    Timing::single(Class::FpMultiply, &[P01], 4),       // M
    Timing::single(Class::FpFma, &[P01], 4),            // M
    Timing::single(Class::FpMinMax, &[P01], 4),         // M
    Timing::single(Class::FpCompare, &[P01], 4),        // M
    Timing::single(Class::FpCompareFlags, &[P0], 2),    // M: 5 with a condition and a move back
    Timing::several(Class::FpDivide32, 1, &[FLOAT_DIVIDER, P0], 11).blocking(3),
    Timing::several(Class::FpDivide32Wide, 1, &[FLOAT_DIVIDER, P0], 11).blocking(5),
    Timing::several(Class::FpDivide64, 1, &[FLOAT_DIVIDER, P0], 13).blocking(4), // M
    Timing::several(Class::FpDivide64Wide, 1, &[FLOAT_DIVIDER, P0], 13).blocking(8),
    Timing::several(Class::FpSqrt32, 1, &[FLOAT_DIVIDER, P0], 12).blocking(3),
    Timing::several(Class::FpSqrt32Wide, 1, &[FLOAT_DIVIDER, P0], 12).blocking(6), // U, R
    Timing::several(Class::FpSqrt64, 1, &[FLOAT_DIVIDER, P0], 18).blocking(6), // R; M: 13 of 1.0
    Timing::several(Class::FpSqrt64Wide, 1, &[FLOAT_DIVIDER, P0], 18).blocking(9), // U, R
    Timing::single(Class::FpReciprocal, &[P0], 4),
    Timing::several(Class::FpRound, 2, &[P01, P01], 8),
    Timing::single(Class::FpManipulate, &[P01], 4),
    Timing::single(Class::FpConvert, &[P01], 4),
    Timing::several(Class::FpConvertWidth, 2, &[P01, P5], 5),
    Timing::several(Class::FpFromInt, 2, &[P01, P5], 6), // M: 12 with the way back
    Timing::several(Class::FpToInt, 2, &[P01, P0], 6),   // M
    Timing::several(Class::FpDot, 6, &[P01, P15, P15, P5], 14),
    Timing::single(Class::Aes, &[P01], 3), // M
    Timing::several(Class::AesKey, 14, &[P0, P5, P0, P5, P0, P5], 12),
    Timing::several(Class::AesInverse, 2, &[P01, P01], 6), // U, R
    Timing::single(Class::CarrylessMultiply, &[P5], 3),
    Timing::single(Class::Galois, &[P01], 3),
    Timing::single(Class::Sha256Rounds, &[P5], 4).blocking(2), // M
    Timing::several(Class::Sha256Message1, 4, &[P5, P015, P015, P5], 5), // M: 5.4
    Timing::several(Class::Sha256Message2, 4, &[P5, P015, P015, P5], 6), // M: 5.9
    Timing::single(Class::Sha1Rounds, &[P5], 4).blocking(3),   // M
    Timing::single(Class::Sha1Message, &[P5], 2),
    Timing::several(Class::MxcsrLoad, 4, &[P0, P6], 7),
    Timing::several(Class::MxcsrStore, 4, &[P0], 3),
    Timing::single(Class::X87Move, &[P05], 1),
    Timing::single(Class::X87Add, &[P5], 3),
    Timing::single(Class::X87Multiply, &[P0], 4),
    Timing::several(Class::X87Divide, 1, &[FLOAT_DIVIDER, P0], 15).blocking(5),
    Timing::single(Class::X87Compare, &[P5], 3),
    Timing::several(Class::X87Convert, 2, &[P5, P0], 6),
    Timing::several(Class::X87Control, 3, &[P5, P0, ALU], 6),
    Timing::several(Class::X87Transcendental, 60, &[P05; 8], 60),
];
