//! Events of Intel's performance cores from Ice Lake to Lion Cove.

use crate::cpu::{Counter, Event};

pub(super) const CYCLES: Event =
    Event::new("CPU_CLK_UNHALTED.THREAD", 0x003c, Counter::FixedCycles);
pub(super) const INSTRUCTIONS: Event = Event::fixed("INST_RETIRED.ANY", 0x00c0);
pub(super) const SLOTS: Event = Event::fixed("TOPDOWN.SLOTS", 0x0400);
/// Slots on a general counter, for virtual machines, which do not see fixed counter 3.
pub(super) const SLOTS_P: Event = Event::general("TOPDOWN.SLOTS_P", 0x01a4);
pub(super) const RETIRED: Event = Event::general("UOPS_RETIRED.SLOTS", 0x02c2);
pub(super) const NOT_DELIVERED: Event = Event::general("IDQ_UOPS_NOT_DELIVERED.CORE", 0x019c);
pub(super) const BACKEND_BOUND: Event = Event::general("TOPDOWN.BACKEND_BOUND_SLOTS", 0x02a4);
pub(super) const DROPPING_ICE_LAKE: Event = Event::general("INT_MISC.UOP_DROPPING", 0x100d);
/// Cmask 1 and edge: number of clears, not their duration.
pub(super) const CLEARS_ICE_LAKE: Event = Event::general("INT_MISC.CLEARS_COUNT", 0x0104_010d);
/// Golden Cove moved `INT_MISC` to event 0xad.
pub(super) const DROPPING_GOLDEN_COVE: Event = Event::general("INT_MISC.UOP_DROPPING", 0x10ad);
pub(super) const HEAVY: Event = Event::general("UOPS_RETIRED.HEAVY", 0x01c2);
pub(super) const MEMORY_BOUND: Event = Event::general("TOPDOWN.MEMORY_BOUND_SLOTS", 0x10a4);
/// General counter 0 only.
pub(super) const MISPREDICT: Event = Event::general("TOPDOWN.BR_MISPREDICT_SLOTS", 0x08a4);
/// Cmask 6: cycles in which nothing at all was delivered.
pub(super) const NOTHING_DELIVERED_GOLDEN_COVE: Event = Event::general(
    "IDQ_UOPS_NOT_DELIVERED.CYCLES_0_UOPS_DELIV.CORE",
    0x0600_019c,
);
/// Cycles in starvations that last at least two cycles.
pub(super) const FETCH_LATENCY_LION_COVE: Event =
    Event::general("IDQ_BUBBLES.FETCH_LATENCY", 0x049c);
/// Lion Cove's name for [`NOT_DELIVERED`].
pub(super) const BUBBLES_LION_COVE: Event = Event::general("IDQ_BUBBLES.CORE", 0x019c);

// Of metric groups.
pub(super) const BRANCHES: Event = Event::general("BR_INST_RETIRED.ALL_BRANCHES", 0x00c4);
pub(super) const MISPREDICTED: Event = Event::general("BR_MISP_RETIRED.ALL_BRANCHES", 0x00c5);
pub(super) const LL_REFERENCES: Event = Event::general("LONGEST_LAT_CACHE.REFERENCE", 0x4f2e);
pub(super) const LL_MISSES: Event = Event::general("LONGEST_LAT_CACHE.MISS", 0x412e);
pub(super) const MACHINE_CLEARS: Event = Event::general("MACHINE_CLEARS.COUNT", 0x0104_01c3);
pub(super) const MISPREDICTED_CONDITIONAL: Event = Event::general("BR_MISP_RETIRED.COND", 0x11c5);
pub(super) const MISPREDICTED_INDIRECT: Event = Event::general("BR_MISP_RETIRED.INDIRECT", 0x80c5);
pub(super) const MISPREDICTED_RETURN: Event = Event::general("BR_MISP_RETIRED.RET", 0x08c5);
pub(super) const ICACHE_STALLS: Event = Event::general("ICACHE_DATA.STALLS", 0x0480);
pub(super) const ITLB_STALLS: Event = Event::general("ICACHE_TAG.STALLS", 0x0483);
pub(super) const L2_CODE_READS: Event = Event::general("L2_RQSTS.ALL_CODE_RD", 0xe424);
pub(super) const L2_CODE_MISSES: Event = Event::general("L2_RQSTS.CODE_RD_MISS", 0x2424);
pub(super) const DSB_UOPS: Event = Event::general("IDQ.DSB_UOPS", 0x0879);
pub(super) const MITE_UOPS: Event = Event::general("IDQ.MITE_UOPS", 0x0479);
pub(super) const LOADS: Event = Event::general("MEM_INST_RETIRED.ALL_LOADS", 0x81d0);
pub(super) const STORES: Event = Event::general("MEM_INST_RETIRED.ALL_STORES", 0x82d0);
pub(super) const L1_MISS: Event = Event::general("MEM_LOAD_RETIRED.L1_MISS", 0x08d1);
pub(super) const FILL_BUFFER_HIT: Event = Event::general("MEM_LOAD_RETIRED.FB_HIT", 0x40d1);
pub(super) const L2_HIT: Event = Event::general("MEM_LOAD_RETIRED.L2_HIT", 0x02d1);
pub(super) const L2_MISS: Event = Event::general("MEM_LOAD_RETIRED.L2_MISS", 0x10d1);
pub(super) const L3_HIT: Event = Event::general("MEM_LOAD_RETIRED.L3_HIT", 0x04d1);
pub(super) const L3_MISS: Event = Event::general("MEM_LOAD_RETIRED.L3_MISS", 0x20d1);
pub(super) const LOCKED_LOADS: Event = Event::general("MEM_INST_RETIRED.LOCK_LOADS", 0x21d0);
pub(super) const LOCAL_MEMORY: Event =
    Event::general("MEM_LOAD_L3_MISS_RETIRED.LOCAL_DRAM", 0x01d3);
pub(super) const REMOTE_MEMORY: Event =
    Event::general("MEM_LOAD_L3_MISS_RETIRED.REMOTE_DRAM", 0x02d3);
pub(super) const STALLS_TOTAL: Event = Event::general("CYCLE_ACTIVITY.STALLS_TOTAL", 0x0400_04a3);
pub(super) const BOUND_ON_STORES: Event =
    Event::general("EXE_ACTIVITY.BOUND_ON_STORES", 0x0200_40a6);
pub(super) const ONE_PORT: Event = Event::general("EXE_ACTIVITY.1_PORTS_UTIL", 0x02a6);
pub(super) const TWO_PORTS: Event = Event::general("EXE_ACTIVITY.2_PORTS_UTIL", 0x04a6);
pub(super) const THREE_PORTS: Event = Event::general("EXE_ACTIVITY.3_PORTS_UTIL", 0x08a6);
pub(super) const FP_SCALAR: Event = Event::general("FP_ARITH_INST_RETIRED.SCALAR", 0x03c7);

// Ice Lake.
pub(super) const NOTHING_DELIVERED_ICE_LAKE: Event = Event::general(
    "IDQ_UOPS_NOT_DELIVERED.CYCLES_0_UOPS_DELIV.CORE",
    0x0500_019c,
);
pub(super) const ITLB_WALK_ICE_LAKE: Event = Event::general("ITLB_MISSES.WALK_COMPLETED", 0x0e85);
pub(super) const ITLB_STLB_HIT_ICE_LAKE: Event = Event::general("ITLB_MISSES.STLB_HIT", 0x2085);
pub(super) const DTLB_LOAD_WALK_ICE_LAKE: Event =
    Event::general("DTLB_LOAD_MISSES.WALK_COMPLETED", 0x0e08);
pub(super) const DTLB_LOAD_STLB_HIT_ICE_LAKE: Event =
    Event::general("DTLB_LOAD_MISSES.STLB_HIT", 0x2008);
pub(super) const DTLB_STORE_WALK_ICE_LAKE: Event =
    Event::general("DTLB_STORE_MISSES.WALK_COMPLETED", 0x0e49);
pub(super) const STALLS_MEMORY: Event =
    Event::general("CYCLE_ACTIVITY.STALLS_MEM_ANY", 0x1400_14a3);
pub(super) const STALLS_L1D_MISS: Event =
    Event::general("CYCLE_ACTIVITY.STALLS_L1D_MISS", 0x0c00_0ca3);
pub(super) const STALLS_L2_MISS: Event =
    Event::general("CYCLE_ACTIVITY.STALLS_L2_MISS", 0x0500_05a3);
pub(super) const STALLS_L3_MISS: Event =
    Event::general("CYCLE_ACTIVITY.STALLS_L3_MISS", 0x0600_06a3);
pub(super) const DIVIDER_ICE_LAKE: Event = Event::general("ARITH.DIVIDER_ACTIVE", 0x0100_0914);
pub(super) const FP_VECTOR: Event = Event::general("FP_ARITH_INST_RETIRED.VECTOR", 0xfcc7);

// Golden Cove and Lion Cove.
pub(super) const ITLB_WALK: Event = Event::general("ITLB_MISSES.WALK_COMPLETED", 0x0e11);
pub(super) const ITLB_STLB_HIT: Event = Event::general("ITLB_MISSES.STLB_HIT", 0x2011);
pub(super) const DTLB_LOAD_WALK: Event = Event::general("DTLB_LOAD_MISSES.WALK_COMPLETED", 0x0e12);
pub(super) const DTLB_LOAD_STLB_HIT: Event = Event::general("DTLB_LOAD_MISSES.STLB_HIT", 0x2012);
pub(super) const DTLB_STORE_WALK: Event =
    Event::general("DTLB_STORE_MISSES.WALK_COMPLETED", 0x0e13);
/// Legacy SSE code after 256-bit code without VZEROUPPER, or the reverse.
pub(super) const ASSISTS_SSE_AVX_MIX: Event = Event::general("ASSISTS.SSE_AVX_MIX", 0x10c1);
/// Denormal operands or results, for example.
pub(super) const ASSISTS_FP: Event = Event::general("ASSISTS.FP", 0x02c1);
pub(super) const DIVIDER: Event = Event::general("ARITH.DIV_ACTIVE", 0x0100_09b0);
pub(super) const BOUND_ON_LOADS: Event = Event::general("EXE_ACTIVITY.BOUND_ON_LOADS", 0x0500_21a6);
pub(super) const ACTIVITY_L1D_MISS: Event =
    Event::general("MEMORY_ACTIVITY.STALLS_L1D_MISS", 0x0300_0347);
pub(super) const ACTIVITY_L2_MISS: Event =
    Event::general("MEMORY_ACTIVITY.STALLS_L2_MISS", 0x0500_0547);
pub(super) const ACTIVITY_L3_MISS: Event =
    Event::general("MEMORY_ACTIVITY.STALLS_L3_MISS", 0x0900_0947);
pub(super) const MEMORY_STALLS_L1: Event = Event::general("MEMORY_STALLS.L1", 0x0146);
pub(super) const MEMORY_STALLS_L2: Event = Event::general("MEMORY_STALLS.L2", 0x0246);
pub(super) const MEMORY_STALLS_L3: Event = Event::general("MEMORY_STALLS.L3", 0x0446);
pub(super) const MEMORY_STALLS_MEMORY: Event = Event::general("MEMORY_STALLS.MEM", 0x0846);

// Lion Cove and Cougar Cove. Bits 47:40 of a configuration are the second unit mask.
pub(super) const MISPREDICTED_CONDITIONAL_LION_COVE: Event =
    Event::general("BR_MISP_RETIRED.COND", 0x0100_0000_11c5);
pub(super) const ITLB_STLB_HIT_LION_COVE: Event =
    Event::general("ITLB_MISSES.STLB_HIT", 0x0100_0000_2011);
pub(super) const DTLB_LOAD_STLB_HIT_LION_COVE: Event =
    Event::general("DTLB_LOAD_MISSES.STLB_HIT", 0x0300_0000_2012);
pub(super) const MISPREDICTED_CONDITIONAL_COUGAR_COVE: Event =
    Event::general("BR_MISP_RETIRED.COND", 0x07c5);
pub(super) const MISPREDICTED_INDIRECT_COUGAR_COVE: Event =
    Event::general("BR_MISP_RETIRED.INDIRECT", 0x50c5);
/// Cougar Cove's name for [`FP_SCALAR`].
pub(super) const FP_SCALAR_COUGAR_COVE: Event =
    Event::general("FP_ARITH_OPS_RETIRED.SCALAR", 0x03c7);
