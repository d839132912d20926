//! The values of each launch.

use topdown_run::provenance::SourceKind;
use topdown_run::run_file::Benchmark;

use crate::table::{Column, Table};
use topdown_gate::metric::Metric;

/// A launch's number, and how many of its samples were used.
type Launch = (u32, String);

/// Returns the launches of a side: times and slots in one table if the same launches measured both.
pub fn tables(side: &'static str, benchmark: &Benchmark) -> Vec<Table> {
    let times = benchmark.times.launches.iter();
    let times = times.map(|time| {
        (
            time.launch,
            samples(time.samples_used, time.samples_dropped),
        )
    });
    let times: Vec<Launch> = times.collect();
    let mut metrics = Metric::ALL.to_vec();
    metrics.retain(|metric| metric.values(benchmark).is_some());
    if benchmark.provenance().source != SourceKind::Model {
        return vec![table(side, &times, &metrics, benchmark)];
    }
    let slots = benchmark.slots_launches().iter();
    let slots = slots.map(|slots| {
        let samples = samples(slots.samples_used, slots.samples_dropped);
        (slots.launch, samples)
    });
    let slots: Vec<Launch> = slots.collect();
    metrics.retain(|metric| *metric != Metric::Wall);
    vec![
        table(side, &slots, &metrics, benchmark),
        table(side, &times, &[Metric::Wall], benchmark),
    ]
}

fn table(
    side: &'static str,
    launches: &[Launch],
    metrics: &[Metric],
    benchmark: &Benchmark,
) -> Table {
    let mut columns = vec![Column::number(side), Column::number("samples")];
    columns.extend(metrics.iter().map(|metric| match metric {
        Metric::Wall => Column::number("ns"),
        metric => Column::number(metric.name()),
    }));
    let mut table = Table::new(columns).indented(2);
    let values = metrics.iter().map(|metric| metric.by_launch(benchmark));
    let values: Vec<Vec<(u32, f64)>> = values.map(Option::unwrap_or_default).collect();
    for (launch, samples) in launches {
        let cells = values.iter().map(|column| {
            let value = column.iter().find(|(number, _)| number == launch);
            value.map_or(String::new(), |(_, value)| format!("{value:.2}"))
        });
        table.row(
            [launch.to_string(), samples.clone()]
                .into_iter()
                .chain(cells),
        );
    }
    table
}

/// Used samples, and how many were dropped if any.
fn samples(used: u32, dropped: u32) -> String {
    match dropped {
        0 => used.to_string(),
        dropped => format!("{used}-{dropped}"),
    }
}
