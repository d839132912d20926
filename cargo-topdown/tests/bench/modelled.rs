//! The gate on the model: a real change of a benchmark's data, modelled slots, the cause.

use crate::fixture::Fixture;

const ORDERED: [&str; 6] = [
    "--bench",
    "ordered",
    "--features",
    "collections",
    "--source",
    "model",
];

/// From vectors to linked lists whose nodes lie where the allocator had room.
#[test]
fn a_slower_collection_fails_with_the_memory_as_the_cause() {
    let fixture = Fixture::new();
    let bench = |collection, more: &[&str]| {
        let environment = [("FIXTURE_COLLECTION", collection)];
        fixture.bench_with(&[&ORDERED, more].concat(), &environment)
    };
    bench("vector", &["--save", "main"]).succeeds();
    bench("vector", &[]).succeeds();
    let same = fixture.plain(&["topdown", "compare", "main"], &[]);
    assert_eq!(same.code, Some(0), "{}", same.stdout);
    bench("list", &[]).succeeds();
    let compared = fixture.plain(&["topdown", "compare", "main", "--json"], &[]);
    assert_eq!(compared.code, Some(100), "{}", compared.stdout);
    let json: serde_json::Value = serde_json::from_str(&compared.stdout).unwrap();
    let verdict = &json["benchmarks"][0];
    assert_eq!(verdict["class"], "regressed");
    assert_eq!(verdict["evidence"]["rule"], "exact");
    let cause = &verdict["cause"];
    assert_eq!(cause["kind"]["category"], "backend_bound");
    let difference = cause["difference"].as_f64().unwrap();
    let details = cause["parts"][0]["details"].as_array().unwrap();
    let memory = details.iter().find(|part| part["name"] == "memory bound");
    let memory = memory.unwrap()["difference"].as_f64().unwrap();
    assert!(memory > 0.5 * difference, "{cause:#}");
}
