//! Comparisons for tests of reports.

use topdown_run::run_file::{Benchmark, BenchmarkId, Run};

use super::detail::Detail;
use super::shown::{shown, terminal};
use topdown_gate::policy::Policy;
use topdown_gate::scenario::{self, Planted, benchmark, timed, with_functions};
use topdown_gate::trend::{Trend, trend};
use topdown_gate::verdict::{BenchmarkVerdict, Comparison, LabelledRun, compare};

/// Compares `candidate` with `baseline`, called `main`.
pub fn compared(baseline: &Run, candidate: &Run) -> Comparison {
    compared_by(baseline, candidate, &Policy::default())
}

fn compared_by(baseline: &Run, candidate: &Run, policy: &Policy) -> Comparison {
    let label = |label, run| LabelledRun { label, run };
    compare(
        label("main", baseline),
        label("the newest run", candidate),
        policy,
    )
}

/// Returns the comparison of `candidate` with `baseline` as a terminal of `width` columns shows it,
/// without colours.
pub fn comparison_text(baseline: &Run, candidate: &Run, width: usize) -> String {
    comparison_text_by(&Policy::default(), baseline, candidate, width)
}

/// The same by another policy.
pub fn comparison_text_by(
    policy: &Policy,
    baseline: &Run,
    candidate: &Run,
    width: usize,
) -> String {
    let comparison = compared_by(baseline, candidate, policy);
    let text = comparison_text_in(Detail::Sentences, &comparison, width);
    assert_nothing_wraps_twice(&text);
    text
}

/// Returns `comparison` in this detail, as a terminal of `width` columns without colours shows it.
pub fn comparison_text_in(detail: Detail, comparison: &Comparison, width: usize) -> String {
    shown(|out| super::comparison_text::write(comparison, detail, terminal(width), out))
}

/// The lines of a message below its first are indented; at most one is.
fn assert_nothing_wraps_twice(text: &str) {
    let is_below = |line: &str| line.starts_with("    ") && line.trim_start() != line;
    let lines: Vec<&str> = text.lines().collect();
    let twice = lines
        .windows(2)
        .find(|pair| pair.iter().all(|line| is_below(line)));
    assert_eq!(twice, None, "{text}");
}

/// Text that every format must escape.
pub const HOSTILE_NAME: &str = "<script>alert('1')</script> @user [x](https://example.com) \
    www.example.com `|` a|b \"]]>&amp; %0A::error::x\u{1b}[31m\r\n\
    # h";

/// A suite whose only benchmark regressed and is called [`HOSTILE_NAME`].
pub fn hostile() -> (Run, Run) {
    let run = |seed, backend_bound| {
        let planted = Planted {
            seed,
            categories: [0.0, 0.0, 0.0, backend_bound].into(),
            ..Planted::default()
        };
        let backend_bound_slots = 350 + (1000.0 * backend_bound) as u64;
        let function = (
            Some(HOSTILE_NAME),
            None,
            [400, 100, 150, backend_bound_slots],
        );
        let benchmark = benchmark(HOSTILE_NAME, planted);
        scenario::run(vec![with_functions(benchmark, &[function])])
    };
    (run(1, 0.0), run(2, 0.2))
}

/// Makes these launches of `benchmark` 60 % slower.
fn slower_in(mut benchmark: Benchmark, launches: &[usize]) -> Benchmark {
    for &launch in launches {
        benchmark.slots_launches_mut()[launch].slots *= 1.6;
        benchmark.times.launches[launch].wall_ns *= 1.6;
    }
    benchmark
}

/// One benchmark for each verdict, among 25.
pub fn one_of_each() -> (Vec<Benchmark>, Run) {
    let plain = |seed| Planted {
        seed,
        ..Planted::default()
    };
    let names: Vec<String> = (0..16).map(|n| format!("lookup/hash/{n:04}")).collect();
    let with = |seed, change: &[(&str, Planted)]| -> Vec<Benchmark> {
        let changed = change
            .iter()
            .map(|(name, planted)| benchmark(name, Planted { seed, ..*planted }));
        let plain = names.iter().map(|name| benchmark(name, plain(seed)));
        changed.chain(plain).collect()
    };
    let categories = |categories: [f64; 4]| Planted {
        categories: categories.into(),
        ..Planted::default()
    };
    let noisy = |factor| Planted {
        deviation: 0.05 * factor,
        ..Planted::default()
    };
    let names = [
        "parse/json/a document with a name too long for a narrow table",
        "sort/random",
        "sort/sorted",
        "copy",
        "chase/ring",
        "alloc/small",
        "alloc/large",
    ];
    let base = names.map(|name| {
        let planted = match name {
            "alloc/small" => noisy(1.0),
            "alloc/large" => noisy(5.0),
            _ => Planted::default(),
        };
        (name, planted)
    });
    let new = names.map(|name| {
        let planted = match name {
            "sort/random" => categories([0.04, 0.04, 0.04, 0.0]),
            "sort/sorted" => categories([-0.06, 0.0, 0.0, 0.06]),
            "copy" => categories([0.0, 0.0, 0.0, -0.08]),
            "chase/ring" => Planted {
                time_per_slot: 1.12,
                ..Planted::default()
            },
            "alloc/small" => noisy(1.0),
            "alloc/large" => noisy(5.0),
            _ => categories([0.0, 0.002, 0.003, 0.08]),
        };
        (name, planted)
    });
    let mut baseline = with(1, &base);
    baseline.push(benchmark("hash/seeded", plain(1)));
    baseline.push(benchmark("gone", plain(1)));
    let mut candidate = with(2, &new);
    candidate.push(slower_in(benchmark("hash/seeded", plain(2)), &[2, 6]));
    candidate.push(benchmark("fresh", plain(2)));
    (baseline, scenario::run(candidate))
}

/// The comparison of [`one_of_each`], each of whose benchmarks is there `times` times. The change
/// of each is larger than in the one before.
pub fn many_of_each(times: usize) -> Comparison {
    let (baseline, candidate) = one_of_each();
    let mut comparison = compared(&scenario::run(baseline), &candidate);
    let copies = |id: &BenchmarkId| {
        let id = id.clone();
        (0..times).map(move |number| BenchmarkId {
            name: format!("{}/{number:05}", id.name),
            ..id.clone()
        })
    };
    comparison.missing = comparison.missing.iter().flat_map(copies).collect();
    let benchmarks = std::mem::take(&mut comparison.benchmarks).into_iter();
    comparison.benchmarks = benchmarks
        .flat_map(|benchmark| {
            copies(&benchmark.id).enumerate().map(move |(number, id)| {
                let mut copy = BenchmarkVerdict {
                    id,
                    ..benchmark.clone()
                };
                for effect in &mut copy.effects {
                    effect.difference *= 1.0 + number as f64 / times as f64;
                }
                copy
            })
        })
        .collect();
    comparison
}

/// The history of five benchmarks over `runs` runs, one a day: a step of 6 % in one category in the
/// middle, where the kernel changed; ten small steps; a shift between two categories; no change;
/// and one with only time. An earlier run is from another CPU.
pub fn history(runs: usize) -> Trend {
    let day = |number: usize| {
        let start: jiff::Timestamp = "2026-10-01T10:00:00Z".parse().unwrap();
        let at = start + jiff::SignedDuration::from_hours(24 * number as i64);
        at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
    };
    let mut all: Vec<Run> = (0..runs)
        .map(|number| {
            let planted = |categories: [f64; 4]| Planted {
                seed: 1 + number as u64,
                categories: categories.into(),
                launches: 5,
                ..Planted::default()
            };
            let is_late = number >= runs / 2;
            let when_late = |size| if is_late { size } else { 0.0 };
            let tenths = (number * 11 / runs) as f64 / 100.0;
            let mut run = scenario::run(vec![
                benchmark("sort/random", planted([0.0, 0.0, 0.0, when_late(0.06)])),
                benchmark("parse/json", planted([tenths, 0.0, 0.0, 0.0])),
                benchmark(
                    "hash",
                    planted([0.0, 0.0, when_late(-0.05), when_late(0.05)]),
                ),
                benchmark(
                    "alloc/a name too long for a narrow table",
                    planted([0.0; 4]),
                ),
                timed("read", planted([0.0; 4])),
            ]);
            run.id = format!("run-{number}");
            run.started_at = day(number + 1);
            let commit = 0x9e37_79b9_7f4a_7c15_u64.wrapping_mul(number as u64 + 1);
            run.build.git_commit = Some(format!("{commit:016x}{commit:024x}"));
            if is_late {
                run.machine.kernel = Some("6.12.9".to_owned());
            }
            run
        })
        .collect();
    let mut other = all[0].clone();
    other.id = "other".to_owned();
    other.started_at = day(0);
    other.machine.model = 207;
    all.insert(0, other);
    let unreadable = vec!["history/20260930T100000Z-0123456789ab.json: not a run".to_owned()];
    trend("main", &all, unreadable, 0.05).unwrap()
}
