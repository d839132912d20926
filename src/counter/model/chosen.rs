//! Which cores the environment asks for.

use topdown_core_model::{CoreParameters, cores};

use crate::environment;
use crate::error::OpenError;
use crate::machine::Machine;
use crate::setting::{ModelCore, Setting};

/// Returns the core that the environment asks for beside the first.
pub(super) fn second_core() -> Result<Option<ModelCore>, OpenError> {
    match std::env::var(environment::SECOND_CORE) {
        Ok(word) if word != environment::NO_SECOND_CORE => Ok(Some(word.parse::<ModelCore>()?)),
        _ => Ok(None),
    }
}

/// Returns the core's index in [`cores::ALL`].
pub(super) fn number_of(core: ModelCore) -> usize {
    let name = match core {
        ModelCore::Nearest => nearest_core(&Machine::cpuid_vendor()).name,
        named => named.name(),
    };
    let number = cores::ALL.iter().position(|core| core.name == name);
    number.unwrap_or(0)
}

/// Returns the core of a CPU of `vendor`, or else the best described one.
fn nearest_core(vendor: &str) -> &'static CoreParameters {
    if vendor == "AuthenticAMD" {
        &cores::ZEN_5
    } else {
        &cores::GOLDEN_COVE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_modelled_core_can_be_chosen() {
        let nearest = nearest_core(&Machine::of_this_machine().vendor).name;
        assert_eq!(cores::ALL[number_of(ModelCore::Nearest)].name, nearest);
        let named: Vec<&str> = ModelCore::CHOICES[1..]
            .iter()
            .map(|core| core.name())
            .collect();
        let known: Vec<&str> = cores::ALL.iter().map(|core| core.name).collect();
        assert_eq!(named, known);
        for core in &ModelCore::CHOICES[1..] {
            assert_eq!(cores::ALL[number_of(*core)].name, core.name());
        }
    }
}
