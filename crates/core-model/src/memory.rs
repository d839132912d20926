//! The memory hierarchy: where a line is found, when it arrives, and which bandwidth it takes.
//!
//! This module uses virtual addresses. On a real machine, physical ones select the sets of L2 and
//! L3, differently in each run of a program. Here a hash of the line does: it overfills as many
//! sets as randomly placed pages would, but no single page decides, so that results are repeatable.

mod lookup;
mod prefetch;
mod shared_lines;
mod warming;

pub(crate) use lookup::Lookup;
use prefetch::{Lines, Streamer, Strider};
use shared_lines::SharedLines;

use crate::calendar::{Bandwidth, boxed};
use crate::ledger::Ledger;
use crate::parameters::Memory as Parameters;

/// Bytes of a cache line, on every core in the table.
pub(crate) const LINE_BYTES: u64 = 64;
const LINES_PER_PAGE: u64 = 64;
const ARRIVALS: usize = 1024;
const NEVER: u64 = u64::MAX;

/// Lines on their way into a cache, and when they arrive. A line whose entry was replaced counts as
/// arrived.
struct Arrivals(Box<[(u64, u64); ARRIVALS]>);

impl Arrivals {
    fn new() -> Self {
        Arrivals(boxed((NEVER, 0)))
    }

    #[inline]
    fn expect(&mut self, line: u64, at: u64) {
        self.0[line as usize % ARRIVALS] = (line, at);
    }

    /// Returns when `line`, which is in the cache, can be used: at once or when it arrives.
    #[inline]
    fn ready(&self, line: u64) -> u64 {
        let (expected, at) = self.0[line as usize % ARRIVALS];
        if expected == line { at } else { 0 }
    }
}

/// Buffers that each hold one line from request to arrival: when they are free, in order.
struct FillBuffers(Box<[u64]>);

impl FillBuffers {
    fn new(entries: u32) -> Self {
        FillBuffers(vec![0; entries.max(1) as usize].into_boxed_slice())
    }

    /// Finds a buffer for a line that is requested at `at`; returns its index and when it is free.
    #[inline]
    fn find(&self, at: u64) -> (usize, u64) {
        // Of those that are free by then, the one freed last: a request of later code may come
        // earlier and need the others. Otherwise the one that is free first.
        let free = self.0.partition_point(|&until| until <= at);
        let index = free.saturating_sub(1);
        (index, self.0[index])
    }

    /// Takes a buffer that was found until a time after it is free.
    #[inline]
    fn hold(&mut self, index: usize, until: u64) {
        let before = self.0.iter().rposition(|&other| other <= until);
        let place = before.unwrap_or(index).max(index);
        self.0.copy_within(index + 1..place + 1, index);
        self.0[place] = until;
    }
}

/// Caches, TLBs, prefetchers and the bandwidth between them.
pub(crate) struct Hierarchy {
    parameters: Parameters,
    l1i: Lookup,
    l1d: Lookup,
    l2: Lookup,
    l3: Lookup,
    into_l1i: Arrivals,
    into_l1d: Arrivals,
    into_l2: Arrivals,
    l1_fills: FillBuffers,
    l2_fills: FillBuffers,
    l2_lines: Bandwidth,
    l2_banks: Box<[Bandwidth]>,
    code_lines: Bandwidth,
    l3_lines: Bandwidth,
    memory_lines: Bandwidth,
    dtlb: Lookup,
    itlb: Lookup,
    stlb: Lookup,
    streamer: Streamer,
    strider: Strider,
    /// Number of lines that entered the L2 since the last that kept it from serving a request.
    filled_l2: u32,
    /// Number of lines brought from memory into the L3.
    filled: u64,
    /// Unless cores share nothing. The executing core has it.
    shared_lines: Option<SharedLines>,
}

impl Hierarchy {
    pub(crate) fn new(parameters: &Parameters) -> Self {
        let cache = |cache: crate::parameters::Cache| {
            Lookup::new(cache.bytes / LINE_BYTES as u32, cache.ways)
        };
        let tlb = |tlb: crate::parameters::Tlb| Lookup::new(tlb.entries, tlb.ways);
        Hierarchy {
            l1i: cache(parameters.l1i),
            l1d: cache(parameters.l1d),
            // Measured on Zen 4 (see the tests of `lookup`), and assumed for the other cores, where
            // `chase-2m` agrees. The L1 and its TLB keep nothing of a cycle that does not fit.
            l2: cache(parameters.l2).hashed().with_middle_insertion(),
            l3: cache(parameters.l3).hashed(),
            into_l1i: Arrivals::new(),
            into_l1d: Arrivals::new(),
            into_l2: Arrivals::new(),
            l1_fills: FillBuffers::new(parameters.l1_fill_buffers),
            l2_fills: FillBuffers::new(parameters.l2_fill_buffers),
            l2_lines: Bandwidth::new(parameters.l2_line_cycles),
            l2_banks: (0..parameters.l2_banks)
                .map(|_| Bandwidth::new(parameters.l2_bank_cycles))
                .collect(),
            code_lines: Bandwidth::new(parameters.code_line_cycles),
            l3_lines: Bandwidth::new(parameters.l3_line_cycles),
            memory_lines: Bandwidth::new(parameters.memory_line_cycles),
            dtlb: tlb(parameters.dtlb),
            itlb: tlb(parameters.itlb),
            stlb: tlb(parameters.stlb),
            streamer: Streamer::new(parameters.stream_ahead_lines),
            strider: Strider::new(parameters.stride_ahead_lines),
            filled_l2: 0,
            filled: 0,
            shared_lines: None,
            parameters: parameters.clone(),
        }
    }

    /// Returns how many lines were brought from memory into the L3, with time and without.
    pub(crate) fn filled_lines(&self) -> u64 {
        self.filled
    }

    /// From now on, lines that another core wrote last come from there.
    pub(crate) fn share_lines(&mut self) {
        self.shared_lines = Some(SharedLines::new());
    }

    /// Takes over from the hierarchy of `other`, another core, what they know of each other's
    /// lines. This one is that of core `number`.
    pub(crate) fn take_shared_lines(&mut self, other: &mut Hierarchy, number: usize) {
        std::mem::swap(&mut self.shared_lines, &mut other.shared_lines);
        if let Some(lines) = &mut self.shared_lines {
            lines.switch_to(number);
        }
    }

    pub(crate) fn shares_lines(&self) -> bool {
        self.shared_lines.is_some()
    }

    /// Returns whether an accessed line must come from another core.
    #[inline(always)]
    fn is_elsewhere(&mut self, line: u64, writes: bool) -> bool {
        match &mut self.shared_lines {
            None => false,
            Some(lines) => lines.access(line, writes),
        }
    }

    /// Executes a load that starts at `at`, and returns when its data arrives. Includes the second
    /// line of a load that crosses one.
    #[inline]
    pub(crate) fn load(
        &mut self,
        ip: u64,
        address: u64,
        bytes: u32,
        at: u64,
        ledger: &mut Ledger,
    ) -> u64 {
        let ready = self.load_untrained(address, bytes, at, ledger);
        if let Some(target) = self.strider.access(ip, address) {
            self.prefetch_l1(target / LINE_BYTES, at, ledger);
        }
        ready
    }

    /// Executes a load of which the prefetcher learns nothing.
    #[inline]
    pub(crate) fn load_untrained(
        &mut self,
        address: u64,
        bytes: u32,
        at: u64,
        ledger: &mut Ledger,
    ) -> u64 {
        let first = address / LINE_BYTES;
        let last = address.wrapping_add(u64::from(bytes) - 1) / LINE_BYTES;
        let ready = self.load_line(first, at, ledger);
        if last == first {
            return ready;
        }
        ready.max(self.load_line(
            last,
            at + u64::from(self.parameters.split_load_extra_cycles),
            ledger,
        ))
    }

    #[inline(always)]
    fn load_line(&mut self, line: u64, at: u64, ledger: &mut Ledger) -> u64 {
        let at = self.translate(line, at, ledger);
        if self.is_elsewhere(line, false) {
            return self.transfer(line, at, false, ledger);
        }
        let hit = at + u64::from(self.parameters.l1d.cycles);
        if self.l1d.touch(line, false) {
            return hit.max(self.into_l1d.ready(line));
        }
        ledger.count(|events| &mut events.l1d_misses, 1);
        self.fill_l1d(line, at, false, true, ledger)
    }

    /// Executes a store that may fetch its line into the L1 from `at` on.
    /// Returns when the line can be written.
    #[inline]
    pub(crate) fn store(
        &mut self,
        ip: u64,
        address: u64,
        bytes: u32,
        at: u64,
        ledger: &mut Ledger,
    ) -> u64 {
        let first = address / LINE_BYTES;
        let last = address.wrapping_add(u64::from(bytes) - 1) / LINE_BYTES;
        let mut ready = self.store_line(first, at, ledger);
        if last != first {
            ledger.count(|events| &mut events.split_accesses, 1);
            let is_in_two_pages = last % LINES_PER_PAGE == 0;
            ledger.count(
                |events| &mut events.page_split_stores,
                is_in_two_pages.into(),
            );
            ready = ready.max(self.store_line(last, at, ledger));
        }
        if self.parameters.stride_of_stores {
            if let Some(target) = self.strider.access(ip, address) {
                self.prefetch_l1(target / LINE_BYTES, at, ledger);
            }
        }
        ready
    }

    #[inline(always)]
    fn store_line(&mut self, line: u64, at: u64, ledger: &mut Ledger) -> u64 {
        let at = self.translate(line, at, ledger);
        if self.is_elsewhere(line, true) {
            return self.transfer(line, at, true, ledger);
        }
        if self.l1d.touch(line, true) {
            return at.max(self.into_l1d.ready(line));
        }
        ledger.count(|events| &mut events.l1d_misses, 1);
        self.fill_l1d(line, at, true, true, ledger)
    }

    /// Executes a store around the caches, and returns when its write-combining buffer was sent.
    pub(crate) fn store_around(
        &mut self,
        address: u64,
        bytes: u32,
        at: u64,
        ledger: &mut Ledger,
    ) -> u64 {
        // A line goes to memory with its last byte; earlier parts wait in the buffer.
        let end = address.wrapping_add(u64::from(bytes));
        if end % LINE_BYTES != 0 {
            return at;
        }
        ledger.count(|events| &mut events.memory_write_bytes, LINE_BYTES);
        self.memory_lines.reserve(at)
    }

    /// Executes a software prefetch.
    pub(crate) fn prefetch(&mut self, address: u64, at: u64, ledger: &mut Ledger) {
        self.prefetch_l1(address / LINE_BYTES, at, ledger);
    }

    /// Fetches a line of code that the frontend requests at `at`, and returns when it arrives.
    #[inline]
    pub(crate) fn fetch_code(&mut self, line: u64, at: u64, ledger: &mut Ledger) -> u64 {
        let page = line / LINES_PER_PAGE;
        let mut at = at;
        if !self.itlb.access(page) {
            at += u64::from(self.parameters.stlb_cycles);
            if !self.stlb.access(page) {
                ledger.count(|events| &mut events.itlb_walks, 1);
                at += u64::from(self.parameters.walk_cycles);
            }
        }
        if self.l1i.touch(line, false) {
            return at.max(self.into_l1i.ready(line));
        }
        ledger.count(|events| &mut events.l1i_misses, 1);
        let at = self.code_lines.reserve(at);
        let ready = self.fill_l2(line, at, true, ledger);
        self.l1i.insert(line, false);
        self.into_l1i.expect(line, ready);
        ready
    }

    /// Returns when the translation of a data line's page is known.
    #[inline(always)]
    fn translate(&mut self, line: u64, at: u64, ledger: &mut Ledger) -> u64 {
        let page = line / LINES_PER_PAGE;
        if self.dtlb.access(page) {
            return at;
        }
        let mut at = at + u64::from(self.parameters.stlb_cycles);
        if !self.stlb.access(page) {
            ledger.count(|events| &mut events.dtlb_walks, 1);
            at += u64::from(self.parameters.walk_cycles);
        }
        at
    }

    #[inline]
    fn prefetch_l1(&mut self, line: u64, at: u64, ledger: &mut Ledger) {
        if !self.l1d.contains(line) {
            self.fill_l1d(line, at, false, false, ledger);
        }
    }

    /// Brings a line that is not in the L1 data cache into it, and returns when it arrives.
    fn fill_l1d(
        &mut self,
        line: u64,
        at: u64,
        dirty: bool,
        demand: bool,
        ledger: &mut Ledger,
    ) -> u64 {
        let (buffer, free) = self.l1_fills.find(at);
        if !demand && free > at {
            // Prefetches do not wait for a buffer.
            return at;
        }
        let at = at.max(free);
        let lines = self.streamer.request(line);
        let ready = self.fill_l2(line, at, demand, ledger);
        self.l1_fills.hold(buffer, ready);
        self.insert_l1d(line, dirty, at, ledger);
        self.into_l1d.expect(line, ready);
        if let Some(lines) = lines {
            self.prefetch_l2(lines, at, ledger);
        }
        ready
    }

    /// Brings a line from the cache of another core, and returns when it arrives. If this core has
    /// it, that is out of date.
    #[inline(never)]
    fn transfer(&mut self, line: u64, at: u64, dirty: bool, ledger: &mut Ledger) -> u64 {
        ledger.count(|events| &mut events.l1d_misses, 1);
        ledger.count(|events| &mut events.l2_misses, 1);
        let (buffer, free) = self.l1_fills.find(at);
        let at = at.max(free);
        let ready = at + u64::from(self.parameters.transfer_cycles);
        self.l1_fills.hold(buffer, ready);
        if !self.l1d.touch(line, dirty) {
            self.insert_l1d(line, dirty, at, ledger);
        }
        self.into_l1d.expect(line, ready);
        ready
    }

    fn prefetch_l2(&mut self, lines: Lines, at: u64, ledger: &mut Ledger) {
        for line in lines.iter() {
            if self.l2.contains(line) {
                continue;
            }
            let (buffer, free) = self.l2_fills.find(at);
            if free > at {
                return;
            }
            self.bring_into_l2(line, buffer, at, false, ledger);
        }
    }

    /// Requests a line from the L2 at `at`, and returns when it reaches the L1.
    fn fill_l2(&mut self, line: u64, at: u64, demand: bool, ledger: &mut Ledger) -> u64 {
        let accepted = self.enter_l2(line, at);
        let hit = accepted + u64::from(self.parameters.l2.cycles);
        if self.l2.touch(line, false) {
            return hit.max(self.into_l2.ready(line));
        }
        if demand {
            ledger.count(|events| &mut events.l2_misses, 1);
        }
        let (buffer, free) = self.l2_fills.find(accepted);
        self.bring_into_l2(line, buffer, accepted.max(free), demand, ledger)
    }

    /// Brings a line that the L2 lacks into it through a free buffer, and returns when it arrives.
    fn bring_into_l2(
        &mut self,
        line: u64,
        buffer: usize,
        at: u64,
        demand: bool,
        ledger: &mut Ledger,
    ) -> u64 {
        let ready = self.fetch_below_l2(line, at, demand, ledger);
        self.l2_fills.hold(buffer, ready);
        self.insert_l2(line, false, at, ledger);
        self.into_l2.expect(line, ready);
        self.filled_l2 += 1;
        if self.filled_l2 == self.parameters.l2_fills_per_request {
            self.filled_l2 = 0;
            self.l2_lines.reserve(ready);
        }
        ready
    }

    /// Returns when the L2 accepts a request for `line` that arrives at `at`.
    #[inline]
    fn enter_l2(&mut self, line: u64, at: u64) -> u64 {
        let at = self.l2_lines.reserve(at);
        if self.l2_banks.is_empty() {
            return at;
        }
        let bank = line as usize % self.l2_banks.len();
        self.l2_banks[bank].reserve(at)
    }

    /// Requests a line from L3 and memory, and returns when it arrives. Latencies count from the
    /// load.
    fn fetch_below_l2(&mut self, line: u64, at: u64, demand: bool, ledger: &mut Ledger) -> u64 {
        let accepted = self.l3_lines.reserve(at);
        if self.l3.touch(line, false) {
            return accepted + u64::from(self.parameters.l3.cycles);
        }
        if demand {
            ledger.count(|events| &mut events.l3_misses, 1);
        }
        ledger.count(|events| &mut events.memory_read_bytes, LINE_BYTES);
        let accepted = self.memory_lines.reserve(accepted);
        self.filled += 1;
        self.insert_l3(line, false, accepted, ledger);
        accepted + u64::from(self.parameters.memory_cycles)
    }

    fn insert_l1d(&mut self, line: u64, dirty: bool, at: u64, ledger: &mut Ledger) {
        let evicted = self.l1d.insert(line, dirty);
        if let Some(evicted) = evicted.filter(|evicted| evicted.dirty) {
            for _ in 0..self.parameters.l2_write_cycles {
                self.enter_l2(evicted.number, at);
            }
            if !self.l2.touch(evicted.number, true) {
                self.insert_l2(evicted.number, true, at, ledger);
            }
        }
    }

    fn insert_l2(&mut self, line: u64, dirty: bool, at: u64, ledger: &mut Ledger) {
        let evicted = self.l2.insert(line, dirty);
        if let Some(evicted) = evicted.filter(|evicted| evicted.dirty) {
            if !self.l3.touch(evicted.number, true) {
                self.insert_l3(evicted.number, true, at, ledger);
            }
        }
    }

    fn insert_l3(&mut self, line: u64, dirty: bool, at: u64, ledger: &mut Ledger) {
        let evicted = self.l3.insert(line, dirty);
        if evicted.is_some_and(|evicted| evicted.dirty) {
            ledger.count(|events| &mut events.memory_write_bytes, LINE_BYTES);
            self.memory_lines.reserve(at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cores::GOLDEN_COVE;

    fn hierarchy() -> (Hierarchy, Ledger) {
        (Hierarchy::new(&GOLDEN_COVE.memory), Ledger::new(6, 1))
    }

    #[test]
    fn second_load_of_a_line_hits_l1() {
        let (mut memory, mut ledger) = hierarchy();
        let first = memory.load(1, 0x1000, 8, 1000, &mut ledger);
        assert!(first >= 1000 + 280);
        assert_eq!(memory.load(1, 0x1008, 8, 5000, &mut ledger), 5005);
        assert_eq!(
            (
                ledger.counts().events.l1d_misses,
                ledger.counts().events.l3_misses
            ),
            (1, 1)
        );
        assert_eq!(ledger.counts().events.memory_read_bytes, 64);
    }

    #[test]
    fn load_waits_for_earlier_miss_of_its_line() {
        let (mut memory, mut ledger) = hierarchy();
        let first = memory.load(1, 0x1000, 8, 1000, &mut ledger);
        assert_eq!(memory.load(1, 0x1010, 8, 1001, &mut ledger), first);
        assert_eq!(ledger.counts().events.l1d_misses, 1);
    }

    #[test]
    fn late_request_leaves_buffers_to_earlier_ones() {
        let mut buffers = FillBuffers::new(2);
        buffers.hold(0, 5);
        let (late, _) = buffers.find(1000);
        buffers.hold(late, 1050);
        let (_, free) = buffers.find(2);
        assert!(free <= 2, "{free}");
    }

    #[test]
    fn fill_buffers_limit_misses_in_flight() {
        let (mut memory, mut ledger) = hierarchy();
        // Distinct pages: no prefetcher helps, and the TLB has them from the second round on.
        let round = |memory: &mut Hierarchy, ledger: &mut Ledger, line: u64, at: u64| {
            (0..17)
                .map(|page| memory.load(page, page * 4096 + line * 64, 8, at, ledger))
                .max()
                .unwrap_or(0)
        };
        round(&mut memory, &mut ledger, 0, 0);
        let done = round(&mut memory, &mut ledger, 1, 10_000);
        assert!(done >= 10_000 + 2 * 280, "{done}");
    }

    #[test]
    fn dirty_lines_are_written_back_to_memory() {
        let (mut memory, mut ledger) = hierarchy();
        let lines = u64::from(GOLDEN_COVE.memory.l3.bytes + GOLDEN_COVE.memory.l2.bytes) / 64 * 2;
        for line in 0..lines {
            memory.store(1, line * 64, 8, line * 20, &mut ledger);
        }
        assert!(ledger.counts().events.memory_write_bytes > 0);
        assert!(
            ledger.counts().events.memory_write_bytes < ledger.counts().events.memory_read_bytes
        );
    }

    #[test]
    fn load_across_a_line_touches_both() {
        let (mut memory, mut ledger) = hierarchy();
        memory.load(1, 0x103c, 8, 0, &mut ledger);
        assert_eq!(ledger.counts().events.l1d_misses, 2);
        let within = memory.load(1, 0x1030, 8, 10_000, &mut ledger);
        let across = memory.load(1, 0x103c, 8, 10_000, &mut ledger);
        let extra = u64::from(GOLDEN_COVE.memory.split_load_extra_cycles);
        assert_eq!(across, within + extra);
    }

    #[test]
    fn page_walk_counts_once_per_cold_page() {
        let (mut memory, mut ledger) = hierarchy();
        memory.load(1, 0x1000, 8, 0, &mut ledger);
        memory.load(1, 0x1800, 8, 0, &mut ledger);
        memory.load(1, 0x2000, 8, 0, &mut ledger);
        assert_eq!(ledger.counts().events.dtlb_walks, 2);
    }
}
