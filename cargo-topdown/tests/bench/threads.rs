//! Benchmarks whose work is on threads other than the measured one.

use topdown_run::activity::UncountedWork;
use topdown_run::provenance::SourceKind;

use crate::fixture::Fixture;

const THREADS: [&str; 14] = [
    "--bench",
    "threads",
    "--features",
    "threads",
    "--source",
    "model",
    "--model-budget",
    "0.2",
    "--sample-size",
    "10",
    "--warm-up-time",
    "0.02",
    "--measurement-time",
    "0.05",
];

/// The model only sees the measured thread, whose few slots say nothing about work that it hands
/// on.
#[test]
fn modelled_work_on_threads_is_judged_by_time() {
    let fixture = Fixture::new();
    let bench = |factor, more: &[&str]| {
        // With fingerprints, so that a noisy time of `own` on a busy machine has no effect.
        let environment = [
            ("FIXTURE_THREAD_WORK", factor),
            ("CARGO_TOPDOWN_NO_FINGERPRINTS", "false"),
        ];
        let words = [&THREADS[..], &["--launches", "3", "own|scoped|pool"], more].concat();
        fixture.bench_with(&words, &environment)
    };
    let outcome = bench("1", &["--save", "main"]).succeeds();
    let told = outcome.stdout.matches("judged by time alone").count();
    assert_eq!(told, 2, "{}", outcome.stdout);
    let why = "Time only: the work is not on the measured thread (timed beside the model); 2 of 3 \
               benchmarks\n";
    assert!(outcome.stdout.contains(why), "{}", outcome.stdout);
    for benchmark in &fixture.newest_run().benchmarks {
        let provenance = benchmark.provenance();
        let own = benchmark.id.name == "own";
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
    bench("1000", &[]).succeeds();
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

/// Based on rayon's `par_sum`, which took +837 % time at -39.9 % slots: the caller does less, the
/// other threads far more.
#[test]
fn much_slower_parallel_sum_has_regressed() {
    let fixture = Fixture::new();
    let bench = |factor, more: &[&str]| {
        let words = [&THREADS[..], &["--launches", "5", "par_sum"], more].concat();
        fixture
            .bench_with(&words, &[("FIXTURE_THREAD_WORK", factor)])
            .succeeds();
    };
    // Time is all that decides here, and other load can hide any growth of it once.
    for is_last in [false, false, true] {
        bench("1", &["--save", "main"]);
        bench("40", &[]);
        let compared = fixture.plain(&["topdown", "compare", "main", "--json"], &[]);
        let json: serde_json::Value = serde_json::from_str(&compared.stdout).unwrap();
        let verdict = &json["benchmarks"][0];
        assert_eq!(verdict["elsewhere"]["kind"], "other_threads", "{verdict:#}");
        assert_eq!(verdict["effects"][0]["metric"], "wall", "{verdict:#}");
        if verdict["verdict"] == "inconclusive" && !is_last {
            continue;
        }
        assert_eq!(verdict["verdict"], "regressed", "{verdict:#}");
        assert_eq!(compared.code, Some(100));
        break;
    }
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
