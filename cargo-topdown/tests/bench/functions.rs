//! The functions that a modelled bench's slots go to. Needs x86-64 Linux, where code can be traced.

use topdown_run::run_file::{Benchmark, Run};

use crate::fixture::{Fixture, Outcome};

/// Returns the modelled run of the fixture's benches, and the output.
fn modelled(fixture: &Fixture, words: &[&str]) -> (Run, Outcome) {
    let common = ["--bench", "functions", "--source", "model"];
    let outcome = fixture.bench(&[&common, words].concat()).succeeds();
    (fixture.newest_run(), outcome)
}

fn named<'a>(run: &'a Run, name: &str) -> &'a Benchmark {
    run.benchmarks.iter().find(|b| b.id.name == name).unwrap()
}

#[test]
fn slots_of_functions_add_up_to_benchmark() {
    let fixture = Fixture::new();
    let (run, printed) = modelled(&fixture, &["--functions"]);
    let benchmark = named(&run, "two functions");
    let functions = benchmark.functions.as_ref().unwrap();
    let slots = functions.total().slots() as f64;
    let iterations = functions.iterations as f64;
    // Including the window's cost, which the launch value excludes.
    let launches = benchmark.slots_launches().iter();
    let whole = launches.map(|launch| launch.slots / (1.0 - launch.window_fraction.unwrap()));
    let mean = whole.sum::<f64>() / 2.0;
    assert!(
        (slots / iterations - mean).abs() < 1e-12 * mean,
        "{mean}: {functions:?}"
    );
    // The last sample of two launches: all iterations are equal, so a quarter of a million
    // instructions are enough.
    assert_eq!(functions.iterations, 2 * 32);
    let names: Vec<&str> = functions
        .largest
        .iter()
        .map(|function| function.name.as_deref().unwrap_or("no name"))
        .collect();
    assert_eq!(names[..2], ["functions::divide", "functions::add"]);
    let divide = &functions.largest[0];
    assert_eq!(divide.module, None);
    assert!(divide.counts.level1_slots.backend_bound > divide.counts.slots() / 2);
    let share = divide.counts.slots() as f64 / slots;
    assert!((0.5..0.99).contains(&share), "{share}");
    // It measures its iterations itself.
    assert_eq!(named(&run, "measures itself").functions, None);

    let printed = printed.stdout;
    assert!(printed.contains("functions::divide"), "{printed}");
    let unknown = "the functions of `measures itself` are unknown";
    assert!(printed.contains(unknown), "{printed}");
    let again = fixture
        .plain(&["topdown", "report", "--functions"], &[])
        .succeeds();
    assert!(
        again.stdout.contains("functions::divide"),
        "{}",
        again.stdout
    );
}

#[test]
fn two_runs_find_the_same_functions() {
    let runs = [Fixture::new(), Fixture::new()].map(|fixture| modelled(&fixture, &["two"]));
    let may_differ = runs[0].1.stderr.contains("addresses cannot be fixed");
    let [first, second] = runs.map(|(run, _)| run.benchmarks[0].functions.clone().unwrap());
    if may_differ {
        assert_eq!(first.iterations, second.iterations);
        assert_eq!(first.largest[0].name, second.largest[0].name);
    } else {
        assert_eq!(first, second);
    }
}
