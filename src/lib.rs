//! A [criterion] measurement that records where the CPU's issue slots went.
//!
//! TopDown analysis splits every issue slot of the pipeline into four categories: retiring, bad
//! speculation, frontend bound and backend bound. [`TopDown`] is a criterion `Measurement` that
//! records this split for every sample of an ordinary benchmark:
//!
//! ```no_run
//! use criterion::{Criterion, criterion_group, criterion_main};
//! use criterion_topdown::TopDown;
//!
//! fn sum(c: &mut Criterion<TopDown>) {
//!     c.bench_function("sum", |b| b.iter(|| (0..1000_u64).sum::<u64>()));
//! }
//!
//! criterion_group! {
//!     name = benches;
//!     config = Criterion::default().with_measurement(TopDown::new());
//!     targets = sum
//! }
//! criterion_main!(benches);
//! ```
//!
//! This package can also stand in for criterion: `criterion = { package = "criterion-topdown" }`
//! makes existing benches measure TopDown with their source unchanged, wherever the types allow. To
//! that end, it re-exports criterion's names with `TopDown` as the default measurement.
//!
//! `cargo topdown` runs such benchmarks, keeps baselines, compares, and fails CI with a reason.
//!
//! # Features
//!
//! * `launches`: the model and hits. `cargo topdown` adds this feature to its builds;
//!   others do not compile an instruction decoder.
//! * `html_reports`, `plotters`, `rayon`, `async_tokio` …: forwarded to criterion.
//!
//! A source of your own implements `Source` of the crate `topdown-counters`, for
//! [`TopDown::with_source`]. Runs and their files are in the crate `topdown-run`.
//!
//! [criterion]: https://docs.rs/criterion

#![warn(clippy::incompatible_msrv)]

// Every bench pays for the compile time of this library. Functions called only by the program are
// `#[inline]`, so that benches need not compile them. Steps that are taken once, such as opening
// counters, are `#[inline(never)]`: merged into their callers, they would be optimized again at
// each level. Lists are filled by loops there, because each chain of iterators is compiled by
// itself.

mod choose;
mod completion_marker;
mod first_iteration;
mod forks;
mod formatter;
mod message;
mod recorder;
mod records_file;
mod self_timed;
mod stand_in;
mod topdown;
mod windows;

pub use stand_in::*;
pub use topdown::TopDown;
