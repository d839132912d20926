//! First iterations that initialise something, where counters count.

use crate::fixture::Fixture;

const BENCH: [&str; 4] = ["--bench", "initialising", "--features", "initialising"];

/// Returns the lines of `text` about first iterations.
fn about_first(text: &str) -> Vec<&str> {
    let lines = text.lines().map(str::trim);
    lines
        .filter(|line| line.contains("first iteration"))
        .collect()
}

#[test]
fn counted_initialisation_has_its_own_row() {
    let fixture = Fixture::new();
    let table = fixture.bench(&BENCH).succeeds().stdout;
    let told = "! first iteration: 50.04K slots, later ones 40.00";
    assert_eq!(about_first(&table), [told, told], "{table}");
    for benchmark in fixture.newest_run().benchmarks {
        let cold = benchmark.cold.map(|cold| (cold.iterations, cold.slots));
        let expected = match benchmark.id.name.as_str() {
            "once" | "once, batched" => Some((1, vec![50_040.0; 2])),
            "never" => Some((1, vec![40.0; 2])),
            _ => None,
        };
        assert_eq!(cold, expected, "{}", benchmark.id);
    }
}

#[test]
fn counted_initialisation_is_compared_by_itself() {
    let fixture = Fixture::new();
    let save = [&BENCH[..], &["--save", "main"]].concat();
    fixture.bench(&save).succeeds();
    let slower = [("FIXTURE_INITIALISATION_SLOTS", "75000")];
    fixture.bench_with(&BENCH, &slower).succeeds();
    // Two launches decide nothing else.
    let compared = fixture.plain(&["topdown", "compare", "main"], &[]);
    let note = |name: &str| {
        format!(
            "note       first iteration of `{name}`: slower, +50.0 % (50.04K to 75.04K slots); left \
             out of its verdict"
        )
    };
    let notes = about_first(&compared.stdout);
    assert_eq!(
        notes,
        [note("once"), note("once, batched")],
        "{}",
        compared.stdout
    );
}
