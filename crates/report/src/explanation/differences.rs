//! The differences between two runs, how uncertain they are, and how they were tested.

use std::io::{self, Write};

use topdown_run::provenance::SourceKind;

use super::Page;
use super::probability::{equals, probability};
use crate::number::percent_change;
use crate::table::{Column, Table};
use topdown_gate::metric::Metric;
use topdown_gate::verdict::{
    BenchmarkVerdict, Effect, MachineShift, Method, MetricNoise, Suite, TestOutcome,
};

/// Writes each metric's difference with what its uncertainty follows from.
///
/// # Errors
/// Returns an error if writing fails.
pub fn write(
    verdict: &BenchmarkVerdict,
    suite: &Suite,
    method: Method,
    page: &mut Page<'_, impl Write>,
) -> io::Result<()> {
    if let Some(text) = method_text(verdict.source, method) {
        page.paragraph(text)?;
    }
    page.paragraph(
        "In percent of the baseline's total. Own: the standard deviation between the launches of \
         a side. Suite: the typical deviation of the metric in this suite, and how many launches \
         that estimate is worth (* assumed: the suite is too small). Used: the combination, never \
         less than the own. Drift: how much more the suite differs between the runs than between \
         launches. SE: of the difference.",
    )?;
    uncertainties(verdict, suite).write(page.out, page.look)?;
    let has_slots = verdict.effect(Metric::Slots).is_some();
    match MachineShift::removed_from(&suite.machine_shifts, has_slots) {
        Some(shift) => page.paragraph(&format!(
            "The candidate's times are compared without the machine's shift of {}.",
            percent_change(shift)
        )),
        None => Ok(()),
    }
}

/// Writes each metric's test and its outcome.
///
/// # Errors
/// Returns an error if writing fails.
pub fn write_tests(
    verdict: &BenchmarkVerdict,
    suite: &Suite,
    page: &mut Page<'_, impl Write>,
) -> io::Result<()> {
    if verdict.effects.iter().any(|effect| effect.exact) {
        page.paragraph(
            "An exact change is a hit if it is at least the model's margin; nothing is tested.",
        )?;
    }
    if suite.tests > 0 {
        page.paragraph(&test_text(suite))?;
    }
    let mut table = Table::new([Column::text(""), Column::wrapped("")]).indented(2);
    for effect in &verdict.effects {
        let text = if effect.exact {
            exact(effect, suite)
        } else {
            test(effect, suite)
        };
        table.row([effect.metric.name(), &text]);
    }
    table.write(page.out, page.look)
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

fn uncertainties(verdict: &BenchmarkVerdict, suite: &Suite) -> Table {
    let columns = [
        Column::text(""),
        Column::number("change"),
        Column::number("own base/cand"),
        Column::number("suite"),
        Column::number("used b/c"),
        Column::number("drift"),
        Column::number("SE"),
        Column::number("df"),
    ];
    let mut table = Table::new(columns).indented(2);
    for effect in &verdict.effects {
        let name = effect.metric.name().to_owned();
        let change = format!("{:+.2}", effect.difference * 100.0);
        if effect.exact {
            let none = String::new;
            table.row([
                name,
                change,
                "exact".to_owned(),
                none(),
                none(),
                none(),
                none(),
                none(),
            ]);
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
        let drift = noise.and_then(|noise| noise.drift);
        let [own, used] = [
            [
                effect.baseline_own_deviation,
                effect.candidate_own_deviation,
            ],
            [
                effect.baseline_launch_deviation,
                effect.candidate_launch_deviation,
            ],
        ]
        .map(|sides| sides.map(hundredths).join("/"));
        table.row([
            name,
            change,
            own,
            learned,
            used,
            drift.map_or("-".to_owned(), |drift| hundredths(drift.deviation)),
            hundredths(effect.standard_error),
            format!("{:.1}", effect.degrees_of_freedom),
        ]);
    }
    table
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
    format!("{} — {outcome}", percent_change(effect.difference))
}

fn test(effect: &Effect, suite: &Suite) -> String {
    let resolution = match effect.resolution {
        0.0 => String::new(),
        resolution => format!(" (resolution {} included)", hundredths(resolution)),
    };
    let t = (effect.difference - effect.limit) / effect.limit_standard_error;
    let outcome = outcome_text(effect, suite);
    format!(
        "{}, t = ({} - {}) / {} = {t:.2}{resolution}, p {} — {outcome}",
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
        TestOutcome::OthersFaster => {
            "not hit: its own time did not grow; the others took less".to_owned()
        }
        TestOutcome::DependsOnOrder => "not hit: not all schedules show it".to_owned(),
        TestOutcome::NotSure => {
            format!("not hit: p is above {}", probability(suite.alpha_per_test))
        }
    }
}
