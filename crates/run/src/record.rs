//! Records for `cargo topdown` from a bench process: one line per benchmark, in addition to
//! criterion's own protocol, which carries a single number per sample.
//!
//! The line is JSON, read by `run_file`. It is written by hand here because every bench of every
//! user pays for the compile time of this module.

mod code;
mod code_samples;
mod json;
mod samples;

use std::io::{self, Write};

use json::Json;

use crate::activity::UncountedWork;
use crate::code::CodeSlots;
use crate::code_samples::CodeSamples;
use crate::provenance::{CountedThreads, Provenance};
use crate::sample::Sample;

/// The version of the file formats that this library writes.
pub const SCHEMA_VERSION: u32 = 1;

/// A line of the records file: a measurement has begun and will report its end.
pub const COMPLETION_PENDING: &str = "last word owed";
/// A line of the records file: a measurement has ended.
pub const COMPLETION_WRITTEN: &str = "last word said";

/// The samples of one benchmark in one launch.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    /// What the numbers are.
    pub provenance: Provenance,
    /// In the order in which criterion asked for their scalars.
    pub samples: Vec<Sample>,
    /// The first iteration, where the hardware counted it: the warm-up keeps no samples.
    pub first: Option<Sample>,
    /// What each group of units alone says about the sample that counts, if that was sampled.
    pub groups: Vec<Sample>,
    /// Where in the code their slots went, if known. Written with the feature `model`, which alone
    /// knows it.
    pub code: Option<CodeSlots>,
    /// PMU samples by code address, if recorded. Written with the feature `sampling`.
    pub hits: Option<CodeSamples>,
}

impl Record {
    /// Returns the record as one line of JSON, newline included.
    #[inline]
    pub fn to_line(&self) -> String {
        let mut line = Vec::new();
        self.write_line(&mut line).expect("a vector takes all");
        String::from_utf8(line).expect("JSON is text")
    }

    /// Writes that line in small pieces. Allocations do not depend on the length of numbers, so
    /// that in a launch on the model the heap layout does not depend on the clock.
    ///
    /// # Errors
    /// Returns an error if writing to `out` fails.
    pub fn write_line(&self, out: &mut dyn Write) -> io::Result<()> {
        let mut json = Json::to(out);
        json.open("{");
        json.field("schema_version", &SCHEMA_VERSION);
        json.open_field("provenance", "{");
        provenance(&mut json, &self.provenance);
        json.close("}");
        json.open_field("samples", "{");
        samples::samples(&mut json, &self.samples);
        json.close("}");
        if let Some(first) = self.first {
            json.open_field("first", "{");
            samples::samples(&mut json, &[first]);
            json.close("}");
        }
        if !self.groups.is_empty() {
            json.open_field("groups", "{");
            samples::samples(&mut json, &self.groups);
            json.close("}");
        }
        if let Some(samples) = &self.code {
            json.open_field("code", "{");
            code::code(&mut json, samples);
            json.close("}");
        }
        if let Some(samples) = &self.hits {
            json.open_field("hits", "{");
            code_samples::code_samples(&mut json, samples);
            json.close("}");
        }
        json.close("}");
        json.end_line()
    }
}

fn provenance(json: &mut Json<'_>, provenance: &Provenance) {
    json.text("source", provenance.source.name());
    json.text("formula", &provenance.formula);
    if let Some(core_type) = &provenance.core_type {
        json.text("core_type", core_type);
    }
    if let Some(slots) = provenance.slots_per_cycle {
        json.field("slots_per_cycle", &slots);
    }
    json.text("reason", &provenance.reason);
    if let Some(window) = provenance.empty_window {
        json.open_field("empty_window", "{");
        for (name, count) in [
            ("slots", window.slots),
            ("instructions", window.instructions),
            ("cycles", window.cycles),
        ] {
            if let Some(count) = count {
                json.field(name, &count);
            }
        }
        json.field("wall_ns", &window.wall_ns);
        json.close("}");
    }
    if provenance.threads != CountedThreads::Own {
        json.text("threads", provenance.threads.name());
    }
    if let Some(elsewhere) = provenance.elsewhere {
        let (kind, fraction) = match elsewhere {
            UncountedWork::OtherThreads { fraction } => ("other_threads", fraction),
            UncountedWork::Waiting { fraction } => ("waiting", fraction),
        };
        json.open_field("elsewhere", "{");
        json.text("kind", kind);
        json.name("fraction");
        json.number(fraction);
        json.close("}");
    }
    if let Some(units) = provenance.sampled_units {
        json.field("sampled_units", &units);
    }
    if let Some(iterations) = provenance.warmed_iterations {
        json.field("warmed_iterations", &iterations);
    }
    if let Some(fraction) = provenance.cold_fraction {
        json.name("cold_fraction");
        json.number(fraction);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::provenance::{EmptyWindow, SourceKind};

    #[test]
    fn provenance_is_read_as_written() {
        let least = Provenance::for_clock("a \"reason\" with \\ and é");
        let most = Provenance {
            source: SourceKind::Hardware,
            core_type: Some("cpu_core".to_owned()),
            slots_per_cycle: Some(6),
            empty_window: Some(EmptyWindow {
                slots: Some(352),
                instructions: Some(81),
                cycles: Some(44),
                wall_ns: 40,
            }),
            threads: CountedThreads::All,
            elsewhere: Some(UncountedWork::OtherThreads { fraction: 1e-7 }),
            sampled_units: Some(7),
            warmed_iterations: Some(93),
            cold_fraction: Some(0.25),
            ..least.clone()
        };
        let waiting = Provenance {
            empty_window: Some(EmptyWindow {
                wall_ns: 40,
                ..EmptyWindow::default()
            }),
            elsewhere: Some(UncountedWork::Waiting { fraction: 0.1 }),
            ..least.clone()
        };
        for written in [least, most, waiting] {
            let mut line = Vec::new();
            let mut json = Json::to(&mut line);
            json.open("{");
            provenance(&mut json, &written);
            json.close("}");
            let text = String::from_utf8(line).unwrap();
            assert_eq!(text, serde_json::to_string(&written).unwrap());
            assert_eq!(serde_json::from_str::<Provenance>(&text).unwrap(), written);
        }
    }
}
