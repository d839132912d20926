//! A comparison as GitHub's Markdown: a step summary, or a comment on a pull request.
//!
//! The sentences on what fails come first and are never folded; the rest is folded. Both have a
//! size limit, so the text is built piece by piece, and what does not fit is counted. Everything
//! from benchmarks or machines is escaped so that it stays text: it cannot make HTML, links,
//! images, mentions or table cells. Comments on pull requests are made by `foreign_comment`.

use super::event_table::{COLUMNS, LEGEND};
use super::listing_markdown::push_lines;
use super::markdown_text::{Bounded, code, folded, inline};
use super::names::Names;
use super::number::points;
use super::sentence_groups::group_sentences;
use super::sentences::{Headline, counted, headline, members, remedy, run_in_short, worst_first};
use super::suite_notes::suite_notes;
use super::verdict_facts::facts;
use super::verdict_sentence::predicate;
use topdown_explain::listing::ListingComparison;
use topdown_gate::event_rates::EventRates;
use topdown_gate::metric::Metric;
use topdown_gate::verdict::{
    BenchmarkVerdict, Comparison, Effect, EventSides, Interval, Outcome, Verdict,
};

/// GitHub accepts 1 MiB per step, and the step may have written something else.
const SUMMARY_BYTES: usize = 1_000_000;
/// GitHub accepts 65,536 characters; `command::ci::comment` adds a marker and a link.
pub(super) const COMMENT_BYTES: usize = 60_000;
/// Reserved for the end of the text.
pub(super) const END_BYTES: usize = 4_000;

/// Returns the step summary, with a table of the events if `events` is set.
pub fn summary(
    comparison: &Comparison,
    events: bool,
    listing: Option<&ListingComparison>,
) -> String {
    document(comparison, events, listing, SUMMARY_BYTES)
}

/// Returns the comment. Its first line tells programs whether there is anything to report.
pub fn comment(comparison: &Comparison, listing: Option<&ListingComparison>) -> String {
    let counts = &comparison.counts;
    let has_news = comparison.outcome != Outcome::Passed
        || counts.sometimes_slower
            + counts.shifted
            + counts.improved
            + counts.missing
            + counts.slower_over_time
            > 0;
    let state = if has_news { "news" } else { "quiet" };
    let marker = format!("<!-- cargo-topdown: {state} -->\n");
    let document = document(comparison, false, listing, COMMENT_BYTES - marker.len());
    marker + &document
}

fn document(
    comparison: &Comparison,
    events: bool,
    listing: Option<&ListingComparison>,
    limit: usize,
) -> String {
    let mut text = Bounded::new(limit, END_BYTES);
    let names = Names::new(comparison);
    let Headline { word, rest, .. } = headline(comparison);
    text.push(&format!("## TopDown: {}\n\n", word.to_lowercase()));
    text.push(&format!("**{}**\n\n", inline(&rest)));
    differences(comparison, &mut text);
    let is_comparable = comparison.differences.is_empty();
    let failing = [
        Verdict::TimeDisagrees,
        Verdict::Regressed,
        Verdict::NotComparable,
    ];
    let others = [
        Verdict::Accepted,
        Verdict::SometimesSlower,
        Verdict::Shifted,
        Verdict::Inconclusive,
        Verdict::Improved,
    ];
    if is_comparable {
        let reported: Vec<&BenchmarkVerdict> = failing
            .into_iter()
            .flat_map(|verdict| members(comparison, verdict))
            .collect();
        // One list for each verdict, so that those that fail by time come first.
        for verdict in failing {
            sentences(&members(comparison, verdict), names, &mut text);
        }
        if !reported.is_empty() {
            text.push("\n");
        }
        if let Some(listing) = listing {
            push_lines(listing, &mut text);
        }
        folded(
            "The causes in full",
            !reported.is_empty(),
            &mut text,
            |text| {
                details(&reported, names, text);
            },
        );
        for verdict in others {
            let members = members(comparison, verdict);
            folded(
                &format!("{} {}", members.len(), verdict.name()),
                !members.is_empty(),
                &mut text,
                |text| details(&members, names, text),
            );
        }
    }
    for (word, ids) in [("missing", &comparison.missing), ("new", &comparison.new)] {
        folded(
            &format!("{} {word}", ids.len()),
            !ids.is_empty(),
            &mut text,
            |text| {
                text.items(
                    ids.iter()
                        .map(|id| format!("- {}\n", code(&id.to_string()))),
                )
            },
        );
    }
    let rows = worst_first(comparison);
    folded(
        &format!("All benchmarks ({})", rows.len()),
        is_comparable && !rows.is_empty(),
        &mut text,
        |text| table(&rows, names, text),
    );
    let rows: Vec<(&BenchmarkVerdict, &EventSides)> = rows
        .into_iter()
        .filter_map(|row| Some((row, row.events.as_ref()?)))
        .collect();
    folded(
        &format!("Events ({})", rows.len()),
        events && !rows.is_empty(),
        &mut text,
        |text| event_table(&rows, names, text),
    );
    text.begin_end();
    folded("The two runs", true, &mut text, |text| {
        runs(comparison, text)
    });
    text.finish()
}

/// Writes what a reader must know about the comparison.
fn differences(comparison: &Comparison, text: &mut Bounded) {
    let mut lines = Vec::new();
    for difference in &comparison.differences {
        lines.push(format!("**differs** {}", inline(&difference.to_string())));
    }
    if let Some(remedy) = remedy(comparison) {
        lines.push(format!("**try** {}", inline(remedy)));
    }
    for warning in &comparison.warnings {
        lines.push(format!("**warning** {}", inline(&warning.to_string())));
    }
    if !lines.is_empty() {
        text.items(lines.into_iter().map(|line| format!("- {line}\n")));
        text.push("\n");
    }
}

/// Writes where the runs come from, the counts, and the notes.
fn runs(comparison: &Comparison, text: &mut Bounded) {
    let mut lines = vec![
        format!("baseline {}", inline(&run_in_short(&comparison.baseline))),
        format!("candidate {}", inline(&run_in_short(&comparison.candidate))),
        counted(&comparison.counts).join(", "),
    ];
    lines.extend(suite_notes(comparison).iter().map(|note| inline(note)));
    lines.retain(|line| !line.is_empty());
    text.items(lines.into_iter().map(|line| format!("- {line}\n")));
}

fn sentences(benchmarks: &[&BenchmarkVerdict], names: Names, text: &mut Bounded) {
    let groups = group_sentences(benchmarks).into_iter();
    text.items(groups.map(|group| {
        let subject = match group.only() {
            Some(benchmark) => code(&names.name(&benchmark.id)),
            None => group.many(),
        };
        let text = group.predicate.clone() + &group.list(names);
        format!("- {subject} {}\n", inline(&text))
    }));
}

/// Writes the sentences, and the facts below each.
fn details(benchmarks: &[&BenchmarkVerdict], names: Names, text: &mut Bounded) {
    text.items(benchmarks.iter().map(|benchmark| {
        let name = names.name(&benchmark.id);
        let mut item = format!("- {} {}\n", code(&name), inline(&predicate(benchmark)));
        for fact in facts(benchmark, true) {
            item.push_str(&format!("  - {}\n", inline(&fact)));
        }
        item
    }));
}

/// Writes the table without columns that are empty in all rows.
fn table(rows: &[&BenchmarkVerdict], names: Names, text: &mut Bounded) {
    const COLUMNS: [(&str, Metric); 6] = [
        ("time %", Metric::Wall),
        ("retiring", Metric::Retiring),
        ("bad spec", Metric::BadSpeculation),
        ("frontend", Metric::FrontendBound),
        ("backend", Metric::BackendBound),
        ("SMT", Metric::SmtContention),
    ];
    let has_slots = rows.iter().any(|row| row.effect(Metric::Slots).is_some());
    let columns: Vec<(&str, Metric)> = COLUMNS
        .into_iter()
        // Without slots, the change is that of the time.
        .filter(|(_, metric)| has_slots && rows.iter().any(|row| row.effect(*metric).is_some()))
        .collect();
    let is_exact = |row: &&BenchmarkVerdict| row.main_effect().is_none_or(|effect| effect.exact);
    let all_exact = rows.iter().all(is_exact);
    let mut heading = "| benchmark | verdict | change % |".to_owned();
    let mut rule = "|:--|:--|--:|".to_owned();
    if !all_exact {
        heading.push_str(" interval |");
        rule.push_str("--:|");
    }
    for (name, _) in &columns {
        heading.push_str(&format!(" {name} |"));
        rule.push_str("--:|");
    }
    text.push(&format!("{heading}\n{rule}\n"));
    text.items(rows.iter().map(|row| {
        let (change, interval) = row.main_effect().map_or_else(Default::default, |effect| {
            (points(effect.difference), interval(effect))
        });
        let class = match row.verdict {
            Verdict::Unchanged => row.verdict.name().to_owned(),
            class => format!("**{}**", class.name()),
        };
        let name = code(&names.name(&row.id));
        let mut line = format!("| {name} | {class} | {change} |");
        if !all_exact {
            line.push_str(&format!(" {interval} |"));
        }
        for (_, metric) in &columns {
            let cell = row
                .effect(*metric)
                .map_or(String::new(), |effect| points(effect.difference));
            line.push_str(&format!(" {cell} |"));
        }
        line.push('\n');
        line
    }));
    let unit = if has_slots {
        "slots (time: of its time); the categories add up to the change"
    } else {
        "time"
    };
    let intervals = if all_exact {
        "Changes are exact: modelled launches agree bit for bit."
    } else {
        "Intervals are 95 % per benchmark, with \\* for the whole suite at once."
    };
    text.push(&format!(
        "\nChanges are percent of the baseline's {unit}. {intervals}\n"
    ));
}

/// Writes the events before and after.
fn event_table(rows: &[(&BenchmarkVerdict, &EventSides)], names: Names, text: &mut Bounded) {
    let headings: String = COLUMNS.map(|c| format!(" {} |", c.heading)).concat();
    let rule = "--:|".repeat(COLUMNS.len());
    text.push(&format!("| benchmark |{headings}\n|:--|{rule}\n"));
    text.items(rows.iter().map(|(row, events)| {
        let mut line = format!("| {} |", code(&names.name(&row.id)));
        for column in &COLUMNS {
            let cell = |side: &Option<EventRates>| column.cell(side.as_ref()?);
            let cell = match (cell(&events.baseline), cell(&events.candidate)) {
                (None, None) => String::new(),
                (Some(before), Some(after)) if before == after => after,
                (before, after) => {
                    let or_none = |cell: Option<String>| cell.unwrap_or_else(|| "none".to_owned());
                    format!("{} → {}", or_none(before), or_none(after))
                }
            };
            line.push_str(&format!(" {cell} |"));
        }
        line.push('\n');
        line
    }));
    text.push(&format!("\n{LEGEND}.\n"));
}

fn interval(effect: &Effect) -> String {
    match effect.interval {
        _ if effect.exact => "exact".to_owned(),
        None => String::new(),
        Some(Interval {
            low,
            high,
            simultaneous,
            ..
        }) => {
            let mark = if simultaneous { "\\*" } else { "" };
            format!("{} to {}{mark}", points(low), points(high))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::examples::{compared, hostile, one_of_each};
    use topdown_gate::scenario::{self, Planted, benchmark};
    use topdown_run::event::{Event, Events};

    #[test]
    fn one_of_each_verdict() {
        let (baseline, candidate) = one_of_each();
        insta::assert_snapshot!(summary(
            &compared(&scenario::run(baseline), &candidate),
            false,
            None
        ));
    }

    #[test]
    fn another_machine() {
        let one = || scenario::run(vec![benchmark("a", Planted::default())]);
        let mut candidate = one();
        candidate.machine.model = 207;
        insta::assert_snapshot!(comment(&compared(&one(), &candidate), None));
    }

    #[test]
    fn comment_without_changes_is_short() {
        let one = |seed| {
            let planted = Planted {
                seed,
                ..Planted::default()
            };
            scenario::run(vec![benchmark("a", planted)])
        };
        let text = comment(&compared(&one(1), &one(2)), None);
        assert!(
            text.starts_with("<!-- cargo-topdown: quiet -->\n## TopDown: passed\n"),
            "{text}"
        );
        let (baseline, candidate) = one_of_each();
        let text = comment(&compared(&scenario::run(baseline), &candidate), None);
        assert!(
            text.starts_with("<!-- cargo-topdown: news -->\n## TopDown: regressed\n"),
            "{text}"
        );
    }

    #[test]
    fn events_are_shown_only_on_request() {
        let run_with = |misses| {
            let mut benchmark = benchmark("a", Planted::default());
            for launch in benchmark.slots_launches_mut() {
                launch.instructions = Some(1000.0);
                launch.events = Events::NONE.with(Event::L2Misses, misses).into();
            }
            scenario::run(vec![benchmark])
        };
        let comparison = compared(&run_with(4.0), &run_with(40.0));
        assert!(!summary(&comparison, false, None).contains("Events"));
        let text = summary(&comparison, true, None);
        let (_, events) = text.split_once("<details><summary>Events (1)").unwrap();
        insta::assert_snapshot!(events);
    }

    #[test]
    fn names_stay_text() {
        let (baseline, candidate) = hostile();
        let text = summary(&compared(&baseline, &candidate), false, None);
        let bare = text.replace("<code>", "").replace("</code>", "");
        let bare = bare.replace("<details>", "").replace("</details>", "");
        let bare = bare.replace("<summary>", "").replace("</summary>", "");
        for forbidden in ["<", "[", "@", "://", "www."] {
            assert!(!bare.contains(forbidden), "{forbidden} in {bare}");
        }
    }

    #[test]
    fn huge_suite_fits_and_states_omissions() {
        let suite = |seed| {
            let benchmarks = (0..3000).map(|n| {
                let planted = Planted {
                    seed,
                    launches: 2,
                    ..Planted::default()
                };
                benchmark(&format!("{}/{n}", "long".repeat(100)), planted)
            });
            scenario::run(benchmarks.collect())
        };
        let comparison = compared(&suite(1), &suite(2));
        let comment = comment(&comparison, None);
        assert!(comment.len() <= COMMENT_BYTES, "{}", comment.len());
        assert!(comment.len() > COMMENT_BYTES / 2, "{}", comment.len());
        assert!(comment.contains("more, left out for lack of space"));
        assert!(
            comment.contains("- baseline <code>main</code>"),
            "{comment}"
        );
        assert_eq!(
            comment.matches("<details>").count(),
            comment.matches("</details>").count()
        );
        assert!(summary(&comparison, false, None).len() <= SUMMARY_BYTES);
    }
}
