//! Finds what makes measurements noisy on this machine, apart from the counters themselves.
//!
//! Reads `/proc` and `/sys`. A check whose file does not exist finds nothing.

use std::fs;
use std::path::Path;

use topdown_run::machine::Machine;

/// Something that makes launches differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Disturbance {
    /// A description with the value found, and the effect.
    pub what: String,
    /// A command that removes it, or advice if there is none.
    pub remedy: String,
}

/// Returns the disturbances of `machine`, whose `/proc` and `/sys` are below `root`, worst first.
pub fn disturbances(machine: &Machine, root: &Path) -> Vec<Disturbance> {
    let system = System { root, machine };
    [
        system.load(),
        system.cpu_quota(),
        system.governor(),
        system.turbo(),
        system.clock_source(),
        system.smt(),
        system.hypervisor(),
        system.address_randomisation(),
    ]
    .into_iter()
    .flatten()
    .map(|(what, remedy)| Disturbance {
        what,
        remedy: remedy.to_owned(),
    })
    .collect()
}

/// The load per CPU above which other work certainly takes turns with a bench.
const BUSY_LOAD_PER_CPU: f64 = 0.25;

struct System<'a> {
    root: &'a Path,
    machine: &'a Machine,
}

type Found = Option<(String, &'static str)>;

impl System<'_> {
    fn line(&self, path: &str) -> Option<String> {
        let text = fs::read_to_string(self.root.join(path)).ok()?;
        Some(text.trim().to_owned())
    }

    fn load(&self) -> Found {
        let text = self.line("proc/loadavg")?;
        let load: f64 = text.split_whitespace().next()?.parse().ok()?;
        let cpus = self.machine.cpus.max(1);
        (load > BUSY_LOAD_PER_CPU * f64::from(cpus)).then(|| {
            (
                format!("the load average is {load} on {cpus} CPUs: other work competes for them"),
                "ps -eo pcpu,comm --sort=-pcpu | head",
            )
        })
    }

    /// For control groups version 2: `cpu.max` holds a quota and a period in microseconds.
    fn cpu_quota(&self) -> Found {
        let text = self.line("sys/fs/cgroup/cpu.max")?;
        let (quota, period) = text.split_once(' ')?;
        let cpus = quota.parse::<f64>().ok()? / period.parse::<f64>().ok()?;
        Some((
            format!("this container is throttled beyond {cpus:.1} CPUs"),
            "run the container without a CPU limit",
        ))
    }

    fn governor(&self) -> Found {
        let governor = self.machine.governor.as_deref()?;
        (governor != "performance").then(|| {
            (
                format!(
                    "the frequency governor is `{governor}`: the clock frequency follows the load"
                ),
                "echo performance | sudo tee /sys/devices/system/cpu/cpu*/cpufreq/scaling_governor",
            )
        })
    }

    fn turbo(&self) -> Found {
        let is = |path: &str, value: &str| self.line(path).is_some_and(|found| found == value);
        let what = "turbo is on: the clock frequency depends on temperature and on the other cores";
        if is("sys/devices/system/cpu/intel_pstate/no_turbo", "0") {
            return Some((
                what.to_owned(),
                "echo 1 | sudo tee /sys/devices/system/cpu/intel_pstate/no_turbo",
            ));
        }
        is("sys/devices/system/cpu/cpufreq/boost", "1").then(|| {
            (
                what.to_owned(),
                "echo 0 | sudo tee /sys/devices/system/cpu/cpufreq/boost",
            )
        })
    }

    fn clock_source(&self) -> Found {
        const FILE: &str = "sys/devices/system/clocksource/clocksource0/current_clocksource";
        let source = self.line(FILE)?;
        ["hpet", "acpi_pm", "jiffies"]
            .contains(&source.as_str())
            .then(|| {
                (
                    format!("the clock source is `{source}`: reading the time is slow"),
                    "add `clocksource=tsc tsc=reliable` to the kernel's command line, \
                     where the firmware allows it",
                )
            })
    }

    fn smt(&self) -> Found {
        (self.machine.smt_active == Some(true)).then(|| {
            (
                "hardware threads share cores (SMT is active): work on the sibling changes results"
                    .to_owned(),
                "echo off | sudo tee /sys/devices/system/cpu/smt/control",
            )
        })
    }

    fn hypervisor(&self) -> Found {
        let name = self.machine.hypervisor.as_deref()?;
        Some((
            format!("this is a virtual machine ({name}): other guests share its host"),
            "measure on a bare-metal machine",
        ))
    }

    fn address_randomisation(&self) -> Found {
        let value = self.line("proc/sys/kernel/randomize_va_space")?;
        (value != "0").then(|| {
            (
                format!(
                    "addresses are randomised (kernel.randomize_va_space is {value}): launches \
                     differ in memory layout, which more launches average out"
                ),
                "setarch --addr-no-randomize cargo topdown bench",
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found_in(machine: &Machine, files: &[(&str, &str)]) -> Vec<Disturbance> {
        let root = tempfile::tempdir().unwrap();
        for (path, content) in files {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }
        disturbances(machine, root.path())
    }

    fn quiet_machine() -> Machine {
        Machine {
            cpus: 4,
            governor: Some("performance".to_owned()),
            smt_active: Some(false),
            ..Machine::default()
        }
    }

    #[test]
    fn each_disturbance_is_found_with_a_remedy() {
        for (path, content, expected) in [
            ("proc/loadavg", "1.50 0.4 0.1 2/101 7\n", "1.5 on 4 CPUs"),
            ("sys/fs/cgroup/cpu.max", "150000 100000\n", "1.5 CPUs"),
            (
                "sys/devices/system/cpu/intel_pstate/no_turbo",
                "0\n",
                "turbo is on",
            ),
            ("sys/devices/system/cpu/cpufreq/boost", "1\n", "turbo is on"),
            (
                "sys/devices/system/clocksource/clocksource0/current_clocksource",
                "hpet\n",
                "`hpet`",
            ),
            (
                "proc/sys/kernel/randomize_va_space",
                "2\n",
                "randomize_va_space is 2",
            ),
        ] {
            let found = found_in(&quiet_machine(), &[(path, content)]);
            assert_eq!(found.len(), 1, "{path}");
            assert!(found[0].what.contains(expected), "{}", found[0].what);
            assert!(!found[0].remedy.is_empty());
        }
    }

    #[test]
    fn reported_machine_state_is_judged() {
        let machine = Machine {
            governor: Some("powersave".to_owned()),
            smt_active: Some(true),
            hypervisor: Some("kvm".to_owned()),
            ..quiet_machine()
        };
        let found: Vec<String> = found_in(&machine, &[])
            .into_iter()
            .map(|d| d.what)
            .collect();
        assert_eq!(found.len(), 3);
        assert!(found[0].contains("`powersave`"), "{found:?}");
        assert!(found[1].contains("SMT"), "{found:?}");
        assert!(found[2].contains("kvm"), "{found:?}");
    }

    #[test]
    fn quiet_and_unknown_machines_have_no_disturbances() {
        let quiet = [
            ("proc/loadavg", "0.90 0.4 0.1 2/101 7\n"),
            ("sys/fs/cgroup/cpu.max", "max 100000\n"),
            ("sys/devices/system/cpu/intel_pstate/no_turbo", "1\n"),
            ("sys/devices/system/cpu/cpufreq/boost", "0\n"),
            (
                "sys/devices/system/clocksource/clocksource0/current_clocksource",
                "tsc\n",
            ),
            ("proc/sys/kernel/randomize_va_space", "0\n"),
        ];
        assert_eq!(found_in(&quiet_machine(), &quiet), []);
        assert_eq!(found_in(&Machine::default(), &[]), []);
        assert_eq!(found_in(&Machine::default(), &[("proc/loadavg", "?")]), []);
    }
}
