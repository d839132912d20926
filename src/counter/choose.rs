//! Chooses this process's source: the requested one, or else the best that works.

use std::str::FromStr;

use super::{Source, hardware::Hardware, time::Time};
use crate::error::OpenError;

/// The environment variable that [`Choice::from_environment`] reads.
pub const SOURCE_VARIABLE: &str = "CARGO_TOPDOWN_SOURCE";

/// The requested source.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Choice {
    /// The hardware counters, or the clock if they cannot be used.
    #[default]
    Auto,
    /// Only the hardware counters.
    Hardware,
    /// The model of a core, even if there are counters.
    Model,
    /// The model of a core, or the clock if code cannot be traced. `cargo topdown` requests this
    /// after it has seen [`Choice::Auto`] choose the clock. In a process that it does not run, the
    /// model would have to execute far more iterations than it can.
    ModelOrTime,
    /// The clock, even if there are counters.
    Time,
}

impl Choice {
    /// Reads [`SOURCE_VARIABLE`]; [`Choice::Auto`] if it is not set.
    ///
    /// # Errors
    /// Returns [`OpenError::UnknownSource`] if it names no source.
    pub fn from_environment() -> Result<Choice, OpenError> {
        match std::env::var(SOURCE_VARIABLE) {
            Ok(name) => name.parse(),
            Err(_) => Ok(Choice::Auto),
        }
    }
}

impl FromStr for Choice {
    type Err = OpenError;

    fn from_str(name: &str) -> Result<Choice, OpenError> {
        match name {
            "auto" | "" => Ok(Choice::Auto),
            "hardware" => Ok(Choice::Hardware),
            "model" => Ok(Choice::Model),
            "model-or-time" => Ok(Choice::ModelOrTime),
            "time" => Ok(Choice::Time),
            _ => Err(OpenError::UnknownSource {
                name: name.to_owned(),
            }),
        }
    }
}

/// Opens the source for `choice` on the calling thread. Counters that the thread already has open
/// are shared.
///
/// # Errors
/// [`Choice::Hardware`] fails if the counters cannot be used, and [`Choice::Model`] if code cannot
/// be traced. The other choices fail only if [`COUNTERS_VARIABLE`](super::COUNTERS_VARIABLE) or a
/// described core is wrong.
pub fn choose(choice: Choice) -> Result<Box<dyn Source>, OpenError> {
    match choice {
        Choice::Time => Ok(Box::new(Time::new("the clock was asked for"))),
        Choice::Hardware => Ok(Box::new(Hardware::open()?)),
        Choice::Model => model(),
        Choice::ModelOrTime => Ok(match model() {
            Ok(model) => model,
            Err(error) => Box::new(Time::new(error.to_string())),
        }),
        Choice::Auto => Ok(match Hardware::open() {
            Ok(hardware) => Box::new(hardware),
            // Do not ignore what the user requested explicitly.
            Err(
                error @ (OpenError::UnknownCounters { .. }
                | OpenError::UnknownThreads { .. }
                | OpenError::UnknownGroup { .. }
                | OpenError::DescribedCore { .. }),
            ) => {
                return Err(error);
            }
            Err(error) => Box::new(Time::new(format!("no hardware counters: {error}"))),
        }),
    }
}

#[cfg(all(feature = "model", target_os = "linux", target_arch = "x86_64"))]
fn model() -> Result<Box<dyn Source>, OpenError> {
    Ok(Box::new(super::model::Model::open()?))
}

#[cfg(not(all(feature = "model", target_os = "linux", target_arch = "x86_64")))]
fn model() -> Result<Box<dyn Source>, OpenError> {
    Err(OpenError::Model {
        reason: "it needs x86-64 Linux and the feature `model` of criterion-topdown".to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::provenance::SourceKind;

    #[test]
    fn names_of_sources_are_read_and_others_refused() {
        assert_eq!("auto".parse::<Choice>().unwrap(), Choice::Auto);
        assert_eq!("time".parse::<Choice>().unwrap(), Choice::Time);
        assert_eq!(
            "model-or-time".parse::<Choice>().unwrap(),
            Choice::ModelOrTime
        );
        let error = "magic".parse::<Choice>().unwrap_err();
        assert!(error.to_string().contains("magic"), "{error}");
    }

    #[test]
    fn the_clock_can_always_be_had() {
        let source = choose(Choice::Time).unwrap();
        assert_eq!(source.provenance().source, SourceKind::Time);
        assert!(choose(Choice::Auto).is_ok());
        assert!(choose(Choice::ModelOrTime).is_ok());
    }
}
