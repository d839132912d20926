//! A search in words: the rows of its tables, and what was found. The text and the page share them.

use topdown_bisect::{Answer, BenchmarkResult, Bisection, Executed, Kind, Outcome, Row};
use topdown_gate::verdict::Verdict;
use topdown_terminal::count_of;

use super::number::{percent, percent_change};
use super::verdict_sentence::size;

/// Digits of a commit's hash.
const HASH_DIGITS: usize = 12;

/// A row of the table of a benchmark: a point that was tried.
pub struct PointRow<'a> {
    pub point: usize,
    /// Slots or nanoseconds per iteration.
    pub value: Option<f64>,
    /// From the good point.
    pub change: String,
    pub standing: Standing,
    pub title: &'a str,
    pub cause: String,
}

/// What is known of a benchmark at a point.
#[derive(Clone, Copy)]
pub enum Standing {
    /// By the gate.
    Verdict(Verdict),
    /// By other ways: it is the good point, executes the same code, or has no verdict.
    Answer(Answer),
}

impl Standing {
    pub fn name(self) -> &'static str {
        match self {
            Standing::Verdict(verdict) => verdict.name(),
            Standing::Answer(answer) => answer.name(),
        }
    }

    fn new(row: &Row) -> Standing {
        match (row.verdict, row.answer) {
            (Some(verdict), Answer::Bad | Answer::Good) => Standing::Verdict(verdict),
            (_, answer) => Standing::Answer(answer),
        }
    }
}

/// A point at which benchmarks became slower, or several of which one is it.
pub struct Discovery<'a> {
    pub points: Vec<usize>,
    /// Whether more than the first slow point is left.
    pub is_range: bool,
    pub lines: Vec<Line>,
    pub diffstat: Option<&'a str>,
}

/// A line on what was found.
pub enum Line {
    /// What a benchmark lost.
    Sentence(String),
    /// The change from the point before, which belongs to the sentence above.
    Step(String),
    /// A further search to make.
    Note(String),
}

/// Returns the benchmarks that became slower.
pub fn slower(bisection: &Bisection) -> Vec<&BenchmarkResult> {
    let is_slower =
        |outcome: &Outcome| matches!(outcome, Outcome::Found { .. } | Outcome::Range { .. });
    let results = bisection.results.iter();
    results
        .filter(|result| is_slower(&result.outcome))
        .collect()
}

/// Returns the points of `slower` benchmarks, each once.
pub fn discoveries<'a>(
    bisection: &Bisection,
    slower: &[&'a BenchmarkResult],
) -> Vec<Discovery<'a>> {
    let mut outcomes: Vec<&Outcome> = Vec::new();
    for result in slower {
        if !outcomes.contains(&&result.outcome) {
            outcomes.push(&result.outcome);
        }
    }
    let discovery = |outcome: &Outcome| {
        let results: Vec<&&BenchmarkResult> = (slower.iter())
            .filter(|result| result.outcome == *outcome)
            .collect();
        let (points, is_range) = match outcome {
            Outcome::Found { point } => (vec![*point], false),
            Outcome::Range { points } => (points.clone(), true),
            _ => (Vec::new(), false),
        };
        Discovery {
            points,
            is_range,
            lines: results
                .iter()
                .flat_map(|result| lines(bisection, result))
                .collect(),
            diffstat: results
                .first()
                .and_then(|result| result.diffstat.as_deref()),
        }
    };
    outcomes.into_iter().map(discovery).collect()
}

fn lines(bisection: &Bisection, result: &BenchmarkResult) -> Vec<Line> {
    let id = &result.id;
    let sentence = result.sentence.as_deref().unwrap_or("is slower");
    let error = match result.error_bound {
        0.0 => String::new(),
        bound => format!(
            " (the search errs with a probability of at most {} %)",
            percent(bound)
        ),
    };
    let mut lines = vec![Line::Sentence(format!("`{}` {sentence}{error}", id.name))];
    lines.extend(result.step.map(|step| {
        Line::Step(format!(
            "compared with {}, the last one before it: {}",
            name(bisection, step.from),
            percent_change(step.difference)
        ))
    }));
    lines.extend(result.further_difference.map(|further| {
        Line::Note(format!(
            "`{}` is another {} slower at {}; this commit is the good one of a search for that \
             change",
            id.name,
            size(further),
            name(bisection, bisection.points.len() - 1)
        ))
    }));
    lines
}

/// Returns what is to be said of benchmarks that are not decided.
pub fn undecided(bisection: &Bisection) -> Vec<String> {
    let is_open =
        |result: &&BenchmarkResult| matches!(result.outcome, Outcome::Unknown | Outcome::Open);
    let open = bisection.results.iter().filter(is_open);
    let note = |result: &BenchmarkResult| {
        let sentence = result.sentence.as_deref().unwrap_or("was not tried");
        let last = name(bisection, bisection.points.len() - 1);
        format!("`{}` is not decided at {last}: it {sentence}", result.id)
    };
    open.map(note).collect()
}

/// Returns how many benchmarks are not slower; `None` if there are none.
pub fn not_slower(bisection: &Bisection) -> Option<String> {
    let results = bisection.results.iter();
    let count = results
        .filter(|result| result.outcome == Outcome::NotSlower)
        .count();
    let are = if count == 1 { "is" } else { "are" };
    let [first, last] = [0, bisection.points.len() - 1].map(|point| name(bisection, point));
    (count > 0).then(|| {
        let benchmarks = count_of(count, "benchmark");
        format!("{benchmarks} {are} not slower at {last} than at {first}")
    })
}

/// Returns whether the values of a benchmark are slots.
pub fn has_slots(bisection: &Bisection, result: &BenchmarkResult) -> bool {
    bisection.rows_of(&result.id).any(|(_, row)| row.is_slots)
}

/// Returns the points at which a benchmark was tried, oldest first.
pub fn rows<'a>(bisection: &'a Bisection, result: &BenchmarkResult) -> Vec<PointRow<'a>> {
    let known: Vec<(usize, &Row)> = bisection.rows_of(&result.id).collect();
    let mut rows = Vec::new();
    let mut above: Vec<(Executed, usize)> = Vec::new();
    for (point, what) in bisection.points.iter().enumerate() {
        let row = known
            .iter()
            .find(|(at, _)| *at == point)
            .map(|(_, row)| *row);
        let tried = bisection.tried.iter().find(|tried| tried.point == point);
        let skipped = tried.and_then(|tried| tried.skipped.as_deref());
        let (value, standing, cause) = match (row, skipped) {
            _ if point == 0 => {
                let value = known.iter().find_map(|(_, row)| row.good_value);
                (value, Standing::Answer(Answer::Good), "")
            }
            (Some(row), _) => (row.value, Standing::new(row), &*row.sentence),
            (None, Some(reason)) => (None, Standing::Answer(Answer::Skipped), reason),
            (None, None) => continue,
        };
        let executed = row.and_then(|row| row.executed);
        let before = executed.and_then(|own| above.iter().find(|(other, _)| *other == own));
        let cause = match before {
            Some((_, same)) => format!("executes the same code as {}", name(bisection, *same)),
            None => cause.to_owned(),
        };
        above.extend(executed.map(|executed| (executed, point)));
        let change = row.and_then(|row| row.difference);
        rows.push(PointRow {
            point,
            value,
            change: change.map_or(String::new(), percent_change),
            standing,
            title: &what.title,
            cause,
        });
    }
    rows
}

/// Returns what a point is called in short.
pub fn name(bisection: &Bisection, point: usize) -> String {
    let id = &bisection.points[point].id;
    match bisection.kind {
        Kind::Commits => id.chars().take(HASH_DIGITS).collect(),
        Kind::Toolchains => id.strip_suffix(host(bisection)).unwrap_or(id).to_owned(),
    }
}

/// Returns what the names of all toolchains end with: `-x86_64-unknown-linux-gnu`.
fn host(bisection: &Bisection) -> &str {
    let first = bisection.points.first().map_or("", |point| &point.id);
    let mut endings = first.match_indices('-').map(|(at, _)| &first[at..]);
    let is_common = |ending: &&str| bisection.points.iter().all(|p| p.id.ends_with(ending));
    endings.find(is_common).unwrap_or_default()
}

/// Returns a point with its title.
pub fn title(bisection: &Bisection, point: usize) -> String {
    let title = &bisection.points[point].title;
    format!("{} {title}", name(bisection, point))
}
