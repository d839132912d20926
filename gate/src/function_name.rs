//! Classifies functions by name.
//!
//! A routine is inlined into the loop that calls it, so without debug information its slots appear
//! under the names of criterion's loop. The code that begins and ends a window is not part of the
//! benchmark.

/// The role of a function in a benchmark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FunctionKind {
    /// criterion's loop around the routine, with everything inlined into it.
    Loop,
    /// Code that begins and ends windows: the harness and the tracer.
    Window,
    /// The code being measured.
    Measured,
}

/// criterion's loops, and those of the library that replaces it.
const LOOPS: [&str; 2] = [
    "criterion::bencher::",
    "criterion_topdown::stand_in::bencher::",
];
const WINDOWS: [&str; 3] = ["criterion::", "criterion_topdown::", "topdown_tracer::"];

impl FunctionKind {
    /// Classifies a demangled name.
    pub fn new(name: &str) -> FunctionKind {
        // `<criterion::bencher::Bencher<M>>::iter`, and `<T as
        // criterion::measurement::Measurement>::end`.
        let path = name.trim_start_matches('<');
        let is_in = |crates: &[&str]| crates.iter().any(|c| path.starts_with(c));
        if is_in(&LOOPS) {
            FunctionKind::Loop
        } else if is_in(&WINDOWS) || name.contains(" as criterion::measurement::Measurement>") {
            FunctionKind::Window
        } else {
            FunctionKind::Measured
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loops_and_windows_are_known_in_both_manglings() {
        for (name, kind) in [
            ("criterion::bencher::Bencher<M>::iter", FunctionKind::Loop),
            (
                "<criterion::bencher::Bencher<criterion_topdown::topdown::TopDown>>::iter::<u64, \
                 suite::parse::{closure#0}>",
                FunctionKind::Loop,
            ),
            (
                "criterion_topdown::stand_in::bencher::Bencher<M>::iter",
                FunctionKind::Loop,
            ),
            (
                "<criterion_topdown::topdown::TopDown as criterion::measurement::Measurement>::end",
                FunctionKind::Window,
            ),
            ("topdown_tracer::window::end", FunctionKind::Window),
            (
                "criterion_topdown::counter::model::start",
                FunctionKind::Window,
            ),
            ("suite::parse::number", FunctionKind::Measured),
            ("suite::bench::{{closure}}", FunctionKind::Measured),
            (
                "<suite::Parser as suite::Run<criterion::bencher::Bencher>>::run",
                FunctionKind::Measured,
            ),
        ] {
            assert_eq!(FunctionKind::new(name), kind, "{name}");
        }
    }
}
