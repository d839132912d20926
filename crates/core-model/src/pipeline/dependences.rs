//! Predicted dependences of loads on earlier stores.
//!
//! A load may execute before the addresses of earlier stores are known. If one of these writes what
//! the load read, everything from the load on is discarded, and the load waits in its next
//! executions.
//!
//! A load that reads what a store wrote may take the store's register, and then waits for no
//! address. It expects a store at the same distance as the last time, or one whose address has the
//! same registers and displacement. After a store at another distance it expects none for a while.
//!
//! AMD's cores since Zen 3 learn which loads read which stores, and forward before either address
//! is known (Linux commit b73a54321ad8, "KVM: x86: Expose Predictive Store Forwarding Disable").
//! How soon they learn was measured (`cores/zen5.rs`).

use crate::calendar::boxed;
use crate::parameters::LearntOrder;

/// The number in real cores is unknown. With so many sets of two, the positions of other functions
/// hardly matter. With 1024 single entries, a benchmark of base64 became 2.2 % slower because a
/// function before it had grown.
const SETS: usize = 4096;

/// The entry of a load.
#[derive(Clone, Copy, Default)]
struct Entry {
    /// The low bits of its address.
    tag: u32,
    /// The distance of the store that it is expected to read, or 0.
    distance: u8,
    /// Number of executions in which it waits for the addresses of all earlier stores.
    cautious: u8,
    /// Number of times it must read the same store again before it takes its register.
    doubt: u8,
}

/// The prediction for a load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Expected {
    /// The distance of the store that it is expected to read, or 0.
    pub distance: u8,
    /// Whether it waits for the addresses of all earlier stores if that store is in flight.
    pub waits_if_in_flight: bool,
    /// Whether it waits for them if that store is not.
    pub waits_if_not_in_flight: bool,
}

/// A store whose register a load could have taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Source {
    /// Distance to the load in stores, counting itself.
    pub distance: u8,
    /// Whether its address is written like that of the load.
    pub is_named_alike: bool,
}

/// The actual outcome of a load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// It read no store in flight.
    Nothing,
    /// It read a store whose address was known in time or not, and whose register it could have
    /// taken if it is a source.
    Store {
        source: Option<Source>,
        in_time: bool,
    },
}

/// The consequence for its entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    /// It executed as usual.
    Usual,
    /// It took the register of the store that it reads.
    Renamed,
    /// It had old or wrong data, which is discarded.
    Discarded,
}

/// The predictor of loads that read earlier stores.
pub(crate) struct Dependences {
    /// The entry that was used last comes first.
    sets: Box<[[Entry; 2]; SETS]>,
    rules: LearntOrder,
}

impl Dependences {
    pub(crate) fn new(rules: LearntOrder) -> Self {
        Dependences {
            sets: boxed([Entry::default(); 2]),
            rules,
        }
    }

    #[inline]
    fn entry(&mut self, ip: u64) -> &mut Entry {
        let tag = ip as u32;
        let set = &mut self.sets[(ip ^ ip >> 12) as usize % SETS];
        if set[0].tag != tag {
            set.swap(0, 1);
        }
        if set[0].tag != tag {
            set[0] = Entry {
                tag,
                doubt: self.rules.doubt_at_first,
                ..Entry::default()
            };
        }
        &mut set[0]
    }

    /// Returns what is predicted of the load at `ip`.
    #[inline]
    pub(crate) fn look_up(&mut self, ip: u64) -> Expected {
        let entry = self.entry(ip);
        let is_cautious = entry.cautious > 0;
        Expected {
            distance: entry.distance,
            waits_if_in_flight: is_cautious && entry.doubt > 0,
            waits_if_not_in_flight: is_cautious,
        }
    }

    #[inline]
    pub(crate) fn wait_cycles(&self) -> u64 {
        self.rules.wait_cycles.into()
    }

    #[inline]
    pub(crate) fn renames_moves_only(&self) -> bool {
        self.rules.moves_only
    }

    /// Learns what the load at `ip` found. The store that it expects was in flight if
    /// `expected_in_flight`, and the addresses of some earlier stores were unknown if `is_ahead`.
    #[inline]
    pub(crate) fn learn(
        &mut self,
        ip: u64,
        found: Found,
        expected_in_flight: bool,
        is_ahead: bool,
    ) -> Effect {
        let rules = self.rules;
        let entry = self.entry(ip);
        let is_predicted = expected_in_flight && entry.doubt == 0;
        let was_cautious = entry.cautious > 0;
        let (source, in_time) = match found {
            Found::Store { source, in_time } => (source, in_time),
            Found::Nothing => (None, true),
        };
        let is_expected =
            |source: &Source| source.is_named_alike || source.distance == entry.distance;
        match source {
            Some(source) if is_expected(&source) => {
                entry.distance = source.distance;
                if entry.doubt == 0 {
                    return Effect::Renamed;
                }
                entry.doubt -= 1;
            }
            Some(source) if is_predicted => {
                entry.distance = source.distance;
                entry.doubt = rules.doubt_after_another;
            }
            Some(source) if entry.distance == 0 => entry.distance = source.distance,
            _ if is_predicted => entry.doubt = rules.doubt_at_first,
            _ if expected_in_flight => {
                let doubt = entry.doubt.saturating_add(rules.doubt_more);
                entry.doubt = doubt.min(rules.doubt_limit);
            }
            _ => {}
        }
        if found == Found::Nothing {
            entry.cautious = entry.cautious.saturating_sub(is_ahead.into());
        } else if was_cautious || !in_time {
            let cautious = entry.cautious.saturating_add(rules.cautious_executions);
            entry.cautious = cautious.min(rules.cautious_limit);
        }
        if is_predicted || !was_cautious && !in_time {
            Effect::Discarded
        } else {
            Effect::Usual
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cores::ZEN_5;
    use crate::parameters::MemoryRenaming;

    const LOAD: u64 = 0x40_1000;
    const IN_TIME: Found = at_distance(3, false);
    const TOO_EARLY: Found = Found::Store {
        source: None,
        in_time: false,
    };

    const fn at_distance(distance: u8, is_named_alike: bool) -> Found {
        Found::Store {
            source: Some(Source {
                distance,
                is_named_alike,
            }),
            in_time: true,
        }
    }

    fn learner() -> (Dependences, LearntOrder) {
        let MemoryRenaming::Learnt(rules) = ZEN_5.rename.memory_renaming else {
            panic!("this core learns");
        };
        (Dependences::new(rules), rules)
    }

    /// Returns whether the load waits while no store of its pair is in flight.
    fn waits(learner: &mut Dependences) -> bool {
        learner.look_up(LOAD).waits_if_not_in_flight
    }

    #[test]
    fn discarded_load_waits_for_a_while() {
        let (mut learner, rules) = learner();
        assert!(!waits(&mut learner));
        assert_eq!(
            learner.learn(LOAD, TOO_EARLY, false, true),
            Effect::Discarded
        );
        for _ in 0..rules.cautious_executions {
            assert!(waits(&mut learner));
            assert_eq!(
                learner.learn(LOAD, Found::Nothing, false, true),
                Effect::Usual
            );
        }
        assert!(!waits(&mut learner));
    }

    #[test]
    fn waiting_load_is_not_discarded() {
        let (mut learner, rules) = learner();
        for _ in 0..10 {
            learner.learn(LOAD, TOO_EARLY, false, true);
        }
        assert_eq!(learner.learn(LOAD, TOO_EARLY, false, true), Effect::Usual);
        let waited = (0..1000).take_while(|_| {
            learner.learn(LOAD, Found::Nothing, false, true);
            waits(&mut learner)
        });
        assert_eq!(waited.count() + 1, usize::from(rules.cautious_limit));
    }

    #[test]
    fn load_is_renamed_after_repeated_same_store() {
        let (mut learner, rules) = learner();
        learner.learn(LOAD, IN_TIME, false, true);
        for _ in 0..rules.doubt_at_first {
            assert_eq!(learner.learn(LOAD, IN_TIME, true, true), Effect::Usual);
        }
        assert_eq!(learner.learn(LOAD, IN_TIME, true, true), Effect::Renamed);
        let gone = learner.learn(LOAD, Found::Nothing, false, true);
        assert_eq!(gone, Effect::Usual, "that store was not in flight");
        let wrong = learner.learn(LOAD, Found::Nothing, true, true);
        assert_eq!(wrong, Effect::Discarded);
        assert_eq!(learner.learn(LOAD, IN_TIME, true, true), Effect::Usual);
    }

    #[test]
    fn load_waits_only_if_it_would_be_too_early() {
        let (mut learner, _) = learner();
        learner.learn(LOAD, TOO_EARLY, false, true);
        for _ in 0..1000 {
            learner.learn(LOAD, Found::Nothing, false, false);
        }
        assert!(waits(&mut learner));
    }

    /// Returns how often the load executes before it takes a register.
    fn until_renamed(learner: &mut Dependences, found: Found) -> usize {
        let mut effects = (0..1000).map(|_| learner.learn(LOAD, found, true, true));
        effects
            .position(|effect| effect == Effect::Renamed)
            .unwrap_or(1000)
    }

    #[test]
    fn load_of_changing_store_loses_its_register() {
        let (mut learner, rules) = learner();
        until_renamed(&mut learner, IN_TIME);
        let other = at_distance(4, false);
        assert_eq!(learner.learn(LOAD, other, true, true), Effect::Discarded);
        assert_eq!(until_renamed(&mut learner, IN_TIME), 1000);
        let doubt = usize::from(rules.doubt_limit);
        assert_eq!(until_renamed(&mut learner, other), doubt);
    }

    #[test]
    fn distance_of_equally_named_store_may_change() {
        let (mut learner, _) = learner();
        until_renamed(&mut learner, at_distance(3, true));
        for distance in [4, 3, 7] {
            let found = at_distance(distance, true);
            assert_eq!(learner.learn(LOAD, found, true, true), Effect::Renamed);
        }
    }

    #[test]
    fn three_hundred_loads_learn_independently() {
        let (mut learner, rules) = learner();
        let mut state = 1_u64;
        let addresses = (0..300).map(|_| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            LOAD + (state >> 48)
        });
        let loads: Vec<u64> = addresses.collect();
        for _ in 0..=rules.doubt_at_first {
            for load in &loads {
                learner.learn(*load, IN_TIME, false, true);
            }
        }
        let renamed = |load: &&u64| learner.learn(**load, IN_TIME, true, true) == Effect::Renamed;
        assert_eq!(loads.iter().filter(renamed).count(), loads.len());
    }

    #[test]
    fn one_other_store_in_thirteen_prevents_learning() {
        let renamed = |period: u32| {
            let (mut learner, _) = learner();
            for _ in 0..200 {
                learner.learn(LOAD, IN_TIME, true, true);
                learner.learn(LOAD, Found::Nothing, true, true);
            }
            let last = (0..period * 200).map(|step| {
                let found = if step % period == 0 {
                    Found::Nothing
                } else {
                    IN_TIME
                };
                learner.learn(LOAD, found, true, true)
            });
            let last: Vec<Effect> = last.collect();
            last[last.len() - 500..].contains(&Effect::Renamed)
        };
        assert!(!renamed(13));
        assert!(renamed(17));
    }
}
