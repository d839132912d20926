//! `run.json` as it is on disk, and its conversion from and to [`Run`].
//!
//! A second set of types beside those in memory, because the file keeps launches as columns and
//! begins with the schema version.

use serde::{Deserialize, Serialize};

use super::error::RunFileProblem;
use super::{
    Benchmark, BenchmarkId, Build, LaunchSettings, LaunchValue, Run, SCHEMA_VERSION, Throughput,
};
use crate::machine::Machine;
use crate::provenance::Provenance;
use crate::sample::{Level1, Level2};

/// Looks at the schema version alone, so that a file of another version is refused by its version
/// and not by the first field that differs.
pub(super) fn check_schema_version(json: &[u8]) -> Result<(), RunFileProblem> {
    #[derive(Deserialize)]
    struct Version {
        schema_version: Option<u64>,
    }
    let version: Version = serde_json::from_slice(json).map_err(RunFileProblem::Json)?;
    match version.schema_version {
        None => Err(RunFileProblem::NoSchemaVersion),
        Some(found) if found == u64::from(SCHEMA_VERSION) => Ok(()),
        Some(found) => Err(RunFileProblem::SchemaVersion {
            found,
            known: SCHEMA_VERSION,
        }),
    }
}

/// The name of the samples file of the run `id`.
pub(super) fn samples_file_name(id: &str) -> Result<String, RunFileProblem> {
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || c == '-';
    if id.is_empty() || id.len() > 100 || !id.chars().all(is_allowed) {
        return Err(RunFileProblem::Field {
            field: "id".to_owned(),
            what: format!("is {id:?} and must be 1 to 100 ASCII letters, digits and `-`"),
        });
    }
    Ok(format!("samples-{id}.jsonl"))
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RunWire {
    schema_version: u32,
    id: String,
    started_at: String,
    tool_version: String,
    machine: Machine,
    build: Build,
    launch_settings: LaunchSettings,
    pub(super) samples_file: String,
    benchmarks: Vec<BenchmarkWire>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct BenchmarkWire {
    id: BenchmarkId,
    provenance: Provenance,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    throughput: Option<Throughput>,
    launches: LaunchColumns,
}

/// Launch values, one array per quantity; all per iteration, all of the same length.
#[derive(Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct LaunchColumns {
    launch: Vec<u32>,
    samples_used: Vec<u32>,
    samples_dropped: Vec<u32>,
    wall_ns: Vec<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    slots: Option<Vec<f64>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    retiring_slots: Option<Vec<f64>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    bad_speculation_slots: Option<Vec<f64>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    frontend_bound_slots: Option<Vec<f64>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    backend_bound_slots: Option<Vec<f64>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    smt_contention_slots: Option<Vec<f64>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    heavy_operations_slots: Option<Vec<f64>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    branch_mispredict_slots: Option<Vec<f64>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    fetch_latency_slots: Option<Vec<f64>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    memory_bound_slots: Option<Vec<f64>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    instructions: Option<Vec<f64>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    cycles: Option<Vec<f64>>,
    resolution_fraction: Vec<f64>,
}

impl RunWire {
    /// Looks at what must be right before anything else is believed.
    pub(super) fn check_header(&self) -> Result<(), RunFileProblem> {
        if self.schema_version != SCHEMA_VERSION {
            return Err(RunFileProblem::SchemaVersion {
                found: u64::from(self.schema_version),
                known: SCHEMA_VERSION,
            });
        }
        // The name is joined to a directory, and the file is deleted with the run.
        let expected = samples_file_name(&self.id)?;
        if self.samples_file != expected {
            return Err(RunFileProblem::Field {
                field: "samples_file".to_owned(),
                what: format!("is `{}` and must be `{expected}`", self.samples_file),
            });
        }
        Ok(())
    }

    pub(super) fn from_run(run: &Run, samples_file: String) -> RunWire {
        RunWire {
            schema_version: SCHEMA_VERSION,
            id: run.id.clone(),
            started_at: run.started_at.clone(),
            tool_version: run.tool_version.clone(),
            machine: run.machine.clone(),
            build: run.build.clone(),
            launch_settings: run.launch_settings,
            samples_file,
            benchmarks: run
                .benchmarks
                .iter()
                .map(|benchmark| BenchmarkWire {
                    id: benchmark.id.clone(),
                    provenance: benchmark.provenance.clone(),
                    throughput: benchmark.throughput.clone(),
                    launches: LaunchColumns::from_values(&benchmark.launches),
                })
                .collect(),
        }
    }

    /// The run, checked: every length, every number, every id.
    pub(super) fn into_run(self) -> Result<Run, RunFileProblem> {
        let mut seen = std::collections::HashSet::with_capacity(self.benchmarks.len());
        let mut benchmarks = Vec::with_capacity(self.benchmarks.len());
        for (index, benchmark) in self.benchmarks.into_iter().enumerate() {
            let launches = benchmark.launches.into_values().map_err(|(column, what)| {
                RunFileProblem::Field {
                    field: format!("benchmarks[{index}].launches.{column}"),
                    what: format!("of benchmark `{}` {what}", benchmark.id),
                }
            })?;
            if !seen.insert(benchmark.id.clone()) {
                return Err(RunFileProblem::Field {
                    field: format!("benchmarks[{index}].id"),
                    what: format!("is `{}`, which an earlier benchmark has too", benchmark.id),
                });
            }
            benchmarks.push(Benchmark {
                id: benchmark.id,
                provenance: benchmark.provenance,
                throughput: benchmark.throughput,
                launches,
            });
        }
        Ok(Run {
            id: self.id,
            started_at: self.started_at,
            tool_version: self.tool_version,
            machine: self.machine,
            build: self.build,
            launch_settings: self.launch_settings,
            benchmarks,
        })
    }
}

impl LaunchColumns {
    fn from_values(values: &[LaunchValue]) -> LaunchColumns {
        let column = |quantity: &dyn Fn(&LaunchValue) -> Option<f64>| -> Option<Vec<f64>> {
            if values.is_empty() {
                None
            } else {
                values.iter().map(quantity).collect()
            }
        };
        let level1 = |field: fn(&Level1) -> f64| column(&|v| v.level1.as_ref().map(field));
        let level2 = |field: fn(&Level2) -> f64| column(&|v| v.level2.as_ref().map(field));
        LaunchColumns {
            launch: values.iter().map(|v| v.launch).collect(),
            samples_used: values.iter().map(|v| v.samples_used).collect(),
            samples_dropped: values.iter().map(|v| v.samples_dropped).collect(),
            wall_ns: values.iter().map(|v| v.wall_ns).collect(),
            slots: column(&|v| v.slots),
            retiring_slots: level1(|l| l.retiring_slots),
            bad_speculation_slots: level1(|l| l.bad_speculation_slots),
            frontend_bound_slots: level1(|l| l.frontend_bound_slots),
            backend_bound_slots: level1(|l| l.backend_bound_slots),
            smt_contention_slots: column(&|v| v.level1?.smt_contention_slots),
            heavy_operations_slots: level2(|l| l.heavy_operations_slots),
            branch_mispredict_slots: level2(|l| l.branch_mispredict_slots),
            fetch_latency_slots: level2(|l| l.fetch_latency_slots),
            memory_bound_slots: level2(|l| l.memory_bound_slots),
            instructions: column(&|v| v.instructions),
            cycles: column(&|v| v.cycles),
            resolution_fraction: values.iter().map(|v| v.resolution_fraction).collect(),
        }
    }

    fn into_values(self) -> Result<Vec<LaunchValue>, (&'static str, String)> {
        let count = self.launch.len();
        for (length, name) in [
            (self.samples_used.len(), "samples_used"),
            (self.samples_dropped.len(), "samples_dropped"),
            (self.wall_ns.len(), "wall_ns"),
            (self.resolution_fraction.len(), "resolution_fraction"),
        ] {
            right_length(length, count, name)?;
        }
        for (column, name, least) in [
            (Some(&self.wall_ns), "wall_ns", 0.0),
            (Some(&self.resolution_fraction), "resolution_fraction", 0.0),
            (self.slots.as_ref(), "slots", 0.0),
            (self.retiring_slots.as_ref(), "retiring_slots", f64::MIN),
            (
                self.bad_speculation_slots.as_ref(),
                "bad_speculation_slots",
                f64::MIN,
            ),
            (
                self.frontend_bound_slots.as_ref(),
                "frontend_bound_slots",
                f64::MIN,
            ),
            (
                self.backend_bound_slots.as_ref(),
                "backend_bound_slots",
                f64::MIN,
            ),
            (
                self.smt_contention_slots.as_ref(),
                "smt_contention_slots",
                f64::MIN,
            ),
            (
                self.heavy_operations_slots.as_ref(),
                "heavy_operations_slots",
                f64::MIN,
            ),
            (
                self.branch_mispredict_slots.as_ref(),
                "branch_mispredict_slots",
                f64::MIN,
            ),
            (
                self.fetch_latency_slots.as_ref(),
                "fetch_latency_slots",
                f64::MIN,
            ),
            (
                self.memory_bound_slots.as_ref(),
                "memory_bound_slots",
                f64::MIN,
            ),
            (self.instructions.as_ref(), "instructions", 0.0),
            (self.cycles.as_ref(), "cycles", 0.0),
        ] {
            let Some(column) = column else { continue };
            right_length(column.len(), count, name)?;
            if let Some(value) = column.iter().find(|v| !v.is_finite() || **v < least) {
                return Err((name, format!("holds {value}")));
            }
        }
        let at = |column: &Option<Vec<f64>>, i: usize| column.as_ref().map(|values| values[i]);
        Ok((0..count)
            .map(|i| {
                let level1 = || {
                    Some(Level1 {
                        retiring_slots: at(&self.retiring_slots, i)?,
                        bad_speculation_slots: at(&self.bad_speculation_slots, i)?,
                        frontend_bound_slots: at(&self.frontend_bound_slots, i)?,
                        backend_bound_slots: at(&self.backend_bound_slots, i)?,
                        smt_contention_slots: at(&self.smt_contention_slots, i),
                    })
                };
                let level2 = || {
                    Some(Level2 {
                        heavy_operations_slots: at(&self.heavy_operations_slots, i)?,
                        branch_mispredict_slots: at(&self.branch_mispredict_slots, i)?,
                        fetch_latency_slots: at(&self.fetch_latency_slots, i)?,
                        memory_bound_slots: at(&self.memory_bound_slots, i)?,
                    })
                };
                LaunchValue {
                    launch: self.launch[i],
                    samples_used: self.samples_used[i],
                    samples_dropped: self.samples_dropped[i],
                    wall_ns: self.wall_ns[i],
                    slots: at(&self.slots, i),
                    level1: level1(),
                    level2: level2(),
                    instructions: at(&self.instructions, i),
                    cycles: at(&self.cycles, i),
                    resolution_fraction: self.resolution_fraction[i],
                }
            })
            .collect())
    }
}

fn right_length(
    length: usize,
    count: usize,
    name: &'static str,
) -> Result<(), (&'static str, String)> {
    if length == count {
        Ok(())
    } else {
        Err((name, format!("has {length} values for {count} launches")))
    }
}
