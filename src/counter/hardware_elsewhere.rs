//! The hardware source on systems without `perf_event_open`: the same names, and an error at open.

use std::convert::Infallible;

use super::survey::Survey;
use super::{Provenance, Reading, Source};
use crate::cpu::CpuTable;
use crate::error::OpenError;
use crate::sample::Sample;

/// The CPU's counters, which cannot be reached on this operating system.
#[derive(Debug)]
pub struct Hardware(Infallible);

impl Hardware {
    /// # Errors
    /// Always [`OpenError::OperatingSystem`].
    pub fn open() -> Result<Hardware, OpenError> {
        Err(unsupported())
    }
}

/// A survey of a machine that has nothing to look at.
pub fn survey() -> Survey {
    Survey {
        pmus: Vec::new(),
        cpu: std::env::consts::ARCH.to_owned(),
        perf_event_paranoid: None,
        nmi_watchdog: None,
        smt_active: None,
        hypervisor: false,
        obstacles: Vec::new(),
        opened: Err(unsupported()),
    }
}

/// # Errors
/// Always [`OpenError::OperatingSystem`].
pub fn table(_core_type: Option<&str>) -> Result<&'static CpuTable, OpenError> {
    Err(unsupported())
}

fn unsupported() -> OpenError {
    OpenError::OperatingSystem {
        name: std::env::consts::OS,
    }
}

impl Source for Hardware {
    fn provenance(&self) -> &Provenance {
        match self.0 {}
    }

    fn start(&self) -> Reading {
        match self.0 {}
    }

    fn end(&self, _: &Reading) -> Sample {
        match self.0 {}
    }
}
