//! Events of AMD's Zen cores that tables and groups share.

use crate::cpu::{Counts, Event};

/// There is no fixed counter for cycles: they take one of the six.
pub(super) const CYCLES: Event = Event::general("ls_not_halted_cyc", 0x0076);
pub(super) const DISPATCHED: Event = Event::general("de_src_op_disp.all", 0x07aa);
pub(super) const RETIRED: Event = Event::general("ex_ret_ops", 0x00c1);
pub(super) const FRONTEND: Event = Event::general(
    "de_no_dispatch_per_slot.no_ops_from_frontend",
    0x1_0000_01a0,
);
pub(super) const BACKEND: Event =
    Event::general("de_no_dispatch_per_slot.backend_stalls", 0x1_0000_1ea0);
pub(super) const SMT: Event =
    Event::general("de_no_dispatch_per_slot.smt_contention", 0x1_0000_60a0);

pub(super) fn slots(counts: &Counts) -> f64 {
    counts.slots_per_cycle() * counts[CYCLES]
}
