//! The gate of `cargo topdown`: judges one run of benchmarks against another.
//!
//! It is pure: it reads no files, clock or environment, so the same runs get the same verdict on
//! every machine. `docs/gate.md` describes the procedure; the example `simulate` shows how often it
//! errs.
//!
//! A CI service links it next to `criterion-topdown`, which reads the files; neither brings in
//! criterion or the counters:
//!
//! ```toml
//! topdown-run = { version = "0.1", features = ["files"] }
//! topdown-gate = "0.1"
//! ```
//!
//! ```
//! use topdown_run::run_file::parse_run;
//! use topdown_gate::policy::Policy;
//! use topdown_gate::verdict::{LabelledRun, Verdict, compare};
//!
//! /// Returns the exit code, and a line for each benchmark that fails.
//! fn judge(main: &[u8], pull_request: &[u8]) -> Result<(u8, Vec<String>), String> {
//!     let read = |json: &[u8]| parse_run(json).map_err(|problem| problem.to_string());
//!     let (main, pull_request) = (read(main)?, read(pull_request)?);
//!     let comparison = compare(
//!         LabelledRun { label: "main", run: &main },
//!         LabelledRun { label: "the pull request", run: &pull_request },
//!         &Policy::default(),
//!     );
//!     let failing = comparison.benchmarks.iter().filter(|b| comparison.fails(b));
//!     let line = |b: &topdown_gate::verdict::BenchmarkVerdict| {
//!         let change = b.main_effect().map_or(0.0, |effect| 100.0 * effect.difference);
//!         format!("{} is {}: {change:+.1} %", b.id, b.verdict.name())
//!     };
//!     Ok((comparison.exit_code, failing.map(line).collect()))
//! }
//! # let run = std::fs::read("../../baselines/main/x86_64-model-golden-cove/run.json").unwrap();
//! # let id = parse_run(&run).unwrap().id;
//! # let other = String::from_utf8(run.clone()).unwrap().replace(&id, &format!("{id}-2"));
//! # assert_eq!(judge(&run, other.as_bytes()), Ok((0, Vec::new())));
//! ```
//!
//! # Modules
//!
//! [`statistics`] only sees numbers. [`metric`] names what is compared, [`policy`] what matters,
//! [`selection`] what a run was asked for, [`launches_made`] how many launches it holds,
//! [`summary`] what these have in common, and [`comparability`] which runs can be compared.
//! [`cold`] compares first iterations, [`schedules`] orders of threads. [`physical`] knows which
//! counts are impossible.
//! [`trend`] finds where a history changed. [`verdict`] uses all of them, and is the only place
//! that decides "regressed".
#![forbid(unsafe_code)]

pub mod allocated;
pub mod cold;
pub mod comparability;
pub mod event_rates;
pub mod filter_expression;
pub mod function_name;
pub mod launches_made;
pub mod metric;
pub mod path_changes;
pub mod pattern;
pub mod physical;
pub mod policy;
#[cfg(any(test, feature = "scenario"))]
pub mod scenario;
pub mod schedules;
pub mod selection;
pub mod statistics;
pub mod summary;
pub mod trend;
pub mod verdict;
pub mod versus;
