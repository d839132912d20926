//! Detection of an NMI watchdog that holds a counter.
//!
//! Linux has two kinds of it. One counts the cycles of every CPU; the other, since Linux 6.5, lets
//! CPUs watch each other (`CONFIG_HARDLOCKUP_DETECTOR_BUDDY`). The sysctl is 1 for both.

use super::opener::Opener;
use super::self_check;
use super::syscalls::Event;
use super::system::CpuIdentity;
use crate::error::OpenError;

/// More than any PMU has, and no more than a group read has room for.
const MAX_MEMBERS: usize = 12;

/// The codes of cycles and branches: any general counter can count these. Linux,
/// `intel_perfmon_event_map` and `amd_zen4_perfmon_event_map`.
const OF_INTEL: [u64; 2] = [0x3c, 0xc4];
const OF_AMD: [u64; 2] = [0x76, 0xc2];

/// Returns whether the watchdog holds a counter of this CPU; `None` if this user cannot find out.
/// None of this thread's groups may be running.
///
/// The kernel accepts a group that fits an unused PMU. So a group of cycles and of as many branches
/// as it accepts needs all counters, and runs only if none is taken.
pub(super) fn holds_a_counter(opener: &Opener<'_>) -> Option<bool> {
    if opener.nmi_watchdog() != Some(true) {
        return Some(false);
    }
    let is_amd = CpuIdentity::read(opener.paths).vendor == "AuthenticAMD";
    let [cycles, branches] = if is_amd { OF_AMD } else { OF_INTEL };
    let leader = opener.leader("cycles", cycles).ok()?;
    let _members: Vec<Event> = (0..MAX_MEMBERS)
        .map_while(|_| opener.member("branches", branches, &leader).ok())
        .collect();
    leader.enable().ok()?;
    match self_check::group_times(opener, "cycles", &leader) {
        Ok(_) => Some(false),
        Err(OpenError::NeverScheduled { .. } | OpenError::Multiplexed { .. }) => Some(true),
        Err(_) => None,
    }
}

/// Returns why a closed group did not run, without naming a watchdog that holds no counter.
pub(super) fn with_verified_watchdog(opener: &Opener<'_>, error: OpenError) -> OpenError {
    let cpu = super::syscalls::current_cpu();
    let location = match &error {
        OpenError::NeverScheduled {
            location,
            nmi_watchdog: Some(true),
            ..
        }
        | OpenError::TooFewCounters { location, .. } => location.clone(),
        _ => return error,
    };
    match holds_a_counter(opener) {
        Some(false) => OpenError::NeverScheduled {
            location,
            cpu,
            nmi_watchdog: Some(false),
        },
        _ => error,
    }
}
