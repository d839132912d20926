//! Identifies this machine from the files of a Linux system.

use std::fs;
use std::path::Path;

use topdown_run::machine::Machine;

use super::cores::{self, Measuring, parse_cpu_list};

#[inline]
pub(super) fn this_machine(measuring: Measuring<'_>) -> Machine {
    let mut machine = from_files(Path::new("/sys"), Path::new("/proc"), measuring);
    #[cfg(target_arch = "x86_64")]
    super::cpuid::complete(&mut machine);
    if machine.cpus == 0 {
        machine.cpus = std::thread::available_parallelism().map_or(0, |n| n.get() as u32);
    }
    machine
}

/// Reads the machine described by sysfs and procfs mounted at these paths.
#[inline]
fn from_files(sys: &Path, proc: &Path, measuring: Measuring<'_>) -> Machine {
    Machine {
        smt_active: line(sys, "devices/system/cpu/smt/active").and_then(|active| {
            match active.as_str() {
                "0" => Some(false),
                "1" => Some(true),
                _ => None,
            }
        }),
        cpus: line(sys, "devices/system/cpu/online")
            .and_then(|list| parse_cpu_list(&list))
            .map_or(0, |cpus| cpus.len() as u32),
        kernel: line(proc, "sys/kernel/osrelease"),
        governor: line(sys, "devices/system/cpu/cpu0/cpufreq/scaling_governor"),
        host: line(proc, "sys/kernel/hostname"),
        ..identity(sys, proc, measuring)
    }
}

/// Reads only what identifies the CPU: the rest is for the program, not for benches.
#[inline(never)]
pub(super) fn identity(sys: &Path, proc: &Path, measuring: Measuring<'_>) -> Machine {
    let cpuinfo = fs::read_to_string(proc.join("cpuinfo")).unwrap_or_default();
    let measured = cores::measured(sys, proc, measuring);
    let mut machine = Machine {
        architecture: std::env::consts::ARCH.to_owned(),
        hypervisor: line(sys, "hypervisor/type")
            // A device tree that describes the guest says "linux,kvm" or similar.
            .or_else(|| line(proc, "device-tree/hypervisor/compatible"))
            .map(|name| name.trim_start_matches("linux,").to_owned()),
        cores: measured.kind.map(str::to_owned),
        ..Machine::default()
    };
    let midr = midr_of(sys, measured.cpu).or_else(|| midr_of_cpuinfo(&cpuinfo));
    match midr {
        Some(midr) => identify_arm(&mut machine, midr),
        None => identify_x86(&mut machine, &cpuinfo),
    }
    machine
}

fn line(directory: &Path, path: &str) -> Option<String> {
    let text = fs::read_to_string(directory.join(path)).ok()?;
    let text = text.trim_matches(['\0', '\n', ' ']);
    (!text.is_empty()).then(|| text.to_owned())
}

/// Returns what identifies the cores of CPU `cpu`; `None` except on Arm.
#[cfg(target_os = "linux")]
pub(crate) fn arm_core(sys: &Path, cpu: u32) -> Option<Machine> {
    let mut machine = Machine::default();
    identify_arm(&mut machine, midr_of(sys, cpu)?);
    Some(machine)
}

fn midr_of(sys: &Path, cpu: u32) -> Option<u64> {
    let path = format!("devices/system/cpu/cpu{cpu}/regs/identification/midr_el1");
    let text = fs::read_to_string(sys.join(path)).ok()?;
    u64::from_str_radix(text.trim().trim_start_matches("0x"), 16).ok()
}

fn identify_x86(machine: &mut Machine, cpuinfo: &str) {
    let text = |key| field(cpuinfo, key).unwrap_or_default().to_owned();
    let number = |key| field(cpuinfo, key).and_then(|value| value.parse().ok());
    machine.vendor = text("vendor_id");
    machine.family = number("cpu family").unwrap_or_default();
    machine.model = number("model").unwrap_or_default();
    machine.stepping = number("stepping").unwrap_or_default();
    machine.name = text("model name");
    machine.microcode = field(cpuinfo, "microcode").map(str::to_owned);
    let is_guest = field(cpuinfo, "flags")
        .is_some_and(|flags| flags.split_whitespace().any(|flag| flag == "hypervisor"));
    if is_guest && machine.hypervisor.is_none() {
        machine.hypervisor = Some("unknown".to_owned());
    }
}

/// Decodes MIDR_EL1: Arm Architecture Reference Manual, DDI 0487, D19.2 "MIDR_EL1".
fn identify_arm(machine: &mut Machine, midr: u64) {
    let bits = |from: u32, count: u32| ((midr >> from) & ((1 << count) - 1)) as u32;
    machine.vendor = format!("{:#04x}", bits(24, 8));
    machine.family = 8;
    machine.model = bits(4, 12);
    machine.stepping = bits(20, 4) << 4 | bits(0, 4);
    // The CPU has no name of its own, but the core is known by one.
    machine.name = crate::cpu::arm_core_name(&machine.vendor, machine.model, machine.stepping)
        .unwrap_or_default()
        .to_owned();
}

/// Reassembles MIDR_EL1 from the fields that `/proc/cpuinfo` prints.
fn midr_of_cpuinfo(cpuinfo: &str) -> Option<u64> {
    let number = |key| {
        let value = field(cpuinfo, key)?;
        match value.strip_prefix("0x") {
            Some(hex) => u64::from_str_radix(hex, 16).ok(),
            None => value.parse().ok(),
        }
    };
    Some(
        (number("CPU implementer")? & 0xff) << 24
            | (number("CPU variant")? & 0xf) << 20
            | (number("CPU part")? & 0xfff) << 4
            | (number("CPU revision")? & 0xf),
    )
}

/// Returns the value of `key` for the first CPU that has it.
fn field<'a>(cpuinfo: &'a str, key: &str) -> Option<&'a str> {
    cpuinfo
        .lines()
        .filter_map(|line| line.split_once(':'))
        .find(|(name, _)| name.trim() == key)
        .map(|(_, value)| value.trim())
}

#[cfg(test)]
mod tests {
    use super::*;
    use tempfile::TempDir;

    fn system(files: &[(&str, &str)]) -> TempDir {
        let root = tempfile::tempdir().unwrap();
        for (path, content) in files {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }
        root
    }

    fn below(root: &TempDir) -> Machine {
        measuring(root, Measuring::AsCounted)
    }

    fn measuring(root: &TempDir, measuring: Measuring<'_>) -> Machine {
        let (sys, proc) = (root.path().join("sys"), root.path().join("proc"));
        from_files(&sys, &proc, measuring)
    }

    const XEON: &str = "processor\t: 0\n\
        vendor_id\t: GenuineIntel\n\
        cpu family\t: 6\n\
        model\t\t: 143\n\
        model name\t: Intel(R) Xeon(R) Platinum 8481C\n\
        stepping\t: 8\n\
        microcode\t: 0x2b000603\n\
        cpu MHz\t\t: 2700.000\n\
        flags\t\t: fpu vme arch_perfmon\n\n\
        processor\t: 1\n\
        model\t\t: 1\n\
        ";

    #[test]
    fn intel_server_is_recognized() {
        let root = system(&[
            ("proc/cpuinfo", XEON),
            ("proc/sys/kernel/osrelease", "6.12.1-amd64\n"),
            ("proc/sys/kernel/hostname", "runner-7\n"),
            ("sys/devices/system/cpu/smt/active", "1\n"),
            ("sys/devices/system/cpu/online", "0-3,8\n"),
            (
                "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor",
                "performance\n",
            ),
        ]);
        assert_eq!(
            below(&root),
            Machine {
                architecture: std::env::consts::ARCH.to_owned(),
                vendor: "GenuineIntel".to_owned(),
                family: 6,
                model: 143,
                stepping: 8,
                name: "Intel(R) Xeon(R) Platinum 8481C".to_owned(),
                hypervisor: None,
                smt_active: Some(true),
                cores: None,
                cpus: 5,
                kernel: Some("6.12.1-amd64".to_owned()),
                microcode: Some("0x2b000603".to_owned()),
                governor: Some("performance".to_owned()),
                host: Some("runner-7".to_owned()),
            }
        );
    }

    #[test]
    fn guest_differs_from_bare_metal() {
        let guest = XEON.replace("arch_perfmon", "arch_perfmon hypervisor lahf_lm");
        let root = system(&[("proc/cpuinfo", &guest)]);
        assert_eq!(below(&root).hypervisor.as_deref(), Some("unknown"));
        let root = system(&[("proc/cpuinfo", &guest), ("sys/hypervisor/type", "xen\n")]);
        assert_eq!(below(&root).hypervisor.as_deref(), Some("xen"));
    }

    #[test]
    fn arm_identity_from_midr_equals_cpuinfo() {
        // Neoverse V1 r1p1.
        let midr = system(&[
            (
                "sys/devices/system/cpu/cpu0/regs/identification/midr_el1",
                "0x00000000411fd401\n",
            ),
            ("proc/device-tree/hypervisor/compatible", "linux,kvm\0"),
        ]);
        let cpuinfo = system(&[
            (
                "proc/cpuinfo",
                "processor\t: 0\nCPU implementer\t: 0x41\nCPU architecture: 8\n\
                 CPU variant\t: 0x1\nCPU part\t: 0xd40\nCPU revision\t: 1\n",
            ),
            ("sys/hypervisor/type", "kvm\n"),
        ]);
        let machine = below(&midr);
        assert_eq!(machine, below(&cpuinfo));
        assert_eq!((machine.family, machine.model), (8, 0xd40));
        assert_eq!((machine.vendor.as_str(), machine.stepping), ("0x41", 0x11));
        assert_eq!(machine.to_string(), "Neoverse V1, kvm");
        assert_eq!(machine.hypervisor.as_deref(), Some("kvm"));
    }

    /// The keys of runs as the counters choose, of the PMUs in turn, and on any core.
    fn keys(files: &[(&str, &str)], allowed: &str, pmus: [&str; 2]) -> [String; 4] {
        let status = format!("Name:\tbench\nCpus_allowed_list:\t{allowed}\n");
        let root = system(&[files, &[("proc/thread-self/status", status.as_str())]].concat());
        [
            Measuring::AsCounted,
            Measuring::Pmu(pmus[0]),
            Measuring::Pmu(pmus[1]),
            Measuring::Anywhere,
        ]
        .map(|cores| measuring(&root, cores).key())
        .map(|key| key.replacen(std::env::consts::ARCH, "cpu", 1))
    }

    const PMUS: &str = "sys/bus/event_source/devices";

    #[test]
    fn hybrid_key_names_measuring_cores() {
        let core = format!("{PMUS}/cpu_core/cpus");
        let atom = format!("{PMUS}/cpu_atom/cpus");
        let hybrid = [
            ("proc/cpuinfo", XEON),
            (core.as_str(), "0-3\n"),
            (atom.as_str(), "4-7\n"),
        ];
        let keys = |allowed| keys(&hybrid, allowed, ["cpu_core", "cpu_atom"]);
        let [performance, efficiency, mixed] = ["performance", "efficiency", "mixed"]
            .map(|cores| format!("cpu-GenuineIntel-06-8f-08-{cores}"));
        assert_eq!(
            keys("0-7").each_ref(),
            [&performance, &performance, &efficiency, &mixed]
        );
        assert_eq!(keys("0,5")[0], performance);
        // `taskset -c 5-6`: nothing ran elsewhere.
        let [counted, _, _, anywhere] = keys("5-6");
        assert_eq!([&counted, &anywhere], [&efficiency; 2]);
        // The efficiency cores are switched off.
        let keys = self::keys(&hybrid[..2], "0-3", ["cpu_core", "cpu_core"]);
        assert_eq!(keys, ["cpu-GenuineIntel-06-8f-08"; 4]);
    }

    #[test]
    fn arm_key_names_measuring_cores() {
        let identity =
            |cpu| format!("sys/devices/system/cpu/cpu{cpu}/regs/identification/midr_el1");
        let capacity = |cpu| format!("sys/devices/system/cpu/cpu{cpu}/cpu_capacity");
        let [little, big] = ["a55", "a76"].map(|core| format!("{PMUS}/armv8_cortex_{core}/cpus"));
        let [cpu0, cpu4] = [0, 4].map(identity);
        let [capacity0, capacity4] = [0, 4].map(capacity);
        let rk3588 = [
            (little.as_str(), "0-3\n"),
            (big.as_str(), "4-7\n"),
            (capacity0.as_str(), "530\n"),
            (capacity4.as_str(), "1024\n"),
            (cpu0.as_str(), "0x00000000412fd050\n"),
            (cpu4.as_str(), "0x00000000414fd0b0\n"),
        ];
        let keys = |allowed| keys(&rk3588, allowed, ["armv8_cortex_a55", "armv8_cortex_a76"]);
        let [a55, a76] = ["cpu-0x41-08-d05-20", "cpu-0x41-08-d0b-40"];
        // The fast cores, although the slow ones come first in the alphabet and as CPU 0.
        assert_eq!(keys("0-7"), [a76, a55, a76, "cpu-0x41-08-d0b-40-mixed"]);
        let [counted, _, _, anywhere] = keys("4,6");
        assert_eq!([counted.as_str(), anywhere.as_str()], [a76; 2]);
        let [counted, _, _, anywhere] = keys("0-3");
        assert_eq!([counted.as_str(), anywhere.as_str()], [a55; 2]);
    }

    #[test]
    fn system_without_files_is_unknown() {
        let root = system(&[]);
        let unknown = Machine {
            architecture: std::env::consts::ARCH.to_owned(),
            ..Machine::default()
        };
        assert_eq!(below(&root), unknown);
        let nonsense = system(&[
            ("proc/cpuinfo", ":::\nmodel : many\n\u{0}"),
            ("sys/devices/system/cpu/online", "3-1,9999999999\n"),
            ("sys/devices/system/cpu/smt/active", "maybe\n"),
            (
                "sys/devices/system/cpu/cpu0/regs/identification/midr_el1",
                "xyz",
            ),
        ]);
        assert_eq!(below(&nonsense), unknown);
    }

    #[test]
    fn detection_is_repeatable() {
        let machine = crate::machine::this_machine();
        assert_eq!(machine, crate::machine::this_machine());
        assert!(machine.cpus > 0);
        if machine.cores.is_none() {
            assert_eq!(machine, crate::machine::this_machine_on(None));
        }
    }
}
