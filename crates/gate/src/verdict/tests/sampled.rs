//! Tests of benchmarks that the model sampled: groups of units stand for launches.

use super::*;

/// A suite of benchmarks whose groups of units differ by this deviation, as a fraction of the
/// slots.
fn sampled_suite(size: usize, seed: u64, deviation: f64, slower: f64) -> Run {
    let benchmark_at = |index| {
        let planted = Planted {
            seed,
            deviation,
            categories: [0.0, 0.0, 0.0, slower].into(),
            ..Planted::default()
        };
        scenario::sampled(&format!("b{index:02}"), planted)
    };
    scenario::run((0..size).map(benchmark_at).collect())
}

/// Returns in how many of this many comparisons some benchmark regressed, and how many benchmarks
/// did in each, on average.
fn regressed(comparisons: u64, size: usize, deviation: f64, slower: f64) -> (u64, f64) {
    let (mut failing, mut benchmarks) = (0, 0);
    for seed in 0..comparisons {
        let baseline = sampled_suite(size, 2 * seed, deviation, 0.0);
        let candidate = sampled_suite(size, 2 * seed + 1, deviation, slower);
        let comparison = judged(&baseline, &candidate);
        let verdicts = comparison.benchmarks.iter();
        let found = verdicts.filter(|b| b.verdict == Verdict::Regressed).count();
        failing += u64::from(found > 0);
        benchmarks += found;
    }
    (failing, benchmarks as f64 / comparisons as f64)
}

#[test]
fn groups_of_units_are_judged_by_scatter() {
    for deviation in [0.0, 0.01] {
        let run = |seed, slower| sampled_suite(1, seed, deviation, slower);
        let comparison = judged(&run(1, 0.0), &run(2, 0.001));
        let evidence = comparison.benchmarks[0].evidence.unwrap();
        assert_eq!(evidence.method, Method::Statistics);
        assert!(!comparison.benchmarks[0].main_effect().unwrap().exact);
    }
}

/// base64's `decode_slice_simd` came out inconclusive at 0.0 % [-5.1, +5.1] with the same code.
#[test]
fn equal_units_on_both_sides_are_proof() {
    let run = sampled_suite(1, 1, 0.1, 0.0);
    let comparison = judged(&run, &run);
    let benchmark = &comparison.benchmarks[0];
    assert_eq!(benchmark.verdict, Verdict::Unchanged);
    assert_eq!(benchmark.evidence.unwrap().method, Method::Exact);
    let effect = benchmark.main_effect().unwrap();
    assert_eq!((effect.difference, effect.exact), (0.0, true));
    assert_eq!(effect.baseline, {
        let groups = run.benchmarks[0].slots_launches();
        groups.iter().map(|group| group.slots).sum::<f64>() / groups.len() as f64
    });
    // One category of one group, or the instructions of all, and they no longer agree.
    for differ in [
        (|value: &mut SlotsValue| value.slots += 1.0) as fn(&mut SlotsValue),
        |value| value.instructions = Some(1.0 + value.instructions.unwrap_or(0.0)),
    ] {
        let mut other = run.clone();
        differ(&mut other.benchmarks[0].slots_launches_mut()[3]);
        let method = judged(&run, &other).benchmarks[0].evidence.unwrap().method;
        assert_eq!(method, Method::Statistics);
    }
}

/// One unit of base64's `decode` cleared megabytes in one instruction, and its group was left out.
#[test]
fn outlying_group_of_units_is_kept() {
    let mut run = sampled_suite(1, 1, 0.001, 0.0);
    run.benchmarks[0].slots_launches_mut()[0].slots *= 1.7;
    let comparison = judged(&run, &sampled_suite(1, 2, 0.001, 0.0));
    assert_eq!(comparison.warnings, []);
    let effect = comparison.benchmarks[0].main_effect().unwrap();
    assert!(effect.difference < -0.05, "{}", effect.difference);
}

#[test]
fn undecided_units_need_units_not_launches() {
    let run = |seed, slower| sampled_suite(1, seed, 0.02, slower);
    let comparison = judged(&run(1, 0.0), &run(2, 0.02));
    let undecided = comparison.benchmarks[0].undecided.unwrap();
    assert_eq!(undecided.reason, UndecidedReason::FewUnits);
    assert_eq!(undecided.launches_needed, None);
}

/// Both error rates, with scatters as those of long programs: ten groups that differ by 1 % know
/// their mean to 0.3 %.
#[test]
fn unchanged_suites_pass_and_three_percent_is_found() {
    const COMPARISONS: u64 = 300;
    for size in [1, 10] {
        for deviation in [0.005, 0.01, 0.02] {
            let (failing, _) = regressed(COMPARISONS, size, deviation, 0.0);
            // An alpha of 5 % may fail 15; more than 26 is beyond chance (one in 400).
            assert!(failing <= 26, "{size} {deviation}: {failing}");
        }
        for (deviation, least) in [(0.005, 0.99), (0.01, 0.85)] {
            let (_, found) = regressed(COMPARISONS / size as u64, size, deviation, 0.03);
            let found = found / size as f64;
            assert!(found > least, "{size} {deviation}: {found}");
        }
    }
}

#[test]
fn a_sampled_benchmark_says_why_it_names_no_function() {
    let slower = |backend_bound| Planted {
        categories: [0.0, 0.0, 0.0, backend_bound].into(),
        ..Planted::default()
    };
    let reason = |sides: [Benchmark; 2]| {
        let [base, new] = sides.map(|side| scenario::run(vec![side]));
        let verdict = judged(&base, &new).benchmarks.remove(0);
        assert_eq!(verdict.verdict, Verdict::Regressed);
        verdict.no_function
    };
    let once = [0.0, 0.3].map(|backend_bound| scenario::sampled("long", slower(backend_bound)));
    assert_eq!(reason(once), Some(NoFunction::OneIteration));

    // Counted, with functions from PMU samples.
    let counted = |hits: u64, functions: usize| {
        [0, 300].map(|more: u64| {
            let names: Vec<String> = (0..functions).map(|n| format!("f{n}")).collect();
            let each = |all: u64| all / functions as u64;
            let outcome = |name: &String| {
                let slots = [each(400), each(100), each(150), each(344 + more)];
                (name.clone(), slots)
            };
            let all: Vec<(String, [u64; 4])> = names.iter().map(outcome).collect();
            let all: Vec<_> = all.iter().map(|(n, s)| (Some(&**n), None, *s)).collect();
            let mut side = with_functions(benchmark("b", slower(more as f64 / 1000.0)), &all);
            side.functions.as_mut().unwrap().sampled = Some(Sampled {
                hits,
                effective_hits: hits,
                ..Sampled::default()
            });
            side
        })
    };
    assert_eq!(reason(counted(100_000, 1)), None);
    assert_eq!(reason(counted(100, 10)), Some(NoFunction::Uncertain));
    assert_eq!(reason(counted(1_000_000, 10)), Some(NoFunction::Spread));
}
