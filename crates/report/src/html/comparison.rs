//! The page of a comparison.

use std::collections::HashMap;
use std::io::{self, Write};

use askama::Template;
use topdown_run::run_file::{Benchmark, BenchmarkId, Run};

use super::commit::CommitFact;
use super::comparison_row::{MAX_SECTIONS, Row, class_style, plain};
use super::history::History;
use super::{LegendEntry, legend};
use crate::commit_pages::CommitPages;
use crate::compared::Compared;
use crate::number::launches_made;
use crate::sentences::{Headline, headline, remedy, worst_first};
use crate::suite_notes::suite_notes;
use topdown_gate::metric::Metric;
use topdown_gate::verdict::{BenchmarkVerdict, Comparison, RunSummary, Verdict};

/// Writes the page. Launches of the compared runs are drawn as dots, runs of the history as levels.
///
/// # Errors
/// Returns an error if writing to `out` fails.
pub fn write_comparison(compared: &Compared<'_>, out: &mut impl Write) -> io::Result<()> {
    let page = Page::of(compared);
    page.write_into(out).map_err(io::Error::other)
}

#[derive(Template)]
#[template(path = "comparison.html")]
struct Page {
    tool_version: &'static str,
    verdict: &'static str,
    verdict_style: &'static str,
    headline: String,
    runs: Vec<RunFacts>,
    notes: Vec<Note>,
    classes: Vec<ClassCount>,
    /// Whether any benchmark has slots.
    has_slots: bool,
    legend: Vec<LegendEntry>,
    rows: Vec<Row>,
    one_sided: Vec<OneSided>,
    sections_left_out: usize,
}

struct RunFacts {
    side: &'static str,
    label: String,
    facts: Vec<String>,
    commit: Option<CommitFact>,
}

struct Note {
    kind: &'static str,
    style: &'static str,
    text: String,
}

struct ClassCount {
    name: &'static str,
    style: &'static str,
    count: usize,
}

struct OneSided {
    word: &'static str,
    name: String,
}

impl Page {
    fn of(compared: &Compared<'_>) -> Page {
        let Compared {
            comparison,
            baseline,
            candidate,
            history,
            commits,
            ..
        } = *compared;
        let history = history.map(|trend| History { trend, commits });
        let Headline { word, class, rest } = headline(comparison);
        let uses = |metric| {
            comparison.benchmarks.iter().any(|benchmark| {
                benchmark.effect(metric).is_some()
                    && (metric != Metric::Wall || benchmark.effect(Metric::Slots).is_none())
            })
        };
        let mut mains = (comparison.benchmarks.iter()).filter_map(BenchmarkVerdict::main_effect);
        // A column that says the same in every row is a note.
        let all_exact = mains.all(|effect| effect.exact);
        let base_of = by_id(baseline);
        let candidate_of = by_id(candidate);
        let rows = worst_first(comparison)
            .into_iter()
            .enumerate()
            .map(|(index, verdict)| {
                let sides = [
                    base_of.get(&verdict.id).copied(),
                    candidate_of.get(&verdict.id).copied(),
                ];
                Row::of(index, verdict, sides, history, all_exact)
            })
            .collect();
        let one_sided = [("missing", &comparison.missing), ("new", &comparison.new)]
            .into_iter()
            .flat_map(|(word, ids)| {
                ids.iter().map(move |id| OneSided {
                    word,
                    name: id.to_string(),
                })
            });
        Page {
            tool_version: env!("CARGO_PKG_VERSION"),
            verdict: word,
            verdict_style: class_style(class),
            headline: plain(&rest),
            runs: vec![
                RunFacts::new("baseline", &comparison.baseline, commits),
                RunFacts::new("candidate", &comparison.candidate, commits),
            ],
            notes: notes(comparison),
            classes: class_counts(comparison),
            has_slots: uses(Metric::Slots),
            legend: legend(uses),
            rows,
            one_sided: one_sided.collect(),
            sections_left_out: comparison.benchmarks.len().saturating_sub(MAX_SECTIONS),
        }
    }
}

impl RunFacts {
    fn new(side: &'static str, run: &RunSummary, commits: Option<&CommitPages>) -> RunFacts {
        let facts = vec![
            launches_made(&run.launches),
            run.started_at.clone(),
            run.machine.clone(),
        ];
        RunFacts {
            side,
            label: run.label.clone(),
            facts,
            commit: CommitFact::new(run.git_commit.as_deref(), run.git_dirty, commits),
        }
    }
}

fn notes(comparison: &Comparison) -> Vec<Note> {
    let note = |kind, style, text: String| Note {
        kind,
        style,
        text: plain(&text),
    };
    let mut notes: Vec<Note> = comparison
        .differences
        .iter()
        .map(|difference| note("differs", "differs", difference.to_string()))
        .collect();
    if let Some(remedy) = remedy(comparison) {
        notes.push(note("try", "differs", remedy.to_owned()));
    }
    for warning in &comparison.warnings {
        notes.push(note("warning", "warning", warning.to_string()));
    }
    for text in suite_notes(comparison) {
        notes.push(note("note", "note", text));
    }
    notes
}

fn class_counts(comparison: &Comparison) -> Vec<ClassCount> {
    let counts = &comparison.counts;
    [
        (Verdict::TimeDisagrees, counts.time_disagrees),
        (Verdict::Regressed, counts.regressed),
        (Verdict::NotComparable, counts.not_comparable),
        (Verdict::Accepted, counts.accepted),
        (Verdict::SometimesSlower, counts.sometimes_slower),
        (Verdict::Shifted, counts.shifted),
        (Verdict::Inconclusive, counts.inconclusive),
        (Verdict::Improved, counts.improved),
        (Verdict::Unchanged, counts.unchanged),
    ]
    .into_iter()
    .filter(|(_, count)| *count > 0)
    .map(|(class, count)| ClassCount {
        name: class.name(),
        style: class_style(class),
        count,
    })
    .collect()
}

fn by_id(run: &Run) -> HashMap<&BenchmarkId, &Benchmark> {
    run.benchmarks.iter().map(|b| (&b.id, b)).collect()
}

#[cfg(test)]
mod tests {
    use super::super::browser;
    use super::*;
    use crate::examples::{compared, history, hostile, one_of_each};
    use crate::shown::written;
    use topdown_gate::scenario::{self, Planted, benchmark, timed, with_a_grown_function};
    use topdown_gate::trend::Trend;
    use topdown_run::code_samples::Sampled;

    fn page(baseline: &Run, candidate: &Run) -> String {
        page_with(baseline, candidate, None)
    }

    fn page_with(baseline: &Run, candidate: &Run, history: Option<&Trend>) -> String {
        let comparison = compared(baseline, candidate);
        let commits = CommitPages::from_remote("git@example.org:owner/suite.git");
        let compared = Compared {
            comparison: &comparison,
            baseline,
            candidate,
            history,
            events: false,
            listing: None,
            commits: commits.as_ref(),
        };
        written(|out| write_comparison(&compared, out))
    }

    /// Returns everything but style and script.
    fn body(page: &str) -> String {
        let start = page.find("<body>").unwrap();
        let end = page.find("<script>").unwrap();
        page[start..end].to_owned()
    }

    #[test]
    fn regression_and_time_only_benchmark() {
        let suite = |seed, backend_bound| {
            let planted = Planted {
                seed,
                categories: [0.0, 0.0, 0.0, backend_bound].into(),
                launches: 5,
                ..Planted::default()
            };
            let plain = Planted {
                seed,
                launches: 5,
                ..Planted::default()
            };
            scenario::run(vec![benchmark("sort", planted), timed("read", plain)])
        };
        insta::assert_snapshot!(body(&page(&suite(1, 0.0), &suite(2, 0.2))));
    }

    #[test]
    fn the_overview_has_the_cause_and_details_are_short() {
        let [before, after] = with_a_grown_function("parse");
        let runs = [before, after].map(|benchmark| scenario::run(vec![benchmark]));
        let page = page(&runs[0], &runs[1]);
        let between = |start: &str, end: &str| {
            let (_, rest) = page.split_once(start).unwrap();
            rest.split_once(end).unwrap().0.to_owned()
        };
        assert_eq!(
            between("<td role=\"cell\" class=\"cause\">", "</td>"),
            "<span class=\"swatch backend-bound\"></span>backend bound +10.0<span \
             class=\"where\">parse::scan</span>"
        );
        let section = between("<section class=\"benchmark\"", "<dl class=\"sides\">");
        let sentence = section.split_once("</span> ").unwrap().1;
        let (_, sentence) = sentence.split_once("</span> ").unwrap_or(("", sentence));
        assert!(sentence.len() < 150, "{sentence}");
        assert!(!sentence.contains("slots/iter"), "{sentence}");
        assert!(between("<details class=\"facts\">", "</details>").contains("slots/iter"));
    }

    #[test]
    fn modelled_benchmark_shows_functions_of_both_sides() {
        let [before, after] = with_a_grown_function("parse");
        let runs = [before, after].map(|benchmark| scenario::run(vec![benchmark]));
        let page = page(&runs[0], &runs[1]);
        let start = page.find(r#"<table class="effects functions""#).unwrap();
        let end = start + page[start..].find("</table>").unwrap();
        insta::assert_snapshot!(&page[start..end]);
    }

    #[test]
    fn exactness_of_all_rows_is_one_note() {
        let [before, after] = with_a_grown_function("parse");
        let runs = [before, after].map(|benchmark| scenario::run(vec![benchmark]));
        let exact = page(&runs[0], &runs[1]);
        assert!(exact.contains("changes are exact"), "{exact}");
        assert!(
            exact.contains("those of slots are exact</caption>"),
            "{exact}"
        );
        for cell in [r#"class="interval">exact"#, r#"class="range">exact"#] {
            assert!(!exact.contains(cell), "{cell}");
        }
        // In a table with others the word says which they are.
        let runs = runs.map(|mut run| {
            run.benchmarks
                .push(benchmark("counted", Planted::default()));
            run
        });
        let mixed = page(&runs[0], &runs[1]);
        assert_eq!(mixed.matches(r#"class="interval">exact"#).count(), 1);
    }

    #[test]
    fn sampled_function_changes_have_intervals() {
        let [before, after] = with_a_grown_function("parse").map(|mut benchmark| {
            benchmark.functions.as_mut().unwrap().sampled = Some(Sampled {
                effective_hits: 12_000,
                ..Sampled::default()
            });
            benchmark
        });
        let runs = [before, after].map(|benchmark| scenario::run(vec![benchmark]));
        let page = page(&runs[0], &runs[1]);
        let start = page.find(r#"<table class="effects functions""#).unwrap();
        let end = start + page[start..].find("</table>").unwrap();
        assert!(page[start..end].contains(" ± "), "{}", &page[start..end]);
    }

    #[test]
    fn another_machine() {
        let one = || scenario::run(vec![benchmark("a", Planted::default())]);
        let mut candidate = one();
        candidate.machine.model = 207;
        let page = page(&one(), &candidate);
        for text in [
            r#"<span class="pill not-comparable">NOT COMPARABLE</span>"#,
            "<strong>differs</strong> CPU model: 143 in the baseline, 207 in the candidate",
            "retake the baseline here",
        ] {
            assert!(page.contains(text), "{text}");
        }
    }

    #[test]
    fn disjoint_runs_have_no_table() {
        let one = |name| scenario::run(vec![benchmark(name, Planted::default())]);
        let page = page(&one("a"), &one("b"));
        assert!(!page.contains("<table"));
        for text in [
            "<strong>missing</strong> suite::bench::a",
            "<strong>new</strong> suite::bench::b",
        ] {
            assert!(page.contains(text), "{text}");
        }
    }

    #[test]
    fn benchmark_with_stored_runs_shows_its_history() {
        let suite = || {
            scenario::run(vec![
                benchmark("sort/random", Planted::default()),
                benchmark("new", Planted::default()),
            ])
        };
        let history = history(8);
        let page = page_with(&suite(), &suite(), Some(&history));
        assert_eq!(page.matches("<figure class=\"history\">").count(), 1);
        let figure = page.split("<figure class=\"history\">").nth(1).unwrap();
        let figure = figure.split("</figure>").next().unwrap();
        insta::assert_snapshot!(figure);
        assert!(!page_with(&suite(), &suite(), None).contains("<figure class=\"history\">"));
    }

    #[test]
    fn browser_history_fits_window_and_has_text() {
        let one = || scenario::run(vec![benchmark("parse/json", Planted::default())]);
        let page = page_with(&one(), &one(), Some(&history(30)));
        for width in [400, 1600] {
            let script = r#"
                const area = document.querySelector(".plot-area");
                return {
                  fits: document.documentElement.scrollWidth <= innerWidth,
                  role: area.getAttribute("role"),
                  words: area.getAttribute("aria-label"),
                  drawn: area.querySelector(".course").getBoundingClientRect().width > 200,
                  runs: area.querySelectorAll(".run").length,
                };"#;
            let Some(found) = browser::drive(&page, width, script) else {
                return;
            };
            assert_eq!(
                found,
                serde_json::json!({
                    "errors": [], "fits": true, "role": "img", "drawn": true, "runs": 31,
                    "words": "30 runs from 1.001K to 1.102K; 3 change points, listed below; the \
                        candidate at 1.001K",
                })
            );
        }
    }

    #[test]
    fn names_stay_text() {
        let (baseline, candidate) = hostile();
        let page = page(&baseline, &candidate);
        assert_eq!(page.matches("<script").count(), 1);
        assert!(!page.contains("a|b \"]"));
    }

    #[test]
    fn the_page_fetches_nothing() {
        let (baseline, candidate) = one_of_each();
        let page = page(&scenario::run(baseline), &candidate);
        // Links to commits are followed, not fetched.
        let page = page.replace("<a href=\"https://example.org/owner/suite/commit/", "");
        for text in ["http:", "https:", "src=", "@import", "url(", "<link"] {
            assert!(!page.contains(text), "{text}");
        }
    }

    #[test]
    fn huge_suite_has_all_rows_and_worst_sections() {
        let suite = |seed| {
            let benchmarks = (0..MAX_SECTIONS + 2).map(|n| {
                let planted = Planted {
                    seed,
                    launches: 2,
                    ..Planted::default()
                };
                benchmark(&format!("b{n}"), planted)
            });
            scenario::run(benchmarks.collect())
        };
        let page = page(&suite(1), &suite(2));
        assert_eq!(
            page.matches("<tr role=\"row\" data-").count(),
            MAX_SECTIONS + 2
        );
        assert_eq!(
            page.matches("<section class=\"benchmark\"").count(),
            MAX_SECTIONS
        );
        assert!(page.contains("2 more have no section of their own here"));
    }

    /// At the width of a phone and of a desktop.
    #[test]
    fn browser_filters_sorts_and_fits_window() {
        let (baseline, candidate) = one_of_each();
        let page = page(&scenario::run(baseline), &candidate);
        for width in [400, 1600] {
            let Some(found) = browser::drive(
                &page,
                width,
                r##"
                const visible = () => [...document.querySelectorAll("#rows > tr")]
                  .filter((row) => row.checkVisibility())
                  .map((row) => row.dataset.name);
                const enter = (id, value, event) => {
                  const input = document.getElementById(id);
                  input.value = value;
                  input.dispatchEvent(new Event(event));
                };
                const found = { width: innerWidth };
                found.fits = document.documentElement.scrollWidth <= innerWidth;
                found.all = visible().length;
                found.sections = document.querySelectorAll("section.benchmark").length;
                enter("filter", "HASH 001", "input");
                found.filtered = visible().length;
                found.said = document.getElementById("shown").textContent;
                enter("filter", "", "input");
                document.querySelector("input[value=unchanged]").click();
                found.without_unchanged = visible().length;
                enter("sort", "name", "change");
                found.by_name = visible()[0];
                enter("sort", "change", "change");
                found.by_change = visible()[0];
                enter("sort", "order", "change");
                found.by_verdict = visible()[0];
                found.links = [...document.querySelectorAll("#rows a")]
                  .every((link) => document.querySelector(link.hash));
                const folded = [...document.querySelectorAll("#rows a")]
                  .filter((link) => document.querySelector(link.hash + " details:not(.facts)"));
                found.folded = folded.length;
                location.hash = folded[0].hash;
                dispatchEvent(new Event("hashchange"));
                found.open = document.querySelectorAll("details[open]").length;
                found.fetched = performance.getEntriesByType("resource").length;
                return found;
                "##,
            ) else {
                return;
            };
            assert_eq!(
                found,
                serde_json::json!({
                    "errors": [], "width": width, "fits": true, "all": 24, "sections": 24,
                    "filtered": 7, "said": "7 of 24 shown", "without_unchanged": 8,
                    "by_name": "alloc/large", "by_change": "alloc/large",
                    "by_verdict": "sort/random", "links": true, "folded": 16, "open": 1,
                    "fetched": 0,
                })
            );
        }
    }

    #[test]
    fn browser_name_runs_no_script() {
        let (baseline, candidate) = hostile();
        let script = "return { name: document.querySelector('#rows th a').textContent };";
        let Some(found) = browser::drive(&page(&baseline, &candidate), 800, script) else {
            return;
        };
        assert_eq!(found["errors"], serde_json::json!([]));
        let name = found["name"].as_str().unwrap();
        assert!(
            name.starts_with("<script>alert('1')</script> @user"),
            "{name}"
        );
    }
}
