//! A sentence with the metric that bears it out.

use crate::number::percent;

/// A sentence that the numbers bear out.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Advice {
    /// What is wrong.
    pub cause: &'static str,
    /// What to try.
    pub remedy: &'static str,
    /// The metric that shows it.
    pub metric: &'static str,
    /// Its value.
    pub value: f64,
    /// Its unit.
    pub unit: &'static str,
    /// The values for which the sentence is true.
    pub limit: Limit,
}

/// Which values of a metric bear out a sentence.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Limit {
    /// These and larger ones.
    AtLeast(f64),
    /// These and smaller ones.
    AtMost(f64),
}

impl Limit {
    pub fn number(self) -> f64 {
        match self {
            Limit::AtLeast(number) | Limit::AtMost(number) => number,
        }
    }

    /// Returns whether `value` is one of these.
    pub fn holds(self, value: f64) -> bool {
        match self {
            Limit::AtLeast(least) => value >= least,
            Limit::AtMost(most) => value <= most,
        }
    }
}

impl Advice {
    /// Returns the sentence, with the metric and its limit beside the cause.
    pub fn sentence(&self) -> String {
        let (side, number) = match self.limit {
            Limit::AtLeast(least) => ("at least", least),
            Limit::AtMost(most) => ("at most", most),
        };
        let percent = if self.unit.starts_with('%') { " %" } else { "" };
        format!(
            "{} ({} {}{percent}, {side} {number}{percent}): {}.",
            self.cause,
            self.metric,
            in_words(self.unit, Some(self.value)),
            self.remedy
        )
    }
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
