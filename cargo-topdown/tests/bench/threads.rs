//! Benchmarks whose work is on threads other than the measured one.

use topdown_run::activity::UncountedWork;
use topdown_run::event::Event;
use topdown_run::provenance::{CountedThreads, SourceKind};
use topdown_run::run_file::Benchmark;

use crate::fixture::{Fixture, Outcome};

const THREADS: [&str; 14] = [
    "--bench",
    "threads",
    "--features",
    "threads",
    "--source",
    "model",
    "--model-budget",
    "1",
    "--sample-size",
    "10",
    "--warm-up-time",
    "0.02",
    "--measurement-time",
    "0.05",
];

/// Judged by time alone, because the threads of the process are more than the tracer has room for.
#[test]
fn work_on_untraced_threads_is_judged_by_time() {
    let fixture = Fixture::new();
    let bench = |factor, more: &[&str]| {
        // With fingerprints, so that a noisy time of `own` on a busy machine has no effect.
        let environment = [
            ("FIXTURE_IDLE_THREADS", "70"),
            ("FIXTURE_THREAD_WORK", factor),
            ("CARGO_TOPDOWN_NO_FINGERPRINTS", "false"),
        ];
        let words = [&THREADS[..], &["--launches", "3", "own|scoped"], more].concat();
        fixture.bench_with(&words, &environment)
    };
    let outcome = bench("100", &["--save", "main"]).succeeds();
    let told = outcome.stdout.matches("judged by time alone").count();
    assert_eq!(told, 1, "{}", outcome.stdout);
    for benchmark in &fixture.newest_run().benchmarks {
        let provenance = benchmark.provenance();
        let own = benchmark.id.name == "own";
        let why = "other threads not traced: the process has more than 64 threads";
        assert!(provenance.reason.contains(why), "{}", provenance.reason);
        match provenance.elsewhere {
            None => {
                assert!(own && provenance.source == SourceKind::Model);
                assert_eq!(benchmark.times.provenance.reason, "timed beside the model");
            }
            Some(UncountedWork::OtherThreads { fraction }) => {
                assert!(!own && provenance.source == SourceKind::Time);
                assert!(fraction > 0.3, "{}: {fraction}", benchmark.id);
            }
            other => panic!("{}: {other:?}", benchmark.id),
        }
        assert_eq!(benchmark.slots.is_some(), own);
    }

    // So much more work that starting a thread on a busy machine, some milliseconds, is little
    // beside it.
    bench("10000", &[]).succeeds();
    let compared = fixture.plain(&["topdown", "compare", "main", "--json"], &[]);
    let json: serde_json::Value = serde_json::from_str(&compared.stdout).unwrap();
    for verdict in json["benchmarks"].as_array().unwrap() {
        if verdict["id"]["name"] == "own" {
            assert_eq!(verdict["verdict"], "unchanged", "{verdict:#}");
            continue;
        }
        // How certain the time is depends on other load on this machine.
        assert!(
            ["regressed", "inconclusive"].contains(&verdict["verdict"].as_str().unwrap()),
            "{verdict:#}"
        );
        assert_eq!(verdict["elsewhere"]["kind"], "other_threads", "{verdict:#}");
        let effects = verdict["effects"].as_array().unwrap();
        assert_eq!(effects.len(), 1, "{verdict:#}");
        assert_eq!(effects[0]["metric"], "wall", "{verdict:#}");
        let difference = effects[0]["difference"].as_f64().unwrap();
        assert!(difference > 0.0, "{verdict:#}");
    }
    let reports = ["html", "markdown", "comment", "junit"].map(|format| {
        let path = fixture.state().with_extension(format);
        (format!("{format}={}", path.display()), path)
    });
    let mut words = vec!["topdown", "compare", "main"];
    for (request, _) in &reports {
        words.extend(["--report", request]);
    }
    let told = fixture.plain(&words, &[]).stdout;
    assert!(told.contains("judged by time alone"), "{told}");
    for (request, path) in &reports {
        let told = std::fs::read_to_string(path).unwrap();
        assert!(told.contains("judged by time alone"), "{request}: {told}");
    }
}

/// Based on rayon's `par_sum`, which took +837 % time at -39.9 % slots of the caller: it does less,
/// the other threads far more.
#[test]
fn much_slower_parallel_sum_has_regressed() {
    let fixture = Fixture::new();
    let bench = |factor, more: &[&str]| {
        let words = [&THREADS[..], &["par_sum"], more].concat();
        fixture
            .bench_with(&words, &[("FIXTURE_THREAD_WORK", factor)])
            .succeeds();
    };
    bench("1", &["--save", "main"]);
    bench("2", &[]);
    let compared = fixture.plain(&["topdown", "compare", "main", "--json"], &[]);
    assert_eq!(compared.code, Some(100), "{}", compared.stdout);
    let verdict = &verdicts(&compared)[0];
    assert_eq!(verdict["verdict"], "regressed", "{verdict:#}");
    assert_eq!(verdict["evidence"]["method"], "exact", "{verdict:#}");
    assert_eq!(verdict["effects"][0]["metric"], "slots", "{verdict:#}");
}

/// Also a benchmark that opens a measurement of its own.
#[test]
fn provenance_names_counted_threads() {
    let fixture = Fixture::new();
    let words = [&THREADS[..], &["own|scoped|pool"]].concat();
    fixture.bench(&words).succeeds();
    for benchmark in &fixture.newest_run().benchmarks {
        let provenance = benchmark.provenance();
        let expected = match &*benchmark.id.name {
            "own" => CountedThreads::Own,
            _ => CountedThreads::All,
        };
        assert_eq!(provenance.source, SourceKind::Model, "{provenance:?}");
        assert_eq!(provenance.threads, expected, "{}", benchmark.id);
        assert_eq!(provenance.elsewhere, None, "{}", benchmark.id);
    }
}

const COMPANIONS: [&str; 8] = [
    "--bench",
    "companions",
    "--features",
    "companions",
    "--source",
    "model",
    // For those that differ.
    "--launches",
    "10",
];

fn verdicts(compared: &Outcome) -> Vec<serde_json::Value> {
    let json: serde_json::Value = serde_json::from_str(&compared.stdout).unwrap();
    json["benchmarks"].as_array().unwrap().clone()
}

#[test]
fn slots_of_all_threads_repeat() {
    let fixture = Fixture::new();
    let run = |more: &[&str]| {
        let outcome = fixture.bench(&[&COMPANIONS, more].concat()).succeeds();
        (fixture.newest_run(), outcome)
    };
    let (run_before, outcome) = run(&["--save", "main"]);
    assert_eq!(run_before.benchmarks.len(), 9, "{}", outcome.stdout);
    let fixed = !outcome.stderr.contains("addresses cannot be fixed");
    for benchmark in &run_before.benchmarks {
        let provenance = benchmark.provenance();
        assert_eq!(provenance.source, SourceKind::Model, "{provenance:?}");
        assert_eq!(provenance.threads, CountedThreads::All, "{}", benchmark.id);
        assert!(
            !fixed || benchmark.launches_differ.is_none(),
            "{}",
            benchmark.id
        );
        let launches = benchmark.slots_launches();
        assert!(!fixed || launches.iter().all(|it| it.slots == launches[0].slots));
    }
    let (run_again, outcome) = run(&[]);
    for (before, again) in run_before.benchmarks.iter().zip(&run_again.benchmarks) {
        let slots = |it: &Benchmark| it.slots_launches().first().map(|it| it.slots);
        let are_same = slots(before) == slots(again);
        assert!(!fixed || are_same, "{}\n{}", before.id, outcome.stdout);
    }
    let compared = fixture.plain(&["topdown", "compare", "main", "--json"], &[]);
    for verdict in verdicts(&compared) {
        assert_ne!(verdict["verdict"], "regressed", "{verdict:#}");
    }
}

#[test]
fn shared_lines_are_another_formula() {
    let fixture = Fixture::new();
    let words = [&THREADS[..], &["own|pool"]].concat();
    let run = |more: &[&str]| {
        fixture.bench(&[&words, more].concat()).succeeds();
        fixture.newest_run()
    };
    let before = run(&["--save", "main"]);
    let shared = run(&["--shared-lines"]);
    for (before, shared) in before.benchmarks.iter().zip(&shared.benchmarks) {
        let formula = |it: &Benchmark| it.provenance().formula.clone();
        let slots = |it: &Benchmark| it.slots_launches()[0].slots;
        match &*before.id.name {
            "own" => {
                assert_eq!(formula(before), formula(shared));
                assert_eq!(slots(before), slots(shared));
            }
            _ => {
                assert_eq!(formula(before) + "+shared-lines", formula(shared));
                assert!(slots(before) < slots(shared), "{}", before.id);
            }
        }
    }
    let compared = fixture.plain(&["topdown", "compare", "main", "--json"], &[]);
    for verdict in verdicts(&compared) {
        let is_own = verdict["id"]["name"] == "own";
        let expected = if is_own {
            "unchanged"
        } else {
            "not_comparable"
        };
        assert_eq!(verdict["verdict"], expected, "{verdict:#}");
    }
}

/// In what workers do, in queues and in locks; unchanged code does not fail.
#[test]
fn slower_function_of_other_threads_is_named() {
    for (benchmarks, count, functions) in [
        ("scoped|rayon|started", 3, &["work"][..]),
        ("channel", 1, &["push"]),
        ("lock", 1, &["add_locked"]),
        ("queue", 1, &["handle", "enqueue", "dequeue", "acquire"]),
    ] {
        let fixture = Fixture::new();
        let words = [&COMPANIONS[..], &[benchmarks]].concat();
        let saved = [&words[..], &["--save", "main"]].concat();
        fixture.bench(&saved).succeeds();
        let compared = |slower: &str| {
            let slower = [("FIXTURE_SLOWER", slower)];
            fixture.bench_with(&words, &slower).succeeds();
            let compared = fixture.plain(&["topdown", "compare", "main", "--json"], &[]);
            let verdicts = verdicts(&compared);
            assert_eq!(verdicts.len(), count);
            (compared.code, verdicts)
        };
        let (code, verdicts) = compared("none");
        assert_ne!(code, Some(100), "{verdicts:#?}");
        for function in functions {
            let (code, verdicts) = compared(function);
            assert_eq!(code, Some(100), "{verdicts:#?}");
            for verdict in verdicts {
                assert_eq!(verdict["verdict"], "regressed", "{verdict:#}");
                let largest = &verdict["functions"][0]["name"];
                assert_eq!(*largest, format!("companions::{function}"), "{verdict:#}");
            }
        }
    }
}

/// `held` and `contended` depend on the order, only the first for its lock.
#[test]
fn contention_for_one_lock_is_named() {
    let fixture = Fixture::new();
    let words = [&COMPANIONS[..], &["held|contended", "--schedules", "6"]].concat();
    let told = fixture.bench(&words).succeeds().stdout;
    let (contended, held) = told.split_once("held ").expect("both benchmarks");
    assert!(
        held.contains("schedules contend more on the lock of `companions::add_when_free`, with up"),
        "{told}"
    );
    assert!(
        contended.contains("more slots: the order of its threads decides"),
        "{told}"
    );
    for benchmark in &fixture.newest_run().benchmarks {
        for schedule in benchmark.schedules() {
            let count = |event| schedule.events.get(event).expect("counts of threads");
            let is_held = benchmark.id.name == "held";
            // A thread that begins or ends may find some lock taken.
            assert_eq!(count(Event::LockWaits) > 1.0, is_held, "{schedule:?}");
            assert!(
                count(Event::ThreadSpins) >= count(Event::LockWaits),
                "{schedule:?}"
            );
        }
    }
}

#[test]
fn schedules_without_effect_are_stated() {
    let fixture = Fixture::new();
    let bench = |words: &[&str]| {
        let words = [&THREADS[..], &["own", "--schedules", "2"], words].concat();
        fixture.bench(&words)
    };
    let told = bench(&[]).succeeds().stderr;
    let why = "no benchmark has several threads on the model";
    assert!(
        told.contains(&format!("note: `schedules` has no effect: {why}")),
        "{told}"
    );
    assert_eq!(fixture.newest_run().benchmarks[0].schedules, None);
    let refused = bench(&["--launches", "1"]);
    refused.fails_with(
        2,
        "`schedules` is 2; it must be 1: with `--launches 1` nothing shows",
    );
}

/// In each order of its threads, `contended` executes other instructions.
#[test]
fn change_counts_only_in_all_schedules() {
    let fixture = Fixture::new();
    let words = [&COMPANIONS[..], &["contended"]].concat();
    fixture.bench(&words).succeeds();
    let alone = &fixture.newest_run().benchmarks[0];
    let words = [&words[..], &["--schedules", "6"]].concat();
    let saved = [&words[..], &["--save", "main"]].concat();
    let outcome = fixture.bench(&saved).succeeds();
    let before = &fixture.newest_run().benchmarks[0];
    // One that does not repeat, as on a busy machine, is left out.
    let schedules = before.schedules();
    assert!(schedules.len() > 3, "{}", outcome.stderr);
    assert_eq!(schedules[0].slots, before.slots_launches()[0].slots);
    assert_eq!(alone.schedules, None);
    if !outcome.stderr.contains("addresses cannot be fixed") {
        assert_eq!(alone.slots_launches()[0].slots, schedules[0].slots);
    }
    assert!(
        outcome
            .stdout
            .contains("more slots: the order of its threads decides")
    );

    let compared = |slower: &str| {
        let slower = [("FIXTURE_SLOWER", slower)];
        fixture.bench_with(&words, &slower).succeeds();
        let compared = fixture.plain(&["topdown", "compare", "main", "--json"], &[]);
        (compared.code, verdicts(&compared).remove(0))
    };
    let (code, verdict) = compared("order");
    assert_ne!(code, Some(100), "{verdict:#}");
    // On a busy machine its time may disagree.
    let slots = &verdict["effects"][0];
    let is_within_margin = slots["outcome"] == "below_margin";
    assert!(
        is_within_margin || slots["outcome"] == "depends_on_order",
        "{verdict:#}"
    );
    let (code, verdict) = compared("add_or_wait");
    assert_eq!(code, Some(100), "{verdict:#}");
    assert_eq!(verdict["verdict"], "regressed", "{verdict:#}");
    let changes = &verdict["schedules"];
    assert_eq!(changes["slower"], changes["schedules"], "{verdict:#}");
    assert!(changes["schedules"].as_u64() > Some(3), "{verdict:#}");
}

/// The system then shows a process that has exited, without files.
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
#[test]
fn bench_without_first_thread_is_measured() {
    let fixture = Fixture::new();
    let words = [
        &["--bench", "first_thread", "--features", "first-thread"][..],
        &["--launches", "2", "--sample-size", "10"],
        &["--warm-up-time", "0.02", "--measurement-time", "0.05"],
    ];
    fixture.bench(&words.concat()).succeeds();
    let run = fixture.newest_run();
    let [sum] = &run.benchmarks[..] else {
        panic!("{:?}", run.benchmarks);
    };
    assert_eq!((&*sum.id.name, sum.times.launches.len()), ("sum", 1));
}
