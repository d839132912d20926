//! How warm caches are for what counts.

/// A benchmark is cold if memory that it touches for the first time may cost more than this
/// fraction of its cycles: as if nothing else were done while a line comes.
pub(super) const COLD_FRACTION: f64 = 0.01;

/// How warm what counts is.
#[derive(Clone, Copy)]
pub(super) struct Warmth {
    /// How many iterations came before, if most of them were not executed in detail.
    pub warmed_iterations: Option<u64>,
    /// Which fraction of the cycles may have waited for memory that was touched for the first time.
    pub cold_fraction: f64,
}
