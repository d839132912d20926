//! Reads the tables of Arm's topdown-tool: of events (`--cpu-generate-csv events`), and of metrics
//! (`--csv FILE` before version 1), which lack slots.
//!
//! Source: the outputs of topdown-tool 0.1.0 and 1.0.0 in tests/data. The column `run` is always 1,
//! contrary to the README of 1.0.0 (telemetry-solution, tools/topdown_tool at 917257c).

use super::execution::{Count, Execution, Located, Metric};
use super::number::{self, not_a, rounding_of};
use super::problem::{Lost, Problem};

const TOOL: &str = "topdown-tool";
const EVENTS: &str = "run,time,event,value";
const METRICS: &str = "time,group,stage,level,metric,value,units";
/// As `METRICS`, before version 1.
const OLD_METRICS: &str = "time,level,stage,group,metric,value,units";

/// The most events that a core counts at once: the counters that all Neoverse cores have, and the
/// cycle counter. topdown-tool takes turns with more, and its table does not say so.
const MAX_EVENTS: usize = 6 + 1;

/// Returns whether a line is the header of one of the tables.
pub fn is_header(line: &str) -> bool {
    matches!(line.trim(), EVENTS | METRICS | OLD_METRICS)
}

/// Returns whether the text is what topdown-tool prints for people: shares.
pub fn is_printed(text: &str) -> bool {
    text.contains("Stage 1 (Topdown metrics)")
}

/// Reads a file.
///
/// # Errors
/// Returns what is wrong with it, and where.
pub fn read(text: &str) -> Result<Execution, Located> {
    let mut execution = Execution {
        tool: TOOL,
        ..Execution::default()
    };
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let headings = reader.headers().map_err(not_csv)?.clone();
    let column = |name: &str| headings.iter().position(|heading| heading == name);
    let (Some(value), Some(name)) = (column("value"), column("event").or(column("metric"))) else {
        return Err((
            Some(1),
            Problem::malformed(format!(
                "the headings are neither `{EVENTS}` nor `{METRICS}`"
            )),
        ));
    };
    let are_events = column("event").is_some();
    for row in reader.records() {
        let row = row.map_err(not_csv)?;
        let line = row
            .position()
            .map_or(0, |position| position.line() as usize);
        let field =
            |column: Option<usize>| column.and_then(|at| row.get(at)).unwrap_or_default().trim();
        if !field(column("time")).is_empty() {
            return Err((Some(line), Problem::Intervals));
        }
        let (name, value) = (field(Some(name)), field(Some(value)));
        let lost = || Lost::Missing("the field is empty".to_owned());
        let number = || {
            number::number(value)
                .filter(|number| number.is_finite() && *number >= 0.0)
                .ok_or_else(|| (Some(line), not_a("a count", &format!("`{name}`"), value)))
        };
        if !are_events {
            let value_of_metric = if value.is_empty() {
                Err(lost())
            } else {
                number::metric(name, value).map_err(|problem| (Some(line), problem))?
            };
            execution.metrics.push(Metric {
                name: name.to_owned(),
                line,
                value: value_of_metric,
                rounding: rounding_of(value),
            });
            continue;
        }
        if let Some(first) = execution.counts.iter().find(|count| count.name == name) {
            let (name, first) = (name.to_owned(), first.line);
            return Err((Some(line), Problem::SeveralGroups { name, first }));
        }
        execution.counts.push(Count {
            name: name.to_owned(),
            line,
            count: if value.is_empty() {
                Err(lost())
            } else {
                Ok(number()? as u64)
            },
            running_ns: None,
        });
    }
    if execution.counts.is_empty() && execution.metrics.is_empty() {
        Err((None, Problem::Empty))
    } else if execution.counts.len() > MAX_EVENTS {
        let events = execution.counts.len();
        Err((None, Problem::TooManyEvents { events }))
    } else {
        Ok(execution)
    }
}

fn not_csv(error: csv::Error) -> Located {
    let line = error.position().map(|position| position.line() as usize);
    (line, Problem::malformed(format!("is not a table: {error}")))
}
