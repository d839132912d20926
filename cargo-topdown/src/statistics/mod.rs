//! The arithmetic of the gate.
//!
//! Takes numbers and returns numbers: it knows no files, benchmarks or policies. What the numbers
//! mean for a benchmark is decided in `verdict`. There is no random number in here, and every sum
//! runs in the order of its arguments, so results repeat bit for bit.

pub mod launch;
