//! `cargo topdown history` from outside: its output for stored runs, and its exit codes.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use topdown_published_schema::check;

use tempfile::TempDir;
use topdown_counters::machine::this_machine;
use topdown_run::machine::Machine;
use topdown_run::run_file::{LaunchSamples, Run, SlotsValue, read_run, write_run};

const GOLDEN: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../crates/run/tests/data/run-v1"
);
const GOLDEN_KEY: &str = "x86_64-GenuineIntel-06-8f-08-kvm-smt";

struct Workspace(TempDir);

impl Workspace {
    fn new() -> Workspace {
        let root = tempfile::tempdir().unwrap();
        std::fs::write(root.path().join("Cargo.toml"), "[workspace]\n").unwrap();
        Workspace(root)
    }

    fn run(&self, arguments: &[&str]) -> Output {
        Command::new(env!("CARGO_BIN_EXE_cargo-topdown"))
            .args(arguments)
            .current_dir(self.0.path())
            .env_remove("CARGO_TOPDOWN_BASELINES")
            .output()
            .unwrap()
    }

    /// Returns the exit code, standard output and standard error.
    fn answer(&self, arguments: &[&str]) -> (i32, String, String) {
        let output = self.run(arguments);
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (
            output.status.code().unwrap(),
            text(output.stdout),
            text(output.stderr),
        )
    }

    /// Saves a run for each factor as `main`, one a day, with all numbers multiplied by the factor.
    fn save(&self, machine: &Machine, factors: &[f64]) {
        for (day, factor) in (1..).zip(factors) {
            self.save_day(machine, day, *factor);
        }
    }

    fn save_day(&self, machine: &Machine, day: usize, factor: f64) {
        let path = self.write(machine, day, factor);
        let (code, _, error) = self.answer(&["baseline", "save", "main", path.to_str().unwrap()]);
        assert_eq!(code, 0, "{error}");
    }

    /// Writes the run of a day, and returns its path.
    fn write(&self, machine: &Machine, day: usize, factor: f64) -> PathBuf {
        let mut run = Run {
            id: format!("run-{day}"),
            started_at: format!("2026-11-{day:02}T10:00:00Z"),
            machine: machine.clone(),
            ..read_run(Path::new(GOLDEN)).unwrap()
        };
        // Without the modelled one, and without what makes the runs the same by proof.
        run.benchmarks.truncate(3);
        for benchmark in &mut run.benchmarks {
            benchmark.fingerprint = None;
            benchmark.provenance_mut().elsewhere = None;
            for time in &mut benchmark.times.launches {
                time.wall_ns *= factor;
            }
            for slots in benchmark.slots_launches_mut() {
                scale(slots, factor);
            }
        }
        let none: [&LaunchSamples; 0] = [];
        let path = self.0.path().join(format!("runs/{day}"));
        write_run(&path, &run, none).unwrap();
        path
    }
}

fn scale(launch: &mut SlotsValue, factor: f64) {
    launch.slots *= factor;
    if let Some(level1) = &mut launch.level1 {
        level1.slots = level1.slots.map(|slots| slots * factor);
        level1.smt_contention_slots = level1.smt_contention_slots.map(|slots| slots * factor);
    }
    launch.level2 = None;
}

/// Ten runs before a step and ten after it, on a machine whose runs differ little.
fn step(size: f64) -> Vec<f64> {
    (0..20)
        .map(|run| [1.0, 1.002, 0.999][run % 3] * if run < 10 { 1.0 } else { 1.0 + size })
        .collect()
}

#[test]
fn step_has_its_day_and_fails_on_request() {
    let workspace = Workspace::new();
    workspace.save(&this_machine(), &step(0.2));
    let (code, text, error) = workspace.answer(&["history"]);
    assert_eq!(code, 0, "{error}");
    assert!(
        text.starts_with("main: 20 runs, 2026-11-01 to 2026-11-20"),
        "{text}"
    );
    assert!(text.contains("from 2026-11-11"), "{text}");
    let (code, _, _) = workspace.answer(&["history", "main", "--fail-on-change"]);
    assert_eq!(code, 100);
    let newest = ["history", "main", "--fail-on-change", "--newest", "9"];
    assert_eq!(workspace.answer(&newest).0, 0);
    let (_, json, _) = workspace.answer(&["history", "--json"]);
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    check("history", &json);
    assert_eq!(json["runs"].as_array().unwrap().len(), 20);
    let changes = json["benchmarks"][0]["changes"].as_array().unwrap();
    assert_eq!(changes.len(), 1, "{changes:?}");
    assert_eq!(changes[0]["kind"], "slower");
    assert_eq!(changes[0]["run"], 10);
}

#[test]
fn improvements_fail_nothing() {
    let workspace = Workspace::new();
    workspace.save(&this_machine(), &step(-0.2));
    let (code, text, _) = workspace.answer(&["history", "main", "--fail-on-change"]);
    assert_eq!(code, 0);
    assert!(text.contains("faster"), "{text}");
}

#[test]
fn pattern_selects_output_without_changing_verdicts() {
    let workspace = Workspace::new();
    workspace.save(&this_machine(), &step(0.2));
    let history = |arguments: &[&str]| -> serde_json::Value {
        serde_json::from_str(&workspace.answer(arguments).1).unwrap()
    };
    let all = history(&["history", "--json"]);
    let one = history(&["history", "--json", "--benchmark", "json/*"]);
    let shown = one["benchmarks"].as_array().unwrap();
    assert!(!shown.is_empty() && shown.len() < all["benchmarks"].as_array().unwrap().len());
    for benchmark in shown {
        assert!(all["benchmarks"].as_array().unwrap().contains(benchmark));
    }
    let (code, _, error) = workspace.answer(&["history", "--benchmark", "no/such"]);
    assert_eq!(code, 102);
    assert!(error.contains("no benchmark matches `no/such`"), "{error}");
}

#[test]
fn short_or_missing_history_is_not_a_pass() {
    let workspace = Workspace::new();
    let (code, _, error) = workspace.answer(&["history"]);
    assert_eq!(code, 102);
    assert!(error.contains("no baseline of this machine"), "{error}");
    workspace.save(&this_machine(), &[1.0; 5]);
    let (code, text, _) = workspace.answer(&["history"]);
    assert_eq!(code, 0);
    assert!(text.contains("need at least 6 runs"), "{text}");
    let (code, _, error) = workspace.answer(&["history", "--fail-on-change"]);
    assert_eq!(code, 102);
    assert!(
        error.contains("the history has only 5 of the 6 runs"),
        "{error}"
    );
}

#[test]
fn each_machine_has_its_own_history() {
    let workspace = Workspace::new();
    let golden = read_run(Path::new(GOLDEN)).unwrap().machine;
    workspace.save(&golden, &[1.0; 3]);
    assert_eq!(workspace.answer(&["history", "main"]).0, 102);
    let (code, text, error) = workspace.answer(&["history", "main", "--machine", GOLDEN_KEY]);
    assert_eq!(code, 0, "{error}");
    assert!(text.starts_with("main: 3 runs"), "{text}");
}

#[test]
fn unreadable_baseline_fails_by_file_name() {
    let workspace = Workspace::new();
    workspace.save(&this_machine(), &[1.0]);
    let stored = workspace
        .0
        .path()
        .join("baselines/main")
        .join(this_machine().key());
    std::fs::remove_dir_all(stored.join("history")).unwrap();
    std::fs::write(stored.join("run.json"), "{").unwrap();
    let (code, _, error) = workspace.answer(&["history", "main"]);
    assert_eq!(code, 102);
    assert!(error.contains("run.json"), "{error}");
}

#[test]
fn baseline_and_comparison_pages_draw_history() {
    let workspace = Workspace::new();
    workspace.save(&this_machine(), &step(0.2));
    let path = workspace.0.path().join("page.html");
    let report = format!("html={}", path.display());
    for arguments in [
        &["report", "main", "--html", path.to_str().unwrap()][..],
        &["compare", "main", "./runs/19", "--report", &report],
    ] {
        let (_, _, error) = workspace.answer(arguments);
        let page = std::fs::read_to_string(&path).unwrap_or_else(|_| panic!("{error}"));
        assert!(page.contains("<figure class=\"history\">"), "{arguments:?}");
        assert!(page.contains("from 2026-11-11"), "{arguments:?}");
        std::fs::remove_file(&path).unwrap();
    }
    // A run that is not a baseline has none.
    workspace.answer(&["report", "./runs/20", "--html", path.to_str().unwrap()]);
    let page = std::fs::read_to_string(&path).unwrap();
    assert!(!page.contains("<figure class=\"history\">"));
}

#[test]
fn creep_over_ten_merges_is_reported_by_compare() {
    let workspace = Workspace::new();
    // The output names the machine, so use a fixed one.
    let machine = read_run(Path::new(GOLDEN)).unwrap().machine;
    let creeping: Vec<f64> = (0..=10).map(|merge| 1.005_f64.powi(merge)).collect();
    let mut told = Vec::new();
    for day in 1..creeping.len() {
        workspace.save_day(&machine, day, creeping[day - 1]);
        workspace.write(&machine, day + 1, creeping[day]);
        let next = format!("./runs/{}", day + 1);
        let allowed = ["compare", "main", &next, "--allow-nothing-decided"];
        let (code, text, error) = workspace.answer(&allowed);
        assert_eq!(code, 0, "{error}");
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        told.push(words.contains("slower over time, in small steps"));
        if day + 1 == creeping.len() {
            insta::assert_snapshot!(text);
            let fails = ["compare", "main", &next, "--fail-on", "slower-over-time"];
            assert_eq!(workspace.answer(&fails).0, 100);
        }
    }
    assert_eq!(told[..4], [false; 4], "too few runs");
    assert_eq!(told.last(), Some(&true), "{told:?}");
}

#[test]
fn unchanged_history_is_not_reported() {
    let workspace = Workspace::new();
    let machine = this_machine();
    workspace.save(&machine, &step(0.0));
    workspace.write(&machine, 21, 1.001);
    let allowed = ["compare", "main", "./runs/21", "--allow-nothing-decided"];
    let (code, text, error) = workspace.answer(&allowed);
    assert_eq!(code, 0, "{error}");
    assert!(!text.contains("over time"), "{text}");
}
