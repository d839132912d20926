//! One verdict with everything it is based on, so that users can check it.

mod differences;
mod launches;
mod probability;
mod rules;

use std::io::{self, Write};

use topdown_run::run_file::Benchmark;

use super::difference;
use super::style::{self, HEADING, Look};
use super::text::HangingIndent;
use super::verdict_facts::facts;
use super::verdict_sentence::sentence;
use topdown_explain::difference::Difference;
use topdown_gate::verdict::Suite;

/// A verdict and its evidence.
pub struct Explanation<'a> {
    /// What the gate says about the benchmark, and what explains it.
    pub difference: Difference<'a>,
    /// What was learned from the suite.
    pub suite: &'a Suite,
    /// The benchmark in the baseline, for its launch values.
    pub baseline: &'a Benchmark,
    /// The benchmark in the candidate.
    pub candidate: &'a Benchmark,
}

/// Writes every step from launch values to the verdict.
///
/// # Errors
/// Returns an error if writing to `out` fails.
pub fn write(explanation: &Explanation<'_>, look: Look, out: &mut impl Write) -> io::Result<()> {
    let Explanation {
        difference,
        suite,
        baseline,
        candidate,
    } = explanation;
    let verdict = difference.verdict;
    let mut page = Page { out, look };
    let class = style::of_class(verdict.verdict);
    let name = verdict.verdict.name();
    page.line(&format!(
        "{HEADING}{}{HEADING:#}: {class}{name}{class:#}",
        verdict.id
    ))?;
    page.paragraph(&sentence(verdict, &verdict.id.name))?;
    let explaining = difference::facts(difference, look);
    for fact in facts(verdict, look.unicode).into_iter().chain(explaining) {
        HangingIndent { width: look.width }.write(page.out, "- ", 2, &fact)?;
    }
    page.heading("1. Launch values, per iteration")?;
    page.paragraph(
        "One value per launch: the sum over the middle half of its samples, divided by their \
         iterations.",
    )?;
    for (side, benchmark) in [("baseline", baseline), ("candidate", candidate)] {
        for table in launches::tables(side, benchmark) {
            table.write(page.out, look)?;
        }
    }
    let Some(evidence) = &verdict.evidence else {
        return Ok(());
    };
    page.heading("2. Differences and their uncertainty")?;
    differences::write(verdict, suite, evidence.method, &mut page)?;
    page.heading("3. Tests")?;
    differences::write_tests(verdict, suite, &mut page)?;
    page.heading("4. Verdict: the first rule that applies")?;
    match verdict.main_effect() {
        Some(total) => rules::table(verdict, evidence, total, look).write(page.out, look),
        None => Ok(()),
    }
}

struct Page<'a, W> {
    out: &'a mut W,
    look: Look,
}

impl<W: Write> Page<'_, W> {
    fn line(&mut self, text: &str) -> io::Result<()> {
        writeln!(self.out, "{text}")
    }

    fn heading(&mut self, text: &str) -> io::Result<()> {
        self.line(&format!("\n{HEADING}{text}{HEADING:#}"))
    }

    fn paragraph(&mut self, text: &str) -> io::Result<()> {
        let width = self.look.width;
        HangingIndent { width }.write(self.out, "", 0, text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::comparison_table;
    use crate::detail::Detail;
    use crate::examples::{compared, one_of_each};
    use crate::shown::{self, terminal};
    use topdown_gate::policy::{AcceptedChange, Policy};
    use topdown_gate::scenario::{self, Planted, benchmark, modelled, timed};
    use topdown_gate::verdict::rules::RULES;
    use topdown_gate::verdict::{
        BenchmarkVerdict, Comparison, LabelledRun, Rule, Verdict, compare,
    };
    use topdown_run::run_file::Run;

    fn text(baseline: Vec<Benchmark>, candidate: Vec<Benchmark>, width: usize) -> String {
        let (baseline, candidate) = (scenario::run(baseline), scenario::run(candidate));
        let comparison = compared(&baseline, &candidate);
        explained(&comparison, 0, [&baseline, &candidate], width)
    }

    fn explained(comparison: &Comparison, nth: usize, runs: [&Run; 2], width: usize) -> String {
        let verdict = &comparison.benchmarks[nth];
        let [baseline, candidate] = runs.map(|run| {
            let mut benchmarks = run.benchmarks.iter();
            benchmarks.find(|b| b.id == verdict.id).unwrap()
        });
        let explanation = Explanation {
            difference: Difference::new(verdict, comparison, runs),
            suite: &comparison.suite,
            baseline,
            candidate,
        };
        shown::shown(|out| write(&explanation, terminal(width), out))
    }

    /// Returns the verdict of the marked rule, and the one in the table.
    fn shown(comparison: &Comparison, nth: usize, runs: [&Run; 2]) -> [String; 2] {
        let explanation = explained(comparison, nth, runs, 200);
        let marked = explanation.lines().filter_map(|l| l.strip_prefix("→ "));
        let marked: Vec<&str> = marked.collect();
        let [marked] = marked[..] else {
            panic!("{explanation}");
        };
        let look = terminal(300);
        let table = shown::shown(|out| comparison_table::write(comparison, Detail::All, look, out));
        let name = &comparison.benchmarks[nth].id.name;
        let row = table.lines().find_map(|line| line.strip_prefix(&**name));
        let verdict = |text: &str| text.trim().split("  ").next().unwrap().to_owned();
        [verdict(marked), verdict(row.unwrap())]
    }

    #[test]
    fn table_and_explanation_share_one_verdict() {
        let (baseline, candidate) = one_of_each();
        let baseline = scenario::run(baseline);
        let runs = [&baseline, &candidate];
        let mut comparison = compared(&baseline, &candidate);
        for nth in 0..comparison.benchmarks.len() {
            let verdict = comparison.benchmarks[nth].verdict.name();
            assert_eq!(shown(&comparison, nth, runs), [verdict; 2]);
        }
        let is_regressed = |b: &BenchmarkVerdict| b.verdict == Verdict::Regressed;
        let regressed = comparison.benchmarks.iter().position(is_regressed).unwrap();
        let mut rules = RULES;
        let slower = rules
            .iter()
            .position(|rule| rule.0 == Rule::Slower)
            .unwrap();
        rules[slower].1 = Verdict::Shifted;
        comparison.benchmarks[regressed].decide(&rules);
        assert_eq!(shown(&comparison, regressed, runs), ["shifted"; 2]);
        rules.rotate_right(1);
        comparison.benchmarks[regressed].decide(&rules);
        assert_eq!(shown(&comparison, regressed, runs), ["inconclusive"; 2]);
    }

    #[test]
    fn accepted_change_is_explained_by_acceptance() {
        let (baseline, candidate) = one_of_each();
        let baseline = scenario::run(baseline);
        let strict = compared(&baseline, &candidate);
        let regressed = strict.benchmarks.iter();
        let mut regressed = regressed.filter(|b| b.verdict == Verdict::Regressed);
        let regressed = regressed.next().unwrap();
        let mut policy = Policy::default();
        let hits = regressed.effects.iter().filter(|effect| effect.is_worse());
        let change = AcceptedChange {
            reason: "a safer parser".to_owned(),
            differences: hits.map(|hit| (hit.metric, hit.difference)).collect(),
            allocations: None,
        };
        policy.accepted.insert(regressed.id.to_string(), change);
        let label = |run| LabelledRun { label: "a", run };
        let comparison = compare(label(&baseline), label(&candidate), &policy);
        let is_same = |b: &BenchmarkVerdict| b.id == regressed.id;
        let nth = comparison.benchmarks.iter().position(is_same).unwrap();
        let runs = [&baseline, &candidate];
        assert_eq!(shown(&comparison, nth, runs), ["accepted"; 2]);
    }

    #[test]
    fn regression_is_explained_step_by_step() {
        let suite = |seed, first: f64| {
            (0..24)
                .map(|n| {
                    let planted = Planted {
                        seed,
                        launches: 5,
                        categories: [0.0, 0.0, 0.0, if n == 0 { first } else { 0.0 }].into(),
                        ..Planted::default()
                    };
                    benchmark(&format!("b{n:02}"), planted)
                })
                .collect::<Vec<_>>()
        };
        insta::assert_snapshot!(text(suite(1, 0.0), suite(2, 0.08), 100));
    }

    #[test]
    fn exact_model_needs_no_tests() {
        let two = |seed, categories: [f64; 4]| {
            let planted = Planted {
                seed,
                launches: 2,
                categories: categories.into(),
                ..Planted::default()
            };
            vec![modelled("m", planted)]
        };
        let candidate = two(2, [-0.01, 0.0, 0.0, 0.025]);
        insta::assert_snapshot!(text(two(1, [0.0; 4]), candidate, 100));
    }

    #[test]
    fn one_timed_launch_is_explained() {
        let one = |seed, time_per_slot| {
            let planted = Planted {
                seed,
                launches: 1,
                time_per_slot,
                ..Planted::default()
            };
            vec![timed("t", planted)]
        };
        insta::assert_snapshot!(text(one(1, 1.0), one(2, 1.5), 80));
    }
}
