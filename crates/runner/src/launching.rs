//! One launch: a bench process from its start to its exit, and what it says.

pub(crate) mod bench_command;
pub(crate) mod bench_process;
pub(crate) mod bench_progress;
pub(crate) mod conversation;
pub(crate) mod excerpt;
pub(crate) mod fixed_stack;
pub mod forks;
pub(crate) mod join;
pub(crate) mod launch;
pub mod launch_error;
pub(crate) mod launched_code;
pub mod launcher;
pub mod left_out;
pub(crate) mod live_samples;
pub(crate) mod load;
pub(crate) mod measured;
pub(crate) mod own_cpu;
pub(crate) mod peer;
pub mod protocol;
pub(crate) mod repeated;
pub(crate) mod samples_file;
pub(crate) mod time_limits;
pub(crate) mod trail;
