//! Outcome of a run: one word for later steps, and a summary if no report was written.

use std::fmt;

use crate::exit::Exit;

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// Compared, and nothing failed.
    Passed,
    /// Not compared, as the inputs say.
    Measured,
    Regressed,
    BenchFailed,
    NotComparable,
    Inconclusive,
    NothingDecided,
    UsageError,
    Interrupted,
    /// With a code that this program does not use.
    Crashed,
}

impl Ending {
    const ALL: [Ending; 10] = [
        Ending::Passed,
        Ending::Measured,
        Ending::Regressed,
        Ending::BenchFailed,
        Ending::NotComparable,
        Ending::Inconclusive,
        Ending::NothingDecided,
        Ending::UsageError,
        Ending::Interrupted,
        Ending::Crashed,
    ];

    /// Returns the word in the output `outcome`.
    pub fn name(self) -> &'static str {
        match self {
            Ending::Passed => "passed",
            Ending::Measured => "measured",
            Ending::Regressed => "regressed",
            Ending::BenchFailed => "bench-failed",
            Ending::NotComparable => "not-comparable",
            Ending::Inconclusive => "inconclusive",
            Ending::NothingDecided => "nothing-decided",
            Ending::UsageError => "usage-error",
            Ending::Interrupted => "interrupted",
            Ending::Crashed => "crashed",
        }
    }

    /// Returns the one with this word.
    pub fn named(name: &str) -> Option<Ending> {
        Ending::ALL.into_iter().find(|ending| ending.name() == name)
    }
}

/// The command that decided the outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Last {
    Bench,
    Compare,
}

impl fmt::Display for Last {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Last::Bench => "bench",
            Last::Compare => "compare",
        })
    }
}

/// The outcome of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// How it ended.
    pub ending: Ending,
    /// What the job ends with.
    pub exit_code: i32,
    /// Whether there was nothing to compare with, and the run becomes what later ones are compared
    /// with.
    pub becomes_baseline: bool,
    /// The last command that ran.
    pub last: Last,
}

impl Outcome {
    /// Makes one outcome of the exit codes of `bench` and, if it ran, `compare`.
    ///
    /// `against` means that `bench` itself compares; `saves` that the run becomes the baseline.
    pub fn of(bench: i32, compare: Option<i32>, against: bool, saves: bool) -> Outcome {
        let (code, last) = match compare {
            Some(code) => (code, Last::Compare),
            None => (bench, Last::Bench),
        };
        let compared = against || compare.is_some();
        let ending = match u8::try_from(code) {
            Ok(0) if compared => Ending::Passed,
            Ok(0) => Ending::Measured,
            Ok(code) if code == Exit::Usage.code() => Ending::UsageError,
            Ok(code) if code == Exit::Regressed.code() => Ending::Regressed,
            Ok(code) if code == Exit::BenchFailed.code() => Ending::BenchFailed,
            Ok(code) if code == Exit::NoComparison.code() => Ending::NotComparable,
            Ok(code) if code == Exit::Inconclusive.code() => Ending::Inconclusive,
            Ok(code) if code == Exit::NothingDecided.code() => Ending::NothingDecided,
            Ok(code) if code == Exit::Interrupted.code() => Ending::Interrupted,
            _ => Ending::Crashed,
        };
        // A run that becomes the baseline does not fail because there is none yet: it is the first,
        // or the first on a new machine or compiler. On a pull request the same is a failure: no
        // data never passes.
        let becomes_baseline = ending == Ending::NotComparable && last == Last::Compare && saves;
        Outcome {
            ending,
            exit_code: if becomes_baseline { 0 } else { code },
            becomes_baseline,
            last,
        }
    }

    /// Returns the summary of a run without a report, which quotes what the last command printed.
    pub fn summary(&self, printed: &str) -> String {
        if self.ending == Ending::Measured {
            return "TopDown: measured, not compared\n".to_owned();
        }
        let reason = if self.becomes_baseline {
            "The baseline cannot be compared with this run, which replaces it.".to_owned()
        } else {
            let Outcome {
                last, exit_code, ..
            } = self;
            format!("`cargo topdown {last}` ended with exit code {exit_code}:")
        };
        let ending = self.ending.name().replace('-', " ");
        format!("## TopDown: {ending}\n\n{reason}\n\n{}", quoted(printed))
    }
}

/// The longest quotation. The end is kept, since that is where the error is.
const MAX_QUOTATION_BYTES: usize = 16_000;

/// Quotes text of a program in Markdown: no tag, mention or link, and no end of the block.
pub fn quoted(text: &str) -> String {
    let start = text.len().saturating_sub(MAX_QUOTATION_BYTES);
    let start = (start..text.len()).find(|index| text.is_char_boundary(*index));
    let mut quoted = String::from("<pre>\n");
    for line in text[start.unwrap_or(text.len())..].lines() {
        for character in line.chars() {
            match character {
                '&' => quoted.push_str("&amp;"),
                '<' => quoted.push_str("&lt;"),
                '>' => quoted.push_str("&gt;"),
                ':' | '.' | '[' => quoted.push_str(&format!("&#{};", u32::from(character))),
                '\t' => quoted.push('\t'),
                other if other.is_control() => {}
                other => quoted.push(other),
            }
        }
        // An empty line would end the block.
        if line.trim().is_empty() {
            quoted.push_str("&#8203;");
        }
        quoted.push('\n');
    }
    quoted.push_str("</pre>\n");
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_exit_code_has_its_outcome() {
        for (code, name) in [
            (0, "passed"),
            (2, "usage-error"),
            (100, "regressed"),
            (101, "bench-failed"),
            (102, "not-comparable"),
            (103, "inconclusive"),
            (104, "nothing-decided"),
            (130, "interrupted"),
            (1, "crashed"),
            (139, "crashed"),
            (-1, "crashed"),
            (256, "crashed"),
        ] {
            let compared = Outcome::of(0, Some(code), false, false);
            assert_eq!((compared.ending.name(), compared.exit_code), (name, code));
            assert_eq!(compared.last, Last::Compare);
            let against = Outcome::of(code, None, true, false);
            assert_eq!((against.ending.name(), against.exit_code), (name, code));
            assert_eq!(against.last, Last::Bench);
            let measured = Outcome::of(code, None, false, false);
            let name = if code == 0 { "measured" } else { name };
            assert_eq!((measured.ending.name(), measured.exit_code), (name, code));
            assert_eq!(Ending::named(name), Some(measured.ending));
        }
        assert_eq!(Ending::named("success"), None);
    }

    #[test]
    fn only_future_baseline_passes_without_comparison() {
        let outcome = |bench, compare, saves| {
            let outcome = Outcome::of(bench, compare, false, saves);
            assert_eq!(outcome.ending, Ending::NotComparable);
            (outcome.becomes_baseline, outcome.exit_code)
        };
        assert_eq!(outcome(0, Some(102), true), (true, 0));
        assert_eq!(outcome(0, Some(102), false), (false, 102));
        // No run was made that could become it.
        assert_eq!(outcome(102, None, true), (false, 102));
        for code in [100, 103, 104] {
            let other = Outcome::of(0, Some(code), false, true);
            assert!(!other.becomes_baseline);
            assert_eq!(other.exit_code, code);
        }
    }

    #[test]
    fn summary_has_reason_for_missing_report() {
        assert_eq!(
            Outcome::of(0, None, false, true).summary("ignored"),
            "TopDown: measured, not compared\n"
        );
        assert_eq!(
            Outcome::of(101, None, false, true).summary("error: no\n"),
            "## TopDown: bench failed\n\n`cargo topdown bench` ended with exit code 101:\n\n\
             <pre>\nerror&#58; no\n</pre>\n"
        );
        assert_eq!(
            Outcome::of(0, Some(102), false, true).summary(""),
            "## TopDown: not comparable\n\nThe baseline cannot be compared with this run, which \
             replaces it.\n\n<pre>\n</pre>\n"
        );
    }

    #[test]
    fn program_output_stays_text() {
        let text = "could not compile `suite` <b>@user</b> https://example.com [x](y)\n\n\
                    &amp; \u{1b}[1mbold\r\u{7}\tend\n </pre>";
        assert_eq!(
            quoted(text),
            "<pre>\n\
             could not compile `suite` &lt;b&gt;@user&lt;/b&gt; https&#58;//example&#46;com \
             &#91;x](y)\n\
             &#8203;\n\
             &amp;amp; &#91;1mbold\tend\n \
             &lt;/pre&gt;\n\
             </pre>\n"
        );
    }

    #[test]
    fn end_of_long_text_is_kept() {
        let text = "ä".repeat(MAX_QUOTATION_BYTES) + "x\nthe error\n";
        let quoted = quoted(&text);
        assert!(quoted.starts_with("<pre>\nä"), "{}", &quoted[..20]);
        assert!(quoted.ends_with("the error\n</pre>\n"));
        assert!(quoted.len() < MAX_QUOTATION_BYTES + 20);
    }
}
