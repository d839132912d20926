//! What a core is, as data.
//!
//! A core is one constant of type [`CoreParameters`] in one file under `cores/`; the model reads it
//! and knows no core by name. Each value there carries its source.

use crate::calendar::Ports;
use crate::instruction::Timing;

/// One core: widths, capacities, latencies, ports and the instruction table.
///
/// Unless said otherwise, times are in core cycles and capacities in entries. Entry counts of
/// predictors and sets of caches are powers of two.
#[derive(Clone, Debug)]
pub struct CoreParameters {
    /// Name of the core, such as `golden-cove`.
    pub name: &'static str,
    /// Raised with every change that changes counts on this core: of a value, of the table, or of
    /// the model itself. Results of different versions are not comparable.
    pub version: u32,
    /// Slots per cycle: how many operations the core renames and issues.
    pub width: u32,
    /// Operations retired per cycle.
    pub retire_width: u32,
    /// From an operation's issue to the earliest cycle in which a port executes it.
    pub issue_delay: u32,
    /// The frontend.
    pub frontend: Frontend,
    /// The branch predictors.
    pub prediction: Prediction,
    /// What rename does without a port.
    pub rename: Rename,
    /// Buffers that hold operations in flight.
    pub window: Window,
    /// Which ports do the fixed work of loads and stores.
    pub ports: MemoryPorts,
    /// The memory hierarchy.
    pub memory: Memory,
    /// The instruction table: one row for each [`crate::instruction::Class`], in its order.
    pub timings: &'static [Timing],
}

/// The frontend: from the address of the next instruction to the queue before rename.
#[derive(Clone, Debug)]
pub struct Frontend {
    /// Lines of the cache of decoded operations; each holds one aligned code window.
    pub uop_cache_lines: u32,
    /// Its associativity.
    pub uop_cache_ways: u32,
    /// Bytes of code for which one line stands; a power of two.
    pub uop_cache_window_bytes: u32,
    /// Operations per cycle from the cache of decoded operations.
    pub uop_cache_width: u32,
    /// Instructions per cycle through the decoders.
    pub decode_width: u32,
    /// Bytes per cycle through the decoders.
    pub decode_bytes: u32,
    /// Lost on the change from decoded operations to decoders.
    pub decode_switch_cycles: u32,
    /// An instruction of more slots than this comes from microcode...
    pub microcode_above_slots: u32,
    /// ... and loses this many cycles on entry.
    pub microcode_entry_cycles: u32,
    /// Operations between frontend and rename.
    pub queue_entries: u32,
    /// Taken branches per cycle that the frontend can follow.
    pub taken_branches_per_cycle: u32,
    /// Code lines by which branch prediction may run ahead of fetch, prefetching as it goes.
    pub runahead_lines: u32,
}

/// Branch prediction.
#[derive(Clone, Debug)]
pub struct Prediction {
    /// Entries of the bimodal table under the tagged ones.
    pub bimodal_entries: u32,
    /// The tagged tables above it, by ascending history.
    pub tagged_tables: [TaggedTable; TAGGED_TABLES],
    /// Entries of the table of indirect targets.
    pub indirect_entries: u32,
    /// Entries of the return stack.
    pub return_stack_entries: u32,
    /// Levels of the branch target buffer: entries, and fetch bubble of a taken branch found there.
    pub target_buffers: &'static [TargetBuffer],
    /// Fetch bubble of a branch that the first level knows with another target: a return to another
    /// place than the last time, an indirect jump.
    pub changed_target_cycles: u32,
    /// Fetch bubble of a direct taken branch that no level knows: the decoder finds it.
    pub unknown_target_cycles: u32,
    /// From the resolution of a mispredicted branch to the issue of the first right operation.
    pub redirect_cycles: u32,
    /// Of these, the cycles in which the allocator recovers; they count as bad speculation, the
    /// rest as frontend bound.
    pub recovery_cycles: u32,
}

/// How many tagged tables the direction predictor has.
pub const TAGGED_TABLES: usize = 6;

/// A table of directions of conditional branches by the path that led to them.
#[derive(Clone, Copy, Debug)]
pub struct TaggedTable {
    /// Branches and paths that it holds.
    pub entries: u32,
    /// How many taken branches of the path it sees, at most 500.
    pub history_branches: u32,
}

impl TaggedTable {
    /// A table with so many entries and so long a history.
    pub const fn new(entries: u32, history_branches: u32) -> Self {
        TaggedTable {
            entries,
            history_branches,
        }
    }
}

/// One level of the branch target buffer.
#[derive(Clone, Copy, Debug)]
pub struct TargetBuffer {
    /// Branches it holds.
    pub entries: u32,
    /// Cycles without fetch after a taken branch found at this level.
    pub bubble_cycles: u32,
}

/// What happens at rename.
#[derive(Clone, Debug)]
pub struct Rename {
    /// Register-to-register moves of general registers take no port.
    pub eliminates_integer_moves: bool,
    /// Register-to-register moves of vector registers take no port.
    pub eliminates_vector_moves: bool,
    /// Additions of a small immediate to a 64-bit register (add, sub, inc, dec, lea) have no latency
    /// and take no port.
    pub eliminates_immediate_adds: bool,
    /// A compare and the conditional jump after it take one slot.
    pub fuses_compare_and_branch: bool,
    /// Arithmetic (add, sub, and, inc, dec) also fuses with the jump after it.
    pub fuses_arithmetic_and_branch: bool,
    /// Which loads of what was just stored take no latency.
    pub memory_renaming: MemoryRenaming,
    /// Extra slots of an instruction that reads, changes and writes memory.
    pub read_modify_write_extra_slots: u32,
}

/// Which loads take the register that a store before them put there instead of its memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemoryRenaming {
    /// Integer loads whose bytes are the first ones of a store, where neither has an index register
    /// and the store does nothing but store.
    SimpleAddress,
    /// Any integer load that finds all of its bytes in one store of the same width.
    Predicted,
}

/// Buffers of operations in flight.
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
    /// Operations that wait for execution, by pool.
    pub scheduler_entries: [u32; SCHEDULERS],
    /// The pool in which integer operations wait.
    pub integer_scheduler: usize,
    /// The pool in which vector operations wait.
    pub vector_scheduler: usize,
    /// The pool in which loads wait.
    pub load_scheduler: usize,
    /// The pool in which stores wait.
    pub store_scheduler: usize,
    /// Stores written to the L1 per cycle.
    pub store_commit_width: u32,
    /// Lines to which the stores of one cycle may go.
    pub store_commit_lines: u32,
    /// Lines, from that of the oldest store, that are fetched at the same time: as many runs of
    /// stores to one line each.
    pub store_fetch_ahead: u32,
}

/// How many scheduler pools there are room for; a core may use fewer.
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
    /// Bytes of one such step; a power of two up to 64.
    pub string_step_bytes: u32,
    /// Ports that cannot execute vector operations while these are 64 bytes wide.
    pub lost_at_512: Ports,
}

/// The memory hierarchy.
#[derive(Clone, Debug)]
pub struct Memory {
    /// L1 instruction cache. Its latency is hidden in the frontend's depth.
    pub l1i: Cache,
    /// L1 data cache; latency of a general-register load.
    pub l1d: Cache,
    /// Added to the latency of a load whose address waits for a scaled index.
    pub index_extra_cycles: u32,
    /// Added to the latency of a load into a vector register.
    pub vector_load_extra_cycles: u32,
    /// Further operations on the load ports of a load that crosses a line.
    pub split_load_extra_operations: u32,
    /// L2.
    pub l2: Cache,
    /// L3.
    pub l3: Cache,
    /// Latency of a load from memory.
    pub memory_cycles: u32,
    /// Cycles per line between L2 and L1, either way.
    pub l2_line_cycles: u32,
    /// Cycles for which a changed line from the L1 keeps the L2 from serving others.
    pub l2_write_cycles: u32,
    /// Parts of the L2 that work side by side, by the low bits of the line; 0 where they are not
    /// felt. A line that comes takes one of them for `l2_bank_cycles`, one that is written for as
    /// much longer as it takes the whole.
    pub l2_banks: u32,
    /// See `l2_banks`.
    pub l2_bank_cycles: u32,
    /// Cycles per line of code from the L2; 0 where code is as fast as data.
    pub code_line_cycles: u32,
    /// Cycles per line from L3 to L2; written lines go back beside them.
    pub l3_line_cycles: u32,
    /// Cycles per line between L3 and memory, either way.
    pub memory_line_cycles: u32,
    /// Lines that may be on their way into the L1 data cache.
    pub l1_fill_buffers: u32,
    /// Lines that may be on their way into the L2.
    pub l2_fill_buffers: u32,
    /// From the data of a store to the result of a load that takes it from the store queue.
    pub forward_cycles: u32,
    /// Added when a load overlaps a store that cannot forward: it waits for the write.
    pub blocked_forward_cycles: u32,
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
    /// Lines by which the per-page streamer runs ahead, into the L2; 0 switches it off.
    pub stream_ahead_lines: u32,
    /// Lines by which the per-instruction prefetcher runs ahead, into the L1; 0 switches it off.
    pub stride_ahead_lines: u32,
    /// Whether stores, too, teach and trigger it.
    pub stride_of_stores: bool,
    /// Whether the line of a store is brought into the L2 as soon as the store retires, not only
    /// when it is among those that may be fetched into the L1.
    pub early_lines_of_stores: bool,
}

/// One cache: 64-byte lines, least recently used replaced.
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
