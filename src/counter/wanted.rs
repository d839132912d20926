//! What the counters should count: level 1, or a metric group in its place.

use super::Counters;
use crate::error::OpenError;

/// The environment variable that names the metric group to count; see
/// [`CpuTable::groups`](crate::cpu::CpuTable::groups).
pub const GROUP_VARIABLE: &str = "CARGO_TOPDOWN_GROUP";

/// What the counters should count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// Level 1, and level 2 if it fits.
    Categories(Counters),
    /// The metric group of this name.
    Group(String),
}

impl Wanted {
    /// Reads [`GROUP_VARIABLE`], or [`COUNTERS_VARIABLE`](super::COUNTERS_VARIABLE) if that is not
    /// set.
    ///
    /// # Errors
    /// Same as [`Counters::from_environment`].
    pub fn from_environment() -> Result<Wanted, OpenError> {
        match std::env::var(GROUP_VARIABLE) {
            Ok(name) if !name.is_empty() => Ok(Wanted::Group(name)),
            _ => Ok(Wanted::Categories(Counters::from_environment()?)),
        }
    }

    /// Returns the kind of counters it takes: a group consists of plain ones.
    pub(super) fn counters(&self) -> Counters {
        match self {
            Wanted::Categories(counters) => *counters,
            Wanted::Group(_) => Counters::Exact,
        }
    }
}
