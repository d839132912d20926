//! A comparison for people: the verdict, the table, then sentences on what changed most.
//! [`Detail::All`] has a sentence on each benchmark that changed, and a row for each unchanged one.
//!
//! Styles are always written; the output stream removes them if unsuitable.

use std::io::{self, Write};

use topdown_run::run_file::BenchmarkId;

use super::comparison_table;
use super::detail::Detail;
use super::names::Names;
use super::sentence_groups::group_sentences;
use super::sentences::{self, Headline, remedy, run_in_few_words, run_in_short};
use super::style::{DIM, Look, WARNING, of_class};
use super::suite_notes::suite_notes;
use super::text::{HangingIndent, ShortNames};
use super::verdict_facts::facts;
use super::verdict_sentence::predicate;
use topdown_gate::verdict::{BenchmarkVerdict, Comparison, Verdict};

/// At most this many sentences are written for each verdict, unless all are.
const MAX_SENTENCES: usize = 3;
/// At most this many missing benchmarks are named, and as many new ones, unless all are.
const MAX_NAMES: usize = 10;

/// Writes `comparison` in lines as wide as `look`, unless names are longer.
///
/// # Errors
/// Returns an error if writing to `out` fails.
pub fn write(
    comparison: &Comparison,
    detail: Detail,
    look: Look,
    mut out: impl Write,
) -> io::Result<()> {
    let names = Names::new(comparison);
    let all = comparison.benchmarks.iter();
    let all: Vec<String> = all.map(|benchmark| names.name(&benchmark.id)).collect();
    let text = Text {
        comparison,
        names,
        short_names: ShortNames::new(
            all.iter().map(String::as_str),
            (look.width / 2).max(24),
            look.unicode,
        ),
        detail,
        lines: HangingIndent { width: look.width },
        look,
    };
    text.headline(&mut out)?;
    text.differences(&mut out)?;
    if comparison
        .benchmarks
        .iter()
        .any(BenchmarkVerdict::is_compared)
    {
        writeln!(out)?;
        comparison_table::write(comparison, detail, look, &mut out)?;
    }
    text.sentences(&mut out)?;
    text.one_sided(&mut out)?;
    text.runs(&mut out)
}

struct Text<'a> {
    comparison: &'a Comparison,
    names: Names,
    /// For sentences, which have more to say than the name.
    short_names: ShortNames,
    detail: Detail,
    lines: HangingIndent,
    look: Look,
}

impl Text<'_> {
    fn headline(&self, out: &mut impl Write) -> io::Result<()> {
        let Headline { word, class, rest } = sentences::headline(self.comparison);
        let style = of_class(class);
        let text = format!("{word}: {rest}");
        let text = text.replacen(word, &format!("{style}{word}{style:#}"), 1);
        self.lines.write(out, "", 0, &text)?;
        let counted = sentences::counted(&self.comparison.counts);
        if counted.len() > 1 {
            self.lines.write(out, "", 0, &counted.join(", "))?;
        }
        Ok(())
    }

    fn differences(&self, out: &mut impl Write) -> io::Result<()> {
        let (differences, warnings) = (&self.comparison.differences, &self.comparison.warnings);
        if !differences.is_empty() || !warnings.is_empty() {
            writeln!(out)?;
        }
        for difference in differences {
            self.lines
                .write(out, "differs    ", 11, &difference.to_string())?;
        }
        if let Some(remedy) = remedy(self.comparison) {
            self.lines.write(out, "try        ", 11, remedy)?;
        }
        for warning in warnings {
            let lead = format!("{WARNING}warning{WARNING:#}    ");
            self.lines.write(out, &lead, 11, &warning.to_string())?;
        }
        Ok(())
    }

    /// Writes sentences on what changed, those on what fails first.
    fn sentences(&self, out: &mut impl Write) -> io::Result<()> {
        let mut is_first = true;
        for class in [
            Verdict::TimeDisagrees,
            Verdict::Regressed,
            Verdict::NotComparable,
            Verdict::Accepted,
            Verdict::SometimesSlower,
            Verdict::Shifted,
            Verdict::Inconclusive,
            Verdict::Improved,
        ] {
            // If the runs as a whole are not comparable, the reason is stated once, above.
            if class == Verdict::NotComparable && !self.comparison.differences.is_empty() {
                continue;
            }
            let members = sentences::members(self.comparison, class);
            if !members.is_empty() && std::mem::take(&mut is_first) {
                writeln!(out)?;
            }
            match self.detail {
                Detail::Sentences => self.largest(class, &members, out)?,
                Detail::All => self.each(&members, out)?,
            }
        }
        Ok(())
    }

    /// Writes the sentences on the benchmarks of a class that changed most.
    fn largest(
        &self,
        class: Verdict,
        members: &[&BenchmarkVerdict],
        out: &mut impl Write,
    ) -> io::Result<()> {
        let style = of_class(class);
        let groups = group_sentences(members);
        let mut reported = 0;
        for group in groups.iter().take(MAX_SENTENCES) {
            let lead = match group.only() {
                Some(benchmark) => self.lead(benchmark),
                None => format!("{style}{}{style:#}", group.many()),
            };
            self.lines.write_after(out, &lead, 4, &group.predicate)?;
            reported += group.benchmarks.len();
        }
        if members.len() > reported {
            self.more(members.len() - reported, class.name(), out)?;
        }
        Ok(())
    }

    /// Writes a sentence on each of `members`, and what it leaves out.
    fn each(&self, members: &[&BenchmarkVerdict], out: &mut impl Write) -> io::Result<()> {
        for benchmark in members {
            let lead = self.lead(benchmark);
            self.lines
                .write_after(out, &lead, 4, &predicate(benchmark))?;
            for fact in facts(benchmark, self.look.unicode) {
                let lead = format!("    {DIM}-{DIM:#} ");
                self.lines.write(out, &lead, 6, &fact)?;
            }
        }
        Ok(())
    }

    /// Returns the subject of a benchmark's sentence.
    fn lead(&self, benchmark: &BenchmarkVerdict) -> String {
        let name = self.names.name(&benchmark.id);
        let name = self.short_names.of(&name);
        let style = of_class(benchmark.verdict);
        format!("`{style}{name}{style:#}`")
    }

    fn one_sided(&self, out: &mut impl Write) -> io::Result<()> {
        let (missing, new) = (&self.comparison.missing, &self.comparison.new);
        if !missing.is_empty() || !new.is_empty() {
            writeln!(out)?;
        }
        self.list("missing", missing, out)?;
        self.list("new", new, out)
    }

    fn list(&self, word: &str, ids: &[BenchmarkId], out: &mut impl Write) -> io::Result<()> {
        let shown = self.most_frequent();
        for id in ids.iter().take(shown) {
            writeln!(out, "{WARNING}{word:<11}{WARNING:#}{}", self.names.name(id))?;
        }
        if ids.len() > shown {
            self.more(ids.len() - shown, word, out)?;
        }
        Ok(())
    }

    /// Of benchmarks that fail nothing.
    fn most_frequent(&self) -> usize {
        match self.detail {
            Detail::Sentences => MAX_NAMES,
            Detail::All => usize::MAX,
        }
    }

    fn more(&self, count: usize, word: &str, out: &mut impl Write) -> io::Result<()> {
        let ellipsis = self.look.ellipsis();
        let them = if count == 1 { "it" } else { "them" };
        writeln!(out, "{ellipsis} and {count} more {word}; -v lists {them}")
    }

    fn runs(&self, out: &mut impl Write) -> io::Result<()> {
        writeln!(out)?;
        for (word, run) in [
            ("baseline ", &self.comparison.baseline),
            ("candidate", &self.comparison.candidate),
        ] {
            let run = match self.detail {
                Detail::Sentences => run_in_few_words(run),
                Detail::All => run_in_short(run),
            };
            self.lines.write(out, &format!("{word}  "), 11, &run)?;
        }
        for note in suite_notes(self.comparison) {
            self.lines.write(out, "note       ", 11, &note)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{Detail, Verdict, of_class};
    use crate::examples::{compared, comparison_text, comparison_text_in, one_of_each};
    use crate::shown::{terminal, written};
    use topdown_gate::scenario::{self, Planted, benchmark, modelled};
    use topdown_run::run_file::{Benchmark, Run};

    fn text(baseline: Vec<Benchmark>, candidate: Run, width: usize) -> String {
        comparison_text(&scenario::run(baseline), &candidate, width)
    }

    #[test]
    fn one_of_each_verdict_at_60_and_120_columns() {
        let (baseline, candidate) = one_of_each();
        let narrow = text(baseline.clone(), candidate.clone(), 60);
        insta::assert_snapshot!("one_of_each_60", narrow);
        insta::assert_snapshot!("one_of_each_120", text(baseline, candidate, 120));
        for line in narrow.lines() {
            assert!(line.chars().count() <= 60, "{line}");
        }
    }

    /// This many benchmarks that did not change.
    fn unchanged(count: usize, seed: u64) -> Vec<Benchmark> {
        let planted = Planted {
            seed,
            ..Planted::default()
        };
        let unchanged_at = |n| modelled(&format!("same/{n:03}"), planted);
        (0..count).map(unchanged_at).collect()
    }

    fn rows_of_unchanged(text: &str) -> usize {
        text.lines().filter(|l| l.starts_with("same/")).count()
    }

    #[test]
    fn unchanged_benchmarks_of_large_suites_are_counted() {
        let (mut baseline, mut candidate) = one_of_each();
        baseline.extend(unchanged(200, 1));
        candidate.benchmarks.extend(unchanged(200, 2));
        for width in [60, 160] {
            let name = format!("large_suite_{width}");
            insta::assert_snapshot!(name, text(baseline.clone(), candidate.clone(), width));
        }
        let baseline = scenario::run(baseline);
        let comparison = compared(&baseline, &candidate);
        let in_full = comparison_text_in(Detail::All, &comparison, 120);
        assert_eq!(rows_of_unchanged(&in_full), 200, "{in_full}");
        assert!(!in_full.contains("-v"), "{in_full}");
    }

    #[test]
    fn table_lists_up_to_twenty_benchmarks() {
        let text_on = |count| text(unchanged(count, 1), scenario::run(unchanged(count, 2)), 80);
        let few = text_on(20);
        assert_eq!(rows_of_unchanged(&few), 20, "{few}");
        insta::assert_snapshot!("nothing_changed_in_21", text_on(21));
    }

    #[test]
    fn full_report_lists_every_benchmark() {
        let baseline = scenario::run(unchanged(30, 1));
        let mut candidate = scenario::run(unchanged(60, 2));
        candidate.benchmarks.drain(..15);
        let comparison = compared(&baseline, &candidate);
        let text = comparison_text_in(Detail::Sentences, &comparison, 80);
        assert!(
            text.contains("\n… and 5 more missing; -v lists them\n"),
            "{text}"
        );
        assert!(
            text.contains("\n… and 20 more new; -v lists them\n"),
            "{text}"
        );
        let text = comparison_text_in(Detail::All, &comparison, 80);
        for n in 0..60 {
            assert!(text.contains(&format!("same/{n:03}")), "{n}: {text}");
        }
    }

    #[test]
    fn another_machine() {
        let one = || vec![benchmark("a", Planted::default())];
        let mut candidate = scenario::run(one());
        candidate.machine.model = 207;
        candidate.machine.hypervisor = Some("kvm".to_owned());
        insta::assert_snapshot!(text(one(), candidate, 60));
    }

    #[test]
    fn newer_compiler_on_default_branch_passes() {
        let one = || scenario::run(vec![benchmark("a", Planted::default())]);
        let mut candidate = one();
        candidate.build.rustc = "rustc 9.9.9".to_owned();
        let comparison = compared(&one(), &candidate).of_next_baseline();
        let look = terminal(60);
        let coloured = written(|out| super::write(&comparison, Detail::Sentences, look, out));
        let cyan = of_class(Verdict::Accepted);
        let says = format!("{cyan}NEW BASELINE{cyan:#}: nothing failed");
        assert!(coloured.starts_with(&says), "{coloured}");
        insta::assert_snapshot!(anstream::adapter::strip_str(&coloured).to_string());
    }

    #[test]
    fn one_launch_and_uncommitted_work() {
        let one = |seed| {
            let planted = Planted {
                launches: 1,
                seed,
                ..Planted::default()
            };
            vec![benchmark("a", planted), benchmark("b", planted)]
        };
        let mut candidate = scenario::run(one(2));
        candidate.machine.kernel = Some("6.14.0".to_owned());
        candidate.build.git_dirty = Some(true);
        insta::assert_snapshot!(text(one(1), candidate, 60));
    }
}
