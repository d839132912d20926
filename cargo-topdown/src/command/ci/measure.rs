//! `cargo topdown ci measure`: runs the benches, compares the run, and makes one outcome of both.
//!
//! Verdicts do not fail this step: `gate` ends with the exit code after everything else is kept.
//! Outputs `measured` (whether there is a whole run), `outcome` and `exit-code`.

use std::fs;
use std::path::{Path, PathBuf};

use topdown_run::run_file;

use super::github::{add_to_summary, annotate, set_outputs};
use super::no_comparison::{self, MissingBaseline};
use super::outcome::{Ending, Last, Outcome, quoted};
use super::program;
use super::trailers::{self, Trailer};
use super::variables::Variables;
use crate::error::{CiError, Error};
use crate::exit::Exit;
use crate::git::git;
use crate::merge::check_whole;
use crate::store_location::StoreLocation;
use topdown_report::foreign_comparison::ForeignComparison;
use topdown_report::workflow_command::Level;
use topdown_store::baselines::StoreError;
use topdown_system::whole_file;

/// Runs the step.
///
/// # Errors
/// Returns an error if this program cannot be started again, or a report cannot be written.
pub fn run(variables: &Variables) -> Result<Exit, Error> {
    let inputs = Inputs {
        accepted: trailers::accepted(variables, Path::new(".")),
        ..Inputs::of(variables)?
    };
    let program =
        |arguments: Vec<String>, last| program::run(variables, &arguments, &inputs.printed(last));
    let mut bench = program(inputs.bench(inputs.leaves_out_unchanged()), Last::Bench)?;
    if bench == 0 && inputs.against.is_none() {
        bench = program(inputs.keep(), Last::Bench)?;
    }
    let compares = bench == 0 && inputs.against.is_none() && inputs.compare;
    let missing = compares.then(|| inputs.missing_baseline()).flatten();
    let mut compare = match missing {
        Some(_) => Some(i32::from(Exit::NoComparison.code())),
        None if compares => Some(program(inputs.compare(), Last::Compare)?),
        None => None,
    };
    let is_renewed = compare == Some(0) && inputs.is_renewed();
    if is_renewed {
        compare = Some(Exit::NoComparison.code().into());
    }
    let outcome = Outcome::of(bench, compare, inputs.against.is_some(), inputs.save);
    if let Some(missing) = &missing {
        let level = if outcome.becomes_baseline {
            Level::Notice
        } else {
            Level::Error
        };
        let follows = no_comparison::consequence(outcome.becomes_baseline);
        let message = format!("{missing}, so nothing was compared\n{follows}");
        annotate(level, &message);
    } else if outcome.becomes_baseline && !is_renewed {
        let message = "the baseline cannot be compared with this run, which replaces it";
        annotate(Level::Notice, message);
    }
    let mut summary = inputs.summary(&outcome, missing.as_ref())?;
    if compare == Some(Exit::Regressed.code().into())
        && let Some(since) = inputs.several_commits_since(Path::new("."))
    {
        summary += &inputs.searched(variables, &since)?;
    }
    add_to_summary(variables, &summary)?;
    let measured = if bench == 0 { "true" } else { "false" };
    set_outputs(
        variables,
        &[
            ("measured", measured),
            ("outcome", outcome.ending.name()),
            ("exit-code", &outcome.exit_code.to_string()),
        ],
    )?;
    Ok(Exit::Success)
}

#[derive(Debug)]
struct Inputs {
    baseline: String,
    against: Option<String>,
    compare: bool,
    /// Whether benchmarks that execute the same code as in the baseline may be left out.
    changed: bool,
    /// Whether the machine measures only a part of the suite.
    is_shard: bool,
    /// Whether the run becomes the baseline.
    save: bool,
    /// `--source` and others, and their values.
    flags: Vec<(&'static str, String)>,
    bench_args: Vec<String>,
    compare_args: Vec<String>,
    /// What the head commit accepts.
    accepted: Vec<Trailer>,
    /// The default branch's commit before this push.
    before: Option<String>,
    /// The directory of the reports.
    report: PathBuf,
    /// The directory of the baselines.
    baselines: Option<PathBuf>,
}

impl Inputs {
    fn of(variables: &Variables) -> Result<Inputs, CiError> {
        let one = |flag, name| Some((flag, variables.some(name)?.to_owned()));
        let flags = [
            one("--source", "INPUT_SOURCE"),
            one("--model-core", "INPUT_MODEL_CORE"),
            one("--launches", "INPUT_LAUNCHES"),
        ];
        let packages = variables.lines("INPUT_PACKAGES").into_iter();
        let packages = packages.map(|name| ("--package", name));
        Ok(Inputs {
            baseline: variables.text("INPUT_BASELINE").to_owned(),
            against: variables.some("INPUT_AGAINST").map(str::to_owned),
            compare: variables.truth("INPUT_COMPARE", "compare")?,
            changed: variables.truth("INPUT_CHANGED", "changed")?,
            is_shard: variables.some("CARGO_TOPDOWN_SHARD").is_some(),
            save: variables.text("SAVE") == "true",
            flags: flags.into_iter().flatten().chain(packages).collect(),
            bench_args: variables.lines("INPUT_BENCH_ARGS"),
            compare_args: variables.lines("INPUT_COMPARE_ARGS"),
            accepted: Vec::new(),
            before: variables.some("PUSHED_AFTER").map(str::to_owned),
            report: variables.required("REPORT")?.into(),
            baselines: variables.some("CARGO_TOPDOWN_BASELINES").map(PathBuf::from),
        })
    }

    /// Returns whether to launch only what differs from the baseline. A run that becomes the
    /// baseline has to be whole, and so does the baseline, which has to be readable, too.
    fn leaves_out_unchanged(&self) -> bool {
        let chooses_itself = |argument: &String| {
            let flags = ["--changed", "--shard", "--save", "--against", "--list"];
            flags.contains(&argument.split('=').next().unwrap_or(argument))
        };
        if !self.changed
            || !self.compare
            || self.save
            || self.is_shard
            || self.against.is_some()
            || self.bench_args.iter().any(chooses_itself)
        {
            return false;
        }
        let baseline = self.store_location().store().ok();
        let path = baseline.and_then(|store| store.resolve(&self.baseline).ok());
        let run = path.and_then(|path| run_file::read_run(&path).ok());
        run.is_some_and(|run| check_whole(&self.baseline, &run).is_ok())
    }

    fn store_location(&self) -> StoreLocation {
        StoreLocation {
            baselines: self.baselines.clone(),
            manifest_path: None,
        }
    }

    /// Returns which baseline is missing if there is nothing to compare the run with, as at a
    /// repository's first push. `compare` would call that an error.
    fn missing_baseline(&self) -> Option<MissingBaseline> {
        let (name, machine) = match self.store_location().store().ok()?.resolve(&self.baseline) {
            Err(StoreError::NoSuchBaseline { name, .. }) => (name, None),
            Err(StoreError::OtherMachines { name, of, .. }) => (name, Some(of)),
            _ => return None,
        };
        Some(MissingBaseline { name, machine })
    }

    /// Returns whether `compare` passed only because the run becomes the baseline.
    fn is_renewed(&self) -> bool {
        let comparison = ForeignComparison::read(&self.report.join("comparison.json"));
        self.save && comparison.is_ok_and(|comparison| !comparison.is_comparable())
    }

    /// Returns the arguments of `bench`, which also compares with `against`.
    fn bench(&self, leaves_out_unchanged: bool) -> Vec<String> {
        let mut arguments = vec!["bench".to_owned()];
        if leaves_out_unchanged {
            arguments.push(format!("--changed={}", self.baseline));
        }
        if let Some(reference) = &self.against {
            arguments.push(format!("--against={reference}"));
            arguments.extend(self.reports());
            arguments.extend(self.accepted.iter().map(Trailer::flag));
            arguments.extend_from_slice(&self.compare_args);
        }
        let flags = self.flags.iter();
        arguments.extend(flags.map(|(flag, value)| format!("{flag}={value}")));
        // Last, since they may end in `--` and arguments for criterion.
        arguments.extend_from_slice(&self.bench_args);
        arguments
    }

    /// Returns the arguments of `compare`.
    fn compare(&self) -> Vec<String> {
        let mut arguments = vec!["compare".to_owned()];
        arguments.extend(self.save.then(|| "--becomes-baseline".to_owned()));
        arguments.extend(self.reports());
        arguments.extend(self.accepted.iter().map(Trailer::flag));
        arguments.extend_from_slice(&self.compare_args);
        arguments.extend(["--".to_owned(), self.baseline.clone()]);
        arguments
    }

    /// Returns the arguments that add the run to the reports, as a baseline in a store of its own:
    /// whoever downloads the reports can compare with it.
    fn keep(&self) -> Vec<String> {
        let store = self.report.join("runs").display().to_string();
        let arguments = ["baseline", "save", "candidate", "--baselines", &store];
        arguments.map(str::to_owned).to_vec()
    }

    /// Returns the commit before a push to the default branch, if the push brought several commits.
    /// The run alone does not tell which of them is slower.
    fn several_commits_since(&self, directory: &Path) -> Option<String> {
        // All zeros for a new branch.
        let is_commit = |before: &&String| before.contains(|digit| digit != '0');
        let before = self
            .before
            .as_ref()
            .filter(|_| self.save)
            .filter(is_commit)?;
        let range = format!("{before}..HEAD");
        match git(
            directory,
            &["rev-list", "--count", "--first-parent", &range],
        ) {
            Ok(count) => (count.parse::<usize>().ok()? > 1).then(|| before.clone()),
            Err(_) => {
                let message = "the checkout lacks the commits of this push, so the one that is \
                               slower is not searched; check out with `fetch-depth: 0`";
                annotate(Level::Notice, message);
                None
            }
        }
    }

    /// Searches the commits after `since` for the first slow one, and returns what was found for
    /// the summary.
    fn searched(&self, variables: &Variables, since: &str) -> Result<String, CiError> {
        let arguments = self.bisect(since, &self.regressed());
        let file = self.report.join("bisect.txt");
        let printed = self.printed(Last::Compare);
        program::run_into(variables, &arguments, &printed, &file)?;
        let found = fs::read_to_string(&file).unwrap_or_default();
        Ok(match found.trim() {
            "" => String::new(),
            found => format!("\n### Since which commit\n\n{}", quoted(found)),
        })
    }

    /// Returns the arguments of `bisect`, for the benchmarks with these names.
    fn bisect(&self, since: &str, names: &[String]) -> Vec<String> {
        let mut arguments = vec!["bisect".to_owned()];
        let flags = self.flags.iter();
        arguments.extend(flags.map(|(flag, value)| format!("{flag}={value}")));
        let for_cargo = self
            .bench_args
            .iter()
            .take_while(|argument| *argument != "--");
        arguments.extend(for_cargo.cloned());
        let names = names.iter().map(|name| {
            let escaped = name.replace('\\', r"\\").replace(')', r"\)");
            format!("--filterset=test(={escaped})")
        });
        arguments.extend(names);
        arguments.extend(["--".to_owned(), since.to_owned()]);
        arguments
    }

    /// Returns the names of the benchmarks that regressed; none if they are too many.
    fn regressed(&self) -> Vec<String> {
        let comparison = ForeignComparison::read(&self.report.join("comparison.json"));
        let names = comparison.map_or(Vec::new(), |comparison| comparison.regressed());
        let fits = names.len() <= MAX_SEARCHED;
        names.into_iter().filter(|_| fits).collect()
    }

    /// Returns the flags that request the reports of a comparison.
    fn reports(&self) -> impl Iterator<Item = String> {
        let files = [
            ("markdown", SUMMARY),
            ("comment", "comment.md"),
            ("junit", "junit.xml"),
            ("html", "report.html"),
            ("json", "comparison.json"),
        ];
        let files =
            files.map(|(format, file)| format!("{format}={}", self.report.join(file).display()));
        let reports = ["github".to_owned()].into_iter().chain(files);
        reports.flat_map(|report| ["--report".to_owned(), report])
    }

    /// Returns the file with what the command prints to standard error.
    fn printed(&self, last: Last) -> PathBuf {
        self.report.join(format!("{last}.stderr"))
    }

    /// Reads the summary that the last command wrote, or writes one if there is none. `missing` is
    /// the baseline that was not found.
    fn summary(
        &self,
        outcome: &Outcome,
        missing: Option<&MissingBaseline>,
    ) -> Result<String, CiError> {
        let path = self.report.join(SUMMARY);
        let written = fs::read_to_string(&path).unwrap_or_default();
        if !written.is_empty() {
            return Ok(written);
        }
        let printed = fs::read(self.printed(outcome.last)).unwrap_or_default();
        let summary = match missing {
            Some(missing) => no_comparison::summary(&missing.to_string(), outcome.becomes_baseline),
            None => outcome.summary(&String::from_utf8_lossy(&printed)),
        };
        write(&path, &summary)?;
        if outcome.ending != Ending::Measured {
            let comment = format!("<!-- cargo-topdown: news -->\n{summary}");
            write(&self.report.join("comment.md"), &comment)?;
            let reason = no_comparison::written(outcome.ending, missing);
            write(&self.report.join(no_comparison::FILE), &reason)?;
        }
        Ok(summary)
    }
}

/// With more benchmarks that regressed, all are searched.
const MAX_SEARCHED: usize = 20;

/// The report that becomes the step's summary.
const SUMMARY: &str = "summary.md";

fn write(path: &Path, text: &str) -> Result<(), CiError> {
    whole_file::write(path, text.as_bytes()).map_err(|error| CiError::file(path, error))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn inputs(changed: &[(&'static str, &'static str)]) -> Inputs {
        inputs_or_error(changed).unwrap()
    }

    fn inputs_or_error(changed: &[(&'static str, &'static str)]) -> Result<Inputs, CiError> {
        let variables = [
            ("INPUT_BASELINE", "main"),
            ("INPUT_COMPARE", "true"),
            ("INPUT_CHANGED", "true"),
            ("REPORT", "reports"),
        ];
        Inputs::of(&Variables::of(variables.iter().chain(changed).copied()))
    }

    const REPORTS: [&str; 12] = [
        "--report",
        "github",
        "--report",
        "markdown=reports/summary.md",
        "--report",
        "comment=reports/comment.md",
        "--report",
        "junit=reports/junit.xml",
        "--report",
        "html=reports/report.html",
        "--report",
        "json=reports/comparison.json",
    ];

    #[test]
    fn inputs_become_flags() {
        let inputs = inputs(&[
            ("INPUT_SOURCE", "model"),
            ("INPUT_MODEL_CORE", "zen-5"),
            ("INPUT_LAUNCHES", "3"),
            ("INPUT_PACKAGES", "one\n\ntwo\n"),
            (
                "INPUT_BENCH_ARGS",
                "--locked\n--\n$(touch x)\n--source=time",
            ),
            ("INPUT_COMPARE_ARGS", "--fail-on\nshifted"),
        ]);
        assert_eq!(
            inputs.bench(true),
            [
                "bench",
                "--changed=main",
                "--source=model",
                "--model-core=zen-5",
                "--launches=3",
                "--package=one",
                "--package=two",
                "--locked",
                "--",
                "$(touch x)",
                "--source=time",
            ]
        );
    }

    /// This repository has a whole baseline `main`.
    #[test]
    fn only_runs_judged_by_a_whole_baseline_leave_out_what_is_unchanged() {
        let leaves_out = |changed: &[_]| inputs(changed).leaves_out_unchanged();
        assert!(leaves_out(&[]));
        for other in [
            ("INPUT_CHANGED", "false"),
            ("INPUT_COMPARE", "false"),
            ("INPUT_AGAINST", "main"),
            ("INPUT_BASELINE", "no-such-baseline"),
            ("INPUT_BENCH_ARGS", "--workspace\n--shard=1/2"),
            ("CARGO_TOPDOWN_SHARD", "1/2"),
            ("CARGO_TOPDOWN_BASELINES", "/nowhere"),
            ("SAVE", "true"),
        ] {
            assert!(!leaves_out(&[other]), "{other:?}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn run_is_compared_with_every_report() {
        let arguments = ("INPUT_COMPARE_ARGS", "--fail-on\nshifted\n");
        let stored = inputs(&[arguments, ("INPUT_BASELINE", "-x $(touch x)")]);
        let after = ["--fail-on", "shifted", "--", "-x $(touch x)"];
        assert_eq!(
            stored.compare(),
            [&["compare"], &REPORTS[..], &after].concat()
        );
        assert_eq!(stored.bench(false), ["bench"]);
        assert_eq!(
            stored.keep(),
            [
                "baseline",
                "save",
                "candidate",
                "--baselines",
                "reports/runs"
            ]
        );

        let saved = inputs(&[("SAVE", "true")]);
        let after = ["--", "main"];
        assert_eq!(
            saved.compare(),
            [&["compare", "--becomes-baseline"], &REPORTS[..], &after].concat()
        );

        let bench_args = ("INPUT_BENCH_ARGS", "--workspace");
        let page_history = inputs(&[arguments, bench_args, ("INPUT_AGAINST", "HEAD^1")]);
        let after = ["--fail-on", "shifted", "--workspace"];
        assert_eq!(
            page_history.bench(false),
            [&["bench", "--against=HEAD^1"], &REPORTS[..], &after].concat()
        );
    }

    #[test]
    fn push_of_several_commits_is_searched() {
        let inputs = inputs(&[
            ("SAVE", "true"),
            ("INPUT_SOURCE", "model"),
            ("INPUT_BENCH_ARGS", "--locked\n--\n--quick"),
        ]);
        let names = ["parse".to_owned(), r"odd (1\2)".to_owned()];
        assert_eq!(
            inputs.bisect("0a1b", &names),
            [
                "bisect",
                "--source=model",
                "--locked",
                "--filterset=test(=parse)",
                r"--filterset=test(=odd (1\\2\))",
                "--",
                "0a1b",
            ]
        );
    }

    #[test]
    fn only_a_push_of_several_commits_to_the_default_branch_is_searched() {
        let repository = tempfile::tempdir().unwrap();
        let git = |words: &[&str]| {
            let who = ["-c", "user.name=a", "-c", "user.email=a@b"];
            git(repository.path(), &[&who[..], words].concat()).unwrap()
        };
        git(&["init", "--quiet"]);
        for subject in ["one", "two", "three"] {
            git(&["commit", "--quiet", "--allow-empty", "--message", subject]);
        }
        let since = |before: &str, save| {
            let inputs = Inputs {
                before: Some(before.to_owned()),
                ..inputs(&[("SAVE", save)])
            };
            inputs.several_commits_since(repository.path())
        };
        let [one, two] = ["HEAD~1", "HEAD~2"].map(|before| git(&["rev-parse", before]));
        assert_eq!(since(&two, "true"), Some(two.clone()));
        assert_eq!(since(&two, "false"), None);
        assert_eq!(since(&one, "true"), None);
        assert_eq!(since(&"0".repeat(40), "true"), None);
        // Not in the checkout.
        assert_eq!(since(&"1".repeat(40), "true"), None);
    }

    #[test]
    fn summary_is_report_or_reason_for_none() {
        let root = tempfile::tempdir().unwrap();
        let inputs = Inputs {
            report: root.path().to_owned(),
            ..inputs(&[])
        };
        let kept = |name: &str| fs::read_to_string(root.path().join(name)).unwrap_or_default();
        fs::write(inputs.printed(Last::Bench), b"no linker \xff\n").unwrap();
        let failed = Outcome::of(101, None, false, false);
        let summary = inputs.summary(&failed, None).unwrap();
        assert!(summary.starts_with("## TopDown: bench failed\n"));
        assert!(summary.contains("no linker \u{fffd}"), "{summary}");
        assert_eq!(kept("summary.md"), summary);
        let comment = format!("<!-- cargo-topdown: news -->\n{summary}");
        assert_eq!(kept("comment.md"), comment);
        assert!(kept(no_comparison::FILE).contains("bench-failed"));

        fs::write(root.path().join("summary.md"), "## TopDown: regressed\n").unwrap();
        let regressed = Outcome::of(0, Some(100), false, false);
        let summary = inputs.summary(&regressed, None).unwrap();
        assert_eq!(summary, "## TopDown: regressed\n");
        assert_eq!(kept("comment.md"), comment);
    }
}
