//! Events and metric groups that `cargo xtask cpus` makes from the files of `crates/counters/cpus`.
//!
//! The modules of a family have one module per table: the events of each form of level 1, those
//! that Rust code names, and the groups.

#[allow(unused_imports)]
#[rustfmt::skip]
pub mod amd_zen;
#[allow(unused_imports)]
#[rustfmt::skip]
pub mod arm_neoverse;
#[allow(unused_imports)]
#[rustfmt::skip]
pub mod intel_atom;
#[allow(unused_imports)]
#[rustfmt::skip]
pub mod intel_performance;

/// What the modules need.
mod prelude {
    pub(crate) use crate::cpu::metric_formula::SameLine;
    pub use crate::cpu::metric_group::{Metric, MetricExample, MetricGroup, Node, Subject};
    pub use crate::cpu::{Counter, Event};
    pub use topdown_run::category::{Category, Part};

    /// As in AMD's formulas: 0 if nothing is divided by nothing.
    pub fn d_ratio(numerator: f64, denominator: f64) -> f64 {
        match denominator {
            0.0 => 0.0,
            _ => numerator / denominator,
        }
    }
}
