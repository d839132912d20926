//! Files that `cargo topdown import` refuses, and how it says so.

use std::fs;
use std::path::Path;

use tempfile::TempDir;

use super::{
    DATA, NEOVERSE_V1, SAPPHIRE_RAPIDS, SKYLAKE, import, imported_text, split, topdown,
    with_decimals,
};

fn refusal(arguments: &[&str]) -> String {
    let directory = TempDir::new().unwrap();
    let out = directory.path().join("run");
    let output = topdown(&[&["import", "--out", out.to_str().unwrap()], arguments].concat());
    assert!(!output.status.success(), "{arguments:?}");
    assert!(!out.exists(), "a refused file leaves no run");
    String::from_utf8(output.stderr).unwrap()
}

#[test]
fn unusable_real_outputs_are_refused_with_reason() {
    let mut refusals = String::new();
    for (machine, file) in [
        (SKYLAKE, "perf-skx-topdownl1.json"),
        (SKYLAKE, "perf-skx-topdownl1.csv"),
        (SKYLAKE, "perf-skx-topdown.json"),
        (SKYLAKE, "perf-skx-topdown.csv"),
        (SAPPHIRE_RAPIDS, "perf-spr-topdown.json"),
        (SAPPHIRE_RAPIDS, "perf-spr-topdown.csv"),
        (SAPPHIRE_RAPIDS, "perf-spr-events-r3.json"),
        (SAPPHIRE_RAPIDS, "perf-spr-events-r3.csv"),
        (SAPPHIRE_RAPIDS, "perf-spr-interval.json"),
        (NEOVERSE_V1, "topdown-tool-metrics.csv"),
        (NEOVERSE_V1, "topdown-tool-events.csv"),
        (SKYLAKE, "wperf.json"),
        (SAPPHIRE_RAPIDS, "README.md"),
        (SAPPHIRE_RAPIDS, "no-such-file"),
    ] {
        refusals += &refusal(&["--machine", machine, file]);
    }
    insta::assert_snapshot!(refusals);
}

#[test]
fn malformed_files_are_refused_by_line_and_field() {
    let directory = TempDir::new().unwrap();
    let events = fs::read_to_string(format!("{DATA}/perf-spr-events.json")).unwrap();
    let csv = fs::read_to_string(format!("{DATA}/perf-spr-events.csv")).unwrap();
    let toplev = fs::read_to_string(format!("{DATA}/toplev.csv")).unwrap();
    let wperf = fs::read_to_string(format!("{DATA}/wperf.json")).unwrap();
    let retiring = "\"event\" : \"topdown-retiring\"";
    let mut refusals = String::new();
    for (what, content) in [
        ("cut", events[..events.len() / 2].to_owned()),
        (
            "not counted",
            csv.replacen("20114", "<not counted>,,slots,0,0.00,,\n20114", 1)
                .replace(",slots,8", ",cycles,8"),
        ),
        (
            "half the time",
            events.replacen("\"pcnt-running\" : 100.00", "\"pcnt-running\" : 50.25", 1),
        ),
        ("no event", events.replacen(retiring, "\"event\" : 7", 1)),
        (
            "no number",
            events.replacen("\"pcnt-running\" : 100.00", "\"pcnt-running\" : \"all\"", 1),
        ),
        (
            "negative",
            events.replacen("\"counter-value\" : \"", "\"counter-value\" : \"-", 1),
        ),
        (
            "twice",
            events.replace("topdown-bad-spec", "topdown-retiring"),
        ),
        (
            "two types of core",
            events
                .replacen("\"slots\"", "\"cpu_core/slots/\"", 1)
                .replacen("\"topdown-fe-bound\"", "\"cpu_atom/topdown-fe-bound/\"", 1),
        ),
        (
            "not all",
            events.replacen("\"counter-value\" : \"2", "\"counter-value\" : \"4", 1),
        ),
        (
            "nothing",
            "# started on Thu Jan  1 00:00:01 2026\n\n{}\n".to_owned(),
        ),
        ("csv without fields", csv.replacen(",8", "\n1,2,8", 1)),
        ("csv without a number", csv.replacen(",100.00,", ",all,", 1)),
        ("csv of intervals", csv.replace("\n2", "\n1.0,2")),
        ("toplev by turns", toplev.replacen("100.0,,", "3.71,,", 1)),
        ("toplev of CPUs", toplev.replace("Area,", "CPUs,Area,")),
        (
            "toplev of intervals",
            toplev.replace("Area,", "Timestamp,Area,"),
        ),
        (
            "toplev of several",
            toplev.replacen("0.0,100.0", "0.3,100.0", 1),
        ),
        (
            "toplev without a number",
            toplev.replacen("20.0", "high", 1),
        ),
        (
            "toplev without slots",
            toplev.replacen("SLOTS", "Info.IPC", 1),
        ),
        (
            "toplev without time",
            toplev.replacen("Time,", "Info.IPC,", 1),
        ),
        (
            "wperf by turns",
            wperf.replacen("\"event_note\": \"g0\"", "\"multiplexed\": \"9/10\"", 1),
        ),
        (
            "wperf without time",
            wperf.replacen("Time_elapsed", "Time", 1),
        ),
        ("wperf of intervals", format!("{{\"timeline\": [{wperf}]}}")),
    ] {
        let file = directory.path().join("file");
        fs::write(&file, content).unwrap();
        let machine = if what.starts_with("wperf") {
            NEOVERSE_V1
        } else {
            SAPPHIRE_RAPIDS
        };
        let text = refusal(&["--machine", machine, file.to_str().unwrap()]);
        refusals += &format!("{what}\n  {}", text.replace(file.to_str().unwrap(), "FILE"));
    }
    fs::write(directory.path().join("file"), [0xff, 0x80]).unwrap();
    let file = directory.path().join("file");
    refusals += &refusal(&[file.to_str().unwrap()]).replace(file.to_str().unwrap(), "FILE");
    insta::assert_snapshot!(refusals);
}

#[test]
fn user_statements_must_match_the_files() {
    let mut refusals = String::new();
    let directory = TempDir::new().unwrap();
    let written = |name: &str, content: &str| {
        fs::write(directory.path().join(name), content).unwrap();
        directory.path().join(name).to_str().unwrap().to_owned()
    };
    let empty = written("empty", "# started on Thu Jan  1 00:00:01 2026\n");
    let shares = [
        "retiring",
        "bad_speculation",
        "frontend_bound",
        "backend_bound",
    ];
    let lines = shares.map(|name| {
        format!("{{\"metric-value\" : 25.0, \"metric-unit\" : \"percent of slots  {name}\"}}\n")
    });
    let cycles = "{\"counter-value\" : \"100.0\", \"event\" : \"cpu_cycles\"}\n";
    let no_width = written("shares", &(lines.concat() + cycles));
    for arguments in [
        &[
            "--machine",
            SAPPHIRE_RAPIDS,
            "perf-spr-events.json",
            "perf-spr-topdownl1.json",
        ][..],
        &[
            "--machine",
            SAPPHIRE_RAPIDS,
            "perf-spr-events.json",
            "--seconds",
            "1,2",
        ],
        &[
            "--machine",
            NEOVERSE_V1,
            "perf-spr-events.json",
            "--format",
            "toplev",
        ],
        &["--machine", "spr", "perf-spr-events.json"],
        &["--seconds", "soon", "perf-spr-events.json"],
        &["--format", "perf-csv", &empty],
        &["--machine", "riscv64-unknown", &no_width],
    ] {
        refusals += &refusal(arguments).replace(directory.path().to_str().unwrap(), "DIRECTORY");
    }
    let told = ["--slots-per-cycle", "4", "--seconds", "1", &no_width];
    let (run, _) = import("riscv64-unknown", &told);
    assert_eq!(split(&run, 0), (400.0, [25.0; 4]));
    insta::assert_snapshot!(refusals);
}

#[test]
fn ambiguous_decimal_comma_is_refused_with_remedy() {
    let csv = fs::read_to_string(Path::new(DATA).join("perf-spr-topdownl1.csv")).unwrap();
    let said = imported_text(with_decimals(&csv, ',').as_bytes()).unwrap_err();
    assert!(said.contains("measure with `LC_ALL=C`"), "{said}");
}

#[test]
fn tables_of_perfspect_are_refused_by_name() {
    for table in [
        "TS,SKT,CPU,CID,CPU utilization %,TMA_Frontend_Bound(%)\n5.0,,,,10.1,20.2\n",
        "metric,mean,min,max,stddev\nPipeline Utilization - Frontend Bound (%),1,1,1,0\n",
    ] {
        let said = imported_text(table.as_bytes()).unwrap_err();
        assert!(said.contains("a table of PerfSpect"), "{said}");
    }
}

#[test]
fn events_of_other_machine_are_refused_with_remedy() {
    let file = if cfg!(target_arch = "aarch64") {
        "perf-skx-events.json"
    } else {
        "topdown-tool-events.csv"
    };
    let advice = "if another machine was measured, name it with --machine";
    let said = refusal(&[file]);
    assert!(said.contains(advice), "{said}");
    let said = refusal(&["--machine", SKYLAKE, "topdown-tool-events.csv"]);
    assert!(!said.contains(advice), "{said}");
}
