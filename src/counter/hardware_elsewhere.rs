//! The hardware source on systems without `perf_event_open`: the same names, and an error at open.

use std::convert::Infallible;

use super::{Provenance, Reading, Source};
use crate::error::OpenError;
use crate::sample::Sample;

/// The CPU's counters, which cannot be reached on this operating system.
#[derive(Debug)]
pub struct Hardware(Infallible);

impl Hardware {
    /// # Errors
    /// Always [`OpenError::OperatingSystem`].
    pub fn open() -> Result<Hardware, OpenError> {
        Err(OpenError::OperatingSystem {
            name: std::env::consts::OS,
        })
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
