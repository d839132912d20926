//! Two modelled cores: a run, a baseline and a judgement for each.

use topdown_run::run_file::{Benchmark, Run, read_run};

use crate::fixture::{Fixture, Outcome};

const BOTH: &str = "golden-cove,zen-5";

/// Measures chains of `popcnt`, or of `imul`: as long on Golden Cove, longer on Zen 5.
fn bench(fixture: &Fixture, instruction: &str, cores: &str, more: &[&str]) -> Outcome {
    let words = [
        "--bench",
        "cores",
        "--features",
        "cores",
        "--source",
        "model",
        "--model-core",
        cores,
    ];
    let environment = [("FIXTURE_INSTRUCTION", instruction)];
    fixture.bench_with(&[&words, more].concat(), &environment)
}

fn on_second_core(fixture: &Fixture) -> Run {
    read_run(&fixture.newest().with_file_name("newest-second-core")).unwrap()
}

fn slots(run: &Run) -> Vec<f64> {
    let benchmarks = run.benchmarks.iter();
    benchmarks
        .map(|benchmark| benchmark.slots_launches()[0].slots)
        .collect()
}

#[test]
fn regression_on_one_core_fails_and_names_it() {
    let fixture = Fixture::new();
    bench(&fixture, "popcnt", BOTH, &["--save", "main"]).succeeds();
    for core in ["golden-cove", "zen-5"] {
        let key = format!("x86_64-model-{core}");
        assert_eq!(
            read_run(&fixture.baselines().join("main").join(&key))
                .unwrap()
                .key(),
            key
        );
    }
    let compare = |more: &[&str]| {
        let words = ["topdown", "compare", "main"];
        fixture.plain(&[&words, more].concat(), &[])
    };

    bench(&fixture, "popcnt", BOTH, &[]).succeeds();
    let same = compare(&[]);
    assert_eq!(same.code, Some(0), "{}", same.stdout);
    assert!(
        same.stdout
            .ends_with("\nNo benchmark is slower on Golden Cove or Zen 5\n"),
        "{}",
        same.stdout
    );

    bench(&fixture, "imul", BOTH, &[]).succeeds();
    let page = fixture.target().join("page.html");
    let report = format!("html={}", page.display());
    let slower = compare(&["--report", &report]);
    assert_eq!(slower.code, Some(100), "{}", slower.stdout);
    let says = |text: &str| assert!(slower.stdout.contains(text), "{}", slower.stdout);
    says("On Golden Cove\nPASSED");
    says("\nOn Zen 5\nREGRESSED");
    says("\n\nSlower on Zen 5 only: `chain`\n");
    assert!(page.exists() && page.with_extension("zen-5.html").exists());
    let json = fixture.plain(&["topdown", "compare", "--json"], &[]);
    assert_eq!(json.code, Some(100), "{}", json.stdout);
    let documents = serde_json::Deserializer::from_str(&json.stdout).into_iter();
    let outcomes: Vec<serde_json::Value> = documents
        .map(|document: Result<serde_json::Value, _>| document.unwrap()["outcome"].take())
        .collect();
    assert_eq!(outcomes, ["passed", "failed"]);
    let both = slots(&on_second_core(&fixture));

    // A core's slots are the same whether it is modelled alone or beside another.
    bench(&fixture, "imul", "zen-5", &[]).succeeds();
    assert_eq!(slots(&fixture.newest_run()), both);
    let alone = compare(&["--json"]);
    assert_eq!(alone.code, Some(100), "{}", alone.stdout);
    let json: serde_json::Value = serde_json::from_str(&alone.stdout).unwrap();
    assert_eq!(json["benchmarks"].as_array().unwrap().len(), 2);
    assert!(
        !fixture
            .newest()
            .with_file_name("newest-second-core")
            .exists()
    );

    // The newest run is saved with the one that was taken with it.
    bench(&fixture, "imul", BOTH, &[]).succeeds();
    fixture
        .plain(&["topdown", "baseline", "save", "later"], &[])
        .succeeds();
    for (core, run) in [
        ("golden-cove", fixture.newest_run()),
        ("zen-5", on_second_core(&fixture)),
    ] {
        let saved = fixture
            .baselines()
            .join("later/x86_64-model-")
            .into_os_string();
        let saved = [saved.to_str().unwrap(), core].concat();
        assert_eq!(read_run(saved.as_ref()).unwrap(), run);
    }

    // What is slower on the second core is accepted where its run is.
    let second = fixture.newest().with_file_name("newest-second-core");
    let run = ["--run", second.to_str().unwrap(), "--reason", "a test"];
    let accept = ["topdown", "baseline", "accept", "main", "chain"];
    fixture.plain(&[&accept[..], &run].concat(), &[]).succeeds();
    let accepted = compare(&[]);
    assert_eq!(accepted.code, Some(0), "{}", accepted.stdout);
}

/// Slots with their categories and events, functions, call paths, and what was executed.
#[test]
fn two_modelled_cores_match_single_core_launches() {
    let fixture = Fixture::new();
    // Another launch would model the same again, and a larger budget more iterations of the same.
    let more = ["--paths", "--launches", "1", "--model-budget", "0.5"];
    let modelled = |run: Run| -> Vec<Benchmark> {
        let mut benchmarks = run.benchmarks;
        for benchmark in &mut benchmarks {
            benchmark.times.launches.clear();
            let slots = benchmark.slots.as_mut().expect(&benchmark.id.name);
            for provenance in [&mut benchmark.times.provenance, &mut slots.provenance] {
                // What the clock says.
                provenance.empty_window.as_mut().unwrap().wall_ns = 0;
            }
        }
        benchmarks
    };
    bench(&fixture, "heap", BOTH, &more).succeeds();
    let both = [fixture.newest_run(), on_second_core(&fixture)].map(modelled);
    let alone = ["golden-cove", "zen-5"].map(|core| {
        bench(&fixture, "heap", core, &more).succeeds();
        modelled(fixture.newest_run())
    });
    for (both, alone) in both.iter().zip(&alone) {
        assert_eq!(both.len(), 4);
        for (both, alone) in both.iter().zip(alone) {
            assert_eq!(both, alone);
        }
    }
    let [one, other] = &both;
    let units = |benchmark: &Benchmark| benchmark.provenance().sampled_units;
    assert!(one.iter().any(|b| units(b).is_some()));
    assert!(
        one.iter()
            .all(|b| units(b).is_some() || b.functions.is_some() && b.call_paths.is_some())
    );
    assert!(
        one.iter()
            .zip(other)
            .all(|(one, other)| one.slots != other.slots)
    );
}

#[test]
fn duplicate_core_is_refused() {
    let outcome = bench(&Fixture::new(), "imul", "zen-5,zen-5", &[]);
    outcome.fails_with(2, "`model-core` is zen-5,zen-5; it must be one core");
}
