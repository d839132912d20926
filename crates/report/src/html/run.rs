//! The page of a single run.

use std::io::{self, Write};

use askama::Template;
use topdown_run::run_file::{Benchmark, Run};

use super::chart::{LaunchChart, LaunchSeries, amount};
use super::commit::CommitFact;
use super::flame_graph::FlameGraph;
use super::functions::{FunctionItem, items_of};
use super::history::{History, HistoryChart};
use super::{Bar, LegendEntry, legend, style_of};
use crate::commit_pages::CommitPages;
use crate::number::{self, launches_in_words, launches_made, percent};
use crate::run_row::{REMOVED, WAITS, work_note};
use topdown_gate::launches_made::LaunchesMade;
use topdown_gate::metric::Metric;
use topdown_gate::summary::Summary;
use topdown_gate::trend::Trend;
use topdown_gate::verdict::is_exact;

/// Writes the page of `run`, which the user calls `label`, with the history of the baseline, if it
/// is one.
///
/// # Errors
/// Returns an error if writing to `out` fails.
pub fn write_run(
    run: &Run,
    label: &str,
    history: Option<&Trend>,
    commits: Option<&CommitPages>,
    out: &mut impl Write,
) -> io::Result<()> {
    Page::of(run, label, history, commits)
        .write_into(out)
        .map_err(io::Error::other)
}

#[derive(Template)]
#[template(path = "run.html")]
struct Page {
    tool_version: &'static str,
    title: String,
    facts: Vec<String>,
    commit: Option<CommitFact>,
    sources: Vec<String>,
    legend: Vec<LegendEntry>,
    rows: Vec<Row>,
}

struct Row {
    anchor: String,
    name: String,
    place: String,
    total: String,
    spread: String,
    total_key: f64,
    bar: Option<Bar>,
    time: String,
    instructions_per_cycle: String,
    shares: Vec<ShareRow>,
    launches: Option<LaunchChart>,
    history: Option<HistoryChart>,
    flame_graph: Option<FlameGraph>,
    functions: Vec<FunctionItem>,
    facts: Vec<String>,
}

struct ShareRow {
    name: &'static str,
    style: &'static str,
    fraction: f64,
    percent: String,
    parts: String,
}

impl Page {
    fn of(run: &Run, label: &str, history: Option<&Trend>, commits: Option<&CommitPages>) -> Page {
        let history = history.map(|trend| History { trend, commits });
        let rows: Vec<Row> = run
            .benchmarks
            .iter()
            .enumerate()
            .map(|(index, benchmark)| Row::of(index, benchmark, history))
            .collect();
        let uses = |metric| match metric {
            Metric::Wall => rows.iter().any(|row| row.shares.is_empty()),
            _ => rows.iter().any(|row| {
                row.shares
                    .iter()
                    .any(|share| share.style == style_of(metric))
            }),
        };
        let mut sources: Vec<String> = run
            .benchmarks
            .iter()
            .map(|b| format!("{}: {}", b.provenance().source, b.provenance().reason))
            .collect();
        sources.sort_unstable();
        sources.dedup();
        let facts = vec![
            run.machine.to_string(),
            format!(
                "{} of {} samples",
                launches_made(&LaunchesMade::new(run)),
                run.launch_settings.sample_size
            ),
            run.started_at.clone(),
            format!("profile {}", run.build.profile),
            run.build.rustc.clone(),
        ];
        Page {
            tool_version: env!("CARGO_PKG_VERSION"),
            title: label.to_owned(),
            facts,
            commit: CommitFact::new(
                run.build.git_commit.as_deref(),
                run.build.git_dirty,
                commits,
            ),
            sources,
            legend: legend(uses),
            rows,
        }
    }
}

impl Row {
    fn of(index: usize, benchmark: &Benchmark, history: Option<History<'_>>) -> Row {
        let mut row = Row {
            anchor: format!("benchmark-{index}"),
            name: benchmark.id.name.clone(),
            place: format!("{}::{}", benchmark.id.package, benchmark.id.target),
            total: String::new(),
            spread: String::new(),
            total_key: f64::MIN,
            bar: None,
            time: String::new(),
            instructions_per_cycle: String::new(),
            shares: Vec::new(),
            launches: None,
            history: history.and_then(|history| {
                HistoryChart::new(history, history.trend.of(&benchmark.id)?, None)
            }),
            flame_graph: FlameGraph::for_run(benchmark),
            functions: benchmark
                .functions
                .as_deref()
                .map(items_of)
                .unwrap_or_default(),
            facts: vec![format!("source {}", benchmark.provenance().source)],
        };
        let Some(summary) = Summary::new(benchmark) else {
            row.facts.push("no launch has a value".to_owned());
            return row;
        };
        let (metric, spread) = match summary.slots {
            Some(slots) => (Metric::Slots, slots),
            None => (Metric::Wall, summary.wall_ns),
        };
        row.shares = shares(&summary);
        let parts: Vec<(Metric, f64)> = match &summary.shares {
            Some(shares) => shares
                .level1
                .iter()
                .map(|(category, share)| (category.into(), *share))
                .chain(shares.smt_contention.map(|s| (Metric::SmtContention, s)))
                .collect(),
            None => vec![(metric, 1.0)],
        };
        let longest = parts.iter().map(|(_, share)| share.max(0.0)).sum();
        row.bar = Some(Bar::new(&row.name, &parts, longest));
        row.total = amount(metric, spread.mean);
        row.total_key = spread.mean;
        row.spread = spread
            .relative_sd
            .map_or(String::new(), |sd| format!("± {} %", percent(sd)));
        row.time = amount(Metric::Wall, summary.wall_ns.mean);
        row.instructions_per_cycle = summary
            .instructions_per_cycle
            .map_or(String::new(), |ratio| format!("{ratio:.2}"));
        // Exact launches are all alike.
        if !is_exact(benchmark) {
            row.launches = LaunchChart::new(
                metric,
                vec![LaunchSeries {
                    name: "launches",
                    style: "candidate",
                    values: metric.by_launch(benchmark).unwrap_or_default(),
                    mean: Some(spread.mean),
                }],
            );
        }
        row.facts.push(launches_in_words(
            summary.launches,
            summary.modelled_launches,
        ));
        row.facts
            .push(format!("formula {}", benchmark.provenance().formula));
        let events = summary.events.iter();
        row.facts.extend(events.map(|(event, count)| {
            let name = event.name().replace('_', " ");
            format!("{name} {}", number::amount(count))
        }));
        row.facts.extend(work_note(benchmark.provenance()));
        if summary.seems_removed() {
            row.facts.push(REMOVED.to_owned());
        }
        if summary.mostly_waits() {
            row.facts.push(WAITS.to_owned());
        }
        if summary.samples_dropped > 0 {
            row.facts
                .push(format!("samples dropped: {}", summary.samples_dropped));
        }
        if summary.resolution_fraction > 0.0 {
            row.facts.push(format!(
                "each category ± {} % of the slots",
                percent(summary.resolution_fraction)
            ));
        }
        row
    }
}

fn shares(summary: &Summary) -> Vec<ShareRow> {
    let Some(shares) = &summary.shares else {
        return Vec::new();
    };
    let row = |metric: Metric, fraction: f64, parts: String| ShareRow {
        name: metric.name(),
        style: style_of(metric),
        fraction,
        percent: percent(fraction),
        parts,
    };
    let categories = shares.level1.iter();
    let mut rows: Vec<ShareRow> = categories
        .map(|(category, &share)| {
            let parts = shares.level2.map_or(String::new(), |level2| {
                format!(
                    "{} {} %, {} {} %",
                    category.measured_part().name(),
                    percent(level2[category]),
                    category.rest().name(),
                    percent(share - level2[category])
                )
            });
            row(category.into(), share, parts)
        })
        .collect();
    if let Some(share) = shares.smt_contention {
        rows.push(row(Metric::SmtContention, share, String::new()));
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::super::browser;
    use super::*;
    use crate::examples::{HOSTILE_NAME, one_of_each};
    use crate::shown::written;
    use topdown_gate::scenario::{self, Planted, benchmark, timed, with_some_functions};

    fn page(run: &Run) -> String {
        written(|out| write_run(run, "main", None, None, out))
    }

    #[test]
    fn benchmark_with_slots_and_time_only_benchmark() {
        let run = scenario::run(vec![
            benchmark("sort", Planted::default()),
            timed("read", Planted::default()),
        ]);
        let page = page(&run);
        let start = page.find("<main>").unwrap();
        let end = page.find("<script>").unwrap();
        insta::assert_snapshot!(&page[start..end]);
    }

    #[test]
    fn launches_of_the_run_are_shown() {
        let made = |launches| Planted {
            launches,
            ..Planted::default()
        };
        let interrupted = vec![benchmark("sort", made(4)), timed("read", made(3))];
        let mut run = scenario::run(interrupted);
        run.launch_settings.launches = 10;
        let page = page(&run);
        assert!(page.contains("3 to 4 launches of 20 samples"), "{page}");
    }

    #[test]
    fn a_modelled_benchmark_has_its_functions() {
        let run = scenario::run(vec![with_some_functions("parse")]);
        let page = page(&run);
        let start = page.find(r#"<table class="effects functions""#).unwrap();
        let end = start + page[start..].find("</table>").unwrap();
        insta::assert_snapshot!(&page[start..end]);
    }

    #[test]
    fn benchmark_without_launches_is_listed() {
        let mut run = scenario::run(vec![benchmark("sort", Planted::default())]);
        run.benchmarks[0].slots = None;
        run.benchmarks[0].times.launches.clear();
        assert!(page(&run).contains("no launch has a value"));
    }

    #[test]
    fn browser_sorts_and_fits_window() {
        let (_, mut run) = one_of_each();
        run.benchmarks.push(timed(HOSTILE_NAME, Planted::default()));
        run.benchmarks.push(with_some_functions("parse"));
        for width in [400, 1600] {
            let Some(found) = browser::drive(
                &page(&run),
                width,
                r##"
                const first = (value) => {
                  const sort = document.getElementById("sort");
                  sort.value = value;
                  sort.dispatchEvent(new Event("change"));
                  return document.querySelector("#rows > tr").dataset.name;
                };
                return {
                  fits: document.documentElement.scrollWidth <= innerWidth,
                  backend: first("backend-bound"),
                  order: first("order"),
                  fetched: performance.getEntriesByType("resource").length,
                };
                "##,
            ) else {
                return;
            };
            assert_eq!(
                found,
                serde_json::json!({
                    "errors": [], "fits": true, "backend": "sort/sorted",
                    "order": run.benchmarks[0].id.name, "fetched": 0,
                })
            );
        }
    }
}
