//! Made by `cargo xtask cpus` from `amd_zen.toml` and `amd_zen.tsv` in `crates/counters/cpus`.

use super::prelude::*;

pub const CYCLES: Event = Event::new("ls_not_halted_cyc", 0x76, Counter::General);
pub const RETIRED: Event = Event::new("ex_ret_ops", 0xc1, Counter::General);
pub const DISPATCHED: Event = Event::new("de_src_op_disp.all", 0x7aa, Counter::General);
pub const FRONTEND: Event = Event::new("de_no_dispatch_per_slot.no_ops_from_frontend", 0x1000001a0, Counter::General);
pub const BACKEND: Event = Event::new("de_no_dispatch_per_slot.backend_stalls", 0x100001ea0, Counter::General);
pub const SMT: Event = Event::new("de_no_dispatch_per_slot.smt_contention", 0x1000060a0, Counter::General);
pub const FRONTEND_EMPTY: Event = Event::new("cpu/de_no_dispatch_per_slot.no_ops_from_frontend,cmask=0x6/", 0x1060001a0, Counter::General);
pub const MISPREDICTED: Event = Event::new("ex_ret_brn_misp", 0xc3, Counter::General);
pub const RESYNC: Event = Event::new("resyncs_or_nc_redirects", 0x96, Counter::General);
pub const LOAD_NOT_COMPLETE: Event = Event::new("ex_no_retire.load_not_complete", 0xa2d6, Counter::General);
pub const NOT_COMPLETE: Event = Event::new("ex_no_retire.not_complete", 0x2d6, Counter::General);
pub const MICROCODED: Event = Event::new("ex_ret_ucode_ops", 0x1000000c2, Counter::General);
pub const INSTRUCTIONS: Event = Event::new("ex_ret_instr", 0xc0, Counter::General);
pub const BRANCHES: Event = Event::new("ex_ret_brn", 0xc2, Counter::General);
pub const DECODER_REDIRECTS: Event = Event::new("bp_de_redirect", 0x91, Counter::General);
pub const ITLB_L2_HIT: Event = Event::new("bp_l1_tlb_miss_l2_tlb_hit", 0x84, Counter::General);
pub const ITLB_WALK: Event = Event::new("bp_l1_tlb_miss_l2_tlb_miss.all", 0xf85, Counter::General);
pub const IC_ACCESSES: Event = Event::new("ic_tag_hit_miss.all_instruction_cache_accesses", 0x100001f8e, Counter::General);
pub const IC_MISSES: Event = Event::new("ic_tag_hit_miss.instruction_cache_miss", 0x10000188e, Counter::General);
pub const OP_CACHE_ACCESSES: Event = Event::new("op_cache_hit_miss.all_op_cache_accesses", 0x20000078f, Counter::General);
pub const OP_CACHE_MISSES: Event = Event::new("op_cache_hit_miss.op_cache_miss", 0x20000048f, Counter::General);
pub const L2_CODE_HIT: Event = Event::new("l2_cache_req_stat.ic_hit_in_l2", 0x664, Counter::General);
pub const L2_CODE_MISS: Event = Event::new("l2_cache_req_stat.ic_fill_miss", 0x164, Counter::General);
pub const DATA_ACCESSES: Event = Event::new("ls_dispatch.all", 0x729, Counter::General);
pub const DTLB_MISS: Event = Event::new("ls_l1_d_tlb_miss.all", 0xff45, Counter::General);
pub const DTLB_WALK: Event = Event::new("ls_l1_d_tlb_miss.all_l2_miss", 0xf045, Counter::General);
pub const DEMAND_FILLS: Event = Event::new("ls_dmnd_fills_from_sys.all", 0xff43, Counter::General);
pub const ANY_FILLS: Event = Event::new("ls_any_fills_from_sys.all", 0xff44, Counter::General);
pub const L2_DATA_HIT: Event = Event::new("l2_cache_req_stat.dc_hit_in_l2", 0xf064, Counter::General);
pub const L2_DATA_MISS: Event = Event::new("l2_cache_req_stat.ls_rd_blk_c", 0x864, Counter::General);
pub const L3_FILLS: Event = Event::new("ls_dmnd_fills_from_sys.local_ccx", 0x243, Counter::General);
pub const MEMORY_FILLS: Event = Event::new("ls_dmnd_fills_from_sys.dram_io_all", 0x4843, Counter::General);
pub const STORE_CONFLICTS: Event = Event::new("ls_bad_status2.stli_other", 0x224, Counter::General);
pub const LINE_LOADS: Event = Event::new("ls_misal_loads.ma64", 0x147, Counter::General);
pub const PAGE_LOADS: Event = Event::new("ls_misal_loads.ma4k", 0x247, Counter::General);
pub const BUS_LOCKS: Event = Event::new("ls_locks.bus_lock", 0x125, Counter::General);
pub const DIVIDER_BUSY: Event = Event::new("ex_div_busy", 0xd3, Counter::General);
pub const DIVISIONS: Event = Event::new("ex_div_count", 0xd4, Counter::General);
pub const LOADS: Event = Event::new("ls_dispatch.ld_dispatch", 0x129, Counter::General);
pub const STORES: Event = Event::new("ls_dispatch.store_dispatch", 0x229, Counter::General);
pub const MIX_FAULTS: Event = Event::new("fp_disp_faults.sse_avx_all", 0xe0e, Counter::General);
pub const FRONTEND_EMPTY_2: Event = Event::new("cpu/de_no_dispatch_per_slot.no_ops_from_frontend,cmask=0x8/", 0x1080001a0, Counter::General);
pub const RESYNC_2: Event = Event::new("bp_redirects.resync", 0x19f, Counter::General);
pub const DATA_ACCESSES_2: Event = Event::new("ls_dispatch.all", 0x729, Counter::General);
pub const MEMORY_FILLS_2: Event = Event::new("ls_dmnd_fills_from_sys.dram_io_all", 0x4843, Counter::General);
pub const RESYNC_3: Event = Event::new("bp_fe_redir.resync", 0x19f, Counter::General);
pub const DECODER_REDIRECTS_2: Event = Event::new("bp_early_redir", 0x91, Counter::General);
pub const OP_CACHE_ACCESSES_2: Event = Event::new("op_cache_hit_miss.all", 0x20000078f, Counter::General);
pub const OP_CACHE_MISSES_2: Event = Event::new("op_cache_hit_miss.miss", 0x20000048f, Counter::General);
pub const DTLB_WALK_2: Event = Event::new("ls_l1_d_tlb_miss.l2_miss_all", 0xf045, Counter::General);
pub const DEMAND_FILLS_2: Event = Event::new("ls_dmnd_fills_from_sys.all", 0xdf43, Counter::General);
pub const LOADS_2: Event = Event::new("ls_dispatch.pure_ld", 0x129, Counter::General);
pub const STORES_2: Event = Event::new("ls_dispatch.pure_st", 0x229, Counter::General);

const LEVEL_2_FRONTEND_ZEN_4_GROUP: MetricGroup = MetricGroup { name: "PipelineL2 frontend_bound", subject: Subject::Level2, explains: &[Node::Category(Category::FrontendBound)], events: &[CYCLES, FRONTEND, FRONTEND_EMPTY], metrics: &[
    Metric::slots("frontend_bound", FRONTEND, CYCLES),
    Metric::percent("frontend_bound_latency", FRONTEND_EMPTY, CYCLES, "% of slots"),
    Metric::new("frontend_bound_bandwidth", "% of slots", &|c| 100.0 * (c[FRONTEND] / (c.slots_per_cycle() * c[CYCLES]) - c[FRONTEND_EMPTY] / c[CYCLES])),
], example: MetricExample::new(&[52_753_827_046, 10_680_016_198, 1_415_570_013], &["3.37", "2.68", "0.69"]) };
const LEVEL_2_BAD_SPECULATION_ZEN_4_GROUP: MetricGroup = MetricGroup { name: "PipelineL2 bad_speculation", subject: Subject::Level2, explains: &[Node::Category(Category::BadSpeculation)], events: &[CYCLES, DISPATCHED, RETIRED, MISPREDICTED, RESYNC], metrics: &[
    Metric::new("bad_speculation", "% of slots", &|c| 100.0 * (c[DISPATCHED] - c[RETIRED]) / (c.slots_per_cycle() * c[CYCLES])),
    Metric::new("bad_speculation_mispredicts", "% of slots", &|c| 100.0 * (c[DISPATCHED] - c[RETIRED]) / (c.slots_per_cycle() * c[CYCLES]) * d_ratio(c[MISPREDICTED], c[MISPREDICTED] + c[RESYNC])),
    Metric::new("bad_speculation_pipeline_restarts", "% of slots", &|c| 100.0 * (c[DISPATCHED] - c[RETIRED]) / (c.slots_per_cycle() * c[CYCLES]) * d_ratio(c[RESYNC], c[RESYNC] + c[MISPREDICTED])),
], example: MetricExample::new(&[52_694_334_454, 50_200_949_128, 47_925_464_427, 39_113_007, 1_968_782], &["0.72", "0.685", "0.034"]) };
const LEVEL_2_BACKEND_GROUP: MetricGroup = MetricGroup { name: "PipelineL2 backend_bound", subject: Subject::Level2, explains: &[Node::Category(Category::BackendBound)], events: &[CYCLES, BACKEND, LOAD_NOT_COMPLETE, NOT_COMPLETE], metrics: &[
    Metric::slots("backend_bound", BACKEND, CYCLES),
    Metric::new("backend_bound_memory", "% of slots", &|c| 100.0 * c[BACKEND] / (c.slots_per_cycle() * c[CYCLES]) * d_ratio(c[LOAD_NOT_COMPLETE], c[NOT_COMPLETE])),
    Metric::new("backend_bound_cpu", "% of slots", &|c| 100.0 * c[BACKEND] / (c.slots_per_cycle() * c[CYCLES]) * (1.0 - d_ratio(c[LOAD_NOT_COMPLETE], c[NOT_COMPLETE]))),
], example: MetricExample::new(&[52_681_078_777, 254_793_150_309, 30_460_085_095, 40_753_146_750], &["80.6", "60.2", "20.4"]).at_width(6) };
const LEVEL_2_RETIRING_GROUP: MetricGroup = MetricGroup { name: "PipelineL2 retiring", subject: Subject::Level2, explains: &[Node::Category(Category::Retiring)], events: &[CYCLES, RETIRED, MICROCODED], metrics: &[
    Metric::slots("retiring", RETIRED, CYCLES),
    Metric::slots("retiring_microcode", MICROCODED, CYCLES),
    Metric::new("retiring_fastpath", "% of slots", &|c| 100.0 * (c[RETIRED] - c[MICROCODED]) / (c.slots_per_cycle() * c[CYCLES])),
], example: MetricExample::new(&[52_727_754_917, 47_962_310_971, 145_769_746], &["15.16", "0.046", "15.11"]).at_width(6) };
const BRANCH_GROUP: MetricGroup = MetricGroup { name: "Branch_Effectiveness", subject: Subject::Branches, explains: &[Node::Part(Part::BranchMispredicts), Node::Category(Category::FrontendBound)], events: &[INSTRUCTIONS, BRANCHES, MISPREDICTED, DECODER_REDIRECTS], metrics: &[
    Metric::per_kilo("branch_mpki", MISPREDICTED, INSTRUCTIONS),
    Metric::percent("branch_misprediction_ratio", MISPREDICTED, BRANCHES, "% of branches"),
    Metric::per_kilo("decoder_redirects", DECODER_REDIRECTS, INSTRUCTIONS),
], example: MetricExample::new(&[1_000_000, 200_000, 5_000, 1_500], &["5.0", "2.5", "1.5"]) };
const ITLB_GROUP: MetricGroup = MetricGroup { name: "ITLB_Effectiveness", subject: Subject::InstructionTlb, explains: &[Node::Part(Part::FetchLatency)], events: &[INSTRUCTIONS, ITLB_L2_HIT, ITLB_WALK], metrics: &[
    Metric::new("l1_itlb_misses", "per 1000 instructions", &|c| 1000.0 * (c[ITLB_L2_HIT] + c[ITLB_WALK]) / c[INSTRUCTIONS]),
    Metric::per_kilo("l2_itlb_misses", ITLB_WALK, INSTRUCTIONS),
], example: MetricExample::new(&[1_000_000, 3_000, 500], &["3.5", "0.5"]) };
const L1I_CACHE_GROUP: MetricGroup = MetricGroup { name: "L1I_Cache_Effectiveness", subject: Subject::InstructionCache, explains: &[Node::Part(Part::FetchLatency)], events: &[INSTRUCTIONS, IC_ACCESSES, IC_MISSES], metrics: &[
    Metric::per_kilo("l1i_cache_mpki", IC_MISSES, INSTRUCTIONS),
    Metric::percent("ic_fetch_miss_ratio", IC_MISSES, IC_ACCESSES, "% of fetches"),
], example: MetricExample::new(&[1_000_000, 100_000, 12_500], &["12.5", "12.5"]) };
const OP_CACHE_GROUP: MetricGroup = MetricGroup { name: "Op_Cache_Effectiveness", subject: Subject::DecodedCache, explains: &[Node::Part(Part::FetchBandwidth)], events: &[INSTRUCTIONS, OP_CACHE_ACCESSES, OP_CACHE_MISSES], metrics: &[
    Metric::per_kilo("op_cache_mpki", OP_CACHE_MISSES, INSTRUCTIONS),
    Metric::percent("op_cache_fetch_miss_ratio", OP_CACHE_MISSES, OP_CACHE_ACCESSES, "% of fetches"),
], example: MetricExample::new(&[1_000_000, 400_000, 100_000], &["100.0", "25.0"]) };
const L2_CODE_GROUP: MetricGroup = MetricGroup { name: "L2_Cache_Effectiveness (instructions)", subject: Subject::L2Cache, explains: &[Node::Part(Part::FetchLatency)], events: &[INSTRUCTIONS, L2_CODE_HIT, L2_CODE_MISS], metrics: &[
    Metric::per_kilo("l2_cache_misses_from_l1_ic_miss", L2_CODE_MISS, INSTRUCTIONS),
    Metric::new("l2_code_miss_ratio", "% of accesses", &|c| 100.0 * c[L2_CODE_MISS] / (c[L2_CODE_HIT] + c[L2_CODE_MISS])),
], example: MetricExample::new(&[1_000_000, 9_000, 3_000], &["3.0", "25.0"]) };
const DTLB_GROUP: MetricGroup = MetricGroup { name: "DTLB_Effectiveness", subject: Subject::DataTlb, explains: &[Node::Part(Part::MemoryBound)], events: &[INSTRUCTIONS, DATA_ACCESSES, DTLB_MISS, DTLB_WALK], metrics: &[
    Metric::per_kilo("l1_dtlb_misses", DTLB_MISS, INSTRUCTIONS),
    Metric::percent("l1_dtlb_miss_ratio", DTLB_MISS, DATA_ACCESSES, "% of accesses"),
    Metric::per_kilo("l2_dtlb_misses", DTLB_WALK, INSTRUCTIONS),
], example: MetricExample::new(&[1_000_000, 400_000, 20_000, 4_000], &["20.0", "5.0", "4.0"]) };
const L1D_CACHE_GROUP: MetricGroup = MetricGroup { name: "L1D_Cache_Effectiveness", subject: Subject::DataCache, explains: &[Node::Part(Part::MemoryBound)], events: &[INSTRUCTIONS, DATA_ACCESSES, DEMAND_FILLS, ANY_FILLS], metrics: &[
    Metric::per_kilo("l1d_demand_fills", DEMAND_FILLS, INSTRUCTIONS),
    Metric::percent("l1d_demand_fill_ratio", DEMAND_FILLS, DATA_ACCESSES, "% of accesses"),
    Metric::per_kilo("all_l1_data_cache_fills", ANY_FILLS, INSTRUCTIONS),
], example: MetricExample::new(&[1_000_000, 400_000, 30_000, 45_000], &["30.0", "7.5", "45.0"]) };
const L2_DATA_GROUP: MetricGroup = MetricGroup { name: "L2_Cache_Effectiveness (data)", subject: Subject::L2Cache, explains: &[Node::Part(Part::MemoryBound)], events: &[INSTRUCTIONS, L2_DATA_HIT, L2_DATA_MISS], metrics: &[
    Metric::per_kilo("l2_cache_misses_from_l1_dc_miss", L2_DATA_MISS, INSTRUCTIONS),
    Metric::new("l2_data_miss_ratio", "% of accesses", &|c| 100.0 * c[L2_DATA_MISS] / (c[L2_DATA_HIT] + c[L2_DATA_MISS])),
], example: MetricExample::new(&[1_000_000, 20_000, 10_000], &["10.0", "33.3"]) };
const LL_CACHE_GROUP: MetricGroup = MetricGroup { name: "LL_Cache_Effectiveness", subject: Subject::LastLevelCache, explains: &[Node::Part(Part::MemoryBound)], events: &[INSTRUCTIONS, L3_FILLS, MEMORY_FILLS], metrics: &[
    Metric::per_kilo("fills_from_l3", L3_FILLS, INSTRUCTIONS),
    Metric::per_kilo("fills_from_memory", MEMORY_FILLS, INSTRUCTIONS),
    Metric::new("beyond_l3_ratio", "% of fills beyond L2", &|c| 100.0 * c[MEMORY_FILLS] / (c[L3_FILLS] + c[MEMORY_FILLS])),
], example: MetricExample::new(&[1_000_000, 6_000, 4_000], &["6.0", "4.0", "40.0"]) };
const LOAD_BLOCKS_GROUP: MetricGroup = MetricGroup { name: "Load_Blocks", subject: Subject::LoadBlocks, explains: &[Node::Part(Part::MemoryBound)], events: &[INSTRUCTIONS, STORE_CONFLICTS, LINE_LOADS, PAGE_LOADS], metrics: &[
    Metric::per_kilo("store_to_load_conflicts", STORE_CONFLICTS, INSTRUCTIONS),
    Metric::per_kilo("line_crossing_loads", LINE_LOADS, INSTRUCTIONS),
    Metric::per_kilo("page_crossing_loads", PAGE_LOADS, INSTRUCTIONS),
], example: MetricExample::new(&[1_000_000, 20_000, 100_000, 5_000], &["20.0", "100.0", "5.0"]) };
const SPLIT_LOCKS_GROUP: MetricGroup = MetricGroup { name: "Split_Locks", subject: Subject::Locks, explains: &[Node::Part(Part::MemoryBound)], events: &[INSTRUCTIONS, BUS_LOCKS], metrics: &[
    Metric::per_kilo("bus_locks", BUS_LOCKS, INSTRUCTIONS),
], example: MetricExample::new(&[1_000_000, 500], &["0.5"]) };
const DIVIDER_GROUP: MetricGroup = MetricGroup { name: "Divider", subject: Subject::OperationMix, explains: &[Node::Part(Part::CoreBound)], events: &[CYCLES, INSTRUCTIONS, DIVIDER_BUSY, DIVISIONS], metrics: &[
    Metric::percent("divider_busy", DIVIDER_BUSY, CYCLES, "% of cycles"),
    Metric::per_kilo("divisions", DIVISIONS, INSTRUCTIONS),
], example: MetricExample::new(&[1_000_000, 2_000_000, 250_000, 40_000], &["25.0", "20.0"]) };
const OPERATION_MIX_GROUP: MetricGroup = MetricGroup { name: "Operation_Mix", subject: Subject::OperationMix, explains: &[Node::Category(Category::Retiring), Node::Part(Part::CoreBound)], events: &[INSTRUCTIONS, RETIRED, BRANCHES, LOADS, STORES], metrics: &[
    Metric::new("ops_per_instruction", "per instruction", &|c| c[RETIRED] / c[INSTRUCTIONS]),
    Metric::percent("branches", BRANCHES, INSTRUCTIONS, "% of instructions"),
    Metric::per_kilo("loads_dispatched", LOADS, INSTRUCTIONS),
    Metric::per_kilo("stores_dispatched", STORES, INSTRUCTIONS),
], example: MetricExample::new(&[1_000_000, 1_100_000, 200_000, 300_000, 110_000], &["1.10", "20.0", "300.0", "110.0"]) };
const ASSISTS_GROUP: MetricGroup = MetricGroup { name: "Assists", subject: Subject::Assists, explains: &[Node::Category(Category::Retiring)], events: &[INSTRUCTIONS, MIX_FAULTS], metrics: &[
    Metric::per_kilo("sse_avx_stalls", MIX_FAULTS, INSTRUCTIONS),
], example: MetricExample::new(&[1_000_000, 2_000], &["2.0"]) };
const LEVEL_2_FRONTEND_GROUP: MetricGroup = MetricGroup { name: "PipelineL2 frontend_bound", subject: Subject::Level2, explains: &[Node::Category(Category::FrontendBound)], events: &[CYCLES, FRONTEND, FRONTEND_EMPTY_2], metrics: &[
    Metric::slots("frontend_bound", FRONTEND, CYCLES),
    Metric::percent("frontend_bound_by_latency", FRONTEND_EMPTY_2, CYCLES, "% of slots"),
    Metric::new("frontend_bound_by_bandwidth", "% of slots", &|c| 100.0 * (c[FRONTEND] / (c.slots_per_cycle() * c[CYCLES]) - c[FRONTEND_EMPTY_2] / c[CYCLES])),
], example: MetricExample::new(&[1_000_000, 800_000, 60_000], &["10.0", "6.0", "4.0"]) };
const LEVEL_2_BAD_SPECULATION_GROUP: MetricGroup = MetricGroup { name: "PipelineL2 bad_speculation", subject: Subject::Level2, explains: &[Node::Category(Category::BadSpeculation)], events: &[CYCLES, DISPATCHED, RETIRED, MISPREDICTED, RESYNC_2], metrics: &[
    Metric::new("bad_speculation", "% of slots", &|c| 100.0 * (c[DISPATCHED] - c[RETIRED]) / (c.slots_per_cycle() * c[CYCLES])),
    Metric::new("bad_speculation_from_mispredicts", "% of slots", &|c| 100.0 * (c[DISPATCHED] - c[RETIRED]) / (c.slots_per_cycle() * c[CYCLES]) * d_ratio(c[MISPREDICTED], c[MISPREDICTED] + c[RESYNC_2])),
    Metric::new("bad_speculation_from_pipeline_restarts", "% of slots", &|c| 100.0 * (c[DISPATCHED] - c[RETIRED]) / (c.slots_per_cycle() * c[CYCLES]) * d_ratio(c[RESYNC_2], c[RESYNC_2] + c[MISPREDICTED])),
], example: MetricExample::new(&[1_000_000, 2_800_000, 2_400_000, 9_000, 1_000], &["5.0", "4.5", "0.5"]) };
const DTLB_GROUP_2: MetricGroup = MetricGroup { name: "DTLB_Effectiveness", subject: Subject::DataTlb, explains: &[Node::Part(Part::MemoryBound)], events: &[INSTRUCTIONS, DATA_ACCESSES_2, DTLB_MISS, DTLB_WALK], metrics: &[
    Metric::per_kilo("l1_dtlb_misses", DTLB_MISS, INSTRUCTIONS),
    Metric::percent("l1_dtlb_miss_ratio", DTLB_MISS, DATA_ACCESSES_2, "% of accesses"),
    Metric::per_kilo("l2_dtlb_misses", DTLB_WALK, INSTRUCTIONS),
], example: MetricExample::new(&[1_000_000, 400_000, 20_000, 4_000], &["20.0", "5.0", "4.0"]) };
const L1D_CACHE_GROUP_2: MetricGroup = MetricGroup { name: "L1D_Cache_Effectiveness", subject: Subject::DataCache, explains: &[Node::Part(Part::MemoryBound)], events: &[INSTRUCTIONS, DATA_ACCESSES_2, DEMAND_FILLS, ANY_FILLS], metrics: &[
    Metric::per_kilo("l1d_demand_fills", DEMAND_FILLS, INSTRUCTIONS),
    Metric::percent("l1d_demand_fill_ratio", DEMAND_FILLS, DATA_ACCESSES_2, "% of accesses"),
    Metric::per_kilo("all_l1_data_cache_fills", ANY_FILLS, INSTRUCTIONS),
], example: MetricExample::new(&[1_000_000, 400_000, 30_000, 45_000], &["30.0", "7.5", "45.0"]) };
const LL_CACHE_GROUP_2: MetricGroup = MetricGroup { name: "LL_Cache_Effectiveness", subject: Subject::LastLevelCache, explains: &[Node::Part(Part::MemoryBound)], events: &[INSTRUCTIONS, L3_FILLS, MEMORY_FILLS_2], metrics: &[
    Metric::per_kilo("fills_from_l3", L3_FILLS, INSTRUCTIONS),
    Metric::per_kilo("fills_from_memory", MEMORY_FILLS_2, INSTRUCTIONS),
    Metric::new("beyond_l3_ratio", "% of fills beyond L2", &|c| 100.0 * c[MEMORY_FILLS_2] / (c[L3_FILLS] + c[MEMORY_FILLS_2])),
], example: MetricExample::new(&[1_000_000, 6_000, 4_000], &["6.0", "4.0", "40.0"]) };
const LEVEL_2_BAD_SPECULATION_GROUP_2: MetricGroup = MetricGroup { name: "PipelineL2 bad_speculation", subject: Subject::Level2, explains: &[Node::Category(Category::BadSpeculation)], events: &[CYCLES, DISPATCHED, RETIRED, MISPREDICTED, RESYNC_3], metrics: &[
    Metric::new("bad_speculation", "% of slots", &|c| 100.0 * (c[DISPATCHED] - c[RETIRED]) / (c.slots_per_cycle() * c[CYCLES])),
    Metric::new("bad_speculation_from_mispredicts", "% of slots", &|c| 100.0 * (c[DISPATCHED] - c[RETIRED]) / (c.slots_per_cycle() * c[CYCLES]) * d_ratio(c[MISPREDICTED], c[MISPREDICTED] + c[RESYNC_3])),
    Metric::new("bad_speculation_from_pipeline_restarts", "% of slots", &|c| 100.0 * (c[DISPATCHED] - c[RETIRED]) / (c.slots_per_cycle() * c[CYCLES]) * d_ratio(c[RESYNC_3], c[RESYNC_3] + c[MISPREDICTED])),
], example: MetricExample::new(&[1_000_000, 2_800_000, 2_400_000, 9_000, 1_000], &["5.0", "4.5", "0.5"]) };
const BRANCH_GROUP_2: MetricGroup = MetricGroup { name: "Branch_Effectiveness", subject: Subject::Branches, explains: &[Node::Part(Part::BranchMispredicts), Node::Category(Category::FrontendBound)], events: &[INSTRUCTIONS, BRANCHES, MISPREDICTED, DECODER_REDIRECTS_2], metrics: &[
    Metric::per_kilo("branch_mpki", MISPREDICTED, INSTRUCTIONS),
    Metric::percent("branch_misprediction_ratio", MISPREDICTED, BRANCHES, "% of branches"),
    Metric::per_kilo("decoder_redirects", DECODER_REDIRECTS_2, INSTRUCTIONS),
], example: MetricExample::new(&[1_000_000, 200_000, 5_000, 1_500], &["5.0", "2.5", "1.5"]) };
const OP_CACHE_GROUP_2: MetricGroup = MetricGroup { name: "Op_Cache_Effectiveness", subject: Subject::DecodedCache, explains: &[Node::Part(Part::FetchBandwidth)], events: &[INSTRUCTIONS, OP_CACHE_ACCESSES_2, OP_CACHE_MISSES_2], metrics: &[
    Metric::per_kilo("op_cache_mpki", OP_CACHE_MISSES_2, INSTRUCTIONS),
    Metric::percent("op_cache_fetch_miss_ratio", OP_CACHE_MISSES_2, OP_CACHE_ACCESSES_2, "% of fetches"),
], example: MetricExample::new(&[1_000_000, 400_000, 100_000], &["100.0", "25.0"]) };
const DTLB_GROUP_3: MetricGroup = MetricGroup { name: "DTLB_Effectiveness", subject: Subject::DataTlb, explains: &[Node::Part(Part::MemoryBound)], events: &[INSTRUCTIONS, DATA_ACCESSES_2, DTLB_MISS, DTLB_WALK_2], metrics: &[
    Metric::per_kilo("l1_dtlb_misses", DTLB_MISS, INSTRUCTIONS),
    Metric::percent("l1_dtlb_miss_ratio", DTLB_MISS, DATA_ACCESSES_2, "% of accesses"),
    Metric::per_kilo("l2_dtlb_misses", DTLB_WALK_2, INSTRUCTIONS),
], example: MetricExample::new(&[1_000_000, 400_000, 20_000, 4_000], &["20.0", "5.0", "4.0"]) };
const L1D_CACHE_GROUP_3: MetricGroup = MetricGroup { name: "L1D_Cache_Effectiveness", subject: Subject::DataCache, explains: &[Node::Part(Part::MemoryBound)], events: &[INSTRUCTIONS, DATA_ACCESSES_2, DEMAND_FILLS_2, ANY_FILLS], metrics: &[
    Metric::per_kilo("l1d_demand_fills", DEMAND_FILLS_2, INSTRUCTIONS),
    Metric::percent("l1d_demand_fill_ratio", DEMAND_FILLS_2, DATA_ACCESSES_2, "% of accesses"),
    Metric::per_kilo("all_l1_data_cache_fills", ANY_FILLS, INSTRUCTIONS),
], example: MetricExample::new(&[1_000_000, 400_000, 30_000, 45_000], &["30.0", "7.5", "45.0"]) };
const OPERATION_MIX_GROUP_2: MetricGroup = MetricGroup { name: "Operation_Mix", subject: Subject::OperationMix, explains: &[Node::Category(Category::Retiring), Node::Part(Part::CoreBound)], events: &[INSTRUCTIONS, RETIRED, BRANCHES, LOADS_2, STORES_2], metrics: &[
    Metric::new("ops_per_instruction", "per instruction", &|c| c[RETIRED] / c[INSTRUCTIONS]),
    Metric::percent("branches", BRANCHES, INSTRUCTIONS, "% of instructions"),
    Metric::per_kilo("loads_dispatched", LOADS_2, INSTRUCTIONS),
    Metric::per_kilo("stores_dispatched", STORES_2, INSTRUCTIONS),
], example: MetricExample::new(&[1_000_000, 1_100_000, 200_000, 300_000, 110_000], &["1.10", "20.0", "300.0", "110.0"]) };

pub mod zen_4 {
    pub use super::CYCLES;
    pub use super::RETIRED;
    pub use super::DISPATCHED;
    pub use super::FRONTEND;
    pub use super::BACKEND;
    pub use super::SMT;
    pub const FORMS: [&[super::Event]; 2] = [&[CYCLES, RETIRED, DISPATCHED, FRONTEND, BACKEND, SMT], &[CYCLES, RETIRED, DISPATCHED, FRONTEND, BACKEND]];
    pub const GROUPS: &[super::MetricGroup] = &[super::LEVEL_2_FRONTEND_ZEN_4_GROUP, super::LEVEL_2_BAD_SPECULATION_ZEN_4_GROUP, super::LEVEL_2_BACKEND_GROUP, super::LEVEL_2_RETIRING_GROUP, super::BRANCH_GROUP, super::ITLB_GROUP, super::L1I_CACHE_GROUP, super::OP_CACHE_GROUP, super::L2_CODE_GROUP, super::DTLB_GROUP, super::L1D_CACHE_GROUP, super::L2_DATA_GROUP, super::LL_CACHE_GROUP, super::LOAD_BLOCKS_GROUP, super::SPLIT_LOCKS_GROUP, super::DIVIDER_GROUP, super::OPERATION_MIX_GROUP, super::ASSISTS_GROUP];
}

pub mod zen_5 {
    pub use super::CYCLES;
    pub use super::RETIRED;
    pub use super::DISPATCHED;
    pub use super::FRONTEND;
    pub use super::BACKEND;
    pub use super::SMT;
    pub const FORMS: [&[super::Event]; 2] = [&[CYCLES, RETIRED, DISPATCHED, FRONTEND, BACKEND, SMT], &[CYCLES, RETIRED, DISPATCHED, FRONTEND, BACKEND]];
    pub const GROUPS: &[super::MetricGroup] = &[super::LEVEL_2_FRONTEND_GROUP, super::LEVEL_2_BAD_SPECULATION_GROUP, super::LEVEL_2_BACKEND_GROUP, super::LEVEL_2_RETIRING_GROUP, super::BRANCH_GROUP, super::ITLB_GROUP, super::L1I_CACHE_GROUP, super::OP_CACHE_GROUP, super::L2_CODE_GROUP, super::DTLB_GROUP_2, super::L1D_CACHE_GROUP_2, super::L2_DATA_GROUP, super::LL_CACHE_GROUP_2, super::LOAD_BLOCKS_GROUP, super::SPLIT_LOCKS_GROUP, super::DIVIDER_GROUP, super::OPERATION_MIX_GROUP, super::ASSISTS_GROUP];
}

pub mod zen_6 {
    pub use super::CYCLES;
    pub use super::RETIRED;
    pub use super::DISPATCHED;
    pub use super::FRONTEND;
    pub use super::BACKEND;
    pub use super::SMT;
    pub const FORMS: [&[super::Event]; 2] = [&[CYCLES, RETIRED, DISPATCHED, FRONTEND, BACKEND, SMT], &[CYCLES, RETIRED, DISPATCHED, FRONTEND, BACKEND]];
    pub const GROUPS: &[super::MetricGroup] = &[super::LEVEL_2_FRONTEND_GROUP, super::LEVEL_2_BAD_SPECULATION_GROUP_2, super::LEVEL_2_BACKEND_GROUP, super::LEVEL_2_RETIRING_GROUP, super::BRANCH_GROUP_2, super::ITLB_GROUP, super::OP_CACHE_GROUP_2, super::L2_CODE_GROUP, super::DTLB_GROUP_3, super::L1D_CACHE_GROUP_3, super::L2_DATA_GROUP, super::LL_CACHE_GROUP_2, super::LOAD_BLOCKS_GROUP, super::SPLIT_LOCKS_GROUP, super::DIVIDER_GROUP, super::OPERATION_MIX_GROUP_2, super::ASSISTS_GROUP];
}
