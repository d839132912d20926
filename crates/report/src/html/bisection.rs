//! The page of a search for the commit or toolchain at which benchmarks became slower.

use std::io::{self, Write};

use askama::Template;
use topdown_bisect::{Answer, BenchmarkResult, Bisection, Kind, Outcome};

use super::LegendEntry;
use super::comparison_row::plain;
use crate::bisection_words::{
    self, Discovery, Line, PointRow, Standing, discoveries, has_slots, name, not_slower, slower,
    undecided,
};
use crate::commit_pages::CommitPages;
use crate::number::{percent_change, slots, time_ns};

/// Writes the page of a search that has ended. With `pages`, commits are links.
///
/// # Errors
/// Returns an error if writing to `out` fails.
pub fn write_bisection(
    bisection: &Bisection,
    pages: Option<&CommitPages>,
    out: &mut impl Write,
) -> io::Result<()> {
    Page::new(bisection, pages)
        .write_into(out)
        .map_err(io::Error::other)
}

#[derive(Template)]
#[template(path = "bisection.html")]
struct Page {
    tool_version: &'static str,
    title: String,
    /// The page of the only commit that was found.
    url: Option<String>,
    facts: Vec<String>,
    /// No bars.
    legend: Vec<LegendEntry>,
    /// `commit` or `toolchain`.
    point: &'static str,
    benchmarks: Vec<Benchmark>,
    notes: Vec<String>,
    found: Vec<Found>,
}

/// A benchmark that became slower.
struct Benchmark {
    name: String,
    place: String,
    /// Where it became slower, or what is left of the points.
    answer: String,
    change: String,
    change_key: f64,
    values: &'static str,
    rows: Vec<Row>,
}

struct Row {
    point: Named,
    value: String,
    change: String,
    verdict: &'static str,
    style: String,
    title: String,
    cause: String,
    is_first_slow: bool,
}

struct Found {
    /// Whether the first slow point is one of several.
    is_range: bool,
    points: Vec<Named>,
    /// With whether it belongs to the line above.
    lines: Vec<(bool, String)>,
    diffstat: String,
}

/// A point, with the address of its page.
struct Named {
    name: String,
    title: String,
    url: Option<String>,
}

/// Where points are shown.
struct Points<'a> {
    bisection: &'a Bisection,
    pages: Option<&'a CommitPages>,
}

impl Page {
    fn new(bisection: &Bisection, pages: Option<&CommitPages>) -> Page {
        let points = Points { bisection, pages };
        let slower = slower(bisection);
        let found = discoveries(bisection, &slower);
        let last = bisection.points.len() - 1;
        let only = match &found[..] {
            [only] if !only.is_range => only.points.first().copied(),
            _ => None,
        };
        let what = match bisection.kind {
            Kind::Commits => "commits",
            Kind::Toolchains => "toolchains",
        };
        Page {
            tool_version: env!("CARGO_PKG_VERSION"),
            title: match only {
                Some(point) => bisection_words::title(bisection, point),
                None if found.is_empty() => "No benchmark is surely slower".to_owned(),
                None => {
                    let points: usize = found.iter().map(|found| found.points.len()).sum();
                    format!("{points} {what}")
                }
            },
            url: only.and_then(|point| points.named(point).url),
            facts: vec![
                format!("{} to {}", name(bisection, 0), name(bisection, last)),
                format!("{} of {} {what} tried", bisection.tried.len(), last),
            ],
            legend: Vec::new(),
            point: match bisection.kind {
                Kind::Commits => "Commit",
                Kind::Toolchains => "Toolchain",
            },
            benchmarks: slower
                .iter()
                .map(|result| points.benchmark(result))
                .collect(),
            notes: undecided(bisection)
                .into_iter()
                .chain(not_slower(bisection))
                .collect(),
            found: (found.iter())
                .map(|found| points.found(found, only.is_some()))
                .collect(),
        }
    }
}

impl Points<'_> {
    fn named(&self, point: usize) -> Named {
        let id = &self.bisection.points[point].id;
        let is_commit = self.bisection.kind == Kind::Commits;
        Named {
            name: name(self.bisection, point),
            title: self.bisection.points[point].title.clone(),
            url: self
                .pages
                .filter(|_| is_commit)
                .map(|pages| pages.page_of(id)),
        }
    }

    fn benchmark(&self, result: &BenchmarkResult) -> Benchmark {
        let is_slots = has_slots(self.bisection, result);
        let points: &[usize] = match &result.outcome {
            Outcome::Found { point } => std::slice::from_ref(point),
            Outcome::Range { points } => points,
            _ => &[],
        };
        let row = |row: PointRow<'_>| Row {
            point: self.named(row.point),
            value: match row.value {
                Some(value) if is_slots => slots(value),
                Some(value) => time_ns(value, false),
                None => String::new(),
            },
            change: row.change,
            verdict: row.standing.name(),
            style: style_of(row.standing),
            title: row.title.to_owned(),
            cause: plain(&row.cause),
            is_first_slow: points == [row.point],
        };
        Benchmark {
            name: result.id.name.clone(),
            place: format!("{}::{}", result.id.package, result.id.target),
            answer: match points {
                [point] => bisection_words::title(self.bisection, *point),
                several => format!("one of {}", several.len()),
            },
            change: result.difference.map_or(String::new(), percent_change),
            change_key: result.difference.unwrap_or(0.0),
            values: if is_slots { "Slots" } else { "Time" },
            rows: bisection_words::rows(self.bisection, result)
                .into_iter()
                .map(row)
                .collect(),
        }
    }

    /// `is_title`: the title names the point.
    fn found(&self, discovery: &Discovery<'_>, is_title: bool) -> Found {
        let text = |line: &Line| match line {
            Line::Sentence(text) | Line::Note(text) => (false, plain(text)),
            Line::Step(text) => (true, plain(text)),
        };
        let named = discovery.points.iter().filter(|_| !is_title);
        Found {
            is_range: discovery.is_range,
            points: named.map(|point| self.named(*point)).collect(),
            lines: discovery.lines.iter().map(text).collect(),
            // Its first line begins with a space, as the others.
            diffstat: (discovery.diffstat)
                .map_or(String::new(), |diffstat| format!(" {}", diffstat.trim())),
        }
    }
}

/// Returns the CSS class of a verdict.
fn style_of(standing: Standing) -> String {
    match standing {
        Standing::Verdict(verdict) => verdict.name().replace(' ', "-"),
        Standing::Answer(Answer::Undecided) => "inconclusive".to_owned(),
        Standing::Answer(Answer::Bad) => "regressed".to_owned(),
        Standing::Answer(Answer::Good | Answer::Skipped) => "unchanged".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bisection_text::tests::{found, range};
    use crate::html::browser::drive;
    use crate::shown::written;

    fn page_of(bisection: &Bisection) -> String {
        let pages = CommitPages::from_remote("https://github.com/o/r");
        written(|out| write_bisection(bisection, pages.as_ref(), out))
    }

    fn body(page: &str) -> &str {
        let (_, body) = page.split_once("<header>").unwrap();
        body.split_once("<script>").unwrap().0
    }

    #[test]
    fn page_has_commit_sentence_and_table() {
        insta::assert_snapshot!(body(&page_of(&found())));
    }

    #[test]
    fn page_of_a_range_lists_its_commits() {
        insta::assert_snapshot!(body(&page_of(&range())));
    }

    #[test]
    fn subjects_stay_text() {
        let mut bisection = found();
        bisection.points[6].title = "<b>x</b>".to_owned();
        let page = page_of(&bisection);
        assert!(!page.contains("<b>x") && page.contains("&#60;b&#62;x"));
    }

    #[test]
    fn page_fits_a_phone_and_runs_without_errors() {
        let script = "return { wide: document.documentElement.scrollWidth > innerWidth, rows: \
                      document.querySelectorAll('#rows > tr').length };";
        if let Some(found) = drive(&page_of(&found()), 360, script) {
            assert_eq!(found["wide"], false, "{found}");
            assert_eq!(
                (&found["rows"], &found["errors"]),
                (&1.into(), &serde_json::json!([]))
            );
        }
    }
}
