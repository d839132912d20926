//! Direction of conditional branches: a bimodal table under tagged tables of growing history.
//!
//! After Seznec and Michaud, "A case for (partially) tagged geometric history length branch
//! prediction" (JILP 2006).

use super::counter::step;
use super::history::{Newest, PathHistory, SPREAD};
use crate::parameters::{Prediction as Parameters, TAGGED_TABLES};

const TAG_BITS: u32 = 12;
/// The lowest bit of a hash that selects a set.
const SET_BITS_FROM: u32 = 24;
const WAYS: usize = 4;
const WAY_BITS: usize = 16;
const EACH_WAY: u64 = 0x0001_0001_0001_0001;

/// A branch behind a path.
#[derive(Clone, Copy, Default)]
struct Entry {
    /// -4 to 3; taken from 0 on.
    counter: i8,
    /// It was right where the tables of shorter histories were wrong.
    is_useful: bool,
}

impl Entry {
    fn is_new(self) -> bool {
        !self.is_useful && (self.counter == 0 || self.counter == -1)
    }
}

/// Entries that share a place. The one that was used last comes first.
#[derive(Clone, Copy, Default)]
struct Set {
    /// 16 bits for each way, of which the lowest 12 are used.
    tags: u64,
    entries: [Entry; WAYS],
}

impl Set {
    /// Returns the highest of 16 bits for each way that has this tag.
    #[inline]
    fn matching_ways(&self, tag: u64) -> u64 {
        // Four comparisons at once: a tag that differs leaves a rest, which carries into that bit.
        let differences = self.tags ^ (tag * EACH_WAY);
        !(differences + 0x7fff * EACH_WAY) & (0x8000 * EACH_WAY)
    }

    /// Moves a way to the front, with this tag.
    #[inline]
    fn use_way(&mut self, way: usize, tag: u64) {
        let up_to_way = u64::MAX >> (u64::BITS as usize - (way + 1) * WAY_BITS);
        self.tags = self.tags & !up_to_way | self.tags << WAY_BITS & up_to_way | tag;
        self.entries[..=way].rotate_right(1);
    }
}

/// The position of a table's sets among all, and the bits of a hash that select one of them.
#[derive(Clone, Copy)]
struct Table {
    first: usize,
    mask: usize,
    history: Newest,
    parts: &'static Parts,
}

impl Table {
    /// Returns the set that a hash selects.
    #[inline]
    fn set(&self, hash: u64) -> usize {
        self.first + ((hash >> SET_BITS_FROM) as usize & self.mask)
    }
}

#[inline]
fn tag(hash: u64) -> u64 {
    hash >> (u64::BITS - TAG_BITS)
}

/// The parts of a table's sets that branches use, where they do not use all: those in whose number
/// some parities are even. For each part and lowest byte of a set's number, the byte that takes its
/// place.
///
/// Any two parts share as many sets as two random ones, so it hardly matters which part a branch
/// has. Rejected: parts by fixed bits, as on a core. All pairs would share all or none, and a
/// benchmark would change with any code that runs before it.
type Parts = [[u8; 256]; PARTS];
const PARTS: usize = 64;
const MAX_BRANCH_BITS: usize = 2;

/// All parts, by the number of bits of the set's number that the branch gives.
static PARTS_BY_BITS: [Parts; MAX_BRANCH_BITS + 1] = [parts(0), parts(1), parts(2)];

/// The parities of part `n` are those of the bits in gⁿ and ωgⁿ, of the field with 256 elements. Of
/// such pairs, no two have a sum in common, since ω generates the field with four.
const fn parts(branch_bits: usize) -> Parts {
    const OMEGA: u32 = power(85);
    let mut parts = [[0; 256]; PARTS];
    let mut number = 0;
    while number < PARTS {
        let first = power(number as u32);
        let mut byte = 0;
        while byte < 256 {
            let mut place = byte as u32;
            if branch_bits > 0 {
                let highest = 1 << first.ilog2();
                let other = product(first, OMEGA);
                let other = if other & highest == 0 {
                    other
                } else {
                    other ^ first
                };
                if branch_bits > 1 && (place & other).count_ones() % 2 == 1 {
                    place ^= 1 << other.ilog2();
                }
                if (place & first).count_ones() % 2 == 1 {
                    place ^= highest;
                }
            }
            parts[number][byte] = place as u8;
            byte += 1;
        }
        number += 1;
    }
    parts
}

/// Returns this power of the generator 2.
const fn power(exponent: u32) -> u32 {
    match exponent {
        0 => 1,
        _ => product(power(exponent - 1), 2),
    }
}

/// Multiplies in the field with 256 elements, modulo x⁸ + x⁴ + x³ + x² + 1.
const fn product(left: u32, right: u32) -> u32 {
    let (mut left, mut right, mut sum) = (left, right, 0);
    while right > 0 {
        sum ^= left * (right & 1);
        left = (left << 1) ^ ((left >> 7) * 0x11d);
        right >>= 1;
    }
    sum
}

/// Returns a hash of the path with the set's number restricted to a part.
#[inline]
fn restrict(part: &[u8; 256], hash: u64) -> u64 {
    let place = u64::from(part[(hash >> SET_BITS_FROM) as usize % 256]);
    hash & !(0xff << SET_BITS_FROM) | place << SET_BITS_FROM
}

/// The origin of a prediction.
struct Lookup {
    /// What selects the set of each table, and the tag there.
    hashes: [u64; TAGGED_TABLES],
    /// The table that provides the prediction, and the way in its set.
    provider: Option<(usize, usize)>,
    provider_taken: bool,
    alternate_taken: bool,
    provider_is_new: bool,
}

/// Predicts directions and learns outcomes.
pub(crate) struct DirectionPredictor {
    bimodal: Box<[i8]>,
    /// The sets of all tagged tables, one table after the other.
    sets: Box<[Set]>,
    tables: [Table; TAGGED_TABLES],
    has_parts: bool,
    /// Whether the alternate predicts better than new entries: -8 to 7.
    trust_alternate: i8,
    allocations: usize,
    ageing_allocations: Option<usize>,
}

impl DirectionPredictor {
    pub(crate) fn new(parameters: &Parameters) -> Self {
        let mut sets = 0;
        let tables = parameters.tagged_tables.map(|table| {
            let size = table.entries as usize / WAYS;
            let first = sets;
            sets += size;
            Table {
                first,
                mask: size - 1,
                history: Newest::new(table.history_branches),
                parts: &PARTS_BY_BITS[table.branch_bits as usize],
            }
        });
        DirectionPredictor {
            bimodal: vec![0; parameters.bimodal_entries as usize].into_boxed_slice(),
            sets: vec![Set::default(); sets].into_boxed_slice(),
            tables,
            has_parts: (parameters.tagged_tables.iter()).any(|table| table.branch_bits > 0),
            trust_alternate: 0,
            allocations: 0,
            ageing_allocations: parameters.ageing_allocations.map(|count| count as usize),
        }
    }

    /// Predicts the branch at `ip` behind `history`, learns that it was `taken`, and returns
    /// whether the prediction was right.
    #[inline]
    pub(crate) fn predict(&mut self, history: &PathHistory, ip: u64, taken: bool) -> bool {
        let lookup = self.look_up(history, ip);
        let use_alternate = lookup.provider_is_new && self.trust_alternate >= 0;
        let predicted = if use_alternate {
            lookup.alternate_taken
        } else {
            lookup.provider_taken
        };
        self.learn(ip, taken, predicted, &lookup);
        predicted == taken
    }

    #[inline]
    fn look_up(&self, history: &PathHistory, ip: u64) -> Lookup {
        // Compiled twice, so that cores without parts are not slower.
        if self.has_parts {
            self.look_up_in::<true>(history, ip)
        } else {
            self.look_up_in::<false>(history, ip)
        }
    }

    #[inline(always)]
    fn look_up_in<const RESTRICTED: bool>(&self, history: &PathHistory, ip: u64) -> Lookup {
        let spread = ip.wrapping_mul(SPREAD);
        let part = (spread >> 58) as usize;
        let mut hashes = [0; TAGGED_TABLES];
        // One bit for each table that knows the branch. No branches here: they would be
        // unpredictable.
        let mut known = 0_u32;
        for (number, table) in self.tables.iter().enumerate() {
            let path = history.of(table.history);
            let restricted = if RESTRICTED {
                restrict(&table.parts[part], path)
            } else {
                path
            };
            let hash = restricted ^ spread;
            hashes[number] = hash;
            known |= u32::from(self.matching_ways(table, hash) != 0) << number;
        }
        let bimodal_taken = self.bimodal[ip as usize & (self.bimodal.len() - 1)] >= 0;
        let longest = |known: u32| {
            let number = known.checked_ilog2()? as usize;
            let ways = self.matching_ways(&self.tables[number], hashes[number]);
            Some((number, ways.trailing_zeros() as usize / WAY_BITS))
        };
        let entry = |(number, way): (usize, usize)| {
            self.sets[self.tables[number].set(hashes[number])].entries[way]
        };
        let provider = longest(known);
        let alternate = provider.and_then(|(number, _)| longest(known & !(1 << number)));
        let taken = |place: Option<(usize, usize)>| {
            place.map_or(bimodal_taken, |place| entry(place).counter >= 0)
        };
        Lookup {
            hashes,
            provider,
            provider_taken: taken(provider),
            alternate_taken: taken(alternate),
            provider_is_new: provider.is_some_and(|place| entry(place).is_new()),
        }
    }

    /// Returns the highest of 16 bits for each way of a table that knows a branch.
    #[inline]
    fn matching_ways(&self, table: &Table, hash: u64) -> u64 {
        self.sets[table.set(hash)].matching_ways(tag(hash))
    }

    #[inline]
    fn learn(&mut self, ip: u64, taken: bool, predicted: bool, lookup: &Lookup) {
        match lookup.provider {
            Some((provider, way)) => {
                let hash = lookup.hashes[provider];
                let set = &mut self.sets[self.tables[provider].set(hash)];
                let entry = &mut set.entries[way];
                if lookup.provider_taken != lookup.alternate_taken {
                    if lookup.provider_is_new {
                        let alternate_is_right = lookup.alternate_taken == taken;
                        self.trust_alternate =
                            step(self.trust_alternate, alternate_is_right, -8, 7);
                    }
                    entry.is_useful = lookup.provider_taken == taken;
                }
                entry.counter = step(entry.counter, taken, -4, 3);
                if way > 0 {
                    set.use_way(way, tag(hash));
                }
            }
            None => {
                let place = ip as usize & (self.bimodal.len() - 1);
                self.bimodal[place] = step(self.bimodal[place], taken, -2, 1);
            }
        }
        if predicted != taken {
            self.allocate(taken, lookup);
        }
    }

    /// Gives the branch an entry in a table of longer history, in one of the next three if they
    /// have a useless one.
    fn allocate(&mut self, taken: bool, lookup: &Lookup) {
        let longer = lookup.provider.map_or(0, |(provider, _)| provider + 1);
        self.allocations = self.allocations.wrapping_add(1);
        let first = (longer + self.allocations % 3).min(TAGGED_TABLES - 1);
        for number in first.max(longer)..TAGGED_TABLES {
            let hash = lookup.hashes[number];
            let set = &mut self.sets[self.tables[number].set(hash)];
            let Some(way) = set.entries.iter().rposition(|entry| !entry.is_useful) else {
                set.entries[WAYS - 1].is_useful = false;
                continue;
            };
            set.entries[way] = Entry {
                counter: if taken { 0 } else { -1 },
                is_useful: false,
            };
            set.use_way(way, tag(hash));
            break;
        }
        let is_time = |period| self.allocations % period == 0;
        if self.ageing_allocations.is_some_and(is_time) {
            for entry in self.sets.iter_mut().flat_map(|set| &mut set.entries) {
                entry.is_useful = false;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::CoreParameters;
    use crate::cores::{GOLDEN_COVE, ZEN_4, ZEN_5};

    const BRANCH: u64 = 0x40_1000;

    struct Path {
        predictor: DirectionPredictor,
        history: PathHistory,
    }

    impl Path {
        fn new() -> Path {
            Path::on(&GOLDEN_COVE)
        }

        fn on(core: &CoreParameters) -> Path {
            Path {
                predictor: DirectionPredictor::new(&core.prediction),
                history: PathHistory::new(),
            }
        }

        /// Executes a conditional branch, over ten bytes if taken.
        fn goes(&mut self, ip: u64, taken: bool) -> bool {
            let is_right = self.predictor.predict(&self.history, ip, taken);
            if taken {
                self.history.push(ip, ip + 10);
            }
            is_right
        }
    }

    /// Returns how often a branch in a loop is mispredicted in the second half of its outcomes.
    fn wrong(outcomes: impl IntoIterator<Item = bool>) -> usize {
        let mut path = Path::new();
        let outcomes: Vec<bool> = outcomes.into_iter().collect();
        let mut is_wrong = |&taken: &bool| {
            let is_right = path.goes(BRANCH, taken);
            path.history.push(BRANCH + 32, BRANCH - 16);
            !is_right
        };
        let wrong: Vec<bool> = outcomes.iter().map(&mut is_wrong).collect();
        wrong[outcomes.len() / 2..]
            .iter()
            .filter(|&&wrong| wrong)
            .count()
    }

    fn random() -> impl Iterator<Item = bool> {
        let mut state = 1_u64;
        std::iter::repeat_with(move || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state >> 32 & 1 == 1
        })
    }

    #[test]
    fn constant_branch_is_learnt() {
        assert_eq!(wrong([true; 1000]), 0);
        assert_eq!(wrong([false; 1000]), 0);
    }

    #[test]
    fn period_of_seventeen_is_learnt() {
        assert_eq!(wrong((0..20_000).map(|step| step % 17 == 0)), 0);
    }

    #[test]
    fn random_branch_is_wrong_about_half_the_time() {
        let wrong = wrong(random().take(20_000));
        assert!((4000..6000).contains(&wrong), "{wrong} of 10000");
    }

    /// Returns the share of mispredicts of a loop of branches whose random outcomes repeat, each
    /// before some jumps.
    fn wrong_of_random(
        core: &CoreParameters,
        branches: usize,
        jumps: usize,
        outcomes: usize,
    ) -> f64 {
        wrong_of_random_from(0, core, branches, jumps, outcomes)
    }

    /// The same for branches with numbers from `first` on.
    fn wrong_of_random_from(
        first: u64,
        core: &CoreParameters,
        branches: usize,
        jumps: usize,
        outcomes: usize,
    ) -> f64 {
        const KEYS: u64 = 8;
        let mut path = Path::on(core);
        let outcomes: Vec<bool> = random().take(outcomes).collect();
        let mut pass = || {
            let mut wrong = 0;
            for iteration in outcomes.chunks(branches) {
                for (&taken, key) in iteration.iter().zip((first..).step_by(KEYS as usize)) {
                    wrong += usize::from(!path.goes(key, taken));
                    (1..)
                        .take(jumps)
                        .for_each(|jump| path.history.push(key + jump, key + KEYS));
                }
                path.history.push(first + KEYS * branches as u64, first);
            }
            wrong
        };
        for _ in 0..24 {
            pass();
        }
        pass() as f64 / outcomes.len() as f64
    }

    /// Code executed before them changes their numbers. With halves by an upper bit, these shares
    /// are up to 0.08 apart.
    #[test]
    fn branch_numbering_hardly_matters() {
        let share = |first| wrong_of_random_from(first, &GOLDEN_COVE, 3, 1, 12_288);
        let shares: Vec<f64> = (0..64).map(|program| share(program * 5)).collect();
        let (least, most) = shares
            .iter()
            .fold((1.0_f64, 0.0_f64), |(least, most), &share| {
                (least.min(share), most.max(share))
            });
        assert!(most - least < 0.04, "{least:.3} to {most:.3}");
    }

    /// Measured on Emerald Rapids: the cycles beyond those of few outcomes, of which a mispredict
    /// takes 18.5.
    #[test]
    fn learnt_random_outcomes_match_measurement() {
        let measured = [
            ((1, 0), [(4096, 0.00), (12_288, 0.38), (24_576, 0.50)]),
            ((1, 1), [(4096, 0.00), (12_288, 0.40), (24_576, 0.50)]),
            ((1, 3), [(4096, 0.32), (12_288, 0.49), (24_576, 0.50)]),
            ((4, 3), [(8192, 0.07), (12_288, 0.19), (24_576, 0.37)]),
            ((8, 0), [(8192, 0.01), (16_384, 0.01), (24_576, 0.27)]),
            ((8, 1), [(8192, 0.01), (16_384, 0.08), (24_576, 0.30)]),
            ((8, 3), [(8192, 0.02), (16_384, 0.20), (24_576, 0.31)]),
            ((32, 0), [(8192, 0.01), (16_384, 0.01), (24_576, 0.22)]),
            ((32, 1), [(8192, 0.01), (16_384, 0.09), (24_576, 0.24)]),
            ((32, 3), [(8192, 0.00), (16_384, 0.11), (24_576, 0.27)]),
        ];
        let mut errors = Vec::new();
        for ((branches, jumps), rows) in measured {
            for (outcomes, native) in rows {
                let modelled = wrong_of_random(&GOLDEN_COVE, branches, jumps, outcomes);
                println!("{branches} {jumps} {outcomes}: {modelled:.2}, natively {native:.2}");
                errors.push((modelled - native).abs());
            }
        }
        let mean = errors.iter().sum::<f64>() / errors.len() as f64;
        assert!(mean < 0.04, "{mean:.3}");
    }

    /// Measured on Genoa, where all are learnt that were tried, and on Turin.
    #[test]
    fn zen_learns_far_more_random_outcomes() {
        for branches in [1, 8, 32] {
            let wrong = wrong_of_random(&ZEN_4, branches, 1, 32 * 1024);
            assert!(wrong < 0.05, "Zen 4, {branches} branches: {wrong:.3}");
        }
        let measured = [(16, 0.0), (24, 0.02), (32, 0.12), (48, 0.29), (64, 0.35)];
        for (ki_outcomes, native) in measured {
            let wrong = wrong_of_random(&ZEN_5, 1, 0, ki_outcomes * 1024);
            assert!(
                (wrong - native).abs() < 0.11,
                "Zen 5, {ki_outcomes} Ki: {wrong:.3}"
            );
        }
    }

    #[test]
    fn untaken_branches_keep_the_history() {
        let wrong_behind = |filler_taken: bool| {
            let mut path = Path::new();
            let outcomes: Vec<bool> = random().take(2000).collect();
            let mut is_right = |&taken: &bool| {
                path.goes(BRANCH, taken);
                for filler in 0..400 {
                    path.goes(BRANCH + 0x100 + filler * 16, filler_taken);
                }
                path.goes(BRANCH + 0x4000, taken)
            };
            let right: Vec<bool> = outcomes.iter().map(&mut is_right).collect();
            right[1000..].iter().filter(|&&right| !right).count()
        };
        assert!(wrong_behind(false) < 50);
        assert!(wrong_behind(true) > 400);
    }
}
