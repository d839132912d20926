//! Merges runs without common benchmarks into one: the shards of a suite, from machines of one
//! class.
//!
//! A merged run is judged like any other, so the parts must be what one machine of the class would
//! have measured: same class, same build, same commit, same settings.

mod problem;
#[cfg(test)]
mod tests;

use std::collections::{BTreeSet, HashMap, HashSet};

use topdown_run::machine::Machine;
use topdown_run::provenance::{Provenance, SourceKind};
use topdown_run::run_file::{Benchmark, BenchmarkId, LaunchSettings, Run, Selection, Shard};
use topdown_terminal::count_of;

use topdown_gate::comparability::{self, Difference};
use topdown_gate::selection;

pub use problem::{MergeError, Note};

/// A run and where it was read from.
#[derive(Debug)]
pub struct Part {
    /// The name used in messages.
    pub label: String,
    pub run: Run,
}

/// Refuses a shard if a whole run is required.
///
/// # Errors
/// Returns an error that names the run `label` if it is a shard.
pub fn check_whole(label: &str, run: &Run) -> Result<(), MergeError> {
    match &run.shard {
        None => Ok(()),
        Some(shard) => Err(MergeError::NotWhole {
            label: label.to_owned(),
            shard: shard.clone(),
        }),
    }
}

/// Merges `parts`, of which there is at least one, into a run called `id`. If `partial` is set,
/// shards may be missing.
///
/// # Errors
/// Returns an error if the parts do not belong together or, checked last, if any are missing.
pub fn merge(
    mut parts: Vec<Part>,
    id: String,
    partial: bool,
) -> Result<(Run, Vec<Note>), MergeError> {
    // The order of the arguments does not matter.
    parts.sort_by_key(|part| part.run.shard.as_ref().map(|shard| shard.number));
    let (first, others) = parts.split_first().expect("at least one part");
    for other in others {
        check_same(first, other)?;
    }
    check_shards(&parts)?;
    let mut notes = check_benchmarks(&parts)?;
    if let Some(missing) = missing_text(&parts) {
        if !partial {
            return Err(MergeError::Incomplete(missing));
        }
        notes.push(Note::Incomplete(missing));
    }
    if parts.len() > 1 && first.run.build.git_dirty == Some(true) {
        notes.push(Note::Uncommitted);
    }
    let started_at = parts.iter().map(|part| &part.run.started_at).min();
    let failed = parts.iter().flat_map(|part| part.run.failed.clone());
    let run = Run {
        failed: failed.collect(),
        id,
        started_at: started_at.expect("at least one part").clone(),
        tool_version: first.run.tool_version.clone(),
        machine: machine_of(&parts),
        build: first.run.build.clone(),
        launch_settings: first.run.launch_settings,
        competing_threads: (parts.iter())
            .filter_map(|part| part.run.competing_threads)
            .reduce(f64::max),
        shard: None,
        selection: selection_of_suite(&parts[0].run),
        benchmarks: parts
            .into_iter()
            .flat_map(|part| part.run.benchmarks)
            .collect(),
    };
    Ok((run, notes))
}

/// Returns what was selected before the suite was cut into shards.
fn selection_of_suite(part: &Run) -> Selection {
    Selection {
        only_benchmarks: None,
        ..part.selection.clone()
    }
}

/// Checks that both parts agree in all settings that apply to the whole run.
fn check_same(first: &Part, other: &Part) -> Result<(), MergeError> {
    let mut differences = comparability::forbidding(&first.run, &other.run, false);
    let (a, b) = (&first.run, &other.run);
    let mut compare = |field: &str, a: String, b: String| {
        if a != b {
            differences.push(Difference {
                field: field.to_owned(),
                baseline: a,
                candidate: b,
            });
        }
    };
    let commit = |run: &Run| run.build.git_commit.clone().unwrap_or("unknown".to_owned());
    compare("commit", commit(a), commit(b));
    let tree = |run: &Run| match run.build.git_dirty {
        Some(true) => "changed".to_owned(),
        _ => "as committed".to_owned(),
    };
    compare("work tree", tree(a), tree(b));
    compare(
        "cargo-topdown",
        a.tool_version.clone(),
        b.tool_version.clone(),
    );
    let settings = |run: &Run| {
        let LaunchSettings {
            launches,
            sample_size,
            warm_up_ms,
            measurement_ms,
        } = run.launch_settings;
        format!(
            "{} of {sample_size} samples, warm-up {warm_up_ms} ms, measurement \
             {measurement_ms} ms",
            count_of(launches, "launch")
        )
    };
    compare("measuring", settings(a), settings(b));
    let selected = |run: &Run| {
        let suite = Run {
            shard: None,
            selection: selection_of_suite(run),
            ..run.clone()
        };
        selection::in_words(&suite).unwrap_or("the whole suite".to_owned())
    };
    compare("selection", selected(a), selected(b));
    if differences.is_empty() {
        return Ok(());
    }
    Err(MergeError::Different {
        first: first.label.clone(),
        other: other.label.clone(),
        differences,
    })
}

fn check_shards(parts: &[Part]) -> Result<(), MergeError> {
    let mut seen: Vec<(&str, &Shard)> = Vec::new();
    for part in parts {
        let Some(shard) = &part.run.shard else {
            continue;
        };
        if let Some((first, first_shard)) = seen.first()
            && (&first_shard.suite, first_shard.of) != (&shard.suite, shard.of)
        {
            return Err(MergeError::OtherSuite {
                first: (*first).to_owned(),
                first_shard: Box::new((*first_shard).clone()),
                other: part.label.clone(),
                other_shard: Box::new(shard.clone()),
            });
        }
        if let Some((first, _)) = seen.iter().find(|(_, s)| s.number == shard.number) {
            return Err(MergeError::SameShard {
                shard: shard.clone(),
                first: (*first).to_owned(),
                other: part.label.clone(),
            });
        }
        seen.push((&part.label, shard));
    }
    Ok(())
}

/// Checks that no id occurs twice, and notes packages whose slots only some parts counted.
fn check_benchmarks(parts: &[Part]) -> Result<Vec<Note>, MergeError> {
    let mut seen: HashMap<&BenchmarkId, &str> = HashMap::new();
    for part in parts {
        for benchmark in &part.run.benchmarks {
            if let Some(first) = seen.insert(&benchmark.id, &part.label) {
                return Err(MergeError::Twice {
                    id: Box::new(benchmark.id.clone()),
                    first: first.to_owned(),
                    other: part.label.clone(),
                });
            }
        }
    }
    let mut notes = Vec::new();
    let packages: BTreeSet<&str> = seen.keys().map(|id| id.package.as_str()).collect();
    for package in packages {
        let of_package: Vec<(&Part, Vec<&Benchmark>)> = parts
            .iter()
            .map(|part| {
                let all = part.run.benchmarks.iter();
                (part, all.filter(|b| b.id.package == package).collect())
            })
            .filter(|(_, benchmarks): &(_, Vec<_>)| !benchmarks.is_empty())
            .collect();
        let with_slots = |benchmarks: &[&Benchmark]| -> Option<Provenance> {
            let mut all = benchmarks.iter().map(|b| b.provenance());
            all.find(|p| p.source != SourceKind::Time).cloned()
        };
        let Some((first, counted)) = of_package
            .iter()
            .find_map(|(part, benchmarks)| Some((part, with_slots(benchmarks)?)))
        else {
            continue;
        };
        for (part, benchmarks) in &of_package {
            match with_slots(benchmarks) {
                None => notes.push(Note::TimeOnly {
                    package: package.to_owned(),
                    label: part.label.clone(),
                    reason: benchmarks[0].provenance().reason.clone(),
                    other: first.label.clone(),
                }),
                Some(other) => {
                    let differences = comparability::of_benchmark(&counted, &other, &[]);
                    if !differences.is_empty() {
                        return Err(MergeError::Different {
                            first: first.label.clone(),
                            other: part.label.clone(),
                            differences,
                        });
                    }
                }
            }
        }
    }
    Ok(notes)
}

/// Missing shards that a message lists.
const MAX_LISTED: usize = 10;

/// Describes what is missing from the suite whose shards are among `parts`.
fn missing_text(parts: &[Part]) -> Option<String> {
    let shards: Vec<(&Run, &Shard)> = parts
        .iter()
        .filter_map(|part| Some((&part.run, part.run.shard.as_ref()?)))
        .collect();
    let (_, Shard { of, .. }) = shards.first()?;
    let present: HashSet<u32> = shards.iter().map(|(_, shard)| shard.number).collect();
    let mut missing: Vec<String> = (1..=*of)
        .filter(|number| !present.contains(number))
        .map(|number| format!("{number}/{of}"))
        .collect();
    let unlisted = missing.len().saturating_sub(MAX_LISTED);
    missing.truncate(MAX_LISTED);
    let mut texts = Vec::new();
    match (&missing[..], unlisted) {
        ([], _) => {}
        ([one], _) => texts.push(format!("shard {one} is missing")),
        (several, 0) => texts.push(format!("shards {} are missing", several.join(", "))),
        (first, more) => texts.push(format!(
            "shards {} and {more} more are missing",
            first.join(", ")
        )),
    }
    for (run, shard) in shards {
        let measured = run.benchmarks.len();
        if measured < shard.benchmarks {
            texts.push(format!(
                "shard {shard} has {measured} of its {} benchmarks, because benches failed there",
                shard.benchmarks
            ));
        }
    }
    (!texts.is_empty()).then(|| texts.join("; "))
}

/// Returns the machine that the parts have in common. They agree in the fields of the key; of the
/// others, those that differ are unset, except that all hosts are listed.
fn machine_of(parts: &[Part]) -> Machine {
    let machines: Vec<&Machine> = parts.iter().map(|part| &part.run.machine).collect();
    fn common<T: PartialEq + Clone>(
        machines: &[&Machine],
        field: impl Fn(&Machine) -> &Option<T>,
    ) -> Option<T> {
        let first = field(machines[0]);
        machines
            .iter()
            .all(|machine| field(machine) == first)
            .then(|| first.clone())?
    }
    let hosts: BTreeSet<&str> = machines
        .iter()
        .filter_map(|machine| machine.host.as_deref())
        .collect();
    let hosts: Vec<&str> = hosts.into_iter().collect();
    let cpus = machines[0].cpus;
    Machine {
        cpus: if machines.iter().all(|machine| machine.cpus == cpus) {
            cpus
        } else {
            0
        },
        kernel: common(&machines, |machine| &machine.kernel),
        microcode: common(&machines, |machine| &machine.microcode),
        governor: common(&machines, |machine| &machine.governor),
        host: (!hosts.is_empty()).then(|| hosts.join(", ")),
        ..machines[0].clone()
    }
}
