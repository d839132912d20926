//! Events of Intel's performance cores from Sandy Bridge to Cascade Lake that tables and groups
//! share.

use crate::cpu::{Counter, Event};

pub(super) const CYCLES: Event =
    Event::new("CPU_CLK_UNHALTED.THREAD", 0x003c, Counter::FixedCycles);
pub(super) const INSTRUCTIONS: Event = Event::fixed("INST_RETIRED.ANY", 0x00c0);
pub(super) const NOT_DELIVERED: Event = Event::general("IDQ_UOPS_NOT_DELIVERED.CORE", 0x019c);
pub(super) const RETIRED: Event = Event::general("UOPS_RETIRED.RETIRE_SLOTS", 0x02c2);
pub(super) const ISSUED: Event = Event::general("UOPS_ISSUED.ANY", 0x010e);
/// Umask 3, cmask 1.
pub(super) const RECOVERY_SANDY_BRIDGE: Event =
    Event::general("INT_MISC.RECOVERY_CYCLES", 0x0100_030d);
/// Umask 1 and no cmask.
pub(super) const RECOVERY_SKYLAKE: Event = Event::general("INT_MISC.RECOVERY_CYCLES", 0x010d);
