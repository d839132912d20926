//! Agreement of launches, or of the units of a sampled iteration, bit for bit.

use topdown_run::category::PerCategory;
use topdown_run::provenance::SourceKind;
use topdown_run::run_file::{Benchmark, SlotsValue};
use topdown_run::sample::Level1;

/// At least this many launches of a model must agree before it is assumed to have no noise.
pub const MIN_AGREEING_LAUNCHES: usize = 2;

/// Returns whether all launches have the same slots, bit for bit; trivially true for a single one.
///
/// Counters and the clock never agree like this. A model that executed the same instructions at the
/// same addresses does.
pub fn slots_agree<'a>(launches: impl IntoIterator<Item = &'a SlotsValue>) -> bool {
    let mut slots = launches.into_iter().map(slots_of);
    let first = slots.next();
    slots.all(|other| Some(other) == first)
}

/// Returns whether the launches of a benchmark's slots are groups of units of a sampled iteration.
pub fn is_sampled(benchmark: &Benchmark) -> bool {
    benchmark.provenance().sampled_units.is_some()
}

/// Returns whether the slots of a side have no noise.
pub fn is_exact(benchmark: &Benchmark) -> bool {
    let launches = benchmark.slots_launches();
    benchmark.provenance().source == SourceKind::Model
        && !is_sampled(benchmark)
        && launches.len() >= MIN_AGREEING_LAUNCHES
        && slots_agree(launches)
}

/// The values of a launch or group that must agree bit for bit.
fn slots_of(value: &SlotsValue) -> (f64, Option<Level1>, Option<PerCategory<f64>>) {
    (value.slots, value.level1, value.level2)
}

/// Returns whether both sides were sampled, and every group of units counted the same on both:
/// then they executed the same, as far as anything was looked at.
pub fn units_agree(baseline: &Benchmark, candidate: &Benchmark) -> bool {
    let counts = |benchmark: &Benchmark| -> Vec<_> {
        let groups = benchmark.slots_launches().iter();
        groups
            .map(|group| (slots_of(group), group.instructions))
            .collect()
    };
    is_sampled(baseline)
        && is_sampled(candidate)
        && baseline.provenance().sampled_units == candidate.provenance().sampled_units
        && counts(baseline) == counts(candidate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn launches_agree_bit_for_bit_or_not_at_all() {
        let value = |slots| SlotsValue {
            slots,
            ..SlotsValue::default()
        };
        assert!(slots_agree(&[value(1.0), value(1.0), value(1.0)]));
        assert!(!slots_agree(&[
            value(1.0),
            value(1.0),
            value(1.0 + f64::EPSILON)
        ]));
        let mut shifted = value(1.0);
        shifted.level1 = Some(Level1::default());
        assert!(!slots_agree(&[value(1.0), shifted]));
        let later = SlotsValue {
            launch: 1,
            ..value(1.0)
        };
        assert!(slots_agree(&[value(1.0), later]));
    }
}
