//! Attributes a benchmark's slots to functions.
//!
//! The bench process reports the cost of each block of its code by module and offset, and `symbols`
//! and `inlined` know the names. [`attribute`] combines both for the samples of one launch, and
//! [`functions_of`] sums over the samples that make up the launch values. For slots that the
//! hardware counted, [`attribute_samples`] and [`functions_of_samples`] do the same with PMU
//! samples, and [`group_functions`] for the events of a metric group.

mod by_address;
mod code_location;
mod disassembly;
mod event_samples;
mod fingerprint;
mod group_event;
mod inlined;
mod listing;
mod own_counts;
mod paths;
mod samples;
mod slots;
mod source_text;
mod symbols;

pub use by_address::{InstructionRecord, SlotsByAddress, slots_by_address};
pub use code_location::CodeLocation;
pub use disassembly::Syntax;
pub use event_samples::group_functions;
pub use fingerprint::fingerprint_of;
pub use listing::listing;
pub use paths::{CalledByLine, SamplePaths, attribute_paths, call_paths_of, called_by_line};
pub use samples::{SampledFunctions, attribute_samples, functions_of_samples};
pub use slots::{SampleFunctions, attribute, functions_of};
pub use symbols::Symbols;
