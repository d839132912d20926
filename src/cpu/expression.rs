//! Formulas as text: numbers and names with `+ - * /` and parentheses.

use super::Counts;

/// A formula whose names are events of a group.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Expression {
    Number(f64),
    /// The event at this place of the group.
    Event(usize),
    Operation(Box<Expression>, Operator, Box<Expression>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operator {
    Add,
    Subtract,
    Multiply,
    Divide,
}

/// How deeply parentheses may be nested: more than in any formula, less than a stack can bear.
const DEEPEST: usize = 64;

impl Expression {
    /// Reads a formula. `event` gives each name its meaning, or says why it has none.
    ///
    /// # Errors
    /// What is wrong, with the part of the text that is.
    pub fn parse(
        text: &str,
        event: &mut dyn FnMut(&str) -> Result<Expression, String>,
    ) -> Result<Expression, String> {
        let mut parser = Parser {
            rest: text,
            event,
            depth: 0,
        };
        let expression = parser.sum()?;
        match parser.rest.trim_start() {
            "" => Ok(expression),
            rest => Err(format!("`{rest}` is not expected")),
        }
    }

    /// The sum of two events.
    pub fn sum_of(first: usize, second: usize) -> Expression {
        Expression::Operation(
            Box::new(Expression::Event(first)),
            Operator::Add,
            Box::new(Expression::Event(second)),
        )
    }

    /// The value for some counts; not a number where 0 is divided by 0.
    pub fn value(&self, counts: &Counts) -> f64 {
        match self {
            Expression::Number(number) => *number,
            Expression::Event(at) => counts.at(*at),
            Expression::Operation(left, operator, right) => {
                let (left, right) = (left.value(counts), right.value(counts));
                match operator {
                    Operator::Add => left + right,
                    Operator::Subtract => left - right,
                    Operator::Multiply => left * right,
                    Operator::Divide => left / right,
                }
            }
        }
    }
}

struct Parser<'text, 'event> {
    rest: &'text str,
    event: &'event mut dyn FnMut(&str) -> Result<Expression, String>,
    depth: usize,
}

impl Parser<'_, '_> {
    fn sum(&mut self) -> Result<Expression, String> {
        self.chain(
            &[('+', Operator::Add), ('-', Operator::Subtract)],
            Parser::product,
        )
    }

    fn product(&mut self) -> Result<Expression, String> {
        self.chain(
            &[('*', Operator::Multiply), ('/', Operator::Divide)],
            Parser::operand,
        )
    }

    /// Operands with operators of one rank between them, which group to the left.
    fn chain(
        &mut self,
        operators: &[(char, Operator)],
        operand: fn(&mut Self) -> Result<Expression, String>,
    ) -> Result<Expression, String> {
        let mut left = operand(self)?;
        while let Some((_, operator)) = operators.iter().find(|(sign, _)| self.takes(*sign)) {
            left = Expression::Operation(Box::new(left), *operator, Box::new(operand(self)?));
        }
        Ok(left)
    }

    fn operand(&mut self) -> Result<Expression, String> {
        if self.takes('(') {
            self.depth += 1;
            if self.depth > DEEPEST {
                return Err(format!("more than {DEEPEST} parentheses are nested"));
            }
            let inner = self.sum()?;
            self.depth -= 1;
            return match self.takes(')') {
                true => Ok(inner),
                false => Err(format!("`)` is missing before `{}`", self.rest)),
            };
        }
        let text = self.rest.trim_start();
        let end = text
            .find(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == '.'))
            .unwrap_or(text.len());
        let (word, rest) = text.split_at(end);
        self.rest = rest;
        if word.starts_with(|c: char| c.is_ascii_digit()) {
            let number = word.parse().map_err(|_| format!("`{word}` is no number"))?;
            Ok(Expression::Number(number))
        } else if word.is_empty() {
            Err(format!("a number or an event is missing before `{rest}`"))
        } else {
            (self.event)(word)
        }
    }

    /// Steps over `sign` if it comes next.
    fn takes(&mut self, sign: char) -> bool {
        match self.rest.trim_start().strip_prefix(sign) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cpu::Event;

    static EVENTS: &[Event] = &[Event::general("A", 1), Event::general("B", 2)];

    fn value(text: &str) -> Result<f64, String> {
        let mut event = |name: &str| match name {
            "A" => Ok(Expression::Event(0)),
            "B" => Ok(Expression::Event(1)),
            _ => Err(format!("no event {name}")),
        };
        let counts = Counts::new(EVENTS, [10, 4], 1);
        Ok(Expression::parse(text, &mut event)?.value(&counts))
    }

    #[test]
    fn operators_have_their_usual_rank_and_group_to_the_left() {
        assert_eq!(value("1 + 2 * 3"), Ok(7.0));
        assert_eq!(value("100 / 10 / 2 - 1 - 1"), Ok(3.0));
        assert_eq!(value("100*(A-B)/(A + 2.5*B )"), Ok(30.0));
        assert!(value("(A - A) / (B - B)").unwrap().is_nan());
    }

    #[test]
    fn what_is_no_formula_is_refused() {
        for text in ["", "1 +", "A B", "(A", "A)", "C", "1..2", "-A", "é", "* 2"] {
            assert!(value(text).is_err(), "{text}");
        }
        assert!(value(&"(".repeat(100_000)).is_err());
    }
}
