//! Counts of a core, in the terms that all sources share.

use topdown_core_model::{Counts, Slots};

use topdown_run::category::PerCategory;
use topdown_run::event::{Event, Events};
use topdown_run::sample::{Level1, Sample};

/// Returns the sample of a window that was traced to its end.
pub(super) fn sample_of(counts: &Counts, events: Events<u64>) -> Sample {
    let slots = &counts.slots;
    Sample {
        slots: Some(slots.total()),
        level1: Some(Level1 {
            slots: level1_slots(slots).map(|slots| slots as f64),
            smt_contention_slots: None,
        }),
        level2: Some(level2_slots(slots).map(|slots| slots as f64)),
        instructions: Some(counts.events.instructions),
        cycles: Some(counts.cycles),
        events: events_of(&counts.events)
            .into_iter()
            .chain(events.iter())
            .collect(),
        ..Sample::EMPTY
    }
}

/// Returns the fraction of a sample's slots that may have waited for memory: for a load or store,
/// the fetch of an instruction, or the resolution of a mispredicted branch.
pub(super) fn late_fraction(sample: &Sample) -> f64 {
    let late = sample.level2.map(|part| part.sum() - part.retiring);
    match (late, sample.slots) {
        (Some(late), Some(slots)) if slots > 0 => late / slots as f64,
        _ => 0.0,
    }
}

/// Returns the model's slots by category.
pub(super) fn level1_slots(slots: &Slots) -> PerCategory<u64> {
    PerCategory {
        retiring: slots.retiring(),
        bad_speculation: slots.bad_speculation(),
        frontend_bound: slots.frontend_bound(),
        backend_bound: slots.backend_bound(),
    }
}

/// Returns the slots of each category's measured part.
pub(super) fn level2_slots(slots: &Slots) -> PerCategory<u64> {
    PerCategory {
        retiring: slots.heavy_operations,
        bad_speculation: slots.branch_mispredicts,
        frontend_bound: slots.fetch_latency,
        backend_bound: slots.memory_bound,
    }
}

/// Maps the model's events to the names that all sources share.
fn events_of(counts: &topdown_core_model::Events) -> [(Event, u64); 18] {
    [
        (Event::Branches, counts.branches),
        (Event::BranchMispredicts, counts.mispredicted_branches),
        (Event::MachineClears, counts.machine_clears),
        (Event::L1iMisses, counts.l1i_misses),
        (Event::L1dMisses, counts.l1d_misses),
        (Event::L2Misses, counts.l2_misses),
        (Event::L3Misses, counts.l3_misses),
        (Event::DtlbWalks, counts.dtlb_walks),
        (Event::ItlbWalks, counts.itlb_walks),
        (Event::MemoryReadBytes, counts.memory_read_bytes),
        (Event::MemoryWriteBytes, counts.memory_write_bytes),
        (Event::BlockedLoads, counts.blocked_loads),
        (Event::AliasedLoads, counts.aliased_loads),
        (Event::SplitAccesses, counts.split_accesses),
        (Event::PageSplitStores, counts.page_split_stores),
        (Event::SplitLocks, counts.split_locks),
        (Event::SseAvxSwitches, counts.sse_avx_switches),
        (Event::UnknownInstructions, counts.unknown_instructions),
    ]
}
