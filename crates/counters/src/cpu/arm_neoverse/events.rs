//! Events of Arm's cores that tables and groups share.

use crate::cpu::Event;

/// Has a dedicated counter.
pub(super) const CYCLES: Event = Event::fixed("CPU_CYCLES", 0x11);
pub(super) const INSTRUCTIONS: Event = Event::general("INST_RETIRED", 0x08);
pub(super) const OPERATIONS_RETIRED: Event = Event::general("OP_RETIRED", 0x3a);
pub(super) const OPERATIONS: Event = Event::general("OP_SPEC", 0x3b);
pub(super) const BACKEND: Event = Event::general("STALL_SLOT_BACKEND", 0x3d);
pub(super) const FRONTEND: Event = Event::general("STALL_SLOT_FRONTEND", 0x3e);
pub(super) const MISPREDICTED: Event = Event::general("BR_MIS_PRED", 0x10);
pub(super) const FLUSH: Event = Event::general("STALL_FRONTEND_FLUSH", 0x8162);
