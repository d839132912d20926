//! Placement of the program's memory in the model.
//!
//! Caches, TLBs and predictors depend on addresses, and in every launch the system puts a process's
//! mappings at different addresses. The model therefore assigns each mapping its own place: the
//! first one touched gets the first place, the next the second, and so on. So the same program
//! always has the same addresses. Within a mapping nothing moves: contiguous memory stays
//! contiguous, and strides of a power of two meet in the same sets.
//!
//! The stack also begins at a random offset within its page. The model places it by its first
//! touched address, so which lines its frames share does not depend on the launch. But a frame that
//! aligns itself to more than 16 bytes may cross a line in the model that it does not cross in the
//! program.

use topdown_tracer::Mapping;

use crate::calendar::boxed;

/// Bytes of a page, and the granularity of mappings.
const PAGE_BYTES: u64 = 4096;
/// Maximum number of areas. Memory touched after that keeps its addresses.
const AREAS: usize = 1024;
/// The kernel and the calling convention align the stack to this.
const STACK_ALIGNMENT: u64 = 16;
/// Distance between mappings: all of them fit into the 47 bits that a program has.
const AREA_SPACING_BYTES: u64 = 1 << 36;
/// Each mapping begins this many pages further on in the sets than the previous one, so that they
/// do not all begin in the first set. The number is odd, so that as many consecutive mappings as a
/// cache has sets of pages begin in different sets, and near the golden section of 512, so that
/// neighbours are far apart.
const STAGGER_PAGES: u64 = 317;
const STAGGER_PERIOD_PAGES: u64 = 512;
/// Number of cached page lookups; a power of two.
const RECENT: usize = 256;

/// Returns the bounds of a mapping; called for addresses not seen before.
pub(crate) type MappingAt = Box<dyn Fn(u64) -> Option<Mapping>>;

/// An area of the program's memory, and how far it was moved.
#[derive(Clone, Copy)]
struct Area {
    start: u64,
    end: u64,
    moved_by: u64,
}

impl Area {
    /// Returns whether both are one area, in the program and in the model.
    fn continues_with(&self, other: &Area) -> bool {
        let meet = self.end == other.start || other.end == self.start;
        meet && self.moved_by == other.moved_by
    }
}

/// Where all memory that the program has touched lies in the model.
pub struct AddressSpace {
    /// If absent, every address stays as it is.
    mapping_at: Option<MappingAt>,
    /// In ascending, non-overlapping order.
    areas: Vec<Area>,
    mappings: u64,
    /// Pages, and how far each was moved.
    recent: Box<[(u64, u64); RECENT]>,
}

impl AddressSpace {
    /// Creates an address space in which nothing has been touched. `mapping_at` returns the bounds
    /// of a mapping, and is called for addresses not seen before. Reserves all memory.
    pub fn with_mappings(mapping_at: impl Fn(u64) -> Option<Mapping> + 'static) -> Self {
        AddressSpace::new(Some(Box::new(mapping_at)))
    }

    /// Like `with_mappings`; without `mapping_at`, every address stays as it is.
    pub(crate) fn new(mapping_at: Option<MappingAt>) -> Self {
        AddressSpace {
            mapping_at,
            areas: Vec::with_capacity(AREAS),
            mappings: 0,
            recent: boxed((u64::MAX, 0)),
        }
    }

    /// Returns where `address` lies in the model.
    #[inline]
    pub fn model_address(&mut self, address: u64) -> u64 {
        let page = address / PAGE_BYTES;
        let (known, moved_by) = self.recent[page as usize % RECENT];
        if known == page {
            return address.wrapping_add(moved_by);
        }
        let moved_by = self.look_up(address);
        self.recent[page as usize % RECENT] = (page, moved_by);
        address.wrapping_add(moved_by)
    }

    /// Returns how far each area was moved, from the lowest address on.
    pub fn moves(&self) -> impl Iterator<Item = u64> + '_ {
        self.areas.iter().map(|area| area.moved_by)
    }

    /// Forgets all mappings, as if nothing had been touched.
    pub fn clear(&mut self) {
        self.areas.clear();
        self.mappings = 0;
        self.recent.fill((u64::MAX, 0));
    }

    /// Returns how far the memory at `address` is moved from now on.
    #[cold]
    fn look_up(&mut self, address: u64) -> u64 {
        let Some(mapping_at) = &self.mapping_at else {
            return 0;
        };
        let next = self.areas.partition_point(|area| area.start <= address);
        let before = next.checked_sub(1).map(|before| self.areas[before]);
        if let Some(around) = before.filter(|before| address < before.end) {
            return around.moved_by;
        }
        if self.areas.len() == AREAS {
            return 0;
        }
        // Memory that the system does not list, such as the vsyscall page.
        let page = address - address % PAGE_BYTES;
        let mapping = mapping_at(address).unwrap_or(Mapping {
            start: page,
            end: page.saturating_add(PAGE_BYTES),
            is_stack: false,
        });
        let mut area = Area {
            start: mapping.start,
            end: mapping.end,
            moved_by: 0,
        };
        // A mapping that has grown, or replaced another, is partly known. The rest moves with it.
        let mut moved_by = None;
        let after = self.areas.get(next);
        if let Some(after) = after.filter(|after| after.start < area.end) {
            area.end = after.start;
            moved_by = Some(after.moved_by);
        }
        if let Some(before) = before.filter(|before| before.end > area.start) {
            area.start = before.end;
            moved_by = Some(before.moved_by);
        }
        // A heap grows often.
        if let Some(moved_by) = moved_by {
            area.moved_by = moved_by;
            let mut known = self
                .areas
                .iter_mut()
                .take(next + 1)
                .skip(next.saturating_sub(1));
            if let Some(known) = known.find(|known| known.continues_with(&area)) {
                known.start = known.start.min(area.start);
                known.end = known.end.max(area.end);
                return moved_by;
            }
        }
        area.moved_by = moved_by.unwrap_or_else(|| self.next_area(address, &mapping));
        self.areas.insert(next, area);
        area.moved_by
    }

    fn next_area(&mut self, address: u64, mapping: &Mapping) -> u64 {
        let number = self.mappings;
        self.mappings += 1;
        let stagger = number * STAGGER_PAGES % STAGGER_PERIOD_PAGES * PAGE_BYTES;
        // In the middle, with room to grow on both sides.
        let model_address = number * AREA_SPACING_BYTES + AREA_SPACING_BYTES / 2 + stagger;
        let start = if mapping.is_stack {
            address - address % STACK_ALIGNMENT
        } else {
            mapping.start
        };
        model_address.wrapping_sub(start)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;
    use std::rc::Rc;

    const STACK: u64 = 0x7ffc_0000_0000;
    const CODE: u64 = 0x5555_0000_0000;
    const HEAP: u64 = 0x5556_0000_0000;

    /// Code, heap and stack, each `shift` pages further up.
    fn shifted(shift: u64) -> AddressSpace {
        let areas = [(CODE, 64), (HEAP, 1024), (STACK, 32)];
        AddressSpace::new(Some(Box::new(move |address| {
            areas.into_iter().find_map(|(start, pages)| {
                let start = start + shift * PAGE_BYTES;
                let mapping = Mapping {
                    start,
                    end: start + pages * PAGE_BYTES,
                    is_stack: start >= STACK,
                };
                (mapping.start..mapping.end)
                    .contains(&address)
                    .then_some(mapping)
            })
        })))
    }

    #[test]
    fn nothing_moves_without_mappings() {
        let mut space = AddressSpace::new(None);
        for address in [0, 7, CODE, u64::MAX] {
            assert_eq!(space.model_address(address), address);
        }
    }

    #[test]
    fn placement_ignores_system_address() {
        let mappings = |shift: u64, stack_bytes: u64| {
            let mut space = shifted(shift);
            let page = shift * PAGE_BYTES;
            [
                HEAP + page + 5,
                STACK + page + 0x8000 + stack_bytes,
                CODE + page,
                HEAP + page + 0x12_3456,
                STACK + page + 0x7010 + stack_bytes,
            ]
            .map(|address| space.model_address(address))
        };
        assert_eq!(mappings(0, 0), mappings(77, 0));
        assert_eq!(mappings(0, 0), mappings(3, 5 * STACK_ALIGNMENT));
    }

    #[test]
    fn forgotten_address_is_placed_anew() {
        let mut space = shifted(0);
        let first = space.model_address(HEAP);
        space.model_address(CODE);
        space.clear();
        let code = space.model_address(CODE);
        assert_eq!(code - first % (1 << 36), first - first % (1 << 36));
        assert_ne!(space.model_address(HEAP), first);
    }

    #[test]
    fn contiguous_memory_stays_contiguous() {
        let mut space = shifted(1);
        let heap = HEAP + PAGE_BYTES;
        let first = space.model_address(heap + 9 * PAGE_BYTES);
        assert_eq!(space.model_address(heap), first - 9 * PAGE_BYTES);
        assert_eq!(
            space.model_address(heap + 1023 * PAGE_BYTES),
            first + 1014 * PAGE_BYTES
        );
        let code = space.model_address(CODE + PAGE_BYTES);
        assert!(code.abs_diff(first) > AREA_SPACING_BYTES / 2);
    }

    #[test]
    fn mappings_start_in_different_sets() {
        let mut space = AddressSpace::new(Some(Box::new(|address| {
            Some(Mapping {
                start: address,
                end: address + PAGE_BYTES,
                is_stack: false,
            })
        })));
        let mut sets: Vec<u64> = (0..16)
            .map(|number| space.model_address(number << 30) / PAGE_BYTES % 16)
            .collect();
        sets.sort_unstable();
        sets.dedup();
        assert_eq!(sets.len(), 16);
    }

    #[test]
    fn growing_mapping_keeps_its_placement() {
        let range = Rc::new(Cell::new((HEAP, HEAP + PAGE_BYTES)));
        let seen = Rc::clone(&range);
        let mut space = AddressSpace::new(Some(Box::new(move |_| {
            let (start, end) = seen.get();
            Some(Mapping {
                start,
                end,
                is_stack: false,
            })
        })));
        let first = space.model_address(HEAP);
        range.set((HEAP - 4 * PAGE_BYTES, HEAP + 8 * PAGE_BYTES));
        assert_eq!(
            space.model_address(HEAP + 7 * PAGE_BYTES),
            first + 7 * PAGE_BYTES
        );
        assert_eq!(space.model_address(HEAP - PAGE_BYTES), first - PAGE_BYTES);
        assert_eq!(space.model_address(HEAP), first);
    }

    /// As a heap does: it would otherwise take an area each time.
    #[test]
    fn often_growing_mapping_keeps_its_placement() {
        let grown = Rc::new(Cell::new(0));
        let seen = Rc::clone(&grown);
        let mut space = AddressSpace::new(Some(Box::new(move |_| {
            Some(Mapping {
                start: HEAP - seen.get() * PAGE_BYTES,
                end: HEAP + (seen.get() + 1) * PAGE_BYTES,
                is_stack: false,
            })
        })));
        let first = space.model_address(HEAP);
        for pages in 1..3 * AREAS as u64 {
            grown.set(pages);
            let offset = pages * PAGE_BYTES;
            assert_eq!(space.model_address(HEAP + offset), first + offset);
            assert_eq!(space.model_address(HEAP - offset), first - offset);
        }
    }

    #[test]
    fn memory_beyond_last_area_does_not_move() {
        let mut space = AddressSpace::new(Some(Box::new(|_| None)));
        for number in 1..=AREAS as u64 {
            assert_ne!(space.model_address(number << 20), number << 20);
        }
        assert_eq!(space.model_address(1 << 40), 1 << 40);
    }
}
