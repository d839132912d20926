//! The memory hierarchy without time: accesses change the contents of caches and TLBs and what the
//! prefetchers have learnt. Only lines that come from memory are counted.
//!
//! Prefetches always find a buffer here. With time, those that find none are dropped.

use super::{Hierarchy, LINE_BYTES, LINES_PER_PAGE};

impl Hierarchy {
    /// Loads from memory.
    #[inline]
    pub(crate) fn warm_load(&mut self, ip: u64, address: u64, bytes: u32) {
        self.warm_lines(address, bytes, false);
        self.warm_stride(ip, address);
    }

    /// Stores to memory.
    #[inline]
    pub(crate) fn warm_store(&mut self, ip: u64, address: u64, bytes: u32) {
        self.warm_lines(address, bytes, true);
        if self.parameters.stride_of_stores {
            self.warm_stride(ip, address);
        }
    }

    /// Executes a software prefetch.
    pub(crate) fn warm_prefetch(&mut self, address: u64) {
        self.warm_l1d(address / LINE_BYTES);
    }

    /// Fetches a line of code.
    pub(crate) fn warm_code(&mut self, line: u64) {
        let page = line / LINES_PER_PAGE;
        if !self.itlb.access(page) {
            self.stlb.access(page);
        }
        if !self.l1i.touch(line, false) {
            self.warm_l2(line);
            self.l1i.insert(line, false);
        }
    }

    /// Accesses the line at `address`, and the next if it is crossed.
    #[inline]
    pub(crate) fn warm_lines(&mut self, address: u64, bytes: u32, dirty: bool) {
        let first = address / LINE_BYTES;
        let last = address.wrapping_add(u64::from(bytes) - 1) / LINE_BYTES;
        self.warm_line(first, dirty);
        if last != first {
            self.warm_line(last, dirty);
        }
    }

    #[inline]
    fn warm_line(&mut self, line: u64, dirty: bool) {
        let page = line / LINES_PER_PAGE;
        if !self.dtlb.access(page) {
            self.stlb.access(page);
        }
        self.is_elsewhere(line, dirty);
        if !self.l1d.touch(line, dirty) {
            self.warm_fill(line, dirty);
        }
    }

    #[inline]
    fn warm_stride(&mut self, ip: u64, address: u64) {
        if let Some(target) = self.strider.access(ip, address) {
            self.warm_l1d(target / LINE_BYTES);
        }
    }

    #[inline]
    fn warm_l1d(&mut self, line: u64) {
        if !self.l1d.contains(line) {
            self.warm_fill(line, false);
        }
    }

    /// Brings a line that is not in the L1 data cache into it.
    #[inline(never)]
    fn warm_fill(&mut self, line: u64, dirty: bool) {
        let ahead = self.streamer.request(line);
        self.warm_l2(line);
        let evicted = self.l1d.insert(line, dirty);
        if let Some(evicted) = evicted.filter(|evicted| evicted.dirty) {
            if !self.l2.touch(evicted.number, true) {
                self.warm_insert_l2(evicted.number, true);
            }
        }
        for line in ahead.into_iter().flat_map(|lines| lines.iter()) {
            if !self.l2.contains(line) {
                self.warm_below_l2(line);
            }
        }
    }

    #[inline]
    fn warm_l2(&mut self, line: u64) {
        if !self.l2.touch(line, false) {
            self.warm_below_l2(line);
        }
    }

    /// Brings a line that is not in the L2 into it.
    fn warm_below_l2(&mut self, line: u64) {
        if !self.l3.touch(line, false) {
            self.filled += 1;
            self.l3.insert(line, false);
        }
        self.warm_insert_l2(line, false);
    }

    fn warm_insert_l2(&mut self, line: u64, dirty: bool) {
        let evicted = self.l2.insert(line, dirty);
        if let Some(evicted) = evicted.filter(|evicted| evicted.dirty) {
            if !self.l3.touch(evicted.number, true) {
                self.l3.insert(evicted.number, true);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cores::ALL;
    use crate::ledger::Ledger;

    /// What lies where after these accesses, made in time or without it.
    fn contents(memory: &mut Hierarchy, lines: std::ops::Range<u64>) -> Vec<[bool; 3]> {
        lines
            .map(|line| {
                [
                    memory.l1d.contains(line),
                    memory.l2.contains(line),
                    memory.l3.contains(line),
                ]
            })
            .collect()
    }

    #[test]
    fn caches_are_equal_with_and_without_time() {
        const LINES: u64 = 200_000;
        for core in ALL {
            let mut ledger = Ledger::new(6, 1);
            let mut timed = Hierarchy::new(&core.memory);
            let mut warmed = Hierarchy::new(&core.memory);
            // In no order that a prefetcher knows, so that all of them find a buffer.
            let mut line = 1;
            for step in 0..2 * LINES {
                line = line * 48_271 % 199_999;
                let (address, at) = (line * LINE_BYTES, step * 1000);
                if step % 3 == 0 {
                    timed.store(7, address, 8, at, &mut ledger);
                    warmed.warm_store(7, address, 8);
                } else {
                    timed.load(step, address, 8, at, &mut ledger);
                    warmed.warm_load(step, address, 8);
                }
            }
            let before = ledger.counts();
            let same = contents(&mut timed, 0..LINES) == contents(&mut warmed, 0..LINES);
            assert!(same, "{}", core.name);
            assert_eq!(before, ledger.counts());
        }
    }

    #[test]
    fn warmed_stream_is_prefetched() {
        for core in ALL {
            let mut ledger = Ledger::new(6, 1);
            let mut memory = Hierarchy::new(&core.memory);
            for line in 0..40 {
                memory.warm_load(7, line * LINE_BYTES, 8);
            }
            let first_misses = (0..4)
                .map(|line| {
                    let at = 1000 + line * 1000;
                    memory.load(7, (40 + line) * LINE_BYTES, 8, at, &mut ledger) - at
                })
                .max();
            let memory_cycles = u64::from(core.memory.memory_cycles);
            assert!(first_misses < Some(memory_cycles), "{}", core.name);
        }
    }
}
