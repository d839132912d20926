//! The gate of `cargo topdown`: judges one run of benchmarks against another.
//!
//! It is pure: it reads no files, clock or environment, so the same runs get the same verdict on
//! every machine. `docs/gate.md` describes the procedure; the example `simulate` shows how often it
//! errs.
//!
//! A CI service with two run files can judge them like this:
//!
//! ```no_run
//! use criterion_topdown::run_file::parse_run;
//! use topdown_gate::policy::Policy;
//! use topdown_gate::verdict::{Verdict, LabelledRun, Outcome, compare};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let baseline = parse_run(&std::fs::read("baselines/main/KEY/run.json")?)?;
//! let candidate = parse_run(&std::fs::read("target/topdown/newest/run.json")?)?;
//! let comparison = compare(
//!     LabelledRun { label: "main", run: &baseline },
//!     LabelledRun { label: "the pull request", run: &candidate },
//!     &Policy::default(),
//! );
//! for benchmark in &comparison.benchmarks {
//!     if benchmark.verdict == Verdict::Regressed {
//!         println!("{} is slower: {:?}", benchmark.id, benchmark.cause);
//!     }
//! }
//! assert_eq!(comparison.outcome, Outcome::Passed);
//! # Ok(())
//! # }
//! ```
//!
//! # Modules
//!
//! [`statistics`] only sees numbers. [`metric`] names what is compared, [`policy`] what matters,
//! [`selection`] what a run was asked for, and [`summary`] what its launches have in common.
//! [`verdict`] is the only place that decides "regressed".
#![forbid(unsafe_code)]

pub mod event_rates;
pub mod function_name;
pub mod metric;
pub mod pattern;
pub mod policy;
#[cfg(any(test, feature = "scenario"))]
pub mod scenario;
pub mod selection;
pub mod statistics;
pub mod summary;
pub mod verdict;
