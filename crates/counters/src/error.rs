//! Reasons for unusable counters, with the known facts of each.

mod message;

use std::io;

use topdown_run::setting::UnknownChoice;

/// An event on a PMU: the place that an [`OpenError`] names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventLocation {
    /// The event's name in sysfs or in the vendor's documentation.
    pub event: &'static str,
    /// The PMU's directory in sysfs, such as `cpu` or `cpu_core`.
    pub pmu: String,
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
        /// `model` or `sampling`.
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
        location: EventLocation,
        /// `kernel.perf_event_paranoid`, if readable.
        paranoid: Option<i32>,
    },

    /// `EPERM` or `ENOSYS`: something between this process and the kernel forbids the call.
    Forbidden {
        /// The event.
        location: EventLocation,
        /// The error from `perf_event_open`.
        error: io::Error,
    },

    /// `ENOENT`: sysfs lists the event, but the kernel does not know it.
    NoSuchEvent {
        /// The event.
        location: EventLocation,
    },

    /// `EINVAL` or `E2BIG`: the kernel rejects the event in this form or in this group.
    Rejected {
        /// The event.
        location: EventLocation,
        /// The error from `perf_event_open`.
        error: io::Error,
    },

    /// `ENODEV` or `EOPNOTSUPP`: the event has no PMU, or a guest owns it.
    PmuUnavailable {
        /// The event.
        location: EventLocation,
        /// The error from `perf_event_open`.
        error: io::Error,
    },

    /// `EMFILE`, `ENFILE` or `ENOSPC`: a limit on files or counters was reached.
    LimitReached {
        /// The event.
        location: EventLocation,
        /// The error from `perf_event_open`.
        error: io::Error,
    },

    /// Any other error from `perf_event_open`.
    Open {
        /// The event.
        location: EventLocation,
        /// The error from `perf_event_open`.
        error: io::Error,
    },

    /// `EPERM` from `mmap`: this user's limit of locked memory is reached.
    LockedMemory {
        /// The event.
        location: EventLocation,
        /// `kernel.perf_event_mlock_kb`, if readable.
        mlock_kb: Option<i32>,
    },

    /// Any other error from `mmap`.
    Map {
        /// The event.
        location: EventLocation,
        /// The error from `mmap`.
        error: io::Error,
    },

    /// An `ioctl` or a `read` on the group failed.
    Control {
        /// The attempted action.
        action: &'static str,
        /// The group's leader.
        location: EventLocation,
        /// The kernel's error.
        error: io::Error,
    },

    /// The group was opened but is not on the PMU: something else uses the counters.
    NeverScheduled {
        /// The group's leader.
        location: EventLocation,
        /// The CPU that the thread ran on.
        cpu: u32,
        /// Whether `kernel.nmi_watchdog` is on, if readable.
        nmi_watchdog: Option<bool>,
    },

    /// `EINVAL` for a member of a group of plain counters: the PMU cannot hold the whole group.
    GroupTooLarge {
        /// The first event that did not fit.
        location: EventLocation,
        /// General counters the group needs.
        needed: u32,
    },

    /// The NMI watchdog holds a counter that the group needs.
    TooFewCounters {
        /// The group's leader.
        location: EventLocation,
        /// General counters the group needs while the watchdog is on.
        needed: u32,
        /// General counters left to a thread on this CPU.
        available: u32,
    },

    /// The group was on the PMU only part of the time. Scaling its counts would be guessing.
    Multiplexed {
        /// The group's leader.
        location: EventLocation,
        /// Nanoseconds for which the group was enabled.
        enabled_ns: u64,
        /// Nanoseconds for which it was on the PMU.
        running_ns: u64,
    },

    /// The kernel put the event on a register other than the one TopDown needs.
    WrongCounter {
        /// The event.
        location: EventLocation,
        /// The index in its page.
        index: u32,
        /// The register's index.
        expected: u32,
    },

    /// The self-check ran a loop, and the counter did not move as expected.
    SelfCheck {
        /// The event.
        location: EventLocation,
        /// The observed value, with its limits.
        problem: String,
    },

    /// Events that open but never count, although every loop has some.
    HiddenEvents {
        /// The group's leader.
        location: EventLocation,
        /// The categories that are 0.
        categories: String,
    },
}

impl std::error::Error for OpenError {}

impl From<UnknownChoice> for OpenError {
    fn from(unknown: UnknownChoice) -> OpenError {
        OpenError::UnknownChoice(unknown)
    }
}
