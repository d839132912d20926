//! The JSON Schemas in `docs/schema/`. Tests check that they match the types that are written, and
//! that what tests print conforms to them.

use std::fs;
use std::path::{Path, PathBuf};

use schemars::generate::SchemaSettings;
use schemars::transform::RecursiveTransform;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde_json::Value;
use topdown_run::event::{Event, Events};
use topdown_run::run_file::{self, SCHEMA_VERSION};

pub use topdown_published_schema::check;
use topdown_published_schema::directory;

use crate::accepted_file::{ACCEPTED_SCHEMA_VERSION, AcceptedFile};
use crate::command::baseline::{BASELINES_SCHEMA_VERSION, BaselineList};
use crate::diagnosis::json::{DOCTOR_SCHEMA_VERSION, DoctorReport};
use crate::diagnosis::machine_report_json::{MACHINE_REPORT_SCHEMA_VERSION, MachineReport};
use crate::documentation::generated::GENERATE;
use topdown_bisect::{BISECTION_SCHEMA_VERSION, Bisection};
use topdown_gate::metric::Metric;
use topdown_gate::pattern::Pattern;
use topdown_gate::policy::{Budget, Policy, Subject};
use topdown_gate::scenario::{self, Planted, benchmark, modelled, timed};
use topdown_gate::trend::{TREND_SCHEMA_VERSION, Trend};
use topdown_gate::verdict::{
    BudgetCheck, COMPARISON_SCHEMA_VERSION, Comparison, LabelledRun, NoiseReport, check_budgets,
    noise_of,
};
use topdown_gate::versus::{VERSUS_SCHEMA_VERSION, Versus};
use topdown_report::difference_json::{DIFFERENCE_SCHEMA_VERSION, DifferenceReport};
use topdown_report::examples;
use topdown_report::metric_groups_json::{EXPLAIN_SCHEMA_VERSION, ExplainReport};

/// A machine-readable document.
struct Document {
    name: &'static str,
    title: &'static str,
    version: u32,
    schema: fn(SchemaGenerator) -> Schema,
}

const DOCUMENTS: [Document; 15] = [
    Document {
        name: "run",
        title: "A run: run.json, and `cargo topdown baseline show --json`",
        version: SCHEMA_VERSION,
        schema: run_file::schema::run,
    },
    Document {
        name: "samples",
        title: "A line of samples-ID.jsonl",
        version: SCHEMA_VERSION,
        schema: run_file::schema::samples_line,
    },
    Document {
        name: "record",
        title: "The line that a bench process writes for each benchmark",
        version: SCHEMA_VERSION,
        schema: run_file::schema::record_line,
    },
    Document {
        name: "accepted",
        title: "Accepted changes: accepted.json",
        version: ACCEPTED_SCHEMA_VERSION,
        schema: of::<AcceptedFile>,
    },
    Document {
        name: "comparison",
        title: "A comparison: `cargo topdown compare --json`, `bench --against REF --json`, \
            `--report json=PATH`",
        version: COMPARISON_SCHEMA_VERSION,
        schema: of::<Comparison>,
    },
    Document {
        name: "check",
        title: "A run judged by budgets: `cargo topdown check --json`",
        version: COMPARISON_SCHEMA_VERSION,
        schema: of::<BudgetCheck>,
    },
    Document {
        name: "history",
        title: "A history: `cargo topdown history --json`",
        version: TREND_SCHEMA_VERSION,
        schema: of::<Trend>,
    },
    Document {
        name: "bisection",
        title: "A search for the commit that made benchmarks slower: `cargo topdown bisect --json`",
        version: BISECTION_SCHEMA_VERSION,
        schema: of::<Bisection>,
    },
    Document {
        name: "versus",
        title: "Benchmarks of one run against each other: `cargo topdown versus --json`",
        version: VERSUS_SCHEMA_VERSION,
        schema: of::<Versus>,
    },
    Document {
        name: "baselines",
        title: "The baselines of a store: `cargo topdown baseline list --json`",
        version: BASELINES_SCHEMA_VERSION,
        schema: of::<BaselineList>,
    },
    Document {
        name: "explain",
        title: "One benchmark by metric groups: `cargo topdown explain --json`",
        version: EXPLAIN_SCHEMA_VERSION,
        schema: of::<ExplainReport<'_>>,
    },
    Document {
        name: "difference",
        title: "One benchmark in two runs: `cargo topdown explain --against BASE --json`",
        version: DIFFERENCE_SCHEMA_VERSION,
        schema: of::<DifferenceReport<'_>>,
    },
    Document {
        name: "doctor",
        title: "A machine: `cargo topdown doctor --json`",
        version: DOCTOR_SCHEMA_VERSION,
        schema: of::<DoctorReport<'_>>,
    },
    Document {
        name: "machine-report",
        title: "What proves a CPU's counters: `cargo topdown doctor --report`",
        version: MACHINE_REPORT_SCHEMA_VERSION,
        schema: of::<MachineReport>,
    },
    Document {
        name: "noise",
        title: "The noise of a run: `cargo topdown doctor --noise --json`",
        version: COMPARISON_SCHEMA_VERSION,
        schema: of::<NoiseReport>,
    },
];

fn of<T: JsonSchema>(generator: SchemaGenerator) -> Schema {
    generator.into_root_schema_for::<T>()
}

impl Document {
    fn path(&self) -> PathBuf {
        let file = format!("{}-v{}.json", self.name, self.version);
        directory().join(file)
    }

    /// Generates the schema of the type.
    fn generated(&self) -> Value {
        let generator = SchemaSettings::draft2020_12()
            .for_serialize()
            .with_transform(RecursiveTransform(without_null))
            .with_transform(RecursiveTransform(without_rustdoc))
            .into_generator();
        let mut schema = (self.schema)(generator);
        let id = format!("urn:cargo-topdown:{}:{}", self.name, self.version);
        schema.insert("$id".to_owned(), id.into());
        schema.insert("title".to_owned(), self.title.into());
        schema.to_value()
    }
}

/// Removes `null` from types: absent fields are omitted, never `null`.
fn without_null(schema: &mut Schema) {
    let Some(properties) = schema.get_mut("properties").and_then(Value::as_object_mut) else {
        return;
    };
    for property in properties.values_mut() {
        if let Some(Value::Array(types)) = property.get_mut("type") {
            types.retain(|name| name != "null");
            if let [only] = &mut types[..] {
                property["type"] = only.take();
            }
        }
        if let Some(Value::Array(any)) = property.get_mut("anyOf") {
            any.retain(|schema| schema["type"] != "null");
            if let [Value::Object(only)] = &mut any[..] {
                let only = std::mem::take(only);
                let property = property.as_object_mut().unwrap();
                property.remove("anyOf");
                property.extend(only);
            }
        }
    }
}

/// Removes links and line breaks from descriptions, which come from the types' documentation.
fn without_rustdoc(schema: &mut Schema) {
    if let Some(Value::String(text)) = schema.get_mut("description") {
        let paragraphs: Vec<String> = text
            .split("\n\n")
            .map(|paragraph| paragraph.replace('\n', " "))
            .collect();
        let text_with_links = paragraphs.join("\n\n").replace("[`", "`");
        let mut parts = text_with_links.split("`]");
        let mut plain = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            let target = part.strip_prefix('(').and_then(|rest| rest.split_once(')'));
            plain.push('`');
            plain.push_str(target.map_or(part, |(_, after)| after));
        }
        *text = plain;
    }
}

/// Checks a value that is about to be serialized.
pub fn check_type(name: &str, document: &impl serde::Serialize) {
    // As text, as other programs read it.
    let text = serde_json::to_string(document).unwrap();
    check(name, &serde_json::from_str(&text).unwrap());
}

#[test]
fn published_schemas_match_the_types() {
    for document in &DOCUMENTS {
        let path = document.path();
        let generated = format!("{:#}\n", document.generated());
        if std::env::var_os(GENERATE).is_some() {
            fs::create_dir_all(directory()).unwrap();
            fs::write(&path, &generated).unwrap();
        }
        let published = fs::read_to_string(&path).unwrap_or_default();
        assert!(
            published == generated,
            "{} is not the schema of its type. If other programs can still read what is written \
             (docs/schemas.md says what may change within a version), write it anew with `cargo \
             xtask generate`; else raise the version first",
            path.display()
        );
    }
}

#[test]
fn every_file_is_a_named_documented_schema() {
    let manual = fs::read_to_string(directory().join("../schemas.md")).unwrap();
    let files: Vec<PathBuf> = fs::read_dir(directory())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    assert!(files.len() >= DOCUMENTS.len());
    for path in files {
        let stem = path.file_stem().unwrap().to_str().unwrap();
        let schema: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        jsonschema::draft202012::meta::validate(&schema).unwrap();
        let (name, version) = stem.rsplit_once("-v").unwrap();
        assert_eq!(schema["$id"], format!("urn:cargo-topdown:{name}:{version}"));
        assert!(manual.contains(&format!("(schema/{stem}.json)")), "{stem}");
    }
}

#[test]
fn golden_files_are_valid() {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/run/tests/data");
    let lines = |path: PathBuf| {
        let text = fs::read_to_string(path).unwrap();
        let lines: Vec<Value> = text
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        assert!(!lines.is_empty());
        lines
    };
    for version in (1..=SCHEMA_VERSION).map(|version| format!("v{version}")) {
        let run = data.join(format!("run-{version}"));
        let json: Value = serde_json::from_slice(&fs::read(run.join("run.json")).unwrap()).unwrap();
        let samples = run.join(json["samples_file"].as_str().unwrap());
        check("run", &json);
        for line in lines(samples) {
            check("samples", &line);
        }
        for line in lines(data.join(format!("record-{version}.jsonl"))) {
            check("record", &line);
        }
    }
}

#[test]
fn all_kinds_of_comparisons_are_valid() {
    let one = |benchmark| scenario::run(vec![benchmark]);
    let planted = |launches, backend_bound| Planted {
        launches,
        categories: [0.0, 0.0, 0.0, backend_bound].into(),
        ..Planted::default()
    };
    let (baseline, candidate) = examples::one_of_each();
    let mut elsewhere = one(benchmark("a", planted(5, 0.0)));
    elsewhere.machine.model = 207;
    let mut with_events = modelled("a", planted(2, 0.5));
    for launch in with_events.slots_launches_mut() {
        launch.events = Events::NONE.with(Event::L2Misses, 4.0).into();
    }
    let mut uncommitted = one(timed("a", planted(1, 0.0)));
    uncommitted.build.git_dirty = Some(true);
    for (baseline, candidate) in [
        (scenario::run(baseline), candidate),
        examples::hostile(),
        (one(benchmark("a", planted(5, 0.0))), elsewhere),
        (
            one(benchmark("a", planted(5, 0.0))),
            one(timed("a", planted(5, 0.0))),
        ),
        (one(modelled("a", planted(2, 0.0))), one(with_events)),
        (uncommitted.clone(), uncommitted),
        (scenario::run(Vec::new()), scenario::run(Vec::new())),
    ] {
        check_type("comparison", &examples::compared(&baseline, &candidate));
    }
}

#[test]
fn budgets_noise_and_histories_are_valid() {
    let mut policy = Policy::default();
    for (pattern, metric, limit) in [
        ("*", Metric::Slots, "<= 1 slots"),
        ("*", Metric::Retiring, ">= 1 %"),
        ("*", Metric::Wall, "<= 1 s"),
        ("nothing", Metric::Wall, "<= 1 s"),
    ] {
        let budget = Budget::parse(Subject::Metric(metric), limit).unwrap();
        policy.budgets.push((Pattern::new(pattern), budget));
    }
    let run = scenario::run(vec![
        benchmark("a", Planted::default()),
        modelled("b", Planted::default()),
        timed("c", Planted::default()),
    ]);
    let run = LabelledRun {
        label: "main",
        run: &run,
    };
    check_type("check", &check_budgets(run, &policy));
    check_type("noise", &noise_of(run, &policy, 10));
    for runs in [1, 30] {
        check_type("history", &examples::history(runs));
    }
}

#[test]
fn invalid_values_are_found() {
    let wrong = |document: Value| std::panic::catch_unwind(|| check("run", &document)).is_err();
    assert!(wrong(serde_json::json!({ "schema_version": 2, "id": 7 })));
    assert!(wrong(serde_json::json!({ "schema_version": 77 })));
}
