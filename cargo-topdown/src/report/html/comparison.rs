//! The page of a comparison.

use std::collections::HashMap;
use std::io::{self, Write};

use askama::Template;
use criterion_topdown::run_file::{Benchmark, BenchmarkId, Run};

use super::chart::{IntervalPlot, LaunchChart, LaunchSeries, amount};
use super::{Bar, LegendEntry, legend, style_of};
use crate::report::sentences::{Headline, REMEDY, headline, sentence, suite_notes, worst_first};
use crate::report::wrap::{percent, points};
use crate::verdict::{
    BenchmarkVerdict, Class, Comparison, Effect, LaunchCount, Metric, RunSummary,
};

/// So many benchmarks, the worst first, have a section of their own: one is about 8 KB.
const MOST_SECTIONS: usize = 1000;

/// Writes the page. The runs are those that were compared; their launches become the dots.
///
/// # Errors
/// When `out` does.
pub fn write_comparison(
    comparison: &Comparison,
    baseline: &Run,
    candidate: &Run,
    out: &mut impl Write,
) -> io::Result<()> {
    let page = Page::of(comparison, baseline, candidate);
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

/// One benchmark, in the table of all and in its own section.
struct Row {
    anchor: String,
    has_section: bool,
    name: String,
    /// Package and bench target.
    place: String,
    class: &'static str,
    style: &'static str,
    sentence: String,
    change: String,
    interval: String,
    change_style: &'static str,
    time: String,
    time_style: &'static str,
    /// To sort by; what is not known comes last.
    change_key: f64,
    total_key: f64,
    sides: Vec<Side>,
    launches: Option<LaunchChart>,
    effects: Vec<EffectRow>,
    /// Of what changes are percent.
    unit: &'static str,
    facts: Vec<String>,
}

struct Side {
    name: &'static str,
    bar: Bar,
    total: String,
}

struct EffectRow {
    name: &'static str,
    style: Option<&'static str>,
    is_part: bool,
    change_style: &'static str,
    baseline: String,
    candidate: String,
    change: String,
    interval: String,
    plot: IntervalPlot,
}

impl Page {
    fn of(comparison: &Comparison, baseline: &Run, candidate: &Run) -> Page {
        let Headline { word, class, rest } = headline(comparison);
        let uses = |metric| {
            comparison.benchmarks.iter().any(|benchmark| {
                benchmark.effect(metric).is_some()
                    && (metric != Metric::Wall || benchmark.effect(Metric::Slots).is_none())
            })
        };
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
                Row::of(index, verdict, sides)
            })
            .collect();
        let one_sided = [("removed", &comparison.removed), ("new", &comparison.new)]
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
                RunFacts::of("baseline", &comparison.baseline),
                RunFacts::of("candidate", &comparison.candidate),
            ],
            notes: notes(comparison),
            classes: class_counts(comparison),
            has_slots: uses(Metric::Slots),
            legend: legend(uses),
            rows,
            one_sided: one_sided.collect(),
            sections_left_out: comparison.benchmarks.len().saturating_sub(MOST_SECTIONS),
        }
    }
}

impl RunFacts {
    fn of(side: &'static str, run: &RunSummary) -> RunFacts {
        let mut facts = vec![
            format!("{} launches", run.launches),
            run.started_at.clone(),
            run.machine.clone(),
        ];
        if let Some(commit) = &run.git_commit {
            let short: String = commit.chars().take(10).collect();
            facts.push(match run.git_dirty {
                Some(true) => format!("commit {short} with changes"),
                _ => format!("commit {short}"),
            });
        }
        RunFacts {
            side,
            label: run.label.clone(),
            facts,
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
    if !notes.is_empty() {
        notes.push(note("try", "differs", REMEDY.to_owned()));
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
        (Class::Regressed, counts.regressed),
        (Class::NotComparable, counts.not_comparable),
        (Class::Accepted, counts.accepted),
        (Class::Shifted, counts.shifted),
        (Class::Inconclusive, counts.inconclusive),
        (Class::Improved, counts.improved),
        (Class::Unchanged, counts.unchanged),
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

impl Row {
    fn of(index: usize, verdict: &BenchmarkVerdict, runs: [Option<&Benchmark>; 2]) -> Row {
        let main = verdict.main_effect();
        let metric = main.map_or(Metric::Slots, |effect| effect.metric);
        let longest = main.map_or(0.0, |effect| effect.baseline.max(effect.candidate));
        let sides = main.map_or(Vec::new(), |main| {
            vec![
                Side::of("baseline", verdict, main, longest, |e| e.baseline),
                Side::of("candidate", verdict, main, longest, |e| e.candidate),
            ]
        });
        let series = [("baseline", "baseline"), ("candidate", "candidate")]
            .into_iter()
            .zip(runs)
            .map(|((name, style), benchmark)| LaunchSeries {
                name,
                style,
                values: benchmark.map_or(Vec::new(), |benchmark| {
                    let launches = benchmark.launches.iter();
                    launches
                        .filter_map(|launch| Some((launch.launch, metric.of(launch)?)))
                        .collect()
                }),
                mean: main.map(|main| match style {
                    "baseline" => main.baseline,
                    _ => main.candidate,
                }),
            })
            .collect();
        let reach = verdict
            .effects
            .iter()
            .flat_map(|effect| [effect.interval.low, effect.interval.high])
            .filter(|end| end.is_finite())
            .fold(0.01, |reach: f64, end| reach.max(end.abs()));
        let has_slots = verdict.effect(Metric::Slots).is_some();
        Row {
            anchor: format!("benchmark-{index}"),
            has_section: index < MOST_SECTIONS,
            name: verdict.id.name.clone(),
            place: format!("{}::{}", verdict.id.package, verdict.id.target),
            class: verdict.class.name(),
            style: class_style(verdict.class),
            sentence: plain(&sentence(verdict)),
            change: main.map_or(String::new(), |effect| percent(effect.difference)),
            interval: main.map_or(String::new(), range),
            time: match verdict.effect(Metric::Wall) {
                Some(effect) if has_slots => percent(effect.difference),
                _ => String::new(),
            },
            change_style: main.map_or("", |effect| change_style(effect, verdict)),
            time_style: verdict
                .effect(Metric::Wall)
                .map_or("", |effect| change_style(effect, verdict)),
            change_key: main.map_or(f64::MIN, |effect| effect.difference),
            total_key: main.map_or(f64::MIN, |effect| effect.candidate),
            sides,
            launches: main.and_then(|_| LaunchChart::of(metric, series)),
            effects: verdict
                .effects
                .iter()
                .map(|effect| EffectRow::of(effect, verdict, has_slots, reach))
                .collect(),
            unit: if has_slots {
                "slots (time: of its time)"
            } else {
                "time"
            },
            facts: facts(verdict),
        }
    }
}

impl Side {
    fn of(
        name: &'static str,
        verdict: &BenchmarkVerdict,
        main: &Effect,
        longest: f64,
        amount_of: impl Fn(&Effect) -> f64,
    ) -> Side {
        let mut parts: Vec<(Metric, f64)> = verdict
            .effects
            .iter()
            .filter(|effect| effect.metric.is_category())
            .map(|effect| (effect.metric, amount_of(effect)))
            .collect();
        if parts.is_empty() {
            parts.push((main.metric, amount_of(main)));
        }
        let unit = match main.metric {
            Metric::Wall => "/iter",
            _ => " slots/iter",
        };
        Side {
            name,
            bar: Bar::of(name, &parts, longest),
            total: format!("{}{unit}", amount(main.metric, amount_of(main))),
        }
    }
}

impl EffectRow {
    fn of(effect: &Effect, verdict: &BenchmarkVerdict, has_slots: bool, reach: f64) -> EffectRow {
        let is_category = effect.metric.is_category();
        EffectRow {
            name: effect.metric.name(),
            style: is_category.then(|| style_of(effect.metric)),
            is_part: is_category && has_slots,
            change_style: change_style(effect, verdict),
            baseline: amount(effect.metric, effect.baseline),
            candidate: amount(effect.metric, effect.candidate),
            change: percent(effect.difference),
            interval: range(effect),
            plot: IntervalPlot::of(effect.difference, &effect.interval, reach),
        }
    }
}

fn facts(verdict: &BenchmarkVerdict) -> Vec<String> {
    let launches = |side: &LaunchCount, name: &str| {
        let mut text = format!("{name} {} launches", side.used);
        if side.dropped > 0 {
            text.push_str(&format!(", {} dropped", side.dropped));
        }
        if side.samples_dropped > 0 {
            text.push_str(&format!(", {} samples dropped", side.samples_dropped));
        }
        text
    };
    let mut facts = vec![
        format!("source {}", verdict.source),
        launches(&verdict.baseline_launches, "baseline"),
        launches(&verdict.candidate_launches, "candidate"),
    ];
    if let Some(coarse) = &verdict.coarse {
        facts.push(format!(
            "categories not tested: their resolution is {:.1} and {:.1} % of the slots, and at most \
             {:.1} % is tested",
            100.0 * coarse.baseline_resolution,
            100.0 * coarse.candidate_resolution,
            100.0 * coarse.limit
        ));
    }
    facts
}

fn range(effect: &Effect) -> String {
    let interval = &effect.interval;
    if effect.exact {
        return "exact".to_owned();
    }
    let mark = if interval.simultaneous { "*" } else { "" };
    format!(
        "[{}, {}]{mark}",
        points(interval.low),
        points(interval.high)
    )
}

/// Marks what made the verdict.
fn change_style(effect: &Effect, verdict: &BenchmarkVerdict) -> &'static str {
    let is_main =
        |effect: &Effect| verdict.main_effect().map(|main| main.metric) == Some(effect.metric);
    match verdict.class {
        Class::Regressed | Class::Accepted | Class::Shifted if effect.hit => "worse",
        Class::Improved if is_main(effect) => "better",
        _ => "",
    }
}

/// Without the backquotes of messages.
fn plain(text: &str) -> String {
    text.replace('`', "")
}

fn class_style(class: Class) -> &'static str {
    match class {
        Class::Regressed => "regressed",
        Class::NotComparable => "not-comparable",
        Class::Accepted => "accepted",
        Class::Shifted => "shifted",
        Class::Inconclusive => "inconclusive",
        Class::Improved => "improved",
        Class::Unchanged => "unchanged",
    }
}

fn by_id(run: &Run) -> HashMap<&BenchmarkId, &Benchmark> {
    run.benchmarks.iter().map(|b| (&b.id, b)).collect()
}

#[cfg(test)]
mod tests {
    use super::super::browser;
    use super::*;
    use crate::report::examples::{compared, hostile, one_of_each};
    use crate::verdict::scenario::{self, Planted, benchmark, timed};

    fn page(baseline: &Run, candidate: &Run) -> String {
        let comparison = compared(baseline, candidate);
        let mut out = Vec::new();
        write_comparison(&comparison, baseline, candidate, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    /// Everything but style and script.
    fn body(page: &str) -> String {
        let start = page.find("<body>").unwrap();
        let end = page.find("<script>").unwrap();
        page[start..end].to_owned()
    }

    #[test]
    fn a_regression_and_a_benchmark_of_time() {
        let suite = |seed, backend_bound| {
            let planted = Planted {
                seed,
                categories: [0.0, 0.0, 0.0, backend_bound],
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
    fn another_machine() {
        let one = || scenario::run(vec![benchmark("a", Planted::default())]);
        let mut candidate = one();
        candidate.machine.model = 207;
        let page = page(&one(), &candidate);
        for text in [
            r#"<span class="pill not-comparable">NOT COMPARABLE</span>"#,
            "<strong>differs</strong> CPU model: 143 in the baseline, 207 in the candidate",
            "take the baseline again on this machine",
        ] {
            assert!(page.contains(text), "{text}");
        }
    }

    #[test]
    fn nothing_in_common_is_no_table() {
        let one = |name| scenario::run(vec![benchmark(name, Planted::default())]);
        let page = page(&one("a"), &one("b"));
        assert!(!page.contains("<table"));
        for text in [
            "<strong>removed</strong> suite::bench::a",
            "<strong>new</strong> suite::bench::b",
        ] {
            assert!(page.contains(text), "{text}");
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
        for text in ["http:", "https:", "src=", "@import", "url(", "<link"] {
            assert!(!page.contains(text), "{text}");
        }
    }

    #[test]
    fn a_huge_suite_has_a_row_for_each_and_sections_for_the_worst() {
        let suite = |seed| {
            let benchmarks = (0..MOST_SECTIONS + 2).map(|n| {
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
            MOST_SECTIONS + 2
        );
        assert_eq!(
            page.matches("<section class=\"benchmark\"").count(),
            MOST_SECTIONS
        );
        assert!(page.contains("2 more have no section of their own here"));
    }

    /// At the width of a phone and of a desktop.
    #[test]
    fn in_a_browser_it_filters_and_sorts_and_fits_the_window() {
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
                found.fetched = performance.getEntriesByType("resource").length;
                return found;
                "##,
            ) else {
                return;
            };
            assert_eq!(
                found,
                serde_json::json!({
                    "errors": [], "width": width, "fits": true, "all": 23, "sections": 23,
                    "filtered": 7, "said": "7 of 23 shown", "without_unchanged": 7,
                    "by_name": "alloc/large", "by_change": "alloc/large",
                    "by_verdict": "sort/random", "links": true, "fetched": 0,
                })
            );
        }
    }

    #[test]
    fn in_a_browser_a_name_runs_no_script() {
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
