//! Values of the formulas in vendors' metric files.

use super::Result;

/// Computes a formula, in which `value_of` gives the value of each name. What it does not know is
/// not a number, and neither is what depends on it.
///
/// Understands numbers, `+ - * / ( )`, `min`, `max`, `d_ratio`, and `A if B > C else D`.
pub fn value(formula: &str, value_of: &dyn Fn(&str) -> f64) -> Result<f64> {
    let mut parser = Parser {
        rest: formula,
        value_of,
    };
    let value = parser.choice()?;
    match parser.rest.trim() {
        "" => Ok(value),
        rest => Err(format!("`{rest}` of `{formula}` is not expected")),
    }
}

struct Parser<'a> {
    rest: &'a str,
    value_of: &'a dyn Fn(&str) -> f64,
}

impl<'a> Parser<'a> {
    fn choice(&mut self) -> Result<f64> {
        let value = self.comparison()?;
        if !self.takes_word("if") {
            return Ok(value);
        }
        let condition = self.comparison()?;
        if !self.takes_word("else") {
            return Err("`if` has no `else`".to_owned());
        }
        let otherwise = self.choice()?;
        Ok(if condition != 0.0 { value } else { otherwise })
    }

    /// Takes `A`, `A > B` or `A >= B`, also with a space inside of `>=`. What is true is 1.
    fn comparison(&mut self) -> Result<f64> {
        let first = self.sum()?;
        if !self.takes(">") {
            return Ok(first);
        }
        let may_be_equal = self.takes("=");
        let second = self.sum()?;
        let holds = first > second || may_be_equal && first == second;
        Ok(f64::from(u8::from(holds)))
    }

    fn sum(&mut self) -> Result<f64> {
        let mut value = self.product()?;
        loop {
            value = match () {
                () if self.takes("+") => value + self.product()?,
                () if self.takes("-") => value - self.product()?,
                () => return Ok(value),
            };
        }
    }

    fn product(&mut self) -> Result<f64> {
        let mut value = self.factor()?;
        loop {
            value = match () {
                () if self.takes("*") => value * self.factor()?,
                () if self.takes("/") => value / self.factor()?,
                () => return Ok(value),
            };
        }
    }

    fn factor(&mut self) -> Result<f64> {
        if self.takes("(") {
            let value = self.choice()?;
            return self.closed(value);
        }
        let name = self.name();
        if let Ok(number) = name.parse() {
            return Ok(number);
        }
        if name.is_empty() {
            return Err(format!("`{}` does not begin with a value", self.rest));
        }
        if !matches!(name, "min" | "max" | "d_ratio") || !self.takes("(") {
            return Ok((self.value_of)(name));
        }
        let first = self.choice()?;
        if !self.takes(",") {
            return Err(format!("`{name}` needs two values"));
        }
        let second = self.choice()?;
        self.closed(match name {
            "d_ratio" if second == 0.0 => 0.0,
            "d_ratio" => first / second,
            // Unlike `f64::min`, these keep what is not a number.
            "min" if first > second => second,
            "max" if first < second => second,
            _ => first + 0.0 * second,
        })
    }

    fn closed(&mut self, value: f64) -> Result<f64> {
        match self.takes(")") {
            true => Ok(value),
            false => Err(format!("a bracket is open before `{}`", self.rest)),
        }
    }

    fn takes(&mut self, symbol: &str) -> bool {
        let rest = self.rest.trim_start().strip_prefix(symbol);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn takes_word(&mut self, word: &str) -> bool {
        let before = self.rest;
        let takes = self.name() == word;
        if !takes {
            self.rest = before;
        }
        takes
    }

    /// Takes a name or a number. Perf's way to name an event with fields, `cpu@EVENT\,FIELD\=1@`,
    /// is one name.
    fn name(&mut self) -> &'a str {
        let text = self.rest.trim_start();
        let mut in_fields = false;
        let end = text.find(|character: char| {
            in_fields ^= character == '@';
            let is_plain = character.is_ascii_alphanumeric() || "._:#@".contains(character);
            !is_plain && !in_fields
        });
        let (name, rest) = text.split_at(end.unwrap_or(text.len()));
        self.rest = rest;
        name
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value_of(formula: &str) -> f64 {
        let names = |name: &str| match name {
            "a" => 8.0,
            "b.c" => 2.0,
            r"cpu@d\,cmask\=0x6@" => 5.0,
            _ => f64::NAN,
        };
        value(formula, &names).unwrap()
    }

    #[test]
    fn operators_bind_as_in_arithmetic() {
        assert_eq!(value_of("100 * ( a - b.c * 3 ) / 4"), 50.0);
        assert_eq!(value_of("a - b.c - 1"), 5.0);
        assert_eq!(value_of("max( 1 - a , 0 ) + min(a, b.c)"), 2.0);
        assert_eq!(value_of(r"d_ratio((6 * cpu@d\,cmask\=0x6@), a)"), 3.75);
        assert_eq!(value_of("d_ratio(a, a - 8)"), 0.0);
    }

    #[test]
    fn unknown_name_matters_where_it_is_used() {
        assert!(value_of("a + unknown").is_nan());
        assert!(value_of("max( unknown , 0 )").is_nan());
        assert!(value_of("min( a , unknown )").is_nan());
        assert_eq!(value_of("( unknown / 2 ) if b.c - 2 else ( a )"), 8.0);
        assert_eq!(value_of("1 if ( a - b.c > = 6 ) else 2"), 1.0);
        assert_eq!(value_of("1 if a > 8 else 2"), 2.0);
        assert!(value("( a", &|_| 0.0).is_err());
        assert!(value("a b", &|_| 0.0).is_err());
    }
}
