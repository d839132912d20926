//! The sentences about a comparison that all reports share.

use criterion_topdown::provenance::SourceKind;

use super::function_rows::{advice_for_names, label_of};
use super::number::{launches_in_words, percent_change, points};
use super::text::shortened;
use topdown_gate::comparability::{MODEL_VERSION, MODELLED_CORE};
use topdown_gate::metric::Metric;
use topdown_gate::selection::LeftOutBy;
use topdown_gate::statistics::outlook::MOST_LAUNCHES;
use topdown_gate::verdict::{
    BenchmarkVerdict, Cause, CauseKind, CodeChange, CommonPart, Comparison, Counts, Disagreement,
    Effect, FunctionChange, Method, MetricNoise, Outcome, Rule, RunSummary, ShiftBasis, Undecided,
    UndecidedReason, Verdict,
};

/// Parts of a difference that would be shown as 0.0 are omitted.
const LEAST_SHOWN_PART: f64 = 0.0005;
/// The least drift between two runs that is reported.
const LEAST_TOLD_DRIFT: f64 = 0.01;
/// The least part that is broken down to level 2.
const LEAST_DETAILED_PART: f64 = 0.01;

/// The least change of a function that is reported, as a fraction of the whole.
const LEAST_FUNCTION: f64 = 0.005;
/// At most this many functions are reported.
const MOST_FUNCTIONS: usize = 3;
/// Columns of a function's name.
const LONGEST_FUNCTION: usize = 60;

/// What to do about runs that cannot be compared.
pub const REMEDY: &str = "take the baseline again on this machine with this build: \
                          `cargo topdown bench --save NAME`; a change of rustc or RUSTFLAGS alone \
                          can be measured with --across-builds";

/// The overall verdict in one line: a word, and the rest.
pub struct Headline {
    /// `REGRESSED`, `PASSED` …
    pub word: &'static str,
    /// The class whose style the word has.
    pub class: Verdict,
    /// The rest of the line.
    pub rest: String,
}

/// Returns the overall verdict.
pub fn headline(comparison: &Comparison) -> Headline {
    let Comparison {
        outcome, counts, ..
    } = comparison;
    let baseline = &comparison.baseline.label;
    let all = comparison.benchmarks.len();
    let failing_by_time = comparison
        .benchmarks
        .iter()
        .filter(|b| b.verdict == Verdict::TimeDisagrees && comparison.fails(b))
        .count();
    let (word, class, rest) = match outcome {
        Outcome::Failed if failing_by_time > 0 => (
            "TIME DISAGREES",
            Verdict::TimeDisagrees,
            format!(
                "{failing_by_time} of {} took far longer than in `{baseline}`, and the slots do not \
                 show it{}",
                benchmarks(all),
                match counts.regressed {
                    0 => String::new(),
                    more => format!("; {more} regressed"),
                }
            ),
        ),
        Outcome::Failed if counts.regressed > 0 => (
            "REGRESSED",
            Verdict::Regressed,
            format!(
                "{} of {} slower than `{baseline}`",
                counts.regressed,
                benchmarks(all)
            ),
        ),
        Outcome::Failed if comparison.missing_fails && counts.missing > 0 => (
            "FAILED",
            Verdict::Regressed,
            format!(
                "{} of `{baseline}` {} missing",
                benchmarks(counts.missing),
                if counts.missing == 1 { "is" } else { "are" }
            ),
        ),
        Outcome::Failed => (
            "FAILED",
            Verdict::Regressed,
            "nothing regressed, but the policy fails on what is listed below".to_owned(),
        ),
        Outcome::NotComparable if all == 0 => (
            "NOT COMPARABLE",
            Verdict::NotComparable,
            format!("no benchmark in common with `{baseline}`"),
        ),
        Outcome::NotComparable => (
            "NOT COMPARABLE",
            Verdict::NotComparable,
            format!(
                "{} of {} cannot be compared with `{baseline}`",
                counts.not_comparable,
                benchmarks(all)
            ),
        ),
        Outcome::Inconclusive => (
            "INCONCLUSIVE",
            Verdict::Inconclusive,
            format!(
                "{} of {} undecided, which the policy counts as a failure",
                counts.inconclusive,
                benchmarks(all)
            ),
        ),
        Outcome::Passed if all == 0 => (
            "PASSED",
            Verdict::Unchanged,
            format!(
                "nothing had to be launched: {} the same machine code as in `{baseline}`",
                match counts.same_code {
                    1 => "1 benchmark executes".to_owned(),
                    count => format!("{count} benchmarks execute"),
                }
            ),
        ),
        Outcome::Passed if counts.decided == 0 => (
            "NOTHING DECIDED",
            Verdict::Inconclusive,
            format!("none of {} against `{baseline}`", benchmarks(all)),
        ),
        Outcome::Passed if 2 * counts.decided < all => (
            "MOSTLY UNDECIDED",
            Verdict::Inconclusive,
            format!(
                "nothing regressed, but only {} decided against `{baseline}`",
                share(counts.decided, all)
            ),
        ),
        Outcome::Passed if counts.decided < all => (
            "PASSED",
            Verdict::Improved,
            format!(
                "nothing regressed in {} against `{baseline}`; {} undecided",
                share(counts.decided, all),
                all - counts.decided
            ),
        ),
        Outcome::Passed => (
            "PASSED",
            Verdict::Improved,
            format!(
                "nothing regressed in {} against `{baseline}`",
                benchmarks(all)
            ),
        ),
    };
    Headline { word, class, rest }
}

/// `11 of 84 benchmarks (13 %)`.
fn share(part: usize, all: usize) -> String {
    // Rounded down, so that 100 % means all of them.
    format!("{part} of {} ({} %)", benchmarks(all), 100 * part / all)
}

/// `3 regressed`, `1 shifted` …, without zero counts.
pub fn counted(counts: &Counts) -> Vec<String> {
    [
        (counts.time_disagrees, "time disagrees"),
        (counts.regressed, "regressed"),
        (counts.not_comparable, "not comparable"),
        (counts.accepted, "accepted"),
        (counts.shifted, "shifted"),
        (counts.inconclusive, "inconclusive"),
        (counts.improved, "improved"),
        (counts.unchanged, "unchanged"),
        (counts.new, "new"),
        (counts.missing, "missing"),
        (counts.not_run, "not run"),
        (counts.slower_over_time, "slower over time"),
    ]
    .into_iter()
    .filter(|(count, _)| *count > 0)
    .map(|(count, name)| format!("{count} {name}"))
    .collect()
}

/// Returns notes on the suite as a whole.
pub fn suite_notes(comparison: &Comparison) -> Vec<String> {
    let suite = &comparison.suite;
    let mut notes = Vec::new();
    let moved = |common: &CommonPart| common.low > 0.0 || common.high < 0.0;
    let moved = suite.global_slots_difference.filter(moved);
    if let Some(common) = moved {
        notes.push(format!(
            "the whole suite moved by {} slots (median; 95 % interval {} to {}): a global change such \
             as the compiler, its flags or a common dependency",
            percent_change(common.difference),
            percent_change(common.low),
            percent_change(common.high)
        ));
    }
    notes.extend(one_sided_notes(comparison));
    notes.extend(slower_over_time(comparison));
    let again: Vec<&BenchmarkVerdict> = comparison
        .benchmarks
        .iter()
        .filter(|benchmark| benchmark.look > 1)
        .collect();
    if !again.is_empty() {
        let most = |launches: fn(&BenchmarkVerdict) -> u32| {
            again.iter().map(|b| launches(b)).max().unwrap_or_default()
        };
        notes.push(format!(
            "{} looked slower without being certain and ran again, to {}/{} launches; the error \
             probability is split between the two looks",
            benchmarks(again.len()),
            most(|b| b.baseline_launches.times),
            most(|b| b.candidate_launches.times)
        ));
    }
    let exact = |b: &&BenchmarkVerdict| b.evidence.is_some_and(|e| e.method == Method::Exact);
    let decided_exactly = comparison.benchmarks.iter().filter(exact).count();
    if decided_exactly > 0 {
        notes.push(format!(
            "decided exactly: {}, whose modelled launches agree bit for bit; wall-clock time is \
             shown, and fails only what took far longer than the slots say",
            benchmarks(decided_exactly)
        ));
    }
    notes.extend(same_code_note(comparison));
    if let Some(shift) = suite.machine_shift.filter(|shift| shift.removed) {
        let direction = if shift.difference > 0.0 {
            "slower"
        } else {
            "faster"
        };
        let size = percent_change(shift.difference.abs());
        notes.push(match shift.basis {
            ShiftBasis::TimePerSlot => format!(
                "the machine ran {} {direction} per slot on everything (median of {}); wall \
                 times are compared without it",
                size.trim_start_matches('+'),
                benchmarks(shift.benchmarks)
            ),
            ShiftBasis::Time => format!(
                "everything ran {} {direction} (median of {}): the machine or a global \
                 change; times are compared without it",
                size.trim_start_matches('+'),
                benchmarks(shift.benchmarks)
            ),
        });
    }
    notes.extend(names_note(comparison));
    // In a suite that moved as a whole, the differences are not drift. If everything is exact, no
    // intervals are shown.
    let has_intervals = decided_exactly < comparison.benchmarks.len();
    let drifting = |noise: &&MetricNoise| {
        matches!(noise.metric, Metric::Slots | Metric::Wall)
            && moved.is_none()
            && has_intervals
            && noise
                .drift
                .is_some_and(|drift| drift.deviation >= LEAST_TOLD_DRIFT)
    };
    for noise in suite.noise.iter().filter(drifting) {
        notes.push(format!(
            "between the two runs {} of a benchmark drifts by {:.1} %{}, beyond what launches of one \
             run differ by; intervals include that, and more launches do not shrink it",
            match noise.metric {
                Metric::Wall => "the time",
                _ => "the number of slots",
            },
            noise.drift.map_or(0.0, |drift| drift.deviation) * 100.0,
            match noise.drift.map_or(0, |drift| drift.earlier_runs) {
                0 => String::new(),
                runs => format!(", as {runs} earlier runs do"),
            },
        ));
    }
    notes
}

/// Returns how to build for better names, once, if a sentence below lacks a name that a build could
/// provide.
fn names_note(comparison: &Comparison) -> Option<String> {
    let told = comparison.benchmarks.iter().filter(|b| b.cause.is_some());
    let advice = |benchmark: &BenchmarkVerdict| {
        advice_for_names(told_functions(benchmark).map(|change| (&change.name, &change.module)))
    };
    told.filter(|b| b.verdict != Verdict::TimeDisagrees)
        .find_map(advice)
}

/// Describes what became slower in steps that each comparison passed.
pub fn slower_over_time(comparison: &Comparison) -> Option<String> {
    const MOST_NAMES: usize = 5;
    let all = &comparison.slower_over_time;
    let named: Vec<String> = all
        .iter()
        .take(MOST_NAMES)
        .map(|slower| {
            let since = match &slower.since.git_commit {
                Some(commit) => format!("commit {}", commit.chars().take(10).collect::<String>()),
                None => format!("run {}", slower.since.id),
            };
            let day: String = slower.since.started_at.chars().take(10).collect();
            format!(
                "{} {} since {since} of {day}",
                slower.id.name,
                percent_change(slower.difference)
            )
        })
        .collect();
    let more = match all.len().saturating_sub(MOST_NAMES) {
        0 => String::new(),
        more => format!("; and {more} more"),
    };
    (!all.is_empty()).then(|| {
        format!(
            "{} became slower over time, in steps that each comparison let pass: {}{more}; \
             `cargo topdown history` shows where",
            benchmarks(all.len()),
            named.join("; ")
        )
    })
}

/// Returns notes on the benchmarks that only the baseline has.
fn one_sided_notes(comparison: &Comparison) -> Vec<String> {
    let mut notes = Vec::new();
    let Counts {
        missing, not_run, ..
    } = comparison.counts;
    if missing > 0 && comparison.missing_fails {
        notes.push(
            "what is missing should have run; if it was removed on purpose, pass \
             --allow-missing until the baseline is saved again"
                .to_owned(),
        );
    }
    if not_run > 0 {
        let by = [
            LeftOutBy::Filter,
            LeftOutBy::Setting,
            LeftOutBy::Target,
            LeftOutBy::Shard,
            LeftOutBy::SameCode,
        ];
        let parts: Vec<String> = by
            .into_iter()
            .map(|by| (by, comparison.not_run.iter().filter(|n| n.by == by).count()))
            .filter(|(_, count)| *count > 0)
            .map(|(by, count)| format!("{count} {}", left_out_by(by)))
            .collect();
        notes.push(format!(
            "{} of `{}` {} not run: {}",
            benchmarks(not_run),
            comparison.baseline.label,
            if not_run == 1 { "was" } else { "were" },
            parts.join(", ")
        ));
    }
    notes
}

/// Says what left a benchmark out.
pub fn left_out_by(by: LeftOutBy) -> &'static str {
    match by {
        LeftOutBy::Filter => "left out by the filter",
        LeftOutBy::Setting => "left out by the settings",
        LeftOutBy::Target => "in bench targets that were not selected",
        LeftOutBy::Shard => "in other shards",
        LeftOutBy::SameCode => "left out, since the same machine code is executed",
    }
}

/// Returns the effect that the verdict is about.
fn told_effect(benchmark: &BenchmarkVerdict) -> Option<&Effect> {
    match benchmark.verdict {
        Verdict::TimeDisagrees => benchmark.effect(Metric::Wall),
        _ => benchmark.main_effect(),
    }
}

/// Returns the benchmarks of a class, those that changed most first.
pub fn members(comparison: &Comparison, class: Verdict) -> Vec<&BenchmarkVerdict> {
    let mut members: Vec<&BenchmarkVerdict> = comparison
        .benchmarks
        .iter()
        .filter(|benchmark| benchmark.verdict == class)
        .collect();
    members.sort_by(|a, b| {
        let size = |v: &BenchmarkVerdict| told_effect(v).map_or(0.0, |e| e.difference.abs());
        size(b).total_cmp(&size(a)).then(a.id.cmp(&b.id))
    });
    members
}

/// Returns all benchmarks: worst class first, and within a class the largest increase first.
pub fn worst_first(comparison: &Comparison) -> Vec<&BenchmarkVerdict> {
    let mut rows: Vec<&BenchmarkVerdict> = comparison.benchmarks.iter().collect();
    rows.sort_by(|a, b| {
        let size = |v: &BenchmarkVerdict| told_effect(v).map_or(0.0, |e| e.difference);
        a.verdict
            .cmp(&b.verdict)
            .then(size(b).total_cmp(&size(a)))
            .then(a.id.cmp(&b.id))
    });
    rows
}

/// `1 benchmark`, `2 benchmarks`.
pub fn benchmarks(count: usize) -> String {
    match count {
        1 => "1 benchmark".to_owned(),
        count => format!("{count} benchmarks"),
    }
}

/// `main`, 10 launches, start, machine, commit.
pub fn run_in_short(run: &RunSummary) -> String {
    let mut words = vec![
        format!("`{}`", run.label),
        launches_in_words(run.launches, run.modelled_launches),
        run.started_at.clone(),
        run.machine.clone(),
    ];
    words.extend(run.selection.clone());
    if let Some(commit) = &run.git_commit {
        let short: String = commit.chars().take(10).collect();
        let dirty = if run.git_dirty == Some(true) {
            " with changes"
        } else {
            ""
        };
        words.push(format!("commit {short}{dirty}"));
    }
    words.join(", ")
}

/// Returns the sentence about one benchmark.
pub fn sentence(benchmark: &BenchmarkVerdict) -> String {
    let text = sentence_without_elsewhere(benchmark);
    match benchmark.elsewhere {
        Some(elsewhere) if !text.is_empty() => {
            format!("{text}; judged by time alone: {elsewhere}")
        }
        _ => text,
    }
}

fn sentence_without_elsewhere(benchmark: &BenchmarkVerdict) -> String {
    match (&benchmark.cause, &benchmark.undecided) {
        _ if benchmark.verdict == Verdict::NotComparable => benchmark
            .differences
            .iter()
            .map(ToString::to_string)
            .chain(model_remedy(benchmark))
            .collect::<Vec<_>>()
            .join("; "),
        (Some(cause), _) => {
            let accepted = benchmark.accepted.as_ref();
            let reason = accepted.map_or(String::new(), |reason| format!("; accepted: {reason}"));
            let disagreement = benchmark.disagreement.as_ref();
            let what = match (benchmark.verdict, disagreement) {
                (Verdict::TimeDisagrees, Some(disagreement)) => {
                    disagreement_sentence(disagreement, benchmark)
                }
                _ => cause_sentence(cause, benchmark) + &in_functions(benchmark),
            };
            let time = disagreement
                .filter(|_| benchmark.verdict == Verdict::Regressed)
                .and(benchmark.effect(Metric::Wall));
            let time = time.map_or(String::new(), |wall| {
                let change = percent_change(wall.difference);
                format!("; time grew by far more ({change}) than the slots show")
            });
            what + &code_sentence(benchmark) + &time + &reason
        }
        (None, Some(undecided)) => undecided_sentence(undecided, benchmark),
        (None, None) => String::new(),
    }
}

/// Returns what to do if the models differ.
fn model_remedy(benchmark: &BenchmarkVerdict) -> Option<String> {
    let differs = |field| benchmark.differences.iter().find(|d| d.field == field);
    if differs(MODEL_VERSION).is_some() {
        return Some("take the baseline again with this version".to_owned());
    }
    let core = &differs(MODELLED_CORE)?.baseline;
    Some(format!(
        "`--model-core {}` models the core of the baseline",
        core.trim_matches('`')
    ))
}

fn cause_sentence(cause: &Cause, benchmark: &BenchmarkVerdict) -> String {
    let unit = per_iteration(cause.metric);
    let change = format!("{} {unit}", percent_change(cause.difference));
    let parts = parts(cause);
    match cause.kind {
        CauseKind::Category { .. } => format!("{change}: {parts}"),
        CauseKind::Spread => format!("{change}, spread over several categories: {parts}"),
        CauseKind::Moved => format!("slots moved at {change}: {parts}"),
        CauseKind::TimePerSlot { difference } => {
            let slots = benchmark
                .effect(Metric::Slots)
                .map_or(0.0, |effect| effect.difference);
            format!(
                "{change} at {} slots: each slot took {} longer; look at clock, steal, kernel or \
                 blocking, not at the pipeline",
                percent_change(slots),
                percent_change(difference).trim_start_matches('+')
            )
        }
        CauseKind::Unknown if benchmark.coarse.is_some() => {
            format!("{change}; the categories are too coarse to say why")
        }
        CauseKind::Unknown if benchmark.elsewhere.is_some() => change,
        CauseKind::Unknown => format!("{change}; there are no slots to say why"),
    }
}

/// Says what took longer, whether the machine or the code explains it, and what to do.
fn disagreement_sentence(disagreement: &Disagreement, benchmark: &BenchmarkVerdict) -> String {
    let change_of = |metric| {
        let effect = benchmark.effect(metric);
        percent_change(effect.map_or(0.0, |effect| effect.difference))
    };
    let mut text = format!(
        "{} time/iter at {} slots",
        change_of(Metric::Wall),
        change_of(Metric::Slots)
    );
    match disagreement.machine_difference {
        Some(machine) => text.push_str(&format!(
            "; the machine does not explain it ({} per slot, median of the suite)",
            percent_change(machine)
        )),
        None => text.push_str("; too few benchmarks to tell whether the machine is slower"),
    }
    text.push_str(match (benchmark.source, disagreement.code) {
        (SourceKind::Model, CodeChange::Same) => {
            "; the same code ran, so look at the machine or the memory layout"
        }
        (SourceKind::Model, CodeChange::OtherData) => {
            "; the same code ran, in another order or on data in other places"
        }
        (SourceKind::Model, CodeChange::Differs) => {
            "; the code changed, in a way that the model does not see: believe the time"
        }
        (SourceKind::Model, CodeChange::Unknown) => {
            "; the model may not see what changed: believe the time"
        }
        _ => "; look at clock, steal, kernel or blocking, not at the pipeline",
    });
    let can_fail = benchmark.source == SourceKind::Model
        && matches!(disagreement.code, CodeChange::Differs | CodeChange::Unknown);
    if can_fail && disagreement.time_difference < disagreement.least_failing {
        let limit = disagreement.least_failing * 100.0;
        text.push_str(&format!(" (fails from +{limit:.0} % on)"));
    }
    text
}

/// `backend bound +7.9 (memory bound +7.2, core bound +0.7), frontend bound +0.3`
fn parts(cause: &Cause) -> String {
    let shown = |difference: f64| difference.abs() >= LEAST_SHOWN_PART;
    cause
        .parts
        .iter()
        .filter(|part| shown(part.difference))
        .map(|part| {
            let mut text = format!("{} {}", part.category.name(), points(part.difference));
            let details: Vec<String> = part
                .details
                .iter()
                .filter(|detail| shown(detail.difference))
                .map(|detail| format!("{} {}", detail.name, points(detail.difference)))
                .collect();
            if part.difference.abs() >= LEAST_DETAILED_PART && !details.is_empty() {
                text.push_str(&format!(" ({})", details.join(", ")));
            }
            text
        })
        .collect::<Vec<_>>()
        .join(", ")
}

/// Returns the functions that a sentence names.
fn told_functions(benchmark: &BenchmarkVerdict) -> impl Iterator<Item = &FunctionChange> {
    let changed = |change: &&FunctionChange| change.difference.abs() >= LEAST_FUNCTION;
    benchmark
        .functions
        .iter()
        .filter(changed)
        .take(MOST_FUNCTIONS)
}

/// `; in parse::number +9.1, malloc (libc.so.6) +0.6`, as parts of the same whole as the
/// categories.
fn in_functions(benchmark: &BenchmarkVerdict) -> String {
    let changes: Vec<String> = told_functions(benchmark)
        .map(|change| {
            let label = label_of(&change.name, &change.module);
            let label = shortened(&label, LONGEST_FUNCTION, true);
            format!("{label} {}", points(change.difference))
        })
        .collect();
    match changes.is_empty() {
        true => String::new(),
        false => format!("; in {}", changes.join(", ")),
    }
}

/// Says whether the code changed, if that is known for certain.
fn code_sentence(benchmark: &BenchmarkVerdict) -> String {
    let Some(executed) = &benchmark.executed else {
        return String::new();
    };
    match executed.change {
        CodeChange::Unknown => String::new(),
        CodeChange::Same => "; the same instructions ran on the same data".to_owned(),
        CodeChange::OtherData => {
            "; the same instructions ran, in another order or on data in other places".to_owned()
        }
        CodeChange::Differs => {
            let named = executed
                .functions
                .iter()
                .take(MOST_FUNCTIONS)
                .map(|function| {
                    let label = label_of(&function.name, &function.module);
                    shortened(&label, LONGEST_FUNCTION, true)
                });
            let named: Vec<String> = named.collect();
            let all = executed.functions.len() + executed.more_functions;
            let more = match all - named.len() {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            format!("; code differs in {}{more}", named.join(", "))
        }
    }
}

/// Returns a note on benchmarks that executed the same code as before.
fn same_code_note(comparison: &Comparison) -> Option<String> {
    let same: Vec<&BenchmarkVerdict> = comparison
        .benchmarks
        .iter()
        .filter(|b| b.is_same_by_proof())
        .collect();
    let worse = |b: &BenchmarkVerdict| {
        let evidence = b.evidence?;
        match b.holds(Rule::Slower) {
            true => Some(b.main_effect()?.metric),
            false => (evidence.time_disagrees || evidence.took_longer).then_some(Metric::Wall),
        }
    };
    let mut longer: Vec<(&BenchmarkVerdict, &Effect)> = same
        .iter()
        .filter_map(|b| Some((*b, b.effect(worse(b)?)?)))
        .collect();
    longer.sort_by(|(a, x), (b, y)| {
        let order = y.difference.total_cmp(&x.difference);
        order.then(a.id.cmp(&b.id))
    });
    let largest: Vec<String> = longer
        .iter()
        .take(MOST_FUNCTIONS)
        .map(|(b, effect)| {
            let change = percent_change(effect.difference);
            format!("`{}` {change} {}", b.id, per_iteration(effect.metric))
        })
        .collect();
    (!same.is_empty()).then(|| {
        let differences = match largest.is_empty() {
            true => String::new(),
            false => format!(
                "; what grew is due to the machine, to where code lies in memory or to the values that \
                 it works on, and fails nothing: {}",
                largest.join(", ")
            ),
        };
        format!(
            "unchanged by proof: {} executed the same machine code on the same data{differences}",
            benchmarks(same.len())
        )
    })
}

fn per_iteration(metric: Metric) -> &'static str {
    match metric {
        Metric::Wall => "time/iter",
        _ => "slots/iter",
    }
}

fn undecided_sentence(undecided: &Undecided, benchmark: &BenchmarkVerdict) -> String {
    let interval = |effect: &Effect| {
        effect.interval.map_or(String::new(), |interval| {
            format!(" [{}, {}]", points(interval.low), points(interval.high))
        })
    };
    let change = benchmark.main_effect().map_or(String::new(), |effect| {
        let change = percent_change(effect.difference);
        format!("{change}{}: ", interval(effect))
    });
    let deviation = format!("launch sd {:.1} %", undecided.launch_deviation * 100.0);
    // With the first number about half of the runs are decided, with the second about three
    // quarters.
    let needs = match (undecided.launches_needed, undecided.launches_enough) {
        (Some(half), Some(most)) if half < most => {
            format!("needs {half} to {most} launches a side")
        }
        (Some(_), Some(most)) => format!("needs {most} launches a side"),
        (Some(half), None) => format!("needs {half} launches a side or more"),
        (None, _) => String::new(),
    };
    let chance = undecided.decided_by_most_fraction.map(|_| {
        format!("even {MOST_LAUNCHES} launches a side decide less than half of such cases")
    });
    match (undecided.reason, undecided.launches_needed) {
        (UndecidedReason::MachineOrGlobalChange, _) => {
            format!("{change}no slower than the whole suite: the machine or a global change")
        }
        (UndecidedReason::TimeLooksLonger, launches) => {
            let time = benchmark
                .effect(Metric::Wall)
                .map_or(String::new(), |wall| {
                    let change = percent_change(wall.difference);
                    format!("{change} time/iter{}", interval(wall))
                });
            let slots = benchmark
                .main_effect()
                .map_or(String::new(), |slots| percent_change(slots.difference));
            let advice = match (launches, &chance) {
                (None, None) => format!("too noisy to gate ({deviation})"),
                (None, Some(chance)) => format!("{chance} ({deviation})"),
                (Some(_), _) => format!("{needs} ({deviation})"),
            };
            format!("{time} at {slots} slots: the time looks longer; {advice}")
        }
        (UndecidedReason::DriftUnknown, _) => format!(
            "{change}the time of so few benchmarks does not tell a change from the machine's drift; \
             `cargo topdown bench --against` does"
        ),
        (UndecidedReason::NotGated, _) => {
            let metric = benchmark.main_effect().map_or("it", |e| e.metric.name());
            format!("{change}it grew, and the policy lets {metric} fail nothing here")
        }
        (UndecidedReason::MostlyWindows, _) => format!(
            "{change}more than half of its slots are the cost of its windows; give `iter_batched` larger \
             batches"
        ),
        (UndecidedReason::Margin, _) => format!(
            "{change}lies at the margin; no number of launches is likely to tell on which side"
        ),
        (UndecidedReason::Drift, _) => format!(
            "{change}the runs drift too far apart for any number of launches; `cargo topdown bench \
             --against` has no drift"
        ),
        (UndecidedReason::OneLaunch, Some(_)) => {
            format!("{change}one launch decides nothing; {needs}")
        }
        (_, Some(_)) => format!("{change}{needs} ({deviation})"),
        (_, None) => match chance {
            Some(chance) => format!("{change}{chance} ({deviation})"),
            None => format!("{change}too noisy to gate ({deviation})"),
        },
    }
}
