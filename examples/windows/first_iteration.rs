//! The first iteration of a benchmark: recorded where it initialises something, and no other one.

use std::hint::black_box;
use std::sync::OnceLock;
use std::time::Duration;

use criterion::Criterion;
use criterion_topdown::TopDown;
use serde_json::Value;
use topdown_run::environment::SAMPLES;

const LATER: u64 = 1_000;
const INITIALISATION: u64 = 1_000_000;

/// Benchmarks `first` initialises in its first iteration, `steady` never.
pub fn check() -> Result<(), String> {
    let path = std::env::var(SAMPLES).map_err(|error| format!("{SAMPLES}: {error}"))?;
    let mut criterion = Criterion::default()
        .with_measurement(TopDown::new())
        .without_plots()
        .sample_size(10)
        .warm_up_time(Duration::from_millis(1))
        .measurement_time(Duration::from_millis(10));
    let table = OnceLock::new();
    criterion.bench_function("first", |b| {
        b.iter(|| *table.get_or_init(|| work(INITIALISATION)) ^ work(LATER));
    });
    criterion.bench_function("steady", |b| b.iter(|| work(LATER)));

    let lines = std::fs::read_to_string(&path).map_err(|error| format!("{path}: {error}"))?;
    let lines: Vec<Value> = lines
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok())
        .filter(|line: &Value| line.get("samples").is_some())
        .collect();
    let [first, steady] = &lines[..] else {
        return Err(format!("{} records of 2 benchmarks", lines.len()));
    };
    let reason = first["provenance"]["reason"].as_str().unwrap_or_default();
    let of_first = |record: &Value| record["first"]["slots"][0].as_f64().unwrap_or(f64::NAN);
    let ratio = of_first(first) / of_first(steady);
    println!("{reason}: the first iteration has {ratio:.0} times the slots without initialisation");
    let expected = (INITIALISATION + LATER) as f64 / LATER as f64;
    // A window has some instructions of its own.
    if !(0.8 * expected..1.2 * expected).contains(&ratio) {
        return Err(format!("{expected} times were expected: {first} {steady}"));
    }
    Ok(())
}

#[inline(never)]
fn work(turns: u64) -> u64 {
    (0..turns).fold(0, |sum, turn| sum ^ black_box(turn))
}
