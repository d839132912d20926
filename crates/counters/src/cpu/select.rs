//! Selects the table for a CPU.

use super::{
    CoreType, CpuTable, Identity, LatencyTable, amd_zen, arm_neoverse, intel_atom, intel_core,
    intel_cove,
};

/// All tables. Their order is irrelevant, except that the last one covers every Arm core without a
/// table of its own.
pub static TABLES: &[&CpuTable] = &[
    &intel_core::SANDY_BRIDGE,
    &intel_core::SKYLAKE,
    &intel_cove::ICE_LAKE,
    &intel_cove::GOLDEN_COVE,
    &intel_cove::LION_COVE,
    &intel_cove::COUGAR_COVE,
    &intel_cove::COYOTE_COVE,
    &intel_atom::SILVERMONT,
    &intel_atom::GOLDMONT,
    &intel_atom::TREMONT,
    &intel_atom::GRACEMONT,
    &intel_atom::CRESTMONT,
    &intel_atom::SKYMONT,
    &intel_atom::DARKMONT,
    &intel_atom::DARKMONT_SERVER,
    &intel_atom::ARCTIC_WOLF,
    &intel_atom::ARCHITECTURAL,
    &amd_zen::ZEN_1_TO_3,
    &amd_zen::ZEN_4,
    &amd_zen::ZEN_5,
    &amd_zen::ZEN_6,
    &arm_neoverse::N1,
    &arm_neoverse::N2_BEFORE_R0P3,
    &arm_neoverse::N2,
    &arm_neoverse::N3,
    &arm_neoverse::V1,
    &arm_neoverse::V2,
    &arm_neoverse::V3,
    &arm_neoverse::C1_NANO,
    &arm_neoverse::C1_PRO,
    &arm_neoverse::C1_ULTRA,
    &arm_neoverse::AMPERE_ONE,
    &arm_neoverse::OLYMPUS,
    &arm_neoverse::HIP08,
    &arm_neoverse::MONAKA,
    &arm_neoverse::GENERIC,
];

/// Returns the table for a CPU, or `None` if no table covers it.
pub fn table_for(cpu: &Identity<'_>) -> Option<&'static CpuTable> {
    TABLES.iter().copied().find(|table| table.is_for(cpu))
}

/// All tables of retire latencies.
pub static LATENCIES: &[&LatencyTable] = &[
    &intel_cove::GOLDEN_COVE_CLIENT_LATENCIES,
    &intel_cove::SAPPHIRE_RAPIDS_LATENCIES,
    &intel_cove::METEOR_LAKE_LATENCIES,
    &intel_cove::GRANITE_RAPIDS_LATENCIES,
    &intel_cove::LION_COVE_LATENCIES,
];

/// Returns the retire latencies of a CPU, or `None` if no table has them.
#[inline]
pub fn latencies_for(cpu: &Identity<'_>) -> Option<&'static LatencyTable> {
    let mut tables = LATENCIES.iter().copied();
    tables.find(|table| table.models.iter().any(|models| models.contains(cpu)))
}

/// Returns the name of a 64-bit Arm core that has a table of its own.
pub fn arm_core_name(implementer: &str, part: u32, stepping: u32) -> Option<&'static str> {
    let core = Identity {
        vendor: implementer,
        family: 8,
        model: part,
        stepping,
        core: CoreType::Performance,
    };
    table_for(&core)
        .filter(|table| !std::ptr::eq(*table, &arm_neoverse::GENERIC))
        .map(|table| table.name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name_of(cpu: Identity<'_>) -> Option<&'static str> {
        table_for(&cpu).map(|table| table.name)
    }

    fn x86(vendor: &str, family: u32, model: u32, core: CoreType) -> Option<&'static str> {
        name_of(Identity {
            vendor,
            family,
            model,
            stepping: 4,
            core,
        })
    }

    fn arm(vendor: &str, part: u32, revision: u32) -> Option<&'static str> {
        name_of(Identity {
            vendor,
            family: 8,
            model: part,
            stepping: revision,
            core: CoreType::Performance,
        })
    }

    #[test]
    fn cpus_find_the_table_of_their_family() {
        let intel = |model| x86("GenuineIntel", 6, model, CoreType::Performance);
        assert_eq!(intel(0x55), Some("Skylake … Cascade Lake"));
        assert_eq!(intel(0x3f), Some("Sandy Bridge … Broadwell"));
        assert_eq!(intel(0x6a), Some("Ice Lake … Rocket Lake"));
        assert_eq!(intel(0x8f), Some("Golden Cove"));
        assert_eq!(intel(0xc6), Some("Lion Cove"));
        assert_eq!(intel(0x86), Some("Tremont"));
        assert_eq!(intel(0xaf), Some("Crestmont"));
        assert_eq!(intel(0x57), Some("Silvermont, Knights Landing"));
        for panther_lake in [0xcc, 0xd5, 0xe5] {
            assert_eq!(intel(panther_lake), Some("Cougar Cove"));
            let efficient = x86("GenuineIntel", 6, panther_lake, CoreType::Efficient);
            assert_eq!(efficient, Some("Darkmont (Panther Lake)"));
        }
        assert_eq!(intel(0xdd), Some("Darkmont (Clearwater Forest)"));
        assert_eq!(intel(0xd7), Some("Golden Cove"), "Bartlett Lake");
        assert_eq!(intel(0x01), None);
        for model in [1, 3] {
            let nova_lake = |core| x86("GenuineIntel", 18, model, core);
            assert_eq!(nova_lake(CoreType::Performance), Some("Coyote Cove"));
            assert_eq!(nova_lake(CoreType::Efficient), Some("Arctic Wolf"));
        }
        // Diamond Rapids, and later families.
        for (family, model) in [(18, 7), (19, 1), (20, 0)] {
            let newer = x86("GenuineIntel", family, model, CoreType::Performance);
            assert_eq!(newer, Some("Intel, architectural events"));
        }
        let amd = |family, model| x86("AuthenticAMD", family, model, CoreType::Performance);
        assert_eq!(amd(0x17, 0x31), Some("Zen 1 … Zen 3"));
        assert_eq!(amd(0x19, 0x01), Some("Zen 1 … Zen 3"));
        assert_eq!(amd(0x19, 0x50), Some("Zen 1 … Zen 3"));
        assert_eq!(amd(0x19, 0x11), Some("Zen 4"));
        assert_eq!(amd(0x19, 0x61), Some("Zen 4"));
        // Linux, tools/perf/pmu-events/arch/x86/mapfile.csv.
        for zen_5 in [0x00, 0x02, 0x11, 0x24, 0x44, 0x60, 0x70, 0x7f] {
            assert_eq!(amd(0x1a, zen_5), Some("Zen 5"));
        }
        for zen_6 in [0x30, 0x3f, 0x50, 0x57, 0x80, 0xa0, 0xc0] {
            assert_eq!(amd(0x1a, zen_6), Some("Zen 6"));
        }
        assert_eq!(amd(0x15, 0x02), None);
        assert_eq!(x86("HygonGenuine", 0x18, 1, CoreType::Performance), None);
    }

    #[test]
    fn cores_of_a_hybrid_have_different_tables() {
        let core = |model, pmu| x86("GenuineIntel", 6, model, CoreType::from_pmu(pmu));
        assert_eq!(core(0x97, "cpu_core"), Some("Golden Cove"));
        assert_eq!(core(0x97, "cpu_atom"), Some("Gracemont"));
        // Alder Lake with its efficient cores switched off, and Alder Lake-N, which has only those.
        assert_eq!(core(0x97, "cpu"), Some("Golden Cove"));
        assert_eq!(core(0xbe, "cpu"), Some("Gracemont"));
        assert_eq!(core(0xc5, "cpu_core"), Some("Lion Cove"));
        assert_eq!(core(0xc5, "cpu_atom"), Some("Skymont"));
        assert_eq!(core(0xc5, "cpu_lowpower"), Some("Crestmont"));
    }

    #[test]
    fn neoverse_n2_revisions_and_generic_cores_differ() {
        assert_eq!(arm("0x41", 0xd49, 0x02), Some("Neoverse N2 r0p0 … r0p2"));
        assert_eq!(arm("0x41", 0xd49, 0x03), Some("Neoverse N2"));
        assert_eq!(arm("0x41", 0xd40, 0x11), Some("Neoverse V1"));
        // Azure Cobalt 100 is N2 r0p0, whatever revision it reports.
        assert_eq!(arm("0x6d", 0xd49, 0x00), Some("Neoverse N2 r0p0 … r0p2"));
        assert_eq!(arm("0x6d", 0xd49, 0x10), Some("Neoverse N2 r0p0 … r0p2"));
        // Grace, Axion and Graviton4; Graviton5; Graviton2 and Altra; Axion N4A.
        assert_eq!(arm("0x41", 0xd4f, 0x00), Some("Neoverse V2"));
        assert_eq!(arm("0x41", 0xd84, 0x01), Some("Neoverse V3"));
        assert_eq!(arm("0x41", 0xd83, 0x00), Some("Neoverse V3"), "V3AE");
        assert_eq!(arm("0x41", 0xd0c, 0x31), Some("Neoverse N1"));
        assert_eq!(arm("0x41", 0xd8e, 0x01), Some("Neoverse N3"));
        // AmpereOne and AmpereOneX; NVIDIA's Vera; Kunpeng 920.
        assert_eq!(arm("0xc0", 0xac3, 0x00), Some("AmpereOne"));
        assert_eq!(arm("0xc0", 0xac4, 0x10), Some("AmpereOne"));
        assert_eq!(arm("0x4e", 0x010, 0x00), Some("NVIDIA Olympus"));
        assert_eq!(arm("0x48", 0xd01, 0x10), Some("HiSilicon hip08"));
        assert_eq!(arm("0x46", 0x003, 0x00), Some("Fujitsu Monaka"));
        assert_eq!(arm("0x41", 0xfff, 0x00), Some("Arm"));
    }

    #[test]
    fn every_cpu_has_at_most_one_table() {
        let (generic, others) = TABLES.split_last().unwrap();
        assert_eq!(generic.name, "Arm");
        for vendor in ["GenuineIntel", "AuthenticAMD", "0x41", "0x6d", "0xc0"] {
            for family in [6, 8, 0x12, 0x13, 0x17, 0x19, 0x1a] {
                for model in 0..0x1000 {
                    for stepping in [0, 2, 3, 0x10] {
                        for core in [
                            CoreType::Performance,
                            CoreType::Efficient,
                            CoreType::LowPower,
                        ] {
                            let cpu = Identity {
                                vendor,
                                family,
                                model,
                                stepping,
                                core,
                            };
                            let tables = others.iter().filter(|table| table.is_for(&cpu)).count();
                            assert!(tables <= 1, "{cpu:?}");
                        }
                    }
                }
            }
        }
    }
}
