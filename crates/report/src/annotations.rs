//! A comparison as GitHub's workflow commands, which appear next to the log and on the run's page.
//!
//! GitHub keeps ten of each kind per step, so only the worst ten are listed, with the number of
//! others.

use std::io::{self, Write};

use super::names::Names;
use super::sentence_groups::group_sentences;
use super::sentences::{headline, worst_first};
use super::suite_notes::slower_over_time;
use super::verdict_sentence::line_of;
use super::workflow_command::{Level, write as command, write_at as command_at};
use topdown_gate::verdict::{BenchmarkVerdict, Comparison, Outcome};

/// Maximum number of each kind that GitHub keeps.
const MAX_ANNOTATIONS: usize = 10;

/// Writes the commands.
///
/// # Errors
/// Returns an error if writing to `out` fails.
pub fn write(comparison: &Comparison, mut out: impl Write) -> io::Result<()> {
    let whole = headline(comparison);
    let level_of_whole = if comparison.becomes_baseline {
        Level::Notice
    } else {
        Level::Error
    };
    if !comparison.differences.is_empty() {
        let reasons: Vec<String> = comparison
            .differences
            .iter()
            .map(ToString::to_string)
            .collect();
        let message = format!("{}\n{}", whole.rest, reasons.join("\n"));
        return command(&mut out, level_of_whole, &title(whole.word), &message);
    }
    let failing: Vec<&BenchmarkVerdict> = worst_first(comparison)
        .into_iter()
        .filter(|benchmark| comparison.fails(benchmark))
        .collect();
    // A benchmark is missing, or the runs have nothing in common.
    if failing.is_empty() && comparison.outcome != Outcome::Passed {
        command(&mut out, level_of_whole, &title(whole.word), &whole.rest)?;
    }
    let names = Names::new(comparison);
    let groups = group_sentences(&failing);
    for group in groups.iter().take(MAX_ANNOTATIONS) {
        let worst = group.benchmarks[0];
        let verdict = worst.verdict.name();
        let (title, subject) = match group.only() {
            Some(only) => (
                format!("{verdict}: {}", only.id),
                format!("`{}`", names.name(&only.id)),
            ),
            None => (format!("{verdict}: {}", group.many()), group.many()),
        };
        let message = format!("{subject} {}{}", group.predicate, group.list(names));
        command_at(&mut out, Level::Error, line_of(worst), &title, &message)?;
    }
    if let Some(slower) = slower_over_time(comparison) {
        let level = if comparison.slower_over_time_fails {
            Level::Error
        } else {
            Level::Warning
        };
        command(&mut out, level, &title("slower over time"), &slower)?;
    }
    if comparison.missing_fails && !comparison.missing.is_empty() {
        let names: Vec<String> = comparison.missing.iter().map(ToString::to_string).collect();
        let message = format!("these benchmarks should have run:\n{}", names.join("\n"));
        command(&mut out, Level::Warning, &title("missing"), &message)?;
    }
    let rest = groups.iter().skip(MAX_ANNOTATIONS);
    let more: usize = rest.map(|group| group.benchmarks.len()).sum();
    if more > 0 {
        // As another kind, since it would be the eleventh of its own.
        let message = format!("{more} more fail; all are in the step's summary");
        command(&mut out, Level::Notice, &title(whole.word), &message)?;
    }
    Ok(())
}

fn title(word: &str) -> String {
    format!("TopDown: {word}")
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
    fn regressions_are_errors() {
        let (baseline, candidate) = one_of_each();
        let text = text(&compared(&scenario::run(baseline), &candidate));
        insta::assert_snapshot!(text);
    }

    #[test]
    fn regression_is_annotated_at_calling_line() {
        let run = |more| scenario::run(vec![scenario::with_call_paths("parse", more)]);
        insta::assert_snapshot!(text(&compared(&run(0), &run(100))));
    }

    #[test]
    fn worst_ten_are_shown_and_others_counted() {
        let suite = |seed, slower: bool| {
            let benchmarks = (0..40).map(|n| {
                let change = if slower && n < 13 {
                    0.2 + f64::from(n) / 100.0
                } else {
                    0.0
                };
                let planted = Planted {
                    seed,
                    categories: [0.0, 0.0, 0.0, change].into(),
                    ..Planted::default()
                };
                benchmark(&format!("b{n:02}"), planted)
            });
            scenario::run(benchmarks.collect())
        };
        let text = text(&compared(&suite(1, false), &suite(2, true)));
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 11);
        assert!(
            lines[0]
                .starts_with("::error title=regressed%3A suite%3A%3Abench%3A%3Ab12::`b12` is 3")
        );
        assert_eq!(
            lines[10],
            "::notice title=TopDown%3A REGRESSED::3 more fail; all are in the step's summary"
        );
    }

    #[test]
    fn pass_is_silent() {
        let one = |seed| {
            scenario::run(vec![benchmark(
                "a",
                Planted {
                    seed,
                    ..Planted::default()
                },
            )])
        };
        assert_eq!(text(&compared(&one(1), &one(2))), "");
    }

    #[test]
    fn other_machine_is_one_error_with_reasons() {
        let one = || scenario::run(vec![benchmark("a", Planted::default())]);
        let mut candidate = one();
        candidate.machine.model = 207;
        assert_eq!(
            text(&compared(&one(), &candidate)),
            "::error title=TopDown%3A NOT COMPARABLE::1 of 1 benchmark cannot be compared with \
             `main`%0ACPU model: `143` in the baseline, `207` in the candidate\n"
        );
    }

    #[test]
    fn future_baseline_gets_a_notice() {
        let one = |name| scenario::run(vec![benchmark(name, Planted::default())]);
        let mut newer = one("a");
        newer.build.rustc = "rustc 9.9.9".to_owned();
        let nothing_in_common = compared(&one("a"), &one("b"));
        for comparison in [compared(&one("a"), &newer), nothing_in_common] {
            let text = text(&comparison.of_next_baseline());
            let says = "::notice title=TopDown%3A NEW BASELINE::nothing failed; ";
            assert!(text.starts_with(says), "{text}");
            assert!(!text.contains("error"), "{text}");
        }
    }

    #[test]
    fn name_cannot_inject_a_command() {
        let (baseline, candidate) = hostile();
        let text = text(&compared(&baseline, &candidate));
        assert_eq!(text.lines().count(), 1, "{text}");
        assert!(text.contains("%250A"), "{text}");
    }
}
