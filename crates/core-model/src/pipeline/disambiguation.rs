//! Permission of loads to run ahead of earlier stores with unknown addresses, counted for each
//! load.
//!
//! The rules and their numbers are those that J. Chen measured on Golden Cove (blog.jia.je, "Intel
//! Golden Cove 微架构评测", January 2025). There the low nine bits of a load's address select one of
//! 512 counters. In the model each load has its own, so that moving a function does not change the
//! slots of others.

use crate::calendar::boxed;
use crate::parameters::Disambiguation as Rules;

/// Entries for loads that wait; a later one replaces an earlier one.
const LOADS: usize = 1024;

/// A load that conflicted with a store.
#[derive(Clone, Copy, Default)]
struct Suspect {
    ip: u64,
    /// In how many executions it waits.
    waits: u8,
}

pub(crate) struct Disambiguation {
    rules: Rules,
    suspects: Box<[Suspect; LOADS]>,
    /// The number of those that wait.
    waiting: u32,
    /// Number of loads that may still be discarded before all wait.
    credit: u8,
    /// Number of consecutive loads that ran ahead correctly, or would have.
    right: u8,
}

impl Disambiguation {
    pub(crate) fn new(rules: Rules) -> Self {
        Disambiguation {
            rules,
            suspects: boxed(Suspect::default()),
            waiting: 0,
            credit: rules.discards,
            right: 0,
        }
    }

    #[inline]
    fn suspect_index(ip: u64) -> usize {
        (ip ^ ip >> 10) as usize % LOADS
    }

    /// Returns whether the load at `ip` waits for the addresses of all earlier stores.
    #[inline]
    pub(crate) fn waits(&self, ip: u64) -> bool {
        self.credit == 0 || self.waiting > 0 && self.is_suspect(ip)
    }

    #[inline]
    fn is_suspect(&self, ip: u64) -> bool {
        let suspect = &self.suspects[Self::suspect_index(ip)];
        suspect.ip == ip && suspect.waits > 0
    }

    /// Learns from the load at `ip`: whether it is ahead of a store whose address is unknown, or
    /// would be if it did not wait, and whether it reads such a store. Returns whether what follows
    /// it is discarded.
    #[inline]
    pub(crate) fn learn(&mut self, ip: u64, is_ahead: bool, conflicts: bool) -> bool {
        let is_calm = self.waiting == 0 && self.credit == self.rules.discards;
        if is_calm && !conflicts {
            return false;
        }
        self.learn_rare(ip, is_ahead, conflicts)
    }

    #[inline(never)]
    fn learn_rare(&mut self, ip: u64, is_ahead: bool, conflicts: bool) -> bool {
        let was_suspect = self.is_suspect(ip);
        if conflicts {
            let safe_executions = self.rules.safe_executions;
            let suspect = &mut self.suspects[Self::suspect_index(ip)];
            let was_waiting = suspect.waits > 0;
            *suspect = Suspect {
                ip,
                waits: safe_executions,
            };
            self.waiting += u32::from(!was_waiting);
            self.right = 0;
            let is_discarded = !was_suspect && self.credit > 0;
            self.credit -= u8::from(is_discarded);
            return is_discarded;
        }
        if was_suspect {
            let suspect = &mut self.suspects[Self::suspect_index(ip)];
            suspect.waits -= 1;
            self.waiting -= u32::from(suspect.waits == 0);
        } else if is_ahead {
            self.right += 1;
            if self.right == self.rules.right_for_one {
                self.right = 0;
                self.credit = (self.credit + 1).min(self.rules.discards);
            }
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cores::GOLDEN_COVE;
    use crate::parameters::MemoryRenaming;

    const LOAD: u64 = 0x40_1000;

    fn counters() -> (Disambiguation, Rules) {
        let MemoryRenaming::SimpleAddress(rules) = GOLDEN_COVE.rename.memory_renaming else {
            panic!("this core counts");
        };
        (Disambiguation::new(rules), rules)
    }

    #[test]
    fn conflicting_load_waits_until_safe() {
        let (mut counters, rules) = counters();
        assert!(!counters.waits(LOAD));
        assert!(counters.learn(LOAD, true, true), "it is discarded");
        for _ in 1..rules.safe_executions {
            counters.learn(LOAD, true, false);
        }
        assert!(counters.waits(LOAD));
        assert!(!counters.learn(LOAD, true, true), "it waited");
        for _ in 0..rules.safe_executions {
            assert!(counters.waits(LOAD));
            counters.learn(LOAD, true, false);
        }
        assert!(!counters.waits(LOAD));
    }

    #[test]
    fn all_loads_wait_after_four_discards() {
        let (mut counters, rules) = counters();
        let other = LOAD + 0x100;
        for load in 1..=u64::from(rules.discards) {
            assert!(!counters.waits(other));
            assert!(counters.learn(LOAD + load, true, true));
        }
        assert!(counters.waits(other));
        for _ in 0..rules.right_for_one {
            assert!(counters.waits(other));
            counters.learn(other, true, false);
        }
        assert!(!counters.waits(other));
    }
}
