//! The environment variables through which `cargo topdown` controls benches.
//!
//! The program sets them and this library reads them. Users can also set those of
//! [settings](crate::setting), even with plain `cargo bench`.

/// Where the numbers come from: see [`SourceChoice`](crate::setting::SourceChoice).
pub const SOURCE: &str = "CARGO_TOPDOWN_SOURCE";

/// Which hardware counters: see [`Counters`](crate::setting::Counters).
pub const COUNTERS: &str = "CARGO_TOPDOWN_COUNTERS";

/// Which threads' slots the hardware counts: see [`Threads`](crate::setting::Threads).
pub const THREADS: &str = "CARGO_TOPDOWN_THREADS";

/// What an earlier launch decided for [`Threads::Auto`](crate::setting::Threads::Auto): one letter
/// per benchmark of the process, in execution order, `a` for all threads and `o` for the measuring
/// one.
pub const THREADS_DECIDED: &str = "CARGO_TOPDOWN_THREADS_DECIDED";

/// The metric group to count instead of level 1; see
/// `CpuTable::groups` of the counters.
pub const GROUP: &str = "CARGO_TOPDOWN_GROUP";

/// After how many cycles the hardware interrupts and records where the code is: see
/// [`code_samples`](crate::code_samples). With [`GROUP`], after how many counts each event of the
/// group does, separated by commas; 0 for one that only counts. Such a launch gives no slots to the
/// statistics.
pub const SAMPLING_PERIOD: &str = "CARGO_TOPDOWN_HIT_PERIOD";

/// The metric group whose retire latencies are recorded. Such a launch
/// counts nothing.
pub const LATENCIES: &str = "CARGO_TOPDOWN_LATENCIES";

/// A text description of a core for which this library has no table.
pub const DESCRIBED_CORE: &str = "CARGO_TOPDOWN_CORE";

/// Which core is modelled: see [`ModelCore`](crate::setting::ModelCore).
pub const MODEL_CORE: &str = "CARGO_TOPDOWN_MODEL_CORE";

/// Seconds for which a launch models a benchmark.
pub const MODEL_BUDGET: &str = "CARGO_TOPDOWN_MODEL_BUDGET";

/// Whether lines that another thread wrote last come from its modelled core: `1`.
pub const SHARED_LINES: &str = "CARGO_TOPDOWN_SHARED_LINES";

/// Whether modelled launches keep call paths: `1`.
pub const PATHS: &str = "CARGO_TOPDOWN_PATHS";

/// Whether modelled launches count each instruction by itself: `1`. Such a launch has no call paths
/// and no fingerprint.
pub const INSTRUCTIONS: &str = "CARGO_TOPDOWN_INSTRUCTIONS";

/// Whether modelled launches count allocations: all but `0`.
pub const ALLOCATIONS: &str = "CARGO_TOPDOWN_ALLOCATIONS";

/// The stretches of execution whose blocks a modelled launch keeps one by one, to find where two
/// launches diverge: `NUMBER:FIRST:END`, separated by commas. The benchmarks of a process are
/// numbered from 0, and so are the blocks of a benchmark. Set in all modelled launches.
pub const STRETCHES: &str = "CARGO_TOPDOWN_STRETCHES";

/// Whether a modelled launch runs on one CPU, because its benchmarks have several threads: which of
/// those that it may use, from 1 for the last one on, or `0`. Set in all modelled launches.
pub const ONE_CPU: &str = "CARGO_TOPDOWN_ONE_CPU";

/// In which order the threads of a modelled launch take turns, if not in the first: a number. Read
/// right after a value as short, so that it takes the same memory.
pub const SCHEDULE: &str = "CARGO_TOPDOWN_SCHEDULE";

/// The port of localhost at which criterion's runner listens. The name is criterion's.
pub const RUNNER_PORT: &str = "CARGO_CRITERION_PORT";

/// What determines the number of iterations of samples: see [`Sampling`](crate::setting::Sampling).
pub const SAMPLING: &str = "CARGO_TOPDOWN_SAMPLING";

/// Number of samples that an earlier launch modelled of the only benchmark of the process, as
/// [`REPEATS_DIGITS`] digits. If it is not 0, the launch models nothing, and of what it executes
/// returns the [digest](crate::code::Trail::digest) alone.
pub const REPEATS: &str = "CARGO_TOPDOWN_REPEATS";

/// The length of [`REPEATS`], the same in all launches: reading a variable allocates, and what lies
/// where decides slots.
pub const REPEATS_DIGITS: usize = 8;

/// The minimum length of [`STRETCHES`], for the same reason: enough for one benchmark.
pub const MIN_STRETCHES_LENGTH: usize = 64;

/// The file for forking a process for each benchmark, after a prefix: see [`forks`](crate::forks).
pub const FORKS: &str = "CARGO_TOPDOWN_FORKS";

/// The file to which a bench appends its [records](crate::record).
pub const SAMPLES: &str = "CARGO_TOPDOWN_SAMPLES";
