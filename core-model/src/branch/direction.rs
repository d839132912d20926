//! Direction of conditional branches: a bimodal table under tagged tables of growing history.
//!
//! After Seznec and Michaud, "A case for (partially) tagged geometric history length branch
//! prediction" (JILP 2006). Real cores use unpublished relatives of it.

use crate::calendar::boxed;
use crate::parameters::{Prediction as Parameters, TAGGED_TABLES};

const TAG_BITS: u32 = 12;
/// Branch outcomes kept: more than the longest history.
const HISTORY: usize = 512;
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

/// For each tagged table its history folded into few bits, updated one branch at a time.
///
/// The tables are lanes of arrays: one update serves them all.
struct Folded {
    bits: u32,
    values: [u32; TAGGED_TABLES],
    /// The bit in which the outcome that leaves a table's history stands after the shift.
    oldest_bits: [u32; TAGGED_TABLES],
}

impl Folded {
    fn new(lengths: &[u32; TAGGED_TABLES], bits: u32) -> Self {
        let bits = bits.max(1);
        Folded {
            bits,
            values: [0; TAGGED_TABLES],
            oldest_bits: lengths.map(|length| 1 << (length % bits)),
        }
    }

    /// Takes in the outcome `newest`, 0 or 1, and drops each table's `oldest`, 0 or all ones.
    #[inline]
    fn push(&mut self, newest: u32, oldest: &[u32; TAGGED_TABLES]) {
        let mask = (1 << self.bits) - 1;
        let lanes = self.values.iter_mut().zip(&self.oldest_bits).zip(oldest);
        for ((value, oldest_bit), oldest) in lanes {
            let mut folded = *value << 1 | newest;
            folded ^= oldest & oldest_bit;
            folded ^= folded >> self.bits;
            *value = folded & mask;
        }
    }
}

/// Where a prediction came from.
#[derive(Clone, Copy)]
struct Lookup {
    indices: [usize; TAGGED_TABLES],
    tags: [u16; TAGGED_TABLES],
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
    entries_per_table: usize,
    lengths: [u32; TAGGED_TABLES],
    index: Folded,
    tag: Folded,
    second_tag: Folded,
    /// Outcomes, 0 or all ones.
    history: Box<[u32; HISTORY]>,
    newest: usize,
    /// Whether the alternate predicts better than new entries: -8 to 7.
    trust_alternate: i8,
    allocations: u32,
}

impl DirectionPredictor {
    pub(crate) fn new(parameters: &Parameters) -> Self {
        let entries_per_table = parameters.tagged_entries as usize;
        let index_bits = parameters.tagged_entries.ilog2();
        let lengths = parameters.history_branches;
        DirectionPredictor {
            bimodal: vec![0; parameters.bimodal_entries as usize].into_boxed_slice(),
            entries: vec![Entry::default(); entries_per_table * TAGGED_TABLES].into_boxed_slice(),
            entries_per_table,
            lengths,
            index: Folded::new(&lengths, index_bits),
            tag: Folded::new(&lengths, TAG_BITS),
            second_tag: Folded::new(&lengths, TAG_BITS - 1),
            history: boxed(0),
            newest: 0,
            trust_alternate: 0,
            allocations: 0,
        }
    }

    /// Predicts the branch at `ip`, learns that it was `taken`, and says whether the prediction was
    /// right.
    #[inline]
    pub(crate) fn predict(&mut self, ip: u64, taken: bool) -> bool {
        let lookup = self.look_up(ip);
        let use_alternate = lookup.provider_is_new && self.trust_alternate >= 0;
        let predicted = if use_alternate {
            lookup.alternate_taken
        } else {
            lookup.provider_taken
        };
        self.learn(ip, taken, predicted, &lookup);
        self.push_history(taken);
        predicted == taken
    }

    /// Puts a bit of another branch's target into the history.
    #[inline]
    pub(crate) fn note_target(&mut self, target: u64) {
        self.push_history((target ^ target >> 5 ^ target >> 11) & 1 == 1);
    }

    #[inline]
    fn look_up(&self, ip: u64) -> Lookup {
        let mask = self.entries_per_table - 1;
        let mut indices = [0; TAGGED_TABLES];
        let mut tags = [0; TAGGED_TABLES];
        // A bit for each table that knows the branch: no branches here, they would be unpredictable.
        let mut hits = 0_u32;
        for number in 0..TAGGED_TABLES {
            let hash = ip ^ ip >> (self.index.bits as u64 - number as u64);
            let index = (hash as u32 ^ self.index.values[number]) as usize & mask;
            let history = self.tag.values[number] ^ self.second_tag.values[number] << 1;
            let tag = (ip as u32 ^ history) as u16 & ((1 << TAG_BITS) - 1);
            indices[number] = number * self.entries_per_table + index;
            tags[number] = tag;
            hits |= u32::from(self.entries[indices[number]].tag == tag) << number;
        }
        let bimodal_taken = self.bimodal[ip as usize & (self.bimodal.len() - 1)] >= 0;
        let longest = |hits: u32| hits.checked_ilog2().map(|number| number as usize);
        let taken = |table: Option<usize>| {
            table.map_or(bimodal_taken, |number| {
                self.entries[indices[number]].counter >= 0
            })
        };
        let provider = longest(hits);
        let alternate = provider.and_then(|number| longest(hits & !(1 << number)));
        Lookup {
            indices,
            tags,
            provider,
            provider_taken: taken(provider),
            alternate_taken: taken(alternate),
            provider_is_new: provider.is_some_and(|number| {
                let entry = self.entries[indices[number]];
                entry.useful == 0 && (entry.counter == 0 || entry.counter == -1)
            }),
        }
    }

    #[inline]
    fn learn(&mut self, ip: u64, taken: bool, predicted: bool, lookup: &Lookup) {
        match lookup.provider {
            Some(provider) => {
                if lookup.provider_taken != lookup.alternate_taken {
                    if lookup.provider_is_new {
                        let step = if lookup.alternate_taken == taken {
                            1
                        } else {
                            -1
                        };
                        self.trust_alternate = (self.trust_alternate + step).clamp(-8, 7);
                    }
                    let entry = &mut self.entries[lookup.indices[provider]];
                    if lookup.provider_taken == taken {
                        entry.useful = (entry.useful + 1).min(3);
                    } else {
                        entry.useful = entry.useful.saturating_sub(1);
                    }
                }
                let entry = &mut self.entries[lookup.indices[provider]];
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
        // Now and then the first free table is passed over, so that histories of several lengths
        // get their chance.
        let mut skip = self.allocations.is_multiple_of(3);
        for number in longer..TAGGED_TABLES {
            let entry = &mut self.entries[lookup.indices[number]];
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
        if self.allocations.is_multiple_of(AGEING_PERIOD) {
            for entry in &mut self.entries {
                entry.useful >>= 1;
            }
        }
    }

    #[inline]
    fn push_history(&mut self, taken: bool) {
        self.newest = (self.newest + HISTORY - 1) % HISTORY;
        let newest = u32::from(taken);
        self.history[self.newest % HISTORY] = newest.wrapping_neg();
        let oldest = self
            .lengths
            .map(|length| self.history[(self.newest + length as usize) % HISTORY]);
        self.index.push(newest, &oldest);
        self.tag.push(newest, &oldest);
        self.second_tag.push(newest, &oldest);
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

    fn wrong(outcomes: impl Iterator<Item = bool>) -> usize {
        let mut predictor = DirectionPredictor::new(&GOLDEN_COVE.prediction);
        let outcomes: Vec<bool> = outcomes.collect();
        let half = outcomes.len() / 2;
        outcomes
            .iter()
            .enumerate()
            .filter(|&(at, &taken)| !predictor.predict(0x40_1000, taken) && at >= half)
            .count()
    }

    #[test]
    fn a_branch_that_never_changes_is_learnt() {
        assert_eq!(wrong((0..1000).map(|_| true)), 0);
        assert_eq!(wrong((0..1000).map(|_| false)), 0);
    }

    #[test]
    fn a_period_of_seventeen_is_learnt() {
        assert_eq!(wrong((0..20_000).map(|step| step % 17 == 0)), 0);
    }

    #[test]
    fn a_random_branch_is_wrong_about_half_the_time() {
        let mut state = 1_u64;
        let random = (0..20_000).map(move |_| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state & 1 == 1
        });
        let wrong = wrong(random);
        assert!((4000..6000).contains(&wrong), "{wrong} of 10000");
    }
}
