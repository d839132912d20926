//! Measurements of one launch.

use topdown_run::provenance::Provenance;
use topdown_run::run_file::{Fingerprint, IterationSample, Throughput};
use topdown_run::sample::Sample;

use crate::functions::{InstructionRecord, SampleFunctions, SamplePaths, SampledFunctions};
use crate::launching::trail::LaunchTrail;

/// The launch that the slots of a launch come from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SlotsOrigin {
    /// Its own: it was modelled, or counted.
    #[default]
    Own,
    /// The first launch, which it repeats by its digest.
    First,
    /// Unknown: it was not modelled, and has another digest than the first launch.
    Unknown,
}

/// One benchmark of one launch.
#[derive(Clone, Debug)]
pub struct Measured {
    /// criterion's full id.
    pub name: String,
    /// What one iteration processes.
    pub throughput: Option<Throughput>,
    /// The source of the numbers.
    pub provenance: Provenance,
    /// In the order in which they were taken.
    pub samples: Vec<IterationSample>,
    /// The first iteration, where the hardware counted it.
    pub first: Option<Sample>,
    /// The estimates of the groups of units for the last sample that counts, if it was sampled.
    pub groups: Vec<Sample>,
    /// Its slots by function, if the bench knows them.
    pub functions: Option<SampleFunctions>,
    /// Its functions by PMU samples, if the bench recorded them.
    pub hits: Option<SampledFunctions>,
    /// Its slots by call path, if the bench follows calls.
    pub paths: Option<SamplePaths>,
    /// Its slots by instruction, if they were requested.
    pub instructions: Option<InstructionRecord>,
    /// Whether the user set that work of other threads does not count.
    pub own_thread_alone: bool,
    /// The fingerprint of its first samples, if the bench knows it.
    pub fingerprint: Option<Fingerprint>,
    /// Its path of execution, if the bench knows it.
    pub trail: Option<LaunchTrail>,
    /// The launch that its slots come from.
    pub slots_of: SlotsOrigin,
}

#[cfg(test)]
impl Measured {
    /// A benchmark called `b` of which nothing else is known.
    pub fn from_samples(provenance: Provenance, samples: Vec<IterationSample>) -> Measured {
        Measured {
            name: "b".to_owned(),
            throughput: None,
            provenance,
            samples,
            first: None,
            groups: Vec::new(),
            functions: None,
            hits: None,
            paths: None,
            instructions: None,
            own_thread_alone: false,
            fingerprint: None,
            trail: None,
            slots_of: SlotsOrigin::Own,
        }
    }
}

/// The benchmarks of one launch.
#[derive(Debug, Default)]
pub struct Benchmarks {
    /// Those that can be kept.
    pub measured: Vec<Measured>,
    /// The names of those with a measurement of their own, and the value 1 as its formatter prints
    /// it.
    pub other_measurements: Vec<(String, String)>,
    /// Processes that the bench left behind, which were killed.
    pub outlived: Vec<String>,
}
