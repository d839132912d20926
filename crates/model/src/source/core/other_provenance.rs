//! Provenance of a benchmark that is not modelled as a whole: sampled, warmed up, cold, or timed
//! only.

use super::warmth::COLD_FRACTION;
use super::{Core, ModelDecision};
use topdown_run::provenance::{CountedThreads, Provenance};

const LINE_BYTES: u64 = 64;

/// What the version of a formula ends with if lines come from the core that wrote them last.
const SHARED_LINES: &str = "+shared-lines";

impl Core {
    /// Returns the largest fraction of `cycles` that may have waited for these lines, the last that
    /// were brought from memory, if they were new to the model. It is 0 once as many were brought
    /// as the L3 holds: later ones did not fit.
    pub fn cold_fraction(&self, lines: u64, cycles: f64) -> f64 {
        let in_all = self.model.filled_lines() - self.benchmark.filled_lines.0;
        let memory = &self.parameters.memory;
        if in_all >= u64::from(memory.l3.bytes) / LINE_BYTES || cycles <= 0.0 {
            return 0.0;
        }
        let fraction = (lines * u64::from(memory.memory_cycles)) as f64 / cycles;
        fraction.min(1.0)
    }

    /// Returns the provenance of the benchmark, or `None` if it is `modelled` as a whole, with only
    /// the measured thread. Leaked once per such benchmark, because a source returns a reference.
    pub fn other_provenance(
        &mut self,
        modelled: &Provenance,
        threads: CountedThreads,
    ) -> Option<&'static Provenance> {
        let is_timed = matches!(self.benchmark.fate, ModelDecision::Timed(_));
        let is_current = |known: &&Provenance| is_timed || known.threads == threads;
        if let Some(known) = self.benchmark.provenance.filter(is_current) {
            return Some(known);
        }
        let mut modelled = Provenance {
            threads,
            ..modelled.clone()
        };
        if threads == CountedThreads::All && self.model.shares_lines() {
            modelled.formula += SHARED_LINES;
        }
        let provenance = match self.benchmark.fate {
            ModelDecision::Open | ModelDecision::Sampled(None)
                if threads == CountedThreads::Own =>
            {
                return None;
            }
            // Its samples are those of another launch, or not complete yet.
            ModelDecision::Open | ModelDecision::Sampled(None) => modelled,
            ModelDecision::Modelled
                if self.benchmark.warmth.is_none()
                    && !self.benchmark.first_is_cut_off
                    && threads == CountedThreads::Own =>
            {
                return None;
            }
            ModelDecision::Modelled => {
                let warmth = self.benchmark.warmth;
                let fraction = warmth.map(|warmth| warmth.cold_fraction);
                let cut_off = match self.benchmark.first_is_cut_off {
                    true => ", first iteration counted in part",
                    false => "",
                };
                Provenance {
                    reason: modelled.reason.clone() + cut_off,
                    warmed_iterations: warmth.and_then(|warmth| warmth.warmed_iterations),
                    cold_fraction: fraction.filter(|cold| *cold >= COLD_FRACTION),
                    ..modelled
                }
            }
            ModelDecision::Sampled(Some(units)) => Provenance {
                // Without the number: benchmarks with the same reason share a line above the table.
                reason: format!("{}, iterations sampled", modelled.reason),
                sampled_units: Some(units),
                ..modelled
            },
            ModelDecision::Timed(why) => Provenance::for_clock(why.reason(&self.budget)),
        };
        self.benchmark.provenance = Some(Box::leak(Box::new(provenance)));
        self.benchmark.provenance
    }
}
