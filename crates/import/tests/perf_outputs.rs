//! Outputs of perf 6.1, 6.12 and 7.3 on emulated machines. All that are clear are read, the others
//! are refused with a reason. The counters report 40, 10, 20 and 30 % (retiring, bad speculation,
//! frontend, backend bound).
//!
//! A file has a machine's outputs: a line with `$` has the command, lines with `?` what perf said
//! where it failed.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use topdown_import::{ImportOptions, read_bytes};
use topdown_run::machine::Machine;

const MIX: [f64; 4] = [40.0, 10.0, 20.0, 30.0];
/// One step of PERF_METRICS, and what perf rounds to.
const TOLERANCE: f64 = 100.0 / 255.0 + 0.051;

fn intel(model: u32, stepping: u32) -> Machine {
    Machine {
        vendor: "GenuineIntel".to_owned(),
        family: 6,
        model,
        stepping,
        ..Machine::default()
    }
}

fn machine(name: &str) -> Machine {
    match name {
        "spr" => intel(0x8f, 8),
        "skx" => intel(0x55, 4),
        "adl" => intel(0x97, 2),
        "zen4" => Machine {
            vendor: "AuthenticAMD".to_owned(),
            ..Machine {
                family: 0x19,
                ..intel(0x11, 1)
            }
        },
        _ => panic!("{name}"),
    }
}

/// Returns what became of an output: its formula, or the reason of its refusal.
fn outcome(text: &str, machine: &Machine) -> String {
    let options = ImportOptions {
        format: None,
        tool_version: None,
        seconds: &[],
        slots_per_cycle: None,
        machine,
    };
    let imported = match read_bytes(text.as_bytes(), &options) {
        Ok(imported) => imported,
        Err(error) => return format!("refused: {error}"),
    };
    let sample = imported.samples[0].sample;
    assert!(sample.wall_ns > 0, "{text}");
    let slots = sample.slots.unwrap() as f64;
    let level1 = sample.level1.unwrap().slots;
    let shares = [
        level1.retiring,
        level1.bad_speculation,
        level1.frontend_bound,
        level1.backend_bound,
    ];
    for (share, expected) in shares.into_iter().zip(MIX) {
        let percent = 100.0 * share / slots;
        assert!((percent - expected).abs() < TOLERANCE, "{percent}: {text}");
    }
    let core = imported.provenance.core_type.as_deref().unwrap_or("cpu");
    format!(
        "{:.1} M slots of {core} by {}",
        slots / 1e6,
        imported.provenance.formula
    )
}

#[test]
fn shares_of_multiplexed_events_without_rows_are_refused() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/perf-6.12-spr.txt");
    let text = fs::read_to_string(file).unwrap();
    for (command, whole, part) in [
        (
            "-x, -- ./loop",
            ",100.00,,,,TopdownL1",
            ",57.00,,,,TopdownL1",
        ),
        (
            "-j -- ./loop",
            "100.00, \"metricgroup\" : \"TopdownL1",
            "57.00, \"metricgroup\" : \"TopdownL1",
        ),
    ] {
        let (_, output) = text
            .split_once(&format!("$ perf stat {command}\n"))
            .unwrap();
        let output = output.split("$ ").next().unwrap();
        assert!(output.contains(whole), "{output}");
        assert!(!outcome(output, &machine("spr")).contains("refused"));
        let refused = outcome(&output.replace(whole, part), &machine("spr"));
        assert!(
            refused.contains("`TopdownL1` was counted 57 % of the time"),
            "{refused}"
        );
    }
}

#[test]
fn clear_outputs_of_perf_are_read_and_others_refused_by_name() {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    let mut report = String::new();
    for version in ["6.1", "6.12", "7.3"] {
        for cpu in ["spr", "skx", "zen4", "adl"] {
            let file = data.join(format!("perf-{version}-{cpu}.txt"));
            let text = fs::read_to_string(file).unwrap();
            writeln!(report, "\nperf {version}, {cpu}").unwrap();
            let (_, outputs) = text.split_once("\n$ ").unwrap();
            for output in outputs.split("\n$ ") {
                let (command, rest) = output.split_once('\n').unwrap_or((output, ""));
                let lines = rest.lines().filter(|line| !line.starts_with("? "));
                let printed: Vec<&str> = lines.collect();
                let command = command.replace("perf stat ", "").replace(" -- ./loop", "");
                let outcome = outcome(&printed.join("\n"), &machine(cpu));
                writeln!(report, "  {command}\n      {outcome}").unwrap();
            }
        }
    }
    insta::assert_snapshot!(report);
}
