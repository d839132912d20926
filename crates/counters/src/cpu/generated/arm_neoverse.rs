//! Made by `cargo xtask cpus` from `arm_neoverse.toml` and `arm_neoverse.tsv` in `crates/counters/cpus`.

use super::prelude::*;

pub const CYCLES: Event = Event::new("CPU_CYCLES", 0x11, Counter::Fixed);
pub const STALL_FRONTEND: Event = Event::new("STALL_FRONTEND", 0x23, Counter::General);
pub const STALL_BACKEND: Event = Event::new("STALL_BACKEND", 0x24, Counter::General);
pub const INSTRUCTIONS: Event = Event::new("INST_RETIRED", 0x8, Counter::General);
pub const BR_RETIRED: Event = Event::new("BR_RETIRED", 0x21, Counter::General);
pub const BR_MIS_PRED_RETIRED: Event = Event::new("BR_MIS_PRED_RETIRED", 0x22, Counter::General);
pub const ITLB_WALK: Event = Event::new("ITLB_WALK", 0x35, Counter::General);
pub const L1I_TLB: Event = Event::new("L1I_TLB", 0x26, Counter::General);
pub const L1I_TLB_REFILL: Event = Event::new("L1I_TLB_REFILL", 0x2, Counter::General);
pub const L2D_TLB: Event = Event::new("L2D_TLB", 0x2f, Counter::General);
pub const L2D_TLB_REFILL: Event = Event::new("L2D_TLB_REFILL", 0x2d, Counter::General);
pub const L1I_CACHE: Event = Event::new("L1I_CACHE", 0x14, Counter::General);
pub const L1I_CACHE_REFILL: Event = Event::new("L1I_CACHE_REFILL", 0x1, Counter::General);
pub const DTLB_WALK: Event = Event::new("DTLB_WALK", 0x34, Counter::General);
pub const L1D_TLB: Event = Event::new("L1D_TLB", 0x25, Counter::General);
pub const L1D_TLB_REFILL: Event = Event::new("L1D_TLB_REFILL", 0x5, Counter::General);
pub const L1D_CACHE: Event = Event::new("L1D_CACHE", 0x4, Counter::General);
pub const L1D_CACHE_REFILL: Event = Event::new("L1D_CACHE_REFILL", 0x3, Counter::General);
pub const L2D_CACHE: Event = Event::new("L2D_CACHE", 0x16, Counter::General);
pub const L2D_CACHE_REFILL: Event = Event::new("L2D_CACHE_REFILL", 0x17, Counter::General);
pub const LL_CACHE_RD: Event = Event::new("LL_CACHE_RD", 0x36, Counter::General);
pub const LL_CACHE_MISS_RD: Event = Event::new("LL_CACHE_MISS_RD", 0x37, Counter::General);
pub const INST_SPEC: Event = Event::new("INST_SPEC", 0x1b, Counter::General);
pub const LD_SPEC: Event = Event::new("LD_SPEC", 0x70, Counter::General);
pub const ST_SPEC: Event = Event::new("ST_SPEC", 0x71, Counter::General);
pub const DP_SPEC: Event = Event::new("DP_SPEC", 0x73, Counter::General);
pub const BR_IMMED_SPEC: Event = Event::new("BR_IMMED_SPEC", 0x78, Counter::General);
pub const BR_INDIRECT_SPEC: Event = Event::new("BR_INDIRECT_SPEC", 0x7a, Counter::General);
pub const ISB_SPEC: Event = Event::new("ISB_SPEC", 0x7c, Counter::General);
pub const DSB_SPEC: Event = Event::new("DSB_SPEC", 0x7d, Counter::General);
pub const DMB_SPEC: Event = Event::new("DMB_SPEC", 0x7e, Counter::General);
pub const OPERATIONS_RETIRED: Event = Event::new("OP_RETIRED", 0x3a, Counter::General);
pub const OPERATIONS: Event = Event::new("OP_SPEC", 0x3b, Counter::General);
pub const FRONTEND: Event = Event::new("STALL_SLOT_FRONTEND", 0x3e, Counter::General);
pub const BACKEND: Event = Event::new("STALL_SLOT_BACKEND", 0x3d, Counter::General);
pub const MISPREDICTED: Event = Event::new("BR_MIS_PRED", 0x10, Counter::General);
pub const LD_ALIGN_LAT: Event = Event::new("LD_ALIGN_LAT", 0x4021, Counter::General);
pub const ST_ALIGN_LAT: Event = Event::new("ST_ALIGN_LAT", 0x4022, Counter::General);
pub const ASE_SPEC: Event = Event::new("ASE_SPEC", 0x74, Counter::General);
pub const VFP_SPEC: Event = Event::new("VFP_SPEC", 0x75, Counter::General);
pub const CRYPTO_SPEC: Event = Event::new("CRYPTO_SPEC", 0x77, Counter::General);
pub const SVE_INST_SPEC: Event = Event::new("SVE_INST_SPEC", 0x8006, Counter::General);
pub const FLUSH: Event = Event::new("STALL_FRONTEND_FLUSH", 0x8162, Counter::General);
pub const STALL_FRONTEND_CPUBOUND: Event = Event::new("STALL_FRONTEND_CPUBOUND", 0x8160, Counter::General);
pub const STALL_FRONTEND_MEMBOUND: Event = Event::new("STALL_FRONTEND_MEMBOUND", 0x8158, Counter::General);
pub const STALL_FRONTEND_FLOW: Event = Event::new("STALL_FRONTEND_FLOW", 0x8161, Counter::General);
pub const STALL_FRONTEND_L1I: Event = Event::new("STALL_FRONTEND_L1I", 0x8159, Counter::General);
pub const STALL_FRONTEND_MEM: Event = Event::new("STALL_FRONTEND_MEM", 0x815b, Counter::General);
pub const STALL_FRONTEND_TLB: Event = Event::new("STALL_FRONTEND_TLB", 0x815c, Counter::General);
pub const STALL_BACKEND_CPUBOUND: Event = Event::new("STALL_BACKEND_CPUBOUND", 0x816a, Counter::General);
pub const STALL_BACKEND_MEMBOUND: Event = Event::new("STALL_BACKEND_MEMBOUND", 0x8164, Counter::General);
pub const STALL_BACKEND_BUSY: Event = Event::new("STALL_BACKEND_BUSY", 0x816b, Counter::General);
pub const STALL_BACKEND_RENAME: Event = Event::new("STALL_BACKEND_RENAME", 0x816d, Counter::General);
pub const STALL_BACKEND_L1D: Event = Event::new("STALL_BACKEND_L1D", 0x8165, Counter::General);
pub const STALL_BACKEND_MEM: Event = Event::new("STALL_BACKEND_MEM", 0x4005, Counter::General);
pub const STALL_BACKEND_TLB: Event = Event::new("STALL_BACKEND_TLB", 0x8167, Counter::General);
pub const STALL_BACKEND_ST: Event = Event::new("STALL_BACKEND_ST", 0x8168, Counter::General);
pub const HAZARD_FLUSHES: Event = Event::new("IMP_CT_FLUSH_MEM", 0x121, Counter::General);
pub const PC_WRITE_SPEC: Event = Event::new("PC_WRITE_SPEC", 0x76, Counter::General);
pub const HAZARD_FLUSHES_2: Event = Event::new("IMP_CT_FLUSH_MEM_HAZARD", 0x121, Counter::General);
pub const L1D_CACHE_RW: Event = Event::new("L1D_CACHE_RW", 0x8140, Counter::General);
pub const L1D_CACHE_REFILL_RD: Event = Event::new("L1D_CACHE_REFILL_RD", 0x42, Counter::General);
pub const L1D_CACHE_REFILL_WR: Event = Event::new("L1D_CACHE_REFILL_WR", 0x43, Counter::General);
pub const SLOTS: Event = Event::new("CPU_SLOT", 0x1e1, Counter::General);
pub const UNDELIVERED: Event = Event::new("STALL_SLOT_FRONTEND_WITHOUT_MISPRED", 0x1e2, Counter::General);
pub const FETCH_BUBBLE: Event = Event::new("FETCH_BUBBLE", 0x2014, Counter::General);

const CYCLE_ACCOUNTING_GROUP: MetricGroup = MetricGroup { name: "Cycle_Accounting", subject: Subject::Stalls, explains: &[Node::Category(Category::FrontendBound), Node::Category(Category::BackendBound)], events: &[CYCLES, STALL_FRONTEND, STALL_BACKEND], metrics: &[
    Metric::percent("frontend_stalled_cycles", STALL_FRONTEND, CYCLES, "% of cycles").sampled_by([Some(STALL_FRONTEND), None, None]),
    Metric::percent("backend_stalled_cycles", STALL_BACKEND, CYCLES, "% of cycles").sampled_by([Some(STALL_BACKEND), None, None]),
], example: MetricExample::new(&[1_000_000, 0, 843_900], &["0.00", "84.39"]) };
const BRANCH_GROUP: MetricGroup = MetricGroup { name: "Branch_Effectiveness", subject: Subject::Branches, explains: &[Node::Category(Category::BadSpeculation), Node::Category(Category::FrontendBound)], events: &[INSTRUCTIONS, BR_RETIRED, BR_MIS_PRED_RETIRED], metrics: &[
    Metric::per_kilo("branch_mpki", BR_MIS_PRED_RETIRED, INSTRUCTIONS).sampled_by([Some(BR_MIS_PRED_RETIRED), None, None]),
    Metric::percent("branch_misprediction_ratio", BR_MIS_PRED_RETIRED, BR_RETIRED, "% of branches").sampled_by([Some(BR_MIS_PRED_RETIRED), None, None]),
], example: MetricExample::new(&[1_000_000, 200_000, 5_000], &["5.0", "2.5"]) };
const ITLB_GROUP: MetricGroup = MetricGroup { name: "ITLB_Effectiveness", subject: Subject::InstructionTlb, explains: &[Node::Category(Category::FrontendBound)], events: &[INSTRUCTIONS, ITLB_WALK, L1I_TLB, L1I_TLB_REFILL, L2D_TLB, L2D_TLB_REFILL], metrics: &[
    Metric::per_kilo("itlb_mpki", ITLB_WALK, INSTRUCTIONS).sampled_by([Some(ITLB_WALK), None, None]),
    Metric::percent("itlb_walk_ratio", ITLB_WALK, L1I_TLB, "% of accesses").sampled_by([Some(ITLB_WALK), None, None]),
    Metric::per_kilo("l1i_tlb_mpki", L1I_TLB_REFILL, INSTRUCTIONS).sampled_by([Some(L1I_TLB_REFILL), None, None]),
    Metric::percent("l1i_tlb_miss_ratio", L1I_TLB_REFILL, L1I_TLB, "% of accesses").sampled_by([Some(L1I_TLB_REFILL), None, None]),
    Metric::per_kilo("l2_tlb_mpki", L2D_TLB_REFILL, INSTRUCTIONS).sampled_by([Some(L2D_TLB_REFILL), None, None]),
    Metric::percent("l2_tlb_miss_ratio", L2D_TLB_REFILL, L2D_TLB, "% of accesses").sampled_by([Some(L2D_TLB_REFILL), None, None]),
], example: MetricExample::new(&[1_000_000, 500, 250_000, 2_000, 10_000, 1_000], &["0.5", "0.2", "2.0", "0.8", "1.0", "10.0"]) };
const L1I_CACHE_GROUP: MetricGroup = MetricGroup { name: "L1I_Cache_Effectiveness", subject: Subject::InstructionCache, explains: &[Node::Category(Category::FrontendBound)], events: &[INSTRUCTIONS, L1I_CACHE, L1I_CACHE_REFILL], metrics: &[
    Metric::per_kilo("l1i_cache_mpki", L1I_CACHE_REFILL, INSTRUCTIONS).sampled_by([Some(L1I_CACHE_REFILL), None, None]),
    Metric::percent("l1i_cache_miss_ratio", L1I_CACHE_REFILL, L1I_CACHE, "% of accesses").sampled_by([Some(L1I_CACHE_REFILL), None, None]),
], example: MetricExample::new(&[1_000_000, 250_000, 12_500], &["12.5", "5.0"]) };
const DTLB_GROUP: MetricGroup = MetricGroup { name: "DTLB_Effectiveness", subject: Subject::DataTlb, explains: &[Node::Category(Category::BackendBound)], events: &[INSTRUCTIONS, DTLB_WALK, L1D_TLB, L1D_TLB_REFILL, L2D_TLB, L2D_TLB_REFILL], metrics: &[
    Metric::per_kilo("dtlb_mpki", DTLB_WALK, INSTRUCTIONS).sampled_by([Some(DTLB_WALK), None, None]),
    Metric::percent("dtlb_walk_ratio", DTLB_WALK, L1D_TLB, "% of accesses").sampled_by([Some(DTLB_WALK), None, None]),
    Metric::per_kilo("l1d_tlb_mpki", L1D_TLB_REFILL, INSTRUCTIONS).sampled_by([Some(L1D_TLB_REFILL), None, None]),
    Metric::percent("l1d_tlb_miss_ratio", L1D_TLB_REFILL, L1D_TLB, "% of accesses").sampled_by([Some(L1D_TLB_REFILL), None, None]),
    Metric::per_kilo("l2_tlb_mpki", L2D_TLB_REFILL, INSTRUCTIONS).sampled_by([Some(L2D_TLB_REFILL), None, None]),
    Metric::percent("l2_tlb_miss_ratio", L2D_TLB_REFILL, L2D_TLB, "% of accesses").sampled_by([Some(L2D_TLB_REFILL), None, None]),
], example: MetricExample::new(&[1_000_000, 4_000, 400_000, 20_000, 25_000, 5_000], &["4.0", "1.0", "20.0", "5.0", "5.0", "20.0"]) };
const L1D_CACHE_GROUP: MetricGroup = MetricGroup { name: "L1D_Cache_Effectiveness", subject: Subject::DataCache, explains: &[Node::Category(Category::BackendBound)], events: &[INSTRUCTIONS, L1D_CACHE, L1D_CACHE_REFILL], metrics: &[
    Metric::per_kilo("l1d_cache_mpki", L1D_CACHE_REFILL, INSTRUCTIONS).sampled_by([Some(L1D_CACHE_REFILL), None, None]),
    Metric::percent("l1d_cache_miss_ratio", L1D_CACHE_REFILL, L1D_CACHE, "% of accesses").sampled_by([Some(L1D_CACHE_REFILL), None, None]),
], example: MetricExample::new(&[1_000_000, 400_000, 30_000], &["30.0", "7.5"]) };
const L2_CACHE_GROUP: MetricGroup = MetricGroup { name: "L2_Cache_Effectiveness", subject: Subject::L2Cache, explains: &[Node::Category(Category::FrontendBound), Node::Category(Category::BackendBound)], events: &[INSTRUCTIONS, L2D_CACHE, L2D_CACHE_REFILL], metrics: &[
    Metric::per_kilo("l2_cache_mpki", L2D_CACHE_REFILL, INSTRUCTIONS).sampled_by([Some(L2D_CACHE_REFILL), None, None]),
    Metric::percent("l2_cache_miss_ratio", L2D_CACHE_REFILL, L2D_CACHE, "% of accesses").sampled_by([Some(L2D_CACHE_REFILL), None, None]),
], example: MetricExample::new(&[1_000_000, 50_000, 10_000], &["10.0", "20.0"]) };
const LL_CACHE_GROUP: MetricGroup = MetricGroup { name: "LL_Cache_Effectiveness", subject: Subject::LastLevelCache, explains: &[Node::Category(Category::FrontendBound), Node::Category(Category::BackendBound)], events: &[INSTRUCTIONS, LL_CACHE_RD, LL_CACHE_MISS_RD], metrics: &[
    Metric::per_kilo("ll_cache_read_mpki", LL_CACHE_MISS_RD, INSTRUCTIONS).sampled_by([Some(LL_CACHE_MISS_RD), None, None]),
    Metric::percent("ll_cache_read_miss_ratio", LL_CACHE_MISS_RD, LL_CACHE_RD, "% of accesses").sampled_by([Some(LL_CACHE_MISS_RD), None, None]),
], example: MetricExample::new(&[1_000_000, 8_000, 6_000], &["6.0", "75.0"]) };
const OPERATION_MIX_GROUP: MetricGroup = MetricGroup { name: "Operation_Mix", subject: Subject::OperationMix, explains: &[Node::Category(Category::Retiring), Node::Category(Category::BackendBound)], events: &[INST_SPEC, LD_SPEC, ST_SPEC, DP_SPEC, BR_IMMED_SPEC, BR_INDIRECT_SPEC], metrics: &[
    Metric::percent("load_percentage", LD_SPEC, INST_SPEC, "% of operations").sampled_by([Some(LD_SPEC), None, None]),
    Metric::percent("store_percentage", ST_SPEC, INST_SPEC, "% of operations").sampled_by([Some(ST_SPEC), None, None]),
    Metric::percent("integer_dp_percentage", DP_SPEC, INST_SPEC, "% of operations").sampled_by([Some(DP_SPEC), None, None]),
    Metric::new("branch_percentage", "% of operations", &|c| 100.0 * (c[BR_IMMED_SPEC] + c[BR_INDIRECT_SPEC]) / c[INST_SPEC]).sampled_by([Some(BR_IMMED_SPEC), Some(BR_INDIRECT_SPEC), None]),
], example: MetricExample::new(&[1_000_000, 220_000, 110_000, 330_000, 200_000, 20_000], &["22.0", "11.0", "33.0", "22.0"]) };
const OPERATION_MIX_BARRIERS_GROUP: MetricGroup = MetricGroup { name: "Operation_Mix (barriers)", subject: Subject::OperationMix, explains: &[Node::Category(Category::Retiring), Node::Category(Category::BackendBound)], events: &[INST_SPEC, ISB_SPEC, DSB_SPEC, DMB_SPEC], metrics: &[
    Metric::new("barrier_percentage", "% of operations", &|c| 100.0 * (c[ISB_SPEC] + c[DSB_SPEC] + c[DMB_SPEC]) / c[INST_SPEC]).sampled_by([Some(ISB_SPEC), Some(DSB_SPEC), Some(DMB_SPEC)]),
], example: MetricExample::new(&[1_000_000, 100, 400, 4_500], &["0.5"]) };
const ALIGNMENT_GROUP: MetricGroup = MetricGroup { name: "Alignment", subject: Subject::Alignment, explains: &[Node::Category(Category::BackendBound)], events: &[INSTRUCTIONS, LD_ALIGN_LAT, ST_ALIGN_LAT], metrics: &[
    Metric::per_kilo("late_unaligned_loads", LD_ALIGN_LAT, INSTRUCTIONS),
    Metric::per_kilo("late_unaligned_stores", ST_ALIGN_LAT, INSTRUCTIONS),
], example: MetricExample::new(&[1_000_000, 100_000, 40_000], &["100.0", "40.0"]) };
const OPERATION_MIX_VECTOR_GROUP: MetricGroup = MetricGroup { name: "Operation_Mix (vector)", subject: Subject::OperationMix, explains: &[Node::Category(Category::Retiring), Node::Category(Category::BackendBound)], events: &[INST_SPEC, ASE_SPEC, VFP_SPEC, CRYPTO_SPEC, SVE_INST_SPEC], metrics: &[
    Metric::percent("simd_percentage", ASE_SPEC, INST_SPEC, "% of operations").sampled_by([Some(ASE_SPEC), None, None]),
    Metric::percent("scalar_fp_percentage", VFP_SPEC, INST_SPEC, "% of operations").sampled_by([Some(VFP_SPEC), None, None]),
    Metric::percent("crypto_percentage", CRYPTO_SPEC, INST_SPEC, "% of operations").sampled_by([Some(CRYPTO_SPEC), None, None]),
    Metric::percent("sve_all_percentage", SVE_INST_SPEC, INST_SPEC, "% of operations").sampled_by([Some(SVE_INST_SPEC), None, None]),
], example: MetricExample::new(&[1_000_000, 50_000, 110_000, 1_000, 20_000], &["5.0", "11.0", "0.1", "2.0"]) };
const TOPDOWN_FRONTEND_GROUP: MetricGroup = MetricGroup { name: "Topdown_Frontend", subject: Subject::Stalls, explains: &[Node::Category(Category::FrontendBound)], events: &[CYCLES, STALL_FRONTEND, STALL_FRONTEND_CPUBOUND, STALL_FRONTEND_MEMBOUND, FLUSH, STALL_FRONTEND_FLOW], metrics: &[
    Metric::percent("frontend_core_bound", STALL_FRONTEND_CPUBOUND, STALL_FRONTEND, "% of frontend stalls").sampled_by([Some(STALL_FRONTEND_CPUBOUND), None, None]),
    Metric::percent("frontend_mem_bound", STALL_FRONTEND_MEMBOUND, STALL_FRONTEND, "% of frontend stalls").sampled_by([Some(STALL_FRONTEND_MEMBOUND), None, None]),
    Metric::percent("frontend_core_flush_bound", FLUSH, STALL_FRONTEND_CPUBOUND, "% of core-bound stalls").sampled_by([Some(FLUSH), None, None]),
    Metric::percent("frontend_core_flow_bound", STALL_FRONTEND_FLOW, STALL_FRONTEND_CPUBOUND, "% of core-bound stalls").sampled_by([Some(STALL_FRONTEND_FLOW), None, None]),
], example: MetricExample::new(&[1_000_000, 200_000, 150_000, 50_000, 120_000, 30_000], &["75.0", "25.0", "80.0", "20.0"]) };
const TOPDOWN_FRONTEND_MEMORY_GROUP: MetricGroup = MetricGroup { name: "Topdown_Frontend (memory)", subject: Subject::Stalls, explains: &[Node::Category(Category::FrontendBound)], events: &[CYCLES, STALL_FRONTEND_MEMBOUND, STALL_FRONTEND_L1I, STALL_FRONTEND_MEM, STALL_FRONTEND_TLB], metrics: &[
    Metric::new("frontend_mem_cache_bound", "% of memory-bound stalls", &|c| 100.0 * (c[STALL_FRONTEND_L1I] + c[STALL_FRONTEND_MEM]) / c[STALL_FRONTEND_MEMBOUND]).sampled_by([Some(STALL_FRONTEND_MEM), Some(STALL_FRONTEND_L1I), None]),
    Metric::percent("frontend_mem_tlb_bound", STALL_FRONTEND_TLB, STALL_FRONTEND_MEMBOUND, "% of memory-bound stalls").sampled_by([Some(STALL_FRONTEND_TLB), None, None]),
    Metric::new("frontend_cache_l1i_bound", "% of cache-bound stalls", &|c| 100.0 * c[STALL_FRONTEND_L1I] / (c[STALL_FRONTEND_L1I] + c[STALL_FRONTEND_MEM])).sampled_by([Some(STALL_FRONTEND_L1I), None, None]),
    Metric::new("frontend_cache_l2i_bound", "% of cache-bound stalls", &|c| 100.0 * c[STALL_FRONTEND_MEM] / (c[STALL_FRONTEND_L1I] + c[STALL_FRONTEND_MEM])).sampled_by([Some(STALL_FRONTEND_MEM), None, None]),
], example: MetricExample::new(&[1_000_000, 50_000, 30_000, 10_000, 10_000], &["80.0", "20.0", "75.0", "25.0"]) };
const TOPDOWN_BACKEND_GROUP: MetricGroup = MetricGroup { name: "Topdown_Backend", subject: Subject::Stalls, explains: &[Node::Category(Category::BackendBound)], events: &[CYCLES, STALL_BACKEND, STALL_BACKEND_CPUBOUND, STALL_BACKEND_MEMBOUND, STALL_BACKEND_BUSY, STALL_BACKEND_RENAME], metrics: &[
    Metric::percent("backend_core_bound", STALL_BACKEND_CPUBOUND, STALL_BACKEND, "% of backend stalls").sampled_by([Some(STALL_BACKEND_CPUBOUND), None, None]),
    Metric::percent("backend_mem_bound", STALL_BACKEND_MEMBOUND, STALL_BACKEND, "% of backend stalls").sampled_by([Some(STALL_BACKEND_MEMBOUND), None, None]),
    Metric::percent("backend_busy_bound", STALL_BACKEND_BUSY, STALL_BACKEND, "% of backend stalls").sampled_by([Some(STALL_BACKEND_BUSY), None, None]),
    Metric::percent("backend_core_rename_bound", STALL_BACKEND_RENAME, STALL_BACKEND_CPUBOUND, "% of core-bound stalls").sampled_by([Some(STALL_BACKEND_RENAME), None, None]),
], example: MetricExample::new(&[1_000_000, 400_000, 80_000, 300_000, 20_000, 40_000], &["20.0", "75.0", "5.0", "50.0"]) };
const TOPDOWN_BACKEND_MEMORY_GROUP: MetricGroup = MetricGroup { name: "Topdown_Backend (memory)", subject: Subject::Stalls, explains: &[Node::Part(Part::MemoryBound)], events: &[CYCLES, STALL_BACKEND_MEMBOUND, STALL_BACKEND_L1D, STALL_BACKEND_MEM, STALL_BACKEND_TLB, STALL_BACKEND_ST], metrics: &[
    Metric::new("backend_mem_cache_bound", "% of memory-bound stalls", &|c| 100.0 * (c[STALL_BACKEND_L1D] + c[STALL_BACKEND_MEM]) / c[STALL_BACKEND_MEMBOUND]).sampled_by([Some(STALL_BACKEND_MEM), Some(STALL_BACKEND_L1D), None]),
    Metric::percent("backend_mem_tlb_bound", STALL_BACKEND_TLB, STALL_BACKEND_MEMBOUND, "% of memory-bound stalls").sampled_by([Some(STALL_BACKEND_TLB), None, None]),
    Metric::percent("backend_mem_store_bound", STALL_BACKEND_ST, STALL_BACKEND_MEMBOUND, "% of memory-bound stalls").sampled_by([Some(STALL_BACKEND_ST), None, None]),
    Metric::new("backend_cache_l1d_bound", "% of cache-bound stalls", &|c| 100.0 * c[STALL_BACKEND_L1D] / (c[STALL_BACKEND_L1D] + c[STALL_BACKEND_MEM])).sampled_by([Some(STALL_BACKEND_L1D), None, None]),
    Metric::new("backend_cache_l2d_bound", "% of cache-bound stalls", &|c| 100.0 * c[STALL_BACKEND_MEM] / (c[STALL_BACKEND_L1D] + c[STALL_BACKEND_MEM])).sampled_by([Some(STALL_BACKEND_MEM), None, None]),
], example: MetricExample::new(&[1_000_000, 300_000, 60_000, 180_000, 45_000, 15_000], &["80.0", "15.0", "5.0", "25.0", "75.0"]) };
const HAZARDS_GROUP: MetricGroup = MetricGroup { name: "Machine_Clears", subject: Subject::Clears, explains: &[Node::Category(Category::BadSpeculation)], events: &[INSTRUCTIONS, HAZARD_FLUSHES], metrics: &[
    Metric::per_kilo("memory_hazards", HAZARD_FLUSHES, INSTRUCTIONS),
], example: MetricExample::new(&[1_000_000, 1_000], &["1.0"]) };
const OPERATION_MIX_PC_WRITE_GROUP: MetricGroup = MetricGroup { name: "Operation_Mix", subject: Subject::OperationMix, explains: &[Node::Category(Category::Retiring), Node::Category(Category::BackendBound)], events: &[INST_SPEC, LD_SPEC, ST_SPEC, DP_SPEC, PC_WRITE_SPEC, DSB_SPEC], metrics: &[
    Metric::percent("load_percentage", LD_SPEC, INST_SPEC, "% of operations").sampled_by([Some(LD_SPEC), None, None]),
    Metric::percent("store_percentage", ST_SPEC, INST_SPEC, "% of operations").sampled_by([Some(ST_SPEC), None, None]),
    Metric::new("integer_dp_percentage", "% of operations", &|c| 100.0 * (c[DP_SPEC] - c[DSB_SPEC]) / c[INST_SPEC]).sampled_by([Some(DP_SPEC), None, None]),
    Metric::percent("branch_percentage", PC_WRITE_SPEC, INST_SPEC, "% of operations").sampled_by([Some(PC_WRITE_SPEC), None, None]),
], example: MetricExample::new(&[1_000_000, 220_000, 110_000, 330_000, 220_000, 100], &["22.0", "11.0", "33.0", "22.0"]) };
const HAZARDS_GROUP_2: MetricGroup = MetricGroup { name: "Machine_Clears", subject: Subject::Clears, explains: &[Node::Category(Category::BadSpeculation)], events: &[INSTRUCTIONS, HAZARD_FLUSHES_2], metrics: &[
    Metric::per_kilo("memory_hazards", HAZARD_FLUSHES_2, INSTRUCTIONS),
], example: MetricExample::new(&[1_000_000, 1_000], &["1.0"]) };
const TOPDOWN_FRONTEND_MEMORY_GROUP_2: MetricGroup = MetricGroup { name: "Topdown_Frontend (memory)", subject: Subject::Stalls, explains: &[Node::Category(Category::FrontendBound)], events: &[CYCLES, STALL_FRONTEND_MEMBOUND, STALL_FRONTEND_L1I, STALL_FRONTEND_MEM, STALL_FRONTEND_TLB], metrics: &[
    Metric::new("frontend_mem_cache_bound", "% of memory-bound stalls", &|c| 100.0 * (c[STALL_FRONTEND_L1I] + c[STALL_FRONTEND_MEM]) / c[STALL_FRONTEND_MEMBOUND]).sampled_by([Some(STALL_FRONTEND_L1I), Some(STALL_FRONTEND_MEM), None]),
    Metric::percent("frontend_mem_tlb_bound", STALL_FRONTEND_TLB, STALL_FRONTEND_MEMBOUND, "% of memory-bound stalls").sampled_by([Some(STALL_FRONTEND_TLB), None, None]),
    Metric::new("frontend_cache_l1i_bound", "% of cache-bound stalls", &|c| 100.0 * c[STALL_FRONTEND_L1I] / (c[STALL_FRONTEND_L1I] + c[STALL_FRONTEND_MEM])).sampled_by([Some(STALL_FRONTEND_L1I), None, None]),
    Metric::new("frontend_cache_l2i_bound", "% of cache-bound stalls", &|c| 100.0 * c[STALL_FRONTEND_MEM] / (c[STALL_FRONTEND_L1I] + c[STALL_FRONTEND_MEM])).sampled_by([Some(STALL_FRONTEND_MEM), None, None]),
], example: MetricExample::new(&[1_000_000, 50_000, 30_000, 10_000, 10_000], &["80.0", "20.0", "75.0", "25.0"]) };
const TOPDOWN_BACKEND_NANO_GROUP: MetricGroup = MetricGroup { name: "Topdown_Backend", subject: Subject::Stalls, explains: &[Node::Category(Category::BackendBound)], events: &[CYCLES, STALL_BACKEND, STALL_BACKEND_CPUBOUND, STALL_BACKEND_MEMBOUND, STALL_BACKEND_BUSY], metrics: &[
    Metric::percent("backend_core_bound", STALL_BACKEND_CPUBOUND, STALL_BACKEND, "% of backend stalls").sampled_by([Some(STALL_BACKEND_CPUBOUND), None, None]),
    Metric::percent("backend_mem_bound", STALL_BACKEND_MEMBOUND, STALL_BACKEND, "% of backend stalls").sampled_by([Some(STALL_BACKEND_MEMBOUND), None, None]),
    Metric::percent("backend_busy_bound", STALL_BACKEND_BUSY, STALL_BACKEND, "% of backend stalls").sampled_by([Some(STALL_BACKEND_BUSY), None, None]),
], example: MetricExample::new(&[1_000_000, 400_000, 80_000, 300_000, 20_000], &["20.0", "75.0", "5.0"]) };
const TOPDOWN_BACKEND_MEMORY_GROUP_2: MetricGroup = MetricGroup { name: "Topdown_Backend (memory)", subject: Subject::Stalls, explains: &[Node::Part(Part::MemoryBound)], events: &[CYCLES, STALL_BACKEND_MEMBOUND, STALL_BACKEND_L1D, STALL_BACKEND_MEM, STALL_BACKEND_TLB, STALL_BACKEND_ST], metrics: &[
    Metric::new("backend_mem_cache_bound", "% of memory-bound stalls", &|c| 100.0 * (c[STALL_BACKEND_L1D] + c[STALL_BACKEND_MEM]) / c[STALL_BACKEND_MEMBOUND]).sampled_by([Some(STALL_BACKEND_L1D), Some(STALL_BACKEND_MEM), None]),
    Metric::percent("backend_mem_tlb_bound", STALL_BACKEND_TLB, STALL_BACKEND_MEMBOUND, "% of memory-bound stalls").sampled_by([Some(STALL_BACKEND_TLB), None, None]),
    Metric::percent("backend_mem_store_bound", STALL_BACKEND_ST, STALL_BACKEND_MEMBOUND, "% of memory-bound stalls").sampled_by([Some(STALL_BACKEND_ST), None, None]),
    Metric::new("backend_cache_l1d_bound", "% of cache-bound stalls", &|c| 100.0 * c[STALL_BACKEND_L1D] / (c[STALL_BACKEND_L1D] + c[STALL_BACKEND_MEM])).sampled_by([Some(STALL_BACKEND_L1D), None, None]),
    Metric::new("backend_cache_l2d_bound", "% of cache-bound stalls", &|c| 100.0 * c[STALL_BACKEND_MEM] / (c[STALL_BACKEND_L1D] + c[STALL_BACKEND_MEM])).sampled_by([Some(STALL_BACKEND_MEM), None, None]),
], example: MetricExample::new(&[1_000_000, 300_000, 60_000, 180_000, 45_000, 15_000], &["80.0", "15.0", "5.0", "25.0", "75.0"]) };
const L1D_CACHE_NANO_GROUP: MetricGroup = MetricGroup { name: "L1D_Cache_Effectiveness", subject: Subject::DataCache, explains: &[Node::Category(Category::BackendBound)], events: &[INSTRUCTIONS, L1D_CACHE_RW, L1D_CACHE_REFILL_RD, L1D_CACHE_REFILL_WR], metrics: &[
    Metric::new("l1d_cache_mpki", "per 1000 instructions", &|c| 1000.0 * (c[L1D_CACHE_REFILL_RD] + c[L1D_CACHE_REFILL_WR]) / c[INSTRUCTIONS]).sampled_by([Some(L1D_CACHE_REFILL_RD), Some(L1D_CACHE_REFILL_WR), None]),
    Metric::new("l1d_cache_miss_ratio", "% of accesses", &|c| 100.0 * (c[L1D_CACHE_REFILL_RD] + c[L1D_CACHE_REFILL_WR]) / c[L1D_CACHE_RW]).sampled_by([Some(L1D_CACHE_REFILL_RD), Some(L1D_CACHE_REFILL_WR), None]),
], example: MetricExample::new(&[1_000_000, 400_000, 20_000, 10_000], &["30.0", "7.5"]) };
const OPERATION_MIX_PC_WRITE_GROUP_2: MetricGroup = MetricGroup { name: "Operation_Mix", subject: Subject::OperationMix, explains: &[Node::Category(Category::Retiring), Node::Category(Category::BackendBound)], events: &[INST_SPEC, LD_SPEC, ST_SPEC, DP_SPEC, PC_WRITE_SPEC, DSB_SPEC], metrics: &[
    Metric::percent("load_percentage", LD_SPEC, INST_SPEC, "% of operations").sampled_by([Some(LD_SPEC), None, None]),
    Metric::percent("store_percentage", ST_SPEC, INST_SPEC, "% of operations").sampled_by([Some(ST_SPEC), None, None]),
    Metric::percent("integer_dp_percentage", DP_SPEC, INST_SPEC, "% of operations").sampled_by([Some(DP_SPEC), None, None]),
    Metric::percent("branch_percentage", PC_WRITE_SPEC, INST_SPEC, "% of operations").sampled_by([Some(PC_WRITE_SPEC), None, None]),
], example: MetricExample::new(&[1_000_000, 220_000, 110_000, 330_000, 220_000, 100], &["22.0", "11.0", "33.0", "22.0"]) };

pub mod n1 {
    pub const GROUPS: &[super::MetricGroup] = &[super::CYCLE_ACCOUNTING_GROUP, super::BRANCH_GROUP, super::ITLB_GROUP, super::L1I_CACHE_GROUP, super::DTLB_GROUP, super::L1D_CACHE_GROUP, super::L2_CACHE_GROUP, super::LL_CACHE_GROUP, super::OPERATION_MIX_GROUP, super::OPERATION_MIX_BARRIERS_GROUP];
}

pub mod n2 {
    pub use super::CYCLES;
    pub use super::INSTRUCTIONS;
    pub use super::OPERATIONS_RETIRED;
    pub use super::OPERATIONS;
    pub use super::FRONTEND;
    pub use super::BACKEND;
    pub use super::MISPREDICTED;
    pub const FORMS: [&[super::Event]; 1] = [&[CYCLES, INSTRUCTIONS, OPERATIONS_RETIRED, OPERATIONS, FRONTEND, BACKEND, MISPREDICTED]];
    pub const GROUPS: &[super::MetricGroup] = &[super::CYCLE_ACCOUNTING_GROUP, super::BRANCH_GROUP, super::ITLB_GROUP, super::L1I_CACHE_GROUP, super::DTLB_GROUP, super::L1D_CACHE_GROUP, super::L2_CACHE_GROUP, super::LL_CACHE_GROUP, super::ALIGNMENT_GROUP, super::OPERATION_MIX_GROUP, super::OPERATION_MIX_VECTOR_GROUP, super::OPERATION_MIX_BARRIERS_GROUP];
}

pub mod v1 {
    pub use super::CYCLES;
    pub use super::INSTRUCTIONS;
    pub use super::OPERATIONS_RETIRED;
    pub use super::OPERATIONS;
    pub use super::FRONTEND;
    pub use super::BACKEND;
    pub use super::MISPREDICTED;
    pub const FORMS: [&[super::Event]; 1] = [&[CYCLES, INSTRUCTIONS, OPERATIONS_RETIRED, OPERATIONS, FRONTEND, BACKEND, MISPREDICTED]];
    pub const GROUPS: &[super::MetricGroup] = &[super::CYCLE_ACCOUNTING_GROUP, super::BRANCH_GROUP, super::ITLB_GROUP, super::L1I_CACHE_GROUP, super::DTLB_GROUP, super::L1D_CACHE_GROUP, super::L2_CACHE_GROUP, super::LL_CACHE_GROUP, super::OPERATION_MIX_GROUP, super::OPERATION_MIX_VECTOR_GROUP, super::OPERATION_MIX_BARRIERS_GROUP];
}

pub mod v2 {
    pub use super::CYCLES;
    pub use super::INSTRUCTIONS;
    pub use super::OPERATIONS_RETIRED;
    pub use super::OPERATIONS;
    pub use super::FRONTEND;
    pub use super::BACKEND;
    pub use super::MISPREDICTED;
    pub const FORMS: [&[super::Event]; 1] = [&[CYCLES, INSTRUCTIONS, OPERATIONS_RETIRED, OPERATIONS, FRONTEND, BACKEND, MISPREDICTED]];
    pub const GROUPS: &[super::MetricGroup] = &[super::CYCLE_ACCOUNTING_GROUP, super::BRANCH_GROUP, super::ITLB_GROUP, super::L1I_CACHE_GROUP, super::DTLB_GROUP, super::L1D_CACHE_GROUP, super::L2_CACHE_GROUP, super::LL_CACHE_GROUP, super::ALIGNMENT_GROUP, super::OPERATION_MIX_GROUP, super::OPERATION_MIX_VECTOR_GROUP, super::OPERATION_MIX_BARRIERS_GROUP];
}

pub mod n3 {
    pub use super::CYCLES;
    pub use super::INSTRUCTIONS;
    pub use super::OPERATIONS_RETIRED;
    pub use super::OPERATIONS;
    pub use super::FRONTEND;
    pub use super::BACKEND;
    pub use super::FLUSH;
    pub const FORMS: [&[super::Event]; 1] = [&[CYCLES, INSTRUCTIONS, OPERATIONS_RETIRED, OPERATIONS, FRONTEND, BACKEND, FLUSH]];
    pub const GROUPS: &[super::MetricGroup] = &[super::TOPDOWN_FRONTEND_GROUP, super::TOPDOWN_FRONTEND_MEMORY_GROUP, super::TOPDOWN_BACKEND_GROUP, super::TOPDOWN_BACKEND_MEMORY_GROUP, super::HAZARDS_GROUP, super::BRANCH_GROUP, super::ITLB_GROUP, super::L1I_CACHE_GROUP, super::DTLB_GROUP, super::L1D_CACHE_GROUP, super::L2_CACHE_GROUP, super::LL_CACHE_GROUP, super::ALIGNMENT_GROUP, super::OPERATION_MIX_PC_WRITE_GROUP, super::OPERATION_MIX_VECTOR_GROUP, super::OPERATION_MIX_BARRIERS_GROUP];
}

pub mod v3 {
    pub use super::CYCLES;
    pub use super::INSTRUCTIONS;
    pub use super::OPERATIONS_RETIRED;
    pub use super::OPERATIONS;
    pub use super::FRONTEND;
    pub use super::BACKEND;
    pub use super::FLUSH;
    pub const FORMS: [&[super::Event]; 1] = [&[CYCLES, INSTRUCTIONS, OPERATIONS_RETIRED, OPERATIONS, FRONTEND, BACKEND, FLUSH]];
    pub const GROUPS: &[super::MetricGroup] = &[super::TOPDOWN_FRONTEND_GROUP, super::TOPDOWN_FRONTEND_MEMORY_GROUP, super::TOPDOWN_BACKEND_GROUP, super::TOPDOWN_BACKEND_MEMORY_GROUP, super::HAZARDS_GROUP_2, super::BRANCH_GROUP, super::ITLB_GROUP, super::L1I_CACHE_GROUP, super::DTLB_GROUP, super::L1D_CACHE_GROUP, super::L2_CACHE_GROUP, super::LL_CACHE_GROUP, super::ALIGNMENT_GROUP, super::OPERATION_MIX_GROUP, super::OPERATION_MIX_VECTOR_GROUP, super::OPERATION_MIX_BARRIERS_GROUP];
}

pub mod c1_nano {
    pub use super::CYCLES;
    pub use super::INSTRUCTIONS;
    pub use super::OPERATIONS_RETIRED;
    pub use super::OPERATIONS;
    pub use super::FRONTEND;
    pub use super::BACKEND;
    pub use super::FLUSH;
    pub const FORMS: [&[super::Event]; 1] = [&[CYCLES, INSTRUCTIONS, OPERATIONS_RETIRED, OPERATIONS, FRONTEND, BACKEND, FLUSH]];
    pub const GROUPS: &[super::MetricGroup] = &[super::TOPDOWN_FRONTEND_GROUP, super::TOPDOWN_FRONTEND_MEMORY_GROUP_2, super::TOPDOWN_BACKEND_NANO_GROUP, super::TOPDOWN_BACKEND_MEMORY_GROUP_2, super::BRANCH_GROUP, super::ITLB_GROUP, super::L1I_CACHE_GROUP, super::DTLB_GROUP, super::L1D_CACHE_NANO_GROUP, super::L2_CACHE_GROUP, super::LL_CACHE_GROUP, super::ALIGNMENT_GROUP, super::OPERATION_MIX_GROUP, super::OPERATION_MIX_VECTOR_GROUP, super::OPERATION_MIX_BARRIERS_GROUP];
}

pub mod c1_pro {
    pub use super::CYCLES;
    pub use super::INSTRUCTIONS;
    pub use super::OPERATIONS_RETIRED;
    pub use super::OPERATIONS;
    pub use super::FRONTEND;
    pub use super::BACKEND;
    pub use super::FLUSH;
    pub const FORMS: [&[super::Event]; 1] = [&[CYCLES, INSTRUCTIONS, OPERATIONS_RETIRED, OPERATIONS, FRONTEND, BACKEND, FLUSH]];
    pub const GROUPS: &[super::MetricGroup] = &[super::TOPDOWN_FRONTEND_GROUP, super::TOPDOWN_FRONTEND_MEMORY_GROUP, super::TOPDOWN_BACKEND_GROUP, super::TOPDOWN_BACKEND_MEMORY_GROUP, super::HAZARDS_GROUP_2, super::BRANCH_GROUP, super::ITLB_GROUP, super::L1I_CACHE_GROUP, super::DTLB_GROUP, super::L1D_CACHE_GROUP, super::L2_CACHE_GROUP, super::LL_CACHE_GROUP, super::ALIGNMENT_GROUP, super::OPERATION_MIX_PC_WRITE_GROUP, super::OPERATION_MIX_VECTOR_GROUP, super::OPERATION_MIX_BARRIERS_GROUP];
}

pub mod c1_ultra {
    pub use super::CYCLES;
    pub use super::INSTRUCTIONS;
    pub use super::OPERATIONS_RETIRED;
    pub use super::OPERATIONS;
    pub use super::FRONTEND;
    pub use super::BACKEND;
    pub use super::FLUSH;
    pub const FORMS: [&[super::Event]; 1] = [&[CYCLES, INSTRUCTIONS, OPERATIONS_RETIRED, OPERATIONS, FRONTEND, BACKEND, FLUSH]];
    pub const GROUPS: &[super::MetricGroup] = &[super::TOPDOWN_FRONTEND_GROUP, super::TOPDOWN_FRONTEND_MEMORY_GROUP, super::TOPDOWN_BACKEND_GROUP, super::TOPDOWN_BACKEND_MEMORY_GROUP, super::HAZARDS_GROUP_2, super::BRANCH_GROUP, super::ITLB_GROUP, super::L1I_CACHE_GROUP, super::DTLB_GROUP, super::L1D_CACHE_GROUP, super::L2_CACHE_GROUP, super::LL_CACHE_GROUP, super::ALIGNMENT_GROUP, super::OPERATION_MIX_PC_WRITE_GROUP_2, super::OPERATION_MIX_VECTOR_GROUP, super::OPERATION_MIX_BARRIERS_GROUP];
}

pub mod ampere_one {
    pub use super::CYCLES;
    pub use super::INSTRUCTIONS;
    pub use super::OPERATIONS_RETIRED;
    pub use super::OPERATIONS;
    pub use super::BACKEND;
    pub const FORMS: [&[super::Event]; 1] = [&[CYCLES, INSTRUCTIONS, OPERATIONS_RETIRED, OPERATIONS, BACKEND]];
    pub const GROUPS: &[super::MetricGroup] = &[super::CYCLE_ACCOUNTING_GROUP, super::BRANCH_GROUP, super::ITLB_GROUP, super::L1I_CACHE_GROUP, super::DTLB_GROUP, super::L1D_CACHE_GROUP, super::L2_CACHE_GROUP, super::OPERATION_MIX_GROUP, super::OPERATION_MIX_BARRIERS_GROUP];
}

pub mod olympus {
    pub use super::CYCLES;
    pub use super::OPERATIONS_RETIRED;
    pub use super::OPERATIONS;
    pub use super::FRONTEND;
    pub use super::BACKEND;
    pub use super::SLOTS;
    pub use super::UNDELIVERED;
    pub const FORMS: [&[super::Event]; 1] = [&[CYCLES, OPERATIONS_RETIRED, OPERATIONS, FRONTEND, BACKEND, SLOTS, UNDELIVERED]];
    pub const GROUPS: &[super::MetricGroup] = &[super::CYCLE_ACCOUNTING_GROUP, super::BRANCH_GROUP, super::ITLB_GROUP, super::L1I_CACHE_GROUP, super::DTLB_GROUP, super::L1D_CACHE_GROUP, super::L2_CACHE_GROUP, super::LL_CACHE_GROUP, super::OPERATION_MIX_GROUP, super::OPERATION_MIX_BARRIERS_GROUP];
}

pub mod hip08 {
    pub use super::CYCLES;
    pub use super::INSTRUCTIONS;
    pub use super::INST_SPEC;
    pub use super::FETCH_BUBBLE;
    pub const FORMS: [&[super::Event]; 1] = [&[CYCLES, INSTRUCTIONS, INST_SPEC, FETCH_BUBBLE]];
    pub const GROUPS: &[super::MetricGroup] = &[super::CYCLE_ACCOUNTING_GROUP, super::BRANCH_GROUP, super::ITLB_GROUP, super::L1I_CACHE_GROUP, super::DTLB_GROUP, super::L1D_CACHE_GROUP, super::L2_CACHE_GROUP, super::LL_CACHE_GROUP, super::OPERATION_MIX_GROUP, super::OPERATION_MIX_BARRIERS_GROUP];
}

pub mod generic {
    pub use super::CYCLES;
    pub use super::INSTRUCTIONS;
    pub use super::OPERATIONS_RETIRED;
    pub use super::OPERATIONS;
    pub use super::FRONTEND;
    pub use super::BACKEND;
    pub const FORMS: [&[super::Event]; 1] = [&[CYCLES, INSTRUCTIONS, OPERATIONS_RETIRED, OPERATIONS, FRONTEND, BACKEND]];
    pub const GROUPS: &[super::MetricGroup] = &[super::CYCLE_ACCOUNTING_GROUP, super::BRANCH_GROUP, super::ITLB_GROUP, super::L1I_CACHE_GROUP, super::DTLB_GROUP, super::L1D_CACHE_GROUP, super::L2_CACHE_GROUP, super::LL_CACHE_GROUP, super::OPERATION_MIX_GROUP, super::OPERATION_MIX_BARRIERS_GROUP];
}
