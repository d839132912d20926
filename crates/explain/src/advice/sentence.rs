//! A sentence with the metric that bears it out.

/// A sentence that the numbers bear out.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Advice {
    /// What is wrong.
    pub cause: &'static str,
    /// What to try.
    pub remedy: &'static str,
    /// What one of its events costs, and who says so; empty if the sentence is not about events.
    pub cost: &'static str,
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
    /// Returns the bound.
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
