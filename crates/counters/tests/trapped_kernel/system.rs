//! Directories that stand in for sysfs and procfs.

use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;
use topdown_counters::hardware::SystemPaths;

/// A fake sysfs and procfs, deleted on drop.
pub struct System {
    root: TempDir,
}

const METRICS: [(&str, &str); 8] = [
    ("topdown-retiring", "event=0x00,umask=0x80"),
    ("topdown-bad-spec", "event=0x00,umask=0x81"),
    ("topdown-fe-bound", "event=0x00,umask=0x82"),
    ("topdown-be-bound", "event=0x00,umask=0x83"),
    ("topdown-heavy-ops", "event=0x00,umask=0x84"),
    ("topdown-br-mispredict", "event=0x00,umask=0x85"),
    ("topdown-fetch-lat", "event=0x00,umask=0x86"),
    ("topdown-mem-bound", "event=0x00,umask=0x87"),
];

impl System {
    /// A machine without any PMU.
    pub fn empty(model: u32, hypervisor: bool) -> System {
        let system = System {
            root: tempfile::tempdir().unwrap(),
        };
        fs::create_dir_all(system.devices()).unwrap();
        let flags = if hypervisor { "fpu hypervisor" } else { "fpu" };
        system.write(
            "proc/cpuinfo",
            &format!(
                "processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: {model}\n\
                 model name\t: Test CPU\nflags\t\t: {flags}\n"
            ),
        );
        system.set("perf_event_paranoid", "2");
        system.set("nmi_watchdog", "0");
        system.set("perf_event_mlock_kb", "516");
        system
    }

    /// Creates an Arm server: `midr` gives implementer, variant, part and revision, and `slots` the
    /// slots per cycle, in the kernel's spelling.
    pub fn arm(midr: &str, slots: &str) -> System {
        let system = System {
            root: tempfile::tempdir().unwrap(),
        };
        system.write(
            "sys/devices/system/cpu/cpu0/regs/identification/midr_el1",
            midr,
        );
        // The type that the simulated machine accepts; a real one has its own number.
        system.write_pmu("armv8_pmuv3_0/type", "4");
        system.write_pmu("armv8_pmuv3_0/cpus", "0-4000");
        system.write_pmu("armv8_pmuv3_0/caps/slots", slots);
        system.write_pmu("arm_cmn_0/type", "5");
        system
    }

    /// Sapphire Rapids: both levels.
    pub fn sapphire_rapids() -> System {
        let system = System::empty(0x8f, false);
        system.add_metrics_pmu("cpu", 8);
        system
    }

    /// Lunar Lake's performance cores alone, with a kernel that knows `metrics_clear`.
    pub fn lunar_lake() -> System {
        let system = System::empty(0xbd, false);
        system.add_metrics_pmu("cpu_core", 8);
        system.write_pmu("cpu_core/format/metrics_clear", "config1:0");
        system
    }

    /// Diamond Rapids with the files of Linux 7.3: eight metrics (`intel_pmu_init_pnc`), and a
    /// second field of unit masks.
    pub fn diamond_rapids() -> System {
        let system = System::empty(0x01, false);
        system.write(
            "proc/cpuinfo",
            "processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 19\nmodel\t\t: 1\n\
             model name\t: Test CPU\nflags\t\t: fpu\n",
        );
        system.add_metrics_pmu("cpu", 8);
        system.write_pmu("cpu/format/metrics_clear", "config1:0");
        system.write_pmu("cpu/format/umask", "config:8-15,40-47");
        system
    }

    /// Ice Lake server: level 1.
    pub fn ice_lake() -> System {
        let system = System::empty(0x6a, false);
        system.add_metrics_pmu("cpu", 4);
        system
    }

    /// Alder Lake: performance cores and efficiency cores.
    pub fn hybrid(performance: &str, efficiency: &str) -> System {
        let system = System::empty(0x97, false);
        system.add_metrics_pmu("cpu_core", 8);
        system.write_pmu("cpu_core/cpus", performance);
        system.add_plain_pmu("cpu_atom");
        system.write_pmu("cpu_atom/type", "8");
        system.write_pmu("cpu_atom/cpus", efficiency);
        system
    }

    pub fn add_metrics_pmu(&self, name: &str, metrics: usize) {
        self.write_pmu(&format!("{name}/type"), "4");
        self.write_pmu(&format!("{name}/rdpmc"), "1");
        self.write_pmu(&format!("{name}/events/slots"), "event=0x00,umask=0x4");
        for (event, code) in &METRICS[..metrics] {
            self.write_pmu(&format!("{name}/events/{event}"), code);
        }
    }

    /// Adds threads that exist in the process, or did when it was listed.
    pub fn add_threads(&self, threads: &[i32]) {
        for thread in threads {
            self.write(&format!("proc/self/task/{thread}/comm"), "test");
        }
    }

    /// Adds events with the names of PERF_METRICS and the codes of general counters.
    pub fn add_plain_pmu(&self, name: &str) {
        self.write_pmu(&format!("{name}/type"), "4");
        self.write_pmu(&format!("{name}/events/topdown-retiring"), "event=0xc2");
        self.write_pmu(
            &format!("{name}/events/topdown-bad-spec"),
            "event=0x73,umask=0x06",
        );
    }

    /// Adds a virtual PMU: events, but none for TopDown.
    pub fn add_bare_pmu(&self, name: &str) {
        self.write_pmu(&format!("{name}/type"), "4");
        self.write_pmu(&format!("{name}/events/cpu-cycles"), "event=0x3c");
    }

    /// Sets `kernel.NAME`.
    pub fn set(&self, name: &str, value: &str) {
        self.write(&format!("proc/sys/kernel/{name}"), value);
    }

    pub fn write_pmu(&self, path: &str, text: &str) {
        self.write(&format!("sys/bus/event_source/devices/{path}"), text);
    }

    pub fn paths(&self) -> SystemPaths {
        SystemPaths {
            sys: self.root.path().join("sys"),
            proc: self.root.path().join("proc"),
        }
    }

    fn devices(&self) -> PathBuf {
        self.root.path().join("sys/bus/event_source/devices")
    }

    pub fn write(&self, path: &str, text: &str) {
        let path: &Path = &self.root.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, format!("{text}\n")).unwrap();
    }
}
