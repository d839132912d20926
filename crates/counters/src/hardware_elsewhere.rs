//! The hardware source on systems without `perf_event_open`: the same names, and an error at open.

use std::convert::Infallible;

use super::command_samples::CommandSamples;
use super::{Reading, Source, Wanted};
use crate::cpu::{CpuTable, LatencyTable};
use crate::error::OpenError;
use topdown_run::provenance::Provenance;
use topdown_run::sample::Sample;

/// The CPU's counters, which cannot be reached on this operating system.
#[derive(Debug)]
pub struct Hardware(Infallible);

impl Hardware {
    /// # Errors
    /// Always returns [`OpenError::OperatingSystem`].
    pub fn open() -> Result<Hardware, OpenError> {
        Err(unsupported())
    }

    /// # Errors
    /// Always returns [`OpenError::OperatingSystem`].
    pub fn open_own(_: Wanted) -> Result<Hardware, OpenError> {
        Err(unsupported())
    }

    /// Never called.
    pub fn counts_of(&self, _: impl FnOnce()) -> Vec<(&'static str, u64)> {
        match self.0 {}
    }
}

/// # Errors
/// Always returns [`OpenError::OperatingSystem`].
pub fn open() -> Result<Box<dyn Source>, OpenError> {
    Err(unsupported())
}

/// A command that is sampled.
#[derive(Debug)]
pub struct Following(Infallible);

impl Following {
    /// # Errors
    /// Never called.
    pub fn finish(self) -> Result<CommandSamples, OpenError> {
        match self.0 {}
    }
}

/// Counting commands, and surveying a machine.
pub mod commands {
    use std::convert::Infallible;
    use std::time::Duration;

    use super::{Following, unsupported};
    use crate::error::OpenError;
    use crate::survey::Survey;
    use topdown_run::provenance::Provenance;
    use topdown_run::sample::Sample;
    use topdown_run::setting::Counters;

    /// The counters of a command, which cannot be reached on this operating system.
    #[derive(Debug)]
    pub struct TreeCounters(Infallible);

    /// A command that is counted.
    #[derive(Debug)]
    pub struct CountedTree(Infallible);

    impl TreeCounters {
        /// # Errors
        /// Always returns [`OpenError::OperatingSystem`].
        pub fn prepare(_: Counters) -> Result<TreeCounters, OpenError> {
            Err(unsupported())
        }

        /// Returns what the numbers are.
        pub fn provenance(&self) -> &Provenance {
            match self.0 {}
        }

        /// # Errors
        /// Never called.
        pub fn check(&self) -> Result<(), OpenError> {
            match self.0 {}
        }

        /// # Errors
        /// Never called.
        pub fn follow(&self, _: u32, _: u64) -> Result<Following, OpenError> {
            match self.0 {}
        }

        /// # Errors
        /// Never called.
        pub fn attach(&self, _: u32) -> Result<CountedTree, OpenError> {
            match self.0 {}
        }
    }

    impl CountedTree {
        /// # Errors
        /// Never called.
        pub fn sample(&self, _: Duration) -> Result<Sample, OpenError> {
            match self.0 {}
        }
    }

    /// Returns the survey of a machine without counters.
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
}

/// # Errors
/// Always returns [`OpenError::OperatingSystem`].
pub fn table(_core_type: Option<&str>) -> Result<&'static CpuTable, OpenError> {
    Err(unsupported())
}

/// Returns `None`: no core is counted here.
pub fn latencies(_core_type: Option<&str>) -> Option<&'static LatencyTable> {
    None
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

/// Does nothing: no core is counted here.
pub fn give_core(_table: &'static CpuTable) {}
