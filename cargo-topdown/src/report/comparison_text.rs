//! A comparison for people: the verdict, then what regressed and why, then the table.
//!
//! Styles are always written; the stream that is written to removes them where they do not belong.

use std::io::{self, Write};

use anstyle::{AnsiColor, Style};

use super::comparison_table;
use super::wrap::{Hanging, percent, points};
use crate::verdict::{
    BenchmarkVerdict, Cause, CauseKind, Class, Comparison, Metric, Outcome, RunSummary, ShiftBasis,
    Undecided, UndecidedReason,
};

/// Of the classes that fail nothing, so many benchmarks get a sentence of their own.
const MOST_SENTENCES: usize = 10;
/// A part of a difference that would be shown as 0.0 is left out.
const LEAST_SHOWN_PART: f64 = 0.0005;
/// Level 2 is told for parts of at least this size.
const LEAST_DETAILED_PART: f64 = 0.01;

const BOLD: Style = Style::new().bold();
const WARNING: Style = AnsiColor::Yellow.on_default();

/// The style of a verdict.
pub(super) fn style(class: Class) -> Style {
    match class {
        Class::Regressed => AnsiColor::Red.on_default().bold(),
        Class::NotComparable => AnsiColor::Magenta.on_default(),
        Class::Shifted | Class::Inconclusive => AnsiColor::Yellow.on_default(),
        Class::Improved => AnsiColor::Green.on_default(),
        Class::Unchanged => Style::new(),
    }
}

/// Writes `comparison` in lines of at most `width` columns, as far as names allow.
///
/// # Errors
/// When `out` does.
pub fn write(comparison: &Comparison, width: usize, mut out: impl Write) -> io::Result<()> {
    let text = Text {
        comparison,
        lines: Hanging { width },
    };
    text.verdict(&mut out)?;
    text.runs(&mut out)?;
    text.suite(&mut out)?;
    for class in [
        Class::Regressed,
        Class::NotComparable,
        Class::Shifted,
        Class::Inconclusive,
        Class::Improved,
    ] {
        text.section(class, &mut out)?;
    }
    text.one_sided(&mut out)?;
    if comparison
        .benchmarks
        .iter()
        .any(|b| b.class != Class::NotComparable)
    {
        writeln!(out)?;
        comparison_table::write(comparison, width, &mut out)?;
    }
    Ok(())
}

struct Text<'a> {
    comparison: &'a Comparison,
    lines: Hanging,
}

impl Text<'_> {
    fn verdict(&self, out: &mut impl Write) -> io::Result<()> {
        let Comparison {
            outcome, counts, ..
        } = self.comparison;
        let baseline = &self.comparison.baseline.label;
        let all = self.comparison.benchmarks.len();
        let decided = counts.unchanged + counts.improved + counts.shifted;
        let (word, style, rest) = match outcome {
            Outcome::Failed if counts.regressed > 0 => (
                "REGRESSED",
                style(Class::Regressed),
                format!(
                    "{} of {} slower than `{baseline}`",
                    counts.regressed,
                    benchmarks(all)
                ),
            ),
            Outcome::Failed => (
                "FAILED",
                style(Class::Regressed),
                "nothing regressed, but the policy fails on what is listed below".to_owned(),
            ),
            Outcome::NotComparable if all == 0 => (
                "NOT COMPARABLE",
                style(Class::NotComparable),
                format!("no benchmark in common with `{baseline}`"),
            ),
            Outcome::NotComparable => (
                "NOT COMPARABLE",
                style(Class::NotComparable),
                format!(
                    "{} of {} cannot be compared with `{baseline}`",
                    counts.not_comparable,
                    benchmarks(all)
                ),
            ),
            Outcome::Inconclusive => (
                "INCONCLUSIVE",
                style(Class::Inconclusive),
                format!(
                    "{} of {} undecided, which the policy counts as a failure",
                    counts.inconclusive,
                    benchmarks(all)
                ),
            ),
            Outcome::Passed if decided == 0 => (
                "NOTHING DECIDED",
                style(Class::Inconclusive),
                format!("{} against `{baseline}`, all inconclusive", benchmarks(all)),
            ),
            Outcome::Passed => (
                "PASSED",
                style(Class::Improved).bold(),
                format!(
                    "nothing regressed in {} against `{baseline}`",
                    benchmarks(all)
                ),
            ),
        };
        writeln!(out, "{style}{word}{style:#}: {rest}")?;
        let counted: Vec<String> = [
            (counts.regressed, "regressed"),
            (counts.not_comparable, "not comparable"),
            (counts.shifted, "shifted"),
            (counts.inconclusive, "inconclusive"),
            (counts.improved, "improved"),
            (counts.unchanged, "unchanged"),
            (counts.new, "new"),
            (counts.removed, "removed"),
        ]
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, name)| format!("{count} {name}"))
        .collect();
        if counted.len() > 1 {
            self.lines.write(out, "", 0, &counted.join(", "))?;
        }
        Ok(())
    }

    fn runs(&self, out: &mut impl Write) -> io::Result<()> {
        writeln!(out)?;
        for (word, run) in [
            ("baseline ", &self.comparison.baseline),
            ("candidate", &self.comparison.candidate),
        ] {
            self.lines
                .write(out, &format!("{word}  "), 11, &run_in_short(run))?;
        }
        for difference in &self.comparison.differences {
            self.lines
                .write(out, "differs    ", 11, &difference.to_string())?;
        }
        if !self.comparison.differences.is_empty() {
            let remedy = "take the baseline again on this machine with this build: \
                          `cargo topdown bench --save NAME`; a change of rustc or RUSTFLAGS alone \
                          can be measured with --across-builds";
            self.lines.write(out, "try        ", 11, remedy)?;
        }
        for warning in &self.comparison.warnings {
            let lead = format!("{WARNING}warning{WARNING:#}    ");
            self.lines.write(out, &lead, 11, &warning.to_string())?;
        }
        Ok(())
    }

    fn suite(&self, out: &mut impl Write) -> io::Result<()> {
        let suite = &self.comparison.suite;
        let mut notes = Vec::new();
        if let Some(shift) = suite.machine_shift.filter(|shift| shift.removed) {
            let direction = if shift.difference > 0.0 {
                "slower"
            } else {
                "faster"
            };
            let size = percent(shift.difference.abs());
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
        if let Some(difference) = suite.global_slots_difference {
            notes.push(format!(
                "the whole suite moved by {} slots (median): a global change such as the \
                 compiler, its flags or a common dependency",
                percent(difference)
            ));
        }
        for noise in suite.noise.iter().filter(|noise| noise.inflation > 1.5) {
            notes.push(format!(
                "{} differs between the runs {:.1} times more than between launches of one run; \
                 intervals are widened by that",
                noise.metric.name(),
                noise.inflation
            ));
        }
        for note in notes {
            self.lines.write(out, "note       ", 11, &note)?;
        }
        Ok(())
    }

    fn section(&self, class: Class, out: &mut impl Write) -> io::Result<()> {
        // When the runs as a whole cannot be compared, the reason stands above, once.
        if class == Class::NotComparable && !self.comparison.differences.is_empty() {
            return Ok(());
        }
        let mut members: Vec<&BenchmarkVerdict> = self
            .comparison
            .benchmarks
            .iter()
            .filter(|benchmark| benchmark.class == class)
            .collect();
        if members.is_empty() {
            return Ok(());
        }
        members.sort_by(|a, b| {
            let size = |v: &BenchmarkVerdict| v.main_effect().map_or(0.0, |e| e.difference.abs());
            size(b).total_cmp(&size(a)).then(a.id.cmp(&b.id))
        });
        let style = style(class);
        writeln!(out, "\n{style}{}{style:#}", class.name())?;
        let shown = match class {
            Class::Regressed => members.len(),
            _ => MOST_SENTENCES,
        };
        for benchmark in members.iter().take(shown) {
            writeln!(out, "  {BOLD}{}{BOLD:#}", benchmark.id)?;
            self.lines.write(out, "    ", 4, &sentence(benchmark))?;
        }
        if members.len() > shown {
            writeln!(out, "  … and {} more", members.len() - shown)?;
        }
        Ok(())
    }

    fn one_sided(&self, out: &mut impl Write) -> io::Result<()> {
        for (word, ids) in [
            ("removed", &self.comparison.removed),
            ("new", &self.comparison.new),
        ] {
            if ids.is_empty() {
                continue;
            }
            writeln!(out, "\n{WARNING}{word}{WARNING:#}")?;
            for id in ids.iter().take(MOST_SENTENCES) {
                writeln!(out, "  {id}")?;
            }
            if ids.len() > MOST_SENTENCES {
                writeln!(out, "  … and {} more", ids.len() - MOST_SENTENCES)?;
            }
        }
        Ok(())
    }
}

fn benchmarks(count: usize) -> String {
    match count {
        1 => "1 benchmark".to_owned(),
        count => format!("{count} benchmarks"),
    }
}

fn run_in_short(run: &RunSummary) -> String {
    let mut words = vec![
        format!("`{}`", run.label),
        format!("{} launches", run.launches),
        run.started_at.clone(),
        run.machine.clone(),
    ];
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

/// What is to be said about one benchmark.
fn sentence(benchmark: &BenchmarkVerdict) -> String {
    match (&benchmark.cause, &benchmark.undecided) {
        _ if benchmark.class == Class::NotComparable => benchmark
            .differences
            .iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>()
            .join("; "),
        (Some(cause), _) => cause_sentence(cause, benchmark),
        (None, Some(undecided)) => undecided_sentence(undecided, benchmark),
        (None, None) => String::new(),
    }
}

fn cause_sentence(cause: &Cause, benchmark: &BenchmarkVerdict) -> String {
    let unit = match cause.metric {
        Metric::Wall => "time/iter",
        _ => "slots/iter",
    };
    let change = format!("{} {unit}", percent(cause.difference));
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
                percent(slots),
                percent(difference).trim_start_matches('+')
            )
        }
        CauseKind::Unknown if benchmark.coarse.is_some() => {
            format!("{change}; the categories are too coarse to say why")
        }
        CauseKind::Unknown => format!("{change}; there are no slots to say why"),
    }
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

fn undecided_sentence(undecided: &Undecided, benchmark: &BenchmarkVerdict) -> String {
    let change = benchmark.main_effect().map_or(String::new(), |effect| {
        format!(
            "{} [{}, {}]: ",
            percent(effect.difference),
            points(effect.interval.low),
            points(effect.interval.high)
        )
    });
    let deviation = format!("launch sd {:.1} %", undecided.launch_deviation * 100.0);
    match (undecided.reason, undecided.launches_needed) {
        (UndecidedReason::MachineOrGlobalChange, _) => {
            format!("{change}no slower than the whole suite: the machine or a global change")
        }
        (UndecidedReason::OneLaunch, Some(launches)) => {
            format!("{change}one launch decides nothing; needs about {launches} launches a side")
        }
        (_, Some(launches)) => {
            format!("{change}needs about {launches} launches a side ({deviation})")
        }
        (_, None) => format!("{change}too noisy to gate ({deviation})"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::Policy;
    use crate::verdict::scenario::{self, Planted, benchmark, timed};
    use crate::verdict::{LabelledRun, compare};
    use criterion_topdown::run_file::{Benchmark, Run};

    fn text(baseline: Vec<Benchmark>, candidate: Run, width: usize) -> String {
        let baseline = scenario::run(baseline);
        let label = |label, run| LabelledRun { label, run };
        let comparison = compare(
            label("main", &baseline),
            label("the newest run", &candidate),
            &Policy::default(),
        );
        let mut out = Vec::new();
        write(&comparison, width, &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        anstream::adapter::strip_str(&text).to_string()
    }

    /// One benchmark of each verdict among 24.
    fn one_of_each() -> (Vec<Benchmark>, Run) {
        let plain = |seed| Planted {
            seed,
            ..Planted::default()
        };
        let names: Vec<String> = (0..16).map(|n| format!("lookup/hash/{n:04}")).collect();
        let with = |seed, change: &[(&str, Planted)]| -> Vec<Benchmark> {
            let changed = change
                .iter()
                .map(|(name, planted)| benchmark(name, Planted { seed, ..*planted }));
            let plain = names.iter().map(|name| benchmark(name, plain(seed)));
            changed.chain(plain).collect()
        };
        let categories = |categories| Planted {
            categories,
            ..Planted::default()
        };
        let noisy = |factor| Planted {
            deviation: 0.05 * factor,
            ..Planted::default()
        };
        let names = [
            "parse/json/a document with a name too long for a narrow table",
            "sort/random",
            "sort/sorted",
            "copy",
            "chase/ring",
            "alloc/small",
            "alloc/large",
        ];
        let base = names.map(|name| {
            let planted = match name {
                "alloc/small" => noisy(1.0),
                "alloc/large" => noisy(5.0),
                _ => Planted::default(),
            };
            (name, planted)
        });
        let new = names.map(|name| {
            let planted = match name {
                "sort/random" => categories([0.04, 0.04, 0.04, 0.0]),
                "sort/sorted" => categories([-0.06, 0.0, 0.0, 0.06]),
                "copy" => categories([0.0, 0.0, 0.0, -0.08]),
                "chase/ring" => Planted {
                    time_per_slot: 1.12,
                    ..Planted::default()
                },
                "alloc/small" => noisy(1.0),
                "alloc/large" => noisy(5.0),
                _ => categories([0.0, 0.002, 0.003, 0.08]),
            };
            (name, planted)
        });
        let mut baseline = with(1, &base);
        baseline.push(benchmark("gone", plain(1)));
        let mut candidate = with(2, &new);
        candidate.push(benchmark("fresh", plain(2)));
        (baseline, scenario::run(candidate))
    }

    #[test]
    fn one_of_each_verdict_at_80_and_200_columns() {
        let (baseline, candidate) = one_of_each();
        let narrow = text(baseline.clone(), candidate.clone(), 80);
        insta::assert_snapshot!("one_of_each_80", narrow);
        insta::assert_snapshot!("one_of_each_200", text(baseline, candidate, 200));
        for line in narrow.lines() {
            assert!(line.chars().count() <= 80, "{line}");
        }
    }

    #[test]
    fn time_alone_with_a_slower_machine() {
        let suite = |seed, factor: f64| -> Vec<Benchmark> {
            (0..12)
                .map(|n| {
                    let planted = Planted {
                        seed,
                        time_per_slot: if n == 3 { factor * factor } else { factor },
                        ..Planted::default()
                    };
                    timed(&format!("t{n}"), planted)
                })
                .collect()
        };
        let candidate = scenario::run(suite(2, 1.2));
        insta::assert_snapshot!(text(suite(1, 1.0), candidate, 100));
    }

    #[test]
    fn another_machine() {
        let one = || vec![benchmark("a", Planted::default())];
        let mut candidate = scenario::run(one());
        candidate.machine.model = 207;
        candidate.machine.hypervisor = Some("kvm".to_owned());
        insta::assert_snapshot!(text(one(), candidate, 80));
    }

    #[test]
    fn one_launch_and_uncommitted_work() {
        let one = |seed| {
            let planted = Planted {
                launches: 1,
                seed,
                ..Planted::default()
            };
            vec![benchmark("a", planted), benchmark("b", planted)]
        };
        let mut candidate = scenario::run(one(2));
        candidate.machine.kernel = Some("6.14.0".to_owned());
        candidate.build.git_dirty = Some(true);
        insta::assert_snapshot!(text(one(1), candidate, 80));
    }

    #[test]
    fn json_holds_all_of_it() {
        let (baseline, candidate) = one_of_each();
        let baseline = scenario::run(baseline);
        let label = |label, run| LabelledRun { label, run };
        let policy = Policy::default();
        let comparison = compare(label("main", &baseline), label("new", &candidate), &policy);
        let mut out = Vec::new();
        super::super::comparison_json::write(&comparison, &mut out).unwrap();
        let json: serde_json::Value = serde_json::from_slice(&out).unwrap();
        assert_eq!(json["schema_version"], 1);
        assert_eq!(json["outcome"], "failed");
        assert_eq!(json["exit_code"], 100);
        let first = &json["benchmarks"][1];
        assert_eq!(first["class"], "inconclusive");
        assert_eq!(first["effects"][0]["metric"], "slots");
    }
}
