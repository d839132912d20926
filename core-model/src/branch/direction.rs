//! Direction of conditional branches: a bimodal table under tagged tables of growing history.
//!
//! After Seznec and Michaud, "A case for (partially) tagged geometric history length branch
//! prediction" (JILP 2006).

use super::history::{PathHistory, SPREAD, Stretch};
use crate::parameters::{Prediction as Parameters, TAGGED_TABLES};

const TAG_BITS: u32 = 12;
/// Allocations between two ageings of all usefulness counters.
const AGEING_PERIOD: u32 = 64 * 1024;

#[derive(Clone, Copy, Default)]
struct Entry {
    tag: u16,
    /// -4 to 3; taken from 0 on.
    counter: i8,
    /// 0 to 3.
    useful: u8,
}

/// The position of a table among all entries, and the bits of a hash that select one of its own.
#[derive(Clone, Copy)]
struct Table {
    first: usize,
    mask: usize,
    history: Stretch,
}

/// The origin of a prediction.
#[derive(Clone, Copy)]
struct Lookup {
    places: [usize; TAGGED_TABLES],
    tags: [u16; TAGGED_TABLES],
    /// The table that provides the prediction.
    provider: Option<usize>,
    provider_taken: bool,
    alternate_taken: bool,
    provider_is_new: bool,
}

/// Predicts directions and learns outcomes.
pub(crate) struct DirectionPredictor {
    bimodal: Box<[i8]>,
    /// All tagged tables, one after the other.
    entries: Box<[Entry]>,
    tables: [Table; TAGGED_TABLES],
    /// Whether the alternate predicts better than new entries: -8 to 7.
    trust_alternate: i8,
    allocations: u32,
}

impl DirectionPredictor {
    pub(crate) fn new(parameters: &Parameters) -> Self {
        let mut entries = 0;
        let tables = parameters.tagged_tables.map(|table| {
            let size = table.entries as usize;
            let first = entries;
            entries += size;
            Table {
                first,
                mask: size - 1,
                history: Stretch::new(table.history_branches),
            }
        });
        DirectionPredictor {
            bimodal: vec![0; parameters.bimodal_entries as usize].into_boxed_slice(),
            entries: vec![Entry::default(); entries].into_boxed_slice(),
            tables,
            trust_alternate: 0,
            allocations: 0,
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
        let spread = ip.wrapping_mul(SPREAD);
        let mut places = [0; TAGGED_TABLES];
        let mut tags = [0; TAGGED_TABLES];
        // One bit for each table that knows the branch. No branches here: they would be
        // unpredictable.
        let mut hits = 0_u32;
        for number in 0..TAGGED_TABLES {
            let table = self.tables[number];
            let hash = history.of(table.history) ^ spread;
            let tag = (hash >> (u64::BITS - TAG_BITS)) as u16;
            let place = table.first + ((hash >> 24) as usize & table.mask);
            places[number] = place;
            tags[number] = tag;
            hits |= u32::from(self.entries[place].tag == tag) << number;
        }
        let bimodal_taken = self.bimodal[ip as usize & (self.bimodal.len() - 1)] >= 0;
        let longest = |hits: u32| hits.checked_ilog2().map(|number| number as usize);
        let taken = |table: Option<usize>| {
            table.map_or(bimodal_taken, |number| {
                self.entries[places[number]].counter >= 0
            })
        };
        let provider = longest(hits);
        let alternate = provider.and_then(|number| longest(hits & !(1 << number)));
        Lookup {
            places,
            tags,
            provider,
            provider_taken: taken(provider),
            alternate_taken: taken(alternate),
            provider_is_new: provider.is_some_and(|number| {
                let entry = self.entries[places[number]];
                entry.useful == 0 && (entry.counter == 0 || entry.counter == -1)
            }),
        }
    }

    #[inline]
    fn learn(&mut self, ip: u64, taken: bool, predicted: bool, lookup: &Lookup) {
        match lookup.provider {
            Some(provider) => {
                let entry = &mut self.entries[lookup.places[provider]];
                if lookup.provider_taken != lookup.alternate_taken {
                    if lookup.provider_is_new {
                        let alternate_is_right = lookup.alternate_taken == taken;
                        self.trust_alternate =
                            step(self.trust_alternate, alternate_is_right, -8, 7);
                    }
                    if lookup.provider_taken == taken {
                        entry.useful = (entry.useful + 1).min(3);
                    } else {
                        entry.useful = entry.useful.saturating_sub(1);
                    }
                }
                entry.counter = step(entry.counter, taken, -4, 3);
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

    fn allocate(&mut self, taken: bool, lookup: &Lookup) {
        let longer = lookup.provider.map_or(0, |provider| provider + 1);
        self.allocations = self.allocations.wrapping_add(1);
        // Occasionally skip the first free table, so that histories of several lengths get a
        // chance.
        let mut skip = self.allocations % 3 == 0;
        for number in longer..TAGGED_TABLES {
            let entry = &mut self.entries[lookup.places[number]];
            if entry.useful > 0 {
                entry.useful -= 1;
                continue;
            }
            if skip && number + 1 < TAGGED_TABLES {
                skip = false;
                continue;
            }
            *entry = Entry {
                tag: lookup.tags[number],
                counter: if taken { 0 } else { -1 },
                useful: 0,
            };
            break;
        }
        if self.allocations % AGEING_PERIOD == 0 {
            for entry in &mut self.entries {
                entry.useful >>= 1;
            }
        }
    }
}

#[inline]
fn step(counter: i8, up: bool, lowest: i8, highest: i8) -> i8 {
    if up {
        (counter + 1).min(highest)
    } else {
        (counter - 1).max(lowest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cores::GOLDEN_COVE;

    const BRANCH: u64 = 0x40_1000;

    struct Path {
        predictor: DirectionPredictor,
        history: PathHistory,
    }

    impl Path {
        fn new() -> Path {
            Path {
                predictor: DirectionPredictor::new(&GOLDEN_COVE.prediction),
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
    fn a_branch_that_never_changes_is_learnt() {
        assert_eq!(wrong([true; 1000]), 0);
        assert_eq!(wrong([false; 1000]), 0);
    }

    #[test]
    fn a_period_of_seventeen_is_learnt() {
        assert_eq!(wrong((0..20_000).map(|step| step % 17 == 0)), 0);
    }

    #[test]
    fn a_random_branch_is_wrong_about_half_the_time() {
        let wrong = wrong(random().take(20_000));
        assert!((4000..6000).contains(&wrong), "{wrong} of 10000");
    }

    #[test]
    fn random_outcomes_are_learnt_where_they_soon_repeat() {
        let wrong_of_half = |period: usize| {
            let outcomes: Vec<bool> = random().take(period).collect();
            wrong(outcomes.iter().copied().cycle().take(period * 40)) / 20
        };
        assert!(wrong_of_half(4096) < 20);
        assert!(wrong_of_half(32 * 1024) > 4096);
    }

    #[test]
    fn branches_that_are_not_taken_push_nothing_out_of_the_history() {
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
