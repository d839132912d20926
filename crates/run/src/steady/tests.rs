//! Plans of launches, for benchmarks of many lengths.

use super::*;
use crate::sample::Level1;

const BUDGET: u64 = 30_000_000;

/// Returns the number of iterations in the sample that counts, for a benchmark with
/// `per_iteration` instructions and a fixed number of iterations per window, each of whose
/// instructions costs as much to model as `cost` ordinary ones.
fn counted_at(cost: u64, per_iteration: u64, windows: impl Fn(u64) -> u64) -> u64 {
    let mut modelled = Modelled::default();
    let samples = (0..).map(|index| {
        let iterations = doubling::iterations(index);
        Sample {
            windows: windows(iterations),
            instructions: Some(iterations * per_iteration + windows(iterations) * 83),
            ..Sample::EMPTY
        }
    });
    let more = samples.take_while(|sample| {
        let cost = cost * sample.instructions.unwrap();
        modelled.wants_more(sample, cost, BUDGET)
    });
    doubling::iterations(more.count())
}

fn counted(per_iteration: u64, windows: impl Fn(u64) -> u64) -> u64 {
    counted_at(1, per_iteration, windows)
}

#[test]
fn short_benchmarks_are_modelled_for_thousands() {
    let of_one_window = |instructions| counted(instructions, |_| 1);
    assert_eq!(of_one_window(3), 1 << 19);
    assert_eq!(of_one_window(100), 1 << 14);
    assert_eq!(of_one_window(10_000), 128);
    assert_eq!(of_one_window(100_000), 32);
    // Limited by the budget: 31, 7 and 3 iterations.
    assert_eq!(of_one_window(900_000), 16);
    assert_eq!(of_one_window(1_900_000), 8);
    assert_eq!(of_one_window(4_000_000), 4);
    assert_eq!(of_one_window(9_900_000), 2);
}

#[test]
fn costly_benchmarks_are_modelled_less_often() {
    let of_one_window = |cost, instructions| counted_at(cost, instructions, |_| 1);
    // A million instructions fit the budget four times as often as needed.
    assert_eq!(of_one_window(4, 10_000), 128);
    assert_eq!(of_one_window(3, 100_000), 32);
    assert_eq!(of_one_window(9, 100_000), 16);
    // One instruction that copies half a megabyte.
    assert_eq!(of_one_window(1_000, 20), 512);
    assert_eq!(of_one_window(40_000, 200), 1);
}

#[test]
fn inputs_are_made_for_up_to_1000_iterations() {
    assert_eq!(counted(3, |iterations| iterations), 1024);
    assert_eq!(counted(100, |iterations| iterations.min(10)), 1024);
    assert_eq!(counted(10_000, |iterations| iterations.min(10)), 128);
}

/// Returns what happens to each sample after the first, for a benchmark whose first `cold`
/// samples touch memory for the first time.
fn plan(per_iteration: u64, cold: usize, is_divisible: bool) -> Vec<Next> {
    plan_with_switches(per_iteration, 0, cold, is_divisible)
}

/// The same for one whose iterations also spend so much on changes of threads.
fn plan_with_switches(
    per_iteration: u64,
    switching: u64,
    cold: usize,
    is_divisible: bool,
) -> Vec<Next> {
    let mut modelled = Modelled::default();
    let mut plan = Vec::new();
    let mut spent = 0;
    loop {
        let instructions = doubling::iterations(plan.len()) * per_iteration;
        let switching_instructions = doubling::iterations(plan.len()) * switching;
        let cost_instructions = instructions + switching_instructions;
        spent += cost_instructions;
        let sample = Sample {
            windows: 1,
            instructions: Some(instructions),
            flags: match plan.last() {
                None | Some(Next::Model) if spent > BUDGET => Flags::NOT_COUNTING,
                _ => Flags::NONE,
            },
            ..Sample::EMPTY
        };
        let taken = Taken {
            sample: &sample,
            instructions,
            cost_instructions,
            switching_instructions,
            is_cold: plan.len() < cold,
            is_divisible,
            is_alike: false,
        };
        let next = modelled.next_after(&taken, BUDGET);
        if next != Next::Nothing {
            plan.push(next);
        }
        if sample.flags.intersects(Flags::UNUSABLE) {
            plan.pop();
        }
        if !matches!(next, Next::Model | Next::WarmUp { .. }) {
            return plan;
        }
    }
}

/// Returns how many samples are modelled as a whole, how many only warm up, and how many
/// iterations count of the last one, if it warms up, too.
fn summary(per_iteration: u64, cold: usize) -> (usize, usize, Option<u64>) {
    let plan = plan(per_iteration, cold, true);
    let count = |is: fn(&Next) -> bool| plan.iter().filter(|next| is(next)).count();
    let last = plan.last().and_then(|next| match next {
        Next::Last { iterations, .. } => Some(*iterations),
        _ => None,
    });
    (
        1 + count(|next| *next == Next::Model),
        count(|next| matches!(next, Next::WarmUp { .. })),
        last,
    )
}

#[test]
fn warm_benchmark_with_enough_iterations_is_whole() {
    for per_iteration in [3, 100, 10_000, 100_000, 900_000, 1_900_000] {
        let (modelled, warm_ups, last) = summary(per_iteration, 1);
        let counts = doubling::iterations(modelled - 1);
        assert_eq!(counts, counted(per_iteration, |_| 1), "{per_iteration}");
        assert_eq!((warm_ups, last), (0, None), "{per_iteration}");
    }
}

#[test]
fn fewer_than_eight_iterations_are_warmed_up() {
    // 59, 13 and 6 iterations before those that count.
    assert_eq!(summary(2_100_000, 1), (2, 3, Some(4)));
    assert_eq!(summary(4_000_000, 1), (2, 1, Some(2)));
    assert_eq!(summary(9_900_000, 1), (2, 0, Some(1)));
}

#[test]
fn new_memory_is_warmed_up_until_budget_ends() {
    assert_eq!(summary(10_000, 8), (8, 1, Some(128)));
    assert_eq!(summary(10_000, 11), (8, 4, Some(128)));
    assert_eq!(summary(10_000, 99), (8, 5, Some(128)));
    assert_eq!(summary(900_000, 99), (2, 4, Some(8)));
}

/// An iteration of 4000 instructions changes threads 33 times.
#[test]
fn changes_of_threads_end_the_warm_up() {
    const SWITCHING: u64 = 33 * 150;
    let plan = plan_with_switches(4000, SWITCHING, 99, true);
    let iterations = doubling::iterations(plan.len() + 1) - 1;
    assert!(matches!(plan.last(), Some(Next::Last { .. })), "{plan:?}");
    assert!(iterations * SWITCHING <= BUDGET * 3 / 2, "{iterations}");
    let without = plan_with_switches(4000, 0, 99, true);
    assert!(without.len() > plan.len());
}

#[test]
fn indivisible_samples_are_modelled_unchanged() {
    for per_iteration in [10_000, 900_000, 4_000_000, 9_900_000] {
        let plan = plan(per_iteration, 99, false);
        let counts = doubling::iterations(plan.len());
        assert_eq!(counts, counted(per_iteration, |_| 1));
        assert!(plan.iter().all(|next| *next == Next::Model));
    }
}

#[test]
fn unmodelled_sample_asks_for_no_more() {
    let mut modelled = Modelled::default();
    assert!(!modelled.wants_more(&Sample::EMPTY, 0, u64::MAX));
    let not_traced = Sample {
        instructions: Some(1),
        flags: Flags::NOT_COUNTING,
        ..Sample::EMPTY
    };
    assert!(!modelled.wants_more(&not_traced, 1, u64::MAX));
}

/// Returns how many iterations count of a benchmark with `per_iteration` instructions, whose
/// samples have this share of their slots in one category.
fn counted_with_share(per_iteration: u64, is_cold: bool, share: fn(usize) -> f64) -> u64 {
    let mut modelled = Modelled::default();
    for index in 0.. {
        let iterations = doubling::iterations(index);
        let instructions = iterations * per_iteration;
        let (all, part) = (instructions as f64, share(index));
        let sample = Sample {
            windows: 1,
            instructions: Some(instructions),
            level1: Some(Level1 {
                slots: [all * (1.0 - part), all * part, 0.0, 0.0].into(),
                smt_contention_slots: None,
            }),
            ..Sample::EMPTY
        };
        let taken = Taken {
            sample: &sample,
            instructions,
            cost_instructions: instructions,
            switching_instructions: 0,
            is_cold,
            is_divisible: false,
            is_alike: false,
        };
        if modelled.next_after(&taken, BUDGET) == Next::Nothing {
            return iterations;
        }
    }
    unreachable!("every launch ends")
}

#[test]
fn settled_launch_ends_after_eight_iterations() {
    let settled = |per_iteration| counted_with_share(per_iteration, false, |_| 0.3);
    assert_eq!(settled(400_000), 8);
    assert_eq!(settled(100_000), 16);
    let learns = |index| 0.3 - 0.01 * index as f64;
    assert_eq!(counted_with_share(400_000, false, learns), 32);
    assert_eq!(counted_with_share(400_000, true, |_| 0.3), 32, "cold");
    let stops_learning = |index: usize| if index < 4 { 0.3 } else { 0.2 };
    assert_eq!(counted_with_share(100_000, false, stops_learning), 32);
}

#[test]
fn launch_of_equal_iterations_ends_sooner() {
    let equal = |per_iteration| counted_with_share(per_iteration, false, |_| 0.25);
    assert_eq!(equal(10_000), 32);
    assert_eq!(equal(1_000), 256);
    assert_eq!(equal(4), 1 << 16);
    // Each sample has less of one category, by less than matters.
    let nearly = |index| 0.25 - 0.001 * index as f64;
    assert_eq!(counted_with_share(10_000, false, nearly), 128);
    assert_eq!(counted_with_share(10_000, true, |_| 0.25), 128, "cold");
}

/// Returns the samples that a launch takes, and how many iterations the one has that counts,
/// for a benchmark whose iterations have this many instructions, by their number from 0.
fn counted_of(instructions_of: impl Fn(u64) -> u64) -> (usize, u64) {
    let mut modelled = Modelled::default();
    let (mut spent, mut counted, mut samples) = (0, 0, 0);
    loop {
        let iterations = doubling::iterations(samples);
        samples += 1;
        let instructions: u64 = (iterations - 1..2 * iterations - 1)
            .map(&instructions_of)
            .sum();
        let fits = spent + instructions <= BUDGET;
        let sample = Sample {
            windows: 1,
            instructions: Some(instructions),
            flags: if fits {
                Flags::NONE
            } else {
                Flags::NOT_COUNTING
            },
            ..Sample::EMPTY
        };
        if fits {
            (spent, counted) = (spent + instructions, iterations);
        }
        let taken = Taken {
            sample: &sample,
            instructions,
            cost_instructions: instructions,
            switching_instructions: 0,
            is_cold: false,
            is_divisible: false,
            is_alike: false,
        };
        if modelled.next_after(&taken, BUDGET) == Next::Nothing {
            return (samples, counted);
        }
    }
}

#[test]
fn launch_does_not_end_with_initialisation() {
    let counted_if = |initialises: fn(u64) -> u64| counted_of(move |n| initialises(n) + 10_000);
    let settled = (8, 128);
    assert_eq!(counted_if(|_| 0), settled);
    assert_eq!(counted_if(|n| if n == 0 { 9_000_000 } else { 0 }), settled);
    assert_eq!(counted_if(|n| if n == 1 { 21_000_000 } else { 0 }), settled);
    assert_eq!(counted_if(|n| if n == 2 { 90_000_000 } else { 0 }), settled);
    assert_eq!(counted_if(|n| if n < 3 { 8_000_000 } else { 0 }), settled);
    assert_eq!(
        counted_if(|n| if n == 100 { 20_000_000 } else { 0 }),
        settled
    );
    assert_eq!(
        counted_if(|n| if n == 200 { 20_000_000 } else { 0 }),
        (9, 256)
    );
}

#[test]
fn growing_iterations_end_the_launch() {
    let (samples, counted) = counted_of(|n| 10_000 << n.min(20));
    assert!(samples <= 6 && counted >= 2, "{samples} {counted}");
}

#[test]
fn alike_iterations_need_few_in_detail() {
    let next_after = |per_iteration: u64, samples: usize, is_cold: bool| {
        let mut modelled = Modelled::default();
        let mut next = Next::Model;
        for index in 0..samples {
            let instructions = doubling::iterations(index) * per_iteration;
            let sample = Sample {
                windows: 1,
                instructions: Some(instructions),
                ..Sample::EMPTY
            };
            let taken = Taken {
                sample: &sample,
                instructions,
                cost_instructions: instructions,
                switching_instructions: 0,
                is_cold,
                is_divisible: true,
                is_alike: index > 1,
            };
            next = modelled.next_after(&taken, BUDGET);
        }
        next
    };
    let last = |expected_instructions, iterations| Next::Last {
        expected_instructions,
        iterations,
        is_alike: true,
    };
    assert_eq!(next_after(1_500_000, 2, false), Next::Model);
    assert_eq!(next_after(1_500_000, 3, false), last(12_000_000, 1));
    assert_eq!(next_after(400_000, 3, false), last(3_200_000, 4));
    // Eight iterations are no more than are wanted in detail.
    assert_eq!(next_after(200_000, 3, false), Next::Model);
    assert_eq!(next_after(200_000, 4, false), last(3_200_000, 8));
    assert_eq!(next_after(400_000, 3, true), Next::Model, "cold");
}
