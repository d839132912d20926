//! Call paths as files for other programs: folded stacks, and speedscope's format.

use std::io::{self, Write};
use std::path::Path;

use serde::Serialize;
use topdown_run::category::Category;
use topdown_run::code::CodeCounts;
use topdown_run::run_file::{Benchmark, CallPaths, Run};

use super::function_rows::label_of;

/// The format of a profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProfileFormat {
    /// A line per path and category: `benchmark;function;…;[category] slots`.
    Folded,
    /// speedscope's JSON: for each benchmark a profile of all slots, and one per category.
    Speedscope,
}

impl ProfileFormat {
    /// Returns the format that a file's name ends with.
    pub fn of(path: &Path) -> Option<ProfileFormat> {
        match path.extension()?.to_str()? {
            "folded" => Some(ProfileFormat::Folded),
            "json" => Some(ProfileFormat::Speedscope),
            _ => None,
        }
    }

    /// Writes the call paths of `run`, which the user calls `label`. Slots are sums over all
    /// samples that count, so they are whole numbers.
    ///
    /// # Errors
    /// Returns an error if writing to `out` fails.
    pub fn write(self, run: &Run, label: &str, out: &mut impl Write) -> io::Result<()> {
        match self {
            ProfileFormat::Folded => write_folded(run, out),
            ProfileFormat::Speedscope => {
                serde_json::to_writer(&mut *out, &Speedscope::of(run, label))?;
                writeln!(out)
            }
        }
    }
}

fn with_paths(run: &Run) -> impl Iterator<Item = (&Benchmark, &CallPaths)> {
    let benchmarks = run.benchmarks.iter();
    benchmarks.filter_map(|benchmark| Some((benchmark, benchmark.call_paths.as_ref()?)))
}

/// Returns the indices of a path and its callers, the outermost first.
fn stack_of(paths: &CallPaths, index: usize) -> Vec<usize> {
    let mut stack = vec![index];
    while let Some(caller) = paths.paths[stack[stack.len() - 1]].caller {
        stack.push(caller as usize);
    }
    stack.reverse();
    stack
}

fn label(paths: &CallPaths, index: usize) -> String {
    let function = paths.function_of(&paths.paths[index]);
    label_of(&function.name, &function.module)
}

fn write_folded(run: &Run, out: &mut impl Write) -> io::Result<()> {
    for (benchmark, paths) in with_paths(run) {
        let name = escaped(&benchmark.id.to_string());
        for (index, path) in paths.paths.iter().enumerate() {
            let stack: Vec<String> = stack_of(paths, index)
                .into_iter()
                .map(|index| escaped(&label(paths, index)))
                .collect();
            for (category, &slots) in path.counts.level1_slots.iter() {
                if slots > 0 {
                    let stack = stack.join(";");
                    writeln!(out, "{name};{stack};[{}] {slots}", category.name())?;
                }
            }
        }
    }
    Ok(())
}

/// Semicolons separate frames, and lines end stacks.
fn escaped(name: &str) -> String {
    name.replace(';', ":").replace(['\n', '\r'], " ")
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Speedscope {
    #[serde(rename = "$schema")]
    schema: &'static str,
    name: String,
    exporter: String,
    active_profile_index: usize,
    shared: Shared,
    profiles: Vec<Profile>,
}

#[derive(Serialize)]
struct Shared {
    frames: Vec<Frame>,
}

#[derive(Serialize)]
struct Frame {
    name: String,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Profile {
    #[serde(rename = "type")]
    kind: &'static str,
    name: String,
    unit: &'static str,
    start_value: u64,
    end_value: u64,
    samples: Vec<Vec<usize>>,
    weights: Vec<u64>,
}

impl Speedscope {
    fn of(run: &Run, label: &str) -> Speedscope {
        let mut frames = Vec::new();
        let mut profiles = Vec::new();
        for (benchmark, paths) in with_paths(run) {
            let first = frames.len();
            frames.extend(paths.functions.iter().map(|function| Frame {
                name: label_of(&function.name, &function.module),
            }));
            let mut add = |name: String, slots: &dyn Fn(&CodeCounts) -> u64| {
                let mut profile = Profile {
                    kind: "sampled",
                    name,
                    unit: "none",
                    start_value: 0,
                    end_value: 0,
                    samples: Vec::new(),
                    weights: Vec::new(),
                };
                for (index, path) in paths.paths.iter().enumerate() {
                    let weight = slots(&path.counts);
                    if weight == 0 {
                        continue;
                    }
                    let stack = stack_of(paths, index).into_iter();
                    let stack = stack.map(|index| first + paths.paths[index].function as usize);
                    profile.samples.push(stack.collect());
                    profile.weights.push(weight);
                    profile.end_value = profile.end_value.saturating_add(weight);
                }
                profiles.push(profile);
            };
            let name = benchmark.id.to_string();
            add(format!("{name}: slots"), &CodeCounts::slots);
            for category in Category::ALL {
                let slots = move |counts: &CodeCounts| counts.level1_slots[category];
                add(format!("{name}: {}", category.name()), &slots);
            }
        }
        Speedscope {
            schema: "https://www.speedscope.app/file-format-schema.json",
            name: label.to_owned(),
            exporter: format!("cargo topdown {}", env!("CARGO_PKG_VERSION")),
            active_profile_index: 0,
            shared: Shared { frames },
            profiles,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shown;
    use serde_json::json;
    use topdown_gate::scenario::{run, with_call_paths};

    fn written(format: ProfileFormat) -> String {
        let run = run(vec![with_call_paths("parse", 0)]);
        shown::written(|out| format.write(&run, "main", out))
    }

    #[test]
    fn file_extension_is_the_format() {
        let format = |path: &str| ProfileFormat::of(Path::new(path));
        assert_eq!(format("a/b.folded"), Some(ProfileFormat::Folded));
        assert_eq!(format("b.json"), Some(ProfileFormat::Speedscope));
        assert_eq!((format("folded"), format("b.svg")), (None, None));
    }

    #[test]
    fn folded_stacks_have_a_line_per_path_and_category() {
        insta::assert_snapshot!(written(ProfileFormat::Folded));
        assert_eq!(escaped("a; b\nc"), "a: b c");
    }

    /// What speedscope's file-format-spec.ts asks of a file with sampled profiles.
    fn schema() -> serde_json::Value {
        let index = json!({ "type": "integer", "minimum": 0 });
        json!({
            "type": "object",
            "required": ["$schema", "shared", "profiles"],
            "properties": {
                "$schema": { "const": "https://www.speedscope.app/file-format-schema.json" },
                "name": { "type": "string" },
                "exporter": { "type": "string" },
                "activeProfileIndex": index,
                "shared": {
                    "type": "object",
                    "required": ["frames"],
                    "properties": { "frames": { "type": "array", "items": {
                        "type": "object",
                        "required": ["name"],
                        "properties": {
                            "name": { "type": "string" },
                            "file": { "type": "string" },
                            "line": { "type": "number" },
                            "col": { "type": "number" }
                        }
                    } } }
                },
                "profiles": { "type": "array", "items": {
                    "type": "object",
                    "required": [
                        "type", "name", "unit", "startValue", "endValue", "samples", "weights"
                    ],
                    "properties": {
                        "type": { "const": "sampled" },
                        "name": { "type": "string" },
                        "unit": { "enum": [
                            "none", "nanoseconds", "microseconds", "milliseconds",
                            "seconds", "bytes"
                        ] },
                        "startValue": { "type": "number" },
                        "endValue": { "type": "number" },
                        "samples": {
                            "type": "array", "items": { "type": "array", "items": index }
                        },
                        "weights": { "type": "array", "items": { "type": "number" } }
                    }
                } }
            }
        })
    }

    #[test]
    fn speedscope_reads_totals_and_categories() {
        let file: serde_json::Value =
            serde_json::from_str(&written(ProfileFormat::Speedscope)).unwrap();
        let validator = jsonschema::validator_for(&schema()).unwrap();
        let errors: Vec<_> = validator.iter_errors(&file).collect();
        assert!(errors.is_empty(), "{errors:?}");
        let frames = file["shared"]["frames"].as_array().unwrap().len();
        let profiles = file["profiles"].as_array().unwrap();
        assert_eq!(profiles.len(), 5);
        let mut ends = Vec::new();
        for profile in profiles {
            let samples = profile["samples"].as_array().unwrap();
            let weights = profile["weights"].as_array().unwrap();
            assert_eq!(samples.len(), weights.len());
            let frames_of = samples.iter().flat_map(|stack| stack.as_array().unwrap());
            assert!(
                frames_of
                    .map(|f| f.as_u64().unwrap())
                    .all(|f| f < frames as u64)
            );
            let sum: u64 = weights.iter().map(|weight| weight.as_u64().unwrap()).sum();
            assert_eq!(profile["endValue"], sum);
            ends.push(sum);
        }
        assert_eq!(ends[0], ends[1..].iter().sum::<u64>());
    }
}
