//! One point of a search: built in a worktree, and compared with the good point.
//!
//! All points share one worktree and one target directory, so dependencies are built once. Slots
//! that are modelled exactly are compared with those that the good point had there. All others
//! depend on the minute, so the good point is then built in a worktree of its own, and launches of
//! both alternate until the gate decides.

use std::path::PathBuf;

use topdown_bisect::{Answer, Bisection, Executed, Kind, LOOKS, Point, Row, Tried};
use topdown_run::provenance::SourceKind;
use topdown_run::run_file::{BenchmarkId, Fingerprint, Run, read_run, write_run_without_samples};

use super::points::{self, Points};
use crate::base_tree::{BaseTree, BaseTreeError};
use crate::command::bench::base_build;
use crate::error::{BisectError, Error};
use crate::measure::{MeasureError, Session, Side, problems};
use crate::renames::Renames;
use topdown_gate::metric::Metric;
use topdown_gate::policy::Policy;
use topdown_gate::verdict::{
    BenchmarkVerdict, Comparison, LabelledRun, Verdict, compare, compare_in_turn, is_exact,
};
use topdown_report::bisection_text;
use topdown_runner::Outcome;
use topdown_runner::gathering::collect::Collected;
use topdown_runner::gathering::relaunch;
use topdown_runner::launching::launch_error::LaunchError;
use topdown_runner::modelling::model_or_clock;
use topdown_runner::targets::bench_targets::BenchTarget;
use topdown_terminal::count_of;
use topdown_terminal::terminal::message;

/// The worktree of all points, and that of the good one beside a point whose launches alternate
/// with it.
const TREE: &str = "points";
const GOOD_TREE: &str = "good-point";
/// The run of the good point.
const GOOD_RUN: &str = "good-run";

/// Measures points, and compares each with the good one.
pub struct Trials {
    session: Session,
    /// With the error probability of one look.
    policy: Policy,
    directory: PathBuf,
    kind: Kind,
    /// The commit that all toolchains build.
    commit: Option<String>,
    /// The user's files that each point gets.
    overlay: Vec<String>,
    good_point: Point,
    good: Run,
}

/// A point that was built.
struct Built {
    side: Side,
    /// Keeps the worktree locked.
    _tree: BaseTree,
}

impl Trials {
    /// Measures the good point, unless the search `goes_on` after it was.
    pub fn begin(
        session: Session,
        policy: Policy,
        directory: PathBuf,
        points: &Points,
        goes_on: bool,
    ) -> Result<Trials, Error> {
        let kept = directory.join(GOOD_RUN);
        let known = read_run(&kept).ok().filter(|_| goes_on);
        let mut trials = Trials {
            good: session.run_without_benchmarks(&directory, &[]),
            session,
            policy,
            directory,
            kind: points.kind,
            commit: points.commit.clone(),
            overlay: points.overlay.files.clone(),
            good_point: points.points[0].clone(),
        };
        trials.good = match known {
            Some(run) => run,
            None => {
                let run = trials.measured_good();
                let run = run.map_err(|error| match skip_reason(&error) {
                    Some(reason) => Error::from(BisectError::End {
                        point: trials.good_point.id.clone(),
                        reason,
                    }),
                    None => error,
                })?;
                write_run_without_samples(&kept, &run).map_err(Error::NotStored)?;
                run
            }
        };
        Ok(trials)
    }

    /// Returns the benchmarks of the good point.
    pub fn benchmarks(&self) -> Vec<BenchmarkId> {
        let benchmarks = self.good.benchmarks.iter();
        benchmarks.map(|benchmark| benchmark.id.clone()).collect()
    }

    fn measured_good(&mut self) -> Result<Run, Error> {
        let point = self.good_point.clone();
        let built = self.build(&point, TREE, |session, id| session.wanted.lets_through(id))?;
        let mut outcome = self.session.measure(&built.side.targets, &[])?;
        self.finished(&built.side, &mut outcome)
    }

    /// Tries a point: builds it, and compares those of `asked` whose result is not known.
    pub fn run(
        &mut self,
        bisection: &Bisection,
        point: usize,
        asked: &[BenchmarkId],
    ) -> Result<Tried, Error> {
        let tried = self.rows_at(bisection, &bisection.points[point], asked);
        match tried {
            Ok(rows) => Ok(Tried {
                point,
                skipped: None,
                rows,
            }),
            Err(error) => match skip_reason(&error) {
                Some(reason) => Ok(Tried {
                    point,
                    skipped: Some(reason),
                    rows: Vec::new(),
                }),
                None => Err(error),
            },
        }
    }

    fn rows_at(
        &mut self,
        bisection: &Bisection,
        point: &Point,
        asked: &[BenchmarkId],
    ) -> Result<Vec<Row>, Error> {
        let built = self.build(point, TREE, |_, id| asked.contains(id))?;
        let (mut rows, mut exact, mut others) = (Vec::new(), Vec::new(), Vec::new());
        for (id, fingerprint) in self.executed(&built.side) {
            let good = self.good.benchmarks.iter().find(|b| b.id == id);
            match self.known(bisection, &id, fingerprint.as_ref()) {
                Some(row) => rows.push(row),
                None if good.is_some_and(is_exact) => exact.push(id),
                None => others.push(id),
            }
        }
        if !exact.is_empty() {
            let comparison = self.compared(&built.side, &exact)?;
            rows.extend(self.rows(&comparison, &built.side));
        }
        if !others.is_empty() {
            let comparison = self.compared_in_turn(&built.side, &others)?;
            rows.extend(self.rows(&comparison, &built.side));
        }
        for id in asked {
            if !rows.iter().any(|row| row.id == *id) {
                rows.push(absent(id));
            }
        }
        rows.sort_by(|a, b| a.id.cmp(&b.id));
        Ok(rows)
    }

    /// Builds a point in the worktree `name`, and takes the fingerprints of the benchmarks that
    /// `is_wanted` lets through by their newest names.
    fn build(
        &mut self,
        point: &Point,
        name: &str,
        is_wanted: impl Fn(&Session, &BenchmarkId) -> bool,
    ) -> Result<Built, Error> {
        if self.kind == Kind::Toolchains {
            self.use_toolchain(&point.id)?;
        }
        let commit = self.commit.as_ref().unwrap_or(&point.id);
        let root = self.session.workspace.metadata.workspace_root.as_std_path();
        let tree = BaseTree::check_out(commit, root, self.directory.join(name));
        let tree = tree.map_err(MeasureError::BaseTree)?;
        let overlaid = tree.overlay(&self.overlay, root);
        overlaid.map_err(MeasureError::BaseTree)?;
        let (targets, _) = base_build::build(&self.session, &[], &tree)?;
        let targets = self.selected(targets, is_wanted)?;
        let mut run = (self.session).run_without_benchmarks(&tree.workspace_root, &targets);
        // What is changed in the worktree is ours.
        run.build.git_dirty = Some(false);
        if self.kind == Kind::Toolchains {
            run.build.rustc.clone_from(&point.title);
        }
        let side = Side {
            fingerprints: self.session.fingerprints(&targets, "")?,
            targets,
            run,
        };
        Ok(Built { side, _tree: tree })
    }

    fn use_toolchain(&mut self, name: &str) -> Result<(), BisectError> {
        let rustc = points::program(name, "rustc")?;
        // The last of these words decides.
        let rustc = format!("build.rustc={:?}", rustc.display().to_string());
        let cargo = &mut self.session.cargo;
        cargo.flags.common.extend(["--config".to_owned(), rustc]);
        cargo.program = points::program(name, "cargo")?;
        Ok(())
    }

    /// Restricts targets to the benchmarks that are wanted, and gives them the settings of the
    /// user's work tree, so that all points are measured alike.
    fn selected(
        &self,
        targets: Vec<BenchTarget>,
        is_wanted: impl Fn(&Session, &BenchmarkId) -> bool,
    ) -> Result<Vec<BenchTarget>, Error> {
        let packages = &self.session.workspace.metadata.packages;
        let settings = &self.session.settings;
        let mut selected = Vec::new();
        for mut target in targets.into_iter().filter(|target| target.has_criterion) {
            if let Some(own) = packages.iter().find(|p| p.name.as_str() == target.package) {
                target.settings = settings.of_package(&own.id);
            }
            let names = self.session.launcher().list(&target);
            let names = names.map_err(of_launch)?.unwrap_or_default();
            let is_selected = |name: &String| {
                let id = target.id_of(name.clone());
                let leaves_out = settings.leave_out.iter().any(|pattern| {
                    pattern.matches(&id) || pattern.matches_target(&id.package, &id.target)
                });
                !leaves_out && is_wanted(&self.session, &self.renames().newest(&id))
            };
            let names: Vec<String> = names.into_iter().filter(is_selected).collect();
            if !names.is_empty() {
                target.benchmarks = Some(names);
                selected.push(target);
            }
        }
        if selected.is_empty() {
            return Err(MeasureError::NoBenchmarks.into());
        }
        Ok(selected)
    }

    fn renames(&self) -> Renames<'_> {
        self.session.workspace.config.renames()
    }

    /// Returns the benchmarks of a side by their newest names, with what they execute.
    fn executed(&self, side: &Side) -> Vec<(BenchmarkId, Option<Fingerprint>)> {
        let mut all = Vec::new();
        for target in &side.targets {
            let known = side.fingerprints.of_target(target);
            for name in target.benchmarks.iter().flatten() {
                let id = target.id_of(name.clone());
                let own = known.iter().find(|(known, _)| **known == id);
                let fingerprint = own.and_then(|(_, fingerprint)| fingerprint.cloned());
                all.push((self.renames().newest(&id), fingerprint));
            }
        }
        all
    }

    /// Returns the result of a benchmark that executes the same as at a point before.
    fn known(
        &self,
        bisection: &Bisection,
        id: &BenchmarkId,
        fingerprint: Option<&Fingerprint>,
    ) -> Option<Row> {
        let fingerprint = fingerprint?;
        let executed = Executed::from(fingerprint);
        let good = self.good.benchmarks.iter().find(|b| b.id == *id)?;
        let of_good = good.fingerprint.as_ref();
        if of_good.is_some_and(|of_good| of_good.is_same(fingerprint)) {
            return Some(Row {
                answer: Answer::Good,
                difference: Some(0.0),
                sentence: "executes the same code as the good one".to_owned(),
                same_code_as: Some(0),
                executed: Some(executed),
                ..absent(id)
            });
        }
        let (point, row) = bisection.with_same_code(id, executed)?;
        Some(Row {
            same_code_as: Some(row.same_code_as.unwrap_or(point)),
            ..row.clone()
        })
    }

    /// Makes the run of a side, by the newest names of its benchmarks.
    fn finished(&self, side: &Side, outcome: &mut Outcome) -> Result<Run, Error> {
        problems::report(outcome);
        let failed = problems::count(outcome);
        if failed > 0 {
            return Err(MeasureError::BenchesFailed { failed }.into());
        }
        let mut run = side.run_of(outcome, &self.session);
        self.renames().apply(&mut run);
        Ok(run)
    }

    /// Returns the targets of a side, restricted to the benchmarks with these newest names.
    fn restricted(
        &self,
        side: &Side,
        ids: &[BenchmarkId],
        launches: impl Fn(u32) -> u32,
    ) -> Vec<BenchTarget> {
        let all = side.targets.iter().flat_map(|target| {
            let names = target.benchmarks.iter().flatten();
            names.map(|name| target.id_of(name.clone()))
        });
        let is_wanted = |id: &BenchmarkId| ids.contains(&self.renames().newest(id));
        let own: Vec<BenchmarkId> = all.filter(is_wanted).collect();
        relaunch::restricted_to(&own, &side.targets, launches)
    }

    /// Compares benchmarks with the stored run of the good point.
    fn compared(&self, side: &Side, ids: &[BenchmarkId]) -> Result<Comparison, Error> {
        let targets = self.restricted(side, ids, |launches| launches);
        let mut good = self.good.clone();
        good.benchmarks
            .retain(|benchmark| ids.contains(&benchmark.id));
        let mut outcome = self.session.measure(&targets, &good.benchmarks)?;
        let candidate = self.finished(side, &mut outcome)?;
        let [good, candidate] = [&good, &candidate].map(|run| LabelledRun { label: "", run });
        Ok(compare(good, candidate, &self.policy))
    }

    /// Launches benchmarks of the good point and this one in turn, until the gate decides.
    fn compared_in_turn(&mut self, side: &Side, ids: &[BenchmarkId]) -> Result<Comparison, Error> {
        let point = self.good_point.clone();
        let good = self.build(&point, GOOD_TREE, |_, id| ids.contains(id))?;
        let sides = [&good.side, side];
        let targets = sides.map(|side| self.restricted(side, ids, |launches| launches));
        let [mut of_good, mut of_point] = self.session.measure_in_turn(&targets[0], &targets[1])?;
        let mut runs = [
            self.finished(sides[0], &mut of_good)?,
            self.finished(sides[1], &mut of_point)?,
        ];
        let mut look = 1;
        loop {
            let [good, candidate] = runs.each_ref().map(|run| LabelledRun { label: "", run });
            let comparison = compare_in_turn(good, candidate, &self.policy);
            let undecided: Vec<BenchmarkId> = (comparison.benchmarks.iter())
                .filter(|verdict| verdict.source != SourceKind::Model)
                .filter(|verdict| self.answer(&comparison, verdict) == Answer::Undecided)
                .map(|verdict| verdict.id.clone())
                .collect();
            if undecided.is_empty() || look == LOOKS {
                return Ok(comparison);
            }
            if !self.session.request.quiet {
                let benchmarks = count_of(undecided.len(), "benchmark");
                message!("   Launching {benchmarks} again: not decided yet");
            }
            let more = sides.map(|side| {
                // As many as so far.
                let targets = self.restricted(side, &undecided, |launches| launches << (look - 1));
                model_or_clock::on_the_clock(&targets)
            });
            let outcomes = self.session.pairs(&more[0], &more[1]).launch()?;
            let outcomes = [outcomes.0, outcomes.1];
            for ((run, side), mut outcome) in runs.iter_mut().zip(sides).zip(outcomes) {
                let more = Collected {
                    benchmarks: self.finished(side, &mut outcome)?.benchmarks,
                    ..Collected::default()
                };
                let more = relaunch::numbered_behind(run, &undecided, more);
                relaunch::append(run, &more.benchmarks);
            }
            look += 1;
        }
    }

    fn answer(&self, comparison: &Comparison, verdict: &BenchmarkVerdict) -> Answer {
        Answer::of(verdict, self.policy.alpha, comparison.benchmarks.len())
    }

    fn rows(&self, comparison: &Comparison, side: &Side) -> Vec<Row> {
        let executed = self.executed(side);
        let row = |verdict: &BenchmarkVerdict| {
            let effect = verdict.main_effect();
            let own = executed.iter().find(|(id, _)| *id == verdict.id);
            let answer = self.answer(comparison, verdict);
            let sentence = bisection_text::sentence(verdict);
            // The gate decides with a larger error than a step of a search may have.
            let is_too_uncertain = answer == Answer::Undecided
                && !matches!(
                    verdict.verdict,
                    Verdict::Inconclusive | Verdict::NotComparable
                );
            Row {
                id: verdict.id.clone(),
                answer,
                verdict: Some(verdict.verdict),
                good_value: effect.map(|effect| effect.baseline),
                value: effect.map(|effect| effect.candidate),
                is_slots: effect.is_some_and(|effect| effect.metric == Metric::Slots),
                difference: effect.map(|effect| effect.difference),
                is_exact: effect.is_some_and(|effect| effect.exact),
                sentence: if is_too_uncertain {
                    format!("{sentence}, but not surely enough for a search")
                } else {
                    sentence
                },
                same_code_as: None,
                executed: own.and_then(|(_, own)| own.as_ref()).map(Executed::from),
            }
        };
        comparison.benchmarks.iter().map(row).collect()
    }
}

fn absent(id: &BenchmarkId) -> Row {
    Row {
        id: id.clone(),
        answer: Answer::Skipped,
        verdict: None,
        good_value: None,
        value: None,
        is_slots: false,
        difference: None,
        is_exact: false,
        sentence: "is not there".to_owned(),
        same_code_as: None,
        executed: None,
    }
}

fn of_launch(error: LaunchError) -> MeasureError {
    match error {
        LaunchError::Interrupted => MeasureError::Interrupted,
        error => MeasureError::Launch(error),
    }
}

/// Returns why a point cannot be tried; `None` if the search cannot go on at all.
fn skip_reason(error: &Error) -> Option<String> {
    let error = match error {
        Error::Metadata(_) | Error::Adoption(_) | Error::Workspace(_) => {
            return Some(error.to_string());
        }
        Error::Measure(error) => error,
        _ => return None,
    };
    match error {
        MeasureError::NoBenchmarks => Some("has none of the benchmarks".to_owned()),
        MeasureError::BenchesFailed { .. } => Some("a bench fails".to_owned()),
        MeasureError::BaseBuild { error, .. } => Some(error.to_string()),
        MeasureError::BaseTree(
            BaseTreeError::HasNothingSelected { .. } | BaseTreeError::Submodule { .. },
        )
        | MeasureError::Config(_)
        | MeasureError::Launch(_) => Some(error.to_string()),
        _ => None,
    }
}
