//! CPU models covered by a table.

use std::ops::RangeInclusive;

use super::CpuTable;

/// The identity of a core: fields of [`Machine`](topdown_run::machine::Machine), and the type of
/// core by the PMU's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identity<'a> {
    /// `GenuineIntel`, `AuthenticAMD`, or the implementer's number on Arm, such as `0x41`.
    pub vendor: &'a str,
    /// CPUID family; 8 on 64-bit Arm.
    pub family: u32,
    /// CPUID model; the part number on Arm.
    pub model: u32,
    /// CPUID stepping; on Arm, variant in bits 7:4 and revision in bits 3:0.
    pub stepping: u32,
    /// The type of core, since the cores of a hybrid machine share the model.
    pub core: CoreType,
}

/// The types of core in a hybrid machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CoreType {
    /// `cpu_core`, and the cores of a machine with a single type.
    Performance,
    /// `cpu_atom`.
    Efficient,
    /// `cpu_lowpower`: the cores outside the ring of Arrow Lake-H.
    LowPower,
}

impl CoreType {
    /// Returns the type of core that a PMU of this name in `/sys/bus/event_source/devices` counts.
    pub fn from_pmu(name: &str) -> CoreType {
        match name {
            "cpu_atom" => CoreType::Efficient,
            "cpu_lowpower" => CoreType::LowPower,
            _ => CoreType::Performance,
        }
    }
}

/// A set of CPUs from one maker.
#[derive(Debug)]
pub struct Models {
    /// The maker.
    pub maker: Maker,
    /// CPUID families; 8 on 64-bit Arm.
    pub families: RangeInclusive<u32>,
    /// CPUID models; part numbers on Arm.
    pub models: Numbers,
    /// CPUID steppings; variants and revisions on Arm.
    pub steppings: RangeInclusive<u32>,
    /// The type of core, if cores of different tables share a model; `None` matches any.
    pub core: Option<CoreType>,
}

/// The maker of a CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Maker {
    /// Intel.
    Intel,
    /// AMD.
    Amd,
    /// Arm itself: implementer 0x41.
    Arm,
    /// Microsoft: implementer 0x6d.
    Microsoft,
    /// Ampere: implementer 0xc0.
    Ampere,
    /// NVIDIA: implementer 0x4e.
    Nvidia,
    /// HiSilicon: implementer 0x48.
    HiSilicon,
    /// Fujitsu: implementer 0x46.
    Fujitsu,
    /// Any implementer of the Arm architecture.
    AnyArm,
}

/// A set of numbers.
#[derive(Debug)]
pub enum Numbers {
    /// Every number.
    All,
    /// These numbers.
    Of(&'static [u32]),
    /// The numbers in any of these ranges.
    In(&'static [RangeInclusive<u32>]),
    /// The numbers in none of these ranges.
    NotIn(&'static [RangeInclusive<u32>]),
}

impl Numbers {
    fn contains(&self, number: u32) -> bool {
        let is_in =
            |ranges: &[RangeInclusive<u32>]| ranges.iter().any(|range| range.contains(&number));
        match self {
            Numbers::All => true,
            Numbers::Of(numbers) => numbers.contains(&number),
            Numbers::In(ranges) => is_in(ranges),
            Numbers::NotIn(ranges) => !is_in(ranges),
        }
    }
}

impl Models {
    /// Matches all steppings of some models of Intel's family 6, with any type of core.
    pub(super) const fn intel(models: &'static [u32]) -> Models {
        Models {
            maker: Maker::Intel,
            families: 6..=6,
            models: Numbers::Of(models),
            steppings: 0..=u32::MAX,
            core: None,
        }
    }

    /// Matches one type of core in hybrid models of Intel's family 6.
    pub(super) const fn intel_hybrid(core: CoreType, models: &'static [u32]) -> Models {
        Models {
            maker: Maker::Intel,
            families: 6..=6,
            models: Numbers::Of(models),
            steppings: 0..=u32::MAX,
            core: Some(core),
        }
    }

    /// Matches models of Intel's families after 6.
    pub(super) const fn intel_after_6(
        families: RangeInclusive<u32>,
        models: Numbers,
        core: Option<CoreType>,
    ) -> Models {
        Models {
            maker: Maker::Intel,
            families,
            models,
            steppings: 0..=u32::MAX,
            core,
        }
    }

    /// Matches all steppings of some models of an AMD family.
    pub(super) const fn amd(family: u32, models: Numbers) -> Models {
        Models {
            maker: Maker::Amd,
            families: family..=family,
            models,
            steppings: 0..=u32::MAX,
            core: None,
        }
    }

    /// Matches some revisions of cores designed by Arm: 0x10 is r1p0.
    pub(super) const fn arm(parts: &'static [u32], revisions: RangeInclusive<u32>) -> Models {
        Models::armv8(Maker::Arm, parts, revisions)
    }

    /// Matches some revisions of an implementer's cores.
    pub(super) const fn armv8(
        maker: Maker,
        parts: &'static [u32],
        revisions: RangeInclusive<u32>,
    ) -> Models {
        Models {
            maker,
            families: 8..=8,
            models: Numbers::Of(parts),
            steppings: revisions,
            core: None,
        }
    }

    pub(super) fn contains(&self, cpu: &Identity<'_>) -> bool {
        let is_of_maker = match self.maker {
            Maker::Intel => cpu.vendor == "GenuineIntel",
            Maker::Amd => cpu.vendor == "AuthenticAMD",
            Maker::Arm => cpu.vendor == "0x41",
            Maker::Microsoft => cpu.vendor == "0x6d",
            Maker::Ampere => cpu.vendor == "0xc0",
            Maker::Nvidia => cpu.vendor == "0x4e",
            Maker::HiSilicon => cpu.vendor == "0x48",
            Maker::Fujitsu => cpu.vendor == "0x46",
            Maker::AnyArm => cpu.vendor.starts_with("0x"),
        };
        is_of_maker
            && self.families.contains(&cpu.family)
            && self.models.contains(cpu.model)
            && self.steppings.contains(&cpu.stepping)
            && self.core.is_none_or(|core| core == cpu.core)
    }
}

impl CpuTable {
    /// Returns whether this table covers a CPU.
    pub fn is_for(&self, cpu: &Identity<'_>) -> bool {
        self.models.iter().any(|models| models.contains(cpu))
    }
}
