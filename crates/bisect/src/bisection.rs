//! A search as a document: what other programs read, and what an interrupted search goes on from.

use serde::{Deserialize, Serialize};
use topdown_gate::verdict::Verdict;
use topdown_run::run_file::{BenchmarkId, Fingerprint, Hash};

use crate::answer::{Answer, LOOKS};
use crate::history::History;
use crate::search::{Outcome, Search};

/// A benchmark that slowed down by this much after the point that was found has a second change.
/// Judgement: above what recompiling moves and what noise leaves open.
const MIN_FURTHER_DIFFERENCE: f64 = 0.05;

/// A change from the point before is another than that from the good point if they differ by this.
const MIN_STEP_DIFFERENCE: f64 = 0.01;

/// The version of [`Bisection`] as JSON.
pub const BISECTION_SCHEMA_VERSION: u32 = 1;

/// A search over commits or toolchains, finished or not.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Bisection {
    /// The version of this format.
    pub schema_version: u32,
    /// What the points are.
    pub kind: Kind,
    /// A hash of all that answers depend on besides the points: the benchmarks, the settings, the
    /// policy, the versions of program and compiler.
    pub question: Hash,
    /// The error probability of one look at one point.
    pub alpha_of_look: f64,
    /// From the good one to the bad one; parents come before their children.
    pub points: Vec<Point>,
    /// In the order in which they were tried; the last of the points comes first.
    pub tried: Vec<Tried>,
    /// Of each benchmark, in the order of the first try; empty until the search ends.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub results: Vec<BenchmarkResult>,
}

/// What is searched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Commits of the repository.
    Commits,
    /// Installed toolchains, which all build the same sources.
    Toolchains,
}

/// A commit or a toolchain.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Point {
    /// The commit's hash, or the toolchain's name.
    pub id: String,
    /// The commit's subject, or the compiler's version.
    pub title: String,
    /// The points that it comes from.
    pub parents: Vec<usize>,
}

/// A point that was tried.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Tried {
    /// Which one.
    pub point: usize,
    /// Why no benchmark could be tried at all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skipped: Option<String>,
    /// The benchmarks that were asked for at this point.
    pub rows: Vec<Row>,
}

/// A benchmark at a point, compared with the good point.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Row {
    /// Its id.
    pub id: BenchmarkId,
    /// What the search takes from it.
    pub answer: Answer,
    /// The gate's verdict; absent if it was skipped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<Verdict>,
    /// Slots per iteration at the good point, or nanoseconds without slots.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub good_value: Option<f64>,
    /// The same at this point.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<f64>,
    /// Whether the value is a number of slots.
    pub is_slots: bool,
    /// The change from the good point, as a fraction.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub difference: Option<f64>,
    /// Whether launches agree bit for bit, so that the answer cannot be wrong by chance.
    pub is_exact: bool,
    /// What changed and why, or why it was skipped.
    pub sentence: String,
    /// The point whose result it takes, since both execute the same code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub same_code_as: Option<usize>,
    /// What it executes, if that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub executed: Option<Executed>,
}

/// Identifies the code and data that a benchmark executes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Executed {
    /// Of its instructions.
    pub code: Hash,
    /// Of their order and the places of their data.
    pub data: Hash,
}

impl From<&Fingerprint> for Executed {
    fn from(fingerprint: &Fingerprint) -> Executed {
        Executed {
            code: fingerprint.code,
            data: fingerprint.data,
        }
    }
}

/// The answer for one benchmark.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BenchmarkResult {
    /// Its id.
    pub id: BenchmarkId,
    /// Where it became slower.
    pub outcome: Outcome,
    /// How likely chance led the search astray, at most: 0 if all its answers are exact.
    pub error_bound: f64,
    /// What changed at that point, compared with the good one, and why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sentence: Option<String>,
    /// The change at that point from the last one before it that is not slower, if that is another
    /// than from the good point.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<Step>,
    /// The change from the good point to the bad one, as a fraction.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub difference: Option<f64>,
    /// The change from the point that was found to the bad one, if that is a further slowdown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub further_difference: Option<f64>,
    /// The files that the commit changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub diffstat: Option<String>,
}

/// The change between two points.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Step {
    /// The earlier one.
    pub from: usize,
    /// The change, as a fraction.
    pub difference: f64,
}

impl Bisection {
    /// Returns whether `other` asks the same of the same points, so that its answers hold here.
    pub fn is_same_question(&self, other: &Bisection) -> bool {
        let of = |one: &Bisection| (one.schema_version, one.kind, one.question);
        of(self) == of(other) && self.points == other.points
    }

    /// Returns the benchmarks of the search: those of the bad point.
    pub fn benchmarks(&self) -> impl Iterator<Item = &BenchmarkId> {
        self.tried
            .first()
            .into_iter()
            .flat_map(|tried| &tried.rows)
            .map(|row| &row.id)
    }

    fn history(&self) -> History {
        let points = self.points.iter();
        History::new(points.map(|point| point.parents.clone()).collect())
    }

    /// Returns the search with all answers so far; `None` before the bad point was tried.
    pub fn search(&self) -> Option<Search> {
        let ids: Vec<&BenchmarkId> = self.benchmarks().collect();
        self.tried.first()?;
        let mut search = Search::new(self.history(), ids.len());
        for tried in &self.tried {
            for (benchmark, id) in ids.iter().enumerate() {
                let row = tried.rows.iter().find(|row| row.id == **id);
                match (row, &tried.skipped) {
                    (Some(row), _) => search.answer(tried.point, benchmark, row.answer),
                    (None, Some(_)) => search.answer(tried.point, benchmark, Answer::Skipped),
                    (None, None) => {}
                }
            }
        }
        Some(search)
    }

    /// Returns a known row of `id` that executed the same, and its point.
    pub fn with_same_code(&self, id: &BenchmarkId, executed: Executed) -> Option<(usize, &Row)> {
        let rows = self
            .tried
            .iter()
            .flat_map(|tried| tried.rows.iter().map(|r| (tried.point, r)));
        let is_same = |row: &Row| row.id == *id && row.executed == Some(executed);
        // An undecided one may be decided by further launches.
        let mut known = rows.filter(|(_, row)| is_same(row) && row.answer != Answer::Undecided);
        known.next()
    }

    /// Writes down the results of a search that has ended. `diffstat` names the files of a point.
    pub fn end(&mut self, diffstat: impl Fn(usize) -> Option<String>) {
        let Some(search) = self.search() else {
            return;
        };
        let history = self.history();
        let ids: Vec<BenchmarkId> = self.benchmarks().cloned().collect();
        let results = ids.into_iter().enumerate().map(|(benchmark, id)| {
            let outcome = search.outcome(benchmark);
            let found = match &outcome {
                Outcome::Found { point } => Some(*point),
                _ => None,
            };
            let rows: Vec<(usize, &Row)> = self.rows_of(&id).collect();
            let by_chance = rows.iter().filter(|(_, row)| {
                !row.is_exact && row.same_code_as.is_none() && row.verdict.is_some()
            });
            let at = |point| {
                rows.iter()
                    .find(|(of, _)| *of == point)
                    .map(|(_, row)| *row)
            };
            let there = found.and_then(at);
            let last = at(self.points.len() - 1);
            BenchmarkResult {
                outcome,
                error_bound: f64::min(
                    1.0,
                    self.alpha_of_look * f64::from(LOOKS) * by_chance.count() as f64,
                ),
                step: found.zip(there).and_then(|(found, there)| {
                    let ancestors = history.ancestors(found);
                    let good = rows.iter().filter(|(point, row)| {
                        ancestors[*point] && row.answer == Answer::Good && row.value.is_some()
                    });
                    let (from, before) = good.max_by_key(|(point, _)| *point)?;
                    let difference = there.value? / before.value? - 1.0;
                    let differs = (difference - there.difference?).abs() >= MIN_STEP_DIFFERENCE;
                    differs.then_some(Step {
                        from: *from,
                        difference,
                    })
                }),
                sentence: there.or(last).map(|row| row.sentence.clone()),
                difference: last.and_then(|row| row.difference),
                further_difference: further(there, last),
                diffstat: found.and_then(&diffstat),
                id,
            }
        });
        self.results = results.collect();
    }

    /// Returns what is known of a benchmark, with the points.
    pub fn rows_of(&self, id: &BenchmarkId) -> impl Iterator<Item = (usize, &Row)> {
        let rows = self
            .tried
            .iter()
            .flat_map(|tried| tried.rows.iter().map(|r| (tried.point, r)));
        rows.filter(move |(_, row)| row.id == *id)
    }
}

/// Returns the change between two points, if it is a further slowdown.
fn further(found: Option<&Row>, last: Option<&Row>) -> Option<f64> {
    let further = (1.0 + last?.difference?) / (1.0 + found?.difference?) - 1.0;
    (further >= MIN_FURTHER_DIFFERENCE).then_some(further)
}
