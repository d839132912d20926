//! Numbers and paragraphs of a comparison.

use std::io::{self, Write};

/// `+8.3 %` of a fraction.
pub fn percent(fraction: f64) -> String {
    format!("{} %", points(fraction))
}

/// `+8.3` of a fraction, in percent or percentage points.
pub fn points(fraction: f64) -> String {
    let rounded = format!("{:+.1}", fraction * 100.0);
    // What rounds to zero has no sign.
    match rounded.as_str() {
        "-0.0" | "+0.0" => "0.0".to_owned(),
        _ => rounded,
    }
}

/// Paragraphs whose later lines are indented.
#[derive(Clone, Copy, Debug)]
pub struct Hanging {
    /// Columns of a line.
    pub width: usize,
}

impl Hanging {
    /// Writes `lead`, which is `indent` columns wide, and `text` beside it.
    pub fn write(
        &self,
        out: &mut impl Write,
        lead: &str,
        indent: usize,
        text: &str,
    ) -> io::Result<()> {
        write!(out, "{lead}")?;
        let mut column = indent;
        for (index, word) in text.split(' ').enumerate() {
            let length = word.chars().count();
            if index > 0 {
                // A number and its percent sign stay together.
                if column + 1 + length > self.width && !word.starts_with('%') {
                    write!(out, "\n{:indent$}", "")?;
                    column = indent;
                } else {
                    write!(out, " ")?;
                    column += 1;
                }
            }
            write!(out, "{word}")?;
            column += length;
        }
        writeln!(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zero_has_no_sign() {
        assert_eq!(percent(-0.0001), "0.0 %");
        assert_eq!(percent(0.083), "+8.3 %");
        assert_eq!(points(-0.5), "-50.0");
    }

    #[test]
    fn later_lines_stand_under_the_first() {
        let mut out = Vec::new();
        Hanging { width: 12 }
            .write(&mut out, "note  ", 6, "one two three 5 %")
            .unwrap();
        let text = String::from_utf8(out).unwrap();
        assert_eq!(text, "note  one\n      two\n      three\n      5 %\n");
    }
}
