//! Chooses this process's source: the requested one, or else the best that works.

use topdown_counters::Source;
use topdown_counters::error::OpenError;
use topdown_counters::hardware::{self, Hardware};
use topdown_counters::time::Time;
use topdown_run::provenance::CLOCK_REQUESTED;
use topdown_run::setting::SourceChoice;

/// Opens the source for `choice` on the calling thread. Counters that the thread already has open
/// are shared.
///
/// # Errors
/// [`SourceChoice::Hardware`] fails if the counters cannot be used, and [`SourceChoice::Model`] if
/// code cannot be traced. The other choices fail only if a setting in the environment or a
/// described core is wrong.
pub fn choose(choice: SourceChoice) -> Result<Box<dyn Source>, OpenError> {
    match choice {
        SourceChoice::Time => Ok(Box::new(Time::new(CLOCK_REQUESTED))),
        SourceChoice::TimeBesideModel => Ok(Box::new(Time::new("timed beside the model"))),
        SourceChoice::Hardware => hardware::open(),
        SourceChoice::Model => model(),
        SourceChoice::ModelOrTime => Ok(match model() {
            Ok(model) => model,
            Err(error) => Box::new(Time::new(error.to_string())),
        }),
        SourceChoice::Auto => Ok(match Hardware::open() {
            Ok(hardware) => Box::new(hardware),
            // Do not ignore what the user requested explicitly.
            Err(
                error @ (OpenError::UnknownChoice(_)
                | OpenError::UnknownGroup { .. }
                | OpenError::DescribedCore { .. }),
            ) => {
                return Err(error);
            }
            Err(error) => Box::new(Time::new(error.in_short())),
        }),
    }
}

#[cfg(feature = "launches")]
fn model() -> Result<Box<dyn Source>, OpenError> {
    topdown_model::open()
}

#[cfg(not(feature = "launches"))]
fn model() -> Result<Box<dyn Source>, OpenError> {
    Err(OpenError::LeftOut { part: "model" })
}

#[cfg(test)]
mod tests {
    use super::*;
    use topdown_run::provenance::SourceKind;

    #[test]
    fn clock_is_always_available() {
        let source = choose(SourceChoice::Time).unwrap();
        assert_eq!(source.provenance().source, SourceKind::Time);
        assert!(choose(SourceChoice::Auto).is_ok());
        assert!(choose(SourceChoice::ModelOrTime).is_ok());
    }

    #[test]
    fn requested_clock_is_stated() {
        let why = |choice| choose(choice).unwrap().provenance().reason.clone();
        assert_eq!(why(SourceChoice::Time), CLOCK_REQUESTED);
        assert_eq!(why(SourceChoice::TimeBesideModel), "timed beside the model");
    }
}
