//! Opens the events of one PMU, and turns every refusal into an error that says where it happened.

use std::io;

use super::page::Page;
use super::syscalls::{Counted, Event, EventCode, Recorded};
use super::system::{CorePmu, SystemPaths};
use crate::error::{EventLocation, OpenError};

/// A PMU whose events are opened.
#[derive(Clone, Copy, Debug)]
pub(super) struct Opener<'a> {
    pub paths: &'a SystemPaths,
    pub pmu: &'a str,
    pub pmu_type: u32,
    pub counted: Counted,
}

impl<'a> Opener<'a> {
    /// Opens events of `pmu`.
    pub fn of(paths: &'a SystemPaths, pmu: &'a CorePmu, counted: Counted) -> Opener<'a> {
        Opener {
            paths,
            pmu: &pmu.name,
            pmu_type: pmu.type_number,
            counted,
        }
    }

    pub fn location(&self, event: &'static str) -> EventLocation {
        EventLocation {
            event,
            pmu: self.pmu.to_owned(),
        }
    }

    /// Opens a group's leader, disabled.
    pub fn leader(&self, name: &'static str, config: u64) -> Result<Event, OpenError> {
        Event::open_leader(self.code(config), self.counted)
            .map_err(|error| self.refusal(name, error))
    }

    /// Opens the slots event as leader, such that RDPMC of PERF_METRICS clears both registers.
    pub fn clearing_leader(&self, name: &'static str, config: u64) -> Result<Event, OpenError> {
        let code = EventCode {
            metrics_clear: true,
            ..self.code(config)
        };
        Event::open_leader(code, self.counted).map_err(|error| self.refusal(name, error))
    }

    pub fn member(
        &self,
        name: &'static str,
        config: u64,
        leader: &Event,
    ) -> Result<Event, OpenError> {
        Event::open_member(self.code(config), self.counted, leader)
            .map_err(|error| self.refusal(name, error))
    }

    /// Opens an event that records a PMU sample after each `period` counts, or that only counts if
    /// it is 0; as leader if there is none.
    pub fn hitting(
        &self,
        name: &'static str,
        config: u64,
        period: u64,
        recorded: Recorded,
        leader: Option<&Event>,
    ) -> Result<Event, OpenError> {
        let code = EventCode {
            period,
            recorded,
            ..self.code(config)
        };
        let opened = match leader {
            None => Event::open_leader(code, self.counted),
            Some(leader) => Event::open_member(code, self.counted, leader),
        };
        opened.map_err(|error| self.refusal(name, error))
    }

    /// Opens members, in this order.
    pub fn members(
        &self,
        events: &[(&'static str, u64)],
        leader: &Event,
    ) -> Result<Vec<Event>, OpenError> {
        let mut members = Vec::new();
        for &(name, config) in events {
            members.push(self.member(name, config, leader)?);
        }
        Ok(members)
    }

    pub fn map(&self, name: &'static str, event: &Event) -> Result<Page, OpenError> {
        Page::map(event.descriptor()).map_err(|error| self.unmappable(name, error))
    }

    pub fn unmappable(&self, name: &'static str, error: io::Error) -> OpenError {
        match error.raw_os_error() {
            Some(libc::EPERM) => OpenError::LockedMemory {
                location: self.location(name),
                mlock_kb: self.paths.perf_event_mlock_kb(),
            },
            _ => OpenError::Map {
                location: self.location(name),
                error,
            },
        }
    }

    /// Returns a function that turns a failure on an open group into an error.
    pub fn control(
        &self,
        leader: &'static str,
        action: &'static str,
    ) -> impl Fn(io::Error) -> OpenError {
        let location = self.location(leader);
        move |error| OpenError::Control {
            action,
            location: location.clone(),
            error,
        }
    }

    pub fn never_scheduled(&self, leader: &'static str) -> OpenError {
        OpenError::NeverScheduled {
            location: self.location(leader),
            cpu: super::syscalls::current_cpu(),
            nmi_watchdog: self.nmi_watchdog(),
        }
    }

    /// Returns whether the NMI watchdog may hold a counter. On Arm it counts nothing.
    pub fn nmi_watchdog(&self) -> Option<bool> {
        if self.pmu.starts_with("armv") {
            None
        } else {
            self.paths.nmi_watchdog()
        }
    }

    fn code(&self, config: u64) -> EventCode {
        EventCode {
            pmu_type: self.pmu_type,
            config,
            // Also where the kernel lets user code read none: the counter is then 64 bits wide,
            // where the core has such, and does not overflow in a long window.
            user_access: self.paths.user_access_on_arm().is_some(),
            metrics_clear: false,
            period: 0,
            recorded: Recorded::Counts,
        }
    }

    fn refusal(&self, event: &'static str, error: io::Error) -> OpenError {
        let location = self.location(event);
        match error.raw_os_error() {
            Some(libc::EACCES) => OpenError::PermissionDenied {
                location,
                paranoid: self.paths.perf_event_paranoid(),
            },
            Some(libc::EPERM | libc::ENOSYS) => OpenError::Forbidden { location, error },
            Some(libc::ENOENT) => OpenError::NoSuchEvent { location },
            Some(libc::EINVAL | libc::E2BIG) => OpenError::Rejected { location, error },
            Some(libc::ENODEV | libc::EOPNOTSUPP | libc::ENXIO) => {
                OpenError::PmuUnavailable { location, error }
            }
            Some(libc::EMFILE | libc::ENFILE | libc::ENOSPC) => {
                OpenError::LimitReached { location, error }
            }
            _ => OpenError::Open { location, error },
        }
    }
}
