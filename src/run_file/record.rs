//! What a bench process hands to `cargo topdown`: one line per benchmark, beside criterion's own
//! protocol, which carries a single number per sample.

use serde::{Deserialize, Serialize};

use super::code_columns::CodeColumns;
use super::error::RunFileProblem;
use super::sample_columns::SampleColumns;
use super::version::{KnownVersion, parse};
use crate::code::CodeSlots;
use crate::provenance::Provenance;
use crate::sample::Sample;

/// The environment variable in which `cargo topdown` names the file that a bench process appends
/// its records to.
pub const SAMPLES_VARIABLE: &str = "CARGO_TOPDOWN_SAMPLES";

/// The samples of one benchmark in one launch.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    /// What the numbers are.
    pub provenance: Provenance,
    /// In the order in which criterion asked for their scalars.
    pub samples: Vec<Sample>,
    /// Where in the code their slots went, where that is known.
    pub code: Option<CodeSlots>,
}

/// The samples of one benchmark in one launch, as the bench process writes them.
#[derive(Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct Wire {
    /// The version of the format.
    schema_version: KnownVersion,
    /// What the numbers are.
    provenance: Provenance,
    /// The samples, in the order in which criterion was given their scalars.
    samples: SampleColumns,
    /// Where in the code the slots went, where the source knows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    code: Option<CodeColumns>,
}

impl Record {
    /// The record as one line of JSON, newline included.
    pub fn to_line(&self) -> String {
        let wire = Wire {
            schema_version: KnownVersion,
            provenance: self.provenance.clone(),
            samples: SampleColumns::from_samples(&self.samples),
            code: self.code.as_ref().map(CodeColumns::from_code),
        };
        let mut line = serde_json::to_string(&wire)
            .expect("names are strings and no map key can fail to serialise");
        line.push('\n');
        line
    }

    /// Reads one line that [`to_line`](Record::to_line) wrote.
    ///
    /// # Errors
    /// The problem, where the line is no record or one of another schema version: the bench
    /// executable and the program are then of different releases.
    pub fn from_line(line: &str) -> Result<Record, RunFileProblem> {
        let wire: Wire = parse(line.as_bytes())?;
        let samples = wire
            .samples
            .into_samples()
            .map_err(|problem| problem.under("samples"))?;
        let code = wire
            .code
            .map(|code| code.into_code(samples.len()))
            .transpose()
            .map_err(|problem| problem.under("code"))?;
        Ok(Record {
            provenance: wire.provenance,
            samples,
            code,
        })
    }
}
