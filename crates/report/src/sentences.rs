//! Sentences of all reports about a comparison as a whole, and the order of its benchmarks.

use super::number::launches_made;
use topdown_gate::metric::Metric;
use topdown_gate::verdict::{
    BenchmarkVerdict, Comparison, Counts, Effect, Outcome, Rule, RunSummary, Verdict,
};
use topdown_terminal::count_of;

/// Returns what to do if the runs cannot be compared.
pub fn remedy(comparison: &Comparison) -> Option<&'static str> {
    let differences = &comparison.differences;
    let is_of_build = |field: &str| matches!(field, "rustc" | "RUSTFLAGS");
    if differences.is_empty() || comparison.becomes_baseline {
        None
    } else if differences.iter().all(|d| is_of_build(&d.field)) {
        Some("retake the baseline with `cargo topdown bench --save NAME`, or pass --across-builds")
    } else {
        Some("retake the baseline here with `cargo topdown bench --save NAME`")
    }
}

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
    let nothing_decided = || {
        let rest = format!("none of {} is decided", count_of(all, "benchmark"));
        ("NOTHING DECIDED", Verdict::Inconclusive, rest)
    };
    let (word, class, rest) = match outcome {
        Outcome::NotComparable if comparison.becomes_baseline => (
            "NEW BASELINE",
            Verdict::Accepted,
            format!(
                "nothing failed; {}, and this run replaces it",
                not_compared(comparison)
            ),
        ),
        Outcome::Failed if failing_by_time > 0 => (
            "TIME DISAGREES",
            Verdict::TimeDisagrees,
            format!(
                "{failing_by_time} of {} took far longer than in `{baseline}` at the same slots{}",
                count_of(all, "benchmark"),
                match counts.regressed {
                    0 => String::new(),
                    more => format!("; {more} regressed"),
                }
            ),
        ),
        Outcome::Failed if counts.regressed > 0 => {
            ("REGRESSED", Verdict::Regressed, regressed(comparison))
        }
        Outcome::Failed if comparison.missing_fails && counts.missing > 0 => (
            "FAILED",
            Verdict::Regressed,
            format!(
                "{} of `{baseline}` {} missing",
                count_of(counts.missing, "benchmark"),
                if counts.missing == 1 { "is" } else { "are" }
            ),
        ),
        Outcome::Failed => (
            "FAILED",
            Verdict::Regressed,
            "nothing regressed, but the policy fails on other verdicts here".to_owned(),
        ),
        Outcome::NotComparable => (
            "NOT COMPARABLE",
            Verdict::NotComparable,
            not_compared(comparison),
        ),
        Outcome::Inconclusive => (
            "INCONCLUSIVE",
            Verdict::Inconclusive,
            format!(
                "{} of {} are undecided, and the policy fails on that",
                counts.inconclusive,
                count_of(all, "benchmark")
            ),
        ),
        Outcome::Passed if all == 0 => (
            "PASSED",
            Verdict::Unchanged,
            format!(
                "nothing to launch: {} the same machine code as in `{baseline}`",
                match counts.same_code {
                    1 => "1 benchmark executes".to_owned(),
                    count => format!("{count} benchmarks execute"),
                }
            ),
        ),
        Outcome::NothingDecided => nothing_decided(),
        Outcome::Passed if counts.has_no_evidence() => nothing_decided(),
        Outcome::Passed if 2 * counts.decided < all => (
            "MOSTLY UNDECIDED",
            Verdict::Inconclusive,
            format!(
                "nothing regressed, but only {} are decided",
                share(counts.decided, all)
            ),
        ),
        Outcome::Passed if counts.decided < all => (
            "PASSED",
            Verdict::Improved,
            format!(
                "nothing regressed in {} since `{baseline}`; {} undecided",
                share(counts.decided, all),
                all - counts.decided
            ),
        ),
        Outcome::Passed => (
            "PASSED",
            Verdict::Improved,
            format!(
                "nothing regressed in {} since `{baseline}`",
                count_of(all, "benchmark")
            ),
        ),
    };
    Headline { word, class, rest }
}

/// `2 of 3 benchmarks cannot be compared with `main``.
fn not_compared(comparison: &Comparison) -> String {
    let baseline = &comparison.baseline.label;
    match comparison.benchmarks.len() {
        0 => format!("no benchmark in common with `{baseline}`"),
        all => format!(
            "{} of {} cannot be compared with `{baseline}`",
            comparison.counts.not_comparable,
            count_of(all, "benchmark")
        ),
    }
}

/// `1 of 3 benchmarks is slower than `main``, or allocates more, or some of both.
fn regressed(comparison: &Comparison) -> String {
    let (baseline, all) = (&comparison.baseline.label, comparison.benchmarks.len());
    let benchmarks = comparison.benchmarks.iter();
    let more_allocations = benchmarks
        .filter(|b| b.rule == Some(Rule::AllocatesMore))
        .count();
    let slower = comparison.counts.regressed - more_allocations;
    let verb = if more_allocations == 1 {
        "allocates"
    } else {
        "allocate"
    };
    if slower == 0 {
        let all = count_of(all, "benchmark");
        return format!("{more_allocations} of {all} {verb} more than in `{baseline}`");
    }
    let also = match more_allocations {
        0 => String::new(),
        count => format!("; {count} {verb} more"),
    };
    format!(
        "{slower} of {} {} slower than `{baseline}`{also}",
        count_of(all, "benchmark"),
        if slower == 1 { "is" } else { "are" }
    )
}

/// `11 of 84 benchmarks (13 %)`.
fn share(part: usize, all: usize) -> String {
    // Rounded down, so that 100 % means all of them.
    format!(
        "{part} of {} ({} %)",
        count_of(all, "benchmark"),
        100 * part / all
    )
}

/// `3 regressed`, `1 shifted` …, without zero counts.
pub fn counted(counts: &Counts) -> Vec<String> {
    [
        (counts.time_disagrees, "time disagrees"),
        (counts.regressed, "regressed"),
        (counts.not_comparable, "not comparable"),
        (counts.accepted, "accepted"),
        (counts.sometimes_slower, Verdict::SometimesSlower.name()),
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

/// Returns the effect that the verdict is about.
fn reported_effect(benchmark: &BenchmarkVerdict) -> Option<&Effect> {
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
        let size = |v: &BenchmarkVerdict| reported_effect(v).map_or(0.0, |e| e.difference.abs());
        size(b).total_cmp(&size(a)).then(a.id.cmp(&b.id))
    });
    members
}

/// Returns all benchmarks: worst class first, and within a class the largest increase first.
pub fn worst_first(comparison: &Comparison) -> Vec<&BenchmarkVerdict> {
    let mut rows: Vec<&BenchmarkVerdict> = comparison.benchmarks.iter().collect();
    rows.sort_by(|a, b| {
        let size = |v: &BenchmarkVerdict| reported_effect(v).map_or(0.0, |e| e.difference);
        a.verdict
            .cmp(&b.verdict)
            .then(size(b).total_cmp(&size(a)))
            .then(a.id.cmp(&b.id))
    });
    rows
}

/// `main`, 10 launches, start, machine, commit.
pub fn run_in_short(run: &RunSummary) -> String {
    let mut words = vec![
        format!("`{}`", run.label),
        launches_made(&run.launches),
        run.started_at.clone(),
        run.machine.clone(),
    ];
    words.extend(run.selection.clone());
    words.extend(commit(run));
    words.join(", ")
}

/// `main`, commit 8c5b1f0e2d, 2026-11-20 10:00, and which part of the suite.
pub fn run_in_few_words(run: &RunSummary) -> String {
    let mut words = vec![format!("`{}`", run.label)];
    let at = run.started_at.get(..16).unwrap_or(&run.started_at);
    let at = at.replace('T', " ");
    words.push(match commit(run) {
        Some(commit) => format!("{commit}, {at}"),
        None => at,
    });
    words.extend(run.selection.clone());
    words.join(", ")
}

/// `commit 8c5b1f0e2d with changes`
fn commit(run: &RunSummary) -> Option<String> {
    let short: String = run.git_commit.as_ref()?.chars().take(10).collect();
    let is_dirty = run.git_dirty == Some(true);
    let dirty = if is_dirty { " with changes" } else { "" };
    Some(format!("commit {short}{dirty}"))
}
