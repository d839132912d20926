//! The positions of marks in small charts.

use crate::number;
use topdown_gate::metric::Metric;
use topdown_gate::verdict::Interval;
use topdown_terminal::count_of;

/// The launches of one or two runs as dots on rails with a common scale.
pub struct LaunchChart {
    pub caption: String,
    /// The chart in words, for screen readers.
    pub description: String,
    pub rows: Vec<LaunchRow>,
    /// The values at the ends of the rails.
    pub low: String,
    pub high: String,
}

pub struct LaunchRow {
    pub name: &'static str,
    pub style: &'static str,
    pub dots: Vec<Dot>,
    /// The position of the mean, in percent of the rail.
    pub mean: Option<String>,
}

pub struct Dot {
    /// In percent of the rail.
    pub x: String,
    pub title: String,
}

/// The launches of one run.
pub struct LaunchSeries {
    pub name: &'static str,
    pub style: &'static str,
    /// Launch number and value.
    pub values: Vec<(u32, f64)>,
    pub mean: Option<f64>,
}

impl LaunchChart {
    /// Returns `None` if there is nothing to show.
    pub fn new(metric: Metric, series: Vec<LaunchSeries>) -> Option<LaunchChart> {
        let values = || series.iter().flat_map(|s| s.values.iter().map(|v| v.1));
        let low = values().fold(f64::INFINITY, f64::min);
        let high = values().fold(f64::NEG_INFINITY, f64::max);
        if !low.is_finite() || !high.is_finite() {
            return None;
        }
        // If all values are equal, they are in the middle.
        let (low, high) = if low < high {
            (low, high)
        } else {
            (low * 0.99, high * 1.01)
        };
        let x = |value: f64| {
            let fraction = if high > low {
                (value - low) / (high - low)
            } else {
                0.5
            };
            format!("{:.2}", 100.0 * fraction)
        };
        let unit = match metric {
            Metric::Wall => "time",
            _ => "slots",
        };
        let described: Vec<String> = series
            .iter()
            .map(|s| {
                let low = s.values.iter().map(|v| v.1).fold(f64::INFINITY, f64::min);
                let high = s.values.iter().map(|v| v.1).fold(0.0, f64::max);
                format!(
                    "{}: {} from {} to {}",
                    s.name,
                    count_of(s.values.len(), "launch"),
                    amount(metric, low),
                    amount(metric, high)
                )
            })
            .collect();
        let rows = series
            .iter()
            .map(|s| LaunchRow {
                name: s.name,
                style: s.style,
                dots: s
                    .values
                    .iter()
                    .map(|&(launch, value)| Dot {
                        x: x(value),
                        title: format!("launch {}: {}", launch + 1, amount(metric, value)),
                    })
                    .collect(),
                mean: s.mean.map(|mean| x(mean.clamp(low, high))),
            })
            .collect();
        Some(LaunchChart {
            caption: format!("Launches, {unit} per iteration"),
            description: described.join("; "),
            rows,
            low: amount(metric, low),
            high: amount(metric, high),
        })
    }
}

/// Formats an amount per iteration with its unit, if any.
pub fn amount(metric: Metric, value: f64) -> String {
    match metric {
        Metric::Wall => number::time_ns(value, false),
        _ => number::slots(value),
    }
}

/// An interval on a scale with zero in the middle.
pub struct IntervalPlot {
    pub low: String,
    pub high: String,
    pub point: String,
}

impl IntervalPlot {
    /// Plots on a scale from `-reach` to `reach`, mapped to 0 to 200; without an interval, only the
    /// point.
    pub fn new(difference: f64, interval: Option<&Interval>, reach: f64) -> IntervalPlot {
        let x = |value: f64| {
            let fraction = if reach > 0.0 { value / reach } else { 0.0 };
            format!("{:.1}", 100.0 + 98.0 * fraction.clamp(-1.0, 1.0))
        };
        IntervalPlot {
            low: x(interval.map_or(difference, |interval| interval.low)),
            high: x(interval.map_or(difference, |interval| interval.high)),
            point: x(difference),
        }
    }
}

/// A difference as a bar that begins at zero, in the middle.
pub struct DifferenceBar {
    pub left: String,
    pub width: String,
}

impl DifferenceBar {
    /// Draws on a scale from `-reach` to `reach`, mapped to 0 to 200.
    pub fn new(difference: f64, reach: f64) -> DifferenceBar {
        let fraction = if reach > 0.0 { difference / reach } else { 0.0 };
        let end = 100.0 * fraction.clamp(-1.0, 1.0);
        DifferenceBar {
            left: format!("{:.1}", 100.0 + end.min(0.0)),
            width: format!("{:.1}", end.abs()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(values: &[f64]) -> LaunchSeries {
        LaunchSeries {
            name: "baseline",
            style: "baseline",
            values: (0..).zip(values.iter().copied()).collect(),
            mean: None,
        }
    }

    #[test]
    fn dots_span_the_axis() {
        let chart = LaunchChart::new(Metric::Slots, vec![series(&[10.0, 20.0, 15.0])]).unwrap();
        let x: Vec<&str> = chart.rows[0].dots.iter().map(|dot| &*dot.x).collect();
        assert_eq!(x, ["0.00", "100.00", "50.00"]);
        assert_eq!((&*chart.low, &*chart.high), ("10.00", "20.00"));
        assert_eq!(
            chart.description,
            "baseline: 3 launches from 10.00 to 20.00"
        );
    }

    #[test]
    fn equal_launches_are_centred() {
        let chart = LaunchChart::new(Metric::Wall, vec![series(&[10.0, 10.0])]).unwrap();
        assert_eq!(chart.rows[0].dots[0].x, "50.00");
        let chart = LaunchChart::new(Metric::Wall, vec![series(&[0.0])]).unwrap();
        assert_eq!(chart.rows[0].dots[0].x, "50.00");
    }

    #[test]
    fn missing_launches_have_no_chart() {
        assert!(LaunchChart::new(Metric::Slots, vec![series(&[])]).is_none());
        assert!(LaunchChart::new(Metric::Slots, vec![series(&[f64::NAN])]).is_none());
    }

    #[test]
    fn interval_stays_on_its_axis() {
        let interval = Interval {
            low: -0.1,
            high: 0.05,
            simultaneous: false,
            confidence: 0.95,
        };
        let plot = IntervalPlot::new(0.02, Some(&interval), 0.05);
        assert_eq!(
            (&*plot.low, &*plot.point, &*plot.high),
            ("2.0", "139.2", "198.0")
        );
    }

    #[test]
    fn difference_starts_at_the_centre() {
        let ends = |difference| {
            let bar = DifferenceBar::new(difference, 0.5);
            (bar.left, bar.width)
        };
        assert_eq!(ends(0.25), ("100.0".to_owned(), "50.0".to_owned()));
        assert_eq!(ends(-0.5), ("0.0".to_owned(), "100.0".to_owned()));
        assert_eq!(ends(-9.0), ("0.0".to_owned(), "100.0".to_owned()));
    }
}
