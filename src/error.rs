//! Why counters cannot be used: what happened, where, and what to do next.

use std::fmt;
use std::io;

use thiserror::Error;

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
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum OpenError {
    /// A setting has an unknown value.
    #[error(transparent)]
    UnknownChoice(#[from] UnknownChoice),

    /// The model was requested, but code cannot be traced.
    #[error("the model cannot be used: {reason}")]
    Model {
        /// Why not.
        reason: String,
    },

    /// Threads started or exited while their counters were being opened.
    #[error("the threads of this process kept changing while counters were being opened for them")]
    ThreadsChange,

    /// The threads of this process cannot be listed.
    #[error("could not list the threads of this process in {directory}: {error}")]
    Threads {
        /// Where the kernel lists them.
        directory: String,
        /// Why it could not be read.
        error: io::Error,
    },

    /// This CPU does not have the requested metric group.
    #[error("{cpu} has no metric group `{name}`; the groups are {known}")]
    UnknownGroup {
        /// The requested name.
        name: String,
        /// The cores, by their table's name.
        cpu: &'static str,
        /// The available groups.
        known: String,
    },

    /// Counters are not supported on this operating system or processor architecture.
    #[error(
        "hardware counters need Linux on x86-64 or 64-bit Arm; this is {name} on {}",
        std::env::consts::ARCH
    )]
    OperatingSystem {
        /// The operating system.
        name: &'static str,
    },

    /// The kernel knows no core PMU.
    #[error(
        "this {} has no performance counters: {directory} has no PMU of its cores{}",
        if *.hypervisor { "virtual machine" } else { "machine" }, next(self.remedy())
    )]
    NoPmu {
        /// Where the kernel lists its PMUs.
        directory: String,
        /// Whether CPUID reports a hypervisor.
        hypervisor: bool,
    },

    /// The virtual machine has a PMU, but not its CPU's slots and PERF_METRICS.
    #[error(
        "PMU `{pmu}` of this virtual machine has no event `{missing}`: the hypervisor hides the \
         TopDown counters of {cpu}; {BARE_METAL}"
    )]
    HiddenByHypervisor {
        /// The PMU.
        pmu: String,
        /// The event that is missing in sysfs.
        missing: &'static str,
        /// Vendor, family, model and name of the CPU.
        cpu: String,
    },

    /// The TopDown events of this CPU are not supported.
    #[error("PMU `{pmu}` of {cpu} is not supported: {reason}")]
    UnsupportedCpu {
        /// The PMU.
        pmu: String,
        /// Vendor, family, model and name of the CPU.
        cpu: String,
        /// What is missing or unknown.
        reason: &'static str,
    },

    /// The user's core description does not match this machine or is invalid.
    #[error(
        "could not use the telemetry specification of CARGO_TOPDOWN_ARM_SPECIFICATION: {problem}"
    )]
    DescribedCore {
        /// What is wrong with it.
        problem: String,
    },

    /// A file that describes the PMU could not be read or has unexpected contents.
    #[error("could not read {path}: {problem}; {REPORT}")]
    BadDescription {
        /// The file.
        path: String,
        /// What is wrong with it.
        problem: String,
    },

    /// On a hybrid machine, the thread may run only on efficiency cores.
    #[error(
        "this thread may run only on CPUs {allowed}, but the TopDown counters of PMU `{pmu}` are \
         on CPUs {performance}{}",
        next(self.remedy())
    )]
    EfficiencyCores {
        /// The PMU of the performance cores.
        pmu: String,
        /// Its CPUs, as a list.
        performance: String,
        /// The thread's affinity, as a list.
        allowed: String,
    },

    /// On a hybrid machine, the thread could not be pinned to the performance cores.
    #[error(
        "could not keep this thread on CPUs {performance} of PMU `{pmu}`: {error}{}",
        next(self.remedy())
    )]
    Pinning {
        /// The PMU of the performance cores.
        pmu: String,
        /// Its CPUs, as a list.
        performance: String,
        /// The error from `sched_setaffinity`.
        error: io::Error,
    },

    /// `EACCES`: the kernel does not allow this user to count.
    #[error(
        "could not open {place}: permission denied; {}{}",
        paranoid_in_words(*.paranoid), next(self.remedy())
    )]
    PermissionDenied {
        /// The event.
        place: EventPlace,
        /// `kernel.perf_event_paranoid`, if readable.
        paranoid: Option<i32>,
    },

    /// `EPERM` or `ENOSYS`: something between this process and the kernel forbids the call.
    #[error("could not open {place}: {error}; a container's seccomp profile or a security module \
        forbids `perf_event_open`{}", next(self.remedy()))]
    Forbidden {
        /// The event.
        place: EventPlace,
        /// The error from `perf_event_open`.
        error: io::Error,
    },

    /// `ENOENT`: sysfs lists the event, but the kernel does not know it.
    #[error("could not open {place}: the kernel does not know it (ENOENT){}", next(self.remedy()))]
    NoSuchEvent {
        /// The event.
        place: EventPlace,
    },

    /// `EINVAL` or `E2BIG`: the kernel rejects the event in this form or in this group.
    #[error("could not open {place}: the kernel rejects it ({error}); TopDown groups need Linux \
             5.10, or 6.2 on hybrid CPUs{}", next(self.remedy()))]
    Rejected {
        /// The event.
        place: EventPlace,
        /// The error from `perf_event_open`.
        error: io::Error,
    },

    /// `ENODEV` or `EOPNOTSUPP`: the event has no PMU, or a guest owns it.
    #[error("could not open {place}: {error}; the PMU is absent, or a virtual machine on this host \
        owns it{}", next(self.remedy()))]
    PmuUnavailable {
        /// The event.
        place: EventPlace,
        /// The error from `perf_event_open`.
        error: io::Error,
    },

    /// `EMFILE`, `ENFILE` or `ENOSPC`: a limit on files or counters was reached.
    #[error("could not open {place}: {error}; a limit is reached{}", next(self.remedy()))]
    LimitReached {
        /// The event.
        place: EventPlace,
        /// The error from `perf_event_open`.
        error: io::Error,
    },

    /// Any other error from `perf_event_open`.
    #[error("could not open {place}: {error}; {REPORT}")]
    Open {
        /// The event.
        place: EventPlace,
        /// The error from `perf_event_open`.
        error: io::Error,
    },

    /// `EPERM` from `mmap`: this user's budget of pinned pages is used up.
    #[error(
        "could not map the page of {place}: the budget of locked memory is used up \
         (kernel.perf_event_mlock_kb{}){}",
        value_in_words(*.mlock_kb), next(self.remedy())
    )]
    PageBudget {
        /// The event.
        place: EventPlace,
        /// `kernel.perf_event_mlock_kb`, if readable.
        mlock_kb: Option<i32>,
    },

    /// Any other error from `mmap`.
    #[error("could not map the page of {place}: {error}; {REPORT}")]
    Map {
        /// The event.
        place: EventPlace,
        /// The error from `mmap`.
        error: io::Error,
    },

    /// An `ioctl` or a `read` on the group failed.
    #[error("could not {action} the group of {place}: {error}; {REPORT}")]
    Control {
        /// The attempted action.
        action: &'static str,
        /// The group's leader.
        place: EventPlace,
        /// The kernel's error.
        error: io::Error,
    },

    /// The group was opened but is not on the PMU: something else uses the counters.
    #[error(
        "the counters of {place} were opened on CPU {cpu} but never ran: another user of the PMU \
         has them{}{}",
        if *.nmi_watchdog == Some(true) { ", and the NMI watchdog is on" } else { "" },
        next(self.remedy())
    )]
    NeverScheduled {
        /// The group's leader.
        place: EventPlace,
        /// The CPU that the thread ran on.
        cpu: u32,
        /// Whether `kernel.nmi_watchdog` is on, if readable.
        nmi_watchdog: Option<bool>,
    },

    /// `EINVAL` for a member of a group of plain counters: the PMU cannot hold the whole group.
    #[error(
        "could not open {place}: the PMU cannot hold its group, which needs {needed} general \
         counters; a virtual machine may have fewer than its CPU{}",
        next(self.remedy())
    )]
    GroupTooLarge {
        /// The first event that did not fit.
        place: EventPlace,
        /// General counters the group needs.
        needed: u32,
    },

    /// The NMI watchdog holds a counter that the group needs.
    #[error(
        "the counters of {place} were opened but never ran: with the NMI watchdog on, the group \
         needs {needed} general counters, but only {available} are available{}",
        next(self.remedy())
    )]
    TooFewCounters {
        /// The group's leader.
        place: EventPlace,
        /// General counters the group needs while the watchdog is on.
        needed: u32,
        /// General counters left to a thread on this CPU.
        available: u32,
    },

    /// The group was on the PMU only part of the time. Scaling its counts would be guessing.
    #[error(
        "the counters of {place} ran for {running_ns} ns of {enabled_ns} ns: they share the PMU \
         with another user{}",
        next(self.remedy())
    )]
    Multiplexed {
        /// The group's leader.
        place: EventPlace,
        /// How long the group was enabled.
        enabled_ns: u64,
        /// How long it was on the PMU.
        running_ns: u64,
    },

    /// The kernel put the event on a register other than the one TopDown needs.
    #[error(
        "{place} is on counter {index:#x} instead of {expected:#x}: this kernel does not treat it \
         as a TopDown event{}",
        next(self.remedy())
    )]
    WrongCounter {
        /// The event.
        place: EventPlace,
        /// The index in its page.
        index: u32,
        /// The register's index.
        expected: u32,
    },

    /// The self-check ran a loop, and the counter did not move as expected.
    #[error("the self-check of {place} failed: {problem}{}", next(self.remedy()))]
    SelfCheck {
        /// The event.
        place: EventPlace,
        /// The observed value, with its limits.
        problem: String,
    },

    /// Events that open but never count, although no loop can do without what they count.
    #[error(
        "the group of {place} counts no {categories} in a loop, as where a hypervisor hides the \
         events{}",
        next(self.remedy())
    )]
    HiddenEvents {
        /// The group's leader.
        place: EventPlace,
        /// The categories that are 0.
        categories: String,
    },
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
            OpenError::UnsupportedCpu { .. } => "this CPU's counters are not supported",
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
            HiddenByHypervisor { .. } => BARE_METAL,
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
            HiddenEvents { .. } => BARE_METAL,
        })
    }
}

fn next(remedy: Option<&'static str>) -> String {
    remedy
        .map(|remedy| format!("; {remedy}"))
        .unwrap_or_default()
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
