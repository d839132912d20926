//! `cargo topdown explain` with scripted benches.

use serde_json::{Value, json};

use crate::fixture::{Fixture, Outcome};

fn explain(words: &[&str], environment: &[(&str, &str)]) -> Outcome {
    let fixture = Fixture::new();
    fixture.run(&[&["topdown", "explain"], words].concat(), environment)
}

fn json_of(outcome: Outcome) -> Value {
    serde_json::from_str(&outcome.stdout).unwrap()
}

#[test]
fn groups_of_dominant_category_are_measured_in_turn() {
    let outcome = explain(&["chase", "--bench", "kernels", "--json"], &[]).succeeds();
    let explained = json_of(outcome);
    assert_eq!(explained["benchmark"]["name"], "chase");
    assert_eq!(explained["explained"], "backend bound");
    // Which samples are usable depends on the clock, and so does the sum's last digit.
    let backend = explained["shares"]["backend_bound"].as_f64().unwrap();
    assert!((backend - 0.75).abs() < 1e-9, "{backend}");
    let groups = explained["groups"].as_array().unwrap();
    assert_eq!(groups.len(), 3, "{explained:#}");
    // 15 slots are memory bound in an iteration of ten instructions.
    assert_eq!(groups[0]["name"], "Memory_Effectiveness");
    assert_eq!(groups[0]["node"], "memory bound");
    let memory = groups[0]["metrics"][0]["value"].as_f64().unwrap();
    assert!((memory - 1.5).abs() < 1e-9, "{memory}");
    assert_eq!(groups[0]["refused"], Value::Null);
    // The machine has too few counters for the second group, but the first is still measured.
    assert_eq!(groups[1]["metrics"], Value::Array(Vec::new()));
    let refused = groups[1]["refused"].as_str().unwrap();
    assert!(
        refused.contains("which needs 3 general counters"),
        "{refused}"
    );
}

/// The machine records seven cycles for an instruction, of which 10 cost 15 000 cycles.
#[test]
fn latencies_are_sampled_in_their_own_launch() {
    let words = ["chase", "--bench", "kernels"];
    let explained = json_of(explain(&[&words[..], &["--json"]].concat(), &[]).succeeds());
    let group = &explained["groups"][2];
    assert_eq!(group["name"], "Load_Latency");
    let latency = &group["latencies"][0];
    assert_eq!(latency["origin"], "sampled");
    assert_eq!(latency["cycles"], 7.0);
    assert!(latency["hits"].as_u64().unwrap() >= 100, "{group:#}");
    let value = group["metrics"][0]["value"].as_f64().unwrap();
    assert!((value - 100.0 * 70.0 / 15_000.0).abs() < 1e-9, "{value}");
    let text = explain(&words, &[]).succeeds().stdout;
    assert!(
        text.contains("instructions: 7.0 cycles (mean of "),
        "{text}"
    );
}

/// The machine names what waits for memory as the event to sample, which is 1500 times as frequent
/// as instructions are.
#[test]
fn group_events_are_sampled_in_their_own_launch() {
    let words = ["chase", "--bench", "kernels", "--json"];
    let explained = json_of(explain(&words, &[("FIXTURE_HITS", "1")]).succeeds());
    let group = &explained["groups"][0];
    assert_eq!(group["name"], "Memory_Effectiveness");
    let [pace, memory] = [0, 1].map(|at| &group["sampled"][at]);
    assert_eq!(
        (&pace["event"], &pace["hits"]),
        (&json!("instructions"), &json!(10_000))
    );
    assert_eq!(
        (&memory["event"], &memory["hits"]),
        (&json!("memory bound"), &json!(500))
    );
    assert_eq!(pace["functions"].as_array().unwrap().len(), 2, "{group:#}");
    let functions = memory["functions"].as_array().unwrap();
    assert_eq!(functions.len(), 1, "{group:#}");
    assert_eq!(functions[0]["name"], "kernels::wait");
    assert_eq!(functions[0]["share"], 1.0);

    let text = explain(&words[..3], &[]).succeeds().stdout;
    let unknown = "its functions are unknown: the bench recorded no PMU samples of its events";
    assert!(text.contains(unknown), "{text}");
}

#[test]
fn other_category_can_be_requested() {
    let words = ["chase", "--bench", "kernels", "--category", "retiring"];
    let outcome = explain(&words, &[]).succeeds();
    let text = &outcome.stdout;
    assert!(
        text.starts_with("suite::kernels::chase: retiring takes 25.0 % of its slots"),
        "{text}"
    );
    assert!(text.contains("Operation_Mix"), "{text}");
    assert!(!text.contains("Memory_Effectiveness"), "{text}");
}

#[test]
fn ambiguous_name_is_refused() {
    explain(&["sums", "--bench", "kernels"], &[])
        .fails_with(2, "`sums` matches 2 benchmarks")
        .fails_with(2, "suite::kernels::sums/forward/20");
    explain(&["nowhere", "--bench", "kernels"], &[])
        .fails_with(101, "no benchmark matches `nowhere`");
}

#[test]
fn category_without_group_is_reported() {
    let words = [
        "chase",
        "--bench",
        "kernels",
        "--category",
        "bad-speculation",
    ];
    let outcome = explain(&words, &[]).succeeds();
    assert!(
        outcome.stdout.contains("No metric group"),
        "{}",
        outcome.stdout
    );
}

#[test]
fn time_only_benchmark_cannot_be_explained() {
    explain(&["wall clock", "--bench", "mixed"], &[])
        .fails_with(102, "has only time and no slots")
        .fails_with(102, "--source model");
}

#[test]
fn bench_with_its_own_source_counts_no_group() {
    let words = ["first", "--bench", "mixed", "--category", "backend-bound"];
    let outcome = explain(&words, &[]);
    assert_eq!(outcome.code, Some(102));
    let text = outcome
        .stdout
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ");
    assert!(
        text.contains("the bench measured `scripted/1` instead"),
        "{text}"
    );
}

#[test]
fn excluded_benchmarks_are_not_explained() {
    // One of the two matches is left out.
    let outcome = explain(&["sums", "--bench=kernels", "--leave-out=*forward/10"], &[]);
    let outcome = outcome.succeeds();
    let note = "note: `suite::kernels::sums/forward/10` is left out by the settings";
    assert!(outcome.stderr.contains(note), "{}", outcome.stderr);
    let text = &outcome.stdout;
    assert!(
        text.starts_with("suite::kernels::sums/forward/20:"),
        "{text}"
    );
    let left_out = [("CARGO_TOPDOWN_LEAVE_OUT", "suite::kernels")];
    let words = ["sums", "--bench=kernels", "--bench=mixed"];
    explain(&words, &left_out)
        .fails_with(101, "note: `suite::kernels` is left out")
        .fails_with(101, "no benchmark matches `sums`");
}

#[test]
fn difference_is_explained_from_stored_runs() {
    let fixture = Fixture::new();
    let kernels = ["--bench", "kernels", "--launches", "5"];
    let only_chase = ["chase", "--save", "main", "--partial"];
    let saved = fixture.bench(&[&kernels[..], &only_chase].concat());
    saved.succeeds();
    let slower = [("FIXTURE_BACKEND_BOUND_SLOTS", "60")];
    fixture.bench_with(&kernels, &slower).succeeds();
    let against = |bench: &str, words: &[&str]| {
        let words = [&["topdown", "explain", bench, "--against"], words].concat();
        fixture.run(&words, &[])
    };
    let text = against("^suite.*chase$", &["main"]).succeeds().stdout;
    assert!(
        text.starts_with("suite::kernels::chase: regressed\n`chase` is 75.0 % slower"),
        "{text}"
    );
    assert!(text.contains("backend bound    +75.0"), "{text}");
    assert!(text.contains("Ruled out: "), "{text}");
    let explained = json_of(against("chase", &["main", "--json"]).succeeds());
    assert_eq!(explained["explained"], "backend bound");
    assert_eq!(explained["verdict"], "regressed");
    against("sums/forward/20", &["main"])
        .fails_with(102, "is in `the newest run` and not in `main`")
        .fails_with(102, "`cargo topdown bench --save main` at its commit");
    against("nowhere", &["main"]).fails_with(2, "`nowhere` is not in both runs");
    against("chase", &["nowhere"]).fails_with(102, "nowhere");
}
