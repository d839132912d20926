//! Choice of the runs of a kernel that count, by the policy of `cargo topdown bench`.
//!
//! There, samples have 1, 2, 4, 8, … iterations, one window each, until one is long enough, its
//! slots no longer change, or the next does not fit the budget. The last one counts; those before
//! it warm up caches and predictors.

use topdown_core_model::{Counts, Model};
use topdown_tracer::{TraceError, Tracer};

use topdown_model_lab::thread_time::thread_seconds;
use topdown_run::category::PerCategory;
use topdown_run::steady::{MIN_SETTLED_SAMPLES, Settled};

/// What `cargo topdown bench` reckons with.
const INSTRUCTIONS_PER_US: u64 = 15;
/// 2 seconds at that speed.
const BUDGET_INSTRUCTIONS: u64 = 30_000_000;
/// From this length on, a sample is long enough if it is at least the sixth.
const LONG_INSTRUCTIONS: u64 = 1_000_000;
const WANTED_SAMPLES: usize = 6;

/// The cost of the window that counts.
pub struct Modelled {
    pub counts: Counts,
    pub iterations: u64,
    pub instructions_per_second: f64,
}

impl Modelled {
    /// Returns the cycles of one iteration.
    pub fn cycles(&self) -> f64 {
        self.counts.cycles as f64 / self.iterations as f64
    }
}

/// Returns how much of the budget it took to model what was counted, as the crate `topdown-model`
/// does in `budget.rs`. A repeating string instruction is one instruction, and can copy gigabytes.
pub fn cost_instructions(counts: &Counts) -> u64 {
    let cost = counts.modelling_ns().saturating_mul(INSTRUCTIONS_PER_US) / 1000;
    cost.max(counts.events.instructions)
}

fn slots_of(counts: &Counts) -> PerCategory<f64> {
    let slots = &counts.slots;
    PerCategory {
        retiring: slots.retiring() as f64,
        bad_speculation: slots.bad_speculation() as f64,
        frontend_bound: slots.frontend_bound() as f64,
        backend_bound: slots.backend_bound() as f64,
    }
}

/// Runs a kernel on the model: as the policy says, or `runs` times one by one, counting the last.
pub fn modelled(
    tracer: &mut Tracer<Model>,
    run: &mut dyn FnMut(),
    runs: Option<usize>,
) -> Result<Modelled, TraceError> {
    let start = thread_seconds();
    let mut sample = |iterations: u64| -> Result<(Counts, Counts), TraceError> {
        let before = tracer.consumer_mut().counts();
        let ((), end) = tracer.trace(|| (0..iterations).for_each(|_| run()));
        end?;
        tracer.consumer_mut().drain();
        assert!(!tracer.consumer_mut().is_full(), "the capacity suffices");
        let after = tracer.consumer_mut().counts();
        if std::env::var_os("WINDOWS").is_some() {
            eprintln!("{iterations}: {}", (after - before).cycles);
        }
        Ok((after - before, after))
    };
    let mut iterations = 1;
    let (mut counts, mut modelled) = sample(iterations)?;
    let mut samples = 1;
    let mut settled = Settled::default();
    settled.count(Some(slots_of(&counts)), 0);
    while match runs {
        Some(runs) => samples < runs,
        None => {
            let is_settled = samples >= MIN_SETTLED_SAMPLES && settled.is_settled();
            let is_enough = counts.events.instructions >= LONG_INSTRUCTIONS
                && (samples >= WANTED_SAMPLES || is_settled);
            let with_next = cost_instructions(&modelled) + 2 * cost_instructions(&counts);
            !is_enough && with_next <= BUDGET_INSTRUCTIONS || samples == 1
        }
    } {
        if runs.is_none() {
            iterations *= 2;
        }
        (counts, modelled) = sample(iterations)?;
        settled.count(Some(slots_of(&counts)), samples);
        samples += 1;
    }
    let seconds = thread_seconds() - start;
    Ok(Modelled {
        counts,
        iterations,
        instructions_per_second: modelled.events.instructions as f64 / seconds,
    })
}
