//! The rules of a verdict in their order, with the evidence for each.

use topdown_run::provenance::SourceKind;

use super::probability::equals;
use crate::number::{percent_change, points};
use crate::style::Look;
use crate::table::{Column, Table};
use topdown_gate::verdict::{BenchmarkVerdict, Effect, Evidence, Method, Rule, RuleState};

/// Returns a row for each rule; the one that decided is marked.
pub fn table(verdict: &BenchmarkVerdict, evidence: &Evidence, total: &Effect, look: Look) -> Table {
    let mut table = Table::new([Column::text(""), Column::text(""), Column::wrapped("")]);
    for checked in &verdict.rules {
        let mark = match checked.state {
            RuleState::Applies => look.arrow(),
            RuleState::Overruled | RuleState::DoesNotHold => "",
        };
        let text = rule_text(checked.rule, verdict, evidence, total);
        table.row([mark, checked.verdict.name(), &text]);
    }
    table
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
        Rule::AllocationsUnknown => {
            let asked = "allocations gate but were not counted, and it is slower by at most what \
                         was accepted";
            (asked.to_owned(), verdict.holds(rule))
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
        Rule::AllocatesMore => {
            let asked = "an iteration allocates more, and allocations gate";
            (asked.to_owned(), evidence.allocates_more)
        }
        Rule::TimeDisagrees => {
            let asked = "time does not gate, surely grew, and neither the slots nor the machine \
                         explain it";
            (asked.to_owned(), evidence.time_disagrees)
        }
        Rule::CostlyWindows => {
            let asked = "windows cost more than half of a side's slots, or may be the reason";
            (asked.to_owned(), evidence.costly_windows)
        }
        Rule::DependsOnOrder => {
            let asked = "some schedules of its threads show a change of the slots, but not all";
            (asked.to_owned(), evidence.depends_on_order)
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
        Rule::SlowLaunches => {
            let asked = "some launches are far slower, more than of the baseline, and more than \
                         the suite's launches explain";
            (asked.to_owned(), evidence.sometimes_slower)
        }
        Rule::MaybeSlowLaunches => {
            let asked = "the same, but the suite's launches may explain it";
            (asked.to_owned(), evidence.may_be_sometimes_slower)
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
