//! Numbers as tools print them, in any locale.
//!
//! perf prints decimals by the user's locale: `100,00` in a German one. It never groups digits in
//! these formats.

use super::problem::{Lost, Problem};

/// The decimal separators of locales: `LC_NUMERIC` of glibc.
const DECIMAL_SEPARATORS: [char; 2] = [',', '\u{66b}'];

/// Returns the number that `text` is, with its decimal separator as a point; `None` if it is none,
/// or if `1,234` may be more than a thousand.
pub fn number(text: &str) -> Option<f64> {
    const GROUP: usize = 3;
    let text = text.trim();
    let Some((whole, decimals)) = text.split_once(DECIMAL_SEPARATORS) else {
        return text.parse().ok();
    };
    let is_digits = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    let is_clear = decimals.len() != GROUP && is_digits(decimals);
    let is_whole = is_digits(whole.trim_start_matches('-'));
    (is_clear && is_whole).then(|| format!("{whole}.{decimals}").parse().ok())?
}

/// Returns a metric, or that it has no value: tools divide by counts of zero.
///
/// # Errors
/// Returns the problem if the text is not a number.
pub fn metric(name: &str, text: &str) -> Result<Result<f64, Lost>, Problem> {
    let number =
        number(text).ok_or_else(|| not_a("a number", &format!("metric `{name}`"), text))?;
    Ok(match number.is_finite() {
        true => Ok(number),
        false => Err(Lost::Missing(text.trim().to_owned())),
    })
}

/// Returns the problem that `what` is not what was expected, with the remedy if a locale may be
/// the cause.
pub fn not_a(expected: &str, what: &str, text: &str) -> Problem {
    let text = text.trim();
    let has_comma = text.contains(DECIMAL_SEPARATORS);
    Problem::malformed(format!(
        "{what} is `{text}`, not {expected}{}",
        if has_comma { REMEDY } else { "" }
    ))
}

/// What to do about numbers that depend on the locale.
pub const REMEDY: &str = "; perf prints decimals by the locale: measure with `LC_ALL=C`";

/// Returns the largest possible rounding error of a number printed as `text`: half a unit of its
/// last digit.
pub fn rounding_of(text: &str) -> f64 {
    let is_decimal = |c: char| c == '.' || DECIMAL_SEPARATORS.contains(&c);
    match text.trim().split_once(is_decimal) {
        Some((_, digits)) => 0.5 * 10_f64.powi(-(digits.len().min(15) as i32)),
        None => 0.5,
    }
}

/// Returns a line of JSON with what perf writes wrongly made right, outside of strings: decimals of
/// the locale, a comma before a closing brace (perf 6.2 to 6.4), and `nan` or `inf` as a number.
pub fn repaired_json(line: &str) -> String {
    let mut repaired = String::with_capacity(line.len());
    let mut is_text = false;
    let mut rest = line;
    while let Some(c) = rest.chars().next() {
        let after = &rest[c.len_utf8()..];
        let word = rest.len()
            - rest
                .trim_start_matches(|c: char| c == '-' || c.is_alphabetic())
                .len();
        match c {
            '\\' if is_text => {
                repaired.push(c);
                let escaped = after.chars().next().map_or(0, char::len_utf8);
                repaired.push_str(&after[..escaped]);
                rest = &after[escaped..];
                continue;
            }
            '"' => {
                is_text = !is_text;
                repaired.push(c);
            }
            _ if is_text => repaired.push(c),
            _ if DECIMAL_SEPARATORS.contains(&c) && is_between_digits(&repaired, after) => {
                repaired.push('.');
            }
            ',' if after.trim_start().starts_with('}') => {}
            _ if is_not_finite(&rest[..word]) => {
                repaired.extend(["\"", &rest[..word], "\""]);
                rest = &rest[word..];
                continue;
            }
            _ => repaired.push(c),
        }
        rest = after;
    }
    repaired
}

fn is_between_digits(before: &str, after: &str) -> bool {
    before.ends_with(|c: char| c.is_ascii_digit())
        && after.starts_with(|c: char| c.is_ascii_digit())
}

fn is_not_finite(word: &str) -> bool {
    let word = word.trim_start_matches('-').to_ascii_lowercase();
    ["nan", "inf"].contains(&&*word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_of_every_locale_are_read() {
        for text in ["100.25", "100,25", "100\u{66b}25", " 100.25 "] {
            assert_eq!(number(text), Some(100.25), "{text}");
        }
        assert_eq!(number("18693525,000000"), Some(18_693_525.0));
        assert_eq!(number("-0,5"), Some(-0.5));
        assert_eq!(number("1e3"), Some(1000.0));
    }

    #[test]
    fn unclear_numbers_are_refused_with_the_remedy() {
        for text in ["1,234", "1,2,3", "1.000,5", ",5", "5,", "1,e3"] {
            assert_eq!(number(text), None, "{text}");
        }
        let refused = metric("m", "1,234").unwrap_err().to_string();
        assert!(refused.ends_with("measure with `LC_ALL=C`"), "{refused}");
        let refused = metric("m", "some").unwrap_err().to_string();
        assert_eq!(refused, "metric `m` is `some`, not a number");
    }

    #[test]
    fn metric_without_number_has_no_value() {
        for text in ["nan", "-nan", "NaN", "inf", "-inf"] {
            let missing = Lost::Missing(text.to_owned());
            assert_eq!(metric("m", text), Ok(Err(missing)));
        }
    }

    #[test]
    fn only_text_outside_strings_is_repaired() {
        let repaired = [
            (r#"{"a" : 100,00, "b" : 2}"#, r#"{"a" : 100.00, "b" : 2}"#),
            (r#"{"a" : 100,00, }"#, r#"{"a" : 100.00 }"#),
            (
                r#"{"a" : nan, "b" : -inf}"#,
                r#"{"a" : "nan", "b" : "-inf"}"#,
            ),
            (r#"{"a" : null, "b" : true}"#, r#"{"a" : null, "b" : true}"#),
            (r#"{"1,2, }" : "\"3,4 nan"}"#, r#"{"1,2, }" : "\"3,4 nan"}"#),
            (r#"{"é" : 1٫5}"#, r#"{"é" : 1.5}"#),
        ];
        for (line, expected) in repaired {
            assert_eq!(repaired_json(line), expected);
        }
    }

    #[test]
    fn rounding_is_half_of_the_last_digit() {
        assert_eq!(rounding_of("1.25"), 0.005);
        assert_eq!(rounding_of("1,25"), 0.005);
        assert_eq!(rounding_of("125"), 0.5);
    }
}
