//! Classifies functions by name: their role in a benchmark, and whose code they are.
//!
//! A routine is inlined into the loop that calls it, so without debug information its slots appear
//! under the names of criterion's loop. The code that begins and ends a window is not part of the
//! benchmark.

use topdown_run::run_file::BenchmarkId;

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
const WINDOWS: [&str; 6] = [
    "criterion::",
    "criterion_topdown::",
    "topdown_counters::",
    "topdown_model::",
    "topdown_run::",
    "topdown_tracer::",
];

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

/// The owner of a function's code, from the project's own to the toolchain's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Origin {
    /// The benchmark's package.
    Package,
    /// The bench target.
    Target,
    /// Another crate: of the workspace, or a dependency.
    OtherCrate,
    /// The standard library, an allocator or the C library.
    Toolchain,
}

/// Crates of the standard library, and those that it includes.
const TOOLCHAIN: [&str; 6] = [
    "core",
    "alloc",
    "std",
    "compiler_builtins",
    "hashbrown",
    "std_detect",
];
/// Functions of the C library and of allocators that are linked into executables.
const OF_C: [&str; 9] = [
    "memcpy", "memmove", "memset", "memcmp", "bcmp", "malloc", "calloc", "realloc", "free",
];

impl Origin {
    /// Classifies a demangled name of the executable of the benchmark `id`.
    pub fn new(name: &str, id: &BenchmarkId) -> Origin {
        let is_crate = |crate_name: &str, package: &str| crate_name == package.replace('-', "_");
        match crate_of(name) {
            _ if Origin::is_of_toolchain(name) => Origin::Toolchain,
            Some(crate_name) if is_crate(crate_name, &id.package) => Origin::Package,
            Some(crate_name) if is_crate(crate_name, &id.target) => Origin::Target,
            Some(_) | None => Origin::OtherCrate,
        }
    }

    /// Returns whether a demangled name is of the toolchain.
    pub fn is_of_toolchain(name: &str) -> bool {
        match crate_of(name) {
            Some(crate_name) => TOOLCHAIN.contains(&crate_name),
            None => OF_C.contains(&name) || name.starts_with("__r"),
        }
    }
}

/// Returns the crate of a demangled name: that of the type whose method it is, or of the trait if
/// the type has none.
fn crate_of(name: &str) -> Option<&str> {
    let first = |path| {
        let path: &str = path;
        let path = path.trim_start_matches(|c: char| !c.is_alphanumeric() && c != '_');
        let path = path.trim_start_matches("mut ").trim_start_matches("dyn ");
        let end = path.find(|c: char| !c.is_alphanumeric() && c != '_')?;
        path[end..].starts_with("::").then(|| &path[..end])
    };
    first(name).or_else(|| first(name.split_once(" as ")?.1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::id;

    #[test]
    fn function_belongs_to_crate_of_its_type_or_trait() {
        let mut id = id("b");
        (id.package, id.target) = ("my-suite".to_owned(), "speed".to_owned());
        for (name, origin) in [
            ("my_suite::parse::number", Origin::Package),
            (
                "<&mut my_suite::Tree<T> as core::fmt::Debug>::fmt",
                Origin::Package,
            ),
            ("<[T] as my_suite::Sum>::sum", Origin::Package),
            (
                "<T as alloc::slice::hack::ConvertVec>::to_vec",
                Origin::Toolchain,
            ),
            ("speed::build::{{closure}}", Origin::Target),
            ("kdtree::KdTree<A>::add", Origin::OtherCrate),
            ("alloc::raw_vec::finish_grow", Origin::Toolchain),
            (
                "core::slice::sort::stable::drift::sort::<my_suite::T>",
                Origin::Toolchain,
            ),
            ("<alloc::vec::Vec<my_suite::T>>::push", Origin::Toolchain),
            ("memcpy", Origin::Toolchain),
            ("__rust_alloc", Origin::Toolchain),
            ("ZSTD_compress", Origin::OtherCrate),
        ] {
            assert_eq!(Origin::new(name, &id), origin, "{name}");
        }
    }

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
            ("topdown_model::source::Model::start", FunctionKind::Window),
            (
                "<topdown_counters::time::Time as topdown_counters::source::Source>::end",
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
