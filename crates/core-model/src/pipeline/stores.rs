//! The store queue: forwarding to loads, and writing to the L1 in order.

use crate::calendar::boxed;
use crate::memory::LINE_BYTES;
use crate::parameters::{Memory, Window as Parameters};

/// Number of stores kept: more than any store queue holds.
const RING: usize = 256;
/// Entries of the table from 8-byte granules to stores.
const GRANULES: usize = 1024;
const GRANULE_BYTES: u64 = 8;
/// Granules whose addresses differ in the low bits that are compared first.
const LOW_GRANULES: usize = 512;
const ALIAS_BYTES: u64 = LOW_GRANULES as u64 * GRANULE_BYTES;
const LINES_PER_PAGE: u64 = 4096 / LINE_BYTES;
/// Number of runs of stores kept; at least as many as are fetched ahead.
const RUNS: usize = 32;

/// A store.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Store {
    /// Its address.
    pub address: u64,
    /// Its width in bytes.
    pub bytes: u32,
    /// When its address is known.
    pub address_known: u64,
    /// When its data is known.
    pub data_ready: u64,
    /// When it has been written to the L1; set by [`StoreQueue::write`].
    pub written: u64,
    /// Its number, in program order; set by [`StoreQueue::write`].
    pub number: u64,
    /// Distance to the store before it to its first granule, and to its last; 0 if that is not
    /// kept. Set by the same function.
    pub before: [u8; 2],
    /// How its address is written, see `MemoryOperand::name`.
    pub name: u64,
    /// Whether it stores a vector register.
    pub is_vector: bool,
    /// Whether it stores no vector register, at an address without an index.
    pub is_simple: bool,
    /// Whether an atomic operation stores it, which forwards nothing.
    pub is_atomic: bool,
}

impl Store {
    /// Returns the address after its last byte.
    #[inline]
    fn end(&self) -> u64 {
        self.address.wrapping_add(u64::from(self.bytes))
    }
}

/// What a load finds in the store queue.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Forward {
    /// No overlapping store: the data is in the caches.
    None,
    /// One that was written before: the same.
    Written,
    /// A store that contains all of its bytes.
    Whole(Store),
    /// A store that contains some of them, or is atomic.
    Part(Store),
}

/// Stores between issue and the L1.
pub(crate) struct StoreQueue {
    ring: Box<[Store; RING]>,
    next: u64,
    /// Granule number + 1 and the youngest store to it.
    granules: Box<[(u64, u64); GRANULES]>,
    /// The youngest store + 1 to a granule with these low bits, if that matters.
    low_granules: Option<Box<[u64; LOW_GRANULES]>>,
    capacity: u64,
    /// The first cycle with room for no store, and for one; see [`StoreQueue::room`].
    room_for: [u64; 2],
    /// When the last store of each run of stores to one line was written.
    runs: Box<[u64; RUNS]>,
    run: u64,
    /// The line of the current run.
    line: u64,
    fetch_ahead: u64,
    write_width: u32,
    write_lines: u32,
    write_cycle: u64,
    written_in_cycle: u32,
    lines_in_cycle: u32,
    addresses_known: u64,
    page_split_cycles: u64,
}

impl StoreQueue {
    /// Creates an empty queue.
    pub(crate) fn new(parameters: &Parameters, memory: &Memory) -> Self {
        let knows_aliases = memory.aliased_load_extra_cycles > 0;
        StoreQueue {
            ring: boxed(Store::default()),
            next: 0,
            granules: boxed((0, 0)),
            low_granules: knows_aliases.then(|| boxed(0)),
            capacity: u64::from(parameters.store_entries).clamp(1, RING as u64),
            room_for: [0; 2],
            runs: boxed(0),
            run: 0,
            line: u64::MAX,
            fetch_ahead: u64::from(parameters.store_fetch_ahead).clamp(1, RUNS as u64),
            write_width: parameters.store_commit_width.max(1),
            write_lines: parameters.store_commit_lines.max(1),
            write_cycle: 0,
            written_in_cycle: 0,
            lines_in_cycle: 0,
            addresses_known: 0,
            page_split_cycles: memory.page_split_store_cycles.into(),
        }
    }

    /// Returns when the addresses of all stores are known.
    #[inline]
    pub(crate) fn addresses_known(&self) -> u64 {
        self.addresses_known
    }

    /// Returns when all stores are written, or `None` if the youngest is atomic: all before it are.
    pub(crate) fn written_before_atomic(&self) -> Option<u64> {
        let youngest = self.ring[self.next.wrapping_sub(1) as usize % RING];
        (!youngest.is_atomic).then_some(youngest.written)
    }

    /// Returns the distance of this store from the next load.
    #[inline]
    pub(crate) fn distance(&self, store: &Store) -> u8 {
        (self.next - store.number) as u8
    }

    /// Returns whether a store at this distance from the next load is not written at `at`.
    #[inline]
    pub(crate) fn is_in_flight(&self, distance: u8, at: u64) -> bool {
        let number = self.next.wrapping_sub(distance.into());
        let store = &self.ring[number as usize % RING];
        distance > 0 && store.written > at
    }

    /// Returns the first cycle in which the queue has room for this many more stores.
    #[inline]
    pub(crate) fn room(&self, stores: u64) -> u64 {
        let needed = stores.min(self.capacity);
        match (self.next + needed).checked_sub(self.capacity + 1) {
            Some(blocking) if blocking < self.next => self.ring[blocking as usize % RING].written,
            _ => 0,
        }
    }

    /// Returns the same for one store, or none.
    #[inline]
    pub(crate) fn room_for_one_if(&self, is_needed: bool) -> u64 {
        // No branch, because which instructions store is hard to predict.
        self.room_for[usize::from(is_needed)]
    }

    /// Returns the first cycle in which the line of the next store, to `address`, may be fetched.
    #[inline]
    pub(crate) fn fetch_from(&self, address: u64) -> u64 {
        let run = self.run + u64::from(address / LINE_BYTES != self.line);
        match run.checked_sub(self.fetch_ahead) {
            Some(before) => self.runs[before as usize % RUNS],
            None => 0,
        }
    }

    /// Returns what a load of these bytes at `at` finds among the earlier stores that are not yet
    /// written.
    #[inline]
    pub(crate) fn find(&self, address: u64, bytes: u32, at: u64) -> Forward {
        let end = address.wrapping_add(u64::from(bytes));
        let first = address / GRANULE_BYTES;
        let last = end.wrapping_sub(1) / GRANULE_BYTES;
        let mut youngest = self.overlapping(first, address, end);
        if last != first {
            youngest = youngest.max(self.overlapping(last, address, end));
        }
        let Some(number) = youngest else {
            return Forward::None;
        };
        let store = &self.ring[number as usize % RING];
        if store.written <= at {
            return Forward::Written;
        }
        let whole = store.address <= address && end <= store.end();
        if whole && !store.is_atomic {
            Forward::Whole(*store)
        } else {
            Forward::Part(*store)
        }
    }

    /// Returns whether a store in flight, whose address was known at `at`, overlaps these bytes by
    /// the low bits of the addresses. Only for loads that find no store.
    #[inline]
    pub(crate) fn is_aliased(&self, address: u64, bytes: u32, at: u64) -> bool {
        let Some(low) = &self.low_granules else {
            return false;
        };
        let first = address / GRANULE_BYTES;
        let last = address.wrapping_add(u64::from(bytes) - 1) / GRANULE_BYTES;
        [first, last].into_iter().any(|granule| {
            let Some(number) = low[granule as usize % LOW_GRANULES].checked_sub(1) else {
                return false;
            };
            let store = &self.ring[number as usize % RING];
            let is_kept = self.next - number <= RING as u64;
            let behind = address.wrapping_sub(store.address) % ALIAS_BYTES;
            let before = store.address.wrapping_sub(address) % ALIAS_BYTES;
            let overlaps = behind < u64::from(store.bytes) || before < u64::from(bytes);
            is_kept && overlaps && store.address_known <= at && at < store.written
        })
    }

    #[inline]
    fn overlapping(&self, granule: u64, address: u64, end: u64) -> Option<u64> {
        let (tag, youngest) = self.granules[granule as usize % GRANULES];
        if tag != granule + 1 {
            return None;
        }
        let mut number = youngest;
        // Each store to a granule may cover other bytes of it.
        for _ in 0..GRANULE_BYTES {
            let kept = number < self.next && self.next - number <= RING as u64;
            if !kept {
                return None;
            }
            let store = &self.ring[number as usize % RING];
            if store.address < end && address < store.end() {
                return Some(number);
            }
            let is_first = store.address / GRANULE_BYTES == granule;
            match store.before[usize::from(!is_first)] {
                0 => return None,
                distance => number -= u64::from(distance),
            }
        }
        None
    }

    /// Adds a store that retires at `retires` and whose line can be written at `line_ready`.
    /// Returns when it is written.
    #[inline]
    pub(crate) fn write(&mut self, mut store: Store, retires: u64, line_ready: u64) -> u64 {
        let at = retires.max(line_ready);
        self.addresses_known = self.addresses_known.max(store.address_known);
        let line = store.address / LINE_BYTES;
        let last_line = store.address.wrapping_add(u64::from(store.bytes) - 1) / LINE_BYTES;
        let new_line = line != self.line;
        let full = self.written_in_cycle >= self.write_width
            || (new_line && self.lines_in_cycle >= self.write_lines);
        if at > self.write_cycle || full {
            self.write_cycle = at.max(self.write_cycle + 1);
            self.written_in_cycle = 0;
            self.lines_in_cycle = 0;
        }
        self.lines_in_cycle += u32::from(new_line || self.written_in_cycle == 0);
        self.written_in_cycle += 1;
        if last_line != line {
            if self.lines_in_cycle >= self.write_lines {
                self.write_cycle += 1;
                self.written_in_cycle = 1;
                self.lines_in_cycle = 0;
            }
            self.lines_in_cycle += 1;
            if last_line % LINES_PER_PAGE == 0 {
                self.write_cycle += self.page_split_cycles;
            }
        }
        self.run += u64::from(new_line);
        self.line = last_line;
        self.runs[self.run as usize % RUNS] = self.write_cycle;
        store.written = self.write_cycle;
        store.number = self.next;
        let first = store.address / GRANULE_BYTES;
        let last = store.address.wrapping_add(u64::from(store.bytes) - 1) / GRANULE_BYTES;
        store.before = [first, last].map(|granule| {
            let (tag, number) = self.granules[granule as usize % GRANULES];
            let is_other = tag != granule + 1;
            u8::try_from(self.next - number)
                .map_or(0, |distance| if is_other { 0 } else { distance })
        });
        for granule in first..=last.min(first.saturating_add(8)) {
            self.granules[granule as usize % GRANULES] = (granule + 1, self.next);
            if let Some(low) = &mut self.low_granules {
                low[granule as usize % LOW_GRANULES] = self.next + 1;
            }
        }
        self.ring[self.next as usize % RING] = store;
        self.next += 1;
        self.room_for[1] = self.room(1);
        self.write_cycle
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cores::{GOLDEN_COVE, ZEN_4, ZEN_5};

    fn store(address: u64, bytes: u32) -> Store {
        Store {
            address,
            bytes,
            ..Store::default()
        }
    }

    #[test]
    fn load_finds_youngest_overlapping_store() {
        let mut queue = StoreQueue::new(&GOLDEN_COVE.window, &GOLDEN_COVE.memory);
        queue.write(store(0x100, 8), 10, 0);
        queue.write(store(0x100, 4), 20, 0);
        assert!(matches!(queue.find(0x100, 4, 0), Forward::Whole(found) if found.bytes == 4));
        assert!(matches!(queue.find(0x100, 8, 0), Forward::Part(_)));
        assert!(matches!(queue.find(0x104, 4, 0), Forward::Whole(found) if found.bytes == 8));
        assert!(matches!(queue.find(0x108, 8, 0), Forward::None));
    }

    #[test]
    fn load_across_granules_sees_second_store() {
        let mut queue = StoreQueue::new(&GOLDEN_COVE.window, &GOLDEN_COVE.memory);
        queue.write(store(0x108, 8), 10, 0);
        assert!(matches!(queue.find(0x104, 8, 0), Forward::Part(_)));
    }

    #[test]
    fn load_finds_its_store_behind_one_to_its_neighbour() {
        let mut queue = StoreQueue::new(&GOLDEN_COVE.window, &GOLDEN_COVE.memory);
        for offset in [0, 1, 2, 4, 4] {
            queue.write(store(0x100 + offset, if offset < 4 { 1 } else { 4 }), 10, 0);
        }
        for offset in 0..3 {
            let found = queue.find(0x100 + offset, 1, 0);
            assert!(matches!(found, Forward::Whole(found) if found.address == 0x100 + offset));
        }
        assert!(matches!(queue.find(0x103, 1, 0), Forward::None));
    }

    #[test]
    fn load_matches_low_store_bits_until_written() {
        for core in [&ZEN_4, &GOLDEN_COVE] {
            let knows_aliases = core.memory.aliased_load_extra_cycles > 0;
            let mut queue = StoreQueue::new(&core.window, &core.memory);
            queue.write(store(0x1100, 8), 20, 0);
            assert_eq!(queue.is_aliased(0x3100, 8, 10), knows_aliases);
            assert_eq!(queue.is_aliased(0x30fc, 8, 10), knows_aliases, "half of it");
            assert!(!queue.is_aliased(0x3108, 8, 10));
            assert!(!queue.is_aliased(0x30f8, 8, 10));
            assert!(!queue.is_aliased(0x3100, 8, 30), "it was written");
        }
    }

    #[test]
    fn stores_are_written_in_order() {
        let mut queue = StoreQueue::new(&GOLDEN_COVE.window, &GOLDEN_COVE.memory);
        assert_eq!(queue.write(store(0, 8), 10, 300), 300);
        assert_eq!(queue.write(store(8, 8), 11, 11), 300);
        assert_eq!(queue.write(store(16, 8), 12, 12), 301);
    }

    #[test]
    fn stores_to_different_lines_take_a_cycle_each() {
        let mut queue = StoreQueue::new(&GOLDEN_COVE.window, &GOLDEN_COVE.memory);
        assert_eq!(queue.write(store(0, 8), 10, 0), 10);
        assert_eq!(queue.write(store(64, 8), 10, 0), 11);
        assert_eq!(queue.write(store(72, 8), 10, 0), 11);
        let mut queue = StoreQueue::new(&ZEN_5.window, &ZEN_5.memory);
        assert_eq!(queue.write(store(0, 8), 10, 0), 10);
        assert_eq!(queue.write(store(64, 8), 10, 0), 10);
    }

    #[test]
    fn store_across_pages_delays_the_next() {
        let mut queue = StoreQueue::new(&GOLDEN_COVE.window, &GOLDEN_COVE.memory);
        let within = queue.write(store(60, 8), 10, 0);
        let across = queue.write(store(4092, 8), 10, 0);
        assert_eq!(within, 11);
        let delay = u64::from(GOLDEN_COVE.memory.page_split_store_cycles);
        assert_eq!(across, within + 2 + delay);
    }

    #[test]
    fn few_lines_are_fetched_at_once() {
        let mut queue = StoreQueue::new(&GOLDEN_COVE.window, &GOLDEN_COVE.memory);
        let ahead = u64::from(GOLDEN_COVE.window.store_fetch_ahead);
        for line in 0..ahead {
            assert_eq!(queue.fetch_from(line * 64), 0);
            queue.write(store(line * 64, 8), 0, 100 + line * 10);
            queue.write(store(line * 64 + 8, 8), 0, 0);
        }
        assert_eq!(queue.fetch_from((ahead - 1) * 64), 0, "on its way");
        assert_eq!(queue.fetch_from(ahead * 64), 100);
    }

    #[test]
    fn full_queue_waits_for_oldest_write() {
        let mut queue = StoreQueue::new(&GOLDEN_COVE.window, &GOLDEN_COVE.memory);
        let entries = u64::from(GOLDEN_COVE.window.store_entries);
        for number in 0..entries {
            assert_eq!(queue.room(1), 0);
            queue.write(store(number * 64, 8), 1000 + number, 0);
        }
        assert_eq!(queue.room(1), 1000);
        assert_eq!(queue.room(2), 1001);
    }
}
