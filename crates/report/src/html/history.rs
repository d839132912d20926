//! The history of a benchmark: its runs as dots, its levels as lines, its categories as areas.

use crate::number::percent_change;
use crate::trend_text::{date, facts, when};
use topdown_gate::metric::Metric;
use topdown_gate::trend::{BenchmarkTrend, ChangeKind, Trend, TrendChange, TrendPoint};
use topdown_terminal::count_of;

use super::chart::amount;
use super::commit::CommitFact;
use super::style_of;
use crate::commit_pages::CommitPages;

/// Only the newest runs of a longer history are drawn: a dot is 60 bytes, and a page has many
/// sections.
const MAX_RUNS: usize = 100;
/// The drawing's own units; the browser stretches it.
const WIDTH: f64 = 1000.0;
/// See [`WIDTH`].
const HEIGHT: f64 = 100.0;
/// The least relative range of the drawing: noise must not look like a change.
const MIN_SPAN: f64 = 0.05;

/// The runs to draw, and where their commits are.
#[derive(Clone, Copy)]
pub struct History<'a> {
    pub trend: &'a Trend,
    pub commits: Option<&'a CommitPages>,
}

/// One benchmark over the stored runs.
pub struct HistoryChart {
    pub caption: String,
    /// The drawing in words.
    pub description: String,
    pub dots: Vec<HistoryDot>,
    /// The run that the page is about, if it is not in the history.
    pub candidate: Option<HistoryDot>,
    /// The levels between change points; empty if there are none.
    pub levels: Vec<LevelLine>,
    /// Where the level changes.
    pub marks: Vec<ChangeMark>,
    /// The categories, stacked from zero; empty if there are none.
    pub areas: Vec<Area>,
    /// The times beside slots.
    pub times: Option<TimeCurve>,
    /// The values at the ends of the upper drawing.
    pub low: String,
    pub high: String,
    /// The days at its ends.
    pub first: String,
    pub last: String,
    pub changes: Vec<ChangeItem>,
    /// The combined effect of several changes.
    pub overall: Option<String>,
}

/// The time per iteration as a line.
pub struct TimeCurve {
    /// The corners of the line.
    pub points: String,
    /// The values at the ends of its drawing.
    pub low: String,
    pub high: String,
    /// The drawing in words.
    pub description: String,
}

pub struct HistoryDot {
    pub x: String,
    pub y: String,
    pub title: String,
}

pub struct LevelLine {
    pub from: String,
    pub to: String,
    pub y: String,
}

pub struct ChangeMark {
    pub x: String,
    pub style: &'static str,
}

pub struct Area {
    pub style: &'static str,
    /// The corners of a polygon.
    pub points: String,
}

/// A change point in words.
pub struct ChangeItem {
    pub word: &'static str,
    pub style: &'static str,
    pub text: String,
    /// The commit of the first run of the new level.
    pub commit: Option<CommitFact>,
    pub facts: Vec<String>,
}

impl HistoryChart {
    /// `candidate` is the value of a comparable run that is not in the history, drawn after the
    /// others. Returns `None` for a benchmark with fewer than two runs, which is not a history.
    pub fn new(
        history: History<'_>,
        benchmark: &BenchmarkTrend,
        candidate: Option<f64>,
    ) -> Option<HistoryChart> {
        let trend = history.trend;
        let skipped = benchmark.points.len().saturating_sub(MAX_RUNS);
        let points = &benchmark.points[skipped..];
        let (first, last) = (points.first()?, points.last()?);
        if first.run == last.run {
            return None;
        }
        let values = points.iter().map(|point| point.value);
        let lowest = values.clone().fold(f64::INFINITY, f64::min);
        let highest = values.fold(f64::NEG_INFINITY, f64::max);
        let low = candidate.unwrap_or(lowest).min(lowest);
        let high = candidate.unwrap_or(highest).max(highest);
        let scale = Scale::around(low, high);
        let y = |value: f64| scale.y(value);
        let runs = last.run - first.run + 1 + usize::from(candidate.is_some());
        // The left end of a run's share of the width, and its middle.
        let left = |run: usize| WIDTH * (run - first.run) as f64 / runs as f64;
        let middle = |run: usize| left(run) + WIDTH / runs as f64 / 2.0;
        let metric = benchmark.metric;
        let unit = match metric {
            Metric::Wall => "time per iteration",
            _ => "slots per iteration",
        };
        let drawn = match skipped {
            0 => format!("{} runs", points.len()),
            _ => format!(
                "the newest {} of {} runs",
                points.len(),
                benchmark.points.len()
            ),
        };
        let visible: Vec<&TrendChange> = benchmark
            .changes
            .iter()
            .filter(|change| change.run > first.run)
            .collect();
        Some(HistoryChart {
            caption: {
                let and_candidate = candidate.map_or("", |_| ", and the candidate");
                let label = &trend.label;
                format!("History of {label}, {unit}: {drawn}{and_candidate}")
            },
            description: {
                let runs = describe(
                    benchmark,
                    &drawn,
                    amount(metric, lowest),
                    amount(metric, highest),
                );
                match candidate {
                    None => runs,
                    Some(value) => format!("{runs}; the candidate at {}", amount(metric, value)),
                }
            },
            candidate: candidate.map(|value| HistoryDot {
                x: format!("{:.1}", middle(last.run + 1)),
                y: y(value),
                title: format!("candidate: {}", amount(metric, value)),
            }),
            dots: points
                .iter()
                .map(|point| HistoryDot {
                    x: format!("{:.1}", middle(point.run)),
                    y: y(point.value),
                    title: format!(
                        "{}: {}",
                        when(&trend.runs[point.run]),
                        amount(metric, point.value)
                    ),
                })
                .collect(),
            levels: levels(&visible, first.run, last.run + 1)
                .into_iter()
                .map(|(from, to, level)| LevelLine {
                    from: format!("{:.1}", left(from)),
                    to: format!("{:.1}", left(to)),
                    y: y(level),
                })
                .collect(),
            marks: visible
                .iter()
                .map(|change| ChangeMark {
                    x: format!("{:.1}", left(change.run)),
                    style: class_of(change.kind),
                })
                .collect(),
            times: TimeCurve::new(points, middle),
            areas: areas(benchmark, skipped, middle),
            low: amount(metric, scale.bottom),
            high: amount(metric, scale.top),
            first: date(&trend.runs[first.run]).to_owned(),
            last: match candidate {
                None => date(&trend.runs[last.run]).to_owned(),
                Some(_) => format!("{}, candidate", date(&trend.runs[last.run])),
            },
            changes: benchmark
                .changes
                .iter()
                .map(|change| ChangeItem::new(history, change, metric))
                .collect(),
            overall: benchmark
                .overall_difference
                .filter(|_| benchmark.changes.len() > 1)
                .map(percent_change),
        })
    }
}

impl ChangeItem {
    fn new(history: History<'_>, change: &TrendChange, metric: Metric) -> ChangeItem {
        let run = &history.trend.runs[change.run];
        ChangeItem {
            word: change.kind.name(),
            style: class_of(change.kind),
            text: format!(
                "{} from {}: {} → {}, {} runs before and {} since",
                percent_change(change.difference),
                date(run),
                amount(metric, change.before),
                amount(metric, change.after),
                change.runs_before,
                change.runs_after
            ),
            commit: CommitFact::new(run.git_commit.as_deref(), run.git_dirty, history.commits),
            facts: facts(change)
                .iter()
                .map(|fact| fact.replace('`', ""))
                .collect(),
        }
    }
}

impl TimeCurve {
    /// Returns nothing unless every run has a time beside its slots.
    fn new(points: &[TrendPoint], x: impl Fn(usize) -> f64) -> Option<TimeCurve> {
        let times: Option<Vec<f64>> = points.iter().map(|point| point.wall_ns).collect();
        let times = times?;
        let lowest = times.iter().copied().fold(f64::INFINITY, f64::min);
        let highest = times.iter().copied().fold(0.0, f64::max);
        let scale = Scale::around(lowest, highest);
        let corners = points.iter().zip(&times);
        let corners =
            corners.map(|(point, time)| format!("{:.1},{}", x(point.run), scale.y(*time)));
        let time = |value| amount(Metric::Wall, value);
        Some(TimeCurve {
            points: corners.collect::<Vec<_>>().join(" "),
            low: time(scale.bottom),
            high: time(scale.top),
            description: format!(
                "time per iteration from {} to {}",
                time(lowest),
                time(highest)
            ),
        })
    }
}

/// What the ends of a drawing stand for.
struct Scale {
    bottom: f64,
    top: f64,
}

impl Scale {
    /// Leaves space above and below the values, and at least the smallest range.
    fn around(low: f64, high: f64) -> Scale {
        let room = ((MIN_SPAN * high - (high - low)) / 2.0).max(0.1 * (high - low));
        Scale {
            bottom: low - room,
            top: high + room,
        }
    }

    fn y(&self, value: f64) -> String {
        let fraction = if self.top > self.bottom {
            (value - self.bottom) / (self.top - self.bottom)
        } else {
            0.5
        };
        format!("{:.2}", HEIGHT * (1.0 - fraction))
    }
}

/// Returns each level with the run where it begins and the run after its last.
fn levels(changes: &[&TrendChange], first: usize, end: usize) -> Vec<(usize, usize, f64)> {
    let Some(oldest) = changes.first() else {
        return Vec::new();
    };
    let ends = changes.iter().skip(1).map(|change| change.run).chain([end]);
    let later = changes
        .iter()
        .zip(ends)
        .map(|(change, to)| (change.run, to, change.after));
    std::iter::once((first, oldest.run, oldest.before))
        .chain(later)
        .collect()
}

/// Returns the polygons of the categories, stacked. Negative amounts, which resolution can cause,
/// have no height.
fn areas(benchmark: &BenchmarkTrend, skipped: usize, x: impl Fn(usize) -> f64) -> Vec<Area> {
    let points = &benchmark.points[skipped..];
    let height = |point: &TrendPoint, below: usize| -> f64 {
        point.categories[..below]
            .iter()
            .map(|c| c.slots.max(0.0))
            .sum()
    };
    let Some(categories) = points.iter().map(|point| point.categories.len()).min() else {
        return Vec::new();
    };
    let greatest = points
        .iter()
        .map(|point| height(point, categories))
        .fold(0.0, f64::max);
    if greatest <= 0.0 {
        return Vec::new();
    }
    let corner =
        |run: usize, slots: f64| format!("{:.1},{:.2}", x(run), HEIGHT * (1.0 - slots / greatest));
    (0..categories)
        .map(|index| {
            let upper = points.iter().map(|p| corner(p.run, height(p, index + 1)));
            let lower = points.iter().rev().map(|p| corner(p.run, height(p, index)));
            let corners: Vec<String> = upper.chain(lower).collect();
            Area {
                style: style_of(points[0].categories[index].metric),
                points: corners.join(" "),
            }
        })
        .collect()
}

fn describe(benchmark: &BenchmarkTrend, drawn: &str, low: String, high: String) -> String {
    let changes = match benchmark.changes.len() {
        0 => "no change points".to_owned(),
        count => format!("{}, listed below", count_of(count, "change point")),
    };
    format!("{drawn} from {low} to {high}; {changes}")
}

/// Returns the verdict class that has the same colour.
fn class_of(kind: ChangeKind) -> &'static str {
    match kind {
        ChangeKind::Slower => "regressed",
        ChangeKind::Faster => "improved",
        ChangeKind::Shifted => "shifted",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::examples::history;

    fn of(trend: &Trend) -> History<'_> {
        History {
            trend,
            commits: None,
        }
    }

    fn chart(trend: &Trend, name: &str) -> HistoryChart {
        let benchmark = trend.benchmarks.iter().find(|b| b.id.name == name).unwrap();
        HistoryChart::new(of(trend), benchmark, None).unwrap()
    }

    #[test]
    fn levels_meet_at_change_points() {
        let chart = chart(&history(30), "sort/random");
        let ends: Vec<(&str, &str)> = chart.levels.iter().map(|l| (&*l.from, &*l.to)).collect();
        assert_eq!(ends, [("0.0", "500.0"), ("500.0", "1000.0")]);
        assert_eq!((chart.marks.len(), &*chart.marks[0].x), (1, "500.0"));
        assert_eq!(chart.marks[0].style, "regressed");
        assert_eq!(chart.dots.len(), 30);
        assert_eq!(chart.areas.len(), 4);
        assert!(chart.description.ends_with("1 change point, listed below"));
        assert!(chart.changes[0].text.starts_with("+5.9 % from 2026-10-17"));
        let commit = chart.changes[0].commit.as_ref().unwrap();
        assert!(
            commit.text.starts_with("commit e3779b97f"),
            "{}",
            commit.text
        );
        let times = chart.times.unwrap();
        assert_eq!(times.points.split(' ').count(), 30);
    }

    #[test]
    fn time_has_no_areas_and_steady_series_no_levels() {
        let chart = chart(&history(30), "read");
        assert!(chart.areas.is_empty() && chart.levels.is_empty() && chart.marks.is_empty());
        assert!(chart.times.is_none());
        assert!(chart.description.ends_with("no change points"));
    }

    #[test]
    fn newest_runs_of_long_history_are_drawn() {
        let trend = history(130);
        let chart = chart(&trend, "sort/random");
        assert_eq!(chart.dots.len(), MAX_RUNS);
        assert!(chart.caption.ends_with("the newest 100 of 130 runs"));
        let ends: Vec<(&str, &str)> = chart.levels.iter().map(|l| (&*l.from, &*l.to)).collect();
        assert_eq!(ends, [("0.0", "350.0"), ("350.0", "1000.0")]);
    }

    #[test]
    fn candidate_is_drawn_after_the_runs() {
        let trend = history(4);
        let benchmark = &trend.benchmarks[0];
        let highest = 2.0 * benchmark.points[0].value;
        let chart = HistoryChart::new(of(&trend), benchmark, Some(highest)).unwrap();
        let xs: Vec<&str> = chart.dots.iter().map(|dot| &*dot.x).collect();
        assert_eq!(xs, ["100.0", "300.0", "500.0", "700.0"]);
        let candidate = chart.candidate.unwrap();
        assert_eq!(candidate.x, "900.0");
        assert!((0.0..HEIGHT / 2.0).contains(&candidate.y.parse().unwrap()));
        assert!(candidate.title.starts_with("candidate: "));
        assert!(chart.caption.ends_with("4 runs, and the candidate"));
        assert!(chart.last.ends_with(", candidate"), "{}", chart.last);
        assert!(chart.description.contains("; the candidate at "));
    }

    #[test]
    fn single_run_has_no_history() {
        let trend = history(1);
        assert!(HistoryChart::new(of(&trend), &trend.benchmarks[0], Some(1.0)).is_none());
    }
}
