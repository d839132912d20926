//! Which runs of a kernel count: the policy of `cargo topdown bench`.
//!
//! There, each run is a window. Windows are traced until there were 41 or the budget is used up; of
//! all but the first, the last quarter counts, two at least. Those before it warm caches and
//! predictors.

use topdown_core_model::{Counts, Model};
use topdown_tracer::{TraceError, Tracer};

use crate::native;

/// criterion's warm-up, and the samples that `cargo topdown` asks it for.
const WINDOWS: usize = 1 + 40;
/// 2 seconds of 15 million instructions.
const BUDGET_INSTRUCTIONS: u64 = 30_000_000;
const STEADY_PART: usize = 4;
const LEAST_STEADY: usize = 2;

/// What the windows that count have cost.
pub struct Modelled {
    pub counts: Counts,
    pub windows: usize,
    pub instructions_per_second: f64,
}

impl Modelled {
    /// Cycles of one window.
    pub fn cycles(&self) -> f64 {
        self.counts.cycles as f64 / self.windows as f64
    }
}

/// Runs a kernel on the model: as the policy says, or `runs` times, of which the last counts.
pub fn modelled(
    tracer: &mut Tracer<Model>,
    run: &mut dyn FnMut(),
    runs: Option<usize>,
) -> Result<Modelled, TraceError> {
    let mut ends = vec![tracer.consumer_mut().counts()];
    let start = native::thread_seconds();
    let begun = |ends: &[Counts]| ends.len() - 1;
    let wanted = |ends: &[Counts]| match runs {
        Some(runs) => begun(ends) < runs.max(1),
        None => {
            begun(ends) < 1 + LEAST_STEADY
                || begun(ends) < WINDOWS
                    && ends[begun(ends)].events.instructions < BUDGET_INSTRUCTIONS
        }
    };
    while wanted(&ends) {
        let ((), end) = tracer.trace(&mut *run);
        end?;
        tracer.consumer_mut().drain();
        ends.push(tracer.consumer_mut().counts());
    }
    assert!(!tracer.consumer_mut().is_full(), "the capacity suffices");
    let seconds = native::thread_seconds() - start;
    let windows = match runs {
        Some(_) => 1,
        None => (begun(&ends).saturating_sub(1) / STEADY_PART).max(LEAST_STEADY),
    };
    if std::env::var_os("WINDOWS").is_some() {
        let cycles = ends.windows(2).map(|pair| pair[1].cycles - pair[0].cycles);
        eprintln!("{:?}", cycles.collect::<Vec<_>>());
    }
    let last = ends[begun(&ends)];
    Ok(Modelled {
        counts: last - ends[begun(&ends) - windows],
        windows,
        instructions_per_second: last.events.instructions as f64 / seconds,
    })
}
