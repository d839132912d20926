//! Facts beyond a verdict's sentence: all categories with their parts, functions, changed code.

use topdown_run::provenance::SourceKind;

use super::function_rows::{label_of, plus_minus};
use super::number::{percent, percent_change, points};
use super::text::shortened;
use super::verdict_sentence::named_functions;
use topdown_gate::metric::Metric;
use topdown_gate::verdict::{
    BenchmarkVerdict, Cause, CauseKind, CodeChange, FunctionChange, FunctionPart, Verdict,
};

/// Parts of a difference that would be shown as 0.0 are omitted.
const MIN_SHOWN_FRACTION: f64 = 0.0005;
/// The least part that is broken down to level 2.
const MIN_DETAILED_FRACTION: f64 = 0.01;
/// The least change of a function that is reported, as a fraction of the whole.
const MIN_FUNCTION_FRACTION: f64 = 0.005;
/// At most this many functions are reported.
pub const MAX_FUNCTIONS: usize = 3;
/// Columns of a function's name.
const MAX_FUNCTION_COLUMNS: usize = 60;

/// Returns the facts about `benchmark`, each a phrase, for terminals that have `unicode` or not.
pub fn facts(benchmark: &BenchmarkVerdict, unicode: bool) -> Vec<String> {
    let mut facts = Vec::new();
    if let Some(cause) = &benchmark.cause {
        facts.extend(parts(cause));
        let functions: Vec<String> = reported_functions(benchmark)
            .map(|change| {
                let label = shortened_name(&label_of(&change.name, &change.module));
                let difference = points(change.difference);
                match change.margin {
                    Some(margin) => {
                        let half = plus_minus(unicode);
                        format!("{label} {difference} {half}{}", percent(margin))
                    }
                    None => format!("{label} {difference}"),
                }
            })
            .collect();
        if !functions.is_empty() {
            facts.push(format!("in {}", functions.join(", ")));
        }
        // The sentence names those that explain the change.
        let parts = benchmark.function_parts.iter();
        let parts = parts.filter(|part| part.moved && !part.explains);
        facts.extend(parts.map(|part| moved(part, cause)));
        facts.extend(code(benchmark));
    }
    if let Some(disagreement) = benchmark.disagreement {
        facts.push(match disagreement.machine_difference {
            Some(machine) => format!(
                "the machine does not explain it: {} per slot, median of the suite",
                percent_change(machine)
            ),
            None => "too few benchmarks to tell whether the machine is slower".to_owned(),
        });
        let can_fail = benchmark.source == SourceKind::Model
            && matches!(disagreement.code, CodeChange::Differs | CodeChange::Unknown);
        if can_fail && disagreement.time_difference < disagreement.least_failing {
            let limit = disagreement.least_failing * 100.0;
            facts.push(format!("fails from +{limit:.0} % on"));
        }
    }
    // The sentence says it of the others.
    if let Some(elsewhere) = benchmark.elsewhere
        && benchmark.verdict == Verdict::Inconclusive
    {
        facts.push(format!("judged by time alone, since {elsewhere}"));
    }
    if let Some(undecided) = benchmark.undecided {
        let deviation = undecided.launch_deviation * 100.0;
        facts.push(format!(
            "standard deviation between launches {deviation:.1} %"
        ));
    }
    facts
}

/// ``code moved from `f` to `g```
fn moved(part: &FunctionPart, cause: &Cause) -> String {
    let (with_it, against) = (
        named_functions(&part.functions),
        named_functions(&part.offset_by),
    );
    if cause.difference > 0.0 {
        format!("code moved from {against} to {with_it}")
    } else {
        format!("code moved from {with_it} to {against}")
    }
}

/// `+8.6 % slots/iter: backend bound +7.9 (memory bound +7.2, core bound +0.7), retiring +0.6`
fn parts(cause: &Cause) -> Option<String> {
    let shown = |difference: f64| difference.abs() >= MIN_SHOWN_FRACTION;
    let parts: Vec<String> = cause
        .parts
        .iter()
        .filter(|part| shown(part.difference))
        .map(|part| {
            let mut text = format!("{} {}", part.category.name(), points(part.difference));
            let details: Vec<String> = part
                .certain_details()
                .filter(|detail| shown(detail.difference))
                .map(|detail| format!("{} {}", detail.name, points(detail.difference)))
                .collect();
            if part.difference.abs() >= MIN_DETAILED_FRACTION && !details.is_empty() {
                text.push_str(&format!(" ({})", details.join(", ")));
            }
            text
        })
        .collect();
    let change = percent_change(cause.difference);
    match cause.kind {
        CauseKind::TimePerSlot { difference } => Some(format!(
            "each slot took {} longer",
            percent_change(difference).trim_start_matches('+')
        )),
        _ if parts.is_empty() => None,
        _ => Some(format!(
            "{change} {}: {}",
            per_iteration(cause.metric),
            parts.join(", ")
        )),
    }
}

/// `slots/iter`, or `time/iter`.
pub fn per_iteration(metric: Metric) -> &'static str {
    match metric {
        Metric::Wall => "time/iter",
        _ => "slots/iter",
    }
}

/// Returns the functions that are named.
pub fn reported_functions(benchmark: &BenchmarkVerdict) -> impl Iterator<Item = &FunctionChange> {
    let changed = |change: &&FunctionChange| {
        change.difference.abs() >= MIN_FUNCTION_FRACTION && change.is_certain()
    };
    benchmark
        .functions
        .iter()
        .filter(changed)
        .take(MAX_FUNCTIONS)
}

/// Says whether the code changed, if that is known for certain.
pub fn code(benchmark: &BenchmarkVerdict) -> Option<String> {
    let executed = benchmark.executed.as_ref()?;
    match executed.change {
        CodeChange::Unknown => None,
        CodeChange::Same => Some("the same instructions ran on the same data".to_owned()),
        CodeChange::OtherData => {
            Some("the same instructions ran, in another order or on other data".to_owned())
        }
        CodeChange::Differs => {
            let named = executed.functions.iter().take(MAX_FUNCTIONS);
            let named: Vec<String> = named
                .map(|function| shortened_name(&label_of(&function.name, &function.module)))
                .collect();
            let all = executed.functions.len() + executed.more_functions;
            let more = match all - named.len() {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            Some(format!("code differs in {}{more}", named.join(", ")))
        }
    }
}

fn shortened_name(label: &str) -> String {
    shortened(label, MAX_FUNCTION_COLUMNS, true)
}

#[cfg(test)]
mod tests {
    use topdown_gate::policy::Policy;
    use topdown_gate::scenario::{self, Planted, benchmark, modelled, with_functions};
    use topdown_gate::verdict::{CauseDetail, CausePart, LabelledRun, compare};

    use super::*;
    use topdown_run::category::PerCategory;
    use topdown_run::code_samples::Sampled;

    #[test]
    fn sampled_function_changes_have_half_their_interval() {
        let side = |backend_bound: f64, slots: u64| {
            let categories = PerCategory {
                backend_bound,
                ..PerCategory::default()
            };
            let planted = Planted {
                categories,
                ..Planted::default()
            };
            let known = [(Some("f"), None, [400, 100, 150, slots])];
            let mut benchmark = with_functions(benchmark("b", planted), &known);
            benchmark.functions.as_mut().unwrap().sampled = Some(Sampled {
                hits: 1000,
                effective_hits: 1000,
                ..Sampled::default()
            });
            scenario::run(vec![benchmark])
        };
        let (base, new) = (side(0.0, 350), side(0.3, 650));
        let labelled = |run| LabelledRun { label: "main", run };
        let comparison = compare(labelled(&base), labelled(&new), &Policy::default());
        let in_functions = |unicode: bool| {
            let facts = facts(&comparison.benchmarks[0], unicode);
            facts
                .into_iter()
                .find(|fact| fact.starts_with("in "))
                .unwrap()
        };
        assert_eq!(in_functions(true), "in f +29.8 ±0.8");
        assert_eq!(in_functions(false), "in f +29.8 +-0.8");
    }

    #[test]
    fn code_moved_beside_the_cause_is_reported() {
        let side = |index: usize| {
            let planted = Planted {
                categories: [0.0, 0.0, 0.0, [0.0, 0.05][index]].into(),
                ..Planted::default()
            };
            let function = |name, slots: [u64; 2]| (Some(name), None, [slots[index], 0, 0, 0]);
            let functions = [
                function("suite::inlined_code", [100, 500]),
                function("suite::its_caller", [600, 198]),
                function("suite::became_slower", [294, 346]),
            ];
            scenario::run(vec![with_functions(modelled("m", planted), &functions)])
        };
        let (base, new) = (side(0), side(1));
        let labelled = |run| LabelledRun { label: "main", run };
        let comparison = compare(labelled(&base), labelled(&new), &Policy::default());
        let facts = facts(&comparison.benchmarks[0], true);
        let moved = "code moved from `its_caller` to `inlined_code`".to_owned();
        assert!(facts.contains(&moved), "{facts:?}");
    }

    #[test]
    fn parts_below_resolution_are_not_named() {
        let detail = |name, difference, resolution| CauseDetail {
            name,
            difference,
            resolution,
        };
        let of_resolution = |resolution: f64| Cause {
            metric: Metric::Slots,
            difference: 0.064,
            kind: CauseKind::Category {
                category: Metric::BackendBound,
            },
            parts: vec![CausePart {
                category: Metric::BackendBound,
                difference: 0.064,
                details: vec![
                    detail("memory bound", 0.058, resolution),
                    detail("core bound", 0.006, 2.0 * resolution),
                ],
            }],
        };
        let text = |resolution| parts(&of_resolution(resolution)).unwrap();
        assert_eq!(
            text(1.0 / 255.0),
            "+6.4 % slots/iter: backend bound +6.4 (memory bound +5.8)"
        );
        assert_eq!(
            text(0.0),
            "+6.4 % slots/iter: backend bound +6.4 (memory bound +5.8, core bound +0.6)"
        );
    }
}
