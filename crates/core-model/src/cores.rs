//! The cores that the model knows, one file each.

mod golden_cove;
mod zen4;
mod zen5;

use crate::parameters::CoreParameters;

pub use golden_cove::GOLDEN_COVE;
pub use zen4::ZEN_4;
pub use zen5::ZEN_5;

/// All cores.
pub const ALL: &[&CoreParameters] = &[&GOLDEN_COVE, &ZEN_4, &ZEN_5];

/// Returns the core with this [`name`](CoreParameters::name).
pub fn by_name(name: &str) -> Option<&'static CoreParameters> {
    ALL.iter().copied().find(|core| core.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::class::Class;

    #[test]
    fn every_core_has_a_row_for_every_class_in_order() {
        for core in ALL {
            let rows: Vec<Class> = core.timings.iter().map(|timing| timing.class).collect();
            assert_eq!(rows, Class::ALL, "{}", core.name);
        }
    }

    #[test]
    fn every_row_takes_a_slot_and_fits_the_operation() {
        for core in ALL {
            for timing in core.timings {
                assert!(timing.slots >= 1, "{} {:?}", core.name, timing.class);
                assert!(
                    timing.operations.len() <= 8,
                    "{} {:?}",
                    core.name,
                    timing.class
                );
                assert!(timing.chained_latency <= timing.latency);
            }
        }
    }

    #[test]
    fn capacities_of_tables_are_powers_of_two() {
        for core in ALL {
            let memory = &core.memory;
            for cache in [memory.l1i, memory.l1d, memory.l2, memory.l3] {
                assert!(
                    (cache.bytes / 64 / cache.ways).is_power_of_two(),
                    "{cache:?}"
                );
            }
            for tlb in [memory.dtlb, memory.itlb, memory.stlb] {
                assert!((tlb.entries / tlb.ways).is_power_of_two(), "{tlb:?}");
            }
            let prediction = &core.prediction;
            assert!(prediction.bimodal_entries.is_power_of_two());
            for table in prediction.tagged_tables {
                assert!(table.entries.is_power_of_two(), "{table:?}");
            }
            let lengths = prediction.tagged_tables.map(|table| table.history_branches);
            assert!(lengths.is_sorted() && lengths[5] <= 500, "{lengths:?}");
            assert!(prediction.indirect_entries.is_power_of_two());
            assert!(prediction.return_stack_entries.is_power_of_two());
        }
    }

    #[test]
    fn core_is_found_by_its_name() {
        assert_eq!(by_name("golden-cove").map(|core| core.width), Some(6));
        assert!(by_name("coffee").is_none());
    }
}
