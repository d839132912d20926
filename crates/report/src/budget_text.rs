//! A check of budgets for people.

use std::io::{self, Write};

use super::style::Look;
use super::table::{Column, Table};
use super::{number, style};
use topdown_gate::metric::Metric;
use topdown_gate::policy::{Budget, BudgetBound, BudgetQuantity};
use topdown_gate::verdict::{BudgetCheck, BudgetResult, BudgetStatus, Outcome};
use topdown_terminal::count_of;

/// Writes the verdict, then every result, worst first.
///
/// # Errors
/// Returns an error if writing to `out` fails.
pub fn write(check: &BudgetCheck, look: Look, out: &mut impl Write) -> io::Result<()> {
    let with_status = |status| {
        let results = check.results.iter();
        results.filter(move |result| result.status == status)
    };
    let all = check.results.len();
    let (word, word_style, rest) = match check.outcome {
        Outcome::Failed => ("OVER BUDGET", style::BAD, {
            format!(
                "{} of {all} budgets",
                with_status(BudgetStatus::Exceeded).count()
            )
        }),
        Outcome::NotComparable => {
            let rest = "a budget that was not measured does not pass".to_owned();
            ("NOT CHECKED", style::BAD, rest)
        }
        Outcome::Inconclusive | Outcome::NothingDecided => ("UNCERTAIN", style::BAD, {
            format!(
                "{} of {all} budgets",
                with_status(BudgetStatus::Uncertain).count()
            )
        }),
        Outcome::Passed => ("WITHIN BUDGET", style::GOOD, format!("{all} budgets")),
    };
    writeln!(out, "{word_style}{word}{word_style:#}: {rest}")?;
    for pattern in &check.unmatched {
        writeln!(out, "  no benchmark matches `{pattern}`")?;
    }
    let columns = [
        Column::text(""),
        Column::name("", 24),
        Column::text("").starts_line(),
    ];
    let mut table = Table::new(columns).indented(2);
    for (status, name) in [
        (BudgetStatus::Exceeded, "exceeded"),
        (BudgetStatus::NotMeasured, "not measured"),
        (BudgetStatus::Uncertain, "uncertain"),
        (BudgetStatus::Kept, "kept"),
    ] {
        for result in with_status(status) {
            table.row([name, &result.id.to_string(), &sentence(result)]);
        }
    }
    table.write(out, look)
}

fn sentence(result: &BudgetResult) -> String {
    let budget = shown(&result.budget);
    match result.value {
        None => format!("{budget}: not measured in this run"),
        Some(value) => format!(
            "{budget}: {} in {}",
            quantity(result.budget.quantity, value),
            count_of(result.launches, "launch")
        ),
    }
}

/// `retiring >= 40.0 %`
fn shown(budget: &Budget) -> String {
    let name = match budget.quantity {
        BudgetQuantity::Slots(metric) | BudgetQuantity::Share(metric) => metric.name(),
        BudgetQuantity::WallNs => Metric::Wall.name(),
        BudgetQuantity::Allocations | BudgetQuantity::AllocatedBytes => "allocations",
    };
    let sign = match budget.bound {
        BudgetBound::AtLeast => ">=",
        BudgetBound::AtMost => "<=",
    };
    format!("{name} {sign} {}", quantity(budget.quantity, budget.limit))
}

fn quantity(quantity: BudgetQuantity, value: f64) -> String {
    match quantity {
        BudgetQuantity::Slots(_) => format!("{} slots", number::slots(value)),
        BudgetQuantity::Share(_) => format!("{} %", number::percent(value)),
        BudgetQuantity::WallNs => number::time_ns(value, false),
        BudgetQuantity::Allocations => number::amount(value),
        BudgetQuantity::AllocatedBytes => number::bytes(value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shown::{shown, terminal};
    use topdown_gate::pattern::Pattern;
    use topdown_gate::policy::{Policy, Subject};
    use topdown_gate::scenario::{self, Planted, benchmark};
    use topdown_gate::verdict::{LabelledRun, check_budgets};

    #[test]
    fn one_of_each_status() {
        let mut policy = Policy::default();
        policy.budgets = [
            ("a", Metric::Retiring, ">= 45 %"),
            ("a", Metric::SmtContention, "<= 5 %"),
            ("a", Metric::Retiring, ">= 40.1 %"),
            ("a", Metric::Wall, "<= 1.5 us"),
            ("a", Metric::BackendBound, "<= 1200 slots"),
            ("gone/*", Metric::Slots, "<= 5000 slots"),
        ]
        .map(|(pattern, metric, text)| {
            let budget = Budget::parse(Subject::Metric(metric), text);
            (Pattern::new(pattern), budget.unwrap())
        })
        .to_vec();
        for text in ["<= 3 allocations", "<= 64 bytes"] {
            let budget = Budget::parse(Subject::Allocations, text).unwrap();
            policy.budgets.push((Pattern::new("a"), budget));
        }
        let benchmark = benchmark("a", Planted::default());
        let run = scenario::run(vec![scenario::allocating(benchmark, 3.0, 96.0)]);
        let check = check_budgets(
            LabelledRun {
                label: "new",
                run: &run,
            },
            &policy,
        );
        insta::assert_snapshot!(shown(|out| write(&check, terminal(120), out)));
    }
}
