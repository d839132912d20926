//! A search for the point at which benchmarks became slower: one table per benchmark, oldest point
//! first, and below them what was found.

use std::io::{self, Write};

use topdown_bisect::{Answer, BenchmarkResult, Bisection, Executed, Kind, Outcome, Row};
use topdown_gate::verdict::BenchmarkVerdict;
use topdown_terminal::count_of;

use super::number::{percent, percent_change, slots, time_ns};
use super::style::{BAD, DIM, GOOD, HEADING, Look, WARNING, of_class};
use super::table::{Cell, Column, Keep, Table};
use super::text::HangingIndent;
use super::verdict_sentence::{predicate, size};

/// Digits of a commit's hash.
const HASH_DIGITS: usize = 12;
/// At most this many points of a range are listed.
const MAX_LISTED: usize = 20;

/// Returns the sentence on a benchmark at a point, without its subject.
pub fn sentence(verdict: &BenchmarkVerdict) -> String {
    predicate(verdict)
}

/// Writes a search that has ended.
///
/// # Errors
/// Returns an error if writing to `out` fails.
pub fn write(bisection: &Bisection, look: Look, out: &mut impl Write) -> io::Result<()> {
    let lines = HangingIndent { width: look.width };
    let (mut slower, mut unknown, mut not_slower) = (Vec::new(), Vec::new(), Vec::new());
    for result in &bisection.results {
        match result.outcome {
            Outcome::Found { .. } | Outcome::Range { .. } => slower.push(result),
            Outcome::NotSlower => not_slower.push(result),
            Outcome::Unknown | Outcome::Open => unknown.push(result),
        }
    }
    for result in &slower {
        writeln!(out, "{HEADING}{}{HEADING:#}", result.id)?;
        table(bisection, result, look).write(out, look)?;
        writeln!(out)?;
    }
    let ends = [0, bisection.points.len() - 1].map(|point| name(bisection, point));
    for result in unknown {
        let sentence = result.sentence.as_deref().unwrap_or("was not tried");
        let text = format!(
            "`{}` is not decided at {}: it {sentence}",
            result.id, ends[1]
        );
        lines.write(out, &format!("{WARNING}note{WARNING:#} "), 5, &text)?;
    }
    if !not_slower.is_empty() {
        let are = if not_slower.len() == 1 { "is" } else { "are" };
        let benchmarks = count_of(not_slower.len(), "benchmark");
        let text = format!(
            "{benchmarks} {are} not slower at {} than at {}",
            ends[1], ends[0]
        );
        lines.write(out, &format!("{DIM}note{DIM:#} "), 5, &text)?;
    }
    if slower.is_empty() {
        return writeln!(
            out,
            "{HEADING}Nothing to find{HEADING:#}: no benchmark is surely slower"
        );
    }
    let notes = slower.len() < bisection.results.len();
    let mut written: Vec<&Outcome> = Vec::new();
    for result in &slower {
        let outcome = &result.outcome;
        if written.contains(&outcome) {
            continue;
        }
        if notes || !written.is_empty() {
            writeln!(out)?;
        }
        let results = slower.iter().filter(|other| other.outcome == *outcome);
        let results: Vec<&BenchmarkResult> = results.copied().collect();
        found(bisection, outcome, &results, &lines, out)?;
        written.push(outcome);
    }
    Ok(())
}

fn table(bisection: &Bisection, result: &BenchmarkResult, look: Look) -> Table {
    let rows: Vec<(usize, &Row)> = bisection.rows_of(&result.id).collect();
    let is_slots = rows.iter().any(|(_, row)| row.is_slots);
    let amount = |value: Option<f64>| match value {
        Some(value) if is_slots => slots(value),
        Some(value) => time_ns(value, !look.unicode),
        None => String::new(),
    };
    let mut table = Table::new([
        Column::text(match bisection.kind {
            Kind::Commits => "commit",
            Kind::Toolchains => "toolchain",
        }),
        Column::number(if is_slots { "slots" } else { "time" }),
        Column::number("change"),
        Column::text("verdict"),
        Column::name(
            match bisection.kind {
                Kind::Commits => "subject",
                Kind::Toolchains => "compiler",
            },
            16,
        )
        .keep(Keep::Optional(1)),
        Column::wrapped("cause"),
    ])
    .indented(2);
    let mut above: Vec<(Executed, usize)> = Vec::new();
    for (point, what) in bisection.points.iter().enumerate() {
        let row = rows
            .iter()
            .find(|(of, _)| *of == point)
            .map(|(_, row)| *row);
        let tried = bisection.tried.iter().find(|tried| tried.point == point);
        let skipped = tried.and_then(|tried| tried.skipped.as_deref());
        let (value, verdict, cause) = match (row, skipped) {
            _ if point == 0 => {
                let value = rows.iter().find_map(|(_, row)| row.good_value);
                (value, Cell::styled("good", GOOD), "")
            }
            (Some(row), _) => (row.value, verdict(row), &*row.sentence),
            (None, Some(reason)) => (None, Cell::styled("skipped", WARNING), reason),
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
        table.row([
            name(bisection, point).into(),
            amount(value).into(),
            change.map_or(String::new(), percent_change).into(),
            verdict,
            what.title.as_str().into(),
            cause.into(),
        ]);
    }
    table
}

fn verdict(row: &Row) -> Cell {
    match (row.verdict, row.answer) {
        (Some(verdict), Answer::Bad | Answer::Good) => {
            Cell::styled(verdict.name(), of_class(verdict))
        }
        (_, answer @ (Answer::Bad | Answer::Good)) => Cell::from(answer.name()),
        (_, answer) => Cell::styled(answer.name(), WARNING),
    }
}

/// Returns what a point is called in short.
fn name(bisection: &Bisection, point: usize) -> String {
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

/// Writes the point or points at which these benchmarks became slower.
fn found(
    bisection: &Bisection,
    outcome: &Outcome,
    results: &[&BenchmarkResult],
    lines: &HangingIndent,
    out: &mut impl Write,
) -> io::Result<()> {
    let title = |point: usize| {
        format!(
            "{} {}",
            name(bisection, point),
            bisection.points[point].title
        )
    };
    match outcome {
        Outcome::Found { point } => writeln!(out, "{BAD}{}{BAD:#}", title(*point))?,
        Outcome::Range { points } => {
            let what = "of these is the first slow one; those before the last are not decided:";
            writeln!(out, "{WARNING}One{WARNING:#} {what}")?;
            for point in points.iter().take(MAX_LISTED) {
                writeln!(out, "  {}", title(*point))?;
            }
            if let more @ 1.. = points.len().saturating_sub(MAX_LISTED) {
                writeln!(out, "  and {more} more")?;
            }
        }
        _ => return Ok(()),
    }
    for result in results {
        let sentence = result.sentence.as_deref().unwrap_or("is slower");
        let error = match result.error_bound {
            0.0 => String::new(),
            bound => format!(
                " (the search errs with a probability of at most {} %)",
                percent(bound)
            ),
        };
        lines.write(
            out,
            "",
            2,
            &format!("`{}` {sentence}{error}", result.id.name),
        )?;
        if let Some(step) = result.step {
            let text = format!(
                "compared with {}, the last one before it: {}",
                name(bisection, step.from),
                percent_change(step.difference)
            );
            lines.write(out, "  ", 4, &text)?;
        }
        if let Some(further) = result.further_difference {
            let text = format!(
                "`{}` is another {} slower at {}; this commit is the good one of a search for that \
                 change",
                result.id.name,
                size(further),
                name(bisection, bisection.points.len() - 1)
            );
            lines.write(out, &format!("{DIM}note{DIM:#} "), 5, &text)?;
        }
    }
    let diffstat = results
        .first()
        .and_then(|result| result.diffstat.as_deref());
    if let Some(diffstat) = diffstat {
        writeln!(out, " {}", diffstat.trim())?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use topdown_bisect::{BISECTION_SCHEMA_VERSION, Point, Tried, alpha_of_look};
    use topdown_gate::scenario::id;
    use topdown_gate::verdict::Verdict;
    use topdown_run::run_file::Hash;

    const TITLES: [&str; 9] = [
        "Release 1.2.0",
        "Describe the grammar in the README",
        "Check UTF-8 in one pass over the input, before any token is read",
        "Use a map of names",
        "Format",
        "Move the table of escapes",
        "Intern names in the parser, so that nodes can be compared by their addresses alone",
        "Fix a typo",
        "Release 1.3.0",
    ];

    fn row(name: &str, answer: Answer, slower: f64, sentence: &str) -> Row {
        let verdict = match answer {
            Answer::Good => Some(Verdict::Unchanged),
            Answer::Bad => Some(Verdict::Regressed),
            Answer::Undecided => Some(Verdict::Inconclusive),
            Answer::Skipped => None,
        };
        Row {
            id: id(name),
            answer,
            verdict,
            good_value: verdict.map(|_| 5000.0),
            value: verdict.map(|_| 5000.0 * (1.0 + slower)),
            is_slots: true,
            difference: verdict.map(|_| slower),
            is_exact: true,
            sentence: sentence.to_owned(),
            same_code_as: None,
            executed: verdict.map(|_| Executed {
                code: Hash((1000.0 * slower) as u64),
                data: Hash(0),
            }),
        }
    }

    fn searched(kind: Kind, tried: Vec<Tried>) -> Bisection {
        let points = TITLES.iter().enumerate().map(|(index, title)| Point {
            id: match kind {
                Kind::Commits => format!("{index}c1b5f0e2d4a69b7c3e1f5a8d2b4c6e8f0a1b3c5"),
                Kind::Toolchains => format!("1.8{index}.0-x86_64-unknown-linux-gnu"),
            },
            title: match kind {
                Kind::Commits => (*title).to_owned(),
                Kind::Toolchains => {
                    format!("rustc 1.8{index}.0 ({index}07c1b5f0 2025-0{index}-28)")
                }
            },
            parents: index.checked_sub(1).into_iter().collect(),
        });
        let mut bisection = Bisection {
            schema_version: BISECTION_SCHEMA_VERSION,
            kind,
            question: Hash(1),
            alpha_of_look: alpha_of_look(0.05, TITLES.len() - 1),
            points: points.collect(),
            tried,
            results: Vec::new(),
        };
        let stat = " src/parse.rs | 18 ++++++++++--------\n 1 file changed, 10 insertions(+), 8 deletions(-)";
        bisection.end(|_| Some(stat.to_owned()));
        bisection
    }

    fn at(point: usize, rows: Vec<Row>) -> Tried {
        Tried {
            point,
            skipped: None,
            rows,
        }
    }

    fn skipped(point: usize) -> Tried {
        Tried {
            point,
            skipped: Some("the benches could not be built".to_owned()),
            rows: Vec::new(),
        }
    }

    fn shown(bisection: &Bisection) -> String {
        let widths = [80, 200].map(|width| {
            let mut out = Vec::new();
            let look = Look {
                width,
                unicode: true,
            };
            write(bisection, look, &mut out).unwrap();
            anstream::adapter::strip_str(&String::from_utf8(out).unwrap()).to_string()
        });
        widths.join("=== at 200 columns\n")
    }

    const SLOWER: &str = "is 12.4 % slower: 9.1 points in `parse::intern` (backend bound), 3.3 in \
                          `parse::name` (bad speculation)";

    #[test]
    fn commit_is_found() {
        let good = |point| {
            let row = row("parse", Answer::Good, -0.05, "is 5.0 % faster");
            at(point, vec![row])
        };
        let bad = |point| at(point, vec![row("parse", Answer::Bad, 0.124, SLOWER)]);
        let last = vec![
            row("lex", Answer::Good, 0.0, "is unchanged"),
            row("parse", Answer::Bad, 0.21, "is 21.0 % slower"),
            row(
                "print",
                Answer::Undecided,
                0.02,
                "may be 2.0 % slower: launches differ too much",
            ),
        ];
        let tried = vec![at(8, last), skipped(4), good(5), bad(6)];
        insta::assert_snapshot!(shown(&searched(Kind::Commits, tried)));
    }

    #[test]
    fn skipped_commits_leave_a_range() {
        let mut slower = row("parse", Answer::Bad, 0.124, SLOWER);
        slower.is_exact = false;
        let last = at(8, vec![slower.clone()]);
        let good = at(4, vec![row("parse", Answer::Good, 0.0, "is unchanged")]);
        let absent = at(7, vec![row("parse", Answer::Skipped, 0.0, "is not there")]);
        let tried = vec![last, good, at(6, vec![slower]), skipped(5), absent];
        insta::assert_snapshot!(shown(&searched(Kind::Commits, tried)));
    }

    #[test]
    fn nothing_is_slower() {
        let last = vec![row("parse", Answer::Good, 0.0, "is unchanged")];
        insta::assert_snapshot!(shown(&searched(Kind::Commits, vec![at(8, last)])));
    }

    #[test]
    fn toolchain_is_found() {
        let row = |answer, slower, sentence| vec![row("parse", answer, slower, sentence)];
        let tried = vec![
            at(8, row(Answer::Bad, 0.124, SLOWER)),
            at(4, row(Answer::Bad, 0.124, SLOWER)),
            at(2, row(Answer::Good, -0.003, "is unchanged")),
            at(3, row(Answer::Bad, 0.124, SLOWER)),
        ];
        let mut bisection = searched(Kind::Toolchains, tried);
        bisection.end(|_| None);
        insta::assert_snapshot!(shown(&bisection));
    }
}
