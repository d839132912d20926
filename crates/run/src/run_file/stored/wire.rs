//! `run.json` as it is on disk, and its conversion to and from [`Run`].
//!
//! These types are separate from those in memory, because the file stores launches as columns and
//! begins with the schema version.

use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;

use serde::de::{SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

use super::error::RunFileProblem;
use super::launch_columns::{SlotsColumns, TimeColumns};
use super::plausible::{check_call_paths, check_cold, check_functions};
use super::version::{KnownVersion, parse};
use crate::machine::Machine;
use crate::provenance::Provenance;
use crate::run_file::{
    Benchmark, BenchmarkId, Build, CallPaths, Cold, Fingerprint, Functions, LaunchSettings,
    MAX_SHARDS, Run, Selection, Shard, Throughput,
};

/// Returns the name of the samples file of the run `id`.
///
/// # Errors
/// Returns an error if no run can have this id.
pub fn samples_file_name(id: &str) -> Result<String, RunFileProblem> {
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || c == '-';
    if id.is_empty() || id.len() > 100 || !id.chars().all(is_allowed) {
        return Err(RunFileProblem::field(
            "id",
            format!("is {id:?}; it must be 1 to 100 ASCII letters, digits and `-`"),
        ));
    }
    Ok(format!("samples-{id}.jsonl"))
}

/// A run: all launches of one invocation of `cargo topdown bench`.
#[derive(Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct RunWire<B = Vec<BenchmarkWire>> {
    /// The version of the format.
    schema_version: KnownVersion,
    /// Unique; 1 to 100 ASCII letters, digits and `-`.
    id: String,
    /// When the run began, RFC 3339 in UTC.
    started_at: String,
    /// The version of the program that took the run.
    tool_version: String,
    /// Where it was taken.
    machine: Machine,
    /// What was built.
    build: Build,
    /// How it was launched.
    launch_settings: LaunchSettings,
    /// Mean number of other threads that were ready to run when benches were launched; absent if
    /// unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    competing_threads: Option<f64>,
    /// The part of the suite that this is; absent for a whole run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    shard: Option<Shard>,
    /// The requested part of the suite; absent if all of it.
    #[serde(default, skip_serializing_if = "Selection::is_whole")]
    selection: Selection,
    /// What failed, as `package::target` or `package::target::name`; absent if nothing did.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    failed: Vec<String>,
    /// Always `samples-ID.jsonl`, with the run's `id`.
    pub(super) samples_file: String,
    /// In order of first appearance; ids are unique.
    benchmarks: B,
}

/// One benchmark: its times and its slots.
#[derive(Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", schemars(rename = "Benchmark"))]
pub(super) struct BenchmarkWire {
    /// Its id.
    id: BenchmarkId,
    /// What one iteration processes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    throughput: Option<Throughput>,
    /// Its wall-clock times: a column for each quantity.
    times: TimeColumns,
    /// Its slots, where they were measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    slots: Option<SlotsColumns>,
    /// Its slots in each order in which its threads were modelled, if there are several: `launch`
    /// is the number of the schedule. Schedule 0 is that of `slots`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    schedules: Option<SlotsColumns>,
    /// The functions to which its slots went, if the source knows them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    functions: Option<Box<Functions>>,
    /// The calls that led there, if they were followed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    call_paths: Option<CallPaths>,
    /// What an iteration executed, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    fingerprint: Option<Fingerprint>,
    /// How its modelled launches differ, for people; absent if they do not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    launches_differ: Option<String>,
    /// What its first iterations cost on the model, if they are not what counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    cold: Option<Box<Cold>>,
}

/// Benchmarks that are converted and checked as soon as they are parsed, so that the columns of one
/// are freed before the next are read. Neighbours share equal provenances. A problem comes with the
/// benchmark's id.
pub(super) struct ReadBenchmarks(Vec<Result<Benchmark, Box<(BenchmarkId, RunFileProblem)>>>);

impl<'de> Deserialize<'de> for ReadBenchmarks {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(ReadBenchmarks(Vec::new()))
    }
}

impl<'de> Visitor<'de> for ReadBenchmarks {
    type Value = Self;

    fn expecting(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        formatter.write_str("a sequence")
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut sequence: A) -> Result<Self, A::Error> {
        while let Some(wire) = sequence.next_element::<BenchmarkWire>()? {
            let mut read = wire.into_benchmark();
            if let (Ok(benchmark), Some(Ok(before))) = (&mut read, self.0.last()) {
                share_provenances(benchmark, before);
            }
            self.0.push(read);
        }
        Ok(self)
    }
}

/// Lets `benchmark` have the provenances of `other` where they are equal.
fn share_provenances(benchmark: &mut Benchmark, other: &Benchmark) {
    let of_slots = other.slots.as_ref().map(|slots| &slots.provenance);
    let known = [Some(&other.times.provenance), of_slots];
    let share = |own: &mut Arc<Provenance>| {
        if let Some(known) = known.into_iter().flatten().find(|known| *known == own) {
            *own = Arc::clone(known);
        }
    };
    share(&mut benchmark.times.provenance);
    let series = [&mut benchmark.slots, &mut benchmark.schedules];
    for slots in series.into_iter().flatten() {
        share(&mut slots.provenance);
    }
}

impl BenchmarkWire {
    fn into_benchmark(self) -> Result<Benchmark, Box<(BenchmarkId, RunFileProblem)>> {
        let functions = self.functions.as_deref().map_or(Ok(()), check_functions);
        let checked = functions
            .map_err(|problem| problem.under("functions"))
            .and_then(|()| {
                let paths = self.call_paths.as_ref().map_or(Ok(()), check_call_paths);
                paths.map_err(|problem| problem.under("call_paths"))
            })
            .and_then(|()| {
                let cold = self.cold.as_deref().map_or(Ok(()), check_cold);
                cold.map_err(|problem| problem.under("cold"))
            })
            .and_then(|()| {
                let times = self.times.into_series();
                times.map_err(|problem| problem.under("times"))
            })
            .and_then(|times| {
                let series = |slots: Option<SlotsColumns>, field: &str| {
                    let slots = slots.map(SlotsColumns::into_series).transpose();
                    slots.map_err(|problem| problem.under(field))
                };
                let slots = series(self.slots, "slots")?;
                Ok((times, slots, series(self.schedules, "schedules")?))
            });
        match checked {
            Ok((times, slots, schedules)) => Ok(Benchmark {
                id: self.id,
                throughput: self.throughput,
                times,
                slots,
                schedules,
                functions: self.functions,
                call_paths: self.call_paths,
                fingerprint: self.fingerprint,
                launches_differ: self.launches_differ,
                cold: self.cold,
            }),
            Err(problem) => Err(Box::new((self.id, problem))),
        }
    }
}

impl RunWire<ReadBenchmarks> {
    /// Parses the content of a `run.json`. Problems of benchmarks are kept for `into_run`.
    pub(super) fn parse(json: &[u8]) -> Result<Self, RunFileProblem> {
        let wire: Self = parse(json)?;
        // The name is joined to a directory, and the file is deleted with the run.
        let expected = samples_file_name(&wire.id)?;
        if wire.samples_file != expected {
            return Err(RunFileProblem::field(
                "samples_file",
                format!("is {:?}; it must be {expected:?}", wire.samples_file),
            ));
        }
        Ok(wire)
    }

    /// Returns the run, checking every length, every number, and every id.
    pub(super) fn into_run(self) -> Result<Run, RunFileProblem> {
        let read = self.benchmarks.0.into_iter().enumerate();
        let checked = read.map(|(index, checked)| {
            checked.map_err(|failed| {
                let (id, problem) = *failed;
                problem.under(&format!("benchmarks[{index}] (`{id}`)"))
            })
        });
        let benchmarks = checked.collect::<Result<Vec<Benchmark>, RunFileProblem>>()?;
        let mut seen = HashSet::with_capacity(benchmarks.len());
        for (index, benchmark) in benchmarks.iter().enumerate() {
            if !seen.insert(&benchmark.id) {
                return Err(RunFileProblem::field(
                    format!("benchmarks[{index}].id"),
                    format!("is `{}`, which an earlier benchmark also has", benchmark.id),
                ));
            }
        }
        if let Some(threads) = self.competing_threads.filter(|threads| *threads < 0.0) {
            return Err(RunFileProblem::field(
                "competing_threads",
                format!("is {threads}; it must be at least 0"),
            ));
        }
        if let Some(Shard { number, of, .. }) = self.shard {
            if !(1..=MAX_SHARDS).contains(&of) {
                return Err(RunFileProblem::field(
                    "shard.of",
                    format!("is {of}; it must be 1 to {MAX_SHARDS}"),
                ));
            }
            if !(1..=of).contains(&number) {
                return Err(RunFileProblem::field(
                    "shard.number",
                    format!("is {number}; it must be 1 to {of}"),
                ));
            }
        }
        Ok(Run {
            id: self.id,
            started_at: self.started_at,
            tool_version: self.tool_version,
            machine: self.machine,
            build: self.build,
            launch_settings: self.launch_settings,
            competing_threads: self.competing_threads,
            shard: self.shard,
            selection: self.selection,
            failed: self.failed,
            benchmarks,
        })
    }
}

impl RunWire {
    pub(super) fn from_run(run: &Run) -> Result<RunWire, RunFileProblem> {
        Ok(RunWire {
            schema_version: KnownVersion,
            id: run.id.clone(),
            started_at: run.started_at.clone(),
            tool_version: run.tool_version.clone(),
            machine: run.machine.clone(),
            build: run.build.clone(),
            launch_settings: run.launch_settings,
            competing_threads: run.competing_threads,
            shard: run.shard.clone(),
            selection: run.selection.clone(),
            failed: run.failed.clone(),
            samples_file: samples_file_name(&run.id)?,
            benchmarks: run
                .benchmarks
                .iter()
                .map(|benchmark| BenchmarkWire {
                    id: benchmark.id.clone(),
                    throughput: benchmark.throughput.clone(),
                    times: TimeColumns::from_series(&benchmark.times),
                    slots: benchmark.slots.as_ref().map(SlotsColumns::from_series),
                    schedules: (benchmark.schedules.as_ref()).map(SlotsColumns::from_series),
                    functions: benchmark.functions.clone(),
                    call_paths: benchmark.call_paths.clone(),
                    fingerprint: benchmark.fingerprint.clone(),
                    launches_differ: benchmark.launches_differ.clone(),
                    cold: benchmark.cold.clone(),
                })
                .collect(),
        })
    }
}
