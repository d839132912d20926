//! Requested counts: level 1, or a metric group in its place.

use crate::error::OpenError;
use topdown_run::environment;
use topdown_run::setting::{Counters, Setting};

/// The requested counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// Level 1, and level 2 if it fits.
    Categories(Counters),
    /// The metric group of this name.
    Group(String),
}

impl Wanted {
    /// Reads [`environment::GROUP`], or [`environment::COUNTERS`] if that is not set.
    ///
    /// # Errors
    /// Returns an error if the environment requests unknown counters.
    pub fn from_environment() -> Result<Wanted, OpenError> {
        match std::env::var(environment::GROUP) {
            Ok(name) if !name.is_empty() => Ok(Wanted::Group(name)),
            _ => Ok(Wanted::Categories(Counters::from_environment()?)),
        }
    }
}
