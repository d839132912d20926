//! `cargo topdown import` from outside: outputs of other tools in, a run file and text out.

#[path = "import/refusals.rs"]
mod refusals;

use std::fs;
use std::path::Path;
use std::process::Output;

use assert_cmd::Command;
use tempfile::TempDir;
use topdown_run::run_file::{Run, read_run};

const DATA: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/import");

const SAPPHIRE_RAPIDS: &str = "x86_64-GenuineIntel-06-8f-08-smt";
const GRANITE_RAPIDS: &str = "x86_64-GenuineIntel-06-ad-01-smt";
const ICE_LAKE: &str = "x86_64-GenuineIntel-06-6a-06-smt";
const SKYLAKE: &str = "x86_64-GenuineIntel-06-55-04-smt";
const ZEN_4: &str = "x86_64-AuthenticAMD-19-11-01-smt";
const NEOVERSE_V1: &str = "aarch64-0x41-08-d40-11";

/// Runs the program in the directory of the outputs.
fn topdown(arguments: &[&str]) -> Output {
    Command::cargo_bin("cargo-topdown")
        .unwrap()
        .args(arguments)
        .current_dir(DATA)
        .env_remove("COLUMNS")
        .env("LC_ALL", "C.UTF-8")
        .output()
        .unwrap()
}

fn import(machine: &str, arguments: &[&str]) -> (Run, String) {
    let directory = TempDir::new().unwrap();
    let out = directory.path().to_str().unwrap();
    let output = topdown(&[&["import", "--machine", machine, "--out", out], arguments].concat());
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    assert!(output.status.success(), "{}", text(output.stderr));
    (read_run(directory.path()).unwrap(), text(output.stdout))
}

/// Returns the slots, and the shares of level 1 in percent.
fn split(run: &Run, launch: usize) -> (f64, [f64; 4]) {
    let value = &run.benchmarks[0].slots_launches()[launch];
    let (slots, level1) = (value.slots, value.level1.unwrap());
    let percent = |part: f64| part / slots * 100.0;
    let shares = [
        percent(level1.slots.retiring),
        percent(level1.slots.bad_speculation),
        percent(level1.slots.frontend_bound),
        percent(level1.slots.backend_bound),
    ];
    (slots, shares)
}

fn assert_near(found: [f64; 4], expected: [f64; 4], tolerance: f64) {
    for (found_share, expected_share) in found.iter().zip(expected) {
        assert!(
            (found_share - expected_share).abs() <= tolerance,
            "{found:?}"
        );
    }
}

/// The mix that the emulated machines report.
const MIX: [f64; 4] = [40.0, 10.0, 20.0, 30.0];
/// One step of PERF_METRICS.
const STEP: f64 = 100.0 / 255.0;

#[test]
fn perf_output_has_the_generated_mix() {
    for (machine, file, formula, slots, tolerance) in [
        (
            SAPPHIRE_RAPIDS,
            "perf-spr-topdownl1.json",
            "perf-stat(cpu-time):tma_retiring*TOPDOWN.SLOTS/1",
            22_232_000.0,
            STEP,
        ),
        (
            SAPPHIRE_RAPIDS,
            "perf-spr-topdownl1.csv",
            "perf-stat(cpu-time):tma_retiring*TOPDOWN.SLOTS/1",
            22_300_000.0,
            STEP,
        ),
        // The same with retire latencies, which are neither counts nor times.
        (
            GRANITE_RAPIDS,
            "perf-gnr-tpebs.json",
            "perf-stat(cpu-time):tma_retiring*TOPDOWN.SLOTS/1",
            22_232_000.0,
            STEP,
        ),
        (
            GRANITE_RAPIDS,
            "perf-gnr-tpebs.csv",
            "perf-stat(cpu-time):tma_retiring*TOPDOWN.SLOTS/1",
            22_300_000.0,
            STEP,
        ),
        (
            SAPPHIRE_RAPIDS,
            "perf-spr-events.json",
            "perf-stat:topdown-retiring/1",
            20_114_864.0,
            STEP,
        ),
        (
            SAPPHIRE_RAPIDS,
            "perf-spr-events.csv",
            "perf-stat:topdown-retiring/1",
            20_114_864.0,
            STEP,
        ),
        (
            SAPPHIRE_RAPIDS,
            "perf-spr-default.json",
            "perf-stat(cpu-time):topdown-retiring/1",
            22_380_000.0,
            STEP,
        ),
        (
            ICE_LAKE,
            "perf-icx-topdownl1.json",
            "perf-stat(cpu-time):tma_retiring*TOPDOWN.SLOTS/1",
            22_420_000.0,
            STEP,
        ),
        (
            ICE_LAKE,
            "perf-icx-topdownl1.csv",
            "perf-stat(cpu-time):tma_retiring*TOPDOWN.SLOTS/1",
            22_420_000.0,
            STEP,
        ),
        (
            SKYLAKE,
            "perf-skx-events.json",
            "perf-stat:skylake-exact/1",
            4.0 * 5_060_360.0,
            0.01,
        ),
        (
            SKYLAKE,
            "perf-skx-events.csv",
            "perf-stat:skylake-exact/1",
            4.0 * 5_060_353.0,
            0.01,
        ),
        (
            ZEN_4,
            "perf-zen4-events.json",
            "perf-stat:zen-4/1",
            6.0 * 3_350_960.0,
            0.01,
        ),
        (
            ZEN_4,
            "perf-zen4-events.csv",
            "perf-stat:zen-4/1",
            6.0 * 3_350_960.0,
            0.01,
        ),
    ] {
        let (run, _) = import(machine, &[file]);
        assert_eq!(run.benchmarks[0].provenance().formula, formula, "{file}");
        assert_eq!(run.machine.key(), machine);
        let (found_slots, shares) = split(&run, 0);
        assert!(
            (found_slots / slots - 1.0).abs() < 1e-3,
            "{file}: {found_slots}"
        );
        assert_near(shares, MIX, tolerance);
    }
}

#[test]
fn level_2_time_and_resolution_are_kept() {
    let (run, _) = import(SAPPHIRE_RAPIDS, &["perf-spr-events.json"]);
    let benchmark = &run.benchmarks[0];
    let (value, time) = (&benchmark.slots_launches()[0], &benchmark.times.launches[0]);
    let memory_bound = value.level2.unwrap().backend_bound / value.slots;
    assert!((memory_bound - 0.18).abs() < STEP / 100.0);
    assert!((value.resolution_fraction - 1.0 / 255.0).abs() < 1e-6);
    // duration_time.
    assert!((9e6..11e6).contains(&time.wall_ns), "{}", time.wall_ns);
}

#[test]
fn each_appended_or_given_file_is_a_launch() {
    let (appended, _) = import(SAPPHIRE_RAPIDS, &["perf-spr-events-appended.json"]);
    assert_eq!(appended.benchmarks[0].launches(), 3);
    let files = ["perf-spr-events.json", "perf-spr-events.csv"];
    let (several, table) = import(SAPPHIRE_RAPIDS, &[&files[..], &["--as", "load"]].concat());
    assert_eq!(several.benchmarks[0].launches(), 2);
    assert_eq!(
        several.benchmarks[0].id.to_string(),
        "import::perf-stat::load"
    );
    insta::assert_snapshot!(table);
}

#[test]
fn documented_formats_of_other_tools_are_read() {
    let (toplev, table) = import(SAPPHIRE_RAPIDS, &["toplev.csv"]);
    assert_eq!(
        toplev.benchmarks[0].provenance().formula,
        "toplev-5.1-full:Retiring*SLOTS/1"
    );
    assert_near(split(&toplev, 0).1, MIX, STEP + 0.05);
    assert_eq!(toplev.benchmarks[0].times.launches[0].wall_ns, 6e9);
    insta::assert_snapshot!(table);

    let arguments = ["topdown-tool-events.csv", "--seconds", "0.35"];
    let (arm, _) = import(NEOVERSE_V1, &arguments);
    assert_eq!(
        arm.benchmarks[0].provenance().formula,
        "topdown-tool:neoverse-v1/1"
    );
    assert_eq!(split(&arm, 0).0, 8.0 * 3_571_721.0);
    assert_near(split(&arm, 0).1, MIX, 0.01);
    assert_eq!(arm.benchmarks[0].times.launches[0].wall_ns, 35e7);

    let (windows, _) = import(NEOVERSE_V1, &["wperf.json"]);
    assert_eq!(
        windows.benchmarks[0].provenance().formula,
        "wperf:neoverse-v1/1"
    );
    assert_eq!(split(&windows, 0).0, 8e6);
    assert_near(split(&windows, 0).1, [47.5, 10.5, 12.0, 30.0], 1e-6);
}

#[test]
fn imported_runs_compare_only_with_their_kind() {
    let directory = TempDir::new().unwrap();
    let path = |name: &str| directory.path().join(name).to_str().unwrap().to_owned();
    let import = |name: &str, arguments: &[&str]| {
        let (out, machine) = (path(name), SAPPHIRE_RAPIDS);
        let all = [&["import", "--out", &out, "--machine", machine], arguments].concat();
        assert!(topdown(&all).status.success());
    };
    let appended = "perf-spr-events-appended.json";
    import("base", &[appended]);
    import("same", &[appended]);
    import("other-way", &["perf-spr-topdownl1.json"]);
    import("other-version", &[appended, "--tool-version", "6.12"]);
    // Ten times the work.
    let slower = fs::read_to_string(Path::new(DATA).join(appended)).unwrap();
    let slower = slower.replace(".000000\", \"unit\"", "0.000000\", \"unit\"");
    let file = directory.path().join("slower.json");
    fs::write(&file, slower).unwrap();
    import("slower", &[file.to_str().unwrap()]);

    let code = |candidate: &str| {
        let output = topdown(&["compare", &path("base"), &path(candidate)]);
        let text = String::from_utf8(output.stdout).unwrap();
        (output.status.code().unwrap(), text)
    };
    // So few launches cannot show that nothing changed.
    assert_eq!(code("same").0, 104);
    assert_eq!(code("slower").0, 100);
    for (candidate, formula) in [
        ("other-way", "tma_retiring*TOPDOWN.SLOTS"),
        ("other-version", "perf-stat-6.12:topdown-retiring/1"),
    ] {
        let (exit, text) = code(candidate);
        assert_eq!(exit, 102, "{text}");
        assert!(text.contains(formula), "{text}");
    }
}

/// Returns the share of each named function, and the share of its slots that it retires, in
/// percent.
fn functions_of(run: &Run) -> Vec<(String, f64, f64)> {
    let functions = run.benchmarks[0].functions.as_ref().unwrap();
    let total = functions.total().slots() as f64;
    let row = |function: &topdown_run::run_file::Function| {
        let slots = function.counts.slots() as f64;
        let retiring = function.counts.level1_slots.retiring as f64 / slots;
        Some((
            function.name.clone()?,
            100.0 * slots / total,
            100.0 * retiring,
        ))
    };
    functions.largest.iter().filter_map(row).collect()
}

/// Of three functions, which have 60.9, 30.4 and 8.7 % of the slots, and retire in 10, 20 and 70 %
/// of theirs.
#[test]
fn recorded_group_gives_functions() {
    for (machine, file, formula) in [
        (
            SAPPHIRE_RAPIDS,
            "perf-script-spr.txt",
            "perf-script:topdown-retiring/1",
        ),
        (
            SKYLAKE,
            "perf-script-skx.txt",
            "perf-script:skylake-exact/1",
        ),
    ] {
        let (run, text) = import(machine, &["--as", "three", file]);
        assert_eq!(run.benchmarks[0].provenance().formula, formula);
        let found = functions_of(&run);
        let expected = [
            ("spin_c", 60.9, 10.0),
            ("spin_b", 30.4, 20.0),
            ("spin_a", 8.7, 70.0),
        ];
        for ((name, share, retiring), wanted) in found.iter().zip(expected) {
            assert_eq!(name, wanted.0, "{file}");
            assert!((share - wanted.1).abs() < 3.0, "{file}: {found:?}");
            assert!((retiring - wanted.2).abs() < 0.5, "{file}: {found:?}");
        }
        assert!(text.contains("spin_c (three)"), "{text}");
    }
}

/// Returns `text` with another decimal separator between digits.
fn with_decimals(text: &str, separator: char) -> String {
    let characters: Vec<char> = text.chars().collect();
    let is_digit = |at: usize| characters.get(at).is_some_and(char::is_ascii_digit);
    (0..characters.len())
        .map(|at| match characters[at] {
            '.' if at > 0 && is_digit(at - 1) && is_digit(at + 1) => separator,
            other => other,
        })
        .collect()
}

fn imported_text(text: &[u8]) -> Result<Run, String> {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("file");
    fs::write(&path, text).unwrap();
    let (path, out) = (path.to_str().unwrap(), directory.path().to_str().unwrap());
    let output = topdown(&["import", "--machine", SAPPHIRE_RAPIDS, "--out", out, path]);
    match output.status.success() {
        true => Ok(read_run(directory.path()).unwrap()),
        false => Err(String::from_utf8(output.stderr).unwrap()),
    }
}

#[test]
fn other_locales_and_encodings_give_the_same_shares() {
    let read = |file: &str| fs::read_to_string(Path::new(DATA).join(file)).unwrap();
    let json = read("perf-spr-topdownl1.json");
    let csv = read("perf-spr-topdownl1.csv").replace(',', ";");
    let utf16 = |text: &str| -> Vec<u8> {
        let units = "\u{feff}".encode_utf16().chain(text.encode_utf16());
        units.flat_map(u16::to_le_bytes).collect()
    };
    let german = |text: &str| with_decimals(text, ',').into_bytes();
    for (original, variants) in [
        (
            &json,
            vec![
                german(&json),
                with_decimals(&json, '\u{66b}').into_bytes(),
                json.replace('}', ", }").into_bytes(),
                german(&json.replace('}', ", }")),
                utf16(&json),
                utf16(&with_decimals(&json, ',')),
                format!("\u{feff}{json}").into_bytes(),
                json.replace('\n', "\r\n").into_bytes(),
            ],
        ),
        (
            &csv,
            vec![german(&csv), utf16(&csv), utf16(&with_decimals(&csv, ','))],
        ),
    ] {
        let expected = split(&imported_text(original.as_bytes()).unwrap(), 0);
        for variant in variants {
            let run = imported_text(&variant);
            let shown = String::from_utf8_lossy(&variant);
            assert_eq!(run.map(|run| split(&run, 0)), Ok(expected), "{shown}");
        }
    }
}

#[test]
fn a_metric_without_value_refuses_no_complete_counts() {
    let json = fs::read_to_string(Path::new(DATA).join("perf-spr-topdownl1.json")).unwrap();
    let row =
        |metric: &str| format!("{{\"metric-value\" : {metric}, \"metric-unit\" : \"%  m\"}}\n");
    let expected = imported_text(json.as_bytes()).map(|run| split(&run, 0));
    for value in ["nan", "\"nan\"", "-nan", "\"inf\""] {
        let with_metric = json.clone() + &row(value);
        let found = imported_text(with_metric.as_bytes()).map(|run| split(&run, 0));
        assert_eq!(found, expected, "{value}");
    }
    // Without a share, the counts say it.
    let share = json.replace("\"metric-value\" : 30.196079", "\"metric-value\" : nan");
    assert_ne!(share, json);
    let by_counts = imported_text(share.as_bytes()).unwrap();
    assert_near(split(&by_counts, 0).1, expected.unwrap().1, STEP);
    let needed = share.replace("topdown-fe-bound", "other");
    let said = imported_text(needed.as_bytes()).unwrap_err();
    assert!(
        said.contains("`tma_backend_bound` has no value: nan"),
        "{said}"
    );
}

#[test]
fn too_few_pmu_samples_give_a_note() {
    let directory = TempDir::new().unwrap();
    let all = fs::read_to_string(Path::new(DATA).join("perf-script-spr.txt")).unwrap();
    let few: Vec<&str> = all.lines().take(6 * 99).collect();
    let file = directory.path().join("few.txt");
    fs::write(&file, few.join("\n")).unwrap();
    let out = directory.path().join("run");
    let (file, out) = (file.to_str().unwrap(), out.to_str().unwrap());
    let output = topdown(&[
        "import",
        "--machine",
        SAPPHIRE_RAPIDS,
        "--out",
        out,
        "--as",
        "few",
        file,
    ]);
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{stderr}");
    assert!(
        stderr.contains("only 99 PMU samples; at least 100 are needed"),
        "{stderr}"
    );
    assert_eq!(
        read_run(Path::new(out)).unwrap().benchmarks[0].functions,
        None
    );
}
