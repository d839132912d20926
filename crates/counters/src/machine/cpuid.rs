//! Results of the CPUID instruction on x86: the hypervisor's name, which Linux does not export, and
//! the CPU's identity on systems without `/proc/cpuinfo`.
//!
//! Leaves: Intel SDM volume 2A, "CPUID"; AMD APM volume 3, appendix E. Leaf 0x40000000 is not
//! architectural, but KVM, Hyper-V, VMware, Xen and QEMU all use it (Linux, `cpuid_base.h`).

use std::arch::x86_64::CpuidResult;

use topdown_run::machine::Machine;

#[inline]
fn leaf(number: u32) -> CpuidResult {
    subleaf(number, 0)
}

#[inline]
fn subleaf(number: u32, sub: u32) -> CpuidResult {
    // SAFETY: every x86_64 CPU has the instruction, and it changes only four registers. Newer
    // compilers know this and call the intrinsic safe; the oldest supported one does not.
    #[allow(unused_unsafe)]
    unsafe {
        std::arch::x86_64::__cpuid_count(number, sub)
    }
}

/// Returns the width of the pipeline of an Intel CPU that has the architectural events of TopDown,
/// on the core that executes this.
#[cfg(target_os = "linux")]
#[inline]
pub fn slots_per_cycle() -> Option<u32> {
    const PERFORMANCE_MONITORING: u32 = 0x23;
    if vendor() != "GenuineIntel" || leaf(0).eax < PERFORMANCE_MONITORING {
        return None;
    }
    let events = subleaf(PERFORMANCE_MONITORING, 3).eax;
    architectural_slots(subleaf(PERFORMANCE_MONITORING, 0), events)
}

/// Reads the width from leaf 0x23, whose subleaf 3 has the `events`.
#[cfg(target_os = "linux")]
fn architectural_slots(leaf: CpuidResult, events: u32) -> Option<u32> {
    const HAS_EVENTS: u32 = 1 << 3;
    // Backend bound, frontend bound, retiring.
    const NEEDED: u32 = 1 << 8 | 1 << 10 | 1 << 11;
    let slots = leaf.ecx & 0xff;
    let has_them = leaf.eax & HAS_EVENTS != 0 && events & NEEDED == NEEDED;
    (has_them && slots > 0).then_some(slots)
}

/// Returns the CPU's vendor.
#[inline]
pub fn vendor() -> String {
    let basic = leaf(0);
    text(&[basic.ebx, basic.edx, basic.ecx])
}

/// Returns the CPU's family.
#[inline]
pub fn family() -> u32 {
    family_model_stepping(leaf(1).eax).0
}

/// Fills the fields of `machine` that CPUID knows and that are still empty.
#[inline]
pub(super) fn complete(machine: &mut Machine) {
    let version = leaf(1);
    if machine.vendor.is_empty() {
        machine.vendor = vendor();
        (machine.family, machine.model, machine.stepping) = family_model_stepping(version.eax);
    }
    if machine.name.is_empty() && leaf(0x8000_0000).eax >= 0x8000_0004 {
        let words: Vec<u32> = (0x8000_0002..=0x8000_0004)
            .map(leaf)
            .flat_map(|r| [r.eax, r.ebx, r.ecx, r.edx])
            .collect();
        machine.name = text(&words);
    }
    const HYPERVISOR_PRESENT: u32 = 1 << 31;
    let is_guest = version.ecx & HYPERVISOR_PRESENT != 0;
    let has_no_name = matches!(machine.hypervisor.as_deref(), None | Some("unknown"));
    if is_guest && has_no_name {
        let hypervisor = leaf(0x4000_0000);
        machine.hypervisor = Some(hypervisor_name(&text(&[
            hypervisor.ebx,
            hypervisor.ecx,
            hypervisor.edx,
        ])));
    }
}

/// Decodes CPUID.1:EAX, adding the extended fields as the SDM prescribes.
#[inline]
fn family_model_stepping(eax: u32) -> (u32, u32, u32) {
    let (family, model) = ((eax >> 8) & 0xf, (eax >> 4) & 0xf);
    let extended_model = ((eax >> 16) & 0xf) << 4;
    let family_is_extended = family == 0xf;
    (
        family
            + if family_is_extended {
                (eax >> 20) & 0xff
            } else {
                0
            },
        model
            + if family == 6 || family_is_extended {
                extended_model
            } else {
                0
            },
        eax & 0xf,
    )
}

#[inline]
fn text(words: &[u32]) -> String {
    let mut bytes = Vec::new();
    for word in words {
        bytes.extend_from_slice(&word.to_le_bytes());
    }
    String::from_utf8_lossy(&bytes)
        .trim_matches(['\0', ' '])
        .to_owned()
}

#[inline]
fn hypervisor_name(signature: &str) -> String {
    match signature {
        "KVMKVMKVM" | "Linux KVM Hv" => "kvm",
        "Microsoft Hv" => "hyper-v",
        "VMwareVMware" => "vmware",
        "XenVMMXenVMM" => "xen",
        "TCGTCGTCGTCG" => "qemu",
        "bhyve bhyve" => "bhyve",
        "" => "unknown",
        other => other,
    }
    .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extended_families_and_models_are_added() {
        // Sapphire Rapids stepping 8, Zen 5 (family 1ah) model 02h, and a Pentium.
        assert_eq!(family_model_stepping(0x000806f8), (6, 0x8f, 8));
        assert_eq!(family_model_stepping(0x00b00f21), (0x1a, 0x02, 1));
        assert_eq!(family_model_stepping(0x00000543), (5, 4, 3));
    }

    #[test]
    fn registers_spell_text_without_padding() {
        let words = [
            u32::from_le_bytes(*b"KVMK"),
            u32::from_le_bytes(*b"VMKV"),
            0x4d,
        ];
        assert_eq!(text(&words), "KVMKVMKVM");
        assert_eq!(hypervisor_name("KVMKVMKVM"), "kvm");
        assert_eq!(hypervisor_name(""), "unknown");
        assert_eq!(hypervisor_name("NewVisor"), "NewVisor");
    }

    #[test]
    fn cpu_names_its_vendor() {
        let mut machine = Machine::default();
        complete(&mut machine);
        assert!(!machine.vendor.is_empty());
        assert!(machine.family > 0);
    }

    #[test]
    fn width_needs_the_events_of_three_categories() {
        let leaf = |eax, ecx| CpuidResult {
            eax,
            ebx: 0,
            ecx,
            edx: 0,
        };
        // Subleaves 0 to 3, eight slots per cycle, all architectural events.
        assert_eq!(architectural_slots(leaf(0xf, 8), 0xfff), Some(8));
        assert_eq!(architectural_slots(leaf(0xf, 8), 0x0ff), None);
        assert_eq!(architectural_slots(leaf(0x7, 8), 0xfff), None);
        assert_eq!(architectural_slots(leaf(0xf, 0), 0xfff), None);
    }
}
