//! Formulas as Arm writes them: numbers and names with `+ - * /` and parentheses.

/// Maximum nesting of parentheses: deeper than in any formula, but safe for the stack.
const DEEPEST: usize = 64;

/// Converts a formula to postfix notation. `event` returns the replacement for a name, or why there
/// is none.
///
/// # Errors
/// Returns a description of the problem that quotes the offending text.
pub(super) fn to_postfix(
    text: &str,
    event: &mut dyn FnMut(&str) -> Result<String, String>,
) -> Result<String, String> {
    let mut parser = Parser {
        rest: text,
        event,
        depth: 0,
    };
    let postfix = parser.sum()?;
    match parser.rest.trim_start() {
        "" => Ok(postfix),
        rest => Err(format!("`{rest}` is not expected")),
    }
}

struct Parser<'text, 'event> {
    rest: &'text str,
    event: &'event mut dyn FnMut(&str) -> Result<String, String>,
    depth: usize,
}

impl Parser<'_, '_> {
    fn sum(&mut self) -> Result<String, String> {
        self.chain(&['+', '-'], Parser::product)
    }

    fn product(&mut self) -> Result<String, String> {
        self.chain(&['*', '/'], Parser::operand)
    }

    /// Parses operands joined by operators of equal precedence, which are left-associative.
    fn chain(
        &mut self,
        operators: &[char],
        operand: fn(&mut Self) -> Result<String, String>,
    ) -> Result<String, String> {
        let mut left = operand(self)?;
        while let Some(operator) = operators.iter().find(|sign| self.takes(**sign)) {
            let right = operand(self)?;
            left = format!("{left} {right} {operator}");
        }
        Ok(left)
    }

    fn operand(&mut self) -> Result<String, String> {
        if self.takes('(') {
            self.depth += 1;
            if self.depth > DEEPEST {
                return Err(format!("parentheses are nested more than {DEEPEST} deep"));
            }
            let inner = self.sum()?;
            self.depth -= 1;
            return if self.takes(')') {
                Ok(inner)
            } else {
                Err(format!("`)` is missing before `{}`", self.rest))
            };
        }
        let text = self.rest.trim_start();
        let end = text
            .find(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == '.'))
            .unwrap_or(text.len());
        let (word, rest) = text.split_at(end);
        self.rest = rest;
        if word.starts_with(|c: char| c.is_ascii_digit()) {
            match word.parse::<f64>() {
                Ok(_) => Ok(word.to_owned()),
                Err(_) => Err(format!("`{word}` is not a number")),
            }
        } else if word.is_empty() {
            Err(format!("a number or an event is missing before `{rest}`"))
        } else {
            (self.event)(word)
        }
    }

    /// Consumes `sign` if it comes next.
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
    use topdown_counters::cpu::{Counter, Counts, Event, Postfix};

    use super::*;

    static EVENTS: [Event; 2] = [event("A", 1), event("B", 2)];

    const fn event(name: &'static str, config: u64) -> Event {
        Event::new(name, config, Counter::General)
    }

    fn value(text: &str) -> Result<f64, String> {
        let mut event = |name: &str| match name {
            "A" => Ok("#0".to_owned()),
            "B" => Ok("#1".to_owned()),
            _ => Err(format!("no event {name}")),
        };
        let postfix: Postfix = to_postfix(text, &mut event)?.parse()?;
        Ok(postfix.value(&Counts::new(&EVENTS, [10, 4], 1)))
    }

    #[test]
    fn operators_have_usual_precedence() {
        assert_eq!(value("1 + 2 * 3"), Ok(7.0));
        assert_eq!(value("100 / 10 / 2 - 1 - 1"), Ok(3.0));
        assert_eq!(value("100*(A-B)/(A + 2.5*B )"), Ok(30.0));
        assert!(value("(A - A) / (B - B)").unwrap().is_nan());
    }

    #[test]
    fn invalid_formula_is_refused() {
        for text in ["", "1 +", "A B", "(A", "A)", "C", "1..2", "-A", "é", "* 2"] {
            assert!(value(text).is_err(), "{text}");
        }
        assert!(value(&"(".repeat(100_000)).is_err());
    }
}
