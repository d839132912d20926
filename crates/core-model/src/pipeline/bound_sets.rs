//! Sizes of the tables of bound ports.

/// Number of ports that are bound: those with the lowest numbers.
pub(super) const BOUND_PORTS: usize = 5;
/// Number of sets of them.
pub(super) const SETS: usize = 1 << BOUND_PORTS;
/// Number of cycles ahead that are kept.
pub(super) const HORIZON: usize = 1 << 14;
