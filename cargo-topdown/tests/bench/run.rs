//! The contents of a run of sound benches.

use topdown_run::provenance::SourceKind;
use topdown_run::run_file::{Benchmark, Run, read_samples};

use crate::fixture::Fixture;

fn benchmark<'a>(run: &'a Run, name: &str) -> &'a Benchmark {
    let found = run.benchmarks.iter().find(|b| b.id.name == name);
    found.unwrap_or_else(|| panic!("no benchmark {name} in {:?}", names(run)))
}

fn names(run: &Run) -> Vec<&str> {
    run.benchmarks.iter().map(|b| b.id.name.as_str()).collect()
}

#[test]
fn run_holds_slots_of_the_benches() {
    let fixture = Fixture::new();
    fixture.bench(&["--bench", "kernels"]).succeeds();
    let run = fixture.newest_run();
    assert_eq!(run.launch_settings.launches, 2);
    assert_eq!(run.launch_settings.sample_size, 10);
    assert_eq!(run.launch_settings.warm_up_ms, 1);
    assert_eq!(run.build.profile, "dev");
    assert!(run.build.rustc.starts_with("rustc 1."), "{:?}", run.build);
    assert!(run.build.target.contains('-'), "{:?}", run.build);
    assert!(run.started_at.ends_with('Z'), "{}", run.started_at);
    assert_eq!(run.machine.architecture, std::env::consts::ARCH);

    let forward = benchmark(&run, "sums/forward/20");
    assert_eq!(forward.id.to_string(), "suite::kernels::sums/forward/20");
    assert_eq!(forward.provenance().formula, "scripted/1");
    let throughput = forward.throughput.as_ref().unwrap();
    assert_eq!(
        (throughput.per_iteration, throughput.unit.as_str()),
        (20, "elements")
    );
    let launches: Vec<u32> = forward
        .slots_launches()
        .iter()
        .map(|value| value.launch)
        .collect();
    assert_eq!(launches, [0, 1]);
    for value in benchmark(&run, "chase").slots_launches() {
        assert_eq!(value.slots, 40.0);
        let backend_bound_slots = value.level1.unwrap().slots.backend_bound;
        assert!((backend_bound_slots - 30.0).abs() < 1e-9);
        let memory_bound_slots = value.level2.unwrap().backend_bound;
        assert!((memory_bound_slots - 15.0).abs() < 1e-9);
        assert_eq!((value.samples_used, value.samples_dropped), (10, 0));
    }
    // The set-up outside the windows costs a thousand.
    let batched = benchmark(&run, "batched/per iteration");
    assert!(
        batched
            .slots_launches()
            .iter()
            .all(|value| value.slots == 8.0)
    );
    // Longer than criterion allows for titles and directory names.
    let long = "long".repeat(30);
    let two = benchmark(&run, &format!("{long}/two"));
    assert!(two.slots_launches().iter().all(|value| value.slots == 2.0));
}

#[test]
fn every_sample_keeps_its_iterations() {
    let fixture = Fixture::new();
    fixture
        .bench(&["--bench", "kernels", "^batched/"])
        .succeeds();
    let samples = read_samples(&fixture.newest()).unwrap();
    let launches: Vec<u32> = samples.iter().map(|sample| sample.launch).collect();
    assert_eq!(launches, [0, 1]);
    for launch in &samples {
        assert_eq!(
            (launch.source, launch.samples.len()),
            (SourceKind::Hardware, 10)
        );
        for sample in &launch.samples {
            assert_eq!(sample.sample.slots, Some(8 * sample.iterations));
            assert_eq!(sample.sample.windows, sample.iterations);
        }
    }
}

#[test]
fn instances_and_wall_clock_share_a_process() {
    let fixture = Fixture::new();
    fixture.bench(&["--bench", "mixed"]).succeeds();
    let run = fixture.newest_run();
    assert_eq!(names(&run), ["first", "wall clock", "second"]);
    for (name, slots) in [
        ("first", Some(5.0)),
        ("second", Some(6.0)),
        ("wall clock", None),
    ] {
        let launches = benchmark(&run, name).slots_launches();
        assert_eq!(launches.is_empty(), slots.is_none(), "{name}");
        assert!(
            launches.iter().all(|value| Some(value.slots) == slots),
            "{name}"
        );
    }
    let clock = benchmark(&run, "wall clock");
    assert_eq!(clock.provenance().source, SourceKind::Time);
    assert!(clock.provenance().reason.contains("wall-clock"));
    assert!(clock.times.launches.iter().all(|value| value.wall_ns > 0.0));
}

#[test]
fn other_harnesses_are_named_and_never_started() {
    let fixture = Fixture::new();
    let outcome = fixture
        .bench(&["--package", "suite", "--exact", "first"])
        .succeeds();
    assert_eq!(names(&fixture.newest_run()), ["first"]);
    for (target, why) in [
        (
            "suite::libtest",
            "has no `harness = false` in its [[bench]] section, so libtest runs it",
        ),
        ("suite::own_harness", "does not use criterion"),
    ] {
        let note = format!("note: bench target `{target}` is left out: it {why}\n");
        assert!(outcome.stderr.contains(&note), "{}", outcome.stderr);
    }
    let outcome = fixture.bench(&["--bench", "libtest"]);
    outcome.fails_with(101, "none of the bench targets has a criterion benchmark");
}

#[test]
fn filter_without_match_is_an_error() {
    let fixture = Fixture::new();
    let outcome = fixture.bench(&["--bench", "kernels", "--bench", "mixed", "no such thing"]);
    outcome.fails_with(101, "no benchmark matches `no such thing`");
    assert!(!fixture.newest().exists());
    // FILTER is a regular expression unless `--exact` is given.
    let outcome = fixture.bench(&["--bench", "kernels", "--exact", "forward"]);
    outcome.fails_with(101, "no benchmark matches `forward`");
    fixture
        .bench(&["--bench", "kernels", "forward/.0$"])
        .succeeds();
    assert_eq!(
        names(&fixture.newest_run()),
        ["sums/forward/10", "sums/forward/20"]
    );
}

#[test]
fn baseline_is_saved_and_slowdown_found() {
    let fixture = Fixture::new();
    let save = ["--bench", "kernels", "--save-baseline", "main", "chase"];
    let outcome = fixture.bench(&save).succeeds();
    assert!(
        outcome.stdout.contains("saved baseline `main`"),
        "{}",
        outcome.stdout
    );
    fixture
        .bench_with(
            &["--bench", "kernels", "chase"],
            &[("FIXTURE_BACKEND_BOUND_SLOTS", "35")],
        )
        .succeeds();
    let slots = |run: &Run| benchmark(run, "chase").slots_launches()[0].slots;
    assert_eq!(slots(&fixture.baseline("main")), 40.0);
    assert_eq!(slots(&fixture.newest_run()), 45.0);
}

#[test]
fn flag_and_environment_settings_reach_benches() {
    let fixture = Fixture::new();
    let flags = ["--bench", "mixed", "--exact", "first", "--launches", "1"];
    let environment = [
        ("CARGO_TOPDOWN_SAMPLE_SIZE", "12"),
        ("CARGO_TOPDOWN_LAUNCHES", "5"),
    ];
    fixture.bench_with(&flags, &environment).succeeds();
    let run = fixture.newest_run();
    assert_eq!(
        (
            run.launch_settings.launches,
            run.launch_settings.sample_size
        ),
        (1, 12)
    );
    let launches = benchmark(&run, "first").slots_launches();
    assert_eq!(launches.len(), 1);
    assert_eq!(launches[0].samples_used, 12);
}

#[test]
fn package_settings_stay_in_the_package() {
    let fixture = Fixture::new();
    fixture
        .bench(&["--workspace", "--bench", "trouble", "--bench", "mixed", "f"])
        .succeeds();
    let run = fixture.newest_run();
    let launches = |name| benchmark(&run, name).launches();
    assert_eq!((launches("first"), launches("fine")), (2, 3));
    // The workspace's setting, since the packages differ.
    assert_eq!(run.launch_settings.launches, 2);
}

#[test]
fn no_run_starts_nothing() {
    let fixture = Fixture::new();
    fixture.bench(&["--bench", "mixed", "--no-run"]).succeeds();
    assert!(!fixture.newest().exists());
}

#[test]
fn usage_errors_precede_any_work() {
    let fixture = Fixture::new();
    let refused = |words: &[&str], text: &str| fixture.bench(words).fails_with(2, text);
    refused(
        &["--", "--save-baseline", "x"],
        "`--save-baseline` cannot be passed to criterion",
    );
    refused(&["--", "--baseline=x"], "use `cargo topdown compare NAME`");
    refused(&["--", "--profile-time", "1"], "it measures nothing");
    refused(
        &["--launches", "0"],
        "`launches` is 0; it must be 1 to 10000",
    );
    refused(&["--source", "magic"], "magic");
    refused(&["--counters", "magic"], "magic");
    refused(&["--exact"], "FILTER");
    refused(&["--save", "../x"], "../x");
}

#[test]
fn criterion_arguments_are_passed_on() {
    let fixture = Fixture::new();
    let words = ["--bench", "mixed", "--", "--nresamples", "2000", "^first$"];
    fixture.bench(&words).succeeds();
    assert_eq!(names(&fixture.newest_run()), ["first"]);
    let nothing = fixture.bench(&["--bench", "mixed", "--", "no such thing"]);
    nothing.fails_with(101, "no benchmark matches `no such thing`");
}

#[test]
fn build_failure_shows_cargo_output() {
    let fixture = Fixture::new();
    let outcome = fixture.bench(&["--bench", "no_such_target"]);
    let outcome = outcome.fails_with(101, "the benches could not be built");
    assert!(
        outcome.stderr.contains("no_such_target"),
        "{}",
        outcome.stderr
    );
    let elsewhere = fixture.bench(&["--manifest-path", "/nowhere/Cargo.toml"]);
    elsewhere.fails_with(101, "/nowhere/Cargo.toml");
}

#[test]
fn unknown_setting_is_named_before_the_build() {
    let package = package("[package]\nname = \"x\"\n[package.metadata.topdown]\nlauches = 3\n");
    let manifest = package.path().join("Cargo.toml");
    let outcome = Fixture::new().bench(&["--manifest-path", manifest.to_str().unwrap()]);
    outcome.fails_with(2, "unknown field `lauches`");
}

/// A package with this manifest and an empty library.
fn package(manifest: &str) -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    std::fs::create_dir(directory.path().join("src")).unwrap();
    std::fs::write(directory.path().join("src/lib.rs"), "").unwrap();
    std::fs::write(directory.path().join("Cargo.toml"), manifest).unwrap();
    directory
}

/// A package with this library, and a member `speed` that alone has benches. Tests share a target
/// directory, in which two packages of one name would be taken for the same.
fn beside_a_member_with_benches(name: &str, library: &str) -> tempfile::TempDir {
    let root = package(&format!(
        "[package]\nname = \"{name}\"\n[workspace]\nmembers = [\"speed\"]\n"
    ));
    std::fs::write(root.path().join("src/lib.rs"), library).unwrap();
    let member = root.path().join("speed");
    std::fs::create_dir_all(member.join("benches")).unwrap();
    std::fs::write(member.join("Cargo.toml"), "[package]\nname = \"speed\"\n").unwrap();
    std::fs::write(member.join("benches/b.rs"), "fn main() {}").unwrap();
    root
}

#[test]
fn package_without_benches_is_an_error() {
    let package = package("[package]\nname = \"x\"\n");
    let manifest = package.path().join("Cargo.toml");
    let outcome = Fixture::new().bench(&["--manifest-path", manifest.to_str().unwrap()]);
    outcome.fails_with(101, "no bench targets in the selected packages");
}

/// As in nom 8.0.0, whose benches are a member that cargo does not select by default.
#[test]
fn unselected_packages_with_benches_are_named() {
    let root = beside_a_member_with_benches("unselected", "");
    let manifest = root.path().join("Cargo.toml");
    let outcome = Fixture::new().bench(&["--manifest-path", manifest.to_str().unwrap()]);
    outcome.fails_with(
        101,
        "no bench targets in the selected packages; `--workspace` or `--package` selects those \
         that have some: speed",
    );
}

/// As in metrics (dae3a67), where a member without benches needs `protoc`.
#[test]
fn build_failure_names_packages_with_benches() {
    let broken = beside_a_member_with_benches("broken", "compile_error!(\"no protoc\");");
    let bench = |workspace: &tempfile::TempDir, more: &[&str]| {
        let manifest = workspace.path().join("Cargo.toml");
        let words = ["--manifest-path", manifest.to_str().unwrap()];
        Fixture::new().bench(&[&words, more].concat())
    };
    bench(&broken, &["--workspace"]).fails_with(
        101,
        "error: the benches could not be built; if a package without benches is in the way, leave \
         it out: `--package speed`\n",
    );
    // It is what was asked for.
    bench(&broken, &["--package", "broken"])
        .fails_with(101, "error: the benches could not be built\n");
    // So it is said of a base.
    let base = broken.path().to_str().unwrap();
    let expected = format!(
        "error: could not build the base {base}: the benches could not be built; if a package \
         without benches is in the way, leave it out: `--package speed`\n"
    );
    let candidate = beside_a_member_with_benches("mended", "");
    bench(&candidate, &["--workspace", "--against", base]).fails_with(101, &expected);
}

/// What is said if all benches of a package require `f` and `g`, of which it has these.
fn said_of_features_f_and_g(features: &str, said: &str) {
    let bench = "[[bench]]\nname = \"b\"\nharness = false\nrequired-features = [\"f\", \"g\"]\n";
    let package = package(&format!(
        "[package]\nname = \"x\"\n[features]\n{features}\n{bench}"
    ));
    std::fs::create_dir(package.path().join("benches")).unwrap();
    std::fs::write(package.path().join("benches/b.rs"), "fn main() {}").unwrap();
    let manifest = package.path().join("Cargo.toml");
    let outcome = Fixture::new().bench(&["--manifest-path", manifest.to_str().unwrap()]);
    outcome.fails_with(101, said);
}

/// As in metrics (dae3a67).
#[test]
fn benches_requiring_unknown_feature_are_named() {
    said_of_features_f_and_g(
        "f = []",
        "no bench target was built: `x::b` requires the feature `g`, which `x` does not have",
    );
}

#[test]
fn benches_needing_features_are_named() {
    said_of_features_f_and_g(
        "f = []\ng = []",
        "no bench target was built: `x::b` needs `--features f,g`",
    );
}

#[test]
fn unwritable_files_are_named() {
    let fixture = Fixture::new();
    let words = ["--bench", "mixed", "--exact", "first"];
    // The compiler needs temporary files too, so build first.
    fixture
        .bench(&[&words[..], &["--no-run"]].concat())
        .succeeds();
    let nowhere = [("TMPDIR", "/nowhere")];
    fixture
        .bench_with(&words, &nowhere)
        .fails_with(101, "could not make a temporary directory");
    let in_the_way = fixture.newest();
    std::fs::create_dir_all(in_the_way.parent().unwrap()).unwrap();
    std::fs::write(&in_the_way, "a file in the place of a directory").unwrap();
    fixture
        .bench(&words)
        .fails_with(101, "could not store the run");
}

#[test]
fn bench_output_is_shown_on_request() {
    let fixture = Fixture::new();
    let words = [
        "--package",
        "trouble",
        "--bench",
        "trouble",
        "--launches",
        "1",
    ];
    let talks = [("FIXTURE_TROUBLE", "talks")];
    let quiet = fixture.bench_with(&words, &talks).succeeds();
    assert!(
        !quiet.stderr.contains("a word of the bench"),
        "{}",
        quiet.stderr
    );
    let verbose = fixture
        .bench_with(&[&words[..], &["-v"]].concat(), &talks)
        .succeeds();
    assert!(
        verbose.stderr.contains("a word of the bench"),
        "{}",
        verbose.stderr
    );
}

#[test]
fn both_spellings_of_the_program_work() {
    let fixture = Fixture::new();
    let words = ["bench", "--bench", "mixed", "--exact", "first"];
    fixture.run(&words, &[]).succeeds();
    let first = fixture.newest_run().id;
    fixture
        .run(&[&["topdown"], &words[..]].concat(), &[])
        .succeeds();
    assert_ne!(fixture.newest_run().id, first);
}

#[test]
fn events_and_target_names_are_printed() {
    let fixture = Fixture::new();
    let words = ["--bench=kernels", "--launches=2", "chase"];
    let outcome = fixture.bench(&words).succeeds();
    for launch in ["Launch 1: kernels", "Launch 2 of 2: kernels"] {
        assert!(outcome.stderr.contains(launch), "{}", outcome.stderr);
    }
    let outcome = fixture.bench(&[&words[..], &["--message-format=json"]].concat());
    let outcome = outcome.succeeds();
    let events: Vec<serde_json::Value> = outcome
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let reasons: Vec<&str> = events
        .iter()
        .map(|event| event["reason"].as_str().unwrap())
        .collect();
    let launch = ["launch-started", "benchmark-started", "launch-finished"];
    let expected = [
        &["build-finished"][..],
        &launch,
        &launch,
        &["benchmark-finished", "run-finished"],
    ];
    assert_eq!(reasons, expected.concat());
    assert_eq!(events[2]["benchmark"], "chase");
    assert!(!outcome.stderr.contains("Launch"), "{}", outcome.stderr);
}

#[test]
fn saving_uncommitted_code_warns_before_build() {
    let directory = package("[package]\nname = \"p\"\nedition = \"2021\"\n[workspace]\n");
    let git = |words: &[&str]| {
        let mut git = std::process::Command::new("git");
        git.args(["-c", "user.name=a", "-c", "user.email=a@b"])
            .args(words);
        assert!(
            git.current_dir(directory.path())
                .status()
                .unwrap()
                .success()
        );
    };
    git(&["init", "--quiet"]);
    git(&["add", "."]);
    git(&["commit", "--quiet", "--message=1"]);
    let warned = || {
        let manifest = directory.path().join("Cargo.toml");
        let manifest = format!("--manifest-path={}", manifest.display());
        // There is nothing to bench, which the build finds.
        let outcome = Fixture::new().bench(&[&manifest, "--save=main"]);
        outcome.stderr.contains("uncommitted changes; `main`")
    };
    assert!(!warned());
    std::fs::write(directory.path().join("src/lib.rs"), "// changed\n").unwrap();
    assert!(warned());
}
