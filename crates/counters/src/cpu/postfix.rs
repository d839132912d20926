//! Formulas in an easily parsed text form: numbers, counts and operators in postfix notation.
//!
//! `#1 #2 / 100 *` is the count of event 1 divided by that of event 2, times 100.

use std::fmt;
use std::str::FromStr;

use super::{Counts, MAX_EVENTS};

/// The maximum depth of the stack: more than any formula needs.
const DEEPEST: usize = 32;

/// A formula over the counts of a group.
#[derive(Clone, Debug, PartialEq)]
pub struct Postfix(Vec<Step>);

#[derive(Clone, Copy, Debug, PartialEq)]
enum Step {
    Number(f64),
    /// The count of the event at this position in the group.
    Count(usize),
    Add,
    Subtract,
    Multiply,
    Divide,
}

impl Postfix {
    /// Returns the value for some counts, or NaN if 0 is divided by 0.
    #[inline]
    pub fn value(&self, counts: &Counts) -> f64 {
        let mut values = [0.0; DEEPEST];
        let mut depth = 0;
        for step in &self.0 {
            let operate = |operator: fn(f64, f64) -> f64| {
                (depth - 2, operator(values[depth - 2], values[depth - 1]))
            };
            let (location, value) = match step {
                Step::Number(number) => (depth, *number),
                Step::Count(location) => (depth, counts.at(*location)),
                Step::Add => operate(|left, right| left + right),
                Step::Subtract => operate(|left, right| left - right),
                Step::Multiply => operate(|left, right| left * right),
                Step::Divide => operate(|left, right| left / right),
            };
            values[location] = value;
            depth = location + 1;
        }
        values[0]
    }
}

impl FromStr for Postfix {
    type Err = String;

    /// Accepts only formulas that can be computed; `value` relies on that.
    #[inline]
    fn from_str(text: &str) -> Result<Postfix, String> {
        let mut depth = 0_usize;
        let mut steps = Vec::new();
        for word in text.split(' ') {
            let step = Step::from_word(word).ok_or_else(|| format!("`{word}` is not expected"))?;
            depth = match step {
                Step::Number(_) | Step::Count(_) => depth + 1,
                _ if depth < 2 => return Err(format!("`{word}` lacks a value")),
                _ => depth - 1,
            };
            if depth > DEEPEST {
                return Err(format!("more than {DEEPEST} values wait for an operator"));
            }
            steps.push(step);
        }
        match depth {
            1 => Ok(Postfix(steps)),
            _ => Err("an operator is missing".to_owned()),
        }
    }
}

impl Step {
    #[inline]
    fn from_word(word: &str) -> Option<Step> {
        Some(match word {
            "+" => Step::Add,
            "-" => Step::Subtract,
            "*" => Step::Multiply,
            "/" => Step::Divide,
            _ => match word.strip_prefix('#') {
                Some(location) => Step::Count(
                    location
                        .parse()
                        .ok()
                        .filter(|location| *location < MAX_EVENTS)?,
                ),
                None => Step::Number(word.parse().ok()?),
            },
        })
    }
}

impl fmt::Display for Postfix {
    /// Writes the format that `from_str` reads.
    #[inline]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, step) in self.0.iter().enumerate() {
            if at > 0 {
                f.write_str(" ")?;
            }
            match step {
                Step::Number(number) => write!(f, "{number}")?,
                Step::Count(location) => write!(f, "#{location}")?,
                Step::Add => f.write_str("+")?,
                Step::Subtract => f.write_str("-")?,
                Step::Multiply => f.write_str("*")?,
                Step::Divide => f.write_str("/")?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cpu::Event;

    static EVENTS: &[Event] = &[Event::general("A", 1), Event::general("B", 2)];

    fn value(text: &str) -> Result<f64, String> {
        let formula: Postfix = text.parse()?;
        assert_eq!(formula.to_string().parse(), Ok(formula.clone()));
        Ok(formula.value(&Counts::new(EVENTS, [10, 4], 1)))
    }

    #[test]
    fn operators_follow_their_values() {
        assert_eq!(value("#0"), Ok(10.0));
        assert_eq!(value("#0 #1 -"), Ok(6.0));
        assert_eq!(value("100 #0 #1 - * #0 2.5 #1 * + /"), Ok(30.0));
        assert!(value("#0 #0 - #1 #1 - /").unwrap().is_nan());
    }

    #[test]
    fn invalid_formula_is_rejected_by_parser() {
        let deep = "1 ".repeat(DEEPEST + 1) + "1";
        for text in [
            "", "+", "1 +", "1 2", "A", "#", "#12", "#-1", "1  2 +", &deep,
        ] {
            assert!(value(text).is_err(), "{text}");
        }
    }
}
