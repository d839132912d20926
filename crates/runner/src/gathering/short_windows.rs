//! Decides when plain counters are better although the CPU has PERF_METRICS.
//!
//! The register resolves categories to no better than 1/255 of a window, and its content when the
//! window began adds to the error. In a window of 100 000 slots or more, the second part is
//! negligible; in shorter windows plain counters, which cost more to read, give better numbers. A
//! benchmark's window length is known only once it has run: a closure of `iter` makes one window
//! per sample, `iter_batched` one per batch. Whenever the thread sleeps, the kernel rounds the
//! register once more.

use topdown_counters::cpu::{CoreType, Identity, table_for};
use topdown_counters::cpu::{FORMULA_LEVEL1, FORMULA_LEVEL2};
use topdown_run::machine::Machine;

use crate::launching::measured::Measured;

/// From this size on, PERF_METRICS resolves half a percent of a window: a reset and the first
/// reading take up to 1200 slots, and (2 x 1200 + 100 000) / 255 is 0.4 % of the window.
const SHORT_WINDOW_SLOTS: f64 = 100_000.0;

/// The worst resolution of categories, as a fraction of the slots: that of a window with about four
/// sleeps.
const WORST_RESOLUTION: f64 = 0.02;

/// Returns whether the PERF_METRICS register measured any of `benchmarks` in windows that are too
/// short for it, or in which the thread sleeps too often.
pub fn are_too_short_for_the_register(benchmarks: &[Measured]) -> bool {
    benchmarks.iter().any(|benchmark| {
        let formula = benchmark.provenance.formula.as_str();
        [FORMULA_LEVEL1, FORMULA_LEVEL2].contains(&formula)
            && (median_window_slots(benchmark).is_some_and(|slots| slots < SHORT_WINDOW_SLOTS)
                || median_resolution(benchmark).is_some_and(|worst| worst > WORST_RESOLUTION))
    })
}

fn median_resolution(benchmark: &Measured) -> Option<f64> {
    let samples = benchmark.samples.iter();
    median(samples.filter_map(|sample| sample.sample.resolution_fraction()))
}

fn median_window_slots(benchmark: &Measured) -> Option<f64> {
    let samples = benchmark.samples.iter().map(|sample| &sample.sample);
    let windows = samples.filter(|sample| sample.windows > 0);
    median(windows.filter_map(|sample| Some(sample.slots? as f64 / sample.windows as f64)))
}

fn median(values: impl Iterator<Item = f64>) -> Option<f64> {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
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
    use topdown_run::provenance::{Provenance, SourceKind};
    use topdown_run::run_file::IterationSample;
    use topdown_run::sample::Sample;

    fn measured(formula: &str, windows: u64, slots: u64) -> Measured {
        let sample = IterationSample {
            iterations: 1000,
            sample: Sample {
                windows,
                slots: Some(slots),
                ..Sample::EMPTY
            },
        };
        let provenance = Provenance {
            slots_per_cycle: Some(6),
            ..Provenance::new(SourceKind::Hardware, formula, "")
        };
        Measured::from_samples(provenance, vec![sample; 10])
    }

    #[test]
    fn window_length_decides_not_sample_length() {
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
    fn windows_with_many_sleeps_use_plain_counters() {
        let too_coarse = |steps: f64| {
            let mut measured = measured(FORMULA_LEVEL2, 1, 1_000_000);
            for sample in &mut measured.samples {
                sample.sample.resolution_slots = steps / 255.0 * 1e6;
            }
            are_too_short_for_the_register(&[measured])
        };
        assert!(!too_coarse(1.0));
        assert!(!too_coarse(5.0));
        assert!(too_coarse(6.0));
    }

    #[test]
    fn only_cpus_with_tables_have_plain_counters() {
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
