//! Reads the lines of `perf stat -x,`: value, unit, event, running time, its percentage, metric,
//! and the metric's unit.
//!
//! Source: Linux, tools/perf/Documentation/perf-stat.txt, "CSV FORMAT", and the output of perf
//! 6.1.187 in tests/data/import. Contrary to that page, the line of an additional metric has two
//! empty fields fewer, and an event of the form `cpu/…/` can contain the separator.

use super::execution::{Count, Execution, Located, Metric, is_retire_latency};
use super::number::{self, REMEDY, not_a, number, rounding_of};
use super::problem::{Lost, Problem};

/// The tool's name in formulas.
pub(super) const TOOL: &str = "perf-stat";

/// Starts each execution in a file that perf wrote (`-o`) or appended to.
const BEGINNING: &str = "# started on";

/// What `perf record`, which `--record-tpebs` starts, says into the same file if that is where
/// perf's errors go.
const OF_PERF_RECORD: &str = "[ perf record: ";

const SEPARATORS: [char; 4] = [',', ';', '\t', '|'];

/// What `--metric-only` writes above the column of times.
const TIME_HEADING: &str = "time";

/// What it writes above columns of places.
const TOPOLOGY_HEADINGS: [&str; 5] = ["CPU", "core", "die", "socket", "node"];

/// Returns whether a line looks like such output.
pub fn is_row(line: &str) -> bool {
    let Some(separator) = separator_of(line) else {
        return false;
    };
    let first = line.split(separator).next().unwrap_or_default();
    number(first).is_some()
        || is_heading(line, separator)
        || first.starts_with('<')
        || is_topology_field(first)
        || TOPOLOGY_HEADINGS.contains(&first)
}

/// Reads a file.
///
/// # Errors
/// Returns what is wrong with it, and where.
pub fn read(text: &str) -> Result<Vec<Execution>, Located> {
    per_execution(text, |(line, row), execution| add(execution, line, row))
}

/// Calls `add` for each line of each execution.
pub(super) fn per_execution(
    text: &str,
    mut add: impl FnMut((usize, &str), &mut Execution) -> Result<(), Problem>,
) -> Result<Vec<Execution>, Located> {
    let mut executions = vec![Execution::default()];
    for (line, row) in (1..).zip(text.lines().map(str::trim)) {
        if row.starts_with(BEGINNING) {
            executions.push(Execution::default());
        }
        if is_skipped(row) {
            continue;
        }
        let execution = executions.last_mut().expect("there is one from the start");
        add((line, row), execution).map_err(|problem| (Some(line), problem))?;
    }
    executions.retain(|execution| *execution != Execution::default());
    executions.iter_mut().for_each(Execution::drop_idle_pmus);
    if executions.is_empty() {
        Err((None, Problem::Empty))
    } else {
        Ok(executions)
    }
}

/// Returns whether a line belongs to no execution.
pub(super) fn is_skipped(line: &str) -> bool {
    line.is_empty() || line.starts_with('#') || line.starts_with(OF_PERF_RECORD)
}

fn separator_of(line: &str) -> Option<char> {
    line.chars().find(|c| SEPARATORS.contains(c))
}

fn add(execution: &mut Execution, line: usize, row: &str) -> Result<(), Problem> {
    execution.tool = TOOL;
    let separator =
        separator_of(row).ok_or_else(|| Problem::malformed(format!("`{row}` has no fields")))?;
    let fields = fields(row, separator);
    let field = |at: usize| fields.get(at).map_or("", |field| field.trim());
    if is_topology_field(field(0)) || TOPOLOGY_HEADINGS.contains(&field(0)) {
        return Err(Problem::PerCpu);
    }
    if field(0) == TIME_HEADING {
        return Err(Problem::Intervals);
    }
    let mut filled = fields.iter().filter(|field| !field.is_empty());
    if is_heading(row, separator) || filled.all(|field| number(field).is_some()) {
        // --metric-only prints headings, and numbers below them.
        execution.has_nameless_metrics = true;
        return Ok(());
    }
    if field(0).is_empty() {
        // A metric of the event above, or of events that have no rows (perf 6.12 and later without
        // `-e`): their time is then in its fields 2 and 3.
        let [.., value, name] = &fields[..] else {
            return Ok(());
        };
        if let Some((time, percent)) = number(field(1)).zip(number(field(2))) {
            hidden_events(execution, line, name, time > 0.0, percent);
        }
        return metric(execution, line, value, name);
    }
    if fields.len() < 5 {
        return Err(Problem::malformed(format!(
            "{} fields; an event has at least 5",
            fields.len()
        )));
    }
    if field(3).ends_with('%') {
        return Err(Problem::Means);
    }
    let is_number_twice = !field(0).starts_with('<') && number(field(1)).is_some();
    // A percentage has two decimals.
    let is_percentage_split = !field(4).contains(['.', ',']) && is_two_digits(field(5));
    if separator == ',' && (is_number_twice && is_whole(field(0)) || is_percentage_split) {
        return Err(Problem::malformed(format!(
            "decimals have a comma, which also separates the fields{REMEDY}"
        )));
    }
    if is_number_twice || number(field(0)).is_some() && field(1).starts_with('<') {
        // With `-I`, a time precedes the value.
        return Err(Problem::Intervals);
    }
    let number = |at: usize, what: &str| {
        number(field(at)).ok_or_else(|| not_a(what, &format!("field {}", at + 1), field(at)))
    };
    let count = if field(0).starts_with('<') {
        Err(Lost::Missing(field(0).to_owned()))
    } else {
        lost_of(number(0, "a count")?, number(4, "a percentage")?, "field 1")?
    };
    let running_ns = number(3, "a time in nanoseconds")? as u64;
    let name = field(2).to_owned();
    if name == "duration_time" {
        execution.wall_ns = wall_ns(&count);
    }
    if !is_retire_latency(&name) {
        let count = Count {
            name,
            line,
            count,
            running_ns: Some(running_ns),
        };
        execution.is_idle_row = is_idle(&count);
        execution.counts.push(count);
    }
    metric(execution, line, field(5), field(6))
}

/// Returns the time that `duration_time` counted: perf 7.3 prints 0 for it beside other events.
pub(super) fn wall_ns(count: &Result<u64, Lost>) -> Option<u64> {
    count.clone().ok().filter(|time| *time > 0)
}

/// Returns whether an event belongs to a type of core that the command did not use.
pub(super) fn is_idle(count: &Count) -> bool {
    count.running_ns == Some(0) && count.event().pmu.is_some()
}

/// Notes for how much of the time events were counted that have no rows, only a metric.
pub(super) fn hidden_events(
    execution: &mut Execution,
    line: usize,
    metric: &str,
    has_run: bool,
    percent: f64,
) {
    execution.is_idle_row = !has_run;
    if has_run && percent < 100.0 {
        execution.counts.push(Count {
            name: metric_name(metric).to_owned(),
            line,
            count: Err(multiplexed(percent)),
            running_ns: None,
        });
    }
}

fn multiplexed(percent: f64) -> Lost {
    Lost::Multiplexed {
        running: format!("{percent} %"),
    }
}

/// Returns whether a row is a heading of `--metric-only`: names, empty in perf 6.1, each with a
/// separator after it.
fn is_heading(row: &str, separator: char) -> bool {
    let is_name = |field: &str| number(field).is_none() && !field.starts_with('<');
    row.ends_with(separator) && row.split(separator).all(|field| is_name(field.trim()))
}

fn metric(execution: &mut Execution, line: usize, value: &str, name: &str) -> Result<(), Problem> {
    let (value, name) = (value.trim(), metric_name(name));
    if value.is_empty() || name.is_empty() {
        return Ok(());
    }
    execution.add_metric(Metric {
        name: name.to_owned(),
        line,
        value: number::metric(name, value)?,
        rounding: rounding_of(value),
    });
    Ok(())
}

fn is_whole(field: &str) -> bool {
    field.bytes().all(|byte| byte.is_ascii_digit())
}

fn is_two_digits(field: &str) -> bool {
    field.len() == 2 && is_whole(field)
}

/// Splits a row into fields. An event between slashes keeps its separators.
fn fields(row: &str, separator: char) -> Vec<String> {
    const EVENT: usize = 2;
    let mut fields: Vec<String> = Vec::new();
    for part in row.split(separator) {
        match fields.get_mut(EVENT) {
            Some(event) if event.matches('/').count() == 1 => {
                event.push(separator);
                event.push_str(part);
            }
            _ => fields.push(part.to_owned()),
        }
    }
    fields
}

/// Returns whether a field is the place of a count: `S0-D0-C0`, `CPU0`, `N1`.
fn is_topology_field(field: &str) -> bool {
    let is_word = |word: &str| {
        let digits = word.trim_start_matches(|c: char| c.is_ascii_alphabetic());
        digits.len() < word.len()
            && !digits.is_empty()
            && digits.chars().all(|c| c.is_ascii_digit())
    };
    field.split('-').all(is_word)
}

/// Returns the count, unless it was scaled.
pub(super) fn lost_of(
    value: f64,
    running_percent: f64,
    field: &str,
) -> Result<Result<u64, Lost>, Problem> {
    if value.is_nan() || !(0.0..1.8e19).contains(&value) {
        return Err(Problem::malformed(format!(
            "{field} is {value}, not a count"
        )));
    }
    Ok(if running_percent < 100.0 {
        Err(multiplexed(running_percent))
    } else {
        Ok(value.round() as u64)
    })
}

/// Returns a metric's name without its unit: `tma_retiring` from `%  tma_retiring`.
pub(super) fn metric_name(unit: &str) -> &str {
    let unit = unit.trim();
    match unit.rsplit_once("  ") {
        Some((_, name)) => name,
        None => unit.trim_start_matches('%').trim(),
    }
}
