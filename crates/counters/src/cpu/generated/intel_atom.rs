//! Made by `cargo xtask cpus` from `intel_atom.toml` and `intel_atom.tsv` in `crates/counters/cpus`.

use super::prelude::*;

pub const CYCLES: Event = Event::new("CPU_CLK_UNHALTED.CORE", 0x3c, Counter::FixedCycles);
pub const INSTRUCTIONS: Event = Event::new("INST_RETIRED.ANY", 0xc0, Counter::Fixed);
pub const UOPS_RETIRED: Event = Event::new("UOPS_RETIRED.ANY", 0xc2, Counter::General);
pub const ISSUED: Event = Event::new("UOPS_ISSUED.ANY", 0xe, Counter::General);
pub const RECOVERY: Event = Event::new("ISSUE_SLOTS_NOT_CONSUMED.RECOVERY", 0x2ca, Counter::General);
pub const NOT_DELIVERED: Event = Event::new("UOPS_NOT_DELIVERED.ANY", 0x9c, Counter::General);
pub const BRANCHES: Event = Event::new("BR_INST_RETIRED.ALL_BRANCHES", 0xc4, Counter::General);
pub const MISPREDICTED: Event = Event::new("BR_MISP_RETIRED.ALL_BRANCHES", 0xc5, Counter::General);
pub const MACHINE_CLEARS: Event = Event::new("MACHINE_CLEARS.ALL", 0xc3, Counter::General);
pub const SELF_MODIFYING: Event = Event::new("MACHINE_CLEARS.SMC", 0x1c3, Counter::General);
pub const ITLB_MISS: Event = Event::new("ITLB.MISS", 0x481, Counter::General);
pub const ICACHE_ACCESSES: Event = Event::new("ICACHE.ACCESSES", 0x380, Counter::General);
pub const ICACHE_MISSES: Event = Event::new("ICACHE.MISSES", 0x280, Counter::General);
pub const FORWARD_BLOCKS: Event = Event::new("LD_BLOCKS.STORE_FORWARD", 0x203, Counter::General);
pub const ALIASED_LOADS: Event = Event::new("LD_BLOCKS.4K_ALIAS", 0x403, Counter::General);
pub const SPLIT_LOADS: Event = Event::new("MEM_UOPS_RETIRED.SPLIT_LOADS", 0x41d0, Counter::General);
pub const SPLIT_STORES: Event = Event::new("MEM_UOPS_RETIRED.SPLIT_STORES", 0x42d0, Counter::General);
pub const DTLB_MISS_LOADS: Event = Event::new("MEM_UOPS_RETIRED.DTLB_MISS_LOADS", 0x11d0, Counter::General);
pub const DTLB_MISS_STORES: Event = Event::new("MEM_UOPS_RETIRED.DTLB_MISS_STORES", 0x12d0, Counter::General);
pub const LOADS: Event = Event::new("MEM_UOPS_RETIRED.ALL_LOADS", 0x81d0, Counter::General);
pub const L1_MISS: Event = Event::new("MEM_LOAD_UOPS_RETIRED.L1_MISS", 0x8d1, Counter::General);
pub const L2_HIT: Event = Event::new("MEM_LOAD_UOPS_RETIRED.L2_HIT", 0x2d1, Counter::General);
pub const L2_MISS: Event = Event::new("MEM_LOAD_UOPS_RETIRED.L2_MISS", 0x10d1, Counter::General);
pub const LL_REFERENCES: Event = Event::new("LONGEST_LAT_CACHE.REFERENCE", 0x4f2e, Counter::General);
pub const LL_MISSES: Event = Event::new("LONGEST_LAT_CACHE.MISS", 0x412e, Counter::General);
pub const STORES: Event = Event::new("MEM_UOPS_RETIRED.ALL_STORES", 0x82d0, Counter::General);
pub const ASSISTS_FP: Event = Event::new("MACHINE_CLEARS.FP_ASSIST", 0x4c3, Counter::General);
pub const RETIRING: Event = Event::new("TOPDOWN_RETIRING.ALL", 0xc2, Counter::General);
pub const BAD_SPECULATION: Event = Event::new("TOPDOWN_BAD_SPECULATION.ALL", 0x673, Counter::General);
pub const FRONTEND: Event = Event::new("TOPDOWN_FE_BOUND.ALL", 0x71, Counter::General);
pub const BACKEND: Event = Event::new("TOPDOWN_BE_BOUND.ALL", 0x74, Counter::General);
pub const LATENCY: Event = Event::new("TOPDOWN_FE_BOUND.FRONTEND_LATENCY", 0x7271, Counter::General);
pub const BANDWIDTH: Event = Event::new("TOPDOWN_FE_BOUND.FRONTEND_BANDWIDTH", 0x8d71, Counter::General);
pub const MISPREDICT: Event = Event::new("TOPDOWN_BAD_SPECULATION.MISPREDICT", 0x473, Counter::General);
pub const CLEARS: Event = Event::new("TOPDOWN_BAD_SPECULATION.MACHINE_CLEARS", 0x273, Counter::General);
pub const RESTRICTIONS: Event = Event::new("TOPDOWN_BE_BOUND.ALLOC_RESTRICTIONS", 0x174, Counter::General);
pub const FRONTEND_ICACHE: Event = Event::new("TOPDOWN_FE_BOUND.ICACHE", 0x2071, Counter::General);
pub const FRONTEND_ITLB: Event = Event::new("TOPDOWN_FE_BOUND.ITLB", 0x1071, Counter::General);
pub const FRONTEND_RESTEER: Event = Event::new("TOPDOWN_FE_BOUND.BRANCH_RESTEER", 0x4071, Counter::General);
pub const FRONTEND_DETECT: Event = Event::new("TOPDOWN_FE_BOUND.BRANCH_DETECT", 0x271, Counter::General);
pub const MEMORY_SCHEDULER: Event = Event::new("TOPDOWN_BE_BOUND.MEM_SCHEDULER", 0x274, Counter::General);
pub const OTHER_SCHEDULER: Event = Event::new("TOPDOWN_BE_BOUND.NON_MEM_SCHEDULER", 0x874, Counter::General);
pub const REORDER_BUFFER: Event = Event::new("TOPDOWN_BE_BOUND.REORDER_BUFFER", 0x4074, Counter::General);
pub const MACHINE_CLEARS_2: Event = Event::new("MACHINE_CLEARS.ANY", 0xc3, Counter::General);
pub const ITLB_WALK: Event = Event::new("ITLB_MISSES.WALK_COMPLETED", 0xe85, Counter::General);
pub const STALLS_L2_HIT: Event = Event::new("MEM_BOUND_STALLS.LOAD_L2_HIT", 0x134, Counter::General);
pub const STALLS_LL_HIT: Event = Event::new("MEM_BOUND_STALLS.LOAD_LLC_HIT", 0x234, Counter::General);
pub const STALLS_MEMORY: Event = Event::new("MEM_BOUND_STALLS.LOAD_DRAM_HIT", 0x434, Counter::General);
pub const DTLB_LOAD_WALK: Event = Event::new("DTLB_LOAD_MISSES.WALK_COMPLETED", 0xe08, Counter::General);
pub const DTLB_STORE_WALK: Event = Event::new("DTLB_STORE_MISSES.WALK_COMPLETED", 0xe49, Counter::General);
pub const LATENCY_2: Event = Event::new("TOPDOWN_FE_BOUND.FRONTEND_LATENCY", 0x7271, Counter::General);
pub const BANDWIDTH_2: Event = Event::new("TOPDOWN_FE_BOUND.FRONTEND_BANDWIDTH", 0x8d71, Counter::General);
pub const CLEARS_2: Event = Event::new("TOPDOWN_BAD_SPECULATION.MACHINE_CLEARS", 0x373, Counter::General);
pub const MACHINE_CLEARS_3: Event = Event::new("MACHINE_CLEARS.SLOW", 0x6fc3, Counter::General);
pub const ALIASED_LOADS_2: Event = Event::new("LD_BLOCKS.ADDRESS_ALIAS", 0x403, Counter::General);
pub const RETIRING_2: Event = Event::new("TOPDOWN_RETIRING.ALL", 0x72, Counter::General);
pub const BAD_SPECULATION_2: Event = Event::new("TOPDOWN_BAD_SPECULATION.ALL", 0x73, Counter::General);
pub const STALLS_L2_HIT_2: Event = Event::new("MEM_BOUND_STALLS_LOAD.L2_HIT", 0x134, Counter::General);
pub const STALLS_L2_MISS: Event = Event::new("MEM_BOUND_STALLS_LOAD.L2_MISS", 0x7e34, Counter::General);
pub const STALLS_LL_MISS: Event = Event::new("MEM_BOUND_STALLS_LOAD.LLC_MISS", 0x7834, Counter::General);
pub const L1_MISS_2: Event = Event::new("MEM_LOAD_UOPS_RETIRED.L1_MISS", 0x40d1, Counter::General);
pub const L2_MISS_2: Event = Event::new("MEM_LOAD_UOPS_RETIRED.L2_MISS", 0x80d1, Counter::General);
pub const RETIRING_3: Event = Event::new("TOPDOWN_RETIRING.ALL_P", 0x2c2, Counter::General);
pub const BAD_SPECULATION_3: Event = Event::new("TOPDOWN_BAD_SPECULATION.ALL_P", 0x73, Counter::General);
pub const FRONTEND_2: Event = Event::new("TOPDOWN_FE_BOUND.ALL_P", 0x19c, Counter::General);
pub const BACKEND_2: Event = Event::new("TOPDOWN_BE_BOUND.ALL_P", 0x2a4, Counter::General);
pub const FRONTEND_ITLB_2: Event = Event::new("TOPDOWN_FE_BOUND.ITLB_MISS", 0x1071, Counter::General);
pub const SPLIT_LOCKS: Event = Event::new("BUS_LOCK.SPLIT_LOCKS", 0x863, Counter::General);
pub const STALLS_LL_MISS_2: Event = Event::new("MEM_BOUND_STALLS_LOAD.LLC_MISS", 0x3834, Counter::General);
pub const STALLS_LLC_HIT: Event = Event::new("MEM_BOUND_STALLS_LOAD.LLC_HIT", 0x634, Counter::General);
pub const STALLS_LOCAL_MEMORY: Event = Event::new("MEM_BOUND_STALLS_LOAD.LLC_MISS_LOCALMEM", 0x1034, Counter::General);
pub const STALLS_OTHER_MODULE: Event = Event::new("MEM_BOUND_STALLS_LOAD.LLC_MISS_OTHERMOD", 0x834, Counter::General);

const BRANCH_GROUP: MetricGroup = MetricGroup { name: "Branch_Effectiveness", subject: Subject::Branches, explains: &[Node::Part(Part::BranchMispredicts), Node::Category(Category::FrontendBound)], events: &[INSTRUCTIONS, BRANCHES, MISPREDICTED], metrics: &[
    Metric::per_kilo("branch_mpki", MISPREDICTED, INSTRUCTIONS),
    Metric::percent("branch_misprediction_ratio", MISPREDICTED, BRANCHES, "% of branches"),
], example: MetricExample::new(&[1_000_000, 200_000, 5_000], &["5.0", "2.5"]) };
const CLEARS_GROUP: MetricGroup = MetricGroup { name: "Machine_Clears", subject: Subject::Clears, explains: &[Node::Category(Category::BadSpeculation)], events: &[INSTRUCTIONS, MACHINE_CLEARS, SELF_MODIFYING], metrics: &[
    Metric::per_kilo("machine_clears", MACHINE_CLEARS, INSTRUCTIONS),
    Metric::per_kilo("self_modifying_code", SELF_MODIFYING, INSTRUCTIONS),
], example: MetricExample::new(&[1_000_000, 1_000, 700], &["1.0", "0.7"]) };
const ITLB_GOLDMONT_GROUP: MetricGroup = MetricGroup { name: "ITLB_Effectiveness", subject: Subject::InstructionTlb, explains: &[Node::Part(Part::FetchLatency)], events: &[INSTRUCTIONS, ITLB_MISS], metrics: &[
    Metric::per_kilo("itlb_mpki", ITLB_MISS, INSTRUCTIONS),
], example: MetricExample::new(&[1_000_000, 500], &["0.5"]) };
const L1I_CACHE_GROUP: MetricGroup = MetricGroup { name: "L1I_Cache_Effectiveness", subject: Subject::InstructionCache, explains: &[Node::Part(Part::FetchLatency)], events: &[INSTRUCTIONS, ICACHE_ACCESSES, ICACHE_MISSES], metrics: &[
    Metric::per_kilo("l1i_cache_mpki", ICACHE_MISSES, INSTRUCTIONS),
    Metric::percent("l1i_cache_miss_ratio", ICACHE_MISSES, ICACHE_ACCESSES, "% of accesses"),
], example: MetricExample::new(&[1_000_000, 250_000, 12_500], &["12.5", "5.0"]) };
const LOAD_BLOCKS_GROUP: MetricGroup = MetricGroup { name: "Load_Blocks", subject: Subject::LoadBlocks, explains: &[Node::Part(Part::MemoryBound)], events: &[INSTRUCTIONS, FORWARD_BLOCKS, ALIASED_LOADS, SPLIT_LOADS, SPLIT_STORES], metrics: &[
    Metric::per_kilo("blocked_loads", FORWARD_BLOCKS, INSTRUCTIONS),
    Metric::per_kilo("aliased_loads", ALIASED_LOADS, INSTRUCTIONS),
    Metric::per_kilo("line_crossing_loads", SPLIT_LOADS, INSTRUCTIONS),
    Metric::per_kilo("line_crossing_stores", SPLIT_STORES, INSTRUCTIONS),
], example: MetricExample::new(&[1_000_000, 20_000, 30_000, 100_000, 40_000], &["20.0", "30.0", "100.0", "40.0"]) };
const DTLB_GOLDMONT_GROUP: MetricGroup = MetricGroup { name: "DTLB_Effectiveness", subject: Subject::DataTlb, explains: &[Node::Part(Part::MemoryBound)], events: &[INSTRUCTIONS, DTLB_MISS_LOADS, DTLB_MISS_STORES], metrics: &[
    Metric::per_kilo("dtlb_load_mpki", DTLB_MISS_LOADS, INSTRUCTIONS),
    Metric::per_kilo("dtlb_store_mpki", DTLB_MISS_STORES, INSTRUCTIONS),
], example: MetricExample::new(&[1_000_000, 4_000, 500], &["4.0", "0.5"]) };
const L1D_CACHE_GROUP: MetricGroup = MetricGroup { name: "L1D_Cache_Effectiveness", subject: Subject::DataCache, explains: &[Node::Part(Part::MemoryBound)], events: &[INSTRUCTIONS, LOADS, L1_MISS], metrics: &[
    Metric::per_kilo("l1d_load_mpki", L1_MISS, INSTRUCTIONS),
    Metric::percent("l1d_load_miss_ratio", L1_MISS, LOADS, "% of loads"),
], example: MetricExample::new(&[1_000_000, 300_000, 30_000], &["30.0", "10.0"]) };
const L2_CACHE_GROUP: MetricGroup = MetricGroup { name: "L2_Cache_Effectiveness", subject: Subject::L2Cache, explains: &[Node::Part(Part::MemoryBound)], events: &[INSTRUCTIONS, L2_HIT, L2_MISS], metrics: &[
    Metric::per_kilo("l2_load_mpki", L2_MISS, INSTRUCTIONS),
    Metric::new("l2_load_miss_ratio", "% of loads beyond L1", &|c| 100.0 * c[L2_MISS] / (c[L2_HIT] + c[L2_MISS])),
], example: MetricExample::new(&[1_000_000, 15_000, 5_000], &["5.0", "25.0"]) };
const LL_CACHE_GROUP: MetricGroup = MetricGroup { name: "LL_Cache_Effectiveness", subject: Subject::LastLevelCache, explains: &[Node::Part(Part::MemoryBound), Node::Part(Part::FetchLatency)], events: &[INSTRUCTIONS, LL_REFERENCES, LL_MISSES], metrics: &[
    Metric::per_kilo("ll_cache_mpki", LL_MISSES, INSTRUCTIONS),
    Metric::percent("ll_cache_miss_ratio", LL_MISSES, LL_REFERENCES, "% of references"),
], example: MetricExample::new(&[1_000_000, 8_000, 6_000], &["6.0", "75.0"]) };
const OPERATION_MIX_GROUP: MetricGroup = MetricGroup { name: "Operation_Mix", subject: Subject::OperationMix, explains: &[Node::Category(Category::Retiring), Node::Category(Category::BackendBound)], events: &[INSTRUCTIONS, LOADS, STORES, BRANCHES], metrics: &[
    Metric::percent("loads", LOADS, INSTRUCTIONS, "% of instructions"),
    Metric::percent("stores", STORES, INSTRUCTIONS, "% of instructions"),
    Metric::percent("branches", BRANCHES, INSTRUCTIONS, "% of instructions"),
], example: MetricExample::new(&[1_000_000, 300_000, 110_000, 200_000], &["30.0", "11.0", "20.0"]) };
const FP_ASSISTS_GROUP: MetricGroup = MetricGroup { name: "Assists", subject: Subject::Assists, explains: &[Node::Category(Category::Retiring)], events: &[INSTRUCTIONS, ASSISTS_FP], metrics: &[
    Metric::per_kilo("fp_assists", ASSISTS_FP, INSTRUCTIONS),
], example: MetricExample::new(&[1_000_000, 500], &["0.5"]) };
const LEVEL_2_FRONTEND_GROUP: MetricGroup = MetricGroup { name: "TopdownL2 frontend_bound", subject: Subject::Level2, explains: &[Node::Category(Category::FrontendBound)], events: &[CYCLES, LATENCY, BANDWIDTH], metrics: &[
    Metric::slots("Fetch_Latency", LATENCY, CYCLES),
    Metric::slots("Fetch_Bandwidth", BANDWIDTH, CYCLES),
], example: MetricExample::new(&[1_000_000, 480_000, 320_000], &["12.0", "8.0"]).at_width(4) };
const LEVEL_2_BAD_SPECULATION_GROUP: MetricGroup = MetricGroup { name: "TopdownL2 bad_speculation", subject: Subject::Level2, explains: &[Node::Category(Category::BadSpeculation)], events: &[CYCLES, MISPREDICT, CLEARS], metrics: &[
    Metric::slots("Branch_Mispredicts", MISPREDICT, CYCLES),
    Metric::slots("Machine_Clears", CLEARS, CYCLES),
], example: MetricExample::new(&[1_000_000, 300_000, 100_000], &["7.5", "2.5"]).at_width(4) };
const LEVEL_2_BACKEND_GROUP: MetricGroup = MetricGroup { name: "TopdownL2 backend_bound", subject: Subject::Level2, explains: &[Node::Category(Category::BackendBound)], events: &[CYCLES, BACKEND, RESTRICTIONS], metrics: &[
    Metric::slots("Core_Bound", RESTRICTIONS, CYCLES),
    Metric::new("Resource_Bound", "% of slots", &|c| 100.0 * (c[BACKEND] - c[RESTRICTIONS]) / (c.slots_per_cycle() * c[CYCLES])),
], example: MetricExample::new(&[1_000_000, 1_200_000, 200_000], &["5.0", "25.0"]).at_width(4) };
const FRONTEND_CAUSES_GROUP: MetricGroup = MetricGroup { name: "Frontend_Causes", subject: Subject::Stalls, explains: &[Node::Part(Part::FetchLatency)], events: &[CYCLES, FRONTEND_ICACHE, FRONTEND_ITLB, FRONTEND_RESTEER, FRONTEND_DETECT], metrics: &[
    Metric::slots("ICache_Misses", FRONTEND_ICACHE, CYCLES),
    Metric::slots("ITLB_Misses", FRONTEND_ITLB, CYCLES),
    Metric::slots("Branch_Resteer", FRONTEND_RESTEER, CYCLES),
    Metric::slots("Branch_Detect", FRONTEND_DETECT, CYCLES),
], example: MetricExample::new(&[1_000_000, 400_000, 40_000, 200_000, 100_000], &["10.0", "1.0", "5.0", "2.5"]).at_width(4) };
const BACKEND_CAUSES_GROUP: MetricGroup = MetricGroup { name: "Backend_Causes", subject: Subject::Stalls, explains: &[Node::Category(Category::BackendBound)], events: &[CYCLES, MEMORY_SCHEDULER, OTHER_SCHEDULER, REORDER_BUFFER], metrics: &[
    Metric::slots("Mem_Scheduler", MEMORY_SCHEDULER, CYCLES),
    Metric::slots("Non_Mem_Scheduler", OTHER_SCHEDULER, CYCLES),
    Metric::slots("Reorder_Buffer", REORDER_BUFFER, CYCLES),
], example: MetricExample::new(&[1_000_000, 400_000, 80_000, 160_000], &["10.0", "2.0", "4.0"]).at_width(4) };
const CLEARS_GROUP_2: MetricGroup = MetricGroup { name: "Machine_Clears", subject: Subject::Clears, explains: &[Node::Category(Category::BadSpeculation)], events: &[INSTRUCTIONS, MACHINE_CLEARS_2, SELF_MODIFYING], metrics: &[
    Metric::per_kilo("machine_clears", MACHINE_CLEARS_2, INSTRUCTIONS),
    Metric::per_kilo("self_modifying_code", SELF_MODIFYING, INSTRUCTIONS),
], example: MetricExample::new(&[1_000_000, 1_000, 700], &["1.0", "0.7"]) };
const ITLB_GROUP: MetricGroup = MetricGroup { name: "ITLB_Effectiveness", subject: Subject::InstructionTlb, explains: &[Node::Part(Part::FetchLatency)], events: &[INSTRUCTIONS, ITLB_WALK], metrics: &[
    Metric::per_kilo("itlb_mpki", ITLB_WALK, INSTRUCTIONS),
], example: MetricExample::new(&[1_000_000, 500], &["0.5"]) };
const MEMORY_STALLS_GROUP: MetricGroup = MetricGroup { name: "Memory_Stalls", subject: Subject::Stalls, explains: &[Node::Part(Part::MemoryBound)], events: &[CYCLES, STALLS_L2_HIT, STALLS_LL_HIT, STALLS_MEMORY], metrics: &[
    Metric::percent("L2_Bound", STALLS_L2_HIT, CYCLES, "% of cycles"),
    Metric::percent("L3_Bound", STALLS_LL_HIT, CYCLES, "% of cycles"),
    Metric::percent("DRAM_Bound", STALLS_MEMORY, CYCLES, "% of cycles"),
], example: MetricExample::new(&[1_000_000, 100_000, 50_000, 300_000], &["10.0", "5.0", "30.0"]) };
const DTLB_GROUP: MetricGroup = MetricGroup { name: "DTLB_Effectiveness", subject: Subject::DataTlb, explains: &[Node::Part(Part::MemoryBound)], events: &[INSTRUCTIONS, DTLB_LOAD_WALK, DTLB_STORE_WALK], metrics: &[
    Metric::per_kilo("dtlb_load_mpki", DTLB_LOAD_WALK, INSTRUCTIONS),
    Metric::per_kilo("dtlb_store_mpki", DTLB_STORE_WALK, INSTRUCTIONS),
], example: MetricExample::new(&[1_000_000, 4_000, 500], &["4.0", "0.5"]) };
const LEVEL_2_FRONTEND_GROUP_2: MetricGroup = MetricGroup { name: "TopdownL2 frontend_bound", subject: Subject::Level2, explains: &[Node::Category(Category::FrontendBound)], events: &[CYCLES, LATENCY_2, BANDWIDTH_2], metrics: &[
    Metric::slots("Fetch_Latency", LATENCY_2, CYCLES),
    Metric::slots("Fetch_Bandwidth", BANDWIDTH_2, CYCLES),
], example: MetricExample::new(&[1_000_000, 480_000, 320_000], &["12.0", "8.0"]).at_width(4) };
const LEVEL_2_BAD_SPECULATION_GROUP_2: MetricGroup = MetricGroup { name: "TopdownL2 bad_speculation", subject: Subject::Level2, explains: &[Node::Category(Category::BadSpeculation)], events: &[CYCLES, MISPREDICT, CLEARS_2], metrics: &[
    Metric::slots("Branch_Mispredicts", MISPREDICT, CYCLES),
    Metric::slots("Machine_Clears", CLEARS_2, CYCLES),
], example: MetricExample::new(&[1_000_000, 300_000, 100_000], &["7.5", "2.5"]).at_width(4) };
const CLEARS_GROUP_3: MetricGroup = MetricGroup { name: "Machine_Clears", subject: Subject::Clears, explains: &[Node::Category(Category::BadSpeculation)], events: &[INSTRUCTIONS, MACHINE_CLEARS_3, SELF_MODIFYING], metrics: &[
    Metric::per_kilo("machine_clears", MACHINE_CLEARS_3, INSTRUCTIONS),
    Metric::per_kilo("self_modifying_code", SELF_MODIFYING, INSTRUCTIONS),
], example: MetricExample::new(&[1_000_000, 1_000, 700], &["1.0", "0.7"]) };
const LOAD_BLOCKS_GRACEMONT_GROUP: MetricGroup = MetricGroup { name: "Load_Blocks", subject: Subject::LoadBlocks, explains: &[Node::Part(Part::MemoryBound)], events: &[INSTRUCTIONS, ALIASED_LOADS_2, SPLIT_LOADS, SPLIT_STORES], metrics: &[
    Metric::per_kilo("aliased_loads", ALIASED_LOADS_2, INSTRUCTIONS),
    Metric::per_kilo("line_crossing_loads", SPLIT_LOADS, INSTRUCTIONS),
    Metric::per_kilo("line_crossing_stores", SPLIT_STORES, INSTRUCTIONS),
], example: MetricExample::new(&[1_000_000, 30_000, 100_000, 40_000], &["30.0", "100.0", "40.0"]) };
const MEMORY_STALLS_CRESTMONT_GROUP: MetricGroup = MetricGroup { name: "Memory_Stalls", subject: Subject::Stalls, explains: &[Node::Part(Part::MemoryBound)], events: &[CYCLES, STALLS_L2_HIT_2, STALLS_L2_MISS, STALLS_LL_MISS], metrics: &[
    Metric::percent("L2_Bound", STALLS_L2_HIT_2, CYCLES, "% of cycles"),
    Metric::new("L3_Bound", "% of cycles", &|c| 100.0 * (c[STALLS_L2_MISS] - c[STALLS_LL_MISS]) / c[CYCLES]),
    Metric::percent("DRAM_Bound", STALLS_LL_MISS, CYCLES, "% of cycles"),
], example: MetricExample::new(&[1_000_000, 100_000, 350_000, 300_000], &["10.0", "5.0", "30.0"]) };
const LOAD_BLOCKS_GROUP_2: MetricGroup = MetricGroup { name: "Load_Blocks", subject: Subject::LoadBlocks, explains: &[Node::Part(Part::MemoryBound)], events: &[INSTRUCTIONS, FORWARD_BLOCKS, ALIASED_LOADS_2, SPLIT_LOADS, SPLIT_STORES], metrics: &[
    Metric::per_kilo("blocked_loads", FORWARD_BLOCKS, INSTRUCTIONS),
    Metric::per_kilo("aliased_loads", ALIASED_LOADS_2, INSTRUCTIONS),
    Metric::per_kilo("line_crossing_loads", SPLIT_LOADS, INSTRUCTIONS),
    Metric::per_kilo("line_crossing_stores", SPLIT_STORES, INSTRUCTIONS),
], example: MetricExample::new(&[1_000_000, 20_000, 30_000, 100_000, 40_000], &["20.0", "30.0", "100.0", "40.0"]) };
const L1D_CACHE_GROUP_2: MetricGroup = MetricGroup { name: "L1D_Cache_Effectiveness", subject: Subject::DataCache, explains: &[Node::Part(Part::MemoryBound)], events: &[INSTRUCTIONS, LOADS, L1_MISS_2], metrics: &[
    Metric::per_kilo("l1d_load_mpki", L1_MISS_2, INSTRUCTIONS),
    Metric::percent("l1d_load_miss_ratio", L1_MISS_2, LOADS, "% of loads"),
], example: MetricExample::new(&[1_000_000, 300_000, 30_000], &["30.0", "10.0"]) };
const L2_CACHE_GROUP_2: MetricGroup = MetricGroup { name: "L2_Cache_Effectiveness", subject: Subject::L2Cache, explains: &[Node::Part(Part::MemoryBound)], events: &[INSTRUCTIONS, L2_HIT, L2_MISS_2], metrics: &[
    Metric::per_kilo("l2_load_mpki", L2_MISS_2, INSTRUCTIONS),
    Metric::new("l2_load_miss_ratio", "% of loads beyond L1", &|c| 100.0 * c[L2_MISS_2] / (c[L2_HIT] + c[L2_MISS_2])),
], example: MetricExample::new(&[1_000_000, 15_000, 5_000], &["5.0", "25.0"]) };
const LEVEL_2_BACKEND_GROUP_2: MetricGroup = MetricGroup { name: "TopdownL2 backend_bound", subject: Subject::Level2, explains: &[Node::Category(Category::BackendBound)], events: &[CYCLES, BACKEND_2, RESTRICTIONS], metrics: &[
    Metric::slots("Core_Bound", RESTRICTIONS, CYCLES),
    Metric::new("Resource_Bound", "% of slots", &|c| 100.0 * (c[BACKEND_2] - c[RESTRICTIONS]) / (c.slots_per_cycle() * c[CYCLES])),
], example: MetricExample::new(&[1_000_000, 1_200_000, 200_000], &["5.0", "25.0"]).at_width(4) };
const FRONTEND_CAUSES_GROUP_2: MetricGroup = MetricGroup { name: "Frontend_Causes", subject: Subject::Stalls, explains: &[Node::Part(Part::FetchLatency)], events: &[CYCLES, FRONTEND_ICACHE, FRONTEND_ITLB_2, FRONTEND_RESTEER, FRONTEND_DETECT], metrics: &[
    Metric::slots("ICache_Misses", FRONTEND_ICACHE, CYCLES),
    Metric::slots("ITLB_Misses", FRONTEND_ITLB_2, CYCLES),
    Metric::slots("Branch_Resteer", FRONTEND_RESTEER, CYCLES),
    Metric::slots("Branch_Detect", FRONTEND_DETECT, CYCLES),
], example: MetricExample::new(&[1_000_000, 400_000, 40_000, 200_000, 100_000], &["10.0", "1.0", "5.0", "2.5"]).at_width(4) };
const SPLIT_LOCKS_GROUP: MetricGroup = MetricGroup { name: "Split_Locks", subject: Subject::Locks, explains: &[Node::Part(Part::MemoryBound)], events: &[INSTRUCTIONS, SPLIT_LOCKS], metrics: &[
    Metric::per_kilo("split_locks", SPLIT_LOCKS, INSTRUCTIONS),
], example: MetricExample::new(&[1_000_000, 500], &["0.5"]) };
const MEMORY_STALLS_CRESTMONT_GROUP_2: MetricGroup = MetricGroup { name: "Memory_Stalls", subject: Subject::Stalls, explains: &[Node::Part(Part::MemoryBound)], events: &[CYCLES, STALLS_L2_HIT_2, STALLS_L2_MISS, STALLS_LL_MISS_2], metrics: &[
    Metric::percent("L2_Bound", STALLS_L2_HIT_2, CYCLES, "% of cycles"),
    Metric::new("L3_Bound", "% of cycles", &|c| 100.0 * (c[STALLS_L2_MISS] - c[STALLS_LL_MISS_2]) / c[CYCLES]),
    Metric::percent("DRAM_Bound", STALLS_LL_MISS_2, CYCLES, "% of cycles"),
], example: MetricExample::new(&[1_000_000, 100_000, 350_000, 300_000], &["10.0", "5.0", "30.0"]) };
const MEMORY_STALLS_CLEARWATER_FOREST_GROUP: MetricGroup = MetricGroup { name: "Memory_Stalls", subject: Subject::Stalls, explains: &[Node::Part(Part::MemoryBound)], events: &[CYCLES, STALLS_L2_HIT_2, STALLS_LLC_HIT, STALLS_LOCAL_MEMORY, STALLS_OTHER_MODULE], metrics: &[
    Metric::percent("L2_Bound", STALLS_L2_HIT_2, CYCLES, "% of cycles"),
    Metric::percent("L3_Bound", STALLS_LLC_HIT, CYCLES, "% of cycles"),
    Metric::percent("DRAM_Bound", STALLS_LOCAL_MEMORY, CYCLES, "% of cycles"),
    Metric::percent("Other_Module_Bound", STALLS_OTHER_MODULE, CYCLES, "% of cycles"),
], example: MetricExample::new(&[1_000_000, 100_000, 50_000, 300_000, 20_000], &["10.0", "5.0", "30.0", "2.0"]) };
const BRANCH_MIX_GROUP: MetricGroup = MetricGroup { name: "Operation_Mix", subject: Subject::OperationMix, explains: &[Node::Category(Category::Retiring), Node::Category(Category::BackendBound)], events: &[INSTRUCTIONS, BRANCHES], metrics: &[
    Metric::percent("branches", BRANCHES, INSTRUCTIONS, "% of instructions"),
], example: MetricExample::new(&[1_000_000, 200_000], &["20.0"]) };

pub mod goldmont {
    pub use super::CYCLES;
    pub use super::INSTRUCTIONS;
    pub use super::UOPS_RETIRED;
    pub use super::ISSUED;
    pub use super::RECOVERY;
    pub use super::NOT_DELIVERED;
    pub const FORMS: [&[super::Event]; 1] = [&[CYCLES, INSTRUCTIONS, UOPS_RETIRED, ISSUED, RECOVERY, NOT_DELIVERED]];
    pub const GROUPS: &[super::MetricGroup] = &[super::BRANCH_GROUP, super::CLEARS_GROUP, super::ITLB_GOLDMONT_GROUP, super::L1I_CACHE_GROUP, super::LOAD_BLOCKS_GROUP, super::DTLB_GOLDMONT_GROUP, super::L1D_CACHE_GROUP, super::L2_CACHE_GROUP, super::LL_CACHE_GROUP, super::OPERATION_MIX_GROUP, super::FP_ASSISTS_GROUP];
}

pub mod tremont {
    pub use super::CYCLES;
    pub use super::INSTRUCTIONS;
    pub use super::RETIRING;
    pub use super::BAD_SPECULATION;
    pub use super::FRONTEND;
    pub use super::BACKEND;
    pub const FORMS: [&[super::Event]; 1] = [&[CYCLES, INSTRUCTIONS, RETIRING, BAD_SPECULATION, FRONTEND, BACKEND]];
    pub const GROUPS: &[super::MetricGroup] = &[super::LEVEL_2_FRONTEND_GROUP, super::LEVEL_2_BAD_SPECULATION_GROUP, super::LEVEL_2_BACKEND_GROUP, super::FRONTEND_CAUSES_GROUP, super::BACKEND_CAUSES_GROUP, super::BRANCH_GROUP, super::CLEARS_GROUP_2, super::ITLB_GROUP, super::L1I_CACHE_GROUP, super::MEMORY_STALLS_GROUP, super::LOAD_BLOCKS_GROUP, super::DTLB_GROUP, super::L1D_CACHE_GROUP, super::L2_CACHE_GROUP, super::LL_CACHE_GROUP, super::OPERATION_MIX_GROUP, super::FP_ASSISTS_GROUP];
}

pub mod gracemont {
    pub use super::CYCLES;
    pub use super::INSTRUCTIONS;
    pub use super::RETIRING;
    pub use super::FRONTEND;
    pub use super::BACKEND;
    pub const FORMS: [&[super::Event]; 1] = [&[CYCLES, INSTRUCTIONS, RETIRING, FRONTEND, BACKEND]];
    pub const GROUPS: &[super::MetricGroup] = &[super::LEVEL_2_FRONTEND_GROUP_2, super::LEVEL_2_BAD_SPECULATION_GROUP_2, super::LEVEL_2_BACKEND_GROUP, super::FRONTEND_CAUSES_GROUP, super::BACKEND_CAUSES_GROUP, super::BRANCH_GROUP, super::CLEARS_GROUP_3, super::ITLB_GROUP, super::L1I_CACHE_GROUP, super::MEMORY_STALLS_GROUP, super::LOAD_BLOCKS_GRACEMONT_GROUP, super::DTLB_GROUP, super::L1D_CACHE_GROUP, super::L2_CACHE_GROUP, super::LL_CACHE_GROUP, super::OPERATION_MIX_GROUP, super::FP_ASSISTS_GROUP];
}

pub mod crestmont {
    pub use super::CYCLES;
    pub use super::INSTRUCTIONS;
    pub use super::RETIRING_2 as RETIRING;
    pub use super::BAD_SPECULATION_2 as BAD_SPECULATION;
    pub use super::FRONTEND;
    pub use super::BACKEND;
    pub const FORMS: [&[super::Event]; 1] = [&[CYCLES, INSTRUCTIONS, RETIRING, BAD_SPECULATION, FRONTEND, BACKEND]];
    pub const GROUPS: &[super::MetricGroup] = &[super::LEVEL_2_FRONTEND_GROUP_2, super::LEVEL_2_BAD_SPECULATION_GROUP_2, super::LEVEL_2_BACKEND_GROUP, super::FRONTEND_CAUSES_GROUP, super::BACKEND_CAUSES_GROUP, super::BRANCH_GROUP, super::CLEARS_GROUP_2, super::ITLB_GROUP, super::L1I_CACHE_GROUP, super::MEMORY_STALLS_CRESTMONT_GROUP, super::LOAD_BLOCKS_GROUP_2, super::DTLB_GROUP, super::L1D_CACHE_GROUP_2, super::L2_CACHE_GROUP_2, super::LL_CACHE_GROUP, super::OPERATION_MIX_GROUP, super::FP_ASSISTS_GROUP];
}

pub mod skymont {
    pub use super::CYCLES;
    pub use super::INSTRUCTIONS;
    pub use super::RETIRING_3 as RETIRING;
    pub use super::BAD_SPECULATION_3 as BAD_SPECULATION;
    pub use super::FRONTEND_2 as FRONTEND;
    pub use super::BACKEND_2 as BACKEND;
    pub const FORMS: [&[super::Event]; 1] = [&[CYCLES, INSTRUCTIONS, RETIRING, BAD_SPECULATION, FRONTEND, BACKEND]];
    pub const GROUPS: &[super::MetricGroup] = &[super::LEVEL_2_FRONTEND_GROUP_2, super::LEVEL_2_BAD_SPECULATION_GROUP_2, super::LEVEL_2_BACKEND_GROUP_2, super::FRONTEND_CAUSES_GROUP_2, super::BACKEND_CAUSES_GROUP, super::BRANCH_GROUP, super::ITLB_GROUP, super::L1I_CACHE_GROUP, super::MEMORY_STALLS_CRESTMONT_GROUP, super::LOAD_BLOCKS_GROUP_2, super::SPLIT_LOCKS_GROUP, super::DTLB_GROUP, super::L1D_CACHE_GROUP_2, super::L2_CACHE_GROUP_2, super::LL_CACHE_GROUP, super::OPERATION_MIX_GROUP, super::FP_ASSISTS_GROUP];
}

pub mod darkmont {
    pub use super::CYCLES;
    pub use super::INSTRUCTIONS;
    pub use super::RETIRING_3 as RETIRING;
    pub use super::BAD_SPECULATION_3 as BAD_SPECULATION;
    pub use super::FRONTEND_2 as FRONTEND;
    pub use super::BACKEND_2 as BACKEND;
    pub const FORMS: [&[super::Event]; 1] = [&[CYCLES, INSTRUCTIONS, RETIRING, BAD_SPECULATION, FRONTEND, BACKEND]];
    pub const GROUPS: &[super::MetricGroup] = &[super::LEVEL_2_FRONTEND_GROUP_2, super::LEVEL_2_BAD_SPECULATION_GROUP_2, super::LEVEL_2_BACKEND_GROUP_2, super::FRONTEND_CAUSES_GROUP_2, super::BACKEND_CAUSES_GROUP, super::BRANCH_GROUP, super::CLEARS_GROUP_2, super::ITLB_GROUP, super::L1I_CACHE_GROUP, super::MEMORY_STALLS_CRESTMONT_GROUP_2, super::LOAD_BLOCKS_GROUP_2, super::DTLB_GROUP, super::L1D_CACHE_GROUP_2, super::L2_CACHE_GROUP_2, super::LL_CACHE_GROUP, super::OPERATION_MIX_GROUP, super::FP_ASSISTS_GROUP];
}

pub mod darkmont_server {
    pub use super::CYCLES;
    pub use super::INSTRUCTIONS;
    pub use super::RETIRING_3 as RETIRING;
    pub use super::BAD_SPECULATION_3 as BAD_SPECULATION;
    pub use super::FRONTEND_2 as FRONTEND;
    pub use super::BACKEND_2 as BACKEND;
    pub const FORMS: [&[super::Event]; 1] = [&[CYCLES, INSTRUCTIONS, RETIRING, BAD_SPECULATION, FRONTEND, BACKEND]];
    pub const GROUPS: &[super::MetricGroup] = &[super::LEVEL_2_FRONTEND_GROUP_2, super::LEVEL_2_BAD_SPECULATION_GROUP_2, super::LEVEL_2_BACKEND_GROUP_2, super::FRONTEND_CAUSES_GROUP_2, super::BACKEND_CAUSES_GROUP, super::BRANCH_GROUP, super::CLEARS_GROUP_2, super::ITLB_GROUP, super::L1I_CACHE_GROUP, super::MEMORY_STALLS_CLEARWATER_FOREST_GROUP, super::LOAD_BLOCKS_GROUP_2, super::DTLB_GROUP, super::L1D_CACHE_GROUP_2, super::L2_CACHE_GROUP_2, super::LL_CACHE_GROUP, super::OPERATION_MIX_GROUP, super::FP_ASSISTS_GROUP];
}

pub mod arctic_wolf {
    pub use super::CYCLES;
    pub use super::INSTRUCTIONS;
    pub use super::RETIRING_3 as RETIRING;
    pub use super::BAD_SPECULATION_3 as BAD_SPECULATION;
    pub use super::FRONTEND_2 as FRONTEND;
    pub use super::BACKEND_2 as BACKEND;
    pub const FORMS: [&[super::Event]; 1] = [&[CYCLES, INSTRUCTIONS, RETIRING, BAD_SPECULATION, FRONTEND, BACKEND]];
    pub const GROUPS: &[super::MetricGroup] = &[super::BRANCH_GROUP, super::L1I_CACHE_GROUP, super::LL_CACHE_GROUP, super::BRANCH_MIX_GROUP];
}

pub mod architectural {
    pub use super::CYCLES;
    pub use super::INSTRUCTIONS;
    pub use super::RETIRING_3 as RETIRING;
    pub use super::FRONTEND_2 as FRONTEND;
    pub use super::BACKEND_2 as BACKEND;
    pub const FORMS: [&[super::Event]; 1] = [&[CYCLES, INSTRUCTIONS, RETIRING, FRONTEND, BACKEND]];
    pub const GROUPS: &[super::MetricGroup] = &[super::BRANCH_GROUP, super::LL_CACHE_GROUP, super::BRANCH_MIX_GROUP];
}
