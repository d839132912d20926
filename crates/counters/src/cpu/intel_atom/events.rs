//! Events of Intel's efficient cores that tables and groups share.

use crate::cpu::{Counter, Counts, Event};

pub(super) const CYCLES: Event = Event::new("CPU_CLK_UNHALTED.CORE", 0x003c, Counter::FixedCycles);
pub(super) const INSTRUCTIONS: Event = Event::fixed("INST_RETIRED.ANY", 0x00c0);

// Goldmont.
pub(super) const NOT_DELIVERED: Event = Event::general("UOPS_NOT_DELIVERED.ANY", 0x009c);
pub(super) const ISSUED: Event = Event::general("UOPS_ISSUED.ANY", 0x000e);
pub(super) const RECOVERY: Event = Event::general("ISSUE_SLOTS_NOT_CONSUMED.RECOVERY", 0x02ca);
pub(super) const UOPS_RETIRED: Event = Event::general("UOPS_RETIRED.ANY", 0x00c2);

// Tremont and later.
pub(super) const FRONTEND: Event = Event::general("TOPDOWN_FE_BOUND.ALL", 0x0071);
pub(super) const BAD_SPECULATION: Event = Event::general("TOPDOWN_BAD_SPECULATION.ALL", 0x0073);
/// Umask 6: Tremont counts nothing under umask 0.
pub(super) const BAD_SPECULATION_TREMONT: Event =
    Event::general("TOPDOWN_BAD_SPECULATION.ALL", 0x0673);
pub(super) const RETIRING: Event = Event::general("TOPDOWN_RETIRING.ALL", 0x00c2);
pub(super) const RETIRING_CRESTMONT: Event = Event::general("TOPDOWN_RETIRING.ALL", 0x0072);
pub(super) const BACKEND: Event = Event::general("TOPDOWN_BE_BOUND.ALL", 0x0074);

// Skymont. The kernel moves these to fixed counters 4 to 6 by itself; it does not accept the codes
// 0x0500 … 0x0700 of Intel's lists.
pub(super) const FRONTEND_SKYMONT: Event = Event::general("TOPDOWN_FE_BOUND.ALL_P", 0x019c);
pub(super) const BAD_SPECULATION_SKYMONT: Event =
    Event::general("TOPDOWN_BAD_SPECULATION.ALL_P", 0x0073);
pub(super) const RETIRING_SKYMONT: Event = Event::general("TOPDOWN_RETIRING.ALL_P", 0x02c2);
pub(super) const BACKEND_SKYMONT: Event = Event::general("TOPDOWN_BE_BOUND.ALL_P", 0x02a4);

pub(super) fn slots(counts: &Counts) -> f64 {
    counts.slots_per_cycle() * counts[CYCLES]
}
