//! One run out of several that share no benchmark: the shards of a suite, from machines of one class.
//!
//! A merged run is judged like any other, so the parts must be what one machine of the class would
//! have measured: same class, same build, same commit, same settings.

use std::collections::{BTreeSet, HashMap};

use criterion_topdown::machine::Machine;
use criterion_topdown::provenance::{Provenance, SourceKind};
use criterion_topdown::run_file::{Benchmark, BenchmarkId, LaunchSettings, Run, Shard};
use thiserror::Error;

use crate::verdict::comparability;
use crate::verdict::comparison::Difference;

/// A run, and where it was read from.
#[derive(Debug)]
pub struct Part {
    /// For messages.
    pub label: String,
    /// The run.
    pub run: Run,
}

/// Something that a merged run has and one machine's run has not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Note {
    /// Slots were counted in one part and not in another.
    TimeOnly {
        /// The package whose benchmarks have time alone in `label`.
        package: String,
        /// The part.
        label: String,
        /// Why, in the words of the source.
        reason: String,
        /// A part that has slots of the package.
        other: String,
    },
    /// The work tree differed from the commit, perhaps in different ways.
    Uncommitted,
    /// Shards, or benchmarks of shards, that are not there.
    Incomplete(String),
}

impl std::fmt::Display for Note {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Note::TimeOnly {
                package,
                label,
                reason,
                other,
            } => write!(
                f,
                "benchmarks of package `{package}` have slots in {other} and time alone in {label} \
                 ({reason})"
            ),
            Note::Uncommitted => f.write_str(
                "the work trees differed from their commit, and nothing tells whether in the same \
                 way",
            ),
            Note::Incomplete(what) => write!(f, "{what}; the merged run is not whole"),
        }
    }
}

/// Why runs cannot be merged.
#[derive(Debug, Error, PartialEq)]
pub enum MergeError {
    /// They are not of one class of machines, build, commit or settings.
    #[error(
        "{first} and {other} cannot be merged: {}",
        differences.iter().map(text_of).collect::<Vec<_>>().join("; ")
    )]
    Different {
        /// One of the two.
        first: String,
        /// The other.
        other: String,
        /// In what they differ.
        differences: Vec<Difference>,
    },
    /// One benchmark was measured twice.
    #[error("benchmark `{id}` is in {first} and in {other}")]
    Twice {
        /// The benchmark.
        id: Box<BenchmarkId>,
        /// One of the two.
        first: String,
        /// The other.
        other: String,
    },
    /// One shard was given twice.
    #[error("{first} and {other} are both shard {shard}")]
    SameShard {
        /// Which shard.
        shard: Shard,
        /// One of the two.
        first: String,
        /// The other.
        other: String,
    },
    /// Shards of suites that were cut differently.
    #[error(
        "{first} is shard {first_shard} and {other} shard {other_shard} of another suite: filter, \
         packages, features and settings must be the same for all shards"
    )]
    OtherSuite {
        /// One of the two.
        first: String,
        /// Its shard.
        first_shard: Box<Shard>,
        /// The other.
        other: String,
        /// Its shard.
        other_shard: Box<Shard>,
    },
    /// A shard where a whole run is needed.
    #[error(
        "{label} is shard {shard} of a suite, which says nothing about the others; to put them \
         together: `cargo topdown merge RUN...`"
    )]
    NotWhole {
        /// The run.
        label: String,
        /// Which shard it is.
        shard: Shard,
    },
    /// Shards are missing, or benchmarks of shards.
    #[error("{0}\nto merge what there is: `--partial`")]
    Incomplete(String),
}

fn text_of(difference: &Difference) -> String {
    let Difference {
        field,
        baseline,
        candidate,
    } = difference;
    format!("{field} is {baseline} and {candidate}")
}

/// Refuses a shard, for those who need a whole run.
///
/// # Errors
/// When `run` is a shard; it is called `label`.
pub fn check_whole(label: &str, run: &Run) -> Result<(), MergeError> {
    match &run.shard {
        None => Ok(()),
        Some(shard) => Err(MergeError::NotWhole {
            label: label.to_owned(),
            shard: shard.clone(),
        }),
    }
}

/// The run that `parts` make, called `id`; at least one part. A `partial` one may lack shards.
///
/// # Errors
/// When they do not belong together, or are not all, in this order.
pub fn merge(
    mut parts: Vec<Part>,
    id: String,
    partial: bool,
) -> Result<(Run, Vec<Note>), MergeError> {
    // Whatever the order in which a shell names the files.
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
    let run = Run {
        id,
        started_at: started_at.expect("at least one part").clone(),
        tool_version: first.run.tool_version.clone(),
        machine: machine_of(&parts),
        build: first.run.build.clone(),
        launch_settings: first.run.launch_settings,
        shard: None,
        benchmarks: parts
            .into_iter()
            .flat_map(|part| part.run.benchmarks)
            .collect(),
    };
    Ok((run, notes))
}

/// What all benchmarks of both have in common must be the same.
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
            "{launches} launches of {sample_size} samples, warm-up {warm_up_ms} ms, measurement \
             {measurement_ms} ms"
        )
    };
    compare("measuring", settings(a), settings(b));
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

/// Ids once each, and counts of one package counted in one way.
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
            let mut all = benchmarks.iter().map(|b| &b.provenance);
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
                    reason: benchmarks[0].provenance.reason.clone(),
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

/// What is not there of the suite whose shards are among `parts`.
fn missing_text(parts: &[Part]) -> Option<String> {
    let shards: Vec<(&Run, &Shard)> = parts
        .iter()
        .filter_map(|part| Some((&part.run, part.run.shard.as_ref()?)))
        .collect();
    let (_, Shard { of, .. }) = shards.first()?;
    let missing: Vec<String> = (1..=*of)
        .filter(|number| shards.iter().all(|(_, shard)| shard.number != *number))
        .map(|number| format!("{number}/{of}"))
        .collect();
    let mut texts = Vec::new();
    match &missing[..] {
        [] => {}
        [one] => texts.push(format!("shard {one} is missing")),
        several => texts.push(format!("shards {} are missing", several.join(", "))),
    }
    for (run, shard) in shards {
        let measured = run.benchmarks.len();
        if measured < shard.benchmarks {
            texts.push(format!(
                "shard {shard} has {measured} of its {} benchmarks, since benches failed there",
                shard.benchmarks
            ));
        }
    }
    (!texts.is_empty()).then(|| texts.join("; "))
}

/// The machine as far as all parts agree: the fields of the key do, and what does not is not told.
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
        cpus: match machines.iter().all(|machine| machine.cpus == cpus) {
            true => cpus,
            false => 0,
        },
        kernel: common(&machines, |machine| &machine.kernel),
        microcode: common(&machines, |machine| &machine.microcode),
        governor: common(&machines, |machine| &machine.governor),
        host: (!hosts.is_empty()).then(|| hosts.join(", ")),
        ..machines[0].clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verdict::scenario::{self, Planted};

    fn part(number: u32, of: u32, names: &[&str]) -> Part {
        let benchmark = |name: &&str| scenario::benchmark(name, Planted::default());
        Part {
            label: format!("part {number}"),
            run: Run {
                shard: Some(Shard {
                    number,
                    of,
                    benchmarks: names.len(),
                    suite: "5eed".to_owned(),
                }),
                ..scenario::run(names.iter().map(benchmark).collect())
            },
        }
    }

    fn merged(parts: Vec<Part>) -> Result<(Run, Vec<Note>), MergeError> {
        merge(parts, "merged".to_owned(), false)
    }

    fn refusal(parts: Vec<Part>) -> String {
        merged(parts).unwrap_err().to_string()
    }

    #[test]
    fn shards_make_the_run_of_the_whole_suite() {
        let (mut one, mut two) = (part(1, 2, &["a", "b"]), part(2, 2, &["c"]));
        one.run.machine.host = Some("runner-1".to_owned());
        two.run.machine.host = Some("runner-2".to_owned());
        two.run.machine.kernel = Some("6.13.0".to_owned());
        two.run.started_at = "2026-11-20T09:00:00Z".to_owned();
        // In any order.
        let (run, notes) = merged(vec![two, one]).unwrap();
        assert_eq!(notes, []);
        let names: Vec<&str> = run.benchmarks.iter().map(|b| b.id.name.as_str()).collect();
        assert_eq!(names, ["a", "b", "c"]);
        assert_eq!((run.id.as_str(), run.shard), ("merged", None));
        assert_eq!(run.started_at, "2026-11-20T09:00:00Z");
        assert_eq!(run.machine.host.as_deref(), Some("runner-1, runner-2"));
        assert_eq!((run.machine.kernel, run.machine.cpus), (None, 8));
    }

    #[test]
    fn runs_without_shards_are_merged_too() {
        let run = |name: &str| Part {
            label: name.to_owned(),
            run: scenario::run(vec![scenario::benchmark(name, Planted::default())]),
        };
        let (merged, _) = merged(vec![run("a"), run("b")]).unwrap();
        assert_eq!(merged.benchmarks.len(), 2);
    }

    #[test]
    fn missing_shards_and_benchmarks_are_named_and_refused_unless_told() {
        let parts = || {
            let mut two = part(2, 4, &["c", "d"]);
            two.run.benchmarks.pop();
            vec![part(1, 4, &["a"]), two]
        };
        let missing = "shards 3/4, 4/4 are missing; shard 2/4 has 1 of its 2 benchmarks, since \
                       benches failed there";
        assert_eq!(
            refusal(parts()),
            format!("{missing}\nto merge what there is: `--partial`")
        );
        let (run, notes) = merge(parts(), "partial".to_owned(), true).unwrap();
        assert_eq!(run.benchmarks.len(), 2);
        assert_eq!(notes, [Note::Incomplete(missing.to_owned())]);
        assert!(refusal(vec![part(1, 2, &["a"])]).starts_with("shard 2/2 is missing\n"));
    }

    #[test]
    fn what_is_there_twice_is_refused() {
        assert_eq!(
            refusal(vec![part(1, 2, &["a"]), part(1, 2, &["b"])]),
            "part 1 and part 1 are both shard 1/2"
        );
        assert_eq!(
            refusal(vec![part(1, 2, &["a"]), part(2, 2, &["a"])]),
            "benchmark `suite::bench::a` is in part 1 and in part 2"
        );
    }

    #[test]
    fn shards_of_differently_cut_suites_are_refused() {
        let mut other = part(2, 2, &["b"]);
        other.run.shard.as_mut().unwrap().suite = "other".to_owned();
        for other in [other, part(2, 3, &["b"])] {
            let message = refusal(vec![part(1, 2, &["a"]), other]);
            assert!(
                message.starts_with("part 1 is shard 1/2 and part 2 shard 2/"),
                "{message}"
            );
            assert!(message.contains("of another suite: filter,"), "{message}");
        }
    }

    #[test]
    fn what_one_machine_would_not_have_measured_is_refused_by_field() {
        type Change = fn(&mut Run);
        let cases: [(Change, &str); 6] = [
            (
                |run| run.machine.model = 106,
                "CPU model is `143` and `106`",
            ),
            (
                |run| run.build.rustc = "rustc 1.92.0".to_owned(),
                "rustc is `rustc 1.91.0` and `rustc 1.92.0`",
            ),
            (
                |run| run.build.git_commit = None,
                "commit is 8c5b1f0e2d4a69b7c3e1f5a8d2b4c6e8f0a1b3c5 and unknown",
            ),
            (
                |run| run.build.git_dirty = Some(true),
                "work tree is as committed and changed",
            ),
            (
                |run| run.launch_settings.launches = 3,
                "measuring is 10 launches of 20 samples, warm-up 100 ms, measurement 400 ms and 3 \
                 launches of 20 samples, warm-up 100 ms, measurement 400 ms",
            ),
            (
                |run| run.benchmarks[0].provenance.formula = "other/1".to_owned(),
                "formula is `intel-perf-metrics/1` and `other/1`",
            ),
        ];
        for (change, message) in cases {
            let mut other = part(2, 2, &["b"]);
            change(&mut other.run);
            assert_eq!(
                refusal(vec![part(1, 2, &["a"]), other]),
                format!("part 1 and part 2 cannot be merged: {message}")
            );
        }
        let mut other = part(2, 2, &["b"]);
        other.run.tool_version = "0.2.0".to_owned();
        let message = refusal(vec![part(1, 2, &["a"]), other]);
        assert!(message.ends_with("cargo-topdown is 0.1.0 and 0.2.0"));
    }

    #[test]
    fn a_part_that_could_only_measure_time_is_told() {
        let mut other = part(2, 2, &["b"]);
        other.run.benchmarks = vec![scenario::timed("b", Planted::default())];
        let (_, notes) = merged(vec![part(1, 2, &["a"]), other]).unwrap();
        let texts: Vec<String> = notes.iter().map(Note::to_string).collect();
        assert_eq!(
            texts,
            [
                "benchmarks of package `suite` have slots in part 1 and time alone in part 2 (a test)"
            ]
        );
    }

    #[test]
    fn changed_work_trees_are_told() {
        let mut parts = vec![part(1, 2, &["a"]), part(2, 2, &["b"])];
        for part in &mut parts {
            part.run.build.git_dirty = Some(true);
        }
        assert_eq!(merged(parts).unwrap().1, [Note::Uncommitted]);
    }
}
