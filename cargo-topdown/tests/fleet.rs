//! The questions of docs/fleet.md, asked of generated run files by the real DuckDB and Spark.
//!
//! `TOPDOWN_FLEET_RUNS=10000` generates as many files. `TOPDOWN_PYTHON` names a Python that has
//! `duckdb` or `pyspark`.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use topdown_skipped::{Need, skip};

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");

/// A run a day.
const RUNS_OF_REPOSITORY: usize = 200;
/// The runs of CI are spread over some machines.
const HOSTS: usize = 5;

/// Reads statements from standard input, and writes the rows of each.
const DUCKDB: &str = "
import duckdb, json, sys
connection = duckdb.connect()
connection.execute('SET enable_progress_bar = false')
for statement in json.load(sys.stdin):
    print(json.dumps(connection.execute(statement).fetchall(), default=str))
";

/// The same, after the Python of the page.
const SPARK: &str = "
import json, sys
def plain(value):
    return str(value) if hasattr(value, 'year') else value
for statement in json.load(sys.stdin)[1:]:
    rows = spark.sql(statement.rstrip(';\\n')).collect()
    print(json.dumps([[plain(value) for value in row] for row in rows]))
";

/// Returns the code blocks of the page in `language`.
fn blocks(language: &str) -> Vec<String> {
    let page = fs::read_to_string(Path::new(ROOT).join("docs/fleet.md")).unwrap();
    let fence = format!("```{language}\n");
    let blocks = page.split(&fence).skip(1);
    let ends = blocks.map(|block| {
        block
            .split_once("```")
            .expect("the block ends")
            .0
            .to_owned()
    });
    ends.collect()
}

/// Writes the histories of some repositories, each made from a real run of this one. Returns how
/// many results they have.
fn write_fleet(directory: &Path) -> usize {
    let runs = std::env::var("TOPDOWN_FLEET_RUNS").map_or(1_000, |runs| runs.parse().unwrap());
    let repositories = runs / RUNS_OF_REPOSITORY;
    let kept = Path::new(ROOT).join("baselines/main/x86_64-model-golden-cove/run.json");
    let real: Value = serde_json::from_slice(&fs::read(kept).unwrap()).unwrap();
    for repository in 0..repositories {
        let history = directory.join(format!(
            "crate-{repository}/baselines/main/x86_64-model-golden-cove/history"
        ));
        fs::create_dir_all(&history).unwrap();
        for run in 0..RUNS_OF_REPOSITORY {
            // Of one repository the newest run is old.
            let age = RUNS_OF_REPOSITORY - 1 - run + if repository == 4 { 45 } else { 0 };
            let age = SignedDuration::from_hours(24 * i64::try_from(age).unwrap() + 1);
            let started = (Timestamp::now() - age)
                .strftime("%Y%m%dT%H%M%SZ")
                .to_string();
            let text = serde_json::to_vec(&changed(real.clone(), repository, run, age)).unwrap();
            let name = format!("{started}-{:016x}.json", random(repository, run, 0));
            fs::write(history.join(name), text).unwrap();
        }
    }
    repositories * RUNS_OF_REPOSITORY * real["benchmarks"].as_array().unwrap().len()
}

/// Returns a real run as that of another repository, with the changes that the questions are about.
fn changed(mut real: Value, repository: usize, run: usize, age: SignedDuration) -> Value {
    let host = run % HOSTS;
    real["started_at"] = (Timestamp::now() - age)
        .strftime("%Y-%m-%dT%H:%M:%SZ")
        .to_string()
        .into();
    real["machine"]["host"] = format!("ci-{host}").into();
    real["build"]["git_commit"] = commit(repository, run).into();
    for (index, benchmark) in real["benchmarks"]
        .as_array_mut()
        .unwrap()
        .iter_mut()
        .enumerate()
    {
        benchmark["id"]["package"] = format!("crate-{repository}").into();
        let launches = 0..10;
        let scatter = if host == 2 { 0.2 } else { 0.01 };
        let ns = benchmark["times"]["wall_ns"][0].as_f64().unwrap();
        let times = launches.clone().map(|launch| {
            let part = random(repository, run, 100 * index + launch) as f64 / u64::MAX as f64;
            ns * (1.0 + scatter * part)
        });
        benchmark["times"]["wall_ns"] = times.collect();
        benchmark["times"]["launch"] = launches.collect();
        benchmark["times"]["samples_used"] = vec![20; 10].into();
        benchmark["times"]["samples_dropped"] = vec![0; 10].into();
        let factor = match (repository, index, run) {
            // One benchmark, 30 days ago, and half of it back.
            (3, 0, 170..190) => 1.4,
            (3, 0, 190..) => 1.2,
            // Three benchmarks by one commit.
            (1, 2..=4, 150..) => 1.1,
            _ => 1.0,
        };
        let slots = benchmark["slots"].as_object_mut().unwrap();
        scale(&mut slots["slots"], factor);
        for (category, values) in slots["level1"].as_object_mut().unwrap() {
            // In one repository the backend costs half of what it did.
            let is_halved = repository == 2 && run >= 100 && category == "backend_bound_slots";
            scale(values, if is_halved { 0.5 } else { factor });
        }
    }
    real
}

fn scale(values: &mut Value, factor: f64) {
    for value in values.as_array_mut().unwrap() {
        *value = (value.as_f64().unwrap() * factor).into();
    }
}

fn commit(repository: usize, run: usize) -> String {
    format!(
        "{:016x}{:016x}{repository:04}{run:04}",
        random(repository, run, 1),
        0
    )
}

/// A number that looks random (SplitMix64).
fn random(repository: usize, run: usize, more: usize) -> u64 {
    let seed = (repository << 40 | run << 20 | more) as u64;
    let mut z = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ z >> 31
}

/// Has the page's statements executed by `module`, and returns the rows of each question; `None` if
/// this machine has no such module.
fn answers(module: &str, need: Need, script: &str, directory: &Path) -> Option<Vec<Value>> {
    let python = std::env::var("TOPDOWN_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let import = Command::new(&python)
        .args(["-c", &format!("import {module}")])
        .output();
    if !import.is_ok_and(|import| import.status.success()) {
        skip(need, format!("{python} cannot import {module}"));
        return None;
    }
    let started = Instant::now();
    let mut child = Command::new(python)
        .args(["-c", script])
        .current_dir(directory)
        .env("TZ", "UTC")
        // For a single machine.
        .env(
            "PYSPARK_SUBMIT_ARGS",
            "--conf spark.sql.shuffle.partitions=4 pyspark-shell",
        )
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let statements = serde_json::to_vec(&blocks("sql")).unwrap();
    child.stdin.take().unwrap().write_all(&statements).unwrap();
    let output = child.wait_with_output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{stderr}");
    eprintln!("{module}: {:.1} s", started.elapsed().as_secs_f64());
    let text = String::from_utf8(output.stdout).unwrap();
    let rows: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    // The first statement of DuckDB makes the table.
    Some(rows[rows.len() - 5..].to_vec())
}

fn check(answers: &[Value], results: usize) {
    let [slower, scatter, backend, commits, stale] = answers else {
        panic!("{answers:?}");
    };
    assert_eq!(
        slower[0],
        json!([
            "crate-3",
            "bottlenecks::retiring/independent_adds",
            "model-golden-cove/15",
            20.0
        ])
    );
    assert_eq!(slower[1][3], 10.0, "the second is one of three");
    assert_eq!(slower[4][3], 0.0, "{slower}");

    assert_eq!(scatter.as_array().unwrap().len(), HOSTS);
    assert_eq!(scatter[0][0], "ci-2");
    assert!(scatter[0][3].as_f64().unwrap() > 10.0, "{scatter}");
    assert!(scatter[1][3].as_f64().unwrap() < 1.0, "{scatter}");
    let counts = (0..HOSTS).map(|host| scatter[host][2].as_u64().unwrap());
    assert_eq!(counts.sum::<u64>(), results as u64);

    let months = backend.as_array().unwrap();
    let of = |package: &str| {
        let rows = months.iter().filter(|row| row[0] == package);
        rows.map(|row| row[2].as_f64().unwrap())
            .collect::<Vec<f64>>()
    };
    let (first, last) = (of("crate-2")[0], *of("crate-2").last().unwrap());
    assert!((first / last - 2.0).abs() < 0.02, "{first} {last}");
    assert_eq!(
        of("crate-0").iter().filter(|part| **part != first).count(),
        0
    );

    assert_eq!(commits[0], json!(["crate-1", commit(1, 150), 3, 10.0]));
    assert_eq!(commits[1], json!(["crate-3", commit(3, 170), 1, 40.0]));
    assert_eq!(commits.as_array().unwrap().len(), 2);

    assert_eq!(stale.as_array().unwrap().len(), 1);
    assert_eq!(stale[0][0], "crate-4");
}

#[test]
fn duckdb_answers_five_questions() {
    let directory = tempfile::tempdir().unwrap();
    let results = write_fleet(directory.path());
    if let Some(answers) = answers("duckdb", Need::DuckDb, DUCKDB, directory.path()) {
        check(&answers, results);
    }
}

#[test]
fn spark_gives_the_same_answers() {
    let directory = tempfile::tempdir().unwrap();
    let results = write_fleet(directory.path());
    let script = format!("{}{SPARK}", blocks("python")[0]);
    if let Some(answers) = answers("pyspark", Need::Spark, &script, directory.path()) {
        check(&answers, results);
    }
}
