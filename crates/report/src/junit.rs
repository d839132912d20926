//! A comparison as JUnit XML, for GitLab, Jenkins and other tools that show tests: one test case
//! per benchmark.
//!
//! A benchmark that fails the gate is a failure, one that is not comparable an error. One that is
//! inconclusive, or slower in some launches, is skipped. Runs that are not comparable at all, or
//! have nothing in common, are an error too, and a comparison that decided nothing is a failure if
//! the policy says so: a file without either would be shown as a success.

use std::fmt::Write as _;
use std::io::{self, Write};

use topdown_run::run_file::BenchmarkId;

use super::number::percent_change;
use super::sentences::headline;
use super::suite_notes::left_out_by;
use super::verdict_facts::facts;
use super::verdict_sentence::sentence;
use topdown_gate::verdict::{BenchmarkVerdict, Comparison, Outcome, Verdict};

/// Writes the file.
///
/// # Errors
/// Returns an error if writing to `out` fails.
pub fn write(comparison: &Comparison, out: &mut impl Write) -> io::Result<()> {
    let mut cases = Vec::new();
    let of_the_whole = |(result, details)| Case {
        class_name: "cargo topdown".to_owned(),
        name: "comparison".to_owned(),
        result: Some((result, headline(comparison).rest, details)),
    };
    if comparison.benchmarks.is_empty() || !comparison.differences.is_empty() {
        let reasons: Vec<String> = comparison
            .differences
            .iter()
            .map(ToString::to_string)
            .collect();
        cases.push(of_the_whole((
            not_comparable(comparison),
            reasons.join("\n"),
        )));
    } else if comparison.outcome == Outcome::NothingDecided {
        cases.push(of_the_whole(("failure", String::new())));
    }
    cases.extend(
        comparison
            .benchmarks
            .iter()
            .map(|benchmark| case(comparison, benchmark)),
    );
    let one_sided = |id: &BenchmarkId, result, message: &str| Case {
        class_name: format!("{}.{}", id.package, id.target),
        name: id.name.clone(),
        result: Some((result, message.to_owned(), String::new())),
    };
    let missing = if comparison.missing_fails {
        "failure"
    } else {
        "skipped"
    };
    for id in &comparison.missing {
        cases.push(one_sided(id, missing, "missing: it should have run"));
    }
    if comparison.slower_over_time_fails {
        for slower in &comparison.slower_over_time {
            let message = format!(
                "slower over time: {} since run {}",
                percent_change(slower.difference),
                slower.since.id
            );
            let mut case = one_sided(&slower.id, "failure", &message);
            case.name.push_str(" (over time)");
            cases.push(case);
        }
    }
    for not_run in &comparison.not_run {
        let message = format!("not run: {}", left_out_by(not_run.by));
        cases.push(one_sided(&not_run.id, "skipped", &message));
    }
    let count = |kind| {
        cases
            .iter()
            .filter(|case| matches!(&case.result, Some((k, ..)) if *k == kind))
            .count()
    };
    writeln!(out, r#"<?xml version="1.0" encoding="UTF-8"?>"#)?;
    writeln!(
        out,
        r#"<testsuites name="cargo topdown" tests="{}" failures="{}" errors="{}">"#,
        cases.len(),
        count("failure"),
        count("error")
    )?;
    writeln!(
        out,
        "  <testsuite name=\"{}\" timestamp=\"{}\" tests=\"{}\" failures=\"{}\" errors=\"{}\" \
         skipped=\"{}\">",
        escaped(&format!(
            "{} against {}",
            comparison.candidate.label, comparison.baseline.label
        )),
        escaped(&comparison.candidate.started_at),
        cases.len(),
        count("failure"),
        count("error"),
        count("skipped")
    )?;
    for case in &cases {
        case.write(out)?;
    }
    writeln!(out, "  </testsuite>\n</testsuites>")
}

struct Case {
    class_name: String,
    name: String,
    /// Element, message and text, unless it is a success.
    result: Option<(&'static str, String, String)>,
}

impl Case {
    fn write(&self, out: &mut impl Write) -> io::Result<()> {
        write!(
            out,
            r#"    <testcase classname="{}" name="{}""#,
            escaped(&self.class_name),
            escaped(&self.name)
        )?;
        match &self.result {
            None => writeln!(out, "/>"),
            Some((kind, message, text)) => writeln!(
                out,
                "><{kind} message=\"{}\">{}</{kind}></testcase>",
                escaped(message),
                escaped(text)
            ),
        }
    }
}

/// Returns the element of what cannot be compared.
fn not_comparable(comparison: &Comparison) -> &'static str {
    if comparison.becomes_baseline {
        "skipped"
    } else {
        "error"
    }
}

fn case(comparison: &Comparison, benchmark: &BenchmarkVerdict) -> Case {
    let message = sentence(benchmark, &benchmark.id.name);
    let text = facts(benchmark, true).join("\n");
    let kind = match benchmark.verdict {
        Verdict::NotComparable => Some(not_comparable(comparison)),
        _ if comparison.fails(benchmark) => Some("failure"),
        Verdict::Inconclusive | Verdict::SometimesSlower => Some("skipped"),
        _ => None,
    };
    Case {
        class_name: format!("{}.{}", benchmark.id.package, benchmark.id.target),
        name: benchmark.id.name.clone(),
        result: kind.map(|kind| (kind, message, text)),
    }
}

/// Escapes text and attributes in double quotes. Replaces what XML 1.0 cannot represent with
/// U+FFFD.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            // In an attribute, a parser would replace these with a space.
            '\t' | '\n' | '\r' => {
                let _ = write!(escaped, "&#{};", u32::from(character));
            }
            '\0'..='\x1f' | '\u{fffe}' | '\u{ffff}' => escaped.push('\u{fffd}'),
            other => escaped.push(other),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::examples::{compared, hostile, one_of_each};
    use crate::shown::written;
    use topdown_gate::scenario::{self, Planted, benchmark};

    fn text(comparison: &Comparison) -> String {
        written(|out| write(comparison, out))
    }

    #[test]
    fn one_test_case_per_benchmark() {
        let (baseline, candidate) = one_of_each();
        let text = text(&compared(&scenario::run(baseline), &candidate));
        insta::assert_snapshot!(text);
    }

    #[test]
    fn other_machine_is_an_error() {
        let one = || scenario::run(vec![benchmark("a", Planted::default())]);
        let mut candidate = one();
        candidate.machine.model = 207;
        insta::assert_snapshot!(text(&compared(&one(), &candidate)));
    }

    #[test]
    fn run_becoming_baseline_is_skipped() {
        let one = || scenario::run(vec![benchmark("a", Planted::default())]);
        let mut candidate = one();
        candidate.build.rustc = "rustc 9.9.9".to_owned();
        let text = text(&compared(&one(), &candidate).of_next_baseline());
        assert!(
            text.contains("failures=\"0\" errors=\"0\" skipped=\"2\""),
            "{text}"
        );
    }

    #[test]
    fn disjoint_runs_are_an_error() {
        let one = |name| scenario::run(vec![benchmark(name, Planted::default())]);
        let text = text(&compared(&one("a"), &one("b")));
        assert!(
            text.contains("<error message=\"no benchmark in common"),
            "{text}"
        );
    }

    #[test]
    fn nothing_decided_is_a_failure() {
        let one = |seed| {
            let planted = Planted {
                launches: 1,
                seed,
                ..Planted::default()
            };
            scenario::run(vec![benchmark("a", planted)])
        };
        let text = text(&compared(&one(1), &one(2)));
        assert!(
            text.contains("<failure message=\"none of 1 benchmark is decided\""),
            "{text}"
        );
    }

    #[test]
    fn names_stay_text() {
        let (baseline, candidate) = hostile();
        let text = text(&compared(&baseline, &candidate));
        assert!(
            text.contains(
                "name=\"&lt;script&gt;alert('1')&lt;/script&gt; @user [x](https://example.com) \
             www.example.com `|` a|b &quot;]]&gt;&amp;amp; %0A::error::x\u{fffd}[31m&#13;&#10;# h\""
            ),
            "{text}"
        );
    }
}
