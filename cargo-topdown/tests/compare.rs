//! `cargo topdown compare` and `check` from outside: run files in, exit code and text out.

use std::fs;
use std::path::Path;
use std::process::Output;

use topdown_published_schema::check;

use assert_cmd::Command;
use tempfile::TempDir;
use topdown_counters::machine::this_machine;
use topdown_run::category::PerCategory;
use topdown_run::machine::Machine;
use topdown_run::provenance::{Provenance, SourceKind};
use topdown_run::run_file::{
    Benchmark, BenchmarkId, Build, Filter, LaunchSettings, LaunchValue, Run, Selection, SlotsValue,
    TimeValue, read_run, write_run,
};
use topdown_run::sample::Level1;

/// Six benchmarks of ten launches that differ by up to half a percent.
fn run(seed: u32, backend_slots: impl Fn(usize) -> f64) -> Run {
    let benchmarks = (0..6)
        .map(|index| {
            let launches = (0..10).map(|launch| {
                // A fixed pattern with mean zero, so that the tests do not depend on luck.
                let wobble = f64::from((launch * 7 + seed * 3 + index as u32) % 10) - 4.5;
                let level1 = Level1 {
                    slots: PerCategory {
                        retiring: 400.0,
                        bad_speculation: 100.0,
                        frontend_bound: 150.0,
                        backend_bound: backend_slots(index) + wobble,
                    },
                    smt_contention_slots: None,
                };
                LaunchValue {
                    time: TimeValue {
                        launch,
                        samples_used: 20,
                        wall_ns: level1.total_slots() / 24.0,
                        ..TimeValue::default()
                    },
                    slots: Some(SlotsValue {
                        launch,
                        samples_used: 20,
                        slots: level1.total_slots(),
                        level1: Some(level1),
                        ..SlotsValue::default()
                    }),
                }
            });
            Benchmark::of_launches(
                BenchmarkId {
                    package: "suite".to_owned(),
                    target: "bench".to_owned(),
                    name: format!("group/b{index}"),
                },
                Provenance::new(SourceKind::Hardware, "test/1", "a test"),
                launches,
            )
        })
        .collect();
    Run {
        id: format!("run-{seed}"),
        started_at: "2026-11-20T10:00:00Z".to_owned(),
        tool_version: "0.1.0".to_owned(),
        machine: Machine::default(),
        build: Build::default(),
        launch_settings: LaunchSettings {
            launches: 10,
            sample_size: 20,
            warm_up_ms: 100,
            measurement_ms: 250,
        },
        competing_threads: None,
        shard: None,
        failed: Vec::new(),
        selection: Selection::default(),
        benchmarks,
    }
}

fn unchanged(_: usize) -> f64 {
    350.0
}

/// `group/b2` takes 8 % more slots, all of them backend bound.
fn one_slower(index: usize) -> f64 {
    if index == 2 { 430.0 } else { 350.0 }
}

struct Fixture {
    directory: TempDir,
}

impl Fixture {
    /// A directory with the runs `a` and `b`, outside any workspace.
    fn new(candidate: &Run) -> Fixture {
        let directory = tempfile::tempdir().unwrap();
        write_run(&directory.path().join("a"), &run(1, unchanged), []).unwrap();
        write_run(&directory.path().join("b"), candidate, []).unwrap();
        Fixture { directory }
    }

    /// Like [`new`](Fixture::new), in a workspace with this policy.
    fn with_policy(candidate: &Run, policy: &str) -> Fixture {
        let fixture = Fixture::new(candidate);
        let manifest = format!("[workspace]\n{policy}\n");
        fs::write(fixture.path().join("Cargo.toml"), manifest).unwrap();
        fixture
    }

    fn path(&self) -> &Path {
        self.directory.path()
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::cargo_bin("cargo-topdown").unwrap();
        command
            .current_dir(self.path())
            .env_remove("CARGO_TOPDOWN_FAIL_ON")
            .env_remove("COLUMNS")
            .env("LC_ALL", "C.UTF-8")
            .args(arguments);
        command
    }

    fn topdown(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }

    /// Returns the exit code and output of `compare ./a ./b` with additional arguments.
    fn compare(&self, more: &[&str]) -> (i32, String) {
        let output = self.topdown(&[&["topdown", "compare", "./a", "./b"], more].concat());
        (
            output.status.code().unwrap(),
            String::from_utf8(output.stdout).unwrap() + &String::from_utf8_lossy(&output.stderr),
        )
    }
}

#[test]
fn unchanged_exits_0_and_slower_exits_100() {
    let (code, text) = Fixture::new(&run(2, unchanged)).compare(&[]);
    assert_eq!(code, 0, "{text}");
    assert!(text.starts_with("PASSED"), "{text}");
    let (code, text) = Fixture::new(&run(2, one_slower)).compare(&[]);
    assert_eq!(code, 100, "{text}");
    assert!(text.starts_with("REGRESSED: 1 of 6"), "{text}");
    assert!(text.contains("`group/b2` is 8.0 % slower"), "{text}");
    assert!(text.contains("points backend bound"), "{text}");
}

#[test]
fn columns_variable_sets_width_without_terminal() {
    let fixture = Fixture::new(&run(2, one_slower));
    let mut command = fixture.command(&["topdown", "compare", "./a", "./b"]);
    let output = command.env("COLUMNS", "60").output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let widest = text.lines().map(|line| line.chars().count()).max();
    assert!(widest.is_some_and(|columns| columns <= 60), "{text}");
}

#[test]
fn other_machine_exits_102_and_names_field() {
    let mut other = run(2, unchanged);
    other.machine.vendor = "AuthenticAMD".to_owned();
    let (code, text) = Fixture::new(&other).compare(&[]);
    assert_eq!(code, 102, "{text}");
    assert!(text.contains("CPU vendor"), "{text}");
}

#[test]
fn modelled_baseline_of_other_cpu_is_used() {
    let modelled = |slower: fn(usize) -> f64, core: &str| {
        let mut run = run(2, slower);
        run.machine.architecture = this_machine().architecture;
        for benchmark in &mut run.benchmarks {
            benchmark.provenance_mut().source = SourceKind::Model;
            benchmark.provenance_mut().formula = format!("model-{core}/3");
        }
        run
    };
    let mut elsewhere = modelled(unchanged, "golden-cove");
    elsewhere.id = "elsewhere".to_owned();
    elsewhere.machine.vendor = "AuthenticAMD".to_owned();
    for (candidate, expected, parts) in [
        (
            modelled(unchanged, "golden-cove"),
            0,
            ["PASSED", "code that detects CPU features may differ"],
        ),
        (
            modelled(one_slower, "golden-cove"),
            100,
            ["REGRESSED: 1 of 6", "+8.0 points backend bound"],
        ),
        (
            modelled(unchanged, "zen-5"),
            102,
            [
                "modelled core: `golden-cove` in the baseline, `zen-5` in the candidate",
                "`--model-core golden-cove` models the baseline's core",
            ],
        ),
    ] {
        let fixture = Fixture::with_policy(&candidate, "");
        write_run(&fixture.path().join("elsewhere"), &elsewhere, []).unwrap();
        let saved = fixture.topdown(&["topdown", "baseline", "save", "main", "./elsewhere"]);
        assert!(saved.status.success(), "{saved:?}");
        let output = fixture.topdown(&["topdown", "compare", "main", "./b"]);
        let text = String::from_utf8(output.stdout).unwrap();
        // Long lines are wrapped.
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(output.status.code(), Some(expected), "{text}");
        for part in parts {
            assert!(text.contains(part), "no `{part}` in {text}");
        }
    }
}

#[test]
fn other_compiler_exits_102_unless_allowed() {
    let mut other = run(2, unchanged);
    other.build.rustc = "rustc 1.99.0".to_owned();
    let fixture = Fixture::new(&other);
    assert_eq!(fixture.compare(&[]).0, 102);
    let (code, text) = fixture.compare(&["--across-builds"]);
    assert_eq!(code, 0, "{text}");
    assert!(text.contains("rustc"), "{text}");
}

#[test]
fn json_and_explain_are_complete() {
    let fixture = Fixture::new(&run(2, one_slower));
    let (code, json) = fixture.compare(&["--json"]);
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    check("comparison", &json);
    assert_eq!((code, json["exit_code"].as_i64()), (100, Some(100)));
    assert_eq!(json["benchmarks"][2]["verdict"], "regressed");
    assert_eq!(
        json["benchmarks"][2]["cause"]["kind"]["category"],
        "backend_bound"
    );
    let (code, text) = fixture.compare(&["--explain", "b2"]);
    assert_eq!(code, 100, "{text}");
    assert!(text.contains("→  regressed"), "{text}");
    let (code, text) = fixture.compare(&["--explain", "group"]);
    assert_eq!(code, 2, "{text}");
    assert!(text.contains("suite::bench::group/b5"), "{text}");
    assert_eq!(fixture.compare(&["--explain", "nothing"]).0, 2);
}

#[test]
fn manifest_and_flag_policy_decide_failure() {
    let fixture = Fixture::with_policy(
        &run(2, one_slower),
        "[[workspace.metadata.topdown.policy.benchmarks]]\n\
         matching = \"group/b2\"\n\
         margins = { slots = \"12 %\", wall = \"12 %\", categories = \"12 %\" }",
    );
    let (code, text) = fixture.compare(&[]);
    assert_eq!(code, 0, "{text}");
    let (code, text) = fixture.compare(&["--margin", "slots=5%"]);
    assert_eq!(code, 100, "{text}");
    let (code, text) = fixture.compare(&["--margin", "slots=5"]);
    assert_eq!(code, 2, "{text}");
}

#[test]
fn invalid_policy_exits_2_and_names_the_key() {
    let fixture = Fixture::with_policy(
        &run(2, unchanged),
        "[workspace.metadata.topdown.policy]\nfail-un = [\"shifted\"]",
    );
    let (code, text) = fixture.compare(&[]);
    assert_eq!(code, 2, "{text}");
    assert!(text.contains("Cargo.toml"), "{text}");
    assert!(text.contains("fail-un"), "{text}");
}

#[test]
fn missing_benchmark_fails_unless_allowed() {
    let mut fewer = run(2, unchanged);
    fewer.benchmarks.pop();
    let fixture = Fixture::new(&fewer);
    let (code, text) = fixture.compare(&[]);
    assert_eq!(code, 100, "{text}");
    assert!(text.contains("1 benchmark of `./a` is missing"), "{text}");
    assert_eq!(fixture.compare(&["--allow-missing"]).0, 0);
    let allowed = Fixture::with_policy(
        &fewer,
        "[workspace.metadata.topdown.policy]\nallow-missing = true",
    );
    assert_eq!(allowed.compare(&[]).0, 0);
}

#[test]
fn filtered_out_benchmarks_are_not_missing() {
    let mut one = run(2, unchanged);
    one.benchmarks.truncate(1);
    one.selection.filter = Some(Filter {
        expression: "b0".to_owned(),
        exact: false,
    });
    let (code, text) = Fixture::new(&one).compare(&[]);
    assert_eq!(code, 0, "{text}");
    insta::assert_snapshot!(text);
}

#[test]
fn self_comparison_exits_102() {
    let fixture = Fixture::new(&run(2, unchanged));
    let output = fixture.topdown(&["compare", "./a", "./a"]);
    assert_eq!(output.status.code(), Some(102));
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(
        text.contains("`./a` and `./a` are the same run, run-1"),
        "{text}"
    );
}

#[test]
fn single_launch_has_no_interval() {
    let mut one = run(2, one_slower);
    one.launch_settings.launches = 1;
    for benchmark in &mut one.benchmarks {
        benchmark.times.launches.truncate(1);
        let slots = benchmark.slots.as_mut().unwrap();
        slots.launches.truncate(1);
    }
    let (code, text) = Fixture::new(&one).compare(&[]);
    assert_eq!(code, 104, "{text}");
    insta::assert_snapshot!(text);
}

#[test]
fn extreme_differences_are_short() {
    let mut extreme = run(2, unchanged);
    for launch in extreme.benchmarks[0].slots_launches_mut() {
        let mut level1 = launch.level1.unwrap();
        level1.slots.backend_bound = 1e15;
        launch.slots = level1.total_slots();
        launch.level1 = Some(level1);
    }
    for time in &mut extreme.benchmarks[0].times.launches {
        time.wall_ns = 1e15;
    }
    for launch in extreme.benchmarks[1].slots_launches_mut() {
        launch.slots = 0.0;
        launch.level1 = Some(Level1::default());
    }
    let (code, text) = Fixture::new(&extreme).compare(&[]);
    assert_eq!(code, 100, "{text}");
    insta::assert_snapshot!(text);
}

#[test]
fn no_common_benchmark_exits_102() {
    let mut none = run(2, unchanged);
    none.benchmarks.clear();
    let (code, text) = Fixture::new(&none).compare(&[]);
    assert_eq!(code, 102, "{text}");
    assert!(text.contains("no benchmark in common"), "{text}");
}

#[test]
fn budgets_are_checked_without_a_baseline() {
    let budgets = |retiring: &str| {
        format!(
            "[[workspace.metadata.topdown.policy.budgets]]\n\
             matching = \"group/*\"\nretiring = \"{retiring}\""
        )
    };
    for (budget, expected) in [(">= 30 %", 0), (">= 60 %", 100), ("60", 2)] {
        let fixture = Fixture::with_policy(&run(2, unchanged), &budgets(budget));
        let output = fixture.topdown(&["check", "./a"]);
        assert_eq!(output.status.code(), Some(expected), "{budget}: {output:?}");
    }
    let fixture = Fixture::with_policy(&run(2, unchanged), "");
    let output = fixture.topdown(&["check", "./a"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("no budgets"));
}

#[test]
fn accepted_regression_passes_until_it_grows() {
    let fixture = Fixture::with_policy(&run(2, one_slower), "");
    assert_eq!(fixture.compare(&[]).0, 100);
    let accept = |bench: &str| {
        let reason = "checks every input now";
        let baseline = ["topdown", "baseline", "accept", "./a", bench];
        fixture.topdown(&[&baseline[..], &["--run", "./b", "--reason", reason]].concat())
    };
    let refused = accept("b1");
    assert_eq!(refused.status.code(), Some(2), "{refused:?}");
    let output = accept("b2");
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let (code, text) = fixture.compare(&[]);
    assert_eq!(code, 0, "{text}");
    assert!(text.contains("accepted: checks every input now"), "{text}");

    let much_slower = run(3, |index| if index == 2 { 480.0 } else { 350.0 });
    write_run(&fixture.path().join("b"), &much_slower, []).unwrap();
    assert_eq!(fixture.compare(&[]).0, 100);

    write_run(&fixture.path().join("b"), &run(2, one_slower), []).unwrap();
    write_run(&fixture.path().join("a"), &run(4, unchanged), []).unwrap();
    let (code, text) = fixture.compare(&[]);
    assert_eq!(code, 100, "{text}");
    assert!(text.contains("have expired with their baseline"), "{text}");
}

/// The files in `tests/data/malformed` are refused by name on either side, with exit code 102.
#[test]
fn benchmarks_of_one_run_are_compared_with_each_other() {
    let fixture = Fixture::new(&run(2, one_slower));
    let versus = |words: &[&str]| {
        let run = [&["topdown", "versus"], words, &["--run", "./b"]].concat();
        let output = fixture.topdown(&run);
        let text = String::from_utf8(output.stdout).unwrap();
        let code = output.status.code().unwrap();
        (code, text + &String::from_utf8_lossy(&output.stderr))
    };
    insta::assert_snapshot!(versus(&["group/b2", "b0"]).1);
    insta::assert_snapshot!(versus(&["group"]).1);
    for pair in [
        &["group/b2", "group/b1", "--json"][..],
        &["group", "--json"],
    ] {
        let (code, json) = versus(pair);
        check("versus", &serde_json::from_str(&json).unwrap());
        assert_eq!(code, 0, "{json}");
    }
    for (words, expected) in [
        (&["group/b9", "b1"][..], "`group/b9` is not in the run"),
        (
            &["b1", "group"],
            "`group` matches several benchmarks; name one of",
        ),
        (&["grou"], "no benchmark's name begins with `grou/`"),
        (&["group", "b1", "--html", "x.html"], "cannot be used with"),
    ] {
        let (code, text) = versus(words);
        assert_eq!(code, 2, "{text}");
        assert!(text.contains(expected), "{text}");
    }
    let page = fixture.path().join("group.html");
    assert_eq!(versus(&["group", "--html", page.to_str().unwrap()]).0, 0);
    assert!(fs::read_to_string(page).unwrap().contains("TopDown: group"));
}

#[test]
fn runs_are_exported_for_other_tools() {
    let fixture = Fixture::new(&run(2, one_slower));
    let exported = |format: &str| {
        let output = fixture.topdown(&["topdown", "report", "./b", "--export", format]);
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    let bmf: serde_json::Value = serde_json::from_str(&exported("bmf")).unwrap();
    assert_eq!(
        bmf["suite::bench::group/b2"]["backend-bound"]["value"],
        430.0
    );
    assert!(exported("github-action-benchmark").contains("\"unit\": \"slots/iter\""));
    assert!(exported("openmetrics").ends_with("# EOF\n"));
    assert_eq!(exported("ndjson").lines().count(), 6);
}

#[test]
fn accepted_benchmark_passes_and_others_fail() {
    let fixture = Fixture::new(&run(2, one_slower));
    for (benchmark, expected) in [("group/b2", 0), ("suite::bench::group/b2", 0), ("b2", 100)] {
        let accept = format!("--accept={benchmark}: checks more");
        let (code, text) = fixture.compare(&[&accept]);
        assert_eq!(code, expected, "{benchmark}: {text}");
        assert_eq!(
            text.contains("accepted: checks more"),
            expected == 0,
            "{text}"
        );
    }
    let (code, text) = fixture.compare(&["--accept=group/b2"]);
    assert_eq!(code, 2, "{text}");
    assert!(text.contains("is not `BENCH: REASON`"), "{text}");
}

#[test]
fn malformed_file_never_passes() {
    let corpus = Path::new(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../crates/run/tests/data/malformed/run"
    ));
    let fixture = Fixture::new(&run(2, unchanged));
    let valid = corpus.join("valid.json");
    let text = |path: &Path| path.to_str().unwrap().to_owned();
    let mut refused = 0;
    for entry in fs::read_dir(corpus).unwrap() {
        let file = entry.unwrap().path();
        if file == valid {
            continue;
        }
        let mut sides = [text(&valid), text(&file)];
        // Each on one side only, since each takes a process.
        if refused % 2 == 0 {
            sides.reverse();
        }
        let output = fixture.topdown(&["compare", &sides[0], &sides[1]]);
        let error = String::from_utf8_lossy(&output.stderr);
        assert_eq!(
            output.status.code(),
            Some(102),
            "{}: {error}",
            file.display()
        );
        assert!(
            error.contains(&text(&file)) && output.stdout.is_empty(),
            "{error}"
        );
        refused += 1;
    }
    assert!(refused > 50, "{refused}");
    let again = Run {
        id: "again".to_owned(),
        ..read_run(&valid).unwrap()
    };
    write_run(&fixture.path().join("again"), &again, []).unwrap();
    // One launch decides nothing.
    let arguments = ["compare", &text(&valid), "./again"];
    assert_eq!(fixture.topdown(&arguments).status.code(), Some(104));
    let allowed = [&arguments[..], &["--allow-nothing-decided"]].concat();
    assert_eq!(fixture.topdown(&allowed).status.code(), Some(0));
}
