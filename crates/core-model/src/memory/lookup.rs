//! A set-associative table of line or page numbers: caches, TLBs, the cache of decoded operations.

/// An entry evicted by an insertion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Evicted {
    /// Its number.
    pub number: u64,
    /// Whether it was marked dirty.
    pub dirty: bool,
}

/// Numbers in sets; each set replaces its last number.
///
/// All that belongs to a set lies together, since a large table misses the caches of the CPU that
/// executes the model.
pub(crate) struct Lookup {
    /// The words of all sets, not arrays of them: only then does the allocator provide the zeros.
    words: Box<[u64]>,
    /// Number of sets, less one.
    last_set: usize,
    associativity: usize,
    /// The position in the order of a full set that a new number takes. It becomes the first once
    /// it is used again.
    new_place: usize,
    hashed: bool,
}

/// A set: numbers, because memory that is all zeros costs nothing until it is used. At these places
/// are the most recently used number + 1, because usually it is the same one again; the order of
/// the ways, as a difference to [`Recency::INITIAL`]; their [signs](Signs); and for each way its
/// number + 1, shifted left by one, with the dirty mark as the lowest bit, or 0 if it is empty.
type Set = [u64; SET_WORDS];
const SET_WORDS: usize = WAYS + Recency::MAX_WAYS;
const RECENT: usize = 0;
const ORDER: usize = 1;
const SIGNS: usize = 2;
const WAYS: usize = 4;

/// A one-byte hash of the number in each way of a set. Comparing all at once finds the ways that
/// may hold a number, whereas the exit of a loop over the ways would be unpredictable.
struct Signs;

impl Signs {
    /// A one in each byte.
    const ONES: u64 = 0x0101_0101_0101_0101;
    const WAYS_PER_WORD: usize = 8;

    /// Returns the sign of a number. Consecutive numbers, and numbers a large power of two apart,
    /// have different signs.
    #[inline]
    fn of(number: u64) -> u64 {
        number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56
    }

    #[inline]
    fn set(set: &mut Set, way: usize, sign: u64) {
        let shift = way % Self::WAYS_PER_WORD * 8;
        let word = &mut set[SIGNS + way / Self::WAYS_PER_WORD % 2];
        *word = *word & !(0xff << shift) | sign << shift;
    }

    /// Returns the high bit of each byte in `word` that equals `sign`, and of some that do not.
    #[inline]
    fn candidates(word: u64, sign: u64) -> u64 {
        let difference = word ^ (sign * Self::ONES);
        difference.wrapping_sub(Self::ONES) & !difference & Self::ONES << 7
    }
}

/// The ways of a set, starting with the most recently used, in the order in which they are kept:
/// four bits each, starting with the lowest.
#[derive(Clone, Copy)]
struct Recency(u64);

impl Recency {
    const BITS: u32 = 4;
    const MAX_WAYS: usize = 1 << Self::BITS;
    /// A one in each position.
    const ONES: u64 = 0x1111_1111_1111_1111;
    /// The order for empty ways, starting with the last.
    const INITIAL: Recency = Recency(0xfedc_ba98_7654_3210);

    #[inline]
    fn nth(self, position: usize) -> usize {
        (self.0 >> (position as u32 * Self::BITS)) as usize % Self::MAX_WAYS
    }

    /// Returns the order after a use of `way`.
    #[inline]
    fn used(self, way: usize) -> Recency {
        let way = way as u64;
        // The way's position is the first one where the difference is 0; its high bit is set here.
        let difference = self.0 ^ (way * Self::ONES);
        let zeros = difference.wrapping_sub(Self::ONES) & !difference & Self::ONES << 3;
        let before = (1 << (zeros.trailing_zeros() - 3)) - 1;
        let moved = (self.0 & before) << Self::BITS | way;
        let others = !(before << Self::BITS | (Self::MAX_WAYS as u64 - 1));
        Recency(self.0 & others | moved)
    }

    /// Returns the order after the last of `ways` ways moved up to `position`.
    #[inline]
    fn moved_up(self, ways: usize, position: usize) -> Recency {
        let before = (1 << (position as u32 * Self::BITS)) - 1;
        let after = !(u64::MAX >> ((Self::MAX_WAYS - ways) as u32 * Self::BITS));
        let last = (self.nth(ways - 1) as u64) << (position as u32 * Self::BITS);
        let moved = (self.0 & !before) << Self::BITS & !after;
        Recency(self.0 & (before | after) | moved | last)
    }
}

impl Lookup {
    /// Creates a table for `entries` numbers with at most 16 ways; the number of sets is rounded up
    /// to a power of two.
    pub(crate) fn new(entries: u32, associativity: u32) -> Self {
        let associativity = (associativity as usize).clamp(1, Recency::MAX_WAYS);
        let sets = (entries as usize / associativity)
            .max(1)
            .next_power_of_two();
        Lookup {
            words: vec![0; sets * SET_WORDS].into_boxed_slice(),
            last_set: sets - 1,
            associativity,
            new_place: 0,
            hashed: false,
        }
    }

    /// Returns this table with the sets chosen by a hash of the number instead of its low bits.
    pub(crate) fn hashed(self) -> Self {
        Lookup {
            hashed: true,
            ..self
        }
    }

    /// Returns this table with new numbers put in the middle of a full set's order, so that the
    /// first half of it holds numbers that were used again.
    pub(crate) fn with_middle_insertion(self) -> Self {
        Lookup {
            new_place: self.associativity / 2,
            ..self
        }
    }

    /// Returns where the set of `number` begins.
    #[inline]
    fn first_word(&self, number: u64) -> usize {
        let set_index = if self.hashed { mixed(number) } else { number };
        (set_index as usize & self.last_set) * SET_WORDS
    }

    #[inline]
    fn set(&self, number: u64) -> &Set {
        let words = self.words[self.first_word(number)..].first_chunk();
        words.expect("all words belong to whole sets")
    }

    #[inline]
    fn set_mut(&mut self, number: u64) -> &mut Set {
        let first = self.first_word(number);
        let words = self.words[first..].first_chunk_mut();
        words.expect("all words belong to whole sets")
    }

    /// Returns whether `number` is present. It becomes the most recently used, and dirty if
    /// requested.
    #[inline]
    pub(crate) fn touch(&mut self, number: u64, dirty: bool) -> bool {
        let set = self.set_mut(number);
        if set[RECENT] != number + 1 {
            return touch_another(set, number, dirty);
        }
        if dirty {
            set[WAYS + order(set).nth(0)] |= 1;
        }
        true
    }

    /// Returns whether `number` is present, without changing anything.
    #[inline]
    pub(crate) fn contains(&self, number: u64) -> bool {
        let set = self.set(number);
        set[RECENT] == number + 1 || contains_another(set, number)
    }

    /// Replaces the last number of a set with `number`, which is not present.
    pub(crate) fn insert(&mut self, number: u64, dirty: bool) -> Option<Evicted> {
        let (associativity, new_place) = (self.associativity, self.new_place);
        let set = self.set_mut(number);
        let way = order(set).nth(associativity - 1);
        let entry = (number + 1) << 1 | u64::from(dirty);
        let victim = std::mem::replace(&mut set[WAYS + way], entry);
        Signs::set(set, way, Signs::of(number));
        // An empty way before the middle would never become the last.
        if new_place > 0 && victim != 0 {
            let moved = order(set).moved_up(associativity, new_place);
            set_order(set, moved);
        } else {
            use_way(set, way, number);
        }
        (victim != 0).then(|| Evicted {
            number: (victim >> 1) - 1,
            dirty: victim & 1 != 0,
        })
    }

    /// Touches `number`, inserting it if missing. Returns whether it was present.
    #[inline]
    pub(crate) fn access(&mut self, number: u64) -> bool {
        let there = self.touch(number, false);
        if !there {
            self.insert(number, false);
        }
        there
    }
}

#[inline]
fn order(set: &Set) -> Recency {
    Recency(set[ORDER] ^ Recency::INITIAL.0)
}

#[inline]
fn set_order(set: &mut Set, order: Recency) {
    set[ORDER] = order.0 ^ Recency::INITIAL.0;
}

/// Returns which way of a set holds `number`.
#[inline]
fn find(set: &Set, number: u64) -> Option<usize> {
    let key = (number + 1) << 1;
    let sign = Signs::of(number);
    for word in 0..2 {
        let mut candidates = Signs::candidates(set[SIGNS + word], sign);
        while candidates != 0 {
            let byte = candidates.trailing_zeros() as usize / 8;
            let way = word * Signs::WAYS_PER_WORD + byte;
            if set[WAYS + way] & !1 == key {
                return Some(way);
            }
            candidates &= candidates - 1;
        }
    }
    None
}

/// Makes `way` of a set, which holds `number`, the most recently used.
#[inline]
fn use_way(set: &mut Set, way: usize, number: u64) {
    set_order(set, order(set).used(way));
    set[RECENT] = number + 1;
}

/// Touches a number that is not the most recently used of its set.
#[inline(never)]
fn touch_another(set: &mut Set, number: u64, dirty: bool) -> bool {
    let Some(way) = find(set, number) else {
        return false;
    };
    set[WAYS + way] |= u64::from(dirty);
    use_way(set, way, number);
    true
}

/// Returns whether a set contains a number that is not its most recently used.
#[inline(never)]
fn contains_another(set: &Set, number: u64) -> bool {
    find(set, number).is_some()
}

/// Spreads all bits of `number` over all bits (the finaliser of SplitMix64: Steele, Lea, Flood,
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
    fn hashed_table_overflows_between_half_and_full() {
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
    fn used_way_moves_first_and_others_keep_order() {
        let mut recency = Recency::INITIAL;
        let mut expected: Vec<usize> = (0..16).collect();
        for use_number in 0..500 {
            let way = use_number * 7 % 16 / (1 + use_number % 3);
            recency = recency.used(way);
            expected.retain(|&other| other != way);
            expected.insert(0, way);
            let ways: Vec<usize> = (0..16).map(|position| recency.nth(position)).collect();
            assert_eq!(ways, expected);
        }
    }

    #[test]
    fn last_way_moves_up_and_others_keep_order() {
        for ways in [4, 8, 12, 16] {
            for position in 0..ways {
                let mut expected: Vec<usize> = (0..16).collect();
                let last = expected.remove(ways - 1);
                expected.insert(position, last);
                let recency = Recency::INITIAL.moved_up(ways, position);
                let order: Vec<usize> = (0..16).map(|position| recency.nth(position)).collect();
                assert_eq!(order, expected, "{position} of {ways}");
            }
        }
    }

    /// The share of lines that hit when a pass over all of them is repeated in the same random
    /// order. Measured on Genoa, with 1 MiB of eight ways, from the cycles of a load: a hit takes
    /// 14, and 7 more if the 72 entries of the first TLB lack its page; a miss takes 60.
    #[test]
    fn oversized_working_set_survives_as_measured() {
        let kept = |kib: u64| {
            let mut table = Lookup::new(16 * 1024, 8).hashed().with_middle_insertion();
            let mut pass = || {
                (0..kib * 16)
                    .filter(|&line| table.access(mixed(!line)))
                    .count()
            };
            for _ in 0..15 {
                pass();
            }
            pass() as f64 / (kib * 16) as f64
        };
        let measured = [
            (1024, 0.69),
            (1280, 0.54),
            (1536, 0.42),
            (2048, 0.31),
            (3072, 0.17),
        ];
        for (kib, native) in measured {
            let kept = kept(kib);
            println!("{kib} KiB: {kept:.2}, natively {native:.2}");
            assert!((kept - native).abs() < 0.08, "{kib} KiB: {kept:.2}");
        }
    }

    #[test]
    fn least_recently_used_is_replaced() {
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
    fn zero_is_a_valid_number() {
        let mut table = Lookup::new(4, 1);
        assert!(!table.touch(0, false));
        assert!(!table.access(0));
        assert!(table.access(0));
    }

    #[test]
    fn dirty_mark_stays_until_eviction() {
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
