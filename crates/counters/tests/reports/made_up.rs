//! A report that should be accepted, and its neighbours that should not.

use serde_json::{Value, json};

use super::{Report, faults};

/// The loops and their shares.
const LOOPS: [(&str, [f64; 4]); 7] = [
    ("retiring/independent_adds", [0.85, 0.01, 0.04, 0.10]),
    ("core_bound/multiply_chain", [0.10, 0.00, 0.02, 0.88]),
    ("core_bound/divide_chain", [0.08, 0.00, 0.02, 0.90]),
    ("memory_bound/pointer_chase", [0.02, 0.00, 0.01, 0.97]),
    ("memory_bound/stores", [0.15, 0.00, 0.02, 0.83]),
    ("bad_speculation/random_branches", [0.30, 0.40, 0.20, 0.10]),
    ("frontend_bound/large_code", [0.25, 0.05, 0.62, 0.08]),
];

const CYCLES: f64 = 1e6;

/// Skylake's counts of a loop with these shares, four slots in a cycle.
fn counts(shares: [f64; 4]) -> Value {
    let slots = 4.0 * CYCLES;
    let [retiring, bad_speculation, frontend_bound, _] = shares;
    json!({
        "CPU_CLK_UNHALTED.THREAD": CYCLES as u64,
        "INST_RETIRED.ANY": 900_000,
        "IDQ_UOPS_NOT_DELIVERED.CORE": (frontend_bound * slots) as u64,
        "UOPS_ISSUED.ANY": ((retiring + bad_speculation) * slots) as u64,
        "UOPS_RETIRED.RETIRE_SLOTS": (retiring * slots) as u64,
        "INT_MISC.RECOVERY_CYCLES": 0,
    })
}

fn report() -> Value {
    let loops = LOOPS.map(|(name, shares)| {
        json!({
            "name": name,
            "slots": (4.0 * CYCLES) as u64,
            "cycles": CYCLES as u64,
            "level1": {
                "retiring": shares[0],
                "bad_speculation": shares[1],
                "frontend_bound": shares[2],
                "backend_bound": shares[3],
            },
            "flags": [],
            "counts": counts(shares),
        })
    });
    json!({
        "machine": {
            "architecture": "x86_64", "vendor": "GenuineIntel", "family": 6, "model": 0x55,
            "stepping": 4, "name": "made up", "cpus": 2,
        },
        "table": "Skylake … Cascade Lake",
        "categories": [{
            "counters": "exact",
            "provenance": { "formula": "skylake-exact/1" },
            "loops": loops,
        }],
    })
}

fn faults_after(change: impl Fn(&mut Value)) -> String {
    let mut report = report();
    change(&mut report);
    let report: Report = serde_json::from_value(report).unwrap();
    faults(&report).join("\n")
}

#[test]
fn good_report_has_no_faults() {
    assert_eq!(faults_after(|_| {}), "");
}

#[test]
fn every_kind_of_fault_is_found() {
    let first = |report: &mut Value, key: &str, value: Value| {
        report["categories"][0]["loops"][0][key] = value;
    };
    let same_mix = faults_after(|report| {
        let level1 = report["categories"][0]["loops"][5]["level1"].clone();
        for counted in report["categories"][0]["loops"].as_array_mut().unwrap() {
            counted["level1"] = level1.clone();
        }
    });
    assert!(same_mix.contains("as on an emulated PMU"), "{same_mix}");
    assert!(!same_mix.contains("does not stand out"), "{same_mix}");
    let no_chain = faults_after(|report| {
        let adds = report["categories"][0]["loops"][0].clone();
        report["categories"][0]["loops"][1]["level1"] = adds["level1"].clone();
        report["categories"][0]["loops"][1]["counts"] = adds["counts"].clone();
    });
    assert!(
        no_chain.contains("multiply_chain: does not stand out"),
        "{no_chain}"
    );
    let formula = faults_after(|report| {
        report["categories"][0]["loops"][0]["counts"] = counts([0.5, 0.1, 0.2, 0.2]);
    });
    assert!(
        formula.contains("the kernel's counts give [50.0, 10.0"),
        "{formula}"
    );
    let slots = faults_after(|report| first(report, "slots", json!(4_400_000)));
    assert!(slots.contains("1.100 times the slots"), "{slots}");
    let flags = faults_after(|report| first(report, "flags", json!(["migrated"])));
    assert!(flags.contains("migrated"), "{flags}");
    let table = faults_after(|report| report["machine"]["model"] = json!(0x8f));
    assert!(table.contains("not the table of this machine"), "{table}");
    let nothing = faults_after(|report| report["categories"][0]["loops"] = json!([]));
    assert_eq!(nothing, "nothing was counted");
    let two_kinds = faults_after(|report| {
        let mut other = report["categories"][0].clone();
        other["counters"] = json!("tma");
        other["provenance"]["formula"] = json!("other/1");
        other["loops"][0]["level1"]["retiring"] = json!(0.75);
        report["categories"].as_array_mut().unwrap().push(other);
    });
    assert!(two_kinds.contains("exact and tma disagree"), "{two_kinds}");
}
