//! Slots of a benchmark by function, as the model counted them.

use std::collections::HashMap;

use topdown_run::code::{CodeCounts, CodeSlots};
use topdown_run::run_file::{Function, Functions, IterationSample, OtherFunctions};

use topdown_gate::function_name::Origin;
use topdown_gate::statistics::launch::{Taken, kept_for_slots};

use super::symbols::Symbols;

/// Functions get a row of their own until the rows have this percentage of the slots.
const PERCENT_OF_SLOTS: u128 = 99;

/// Maximum number of rows.
const MAX_FUNCTIONS: usize = 30;

/// Longer names lose their middle: the types of iterators can fill pages.
const MAX_NAME_CHARS: usize = 200;

/// A function: its name, and its module unless that is the bench executable.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct FunctionKey {
    pub name: Option<String>,
    pub module: Option<String>,
}

/// The cost of each function in each sample of one launch.
#[derive(Clone, Debug, Default)]
pub struct SampleFunctions {
    keys: Vec<FunctionKey>,
    /// For each sample, pairs of an index into `keys` and its counts.
    samples: Vec<Vec<(usize, CodeCounts)>>,
    /// The function that takes the lock for which threads wait most, if there is one.
    lock: Option<String>,
}

/// Attributes the samples of `code` to functions, named by `symbols`.
pub fn attribute(code: &CodeSlots, symbols: &mut Symbols) -> SampleFunctions {
    let mut functions = SampleFunctions::default();
    let mut index_of: HashMap<FunctionKey, usize> = HashMap::new();
    let place_of_block: Vec<usize> = code
        .blocks
        .iter()
        .map(|block| {
            let module = &code.modules[block.module as usize];
            let name = symbols.name_of(module, block.offset, block.bytes);
            let key = FunctionKey {
                name: name.map(|name| limited(&name)),
                module: symbols.label_of(module),
            };
            *index_of.entry(key).or_insert_with_key(|key| {
                functions.keys.push(key.clone());
                functions.keys.len() - 1
            })
        })
        .collect();
    for costs in &code.samples {
        let mut sums = vec![CodeCounts::default(); functions.keys.len()];
        for (block, counts) in costs {
            sums[place_of_block[*block as usize]] += *counts;
        }
        let sums = sums.into_iter().enumerate();
        let some = sums.filter(|(_, counts)| *counts != CodeCounts::default());
        functions.samples.push(some.collect());
    }
    let taking = code.lock.iter();
    let taking = taking.map(|block| &functions.keys[place_of_block[*block as usize]]);
    functions.lock = owner_of_lock(taking);
    functions
}

/// Crates of locks, whose own functions do not say which lock it is.
const LOCKS: [&str; 5] = [
    "parking_lot::",
    "parking_lot_core::",
    "lock_api::",
    "spin::",
    "crossbeam_utils::",
];

/// Returns the first function that belongs to no lock, of the one that took it and its callers.
fn owner_of_lock<'a>(taking: impl Iterator<Item = &'a FunctionKey>) -> Option<String> {
    let of_program = taking.filter(|key| key.module.is_none());
    let mut names = of_program.filter_map(|key| key.name.as_ref());
    let is_owner = |name: &&String| {
        let path = name.trim_start_matches(['<', '&']);
        !Origin::is_of_toolchain(name) && !LOCKS.iter().any(|lock| path.starts_with(lock))
    };
    names.find(is_owner).cloned()
}

/// Sums up the functions of a benchmark, given each launch's samples and their cost by function.
/// Only the samples that make up the launch values count.
///
/// Returns `None` if a launch does not know its functions, or if their slots differ from the
/// samples': closures of `iter_custom` measure for themselves.
pub fn functions_of(
    launches: &[(&[IterationSample], Option<&SampleFunctions>)],
    taken: Taken,
) -> Option<Functions> {
    let mut iterations = 0_u64;
    let mut sums: HashMap<&FunctionKey, CodeCounts> = HashMap::new();
    for (samples, functions) in launches {
        let functions = (*functions)?;
        for index in kept_for_slots(samples, taken).unwrap_or_default() {
            let (sample, costs) = (&samples[index], functions.samples.get(index)?);
            // Saturating, here and below: a bench can write anything.
            let slots = costs.iter().map(|(_, counts)| counts.slots());
            let slots = slots.fold(0, u64::saturating_add);
            if sample.sample.slots != Some(slots) {
                return None;
            }
            iterations = iterations.saturating_add(sample.iterations);
            for (key, counts) in costs {
                *sums.entry(&functions.keys[*key]).or_default() += *counts;
            }
        }
    }
    let mut functions = launches.iter().filter_map(|(_, functions)| *functions);
    (iterations > 0).then(|| Functions {
        lock: functions.find_map(|functions| functions.lock.clone()),
        ..ranked(iterations, sums)
    })
}

/// Ranks functions by slots, and sums up the remaining ones.
pub(super) fn ranked(iterations: u64, sums: HashMap<&FunctionKey, CodeCounts>) -> Functions {
    let mut all: Vec<(&FunctionKey, CodeCounts)> = sums.into_iter().collect();
    all.sort_unstable_by(|a, b| b.1.slots().cmp(&a.1.slots()).then_with(|| a.0.cmp(b.0)));
    let total: u128 = all.iter().map(|(_, c)| u128::from(c.slots())).sum();
    let mut shown = 0_u128;
    let largest = all
        .iter()
        .take(MAX_FUNCTIONS)
        .take_while(|(_, counts)| {
            let is_wanted = shown * 100 < total * PERCENT_OF_SLOTS;
            shown += u128::from(counts.slots());
            is_wanted
        })
        .map(|(key, counts)| Function {
            name: key.name.clone(),
            module: key.module.clone(),
            counts: *counts,
            category_hits: None,
            category_margin: None,
        })
        .collect::<Vec<Function>>();
    let rest = &all[largest.len()..];
    let others = (!rest.is_empty()).then(|| {
        let mut counts = CodeCounts::default();
        for (_, more) in rest {
            counts += *more;
        }
        OtherFunctions {
            functions: rest.len() as u64,
            counts,
        }
    });
    Functions {
        iterations,
        largest,
        others,
        sampled: None,
        lock: None,
    }
}

/// Shortens a name for a row.
pub(super) fn limited(name: &str) -> String {
    let chars: Vec<char> = name.chars().collect();
    if chars.len() <= MAX_NAME_CHARS {
        return name.to_owned();
    }
    let room = MAX_NAME_CHARS - 1;
    let head = chars[..room / 2].iter();
    let tail = chars[chars.len() - (room - room / 2)..].iter();
    head.chain(&['…']).chain(tail).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;
    use topdown_run::category::PerCategory;
    use topdown_run::code::CodeBlock;
    use topdown_run::sample::{Flags, Sample};

    fn counts(slots: u64) -> CodeCounts {
        CodeCounts {
            instructions: slots / 2,
            level1_slots: PerCategory {
                retiring: slots - slots / 4,
                backend_bound: slots / 4,
                ..PerCategory::default()
            },
            ..CodeCounts::default()
        }
    }

    fn key(name: &str) -> FunctionKey {
        FunctionKey {
            name: Some(name.to_owned()),
            module: None,
        }
    }

    fn sample(slots: u64) -> IterationSample {
        IterationSample {
            iterations: 1,
            sample: Sample {
                slots: Some(slots),
                ..Sample::EMPTY
            },
        }
    }

    /// Eight samples with these slots, of which `b` has 8 and `a` the rest.
    fn launch() -> (Vec<IterationSample>, SampleFunctions) {
        let slots = [1000, 100, 101, 102, 103, 104, 10, 105];
        let functions = SampleFunctions {
            keys: vec![key("a"), key("b")],
            samples: slots
                .iter()
                .map(|slots| vec![(0, counts(slots - 8)), (1, counts(8))])
                .collect(),
            lock: None,
        };
        (slots.map(sample).to_vec(), functions)
    }

    #[test]
    fn functions_have_slots_of_launch_values() {
        let (samples, functions) = launch();
        let launches = [(&*samples, Some(&functions)), (&*samples, Some(&functions))];
        let functions = functions_of(&launches, Taken::OnTheMachine).unwrap();
        let value =
            topdown_gate::statistics::launch::launch_value(0, &samples, Taken::OnTheMachine, None)
                .unwrap();
        // The middle half: 101 to 104.
        assert_eq!(functions.iterations, 8);
        let slots = functions.total().slots();
        assert_eq!(value.slots.unwrap().slots, slots as f64 / 8.0);
        let rows: Vec<_> = functions.largest.iter().map(|f| f.counts.slots()).collect();
        assert_eq!(rows, [2 * (101 + 102 + 103 + 104 - 32), 64]);
        assert_eq!(functions.others, None);
    }

    #[test]
    fn functions_with_other_slot_total_are_dropped() {
        let (mut samples, functions) = launch();
        assert_eq!(functions_of(&[(&samples, None)], Taken::OnTheMachine), None);
        samples[3].sample.slots = Some(103);
        assert_eq!(
            functions_of(&[(&samples, Some(&functions))], Taken::OnTheMachine),
            None
        );
        // A sample that is not used may be unusable.
        let (mut samples, functions) = launch();
        samples[0].sample.flags = Flags::NOT_COUNTING;
        samples[0].sample.slots = Some(0);
        assert!(functions_of(&[(&samples, Some(&functions))], Taken::OnTheMachine).is_some());
    }

    #[test]
    fn small_functions_are_grouped_without_loss() {
        let names: Vec<FunctionKey> = (0..100).map(|n| key(&format!("f{n:02}"))).collect();
        let ranked_of = |slots: &dyn Fn(u64) -> u64| {
            let sums = names.iter().zip(0..).map(|(p, n)| (p, counts(slots(n))));
            ranked(1, sums.collect())
        };
        // Two functions with 97 % and 2 %.
        let few = ranked_of(&|n| [9700, 200][..].get(n as usize).copied().unwrap_or(1));
        let names_of = |functions: &Functions| -> Vec<String> {
            let rows = functions.largest.iter();
            rows.map(|f| f.name.clone().unwrap()).collect()
        };
        assert_eq!(names_of(&few), ["f00", "f01"]);
        let others = few.others.unwrap();
        assert_eq!((others.functions, others.counts.slots()), (98, 98));
        assert_eq!(few.total().slots(), 9998);
        // All equal: sorted by name, up to the limit.
        let many = ranked_of(&|_| 4);
        assert_eq!(many.largest.len(), MAX_FUNCTIONS);
        assert_eq!(many.largest[1].name.as_deref(), Some("f01"));
        assert_eq!(many.others.unwrap().functions, 70);
        assert_eq!(many.total().slots(), 400);
    }

    #[test]
    fn blocks_are_grouped_by_function_or_module() {
        let block = |module, offset| CodeBlock {
            module,
            offset,
            bytes: 1,
            content: 0,
            call: 0,
        };
        let code = CodeSlots {
            modules: ["/nowhere/bench", "/nowhere/libx.so.1", "[vdso]", ""]
                .map(str::to_owned)
                .to_vec(),
            blocks: vec![
                block(0, 1),
                block(0, 2),
                block(1, 3),
                block(2, 4),
                block(3, 5),
            ],
            samples: vec![
                vec![(0, counts(8)), (1, counts(16)), (2, counts(4))],
                vec![(3, counts(4)), (4, counts(8))],
            ],
            ..CodeSlots::default()
        };
        let mut symbols = Symbols::new(Path::new("/nowhere/bench"));
        let functions = attribute(&code, &mut symbols);
        let labels: Vec<Option<&str>> = functions
            .keys
            .iter()
            .map(|key| key.module.as_deref())
            .collect();
        let expected = [
            None,
            Some("libx.so.1"),
            Some("[vdso]"),
            Some("[anonymous memory]"),
        ];
        assert_eq!(labels, expected);
        assert!(functions.keys.iter().all(|key| key.name.is_none()));
        let slots = |sample: usize| -> Vec<(usize, u64)> {
            let costs = functions.samples[sample].iter();
            costs.map(|(key, c)| (*key, c.slots())).collect()
        };
        assert_eq!(slots(0), [(0, 24), (1, 4)]);
        assert_eq!(slots(1), [(2, 4), (3, 8)]);
    }

    #[test]
    fn long_names_lose_their_middle() {
        let name = format!("start{}end", "ä".repeat(500));
        let short = limited(&name);
        assert_eq!(short.chars().count(), MAX_NAME_CHARS);
        assert!(short.starts_with("start") && short.ends_with("end") && short.contains('…'));
        assert_eq!(limited("a::b"), "a::b");
    }

    #[test]
    fn lock_is_of_the_first_function_that_is_none_of_a_lock() {
        let owner = |names: &[(Option<&str>, Option<&str>)]| {
            let keys: Vec<FunctionKey> = names
                .iter()
                .map(|(name, module)| FunctionKey {
                    name: name.map(str::to_owned),
                    module: module.map(str::to_owned),
                })
                .collect();
            owner_of_lock(keys.iter())
        };
        let futex = (
            Some("std::sys::sync::mutex::futex::Mutex::lock_contended"),
            None,
        );
        let push = (Some("queue::push"), None);
        let of_c = (Some("pthread_mutex_lock"), Some("libc.so.6"));
        let slow = (Some("<parking_lot::raw_mutex::RawMutex>::lock_slow"), None);
        let expected = Some("queue::push".to_owned());
        assert_eq!(owner(&[futex, slow, (None, None), of_c, push]), expected);
        assert_eq!(owner(&[push, (Some("queue::other"), None)]), expected);
        assert_eq!(owner(&[futex, of_c]), None);
        let spinner = (Some("spinner::turn"), None);
        assert_eq!(owner(&[spinner]), Some("spinner::turn".to_owned()));
    }
}
