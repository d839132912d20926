//! The gate of `cargo topdown`: judges one run of benchmarks by another.
//!
//! Pure: it reads no file, no clock and no environment, and says the same of the same runs on every
//! machine. `docs/gate.md` is the procedure; the example `simulate` shows how often it errs.
//!
//! A CI service that has two run files judges them so:
//!
//! ```no_run
//! use criterion_topdown::run_file::parse_run;
//! use topdown_gate::policy::Policy;
//! use topdown_gate::verdict::{Class, LabelledRun, Outcome, compare};
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
//!     if benchmark.class == Class::Regressed {
//!         println!("{} is slower: {:?}", benchmark.id, benchmark.cause);
//!     }
//! }
//! assert_eq!(comparison.outcome, Outcome::Passed);
//! # Ok(())
//! # }
//! ```
//!
//! # Rooms
//!
//! [`statistics`] sees numbers alone. [`metric`] names what is compared, [`policy`] what matters,
//! [`selection`] what a run was asked for, [`summary`] what its launches say together. [`verdict`] is
//! the only place where "regressed" is decided.
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
