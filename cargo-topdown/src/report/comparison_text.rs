//! A comparison for people: the verdict, a sentence on each benchmark that changed, then the table.
//! Of many benchmarks alike, such as unchanged ones, only [`Detail::All`] has each.
//!
//! Styles are always written; the output stream removes them if unsuitable.

use std::io::{self, Write};

use criterion_topdown::run_file::BenchmarkId;

use super::comparison_table;
use super::names::Names;
use super::sentences::{self, Headline, remedy, run_in_few_words, run_in_short};
use super::style::{DIM, Look, WARNING, of_class};
use super::suite_notes::suite_notes;
use super::text::{Hanging, shortened};
use super::verdict_facts::facts;
use super::verdict_sentence::predicate;
use topdown_gate::verdict::{BenchmarkVerdict, Comparison, Verdict};

/// The most benchmarks of a non-failing verdict that get a sentence each, unless all do.
const MOST_SENTENCES: usize = 10;

/// How much a report says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detail {
    /// A sentence on each benchmark that changed, and the table.
    Sentences,
    /// All benchmarks in both, and all categories, functions and changed code, and the two runs in
    /// full.
    All,
}

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
    let text = Text {
        comparison,
        names: Names::new(comparison),
        detail,
        lines: Hanging { width: look.width },
        look,
    };
    text.headline(&mut out)?;
    text.differences(&mut out)?;
    text.sentences(&mut out)?;
    text.one_sided(&mut out)?;
    if comparison
        .benchmarks
        .iter()
        .any(BenchmarkVerdict::is_compared)
    {
        writeln!(out)?;
        comparison_table::write(comparison, detail, look, &mut out)?;
    }
    text.runs(&mut out)
}

struct Text<'a> {
    comparison: &'a Comparison,
    names: Names,
    detail: Detail,
    lines: Hanging,
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

    /// Writes a sentence on each benchmark that changed, those that fail first.
    fn sentences(&self, out: &mut impl Write) -> io::Result<()> {
        let mut is_first = true;
        for class in [
            Verdict::TimeDisagrees,
            Verdict::Regressed,
            Verdict::NotComparable,
            Verdict::Accepted,
            Verdict::Shifted,
            Verdict::Inconclusive,
            Verdict::Improved,
        ] {
            // If the runs as a whole are not comparable, the reason is stated once, above.
            if class == Verdict::NotComparable && !self.comparison.differences.is_empty() {
                continue;
            }
            let members = sentences::members(self.comparison, class);
            let shown = match class {
                Verdict::TimeDisagrees | Verdict::Regressed => members.len(),
                _ => self.most_named(),
            };
            for benchmark in members.iter().take(shown) {
                if std::mem::take(&mut is_first) {
                    writeln!(out)?;
                }
                let name = self.names.name(&benchmark.id);
                let name = shortened(&name, (self.look.width / 2).max(24), self.look.unicode);
                let style = of_class(class);
                let lead = format!("`{style}{name}{style:#}`");
                self.lines
                    .write_after(out, &lead, 4, &predicate(benchmark))?;
                if self.detail == Detail::All {
                    for fact in facts(benchmark, self.look.unicode) {
                        let lead = format!("    {DIM}-{DIM:#} ");
                        self.lines.write(out, &lead, 6, &fact)?;
                    }
                }
            }
            if members.len() > shown {
                self.more(members.len() - shown, class.name(), out)?;
            }
        }
        Ok(())
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
        let shown = self.most_named();
        for id in ids.iter().take(shown) {
            writeln!(out, "{WARNING}{word:<11}{WARNING:#}{}", self.names.name(id))?;
        }
        if ids.len() > shown {
            self.more(ids.len() - shown, word, out)?;
        }
        Ok(())
    }

    /// Of benchmarks that fail nothing.
    fn most_named(&self) -> usize {
        match self.detail {
            Detail::Sentences => MOST_SENTENCES,
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
    use super::Detail;
    use crate::report::examples::{
        compared, comparison_text, comparison_text_by, comparison_text_in, one_of_each,
    };
    use criterion_topdown::event::Events;
    use criterion_topdown::run_file::{Benchmark, Run};
    use topdown_gate::metric::Metric;
    use topdown_gate::policy::{Overrides, Policy, Subject};
    use topdown_gate::scenario::{
        self, Planted, allocating, benchmark, modelled, sampled, timed, with_a_grown_function,
        with_fingerprint, with_functions,
    };
    use topdown_gate::verdict::{LabelledRun, compare};

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

    #[test]
    fn intervals_of_what_the_model_sampled_are_explained() {
        let suite = |seed, slower: f64| -> Vec<Benchmark> {
            let planted = |backend| Planted {
                seed,
                categories: [0.0, 0.0, 0.0, backend].into(),
                ..Planted::default()
            };
            let mut suite = vec![modelled("exact", planted(0.0))];
            suite.push(sampled("long/slower", planted(slower)));
            suite.push(sampled("long/same", planted(0.0)));
            suite
        };
        let candidate = scenario::run(suite(2, 0.1));
        insta::assert_snapshot!(text(suite(1, 0.0), candidate, 80));
    }

    /// This many benchmarks that did not change.
    fn unchanged(count: usize, seed: u64) -> Vec<Benchmark> {
        let planted = Planted {
            seed,
            ..Planted::default()
        };
        let of = |n| modelled(&format!("same/{n:03}"), planted);
        (0..count).map(of).collect()
    }

    fn rows_of_unchanged(text: &str) -> usize {
        text.lines().filter(|l| l.starts_with("same/")).count()
    }

    #[test]
    fn of_a_large_suite_what_is_unchanged_is_counted() {
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
    fn a_table_of_up_to_twenty_benchmarks_has_all_of_them() {
        let of = |count| text(unchanged(count, 1), scenario::run(unchanged(count, 2)), 80);
        let few = of(20);
        assert_eq!(rows_of_unchanged(&few), 20, "{few}");
        insta::assert_snapshot!("nothing_changed_in_21", of(21));
    }

    #[test]
    fn in_full_every_benchmark_is_named() {
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
    fn time_alone_with_a_slower_machine() {
        let suite = |seed, factor: f64| -> Vec<Benchmark> {
            (0..12)
                .map(|n| {
                    let planted = Planted {
                        seed,
                        time_per_slot: if n == 3 { factor * factor } else { factor },
                        ..Planted::default()
                    };
                    timed(&format!("t{n}"), planted)
                })
                .collect()
        };
        let candidate = scenario::run(suite(2, 1.2));
        insta::assert_snapshot!(text(suite(1, 1.0), candidate, 60));
    }

    #[test]
    fn a_regression_names_the_functions_that_it_is_in() {
        let [before, after] = with_a_grown_function("parse");
        insta::assert_snapshot!(text(vec![before], scenario::run(vec![after]), 60));
    }

    #[test]
    fn the_same_code_is_unchanged_by_proof_and_functions_that_differ_are_named() {
        let side = |seed, is_candidate: bool| -> Vec<Benchmark> {
            let of = |index: u64| {
                let (time, backend_bound, data, code) = match (is_candidate, index) {
                    (true, 0) => (3.0, 0.0, 7, 5),
                    (true, 1) => (1.0, 0.1, 7, 6),
                    (true, 2) => (1.0, 0.1, 8, 5),
                    (true, 3) => (1.0, 0.1, 7, 5),
                    _ => (1.0, 0.0, 7, 5),
                };
                let planted = Planted {
                    seed,
                    time_per_slot: time,
                    categories: [0.0, 0.0, 0.0, backend_bound].into(),
                    ..Planted::default()
                };
                let cost = 350 + (1000.0 * backend_bound) as u64;
                let functions = [(Some("kernel"), None, [400, 100, 150, cost])];
                let benchmark = with_functions(modelled(&format!("m{index}"), planted), &functions);
                with_fingerprint(benchmark, data, &[("kernel", code), ("memcpy", 3)])
            };
            (0..12).map(of).collect()
        };
        let candidate = scenario::run(side(2, true));
        insta::assert_snapshot!(text(side(1, false), candidate, 60));
    }

    #[test]
    fn allocations_that_grew_are_told_beside_slots_and_may_fail() {
        let suite = |seed, slower: f64, times: [f64; 3]| -> Vec<Benchmark> {
            let planted = |backend| Planted {
                seed,
                launches: 2,
                categories: [0.0, 0.0, 0.0, backend].into(),
                ..Planted::default()
            };
            ["slower", "same", "fewer"]
                .into_iter()
                .zip([slower, 0.0, 0.0])
                .zip(times)
                .map(|((name, slower), times)| {
                    allocating(modelled(name, planted(slower)), times, 32.0 * times)
                })
                .collect()
        };
        let baseline = scenario::run(suite(1, 0.0, [1.0, 0.0, 2.0]));
        let candidate = scenario::run(suite(2, 0.05, [3.0, 1.0, 1.0]));
        insta::assert_snapshot!(
            "allocations_told",
            comparison_text(&baseline, &candidate, 80)
        );
        let gating = Policy::default().overridden_by(&Overrides {
            gate: Some(vec![Subject::Metric(Metric::Slots), Subject::Allocations]),
            ..Overrides::default()
        });
        let failing = comparison_text_by(&gating, &baseline, &candidate, 80);
        insta::assert_snapshot!("allocations_failing", failing);
        let mut uncounted = candidate.clone();
        for benchmark in uncounted.benchmarks.iter_mut().skip(1) {
            for launch in benchmark.slots_launches_mut() {
                launch.events = Events::NONE;
            }
        }
        let unknown = comparison_text_by(&gating, &baseline, &uncounted, 80);
        insta::assert_snapshot!("allocations_unknown", unknown);
    }

    #[test]
    fn a_modelled_suite_is_decided_exactly() {
        let suite = |seed, change: [f64; 4]| -> Vec<Benchmark> {
            ["slower", "shifted", "faster", "same"]
                .iter()
                .zip([change[0], change[1], change[2], change[3]])
                .map(|(name, backend)| {
                    let retiring = if *name == "shifted" { -backend } else { 0.0 };
                    let planted = Planted {
                        seed,
                        launches: 2,
                        categories: [retiring, 0.0, 0.0, backend].into(),
                        ..Planted::default()
                    };
                    modelled(name, planted)
                })
                .collect()
        };
        let candidate = scenario::run(suite(2, [0.021, 0.03, -0.04, 0.019]));
        insta::assert_snapshot!(text(suite(1, [0.0; 4]), candidate, 60));
    }

    #[test]
    fn a_suite_of_which_some_are_the_same_has_not_moved_as_a_whole() {
        let suite = |seed, backend| -> Vec<Benchmark> {
            (0..17)
                .map(|n| {
                    let planted = Planted {
                        seed,
                        launches: 2,
                        categories: [0.0, 0.0, 0.0, if n < 10 { backend } else { 0.0 }].into(),
                        ..Planted::default()
                    };
                    modelled(&format!("benchmark {n:02}"), planted)
                })
                .collect()
        };
        let text = text(suite(1, 0.0), scenario::run(suite(2, 0.6)), 100);
        assert!(text.contains("10 regressed, 7 unchanged"), "{text}");
        assert!(!text.contains("the whole suite moved"), "{text}");
    }

    #[test]
    fn a_small_suite_of_which_one_took_longer_at_flat_slots() {
        let suite = |seed, last: f64| -> Vec<Benchmark> {
            (0..6)
                .map(|n| {
                    let planted = Planted {
                        seed,
                        time_per_slot: if n == 5 { last } else { 1.0 },
                        ..Planted::default()
                    };
                    benchmark(&format!("b{n}"), planted)
                })
                .collect()
        };
        let candidate = scenario::run(suite(2, 1.25));
        insta::assert_snapshot!(text(suite(1, 1.0), candidate, 60));
    }

    #[test]
    fn what_was_inlined_and_what_has_no_name_is_said_as_people_do() {
        let side = |backend_bound: u64, seed| {
            let planted = Planted {
                seed,
                categories: [0.0, 0.0, 0.0, backend_bound as f64 / 1000.0].into(),
                ..Planted::default()
            };
            let functions = [
                (
                    Some("criterion::bencher::Bencher<M>::iter"),
                    None,
                    [300, 100, 150, 250 + backend_bound / 2],
                ),
                (None, Some("libc.so.6"), [98, 0, 0, 98 + backend_bound / 2]),
            ];
            with_functions(modelled("b", planted), &functions)
        };
        let candidate = scenario::run(vec![side(100, 2)]);
        insta::assert_snapshot!(text(vec![side(0, 1)], candidate, 60));
    }

    /// As on a published crate: slots −1.8 % exactly, time +758 %.
    #[test]
    fn modelled_slots_and_time_that_disagree() {
        let suite = |seed, name, change: &dyn Fn(usize) -> (f64, f64)| -> Vec<Benchmark> {
            (0..12)
                .map(|n| {
                    let (backend_bound, time_per_slot) = change(n);
                    let planted = Planted {
                        seed,
                        time_per_slot,
                        categories: [0.0, 0.0, 0.0, backend_bound].into(),
                        ..Planted::default()
                    };
                    // The last one runs the same code as before.
                    let name = if n == 11 { "suite::same" } else { name };
                    let whole = [400, 100, 150, 350];
                    let function = [(Some(name), None, whole)];
                    with_functions(modelled(&format!("b{n:02}"), planted), &function)
                })
                .collect()
        };
        let candidate = suite(2, "suite::new", &|n| match n {
            3 => (-0.018, 8.58 / 0.982),
            7 => (0.0, 1.15),
            9 => (0.03, 4.0),
            11 => (0.0, 2.0),
            _ => (0.0, 1.0),
        });
        let baseline = suite(1, "suite::old", &|_| (0.0, 1.0));
        insta::assert_snapshot!(text(baseline, scenario::run(candidate), 60));
    }

    #[test]
    fn all_are_slower_and_a_launch_of_the_baseline_went_wrong() {
        let side = |seed, slower: f64| -> Vec<Benchmark> {
            (0..12)
                .map(|n| {
                    let planted = Planted {
                        seed,
                        categories: [0.0, 0.0, 0.0, slower * f64::from(n) / 11.0].into(),
                        ..Planted::default()
                    };
                    benchmark(&format!("b{n:02}"), planted)
                })
                .collect()
        };
        let mut baseline = side(1, 0.0);
        baseline[11].slots_launches_mut()[4].slots *= 10.0;
        baseline[11].times.launches[4].wall_ns *= 10.0;
        insta::assert_snapshot!(text(baseline, scenario::run(side(2, 0.1)), 60));
    }

    #[test]
    fn two_benchmarks_of_time_alone_are_advice() {
        let side = |seed, factor| -> Vec<Benchmark> {
            let benchmark = |name| {
                let planted = Planted {
                    seed,
                    time_per_slot: factor,
                    ..Planted::default()
                };
                timed(name, planted)
            };
            ["parse", "sort"].map(benchmark).to_vec()
        };
        insta::assert_snapshot!(text(side(1, 1.0), scenario::run(side(2, 1.12)), 60));
    }

    #[test]
    fn a_suite_of_which_little_is_decided_has_not_simply_passed() {
        let suite = |seed, noisy: usize| -> Vec<Benchmark> {
            (0..16)
                .map(|n| {
                    // The noisy ones are identical on both sides, so they show no drift.
                    let (seed, deviation) = if n < noisy { (1, 0.15) } else { (seed, 0.004) };
                    let planted = Planted {
                        seed,
                        deviation,
                        ..Planted::default()
                    };
                    benchmark(&format!("b{n:02}"), planted)
                })
                .collect()
        };
        let first_line = |noisy| {
            let text = text(suite(1, noisy), scenario::run(suite(2, noisy)), 100);
            text.lines().next().unwrap_or_default().to_owned()
        };
        assert_eq!(
            first_line(14),
            "MOSTLY UNDECIDED: nothing regressed, but only 2 of 16 benchmarks (12 %) are decided"
        );
        assert_eq!(
            first_line(3),
            "PASSED: nothing regressed in 13 of 16 benchmarks (81 %) since `main`; 3 undecided"
        );
        assert_eq!(
            first_line(0),
            "PASSED: nothing regressed in 16 benchmarks since `main`"
        );
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

    #[test]
    fn json_holds_all_of_it() {
        let (baseline, candidate) = one_of_each();
        let baseline = scenario::run(baseline);
        let label = |label, run| LabelledRun { label, run };
        let policy = Policy::default();
        let comparison = compare(label("main", &baseline), label("new", &candidate), &policy);
        let mut out = Vec::new();
        super::super::comparison_json::write(&comparison, &mut out).unwrap();
        let json: serde_json::Value = serde_json::from_slice(&out).unwrap();
        assert_eq!(json["schema_version"], 1);
        assert_eq!(json["outcome"], "failed");
        assert_eq!(json["exit_code"], 100);
        let first = &json["benchmarks"][1];
        assert_eq!(first["verdict"], "inconclusive");
        assert_eq!(first["effects"][0]["metric"], "slots");
    }
}
