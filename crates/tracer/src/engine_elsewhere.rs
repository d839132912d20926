//! A substitute for the engine on unsupported platforms: it cannot be opened.

use std::convert::Infallible;

use crate::config::Config;
use crate::consumer::{Consumer, End};
use crate::error::{AttachError, OpenError, TraceError};

pub(crate) struct Engine<C> {
    never: Infallible,
    consumer: C,
}

impl<C: Consumer> Engine<C> {
    pub(crate) fn open(config: Config, _consumer: C) -> Result<Engine<C>, OpenError> {
        // What is wrong everywhere is said everywhere.
        config.check()?;
        Err(OpenError::Platform {
            architecture: std::env::consts::ARCH,
            system: std::env::consts::OS,
        })
    }

    pub(crate) fn attach(&self, _all_threads: bool) -> Result<(), AttachError> {
        match self.never {}
    }

    pub(crate) fn detach(&self) -> Result<End, TraceError> {
        match self.never {}
    }

    pub(crate) fn halt(&self) -> Result<End, TraceError> {
        match self.never {}
    }

    pub(crate) fn is_attached(&self) -> bool {
        match self.never {}
    }

    pub(crate) fn has_started_threads(&self) -> bool {
        match self.never {}
    }

    pub(crate) fn is_half_full(&self) -> bool {
        match self.never {}
    }

    pub(crate) fn forget_translations(&self) -> bool {
        match self.never {}
    }

    pub(crate) fn consumer(&self) -> *mut C {
        let _ = &self.consumer;
        match self.never {}
    }
}

pub(crate) fn idle_ns() -> u64 {
    0
}

pub(crate) fn release_threads() {}

pub(crate) fn hold_at_port(_port: u16) {}

pub(crate) fn has_companions() -> bool {
    false
}
