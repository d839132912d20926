//! Warmth of the caches for the iterations that count.

/// A benchmark is cold if memory that it touches for the first time may cost more than this
/// fraction of its cycles, if nothing overlaps with the arrival of a line.
pub(super) const COLD_FRACTION: f64 = 0.01;

/// Warmth of the iterations that count.
#[derive(Clone, Copy)]
pub(super) struct Warmth {
    /// Number of earlier iterations, if most of them were not executed in detail.
    pub warmed_iterations: Option<u64>,
    /// The fraction of the cycles that may have waited for memory touched for the first time.
    pub cold_fraction: f64,
}
