//! The command line of `exec`.

use std::ffi::OsString;

use clap::Args;

use topdown_run::setting::{Counters, Setting, SourceChoice};

use super::choices;
use super::{OutputArgs, StoredRunArgs};
use topdown_runner::settings::MAX_LAUNCHES;

/// `cargo topdown exec`.
#[derive(Debug, Args)]
pub struct ExecArgs {
    /// The number of executions
    #[arg(
        short = 'n',
        long,
        value_name = "N",
        default_value = "10",
        value_parser = clap::value_parser!(u32).range(1..=i64::from(MAX_LAUNCHES)),
        env = "CARGO_TOPDOWN_LAUNCHES"
    )]
    pub launches: u32,

    /// The name of the command in the run [default: the command line]
    #[arg(long, value_name = "BENCH")]
    pub name: Option<String>,

    /// Where the numbers come from [default: auto: `hardware`, else `time`]; `model` is refused
    #[arg(
        long,
        value_name = "SOURCE",
        env = SourceChoice::VARIABLE,
        value_parser = choices::<SourceChoice>()
    )]
    pub source: Option<SourceChoice>,

    /// Which hardware counters to use [default: auto: `exact`, else `metrics`]
    #[arg(
        long,
        value_name = "KIND",
        env = Counters::VARIABLE,
        value_parser = choices::<Counters>()
    )]
    pub counters: Option<Counters>,

    /// Print the functions that the slots went to, from further launches that sample them
    ///
    /// Needs counters. All threads and processes of the command are sampled, in user mode.
    #[arg(long)]
    pub functions: bool,

    /// Hide the command's output and the progress
    #[arg(short, long)]
    pub quiet: bool,

    #[command(flatten)]
    pub stored: StoredRunArgs,

    #[command(flatten)]
    pub output: OutputArgs,

    /// The command and its arguments; its standard input is empty
    #[arg(last = true, required = true, value_name = "CMD")]
    pub command: Vec<OsString>,
}

/// `cargo topdown exec-when-told`.
#[derive(Debug, Args)]
pub struct ExecAfterGoArgs {
    /// The process whose end also ends the command
    #[arg(long)]
    pub parent: i32,

    /// The command and its arguments
    #[arg(last = true, required = true, value_name = "CMD")]
    pub command: Vec<OsString>,
}
