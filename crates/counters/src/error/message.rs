//! Messages of the errors: what happened, where, and what to do next.

use std::fmt;

use super::{EventLocation, OpenError};

impl fmt::Display for EventLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "event `{}` of PMU `{}`", self.event, self.pmu)
    }
}

/// Where `write!` writes a message, compiled once: a formatter's own `write_fmt` is inlined.
struct Message<'a, 'f>(&'a mut fmt::Formatter<'f>);

impl Message<'_, '_> {
    #[inline(never)]
    fn write_fmt(&mut self, message: fmt::Arguments<'_>) -> fmt::Result {
        self.0.write_fmt(message)
    }
}

// Derived implementations would need a procedural macro, which every bench would compile.
impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use OpenError::*;
        let f = &mut Message(f);
        match self {
            UnknownChoice(unknown) => write!(f, "{unknown}"),
            Model { reason } => write!(f, "the model cannot be used: {reason}"),
            LeftOut { part } => write!(f, "this bench was built without the library's `{part}`"),
            ThreadsChange => write!(
                f,
                "the threads of this process kept changing while counters were being opened for \
                 them"
            ),
            Threads { directory, error } => write!(
                f,
                "could not list the threads of this process in {directory}: {error}"
            ),
            Follow { error } => {
                write!(f, "could not follow the command with `ptrace`: {error}")
            }
            UnknownGroup { name, cpu, known } => write!(
                f,
                "{cpu} has no metric group `{name}`; the groups are {known}"
            ),
            OperatingSystem { name } => write!(
                f,
                "hardware counters need Linux on x86-64 or 64-bit Arm; this is {name} on {}",
                std::env::consts::ARCH
            ),
            NoPmu {
                directory,
                hypervisor,
            } => write!(
                f,
                "this {} has no performance counters: {directory} has no PMU of its cores",
                if *hypervisor {
                    "virtual machine"
                } else {
                    "machine"
                }
            ),
            HiddenByHypervisor { pmu, missing, cpu } => write!(
                f,
                "PMU `{pmu}` of this virtual machine has no event `{missing}`: the hypervisor \
                 hides the TopDown counters of {cpu}"
            ),
            UnsupportedCpu { pmu, cpu, reason } => {
                write!(f, "PMU `{pmu}` of {cpu} is not supported: {reason}")
            }
            DescribedCore { problem } => write!(
                f,
                "could not use the telemetry specification of CARGO_TOPDOWN_ARM_SPECIFICATION: \
                 {problem}"
            ),
            BadDescription { path, problem } => {
                write!(f, "could not read {path}: {problem}")
            }
            EfficiencyCores {
                pmu,
                performance,
                allowed,
            } => write!(
                f,
                "this thread may run only on CPUs {allowed}, but the TopDown counters of PMU \
                 `{pmu}` are on CPUs {performance}"
            ),
            Pinning {
                pmu,
                performance,
                error,
            } => write!(
                f,
                "could not keep this thread on CPUs {performance} of PMU `{pmu}`: {error}"
            ),
            PermissionDenied { location, paranoid } => write!(
                f,
                "could not open {location}: permission denied; {}",
                paranoid_in_words(*paranoid)
            ),
            Forbidden { location, error } => write!(
                f,
                "could not open {location}: {error}; a container's seccomp profile or a security \
                 module forbids `perf_event_open`"
            ),
            NoSuchEvent { location } => write!(
                f,
                "could not open {location}: the kernel does not know it (ENOENT)"
            ),
            Rejected { location, error } => write!(
                f,
                "could not open {location}: the kernel rejects it ({error}); TopDown groups need \
                 Linux 5.10, or 6.2 on hybrid CPUs"
            ),
            PmuUnavailable { location, error } => write!(
                f,
                "could not open {location}: {error}; the PMU is absent, or a virtual machine on this \
                 host owns it"
            ),
            LimitReached { location, error } => {
                write!(f, "could not open {location}: {error}; a limit is reached")
            }
            Open { location, error } => write!(f, "could not open {location}: {error}"),
            LockedMemory { location, mlock_kb } => write!(
                f,
                "could not map the page of {location}: the limit of locked memory is reached \
                 (kernel.perf_event_mlock_kb{})",
                value_in_words(*mlock_kb)
            ),
            Map { location, error } => {
                write!(f, "could not map the page of {location}: {error}")
            }
            Control {
                action,
                location,
                error,
            } => write!(f, "could not {action} the group of {location}: {error}"),
            NeverScheduled {
                location,
                cpu,
                nmi_watchdog,
            } => write!(
                f,
                "the counters of {location} were opened on CPU {cpu} but never ran: another user of \
                 the PMU has them{}",
                if *nmi_watchdog == Some(true) {
                    ", and the NMI watchdog is on"
                } else {
                    ""
                }
            ),
            GroupTooLarge { location, needed } => write!(
                f,
                "could not open {location}: the PMU cannot hold its group, which needs {needed} \
                 general counters; a virtual machine may have fewer than its CPU"
            ),
            TooFewCounters {
                location,
                needed,
                available,
            } => write!(
                f,
                "the counters of {location} were opened but never ran: with the NMI watchdog on, the \
                 group needs {needed} general counters, but only {available} are available"
            ),
            Multiplexed {
                location,
                enabled_ns,
                running_ns,
            } => write!(
                f,
                "the counters of {location} ran for {running_ns} ns of {enabled_ns} ns: they share \
                 the PMU with another user"
            ),
            WrongCounter {
                location,
                index,
                expected,
            } => write!(
                f,
                "{location} is on counter {index:#x} instead of {expected:#x}: this kernel does not \
                 treat it as a TopDown event"
            ),
            SelfCheck { location, problem } => {
                write!(f, "the self-check of {location} failed: {problem}")
            }
            HiddenEvents {
                location,
                categories,
            } => write!(
                f,
                "the group of {location} counts no {categories} in a loop, as where a hypervisor \
                 hides the events"
            ),
        }?;
        match self.remedy() {
            Some(remedy) => write!(f, "; {remedy}"),
            None => Ok(()),
        }
    }
}

const REPORT: &str = "please report this with the output of `cargo topdown doctor`";
const BARE_METAL: &str = "measure on the host or on a bare-metal machine";
const VIRTUAL_PMU: &str =
    "give the virtual machine a PMU (KVM: `-cpu host,pmu=on`) or measure on a bare-metal machine";
const KERNEL_PMU: &str =
    "`dmesg | grep -i pmu` shows why the kernel found none; in a container, make sysfs visible";
const OTHER_USERS: &str =
    "stop `perf`, VTune, other profilers and system-wide TopDown monitoring on this machine";

impl OpenError {
    /// Returns why there are no counters in a few words, for every run; the message has the rest.
    pub fn in_short(&self) -> &'static str {
        match self {
            OpenError::NoPmu {
                hypervisor: true, ..
            } => "this VM has no counters",
            OpenError::NoPmu { .. } => "this machine has no counters",
            OpenError::HiddenByHypervisor { .. } | OpenError::HiddenEvents { .. } => {
                "the hypervisor hides the TopDown counters"
            }
            OpenError::PermissionDenied { .. } | OpenError::Forbidden { .. } => {
                "no permission to use the counters"
            }
            OpenError::OperatingSystem { .. } => "counters are only available on Linux",
            OpenError::UnsupportedCpu { .. } => "the slots of this CPU cannot be counted",
            _ => "the counters cannot be used",
        }
    }

    /// Returns what to do next: a command, or one clause of advice. `None` if nothing on this
    /// machine helps.
    pub fn remedy(&self) -> Option<&'static str> {
        use OpenError::*;
        Some(match self {
            UnknownChoice(_)
            | Model { .. }
            | ThreadsChange
            | Threads { .. }
            | UnknownGroup { .. }
            | DescribedCore { .. }
            | OperatingSystem { .. }
            | UnsupportedCpu { .. } => return None,
            NoPmu {
                hypervisor: true, ..
            } => VIRTUAL_PMU,
            NoPmu { .. } => KERNEL_PMU,
            LeftOut { .. } => {
                "run it with `cargo topdown bench`, which adds the feature `launches` for packages \
                 that depend on criterion-topdown themselves, or add it to the dependency"
            }
            HiddenByHypervisor { .. } => BARE_METAL,
            Follow { .. } => {
                "run `sudo sysctl kernel.yama.ptrace_scope=1`, in a container add \
                 `--cap-add=SYS_PTRACE`, and do not run it under a debugger"
            }
            BadDescription { .. } | Open { .. } | Map { .. } | Control { .. } => REPORT,
            EfficiencyCores { .. } => {
                "start the benchmark on a performance core, for example with `taskset`"
            }
            Pinning { .. } => "allow performance cores in the cpuset of this process",
            PermissionDenied { paranoid, .. } if paranoid.is_some_and(|level| level <= 2) => {
                "run as root, or allow `perf_event_open` in the security policy of this system"
            }
            PermissionDenied { .. } => "run `sudo sysctl kernel.perf_event_paranoid=2`",
            Forbidden { .. } => {
                "in a container add `--cap-add=PERFMON` or a seccomp profile that allows \
                 `perf_event_open`"
            }
            NoSuchEvent { .. } | Rejected { .. } => "update the kernel",
            PmuUnavailable { .. } => "stop virtual machines that use the host's PMU",
            LimitReached { .. } => "close other users of counters, or raise `ulimit -n`",
            LockedMemory { .. } => "run `sudo sysctl kernel.perf_event_mlock_kb=4096`",
            NeverScheduled {
                nmi_watchdog: Some(true),
                ..
            } => {
                "run `sudo sysctl kernel.nmi_watchdog=0`, and stop `perf` and other profilers on \
                 this machine"
            }
            GroupTooLarge { .. } => {
                "give the virtual machine more counters, or measure on a bare-metal machine"
            }
            TooFewCounters { .. } => "run `sudo sysctl kernel.nmi_watchdog=0`",
            NeverScheduled { .. } | Multiplexed { .. } => OTHER_USERS,
            WrongCounter { .. } => "update the kernel, or measure on a bare-metal machine",
            SelfCheck { .. } => REPORT,
            HiddenEvents { location, .. } if location.pmu.starts_with("armv") => {
                "measure on the host or on a bare-metal machine; stalled cycles may count here \
                 (`cargo topdown explain`)"
            }
            HiddenEvents { .. } => BARE_METAL,
        })
    }
}

fn value_in_words(value: Option<i32>) -> String {
    value
        .map(|value| format!(" is {value}"))
        .unwrap_or_default()
}

fn paranoid_in_words(paranoid: Option<i32>) -> String {
    match paranoid {
        Some(level) => {
            format!("kernel.perf_event_paranoid is {level}; counting user code needs 2 or lower")
        }
        None => "kernel.perf_event_paranoid must be 2 or lower".to_owned(),
    }
}
