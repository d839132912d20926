//! Needs of this workspace's tests that machines may lack.
//!
//! A test that cannot run here calls [`skip`] and returns. Users see a pass. CI lists in
//! `TOPDOWN_REQUIRE` what its machines have, so that the test fails there instead. If
//! `TOPDOWN_SKIPPED` names a file, each skipped test adds a line to it.
#![forbid(unsafe_code)]

use std::fmt::Display;
use std::fs::OpenOptions;
use std::io::Write;
use std::thread;

/// What a test needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// A process can trap its own system calls, as the simulated kernel of the counters' tests
    /// requires.
    Trap,
    /// A process can translate and trace its own code, as the model does.
    Model,
    /// A process can single-step a child.
    Ptrace,
    /// Threads may run on two CPUs or more.
    Cpus,
    /// Address space randomization can be turned off.
    FixedAddresses,
    /// The CPU has a table of plain counters.
    PlainCounters,
    /// A part of the kernel or of libc that is not always available; the reason names it.
    System,
    /// Rust's standard library for musl.
    Musl,
    /// Chromium.
    Browser,
    /// shellcheck.
    Shellcheck,
    /// A Python with DuckDB.
    DuckDb,
    /// A Python with PySpark.
    Spark,
}

impl Need {
    const ALL: [Need; 12] = [
        Need::Trap,
        Need::Model,
        Need::Ptrace,
        Need::Cpus,
        Need::FixedAddresses,
        Need::PlainCounters,
        Need::System,
        Need::Musl,
        Need::Browser,
        Need::Shellcheck,
        Need::DuckDb,
        Need::Spark,
    ];

    /// Returns the word used in `TOPDOWN_REQUIRE`.
    pub fn name(self) -> &'static str {
        match self {
            Need::Trap => "trap",
            Need::Model => "model",
            Need::Ptrace => "ptrace",
            Need::Cpus => "cpus",
            Need::FixedAddresses => "fixed-addresses",
            Need::PlainCounters => "plain-counters",
            Need::System => "system",
            Need::Musl => "musl",
            Need::Browser => "browser",
            Need::Shellcheck => "shellcheck",
            Need::DuckDb => "duckdb",
            Need::Spark => "spark",
        }
    }
}

/// Reports that this thread's test is skipped because it `needs` something unavailable.
///
/// # Panics
/// Panics if `TOPDOWN_REQUIRE` lists the need.
pub fn skip(needs: Need, reason: impl Display) {
    let required = std::env::var("TOPDOWN_REQUIRE").unwrap_or_default();
    assert!(
        !is_required(needs, &required),
        "TOPDOWN_REQUIRE names `{}`, but {reason}",
        needs.name()
    );
    let current = thread::current();
    let test = current.name().unwrap_or("a test");
    let line = format!("skipped {test} ({}): {reason}\n", needs.name());
    eprint!("{line}");
    if let Some(path) = std::env::var_os("TOPDOWN_SKIPPED") {
        let mut file = OpenOptions::new()
            .create(true)
            .append(true)
            .open(&path)
            .expect("TOPDOWN_SKIPPED names a file that can be written");
        // One call, so that the lines of several processes do not mix.
        file.write_all(line.as_bytes())
            .expect("the file of TOPDOWN_SKIPPED can be written");
    }
}

fn is_required(needs: Need, required: &str) -> bool {
    let words = required.split(',').map(str::trim).filter(|w| !w.is_empty());
    let mut is_required = false;
    for word in words {
        let need = Need::ALL.into_iter().find(|need| need.name() == word);
        let need =
            need.unwrap_or_else(|| panic!("TOPDOWN_REQUIRE names `{word}`, an unknown need"));
        is_required |= need == needs;
    }
    is_required
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn required_need_is_recognized_by_name() {
        assert!(is_required(Need::Model, "trap, model"));
        assert!(!is_required(Need::Browser, "trap,model"));
        assert!(!is_required(Need::Trap, ""));
    }

    #[test]
    #[should_panic(expected = "names `modle`, an unknown need")]
    fn unknown_need_is_refused() {
        is_required(Need::Model, "modle");
    }
}
