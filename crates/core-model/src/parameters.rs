//! The description of a core, as data.
//!
//! A core is one constant of type [`CoreParameters`] in its own file under `cores/`; the model
//! reads it and refers to no core by name. Each value states its source.

use crate::class::Timing;
use crate::ports::{INTEGER_PORTS, Ports};

/// One core: widths, capacities, latencies, ports and the instruction table.
///
/// Unless stated otherwise, times are in core cycles and capacities in entries. Entry counts of
/// predictors and sets of caches are powers of two.
#[derive(Clone, Debug)]
pub struct CoreParameters {
    /// Name of the core, such as `golden-cove`.
    pub name: &'static str,
    /// Incremented with every change that affects counts on this core: a value, the table, or the
    /// model itself. Results of different versions are not comparable.
    pub version: u32,
    /// Slots per cycle: the number of operations the core renames and issues.
    pub width: u32,
    /// Operations retired per cycle.
    pub retire_width: u32,
    /// Cycles from the end of an instruction and of all before it to its retirement, when its
    /// entries in buffers are free and its stores may be written.
    pub retire_cycles: u32,
    /// Cycles from an operation's issue to its earliest execution on a port.
    pub issue_delay: u32,
    /// The frontend.
    pub frontend: Frontend,
    /// The branch predictors.
    pub prediction: Prediction,
    /// What rename handles without a port.
    pub rename: Rename,
    /// Buffers that hold operations in flight.
    pub window: Window,
    /// The ports that do the fixed work of loads and stores.
    pub ports: MemoryPorts,
    /// The memory hierarchy.
    pub memory: Memory,
    /// The instruction table: one row for each [`crate::class::Class`], in its order.
    pub timings: &'static [Timing],
}

/// The frontend: from the address of the next instruction to the queue before rename.
#[derive(Clone, Debug)]
pub struct Frontend {
    /// Lines of the cache of decoded operations; each holds one aligned code window.
    pub uop_cache_lines: u32,
    /// Its associativity.
    pub uop_cache_ways: u32,
    /// Bytes of code that one line covers; a power of two.
    pub uop_cache_window_bytes: u32,
    /// What of it is read per cycle.
    pub uop_cache_reads: UopCacheReads,
    /// Instructions per cycle through the decoders.
    pub decode_width: u32,
    /// Bytes per cycle through the decoders.
    pub decode_bytes: u32,
    /// An instruction of more slots than this comes from microcode, so many in a cycle.
    pub microcode_above_slots: u32,
    /// Operations between frontend and rename.
    pub queue_entries: u32,
    /// Taken branches the frontend can follow per cycle. Where entries of the cache of decoded
    /// operations are read, they decide instead.
    pub taken_branches_per_cycle: u32,
    /// Taken branches that prediction, which runs ahead of fetch, can follow per cycle; a call
    /// takes a whole cycle.
    pub predicted_branches_per_cycle: u32,
    /// Maximum number of conditional ones among these; at least 1.
    pub predicted_conditions_per_cycle: u32,
    /// Cycles of prediction that a return takes.
    pub return_prediction_cycles: u32,
    /// Cycles by which prediction may be ahead of fetch when it follows a branch.
    pub prediction_ahead_cycles: u32,
    /// Whether the bubble of an indirect branch delays prediction, which may be ahead of fetch,
    /// instead of fetch.
    pub indirect_bubbles_delay_prediction: bool,
    /// Number of code lines by which branch prediction may run ahead of fetch, prefetching as it
    /// goes.
    pub runahead_lines: u32,
    /// What taken branches cost that lie close together, if anything.
    pub crowded_branches: Option<CrowdedBranches>,
}

/// Taken branches that lie close together.
#[derive(Clone, Debug)]
pub struct CrowdedBranches {
    /// Taken branches that may end in 32 bytes of code whose decoded operations are kept.
    pub kept: u32,
    /// Eighths of a cycle that each of more costs for each of these.
    pub eighths: u32,
}

/// How atomic operations keep the order of loads and stores.
#[derive(Clone, Copy, Debug)]
pub enum Atomics {
    /// They begin as soon as they can, and all later loads wait until they have written.
    HoldLoads,
    /// They begin when everything before them is complete and all earlier stores are written. One
    /// that finds some unwritten tries again `retry_cycles` later. Only loads of what they write
    /// wait.
    BeginLast {
        /// See above.
        retry_cycles: u32,
        /// Cycles from the write to such a load.
        reload_cycles: u32,
    },
}

/// What is read per cycle from the cache of decoded operations.
#[derive(Clone, Debug)]
pub enum UopCacheReads {
    /// This many operations.
    Operations(u32),
    /// Entries.
    Entries(DecodedEntries),
}

/// How entries of the cache of decoded operations are read: two that begin in the same line of code
/// per cycle.
#[derive(Clone, Debug)]
pub struct DecodedEntries {
    /// Instructions in an entry.
    pub instructions: u32,
    /// Cycles until the next two entries of the same line are read.
    pub again_cycles: u32,
    /// In how many of 64 cases the cycles until then serve the first entry after a taken branch.
    pub idle_used_of_64: u32,
    /// In how many of 64 cases an entry that is read alone before a taken branch is read together
    /// with the first one after it.
    pub shared_of_64: u32,
}

/// Branch prediction.
#[derive(Clone, Debug)]
pub struct Prediction {
    /// Entries of the bimodal table under the tagged ones.
    pub bimodal_entries: u32,
    /// The tagged tables above it, by increasing history length.
    pub tagged_tables: [TaggedTable; TAGGED_TABLES],
    /// After this many new entries all have to become useful again, if ever.
    pub ageing_allocations: Option<u32>,
    /// What predicts directions until the tables know, where that takes cycles of prediction.
    pub first_level: Option<FirstLevel>,
    /// Entries of the table of indirect targets.
    pub indirect_entries: u32,
    /// Number of taken branches of the path that select the target of an indirect branch, at most
    /// 500.
    pub indirect_history_branches: u32,
    /// Whether branches and targets are numbered in the order in which they were first executed,
    /// instead of known by their addresses, which a linker chooses.
    pub numbers_branches: bool,
    /// Entries of the return stack.
    pub return_stack_entries: u32,
    /// Whether returns are predicted as other indirect branches while the stack is empty.
    pub predicts_returns_by_path: bool,
    /// Levels of the branch target buffer: entries, and fetch bubble of a taken branch found there.
    pub target_buffers: &'static [TargetBuffer],
    /// Fetch bubble of a return or an indirect branch that the first level knows with a different
    /// target than this time.
    pub changed_target_cycles: u32,
    /// Fetch bubble of a return to any target.
    pub return_cycles: u32,
    /// Fetch bubble of a direct taken branch that is in no level: the decoder finds it.
    pub unknown_target_cycles: u32,
    /// From the resolution of a mispredicted branch to the issue of the first right-path operation.
    pub redirect_cycles: u32,
    /// The part of these in which the allocator recovers. They count as bad speculation, the rest
    /// as frontend bound.
    pub recovery_cycles: u32,
    /// The furthest forward target, in bytes, of a conditional branch whose paths reconverge so
    /// soon that the wrong one loads what the right one needs; 0 if it loads nothing.
    pub wrong_path_skip_bytes: u32,
    /// Slots of a wrong path that execute, of those that the right path repeats.
    pub wrong_path_slots: u32,
}

/// A predictor of directions that answers at once, and is corrected by the tables.
#[derive(Clone, Copy, Debug)]
pub struct FirstLevel {
    /// Number of combinations of a branch and outcomes before it that it holds.
    pub entries: u32,
    /// Number of outcomes of conditional branches that it sees, below 64.
    pub history_outcomes: u32,
    /// Cycles for which prediction, which may be ahead of fetch, goes back where a branch is not
    /// taken after all...
    pub correction_cycles: u32,
    /// ... and where it is.
    pub taken_correction_cycles: u32,
}

/// The number of tagged tables in the direction predictor.
pub const TAGGED_TABLES: usize = 6;

/// A table that predicts conditional branches by the path that led to them.
#[derive(Clone, Copy, Debug)]
pub struct TaggedTable {
    /// Number of combinations of branch and path it holds.
    pub entries: u32,
    /// Number of taken branches of the path that it sees, at most 500.
    pub history_branches: u32,
    /// Bits of an entry's place that the branch gives and the path does not, at most 2: with none,
    /// a branch may use the whole table, with one a half, not all the same half.
    pub branch_bits: u32,
}

impl TaggedTable {
    /// Creates a table with this many entries and this history length.
    pub const fn new(entries: u32, history_branches: u32) -> Self {
        TaggedTable {
            entries,
            history_branches,
            branch_bits: 0,
        }
    }

    /// Returns this table with so many bits given by the branch.
    pub const fn with_branch_bits(self, branch_bits: u32) -> Self {
        TaggedTable {
            branch_bits,
            ..self
        }
    }
}

/// One level of the branch target buffer.
#[derive(Clone, Copy, Debug)]
pub struct TargetBuffer {
    /// Number of branches it holds.
    pub entries: u32,
    /// Cycles without fetch after a taken branch found at this level.
    pub bubble_cycles: u32,
}

/// What happens at rename.
#[derive(Clone, Debug)]
pub struct Rename {
    /// Whether moves between general registers need no port.
    pub eliminates_integer_moves: bool,
    /// Whether one of them may extend a register with zeros in place, as `mov eax, eax`.
    pub eliminates_own_moves: bool,
    /// Whether extending the low byte of another register with zeros needs no port.
    pub eliminates_byte_extensions: bool,
    /// Whether moves between vector registers need no port.
    pub eliminates_vector_moves: bool,
    /// Whether additions of a small immediate to a 64-bit register (add, sub, inc, dec, lea) have
    /// no latency and need no port.
    pub eliminates_immediate_adds: bool,
    /// Whether a compare and the conditional jump after it take one slot.
    pub fuses_compare_and_branch: bool,
    /// Whether arithmetic (add, sub, and, inc, dec) also fuses with the jump after it.
    pub fuses_arithmetic_and_branch: bool,
    /// The ports of such a pair.
    pub arithmetic_and_branch: Ports,
    /// Whether a move between general registers fuses with a simple operation on its destination
    /// right after it.
    pub fuses_moves: bool,
    /// Which loads of just-stored values have no latency.
    pub memory_renaming: MemoryRenaming,
    /// Added to the latency of a conditional move or set that comes within three instructions after
    /// the logic operation whose flags it reads.
    pub condition_after_logic_cycles: u8,
    /// Extra slots of an instruction that reads, modifies and writes memory.
    pub read_modify_write_extra_slots: u32,
    /// Whether some instructions cannot issue in the last slots of a cycle: those of two slots, and
    /// those that access memory, not in the last one; those of two slots that take something from a
    /// vector register to general ones or the flags, not in the last two.
    pub restricts_last_slots: bool,
    /// Whether microcode saves the upper halves of vector registers before legacy SSE code, which
    /// is counted, but takes no time here.
    pub saves_upper_halves: bool,
}

/// Which loads take the register that an earlier store put there, instead of its memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemoryRenaming {
    /// Integer loads of a store's first bytes, but of two, if neither has an index register and the
    /// load is not part of a change by a register.
    SimpleAddress(Disambiguation),
    /// Integer loads of at least four bytes that have read the same store before, counted from the
    /// load back, from its first byte on.
    Learnt(LearntOrder),
}

/// How a core counts whether a load may run ahead of earlier stores whose addresses are unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Disambiguation {
    /// In how many executions a load waits for the addresses of all earlier stores after it
    /// conflicted with one that it ran ahead of, or would have.
    pub safe_executions: u8,
    /// After how many discarded loads all loads wait...
    pub discards: u8,
    /// ... and how many in a row must run ahead rightly for one of these to be forgotten.
    pub right_for_one: u8,
}

/// How a core learns which loads read earlier stores. Numbers of executions of a load, at most 255.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LearntOrder {
    /// In how many executions that would run ahead a load waits for the addresses of all earlier
    /// stores after it ran ahead of one that it depended on; as many more if it reads such a store
    /// meanwhile...
    pub cautious_executions: u8,
    /// ... up to this many.
    pub cautious_limit: u8,
    /// Number of times that a load must read the store that it expects before it takes its
    /// register...
    pub doubt_at_first: u8,
    /// ... how much oftener for each time that it does not meanwhile...
    pub doubt_more: u8,
    /// ... how often at most...
    pub doubt_limit: u8,
    /// ... and how often after it expected one store and read another.
    pub doubt_after_another: u8,
    /// Cycles from the last address that a load waits for to its execution.
    pub wait_cycles: u8,
    /// Whether only moves take a store's register, and instructions that write back to its place,
    /// but not those that compute with what they load.
    pub moves_only: bool,
}

/// Buffers for operations in flight.
#[derive(Clone, Debug)]
pub struct Window {
    /// Reorder buffer.
    pub reorder_entries: u32,
    /// Loads that have not retired.
    pub load_entries: u32,
    /// Stores that have not been written to the L1.
    pub store_entries: u32,
    /// General registers for results in flight.
    pub integer_registers: u32,
    /// Vector registers for results in flight.
    pub vector_registers: u32,
    /// Operations waiting for execution, by pool.
    pub scheduler_entries: [u32; SCHEDULERS],
    /// Cycles for which an operation keeps its entry after it began to execute.
    pub scheduler_release_cycles: u32,
    /// The pool in which integer operations wait.
    pub integer_scheduler: usize,
    /// Where vector operations wait.
    pub vector_schedulers: VectorSchedulers,
    /// The pool in which loads wait.
    pub load_scheduler: usize,
    /// The pool in which stores wait for their addresses.
    pub store_scheduler: usize,
    /// Where stores wait for their data.
    pub store_data_waits: StoreDataWaits,
    /// Stores written to the L1 per cycle.
    pub store_commit_width: u32,
    /// Number of lines that the stores of one cycle may write.
    pub store_commit_lines: u32,
    /// Number of lines fetched at the same time, from that of the oldest store: one for each run of
    /// stores to one line.
    pub store_fetch_ahead: u32,
}

/// Where vector operations wait for execution.
#[derive(Clone, Copy, Debug)]
pub enum VectorSchedulers {
    /// In the pool of integer operations.
    Shared,
    /// In schedulers of their own. Vector operations enter these in order and in packets, from a
    /// queue in which nothing executes.
    Queued {
        /// Operations in the queue.
        queue_entries: u32,
        /// Cycles from leaving the queue until its entry is free.
        transfer_cycles: u32,
        /// Operations waiting for pipes of arithmetic.
        arithmetic_entries: u32,
        /// Operations waiting for the pipes of vector stores.
        store_entries: u32,
    },
}

/// Where stores wait for their data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoreDataWaits {
    /// Where they wait for their addresses.
    WithAddress,
    /// Where operations on such data wait.
    WithOperations,
}

/// Number of scheduler pools that fit; a core may use fewer.
pub const SCHEDULERS: usize = 3;

/// The ports that serve memory operands.
#[derive(Clone, Debug)]
pub struct MemoryPorts {
    /// Loads into general registers.
    pub load: Ports,
    /// Loads of up to 32 bytes into vector registers.
    pub load_vector: Ports,
    /// Loads of 64 bytes.
    pub load_512: Ports,
    /// Addresses of stores.
    pub store_address: Ports,
    /// Data of stores from general registers.
    pub store_data: Ports,
    /// Data of stores of up to 32 bytes from vector registers.
    pub store_data_vector: Ports,
    /// Data of stores of 64 bytes.
    pub store_data_512: Ports,
    /// The port that paces repeated string moves: one step per cycle.
    pub string_step: Ports,
    /// Bytes per such step; a power of two up to 64.
    pub string_step_bytes: u32,
    /// Slots of such a step.
    pub string_step_slots: u8,
    /// Bytes up to which a string instruction on bytes is short...
    pub short_string_bytes: u32,
    /// ... and the slots that the start of others takes more.
    pub long_string_slots: u8,
    /// In how many of 13 cases an operation of the integer ports, whose last operand has become
    /// ready since it was issued, takes a free port in vain and tries again in the next cycle, by
    /// how many ports are busy. They are the [`INTEGER_PORTS`] lowest.
    pub closed_by_busy: [u8; INTEGER_PORTS + 1],
    /// Whether operations that wait for a load take a port, in vain, when they would have executed
    /// if it had hit the L1.
    pub expects_hits: bool,
    /// Loads of a cycle whose addresses are equal in bits 3 to 5; 0 if it does not matter.
    pub loads_per_bank: u32,
    /// Whether a load that misses the L1 takes a port once more when its line arrives.
    pub repeats_missed_loads: bool,
    /// Whether operations of the five lowest ports are bound to one of them when they issue, and
    /// to which. Then no set contains some of these and others.
    pub binding: Binding,
    /// Ports that cannot execute vector operations while these are 64 bytes wide.
    pub lost_at_512: Ports,
}

/// To which of its ports an operation is bound when it issues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Binding {
    /// To none: it takes whichever is free when it is ready.
    None,
    /// To that for which fewest operations wait.
    EmptiestScheduler,
    /// The first operation of a cycle to the first of its ports, the next one to the next.
    RoundRobin {
        /// Operations that can wait for each port.
        entries: u8,
        /// A port is passed over if this many more operations wait for it than for another.
        lead: u8,
    },
}

/// The memory hierarchy.
#[derive(Clone, Debug)]
pub struct Memory {
    /// L1 instruction cache. Its latency is hidden in the frontend's depth.
    pub l1i: Cache,
    /// L1 data cache; latency of a general-register load.
    pub l1d: Cache,
    /// Added to the latency of a load whose address waits for its index.
    pub index_extra_cycles: u32,
    /// Added to the latency of a load into a vector register.
    pub vector_load_extra_cycles: u32,
    /// Added until what a vector register stored can be forwarded to a load.
    pub vector_store_extra_cycles: u32,
    /// Added to the latency of a load that extends the sign of what it loads.
    pub sign_extension_extra_cycles: u32,
    /// Additional load-port operations for a load that crosses a line.
    pub split_load_extra_operations: u32,
    /// Added to the latency of such a load.
    pub split_load_extra_cycles: u32,
    /// Cycles that writing a store takes longer which crosses a page.
    pub page_split_store_cycles: u32,
    /// L2.
    pub l2: Cache,
    /// L3.
    pub l3: Cache,
    /// Latency of a load from memory.
    pub memory_cycles: u32,
    /// Latency of a load of a line that another core of the same die wrote last.
    pub transfer_cycles: u32,
    /// Cycles per line between L2 and L1, either way.
    pub l2_line_cycles: u32,
    /// Cycles for which a modified line from the L1 keeps the L2 from serving others.
    pub l2_write_cycles: u32,
    /// Lines from below that together keep the L2 from serving one request; 0 if they do not.
    pub l2_fills_per_request: u32,
    /// Parts of the L2 that work in parallel, selected by the low bits of the line; 0 if they have
    /// no effect. An incoming line occupies its part for `l2_bank_cycles`, and a written one
    /// `l2_write_cycles` times as long.
    pub l2_banks: u32,
    /// See `l2_banks`.
    pub l2_bank_cycles: u32,
    /// Cycles per line of code from the L2; 0 if code is as fast as data.
    pub code_line_cycles: u32,
    /// Cycles per line from L3 to L2; written lines go back in parallel.
    pub l3_line_cycles: u32,
    /// Cycles per line between L3 and memory, either way.
    pub memory_line_cycles: u32,
    /// Number of lines that may be on their way into the L1 data cache.
    pub l1_fill_buffers: u32,
    /// Number of lines that may be on their way into the L2.
    pub l2_fill_buffers: u32,
    /// From a store's data to the result of a load that takes it from the store queue.
    pub forward_cycles: u32,
    /// Added to this if the load crosses a line.
    pub split_forward_extra_cycles: u32,
    /// Added if a load overlaps a store that cannot forward: it waits for the write.
    pub blocked_forward_cycles: u32,
    /// How atomic operations keep the order of loads and stores.
    pub atomics: Atomics,
    /// Cycles that a load takes longer which does not read an earlier store in flight, but has the
    /// low twelve bits of its address.
    pub aliased_load_extra_cycles: u32,
    /// First-level data TLB: entries and ways.
    pub dtlb: Tlb,
    /// First-level instruction TLB.
    pub itlb: Tlb,
    /// Second-level TLB.
    pub stlb: Tlb,
    /// Latency of a hit in the second level.
    pub stlb_cycles: u32,
    /// Latency of a page walk.
    pub walk_cycles: u32,
    /// Number of lines by which the per-page streamer runs ahead, into the L2; 0 disables it.
    pub stream_ahead_lines: u32,
    /// Number of lines by which the per-instruction prefetcher runs ahead, into the L1; 0 disables
    /// it.
    pub stride_ahead_lines: u32,
    /// Whether stores also train and trigger it.
    pub stride_of_stores: bool,
}

/// One cache, with 64-byte lines.
#[derive(Clone, Copy, Debug)]
pub struct Cache {
    /// Capacity in bytes.
    pub bytes: u32,
    /// Associativity.
    pub ways: u32,
    /// Latency of a load that hits here, from its issue.
    pub cycles: u32,
}

/// One TLB level of 4 KiB pages.
#[derive(Clone, Copy, Debug)]
pub struct Tlb {
    /// Pages it holds.
    pub entries: u32,
    /// Associativity.
    pub ways: u32,
}
