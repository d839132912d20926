//! Why counters cannot be used: what happened, where, and what to do next.

use std::fmt;
use std::io;

use crate::setting::UnknownChoice;

/// An event on a PMU: the place that an [`OpenError`] names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventPlace {
    /// The event's name in sysfs or in the vendor's documentation.
    pub event: &'static str,
    /// The PMU's directory in sysfs, such as `cpu` or `cpu_core`.
    pub pmu: String,
}

impl fmt::Display for EventPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "event `{}` of PMU `{}`", self.event, self.pmu)
    }
}

/// Why a source could not be opened.
///
/// Each message is one line: what happened, where, and what to do next. [`remedy`] returns only the
/// last part.
///
/// [`remedy`]: OpenError::remedy
#[derive(Debug)]
#[non_exhaustive]
pub enum OpenError {
    /// A setting has an unknown value.
    UnknownChoice(UnknownChoice),

    /// The model was requested, but code cannot be traced.
    Model {
        /// Why not.
        reason: String,
    },

    /// This bench was built without the feature `launches`.
    LeftOut {
        /// `model` or `hits`.
        part: &'static str,
    },

    /// Threads started or exited while their counters were being opened.
    ThreadsChange,

    /// The threads of this process cannot be listed.
    Threads {
        /// Where the kernel lists them.
        directory: String,
        /// Why it could not be read.
        error: io::Error,
    },

    /// The threads and processes of a command cannot be followed.
    Follow {
        /// The error from `ptrace`, or from starting a thread.
        error: io::Error,
    },

    /// This CPU does not have the requested metric group.
    UnknownGroup {
        /// The requested name.
        name: String,
        /// The cores, by their table's name.
        cpu: &'static str,
        /// The available groups.
        known: String,
    },

    /// Counters are not supported on this operating system or processor architecture.
    OperatingSystem {
        /// The operating system.
        name: &'static str,
    },

    /// The kernel knows no core PMU.
    NoPmu {
        /// Where the kernel lists its PMUs.
        directory: String,
        /// Whether CPUID reports a hypervisor.
        hypervisor: bool,
    },

    /// The virtual machine has a PMU, but not its CPU's slots and PERF_METRICS.
    HiddenByHypervisor {
        /// The PMU.
        pmu: String,
        /// The event that is missing in sysfs.
        missing: &'static str,
        /// Vendor, family, model and name of the CPU.
        cpu: String,
    },

    /// The TopDown events of this CPU are not supported.
    UnsupportedCpu {
        /// The PMU.
        pmu: String,
        /// Vendor, family, model and name of the CPU.
        cpu: String,
        /// What is missing or unknown.
        reason: &'static str,
    },

    /// The user's core description does not match this machine or is invalid.
    DescribedCore {
        /// What is wrong with it.
        problem: String,
    },

    /// A file that describes the PMU could not be read or has unexpected contents.
    BadDescription {
        /// The file.
        path: String,
        /// What is wrong with it.
        problem: String,
    },

    /// On a hybrid machine, the thread may run only on efficiency cores.
    EfficiencyCores {
        /// The PMU of the performance cores.
        pmu: String,
        /// Its CPUs, as a list.
        performance: String,
        /// The thread's affinity, as a list.
        allowed: String,
    },

    /// On a hybrid machine, the thread could not be pinned to the performance cores.
    Pinning {
        /// The PMU of the performance cores.
        pmu: String,
        /// Its CPUs, as a list.
        performance: String,
        /// The error from `sched_setaffinity`.
        error: io::Error,
    },

    /// `EACCES`: the kernel does not allow this user to count.
    PermissionDenied {
        /// The event.
        place: EventPlace,
        /// `kernel.perf_event_paranoid`, if readable.
        paranoid: Option<i32>,
    },

    /// `EPERM` or `ENOSYS`: something between this process and the kernel forbids the call.
    Forbidden {
        /// The event.
        place: EventPlace,
        /// The error from `perf_event_open`.
        error: io::Error,
    },

    /// `ENOENT`: sysfs lists the event, but the kernel does not know it.
    NoSuchEvent {
        /// The event.
        place: EventPlace,
    },

    /// `EINVAL` or `E2BIG`: the kernel rejects the event in this form or in this group.
    Rejected {
        /// The event.
        place: EventPlace,
        /// The error from `perf_event_open`.
        error: io::Error,
    },

    /// `ENODEV` or `EOPNOTSUPP`: the event has no PMU, or a guest owns it.
    PmuUnavailable {
        /// The event.
        place: EventPlace,
        /// The error from `perf_event_open`.
        error: io::Error,
    },

    /// `EMFILE`, `ENFILE` or `ENOSPC`: a limit on files or counters was reached.
    LimitReached {
        /// The event.
        place: EventPlace,
        /// The error from `perf_event_open`.
        error: io::Error,
    },

    /// Any other error from `perf_event_open`.
    Open {
        /// The event.
        place: EventPlace,
        /// The error from `perf_event_open`.
        error: io::Error,
    },

    /// `EPERM` from `mmap`: this user's budget of pinned pages is used up.
    PageBudget {
        /// The event.
        place: EventPlace,
        /// `kernel.perf_event_mlock_kb`, if readable.
        mlock_kb: Option<i32>,
    },

    /// Any other error from `mmap`.
    Map {
        /// The event.
        place: EventPlace,
        /// The error from `mmap`.
        error: io::Error,
    },

    /// An `ioctl` or a `read` on the group failed.
    Control {
        /// The attempted action.
        action: &'static str,
        /// The group's leader.
        place: EventPlace,
        /// The kernel's error.
        error: io::Error,
    },

    /// The group was opened but is not on the PMU: something else uses the counters.
    NeverScheduled {
        /// The group's leader.
        place: EventPlace,
        /// The CPU that the thread ran on.
        cpu: u32,
        /// Whether `kernel.nmi_watchdog` is on, if readable.
        nmi_watchdog: Option<bool>,
    },

    /// `EINVAL` for a member of a group of plain counters: the PMU cannot hold the whole group.
    GroupTooLarge {
        /// The first event that did not fit.
        place: EventPlace,
        /// General counters the group needs.
        needed: u32,
    },

    /// The NMI watchdog holds a counter that the group needs.
    TooFewCounters {
        /// The group's leader.
        place: EventPlace,
        /// General counters the group needs while the watchdog is on.
        needed: u32,
        /// General counters left to a thread on this CPU.
        available: u32,
    },

    /// The group was on the PMU only part of the time. Scaling its counts would be guessing.
    Multiplexed {
        /// The group's leader.
        place: EventPlace,
        /// How long the group was enabled.
        enabled_ns: u64,
        /// How long it was on the PMU.
        running_ns: u64,
    },

    /// The kernel put the event on a register other than the one TopDown needs.
    WrongCounter {
        /// The event.
        place: EventPlace,
        /// The index in its page.
        index: u32,
        /// The register's index.
        expected: u32,
    },

    /// The self-check ran a loop, and the counter did not move as expected.
    SelfCheck {
        /// The event.
        place: EventPlace,
        /// The observed value, with its limits.
        problem: String,
    },

    /// Events that open but never count, although no loop can do without what they count.
    HiddenEvents {
        /// The group's leader.
        place: EventPlace,
        /// The categories that are 0.
        categories: String,
    },
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
            PermissionDenied { place, paranoid } => write!(
                f,
                "could not open {place}: permission denied; {}",
                paranoid_in_words(*paranoid)
            ),
            Forbidden { place, error } => write!(
                f,
                "could not open {place}: {error}; a container's seccomp profile or a security \
                 module forbids `perf_event_open`"
            ),
            NoSuchEvent { place } => write!(
                f,
                "could not open {place}: the kernel does not know it (ENOENT)"
            ),
            Rejected { place, error } => write!(
                f,
                "could not open {place}: the kernel rejects it ({error}); TopDown groups need \
                 Linux 5.10, or 6.2 on hybrid CPUs"
            ),
            PmuUnavailable { place, error } => write!(
                f,
                "could not open {place}: {error}; the PMU is absent, or a virtual machine on this \
                 host owns it"
            ),
            LimitReached { place, error } => {
                write!(f, "could not open {place}: {error}; a limit is reached")
            }
            Open { place, error } => write!(f, "could not open {place}: {error}"),
            PageBudget { place, mlock_kb } => write!(
                f,
                "could not map the page of {place}: the budget of locked memory is used up \
                 (kernel.perf_event_mlock_kb{})",
                value_in_words(*mlock_kb)
            ),
            Map { place, error } => {
                write!(f, "could not map the page of {place}: {error}")
            }
            Control {
                action,
                place,
                error,
            } => write!(f, "could not {action} the group of {place}: {error}"),
            NeverScheduled {
                place,
                cpu,
                nmi_watchdog,
            } => write!(
                f,
                "the counters of {place} were opened on CPU {cpu} but never ran: another user of \
                 the PMU has them{}",
                if *nmi_watchdog == Some(true) {
                    ", and the NMI watchdog is on"
                } else {
                    ""
                }
            ),
            GroupTooLarge { place, needed } => write!(
                f,
                "could not open {place}: the PMU cannot hold its group, which needs {needed} \
                 general counters; a virtual machine may have fewer than its CPU"
            ),
            TooFewCounters {
                place,
                needed,
                available,
            } => write!(
                f,
                "the counters of {place} were opened but never ran: with the NMI watchdog on, the \
                 group needs {needed} general counters, but only {available} are available"
            ),
            Multiplexed {
                place,
                enabled_ns,
                running_ns,
            } => write!(
                f,
                "the counters of {place} ran for {running_ns} ns of {enabled_ns} ns: they share \
                 the PMU with another user"
            ),
            WrongCounter {
                place,
                index,
                expected,
            } => write!(
                f,
                "{place} is on counter {index:#x} instead of {expected:#x}: this kernel does not \
                 treat it as a TopDown event"
            ),
            SelfCheck { place, problem } => {
                write!(f, "the self-check of {place} failed: {problem}")
            }
            HiddenEvents { place, categories } => write!(
                f,
                "the group of {place} counts no {categories} in a loop, as where a hypervisor \
                 hides the events"
            ),
        }?;
        match self.remedy() {
            Some(remedy) => write!(f, "; {remedy}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for OpenError {}

impl From<UnknownChoice> for OpenError {
    fn from(unknown: UnknownChoice) -> OpenError {
        OpenError::UnknownChoice(unknown)
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
            PageBudget { .. } => "run `sudo sysctl kernel.perf_event_mlock_kb=4096`",
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
            HiddenEvents { place, .. } if place.pmu.starts_with("armv") => {
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
