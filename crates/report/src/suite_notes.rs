//! Notes on a comparison as a whole. Each is one sentence of about a hundred letters.

use std::collections::BTreeSet;

use topdown_run::provenance::SourceKind;

use super::allocations;
use super::function_rows::advice_for_names;
use super::names::Names;
use super::number::{percent_change, slots};
use super::verdict_facts::{MAX_FUNCTIONS, per_iteration, reported_functions};
use super::verdict_sentence::function_name;
use topdown_gate::cold::{ColdChange, ColdVerdict, Initialisation};
use topdown_gate::metric::Metric;
use topdown_gate::selection::Exclusion;
use topdown_gate::verdict::{
    BenchmarkVerdict, CommonPart, Comparison, Counts, Effect, MachineShift, Method, MetricNoise,
    Outcome, Renamed, Rule, ShiftBasis, Uncounted, UndecidedReason, Verdict, shared_function,
};
use topdown_terminal::count_of;

/// The least drift between two runs that is reported.
const MIN_REPORTED_DRIFT: f64 = 0.01;

/// Returns the notes.
pub fn suite_notes(comparison: &Comparison) -> Vec<String> {
    let suite = &comparison.suite;
    let mut notes = Vec::new();
    let moved = |common: &CommonPart| common.low > 0.0 || common.high < 0.0;
    let moved = suite.global_slots_difference.filter(moved);
    if let Some(common) = moved {
        notes.push(suite_moved(common, comparison));
    }
    notes.extend(one_sided(comparison));
    notes.extend(renamed(comparison));
    notes.extend(more_allocations(comparison));
    notes.extend(uncounted_allocations(comparison));
    notes.extend(first_iterations(comparison));
    notes.extend(slower_over_time(comparison));
    notes.extend(relaunches(comparison));
    let exact = |b: &&BenchmarkVerdict| b.evidence.is_some_and(|e| e.method == Method::Exact);
    let decided_exactly = comparison.benchmarks.iter().filter(exact).count();
    if decided_exactly > 0 {
        let which = if decided_exactly == comparison.benchmarks.len() {
            "changes are exact".to_owned()
        } else {
            format!(
                "changes of {} are exact",
                count_of(decided_exactly, "benchmark")
            )
        };
        notes.push(format!(
            "{which}: modelled launches agree; time fails only if far longer"
        ));
    }
    notes.extend(same_code(comparison));
    let removed = suite.machine_shifts.iter().filter(|shift| shift.removed);
    notes.extend(removed.map(|shift| machine_shift(shift, comparison)));
    notes.extend(names(comparison));
    // In a suite that moved as a whole, the differences are not drift. If everything is exact, no
    // intervals are shown.
    let has_intervals = decided_exactly < comparison.benchmarks.len();
    let drifting = |noise: &&MetricNoise| {
        matches!(noise.metric, Metric::Slots | Metric::Wall)
            && moved.is_none()
            && has_intervals
            && noise
                .drift
                .is_some_and(|drift| drift.deviation >= MIN_REPORTED_DRIFT)
    };
    for noise in suite.noise.iter().filter(drifting) {
        let drift = noise.drift.unwrap_or_default();
        let percent = drift.deviation * 100.0;
        if drift.is_assumed {
            if comparison.benchmarks.iter().any(depends_on_drift) {
                notes.push(format!(
                    "slots are assumed to drift by {percent:.1} % between runs: too few \
                     benchmarks to measure it"
                ));
            }
            continue;
        }
        notes.push(format!(
            "{} drift by {percent:.1} % between runs{}; intervals include it, and more launches do \
             not help",
            match noise.metric {
                Metric::Wall => "times",
                _ => "slots",
            },
            match (drift.unchanged_benchmarks, drift.earlier_runs) {
                (0, 0) => String::new(),
                (0, runs) => format!(", as in {runs} earlier ones"),
                (unchanged, _) => format!(", as {unchanged} with the same machine code do"),
            },
        ));
    }
    notes
}

/// Says what may have moved all benchmarks, and which function most of them call.
fn suite_moved(common: CommonPart, comparison: &Comparison) -> String {
    let shared = shared_function(comparison, common.difference);
    let function = shared.map_or(String::new(), |shared| {
        let name = function_name(&shared.name);
        let changed = if common.difference > 0.0 {
            "grew"
        } else {
            "shrank"
        };
        let (some, all) = (shared.benchmarks, shared.of);
        format!("; {some} of {all} call {name}, which {changed}")
    });
    format!(
        "the whole suite moved by {} slots (median): compiler, flags or a common \
         dependency{function}",
        percent_change(common.difference)
    )
}

/// Returns whether another drift could give the benchmark another verdict.
fn depends_on_drift(benchmark: &BenchmarkVerdict) -> bool {
    let doubt = benchmark
        .undecided
        .as_ref()
        .map(|undecided| undecided.reason);
    matches!(benchmark.verdict, Verdict::Regressed | Verdict::Improved)
        || doubt == Some(UndecidedReason::DriftAssumed)
}

/// Names the benchmarks that allocate more and have no sentence that says so.
fn more_allocations(comparison: &Comparison) -> Option<String> {
    const MAX_NAMES: usize = 3;
    let has_no_sentence = |b: &&BenchmarkVerdict| match b.verdict {
        Verdict::Unchanged => true,
        Verdict::NotComparable => !comparison.differences.is_empty(),
        _ => false,
    };
    let names = Names::new(comparison);
    let reported: Vec<String> = comparison
        .benchmarks
        .iter()
        .filter(has_no_sentence)
        .filter_map(|b| Some((names.name(&b.id), b.grown_allocations()?)))
        .map(|(name, change)| format!("`{name}` {}", allocations::grown(change)))
        .collect();
    let more = match reported.len().saturating_sub(MAX_NAMES) {
        0 => String::new(),
        more => format!("; {more} more allocate more"),
    };
    let named = &reported[..reported.len().min(MAX_NAMES)];
    (!reported.is_empty()).then(|| named.join("; ") + &more)
}

/// Tells how first iterations that initialise something changed, largest changes first. They are no
/// part of what is judged.
fn first_iterations(comparison: &Comparison) -> Vec<String> {
    const MAX_NAMES: usize = 3;
    let is_changed = |change: &&ColdChange| change.verdict != ColdVerdict::Unchanged;
    let mut changed: Vec<&ColdChange> = comparison
        .first_iterations
        .iter()
        .filter(is_changed)
        .collect();
    let size = |change: &ColdChange| change.difference.map_or(f64::INFINITY, f64::abs);
    changed.sort_by(|a, b| size(b).total_cmp(&size(a)));
    let mut notes: Vec<String> = changed
        .iter()
        .take(MAX_NAMES)
        .map(|c| first_of(c))
        .collect();
    if let Some(more @ 1..) = changed.len().checked_sub(MAX_NAMES) {
        notes.push(format!(
            "first iterations of {} more changed: `first_iterations` of --json",
            count_of(more, "benchmark")
        ));
    }
    let unchanged = comparison.first_iterations.len() - changed.len();
    if unchanged > 0 {
        notes.push(format!(
            "{} initialise{} something in first iterations, which are left out and did not change",
            count_of(unchanged, "benchmark"),
            if unchanged == 1 { "s" } else { "" }
        ));
    }
    notes
}

/// `first iteration of `parse`: slower, +50.1 % (34.3M to 51.5M slots); left out of its verdict`.
fn first_of(change: &ColdChange) -> String {
    let which = |initialisation: &Initialisation| match initialisation.iterations {
        1 => "first iteration".to_owned(),
        count => format!("first {count} iterations"),
    };
    let (name, left_out) = (&change.id.name, "left out of its verdict");
    match (&change.baseline, &change.candidate) {
        (Some(before), Some(after)) => format!(
            "{} of `{name}`: {}, {} ({} to {} slots); {left_out}",
            which(after),
            match change.verdict {
                ColdVerdict::Slower => "slower",
                ColdVerdict::Faster => "faster",
                _ => "unchanged",
            },
            percent_change(change.difference.unwrap_or(0.0)),
            slots(before.slots),
            slots(after.slots),
        ),
        (None, Some(after)) => format!(
            "{} of `{name}` now initialises something: {} slots, later ones {}; {left_out}",
            which(after),
            slots(after.slots),
            slots(after.later_slots),
        ),
        (Some(before), None) => format!(
            "{} of `{name}` no longer initialises anything: was {} slots",
            which(before),
            slots(before.slots),
        ),
        (None, None) => String::new(),
    }
}

/// Returns what to do about allocations that gate but were not counted, once for each reason.
fn uncounted_allocations(comparison: &Comparison) -> BTreeSet<String> {
    let unknown = comparison.benchmarks.iter();
    let unknown = unknown.filter(|b| b.rule == Some(Rule::AllocationsUnknown));
    let remedy = |benchmark: &BenchmarkVerdict| {
        let has_slots = benchmark.effect(Metric::Slots).is_some();
        if !has_slots || benchmark.source != SourceKind::Model {
            return "only the model counts allocations: set the `gate` of other benchmarks \
                    (docs/margins.md)"
                .to_owned();
        }
        let baseline = &comparison.baseline.label;
        match benchmark.allocations_uncounted {
            Some(Uncounted::Candidate) => {
                "to count allocations, run `cargo topdown bench` without `--no-allocations`"
                    .to_owned()
            }
            Some(Uncounted::Baseline | Uncounted::Both) | None => {
                format!("to count allocations, take `{baseline}` again without `--no-allocations`")
            }
        }
    };
    unknown.map(remedy).collect()
}

fn relaunches(comparison: &Comparison) -> Option<String> {
    let again = comparison.benchmarks.iter().filter(|b| b.look > 1);
    let again: Vec<&BenchmarkVerdict> = again.collect();
    let most = |launches: fn(&BenchmarkVerdict) -> u32| {
        again.iter().map(|b| launches(b)).max().unwrap_or_default()
    };
    (!again.is_empty()).then(|| {
        format!(
            "{} looked slower and ran again, up to {}/{} launches; both looks share the error \
             probability",
            count_of(again.len(), "benchmark"),
            most(|b| b.baseline_launches.times),
            most(|b| b.candidate_launches.times)
        )
    })
}

fn machine_shift(shift: &MachineShift, comparison: &Comparison) -> String {
    let size = percent_change(shift.difference.abs());
    let size = size.trim_start_matches('+');
    let direction = if shift.difference > 0.0 {
        "slower"
    } else {
        "faster"
    };
    let median = format!("median of {}", count_of(shift.benchmarks, "benchmark"));
    match shift.basis {
        ShiftBasis::TimePerSlot => format!(
            "the machine ran {size} {direction} per slot ({median}); times are compared without \
             that"
        ),
        ShiftBasis::Time => {
            let has_slots = |verdict: &BenchmarkVerdict| verdict.effect(Metric::Slots).is_some();
            let which = if comparison.benchmarks.iter().any(has_slots) {
                "those without slots"
            } else {
                "everything"
            };
            format!("{which} ran {size} {direction} ({median}); times are compared without that")
        }
    }
}

/// Returns how to build for better names, once, if a sentence lacks a name that a build could
/// provide.
fn names(comparison: &Comparison) -> Option<String> {
    let reported = comparison.benchmarks.iter().filter(|b| b.cause.is_some());
    let advice = |benchmark: &BenchmarkVerdict| {
        let functions = reported_functions(benchmark).map(|change| (&change.name, &change.module));
        advice_for_names(functions, comparison.candidate.debug_information)
    };
    reported
        .filter(|b| b.verdict != Verdict::TimeDisagrees)
        .find_map(advice)
}

/// Describes what became slower in steps that each comparison passed.
pub fn slower_over_time(comparison: &Comparison) -> Option<String> {
    const MAX_NAMES: usize = 2;
    let all = &comparison.slower_over_time;
    let names = Names::new(comparison);
    let named: Vec<String> = all
        .iter()
        .take(MAX_NAMES)
        .map(|slower| {
            let since = match &slower.since.git_commit {
                Some(commit) => format!("commit {}", commit.chars().take(10).collect::<String>()),
                None => format!("run {}", slower.since.id),
            };
            let change = percent_change(slower.difference);
            format!("`{}` {change} since {since}", names.name(&slower.id))
        })
        .collect();
    let more = match all.len().saturating_sub(MAX_NAMES) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    (!all.is_empty()).then(|| {
        format!(
            "slower over time, in small steps: {}{more}; see `cargo topdown history`",
            named.join(", ")
        )
    })
}

/// Returns notes on the benchmarks that only the baseline has.
/// Says which missing benchmarks probably have a new name.
fn renamed(comparison: &Comparison) -> Vec<String> {
    const MAX_NAMES: usize = 3;
    let names = Names::new(comparison);
    let pair = |Renamed { missing, new }: &Renamed| {
        let [before, now] = [missing, new].map(|id| names.name(id));
        format!("`{before}` is probably now `{now}`: same code")
    };
    let all = &comparison.renamed;
    let mut notes: Vec<String> = all.iter().take(MAX_NAMES).map(pair).collect();
    if all.len() > MAX_NAMES {
        notes.push(format!(
            "{} more missing benchmarks probably have new names: `renamed` of --json",
            all.len() - MAX_NAMES
        ));
    }
    notes.extend(renamed_setting(all));
    notes
}

/// Returns the setting by which renamed benchmarks keep their history.
fn renamed_setting(all: &[Renamed]) -> Option<String> {
    let pair = |Renamed { missing, new }: &Renamed| {
        let is_beside = (&missing.package, &missing.target) == (&new.package, &new.target);
        let [before, now] = [missing, new].map(|id| match is_beside {
            true => id.name.clone(),
            false => id.to_string(),
        });
        // Both are written alike in TOML.
        format!("{before:?} = {now:?}")
    };
    // The pairs of others are written alike, and a note should not be a list.
    let others = if all.len() > 1 { ", …" } else { "" };
    all.first()
        .map(pair)
        .map(|pair| format!("to compare them, add the setting `renamed = {{ {pair}{others} }}`"))
}

fn one_sided(comparison: &Comparison) -> Vec<String> {
    let mut notes = Vec::new();
    let Counts {
        missing, not_run, ..
    } = comparison.counts;
    if missing > 0 && comparison.missing_fails {
        notes.push(
            "missing benchmarks should have run; if they were removed on purpose, pass \
             --allow-missing"
                .to_owned(),
        );
    }
    if comparison.outcome == Outcome::NothingDecided {
        notes.push("nothing decided is not a pass; --allow-nothing-decided accepts it".to_owned());
    }
    if not_run > 0 {
        let by = [
            Exclusion::Filter,
            Exclusion::Setting,
            Exclusion::Target,
            Exclusion::Shard,
            Exclusion::SameCode,
        ];
        let parts: Vec<String> = by
            .into_iter()
            .map(|by| (by, comparison.not_run.iter().filter(|n| n.by == by).count()))
            .filter(|(_, count)| *count > 0)
            .map(|(by, count)| format!("{count} {}", left_out_by(by)))
            .collect();
        notes.push(format!(
            "{} of `{}` {} not run: {}",
            count_of(not_run, "benchmark"),
            comparison.baseline.label,
            if not_run == 1 { "was" } else { "were" },
            parts.join(", ")
        ));
    }
    notes
}

/// Says what left a benchmark out.
pub fn left_out_by(by: Exclusion) -> &'static str {
    match by {
        Exclusion::Filter => "left out by the filter",
        Exclusion::Setting => "left out by the settings",
        Exclusion::Target => "in bench targets that were not selected",
        Exclusion::Shard => "in other shards",
        Exclusion::SameCode => "left out, because their machine code is the same",
    }
}

/// Returns notes on benchmarks that executed the same code as before.
fn same_code(comparison: &Comparison) -> Vec<String> {
    let same: Vec<&BenchmarkVerdict> = comparison
        .benchmarks
        .iter()
        .filter(|b| b.is_same_by_proof())
        .collect();
    let worse = |b: &BenchmarkVerdict| {
        let evidence = b.evidence?;
        if b.holds(Rule::Slower) {
            Some(b.main_effect()?.metric)
        } else {
            (evidence.time_disagrees || evidence.took_longer).then_some(Metric::Wall)
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
    let names = Names::new(comparison);
    let largest: Vec<String> = longer
        .iter()
        .take(MAX_FUNCTIONS)
        .map(|(b, effect)| {
            let change = percent_change(effect.difference);
            let name = names.name(&b.id);
            format!("`{name}` {change} {}", per_iteration(effect.metric))
        })
        .collect();
    let mut notes = Vec::new();
    if !same.is_empty() {
        notes.push(format!(
            "unchanged by proof: {} executed the same machine code on the same data",
            count_of(same.len(), "benchmark")
        ));
    }
    if !largest.is_empty() {
        notes.push(format!(
            "slower with identical machine code (not a failure): {}",
            largest.join(", ")
        ));
    }
    notes
}
