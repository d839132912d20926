//! Reads the table of `toplev -x, -o FILE`: a header, then one row for each node and metric.
//!
//! Source: pmu-tools, tl_output.py at 024b2284, and its wiki page "toplev CSV output fields".

use super::execution::{Execution, Located, Metric};
use super::number::{self, not_a, rounding_of};
use super::problem::{Lost, Problem};

const TOOL: &str = "toplev";

/// Returns whether a line is the header.
pub fn is_header(line: &str) -> bool {
    let columns: Vec<&str> = line.split([',', ';', '\t']).collect();
    ["Area", "Value", "Unit"]
        .iter()
        .all(|name| columns.contains(name))
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
    let (at, header) = (0..)
        .zip(text.lines())
        .find(|(_, line)| is_header(line))
        .ok_or((
            None,
            Problem::malformed("has no row of headings with `Area`, `Value` and `Unit`"),
        ))?;
    // `# VERSION on CPU`
    execution.tool_version = text
        .lines()
        .take(at)
        .find_map(|line| line.trim_matches(['"', '#', ' ']).split_once(" on "))
        .map(|(version, _)| version.to_owned());
    let separator = header.bytes().find(|c| b",;\t".contains(c)).unwrap_or(b',');
    let rows: String = text
        .lines()
        .skip(at)
        .flat_map(|line| [line, "\n"])
        .collect();
    let mut reader = csv::ReaderBuilder::new()
        .delimiter(separator)
        .flexible(true)
        .from_reader(rows.as_bytes());
    let headings = reader.headers().map_err(not_csv)?.clone();
    let column = |name: &str| headings.iter().position(|heading| heading == name);
    if column("Timestamp").is_some() {
        return Err((Some(at + 1), Problem::Intervals));
    }
    if column("CPUs").is_some() {
        return Err((Some(at + 1), Problem::PerCpu));
    }
    let (area, value) = (column("Area"), column("Value"));
    let (stddev, multiplex) = (column("Stddev"), column("Multiplex"));
    for row in reader.records() {
        let row = row.map_err(not_csv)?;
        let line = at
            + row
                .position()
                .map_or(0, |position| position.line() as usize);
        let field = |column: Option<usize>| {
            let field = column.and_then(|column| row.get(column));
            field.unwrap_or_default().trim()
        };
        let (name, value) = (field(area), field(value));
        // Skip notes after the table, which have fewer fields.
        if value.is_empty() {
            continue;
        }
        let number = |what: &str, text: &str| {
            let not_a_number = || not_a("a number", &format!("{what} of `{name}`"), text);
            number::number(text).ok_or_else(|| (Some(line), not_a_number()))
        };
        if !matches!(field(stddev), "") && number("`Stddev`", field(stddev))? != 0.0 {
            return Err((Some(line), Problem::Means));
        }
        let shared = field(multiplex);
        let value_of_node = number::metric(name, value).map_err(|problem| (Some(line), problem))?;
        execution.metrics.push(Metric {
            name: name.to_owned(),
            line,
            value: if !shared.is_empty() && number("`Multiplex`", shared)? < 100.0 {
                Err(Lost::Multiplexed {
                    running: format!("{shared} %"),
                })
            } else {
                value_of_node
            },
            rounding: rounding_of(value),
        });
    }
    if execution.metrics.is_empty() {
        Err((None, Problem::Empty))
    } else {
        Ok(execution)
    }
}

fn not_csv(error: csv::Error) -> Located {
    (None, Problem::malformed(format!("is not a table: {error}")))
}
