//! The functions of an execution, from the PMU samples that a tool recorded.

use topdown_run::code_samples::{Sampled, SamplingEngine};

use super::execution::{Count, Execution, Located};
use super::meaning::{Known, sample_of_part};
use topdown_runner::functions::SampledFunctions;

/// Sums up the PMU samples of `execution` by function.
///
/// # Errors
/// Returns what the counts of a PMU sample lack.
pub fn functions_of(
    execution: &Execution,
    known: &Known<'_>,
    core_type: Option<&str>,
) -> Result<SampledFunctions, Located> {
    let mut functions = SampledFunctions::default();
    let mut part = Execution {
        tool: execution.tool,
        counts: execution.counts.clone(),
        ..Execution::default()
    };
    let (mut slots, mut squared_slots, mut cycles) = (0.0, 0.0, 0);
    for hit in &execution.samples {
        for (Count { count, .. }, sampled) in part.counts.iter_mut().zip(&hit.counts) {
            *count = Ok(*sampled);
        }
        let sample = sample_of_part(&part, known, core_type)?;
        let own = sample.slots.unwrap_or(0) as f64;
        slots += own;
        squared_slots += own * own;
        cycles += sample.cycles.unwrap_or(0);
        functions.add_hit((&hit.function, &hit.module), hit.is_inside, &sample);
    }
    let hits = execution.samples.len() as u64;
    let is_metric = |count: &Count| count.name.contains("topdown-");
    functions.sampled = Sampled {
        engine: match execution.counts.iter().any(is_metric) {
            true => SamplingEngine::Metrics,
            false => SamplingEngine::Counters,
        },
        // What the tool was asked for is not in its output.
        period_cycles: cycles / hits.max(1),
        hits,
        effective_hits: (slots * slots / squared_slots).round() as u64,
        lost: execution.lost_samples,
        throttled: 0,
    };
    Ok(functions)
}
