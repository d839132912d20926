//! One benchmark of a comparison: its row in the table of all benchmarks, and its section.

use topdown_run::provenance::SourceKind;
use topdown_run::run_file::Benchmark;

use super::chart::{DifferenceBar, IntervalPlot, LaunchChart, LaunchSeries, amount};
use super::flame_graph::FlameGraph;
use super::history::{History, HistoryChart};
use super::waterfall::Waterfall;
use super::{Bar, style_of};
use crate::function_rows::label_of;
use crate::number::{launches_in_words, percent, percent_change, points, slots};
use crate::verdict_facts;
use crate::verdict_sentence::{functions_of, main_part, sentence};
use topdown_gate::metric::Metric;
use topdown_gate::summary::Summary;
use topdown_gate::verdict::{
    BenchmarkVerdict, CauseKind, Effect, FunctionChange, LaunchCount, Rule, Verdict,
};

/// At most this many benchmarks, worst first, have their own section: one is about 8 KB, and 15 KB
/// with a history of 30 runs.
pub(super) const MAX_SECTIONS: usize = 1000;

/// Smaller changes of a function, as a fraction of the benchmark's slots, are not coloured.
const MIN_COLOURED_FRACTION: f64 = 0.005;

/// One benchmark, in the table and in its own section.
pub(super) struct Row {
    pub(super) anchor: String,
    pub(super) has_section: bool,
    pub(super) name: String,
    /// Package and bench target.
    pub(super) place: String,
    pub(super) class: &'static str,
    /// Whether the section shows its contents only when asked.
    pub(super) is_folded: bool,
    pub(super) style: &'static str,
    pub(super) sentence: String,
    pub(super) change: String,
    pub(super) interval: String,
    pub(super) change_style: &'static str,
    pub(super) time: String,
    pub(super) time_style: &'static str,
    /// Sort keys; unknown values come last.
    pub(super) change_key: f64,
    pub(super) total_key: f64,
    /// Why it changed; absent if it did not, or nothing is known.
    pub(super) cause: Option<CauseCell>,
    pub(super) sides: Vec<Side>,
    pub(super) waterfall: Option<Waterfall>,
    pub(super) flame_graph: Option<FlameGraph>,
    pub(super) launches: Option<LaunchChart>,
    pub(super) history: Option<HistoryChart>,
    pub(super) effects: Vec<EffectRow>,
    pub(super) functions: Vec<FunctionRow>,
    /// What changes are percentages of.
    pub(super) unit: &'static str,
    /// What the sentence leaves out.
    pub(super) details: Vec<String>,
    pub(super) facts: Vec<String>,
}

/// Why a benchmark changed: what grew or shrank most, and in which functions.
pub(super) struct CauseCell {
    /// The colour of a category.
    pub(super) style: Option<&'static str>,
    pub(super) name: &'static str,
    /// By how many points it changed.
    pub(super) change: String,
    /// Empty if no function is known.
    pub(super) functions: String,
}

impl CauseCell {
    fn new(verdict: &BenchmarkVerdict) -> Option<CauseCell> {
        let without_category = |name| CauseCell {
            style: None,
            name,
            change: String::new(),
            functions: String::new(),
        };
        if verdict.rule == Some(Rule::AllocatesMore) {
            return Some(without_category("allocations"));
        }
        if verdict.verdict == Verdict::SometimesSlower {
            return Some(without_category("single launches"));
        }
        let cause = verdict.cause.as_ref()?;
        if verdict.verdict == Verdict::TimeDisagrees
            || matches!(cause.kind, CauseKind::TimePerSlot { .. })
        {
            return Some(without_category("time"));
        }
        let part = main_part(cause)?;
        let functions = verdict.explaining_parts().next();
        Some(CauseCell {
            style: Some(style_of(part.category)),
            name: part.category.name(),
            change: points(part.difference),
            functions: functions.map_or(String::new(), |part| plain(&functions_of(part))),
        })
    }
}

pub(super) struct Side {
    pub(super) name: &'static str,
    pub(super) bar: Bar,
    pub(super) total: String,
}

pub(super) struct EffectRow {
    pub(super) name: &'static str,
    pub(super) style: Option<&'static str>,
    pub(super) is_part: bool,
    pub(super) change_style: &'static str,
    pub(super) baseline: String,
    pub(super) candidate: String,
    pub(super) change: String,
    pub(super) interval: String,
    pub(super) plot: IntervalPlot,
}

/// A function before and after.
pub(super) struct FunctionRow {
    pub(super) label: String,
    pub(super) baseline: String,
    pub(super) candidate: String,
    pub(super) change: String,
    pub(super) change_style: &'static str,
    pub(super) bar: DifferenceBar,
}

impl FunctionRow {
    /// The bar of a difference of `reach` fills its side.
    fn new(change: &FunctionChange, verdict: &BenchmarkVerdict, reach: f64) -> FunctionRow {
        let amount = |side: Option<f64>| side.map_or("–".to_owned(), slots);
        FunctionRow {
            label: label_of(&change.name, &change.module),
            baseline: amount(change.baseline_slots),
            candidate: amount(change.candidate_slots),
            change: match change.margin {
                Some(margin) => format!("{} ± {} %", points(change.difference), percent(margin)),
                None => percent_change(change.difference),
            },
            bar: DifferenceBar::new(change.difference, reach),
            // What the verdict does not count as a change is not coloured either.
            change_style: match verdict.cause {
                _ if !change.is_certain() => "",
                Some(_) if change.difference >= MIN_COLOURED_FRACTION => "worse",
                Some(_) if change.difference <= -MIN_COLOURED_FRACTION => "better",
                _ => "",
            },
        }
    }
}

impl Row {
    pub(super) fn of(
        index: usize,
        verdict: &BenchmarkVerdict,
        runs: [Option<&Benchmark>; 2],
        history: Option<History<'_>>,
        all_exact: bool,
    ) -> Row {
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
                values: benchmark
                    .and_then(|benchmark| metric.by_launch(benchmark))
                    .unwrap_or_default(),
                mean: main.map(|main| match style {
                    "baseline" => main.baseline,
                    _ => main.candidate,
                }),
            })
            .collect();
        let reach = verdict
            .effects
            .iter()
            .flat_map(|effect| match &effect.interval {
                Some(interval) => [interval.low, interval.high],
                None => [effect.difference; 2],
            })
            .filter(|end| end.is_finite())
            .fold(0.01, |reach: f64, end| reach.max(end.abs()));
        let has_slots = verdict.effect(Metric::Slots).is_some();
        let differences = verdict
            .functions
            .iter()
            .map(|change| change.difference.abs());
        let longest_difference = differences.fold(MIN_COLOURED_FRACTION, f64::max);
        Row {
            anchor: format!("benchmark-{index}"),
            has_section: index < MAX_SECTIONS,
            name: verdict.id.name.clone(),
            place: format!("{}::{}", verdict.id.package, verdict.id.target),
            class: verdict.verdict.name(),
            is_folded: verdict.verdict == Verdict::Unchanged,
            style: class_style(verdict.verdict),
            sentence: plain(&sentence(verdict, &verdict.id.name)),
            cause: CauseCell::new(verdict),
            change: main.map_or(String::new(), |effect| percent_change(effect.difference)),
            interval: match main {
                Some(effect) if effect.exact && !all_exact => "exact".to_owned(),
                Some(effect) => range(effect),
                None => String::new(),
            },
            time: match verdict.effect(Metric::Wall) {
                Some(effect) if has_slots => percent_change(effect.difference),
                _ => String::new(),
            },
            change_style: main.map_or("", |effect| change_style(effect, verdict)),
            time_style: verdict
                .effect(Metric::Wall)
                .map_or("", |effect| change_style(effect, verdict)),
            change_key: main.map_or(f64::MIN, |effect| effect.difference),
            total_key: main.map_or(f64::MIN, |effect| effect.candidate),
            sides,
            waterfall: Waterfall::new(verdict),
            flame_graph: FlameGraph::for_difference(runs)
                .filter(|_| has_slots && verdict.verdict != Verdict::Unchanged),
            // Exact launches are all alike.
            launches: main
                .filter(|effect| !effect.exact)
                .and_then(|_| LaunchChart::new(metric, series)),
            history: history.and_then(|history| {
                let benchmark = history.trend.of(&verdict.id)?;
                // Do not draw values that cannot be compared next to the others.
                let candidate = runs[1].filter(|_| main.is_some());
                let value = candidate.and_then(|run| mean_of(run, benchmark.metric));
                HistoryChart::new(history, benchmark, value)
            }),
            effects: verdict
                .effects
                .iter()
                .map(|effect| EffectRow::new(effect, verdict, has_slots, reach))
                .collect(),
            functions: verdict
                .functions
                .iter()
                .map(|change| FunctionRow::new(change, verdict, longest_difference))
                .collect(),
            unit: match main {
                Some(effect) if has_slots && effect.exact => {
                    "slots (time: of its time); those of slots are exact"
                }
                _ if has_slots => "slots (time: of its time)",
                _ => "time",
            },
            details: (verdict_facts::facts(verdict, true).iter())
                .map(|fact| plain(fact))
                .collect(),
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
            bar: Bar::new(name, &parts, longest),
            total: format!("{}{unit}", amount(main.metric, amount_of(main))),
        }
    }
}

impl EffectRow {
    fn new(effect: &Effect, verdict: &BenchmarkVerdict, has_slots: bool, reach: f64) -> EffectRow {
        let is_category = effect.metric.is_category();
        EffectRow {
            name: effect.metric.name(),
            style: is_category.then(|| style_of(effect.metric)),
            is_part: is_category && has_slots,
            change_style: change_style(effect, verdict),
            baseline: amount(effect.metric, effect.baseline),
            candidate: amount(effect.metric, effect.candidate),
            change: percent_change(effect.difference),
            interval: range(effect),
            plot: IntervalPlot::new(effect.difference, effect.interval.as_ref(), reach),
        }
    }
}

fn facts(verdict: &BenchmarkVerdict) -> Vec<String> {
    let of_side = |side: &LaunchCount, name: &str| {
        let modelled = side.slots.filter(|_| verdict.source == SourceKind::Model);
        let mut text = format!("{name} {}", launches_in_words(side.times, modelled));
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
        of_side(&verdict.baseline_launches, "baseline"),
        of_side(&verdict.candidate_launches, "candidate"),
    ];
    if let Some(coarse) = &verdict.coarse {
        facts.push(format!(
            "categories not tested: their resolution is {:.1} and {:.1} % of the slots, and at \
             most {:.1} % is tested",
            100.0 * coarse.baseline_resolution,
            100.0 * coarse.candidate_resolution,
            100.0 * coarse.limit
        ));
    }
    facts
}

/// Returns the interval of a change that has one.
fn range(effect: &Effect) -> String {
    let Some(interval) = effect.interval.as_ref().filter(|_| !effect.exact) else {
        return String::new();
    };
    let mark = if interval.simultaneous { "*" } else { "" };
    format!(
        "[{}, {}]{mark}",
        points(interval.low),
        points(interval.high)
    )
}

/// Marks what caused the verdict.
fn change_style(effect: &Effect, verdict: &BenchmarkVerdict) -> &'static str {
    let is_main =
        |effect: &Effect| verdict.main_effect().map(|main| main.metric) == Some(effect.metric);
    match verdict.verdict {
        Verdict::Regressed | Verdict::Accepted | Verdict::Shifted if effect.is_worse() => "worse",
        Verdict::TimeDisagrees if effect.metric == Metric::Wall => "worse",
        Verdict::SometimesSlower if is_main(effect) => "worse",
        Verdict::Improved if is_main(effect) => "better",
        _ => "",
    }
}

/// Removes the backquotes of messages.
pub(super) fn plain(text: &str) -> String {
    text.replace('`', "")
}

/// Returns the mean over launches of the whole that a history shows: slots, or time.
fn mean_of(benchmark: &Benchmark, whole: Metric) -> Option<f64> {
    let summary = Summary::new(benchmark)?;
    match whole {
        Metric::Wall => Some(summary.wall_ns.mean),
        _ => Some(summary.slots?.mean),
    }
}

/// Returns the CSS class that colours a verdict.
pub(super) fn class_style(class: Verdict) -> &'static str {
    match class {
        Verdict::TimeDisagrees => "time-disagrees",
        Verdict::Regressed => "regressed",
        Verdict::NotComparable => "not-comparable",
        Verdict::Accepted => "accepted",
        Verdict::SometimesSlower => "sometimes-slower",
        Verdict::Shifted => "shifted",
        Verdict::Inconclusive => "inconclusive",
        Verdict::Improved => "improved",
        Verdict::Unchanged => "unchanged",
    }
}
