//! Mechanisms that a simpler core lacks, each to be switched off by itself.

use topdown_core_model::{
    Atomics, Binding, CoreParameters, INTEGER_PORTS, MemoryRenaming, Ports, StoreDataWaits,
    VectorSchedulers,
};

/// Something that a core may have.
pub struct Mechanism {
    /// As on the command line.
    pub name: &'static str,
    switch_off: fn(&mut CoreParameters),
}

/// Returns the core without a mechanism, or `None` if it has no such.
pub fn without(core: &CoreParameters, mechanism: &Mechanism) -> Option<&'static CoreParameters> {
    let mut simpler = core.clone();
    (mechanism.switch_off)(&mut simpler);
    let differs = format!("{simpler:?}") != format!("{core:?}");
    // A process runs a few dozen cores at most.
    differs.then(|| &*Box::leak(Box::new(simpler)))
}

/// Returns the mechanism with this name.
pub fn by_name(name: &str) -> Option<&'static Mechanism> {
    ALL.iter().find(|mechanism| mechanism.name == name)
}

macro_rules! mechanisms {
    ($($name:literal: $core:ident => $change:expr;)+) => {
        /// All of them.
        pub const ALL: &[Mechanism] = &[$(Mechanism {
            name: $name,
            switch_off: |$core| $change,
        }),+];
    };
}

mechanisms! {
    "first-level": core => core.prediction.first_level = None;
    "parts-of-tables": core => {
        core.prediction.tagged_tables.iter_mut().for_each(|table| table.branch_bits = 0);
    };
    "ageing": core => core.prediction.ageing_allocations = None;
    "numbered-branches": core => core.prediction.numbers_branches = false;
    "changed-targets": core => core.prediction.changed_target_cycles = 0;
    "return-bubbles": core => core.prediction.return_cycles = 0;
    "wrong-path": core => core.prediction.wrong_path_skip_bytes = 0;
    "bubbles-of-prediction": core => core.frontend.indirect_bubbles_delay_prediction = false;
    "return-prediction": core => core.frontend.return_prediction_cycles = 0;
    "code-prefetch": core => core.frontend.runahead_lines = 1;
    "integer-moves": core => core.rename.eliminates_integer_moves = false;
    "byte-extensions": core => core.rename.eliminates_byte_extensions = false;
    "crowded-branches": core => core.frontend.crowded_branches = None;
    "own-moves": core => core.rename.eliminates_own_moves = true;
    "vector-moves": core => core.rename.eliminates_vector_moves = false;
    "immediate-adds": core => core.rename.eliminates_immediate_adds = false;
    "fused-compares": core => core.rename.fuses_compare_and_branch = false;
    "fused-arithmetic": core => core.rename.fuses_arithmetic_and_branch = false;
    "fused-moves": core => core.rename.fuses_moves = false;
    "memory-renaming": core => match &mut core.rename.memory_renaming {
        MemoryRenaming::SimpleAddress(order) => order.safe_executions = 0,
        MemoryRenaming::Learnt(order) => (order.doubt_at_first, order.doubt_limit) = (255, 255),
    };
    "condition-after-logic": core => core.rename.condition_after_logic_cycles = 0;
    "read-modify-write-slots": core => core.rename.read_modify_write_extra_slots = 0;
    "last-slots": core => core.rename.restricts_last_slots = false;
    "retire-cycles": core => core.retire_cycles = 0;
    "scheduler-release": core => core.window.scheduler_release_cycles = 0;
    "vector-schedulers": core => core.window.vector_schedulers = VectorSchedulers::Shared;
    "store-data-waits": core => core.window.store_data_waits = StoreDataWaits::WithAddress;
    "store-lines": core => core.window.store_commit_lines = core.window.store_commit_width;
    "store-fetch-ahead": core => core.window.store_fetch_ahead = 1;
    "vain-ports": core => core.ports.closed_by_busy = [0; INTEGER_PORTS + 1];
    "expected-hits": core => core.ports.expects_hits = false;
    "load-banks": core => core.ports.loads_per_bank = 0;
    "short-strings": core => core.ports.short_string_bytes = 0;
    "repeated-loads": core => core.ports.repeats_missed_loads = false;
    "binding": core => core.ports.binding = Binding::None;
    "ports-at-512": core => core.ports.lost_at_512 = Ports(0);
    "index-cycles": core => core.memory.index_extra_cycles = 0;
    "vector-load-cycles": core => core.memory.vector_load_extra_cycles = 0;
    "vector-store-cycles": core => core.memory.vector_store_extra_cycles = 0;
    "sign-extension": core => core.memory.sign_extension_extra_cycles = 0;
    "returns-by-path": core => core.prediction.predicts_returns_by_path = false;
    "split-load-cycles": core => core.memory.split_load_extra_cycles = 1;
    "page-splits": core => core.memory.page_split_store_cycles = 0;
    "split-loads": core => core.memory.split_load_extra_operations = 0;
    "l2-writes": core => core.memory.l2_write_cycles = 0;
    "l2-fills": core => core.memory.l2_fills_per_request = 0;
    "l2-banks": core => core.memory.l2_banks = 0;
    "code-lines": core => core.memory.code_line_cycles = 0;
    "split-forwards": core => core.memory.split_forward_extra_cycles = 0;
    "blocked-forwards": core => core.memory.blocked_forward_cycles = 0;
    "atomic-order": core => core.memory.atomics = Atomics::HoldLoads;
    "aliased-loads": core => core.memory.aliased_load_extra_cycles = 0;
    "streamer": core => core.memory.stream_ahead_lines = 0;
    "strides": core => core.memory.stride_ahead_lines = 0;
    "strides-of-stores": core => core.memory.stride_of_stores = false;
}
