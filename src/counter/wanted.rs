//! What the counters shall count: level 1, or a metric group in its place.

use super::Counters;
use crate::error::OpenError;

/// The environment variable that names the metric group to count; see
/// [`CpuTable::groups`](crate::cpu::CpuTable::groups).
pub const GROUP_VARIABLE: &str = "CARGO_TOPDOWN_GROUP";

/// What the counters shall count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// Level 1, and level 2 where it fits.
    Categories(Counters),
    /// The metric group of this name.
    Group(String),
}

impl Wanted {
    /// What [`GROUP_VARIABLE`] says; where it is not set, what
    /// [`COUNTERS_VARIABLE`](super::COUNTERS_VARIABLE) does.
    ///
    /// # Errors
    /// As [`Counters::from_environment`].
    pub fn from_environment() -> Result<Wanted, OpenError> {
        match std::env::var(GROUP_VARIABLE) {
            Ok(name) if !name.is_empty() => Ok(Wanted::Group(name)),
            _ => Ok(Wanted::Categories(Counters::from_environment()?)),
        }
    }

    /// Which kind of counters it takes: a group is made of plain ones.
    pub(super) fn counters(&self) -> Counters {
        match self {
            Wanted::Categories(counters) => *counters,
            Wanted::Group(_) => Counters::Exact,
        }
    }
}
