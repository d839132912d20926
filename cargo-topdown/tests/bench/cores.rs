//! Two modelled cores, each with runs of its own.

use crate::fixture::{Fixture, Outcome};

/// Measures chains of `popcnt`, or of `imul`: as long on Golden Cove, longer on Zen 5.
fn bench(fixture: &Fixture, instruction: &str, core: &str, more: &[&str]) -> Outcome {
    let words = [
        "--bench",
        "cores",
        "--features",
        "cores",
        "--source",
        "model",
        "--model-core",
        core,
    ];
    let environment = [("FIXTURE_INSTRUCTION", instruction)];
    fixture.bench_with(&[&words, more].concat(), &environment)
}

#[test]
fn each_core_has_its_own_baseline_and_verdict() {
    let fixture = Fixture::new();
    let cores = [("golden-cove", Some(0)), ("zen-5", Some(100))];
    for (core, _) in cores {
        bench(&fixture, "popcnt", core, &["--save", "main"]).succeeds();
    }
    for (core, code) in cores {
        bench(&fixture, "imul", core, &[]).succeeds();
        let outcome = fixture.plain(&["topdown", "compare", "main"], &[]);
        assert_eq!(outcome.code, code, "{core}: {}", outcome.stdout);
    }
}

#[test]
fn list_of_cores_is_refused() {
    let fixture = Fixture::new();
    let expected =
        "`model-core` is zen-5,golden-cove; it must be one core; for several, run once for each";
    bench(&fixture, "imul", "zen-5,golden-cove", &[]).fails_with(2, expected);
    let again = ["--model-core", "golden-cove"];
    bench(&fixture, "imul", "zen-5", &again).fails_with(2, expected);
}
