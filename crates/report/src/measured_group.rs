//! One measured metric group: its metrics, the functions of its events, and the advice.

use std::io::{self, Write};

use topdown_counters::cpu::LatencyOrigin;

use super::advice_text::{in_words, sentence};
use super::function_rows::{label_of, plus_minus};
use super::number::percent;
use super::style::{DIM, Look, WARNING};
use super::table::{Column, Table};
use super::text::wrapped;
use topdown_explain::advice::Advice;
use topdown_explain::latencies::{Latencies, UsedLatency};
use topdown_explain::{EventFunctions, MeasuredGroup};
use topdown_gate::statistics::share::share_margin;
use topdown_run::code_samples::MIN_PMU_SAMPLES;
use topdown_terminal::count_of;

/// Writes what a group measured, and what follows from it.
///
/// # Errors
/// Returns an error if writing to `out` fails.
pub(super) fn write(
    out: &mut impl Write,
    measured: &MeasuredGroup,
    advice: Option<&Advice>,
    (indent, shows_pace): (usize, bool),
    look: Look,
) -> io::Result<()> {
    let pad = " ".repeat(indent);
    writeln!(out, "{pad}{}", measured.group.name)?;
    if let Err(error) = &measured.values {
        writeln!(out, "{pad}  {WARNING}not measured{WARNING:#}")?;
        return paragraph(out, &error.to_string(), indent + 2, look);
    }
    let columns = [Column::text(""), Column::number(""), Column::text("")];
    let mut table = Table::new(columns).indented(indent + 2);
    for (metric, value) in measured.metrics() {
        table.row([metric.name, &in_words(metric.unit, value), metric.unit]);
    }
    table.write(out, look)?;
    if !measured.uncounted.is_empty() {
        let text = format!(
            "{} counted 0: it did not happen, or a hypervisor hides it; metrics that need it are \
             left out",
            measured.uncounted.join(", ")
        );
        paragraph(out, &text, indent + 2, look)?;
    }
    if let Some(latencies) = &measured.latencies {
        for text in latency_sentences(latencies) {
            paragraph(out, &text, indent + 2, look)?;
        }
    }
    match &measured.functions {
        Some(Ok(sampled)) => {
            let mut events: Vec<(&str, &EventFunctions)> = Vec::new();
            if shows_pace {
                let pace = measured.group.events[measured.group.paced_at()];
                events.push((pace.name, &sampled.paced));
            }
            events.extend(
                sampled
                    .events
                    .iter()
                    .map(|(event, sampled)| (event.as_str(), sampled)),
            );
            for (event, functions) in events {
                paragraph(
                    out,
                    &event_sentence(event, functions, look),
                    indent + 2,
                    look,
                )?;
            }
        }
        Some(Err(error)) => {
            let text = format!("its functions are unknown: {error}");
            paragraph(out, &text, indent + 2, look)?;
        }
        None => {}
    }
    match advice {
        Some(advice) => write_advice(out, advice, indent + 2, look),
        None => Ok(()),
    }
}

/// Says in which functions an event happens, the most frequent ones first.
fn event_sentence(event: &str, sampled: &EventFunctions, look: Look) -> String {
    const MAX_FUNCTIONS: usize = 3;
    if sampled.hits < MIN_PMU_SAMPLES {
        let samples = count_of(sampled.hits, "PMU sample");
        return format!(
            "{event}: only {samples}; at least {MIN_PMU_SAMPLES} are needed to name \
                        functions"
        );
    }
    let sign = plus_minus(look.unicode);
    let functions = sampled
        .functions
        .iter()
        .take(MAX_FUNCTIONS)
        .map(|function| {
            let label = label_of(&function.name, &function.module);
            let margin = percent(share_margin(function.share, sampled.hits));
            format!("{label} {} {sign} {margin} %", percent(function.share))
        });
    let functions: Vec<String> = functions.collect();
    let samples = count_of(sampled.hits, "PMU sample");
    format!("{event} in {} ({samples})", functions.join(", "))
}

/// Describes the retire latency of each event, its source, and why it was not sampled.
fn latency_sentences(latencies: &Latencies) -> Vec<String> {
    let family = latencies.family;
    let sentence = |used: &UsedLatency| {
        let latency = used.latency;
        let origin = match (latency.origin, used.hits) {
            (LatencyOrigin::Sampled, hits) => {
                format!("mean of {}", count_of(hits.unwrap_or(0), "PMU sample"))
            }
            (LatencyOrigin::Published, _) => format!("Intel's mean for {family}"),
            (LatencyOrigin::Assumed, _) => format!("assumed by Intel's metrics for {family}"),
        };
        let counted = if latency.counted_cycles < latency.cycles {
            format!(", of which {:.1} count", latency.counted_cycles)
        } else {
            String::new()
        };
        let event = used.event;
        format!("{event}: {:.1} cycles ({origin}){counted}", latency.cycles)
    };
    let mut sentences: Vec<String> = latencies.used.iter().map(sentence).collect();
    let not_sampled = latencies.not_sampled.as_ref();
    sentences.extend(not_sampled.map(|reason| format!("not sampled: {reason}")));
    sentences
}

/// Writes what to do, indented.
///
/// # Errors
/// Returns an error if writing to `out` fails.
pub(super) fn write_advice(
    out: &mut impl Write,
    advice: &Advice,
    indent: usize,
    look: Look,
) -> io::Result<()> {
    let text = format!("{} {}", look.arrow(), sentence(advice));
    paragraph(out, &text, indent, look)
}

/// Writes text below what it explains, indented and wrapped.
///
/// # Errors
/// Returns an error if writing to `out` fails.
pub(super) fn paragraph(
    out: &mut impl Write,
    text: &str,
    indent: usize,
    look: Look,
) -> io::Result<()> {
    let pad = " ".repeat(indent);
    for line in wrapped(text, look.width.saturating_sub(indent)) {
        writeln!(out, "{pad}{DIM}{line}{DIM:#}")?;
    }
    Ok(())
}
