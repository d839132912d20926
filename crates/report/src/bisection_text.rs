//! A search for the point at which benchmarks became slower: one table per benchmark, oldest point
//! first, and below them what was found.

use std::io::{self, Write};

use topdown_bisect::{Answer, BenchmarkResult, Bisection, Kind};
use topdown_gate::verdict::BenchmarkVerdict;

use super::bisection_words::{
    Discovery, Line, Standing, discoveries, has_slots, name, not_slower, rows, slower, title,
    undecided,
};
use super::number::{slots, time_ns};
use super::style::{BAD, DIM, GOOD, HEADING, Look, WARNING, of_class};
use super::table::{Cell, Column, Keep, Table};
use super::text::HangingIndent;
use super::verdict_sentence::predicate;

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
    let slower = slower(bisection);
    for result in &slower {
        writeln!(out, "{HEADING}{}{HEADING:#}", result.id)?;
        table(bisection, result, look).write(out, look)?;
        writeln!(out)?;
    }
    let undecided = undecided(bisection);
    let not_slower = not_slower(bisection);
    for text in &undecided {
        lines.write(out, &format!("{WARNING}note{WARNING:#} "), 5, text)?;
    }
    if let Some(text) = &not_slower {
        lines.write(out, &format!("{DIM}note{DIM:#} "), 5, text)?;
    }
    if slower.is_empty() {
        return writeln!(
            out,
            "{HEADING}Nothing to find{HEADING:#}: no benchmark is surely slower"
        );
    }
    let mut has_text_above = !undecided.is_empty() || not_slower.is_some();
    for discovery in discoveries(bisection, &slower) {
        if has_text_above {
            writeln!(out)?;
        }
        has_text_above = true;
        write_discovery(bisection, &discovery, &lines, out)?;
    }
    Ok(())
}

fn table(bisection: &Bisection, result: &BenchmarkResult, look: Look) -> Table {
    let is_slots = has_slots(bisection, result);
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
    for row in rows(bisection, result) {
        table.row([
            name(bisection, row.point).into(),
            amount(row.value).into(),
            row.change.into(),
            styled(row.standing, row.point == 0),
            row.title.into(),
            row.cause.into(),
        ]);
    }
    table
}

fn styled(standing: Standing, is_first: bool) -> Cell {
    let name = standing.name();
    match standing {
        Standing::Verdict(verdict) => Cell::styled(name, of_class(verdict)),
        Standing::Answer(_) if is_first => Cell::styled(name, GOOD),
        Standing::Answer(Answer::Bad | Answer::Good) => Cell::from(name),
        Standing::Answer(Answer::Undecided | Answer::Skipped) => Cell::styled(name, WARNING),
    }
}

/// Writes the point or points at which benchmarks became slower.
fn write_discovery(
    bisection: &Bisection,
    discovery: &Discovery<'_>,
    lines: &HangingIndent,
    out: &mut impl Write,
) -> io::Result<()> {
    if discovery.is_range {
        let what = "of these is the first slow one; those before the last are not decided:";
        writeln!(out, "{WARNING}One{WARNING:#} {what}")?;
        for point in discovery.points.iter().take(MAX_LISTED) {
            writeln!(out, "  {}", title(bisection, *point))?;
        }
        if let more @ 1.. = discovery.points.len().saturating_sub(MAX_LISTED) {
            writeln!(out, "  and {more} more")?;
        }
    } else {
        for point in &discovery.points {
            writeln!(out, "{BAD}{}{BAD:#}", title(bisection, *point))?;
        }
    }
    for line in &discovery.lines {
        match line {
            Line::Sentence(text) => lines.write(out, "", 2, text)?,
            Line::Step(text) => lines.write(out, "  ", 4, text)?,
            Line::Note(text) => lines.write(out, &format!("{DIM}note{DIM:#} "), 5, text)?,
        }
    }
    if let Some(diffstat) = discovery.diffstat {
        writeln!(out, " {}", diffstat.trim())?;
    }
    Ok(())
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use topdown_bisect::{BISECTION_SCHEMA_VERSION, Executed, Point, Row, Tried, alpha_of_look};
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
        insta::assert_snapshot!(shown(&found()));
    }

    /// A search that found a commit for one of three benchmarks.
    pub(crate) fn found() -> Bisection {
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
        searched(
            Kind::Commits,
            vec![at(8, last), skipped(4), good(5), bad(6)],
        )
    }

    #[test]
    fn skipped_commits_leave_a_range() {
        insta::assert_snapshot!(shown(&range()));
    }

    /// A search that could not decide between two commits.
    pub(crate) fn range() -> Bisection {
        let mut slower = row("parse", Answer::Bad, 0.124, SLOWER);
        slower.is_exact = false;
        let last = at(8, vec![slower.clone()]);
        let good = at(4, vec![row("parse", Answer::Good, 0.0, "is unchanged")]);
        let absent = at(7, vec![row("parse", Answer::Skipped, 0.0, "is not there")]);
        let tried = vec![last, good, at(6, vec![slower]), skipped(5), absent];
        searched(Kind::Commits, tried)
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
