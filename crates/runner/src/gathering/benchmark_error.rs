//! Errors that exclude a benchmark from the run although it ran.

use thiserror::Error;
use topdown_run::provenance::Provenance;
use topdown_run::run_file::BenchmarkId;

/// Why a benchmark that ran is not part of the run.
#[derive(Debug, Error, PartialEq)]
pub enum BenchmarkError {
    /// It ran only in some launches.
    #[error("benchmark `{id}` ran in {ran} of {launches} launches; it dropped out of {missing}")]
    DroppedOut {
        /// The benchmark.
        id: BenchmarkId,
        /// In how many launches it ran.
        ran: usize,
        /// Number of launches.
        launches: u32,
        /// `launch 2`, or `launches 2 and 3`.
        missing: String,
    },
    /// Several benchmarks of its target have this name.
    #[error(
        "more than one benchmark has the name `{id}`; give each a name of its own, or leave them \
         out: `--leave-out PATTERN`"
    )]
    SameName {
        /// The name that they share.
        id: BenchmarkId,
    },
    /// Every launch has equally many benchmarks that no other has: probably the same ones, renamed.
    #[error(
        "benchmark `{id}` has another name in every launch; give it one that stays the same, or \
         leave it out: `--leave-out PATTERN`"
    )]
    Renamed {
        /// The name in the first launch.
        id: BenchmarkId,
    },
    /// Its launches have different sources.
    #[error(
        "benchmark `{id}` was measured by {first} in launch 1 and by {other} in launch {launch}; \
         numbers of different sources are never mixed"
    )]
    Mixed {
        /// The benchmark.
        id: BenchmarkId,
        /// The source in the first launch.
        first: String,
        /// The source in the other launch.
        other: String,
        /// The other launch, from 1.
        launch: u32,
    },
    /// No launch had enough usable samples.
    #[error(
        "benchmark `{id}` has no launch with {least} usable samples ({doubts}); measure for \
         longer, or pin the bench to one CPU"
    )]
    NothingUsable {
        /// The benchmark.
        id: BenchmarkId,
        /// The number that a launch needs.
        least: usize,
        /// The flags of its samples.
        doubts: String,
    },
}

impl BenchmarkError {
    /// It ran in all `launches` but the `missing` ones, counted from 0.
    pub fn dropped_out(id: BenchmarkId, launches: u32, missing: &[u32]) -> BenchmarkError {
        BenchmarkError::DroppedOut {
            id,
            ran: launches as usize - missing.len(),
            launches,
            missing: names_of_launches(missing),
        }
    }

    /// Its first launch measured `first`, and `launch`, counted from 0, something `other`.
    pub fn mixed(
        id: BenchmarkId,
        first: &Provenance,
        other: &Provenance,
        launch: u32,
    ) -> BenchmarkError {
        BenchmarkError::Mixed {
            id,
            first: kind_of(first),
            other: kind_of(other),
            launch: launch + 1,
        }
    }

    /// Returns the benchmark.
    pub fn id(&self) -> &BenchmarkId {
        match self {
            BenchmarkError::DroppedOut { id, .. }
            | BenchmarkError::SameName { id }
            | BenchmarkError::Renamed { id }
            | BenchmarkError::Mixed { id, .. }
            | BenchmarkError::NothingUsable { id, .. } => id,
        }
    }
}

fn kind_of(provenance: &Provenance) -> String {
    let mut kind = format!("{} ({}", provenance.source, provenance.formula);
    if let Some(core_type) = &provenance.core_type {
        kind += ", ";
        kind += core_type;
    }
    kind + ")"
}

/// `launch 2`, `launches 2, 3`; counted from 1, for people.
fn names_of_launches(launches: &[u32]) -> String {
    let numbers: Vec<String> = launches.iter().map(|l| (l + 1).to_string()).collect();
    let word = if launches.len() == 1 {
        "launch"
    } else {
        "launches"
    };
    format!("{word} {}", numbers.join(", "))
}
