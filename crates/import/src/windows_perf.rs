//! Reads the document of `wperf stat --json`: the counters of each core.
//!
//! Source: WindowsPerf, wperf/README.md, "Emit JSON output for simple counting"; tests/data/import
//! has such a document.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use super::execution::{Count, Execution, Located};
use super::problem::{Lost, Problem};

const TOOL: &str = "wperf";

/// Returns whether the text is such a document.
pub fn is_document(text: &str) -> bool {
    let document: Result<BTreeMap<String, Value>, _> = serde_json::from_str(text);
    let is_of_cores = |value: &Value| value.get("cores").is_some();
    document.is_ok_and(|document| {
        document.contains_key("timeline") || document.get("core").is_some_and(is_of_cores)
    })
}

#[derive(Deserialize)]
struct Document {
    core: Cores,
    #[serde(rename = "Time_elapsed")]
    seconds: f64,
}

#[derive(Deserialize)]
struct Cores {
    cores: Vec<Core>,
}

#[derive(Deserialize)]
struct Core {
    #[serde(rename = "Performance_counter")]
    counters: Vec<Counter>,
}

#[derive(Deserialize)]
struct Counter {
    counter_value: u64,
    event_name: String,
    /// `9/10` if the counters were multiplexed.
    multiplexed: Option<String>,
}

/// Reads a file and sums the counts of all cores.
///
/// # Errors
/// Returns what is wrong with it.
pub fn read(text: &str) -> Result<Execution, Located> {
    let malformed = |error: serde_json::Error| {
        let line = (error.line() > 0).then(|| error.line());
        (
            line,
            Problem::malformed(format!("not a document of wperf: {error}")),
        )
    };
    let document: Value = serde_json::from_str(text).map_err(malformed)?;
    if document.get("timeline").is_some() {
        return Err((None, Problem::Intervals));
    }
    let document: Document = serde_json::from_value(document).map_err(malformed)?;
    let mut counts: Vec<Count> = Vec::new();
    for core in &document.core.cores {
        for counter in &core.counters {
            let count = match &counter.multiplexed {
                Some(turns) if !is_whole(turns) => Err(Lost::Multiplexed {
                    running: turns.clone(),
                }),
                _ => Ok(counter.counter_value),
            };
            match counts
                .iter_mut()
                .find(|known| known.name == counter.event_name)
            {
                Some(known) => {
                    known.count = known
                        .count
                        .clone()
                        .and_then(|sum| Ok(sum.saturating_add(count?)));
                }
                None => counts.push(Count {
                    name: counter.event_name.clone(),
                    line: 0,
                    count,
                    running_ns: None,
                }),
            }
        }
    }
    if counts.is_empty() {
        return Err((None, Problem::Empty));
    }
    let wall_ns = document.seconds * 1e9;
    if !(0.0..1.8e19).contains(&wall_ns) {
        let what = format!("`Time_elapsed` is {}, not seconds", document.seconds);
        return Err((None, Problem::malformed(what)));
    }
    Ok(Execution {
        tool: TOOL,
        counts,
        wall_ns: Some(wall_ns as u64),
        ..Execution::default()
    })
}

/// Returns whether a fraction such as `9/10` is 1.
fn is_whole(turns: &str) -> bool {
    turns.split_once('/').is_some_and(|(part, all)| part == all)
}
