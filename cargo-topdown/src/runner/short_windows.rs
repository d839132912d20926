//! Decides when plain counters are better although the CPU has PERF_METRICS.
//!
//! The register resolves categories to no better than 1/255 of a window, and its content when the
//! window began adds to the error. In a window of 100 000 slots or more, the second part is
//! negligible; in shorter windows plain counters, which cost more to read, give better numbers. A
//! benchmark's window length is known only once it has run: a closure of `iter` makes one window
//! per sample, `iter_batched` one per batch.

use criterion_topdown::cpu::{CoreType, Identity, table_for};
use criterion_topdown::cpu::{FORMULA_LEVEL1, FORMULA_LEVEL2};
use criterion_topdown::machine::Machine;

use super::measured::Measured;

/// From this size on, PERF_METRICS resolves half a percent of a window: a reset and the first
/// reading take up to 1200 slots, and (2 x 1200 + 100 000) / 255 is 0.4 % of the window.
const SHORT_WINDOW_SLOTS: f64 = 100_000.0;

/// Returns whether the PERF_METRICS register measured any of `benchmarks` in windows that are too
/// short for it.
pub fn are_too_short_for_the_register(benchmarks: &[Measured]) -> bool {
    benchmarks.iter().any(|benchmark| {
        let formula = benchmark.provenance.formula.as_str();
        [FORMULA_LEVEL1, FORMULA_LEVEL2].contains(&formula)
            && median_window_slots(benchmark).is_some_and(|slots| slots < SHORT_WINDOW_SLOTS)
    })
}

fn median_window_slots(benchmark: &Measured) -> Option<f64> {
    let mut slots: Vec<f64> = benchmark
        .samples
        .iter()
        .map(|sample| &sample.sample)
        .filter(|sample| sample.windows > 0)
        .filter_map(|sample| Some(sample.slots? as f64 / sample.windows as f64))
        .collect();
    slots.sort_by(f64::total_cmp);
    slots.get(slots.len() / 2).copied()
}

/// Returns whether plain counters can count the performance cores of `machine`.
pub fn has_plain_counters(machine: &Machine) -> bool {
    let identity = Identity {
        vendor: &machine.vendor,
        family: machine.family,
        model: machine.model,
        stepping: machine.stepping,
        core: CoreType::Performance,
    };
    table_for(&identity).is_some_and(|table| !table.forms().is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use criterion_topdown::provenance::{Provenance, SourceKind};
    use criterion_topdown::run_file::IterationSample;
    use criterion_topdown::sample::Sample;

    fn measured(formula: &str, windows: u64, slots: u64) -> Measured {
        let sample = IterationSample {
            iterations: 1000,
            sample: Sample {
                windows,
                slots: Some(slots),
                ..Sample::EMPTY
            },
        };
        Measured {
            own_thread_alone: false,
            name: "b".to_owned(),
            throughput: None,
            functions: None,
            fingerprint: None,
            trail: None,
            provenance: Provenance {
                source: SourceKind::Hardware,
                formula: formula.to_owned(),
                core_type: None,
                slots_per_cycle: Some(6),
                reason: String::new(),
                empty_window: None,
                threads: Default::default(),
                elsewhere: None,
            },
            samples: vec![sample; 10],
        }
    }

    #[test]
    fn it_is_the_window_that_counts_and_not_the_sample() {
        let too_short =
            |measured| are_too_short_for_the_register(std::slice::from_ref::<Measured>(&measured));
        assert!(!too_short(measured(FORMULA_LEVEL2, 1, 100_000)));
        assert!(too_short(measured(FORMULA_LEVEL2, 1, 99_999)));
        assert!(!too_short(measured(FORMULA_LEVEL1, 10, 1_000_000)));
        assert!(too_short(measured(FORMULA_LEVEL1, 11, 1_000_000)));
        assert!(!too_short(measured("golden-cove-exact/1", 11, 1_000_000)));
        assert!(!are_too_short_for_the_register(&[]));
    }

    #[test]
    fn only_cpus_with_a_table_have_plain_counters() {
        let sapphire_rapids = Machine {
            vendor: "GenuineIntel".to_owned(),
            family: 6,
            model: 0x8f,
            ..Machine::default()
        };
        assert!(has_plain_counters(&sapphire_rapids));
        let unknown = Machine {
            model: 0xff,
            ..sapphire_rapids
        };
        assert!(!has_plain_counters(&unknown));
    }
}
