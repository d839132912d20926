//! Benchmarks of one run against each other, for a terminal: a sentence on two, a ranking of a
//! group, and how its slots grow with the size of the input.

use std::io::{self, Write};

use topdown_gate::metric::Metric;
use topdown_gate::verdict::Verdict;
use topdown_gate::versus::{Entry, Growth, Input, Pair, Ranking, Size, Versus};
use topdown_run::category::PerCategory;
use topdown_terminal::count_of;

use super::bar::{CATEGORIES, bar};
use super::number::{amount, percent, points, slots, time_ns};
use super::style::{DIM, HEADING, Look};
use super::table::{Cell, Column, Keep, Table};
use super::text::wrapped;
use super::verdict_sentence::{mostly, named_parts, predicate};

/// Columns of the longest bar.
const BAR_WIDTH: usize = 24;
/// Fewer instructions than this part of them are the same.
const MIN_INSTRUCTIONS_FRACTION: f64 = 0.005;

/// Writes the answer with ANSI colours; strip them if unwanted.
///
/// # Errors
/// Returns an error if writing to `out` fails.
pub fn write(out: &mut impl Write, versus: &Versus, look: Look) -> io::Result<()> {
    if let Some(pair) = &versus.pair {
        for line in wrapped(&sentence(pair), look.width) {
            writeln!(out, "{line}")?;
        }
    }
    match &versus.ranking {
        Some(ranking) => write_ranking(out, ranking, look),
        None => Ok(()),
    }
}

/// `` `ours` takes 0.71 of the slots of `theirs`: 18.0 points fewer bad speculation, 11.0 fewer
/// retiring; 0.84 of its instructions``
pub fn sentence(pair: &Pair) -> String {
    let names = [&pair.benchmark.name, &pair.reference.name].map(|name| format!("`{name}`"));
    let [name, reference] = names;
    let (Some(ratio), Some(effect)) = (pair.ratio, pair.judgement.main_effect()) else {
        return format!(
            "{name} {} (the baseline is {reference})",
            predicate(&pair.judgement)
        );
    };
    let (what, as_much) = match effect.metric {
        Metric::Wall => ("time", "as long"),
        _ => ("slots", "as many slots"),
    };
    let instructions = pair.instructions_ratio.map_or(String::new(), instructions);
    let takes = match times(ratio) {
        Some(times) => format!("{name} takes {times} {what} of {reference}"),
        None => format!("{name} takes {as_much} as {reference}"),
    };
    match pair.judgement.verdict {
        Verdict::Unchanged => {
            format!("{name} takes {as_much} as {reference} ({ratio:.3} of them){instructions}")
        }
        Verdict::Inconclusive => {
            let launches = count_of(pair.judgement.candidate_launches.used(), "launch");
            format!("{takes}, which {launches} cannot tell from noise{instructions}")
        }
        _ => takes + &categories(pair) + &instructions,
    }
}

/// `0.71 of the`, or `1.41 times the`; `None` if that would be 1.00.
fn times(ratio: f64) -> Option<String> {
    let relation = if ratio < 1.0 { "of the" } else { "times the" };
    let times = format!("{ratio:.2}");
    (times != "1.00").then(|| format!("{times} {relation}"))
}

/// `: 18.0 points fewer bad speculation, 11.0 fewer retiring`
fn categories(pair: &Pair) -> String {
    let Some(cause) = &pair.judgement.cause else {
        return String::new();
    };
    let parts: Vec<String> = named_parts(cause)
        .enumerate()
        .map(|(index, part)| {
            let size = points(part.difference.abs());
            let size = size.trim_start_matches('+');
            let unit = if index == 0 { " points" } else { "" };
            let direction = if part.difference < 0.0 {
                "fewer"
            } else {
                "more"
            };
            format!(
                "{size}{unit} {direction} {}{}",
                part.category.name(),
                mostly(part)
            )
        })
        .collect();
    match parts.is_empty() {
        true => String::new(),
        false => format!(": {}", parts.join(", ")),
    }
}

/// `; 16 % fewer instructions`
fn instructions(ratio: f64) -> String {
    let difference = ratio - 1.0;
    if difference.abs() < MIN_INSTRUCTIONS_FRACTION {
        return "; as many instructions".to_owned();
    }
    let direction = if difference < 0.0 { "fewer" } else { "more" };
    format!("; {} % {direction} instructions", percent(difference.abs()))
}

fn write_ranking(out: &mut impl Write, ranking: &Ranking, look: Look) -> io::Result<()> {
    let count: usize = ranking.inputs.iter().map(|input| input.entries.len()).sum();
    let benchmarks = count_of(count, "benchmark");
    let order = match ranking.metric {
        _ if ranking.is_of_one_function() => "",
        Metric::Wall => ", least time first",
        _ => ", fewest slots first",
    };
    writeln!(
        out,
        "{HEADING}{}{HEADING:#}: {benchmarks}{order}",
        ranking.group
    )?;
    let mut table = Table::new(columns(ranking.metric)).indented(2);
    for input in &ranking.inputs {
        if let Some(parameter) = input
            .parameter
            .as_ref()
            .filter(|_| !ranking.is_of_one_function())
        {
            table.text(format!("{HEADING}{parameter}{HEADING:#}"));
        }
        add_input(&mut table, input, ranking, look);
    }
    table.write(out, look)?;
    let entries = || ranking.inputs.iter().flat_map(|input| &input.entries);
    let mut legend = Vec::new();
    if entries().any(|entry| entry.categories.is_some()) {
        let shown = CATEGORIES.iter().take(4);
        legend.extend(shown.map(|look_of| {
            let glyph = look_of.glyph(look.unicode);
            format!("{glyph} {} = {}", look_of.short_name, look_of.name())
        }));
        legend.push("in percent of the slots".to_owned());
    }
    if entries().any(|entry| entry.differs == Some(false)) {
        legend.push("~ = not surely different from the first".to_owned());
    }
    if !legend.is_empty() {
        writeln!(out)?;
        for line in wrapped(&legend.join(", "), look.width) {
            writeln!(out, "{DIM}{line}{DIM:#}")?;
        }
    }
    if ranking.growths.is_empty() {
        return Ok(());
    }
    write_growths(out, ranking, look)
}

fn columns(metric: Metric) -> Vec<Column> {
    vec![
        Column::name("function", 16),
        Column::number(match metric {
            Metric::Wall => "time/iter",
            _ => "slots/iter",
        }),
        Column::number("of first"),
        Column::text("").keep(Keep::Essential(1)),
        Column::number("ret").keep(Keep::Essential(2)),
        Column::number("bad").keep(Keep::Essential(2)),
        Column::number("fe").keep(Keep::Essential(2)),
        Column::number("be").keep(Keep::Essential(2)),
    ]
}

/// Returns what a bar of `input` that fills the space would show. One function has one scale.
pub fn longest_of(ranking: &Ranking, input: &Input) -> f64 {
    let one_scale = if ranking.is_of_one_function() {
        &ranking.inputs[..]
    } else {
        std::slice::from_ref(input)
    };
    let entries = one_scale.iter().flat_map(|input| &input.entries);
    entries.map(|entry| entry.per_iteration).fold(0.0, f64::max)
}

/// `~1.00`, or nothing if there is nothing to rank.
pub fn ratio_of(ranking: &Ranking, entry: &Entry) -> String {
    let sign = if entry.differs == Some(false) {
        "~"
    } else {
        ""
    };
    if ranking.is_of_one_function() {
        String::new()
    } else {
        format!("{sign}{:.2}", entry.ratio)
    }
}

fn add_input(table: &mut Table, input: &Input, ranking: &Ranking, look: Look) {
    let longest = longest_of(ranking, input);
    for entry in &input.entries {
        let name = match &input.parameter {
            Some(parameter) if ranking.is_of_one_function() => parameter,
            _ => &entry.function,
        };
        let shares = entry
            .categories
            .map(|categories| shares(categories, entry.per_iteration));
        let cells = CATEGORIES
            .iter()
            .take(4)
            .enumerate()
            .map(|(index, category)| {
                let share = shares.map_or(String::new(), |shares| percent(shares[index]));
                Cell::styled(share, category.style)
            });
        let numbers = [
            Cell::from(name.as_str()),
            Cell::from(value(entry.per_iteration, ranking.metric, look)),
            Cell::from(ratio_of(ranking, entry)),
            Cell::from(long_bar(
                entry.categories,
                entry.per_iteration,
                longest,
                look,
            )),
        ];
        table.row(numbers.into_iter().chain(cells));
    }
}

fn shares(categories: PerCategory<f64>, total: f64) -> [f64; 4] {
    categories
        .into_array()
        .map(|slots| if total > 0.0 { slots / total } else { 0.0 })
}

/// Draws a bar whose length shows the total.
fn long_bar(categories: Option<PerCategory<f64>>, total: f64, longest: f64, look: Look) -> String {
    let width = match longest > 0.0 {
        true => (total / longest * BAR_WIDTH as f64).round().max(1.0) as usize,
        false => 0,
    };
    match categories {
        Some(categories) => bar(&categories.into_array(), width, look.unicode),
        None => String::new(),
    }
}

fn value(per_iteration: f64, metric: Metric, look: Look) -> String {
    match metric {
        Metric::Wall => time_ns(per_iteration, !look.unicode),
        _ => slots(per_iteration),
    }
}

fn write_growths(out: &mut impl Write, ranking: &Ranking, look: Look) -> io::Result<()> {
    let what = match ranking.metric {
        Metric::Wall => "Nanoseconds",
        _ => "Slots",
    };
    let sizes = || ranking.growths.iter().flat_map(|growth| &growth.sizes);
    let longest = sizes().map(|size| size.per_element).fold(0.0, f64::max);
    let units: Vec<&str> = ranking
        .growths
        .iter()
        .map(|growth| element(&growth.unit))
        .collect();
    let unit = match units.windows(2).all(|pair| pair[0] == pair[1]) {
        true => units[0],
        false => "element",
    };
    writeln!(out, "\n{HEADING}{what} per {unit}{HEADING:#}")?;
    let mut table = Table::new([
        Column::name("function", 16),
        Column::number("size"),
        Column::text("").keep(Keep::Essential(1)),
        Column::number("each"),
        Column::wrapped(""),
    ])
    .indented(2);
    for growth in &ranking.growths {
        for (index, size) in growth.sizes.iter().enumerate() {
            let is_first = index == 0;
            let is_last = index + 1 == growth.sizes.len();
            let conclusion = if is_last {
                conclusion(growth)
            } else {
                String::new()
            };
            table.row([
                Cell::from(if is_first {
                    growth.function.as_str()
                } else {
                    ""
                }),
                Cell::from(size.parameter.as_str()),
                Cell::from(long_bar(size.categories, size.per_element, longest, look)),
                Cell::from(amount(size.per_element)),
                Cell::from(conclusion),
            ]);
        }
    }
    table.write(out, look)
}

/// Returns what one of these units is called.
pub fn element(unit: &str) -> &str {
    match unit {
        "bytes" => "byte",
        "bits" => "bit",
        "elements" => "element",
        _ => "unit of the parameter",
    }
}

/// `1.90 times, mostly backend bound (+80.0)`
pub fn conclusion(growth: &Growth) -> String {
    let times = format!("{:.2} times", growth.factor);
    let (Some(category), [first, .., last]) = (growth.category, &growth.sizes[..]) else {
        return times;
    };
    let slots = |size: &Size| {
        size.categories
            .map_or(0.0, |categories| categories[category])
    };
    let grown = amount(slots(last) - slots(first));
    format!("{times}, mostly {} (+{grown})", category.name())
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::shown::{shown, terminal};
    use topdown_gate::policy::Policy;
    use topdown_gate::scenario::{self, Planted, benchmark, modelled, timed};
    use topdown_gate::verdict::LabelledRun;
    use topdown_run::run_file::{Benchmark, Throughput};

    fn planted(categories: [f64; 4]) -> Planted {
        Planted {
            categories: categories.into(),
            ..Planted::default()
        }
    }

    fn sentence_of(a: Benchmark, b: Benchmark) -> String {
        let run = scenario::run(vec![a, b]);
        let labelled = LabelledRun {
            label: "newest",
            run: &run,
        };
        let sides = [&run.benchmarks[0], &run.benchmarks[1]];
        let versus = Versus::pair(labelled, sides, &Policy::default());
        sentence(&versus.pair.unwrap())
    }

    pub(crate) fn ranking_of(benchmarks: Vec<Benchmark>, group: &str) -> Versus {
        let run = scenario::run(benchmarks);
        let labelled = LabelledRun {
            label: "newest",
            run: &run,
        };
        Versus::ranking(labelled, group, &Policy::default()).unwrap()
    }

    fn ranking_at(width: usize, benchmarks: Vec<Benchmark>, group: &str) -> String {
        let versus = ranking_of(benchmarks, group);
        shown(|out| write(out, &versus, terminal(width)))
    }

    #[test]
    fn sentences_of_pairs_say_how_much_and_where() {
        let plain = || planted([0.0; 4]);
        let more = || planted([0.15, 0.25, 0.0, 0.01]);
        insta::assert_snapshot!(
            [
                sentence_of(modelled("ours", plain()), modelled("theirs", more())),
                sentence_of(modelled("theirs", more()), modelled("ours", plain())),
                sentence_of(modelled("a", plain()), modelled("b", plain())),
                sentence_of(
                    modelled("a", planted([0.1, 0.0, 0.0, -0.1])),
                    modelled("b", plain())
                ),
                sentence_of(timed("a", planted([0.5; 4])), timed("b", plain())),
                sentence_of(modelled("a", plain()), timed("b", plain())),
                sentence_of(
                    benchmark(
                        "a",
                        Planted {
                            launches: 1,
                            ..planted([0.1; 4])
                        }
                    ),
                    benchmark(
                        "b",
                        Planted {
                            launches: 1,
                            ..plain()
                        }
                    ),
                ),
            ]
            .join("\n")
        );
    }

    pub(crate) fn sorts() -> Vec<Benchmark> {
        let sized = |name: &str, bytes, categories| Benchmark {
            throughput: Some(Throughput {
                per_iteration: bytes,
                unit: "elements".to_owned(),
            }),
            ..modelled(name, planted(categories))
        };
        vec![
            sized(
                "sort/a_rather_long_function_name/1000",
                1000,
                [39.0, 0.0, 0.0, 150.0],
            ),
            sized("sort/a_rather_long_function_name/10", 10, [0.0; 4]),
            sized(
                "sort/a_rather_long_function_name/100",
                100,
                [4.0, 0.0, 1.0, 9.0],
            ),
            sized("sort/ours/10", 10, [0.0, 0.001, 0.0, 0.0]),
            sized("sort/ours/100", 100, [9.0, 0.0, 0.0, 0.0]),
            sized("sort/ours/1000", 1000, [99.0, 0.0, 0.0, 0.0]),
        ]
    }

    #[test]
    fn ranking_at_80_columns() {
        insta::assert_snapshot!(ranking_at(80, sorts(), "sort"));
    }

    #[test]
    fn ranking_at_200_columns() {
        insta::assert_snapshot!(ranking_at(200, sorts(), "sort"));
    }

    #[test]
    fn single_function_has_a_row_for_each_input() {
        let benchmarks = vec![
            modelled("memory/fill/16", planted([1.0, 0.0, 0.0, 0.0])),
            modelled("memory/fill/8", planted([0.0; 4])),
        ];
        insta::assert_snapshot!(ranking_at(80, benchmarks, "memory/fill"));
    }

    #[test]
    fn ranking_by_time_has_no_bars() {
        let benchmarks = vec![
            modelled("g/a", planted([0.5, 0.0, 0.0, 0.0])),
            timed("g/b", planted([0.0; 4])),
        ];
        insta::assert_snapshot!(ranking_at(80, benchmarks, "g"));
    }
}
