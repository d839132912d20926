//! Reads the tables of pmu-tools' toplev. That of `-x, -o FILE` has a row for each node and metric,
//! that of `-V FILE` for each event.
//!
//! Source: the outputs of toplev 5.1 (pmu-tools 2026.7.24.0) in tests/data; its tl_output.py,
//! tl_uval.py, and `dump_raw` in toplev.py.

use super::execution::{Count, Execution, Located, Metric};
use super::number::{self, not_a, rounding_of};
use super::problem::{Lost, Problem};

const TOOL: &str = "toplev";

const SEPARATORS: [char; 3] = [',', ';', '\t'];
/// Headings of the table of nodes.
const NODES: [&str; 3] = ["Area", "Value", "Unit"];
/// Headings of the table of events.
const EVENTS: [&str; 3] = ["Perf-event", "Value", "MULTI"];

/// The nodes of level 1.
const LEVEL_1: [&str; 4] = [
    "Retiring",
    "Bad_Speculation",
    "Frontend_Bound",
    "Backend_Bound",
];
/// The nodes below each of them.
const LEVEL_2: [[&str; 2]; 4] = [
    ["Light_Operations", "Heavy_Operations"],
    ["Branch_Mispredicts", "Machine_Clears"],
    ["Fetch_Latency", "Fetch_Bandwidth"],
    ["Memory_Bound", "Core_Bound"],
];

/// What the table of nodes has in place of CPUs on a hybrid machine: names of PMUs without `cpu_`.
const CORE_TYPES: [&str; 3] = ["core", "atom", "lowpower"];

/// What a node or metric of 0.0 lacks.
const NOT_COUNTED: &str = "toplev prints 0.0, also for what was not counted";

/// The largest rounding error of a printed time to accept. Judgement: toplev prints tenths of
/// seconds, which say little about a short command.
const MAX_TIME_ERROR_FRACTION: f64 = 0.01;

/// Returns whether a line is the header of one of the tables.
pub fn is_header(line: &str) -> bool {
    has_columns(line, NODES) || has_columns(line, EVENTS)
}

fn has_columns(line: &str, names: [&str; 3]) -> bool {
    let columns: Vec<&str> = line.split(SEPARATORS).collect();
    names.iter().all(|name| columns.contains(name))
}

/// Returns the name of another form of its output, which cannot be read.
pub fn unreadable_form(text: &str) -> Option<&'static str> {
    let is_value_of_node = |line: &str, separator: char| {
        let mut fields = line.split(separator).map(str::trim);
        let is_node = |name: &str| LEVEL_1.iter().any(|node| name.starts_with(node));
        fields.any(is_node) && fields.any(|unit| unit.starts_with("% Slots"))
    };
    if text.contains("\"ph\": \"C\"") && LEVEL_1.iter().any(|node| text.contains(node)) {
        Some("JSON of toplev, which lacks nodes, multiplexing and whether values are means")
    } else if text
        .lines()
        .any(|line| has_columns(line, ["Area", "Node", "Multiplex"]))
    {
        Some("columns of toplev (`--columns`), which have no units")
    } else if text
        .lines()
        .any(|line| is_value_of_node(line, ',') || is_value_of_node(line, ';'))
    {
        Some("a table of toplev without its headings (`--no-csv-header`)")
    } else {
        let is_printed =
            |line: &str| LEVEL_1.iter().any(|node| line.contains(node)) && line.contains("% Slots");
        let is_text = text.lines().any(is_printed);
        is_text.then_some("text of toplev, which leaves out events that were not counted")
    }
}

/// Reads a file.
///
/// # Errors
/// Returns what is wrong with it, and where.
pub fn read(text: &str) -> Result<Execution, Located> {
    let (at, header) = (0..)
        .zip(text.lines())
        .find(|(_, line)| is_header(line))
        .ok_or((
            None,
            Problem::malformed("has no row of headings with `Area`, `Value` and `Unit`"),
        ))?;
    let mut execution = Execution {
        tool: TOOL,
        // `# VERSION on CPU`, below the table.
        tool_version: text
            .lines()
            .filter_map(|line| line.trim_matches('"').strip_prefix("# "))
            .find_map(|line| line.split_once(" on "))
            .map(|(version, _)| version.to_owned()),
        ..Execution::default()
    };
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
    let are_nodes = has_columns(header, NODES);
    for row in reader.records() {
        let row = row.map_err(not_csv)?;
        let position = row
            .position()
            .map_or(0, |position| position.line() as usize);
        let row = Row {
            headings: &headings,
            row: &row,
            line: at + position,
        };
        // Skip notes after the table, which have fewer fields.
        if row.field("Value").is_empty() {
            continue;
        }
        row.check_scope()
            .map_err(|problem| (Some(at + 1), problem))?;
        if are_nodes {
            execution.metrics.push(row.metric()?);
        } else {
            let count = row.count()?;
            if count.name == "duration_time" {
                execution.wall_ns = count.count.clone().ok().filter(|time| *time > 0);
            }
            execution.counts.push(count);
        }
    }
    if execution.metrics.is_empty() && execution.counts.is_empty() {
        return Err((None, Problem::Empty));
    }
    check_nodes(&mut execution)?;
    execution.drop_idle_pmus();
    Ok(execution)
}

/// Checks that level 1 is complete, and removes parts of level 2 that may not have been counted.
fn check_nodes(execution: &mut Execution) -> Result<(), Located> {
    let metrics = &mut execution.metrics;
    let is_printed = |name: &&&str| metrics.iter().any(|metric| metric.name == **name);
    let printed: Vec<&str> = LEVEL_1.iter().filter(is_printed).copied().collect();
    if !printed.is_empty() && printed.len() < LEVEL_1.len() {
        let printed = printed.join(", ");
        return Err((None, Problem::HiddenNodes { printed }));
    }
    for (parent, children) in LEVEL_1.into_iter().zip(LEVEL_2) {
        let of_parent = |metric: &Metric| metric.name == parent && metric.value != Ok(0.0);
        let is_child = |metric: &Metric| {
            let (path, name) = metric.name.rsplit_once('.').unwrap_or_default();
            path == parent && children.contains(&name)
        };
        let is_zero = |metric: &Metric| is_child(metric) && metric.value == Ok(0.0);
        // The other child then has all of the parent.
        if metrics.iter().any(of_parent) && metrics.iter().any(is_zero) {
            for child in metrics.iter_mut().filter(|metric| is_child(metric)) {
                child.value = Err(Lost::Missing(NOT_COUNTED.to_owned()));
            }
        }
    }
    Ok(())
}

struct Row<'a> {
    headings: &'a csv::StringRecord,
    row: &'a csv::StringRecord,
    line: usize,
}

impl Row<'_> {
    /// Returns a field, empty if there is no such column.
    fn field(&self, column: &str) -> &str {
        let at = self.headings.iter().position(|heading| heading == column);
        at.and_then(|at| self.row.get(at))
            .unwrap_or_default()
            .trim()
    }

    /// Returns an error if the row is not of the whole execution.
    fn check_scope(&self) -> Result<(), Problem> {
        if !self.field("Timestamp").is_empty() {
            Err(Problem::Intervals)
        } else if CORE_TYPES.contains(&self.field("CPUs")) {
            Err(Problem::NodesPerCoreType)
        } else if !self.field("CPUs").is_empty() || !self.field("CPU").is_empty() {
            Err(Problem::PerCpu)
        } else {
            Ok(())
        }
    }

    fn number(&self, name: &str, column: &str, text: &str) -> Result<f64, Located> {
        let not_a_number = || not_a("a number", &format!("`{column}` of `{name}`"), text);
        number::number(text).ok_or_else(|| (Some(self.line), not_a_number()))
    }

    /// Returns an error if the number is a mean, and the loss if it was extrapolated.
    fn loss(&self, name: &str, stddev: &str, multiplex: &str) -> Result<Option<Lost>, Located> {
        // Its thousands are separated: `6,225.7`.
        let deviation = self.field(stddev).replace(',', "");
        if !deviation.is_empty() && self.number(name, stddev, &deviation)? != 0.0 {
            return Err((Some(self.line), Problem::Means));
        }
        let shared = self.field(multiplex);
        let is_shared = !shared.is_empty() && self.number(name, multiplex, shared)? < 100.0;
        Ok(is_shared.then(|| Lost::Multiplexed {
            running: format!("{shared} %"),
        }))
    }

    fn metric(&self) -> Result<Metric, Located> {
        let (name, value) = (self.field("Area"), self.field("Value"));
        let rounding = rounding_of(value);
        let known = match self.loss(name, "Stddev", "Multiplex")? {
            Some(lost) => Err(lost),
            None => number::metric(name, value).map_err(|problem| (Some(self.line), problem))?,
        };
        let known = known.and_then(|number| match name {
            "SLOTS" if number == 0.0 => Err(Lost::Missing(NOT_COUNTED.to_owned())),
            "Time" if rounding > number * MAX_TIME_ERROR_FRACTION => {
                Err(Lost::Missing(format!("`{value}` is in tenths of seconds")))
            }
            _ => Ok(number),
        });
        Ok(Metric {
            name: name.to_owned(),
            line: self.line,
            value: known,
            rounding,
        })
    }

    /// Returns the count of an event.
    fn count(&self) -> Result<Count, Located> {
        // Of the two names, the one that is no code: `cpu_atom/event=0xc2/` has its PMU only.
        let (event, code) = (self.field("Event"), self.field("Perf-event"));
        let name = match code.split_once('/') {
            Some((pmu, terms)) if terms.contains('=') => format!("{pmu}/{event}/"),
            _ => code.to_owned(),
        };
        let value = self.field("Value");
        let mut running_ns = None;
        let count = if value.starts_with('<') {
            running_ns = Some(0);
            Err(Lost::Missing(value.to_owned()))
        } else {
            let count = self.number(&name, "Value", value)?;
            if !(0.0..1.8e19).contains(&count) {
                return Err((
                    Some(self.line),
                    not_a("a count", &format!("`{name}`"), value),
                ));
            }
            self.loss(&name, "STDDEV", "MULTI")?
                .map_or(Ok(count as u64), Err)
        };
        Ok(Count {
            name,
            line: self.line,
            count,
            running_ns,
        })
    }
}

fn not_csv(error: csv::Error) -> Located {
    (None, Problem::malformed(format!("is not a table: {error}")))
}
