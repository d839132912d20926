//! One verdict with everything it is based on, so that users can check it.

use std::io::{self, Write};

use criterion_topdown::provenance::SourceKind;
use criterion_topdown::run_file::Benchmark;

use super::number::{percent_change, points};
use super::style;
use super::text::Hanging;
use super::verdict_facts::facts;
use super::verdict_sentence::sentence;
use topdown_gate::metric::Metric;
use topdown_gate::verdict::{
    BenchmarkVerdict, Effect, Evidence, Method, MetricNoise, Rule, RuleState, Suite, TestOutcome,
};

/// A verdict and its evidence.
pub struct Explanation<'a> {
    pub verdict: &'a BenchmarkVerdict,
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
pub fn write(explanation: &Explanation<'_>, width: usize, out: &mut impl Write) -> io::Result<()> {
    let Explanation {
        verdict,
        suite,
        baseline,
        candidate,
    } = explanation;
    let lines = Hanging { width };
    let (class, heading) = (style::of_class(verdict.verdict), style::HEADING);
    writeln!(
        out,
        "{heading}{}{heading:#}: {class}{}{class:#}",
        verdict.id,
        verdict.verdict.name()
    )?;
    lines.write(out, "", 0, &sentence(verdict, &verdict.id.name))?;
    for fact in facts(verdict) {
        lines.write(out, "- ", 2, &fact)?;
    }
    writeln!(out, "\n{heading}1. Launch values, per iteration{heading:#}")?;
    let text = "One value per launch: the sum over the middle half of its samples, divided by \
                their iterations.";
    lines.write(out, "", 0, text)?;
    launches("baseline", baseline, out)?;
    launches("candidate", candidate, out)?;
    let Some(evidence) = &verdict.evidence else {
        return Ok(());
    };
    writeln!(
        out,
        "\n{heading}2. Differences and their uncertainty{heading:#}"
    )?;
    if let Some(text) = method_text(verdict.source, evidence.method) {
        lines.write(out, "", 0, text)?;
    }
    let text = "In percent of the baseline's total. Own: the standard deviation between the \
                launches of a side. Suite: what is typical for the metric in this suite, and how \
                many launches' worth that knowledge is (* assumed: the suite is too small). Used: \
                what follows from both, never less than the own. λ: how much more the suite \
                differs between the runs than launches do. SE: of the difference.";
    lines.write(out, "", 0, text)?;
    uncertainties(verdict, suite, out)?;
    writeln!(out, "\n{heading}3. Tests{heading:#}")?;
    if verdict.effects.iter().any(|effect| effect.exact) {
        let text = "An exact change is a hit if it is at least the model's margin; nothing is \
                    tested.";
        lines.write(out, "", 0, text)?;
    }
    if suite.tests > 0 {
        lines.write(out, "", 0, &test_text(suite))?;
    }
    for effect in &verdict.effects {
        let text = if effect.exact {
            exact(effect, suite)
        } else {
            test(effect, suite)
        };
        lines.write(out, "  ", 4, &text)?;
    }
    writeln!(
        out,
        "\n{heading}4. Verdict: the first rule that applies{heading:#}"
    )?;
    rules(verdict, evidence, &lines, out)
}

/// Explains how the slots were judged; `None` if there is only one way.
fn method_text(source: SourceKind, method: Method) -> Option<&'static str> {
    match (source, method) {
        (_, Method::Exact) => Some(
            "The modelled slots agree bit for bit between the launches of each side, so their \
             differences are exact. Wall-clock time was measured in separate launches; it fails \
             only benchmarks that took far longer.",
        ),
        (SourceKind::Model, Method::Statistics) => Some(
            "The modelled slots differ between launches (or there is only one), so they are tested \
             as counted slots are.",
        ),
        _ => None,
    }
}

/// The launches of a side: times and slots in one table where both are of the same launches.
fn launches(side: &str, benchmark: &Benchmark, out: &mut impl Write) -> io::Result<()> {
    let times = benchmark.times.launches.iter();
    let times: Vec<(u32, String)> = times
        .map(|time| {
            (
                time.launch,
                samples(time.samples_used, time.samples_dropped),
            )
        })
        .collect();
    let slots: Vec<(u32, String)> = benchmark
        .slots_launches()
        .iter()
        .map(|slots| {
            (
                slots.launch,
                samples(slots.samples_used, slots.samples_dropped),
            )
        })
        .collect();
    let is_measured = |metric: &Metric| metric.values(benchmark).is_some();
    let of_slots = Metric::ALL
        .into_iter()
        .filter(|metric| *metric != Metric::Wall);
    let of_slots: Vec<Metric> = of_slots.filter(is_measured).collect();
    if benchmark.provenance().source == SourceKind::Model {
        table(side, &slots, &of_slots, benchmark, out)?;
        return table(side, &times, &[Metric::Wall], benchmark, out);
    }
    let all: Vec<Metric> = Metric::ALL.into_iter().filter(is_measured).collect();
    table(side, &times, &all, benchmark, out)
}

fn table(
    side: &str,
    launches: &[(u32, String)],
    metrics: &[Metric],
    benchmark: &Benchmark,
    out: &mut impl Write,
) -> io::Result<()> {
    write!(out, "  {side:<9} samples")?;
    for metric in metrics {
        write!(out, "{:>16}", heading_of(*metric))?;
    }
    writeln!(out)?;
    let columns = metrics.iter().map(|metric| metric.by_launch(benchmark));
    let columns: Vec<Vec<(u32, f64)>> = columns.map(Option::unwrap_or_default).collect();
    for (launch, samples) in launches {
        write!(out, "  {launch:>9} {samples:>7}")?;
        for column in &columns {
            let value = column.iter().find(|(of, _)| of == launch);
            let value = value.map_or(String::new(), |(_, value)| format!("{value:.2}"));
            write!(out, "{value:>16}")?;
        }
        writeln!(out)?;
    }
    Ok(())
}

/// Used samples, and how many were dropped if any.
fn samples(used: u32, dropped: u32) -> String {
    match dropped {
        0 => used.to_string(),
        dropped => format!("{used}-{dropped}"),
    }
}

fn heading_of(metric: Metric) -> &'static str {
    match metric {
        Metric::Wall => "ns",
        metric => metric.name(),
    }
}

fn uncertainties(
    verdict: &BenchmarkVerdict,
    suite: &Suite,
    out: &mut impl Write,
) -> io::Result<()> {
    writeln!(
        out,
        "  {:<16}{:>9}{:>14}{:>14}{:>14}{:>7}{:>7}{:>7}",
        "", "change", "own base/cand", "suite", "used b/c", "drift", "SE", "df"
    )?;
    for effect in &verdict.effects {
        if effect.exact {
            let change = format!("{:+.2}", effect.difference * 100.0);
            writeln!(out, "  {:<16}{change:>9}  exact", effect.metric.name())?;
            continue;
        }
        let noise: Option<&MetricNoise> = suite.noise.iter().find(|n| n.metric == effect.metric);
        let learned = noise.map_or(String::new(), |noise| {
            format!(
                "{}, {:.1}{}",
                hundredths(noise.prior_deviation),
                noise.prior_degrees_of_freedom,
                if noise.prior_fitted { "" } else { "*" }
            )
        });
        writeln!(
            out,
            "  {:<16}{:>9}{:>14}{:>14}{:>14}{:>7}{:>7}{:>7.1}",
            effect.metric.name(),
            format!("{:+.2}", effect.difference * 100.0),
            pair(
                effect.baseline_own_deviation,
                effect.candidate_own_deviation
            ),
            learned,
            pair(
                effect.baseline_launch_deviation,
                effect.candidate_launch_deviation
            ),
            noise
                .and_then(|noise| noise.drift)
                .map_or("-".to_owned(), |drift| hundredths(drift.deviation)),
            hundredths(effect.standard_error),
            effect.degrees_of_freedom
        )?;
    }
    if let Some(shift) = suite.machine_shift.filter(|shift| shift.removed) {
        writeln!(
            out,
            "  The candidate's times are compared without the machine's shift of {}.",
            percent_change(shift.difference)
        )?;
    }
    Ok(())
}

fn pair(a: f64, b: f64) -> String {
    format!("{}/{}", hundredths(a), hundredths(b))
}

fn hundredths(fraction: f64) -> String {
    format!("{:.2}", fraction * 100.0)
}

fn test_text(suite: &Suite) -> String {
    let looks = match suite.looks {
        1 => String::new(),
        looks => format!(", / {looks} looks"),
    };
    format!(
        "A metric is hit if its change is at least the margin and, for all {} tests of the suite \
         at once, surely above its sure margin: p < {} = {}{looks} / {} tests.",
        suite.tests,
        probability(suite.alpha_per_test),
        suite.alpha,
        suite.tests
    )
}

/// Explains how a difference without noise was judged.
fn exact(effect: &Effect, suite: &Suite) -> String {
    let margin = percent_change(effect.point_margin);
    let outcome = match effect.outcome {
        TestOutcome::Hit => format!("at least {margin}: hit"),
        _ => outcome_text(effect, suite),
    };
    format!(
        "{}: {} — {outcome}",
        effect.metric.name(),
        percent_change(effect.difference)
    )
}

fn test(effect: &Effect, suite: &Suite) -> String {
    let resolution = match effect.resolution {
        0.0 => String::new(),
        resolution => format!(" (resolution {} included)", hundredths(resolution)),
    };
    let t = (effect.difference - effect.limit) / effect.limit_standard_error;
    let outcome = outcome_text(effect, suite);
    format!(
        "{}: {}, t = ({} - {}) / {} = {t:.2}{resolution}, p {} — {outcome}",
        effect.metric.name(),
        percent_change(effect.difference),
        hundredths(effect.difference),
        hundredths(effect.limit),
        hundredths(effect.limit_standard_error),
        equals(effect.p),
    )
}

fn outcome_text(effect: &Effect, suite: &Suite) -> String {
    match effect.outcome {
        TestOutcome::Hit => "hit".to_owned(),
        TestOutcome::NotGated => "not hit: not gated".to_owned(),
        TestOutcome::OneLaunch => "not hit: one launch decides nothing".to_owned(),
        TestOutcome::BelowMargin => {
            format!("not hit: below {}", percent_change(effect.point_margin))
        }
        TestOutcome::NotSure => {
            format!("not hit: p is above {}", probability(suite.alpha_per_test))
        }
    }
}

fn rules(
    verdict: &BenchmarkVerdict,
    evidence: &Evidence,
    lines: &Hanging,
    out: &mut impl Write,
) -> io::Result<()> {
    let Some(total) = verdict.main_effect() else {
        return Ok(());
    };
    for checked in &verdict.rules {
        let mark = match checked.state {
            RuleState::Applies => "→",
            RuleState::Overruled | RuleState::DoesNotHold => " ",
        };
        let text = rule_text(checked.rule, verdict, evidence, total);
        let name = checked.verdict.name();
        lines.write(out, &format!("{mark} {name:<14} "), 17, &text)?;
    }
    Ok(())
}

/// Says what a rule asks, and the evidence for it.
fn rule_text(
    rule: Rule,
    verdict: &BenchmarkVerdict,
    evidence: &Evidence,
    total: &Effect,
) -> String {
    let is_exact = evidence.method == Method::Exact;
    let margin = points(total.point_margin);
    let margin = margin.trim_start_matches('+');
    let sure = total.sure_margin * 100.0;
    let change = percent_change(total.difference);
    let (asked, holds) = match rule {
        Rule::SameCode => {
            let counts = match verdict.source {
                SourceKind::Model => ", in the same slots; time is neither hit nor does it fail",
                SourceKind::Hardware => ", and as many of them",
                SourceKind::Time => "",
            };
            let asked = format!("the same instructions on data in the same places{counts}");
            (asked, evidence.same_code)
        }
        Rule::Accepted => {
            let asked = "slower or longer by no more than was accepted with a reason";
            (asked.to_owned(), verdict.holds(rule))
        }
        Rule::Slower if is_exact => {
            return format!(
                "slots are hit ({}), or a category is ({}) and the total grew by {sure:.2} % or \
                 more ({}: {change})",
                yes(evidence.whole_hit),
                yes(evidence.category_hit),
                yes(evidence.slower),
            );
        }
        Rule::Slower => {
            return format!(
                "slots or time are hit ({}), or a category is ({}) and the total grew ({}: \
                 {change}, p {})",
                yes(evidence.whole_hit),
                yes(evidence.category_hit),
                yes(evidence.slower),
                equals(evidence.p_slower)
            );
        }
        Rule::TimeDisagrees => {
            let asked = "time does not gate, surely grew, and neither the slots nor the machine \
                         explain it";
            (asked.to_owned(), evidence.time_disagrees)
        }
        Rule::MostlyWindows => {
            let asked = "measuring costs more than half of a side's slots";
            (asked.to_owned(), evidence.mostly_windows)
        }
        Rule::TookLonger => {
            let asked = "the time surely grew for this benchmark alone, and the slots do not \
                         explain it";
            (asked.to_owned(), evidence.took_longer)
        }
        Rule::SuiteWideSlowdown => {
            let asked = "slower only because the whole suite is, and only time was measured";
            (asked.to_owned(), evidence.suite_wide_slowdown)
        }
        Rule::Faster if is_exact => {
            let asked = format!("the total shrank by {margin} % or more");
            (asked, evidence.faster)
        }
        Rule::Faster => {
            return format!(
                "the total shrank by {margin} % or more, and surely by {sure:.1} % (p {})",
                equals(evidence.p_faster)
            );
        }
        Rule::CategoryHit => ("a category is hit".to_owned(), evidence.category_hit),
        Rule::TotalWithinMargin if is_exact => return "none of these: exact".to_owned(),
        Rule::TotalWithinMargin => {
            return format!(
                "the change is surely above -{margin} % (p {}) and below +{margin} % (p {})",
                equals(evidence.p_not_faster),
                equals(evidence.p_not_slower)
            );
        }
        Rule::NoOther => return "none of these".to_owned(),
    };
    format!("{asked} ({})", yes(holds))
}

fn yes(holds: bool) -> &'static str {
    if holds { "yes" } else { "no" }
}

/// `= 0.012`, `< 1e-12`.
fn equals(p: f64) -> String {
    if p < 1e-12 {
        "< 1e-12".to_owned()
    } else {
        format!("= {}", probability(p))
    }
}

fn probability(p: f64) -> String {
    if p >= 0.001 {
        format!("{p:.3}")
    } else {
        format!("{p:.1e}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::comparison_table;
    use crate::report::examples::{compared, one_of_each};
    use crate::report::style::Look;
    use criterion_topdown::run_file::Run;
    use topdown_gate::policy::{AcceptedChange, Policy};
    use topdown_gate::scenario::{self, Planted, benchmark, modelled, timed};
    use topdown_gate::verdict::rules::RULES;
    use topdown_gate::verdict::{Comparison, LabelledRun, Verdict, compare};

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
            verdict,
            suite: &comparison.suite,
            baseline,
            candidate,
        };
        let mut out = Vec::new();
        write(&explanation, width, &mut out).unwrap();
        anstream::adapter::strip_str(&String::from_utf8(out).unwrap()).to_string()
    }

    /// Returns the verdict of the marked rule, and the one in the table.
    fn shown(comparison: &Comparison, nth: usize, runs: [&Run; 2]) -> [String; 2] {
        let explanation = explained(comparison, nth, runs, 200);
        let marked = explanation.lines().filter_map(|l| l.strip_prefix("→ "));
        let marked: Vec<&str> = marked.collect();
        let [marked] = marked[..] else {
            panic!("{explanation}");
        };
        let look = Look {
            width: 300,
            unicode: true,
        };
        let mut table = Vec::new();
        comparison_table::write(comparison, look, &mut table).unwrap();
        let table = anstream::adapter::strip_str(&String::from_utf8(table).unwrap()).to_string();
        let name = &comparison.benchmarks[nth].id.name;
        let row = table.lines().find_map(|line| line.strip_prefix(&**name));
        let verdict = |text: &str| text.trim().split("  ").next().unwrap().to_owned();
        [verdict(marked), verdict(row.unwrap())]
    }

    #[test]
    fn the_table_and_the_explanation_have_the_same_verdict_whatever_the_rules() {
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
    fn what_was_accepted_is_explained_by_that() {
        let (baseline, candidate) = one_of_each();
        let baseline = scenario::run(baseline);
        let strict = compared(&baseline, &candidate);
        let regressed = strict.benchmarks.iter();
        let mut regressed = regressed.filter(|b| b.verdict == Verdict::Regressed);
        let regressed = regressed.next().unwrap();
        let mut policy = Policy::default();
        let hits = regressed.effects.iter().filter(|effect| effect.is_hit());
        let change = AcceptedChange {
            reason: "a safer parser".to_owned(),
            differences: hits.map(|hit| (hit.metric, hit.difference)).collect(),
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
    fn a_regression_is_explained_step_by_step() {
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
    fn a_model_that_agrees_with_itself_needs_no_tests() {
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
    fn one_launch_of_time_is_explained_too() {
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
