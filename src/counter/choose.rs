//! Which source this process uses: the best that works, or the one that was asked for.

use std::str::FromStr;

use super::{Source, hardware::Hardware, time::Time};
use crate::error::OpenError;

/// The environment variable that [`Choice::from_environment`] reads.
pub const SOURCE_VARIABLE: &str = "CARGO_TOPDOWN_SOURCE";

/// Which source is wanted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Choice {
    /// The hardware counters, else the clock.
    #[default]
    Auto,
    /// The hardware counters and nothing else.
    Hardware,
    /// The model of a core, even where there are counters.
    Model,
    /// The model of a core, else the clock: what `cargo topdown` asks for where it has seen that
    /// [`Choice::Auto`] gives the clock. Where that program does not run the process, the model
    /// would be asked for far more iterations than it can execute.
    ModelOrTime,
    /// The clock, even where there are counters.
    Time,
}

impl Choice {
    /// What [`SOURCE_VARIABLE`] says; [`Choice::Auto`] where it is not set.
    ///
    /// # Errors
    /// [`OpenError::UnknownSource`] where it names no source.
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

/// Opens the source that `choice` asks for, on the calling thread. Counters that the thread has
/// open already are shared.
///
/// # Errors
/// [`Choice::Hardware`] fails where the counters cannot be used and [`Choice::Model`] where code
/// cannot be traced; the other choices fail where
/// [`COUNTERS_VARIABLE`](super::COUNTERS_VARIABLE) or a described core is wrong, and
/// never else.
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
            // What the user asked for in so many words is not passed over.
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
