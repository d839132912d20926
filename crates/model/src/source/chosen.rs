//! The modelled core that a setting names.

use topdown_core_model::{CoreParameters, cores};

use topdown_counters::machine::{cpuid_family, cpuid_vendor};
use topdown_run::setting::{ModelCore, Setting};

/// Returns the parameters of a core.
pub(super) fn chosen_core(core: ModelCore) -> &'static CoreParameters {
    let nearest = || nearest_core(&cpuid_vendor(), cpuid_family());
    match core {
        ModelCore::Nearest => nearest(),
        named => named_core(named.name()).unwrap_or_else(nearest),
    }
}

fn named_core(name: &str) -> Option<&'static CoreParameters> {
    cores::ALL.iter().find(|core| core.name == name).copied()
}

/// The CPUID family of Zen 5. Those before it are of older cores.
const FAMILY_OF_ZEN_5: u32 = 0x1a;

/// Returns the core of a CPU of `vendor` and `family`, or else the best described one.
fn nearest_core(vendor: &str, family: u32) -> &'static CoreParameters {
    match vendor {
        "AuthenticAMD" if family < FAMILY_OF_ZEN_5 => &cores::ZEN_4,
        "AuthenticAMD" => &cores::ZEN_5,
        _ => &cores::GOLDEN_COVE,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nearest_core_has_same_vendor_and_age() {
        assert_eq!(nearest_core("AuthenticAMD", 0x1a).name, "zen-5");
        assert_eq!(nearest_core("AuthenticAMD", 0x19).name, "zen-4");
        assert_eq!(nearest_core("GenuineIntel", 6).name, "golden-cove");
        assert_eq!(nearest_core("", 0).name, "golden-cove");
    }

    #[test]
    fn every_modelled_core_can_be_chosen() {
        let machine = topdown_counters::machine::this_machine();
        let nearest = nearest_core(&machine.vendor, machine.family).name;
        assert_eq!(chosen_core(ModelCore::Nearest).name, nearest);
        let named: Vec<&str> = ModelCore::CHOICES[1..]
            .iter()
            .map(|core| core.name())
            .collect();
        let known: Vec<&str> = cores::ALL.iter().map(|core| core.name).collect();
        assert_eq!(named, known);
        for core in &ModelCore::CHOICES[1..] {
            assert_eq!(chosen_core(*core).name, core.name());
        }
    }
}
