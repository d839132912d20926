//! Metric groups of modelled cores, from the events that the model counts besides slots.
//!
//! They come with every sample of the model, so their groups need no separate launches.

use super::metric_group::{BACKEND_BOUND, BAD_SPECULATION, FRONTEND_BOUND, RETIRING};
use super::{CpuTable, Event, Level1Counting, Metric, MetricExample, MetricGroup, Node, Subject};
use topdown_run::category::Part;
use topdown_run::event;
use topdown_run::sample::{GroupCounts, Sample};

/// An event's code is its position in [`event::Event::ALL`]; instructions and cycles follow.
const BRANCHES: Event = Event::general("branches", event::Event::Branches as u64);
const MISPREDICTS: Event =
    Event::general("branch_mispredicts", event::Event::BranchMispredicts as u64);
const CLEARS: Event = Event::general("machine_clears", event::Event::MachineClears as u64);
const L1I_MISSES: Event = Event::general("l1i_misses", event::Event::L1iMisses as u64);
const L1D_MISSES: Event = Event::general("l1d_misses", event::Event::L1dMisses as u64);
const L2_MISSES: Event = Event::general("l2_misses", event::Event::L2Misses as u64);
const L3_MISSES: Event = Event::general("l3_misses", event::Event::L3Misses as u64);
const DTLB_WALKS: Event = Event::general("dtlb_walks", event::Event::DtlbWalks as u64);
const ITLB_WALKS: Event = Event::general("itlb_walks", event::Event::ItlbWalks as u64);
const READ_BYTES: Event = Event::general("memory_read_bytes", event::Event::MemoryReadBytes as u64);
const WRITE_BYTES: Event =
    Event::general("memory_write_bytes", event::Event::MemoryWriteBytes as u64);
const BLOCKED_LOADS: Event = Event::general("blocked_loads", event::Event::BlockedLoads as u64);
const ALIASED_LOADS: Event = Event::general("aliased_loads", event::Event::AliasedLoads as u64);
const SPLIT_ACCESSES: Event = Event::general("split_accesses", event::Event::SplitAccesses as u64);
const PAGE_SPLIT_STORES: Event =
    Event::general("page_split_stores", event::Event::PageSplitStores as u64);
const SPLIT_LOCKS: Event = Event::general("split_locks", event::Event::SplitLocks as u64);
const SSE_AVX_SWITCHES: Event =
    Event::general("sse_avx_switches", event::Event::SseAvxSwitches as u64);
const INSTRUCTIONS: Event = Event::general("instructions", event::Event::ALL.len() as u64);
const CYCLES: Event = Event::general("cycles", event::Event::ALL.len() as u64 + 1);

/// The groups of every modelled core.
pub static MODELLED: CpuTable = CpuTable {
    name: "modelled cores",
    models: &[],
    slots_per_cycle: None,
    general_counters: 18,
    sources: "topdown-core-model",
    level1: Level1Counting::Unsupported(
        "the model computes its categories; all of them are measured",
    ),
    metrics: None,
    groups: &[
        MetricGroup {
            name: "Branch_Effectiveness",
            subject: Subject::Branches,
            explains: &[Node::Part(Part::BranchMispredicts), FRONTEND_BOUND],
            events: &[INSTRUCTIONS, BRANCHES, MISPREDICTS],
            metrics: &[
                Metric::per_kilo("branch_mpki", MISPREDICTS, INSTRUCTIONS),
                Metric::percent(
                    "branch_misprediction_ratio",
                    MISPREDICTS,
                    BRANCHES,
                    "% of branches",
                ),
            ],
            example: MetricExample::new(&[1_000_000, 200_000, 5_000], &["5.0", "2.5"]),
        },
        MetricGroup {
            name: "Machine_Clears",
            subject: Subject::Clears,
            explains: &[BAD_SPECULATION],
            events: &[INSTRUCTIONS, CLEARS],
            metrics: &[Metric::per_kilo("machine_clears", CLEARS, INSTRUCTIONS)],
            example: MetricExample::new(&[1_000_000, 1_000], &["1.0"]),
        },
        MetricGroup {
            name: "ITLB_Effectiveness",
            subject: Subject::InstructionTlb,
            explains: &[Node::Part(Part::FetchLatency)],
            events: &[INSTRUCTIONS, ITLB_WALKS],
            metrics: &[Metric::per_kilo("itlb_mpki", ITLB_WALKS, INSTRUCTIONS)],
            example: MetricExample::new(&[1_000_000, 500], &["0.5"]),
        },
        MetricGroup {
            name: "L1I_Cache_Effectiveness",
            subject: Subject::InstructionCache,
            explains: &[Node::Part(Part::FetchLatency)],
            events: &[INSTRUCTIONS, L1I_MISSES],
            metrics: &[Metric::per_kilo("l1i_cache_mpki", L1I_MISSES, INSTRUCTIONS)],
            example: MetricExample::new(&[1_000_000, 12_500], &["12.5"]),
        },
        MetricGroup {
            name: "DTLB_Effectiveness",
            subject: Subject::DataTlb,
            explains: &[Node::Part(Part::MemoryBound)],
            events: &[INSTRUCTIONS, DTLB_WALKS],
            metrics: &[Metric::per_kilo("dtlb_mpki", DTLB_WALKS, INSTRUCTIONS)],
            example: MetricExample::new(&[1_000_000, 4_000], &["4.0"]),
        },
        MetricGroup {
            name: "L1D_Cache_Effectiveness",
            subject: Subject::DataCache,
            explains: &[Node::Part(Part::MemoryBound)],
            events: &[INSTRUCTIONS, L1D_MISSES],
            metrics: &[Metric::per_kilo("l1d_cache_mpki", L1D_MISSES, INSTRUCTIONS)],
            example: MetricExample::new(&[1_000_000, 30_000], &["30.0"]),
        },
        MetricGroup {
            name: "L2_Cache_Effectiveness",
            subject: Subject::L2Cache,
            explains: &[
                Node::Part(Part::MemoryBound),
                Node::Part(Part::FetchLatency),
            ],
            events: &[INSTRUCTIONS, L2_MISSES],
            metrics: &[Metric::per_kilo("l2_cache_mpki", L2_MISSES, INSTRUCTIONS)],
            example: MetricExample::new(&[1_000_000, 10_000], &["10.0"]),
        },
        MetricGroup {
            name: "LL_Cache_Effectiveness",
            subject: Subject::LastLevelCache,
            explains: &[Node::Part(Part::MemoryBound)],
            events: &[INSTRUCTIONS, L3_MISSES, READ_BYTES, WRITE_BYTES],
            metrics: &[
                Metric::per_kilo("ll_cache_mpki", L3_MISSES, INSTRUCTIONS),
                Metric::new("memory_read", "bytes per instruction", &|counts| {
                    counts[READ_BYTES] / counts[INSTRUCTIONS]
                }),
                Metric::new("memory_written", "bytes per instruction", &|counts| {
                    counts[WRITE_BYTES] / counts[INSTRUCTIONS]
                }),
            ],
            example: MetricExample::new(
                &[1_000_000, 6_000, 384_000, 64_000],
                &["6.0", "0.384", "0.064"],
            ),
        },
        MetricGroup {
            name: "Load_Blocks",
            subject: Subject::LoadBlocks,
            explains: &[Node::Part(Part::MemoryBound)],
            events: &[INSTRUCTIONS, BLOCKED_LOADS, ALIASED_LOADS, SPLIT_ACCESSES],
            metrics: &[
                Metric::per_kilo("blocked_loads", BLOCKED_LOADS, INSTRUCTIONS),
                Metric::per_kilo("aliased_loads", ALIASED_LOADS, INSTRUCTIONS),
                Metric::per_kilo("split_accesses", SPLIT_ACCESSES, INSTRUCTIONS),
            ],
            example: MetricExample::new(
                &[1_000_000, 20_000, 30_000, 100_000],
                &["20.0", "30.0", "100.0"],
            ),
        },
        // The model leaves out what these cost, so that no category shows them.
        MetricGroup {
            name: "Not_Modelled",
            subject: Subject::NotModelled,
            explains: &[RETIRING, BAD_SPECULATION, FRONTEND_BOUND, BACKEND_BOUND],
            events: &[
                INSTRUCTIONS,
                SSE_AVX_SWITCHES,
                SPLIT_LOCKS,
                PAGE_SPLIT_STORES,
            ],
            metrics: &[
                Metric::per_kilo("sse_avx_switches", SSE_AVX_SWITCHES, INSTRUCTIONS),
                Metric::per_kilo("split_locks", SPLIT_LOCKS, INSTRUCTIONS),
                Metric::per_kilo("page_split_stores", PAGE_SPLIT_STORES, INSTRUCTIONS),
            ],
            example: MetricExample::new(&[1_000_000, 2_000, 500, 4_000], &["2.0", "0.5", "4.0"]),
        },
        MetricGroup {
            name: "Operation_Mix",
            subject: Subject::OperationMix,
            explains: &[RETIRING, Node::Part(Part::CoreBound)],
            events: &[CYCLES, INSTRUCTIONS, BRANCHES],
            metrics: &[
                Metric::new("ipc", "instructions per cycle", &|counts| {
                    counts[INSTRUCTIONS] / counts[CYCLES]
                }),
                Metric::percent("branches", BRANCHES, INSTRUCTIONS, "% of instructions"),
            ],
            example: MetricExample::new(&[500_000, 1_000_000, 200_000], &["2.0", "20.0"]),
        },
    ],
};

/// Returns a model sample's counts for a group of [`MODELLED`], or `None` if some are unknown.
#[inline]
pub fn modelled_counts(group: &MetricGroup, sample: &Sample) -> Option<GroupCounts> {
    let count = |event: &Event| match event.config {
        config if config == INSTRUCTIONS.config => sample.instructions,
        config if config == CYCLES.config => sample.cycles,
        config => {
            let event = event::Event::ALL.get(usize::try_from(config).ok()?)?;
            sample.events.get(*event)
        }
    };
    let counts: Option<Vec<u64>> = group.events.iter().map(count).collect();
    GroupCounts::new(&counts?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use topdown_run::event::Events;

    #[test]
    fn counts_of_a_group_match_the_sample() {
        let sample = Sample {
            instructions: Some(1000),
            cycles: Some(400),
            events: Events::NONE.with(event::Event::Branches, 200),
            ..Sample::EMPTY
        };
        let counts = |name| modelled_counts(MODELLED.group(name).unwrap(), &sample);
        let mix = counts("Operation_Mix").unwrap();
        assert_eq!(mix.as_slice(), [400, 1000, 200]);
        // The mispredicts are unknown.
        assert_eq!(counts("Branch_Effectiveness"), None);
    }

    #[test]
    fn event_names_match_files() {
        for group in MODELLED.groups {
            for event in group.events {
                if let Some(shared) = event::Event::ALL.get(event.config as usize) {
                    assert_eq!(event.name, shared.name());
                }
            }
        }
    }
}
