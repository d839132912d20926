//! The page of a group's ranking.

use std::io::{self, Write};

use askama::Template;
use topdown_gate::metric::Metric;
use topdown_gate::verdict::RunSummary;
use topdown_gate::versus::{Entry, Growth, Input, Ranking, Size};
use topdown_run::category::PerCategory;

use super::{Bar, LegendEntry, legend};
use crate::number::{amount, slots, time_ns};
use crate::versus_text::{conclusion, element, longest_of, ratio_of};

/// Writes the page of a group of `run`.
///
/// # Errors
/// Returns an error if writing to `out` fails.
pub fn write_ranking(run: &RunSummary, ranking: &Ranking, out: &mut impl Write) -> io::Result<()> {
    Page::new(run, ranking)
        .write_into(out)
        .map_err(io::Error::other)
}

#[derive(Template)]
#[template(path = "ranking.html")]
struct Page {
    tool_version: &'static str,
    title: String,
    facts: Vec<String>,
    what: &'static str,
    /// Whether several functions are compared.
    has_rank: bool,
    legend: Vec<LegendEntry>,
    rows: Vec<Row>,
    growths: Vec<Section>,
}

struct Row {
    name: String,
    parameter: String,
    total: String,
    total_key: f64,
    ratio: String,
    bar: Option<Bar>,
}

/// How one function grows.
struct Section {
    function: String,
    conclusion: String,
    unit: String,
    sizes: Vec<SizeRow>,
}

struct SizeRow {
    parameter: String,
    each: String,
    bar: Option<Bar>,
}

impl Page {
    fn new(run: &RunSummary, ranking: &Ranking) -> Page {
        let metric = ranking.metric;
        let rows = |input: &Input| -> Vec<Row> {
            let row = |entry| Row::new(entry, input, ranking);
            input.entries.iter().map(row).collect()
        };
        Page {
            tool_version: env!("CARGO_PKG_VERSION"),
            title: ranking.group.clone(),
            facts: vec![run.machine.clone(), run.started_at.clone()],
            what: match metric {
                Metric::Wall => "Time",
                _ => "Slots",
            },
            legend: legend(|of| match metric {
                Metric::Wall => of == Metric::Wall,
                _ => of.category().is_some(),
            }),
            has_rank: !ranking.is_of_one_function(),
            rows: ranking.inputs.iter().flat_map(rows).collect(),
            growths: ranking.growths.iter().map(Section::new).collect(),
        }
    }
}

impl Row {
    fn new(entry: &Entry, input: &Input, ranking: &Ranking) -> Row {
        let longest = longest_of(ranking, input);
        let bar_of = |categories| bar(&entry.function, categories, longest);
        Row {
            name: entry.function.clone(),
            parameter: input.parameter.clone().unwrap_or_default(),
            total: match ranking.metric {
                Metric::Wall => time_ns(entry.per_iteration, false),
                _ => slots(entry.per_iteration),
            },
            total_key: entry.per_iteration,
            ratio: ratio_of(ranking, entry),
            bar: entry.categories.map(bar_of),
        }
    }
}

impl Section {
    fn new(growth: &Growth) -> Section {
        let each = growth.sizes.iter().map(|size| size.per_element);
        let longest = each.fold(0.0, f64::max);
        let row = |size: &Size| SizeRow {
            parameter: size.parameter.clone(),
            each: amount(size.per_element),
            bar: (size.categories).map(|categories| bar(&size.parameter, categories, longest)),
        };
        Section {
            function: growth.function.clone(),
            conclusion: conclusion(growth),
            unit: element(&growth.unit).to_owned(),
            sizes: growth.sizes.iter().map(row).collect(),
        }
    }
}

fn bar(name: &str, categories: PerCategory<f64>, longest: f64) -> Bar {
    let amounts: Vec<(Metric, f64)> = (categories.iter())
        .map(|(category, slots)| (category.into(), *slots))
        .collect();
    Bar::new(name, &amounts, longest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shown::written;
    use crate::versus_text::tests::{ranking_of, sorts};
    use topdown_run::run_file::Benchmark;

    fn page_of(benchmarks: Vec<Benchmark>) -> String {
        let versus = ranking_of(benchmarks, "sort");
        let ranking = versus.ranking.as_ref().unwrap();
        written(|out| write_ranking(&versus.run, ranking, out))
    }

    #[test]
    fn page_has_all_inputs_and_growths() {
        let page = page_of(sorts());
        let (_, body) = page.split_once("<header>").unwrap();
        insta::assert_snapshot!(body.split_once("<script>").unwrap().0);
    }

    #[test]
    fn names_stay_text() {
        let mut benchmarks = sorts();
        benchmarks[0].id.name = "sort/<b>x</b>/10".to_owned();
        let page = page_of(benchmarks);
        assert!(!page.contains("<b>x") && page.contains("&#60;b&#62;x"));
    }
}
