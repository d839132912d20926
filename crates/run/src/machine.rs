//! The identity of a machine, and its key, which decides whether two runs can be compared.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The kind of cores of a run that may have been on any.
pub const MIXED: &str = "mixed";

/// The identity of a machine, from CPUID and stable strings only. Nothing measured, such as a clock
/// rate, is part of it: the same machine would then look like a different one.
///
/// Unknown fields are empty, 0 or `None`. [`key`](Machine::key) lists the fields that decide
/// whether two runs can be compared; the others are informational.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Machine {
    /// `x86_64`, `aarch64` …
    pub architecture: String,
    /// The CPU's vendor: `GenuineIntel`, `AuthenticAMD`, or the implementer's number on Arm.
    pub vendor: String,
    /// CPUID family; 8 on 64-bit Arm.
    pub family: u32,
    /// CPUID model; the part number on Arm.
    pub model: u32,
    /// CPUID stepping; on Arm, variant in bits 7:4 and revision in bits 3:0.
    pub stepping: u32,
    /// The CPU's own name.
    pub name: String,
    /// The hypervisor's name (`unknown` if it has none); absent on bare metal, and on Arm guests
    /// whose firmware does not report it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hypervisor: Option<String>,
    /// Whether hardware threads share cores; absent if the system does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub smt_active: Option<bool>,
    /// On x86 machines with several kinds of cores, those that measured: `performance`,
    /// `efficiency` or `lowpower`. `mixed` if it may have been several kinds, also on Arm, where
    /// the fields above are otherwise those of the cores that measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cores: Option<String>,
    /// CPUs online.
    pub cpus: u32,
    /// The kernel release.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel: Option<String>,
    /// The microcode revision.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub microcode: Option<String>,
    /// The frequency governor of CPU 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub governor: Option<String>,
    /// The host name, informational only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
}

impl Machine {
    /// Names the class of machines whose runs can be compared: equal keys mean comparable runs.
    ///
    /// Consists of architecture, vendor, family, model, stepping, cores, hypervisor and SMT. Host,
    /// kernel and microcode are excluded: a difference deserves a warning, not a refusal. Safe as a
    /// file name (ASCII letters, digits, `-`, `_`, `.`). Family, model and stepping are
    /// hexadecimal, as in the names of Intel's microcode files: `x86_64-GenuineIntel-06-8f-08-smt`.
    #[inline]
    pub fn key(&self) -> String {
        let mut words = vec![file_name_safe(&self.architecture)];
        if self.vendor.is_empty() {
            words.push("unknown".to_owned());
        } else {
            words.push(file_name_safe(&self.vendor));
            words.push(format!(
                "{:02x}-{:02x}-{:02x}",
                self.family, self.model, self.stepping
            ));
        }
        words.extend(self.cores.as_deref().map(file_name_safe));
        words.extend(self.hypervisor.as_deref().map(file_name_safe));
        words.extend(
            self.smt_active
                .map(|active| if active { "smt" } else { "nosmt" }.to_owned()),
        );
        words.join("-")
    }
}

/// Keys of modelled runs.
impl Machine {
    /// Names the class of runs in which all slots come from the modelled core `core`:
    /// `x86_64-model-golden-cove`. Only the machine's architecture matters.
    #[inline]
    pub fn modelled_key(&self, core: &str) -> String {
        // The name comes from run files, possibly other people's, and becomes a directory.
        let core: Vec<String> = core.split('-').map(file_name_safe).collect();
        format!("{}{}", self.modelled_prefix(), core.join("-"))
    }

    /// Returns whether runs with this key may be comparable with runs of this machine: its own,
    /// those on any of its cores, and those of any modelled core.
    #[inline]
    pub fn may_compare(&self, key: &str) -> bool {
        let anywhere = || Machine {
            cores: Some(MIXED.to_owned()),
            ..self.clone()
        };
        key == self.key() || key == anywhere().key() || key.starts_with(&self.modelled_prefix())
    }

    #[inline]
    fn modelled_prefix(&self) -> String {
        format!("{}-model-", file_name_safe(&self.architecture))
    }
}

/// Reading keys.
impl Machine {
    /// Returns the machine with this [`key`](Machine::key), with all other fields unknown. `None`
    /// if no machine has this key.
    #[inline]
    pub fn from_key(key: &str) -> Option<Machine> {
        let (architecture, rest) = key.split_once('-')?;
        let mut words: Vec<&str> = rest.split('-').collect();
        let smt_active = match words.last().copied() {
            Some("smt") => Some(true),
            Some("nosmt") => Some(false),
            _ => None,
        };
        if smt_active.is_some() {
            words.pop();
        }
        let number = |word: &str| u32::from_str_radix(word, 16).ok();
        let identity = match words[..] {
            ["unknown"] => Machine::default(),
            ["unknown", hypervisor] => Machine {
                hypervisor: Some(hypervisor.to_owned()),
                ..Machine::default()
            },
            [vendor, family, model, stepping, ref others @ ..] => {
                let (cores, others) = match others {
                    [cores, others @ ..] if is_kind_of_cores(cores) => (Some(*cores), others),
                    others => (None, others),
                };
                let hypervisor = match others {
                    [] => None,
                    [hypervisor] => Some(*hypervisor),
                    _ => return None,
                };
                Machine {
                    vendor: vendor.to_owned(),
                    family: number(family)?,
                    model: number(model)?,
                    stepping: number(stepping)?,
                    cores: cores.map(str::to_owned),
                    hypervisor: hypervisor.map(str::to_owned),
                    ..Machine::default()
                }
            }
            _ => return None,
        };
        let machine = Machine {
            architecture: architecture.to_owned(),
            smt_active,
            ..identity
        };
        (machine.key() == key).then_some(machine)
    }
}

impl fmt::Display for Machine {
    /// Formats for display: `Intel(R) Xeon(R) Platinum 8481C, kvm`.
    #[inline]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.name.as_str(), self.vendor.as_str()) {
            ("", "") => write!(f, "unknown {} CPU", self.architecture)?,
            ("", vendor) => write!(f, "{} {vendor} model {:#x}", self.architecture, self.model)?,
            (name, _) => f.write_str(name)?,
        }
        if let Some(cores) = &self.cores {
            write!(f, ", {cores} cores")?;
        }
        match &self.hypervisor {
            Some(hypervisor) => write!(f, ", {hypervisor}"),
            None => Ok(()),
        }
    }
}

/// Returns whether a key may call its cores so.
#[inline]
fn is_kind_of_cores(word: &str) -> bool {
    matches!(word, "performance" | "efficiency" | "lowpower" | MIXED)
}

#[inline]
fn file_name_safe(word: &str) -> String {
    word.chars()
        .map(|c| match c {
            'a'..='z' | 'A'..='Z' | '0'..='9' | '.' | '_' => c,
            _ => '_',
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sapphire_rapids() -> Machine {
        Machine {
            architecture: "x86_64".to_owned(),
            vendor: "GenuineIntel".to_owned(),
            family: 6,
            model: 143,
            stepping: 8,
            name: "Intel(R) Xeon(R) Platinum 8481C".to_owned(),
            smt_active: Some(true),
            ..Machine::default()
        }
    }

    #[test]
    fn key_names_all_comparability_fields() {
        let machine = sapphire_rapids();
        assert_eq!(machine.key(), "x86_64-GenuineIntel-06-8f-08-smt");
        let guest = Machine {
            hypervisor: Some("kvm".to_owned()),
            smt_active: Some(false),
            ..machine
        };
        assert_eq!(guest.key(), "x86_64-GenuineIntel-06-8f-08-kvm-nosmt");
    }

    #[test]
    fn modelled_runs_fit_any_machine_of_architecture() {
        let machine = sapphire_rapids();
        let key = machine.modelled_key("zen-5");
        assert_eq!(key, "x86_64-model-zen-5");
        assert!(machine.may_compare(&key) && machine.may_compare(&machine.key()));
        assert!(!machine.may_compare("x86_64-AuthenticAMD-1a-02-01"));
        assert!(!machine.may_compare("aarch64-model-zen-5"));
    }

    #[test]
    fn key_ignores_daily_changes() {
        let machine = sapphire_rapids();
        let later = Machine {
            kernel: Some("6.12.1".to_owned()),
            microcode: Some("0x2b000603".to_owned()),
            governor: Some("performance".to_owned()),
            host: Some("runner-7".to_owned()),
            cpus: 64,
            ..machine.clone()
        };
        assert_eq!(machine.key(), later.key());
    }

    #[test]
    fn key_is_a_file_name_for_any_vendor() {
        let machine = Machine {
            vendor: "../we ird/\u{e9}".to_owned(),
            hypervisor: Some("a:b".to_owned()),
            ..sapphire_rapids()
        };
        assert_eq!(machine.key(), "x86_64-.._we_ird__-06-8f-08-a_b-smt");
        let unknown = Machine {
            architecture: "riscv64".to_owned(),
            ..Machine::default()
        };
        assert_eq!(unknown.key(), "riscv64-unknown");
        assert_eq!(
            unknown.modelled_key("../../x\u{1b}-y"),
            "riscv64-model-.._.._x_-y"
        );
    }

    #[test]
    fn key_names_exactly_its_machine() {
        for key in [
            "x86_64-GenuineIntel-06-8f-08-smt",
            "x86_64-AuthenticAMD-1a-02-01-kvm-nosmt",
            "aarch64-0x41-08-d40-11",
            "aarch64-0x41-08-d05-20-mixed",
            "x86_64-GenuineIntel-06-97-02-efficiency-kvm-nosmt",
            "riscv64-unknown",
            "riscv64-unknown-kvm-smt",
        ] {
            assert_eq!(Machine::from_key(key).unwrap().key(), key);
        }
        for key in [
            "",
            "x86_64",
            "x86_64-GenuineIntel",
            "x86_64-GenuineIntel-06-8f",
            "x86_64-GenuineIntel-06-8f-xx",
            "x86_64-GenuineIntel-6-8f-08",
            "x86_64-GenuineIntel-06-8f-08-a-b-smt",
        ] {
            assert_eq!(Machine::from_key(key), None, "{key}");
        }
    }

    #[test]
    fn cpu_name_is_readable() {
        assert_eq!(
            sapphire_rapids().to_string(),
            "Intel(R) Xeon(R) Platinum 8481C"
        );
        let arm = Machine {
            architecture: "aarch64".to_owned(),
            vendor: "0x41".to_owned(),
            model: 0xd40,
            hypervisor: Some("unknown".to_owned()),
            ..Machine::default()
        };
        assert_eq!(arm.to_string(), "aarch64 0x41 model 0xd40, unknown");
    }
}
