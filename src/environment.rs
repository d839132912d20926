//! The environment variables through which `cargo topdown` talks to benches.
//!
//! The program sets them and this library reads them. Those of [settings](crate::setting) can also
//! be set by users, in plain `cargo bench` too.

/// Where the numbers come from: see [`SourceChoice`](crate::setting::SourceChoice).
pub const SOURCE: &str = "CARGO_TOPDOWN_SOURCE";

/// Which hardware counters: see [`Counters`](crate::setting::Counters).
pub const COUNTERS: &str = "CARGO_TOPDOWN_COUNTERS";

/// Whose slots the hardware counts: see [`Threads`](crate::setting::Threads).
pub const THREADS: &str = "CARGO_TOPDOWN_THREADS";

/// What an earlier launch decided where [`Threads::Auto`](crate::setting::Threads::Auto) applies:
/// one letter per benchmark of the process, in execution order, `a` for all threads and `o` for the
/// measuring one.
pub const THREADS_DECIDED: &str = "CARGO_TOPDOWN_THREADS_DECIDED";

/// The metric group to count instead of level 1; see
/// [`CpuTable::groups`](crate::cpu::CpuTable::groups).
pub const GROUP: &str = "CARGO_TOPDOWN_GROUP";

/// A core that this library has no table for, described as text.
pub const DESCRIBED_CORE: &str = "CARGO_TOPDOWN_CORE";

/// Which core is modelled: see [`ModelCore`](crate::setting::ModelCore).
pub const MODEL_CORE: &str = "CARGO_TOPDOWN_MODEL_CORE";

/// How long a launch models a benchmark, in seconds.
pub const MODEL_BUDGET: &str = "CARGO_TOPDOWN_MODEL_BUDGET";

/// The stretches of execution whose blocks a modelled launch keeps one by one, to find the place
/// where two launches part: `NUMBER:FIRST:END`, separated by commas. Both the benchmarks of a
/// process and the blocks of a benchmark are numbered from 0.
pub const STRETCHES: &str = "CARGO_TOPDOWN_STRETCHES";

/// What decides how many iterations samples have: see [`Sampling`](crate::setting::Sampling).
pub const SAMPLING: &str = "CARGO_TOPDOWN_SAMPLING";

/// The file that a bench appends its [records](crate::record) to.
pub const SAMPLES: &str = "CARGO_TOPDOWN_SAMPLES";
