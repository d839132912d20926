//! The difference of one benchmark between two runs as text.

use std::io::{self, Write};

use super::function_rows::label_of;
use super::number::{points, slots};
use super::sentences::run_in_few_words;
use super::style::{self, DIM, HEADING, Look};
use super::table::{Cell, Column, Table};
use super::text::{shortened, wrapped};
use super::verdict_facts::{code, reported_functions};
use super::verdict_sentence::sentence;
use topdown_explain::difference::{Difference, Moved};
use topdown_gate::verdict::{BenchmarkVerdict, CausePart};

/// The longest name of a function, in columns.
const MAX_FUNCTION_COLUMNS: usize = 48;

/// Writes `difference` with ANSI colours; strip them if unwanted.
///
/// # Errors
/// Returns an error if writing to `out` fails.
pub fn write(out: &mut impl Write, difference: &Difference<'_>, look: Look) -> io::Result<()> {
    let verdict = difference.verdict;
    let class = style::of_class(verdict.verdict);
    writeln!(
        out,
        "{HEADING}{}{HEADING:#}: {class}{}{class:#}",
        verdict.id,
        verdict.verdict.name()
    )?;
    paragraph(out, &sentence(verdict, &verdict.id.name), 0, look)?;
    let differ = &difference.launches_differ;
    for (name, run, differ) in [
        ("baseline", difference.baseline, differ.baseline),
        ("candidate", difference.candidate, differ.candidate),
    ] {
        let text = format!("{name}: {}", run_in_few_words(run));
        paragraph(out, &format!("{DIM}{text}{DIM:#}"), 0, look)?;
        if let Some(how) = differ {
            paragraph(
                out,
                &format!("The {name}'s launches differ: {how}"),
                0,
                look,
            )?;
        }
    }
    let Some(dominant) = difference.dominant else {
        return Ok(());
    };
    writeln!(out, "\n{HEADING}points of the baseline's slots{HEADING:#}")?;
    let parts = verdict.cause.iter().flat_map(|cause| &cause.parts);
    write_parts(out, parts, dominant, look)?;
    let below = match difference.part {
        Some(part) => format!("{}: {part}", dominant.category.name()),
        None => dominant.category.name().to_owned(),
    };
    writeln!(out, "\n{HEADING}{below}{HEADING:#}")?;
    if !difference.has_metrics {
        let text = format!(
            "The runs have no metrics about this beside the slots; `cargo topdown explain --exact \
             '{}'` measures those of the newest build.",
            verdict.id.name
        );
        paragraph(out, &text, 2, look)?;
    }
    write_moved(out, &difference.moved, look)?;
    write_functions(out, verdict, look)?;
    if !difference.ruled_out.is_empty() {
        let text = format!("Ruled out: {}.", difference.ruled_out.join(", "));
        paragraph(out, &text, 2, look)?;
    }
    Ok(())
}

/// Returns what explains the difference beyond its verdict, each a phrase.
pub fn facts(difference: &Difference<'_>, look: Look) -> Vec<String> {
    let differ = &difference.launches_differ;
    let sides = [
        ("baseline", differ.baseline),
        ("candidate", differ.candidate),
    ];
    let sides = sides
        .into_iter()
        .filter_map(|(side, how)| Some((side, how?)));
    let mut facts: Vec<String> = sides
        .map(|(side, how)| format!("the {side}'s launches differ: {how}"))
        .collect();
    facts.extend(difference.moved.iter().map(|moved| {
        let (before, after) = (slots(moved.baseline), slots(moved.candidate));
        format!(
            "{}: {before} {} {after} per iteration",
            moved.metric,
            look.arrow()
        )
    }));
    if !difference.ruled_out.is_empty() {
        facts.push(format!("ruled out: {}", difference.ruled_out.join(", ")));
    }
    facts
}

/// Writes the categories, and the parts of the dominant one.
fn write_parts<'a>(
    out: &mut impl Write,
    parts: impl Iterator<Item = &'a CausePart>,
    dominant: &CausePart,
    look: Look,
) -> io::Result<()> {
    let mut table = Table::new([Column::text(""), Column::number("")]).indented(2);
    for part in parts {
        table.row([part.category.name(), &points(part.difference)]);
        let details = part.certain_details();
        for detail in details.filter(|_| part.category == dominant.category) {
            let name = format!("  {}", detail.name);
            table.row([
                Cell::styled(name, DIM),
                Cell::styled(points(detail.difference), DIM),
            ]);
        }
    }
    table.write(out, look)
}

fn write_moved(out: &mut impl Write, moved: &[Moved], look: Look) -> io::Result<()> {
    if moved.is_empty() {
        return Ok(());
    }
    let columns = [
        Column::text(""),
        Column::number(""),
        Column::text(""),
        Column::number(""),
        Column::text(""),
    ];
    let mut table = Table::new(columns).indented(2);
    for metric in moved {
        table.row([
            metric.metric,
            &slots(metric.baseline),
            look.arrow(),
            &slots(metric.candidate),
            "per iteration",
        ]);
    }
    table.write(out, look)
}

fn write_functions(out: &mut impl Write, verdict: &BenchmarkVerdict, look: Look) -> io::Result<()> {
    let columns = [Column::text(""), Column::number(""), Column::text("")];
    let mut table = Table::new(columns).indented(2);
    let mut is_any = false;
    for change in reported_functions(verdict) {
        is_any = true;
        let label = label_of(&change.name, &change.module);
        let room = MAX_FUNCTION_COLUMNS.min(look.width.saturating_sub(20));
        table.row([
            shortened(&label, room, look.unicode).as_str(),
            &points(change.difference),
            "points",
        ]);
    }
    if is_any {
        table.write(out, look)?;
    }
    match code(verdict) {
        Some(text) => paragraph(out, &text, 2, look),
        None => Ok(()),
    }
}

fn paragraph(out: &mut impl Write, text: &str, indent: usize, look: Look) -> io::Result<()> {
    let pad = " ".repeat(indent);
    for line in wrapped(text, look.width.saturating_sub(indent)) {
        writeln!(out, "{pad}{line}")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::examples::{compared, one_of_each};
    use crate::shown::{shown, terminal, written};
    use crate::text::width_of;
    use topdown_gate::scenario;
    use topdown_run::category::PerCategory;
    use topdown_run::event::{Event, Events};
    use topdown_run::run_file::Run;
    use topdown_run::sample::Level1;

    /// A benchmark before and after one of its functions took 10 % more slots, waiting for memory.
    fn grown() -> [Run; 2] {
        let mut sides = scenario::with_a_grown_function("parse/json");
        for (side, l2_misses) in sides.iter_mut().zip([0.5, 9.5]) {
            for launch in side.slots_launches_mut() {
                launch.instructions = Some(400.0);
                launch.cycles = Some(launch.slots / 6.0);
                launch.events = Events::NONE
                    .with(Event::BranchMispredicts, 0.1)
                    .with(Event::DtlbWalks, 0.0)
                    .with(Event::L1dMisses, l2_misses + 1.0)
                    .with(Event::L2Misses, l2_misses)
                    .with(Event::L3Misses, 0.01)
                    .with(Event::MemoryReadBytes, 0.0)
                    .with(Event::MemoryWriteBytes, 0.0)
                    .into();
            }
        }
        sides.map(|side| scenario::run(vec![side]))
    }

    fn text(runs: [&Run; 2], nth: usize, width: usize) -> String {
        let comparison = compared(runs[0], runs[1]);
        let difference = Difference::new(&comparison.benchmarks[nth], &comparison, runs);
        let text = shown(|out| write(out, &difference, terminal(width)));
        assert!(text.lines().all(|line| width_of(line) <= width), "{text}");
        text
    }

    #[test]
    fn difference_at_60_and_120_columns() {
        let [baseline, candidate] = grown();
        let runs = [&baseline, &candidate];
        insta::assert_snapshot!("a_difference_60", text(runs, 0, 60));
        insta::assert_snapshot!("a_difference_120", text(runs, 0, 120));
    }

    /// As in string-interner 0.20.0, where retiring slots grew.
    #[test]
    fn changed_instructions_are_a_metric() {
        let mut sides = grown();
        for (side, retiring, instructions) in [(0, 100.0, 400.0), (1, 900.0, 900.0)] {
            for launch in sides[side].benchmarks[0].slots_launches_mut() {
                launch.slots = 1000.0 + retiring;
                launch.instructions = Some(instructions);
                launch.level2 = None;
                launch.level1 = launch.level1.map(|level1| Level1 {
                    slots: PerCategory {
                        retiring,
                        bad_speculation: 0.0,
                        frontend_bound: 0.0,
                        backend_bound: 1000.0,
                    },
                    ..level1
                });
            }
        }
        let reported = text([&sides[0], &sides[1]], 0, 100);
        assert!(
            reported.contains("\n  instructions  400.0  →  900.0  per iteration\n"),
            "{reported}"
        );
        assert!(!reported.contains("no metrics"), "{reported}");
    }

    #[test]
    fn facts_are_those_of_the_text() {
        let [baseline, candidate] = grown();
        let comparison = compared(&baseline, &candidate);
        let runs = [&baseline, &candidate];
        let difference = Difference::new(&comparison.benchmarks[0], &comparison, runs);
        insta::assert_snapshot!(facts(&difference, terminal(80)).join("\n"), @"
        l1d_misses: 1.500 → 10.50 per iteration
        l2_misses: 0.500 → 9.500 per iteration
        ruled out: retiring, bad speculation, frontend bound, core bound, instructions, data TLB, memory
        ");
    }

    #[test]
    fn differing_launches_are_reported_for_their_side() {
        let [mut baseline, candidate] = grown();
        let how = "they execute different instructions";
        baseline.benchmarks[0].launches_differ = Some(how.to_owned());
        let reported = text([&baseline, &candidate], 0, 100);
        let line = format!("\nThe baseline's launches differ: {how}\n");
        assert!(reported.contains(&line), "{reported}");
        assert!(!reported.contains("The candidate's launches"), "{reported}");
        let comparison = compared(&baseline, &candidate);
        let verdict = &comparison.benchmarks[0];
        let difference = Difference::new(verdict, &comparison, [&baseline, &candidate]);
        let text = written(|out| super::super::difference_json::write(out, &difference));
        let json = serde_json::from_str(&text).unwrap();
        topdown_published_schema::check("difference", &json);
        assert_eq!(
            json["launches_differ"],
            serde_json::json!({ "baseline": how })
        );
    }

    #[test]
    fn every_verdict_has_an_explanation() {
        let (baseline, candidate) = one_of_each();
        let baseline = scenario::run(baseline);
        let comparison = compared(&baseline, &candidate);
        let count = comparison.benchmarks.len();
        let mut reported: Vec<&str> = Vec::new();
        let mut all = String::new();
        for nth in 0..count {
            let verdict = comparison.benchmarks[nth].verdict.name();
            if !reported.contains(&verdict) {
                reported.push(verdict);
                all += &text([&baseline, &candidate], nth, 80);
                all += "\n";
            }
        }
        insta::assert_snapshot!(all);
    }

    #[test]
    fn the_json_has_the_same_facts() {
        let [baseline, candidate] = grown();
        let comparison = compared(&baseline, &candidate);
        let runs = [&baseline, &candidate];
        let difference = Difference::new(&comparison.benchmarks[0], &comparison, runs);
        let text = written(|out| super::super::difference_json::write(out, &difference));
        topdown_published_schema::check("difference", &serde_json::from_str(&text).unwrap());
        insta::assert_snapshot!(text);
    }
}
