//! Reads the records of bench processes.

use serde::{Deserialize, Serialize};

use super::code_columns::CodeColumns;
use super::code_sample_columns::CodeSampleColumns;
use super::error::RunFileProblem;
use super::sample_columns::SampleColumns;
use super::version::{KnownVersion, parse};
use crate::provenance::Provenance;
use crate::record::Record;

/// The samples of one benchmark in one launch, as the bench process writes them.
#[derive(Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct Wire {
    /// The version of the format.
    schema_version: KnownVersion,
    /// What the numbers are.
    provenance: Provenance,
    /// The samples, in the order in which criterion received their scalars.
    samples: SampleColumns,
    /// The first iteration, where the hardware counted it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    first: Option<SampleColumns>,
    /// What each group of units alone says about the sample that counts, if that was sampled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    groups: Option<SampleColumns>,
    /// Where in the code the slots went, if the source knows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    code: Option<CodeColumns>,
    /// PMU samples by code address, in a launch that records them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    hits: Option<CodeSampleColumns>,
}

impl Record {
    /// Reads one line written by [`to_line`](Record::to_line).
    ///
    /// # Errors
    /// Returns an error if the line is not a record, or if it has another schema version, which
    /// means that the bench executable and the program are from different releases.
    pub fn from_line(line: &str) -> Result<Record, RunFileProblem> {
        let wire: Wire = parse(line.as_bytes())?;
        let samples = wire
            .samples
            .into_samples()
            .map_err(|problem| problem.under("samples"))?;
        let first = wire
            .first
            .map(SampleColumns::into_samples)
            .transpose()
            .map_err(|problem| problem.under("first"))?;
        let groups = wire
            .groups
            .map(SampleColumns::into_samples)
            .transpose()
            .map_err(|problem| problem.under("groups"))?;
        let code = wire
            .code
            .map(|code| code.into_code(samples.len()))
            .transpose()
            .map_err(|problem| problem.under("code"))?;
        let hits = wire
            .hits
            .map(CodeSampleColumns::into_hits)
            .transpose()
            .map_err(|problem| problem.under("hits"))?;
        Ok(Record {
            provenance: wire.provenance,
            samples,
            first: first.and_then(|first| first.first().copied()),
            groups: groups.unwrap_or_default(),
            code,
            hits,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::activity::Activity;
    use crate::category::PerCategory;
    use crate::code::{CodeBlock, CodeCall, CodeCounts, CodeSlots, Digest, Trail};
    use crate::event::{Event, Events};
    use crate::instruction::InstructionEvents;
    use crate::provenance::SourceKind;
    use crate::sample::{Flags, GroupCounts, Level1, Sample};

    /// Returns what the derived code writes for the record, which is also what it reads.
    fn derived(record: &Record) -> serde_json::Value {
        let wire = Wire {
            schema_version: KnownVersion,
            provenance: record.provenance.clone(),
            samples: SampleColumns::from_samples(&record.samples),
            first: record
                .first
                .map(|first| SampleColumns::from_samples(&[first])),
            groups: Some(&record.groups)
                .filter(|groups| !groups.is_empty())
                .map(|groups| SampleColumns::from_samples(groups)),
            code: record.code.as_ref().map(CodeColumns::from_code),
            hits: record.hits.as_ref().map(CodeSampleColumns::from_samples),
        };
        serde_json::to_value(&wire).unwrap()
    }

    fn provenance() -> Provenance {
        Provenance {
            slots_per_cycle: Some(6),
            sampled_units: Some(7),
            ..Provenance::new(
                SourceKind::Model,
                "a \"formula\"/1",
                "line\nof\ttext \\ é \u{1}",
            )
        }
    }

    fn counted() -> Sample {
        Sample {
            windows: 2,
            wall_ns: 1 << 40,
            slots: Some(1000),
            level1: Some(Level1 {
                slots: PerCategory {
                    retiring: 0.1 + 0.2,
                    bad_speculation: -1e-9,
                    frontend_bound: 1e15,
                    backend_bound: 1e17 / 3.0,
                },
                smt_contention_slots: Some(5e-324),
            }),
            level2: Some(PerCategory {
                retiring: 1.0,
                bad_speculation: 0.0,
                frontend_bound: -0.0,
                backend_bound: 2.5,
            }),
            instructions: Some(u64::MAX),
            cycles: Some(0),
            events: Events::NONE
                .with(Event::Branches, 7)
                .with(Event::L2Misses, 0),
            group_counts: GroupCounts::new(&[1, 2, 3]),
            activity: Some(Activity {
                windows: 1,
                wall_ns: 2,
                own_ns: 3,
                others_ns: 4,
                blocked: 5,
            }),
            resolution_slots: 0.5,
            flags: Flags::SWITCHED,
        }
    }

    #[test]
    fn manual_json_equals_derived_json() {
        let full = counted();
        let lists: [&[Sample]; 6] = [
            &[],
            &[full],
            &[full, full],
            &[Sample::EMPTY],
            // A quantity missing in one of them is left out for both.
            &[full, Sample::EMPTY],
            &[
                full,
                Sample {
                    level2: None,
                    events: Events::NONE.with(Event::Branches, 1),
                    group_counts: GroupCounts::new(&[4]),
                    activity: None,
                    ..full
                },
            ],
        ];
        let code = CodeSlots {
            modules: vec!["/a \"b\"/c".to_owned(), String::new()],
            blocks: vec![CodeBlock {
                module: 1,
                offset: u64::MAX,
                bytes: 3,
                content: u64::MAX,
                call: 2,
            }],
            calls: [0, 1]
                .map(|caller| CodeCall {
                    caller,
                    module: 1 - caller,
                    offset: 7,
                })
                .to_vec(),
            samples: vec![
                vec![
                    (0, CodeCounts::from([1, 2, 3, 4, 5, 6, 7, 8, 9])),
                    (0, CodeCounts::default()),
                ],
                vec![],
            ],
            events: vec![
                vec![
                    InstructionEvents::from(std::array::from_fn(|n| n as u64)),
                    InstructionEvents::default(),
                ],
                vec![],
            ],
            first_samples: vec![(0, 3), (0, u64::MAX)],
            first_samples_data: 9,
            trail: Trail {
                number: 1,
                blocks: 9,
                hash: u64::MAX,
                every_blocks: 4,
                hashes: vec![1, 2],
                stretch_from: 5,
                stretch: vec![0],
                digest: Some(Digest {
                    executed: 3,
                    moves: Some(u64::MAX),
                    samples: 6,
                }),
            },
            lock: vec![0],
        };
        for samples in lists {
            for code in [None, Some(CodeSlots::default()), Some(code.clone())] {
                let record = Record {
                    provenance: provenance(),
                    samples: samples.to_vec(),
                    first: samples.first().copied(),
                    groups: samples.to_vec(),
                    code,
                    hits: None,
                };
                let line = record.to_line();
                assert!(line.ends_with("}\n") && line.lines().count() == 1, "{line}");
                let written: serde_json::Value = serde_json::from_str(&line).unwrap();
                assert_eq!(written, derived(&record));
            }
        }
    }

    #[test]
    fn nan_is_refused_when_read() {
        let record = Record {
            provenance: provenance(),
            samples: vec![Sample {
                resolution_slots: f64::NAN,
                ..counted()
            }],
            first: None,
            groups: Vec::new(),
            code: None,
            hits: None,
        };
        assert!(Record::from_line(&record.to_line()).is_err());
    }
}
