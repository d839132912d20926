//! One verdict with everything it is based on, so that users can check it.

use std::io::{self, Write};

use criterion_topdown::provenance::SourceKind;
use criterion_topdown::run_file::Benchmark;

use super::number::{percent_change, points};
use super::sentences::sentence;
use super::style;
use super::text::Hanging;
use topdown_gate::metric::Metric;
use topdown_gate::verdict::{
    BenchmarkVerdict, Effect, Evidence, MetricNoise, Rule, Suite, Verdict,
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
    lines.write(out, "", 0, &sentence(verdict))?;
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
    if let Some(text) = rule_text(verdict.source, evidence.rule) {
        lines.write(out, "", 0, text)?;
    }
    let text = "In percent of the baseline's total. Own: the standard deviation between the \
                launches of a side. Suite: what is typical for the metric in this suite, and how \
                many launches' worth that knowledge is (* assumed: the suite is too small). Used: \
                what follows from both, never less than the own. λ: by how much the suite differs \
                between the runs more than launches do. SE: of the difference.";
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
        let text = match effect.exact {
            true => exact(effect),
            false => test(effect, evidence, suite),
        };
        lines.write(out, "  ", 4, &text)?;
    }
    writeln!(
        out,
        "\n{heading}4. Verdict: the first rule that applies{heading:#}"
    )?;
    rules(verdict, evidence, &lines, out)
}

/// Explains which rule judged the benchmark; `None` if there is only one.
fn rule_text(source: SourceKind, rule: Rule) -> Option<&'static str> {
    match (source, rule) {
        (_, Rule::Exact) => Some(
            "The modelled slots agree bit for bit between the launches of each side, so their \
             differences are exact. Wall-clock time was measured in launches of its own; it fails \
             only what took far longer.",
        ),
        (SourceKind::Model, Rule::Statistics) => Some(
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
fn exact(effect: &Effect) -> String {
    let margin = percent_change(effect.point_margin);
    let outcome = match (effect.hit, effect.gated) {
        (true, _) => format!("at least {margin}: hit"),
        (false, true) => format!("not hit: below {margin}"),
        (false, false) => "not hit: not gated".to_owned(),
    };
    format!(
        "{}: {} — {outcome}",
        effect.metric.name(),
        percent_change(effect.difference)
    )
}

fn test(effect: &Effect, evidence: &Evidence, suite: &Suite) -> String {
    let resolution = match effect.resolution {
        0.0 => String::new(),
        resolution => format!(" (resolution {} included)", hundredths(resolution)),
    };
    let t = (effect.difference - effect.limit) / effect.limit_standard_error;
    let outcome = if effect.hit {
        "hit".to_owned()
    } else if !effect.gated {
        "not hit: not gated".to_owned()
    } else if !evidence.enough_launches {
        "not hit: one launch decides nothing".to_owned()
    } else if effect.difference < effect.point_margin {
        format!("not hit: below {}", percent_change(effect.point_margin))
    } else {
        format!("not hit: p is above {}", probability(suite.alpha_per_test))
    };
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

fn rules(
    verdict: &BenchmarkVerdict,
    evidence: &Evidence,
    lines: &Hanging,
    out: &mut impl Write,
) -> io::Result<()> {
    let Some(total) = verdict.main_effect() else {
        return Ok(());
    };
    let margin = points(total.point_margin);
    let margin = margin.trim_start_matches('+');
    let rules = match evidence.rule {
        Rule::Exact => exact_rules(evidence, total, margin),
        Rule::Statistics => statistical_rules(evidence, total, margin),
    };
    let rules: Vec<RuleText> = same_code(verdict).into_iter().chain(rules).collect();
    let first = rules.iter().position(|(_, applies, _)| *applies);
    for (index, (class, _, text)) in rules.iter().enumerate() {
        let mark = if Some(index) == first { "→" } else { " " };
        lines.write(out, &format!("{mark} {:<14} ", class.name()), 17, text)?;
    }
    Ok(())
}

type RuleText = (Verdict, bool, String);

/// Explains the rule that comes before all others, if both sides' fingerprints are known.
fn same_code(verdict: &BenchmarkVerdict) -> Option<RuleText> {
    verdict.executed.as_ref()?;
    let is_same = verdict.is_same_by_proof();
    let rest = match verdict.source {
        SourceKind::Model => ", in the same slots; time is neither hit nor to fail",
        SourceKind::Hardware => ", and as many of them",
        SourceKind::Time => "",
    };
    let text = format!(
        "the same instructions on data in the same places{rest} ({})",
        yes(is_same)
    );
    Some((Verdict::Unchanged, is_same, text))
}

fn exact_rules(evidence: &Evidence, total: &Effect, margin: &str) -> Vec<RuleText> {
    vec![
        (
            Verdict::Regressed,
            evidence.whole_hit || evidence.category_hit && evidence.slower,
            format!(
                "slots are hit ({}), or a category is ({}) and the total grew by {:.2} % or more \
                 ({}: {})",
                yes(evidence.whole_hit),
                yes(evidence.category_hit),
                total.sure_margin * 100.0,
                yes(evidence.slower),
                percent_change(total.difference),
            ),
        ),
        time_disagrees(evidence),
        (
            Verdict::Improved,
            evidence.improved,
            format!("the total shrank by {margin} % or more"),
        ),
        (
            Verdict::Shifted,
            evidence.category_hit,
            format!("a category is hit ({})", yes(evidence.category_hit)),
        ),
        (Verdict::Unchanged, true, "none of these".to_owned()),
    ]
}

fn statistical_rules(evidence: &Evidence, total: &Effect, margin: &str) -> Vec<RuleText> {
    vec![
        (
            Verdict::Regressed,
            evidence.whole_hit || evidence.category_hit && evidence.slower,
            format!(
                "slots or time are hit ({}), or a category is ({}) and the total grew ({}: {}, p {})",
                yes(evidence.whole_hit),
                yes(evidence.category_hit),
                yes(evidence.slower),
                percent_change(total.difference),
                equals(evidence.p_slower)
            ),
        ),
        time_disagrees(evidence),
        (
            Verdict::Inconclusive,
            evidence.took_longer && (evidence.improved || evidence.unchanged),
            format!(
                "the time surely grew for this benchmark alone, and the slots do not explain it ({})",
                yes(evidence.took_longer)
            ),
        ),
        (
            Verdict::Inconclusive,
            evidence.suite_wide_slowdown && (evidence.improved || evidence.unchanged),
            format!(
                "slower only as the whole suite is, with nothing but time to tell ({})",
                yes(evidence.suite_wide_slowdown)
            ),
        ),
        (
            Verdict::Improved,
            evidence.improved,
            format!(
                "the total shrank by {margin} % or more, and surely by {:.1} % (p {})",
                total.sure_margin * 100.0,
                equals(evidence.p_improved)
            ),
        ),
        (
            Verdict::Shifted,
            evidence.category_hit,
            format!("a category is hit ({})", yes(evidence.category_hit)),
        ),
        (
            Verdict::Unchanged,
            evidence.unchanged,
            format!(
                "the change is surely above -{margin} % (p {}) and below +{margin} % (p {})",
                equals(evidence.p_not_faster),
                equals(evidence.p_not_slower)
            ),
        ),
        (Verdict::Inconclusive, true, "none of these".to_owned()),
    ]
}

fn time_disagrees(evidence: &Evidence) -> RuleText {
    (
        Verdict::TimeDisagrees,
        evidence.time_disagrees,
        format!(
            "time does not gate, surely grew, and neither the slots nor the machine explain it ({})",
            yes(evidence.time_disagrees)
        ),
    )
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
    use topdown_gate::policy::Policy;
    use topdown_gate::scenario::{self, Planted, benchmark, modelled, timed};
    use topdown_gate::verdict::{LabelledRun, compare};

    fn text(baseline: Vec<Benchmark>, candidate: Vec<Benchmark>, width: usize) -> String {
        let (baseline, candidate) = (scenario::run(baseline), scenario::run(candidate));
        let label = |label, run| LabelledRun { label, run };
        let policy = Policy::default();
        let comparison = compare(label("main", &baseline), label("new", &candidate), &policy);
        let explanation = Explanation {
            verdict: &comparison.benchmarks[0],
            suite: &comparison.suite,
            baseline: &baseline.benchmarks[0],
            candidate: &candidate.benchmarks[0],
        };
        let mut out = Vec::new();
        write(&explanation, width, &mut out).unwrap();
        anstream::adapter::strip_str(&String::from_utf8(out).unwrap()).to_string()
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
