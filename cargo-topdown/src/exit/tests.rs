//! Tests the exit code of each error. The codes are part of the interface, and CI relies on them.

use std::io;
use std::path::{Path, PathBuf};

use topdown_counters::error::OpenError;
use topdown_run::run_file::{BenchmarkId, RunFileError, RunFileProblem};
use topdown_run::setting::UnknownChoice;

use super::*;
use crate::accepted_file;
use crate::config::{ConfigError, WorkspaceError};
use crate::counted_command::CommandError;
use crate::git::GitError;
use crate::merge::MergeError;
use topdown_adoption::AdoptionError;
use topdown_arm_specification::core_of_file;
use topdown_gate::policy::Accepted;
use topdown_gate::scenario::run;
use topdown_report::request::ReportError;
use topdown_runner::launching::launch_error::LaunchError;
use topdown_runner::targets::bench_targets::BuildError;
use topdown_store::shared::BackendError;
use topdown_terminal::nearest::Suggestion;

fn io_error() -> io::Error {
    io::Error::other("no")
}

fn file_error() -> RunFileError {
    RunFileError {
        path: "run.json".into(),
        problem: RunFileProblem::Io(io_error()),
    }
}

fn name() -> topdown_store::baselines::BaselineName {
    "main".parse().unwrap()
}

fn not_saved() -> StoreError {
    StoreError::NotSaved {
        arguments: "main".to_owned(),
        error: Box::new(file_error()),
    }
}

fn id() -> BenchmarkId {
    BenchmarkId {
        package: "p".to_owned(),
        target: "t".to_owned(),
        name: "n".to_owned(),
    }
}

fn metadata_error() -> cargo_metadata::Error {
    cargo_metadata::Error::NoJson
}

fn open_error() -> OpenError {
    OpenError::UnknownChoice(UnknownChoice {
        setting: "source",
        word: "sun".to_owned(),
        choices: vec!["auto"],
    })
}

fn check(code: u8, errors: impl IntoIterator<Item = impl Into<Error>>) {
    for error in errors {
        let error = error.into();
        assert_eq!(Exit::from(&error).code(), code, "{error}");
    }
}

fn git_error() -> GitError {
    GitError {
        command: "worktree".to_owned(),
        message: "no".to_owned(),
    }
}

#[test]
fn exit_codes_match_outcomes() {
    for outcome in [
        Outcome::Passed,
        Outcome::Failed,
        Outcome::NotComparable,
        Outcome::Inconclusive,
        Outcome::NothingDecided,
    ] {
        assert_eq!(Exit::from(outcome).code(), outcome.exit_code());
    }
}

#[test]
fn usage_errors_exit_2() {
    let manifest = PathBuf::from("Cargo.toml");
    let filter = "(".to_owned();
    check(
        2,
        [
            Error::BaselineName(
                "..".parse::<topdown_store::baselines::BaselineName>()
                    .unwrap_err(),
            ),
            Error::Source(open_error()),
            Error::Metadata(metadata_error()),
            Error::NoBudgets,
            Error::NothingToAccept {
                id: "a".to_owned(),
                verdict: "unchanged",
            },
            Error::NoSuchBenchmark {
                nearest: Suggestion(None),
                wanted: "a".to_owned(),
                like: Vec::new(),
            },
            Error::NotInRun {
                nearest: Suggestion(None),
                wanted: "a".to_owned(),
                like: Vec::new(),
            },
            Error::NoSuchGroup {
                nearest: Suggestion(None),
                group: "a".to_owned(),
            },
            Error::Workspace(WorkspaceError::NotFound(Box::new(metadata_error()))),
            ConfigError::Table {
                table: "workspace.metadata.topdown.policy".to_owned(),
                manifest: "Cargo.toml".to_owned(),
                what: "no".to_owned(),
            }
            .into(),
            ConfigError::Range {
                setting: "launches",
                value: "0".to_owned(),
                range: "at least 1".to_owned(),
            }
            .into(),
            Error::AnnotateNeedsComparison,
            Error::NeedsAnnotate { flag: "--pages" },
            Error::ReportNeedsComparison {
                report: "github".to_owned(),
            },
            Error::ProfileFormat { path: "a".into() },
            Error::NoCallPaths {
                run: "main".to_owned(),
            },
            Error::Adoption(AdoptionError::NoLibrary { tried: vec![] }),
            Error::Adoption(AdoptionError::WorkflowExists {
                path: "topdown.yml".into(),
            }),
            Error::Adoption(AdoptionError::NotFound {
                package: "a".to_owned(),
                path: manifest.clone(),
            }),
        ],
    );
    check(
        2,
        [
            MeasureError::Config(ConfigError::Range {
                setting: "launches",
                value: "0".to_owned(),
                range: "at least 1".to_owned(),
            }),
            MeasureError::CriterionArgument {
                flag: "--profile-time".to_owned(),
                instead: "no",
            },
            MeasureError::Filter {
                error: Box::new(regex::Regex::new(&filter).unwrap_err()),
                filter,
            },
        ],
    );
    check(
        2,
        [
            StoreError::NeitherFileNorName {
                argument: "..".to_owned(),
                reason: ".."
                    .parse::<topdown_store::baselines::BaselineName>()
                    .unwrap_err(),
            },
            StoreError::PartOfSuite {
                name: name(),
                lost: 1,
                benchmarks: 2,
            },
            StoreError::NoOnlyOne {
                names: vec![name()],
                directory: PathBuf::new(),
                flags: "".into(),
            },
        ],
    );
    check(
        2,
        [
            SharedStoreError::NotSet,
            SharedStoreError::Address {
                address: "x://".to_owned(),
                reason: "no".to_owned(),
            },
            SharedStoreError::NotBuilt {
                address: "s3://a".to_owned(),
            },
        ],
    );
    check(2, [ExecError::Model]);
    check(
        2,
        [
            CiError::Input {
                name: "save",
                expected: "auto, always or never",
            },
            CiError::Unset("REPORT"),
            CiError::LineBreak { name: "baselines" },
        ],
    );
    let nowhere = Path::new("/nowhere/core.json");
    check(2, [core_of_file(nowhere).unwrap_err()]);
    check(
        2,
        [
            ExplainError::NotOne {
                wanted: "a".to_owned(),
                ids: vec![id()],
            },
            ExplainError::NoSuchFunction {
                wanted: "a".to_owned(),
                id: Box::new(id()),
                nearest: String::new(),
            },
        ],
    );
}

#[test]
fn build_run_and_write_failures_exit_101() {
    let nowhere = Path::new("/nowhere/main/run.json");
    let accepted = accepted_file::write(&Accepted::default(), nowhere, &run(Vec::new()));
    check(101, [accepted.unwrap_err()]);
    let not_written = || AdoptionError::Io {
        path: PathBuf::new(),
        source: io_error(),
    };
    check(
        101,
        [
            not_written(),
            AdoptionError::Unresolved {
                said: String::new(),
            },
            AdoptionError::Interrupt(io_error()),
            AdoptionError::Undone {
                cause: Box::new(not_written()),
                left: Vec::new(),
            },
        ],
    );
    let report = CiError::file(Path::new("summary.md"), io_error());
    check(101, [report, CiError::Program(io_error())]);
    check(
        101,
        [
            Error::NotStored(file_error()),
            Error::Output(io_error()),
            Error::Report(ReportError::new(Path::new("a"), io_error())),
        ],
    );
    check(
        101,
        [
            MeasureError::Build(BuildError::Failed),
            MeasureError::Build(BuildError::FailedBeside(Vec::new())),
            MeasureError::BaseBuild {
                base: "main".to_owned(),
                error: BuildError::Failed,
            },
            MeasureError::NoBenchTargets,
            MeasureError::InOtherPackages(Vec::new()),
            MeasureError::FeaturesOff(Vec::new()),
            MeasureError::NoCriterion,
            MeasureError::CutOffByRunner(String::new()),
            MeasureError::NoBenchmarks,
            MeasureError::AllLeftOut,
            MeasureError::NothingMatched {
                nearest: Suggestion(None),
                filter: "a".to_owned(),
            },
            MeasureError::EmptyShard {
                shard: "2/2".parse().unwrap(),
                benchmarks: 1,
            },
            MeasureError::BenchesFailed { failed: 1 },
            MeasureError::Launch(LaunchError::NotConnected),
            MeasureError::Interrupt(io_error()),
            MeasureError::Scratch(io_error()),
            MeasureError::BaseTree(BaseTreeError::Submodule {
                path: "a".to_owned(),
                commit: "b".to_owned(),
                error: git_error(),
            }),
            MeasureError::BaseTree(BaseTreeError::Busy {
                path: PathBuf::new(),
            }),
            MeasureError::BaseTree(BaseTreeError::Io {
                path: PathBuf::new(),
                error: io_error(),
            }),
        ],
    );
    check(
        101,
        [
            ExecError::Launch {
                launch: 1,
                launches: 1,
                error: CommandError::Io {
                    action: "wait",
                    error: io_error(),
                },
            },
            ExecError::Counters(open_error()),
            ExecError::Interrupt(io_error()),
        ],
    );
    check(
        101,
        [
            StoreError::Link {
                path: PathBuf::new(),
            },
            StoreError::NotWhole {
                name: name(),
                failed: vec!["p::b".to_owned()],
            },
            StoreError::FromTheFuture {
                name: name(),
                started_at: "2031-01-01T00:00:00Z".to_owned(),
                now: jiff::Timestamp::UNIX_EPOCH,
            },
            not_saved(),
            StoreError::NotKept(file_error()),
            StoreError::NotRemoved(file_error()),
        ],
    );
    check(
        101,
        [
            SharedStoreError::Write {
                store: "a".to_owned(),
                error: BackendError::Contended {
                    branch: "b".to_owned(),
                    attempts: 3,
                },
            },
            SharedStoreError::File(file_error()),
            SharedStoreError::Scratch(io_error()),
            SharedStoreError::Local(not_saved()),
        ],
    );
}

#[test]
fn incomparable_runs_exit_102() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("accepted.json"), "{").unwrap();
    let accepted =
        accepted_file::read(&directory.path().join("run.json"), &run(Vec::new())).unwrap_err();
    check(102, [accepted]);
    check(102, [CiError::NoExitCode]);
    check(
        102,
        [
            Error::RunFile(file_error()),
            Error::NothingSelected {
                run: "main".to_owned(),
                expression: "none()".to_owned(),
            },
            Error::SameRun {
                baseline: "a".to_owned(),
                candidate: "b".to_owned(),
                id: "1".to_owned(),
            },
            Error::NoSuchHistory {
                nearest: Suggestion(None),
                wanted: "a".to_owned(),
            },
            Error::ShortHistory { runs: 1, least: 2 },
            Error::Merge(MergeError::Different {
                first: "a".to_owned(),
                other: "b".to_owned(),
                differences: Vec::new(),
            }),
        ],
    );
    check(
        102,
        [
            MeasureError::BaseTree(BaseTreeError::Unknown {
                reference: "a".to_owned(),
                is_shallow: false,
            }),
            MeasureError::BaseTree(BaseTreeError::NoDefaultBranch),
            MeasureError::BaseTree(BaseTreeError::NoMergeBase {
                branch: "main".to_owned(),
                is_shallow: true,
            }),
            MeasureError::BaseTree(BaseTreeError::IsCandidate {
                reference: "a".to_owned(),
                candidate: "b".to_owned(),
            }),
            MeasureError::BaseTree(BaseTreeError::HasNothingSelected {
                base: "a".to_owned(),
                absent: "package `b`".to_owned(),
            }),
            MeasureError::BaseTree(BaseTreeError::Git(git_error())),
            MeasureError::Launch(LaunchError::SameExecutable {
                target: "a::b".to_owned(),
                path: PathBuf::new(),
            }),
        ],
    );
    check(
        102,
        [
            ExplainError::NoSlots {
                id: id(),
                reason: "no".to_owned(),
            },
            ExplainError::NoCategories(id()),
            ExplainError::NoInstructions {
                id: Box::new(id()),
                reason: "no".to_owned(),
            },
            ExplainError::NoTable(open_error()),
            ExplainError::OneSided {
                id: Box::new(id()),
                lacking: "a".to_owned(),
                having: "b".to_owned(),
                remedy: "no".to_owned(),
            },
            ExplainError::NotComparable {
                id: id(),
                differences: "no".to_owned(),
            },
            ExplainError::NoSlotsCompared(id()),
            ExplainError::EventsOfOneSide {
                id: id(),
                lacking: "a".to_owned(),
            },
        ],
    );
    check(
        102,
        [
            StoreError::NoSuchBaseline {
                name: name(),
                names: Vec::new(),
                nearest: Suggestion(None),
                is_for_use: true,
                directory: PathBuf::new(),
                flags: "".into(),
            },
            StoreError::NoOnlyOne {
                names: Vec::new(),
                directory: PathBuf::new(),
                flags: "".into(),
            },
            StoreError::OtherMachines {
                name: name(),
                of: "this machine".to_owned(),
                keys: Vec::new(),
                flags: "".into(),
            },
            StoreError::NoSuchMachine {
                name: name(),
                key: "k".to_owned(),
                keys: Vec::new(),
            },
            StoreError::NoNewestRun {
                directory: PathBuf::new(),
            },
            StoreError::Unreadable(file_error()),
            StoreError::HistoryUnreadable(file_error()),
            StoreError::List {
                directory: PathBuf::new(),
                error: io_error(),
            },
        ],
    );
    check(
        102,
        [
            SharedStoreError::NoSuchBaseline {
                store: "a".to_owned(),
                name: name(),
                of: "this machine".to_owned(),
            },
            SharedStoreError::NothingHere { name: None },
            SharedStoreError::Read {
                store: "a".to_owned(),
                error: BackendError::Contended {
                    branch: "b".to_owned(),
                    attempts: 3,
                },
            },
        ],
    );
}

#[test]
fn interrupt_exits_130() {
    check(130, [MeasureError::Interrupted]);
    check(130, [ExecError::Interrupted]);
    check(
        130,
        [AdoptionError::Undone {
            cause: Box::new(AdoptionError::Interrupted),
            left: Vec::new(),
        }],
    );
}
