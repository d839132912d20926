//! Reads the lines of `perf stat -j`: one JSON object for each event, and one for each additional
//! metric of it.
//!
//! perf 6.1 writes an event's second metric after the closing brace of the first, without an
//! opening brace. Source: Linux, tools/perf/util/stat-display.c, and the output of perf 6.1.187 in
//! tests/data/import.

use serde_json::{Map, Value};

use super::execution::{Count, Execution, Located, Metric, is_retire_latency};
use super::number::{self, REMEDY, not_a, repaired_json, rounding_of};
use super::perf_csv::{TOOL, hidden_events, is_idle, lost_of, metric_name, per_execution, wall_ns};
use super::problem::{Lost, Problem};

/// Fields that show that counts were not summed over CPUs.
const PER_CPU: [&str; 8] = [
    "cpu", "core", "die", "socket", "node", "thread", "cluster", "cache",
];

/// Reads a file.
///
/// # Errors
/// Returns what is wrong with it, and where.
pub fn read(text: &str) -> Result<Vec<Execution>, Located> {
    per_execution(text, |line, execution| {
        // In that case, perf 6.1 does not write valid JSON.
        if line.1.contains("\"aggregate-number\"") {
            return Err(Problem::PerCpu);
        }
        objects(line, |object| add(execution, object))
    })
}

/// Calls `each` for each object of a line.
fn objects(
    line: (usize, &str),
    mut each: impl FnMut((usize, Map<String, Value>)) -> Result<(), Problem>,
) -> Result<(), Problem> {
    let (number, line) = line;
    let repaired = repaired_json(line);
    let mut rest = repaired.as_str();
    while !rest.trim().is_empty() {
        let bare = rest.trim_start();
        let braced;
        let text = if bare.starts_with('"') {
            braced = format!("{{{bare}");
            braced.as_str()
        } else {
            bare
        };
        let mut values = serde_json::Deserializer::from_str(text).into_iter::<Map<String, Value>>();
        match values.next() {
            Some(Ok(object)) => each((number, object))?,
            Some(Err(error)) => {
                // Drop the error's line number, which counts from this line.
                let error = error.to_string();
                let what = error.split(" at line ").next().unwrap_or_default();
                let has_decimal_comma = repaired != line && !line.contains('.');
                return Err(Problem::malformed(format!(
                    "not a JSON object: {what}{}",
                    if has_decimal_comma { REMEDY } else { "" }
                )));
            }
            None => break,
        }
        let added = text.len() - bare.len();
        rest = &bare[values.byte_offset() - added..];
    }
    Ok(())
}

fn add(
    execution: &mut Execution,
    (line, object): (usize, Map<String, Value>),
) -> Result<(), Problem> {
    if object.contains_key("interval") {
        return Err(Problem::Intervals);
    }
    if PER_CPU.iter().any(|k| object.contains_key(*k)) {
        return Err(Problem::PerCpu);
    }
    if object.contains_key("variance") {
        return Err(Problem::Means);
    }
    let counted = object.get("counter-value");
    let runtime = object.get("event-runtime").and_then(Value::as_u64);
    if let Some(value) = counted.filter(|_| !is_latency(&object)) {
        let count = Count {
            name: text(&object, "event")?.to_owned(),
            line,
            count: count(value, object.get("pcnt-running"))?,
            running_ns: runtime,
        };
        if count.name == "duration_time" {
            execution.wall_ns = wall_ns(&count.count);
        }
        execution.is_idle_row = is_idle(&count);
        execution.counts.push(count);
    }
    // Events without objects of their own: perf 6.12 and later without `-e`.
    if counted.is_none()
        && let (Some(time), Some(percent)) = (runtime, object.get("pcnt-running"))
    {
        let name = ["metric-unit", "metricgroup"].map(|key| object.get(key)?.as_str());
        let name = name.into_iter().flatten().next().unwrap_or_default();
        let percent = finite("pcnt-running", percent)?;
        hidden_events(execution, line, name, time > 0, percent);
    }
    match (object.get("metric-value"), object.get("metric-unit")) {
        (Some(value), Some(Value::String(unit))) => execution.add_metric(Metric {
            name: metric_name(unit).to_owned(),
            line,
            value: metric_value(metric_name(unit), value)?,
            rounding: rounding(value),
        }),
        (Some(_), _) => execution.has_nameless_metrics = true,
        // With --metric-only, perf since 6.4 uses each metric's name as a key.
        (None, _) if !object.contains_key("counter-value") => {
            // Metrics may have no value: `none`.
            execution.has_nameless_metrics |= !object.is_empty();
            for (name, value) in &object {
                let text = value.as_str();
                if let Some(Ok(number)) = text.map(|text| number::metric(name, text)) {
                    execution.add_metric(Metric {
                        name: metric_name(name).to_owned(),
                        line,
                        value: number,
                        rounding: rounding(value),
                    });
                }
            }
        }
        _ => {}
    }
    execution.tool = TOOL;
    Ok(())
}

fn is_latency(object: &Map<String, Value>) -> bool {
    let event = object.get("event").and_then(Value::as_str);
    event.is_some_and(is_retire_latency)
}

fn count(value: &Value, running: Option<&Value>) -> Result<Result<u64, Lost>, Problem> {
    if let Some(words) = value.as_str().filter(|text| text.starts_with('<')) {
        return Ok(Err(Lost::Missing(words.to_owned())));
    }
    let value = finite("counter-value", value)?;
    let running = match running {
        Some(running) => finite("pcnt-running", running)?,
        None => 100.0,
    };
    lost_of(value, running, "counter-value")
}

fn text<'a>(object: &'a Map<String, Value>, key: &str) -> Result<&'a str, Problem> {
    object
        .get(key)
        .and_then(Value::as_str)
        .ok_or_else(|| Problem::malformed(format!("no text in field `{key}`")))
}

/// Parses a number, which perf writes as a number or as text.
fn finite(key: &str, value: &Value) -> Result<f64, Problem> {
    let number = match value {
        Value::String(text) => number::number(text),
        value => value.as_f64(),
    };
    let text = value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned);
    number
        .filter(|number: &f64| number.is_finite())
        .ok_or_else(|| not_a("a number", &format!("field `{key}`"), &text))
}

fn metric_value(name: &str, value: &Value) -> Result<Result<f64, Lost>, Problem> {
    match value {
        Value::String(text) => number::metric(name, text),
        value => finite("metric-value", value).map(Ok),
    }
}

fn rounding(value: &Value) -> f64 {
    match value {
        Value::String(text) => rounding_of(text),
        // perf writes six digits.
        _ => 0.5e-6,
    }
}
