//! Made by `cargo xtask cpus` from `intel_performance.toml` and `intel_performance.tsv` in `crates/counters/cpus`.

use super::prelude::*;

pub const CYCLES: Event = Event::new("CPU_CLK_UNHALTED.THREAD", 0x3c, Counter::FixedCycles);
pub const INSTRUCTIONS: Event = Event::new("INST_RETIRED.ANY", 0xc0, Counter::Fixed);
pub const NOT_DELIVERED: Event = Event::new("IDQ_UOPS_NOT_DELIVERED.CORE", 0x19c, Counter::General);
pub const ISSUED: Event = Event::new("UOPS_ISSUED.ANY", 0x10e, Counter::General);
pub const RETIRED: Event = Event::new("UOPS_RETIRED.RETIRE_SLOTS", 0x2c2, Counter::General);
pub const RECOVERY: Event = Event::new("INT_MISC.RECOVERY_CYCLES", 0x100030d, Counter::General);
pub const NOTHING_DELIVERED: Event = Event::new("IDQ_UOPS_NOT_DELIVERED.CYCLES_0_UOPS_DELIV.CORE", 0x400019c, Counter::General);
pub const MISPREDICTED: Event = Event::new("BR_MISP_RETIRED.ALL_BRANCHES", 0xc5, Counter::General);
pub const MACHINE_CLEARS: Event = Event::new("MACHINE_CLEARS.COUNT", 0x10401c3, Counter::General);
pub const SELF_MODIFYING: Event = Event::new("MACHINE_CLEARS.SMC", 0x4c3, Counter::General);
pub const BRANCHES: Event = Event::new("BR_INST_RETIRED.ALL_BRANCHES", 0xc4, Counter::General);
pub const ITLB_WALKS_BEGUN: Event = Event::new("ITLB_MISSES.MISS_CAUSES_A_WALK", 0x185, Counter::General);
pub const ICACHE_HIT: Event = Event::new("ICACHE.HIT", 0x180, Counter::General);
pub const ICACHE_MISSES: Event = Event::new("ICACHE.MISSES", 0x280, Counter::General);
pub const DSB_UOPS: Event = Event::new("IDQ.DSB_UOPS", 0x879, Counter::General);
pub const MITE_UOPS: Event = Event::new("IDQ.MITE_UOPS", 0x479, Counter::General);
pub const MS_UOPS: Event = Event::new("IDQ.MS_UOPS", 0x3079, Counter::General);
pub const NO_EXECUTE: Event = Event::new("CYCLE_ACTIVITY.CYCLES_NO_EXECUTE", 0x40004a3, Counter::General);
pub const STALLS_L2_PENDING: Event = Event::new("CYCLE_ACTIVITY.STALLS_L2_PENDING", 0x50005a3, Counter::General);
pub const STORE_BUFFER_FULL: Event = Event::new("RESOURCE_STALLS.SB", 0x8a2, Counter::General);
pub const LOADS: Event = Event::new("MEM_UOPS_RETIRED.ALL_LOADS", 0x81d0, Counter::General);
pub const STLB_MISS_LOADS: Event = Event::new("MEM_UOPS_RETIRED.STLB_MISS_LOADS", 0x11d0, Counter::General);
pub const STLB_MISS_STORES: Event = Event::new("MEM_UOPS_RETIRED.STLB_MISS_STORES", 0x12d0, Counter::General);
pub const L1_HIT: Event = Event::new("MEM_LOAD_UOPS_RETIRED.L1_HIT", 0x1d1, Counter::General);
pub const FILL_BUFFER_HIT: Event = Event::new("MEM_LOAD_UOPS_RETIRED.HIT_LFB", 0x40d1, Counter::General);
pub const L2_HIT: Event = Event::new("MEM_LOAD_UOPS_RETIRED.L2_HIT", 0x2d1, Counter::General);
pub const L3_HIT: Event = Event::new("MEM_LOAD_UOPS_RETIRED.L3_HIT", 0x4d1, Counter::General);
pub const LL_REFERENCES: Event = Event::new("LONGEST_LAT_CACHE.REFERENCE", 0x4f2e, Counter::General);
pub const LL_MISSES: Event = Event::new("LONGEST_LAT_CACHE.MISS", 0x412e, Counter::General);
pub const STORES: Event = Event::new("MEM_UOPS_RETIRED.ALL_STORES", 0x82d0, Counter::General);
pub const RECOVERY_2: Event = Event::new("INT_MISC.RECOVERY_CYCLES", 0x10d, Counter::General);
pub const ITLB_WALK: Event = Event::new("ITLB_MISSES.WALK_COMPLETED", 0xe85, Counter::General);
pub const ITLB_STLB_HIT: Event = Event::new("ITLB_MISSES.STLB_HIT", 0x2085, Counter::General);
pub const IFTAG_HIT: Event = Event::new("ICACHE_64B.IFTAG_HIT", 0x183, Counter::General);
pub const IFTAG_MISS: Event = Event::new("ICACHE_64B.IFTAG_MISS", 0x283, Counter::General);
pub const L2_CODE_READS: Event = Event::new("L2_RQSTS.ALL_CODE_RD", 0xe424, Counter::General);
pub const L2_CODE_MISSES: Event = Event::new("L2_RQSTS.CODE_RD_MISS", 0x2424, Counter::General);
pub const STALLS_TOTAL: Event = Event::new("CYCLE_ACTIVITY.STALLS_TOTAL", 0x40004a3, Counter::General);
pub const STALLS_MEMORY: Event = Event::new("CYCLE_ACTIVITY.STALLS_MEM_ANY", 0x140014a3, Counter::General);
pub const BOUND_ON_STORES: Event = Event::new("EXE_ACTIVITY.BOUND_ON_STORES", 0x40a6, Counter::General);
pub const STALLS_L1D_MISS: Event = Event::new("CYCLE_ACTIVITY.STALLS_L1D_MISS", 0xc000ca3, Counter::General);
pub const STALLS_L2_MISS: Event = Event::new("CYCLE_ACTIVITY.STALLS_L2_MISS", 0x50005a3, Counter::General);
pub const STALLS_L3_MISS: Event = Event::new("CYCLE_ACTIVITY.STALLS_L3_MISS", 0x60006a3, Counter::General);
pub const FORWARD_BLOCKS: Event = Event::new("LD_BLOCKS.STORE_FORWARD", 0x203, Counter::General);
pub const ALIASED_LOADS: Event = Event::new("LD_BLOCKS_PARTIAL.ADDRESS_ALIAS", 0x107, Counter::General);
pub const SPLIT_LOADS: Event = Event::new("MEM_INST_RETIRED.SPLIT_LOADS", 0x41d0, Counter::General);
pub const SPLIT_STORES: Event = Event::new("MEM_INST_RETIRED.SPLIT_STORES", 0x42d0, Counter::General);
pub const SPLIT_LOCKS: Event = Event::new("SQ_MISC.SPLIT_LOCK", 0x10f4, Counter::General);
pub const DTLB_LOAD_WALK: Event = Event::new("DTLB_LOAD_MISSES.WALK_COMPLETED", 0xe08, Counter::General);
pub const DTLB_LOAD_STLB_HIT: Event = Event::new("DTLB_LOAD_MISSES.STLB_HIT", 0x2008, Counter::General);
pub const DTLB_STORE_WALK: Event = Event::new("DTLB_STORE_MISSES.WALK_COMPLETED", 0xe49, Counter::General);
pub const LOADS_2: Event = Event::new("MEM_INST_RETIRED.ALL_LOADS", 0x81d0, Counter::General);
pub const L1_MISS: Event = Event::new("MEM_LOAD_RETIRED.L1_MISS", 0x8d1, Counter::General);
pub const FILL_BUFFER_HIT_2: Event = Event::new("MEM_LOAD_RETIRED.FB_HIT", 0x40d1, Counter::General);
pub const L2_HIT_2: Event = Event::new("MEM_LOAD_RETIRED.L2_HIT", 0x2d1, Counter::General);
pub const L2_MISS: Event = Event::new("MEM_LOAD_RETIRED.L2_MISS", 0x10d1, Counter::General);
pub const L3_HIT_2: Event = Event::new("MEM_LOAD_RETIRED.L3_HIT", 0x4d1, Counter::General);
pub const ONE_PORT: Event = Event::new("EXE_ACTIVITY.1_PORTS_UTIL", 0x2a6, Counter::General);
pub const TWO_PORTS: Event = Event::new("EXE_ACTIVITY.2_PORTS_UTIL", 0x4a6, Counter::General);
pub const DIVIDER: Event = Event::new("ARITH.DIVIDER_ACTIVE", 0x1000114, Counter::General);
pub const STORES_2: Event = Event::new("MEM_INST_RETIRED.ALL_STORES", 0x82d0, Counter::General);
pub const ASSISTS_FP: Event = Event::new("FP_ASSIST.ANY", 0x1001eca, Counter::General);
pub const FP_SCALAR: Event = Event::new("FP_ARITH_INST_RETIRED.SCALAR", 0x3c7, Counter::General);
pub const FP_VECTOR: Event = Event::new("FP_ARITH_INST_RETIRED.VECTOR", 0xfcc7, Counter::General);
pub const SLOTS: Event = Event::new("TOPDOWN.SLOTS", 0x400, Counter::Fixed);
pub const RETIRED_2: Event = Event::new("UOPS_RETIRED.SLOTS", 0x2c2, Counter::General);
pub const BACKEND_BOUND: Event = Event::new("TOPDOWN.BACKEND_BOUND_SLOTS", 0x2a4, Counter::General);
pub const DROPPING: Event = Event::new("INT_MISC.UOP_DROPPING", 0x100d, Counter::General);
pub const CLEARS: Event = Event::new("INT_MISC.CLEARS_COUNT", 0x104010d, Counter::General);
pub const SLOTS_P: Event = Event::new("TOPDOWN.SLOTS_P", 0x1a4, Counter::General);
pub const NOTHING_DELIVERED_2: Event = Event::new("IDQ_UOPS_NOT_DELIVERED.CYCLES_0_UOPS_DELIV.CORE", 0x500019c, Counter::General);
pub const BOUND_ON_STORES_2: Event = Event::new("EXE_ACTIVITY.BOUND_ON_STORES", 0x20040a6, Counter::General);
pub const MISPREDICTED_CONDITIONAL: Event = Event::new("BR_MISP_RETIRED.COND", 0x11c5, Counter::General);
pub const MISPREDICTED_INDIRECT: Event = Event::new("BR_MISP_RETIRED.INDIRECT", 0x80c5, Counter::General);
pub const MISPREDICTED_RETURN: Event = Event::new("BR_MISP_RETIRED.RET", 0x8c5, Counter::General);
pub const ITLB_STALLS: Event = Event::new("ICACHE_TAG.STALLS", 0x483, Counter::General);
pub const ICACHE_STALLS: Event = Event::new("ICACHE_DATA.STALLS", 0x480, Counter::General);
pub const SPLIT_LOCKS_2: Event = Event::new("SQ_MISC.BUS_LOCK", 0x10f4, Counter::General);
pub const L3_MISS: Event = Event::new("MEM_LOAD_RETIRED.L3_MISS", 0x20d1, Counter::General);
pub const THREE_PORTS: Event = Event::new("EXE_ACTIVITY.3_PORTS_UTIL", 0x8a6, Counter::General);
pub const DIVIDER_2: Event = Event::new("ARITH.DIVIDER_ACTIVE", 0x1000914, Counter::General);
pub const ASSISTS_FP_2: Event = Event::new("ASSISTS.FP", 0x2c1, Counter::General);
pub const DROPPING_2: Event = Event::new("INT_MISC.UOP_DROPPING", 0x10ad, Counter::General);
pub const HEAVY: Event = Event::new("UOPS_RETIRED.HEAVY", 0x1c2, Counter::General);
pub const MISPREDICT: Event = Event::new("TOPDOWN.BR_MISPREDICT_SLOTS", 0x8a4, Counter::General);
pub const NOTHING_DELIVERED_3: Event = Event::new("IDQ_UOPS_NOT_DELIVERED.CYCLES_0_UOPS_DELIV.CORE", 0x600019c, Counter::General);
pub const MEMORY_BOUND: Event = Event::new("TOPDOWN.MEMORY_BOUND_SLOTS", 0x10a4, Counter::General);
pub const LOCKED_LOADS: Event = Event::new("MEM_INST_RETIRED.LOCK_LOADS", 0x21d0, Counter::General);
pub const LOCAL_MEMORY: Event = Event::new("MEM_LOAD_L3_MISS_RETIRED.LOCAL_DRAM", 0x1d3, Counter::General);
pub const REMOTE_MEMORY: Event = Event::new("MEM_LOAD_L3_MISS_RETIRED.REMOTE_DRAM", 0x2d3, Counter::General);
pub const ITLB_WALK_2: Event = Event::new("ITLB_MISSES.WALK_COMPLETED", 0xe11, Counter::General);
pub const ITLB_STLB_HIT_2: Event = Event::new("ITLB_MISSES.STLB_HIT", 0x2011, Counter::General);
pub const BOUND_ON_LOADS: Event = Event::new("EXE_ACTIVITY.BOUND_ON_LOADS", 0x50021a6, Counter::General);
pub const ACTIVITY_L1D_MISS: Event = Event::new("MEMORY_ACTIVITY.STALLS_L1D_MISS", 0x3000347, Counter::General);
pub const ACTIVITY_L2_MISS: Event = Event::new("MEMORY_ACTIVITY.STALLS_L2_MISS", 0x5000547, Counter::General);
pub const ACTIVITY_L3_MISS: Event = Event::new("MEMORY_ACTIVITY.STALLS_L3_MISS", 0x9000947, Counter::General);
pub const FORWARD_BLOCKS_2: Event = Event::new("LD_BLOCKS.STORE_FORWARD", 0x8203, Counter::General);
pub const ALIASED_LOADS_2: Event = Event::new("LD_BLOCKS.ADDRESS_ALIAS", 0x403, Counter::General);
pub const SPLIT_LOCKS_3: Event = Event::new("SQ_MISC.BUS_LOCK", 0x102c, Counter::General);
pub const LOCKED_CYCLES: Event = Event::new("LOCK_CYCLES.CACHE_LOCK_DURATION", 0x242, Counter::General);
pub const DTLB_LOAD_WALK_2: Event = Event::new("DTLB_LOAD_MISSES.WALK_COMPLETED", 0xe12, Counter::General);
pub const DTLB_LOAD_STLB_HIT_2: Event = Event::new("DTLB_LOAD_MISSES.STLB_HIT", 0x2012, Counter::General);
pub const DTLB_STORE_WALK_2: Event = Event::new("DTLB_STORE_MISSES.WALK_COMPLETED", 0xe13, Counter::General);
pub const DIVIDER_3: Event = Event::new("ARITH.DIV_ACTIVE", 0x10009b0, Counter::General);
pub const ASSISTS_SSE_AVX_MIX: Event = Event::new("ASSISTS.SSE_AVX_MIX", 0x10c1, Counter::General);
pub const NOT_DELIVERED_2: Event = Event::new("IDQ_BUBBLES.CORE", 0x19c, Counter::General);
pub const FETCH_LATENCY: Event = Event::new("IDQ_BUBBLES.FETCH_LATENCY", 0x49c, Counter::General);
pub const MISPREDICTED_CONDITIONAL_2: Event = Event::new("BR_MISP_RETIRED.COND", 0x100000011c5, Counter::General);
pub const ITLB_STLB_HIT_3: Event = Event::new("ITLB_MISSES.STLB_HIT", 0x10000002011, Counter::General);
pub const MEMORY_STALLS_L1: Event = Event::new("MEMORY_STALLS.L1", 0x146, Counter::General);
pub const MEMORY_STALLS_L2: Event = Event::new("MEMORY_STALLS.L2", 0x246, Counter::General);
pub const MEMORY_STALLS_L3: Event = Event::new("MEMORY_STALLS.L3", 0x446, Counter::General);
pub const MEMORY_STALLS_MEMORY: Event = Event::new("MEMORY_STALLS.MEM", 0x846, Counter::General);
pub const DTLB_LOAD_STLB_HIT_3: Event = Event::new("DTLB_LOAD_MISSES.STLB_HIT", 0x30000002012, Counter::General);
pub const MISPREDICTED_CONDITIONAL_3: Event = Event::new("BR_MISP_RETIRED.COND", 0x7c5, Counter::General);
pub const MISPREDICTED_INDIRECT_2: Event = Event::new("BR_MISP_RETIRED.INDIRECT", 0x50c5, Counter::General);
pub const FP_SCALAR_2: Event = Event::new("FP_ARITH_OPS_RETIRED.SCALAR", 0x3c7, Counter::General);
pub const MISPREDICTED_INDIRECT_3: Event = Event::new("BR_MISP_RETIRED.NEAR_INDIRECT", 0x50c5, Counter::General);
pub const MISPREDICTED_RETURN_2: Event = Event::new("BR_MISP_RETIRED.NEAR_RETURN", 0x8c5, Counter::General);
pub const L1_MISS_2: Event = Event::new("MEM_LOAD_RETIRED.L1_MISS", 0x10d1, Counter::General);
pub const FILL_BUFFER_HIT_3: Event = Event::new("MEM_LOAD_RETIRED.FB_HIT", 0x8d1, Counter::General);

const LEVEL_2_FRONTEND_GROUP: MetricGroup = MetricGroup { name: "TopdownL2 frontend_bound", subject: Subject::Level2, explains: &[Node::Category(Category::FrontendBound)], events: &[CYCLES, NOT_DELIVERED, NOTHING_DELIVERED], metrics: &[
    Metric::percent("fetch_latency", NOTHING_DELIVERED, CYCLES, "% of slots"),
    Metric::new("fetch_bandwidth", "% of slots", &|c| 100.0 * (c[NOT_DELIVERED] / c.slots_per_cycle() - c[NOTHING_DELIVERED]) / c[CYCLES]),
], example: MetricExample::new(&[1_000_000, 800_000, 120_000], &["12.0", "8.0"]) };
const CLEARS_GROUP: MetricGroup = MetricGroup { name: "Machine_Clears", subject: Subject::Clears, explains: &[Node::Category(Category::BadSpeculation)], events: &[INSTRUCTIONS, MISPREDICTED, MACHINE_CLEARS, SELF_MODIFYING], metrics: &[
    Metric::per_kilo("machine_clears", MACHINE_CLEARS, INSTRUCTIONS),
    Metric::per_kilo("self_modifying_code", SELF_MODIFYING, INSTRUCTIONS),
    Metric::new("branch_mispredicts", "% of bad speculation", &|c| 100.0 * c[MISPREDICTED] / (c[MISPREDICTED] + c[MACHINE_CLEARS])),
    Metric::new("machine_clears", "% of bad speculation", &|c| 100.0 * c[MACHINE_CLEARS] / (c[MISPREDICTED] + c[MACHINE_CLEARS])),
], example: MetricExample::new(&[1_000_000, 9_000, 1_000, 700], &["1.0", "0.7", "90.0", "10.0"]) };
const BRANCH_GROUP: MetricGroup = MetricGroup { name: "Branch_Effectiveness", subject: Subject::Branches, explains: &[Node::Part(Part::BranchMispredicts), Node::Category(Category::FrontendBound)], events: &[INSTRUCTIONS, BRANCHES, MISPREDICTED], metrics: &[
    Metric::per_kilo("branch_mpki", MISPREDICTED, INSTRUCTIONS),
    Metric::percent("branch_misprediction_ratio", MISPREDICTED, BRANCHES, "% of branches"),
], example: MetricExample::new(&[1_000_000, 200_000, 5_000], &["5.0", "2.5"]) };
const ITLB_SANDY_BRIDGE_GROUP: MetricGroup = MetricGroup { name: "ITLB_Effectiveness", subject: Subject::InstructionTlb, explains: &[Node::Part(Part::FetchLatency)], events: &[INSTRUCTIONS, ITLB_WALKS_BEGUN], metrics: &[
    Metric::per_kilo("itlb_mpki", ITLB_WALKS_BEGUN, INSTRUCTIONS),
], example: MetricExample::new(&[1_000_000, 500], &["0.5"]) };
const L1I_GROUP: MetricGroup = MetricGroup { name: "L1I_Cache_Effectiveness", subject: Subject::InstructionCache, explains: &[Node::Part(Part::FetchLatency)], events: &[INSTRUCTIONS, ICACHE_HIT, ICACHE_MISSES], metrics: &[
    Metric::per_kilo("l1i_cache_mpki", ICACHE_MISSES, INSTRUCTIONS),
    Metric::new("l1i_cache_miss_ratio", "% of accesses", &|c| 100.0 * c[ICACHE_MISSES] / (c[ICACHE_HIT] + c[ICACHE_MISSES])),
], example: MetricExample::new(&[1_000_000, 237_500, 12_500], &["12.5", "5.0"]) };
const DECODED_CACHE_GROUP: MetricGroup = MetricGroup { name: "DSB_Effectiveness", subject: Subject::DecodedCache, explains: &[Node::Part(Part::FetchBandwidth)], events: &[INSTRUCTIONS, DSB_UOPS, MITE_UOPS, MS_UOPS], metrics: &[
    Metric::new("dsb_coverage", "% of uops", &|c| 100.0 * c[DSB_UOPS] / (c[DSB_UOPS] + c[MITE_UOPS] + c[MS_UOPS])),
    Metric::new("microcode", "% of uops", &|c| 100.0 * c[MS_UOPS] / (c[DSB_UOPS] + c[MITE_UOPS] + c[MS_UOPS])),
], example: MetricExample::new(&[1_000_000, 750_000, 200_000, 50_000], &["75.0", "5.0"]) };
const STALLS_GROUP: MetricGroup = MetricGroup { name: "Backend_Stalls", subject: Subject::Stalls, explains: &[Node::Category(Category::BackendBound)], events: &[CYCLES, NO_EXECUTE, STALLS_L2_PENDING, STORE_BUFFER_FULL], metrics: &[
    Metric::percent("nothing_executed", NO_EXECUTE, CYCLES, "% of cycles"),
    Metric::percent("stalled_beyond_l2", STALLS_L2_PENDING, CYCLES, "% of cycles"),
    Metric::percent("store_buffer_full", STORE_BUFFER_FULL, CYCLES, "% of cycles"),
], example: MetricExample::new(&[1_000_000, 500_000, 400_000, 20_000], &["50.0", "40.0", "2.0"]) };
const DTLB_GROUP: MetricGroup = MetricGroup { name: "DTLB_Effectiveness", subject: Subject::DataTlb, explains: &[Node::Part(Part::MemoryBound)], events: &[INSTRUCTIONS, LOADS, STLB_MISS_LOADS, STLB_MISS_STORES], metrics: &[
    Metric::per_kilo("stlb_load_mpki", STLB_MISS_LOADS, INSTRUCTIONS),
    Metric::percent("stlb_load_miss_ratio", STLB_MISS_LOADS, LOADS, "% of loads"),
    Metric::per_kilo("stlb_store_mpki", STLB_MISS_STORES, INSTRUCTIONS),
], example: MetricExample::new(&[1_000_000, 300_000, 3_000, 500], &["3.0", "1.0", "0.5"]) };
const L1D_GROUP: MetricGroup = MetricGroup { name: "L1D_Cache_Effectiveness", subject: Subject::DataCache, explains: &[Node::Part(Part::MemoryBound)], events: &[INSTRUCTIONS, LOADS, L1_HIT, FILL_BUFFER_HIT], metrics: &[
    Metric::new("l1d_load_mpki", "per 1000 instructions", &|c| 1000.0 * (c[LOADS] - c[L1_HIT]) / c[INSTRUCTIONS]),
    Metric::new("l1d_load_miss_ratio", "% of loads", &|c| 100.0 * (c[LOADS] - c[L1_HIT]) / c[LOADS]),
    Metric::percent("fill_buffer_hits", FILL_BUFFER_HIT, LOADS, "% of loads"),
], example: MetricExample::new(&[1_000_000, 300_000, 270_000, 15_000], &["30.0", "10.0", "5.0"]) };
const L2_SANDY_BRIDGE_GROUP: MetricGroup = MetricGroup { name: "L2_Cache_Effectiveness", subject: Subject::L2Cache, explains: &[Node::Part(Part::MemoryBound)], events: &[INSTRUCTIONS, L2_HIT, L3_HIT], metrics: &[
    Metric::per_kilo("l2_load_hits", L2_HIT, INSTRUCTIONS),
    Metric::per_kilo("l3_load_hits", L3_HIT, INSTRUCTIONS),
], example: MetricExample::new(&[1_000_000, 20_000, 6_000], &["20.0", "6.0"]) };
const LL_CACHE_GROUP: MetricGroup = MetricGroup { name: "LL_Cache_Effectiveness", subject: Subject::LastLevelCache, explains: &[Node::Part(Part::MemoryBound), Node::Part(Part::FetchLatency)], events: &[INSTRUCTIONS, LL_REFERENCES, LL_MISSES], metrics: &[
    Metric::per_kilo("ll_cache_mpki", LL_MISSES, INSTRUCTIONS),
    Metric::percent("ll_cache_miss_ratio", LL_MISSES, LL_REFERENCES, "% of references"),
], example: MetricExample::new(&[1_000_000, 8_000, 6_000], &["6.0", "75.0"]) };
const OPERATION_MIX_GROUP: MetricGroup = MetricGroup { name: "Operation_Mix", subject: Subject::OperationMix, explains: &[Node::Category(Category::Retiring), Node::Part(Part::CoreBound)], events: &[INSTRUCTIONS, RETIRED, LOADS, STORES, BRANCHES], metrics: &[
    Metric::new("uops_per_instruction", "per instruction", &|c| c[RETIRED] / c[INSTRUCTIONS]),
    Metric::percent("loads", LOADS, INSTRUCTIONS, "% of instructions"),
    Metric::percent("stores", STORES, INSTRUCTIONS, "% of instructions"),
    Metric::percent("branches", BRANCHES, INSTRUCTIONS, "% of instructions"),
], example: MetricExample::new(&[1_000_000, 1_100_000, 300_000, 110_000, 200_000], &["1.10", "30.0", "11.0", "20.0"]) };
const ITLB_GROUP: MetricGroup = MetricGroup { name: "ITLB_Effectiveness", subject: Subject::InstructionTlb, explains: &[Node::Part(Part::FetchLatency)], events: &[INSTRUCTIONS, ITLB_WALK, ITLB_STLB_HIT], metrics: &[
    Metric::per_kilo("itlb_mpki", ITLB_WALK, INSTRUCTIONS),
    Metric::new("l1_itlb_mpki", "per 1000 instructions", &|c| 1000.0 * (c[ITLB_WALK] + c[ITLB_STLB_HIT]) / c[INSTRUCTIONS]),
], example: MetricExample::new(&[1_000_000, 500, 3_000], &["0.5", "3.5"]) };
const L1I_SKYLAKE_GROUP: MetricGroup = MetricGroup { name: "L1I_Cache_Effectiveness", subject: Subject::InstructionCache, explains: &[Node::Part(Part::FetchLatency)], events: &[INSTRUCTIONS, IFTAG_HIT, IFTAG_MISS], metrics: &[
    Metric::per_kilo("l1i_cache_mpki", IFTAG_MISS, INSTRUCTIONS),
    Metric::new("l1i_cache_miss_ratio", "% of accesses", &|c| 100.0 * c[IFTAG_MISS] / (c[IFTAG_HIT] + c[IFTAG_MISS])),
], example: MetricExample::new(&[1_000_000, 237_500, 12_500], &["12.5", "5.0"]) };
const L2_CODE_GROUP: MetricGroup = MetricGroup { name: "L2_Cache_Effectiveness (instructions)", subject: Subject::L2Cache, explains: &[Node::Part(Part::FetchLatency)], events: &[INSTRUCTIONS, L2_CODE_READS, L2_CODE_MISSES], metrics: &[
    Metric::per_kilo("l2_code_mpki", L2_CODE_MISSES, INSTRUCTIONS),
    Metric::percent("l2_code_miss_ratio", L2_CODE_MISSES, L2_CODE_READS, "% of code reads"),
], example: MetricExample::new(&[1_000_000, 12_000, 3_000], &["3.0", "25.0"]) };
const STALLS_SKYLAKE_GROUP: MetricGroup = MetricGroup { name: "Backend_Stalls", subject: Subject::Stalls, explains: &[Node::Category(Category::BackendBound)], events: &[CYCLES, STALLS_TOTAL, STALLS_MEMORY, BOUND_ON_STORES], metrics: &[
    Metric::percent("nothing_executed", STALLS_TOTAL, CYCLES, "% of cycles"),
    Metric::percent("stalled_on_loads", STALLS_MEMORY, CYCLES, "% of cycles"),
    Metric::percent("bound_on_stores", BOUND_ON_STORES, CYCLES, "% of cycles"),
], example: MetricExample::new(&[1_000_000, 500_000, 400_000, 20_000], &["50.0", "40.0", "2.0"]) };
const MEMORY_STALLS_GROUP: MetricGroup = MetricGroup { name: "Memory_Stalls", subject: Subject::Stalls, explains: &[Node::Part(Part::MemoryBound)], events: &[CYCLES, STALLS_MEMORY, STALLS_L1D_MISS, STALLS_L2_MISS, STALLS_L3_MISS], metrics: &[
    Metric::new("stalled_on_l1", "% of cycles", &|c| 100.0 * (c[STALLS_MEMORY] - c[STALLS_L1D_MISS]) / c[CYCLES]),
    Metric::new("stalled_on_l2", "% of cycles", &|c| 100.0 * (c[STALLS_L1D_MISS] - c[STALLS_L2_MISS]) / c[CYCLES]),
    Metric::new("stalled_on_l3", "% of cycles", &|c| 100.0 * (c[STALLS_L2_MISS] - c[STALLS_L3_MISS]) / c[CYCLES]),
    Metric::percent("stalled_on_memory", STALLS_L3_MISS, CYCLES, "% of cycles"),
], example: MetricExample::new(&[1_000_000, 500_000, 450_000, 350_000, 300_000], &["5.0", "10.0", "5.0", "30.0"]) };
const LOAD_BLOCKS_GROUP: MetricGroup = MetricGroup { name: "Load_Blocks", subject: Subject::LoadBlocks, explains: &[Node::Part(Part::MemoryBound)], events: &[CYCLES, FORWARD_BLOCKS, ALIASED_LOADS, SPLIT_LOADS, SPLIT_STORES], metrics: &[
    Metric::new("store_forward_blocks", "% of cycles", &|c| 100.0 * 13.0 * c[FORWARD_BLOCKS] / c[CYCLES]),
    Metric::percent("aliasing_4k", ALIASED_LOADS, CYCLES, "% of cycles"),
    Metric::percent("split_loads", SPLIT_LOADS, CYCLES, "% of cycles"),
    Metric::percent("split_stores", SPLIT_STORES, CYCLES, "% of cycles"),
], example: MetricExample::new(&[1_000_000, 20_000, 30_000, 100_000, 40_000], &["26.0", "3.0", "10.0", "4.0"]) };
const SPLIT_LOCKS_GROUP: MetricGroup = MetricGroup { name: "Split_Locks", subject: Subject::Locks, explains: &[Node::Part(Part::MemoryBound)], events: &[INSTRUCTIONS, SPLIT_LOCKS], metrics: &[
    Metric::per_kilo("split_locks", SPLIT_LOCKS, INSTRUCTIONS),
], example: MetricExample::new(&[1_000_000, 500], &["0.5"]) };
const DTLB_SKYLAKE_GROUP: MetricGroup = MetricGroup { name: "DTLB_Effectiveness", subject: Subject::DataTlb, explains: &[Node::Part(Part::MemoryBound)], events: &[INSTRUCTIONS, DTLB_LOAD_WALK, DTLB_LOAD_STLB_HIT, DTLB_STORE_WALK], metrics: &[
    Metric::per_kilo("dtlb_load_mpki", DTLB_LOAD_WALK, INSTRUCTIONS),
    Metric::new("l1_dtlb_load_mpki", "per 1000 instructions", &|c| 1000.0 * (c[DTLB_LOAD_WALK] + c[DTLB_LOAD_STLB_HIT]) / c[INSTRUCTIONS]),
    Metric::per_kilo("dtlb_store_mpki", DTLB_STORE_WALK, INSTRUCTIONS),
], example: MetricExample::new(&[1_000_000, 4_000, 16_000, 500], &["4.0", "20.0", "0.5"]) };
const L1D_SKYLAKE_GROUP: MetricGroup = MetricGroup { name: "L1D_Cache_Effectiveness", subject: Subject::DataCache, explains: &[Node::Part(Part::MemoryBound)], events: &[INSTRUCTIONS, LOADS_2, L1_MISS, FILL_BUFFER_HIT_2], metrics: &[
    Metric::per_kilo("l1d_load_mpki", L1_MISS, INSTRUCTIONS),
    Metric::percent("l1d_load_miss_ratio", L1_MISS, LOADS_2, "% of loads"),
    Metric::percent("fill_buffer_hits", FILL_BUFFER_HIT_2, LOADS_2, "% of loads"),
], example: MetricExample::new(&[1_000_000, 300_000, 30_000, 15_000], &["30.0", "10.0", "5.0"]) };
const L2_GROUP: MetricGroup = MetricGroup { name: "L2_Cache_Effectiveness (data)", subject: Subject::L2Cache, explains: &[Node::Part(Part::MemoryBound)], events: &[INSTRUCTIONS, L2_HIT_2, L2_MISS, L3_HIT_2], metrics: &[
    Metric::per_kilo("l2_load_mpki", L2_MISS, INSTRUCTIONS),
    Metric::new("l2_load_miss_ratio", "% of loads beyond L1", &|c| 100.0 * c[L2_MISS] / (c[L2_HIT_2] + c[L2_MISS])),
    Metric::per_kilo("l3_load_hits", L3_HIT_2, INSTRUCTIONS),
], example: MetricExample::new(&[1_000_000, 15_000, 5_000, 3_000], &["5.0", "25.0", "3.0"]) };
const PORTS_GROUP: MetricGroup = MetricGroup { name: "Ports_Utilization", subject: Subject::OperationMix, explains: &[Node::Part(Part::CoreBound)], events: &[CYCLES, ONE_PORT, TWO_PORTS, DIVIDER], metrics: &[
    Metric::percent("one_port", ONE_PORT, CYCLES, "% of cycles"),
    Metric::percent("two_ports", TWO_PORTS, CYCLES, "% of cycles"),
    Metric::percent("divider", DIVIDER, CYCLES, "% of cycles"),
], example: MetricExample::new(&[1_000_000, 300_000, 200_000, 400_000], &["30.0", "20.0", "40.0"]) };
const OPERATION_MIX_GROUP_2: MetricGroup = MetricGroup { name: "Operation_Mix", subject: Subject::OperationMix, explains: &[Node::Category(Category::Retiring), Node::Part(Part::CoreBound)], events: &[INSTRUCTIONS, RETIRED, LOADS_2, STORES_2, BRANCHES], metrics: &[
    Metric::new("uops_per_instruction", "per instruction", &|c| c[RETIRED] / c[INSTRUCTIONS]),
    Metric::percent("loads", LOADS_2, INSTRUCTIONS, "% of instructions"),
    Metric::percent("stores", STORES_2, INSTRUCTIONS, "% of instructions"),
    Metric::percent("branches", BRANCHES, INSTRUCTIONS, "% of instructions"),
], example: MetricExample::new(&[1_000_000, 1_100_000, 300_000, 110_000, 200_000], &["1.10", "30.0", "11.0", "20.0"]) };
const FP_ASSISTS_GROUP: MetricGroup = MetricGroup { name: "Assists", subject: Subject::Assists, explains: &[Node::Category(Category::Retiring)], events: &[INSTRUCTIONS, ASSISTS_FP], metrics: &[
    Metric::per_kilo("fp_assists", ASSISTS_FP, INSTRUCTIONS),
], example: MetricExample::new(&[1_000_000, 500], &["0.5"]) };
const FP_MIX_GROUP: MetricGroup = MetricGroup { name: "Operation_Mix (floating point)", subject: Subject::OperationMix, explains: &[Node::Category(Category::Retiring), Node::Part(Part::CoreBound)], events: &[INSTRUCTIONS, FP_SCALAR, FP_VECTOR], metrics: &[
    Metric::percent("fp_scalar", FP_SCALAR, INSTRUCTIONS, "% of instructions"),
    Metric::percent("fp_vector", FP_VECTOR, INSTRUCTIONS, "% of instructions"),
], example: MetricExample::new(&[1_000_000, 50_000, 20_000], &["5.0", "2.0"]) };
const LEVEL_2_FRONTEND_DROPPING_GROUP: MetricGroup = MetricGroup { name: "TopdownL2 frontend_bound", subject: Subject::Level2, explains: &[Node::Category(Category::FrontendBound)], events: &[SLOTS_P, NOT_DELIVERED, NOTHING_DELIVERED_2, DROPPING], metrics: &[
    Metric::new("fetch_latency", "% of slots", &|c| 100.0 * (c.slots_per_cycle() * c[NOTHING_DELIVERED_2] - c[DROPPING]) / c[SLOTS_P]),
    Metric::new("fetch_bandwidth", "% of slots", &|c| 100.0 * (c[NOT_DELIVERED] - c.slots_per_cycle() * c[NOTHING_DELIVERED_2]) / c[SLOTS_P]),
], example: MetricExample::new(&[10_000_000, 2_100_000, 260_000, 100_000], &["12.0", "8.0"]).at_width(5) };
const LEVEL_2_BACKEND_ICE_LAKE_GROUP: MetricGroup = MetricGroup { name: "TopdownL2 backend_bound", subject: Subject::Level2, explains: &[Node::Category(Category::BackendBound)], events: &[SLOTS_P, RETIRED_2, STALLS_TOTAL, STALLS_MEMORY, BOUND_ON_STORES_2, ONE_PORT, TWO_PORTS], metrics: &[
    Metric::new("memory_bound", "% of backend bound", &|c| 100.0 * (c[STALLS_MEMORY] + c[BOUND_ON_STORES_2]) / (c[STALLS_TOTAL] + c[ONE_PORT] + c[RETIRED_2] / c[SLOTS_P] * c[TWO_PORTS] + c[BOUND_ON_STORES_2])),
    Metric::new("core_bound", "% of backend bound", &|c| 100.0 - 100.0 * (c[STALLS_MEMORY] + c[BOUND_ON_STORES_2]) / (c[STALLS_TOTAL] + c[ONE_PORT] + c[RETIRED_2] / c[SLOTS_P] * c[TWO_PORTS] + c[BOUND_ON_STORES_2])),
], example: MetricExample::new(&[10_000_000, 4_000_000, 500_000, 430_000, 20_000, 140_000, 100_000], &["64.3", "35.7"]) };
const BRANCH_KINDS_GROUP: MetricGroup = MetricGroup { name: "Branch_Effectiveness", subject: Subject::Branches, explains: &[Node::Part(Part::BranchMispredicts), Node::Category(Category::FrontendBound)], events: &[INSTRUCTIONS, BRANCHES, MISPREDICTED, MISPREDICTED_CONDITIONAL, MISPREDICTED_INDIRECT, MISPREDICTED_RETURN], metrics: &[
    Metric::per_kilo("branch_mpki", MISPREDICTED, INSTRUCTIONS),
    Metric::percent("branch_misprediction_ratio", MISPREDICTED, BRANCHES, "% of branches"),
    Metric::percent("conditional", MISPREDICTED_CONDITIONAL, MISPREDICTED, "% of mispredicts"),
    Metric::percent("indirect", MISPREDICTED_INDIRECT, MISPREDICTED, "% of mispredicts"),
    Metric::percent("returns", MISPREDICTED_RETURN, MISPREDICTED, "% of mispredicts"),
], example: MetricExample::new(&[1_000_000, 200_000, 5_000, 4_000, 750, 250], &["5.0", "2.5", "80.0", "15.0", "5.0"]) };
const ITLB_STALLS_GROUP: MetricGroup = MetricGroup { name: "ITLB_Effectiveness", subject: Subject::InstructionTlb, explains: &[Node::Part(Part::FetchLatency)], events: &[CYCLES, INSTRUCTIONS, ITLB_WALK, ITLB_STLB_HIT, ITLB_STALLS], metrics: &[
    Metric::per_kilo("itlb_mpki", ITLB_WALK, INSTRUCTIONS),
    Metric::new("l1_itlb_mpki", "per 1000 instructions", &|c| 1000.0 * (c[ITLB_WALK] + c[ITLB_STLB_HIT]) / c[INSTRUCTIONS]),
    Metric::percent("itlb_stalls", ITLB_STALLS, CYCLES, "% of cycles"),
], example: MetricExample::new(&[1_000_000, 1_000_000, 500, 3_000, 40_000], &["0.5", "3.5", "4.0"]) };
const L1I_CACHE_GROUP: MetricGroup = MetricGroup { name: "L1I_Cache_Effectiveness", subject: Subject::InstructionCache, explains: &[Node::Part(Part::FetchLatency)], events: &[CYCLES, INSTRUCTIONS, ICACHE_STALLS, L2_CODE_READS], metrics: &[
    Metric::per_kilo("code_reads_from_l2", L2_CODE_READS, INSTRUCTIONS),
    Metric::percent("icache_stalls", ICACHE_STALLS, CYCLES, "% of cycles"),
], example: MetricExample::new(&[1_000_000, 1_000_000, 80_000, 12_500], &["12.5", "8.0"]) };
const DECODED_CACHE_WITHOUT_MICROCODE_GROUP: MetricGroup = MetricGroup { name: "DSB_Effectiveness", subject: Subject::DecodedCache, explains: &[Node::Part(Part::FetchBandwidth)], events: &[INSTRUCTIONS, DSB_UOPS, MITE_UOPS], metrics: &[
    Metric::new("dsb_coverage", "% of uops", &|c| 100.0 * c[DSB_UOPS] / (c[DSB_UOPS] + c[MITE_UOPS])),
], example: MetricExample::new(&[1_000_000, 750_000, 250_000], &["75.0"]) };
const SPLIT_LOCKS_GROUP_2: MetricGroup = MetricGroup { name: "Split_Locks", subject: Subject::Locks, explains: &[Node::Part(Part::MemoryBound)], events: &[INSTRUCTIONS, SPLIT_LOCKS_2], metrics: &[
    Metric::per_kilo("split_locks", SPLIT_LOCKS_2, INSTRUCTIONS),
], example: MetricExample::new(&[1_000_000, 500], &["0.5"]) };
const L2_DATA_GROUP: MetricGroup = MetricGroup { name: "L2_Cache_Effectiveness (data)", subject: Subject::L2Cache, explains: &[Node::Part(Part::MemoryBound)], events: &[INSTRUCTIONS, L2_HIT_2, L2_MISS], metrics: &[
    Metric::per_kilo("l2_load_mpki", L2_MISS, INSTRUCTIONS),
    Metric::new("l2_load_miss_ratio", "% of loads beyond L1", &|c| 100.0 * c[L2_MISS] / (c[L2_HIT_2] + c[L2_MISS])),
], example: MetricExample::new(&[1_000_000, 15_000, 5_000], &["5.0", "25.0"]) };
const L3_LOADS_GROUP: MetricGroup = MetricGroup { name: "LL_Cache_Effectiveness (loads)", subject: Subject::LastLevelCache, explains: &[Node::Part(Part::MemoryBound)], events: &[INSTRUCTIONS, L3_HIT_2, L3_MISS], metrics: &[
    Metric::per_kilo("l3_load_mpki", L3_MISS, INSTRUCTIONS),
    Metric::new("l3_load_miss_ratio", "% of loads beyond L2", &|c| 100.0 * c[L3_MISS] / (c[L3_HIT_2] + c[L3_MISS])),
], example: MetricExample::new(&[1_000_000, 3_000, 1_000], &["1.0", "25.0"]) };
const THREE_PORTS_GROUP: MetricGroup = MetricGroup { name: "Ports_Utilization", subject: Subject::OperationMix, explains: &[Node::Part(Part::CoreBound)], events: &[CYCLES, ONE_PORT, TWO_PORTS, THREE_PORTS, DIVIDER_2], metrics: &[
    Metric::percent("one_port", ONE_PORT, CYCLES, "% of cycles"),
    Metric::percent("two_ports", TWO_PORTS, CYCLES, "% of cycles"),
    Metric::percent("three_ports", THREE_PORTS, CYCLES, "% of cycles"),
    Metric::percent("divider", DIVIDER_2, CYCLES, "% of cycles"),
], example: MetricExample::new(&[1_000_000, 300_000, 200_000, 100_000, 400_000], &["30.0", "20.0", "10.0", "40.0"]) };
const OPERATION_MIX_GROUP_3: MetricGroup = MetricGroup { name: "Operation_Mix", subject: Subject::OperationMix, explains: &[Node::Category(Category::Retiring), Node::Part(Part::CoreBound)], events: &[INSTRUCTIONS, RETIRED_2, LOADS_2, STORES_2, BRANCHES], metrics: &[
    Metric::new("uops_per_instruction", "per instruction", &|c| c[RETIRED_2] / c[INSTRUCTIONS]),
    Metric::percent("loads", LOADS_2, INSTRUCTIONS, "% of instructions"),
    Metric::percent("stores", STORES_2, INSTRUCTIONS, "% of instructions"),
    Metric::percent("branches", BRANCHES, INSTRUCTIONS, "% of instructions"),
], example: MetricExample::new(&[1_000_000, 1_100_000, 300_000, 110_000, 200_000], &["1.10", "30.0", "11.0", "20.0"]) };
const FP_ASSISTS_GROUP_2: MetricGroup = MetricGroup { name: "Assists", subject: Subject::Assists, explains: &[Node::Category(Category::Retiring)], events: &[INSTRUCTIONS, ASSISTS_FP_2], metrics: &[
    Metric::per_kilo("fp_assists", ASSISTS_FP_2, INSTRUCTIONS),
], example: MetricExample::new(&[1_000_000, 500], &["0.5"]) };
const LEVEL_2_FRONTEND_DROPPING_GROUP_2: MetricGroup = MetricGroup { name: "TopdownL2 frontend_bound", subject: Subject::Level2, explains: &[Node::Category(Category::FrontendBound)], events: &[SLOTS_P, NOT_DELIVERED, NOTHING_DELIVERED_3, DROPPING_2], metrics: &[
    Metric::new("fetch_latency", "% of slots", &|c| 100.0 * (c.slots_per_cycle() * c[NOTHING_DELIVERED_3] - c[DROPPING_2]) / c[SLOTS_P]),
    Metric::new("fetch_bandwidth", "% of slots", &|c| 100.0 * (c[NOT_DELIVERED] - c.slots_per_cycle() * c[NOTHING_DELIVERED_3]) / c[SLOTS_P]),
], example: MetricExample::new(&[10_000_000, 2_100_000, 260_000, 100_000], &["12.0", "8.0"]).at_width(5) };
const LEVEL_2_BAD_SPECULATION_DROPPING_GROUP: MetricGroup = MetricGroup { name: "TopdownL2 bad_speculation", subject: Subject::Level2, explains: &[Node::Category(Category::BadSpeculation)], events: &[SLOTS_P, RETIRED_2, NOT_DELIVERED, BACKEND_BOUND, MISPREDICT, DROPPING_2], metrics: &[
    Metric::percent("branch_mispredicts", MISPREDICT, SLOTS_P, "% of slots"),
    Metric::new("machine_clears", "% of slots", &|c| 100.0 * (c[SLOTS_P] - c[RETIRED_2] - c[NOT_DELIVERED] - c[BACKEND_BOUND] + c[DROPPING_2] - c[MISPREDICT]) / c[SLOTS_P]),
], example: MetricExample::new(&[12_000_000, 4_800_000, 2_500_000, 3_600_000, 960_000, 100_000], &["8.0", "2.0"]) };
const LEVEL_2_BACKEND_GROUP: MetricGroup = MetricGroup { name: "TopdownL2 backend_bound", subject: Subject::Level2, explains: &[Node::Category(Category::BackendBound)], events: &[SLOTS_P, BACKEND_BOUND, MEMORY_BOUND], metrics: &[
    Metric::percent("memory_bound", MEMORY_BOUND, SLOTS_P, "% of slots"),
    Metric::new("core_bound", "% of slots", &|c| 100.0 * (c[BACKEND_BOUND] - c[MEMORY_BOUND]) / c[SLOTS_P]),
], example: MetricExample::new(&[12_000_000, 3_600_000, 2_160_000], &["18.0", "12.0"]) };
const LEVEL_2_RETIRING_GROUP: MetricGroup = MetricGroup { name: "TopdownL2 retiring", subject: Subject::Level2, explains: &[Node::Category(Category::Retiring)], events: &[SLOTS_P, RETIRED_2, HEAVY], metrics: &[
    Metric::percent("heavy_operations", HEAVY, SLOTS_P, "% of slots"),
    Metric::new("light_operations", "% of slots", &|c| 100.0 * (c[RETIRED_2] - c[HEAVY]) / c[SLOTS_P]),
], example: MetricExample::new(&[12_000_000, 4_800_000, 1_200_000], &["10.0", "30.0"]) };
const ITLB_STALLS_GROUP_2: MetricGroup = MetricGroup { name: "ITLB_Effectiveness", subject: Subject::InstructionTlb, explains: &[Node::Part(Part::FetchLatency)], events: &[CYCLES, INSTRUCTIONS, ITLB_WALK_2, ITLB_STLB_HIT_2, ITLB_STALLS], metrics: &[
    Metric::per_kilo("itlb_mpki", ITLB_WALK_2, INSTRUCTIONS),
    Metric::new("l1_itlb_mpki", "per 1000 instructions", &|c| 1000.0 * (c[ITLB_WALK_2] + c[ITLB_STLB_HIT_2]) / c[INSTRUCTIONS]),
    Metric::percent("itlb_stalls", ITLB_STALLS, CYCLES, "% of cycles"),
], example: MetricExample::new(&[1_000_000, 1_000_000, 500, 3_000, 40_000], &["0.5", "3.5", "4.0"]) };
const MEMORY_STALLS_GOLDEN_COVE_GROUP: MetricGroup = MetricGroup { name: "Memory_Stalls", subject: Subject::Stalls, explains: &[Node::Part(Part::MemoryBound)], events: &[CYCLES, BOUND_ON_LOADS, ACTIVITY_L1D_MISS, ACTIVITY_L2_MISS, ACTIVITY_L3_MISS, BOUND_ON_STORES_2], metrics: &[
    Metric::new("l1_bound", "% of cycles", &|c| 100.0 * (c[BOUND_ON_LOADS] - c[ACTIVITY_L1D_MISS]) / c[CYCLES]),
    Metric::new("l2_bound", "% of cycles", &|c| 100.0 * (c[ACTIVITY_L1D_MISS] - c[ACTIVITY_L2_MISS]) / c[CYCLES]),
    Metric::new("l3_bound", "% of cycles", &|c| 100.0 * (c[ACTIVITY_L2_MISS] - c[ACTIVITY_L3_MISS]) / c[CYCLES]),
    Metric::percent("dram_bound", ACTIVITY_L3_MISS, CYCLES, "% of cycles"),
    Metric::percent("store_bound", BOUND_ON_STORES_2, CYCLES, "% of cycles"),
], example: MetricExample::new(&[1_000_000, 500_000, 450_000, 350_000, 300_000, 20_000], &["5.0", "10.0", "5.0", "30.0", "2.0"]) };
const LOAD_LATENCY_GROUP: MetricGroup = MetricGroup { name: "Load_Latency", subject: Subject::Stalls, explains: &[Node::Part(Part::MemoryBound)], events: &[CYCLES, L1_MISS, FILL_BUFFER_HIT_2, L2_HIT_2, L3_HIT_2], metrics: &[
    Metric::waits("l2_hit_latency", L2_HIT_2, CYCLES, Some(SameLine { waiting: FILL_BUFFER_HIT_2, missing: L1_MISS })),
    Metric::waits("l3_hit_latency", L3_HIT_2, CYCLES, Some(SameLine { waiting: FILL_BUFFER_HIT_2, missing: L1_MISS })),
], example: MetricExample::new(&[1_000_000, 30_000, 15_000, 8_000, 4_000], &["10.0", "5.0"]) };
const MEMORY_LATENCY_GROUP: MetricGroup = MetricGroup { name: "Load_Latency (memory)", subject: Subject::Stalls, explains: &[Node::Part(Part::MemoryBound)], events: &[CYCLES, L1_MISS, FILL_BUFFER_HIT_2, LOCAL_MEMORY, REMOTE_MEMORY], metrics: &[
    Metric::waits("local_mem", LOCAL_MEMORY, CYCLES, Some(SameLine { waiting: FILL_BUFFER_HIT_2, missing: L1_MISS })),
    Metric::waits("remote_mem", REMOTE_MEMORY, CYCLES, Some(SameLine { waiting: FILL_BUFFER_HIT_2, missing: L1_MISS })),
], example: MetricExample::new(&[1_000_000, 30_000, 15_000, 1_000, 100], &["1.25", "0.125"]) };
const LOAD_BLOCKS_GROUP_2: MetricGroup = MetricGroup { name: "Load_Blocks", subject: Subject::LoadBlocks, explains: &[Node::Part(Part::MemoryBound)], events: &[CYCLES, FORWARD_BLOCKS_2, ALIASED_LOADS_2, SPLIT_LOADS, SPLIT_STORES], metrics: &[
    Metric::new("store_forward_blocks", "% of cycles", &|c| 100.0 * 13.0 * c[FORWARD_BLOCKS_2] / c[CYCLES]),
    Metric::percent("aliasing_4k", ALIASED_LOADS_2, CYCLES, "% of cycles"),
    Metric::percent("split_loads", SPLIT_LOADS, CYCLES, "% of cycles"),
    Metric::percent("split_stores", SPLIT_STORES, CYCLES, "% of cycles"),
], example: MetricExample::new(&[1_000_000, 20_000, 30_000, 100_000, 40_000], &["26.0", "3.0", "10.0", "4.0"]) };
const LOCK_LATENCY_GROUP: MetricGroup = MetricGroup { name: "Lock_Latency", subject: Subject::Locks, explains: &[Node::Part(Part::MemoryBound)], events: &[CYCLES, LOCKED_LOADS], metrics: &[
    Metric::waits("lock_latency", LOCKED_LOADS, CYCLES, None),
], example: MetricExample::new(&[1_000_000, 20_000], &["20.0"]) };
const LOCKS_GROUP: MetricGroup = MetricGroup { name: "Locks", subject: Subject::Locks, explains: &[Node::Part(Part::MemoryBound)], events: &[CYCLES, INSTRUCTIONS, SPLIT_LOCKS_3, LOCKED_CYCLES], metrics: &[
    Metric::per_kilo("split_locks", SPLIT_LOCKS_3, INSTRUCTIONS),
    Metric::percent("locked_cycles", LOCKED_CYCLES, CYCLES, "% of cycles"),
], example: MetricExample::new(&[1_000_000, 1_000_000, 500, 200_000], &["0.5", "20.0"]) };
const DTLB_SKYLAKE_GROUP_2: MetricGroup = MetricGroup { name: "DTLB_Effectiveness", subject: Subject::DataTlb, explains: &[Node::Part(Part::MemoryBound)], events: &[INSTRUCTIONS, DTLB_LOAD_WALK_2, DTLB_LOAD_STLB_HIT_2, DTLB_STORE_WALK_2], metrics: &[
    Metric::per_kilo("dtlb_load_mpki", DTLB_LOAD_WALK_2, INSTRUCTIONS),
    Metric::new("l1_dtlb_load_mpki", "per 1000 instructions", &|c| 1000.0 * (c[DTLB_LOAD_WALK_2] + c[DTLB_LOAD_STLB_HIT_2]) / c[INSTRUCTIONS]),
    Metric::per_kilo("dtlb_store_mpki", DTLB_STORE_WALK_2, INSTRUCTIONS),
], example: MetricExample::new(&[1_000_000, 4_000, 16_000, 500], &["4.0", "20.0", "0.5"]) };
const THREE_PORTS_GROUP_2: MetricGroup = MetricGroup { name: "Ports_Utilization", subject: Subject::OperationMix, explains: &[Node::Part(Part::CoreBound)], events: &[CYCLES, ONE_PORT, TWO_PORTS, THREE_PORTS, DIVIDER_3], metrics: &[
    Metric::percent("one_port", ONE_PORT, CYCLES, "% of cycles"),
    Metric::percent("two_ports", TWO_PORTS, CYCLES, "% of cycles"),
    Metric::percent("three_ports", THREE_PORTS, CYCLES, "% of cycles"),
    Metric::percent("divider", DIVIDER_3, CYCLES, "% of cycles"),
], example: MetricExample::new(&[1_000_000, 300_000, 200_000, 100_000, 400_000], &["30.0", "20.0", "10.0", "40.0"]) };
const ASSISTS_GROUP: MetricGroup = MetricGroup { name: "Assists", subject: Subject::Assists, explains: &[Node::Part(Part::HeavyOperations)], events: &[INSTRUCTIONS, ASSISTS_SSE_AVX_MIX, ASSISTS_FP_2], metrics: &[
    Metric::per_kilo("sse_avx_mix", ASSISTS_SSE_AVX_MIX, INSTRUCTIONS),
    Metric::per_kilo("fp_assists", ASSISTS_FP_2, INSTRUCTIONS),
], example: MetricExample::new(&[1_000_000, 2_000, 500], &["2.0", "0.5"]) };
const LEVEL_2_FRONTEND_LION_COVE_GROUP: MetricGroup = MetricGroup { name: "TopdownL2 frontend_bound", subject: Subject::Level2, explains: &[Node::Category(Category::FrontendBound)], events: &[SLOTS_P, CYCLES, NOT_DELIVERED_2, FETCH_LATENCY], metrics: &[
    Metric::percent("fetch_latency", FETCH_LATENCY, CYCLES, "% of slots"),
    Metric::new("fetch_bandwidth", "% of slots", &|c| 100.0 * (c[NOT_DELIVERED_2] / c[SLOTS_P] - c[FETCH_LATENCY] / c[CYCLES])),
], example: MetricExample::new(&[16_000_000, 2_000_000, 3_200_000, 240_000], &["12.0", "8.0"]) };
const LEVEL_2_BAD_SPECULATION_GROUP: MetricGroup = MetricGroup { name: "TopdownL2 bad_speculation", subject: Subject::Level2, explains: &[Node::Category(Category::BadSpeculation)], events: &[SLOTS_P, RETIRED_2, NOT_DELIVERED_2, BACKEND_BOUND, MISPREDICT], metrics: &[
    Metric::percent("branch_mispredicts", MISPREDICT, SLOTS_P, "% of slots"),
    Metric::new("machine_clears", "% of slots", &|c| 100.0 * (c[SLOTS_P] - c[RETIRED_2] - c[NOT_DELIVERED_2] - c[BACKEND_BOUND] - c[MISPREDICT]) / c[SLOTS_P]),
], example: MetricExample::new(&[16_000_000, 6_400_000, 3_200_000, 4_800_000, 1_280_000], &["8.0", "2.0"]) };
const BRANCH_KINDS_GROUP_2: MetricGroup = MetricGroup { name: "Branch_Effectiveness", subject: Subject::Branches, explains: &[Node::Part(Part::BranchMispredicts), Node::Category(Category::FrontendBound)], events: &[INSTRUCTIONS, BRANCHES, MISPREDICTED, MISPREDICTED_CONDITIONAL_2, MISPREDICTED_INDIRECT, MISPREDICTED_RETURN], metrics: &[
    Metric::per_kilo("branch_mpki", MISPREDICTED, INSTRUCTIONS),
    Metric::percent("branch_misprediction_ratio", MISPREDICTED, BRANCHES, "% of branches"),
    Metric::percent("conditional", MISPREDICTED_CONDITIONAL_2, MISPREDICTED, "% of mispredicts"),
    Metric::percent("indirect", MISPREDICTED_INDIRECT, MISPREDICTED, "% of mispredicts"),
    Metric::percent("returns", MISPREDICTED_RETURN, MISPREDICTED, "% of mispredicts"),
], example: MetricExample::new(&[1_000_000, 200_000, 5_000, 4_000, 750, 250], &["5.0", "2.5", "80.0", "15.0", "5.0"]) };
const ITLB_STALLS_GROUP_3: MetricGroup = MetricGroup { name: "ITLB_Effectiveness", subject: Subject::InstructionTlb, explains: &[Node::Part(Part::FetchLatency)], events: &[CYCLES, INSTRUCTIONS, ITLB_WALK_2, ITLB_STLB_HIT_3, ITLB_STALLS], metrics: &[
    Metric::per_kilo("itlb_mpki", ITLB_WALK_2, INSTRUCTIONS),
    Metric::new("l1_itlb_mpki", "per 1000 instructions", &|c| 1000.0 * (c[ITLB_WALK_2] + c[ITLB_STLB_HIT_3]) / c[INSTRUCTIONS]),
    Metric::percent("itlb_stalls", ITLB_STALLS, CYCLES, "% of cycles"),
], example: MetricExample::new(&[1_000_000, 1_000_000, 500, 3_000, 40_000], &["0.5", "3.5", "4.0"]) };
const MEMORY_STALLS_LION_COVE_GROUP: MetricGroup = MetricGroup { name: "Memory_Stalls", subject: Subject::Stalls, explains: &[Node::Part(Part::MemoryBound)], events: &[CYCLES, MEMORY_STALLS_L1, MEMORY_STALLS_L2, MEMORY_STALLS_L3, MEMORY_STALLS_MEMORY, BOUND_ON_STORES_2], metrics: &[
    Metric::percent("l1_bound", MEMORY_STALLS_L1, CYCLES, "% of cycles"),
    Metric::percent("l2_bound", MEMORY_STALLS_L2, CYCLES, "% of cycles"),
    Metric::percent("l3_bound", MEMORY_STALLS_L3, CYCLES, "% of cycles"),
    Metric::percent("dram_bound", MEMORY_STALLS_MEMORY, CYCLES, "% of cycles"),
    Metric::percent("store_bound", BOUND_ON_STORES_2, CYCLES, "% of cycles"),
], example: MetricExample::new(&[1_000_000, 50_000, 100_000, 50_000, 300_000, 20_000], &["5.0", "10.0", "5.0", "30.0", "2.0"]) };
const DTLB_SKYLAKE_GROUP_3: MetricGroup = MetricGroup { name: "DTLB_Effectiveness", subject: Subject::DataTlb, explains: &[Node::Part(Part::MemoryBound)], events: &[INSTRUCTIONS, DTLB_LOAD_WALK_2, DTLB_LOAD_STLB_HIT_3, DTLB_STORE_WALK_2], metrics: &[
    Metric::per_kilo("dtlb_load_mpki", DTLB_LOAD_WALK_2, INSTRUCTIONS),
    Metric::new("l1_dtlb_load_mpki", "per 1000 instructions", &|c| 1000.0 * (c[DTLB_LOAD_WALK_2] + c[DTLB_LOAD_STLB_HIT_3]) / c[INSTRUCTIONS]),
    Metric::per_kilo("dtlb_store_mpki", DTLB_STORE_WALK_2, INSTRUCTIONS),
], example: MetricExample::new(&[1_000_000, 4_000, 16_000, 500], &["4.0", "20.0", "0.5"]) };
const FP_MIX_SCALAR_GROUP: MetricGroup = MetricGroup { name: "Operation_Mix (floating point)", subject: Subject::OperationMix, explains: &[Node::Category(Category::Retiring), Node::Part(Part::CoreBound)], events: &[INSTRUCTIONS, FP_SCALAR], metrics: &[
    Metric::percent("fp_scalar", FP_SCALAR, INSTRUCTIONS, "% of instructions"),
], example: MetricExample::new(&[1_000_000, 50_000], &["5.0"]) };
const BRANCH_KINDS_GROUP_3: MetricGroup = MetricGroup { name: "Branch_Effectiveness", subject: Subject::Branches, explains: &[Node::Part(Part::BranchMispredicts), Node::Category(Category::FrontendBound)], events: &[INSTRUCTIONS, BRANCHES, MISPREDICTED, MISPREDICTED_CONDITIONAL_3, MISPREDICTED_INDIRECT_2, MISPREDICTED_RETURN], metrics: &[
    Metric::per_kilo("branch_mpki", MISPREDICTED, INSTRUCTIONS),
    Metric::percent("branch_misprediction_ratio", MISPREDICTED, BRANCHES, "% of branches"),
    Metric::percent("conditional", MISPREDICTED_CONDITIONAL_3, MISPREDICTED, "% of mispredicts"),
    Metric::percent("indirect", MISPREDICTED_INDIRECT_2, MISPREDICTED, "% of mispredicts"),
    Metric::percent("returns", MISPREDICTED_RETURN, MISPREDICTED, "% of mispredicts"),
], example: MetricExample::new(&[1_000_000, 200_000, 5_000, 4_000, 750, 250], &["5.0", "2.5", "80.0", "15.0", "5.0"]) };
const FP_MIX_SCALAR_GROUP_2: MetricGroup = MetricGroup { name: "Operation_Mix (floating point)", subject: Subject::OperationMix, explains: &[Node::Category(Category::Retiring), Node::Part(Part::CoreBound)], events: &[INSTRUCTIONS, FP_SCALAR_2], metrics: &[
    Metric::percent("fp_scalar", FP_SCALAR_2, INSTRUCTIONS, "% of instructions"),
], example: MetricExample::new(&[1_000_000, 50_000], &["5.0"]) };
const BRANCH_KINDS_GROUP_4: MetricGroup = MetricGroup { name: "Branch_Effectiveness", subject: Subject::Branches, explains: &[Node::Part(Part::BranchMispredicts), Node::Category(Category::FrontendBound)], events: &[INSTRUCTIONS, BRANCHES, MISPREDICTED, MISPREDICTED_CONDITIONAL_3, MISPREDICTED_INDIRECT_3, MISPREDICTED_RETURN_2], metrics: &[
    Metric::per_kilo("branch_mpki", MISPREDICTED, INSTRUCTIONS),
    Metric::percent("branch_misprediction_ratio", MISPREDICTED, BRANCHES, "% of branches"),
    Metric::percent("conditional", MISPREDICTED_CONDITIONAL_3, MISPREDICTED, "% of mispredicts"),
    Metric::percent("indirect", MISPREDICTED_INDIRECT_3, MISPREDICTED, "% of mispredicts"),
    Metric::percent("returns", MISPREDICTED_RETURN_2, MISPREDICTED, "% of mispredicts"),
], example: MetricExample::new(&[1_000_000, 200_000, 5_000, 4_000, 750, 250], &["5.0", "2.5", "80.0", "15.0", "5.0"]) };
const SPLIT_LOCKS_GROUP_3: MetricGroup = MetricGroup { name: "Split_Locks", subject: Subject::Locks, explains: &[Node::Part(Part::MemoryBound)], events: &[INSTRUCTIONS, SPLIT_LOCKS_3], metrics: &[
    Metric::per_kilo("split_locks", SPLIT_LOCKS_3, INSTRUCTIONS),
], example: MetricExample::new(&[1_000_000, 500], &["0.5"]) };
const L1D_SKYLAKE_GROUP_2: MetricGroup = MetricGroup { name: "L1D_Cache_Effectiveness", subject: Subject::DataCache, explains: &[Node::Part(Part::MemoryBound)], events: &[INSTRUCTIONS, LOADS_2, L1_MISS_2, FILL_BUFFER_HIT_3], metrics: &[
    Metric::per_kilo("l1d_load_mpki", L1_MISS_2, INSTRUCTIONS),
    Metric::percent("l1d_load_miss_ratio", L1_MISS_2, LOADS_2, "% of loads"),
    Metric::percent("fill_buffer_hits", FILL_BUFFER_HIT_3, LOADS_2, "% of loads"),
], example: MetricExample::new(&[1_000_000, 300_000, 30_000, 15_000], &["30.0", "10.0", "5.0"]) };

pub mod sandy_bridge {
    pub use super::CYCLES;
    pub use super::INSTRUCTIONS;
    pub use super::NOT_DELIVERED;
    pub use super::ISSUED;
    pub use super::RETIRED;
    pub use super::RECOVERY;
    pub const FORMS: [&[super::Event]; 1] = [&[CYCLES, INSTRUCTIONS, NOT_DELIVERED, ISSUED, RETIRED, RECOVERY]];
    pub const GROUPS: &[super::MetricGroup] = &[super::LEVEL_2_FRONTEND_GROUP, super::CLEARS_GROUP, super::BRANCH_GROUP, super::ITLB_SANDY_BRIDGE_GROUP, super::L1I_GROUP, super::DECODED_CACHE_GROUP, super::STALLS_GROUP, super::DTLB_GROUP, super::L1D_GROUP, super::L2_SANDY_BRIDGE_GROUP, super::LL_CACHE_GROUP, super::OPERATION_MIX_GROUP];
}

pub mod skylake {
    pub use super::CYCLES;
    pub use super::INSTRUCTIONS;
    pub use super::NOT_DELIVERED;
    pub use super::ISSUED;
    pub use super::RETIRED;
    pub use super::RECOVERY_2 as RECOVERY;
    pub const FORMS: [&[super::Event]; 1] = [&[CYCLES, INSTRUCTIONS, NOT_DELIVERED, ISSUED, RETIRED, RECOVERY]];
    pub const GROUPS: &[super::MetricGroup] = &[super::LEVEL_2_FRONTEND_GROUP, super::CLEARS_GROUP, super::BRANCH_GROUP, super::ITLB_GROUP, super::L1I_SKYLAKE_GROUP, super::DECODED_CACHE_GROUP, super::L2_CODE_GROUP, super::STALLS_SKYLAKE_GROUP, super::MEMORY_STALLS_GROUP, super::LOAD_BLOCKS_GROUP, super::SPLIT_LOCKS_GROUP, super::DTLB_SKYLAKE_GROUP, super::L1D_SKYLAKE_GROUP, super::L2_GROUP, super::LL_CACHE_GROUP, super::PORTS_GROUP, super::OPERATION_MIX_GROUP_2, super::FP_ASSISTS_GROUP, super::FP_MIX_GROUP];
}

pub mod ice_lake {
    pub use super::SLOTS;
    pub use super::CYCLES;
    pub use super::INSTRUCTIONS;
    pub use super::RETIRED_2 as RETIRED;
    pub use super::NOT_DELIVERED;
    pub use super::BACKEND_BOUND;
    pub use super::DROPPING;
    pub use super::CLEARS;
    pub use super::SLOTS_P;
    pub const FORMS: [&[super::Event]; 2] = [&[SLOTS, CYCLES, INSTRUCTIONS, RETIRED, NOT_DELIVERED, BACKEND_BOUND, DROPPING, CLEARS], &[SLOTS_P, CYCLES, INSTRUCTIONS, RETIRED, NOT_DELIVERED, BACKEND_BOUND, DROPPING, CLEARS]];
    pub const GROUPS: &[super::MetricGroup] = &[super::LEVEL_2_FRONTEND_DROPPING_GROUP, super::CLEARS_GROUP, super::LEVEL_2_BACKEND_ICE_LAKE_GROUP, super::BRANCH_KINDS_GROUP, super::ITLB_STALLS_GROUP, super::L1I_CACHE_GROUP, super::DECODED_CACHE_WITHOUT_MICROCODE_GROUP, super::L2_CODE_GROUP, super::MEMORY_STALLS_GROUP, super::LOAD_BLOCKS_GROUP, super::SPLIT_LOCKS_GROUP_2, super::DTLB_SKYLAKE_GROUP, super::L1D_SKYLAKE_GROUP, super::L2_DATA_GROUP, super::L3_LOADS_GROUP, super::LL_CACHE_GROUP, super::THREE_PORTS_GROUP, super::OPERATION_MIX_GROUP_3, super::FP_ASSISTS_GROUP_2, super::FP_MIX_GROUP];
}

pub mod golden_cove {
    pub use super::SLOTS;
    pub use super::CYCLES;
    pub use super::INSTRUCTIONS;
    pub use super::RETIRED_2 as RETIRED;
    pub use super::NOT_DELIVERED;
    pub use super::BACKEND_BOUND;
    pub use super::DROPPING_2 as DROPPING;
    pub use super::HEAVY;
    pub use super::MISPREDICT;
    pub use super::NOTHING_DELIVERED_3 as NOTHING_DELIVERED;
    pub use super::MEMORY_BOUND;
    pub use super::SLOTS_P;
    pub use super::L2_HIT_2 as L2_HIT;
    pub use super::L3_HIT_2 as L3_HIT;
    pub use super::LOCKED_LOADS;
    pub use super::LOCAL_MEMORY;
    pub use super::REMOTE_MEMORY;
    pub const FORMS: [&[super::Event]; 3] = [&[SLOTS, CYCLES, INSTRUCTIONS, RETIRED, NOT_DELIVERED, BACKEND_BOUND, DROPPING, HEAVY, MISPREDICT, NOTHING_DELIVERED, MEMORY_BOUND], &[SLOTS, CYCLES, INSTRUCTIONS, RETIRED, NOT_DELIVERED, BACKEND_BOUND, DROPPING], &[SLOTS_P, CYCLES, INSTRUCTIONS, RETIRED, NOT_DELIVERED, BACKEND_BOUND, DROPPING]];
    pub const GROUPS: &[super::MetricGroup] = &[super::LEVEL_2_FRONTEND_DROPPING_GROUP_2, super::LEVEL_2_BAD_SPECULATION_DROPPING_GROUP, super::LEVEL_2_BACKEND_GROUP, super::LEVEL_2_RETIRING_GROUP, super::CLEARS_GROUP, super::BRANCH_KINDS_GROUP, super::ITLB_STALLS_GROUP_2, super::L1I_CACHE_GROUP, super::DECODED_CACHE_WITHOUT_MICROCODE_GROUP, super::L2_CODE_GROUP, super::MEMORY_STALLS_GOLDEN_COVE_GROUP, super::LOAD_LATENCY_GROUP, super::MEMORY_LATENCY_GROUP, super::LOAD_BLOCKS_GROUP_2, super::LOCK_LATENCY_GROUP, super::LOCKS_GROUP, super::DTLB_SKYLAKE_GROUP_2, super::L1D_SKYLAKE_GROUP, super::L2_DATA_GROUP, super::L3_LOADS_GROUP, super::LL_CACHE_GROUP, super::THREE_PORTS_GROUP_2, super::OPERATION_MIX_GROUP_3, super::ASSISTS_GROUP, super::FP_MIX_GROUP];
}

pub mod lion_cove {
    pub use super::SLOTS;
    pub use super::CYCLES;
    pub use super::INSTRUCTIONS;
    pub use super::RETIRED_2 as RETIRED;
    pub use super::NOT_DELIVERED_2 as NOT_DELIVERED;
    pub use super::BACKEND_BOUND;
    pub use super::HEAVY;
    pub use super::MISPREDICT;
    pub use super::FETCH_LATENCY;
    pub use super::MEMORY_BOUND;
    pub use super::SLOTS_P;
    pub use super::L2_HIT_2 as L2_HIT;
    pub use super::L3_HIT_2 as L3_HIT;
    pub use super::LOCKED_LOADS;
    pub const FORMS: [&[super::Event]; 2] = [&[SLOTS, CYCLES, INSTRUCTIONS, RETIRED, NOT_DELIVERED, BACKEND_BOUND, HEAVY, MISPREDICT, FETCH_LATENCY, MEMORY_BOUND], &[SLOTS_P, CYCLES, INSTRUCTIONS, RETIRED, NOT_DELIVERED, BACKEND_BOUND]];
    pub const GROUPS: &[super::MetricGroup] = &[super::LEVEL_2_FRONTEND_LION_COVE_GROUP, super::LEVEL_2_BAD_SPECULATION_GROUP, super::LEVEL_2_BACKEND_GROUP, super::LEVEL_2_RETIRING_GROUP, super::CLEARS_GROUP, super::BRANCH_KINDS_GROUP_2, super::ITLB_STALLS_GROUP_3, super::L1I_CACHE_GROUP, super::DECODED_CACHE_WITHOUT_MICROCODE_GROUP, super::L2_CODE_GROUP, super::MEMORY_STALLS_LION_COVE_GROUP, super::LOAD_LATENCY_GROUP, super::LOAD_BLOCKS_GROUP_2, super::LOCK_LATENCY_GROUP, super::LOCKS_GROUP, super::DTLB_SKYLAKE_GROUP_3, super::L1D_SKYLAKE_GROUP, super::L2_DATA_GROUP, super::L3_LOADS_GROUP, super::LL_CACHE_GROUP, super::THREE_PORTS_GROUP_2, super::OPERATION_MIX_GROUP_3, super::ASSISTS_GROUP, super::FP_MIX_SCALAR_GROUP];
}

pub mod cougar_cove {
    pub use super::SLOTS;
    pub use super::CYCLES;
    pub use super::INSTRUCTIONS;
    pub use super::RETIRED_2 as RETIRED;
    pub use super::NOT_DELIVERED_2 as NOT_DELIVERED;
    pub use super::BACKEND_BOUND;
    pub use super::HEAVY;
    pub use super::MISPREDICT;
    pub use super::FETCH_LATENCY;
    pub use super::MEMORY_BOUND;
    pub use super::SLOTS_P;
    pub use super::L2_HIT_2 as L2_HIT;
    pub use super::L3_HIT_2 as L3_HIT;
    pub use super::LOCKED_LOADS;
    pub const FORMS: [&[super::Event]; 2] = [&[SLOTS, CYCLES, INSTRUCTIONS, RETIRED, NOT_DELIVERED, BACKEND_BOUND, HEAVY, MISPREDICT, FETCH_LATENCY, MEMORY_BOUND], &[SLOTS_P, CYCLES, INSTRUCTIONS, RETIRED, NOT_DELIVERED, BACKEND_BOUND]];
    pub const GROUPS: &[super::MetricGroup] = &[super::LEVEL_2_FRONTEND_LION_COVE_GROUP, super::LEVEL_2_BAD_SPECULATION_GROUP, super::LEVEL_2_BACKEND_GROUP, super::LEVEL_2_RETIRING_GROUP, super::CLEARS_GROUP, super::BRANCH_KINDS_GROUP_3, super::ITLB_STALLS_GROUP_3, super::L1I_CACHE_GROUP, super::DECODED_CACHE_WITHOUT_MICROCODE_GROUP, super::L2_CODE_GROUP, super::MEMORY_STALLS_LION_COVE_GROUP, super::LOAD_LATENCY_GROUP, super::LOAD_BLOCKS_GROUP_2, super::LOCK_LATENCY_GROUP, super::LOCKS_GROUP, super::DTLB_SKYLAKE_GROUP_3, super::L1D_SKYLAKE_GROUP, super::L2_DATA_GROUP, super::L3_LOADS_GROUP, super::LL_CACHE_GROUP, super::THREE_PORTS_GROUP_2, super::OPERATION_MIX_GROUP_3, super::ASSISTS_GROUP, super::FP_MIX_SCALAR_GROUP_2];
}

pub mod coyote_cove {
    pub use super::SLOTS;
    pub use super::CYCLES;
    pub use super::INSTRUCTIONS;
    pub use super::RETIRED_2 as RETIRED;
    pub use super::NOT_DELIVERED_2 as NOT_DELIVERED;
    pub use super::BACKEND_BOUND;
    pub use super::HEAVY;
    pub use super::MISPREDICT;
    pub use super::FETCH_LATENCY;
    pub use super::MEMORY_BOUND;
    pub use super::SLOTS_P;
    pub const FORMS: [&[super::Event]; 2] = [&[SLOTS, CYCLES, INSTRUCTIONS, RETIRED, NOT_DELIVERED, BACKEND_BOUND, HEAVY, MISPREDICT, FETCH_LATENCY, MEMORY_BOUND], &[SLOTS_P, CYCLES, INSTRUCTIONS, RETIRED, NOT_DELIVERED, BACKEND_BOUND]];
    pub const GROUPS: &[super::MetricGroup] = &[super::LEVEL_2_FRONTEND_LION_COVE_GROUP, super::LEVEL_2_BAD_SPECULATION_GROUP, super::LEVEL_2_BACKEND_GROUP, super::LEVEL_2_RETIRING_GROUP, super::CLEARS_GROUP, super::BRANCH_KINDS_GROUP_4, super::ITLB_STALLS_GROUP_3, super::L1I_CACHE_GROUP, super::DECODED_CACHE_WITHOUT_MICROCODE_GROUP, super::L2_CODE_GROUP, super::MEMORY_STALLS_LION_COVE_GROUP, super::LOAD_BLOCKS_GROUP_2, super::SPLIT_LOCKS_GROUP_3, super::DTLB_SKYLAKE_GROUP_3, super::L1D_SKYLAKE_GROUP_2, super::THREE_PORTS_GROUP_2, super::OPERATION_MIX_GROUP_3, super::ASSISTS_GROUP, super::FP_MIX_SCALAR_GROUP_2];
}
