//! Advice as a sentence, and metrics as text.

use super::number::percent;
use topdown_explain::advice::{Advice, Limit};

/// Returns the sentence, with the metric and its limit beside the cause, and what an event costs.
pub fn sentence(advice: &Advice) -> String {
    let (side, number) = match advice.limit {
        Limit::AtLeast(min) => ("at least", min),
        Limit::AtMost(max) => ("at most", max),
    };
    let percent = if advice.unit.starts_with('%') {
        " %"
    } else {
        ""
    };
    let cost = match advice.cost {
        "" => String::new(),
        cost => format!(" Each costs {cost}."),
    };
    format!(
        "{} ({} {}{percent}, {side} {number}{percent}): {}.{cost}",
        advice.cause,
        advice.metric,
        in_words(advice.unit, Some(advice.value)),
        advice.remedy
    )
}

/// Formats a metric's value; `-` if its divisor is zero.
pub fn in_words(unit: &str, value: Option<f64>) -> String {
    match value {
        None => "-".to_owned(),
        Some(value) if unit.starts_with('%') => percent(value / 100.0),
        Some(value) if value.abs() >= 99.95 => format!("{value:.1}"),
        Some(value) => format!("{value:.3}"),
    }
}
