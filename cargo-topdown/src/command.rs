//! One file per subcommand.

mod accept;
mod annotate;
pub mod baseline;
mod bench;
mod bisect;
mod check;
mod ci;
mod compare;
mod doctor;
mod exec;
mod explain;
mod finished_run;
mod history;
mod import;
mod init;
mod machine_report;
mod manual;
mod merge;
mod noise;
mod report;
mod run_output;
mod share;
mod start_bench;
mod stored_run;
mod versus;

use crate::cli::Command;
use crate::error::Error;
use crate::exit::Exit;

/// Runs a subcommand and returns the exit code.
pub fn run(command: Command) -> Result<Exit, Error> {
    topdown_arm_specification::load_from_environment()?;
    match command {
        Command::Bench(args) => bench::run(&args),
        Command::Bisect(args) => bisect::run(&args),
        Command::Check(args) => check::run(&args),
        Command::Annotate(args) => annotate::run(&args),
        Command::Explain(args) => explain::run(&args),
        Command::Compare(args) => compare::run(&args),
        Command::Exec(args) => exec::run(&args),
        Command::ExecAfterGo(args) => exec::start(&args),
        Command::StartBench(args) => start_bench::run(&args),
        Command::Import(args) => import::run(&args),
        Command::Baseline(command) => baseline::run(command),
        Command::Merge(args) => merge::run(&args),
        Command::Versus(args) => versus::run(&args),
        Command::History(args) => history::run(&args),
        Command::Report(args) => report::run(&args),
        Command::Completions(args) => manual::completions(&args),
        Command::Man(args) => manual::man(&args),
        Command::Init(args) => init::run(&args),
        Command::Doctor(args) => doctor::run(&args),
        Command::Ci { step } => ci::run(step),
    }
}
