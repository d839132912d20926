//! Tests what a reader is warned of.

use super::*;

#[test]
fn differently_sampled_functions_are_a_warning() {
    let sampled = |engine| {
        let mut run = suite(3, 1, unchanged);
        let b = run.benchmarks[0].clone();
        run.benchmarks[0] = with_functions(b, &[(Some("f"), None, [400, 100, 150, 344])]);
        let functions = run.benchmarks[0].functions.as_mut().unwrap();
        functions.sampled = Some(Sampled {
            engine,
            ..Sampled::default()
        });
        run
    };
    let [own, register] = [SamplingEngine::OwnPeriods, SamplingEngine::Metrics].map(sampled);
    let warned = |baseline, candidate| {
        let warnings = judged(baseline, candidate).warnings;
        warnings
            .into_iter()
            .any(|warning| matches!(warning, Warning::SampledOtherwise { .. }))
    };
    assert!(warned(&own, &register));
    assert!(!warned(&own, &own));
    let functions_after = |before: &Run, candidate: &Run| {
        let comparison = judged(before, &suite(3, 1, unchanged));
        assert_eq!(comparison.benchmarks[0].functions, []);
        super::super::with_functions(comparison, [before, candidate], [&[], &[]])
    };
    let later = functions_after(&own, &own);
    assert_eq!(later, judged(&own, &own));
    let later = functions_after(&own, &register);
    assert!(matches!(
        later.warnings[..],
        [.., Warning::SampledOtherwise { .. }]
    ));
    assert!(!warned(&suite(3, 1, unchanged), &own));
}

#[test]
fn unknown_functions_are_a_warning_per_reason() {
    let run = suite(3, 1, unchanged);
    let few = "only 99 PMU samples; at least 100 are needed".to_owned();
    let unknown = |index: usize, why: &str| (run.benchmarks[index].id.clone(), why.to_owned());
    let of_candidate = [unknown(0, &few), unknown(1, "it failed"), unknown(2, &few)];
    let of_baseline = [unknown(1, &few)];
    let before = judged(&run, &run);
    let known = before.warnings.len();
    let after = super::super::with_functions(before, [&run, &run], [&of_baseline, &of_candidate]);
    let texts: Vec<String> = (after.warnings[known..].iter())
        .map(|warning| warning.to_string())
        .collect();
    let name = |index: usize| &run.benchmarks[index].id.name;
    let expected = [
        format!(
            "functions of {} are unknown in the baseline: {few}",
            name(1)
        ),
        format!(
            "functions of {} are unknown in the candidate: it failed",
            name(1)
        ),
        format!(
            "functions of {}, {} are unknown in the candidate: {few}",
            name(0),
            name(2)
        ),
    ];
    assert_eq!(texts, expected);
}

#[test]
fn warning_names_first_benchmarks_and_counts_rest() {
    let benchmarks: Vec<BenchmarkId> = (suite(7, 1, unchanged).benchmarks.into_iter())
        .map(|benchmark| benchmark.id)
        .collect();
    let names: Vec<&str> = benchmarks.iter().map(|id| id.name.as_str()).collect();
    let text = format!("functions of {} and 2 more were", names[..5].join(", "));
    let warning = Warning::SampledOtherwise {
        benchmarks: benchmarks.clone(),
    };
    assert!(warning.to_string().starts_with(&text), "{warning}");
}

#[test]
fn warning_distinguishes_benchmarks_of_one_name() {
    let mut benchmarks = vec![scenario::id("same"), scenario::id("same")];
    benchmarks[1].target = "other".to_owned();
    benchmarks.push(scenario::id("alone"));
    let warning = Warning::SampledOtherwise { benchmarks };
    let text = "functions of suite::bench::same, suite::other::same, alone were";
    assert!(warning.to_string().starts_with(text), "{warning}");
}

#[test]
fn work_of_baseline_alone_is_a_warning() {
    let removed = || {
        let mut run = suite(3, 1, unchanged);
        for launch in run.benchmarks[0].slots_launches_mut() {
            launch.instructions = Some(3.0);
            launch.cycles = Some(1.0);
        }
        for launch in &mut run.benchmarks[0].times.launches {
            launch.wall_ns = 0.25;
        }
        run
    };
    let busy = || suite(3, 1, unchanged);
    let benchmarks = vec![busy().benchmarks[0].id.clone()];
    let warning = Warning::WorkRemoved { benchmarks };
    assert!(judged(&busy(), &removed()).warnings.contains(&warning));
    for (baseline, candidate) in [
        (removed(), removed()),
        (removed(), busy()),
        (busy(), busy()),
    ] {
        assert!(!judged(&baseline, &candidate).warnings.contains(&warning));
    }
}

#[test]
fn waiting_thread_is_a_warning() {
    let waiting = || {
        let mut run = suite(3, 1, unchanged);
        let times = run.benchmarks[0].times.launches.clone();
        let slots = run.benchmarks[0].slots_launches_mut();
        for (launch, time) in slots.iter_mut().zip(times) {
            launch.cycles = Some(0.05 * time.wall_ns);
        }
        run
    };
    let warning = Warning::MostlyWaiting { benchmarks: 1 };
    assert!(judged(&waiting(), &waiting()).warnings.contains(&warning));
    let busy = suite(3, 1, unchanged);
    assert!(!judged(&waiting(), &busy).warnings.contains(&warning));
    assert!(
        warning
            .to_string()
            .starts_with("one benchmark mostly waits: ")
    );
}
