//! The page of a group's ranking.

use std::io::{self, Write};

use askama::Template;
use topdown_gate::metric::Metric;
use topdown_gate::versus::{Entry, Growth, Input, Ranking, Size, Versus};
use topdown_run::category::PerCategory;

use super::{Bar, LegendEntry, legend};
use crate::number::{amount, slots, time_ns};
use crate::versus_text::{conclusion, element};

/// Writes the page of the group that `versus` ranks; an empty one if it ranks none.
///
/// # Errors
/// Returns an error if writing to `out` fails.
pub fn write_ranking(versus: &Versus, out: &mut impl Write) -> io::Result<()> {
    Page::new(versus).write_into(out).map_err(io::Error::other)
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
    fn new(versus: &Versus) -> Page {
        let empty = Ranking {
            group: String::new(),
            metric: Metric::Slots,
            inputs: Vec::new(),
            growths: Vec::new(),
        };
        let ranking = versus.ranking.as_ref().unwrap_or(&empty);
        let metric = ranking.metric;
        let has_rank = !ranking.is_of_one_function();
        let rows = |input: &Input| -> Vec<Row> {
            let inputs = if has_rank {
                std::slice::from_ref(input)
            } else {
                &ranking.inputs
            };
            let entries = inputs.iter().flat_map(|input| &input.entries);
            let longest = entries.map(|entry| entry.per_iteration).fold(0.0, f64::max);
            let row = |entry| Row::new(entry, input.parameter.as_deref(), metric, longest);
            let mut rows: Vec<Row> = input.entries.iter().map(row).collect();
            for row in rows.iter_mut().filter(|_| !has_rank) {
                row.ratio.clear();
            }
            rows
        };
        Page {
            tool_version: env!("CARGO_PKG_VERSION"),
            title: ranking.group.clone(),
            facts: vec![versus.run.machine.clone(), versus.run.started_at.clone()],
            what: match metric {
                Metric::Wall => "Time",
                _ => "Slots",
            },
            legend: legend(|of| match metric {
                Metric::Wall => of == Metric::Wall,
                _ => of.category().is_some(),
            }),
            has_rank,
            rows: ranking.inputs.iter().flat_map(rows).collect(),
            growths: ranking.growths.iter().map(Section::new).collect(),
        }
    }
}

impl Row {
    fn new(entry: &Entry, parameter: Option<&str>, metric: Metric, longest: f64) -> Row {
        let tie = if entry.differs == Some(false) {
            "~"
        } else {
            ""
        };
        let bar_of = |categories| bar(&entry.function, categories, longest);
        Row {
            name: entry.function.clone(),
            parameter: parameter.unwrap_or_default().to_owned(),
            total: match metric {
                Metric::Wall => time_ns(entry.per_iteration, false),
                _ => slots(entry.per_iteration),
            },
            total_key: entry.per_iteration,
            ratio: format!("{tie}{:.2}", entry.ratio),
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

    #[test]
    fn page_has_all_inputs_and_growths() {
        let page = written(|out| write_ranking(&ranking_of(sorts(), "sort"), out));
        let (_, body) = page.split_once("<header>").unwrap();
        insta::assert_snapshot!(body.split_once("<script>").unwrap().0);
    }

    #[test]
    fn names_stay_text() {
        let mut benchmarks = sorts();
        benchmarks[0].id.name = "sort/<b>x</b>/10".to_owned();
        let page = written(|out| write_ranking(&ranking_of(benchmarks, "sort"), out));
        assert!(!page.contains("<b>x") && page.contains("&#60;b&#62;x"));
    }
}
