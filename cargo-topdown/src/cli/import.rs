//! The command line of `import`.

use std::num::NonZeroU32;
use std::path::PathBuf;

use clap::Args;
use topdown_run::machine::Machine;

use super::{OutputArgs, StoredRunArgs};
use topdown_import::Format;

/// `cargo topdown import`.
#[derive(Debug, Args)]
pub struct ImportArgs {
    /// The tool's output: one file per execution of the command, or one of `perf stat --append`
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,

    /// The name of the command in the run
    #[arg(long = "as", value_name = "BENCH", default_value = "imported")]
    pub name: String,

    /// The format of the files [default: detected]
    #[arg(long, value_name = "FORMAT")]
    pub format: Option<Format>,

    /// The tool's version, if its output does not name it
    ///
    /// Runs of different versions are not compared.
    #[arg(long, value_name = "VERSION")]
    pub tool_version: Option<String>,

    /// The wall-clock time of each execution, if the files lack it; separated by commas
    #[arg(long, value_name = "SECONDS", value_delimiter = ',', value_parser = seconds)]
    pub seconds: Vec<f64>,

    /// The key of the measured machine (see `baseline list`) [default: this machine's]
    #[arg(long, value_name = "KEY", value_parser = machine)]
    pub machine: Option<Machine>,

    /// The width of the machine's pipeline, if this program does not know it
    #[arg(long, value_name = "N")]
    pub slots_per_cycle: Option<NonZeroU32>,

    #[command(flatten)]
    pub stored: StoredRunArgs,

    #[command(flatten)]
    pub output: OutputArgs,
}

fn machine(key: &str) -> Result<Machine, String> {
    Machine::from_key(key).ok_or_else(|| {
        "a key looks like `x86_64-GenuineIntel-06-8f-08-smt`; see `cargo topdown baseline list`"
            .to_owned()
    })
}

fn seconds(text: &str) -> Result<f64, String> {
    const LONGEST: f64 = 1e9;
    text.parse()
        .ok()
        .filter(|seconds| (0.0..LONGEST).contains(seconds))
        .ok_or_else(|| format!("`{text}` is not a number of seconds"))
}
