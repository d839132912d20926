//! From the baseline's slots to the candidate's, one step for each category.

use topdown_gate::metric::Metric;
use topdown_gate::verdict::{BenchmarkVerdict, Verdict};

use super::style_of;
use crate::number::{percent, percent_change, slots};

/// If the steps cover less than this fraction of the longest bar, the axis does not begin at zero:
/// the steps could not be seen.
const MIN_COVERED_FRACTION: f64 = 0.25;

/// The steps of one benchmark.
pub struct Waterfall {
    pub caption: String,
    /// The drawing in words.
    pub description: String,
    pub steps: Vec<Step>,
}

/// A total, or the difference of a category.
pub struct Step {
    pub name: &'static str,
    pub style: &'static str,
    /// Whether the category has fewer slots than in the baseline.
    pub shrinks: bool,
    /// Where it begins and how long it is, in percent of the space.
    pub left: String,
    pub width: String,
    /// Slots of a total, or the difference in percent of the baseline's.
    pub amount: String,
}

impl Waterfall {
    /// Returns `None` for a benchmark without categories, and for an unchanged one, whose steps
    /// would show noise.
    pub fn new(verdict: &BenchmarkVerdict) -> Option<Waterfall> {
        let whole = verdict.effect(Metric::Slots)?;
        let categories: Vec<(Metric, f64)> = verdict
            .effects
            .iter()
            .filter(|effect| effect.metric.is_category())
            .map(|effect| (effect.metric, effect.difference))
            .collect();
        if categories.is_empty() || verdict.verdict == Verdict::Unchanged {
            return None;
        }
        // In units of the baseline's slots.
        let mut level = 1.0;
        let mut spans = vec![];
        for &(metric, difference) in &categories {
            spans.push((metric, difference, level));
            level += difference;
        }
        let candidate = 1.0 + whole.difference;
        let levels = || spans.iter().map(|(_, _, level)| *level).chain([candidate]);
        let low = levels().fold(f64::INFINITY, f64::min);
        let high = levels().fold(f64::NEG_INFINITY, f64::max);
        if !(low.is_finite() && high.is_finite() && high > 0.0) {
            return None;
        }
        let covered = high - low;
        let start = if covered < MIN_COVERED_FRACTION * high {
            (low - covered / 2.0).max(0.0)
        } else {
            0.0
        };
        let x = |level: f64| {
            let fraction = if high > start {
                (level - start) / (high - start)
            } else {
                1.0
            };
            100.0 * fraction.clamp(0.0, 1.0)
        };
        let step = |name, style, from: f64, to: f64, amount| Step {
            name,
            style,
            shrinks: to < from,
            left: format!("{:.3}", x(from.min(to))),
            width: format!("{:.3}", x(from.max(to)) - x(from.min(to))),
            amount,
        };
        let total = |name, level, amount| step(name, "total", start, level, slots(amount));
        let mut steps = vec![total("baseline", 1.0, whole.baseline)];
        steps.extend(spans.iter().map(|&(metric, difference, level)| {
            let amount = percent_change(difference);
            step(
                metric.name(),
                style_of(metric),
                level,
                level + difference,
                amount,
            )
        }));
        steps.push(total("candidate", candidate, whole.candidate));
        let cut = if start > 0.0 {
            format!("; the axis begins at {} % of the baseline", percent(start))
        } else {
            String::new()
        };
        let words = steps
            .iter()
            .map(|step| format!("{} {}", step.name, step.amount));
        Some(Waterfall {
            caption: format!("From the baseline to the candidate, by category{cut}"),
            description: words.collect::<Vec<_>>().join(", "),
            steps,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::examples::compared;
    use topdown_gate::scenario::{self, Planted, benchmark, timed};

    fn waterfall(baseline: [f64; 4], candidate: [f64; 4]) -> Option<Waterfall> {
        let run = |seed, categories: [f64; 4]| {
            let planted = Planted {
                seed,
                categories: categories.into(),
                deviation: 0.0,
                ..Planted::default()
            };
            scenario::run(vec![benchmark("sort", planted)])
        };
        let comparison = compared(&run(1, baseline), &run(1, candidate));
        Waterfall::new(&comparison.benchmarks[0])
    }

    /// Returns name, left, width and direction of each step, in whole percent.
    fn steps(waterfall: &Waterfall) -> Vec<(&'static str, f64, f64, bool)> {
        let rounded = |text: &str| text.parse::<f64>().unwrap().round();
        let steps = waterfall.steps.iter();
        steps
            .map(|step| {
                (
                    step.name,
                    rounded(&step.left),
                    rounded(&step.width),
                    step.shrinks,
                )
            })
            .collect()
    }

    #[test]
    fn each_step_starts_at_end_of_previous() {
        let waterfall = waterfall([0.0; 4], [0.0, 0.0, -0.1, 0.6]).unwrap();
        assert_eq!(
            steps(&waterfall),
            [
                ("baseline", 0.0, 67.0, false),
                ("retiring", 67.0, 0.0, false),
                ("bad speculation", 67.0, 0.0, false),
                ("frontend bound", 60.0, 7.0, true),
                ("backend bound", 60.0, 40.0, false),
                ("candidate", 0.0, 100.0, false),
            ]
        );
        assert_eq!(
            waterfall.caption,
            "From the baseline to the candidate, by category"
        );
        assert_eq!(
            waterfall.description,
            "baseline 1.000K, retiring 0.0 %, bad speculation 0.0 %, frontend bound -10.0 %, \
             backend bound +60.0 %, candidate 1.500K"
        );
    }

    #[test]
    fn axis_of_small_steps_is_truncated_with_a_note() {
        let waterfall = waterfall([0.0; 4], [0.0, 0.0, 0.0, 0.1]).unwrap();
        let found = steps(&waterfall);
        assert_eq!(found[0], ("baseline", 0.0, 33.0, false));
        assert_eq!(found[4], ("backend bound", 33.0, 67.0, false));
        assert!(
            waterfall
                .caption
                .ends_with("; the axis begins at 95.0 % of the baseline"),
            "{}",
            waterfall.caption
        );
    }

    #[test]
    fn unchanged_or_time_only_has_no_steps() {
        assert!(waterfall([0.0; 4], [0.0; 4]).is_none());
        let run = || scenario::run(vec![timed("read", Planted::default())]);
        let comparison = compared(&run(), &run());
        assert!(Waterfall::new(&comparison.benchmarks[0]).is_none());
    }
}
