//! Warmth of the caches for the iterations that count.

/// A benchmark is cold if memory that it touches for the first time may cost more than this
/// fraction of its cycles: as if nothing else were done while a line comes.
pub(super) const COLD_FRACTION: f64 = 0.01;

/// Warmth of the iterations that count.
#[derive(Clone, Copy)]
pub(super) struct Warmth {
    /// Number of earlier iterations, if most of them were not executed in detail.
    pub warmed_iterations: Option<u64>,
    /// Which fraction of the cycles may have waited for memory that was touched for the first time.
    pub cold_fraction: f64,
}
