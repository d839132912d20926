//! A comparison or a run as one HTML file for a browser: it fetches nothing and works without
//! scripts, in light and dark, on a phone and with a screen reader.
//!
//! `templates/` holds the pages; this module makes their texts, lengths and positions from finished
//! results.

mod bisection;
#[cfg(test)]
mod browser;
mod chart;
mod commit;
mod comparison;
mod comparison_row;
mod flame_graph;
mod functions;
mod history;
mod listing;
mod ranking;
mod run;
mod waterfall;

pub use bisection::write_bisection;
pub use comparison::write_comparison;
pub use listing::{NamedPage, comparison_pages, listing_pages};
pub use ranking::write_ranking;
pub use run::write_run;

use topdown_gate::metric::Metric;

/// A category in the legend.
struct LegendEntry {
    name: &'static str,
    style: &'static str,
    is_category: bool,
}

/// One stacked bar.
struct Bar {
    /// Its length in percent of the space.
    width: String,
    parts: Vec<BarPart>,
    /// The bar in words.
    description: String,
}

struct BarPart {
    style: &'static str,
    /// Its length in any unit.
    weight: String,
    title: String,
    /// Its text, if it is long enough for any.
    label: String,
}

impl Bar {
    /// Makes a bar called `name` of `amounts`, in which `longest` fills the space. Negative
    /// amounts, which resolution can cause, have no length.
    fn new(name: &str, amounts: &[(Metric, f64)], longest: f64) -> Bar {
        /// Text in shorter parts would not be readable.
        const MIN_LABELLED_FRACTION: f64 = 0.08;
        let total: f64 = amounts.iter().map(|(_, amount)| amount.max(0.0)).sum();
        let ratio = |amount: f64, whole: f64| if whole > 0.0 { amount / whole } else { 0.0 };
        let parts: Vec<BarPart> = amounts
            .iter()
            .filter(|(_, amount)| *amount > 0.0)
            .map(|&(metric, amount)| {
                let percent = format!("{:.1} %", 100.0 * ratio(amount, total));
                let is_whole = !metric.is_category();
                let is_long = ratio(amount, longest) >= MIN_LABELLED_FRACTION;
                BarPart {
                    style: style_of(metric),
                    weight: format!("{:.5}", ratio(amount, total)),
                    title: if is_whole {
                        metric.name().to_owned()
                    } else {
                        format!("{} {percent}", metric.name())
                    },
                    label: if is_long && !is_whole {
                        format!("{:.0} %", 100.0 * ratio(amount, total))
                    } else {
                        String::new()
                    },
                }
            })
            .collect();
        Bar {
            width: format!("{:.3}", 100.0 * ratio(total, longest)),
            description: {
                let parts: Vec<&str> = parts.iter().map(|part| &*part.title).collect();
                format!("{name}: {}", parts.join(", "))
            },
            parts,
        }
    }
}

/// Returns the CSS class that colours a metric.
fn style_of(metric: Metric) -> &'static str {
    match metric {
        Metric::Retiring => "retiring",
        Metric::BadSpeculation => "bad-speculation",
        Metric::FrontendBound => "frontend-bound",
        Metric::BackendBound => "backend-bound",
        Metric::SmtContention => "smt-contention",
        Metric::Slots | Metric::Wall => "total",
    }
}

/// Returns the legend for the metrics that `uses` selects.
fn legend(uses: impl Fn(Metric) -> bool) -> Vec<LegendEntry> {
    let categories = Metric::ALL
        .into_iter()
        .filter(|metric| metric.is_category() && uses(*metric));
    let mut legend: Vec<LegendEntry> = categories
        .map(|metric| LegendEntry {
            name: metric.name(),
            style: style_of(metric),
            is_category: true,
        })
        .collect();
    if uses(Metric::Wall) {
        legend.push(LegendEntry {
            name: "time, where there are no slots",
            style: style_of(Metric::Wall),
            is_category: false,
        });
    }
    legend
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_are_proportional_and_never_negative() {
        let bar = Bar::new(
            "a",
            &[
                (Metric::Retiring, 30.0),
                (Metric::BadSpeculation, -1.0),
                (Metric::FrontendBound, 1.0),
                (Metric::BackendBound, 19.0),
            ],
            100.0,
        );
        assert_eq!(
            bar.description,
            "a: retiring 60.0 %, frontend bound 2.0 %, backend bound 38.0 %"
        );
        assert_eq!(bar.width, "50.000");
        let parts: Vec<_> = bar
            .parts
            .iter()
            .map(|part| (part.style, &*part.weight, &*part.label))
            .collect();
        assert_eq!(
            parts,
            [
                ("retiring", "0.60000", "60 %"),
                ("frontend-bound", "0.02000", ""),
                ("backend-bound", "0.38000", "38 %"),
            ]
        );
    }

    #[test]
    fn zero_has_no_bar() {
        let bar = Bar::new("a", &[(Metric::Slots, 0.0)], 0.0);
        assert_eq!(bar.width, "0.000");
        assert!(bar.parts.is_empty());
    }
}
