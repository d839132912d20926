//! The one sentence about a benchmark that says what a colleague would: how much slower, and where.
//!
//! [`verdict_facts`](super::verdict_facts) has the rest.

use topdown_run::provenance::SourceKind;
use topdown_run::run_file::SourceLine;
use topdown_run::visible::visible;

use super::allocations;
use super::function_rows::label_of;
use super::number::{percent_change, points};
use super::undecided_sentence::{slow_launches, undecided_because};
use topdown_gate::comparability::{MODEL_VERSION, MODELLED_CORE};
use topdown_gate::function_name::FunctionKind;
use topdown_gate::metric::Metric;
use topdown_gate::verdict::{
    BenchmarkVerdict, Cause, CauseKind, CausePart, CodeChange, Disagreement, Effect, FunctionName,
    FunctionPart, NoFunction, Rule, Verdict,
};
use topdown_terminal::last_names;

/// At most this many functions or categories are named.
const MAX_NAMED: usize = 3;
/// What is named has at least this fraction of the change.
const MIN_NAMED_FRACTION: f64 = 0.2;
/// A category's part is named instead of both parts if it has this fraction of its change.
const NEARLY_ALL: f64 = 0.75;
/// Columns of a function's name.
const MAX_NAME_COLUMNS: usize = 40;

/// Returns the sentence about `benchmark`, which it calls `name`.
pub fn sentence(benchmark: &BenchmarkVerdict, name: &str) -> String {
    format!("`{name}` {}", predicate(benchmark))
}

/// Returns the sentence without its subject.
pub fn predicate(benchmark: &BenchmarkVerdict) -> String {
    let grown = benchmark.grown_allocations().map(allocations::grown);
    let is_all = benchmark.rule == Some(Rule::AllocatesMore);
    let also = match &grown {
        Some(grown) if !is_all => format!("; {grown}"),
        _ => String::new(),
    };
    let what = match (
        &benchmark.cause,
        &benchmark.undecided,
        benchmark.disagreement,
    ) {
        _ if benchmark.verdict == Verdict::NotComparable => {
            return not_comparable(benchmark) + &also;
        }
        _ if is_all => {
            let slots = slots_of(benchmark);
            grown.map_or(String::new(), |grown| format!("{grown}, at {slots}"))
        }
        (Some(_), _, Some(disagreement)) if benchmark.verdict == Verdict::TimeDisagrees => {
            disagrees(&disagreement, benchmark)
        }
        (Some(cause), _, _) => caused(cause, benchmark),
        (None, None, _) if benchmark.verdict == Verdict::SometimesSlower => {
            slow_launches(benchmark)
        }
        (None, Some(undecided), _) => undecided_because(undecided, benchmark),
        (None, None, _) => match benchmark.main_effect() {
            Some(effect) if benchmark.verdict != Verdict::Unchanged => changed(effect),
            _ => "is unchanged".to_owned(),
        },
    };
    let time = benchmark
        .effect(Metric::Wall)
        .filter(|_| benchmark.verdict == Verdict::Regressed && benchmark.disagreement.is_some());
    let time = time.map_or(String::new(), |wall| {
        format!("; its time grew by {}", size(wall.difference))
    });
    let in_all = match &benchmark.schedules {
        Some(changes) if has_changed_slots(benchmark) => {
            format!("; in all {} schedules", changes.schedules)
        }
        _ => String::new(),
    };
    let elsewhere = match benchmark.elsewhere {
        // Of many that are undecided, a warning says it once.
        Some(elsewhere) if benchmark.verdict != Verdict::Inconclusive => {
            format!("; judged by time alone, since {elsewhere}")
        }
        _ => String::new(),
    };
    let accepted = match &benchmark.accepted {
        Some(reason) => format!("; accepted: {reason}"),
        None => String::new(),
    };
    what + &time + &in_all + &also + &elsewhere + &accepted
}

fn has_changed_slots(benchmark: &BenchmarkVerdict) -> bool {
    match benchmark.rule {
        Some(Rule::Slower) => benchmark.main_effect().is_some_and(Effect::is_worse),
        rule => rule == Some(Rule::Faster),
    }
}

/// Returns the category that made a benchmark fail whose slots as a whole grew too little for that.
fn failing_category(benchmark: &BenchmarkVerdict) -> Option<&Effect> {
    let slots_failed = benchmark.main_effect().is_none_or(Effect::is_worse);
    if benchmark.verdict != Verdict::Regressed || slots_failed {
        return None;
    }
    let worse = benchmark.effects.iter().filter(|e| e.is_worse());
    worse
        .filter(|effect| effect.metric.is_category())
        .max_by(|a, b| a.difference.total_cmp(&b.difference))
}

fn not_comparable(benchmark: &BenchmarkVerdict) -> String {
    if let (Some(Rule::AllocationsUnknown), Some(uncounted)) =
        (benchmark.rule, benchmark.allocations_uncounted)
    {
        let slots = benchmark.effect(Metric::Slots);
        let beside = slots.map_or(String::new(), |_| format!("; {}", slots_of(benchmark)));
        return format!(
            "cannot be judged: allocations gate it, but were not counted {}{beside}",
            uncounted.side_text()
        );
    }
    let differs = |field| benchmark.differences.iter().find(|d| d.field == field);
    let core = differs(MODELLED_CORE).map(|d| d.baseline.trim_matches('`'));
    let remedy = match (differs(MODEL_VERSION), core) {
        (Some(_), _) => "; retake the baseline with this version".to_owned(),
        (None, Some(core)) => format!("; `--model-core {core}` models the baseline's core"),
        (None, None) => String::new(),
    };
    let differences: Vec<String> = benchmark
        .differences
        .iter()
        .map(ToString::to_string)
        .collect();
    format!("cannot be compared: {}{remedy}", differences.join("; "))
}

/// `26.7 %`, without a sign.
pub fn size(difference: f64) -> String {
    percent_change(difference.abs())
        .trim_start_matches('+')
        .to_owned()
}

/// `is 26.7 % slower`, or `takes 26.7 % longer` if there are no slots.
fn changed(effect: &Effect) -> String {
    change_in_words(effect.metric, effect.difference)
}

/// Says how much slower or faster.
pub fn change_in_words(metric: Metric, difference: f64) -> String {
    let size = size(difference);
    match (metric, difference > 0.0) {
        (Metric::Wall, true) => format!("takes {size} longer"),
        (Metric::Wall, false) => format!("takes {size} less time"),
        (_, true) => format!("is {size} slower"),
        (_, false) => format!("is {size} faster"),
    }
}

fn caused(cause: &Cause, benchmark: &BenchmarkVerdict) -> String {
    let functions = in_functions(cause, benchmark);
    let first = named_parts(cause).next().map(|part| part.category.name());
    let change = change_in_words(cause.metric, cause.difference);
    let change = match failing_category(benchmark) {
        Some(effect) if functions.is_none() && first == Some(effect.metric.name()) => {
            format!("{change} and fails on one category alone")
        }
        Some(effect) => {
            let (category, size) = (effect.metric.name(), points(effect.difference));
            format!("{change} and fails on {category} alone ({size} points)")
        }
        None => change,
    };
    match cause.kind {
        CauseKind::Category { .. } | CauseKind::Spread => {
            let named = functions.or_else(|| in_categories(cause));
            let named = named.map_or(change.clone(), |named| format!("{change}: {named}"));
            named + benchmark.no_function.map_or("", why_no_function)
        }
        CauseKind::Moved => moved(cause),
        CauseKind::TimePerSlot { .. } => format!(
            "{change} at {}: look at clock, steal, kernel or blocking, not at the pipeline",
            slots_of(benchmark)
        ),
        CauseKind::Unknown if benchmark.coarse.is_some() => {
            format!("{change}; its categories are too coarse to say why")
        }
        CauseKind::Unknown if benchmark.elsewhere.is_some() => change,
        CauseKind::Unknown => format!("{change}; without slots, the cause is unknown"),
    }
}

/// Says why a sampled benchmark names no function.
fn why_no_function(reason: NoFunction) -> &'static str {
    match reason {
        NoFunction::OneIteration => {
            "; functions are unknown, because only one of its long iterations was sampled"
        }
        NoFunction::Uncertain => "; no function changed by more than sampling explains",
        NoFunction::Spread => "; no function accounts for a fifth of it",
    }
}

/// `-0.5 % slots`
pub fn slots_of(benchmark: &BenchmarkVerdict) -> String {
    let slots = benchmark.effect(Metric::Slots);
    let change = slots.map_or(0.0, |effect| effect.difference);
    format!("{} slots", percent_change(change))
}

/// The parts that go the way of the whole and are a good part of it.
pub fn named_parts(cause: &Cause) -> impl Iterator<Item = &CausePart> {
    let is_named = |part: &&CausePart| part.difference / cause.difference >= MIN_NAMED_FRACTION;
    cause.parts.iter().filter(is_named).take(MAX_NAMED)
}

/// `27.5 points in `char_count_general_case` (frontend bound), called from src/lib.rs:4`, or
/// `20.1 points in `f` (called from src/lib.rs:4), 7.4 in `g` (frontend bound)`
fn in_functions(cause: &Cause, benchmark: &BenchmarkVerdict) -> Option<String> {
    let parts: Vec<&FunctionPart> = benchmark.explaining_parts().collect();
    let from = line_of(benchmark).map(|line| format!("called from {}", visible(&line.to_string())));
    // The line is that of the first one.
    let (from_first, from_it) = match from {
        Some(from) if parts.len() > 1 => (format!(" ({from})"), String::new()),
        Some(from) => (String::new(), format!(", {from}")),
        None => Default::default(),
    };
    let mut text = String::new();
    for (index, part) in parts.iter().enumerate() {
        let size = points(part.difference.abs());
        let size = size.trim_start_matches('+');
        let name = functions_of(part);
        text += &match index {
            0 => format!("{size} points in {name}{from_first}"),
            _ => format!(", {size} in {name}"),
        };
    }
    let categories: Vec<&str> = named_parts(cause)
        .map(|part| part.category.name())
        .collect();
    let categories = categories.join(", ");
    (!parts.is_empty()).then(|| format!("{text} ({categories}){from_it}"))
}

/// `f`, ``f` with code moved from `g``, or `f` and `g` together``
pub fn functions_of(part: &FunctionPart) -> String {
    let functions = named_functions(&part.functions);
    if part.offset_by.is_empty() {
        functions
    } else if part.moved {
        let others = named_functions(&part.offset_by);
        let preposition = if part.difference > 0.0 { "from" } else { "to" };
        format!("{functions} with code moved {preposition} {others}")
    } else {
        let all = [&part.functions[..], &part.offset_by].concat();
        format!("{} together", named_functions(&all))
    }
}

/// `f` and `g`, or `f`, `g` and 3 more`
pub fn named_functions(functions: &[FunctionName]) -> String {
    let named: Vec<String> = functions.iter().take(2).map(function_name).collect();
    match functions.len().saturating_sub(named.len()) {
        0 => named.join(" and "),
        more => format!("{} and {more} more", named.join(", ")),
    }
}

/// Returns the line from which the function is called that changed most in the direction of the
/// whole.
pub fn line_of(benchmark: &BenchmarkVerdict) -> Option<&SourceLine> {
    benchmark.explaining_parts().next()?.called_from.as_ref()
}

/// Returns the category that changed most in the direction of the whole, or to which slots moved.
pub fn main_part(cause: &Cause) -> Option<&CausePart> {
    let direction = match cause.kind {
        CauseKind::Moved => 1.0,
        _ => cause.difference.signum(),
    };
    let size = |part: &CausePart| part.difference * direction;
    let parts = cause.parts.iter().filter(|part| size(part) > 0.0);
    parts.max_by(|a, b| size(a).total_cmp(&size(b)))
}

/// `+8.1 points backend bound (memory bound)`
fn in_categories(cause: &Cause) -> Option<String> {
    let is_alone = named_parts(cause).count() == 1;
    let parts: Vec<String> = named_parts(cause)
        .enumerate()
        .map(|(index, part)| {
            let unit = if index == 0 { " points" } else { "" };
            let change = points(part.difference);
            let mostly = if is_alone {
                mostly(part)
            } else {
                String::new()
            };
            format!("{change}{unit} {}{mostly}", part.category.name())
        })
        .collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}

/// ` (memory bound)`, if that is nearly all of the part.
pub fn mostly(part: &CausePart) -> String {
    let is_most = |difference: f64| difference / part.difference >= NEARLY_ALL;
    let most = part
        .details
        .iter()
        .find(|detail| is_most(detail.difference));
    most.map_or(String::new(), |detail| format!(" ({})", detail.name))
}

fn moved(cause: &Cause) -> String {
    let by = |a: &&CausePart, b: &&CausePart| a.difference.total_cmp(&b.difference);
    let (Some(from), Some(to)) = (cause.parts.iter().min_by(by), cause.parts.iter().max_by(by))
    else {
        return "is not slower, but its slots moved".to_owned();
    };
    format!(
        "is not slower, but {} points moved from {} to {}{}",
        points(to.difference).trim_start_matches('+'),
        from.category.name(),
        to.category.name(),
        mostly(to)
    )
}

/// Says what took longer, and what that means.
fn disagrees(disagreement: &Disagreement, benchmark: &BenchmarkVerdict) -> String {
    let time = benchmark.effect(Metric::Wall).map_or(0.0, |e| e.difference);
    let meaning = match (benchmark.source, disagreement.code) {
        (SourceKind::Model, CodeChange::Same) => {
            "the same code ran, so look at the machine or the memory layout"
        }
        (SourceKind::Model, CodeChange::OtherData) => {
            "the same code ran, in another order or on other data"
        }
        (SourceKind::Model, CodeChange::Differs) => {
            "the model cannot explain it; trust the wall-clock time"
        }
        (SourceKind::Model, CodeChange::Unknown) => {
            "the model may miss the cause; trust the wall-clock time"
        }
        _ => "look at clock, steal, kernel or blocking, not at the pipeline",
    };
    format!(
        "{} at {}: {meaning}",
        change_in_words(Metric::Wall, time),
        slots_of(benchmark)
    )
}

/// Returns what a sentence calls a function.
pub fn function_name(function: &FunctionName) -> String {
    match &function.name {
        Some(_) if function.kind() == Some(FunctionKind::Loop) => "its closure".to_owned(),
        None => label_of(&function.name, &function.module),
        Some(_) => {
            let label = label_of(&function.name, &function.module);
            format!("`{}`", last_names(&label, MAX_NAME_COLUMNS))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::examples::compared;
    use topdown_gate::scenario::{self, Planted, modelled, with_functions};

    /// Returns the sentence on a benchmark that is 2.7 % slower, whose functions `load` and `wait`
    /// have these slots before and after.
    fn sentence_of(load: [u64; 2], wait: [u64; 2]) -> String {
        let side = |index: usize| {
            let planted = Planted {
                categories: [0.0, 0.0, 0.0, [0.0, 0.027][index]].into(),
                ..Planted::default()
            };
            let function = |name, slots: [u64; 2]| (Some(name), None, [slots[index], 0, 0, 0]);
            let functions = [
                function("suite::load", load),
                function("suite::get_debt", wait),
            ];
            scenario::run(vec![with_functions(modelled("m", planted), &functions)])
        };
        let comparison = compared(&side(0), &side(1));
        sentence(&comparison.benchmarks[0], "m")
    }

    #[test]
    fn moved_code_is_not_called_slower() {
        assert_eq!(
            sentence_of([800, 378], [200, 649]),
            "`m` is 2.7 % slower: 2.7 points in `get_debt` with code moved from `suite::load` \
             (backend bound)"
        );
        assert_eq!(
            sentence_of([800, 827], [200, 200]),
            "`m` is 2.7 % slower: 2.7 points in `suite::load` (backend bound)"
        );
    }

    #[test]
    fn category_that_fails_alone_is_named() {
        let side = |categories: [f64; 4]| {
            let planted = Planted {
                categories: categories.into(),
                ..Planted::default()
            };
            scenario::run(vec![modelled("m", planted)])
        };
        let sentence_after = |categories| {
            let comparison = compared(&side([0.0; 4]), &side(categories));
            let benchmark = &comparison.benchmarks[0];
            assert_eq!(benchmark.verdict, Verdict::Regressed);
            sentence(benchmark, "m")
        };
        assert_eq!(
            sentence_after([-0.010, 0.0, 0.0, 0.025]),
            "`m` is 1.5 % slower and fails on one category alone: +2.5 points backend bound \
             (memory bound)"
        );
        assert_eq!(
            sentence_after([0.0, 0.0, 0.0, 0.025]),
            "`m` is 2.5 % slower: +2.5 points backend bound (memory bound)"
        );
    }

    #[test]
    fn category_that_fails_alone_stands_beside_functions() {
        let side = |categories: [f64; 4], slots: u64| {
            let planted = Planted {
                categories: categories.into(),
                ..Planted::default()
            };
            let function = |name, slots| (Some(name), None, [slots, 0, 0, 0]);
            let functions = [
                function("suite::load", slots),
                function("suite::wait", 1000 - 400),
            ];
            scenario::run(vec![with_functions(modelled("m", planted), &functions)])
        };
        let comparison = compared(&side([0.0; 4], 400), &side([-0.010, 0.0, 0.0, 0.025], 415));
        assert_eq!(
            sentence(&comparison.benchmarks[0], "m"),
            "`m` is 1.5 % slower and fails on backend bound alone (+2.5 points): 1.5 points in \
             `suite::load` (backend bound)"
        );
    }

    #[test]
    fn line_follows_the_function_it_calls() {
        let run = |more| scenario::run(vec![scenario::with_call_paths("parse", more)]);
        let mut benchmark = compared(&run(0), &run(100)).benchmarks.remove(0);
        let text =
            |benchmark: &BenchmarkVerdict| caused(benchmark.cause.as_ref().unwrap(), benchmark);
        assert_eq!(
            text(&benchmark),
            "is 10.0 % slower: 10.0 points in `memcpy (libc.so.6)` (backend bound), called from \
             src/parse.rs:40"
        );
        let second = FunctionPart {
            functions: vec![FunctionName {
                name: Some("suite::parse::scan".to_owned()),
                module: None,
            }],
            called_from: None,
            ..benchmark.function_parts[0].clone()
        };
        benchmark.function_parts.insert(1, second);
        assert_eq!(
            text(&benchmark),
            "is 10.0 % slower: 10.0 points in `memcpy (libc.so.6)` (called from src/parse.rs:40), \
             10.0 in `parse::scan` (backend bound)"
        );
    }
}
