//! Sources whose counters interrupt, for launches of their own: [`SamplingHardware`] records code
//! addresses, [`TimedHardware`] retire latencies.

pub(super) mod sampling;
mod timed;

pub use sampling::SamplingHardware;
pub use timed::TimedHardware;

use crate::Source;
use crate::error::OpenError;
use topdown_run::environment;

/// Opens the source that the environment `variable` asks for with the value `wanted`.
pub(super) fn open(variable: &str, wanted: &str) -> Result<Box<dyn Source>, OpenError> {
    if variable == environment::LATENCIES {
        return Ok(Box::new(timed::shared(wanted)?));
    }
    let periods = wanted.split(',').map(|period| period.parse().unwrap_or(0));
    Ok(Box::new(sampling::shared(&periods.collect::<Vec<u64>>())?))
}
