//! A set-associative table of line or page numbers: caches, TLBs, the cache of decoded operations.

use std::mem::swap;

/// What an insertion pushed out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Evicted {
    /// Its number.
    pub number: u64,
    /// Whether it was marked dirty.
    pub dirty: bool,
}

/// Numbers in sets, each set ordered from the most to the least recently used.
pub(crate) struct Lookup {
    /// Number + 1, shifted left by one; the lowest bit is the dirty mark. 0 is an empty way.
    ways: Box<[u64]>,
    associativity: usize,
    set_mask: usize,
    hashed: bool,
}

impl Lookup {
    /// A table for `entries` numbers; the number of sets is rounded up to a power of two.
    pub(crate) fn new(entries: u32, associativity: u32) -> Self {
        let associativity = associativity.max(1) as usize;
        let sets = (entries as usize / associativity)
            .max(1)
            .next_power_of_two();
        Lookup {
            ways: vec![0; sets * associativity].into_boxed_slice(),
            associativity,
            set_mask: sets - 1,
            hashed: false,
        }
    }

    /// The same table with the sets chosen by a hash of the number instead of its low bits.
    pub(crate) fn hashed(self) -> Self {
        Lookup {
            hashed: true,
            ..self
        }
    }

    #[inline]
    fn set(&mut self, number: u64) -> &mut [u64] {
        let place = if self.hashed { mixed(number) } else { number };
        let first = (place as usize & self.set_mask) * self.associativity;
        &mut self.ways[first..first + self.associativity]
    }

    /// Whether `number` is there; it becomes the most recently used, and dirty where asked.
    #[inline]
    pub(crate) fn touch(&mut self, number: u64, dirty: bool) -> bool {
        let key = (number + 1) << 1;
        // Mostly it is the same again.
        let first = &mut self.ways[(number as usize & self.set_mask) * self.associativity];
        if *first & !1 == key {
            *first |= u64::from(dirty);
            return true;
        }
        self.touch_another(number, dirty)
    }

    /// The same for a number that is not the most recently used of its set.
    #[inline(never)]
    fn touch_another(&mut self, number: u64, dirty: bool) -> bool {
        let key = (number + 1) << 1;
        let set = self.set(number);
        let Some(place) = set.iter().position(|&way| way & !1 == key) else {
            return false;
        };
        let mut entry = set[place] | u64::from(dirty);
        for way in &mut set[..=place] {
            swap(way, &mut entry);
        }
        true
    }

    /// Whether `number` is there; changes nothing.
    #[inline]
    pub(crate) fn contains(&mut self, number: u64) -> bool {
        let key = (number + 1) << 1;
        self.set(number).iter().any(|&way| way & !1 == key)
    }

    /// Puts `number`, which is not there, in the place of the least recently used.
    pub(crate) fn insert(&mut self, number: u64, dirty: bool) -> Option<Evicted> {
        let set = self.set(number);
        let mut victim = (number + 1) << 1 | u64::from(dirty);
        for way in set {
            swap(way, &mut victim);
        }
        (victim != 0).then(|| Evicted {
            number: (victim >> 1) - 1,
            dirty: victim & 1 != 0,
        })
    }

    /// Touches `number`, inserting it where it is missing. Returns whether it was there.
    #[inline]
    pub(crate) fn access(&mut self, number: u64) -> bool {
        let there = self.touch(number, false);
        if !there {
            self.insert(number, false);
        }
        there
    }
}

/// All bits of `number` spread over all bits (the finaliser of SplitMix64: Steele, Lea, Flood,
/// "Fast splittable pseudorandom number generators", OOPSLA 2014).
#[inline]
fn mixed(number: u64) -> u64 {
    let number = (number ^ number >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ number >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ number >> 31
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hashed_table_holds_most_of_half_its_size_and_not_all_of_its_size() {
        let kept = |numbers: u64| {
            let mut table = Lookup::new(32_768, 16).hashed();
            for number in 0..numbers {
                table.insert(number, false);
            }
            (0..numbers)
                .filter(|&number| table.contains(number))
                .count()
        };
        assert!(kept(16_384) > 16_300);
        assert!((28_000..32_000).contains(&kept(32_768)));
    }

    #[test]
    fn the_least_recently_used_is_replaced() {
        let mut table = Lookup::new(2, 2);
        assert_eq!(table.insert(1, false), None);
        assert_eq!(table.insert(2, true), None);
        assert!(table.touch(1, false));
        assert_eq!(
            table.insert(3, false),
            Some(Evicted {
                number: 2,
                dirty: true
            })
        );
        assert!(table.touch(1, false) && table.touch(3, false) && !table.touch(2, false));
    }

    #[test]
    fn number_zero_is_a_number() {
        let mut table = Lookup::new(4, 1);
        assert!(!table.touch(0, false));
        assert!(!table.access(0));
        assert!(table.access(0));
    }

    #[test]
    fn a_dirty_mark_stays_until_eviction() {
        let mut table = Lookup::new(1, 1);
        table.insert(7, false);
        table.touch(7, true);
        table.touch(7, false);
        assert_eq!(
            table.insert(8, false).map(|evicted| evicted.dirty),
            Some(true)
        );
    }
}
