//! Joins criterion's numbers with the sample vectors that the bench left in the samples file.
//!
//! criterion sends one scalar per sample; our measurement wrote the vectors that these scalars come
//! from. They must agree one by one: a vector under a wrong name would be a wrong result that
//! nobody notices.

use thiserror::Error;
use topdown_run::code::CodeSlots;
use topdown_run::code_samples::CodeSamples;
use topdown_run::doubling;
use topdown_run::provenance::{Provenance, SourceKind};
use topdown_run::run_file::{IterationSample, Record, RunFileProblem};
use topdown_run::sample::Sample;

use topdown_run::setting::Sampling;

use crate::launching::samples_file::SamplesFileError;

/// How criterion's wall-clock measurement formats 1, which shows that its scalars are nanoseconds.
const ONE_NANOSECOND: &str = " ns";

/// Of doubling samples outside the model, this many are kept, the longest. The one before them has
/// a 64th of the last one's iterations.
const MAX_LISTED_SAMPLES: usize = 6;

/// The difference between criterion's samples and ours.
#[derive(Debug, Error)]
pub enum JoinError {
    /// The samples file could not be read.
    #[error("could not read the samples file: {0}")]
    File(#[from] SamplesFileError),
    /// A line of the file is not a record.
    #[error("could not parse the samples file of `{benchmark}`: {problem}")]
    Record {
        /// The benchmark that had just ended.
        benchmark: String,
        /// What is wrong with the line.
        problem: RunFileProblem,
    },
    /// More than one record for one benchmark.
    #[error("`{benchmark}` wrote {records} records of samples instead of one")]
    SeveralRecords {
        benchmark: String,
        /// Their number.
        records: usize,
    },
    /// Different numbers of samples.
    #[error("criterion reports {criterion} samples of `{benchmark}`, but {recorded} were recorded")]
    Counts {
        benchmark: String,
        /// Samples that criterion reports.
        criterion: usize,
        /// Samples in the record.
        recorded: usize,
    },
    /// Different samples.
    #[error(
        "criterion reports {criterion} for sample {sample} of `{benchmark}`, but {recorded} was \
         recorded"
    )]
    Values {
        benchmark: String,
        /// Which sample, from 1.
        sample: usize,
        /// The scalar that criterion reports.
        criterion: f64,
        /// The scalar of the recorded sample.
        recorded: f64,
    },
    /// The numbers of iterations do not fit the samples.
    #[error(
        "criterion reports {iterations} iteration counts for {samples} samples of `{benchmark}`, \
         or one that is not a count"
    )]
    Iterations {
        benchmark: String,
        /// Number of counts.
        iterations: usize,
        /// Number of samples.
        samples: usize,
    },
    /// Samples that should double do not.
    #[error(
        "criterion reports samples of {iterations:?} iterations of `{benchmark}`, which do not \
         match the last of {recorded} doubling samples"
    )]
    Doubling {
        benchmark: String,
        /// The iterations that criterion reports.
        iterations: Vec<f64>,
        /// Samples in the record.
        recorded: usize,
    },
}

/// What criterion reports about a completed benchmark.
pub struct Reported<'a> {
    /// criterion's full id.
    pub name: &'a str,
    /// Iterations of each sample.
    pub iterations: &'a [f64],
    /// The scalar of each sample.
    pub scalars: &'a [f64],
    /// The value 1 as its measurement's formatter prints it.
    pub one: &'a str,
    /// Iterations of its samples.
    pub sampling: Sampling,
}

/// The samples of one benchmark.
#[derive(Debug)]
pub struct Joined {
    /// Where the numbers come from.
    pub provenance: Provenance,
    /// In the order in which they were taken.
    pub samples: Vec<IterationSample>,
    /// The first iteration, where the hardware counted it.
    pub first: Option<Sample>,
    /// The estimates of the groups of units for the last sample that counts, if it was sampled.
    pub groups: Vec<Sample>,
    /// The code that their slots went to, if the bench knows it.
    pub code: Option<CodeSlots>,
    /// PMU samples by code address, if recorded.
    pub hits: Option<CodeSamples>,
}

/// Returns the samples of one benchmark: those of the record in `lines`, or without a record, the
/// nanoseconds that criterion's own measurement reports. `None` if it has neither, because it uses
/// another measurement.
///
/// # Errors
/// Returns an error if the records' samples are not those that criterion reports.
pub fn join(reported: &Reported, lines: &str) -> Result<Option<Joined>, JoinError> {
    let records = lines
        .lines()
        .map(Record::from_line)
        .collect::<Result<Vec<Record>, _>>()
        .map_err(|problem| JoinError::Record {
            benchmark: reported.name.to_owned(),
            problem,
        })?;
    if records.len() > 1 {
        return Err(JoinError::SeveralRecords {
            benchmark: reported.name.to_owned(),
            records: records.len(),
        });
    }
    if let Some(record) = records.into_iter().next() {
        return of_record(reported, record).map(Some);
    }
    let Some((provenance, samples)) = wall_clock(reported) else {
        return Ok(None);
    };
    Ok(Some(Joined {
        provenance,
        samples: with_iterations(reported, samples)?,
        first: None,
        groups: Vec::new(),
        code: None,
        hits: None,
    }))
}

fn of_record(reported: &Reported, record: Record) -> Result<Joined, JoinError> {
    let samples = if reported.sampling.doubles() {
        let mut samples = doubled(reported, record.samples)?;
        if record.provenance.source != SourceKind::Model && record.hits.is_none() {
            samples.drain(..samples.len().saturating_sub(MAX_LISTED_SAMPLES));
        }
        samples
    } else {
        check_scalars(reported, &record.samples)?;
        with_iterations(reported, record.samples)?
    };
    Ok(Joined {
        provenance: record.provenance,
        samples,
        first: record.first,
        groups: record.groups,
        code: record.code,
        hits: record.hits,
    })
}

fn check_scalars(reported: &Reported, samples: &[Sample]) -> Result<(), JoinError> {
    if samples.len() != reported.scalars.len() {
        return Err(JoinError::Counts {
            benchmark: reported.name.to_owned(),
            criterion: reported.scalars.len(),
            recorded: samples.len(),
        });
    }
    for (index, (sample, scalar)) in samples.iter().zip(reported.scalars).enumerate() {
        // Exact: the scalar is an integer below 2^53.
        if sample.scalar() != *scalar {
            return Err(JoinError::Values {
                benchmark: reported.name.to_owned(),
                sample: index + 1,
                criterion: *scalar,
                recorded: sample.scalar(),
            });
        }
    }
    Ok(())
}

/// Returns the samples of a launch in which they double. criterion reports only the last two, with
/// scalars that only mean "enough".
fn doubled(reported: &Reported, samples: Vec<Sample>) -> Result<Vec<IterationSample>, JoinError> {
    let count = samples.len();
    let last_two = [count.wrapping_sub(2), count.wrapping_sub(1)]
        .map(|index| doubling::iterations(index) as f64);
    // criterion reports the first sample twice if it took all of the time. One sample is too few
    // for a fingerprint or a launch value, but no error of the launch.
    let is_too_long = count == 1 && reported.iterations == [1.0, 1.0];
    if !is_too_long && (count < 2 || reported.iterations != last_two) {
        return Err(JoinError::Doubling {
            benchmark: reported.name.to_owned(),
            iterations: reported.iterations.to_vec(),
            recorded: count,
        });
    }
    let iterations = (0..).map(doubling::iterations);
    Ok(iterations
        .zip(samples)
        .map(|(iterations, sample)| IterationSample { iterations, sample })
        .collect())
}

/// Returns the samples of a benchmark that does not use our measurement.
fn wall_clock(reported: &Reported) -> Option<(Provenance, Vec<Sample>)> {
    if !reported.one.ends_with(ONE_NANOSECOND) {
        return None;
    }
    let provenance = Provenance::for_clock("the benchmark uses criterion's wall-clock measurement");
    let samples = reported
        .scalars
        .iter()
        .map(|nanoseconds| Sample {
            // criterion does not report how many there were.
            windows: 1,
            wall_ns: *nanoseconds as u64,
            ..Sample::EMPTY
        })
        .collect();
    Some((provenance, samples))
}

/// Returns whether our measurement took the samples: criterion's own knows no windows.
pub fn is_ours(provenance: &Provenance) -> bool {
    provenance.empty_window.is_some()
}

fn with_iterations(
    reported: &Reported,
    samples: Vec<Sample>,
) -> Result<Vec<IterationSample>, JoinError> {
    let is_count = |count: &f64| *count >= 1.0 && count.fract() == 0.0;
    if reported.iterations.len() != samples.len() || !reported.iterations.iter().all(is_count) {
        return Err(JoinError::Iterations {
            benchmark: reported.name.to_owned(),
            iterations: reported.iterations.len(),
            samples: samples.len(),
        });
    }
    Ok(reported
        .iterations
        .iter()
        .zip(samples)
        .map(|(iterations, sample)| IterationSample {
            iterations: *iterations as u64,
            sample,
        })
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    const REPORTED: Reported = Reported {
        name: "sum/10",
        iterations: &[1.0, 2.0],
        scalars: &[100.0, 200.0],
        one: "1.0000 ns",
        sampling: Sampling::Planned,
    };

    fn line(slots: &[u64]) -> String {
        let record = Record {
            provenance: Provenance {
                slots_per_cycle: Some(4),
                ..Provenance::new(SourceKind::Hardware, "scripted/1", "a test")
            },
            samples: slots
                .iter()
                .map(|slots| Sample {
                    windows: 1,
                    wall_ns: 9,
                    slots: Some(*slots),
                    ..Sample::EMPTY
                })
                .collect(),
            first: None,
            groups: Vec::new(),
            code: None,
            hits: None,
        };
        record.to_line()
    }

    fn refusal(reported: &Reported, lines: &str) -> String {
        join(reported, lines).unwrap_err().to_string()
    }

    #[test]
    fn samples_get_their_iterations() {
        let joined = join(&REPORTED, &line(&[100, 200])).unwrap().unwrap();
        assert_eq!(joined.provenance.formula, "scripted/1");
        assert_eq!(joined.samples[1].iterations, 2);
        assert_eq!(joined.samples[1].sample.slots, Some(200));
    }

    #[test]
    fn missing_sample_is_refused_with_both_counts() {
        assert_eq!(
            refusal(&REPORTED, &line(&[100])),
            "criterion reports 2 samples of `sum/10`, but 1 were recorded"
        );
    }

    #[test]
    fn differing_sample_is_refused_with_both_values() {
        assert_eq!(
            refusal(&REPORTED, &line(&[100, 201])),
            "criterion reports 200 for sample 2 of `sum/10`, but 201 was recorded"
        );
    }

    #[test]
    fn excess_records_are_refused() {
        let lines = line(&[100, 200]) + &line(&[300, 700]);
        assert_eq!(
            refusal(&REPORTED, &lines),
            "`sum/10` wrote 2 records of samples instead of one"
        );
    }

    #[test]
    fn broken_line_is_refused() {
        let lines = line(&[100, 200]);
        let message = refusal(&REPORTED, &lines[..lines.len() / 2]);
        assert!(
            message.starts_with("could not parse the samples file of `sum/10`"),
            "{message}"
        );
    }

    #[test]
    fn missing_record_means_wall_clock() {
        let joined = join(&REPORTED, "").unwrap().unwrap();
        assert_eq!(joined.provenance.source, SourceKind::Time);
        assert_eq!(joined.samples[0].sample.wall_ns, 100);
        assert_eq!(joined.samples[0].sample.slots, None);
    }

    #[test]
    fn foreign_measurement_is_not_taken_for_time() {
        let cycles = Reported {
            one: "1.0000 cycles",
            ..REPORTED
        };
        assert!(join(&cycles, "").unwrap().is_none());
    }

    #[test]
    fn iteration_counts_must_match() {
        for iterations in [&[1.0][..], &[1.0, 0.0], &[1.0, 1.5], &[1.0, f64::NAN]] {
            let reported = Reported {
                iterations,
                ..REPORTED
            };
            let message = refusal(&reported, &line(&[100, 200]));
            assert!(message.contains("iteration counts"), "{message}");
        }
    }

    #[test]
    fn doubling_samples_are_matched_by_last_two() {
        let reported = Reported {
            iterations: &[4.0, 8.0],
            scalars: &[4.0, 8.0],
            sampling: Sampling::Doubling,
            ..REPORTED
        };
        let joined = join(&reported, &line(&[100, 200, 400, 800]))
            .unwrap()
            .unwrap();
        let iterations = joined.samples.iter().map(|sample| sample.iterations);
        assert_eq!(iterations.collect::<Vec<_>>(), [1, 2, 4, 8]);
        for slots in [&[100, 200, 400][..], &[100], &[]] {
            let message = refusal(&reported, &line(slots));
            assert!(message.contains("do not match the last of"), "{message}");
        }
    }

    #[test]
    fn slow_first_sample_does_not_fail_the_launch() {
        for sampling in [Sampling::FirstTwo, Sampling::Doubling] {
            let reported = Reported {
                iterations: &[1.0, 1.0],
                scalars: &[1.0, 1.0_f64.next_up()],
                sampling,
                ..REPORTED
            };
            let joined = join(&reported, &line(&[100])).unwrap().unwrap();
            assert_eq!(joined.samples.len(), 1);
            let message = refusal(&reported, &line(&[100, 200]));
            assert!(message.contains("do not match the last of"), "{message}");
        }
    }
}
