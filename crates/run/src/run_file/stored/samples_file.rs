//! The samples file: one line per benchmark and launch, with every raw sample.

use std::io::{self, BufRead, Write};

use serde::{Deserialize, Serialize};

use super::columns::Rows;
use super::error::RunFileProblem;
use super::sample_columns::SampleColumns;
use super::version::{KnownVersion, parse};
use crate::provenance::SourceKind;
use crate::run_file::{BenchmarkId, IterationSample};
use crate::sample::Sample;

/// The samples of one benchmark in one launch.
#[derive(Clone, Debug, PartialEq)]
pub struct LaunchSamples {
    /// Which benchmark.
    pub benchmark: BenchmarkId,
    /// What measured them: launches on the model are numbered by themselves.
    pub source: SourceKind,
    /// Which launch, from 0.
    pub launch: u32,
    /// With the iterations of each.
    pub samples: Vec<IterationSample>,
    /// What each group of units alone says about the last sample that counts, if the model sampled
    /// it.
    pub groups: Vec<Sample>,
}

/// The samples of one benchmark in one launch.
#[derive(Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct Line {
    /// The version of the format.
    schema_version: KnownVersion,
    /// The run's `id`.
    run: String,
    /// The benchmark.
    benchmark: BenchmarkId,
    /// What measured them: launches on the model are numbered by themselves.
    source: SourceKind,
    /// Which launch, from 0.
    launch: u32,
    /// Calls of the routine in each sample.
    iterations: Vec<u64>,
    /// The samples, with one column per quantity.
    samples: SampleColumns,
    /// What each group of units alone says about the last sample that counts, if the model sampled
    /// it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    groups: Option<SampleColumns>,
}

/// Writes the samples of the run `id`.
pub(super) fn write<'a>(
    out: &mut impl Write,
    id: &str,
    samples: impl IntoIterator<Item = &'a LaunchSamples>,
) -> io::Result<()> {
    for of_launch in samples {
        let samples = &of_launch.samples;
        let bare: Vec<Sample> = samples.iter().map(|s| s.sample).collect();
        let line = Line {
            schema_version: KnownVersion,
            run: id.to_owned(),
            benchmark: of_launch.benchmark.clone(),
            source: of_launch.source,
            launch: of_launch.launch,
            iterations: samples.iter().map(|s| s.iterations).collect(),
            samples: SampleColumns::from_samples(&bare),
            groups: (!of_launch.groups.is_empty())
                .then(|| SampleColumns::from_samples(&of_launch.groups)),
        };
        serde_json::to_writer(&mut *out, &line)?;
        out.write_all(b"\n")?;
    }
    Ok(())
}

/// Reads the samples of the run `id`.
pub(super) fn read(input: impl BufRead, id: &str) -> Result<Vec<LaunchSamples>, RunFileProblem> {
    input
        .split(b'\n')
        .enumerate()
        .map(|(index, line)| {
            line.map_err(RunFileProblem::Io)
                .and_then(|line| read_line(&line, id))
                .map_err(|problem| RunFileProblem::Line {
                    line: index + 1,
                    problem: Box::new(problem),
                })
        })
        .collect()
}

fn read_line(line: &[u8], id: &str) -> Result<LaunchSamples, RunFileProblem> {
    let line: Line = parse(line)?;
    if line.run != id {
        return Err(RunFileProblem::field(
            "run",
            format!("is {:?}, but the run file is that of {id:?}", line.run),
        ));
    }
    let samples = line
        .samples
        .into_samples()
        .map_err(|problem| problem.under("samples"))?;
    let groups = line
        .groups
        .map(SampleColumns::into_samples)
        .transpose()
        .map_err(|problem| problem.under("groups"))?;
    let rows = Rows {
        count: samples.len(),
        what: "samples",
    };
    rows.counts("iterations", &line.iterations)?;
    let samples = line
        .iterations
        .into_iter()
        .zip(samples)
        .map(|(iterations, sample)| IterationSample { iterations, sample })
        .collect();
    Ok(LaunchSamples {
        benchmark: line.benchmark,
        source: line.source,
        launch: line.launch,
        samples,
        groups: groups.unwrap_or_default(),
    })
}
