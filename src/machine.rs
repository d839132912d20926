//! Which machine a run was taken on, and whether two runs can be compared.

use serde::{Deserialize, Serialize};

/// The identity of a machine, from CPUID and stable strings only: nothing that is measured, such
/// as a clock rate, since that would make a machine a stranger to itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
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
    /// CPUID stepping; variant and revision on Arm.
    pub stepping: u32,
    /// The name that the CPU gives itself.
    pub name: String,
    /// The hypervisor's name (`unknown` where there is one without a name); absent on bare metal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hypervisor: Option<String>,
    /// Whether hardware threads share cores; absent where the system does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub smt_active: Option<bool>,
    /// CPUs online.
    pub cpus: u32,
    /// The kernel's release.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel: Option<String>,
    /// The microcode's revision.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub microcode: Option<String>,
    /// The frequency governor of CPU 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub governor: Option<String>,
    /// The name of the host, for people only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
}
